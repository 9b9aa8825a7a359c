//! Comma-separated values with named columns.
//!
//! The first line names the columns; [`ImportOptions::columns`] says which of them is
//! what: `page=lbn,op=rw`. Without it columns are known by the names of the roles below.
//! `#3` means the third column; if all columns are given so there is no line of names.
//!
//! | role | |
//! |---|---|
//! | `page` | page number |
//! | `address`, `offset` | in bytes; the page is what `page_size` makes of it |
//! | `op` | read or write; other operations (trim, flush, ..) are left out |
//! | `size` | bytes; an access over a page border touches all its pages |
//! | `count` | pages |
//! | `pid` | tells processes apart |
//! | `time` | in the unit of [`ImportOptions::time_unit_ns`], with a fraction if need be |
//!
//! Fields may stand in quotes as RFC 4180 has it, but a line is a record: no line end
//! within quotes. Every record has as many fields as the first line. Lines of numbers that
//! are plain digits and of the commonest operations take a short way, by a [`plan`], all
//! else the long one.
//!
//! Spellings of operations: the words of several tools, and the letters of blktrace's
//! RWBS (Linux 6.12 kernel/trace/blktrace.c: R and W with modifiers, D discard, F flush,
//! N none).

mod plan;

use std::borrow::Cow;
use std::io::Read;

use self::plan::Plan;
use super::lines::{Lines, show};
use super::sink::{Access, Sink};
use super::{FirstPass, ImportOptions, PageKind};
use crate::trace::error::TraceError;
use crate::trace::requests::Ids;
use crate::trace::table::MAX_TOTAL_PAGES;

/// What a column is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Skip,
    Page,
    Address,
    Op,
    Size,
    Count,
    Pid,
    Time,
}

/// Longest time, in nanoseconds.
const MAX_TIME: u64 = u64::MAX / 4;

const ROLES: [(&str, Role); 8] = [
    ("page", Role::Page),
    ("address", Role::Address),
    ("offset", Role::Address),
    ("op", Role::Op),
    ("size", Role::Size),
    ("count", Role::Count),
    ("pid", Role::Pid),
    ("time", Role::Time),
];

impl Role {
    /// What a field should hold.
    fn expected(self) -> &'static str {
        match self {
            Role::Skip => "anything",
            Role::Page => "a page number, decimal or 0x hexadecimal",
            Role::Address => "an address in bytes, decimal or 0x hexadecimal",
            Role::Op => "an operation such as R, W, read, write, trim or flush",
            Role::Size => "a size in bytes",
            Role::Count => "a count of pages",
            Role::Pid => "a process id below 2^32",
            Role::Time => "a time, decimal, below 2^62 ns",
        }
    }
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Read,
    Write,
    Other,
}

/// What a record asks for, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Request {
    op: Option<Op>,
    page: u64,
    count: u64,
    pid: u32,
    time: Option<u64>,
}

/// The fields of a record that matter.
#[derive(Clone, Copy)]
struct Values {
    place: u64,
    extent: Option<u64>,
    op: Option<Op>,
    pid: u64,
    time: Option<u64>,
}

struct Parser<'a> {
    options: &'a ImportOptions,
    roles: Vec<Role>,
    plan: Plan,
    by_bytes: bool,
    sized: bool,
    page_shift: u32,
    sink: Sink,
    ids: Option<Ids>,
    first_time: Option<u64>,
    /// Operations that are no accesses.
    other: u64,
    /// Requests of no bytes.
    empty: u64,
}

/// Reads a text of comma-separated values.
pub(super) fn read<R: Read>(
    mut lines: Lines<R>,
    options: &ImportOptions,
) -> Result<FirstPass, TraceError> {
    if !options.page_size.is_power_of_two() {
        let found = options.page_size.to_string();
        return Err(TraceError::invalid("the page size", found, "a power of two, in bytes"));
    }
    let mut parser: Option<Parser<'_>> = None;
    while let Some((first, piece)) = lines.next()? {
        let (mut at, mut line) = (0, first);
        if first == 1 && piece.starts_with(b"\xef\xbb\xbf") {
            at = 3;
        }
        while at < piece.len() {
            if let Some(p) = &mut parser {
                at = p.short_records(piece, at, &mut line)?;
                if at == piece.len() {
                    break;
                }
            }
            at = match &mut parser {
                _ if piece[at] == b'\n' => at + 1,
                _ if piece[at..].starts_with(b"\r\n") => at + 2,
                Some(p) => {
                    let (values, next) = p.record(piece, at, line)?;
                    p.request(values)
                        .and_then(|request| p.take(request))
                        .map_err(|expected| TraceError::line(line, show(piece, at), expected))?;
                    next
                }
                None => {
                    let (roles, named) = columns(piece, at, line, options)?;
                    parser = Some(Parser::new(roles, options));
                    if !named {
                        continue;
                    }
                    end_of_line(piece, at) + 1
                }
            };
            line += 1;
        }
        let nr = line - first;
        lines.used(nr);
    }
    let Some(p) = parser else {
        return Err(TraceError::line(1, "the end", "a line with the names of columns"));
    };
    Ok(p.finish(lines.lines()))
}

