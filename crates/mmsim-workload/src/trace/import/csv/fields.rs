//! Lines into fields: delimiters, quotes, and lines that are no records.

use std::borrow::Cow;
use std::str::FromStr;

use crate::trace::error::{TraceError, UnknownWord};

/// Delimiter between two fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delimiter {
    /// One comma.
    Comma,
    /// One tab.
    Tab,
    /// One semicolon.
    Semicolon,
    /// Any number of blanks and tabs.
    Blank,
}

impl FromStr for Delimiter {
    type Err = UnknownWord;
    fn from_str(s: &str) -> Result<Self, UnknownWord> {
        match s {
            "comma" | "," => Ok(Delimiter::Comma),
            "tab" | "\t" => Ok(Delimiter::Tab),
            "semicolon" | ";" => Ok(Delimiter::Semicolon),
            "blank" | " " => Ok(Delimiter::Blank),
            _ => Err(UnknownWord::new("word", s, "comma, tab, semicolon or blank")),
        }
    }
}

impl Delimiter {
    /// The first of comma, tab, semicolon and blank that a line has.
    pub(super) fn of_line(line: &[u8]) -> Self {
        let line = line.trim_ascii();
        let all = [
            (b',', Delimiter::Comma),
            (b'\t', Delimiter::Tab),
            (b';', Delimiter::Semicolon),
            (b' ', Delimiter::Blank),
        ];
        let found = all.into_iter().find(|(byte, _)| line.contains(byte));
        found.map_or(Delimiter::Comma, |(_, delimiter)| delimiter)
    }

    /// True if a field ends before this byte.
    fn ends(self, byte: u8) -> bool {
        match self {
            Delimiter::Comma => byte == b',',
            Delimiter::Tab => byte == b'\t',
            Delimiter::Semicolon => byte == b';',
            Delimiter::Blank => byte == b' ' || byte == b'\t' || byte == b'\r',
        }
    }

    /// Where the next field begins after one that ended at `end`; nothing: the line is over.
    pub(super) fn next(self, piece: &[u8], end: usize) -> Option<usize> {
        if self != Delimiter::Blank {
            return (piece[end] != b'\n').then_some(end + 1);
        }
        let next = self.skip(piece, end);
        (piece[next] != b'\n').then_some(next)
    }

    /// Where the first field of a line begins.
    pub(super) fn skip(self, piece: &[u8], mut at: usize) -> usize {
        if self == Delimiter::Blank {
            while self.ends(piece[at]) {
                at += 1;
            }
        }
        at
    }

    /// The field at `i` of the line that begins at `at`, without quotes and outer blanks, and
    /// where it ends: at a delimiter or a line end.
    pub(super) fn field(
        self,
        piece: &[u8],
        i: usize,
        at: usize,
        line: u64,
    ) -> Result<(Cow<'_, [u8]>, usize), TraceError> {
        let wrong = |i: usize, found: &str, expected: &str| {
            Err(TraceError::field(line, i - at + 1, found, expected))
        };
        if piece[i] != b'"' {
            let end = piece[i..].iter().position(|&b| b == b'\n' || self.ends(b));
            let end = end.map_or(piece.len() - 1, |n| i + n);
            return Ok((Cow::Borrowed(piece[i..end].trim_ascii()), end));
        }
        let (mut text, mut j) = (Vec::new(), i + 1);
        loop {
            match piece[j] {
                b'"' if piece[j + 1] == b'"' => {
                    text.push(b'"');
                    j += 2;
                }
                b'"' => break,
                b'\n' => {
                    return wrong(i, "a quote that the line does not close", "a closing quote");
                }
                b => {
                    text.push(b);
                    j += 1;
                }
            }
        }
        j += 1;
        if piece[j] == b'\r' && self != Delimiter::Blank {
            j += 1;
        }
        match piece[j] {
            b'\n' => Ok((Cow::Owned(text), j)),
            b if self.ends(b) => Ok((Cow::Owned(text), j)),
            b => {
                let end = if self == Delimiter::Comma { "a comma" } else { "a delimiter" };
                let expected = format!("{end} or the line's end");
                wrong(j, &format!("{:?} after a quote", char::from(b)), &expected)
            }
        }
    }

    /// The fields of a line, and where each begins.
    pub(super) fn fields(
        self,
        piece: &[u8],
        at: usize,
        line: u64,
    ) -> Result<Vec<(usize, Vec<u8>)>, TraceError> {
        let mut all = Vec::new();
        let mut i = self.skip(piece, at);
        loop {
            let (text, end) = self.field(piece, i, at, line)?;
            all.push((i, text.into_owned()));
            match self.next(piece, end) {
                Some(next) => i = next,
                None => return Ok(all),
            }
        }
    }
}

/// A line that is no record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Aside {
    /// Nothing, or blanks.
    Empty,
    /// It begins with `#`.
    Comment,
    /// Nothing but `*`, as LIRS and UCSD traces have it at their ends.
    Mark,
}

impl Aside {
    /// Kind of the line at `at`, if it is no record.
    #[inline]
    pub(super) fn of(piece: &[u8], at: usize) -> Option<Aside> {
        match piece[at] {
            b'#' => return Some(Aside::Comment),
            b'*' | b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => return None,
        }
        match piece[at..end_of_line(piece, at)].trim_ascii() {
            b"" => Some(Aside::Empty),
            b"*" => Some(Aside::Mark),
            [b'#', ..] => Some(Aside::Comment),
            _ => None,
        }
    }
}

/// Where the line at `at` ends.
pub(super) fn end_of_line(piece: &[u8], at: usize) -> usize {
    piece[at..].iter().position(|&b| b == b'\n').map_or(piece.len(), |n| at + n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(delimiter: Delimiter, line: &str) -> Vec<String> {
        let fields = delimiter.fields(line.as_bytes(), 0, 1).unwrap();
        fields.into_iter().map(|(_, t)| String::from_utf8(t).unwrap()).collect()
    }

    #[test]
    fn lines_come_apart_at_their_delimiters() {
        assert_eq!(texts(Delimiter::Comma, "a, b,,\"c,d\"\r\n"), ["a", "b", "", "c,d"]);
        assert_eq!(texts(Delimiter::Tab, "a\tb c\t\n"), ["a", "b c", ""]);
        assert_eq!(texts(Delimiter::Semicolon, "1;2\n"), ["1", "2"]);
        assert_eq!(texts(Delimiter::Blank, "  l 0x1f \t3  \r\n"), ["l", "0x1f", "3"]);
        assert_eq!(texts(Delimiter::Blank, "\"a b\" c\n"), ["a b", "c"]);
    }

    #[test]
    fn the_first_line_tells_the_delimiter() {
        for (line, delimiter) in [
            ("a b,c", Delimiter::Comma),
            ("a b\tc", Delimiter::Tab),
            ("a b;c", Delimiter::Semicolon),
            (" a b", Delimiter::Blank),
            ("17", Delimiter::Comma),
        ] {
            assert_eq!(Delimiter::of_line(line.as_bytes()), delimiter, "{line}");
        }
    }

    #[test]
    fn asides_are_no_records() {
        let of = |line: &str| Aside::of(line.as_bytes(), 0);
        assert_eq!(of("# x\n"), Some(Aside::Comment));
        assert_eq!(of(" \t# x\n"), Some(Aside::Comment));
        assert_eq!(of("*\r\n"), Some(Aside::Mark));
        assert_eq!(of(" \r\n"), Some(Aside::Empty));
        assert_eq!(of("*5\n"), None);
        assert_eq!(of(" 5\n"), None);
    }
}
