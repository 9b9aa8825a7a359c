//! Daemons: who is killed and when, what they read, and what they leave alone.

use crate::harness::{audited, report, specs};
use mmsim::report::RunReport;

/// A task that grows by 64 MiB a second beside a small one, without swap. What a daemon reads of it is
/// known: 256 MiB of memory.
const GROWING: &str = r#"
[machine]
memory = "256MiB"
cpus = 2
[[machine.memcg]]
name = "small"
[[machine.memcg]]
name = "batch"
[[task]]
name = "small"
workload = "zipf"
memcg = "small"
memory = "16MiB"
think = "1ms"
duration = "6s"
[[task]]
name = "hog"
workload = "phased"
memcg = "batch"
regions = { heap = { memory = "512MiB" } }
steps = [{ do = "allocate", region = "heap", populate = false },
    { do = "repeat", times = 128, steps = [
        { do = "window", region = "heap", size = "4MiB", write = true },
        { do = "sleep", time = "62.5ms" } ] }]
"#;

fn with(daemon: &str) -> RunReport {
    audited(&format!("{GROWING}{daemon}")).remove(0)
}

/// Without a daemon the kernel kills; earlyoom kills before it, at its threshold: 10 % of available and
/// anonymous memory, which is about 25 MiB. The task needs 0.4 s for the 25 MiB that are left then.
#[test]
fn earlyoom_acts_before_the_kernel() {
    let kernel = with("");
    let daemon = with("[[daemon]]\nearlyoom = {}\n");
    let (oom, d) = (kernel.oom.as_ref().expect("the kernel kills"), &daemon.daemons[0]);
    assert_eq!(
        (kernel.vmstat.get("oom_kill"), daemon.vmstat.get("oom_kill")),
        (Some(&1), Some(&0))
    );
    assert_eq!((d.first, d.acted, d.acts[0].target.as_str()), (1, 1, "hog"));
    let before = oom.at_ns - d.acts[0].at_ns;
    assert!((100_000_000..1_000_000_000).contains(&before), "{before} ns before the kernel");
    // SIGTERM: it goes on for 100 ms.
    assert_eq!(d.acts[0].what, "SIGTERM");
    let read = |name: &str| *d.acts[0].read.get(name).expect("it was read");
    let share = read("meminfo.MemAvailable") * 100.0
        / (read("meminfo.MemAvailable") + read("meminfo.AnonPages"));
    assert!(share <= 10.0 && share > 5.0, "{share} %");
}

/// A victim that ignores SIGTERM is killed at 5 %.
#[test]
fn earlyoom_follows_with_sigkill() {
    let daemon = with("[[daemon]]\nearlyoom = {}\nignore-term = true\n");
    let acts: Vec<_> = daemon.daemons[0].acts.iter().map(|a| a.what.as_str()).collect();
    assert_eq!((acts[0], acts.last()), ("SIGTERM", Some(&"SIGKILL")));
    assert_eq!(daemon.vmstat.get("oom_kill"), Some(&0));
}

/// A frozen group does nothing, and takes up where it was: its 2 s are those of the daemon.
#[test]
fn a_frozen_group_stands_still() {
    let rule = "[[daemon]]\n[[daemon.rule]]\nevery = \"500ms\"\n\
                when = \"meminfo.MemAvailable > 1MiB\"\npause = \"60min\"\n\
                victim = { among = \"batch\" }\ndo = { freeze = \"2s\" }\n";
    let text = GROWING.replace("\"512MiB\"", "\"64MiB\"").replace("128,", "16,");
    let own = |daemon: &str| audited(&format!("{text}{daemon}")).remove(0);
    let (free, frozen) = (own(""), own(rule));
    let ends = |r: &RunReport| r.threads.iter().find(|t| t.name == "hog").map(|t| t.finished_ns);
    let longer = ends(&frozen).expect("hog") - ends(&free).expect("hog");
    assert!((1_900_000_000..2_100_000_000).contains(&longer), "{longer} ns");
    let acts: Vec<_> = frozen.daemons[0].acts.iter().map(|a| a.what.as_str()).collect();
    assert_eq!((acts, frozen.daemons[0].acted), (vec!["freeze"], 1));
    let act = &frozen.daemons[0].acts[0];
    let stood = act.until_ns.expect("it ended") - act.at_ns;
    // Its reads take some of the time.
    assert!((2_000_000_000..2_001_000_000).contains(&stood), "{stood} ns");
}

