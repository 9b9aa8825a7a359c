//! Reading a trace, block by block, in bounded memory.
//!
//! Nothing that the file says is believed before it is checked: lengths have limits and
//! memory grows only with bytes that really arrive; every digest is checked before its
//! payload is looked at; every access must fall within one mapped region of its process;
//! clocks must not overflow; the totals at the end must agree.

use std::io::Read;

use super::block::{
    KIND_END, KIND_PACKED, KIND_RECORDS, KIND_TABLE, MAX_BLOCK_RECORDS, MMT, Packed, Totals, unpack,
};
use super::error::TraceError;
use super::mappings::Mappings;
use super::packed;
use super::source::Source;
use super::table::{Action, MAX_ACCESSES, MAX_CLOCK_NS, Record, TraceTable};

/// A trace being read.
///
/// [`TraceReader::new`] reads the table; [`TraceReader::next`] hands out one block after
/// the other, of at most 65 536 records, and [`TraceReader::next_block`] the same always in
/// the form of records.
pub struct TraceReader<R: Read> {
    source: Source<R>,
    table: TraceTable,
    state: State,
    payload: Vec<u8>,
    records: Vec<Record>,
    pages: Vec<u32>,
    writes: Vec<u64>,
    done: bool,
}

/// A block of a trace.
#[derive(Clone, Copy, Debug)]
pub enum Block<'a> {
    /// Any records.
    Records(&'a [Record]),
    /// Accesses to single pages of one region, with no time between them.
    Pages(Pages<'a>),
}

/// Accesses to single pages.
#[derive(Clone, Copy, Debug)]
pub struct Pages<'a> {
    /// The process, by position.
    pub process: u16,
    /// The region, by position.
    pub region: u16,
    /// The pages within the region, at least one.
    pub pages: &'a [u32],
    /// A bit for each access, low bits first: it writes.
    pub writes: &'a [u64],
}

impl Pages<'_> {
    /// The accesses: page within the region, and whether it is written.
    pub fn iter(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        let chunks = self.pages.chunks(64).zip(self.writes);
        chunks.flat_map(|(pages, &bits)| {
            pages.iter().enumerate().map(move |(i, &page)| (page, bits >> i & 1 == 1))
        })
    }

    /// Number of accesses that write.
    pub fn nr_writes(&self) -> u64 {
        self.writes.iter().map(|w| u64::from(w.count_ones())).sum()
    }
}

/// State after the records so far.
struct State {
    /// First dense page of each region, and the end.
    starts: Vec<u32>,
    mappings: Mappings,
    clocks: Vec<u64>,
    next: u32,
    process: u16,
    /// The region of the last access, if it is mapped and of the current process: its
    /// number, first dense page and pages; else it has no pages. Most accesses need to
    /// ask for nothing else.
    last: (u16, u32, u32),
    totals: Totals,
}

impl<R: Read> TraceReader<R> {
    /// Reads the prelude and the table.
    pub fn new(input: R) -> Result<Self, TraceError> {
        let mut source = Source::open(input, &MMT)?;
        let mut payload = Vec::new();
        let (kind, base) = source.block(&mut payload)?;
        if kind != KIND_TABLE {
            return Err(TraceError::format(
                base,
                format!("a block of kind {:?}", char::from(kind)),
                "the table ('T') first",
            ));
        }
        let table = TraceTable::decode(&payload, base)?;
        let state = State::new(&table).map_err(|e| e.at(base))?;
        Ok(TraceReader {
            source,
            table,
            state,
            payload,
            records: Vec::new(),
            pages: Vec::new(),
            writes: Vec::new(),
            done: false,
        })
    }

    /// The table.
    pub fn table(&self) -> &TraceTable {
        &self.table
    }

    /// Bytes read so far, after decompression.
    pub fn decoded_bytes(&self) -> u64 {
        self.source.offset()
    }

