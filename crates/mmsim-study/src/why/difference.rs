//! Differences between two runs of the same accesses, refault by refault.
//!
//! A thread makes the same accesses in both runs, so a refault is known by its thread, its access
//! and its page. It is in both runs, or in one only; and there its class says why. What is only in
//! B, less what is only in A, is the change of the counter to the last page.

use std::collections::BTreeMap;

use mmsim_core::machine::result::{Outcome, RunResult};
use mmsim_core::memory::follow::PageOf;
use mmsim_why::{Class, Logged, Verdicts};
use serde::Serialize;

use crate::run::RunError;
use mmsim_base::error::Error;
use mmsim_language::scenario::RunSpec;
use mmsim_report::RunMeta;
use mmsim_report::ShareReport;

/// A run that was followed.
pub struct Followed {
    /// Its name: variant, axes and seed, with its file where these are not enough.
    pub name: String,
    /// Its specification.
    pub spec: RunSpec,
    /// Its facts.
    pub meta: RunMeta,
    /// Its result.
    pub result: RunResult,
    /// Its verdicts.
    pub verdicts: Verdicts,
}

/// Difference between two runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// The first run.
    pub a: Side,
    /// The second one.
    pub b: Side,
    /// Refaults of both.
    pub both: u64,
    /// Refaults of B less those of A.
    pub change: i64,
}

/// One of two runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Side {
    /// Name of the run.
    pub run: String,
    /// All its refaults.
    pub refaults: u64,
    /// Those that the other run has not.
    pub only: u64,
    /// These by class, in the order of the rules; classes without any are left out.
    pub classes: Vec<OnlyClass>,
}

/// Refaults of one class that the other run has not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct OnlyClass {
    /// The class.
    pub class: String,
    /// Number of refaults.
    pub count: u64,
    /// Those that read no device: zswap had the page, or it holds zeros.
    pub without_device: u64,
    /// By region; the most come first.
    pub regions: Vec<ShareReport>,
    /// The first of them, as `--page` takes it.
    pub example: String,
}

/// Identity of a refault in both runs: access, page and kind, and its number among these.
type At = (u32, u64, PageOf, bool, u32);

fn places(log: &[Logged]) -> BTreeMap<At, &Logged> {
    let mut all: BTreeMap<At, &Logged> = BTreeMap::new();
    for l in log {
        let at = |nth| (l.thread.0, l.access, l.of, l.file, nth);
        let last = all.range(at(0)..=at(u32::MAX)).next_back();
        let nth = last.map_or(0, |(last, _)| last.4 + 1);
        all.insert(at(nth), l);
    }
    all
}

fn side(run: &Followed, mine: &BTreeMap<At, &Logged>, other: &BTreeMap<At, &Logged>) -> Side {
    let mut only: BTreeMap<Class, Vec<&Logged>> = BTreeMap::new();
    for (_, l) in mine.iter().filter(|(at, _)| !other.contains_key(at)) {
        only.entry(l.class).or_default().push(l);
    }
    let names = &run.verdicts.names;
    let class = |(class, all): (Class, Vec<&Logged>)| {
        let mut regions: BTreeMap<String, u64> = BTreeMap::new();
        for l in &all {
            *regions.entry(names.page(l.of, true)).or_default() += 1;
        }
        let mut regions: Vec<ShareReport> =
            regions.into_iter().map(|(name, count)| ShareReport::new(name, count)).collect();
        regions.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        let first = all.iter().min_by_key(|l| l.now).expect("a class has a refault");
        OnlyClass {
            class: class.key().into(),
            count: all.len() as u64,
            without_device: all.iter().filter(|l| l.without_device).count() as u64,
            regions,
            example: names.page(first.of, false),
        }
    };
    let classes: Vec<OnlyClass> = only.into_iter().map(class).collect();
    Side {
        run: run.name.clone(),
        refaults: mine.len() as u64,
        only: classes.iter().map(|c| c.count).sum(),
        classes,
    }
}

