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
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mmsim_core::base::rng::Rng;
use mmsim_core::machine::Watch;

use super::guess::Known;
use super::measure::{self, Failure};
use super::offspring;
use super::pareto::{self, Point};
use super::present;
use super::screen::{ANYWHERE, MOST_KNOWN, MOST_OF_FRONT, POOL, Screen};
use super::small;
use super::{TuneOptions, Watcher};
use crate::run::{CHECK_EVERY, RunError, cancel, or_panicked, run_one, side_by_side};
use mmsim_base::error::Error;
use mmsim_language::machines::{self, Catalogue, Machine};
use mmsim_language::scenario::RunSpec;
use mmsim_language::scenario::tune::{KnobValue, Objective, TunePlan};
use mmsim_report::statistics::{Estimate, estimate};
use mmsim_report::{Ending, Pairs, RunReport};

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

/// All that a search knows.
pub(super) struct Search<'a> {
    pub(super) plan: &'a TunePlan,
    options: &'a TuneOptions,
    watcher: &'a dyn Watcher,
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
}

impl<'a> Search<'a> {
    /// Nothing was run yet but what shows that the plan can be.
    pub(super) fn new(
        plan: &'a TunePlan,
        options: &'a TuneOptions,
        watcher: &'a dyn Watcher,
    ) -> Result<Search<'a>, Error> {
        let own = own(plan)?;
        measure::check(plan, &own)?;
        small::check(plan, &own)?;
        ends_can_be(plan)?;
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
            options,
            watcher,
            all: vec![own],
            known,
            points: 0,
            rng: Rng::for_purpose(plan.draws(), "tune"),
            budget: plan.budget(),
            spent: 0,
            panicked: 0,
            rounds: 0,
        })
    }

    /// Spends the budget. The candidates of the front then have all seeds.
    pub(super) fn run(&mut self) -> Result<(), Error> {
        let seeds = self.seeds();
        self.watcher.begins(self.budget);
        self.spend(&vec![OWN; seeds])?;
        let size = self.plan.population();
        let mut kept = vec![OWN];
        kept.extend(self.first(size)?);
        // Whatever the rounds find, its front can be finished.
        let reserve = (size * (seeds - 1)) as u64;
        let children = size / 2;
        loop {
            let left = self.budget - self.spent;
            let mut n = children;
            if left <= reserve + children as u64 {
                if self.finish()? {
                    continue;
                }
                // This many can be finished, whatever they are.
                n = n.min((left / seeds as u64) as usize);
            }
            let new = match self.plan.miniature() {
                None => self.new_ones(&kept, n),
                Some(_) => {
                    let more = self.new_ones(&kept, small::MORE * n);
                    self.promising(more, n)?
                }
            };
            if new.is_empty() {
                while self.finish()? {}
                return Ok(());
            }
            self.rounds += 1;
            self.spend(&new)?;
            let before = kept.clone();
            kept.extend(new);
            kept = self.select(&kept, size);
            if left > reserve + (children + size) as u64 {
                self.race(&kept, &before)?;
            }
        }
    }

    pub(super) fn seeds(&self) -> usize {
        self.plan.seeds().count()
    }

    /// The first population: points that leave no large gaps.
    fn first(&mut self, size: usize) -> Result<Vec<usize>, Error> {
        let mut new = Vec::new();
        while new.len() < size
            && let Some(genes) = self.next_point(64)
        {
            new.extend(self.admit(genes));
        }
        self.spend(&new)?;
        Ok(new)
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
        let spec = self.plan.run_of(&values, &Catalogue, machines::sound).ok();
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
    fn new_ones(&mut self, kept: &[usize], n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = self.ordered(kept);
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

    /// The `n` of these that add most to the front by the figures of their miniatures.
    fn promising(&mut self, mut new: Vec<usize>, n: usize) -> Result<Vec<usize>, Error> {
        let seed = self.plan.seeds().start;
        let of = |&c: &usize| self.all[c].spec.clone().map(|spec| RunSpec { seed, ..spec });
        let specs: Vec<RunSpec> = new.iter().filter_map(of).collect();
        let of_seeds = self.of_seeds();
        // Free of what the first seed does, as the front is.
        let free = |(m, v): (usize, f64)| v - of_seeds[0][m];
        let estimates = small::estimates(self.plan, &specs, self.options)?.into_iter();
        let mut left: Vec<Option<Vec<f64>>> = estimates
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
        Ok(chosen)
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

    /// Makes a run of each of these, with the first seed that it lacks; one that is there twice gets
    /// two.
    fn spend(&mut self, who: &[usize]) -> Result<(), Error> {
        let mut more: BTreeMap<usize, usize> = BTreeMap::new();
        let first = self.plan.seeds().start;
        let mut runs = Vec::new();
        for &c in who {
            let Some(spec) = self.all[c].spec.clone() else { continue };
            let n = more.entry(c).or_insert(0);
            let seed = first + (self.all[c].seeds() + *n) as u64;
            *n += 1;
            runs.push((c, RunSpec { seed, ..spec }));
        }
        self.spent += runs.len() as u64;
        let specs: Vec<RunSpec> = runs.iter().map(|r| r.1.clone()).collect();
        for ((c, spec), values) in runs.iter().zip(self.made(&specs)?) {
            let candidate = &mut self.all[*c];
            match values {
                Ok(values) if candidate.state != State::Failed => candidate.values.push(values),
                Ok(_) => {}
                Err(failure) => {
                    candidate.state = State::Failed;
                    candidate.failed.get_or_insert((spec.seed, failure));
                }
            }
        }
        Ok(())
    }

    /// Makes runs. Of each its figures, those of objectives so that less is better, or why it has
    /// none.
    pub(super) fn made(
        &mut self,
        specs: &[RunSpec],
    ) -> Result<Vec<Result<Vec<f64>, Failure>>, Error> {
        let (check, watcher) = (self.options.check, self.watcher);
        mmsim_language::host::check(specs, self.options.jobs)?;
        let made = side_by_side(specs, self.options.jobs, |_, spec| {
            let report = report_of(spec, check, watcher.stop())?;
            watcher.finished(&spec.label());
            let mut figures = measure::figures(self.plan, &report);
            if let Ok(all) = &mut figures {
                turn(self.plan, all);
            }
            Ok::<_, Error>((report.outcome, figures))
        })?;
        self.panicked += made.iter().filter(|m| m.0 == Ending::Panicked).count() as u64;
        Ok(made.into_iter().map(|m| m.1).collect())
    }

    /// Each knob of a setting with its value, as far as it is known.
    pub(super) fn named(&self, c: usize) -> Pairs<String> {
        let labels = self.plan.knobs().iter().zip(&self.all[c].labels);
        labels.filter_map(|(knob, label)| Some((knob.path().to_string(), label.clone()?))).collect()
    }

    /// Effect of each seed on each figure: the mean over settings that have all seeds.
    fn of_seeds(&self) -> Vec<Vec<f64>> {
        let seeds = self.seeds();
        let whole: Vec<&Candidate> = self.all.iter().filter(|c| c.seeds() == seeds).collect();
        let one = |s: usize, m: usize| {
            let differs = |c: &&Candidate| c.values[s][m] - mean(c.values.iter().map(|v| v[m]));
            mean(whole.iter().map(differs))
        };
        (0..seeds).map(|s| (0..self.plan.wanted().count()).map(|m| one(s, m)).collect()).collect()
    }

    /// The figures of a setting, free of what its seeds do.
    fn adjusted(&self, c: &Candidate, of_seeds: &[Vec<f64>]) -> Vec<f64> {
        let one = |m: usize| mean(c.values.iter().zip(of_seeds).map(|(v, s)| v[m] - s[m]));
        (0..self.plan.wanted().count()).map(one).collect()
    }

    /// The same of several settings, whatever became of them.
    pub(super) fn adjusted_all(&self, who: &[usize]) -> Vec<Vec<f64>> {
        let of_seeds = self.of_seeds();
        who.iter().map(|&c| self.adjusted(&self.all[c], &of_seeds)).collect()
    }

    /// Settings with a value, as points.
    fn points(&self, who: &[usize]) -> Vec<(usize, Point)> {
        let of_seeds = self.of_seeds();
        let usable = |&&c: &&usize| {
            let c = &self.all[c];
            c.state == State::Racing && c.seeds() > 0
        };
        let point = |&c: &usize| {
            let figures = self.adjusted(&self.all[c], &of_seeds);
            let violation = self.plan.violation(&figures);
            let values = figures[..self.plan.objectives().len()].to_vec();
            (c, Point { values, violation })
        };
        who.iter().filter(usable).map(point).collect()
    }

    /// Those of a list that can be kept, the best first: by front, then by the room around them.
    fn ordered(&self, who: &[usize]) -> Vec<usize> {
        let points = self.points(who);
        let all: Vec<Point> = points.iter().map(|p| p.1.clone()).collect();
        let ranks = pareto::ranks(&all);
        let mut order = Vec::new();
        for rank in 0..=ranks.iter().copied().max().unwrap_or(0) {
            let of: Vec<usize> = (0..all.len()).filter(|&i| ranks[i] == rank).collect();
            let room = pareto::crowding(&of.iter().map(|&i| &all[i]).collect::<Vec<_>>());
            let mut of: Vec<(usize, f64)> = of.into_iter().zip(room).collect();
            of.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            order.extend(of.into_iter().map(|(i, _)| points[i].0));
        }
        order
    }

    fn select(&self, who: &[usize], size: usize) -> Vec<usize> {
        let mut order = self.ordered(who);
        order.truncate(size);
        order
    }

    /// The first front among these.
    fn front_of(&self, who: &[usize]) -> Vec<usize> {
        let points = self.points(who);
        let all: Vec<Point> = points.iter().map(|p| p.1.clone()).collect();
        let ranks = pareto::ranks(&all);
        points.iter().zip(ranks).filter(|(_, rank)| *rank == 0).map(|((c, _), _)| *c).collect()
    }

    /// The front of all settings; where it is larger than a population, the most room apart.
    fn front(&self) -> Vec<usize> {
        let all: Vec<usize> = (0..self.all.len()).collect();
        let front = self.front_of(&all);
        self.select(&front, self.plan.population())
    }

    /// One more seed for each of the first front that lacks some and was kept before, and out with
    /// whoever is worse than another beyond chance.
    fn race(&mut self, kept: &[usize], before: &[usize]) -> Result<(), Error> {
        let lacks = |c: &usize| before.contains(c) && self.all[*c].seeds() < self.seeds();
        let mut who = kept.to_vec();
        if !who.contains(&OWN) {
            who.push(OWN);
        }
        let more: Vec<usize> = self.front_of(&who).into_iter().filter(lacks).collect();
        self.spend(&more)?;
        self.drop_beaten(&who);
        Ok(())
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

    /// True if a setting is better than another in every objective, by the 95 % interval of the
    /// paired differences, and no worse in constraints.
    fn beats(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.all[a], &self.all[b]);
        let n = a.seeds().min(b.seeds());
        if n < 2 {
            return false;
        }
        let objectives = self.plan.objectives().len();
        let differences = |m: usize| -> Vec<f64> {
            a.values.iter().zip(&b.values).map(|(a, b)| b[m] - a[m]).collect()
        };
        let kept = |c: &Candidate| self.plan.violation(&means(&c.values[..n])) == 0.0;
        let worse = |e: &Estimate| e.mean - e.ci95.unwrap_or(f64::INFINITY) > 0.0;
        kept(a) && (0..objectives).all(|m| estimate(&differences(m)).is_some_and(|e| worse(&e)))
    }

    /// Gives the front its seeds, one at a time, as long as none that has all is better: as much of
    /// it as the budget has runs for. Says whether there was anything to do.
    fn finish(&mut self) -> Result<bool, Error> {
        let (seeds, left) = (self.seeds(), self.budget - self.spent);
        let mut who = self.front();
        let mut cost = 0;
        who.retain(|&c| {
            cost += (seeds - self.all[c].seeds()) as u64;
            self.all[c].seeds() < seeds && cost <= left
        });
        let mut done = false;
        loop {
            let mut pool = self.finished();
            pool.extend(&who);
            // Of equal ones the first counts, as in the front of all.
            pool.sort_unstable();
            pool.dedup();
            let lacks = |c: &usize| who.contains(c) && self.all[*c].seeds() < seeds;
            let more: Vec<usize> = self.front_of(&pool).into_iter().filter(lacks).collect();
            if more.is_empty() {
                return Ok(done);
            }
            self.spend(&more)?;
            done = true;
        }
    }

    /// Settings that have all seeds and are in the race.
    fn finished(&self) -> Vec<usize> {
        let whole =
            |&c: &usize| self.all[c].seeds() == self.seeds() && self.all[c].state == State::Racing;
        (0..self.all.len()).filter(whole).collect()
    }

    /// Result: the front of the settings that have all seeds and keep the constraints.
    pub(super) fn found(&self) -> Vec<usize> {
        let mut finished = self.finished();
        finished.retain(|&c| self.plan.violation(&means(&self.all[c].values)) == 0.0);
        self.ordered(&self.front_of(&finished))
    }
}

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
pub(super) fn own(plan: &TunePlan) -> Result<RunSpec, Error> {
    let none = vec![None; plan.knobs().len()];
    plan.run_of(&none, &Catalogue, machines::sound)
}

/// Both ends of each knob can be: beside the scenario's own values, or beside some others of the
/// knobs.
fn ends_can_be(plan: &TunePlan) -> Result<(), Error> {
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
                plan.run_of(&values, &Catalogue, machines::sound)
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

/// The report of a run. One that panics has one too.
pub(super) fn report_of(
    spec: &RunSpec,
    check: bool,
    stop: Option<Arc<AtomicBool>>,
) -> Result<RunReport, Error> {
    let watch = |_: usize, _: &Machine| {
        let watch = Watch::default().with_check_every(if check { CHECK_EVERY } else { 0 });
        let Some(stop) = stop.clone() else { return watch };
        let ask = move |_: u64| {
            if stop.load(Ordering::Relaxed) {
                cancel();
            }
        };
        ask(0);
        watch.with_progress(Box::new(ask))
    };
    match or_panicked(spec, run_one(0, spec, &watch)) {
        Ok((meta, result)) => Ok(RunReport::from_result(meta, &result)),
        Err(RunError::Input(error)) => Err(error),
        Err(other) => Err(Error::plain(other.to_string())),
    }
}

fn labels(values: &[KnobValue]) -> Vec<Option<String>> {
    values.iter().map(|v| Some(v.label.clone())).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0_u32);
    for value in values {
        (sum, n) = (sum + value, n + 1);
    }
    if n == 0 { 0.0 } else { sum / f64::from(n) }
}

/// The means of figures over seeds.
pub(super) fn means(values: &[Vec<f64>]) -> Vec<f64> {
    let figures = values.first().map_or(0, Vec::len);
    (0..figures).map(|m| mean(values.iter().map(|v| v[m]))).collect()
}
