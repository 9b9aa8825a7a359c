//! The search: rounds of new settings, each tried with few seeds first.
//!
//! Which settings are good is known by means over seeds, and a setting with few seeds has a mean of
//! its own seeds. So that they can be compared, a value is taken as a sum of what the setting does
//! and what the seed does. What a seed does is the mean difference of its runs from those of all
//! seeds, over the settings that have all.
//!
//! The scenario's own setting is the first of all: it has all seeds from the start, takes part in
//! every front, and is never out of the race, as there are no runs of it left to save. So nothing
//! that it dominates gets seeds that finish a front. It has children where its values are values of
//! the knobs.
//!
//! A race ([`Search::race`]) decides who gets more seeds: those of the first front that were kept for
//! a round. Whoever is worse than another in everything, with its 95 % interval of paired
//! differences, is out of it.

use std::collections::BTreeMap;

use mmsim_core::base::rng::Rng;

use super::guess::Known;
use super::means::means;
use super::measure::{self, Failure};
use super::offspring;
use super::present;
use super::screen::{ANYWHERE, MOST_KNOWN, MOST_OF_FRONT, POOL, Screen};
use super::small::{self, Try};
use crate::miniature::Miniature;
use crate::plan::{Line, Plan, Sheet};
use crate::run::RunError;
use mmsim_base::error::Error;
use mmsim_language::machines;
use mmsim_language::registry::Registry;
use mmsim_language::scenario::RunSpec;
use mmsim_language::scenario::tune::{KnobValue, Objective, TunePlan};
use mmsim_report::{Ending, Pairs};

/// State of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// It is in the race.
    Racing,
    /// It is worse than another, beyond chance.
    Beaten,
    /// A run of it did not do its work, or a figure is undefined in it: see [`Candidate::failed`].
    Failed,
    /// The machine cannot be: no run was made.
    Impossible,
    /// Miniatures of others promised more: no run was made.
    Passed,
}

/// A setting of the knobs.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Its coordinates; none of an own setting that has a value which no knob takes.
    pub(super) genes: Option<Vec<f64>>,
    /// A name of each value; none of an own value that is not known.
    pub(super) labels: Vec<Option<String>>,
    pub(super) spec: Option<RunSpec>,
    /// Figures of each seed that was run, those of objectives so that less is better.
    pub(super) values: Vec<Vec<f64>>,
    pub(super) state: State,
    /// The seed of the first run that did not do its work, and what ended it.
    pub(super) failed: Option<(u64, Failure)>,
}

impl Candidate {
    /// Seeds that it has, the first ones.
    pub(super) fn seeds(&self) -> usize {
        self.values.len()
    }
}

/// The next step of a search.
#[derive(Clone, Debug)]
enum Step {
    /// Runs the scenario's own setting with all seeds.
    Own,
    /// Runs the first settings.
    First,
    /// Begins a round. `finished`: no setting of the front lacks a seed that the budget has.
    Round { finished: bool },
    /// Chooses this number of the new settings by their miniatures, and runs them.
    Chosen { new: Vec<usize>, n: usize },
    /// Selects among the old and the new settings, and lets them race.
    Select { new: Vec<usize> },
    /// Drops those that are beaten among these.
    Drop { who: Vec<usize> },
    /// Gives these settings of the front another seed. `done`: some got one already; `last`: no
    /// round follows.
    Finish { who: Vec<usize>, done: bool, last: bool },
    /// Runs what is shown with held-out seeds.
    HeldOut,
    /// Does nothing more.
    End,
}

/// All that a search knows.
pub(super) struct Search<'a> {
    pub(super) plan: &'a TunePlan,
    registry: &'a Registry,
    step: Step,
    /// Settings of the population.
    kept: Vec<usize>,
    /// Settings of the wave under way, one for each run.
    waiting: Vec<usize>,
    /// The front, the best in the first objective first; known when the search has ended.
    pub(super) front: Vec<usize>,
    /// The front, and the scenario's own setting where it has figures.
    pub(super) shown: Vec<usize>,
    /// The scenario's own setting comes first.
    pub(super) all: Vec<Candidate>,
    /// Settings by the names of their values.
    known: BTreeMap<Vec<Option<String>>, usize>,
    /// Points of the low-discrepancy sequence that were taken.
    points: u64,
    rng: Rng,
    pub(super) budget: u64,
    pub(super) spent: u64,
    pub(super) panicked: u64,
    pub(super) rounds: u64,
    /// Length of the own setting's first run; 0 before it.
    pub(super) run_ns: u64,
}

