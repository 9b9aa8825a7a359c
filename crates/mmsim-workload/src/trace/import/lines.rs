//! Text input in large pieces of whole lines.
//!
//! A parser that asks for one line at a time pays a search and a copy per line. Here it
//! gets a slice that ends with a line end, some hundred kilobytes at once, and finds the
//! ends itself while it parses. A pipe gives less at a time: a piece is what one read has brought, so
//! that a wrong line is found when it comes.

use std::io::{ErrorKind, Read};

use super::super::error::TraceError;

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
        let last = loop {
            let got = self.read()?;
            if got == 0 {
                self.finished = true;
                if self.end == 0 {
                    return Ok(None);
                }
                if self.buffer[self.end - 1] != b'\n' {
                    self.buffer[self.end] = b'\n';
                    self.end += 1;
                }
            }
            let read = &self.buffer[..self.end];
            // A text of one line that has others within. Whether it is one, the next line says.
            let apart_by_cr = |last: usize| {
                let text = read[..last].trim_ascii_end();
                self.lines == 0 && text.contains(&b'\r') && !text.contains(&b'\n')
            };
            match read.iter().rposition(|&b| b == b'\n') {
                Some(last) if self.finished && apart_by_cr(last) => {
                    return Err(carriage_returns(1));
                }
                Some(last) if self.end < BUFFER && apart_by_cr(last) => {}
                Some(last) => break last,
                None if self.end < BUFFER => {}
                None if read.contains(&b'\r') => return Err(carriage_returns(self.lines + 1)),
                None => {
                    let found = format!("more than {BUFFER} bytes without a line end");
                    return Err(TraceError::line(self.lines + 1, found, "text"));
                }
            }
        };
        self.start = last + 1;
        Ok(Some((self.lines + 1, &self.buffer[..=last])))
    }

    /// Reads once into what is left of the buffer: from a pipe as much as has come. 0: the end.
    fn read(&mut self) -> Result<usize, TraceError> {
        loop {
            match self.input.read(&mut self.buffer[self.end..BUFFER]) {
                Ok(got) => {
                    self.end += got;
                    return Ok(got);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    let doing = format!("reading the input after line {}", self.lines);
                    return Err(TraceError::Io { doing, source });
                }
            }
        }
    }

    /// Puts the line beside an error, if it is about one of the last piece: what came from a pipe cannot
    /// be read again.
    pub(super) fn with_line(&self, error: TraceError) -> TraceError {
        let (TraceError::Line { line, .. } | TraceError::Field { line, .. }) = &error else {
            return error;
        };
        let mut read = self.buffer[..self.end].split(|&b| b == b'\n');
        let before = line.checked_sub(self.lines + 1).and_then(|n| usize::try_from(n).ok());
        let Some(text) = before.and_then(|n| read.nth(n)) else { return error };
        let text = String::from_utf8_lossy(text.trim_ascii_end()).into_owned();
        TraceError::OfLine { text, error: Box::new(error) }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives these parts one by one, and then fails: who reads on too early finds out.
    struct Parts(Vec<&'static [u8]>);

    impl Read for Parts {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() {
                return Err(std::io::Error::other("nothing more has come"));
            }
            let part = self.0.remove(0);
            buffer[..part.len()].copy_from_slice(part);
            Ok(part.len())
        }
    }

    fn next(lines: &mut Lines<Parts>) -> Option<(u64, Vec<u8>)> {
        let (first, piece) = lines.next().unwrap()?;
        let piece = piece.to_vec();
        lines.used(piece.iter().filter(|&&b| b == b'\n').count() as u64);
        Some((first, piece))
    }

    /// A piece ends with the last line that has come; the rest is the beginning of the next.
    #[test]
    fn lines_are_there_when_they_have_come() {
        let mut lines = Lines::new(Parts(vec![b"on", b"e\ntwo\nth", b"ree", b"\n", b"four", b""]));
        assert_eq!(next(&mut lines), Some((1, b"one\ntwo\n".to_vec())));
        assert_eq!(next(&mut lines), Some((3, b"three\n".to_vec())));
        assert_eq!(next(&mut lines), Some((4, b"four\n".to_vec())));
        assert_eq!(next(&mut lines), None);
    }

    /// The line of an error is that of its number, in the piece that was handed out last.
    #[test]
    fn errors_get_their_line() {
        let mut lines = Lines::new(Parts(vec![b"one\ntwo\nthree"]));
        let wrong = |line| TraceError::line(line, "a", "b");
        next(&mut lines);
        let mut more = Lines::new(Parts(vec![b"one\ntwo \r\nthree\n"]));
        more.next().unwrap();
        match more.with_line(wrong(2)) {
            TraceError::OfLine { text, .. } => assert_eq!(text, "two"),
            other => panic!("{other:?}"),
        }
        assert!(matches!(lines.with_line(wrong(1)), TraceError::Line { .. }), "it is gone");
    }

    /// A text of carriage returns is known for what it is when it has ended, and not before: a line may
    /// have some within.
    #[test]
    fn carriage_returns_alone_end_no_line() {
        let mut lines = Lines::new(Parts(vec![b"one\rtwo\n", b""]));
        assert!(lines.next().unwrap_err().to_string().contains("CR alone"));
        let mut lines = Lines::new(Parts(vec![b"one\rtwo\n", b"three\n"]));
        assert_eq!(next(&mut lines), Some((1, b"one\rtwo\nthree\n".to_vec())));
    }
}
