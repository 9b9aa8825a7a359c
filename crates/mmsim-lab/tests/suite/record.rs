//! One scenario on two machines: scripts that do the scenario's work, what is refused, and the
//! report of a recording that is kept. No test needs an emulator.

use std::path::{Path, PathBuf};

use mmsim::config::Kernel;
use mmsim::machines;
use mmsim::{RunSpec, Scenario};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimTime;
use mmsim_core::workload::{Advice, Op, Pressure, Workload, WorkloadCx};
use mmsim_lab::record::{Planned, plan};
use mmsim_workload::script::Script;

use crate::golden::Golden;
use crate::harness::{Folder, repository};
use crate::root;

/// Kernels that mmsim models and that have been recorded.
const KERNELS: [Kernel; 4] = [Kernel::V6_1, Kernel::V6_12, Kernel::V6_18, Kernel::V7_3];

fn planned(scenario: &Scenario, runs: &[RunSpec], kernel: Kernel) -> Result<Vec<Planned>, String> {
    let of = plan(scenario, runs, kernel, 3).map_err(|e| e.title().to_string());
    of.map(|plan| plan.runs)
}

/// Every scenario below a folder, by its path.
fn scenarios(folder: &Path, found: &mut Vec<PathBuf>) {
    let all = std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path());
    for path in all {
        match path.extension() {
            None if path.is_dir() && !path.ends_with("refused") => scenarios(&path, found),
            Some(e) if e == "toml" => found.push(path),
            _ => {}
        }
    }
    found.sort();
}

/// The document lists exactly the shipped scenarios that convert; every script is one that mmsim
/// can replay and that ends each of its phases.
#[test]
fn shipped_scenarios_that_convert() {
    let mut files = Vec::new();
    scenarios(&root().join("scenarios"), &mut files);
    let mut rows = Vec::new();
    for path in &files {
        // Plans of searches and suites are no scenarios.
        let Ok(scenario) = Scenario::from_path(path) else { continue };
        let Ok(runs) = machines::specs(&scenario) else { continue };
        let (mut kernels, mut number) = (Vec::new(), 0);
        for kernel in KERNELS {
            let Ok(planned) = planned(&scenario, &runs, kernel) else { continue };
            kernels.push(kernel.name());
            number += planned.len();
            for p in planned {
                assert_eq!(p.scripts.len(), 3);
                for lines in &p.scripts {
                    let script = Script::parse(lines).unwrap_or_else(|e| panic!("{}: {e}", p.id));
                    assert_eq!(script.not_yet, [], "{}", p.id);
                    assert_eq!(script.phases.last().map(String::as_str), Some("end"));
                }
            }
        }
        if number > 0 {
            let file = path.strip_prefix(root().join("scenarios")).expect("below it");
            let (file, kernels) = (file.display().to_string(), kernels.join(", "));
            rows.push(format!("| `{file}` | {kernels} | {number} |"));
        }
    }
    assert!(rows.len() >= 8, "{rows:#?}");
    let document = std::fs::read_to_string(repository("docs/dev/validation.md")).expect("it");
    let listed: Vec<&str> =
        document.lines().filter(|l| l.starts_with("| `") && l.contains(".toml")).collect();
    assert_eq!(listed, rows, "docs/dev/validation.md");
}

const PHASED: &str = r#"name = "p"
[machine]
memory = "16MiB"
vm = { page-cluster = 0, swappiness = 100, extfrag_threshold = 400 }
[[machine.swap]]
size = "100 pages"
device = "ramdisk"
priority = 7
[[machine.swap]]
size = "999 pages"
device = { read = "80us", write = "80us", servers = 64, queue_depth = 64 }
[[task]]
workload = "phased"
regions = { a = { pages = 10 }, b = { pages = 30 } }
steps = [
    { do = "allocate", region = "a" },
    { do = "allocate", region = "b", populate = false },
    { do = "phase", name = "start" },
    { do = "repeat", times = 2, steps = [
        { do = "window", region = "b", size = "20 pages", advance = "20 pages", write = true },
        { do = "touch", region = "a", first = "2 pages", size = "3 pages", passes = 4 },
        { do = "records" },
        { do = "phase", name = "turn" },
    ] },
    { do = "madvise", region = "a", advice = "populate-read" },
    { do = "sleep", time = "30ms" },
    { do = "free", region = "b" },
    { do = "allocate", region = "b" },
    { do = "window", region = "b", size = "7 pages" },
]
"#;