fn end_of_line(piece: &[u8], at: usize) -> usize {
    piece[at..].iter().position(|&b| b == b'\n').map_or(piece.len(), |n| at + n)
}

/// The fields of a line, and where each begins.
fn fields(piece: &[u8], at: usize, line: u64) -> Result<Vec<(usize, Vec<u8>)>, TraceError> {
    let mut all = Vec::new();
    let mut i = at;
    loop {
        let (text, next) = field(piece, i, at, line)?;
        all.push((i, text.into_owned()));
        if piece[next] != b',' {
            return Ok(all);
        }
        i = next + 1;
    }
}

/// The field at `i` of the line that begins at `at`, without quotes and outer blanks, and
/// where it ends: at a comma or a line end.
fn field(
    piece: &[u8],
    i: usize,
    at: usize,
    line: u64,
) -> Result<(Cow<'_, [u8]>, usize), TraceError> {
    let wrong = |i: usize, found: &str, expected: &str| {
        Err(TraceError::field(line, i - at + 1, found, expected))
    };
    if piece[i] != b'"' {
        let end = piece[i..].iter().position(|&b| matches!(b, b',' | b'\n'));
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
            b'\n' => return wrong(i, "a quote that the line does not close", "a closing quote"),
            b => {
                text.push(b);
                j += 1;
            }
        }
    }
    j += 1;
    if piece[j] == b'\r' {
        j += 1;
    }
    match piece[j] {
        b',' | b'\n' => Ok((Cow::Owned(text), j)),
        b => wrong(j, &format!("{:?} after a quote", char::from(b)), "a comma or the line's end"),
    }
}

/// The roles of the columns, and whether the line names them.
fn columns(
    piece: &[u8],
    at: usize,
    line: u64,
    options: &ImportOptions,
) -> Result<(Vec<Role>, bool), TraceError> {
    let names: Vec<String> = fields(piece, at, line)?
        .into_iter()
        .map(|(_, text)| String::from_utf8_lossy(&text).into_owned())
        .collect();
    let mut roles = vec![Role::Skip; names.len()];
    let mut named = false;
    match &options.columns {
        None => {
            named = true;
            for (i, name) in names.iter().enumerate() {
                if let Some(&(_, r)) = ROLES.iter().find(|r| r.0.eq_ignore_ascii_case(name)) {
                    roles[i] = r;
                }
            }
        }
        Some(list) => {
            for part in list.split(',') {
                let wrong = |found: String, expected: &str| {
                    Err(TraceError::invalid("--columns", found, expected))
                };
                let Some((role, name)) = part.split_once('=') else {
                    return wrong(format!("{part:?}"), "ROLE=NAME, as in page=lbn");
                };
                let (role, name) = (role.trim(), name.trim());
                let Some(&(_, role)) = ROLES.iter().find(|r| r.0 == role) else {
                    return wrong(
                        format!("role {role:?}"),
                        "page, address, offset, op, size, count, pid or time",
                    );
                };
                let number = name.strip_prefix('#').and_then(|n| n.parse::<usize>().ok());
                named |= number.is_none();
                let place = match number {
                    Some(n) => n.checked_sub(1).filter(|&i| i < names.len()),
                    None => names.iter().position(|n| n == name),
                };
                let Some(i) = place else {
                    let expected = format!("a column {name:?}, as --columns says");
                    return Err(TraceError::line(line, show(piece, at), expected));
                };
                if roles[i] != Role::Skip {
                    return wrong(format!("column {name:?} with two roles"), "one role each");
                }
                roles[i] = role;
            }
        }
    }
    check(&roles, &names, options)?;
    Ok((roles, named))
}

