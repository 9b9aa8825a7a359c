//! Operations without a machine: memory whose use the test defines, a clock that moves by given
//! times, and a record of the calls.
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_damon::config::Rand32;
use mmsim_damon::damos::scheme::{AccessPattern, Action, Scheme};
use mmsim_damon::operations::ScoreKind;
use mmsim_damon::ranges::{init_regions, set_regions};
use mmsim_damon::region::draw_sampling_addr;
use mmsim_damon::{
    Context, DamonConfig, Hook, MonitoringAttrs, Operations, Region, StepOutcome, Target,
};
use std::ops::{ControlFlow, Range};

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const PAGE: u64 = 4096;

/// Events, with indices as in the hooks.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Event {
    Marked(SimTime),
    Checked(SimTime),
    Merged(SimTime),
    Waited(SimTime),
    Aggregated(SimTime, usize, Vec<Region>),
    BeforeApply(usize, usize, Region),
    Applied(SimTime, Action, Range<u64>),
    Updated(SimTime),
    Ended(SimTime),
}

pub(crate) struct Fake {
    pub(crate) now: SimTime,
    /// True if an address was used.
    pub(crate) used: Box<dyn Fn(u64, SimTime) -> bool>,
    /// Time of marking and looking together.
    pub(crate) sample_cost: SimDuration,
    /// Time of an application.
    pub(crate) apply_cost: SimDuration,
    /// Added to all ages with every sample, for tests that freeze the regions.
    pub(crate) age_step: u32,
    pub(crate) free_mem_rate: u64,
    pub(crate) psi_us: u64,
    /// The part of eligible memory that lies on any node, and the regions of the query.
    pub(crate) eligible_bp: u64,
    pub(crate) asked: Vec<(Vec<Range<u64>>, u16)>,
    /// The answer of the test of targets.
    pub(crate) valid: Option<bool>,
    pub(crate) score_kind: ScoreKind,
    /// First regions of targets that have none.
    pub(crate) ranges: Vec<Range<u64>>,
    /// Ranges of the next update.
    pub(crate) update_to: Option<Vec<Range<u64>>>,
    /// The hook that is to end the context.
    pub(crate) break_at: Option<Hook>,
    pub(crate) rand32: Rand32,
    pub(crate) rng: Rng,
    pub(crate) events: Vec<Event>,
}

impl Fake {
    pub(crate) fn new() -> Fake {
        Fake {
            now: SimTime::ZERO,
            used: Box::new(|_, _| false),
            sample_cost: SimDuration::ZERO,
            apply_cost: SimDuration::ZERO,
            age_step: 0,
            free_mem_rate: 500,
            psi_us: 0,
            eligible_bp: 0,
            asked: Vec::new(),
            valid: None,
            score_kind: ScoreKind::Cold,
            ranges: Vec::new(),
            update_to: None,
            break_at: None,
            rand32: DamonConfig::V6_12.rand32,
            rng: Rng::for_purpose(1, "fake"),
            events: Vec::new(),
        }
    }

    /// Runs a context until the clock shows `until`. Returns how long it slept in each turn.
    pub(crate) fn run(&mut self, c: &mut Context, until: SimTime) -> Vec<SimDuration> {
        let mut sleeps = Vec::new();
        while self.now < until {
            match c.step(self) {
                StepOutcome::Again => {}
                StepOutcome::Exit => break,
                StepOutcome::Sleep(d) => {
                    sleeps.push(d);
                    self.now += d;
                }
            }
        }
        sleeps
    }

    /// Goes to the end of the next sleep, and then lets more time pass.
    pub(crate) fn turn(&mut self, c: &mut Context, more: SimDuration) {
        loop {
            match c.step(self) {
                StepOutcome::Again => {}
                StepOutcome::Exit => panic!("it ended"),
                StepOutcome::Sleep(d) => break self.now += d + more,
            }
        }
    }

    /// Applications since the last call.
    pub(crate) fn take_applied(&mut self) -> Vec<Range<u64>> {
        let applied = self.events.iter().filter_map(|e| match e {
            Event::Applied(_, _, r) => Some(r.clone()),
            _ => None,
        });
        let applied = applied.collect();
        self.events.clear();
        applied
    }
}

