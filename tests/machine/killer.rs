//! Memory pressure as a workload reads it, and apps that are killed by it.

use std::sync::{Arc, Mutex};

use crate::harness::audited;
use crate::support::*;
use mmsim::base::rng::Rng;
use mmsim::config::Kernel;
use mmsim::machine::TaskConfig;
use mmsim::machine::result::RunResult;
use mmsim::report::RunReport;
use mmsim::workload::{Op, Pressure, Workload, WorkloadCx};

/// Reads the pressure before each operation, if the test wants it.
struct Reader {
    ops: std::vec::IntoIter<Op>,
    read: Option<Arc<Mutex<Vec<Pressure>>>>,
}

impl Workload for Reader {
    fn phases(&self) -> Vec<String> {
        vec!["all".into()]
    }
    fn fill(&mut self, cx: &WorkloadCx<'_>, _: &mut Rng, ops: &mut Vec<Op>) {
        if let Some(read) = &self.read {
            read.lock().expect("no panic").push(cx.pressure.totals(cx.now));
        }
        ops.extend(self.ops.next());
    }
}

/// A group of 100 pages writes 400, eight times over, beside a task that needs no memory.
fn stalled(listener: Option<Arc<Mutex<Vec<Pressure>>>>) -> RunResult {
    let mut c = config(Kernel::V6_12, "ramdisk");
    c.memcgs[0].max = Some(100);
    let mut ops = vec![anon(400)];
    ops.extend((0..32).flat_map(|i| [write(0, i % 8 * 50, 50), sleep_ms(100)]));
    ops.push(end(0));
    let reader = Box::new(Reader { ops: ops.into_iter(), read: listener });
    let wants = TaskConfig::new("wants", vec![reader as Box<dyn Workload>]).with_memcg(Some(0));
    let calm =
        task("calm", vec![anon(10), write(0, 0, 10), sleep_ms(5000), read(0, 0, 10), end(0)]);
    run(&c, vec![wants, calm])
}

/// Expected: totals grow up to those of the run, and reading them changes nothing.
#[test]
fn workloads_read_memory_pressure() {
    let read = Arc::new(Mutex::new(Vec::new()));
    let (with, without) = (stalled(Some(read.clone())), stalled(None));
    assert_eq!((with.digest, &with.vmstat), (without.digest, &without.vmstat));
    assert_eq!(with.pressure, without.pressure);
    let read = read.lock().expect("no panic");
    let some: Vec<u64> = read.iter().map(|p| p.some_us).collect();
    assert!(some.is_sorted() && some[0] == 0, "{some:?}");
    assert!(some[20] > 0 && some[20] < some[60], "{some:?}");
    assert!(*some.last().expect("reads") <= with.pressure.some_us, "{some:?}");
    assert!(read.iter().all(|p| p.full_us <= p.some_us));
}

/// Eight apps of 6 MiB in 24 MiB, launched in turn, that nothing but a daemon kills.
fn phone(daemon: &str) -> RunReport {
    let text = format!(
        r#"
        name = "killer"
        machine = {{ memory = "24MiB", cpus = 2, swap = {{ size = "64MiB", device = "hdd" }}, file-device = "hdd" }}
        {daemon}
        [[task]]
        workload = "apps"
        apps = 8
        records = 32
        mapped = "1MiB"
        read = "1MiB"
        heap = "4MiB"
        order = "fixed"
        cold-permille = 0
        "#
    );
    audited(&text).remove(0)
}

/// Expected: an app that lmkd killed writes its heap anew, so faults that bring zeroed pages are
/// more, and what was its heap is not swapped back in. Each victim is an app, never the one in front
/// (as long as others live) and never the whole phone. An lmkd that no stall wakes changes nothing.
#[test]
fn lmkd_kills_apps() {
    let never = "daemon = [{ resident = \"0B\", lmkd = { partial-stall = \"1s\", complete-stall = \"1s\" } }]";
    let [alone, never, killed] =
        ["", never, "daemon = [{ resident = \"0B\", lmkd = { complete-stall = \"70ms\" } }]"]
            .map(phone);
    assert_eq!((&never.vmstat, never.sim_time_ns), (&alone.vmstat, alone.sim_time_ns));
    let of = |r: &RunReport, counter: &str| *r.vmstat.get(counter).expect("a counter");
    let zeroed = |r: &RunReport| of(r, "pgfault") - of(r, "pgmajfault");
    assert!(zeroed(&killed) > zeroed(&alone) + 2 * 1024, "{:?}", [&alone, &killed].map(zeroed));
    assert!(of(&killed, "pswpin") < of(&alone, "pswpin"));
    let acts = &killed.daemons[0].acts;
    assert!(acts.len() > 4);
    for act in acts {
        let app = act.target.strip_prefix("apps/").and_then(|n| n.parse::<u16>().ok());
        assert!(act.what == "SIGKILL" && app.is_some_and(|n| n < 8), "{act:?}");
        let adj = act.read.iter().find(|r| r.0 == "oom_score_adj").map(|r| r.1);
        assert!(adj.is_some_and(|adj| *adj >= 700.0), "{act:?}");
    }
}
