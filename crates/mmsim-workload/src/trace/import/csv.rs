//! Comma-separated values, and other texts with a record a line.
//!
//! The first line names the columns; [`ImportOptions::columns`] says which of them is
//! what: `page=lbn,op=rw`. Without it columns are known by the names of the [roles](columns).
//! `#3` means the third column; if all columns are given so there need be no line of names.
//! What is between fields the first line tells, or [`ImportOptions::delimiter`]; [`Like`]
//! knows the layouts of public traces.
//!
//! Fields may stand in quotes as RFC 4180 has it, but a line is a record: no line end
//! within quotes. A record may have more fields than the first line, or fewer, as long as all
//! columns with a role are there; such records are counted. Lines that begin with `#`, and lines
//! that are nothing but `*`, are passed over and counted. Lines of numbers that
//! are plain digits and of the commonest operations take a fast path, by a [`plan`], all
//! else the long one.
//!
//! A page is a place, or the name of an object ([`names`]); with [`ImportOptions::dense`] it
//! gets its number in the order of first appearance. With [`ImportOptions::sort`] records
//! first go through a [`sort`] by time.

mod columns;
mod fields;
mod like;
mod names;
mod plan;
mod sort;
#[cfg(test)]
mod tests;
mod values;

use std::io::Read;

use self::columns::{Columns, Extent, Place, Role};
pub use self::fields::Delimiter;
use self::fields::{Aside, end_of_line};
pub use self::like::Like;
use self::names::Names;
use self::plan::Plan;
use self::sort::Sorter;
pub use self::values::time_unit;
use self::values::{MAX_TIME, Op, Ops, number, time};
use super::lines::{Lines, show};
use super::sink::{Access, Sink};
use super::{FirstPass, ImportOptions, PageKind};
use crate::trace::error::TraceError;
use crate::trace::requests::Ids;
use crate::trace::table::MAX_TOTAL_PAGES;

/// Names of numbered texts begin here; numbers below are places.
const NAMES: u64 = 1 << 62;
/// Pages of a named object.
const NAME_SHIFT: u32 = 28;
/// Pages of a volume, where places and volumes make a name together.
const VOLUME_SHIFT: u32 = 48;

/// Request of a record, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Request {
    op: Option<Op>,
    page: u64,
    count: u64,
    /// Number of repetitions, at least one.
    repeats: u64,
    pid: u32,
    time: Option<u64>,
}

/// The fields of a record that matter.
#[derive(Clone, Copy)]
struct Values {
    place: u64,
    /// The place is the number of a text.
    named: bool,
    volume: Option<u32>,
    extent: Option<u64>,
    op: Option<Op>,
    repeats: u64,
    pid: u64,
    time: Option<u64>,
}

/// Counts of records that are no access.
#[derive(Default)]
struct Left {
    /// Operations that neither read nor write.
    other: u64,
    /// Requests of no bytes.
    empty: u64,
    comments: u64,
    marks: u64,
    /// Records with more or fewer fields than the first line, and the line of the first of them.
    ragged: u64,
    first_ragged: u64,
}

struct Parser<'a> {
    options: &'a ImportOptions,
    columns: Columns,
    plan: Option<Plan>,
    page_shift: u32,
    unit: u64,
    ops: Ops,
    names: Names,
    /// Volumes in a line, one after the other.
    volume: Vec<u8>,
    sorter: Option<Sorter>,
    out: Out<'a>,
    left: Left,
}

/// Where requests become accesses.
struct Out<'a> {
    options: &'a ImportOptions,
    sink: Sink,
    ids: Option<Ids>,
    first_time: Option<u64>,
}

