//! Watching a run changes nothing: scenarios, observers and jobs drawn from one printed number, and
//! whole reports compared byte for byte.
//!
//! `MMSIM_WATCHED=500` draws more of them, `MMSIM_WATCHED_SEED=17` only one.

use std::sync::{Arc, Mutex};

use crate::drawn::{one_in, scenario, seeds};
use crate::harness;
use mmsim::base::rng::Rng;
use mmsim::base::time::{SimDuration, SimTime};
use mmsim::base::vmstat::VmEvent;
use mmsim::live::Live;
use mmsim::machine::Watch;
use mmsim::machines::Catalogue;
use mmsim::memory::trace::{Observer, TraceEvent};
use mmsim::report::{Report, RunReport};

/// Scenarios of a plain `cargo test`.
const SEEDS: u64 = 3;

type Rows = Arc<Mutex<Vec<(u64, u64)>>>;

struct Count(u64);
impl Observer for Count {
    fn event(&mut self, _now: SimTime, _event: &TraceEvent) {
        self.0 += 1;
    }
}

/// The whole report of a scenario's runs.
fn report(text: &str, jobs: usize, watch: impl Fn(usize) -> Watch + Sync) -> (String, Report) {
    let mut specs = harness::specs(text);
    // Every other run says why pages came back.
    specs.iter_mut().step_by(2).for_each(|s| s.why = true);
    let runs = harness::runner(jobs)
        .sound_results(&specs, |i, _| watch(i))
        .unwrap_or_else(|e| panic!("{e}\n{text}"));
    let runs = runs.iter().map(|(m, r)| RunReport::from_result(m.clone(), r)).collect();
    let report = Report::new("drawn", "", runs);
    (report.to_json(), report)
}

/// Observers drawn for a run; the rows of its series go to `rows`.
fn observers(seed: u64, run: usize, every: SimDuration, rows: &Rows) -> Watch {
    let rng = &mut Rng::for_purpose(seed, &format!("watched/observers{run}"));
    let rows = Arc::clone(rows);
    let mut watch = Watch::default();
    // At each run something watches, and mostly a series.
    if !one_in(rng, 4) {
        let keep = move |at: SimTime, vmstat: &mmsim::base::vmstat::VmStat, _: &[_]| {
            let faults = vmstat[mmsim::base::vmstat::VmEvent::PgFault];
            rows.lock().expect("nobody panics in it").push((at.0, faults));
        };
        watch.sample = Some((every, Box::new(keep)));
    }
    if one_in(rng, 3) {
        watch.observer = Some(Box::new(Count(0)));
    }
    if one_in(rng, 3) {
        watch.check_every = 500 + rng.below(3000);
    }
    if one_in(rng, 3) {
        watch.snapshot = Some(Box::new(|_, _| {}));
    }
    if one_in(rng, 3) {
        watch.progress = Some(Box::new(|_| {}));
    }
    watch.record_accesses = one_in(rng, 3);
    watch
}

/// A row at each multiple of the interval up to the end, and one there; counters never fall, and
/// the last are the report's.
fn check_rows(rows: &[(u64, u64)], every: SimDuration, run: &RunReport, what: &str) {
    let (last, multiples) = rows.split_last().expect("a row at the end");
    let faults = *run.vmstat.get("pgfault").expect("it is counted");
    assert_eq!(*last, (run.sim_time_ns, faults), "{what}");
    let expected = (1..=multiples.len() as u64).map(|i| i * every.0);
    assert!(multiples.iter().map(|r| r.0).eq(expected), "{what}");
    let missed = run.sim_time_ns.saturating_sub(1) / every.0 - multiples.len() as u64;
    assert_eq!(missed, 0, "{what}");
    assert!(rows.is_sorted_by_key(|r| r.1), "{what}");
}

#[test]
fn whoever_watches_the_report_is_the_same() {
    for seed in seeds(SEEDS) {
        let text = scenario(seed);
        let (plain, report_) = report(&text, 1, |_| Watch::default());
        let rng = &mut Rng::for_purpose(seed, "watched/intervals");
        let micros = [7, 13, 50, 333, 1000, 100_000][rng.below(6) as usize];
        let every = SimDuration::from_micros(micros);
        let rows: Vec<Rows> = report_.runs.iter().map(|_| Rows::default()).collect();
        let jobs = 1 + rng.below(3) as usize;
        let (watched, _) = report(&text, jobs, |i| observers(seed, i, every, &rows[i]));
        let what = format!("MMSIM_WATCHED_SEED={seed}, every {every}, {jobs} jobs\n{text}");
        assert!(watched == plain, "the reports differ: {what}");
        for (rows, run) in rows.iter().zip(&report_.runs) {
            let rows = rows.lock().expect("nobody panics in it");
            if !rows.is_empty() {
                check_rows(&rows, every, run, &what);
            }
        }
    }
}

