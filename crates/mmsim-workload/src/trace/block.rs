//! Blocks of a trace, and how records are packed into them.
//!
//! A table block comes first, then blocks of records, then the end with the totals; so a
//! file cut at a block's border is noticed too. A block whose records are all single
//! accesses without time may be [`packed`](super::packed).
//!
//! Records of any other block are stored in columns: all tags, all page values, all counts, all
//! times. The tag says how many bytes the page value has and which columns the record
//! uses at all, hence decoding is a masked load per record, and the compressor sees
//! similar bytes side by side. Pages count through all regions in the order of the table
//! ("dense" pages), so that a difference between two accesses is small although heap and
//! stack are terabytes apart; the difference is taken to the page after the run before,
//! which makes a sequential pass a column of zeros.

use super::error::TraceError;
use super::packed;
use super::source::Format;
use super::wire::{Cursor, get_varint, put_varint, unzigzag, zigzag};

/// Kinds of blocks.
pub(super) const KIND_TABLE: u8 = b'T';
pub(super) const KIND_RECORDS: u8 = b'R';
pub(super) const KIND_PACKED: u8 = b'P';
pub(super) const KIND_END: u8 = b'E';

/// Files of this kind: `.mmt`. The line ends and the end-of-file byte of the first bytes show a
/// transfer that took it for text.
pub(super) static MMT: Format = Format {
    magic: *b"MMT\r\n\x1a\n\0",
    version: 2,
    what: "a page trace, `MMT`",
    renew: "import it again from where it came",
    kinds: "'T', 'R', 'P' or 'E'",
    longest,
    reading: "reading a trace",
};

/// Longest payload that a reader accepts, by kind.
fn longest(kind: u8) -> Option<usize> {
    match kind {
        KIND_TABLE => Some(8 << 20),
        KIND_RECORDS | KIND_PACKED => Some(2 << 20),
        KIND_END => Some(64),
        _ => None,
    }
}

/// Most records of a block; a writer makes smaller ones.
pub(super) const MAX_BLOCK_RECORDS: u64 = 65_536;
/// Records of the blocks that the writer makes, unless they take many bytes.
pub(super) const WRITER_RECORDS: usize = 65_536;
/// Bytes of columns after which the writer ends a block.
const WRITER_BYTES: usize = 1 << 20;
/// A block is packed if that takes at most this number of tenths of the size of its columns: these
/// can be compressed further, packed pages hardly.
const PACK_TENTHS: usize = 7;

const OP_READ: u8 = 0;
const OP_WRITE: u8 = 1;
const OP_MAP: u8 = 2;
const OP_UNMAP: u8 = 3;
const OP_PROCESS: u8 = 4;
const HAS_COUNT: u8 = 1 << 3;
const HAS_TICKS: u8 = 1 << 4;
const BYTES_SHIFT: u32 = 5;

/// A record as it is packed: pages are dense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Packed {
    /// Touches `count` dense pages from `first` on.
    Access { write: bool, first: u32, count: u32, ticks: u64 },
    /// Maps a region.
    Map { region: u32, ticks: u64 },
    /// Unmaps a region.
    Unmap { region: u32, ticks: u64 },
    /// The records from here on are of this process.
    Process { process: u32 },
}

/// Packs the records of one block.
#[derive(Default)]
pub(super) struct Packer {
    tags: Vec<u8>,
    values: Vec<u8>,
    counts: Vec<u8>,
    ticks: Vec<u8>,
    /// The dense page after the last run, across blocks.
    next: u32,
    /// The pages, as long as all records are single accesses without a time; then the
    /// columns are empty.
    pages: Vec<u32>,
    writes: Vec<u64>,
}

