//! Single decisions of recorded kernels, replayed.
//!
//! `tools/recorder/decisions.sh` records each call of `shrink_lruvec()` (classic LRU), and each
//! visit, step and aging of MGLRU: what it was given, what it set out to scan, and what came of it.
//! Each is checked in two ways. Does the model set out to scan the same, given the same? That is
//! replayed call by call, from recorded inputs. And does the same come of it? For that the point
//! runs in the whole machine, and its calls are paired with the recorded ones in order: those of
//! kswapd and of direct reclaim each for themselves, by phase and priority. Where a point was recorded
//! anew with the tick at another time, the kernel's own calls are paired in the same way: no model can
//! be nearer to a kernel than that.

mod alike;
mod recording;
mod simulated;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use crate::runner;
use mmsim_core::base::settings::Settings as _;
use mmsim_core::config::Kernel;
use mmsim_lru::MglruConfig;
use serde::{Deserialize, Serialize};

use super::machine;
use super::point::{Experiment, Point};
use super::reading::{json_files, read_folder};
use alike::steps_alike;
use mmsim::cells::{Cell, Cells};
use mmsim::error::{Error, ErrorKind};
use mmsim::files;
use mmsim::machines::Policy;
use mmsim::report::SCHEMA;
use recording::{Call, Recording};

pub use recording::Done;
use simulated::{Simulated, simulated};

/// Results that differ by no more pages than this are near, whatever their size.
pub const ROOM: u64 = 64;

/// All recordings of a folder.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Decisions {
    /// The version of mmsim that wrote it.
    pub mmsim: String,
    /// The version of the form.
    pub schema: u32,
    /// One entry for each recording.
    pub recordings: Vec<DecisionRow>,
    /// One entry for each kernel and LRU, then one of all.
    pub summary: Vec<DecisionSummary>,
    /// One entry for each recording of a point that was recorded anew.
    #[serde(default)]
    pub own: Vec<OwnRow>,
}

/// A recording, paired with one of the same kernel at another tick or with other free memory.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OwnRow {
    /// The experiment.
    pub experiment: String,
    /// The point.
    pub point: String,
    /// The point that it was recorded anew as.
    pub anew: String,
    /// Calls of the recording that scan.
    pub calls: u64,
    /// The pairs with the other recording, then those with the model.
    pub pairs: [PairCounts; 2],
}

/// Numbers of pairs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PairCounts {
    /// Calls with a partner.
    pub paired: u64,
    /// Pairs with results within 10 % or [`ROOM`] pages of each other.
    pub near: u64,
    /// Pairs with the same results.
    pub equal: u64,
}

impl PairCounts {
    fn of(pairs: &[PairRow]) -> PairCounts {
        let count = |is: &dyn Fn(&PairRow) -> bool| pairs.iter().filter(|p| is(p)).count() as u64;
        PairCounts {
            paired: count(&|p| p.simulated.is_some()),
            near: count(&PairRow::near),
            equal: count(&|p| p.simulated == Some(p.recorded)),
        }
    }
}

/// One recording, replayed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DecisionRow {
    /// The experiment.
    pub experiment: String,
    /// The point.
    pub point: String,
    /// The kernel, as 6.12.
    pub kernel: String,
    /// The LRU.
    pub lru: String,
    /// Decisions on how much to scan or whether to age.
    pub decided: u64,
    /// Those in which the model decides the same from what the kernel was given.
    pub alike: u64,
    /// The first in which it does not, in words.
    pub first_other: Option<String>,
    /// Recorded calls that scan.
    pub calls: u64,
    /// Calls of the model in the same phases.
    pub simulated_calls: u64,
    /// Recorded calls with a partner of the model.
    pub paired: u64,
    /// Pairs with results within 10 % or [`ROOM`] pages of each other.
    pub near: u64,
    /// Pairs with the same results.
    pub equal: u64,
    /// The first recorded call without a partner, or with one that is not near, in words.
    pub first_parting: Option<String>,
    /// All pairs, for the CSV.
    #[serde(skip)]
    pub pairs: Vec<PairRow>,
}

/// A recorded call and the model's.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PairRow {
    /// The place of the recorded call in its file, from 1.
    pub call: usize,
    /// The phase.
    pub phase: String,
    /// `kswapd` or `direct reclaim`.
    pub by: &'static str,
    /// 12 down to 0.
    pub priority: u64,
    /// Result of the kernel's call.
    pub recorded: Done,
    /// Result of the model's; `None`: it has no such call left.
    pub simulated: Option<Done>,
}

impl PairRow {
    /// True if the results are within 10 % or [`ROOM`] pages of each other.
    pub fn near(&self) -> bool {
        self.simulated.is_some_and(|s| s.near(self.recorded))
    }
}

/// Several recordings together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DecisionSummary {
    /// The kernel; `all`: of every one.
    pub kernel: String,
    /// The LRU; `both`: of either.
    pub lru: String,
    /// Decisions on how much to scan or whether to age.
    pub decided: u64,
    /// Those that the model decides alike.
    pub alike: u64,
    /// Recorded calls that scan.
    pub calls: u64,
    /// Those with a partner.
    pub paired: u64,
    /// Those with a partner that is near.
    pub near: u64,
    /// Those with a partner of the same results.
    pub equal: u64,
}

