//! Text input in large pieces of whole lines.
//!
//! A parser that asks for one line at a time pays a search and a copy per line. Here it
//! gets a slice that ends with a line end, some hundred kilobytes at once, and finds the
//! ends itself while it parses.

use std::io::Read;

use super::super::error::TraceError;
use super::super::source::read_up_to;

/// Bytes of the buffer, and so the longest line.
const BUFFER: usize = 256 << 10;

/// Pieces of whole lines.
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// Unused bytes of the buffer, which begin a line.
    start: usize,
    end: usize,
    /// Lines handed out.
    lines: u64,
    finished: bool,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        // One byte more than is read, for a missing last line end.
        Lines { input, buffer: vec![0; BUFFER + 1], start: 0, end: 0, lines: 0, finished: false }
    }

    /// The next piece: the number of its first line, and its bytes, which end with a line
    /// end. The caller says with [`Lines::used`] how many lines there were.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &[u8])>, TraceError> {
        if self.finished {
            return Ok(None);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let room = &mut self.buffer[self.end..BUFFER];
        let wanted = room.len();
        let got = read_up_to(&mut self.input, room).map_err(|source| TraceError::Io {
            doing: format!("reading the input after line {}", self.lines),
            source,
        })?;
        self.end += got;
        if got < wanted {
            self.finished = true;
            if self.end == 0 {
                return Ok(None);
            }
            if self.buffer[self.end - 1] != b'\n' {
                self.buffer[self.end] = b'\n';
                self.end += 1;
            }
        }
        let Some(last) = self.buffer[..self.end].iter().rposition(|&b| b == b'\n') else {
            if self.buffer[..self.end].contains(&b'\r') {
                return Err(carriage_returns(self.lines + 1));
            }
            let found = format!("more than {BUFFER} bytes without a line end");
            return Err(TraceError::line(self.lines + 1, found, "text"));
        };
        // A text of one line that has others within.
        if self.finished && self.lines == 0 {
            let text = self.buffer[..last].trim_ascii_end();
            if text.contains(&b'\r') && !text.contains(&b'\n') {
                return Err(carriage_returns(1));
            }
        }
        self.start = last + 1;
        Ok(Some((self.lines + 1, &self.buffer[..=last])))
    }

    /// Counts the lines of the last piece.
    pub(super) fn used(&mut self, lines: u64) {
        self.lines += lines;
    }

    /// Lines so far.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }
}

fn carriage_returns(line: u64) -> TraceError {
    let found = "lines that end with CR alone (\\r)";
    TraceError::line(line, found, "LF or CR LF, as `tr '\\r' '\\n'` makes them")
}

/// The line of `piece` that begins at `at`, for an error.
pub(super) fn show(piece: &[u8], at: usize) -> String {
    let line = piece[at..].split(|&b| b == b'\n').next().unwrap_or_default();
    let text = String::from_utf8_lossy(&line[..line.len().min(80)]);
    format!("{:?}{}", text.trim_end(), if line.len() > 80 { ".." } else { "" })
}
