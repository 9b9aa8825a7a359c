//! What the program says when something is wrong, word by word, and its exit codes: 2 for
//! input, 1 for what a task did not bring about, 3 for a simulated system that ended early.
//!
//! The texts are in `tests/errors`; `MMSIM_BLESS=1` rewrites them, to be read as a
//! difference.

use crate::harness::{self, Folder, repository};

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

/// Compares with `tests/errors/NAME.txt`: the exit code, then stderr.
fn golden(name: &str, said: &harness::Said) {
    let path = repository("crates/mmsim-cli/tests/errors").join(format!("{name}.txt"));
    let code = said.code.map_or("a signal".to_string(), |c| c.to_string());
    let text = format!("exit code {code}\n{}", said.stderr);
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(&path, &text).expect("rewriting the expected text");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{} should be:\n{text}", path.display());
}

/// Runs `x.toml`, which is `GOOD` with one text replaced.
fn fails(name: &str, from: &str, to: &str, code: i32) {
    let f = Folder::new();
    assert!(GOOD.contains(from), "{from} is not in the scenario");
    f.write("x.toml", GOOD.replacen(from, to, 1));
    let said = f.mmsim(&["run", "x.toml", "-o", "report"]);
    golden(name, &said);
    assert_eq!(said.code, Some(code), "{name}");
    assert_eq!(f.names().contains(&"report".to_string()), code != 2, "{name}: {:?}", f.names());
}

