//! MGLRU through the facade: the bound that no policy can pass, the generations in reports, kills
//! for the working set, and messages on mistakes about policies.

use crate::harness;
use mmsim::machines::Catalogue;
use mmsim::report::{GenerationReport, Report};
use mmsim::{RunOptions, Scenario};
use std::fmt::Write as _;

const PRESETS: [&str; 6] = [
    "mglru-v6.1",
    "mglru-v6.7-pre",
    "mglru-v6.8-post",
    "mglru-v6.12-rc",
    "mglru-v6.12",
    "mglru-v6.14",
];

/// Accesses, on frames for three quarters of the pages: the task, and true if it is anonymous.
const WORK: [(&str, &str, bool); 5] = [
    ("zipf", "workload = \"zipf\"\ntheta = 0.8\naccesses = 120000\nwrite-permille = 200", true),
    ("uniform", "workload = \"uniform\"\naccesses = 60000\nwrite-permille = 500", true),
    ("cycle", "workload = \"sequential\"\npasses = 6\nwrite = true", true),
    ("read", "workload = \"zipf\"\nregion = \"read\"\ntheta = 0.9\naccesses = 120000", false),
    (
        "mapped",
        "workload = \"zipf\"\nregion = \"file-shared\"\ntheta = 0.6\naccesses = 90000",
        false,
    ),
];

fn bounded(task: &str) -> Report {
    let mut text = format!(
        "schema = 1\nname = \"bound\"\nseed = 1\nbounds = true\n[machine]\nmemory = \"24MiB\"\n\
         swap = {{ size = \"64MiB\", device = \"zram\" }}\n\
         vm = {{ page-cluster = 0, read_ahead_kb = 0, fault_around_bytes = 4096 }}\n\
         [[task]]\nmemory = \"32MiB\"\n{task}\n"
    );
    for p in PRESETS {
        text += &format!("[[variant]]\nname = \"{p}\"\nreclaim = {{ preset = \"{p}\" }}\n");
    }
    harness::report(&text)
}

#[test]
fn no_preset_passes_the_optimum_and_generations_add_up() {
    for (work, task, anon) in WORK {
        let report = bounded(task);
        assert_eq!(report.runs.len(), PRESETS.len());
        for run in &report.runs {
            let name = format!("{work}, {}", run.variant);
            let bounds = run.bounds.as_ref().expect("asked for");
            let (least, first) =
                (bounds.sim_opt_refetches, bounds.sim_opt_misses - bounds.sim_opt_refetches);
            let count = |c| *run.vmstat.get(c).unwrap();
            // Of a file the first reads count as well, a page of it as four.
            let again = if anon { count("pswpin") } else { count("pgpgin") / 4 - first };
            assert!(bounds.exact && least > 1000, "{name}: a bound that says something: {least}");
            assert!(again >= least, "{name}: {again} read again, MIN has {least}");
            let phase = run.phases.last().expect("a phase");
            let gauge = |name: String| *phase.gauges.get(&name).unwrap();
            let generations = &phase.lru_gen;
            assert!((2..=4).contains(&generations.len()), "{name}: {generations:?}");
            assert!(generations.windows(2).all(|g| g[0].seq + 1 == g[1].seq));
            assert!(generations.windows(2).all(|g| g[0].age_ms >= g[1].age_ms));
            for kind in ["anon", "file"] {
                let of = |g: &GenerationReport| if kind == "anon" { g.nr_anon } else { g.nr_file };
                let active: u64 = generations.iter().rev().take(2).map(of).sum();
                let all: u64 = generations.iter().map(of).sum();
                assert_eq!(active, gauge(format!("nr_active_{kind}")), "{name}");
                assert_eq!(all - active, gauge(format!("nr_inactive_{kind}")), "{name}");
            }
        }
    }
}

/// Several processes and threads that want far more than there is, with a time to live, written so
/// that the largest is killed again and again while the others reclaim.
fn crowd(cpus: u32, device: &str, ttl: u32, seed: u64) -> Report {
    let mut text = format!(
        "schema = 1\nname = \"crowd\"\nseed = {seed}\nexpect-oom = true\n\
         reclaim = {{ preset = \"mglru-v6.12\", min-ttl-ms = {ttl} }}\n[machine]\nkernel = \"6.12\"\n\
         memory = \"64MiB\"\ncpus = {cpus}\nswap = {{ size = \"64MiB\", device = \"{device}\" }}\n"
    );
    for (i, threads) in [1, 3, 2, 1, 2, 4].into_iter().enumerate() {
        text += &format!(
            "[[task]]\nname = \"t{i}\"\nworkload = \"zipf\"\nthreads = {threads}\nmemory = \"{}MiB\"\n\
             theta = 0.5\naccesses = 40000\nwrite-permille = 500\n",
            20 + 3 * i
        );
    }
    let options = RunOptions::default().with_jobs(1).with_check(true);
    mmsim::run(&harness::scenario(&text), &options)
        .unwrap_or_else(|e| panic!("{cpus} CPUs, {device}, {ttl} ms, seed {seed}: {e}"))
}

