//! Bytes in and out: the prelude, and a body that may be one zstd frame.
//!
//! The prelude is never compressed, so that `file`-like tools and people with a hex dump
//! see what they have. Positions in errors count the prelude and then the body as it is
//! after decompression; the place in the compressed file would tell nobody anything.

use std::io::{self, BufRead, BufReader, Read};

use super::checksum::digest;
use super::error::TraceError;

/// First bytes of a trace. The line ends and the end-of-file byte show a transfer that
/// took it for text.
pub(super) const MAGIC: [u8; 8] = *b"MMT\r\n\x1a\n\0";
/// The version written, and the only one read.
pub(super) const VERSION: u16 = 1;
/// Flag of the prelude: the body is one zstd frame.
pub(super) const FLAG_ZSTD: u16 = 1;
/// Bytes of the prelude.
pub(super) const PRELUDE: usize = 16;
/// Largest window that a reader grants to a frame: 2^23 bytes.
const WINDOW_LOG_MAX: u32 = 23;

/// The prelude of a trace.
pub(super) fn prelude(flags: u16) -> [u8; PRELUDE] {
    let mut out = [0; PRELUDE];
    out[..8].copy_from_slice(&MAGIC);
    out[8..10].copy_from_slice(&VERSION.to_le_bytes());
    out[10..12].copy_from_slice(&flags.to_le_bytes());
    let check = digest(&[&out[..12]]) as u32;
    out[12..].copy_from_slice(&check.to_le_bytes());
    out
}

enum Body<R: Read> {
    Plain(BufReader<R>),
    Zstd(Box<zstd::stream::read::Decoder<'static, BufReader<R>>>),
    Gone,
}

/// The decoded bytes of a trace.
pub(super) struct Source<R: Read> {
    body: Body<R>,
    offset: u64,
}

impl<R: Read> Source<R> {
    /// Reads the prelude.
    pub(super) fn open(input: R) -> Result<Self, TraceError> {
        let mut input = BufReader::with_capacity(64 << 10, input);
        let mut head = [0; PRELUDE];
        let got = read_up_to(&mut input, &mut head).map_err(TraceError::io("reading a trace"))?;
        if got < 8 || head[..8] != MAGIC {
            let start = &head[..got.min(8)];
            let text = start.iter().all(|b| (0x20..0x7f).contains(b) || b.is_ascii_whitespace());
            let found = match (start, text) {
                ([], _) => "nothing at all".to_string(),
                (_, true) => format!("the text {:?}", String::from_utf8_lossy(start)),
                (_, false) => format!("{start:02x?}"),
            };
            return Err(TraceError::format(0, found, "the start of a page trace, `MMT`"));
        }
        if got < PRELUDE {
            return Err(TraceError::format(got as u64, "the end", "a prelude of 16 bytes"));
        }
        let version = u16::from_le_bytes([head[8], head[9]]);
        if version != VERSION {
            return Err(TraceError::format(
                8,
                format!("version {version}"),
                format!("version {VERSION}"),
            ));
        }
        let flags = u16::from_le_bytes([head[10], head[11]]);
        if head != prelude(flags) || flags & !FLAG_ZSTD != 0 {
            return Err(TraceError::format(
                10,
                format!("flags {flags:#06x} and check {:02x?}", &head[12..]),
                "known flags and the digest of the prelude",
            ));
        }
        let body = if flags & FLAG_ZSTD == 0 {
            Body::Plain(input)
        } else {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(input)
                .map_err(TraceError::io("starting zstd"))?
                .single_frame();
            decoder.window_log_max(WINDOW_LOG_MAX).map_err(TraceError::io("starting zstd"))?;
            Body::Zstd(Box::new(decoder))
        };
        Ok(Source { body, offset: PRELUDE as u64 })
    }

    /// Where it is.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next `n` bytes, into `buffer`. Memory grows with what is there, not with what
    /// is asked for.
    pub(super) fn take(
        &mut self,
        n: usize,
        what: &str,
        buffer: &mut Vec<u8>,
    ) -> Result<(), TraceError> {
        buffer.clear();
        let got = match &mut self.body {
            Body::Plain(r) => r.take(n as u64).read_to_end(buffer),
            Body::Zstd(r) => r.take(n as u64).read_to_end(buffer),
            Body::Gone => Ok(0),
        };
        let here = self.offset + buffer.len() as u64;
        match got {
            Ok(got) if got == n => {
                self.offset = here;
                Ok(())
            }
            Ok(_) => Err(TraceError::format(here, "the end", format!("{what} of {n} bytes"))),
            Err(e) => Err(self.damaged(here, e)),
        }
    }

    /// Checks that nothing follows, neither in the frame nor after it.
    pub(super) fn finish(&mut self) -> Result<(), TraceError> {
        let mut rest = [0];
        let after = |found: &str, offset| {
            Err(TraceError::format(offset, found, "the end of the file after the end block"))
        };
        let mut input = match std::mem::replace(&mut self.body, Body::Gone) {
            Body::Plain(r) => r,
            Body::Zstd(mut r) => match r.read(&mut rest) {
                Ok(0) => r.finish(),
                Ok(_) => return after("more decoded bytes", self.offset),
                Err(e) => return Err(self.damaged(self.offset, e)),
            },
            Body::Gone => return Ok(()),
        };
        match input.fill_buf() {
            Ok([]) => Ok(()),
            Ok(_) => after("more bytes", self.offset),
            Err(e) => Err(TraceError::io("reading a trace")(e)),
        }
    }

    /// A compressed stream that cannot be decoded says so as an error of the host.
    fn damaged(&self, offset: u64, e: io::Error) -> TraceError {
        match self.body {
            Body::Plain(_) => TraceError::io("reading a trace")(e),
            _ => TraceError::format(
                offset,
                format!("what zstd cannot decode ({e})"),
                "one whole zstd frame with a window of at most 8 MiB",
            ),
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
