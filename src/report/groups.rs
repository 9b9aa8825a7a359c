//! Which runs stand beside one another: those of one scenario at one point of its axes.
//! In a group each variant has one run per seed, and the first variant is what the others
//! are compared with.

use super::document::{Ending, Report, RunReport};
use super::pairs::Pairs;

/// Runs that differ in variant and seed only.
#[derive(Clone, Debug)]
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
pub struct VariantRuns<'a> {
    /// Name of the variant.
    pub name: &'a str,
    /// One per seed.
    pub runs: Vec<&'a RunReport>,
}

impl Group<'_> {
    /// Whether the variants did different amounts of work (by more than 0.1 % of their
    /// records), as they do in runs that end by the clock or out of memory. Totals alone
    /// mislead then.
    pub fn work_differs(&self) -> bool {
        let records = |v: &VariantRuns<'_>| {
            v.runs.iter().map(|r| r.records).sum::<u64>() as f64 / v.runs.len() as f64
        };
        let (min, max) = self
            .variants
            .iter()
            .map(records)
            .fold((f64::INFINITY, 0.0), |(min, max), n| (n.min(min), n.max(max)));
        min > 0.0 && max - min > max * 1e-3
    }
}

impl VariantRuns<'_> {
    /// Whether its policy is random eviction: a bound for the others.
    pub fn is_bound(&self) -> bool {
        self.runs.iter().all(|run| run.policy == "random")
    }

    /// Whether all its runs did their work.
    pub fn completed(&self) -> bool {
        self.runs.iter().all(|run| run.outcome == Ending::Completed)
    }
}

impl Report {
    /// The groups in the order of their first runs.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for run in &self.runs {
            let scenario = run.scenario.as_deref();
            let g = groups
                .iter()
                .position(|g| g.scenario == scenario && *g.axes == run.axes)
                .unwrap_or_else(|| {
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
    use crate::report::samples;

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
