//! Watching a run changes nothing: scenarios, observers and jobs drawn from one printed number, and
//! whole reports compared byte for byte.
//!
//! `MMSIM_WATCHED=500` draws more of them, `MMSIM_WATCHED_SEED=17` only one.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use mmsim::Scenario;
use mmsim::base::rng::Rng;
use mmsim::base::time::{SimDuration, SimTime};
use mmsim::base::vmstat::VmEvent;
use mmsim::live::Live;
use mmsim::machine::Watch;
use mmsim::machines::Catalogue;
use mmsim::memory::trace::{Observer, TraceEvent};
use mmsim::report::{Report, RunReport};
use mmsim::run::run_all;

/// Scenarios of a plain `cargo test`.
const SEEDS: u64 = 3;

fn pick<'a>(rng: &mut Rng, of: &[&'a str]) -> &'a str {
    of[rng.below(of.len() as u64) as usize]
}

fn one_in(rng: &mut Rng, n: u64) -> bool {
    rng.below(n) == 0
}

/// Several threads on a few thousand frames, with what makes turns of different lengths: groups,
/// slow and fast devices, files, think time, blocks of the kernel, monitors.
fn scenario(seed: u64) -> String {
    let rng = &mut Rng::for_purpose(seed, "watched/scenario");
    let mut t = String::from("name = \"drawn\"\nseeds = 2\n[machine]\n");
    let frames = 2500 + rng.below(4000);
    let cpus = 1 + rng.below(4);
    let device = pick(rng, &["ramdisk", "zram", "nvme", "ssd", "hdd"]);
    let ahead = pick(rng, &["0ns", "3us", "100us", "100us", "1ms"]);
    writeln!(t, "memory = \"{frames} pages\"\ncpus = {cpus}\nrun-ahead = \"{ahead}\"").unwrap();
    writeln!(t, "swap = {{ size = \"128MiB\", device = \"{device}\" }}").unwrap();
    if one_in(rng, 3) {
        writeln!(t, "tick = \"1ms\"").unwrap();
    }
    let grouped = one_in(rng, 3);
    if grouped {
        let (max, low) = (600 + rng.below(1500), rng.below(800));
        let limits = format!("max = \"{max} pages\"\nlow = \"{low} pages\"");
        writeln!(t, "[[machine.memcg]]\nname = \"g\"\n{limits}").unwrap();
    }
    for i in 0..1 + rng.below(3) {
        let pages = frames / 3 + rng.below(frames);
        let threads = 1 + rng.below(3);
        let accesses = 3000 + rng.below(20_000);
        writeln!(t, "[[task]]\nname = \"t{i}\"").unwrap();
        if grouped && one_in(rng, 2) {
            writeln!(t, "memcg = \"g\"").unwrap();
        }
        if one_in(rng, 3) {
            writeln!(t, "start = \"{}us\"", rng.below(3000)).unwrap();
        }
        match rng.below(8) {
            0 => writeln!(t, "workload = \"cyclic\"\nmemory = \"{pages} pages\"\npasses = 2\nwrite = true"),
            1 => writeln!(
                t,
                "workload = \"ebizzy\"\nmemory = \"{} pages\"\nrecords = {}\nthreads = {threads}\ncompute = \"{}us\"",
                pages.next_multiple_of(128),
                100 + rng.below(300),
                rng.below(40)
            ),
            2 => writeln!(
                t,
                "workload = \"uniform\"\nmemory = \"{pages} pages\"\naccesses = {accesses}\nthreads = {threads}"
            ),
            3 => writeln!(t, "workload = \"kernel-alloc\"\norder = {}\nattempts = 200", rng.below(4)),
            4 => writeln!(
                t,
                "workload = \"phased\"\nregions = {{ f = {{ memory = \"{pages} pages\", kind = \"{}\" }} }}\n\
                 steps = [ {{ do = \"allocate\", region = \"f\" }}, {{ do = \"touch\", region = \"f\", write = {} }}, \
                 {{ do = \"zipf\", region = \"f\", theta = 0.9, accesses = {accesses} }} ]",
                pick(rng, &["file-shared", "file-private"]),
                one_in(rng, 2)
            ),
            5 => writeln!(
                t,
                "workload = \"build\"\nthreads = {threads}\nduration = \"300ms\"\nanon-min = \"1MiB\"\n\
                 anon-max = \"6MiB\"\nunmovable = 100\nreclaimable = 100"
            ),
            6 => writeln!(
                t,
                "workload = \"highalloc\"\norder = {}\nmigratetype = \"movable\"\ngfp = \"user\"\n\
                 attempts = 40\ninterval = \"200us\"",
                3 + rng.below(7)
            ),
            _ => writeln!(
                t,
                "workload = \"zipf\"\nmemory = \"{pages} pages\"\naccesses = {accesses}\ntheta = 0.9\nthreads = {threads}"
            ),
        }
        .unwrap();
    }
    // With a monitor, all variants have the mean of their resident memory.
    if one_in(rng, 3) {
        writeln!(t, "[[damon]]\nops = \"paddr\"\n[[damon.scheme]]\naction = \"pageout\"").unwrap();
        writeln!(t, "max-nr-accesses = 0\nmin-age = \"{}us\"", 100 + rng.below(20_000)).unwrap();
    }
    for kernel in [pick(rng, &["5.5", "5.9"]), pick(rng, &["6.1", "6.12"])] {
        writeln!(t, "[[variant]]\nname = \"{kernel}\"\nkernel = \"{kernel}\"").unwrap();
    }
    let kernel = pick(rng, &["6.1", "6.12"]);
    writeln!(
        t,
        "[[variant]]\nname = \"mglru\"\nkernel = \"{kernel}\"\nreclaim = {{ preset = \"mglru-v{kernel}\" }}"
    )
    .unwrap();
    t
}

type Rows = Arc<Mutex<Vec<(u64, u64)>>>;

struct Count(u64);
impl Observer for Count {
    fn event(&mut self, _now: SimTime, _event: &TraceEvent) {
        self.0 += 1;
    }
}

/// The whole report of a scenario's runs.
fn report(text: &str, jobs: usize, watch: impl Fn(usize) -> Watch + Sync) -> (String, Report) {
    let scenario = Scenario::from_str(text, "drawn.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut specs = scenario.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}\n{text}"));
    // Every other run says why pages came back.
    specs.iter_mut().step_by(2).for_each(|s| s.why = true);
    let runs =
        run_all(&specs, Some(jobs), |i, _| watch(i)).unwrap_or_else(|e| panic!("{e}\n{text}"));
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

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: write a number")))
}

#[test]
fn whoever_watches_the_report_is_the_same() {
    let seeds = match number("MMSIM_WATCHED_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("MMSIM_WATCHED").unwrap_or(SEEDS),
    };
    for seed in seeds {
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
    let scenario = Scenario::from_str(text, "drawn.toml").expect("it was read before");
    let mut spec = scenario.expand(&Catalogue).expect("it was read before").swap_remove(run);
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
    let text = include_str!("../../scenarios/decay.toml");
    let set = |key: &str, value: &str| (key.to_string(), value.to_string());
    let sets = [set("task[0].duration", "60s"), set("task[2].rounds", "2")];
    let scenario = Scenario::from_str(text, "decay.toml").unwrap().with_sets(&sets).unwrap();
    let mut specs = scenario.expand(&Catalogue).unwrap();
    specs.retain(|s| s.variant == "6.12");
    specs.truncate(1);
    let counted = |watch: fn() -> Watch| {
        let runs = run_all(&specs, Some(1), |_, _| watch()).unwrap();
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
