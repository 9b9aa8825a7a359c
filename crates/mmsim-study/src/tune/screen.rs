//! Screening: of many children those are run that add most to the front, by a guess of what they do.
//!
//! A guess costs nothing beside a run. It errs, so some children of each round are run unscreened,
//! and every one that is run is judged by its run alone.

use super::guess::{self, Known};
use super::pareto;
use mmsim_language::scenario::tune::TunePlan;

/// Children of which one is run.
pub(super) const POOL: usize = 24;
/// Those of them that lie anywhere and are no children: settings far from all that are kept.
pub(super) const ANYWHERE: f64 = 0.4;
/// Settings that guesses rest on: the newest. More would cost more than runs do.
pub(super) const MOST_KNOWN: usize = 400;
/// Points of the front whose volume is computed. Volumes of many points with five objectives take
/// long.
pub(super) const MOST_OF_FRONT: usize = 24;

/// Data by which children of a round are screened.
pub(super) struct Screen<'a> {
    pub(super) plan: &'a TunePlan,
    pub(super) known: Vec<Known>,
    /// Objectives of the front, and guesses of children that were taken.
    pub(super) front: Vec<Vec<f64>>,
    pub(super) reference: Vec<f64>,
}

impl Screen<'_> {
    /// The place of the child that is guessed to add most; the first of equal ones.
    pub(super) fn best(&self, children: &[Vec<f64>]) -> Option<usize> {
        first_of_most(children.iter().map(|genes| self.gain(genes)))
    }

    /// The place of the objectives that add most; the first of equal ones, and unknown ones last.
    pub(super) fn best_of(&self, all: &[Option<Vec<f64>>]) -> Option<usize> {
        first_of_most(all.iter().map(|o| o.as_ref().map_or(-1.0, |values| self.adds(values))))
    }

    /// The volume that a setting adds to the front by its guess. Below 0: it is guessed to break
    /// constraints.
    fn gain(&self, genes: &[f64]) -> f64 {
        let Some(figures) = self.guess(genes) else { return 0.0 };
        let violation = self.plan.violation(&figures);
        if violation > 0.0 {
            return -violation;
        }
        self.adds(&figures[..self.reference.len()])
    }

    /// The volume that objectives add to the front.
    fn adds(&self, values: &[f64]) -> f64 {
        let mut more = self.front.clone();
        more.push(values.to_vec());
        let volume = |front: &[Vec<f64>]| pareto::hypervolume(front, &self.reference);
        volume(&more) - volume(&self.front)
    }

    /// Takes a child in as it is guessed to be: the next one is to add something else.
    pub(super) fn take(&mut self, genes: &[f64]) {
        if let Some(figures) = self.guess(genes)
            && self.plan.violation(&figures) == 0.0
        {
            self.front.push(figures[..self.reference.len()].to_vec());
        }
    }

    fn guess(&self, genes: &[f64]) -> Option<Vec<f64>> {
        guess::figures(&self.known, genes, &self.plan.ordered_knobs())
    }
}

/// The place of the largest number; the first of equal ones.
fn first_of_most(numbers: impl Iterator<Item = f64>) -> Option<usize> {
    let better = |best: Option<(usize, f64)>, (i, number): (usize, f64)| match best {
        Some((_, most)) if number <= most => best,
        _ => Some((i, number)),
    };
    numbers.enumerate().fold(None, better).map(|b| b.0)
}
