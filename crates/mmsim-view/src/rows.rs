//! The rows of a group's table: what each variant has, and its change against the first.
//!
//! Figures are of runs that did all their work; a variant without such a run has none.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use mmsim::base::vmstat::VmEvent;
use mmsim::report::blocks::Attempts;
use mmsim::report::derived::{Figure, Scope, own};
use mmsim::report::groups::{Group, VariantRuns};
use mmsim::report::numbers::{grouped, grouped_row, per_cent};
use mmsim::report::path::{Path, Term};
use mmsim::report::statistics::{estimate, paired_change};
use mmsim::report::{
    AimReport, DamonReport, Pairs, PhaseReport, QuantilesReport, RecordReport, RunReport,
    SchemeReport, TaskReport, TruthReport,
};

/// Figures of parts of a run.
const FAULTS: (&str, &Path) = (Figure::MajorFaults.label(), Figure::MajorFaults.path());
const SWAP_INS: (&str, &Path) = (Figure::SwapIns.label(), Figure::SwapIns.path());
const REFAULTS: (&str, &Path) = (Figure::Refaults.label(), Figure::Refaults.path());

/// Figures that are shown for each phase.
const PHASE_FIGURES: [Figure; 3] = [Figure::SwapIns, Figure::Refaults, Figure::Throughput];

const MIB: f64 = (1 << 20) as f64;

/// One line of the comparison.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Row {
    /// Label of the row; two blanks in front of a part of the row above.
    pub label: String,
    /// Value of each variant, as tables print it.
    pub values: Vec<String>,
    /// Change of each variant against the first; that of the first means nothing.
    pub changes: Vec<String>,
    /// The numbers behind the values; empty where these are words.
    pub samples: Samples,
}

/// A value of each seed, variant by variant.
pub type Samples = Vec<Vec<(u64, f64)>>;

