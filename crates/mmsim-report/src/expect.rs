//! Expectations of a scenario, checked against the report of its runs.
//!
//! A scenario is there to show something: that one variant swaps in more than another, that a
//! daemon did its work. It says so as data, so that the report separates a run that shows nothing
//! from one that does. Values are means over seeds; every combination of the axes is checked
//! separately.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::claim::{Against, Bounds, Claim};
use super::document::{ExpectReport, Report, RunReport};
use super::numbers::grouped;
use super::pairs::Pairs;
use super::path::Path;

/// A statement about the runs of a scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct Expectation {
    /// Subject of the expectation.
    pub of: Subject,
    /// Other side of the comparison; `None`: the numbers themselves.
    pub than: Option<Subject>,
    /// Bounds of the figure, or of its multiple of that of `than`; seeds have one answer.
    pub claim: Claim,
}

/// A figure of some of the runs.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Subject {
    /// The figure.
    pub path: Path,
    /// The variant; `None`: each.
    pub variant: Option<String>,
    /// The values of axes, by their paths; axes that are not named: each value.
    pub at: Vec<(String, String)>,
}

/// Checks the expectations of a scenario on its runs. `scenario`: its name, where the report has
/// several. Those of variants or values that were not run are left out.
pub fn check(
    report: &Report,
    scenario: Option<&str>,
    expectations: &[Expectation],
) -> Vec<ExpectReport> {
    let mut asking = Asking::new(scenario, expectations);
    for run in report.runs.iter().filter(|r| r.scenario.as_deref() == scenario) {
        asking.add(run);
    }
    asking.finish(usize::MAX)
}

/// Expectations that are checked against runs which come one by one: for each variant at each value
/// of the axes it keeps sums.
#[derive(Clone, Debug)]
pub struct Asking<'e> {
    scenario: Option<&'e str>,
    expectations: &'e [Expectation],
    points: Vec<Point>,
    places: BTreeMap<String, usize>,
}

/// A variant at values of the axes. Its runs differ in their seeds.
#[derive(Clone, Debug)]
struct Point {
    variant: String,
    axes: Pairs<String>,
    /// Means for each expectation: of its figure, and of the one that this is compared with.
    means: Vec<[Option<Mean>; 2]>,
    holds: Option<bool>,
}

/// The mean of a figure over runs, or why there is none.
#[derive(Clone, Debug)]
struct Mean {
    sum: Result<f64, String>,
    runs: u64,
}

impl Mean {
    fn value(&self) -> Result<f64, &String> {
        self.sum.as_ref().map(|sum| sum / self.runs as f64)
    }
}

impl Expectation {
    /// The expectation that a figure lies between two bounds, on neither, or that its multiple of
    /// another figure does.
    pub fn new(of: Subject, low: Option<f64>, high: Option<f64>, than: Option<Subject>) -> Self {
        let against = if than.is_some() { Against::Ratio } else { Against::Nothing };
        let claim = Claim::between(Bounds { low, high, open: true });
        Expectation { of, than, claim: Claim { against, ..claim } }
    }
}