fn of(text: &str, kernel: Kernel) -> Result<Planned, String> {
    let scenario = Scenario::from_str(text, "p.toml").unwrap_or_else(|e| panic!("{e}"));
    let runs = machines::specs(&scenario).unwrap_or_else(|e| panic!("{e}"));
    planned(&scenario, &runs, kernel).map(|mut all| all.remove(0))
}

/// Written by hand from the commands of evidence/reference/GENERATOR.md.
#[test]
fn steps_become_commands() {
    let p = of(PHASED, Kernel::V6_12).expect("a plan");
    let expected = "\
write /sys/kernel/mm/lru_gen/enabled 0
zram 413696 7
trywrite /sys/module/null_blk/parameters/completion_nsec 80000
trywrite /sys/module/null_blk/parameters/hw_queue_depth 64
write /sys/block/nullb0/queue/rotational 0
swapon /dev/nullb0 1000
write /proc/sys/vm/swappiness 100
write /proc/sys/vm/page-cluster 0
write /proc/sys/vm/watermark_boost_factor 0
write /proc/sys/vm/percpu_pagelist_high_fraction 1000
write /proc/sys/vm/compaction_proactiveness 0
write /proc/sys/vm/extfrag_threshold 400
mlockself
snapx boot
ballast 3840
snapx start
seed 1
anon 0 10
fill 0 0 10
anon 1 30
snap start.2
fill 1 0 20
scan 0 2 3 r 4
snap turn
fill 1 20 10
fill 1 0 10
scan 0 2 3 r 4
snap turn.2
madvise 0 0 10 populate_read
sleepms 30
unmap 1
anon 1 30
fill 1 0 30
scan 1 0 7 r 1
snapx end";
    assert_eq!(p.scripts[0].join("\n"), expected);
    let other: Vec<_> = p.scripts[2].iter().filter(|l| !p.scripts[0].contains(l)).collect();
    assert_eq!(other, ["ballast 3936", "seed 3"]);
    assert_eq!((p.id.as_str(), p.mem_mib), ("default-classic-6.12", 128));
}

const GROUPS: &str = r#"name = "g"
[machine]
memory = "16MiB"
memcg-mount = ["memory_recursiveprot"]
memcg = [
    { name = "pod", max = "8MiB", low = "100 pages" },
    { name = "pod/a", high = "9 pages", swap-max = "7 pages", oom-group = true },
    { name = "b", min = "5 pages" },
]
[[task]]
name = "first"
workload = "zipf"
theta = 0.9
memory = "100 pages"
accesses = 5
memcg = "pod/a"
[[task]]
workload = "cyclic"
memory = "30 pages"
passes = 2
write = true
memcg = "b"
start = "10ms"
processes = 2
oom_score_adj = -3
[[task]]
workload = "uniform"
memory = "100 pages"
accesses = 6
write-permille = 0
"#;

