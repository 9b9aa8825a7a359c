//! Every shipped scenario is accepted with the policies that there are, its resolved form
//! gives the same runs, and each of its runs becomes a machine that does its work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::harness;
use mmsim::base::vmstat::VmEvent;
use mmsim::machine::Watch;
use mmsim::machine::result::Outcome;
use mmsim::machines::{self, Catalogue};
use mmsim::report::opt;
use mmsim::scenario::RunSpec;
use mmsim::{RunOptions, Scenario, run};
use rayon::prelude::*;

fn shipped() -> Vec<PathBuf> {
    files_of(&root().join("scenarios"))
}

fn reports() -> Vec<PathBuf> {
    files_of(&root().join("scenarios/reports"))
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
    let s = harness::loaded(path, overrides);
    s.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_shipped_file_expands_and_resolves() {
    let mut about = BTreeMap::new();
    let performance = files_of(&root().join("scenarios/performance"));
    for path in shipped().into_iter().chain(reports()).chain(performance) {
        let s = Scenario::from_path(&path).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(Some(s.name()), path.file_stem().and_then(|n| n.to_str()));
        assert!(!s.about().is_empty(), "{} says nothing about itself", s.name());
        let runs = s.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
        assert!(!runs.is_empty());
        let expects = !path.parent().is_some_and(|p| p.ends_with("performance"));
        assert!(!expects || !s.expect().is_empty(), "{} expects nothing", s.name());
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

/// Each runs whole, audited: public reports and measurements hold here too. `.ci/run` runs them with
/// the release.
#[test]
#[ignore = "a quarter of a minute; tools/deep-check audit runs them too"]
fn public_reports_are_what_runs_show() {
    reports().par_iter().with_max_len(1).for_each(|path| {
        let scenario = Scenario::from_path(path).unwrap_or_else(|e| panic!("{e}"));
        let report = run(&scenario, &RunOptions::default().with_jobs(1).with_check(true));
        let report = report.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(report.expect.len() >= scenario.expect().len(), "{}", path.display());
        let missed: Vec<_> = report.expect.iter().filter(|e| !e.holds).collect();
        assert!(missed.is_empty(), "{}: {missed:#?}", path.display());
    });
}

/// Runs of every variant, at both ends of the axes.
#[test]
fn every_run_becomes_a_machine() {
    for path in shipped() {
        let scenario = Scenario::from_path(&path).unwrap_or_else(|e| panic!("{e}"));
        let runs = machines::specs(&scenario).unwrap_or_else(|e| panic!("{e}"));
        let (first, last) = (runs[0].clone(), runs[runs.len() - 1].axes.clone());
        let at_ends = |r: &&RunSpec| [&first.axes, &last].contains(&&r.axes);
        runs.par_iter().filter(at_ends).filter(|r| r.seed == first.seed).for_each(|run| {
            let machine = machines::machine(run);
            assert!(machine.is_ok(), "{}: {}", path.display(), machine.err().unwrap());
        });
    }
}

/// Settings that make a long scenario short; the others run whole.
const LESS: &[(&str, &[(&str, &str)])] = &[
    (
        "build-frag-unmovable",
        &[("task[2].duration", "4s"), ("task[3].start", "13s"), ("task[3].attempts", "300")],
    ),
    ("damon-accuracy", &[("seeds", "1"), ("task[0].steps[3].times", "300")]),
    ("damon-reclaim", &[("task[0].steps[1].times", "200")]),
    ("damon-stairs", &[("task[0].config", "masim-stairs.cfg"), ("machine.cost.t_hit", "1us")]),
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
    ("kernel-build", &[("seeds", "1"), ("task[0].records", "40"), ("machine.memory", "320MiB")]),
    ("lazily-activate", &[("seeds", "1"), ("task[0].records", "48")]),
    ("replay-cc1", &[("task[0].repeat", "1")]),
    ("replay-python", &[("task[0].repeat", "1")]),
    ("replay-sort", &[("task[0].repeat", "1")]),
    ("replay-sqlite", &[("task[0].repeat", "1")]),
    ("uniform", &[("seeds", "1"), ("task[0].accesses", "100000")]),
    ("zipf-anon", &[("seeds", "1"), ("task[0].accesses", "100000")]),
];

/// The first variant or, of every other file, the last, with the first seed at the first values of
/// the axes, audited at the end. `tools/deep-check audit` takes all.
/// None fetches less again than the optimum would. What is expected of whole runs `mmsim run` asks.
#[test]
fn runs_are_sound_and_none_beats_the_optimum() {
    let files = shipped();
    let name = |path: &Path| path.file_stem().and_then(|n| n.to_str()).map(str::to_string);
    for (scenario, _) in LESS {
        assert!(files.iter().any(|f| name(f).as_deref() == Some(scenario)), "no {scenario}");
    }
    let one_run = |(place, path): (usize, &PathBuf)| {
        let less = LESS.iter().find(|(n, _)| name(path).as_deref() == Some(n));
        let mut runs = runs(path, less.map_or(&[], |l| l.1));
        let at = if place % 2 == 0 { 0 } else { runs.len() - 1 };
        let (first, variant) = (runs[0].clone(), runs[at].variant.clone());
        runs.retain(|r| r.variant == variant && r.seed == first.seed && r.axes == first.axes);
        runs.into_iter().map(|run| (path.display().to_string(), run)).collect::<Vec<_>>()
    };
    let runs: Vec<(String, RunSpec)> = files.iter().enumerate().flat_map(one_run).collect();
    runs.par_iter().with_max_len(1).for_each(|(path, run)| {
        let label = format!("{path}, {}", run.label());
        let mut machine = machines::machine(run).unwrap_or_else(|e| panic!("{label}: {e}"));
        let result = machine.run(Watch::default().with_record_accesses(true));
        machine.check();
        // Of files the first reads count as well, a page of them as four.
        let fetched = result.vmstat[VmEvent::PswpIn] + result.vmstat[VmEvent::PgpgIn] / 4;
        let recorded = machine.recorded_accesses();
        let least = opt::bounds(recorded, result.peak_resident, false).sim_opt_refetches;
        assert!(least <= fetched, "{label}: MIN fetches {least} again, the run {fetched}");
        let killed = matches!(result.outcome, Outcome::OutOfMemory(_));
        assert_eq!(killed, run.expect_oom, "{label}");
        assert!(result.accesses + result.records > 0, "{label}");
    });
}