    /// Replaces `out` by the records of the next block. False: there is none, and the
    /// trace was whole.
    pub fn next_block(&mut self, out: &mut Vec<Record>) -> Result<bool, TraceError> {
        out.clear();
        if let Some(Block::Pages(block)) = self.next()? {
            out.extend(block.iter().map(|(first, write)| Record {
                process: block.process,
                ticks: 0,
                action: Action::Access { region: block.region, write, first, count: 1 },
            }));
        } else if !self.done {
            std::mem::swap(&mut self.records, out);
        }
        Ok(!self.done)
    }

    /// The next block. None: there is none, and the trace was whole.
    #[allow(clippy::should_implement_trait)] // What it hands out borrows from the reader.
    pub fn next(&mut self) -> Result<Option<Block<'_>>, TraceError> {
        if self.done {
            return Ok(None);
        }
        let (kind, base) = self.source.block(&mut self.payload)?;
        match kind {
            KIND_RECORDS => self.read_records(base)?,
            KIND_PACKED => {
                if let Some((region, process)) = self.read_packed(base)? {
                    let (pages, writes) = (&self.pages[..], &self.writes[..]);
                    return Ok(Some(Block::Pages(Pages { process, region, pages, writes })));
                }
            }
            KIND_END => {
                let totals = Totals::decode(&self.payload, base)?;
                if totals != self.state.totals {
                    return Err(TraceError::format(
                        base,
                        format!("totals of {totals:?}"),
                        format!("{:?}", self.state.totals),
                    ));
                }
                self.source.finish()?;
                self.done = true;
                return Ok(None);
            }
            _ => return Err(TraceError::format(base, "a second table", "records or the end")),
        }
        Ok(Some(Block::Records(&self.records)))
    }

    fn read_records(&mut self, base: u64) -> Result<(), TraceError> {
        self.records.clear();
        let mut next = self.state.next;
        // Kept out of the state while the block lasts, so that it stays in a register.
        let mut accesses = 0;
        let out = &mut self.records;
        unpack(&self.payload, base, &mut next, |at, packed| {
            if let Packed::Access { count, .. } = packed {
                accesses += u64::from(count);
            }
            self.state.resolve(&self.table, packed, at, out)
        })?;
        self.state.next = next;
        self.state.count(self.records.len() as u64, accesses, base)
    }

    /// Reads packed accesses. Those of one region stay as they are: returns its number and
    /// process. Others become records.
    fn read_packed(&mut self, base: u64) -> Result<Option<(u16, u16)>, TraceError> {
        let most = MAX_BLOCK_RECORDS as usize;
        let found = packed::unpack(&self.payload, base, most, &mut self.pages, &mut self.writes)?;
        let n = self.pages.len() as u64;
        self.state.next = found.low.wrapping_add(self.pages[n as usize - 1]).wrapping_add(1);
        self.state.find(&self.table, found.low, 1, base)?;
        let (region, start, pages) = self.state.last;
        if found.high - start < pages {
            let offset = found.low - start;
            if offset > 0 {
                self.pages.iter_mut().for_each(|p| *p += offset);
            }
            self.state.count(n, n, base)?;
            return Ok(Some((region, self.state.process)));
        }
        self.records.clear();
        for (i, &page) in self.pages.iter().enumerate() {
            let write = self.writes[i / 64] >> (i % 64) & 1 == 1;
            let packed = Packed::Access { write, first: found.low + page, count: 1, ticks: 0 };
            self.state.resolve(&self.table, packed, base, &mut self.records)?;
        }
        self.state.count(n, n, base)?;
        Ok(None)
    }
}

impl State {
    fn new(table: &TraceTable) -> Result<Self, TraceError> {
        let mut starts = Vec::with_capacity(table.regions.len() + 1);
        let mut start = 0;
        starts.push(0);
        for region in &table.regions {
            start += region.pages;
            starts.push(start);
        }
        Ok(State {
            starts,
            mappings: Mappings::at_start(table)?,
            clocks: vec![0; table.processes.len()],
            next: 0,
            process: 0,
            last: (0, 0, 0),
            totals: Totals::default(),
        })
    }

