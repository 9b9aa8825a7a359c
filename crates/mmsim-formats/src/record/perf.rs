//! The text that `perf script` makes of DAMON's tracepoints.
//!
//! ```text
//! kdamond.0     0 [000]     0.100000: damon:damon_aggregated: target_id=0 nr_regions=2 0-4096: 3 7
//! kdamond.0     0 [000]     0.100000: damon:damon_aggregated: target_id=0 nr_regions=2 4096-8192: 0 9
//! ```
//!
//! Command, process, CPU, seconds with six digits; then bytes from and to, accesses, age. One line is
//! one region; `nr_regions` lines make a snapshot, whose time is that of the first. Linux 6.12
//! `include/trace/events/damon.h`; before 5.17 the age was missing and `target_id` was the address of
//! a kernel object. Within a snapshot addresses ascend and times lie together: where they do not,
//! lines were lost, and that is an error. `damos_before_apply` shows regions that a scheme is about
//! to be applied to: they are a subset, in order of address, so there a snapshot also ends where
//! addresses go back.
//!
//! Times are cut to µs. A single snapshot would have no length; as damo does, one is added after it
//! that says so: a region from 0 to 0 with -1 accesses of age -1. Process and CPU of a simulated
//! kernel thread are written as 0. Lines without these tracepoints are passed over.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use super::{Record, Region, Snapshot, set_start_times};
use mmsim_base::error::{Error, ErrorKind};

/// All snapshots as text, in order of time and then of records.
pub fn write(records: &[Record]) -> String {
    let mut order: Vec<(&Record, usize)> =
        records.iter().flat_map(|r| (0..r.snapshots.len()).map(move |i| (r, i))).collect();
    // Stable: equals stay in the order of the records.
    order.sort_by_key(|&(r, i)| r.snapshots[i].end_ns);
    let mut out = String::new();
    for (record, i) in order {
        let snapshot = &record.snapshots[i];
        for region in &snapshot.regions {
            let age = region.age.map_or(String::new(), |a| format!(" {a}"));
            let text = format!("{}-{}: {}{age}", region.start, region.end, region.nr_accesses);
            line(&mut out, record, snapshot.end_ns, snapshot.regions.len(), &text);
        }
    }
    for record in records {
        if let [only] = &record.snapshots[..] {
            line(&mut out, record, only.end_ns.saturating_add(only.length_ns()), 1, "0-0: -1 -1");
        }
    }
    out
}

fn line(out: &mut String, record: &Record, ns: u64, nr_regions: usize, region: &str) {
    let (event, who) = match record.scheme_idx {
        None => ("damon_aggregated", format!("target_id={}", record.target_id)),
        Some(scheme) => (
            "damos_before_apply",
            format!(
                "ctx_idx={} scheme_idx={scheme} target_idx={}",
                record.context_idx, record.target_id
            ),
        ),
    };
    // Writing into a string cannot fail.
    let _ = writeln!(
        out,
        "kdamond.{} {:>5} [000] {:>5}.{:06}: damon:{event}: {who} nr_regions={nr_regions} {region}",
        record.kdamond_idx,
        0,
        ns / 1_000_000_000,
        ns / 1000 % 1_000_000,
    );
}

/// Reads such a text, which came from `name`. Records come in the order in which they appear.
///
/// # Errors
///
/// A line of a tracepoint is not of its form, times go back, or lines of a snapshot are missing: fewer
/// than it has regions, or such that are of another one by their time or address. The message has
/// line and column.
pub fn read(text: &str, name: &str) -> Result<Vec<Record>, Error> {
    let shared: Arc<str> = text.into();
    let source = Source { text: &shared, name };
    let mut open: Vec<Open> = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if let Some(point) = source.point(line, offset)? {
            let place = open.iter().position(|o| o.key == point.key).unwrap_or_else(|| {
                open.push(Open::new(point.key));
                open.len() - 1
            });
            open[place].add(point, &source)?;
        }
        offset += line.len();
    }
    open.into_iter().map(|o| o.finish(&source)).collect()
}

/// Key that lines of a record share: kdamond, context, scheme and target.
type Key = (u32, u32, Option<u32>, u64);

/// One line.
struct Point {
    key: Key,
    end_ns: u64,
    nr_regions: u64,
    /// None for what follows a single snapshot.
    region: Option<Region>,
    /// Its fields, for messages.
    at: Range<usize>,
}

/// Time within which the lines of a snapshot come, in ns, while no second one tells how long an
/// aggregation is: half of the default one, as the kernel prints all lines at its end.
const TOGETHER_NS: u64 = 50_000_000;