impl Row {
    /// A row of numbers; none if no variant has anything but zero.
    fn numbers(
        group: &Group<'_>,
        label: impl Into<String>,
        phase: Option<&str>,
        value: impl Fn(Scope<'_>) -> Option<f64> + Copy,
    ) -> Option<Row> {
        let samples = group.variants.iter().map(|v| v.values(phase, value)).collect();
        Row::unless_zero(label, &samples)
    }

    /// A row of a value of each run that did all its work; none if no run has it.
    fn of_runs(
        group: &Group<'_>,
        label: impl Into<String>,
        value: impl Fn(&RunReport) -> Option<f64>,
    ) -> Option<Row> {
        let samples = of_runs(group, value);
        samples.iter().any(|s| !s.is_empty()).then(|| Row::of(label, &samples))
    }

    /// The row, if anything in it is not zero.
    fn unless_zero(label: impl Into<String>, samples: &Samples) -> Option<Row> {
        let nothing = samples.iter().flatten().all(|&(_, v)| v == 0.0);
        (!nothing).then(|| Row::of(label, samples))
    }

    /// A row of these numbers.
    fn of(label: impl Into<String>, samples: &Samples) -> Row {
        let change = |sample: &Vec<(u64, f64)>| match paired_change(&samples[0], sample) {
            None => "-".to_string(),
            Some(change) => match change.ci95 {
                Some(half) => format!("{} ±{half:.1}", per_cent(change.mean)),
                None => per_cent(change.mean),
            },
        };
        Row {
            label: label.into(),
            values: grouped_row(&means(samples)),
            changes: samples.iter().map(change).collect(),
            samples: samples.clone(),
        }
    }

    /// The row without the changes of variants that cannot be compared with the first here.
    fn compared_if(mut self, comparable: &[bool]) -> Row {
        for (change, _) in self.changes.iter_mut().zip(comparable).filter(|(_, same)| !**same) {
            *change = "-".into();
        }
        self
    }

    /// A row of words.
    fn words(label: &str, values: Vec<String>) -> Row {
        let changes = vec![String::new(); values.len()];
        Row { label: label.to_string(), values, changes, samples: Samples::new() }
    }

    /// A row that is only a heading.
    fn heading(label: &str, variants: usize) -> Row {
        Row::words(label, vec![String::new(); variants])
    }
}

fn of_runs(group: &Group<'_>, value: impl Fn(&RunReport) -> Option<f64>) -> Samples {
    let of_variant =
        |v: &VariantRuns<'_>| v.whole().filter_map(|run| Some((run.seed, value(run)?))).collect();
    group.variants.iter().map(of_variant).collect()
}

fn means(samples: &Samples) -> Vec<Option<f64>> {
    let mean = |sample: &Vec<(u64, f64)>| {
        let values: Vec<f64> = sample.iter().map(|&(_, v)| v).collect();
        estimate(&values).map(|e| e.mean)
    };
    samples.iter().map(mean).collect()
}

/// Names in the order in which runs have them, each once.
fn names<'a, T: Ord + Clone + 'a>(
    group: &Group<'a>,
    of: impl Fn(&'a RunReport) -> Vec<T>,
) -> Vec<T> {
    let (mut names, mut known) = (Vec::new(), BTreeSet::new());
    for name in group.variants.iter().flat_map(|v| v.runs.iter().copied()).flat_map(of) {
        if known.insert(name.clone()) {
            names.push(name);
        }
    }
    names
}

/// Items that runs have under a name: variant by variant, run by run.
struct Named<'a, T> {
    name: &'a str,
    of: Vec<Vec<Option<&'a T>>>,
}

impl<'a, T> Named<'a, T> {
    /// All that runs have under names, in the order in which they have them. There may be thousands:
    /// nothing is searched for twice.
    fn all<I: IntoIterator<Item = (&'a str, &'a T)>>(
        group: &Group<'a>,
        of: impl Fn(&'a RunReport) -> I,
    ) -> Vec<Self> {
        let none = || group.variants.iter().map(|v| vec![None; v.runs.len()]).collect();
        let (mut all, mut places) = (Vec::new(), BTreeMap::new());
        for (v, variant) in group.variants.iter().enumerate() {
            for (i, run) in variant.runs.iter().copied().enumerate() {
                for (name, part) in of(run) {
                    let place = *places.entry(name).or_insert_with(|| {
                        all.push(Named { name, of: none() });
                        all.len() - 1
                    });
                    all[place].of[v][i].get_or_insert(part);
                }
            }
        }
        all
    }

    /// Items of the runs of a variant that did all their work.
    fn whole<'b>(
        &'b self,
        group: &'b Group<'a>,
        variant: usize,
    ) -> impl Iterator<Item = (u64, Option<&'a T>)> + 'b {
        let runs = group.variants[variant].runs.iter().zip(&self.of[variant]);
        runs.filter(|(run, _)| run.outcome.is_whole()).map(|(run, part)| (run.seed, *part))
    }

    /// A value of each run that has it.
    fn samples(&self, group: &Group<'a>, value: impl Fn(&T) -> Option<f64>) -> Samples {
        let of_variant = |v| {
            let parts = self.whole(group, v);
            parts.filter_map(|(seed, part)| Some((seed, value(part?)?))).collect()
        };
        (0..group.variants.len()).map(of_variant).collect()
    }
}

/// All rows of a group: how the runs ended, figures of the whole machine, then its parts.
pub fn rows(group: &Group<'_>) -> Vec<Row> {
    let outcomes = group.variants.iter().map(VariantRuns::outcome).collect();
    let mut rows = vec![Row::words("outcome", outcomes)];
    let per_records = group.work_differs();
    // The optimum has a row of its own, which says whether it is a bound.
    for figure in Figure::ALL.into_iter().filter(|f| *f != Figure::Optimum) {
        let value = move |scope: Scope<'_>| figure.of(scope);
        let whole = group.variants.iter().flat_map(VariantRuns::whole);
        let label = figure.label_of(whole.map(|run| run.records));
        let Some(row) = Row::numbers(group, label, None, value) else { continue };
        rows.push(row);
        if per_records && figure.path().grows_with_work() {
            let per = move |scope: Scope<'_>| figure.per_1000_records(scope);
            rows.extend(Row::numbers(group, "  per 1,000 records", None, per));
        }
    }
    for counter in VmEvent::shown(|row| row.notable) {
        let value = move |scope: Scope<'_>| scope.vmstat.count(counter).map(|n| n as f64);
        rows.extend(Row::numbers(group, counter.name(), None, value));
    }
    rows.extend(bounds(group));
    rows.extend(ends(group));
    rows.extend(aims(group));
    rows.extend(replays(group));
    rows.extend(monitors(group));
    rows.extend(groups(group));
    rows.extend(tasks(group));
    rows.extend(phases(group));
    rows
}

/// When runs ended, the dead ones too, and how many processes were killed: what there is to say
/// of a run that did not do its work.
fn ends(group: &Group<'_>) -> Vec<Row> {
    let of_all = |value: &dyn Fn(&RunReport) -> f64| -> Samples {
        let of_variant = |v: &VariantRuns<'_>| {
            // Of a variant in which some completed, those; of one in which none did, all.
            let whole = v.whole().next().is_some();
            let told = v.runs.iter().filter(|run| !whole || run.outcome.is_whole());
            told.map(|run| (run.seed, value(run))).collect()
        };
        group.variants.iter().map(of_variant).collect()
    };
    let mut time = Row::of("simulated time, s", &of_all(&|run| run.sim_time_ns as f64 / 1e9));
    let dead = group.variants.iter().map(|v| v.whole().next().is_none());
    for (i, dead) in dead.enumerate() {
        if dead {
            time.changes[i] = "-".into();
            if i == 0 {
                time.changes.fill("-".into());
            }
        }
    }
    let kills = |run: &RunReport| run.vmstat.count(VmEvent::OomKill).map_or(0.0, |n| n as f64);
    let mean = |v: &VariantRuns<'_>| {
        estimate(&v.runs.iter().map(|run| kills(run)).collect::<Vec<_>>()).map(|e| e.mean)
    };
    let kills: Vec<Option<f64>> = group.variants.iter().map(mean).collect();
    let any = kills.iter().flatten().any(|&n| n > 0.0);
    let kills = any.then(|| Row::words(VmEvent::OomKill.name(), grouped_row(&kills)));
    std::iter::once(time).chain(kills).collect()
}

