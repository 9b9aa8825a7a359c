//! Time and threads: slices, sleeping, waiting, devices, the flusher.

use crate::support::*;
use mmsim::base::time::{SimDuration, SimTime};
use mmsim::config::Kernel;
use mmsim::machine::result::RunResult;
use mmsim::workload::{Op, VmaFlags};

const MS: u64 = 1_000_000;

fn compute(us: u64, times: usize) -> Vec<Op> {
    vec![Op::Compute(SimDuration::from_micros(us)); times]
}

fn finished(r: &RunResult, name: &str) -> u64 {
    let t = r.threads.iter().find(|t| t.name == name);
    t.unwrap_or_else(|| panic!("no thread {name}")).finished.0
}

#[test]
fn a_sleeper_uses_no_time_of_its_cpu() {
    let r = run(
        &config(Kernel::V6_12, "ssd"),
        vec![task("sleeps", vec![sleep_ms(5)]), task("works", compute(100, 50))],
    );
    assert_eq!((finished(&r, "sleeps"), finished(&r, "works")), (5 * MS, 5 * MS));
    assert_eq!((r.threads[0].user.0, r.threads[1].user.0), (0, 5 * MS));
}

#[test]
fn a_barrier_waits_for_the_last() {
    let (fast, slow) = (vec![Op::Barrier, Op::Barrier], vec![sleep_ms(5), Op::Barrier]);
    let r = run(&config(Kernel::V6_12, "ssd"), vec![threads("t", None, vec![fast, slow])]);
    // The second barrier of the one opens when the other has come to its end.
    assert_eq!((finished(&r, "t/0"), finished(&r, "t/1")), (5 * MS, 5 * MS));
}

#[test]
fn two_threads_share_a_cpu_by_slices() {
    let works = || task("works", compute(10, 1000));
    let mut other = works();
    other.name = "too".into();
    let c = config(Kernel::V6_12, "ssd");
    let r = run(&c, vec![works(), other]);
    let (a, b) = (finished(&r, "works"), finished(&r, "too"));
    assert_eq!(a.max(b), 20 * MS);
    // Slices of 3 ms: the first to end had at most one slice more than the other.
    assert!(a.abs_diff(b) <= 3 * MS, "{a} {b}");
}

#[test]
fn strict_mode_lets_equal_clocks_take_turns() {
    let mut c = config(Kernel::V6_12, "ssd");
    c.cpus = 2;
    let one = |name: &str| task(name, vec![anon(10), write(0, 0, 10), read(0, 0, 10)]);
    let r = run(&c, vec![one("a"), one("b")]);
    // The first to end frees its ten pages at 100 ns each; the last process keeps its own.
    assert_eq!(finished(&r, "a").abs_diff(finished(&r, "b")), 10 * 100);
    assert_eq!(count(&r, "sim_accesses"), 40);
}

#[test]
fn waiting_for_a_device_leaves_the_cpu_to_others() {
    // Ten reads of 150 us each beside 1.5 ms of work.
    let reads: Vec<Op> = (0..10).map(|i| pread(i * 50, 1)).collect();
    let r = run(
        &config(Kernel::V6_12, "ssd"),
        vec![task("reads", reads), task("works", compute(10, 150))],
    );
    assert_eq!(r.threads[0].io_wait.0, 10 * 150_000);
    let end = finished(&r, "works");
    assert!((3 * MS / 2..8 * MS / 5).contains(&end), "{end}");
}

#[test]
fn a_busy_device_makes_the_ninth_request_wait() {
    // An SSD serves eight requests at once, each reader has its own CPU.
    let mut c = config(Kernel::V6_12, "ssd");
    c.cpus = 9;
    let readers = (0..9).map(|i| task(&format!("r{i}"), vec![pread(i * 100, 1)])).collect();
    let r = run(&c, readers);
    let mut waits: Vec<u64> = r.threads.iter().map(|t| t.io_wait.0).collect();
    waits.sort_unstable();
    assert_eq!(waits, [vec![150_000; 8], vec![300_000]].concat());
}

#[test]
fn kswapd_works_on_an_idle_cpu() {
    let hog = |cpus| {
        let mut c = config(Kernel::V6_12, "ramdisk");
        c.cpus = cpus;
        c.nodes[0].zones[0].watermarks = Some([40, 100, 160]);
        run(&c, vec![task("hog", vec![anon(3000), write(0, 0, 3000)])])
    };
    let (alone, helped) = (hog(1), hog(2));
    for r in [&alone, &helped] {
        assert!(count(r, "pgsteal_kswapd") > 0 && count(r, "pageoutrun") > 0);
    }
    assert!(helped.sim_time < alone.sim_time);
}

