//! masim files as workloads of whole machines: how much a phase does, what it touches, and
//! that the keys of the task are masim's options.

use std::path::Path;

use crate::harness::{self, Folder, scenario_in};
use mmsim::machine::Watch;
use mmsim::machine::result::RunResult;
use mmsim::machines::Catalogue;
use mmsim_core::base::vmstat::VmEvent;

/// Three regions of 245, 1 and 3 pages; the machine has room for all of them.
const CONFIG: &str = "\
a, 1000000
b, 4096
c, 12288, /dev/zero

walk
20
a, 0, 4096, 1

pause
5
a, 0, 4096, 0

mixed
30
a, 1, 0, 1, ro
b, 0, 64, 1
";

/// Runs a task on this file with further keys.
fn run(config: &str, keys: &str) -> RunResult {
    let folder = Folder::with("w.cfg", config);
    let machine = "[machine]\nmemory = \"64MiB\"\ncost = { t_hit = \"100ns\" }\n";
    let task = "[[task]]\nworkload = \"masim\"\nconfig = \"w.cfg\"\n";
    let text = format!("{machine}{task}{keys}");
    let scenario = scenario_in(&folder, &text).unwrap_or_else(|e| panic!("{e}"));
    let runs = scenario.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
    let mut machine = harness::machine(&runs[0]);
    let result = machine.run(Watch::default());
    machine.check();
    result
}

/// Accesses of a phase in which everything hits: batches of `batch` accesses of 100 ns
/// until one ends later than after `ms`.
fn hits(ms: u64, batch: u64) -> u64 {
    (ms * 1_000_000 / (batch * 100) + 1) * batch
}

#[test]
fn phases_take_their_time_and_touch_their_pages() {
    let r = run(CONFIG, "batch = 1000\n");
    let names: Vec<&str> = r.phases.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["walk", "pause", "mixed"]);
    // The pages of `c` are written before the first phase begins to count its time, those
    // of `a` as they are walked, `b` is touched by the last phase only.
    let faults: Vec<u64> = r.phases.iter().map(|p| p.vmstat[VmEvent::PgFault]).collect();
    assert_eq!(faults, [3 + 245, 0, 1]);
    let accesses: Vec<u64> = r.phases.iter().map(|p| p.accesses).collect();
    // 300 batches of hits would end at 30 ms sharp and a 301st would follow; the fault of
    // `b` makes the 300th late.
    assert_eq!(accesses[1..], [0, hits(30, 1000) - 1000]);
    // The faults of the walk take the place of less than ten batches.
    let walk = accesses[0] - 3;
    assert_eq!(walk % 1000, 0);
    assert!(walk < hits(20, 1000) && walk > hits(19, 1000), "{walk}");
    // A phase is late by less than a batch, which is 0.1 ms without faults.
    for (p, ms) in r.phases.iter().zip([20, 5, 30]) {
        let late = p.end.since(p.begin).as_nanos() as i64 - ms * 1_000_000;
        assert!((0..=200_000).contains(&late), "{}: {late} ns", p.name);
    }
}

/// masim's own batches take 13.1 ms: three of them in 30 ms.
#[test]
fn batches_are_those_of_masim() {
    assert_eq!(run(CONFIG, "").phases[2].accesses, 3 * 131_072);
}

#[test]
fn keys_are_the_options_of_masim() {
    // Each turn maps its regions anew.
    let r = run(CONFIG, "batch = 1000\nrepeat = 3\n");
    assert_eq!(r.phases.len(), 9);
    let faults: Vec<u64> = r.phases.iter().map(|p| p.vmstat[VmEvent::PgFault]).collect();
    assert_eq!(faults, [248, 0, 1].repeat(3));
    // Where the file does not say: reading finds the zero page, reading and writing faults
    // once for each.
    let one = "a, 40960\n\np\n0\na, 0, 4096, 1\n\nq\n0\na, 0, 4096, 1, wo\n";
    let faults = |mode: &str| {
        let r = run(one, &format!("batch = 10\ndefault-mode = \"{mode}\"\n"));
        [0, 1].map(|i| r.phases[i].vmstat[VmEvent::PgFault])
    };
    assert_eq!((faults("wo"), faults("ro"), faults("rw")), ([10, 0], [10, 10], [20, 0]));
}

/// A file that is not what it should be is an error of the scenario, with both places told.
#[test]
fn errors_point_into_the_file() {
    let folder = Folder::with("w.cfg", "a, 4096\n\np\n1\na, 0, 64, 1, w\n");
    let text =
        "[machine]\nmemory = \"64MiB\"\n[[task]]\nworkload = \"masim\"\nconfig = \"w.cfg\"\n";
    let e = scenario_in(&folder, text).expect_err("must be refused");
    assert_eq!(e.title(), "task[0].config: `w` for what an access does; write ro, wo or rw");
    let (file, line, column) = e.position().expect("a place");
    assert_eq!(Path::new(file).file_name(), Some("w.cfg".as_ref()));
    assert_eq!((line, column), (5, 14));
}