/// Makes two runs, each with its name, follows them and takes them apart.
///
/// # Errors
///
/// They are the same run, or not of the same accesses; or one of them cannot be made.
pub fn of(a: (String, &RunSpec), b: (String, &RunSpec)) -> Result<Difference, RunError> {
    distinct((&a.0, a.1), (&b.0, b.1))?;
    let followed = |(name, spec): (String, &RunSpec)| {
        let (meta, result, verdicts) = super::explain(spec)?;
        Ok::<_, RunError>(Followed { name, spec: spec.clone(), meta, result, verdicts })
    };
    difference(&followed(a)?, &followed(b)?)
}

/// Takes two runs apart.
///
/// # Errors
///
/// One ended early, or they are not of the same accesses.
pub fn difference(a: &Followed, b: &Followed) -> Result<Difference, RunError> {
    let early = [a, b].into_iter().find(|run| run.result.outcome != Outcome::Completed);
    if let Some(run) = early {
        let title = format!("{}: the run did not do all its work", run.name);
        let help = "give the machine more memory or swap, so that both runs do all work";
        return Err(RunError::EndedEarly(Error::plain(title).help(help)));
    }
    same_accesses(a, b)?;
    let (of_a, of_b) = (places(&a.verdicts.log), places(&b.verdicts.log));
    let both = of_a.keys().filter(|at| of_b.contains_key(at)).count() as u64;
    let change = of_b.len() as i64 - of_a.len() as i64;
    Ok(Difference { a: side(a, &of_a, &of_b), b: side(b, &of_b, &of_a), both, change })
}

/// Refuses to take a run apart from itself. Names are those that messages call the runs by.
///
/// # Errors
///
/// Both have the same machine, work, policy and seed.
pub fn distinct(a: (&str, &RunSpec), b: (&str, &RunSpec)) -> Result<(), Error> {
    let (mut x, mut y) = (a.1.clone(), b.1.clone());
    (x.variant, y.variant) = Default::default();
    (x.axes, y.axes) = Default::default();
    if x != y {
        return Ok(());
    }
    let (a, b) = (a.0, b.0);
    let which = if a == b { a.to_string() } else { format!("{a} and {b}") };
    let title = format!("{which}: both are the same run, and nothing can differ");
    Err(Error::plain(title).help("take two runs that differ in machine or policy"))
}

/// Refuses two runs whose refaults cannot be matched.
fn same_accesses(a: &Followed, b: &Followed) -> Result<(), Error> {
    let not_the_same = |why: String| {
        let (a, b) = (&a.name, &b.name);
        let title = format!("{a} and {b} are not of the same accesses: {why}");
        let help = "compare runs that differ in machine or policy only, under one seed";
        Err(Error::plain(title).help(help))
    };
    if a.spec.seed != b.spec.seed {
        return not_the_same(format!("the seeds are {} and {}", a.spec.seed, b.spec.seed));
    }
    let names = |run: &Followed| -> Vec<String> {
        run.result.tasks.iter().map(|t| t.name.clone()).collect()
    };
    if names(a) != names(b) {
        let (a, b) = (names(a).join(", "), names(b).join(", "));
        return not_the_same(format!("the tasks are {a}, and {b}"));
    }
    for (x, y) in a.spec.tasks.iter().zip(&b.spec.tasks) {
        if (x.threads, x.processes, &x.work) != (y.threads, y.processes, &y.work) {
            return not_the_same(format!("the work of task {} has other settings", x.name));
        }
    }
    for (x, y) in a.result.tasks.iter().zip(&b.result.tasks) {
        if x.accesses != y.accesses {
            let (name, x, y) = (&x.name, x.accesses, y.accesses);
            return not_the_same(format!("task {name} makes {x} in A and {y} in B"));
        }
    }
    Ok(())
}
