//! One run of an evaluation, as numbers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{MachineConfig, MemcgConfig};
use mmsim_core::machine::result::{Outcome, RunResult};
use mmsim_core::machine::{MOST_RECORDED, Machine};
use mmsim_core::memory::Memory;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_core::policy::chooser::ChooserResult;
use mmsim_why::{Class, Settings, Verdicts};
use serde::{Deserialize, Serialize};

use super::fetches::Again;
use crate::attend::Making;
use crate::plan::Point;
use crate::run::{RunError, cancel, caught};
use crate::store::{UnitId, id_of};
use mmsim_language::machines;
use mmsim_language::scenario::RunSpec;
use mmsim_language::scenario::workload::TaskSpec;
use mmsim_report::opt;

/// A policy of the caller's own, as evaluations run it.
pub trait Author: Sync {
    /// Its name in results.
    fn name(&self) -> &str;

    /// Makes the policy for one run. It has the memory to create its lists in and nothing else: no
    /// seed, no clock. What it costs and why it cannot go on, it tells the meter.
    fn create(&self, mem: &mut Memory, meter: Arc<Meter>) -> Box<dyn ReclaimPolicy>;

    /// A digest of all that decides what it does. A store knows its runs by it; `None`: no store
    /// keeps them.
    fn digest(&self) -> Option<u64> {
        None
    }
}

/// Cost of a policy of the caller's own in one run.
#[derive(Debug, Default)]
pub struct Meter {
    calls: AtomicU64,
    fuel: AtomicU64,
    failure: Mutex<Option<String>>,
}

impl Meter {
    /// Counts `calls` calls of a function, which took `fuel` fuel.
    pub fn count(&self, calls: u64, fuel: u64) {
        self.calls.fetch_add(calls, Ordering::Relaxed);
        self.fuel.fetch_add(fuel, Ordering::Relaxed);
    }

    /// Ends the run: the policy cannot go on, for this reason.
    pub fn fail(&self, why: String) -> ! {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        cancel()
    }
}

/// Measurements of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Pages that were fetched again.
    pub(super) fetches: u64,
    /// Those of MIN on the same accesses, with all frames that there are.
    pub(super) min: u64,
    /// Refaults by the classes of [`Class::ALL`].
    pub(super) causes: Vec<u64>,
    pub(super) accesses: u64,
    pub(super) records: u64,
    pub(super) calls: u64,
    pub(super) fuel: u64,
    /// Folios that a policy of cache_ext offered; none: there was no policy.
    #[serde(default)]
    pub(super) offers: Option<Offers>,
    /// Why it did not do all of its work.
    pub(super) unfinished: Option<String>,
    /// The simulator failed.
    pub(super) panicked: bool,
}

/// Folios that policies of cache_ext offered, in all groups of some runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Offers {
    /// Calls for folios.
    pub asks: u64,
    /// Folios that were offered.
    pub offered: u64,
    /// Folios of these that were evicted.
    pub evicted: u64,
    /// Folios of these that stayed, since they could not go.
    pub refused: u64,
    /// File folios of the groups that the LRU evicted behind the policies.
    pub fallback: u64,
}

impl Offers {
    /// Adds those of another run.
    pub(super) fn add(&mut self, other: &Offers) {
        self.asks += other.asks;
        self.offered += other.offered;
        self.evicted += other.evicted;
        self.refused += other.refused;
        self.fallback += other.fallback;
    }
}

/// A run, with a policy of the caller's own if there is one. What is made of it is an error if that
/// policy cannot go on.
pub(super) struct Run<'a> {
    pub(super) spec: RunSpec,
    pub(super) author: Option<&'a dyn Author>,
}

impl Point for Run<'_> {
    type Made = Result<Measured, String>;

    fn id(&self) -> Option<UnitId> {
        let digest = match self.author {
            Some(author) => Some(author.digest()?),
            None => None,
        };
        Some(id_of(&self.spec, &("evaluate", digest)))
    }

    fn spec(&self) -> Option<&RunSpec> {
        Some(&self.spec)
    }

    fn make(&self, how: &Making<'_>) -> Result<Self::Made, RunError> {
        let spec = &self.spec;
        let meter = Arc::new(Meter::default());
        let run = || {
            let mut machine = match self.author {
                Some(a) => machines::machine_with(spec, |mem| a.create(mem, Arc::clone(&meter)))?,
                None => machines::machine(spec)?,
            };
            let again = Again::default();
            let (count, (engine, told)) =
                (again.count(), machines::engine(&machine, Settings::default()));
            let watch = how
                .watch(spec)
                .with_record_accesses(true)
                .with_observer(Box::new(again))
                .with_follower(engine);
            let result = machine.run(watch);
            let again = count.load(Ordering::Relaxed);
            Ok(figures(spec, &machine, &result, again, &told.take().unwrap_or_default()))
        };
        match caught(spec, run) {
            Ok(mut measured) => {
                measured.calls += meter.calls.load(Ordering::Relaxed);
                measured.fuel += meter.fuel.load(Ordering::Relaxed);
                Ok(Ok(measured))
            }
            Err(RunError::Invariant { message, .. }) => Ok(Ok(Measured {
                unfinished: Some(format!("mmsim failed: {message}")),
                panicked: true,
                ..Measured::default()
            })),
            Err(RunError::Cancelled) => {
                let why = meter.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
                why.map(Err).ok_or(RunError::Cancelled)
            }
            Err(error) => Err(error),
        }
    }
}

