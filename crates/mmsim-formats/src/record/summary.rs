//! Summary of a record in a few figures: regions of a snapshot, sizes of the working set, and
//! violations of the monitor's promises.
//!
//! The *working set size* of a snapshot is the bytes of its regions with at least one access. The first
//! [`SKIPPED`] snapshots are left out: regions begin as a guess and need some aggregations to
//! find what is used alike.
//!
//! A record is *valid* if at most 2 % of its snapshots are shorter or longer than an aggregation by
//! more than a quarter, at most 2 % have fewer than 3 or more than 1200 regions, and no region has more
//! accesses than 1.2 times the samples of an aggregation. With the default intervals these are the 75 to
//! 125 ms and 0 to 24 accesses of DAMON's functional tests and of `damo validate`; they are taken
//! where a record does not tell its intervals.

use serde::Serialize;

use super::{Intervals, Record, Region, Snapshot};
use mmsim_base::error::{Error, ErrorKind};

/// Snapshots at the beginning that the working set is not asked of.
pub const SKIPPED: usize = 20;
/// Shares of snapshots, in per cent, for which a working set size is printed.
const PERCENTILES: [usize; 7] = [0, 10, 25, 50, 75, 90, 100];
/// Regions that a snapshot may have.
const REGIONS: (usize, usize) = (3, 1200);
/// Default intervals of a monitor.
const DEFAULT: Intervals =
    Intervals { sample_us: 5_000, aggr_us: 100_000, ops_update_us: 1_000_000 };

/// Summary of one record.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Which kernel thread.
    pub kdamond_idx: u32,
    /// Which of its contexts.
    pub context_idx: u32,
    /// Which scheme, if regions are those that one was applied to.
    pub scheme_idx: Option<u32>,
    /// Which target.
    pub target_id: u64,
    /// Time between two samples in µs, if it is known.
    pub sample_us: Option<u64>,
    /// Time of an aggregation in µs, if it is known.
    pub aggr_us: Option<u64>,
    /// Number of snapshots.
    pub snapshots: usize,
    /// When the first began.
    pub start_ns: u64,
    /// When the last ended.
    pub end_ns: u64,
    /// The requested snapshot.
    pub snapshot: Shown,
    /// The working set over the snapshots; none if there are no more than are left out.
    pub working_set: Option<WorkingSet>,
    /// Check of its snapshots.
    pub validity: Validity,
}

/// One snapshot.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Shown {
    /// Which, from 1.
    pub number: usize,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Bytes of regions with an access.
    pub working_set_bytes: u64,
    /// Its regions.
    pub regions: Vec<RegionShown>,
}

/// A region of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct RegionShown {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Samples with an access.
    pub nr_accesses: u32,
    /// Aggregations since it changed, if known.
    pub age: Option<u32>,
}

/// Sizes of the working set over snapshots, in bytes.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct WorkingSet {
    /// Snapshots at the beginning that were left out.
    pub skipped: usize,
    /// Snapshots that were taken.
    pub snapshots: usize,
    /// Their mean.
    pub mean_bytes: u64,
    /// Per cent of snapshots, and the size that they do not exceed.
    pub percentiles: Vec<(usize, u64)>,
}

impl WorkingSet {
    /// Working set of some snapshots from its sizes; `None` if there are none.
    pub fn new(skipped: usize, mut sizes: Vec<u64>) -> Option<WorkingSet> {
        sizes.sort_unstable();
        if sizes.is_empty() {
            return None;
        }
        let sum: u128 = sizes.iter().map(|&s| u128::from(s)).sum();
        let at = |p: usize| (p, percentile(&sizes, p));
        Some(WorkingSet {
            skipped,
            snapshots: sizes.len(),
            mean_bytes: (sum / sizes.len() as u128) as u64,
            percentiles: PERCENTILES.map(at).to_vec(),
        })
    }

    /// The size that half of the snapshots are at most at.
    pub fn median(&self) -> u64 {
        self.percentiles.iter().find(|p| p.0 == 50).map_or(0, |p| p.1)
    }
}

/// The size that this percentage of some sizes, the smallest first, does not exceed. Panics if
/// there are none.
pub fn percentile(sorted: &[u64], per_cent: usize) -> u64 {
    sorted[(sorted.len() * per_cent / 100).min(sorted.len() - 1)]
}

/// Numbers of invalid snapshots.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Validity {
    /// True if the record is valid.
    pub valid: bool,
    /// Snapshots that may be otherwise, of lengths and of numbers of regions.
    pub may: usize,
    /// Snapshots of another length than `length_us`.
    pub other_length: usize,
    /// From and to, in µs.
    pub length_us: (u64, u64),
    /// Snapshots with another number of regions than `nr_regions`.
    pub other_nr_regions: usize,
    /// From and to.
    pub nr_regions: (usize, usize),
    /// The largest number of accesses.
    pub max_nr_accesses: u32,
    /// Largest valid value.
    pub max_nr_accesses_allowed: u64,
}

/// Bytes of a snapshot that were accessed.
pub fn working_set(snapshot: &Snapshot) -> u64 {
    let accessed = snapshot.regions.iter().filter(|r| r.nr_accesses > 0);
    accessed.map(Region::size).fold(0, u64::saturating_add)
}

