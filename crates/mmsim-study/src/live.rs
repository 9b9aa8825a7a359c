//! A run that goes on step by step: look at it, turn a knob, go on.
//!
//! An untouched run gives the report of [`run`](crate::run()): pauses change nothing.
//!
//! ```
//! # mod mmsim {
//! #     pub use mmsim_core::base;
//! #     pub use mmsim_language::{Scenario, machines};
//! #     pub use mmsim_study::{RunError, live};
//! # }
//! use mmsim::Scenario;
//! use mmsim::base::time::SimTime;
//! use mmsim::live::Live;
//!
//! let text = r#"
//!     machine = { memory = "8MiB", swap = { size = "64MiB", device = "zram" } }
//!     task = [{ workload = "zipf", memory = "12MiB", accesses = 20000, write-permille = 300 }]
//! "#;
//! let scenario = Scenario::from_str(text, "zipf.toml")?;
//! let spec = mmsim::machines::specs(&scenario)?.remove(0);
//! let mut live = Live::new(scenario, spec)?;
//! live.go_on(SimTime(2_000_000))?;
//! let swap_ins = live.counters().0[mmsim::base::vmstat::VmEvent::PswpIn];
//! live.set("machine.vm.swappiness", "10")?;
//! let report = live.finish()?;
//! assert!(swap_ins < *report.runs[0].vmstat.get("pswpin").unwrap());
//! # Ok::<(), mmsim::RunError>(())
//! ```

use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimTime;
use mmsim_core::base::vmstat::VmStat;
use mmsim_core::machine::snapshot::Snapshot;
use mmsim_core::machine::{Machine, TaskConfig, Watch};
use mmsim_core::workload::{Op, Workload, WorkloadCx};

use crate::run::{Begun, RunError, caught};
use crate::whole::assembled;
use mmsim_base::error::Error;
use mmsim_language::machines;
use mmsim_language::scenario::{RunSpec, Scenario};
use mmsim_report::Report;

/// The pool of huge pages is filled before anything runs. All other sysctls may change while a machine
/// runs; a thread that allocates can fill the pool too (`do = "sysctl"`).
const OF_THE_START: [&str; 1] = ["nr_hugepages"];

/// One run of a scenario that goes on step by step.
pub struct Live {
    scenario: Scenario,
    spec: RunSpec,
    begun: Begun,
    now: SimTime,
    ended: bool,
    /// Changes made to it, for its report.
    done: Vec<(String, String)>,
}

impl Live {
    /// Begins a run of a scenario.
    ///
    /// # Errors
    ///
    /// It cannot be built.
    pub fn new(scenario: Scenario, spec: RunSpec) -> Result<Live, RunError> {
        let mut begun = Begun::new(&spec, machines::machine(&spec)?, &|_| Watch::default());
        begun.machine.begin(std::mem::take(&mut begun.watch));
        let (now, ended, done) = (SimTime::ZERO, false, Vec::new());
        Ok(Live { scenario, spec, begun, now, ended, done })
    }

    /// Goes on until everything that begins before or at this instant was done, or to the end. True:
    /// there is more to do. An instant that is past changes nothing.
    ///
    /// # Errors
    ///
    /// An invariant is broken. The run is of no use any more.
    pub fn go_on(&mut self, until: SimTime) -> Result<bool, RunError> {
        if !self.ended && until > self.now {
            let machine = &mut self.begun.machine;
            self.ended = !caught(&self.spec, || Ok(machine.go_on(until)))?;
            self.now = if self.ended { machine.end() } else { until };
        }
        Ok(!self.ended)
    }

