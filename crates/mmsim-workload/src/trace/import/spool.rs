//! Records between the two passes of an import: addresses are still virtual pages.
//!
//! They are kept in chunks of as many records as a block of the trace has. Most inputs are
//! nothing but single pages of one process without times; a chunk of such is packed as the
//! trace will have it, except that its smallest page is a virtual one. If all its pages
//! prove to lie in one region, which is common too, a number in its head is all that is left
//! to change.
//!
//! In any other chunk a record is a byte of flags, the difference of its first page to the
//! last one's end, and what the flags announce: two to six bytes. Either way this is about
//! what the records take in the trace before compression.

use super::super::block::{Sealed, WRITER_RECORDS};
use super::super::wire::{get_varint, put_varint};

const WRITE: u8 = 1;
const COUNT: u8 = 2;
const TICKS: u8 = 4;
const PROCESS: u8 = 8;

/// Records of a chunk.
const CHUNK: usize = WRITER_RECORDS;

/// A base that no page is near to.
const NONE: u64 = 1 << 63;

/// A record of an import.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spooled {
    pub(super) process: u16,
    pub(super) write: bool,
    pub(super) vpn: u64,
    pub(super) count: u64,
    pub(super) ticks: u64,
}

/// Records of the first pass.
pub(super) enum Chunk {
    /// Single accesses without a time.
    Plain {
        /// The process of all.
        process: u16,
        /// The smallest page.
        low: u64,
        /// The pages, less an arbitrary number.
        sealed: Sealed,
    },
    /// Any records.
    Any(Records),
}

/// Takes records.
pub(super) struct Spool {
    chunks: Vec<Chunk>,
    /// Records of the chunk in the making.
    nr: usize,
    /// Its pages less `base`, and which of them are written, as long as it is plain.
    pages: Box<[u32; CHUNK]>,
    writes: Box<[u64; CHUNK / 64]>,
    /// [`NONE`] if the chunk is empty or not plain.
    base: u64,
    /// The process of the last record.
    process: u16,
    /// The records of a chunk that is not plain.
    records: Vec<u8>,
    /// The end of the last of them.
    next: u64,
}

impl Default for Spool {
    fn default() -> Self {
        Spool {
            chunks: Vec::new(),
            nr: 0,
            pages: vec![0; CHUNK].try_into().expect("a chunk of pages"),
            writes: vec![0; CHUNK / 64].try_into().expect("a bit for each"),
            base: NONE,
            process: 0,
            records: Vec::new(),
            next: 0,
        }
    }
}

impl Spool {
    /// Adds a record.
    #[inline]
    pub(super) fn push(&mut self, r: &Spooled) {
        if r.count == 1 && r.ticks == 0 {
            self.push_single(r.process, r.vpn, r.write);
        } else {
            self.any(r, false);
        }
    }

    /// Adds a single access without a time.
    #[inline(always)]
    pub(super) fn push_single(&mut self, process: u16, vpn: u64, write: bool) {
        let page = vpn.wrapping_sub(self.base);
        if page <= u64::from(u32::MAX) && process == self.process {
            self.plain(page as u32, write);
        } else {
            self.any(&Spooled { process, write, vpn, count: 1, ticks: 0 }, true);
        }
    }

    /// Adds a single access to a plain chunk.
    #[inline(always)]
    fn plain(&mut self, page: u32, write: bool) {
        let i = self.nr % CHUNK;
        self.pages[i] = page;
        self.writes[i / 64] |= u64::from(write) << (i % 64);
        self.nr += 1;
        if self.nr == CHUNK {
            self.close();
        }
    }

    #[inline(never)]
    fn any(&mut self, r: &Spooled, plain: bool) {
        if plain && self.nr == 0 {
            // Pages around the first one.
            self.base = r.vpn.saturating_sub(1 << 31);
            self.process = r.process;
            self.plain((r.vpn - self.base) as u32, r.write);
            return;
        }
        self.unfold();
        self.put(r);
        self.nr += 1;
        if self.nr == CHUNK {
            self.close();
        }
    }

    /// Makes a plain chunk one of any records.
    fn unfold(&mut self) {
        if !self.records.is_empty() {
            return;
        }
        let process = std::mem::take(&mut self.process);
        for i in 0..self.nr {
            let write = self.writes[i / 64] >> (i % 64) & 1 == 1;
            let vpn = self.base + u64::from(self.pages[i]);
            self.put(&Spooled { process, write, vpn, count: 1, ticks: 0 });
        }
        self.base = NONE;
    }