impl Packer {
    /// True if there is nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.pages.is_empty()
    }

    /// True if the block is to end here.
    pub(super) fn is_full(&self) -> bool {
        self.tags.len().max(self.pages.len()) >= WRITER_RECORDS
            || self.values.len() + self.counts.len() + self.ticks.len() >= WRITER_BYTES
    }

    /// Adds one.
    #[inline]
    pub(super) fn push(&mut self, record: Packed) {
        if let Packed::Access { write, first, count: 1, ticks: 0 } = record
            && self.tags.is_empty()
        {
            let i = self.pages.len();
            if i.is_multiple_of(64) {
                self.writes.push(0);
            }
            self.writes[i / 64] |= u64::from(write) << (i % 64);
            self.pages.push(first);
            return;
        }
        self.unfold();
        self.push_columns(record);
    }

    /// Puts the single accesses, kept apart so far, into the columns.
    fn unfold(&mut self) {
        let (pages, writes) = (std::mem::take(&mut self.pages), std::mem::take(&mut self.writes));
        self.push_plain(&pages, 0, &writes);
    }

    /// Puts single accesses without a time into the columns. `low` is added to their pages.
    fn push_plain(&mut self, pages: &[u32], low: u32, writes: &[u64]) {
        let mut end = self.values.len();
        self.values.resize(end + 4 * pages.len(), 0);
        self.tags.reserve(pages.len());
        for (i, &page) in pages.iter().enumerate() {
            let value = self.difference(low + page);
            self.next = (low + page).wrapping_add(1);
            let nr_bytes = bytes_of(value);
            self.values[end..end + 4].copy_from_slice(&value.to_le_bytes());
            end += nr_bytes;
            let write = writes[i / 64] >> (i % 64) & 1 == 1;
            self.tags.push(tag(if write { OP_WRITE } else { OP_READ }, nr_bytes));
        }
        self.values.truncate(end);
    }

    fn push_columns(&mut self, record: Packed) {
        let (op, value, count, ticks) = match record {
            Packed::Access { write, first, count, ticks } => {
                let value = self.difference(first);
                self.next = first.wrapping_add(count);
                (if write { OP_WRITE } else { OP_READ }, value, count, ticks)
            }
            Packed::Map { region, ticks } => (OP_MAP, region, 1, ticks),
            Packed::Unmap { region, ticks } => (OP_UNMAP, region, 1, ticks),
            Packed::Process { process } => (OP_PROCESS, process, 1, 0),
        };
        let nr_bytes = bytes_of(value);
        let mut tag = tag(op, nr_bytes);
        let end = self.values.len() + nr_bytes;
        self.values.extend_from_slice(&value.to_le_bytes());
        self.values.truncate(end);
        if count > 1 {
            tag |= HAS_COUNT;
            put_varint(&mut self.counts, u64::from(count));
        }
        if ticks > 0 {
            tag |= HAS_TICKS;
            put_varint(&mut self.ticks, ticks);
        }
        self.tags.push(tag);
    }

    /// The difference of a page to the one that would follow, as its column has it.
    fn difference(&self, first: u32) -> u32 {
        zigzag(first.wrapping_sub(self.next) as i32)
    }

    /// The kind and payload of the block, and begins the next one.
    pub(super) fn take(&mut self) -> (u8, Vec<u8>) {
        if self.pages.is_empty() {
            return (KIND_RECORDS, self.take_columns());
        }
        let sealed = Sealed::new(&self.pages, &self.writes);
        self.pages.clear();
        self.writes.clear();
        self.take_sealed(sealed)
    }

    /// The kind and payload of a block of these accesses and nothing else.
    pub(super) fn take_sealed(&mut self, sealed: Sealed) -> (u8, Vec<u8>) {
        debug_assert!(self.is_empty(), "nothing waits for its block");
        if sealed.is_worth(self.difference(sealed.first)) {
            self.next = sealed.last.wrapping_add(1);
            return (KIND_PACKED, sealed.payload);
        }
        let (pages, writes) = sealed.accesses();
        self.push_plain(&pages, sealed.low, &writes);
        (KIND_RECORDS, self.take_columns())
    }

    fn take_columns(&mut self) -> Vec<u8> {
        let mut out = Vec::with_capacity(12 + self.tags.len() * 4);
        for n in [self.tags.len(), self.values.len(), self.counts.len()] {
            out.extend_from_slice(&(n as u32).to_le_bytes());
        }
        for column in [&mut self.tags, &mut self.values, &mut self.counts, &mut self.ticks] {
            out.append(column);
        }
        out
    }
}

