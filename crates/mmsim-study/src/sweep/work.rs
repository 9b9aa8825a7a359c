//! Making the units of a shard.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::unit::{COUNTED, ToDo, count};
use super::{SweepPlan, UnitPlace};
use crate::attend::{Ahead, Making, RunOptions, Watcher};
use crate::plan::{Plan, Point, Sheet};
use crate::run::{RunError, one, or_panicked};
use crate::runner::Runner;
use crate::store::{Numbered, Shard, Store, UnitId};
use mmsim_base::error::Error;
use mmsim_language::host;
use mmsim_language::machines;
use mmsim_language::registry::Registry;
use mmsim_language::scenario::RunSpec;
use mmsim_language::scenario::sweep::Planned;
use mmsim_report::{Ending, RunReport};

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
/// A unit cannot be run as the plan has it, the store cannot be read or written, or the watcher
/// ended it. What was finished before is kept.
pub fn run(
    plan: &SweepPlan,
    store: &Path,
    shard: Shard,
    options: &RunOptions,
    watcher: &dyn Watcher,
) -> Result<Done, RunError> {
    let runner = Runner::watched(options, watcher);
    let looked = check(plan, &runner)?;
    let store = Store::open(store, plan.name(), shard)?;
    let done = store.done().clone();
    let (to_do, all) = count(plan, shard, &done)?;
    let jobs = runner.jobs().min(usize::try_from(to_do).unwrap_or(usize::MAX));
    let exact = plan.units() <= COUNTED;
    watcher.begins(&Ahead { exact, ..looked.ahead(to_do, all, jobs) });
    let under_way = UnderWay::of(plan, &options.registry);
    let units = Units { under_way: &under_way, to_do: ToDo::of(plan, shard, done) };
    runner.with_store(Some(store)).run(units)
}

/// The units of a shard as a plan.
struct Units<'a> {
    under_way: &'a UnderWay<'a>,
    to_do: ToDo<&'a SweepPlan>,
}

impl<'a> Plan for Units<'a> {
    type Point = Unit<'a>;
    type Found = Done;

    fn next(&mut self, _: &Sheet<Unit<'a>>) -> Result<Vec<Unit<'a>>, RunError> {
        let unit = self.to_do.next().transpose()?;
        Ok(unit.map(|unit| Unit::of(self.under_way, unit)).into_iter().collect())
    }

    fn streams(&self) -> bool {
        true
    }

    fn judge(self, _: Sheet<Unit<'a>>) -> Result<Done, RunError> {
        let [made, early, panicked] =
            self.under_way.ended.each_ref().map(|n| n.load(Ordering::Relaxed));
        Ok(Done { all: self.to_do.all(), made, early, panicked })
    }
}

/// Data that the units under way share.
struct UnderWay<'a> {
    plan: &'a SweepPlan,
    registry: &'a Registry,
    /// The last setting: seeds differ in nothing else, and follow one another.
    last: Mutex<Option<(UnitPlace, Arc<Planned<'a>>)>>,
    /// Units that were made, those that did not complete, and those in which the simulator failed.
    ended: [AtomicU64; 3],
}

impl<'a> UnderWay<'a> {
    fn of(plan: &'a SweepPlan, registry: &'a Registry) -> UnderWay<'a> {
        UnderWay { plan, registry, last: Mutex::default(), ended: Default::default() }
    }

    /// The run of a unit, with the first seed that asked for its setting.
    fn planned(&self, place: UnitPlace) -> Result<Arc<Planned<'a>>, Error> {
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(mut before, planned): (UnitPlace, Arc<Planned<'a>>)| {
            before.seed = place.seed;
            (before == place).then_some(planned)
        };
        if let Some(planned) = last().clone().and_then(same) {
            return Ok(planned);
        }
        let planned = Arc::new(sound(self.plan, place, self.registry)?);
        *last() = Some((place, Arc::clone(&planned)));
        Ok(planned)
    }
}

/// A unit, whose run is planned when it is made.
struct Unit<'a> {
    under_way: &'a UnderWay<'a>,
    unit: Numbered,
    spec: OnceLock<RunSpec>,
}

