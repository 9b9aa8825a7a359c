//! Every shipped scenario is accepted with the policies that there are, its resolved form
//! gives the same runs, and each of its runs becomes a machine that does its work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mmsim::Scenario;
use mmsim::base::vmstat::VmEvent;
use mmsim::machine::Watch;
use mmsim::machine::result::Outcome;
use mmsim::machines::{self, Catalogue};
use mmsim::report::{Report, RunReport, expect, opt};
use mmsim::scenario::RunSpec;
use rayon::prelude::*;

fn shipped() -> Vec<PathBuf> {
    files_of(&root().join("scenarios"))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files_of(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .expect("a folder of scenarios")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    files
}

fn runs(path: &Path, overrides: &[(&str, &str)]) -> Vec<RunSpec> {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let s = Scenario::load(path, &overrides).unwrap_or_else(|e| panic!("{e}"));
    s.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_shipped_file_expands_and_resolves() {
    let mut about = BTreeMap::new();
    for path in shipped().into_iter().chain(files_of(&root().join("scenarios/performance"))) {
        let s = Scenario::from_path(&path).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(Some(s.name()), path.file_stem().and_then(|n| n.to_str()));
        assert!(!s.about().is_empty(), "{} says nothing about itself", s.name());
        let runs = s.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
        assert!(!runs.is_empty());
        let text = s.resolved();
        let origin = path.display().to_string();
        let again = Scenario::from_str(&text, &origin).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(again.expand(&Catalogue).as_ref(), Ok(&runs), "{}", s.name());
        assert_eq!(again.resolved(), text, "{}", s.name());
        let file = path.strip_prefix(root().join("scenarios")).expect("below it").display();
        about.insert(file.to_string(), s.about().to_string());
    }
    readme_tells(&about);
}

/// `scenarios/README.md` has a row for each file, with what the file says it is.
/// `MMSIM_BLESS=1` rewrites the rows; which section a file stands in is chosen there.
fn readme_tells(about: &BTreeMap<String, String>) {
    let path = root().join("scenarios/README.md");
    let text = std::fs::read_to_string(&path).expect("scenarios/README.md");
    let mut rows = Vec::new();
    let line = |line: &str| match line.strip_prefix("| [").and_then(|l| l.split_once("](")) {
        Some((name, _)) => {
            let file = format!("{name}.toml");
            rows.push(file.clone());
            let about = about.get(&file).unwrap_or_else(|| panic!("there is no {file}"));
            format!("| [{name}]({file}) | {about} |\n")
        }
        None => format!("{line}\n"),
    };
    let new: String = text.lines().map(line).collect();
    rows.sort();
    assert!(rows.iter().eq(about.keys()), "files {about:#?}, rows {rows:#?}");
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(&path, new).expect("rewriting it");
    } else {
        assert_eq!(text, new, "run the test with MMSIM_BLESS=1 and look at the difference");
    }
}

#[test]
fn every_run_becomes_a_machine() {
    for path in shipped() {
        let scenario = Scenario::from_path(&path).unwrap_or_else(|e| panic!("{e}"));
        let runs = machines::specs(&scenario).unwrap_or_else(|e| panic!("{e}"));
        for run in runs {
            let machine = machines::machine(&run);
            assert!(machine.is_ok(), "{}: {}", path.display(), machine.err().unwrap());
        }
    }
}

/// What makes a long scenario short; the others run whole.
const LESS: &[(&str, &[(&str, &str)])] = &[
    (
        "build-frag-unmovable",
        &[("task[2].duration", "4s"), ("task[3].start", "13s"), ("task[3].attempts", "300")],
    ),
    (
        "decay",
        &[
            ("task[0].duration", "4s"),
            ("task[1].attempts", "3000"),
            ("task[2].start", "1s"),
            ("task[2].attempts", "10"),
            ("task[2].rounds", "2"),
            ("task[2].rest", "100ms"),
        ],
    ),
    ("detection", &[("seeds", "1")]),
    ("ebizzy-anon", &[("seeds", "1"), ("task[0].records", "300")]),
    ("kernel-build", &[("seeds", "1"), ("task[0].records", "80"), ("machine.memory", "320MiB")]),
    ("lazily-activate", &[("seeds", "1"), ("task[0].records", "48")]),
    ("replay-cc1", &[("task[0].repeat", "1")]),
    ("replay-python", &[("task[0].repeat", "1")]),
    ("replay-sort", &[("task[0].repeat", "1")]),
    ("replay-sqlite", &[("task[0].repeat", "1")]),
    ("uniform", &[("seeds", "1"), ("task[0].accesses", "100000")]),
    ("zipf-anon", &[("seeds", "1"), ("task[0].accesses", "100000")]),
];

/// At the first value of every axis only.
const FIRST_POINT: &[&str] = &["damon-accuracy", "uniform", "zipf-anon"];

/// What these are to show needs the whole of them: `mmsim run` asks it.
const WHOLE_ONLY: &[&str] = &["build-frag-unmovable", "decay", "kernel-build"];

/// The first seed of every variant at every value of the axes, audited at the end. At the first
/// values none fetches less again than the optimum would; what the scenario expects holds.
#[test]
fn every_variant_runs_and_shows_what_it_is_for() {
    let mut wrong = Vec::new();
    let files = shipped();
    let name = |path: &Path| path.file_stem().and_then(|n| n.to_str()).map(str::to_string);
    for (scenario, _) in LESS {
        assert!(files.iter().any(|f| name(f).as_deref() == Some(scenario)), "no {scenario}");
    }
    for path in files {
        let less = LESS.iter().find(|(n, _)| name(&path).as_deref() == Some(n));
        let mut runs = runs(&path, less.map_or(&[], |l| l.1));
        let first = runs[0].clone();
        let one_point = FIRST_POINT.iter().any(|n| name(&path).as_deref() == Some(n));
        runs.retain(|r| r.seed == first.seed && (!one_point || r.axes == first.axes));
        let report_of = |run: &RunSpec| {
            let label = format!("{}, {}", path.display(), run.variant);
            let mut machine = machines::machine(run).unwrap_or_else(|e| panic!("{label}: {e}"));
            let record_accesses = run.axes == first.axes;
            let result = machine.run(Watch::default().with_record_accesses(record_accesses));
            machine.check();
            // Of files the first reads count as well, a page of them as four.
            let fetched = result.vmstat[VmEvent::PswpIn] + result.vmstat[VmEvent::PgpgIn] / 4;
            let recorded = machine.recorded_accesses();
            let least = opt::bounds(recorded, result.peak_resident, false).sim_opt_refetches;
            assert!(least <= fetched, "{label}: MIN fetches {least} again, the run {fetched}");
            let killed = matches!(result.outcome, Outcome::OutOfMemory(_));
            assert_eq!(killed, run.expect_oom, "{label}");
            assert!(result.accesses + result.records > 0, "{label}");
            let mut meta = mmsim::run::meta(run);
            meta.damon = machines::monitored(run, &machine);
            RunReport::from_result(meta, &result)
        };
        let reports = runs.par_iter().with_max_len(1).map(report_of).collect();
        let scenario = Scenario::from_path(&path).unwrap_or_else(|e| panic!("{e}"));
        let report = Report::new(scenario.name(), "", reports);
        let checked = expect::check(&report, None, scenario.expect());
        // Where a monitor is held against the truth, that takes another run.
        let asked = checked.iter().filter(|e| !e.expected.contains(".truth."));
        let whole_only = WHOLE_ONLY.contains(&scenario.name());
        wrong.extend(
            asked
                .clone()
                .filter(|e| !e.holds && !whole_only)
                .map(|e| format!("{}: {}; found {}", scenario.name(), e.expected, e.found)),
        );
        assert!(asked.count() > 0 || one_point, "{} is asked nothing", scenario.name());
        assert!(!scenario.expect().is_empty(), "{} expects nothing", scenario.name());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
