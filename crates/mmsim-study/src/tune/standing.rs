//! Standing of the settings of a search: figures free of what seeds do, fronts, who beats whom.

use super::means::{mean, means};
use super::pareto::{self, Point};
use super::search::{Candidate, Search, State};
use mmsim_report::statistics::{by_place, paired_difference};

impl Search<'_> {
    /// Effect of each seed on each figure: the mean over settings that have all seeds.
    pub(super) fn of_seeds(&self) -> Vec<Vec<f64>> {
        let seeds = self.seeds();
        let whole: Vec<&Candidate> = self.all.iter().filter(|c| c.seeds() == seeds).collect();
        let one = |s: usize, m: usize| {
            let differs = |c: &&Candidate| c.values[s][m] - mean(c.values.iter().map(|v| v[m]));
            mean(whole.iter().map(differs))
        };
        (0..seeds).map(|s| (0..self.plan.wanted().count()).map(|m| one(s, m)).collect()).collect()
    }

    /// The figures of a setting, free of what its seeds do.
    pub(super) fn adjusted(&self, c: &Candidate, of_seeds: &[Vec<f64>]) -> Vec<f64> {
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
    pub(super) fn ordered(&self, who: &[usize]) -> Vec<usize> {
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

    pub(super) fn select(&self, who: &[usize], size: usize) -> Vec<usize> {
        let mut order = self.ordered(who);
        order.truncate(size);
        order
    }

    /// The first front among these.
    pub(super) fn front_of(&self, who: &[usize]) -> Vec<usize> {
        let points = self.points(who);
        let all: Vec<Point> = points.iter().map(|p| p.1.clone()).collect();
        let ranks = pareto::ranks(&all);
        points.iter().zip(ranks).filter(|(_, rank)| *rank == 0).map(|((c, _), _)| *c).collect()
    }

    /// The front of all settings; where it is larger than a population, the most room apart.
    pub(super) fn front(&self) -> Vec<usize> {
        let all: Vec<usize> = (0..self.all.len()).collect();
        let front = self.front_of(&all);
        self.select(&front, self.plan.population())
    }

    /// True if a setting is better than another in every objective, by the 95 % interval of the
    /// paired differences, and no worse in constraints.
    pub(super) fn beats(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.all[a], &self.all[b]);
        let n = a.seeds().min(b.seeds());
        if n < 2 {
            return false;
        }
        let objectives = self.plan.objectives().len();
        let seeds = |c: &Candidate, m: usize| by_place(c.values.iter().map(|v| v[m]));
        let worse = |m: usize| {
            let change = paired_difference(&seeds(a, m), &seeds(b, m));
            change.is_some_and(|e| e.is_proven() && e.mean > 0.0)
        };
        let kept = |c: &Candidate| self.plan.violation(&means(&c.values[..n])) == 0.0;
        kept(a) && (0..objectives).all(worse)
    }

    /// Settings that have all seeds and are in the race.
    pub(super) fn finished(&self) -> Vec<usize> {
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
