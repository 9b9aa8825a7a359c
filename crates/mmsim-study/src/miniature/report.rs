//! Reports of miniatures: estimates with intervals, as a document, as rows and as a table.

use std::fmt::Write as _;

use mmsim_core::base::vmstat::{Transfer, VmEvent};
use serde::Serialize;

use super::counters::{Worth, worth};
use super::{Estimated, Miniature};
use crate::cells::{Cell, Cells, Column, Form};
use mmsim_report::numbers::grouped;
use mmsim_report::statistics::estimate;
use mmsim_report::{Ending, Pairs, PhaseReport, RunReport, SCHEMA};

/// Effect of a few batches on the mean of all samples alike, as a share of it: the spread of
/// samples does not show it. Faults and evictions (evidence/calibration.toml,
/// `miniature.off-pages`).
pub const OFF_PAGES: f64 = 0.01;
/// The same of scans (`miniature.off-scans`).
pub const OFF_SCANS: f64 = 0.05;

/// The first line of rows.
pub const CSV_HEADER: &str = "scenario,variant,axes,seed,one_in,samples,phase,name,mean,low,high";

/// All miniatures of one command.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct MiniatureReport {
    /// The version of mmsim that wrote it.
    pub mmsim: String,
    /// The version of the form of reports.
    pub schema: u32,
    /// Name of the scenario; of several, with `, ` between them.
    pub scenario: String,
    /// Runs in the order of the scenario.
    pub miniatures: Vec<MiniatureRun>,
}

/// One run as its miniatures estimate it.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct MiniatureRun {
    /// Name of its scenario, where the report has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// Name of the variant.
    pub variant: String,
    /// Where it stands on the axes of the scenario.
    pub axes: Pairs<String>,
    /// The seed of all its random streams.
    pub seed: u64,
    /// Name of the policy's preset.
    pub policy: String,
    /// R: the share of pages that each sample keeps.
    pub share: f64,
    /// 1/R.
    pub one_in: u64,
    /// K: samples.
    pub samples: u32,
    /// Seed of each sample's hash.
    pub hash_seeds: Vec<u32>,
    /// Pages that stay together.
    pub unit_pages: u32,
    /// End of each sample. Where one did not complete there are no estimates.
    pub outcomes: Vec<Ending>,
    /// Accesses of all threads of the full run: counted, not estimated.
    pub accesses: u64,
    /// Simulated time.
    pub sim_time_ns: Option<Value>,
    /// Counters of the whole run.
    pub counters: Pairs<Value>,
    /// Counters that samples say nothing of, with the reason.
    pub not_from_a_miniature: Pairs<&'static str>,
    /// Phases in the order of their ends.
    pub phases: Vec<MiniaturePhase>,
}

/// One phase.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct MiniaturePhase {
    /// Its name.
    pub name: String,
    /// Its simulated time.
    pub sim_time_ns: Value,
    /// Counters.
    pub counters: Pairs<Value>,
}

/// An estimate.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Value {
    /// Mean of the samples, each times 1/R.
    pub mean: u64,
    /// Begin of the interval.
    pub low: u64,
    /// End of the interval.
    pub high: u64,
    /// Each sample times 1/R.
    pub samples: Vec<u64>,
}

impl Value {
    /// The mean of some estimates. Its interval is that of 95 % by Student's t, and `off` of the
    /// mean wider on either side.
    pub fn of(samples: Vec<u64>, off: f64) -> Value {
        let values: Vec<f64> = samples.iter().map(|&v| v as f64).collect();
        let (mean, half) =
            estimate(&values).map_or((0.0, 0.0), |e| (e.mean, e.ci95.unwrap_or(0.0)));
        let half = half + off * mean;
        Value {
            mean: mean.round() as u64,
            low: (mean - half).max(0.0).round() as u64,
            high: (mean + half).round() as u64,
            samples,
        }
    }