/// Reads a text of values.
pub(super) fn read<R: Read>(
    lines: &mut Lines<R>,
    options: &ImportOptions,
) -> Result<FirstPass, TraceError> {
    if !options.page_size.is_power_of_two() {
        let found = options.page_size.to_string();
        return Err(TraceError::invalid("the page size", found, "a power of two, in bytes"));
    }
    let mut parser: Option<Parser<'_>> = None;
    let mut before = Left::default();
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
            if let Some(aside) = Aside::of(piece, at) {
                parser.as_mut().map_or(&mut before, |p| &mut p.left).aside(aside);
                at = end_of_line(piece, at) + 1;
                line += 1;
                continue;
            }
            at = match &mut parser {
                Some(p) => {
                    let (values, next) = p.record(piece, at, line)?;
                    p.values(values, line).map_err(|e| e.or_line(line, || show(piece, at)))?;
                    next
                }
                None => {
                    let (columns, named) = Columns::of_line(piece, at, line, options)?;
                    let left = std::mem::take(&mut before);
                    parser = Some(Parser::new(columns, left, options)?);
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
    p.finish(lines.lines())
}

/// Error in a record: the expected value, or an error that is complete.
enum Wrong {
    Expected(&'static str),
    Error(TraceError),
}

impl From<&'static str> for Wrong {
    fn from(expected: &'static str) -> Self {
        Wrong::Expected(expected)
    }
}

impl Wrong {
    fn or_line(self, line: u64, found: impl FnOnce() -> String) -> TraceError {
        match self {
            Wrong::Expected(expected) => TraceError::line(line, found(), expected),
            Wrong::Error(error) => error,
        }
    }
}

impl Left {
    fn aside(&mut self, aside: Aside) {
        match aside {
            Aside::Empty => {}
            Aside::Comment => self.comments += 1,
            Aside::Mark => self.marks += 1,
        }
    }
}

impl<'a> Parser<'a> {
    fn new(
        mut columns: Columns,
        left: Left,
        options: &'a ImportOptions,
    ) -> Result<Self, TraceError> {
        let shape = options.like;
        let unit = options.time_unit_ns.or(shape.map(|l| l.time_unit_ns));
        if unit == Some(0) {
            columns.forget(Role::Time);
        }
        let tables: Vec<&str> =
            options.ops.as_deref().into_iter().chain(shape.map(|l| l.ops)).collect();
        let ops = Ops::new(&tables)?;
        let closed = options.layout().is_some_and(|l| !l.ops.is_empty());
        let ops = if closed { ops.closed() } else { ops };
        let timed = columns.has(Role::Time);
        if options.sort && !timed {
            let found = if unit == Some(0) { "times that are left out" } else { "no time" };
            return Err(TraceError::invalid("--sort", found, "a column that is the time"));
        }
        let dense = options.dense
            || shape.is_some_and(|l| l.dense)
            || columns.place == Place::Key
            || columns.has(Role::Volume);
        let out =
            Out { options, sink: Sink::default(), ids: dense.then(Ids::default), first_time: None };
        let unit = unit.unwrap_or(1);
        Ok(Parser {
            plan: ops.is_plain().then(|| Plan::new(&columns, options, unit)).flatten(),
            page_shift: options.page_size.trailing_zeros(),
            unit,
            ops,
            names: Names::default(),
            volume: Vec::new(),
            sorter: options.sort.then(Sorter::new),
            columns,
            options,
            out,
            left,
        })
    }

    /// Takes records from `at` on as long as they can take the fast path; returns where the first
    /// begins that cannot.
    fn short_records(
        &mut self,
        piece: &[u8],
        mut at: usize,
        line: &mut u64,
    ) -> Result<usize, TraceError> {
        let Some(plan) = &self.plan else { return Ok(at) };
        // A line that begins with a letter or digit is no aside.
        while piece.get(at).is_some_and(|b| b.is_ascii_alphanumeric())
            && let Some((request, next)) = plan.request(piece, at)
        {
            Self::take(&mut self.sorter, &mut self.out, &mut self.left, *line, request)
                .map_err(|e| e.or_line(*line, || show(piece, at)))?;
            at = next;
            *line += 1;
        }
        Ok(at)
    }

    /// The record at `at` and where the next line begins, by the slow path.
    #[inline(never)]
    fn record(
        &mut self,
        piece: &[u8],
        at: usize,
        line: u64,
    ) -> Result<(Values, usize), TraceError> {
        let nr = self.columns.roles.len();
        let delimiter = self.columns.delimiter;
        let mut v = Values {
            place: 0,
            named: false,
            volume: None,
            extent: None,
            op: None,
            repeats: 1,
            pid: 0,
            time: None,
        };
        self.volume.clear();
        let mut i = delimiter.skip(piece, at);
        for f in 0..nr {
            let end = self.field(piece, i, at, line, self.columns.roles[f], &mut v)?;
            match delimiter.next(piece, end) {
                Some(next) if f + 1 < nr => i = next,
                None if f + 1 == nr => {}
                None if f + 1 < self.columns.needed() => {
                    return Err(self.missing(end - at + 1, f + 1, line));
                }
                Some(_) if nr >= self.columns.fields.1 => {
                    let found = format!("more than {nr} fields in {}", show(piece, at));
                    let layout = self.options.layout();
                    let expected = layout.map_or(String::new(), Like::expected_fields);
                    return Err(TraceError::line(line, found, expected));
                }
                next => {
                    if self.left.ragged == 0 {
                        self.left.first_ragged = line;
                    }
                    self.left.ragged += 1;
                    if next.is_none() {
                        break;
                    }
                }
            }
        }
        if self.columns.has(Role::Volume) {
            v.volume = Some(self.name_of_volume(line)?);
        }
        Ok((v, end_of_line(piece, at) + 1))
    }

    /// The error of a record that ends at a column after `fields` fields.
    fn missing(&self, column: usize, fields: usize, line: u64) -> TraceError {
        let nth = |i: usize| match self.columns.roles.get(i) {
            Some(&role) => format!("field {}, {}", i + 1, self.columns.expected(role)),
            None => format!("field {}", i + 1),
        };
        let used = |i: &usize| self.columns.roles.get(*i).is_some_and(|&r| r != Role::Skip);
        let next = (fields..self.columns.roles.len()).find(used).unwrap_or(fields);
        let expected = format!("{}: this column is used", nth(next));
        let found = format!("the end of the line after {fields} of its fields");
        TraceError::field(line, column, found, expected)
    }

    fn name_of_volume(&mut self, line: u64) -> Result<u32, TraceError> {
        // Apart from texts of keys by their first byte, which no text has.
        self.volume.insert(0, 0xff);
        self.names.number(&self.volume).ok_or_else(|| too_many_names(line))
    }

    /// Parses the field at `start` of the line that begins at `at`; returns where it ends.
    fn field(
        &mut self,
        piece: &[u8],
        start: usize,
        at: usize,
        line: u64,
        role: Role,
        v: &mut Values,
    ) -> Result<usize, TraceError> {
        let (text, end) = self.columns.delimiter.field(piece, start, at, line)?;
        let good = match role {
            Role::Skip => true,
            Role::Op => {
                let op = self.ops.of(&text, line);
                v.op = Some(op);
                if op == Op::Unknown
                    && let (Some(words), Some(like)) = (self.ops.words(), self.options.like)
                {
                    let found = format!("the operation {:?}", shown(&text));
                    let expected = format!(
                        "one of {words}, as in the layout `{}` (--ops says what else means)",
                        like.name
                    );
                    return Err(TraceError::field(line, start - at + 1, found, expected));
                }
                true
            }
            Role::Time => {
                v.time = time(&text, self.unit);
                v.time.is_some()
            }
            Role::Volume => {
                self.volume.extend_from_slice(&text);
                self.volume.push(0xff);
                true
            }
            Role::Place => self.place(&text, line, v)?,
            Role::Size => {
                number(&text).and_then(|n| v.extent.unwrap_or(0).checked_add(n)).is_some_and(|n| {
                    v.extent = Some(n);
                    true
                })
            }
            Role::Pid => number(&text).is_some_and(|n| {
                v.pid = n;
                n <= u64::from(u32::MAX)
            }),
            Role::Repeats => number(&text).is_some_and(|n| {
                v.repeats = n;
                n <= MAX_TOTAL_PAGES
            }),
        };
        if good {
            return Ok(end);
        }
        let expected = match (role, self.options.layout()) {
            (Role::Place, Some(like)) if self.columns.place == Place::Page => {
                format!("the number of a page or block, as in the layout `{}`", like.name)
            }
            _ => self.columns.expected(role).to_string(),
        };
        Err(TraceError::field(line, start - at + 1, format!("{:?}", shown(&text)), expected))
    }

    /// Reads a place. False: it is none.
    fn place(&mut self, text: &[u8], line: u64, v: &mut Values) -> Result<bool, TraceError> {
        let numbered = if self.columns.place == Place::Key { None } else { number(text) };
        match numbered {
            // With names, what is too large for a place is a name too.
            Some(n) if n < NAMES || self.out.ids.is_none() => v.place = n,
            Some(_) if self.columns.place != Place::Page => return Ok(false),
            None if text.is_empty() => return Ok(false),
            // In a public layout a page is a number.
            None if self.options.layout().is_some() && self.columns.place == Place::Page => {
                return Ok(false);
            }
            None if self.out.ids.is_none() || self.columns.place.unit().is_some() => {
                return Ok(false);
            }
            _ => {
                v.named = true;
                v.place = self.names.number(text).ok_or_else(|| too_many_names(line))?.into();
            }
        }
        Ok(true)
    }

    /// Takes the values of a line.
    fn values(&mut self, v: Values, line: u64) -> Result<(), Wrong> {
        let request = self.request(v)?;
        Self::take(&mut self.sorter, &mut self.out, &mut self.left, line, request)
    }

    /// The request of a record. The error is what should have been there.
    fn request(&self, v: Values) -> Result<Request, &'static str> {
        let (page, count) = match v.op {
            Some(Op::Other | Op::Unknown) => (0, 0),
            _ => self.pages(v)?,
        };
        let (op, pid, time) = (v.op, v.pid as u32, v.time);
        Ok(Request { op, page, count, repeats: v.repeats, pid, time })
    }

    /// Takes a request of a line.
    #[inline(always)]
    fn take(
        sorter: &mut Option<Sorter>,
        out: &mut Out<'_>,
        left: &mut Left,
        line: u64,
        r: Request,
    ) -> Result<(), Wrong> {
        match r.op {
            None | Some(Op::Read | Op::Write) => {}
            Some(Op::Other) => {
                left.other += 1;
                return Ok(());
            }
            Some(Op::Unknown) => return Ok(()),
        }
        if r.count == 0 || r.repeats == 0 {
            left.empty += 1;
            return Ok(());
        }
        match sorter {
            None => out.take(r).map_err(Wrong::Expected),
            Some(sorter) => sorter.push(line, r).map_err(Wrong::Error),
        }
    }

    /// First page and number of pages.
    fn pages(&self, v: Values) -> Result<(u64, u64), &'static str> {
        let shift = self.page_shift;
        let unit = self.columns.place.unit();
        let bytes = match (v.extent, self.columns.extent) {
            (None, _) => None,
            (Some(0), _) => return Ok((0, 0)),
            (Some(n), Extent::Pages) => {
                let first = match unit {
                    Some(unit) => v.place.checked_mul(unit).ok_or(TOO_FAR)? >> shift,
                    None => v.place,
                };
                return self.named(v, first, n);
            }
            (Some(n), Extent::Units(unit)) => Some(n.checked_mul(unit).ok_or(TOO_FAR)?),
        };
        let (first, count) = match (unit, bytes) {
            (None, None) => (v.place, 1),
            (None, Some(n)) => (v.place, ((n - 1) >> shift) + 1),
            (Some(unit), bytes) => {
                let start = v.place.checked_mul(unit).ok_or(TOO_FAR)?;
                let last = start.checked_add(bytes.unwrap_or(1) - 1).ok_or(TOO_FAR)?;
                (start >> shift, (last >> shift) - (start >> shift) + 1)
            }
        };
        self.named(v, first, count)
    }

    /// Pages under the names that they have among all.
    fn named(&self, v: Values, first: u64, count: u64) -> Result<(u64, u64), &'static str> {
        match (v.named, v.volume) {
            (false, None) => Ok((first, count)),
            _ if count > MAX_TOTAL_PAGES => Err("a count from 1 to 2^28 pages"),
            (false, Some(volume)) => {
                let end = first.checked_add(count).filter(|&end| end <= 1 << VOLUME_SHIFT);
                let volume = u64::from(volume);
                if end.is_none() || volume >= 1 << (62 - VOLUME_SHIFT) {
                    return Err("a place below 2^48 pages on one of at most 2^14 volumes");
                }
                Ok((volume << VOLUME_SHIFT | first, count))
            }
            (true, None) => Ok((NAMES | v.place << NAME_SHIFT, count)),
            (true, Some(_)) => Err("a place that is a number, since there is a volume"),
        }
    }

    fn finish(mut self, lines: u64) -> Result<FirstPass, TraceError> {
        if let Some(sorter) = self.sorter.take() {
            let out = &mut self.out;
            sorter.finish(|line, request| {
                out.take(request).map_err(|expected| TraceError::line(line, "an access", expected))
            })?;
        }
        if self.out.sink.is_empty()
            && let Some((line, words)) = self.ops.unknown()
        {
            return Err(TraceError::line(
                line,
                format!("the operations {words}"),
                format!(
                    "known words, or --ops that tells them, as in --ops {}",
                    self.ops.example()
                ),
            ));
        }
        let shape = self.options.like.map(|l| l.about.split(':').next().unwrap_or(l.about));
        let source = self.options.source.or(shape).unwrap_or("comma-separated values");
        let dense = self.out.ids.is_some();
        let timed = self.out.first_time.is_some();
        let kind = self.options.kind.or(self.options.like.map(|l| l.kind));
        let mut pass = self.out.sink.finish(source, lines);
        let unwritten: u64 = pass.touched.iter().map(|t| t.pages() - t.written_pages()).sum();
        let notes = &mut pass.table.assumptions;
        match kind.unwrap_or(PageKind::Anon) {
            PageKind::Anon => notes.push("all pages are anonymous memory".into()),
            PageKind::File => notes.push("all pages are a file's, mapped shared".to_string()),
        }
        if unwritten > 0 && kind != Some(PageKind::File) {
            notes.push(format!(
                "{unwritten} pages are read and never written: anonymous ones take no memory then, \
                 as Linux maps its zero page; --fill or --pages-are file makes them count"
            ));
        }
        if self.options.fill && self.columns.has(Role::Op) {
            notes.retain(|n| !n.starts_with(super::sink::UNTOLD));
            notes.push("the first access to a page writes it (--fill)".into());
        }
        if self.columns.place.unit().is_some() || self.columns.extent != Extent::Pages {
            notes.push(format!("a page has {} bytes", self.options.page_size));
        }
        if dense {
            notes.push("pages are numbered in the order of their first appearance".into());
        }
        if timed {
            let how = if self.options.sort { ", sorted" } else { "" };
            let unit = self.unit;
            notes.push(format!(
                "times are arrivals, in units of {unit} ns since the first record{how}"
            ));
        } else if self.options.time_unit_ns == Some(0) {
            notes.push("the times of the input are left out".into());
        }
        notes.extend(self.ops.unknown().map(|(_, words)| {
            format!("unknown operations are left out: {words}; --ops gives their meaning")
        }));
        let Left { other, empty, comments, marks, ragged, first_ragged } = self.left;
        if ragged > 0 {
            notes.push(format!(
                "{ragged} lines have more or fewer fields than the first one, the first of them is \
                 line {first_ragged}: the columns that are used were there"
            ));
        }
        for (n, what) in [
            (other, "operations that neither read nor write are left out"),
            (empty, "requests of no bytes are left out"),
            (comments, "lines that begin with # are comments"),
            (marks, "lines of a single * are passed over"),
        ] {
            if n > 0 {
                notes.push(format!("{n} {what}"));
            }
        }
        Ok(pass)
    }
}