impl Decisions {
    fn new(recordings: Vec<DecisionRow>, own: Vec<OwnRow>) -> Decisions {
        let mut keys: Vec<(String, String)> =
            recordings.iter().map(|r| (r.kernel.clone(), r.lru.clone())).collect();
        keys.sort();
        keys.dedup();
        let sum = |kernel: &str, lru: &str, rows: &[&DecisionRow]| {
            let total = |f: fn(&DecisionRow) -> u64| rows.iter().map(|r| f(r)).sum::<u64>();
            DecisionSummary {
                kernel: kernel.into(),
                lru: lru.into(),
                decided: total(|r| r.decided),
                alike: total(|r| r.alike),
                calls: total(|r| r.calls),
                paired: total(|r| r.paired),
                near: total(|r| r.near),
                equal: total(|r| r.equal),
            }
        };
        let mut summary: Vec<DecisionSummary> = (keys.iter())
            .map(|(kernel, lru)| {
                let own = |r: &&DecisionRow| r.kernel == *kernel && r.lru == *lru;
                sum(kernel, lru, &recordings.iter().filter(own).collect::<Vec<_>>())
            })
            .collect();
        summary.push(sum("all", "both", &recordings.iter().collect::<Vec<_>>()));
        Decisions {
            mmsim: env!("CARGO_PKG_VERSION").to_string(),
            schema: SCHEMA,
            recordings,
            summary,
            own,
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("decisions are plain data");
        json.push('\n');
        json
    }

    /// Every recorded call as a table; where the model has no partner, its cells are empty.
    pub fn cells(&self) -> Cells {
        let mut cells = Cells::headed(
            "experiment,point,kernel,lru,call,phase,by,priority,scanned,reclaimed,here_scanned,\
             here_reclaimed,near",
            &["call", "priority", "scanned", "reclaimed", "here_scanned", "here_reclaimed"],
        );
        for r in &self.recordings {
            for p in &r.pairs {
                let PairRow { call, phase, by, priority, recorded, simulated, .. } = p;
                cells.row([
                    Cell::from(&r.experiment),
                    Cell::from(&r.point),
                    Cell::from(&r.kernel),
                    Cell::from(&r.lru),
                    (*call as u64).into(),
                    phase.into(),
                    (*by).into(),
                    (*priority).into(),
                    recorded.scanned.into(),
                    recorded.reclaimed.into(),
                    simulated.map(|s| s.scanned).into(),
                    simulated.map(|s| s.reclaimed).into(),
                    p.near().into(),
                ]);
            }
        }
        cells
    }

    /// The same as CSV.
    pub fn to_csv(&self) -> String {
        self.cells().to_csv()
    }
}

/// Replays the decisions recorded in `folder`, of points in `dir`.
///
/// # Errors
/// A file of either folder cannot be read, is not of the form, or names a point or kernel that is
/// not there.
pub fn decisions(dir: &Path, folder: &Path, jobs: Option<usize>) -> Result<Decisions, Error> {
    let files = json_files(folder, "recorded decisions, such as `evidence/decisions`")?;
    of_files(&read_folder(dir)?, &dir.display().to_string(), &files, jobs)
}

/// Replays the decisions recorded in these files, of points of these experiments, which stand in
/// `dir`.
///
/// # Errors
/// A file cannot be read, is not of the form, or names a point or kernel that is not there.
pub fn of_files(
    experiments: &[Experiment],
    dir: &str,
    files: &[PathBuf],
    jobs: Option<usize>,
) -> Result<Decisions, Error> {
    let mut read = Vec::new();
    for path in files {
        let text = files::read_text(path, "recorded decisions")?;
        let name = path.display().to_string();
        let recording: Recording = serde_json::from_str(&text).map_err(|e| {
            files::bad_json(&e, &text, &name, "recording of decisions")
                .help("`tools/recorder/decisions.sh` writes this form")
        })?;
        let bad = |what: String| {
            Error::new(ErrorKind::File, format!("{name}: {what}"))
                .help("`tools/recorder/decisions.sh` writes this form")
        };
        let calls = recording.read().map_err(bad)?;
        let point = recording
            .point_of(experiments)
            .map_err(|what| bad(what).help(format!("the points are those of `{dir}`")))?;
        let same = |(r, ..): &&(Recording, Vec<Call>, &Point)| {
            (&r.experiment, &r.point, r.repetition)
                == (&recording.experiment, &recording.point, recording.repetition)
        };
        if read.iter().any(|r| same(&r)) {
            return Err(bad(format!(
                "another file has repetition {} of `{}` as well",
                recording.repetition, recording.point
            )));
        }
        read.push((recording, calls, point));
    }
    let rows = runner(jobs).each(&read, |_, (r, calls, p)| r.replayed(calls, p))?;
    let own = read.iter().zip(&rows).flat_map(|((base, calls, p), row)| {
        let series = p.kernel_series();
        let is_anew = move |other: &&(Recording, Vec<Call>, &Point)| {
            let of = |r: &Recording| (r.kernel.clone(), r.lru.clone(), r.experiment.clone());
            let stem = Point::recorded_anew(Point::stem(&other.0.point, &series));
            of(&other.0) == of(base) && stem == Some(Point::stem(&base.point, &series))
        };
        let beside = move |other: &(Recording, Vec<Call>, &Point)| OwnRow {
            experiment: base.experiment.clone(),
            point: base.point.clone(),
            anew: other.0.point.clone(),
            calls: row.calls,
            pairs: [base.beside(calls, &other.0, &other.1), PairCounts::of(&row.pairs)],
        };
        read.iter().filter(is_anew).map(beside)
    });
    let own = own.collect();
    Ok(Decisions::new(rows, own))
}

impl Recording {
    fn replayed(&self, calls: &[Call], p: &Point) -> Result<DecisionRow, Error> {
        let bad = |what: String| {
            Error::plain(format!("the point `{}` of `{}`: {what}", self.point, self.experiment))
        };
        let kernel = p.kernel_series();
        let modelled = Kernel::ALL.into_iter().find(|k| k.name() == kernel);
        let modelled = modelled.ok_or_else(|| bad(format!("Linux {kernel} is not modelled")))?;
        let can_swap = p
            .script_of(self.repetition)
            .iter()
            .any(|l| l.starts_with("zram ") || l.starts_with("swapon "));
        let mglru = MglruConfig::of_kernel(modelled).filter(|_| self.lru == "mglru");
        let (decided, alike, first_other) = match (mglru, Policy::of_kernel(modelled)) {
            (Some(config), _) => steps_alike(calls, &config, can_swap),
            (None, Policy::Classic(config)) => self.scans_alike(calls, &config, can_swap),
            (None, _) => return Err(bad(format!("Linux {kernel} has no classic LRU here"))),
        };
        let m = machine(p, self.repetition).map_err(|e| bad(e.to_string()))?;
        let simulated = simulated(m, &self.phases);
        let recorded: Vec<&Call> = calls.iter().filter(|c| c.scans()).collect();
        let pairs = self.paired(&recorded, &simulated);
        let PairCounts { paired, near, equal } = PairCounts::of(&pairs);
        Ok(DecisionRow {
            experiment: self.experiment.clone(),
            point: self.point.clone(),
            kernel,
            lru: self.lru.clone(),
            decided,
            alike,
            first_other,
            calls: recorded.len() as u64,
            simulated_calls: simulated.len() as u64,
            paired,
            near,
            equal,
            first_parting: pairs.iter().find(|p| !p.near()).map(|p| self.parting(p)),
            pairs,
        })
    }

