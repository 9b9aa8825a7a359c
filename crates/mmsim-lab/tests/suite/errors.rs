//! Reports, recordings and published experiments that cannot be compared with anything.

use crate::golden::Golden;
use crate::harness::{Folder, repository};

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

/// Validations of which no page can be made. Nothing is written then.
#[test]
fn validations_that_cannot_be_viewed() {
    let golden = Golden::of("view");
    let f = Folder::new();
    std::fs::create_dir(f.path("mine")).expect("a folder");
    f.write("mine/point.json", ONE_POINT);
    let said = f.mmsim(&["validate", "mine", "--point", "p", "-o", "v.json"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let validation = f.read("v.json");
    f.write("later-v.json", validation.replacen("\"schema\": 1", "\"schema\": 2", 1));
    f.write("other-v.json", validation.replacen("\"point\": \"p\"", "\"point\": 7", 1));
    f.write("cut-v.json", &validation[..validation.len() / 2]);
    let before = f.names();
    let refused = |name: &str, args: &[&str]| {
        let said = f.mmsim(args);
        golden.is(name, &said);
        assert_eq!((said.code, f.names()), (Some(2), before.clone()), "{name}");
    };
    refused("view-of-a-later-validation", &["view", "later-v.json", "-o", "out.html"]);
    refused("view-of-a-damaged-validation", &["view", "other-v.json", "-o", "out.html"]);
    refused("view-of-a-cut-off-validation", &["view", "cut-v.json", "-o", "out.html"]);
    refused("view-of-a-recording", &["view", "mine/point.json", "-o", "out.html"]);
    refused("view-of-another-ending", &["view", "v.json", "-o", "v.json"]);
    let html = ["validate", "mine", "--html"];
    refused("validation-of-another-ending", &[&html[..], &["v.csv"]].concat());
    refused("validation-into-nowhere", &[&html[..], &["no/such.html"]].concat());
    let twice = [&html[..], &["v.html", "-o", "v.html", "--format", "json"]].concat();
    refused("validation-twice-in-one-file", &twice);
    refused("quick-and-point", &["validate", "d", "--quick", "--point", "p"]);
    refused("misspelt-verb", &["vaildate"]);
    let said = f.mmsim(&["view", "v.json", "-o", "out.html"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    assert!(f.read("out.html").contains("zipf-anon"));
}

/// A recorded point.
const ONE_POINT: &str = r#"{ "experiment": "zipf-anon", "points": [
{ "id": "p", "kernel": "6.12.117", "lru": "classic", "repetitions": 1,
  "zones_at_start": { "Normal": { "managed": 2000, "free": 1500, "min": 20, "low": 25, "high": 30,
    "lowmem_reserve": [0, 0, 0, 0, 0], "pcp": { "count": 3, "high": 10, "batch": 2 } } },
  "script": ["zram 41943040", "snapx start", "anon 0 1000", "fill 0 0 1000", "snap one"],
  "phases": [{ "phase": "one", "counters": { "pgfault": 1000, "pswpout": 5000 } }] }
] }
"#;