/// Whether the roles make sense together.
fn check(roles: &[Role], names: &[String], options: &ImportOptions) -> Result<(), TraceError> {
    let nr = |some: &[Role]| roles.iter().filter(|r| some.contains(r)).count();
    let wrong = |expected: &str| {
        Err(TraceError::invalid("the columns", format!("{:?}", names.join(",")), expected))
    };
    if nr(&[Role::Page, Role::Address]) != 1 {
        return wrong("one of page, address and offset, as in --columns page=NAME");
    }
    for one in [Role::Op, Role::Pid, Role::Time] {
        if nr(&[one]) > 1 {
            return wrong("each role once");
        }
    }
    if nr(&[Role::Size, Role::Count]) > 1 {
        return wrong("size or count, once");
    }
    if nr(&[Role::Time]) == 1 && options.time_unit_ns.is_none() {
        return wrong("the unit of the time: --time-unit ns, us, ms or s, or none to leave it out");
    }
    Ok(())
}

impl<'a> Parser<'a> {
    fn new(mut roles: Vec<Role>, options: &'a ImportOptions) -> Self {
        if options.time_unit_ns == Some(0) {
            roles.iter_mut().filter(|r| **r == Role::Time).for_each(|r| *r = Role::Skip);
        }
        Parser {
            options,
            by_bytes: roles.contains(&Role::Address),
            sized: roles.contains(&Role::Size),
            plan: Plan::new(&roles, options),
            roles,
            page_shift: options.page_size.trailing_zeros(),
            sink: Sink::default(),
            ids: options.dense.then(Ids::default),
            first_time: None,
            other: 0,
            empty: 0,
        }
    }

    /// Takes records from `at` on as long as they can go the short way; returns where the first
    /// begins that cannot.
    fn short_records(
        &mut self,
        piece: &[u8],
        mut at: usize,
        line: &mut u64,
    ) -> Result<usize, TraceError> {
        while let Some((request, next)) = self.plan.request(piece, at) {
            self.take(request)
                .map_err(|expected| TraceError::line(*line, show(piece, at), expected))?;
            at = next;
            *line += 1;
        }
        Ok(at)
    }

    /// The record at `at` and where the next line begins, the long way.
    #[inline(never)]
    fn record(&self, piece: &[u8], at: usize, line: u64) -> Result<(Values, usize), TraceError> {
        let nr = self.roles.len();
        let mut v = Values { place: 0, extent: None, op: None, pid: 0, time: None };
        let mut i = at;
        for (f, &role) in self.roles.iter().enumerate() {
            i = self.field(piece, i, at, line, role, &mut v)?;
            match piece[i] {
                b',' if f + 1 < nr => i += 1,
                b'\n' if f + 1 == nr => {}
                end => {
                    let found =
                        if end == b',' { format!("more than {nr}") } else { (f + 1).to_string() };
                    return Err(TraceError::line(
                        line,
                        format!("{found} fields in {}", show(piece, at)),
                        format!("{nr} fields, as in the first line"),
                    ));
                }
            }
        }
        Ok((v, i + 1))
    }

    /// Parses the field at `start` of the line that begins at `at`; returns where it ends.
    fn field(
        &self,
        piece: &[u8],
        start: usize,
        at: usize,
        line: u64,
        role: Role,
        v: &mut Values,
    ) -> Result<usize, TraceError> {
        let (text, end) = field(piece, start, at, line)?;
        let good = match role {
            Role::Skip => true,
            Role::Op => {
                v.op = operation(&text);
                v.op.is_some()
            }
            Role::Time => {
                v.time = time(&text, self.options.time_unit_ns.unwrap_or(1));
                v.time.is_some()
            }
            _ => number(&text).is_some_and(|n| match role {
                Role::Page | Role::Address => {
                    v.place = n;
                    true
                }
                Role::Pid => {
                    v.pid = n;
                    n <= u64::from(u32::MAX)
                }
                _ => {
                    v.extent = Some(n);
                    true
                }
            }),
        };
        if good {
            return Ok(end);
        }
        let found = format!("{:?}", String::from_utf8_lossy(&text[..text.len().min(40)]));
        Err(TraceError::field(line, start - at + 1, found, role.expected()))
    }

