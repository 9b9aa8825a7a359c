//! Values of fields: numbers, times and operations.

use std::collections::BTreeMap;

use crate::trace::error::TraceError;

/// Longest time since the first, in nanoseconds.
pub(super) const MAX_TIME: u64 = u64::MAX / 4;

/// Words that are counted one by one; all others count together.
const MAX_WORDS: usize = 8;

/// Kind of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    Read,
    Write,
    /// It is known, and neither reads nor writes.
    Other,
    /// The word is not known; the record is left out.
    Unknown,
}

/// A number, decimal or, after `0x`, hexadecimal.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_hexdigit());
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(hex) => digits(hex).then(|| u64::from_str_radix(hex, 16).ok())?,
        None => digits(text).then(|| text.parse().ok())?,
    }
}

/// A time in nanoseconds, from a decimal number of units of `unit` ns. What is below a
/// nanosecond is cut off.
pub(super) fn time(text: &[u8], unit: u64) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let ns = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let (mut parts, mut power) = (0_u128, 1_u128);
    for b in fraction.bytes().take(18) {
        parts = parts * 10 + u128::from(b - b'0');
        power *= 10;
    }
    // Less than a unit.
    ns.checked_add((parts * u128::from(unit) / power) as u64)
}

/// A unit of time in nanoseconds: `ns`, `us`, `ms` or `s`, perhaps a whole number of them as
/// in `100ns`. 0 for `none`.
pub fn time_unit(text: &str) -> Option<u64> {
    if text == "none" {
        return Some(0);
    }
    let letters = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let many = match &text[..text.len() - letters.len()] {
        "" => 1,
        digits => digits.parse::<u64>().ok().filter(|&n| n > 0)?,
    };
    let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    many.checked_mul(units.iter().find(|u| u.0 == letters)?.1)
}

/// Meaning of words of the operation column.
#[derive(Default)]
pub(super) struct Ops {
    /// As `--ops` says, in small letters.
    table: BTreeMap<String, Op>,
    /// Words outside the table have no meaning.
    closed: bool,
    /// Unknown words, and their counts.
    unknown: BTreeMap<String, u64>,
    others: u64,
    /// The line of the first of them.
    first_unknown: u64,
}

impl Ops {
    /// Reads tables such as `get=r,set=w,x=skip`; what comes first counts.
    pub(super) fn new(tables: &[&str]) -> Result<Self, TraceError> {
        let mut ops = Ops::default();
        let parts = |t: &'_ &str| t.split(',').map(str::to_string).collect::<Vec<_>>();
        let parts = tables
            .iter()
            .enumerate()
            .flat_map(|(nr, t)| parts(t).into_iter().map(move |p| (nr, p)));
        let mut said_in = BTreeMap::new();
        for (nr, part) in parts.filter(|(_, p)| !p.trim().is_empty()) {
            let wrong =
                |expected: &str| Err(TraceError::invalid("--ops", format!("{part:?}"), expected));
            let Some((word, what)) = part.split_once('=') else {
                return wrong("WORD=r, WORD=w or WORD=skip, as in get=r,set=w");
            };
            let op = match what.trim() {
                "r" | "R" | "read" => Op::Read,
                "w" | "W" | "write" => Op::Write,
                "skip" => Op::Other,
                _ => return wrong("r, w, or skip to leave it out, as in get=r,set=w,ping=skip"),
            };
            let word = word.trim().to_ascii_lowercase();
            let before = *ops.table.entry(word.clone()).or_insert(op);
            if *said_in.entry(word).or_insert(nr) == nr && before != op {
                return wrong("each word once");
            }
        }
        Ok(ops)
    }

    /// The same without the words that are known anyway.
    pub(super) fn closed(mut self) -> Self {
        self.closed = true;
        self
    }

    /// All words, where others are wrong.
    pub(super) fn words(&self) -> Option<String> {
        let all: Vec<&str> = self.table.keys().map(String::as_str).collect();
        self.closed.then(|| all.join(", "))
    }

    /// True if no table was given.
    pub(super) fn is_plain(&self) -> bool {
        self.table.is_empty()
    }

    /// Meaning of a word of a line.
    pub(super) fn of(&mut self, text: &[u8], line: u64) -> Op {
        if !self.table.is_empty()
            && let Ok(word) = std::str::from_utf8(text)
            && let Some(&op) = self.table.get(&word.to_ascii_lowercase())
        {
            return op;
        }
        if let Some(op) = operation(text).filter(|_| !self.closed) {
            return op;
        }
        if self.unknown.is_empty() {
            self.first_unknown = line;
        }
        let word = String::from_utf8_lossy(&text[..text.len().min(20)]).into_owned();
        let full = self.unknown.len() >= MAX_WORDS;
        match self.unknown.get_mut(&word) {
            Some(n) => *n += 1,
            None if full => self.others += 1,
            None => {
                self.unknown.insert(word, 1);
            }
        }
        Op::Unknown
    }

    /// The unknown words with their numbers, if there are any: `"x" 3 times, ..`. Before them the
    /// line of the first.
    pub(super) fn unknown(&self) -> Option<(u64, String)> {
        if self.unknown.is_empty() {
            return None;
        }
        let mut words: Vec<String> =
            self.unknown.iter().map(|(word, n)| format!("{word:?} {n} times")).collect();
        if self.others > 0 {
            words.push(format!("others {} times", self.others));
        }
        Some((self.first_unknown, words.join(", ")))
    }

    /// Example that puts an unknown word into a table.
    pub(super) fn example(&self) -> String {
        let words: Vec<String> = self.unknown.keys().take(2).map(|w| format!("{w}=r")).collect();
        words.join(",")
    }
}

