//! Reading a trace, block by block, in bounded memory.
//!
//! Nothing that the file says is believed before it is checked: lengths have limits and
//! memory grows only with bytes that really arrive; every digest is checked before its
//! payload is looked at; every access must fall within one mapped region of its process;
//! clocks must not overflow; the totals at the end must agree.

use std::io::Read;

use super::block::{KIND_END, KIND_RECORDS, KIND_TABLE, Packed, Totals, longest, unpack};
use super::checksum::digest;
use super::error::TraceError;
use super::mappings::Mappings;
use super::source::Source;
use super::table::{Action, Record, TraceTable};

/// Largest clock of a process, in nanoseconds: 146 years.
pub(super) const MAX_CLOCK_NS: u64 = u64::MAX / 4;

/// A trace being read.
///
/// [`TraceReader::new`] reads the table; [`TraceReader::next_block`] hands out the records
/// of one block after the other, at most 32 768 of them.
pub struct TraceReader<R: Read> {
    source: Source<R>,
    table: TraceTable,
    state: State,
    payload: Vec<u8>,
    done: bool,
}

/// What the records so far have led to.
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
        let mut source = Source::open(input)?;
        let mut payload = Vec::new();
        let (kind, base) = next_payload(&mut source, &mut payload)?;
        if kind != KIND_TABLE {
            return Err(TraceError::format(
                base,
                format!("a block of kind {:?}", char::from(kind)),
                "the table ('T') first",
            ));
        }
        let table = TraceTable::decode(&payload, base)?;
        let state = State::new(&table).map_err(|e| e.at(base))?;
        Ok(TraceReader { source, table, state, payload, done: false })
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
        if self.done {
            return Ok(false);
        }
        let (kind, base) = next_payload(&mut self.source, &mut self.payload)?;
        match kind {
            KIND_RECORDS => {
                let mut next = self.state.next;
                unpack(&self.payload, base, &mut next, |at, packed| {
                    self.state.resolve(&self.table, packed, at, out)
                })?;
                self.state.next = next;
                Ok(true)
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
                Ok(false)
            }
            _ => Err(TraceError::format(base, "a second table", "records or the end")),
        }
    }
}

/// Reads a block, checks its digest; its payload goes to `payload`. Returns its kind and
/// where its payload begins.
fn next_payload<R: Read>(
    source: &mut Source<R>,
    payload: &mut Vec<u8>,
) -> Result<(u8, u64), TraceError> {
    let at = source.offset();
    source.take(13, "the head of a block", payload)?;
    let mut head = [0; 13];
    head.copy_from_slice(payload);
    let kind = head[0];
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    let stated = u64::from_le_bytes([
        head[5], head[6], head[7], head[8], head[9], head[10], head[11], head[12],
    ]);
    let Some(limit) = longest(kind) else {
        return Err(TraceError::format(
            at,
            format!("a block of kind {kind:#04x}"),
            "'T', 'R' or 'E'",
        ));
    };
    if length as usize > limit {
        return Err(TraceError::format(
            at + 1,
            format!("a block of {length} bytes"),
            format!("at most {limit} for its kind"),
        ));
    }
    let base = source.offset();
    source.take(length as usize, "a block", payload)?;
    let found = digest(&[&head[..5], payload]);
    if found != stated {
        return Err(TraceError::format(
            at + 5,
            format!("digest {stated:016x} before a block with {found:016x}"),
            "the digest of the block",
        ));
    }
    Ok((kind, base))
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
        self.totals.records += 1;
        self.totals.accesses += u64::from(count);
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
        self.totals.records += 1;
        out.push(Record { process: self.process, ticks, action });
        Ok(())
    }

    fn advance(&mut self, table: &TraceTable, ticks: u64, at: u64) -> Result<(), TraceError> {
        let clock = &mut self.clocks[usize::from(self.process)];
        let later = ticks.checked_mul(table.tick_ns).and_then(|ns| ns.checked_add(*clock));
        match later {
            Some(ns) if ns <= MAX_CLOCK_NS => *clock = ns,
            _ => {
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
    use crate::trace::source::prelude;
    use crate::trace::table::{Backing, Process, Region};
    use crate::trace::wire::{put_text, put_varint};

    fn block(out: &mut Vec<u8>, kind: u8, payload: &[u8]) {
        let mut head = vec![kind];
        head.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        let check = digest(&[&head, payload]);
        out.extend_from_slice(&head);
        out.extend_from_slice(&check.to_le_bytes());
        out.extend_from_slice(payload);
    }

    /// The error of a whole reading of a trace of these blocks, whose digests are right.
    fn error_of(blocks: &[(u8, Vec<u8>)]) -> String {
        let mut file = prelude(0).to_vec();
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
        expect(&of(&[region(5, 0)]), &["byte 4", "0", "the pages of a region, 1 to 268435456"]);
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
        let head = |processes: u64, regions: u64| {
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
        expect(&of(head(1 << 60, 0)), &["1152921504606846976", "processes, 1 to 4096"]);
        expect(&of(head(1, 1 << 60)), &["1152921504606846976", "regions, 0 to 65535"]);
        let mut long = prelude(0).to_vec();
        long.push(KIND_TABLE);
        long.extend_from_slice(&u32::MAX.to_le_bytes());
        long.extend_from_slice(&[0; 8]);
        let e = TraceReader::new(&long[..]).map(|_| ()).unwrap_err().to_string();
        expect(&e, &["byte 17", "a block of 4294967295 bytes", "at most 8388608"]);
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
        expect(&error_of(&[t()]), &["the end", "the head of a block of 13 bytes"]);
        expect(&error_of(&[t(), end(0, 3)]), &["accesses: 3", "accesses: 0"]);
        expect(&error_of(&[t(), end(0, 0), end(0, 0)]), &["more bytes", "the end of the file"]);
    }
}
