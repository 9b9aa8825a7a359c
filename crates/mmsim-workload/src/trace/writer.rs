//! Writing a trace: the table first, then records as they come.
//!
//! The writer refuses what a reader would refuse, so a file that could be finished can be
//! read.

use std::io::{BufWriter, Write};

use zstd::bulk::Compressor;

use super::block::{KIND_END, KIND_TABLE, MMT, Packed, Packer, Sealed, Totals};
use super::error::TraceError;
use super::mappings::Mappings;
use super::source::{STORED, ZSTD, block_head};
use super::table::{Action, MAX_ACCESSES, MAX_CLOCK_NS, Record, TraceTable};

/// A block is stored compressed if that takes away at least one part in this number; less is not
/// worth the time to read it.
const WORTH: usize = 32;

/// A trace being written.
pub struct TraceWriter<W: Write> {
    out: BufWriter<W>,
    zstd: Option<Compressor<'static>>,
    table: TraceTable,
    starts: Vec<u32>,
    mappings: Mappings,
    clocks: Vec<u64>,
    packer: Packer,
    process: u16,
    totals: Totals,
}

impl<W: Write> TraceWriter<W> {
    /// Writes the prelude and the table. `level` is that of zstd, 1 to 19; 0 stores the
    /// blocks as they are.
    pub fn new(out: W, table: TraceTable, level: i32) -> Result<Self, TraceError> {
        table.check()?;
        let mappings = Mappings::at_start(&table)?;
        let zstd = match level {
            0 => None,
            1..=19 => Some(Compressor::new(level).map_err(TraceError::io("starting zstd"))?),
            _ => return Err(TraceError::invalid("the zstd level", level.to_string(), "0 to 19")),
        };
        let mut out = BufWriter::new(out);
        out.write_all(&MMT.prelude()).map_err(TraceError::io("writing a trace"))?;
        let mut starts = vec![0];
        for region in &table.regions {
            starts.push(starts[starts.len() - 1] + region.pages);
        }
        let mut writer = TraceWriter {
            out,
            zstd,
            clocks: vec![0; table.processes.len()],
            table,
            starts,
            mappings,
            packer: Packer::default(),
            process: 0,
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
        let clock = &mut self.clocks[usize::from(record.process)];
        *clock = self.table.later(*clock, record.ticks).ok_or_else(|| {
            TraceError::invalid(
                "a record",
                format!("{} ticks of {} ns after {clock} ns", record.ticks, self.table.tick_ns),
                format!("a clock of at most {MAX_CLOCK_NS} ns"),
            )
        })?;
        if record.process != self.process {
            self.process = record.process;
            self.push(Packed::Process { process: u32::from(record.process) })?;
        }
        let packed = self.pack(record.action, record.ticks)?;
        self.totals.records += 1;
        self.push(packed)
    }

    /// Puts one thing into the block, which ends when it is full. A process stays the
    /// current one from block to block.
    fn push(&mut self, packed: Packed) -> Result<(), TraceError> {
        self.packer.push(packed);
        if self.packer.is_full() {
            self.flush()?;
        }
        Ok(())
    }

    /// The dense page of a page of a region that `process` has mapped.
    #[inline]
    pub(super) fn dense(&self, process: u16, region: u16, page: u32) -> Option<u32> {
        let i = usize::from(region);
        let r = self.table.regions.get(i)?;
        let mapped = r.process == process && page < r.pages && self.mappings.has(region);
        mapped.then(|| self.starts[i] + page)
    }

    /// True if single accesses of a process can be appended as a block of their own.
    pub(super) fn takes_blocks_of(&self, process: u16) -> bool {
        self.packer.is_empty() && self.process == process
    }

    /// Appends single accesses to dense pages, without a time, as a block.
    pub(super) fn sealed(&mut self, sealed: Sealed) -> Result<(), TraceError> {
        let n = sealed.nr() as u64;
        self.count(n)?;
        self.totals.records += n;
        let (kind, payload) = self.packer.take_sealed(sealed);
        self.block(kind, &payload)
    }

    /// Counts touched pages.
    fn count(&mut self, pages: u64) -> Result<(), TraceError> {
        self.totals.accesses += pages;
        if self.totals.accesses > MAX_ACCESSES {
            return Err(TraceError::invalid(
                "a trace",
                format!("{} accesses", self.totals.accesses),
                format!("at most {MAX_ACCESSES}"),
            ));
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
                self.count(u64::from(count))?;
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
        let (kind, payload) = self.packer.take();
        self.block(kind, &payload)
    }

    fn block(&mut self, kind: u8, payload: &[u8]) -> Result<(), TraceError> {
        let packed = match &mut self.zstd {
            Some(zstd) => zstd.compress(payload).map_err(TraceError::io("compressing a block"))?,
            None => Vec::new(),
        };
        let worth = self.zstd.is_some() && packed.len() + payload.len() / WORTH < payload.len();
        let (coding, bytes) = if worth { (ZSTD, &packed[..]) } else { (STORED, payload) };
        let head = block_head(kind, coding, bytes, payload.len());
        for part in [&head[..], bytes] {
            self.out.write_all(part).map_err(TraceError::io("writing a trace"))?;
        }
        Ok(())
    }

    /// Writes the end and hands the output back.
    pub fn finish(mut self) -> Result<W, TraceError> {
        if !self.packer.is_empty() {
            self.flush()?;
        }
        let totals = self.totals.encode();
        self.block(KIND_END, &totals)?;
        self.out.into_inner().map_err(|e| TraceError::io("writing a trace")(e.into_error()))
    }
}
