//! Making the units of a shard.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use mmsim_core::machine::Watch;

use super::store::Writer;
use super::unit::{COUNTED, Numbered, ToDo, UnitId, count};
use super::{Shard, Stored, SweepPlan, UnitPlace};
use crate::run::{CHECK_EVERY, RunError, or_panicked, run_one};
use mmsim_base::error::Error;
use mmsim_language::host;
use mmsim_language::machines::{self, Catalogue};
use mmsim_language::scenario::RunSpec;
use mmsim_language::scenario::sweep::Planned;
use mmsim_report::{Ending, RunReport};

/// Options of a sweep.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SweepOptions {
    /// Units at the same time; `None`: one per CPU of the host.
    pub jobs: Option<usize>,
    /// Which part of the sweep.
    pub shard: Shard,
    /// Audit all invariants as units run.
    pub check: bool,
}

impl Default for SweepOptions {
    fn default() -> Self {
        SweepOptions { jobs: None, shard: Shard::ALL, check: false }
    }
}

/// Hears how a sweep goes, from any thread. What it does changes no result.
pub trait Watcher: Sync {
    /// The plan and the store were looked at, and no unit was made yet.
    fn begins(&self, ahead: &Ahead) {
        let _ = ahead;
    }
    /// A unit has ended and is kept; its label says which.
    fn finished(&self, label: &str) {
        let _ = label;
    }
}

impl Watcher for () {}

/// Amount of work ahead of a sweep, as far as plan and scenarios tell, without a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Ahead {
    /// Units that are to do.
    pub to_do: u64,
    /// Units of the shard.
    pub all: u64,
    /// False if these are upper bounds, as of a plan of more than [`COUNTED`] units: equal ones run
    /// once.
    pub exact: bool,
    /// Units at the same time.
    pub jobs: u64,
    /// Bytes of memory for these, about.
    pub memory: u64,
    /// Bytes by which the store grows, about.
    pub disk: u64,
    /// Accesses of all that is to do, about; `None`: the work of some units ends by the clock, or
    /// by a file.
    pub accesses: Option<u64>,
}

/// Result of a sweep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Done {
    /// Units of the shard.
    pub all: u64,
    /// Units that were made now; the others were there.
    pub made: u64,
    /// Number of those that did not complete: out of memory, stuck, or panicked.
    pub early: u64,
    /// Number of those in which the simulator failed.
    pub panicked: u64,
}

/// Settings up to which each is checked before the first unit runs. Of more settings each written
/// value is checked once.
const CHECKED: u64 = 64;

/// Makes all units of a shard that `store` does not hold, in the order of the plan, and keeps
/// each as it ends. A store of other numbers of shards is gone on with: what any of its shards
/// holds is done.
///
/// # Errors
///
/// A unit cannot be run as the plan has it, or the store cannot be read or written. What was
/// finished before is kept.
pub fn run(
    plan: &SweepPlan,
    store: &Path,
    options: &SweepOptions,
    watcher: &dyn Watcher,
) -> Result<Done, Error> {
    let all_cpus = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let jobs = options.jobs.unwrap_or_else(all_cpus).max(1);
    let looked = check(plan, jobs)?;
    let shard = options.shard;
    let (writer, mut done) = Writer::open(store, plan.name(), shard)?;
    done.append(&mut elsewhere(plan, store, shard)?);
    let (to_do, all) = count(plan, shard, &done)?;
    let jobs = jobs.min(usize::try_from(to_do).unwrap_or(usize::MAX));
    let exact = plan.units() <= COUNTED;
    watcher.begins(&Ahead { exact, ..looked.ahead(to_do, all, jobs) });

    let work = Work {
        plan,
        to_do: Mutex::new(ToDo::of(plan, shard, done)),
        stop: AtomicBool::new(false),
        kept: Mutex::new((writer, Done::default())),
        failed: Mutex::new(None),
        check: options.check,
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs {
            scope.spawn(|| work.go(watcher));
        }
        work.go(watcher);
    });
    let (writer, mut done) = work.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.all = work.to_do.into_inner().unwrap_or_else(PoisonError::into_inner).all();
    let finished = writer.finish();
    match work.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => finished.map(|()| done),
    }
}

/// Units that shards of another number of shards hold.
fn elsewhere(plan: &SweepPlan, store: &Path, shard: Shard) -> Result<BTreeSet<UnitId>, Error> {
    let shards = super::store::Files::all(store)?;
    if shards.iter().all(|f| f.shard.of == shard.of) {
        return Ok(BTreeSet::new());
    }
    let stored = Stored::open(store, Some(plan.name()))?;
    Ok(stored.by_number().into_iter().map(|unit| unit.id).collect())
}

/// Units that are looked at before the first runs, at most: about a second's work.
const LOOKED: u64 = 4096;