impl Operations for Fake {
    fn now(&self) -> SimTime {
        self.now
    }
    fn charge_regions(&mut self, _: u64) {}
    fn prepare_access_checks(&mut self, targets: &mut [Target]) {
        self.events.push(Event::Marked(self.now));
        let rand32 = self.rand32;
        for r in targets.iter_mut().flat_map(|t| t.regions_mut()) {
            r.sampling_addr = draw_sampling_addr(r, rand32, &mut self.rng);
            r.age += self.age_step;
        }
    }
    fn check_accesses(&mut self, targets: &[Target], out: &mut Vec<bool>) {
        self.events.push(Event::Checked(self.now));
        self.now += self.sample_cost;
        let regions = targets.iter().flat_map(Target::regions);
        out.extend(regions.map(|r| (self.used)(r.sampling_addr, self.now)));
    }
    fn init(&mut self, targets: &mut [Target], attrs: &MonitoringAttrs) {
        for t in targets.iter_mut().filter(|t| t.regions().is_empty()) {
            init_regions(t, &self.ranges, attrs);
        }
    }
    fn update(&mut self, targets: &mut [Target], attrs: &MonitoringAttrs) {
        self.events.push(Event::Updated(self.now));
        if let Some(ranges) = self.update_to.take() {
            for t in targets {
                set_regions(t, &ranges, attrs.min_region).unwrap();
            }
        }
    }
    fn target_valid(&self, _: &Target) -> Option<bool> {
        self.valid
    }
    fn score_kind(&self, _: Action) -> ScoreKind {
        self.score_kind
    }
    fn apply(&mut self, _: &Target, region: Region, scheme: &Scheme) -> u64 {
        self.events.push(Event::Applied(self.now, scheme.action, region.start..region.end));
        self.now += self.apply_cost;
        if scheme.action == Action::Stat { 0 } else { region.size() }
    }
    fn free_mem_rate(&self) -> u64 {
        self.free_mem_rate
    }
    fn some_mem_psi_us(&self) -> u64 {
        self.psi_us
    }
    fn eligible_mem_bp(&mut self, regions: &[Region], node: u16) -> u64 {
        self.asked.push((regions.iter().map(|r| r.start..r.end).collect(), node));
        self.eligible_bp
    }
    fn hook(&mut self, hook: Hook, context: &Context) -> ControlFlow<()> {
        let regions = |target: usize| context.targets()[target].regions();
        match hook {
            Hook::AfterSampling | Hook::Calls => {}
            Hook::AfterWmarksCheck => self.events.push(Event::Waited(self.now)),
            Hook::AfterAggregation => self.events.push(Event::Merged(self.now)),
            Hook::Aggregated { target } => {
                let snapshot = regions(target).to_vec();
                self.events.push(Event::Aggregated(self.now, target, snapshot));
            }
            Hook::BeforeApply { scheme, target, region } => {
                let region = regions(target)[region];
                self.events.push(Event::BeforeApply(scheme, target, region));
            }
            Hook::BeforeTerminate => self.events.push(Event::Ended(self.now)),
        }
        if self.break_at == Some(hook) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// A target with these regions, sorted; counts and ages as given.
pub(crate) fn target(regions: &[Region]) -> Target {
    let mut t = Target::new(None);
    let ranges: Vec<_> = regions.iter().map(|r| r.start..r.end).collect();
    set_regions(&mut t, &ranges, 1).unwrap();
    t.regions_mut().copy_from_slice(regions);
    t
}

/// A region with a count, the same as its last one, and an age.
pub(crate) fn region(start: u64, end: u64, nr_accesses: u32, age: u32) -> Region {
    Region {
        nr_accesses,
        nr_accesses_bp: nr_accesses * 10_000,
        last_nr_accesses: nr_accesses,
        age,
        ..Region::new(start, end)
    }
}

pub(crate) fn context(
    config: DamonConfig,
    attrs: MonitoringAttrs,
    targets: Vec<Target>,
    schemes: Vec<Scheme>,
) -> Context {
    let mut c = Context::new(config, Rng::for_purpose(1, "kdamond"));
    c.set_attrs(attrs).unwrap();
    c.set_targets(targets).unwrap();
    c.set_schemes(schemes).unwrap();
    c
}

/// Regions without accesses and of at least that age.
pub(crate) fn cold(min_age: u32) -> AccessPattern {
    AccessPattern { nr_accesses: 0..=0, age_region: min_age..=u32::MAX, ..AccessPattern::ANY }
}

pub(crate) fn ms(n: u64) -> SimTime {
    SimTime(n * 1_000_000)
}