/// A record that is being read.
struct Open {
    key: Key,
    record: Record,
    /// Regions that the last snapshot still lacks, of how many, and where it began.
    missing: Option<(u64, u64, Range<usize>)>,
    /// When the dummy after a single snapshot ended.
    dummy: Option<u64>,
    /// Largest distance between lines of a snapshot: half of the shortest time between two.
    together_ns: u64,
}

struct Source<'a> {
    text: &'a Arc<str>,
    name: &'a str,
}

impl Source<'_> {
    fn error(&self, at: Range<usize>, title: String, label: impl Into<String>) -> Error {
        let title = format!("`{}`: {title}", self.name);
        Error::new(ErrorKind::File, title).at(self.name, self.text, at, label)
    }

    /// The tracepoint of a line, if it has one of ours.
    fn point(&self, line: &str, offset: usize) -> Result<Option<Point>, Error> {
        let words: Vec<(usize, &str)> = words(line);
        let Some((nr, of_scheme)) =
            words.iter().enumerate().find_map(|(i, w)| Some((i, of_scheme(w.1)?)))
        else {
            return Ok(None);
        };
        let span = |i: usize| {
            let (at, word) = words.get(i).copied().unwrap_or((line.trim_end().len(), ""));
            offset + at..offset + at + word.len()
        };
        let wrong = |i: usize, want: &str| {
            let found =
                words.get(i).map_or("the end of the line".to_string(), |w| format!("`{}`", w.1));
            let title = format!("found {found}, expected {want}");
            Err(self.error(span(i), title, format!("write {want}")))
        };
        let end_ns = match nr.checked_sub(1).map(|i| seconds(words[i].1)) {
            Some(Some(ns)) => ns,
            _ => return wrong(nr.saturating_sub(1), "a time in seconds as in `0.100000:`"),
        };
        let word = |i: usize| words.get(i).map(|w| w.1);
        let number = |i: usize, key: &str| {
            word(i)?.strip_prefix(key)?.strip_prefix('=')?.parse::<u64>().ok()
        };
        let small = |i: usize, key: &str| number(i, key).and_then(|n| u32::try_from(n).ok());
        let mut i = nr + 1;
        let (mut context, mut scheme) = (0, None);
        if of_scheme {
            let Some(n) = small(i, "ctx_idx") else { return wrong(i, "`ctx_idx=` and a number") };
            context = n;
            let Some(n) = small(i + 1, "scheme_idx") else {
                return wrong(i + 1, "`scheme_idx=` and a number");
            };
            scheme = Some(n);
            i += 2;
        }
        let target = if of_scheme { "target_idx" } else { "target_id" };
        let Some(target_id) = number(i, target) else {
            return wrong(i, &format!("`{target}=` and a number"));
        };
        let nr_regions = match number(i + 1, "nr_regions") {
            Some(n) if n > 0 => n,
            _ => return wrong(i + 1, "`nr_regions=` and a number from 1"),
        };
        let Some((start, end)) = word(i + 2).and_then(bounds) else {
            return wrong(i + 2, "first byte and end as in `0-4096:`");
        };
        let dummy = (start, end, word(i + 3)) == (0, 0, Some("-1"));
        if start >= end && !dummy {
            return wrong(i + 2, "a region that ends above its start");
        }
        let counted = word(i + 3).and_then(|w| w.parse::<u32>().ok());
        let age = word(i + 4).map(str::parse::<u32>);
        let region = match (counted, age) {
            _ if dummy => None,
            (None, _) => return wrong(i + 3, "the number of samples with an access"),
            (_, Some(Err(_))) => return wrong(i + 4, "the age in aggregations, or nothing"),
            (Some(nr_accesses), age) => {
                Some(Region { start, end, nr_accesses, age: age.and_then(Result::ok) })
            }
        };
        if words.len() > i + 5 {
            return wrong(i + 5, "the end of the line");
        }
        let kdamond = words[0].1.strip_prefix("kdamond.").and_then(|n| n.parse().ok());
        let key = (kdamond.unwrap_or(0), context, scheme, target_id);
        let at = span(nr + 1).start..offset + line.trim_end().len();
        Ok(Some(Point { key, end_ns, nr_regions, region, at }))
    }
}

/// True for a word that begins a tracepoint of a scheme, false for one of an aggregation.
fn of_scheme(word: &str) -> Option<bool> {
    match word.strip_prefix("damon:").unwrap_or(word) {
        "damon_aggregated:" => Some(false),
        "damos_before_apply:" => Some(true),
        _ => None,
    }
}

/// First byte and end of a region, as in `0-4096:`.
fn bounds(word: &str) -> Option<(u64, u64)> {
    let (start, end) = word.strip_suffix(':')?.split_once('-')?;
    Some((start.parse().ok()?, end.parse().ok()?))
}

