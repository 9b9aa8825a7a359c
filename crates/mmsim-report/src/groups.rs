//! Which runs stand beside one another: those of one scenario at one point of its axes.
//! In a group each variant has one run per seed, and the first variant is what the others
//! are compared with.

use std::collections::BTreeMap;

use super::document::{Ending, Report, RunReport};
use super::pairs::Pairs;

/// Runs that differ in variant and seed only.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Group<'a> {
    /// Name of the scenario, where the report has several.
    pub scenario: Option<&'a str>,
    /// The point on the axes.
    pub axes: &'a Pairs<String>,
    /// Variants in the order of the report.
    pub variants: Vec<VariantRuns<'a>>,
}

/// The runs of one variant in a group, in the order of the report.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VariantRuns<'a> {
    /// Name of the variant.
    pub name: &'a str,
    /// One per seed.
    pub runs: Vec<&'a RunReport>,
}

impl Group<'_> {
    /// True if the variants did different amounts of work (by more than 0.1 % of their records), as
    /// they do in runs that end by the clock. Totals alone mislead then. Only runs that did all
    /// their work count.
    pub fn work_differs(&self) -> bool {
        let records = |v: &VariantRuns<'_>| {
            let all: Vec<u64> = v.whole().map(|r| r.records).collect();
            (!all.is_empty()).then(|| all.iter().sum::<u64>() as f64 / all.len() as f64)
        };
        let (min, max) = self
            .variants
            .iter()
            .filter_map(records)
            .fold((f64::INFINITY, 0.0), |(min, max), n| (n.min(min), n.max(max)));
        min > 0.0 && max - min > max * 1e-3
    }
}

/// Outcome of some runs, in a few words.
pub fn outcome_of(runs: impl Iterator<Item = Ending>) -> String {
    let all: Vec<Ending> = runs.collect();
    let others: Vec<Ending> = all.iter().copied().filter(|o| !o.is_whole()).collect();
    let Some(first) = others.first() else { return Ending::Completed.name().to_string() };
    let alike = others.iter().all(|o| o == first);
    let what = if alike { first.name() } else { "not completed" };
    match others.len() == all.len() {
        true => what.to_string(),
        false => format!("{} of {} {what}", others.len(), all.len()),
    }
}

impl<'a> VariantRuns<'a> {
    /// Runs of a variant of this name.
    pub fn new(name: &'a str, runs: Vec<&'a RunReport>) -> Self {
        VariantRuns { name, runs }
    }
}

impl VariantRuns<'_> {
    /// True if its policy is random eviction: a bound for the others.
    pub fn is_bound(&self) -> bool {
        self.runs.iter().all(|run| run.policy == "random")
    }

    /// The runs that did all their work: the only ones with figures.
    pub fn whole(&self) -> impl Iterator<Item = &'_ RunReport> {
        self.runs.iter().copied().filter(|run| run.outcome.is_whole())
    }

    /// Outcome of its runs: `completed`, `out of memory`, or the number of them that did not
    /// complete.
    pub fn outcome(&self) -> String {
        outcome_of(self.runs.iter().map(|run| run.outcome))
    }
}

/// A scenario and a point on its axes.
type Point<'a> = (Option<&'a str>, Vec<(&'a str, &'a str)>);

impl Report {
    /// The groups in the order of their first runs.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        let mut places: BTreeMap<Point<'_>, usize> = BTreeMap::new();
        for run in &self.runs {
            let scenario = run.scenario.as_deref();
            let axes = run.axes.iter().map(|(name, value)| (name, value.as_str())).collect();
            let g = *places.entry((scenario, axes)).or_insert_with(|| {
                groups.push(Group { scenario, axes: &run.axes, variants: Vec::new() });
                groups.len() - 1
            });
            let variants = &mut groups[g].variants;
            match variants.iter_mut().find(|v| v.name == run.variant) {
                Some(variant) => variant.runs.push(run),
                None => variants.push(VariantRuns { name: &run.variant, runs: vec![run] }),
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn outcomes_in_a_few_words() {
        let mut report = samples::two_variants(&[1, 2, 3]);
        report.runs[4].outcome = Ending::OutOfMemory;
        let of = |report: &Report| -> Vec<(String, usize)> {
            let group = &report.groups()[0];
            group.variants.iter().map(|v| (v.outcome(), v.whole().count())).collect()
        };
        let said = |word: &str, whole| (word.to_string(), whole);
        assert_eq!(of(&report), [said("completed", 3), said("1 of 3 out of memory", 2)]);
        for run in &mut report.runs[3..] {
            run.outcome = Ending::OutOfMemory;
        }
        assert_eq!(of(&report), [said("completed", 3), said("out of memory", 0)]);
    }

    /// The work of a run that died is no work to compare by.
    #[test]
    fn only_whole_runs_have_work() {
        let mut report = samples::two_variants(&[1, 2]);
        report.runs[3].records = 5;
        assert!(report.groups()[0].work_differs());
        report.runs[3].outcome = Ending::OutOfMemory;
        assert!(!report.groups()[0].work_differs());
    }

    #[test]
    fn axes_make_groups_and_seeds_make_rows() {
        let mut report = samples::two_variants(&[1, 2, 3]);
        let mut other = report.runs[0].clone();
        other.axes.set("task[0].memory", "2048MiB".to_string());
        report.runs.push(other);
        let groups = report.groups();
        assert_eq!(groups.len(), 2);
        let names: Vec<&str> = groups[0].variants.iter().map(|v| v.name).collect();
        assert_eq!(names, ["v5.5", "protection"]);
        assert_eq!(groups[0].variants[1].runs.len(), 3);
        assert_eq!(groups[1].variants.len(), 1);
    }
}
