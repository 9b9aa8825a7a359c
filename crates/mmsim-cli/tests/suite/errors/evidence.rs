//! Reports, recordings and published experiments that cannot be compared with anything.

use super::{GOOD, Golden};
use crate::harness::{Folder, repository};

/// `x.toml` as a report with these options.
fn report(f: &Folder, name: &str, options: &[&str]) {
    let mut args = vec!["run", "x.toml", "--format", "json", "-o", name];
    args.extend(options);
    let said = f.mmsim(&args);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
fn reports_that_cannot_be_compared() {
    let golden = Golden::of("compare");
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
        golden.is(name, &said);
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
    golden.is("compare-nothing-there", &f.mmsim(&["compare", "a.json", "c.json"]));
    golden.is("compare-over-input", &f.mmsim(&["compare", "a.json", "b.json", "-o", "a.json"]));
    golden.is("compare-per-cent", &f.mmsim(&["compare", "a.json", "b.json", "--fail-above", "-5"]));
    assert_eq!(f.read("a.json"), whole);
}

#[test]
fn compare_as_a_check() {
    let golden = Golden::of("compare-check");
    let f = Folder::new();
    f.write("x.toml", GOOD);
    report(&f, "a.json", &[]);
    report(&f, "b.json", &["--set", "machine.memory=32MiB"]);
    let check = |b: &str, pct: &str| f.mmsim(&["compare", "a.json", b, "--fail-above", pct]);
    assert_eq!(check("a.json", "0").code, Some(0));
    assert_eq!(check("b.json", "1000000").code, Some(0));
    let said = check("b.json", "5");
    golden.is("compare-check", &said);
    // The comparison is there all the same.
    assert!(said.code == Some(1) && said.stdout.contains("zone DMA32, managed"), "{}", said.stdout);
}

#[test]
fn folders_of_recordings() {
    let golden = Golden::of("folders");
    let f = Folder::new();
    let refused = |name: &str, args: &[&str]| {
        let said = f.mmsim(&[&["validate"], args].concat());
        golden.is(name, &said);
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
    let golden = Golden::of("recordings");
    let f = Folder::new();
    std::fs::create_dir(f.path("dir")).expect("a folder");
    f.write("dir/x.json", RECORDING);
    let good = f.mmsim(&["validate", "dir"]);
    assert_eq!((good.code, good.stderr.as_str()), (Some(0), ""));
    let refused = |name: &str, from: &str, to: &str| {
        assert!(RECORDING.contains(from), "{from}");
        f.write("dir/x.json", RECORDING.replacen(from, to, 1));
        let said = f.mmsim(&["validate", "dir", "-o", "result"]);
        golden.is(&format!("recording-{name}"), &said);
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
    golden.is("recording-name-in-two-files", &f.mmsim(&["validate", "dir"]));
}

#[test]
fn cards_of_nothing() {
    let golden = Golden::of("accuracy");
    let f = Folder::new();
    golden.is("accuracy-no-folder", &f.mmsim(&["accuracy"]));
    std::fs::create_dir(f.path("docs")).expect("a folder");
    golden.is("accuracy-no-card", &f.mmsim(&["accuracy", "--check"]));
    golden.is("accuracy-no-words", &f.mmsim(&["accuracy"]));
    std::fs::create_dir(f.path("evidence")).expect("a folder");
    f.write("evidence/gaps.toml", "[[gap]]\nexperiments = \"file\"\n");
    golden.is("accuracy-wrong-words", &f.mmsim(&["accuracy"]));
    f.write("evidence/gaps.toml", "");
    f.write("docs/accuracy.md", "by hand\n");
    f.write("evidence/calibration.toml", "[[constant]]\nlooked_at = \"none\"\n");
    golden.is("accuracy-no-recordings", &f.mmsim(&["accuracy"]));
    std::fs::create_dir_all(f.path("evidence/reference")).expect("a folder");
    f.write("evidence/reference/x.json", RECORDING);
    golden.is("accuracy-no-marks", &f.mmsim(&["accuracy", "--quick"]));
    golden.is("accuracy-by-hand", &f.mmsim(&["accuracy", "--check"]));
    assert_eq!(f.read("docs/accuracy.md"), "by hand\n");
}

#[test]
fn what_is_to_be_reproduced() {
    let golden = Golden::of("reproduce");
    let f = Folder::new();
    for (name, arguments) in [
        ("reproduce-unknown", &["reproduce", "anon-worksingset"][..]),
        ("reproduce-nothing", &["reproduce"]),
        ("reproduce-table", &["reproduce", "anon-workingset", "--table", "ebizzy-v2-1t"]),
        ("reproduce-scale", &["reproduce", "--all", "--scale", "3"]),
        ("reproduce-to-nowhere", &["reproduce", "--all", "-o", "no/such/folder"]),
    ] {
        let said = f.mmsim(arguments);
        golden.is(name, &said);
    }
}
