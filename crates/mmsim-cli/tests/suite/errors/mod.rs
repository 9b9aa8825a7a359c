//! Messages of the program on errors, and its exit codes: 2 for input, 1 for aims that a task
//! missed, 3 for a simulated system that ended early.
//!
//! Mistakes in scenarios are held word by word in `tests/scenario/errors`; here is a handful of
//! each kind, and what only the program can say. The texts are in `tests/errors`, a file for a
//! test; `MMSIM_BLESS=1` rewrites them, to be read as a difference.

mod ablate;
mod compare;
mod evaluations;
mod events;
mod sweeps;
mod traces;
pub(crate) mod tunes;
mod views;
mod why;

use crate::golden::Golden;
use crate::harness::{Folder, repository};

/// A scenario that is right; each case changes one line.
const GOOD: &str = "\
name = \"x\"
seed = 1

[machine]
memory = \"16MiB\"
cpus = 1
swap = { size = \"64MiB\", device = \"zram\" }

[[task]]
workload = \"sequential\"
memory = \"8MiB\"
";

/// Mistakes of each kind: `--dry-run` says of them what a run says, and nothing is written.
#[test]
fn mistakes_in_scenarios() {
    let golden = Golden::of("scenarios");
    let work = "workload = \"sequential\"\nmemory = \"8MiB\"\n";
    let key = |name, keys: &str| (name, GOOD.replacen("cpus = 1\n", keys, 1));
    let task = |name, keys: &str| (name, GOOD.replacen(work, keys, 1));
    let further = |name, keys: &str| (name, format!("{GOOD}\n{keys}\n"));
    for (name, scenario) in [
        key("unknown-key", "cpu = 1\n"),
        key("no-toml", "cpus = = 1\n"),
        further("unknown-preset", "[reclaim]\npreset = \"classic-v6.21\""),
        further("monitor", "[[damon]]\nops = \"vaddr\"\ntask = \"sequential-2\""),
        further("expectation", "[[expect]]\nfigure = \"damon[0].samples\"\nabove = 0"),
        task("commands", "workload = \"script\"\ncommands = [\"anon 0 10\", \"watch\"]\n"),
        task(
            "steps",
            "workload = \"phased\"\nregions = { a = { pages = 9 } }\nsteps = [\n    \
             { do = \"allocate\", region = \"a\" },\n    { do = \"repeat\", times = 2, steps = [\n        \
             { do = \"free\", region = \"a\" },\n    ] },\n]\n",
        ),
        task("no-file", "workload = \"replay\"\ntrace = \"nothing.mmt\"\n"),
        task("no-trace", "workload = \"replay\"\ntrace = \"x.toml\"\n"),
        task("too-much", "workload = \"fragment\"\nmemory = \"32MiB\"\nkeep-permille = 750\n"),
    ] {
        let f = Folder::new();
        f.write("x.toml", &scenario);
        let dry = f.mmsim(&["run", "x.toml", "--dry-run"]);
        golden.is(name, &dry);
        let said = f.mmsim(&["run", "x.toml", "-o", "report"]);
        assert_eq!((dry.code, &dry.stderr), (Some(2), &said.stderr), "{name}");
        assert_eq!((dry.stdout.as_str(), f.names()), ("", vec!["x.toml".to_string()]), "{name}");
    }
}

/// No bad input: everything is written, and the target was missed.
#[test]
fn a_target_out_of_reach() {
    let golden = Golden::of("target");
    let f = Folder::new();
    let work = "workload = \"sequential\"\nmemory = \"8MiB\"";
    let target = "workload = \"fragment\"\npause = \"0ns\"\ntarget = { order = 3, index = 300 }";
    f.write("x.toml", GOOD.replacen(work, target, 1));
    let said = f.mmsim(&["run", "x.toml", "-o", "report"]);
    golden.is("fragment-target-out-of-reach", &said);
    assert_eq!((said.code, f.names()), (Some(1), vec!["report".into(), "x.toml".into()]));
}

#[test]
fn the_scenario_is_right_as_it_is() {
    let f = Folder::new();
    f.write("x.toml", format!("{GOOD}write = true\n"));
    let said = f.mmsim(&["run", "x.toml", "--check"]);
    assert_eq!((said.code, said.stderr.lines().count()), (Some(0), 1), "{}", said.stderr);
    assert!(said.stderr.starts_with("mmsim: no run reclaimed a page: "), "{}", said.stderr);
    let said = f.mmsim(&["run", "x.toml", "--check", "--format", "json"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
}

/// Expectations of a scenario decide the exit code; those of one that options changed are reported
/// and do not.
#[test]
fn expectations() {
    let golden = Golden::of("expectations");
    let f = Folder::new();
    // Lists that are long enough for no remark on them.
    let good = GOOD.replace("8MiB", "24MiB").replace("16MiB", "20MiB");
    let expect = |figure: &str| {
        format!("{good}write = true\n\n[[expect]]\nfigure = \"{figure}\"\nabove = 1000\n")
    };
    f.write("x.toml", expect("pswpout"));
    let said = f.mmsim(&["run", "x.toml", "-o", "report"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    f.write("x.toml", expect("pswpin"));
    let said = f.mmsim(&["run", "x.toml", "--format", "json", "-o", "report"]);
    golden.is("expected-otherwise", &said);
    assert_eq!(said.code, Some(1));
    let report: serde_json::Value = serde_json::from_str(&f.read("report")).unwrap();
    assert_eq!(report["expect"][0]["holds"], false);
    assert_eq!(report["expect"][0]["expected"], "pswpin above 1,000");
    let said = f.mmsim(&["run", "x.toml", "-o", "report", "--set", "task[0].memory=25MiB"]);
    golden.is("expected-otherwise-of-another", &said);
    assert_eq!(said.code, Some(0));
}

/// Runs that say nothing about what they are to show say so, once for all of them.
#[test]
fn runs_that_do_nothing() {
    let golden = Golden::of("idle");
    let f = Folder::new();
    let variants = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
                    set = { \"machine.vm.swappiness\" = 100 }\n";
    f.write("x.toml", format!("{}\n{variants}", GOOD.replace("seed = 1", "seed = 1\nseeds = 2")));
    let said = f.mmsim(&["run", "x.toml", "--format", "json", "-o", "report"]);
    golden.is("runs-that-do-nothing", &said);
    assert_eq!(said.code, Some(0));
    let report: serde_json::Value = serde_json::from_str(&f.read("report")).unwrap();
    let notes: Vec<&str> =
        report["notes"].as_array().unwrap().iter().filter_map(|n| n.as_str()).collect();
    assert_eq!(notes.len(), 4, "{notes:?}");
    let lines: Vec<&str> = said.stderr.lines().map(|l| l.trim_start_matches("mmsim: ")).collect();
    assert_eq!(lines, notes);
}

#[test]
fn files_that_are_no_scenarios() {
    let golden = Golden::of("files");
    let f = Folder::new();
    let run = |name: &str, content: &[u8]| {
        f.write("x.toml", content);
        let said = f.mmsim(&["run", "x.toml", "-o", "report"]);
        golden.is(name, &said);
        assert_eq!((said.code, f.names()), (Some(2), vec!["x.toml".to_string()]), "{name}");
    };
    run("empty-file", b"");
    run("latin-1", b"name = \"caf\xe9\"\n");
    run("utf-16", b"\xff\xfen\0a\0");
    run("json-for-toml", b"{\n  \"name\": \"x\"\n}\n");
    run("trace-for-scenario", &std::fs::read(repository("traces/sort.mmt")).expect("a trace"));
    run("compressed", b"\x1f\x8b\x08\0\0\0\0\0");
    std::fs::create_dir(f.path("dir")).expect("a folder");
    golden.is("folder-for-scenario", &f.mmsim(&["run", "dir"]));
}

#[test]
fn results_over_inputs_and_over_each_other() {
    let golden = Golden::of("inputs");
    let f = Folder::new();
    f.write("x.toml", GOOD);
    f.write("p.txt", "R 1\n");
    let refused = |name: &str, args: &[&str]| {
        let said = f.mmsim(args);
        golden.is(name, &said);
        assert_eq!((said.code, f.read("x.toml").as_str()), (Some(2), GOOD), "{name}");
        assert_eq!(f.names(), ["p.txt", "x.toml"]);
    };
    refused("output-over-scenario", &["run", "x.toml", "-o", "x.toml"]);
    refused("output-over-scenario-by-another-way", &["run", "x.toml", "--series", "./x.toml"]);
    refused("one-file-twice", &["run", "x.toml", "--events", "e", "--series", "e"]);
    refused("stdout-twice", &["run", "x.toml", "--events", "-", "--series", "-"]);
    refused("stdout-of-the-report", &["run", "x.toml", "--events", "-"]);
    refused("events-of-no-size", &["run", "x.toml", "--events", "e", "--events-limit", "0"]);
    refused("limit-of-no-events", &["run", "x.toml", "--events-limit", "1MiB"]);
    refused("interval-of-no-series", &["run", "x.toml", "--every", "1ms"]);
    refused("kinds-to-nowhere", &["run", "x.toml", "--emit", "vmstat"]);
    refused("folder-of-no-kind", &["run", "x.toml", "--emit-dir", "d"]);
    refused("bench-over-trace", &["bench-trace", "p.txt", "--frames", "64", "-o", "p.txt"]);
    refused("import-over-itself", &["trace", "import", "--from", "pages", "p.txt", "-o", "p.txt"]);
    assert_eq!(f.read("p.txt"), "R 1\n");
    // Two results may go to the same device.
    let said = f.mmsim(&["run", "x.toml", "-o", "/dev/null", "--series", "/dev/null"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
fn numbers_on_the_command_line() {
    let golden = Golden::of("numbers");
    let f = Folder::new();
    f.write("x.toml", GOOD);
    golden.is("negative-seed", &f.mmsim(&["run", "x.toml", "--seed", "-1"]));
    golden.is("huge-seed-option", &f.mmsim(&["run", "x.toml", "--seed", "99999999999999999999"]));
    golden.is("negative-jobs", &f.mmsim(&["run", "x.toml", "--jobs", "-1"]));
    golden.is("many-seeds", &f.mmsim(&["run", "x.toml", "--seeds", "10001"]));
    // More jobs than runs are no more threads.
    assert_eq!(f.mmsim(&["run", "x.toml", "--jobs", "100000"]).code, Some(0));
}

#[test]
fn names_of_verbs() {
    let golden = Golden::of("verbs");
    let f = Folder::new();
    golden.is("man-of-no-verb", &f.mmsim(&["man", "rnu"]));
    golden.is("man-of-no-verb-of-trace", &f.mmsim(&["man", "trace", "run"]));
    golden.is("man-to-no-folder", &f.mmsim(&["man", "--dir", "nowhere"]));
    golden.is("unknown-verb-of-trace", &f.mmsim(&["trace", "imprt"]));
    golden.is("unknown-option", &f.mmsim(&["sweep", "merge", "p.toml", "--stroe", "s"]));
    golden.is("no-verb-of-trace", &f.mmsim(&["trace"]));
    golden.is("list-of-nothing", &f.mmsim(&["list"]));
    golden.is("no-such-list", &f.mmsim(&["list", "policies"]));
    golden.is("verb-of-the-lab", &f.mmsim(&["validate", "my kernels", "--quick"]));
    golden.is("verb-of-the-lab-alone", &f.mmsim(&["reproduce"]));
    golden.is("help-of-a-verb-of-the-lab", &f.mmsim(&["accuracy", "--help"]));
    golden.is("help-on-a-verb-of-the-lab", &f.mmsim(&["help", "validate"]));
    golden.is("man-of-a-verb-of-the-lab", &f.mmsim(&["man", "validate"]));
    golden.is("man-of-nearly-a-verb-of-the-lab", &f.mmsim(&["man", "reprodcue"]));
    golden.is("help-on-no-verb-of-trace", &f.mmsim(&["help", "trace", "imprt"]));
    golden.is("no-such-shell", &f.mmsim(&["completions", "csh"]));
}

/// The error names each kind of file where another is wanted, and the verb that takes it.
#[test]
fn kinds_of_files() {
    let golden = Golden::of("kinds");
    let f = Folder::new();
    f.write("scenario.toml", GOOD);
    f.write("sweep.toml", "version = 1\nscenarios = [\"scenario.toml\"]\n");
    f.write("tune.toml", "version = 1\nscenario = \"scenario.toml\"\n");
    f.write("suite.toml", "version = 1\n[[scenario]]\nfile = \"scenario.toml\"\n");
    f.write("knobs.toml", "version = 1\n[set]\n\"machine.vm.swappiness\" = 1\n");
    for (kind, before) in [
        ("scenario", &["run"][..]),
        ("sweep", &["sweep"]),
        ("tune", &["tune"]),
        ("suite", &["evaluate", "--policy", "knobs.toml", "--suite"]),
        ("knobs", &["evaluate", "--suite", "suite.toml", "--policy"]),
    ] {
        for other in ["scenario", "sweep", "tune", "suite", "knobs"] {
            if other != kind {
                let said = f.mmsim(&[before, &[&format!("{other}.toml")]].concat());
                golden.is(&format!("{other}-for-{kind}"), &said);
                assert_eq!(said.code, Some(2), "{other} for {kind}");
            }
        }
    }
}

/// A stage stands on 5.5. On another kernel it is no mistake, and the table says so.
#[test]
fn a_stage_on_another_kernel_is_printed() {
    let f = Folder::new();
    let stage = "[reclaim]\npreset = \"classic-seed-3\"\n\n[[task]]";
    f.write(
        "x.toml",
        GOOD.replace("[[task]]", stage).replace("cpus = 1", "cpus = 1\nkernel = \"6.12\""),
    );
    let said = f.mmsim(&["run", "x.toml"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for line in ["kernel  6.12, 1 CPU", "policy  classic-seed-3"] {
        assert!(said.stdout.lines().any(|l| l == line), "{line}: {}", said.stdout);
    }
}

#[test]
fn names_on_the_command_line() {
    let golden = Golden::of("names");
    let f = Folder::new();
    f.write("x.toml", GOOD);
    golden.is("unknown-variant", &f.mmsim(&["run", "x.toml", "--variant", "v7"]));
    golden.is("misspelt-variant", &f.mmsim(&["run", "x.toml", "--variant", "defualt"]));
    golden.is("misspelt-verb", &f.mmsim(&["vaildate"]));
    golden.is("misspelt-option", &f.mmsim(&["run", "x.toml", "--varaint", "v7"]));
    golden.is("misspelt-format", &f.mmsim(&["run", "x.toml", "--format", "jsn"]));
    golden.is(
        "misspelt-trace-format",
        &f.mmsim(&["trace", "import", "--from", "cvs", "x.toml", "-o", "x.mmt"]),
    );
    golden.is("seeds-in-words", &f.mmsim(&["run", "x.toml", "--seeds", "five"]));
    golden.is("seeds-of-nothing", &f.mmsim(&["run", "x.toml", "--seeds"]));
    golden.is("set-of-a-later-kernel", &f.mmsim(&["run", "x.toml", "--set", "machine.kernel=7.4"]));
    let newest = ["run", "x.toml", "--set", "reclaim.preset=\"mglru\""];
    golden.is("set-of-no-version", &f.mmsim(&newest));
    let two = ["run", "x.toml", "--set", "machine.cpus=2", "--set", "task[0].memroy=\"9MiB\""];
    golden.is("second-set-of-no-key", &f.mmsim(&two));
    let parsecs =
        ["run", "x.toml", "--set", "machine.cpus=2", "--set", "machine.memory=64 parsecs"];
    golden.is("set-of-no-unit", &f.mmsim(&parsecs));
    golden.is("set-of-too-little", &f.mmsim(&["run", "x.toml", "--set", "machine.memory=1KiB"]));
    golden.is("set-of-no-key", &f.mmsim(&["run", "x.toml", "--set", "machine.cpu=2"]));
    golden.is("no-such-scenario", &f.mmsim(&["run", "y.toml"]));
    golden.is("no-such-preset", &f.mmsim(&["list", "knobs", "--preset", "classic-v7"]));
    golden.is("preset-of-no-version", &f.mmsim(&["list", "knobs", "--preset", "mglru"]));
    f.write("z.toml", GOOD.replace("16MiB", "24MiB"));
    golden.is("dry-run-of-two", &f.mmsim(&["run", "x.toml", "z.toml", "--dry-run"]));
    golden.is("second-scenario-of-the-name", &f.mmsim(&["run", "x.toml", "z.toml"]));
    // All files are read before anything runs.
    f.write("z.toml", "seed = 1\n");
    let said = f.mmsim(&["run", "x.toml", "z.toml"]);
    golden.is("second-scenario", &said);
    assert_eq!(said.stdout, "");
}

#[test]
fn out_of_memory() {
    let golden = Golden::of("out-of-memory");
    let no_slots = |extra: &str| {
        GOOD.replace("size = \"64MiB\"", "size = \"0 pages\"")
            .replace("memory = \"8MiB\"", "memory = \"32MiB\"\nwrite = true")
            .replace("seed = 1\n", &format!("seed = 1\n{extra}"))
    };
    let f = Folder::new();
    f.write("x.toml", no_slots(""));
    let said = f.mmsim(&["run", "x.toml"]);
    golden.is("out-of-memory", &said);
    assert_eq!(said.code, Some(3));
    // The report is there all the same.
    assert!(said.stdout.contains("out of memory"), "{}", said.stdout);
    // Memory is free, and may not be used: a note says why.
    let min_free = "cpus = 1\nvm.min_free_kbytes = 100000\n";
    f.write("x.toml", GOOD.replacen("cpus = 1\n", min_free, 1));
    golden.is("kept-by-watermarks", &f.mmsim(&["run", "x.toml"]));
    let zone = "zone = [{ kind = \"Movable\", managed = \"16MiB\" }]";
    f.write("x.toml", GOOD.replacen("memory = \"16MiB\"", zone, 1));
    golden.is("movable-memory-alone", &f.mmsim(&["run", "x.toml"]));
    f.write("x.toml", no_slots("expect-oom = true\n"));
    let said = f.mmsim(&["run", "x.toml"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
}

/// Blocks that must not fail, more of them than there is memory: the run ends with exit code 3, says
/// who waits for what, and its report is there.
#[test]
fn stuck() {
    let golden = Golden::of("stuck");
    let f = Folder::new();
    let task = "workload = \"kernel-alloc\"\norder = 5\nretry = \"nofail\"\nattempts = 5000\n";
    f.write("x.toml", format!("name = \"x\"\n[machine]\nmemory = \"64MiB\"\n[[task]]\n{task}"));
    let said = f.mmsim(&["run", "x.toml"]);
    golden.is("stuck", &said);
    assert_eq!(said.code, Some(3));
    assert!(said.stdout.contains("stuck"), "{}", said.stdout);
    let said = f.mmsim(&["run", "x.toml", "--format", "json"]);
    assert_eq!(said.code, Some(3));
    assert!(said.stdout.contains("\"outcome\": \"stuck\""), "{}", said.stdout);
}

/// Help is a result as well.
#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written() {
    let f = Folder::new();
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("a full device");
    for args in [&["--help"][..], &["--version"], &["run", "--help"], &["help", "trace"]] {
        let out = f.command(args).stdout(full()).output().expect("starting mmsim");
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.starts_with("mmsim: error: cannot write to stdout: "), "{args:?}: {said}");
    }
}

#[test]
fn results_that_cannot_be_written() {
    let golden = Golden::of("outputs");
    let f = Folder::new();
    f.write("x.toml", GOOD);
    for (name, option) in
        [("output", "-o"), ("events", "--events"), ("series", "--series"), ("timing", "--timing")]
    {
        let said = f.mmsim(&["run", "x.toml", option, "no/such/file"]);
        golden.is(&format!("no-folder-for-{name}"), &said);
        // Nothing ran in vain.
        assert_eq!(f.names(), ["x.toml"]);
    }
}

#[test]
fn files_of_the_kernel_that_cannot_be() {
    let golden = Golden::of("emit");
    let f = Folder::new();
    f.write("x.toml", GOOD);
    f.write("notes", "");
    for (name, emit, dir) in [
        ("emit-of-no-kind", "vmstat,slabinfo", "files"),
        ("emit-into-a-file", "vmstat", "notes"),
        ("no-folder-for-emit", "vmstat", "no/such"),
    ] {
        let said = f.mmsim(&["run", "x.toml", "--emit", emit, "--emit-dir", dir]);
        golden.is(name, &said);
        assert_eq!(f.names(), ["notes", "x.toml"]);
    }
    let said = f.mmsim(&["run", "x.toml", "--emit", "vmstat"]);
    golden.is("emit-to-nowhere", &said);
}

#[test]
fn machines_that_cannot_be() {
    let golden = Golden::of("zoneinfo");
    let f = Folder::new();
    for (name, args) in [
        ("zoneinfo-of-nothing", &["zoneinfo"][..]),
        ("zoneinfo-of-no-size", &["zoneinfo", "--memory", "16"]),
        ("zoneinfo-of-no-zone", &["zoneinfo", "--zones", "High=5"]),
        ("zoneinfo-of-a-bare-sysctl", &["zoneinfo", "--memory", "1GiB", "--vm", "swappiness"]),
        ("zoneinfo-of-no-sysctl", &["zoneinfo", "--memory", "1GiB", "--vm", "swapiness=1"]),
        (
            "zoneinfo-of-two-modes",
            &["zoneinfo", "--memory", "1GiB", "--thp", "--vm", "transparent_hugepage=never"],
        ),
        ("memory-of-presets", &["presets", "--memory", "1GiB"]),
        ("text-of-presets", &["presets", "--format", "text"]),
    ] {
        let said = f.mmsim(&[&["list"], args].concat());
        golden.is(name, &said);
    }
}

/// An interrupted command leaves what was there before, and no file of its own.
#[cfg(unix)]
#[test]
fn interrupts_leave_nothing() {
    let f = Folder::new();
    let long = "workload = \"uniform\"\naccesses = 4000000000\nmemory = \"24MiB\"";
    f.write("x.toml", GOOD.replace("workload = \"sequential\"\nmemory = \"8MiB\"", long));
    f.write("report", "before");
    let args = ["run", "x.toml", "-o", "report", "--events", "e.jsonl", "--series", "s.csv"];
    assert_eq!(crate::harness::ended_by("INT", f.begun(&args)), Some(130));
    assert_eq!(f.names(), ["report", "x.toml"]);
    assert_eq!(f.read("report"), "before");
}