    /// Where it stands: the instant that it went on to, or its end.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// True if there is nothing more to do.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The run: its variant, axes and seed.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.begun.machine
    }

    /// Contents of the kernel's text files at this instant.
    pub fn snapshot(&mut self) -> Snapshot {
        self.begun.machine.snapshot(self.now)
    }

    /// Counters since the start, and gauges, as series have them.
    pub fn counters(&mut self) -> (VmStat, Vec<(&'static str, u64)>) {
        self.begun.machine.counters_at(self.now)
    }

    /// Writes a sysctl: a key of the scenario by its path, and its value as `--set` takes it. The
    /// report says when.
    ///
    /// # Errors
    ///
    /// There is no such key, it takes no such value, or it cannot change while a machine runs.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let changed = self.scenario.clone().with_sets(&[(key.to_string(), value.to_string())])?;
        let RunSpec { variant, axes, seed, .. } = &self.spec;
        let same = |s: &RunSpec| (&s.variant, &s.axes, &s.seed) == (variant, axes, seed);
        let spec = machines::specs_of(&changed, &self.spec.registry)?.into_iter().find(same);
        let sysctl = key.strip_prefix("machine.vm.");
        let fixed = || {
            let title = format!("--set {key}: it cannot change while a machine runs");
            let but = OF_THE_START.join(", ");
            Error::of_option(title).help(format!("keys of machine.vm can, but for {but}"))
        };
        let mut spec = spec.ok_or_else(fixed)?;
        if sysctl.is_none_or(|name| OF_THE_START.contains(&name)) {
            return Err(fixed());
        }
        // A variant and an axis have the last word.
        let given = spec.given.iter().find(|(path, _)| path == key);
        let given = given.map_or("its default", |(_, v)| v.as_str());
        if given != value.trim() {
            let title = format!("--set {key}: variant or axes of this run set it to {given}");
            return Err(
                Error::of_option(title).help("take it out of them, or write a whole number")
            );
        }
        let vm = std::mem::replace(&mut spec.machine.vm, self.spec.machine.vm.clone());
        if spec.machine != self.spec.machine {
            return Err(fixed());
        }
        self.begun.machine.write_sysctls(vm);
        self.scenario = changed;
        self.done.push((format!("{} {key}", self.instant()), value.to_string()));
        Ok(())
    }

    /// Starts a process that writes `pages` pages to `memory.reclaim` of a group, and ends. The
    /// report says when.
    ///
    /// # Errors
    ///
    /// There is no such group.
    pub fn reclaim(&mut self, group: &str, pages: u32) -> Result<(), Error> {
        let groups: Vec<&str> = self.spec.machine.memcgs.iter().map(|m| m.name.as_str()).collect();
        let Some(memcg) = groups.iter().position(|g| *g == group) else {
            if groups.is_empty() {
                let title = format!("memory.reclaim: there is no group `{group}`");
                let help = "write [[machine.memcg]] with that name, and `memcg` in a task";
                return Err(Error::of_option(title).help(help));
            }
            return Err(Error::unknown_word("memory.reclaim: there is no group", group, &groups));
        };
        let name = format!("{} memory.reclaim of {group}", self.instant());
        let write: Box<dyn Workload> =
            Box::new(Once(Some(Op::MemcgReclaim { memcg: None, pages, swappiness: None })));
        let task = TaskConfig::new(name.clone(), vec![write]);
        let task = task.with_memcg(Some(memcg)).with_start(self.now);
        self.begun.machine.spawn(task, self.spec.seed);
        self.ended = false;
        self.done.push((name, format!("{pages} pages")));
        Ok(())
    }

    /// The instant in words, with the number of what is done.
    fn instant(&self) -> String {
        format!("action {} at {:.6} s:", self.done.len() + 1, self.now.0 as f64 / 1e9)
    }

    /// Goes on to the end; gives the report. What was done to the run is among what was set.
    ///
    /// # Errors
    ///
    /// An invariant is broken.
    pub fn finish(mut self) -> Result<Report, RunError> {
        let begun = &mut self.begun;
        let result = caught(&self.spec, || Ok(begun.machine.complete()))?;
        let (mut meta, result) = self.begun.told(&self.spec, result)?;
        meta.setup.extend(self.done);
        Ok(assembled(&self.scenario, &[(meta, result)]))
    }
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Live({} at {} ns)", self.spec.label(), self.now.0)
    }
}

/// One operation, once.
struct Once(Option<Op>);

impl Workload for Once {
    fn fill(&mut self, _: &WorkloadCx<'_>, _: &mut Rng, ops: &mut Vec<Op>) {
        ops.extend(self.0.take());
    }
}