#[test]
fn dirty_pages_are_written_after_thirty_seconds() {
    let ops = vec![pwrite(0, 3), sleep_ms(29_000), end(0), sleep_ms(7_000), end(1)];
    let r = run(&config(Kernel::V6_12, "ssd"), vec![task("t", ops)]);
    assert_eq!(phase_counts(&r.phases[0], ["nr_dirtied", "nr_written"]), [3, 0]);
    assert_eq!(phase_counts(&r.phases[1], ["nr_dirtied", "nr_written"]), [0, 3]);
    assert_eq!(gauge(&r.phases[1].gauges, "nr_dirty"), 0);
}

#[test]
fn a_writer_is_slowed_down_to_its_device() {
    // 4 MB/s: 1024 pages a second. Of 2048 frames some 400 may be dirty; the file is written
    // four times over.
    let mut c = config(Kernel::V6_12, "ssd");
    c.file_device.write_bandwidth = Some(4096 * 1024);
    let r = run(&c, vec![task("t", vec![pwrite(0, FILE_PAGES); 4])]);
    let written = count(&r, "nr_written");
    let seconds = r.sim_time.as_secs_f64();
    // What the device took in that time, and no more than may be dirty on top of it.
    assert!(written as f64 <= 1024.0 * seconds + 1.0, "{written} in {seconds}");
    let dirty = gauge(&r.gauges, "nr_dirty") + gauge(&r.gauges, "nr_writeback");
    assert!(dirty <= 2048 / 5, "{dirty}");
    assert!(seconds > 0.3, "{seconds}");
}

#[test]
fn a_first_read_waits_for_io_and_is_no_memory_pressure() {
    let c = config(Kernel::V6_12, "ssd");
    let r = run(&c, vec![task("t", vec![pread(0, 1)])]);
    assert_eq!((r.pressure.some_us, r.pressure.full_us), (0, 0));
    assert_eq!(r.threads[0].io_wait, SimDuration::from_micros(150));
}

#[test]
fn a_process_starts_when_it_is_told() {
    let mut late = task("late", vec![Op::SleepUntil(SimTime(3 * MS))]);
    late.start = SimTime(2 * MS);
    let r = run(&config(Kernel::V6_12, "ssd"), vec![late]);
    assert_eq!(finished(&r, "late"), 3 * MS);
    let ops = vec![file(0, 4, true, VmaFlags::default()), Op::SleepUntil(SimTime(MS))];
    let mut late = task("late", ops);
    late.start = SimTime(2 * MS);
    let r = run(&config(Kernel::V6_12, "ssd"), vec![late]);
    assert_eq!(finished(&r, "late"), 2 * MS + 200);
}

/// A record takes what passes between its beginning and its end, without sleeps. It begins where
/// the last one or a phase ended, or where it says so.
#[test]
fn records_are_timed() {
    let work = |us| Op::Compute(SimDuration::from_micros(us));
    let ops = vec![
        work(5),
        Op::PhaseEnd(0),
        work(10),
        sleep_ms(3),
        work(20),
        Op::Records(1),
        work(40),
        Op::Records(1),
        Op::PhaseEnd(1),
        work(500),
        Op::RecordBegins,
        pread(0, 1),
        Op::Records(1),
        work(9),
        Op::Records(2),
    ];
    let r = run(&config(Kernel::V6_12, "ssd"), vec![task("t", ops)]);
    let all = r.tasks[0].record.expect("it is timed");
    assert_eq!((all.what, all.took.count), ("job", 3));
    // A read of the device; what is done two at a time is not timed.
    assert!((150_000..155_000).contains(&all.took.max), "{all:?}");
    assert!((40_000..=42_500).contains(&all.took.p50), "{all:?}");
    let [none, two] = [0, 1].map(|i| r.phases[i].task.record.expect("timed").took);
    assert_eq!((none.count, two.count), (0, 2));
    assert!(
        (30_000..=31_875).contains(&two.p50) && (40_000..=42_500).contains(&two.p99),
        "{two:?}"
    );
}

/// Nor does it take what its thread waits for others of its process.
#[test]
fn waiting_at_a_barrier_is_no_latency() {
    let work = |us| Op::Compute(SimDuration::from_micros(us));
    let first = vec![work(5000), Op::Barrier, work(10), Op::Records(1)];
    let other = vec![Op::Barrier, work(10), Op::Records(1)];
    let mut c = config(Kernel::V6_12, "ssd");
    c.cpus = 2;
    let mut late = threads("t", None, vec![first, other]);
    late.start = SimTime(2 * MS);
    let took = run(&c, vec![late]).tasks[0].record.expect("timed").took;
    assert_eq!((took.count, took.max), (2, 5_010_000));
    assert!((10_000..=10_625).contains(&took.p50), "{took:?}");
}