impl<'a> Unit<'a> {
    fn of(under_way: &'a UnderWay<'a>, unit: Numbered) -> Unit<'a> {
        Unit { under_way, unit, spec: OnceLock::new() }
    }
}

impl Point for Unit<'_> {
    type Made = RunReport;

    fn id(&self) -> Option<UnitId> {
        Some(self.unit.id)
    }

    fn number(&self) -> Option<u64> {
        Some(self.unit.n)
    }

    fn spec(&self) -> Option<&RunSpec> {
        self.spec.get()
    }

    fn make(&self, how: &Making<'_>) -> Result<RunReport, RunError> {
        let plan = self.under_way.plan;
        let place = plan.place(self.unit.n);
        let planned = self.under_way.planned(place)?;
        let run = || RunSpec { seed: place.seed, ..planned.spec.clone() };
        let spec = self.spec.get_or_init(run);
        let made = or_panicked(spec, one(spec, &[], &|_| how.watch(spec)));
        let (mut meta, result) = made.map_err(|error| match error {
            RunError::Input(error) => planned.placed("", error).into(),
            other => other,
        })?;
        meta.scenario = scenario_of(plan, place.scenario).map(str::to_string);
        let report = RunReport::from_result(meta, &result);
        let [made, early, panicked] = &self.under_way.ended;
        made.fetch_add(1, Ordering::Relaxed);
        early.fetch_add((!report.outcome.is_whole()).into(), Ordering::Relaxed);
        panicked.fetch_add((report.outcome == Ending::Panicked).into(), Ordering::Relaxed);
        Ok(report)
    }
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
fn check(plan: &SweepPlan, runner: &Runner<'_>) -> Result<Looked, Error> {
    let jobs = runner.jobs();
    let mut looked = Looked::default();
    let mut largest: Vec<(u64, RunSpec)> = Vec::new();
    let mut look = |place: UnitPlace| -> Result<(), Error> {
        let spec = askable(plan, place, runner.registry())?.spec;
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
pub(super) fn sound<'a>(
    plan: &'a SweepPlan,
    place: UnitPlace,
    registry: &Registry,
) -> Result<Planned<'a>, Error> {
    let planned = plan.planned(place, registry)?;
    match machines::sound(&planned.spec) {
        Ok(()) => Ok(planned),
        Err((path, error)) => Err(planned.placed(&path, error)),
    }
}

/// A unit that can have what its scenario expects of it.
fn askable<'a>(
    plan: &'a SweepPlan,
    place: UnitPlace,
    registry: &Registry,
) -> Result<Planned<'a>, Error> {
    let planned = sound(plan, place, registry)?;
    match machines::askable(plan.expectations(place.scenario).0, &planned.spec) {
        Ok(()) => Ok(planned),
        Err((path, error)) => Err(planned.placed(&path, error)),
    }
}

/// The report of the unit of this number.
pub(super) fn report_of(
    plan: &SweepPlan,
    n: u64,
    options: &RunOptions,
) -> Result<RunReport, RunError> {
    let under_way = UnderWay::of(plan, &options.registry);
    let unit = Unit::of(&under_way, Numbered { id: id_at(plan, n)?, n });
    Runner::new(options).one(&unit)
}

/// Makes one unit, for who spreads them over processes of his own: the report as JSON on one line, the
/// unit's name in front, which [`made`] takes.
///
/// # Errors
///
/// The plan has no such unit, or the unit cannot be run as the plan has it.
pub fn make(plan: &SweepPlan, n: u64, options: &RunOptions) -> Result<Vec<u8>, RunError> {
    if n >= plan.units() {
        let title = format!("unit {n}: the plan has {} units, the first is 0", plan.units());
        return Err(Error::of_option(title).into());
    }
    let mut json = before_report(id_at(plan, n)?).into_bytes();
    let report = serde_json::to_vec(&report_of(plan, n, options)?);
    json.extend_from_slice(&report.expect("a report is plain data")[1..]);
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

/// The report of a unit that [`make`] made, as a store keeps it.
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
