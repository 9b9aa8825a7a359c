//! Bytes in and out: the prelude, and blocks of which each is compressed on its own.
//!
//! Traces of pages and files of events ([`events`](crate::events)) are such files, each with a
//! [`Format`] of its own.
//!
//! The prelude is never compressed, so that `file`-like tools and people with a hex dump see what
//! they have. The digest of a block is over its bytes as they are in the file, so that every byte
//! is under some digest and nothing is decompressed that was not checked. Positions in errors count
//! the prelude, and heads and *decoded* payloads of the blocks; the place in compressed bytes would
//! not help the user.

use std::io::{self, BufReader, Read};

use zstd::bulk::Decompressor;

use super::checksum::digest;
use super::error::TraceError;

/// The properties of a format of blocks.
pub(crate) struct Format {
    /// First bytes of a file.
    pub(crate) magic: [u8; 8],
    /// The version written, and the only one read.
    pub(crate) version: u16,
    /// The name of such a file, as in "a page trace, `MMT`".
    pub(crate) what: &'static str,
    /// The remedy for a file of an older version.
    pub(crate) renew: &'static str,
    /// The kinds of its blocks, as in "'T' or 'E'".
    pub(crate) kinds: &'static str,
    /// Longest payload that a reader accepts, by kind.
    pub(crate) longest: fn(u8) -> Option<usize>,
    /// The action of its reader, as errors of the host name it.
    pub(crate) reading: &'static str,
}

/// Magic bytes of files of this program, and their names.
const KNOWN: [(&[u8], &str); 2] = [
    (b"MMT\r\n\x1a\n\0", "a page trace, which `mmsim trace info` reads"),
    (b"MMEV\r\n\x1a\n", "events of a run, which `mmsim events` prints"),
];

/// Bytes of the prelude.
pub(crate) const PRELUDE: usize = 16;
/// Bytes of the head of a block.
pub(crate) const BLOCK_HEAD: usize = 18;
/// The payload is stored as it is.
pub(crate) const STORED: u8 = 0;
/// The payload is one zstd frame.
pub(super) const ZSTD: u8 = 1;

impl Format {
    /// The prelude of a file.
    pub(crate) fn prelude(&self) -> [u8; PRELUDE] {
        let mut out = [0; PRELUDE];
        out[..8].copy_from_slice(&self.magic);
        out[8..10].copy_from_slice(&self.version.to_le_bytes());
        let check = digest(&[&out[..12]]) as u32;
        out[12..].copy_from_slice(&check.to_le_bytes());
        out
    }
}

/// The head of a block with this payload as it is in the file, `decoded` bytes long after
/// decoding.
pub(crate) fn block_head(kind: u8, coding: u8, payload: &[u8], decoded: usize) -> [u8; BLOCK_HEAD] {
    let mut head = [0; BLOCK_HEAD];
    (head[0], head[1]) = (kind, coding);
    head[2..6].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    head[6..10].copy_from_slice(&(decoded as u32).to_le_bytes());
    let check = digest(&[&head[..10], payload]);
    head[10..].copy_from_slice(&check.to_le_bytes());
    head
}

/// The blocks of a file.
pub(crate) struct Source<R: Read> {
    format: &'static Format,
    input: BufReader<R>,
    offset: u64,
    compressed: Vec<u8>,
    zstd: Option<Decompressor<'static>>,
}

impl<R: Read> Source<R> {
    /// Reads the prelude.
    pub(crate) fn open(input: R, format: &'static Format) -> Result<Self, TraceError> {
        let input = BufReader::with_capacity(64 << 10, input);
        let mut source = Source { format, input, offset: 0, compressed: Vec::new(), zstd: None };
        match source.prelude()? {
            true => Ok(source),
            false => Err(source.no_file("nothing at all")),
        }
    }

    fn no_file(&self, found: impl Into<String>) -> TraceError {
        TraceError::format(self.offset, found, format!("the start of {}", self.format.what))
    }