/// Bytes of a store for each byte of a report: lines without blanks, much alike, packed together.
/// Sweeps over heaps, phases, groups and configurations of masim took 0.019 to 0.029.
const PACKED: f64 = 0.03;

/// Needs of units that were looked at.
#[derive(Debug, Default)]
struct Looked {
    units: u64,
    accesses: Option<u64>,
    reports: u64,
    /// Bytes of memory of those that need most, the largest first.
    memory: Vec<u64>,
}

impl Looked {
    fn add(&mut self, spec: &RunSpec) {
        let one = host::estimate(std::slice::from_ref(spec), Some(1));
        let before = if self.units == 0 { Some(0) } else { self.accesses };
        self.accesses = before.zip(one.accesses).map(|(sum, n)| sum.saturating_add(n));
        self.units += 1;
        self.reports += one.report;
    }

    /// Needs of `to_do` units, if the others are like these.
    fn ahead(&self, to_do: u64, all: u64, jobs: usize) -> Ahead {
        let share = to_do as f64 / self.units.max(1) as f64;
        Ahead {
            to_do,
            all,
            exact: true,
            jobs: jobs as u64,
            memory: self.memory.iter().take(jobs).sum(),
            disk: (self.reports as f64 * PACKED * share) as u64,
            accesses: self.accesses.map(|n| (n as f64 * share) as u64),
        }
    }
}

/// Looks at units before any runs: a mistake in the last one costs no time.
fn check(plan: &SweepPlan, jobs: usize) -> Result<Looked, Error> {
    let mut looked = Looked::default();
    let mut largest: Vec<(u64, RunSpec)> = Vec::new();
    let mut look = |place: UnitPlace| -> Result<(), Error> {
        let spec = askable(plan, place)?.spec;
        looked.add(&spec);
        largest.push((host::need(&spec).memory, spec));
        if largest.len() > jobs.max(8) * 2 {
            largest.sort_by_key(|l| std::cmp::Reverse(l.0));
            largest.truncate(jobs);
        }
        Ok(())
    };
    let every = plan.settings() <= CHECKED;
    for scenario in 0..plan.scenarios().len() {
        let settings: Vec<u64> = match every {
            true => (0..plan.settings_of(scenario)).collect(),
            false => plan.corners(scenario),
        };
        let variants = plan.variants(scenario).count();
        // Of very many each is met, if not each with each.
        let each = settings.len() as u64 * variants as u64 <= LOOKED;
        for (nth, &setting) in settings.iter().enumerate() {
            let variants = if each || nth == 0 { variants } else { 1 };
            for variant in 0..variants {
                let seed = plan.seed_of(scenario);
                look(UnitPlace::new(scenario, setting, variant, seed))?;
            }
        }
    }
    largest.sort_by_key(|l| std::cmp::Reverse(l.0));
    looked.memory = largest.iter().map(|l| l.0).collect();
    let specs: Vec<RunSpec> = largest.into_iter().map(|l| l.1).collect();
    host::check(&specs, Some(jobs))?;
    Ok(looked)
}

/// A unit that can be built.
pub(super) fn sound(plan: &SweepPlan, place: UnitPlace) -> Result<Planned<'_>, Error> {
    let planned = plan.planned(place, &Catalogue)?;
    match machines::sound(&planned.spec) {
        Ok(()) => Ok(planned),
        Err((path, error)) => Err(planned.placed(&path, error)),
    }
}

/// A unit that can have what its scenario expects of it.
fn askable(plan: &SweepPlan, place: UnitPlace) -> Result<Planned<'_>, Error> {
    let planned = sound(plan, place)?;
    match machines::askable(plan.expectations(place.scenario).0, &planned.spec) {
        Ok(()) => Ok(planned),
        Err((path, error)) => Err(planned.placed(&path, error)),
    }
}

/// The report of a unit. A run that panics has one too.
pub(super) fn report_of(
    planned: &Planned<'_>,
    scenario: Option<&str>,
    check: bool,
) -> Result<RunReport, Error> {
    let watch = |_: usize, _: &machines::Machine| {
        Watch::default().with_check_every(if check { CHECK_EVERY } else { 0 })
    };
    match or_panicked(&planned.spec, run_one(0, &planned.spec, &watch)) {
        Ok((mut meta, result)) => {
            meta.scenario = scenario.map(str::to_string);
            Ok(RunReport::from_result(meta, &result))
        }
        Err(RunError::Input(error)) => Err(planned.placed("", error)),
        Err(other) => Err(Error::plain(other.to_string())),
    }
}