/// Results of the targets of tasks.
fn aims(group: &Group<'_>) -> Vec<Row> {
    let aims = names(group, |run| run.aims.iter().map(|a| (a.task.clone(), a.target)).collect());
    let of_task = |(task, target): &(String, i64)| {
        let same = |a: &&AimReport| a.task == *task && a.target == *target;
        let reached = |run: &RunReport| run.aims.iter().find(same).map(|a| a.reached as f64);
        Row::words(
            &format!("{task}, target {target}"),
            grouped_row(&means(&of_runs(group, reached))),
        )
    };
    aims.iter().map(of_task).collect()
}

/// Time that replays took relative to the recorded one, where one could not keep up.
fn replays(group: &Group<'_>) -> Vec<Row> {
    let late = names(group, |run| {
        run.replayed.iter().filter(|r| r.fell_behind()).map(|r| r.task.as_str()).collect()
    });
    let of_task = |task: &&str| {
        let find = |run: &'_ RunReport| run.replayed.iter().position(|r| r.task == *task);
        let took = |run: &RunReport| Some(run.replayed[find(run)?].took_ns as f64 / 1e9);
        let mut runs = group.variants.iter().flat_map(|v| &v.runs);
        let recorded = runs.find_map(|run| Some(run.replayed[find(run)?].recorded_ns));
        let recorded = recorded.unwrap_or(0) as f64 / 1e9;
        let label = format!("{task}, {recorded:.3} s recorded took, s");
        Row::words(&label, grouped_row(&means(&of_runs(group, took))))
    };
    late.iter().map(of_task).collect()
}

/// The misses of MIN, where they were computed.
fn bounds(group: &Group<'_>) -> Option<Row> {
    let refetches = |run: &RunReport| run.bounds.map(|b| b.sim_opt_refetches as f64);
    let means = means(&of_runs(group, refetches));
    means.iter().any(Option::is_some).then(|| {
        let mut runs = group.variants.iter().flat_map(|v| v.whole());
        let label = match runs.all(|run| run.bounds.is_none_or(|b| b.exact)) {
            true => "refetches of MIN (bound)",
            false => "refetches of MIN (no bound)",
        };
        let text = |m: Option<f64>| m.map_or("-".into(), |m| grouped(m.round()));
        Row::words(label, means.into_iter().map(text).collect())
    })
}

/// Accuracy of a monitor, if it took a snapshot at all.
fn seen(d: &DamonReport) -> Option<TruthReport> {
    d.truth.filter(|t| t.snapshots > 0)
}

