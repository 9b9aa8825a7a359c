//! A record as accesses: work that DAMON would see again as it saw it.
//!
//! Of a region with `n` accesses in a window of `w` samples, DAMON found the page that it looked at
//! accessed in `n` of `w` sampling intervals, and took all pages of the region for alike. So a snapshot
//! is cut into `w` equal slots, `n` of them spread evenly, and in each of these every page of the
//! region is written once, in order of address. A monitor of the same intervals then finds `n` again,
//! wherever its samples lie within the slots. Slot `i` of 0 to `w - 1` is one of the `n` if
//! `i n mod w < n`; the first always is.
//!
//! What a record cannot say is assumed, and the trace repeats it: that all accesses write, that pages
//! of a region are alike, and that what never showed an access is not mapped.

use std::io::{self, Read};

use super::{Intervals, Record, Snapshot};

/// Samples in an aggregation where the record does not say it: those of the default intervals.
const WINDOW: u64 = 20;

/// The accesses as comma-separated values, which the import of such values reads, and what is
/// assumed. Times are ns since the record began; each target is a process.
pub fn accesses(records: &[Record]) -> (impl Read + Send, Vec<String>) {
    let own: Vec<Record> = records.iter().filter(|r| r.scheme_idx.is_none()).cloned().collect();
    // Regions of schemes are a part of all, so they count only where there is nothing else.
    let records = if own.is_empty() { records.to_vec() } else { own };
    let windows: Vec<u64> = records.iter().map(window).collect();
    let clipped = records.iter().zip(&windows).any(|(r, &w)| {
        r.snapshots.iter().flat_map(|s| &s.regions).any(|x| u64::from(x.nr_accesses) > w)
    });
    let origin = records.iter().filter_map(|r| r.snapshots.first()).map(|s| s.start_ns).min();
    let mut assumed = vec![
        "each page of a region is written once in as many sampling intervals as showed accesses, \
         spread evenly over the aggregation"
            .to_string(),
        "memory that showed no access in any snapshot is not mapped".to_string(),
    ];
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
    let head = "time,pid,address,size,op\n".to_string();
    let chunks = order
        .into_iter()
        .map(move |(r, s)| lines(&records[r].snapshots[s], windows[r], r, origin.unwrap_or(0)));
    (Chunks { chunks: std::iter::once(head).chain(chunks), now: Vec::new(), at: 0 }, assumed)
}

fn window(record: &Record) -> u64 {
    record.intervals.as_ref().map_or(WINDOW, Intervals::window)
}

/// Whether slot `i` of `w` is one of `n`.
fn touched(i: u64, n: u64, w: u64) -> bool {
    let n = u128::from(n.min(w));
    u128::from(i) * n % u128::from(w) < n
}

fn lines(snapshot: &Snapshot, window: u64, pid: usize, origin: u64) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    let length = u128::from(snapshot.length_ns());
    let hot: Vec<_> = snapshot.regions.iter().filter(|r| r.nr_accesses > 0).collect();
    if hot.is_empty() {
        return out;
    }
    for i in 0..window {
        let time = snapshot.start_ns.saturating_sub(origin)
            + (length * u128::from(i) / u128::from(window)) as u64;
        for region in hot.iter().filter(|r| touched(i, r.nr_accesses.into(), window)) {
            // Writing into a string cannot fail.
            let _ = writeln!(out, "{time},{pid},{},{},W", region.start, region.size());
        }
    }
    out
}

/// Texts one after the other.
struct Chunks<I> {
    chunks: I,
    now: Vec<u8>,
    at: usize,
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
        let snapshots = vec![Snapshot { start_ns: 100, end_ns: 500, regions }];
        let intervals = Some(Intervals { sample_us: 5, aggr_us: 20, ops_update_us: 0 });
        let records = [Record { snapshots, intervals, ..Record::default() }];
        let (mut read, assumed) = accesses(&records);
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        let expected = "time,pid,address,size,op\n0,0,4096,8192,W\n200,0,4096,8192,W\n";
        assert_eq!(text, expected);
        assert_eq!(assumed.len(), 2);
    }
}