impl<'a> Search<'a> {
    /// Nothing was run yet but what shows that the plan can be.
    pub(super) fn new(plan: &'a TunePlan, registry: &'a Registry) -> Result<Search<'a>, Error> {
        let own = own(plan, registry)?;
        measure::check(plan, &own)?;
        small::check(plan, &own)?;
        ends_can_be(plan, registry)?;
        let values: Vec<(Option<f64>, Option<String>)> = present::values(plan.knobs(), &own)
            .into_iter()
            .zip(plan.knobs())
            .map(|(value, knob)| match value {
                Some(text) => {
                    let (gene, label) = knob.present(&text);
                    (gene, Some(label))
                }
                None => (None, None),
            })
            .collect();
        let own = Candidate {
            genes: values.iter().map(|v| v.0).collect(),
            labels: values.into_iter().map(|v| v.1).collect(),
            spec: Some(own),
            values: Vec::new(),
            state: State::Racing,
            failed: None,
        };
        let known = BTreeMap::from([(own.labels.clone(), OWN)]);
        Ok(Search {
            plan,
            registry,
            step: Step::Own,
            kept: vec![OWN],
            waiting: Vec::new(),
            front: Vec::new(),
            shown: Vec::new(),
            all: vec![own],
            known,
            points: 0,
            rng: Rng::for_purpose(plan.draws(), "tune"),
            budget: plan.budget(),
            spent: 0,
            panicked: 0,
            rounds: 0,
            run_ns: 0,
        })
    }

    /// Begins a round: new settings, or another seed for those of the front that lack some.
    fn round(&mut self, finished: bool) -> Vec<Try> {
        let (size, seeds) = (self.plan.population(), self.seeds());
        let left = self.budget - self.spent;
        let mut n = size / 2;
        // Whatever the rounds find, its front can be finished.
        if left <= self.reserve() + n as u64 {
            if !finished {
                self.step = self.finishing(false);
                return Vec::new();
            }
            // This many can be finished, whatever they are.
            n = n.min((left / seeds as u64) as usize);
        }
        match self.plan.miniature() {
            None => {
                let new = self.new_ones(n);
                self.children(new)
            }
            Some(_) => {
                let new = self.new_ones(small::MORE * n);
                let small = self.miniatures(&new).into_iter().flatten().map(Try::Small).collect();
                self.step = Step::Chosen { new, n };
                small
            }
        }
    }

    /// Runs new settings, and then selects; without new ones the search ends.
    fn children(&mut self, new: Vec<usize>) -> Vec<Try> {
        if new.is_empty() {
            self.step = self.finishing(true);
            return Vec::new();
        }
        self.rounds += 1;
        let wave = self.spend(&new);
        self.step = Step::Select { new };
        wave
    }

    /// Selects the next population among the old one and the new settings, and gives another seed
    /// to those that race.
    fn selected(&mut self, new: Vec<usize>) -> Vec<Try> {
        let size = self.plan.population();
        // As the round began, before its new settings ran.
        let left = self.budget - self.spent + new.len() as u64;
        let before = self.kept.clone();
        self.kept.extend(new);
        self.kept = self.select(&self.kept, size);
        self.step = Step::Round { finished: false };
        match left > self.reserve() + (size / 2 + size) as u64 {
            true => self.race(&before),
            false => Vec::new(),
        }
    }

    /// Runs that finish the front of any population.
    fn reserve(&self) -> u64 {
        (self.plan.population() * (self.seeds() - 1)) as u64
    }

    pub(super) fn seeds(&self) -> usize {
        self.plan.seeds().count()
    }

    /// The first population: points that leave no large gaps.
    fn first(&mut self) -> Vec<usize> {
        let size = self.plan.population();
        let mut new = Vec::new();
        while new.len() < size
            && let Some(genes) = self.next_point(64)
        {
            new.extend(self.admit(genes));
        }
        new
    }

    /// The next point of the sequence that is a new setting, among the next `tries`.
    fn next_point(&mut self, tries: u64) -> Option<Vec<f64>> {
        // The first draws begin with the sequence as published.
        let seed = self.plan.draws().wrapping_sub(1);
        for _ in 0..tries {
            let of = |knob| mmsim_language::scenario::low_discrepancy(seed, self.points, knob);
            let genes: Vec<f64> = (0..self.plan.knobs().len()).map(of).collect();
            self.points += 1;
            if !self.known.contains_key(&labels(&self.values_at(&genes))) {
                return Some(genes);
            }
        }
        None
    }

    /// The reference point: as the plan says, else the worst of the first settings, the own one
    /// among them.
    pub(super) fn reference(&self) -> Vec<f64> {
        let plan = self.plan;
        let first: Vec<usize> = (0..self.all.len().min(plan.population() + 1)).collect();
        let first: Vec<Vec<f64>> = first
            .iter()
            .map(|&c| &self.all[c])
            .filter(|c| c.seeds() > 0)
            .map(|c| means(&c.values))
            .collect();
        let worst = |m: usize| first.iter().map(|v| v[m]).fold(f64::NEG_INFINITY, f64::max);
        let one = |(m, o): (usize, &Objective)| match o.reference {
            Some(value) => {
                if o.max {
                    -value
                } else {
                    value
                }
            }
            None if first.is_empty() => 0.0,
            None => worst(m),
        };
        plan.objectives().iter().enumerate().map(one).collect()
    }

    fn values_at(&self, genes: &[f64]) -> Vec<KnobValue> {
        self.plan.knobs().iter().zip(genes).map(|(k, &x)| k.at(x)).collect()
    }

    /// Takes a new setting in; `None`: its machine cannot be.
    fn admit(&mut self, genes: Vec<f64>) -> Option<usize> {
        let values = self.values_at(&genes);
        let labels = labels(&values);
        let values: Vec<_> = values.into_iter().map(Some).collect();
        let spec = self.plan.run_of(&values, self.registry, machines::sound).ok();
        let state = if spec.is_some() { State::Racing } else { State::Impossible };
        let n = self.all.len();
        self.known.insert(labels.clone(), n);
        self.all.push(Candidate {
            genes: Some(genes),
            labels,
            spec,
            values: Vec::new(),
            state,
            failed: None,
        });
        (state == State::Racing).then_some(n)
    }

    /// Children of those that are kept, `n` of them, all new; fewer where there are no others.
    fn new_ones(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = self.ordered(&self.kept);
        order.retain(|&c| self.all[c].genes.is_some());
        let mut screen = self.screen();
        let mut new = Vec::new();
        // Guesses know nothing of machines that cannot be: these take a slot and no run.
        for slot in 0..50 * n {
            // Guesses err: some children are as they come.
            let pool = if slot % 4 == 3 { 1 } else { POOL };
            let children: Vec<Vec<f64>> = (0..pool).filter_map(|_| self.new_one(&order)).collect();
            let Some(best) = screen.best(&children) else { break };
            screen.take(&children[best]);
            new.extend(self.admit(children[best].clone()));
            if new.len() == n {
                break;
            }
        }
        new
    }

    /// Miniatures of settings with the first seed, as far as they can be.
    fn miniatures(&self, new: &[usize]) -> Vec<Option<Miniature>> {
        let seed = self.plan.seeds().start;
        let one = |&c: &usize| {
            let spec = self.all[c].spec.as_ref()?;
            small::of(self.plan, &RunSpec { seed, ..spec.clone() })
        };
        new.iter().map(one).collect()
    }

    /// The `n` of these that add most to the front by the figures of their miniatures, which are the
    /// last lines of the sheet.
    fn promising(&mut self, sheet: &Sheet<Try>, mut new: Vec<usize>, n: usize) -> Vec<usize> {
        let small = self.miniatures(&new);
        let lines = sheet.lines.len() - small.iter().flatten().count();
        let mut lines = sheet.lines[lines..].iter();
        let of_seeds = self.of_seeds();
        // Free of what the first seed does, as the front is.
        let free = |(m, v): (usize, f64)| v - of_seeds[0][m];
        let mut left: Vec<Option<Vec<f64>>> = small
            .iter()
            .map(|m| small::estimate(self.plan, m.as_ref()?, &lines.next()?.made))
            .map(|e| e.map(|values| values.into_iter().enumerate().map(free).collect()))
            .collect();
        let mut screen = self.screen();
        let mut chosen = Vec::new();
        while chosen.len() < n
            && let Some(best) = screen.best_of(&left)
        {
            screen.front.extend(left.remove(best));
            chosen.push(new.remove(best));
        }
        for c in new {
            self.all[c].state = State::Passed;
        }
        chosen
    }

    /// A new setting: a child of two of these.
    fn new_one(&mut self, order: &[usize]) -> Option<Vec<f64>> {
        const TRIES: u64 = 50;
        for i in 1..=TRIES {
            let genes = if order.len() < 2 || i == TRIES {
                // Where children repeat what there is, the sequence goes on.
                self.next_point(8)?
            } else if self.rng.unit() < ANYWHERE {
                self.plan.knobs().iter().map(|_| self.rng.unit()).collect()
            } else {
                // The better of two, twice.
                let n = order.len() as u64;
                let mut one = || order[self.rng.below(n).min(self.rng.below(n)) as usize];
                let parents = [one(), one()];
                let of = parents.map(|p| self.all[p].genes.as_deref().expect("they have places"));
                offspring::child(&mut self.rng, of, &self.plan.ordered_knobs())
            };
            if !self.known.contains_key(&labels(&self.values_at(&genes))) {
                return Some(genes);
            }
        }
        None
    }

    /// Settings that were run and have a place among the values of the knobs.
    pub(super) fn placed(&self) -> Vec<(usize, &[f64])> {
        let all = self.all.iter().enumerate().filter(|(_, c)| c.seeds() > 0);
        all.filter_map(|(i, c)| Some((i, c.genes.as_deref()?))).collect()
    }

    /// Data by which children are screened: all that was run, and the front of it.
    fn screen(&self) -> Screen<'a> {
        let of_seeds = self.of_seeds();
        let run = self.placed();
        let newest = run.len().saturating_sub(MOST_KNOWN);
        let known = |&(c, genes): &(usize, &[f64])| {
            let figures = self.adjusted(&self.all[c], &of_seeds);
            Known { genes: genes.to_vec(), figures, seeds: self.all[c].seeds() }
        };
        let mut front = self.front();
        front.truncate(MOST_OF_FRONT);
        let objectives = self.plan.objectives().len();
        let values = |c: usize| self.adjusted(&self.all[c], &of_seeds)[..objectives].to_vec();
        Screen {
            plan: self.plan,
            known: run[newest..].iter().map(known).collect(),
            front: front.into_iter().map(values).collect(),
            reference: self.reference(),
        }
    }

    /// A run of each of these, with the first seed that it lacks; one that is there twice gets two.
    fn spend(&mut self, who: &[usize]) -> Vec<Try> {
        let mut more: BTreeMap<usize, usize> = BTreeMap::new();
        let first = self.plan.seeds().start;
        let mut runs = Vec::new();
        for &c in who {
            let Some(spec) = self.all[c].spec.clone() else { continue };
            let n = more.entry(c).or_insert(0);
            let seed = first + (self.all[c].seeds() + *n) as u64;
            *n += 1;
            self.waiting.push(c);
            runs.push(Try::Run(RunSpec { seed, ..spec }));
        }
        self.spent += runs.len() as u64;
        runs
    }

    /// Takes the figures of the wave that was waited for.
    fn take(&mut self, sheet: &Sheet<Try>) {
        let waiting = std::mem::take(&mut self.waiting);
        let made = self.figures(sheet, waiting.len());
        if self.run_ns == 0 && waiting.first() == Some(&OWN) {
            self.run_ns = sheet.lines[sheet.lines.len() - waiting.len()].made.sim_time_ns;
        }
        for (c, (seed, values)) in waiting.into_iter().zip(made) {
            let candidate = &mut self.all[c];
            match values {
                Ok(values) if candidate.state != State::Failed => candidate.values.push(values),
                Ok(_) => {}
                Err(failure) => {
                    candidate.state = State::Failed;
                    candidate.failed.get_or_insert((seed, failure));
                }
            }
        }
    }

    /// The seeds and figures of the last `n` runs of the sheet, those of objectives so that less is
    /// better, or why a run has none.
    fn figures(&mut self, sheet: &Sheet<Try>, n: usize) -> Vec<(u64, Figures)> {
        let last = &sheet.lines[sheet.lines.len() - n..];
        let panicked = last.iter().filter(|line| line.made.outcome == Ending::Panicked);
        self.panicked += panicked.count() as u64;
        let of = |line: &Line<Try>| {
            let mut figures = measure::figures(self.plan, &line.made);
            if let Ok(all) = &mut figures {
                turn(self.plan, all);
            }
            (line.made.seed, figures)
        };
        last.iter().map(of).collect()
    }

    /// Runs of what is shown, with held-out seeds.
    fn held_out(&mut self) -> Vec<Try> {
        let mut front = self.found();
        let first = |c: &usize| means(&self.all[*c].values)[0];
        front.sort_by(|a, b| first(a).total_cmp(&first(b)));
        self.shown.clone_from(&front);
        if !front.contains(&OWN) && self.all[OWN].seeds() == self.seeds() {
            self.shown.insert(0, OWN);
        }
        self.front = front;
        let specs = self.shown.iter().filter_map(|&c| self.all[c].spec.as_ref());
        let of = |spec: &RunSpec| {
            let spec = spec.clone();
            self.plan.held_out().map(move |seed| Try::Run(RunSpec { seed, ..spec.clone() }))
        };
        specs.flat_map(of).collect()
    }

    /// Each knob of a setting with its value, as far as it is known.
    pub(super) fn named(&self, c: usize) -> Pairs<String> {
        let labels = self.plan.knobs().iter().zip(&self.all[c].labels);
        labels.filter_map(|(knob, label)| Some((knob.path().to_string(), label.clone()?))).collect()
    }

    /// One more seed for each of the first front that lacks some and was kept before; then out with
    /// whoever is worse than another beyond chance.
    fn race(&mut self, before: &[usize]) -> Vec<Try> {
        let lacks = |c: &usize| before.contains(c) && self.all[*c].seeds() < self.seeds();
        let mut who = self.kept.clone();
        if !who.contains(&OWN) {
            who.push(OWN);
        }
        let more: Vec<usize> = self.front_of(&who).into_iter().filter(lacks).collect();
        self.step = Step::Drop { who };
        self.spend(&more)
    }

    /// Takes out of the race who is worse than another of these. The own setting stays: it has all
    /// seeds, and who beats it with few may yet be worse.
    fn drop_beaten(&mut self, who: &[usize]) {
        let mut racing: Vec<usize> = who.to_vec();
        racing.retain(|&c| self.all[c].state == State::Racing);
        let beaten = |&c: &usize| c != OWN && racing.iter().any(|&r| r != c && self.beats(r, c));
        let beaten: Vec<usize> = racing.iter().copied().filter(beaten).collect();
        for c in beaten {
            self.all[c].state = State::Beaten;
        }
    }

    /// The step that gives the front its seeds: as much of it as the budget has runs for.
    fn finishing(&self, last: bool) -> Step {
        let (seeds, left) = (self.seeds(), self.budget - self.spent);
        let mut who = self.front();
        let mut cost = 0;
        who.retain(|&c| {
            cost += (seeds - self.all[c].seeds()) as u64;
            self.all[c].seeds() < seeds && cost <= left
        });
        Step::Finish { who, done: false, last }
    }

    /// Gives these settings a seed, as long as none that has all is better.
    fn finish(&mut self, who: Vec<usize>, done: bool, last: bool) -> Vec<Try> {
        let mut pool = self.finished();
        pool.extend(&who);
        // Of equal ones the first counts, as in the front of all.
        pool.sort_unstable();
        pool.dedup();
        let lacks = |c: &usize| who.contains(c) && self.all[*c].seeds() < self.seeds();
        let more: Vec<usize> = self.front_of(&pool).into_iter().filter(lacks).collect();
        self.step = match (more.is_empty(), done, last) {
            (false, ..) => Step::Finish { who, done: true, last },
            (true, true, true) => self.finishing(true),
            (true, false, true) => Step::HeldOut,
            (true, done, false) => Step::Round { finished: !done },
        };
        self.spend(&more)
    }
}

