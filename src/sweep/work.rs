//! Making the units of a shard.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use mmsim_core::machine::Watch;

use super::store::Writer;
use super::unit::{Numbered, UnitId, units_of};
use super::{Shard, Stored, SweepPlan, UnitPlace};
use crate::error::Error;
use crate::host;
use crate::machines::{self, Catalogue};
use crate::report::{Ending, RunReport};
use crate::run::{CHECK_EVERY, RunError, or_panicked, run_one};
use crate::scenario::RunSpec;
use crate::scenario::sweep::Planned;

/// How a sweep is run.
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
    /// The plan was looked through: so many units are to do, of so many of the shard.
    fn begins(&self, to_do: u64, all: u64) {
        let _ = (to_do, all);
    }
    /// A unit has ended and is kept; its label says which.
    fn finished(&self, label: &str) {
        let _ = label;
    }
}

impl Watcher for () {}

/// What a sweep came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Done {
    /// Units of the shard.
    pub all: u64,
    /// Units that were made now; the others were there.
    pub made: u64,
    /// Of those, units that did not complete: out of memory, stuck, or panicked.
    pub early: u64,
    /// Of those, units in which the simulator failed.
    pub panicked: u64,
}

/// Settings up to which each is checked before the first unit runs. Of more, each value that
/// somebody wrote is.
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
    check(plan, jobs)?;
    let shard = options.shard;
    let (writer, mut done) = Writer::open(store, plan.name(), shard)?;
    done.append(&mut elsewhere(plan, store, shard)?);
    let (units, all) = units_of(plan, shard, &done)?;
    drop(done);
    watcher.begins(units.len() as u64, all);

    let work = Work {
        plan,
        units: &units,
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        kept: Mutex::new((writer, Done { all, ..Done::default() })),
        failed: Mutex::new(None),
        check: options.check,
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(units.len()) {
            scope.spawn(|| work.go(watcher));
        }
        work.go(watcher);
    });
    let (writer, done) = work.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
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

/// Looks at units before any runs: a mistake in the last one costs no time.
fn check(plan: &SweepPlan, jobs: usize) -> Result<(), Error> {
    let mut largest: Vec<(u64, RunSpec)> = Vec::new();
    let mut look = |place: UnitPlace| -> Result<(), Error> {
        let spec = askable(plan, place)?.spec;
        largest.push((host::need(&spec).memory, spec));
        if largest.len() > jobs.max(8) * 2 {
            largest.sort_by_key(|l| std::cmp::Reverse(l.0));
            largest.truncate(jobs);
        }
        Ok(())
    };
    let every = plan.settings() <= CHECKED;
    for scenario in 0..plan.scenarios().len() {
        let settings: Box<dyn Iterator<Item = u64>> = match every {
            true => Box::new(0..plan.settings_of(scenario)),
            false => Box::new(plan.corners(scenario).into_iter()),
        };
        for setting in settings {
            for variant in 0..plan.variants(scenario).count() {
                let seed = plan.seed_of(scenario);
                look(UnitPlace { scenario, setting, variant, seed })?;
            }
        }
    }
    let specs: Vec<RunSpec> = largest.into_iter().map(|l| l.1).collect();
    host::check(&specs, Some(jobs))
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

/// Makes one unit, for who spreads them over processes of his own: the report as JSON on one line,
/// which [`Writer::keep`] takes.
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
    Ok(serde_json::to_vec(&report).expect("a report is plain data"))
}

/// The name of a scenario in reports: said where a plan has several.
pub(super) fn scenario_of(plan: &SweepPlan, scenario: usize) -> Option<&str> {
    let names = plan.scenarios();
    (names.len() > 1).then(|| names[scenario])
}

struct Work<'a> {
    plan: &'a SweepPlan,
    units: &'a [Numbered],
    next: AtomicUsize,
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
            && let Some(unit) = self.units.get(self.next.fetch_add(1, Ordering::Relaxed))
        {
            if let Err(error) = self.one(*unit, &mut last, watcher) {
                self.stop.store(true, Ordering::Relaxed);
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(error);
            }
        }
    }

    fn one(
        &self,
        unit: Numbered,
        last: &mut Option<(UnitPlace, Planned<'a>)>,
        watcher: &dyn Watcher,
    ) -> Result<(), Error> {
        let place = self.plan.place(unit.n);
        let same = |before: &UnitPlace| UnitPlace { seed: place.seed, ..*before } == place;
        match last {
            Some((before, planned)) if same(before) => planned.spec.seed = place.seed,
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
