//! `mmsim bench-trace` as a program: what it prints, in every form, and that only the times
//! of the host differ from run to run.

mod support;

use support::Folder;

/// 20 000 requests: a page of four hot ones, or one of 2000 in turn.
fn requests() -> Vec<u8> {
    let page = |i: u32| if i.is_multiple_of(2) { i / 2 % 4 } else { 4 + i / 2 % 2000 };
    (0..20_000).flat_map(|i| page(i).to_le_bytes()).collect()
}

#[test]
fn the_document_holds_times_in_one_place_only() {
    let f = Folder::new();
    f.write("t.u32", requests());
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
    let f = Folder::new();
    f.write("t.bin", requests());
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

/// Several sizes are the runs of each, whatever runs at the same time.
#[test]
fn several_sizes_in_one_command() {
    let f = Folder::new();
    f.write("t.u32", requests());
    let of = |args: &[&str]| {
        let said = f.mmsim(&[&["bench-trace", "t.u32"], args].concat());
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        said.stdout
    };
    let json = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(&of(&[args, &["--format", "json"]].concat())).expect("a document")
    };
    let both = json(&["--frames", "1000,3000", "--jobs", "2"]);
    for (i, frames) in ["1000", "3000"].into_iter().enumerate() {
        let alone = json(&["--frames", frames]);
        for key in ["frames", "misses", "miss_ratio", "run"] {
            assert_eq!(both["sizes"][i][key], alone[key], "{key} with {frames} frames");
        }
    }
    let csv = of(&["--frames", "1000,3000", "--format", "csv"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "frames,peak resident pages,misses,miss ratio,pswpin,pswpout");
    assert!(lines[1].starts_with("1000,") && lines[2].starts_with("3000,2004,2004,0.100200,0,"));
    let table = of(&["--frames", "1000,3000"]);
    assert!(table.contains("requests, each size"), "{table}");
}

/// What is imported is said, stored, and said again by `info` and by the report of a replay.
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