    /// What a record asks for. The error is what should have been there.
    fn request(&self, v: Values) -> Result<Request, &'static str> {
        let (page, count) = match v.op {
            Some(Op::Other) => (0, 0),
            _ => self.pages(v.place, v.extent)?,
        };
        Ok(Request { op: v.op, page, count, pid: v.pid as u32, time: v.time })
    }

    /// Takes a request. The error is what should have been there.
    #[inline(always)]
    fn take(&mut self, r: Request) -> Result<(), &'static str> {
        let write = match r.op {
            None => None,
            Some(Op::Read) => Some(false),
            Some(Op::Write) => Some(true),
            Some(Op::Other) => {
                self.other += 1;
                return Ok(());
            }
        };
        if r.count == 0 {
            self.empty += 1;
            return Ok(());
        }
        let time = match r.time {
            None => None,
            Some(t) => {
                let origin = *self.first_time.get_or_insert(t);
                Some(t.checked_sub(origin).ok_or("a time not before that of the first line")?)
            }
        };
        let access = Access { write, page: r.page, count: r.count, pid: r.pid, time };
        if self.ids.is_none() {
            return self.sink.access(access, self.options);
        }
        self.dense(access)
    }

    /// Takes an access to pages that are names.
    #[inline(never)]
    fn dense(&mut self, access: Access) -> Result<(), &'static str> {
        let ids = self.ids.get_or_insert_default();
        let Access { page, count, .. } = access;
        if count > MAX_TOTAL_PAGES {
            return Err("a count from 1 to 2^28 pages");
        }
        for i in 0..count {
            let page = u64::from(ids.number(page.wrapping_add(i)));
            self.sink.access(Access { page, count: 1, ..access }, self.options)?;
        }
        Ok(())
    }

    /// First page and number of pages.
    fn pages(&self, place: u64, extent: Option<u64>) -> Result<(u64, u64), &'static str> {
        let shift = self.page_shift;
        match (self.by_bytes, extent) {
            (true, None) => Ok((place >> shift, 1)),
            (false, None) => Ok((place, 1)),
            (_, Some(0)) => Ok((0, 0)),
            (true, Some(n)) if self.sized => {
                let last = place.checked_add(n - 1).ok_or("an end below 2^64 bytes")?;
                Ok((place >> shift, (last >> shift) - (place >> shift) + 1))
            }
            (false, Some(n)) if self.sized => Ok((place, ((n - 1) >> shift) + 1)),
            (true, Some(n)) => Ok((place >> shift, n)),
            (false, Some(n)) => Ok((place, n)),
        }
    }

    fn finish(self, lines: u64) -> FirstPass {
        let source = self.options.source.unwrap_or("comma-separated values");
        let mut pass = self.sink.finish(source, lines);
        let notes = &mut pass.table.assumptions;
        notes.push(match self.options.kind {
            PageKind::Anon => "all pages are anonymous memory".into(),
            PageKind::File => "all pages are a file's, mapped shared".to_string(),
        });
        if self.by_bytes || self.sized {
            notes.push(format!("a page has {} bytes", self.options.page_size));
        }
        if self.options.dense {
            notes.push("pages are numbered in the order of their first appearance".into());
        }
        match self.options.time_unit_ns {
            Some(0) => notes.push("the times of the input are left out".into()),
            Some(ns) if self.first_time.is_some() => notes
                .push(format!("times are arrivals, in units of {ns} ns since the first record")),
            _ => {}
        }
        if self.other > 0 {
            notes.push(format!(
                "{} operations that neither read nor write are left out",
                self.other
            ));
        }
        if self.empty > 0 {
            notes.push(format!("{} requests of no bytes are left out", self.empty));
        }
        pass
    }
}

/// A number, decimal or, after `0x`, hexadecimal.
fn number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_hexdigit());
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(hex) => digits(hex).then(|| u64::from_str_radix(hex, 16).ok())?,
        None => digits(text).then(|| text.parse().ok())?,
    }
}

/// A time in nanoseconds, from a decimal number of units of `unit` ns. What is below a
/// nanosecond is cut off.
fn time(text: &[u8], unit: u64) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let mut ns = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let mut place = unit;
    let mut rest = 0u64;
    for b in fraction.bytes().take(18) {
        // Units are powers of ten, so each place is a whole number until it is 0.
        place /= 10;
        rest += place * u64::from(b - b'0');
    }
    ns = ns.checked_add(rest)?;
    (ns <= MAX_TIME).then_some(ns)
}