/// Written by hand likewise. The first process is that of the first task; each other one has a
/// generator of its own, begins when its task does, and gives its memory back at its end.
#[test]
fn groups_and_processes_become_commands() {
    let p = of(GROUPS, Kernel::V6_12).expect("a plan");
    let expected = "\
mount cgroup2 none /cg memory_recursiveprot
write /cg/cgroup.subtree_control +memory
mkdir /cg/pod
write /cg/pod/cgroup.subtree_control +memory
write /cg/pod/memory.low 409600
write /cg/pod/memory.max 8388608
mkdir /cg/pod/a
write /cg/pod/a/memory.high 36864
write /cg/pod/a/memory.swap.max 28672
write /cg/pod/a/memory.oom.group 1
mkdir /cg/b
write /cg/b/memory.min 20480
table 0 100 0.9
table 1 100 0
mlockself
process 1 /cg/b
on 1 write /proc/self/oom_score_adj -3
process 2 /cg/b
on 2 write /proc/self/oom_score_adj -3
process 3 -
snapx boot
ballast 3840
join /cg/pod/a
sleepms 2500
snapx start
start 1 seed 1001
start 1 sleepms 10
start 1 anon 0 30
start 1 fill 0 0 30
start 1 fill 0 0 30
start 1 unmap 0
start 2 seed 2001
start 2 sleepms 10
start 2 anon 0 30
start 2 fill 0 0 30
start 2 fill 0 0 30
start 2 unmap 0
start 3 seed 3001
start 3 anon 0 100
start 3 fill 0 0 100
start 3 zipf 0 1 6 0 61 0
start 3 unmap 0
seed 1
anon 0 100
fill 0 0 100
snap populate
zipf 0 0 5 0 61 0
snap access
unmap 0
wait
snapx end";
    let begin = p.scripts[0].iter().position(|l| l.starts_with("mount ")).expect("groups");
    assert_eq!(p.scripts[0][begin..].join("\n"), expected);
    let script = Script::parse(&p.scripts[0]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(script.not_yet, []);
    assert_eq!(script.setup.joined, Some(1));
    assert_eq!(
        script.processes.iter().map(|p| p.group).collect::<Vec<_>>(),
        [Some(2), Some(2), None]
    );
}

const MAPPED: &str = r#"name = "m"
[machine]
memory = "16MiB"
file-device = "ramdisk"
vm = { read_ahead_kb = 0 }
[[task]]
workload = "phased"
regions = { a = { pages = 30 }, data = { pages = 40, kind = "file-shared" }, other = { pages = 50, kind = "file-shared" } }
steps = [
    { do = "allocate", region = "data", populate = false },
    { do = "allocate", region = "other", populate = false },
    { do = "madvise", region = "other", advice = "random" },
    { do = "allocate", region = "a" },
    { do = "touch", region = "data" },
    { do = "madvise", region = "a", first = "5 pages", size = "10 pages", advice = "pageout" },
    { do = "touch", region = "other" },
    { do = "madvise", region = "data", advice = "dontneed" },
    { do = "phase", name = "access" },
]
"#;

/// Written by hand likewise: files take the names of the recorded machine's, in their order.
#[test]
fn files_and_advice_become_commands() {
    let p = of(MAPPED, Kernel::V6_12).expect("a plan");
    let expected = "\
mlockself
snapx boot
ballast 3840
snapx start
seed 1
file 1 /mnt/z 40 normal
file 2 /mnt/s 50 random
anon 0 30
fill 0 0 30
scan 1 0 40 r 1
madvise 0 5 10 pageout
scan 2 0 50 r 1
madvise 1 0 40 dontneed
snap access
snapx end";
    let (set_up, rest) = p.scripts[0].split_at(p.scripts[0].len() - expected.lines().count());
    assert_eq!(rest.join("\n"), expected);
    for line in ["mount ext4 /dev/pmem0 /mnt ro", "write /sys/block/pmem0/queue/read_ahead_kb 0"] {
        assert!(set_up.iter().any(|l| l == line), "{set_up:#?}");
    }
    assert!(p.files);
    let script = Script::parse(&p.scripts[0]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(script.not_yet, []);
}

/// Accesses of a thread in order, page by page, and the ends of its phases.
fn accesses(w: &mut dyn Workload) -> Vec<(u16, u32, bool)> {
    let mut rng = Rng::for_purpose(1, "workload/test");
    let mut all = Vec::new();
    loop {
        let mut ops = Vec::new();
        let cx = WorkloadCx {
            now: SimTime::ZERO,
            free_pages: 1 << 20,
            kernel_allocs: &[],
            free_blocks: None,
            pressure: &Pressure::NONE,
        };
        w.fill(&cx, &mut rng, &mut ops);
        if ops.is_empty() {
            return all;
        }
        for op in ops {
            match op {
                Op::Access(r) => {
                    all.extend((r.first..r.first + r.count).map(|p| (r.region.0, p, r.write)));
                }
                // A script gives it with the mapping.
                Op::Madvise { advice: Advice::Random, .. } => {}
                Op::Madvise { .. } => all.push((u16::MAX, 0, false)),
                Op::Munmap { .. } => all.push((u16::MAX, 1, false)),
                _ => {}
            }
        }
    }
}

/// The script accesses the pages that the scenario accesses, in its order. Draws are others, and as
/// many.
#[test]
fn a_script_does_the_work_of_its_scenario() {
    let shipped = std::fs::read_to_string(repository("scenarios/fact-detection.toml")).expect("it");
    let cyclic = "[machine]\nmemory = \"16MiB\"\n[[task]]\nworkload = \"cyclic\"\n\
                  memory = \"100 pages\"\npasses = 3\nwrite = true\n";
    let zipf = "[machine]\nmemory = \"16MiB\"\n[[task]]\nworkload = \"zipf\"\n\
                memory = \"100 pages\"\naccesses = 1001\nwindows = 4\n";
    for (text, draws) in
        [(PHASED, false), (MAPPED, false), (shipped.as_str(), false), (cyclic, false), (zipf, true)]
    {
        let scenario = Scenario::from_str(text, "p.toml").unwrap_or_else(|e| panic!("{e}"));
        let runs = machines::specs(&scenario).unwrap_or_else(|e| panic!("{e}"));
        let mut threads = machines::threads(&runs[0].tasks[0], 1, 0).expect("its threads");
        let wanted = accesses(threads[0].as_mut());
        let p = planned(&scenario, &runs, Kernel::V6_12).expect("a plan").remove(0);
        let script = Script::parse(&p.scripts[0]).expect("a script");
        let made = accesses(&mut script.workload().expect("a workload"));
        assert!(wanted.len() > 100, "{}", wanted.len());
        assert_eq!(wanted.len(), made.len());
        if !draws {
            assert!(wanted == made, "{text}");
        }
    }
}

/// Each with the file, the place of its key, and what to write instead.
#[test]
fn what_cannot_be_carried_over() {
    let golden = Golden::of("record");
    let f = Folder::new();
    let refused = |name: &str, from: &str, to: &str| {
        assert!(PHASED.contains(from), "{from}");
        f.write("p.toml", PHASED.replacen(from, to, 1));
        golden.is(name, &f.mmsim(&["record", "p.toml", "--kernel", "6.12", "--dry-run"]));
    };
    refused("cpus", "memory = \"16MiB\"", "memory = \"16MiB\"\ncpus = 2");
    refused("kernel", "memory = \"16MiB\"", "memory = \"16MiB\"\nkernel = \"6.18\"");
    refused("too-large", "memory = \"16MiB\"", "memory = \"16GiB\"");
    refused("policy", "[machine]", "[reclaim]\npreset = \"random\"\n[machine]");
    refused("sysctl", "swappiness = 100", "transparent_hugepage = \"always\"");
    refused("device", "\"ramdisk\"", "\"ssd\"");
    refused("advice", "\"populate-read\"", "\"cold\"");
    refused("step", "do = \"records\"", "do = \"drop-caches\"");
    refused("sleep", "30ms", "30us");
    refused("file", "b = { pages = 30 }", "b = { pages = 30, kind = \"file-shared\" }");
    refused("read", "b = { pages = 30 }", "b = { pages = 30, kind = \"read\" }");
    refused("run-ahead", "[machine]", "[machine]\nrun-ahead = \"1us\"");
    refused("host", "[machine]", "[machine]\nhost = {}");
    refused("zswap", "[machine]", "[machine]\nzswap = { max-pool-percent = 5 }");
    f.write("p.toml", MAPPED.replacen("\"ramdisk\"", "\"nvme\"", 1));
    golden.is("file-device", &f.mmsim(&["record", "p.toml", "--kernel", "6.12", "--dry-run"]));
    f.write("p.toml", MAPPED.replacen("pages = 50", "pages = 65537", 1));
    golden.is("large-file", &f.mmsim(&["record", "p.toml", "--kernel", "6.12", "--dry-run"]));
    for (name, from, to) in [
        ("threads", "processes = 2", "threads = 2"),
        ("many-processes", "processes = 2", "processes = 64"),
        ("start", "\"10ms\"", "\"10us\""),
        ("inner-group", "memcg = \"pod/a\"", "memcg = \"pod\""),
        ("swap-high", "swap-max", "swap-high"),
        ("group-until", "min = ", "until = \"1s\", min = "),
        ("two-options", "[\"memory_rec", "[\"memory_localevents\", \"memory_rec"),
        ("oom_score_adj", "accesses = 5", "accesses = 5\noom_score_adj = 3"),
        ("second-task", "accesses = 6", "accesses = 6\nthink = \"1us\""),
    ] {
        assert!(GROUPS.contains(from), "{from}");
        f.write("p.toml", GROUPS.replacen(from, to, 1));
        golden.is(name, &f.mmsim(&["record", "p.toml", "--kernel", "6.12", "--dry-run"]));
    }
    f.write(
        "p.toml",
        "[machine]\nmemory = \"16MiB\"\n[[task]]\nworkload = \"kernel-alloc\"\norder = 0\n\
         attempts = 9\ninterval = \"1ms\"\n",
    );
    golden.is("workload", &f.mmsim(&["record", "p.toml", "--kernel", "6.12", "--dry-run"]));
    f.write("p.toml", PHASED);
    golden.is("kernel-of-no-version", &f.mmsim(&["record", "p.toml", "--kernel", "k612"]));
    golden.is("kernel-not-modelled", &f.mmsim(&["record", "p.toml", "--kernel", "6.2"]));
    std::fs::create_dir(f.path("empty")).expect("a folder");
    golden.is("folder-without-kernel", &f.mmsim(&["record", "p.toml", "--kernel", "empty"]));
}

/// Two processes at the same time, each in a group that is smaller than its memory. So reclaim has to
/// come from the groups' limits, and takes from each what it has above its limit, whatever it is
/// that the other does meanwhile.
#[test]
fn a_recording_in_groups() {
    let f = Folder::new();
    let keep = repository("evidence/scenarios").display().to_string();
    let scenario = repository("scenarios/suites/groups.toml").display().to_string();
    let args =
        ["record", &scenario, "--kernel", "6.12", "--set", "machine.cpus=1", "--keep", &keep];
    let said = f.mmsim(&[&args[..], &["--format", "json"]].concat());
    let v: serde_json::Value = serde_json::from_str(&said.stdout).expect(&said.stderr);
    let rows = v["points"].as_array().expect("rows");
    let of = |phase: &str, counter: &str| {
        let is = |r: &&serde_json::Value| r["phase"] == phase && r["counter"] == counter;
        let row = rows.iter().find(is).unwrap_or_else(|| panic!("{phase} {counter}"));
        ["recorded", "simulated"].map(|key| row[key].as_f64().expect("a number"))
    };
    for (phase, counter, share) in [
        ("populate even", "memory.current", 0.05),
        ("populate popular", "memory.current", 0.05),
        ("populate even", "memory.swap.current", 0.05),
        ("populate popular", "memory.swap.current", 0.05),
        ("access popular", "pgactivate", 0.1),
        ("access", "pswpin", 0.1),
    ] {
        let [recorded, simulated] = of(phase, counter);
        assert!(recorded > 500.0, "{phase} {counter}: {recorded}");
        assert!((simulated / recorded - 1.0).abs() < share, "{phase} {counter}: {simulated}");
    }
    let told = f.mmsim(&[&args[..], &["--decisions"]].concat());
    assert_eq!(told.code, Some(2));
    assert!(
        told.stderr.contains("has groups, whose decisions are not distinguished"),
        "{}",
        told.stderr
    );
}

/// A kept recording is replayed as `validate` replays it, without an emulator or a kernel, and the
/// table says of each value whether the kernel's repetitions enclose it.
#[test]
fn a_kept_recording() {
    let f = Folder::new();
    let keep = repository("evidence/scenarios").display().to_string();
    let scenario = repository("scenarios/fact-detection.toml").display().to_string();
    let of = |more: &[&str]| {
        let args = ["record", &scenario, "--kernel", "6.12", "--variant", "short", "--keep", &keep];
        f.mmsim(&[&args, more].concat())
    };
    let said = of(&["--brief"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    let first = "fact-detection short-classic-6.12: Linux 6.12.";
    assert!(said.stdout.starts_with(first), "{}", said.stdout);
    for row in ["loop-1", "loops-2-to-4", "counter ", "- 16,128 pages are free at the start"] {
        assert!(said.stdout.lines().any(|l| l.starts_with(row)), "{row}: {}", said.stdout);
    }
    let of_json = |said: &str| -> Vec<serde_json::Value> {
        let v: serde_json::Value = serde_json::from_str(said).expect("a document");
        v["points"].as_array().expect("points").clone()
    };
    let rows = of_json(&of(&["--format", "json"]).stdout);
    let folder = format!("{keep}/fact-detection");
    let args = ["validate", &folder, "--point", "short-classic-6.12", "--format", "json"];
    assert_eq!(of_json(&f.mmsim(&args).stdout), rows);
    // As many pages are swapped out before the loops, to within 5 %.
    let is = |r: &&serde_json::Value| r["phase"] == "populate" && r["counter"] == "pswpout";
    let row = rows.iter().find(is).expect("a row");
    let number = |key: &str| row[key].as_f64().expect("a number");
    assert!(number("recorded") > 20_000.0, "{row}");
    assert!((number("simulated") / number("recorded") - 1.0).abs() < 0.05, "{row}");
    // Decisions: those that were recorded, up to the phase that they were recorded up to.
    let decided = of(&["--brief", "--decisions"]);
    let with = decided.stdout.strip_prefix(&said.stdout).expect("the same table before");
    assert!(with.contains(" are as the kernel's, from what the kernel was given.\n"), "{with}");
    assert!(with.contains("\n- The first that differs: populate, call "), "{with}");
    // Other work under the same name is another recording.
    let golden = Golden::of("kept");
    let shown = |said: crate::harness::Said| {
        let stderr = said.stderr.replace(&keep, "KEEP");
        crate::harness::Said { stderr, ..said }
    };
    golden.is("other-phase", &shown(of(&["--decisions", "loops-2-to-4"])));
    golden.is("no-such-phase", &shown(of(&["--decisions", "loop-2"])));
    golden.is("other-script", &shown(of(&["--set", "task[0].steps[6].size=25MiB"])));
    std::fs::create_dir_all(f.path("k/lib/modules/6.12.5-mine")).expect("a folder");
    let other = ["record", &scenario, "--kernel", "k", "--variant", "short", "--keep", &keep];
    golden.is("other-kernel", &shown(f.mmsim(&other)));
    golden.is("other-memory", &shown(of(&["--set", "machine.memory=128MiB"])));
}

/// One line says what to install.
#[test]
fn a_machine_without_the_emulator() {
    let f = Folder::new();
    f.write("p.toml", PHASED);
    let mut command = f.command(&["record", "p.toml", "--kernel", "6.12"]);
    let said = command.env("PATH", f.path("")).output().expect("starting it");
    assert_eq!((said.status.code(), said.stdout.as_slice()), (Some(2), &b""[..]));
    let stderr = String::from_utf8(said.stderr).expect("text");
    assert_eq!(
        stderr.trim_end(),
        "mmsim-lab: error: to record, install a Rust toolchain qemu-system-x86 cpio kmod xz-utils \
         (this machine has no cargo, qemu-system-x86_64, cpio, depmod, xz)"
    );
    assert_eq!(f.names(), ["p.toml"]);
}