impl Plan for Search<'_> {
    type Point = Try;
    type Found = (Self, Vec<(u64, Figures)>);

    fn next(&mut self, sheet: &Sheet<Try>) -> Result<Vec<Try>, RunError> {
        self.take(sheet);
        loop {
            let wave = match std::mem::replace(&mut self.step, Step::End) {
                Step::Own => {
                    self.step = Step::First;
                    self.spend(&vec![OWN; self.seeds()])
                }
                Step::First => {
                    let new = self.first();
                    self.kept.extend(&new);
                    self.step = Step::Round { finished: false };
                    self.spend(&new)
                }
                Step::Round { finished } => self.round(finished),
                Step::Chosen { new, n } => {
                    let chosen = self.promising(sheet, new, n);
                    self.children(chosen)
                }
                Step::Select { new } => self.selected(new),
                Step::Drop { who } => {
                    self.drop_beaten(&who);
                    self.step = Step::Round { finished: false };
                    Vec::new()
                }
                Step::Finish { who, done, last } => self.finish(who, done, last),
                Step::HeldOut => self.held_out(),
                Step::End => return Ok(Vec::new()),
            };
            if !wave.is_empty() {
                return Ok(wave);
            }
        }
    }

    /// The search, and the figures of what is shown with held-out seeds.
    fn judge(mut self, sheet: Sheet<Try>) -> Result<Self::Found, RunError> {
        let n = self.plan.held_out().count() * self.shown.len();
        let held_out = self.figures(&sheet, n);
        Ok((self, held_out))
    }
}

