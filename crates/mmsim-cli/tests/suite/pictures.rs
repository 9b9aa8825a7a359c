//! Pictures of runs: the same for the same runs, however they were made.

use crate::harness::{self, Folder, repository};
use crate::observers::complaints;

/// The command of docs/pictures.md draws the picture that stands there; `MMSIM_BLESS=1` draws it anew.
#[test]
fn the_documents_picture_is_current() {
    let f = Folder::new();
    let scenario = repository("scenarios/ebizzy-anon.toml");
    let scenario = scenario.to_str().expect("a plain path");
    let args = ["--variant", "v6.12", "--seeds", "1", "--svg", "x.svg", "-o", "r.json"];
    let said = f.mmsim(&[&["run", scenario], &args[..]].concat());
    assert_eq!((said.code, complaints(&said)), (Some(0), vec![]));
    let (drawn, path) = (f.read("x.svg"), repository("docs/time-line.svg"));
    assert!(drawn.len() < 60_000, "{} bytes", drawn.len());
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(&path, &drawn).expect("docs/time-line.svg is written");
    }
    assert!(drawn == std::fs::read_to_string(&path).unwrap_or_default(), "draw it anew");
}

/// Pages of `run` are the same bytes for any number of jobs, and recording changes no report.
#[test]
fn a_page_is_the_same_for_any_number_of_jobs() {
    let f = Folder::new();
    f.write("x.toml", harness::heap_and_file(20, 24, 8));
    let run = |name: &str, more: &[&str]| {
        let json = format!("{name}.json");
        let said = f.mmsim(&[&["run", "x.toml", "--seeds", "2", "-o", &json], more].concat());
        assert_eq!((said.code, complaints(&said)), (Some(0), vec![]));
    };
    run("plain", &[]);
    run("one", &["--jobs", "1", "--html", "one.html", "--html-pages", "--svg", "one.svg"]);
    run(
        "more",
        &[
            "--html",
            "more.html",
            "--html-pages",
            "--svg",
            "more.svg",
            "--events",
            "e.jsonl",
            "--events-filter",
            "kind=sim_evict",
        ],
    );
    assert!(f.read("plain.json") == f.read("one.json"), "a picture changed the runs");
    assert!(f.read("one.html") == f.read("more.html"), "jobs or other observers changed the page");
    assert_eq!(f.read("one.svg"), f.read("more.svg"));
    assert!(f.read("one.svg").starts_with("<svg xmlns="));
    // What is made of the report and its series later has the same table, and the same points.
    run("late", &["--series", "s.csv", "--every", "10ms"]);
    let said = f.mmsim(&["view", "late.json", "--series", "s.csv", "-o", "late.html"]);
    assert_eq!((said.code, complaints(&said)), (Some(0), vec![]));
    let plain = |name: &str| {
        let page = f.read(name);
        page[..page.find("<div id=\"views\"").expect("a place for views")].to_string()
    };
    assert_eq!(plain("late.html"), plain("one.html"));
    let to_stdout = f.mmsim(&["view", "late.json", "--series", "s.csv"]).stdout;
    assert!(to_stdout == f.read("late.html"));
}

/// Reports of two sizes, by the sizes that their names are, are drawn beside each other as a curve;
/// reports of two scenarios are not.
#[test]
fn reports_of_two_sizes_are_a_curve() {
    let f = Folder::new();
    f.write("x.toml", harness::heap_and_file(8, 10, 4));
    for size in ["8MiB", "12MiB"] {
        let set = format!("machine.memory={size}");
        let said = f.mmsim(&["run", "x.toml", "--set", &set, "-o", &format!("{size}.json")]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    f.write(
        "other.json",
        f.read("8MiB.json").replacen("\"scenario\": \"", "\"scenario\": \"o-", 1),
    );
    let page = |args: &[&str]| {
        let said = f.mmsim(&[&["view"], args].concat());
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        said.stdout
    };
    let both = page(&["8MiB.json", "12MiB.json", "--by", "swap-ins"]);
    assert!(both.contains(": swap-ins over report") && both.contains("report, MiB"));
    let others = page(&["8MiB.json", "other.json", "--by", "swap-ins"]);
    assert!(!others.contains("over report"));
}

/// Data that pages keep of a run change no report, and are the same for any number of jobs; the
/// folded stacks sum to the report's refaults.
#[test]
fn what_pages_keep_is_the_runs() {
    let f = Folder::new();
    f.write("x.toml", harness::heap_and_file(20, 24, 8));
    let run = |name: &str, more: &[&str]| {
        let json = format!("{name}.json");
        let said = f.mmsim(&[&["run", "x.toml", "--why", "-o", &json], more].concat());
        assert_eq!((said.code, complaints(&said)), (Some(0), vec![]));
    };
    let all = ["--html-blocks", "--html-pages", "--folded"];
    run("plain", &[]);
    run("one", &[&["--jobs", "1", "--html", "one.html"], &all[..], &["one.folded"]].concat());
    run("more", &[&["--html", "more.html"], &all[..], &["more.folded"]].concat());
    assert!(f.read("plain.json") == f.read("one.json"), "a picture changed the runs");
    assert!(f.read("one.html") == f.read("more.html"), "jobs changed the page");
    assert_eq!(f.read("one.folded"), f.read("more.folded"));
    let report: serde_json::Value = serde_json::from_str(&f.read("plain.json")).expect("JSON");
    let (mut stacks, mut counted) = (0, 0);
    for line in f.read("one.folded").lines() {
        let (stack, count) = line.rsplit_once(' ').expect("a count");
        assert_eq!(stack.split(';').count(), 5, "{line}");
        stacks += count.parse::<u64>().expect("a number");
    }
    for run in report["runs"].as_array().expect("runs") {
        counted += run["why"]["refaults"].as_u64().expect("a number");
    }
    assert!(counted > 0 && stacks == counted, "{stacks} of {counted}");
}
