//! From one file to its runs: order, overrides, and the resolved form.

use crate::harness::{Folder, scenario};
use mmsim::machines::Catalogue;
use mmsim::scenario::{KnobValue, WorkloadSpec};
use mmsim::{RunSpec, Scenario};
use mmsim_core::base::rules::{KernelRules, Scheduler};
use mmsim_core::base::settings::Settings as _;
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::{Kernel, ZoneKind};
use mmsim_workload::generators::{End, MemoryKind, Step};
use mmsim_workload::sampler::RankMap;

fn runs(text: &str) -> Vec<RunSpec> {
    scenario(text).expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"))
}

const BASE: &str = r#"
seed = 7
seeds = 2
[machine]
memory = "64MiB"
[reclaim]
anon-start = "active"
[[task]]
workload = "zipf"
memory = "100 pages"
accesses = 10
[[variant]]
name = "old"
kernel = "5.5"
[[variant]]
name = "new"
reclaim = { preset = "classic-v5.9", anon-start = "inactive", lazyfree = "tail" }
set = { "machine.vm.swappiness" = 100, "task[0].theta" = 0.5 }
[axes]
"machine.cpus" = [1, 2]
"task[0].memory" = ["1MiB", "2MiB"]
"#;

#[test]
fn axes_then_variants_then_seeds() {
    let runs = runs(BASE);
    let order: Vec<String> = runs
        .iter()
        .map(|r| {
            let axes: Vec<&str> = r.axes.iter().map(|a| a.1.as_str()).collect();
            format!("{} {} {}", axes.join(" "), r.variant, r.seed)
        })
        .collect();
    let mut expected = Vec::new();
    for cpus in ["1", "2"] {
        for memory in ["1MiB", "2MiB"] {
            for variant in ["old", "new"] {
                for seed in [7, 8] {
                    expected.push(format!("{cpus} {memory} {variant} {seed}"));
                }
            }
        }
    }
    assert_eq!(order, expected);
    let last = runs.last().expect("there are runs");
    assert_eq!(last.machine.cpus, 2);
    let WorkloadSpec::Zipf(z) = &last.tasks[0].work else { panic!("a zipf task") };
    assert_eq!((z.pages, z.theta, z.end), (512, 0.5, End::Work(10)));
    assert_eq!(last.axes[1].0, "task[0].memory");
}

#[test]
fn a_variant_sets_kernel_policy_and_keys() {
    let runs = runs(BASE);
    let (old, new) = (&runs[0], &runs[2]);
    assert_eq!(old.machine.kernel, Kernel::V5_5);
    assert_eq!(old.policy.preset, "classic-v5.5");
    assert_eq!(old.policy.knobs[0].value, KnobValue::Text("active".to_string()));
    assert_eq!(old.machine.vm.swappiness, 60);
    assert_eq!(new.machine.kernel, Kernel::V6_12);
    assert_eq!(new.policy.preset, "classic-v5.9");
    let knobs: Vec<String> =
        new.policy.knobs.iter().map(|k| format!("{}={}", k.key, k.value)).collect();
    assert_eq!(knobs, ["anon-start=inactive", "lazyfree=tail"]);
    assert_eq!(new.machine.vm.swappiness, 100);
}

/// Compaction follows the kernel of a variant as reclaim does: where the file asks for some, and not
/// where it asks for none or leaves that to the kernel. What the variant itself says comes last.
#[test]
fn a_variant_with_a_kernel_has_its_compaction() {
    let presets = |top: &str| -> Vec<String> {
        let task = "[[task]]\nworkload = \"uniform\"\nmemory = \"1MiB\"\nduration = \"5ms\"\n";
        let variants = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nkernel = \"6.12\"\n\
                        [[variant]]\nname = \"c\"\nkernel = \"5.9\"\n\
                        [[variant]]\nname = \"d\"\nkernel = \"6.12\"\n\
                        compaction = { preset = \"compaction-2015v3\" }\n";
        let machine = "[machine]\nkernel = \"4.1\"\nmemory = \"64MiB\"\n";
        let runs = scenario(&format!("{top}{machine}{task}{variants}"));
        let runs = runs.expand(&mmsim::machines::Catalogue).unwrap_or_else(|e| panic!("{e}"));
        runs.iter().map(|r| r.compaction.preset.clone()).collect()
    };
    let [base, v1] = ["compaction-v4.1", "compaction-2015v1-redesign"];
    let own = "compaction-2015v3";
    let given = |preset: &str| presets(&format!("compaction = {{ preset = \"{preset}\" }}\n"));
    assert_eq!(given(v1), [v1, "compaction-v6.12", "compaction-v6.1", own]);
    assert_eq!(given("none"), ["none", "none", "none", own]);
    assert_eq!(presets(""), [base, "none", "none", own]);
    use mmsim_compaction::config::{preset, preset_for_kernel};
    for kernel in Kernel::ALL {
        let named = preset(mmsim::scenario::policy::compaction_of(kernel));
        assert_eq!(named, Some(preset_for_kernel(kernel)), "{kernel:?}");
    }
}

