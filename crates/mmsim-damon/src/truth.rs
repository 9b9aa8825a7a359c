//! Accuracy of a record: a monitor that looks at every page at every sample, at no cost.
//!
//! What DAMON says of a region it says of all its pages, and it looked at one of them at a time. The
//! truth is what it would have counted had it looked at all: for each page the sampling intervals of an
//! aggregation in which it was accessed. Here a run is made again without DAMON, and at the instants at
//! which DAMON's record has a snapshot both are compared, page by page.
//!
//! The truth is found by clearing accessed bits, as DAMON does, so it stands in the way of reclaim as
//! DAMON does; it takes no time, where DAMON takes some, so a workload that minds may be a little
//! ahead.

use crate::region::Region;
use crate::watch::Snapshot;
use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::{AsId, PageIdx};
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::memory::Memory;
use mmsim_core::policy::monitor::{Doors, Monitor, Next};
use mmsim_core::virt::pages::pte;
use mmsim_core::workload::Note;

const PAGE_SHIFT: u32 = 12;

/// Accuracy of a record.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Truth {
    /// Snapshots that were compared.
    pub snapshots: u64,
    /// Pages, summed over snapshots.
    pub pages: u64,
    /// Differences in samples of all these pages, relative to the samples of an aggregation.
    pub misjudged: f64,
    /// The part of `misjudged` that the record rates higher than it was.
    pub overrated: f64,
    /// Pages with an access, and pages in regions said to have one, summed over snapshots.
    pub working_set: (u64, u64),
    /// Pages whose being in the working set was misjudged, summed over snapshots.
    pub working_set_wrong: u64,
    /// Pages of the smallest region that was rightly said to be accessed in four of five samples: half
    /// of its pages were, at least. 0: there was none.
    pub smallest_hot: u64,
}

impl Truth {
    /// Compares the record of a region with the truth of its pages: samples with an access.
    pub fn compare(&mut self, region: &Region, window: u32, pages: &[u16]) {
        let said = region.nr_accesses.min(window);
        let (window, hot) = (window.max(1), (window * 4).div_ceil(5).max(1));
        let mut truly_hot = 0u64;
        for &was in pages {
            let was = u32::from(was).min(window);
            let wrong = f64::from(said.abs_diff(was)) / f64::from(window);
            self.misjudged += wrong;
            if said > was {
                self.overrated += wrong;
            }
            self.working_set.0 += u64::from(was > 0);
            self.working_set.1 += u64::from(said > 0);
            self.working_set_wrong += u64::from((was > 0) != (said > 0));
            truly_hot += u64::from(was >= hot);
        }
        let n = pages.len() as u64;
        self.pages += n;
        if said >= hot && truly_hot * 2 >= n && (self.smallest_hot == 0 || n < self.smallest_hot) {
            self.smallest_hot = n;
        }
    }
}

/// True accesses of pages, over pieces of memory and of time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TruthMap {
    /// First page of the first piece.
    pub first: u64,
    /// Pages of a piece; the last may have less.
    pub piece: u64,
    /// All pages.
    pub pages: u64,
    /// For each time its end and, piece by piece, the samples with an access, summed over pages and
    /// over the snapshots that fall into it.
    pub rows: Vec<(SimTime, Vec<u64>)>,
    /// Snapshots that a full row is the sum of.
    pub folded: u64,
    /// Snapshots that the last row is the sum of.
    pub last: u64,
}

impl TruthMap {
    /// Pieces of memory, at most.
    const PIECES: u64 = 256;
    /// Pieces of time, at most.
    const ROWS: usize = 512;

    fn new(first: u64, pages: u64) -> TruthMap {
        let piece = pages.div_ceil(TruthMap::PIECES).max(1);
        TruthMap { first, piece, pages, folded: 1, ..TruthMap::default() }
    }

    /// Adds the samples of all pages up to a time, of each page a window's at most: an aggregation
    /// during which a scheme takes time is longer.
    fn add(&mut self, at: SimTime, counts: &[u16], window: u32) {
        let of = |&n: &u16| u64::from(n).min(u64::from(window));
        let sums = counts.chunks(self.piece as usize).map(|c| c.iter().map(of).sum());
        let sums: Vec<u64> = sums.collect();
        match self.rows.last_mut() {
            Some((end, row)) if self.last < self.folded => {
                row.iter_mut().zip(&sums).for_each(|(sum, n)| *sum += n);
                (*end, self.last) = (at, self.last + 1);
            }
            _ => {
                self.rows.push((at, sums));
                self.last = 1;
            }
        }
        if self.rows.len() > TruthMap::ROWS {
            self.fold();
        }
    }

    /// Puts two rows each together.
    fn fold(&mut self) {
        let odd = self.rows.len() % 2 == 1;
        let mut all = std::mem::take(&mut self.rows).into_iter();
        while let Some((mut end, mut row)) = all.next() {
            if let Some((later, second)) = all.next() {
                row.iter_mut().zip(&second).for_each(|(sum, n)| *sum += n);
                end = later;
            }
            self.rows.push((end, row));
        }
        self.last += if odd { 0 } else { self.folded };
        self.folded *= 2;
    }
}

/// A monitor that looks at every page of a process that a record speaks of.
#[derive(Debug)]
pub struct Oracle {
    space: AsId,
    sample: SimDuration,
    window: u32,
    /// Snapshots to come, the next last.
    record: Vec<Snapshot>,
    /// The range that is watched, in pages, and the accesses of its pages since the last snapshot.
    first: u64,
    counts: Vec<u16>,
    next_sample: SimTime,
    truth: Truth,
    map: TruthMap,
}

