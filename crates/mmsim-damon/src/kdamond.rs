//! A context as a thread of the simulated machine.

use crate::context::Context;
use crate::damos::goal::Metric;
use crate::ops::{self, MachineOps, OpsId, OpsState};
use crate::turn::StepOutcome;
use crate::watch::Watch;
use mmsim_core::base::digest::Digest;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::policy::monitor::{Doors, Monitor, Next};
use mmsim_core::workload::Note;

/// A time in which a user has paused a monitor, since boot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    /// When it begins.
    pub from: SimDuration,
    /// When it ends; none: never.
    pub until: Option<SimDuration>,
}

impl Pause {
    fn covers(&self, now: SimTime) -> bool {
        self.from.0 <= now.0 && self.until.is_none_or(|end| now.0 < end.0)
    }
}

/// A kdamond: a context, the operations that it works with, and what is kept of it.
#[derive(Debug)]
pub struct Kdamond {
    context: Context,
    ops: OpsState,
    watch: Watch,
    started: bool,
    /// Metrics of goals, as of the step under way.
    measured: Vec<(Metric, u64)>,
    pauses: Vec<Pause>,
}

impl Kdamond {
    /// A thread that begins with its first step. Sampling addresses are drawn from `rng`.
    pub fn new(context: Context, ops: OpsId, rng: Rng, watch: Watch) -> Kdamond {
        let ops = OpsState::new(ops, *context.config(), rng);
        Kdamond { context, ops, watch, started: false, measured: Vec::new(), pauses: Vec::new() }
    }

    /// The same, paused at these times.
    pub fn pausing(self, pauses: Vec<Pause>) -> Kdamond {
        Kdamond { pauses, ..self }
    }

    /// The context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Its record for observers.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// The operations that it works with.
    pub fn ops(&self) -> OpsId {
        self.ops.id
    }
}

impl Monitor for Kdamond {
    fn step(&mut self, doors: &mut dyn Doors) -> Next {
        let now = doors.memory().acting.now;
        self.context.set_paused(self.pauses.iter().any(|p| p.covers(now)));
        self.measured.clear();
        for goal in self.context.schemes().iter().flat_map(|s| &s.quota.goals) {
            if goal.metric.is_of_the_machine() {
                self.measured.push((goal.metric, ops::measure(doors, goal.metric)));
            }
        }
        let (state, watch) = (&mut self.ops, &mut self.watch);
        let mut ops = MachineOps { doors, state, watch, measured: &self.measured };
        if !self.started {
            self.started = true;
            if self.context.start(&mut ops).is_err() {
                return Next::Exit;
            }
        }
        match self.context.step(&mut ops) {
            StepOutcome::Again => Next::Again,
            StepOutcome::Sleep(span) => Next::Sleep(doors.memory().acting.now + span),
            StepOutcome::Exit => Next::Exit,
        }
    }

    fn request_note(&mut self, what: Note) {
        self.watch.request(what);
    }

    fn notes(&self) -> u64 {
        self.watch.taken().len() as u64
    }

    fn check(&self) {
        for (t, target) in self.context.targets().iter().enumerate() {
            for (i, r) in target.regions().iter().enumerate() {
                assert!(r.start < r.end, "target {t}, region {i}: {r:?} is empty");
                let before = i.checked_sub(1).map(|b| target.regions()[b].end);
                assert!(
                    before.is_none_or(|end| end <= r.start),
                    "target {t}, region {i}: {r:?} begins before the one before it ends"
                );
            }
        }
    }

    fn digest(&self, d: &mut Digest) {
        for t in self.context.targets() {
            for r in t.regions() {
                d.words([r.start, r.end, r.sampling_addr]);
                d.words(
                    [r.nr_accesses, r.nr_accesses_bp, r.last_nr_accesses, r.age].map(u64::from),
                );
            }
        }
        for s in self.context.schemes() {
            let s = s.stat();
            d.words([s.nr_tried, s.sz_tried, s.nr_applied, s.sz_applied, s.qt_exceeds]);
            d.words([s.nr_snapshots]);
        }
    }
}
