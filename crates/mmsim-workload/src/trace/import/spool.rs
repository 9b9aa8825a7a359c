//! Records between the two passes of an import: addresses are still virtual pages.
//!
//! One record is a byte of flags, the difference of its first page to the last one's end,
//! and what the flags announce; the whole goes through the fastest zstd, so that some
//! million records take some megabytes.

use std::io::{BufRead, BufReader, Cursor, Write};

use super::super::error::TraceError;
use super::super::wire::put_varint;

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
pub(super) struct Spool {
    out: zstd::stream::write::Encoder<'static, Vec<u8>>,
    buffer: Vec<u8>,
    process: u16,
    next: u64,
}

impl Spool {
    pub(super) fn new() -> Result<Self, TraceError> {
        let out = zstd::stream::write::Encoder::new(Vec::new(), 1)
            .map_err(TraceError::io("starting zstd"))?;
        Ok(Spool { out, buffer: Vec::with_capacity(64 << 10), process: 0, next: 0 })
    }

    pub(super) fn push(&mut self, r: &Spooled) -> Result<(), TraceError> {
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        let new_process = r.process != self.process;
        self.buffer.push(
            flag(r.write, WRITE)
                | flag(r.count > 1, COUNT)
                | flag(r.ticks > 0, TICKS)
                | flag(new_process, PROCESS),
        );
        let d = r.vpn.wrapping_sub(self.next) as i64;
        put_varint(&mut self.buffer, ((d << 1) ^ (d >> 63)) as u64);
        if r.count > 1 {
            put_varint(&mut self.buffer, r.count);
        }
        if r.ticks > 0 {
            put_varint(&mut self.buffer, r.ticks);
        }
        if new_process {
            put_varint(&mut self.buffer, u64::from(r.process));
            self.process = r.process;
        }
        self.next = r.vpn + r.count;
        if self.buffer.len() > 60 << 10 {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.out.write_all(&self.buffer).map_err(TraceError::io("spooling records"))?;
        self.buffer.clear();
        Ok(())
    }

    /// Now read them.
    pub(super) fn finish(mut self) -> Result<SpoolReader, TraceError> {
        self.flush()?;
        let bytes = self.out.finish().map_err(TraceError::io("spooling records"))?;
        let input = zstd::stream::read::Decoder::new(Cursor::new(bytes))
            .map_err(TraceError::io("starting zstd"))?;
        Ok(SpoolReader { input: BufReader::with_capacity(64 << 10, input), process: 0, next: 0 })
    }
}

type Decoder = zstd::stream::read::Decoder<'static, BufReader<Cursor<Vec<u8>>>>;

/// Hands the records out again.
pub(super) struct SpoolReader {
    input: BufReader<Decoder>,
    process: u16,
    next: u64,
}

impl SpoolReader {
    pub(super) fn next(&mut self) -> Result<Option<Spooled>, TraceError> {
        let failed = || TraceError::io("reading spooled records");
        if self.input.fill_buf().map_err(failed())?.is_empty() {
            return Ok(None);
        }
        let flags = self.byte().map_err(failed())?;
        let z = self.varint().map_err(failed())?;
        let d = (z >> 1) as i64 ^ -((z & 1) as i64);
        let vpn = self.next.wrapping_add(d as u64);
        let count = if flags & COUNT != 0 { self.varint().map_err(failed())? } else { 1 };
        let ticks = if flags & TICKS != 0 { self.varint().map_err(failed())? } else { 0 };
        if flags & PROCESS != 0 {
            self.process = self.varint().map_err(failed())? as u16;
        }
        self.next = vpn + count;
        let write = flags & WRITE != 0;
        Ok(Some(Spooled { process: self.process, write, vpn, count, ticks }))
    }

    fn byte(&mut self) -> std::io::Result<u8> {
        let byte = *self.input.fill_buf()?.first().ok_or(std::io::ErrorKind::UnexpectedEof)?;
        self.input.consume(1);
        Ok(byte)
    }

    fn varint(&mut self) -> std::io::Result<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
            shift += 7;
        }
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
        let mut spool = Spool::new().unwrap();
        for r in &all {
            spool.push(r).unwrap();
        }
        let mut reader = spool.finish().unwrap();
        for r in &all {
            assert_eq!(reader.next().unwrap(), Some(*r));
        }
        assert_eq!(reader.next().unwrap(), None);
    }
}