impl Oracle {
    /// Holds the truth about a process against a record of it. `sample`: between two samples;
    /// `window`: samples of an aggregation.
    pub fn new(space: AsId, sample: SimDuration, window: u32, record: &[Snapshot]) -> Oracle {
        let regions = || record.iter().flat_map(|s| &s.regions);
        let first = regions().map(|r| r.start >> PAGE_SHIFT).min().unwrap_or(0);
        let end = regions().map(|r| r.end >> PAGE_SHIFT).max().unwrap_or(0);
        Oracle {
            space,
            sample,
            window,
            record: record.iter().rev().cloned().collect(),
            first,
            counts: vec![0; (end - first) as usize],
            next_sample: SimTime::ZERO,
            truth: Truth::default(),
            map: TruthMap::new(first, end - first),
        }
    }

    /// The accuracy so far.
    pub fn truth(&self) -> &Truth {
        &self.truth
    }

    /// The same, place by place.
    pub fn map(&self) -> &TruthMap {
        &self.map
    }

    /// Counts and clears the accessed bits of all pages.
    fn sample(&mut self, mem: &mut Memory) {
        let mut at = 0;
        while at < self.counts.len() {
            // Pages of one table lie one behind the other.
            let va = self.first + at as u64;
            let table = (512 - va % 512).min((self.counts.len() - at) as u64);
            if let Some(PageIdx(p)) = mem.virt.spaces.page_at(self.space, va) {
                for i in 0..table {
                    let young = mem.virt.pages.test_clear_hot(PageIdx(p + i as u32), pte::YOUNG);
                    self.counts[at + i as usize] += u16::from(young);
                }
            }
            at += table as usize;
        }
    }

    fn compare(&mut self, snapshot: &Snapshot) {
        for r in &snapshot.regions {
            let of = |address: u64| ((address >> PAGE_SHIFT) - self.first) as usize;
            self.truth.compare(r, self.window, &self.counts[of(r.start)..of(r.end)]);
        }
        self.truth.snapshots += 1;
        self.map.add(snapshot.at, &self.counts, self.window);
        self.counts.fill(0);
    }
}

impl Monitor for Oracle {
    fn step(&mut self, doors: &mut dyn Doors) -> Next {
        let (mem, _) = doors.parts();
        let now = mem.acting.now;
        if mem.virt.spaces[self.space].dead {
            return Next::Exit;
        }
        // The end of an aggregation is the end of its last sample.
        let ends = self.record.last().is_some_and(|s| s.at <= now);
        if ends || now >= self.next_sample {
            self.sample(mem);
            if self.next_sample == SimTime::ZERO {
                // Accesses before the first sample belong to no window.
                self.counts.fill(0);
            }
            self.next_sample = now + self.sample;
        }
        if ends && let Some(snapshot) = self.record.pop() {
            self.compare(&snapshot);
        }
        match self.record.last() {
            Some(next) => Next::Sleep(self.next_sample.min(next.at)),
            None => Next::Exit,
        }
    }

    fn request_note(&mut self, _what: Note) {}

    fn notes(&self) -> u64 {
        0
    }

    fn digest(&self, d: &mut Digest) {
        d.words([self.truth.pages, self.truth.snapshots]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the number of snapshots, all samples are in the rows, and full rows are of as many
    /// snapshots.
    #[test]
    fn rows_are_folded_and_lose_nothing() {
        for snapshots in [1_u64, 511, 512, 513, 1024, 1025, 3000] {
            let mut map = TruthMap::new(7, 300);
            assert_eq!(map.piece, 2);
            let mut counts = vec![0_u16; 300];
            for i in 0..snapshots {
                counts[(i % 300) as usize] = 1;
                map.add(SimTime(i + 1), &counts, 20);
                counts.fill(0);
            }
            let all: u64 = map.rows.iter().flat_map(|r| &r.1).sum();
            assert_eq!(all, snapshots);
            assert!(map.rows.len() <= 512);
            let (full, last) = map.rows.split_at(map.rows.len() - 1);
            assert!(full.iter().all(|r| r.1.iter().sum::<u64>() == map.folded), "{snapshots}");
            assert_eq!(last[0].1.iter().sum::<u64>(), map.last, "{snapshots}");
            assert_eq!(last[0].0, SimTime(snapshots));
        }
    }

    /// Worked by hand: four pages, said to be accessed in 16 of 20 samples, of which two were in 20,
    /// one in 8 and one in none.
    #[test]
    fn a_region_beside_its_pages() {
        let mut truth = Truth::default();
        let region = Region { nr_accesses: 16, ..Region::new(0, 4 << PAGE_SHIFT) };
        truth.compare(&region, 20, &[20, 20, 8, 0]);
        assert_eq!(truth.pages, 4);
        assert!((truth.misjudged - (0.2 + 0.2 + 0.4 + 0.8)).abs() < 1e-12, "{truth:?}");
        assert!((truth.overrated - (0.4 + 0.8)).abs() < 1e-12, "{truth:?}");
        assert_eq!((truth.working_set, truth.working_set_wrong), ((3, 4), 1));
        // Half of it is hot, which will do.
        assert_eq!(truth.smallest_hot, 4);
        // A smaller one that is not hot does not count.
        let region = Region { nr_accesses: 20, ..Region::new(0, 2 << PAGE_SHIFT) };
        truth.compare(&region, 20, &[0, 1]);
        assert_eq!(truth.smallest_hot, 4);
    }
}
