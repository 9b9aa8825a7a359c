//! The run of a study, and the quantities that expressions name.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::base::vmstat::{VmEvent, VmStat};
use mmsim_core::machine::Watch;
use mmsim_core::machine::snapshot::Snapshot;

use super::drops::{Drops, Following};
use mmsim::machines::Machine;
use mmsim::report::proc::picture;
use mmsim::report::{Ending, GenerationReport, Monitored, PhaseReport, RunReport};
use mmsim::run::{self, RunError};
use mmsim::scenario::RunSpec;

/// Gauges of one instant.
pub type Gauges = Vec<(&'static str, u64)>;

/// Observations of a run besides its report.
#[derive(Clone, Debug, Default)]
pub struct Watching {
    /// Phases at whose ends memory is drawn.
    pub pictures: BTreeSet<String>,
    /// Follows pages that are freed lazily.
    pub lazyfree: bool,
    /// The interval between samples of gauges.
    pub every: Option<SimDuration>,
}

/// A run, and what was watched while it went.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its report.
    pub report: RunReport,
    /// Memory at the ends of phases: name and picture.
    pub pictures: Vec<(String, String)>,
    /// Pages that were freed lazily, if they were followed.
    pub drops: Option<Drops>,
    /// Free memory before it began, then all gauges at the end of each interval.
    pub samples: Vec<Gauges>,
    /// Records of its monitors.
    pub monitored: Vec<Monitored>,
}

type OfRun = fn(&Ran) -> f64;
type OfPhases = fn(&[&PhaseReport]) -> f64;

/// Quantities of a whole run besides its counters.
const OF_RUN: [(&str, OfRun); 8] = [
    ("records", |r| r.report.records as f64),
    ("sim_time_ns", |r| r.report.sim_time_ns as f64),
    // At the end; 0 where there is none.
    ("sim_easy_pool", |r| r.report.gauges.get("sim_easy_pool").map_or(0.0, |&n| n as f64)),
    // Of all threads.
    ("user_ns", |r| r.report.threads.iter().map(|t| t.user_ns).sum::<u64>() as f64),
    ("system_ns", |r| r.report.threads.iter().map(|t| t.system_ns).sum::<u64>() as f64),
    // Bytes that the schemes of all monitors were applied to.
    ("damon_applied_bytes", |r| {
        let schemes = r.report.damon.iter().flat_map(|d| &d.schemes);
        schemes.map(|s| s.sz_applied).sum::<u64>() as f64
    }),
    ("lazyfree_drop_age_s", |r| r.drops.as_ref().map_or(f64::NAN, Drops::mean_age_s)),
    ("lazyfree_drop_again_percent", |r| r.drops.as_ref().map_or(f64::NAN, Drops::again_percent)),
];

/// Quantities of phases besides their counters and gauges.
const OF_PHASES: [(&str, OfPhases); 4] = [
    // From the beginning of the first to the end of each, all together: threads that begin at once.
    ("span_ns", |phases| {
        let first = phases.iter().map(|p| p.begin_ns).min().unwrap_or(0);
        phases.iter().map(|p| p.begin_ns + p.sim_time_ns - first).sum::<u64>() as f64
    }),
    ("generations_file", |phases| {
        generations(phases).iter().map(|g| g.nr_file).sum::<u64>() as f64
    }),
    // File pages of the oldest generation that has any.
    ("generations_oldest_file", |phases| {
        let files = generations(phases).iter().map(|g| g.nr_file);
        files.into_iter().find(|n| *n > 0).unwrap_or(0) as f64
    }),
    ("generations_youngest", |phases| {
        generations(phases).iter().map(|g| g.seq).max().unwrap_or(0) as f64
    }),
];

/// The generations at the end of the last phase.
fn generations<'a>(phases: &[&'a PhaseReport]) -> &'a [GenerationReport] {
    phases.last().map_or(&[], |p| &p.lru_gen)
}

/// Begins the names of a group's counters: `memory_stat.GROUP.COUNTER`.
const OF_GROUP: &str = "memory_stat.";

/// True if a run may have a quantity of that name.
pub fn is_quantity(name: &str) -> bool {
    VmEvent::ALL.iter().any(|e| e.name() == name)
        || OF_RUN.iter().any(|q| q.0 == name)
        || OF_PHASES.iter().any(|q| q.0 == name)
        || name.starts_with(OF_GROUP)
        || name.starts_with("nr_")
}

/// A list that a run fills.
fn filled<T>(list: &Mutex<Vec<T>>) -> Vec<T> {
    std::mem::take(&mut *list.lock().expect("no thread panicked"))
}