/// What a word means, or nothing.
fn operation(text: &[u8]) -> Option<Op> {
    let word = std::str::from_utf8(text).ok()?;
    match word.to_ascii_lowercase().as_str() {
        "r" | "rd" | "read" | "reads" | "get" | "gets" | "load" | "l" => return Some(Op::Read),
        "w" | "wr" | "write" | "writes" | "set" | "put" | "store" | "s" | "update" | "modify"
        | "m" => return Some(Op::Write),
        "d" | "discard" | "trim" | "unmap" | "f" | "flush" | "fsync" | "sync" | "delete"
        | "del" | "n" | "none" => return Some(Op::Other),
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
    use proptest::prelude::*;

    /// Fields that are plain, that just are not, and that are wrong.
    fn some_field() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => "0{0,3}[0-9]{1,8}",
            2 => "[0-9]{7,20}",
            1 => "[0-9]{1,16}\\.[0-9]{0,11}",
            3 => "R|W|r|w|D|F|N|m|read|Write|TRIM|flush|discard|update|FWFS|RA|modify|discards",
            1 => "[-+ ]?(0x)?[0-9a-fA-F]{0,17} ?",
            1 => "\"[0-9RW,a\"]{0,5}\"?",
            1 => "[ -~]{0,9}",
            1 => ".{0,5}",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// What goes the short way would be the same the long way; and what is plain does go
        /// the short way.
        #[test]
        fn the_short_way_leads_where_the_long_one_does(
            mut fields in prop::collection::vec(some_field(), 6),
            place in prop::sample::select(vec![Role::Page, Role::Address]),
            extent in prop::sample::select(vec![Role::Size, Role::Count, Role::Skip]),
            others in prop::sample::subsequence(vec![Role::Op, Role::Pid, Role::Time, Role::Skip], 0..5),
            order in any::<prop::sample::Index>(),
            page_size in prop::sample::select(vec![1, 512, 4096, 1 << 40, 1 << 63]),
            unit in prop::sample::select(vec![1, 1_000, 1_000_000_000, 7]),
            end in "\n|\r\n|\r| \n|,\n",
            rest in "[0-9,RW\n\"]{24}",
        ) {
            let mut roles = vec![place, extent];
            roles.extend(others);
            let n = roles.len();
            roles.rotate_left(order.index(n));
            let options =
                ImportOptions { time_unit_ns: Some(unit), page_size, ..ImportOptions::default() };
            let parser = Parser::new(roles, &options);
            fields.resize(n, "0".into());
            let piece = format!("{}{end}{rest}\n", fields.join(","));
            if let Some((short, next)) = parser.plan.request(piece.as_bytes(), 0) {
                match parser.record(piece.as_bytes(), 0, 1) {
                    Err(e) => prop_assert!(false, "{piece:?}: {e}"),
                    Ok((values, end)) => {
                        prop_assert_eq!(next, end, "{}", piece);
                        let other = short.op == Some(Op::Other);
                        let same = |r: Request| if other { r.op == short.op } else { r == short };
                        prop_assert!(parser.request(values).is_ok_and(same), "{piece:?}: {short:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn plain_lines_go_the_short_way() {
        let options = ImportOptions { time_unit_ns: Some(1_000_000), ..ImportOptions::default() };
        let roles = vec![Role::Time, Role::Skip, Role::Page, Role::Size, Role::Op];
        let parser = Parser::new(roles, &options);
        let rest = "1.250,x,12,4096,R\n".repeat(2);
        for line in
            ["1.25,usr 0,12345678901,4096,R\n", "17,,0,9,Write\r\n", "0,abcdefghijk,7,9,d\n"]
        {
            let piece = format!("{line}{rest}");
            let next = parser.plan.request(piece.as_bytes(), 0).map(|r| r.1);
            assert_eq!(next, Some(line.len()), "{line:?}");
        }
    }

    #[test]
    fn numbers_times_and_words() {
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
        for wrong in ["", ".5", "1.5.2", "-1", "1e9", "9999999999999"] {
            assert_eq!(time(wrong.as_bytes(), 1_000_000_000), None, "{wrong}");
        }
        for (word, op) in [
            ("Read", Some(Op::Read)),
            ("WRITE", Some(Op::Write)),
            ("WSM", Some(Op::Write)),
            ("FWFS", Some(Op::Write)),
            ("RA", Some(Op::Read)),
            ("DS", Some(Op::Other)),
            ("trim", Some(Op::Other)),
            ("", None),
            ("x", None),
            ("rw", None),
        ] {
            assert_eq!(operation(word.as_bytes()), op, "{word}");
        }
    }
}