/// Makes one unit, for who spreads them over processes of his own: the report as JSON on one line, the
/// unit's name in front, which [`made`] takes.
///
/// # Errors
///
/// The plan has no such unit, or the unit cannot be run as the plan has it.
pub fn make(plan: &SweepPlan, n: u64, check: bool) -> Result<Vec<u8>, Error> {
    if n >= plan.units() {
        let title = format!("unit {n}: the plan has {} units, the first is 0", plan.units());
        return Err(Error::of_option(title));
    }
    let place = plan.place(n);
    let planned = sound(plan, place)?;
    let report = report_of(&planned, scenario_of(plan, place.scenario), check)?;
    let mut json = before_report(id_at(plan, n)?).into_bytes();
    let report = serde_json::to_vec(&report).expect("a report is plain data");
    json.extend_from_slice(&report[1..]);
    Ok(json)
}

/// The start of a unit's JSON, which its report goes on.
fn before_report(id: UnitId) -> String {
    format!("{{\"unit\":\"{id}\",")
}

/// The name of a unit of a plan.
fn id_at(plan: &SweepPlan, n: u64) -> Result<UnitId, Error> {
    let pieces = plan.pieces(n..n + 1);
    Ok(UnitId(plan.ids(&pieces[0])?[0]))
}

/// The report of a unit that [`make`] made, as [`Writer::keep`] takes it.
///
/// # Errors
///
/// The text is no report, or that of another unit: of another seed or setting, of a scenario or a file
/// that has changed since, or of another version of mmsim.
pub fn made(plan: &SweepPlan, unit: Numbered, json: &str) -> Result<Vec<u8>, Error> {
    let wrong = |what: &str| {
        let title = format!("unit {}: {what}", unit.n);
        Error::of_option(title).help("keep what `make` gave for this unit of this plan")
    };
    let Some(rest) = json.strip_prefix(before_report(unit.id).as_str()) else {
        let named = json.strip_prefix("{\"unit\":\"").and_then(|rest| rest.get(..32));
        return Err(match named.and_then(UnitId::parse) {
            Some(id) => wrong(&format!("the result is of unit {id}, and this is {}", unit.id)),
            None => wrong("the text is no result of a unit"),
        });
    };
    let report = format!("{{{rest}");
    let read: RunReport = serde_json::from_str(&report)
        .map_err(|e| wrong(&format!("the result is no report of mmsim: {e}")))?;
    let place = plan.place(unit.n);
    let axes = plan.axes_at(unit.n);
    let of_place = read.seed == place.seed
        && Some(read.variant.as_str()) == plan.variants(place.scenario).nth(place.variant)
        && read.scenario.as_deref() == scenario_of(plan, place.scenario)
        && read
            .axes
            .iter()
            .map(|(k, v)| (k, v.as_str()))
            .eq(axes.iter().map(|(k, v)| (&**k, &**v)));
    match of_place && !report.contains('\n') {
        true => Ok(report.into_bytes()),
        false => Err(wrong("the report is of another run")),
    }
}

/// The name of a scenario in reports: said where a plan has several.
pub(super) fn scenario_of(plan: &SweepPlan, scenario: usize) -> Option<&str> {
    let names = plan.scenarios();
    (names.len() > 1).then(|| names[scenario])
}

struct Work<'a> {
    plan: &'a SweepPlan,
    to_do: Mutex<ToDo<&'a SweepPlan>>,
    stop: AtomicBool,
    kept: Mutex<(Writer, Done)>,
    failed: Mutex<Option<Error>>,
    check: bool,
}

impl<'a> Work<'a> {
    fn go(&self, watcher: &dyn Watcher) {
        // Seeds differ in nothing else, and follow one another.
        let mut last: Option<(UnitPlace, Planned<'a>)> = None;
        while !self.stop.load(Ordering::Relaxed)
            && let Some(unit) = self.next()
        {
            if let Err(error) = unit.and_then(|unit| self.one(unit, &mut last, watcher)) {
                self.stop.store(true, Ordering::Relaxed);
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(error);
            }
        }
    }

    fn next(&self) -> Option<Result<Numbered, Error>> {
        self.to_do.lock().unwrap_or_else(PoisonError::into_inner).next()
    }

    fn one(
        &self,
        unit: Numbered,
        last: &mut Option<(UnitPlace, Planned<'a>)>,
        watcher: &dyn Watcher,
    ) -> Result<(), Error> {
        let place = self.plan.place(unit.n);
        let same = |mut before: UnitPlace| {
            before.seed = place.seed;
            before == place
        };
        match last {
            Some((before, planned)) if same(*before) => planned.spec.seed = place.seed,
            _ => *last = Some((place, sound(self.plan, place)?)),
        }
        let Some((_, planned)) = last else { return Ok(()) };
        let scenario = scenario_of(self.plan, place.scenario);
        let report = report_of(planned, scenario, self.check)?;
        let json = serde_json::to_vec(&report).expect("a report is plain data");
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0.keep(unit.id, unit.n, &json)?;
        kept.1.made += 1;
        kept.1.early += u64::from(!report.outcome.is_whole());
        kept.1.panicked += u64::from(report.outcome == Ending::Panicked);
        drop(kept);
        watcher.finished(&planned.spec.label());
        Ok(())
    }
}