fn figures(
    spec: &RunSpec,
    machine: &Machine,
    result: &RunResult,
    again: u64,
    verdicts: &Verdicts,
) -> Measured {
    let accesses = machine.recorded_accesses();
    let unfinished = match &result.outcome {
        Outcome::Completed if accesses.len() >= MOST_RECORDED => {
            Some(format!("there are more than {MOST_RECORDED} accesses, and MIN needs them all"))
        }
        Outcome::Completed if result.vmstat[VmEvent::OomKill] > 0 => {
            Some("out of memory: a process was killed".to_string())
        }
        Outcome::Completed => without_score(&result.choosers),
        Outcome::OutOfMemory(_) => Some("out of memory".to_string()),
        _ => Some("stuck".to_string()),
    };
    let frames = frames(spec).max(result.peak_resident);
    let min = match unfinished {
        None => opt::bounds(accesses, frames, false).sim_opt_refetches,
        Some(_) => 0,
    };
    Measured {
        fetches: result.vmstat[VmEvent::PswpIn] + again,
        min,
        causes: Class::ALL.iter().map(|&class| verdicts.count(|c| c.class == class)).collect(),
        accesses: result.accesses,
        records: result.records,
        calls: tallied(result, "calls_"),
        fuel: tallied(result, "fuel_"),
        offers: offers(&result.choosers),
        unfinished,
        ..Measured::default()
    }
}

/// Reason for which a run with these choosers has no score. After a chooser is detached, the LRU does
/// the rest; and pages that `admit_folio` sends past the cache are fetched without being counted.
fn without_score(choosers: &[ChooserResult]) -> Option<String> {
    let detached = choosers.iter().find_map(|c| c.stopped.as_ref());
    let admits = |c: &&ChooserResult| c.tallies.iter().any(|t| t.0 == ADMITS && t.1 > 0);
    match (detached, choosers.iter().find(admits)) {
        (Some(why), _) => Some(format!("the policy was detached: {why}")),
        (None, Some(c)) => {
            let name = &c.name;
            Some(format!(
                "`{name}` has `admit_folio`, and pages read past the cache are not counted"
            ))
        }
        (None, None) => None,
    }
}

/// Calls of the hook that may send a read past the cache.
const ADMITS: &str = "calls_admit_folio";

/// The sum of the counts of choosers whose names begin with a word.
fn tallied(result: &RunResult, word: &str) -> u64 {
    let all = result.choosers.iter().flat_map(|c| &c.tallies);
    all.filter(|(name, _)| name.starts_with(word)).map(|(_, n)| n).sum()
}

fn offers(choosers: &[ChooserResult]) -> Option<Offers> {
    let mut all = None;
    for ChooserResult { counts: c, .. } in choosers {
        let refused = c.all_refused();
        let (asks, offered, evicted, fallback) = (c.asks, c.offered, c.evicted, c.fallback);
        let one = Offers { asks, offered, evicted, refused, fallback };
        all.get_or_insert_with(Offers::default).add(&one);
    }
    all
}

/// Frames that can hold pages: those of the limits, if all tasks run in groups with a limit, and no
/// more than the machine has.
fn frames(spec: &RunSpec) -> u64 {
    let groups = &spec.machine.memcgs;
    let limit = |task: &TaskSpec| {
        let path = task.memcg.as_deref()?;
        let above = |g: &MemcgConfig| path.strip_prefix(&*g.name).is_some_and(is_below);
        let limited = groups.iter().filter(|g| above(g) && g.max.is_some());
        let nearest = limited.max_by_key(|g| g.name.len())?;
        Some((&*nearest.name, nearest.max?))
    };
    let limits: Option<BTreeMap<&str, u64>> = spec.tasks.iter().map(limit).collect();
    let all = frames_of(&spec.machine);
    limits.map_or(all, |limits| all.min(limits.values().sum()))
}

/// True for what is left of a path of a group behind that of itself, or of a group above it.
fn is_below(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

/// Frames of a machine that can hold pages, whatever reclaim keeps free.
fn frames_of(machine: &MachineConfig) -> u64 {
    let zones = machine.nodes.iter().flat_map(|n| &n.zones);
    let free = zones.map(|z| match (&z.layout, z.free_at_start) {
        (None, Some(free)) => u64::from(z.managed.min(free + z.pcp_at_start)),
        _ => u64::from(z.managed),
    });
    free.sum::<u64>().saturating_sub(machine.os_overhead)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neither a policy that answers for reads nor one that was detached has a score.
    #[test]
    fn policies_without_a_score() {
        let of = |asks: u64, stopped: Option<&str>| ChooserResult {
            name: "p".to_string(),
            group: String::new(),
            counts: Default::default(),
            tallies: vec![("calls_init", 1), (ADMITS, asks)],
            stopped: stopped.map(str::to_string),
        };
        let (sound, admits) = (of(0, None), of(3, None));
        assert_eq!(without_score(&[]), None);
        assert_eq!(without_score(std::slice::from_ref(&sound)), None);
        let why = without_score(&[sound.clone(), admits]).expect("a reason");
        assert!(why.starts_with("`p` has `admit_folio`"), "{why}");
        let why = without_score(&[sound, of(3, Some("it traps"))]);
        assert_eq!(why.as_deref(), Some("the policy was detached: it traps"));
    }
}