/// Built-in meaning of a word, if it has one.
///
/// The words of several tools and caches (memcached, CacheLib, object stores), SCSI's
/// operation codes in hexadecimal (SBC-3: 08, 28, 88, a8 read; 0a, 2a, 8a, aa write), and the
/// letters of blktrace's RWBS (Linux 6.12 kernel/trace/blktrace.c: R and W with modifiers, D
/// discard, F flush, N none).
fn operation(text: &[u8]) -> Option<Op> {
    let word = std::str::from_utf8(text).ok()?;
    let small = word.to_ascii_lowercase();
    match small.strip_prefix("0x").unwrap_or(&small) {
        "r" | "rd" | "read" | "reads" | "get" | "gets" | "load" | "l" | "get_lease" | "gat"
        | "head" | "08" | "28" | "88" | "a8" => return Some(Op::Read),
        "w" | "wr" | "write" | "writes" | "set" | "put" | "store" | "s" | "update" | "modify"
        | "m" | "set_lease" | "add" | "replace" | "cas" | "append" | "prepend" | "incr"
        | "decr" | "0a" | "2a" | "8a" | "aa" => return Some(Op::Write),
        "d" | "discard" | "trim" | "unmap" | "f" | "flush" | "fsync" | "sync" | "delete"
        | "del" | "n" | "none" | "42" | "35" | "91" => return Some(Op::Other),
        _ => {}
    }
    // blktrace's RWBS: perhaps a flush before it, then what, then how.
    let rwbs = word.strip_prefix('F').unwrap_or(word);
    let how = |s: &str| s.bytes().all(|b| b"AFMSE".contains(&b));
    match rwbs.split_at_checked(1)? {
        ("R", rest) if how(rest) => Some(Op::Read),
        ("W", rest) if how(rest) => Some(Op::Write),
        ("D" | "N", rest) if how(rest) => Some(Op::Other),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"0x7fF"), Some(0x7ff));
        for wrong in
            ["", "0x", "18446744073709551616", "-1", "+1", "1.5", "ff", "0x10000000000000000"]
        {
            assert_eq!(number(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(time(b"1.5", 1_000_000_000), Some(1_500_000_000));
        assert_eq!(time(b"0.1234567899999", 1_000_000_000), Some(123_456_789));
        assert_eq!(time(b"7.9", 1), Some(7));
        assert_eq!(time(b"1.5", 250), Some(375));
        assert_eq!(time(b"128166372003061629", 100), Some(12_816_637_200_306_162_900));
        for wrong in ["", ".5", "1.5.2", "-1", "1e9", "99999999999999"] {
            assert_eq!(time(wrong.as_bytes(), 1_000_000_000), None, "{wrong}");
        }
    }

    #[test]
    fn a_word_means_one_thing() {
        // What the user says comes before what a shape says.
        let mut ops = Ops::new(&["GET=w, ping=skip,get=w", "get=r,set=w"]).unwrap();
        assert_eq!(
            (ops.of(b"get", 1), ops.of(b"set", 2), ops.of(b"Ping", 3)),
            (Op::Write, Op::Write, Op::Other)
        );
        let e = Ops::new(&["get=r,GET=w"]).err().expect("two meanings");
        assert!(e.to_string().contains("each word once"), "{e}");
    }

    #[test]
    fn units_of_time() {
        for (text, ns) in [("ns", 1), ("100ns", 100), ("us", 1000), ("10ms", 10_000_000)] {
            assert_eq!(time_unit(text), Some(ns), "{text}");
        }
        assert_eq!((time_unit("60s"), time_unit("none")), (Some(60_000_000_000), Some(0)));
        for wrong in ["", "100", "0ns", "1.5us", "h", "99999999999s"] {
            assert_eq!(time_unit(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn words_mean_what_tools_mean() {
        for (word, op) in [
            ("Read", Some(Op::Read)),
            ("WRITE", Some(Op::Write)),
            ("WSM", Some(Op::Write)),
            ("FWFS", Some(Op::Write)),
            ("RA", Some(Op::Read)),
            ("DS", Some(Op::Other)),
            ("trim", Some(Op::Other)),
            ("28", Some(Op::Read)),
            ("2A", Some(Op::Write)),
            ("0x2a", Some(Op::Write)),
            ("gets", Some(Op::Read)),
            ("add", Some(Op::Write)),
            ("GET_LEASE", Some(Op::Read)),
            ("", None),
            ("x", None),
            ("rw", None),
            ("0", None),
            ("1", None),
        ] {
            assert_eq!(operation(word.as_bytes()), op, "{word}");
        }
    }

    #[test]
    fn tables_come_before_words() {
        let mut ops = Ops::new(&["0=w,1=r,get=skip", "1=w"]).unwrap();
        let of = |ops: &mut Ops, w: &str| ops.of(w.as_bytes(), 5);
        assert_eq!(of(&mut ops, "0"), Op::Write);
        assert_eq!(of(&mut ops, "1"), Op::Read);
        assert_eq!(of(&mut ops, "GET"), Op::Other);
        assert_eq!(of(&mut ops, "set"), Op::Write);
        assert_eq!(of(&mut ops, "7"), Op::Unknown);
        assert_eq!(of(&mut ops, "7"), Op::Unknown);
        assert_eq!(ops.of(b"8", 6), Op::Unknown);
        assert_eq!(ops.unknown(), Some((5, "\"7\" 2 times, \"8\" 1 times".into())));
        assert!(Ops::new(&["get"]).is_err());
        assert!(Ops::new(&["get=x"]).is_err());
    }
}