/// The words of a line with their places.
fn words(line: &str) -> Vec<(usize, &str)> {
    let start = line.as_ptr() as usize;
    line.split_whitespace().map(|w| (w.as_ptr() as usize - start, w)).collect()
}

/// A time in seconds, as lines have it.
fn shown(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns / 1000 % 1_000_000)
}

/// `12.345678:` in ns; up to nine digits after the point.
fn seconds(word: &str) -> Option<u64> {
    let (whole, part) = word.strip_suffix(':')?.split_once('.')?;
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return None;
    }
    let ns: u64 = format!("{part:0<9}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns)
}

impl Open {
    fn new(key: Key) -> Open {
        let (kdamond_idx, context_idx, scheme_idx, target_id) = key;
        let record =
            Record { kdamond_idx, context_idx, scheme_idx, target_id, ..Record::default() };
        Open { key, record, missing: None, dummy: None, together_ns: TOGETHER_NS }
    }

    fn add(&mut self, point: Point, source: &Source<'_>) -> Result<(), Error> {
        let last_ns = self.record.snapshots.last().map_or(0, |s| s.end_ns);
        if point.end_ns < last_ns {
            let title = "the time goes back".to_string();
            return Err(source.error(point.at, title, "sort the lines by their times"));
        }
        let Some(region) = point.region else {
            self.dummy = Some(point.end_ns);
            return Ok(());
        };
        if self.key.2.is_some() && self.begins_anew(&region, point.nr_regions) {
            self.missing = None;
        }
        if self.key.2.is_none() && self.missing.as_ref().is_some_and(|m| m.1 == point.nr_regions) {
            self.belongs(&point, &region, source)?;
        }
        match &mut self.missing {
            Some((missing, of, _)) if *of == point.nr_regions => *missing -= 1,
            Some((missing, of, _)) => {
                let title =
                    format!("{missing} of {of} regions of a snapshot are missing before this");
                let label = "another snapshot begins here: delete the one that is not whole";
                return Err(source.error(point.at, title, label));
            }
            None => {
                let end_ns = point.end_ns;
                if let Some(last) = self.record.snapshots.last().filter(|s| s.end_ns < end_ns) {
                    let half = (end_ns - last.end_ns) / 2;
                    let first = self.record.snapshots.len() == 1;
                    self.together_ns = if first { half } else { half.min(self.together_ns) };
                }
                let regions = Vec::new();
                self.record.snapshots.push(Snapshot { start_ns: end_ns, end_ns, regions });
                self.missing = Some((point.nr_regions - 1, point.nr_regions, point.at));
            }
        }
        self.missing.take_if(|m| m.0 == 0);
        self.record.snapshots.last_mut().expect("one was begun").regions.push(region);
        Ok(())
    }

    /// True if a line is of the snapshot that still lacks some: it comes soon after its first line,
    /// and its region after the last one.
    fn belongs(&self, point: &Point, region: &Region, source: &Source<'_>) -> Result<(), Error> {
        let [.., open] = &self.record.snapshots[..] else { return Ok(()) };
        let has = open.regions.len();
        let of =
            format!("{} s, which has {has} of {} regions", shown(open.end_ns), point.nr_regions);
        let label = "lines were lost before this: delete the snapshot that is not whole";
        if point.end_ns - open.end_ns > self.together_ns {
            let title =
                format!("{} s does not belong to the snapshot of {of}", shown(point.end_ns));
            return Err(source.error(point.at.clone(), title, label));
        }
        match open.regions.last() {
            Some(last) if region.start < last.end => {
                let (a, b) = (format!("{}-{}", region.start, region.end), last.end);
                let title = format!("{a} begins before {b}, in the snapshot of {of}");
                Err(source.error(point.at.clone(), title, label))
            }
            _ => Ok(()),
        }
    }

    /// True if a region of a scheme is of a later pass than the one before it.
    fn begins_anew(&self, region: &Region, nr_regions: u64) -> bool {
        let last = self.record.snapshots.last().and_then(|s| s.regions.last());
        let other = self.missing.as_ref().is_some_and(|m| m.1 != nr_regions);
        other || last.is_some_and(|last| region.start < last.end)
    }

    fn finish(self, source: &Source<'_>) -> Result<Record, Error> {
        let mut record = self.record;
        if let (Some((missing, of, at)), None) = (self.missing, self.key.2) {
            let title = format!("the last snapshot lacks {missing} of {of} regions");
            return Err(source.error(at, title, "it begins here: delete it"));
        }
        if let (Some(end), [only]) = (self.dummy, &mut record.snapshots[..]) {
            only.start_ns = only.end_ns.saturating_sub(end.saturating_sub(only.end_ns));
        }
        set_start_times(&mut record.snapshots);
        Ok(record)
    }
}
