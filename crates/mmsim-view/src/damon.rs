//! Picture of a monitor of accesses: its view over addresses and time, the places where its schemes
//! were applied, and the true accesses of the pages.
//!
//! All of it has the cells of one [`Heatmap`], so that the record and the truth can be compared
//! cell by cell. A record of any length takes the same room: a cell is a mean, or a sum of bytes.

use std::collections::BTreeMap;

use mmsim::record::heatmap::{self, Frame, Heatmap, Piece};
use mmsim::record::{self, Record};
use mmsim::report::{DamonReport, Monitored};

/// Bytes of a page.
const PAGE: u64 = 4096;

/// View of a monitor on one target.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Picture {
    /// The monitor, as its run's report has it.
    pub report: DamonReport,
    /// The target's number, where the monitor has several.
    pub target: Option<usize>,
    /// Samples of an aggregation: the most that `nr_accesses` can be.
    pub window: u32,
    /// Snapshots of the target.
    pub snapshots: u64,
    /// Mean `nr_accesses`.
    pub said: Heatmap,
    /// The mean of what the same number would have been, had every page been looked at.
    pub truth: Option<Vec<Vec<Option<f64>>>>,
    /// Row, column, scheme, and the bytes that it was applied to there.
    pub applied: Vec<(usize, usize, usize, u64)>,
}

/// Fineness of the drawing of `nr_runs` runs: pieces of time, and of memory.
pub fn fineness(nr_runs: usize) -> (usize, usize) {
    ((480 / nr_runs.max(1)).clamp(24, 120), (320 / nr_runs.max(1)).clamp(16, 80))
}

impl Picture {
    /// Records of a monitor, target by target; none if nothing was recorded.
    pub fn all(monitored: &Monitored, (rows, columns): (usize, usize)) -> Vec<Picture> {
        let records = record::of_run(0, monitored);
        let several = records.len() > 1;
        let targets = monitored.record.iter().filter(|s| !s.regions.is_empty()).map(|s| s.target);
        let mut known: Vec<usize> = Vec::new();
        for target in targets {
            if !known.contains(&target) {
                known.push(target);
            }
        }
        let one = |(record, target): (&Record, usize)| {
            let said = heatmap::draw(record, &Frame::new(rows, columns)).ok()?;
            Some(Picture {
                report: monitored.report.clone(),
                target: several.then_some(target),
                window: monitored.attrs.window(),
                snapshots: record.snapshots.len() as u64,
                truth: truth(monitored, &said),
                applied: applied(monitored, target, &said),
                said,
            })
        };
        records.iter().zip(known).filter_map(one).collect()
    }
}

fn truth(monitored: &Monitored, said: &Heatmap) -> Option<Vec<Vec<Option<f64>>>> {
    let map = monitored.truth.as_ref().filter(|map| !map.rows.is_empty())?;
    let mut begin = said.start_ns;
    let values = map.rows.iter().enumerate().flat_map(|(i, (end, sums))| {
        let snapshots = if i + 1 < map.rows.len() { map.folded } else { map.last };
        let time = (begin, end.0);
        begin = end.0;
        sums.iter().zip(0..).map(move |(&sum, nth)| {
            let pages = map.piece.min(map.pages - nth * map.piece);
            let first = map.first + nth * map.piece;
            Piece {
                time,
                addresses: (first * PAGE, (first + pages) * PAGE),
                value: sum as f64 / pages as f64 / snapshots.max(1) as f64,
            }
        })
    });
    Some(said.of(values))
}

fn applied(
    monitored: &Monitored,
    target: usize,
    said: &Heatmap,
) -> Vec<(usize, usize, usize, u64)> {
    let mut bytes: BTreeMap<(usize, usize, usize), u64> = BTreeMap::new();
    // What was applied after the last aggregation belongs to the last row.
    let last = said.start_ns + said.row_ns * said.cells.len() as u64 - 1;
    for a in monitored.applied.iter().filter(|a| a.target == target) {
        let at = a.at.0.min(last);
        for (row, column, width, _) in said.touched((a.start, a.end), (at, at)) {
            *bytes.entry((row, column, a.scheme)).or_default() += width;
        }
    }
    bytes.into_iter().map(|((row, column, scheme), n)| (row, column, scheme, n)).collect()
}