/// The tag of a record without counts and times.
fn tag(op: u8, nr_bytes: usize) -> u8 {
    op | ((nr_bytes - 1) as u8) << BYTES_SHIFT
}

/// Bytes that a value takes in its column.
fn bytes_of(value: u32) -> usize {
    1 + usize::from(value > 0xff) + usize::from(value > 0xffff) + usize::from(value > 0xff_ffff)
}

/// A packed block of single accesses without a time, and what decides whether it is worth it.
///
/// Everything but the smallest page is the same wherever the pages begin, so a block can be
/// packed before it is known which dense pages its pages are.
pub(super) struct Sealed {
    payload: Vec<u8>,
    nr: usize,
    first: u32,
    last: u32,
    low: u32,
    high: u32,
    /// Bytes that the differences of pages take in a column, without the first one's.
    values: usize,
}

impl Sealed {
    /// Packs accesses, of which there is at least one.
    pub(super) fn new(pages: &[u32], writes: &[u64]) -> Self {
        let bytes = |(a, b): (&u32, &u32)| {
            bytes_of(zigzag(b.wrapping_sub(a.wrapping_add(1)) as i32)) as u32
        };
        Sealed {
            payload: packed::pack(pages, writes),
            nr: pages.len(),
            first: pages[0],
            last: pages[pages.len() - 1],
            low: pages.iter().copied().fold(u32::MAX, u32::min),
            high: pages.iter().copied().fold(0, u32::max),
            values: pages.iter().zip(&pages[1..]).map(bytes).sum::<u32>() as usize,
        }
    }

    /// True if the packed form is the one to keep, given the difference of the first page.
    fn is_worth(&self, difference: u32) -> bool {
        let columns = self.nr + bytes_of(difference) + self.values;
        self.payload.len() * 10 <= columns * PACK_TENTHS
    }

    /// Accesses.
    pub(super) fn nr(&self) -> usize {
        self.nr
    }

    /// The smallest and the largest page.
    pub(super) fn span(&self) -> (u32, u32) {
        (self.low, self.high)
    }

    /// The pages less the smallest, and a bit for each: it is written.
    pub(super) fn accesses(&self) -> (Vec<u32>, Vec<u64>) {
        let (mut pages, mut writes) = (Vec::new(), Vec::new());
        let found = packed::unpack(&self.payload, 0, self.nr, &mut pages, &mut writes);
        assert!(found.is_ok(), "what was packed can be unpacked");
        (pages, writes)
    }

    /// Moves all pages so that the smallest is `low`.
    pub(super) fn move_to(&mut self, low: u32) {
        let moved = |page: u32| page - self.low + low;
        (self.first, self.last, self.high) =
            (moved(self.first), moved(self.last), moved(self.high));
        self.low = low;
        packed::set_low(&mut self.payload, low);
    }
}

/// The bounds of the columns in a payload.
struct Columns<'a> {
    tags: &'a [u8],
    values: &'a [u8],
    counts: &'a [u8],
    ticks: &'a [u8],
    base: u64,
}

impl<'a> Columns<'a> {
    fn split(payload: &'a [u8], base: u64) -> Result<Self, TraceError> {
        let short = || TraceError::format(base, "a shorter block", "the lengths of its columns");
        let (head, rest) = payload.split_at_checked(12).ok_or_else(short)?;
        let length = |i: usize| {
            u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]) as usize
        };
        if length(0) as u64 > MAX_BLOCK_RECORDS {
            return Err(TraceError::format(
                base,
                format!("{} records in a block", length(0)),
                format!("at most {MAX_BLOCK_RECORDS}"),
            ));
        }
        let (tags, rest) = rest.split_at_checked(length(0)).ok_or_else(short)?;
        let (values, rest) = rest.split_at_checked(length(4)).ok_or_else(short)?;
        let (counts, ticks) = rest.split_at_checked(length(8)).ok_or_else(short)?;
        Ok(Columns { tags, values, counts, ticks, base: base + 12 })
    }

    #[cold]
    fn wrong(&self, i: usize, found: &str, expected: &str) -> TraceError {
        TraceError::format(
            self.base + i as u64,
            format!("record {i} of the block with {found}"),
            expected,
        )
    }
}

