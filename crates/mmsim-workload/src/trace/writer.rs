//! Writing a trace: the table first, then records as they come.
//!
//! The writer refuses what a reader would refuse, so a file that could be finished can be
//! read.

use std::io::{BufWriter, Write};

use super::block::{KIND_END, KIND_RECORDS, KIND_TABLE, Packed, Packer, Totals, WRITER_RECORDS};
use super::checksum::digest;
use super::error::TraceError;
use super::mappings::Mappings;
use super::reader::MAX_CLOCK_NS;
use super::source::{FLAG_ZSTD, prelude};
use super::table::{Action, Record, TraceTable};

/// Window of the frames we write: 2^21 bytes, so that any reader can afford it.
const WINDOW_LOG: u32 = 21;

enum Sink<W: Write> {
    Plain(BufWriter<W>),
    Zstd(Box<zstd::stream::write::Encoder<'static, W>>),
}

impl<W: Write> Sink<W> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        let done = match self {
            Sink::Plain(w) => w.write_all(bytes),
            Sink::Zstd(w) => w.write_all(bytes),
        };
        done.map_err(TraceError::io("writing a trace"))
    }
}

/// A trace being written.
pub struct TraceWriter<W: Write> {
    sink: Sink<W>,
    table: TraceTable,
    starts: Vec<u32>,
    mappings: Mappings,
    packer: Packer,
    process: u16,
    /// The clock of each process, in nanoseconds.
    clocks: Vec<u64>,
    totals: Totals,
}

impl<W: Write> TraceWriter<W> {
    /// Writes the prelude and the table. `level` is that of zstd, 1 to 19; 0 stores the
    /// body as it is.
    pub fn new(mut out: W, table: TraceTable, level: i32) -> Result<Self, TraceError> {
        table.check()?;
        let mappings = Mappings::at_start(&table)?;
        let flags = if level == 0 { 0 } else { FLAG_ZSTD };
        out.write_all(&prelude(flags)).map_err(TraceError::io("writing a trace"))?;
        let sink = if level == 0 { Sink::Plain(BufWriter::new(out)) } else { zstd(out, level)? };
        let mut starts = vec![0];
        for region in &table.regions {
            starts.push(starts[starts.len() - 1] + region.pages);
        }
        let clocks = vec![0; table.processes.len()];
        let mut writer = TraceWriter {
            sink,
            table,
            starts,
            mappings,
            packer: Packer::default(),
            process: 0,
            clocks,
            totals: Totals::default(),
        };
        let payload = writer.table.encode();
        writer.block(KIND_TABLE, &payload)?;
        Ok(writer)
    }

    /// The table.
    pub fn table(&self) -> &TraceTable {
        &self.table
    }

    /// Appends a record.
    pub fn record(&mut self, record: &Record) -> Result<(), TraceError> {
        let region = match record.action {
            Action::Access { region, .. } | Action::Map { region } | Action::Unmap { region } => {
                region
            }
        };
        let owner = self.table.regions.get(usize::from(region)).map(|r| r.process);
        if owner != Some(record.process) {
            return Err(TraceError::invalid(
                "a record",
                format!("region {region} for process {}", record.process),
                "a region of the process",
            ));
        }
        self.pass(record)?;
        if record.process != self.process {
            self.process = record.process;
            self.packer.push(Packed::Process { process: u32::from(record.process) });
        }
        let packed = self.pack(record.action, record.ticks)?;
        self.packer.push(packed);
        self.totals.records += 1;
        if self.packer.len() >= WRITER_RECORDS {
            self.flush()?;
        }
        Ok(())
    }

    /// Adds a record's time to the clock of its process, which a reader does not let run
    /// beyond its limit.
    fn pass(&mut self, record: &Record) -> Result<(), TraceError> {
        let clock = &mut self.clocks[usize::from(record.process)];
        let span = record.ticks.checked_mul(self.table.tick_ns);
        match span.and_then(|ns| clock.checked_add(ns)) {
            Some(ns) if ns <= MAX_CLOCK_NS => *clock = ns,
            _ => {
                return Err(TraceError::invalid(
                    "a record",
                    format!("{} ticks after {clock} ns", record.ticks),
                    format!("a clock of at most {MAX_CLOCK_NS} ns"),
                ));
            }
        }
        Ok(())
    }

    fn pack(&mut self, action: Action, ticks: u64) -> Result<Packed, TraceError> {
        Ok(match action {
            Action::Access { region, write, first, count } => {
                let i = usize::from(region);
                let end = u64::from(first) + u64::from(count);
                if count == 0
                    || end > u64::from(self.table.regions[i].pages)
                    || !self.mappings.has(region)
                {
                    return Err(TraceError::invalid(
                        "an access",
                        format!("{count} pages from {first} of region {region}"),
                        "at least one page of a mapped region, within it",
                    ));
                }
                self.totals.accesses += u64::from(count);
                Packed::Access { write, first: self.starts[i] + first, count, ticks }
            }
            Action::Map { region } => {
                self.mappings.map(&self.table, region)?;
                Packed::Map { region: u32::from(region), ticks }
            }
            Action::Unmap { region } => {
                self.mappings.unmap(&self.table, region)?;
                Packed::Unmap { region: u32::from(region), ticks }
            }
        })
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        let payload = self.packer.take();
        self.block(KIND_RECORDS, &payload)
    }

    fn block(&mut self, kind: u8, payload: &[u8]) -> Result<(), TraceError> {
        let mut head = [0; 13];
        head[0] = kind;
        head[1..5].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        let check = digest(&[&head[..5], payload]);
        head[5..].copy_from_slice(&check.to_le_bytes());
        self.sink.put(&head)?;
        self.sink.put(payload)
    }

    /// Writes the end and hands the output back.
    pub fn finish(mut self) -> Result<W, TraceError> {
        if self.packer.len() > 0 {
            self.flush()?;
        }
        let totals = self.totals.encode();
        self.block(KIND_END, &totals)?;
        match self.sink {
            Sink::Plain(w) => {
                w.into_inner().map_err(|e| TraceError::io("writing a trace")(e.into_error()))
            }
            Sink::Zstd(w) => w.finish().map_err(TraceError::io("writing a trace")),
        }
    }
}

fn zstd<W: Write>(out: W, level: i32) -> Result<Sink<W>, TraceError> {
    if !(1..=19).contains(&level) {
        return Err(TraceError::invalid("the zstd level", level.to_string(), "0 to 19"));
    }
    let start = || TraceError::io("starting zstd");
    let mut encoder = zstd::stream::write::Encoder::new(out, level).map_err(start())?;
    encoder.window_log(WINDOW_LOG).map_err(start())?;
    encoder.include_checksum(true).map_err(start())?;
    Ok(Sink::Zstd(Box::new(encoder)))
}
