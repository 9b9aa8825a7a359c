//! Replays recorded kernel experiments on the same machine, and sets what the kernel
//! counted beside what the simulator counts.
//!
//! A point of the reference holds the zones of the machine when its workload started, the commands
//! of the workload, and the counters of the kernel. The machine built here has the same managed
//! pages, watermarks, reserves, free pages and per-CPU lists, the same swap and sysctls; the
//! workload is the same sequence of accesses. Nothing is fitted, but for the place at which regions
//! of two kernels begin (`boot`). The first check is that a recording is possible at all (`check`);
//! [`rules`] say how close is close enough.

mod boot;
mod booted;
mod check;
pub mod contents;
pub mod cost;
mod counters;
mod damon;
pub mod decisions;
pub mod document;
mod groups;
mod machine;
mod outcomes;
pub mod patched;
mod place;
pub mod point;
mod problem;
pub mod reading;
pub mod rows;
pub mod rules;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::runner;
use clap::Args;
use mmsim_core::machine::Watch;
use mmsim_core::machine::result::{Outcome, RunResult};
use mmsim_core::machine::snapshot::ZoneSnapshot;

pub use counters::COUNTERS;
pub use machine::{Lacking, machine};
pub use outcomes::BETWEEN;

use crate::validate::document::{NotModelled, UnmodelledCounter, Validation};
use crate::validate::rows::PointRow;
use mmsim::error::Error;
use mmsim::machines::kdamond_of;
use mmsim::nearest::nearest;
use mmsim_terminal::args::at_least_one;
use point::{Experiment, Point};

/// Counters that tell policies apart, and what they are the sum of.
pub const TELLING: [(&str, &[&str]); 6] = [
    ("pswpin", &["pswpin"]),
    ("workingset_refault_file", &["workingset_refault_file"]),
    ("pgscan", &["pgscan_anon", "pgscan_file"]),
    ("pgactivate", &["pgactivate"]),
    ("pgdeactivate", &["pgdeactivate"]),
    ("workingset_activate_anon", &["workingset_activate_anon"]),
];

/// Points to replay, and how.
#[derive(Args, Clone, Debug, Default)]
#[non_exhaustive]
pub struct Selection {
    /// Only this point; can be given several times
    #[arg(long = "point", value_name = "ID")]
    pub points: Vec<String>,
    /// Only this experiment
    #[arg(long, value_name = "NAME")]
    pub experiment: Option<String>,
    /// Only the point in the middle of each file, for each kernel and LRU in it
    #[arg(long, conflicts_with = "points")]
    pub quick: bool,
    /// Replays at the same time [default: one per CPU]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
}