/// Unpacks a payload that stands at byte `base`; `each` gets the position of the record's
/// tag and the record. `next` is the page after the last run, across blocks.
#[inline(always)]
pub(super) fn unpack(
    payload: &[u8],
    base: u64,
    next: &mut u32,
    mut each: impl FnMut(u64, Packed) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let c = Columns::split(payload, base)?;
    let (mut at_value, mut at_count, mut at_ticks) = (0, 0, 0);
    let mut page = *next;
    for (i, &tag) in c.tags.iter().enumerate() {
        let nr_bytes = usize::from(tag >> BYTES_SHIFT & 3) + 1;
        let Some(value) = load(c.values, at_value, nr_bytes) else {
            return Err(c.wrong(i, "no bytes left for its page", "a complete column"));
        };
        at_value += nr_bytes;
        let ticks = match tag & HAS_TICKS {
            0 => 0,
            _ => get_varint(c.ticks, &mut at_ticks)
                .ok_or_else(|| c.wrong(i, "no time", "a complete column"))?,
        };
        let record = if tag & 0x87 <= OP_WRITE {
            let count = match tag & HAS_COUNT {
                0 => 1,
                _ => match get_varint(c.counts, &mut at_count) {
                    Some(n) if n >= 2 && n <= u64::from(u32::MAX) => n as u32,
                    _ => return Err(c.wrong(i, "no fitting count", "2 to 2^32-1 pages")),
                },
            };
            let first = page.wrapping_add(unzigzag(value) as u32);
            page = first.wrapping_add(count);
            Packed::Access { write: tag & 0x07 == OP_WRITE, first, count, ticks }
        } else {
            match tag & !(3 << BYTES_SHIFT) & !HAS_TICKS {
                OP_MAP => Packed::Map { region: value, ticks },
                OP_UNMAP => Packed::Unmap { region: value, ticks },
                OP_PROCESS if ticks == 0 => Packed::Process { process: value },
                _ => return Err(c.wrong(i, &format!("tag {tag:#04x}"), "a known tag")),
            }
        };
        each(c.base + i as u64, record)?;
    }
    *next = page;
    if (at_value, at_count, at_ticks) != (c.values.len(), c.counts.len(), c.ticks.len()) {
        return Err(c.wrong(c.tags.len(), "bytes that no record uses", "columns without rest"));
    }
    Ok(())
}

/// Little-endian number of 1 to 4 bytes.
#[inline(always)]
fn load(bytes: &[u8], at: usize, nr_bytes: usize) -> Option<u32> {
    if let Some(&[a, b, c, d]) = bytes.get(at..at + 4) {
        let all = u32::from_le_bytes([a, b, c, d]);
        return Some(all & (u32::MAX >> (32 - 8 * nr_bytes as u32)));
    }
    let few = bytes.get(at..at + nr_bytes)?;
    Some(few.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b)))
}

/// Totals at the end of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Totals {
    /// Records: runs, maps and unmaps.
    pub(super) records: u64,
    /// Pages touched, counted each time.
    pub(super) accesses: u64,
}

impl Totals {
    pub(super) fn encode(self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.records);
        put_varint(&mut out, self.accesses);
        out
    }

    pub(super) fn decode(payload: &[u8], base: u64) -> Result<Self, TraceError> {
        let mut at = Cursor::new(payload, base);
        let totals = Totals {
            records: at.bounded("the number of records", 0, u64::MAX)?,
            accesses: at.bounded("the number of accesses", 0, u64::MAX)?,
        };
        at.finish("the end of the totals")?;
        Ok(totals)
    }
}