/// The beginning of a field, for an error.
fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(40)]).into_owned()
}

const TOO_FAR: &str = "an end below 2^64 bytes";

fn too_many_names(line: u64) -> TraceError {
    TraceError::line(line, "more than 2^32 names", "fewer different ones")
}

impl Out<'_> {
    /// Makes accesses of a request. The error is what should have been there.
    #[inline(always)]
    fn take(&mut self, r: Request) -> Result<(), &'static str> {
        let write = match r.op {
            // With `fill` the first access writes, as where the input does not say its operation.
            Some(Op::Read) if self.options.fill => None,
            Some(op) => Some(op == Op::Write),
            None => None,
        };
        let time = match r.time {
            None => None,
            Some(t) => {
                let origin = *self.first_time.get_or_insert(t);
                let since = t.checked_sub(origin).ok_or(BEFORE)?;
                if since > MAX_TIME {
                    return Err("a time at most 2^62 ns after the first");
                }
                Some(since)
            }
        };
        let access = Access { write, page: r.page, count: r.count, pid: r.pid, time };
        if r.repeats == 1 && self.ids.is_none() {
            return self.sink.access(access, self.options);
        }
        self.other(access, r.repeats)
    }

    /// Takes an access to pages that are names, or one that repeats.
    #[inline(never)]
    fn other(&mut self, access: Access, repeats: u64) -> Result<(), &'static str> {
        let Access { page, count, .. } = access;
        if count.saturating_mul(repeats) > MAX_TOTAL_PAGES {
            return Err("a count from 1 to 2^28 pages, repeats included");
        }
        for _ in 0..repeats {
            let Some(ids) = &mut self.ids else {
                self.sink.access(access, self.options)?;
                continue;
            };
            for i in 0..count {
                let page = u64::from(ids.number(page.wrapping_add(i)));
                self.sink.access(Access { page, count: 1, ..access }, self.options)?;
            }
        }
        Ok(())
    }
}

const BEFORE: &str = "a time not before that of the first line (--sort puts them in order)";