/// Replays the selected points of a folder. `progress` gets the number of replays that have ended,
/// and of all.
///
/// # Errors
/// A file of the folder cannot be read, is not of the form or contradicts itself; or
/// nothing of a selected name is there.
pub fn validate(
    dir: &Path,
    what: &Selection,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Validation, Error> {
    let experiments = reading::read_folder(dir)?;
    let selected = select(dir, &experiments, what)?;
    replayed(selected, what.jobs, progress)
}

/// Replays these points. `progress` gets the number of replays that have ended, and of all.
///
/// # Errors
/// None: points that cannot be replayed are listed.
pub fn replayed(
    selected: Vec<(&Experiment, &Point)>,
    jobs: Option<usize>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Validation, Error> {
    let refused = runner(jobs).each(&selected, |_, (_, p)| Ok::<_, Error>(why_not(p)))?;
    let replays: Vec<(usize, usize)> = (selected.iter().zip(&refused).enumerate())
        .filter(|(_, (_, refused))| refused.is_none())
        .flat_map(|(i, ((_, p), _))| (0..machine::replays(p)).map(move |r| (i, r)))
        .collect();
    let ended = AtomicUsize::new(0);
    let done = runner(jobs).each(&replays, |_, &(i, replay)| {
        let (_, p) = selected[i];
        let result = machine(p, replay).map(|m| Replay::run(p, m));
        progress(ended.fetch_add(1, Ordering::Relaxed) + 1, replays.len());
        Ok::<_, Error>(result)
    })?;
    let mut results = done.into_iter();
    let mut v = Collected::default();
    for (&(e, p), refused) in selected.iter().zip(refused) {
        let not = |why: String| NotModelled {
            experiment: e.experiment.clone(),
            point: p.id.clone(),
            why,
        };
        if let Some(why) = refused {
            v.not_modelled.push(not(why));
            continue;
        }
        match results.by_ref().take(machine::replays(p)).collect::<Result<Vec<Replay>, Lacking>>() {
            Ok(replays) => v.point(e, p, &replays),
            Err(why) => v.not_modelled.push(not(why.to_string())),
        }
    }
    let mut validation = Validation::new(v.rows, v.not_modelled, v.unmodelled_counters);
    let replayed = |p: &Point| validation.points.iter().any(|r| r.point == p.id);
    let all: Vec<_> = selected.into_iter().filter(|(_, p)| replayed(p)).collect();
    let runner = runner(jobs);
    let row =
        |_: usize, &(e, p): &(&Experiment, &Point)| Ok::<_, Error>(outcomes::row(e, p, &runner));
    validation.outcomes = runner.each(&all, row)?.into_iter().flatten().collect();
    Ok(validation)
}

fn select<'a>(
    dir: &Path,
    experiments: &'a [Experiment],
    what: &Selection,
) -> Result<Vec<(&'a Experiment, &'a Point)>, Error> {
    let mut selected: Vec<(&Experiment, &Point)> = experiments
        .iter()
        .filter(|e| what.experiment.as_deref().is_none_or(|x| x == e.experiment))
        .flat_map(|e| e.points.iter().map(move |p| (e, p)))
        .filter(|(_, p)| what.points.is_empty() || what.points.contains(&p.id))
        .collect();
    for wanted in &what.points {
        if !selected.iter().any(|(_, p)| p.id == *wanted) {
            let known = experiments.iter().flat_map(|e| &e.points).map(|p| p.id.as_str());
            return Err(none(dir, "point", wanted, known.collect()));
        }
    }
    if let (Some(wanted), true) = (&what.experiment, selected.is_empty()) {
        let known = experiments.iter().map(|e| e.experiment.as_str());
        return Err(none(dir, "experiment", wanted, known.collect()));
    }
    if what.quick {
        selected = quick(&selected);
    }
    Ok(selected)
}

/// The point in the middle of the file for each experiment, kernel and LRU, sensitivities left out:
/// a choice that does not depend on the accuracy of the model.
fn quick<'a>(all: &[(&'a Experiment, &'a Point)]) -> Vec<(&'a Experiment, &'a Point)> {
    let key =
        |(e, p): &(&Experiment, &Point)| (e.experiment.clone(), p.kernel_series(), p.lru.clone());
    let of_interest: Vec<_> =
        all.iter().copied().filter(|(_, p)| !Point::is_sensitivity(&p.id)).collect();
    let chosen = |one: &(&Experiment, &Point)| {
        let same: Vec<_> = of_interest.iter().filter(|o| key(o) == key(one)).collect();
        std::ptr::eq(same[same.len() / 2].1, one.1)
    };
    of_interest.iter().copied().filter(chosen).collect()
}

/// Experiment and name of the points that [`Selection::quick`] takes of everything.
pub fn quick_points(experiments: &[Experiment]) -> Vec<(String, String)> {
    let all: Vec<(&Experiment, &Point)> =
        experiments.iter().flat_map(|e| e.points.iter().map(move |p| (e, p))).collect();
    quick(&all).iter().map(|(e, p)| (e.experiment.clone(), p.id.clone())).collect()
}

/// The folder has nothing of that name.
fn none(dir: &Path, what: &str, wanted: &str, known: Vec<&str>) -> Error {
    let near = nearest(wanted, &known).map_or(String::new(), |n| format!(", did you mean `{n}`?"));
    let title = format!("{}: there is no {what} `{wanted}`{near}", dir.display());
    Error::plain(title).help(format!("known: {}", known.join(", ")))
}

/// Why a point cannot be replayed; none: it can. No machine is built for it.
fn why_not(p: &Point) -> Option<String> {
    (0..p.repetitions).find_map(|r| machine::can_be(p, r).err())
}