/// kswapd kills for the sake of the working set while a thread reclaims directly and has given way
/// to it; the victim may be that very thread, with a fault half done. It dies when its step is over.
#[test]
fn a_kill_for_the_working_set_may_hit_who_reclaims() {
    let mut killed = 0;
    for cpus in [1, 2, 4] {
        for (device, ttl) in [("zram", 5), ("zram", 40), ("nvme", 20), ("nvme", 80)] {
            for run in &crowd(cpus, device, ttl, 1).runs {
                killed += *run.vmstat.get("oom_kill").unwrap();
            }
        }
    }
    assert!(killed > 12, "{killed} were killed");
}

/// A small machine, and a workload with half as much again as fits, which begins when the first
/// generations are older than 1 ms. With such a time to live no process is to be killed: priority
/// 12 alone would find every group too small for a scan, and so nothing to take. With one of an
/// hour a process is, at the first pass that checks.
#[test]
fn a_time_to_live_that_is_over_kills_nobody() {
    let killed = |ttl: u32| {
        let mut text = String::from(
            "schema = 1\nname = \"ttl\"\nseed = 1\nexpect-oom = true\n[machine]\nmemory = \"24MiB\"\n\
             swap = { size = \"64MiB\", device = \"zram\" }\nvm = { watermark_boost_factor = 0 }\n\
             [[task]]\nstart = \"50ms\"\nworkload = \"zipf\"\nmemory = \"32MiB\"\ntheta = 0.8\n\
             accesses = 60000\nwrite-permille = 200\n",
        );
        for p in PRESETS {
            text += &format!(
                "[[variant]]\nname = \"{p}\"\nreclaim = {{ preset = \"{p}\", min-ttl-ms = {ttl} }}\n"
            );
        }
        let runs = harness::report(&text).runs;
        let of = |c: &str| runs.iter().map(|r| *r.vmstat.get(c).unwrap()).collect::<Vec<_>>();
        (of("oom_kill"), of("pswpin"))
    };
    let (nobody, swapped_in) = killed(1);
    // Asked is the oldest generation of files. In 6.14 it does not wait for anonymous memory, and
    // where there are no files it is as young as the last aging: sooner or later two are near.
    assert_eq!(nobody[..5], [0; 5], "{swapped_in:?}");
    assert!(swapped_in[..5].iter().all(|&n| n > 10_000), "under pressure: {swapped_in:?}");
    assert!(swapped_in[5] > 500, "not at once: {swapped_in:?}");
    assert_eq!(killed(3_600_000).0, [1; 6]);
}

/// Remarks on a scenario with these policies.
fn said(reclaim: &str) -> String {
    let text = format!(
        "schema = 1\nname = \"x\"\nseed = 1\nreclaim = {{ {reclaim} }}\n[machine]\nmemory = \"24MiB\"\n\
         [[task]]\nworkload = \"sequential\"\nmemory = \"1MiB\"\n"
    );
    let runs = Scenario::from_str(&text, "x.toml").and_then(|s| s.expand(&Catalogue));
    match runs {
        Ok(_) => "accepted".into(),
        Err(e) => {
            assert!(e.position().is_some_and(|p| p.1 == 4), "{e}");
            assert_eq!(e.kind().exit_code(), 2);
            e.to_string().lines().next().unwrap_or_default().into()
        }
    }
}

