use super::super::FAMILIES;
use super::*;
use mmsim::machines::{Catalogue, compaction_knobs};
use mmsim::scenario::Scenario;

fn family(name: &str) -> (&'static Family, Study) {
    let family = FAMILIES.iter().find(|f| f.name == name).expect("a family");
    (family, family.study().unwrap_or_else(|e| panic!("{e}")))
}

fn lab(quick: bool) -> Lab<'static> {
    Lab { quick, ..Lab::silent(&|_, _, _| {}) }
}

fn expanded(file: ScenarioFile, sets: &Sets) -> Vec<RunSpec> {
    let scenario = Scenario::from_str(file.text, file.path).expect("a scenario");
    let scenario = scenario.with_sets(sets).unwrap_or_else(|e| panic!("{}: {e}", file.path));
    scenario.expand(&Catalogue).unwrap_or_else(|e| panic!("{}: {e}", file.path))
}

/// The runs of an experiment at its `nth` point.
fn runs(name: &str, experiment: &str, nth: usize, quick: bool) -> Vec<RunSpec> {
    let (family, study) = family(name);
    let made = sets(&lab(quick), family, &study, study.runs(experiment), nth);
    let (file, sets) = made.unwrap_or_else(|e| panic!("{e}"));
    expanded(file, &sets)
}

/// Every study names counters, figures, variables and experiments that there are, its scenarios
/// take all settings, and every figure has its variant.
#[test]
fn studies_can_be_carried_out() {
    for quick in [true, false] {
        for family in FAMILIES {
            let (lab, published) = (lab(quick), Published::read(family.published));
            let study = family.study().unwrap_or_else(|e| panic!("{e}"));
            let carrier = Carrier::new(&lab, family, &study, &published);
            carrier.all_tables(false).unwrap_or_else(|e| panic!("{e}"));
            for ((of, nth), wanted) in carrier.asked.borrow().iter() {
                let runs = &study.runs[*of];
                let made = carrier.sets(runs, &carrier.points(runs)[*nth]);
                let (file, sets) = made.unwrap_or_else(|e| panic!("{e}"));
                let all = expanded(file, &sets);
                for variant in wanted.iter().flatten() {
                    let has = all.iter().any(|r| r.variant == *variant);
                    assert!(has, "{}: {} lacks {variant}", family.name, runs.name);
                }
            }
        }
    }
}

/// Scenarios as they are shipped are points of their experiments.
#[test]
fn scenarios_are_what_is_run() {
    for (name, experiment, nth, scale) in [
        ("anon-workingset", "swap-ins", 7, Some(1)),
        ("anon-workingset", "detection", 0, None),
        ("mglru-lazyfree", "apps", 0, None),
        ("mglru-file-protection", "apps", 0, None),
        ("mglru-refault-distance", "reader", 0, None),
        ("mglru-fio-zipf", "fio", 0, None),
        ("mglru-6.14-rework", "reader", 0, None),
        ("compaction-redesign", "hogger", 2, None),
        ("compaction-redesign", "two-requesters", 0, None),
        ("compaction-redesign", "build-frag", 0, None),
        ("dama", "min-age", 0, None),
    ] {
        let (family, study) = family(name);
        let lab = Lab { scale, ..lab(false) };
        let made = sets(&lab, family, &study, study.runs(experiment), nth);
        let (file, sets) = made.unwrap_or_else(|e| panic!("{e}"));
        assert!(expanded(file, &sets) == expanded(file, &Sets::new()), "{name}: {experiment}");
    }
    // The unmovable tests lie among the scenarios too, with one seed and the first posting.
    for (experiment, nth, text) in [
        ("hogger", 0, include_str!("../../../scenarios/hogger-frag-unmovable.toml")),
        ("build-frag", 1, include_str!("../../../scenarios/build-frag-unmovable.toml")),
    ] {
        let mut run = runs("compaction-redesign", experiment, nth, true);
        let alone = expanded(ScenarioFile { path: "alone.toml", text }, &Sets::new());
        run.retain(|r| alone.iter().any(|a| a.variant == r.variant));
        assert_eq!(run, alone, "{experiment}");
    }
}