    fn put(&mut self, r: &Spooled) {
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        let new_process = r.process != self.process;
        self.records.push(
            flag(r.write, WRITE)
                | flag(r.count > 1, COUNT)
                | flag(r.ticks > 0, TICKS)
                | flag(new_process, PROCESS),
        );
        let d = r.vpn.wrapping_sub(self.next) as i64;
        put_varint(&mut self.records, ((d << 1) ^ (d >> 63)) as u64);
        if r.count > 1 {
            put_varint(&mut self.records, r.count);
        }
        if r.ticks > 0 {
            put_varint(&mut self.records, r.ticks);
        }
        if new_process {
            put_varint(&mut self.records, u64::from(r.process));
            self.process = r.process;
        }
        self.next = r.vpn + r.count;
    }

    #[inline(never)]
    fn close(&mut self) {
        if self.records.is_empty() {
            let sealed = Sealed::new(&self.pages[..self.nr], &self.writes[..self.nr.div_ceil(64)]);
            let low = self.base + u64::from(sealed.span().0);
            self.chunks.push(Chunk::Plain { process: self.process, low, sealed });
        } else {
            let bytes = self.records.as_slice().into();
            self.chunks.push(Chunk::Any(Records { bytes, at: 0, process: 0, next: 0 }));
        }
        self.records.clear();
        self.writes.fill(0);
        (self.nr, self.base, self.process, self.next) = (0, NONE, 0, 0);
    }

    /// Now read them.
    pub(super) fn finish(mut self) -> Vec<Chunk> {
        if self.nr > 0 {
            self.close();
        }
        self.chunks
    }
}

/// Hands records out again.
pub(super) struct Records {
    bytes: Box<[u8]>,
    at: usize,
    process: u16,
    next: u64,
}

impl Records {
    fn varint(&mut self) -> u64 {
        get_varint(&self.bytes, &mut self.at).expect("the spool holds whole records")
    }
}

impl Iterator for Records {
    type Item = Spooled;

    fn next(&mut self) -> Option<Spooled> {
        let flags = *self.bytes.get(self.at)?;
        self.at += 1;
        let z = self.varint();
        let d = (z >> 1) as i64 ^ -((z & 1) as i64);
        let vpn = self.next.wrapping_add(d as u64);
        let count = if flags & COUNT != 0 { self.varint() } else { 1 };
        let ticks = if flags & TICKS != 0 { self.varint() } else { 0 };
        if flags & PROCESS != 0 {
            self.process = self.varint() as u16;
        }
        self.next = vpn + count;
        let write = flags & WRITE != 0;
        Some(Spooled { process: self.process, write, vpn, count, ticks })
    }
}

#[cfg(test)]
impl Spool {
    /// All records again, in turn.
    pub(super) fn all(self) -> Vec<Spooled> {
        let mut all = Vec::new();
        for chunk in self.finish() {
            match chunk {
                Chunk::Any(records) => all.extend(records),
                Chunk::Plain { process, low, sealed } => {
                    let (pages, writes) = sealed.accesses();
                    all.extend(pages.iter().enumerate().map(|(i, &page)| Spooled {
                        process,
                        write: writes[i / 64] >> (i % 64) & 1 == 1,
                        vpn: low + u64::from(page),
                        count: 1,
                        ticks: 0,
                    }));
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of every kind, in chunks of every kind: plain throughout, plain at first, far
    /// apart, of several processes.
    #[test]
    fn records_come_back() {
        for (odd, far, processes) in
            [(u64::MAX, 0, 1), (100_000, 0, 1), (3, 0, 1), (u64::MAX, 4, 1), (u64::MAX, 0, 3)]
        {
            let mut all = Vec::new();
            for i in 0..200_000u64 {
                let plain = i % odd != odd - 1;
                all.push(Spooled {
                    process: (i / 100 % processes) as u16,
                    write: i % 3 == 0,
                    vpn: (i * 7919) % (1 << 31) + if far > 0 { (i % far) << 33 } else { 0 },
                    count: if plain { 1 } else { 1 + i % 5 },
                    ticks: if plain { 0 } else { i },
                });
            }
            let mut spool = Spool::default();
            for r in &all {
                spool.push(r);
            }
            assert!(spool.all() == all, "one in {odd} not plain, {far} far, {processes}");
        }
    }
}