/// Sizes at the end of a phase that are compared: those of zswap, as debugfs shows them, and of lists.
const GAUGES: &[&str] = &[
    "zswap_pool_pages",
    "zswap_stored_pages",
    "zswap_stored_incompressible_pages",
    "nr_unevictable",
    "nr_shmem",
    "nr_inactive_file",
    "nr_active_file",
];
/// Commands of points whose lists are compared.
const OF_LISTS: [&str; 4] = ["fadvise ", "mlock ", "direct ", "dontcache "];

/// Results of one replay: each recorded phase's counters.
struct Replay {
    /// By phase of the point and position in [`COUNTERS`]; none: the replay ended before.
    phases: Vec<Option<Vec<Option<u64>>>>,
    /// The same of [`GAUGES`], at its end.
    gauges: Vec<Option<Vec<u64>>>,
    /// Free blocks of order 9 at the end of each phase of the point.
    free_order9: Vec<Option<u64>>,
    /// Failed allocations of blocks on behalf of the kernel, in each phase.
    failed: Vec<Option<u64>>,
    /// Groups at the end of each phase of the point, if it has some.
    groups: Vec<groups::Groups>,
    /// Results of a monitor, by name.
    damon: Vec<(&'static str, f64)>,
    /// It ran out of memory.
    early: bool,
}

impl Replay {
    fn run(p: &Point, mut m: mmsim::machines::Machine) -> Replay {
        let free = Arc::new(Mutex::new(Vec::new()));
        let mut watch = Watch::default();
        let in_groups = Arc::new(Mutex::new(Vec::new()));
        let wanted = p.phases.iter().any(|x| !x.buddy_after.is_empty());
        if p.has_groups() {
            let all = in_groups.clone();
            watch.snapshot = Some(Box::new(move |name, s| {
                let name = name.map(str::to_string);
                all.lock().expect("one thread runs it").push((name, groups::simulated(s)));
            }));
        } else if wanted {
            let free = free.clone();
            watch.snapshot = Some(Box::new(move |name, s| {
                let of = |z: &ZoneSnapshot| -> u64 {
                    z.free_blocks.iter().map(|t| t[9] + 2 * t[10]).sum()
                };
                let blocks: u64 = s.zones.iter().map(of).sum();
                let name = name.map(str::to_string);
                free.lock().expect("one thread runs it").push((name, blocks));
            }));
        }
        let mut replay = Replay::of(p, &m.run(watch));
        for id in m.monitors() {
            replay.damon = damon::simulated(p, kdamond_of(&m, id));
        }
        let free = free.lock().expect("the run is over");
        let mut rest = free.iter();
        for (phase, of) in p.phases.iter().zip(&mut replay.free_order9) {
            let named = |(name, _): &&(Option<String>, u64)| name.as_deref() == Some(&phase.phase);
            *of = rest.find(named).map(|(_, blocks)| *blocks);
        }
        let in_groups = in_groups.lock().expect("the run is over");
        let mut rest = in_groups.iter();
        for phase in &p.phases {
            let named = |(name, _): &&(Option<String>, groups::Groups)| {
                name.as_deref() == Some(&phase.phase)
            };
            let found = rest.find(named);
            replay.groups.extend(found.map(|(_, groups)| groups.clone()));
        }
        replay
    }