    /// Counts what a block held.
    fn count(&mut self, records: u64, accesses: u64, base: u64) -> Result<(), TraceError> {
        self.totals.records += records;
        self.totals.accesses += accesses;
        if self.totals.accesses > MAX_ACCESSES {
            return Err(TraceError::format(
                base,
                format!("{} accesses up to here", self.totals.accesses),
                format!("at most {MAX_ACCESSES}"),
            ));
        }
        Ok(())
    }

    /// Turns a packed record, whose tag is at byte `at`, into a record.
    #[inline(always)]
    fn resolve(
        &mut self,
        table: &TraceTable,
        packed: Packed,
        at: u64,
        out: &mut Vec<Record>,
    ) -> Result<(), TraceError> {
        let Packed::Access { write, first, count, ticks } = packed else {
            return self.resolve_other(table, packed, at, out);
        };
        let (_, start, pages) = self.last;
        let into = first.wrapping_sub(start);
        if into >= pages || count > pages - into {
            self.find(table, first, count, at)?;
        }
        if ticks > 0 {
            self.advance(table, ticks, at)?;
        }
        let (region, start, _) = self.last;
        let action = Action::Access { region, write, first: first - start, count };
        out.push(Record { process: self.process, ticks, action });
        Ok(())
    }

    /// The records that are rare.
    #[inline(never)]
    fn resolve_other(
        &mut self,
        table: &TraceTable,
        packed: Packed,
        at: u64,
        out: &mut Vec<Record>,
    ) -> Result<(), TraceError> {
        self.last = (0, 0, 0);
        let (ticks, action) = match packed {
            Packed::Map { region, ticks } => {
                let region = self.own_region(table, region, at)?;
                self.mappings.map(table, region).map_err(|e| e.at(at))?;
                (ticks, Action::Map { region })
            }
            Packed::Unmap { region, ticks } => {
                let region = self.own_region(table, region, at)?;
                self.mappings.unmap(table, region).map_err(|e| e.at(at))?;
                (ticks, Action::Unmap { region })
            }
            Packed::Process { process } => {
                if process as usize >= table.processes.len() {
                    return Err(TraceError::format(
                        at,
                        format!("process {process}"),
                        format!("a process below {}", table.processes.len()),
                    ));
                }
                self.process = process as u16;
                return Ok(());
            }
            Packed::Access { .. } => unreachable!("accesses are resolved by the caller"),
        };
        if ticks > 0 {
            self.advance(table, ticks, at)?;
        }
        out.push(Record { process: self.process, ticks, action });
        Ok(())
    }

    fn advance(&mut self, table: &TraceTable, ticks: u64, at: u64) -> Result<(), TraceError> {
        let clock = &mut self.clocks[usize::from(self.process)];
        match table.later(*clock, ticks) {
            Some(ns) => *clock = ns,
            None => {
                return Err(TraceError::format(
                    at,
                    format!("{ticks} ticks of {} ns after {clock} ns", table.tick_ns),
                    format!("a clock of at most {MAX_CLOCK_NS} ns"),
                ));
            }
        }
        Ok(())
    }

    /// Makes `last` the mapped region of the process that has all of these dense pages.
    #[inline(never)]
    fn find(
        &mut self,
        table: &TraceTable,
        first: u32,
        count: u32,
        at: u64,
    ) -> Result<(), TraceError> {
        let i = self.starts.partition_point(|&s| s <= first).saturating_sub(1);
        let end = u64::from(first) + u64::from(count);
        if let Some(region) = table.regions.get(i)
            && end <= u64::from(self.starts[i + 1])
            && self.mappings.has(i as u16)
            && region.process == self.process
        {
            self.last = (i as u16, self.starts[i], region.pages);
            return Ok(());
        }
        Err(TraceError::format(
            at,
            format!("pages {first} to {} of process {}", end - 1, self.process),
            "pages of one region that the process has mapped",
        ))
    }