#[test]
fn a_file_without_variants_runs_once_as_its_kernel() {
    let runs = runs(
        "[machine]\nkernel = \"6.1\"\nmemory = \"64MiB\"\n[[task]]\nworkload = \"uniform\"\nmemory = \"1MiB\"\nduration = \"5ms\"\n",
    );
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].variant.as_str(), runs[0].seed), ("default", 1));
    assert_eq!(runs[0].policy.preset, "classic-v6.1");
    let WorkloadSpec::Uniform(u) = &runs[0].tasks[0].work else { panic!("a uniform task") };
    assert_eq!(u.end, End::After(SimDuration::from_millis(5)));
    assert_eq!((&u.kind, u.map, u.windows), (&MemoryKind::Anon, RankMap::Scatter, 1));
}

#[test]
fn options_override_the_file() {
    let sets = [
        ("machine.kernel", "6.1"),
        ("machine.swap.size", "1GiB"),
        ("machine.swap.device", "{ read = \"80us\", write = \"20us\" }"),
        ("seeds", "1"),
        ("axes", "{}"),
        ("name", "other"),
    ]
    .map(|(k, v)| (k.to_string(), v.to_string()));
    let text = BASE.replace("[axes]\n", "").replace("\"machine.cpus\" = [1, 2]\n", "");
    let text = text.replace("\"task[0].memory\" = [\"1MiB\", \"2MiB\"]\n", "");
    let s = scenario(&text).with_sets(&sets).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(s.name(), "other");
    let runs = s.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[1].machine.kernel, Kernel::V6_1);
    let swap = runs[1].machine.swap.first().expect("swap was set");
    assert_eq!((swap.slots, swap.device.read), (262_144, SimDuration::from_micros(80)));
    assert_eq!(swap.device.name, "custom");
}

#[test]
fn nested_tables_work_as_overrides_too() {
    let text = BASE.replace(
        "set = { \"machine.vm.swappiness\" = 100, \"task[0].theta\" = 0.5 }",
        "set = { machine.vm.swappiness = 100, machine.swap = { size = \"1MiB\" } }",
    );
    let runs = runs(&text);
    assert_eq!(runs[2].machine.vm.swappiness, 100);
    assert_eq!(runs[2].machine.swap.first().map(|s| s.slots), Some(256));
    assert_eq!(runs[0].machine.swap, []);
}

/// The default of `thp_defrag` is that of the kernel: in the machine, in what reports say of it, and
/// in the resolved text, unless runs have different kernels.
#[test]
fn thp_defrag_is_the_kernels() {
    use mmsim::config::ThpDefrag::{Always, Madvise, Never};
    const KEY: &str = "machine.vm.thp_defrag";
    const TASK: &str = "[[task]]\nworkload = \"sequential\"\nmemory = \"1MiB\"\n";
    let text = |kernel: &str, more: &str| {
        format!("[machine]\nmemory = \"64MiB\"\nkernel = \"{kernel}\"\n{more}{TASK}")
    };
    for (kernel, more, defrag, word) in [
        ("4.1", "", Always, "\"always\""),
        ("5.5", "", Madvise, "\"madvise\""),
        ("7.3", "", Madvise, "\"madvise\""),
        ("4.1", "vm = { thp_defrag = \"never\" }\n", Never, "\"never\""),
    ] {
        let s = scenario(&text(kernel, more));
        let run = s.expand(&Catalogue).expect("runs").remove(0);
        assert_eq!(run.machine.vm.thp_defrag, defrag, "{kernel}");
        let given: Vec<_> = run.given.iter().filter(|(k, _)| k == KEY).collect();
        assert_eq!(given.len(), 1, "{kernel}");
        assert_eq!(given[0].1.trim_matches('"'), word.trim_matches('"'), "{kernel}");
        assert!(s.resolved().contains(&format!("thp_defrag = {word}\n")), "{}", s.resolved());
    }
    let both = text("4.1", "") + "[[variant]]\nname = \"new\"\nkernel = \"5.5\"\n";
    let resolved = scenario(&both).resolved();
    assert!(
        resolved.contains("# thp_defrag: ") && !resolved.contains("thp_defrag ="),
        "{resolved}"
    );
}

