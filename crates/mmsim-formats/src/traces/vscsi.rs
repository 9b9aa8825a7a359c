//! Binary traces of virtual disks, as VMware's vscsiStats writes them and libCacheSim reads
//! them.
//!
//! Little-endian records without a head. The upper byte of `ver` is the version of each.
//!
//! | version | record |
//! |---|---|
//! | 1 | 32 bytes: u32 number, u32 bytes, u32 nSG, u16 command, u16 ver, u64 sector, u64 us |
//! | 2 | 40 bytes: u16 command, u16 ver, u32 number, u32 bytes, u32 nSG, u64 sector, u64 us, u64 us of the response |
//!
//! Commands are SCSI operation codes; sectors have 512 bytes
//! (`libCacheSim/traceReader/customizedReader/vscsi.h`). The records are handed on as
//! comma-separated values, a line each, so a line of an error is the number of its record.

use std::fmt::Write as _;
use std::io::{self, Read};

use mmsim_workload::trace::{ImportOptions, PageKind, TraceError, opened};

/// Records that are turned into text at a time.
const BATCH: usize = 4096;

/// A layout of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    One,
    Two,
}

impl Version {
    const fn bytes(self) -> usize {
        match self {
            Version::One => 32,
            Version::Two => 40,
        }
    }

    /// True if a record says that it is of this version.
    fn is_of(self, record: &[u8]) -> bool {
        match self {
            Version::One => record[15] == 1,
            Version::Two => record[3] == 2,
        }
    }

    /// Appends a record as a line.
    fn line(self, r: &[u8], out: &mut String) {
        let number = |at: usize, bytes: usize| {
            r[at..at + bytes].iter().rev().fold(0_u64, |n, &b| n << 8 | u64::from(b))
        };
        let (size, command, sector, us) = match self {
            Version::One => (number(4, 4), number(12, 2), number(16, 8), number(24, 8)),
            Version::Two => (number(8, 4), number(0, 2), number(16, 8), number(24, 8)),
        };
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{us},{command:02x},{sector},{size}");
    }
}

/// The records of a file as lines of values.
pub(super) struct Records<R> {
    input: R,
    version: Version,
    /// Bytes that were read and are not used.
    bytes: Vec<u8>,
    text: Vec<u8>,
    at: usize,
    records: u64,
}

/// Begins to read; gzip and zstd are recognised.
///
/// # Errors
///
/// It cannot be read, or its first two records are of neither version.
pub(super) fn records<'a>(
    input: impl Read + Send + 'a,
) -> Result<Records<Box<dyn Read + Send + 'a>>, TraceError> {
    let mut input = opened(input, "vscsi", false)?;
    let mut bytes = Vec::new();
    let head = input.by_ref().take(2 * Version::Two.bytes() as u64).read_to_end(&mut bytes);
    head.map_err(|source| TraceError::Io { doing: "reading the input".into(), source })?;
    let fits = |version: &Version| {
        let n = version.bytes();
        let two = bytes.chunks_exact(n).take(2);
        bytes.len() >= n && two.into_iter().all(|record| version.is_of(record))
    };
    let Some(version) = [Version::Two, Version::One].into_iter().find(fits) else {
        return Err(TraceError::Format {
            offset: 0,
            found: "records of neither version".into(),
            expected: "a VSCSI trace of version 1 or 2".into(),
        });
    };
    Ok(Records { input, version, bytes, text: Vec::new(), at: 0, records: 0 })
}

impl<R: Read> Records<R> {
    /// Sets the options that an import of the lines needs.
    pub(super) fn options(&self, options: &mut ImportOptions) {
        options.columns = Some("time=#1,op=#2,sector=#3,size=#4".into());
        options.source = Some(match self.version {
            Version::One => "VSCSI, version 1",
            Version::Two => "VSCSI, version 2",
        });
        options.kind.get_or_insert(PageKind::File);
        options.time_unit_ns.get_or_insert(1000);
        options.dense = true;
    }

    /// Turns the next records into text. False: there are none.
    fn refill(&mut self) -> io::Result<bool> {
        let n = self.version.bytes();
        let wanted = (BATCH * n - self.bytes.len()) as u64;
        self.input.by_ref().take(wanted).read_to_end(&mut self.bytes)?;
        let mut text = String::new();
        for record in self.bytes.chunks(n) {
            if record.len() < n || !self.version.is_of(record) {
                let found = if record.len() < n { "half a record" } else { "another version" };
                let title = format!("{found} after {} records of {n} bytes", self.records);
                return Err(io::Error::new(io::ErrorKind::InvalidData, title));
            }
            self.version.line(record, &mut text);
            self.records += 1;
        }
        self.bytes.clear();
        (self.text, self.at) = (text.into_bytes(), 0);
        Ok(!self.text.is_empty())
    }
}

impl<R: Read> Read for Records<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() && !self.refill()? {
            return Ok(0);
        }
        let n = buf.len().min(self.text.len() - self.at);
        buf[..n].copy_from_slice(&self.text[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}