/// A write to `memory.high` below what a group uses reclaims at once.
#[test]
fn a_limit_below_the_usage_reclaims() {
    let rule = "[[daemon]]\n[[daemon.rule]]\npause = \"60min\"\n\
                when = \"memcg(batch).current > 60MiB\"\nvictim = { among = \"batch\" }\n\
                do = { write = \"memory.high\", value = \"32MiB\" }\n";
    let text =
        GROWING.replace("cpus = 2", "cpus = 2\nswap = { size = \"512MiB\", device = \"zram\" }");
    let run = audited(&format!("{text}{rule}")).remove(0);
    let act = &run.daemons[0].acts[0];
    let over = act.read.get("memcg(batch).current").expect("it was read") / 4096.0 - 8192.0;
    // One reclaim of many pages scans beyond its target.
    assert!((over..over * 1.5).contains(&(act.done as f64)), "{} of {over} pages", act.done);
}

/// `memory.max` below what a group is charged: what can be reclaimed goes, and if that is too little,
/// the OOM killer ends the process. Expected with swap for all: no kill; without: the hog dies at the
/// write, since nothing of it can be reclaimed. A note says so.
#[test]
fn a_hard_limit_below_the_usage_reclaims_or_kills() {
    let rule = "[[daemon]]\n[[daemon.rule]]\npause = \"60min\"\n\
                when = \"memcg(batch).current > 60MiB\"\nvictim = { among = \"batch\" }\n\
                do = { write = \"memory.max\", value = \"32MiB\" }\n";
    let swap = "cpus = 2\nswap = { size = \"1GiB\", device = \"zram\" }";
    let without = report(&format!("expect-oom = true\n{GROWING}{rule}"));
    let with = report(&format!("{}{rule}", GROWING.replace("cpus = 2", swap)));
    let below = [&without, &with].map(|r| {
        let act = &r.runs[0].daemons[0].acts[0];
        let below = act.below_use.as_ref().expect("the group uses more");
        assert_eq!(below.limit_bytes, 32 << 20);
        assert!((60 << 20..80 << 20).contains(&below.charged_bytes), "{}", below.charged_bytes);
        (below.killed, act.done > 0, r.runs[0].vmstat.get("oom_kill").copied())
    });
    assert_eq!(below, [(1, false, Some(1)), (0, true, Some(0))]);
    let note = "rules wrote memory.max of batch below its use, 32 MiB of ";
    for (report, end) in [(&without, "ended 1 process"), (&with, "ended 0 processes")] {
        assert!(
            report.notes.iter().any(|n| n.contains(note) && n.ends_with(end)),
            "{:?}",
            report.notes
        );
    }
}

/// The hog ends after a second, and its group is gone. Expected: the daemon, which looks each second,
/// reads zeros from 2 s on, and a note says so; of groups that are there no note speaks.
#[test]
fn reads_of_groups_that_are_gone_are_told() {
    let text = GROWING
        .replace("128,", "16,")
        .replace("\"batch\"\n[[task]]", "\"batch\"\nuntil = \"1ms\"\n[[task]]");
    assert!(text.contains("until"));
    let rule = |memcg: &str| {
        format!(
            "[[daemon]]\n[[daemon.rule]]\nevery = \"1s\"\nwhen = \"memcg({memcg}).current > 1GiB\"\n\
             do = {{ swappiness = \"1\" }}\n"
        )
    };
    let gone = report(&format!("{text}{}", rule("batch")));
    let absent = gone.runs[0].daemons[0].absent.as_ref().expect("the group is gone");
    assert_eq!((absent.memcg.as_str(), absent.at_ns / 1_000_000_000), ("batch", 2));
    assert!((4..=5).contains(&absent.reads), "{}", absent.reads);
    let said = |n: &String| {
        n.contains("rules read files of groups that are not there") && n.contains("`batch` at 2.0")
    };
    assert!(gone.notes.iter().any(said), "{:?}", gone.notes);
    let there = report(&format!("{text}{}", rule("small")));
    assert_eq!(there.runs[0].daemons[0].absent, None);
}

/// A trigger wakes a daemon that has no timer to speak of, within a tenth of the window and a look.
#[test]
fn a_trigger_wakes_a_daemon() {
    let rule = "[[daemon]]\n\
                [[daemon.trigger]]\nmemcg = \"batch\"\nthreshold = \"20ms\"\n\
                [[daemon.rule]]\nevery = \"60min\"\nwhen = \"memcg(batch).pressure.some.total > 20000\"\n\
                victim = { among = \"processes\", by = [\"rss\"] }\ndo = { signal = \"SIGKILL\" }\n";
    let text = GROWING
        .replace("name = \"batch\"", "name = \"batch\"\nhigh = \"64MiB\"")
        .replace("cpus = 2", "cpus = 2\nswap = { size = \"1GiB\", device = \"ssd\" }");
    let run = audited(&format!("{text}{rule}")).remove(0);
    let act = &run.daemons[0].acts[0];
    let stalled = *act.read.get("memcg(batch).pressure.some.total").expect("it was read");
    // 100 ms between two looks of the kernel are the most that can pass unseen.
    assert!((20_000.0..121_000.0).contains(&stalled), "{stalled} us");
    assert_eq!(act.target, "hog");
}