/// The working set of a record without its first snapshots.
pub fn working_sets(record: &Record) -> Option<WorkingSet> {
    let sizes = record.snapshots.iter().skip(SKIPPED).map(working_set).collect();
    WorkingSet::new(SKIPPED, sizes)
}

/// Checks the snapshots of a record.
pub fn validate(record: &Record) -> Validity {
    let intervals = record.intervals.unwrap_or(DEFAULT);
    let length_us = (intervals.aggr_us / 4 * 3, intervals.aggr_us.saturating_mul(5) / 4);
    let max_nr_accesses_allowed = intervals.window().saturating_mul(6) / 5;
    let count =
        |wrong: &dyn Fn(&Snapshot) -> bool| record.snapshots.iter().filter(|&s| wrong(s)).count();
    let other_length = count(&|s| {
        s.length_ns() < length_us.0 * 1000 || s.length_ns() > length_us.1.saturating_mul(1000)
    });
    let other_nr_regions = count(&|s| !(REGIONS.0..=REGIONS.1).contains(&s.regions.len()));
    let all = record.snapshots.iter().flat_map(|s| &s.regions);
    let max_nr_accesses = all.map(|r| r.nr_accesses).max().unwrap_or(0);
    let may = record.snapshots.len() * 2 / 100;
    Validity {
        valid: other_length <= may
            && other_nr_regions <= may
            && u64::from(max_nr_accesses) <= max_nr_accesses_allowed,
        may,
        other_length,
        length_us,
        other_nr_regions,
        nr_regions: REGIONS,
        max_nr_accesses,
        max_nr_accesses_allowed,
    }
}

/// Sums a record up, with its snapshot of this number, from 1; none: the last.
///
/// # Errors
///
/// There is no snapshot of the number, or none at all.
pub fn summary(record: &Record, number: Option<usize>) -> Result<Summary, Error> {
    let nr = record.snapshots.len();
    let number = number.unwrap_or(nr);
    let Some(shown) = number.checked_sub(1).and_then(|i| record.snapshots.get(i)) else {
        let title = format!(
            "--snapshot: target {} has no snapshot {number}, write one from 1 to {nr}",
            record.target_id
        );
        return Err(Error::new(ErrorKind::Option, title));
    };
    let region = |r: &Region| RegionShown {
        start: r.start,
        end: r.end,
        nr_accesses: r.nr_accesses,
        age: r.age,
    };
    Ok(Summary {
        kdamond_idx: record.kdamond_idx,
        context_idx: record.context_idx,
        scheme_idx: record.scheme_idx,
        target_id: record.target_id,
        sample_us: record.intervals.map(|i| i.sample_us),
        aggr_us: record.intervals.map(|i| i.aggr_us),
        snapshots: nr,
        start_ns: record.snapshots[0].start_ns,
        end_ns: record.snapshots[nr - 1].end_ns,
        snapshot: Shown {
            number,
            start_ns: shown.start_ns,
            end_ns: shown.end_ns,
            working_set_bytes: working_set(shown),
            regions: shown.regions.iter().map(region).collect(),
        },
        working_set: working_sets(record),
        validity: validate(record),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(i: u64, bytes: u64) -> Snapshot {
        let region = |start: u64, end, nr_accesses| Region { start, end, nr_accesses, age: None };
        Snapshot {
            start_ns: i * 100_000_000,
            end_ns: (i + 1) * 100_000_000,
            regions: vec![region(0, bytes, 20), region(bytes, 5000, 0), region(5000, 5001, 0)],
        }
    }

    /// 30 snapshots of 1, 2, .. bytes; of the last ten, 21 to 30, half are at most at 26.
    #[test]
    fn working_sets_are_of_what_was_accessed_later() {
        let snapshots = (0..30).map(|i| snapshot(i, i + 1)).collect();
        let record = Record { snapshots, ..Record::default() };
        let set = working_sets(&record).unwrap();
        assert_eq!((set.snapshots, set.mean_bytes, set.median()), (10, 25, 26));
        assert_eq!(set.percentiles[0], (0, 21));
        assert_eq!(set.percentiles[6], (100, 30));
        assert_eq!(working_sets(&Record::default()), None);
        assert!(
            summary(&record, Some(31)).unwrap_err().title().ends_with("write one from 1 to 30")
        );
        assert!(summary(&Record::default(), None).is_err());
    }

    /// A hundred snapshots may have two that are longer, but not three; and no region may have 25
    /// accesses.
    #[test]
    fn the_rule() {
        let snapshots: Vec<Snapshot> = (0..100).map(|i| snapshot(i, 9)).collect();
        let mut record = Record { snapshots, ..Record::default() };
        assert!(validate(&record).valid);
        for (i, valid) in [(3, true), (4, true), (5, false)] {
            record.snapshots[i].start_ns = record.snapshots[i].end_ns - 125_000_001;
            assert_eq!(validate(&record).valid, valid);
        }
        record.snapshots[5].start_ns = record.snapshots[5].end_ns - 75_000_000;
        assert!(validate(&record).valid);
        record.snapshots[7].regions[0].nr_accesses = 25;
        assert!(!validate(&record).valid);
        record.intervals = Some(Intervals { sample_us: 4_000, ..DEFAULT });
        assert!(validate(&record).valid, "25 samples of 4 ms");
    }
}