    fn of(p: &Point, r: &RunResult) -> Replay {
        let names: Vec<String> = r.phases.iter().map(|x| x.name.clone()).collect();
        // A point that was read has been checked, but a replay that ended early has fewer.
        let numbers = check::snapshots(p, &names).unwrap_or_else(|_| {
            let mut from = 0;
            let next = |phase: &point::Phase| {
                let at = names.iter().skip(from).position(|n| *n == phase.phase)?;
                from += at + 1;
                Some(from - 1)
            };
            p.phases.iter().map_while(next).collect()
        });
        let counters = |i: usize| {
            let stat = &r.phases[*numbers.get(i)?].vmstat;
            // The model calls a counter of debugfs by its name with `sim_` before it.
            let of = |c: &&str| stat.by_name(c).or_else(|| stat.by_name(&format!("sim_{c}")));
            Some(COUNTERS.iter().map(of).collect())
        };
        let gauges = |i: usize| -> Option<Vec<u64>> {
            let all = &r.phases[*numbers.get(i)?].gauges;
            let of = |name: &&str| all.iter().find(|g| g.0 == *name).map_or(0, |g| g.1);
            Some(GAUGES.iter().map(of).collect())
        };
        Replay {
            phases: (0..p.phases.len()).map(counters).collect(),
            gauges: (0..p.phases.len()).map(gauges).collect(),
            free_order9: vec![None; p.phases.len()],
            failed: (0..p.phases.len())
                .map(|i| r.phases[*numbers.get(i)?].vmstat.by_name("sim_kernel_alloc_fail"))
                .collect(),
            groups: Vec::new(),
            damon: Vec::new(),
            early: r.outcome != Outcome::Completed,
        }
    }
}

fn row(
    e: &Experiment,
    p: &Point,
    phase: &point::Phase,
    counter: &str,
    recorded: [f64; 3],
    simulated: [f64; 3],
    repetitions: usize,
) -> PointRow {
    PointRow {
        experiment: e.experiment.clone(),
        point: p.id.clone(),
        kernel: p.kernel_series(),
        policy: p.lru.clone(),
        phase: phase.phase.clone(),
        counter: counter.to_string(),
        recorded: recorded[0],
        min: recorded[1],
        max: recorded[2],
        simulated: simulated[0],
        replays: [simulated[1], simulated[2]],
        rel_error: None,
        inside: false,
        repetitions: repetitions as u64,
    }
}

/// Recorded values of a phase besides counters, and those of the replays: free blocks, and in the
/// phase `asked` the result of the command before it.
fn further(p: &Point, phase: usize, replays: &[Replay]) -> Vec<(String, [f64; 3], f64)> {
    let mean = |of: &dyn Fn(&Replay) -> Option<u64>| -> Option<f64> {
        let all: Option<u64> = replays.iter().map(of).sum();
        all.map(|sum| sum as f64 / replays.len() as f64)
    };
    let mut rows = Vec::new();
    let mut rows_of_damon = Vec::new();
    let mut add = |name: &str, recorded: Option<[f64; 3]>, simulated: Option<f64>| {
        if let (Some(recorded), Some(simulated)) = (recorded, simulated) {
            rows.push((name.to_string(), recorded, simulated));
        }
    };
    let lists = p.script.iter().any(|l| OF_LISTS.iter().any(|c| l.starts_with(c)));
    let shares = p.script.iter().any(|l| l.split(' ').any(|word| word == "shmem"));
    let compared = |name: &str| match name {
        "nr_shmem" => shares,
        _ => lists || name.starts_with("zswap"),
    };
    for (i, name) in GAUGES.iter().enumerate().filter(|(_, name)| compared(name)) {
        let mut recorded = p.phases[phase].gauges.get(*name).map(|r| r.spread());
        if matches!(*name, "nr_unevictable" | "nr_shmem") {
            // The recorder's program and its ballast are locked from the start; the model has less
            // memory instead. Shared memory of the boot is not modelled.
            let start = p.phases[0].gauges.get(*name).map_or([0.0; 3], |r| r.spread());
            recorded = recorded.map(|r| [r[0] - start[0], r[1] - start[1], r[2] - start[2]]);
        }
        let simulated = mean(&|r| Some(r.gauges[phase].as_ref()?[i]));
        if recorded.is_some() || simulated.is_some_and(|n| n > 0.0) {
            add(name, Some(recorded.unwrap_or_default()), simulated);
        }
    }
    let free = mean(&|r| r.free_order9[phase]);
    add("free_order9", p.phases[phase].free_order9(), free);
    if phase + 1 == p.phases.len() {
        for (name, values) in damon::recorded(p) {
            let n = values.len() as f64;
            let spread = [
                values.iter().sum::<f64>() / n,
                values.iter().copied().fold(f64::INFINITY, f64::min),
                values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ];
            let of = |r: &Replay| r.damon.iter().find(|d| d.0 == name).map(|d| d.1);
            let all: Option<f64> = replays.iter().map(of).sum();
            // Nothing watches: a module that lost its scheme.
            let mean = all.map_or(0.0, |sum| sum / replays.len() as f64);
            rows_of_damon.push((name.to_string(), spread, mean));
        }
    }
    if p.phases[phase].phase == "asked" {
        let counted = |name: &str| {
            let c = COUNTERS.iter().position(|c| *c == name)?;
            mean(&|r| r.phases[phase].as_ref()?[c])
        };
        let got = counted("htlb_buddy_alloc_success");
        add("result.hugepool.got", p.result("hugepool", "got"), got);
        add("result.thp.got", p.result("thp", "got"), counted("thp_fault_alloc"));
        let tried = p.result("pring", "tried").map(|t| t[0]);
        let failed = mean(&|r| r.failed[phase]);
        let contiguous = tried.zip(failed).map(|(tried, failed)| tried - failed);
        add("result.pring.contiguous", p.result("pring", "contiguous"), contiguous);
    }
    rows.extend(rows_of_damon);
    rows
}

fn least(all: &[f64]) -> f64 {
    all.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(all: &[f64]) -> f64 {
    all.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Rows of the document, in order of the points.
#[derive(Default)]
struct Collected {
    rows: Vec<PointRow>,
    not_modelled: Vec<NotModelled>,
    unmodelled_counters: Vec<UnmodelledCounter>,
}

impl Collected {
    /// A row per compared phase and counter.
    fn point<'a>(&mut self, e: &Experiment, p: &Point, replays: &'a [Replay]) {
        for (i, phase) in p.phases.iter().enumerate().skip(p.first_compared()) {
            let ended: Vec<&Vec<Option<u64>>> =
                replays.iter().filter_map(|r| r.phases[i].as_ref()).collect();
            if ended.len() < replays.len() {
                let why = match replays.iter().any(|r| r.early) {
                    true => format!("the replay ran out of memory before `{}`", phase.phase),
                    false => format!("the replay has no phase `{}`", phase.phase),
                };
                let (experiment, point) = (e.experiment.clone(), p.id.clone());
                self.not_modelled.push(NotModelled { experiment, point, why });
                return;
            }
            for (c, &counter) in COUNTERS.iter().enumerate() {
                let recorded = phase.counters.get(counter).map_or([0.0; 3], |c| c.spread());
                let simulated: Option<Vec<u64>> = ended.iter().map(|r| r[c]).collect();
                let Some(all) = simulated else {
                    self.unmodelled(e, counter, recorded[0]);
                    continue;
                };
                let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
                let extreme = |n: Option<&u64>| n.map_or(mean, |n| *n as f64);
                let simulated = [mean, extreme(all.iter().min()), extreme(all.iter().max())];
                self.rows.push(row(e, p, phase, counter, recorded, simulated, replays.len()));
            }
            let before = |r: &'a Replay| i.checked_sub(1).and_then(|i| r.groups.get(i));
            let of = |r: &'a Replay| Some((r.groups.get(i)?, before(r)));
            let in_groups: Vec<_> = replays.iter().filter_map(of).collect();
            for c in groups::compared(phase, &in_groups) {
                let mean = c.simulated.iter().sum::<f64>() / c.simulated.len() as f64;
                let simulated = [mean, least(&c.simulated), most(&c.simulated)];
                let mut row = row(e, p, phase, c.name, c.recorded, simulated, replays.len());
                row.phase = format!("{} {}", phase.phase, c.path);
                self.rows.push(row);
            }
            for (name, recorded, simulated) in further(p, i, replays) {
                self.rows.push(row(e, p, phase, &name, recorded, [simulated; 3], replays.len()));
            }
            let unknown = phase.counters.iter().filter(|(c, _)| !COUNTERS.contains(&c.as_str()));
            for (counter, recorded) in unknown {
                self.unmodelled(e, counter, recorded.spread()[0]);
            }
        }
    }

    /// A counter that the model does not have. Where the kernel did not count either,
    /// nothing is missing.
    fn unmodelled(&mut self, e: &Experiment, counter: &str, recorded: f64) {
        if recorded == 0.0 {
            return;
        }
        let known = self
            .unmodelled_counters
            .iter_mut()
            .find(|u| u.experiment == e.experiment && u.counter == counter);
        match known {
            Some(u) => {
                u.phases += 1;
                u.largest = u.largest.max(recorded);
            }
            None => self.unmodelled_counters.push(UnmodelledCounter {
                experiment: e.experiment.clone(),
                counter: counter.to_string(),
                phases: 1,
                largest: recorded,
            }),
        }
    }
}