/// Every published figure of the redesign has a line, or a reason why not; never both.
#[test]
fn every_published_figure_is_carried_out_or_listed() {
    let (family, study) = family("compaction-redesign");
    let (lab, published) = (lab(false), Published::read(family.published));
    let carrier = Carrier::new(&lab, family, &study, &published);
    for cell in published.tables.iter().flat_map(|t| published.cells(t)) {
        let of_table = study.tables.iter().filter(|t| t.id == cell.table.id);
        let line = |t| carrier.line_of(t, &cell).unwrap_or_else(|e| panic!("{e}"));
        let made = of_table.filter(|t| line(t).is_some()).count();
        let listed = study.not_carried_out.iter().filter(|n| n.has(&cell)).count();
        assert_eq!(made + listed, 1, "{}: made {made}, listed {listed}", cell.id());
    }
    for n in &study.not_carried_out {
        let table = published.table(&n.table);
        assert!(published.cells(table).any(|c| n.has(&c)), "{}", n.words());
    }
}

/// Every experiment for reviewers changes what it says, in the variants that it says.
#[test]
fn experiments_of_reviewers_differ_by_what_they_change() {
    let knob = |experiment: &str, variant: &str, name: &str| {
        let runs = runs("compaction-redesign", experiment, 0, false);
        let run = runs.iter().find(|r| r.variant == variant).expect("a variant of that name");
        let all = compaction_knobs(run);
        let value = all.into_iter().find(|k| k.0 == format!("compaction.{name}"));
        value.expect("a knob of that name").1.to_string()
    };
    let stages = ["base", "nonmovable", "redesign", "threshold"];
    assert_eq!(knob("as-posted", "redesign", "request-modes"), "async-first");
    for stage in stages {
        assert_eq!(knob("sync", stage, "request-modes"), "sync");
        assert_eq!(knob("two-requesters", stage, "request-modes"), "async-first");
    }
    let undo = stages.map(|stage| knob("undo-prevention", stage, "undo-prevention"));
    assert_eq!(undo, ["cycle", "cycle", "next-cycle", "next-cycle"]);
}

/// Counters that were published together with what mmtests printed as their cost: in a mail on
/// zsmalloc (H. Zhu, linux-mm). Hit ratios of fio follow from its counters.
#[test]
fn figures_by_hand() {
    let (_, study) = family("compaction-redesign");
    let cost = Expression::read(study.figures["compaction_cost"].as_ref()).expect("a figure");
    let counters = [
        ("compact_migrate_scanned", 9_131_832),
        ("compact_free_scanned", 2_093_272),
        ("compact_isolated", 250_179),
        ("pgmigrate_success", 119_608),
        ("pgmigrate_fail", 2_723),
    ];
    let names = counters.map(|(name, n)| (name.to_string(), n.to_string())).into();
    assert_eq!(of_names(&cost, &names).map(f64::floor), Ok(192.0));
    let (family, study) = self::family("mglru-fio-zipf");
    let (lab, published) = (lab(false), Published::read(family.published));
    let carrier = Carrier::new(&lab, family, &study, &published);
    let line = study.tables[0].rows[0].published.as_ref().expect("a published figure");
    for (policy, hits) in [("refault_distance_v4", 0.438), ("unmapped_placement", 0.456)] {
        let names = Names::from([("policy".to_string(), policy.to_string())]);
        let published = carrier.published_figure(line, &names).unwrap().expect("two rows");
        assert!((published - hits).abs() < 0.0005, "{published}");
    }
}

/// Constants stay in the ranges that they are drawn from, and others are as they were.
#[test]
fn draws_stay_in_their_ranges_and_differ() {
    let (family, study) = family("mglru-lazyfree");
    let (lab, published) = (lab(false), Published::read(family.published));
    let carrier = Carrier::new(&lab, family, &study, &published);
    let points = carrier.points(study.runs("draws"));
    let heaps: Vec<f64> = points.iter().map(|p| p["heap"].parse().expect("a number")).collect();
    assert!(heaps.iter().all(|h| (100.0..=170.0).contains(h) && h.fract() == 0.0));
    assert!(heaps.iter().any(|h| *h < 115.0) && heaps.iter().any(|h| *h > 155.0));
    assert!(points.len() == 20 && points.iter().all(|p| !p.contains_key("swap")));
}