#[test]
fn machine_keys_arrive() {
    let text = r#"
[machine]
kernel = "6.1"
cpus = 4
lru-batch = 7
batch-shift = 2
tick = "1ms"
run-ahead = "0ns"
file-device = { read = "80us", write = "20us", servers = 2, bandwidth = "1.5GB/s" }
cost = { t_hit = "50ns" }
[machine.vm]
min_free_kbytes = 4096
read_ahead_kb = 64
fault_around_bytes = 4096
[[machine.node]]
[[machine.node.zone]]
kind = "DMA32"
managed = "1000 pages"
free-at-start = "900 pages"
min = "1 page"
low = "2 pages"
high = "3 pages"
lowmem-reserve = "5 pages"
pcp = { high = 20, batch = 4 }
[[machine.node]]
memory = "2MiB"
[[machine.memcg]]
name = "a"
low = "1MiB"
max = "2MiB"
high = "max"
[[task]]
name = "t"
workload = "phased"
processes = 3
memcg = "a"
start = "1ms"
regions = { cold = { pages = 10 }, log = { memory = "16KiB", kind = "read" } }
steps = [
    { do = "touch", region = "cold", first = "2 pages", passes = 3 },
    { do = "repeat", times = 2, steps = [{ do = "read", region = "log" }, { do = "records" }] },
]
"#;
    let runs = runs(text);
    let m = &runs[0].machine;
    assert_eq!((m.cpus, m.lru_batch, m.batch_shift), (4, Some(7), 2));
    assert_eq!((m.tick, m.run_ahead), (SimDuration::from_millis(1), SimDuration::ZERO));
    assert_eq!((m.file_device.servers, m.file_device.bandwidth), (2, Some(1_500_000_000)));
    assert_eq!(m.cost.t_hit, SimDuration::from_nanos(50));
    assert_eq!((m.vm.min_free_kbytes, m.vm.ra_pages, m.vm.fault_around), (Some(4096), 16, 1));
    let z = &m.nodes[0].zones[0];
    assert_eq!((z.kind, z.managed, z.free_at_start), (ZoneKind::Dma32, 1000, Some(900)));
    assert_eq!((z.watermarks, z.lowmem_reserve, z.pcp), (Some([1, 2, 3]), Some(5), Some((20, 4))));
    assert_eq!(m.nodes.len(), 2);
    assert_eq!((m.memcgs[0].low, m.memcgs[0].max, m.memcgs[0].high), (256, Some(512), None));
    let t = &runs[0].tasks[0];
    assert_eq!((t.name.as_str(), t.threads, t.processes), ("t", 1, 3));
    assert_eq!((t.memcg.as_deref(), t.start), (Some("a"), SimDuration::from_millis(1)));
    let WorkloadSpec::Phased(p) = &t.work else { panic!("a phased task") };
    assert_eq!((p.regions[0].name.as_str(), p.regions[1].pages), ("cold", 4));
    let Step::Touch { from, count, repeat, write, .. } = p.steps[0] else { panic!("a touch") };
    assert_eq!((from, count, repeat, write), (2, 8, 3, false));
    let Step::Repeat { times: 2, steps } = &p.steps[1] else { panic!("a repeat") };
    assert_eq!(steps[1], Step::Records(1));
}

#[test]
fn unnamed_tasks_get_names_of_their_own() {
    let task = "[[task]]\nworkload = \"cyclic\"\nmemory = \"1MiB\"\npasses = 1\n";
    let text = format!("[machine]\nmemory = \"64MiB\"\n{task}{task}{task}name = \"cyclic-2\"\n");
    let runs = runs(&text);
    let names: Vec<&str> = runs[0].tasks.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["cyclic", "cyclic-3", "cyclic-2"]);
}

#[test]
fn the_resolved_form_gives_the_same_runs() {
    let s = scenario(BASE);
    let text = s.resolved();
    let again = scenario(&text);
    assert_eq!(again.expand(&Catalogue), s.expand(&Catalogue), "{text}");
    assert_eq!(again.resolved(), text, "resolving twice changes nothing");
    for line in ["swappiness = 60", "t_hit = \"100ns\"", "tick = \"4ms\"", "name = \"x\""] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}

#[test]
fn an_axis_over_workloads_survives_resolving() {
    let text = "[machine]\nmemory = \"64MiB\"\n[[task]]\nworkload = \"zipf\"\nmemory = \"1MiB\"\naccesses = 5\n[axes]\n\"task[0].workload\" = [\"zipf\", \"uniform\"]\n";
    let s = scenario(text);
    let again = scenario(&s.resolved());
    assert_eq!(again.expand(&Catalogue), s.expand(&Catalogue));
}

