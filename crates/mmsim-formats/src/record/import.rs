//! A record as accesses: work that DAMON would see again as it saw it.
//!
//! Of a region with `n` accesses in a window of `w` samples, DAMON found the page that it looked at
//! accessed in `n` of `w` sampling intervals, and took all pages of the region for alike. So a snapshot
//! is cut into `w` equal slots, `n` of them spread evenly, and in each of these every page of the
//! region is written once, in order of address. A monitor of the same intervals then finds `n` again,
//! wherever its samples lie within the slots. Slot `i` of 0 to `w - 1` is one of the `n` if
//! `i n mod w < n`; the first always is.
//!
//! Memory without an access is there as well, since it is what users look for: every page of a
//! region is written once where its addresses appear first. For the regions of the first snapshot
//! that is a time before the record begins, long enough for the faults. `touched_only` leaves this
//! out.
//!
//! What a record cannot say is assumed, and the trace repeats it: that all accesses write, that pages
//! of a region are alike, and that all of a region is mapped.

use std::io::{self, Read};

use super::{Intervals, Record, Snapshot};

/// Samples in an aggregation where the record does not say it: those of the default intervals.
const WINDOW: u64 = 20;

/// Time that one fault is given before the record begins, in ns: a fault on new memory takes less.
const FAULT_NS: u64 = 1000;
/// Bytes of a page.
const PAGE: u64 = 4096;

/// The accesses as comma-separated values, which the import of such values reads, and what is
/// assumed. Times are ns since the trace begins; each target is a process. With `touched_only`, memory
/// that showed no access is left out.
pub fn accesses(mut records: Vec<Record>, touched_only: bool) -> (impl Read + Send, Vec<String>) {
    // Regions of schemes are a part of all, so they count only where there is nothing else.
    if records.iter().any(|r| r.scheme_idx.is_none()) {
        records.retain(|r| r.scheme_idx.is_none());
    }
    let windows: Vec<u64> = records.iter().map(window).collect();
    let clipped = records.iter().zip(&windows).any(|(r, &w)| {
        r.snapshots.iter().flat_map(|s| &s.regions).any(|x| u64::from(x.nr_accesses) > w)
    });
    let origin = records.iter().filter_map(|r| r.snapshots.first()).map(|s| s.start_ns).min();
    let mut assumed = vec![
        "each page of a region is written once in as many sampling intervals as showed accesses, \
         spread evenly over the aggregation"
            .to_string(),
    ];
    let lead_ns = if touched_only { 0 } else { lead(&records) };
    assumed.push(if touched_only {
        "memory that showed no access in any snapshot is not mapped".to_string()
    } else {
        format!(
            "each page of a region is written when it appears first, whether it showed an access or \
             not; the record begins after {} ms for that",
            lead_ns / 1_000_000
        )
    });
    if records.iter().any(|r| r.intervals.is_none()) {
        assumed.push(format!("an aggregation has {WINDOW} samples: the record does not say it"));
    }
    if clipped {
        assumed.push("counts above the samples of an aggregation are taken for these".to_string());
    }
    let mut order: Vec<(usize, usize)> = (0..records.len())
        .flat_map(|r| (0..records[r].snapshots.len()).map(move |s| (r, s)))
        .collect();
    order.sort_by_key(|&(r, s)| records[r].snapshots[s].start_ns);
    let mut head = "time,pid,address,size,op\n".to_string();
    let mut known: Vec<Ranges> = records.iter().map(|_| Ranges::default()).collect();
    if !touched_only {
        for (pid, (record, known)) in records.iter().zip(&mut known).enumerate() {
            let first = record.snapshots.first().map_or(&[][..], |s| &s.regions);
            first.iter().for_each(|r| known.populate(0, pid, r.start, r.end, &mut head));
        }
    }
    let chunks = order.into_iter().map(move |(r, s)| {
        let snapshot = &records[r].snapshots[s];
        let start = snapshot.start_ns.saturating_sub(origin.unwrap_or(0)) + lead_ns;
        let mut out = String::new();
        if !touched_only {
            for region in &snapshot.regions {
                known[r].populate(start, r, region.start, region.end, &mut out);
            }
        }
        lines(snapshot, windows[r], r, start, &mut out);
        out
    });
    (Chunks::new(std::iter::once(head).chain(chunks)), assumed)
}

fn window(record: &Record) -> u64 {
    record.intervals.as_ref().map_or(WINDOW, Intervals::window)
}

/// True if slot `i` of `w` is one of `n`.
fn touched(i: u64, n: u64, w: u64) -> bool {
    let n = u128::from(n.min(w));
    u128::from(i) * n % u128::from(w) < n
}

/// Time for the pages of all first snapshots, in whole aggregations.
fn lead(records: &[Record]) -> u64 {
    let firsts = records.iter().filter_map(|r| r.snapshots.first());
    let pages: u64 = firsts.flat_map(|s| &s.regions).map(|r| r.size().div_ceil(PAGE)).sum();
    let lengths = records.iter().flat_map(|r| &r.snapshots).map(Snapshot::length_ns);
    let aggregation = lengths.filter(|&ns| ns > 0).min().unwrap_or(100_000_000);
    pages.saturating_mul(FAULT_NS).div_ceil(aggregation).saturating_mul(aggregation)
}