/// Monitors of accesses: what they cost, what their schemes did, how far they are from the truth.
/// Each monitor of any variant has its rows, by its name.
fn monitors(group: &Group<'_>) -> Vec<Row> {
    type Of = fn(&DamonReport) -> Option<f64>;
    type OfScheme = fn(&SchemeReport) -> f64;
    fn idle(d: &DamonReport, percentile: usize) -> Option<f64> {
        let ms = d.stat.as_ref()?.memory_idle_ms_percentiles.get(percentile)?;
        Some(*ms as f64 / 1000.0)
    }
    let own: [(&str, Of); 10] = [
        ("CPU time, ms", |d| Some(d.cpu_ns as f64 / 1e6)),
        ("regions at the end", |d| Some(d.nr_regions as f64)),
        ("accessed, MiB/s", |d| Some(d.stat.as_ref()?.estimated_memory_bandwidth as f64 / MIB)),
        ("idle time p25, s", |d| idle(d, 25)),
        ("  p50", |d| idle(d, 50)),
        ("  p75", |d| idle(d, 75)),
        ("misjudged, per mille", |d| seen(d).map(|t| t.misjudged * 1000.0)),
        ("working set, MiB", |d| seen(d).map(|t| t.working_set / MIB)),
        ("  as said", |d| seen(d).map(|t| t.working_set_said / MIB)),
        ("smallest hot region, KiB", |d| seen(d).map(|t| t.smallest_hot as f64 / 1024.0)),
    ];
    let of_schemes: [(&str, OfScheme); 2] = [
        ("tried, MiB", |s| s.sz_tried as f64 / MIB),
        ("applied, MiB", |s| s.sz_applied as f64 / MIB),
    ];
    let mut rows = Vec::new();
    for (name, ops) in names(group, |run| run.damon.iter().map(|d| (&d.name, &d.ops)).collect()) {
        let of = |run: &'_ RunReport| -> Option<usize> {
            run.damon.iter().position(|d| d.name == *name && d.ops == *ops)
        };
        rows.push(Row::heading(&format!("{name} ({ops})"), group.variants.len()));
        for (label, value) in own {
            let value = |run: &RunReport| value(&run.damon[of(run)?]);
            rows.extend(Row::of_runs(group, format!("  {label}"), value));
        }
        let schemes = names(group, |run| {
            let schemes = of(run).map_or(&[][..], |i| &run.damon[i].schemes);
            schemes.iter().enumerate().map(|(i, s)| (i, &s.action)).collect()
        });
        for (i, action) in schemes {
            for (label, value) in of_schemes {
                let value = |run: &RunReport| {
                    let scheme = run.damon[of(run)?].schemes.get(i)?;
                    (scheme.action == *action).then(|| value(scheme))
                };
                rows.extend(Row::of_runs(group, format!("  {action} {label}"), value));
            }
        }
    }
    rows
}

