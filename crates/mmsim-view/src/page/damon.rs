//! Data of monitors of accesses for the script.

use mmsim::report::TruthReport;
use serde::Serialize;

use crate::damon::Picture;
use crate::heat;

/// Means of cells, row by row.
type Cells = Vec<Vec<Option<f64>>>;

/// Action, regions and bytes tried, regions and bytes applied to, quotas used up, snapshots.
type SchemeRow<'a> = (&'a str, u64, u64, u64, u64, u64, Option<u64>);

/// A monitor, or one of its targets.
#[derive(Serialize)]
pub(super) struct DamonData<'a> {
    title: String,
    /// True for a process, whose true accesses can be known.
    process: bool,
    window: u32,
    snapshots: u64,
    start_ns: u64,
    row_ns: u64,
    column_bytes: u64,
    areas: &'a [(u64, u64)],
    said: Cells,
    /// Colours of shares, the hottest last.
    ramp: [[f64; 3]; 4],
    #[serde(skip_serializing_if = "Option::is_none")]
    truth: Option<Cells>,
    applied: &'a [(usize, usize, usize, u64)],
    schemes: Vec<SchemeRow<'a>>,
    /// Distance from the truth.
    #[serde(skip_serializing_if = "Option::is_none")]
    far: Option<Vec<(&'static str, f64)>>,
}

/// Rounds cells to the digits that a page shows.
fn rounded(cells: &Cells) -> Cells {
    let round = |v: f64| (v * 100.0).round() / 100.0;
    cells.iter().map(|row| row.iter().map(|v| v.map(round)).collect()).collect()
}

/// Statements of a report on the truth, as a page shows them.
fn far(t: &TruthReport) -> Vec<(&'static str, f64)> {
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    vec![
        ("snapshots", t.snapshots as f64),
        ("misjudged, %", t.misjudged * 100.0),
        ("of that overrated, %", t.overrated * 100.0),
        ("working set, MiB", mib(t.working_set)),
        ("working set by the monitor, MiB", mib(t.working_set_said)),
        ("in only one of the two, MiB", mib(t.working_set_wrong)),
        ("smallest hot region found, MiB", mib(t.smallest_hot as f64)),
    ]
}

impl<'a> DamonData<'a> {
    pub(super) fn of(p: &'a Picture) -> DamonData<'a> {
        let name = &p.report.name;
        let schemes = p.report.schemes.iter().map(|s| {
            let action = s.action.as_str();
            let (nr, sz) = (s.nr_applied, s.sz_applied);
            (action, s.nr_tried, s.sz_tried, nr, sz, s.qt_exceeds, s.nr_snapshots)
        });
        DamonData {
            title: p.target.map_or(name.clone(), |t| format!("{name}, target {t}")),
            process: p.report.ops != "paddr",
            window: p.window,
            snapshots: p.snapshots,
            start_ns: p.said.start_ns,
            row_ns: p.said.row_ns,
            column_bytes: p.said.column_bytes,
            areas: &p.said.areas,
            ramp: heat::STOPS,
            said: rounded(&p.said.cells),
            truth: p.truth.as_ref().map(rounded),
            applied: &p.applied,
            schemes: schemes.collect(),
            far: p.report.truth.as_ref().map(far),
        }
    }
}