#[test]
fn the_resolved_form_reads_like_a_scenario_file() {
    let s = scenario(
        "[machine]\nmemory = \"64MiB\"\nswap = { size = \"1GiB\" }\n[[task]]\nworkload = \"cyclic\"\nmemory = \"1MiB\"\npasses = 2\n[[variant]]\nname = \"a\"\nkernel = \"5.9\"\n",
    );
    let text = s.resolved();
    let head: Vec<&str> = text.lines().take(35).collect();
    assert_eq!(
        head.join("\n"),
        r#"schema = 1
name = "x"
about = ""
seed = 1
seeds = 1
expect-oom = false
bounds = false
# reclaim: the preset of `machine.kernel`
# compaction: `compaction-v4.1` on kernel 4.1, else `none`
# damon: none
# daemon: none
# pod: none
# axes: none
# expect: nothing

[machine]
kernel = "6.12"
memory = "64MiB"
cpus = 1
os-overhead = "0 pages"
swap = { size = "1GiB", device = "zram" }
file-device = "nvme"
batch-shift = 0
tick = "4ms"
run-ahead = "100us"
# zone: follows from `memory`
# node: one node
# zswap: it was never enabled
# disk: no other disk
# lru-batch: 15 up to kernel 6.1, 31 in 6.12
# stat-threshold: by CPUs and memory, as in the kernel
# pageblock-order: 9, as on x86
# cache-ext: none
# host: no host: memory is the machine's own
# memcg: the root alone"#
    );
}