impl<'e> Asking<'e> {
    /// A check of no runs yet. `scenario`: the name of theirs, where there are several.
    pub fn new(scenario: Option<&'e str>, expectations: &'e [Expectation]) -> Asking<'e> {
        Asking { scenario, expectations, points: Vec::new(), places: BTreeMap::new() }
    }

    /// True if there are no expectations.
    pub fn is_empty(&self) -> bool {
        self.expectations.is_empty()
    }

    /// Asks one more run of the scenario.
    pub fn add(&mut self, run: &RunReport) {
        if self.is_empty() {
            return;
        }
        let next = self.points.len();
        let nth = *self.places.entry(place(&run.variant, &run.axes)).or_insert(next);
        if nth == next {
            self.points.push(Point {
                variant: run.variant.clone(),
                axes: run.axes.clone(),
                means: vec![[None, None]; self.expectations.len()],
                holds: None,
            });
        }
        for (e, means) in self.expectations.iter().zip(&mut self.points[nth].means) {
            for (subject, mean) in [Some(&e.of), e.than.as_ref()].into_iter().zip(means) {
                let Some(subject) = subject.filter(|s| s.has(run)) else { continue };
                let mean = mean.get_or_insert(Mean { sum: Ok(0.0), runs: 0 });
                mean.runs += 1;
                if let Ok(sum) = &mut mean.sum {
                    match subject.path.of_run(run) {
                        Ok(value) => *sum += value,
                        Err(m) => mean.sum = Err(format!("{}; {}", m.what, m.instead)),
                    }
                }
            }
        }
    }

    /// The results. At most `places` places stand in a text, and then the number of further ones.
    pub fn finish(&mut self, places: usize) -> Vec<ExpectReport> {
        (0..self.expectations.len()).filter_map(|i| self.one(i, places)).collect()
    }

    fn one(&mut self, i: usize, places: usize) -> Option<ExpectReport> {
        let e = &self.expectations[i];
        let mut wrong = Vec::new();
        let mut right = Vec::new();
        for nth in 0..self.points.len() {
            let point = &self.points[nth];
            let Some(mean) = &point.means[i][0] else { continue };
            let other = match &e.than {
                None => Ok(1.0),
                Some(than) => match self.beside(than, point).and_then(|p| p.means[i][1].as_ref()) {
                    Some(other) => other.value(),
                    None => continue,
                },
            };
            let place = place(&point.variant, &point.axes);
            let (holds, text) = match (mean.value(), other) {
                (Ok(value), Ok(other)) => {
                    let mut text = format!("{place}: {}", grouped(value));
                    if e.than.is_some() {
                        let _ = write!(text, " against {}", grouped(other));
                    }
                    (e.claim.judge_one(value, other).holds, text)
                }
                (Err(what), _) | (_, Err(what)) => (false, format!("{place}: {what}")),
            };
            let point = &mut self.points[nth];
            point.holds = Some(holds && point.holds != Some(false));
            if holds { right.push(text) } else { wrong.push(text) }
        }
        if wrong.is_empty() && right.is_empty() {
            return None;
        }
        let holds = wrong.is_empty();
        let mut told = if holds { right } else { wrong };
        if told.len() > places {
            let more = told.len() - places;
            told.truncate(places);
            told.push(format!("and {} more", grouped(more as f64)));
        }
        let scenario = self.scenario.map(str::to_string);
        Some(ExpectReport { scenario, expected: e.to_string(), found: told.join("; "), holds })
    }

    /// The point that a point is compared with: `than`, and the point's own values of axes that
    /// `than` does not name.
    fn beside(&self, than: &Subject, point: &Point) -> Option<&Point> {
        let named = |path: &str| than.at.iter().find(|(p, _)| p == path).map(|(_, value)| value);
        let axes = point.axes.iter();
        let axes = axes.map(|(path, own)| (path.to_string(), named(path).unwrap_or(own).clone()));
        let variant = than.variant.as_deref().unwrap_or(&point.variant);
        self.places.get(&place(variant, &axes.collect())).map(|&nth| &self.points[nth])
    }

    /// True if all expectations on the variant and the values of a run hold; `None`: there are
    /// none. Known at the end.
    pub fn holds(&self, run: &RunReport) -> Option<bool> {
        self.points[*self.places.get(&place(&run.variant, &run.axes))?].holds
    }
}

impl Subject {
    /// True if it is about a run: of its variant, and of its values of axes.
    pub fn has(&self, run: &RunReport) -> bool {
        self.variant.as_ref().is_none_or(|v| *v == run.variant)
            && self.at.iter().all(|(path, value)| run.axes.get(path) == Some(value))
    }
}