/// The figures of a run, or why it has none.
pub(super) type Figures = Result<Vec<f64>, Failure>;

/// The scenario's own setting among all.
pub(super) const OWN: usize = 0;

/// Turns the sign of objectives that are to be large: then less is better in all of them, or the
/// signs are their own again.
pub(super) fn turn(plan: &TunePlan, figures: &mut [f64]) {
    for (value, objective) in figures.iter_mut().zip(plan.objectives()) {
        *value *= if objective.max { -1.0 } else { 1.0 };
    }
}

/// The run of the scenario's own setting.
pub(super) fn own(plan: &TunePlan, registry: &Registry) -> Result<RunSpec, Error> {
    let none = vec![None; plan.knobs().len()];
    plan.run_of(&none, registry, machines::sound)
}

/// Both ends of each knob can be: beside the scenario's own values, or beside some others of the
/// knobs.
fn ends_can_be(plan: &TunePlan, registry: &Registry) -> Result<(), Error> {
    const OTHERS: u64 = 32;
    for (i, knob) in plan.knobs().iter().enumerate() {
        let ends: Vec<f64> = match knob.takes() {
            mmsim_language::scenario::tune::Takes::OneOf(words) => {
                (0..words.len()).map(|w| (w as f64 + 0.5) / words.len() as f64).collect()
            }
            mmsim_language::scenario::tune::Takes::Range { .. } => vec![0.0, 1.0 - f64::EPSILON],
        };
        for end in ends {
            let run = |others: Option<u64>| {
                let value = |k: usize| match others {
                    _ if k == i => Some(knob.at(end)),
                    None => None,
                    Some(n) => {
                        Some(plan.knobs()[k].at(mmsim_language::scenario::low_discrepancy(0, n, k)))
                    }
                };
                let values: Vec<_> = (0..plan.knobs().len()).map(value).collect();
                plan.run_of(&values, registry, machines::sound)
            };
            if let Err(error) = run(None)
                && (plan.knobs().len() == 1 || (0..OTHERS).all(|n| run(Some(n)).is_err()))
            {
                return Err(error);
            }
        }
    }
    Ok(())
}

fn labels(values: &[KnobValue]) -> Vec<Option<String>> {
    values.iter().map(|v| Some(v.label.clone())).collect()
}