    /// The calls of this recording, paired with those of another one of the same kernel.
    fn beside(&self, calls: &[Call], other: &Recording, others: &[Call]) -> PairCounts {
        let scans =
            |calls: &[Call]| calls.iter().filter(|c| c.scans()).copied().collect::<Vec<_>>();
        let phase = |c: &Call| self.phases.iter().position(|p| *p == other.phases[c.phase]);
        let as_model = |c: &Call| {
            let Call { kswapd, priority, result, .. } = *c;
            Some(Simulated { phase: phase(c)?, kswapd, priority, result })
        };
        let others: Vec<Simulated> = scans(others).iter().filter_map(as_model).collect();
        let own = scans(calls);
        PairCounts::of(&self.paired(&own.iter().collect::<Vec<_>>(), &others))
    }

    /// Recorded calls in their order, each with the model's next one of the same phase, reclaimer and
    /// priority.
    fn paired(&self, recorded: &[&Call], simulated: &[Simulated]) -> Vec<PairRow> {
        let mut left: BTreeMap<(usize, bool, u64), VecDeque<Done>> = BTreeMap::new();
        for s in simulated {
            left.entry((s.phase, s.kswapd, s.priority)).or_default().push_back(s.result);
        }
        let pair = |r: &&Call| {
            let key = (r.phase, r.kswapd, r.priority);
            let simulated = left.get_mut(&key).and_then(VecDeque::pop_front);
            PairRow {
                call: r.number,
                phase: self.phases[r.phase].clone(),
                by: if r.kswapd { "kswapd" } else { "direct reclaim" },
                priority: r.priority,
                recorded: r.result,
                simulated,
            }
        };
        recorded.iter().map(pair).collect()
    }

    fn parting(&self, p: &PairRow) -> String {
        let looked = if self.lru == "mglru" { "isolates" } else { "scans" };
        let words = |d: &Done| format!("{looked} {} and evicts {}", d.scanned, d.reclaimed);
        let here = p.simulated.as_ref().map_or("has no such call left".to_string(), words);
        format!(
            "{}, call {} ({}, priority {}): the kernel {}, the model {here}",
            p.phase,
            p.call,
            p.by,
            p.priority,
            words(&p.recorded)
        )
    }
}