fn place(variant: &str, axes: &Pairs<String>) -> String {
    let axes: String = axes.iter().map(|(k, v)| format!(", {k} = {v}")).collect();
    format!("{variant}{axes}")
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.path.name)?;
        if let Some(variant) = &self.variant {
            write!(f, " of {variant}")?;
        }
        for (path, value) in &self.at {
            write!(f, ", {path} = {value}")?;
        }
        self.path.phase.as_ref().map_or(Ok(()), |p| write!(f, ", in {p}"))
    }
}

impl std::fmt::Display for Expectation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.of)?;
        let bounds = self.claim.bounds().keys(|bound| match &self.than {
            Some(than) if bound == 1.0 => than.to_string(),
            Some(than) => format!("{bound} times {than}"),
            None => grouped(bound),
        });
        if bounds.is_empty() { Ok(()) } else { write!(f, " {bounds}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn of(figure: &str, variant: Option<&str>) -> Subject {
        Subject { path: Path::read(figure), variant: variant.map(Into::into), at: Vec::new() }
    }

    fn asked(e: Expectation) -> (String, String, bool) {
        // Swap-ins: 1,501,500 of v5.5, 1,201,350 of protection.
        let report = samples::two_variants(&[1, 2]);
        let all = check(&report, None, &[e]);
        let [one] = &all[..] else { panic!("{all:?}") };
        (one.expected.clone(), one.found.clone(), one.holds)
    }

    #[test]
    fn bounds_and_other_variants() {
        let point = ", task[0].memory = 1536MiB";
        let e = Expectation::new(of("pswpin", None), Some(1e6), None, None);
        let found = format!("v5.5{point}: 1,501,500; protection{point}: 1,201,350");
        assert_eq!(asked(e.clone()), ("pswpin above 1,000,000".into(), found, true));
        let e = Expectation::new(of("pswpin", None), Some(1.3e6), None, None);
        let found = format!("protection{point}: 1,201,350");
        assert_eq!(asked(e), ("pswpin above 1,300,000".into(), found, false));

        let than = Some(of("pswpin", Some("v5.5")));
        let of = of("pswpin", Some("protection"));
        let e = Expectation::new(of.clone(), None, Some(0.9), than.clone());
        let words = "pswpin of protection below 0.9 times pswpin of v5.5".to_string();
        let found = format!("protection{point}: 1,201,350 against 1,501,500");
        assert_eq!(asked(e.clone()), (words, found.clone(), true));
        let e = Expectation::new(of, None, Some(0.8), than);
        let words = "pswpin of protection below 0.8 times pswpin of v5.5".to_string();
        assert_eq!(asked(e), (words, found, false));
    }

    #[test]
    fn figures_by_their_paths_and_sums() {
        for (figure, value) in [
            ("completed", 1.0),
            ("nr_free_pages", 700.0),
            ("memory_stat.batch.pgfault", 3.0),
            ("threads[0].records", 50_000.0),
            ("throughput.records_per_s", 5_000.0),
            ("accesses + records", 250_000.0),
        ] {
            let (above, below) = (Some(value - 0.5), Some(value + 0.5));
            let e = Expectation::new(of(figure, Some("v5.5")), above, below, None);
            assert!(asked(e.clone()).2, "{figure}: {:?}", asked(e));
        }
        let wrong = Expectation::new(of("threads[7].records", None), None, None, None);
        let (_, found, holds) = asked(wrong);
        assert!(
            !holds && found.contains("there is no `threads[7].records`; threads has one"),
            "{found}"
        );
        let mut phase = of("pswpin", None);
        phase.path.phase = Some("populate".into());
        let none = Expectation::new(phase, None, Some(1.0), None);
        assert!(asked(none).2);
    }

    #[test]
    fn variants_that_did_not_run_are_not_asked() {
        let report = samples::two_variants(&[1]);
        let e = Expectation::new(of("pswpin", Some("other")), None, None, None);
        let than = Some(of("pswpin", Some("other")));
        let f = Expectation::new(of("pswpin", None), None, None, than);
        assert_eq!(check(&report, None, &[e, f]), []);
    }
}
