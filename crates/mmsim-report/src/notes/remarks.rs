//! Remarks for who runs a scenario, which stand in no document: work that never needed reclaim, and
//! tasks that ended long before the rest.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{Report, RunReport};

/// A task that ends before this share of the run leaves most of it to the others, in per cent.
const EARLY: u64 = 50;
/// Tasks that have a remark each; the rest share one.
const TASKS_TOLD: usize = 8;

impl Report {
    /// Remarks on runs that show less than their author may think, besides the notes.
    pub fn remarks(&self) -> Vec<String> {
        let mut scenarios: Vec<Option<&str>> =
            self.runs.iter().map(|r| r.scenario.as_deref()).collect();
        scenarios.dedup();
        let mut remarks = Vec::new();
        for scenario in scenarios {
            let runs: Vec<&RunReport> =
                self.runs.iter().filter(|r| r.scenario.as_deref() == scenario).collect();
            let prefix = scenario.map_or(String::new(), |s| format!("{s}: "));
            let noted = self.notes.iter().any(|n| n.contains("no run reclaimed a page"));
            let all = never_reclaimed(&runs).filter(|_| !noted).into_iter().chain(ended(&runs));
            remarks.extend(all.map(|remark| format!("{prefix}{remark}")));
        }
        remarks
    }
}

/// True if a run did its work without reclaim, and is about nothing else: blocks, or a monitor.
pub(super) fn is_idle(r: &RunReport) -> bool {
    let about_others = r.compaction.is_some() || !r.damon.is_empty();
    r.outcome.is_whole() && !about_others && !r.has_reclaimed()
}

/// The remark that no run reclaimed anything.
fn never_reclaimed(runs: &[&RunReport]) -> Option<String> {
    if !runs.iter().all(|r| is_idle(r)) {
        return None;
    }
    // Locked pages are on no list that reclaim looks at, and taken all the same.
    let locked = |r: &RunReport| r.gauges.get("nr_unevictable").copied().unwrap_or(0);
    let peak = runs.iter().map(|r| r.peak_resident + locked(r)).max().unwrap_or(0);
    let managed = runs.iter().map(|r| r.zones.iter().map(|z| z.managed).sum::<u64>()).min()?;
    Some(format!(
        "no run reclaimed a page: the work took at most {peak} of {managed} pages, so no policy and no \
         swap had anything to do; give it more memory, or the machine less"
    ))
}

/// When the last thread of each task had done its work, in per cent of the run.
fn ends(run: &RunReport) -> BTreeMap<&str, u64> {
    let tasks: BTreeSet<&str> = run.tasks.iter().map(|t| t.name.as_str()).collect();
    let mut ends = BTreeMap::new();
    for thread in &run.threads {
        // Processes are `task-0` and so on, threads of one `task/0`.
        let process = thread.name.rsplit_once('/').map_or(thread.name.as_str(), |(of, _)| of);
        let task = match process.rsplit_once('-') {
            Some((task, _)) if !tasks.contains(process) => task,
            _ => process,
        };
        let share = u128::from(thread.finished_ns) * 100 / u128::from(run.sim_time_ns.max(1));
        let share = share as u64;
        let end = ends.entry(task).or_insert(0);
        *end = share.max(*end);
    }
    ends
}

