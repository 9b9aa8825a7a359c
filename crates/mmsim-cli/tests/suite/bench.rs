//! `mmsim bench-trace` as a program: what it prints, in every form, and that only the times
//! of the host differ from run to run.

use crate::harness::Folder;

/// 20 000 requests: a page of four hot ones, or one of 2000 in turn.
fn requests() -> Vec<u8> {
    let page = |i: u32| if i.is_multiple_of(2) { i / 2 % 4 } else { 4 + i / 2 % 2000 };
    (0..20_000).flat_map(|i| page(i).to_le_bytes()).collect()
}

#[test]
fn the_document_holds_times_in_one_place_only() {
    let f = Folder::with("t.u32", requests());
    let run = || {
        let said = f.mmsim(&["bench-trace", "t.u32", "--frames", "1000", "--format", "json"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        let mut document: serde_json::Value =
            serde_json::from_str(&said.stdout).expect("a document");
        let timing = document["timing"].take();
        assert!(timing["cpu_s"].as_f64().is_some_and(|s| s > 0.0), "{timing}");
        assert!(timing["requests_per_cpu_s"].as_f64().is_some_and(|r| r > 0.0), "{timing}");
        document
    };
    let document = run();
    assert_eq!(document, run());
    assert_eq!(document["trace"]["requests"], 20_000);
    assert_eq!(document["trace"]["distinct_pages"], 2004);
    assert_eq!(document["trace"]["format"], "raw-u32");
    // A cycle of 2000 pages in fewer than 1000 frames misses nearly always under any LRU;
    // the four hot pages hardly ever.
    let misses = document["misses"].as_u64().expect("a number");
    assert!((9_000..=10_100).contains(&misses), "{misses}");
    let counter = |name: &str| document["run"]["vmstat"][name].as_u64().expect("a counter");
    assert_eq!(misses, 2004 + counter("pgmajfault"));
    assert_eq!(counter("sim_accesses"), 20_000);
    assert_eq!(document["run"]["policy"], "classic-v6.12");
}

#[test]
fn people_are_told_the_same() {
    let f = Folder::with("t.bin", requests());
    let args = ["bench-trace", "t.bin", "--from", "raw-u32", "--frames", "3000"];
    let table = f.mmsim(&args).stdout;
    for line in ["requests                  20,000", "misses                    2,004", "assumed"] {
        assert!(table.contains(line), "{line:?} in\n{table}");
    }
    let csv = f.mmsim(&[&args[..], &["--format", "csv", "--reclaim", "random"]].concat()).stdout;
    for line in ["name,value", "requests,20000", "distinct pages,2004", "policy,random"] {
        assert!(csv.lines().any(|l| l == line), "{line:?} in\n{csv}");
    }
}

/// Several sizes are a curve, and the error has the command that draws it.
#[test]
fn several_sizes_are_a_curve() {
    let f = Folder::with("t.u32", requests());
    let said = f.mmsim(&["bench-trace", "t.u32", "--frames", "50%,3000", "--frames", "8MiB"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{}", said.stderr);
    let command = "curve t.u32 --memory 50%,3000,2048";
    assert!(said.stderr.contains(&format!("`mmsim {command}`")), "{}", said.stderr);
    let args: Vec<&str> = command.split(' ').collect();
    let said = f.mmsim(&[&args[..], &["--format", "csv"]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

/// The policies in their order; a size in bytes and a share of the 2004 pages are numbers of frames.
#[test]
fn several_policies_and_frames_in_any_unit() {
    let f = Folder::with("t.u32", requests());
    let rows = |args: &[&str]| {
        let all = [&["bench-trace", "t.u32", "--format", "csv"], args].concat();
        let said = f.mmsim(&all);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{}", said.stderr);
        let firsts = |l: &str| l.split(',').take(3).collect::<Vec<_>>().join(",");
        said.stdout.lines().skip(1).map(firsts).collect::<Vec<_>>()
    };
    let both = ["--reclaim", "classic-v6.12,random"];
    let expected = ["1002,classic-v6.12,completed", "1002,random,completed"];
    assert_eq!(rows(&[&["--frames", "50%"][..], &both].concat()), expected);
    let twice = ["--reclaim", "classic-v6.12", "--reclaim", "random"];
    let expected = expected.map(|row| row.replace("1002", "1024"));
    assert_eq!(rows(&[&["--frames", "4MiB"][..], &twice].concat()), expected);
    for (frames, says) in [
        ("1%", "1% of 2004 pages are 20 frames: a machine has 64 to"),
        ("63", "63 frames: a machine has 64 to"),
        ("10 per cent", "write pages (1000), a size (64MiB) or a share of the trace's pages (10%)"),
        ("-1%", "write pages (1000)"),
        ("nan%", "write pages (1000)"),
        ("1B", "write pages (1000)"),
    ] {
        let said = f.mmsim(&["bench-trace", "t.u32", &format!("--frames={frames}")]);
        assert_eq!(said.code, Some(2), "{frames}");
        assert!(said.stderr.contains(says), "{frames}: {}", said.stderr);
    }
}

/// A run that dies has an outcome and no misses, beside whatever it is shown.
#[test]
fn a_run_that_died_has_no_miss_ratio() {
    let f = Folder::with("t.u32", requests());
    // Ten pages of swap: 1000 frames do not hold the rest.
    let few = ["bench-trace", "t.u32", "--set", "machine.swap.size=40KiB", "--frames"];
    let both = ["--reclaim", "classic-v6.12,random", "--format", "csv"];
    let said = f.mmsim(&[&few[..], &["1000"], &both].concat());
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    let lines: Vec<&str> = said.stdout.lines().collect();
    let cells: Vec<&str> = lines[1].split(',').collect();
    assert_eq!((cells[2], &cells[4..]), ("out of memory", &["", "", "", ""][..]));
    let said = f.mmsim(&[&few[..], &["3000"], &both].concat());
    let line = said.stdout.lines().nth(1).unwrap_or_default();
    assert!(line.starts_with("3000,classic-v6.12,completed,2004,2004,"), "{line}");
    let said = f.mmsim(&[&few[..], &["1000"]].concat());
    let line = |name: &str| {
        let line = said.stdout.lines().find(|l| l.starts_with(name)).expect("a line");
        line[name.len()..].trim().to_string()
    };
    assert_eq!((line("outcome"), line("misses")), ("out of memory".into(), "-".into()));
    assert_eq!((line("miss ratio"), line("pgfault")), ("-".into(), "-".into()));
    let said = f.mmsim(&[&few[..], &["1000", "--format", "json"]].concat());
    let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("a document");
    assert!(document["misses"].is_null() && document["miss_ratio"].is_null());
    assert_eq!(document["run"]["outcome"], "out of memory");
}

/// Assumptions of an import are printed, stored, and printed again by `info` and by the report of a
/// replay.
#[test]
fn assumptions_travel_with_the_trace() {
    let f = Folder::new();
    let text: String = (0..300).map(|i| format!("{i},{},trim\n{i},{},read\n", i, i * 7)).collect();
    f.write("io.csv", format!("when,lbn,what\n{text}"));
    let columns = "--columns=time=when,page=lbn,op=what";
    let said = f.mmsim(&[
        "trace",
        "import",
        "--from",
        "csv",
        "io.csv",
        columns,
        "--time-unit",
        "us",
        "-o",
        "io.mmt",
    ]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let sentences = [
        "all pages are anonymous memory",
        "300 operations that neither read nor write are left out",
        "times are arrivals, in units of 1000 ns since the first record",
    ];
    let info = f.mmsim(&["trace", "info", "io.mmt"]).stdout;
    f.write(
        "x.toml",
        "seed = 1\n[machine]\nmemory = \"16MiB\"\ncpus = 1\n[[task]]\nname = \"io\"\n\
         workload = \"replay\"\ntrace = \"io.mmt\"\n",
    );
    let report = f.mmsim(&["run", "x.toml", "--format", "json"]).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).expect("a report");
    let assumed = report["runs"][0]["assumed"].as_array().expect("sentences");
    for sentence in sentences {
        assert!(said.stdout.contains(sentence), "{sentence} in\n{}", said.stdout);
        assert!(info.contains(sentence), "{sentence} in\n{info}");
        let named = serde_json::Value::from(format!("io: {sentence}"));
        assert!(assumed.contains(&named), "{sentence} in {assumed:?}");
    }
    let table = f.mmsim(&["run", "x.toml"]).stdout;
    let line = format!("assumed {} things about the work of io\n", assumed.len());
    assert!(table.contains(&line), "{line} in\n{table}");
    let csv = f.mmsim(&["run", "x.toml", "--format", "csv"]).stdout;
    assert_eq!(csv.lines().filter(|l| l.contains(",assumed,")).count(), assumed.len());
}