    /// True if a value lies in the interval.
    pub fn covers(&self, value: u64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Estimates of all counters that are not zero in every sample, or of those that transfer: zeros too.
fn counters(all: &[&Pairs<u64>], shift: u32, mglru: bool) -> Pairs<Value> {
    let one = |&event: &VmEvent| {
        let off = match worth(event, mglru) {
            Worth::Pages => OFF_PAGES,
            Worth::Scanned => OFF_SCANS,
            Worth::Nothing(_) => return None,
        };
        let samples =
            all.iter().map(|vmstat| vmstat.get(event.name()).unwrap_or(&0) << shift).collect();
        Some((event.name(), Value::of(samples, off)))
    };
    VmEvent::ALL.iter().filter_map(one).collect()
}

impl MiniatureRun {
    /// Report of the samples of a run.
    pub(super) fn of(scenario: Option<String>, e: &Estimated) -> MiniatureRun {
        let Miniature { run, samples, .. } = &e.how;
        let (shift, unit) = (samples[0].shift, samples[0].unit);
        let mglru = run.policy.preset.starts_with("mglru");
        let outcomes: Vec<Ending> = e.samples.iter().map(|run| run.outcome).collect();
        let done = outcomes.iter().all(|o| *o == Ending::Completed);
        let nothing = |event: &VmEvent| match worth(*event, mglru) {
            Worth::Nothing(why) => Some((event.name(), why)),
            _ => None,
        };
        let vmstats: Vec<&Pairs<u64>> = e.samples.iter().map(|run| &run.vmstat).collect();
        let times = || Value::of(e.samples.iter().map(|run| run.sim_time_ns).collect(), OFF_PAGES);
        MiniatureRun {
            scenario,
            variant: run.variant.clone(),
            axes: run.axes.iter().cloned().collect(),
            seed: run.seed,
            policy: run.policy.preset.clone(),
            share: 1.0 / (1_u64 << shift) as f64,
            one_in: 1 << shift,
            samples: samples.len() as u32,
            hash_seeds: samples.iter().map(|s| s.number).collect(),
            unit_pages: 1 << unit,
            outcomes,
            accesses: e.accesses,
            sim_time_ns: done.then(times),
            counters: if done { counters(&vmstats, shift, mglru) } else { Pairs::new() },
            not_from_a_miniature: VmEvent::ALL.iter().filter_map(nothing).collect(),
            phases: if done { phases(&e.samples, shift, mglru) } else { Vec::new() },
        }
    }
}

/// Phases that all samples ended, by their names in the order of the first.
fn phases(results: &[RunReport], shift: u32, mglru: bool) -> Vec<MiniaturePhase> {
    let Some(first) = results.first() else { return Vec::new() };
    let mut all = Vec::new();
    for (i, phase) in first.phases.iter().enumerate() {
        // Of phases of one name the n-th of each sample belong together.
        let nth = first.phases[..i].iter().filter(|p| p.name == phase.name).count();
        let same: Vec<&PhaseReport> = results
            .iter()
            .filter_map(|r| r.phases.iter().filter(|p| p.name == phase.name).nth(nth))
            .collect();
        if same.len() < results.len() {
            continue;
        }
        let vmstats: Vec<&Pairs<u64>> = same.iter().map(|p| &p.vmstat).collect();
        all.push(MiniaturePhase {
            name: phase.name.clone(),
            sim_time_ns: Value::of(same.iter().map(|p| p.sim_time_ns).collect(), OFF_PAGES),
            counters: counters(&vmstats, shift, mglru),
        });
    }
    all
}

impl MiniatureReport {
    /// A report of these runs.
    pub fn new(scenario: impl Into<String>, miniatures: Vec<MiniatureRun>) -> Self {
        MiniatureReport {
            mmsim: env!("CARGO_PKG_VERSION").to_string(),
            schema: SCHEMA,
            scenario: scenario.into(),
            miniatures,
        }
    }

    /// The document as indented JSON that ends with a newline.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("a report is plain data");
        json.push('\n');
        json
    }

    /// One row for each run, phase and estimate. Counters that do not transfer have no row.
    pub fn cells(&self) -> Cells {
        const TEXTS: [&str; 5] = ["scenario", "variant", "axes", "phase", "name"];
        let form = |name| if TEXTS.contains(&name) { Form::Text } else { Form::Whole };
        let mut cells = Cells::below(CSV_HEADER.split(',').map(|n| Column::new(n, form(n))));
        for run in &self.miniatures {
            let axes: Vec<String> = run.axes.iter().map(|(k, v)| format!("{k}={v}")).collect();
            let scenario = run.scenario.as_deref().unwrap_or(&self.scenario);
            let axes = axes.join(";");
            let mut row = |phase: &str, name: &str, v: &Value| {
                let texts = [scenario, &run.variant, &axes].map(Cell::from);
                let numbers = [run.seed, run.one_in, run.samples.into()].map(Cell::from);
                let of = [phase, name].map(Cell::from);
                let value = [v.mean, v.low, v.high].map(Cell::from);
                let row = texts.into_iter().chain(numbers).chain(of);
                cells.rows.push(row.chain(value).collect());
            };
            if let Some(time) = &run.sim_time_ns {
                row("", "sim_time_ns", time);
            }
            run.counters.iter().for_each(|(name, v)| row("", name, v));
            for phase in &run.phases {
                row(&phase.name, "sim_time_ns", &phase.sim_time_ns);
                phase.counters.iter().for_each(|(name, v)| row(&phase.name, name, v));
            }
        }
        cells
    }

    /// The same for people: the whole of each run, without what is zero everywhere.
    pub fn to_table(&self) -> String {
        let mut out = String::new();
        for run in &self.miniatures {
            let axes: String = run.axes.iter().map(|(k, v)| format!(", {k} = {v}")).collect();
            let scenario = run.scenario.as_deref().unwrap_or(&self.scenario);
            let _ = writeln!(
                out,
                "{scenario}: {}{axes}, seed {}: {} miniatures of 1/{} of the pages",
                run.variant, run.seed, run.samples, run.one_in
            );
            let mut rows = vec![["counter", "mean", "from", "to"].map(String::from)];
            if let Some(t) = &run.sim_time_ns {
                let [mean, low, high] =
                    [t.mean, t.low, t.high].map(|ns| format!("{:.3}", ns as f64 / 1e9));
                rows.push(["simulated seconds".into(), mean, low, high]);
            }
            for (name, v) in run.counters.iter().filter(|(_, v)| v.high > 0) {
                let [mean, low, high] = [v.mean, v.low, v.high].map(|n| grouped(n as f64));
                rows.push([name.to_string(), mean, low, high]);
            }
            let wide = |i: usize| rows.iter().map(|r| r[i].len()).max().unwrap_or(0);
            let w = [wide(0), wide(1), wide(2), wide(3)];
            for [name, mean, low, high] in &rows {
                let _ = writeln!(
                    out,
                    "  {name:<0$}  {mean:>1$}  {low:>2$}  {high:>3$}",
                    w[0], w[1], w[2], w[3]
                );
            }
            let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
            for (name, why) in run.not_from_a_miniature.iter().filter(|(n, _)| shown(n)) {
                match reasons.iter_mut().find(|(w, _)| w == why) {
                    Some((_, names)) => names.push(name),
                    None => reasons.push((why, vec![name])),
                }
            }
            out.push_str("  not from a miniature:\n");
            for (why, names) in reasons {
                let _ = writeln!(out, "    {why}:");
                wrap(&mut out, &names);
            }
        }
        out
    }
}

/// Names one after the other, in lines of at most 100 columns.
fn wrap(out: &mut String, names: &[&str]) {
    const WIDTH: usize = 100;
    let mut line = String::new();
    for (i, name) in names.iter().enumerate() {
        let comma = if i + 1 < names.len() { "," } else { "" };
        if !line.is_empty() && 6 + line.len() + 1 + name.len() + comma.len() > WIDTH {
            let _ = writeln!(out, "      {line}");
            line.clear();
        }
        let blank = if line.is_empty() { "" } else { " " };
        let _ = write!(line, "{blank}{name}{comma}");
    }
    let _ = writeln!(out, "      {line}");
}

/// True if the table names a counter that does not transfer: those of blocks and zones are many.
fn shown(name: &str) -> bool {
    VmEvent::named(name).is_none_or(|e| {
        let row = e.row();
        !row.minor && row.transfer != Transfer::Blocks
    })
}