#[test]
fn mistakes_about_policies_are_answered_with_what_to_write() {
    assert_eq!(said("preset = \"classic-v6.12\", lazyfree = \"tail\""), "accepted");
    assert_eq!(said("preset = \"mglru-v6.12\", lazyfree = \"tail\""), "accepted");
    for value in ["base", "list-v2", "list_v2", "list-fixed", "list_fixed", "off"] {
        let dashed = value.replace('_', "-");
        assert_eq!(
            said(&format!("preset = \"classic-v6.12\", lazyfree = \"{value}\"")),
            format!(
                "error: reclaim.lazyfree: unknown value \"{value}\", write one of \
                 \"classic\", \"tail\", \"own-list-2015a\", \"own-list-2015a-fixed\", \
                 \"own-list-2015b\"; \"{dashed}\" is a value of MGLRU's"
            )
        );
    }
    assert_eq!(
        said("preset = \"mglru-v6.12\", lazyfree = \"classic\""),
        "error: reclaim.lazyfree: unknown value \"classic\", write one of \"base\", \"tail\", \
         \"list-v2\", \"list-fixed\", \"list-oldest\", \"off\"; \"classic\" is a value of the classic LRU's"
    );
    assert_eq!(
        said("preset = \"random\", lazyfree = \"tail\""),
        "error: reclaim (random): \"lazyfree\" is no knob of this policy"
    );
    assert_eq!(
        said("preset = \"classic-v6.12\", min-ttl-ms = 5"),
        "error: reclaim (classic-v6.12): \"min-ttl-ms\" is no knob of this policy"
    );
    assert_eq!(
        said("preset = \"mglru-v6.8\""),
        "error: reclaim: unknown preset `mglru-v6.8`, did you mean `mglru-v6.8-post`?"
    );
    assert_eq!(
        said("preset = \"mglru-v6.7\""),
        "error: reclaim: unknown preset `mglru-v6.7`, did you mean `mglru-v6.7-pre`?"
    );
}

/// Generations are shown of every group: its sizes are those of its own processes.
#[test]
fn reports_have_the_generations_of_every_group() {
    let text = "schema = 1\nname = \"groups\"\nseed = 1\nreclaim = { preset = \"mglru-v6.12\" }\n[machine]\n\
        memory = \"64MiB\"\nswap = { size = \"64MiB\", device = \"zram\" }\n\
        memcg = [{ name = \"a\" }, { name = \"b\", max = \"4MiB\" }]\n\
        [[task]]\nname = \"in-a\"\nworkload = \"sequential\"\nmemory = \"2MiB\"\nwrite = true\nmemcg = \"a\"\n\
        [[task]]\nname = \"in-b\"\nworkload = \"sequential\"\nmemory = \"8MiB\"\nwrite = true\nmemcg = \"b\"\n";
    let report = harness::report(text);
    let generations = &report.runs[0].phases.last().expect("a phase").lru_gen;
    let names: Vec<&str> = generations.iter().map(|g| g.memcg.as_str()).collect();
    assert!(names.is_sorted(), "the root, then the others: {names:?}");
    let pages = |name: &str| -> u64 {
        let of_group = generations.iter().filter(|g| g.memcg == name);
        assert!((2..=4).contains(&of_group.clone().count()), "{name}: {names:?}");
        of_group.map(|g| g.nr_anon).sum()
    };
    assert_eq!(pages(""), 0);
    let (a, b) = (pages("a"), pages("b"));
    assert!(b > 0 && b <= 1024, "{a} {b}");
    let json = serde_json::to_value(generations).expect("JSON");
    assert_eq!(
        (json[0].get("memcg"), &json[json.as_array().unwrap().len() - 1]["memcg"]),
        (None, &serde_json::json!("b"))
    );
}

/// In hundreds of groups the end of a phase shows the root and the group of its task: its size does
/// not grow with all groups.
#[test]
fn phases_in_hundreds_of_groups_show_their_own() {
    let mut text = String::from(
        "schema = 1\nname = \"groups\"\nseed = 1\nreclaim = { preset = \"mglru-v6.12\" }\n\
         [machine]\nmemory = \"64MiB\"\nswap = { size = \"64MiB\", device = \"zram\" }\n",
    );
    for i in 0..300 {
        writeln!(text, "[[machine.memcg]]\nname = \"g{i}\"").expect("text");
    }
    for i in 0..300 {
        let work = "workload = \"sequential\"\nmemory = \"16KiB\"\nwrite = true";
        writeln!(text, "[[task]]\nname = \"t{i}\"\nmemcg = \"g{i}\"\n{work}").expect("text");
    }
    let report = harness::report(&text);
    let phases = &report.runs[0].phases;
    assert!(phases.len() >= 300, "{}", phases.len());
    for phase in phases {
        let task = &phase.task.as_ref().expect("the phase of a task").name;
        let mut names: Vec<&str> = phase.lru_gen.iter().map(|g| g.memcg.as_str()).collect();
        names.dedup();
        assert_eq!(names, ["", &task.replace('t', "g")], "{}", phase.name);
    }
}