    fn own_region(&self, table: &TraceTable, region: u32, at: u64) -> Result<u16, TraceError> {
        match table.regions.get(region as usize) {
            Some(r) if r.process == self.process => Ok(region as u16),
            _ => Err(TraceError::format(
                at,
                format!("region {region} for process {}", self.process),
                "a region of the process",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::source::{STORED, ZSTD, block_head};
    use crate::trace::table::{Backing, Process, Region};
    use crate::trace::wire::{put_text, put_varint};

    fn block(out: &mut Vec<u8>, kind: u8, payload: &[u8]) {
        out.extend_from_slice(&block_head(kind, STORED, payload, payload.len()));
        out.extend_from_slice(payload);
    }

    /// The error of a whole reading of a trace of these blocks, whose digests are right.
    fn error_of(blocks: &[(u8, Vec<u8>)]) -> String {
        let mut file = MMT.prelude().to_vec();
        for (kind, payload) in blocks {
            block(&mut file, *kind, payload);
        }
        let read = || {
            let mut reader = TraceReader::new(&file[..])?;
            let mut out = Vec::new();
            while reader.next_block(&mut out)? {}
            Ok::<(), TraceError>(())
        };
        read().map_or_else(|e| e.to_string(), |()| "no error".into())
    }

    fn region(start: u64, pages: u32) -> Region {
        Region { process: 0, start, pages, backing: Backing::Anon, at_start: true }
    }

    fn table(regions: &[Region]) -> Vec<u8> {
        let mut table = TraceTable::empty("test");
        table.processes.push(Process { pid: 7, name: "p".into() });
        table.regions = regions.to_vec();
        table.encode()
    }

    /// A payload of records: tags, values, counts, ticks.
    fn records(columns: [&[u8]; 4]) -> Vec<u8> {
        let mut out = Vec::new();
        for c in &columns[..3] {
            out.extend_from_slice(&(c.len() as u32).to_le_bytes());
        }
        for c in columns {
            out.extend_from_slice(c);
        }
        out
    }

    fn end(records: u64, accesses: u64) -> (u8, Vec<u8>) {
        (KIND_END, Totals { records, accesses }.encode())
    }

    #[track_caller]
    fn expect(error: &str, parts: &[&str]) {
        for part in parts {
            assert!(error.contains(part), "{error:?} lacks {part:?}");
        }
    }

    #[test]
    fn absurd_tables_are_refused_with_their_place() {
        let of = |regions: &[Region]| error_of(&[(KIND_TABLE, table(regions)), end(0, 0)]);
        assert_eq!(of(&[region(5, 1)]), "no error");
        expect(&of(&[region(5, 0)]), &["byte 5", "0", "the pages of a region, 1 to 268435456"]);
        expect(&of(&[region((1 << 35) - 3, 4)]), &["47-bit address space"]);
        expect(
            &of(&[region(10, 10), region(19, 1)]),
            &["mapping region 1", "overlap with region 0"],
        );
        let huge = region(0, 1 << 27);
        let far = |i: u64| region(i << 28, 1 << 27);
        expect(&of(&[huge, far(1), far(2)]), &["402653184 pages", "at most 268435456"]);
        let stranger = Region { process: 3, ..region(0, 1) };
        expect(&of(&[stranger]), &["region 0 with process 3", "a process below 1"]);
        let lost = Backing::Text { file: 2, offset: 0 };
        expect(&of(&[Region { backing: lost, ..region(0, 1) }]), &["file 2", "a file below 0"]);
    }

    #[test]
    fn absurd_numbers_are_refused_before_they_cost_anything() {
        let counts = |processes: u64, regions: u64| {
            let mut out = vec![0, 1];
            put_text(&mut out, "s");
            put_varint(&mut out, 0);
            put_varint(&mut out, processes);
            put_varint(&mut out, 1);
            put_text(&mut out, "p");
            put_varint(&mut out, 0);
            put_varint(&mut out, regions);
            out
        };
        let of = |p| error_of(&[(KIND_TABLE, p)]);
        expect(&of(counts(1 << 60, 0)), &["1152921504606846976", "processes, 1 to 4096"]);
        expect(&of(counts(1, 1 << 60)), &["1152921504606846976", "regions, 0 to 65535"]);
        let head = |change: &dyn Fn(&mut [u8])| {
            let mut long = MMT.prelude().to_vec();
            long.extend_from_slice(&block_head(KIND_TABLE, STORED, &[], 0));
            change(&mut long[16..]);
            TraceReader::new(&long[..]).map(|_| ()).unwrap_err().to_string()
        };
        let e = head(&|h| h[2..10].fill(0xff));
        expect(&e, &["byte 18", "a block of 4294967295 bytes", "at most 8388608"]);
        let e = head(&|h| (h[1], h[9]) = (ZSTD, 0xff));
        expect(&e, &["byte 18", "4278190080 decoded", "at most 8388608"]);
        expect(&head(&|h| h[2] = 1), &["byte 18", "a block of 1 bytes, 0 decoded"]);
        expect(&head(&|h| h[1] = 7), &["byte 17", "coding 0x07", "0 (stored) or 1 (zstd)"]);
        expect(&head(&|h| h[0] = 0), &["byte 16", "kind 0x00"]);
    }

    #[test]
    fn records_must_fit_the_table() {
        let t = || (KIND_TABLE, table(&[region(100, 10), region(200, 10)]));
        let of = |columns| error_of(&[t(), (KIND_RECORDS, records(columns)), end(1, 1)]);
        assert_eq!(of([&[0], &[0], &[], &[]]), "no error");
        // Page 10 less one, two pages: across the border of the regions.
        expect(&of([&[0x08], &[18], &[2], &[]]), &["pages 9 to 10", "one region"]);
        // Page 2^31 below the first.
        expect(&of([&[0x60], &[0xff; 4], &[], &[]]), &["of one region that the process has"]);
        // A count of 2^60.
        let mut count = Vec::new();
        put_varint(&mut count, 1 << 60);
        expect(&of([&[0x08], &[0], &count, &[]]), &["no fitting count", "2 to 2^32-1"]);
        // Time beyond the end of clocks.
        let mut ticks = Vec::new();
        put_varint(&mut ticks, u64::MAX);
        expect(&of([&[0x10], &[0], &[], &ticks]), &["18446744073709551615 ticks", "a clock"]);
        expect(&of([&[0x04], &[1], &[], &[]]), &["process 1", "a process below 1"]);
        expect(&of([&[0x02], &[1], &[], &[]]), &["mapping region 1", "mapped already"]);
        expect(&of([&[0x03], &[2], &[], &[]]), &["region 2 for process 0"]);
        expect(&of([&[0x05], &[0], &[], &[]]), &["tag 0x05"]);
        expect(&of([&[0x80], &[0], &[], &[]]), &["tag 0x80"]);
        expect(&of([&[0x20], &[0], &[], &[]]), &["no bytes left"]);
        expect(&of([&[0], &[0, 0], &[], &[]]), &["bytes that no record uses"]);
        // One after the unmapping of its region.
        let two = records([&[0x03, 0x00], &[0, 0], &[], &[]]);
        expect(
            &error_of(&[t(), (KIND_RECORDS, two)]),
            &["pages 0 to 0 of process 0", "has mapped"],
        );
    }

    #[test]
    fn blocks_have_an_order_and_an_end() {
        let t = || (KIND_TABLE, table(&[region(100, 10)]));
        expect(&error_of(&[end(0, 0)]), &["the table ('T') first"]);
        expect(&error_of(&[t(), t()]), &["a second table"]);
        expect(&error_of(&[t()]), &["the end", "the head of a block of 18 bytes"]);
        expect(&error_of(&[t(), end(0, 3)]), &["accesses: 3", "accesses: 0"]);
        expect(&error_of(&[t(), end(0, 0), end(0, 0)]), &["more bytes", "the end of the file"]);
    }
}