#[test]
fn files_are_looked_for_beside_the_scenario() {
    let folder = Folder::with("web.trace", "");
    let text = "[machine]\nmemory = \"64MiB\"\n[[task]]\nworkload = \"replay\"\ntrace = \"web.trace\"\nmode = \"timed\"\n";
    let s = Scenario::from_path(folder.write("s.toml", text)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(s.name(), "s");
    let runs = s.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
    let WorkloadSpec::Replay(r) = &runs[0].tasks[0].work else { panic!("a replay") };
    assert_eq!(r.trace, folder.path("web.trace"));
}

#[test]
fn options_are_applied_before_anything_is_checked() {
    let text = "[machine]\n[[task]]\nworkload = \"cyclic\"\npasses = 1\nmemory = \"1MiB\"\n";
    let folder = Folder::new();
    let file = folder.write("s.toml", text);
    assert!(Scenario::from_path(&file).is_err(), "there is no memory");
    let sets = [("machine.memory".to_string(), "64MiB".to_string())];
    let s = Scenario::load(&file, &sets).unwrap_or_else(|e| panic!("{e}"));
    assert!(s.resolved().contains("memory = \"64MiB\""));
}

/// As many of a kind as have a number; the one beyond is the error.
#[test]
fn what_has_no_number_is_refused_at_its_line() {
    let refused = |text: &str| {
        let expanded = Scenario::from_str(text, "x.toml").and_then(|s| s.expand(&Catalogue));
        let e = expanded.unwrap_err().to_string();
        e.lines().take(2).collect::<Vec<_>>().join("\n")
    };
    let task = "[[task]]\nworkload = \"sequential\"\nmemory = \"1MiB\"\n";
    let nodes = |n: usize| {
        let nodes = "[[machine.node]]\nmemory = \"2MiB\"\n".repeat(n);
        format!("name = \"x\"\n[machine]\n{nodes}{task}")
    };
    assert_eq!(runs(&nodes(255))[0].machine.nodes.len(), 255);
    assert_eq!(
        refused(&nodes(256)),
        "error: machine.node[255].memory: with this node there are 256 zones, write nodes of at \
         most 255 zones in all\n   --> x.toml:514:10"
    );
    let tasks = |n: usize| {
        let task = task.replace("[[task]]\n", "[[task]]\nprocesses = 1024\nname = \"NAME\"\n");
        let tasks: String = (0..n).map(|i| task.replace("NAME", &format!("t{i}"))).collect();
        format!("name = \"x\"\n[machine]\nmemory = \"64MiB\"\n{tasks}")
    };
    assert_eq!(runs(&tasks(63))[0].tasks.len(), 63);
    assert_eq!(
        refused(&tasks(64)),
        "error: task[63].processes: with this task there are 65536 processes, write fewer: at \
         most 65535 of all tasks\n   --> x.toml:320:13"
    );
    let monitors = |n: usize| {
        let damon = "[[damon]]\nops = \"paddr\"\n".repeat(n);
        format!("name = \"x\"\n[machine]\nmemory = \"64MiB\"\n{task}{damon}")
    };
    assert_eq!(runs(&monitors(256))[0].damon.len(), 256);
    assert_eq!(
        refused(&monitors(257)),
        "error: damon[256].ops: more than 256 monitors, write fewer of them\n   --> x.toml:520:7"
    );
}

/// A rule is set over those of the kernel, whichever a run has. All of them are in the report, and
/// `--dry-run` notes those that the file leaves to its kernel.
#[test]
fn rules_are_set_over_those_of_the_kernel() {
    let task = "[[task]]\nworkload = \"uniform\"\nmemory = \"1MiB\"\nduration = \"5ms\"\n";
    let machine = "[machine]\nmemory = \"64MiB\"\nrules = { scheduler = \"cfs\" }\n";
    let axes = "[axes]\n\"machine.rules.lru-batch\" = [15, 20]\n";
    let variants = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nkernel = \"5.9\"\n";
    let all = runs(&format!("{machine}{task}{axes}{variants}"));
    let rules: Vec<_> = all.iter().map(|r| r.machine.kernel_rules()).collect();
    let lru_batch: Vec<u32> = rules.iter().map(|r| r.lru_batch).collect();
    assert_eq!(lru_batch, [15, 15, 20, 20]);
    assert!(rules.iter().all(|r| r.scheduler == Scheduler::Cfs));
    assert_eq!(
        rules.iter().map(|r| r.merge_retypes).collect::<Vec<_>>(),
        [true, false, true, false]
    );
    let told = |run: &RunSpec, name: &str| {
        let found = run.given.iter().find(|g| g.0 == format!("machine.rules.{name}"));
        found.unwrap_or_else(|| panic!("{name} is not told")).1.clone()
    };
    for rule in KernelRules::ROWS {
        assert_eq!(Some(told(&all[3], rule.name)), rules[3].get(rule.name), "{}", rule.name);
    }

    let alone = scenario(&format!("{machine}{task}"));
    let text = alone.resolved();
    let (_, section) = text.split_once("[machine.rules]\n").expect("the table");
    assert!(section.starts_with("scheduler = \"cfs\"\n# wmark-form: one-block\n"), "{section}");
    assert_eq!(scenario(&text).expand(&Catalogue), alone.expand(&Catalogue));
    // Of no use where each run has a kernel of its own.
    let several = scenario(&format!("{machine}{task}{variants}")).resolved();
    assert!(!several.contains("wmark-form"), "{several}");
    // What the kernel has anyway is no other machine.
    let same = machine.replace("\"cfs\"", "\"eevdf\"");
    assert_eq!(runs(&format!("{same}{task}"))[0].machine.rules, None);
}

/// The name of an entry stands for its number: a group, a task and a monitor's like, in `--set`, in
/// axes and in variants. Points within brackets are the name's.
#[test]
fn an_entry_is_set_by_its_name() {
    let text = |first: &str, second: &str| {
        format!(
            "[machine]\nmemory = \"64MiB\"\nmemcg = [{{ name = \"a.slice\" }}, \
             {{ name = \"a.slice/pod\", count = 2 }}]\n\
             [[task]]\nname = \"web\"\nworkload = \"zipf\"\nmemory = \"1MiB\"\naccesses = 10\n\
             [axes]\n\"machine.memcg[{first}].high\" = [\"8MiB\", \"max\"]\n\
             [[variant]]\nname = \"v\"\nset = {{ \"task[{second}].theta\" = 0.5 }}\n"
        )
    };
    let of = |text: String, set: &str| {
        let set = (format!("machine.memcg[{set}].low"), "4MiB".to_string());
        let scenario = scenario(&text).with_sets(&[set]).unwrap_or_else(|e| panic!("{e}"));
        let runs = scenario.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
        runs.into_iter().map(|run| (run.machine, run.tasks)).collect::<Vec<_>>()
    };
    let named = of(text("a.slice", "web"), "a.slice/pod");
    assert!(named == of(text("0", "0"), "1"));
    let lows = |i: usize| named[i].0.memcgs.iter().map(|g| g.low).collect::<Vec<_>>();
    assert_eq!(lows(0), [0, 1024, 1024]);
    assert_eq!(named[0].0.memcgs[0].high, Some(2048));
    // One of the two groups that an entry makes has no entry of its own.
    let one = ("machine.memcg[a.slice/pod-0].low".to_string(), "4MiB".to_string());
    let error = scenario(&text("0", "0")).with_sets(&[one]).expect_err("there is none");
    assert!(error.to_string().contains("no entry with name = \"a.slice/pod-0\""), "{error}");
}
