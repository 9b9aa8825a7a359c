//! Several disks for files: each has its own queue, flusher and writers.

use crate::support::scenario;
use mmsim::machine::result::{Outcome, RunResult};

/// Two writers or readers `a` and `b` of phased steps, on disks of these devices.
fn pair(devices: [&str; 2], disk_of_b: &str, [a, b]: [&str; 2], vm: &str) -> RunResult {
    let [first, second] = devices;
    let mut runs = scenario(&format!(
        r#"
        [machine]
        memory = "64MiB"
        cpus = 2
        file-device = {first}
        vm = {{ read_ahead_kb = 0, {vm} }}
        [[machine.disk]]
        name = "data"
        device = {second}
        [[task]]
        workload = "phased"
        name = "a"
        regions = {{ f = {{ memory = "16MiB", kind = "read" }} }}
        steps = [{a}]
        [[task]]
        workload = "phased"
        name = "b"
        disk = "{disk_of_b}"
        regions = {{ f = {{ memory = "16MiB", kind = "read" }} }}
        steps = [{b}]
        "#
    ));
    let run = runs.remove(0);
    assert_eq!(run.outcome, Outcome::Completed);
    run
}

/// Seconds until each of the two was done.
fn took(r: &RunResult) -> [f64; 2] {
    [0, 1].map(|i| r.threads[i].finished.0 as f64 / 1e9)
}

fn is_about(found: f64, expected: f64) {
    assert!(found >= expected && found < 1.1 * expected, "{found} s, {expected} s expected");
}

/// Every other page of a file, 50 requests.
fn scattered() -> String {
    let read = |i| {
        format!(
            "{{ do = \"read\", region = \"f\", first = \"{} pages\", size = \"1 pages\" }}",
            2 * i
        )
    };
    (0..50).map(read).collect::<Vec<_>>().join(", ")
}

const NVME: &str = "\"nvme\"";
const HDD: &str = "\"hdd\"";

/// 50 reads of 90 us beside 50 of 8.17 ms, at the same time. On one disk of one server either
/// waits for the other's.
#[test]
fn reads_take_the_time_of_their_own_disk() {
    let reads = scattered();
    let r = pair([NVME, HDD], "data", [&reads, &reads], "");
    let [a, b] = took(&r);
    is_about(a, 50.0 * 90e-6);
    is_about(b, 50.0 * 8.17e-3);
    let disks: Vec<_> = r.disks.iter().map(|d| (&*d.name, d.files, d.read, d.written)).collect();
    assert_eq!(disks, [("file-device", 1, 50, 0), ("data", 1, 50, 0)]);
    assert_eq!(r.reading[1].0, r.disks.iter().map(|d| d.reading.0).sum::<u64>());
    let [a, b] = took(&pair([HDD, HDD], "file-device", [&reads, &reads], ""));
    is_about(a.max(b), 100.0 * 8.17e-3);
}

/// A device that writes `rate` MB/s.
fn writes(rate: u32) -> String {
    format!(
        "{{ name = \"w{rate}\", read = \"10us\", write = \"10us\", bandwidth = \"{rate}MB/s\" }}"
    )
}

/// 4 MiB at 40 MB/s take 0.105 s, and at 4 MB/s ten times as long. The fast disk's caller does not
/// wait for the slow disk's, and neither do they share a queue.
#[test]
fn fsync_waits_for_its_own_disk() {
    let step = r#"{ do = "write", region = "f", size = "4MiB" }, { do = "fsync", region = "f" }"#;
    let (fast, slow) = (writes(40), writes(4));
    let [a, b] = took(&pair([&fast, &slow], "data", [step, step], ""));
    is_about(a, 4_194_304.0 / 40e6);
    is_about(b, 4_194_304.0 / 4e6);
    // Both on the slow one: 8 MiB at 4 MB/s for who comes last.
    let [a, b] = took(&pair([&slow, &fast], "file-device", [step, step], ""));
    is_about(a.max(b), 8_388_608.0 / 4e6);
}

/// Below the thresholds no writer pauses. Above them each disk may have the part of the dirty pages
/// that it has in what is written. The kernel begins with 100 MB/s for either disk, so for some
/// seconds the slow one holds most of what may be dirty; after that the writer to the fast one goes
/// on at its pace, and over 960 MiB it has more than half of it. On one slow disk it has at most
/// that of the disk.
#[test]
fn a_slow_disk_does_not_slow_writers_to_a_fast_one() {
    let few = r#"{ do = "write", region = "f", size = "1MiB" }"#;
    let (fast, slow) = (writes(100), writes(2));
    let [a, b] = took(&pair([&fast, &slow], "data", [few, few], ""));
    assert!(a < 0.001 && b < 0.001, "{a} s, {b} s");
    let turns = |n| {
        format!(
            "{{ do = \"repeat\", times = {n}, steps = [{{ do = \"write\", region = \"f\" }}] }}"
        )
    };
    let limits = "dirty_background_bytes = 2097152, dirty_bytes = 8388608";
    let r = pair([&fast, &slow], "data", [&turns(60), &turns(1)], limits);
    let [a, b] = took(&r);
    let left = 8.0 * 1048576.0;
    let least = |turns: f64, rate: f64| (turns * 16.0 * 1048576.0 - left) / rate;
    assert!(a >= least(60.0, 100e6) && a < 2.0 * least(60.0, 100e6), "{a} s");
    assert!(b >= least(1.0, 2e6), "{b} s");
    let [a, b] = took(&pair([&slow, &fast], "file-device", [&turns(2), &turns(1)], limits));
    assert!(a >= least(2.0, 2e6) && a.max(b) >= least(3.0, 2e6), "{a} s, {b} s");
}

/// A group's writers to two disks keep within the group's threshold as the machine's do.
#[test]
fn groups_write_to_several_disks() {
    let (fast, slow) = (writes(100), writes(2));
    let text = format!(
        r#"
        [machine]
        memory = "64MiB"
        cpus = 2
        file-device = {fast}
        memcg = [{{ name = "g", max = "8MiB" }}]
        [[machine.disk]]
        name = "data"
        device = {slow}
        [[task]]
        workload = "phased"
        memcg = "g"
        regions = {{ f = {{ memory = "16MiB", kind = "file-shared", disk = "data" }}, h = {{ memory = "16MiB", kind = "read" }} }}
        steps = [
            {{ do = "allocate", region = "f", populate = false }},
            {{ do = "touch", region = "f", write = true }},
            {{ do = "write", region = "h" }},
            {{ do = "fsync", region = "h" }},
            {{ do = "fsync", region = "f" }},
        ]
        "#
    );
    let run = &scenario(&text)[0];
    assert_eq!(run.outcome, Outcome::Completed);
    assert_eq!(run.disks.iter().map(|d| d.written).collect::<Vec<_>>(), [4096, 4096]);
    assert_eq!(run.disks.iter().map(|d| d.read).collect::<Vec<_>>(), [0, 4096]);
    // The mapped file is read and written by the slow disk, and the other one beside it.
    is_about(run.sim_time.as_secs_f64(), 2.0 * 16_777_216.0 / 2e6);
}