#[test]
fn the_scenario_is_right_as_it_is() {
    let f = Folder::new();
    f.write("x.toml", format!("{GOOD}write = true\n"));
    let said = f.mmsim(&["run", "x.toml", "--check"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
}

/// What no key shows by itself is found by `--dry-run` as by a run, at the place of the key.
#[test]
fn what_cannot_run_is_refused_before_anything_runs() {
    let work = "workload = \"sequential\"\nmemory = \"8MiB\"\n";
    let watched =
        |task: &str| format!("{work}processes = 2\n\n[[damon]]\nops = \"vaddr\"\n{task}\n");
    for (name, keys) in [
        ("damon-process-of-several", watched("task = \"sequential\"")),
        ("damon-process-beyond", watched("task = \"sequential-2\"")),
        (
            "commands-not-modelled",
            "workload = \"script\"\ncommands = [\"anon 0 10\", \"watch\"]\n".into(),
        ),
        ("trace-not-there", "workload = \"replay\"\ntrace = \"nothing.mmt\"\n".into()),
        (
            "figure-of-no-monitor",
            format!("{work}[[expect]]\nfigure = \"damon[0].samples\"\nabove = 0\n"),
        ),
        ("trace-that-is-text", "workload = \"replay\"\ntrace = \"x.toml\"\n".into()),
    ] {
        let f = Folder::new();
        f.write("x.toml", GOOD.replacen(work, &keys, 1));
        let dry = f.mmsim(&["run", "x.toml", "--dry-run"]);
        golden(name, &dry);
        let said = f.mmsim(&["run", "x.toml", "-o", "report"]);
        assert_eq!((dry.code, &dry.stderr), (Some(2), &said.stderr), "{name}");
        assert!(dry.stderr.contains("--> x.toml:"), "{name}: {}", dry.stderr);
        assert_eq!((dry.stdout.as_str(), f.names()), ("", vec!["x.toml".to_string()]), "{name}");
    }
}

/// What a scenario expects of its runs decides the exit code; of one that options changed it is
/// told and does not.
#[test]
fn expectations() {
    let f = Folder::new();
    // Lists that are long enough for nothing to be said of them.
    let good = GOOD.replace("8MiB", "24MiB").replace("16MiB", "20MiB");
    let expect = |figure: &str| {
        format!("{good}write = true\n\n[[expect]]\nfigure = \"{figure}\"\nabove = 1000\n")
    };
    f.write("x.toml", expect("pswpout"));
    let said = f.mmsim(&["run", "x.toml", "-o", "report"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    f.write("x.toml", expect("pswpin"));
    let said = f.mmsim(&["run", "x.toml", "--format", "json", "-o", "report"]);
    golden("expected-otherwise", &said);
    assert_eq!(said.code, Some(1));
    let report: serde_json::Value = serde_json::from_str(&f.read("report")).unwrap();
    assert_eq!(report["expect"][0]["holds"], false);
    assert_eq!(report["expect"][0]["expected"], "pswpin above 1,000");
    let said = f.mmsim(&["run", "x.toml", "-o", "report", "--set", "task[0].memory=25MiB"]);
    golden("expected-otherwise-of-another", &said);
    assert_eq!(said.code, Some(0));
}

/// Runs that say nothing about what they are to show say so, once for all of them.
#[test]
fn runs_that_do_nothing() {
    let f = Folder::new();
    let variants = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
                    set = { \"machine.vm.swappiness\" = 100 }\n";
    f.write("x.toml", format!("{}\n{variants}", GOOD.replace("seed = 1", "seed = 1\nseeds = 2")));
    let said = f.mmsim(&["run", "x.toml", "--format", "json", "-o", "report"]);
    golden("runs-that-do-nothing", &said);
    assert_eq!(said.code, Some(0));
    let report: serde_json::Value = serde_json::from_str(&f.read("report")).unwrap();
    let notes: Vec<&str> =
        report["notes"].as_array().unwrap().iter().filter_map(|n| n.as_str()).collect();
    assert_eq!(notes.len(), 3, "{notes:?}");
    let lines: Vec<&str> = said.stderr.lines().map(|l| l.trim_start_matches("mmsim: ")).collect();
    assert_eq!(lines, notes);
}

/// Fragmentation that cannot be, and blocks that nobody can ask for.
#[test]
fn fragmentation() {
    let work = "workload = \"sequential\"\nmemory = \"8MiB\"";
    let fragment = |keys: &str| format!("workload = \"fragment\"\n{keys}");
    for (name, keys) in [
        ("fragment-keeps-nothing-said", "pause = \"1s\""),
        (
            "fragment-more-kinds-than-pages",
            "keep-permille = 250\nmovable-permille = 700\nreclaimable-permille = 400",
        ),
        ("fragment-run-without-law", "keep-permille = 250\nrun = 8"),
        ("fragment-run-of-nothing", "keep-permille = 250\nlaw = \"fixed\"\nrun = 0"),
        ("fragment-unknown-law", "keep-permille = 250\nlaw = \"poisson\""),
        ("fragment-churn-without-age", "keep-permille = 250\nchurn = 100"),
        ("fragment-pins-more-than-memory", "memory = \"32MiB\"\nkeep-permille = 750"),
        ("fragment-target-of-no-figure", "target = { order = 9 }"),
        ("fragment-target-of-two-figures", "target = { order = 9, index = 700, unusable = 1 }"),
        ("fragment-target-above-the-largest", "target = { order = 11, index = 700 }"),
        ("fragment-target-of-single-pages", "target = { order = 0, unusable = 700 }"),
        ("fragment-target-above-all", "target = { order = 9, unusable = 1001 }"),
        ("fragment-target-as-a-share", "target = { order = 9, unusable = 0.8 }"),
        (
            "fragment-target-pins-more-than-memory",
            "memory = \"1GiB\"\ntarget = { order = 9, index = 700 }",
        ),
    ] {
        fails(name, work, &fragment(keys), 2);
    }
    // Each of the two would fit.
    let half = fragment("memory = \"12MiB\"\nkeep-permille = 750");
    let two = format!("name = \"one\"\n{half}\n\n[[task]]\nname = \"two\"\n{half}");
    fails("fragment-two-pin-more-than-memory", work, &two, 2);
    let layout = |name: &str, text: &str, keys: &str| {
        let f = Folder::new();
        f.write("x.layout", text);
        f.write("x.toml", GOOD.replacen(work, &fragment(keys), 1));
        let said = f.mmsim(&["run", "x.toml", "-o", "report"]);
        golden(name, &said);
        assert!(!f.names().contains(&"report".to_string()), "{name}: {:?}", f.names());
    };
    let zone =
        "mmsim-layout 1\nzone DMA node 0 first 0 frames 3840 pageblock 512\ntypes Movable*8\n";
    let of = |frames: &str| format!("{zone}frames {frames}\n");
    let load = "load = \"x.layout\"";
    layout("fragment-load-of-no-layout", "schema = 1\n", load);
    layout("fragment-load-of-unknown-use", &of("free*10 pinned*3830"), load);
    layout("fragment-load-of-too-few-frames", &of("free*10"), load);
    layout(
        "fragment-load-of-broken-blocks",
        &format!("{}list 0 Movable 10 11\n", of("free*3840")),
        load,
    );
    layout("fragment-load-on-another-machine", &of("free*3840").replace("3840", "3839"), load);
    layout("fragment-load-and-share", &of("free*3840"), &format!("{load}\nkeep-permille = 250"));
    // No bad input: everything is written, and what was asked for did not come about.
    let keys = "pause = \"0ns\"\ntarget = { order = 3, index = 300 }";
    fails("fragment-target-out-of-reach", work, &fragment(keys), 1);
    let order = "workload = \"highalloc\"\norder = 11\nattempts = 10";
    fails("highalloc-order-above-the-largest", work, order, 2);
    let order = "workload = \"highalloc\"\norder = 0\nattempts = 10";
    fails("highalloc-of-single-pages", work, order, 2);
}

#[test]
fn keys_and_values() {
    fails("unknown-key", "cpus = 1", "cpu = 1", 2);
    fails("wrong-unit", "memory = \"16MiB\"", "memory = \"16MB\"", 2);
    fails("time-for-size", "memory = \"16MiB\"", "memory = \"16ms\"", 2);
    fails("missing-unit", "memory = \"16MiB\"", "memory = 16", 2);
    fails("negative-size", "memory = \"8MiB\"", "memory = \"-8MiB\"", 2);
    fails("zero-cpus", "cpus = 1", "cpus = 0", 2);
    fails("no-toml", "cpus = 1", "cpus = = 1", 2);
    fails("key-twice", "cpus = 1", "cpus = 1\ncpus = 2", 2);
    let block = "cpus = 1\npageblock-order = 11";
    fails("pageblock-larger-than-the-largest-block", "cpus = 1", block, 2);
    let block = "cpus = 1\npageblock-order = 0";
    fails("pageblock-of-one-page", "cpus = 1", block, 2);
    fails("comma-for-point", "memory = \"16MiB\"", "memory = \"16,5MiB\"", 2);
    fails("not-a-number", "memory = \"16MiB\"", "memory = nan", 2);
    fails("huge-size", "memory = \"16MiB\"", "memory = \"99999999999TiB\"", 2);
    // A sum of such times would be beyond the clocks of a run.
    let start = "memory = \"8MiB\"\nstart = \"18446744073s\"";
    fails("huge-time", "memory = \"8MiB\"", start, 2);
    fails("huge-cost", "cpus = 1", "cpus = 1\ncost = { t_scan = \"2s\" }", 2);
    let device = "device = { name = \"tape\", read = \"2min\", write = \"1s\" }";
    fails("slow-device", "device = \"zram\"", device, 2);
    let device = "device = { name = \"d\", read = \"1s\", write = \"1s\", bandwidth = \"1B/s\" }";
    fails("slow-bandwidth", "device = \"zram\"", device, 2);
    fails("huge-seed", "seed = 1", "seed = 18446744073709551615", 2);
    fails("seeds-beyond", "seed = 1", "seed = 9007199254740991\nseeds = 3", 2);
    fails("no-seeds", "seed = 1", "seeds = 0", 2);
    fails("table-for-list", "[[task]]", "[task]", 2);
    fails("list-for-table", "[machine]", "[[machine]]", 2);
    fails("word-for-variants", "seed = 1", "variant = \"a\"", 2);
    let twice = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"a\"\n[[task]]";
    fails("variant-twice", "[[task]]", twice, 2);
    fails("axis-of-no-key", "[[task]]", "[axes]\n\"machine.cpu\" = [1]\n[[task]]", 2);
    fails("axis-of-one-value", "[[task]]", "[axes]\n\"machine.cpus\" = 3\n[[task]]", 2);
    fails(
        "axis-of-one-value-twice",
        "[[task]]",
        "[axes]\n\"machine.cpus\" = [1, 2, 1]\n[[task]]",
        2,
    );
    fails("axis-without-quotes", "[[task]]", "[axes]\nmachine.cpus = [3]\n[[task]]", 2);
}

#[test]
fn files_that_are_no_scenarios() {
    let f = Folder::new();
    let run = |name: &str, content: &[u8]| {
        f.write("x.toml", content);
        let said = f.mmsim(&["run", "x.toml", "-o", "report"]);
        golden(name, &said);
        assert_eq!((said.code, f.names()), (Some(2), vec!["x.toml".to_string()]), "{name}");
    };
    run("empty-file", b"");
    run("latin-1", b"name = \"caf\xe9\"\n");
    run("utf-16", b"\xff\xfen\0a\0");
    run("json-for-toml", b"{\n  \"name\": \"x\"\n}\n");
    run("trace-for-scenario", &std::fs::read(repository("traces/sort.mmt")).expect("a trace"));
    run("compressed", b"\x1f\x8b\x08\0\0\0\0\0");
    std::fs::create_dir(f.path("dir")).expect("a folder");
    golden("folder-for-scenario", &f.mmsim(&["run", "dir"]));
}

#[test]
fn results_over_inputs_and_over_each_other() {
    let f = Folder::new();
    f.write("x.toml", GOOD);
    f.write("p.txt", "R 1\n");
    let refused = |name: &str, args: &[&str]| {
        let said = f.mmsim(args);
        golden(name, &said);
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
    refused("quick-and-point", &["validate", "d", "--quick", "--point", "p"]);
    refused("bench-over-trace", &["bench-trace", "p.txt", "--frames", "64", "-o", "p.txt"]);
    refused("import-over-itself", &["trace", "import", "--from", "pages", "p.txt", "-o", "p.txt"]);
    assert_eq!(f.read("p.txt"), "R 1\n");
    // Two results may go to the same device.
    let said = f.mmsim(&["run", "x.toml", "-o", "/dev/null", "--series", "/dev/null"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
fn numbers_on_the_command_line() {
    let f = Folder::new();
    f.write("x.toml", GOOD);
    golden("negative-seed", &f.mmsim(&["run", "x.toml", "--seed", "-1"]));
    golden("huge-seed-option", &f.mmsim(&["run", "x.toml", "--seed", "99999999999999999999"]));
    golden("negative-jobs", &f.mmsim(&["run", "x.toml", "--jobs", "-1"]));
    golden("many-seeds", &f.mmsim(&["run", "x.toml", "--seeds", "10001"]));
    // More jobs than runs are no more threads.
    assert_eq!(f.mmsim(&["run", "x.toml", "--jobs", "100000"]).code, Some(0));
}

/// `x.toml` as a report with these options.
fn report(f: &Folder, name: &str, options: &[&str]) {
    let mut args = vec!["run", "x.toml", "--format", "json", "-o", name];
    args.extend(options);
    let said = f.mmsim(&args);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
fn reports_that_cannot_be_compared() {
    let f = Folder::new();
    f.write("x.toml", GOOD);
    report(&f, "a.json", &[]);
    report(&f, "b.json", &[]);
    let whole = f.read("a.json");
    let refused = |name: &str, b: &str, options: &[&str]| {
        f.write("b.json", b);
        let mut args = vec!["compare", "a.json", "b.json", "-o", "result"];
        args.extend(options);
        let said = f.mmsim(&args);
        golden(name, &said);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{name}");
        assert!(!f.names().contains(&"result".to_string()), "{name}");
    };
    let instead = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        whole.replacen(from, to, 1)
    };
    refused("compare-empty", "", &[]);
    let cut = whole.find("\"axes\"").expect("axes") + 8;
    refused("compare-truncated", &whole[..cut], &[]);
    refused("compare-no-json", GOOD, &[]);
    refused("compare-a-list", "[1, 2]\n", &[]);
    refused("compare-wrong-type", &instead("\"seed\": 1", "\"seed\": \"one\""), &[]);
    refused("compare-schema", &instead("\"schema\": 1", "\"schema\": 2"), &[]);
    let version = format!("\"mmsim\": \"{}\"", env!("CARGO_PKG_VERSION"));
    refused("compare-version", &instead(&version, "\"mmsim\": \"7.1.0\""), &[]);
    let validation = "{ \"mmsim\": \"0.1.0\", \"schema\": 1, \"points\": [], \"summary\": [] }";
    refused("compare-validation", validation, &[]);
    let recorded =
        std::fs::read_to_string(repository("evidence/reference/file.json")).expect("recordings");
    refused("compare-recording", &recorded, &[]);
    let list = f.mmsim(&["list", "counters", "--format", "json"]).stdout;
    refused("compare-list", &list, &[]);
    let compared = f.mmsim(&["compare", "a.json", "a.json", "--format", "json"]).stdout;
    refused("compare-comparison", &compared, &[]);
    refused("compare-no-runs", &format!("{}[] }}", &whole[..whole.find('[').expect("runs")]), &[]);
    refused("compare-seeds", &instead("\"seed\": 1", "\"seed\": 5"), &[]);
    refused("compare-axes", &instead("\"axes\": {}", "\"axes\": { \"a\": \"1\" }"), &[]);
    refused("compare-phase", &whole, &["--phase", "acess"]);
    report(&f, "b.json", &["--set", "task[0].passes=2"]);
    let twice = f.read("b.json");
    refused("compare-work", &twice, &[]);
    f.write(
        "x.toml",
        GOOD.replace(
            "[[task]]",
            "[[variant]]\nname = \"v1\"\n[[variant]]\nname = \"v2\"\n[[task]]",
        ),
    );
    report(&f, "b.json", &[]);
    refused("compare-variants", &f.read("b.json"), &[]);
    golden("compare-nothing-there", &f.mmsim(&["compare", "a.json", "c.json"]));
    golden("compare-over-input", &f.mmsim(&["compare", "a.json", "b.json", "-o", "a.json"]));
    golden("compare-per-cent", &f.mmsim(&["compare", "a.json", "b.json", "--fail-above", "-5"]));
    assert_eq!(f.read("a.json"), whole);
}

#[test]
fn compare_as_a_check() {
    let f = Folder::new();
    f.write("x.toml", GOOD);
    report(&f, "a.json", &[]);
    report(&f, "b.json", &["--set", "machine.memory=32MiB"]);
    let check = |b: &str, pct: &str| f.mmsim(&["compare", "a.json", b, "--fail-above", pct]);
    assert_eq!(check("a.json", "0").code, Some(0));
    assert_eq!(check("b.json", "1000000").code, Some(0));
    let said = check("b.json", "5");
    golden("compare-check", &said);
    // The comparison is there all the same.
    assert!(said.code == Some(1) && said.stdout.contains("zone DMA32, managed"), "{}", said.stdout);
}

#[test]
fn folders_of_recordings() {
    let f = Folder::new();
    let refused = |name: &str, args: &[&str]| {
        let said = f.mmsim(&[&["validate"], args].concat());
        golden(name, &said);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{name}");
    };
    refused("no-such-folder", &["nowhere"]);
    f.write("file", "x");
    refused("file-for-folder", &["file"]);
    std::fs::create_dir(f.path("dir")).expect("a folder");
    refused("folder-of-nothing", &["dir"]);
    f.write("dir/x.json", "{\n");
    refused("truncated-recording", &["dir"]);
    f.write("dir/x.json", "{}\n");
    refused("no-recording", &["dir"]);
    std::fs::copy(repository("evidence/reference/file.json"), f.path("dir/x.json"))
        .expect("a copy");
    refused("no-such-point", &["dir", "--point", "mmap-t0.9-scan0-clasic"]);
    refused("no-such-experiment", &["dir", "--experiment", "anon"]);
}

/// A recording that is right; each case changes one text.
const RECORDING: &str = r#"{ "experiment": "e", "points": [
{ "id": "p", "kernel": "6.12.117+deb12-amd64", "lru": "classic", "repetitions": 2,
  "vm": { "cpus": 1 },
  "zones_at_start": { "Normal": { "managed": 2000, "free": 1500, "min": 20, "low": 25, "high": 30,
    "lowmem_reserve": [0, 0, 0, 0, 0], "pcp": { "count": 3, "high": 10, "batch": 2 } } },
  "script": ["write /proc/sys/vm/swappiness 60", "zram 41943040", "table 0 1000 0.9",
    "snapx start", "anon 0 1000", "fill 0 0 1000", "seed 1", "zipf 0 0 2000 0 1 0", "snap one"],
  "script_changes": [[[6, "seed 2"]]],
  "phases": [{ "phase": "start", "counters": {} },
    { "phase": "one", "counters": { "pgfault": [1001.5, 1001, 1002], "pswpout": 3 } }] }
] }
"#;

#[test]
fn recordings_that_contradict_themselves() {
    let f = Folder::new();
    std::fs::create_dir(f.path("dir")).expect("a folder");
    f.write("dir/x.json", RECORDING);
    let good = f.mmsim(&["validate", "dir"]);
    assert_eq!((good.code, good.stderr.as_str()), (Some(0), ""));
    let refused = |name: &str, from: &str, to: &str| {
        assert!(RECORDING.contains(from), "{from}");
        f.write("dir/x.json", RECORDING.replacen(from, to, 1));
        let said = f.mmsim(&["validate", "dir", "-o", "result"]);
        golden(&format!("recording-{name}"), &said);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{name}");
        assert_eq!(f.names(), ["dir"], "{name}");
    };
    let half = RECORDING.find("1001, 1002").expect("a number");
    refused("cut-off", &RECORDING[half..], "");
    refused("no-json", "\"repetitions\": 2", "\"repetitions\" 2");
    refused("without-phases", "\"phases\": [", "\"phase\": [");
    refused("no-number", "\"managed\": 2000", "\"managed\": \"2000\"");
    refused("negative", "\"free\": 1500", "\"free\": -1500");
    refused("two-of-three", "[1001.5, 1001, 1002]", "[1001.5, 1001]");
    refused("mean-below-least", "[1001.5, 1001, 1002]", "[1000.5, 1001, 1002]");
    refused("negative-count", "\"pswpout\": 3", "\"pswpout\": -3");
    refused("unknown-command", "fill 0 0 1000", "fil 0 0 1000");
    refused("too-many-pages", "fill 0 0 1000", "fill 0 0 1001");
    refused("change-of-no-line", "[6, \"seed 2\"]", "[9, \"seed 2\"]");
    refused("wrong-change", "seed 2", "seed -2");
    refused("more-changes-than-repetitions", "\"repetitions\": 2", "\"repetitions\": 1");
    refused("phase-of-no-snapshot", "\"phase\": \"one\"", "\"phase\": \"two\"");
    refused("phases-out-of-order", "\"phase\": \"start\"", "\"phase\": \"one\"");
    refused("no-zones", "\"zones_at_start\"", "\"zones_at_begin\"");
    refused("more-free-than-managed", "\"free\": 1500", "\"free\": 2500");
    refused("watermarks-that-fall", "\"low\": 25", "\"low\": 35");
    refused("no-swap", "\"zram 41943040\", ", "\"snapx boot\", ");
    refused("swap-of-nothing", "zram 41943040", "zram 0");
    refused("swappiness", "swappiness 60", "swappiness 600");
    refused("other-lru", "\"classic\"", "\"classic\", \"a\": 1, \"lru\": \"mglru\"");
    let other = "write /sys/kernel/mm/lru_gen/enabled 7";
    refused("lru-otherwise", "write /proc/sys/vm/swappiness 60", other);
    refused("kernel", "6.12.117+deb12-amd64", "mainline");
    let point = &RECORDING[RECORDING.find("{ \"id\"").expect("a point")..RECORDING.len() - 5];
    refused("name-twice", point, &format!("{point},\n{point}"));
    f.write("dir/x.json", RECORDING);
    f.write("dir/y.json", RECORDING);
    golden("recording-name-in-two-files", &f.mmsim(&["validate", "dir"]));
}

#[test]
fn cards_of_nothing() {
    let f = Folder::new();
    golden("accuracy-no-folder", &f.mmsim(&["accuracy"]));
    std::fs::create_dir(f.path("docs")).expect("a folder");
    golden("accuracy-no-card", &f.mmsim(&["accuracy", "--check"]));
    golden("accuracy-no-words", &f.mmsim(&["accuracy"]));
    std::fs::create_dir(f.path("evidence")).expect("a folder");
    f.write("evidence/gaps.toml", "[[gap]]\nexperiments = \"file\"\n");
    golden("accuracy-wrong-words", &f.mmsim(&["accuracy"]));
    f.write("evidence/gaps.toml", "");
    f.write("docs/accuracy.md", "by hand\n");
    f.write("evidence/calibration.toml", "[[constant]]\nlooked_at = \"none\"\n");
    golden("accuracy-no-recordings", &f.mmsim(&["accuracy"]));
    std::fs::create_dir_all(f.path("evidence/reference")).expect("a folder");
    f.write("evidence/reference/x.json", RECORDING);
    golden("accuracy-no-marks", &f.mmsim(&["accuracy", "--quick"]));
    golden("accuracy-by-hand", &f.mmsim(&["accuracy", "--check"]));
    assert_eq!(f.read("docs/accuracy.md"), "by hand\n");
}

#[test]
fn names_of_verbs() {
    let f = Folder::new();
    golden("man-of-no-verb", &f.mmsim(&["man", "rnu"]));
    golden("man-of-no-verb-of-trace", &f.mmsim(&["man", "trace", "run"]));
    golden("man-to-no-folder", &f.mmsim(&["man", "--dir", "nowhere"]));
    golden("no-such-list", &f.mmsim(&["list", "policies"]));
    golden("no-such-shell", &f.mmsim(&["completions", "csh"]));
}

#[test]
fn mglru() {
    for (name, reclaim) in [
        ("mglru-profile", "preset = \"mglru-v6.13\""),
        ("mglru-negative-ttl", "preset = \"mglru-v6.12\", min-ttl-ms = -5"),
        ("mglru-fifth-tier", "preset = \"mglru-v6.12\", nr-tiers = 5"),
        ("mglru-fifth-generation", "preset = \"mglru-v6.12\", hist-gens = 5"),
        ("mglru-lazyfree-of-nothing", "preset = \"mglru-v6.12\", lazyfree = \"list-v3\""),
        ("mglru-lazyfree-on-classic", "preset = \"classic-v6.12\", lazyfree = \"list-v2\""),
        ("mglru-distance-without-place", "preset = \"mglru-v6.14\", refault-distance = \"v3\""),
    ] {
        let variant = format!("[[variant]]\nname = \"v\"\nreclaim = {{ {reclaim} }}\n\n[[task]]");
        fails(name, "[[task]]", &variant, 2);
    }
}

#[test]
fn policies() {
    let variant = |v: &str| format!("[[variant]]\nname = \"v\"\n{v}\n\n[[task]]");
    fails("unknown-preset", "[[task]]", &variant("reclaim = { preset = \"classic-v6.21\" }"), 2);
    fails(
        "unknown-knob",
        "[[task]]",
        &variant("reclaim = { preset = \"classic-v5.5\", anon-begin = \"active\" }"),
        2,
    );
    fails(
        "contradictory-knobs",
        "[[task]]",
        &variant("reclaim = { preset = \"classic-v5.5\", anon-workingset = \"yes\" }"),
        2,
    );
    // The knob that does not fit is not the last one that was written.
    fails(
        "contradictory-knobs-in-the-middle",
        "[[task]]",
        &variant(
            "reclaim = { preset = \"classic-v5.5\", anon-workingset = \"yes\", anon-start = \
             \"active\" }",
        ),
        2,
    );
    // Stages of the series, and what a stage cannot have.
    let reclaim = |r: &str| variant(&format!("reclaim = {{ preset = \"classic-seed-{r} }}"));
    fails("stage-beyond-the-last", "[[task]]", &reclaim("10\""), 2);
    fails("stage-before-the-first", "[[task]]", &reclaim("0\""), 2);
    fails("stage-without-shadows", "[[task]]", &reclaim("2\", anon-workingset = \"yes\""), 2);
    fails("stage-of-other-ages", "[[task]]", &reclaim("7\", age-model = \"unified\""), 2);
    fails("stage-of-other-balance", "[[task]]", &reclaim("9\", balance-model = \"cost-5.9\""), 2);
    fails("knobs-of-random", "[[task]]", &variant("reclaim = { preset = \"random\", a = 1 }"), 2);
}

/// Strategies of compaction that there are not, and knobs that they do not have.
#[test]
fn compaction() {
    let table = |t: &str| format!("[compaction]\n{t}\n\n[[task]]");
    let of = |name: &str, t: &str| fails(name, "[[task]]", &table(t), 2);
    of("compaction-unknown-stage", "preset = \"compaction-2015v1-redesigned\"");
    of("compaction-preset-of-reclaim", "preset = \"classic-v6.12\"");
    of("compaction-preset-of-no-text", "preset = 4.1");
    of("compaction-unknown-knob", "preset = \"compaction-v4.1\"\ntarget-type = \"any\"");
    of("compaction-unknown-value", "preset = \"compaction-v4.1\"\ntarget-types = \"all\"");
    of("compaction-number-out-of-range", "preset = \"compaction-v4.1\"\ncluster-max = 0");
    // Stages stand on what came before them.
    of("compaction-knob-without-preset", "scan-limit = \"v1\"");
    of("compaction-limit-without-depletion", "preset = \"compaction-v4.1\"\nscan-limit = \"v1\"");
    of("compaction-stage-on-later-scanners", "preset = \"compaction-v6.12\"\ndepletion = \"v1\"");
    let next = "undo-prevention = \"next-cycle\"";
    of("compaction-undo-without-sweep", &format!("preset = \"compaction-v4.1\"\n{next}"));
    fails("compaction-no-table", "[machine]", "compaction = \"compaction-v4.1\"\n[machine]", 2);
    // Blocks that no allocator has.
    let work = "workload = \"sequential\"\nmemory = \"8MiB\"";
    let order = "workload = \"kernel-alloc\"\norder = 11\nattempts = 10";
    fails("kernel-alloc-order-above-the-largest", work, order, 2);
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
    let f = Folder::new();
    f.write("x.toml", GOOD);
    golden("unknown-variant", &f.mmsim(&["run", "x.toml", "--variant", "v7"]));
    golden("misspelt-variant", &f.mmsim(&["run", "x.toml", "--variant", "defualt"]));
    golden("misspelt-verb", &f.mmsim(&["vaildate"]));
    golden("misspelt-option", &f.mmsim(&["run", "x.toml", "--varaint", "v7"]));
    golden("misspelt-format", &f.mmsim(&["run", "x.toml", "--format", "jsn"]));
    golden(
        "misspelt-trace-format",
        &f.mmsim(&["trace", "import", "--from", "cvs", "x.toml", "-o", "x.mmt"]),
    );
    golden("seeds-in-words", &f.mmsim(&["run", "x.toml", "--seeds", "five"]));
    golden("seeds-of-nothing", &f.mmsim(&["run", "x.toml", "--seeds"]));
    golden("set-at-the-top", &f.mmsim(&["run", "x.toml", "--set", "vm.swappiness=10"]));
    golden("set-of-a-later-kernel", &f.mmsim(&["run", "x.toml", "--set", "machine.kernel=6.18"]));
    let newest = ["run", "x.toml", "--set", "reclaim.preset=\"mglru\""];
    golden("set-of-no-version", &f.mmsim(&newest));
    golden("set-of-no-key", &f.mmsim(&["run", "x.toml", "--set", "machine.cpu=2"]));
    golden("set-of-no-size", &f.mmsim(&["run", "x.toml", "--set", "machine.memory=64"]));
    golden("no-such-scenario", &f.mmsim(&["run", "y.toml"]));
    golden("no-such-preset", &f.mmsim(&["list", "knobs", "--preset", "classic-v7"]));
    golden("preset-of-no-version", &f.mmsim(&["list", "knobs", "--preset", "mglru"]));
    f.write("z.toml", GOOD.replace("16MiB", "24MiB"));
    golden("dry-run-of-two", &f.mmsim(&["run", "x.toml", "z.toml", "--dry-run"]));
    golden("second-scenario-of-the-name", &f.mmsim(&["run", "x.toml", "z.toml"]));
    // All files are read before anything runs.
    f.write("z.toml", "seed = 1\n");
    let said = f.mmsim(&["run", "x.toml", "z.toml"]);
    golden("second-scenario", &said);
    assert_eq!(said.stdout, "");
}

#[test]
fn lists_of_commands() {
    let f = Folder::new();
    let from = GOOD.find("workload").expect("the task");
    let run = |name: &str, keys: &str| {
        f.write("x.toml", format!("{}workload = \"script\"\n{keys}\n", &GOOD[..from]));
        let said = f.mmsim(&["run", "x.toml"]);
        golden(name, &said);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{name}");
    };
    run("no-such-command", "commands = [\"anon 0 10\", \"fil 0\"]");
    f.write("commands", "anon 0 10\nscan 0 1 r two\n");
    run("wrong-command-in-a-file", "file = \"commands\"");
    let monitored = "commands = [\"spawn 512 1000 9 0 512 1\", \"write /sys/kernel/mm/damon/admin/kdamonds/0/state on\"]";
    run("commands-for-a-monitor", monitored);
}

/// A masim file is read with the scenario that names it, before anything runs.
#[test]
fn masim_files() {
    let f = Folder::new();
    let from = GOOD.find("workload").expect("the task");
    let task = "workload = \"masim\"\nconfig = \"w.cfg\"\n";
    f.write("x.toml", format!("{}{task}", &GOOD[..from]));
    golden("masim-missing", &f.mmsim(&["run", "x.toml"]));
    let good = "a, 8192\nb, 4096\n\nfirst\n1\na, 0, 4096, 1\n";
    let cases = [
        ("masim-size-with-unit", "8192", "8KiB"),
        ("masim-time-with-unit", "\n1\n", "\n1ms\n"),
        ("masim-no-such-region", "\na, 0", "\nA, 0"),
        ("masim-two-empty-lines", "\n\n", "\n\n\n"),
        ("masim-no-last-newline", "4096, 1\n", "4096, 1"),
        ("masim-three-fields", ", 4096, 1", ", 4096"),
        ("masim-no-pattern", "a, 0, 4096, 1\n", ""),
    ];
    for (name, from, to) in cases {
        assert!(good.contains(from), "{from} is not in the file");
        f.write("w.cfg", good.replacen(from, to, 1));
        let said = f.mmsim(&["run", "x.toml", "-o", "report"]);
        golden(name, &said);
        assert_eq!(said.code, Some(2), "{name}");
        assert!(!f.names().contains(&"report".to_string()), "{name}");
    }
    f.write("w.cfg", good);
    assert_eq!(f.mmsim(&["run", "x.toml", "--check"]).code, Some(0));
}

/// A configuration of masim within the scenario, and huge pages that the pool does not have.
#[test]
fn masim_texts_and_huge_pages() {
    let masim = |keys: &str| format!("workload = \"masim\"\n{keys}\n");
    let text = "text = \"a, 4194305\\nb, 4096\\n\\np\\n1\\na, 0, 64, 1\\n\"";
    let from = "workload = \"sequential\"\nmemory = \"8MiB\"\n";
    fails("masim-without-text", from, &masim(""), 2);
    fails("masim-of-two-texts", from, &masim(&format!("{text}\nconfig = \"w.cfg\"")), 2);
    fails("masim-text", from, &masim("text = \"a, 4096\\n\\np\\n1\\nA, 0, 64, 1\\n\""), 2);
    // Three huge pages and one, of none.
    fails("hugetlb-without-pool", from, &masim(&format!("{text}\nhugetlb = true")), 2);
    let f = Folder::new();
    let pool = |pages: u32, keys: &str| {
        let vm = format!("cpus = 1\nvm = {{ nr_hugepages = {pages} }}");
        let good = GOOD.replacen("cpus = 1", &vm, 1).replacen("\"16MiB\"", "\"64MiB\"", 1);
        good.replacen(from, &masim(&format!("{text}\nhugetlb = true\n{keys}")), 1)
    };
    let cases = [
        ("hugetlb-small-pool", pool(7, "processes = 2")),
        ("hugetlb-more-than-memory", pool(33, "")),
        ("hugetlb-more-than-free", pool(31, "")),
        ("hugetlb-and-bounds", pool(4, "").replacen("seed = 1", "seed = 1\nbounds = true", 1)),
    ];
    for (name, scenario) in cases {
        f.write("x.toml", scenario);
        let said = f.mmsim(&["run", "x.toml", "-o", "report"]);
        golden(name, &said);
        assert_eq!(said.code, Some(2), "{name}");
        assert!(!f.names().contains(&"report".to_string()), "{name}");
    }
    f.write("x.toml", pool(8, "processes = 2"));
    assert_eq!(f.mmsim(&["run", "x.toml", "--check"]).code, Some(0));
}

/// Monitors and schemes that cannot be.
#[test]
fn monitors() {
    let of_process = "ops = \"vaddr\"\ntask = \"sequential\"\n";
    let scheme = |keys: &str| format!("[[damon.scheme]]\naction = \"pageout\"\n{keys}\n");
    let filter = |keys: &str| scheme(&format!("[[damon.scheme.filter]]\n{keys}"));
    let marks = |marks: &str| scheme(&format!("wmarks = {{ {marks} }}"));
    let region = |keys: &str| format!("[[damon.region]]\n{keys}\n");
    let cases: &[(&str, String)] = &[
        ("damon-second-name", "name = \"a\"\n[[damon]]\nname = \"a\"".into()),
        ("damon-unknown-rules", "rules = { preset = \"damon-v5.15\" }".into()),
        ("damon-unknown-knob", "rules = { merge-caps = \"none\" }".into()),
        ("damon-truth-of-frames", "truth = true".into()),
        ("damon-unknown-module", "module = \"damon-sort\"".into()),
        ("damon-module-and-scheme", format!("module = \"damon-reclaim\"\n{}", scheme(""))),
        (
            "damon-unknown-parameter",
            "module = \"damon-reclaim\"\nparameters = { min_aeg = 1 }".into(),
        ),
        (
            "damon-parameter-of-text",
            "module = \"damon-reclaim\"\nparameters = { min_age = \"5s\" }".into(),
        ),
        (
            "damon-parameter-too-large",
            "module = \"damon-reclaim\"\nparameters = { wmarks_high = 1001 }".into(),
        ),
        ("damon-parameters-alone", "parameters = { min_age = 1 }".into()),
        ("damon-frames-of-a-task", "task = \"sequential\"".into()),
        ("damon-process-of-no-task", "ops = \"vaddr\"".into()),
        ("damon-unknown-task", "ops = \"vaddr\"\ntask = \"sequentail\"".into()),
        ("damon-fixed-without-region", of_process.replace("vaddr", "fvaddr")),
        ("damon-empty-region", region("start = \"8KiB\"\nend = \"8KiB\"")),
        (
            "damon-regions-overlap",
            region("start = \"0 pages\"\nend = \"8KiB\"")
                + &region("start = \"4KiB\"\nend = \"12KiB\""),
        ),
        ("damon-no-sample", "sample = \"0ns\"".into()),
        ("damon-short-aggregation", "aggr = \"1ms\"".into()),
        ("damon-long-sample", "sample = \"1s\"".into()),
        ("damon-few-regions", "min-nr-regions = 2".into()),
        ("damon-bounds-of-regions", "max-nr-regions = 9".into()),
        ("damon-unknown-action", "[[damon.scheme]]\naction = \"page-out\"".into()),
        ("damon-scheme-without-action", "[[damon.scheme]]\nmin-age = \"5s\"".into()),
        ("damon-no-size", scheme("min-size = \"8KiB\"\nmax-size = \"4KiB\"")),
        ("damon-no-accesses", scheme("min-nr-accesses = 2\nmax-nr-accesses = 1")),
        ("damon-no-age", scheme("min-age = \"5s\"\nmax-age = \"1s\"")),
        ("damon-quota-of-no-time", scheme("quota-time = \"10us\"")),
        ("damon-marks-in-disorder", marks("interval = \"5s\", high = 1, mid = 2, low = 0")),
        ("damon-marks-without-interval", marks("interval = \"0ns\", high = 3, mid = 2, low = 1")),
        ("damon-mark-too-high", marks("interval = \"5s\", high = 1001, mid = 2, low = 1")),
        (
            "damon-goal-of-nothing",
            scheme("[[damon.scheme.goal]]\nmetric = \"user_input\"\ntarget = 0"),
        ),
        ("damon-filter-of-another-type", filter("type = \"anon\"\nstart = \"4KiB\"")),
        ("damon-filter-of-no-group", filter("type = \"memcg\"\nmemcg = \"a\"")),
        ("damon-filter-backwards", filter("type = \"addr\"\nstart = \"8KiB\"\nend = \"4KiB\"")),
        ("damon-filter-of-no-target", filter("type = \"target\"\ntarget = 1")),
        ("damon-migration-to-nowhere", "[[damon.scheme]]\naction = \"migrate_cold\"".into()),
    ];
    for (name, damon) in cases {
        fails(name, GOOD, &format!("{GOOD}\n[[damon]]\n{damon}\n"), 2);
    }
}

fn replay(trace: &str) -> String {
    let from = GOOD.find("workload").expect("the task");
    format!("{}workload = \"replay\"\ntrace = \"{trace}\"\n", &GOOD[..from])
}

#[test]
fn traces() {
    let f = Folder::new();
    f.write("x.toml", replay("t.mmt"));
    let run = |name: &str| {
        let said = f.mmsim(&["run", "x.toml"]);
        golden(name, &said);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{name}");
    };
    run("missing-trace");
    golden("trace-info-of-nothing", &f.mmsim(&["trace", "info", "t.mmt"]));
    let import = ["trace", "import", "--from", "lacky", "none.txt", "-o", "out.mmt"];
    golden("trace-import-unknown-format-of-nothing", &f.mmsim(&import));
    f.write("names.toml", replay("t.mmt").replacen("name = \"x\"", "name = \"two\\nlines\"", 1));
    golden("name-of-two-lines", &f.mmsim(&["run", "names.toml"]));
    std::fs::create_dir(f.path("dir")).expect("a folder");
    golden("trace-info-of-a-folder", &f.mmsim(&["trace", "head", "dir"]));
    f.write("t.mmt", "not a trace at all, but long enough to be looked at");
    run("no-trace");
    let whole = std::fs::read(repository("traces/sort.mmt")).expect("a trace");
    f.write("t.mmt", &whole[..whole.len() / 2]);
    run("truncated-trace");
    f.write("t.mmt", &whole[..7]);
    run("truncated-head");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x10;
    f.write("t.mmt", &flipped);
    run("corrupt-trace");
    flipped.clone_from(&whole);
    flipped[60] ^= 0x10;
    f.write("t.mmt", &flipped);
    run("corrupt-table");
    let mut old = whole.clone();
    old[8] = 1;
    f.write("t.mmt", &old);
    run("old-trace");
    // The four bytes after the head of the table are zstd's own, of which some have no meaning.
    assert_eq!(whole[16..18], *b"T\x01", "a compressed table");
    for at in 34..46 {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x20;
        f.write("t.mmt", &flipped);
        let said = f.mmsim(&["trace", "info", "t.mmt"]);
        assert_eq!(said.code, Some(2), "byte {at}");
        assert!(said.stderr.contains("the digest of the block"), "{}", said.stderr);
    }
}

#[test]
fn imports() {
    let f = Folder::new();
    let import = |name: &str, text: &str, from: &str| {
        f.write("in.txt", text);
        let said = f.mmsim(&["trace", "import", "--from", from, "in.txt", "-o", "out.mmt"]);
        golden(name, &said);
        assert_eq!(said.code, Some(2), "{name}");
        assert_eq!(f.names(), ["in.txt"], "{name}");
    };
    import("import-beyond-addresses", "R 1\nW 0x2 3\nR 0x800000000\n", "pages");
    import("import-end-beyond-addresses", "R 0x7ffffffff 2\n", "pages");
    import("import-of-no-number", "R 1\nR one\n", "pages");
    import("import-of-no-lackey", "I  04016b70,3\n L zz,8\n", "lackey");
    import("import-of-no-format", "R 1\n", "page");
    import("import-of-nothing", "", "pages");
    import("import-of-no-column", "lbn,op\n1,R\n", "csv");
    import("import-of-no-csv-number", "page,op\n1,R\n2x,R\n", "csv");
    import("import-of-few-fields", "page,op\n1,R\n2\n", "csv");
    import("import-of-no-unit", "page,time\n1,5\n", "csv");
    import("import-of-half-a-record", "123456", "raw-u32");
    import("import-of-unknown-operations", "page,op\n1,0\n2,1\n3,0\n", "csv");
    import("import-of-drmemtrace", "a folder", "drmemtrace");
    f.write("in.txt", "0,8,4096,W,1.5\n0,8,4096,W,0.5\n");
    let like = |shape| ["trace", "import", "--like", shape, "in.txt", "-o", "out.mmt"];
    for (name, shape) in [("import-of-earlier-times", "spc"), ("import-of-no-shape", "spcc")] {
        let said = f.mmsim(&like(shape));
        golden(name, &said);
        assert_eq!((said.code, f.names()), (Some(2), vec!["in.txt".to_string()]), "{name}");
    }
    // An option for another format is not passed over.
    f.write("in.txt", "R 1\n");
    let import = ["trace", "import", "--from", "pages", "in.txt", "-o", "out.mmt"];
    let said = f.mmsim(&[&import[..], &["--page-size", "8192"]].concat());
    golden("import-with-an-option-of-csv", &said);
    assert_eq!((said.code, f.names()), (Some(2), vec!["in.txt".to_string()]));
}

#[test]
fn traces_for_benchmarks() {
    let f = Folder::new();
    f.write("t.bin", [0; 8]);
    f.write("t.u32", [0; 6]);
    f.write("t.oracleGeneral", [0; 30]);
    f.write("good.u32", [0; 8]);
    let bench = |name: &str, args: &[&str]| {
        let all = [&["bench-trace"], args, &["--frames", "1000", "-o", "report"]].concat();
        let said = f.mmsim(&all);
        golden(name, &said);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{name}");
        assert!(!f.names().contains(&"report".to_string()), "{name}");
    };
    bench("bench-of-no-format", &["t.bin"]);
    bench("bench-of-unknown-format", &["t.bin", "--from", "u16"]);
    bench("bench-of-half-a-record", &["t.u32"]);
    bench("bench-of-half-an-object", &["t.oracleGeneral"]);
    bench("bench-of-no-file", &["none.u32"]);
    bench("bench-of-no-preset", &["good.u32", "--reclaim", "classic-v7"]);
    bench("bench-of-no-device", &["good.u32", "--swap", "floppy"]);
}

#[test]
fn less_memory_than_a_workload_needs() {
    let f = Folder::new();
    f.write("t.mmt", std::fs::read(repository("traces/sort.mmt")).expect("a trace"));
    let zone = "cpus = 1\nzone = [{ kind = \"Normal\", managed = \"12 pages\" }]\n";
    let memory = "memory = \"16MiB\"\ncpus = 1\n";
    f.write("x.toml", replay("t.mmt").replace(memory, zone));
    let said = f.mmsim(&["run", "x.toml"]);
    golden("less-than-the-minimum", &said);
    assert_eq!(said.code, Some(2));
}

#[test]
fn out_of_memory() {
    let no_slots = |extra: &str| {
        GOOD.replace("size = \"64MiB\"", "size = \"0 pages\"")
            .replace("memory = \"8MiB\"", "memory = \"32MiB\"\nwrite = true")
            .replace("seed = 1\n", &format!("seed = 1\n{extra}"))
    };
    let f = Folder::new();
    f.write("x.toml", no_slots(""));
    let said = f.mmsim(&["run", "x.toml"]);
    golden("out-of-memory", &said);
    assert_eq!(said.code, Some(3));
    // The report is there all the same.
    assert!(said.stdout.contains("out of memory"), "{}", said.stdout);
    f.write("x.toml", no_slots("expect-oom = true\n"));
    let said = f.mmsim(&["run", "x.toml"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
}

/// Blocks that must not fail, more of them than there is memory: the run ends with exit code 3, says
/// who waits for what, and its report is there.
#[test]
fn stuck() {
    let f = Folder::new();
    let task = "workload = \"kernel-alloc\"\norder = 5\nretry = \"nofail\"\nattempts = 5000\n";
    f.write("x.toml", format!("name = \"x\"\n[machine]\nmemory = \"64MiB\"\n[[task]]\n{task}"));
    let said = f.mmsim(&["run", "x.toml"]);
    golden("stuck", &said);
    assert_eq!(said.code, Some(3));
    assert!(said.stdout.contains("stuck"), "{}", said.stdout);
    let said = f.mmsim(&["run", "x.toml", "--format", "json"]);
    assert_eq!(said.code, Some(3));
    assert!(said.stdout.contains("\"outcome\": \"stuck\""), "{}", said.stdout);
}

#[test]
fn results_that_cannot_be_written() {
    let f = Folder::new();
    f.write("x.toml", GOOD);
    for (name, option) in
        [("output", "-o"), ("events", "--events"), ("series", "--series"), ("timing", "--timing")]
    {
        let said = f.mmsim(&["run", "x.toml", option, "no/such/file"]);
        golden(&format!("no-folder-for-{name}"), &said);
        // Nothing ran in vain.
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{option}");
        assert_eq!(f.names(), ["x.toml"]);
    }
}

#[test]
fn files_of_the_kernel_that_cannot_be() {
    let f = Folder::new();
    f.write("x.toml", GOOD);
    f.write("notes", "");
    for (name, emit, dir) in [
        ("emit-of-no-kind", "vmstat,meminfo", "files"),
        ("emit-into-a-file", "vmstat", "notes"),
        ("no-folder-for-emit", "vmstat", "no/such"),
    ] {
        let said = f.mmsim(&["run", "x.toml", "--emit", emit, "--emit-dir", dir]);
        golden(name, &said);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{name}");
        assert_eq!(f.names(), ["notes", "x.toml"]);
    }
    let said = f.mmsim(&["run", "x.toml", "--emit", "vmstat"]);
    golden("emit-to-nowhere", &said);
}

#[test]
fn machines_that_cannot_be() {
    let f = Folder::new();
    for (name, args) in [
        ("zoneinfo-of-nothing", &["zoneinfo"][..]),
        ("zoneinfo-of-no-size", &["zoneinfo", "--memory", "16"]),
        ("zoneinfo-of-no-zone", &["zoneinfo", "--zones", "High=5"]),
        ("zoneinfo-of-no-sysctl", &["zoneinfo", "--memory", "1GiB", "--vm", "swapiness=1"]),
        ("memory-of-presets", &["presets", "--memory", "1GiB"]),
        ("text-of-presets", &["presets", "--format", "text"]),
    ] {
        let said = f.mmsim(&[&["list"], args].concat());
        golden(name, &said);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{name}");
    }
}

/// An interrupted command leaves what was there before, and no file of its own.
#[cfg(unix)]
#[test]
fn interrupts_leave_nothing() {
    use std::process::Stdio;
    use std::time::Duration;

    let f = Folder::new();
    let long = "workload = \"uniform\"\naccesses = 4000000000\nmemory = \"24MiB\"";
    f.write("x.toml", GOOD.replace("workload = \"sequential\"\nmemory = \"8MiB\"", long));
    f.write("report", "before");
    let args = ["run", "x.toml", "-o", "report", "--events", "e.jsonl", "--series", "s.csv"];
    let mut child = f
        .command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starting mmsim");
    // It has begun when its temporary files are there.
    let begun = |f: &Folder| f.names().iter().filter(|n| n.starts_with(".mmsim-")).count() >= 2;
    for _ in 0..1000 {
        if begun(&f) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(begun(&f), "{:?}", f.names());
    let killed = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill");
    assert!(killed.success());
    let status = child.wait().expect("the end of mmsim");
    assert_eq!(status.code(), Some(130));
    assert_eq!(f.names(), ["report", "x.toml"]);
    assert_eq!(f.read("report"), "before");
}

#[test]
fn what_is_to_be_reproduced() {
    let f = Folder::new();
    for (name, arguments) in [
        ("reproduce-unknown", &["reproduce", "anon-worksingset"][..]),
        ("reproduce-nothing", &["reproduce"]),
        ("reproduce-table", &["reproduce", "anon-workingset", "--table", "ebizzy-v2-1t"]),
        ("reproduce-scale", &["reproduce", "--all", "--scale", "3"]),
        ("reproduce-to-nowhere", &["reproduce", "--all", "-o", "no/such/folder"]),
    ] {
        let said = f.mmsim(arguments);
        golden(name, &said);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{name}");
    }
}

/// Records that there are not, or not like this.
#[test]
fn records() {
    let f = Folder::new();
    f.write("x.toml", GOOD);
    let line = "kdamond.0 1 [000] 1.000000: damon:damon_aggregated: target_id=3 nr_regions=1 ";
    f.write("good.txt", format!("{line}0-4096: 3 7\n"));
    f.write("bad.txt", format!("{line}0-4096: 3 7\n{line}0-4o96: 3 7\n"));
    f.write("none.txt", "swapper 0 [000] 1.000000: sched:sched_switch: x\n");
    f.write("bad.json", "[{\"snapshots\": [\n  {\"start_time\": \"soon\"}]}]");
    f.write("prose.txt", "What damo wrote yesterday.\n");
    f.write("bytes.bin", [0x7f, 0x45, 0x4c, 0x46, 0xff, 0x00, 0xfe]);
    let cases: &[(&str, &[&str])] = &[
        ("record-without-monitor", &["run", "x.toml", "--damon-record", "records"]),
        ("record-of-no-line", &["damon", "report", "bad.txt"]),
        ("record-of-nothing", &["damon", "heatmap", "none.txt"]),
        ("record-of-no-time", &["damon", "report", "bad.json"]),
        ("record-of-prose", &["damon", "report", "prose.txt"]),
        ("record-of-bytes", &["trace", "import", "--from", "damon", "bytes.bin", "-o", "o.mmt"]),
        ("record-without-target", &["damon", "report", "good.txt", "--target", "4"]),
        ("record-without-snapshot", &["damon", "report", "good.txt", "--snapshot", "2"]),
        ("record-without-address", &["damon", "heatmap", "good.txt", "--address", "0x2000-0x3000"]),
        ("record-over-itself", &["damon", "report", "good.txt", "-o", "good.txt"]),
        (
            "record-imported-wrong",
            &["trace", "import", "--from", "damon", "bad.txt", "-o", "o.mmt"],
        ),
    ];
    let before = f.names();
    for (name, arguments) in cases {
        let said = f.mmsim(arguments);
        golden(name, &said);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{name}");
        assert_eq!(f.names(), before);
    }
    assert_eq!(f.mmsim(&["damon", "report", "good.txt"]).code, Some(0));
}