/// Who watches changes nothing, and neither does the order of seeds: the same bytes.
#[test]
fn runs_with_daemons_are_repeatable() {
    let text = format!("{GROWING}[[daemon]]\nearlyoom = {{}}\n");
    let digests =
        |r: mmsim::report::Report| r.runs.iter().map(|r| r.digest.clone()).collect::<Vec<_>>();
    assert_eq!(digests(report(&text)), vec![with("[[daemon]]\nearlyoom = {}\n").digest]);
    assert_eq!(specs(&text)[0].daemons.len(), 1);
}

/// A job that sleeps amid a reclaim for the limit of its pod when its SIGTERM is due.
const AMID_RECLAIM: &str = r#"
[machine]
memory = "512MiB"
cpus = 4
kernel = "6.12"
swap = { size = "256MiB", device = "ssd" }
memcg-mount = ["memory_recursiveprot"]
memcg = [
  { name = "kubepods", max = "448MiB", low = "128MiB" },
  { name = "kubepods/web", max = "192MiB", low = "128MiB" },
  { name = "kubepods/web/app" },
  { name = "kubepods/batch" },
  { name = "kubepods/batch/job" },
]
[[task]]
name = "service"
workload = "zipf"
memory = "120MiB"
memcg = "kubepods/web/app"
think = "50us"
write-permille = 100
duration = "19s"
[[task]]
name = "job"
workload = "phased"
memcg = "kubepods/batch/job"
regions = { heap = { memory = "2GiB" } }
steps = [
    { do = "allocate", region = "heap", populate = false },
    { do = "repeat", times = 512, steps = [
        { do = "window", region = "heap", size = "4MiB", write = true },
        { do = "sleep", time = "125ms" },
    ] },
]
[[daemon]]
earlyoom = {}
"#;

/// A signal is taken on the way back to user mode: the job ends after the fault that it was in, and
/// not amid of it.
#[test]
fn a_signal_waits_for_the_end_of_a_fault() {
    let run = &report(AMID_RECLAIM).runs[0];
    let act = &run.daemons[0].acts[0];
    assert_eq!((act.what.as_str(), act.target.as_str()), ("SIGTERM", "job"));
    let job = run.threads.iter().find(|t| t.name.starts_with("job")).expect("the job has a thread");
    assert!(job.finished_ns >= act.at_ns + 100_000_000, "{} {}", job.finished_ns, act.at_ns);
}

/// The kubelet looks every 10 s. A pod without request that takes 6.4 MiB a second leaves less than 64
/// of 256 MiB after 27 s and is evicted at 30 s, with one signal; at 64 MiB a second memory ends after
/// 4 s, and the kernel kills it, whose `oom_score_adj` is that of its class.
#[test]
fn the_kubelet_looks_every_ten_seconds() {
    let of = |sleep: &str| {
        let pods = GROWING
            .replace("[[machine.memcg]]\nname = \"small\"\n", "")
            .replace("[[machine.memcg]]\nname = \"batch\"\n", "")
            .replace("memcg = ", "pod = ")
            .replace("\"6s\"", "\"45s\"")
            .replace("\"62.5ms\"", sleep);
        let kubelet = "[[pod]]\nname = \"small\"\nrequest = \"32MiB\"\n[[pod]]\nname = \"batch\"\n\
                       [[daemon]]\nkubelet = { eviction-hard = \"64MiB\" }\n";
        audited(&format!("{pods}{kubelet}")).remove(0)
    };
    let slow = of("\"625ms\"");
    let d = &slow.daemons[0];
    let act = &d.acts[0];
    assert_eq!((d.first, d.acted, act.what.as_str(), act.done), (1, 1, "terminate group", 1));
    assert!(act.target.ends_with("/kubepods-besteffort-podbatch.slice"), "{}", act.target);
    assert!((30_000_000_000..30_010_000_000).contains(&act.at_ns), "{} ns", act.at_ns);
    let available = *act.read.get("memory.available").expect("it was read");
    assert!((30.0..64.0).contains(&(available / f64::from(1 << 20))), "{available} bytes");
    assert_eq!(slow.vmstat.get("oom_kill"), Some(&0));

    let fast = of("\"62.5ms\"");
    let oom = fast.oom.as_ref().expect("the kernel kills");
    assert_eq!((fast.daemons[0].acted, oom.victim.as_str()), (0, "hog"));
}