/// Tasks with accesses that ended early in some run.
fn ended(runs: &[&RunReport]) -> Vec<String> {
    // For each task: the least share, the run with it, and the number of runs that it ended early.
    let mut found: Vec<(&str, u64, &RunReport, usize)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for run in runs.iter().filter(|r| r.outcome.is_whole() && r.tasks.len() > 1) {
        let ends = ends(run);
        for task in run.tasks.iter().filter(|t| t.accesses > 0) {
            let Some(&share) = ends.get(task.name.as_str()).filter(|share| **share < EARLY) else {
                continue;
            };
            match places.get(task.name.as_str()) {
                Some(&at) => {
                    let f = &mut found[at];
                    if share < f.1 {
                        (f.1, f.2) = (share, run);
                    }
                    f.3 += 1;
                }
                None => {
                    places.insert(&task.name, found.len());
                    found.push((&task.name, share, run, 1));
                }
            }
        }
    }
    let remark = |(task, share, run, n): (&str, u64, &RunReport, usize)| {
        let which = super::in_runs(n, runs.len()).unwrap_or_default();
        format!(
            "task {task} ended at {share} % of the run ({}, seed {}){which}: after that the others ran \
             without it; give it more work, or all tasks a `duration`",
            run.variant, run.seed
        )
    };
    let more = found.len().saturating_sub(TASKS_TOLD);
    let more = (more > 0).then(|| format!("{more} more tasks ended early too"));
    found.into_iter().take(TASKS_TOLD).map(remark).chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::TaskReport;
    use crate::samples;

    fn remarks(change: impl Fn(&mut RunReport)) -> Vec<String> {
        let mut report = samples::two_variants(&[1, 2]);
        report.runs.iter_mut().for_each(change);
        report.remarks()
    }

    #[test]
    fn runs_that_reclaim_have_no_remarks() {
        assert_eq!(remarks(|_| {}), [""; 0]);
    }

    #[test]
    fn memory_that_suffices_is_said() {
        let idle = |run: &mut RunReport| {
            run.vmstat.set("pgsteal_anon", 0);
            run.vmstat.set("pgsteal_file", 0);
            run.peak_resident = 70;
        };
        let found = remarks(idle);
        assert!(found[0].starts_with("no run reclaimed a page: the work took at most 70 of "));
        assert_eq!(found.len(), 1, "{found:?}");
        let locks = |run: &mut RunReport| {
            idle(run);
            run.gauges.set("nr_unevictable", 30);
        };
        assert!(remarks(locks)[0].contains("the work took at most 100 of "));
        // A note on it is enough, and a run that died says more.
        let mut report = samples::two_variants(&[1]);
        report.runs.iter_mut().for_each(idle);
        report.notes = vec!["no run reclaimed a page: these runs say nothing".into()];
        assert_eq!(report.remarks(), [""; 0]);
        let dead = |run: &mut RunReport| {
            idle(run);
            run.outcome = crate::Ending::OutOfMemory;
        };
        assert_eq!(remarks(dead), [""; 0]);
    }

    fn task(name: &str, accesses: u64) -> TaskReport {
        let task = serde_json::json!({
            "name": name, "begin_ns": 0, "accesses": accesses, "records": 0, "vmstat": {}
        });
        serde_json::from_value(task).expect("a task")
    }

    /// The end of a task is that of its last thread, of whichever process.
    #[test]
    fn tasks_that_end_early_are_named() {
        let with = |ends: &[(&str, u64)]| {
            remarks(|run| {
                run.sim_time_ns = 1000;
                run.tasks = vec![task("heap", 9), task("load", 0), task("files", 9)];
                let thread = run.threads[0].clone();
                run.threads.clear();
                for (name, end) in ends {
                    let mut thread = thread.clone();
                    (thread.name, thread.finished_ns) = (name.to_string(), *end);
                    run.threads.push(thread);
                }
            })
        };
        let found = with(&[("heap", 1000), ("load", 1), ("files-0/0", 90), ("files-1", 123)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("task files ended at 12 % of the run (v5.5, seed 1): after"));
        assert_eq!(with(&[("heap", 1000), ("load", 1), ("files", 600)]), [""; 0]);
    }

    /// A scenario may have thousands of tasks. One name may begin as another: `t1` and `t1-1` are two.
    #[test]
    fn many_tasks_are_counted() {
        let found = remarks(|run| {
            let named = |i: u64| match i {
                0 => "t1".to_string(),
                i => format!("t1-{i}"),
            };
            // Decades: shares are computed in more than 64 bits.
            run.sim_time_ns = 1_000_000_000_000_000_000;
            run.tasks = (0..20).map(|i| task(&named(i), 9)).collect();
            run.threads = vec![run.threads[0].clone(); 20];
            for (i, thread) in run.threads.iter_mut().enumerate() {
                thread.name = named(i as u64);
                thread.finished_ns = run.sim_time_ns / if i == 19 { 1 } else { 10 };
            }
        });
        assert_eq!(found.len(), TASKS_TOLD + 1, "{found:?}");
        assert!(found[0].starts_with("task t1 ended at 10 % of the run "), "{found:?}");
        assert_eq!(found[TASKS_TOLD], "11 more tasks ended early too");
    }
}
