//! Records between the two passes of an import: addresses are still virtual pages.
//!
//! One record is a byte of flags, the difference of its first page to the last one's end,
//! and what the flags announce: two to six bytes, less than it takes in the trace before
//! compression.

use super::super::wire::{get_varint, put_varint};

const WRITE: u8 = 1;
const COUNT: u8 = 2;
const TICKS: u8 = 4;
const PROCESS: u8 = 8;

/// A record of an import.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spooled {
    pub(super) process: u16,
    pub(super) write: bool,
    pub(super) vpn: u64,
    pub(super) count: u64,
    pub(super) ticks: u64,
}

/// Takes records.
#[derive(Default)]
pub(super) struct Spool {
    bytes: Vec<u8>,
    process: u16,
    next: u64,
}

impl Spool {
    #[inline]
    pub(super) fn push(&mut self, r: &Spooled) {
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        let new_process = r.process != self.process;
        self.bytes.push(
            flag(r.write, WRITE)
                | flag(r.count > 1, COUNT)
                | flag(r.ticks > 0, TICKS)
                | flag(new_process, PROCESS),
        );
        let d = r.vpn.wrapping_sub(self.next) as i64;
        put_varint(&mut self.bytes, ((d << 1) ^ (d >> 63)) as u64);
        if r.count > 1 {
            put_varint(&mut self.bytes, r.count);
        }
        if r.ticks > 0 {
            put_varint(&mut self.bytes, r.ticks);
        }
        if new_process {
            put_varint(&mut self.bytes, u64::from(r.process));
            self.process = r.process;
        }
        self.next = r.vpn + r.count;
    }

    /// Now read them.
    pub(super) fn finish(self) -> SpoolReader {
        SpoolReader { bytes: self.bytes, at: 0, process: 0, next: 0 }
    }
}

/// Hands the records out again.
pub(super) struct SpoolReader {
    bytes: Vec<u8>,
    at: usize,
    process: u16,
    next: u64,
}

impl SpoolReader {
    fn varint(&mut self) -> u64 {
        get_varint(&self.bytes, &mut self.at).expect("the spool holds whole records")
    }
}

impl Iterator for SpoolReader {
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
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let mut all = Vec::new();
        for i in 0..50_000u64 {
            all.push(Spooled {
                process: (i / 100 % 3) as u16,
                write: i % 3 == 0,
                vpn: (i * 7919) % (1 << 35),
                count: 1 + i % 5,
                ticks: if i % 4 == 0 { i } else { 0 },
            });
        }
        let mut spool = Spool::default();
        for r in &all {
            spool.push(r);
        }
        assert_eq!(spool.finish().collect::<Vec<_>>(), all);
    }
}
