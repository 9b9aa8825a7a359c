//! The text files of the old user interface: attributes, targets, first regions and schemes as
//! lines of numbers.
//!
//! Reading is as lax as there: numbers are read up to the first thing that is none, and what follows
//! is ignored. What was read must make sense, or nothing of it is taken; only first regions are all
//! gone after an error. A text as long as no kernel could hold it is refused before it is looked
//! at.
//!
//! Linux 6.12 `mm/damon/dbgfs.c`.

use crate::attrs::MonitoringAttrs;
use crate::context::Context;
use crate::damos::quota::Quota;
use crate::damos::scheme::{AccessPattern, Action, Scheme};
use crate::damos::watermark::{Watermarks, WmarkMetric};
use crate::error::DamonError;
use crate::region::{Region, Target};
use mmsim_core::base::id::AsId;
use std::fmt::Write as _;
use std::str::FromStr;

/// The longest text, in bytes, with a byte that ends it: the largest block of memory that
/// `kmalloc()` gives out on x86.
pub const MAX_INPUT: usize = 4 << 20;

/// Schemes that are read at most.
const MAX_SCHEMES: usize = 256;
/// Integers that are read at most.
const MAX_INTS: usize = 32;
/// Actions by their number. (The kernel has more, which this interface does not know.)
const ACTIONS: [Action; 6] = [
    Action::Willneed,
    Action::Cold,
    Action::Pageout,
    Action::Hugepage,
    Action::Nohugepage,
    Action::Stat,
];

/// Checks that a text can be taken at all: written as a whole, and not too long.
///
/// # Errors
/// [`DamonError::Offset`], [`DamonError::TooLarge`].
pub fn check_input(len: usize, offset: u64) -> Result<(), DamonError> {
    if offset != 0 {
        return Err(DamonError::Offset);
    }
    if len >= MAX_INPUT { Err(DamonError::TooLarge) } else { Ok(()) }
}

/// Reads numbers, one after the other, as `sscanf()` does.
struct Scanner<'a>(&'a str);

impl Scanner<'_> {
    /// The next number; nothing moves if there is none, or if it is too large.
    fn next<T: FromStr>(&mut self) -> Option<T> {
        let text = self.0.trim_start();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let len = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let end = text.len() - digits.len() + len;
        let number = text[..end].parse().ok()?;
        self.0 = &text[end..];
        Some(number)
    }
}

/// The integers at the beginning of a text, at most 32.
pub fn integers(text: &str) -> Vec<i32> {
    let mut scanner = Scanner(text);
    std::iter::from_fn(|| scanner.next()).take(MAX_INTS).collect()
}

/// Targets from a line of process ids, or `paddr` for physical memory. `find` knows the processes.
///
/// # Errors
/// [`DamonError::NoSuchTarget`].
pub fn targets(text: &str, find: impl Fn(i32) -> Option<AsId>) -> Result<Vec<Target>, DamonError> {
    if text.trim_end_matches('\n') == "paddr" {
        return Ok(vec![Target::new(None)]);
    }
    let known = |id| find(id).map(|space| Target::new(Some(space)));
    integers(text).into_iter().map(|id| known(id).ok_or(DamonError::NoSuchTarget)).collect()
}

/// Attributes from a line: sample, aggr, ops_update (µs), min and max number of regions. The
/// smallest region is that of `old`.
///
/// # Errors
/// Not five numbers. Whether they make sense is for the context to say.
pub fn parse_attrs(text: &str, old: &MonitoringAttrs) -> Result<MonitoringAttrs, DamonError> {
    let mut s = Scanner(text);
    let mut read = || {
        Some(MonitoringAttrs {
            sample_us: s.next()?,
            aggr_us: s.next()?,
            ops_update_us: s.next()?,
            min_nr_regions: s.next()?,
            max_nr_regions: s.next()?,
            min_region: old.min_region,
            tuning: None,
        })
    };
    read().ok_or(DamonError::InvalidAttrs("attributes are five numbers"))
}

/// Attributes as a line.
pub fn attrs_line(a: &MonitoringAttrs) -> String {
    format!(
        "{} {} {} {} {}\n",
        a.sample_us, a.aggr_us, a.ops_update_us, a.min_nr_regions, a.max_nr_regions
    )
}

/// Schemes from lines of 18 numbers: bounds of size, accesses and age; the action; ms, bytes and
/// reset interval of the quota; weights of size, accesses and age; metric, interval, high, mid and
/// low of the watermarks. Reading ends at the first that has fewer, and after 256.
///
/// # Errors
/// A scheme that makes no sense; then none is taken.
pub fn parse_schemes(text: &str) -> Result<Vec<Scheme>, DamonError> {
    let mut scanner = Scanner(text);
    let mut schemes = Vec::new();
    while schemes.len() < MAX_SCHEMES {
        let Some(scheme) = parse_scheme(&mut scanner) else { break };
        schemes.push(scheme?);
    }
    Ok(schemes)
}