/// Results of the attempts at blocks of a phase, if it is one of attempts: zeros too, for where no
/// block came from is an answer as well.
fn attempts(group: &Group<'_>, phase: &str) -> Vec<Row> {
    let made = |run: &&RunReport| run.attempts(phase).is_some();
    if !group.variants.iter().any(|v| v.runs.iter().any(made)) {
        return Vec::new();
    }
    let row = |(label, figure): (&str, fn(&Attempts<'_>) -> f64)| {
        let value =
            |run: &RunReport| Some(figure(&run.attempts(phase)?)).filter(|value| value.is_finite());
        Row::of(format!("  {label}"), &of_runs(group, value))
    };
    Attempts::FIGURES.into_iter().map(row).collect()
}

/// The main figures of each phase, where there are several: those of the task whose phase it is.
fn phases(group: &Group<'_>) -> Vec<Row> {
    let phases =
        Named::all(group, |run: &RunReport| run.phases.iter().map(|p| (p.name.as_str(), p)));
    if phases.len() < 2 {
        return Vec::new();
    }
    let mut rows = Vec::new();
    for phase in &phases {
        let comparable = same_work(group, phase);
        let figures = PHASE_FIGURES.into_iter().filter_map(|figure| {
            let samples = phase.samples(group, |p| own(p, |scope| figure.of(scope)));
            let records = phase.samples(group, |p| own(p, |scope| Some(scope.records as f64)));
            let records = records.iter().flatten().map(|&(_, n)| n as u64);
            let label = format!("  {}", figure.label_of(records));
            let row = Row::unless_zero(label, &samples)?;
            Some(row.compared_if(&comparable))
        });
        let of_phase: Vec<Row> = figures.chain(attempts(group, phase.name)).collect();
        if !of_phase.is_empty() {
            rows.push(Row::heading(&format!("in {}", phase.name), group.variants.len()));
            rows.extend(of_phase);
        }
    }
    rows
}

/// True for each variant in which as much was done in a phase as in the first variant's, seed by
/// seed.
fn same_work(group: &Group<'_>, phase: &Named<'_, PhaseReport>) -> Vec<bool> {
    let same = |a: Option<&PhaseReport>, b: Option<&PhaseReport>| {
        let (Some(a), Some(b)) = (a, b) else { return true };
        own(a, |x| own(b, |y| x.same_work(&y)))
    };
    let of_variant = |v| {
        phase.whole(group, v).all(|(seed, part)| {
            phase.whole(group, 0).filter(|f| f.0 == seed).all(|(_, first)| same(first, part))
        })
    };
    (0..group.variants.len()).map(of_variant).collect()
}

/// Counts of each task, where there are several.
fn tasks(group: &Group<'_>) -> Vec<Row> {
    const MISSES: Path = Path::sum("", &[Term::Number(Cow::Borrowed("sim_cache_miss"))]);
    const EVICTED: Path = Path::sum(
        "",
        &[
            Term::Number(Cow::Borrowed("sim_evict_anon")),
            Term::Number(Cow::Borrowed("sim_evict_file")),
        ],
    );
    const FIGURES: [(&str, &Path); 5] = [
        FAULTS,
        SWAP_INS,
        REFAULTS,
        ("misses of read and write", &MISSES),
        ("its pages evicted", &EVICTED),
    ];
    let tasks = Named::all(group, |run: &RunReport| run.tasks.iter().map(|t| (t.name.as_str(), t)));
    if tasks.len() < 2 {
        return tasks.iter().flat_map(|task| record_latency(group, task, "")).collect();
    }
    parts(group, "task", &tasks, &FIGURES, |t| &t.vmstat, |task| record_latency(group, task, "  "))
}

/// Latencies of the records of a task, where they are timed: `launch latency p50, us`.
fn record_latency(group: &Group<'_>, task: &Named<'_, TaskReport>, indent: &str) -> Vec<Row> {
    let mut records = task.of.iter().flatten().flatten().filter_map(|t| t.record.as_ref());
    let Some(RecordReport { what, .. }) = records.next() else { return Vec::new() };
    type Quantile = (&'static str, fn(&QuantilesReport) -> u64);
    const SHOWN: [Quantile; 2] = [("p50", |q| q.p50_ns), ("p99", |q| q.p99_ns)];
    let row = |(quantile, of): Quantile| {
        let samples = task.samples(group, |t| {
            let latency = &t.record.as_ref()?.latency;
            (latency.count > 0).then(|| of(latency) as f64 / 1e3)
        });
        let label = format!("{indent}{what} latency {quantile}, us");
        samples.iter().any(|s| !s.is_empty()).then(|| Row::of(label, &samples))
    };
    SHOWN.into_iter().filter_map(row).collect()
}

/// Counts of each memory cgroup.
fn groups(group: &Group<'_>) -> Vec<Row> {
    const SWAP_OUTS: Path = Path::sum("", &[Term::Counters(&[VmEvent::PswpOut])]);
    const RECLAIMED: Path =
        Path::sum("", &[Term::Counters(&[VmEvent::PgStealKswapd, VmEvent::PgStealDirect])]);
    const FIGURES: [(&str, &Path); 5] =
        [FAULTS, SWAP_INS, ("swap-outs", &SWAP_OUTS), REFAULTS, ("reclaimed", &RECLAIMED)];
    let groups = Named::all(group, |run: &RunReport| run.memory_stat.iter());
    parts(group, "group", &groups, &FIGURES, |stat| stat, |_| Vec::new())
}

/// A heading for each part that has anything to show, and its figures.
fn parts<T>(
    group: &Group<'_>,
    what: &str,
    parts: &[Named<'_, T>],
    figures: &[(&str, &Path)],
    stat: fn(&T) -> &Pairs<Option<u64>>,
    more: impl Fn(&Named<'_, T>) -> Vec<Row>,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for part in parts {
        let row = |(label, path): &(&str, &Path)| {
            let samples =
                part.samples(group, |of| path.counted(|counter| *stat(of).get(counter)?));
            Row::unless_zero(format!("  {label}"), &samples)
        };
        let of_part: Vec<Row> = figures.iter().filter_map(row).chain(more(part)).collect();
        if !of_part.is_empty() {
            rows.push(Row::heading(&format!("{what} {}", part.name), group.variants.len()));
            rows.extend(of_part);
        }
    }
    rows
}