/// Addresses that have appeared, as ranges in order that do not touch.
#[derive(Default)]
struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Adds addresses and writes each page of what is new among them.
    fn populate(&mut self, time: u64, pid: usize, start: u64, end: u64, out: &mut String) {
        use std::fmt::Write as _;
        // Those that overlap the new one or touch it.
        let from = self.0.partition_point(|r| r.1 < start);
        let to = self.0.partition_point(|r| r.0 <= end);
        let mut at = start;
        let (mut low, mut high) = (start, end);
        for &(known_start, known_end) in &self.0[from..to] {
            if at < known_start {
                // Writing into a string cannot fail.
                let _ = writeln!(out, "{time},{pid},{at},{},W", known_start - at);
            }
            at = at.max(known_end);
            (low, high) = (low.min(known_start), high.max(known_end));
        }
        if at < end {
            let _ = writeln!(out, "{time},{pid},{at},{},W", end - at);
        }
        self.0.splice(from..to, [(low, high)]);
    }
}

/// The accesses of a snapshot that begins at `start` ns.
fn lines(snapshot: &Snapshot, window: u64, pid: usize, start: u64, out: &mut String) {
    use std::fmt::Write as _;
    let length = u128::from(snapshot.length_ns());
    let hot: Vec<_> = snapshot.regions.iter().filter(|r| r.nr_accesses > 0).collect();
    for i in 0..window {
        let time = start + (length * u128::from(i) / u128::from(window)) as u64;
        for region in hot.iter().filter(|r| touched(i, r.nr_accesses.into(), window)) {
            // Writing into a string cannot fail.
            let _ = writeln!(out, "{time},{pid},{},{},W", region.start, region.size());
        }
    }
}

/// Texts one after the other.
pub(crate) struct Chunks<I> {
    chunks: I,
    now: Vec<u8>,
    at: usize,
}

impl<I: Iterator<Item = String>> Chunks<I> {
    pub(crate) fn new(chunks: I) -> Chunks<I> {
        Chunks { chunks, now: Vec::new(), at: 0 }
    }
}

impl<I: Iterator<Item = String>> Read for Chunks<I> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.at == self.now.len() {
            let Some(next) = self.chunks.next() else { return Ok(0) };
            (self.now, self.at) = (next.into_bytes(), 0);
        }
        let n = buf.len().min(self.now.len() - self.at);
        buf[..n].copy_from_slice(&self.now[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Region;

    #[test]
    fn slots_are_as_many_as_accesses_and_spread() {
        for w in 1..=30 {
            for n in 0..=w + 2 {
                let slots: Vec<u64> = (0..w).filter(|&i| touched(i, n, w)).collect();
                assert_eq!(slots.len() as u64, n.min(w));
                let gaps: Vec<u64> = slots.windows(2).map(|p| p[1] - p[0]).collect();
                let even = |g: &u64| (w / n.max(1)..=w.div_ceil(n.max(1))).contains(g);
                assert!(n > w || gaps.iter().all(even), "{n} of {w}: {slots:?}");
            }
        }
    }

    #[test]
    fn a_region_is_written_once_a_slot() {
        let region = |start, end, nr_accesses| Region { start, end, nr_accesses, age: None };
        let regions = vec![region(4096, 12288, 2), region(12288, 20480, 0)];
        let later = vec![region(0, 8192, 0), region(12288, 28672, 0)];
        let snapshots = vec![
            Snapshot { start_ns: 100, end_ns: 500, regions },
            Snapshot { start_ns: 500, end_ns: 900, regions: later },
        ];
        let intervals = Some(Intervals { sample_us: 5, aggr_us: 20, ops_update_us: 0 });
        let record = Record { snapshots, intervals, ..Record::default() };
        let text_of = |touched_only| {
            let (mut read, assumed) = accesses(vec![record.clone()], touched_only);
            let mut text = String::new();
            read.read_to_string(&mut text).unwrap();
            assert_eq!(assumed.len(), 2);
            text
        };
        let head = "time,pid,address,size,op\n";
        assert_eq!(text_of(true), format!("{head}0,0,4096,8192,W\n200,0,4096,8192,W\n"));
        // Four pages take 4 us, which are ten aggregations; then what is new in the second.
        assert_eq!(
            text_of(false),
            format!(
                "{head}0,0,4096,8192,W\n0,0,12288,8192,W\n\
                 4000,0,4096,8192,W\n4200,0,4096,8192,W\n\
                 4400,0,0,4096,W\n4400,0,20480,8192,W\n"
            )
        );
    }

    #[test]
    fn what_appeared_is_written_once() {
        let mut ranges = Ranges::default();
        let mut written = |start, end| {
            let mut out = String::new();
            ranges.populate(0, 0, start, end, &mut out);
            out.lines()
                .map(|l| l.trim_start_matches("0,0,").trim_end_matches(",W").to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(written(10, 20), ["10,10"]);
        assert_eq!(written(30, 40), ["30,10"]);
        assert_eq!(written(5, 45), ["5,5", "20,10", "40,5"]);
        assert_eq!(written(5, 45), Vec::<String>::new());
        assert_eq!(written(45, 50), ["45,5"]);
        assert_eq!(ranges.0, [(5, 50)]);
    }
}