fn parse_scheme(s: &mut Scanner<'_>) -> Option<Result<Scheme, DamonError>> {
    let pattern = AccessPattern {
        sz_region: s.next()?..=s.next()?,
        nr_accesses: s.next()?..=s.next()?,
        age_region: s.next()?..=s.next()?,
    };
    let action: u32 = s.next()?;
    let quota = Quota {
        ms: s.next()?,
        sz: s.next()?,
        reset_interval_ms: s.next()?,
        weight_sz: s.next()?,
        weight_nr_accesses: s.next()?,
        weight_age: s.next()?,
        ..Quota::default()
    };
    // An unknown metric is as good as none.
    let metric = match s.next::<u32>()? {
        1 => WmarkMetric::FreeMemRate,
        _ => WmarkMetric::None,
    };
    let (interval_us, high, mid, low) = (s.next()?, s.next()?, s.next()?, s.next()?);
    let wmarks = Watermarks { metric, interval_us, high, mid, low };
    let Some(action) = ACTIONS.get(action as usize) else {
        return Some(Err(DamonError::InvalidScheme("an action is a number from 0 to 5")));
    };
    if high < mid || mid < low {
        return Some(Err(DamonError::InvalidScheme("watermarks must be high >= mid >= low")));
    }
    let scheme = Scheme { quota, wmarks, ..Scheme::new(pattern, *action) };
    Some(scheme.validate().map(|()| scheme))
}

/// Which statistics a line has at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatsVersion {
    /// Number of times that a scheme was tried, and of bytes.
    V0,
    /// Also where it worked, and how often the quota was used up: from Linux 5.17 on.
    V1,
}

/// A scheme as a line: its 18 numbers, then what became of it. An action that this interface does
/// not know is -22.
pub fn scheme_line(s: &Scheme, stats: StatsVersion) -> String {
    let (p, q, w, stat) = (&s.pattern, &s.quota, &s.wmarks, s.stat());
    let action = ACTIONS.iter().position(|a| *a == s.action).map_or(-22, |i| i as i32);
    let metric = u32::from(w.metric == WmarkMetric::FreeMemRate);
    let mut line = format!(
        "{} {} {} {} {} {} {action} {} {} {} {} {} {} {metric} {} {} {} {}",
        p.sz_region.start(),
        p.sz_region.end(),
        p.nr_accesses.start(),
        p.nr_accesses.end(),
        p.age_region.start(),
        p.age_region.end(),
        q.ms,
        q.sz,
        q.reset_interval_ms,
        q.weight_sz,
        q.weight_nr_accesses,
        q.weight_age,
        w.interval_us,
        w.high,
        w.mid,
        w.low,
    );
    let _ = write!(line, " {} {}", stat.nr_tried, stat.sz_tried);
    if stats == StatsVersion::V1 {
        let _ = write!(line, " {} {} {}", stat.nr_applied, stat.sz_applied, stat.qt_exceeds);
    }
    line.push('\n');
    line
}

impl Context {
    /// First regions of the targets from lines `target start end`, which need not be sorted by
    /// target.
    ///
    /// # Errors
    /// [`DamonError::Busy`] while it runs. An unknown target, a range that is empty or begins before
    /// the one before it in the same target ends: no target has any region then.
    pub fn init_regions(&mut self, text: &str) -> Result<(), DamonError> {
        self.stopped()?;
        self.targets.iter_mut().for_each(|t| t.regions.clear());
        let mut s = Scanner(text);
        while let (Some(target), Some(start), Some(end)) =
            (s.next::<i32>(), s.next::<u64>(), s.next::<u64>())
        {
            if let Err(e) = self.add_init_region(target, start, end) {
                self.targets.iter_mut().for_each(|t| t.regions.clear());
                return Err(e);
            }
        }
        Ok(())
    }

    fn add_init_region(&mut self, target: i32, start: u64, end: u64) -> Result<(), DamonError> {
        let index = usize::try_from(target).ok();
        let target = index.and_then(|i| self.targets.get_mut(i));
        let target = target.ok_or(DamonError::NoSuchTarget)?;
        let last_end = target.regions.last().map_or(0, |r| r.end);
        if start >= end || start < last_end {
            return Err(DamonError::InvalidRange);
        }
        target.regions.push(Region::new(start, end));
        Ok(())
    }

    /// The first regions, a line `target start end` for each.
    ///
    /// # Errors
    /// [`DamonError::Busy`] while it runs.
    pub fn init_regions_lines(&self) -> Result<String, DamonError> {
        self.stopped()?;
        let mut lines = String::new();
        for (i, t) in self.targets.iter().enumerate() {
            for r in &t.regions {
                let _ = writeln!(lines, "{i} {} {}", r.start, r.end);
            }
        }
        Ok(lines)
    }
}