impl Ran {
    /// Makes a run.
    ///
    /// # Errors
    /// The run is wrong, with its place.
    pub fn make(spec: &RunSpec, watching: &Watching) -> Result<Ran, RunError> {
        let pictures = Arc::new(Mutex::new(Vec::new()));
        let samples = Arc::new(Mutex::new(Vec::<Gauges>::new()));
        let following = Following::default();
        let watch = |_: usize, machine: &Machine| {
            let mut watch = Watch::default();
            if !watching.pictures.is_empty() {
                let (pictures, phases) = (pictures.clone(), watching.pictures.clone());
                let draw = move |name: Option<&str>, s: &Snapshot| {
                    if let Some(name) = name.filter(|n| phases.contains(*n)) {
                        let zones = s.zones.iter().filter(|z| z.managed > 0);
                        let text = zones.map(|z| picture(z, s.pageblock_order)).collect();
                        let mut all = pictures.lock().expect("no thread panicked");
                        all.push((name.to_string(), text));
                    }
                };
                watch = watch.with_snapshot(Box::new(draw));
            }
            if let Some(every) = watching.every {
                let before = vec![("nr_free_pages", machine.mem.zones.nr_free())];
                *samples.lock().expect("no thread panicked") = vec![before];
                let samples = samples.clone();
                let keep = move |_: SimTime, _: &VmStat, gauges: &[(&'static str, u64)]| {
                    samples.lock().expect("no thread panicked").push(gauges.to_vec());
                };
                watch = watch.with_sample(every, Box::new(keep));
            }
            match watching.lazyfree {
                true => watch.with_observer(Box::new(following.clone())),
                false => watch,
            }
        };
        let (meta, result) = run::run_one(0, spec, &watch)?;
        let monitored = meta.damon.clone();
        let report = RunReport::from_result(meta, &result);
        let drops = watching.lazyfree.then(|| following.drops());
        let (pictures, samples) = (filled(&pictures), filled(&samples));
        Ok(Ran { report, pictures, drops, samples, monitored })
    }

    /// True if its work was done.
    pub fn is_complete(&self) -> bool {
        self.report.outcome == Ending::Completed
    }

    /// A quantity of the run or of some phases; not a number if it has none of that name.
    pub fn quantity(&self, name: &str, phases: Option<&str>) -> f64 {
        match phases {
            Some(selector) => of_phases(name, &self.phases(selector)),
            None => self.of_run(name).unwrap_or(f64::NAN),
        }
    }

    fn of_run(&self, name: &str) -> Option<f64> {
        if let Some(quantity) = OF_RUN.iter().find(|q| q.0 == name) {
            return Some(quantity.1(self));
        }
        if let Some((group, counter)) = name.strip_prefix(OF_GROUP).and_then(|n| n.split_once('.'))
        {
            return self.report.memory_stat.get(group)?.get(counter)?.map(|n| n as f64);
        }
        self.report.vmstat.get(name).map(|n| *n as f64)
    }

    /// Phases of a name, whichever task they are of; `a ..` those after the last `a`, and `a .. b`
    /// of these those up to `b`.
    fn phases(&self, selector: &str) -> Vec<&PhaseReport> {
        let all = &self.report.phases;
        let is = |p: &PhaseReport, name: &str| {
            p.name == name || p.name.strip_suffix(name).is_some_and(|task| task.ends_with('/'))
        };
        let Some((after, upto)) = selector.split_once("..") else {
            return all.iter().filter(|p| is(p, selector)).collect();
        };
        let Some(begin) = all.iter().rposition(|p| is(p, after.trim())) else { return Vec::new() };
        let rest = &all[begin + 1..];
        match (upto.trim(), rest.iter().position(|p| is(p, upto.trim()))) {
            ("", _) => rest.iter().collect(),
            (_, Some(last)) => rest[..=last].iter().collect(),
            (_, None) => Vec::new(),
        }
    }
}

/// A quantity of phases: counters are summed, gauges are those at the end.
fn of_phases(name: &str, phases: &[&PhaseReport]) -> f64 {
    let Some(last) = phases.last() else { return f64::NAN };
    if let Some(quantity) = OF_PHASES.iter().find(|q| q.0 == name) {
        return quantity.1(phases);
    }
    match last.gauges.get(name) {
        Some(gauge) => *gauge as f64,
        None => {
            let counts: Option<Vec<u64>> =
                phases.iter().map(|p| p.vmstat.get(name).copied()).collect();
            counts.map_or(f64::NAN, |c| c.iter().sum::<u64>() as f64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::report::Pairs;

    /// A run whose phases have these names, and 1, 2, 4, .. stalls.
    fn ran(phases: &[&str]) -> Ran {
        let text = "machine = { memory = \"8MiB\" }\n\
                    task = [{ workload = \"zipf\", memory = \"1MiB\", accesses = 10 }]\n";
        let tiny = mmsim::Scenario::from_str(text, "tiny.toml").unwrap_or_else(|e| panic!("{e}"));
        let report = mmsim::run(&tiny, &mmsim::RunOptions::default());
        let mut report = report.unwrap_or_else(|e| panic!("{e}")).runs.swap_remove(0);
        let phase = report.phases[0].clone();
        let named = |(i, name): (usize, &&str)| {
            let mut phase = phase.clone();
            phase.name = name.to_string();
            phase.vmstat = Pairs::from_iter([("compact_stall", 1 << i)]);
            (phase.begin_ns, phase.sim_time_ns) = (10, 5 + i as u64);
            phase
        };
        report.phases = phases.iter().enumerate().map(named).collect();
        Ran {
            report,
            pictures: Vec::new(),
            drops: None,
            samples: Vec::new(),
            monitored: Vec::new(),
        }
    }

    #[test]
    fn phases_are_chosen_by_name_and_by_place() {
        let run = ran(&["a/survey", "b/x", "a/attempts", "b/attempts", "a/end"]);
        let of = |phases: &str| run.quantity("compact_stall", Some(phases));
        assert_eq!((of("a/attempts"), of("attempts"), of("a/survey ..")), (4.0, 12.0, 30.0));
        assert_eq!((of("survey .. a/attempts"), of("b/x .. end")), (6.0, 28.0));
        assert!(of("tempts").is_nan() && of("none ..").is_nan() && of("x .. none").is_nan());
        assert_eq!(run.quantity("span_ns", Some("attempts")), 7.0 + 8.0);
    }

    #[test]
    fn quantities_have_names() {
        let run = ran(&[]);
        assert_eq!(
            run.quantity("pgfault", None),
            run.report.vmstat.get("pgfault").map_or(0.0, |n| *n as f64)
        );
        assert!(run.quantity("memory_stat.a.pgsteal_file", None).is_nan());
        assert!(["pgfault", "records", "span_ns", "nr_dirty"].iter().all(|n| is_quantity(n)));
        assert!(!is_quantity("pgfaults"));
    }
}
