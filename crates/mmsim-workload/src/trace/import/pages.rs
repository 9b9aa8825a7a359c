//! A plain text of page accesses, for traces from elsewhere.
//!
//! `<R|W> <page> [count] [pid] [time]` per line, fields apart by blanks or tabs: `page` is
//! a virtual page number, decimal or with `0x` hexadecimal; `count` consecutive pages
//! (1); `pid` tells processes apart (0); `time` in nanoseconds since the start, not
//! decreasing within a process. `#` begins a comment. Either all lines have a time, which
//! makes a trace of recorded arrivals, or none has, which makes a closed loop without
//! think time. Accesses are taken as they are, none is dropped.

use std::io::Read;

use super::lines::{Lines, show};
use super::short;
use super::sink::{Access, Sink};
use super::{FirstPass, ImportOptions};
use crate::trace::error::TraceError;

/// Reads a text of pages.
pub(super) fn read<R: Read>(
    lines: &mut Lines<R>,
    options: &ImportOptions,
) -> Result<FirstPass, TraceError> {
    let mut sink = Sink::default();
    while let Some((first, piece)) = lines.next()? {
        let (mut at, mut line) = (0, first);
        while at < piece.len() {
            if let Some((access, next)) = short_access(piece, at) {
                sink.access(access, options)
                    .map_err(|expected| TraceError::line(line, show(piece, at), expected))?;
                at = next;
                line += 1;
                continue;
            }
            let length = piece[at..].iter().position(|&b| b == b'\n').unwrap_or(piece.len() - at);
            let text = piece[at..at + length].split(|&b| b == b'#').next().unwrap_or_default();
            if !text.iter().all(u8::is_ascii_whitespace) {
                access(text)
                    .and_then(|access| sink.access(access, options))
                    .map_err(|expected| TraceError::line(line, show(piece, at), expected))?;
            }
            at += length + 1;
            line += 1;
        }
        let nr = line - first;
        lines.used(nr);
    }
    Ok(sink.finish("text of pages", lines.lines()))
}

/// The access of the line at `at` and where the next line begins, the [`short`] way.
#[inline(always)]
fn short_access(piece: &[u8], at: usize) -> Option<(Access, usize)> {
    let letter = *piece.get(at)? | b' ';
    if !matches!(letter, b'r' | b'w') || *piece.get(at + 1)? != b' ' {
        return None;
    }
    let (page, mut i) = short::number(piece, at + 2)?;
    let mut access = Access { write: Some(letter == b'w'), page, count: 1, pid: 0, time: None };
    let more = |i: &mut usize| {
        if piece.get(*i) != Some(&b' ') {
            return None;
        }
        let (n, end) = short::number(piece, *i + 1)?;
        *i = end;
        Some(n)
    };
    if let Some(count) = more(&mut i) {
        access.count = count;
        if let Some(pid) = more(&mut i) {
            access.pid = u32::try_from(pid).ok()?;
            access.time = more(&mut i);
        }
    }
    Some((access, short::line_end(piece, i)?))
}

fn access(text: &[u8]) -> Result<Access, &'static str> {
    let mut words = text.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    let write = match words.next() {
        Some(b"R" | b"r") => false,
        Some(b"W" | b"w") => true,
        _ => return Err("`R` or `W`"),
    };
    let mut next = |expected| match words.next() {
        Some(word) => number(word).map(Some).ok_or(expected),
        None => Ok(None),
    };
    let page = next("a page number, decimal or 0x hexadecimal")?
        .ok_or("a page number after `R` or `W`")?;
    let count = next("a count of pages")?.unwrap_or(1);
    let pid = next("a process id")?.unwrap_or(0);
    let pid = u32::try_from(pid).map_err(|_| "a process id below 2^32")?;
    let time = next("a time in nanoseconds")?;
    if words.next().is_some() {
        return Err("at most five fields");
    }
    if time.is_some_and(|t| t > u64::MAX / 4) {
        return Err("a time below 2^62 ns");
    }
    Ok(Access { write: Some(write), page, count, pid, time })
}

/// A decimal or, after `0x`, hexadecimal number.
fn number(word: &[u8]) -> Option<u64> {
    let (digits, radix) = match word.strip_prefix(b"0x") {
        Some(hex) => (hex, 16),
        None => (word, 10),
    };
    if digits.is_empty() {
        return None;
    }
    let mut n = 0u64;
    for &b in digits {
        let d = char::from(b).to_digit(radix)?;
        n = n.checked_mul(u64::from(radix))?.checked_add(u64::from(d))?;
    }
    Some(n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_short_way_leads_where_the_long_one_does(
            words in prop::collection::vec("0{0,3}[0-9]{1,10}|[0-9]{12,20}|0x[0-9a-f]{1,4}|[ -~]{0,3}", 0..6),
            letter in "[RWrw2x ]",
            blank in "[ \t]{0,2}",
            end in "\n|\r\n|\r|#x\n| \n",
            rest in "[0-9 RW\n]{24}",
        ) {
            let piece = format!("{letter}{blank}{}{end}{rest}\n", words.join(" "));
            if let Some((short, next)) = short_access(piece.as_bytes(), 0) {
                prop_assert_eq!(Some(next), piece.find('\n').map(|n| n + 1));
                let line = piece[..next].split('#').next().unwrap_or_default();
                prop_assert_eq!(Ok(short), access(line.as_bytes()), "{:?}", piece);
            }
        }
    }
}