/// The run of this place, with a pause after each interval and a look at its counters there.
fn in_steps(text: &str, run: usize, every: SimDuration) -> RunReport {
    let (scenario, mut spec) = (harness::scenario(text), harness::specs(text).swap_remove(run));
    spec.why = run.is_multiple_of(2);
    let mut live = Live::new(scenario, spec).expect("it was built before");
    let mut before = 0;
    while live.go_on(live.now() + every).expect("no invariant is broken") {
        let faults = live.counters().0[VmEvent::PgFault];
        assert!(faults >= before, "counters never fall");
        before = faults;
    }
    live.finish().expect("no invariant is broken").runs.remove(0)
}

/// A run that is paused, asked and gone on with is the run that goes on at once.
#[test]
fn pauses_change_nothing() {
    for seed in 0..SEEDS {
        let text = scenario(seed);
        let rng = &mut Rng::for_purpose(seed, "watched/pauses");
        let micros = [37, 333, 1000, 20_000][rng.below(4) as usize];
        let (_, whole) = report(&text, 2, |_| Watch::default());
        // Any of the runs, another one for each seed.
        let run = rng.below(whole.runs.len() as u64) as usize;
        let stepped = in_steps(&text, run, SimDuration::from_micros(micros));
        let whole = &whole.runs[run];
        let what = format!("seed {seed}, run {run}, {micros} us:\n{text}");
        assert_eq!(stepped.vmstat, whole.vmstat, "{what}");
        assert_eq!(stepped.why, whole.why, "{what}");
        assert!(stepped == *whole, "{what}");
    }
}

/// A thread that computes for a whole interval and on, alone on its CPU, and one that faults: where a
/// sample cut run-ahead short, swap-ins went from 2,167 to 1,180.
#[test]
fn a_sample_does_not_bound_run_ahead() {
    let text = r#"
        name = "drawn"
        reclaim = { preset = "classic-v5.9" }
        [machine]
        memory = "4096 pages"
        cpus = 4
        kernel = "6.12"
        run-ahead = "1ms"
        swap = { size = "64MiB", device = "ramdisk" }
        [[task]]
        name = "a"
        workload = "zipf"
        memory = "1365 pages"
        accesses = 300000
        theta = 0.9
        threads = 2
        [[task]]
        name = "b"
        workload = "cyclic"
        memory = "2048 pages"
        passes = 3
        write = true
    "#;
    let (plain, of_plain) = report(text, 1, |_| Watch::default());
    assert_eq!(of_plain.runs[0].vmstat.get("pswpin"), Some(&2167));
    for micros in [1, 7, 50, 1000] {
        let every = SimDuration::from_micros(micros);
        let rows = Rows::default();
        let sampled = |_| {
            let rows = Arc::clone(&rows);
            let keep = move |at: SimTime, vmstat: &mmsim::base::vmstat::VmStat, _: &[_]| {
                let faults = vmstat[mmsim::base::vmstat::VmEvent::PgFault];
                rows.lock().expect("nobody panics in it").push((at.0, faults));
            };
            Watch::default().with_sample(every, Box::new(keep))
        };
        assert!(report(text, 1, sampled).0 == plain, "every {every}");
        assert!(in_steps(text, 0, every) == of_plain.runs[0], "a pause every {every}");
        check_rows(&rows.lock().expect("it is over"), every, &of_plain.runs[0], "every");
    }
}

/// Timers of kernel threads that find all CPUs busy: where they fired on the CPU that had acted last,
/// this run had other swap-ins with a series.
#[test]
fn a_timer_fires_on_a_cpu_that_no_observer_moves() {
    let sets = [("task[0].duration", "60s"), ("task[2].rounds", "2")];
    let scenario = harness::shipped("decay.toml", &sets);
    let mut specs = scenario.expand(&Catalogue).unwrap();
    specs.retain(|s| s.variant == "6.12");
    specs.truncate(1);
    let counted = |watch: fn() -> Watch| {
        let runs = harness::runner(1).sound_results(&specs, |_, _| watch()).unwrap();
        (runs[0].1.sim_time, runs[0].1.vmstat.clone())
    };
    let sampled =
        || Watch::default().with_sample(SimDuration::from_millis(100), Box::new(|_, _, _| {}));
    assert_eq!(counted(Watch::default), counted(sampled));
}

/// A thread whose fault has waited before is killed by its own reclaim: the audit counts that fault once.
#[test]
fn a_fault_of_a_killed_thread_is_accounted_for_once() {
    let text = r#"
        name = "drawn"
        reclaim = { preset = "mglru-v6.1" }
        [machine]
        kernel = "6.1"
        memory = "4580 pages"
        cpus = 3
        run-ahead = "100us"
        swap = { size = "128MiB", device = "zram" }
        [[task]]
        name = "t0"
        start = "251us"
        workload = "zipf"
        memory = "4517 pages"
        accesses = 15297
        theta = 0.9
        [[task]]
        name = "t1"
        start = "485us"
        workload = "ebizzy"
        memory = "4608 pages"
        records = 277
        threads = 2
        compute = "7us"
    "#;
    let audited = |_| Watch::default().with_check_every(3);
    let (_, report) = report(text, 1, audited);
    assert!(report.runs[0].oom.is_some(), "nobody was killed");
}