    /// Reads a prelude. False: there is nothing more.
    pub(crate) fn prelude(&mut self) -> Result<bool, TraceError> {
        let (format, at) = (self.format, self.offset);
        let mut head = [0; PRELUDE];
        let got = self.fill(&mut head)?;
        if got == 0 {
            return Ok(false);
        }
        if got < 8 || head[..8] != format.magic {
            let start = &head[..got.min(8)];
            if let Some((_, what)) = KNOWN.iter().find(|known| start == known.0) {
                return Err(self.no_file(*what));
            }
            let text = start.iter().all(|b| (0x20..0x7f).contains(b) || b.is_ascii_whitespace());
            return Err(self.no_file(match text {
                true => format!("the text {:?}", String::from_utf8_lossy(start)),
                false => format!("{start:02x?}"),
            }));
        }
        if got < PRELUDE {
            return Err(TraceError::format(at + got as u64, "the end", "a prelude of 16 bytes"));
        }
        let version = u16::from_le_bytes([head[8], head[9]]);
        if version != format.version {
            let expected = if version < format.version {
                format!("version {}; {}", format.version, format.renew)
            } else {
                format!("version {}, the latest that this program knows", format.version)
            };
            return Err(TraceError::format(at + 8, format!("version {version}"), expected));
        }
        if head != format.prelude() {
            return Err(TraceError::format(
                at + 10,
                format!("flags {:02x?} and check {:02x?}", &head[10..12], &head[12..]),
                "no flags and the digest of the prelude",
            ));
        }
        self.offset += PRELUDE as u64;
        Ok(true)
    }

    /// Fills as much of `buffer` as there is.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, TraceError> {
        read_up_to(&mut self.input, buffer).map_err(TraceError::io(self.format.reading))
    }

    /// Where it is.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next block: its kind and where its payload begins; the payload, checked and
    /// decoded, goes to `payload`.
    pub(crate) fn block(&mut self, payload: &mut Vec<u8>) -> Result<(u8, u64), TraceError> {
        let at = self.offset;
        let mut head = [0; BLOCK_HEAD];
        let got = self.fill(&mut head)?;
        if got < BLOCK_HEAD {
            let expected = format!("the head of a block of {BLOCK_HEAD} bytes");
            return Err(TraceError::format(at + got as u64, "the end", expected));
        }
        let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let (kind, coding) = (head[0], head[1]);
        let (stored, decoded) = (word(2) as usize, word(6) as usize);
        let Some(limit) = (self.format.longest)(kind) else {
            let found = format!("a block of kind {kind:#04x}");
            return Err(TraceError::format(at, found, self.format.kinds));
        };
        let lengths_fit = match coding {
            STORED => stored == decoded,
            ZSTD => stored < decoded,
            _ => {
                let found = format!("a block in coding {coding:#04x}");
                return Err(TraceError::format(at + 1, found, "0 (stored) or 1 (zstd)"));
            }
        };
        if !lengths_fit || decoded > limit {
            return Err(TraceError::format(
                at + 2,
                format!("a block of {stored} bytes, {decoded} decoded"),
                format!("at most {limit} for its kind, fewer if compressed"),
            ));
        }
        let base = at + BLOCK_HEAD as u64;
        let bytes = if coding == STORED { &mut *payload } else { &mut self.compressed };
        bytes.clear();
        // Memory grows with the bytes that are there, not with the stored length.
        let got = (&mut self.input).take(stored as u64).read_to_end(bytes);
        let got = got.map_err(TraceError::io(self.format.reading))?;
        if got < stored {
            let expected = format!("a block of {stored} bytes");
            return Err(TraceError::format(base + got as u64, "the end", expected));
        }
        let found = digest(&[&head[..10], bytes]);
        let stated = u64::from(word(10)) | u64::from(word(14)) << 32;
        if found != stated {
            return Err(TraceError::format(
                at + 10,
                format!("digest {stated:016x} before a block with {found:016x}"),
                "the digest of the block",
            ));
        }
        if coding == ZSTD {
            self.decompress(decoded, base, payload)?;
        }
        self.offset = base + decoded as u64;
        Ok((kind, base))
    }

    fn decompress(
        &mut self,
        decoded: usize,
        base: u64,
        payload: &mut Vec<u8>,
    ) -> Result<(), TraceError> {
        let zstd = match &mut self.zstd {
            Some(zstd) => zstd,
            none => none.insert(Decompressor::new().map_err(TraceError::io("starting zstd"))?),
        };
        payload.clear();
        payload.reserve_exact(decoded);
        let found = match zstd.decompress_to_buffer(&self.compressed, payload) {
            Ok(n) if n == decoded => return Ok(()),
            Ok(n) => format!("{n} bytes after decompression"),
            Err(e) => format!("what zstd cannot decode ({e})"),
        };
        Err(TraceError::format(base, found, format!("one zstd frame of {decoded} bytes")))
    }

    /// Checks that nothing follows.
    pub(super) fn finish(&mut self) -> Result<(), TraceError> {
        match self.fill(&mut [0])? {
            0 => Ok(()),
            _ => Err(TraceError::format(
                self.offset,
                "more bytes",
                "the end of the file after the end block",
            )),
        }
    }
}

/// Fills as much of `buffer` as there is.
pub(super) fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}
