//! The examples of docs/embedding.md print everywhere what stands there.
//!
//! `MMSIM_BLESS=1 cargo test --test machine embedding` rewrites the blocks after the marks.

#[path = "../../examples/allocator.rs"]
mod allocator;
#[path = "../../examples/compaction.rs"]
mod compaction;
#[path = "../../examples/miss_curve.rs"]
mod miss_curve;
#[path = "../../examples/own_policy.rs"]
mod own_policy;
#[path = "../../examples/own_workload.rs"]
mod own_workload;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/embedding.md");

/// The document with the block after the mark of an example replaced by what it prints.
fn with_block(text: &str, name: &str, printed: &str) -> String {
    let mark = format!("<!-- example {name} -->\n");
    let (before, after) = text.split_once(&mark).unwrap_or_else(|| panic!("no mark of {name}"));
    let rest = match after.strip_prefix("```\n") {
        Some(block) => block.split_once("```\n").expect("a block that ends").1,
        None => after,
    };
    format!("{before}{mark}```\n{printed}```\n{rest}")
}

/// The same policy as one's own is the same run, under another name.
#[test]
fn a_policy_of_ones_own_runs_as_those_of_scenarios_do() {
    use mmsim::{OwnPolicy, RunOptions, run_with};
    use mmsim_lru::{Classic, ClassicConfig};
    let text = include_str!("../../examples/own_policy.toml");
    let (name, changed) =
        ("own_policy.toml", text.replace("accesses = 300000", "accesses = 30000"));
    let scenario = mmsim::Scenario::from_str(&changed, name).unwrap_or_else(|e| panic!("{e}"));
    let own = |name: &str| {
        OwnPolicy::new(name, |mem, _| Box::new(Classic::new(ClassicConfig::V6_12, mem)))
    };
    let run = |own: &[OwnPolicy<'_>]| run_with(&scenario, &RunOptions::default(), own);
    let report = run(&[own("mine")]).unwrap_or_else(|e| panic!("{e}"));
    let [theirs, mine] = &report.runs[..] else { panic!("{} runs", report.runs.len()) };
    assert_eq!((mine.variant.as_str(), mine.policy.as_str()), ("mine", "mine"));
    assert_eq!((&mine.digest, &mine.vmstat), (&theirs.digest, &theirs.vmstat));
    assert!(theirs.knobs.get("reclaim.anon-start").is_some());
    assert!(mine.knobs.iter().all(|(k, _)| !k.starts_with("reclaim.")), "knobs are its own affair");
    assert_eq!(mmsim::report::Report::from_json(&report.to_json()).expect("reads back"), report);
    for (taken, what) in
        [("classic-v6.12", "a variant of the scenario"), ("random", "a policy that there is")]
    {
        let error = run(&[own(taken)]).expect_err(taken).to_string();
        assert!(error.contains(what) && error.contains(taken), "{error}");
    }
    assert!(run(&[own("a"), own("a")]).is_err_and(|e| e.to_string().contains("two policies")));
}

/// The doors of core count: SIEVE has no line about scans or steals, and reports them.
#[test]
fn scans_and_steals_of_a_policy_of_ones_own_are_counted() {
    let report = own_policy::report().unwrap_or_else(|e| panic!("{e}"));
    let sieve = report.runs.iter().find(|r| r.variant == "sieve").expect("its run");
    let of = |name: &str| sieve.vmstat.get(name).copied().expect(name);
    assert!(of("pgscan_kswapd") > 0 && of("pgsteal_kswapd") > 0);
    assert_eq!(of("pgscan_kswapd") + of("pgscan_direct"), of("pgscan_anon"));
    assert_eq!(of("pgsteal_kswapd") + of("pgsteal_direct"), of("pgsteal_anon"));
    assert_eq!(of("pgsteal_anon"), of("pswpout") + of("sim_evict_clean"), "all that it evicts");
    assert!(of("pgscan_anon") > of("pgsteal_anon"), "some were spared");
}

#[test]
fn the_document_shows_what_the_examples_print() {
    let text = std::fs::read_to_string(FILE).expect("docs/embedding.md");
    let policy = own_policy::table().unwrap_or_else(|e| panic!("{e}"));
    let curve = miss_curve::table().unwrap_or_else(|e| panic!("{e}"));
    let ring = own_workload::table().unwrap_or_else(|e| panic!("{e}"));
    let mut new = text.clone();
    for (name, printed) in [
        ("miss_curve", &curve),
        ("own_policy", &policy),
        ("own_workload", &ring),
        ("allocator", &allocator::table()),
        ("compaction", &compaction::table()),
    ] {
        new = with_block(&new, name, printed);
    }
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(FILE, new).expect("rewriting it");
    } else {
        assert_eq!(text, new, "MMSIM_BLESS=1 rewrites docs/embedding.md");
    }
}

/// Results and requests of a machine may grow without a change in programs that embed it.
#[test]
fn results_of_a_machine_may_grow() {
    let machine =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/mmsim-core/src/machine");
    for (file, all) in [("watch/result.rs", true), ("watch/mod.rs", false), ("task.rs", false)] {
        let text = std::fs::read_to_string(machine.join(file)).expect("the sources");
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let Some(name) = line.strip_prefix("pub struct ") else { continue };
            let name = name.trim_end_matches(" {");
            if all || ["TaskConfig", "Watch"].contains(&name) {
                let before = &lines[i.saturating_sub(3)..i];
                assert!(before.contains(&"#[non_exhaustive]"), "{file}: {name}");
            }
        }
    }
}
