//! Records of whole runs: what DAMON's functional tests ask of masim's files, records beside the
//! lines that the tracepoints would print, and a record replayed as work.

use std::fmt::Write as _;

use crate::harness::{Folder, runner, scenario_in, shipped, specs};
use mmsim::machine::Watch;
use mmsim::machines::Catalogue;
use mmsim::record::heatmap::{Frame, draw};
use mmsim::record::summary::{WorkingSet, validate, working_sets};
use mmsim::record::{self, Record, damo, perf};
use mmsim::report::Monitored;
use mmsim::traces::{ImportSettings, import};

const MB: u64 = 1_000_000;

/// A masim file: regions with their numbers of bytes, and phases with their times in ms, in which
/// some are walked.
fn config(regions: &[(&str, u64)], phases: &[(u64, &[&str])]) -> String {
    let mut text = String::new();
    for (name, bytes) in regions {
        let _ = writeln!(text, "{name}, {bytes}");
    }
    for (i, (ms, walked)) in phases.iter().enumerate() {
        let _ = write!(text, "\nphase {i}\n{ms}\n");
        for name in *walked {
            let _ = writeln!(text, "{name}, 0, 4096, 1");
        }
    }
    text
}

/// masim's stairs_30secs.
fn stairs() -> String {
    const NAMES: [&str; 10] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"];
    let mut phases: Vec<(u64, &[&str])> = vec![(5000, &NAMES)];
    phases.extend(NAMES.chunks(1).map(|one| (2500, one)));
    config(&NAMES.map(|n| (n, 10 * MB)), &phases)
}

/// masim's zigzag_30secs.
fn zigzag() -> String {
    let mut phases: Vec<(u64, &[&str])> = vec![(5000, &["a", "b"])];
    phases.extend((0..6).flat_map(|_| [(2500, &["a"][..]), (2500, &["b"][..])]));
    config(&[("a", 100 * MB), ("b", 100 * MB)], &phases)
}

/// A task of these keys, watched with default intervals; mappings are looked at every `update`,
/// and before the first look there is nothing to see.
fn watched(folder: &Folder, task: &str, seed: u64, update: &str) -> Monitored {
    let text = format!(
        "seed = {seed}\n[machine]\nmemory = \"512MiB\"\ncpus = 2\nkernel = \"6.12\"\n\
         [[task]]\nname = \"work\"\n{task}\n\
         [[damon]]\nops = \"vaddr\"\ntask = \"work\"\nops-update = \"{update}\"\nrecord = true\n"
    );
    let scenario = scenario_in(folder, &text).unwrap_or_else(|e| panic!("{e}"));
    let runs = scenario.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
    let results = runner(1).sound_results(&runs, |_, _| Watch::default());
    let results = results.unwrap_or_else(|e| panic!("{e}"));
    results[0].0.damon[0].clone()
}

fn masim(config: &str, seed: u64, update: &str) -> Monitored {
    watched(
        &Folder::with("w.cfg", config),
        "workload = \"masim\"\nconfig = \"w.cfg\"",
        seed,
        update,
    )
}

fn record_of(monitored: &Monitored) -> Record {
    let records = record::of_run(0, monitored);
    assert_eq!(records.len(), 1);
    records.into_iter().next().expect("one")
}

fn valid_working_set(config: &str, seed: u64) -> WorkingSet {
    let record = record_of(&masim(config, seed, "1s"));
    let validity = validate(&record);
    assert!(validity.valid, "seed {seed}: {validity:?}");
    working_sets(&record).expect("some snapshots")
}

/// The functional tests want a median of 9 to 11 MB.
#[test]
fn a_staircase_has_the_working_set_of_a_step() {
    let set = valid_working_set(&stairs(), 1);
    assert!((9 * MB..=11 * MB).contains(&set.median()), "{set:?}");
}

/// The functional tests want a median of 90 to 110 MB.
#[test]
fn a_zigzag_has_the_working_set_of_a_side() {
    let set = valid_working_set(&zigzag(), 1);
    assert!((90 * MB..=110 * MB).contains(&set.median()), "{set:?}");
}

/// A process uses all of 32 MiB of huge pages of hugetlbfs in every sample. With the knob, every region
/// of every snapshot but the first shows as many accesses as there are samples; without, none does, and
/// all grow older. Whoever looks at frames sees nothing, as these pages are on no LRU list.
#[test]
fn hugetlb_check() {
    let counts = |damon: &str| {
        let text = format!(
            "[machine]\nmemory = \"128MiB\"\ncpus = 2\nvm = {{ nr_hugepages = 16 }}\n\
             [[task]]\nname = \"work\"\nworkload = \"masim\"\nhugetlb = true\n\
             text = \"a, {}\\n\\nbusy\\n3000\\na, 0, 4096, 1\\n\"\n\
             [[damon]]\nstart = \"10ms\"\nrecord = true\n{damon}\n",
            32 << 20
        );
        let watch = |_: usize, _: &_| Watch::default().with_check_every(1);
        let results = runner(1).sound_results(&specs(&text), watch);
        let results = results.unwrap_or_else(|e| panic!("{e}"));
        let record = record_of(&results[0].0.damon[0]);
        assert!(record.snapshots.len() > 25, "{}", record.snapshots.len());
        let regions = record.snapshots[1..].iter().flat_map(|s| &s.regions);
        let counts: Vec<u32> = regions.map(|r| r.nr_accesses).collect();
        let last = record.snapshots.last().expect("some").regions.iter();
        let youngest = last.filter_map(|r| r.age).min();
        (*counts.iter().min().expect("some"), *counts.iter().max().expect("some"), youngest)
    };
    let of_process = |knob: &str| {
        counts(&format!(
            "ops = \"vaddr\"\ntask = \"work\"\nrules = {{ hugetlb-check = \"{knob}\" }}"
        ))
    };
    let (min, max, _) = of_process("yes");
    assert_eq!((min, max), (20, 20));
    let (min, max, youngest) = of_process("no");
    assert_eq!((min, max), (0, 0));
    assert!(youngest > Some(25), "{youngest:?}");
    assert_eq!(counts("ops = \"paddr\"").1, 0);
}

/// Two regions in turn, for three seconds.
fn turns() -> String {
    let phases: [(u64, &[&str]); 3] = [(1000, &["a", "b"]), (1000, &["a"]), (1000, &["b"])];
    config(&[("a", 4 * MB), ("b", 8 * MB)], &phases)
}

/// A twin: the fields are those that the tracepoint of the model prints, one by one; and the text
/// has the snapshots, times cut to µs.
#[test]
fn a_record_is_what_the_tracepoints_print() {
    let monitored = masim(&turns(), 1, "100ms");
    let record = record_of(&monitored);
    let text = perf::write(std::slice::from_ref(&record));
    let mut lines = text.lines();
    for shot in monitored.record.iter() {
        let ns = shot.at.0;
        for region in &shot.regions {
            let fields = mmsim_damon::trace::aggregated(
                &monitored.rules,
                shot.target,
                shot.regions.len(),
                region,
            );
            let line = lines.next().expect("a line for each region");
            let at = format!(" {}.{:06}: ", ns / 1_000_000_000, ns / 1000 % 1_000_000);
            assert!(line.ends_with(&format!(" damon:damon_aggregated: {fields}")), "{line}");
            assert!(line.starts_with("kdamond.0 ") && line.contains(&at), "{line}");
        }
    }
    assert_eq!(lines.next(), None);
    let [back] = &record::read(text.as_bytes(), "x").unwrap()[..] else { panic!("one record") };
    for (a, b) in back.snapshots.iter().zip(&record.snapshots) {
        assert_eq!((a.end_ns, &a.regions), (b.end_ns / 1000 * 1000, &b.regions));
    }
}

/// FNV-1a of 64 bits.
fn digest(text: &str) -> u64 {
    let step = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// `damo` 3.4.3 reports on the record of this scenario and finds it valid (`.ci/damo`). Who
/// changes the digest gives the new record to damo.
#[test]
fn the_record_that_damo_accepted() {
    let runs =
        shipped("damon-stairs.toml", &[]).expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
    let results = runner(1).sound_results(&runs, |_, _| Watch::default());
    let monitored = &results.unwrap_or_else(|e| panic!("{e}"))[0].0.damon[0];
    let records = record::of_run(0, monitored);
    assert_eq!(record::read(&damo::compressed(&damo::write(&records)), "x").unwrap(), records);
    assert_eq!(
        digest(&damo::write(&records)),
        ACCEPTED,
        "{:#018x}",
        digest(&damo::write(&records))
    );
}

const ACCEPTED: u64 = 0xc40a_3749_3a1a_03d5;

/// Mean accesses, by the bytes that were monitored, in each of some equal pieces of time: times
/// all bytes, so that what is not mapped at all counts as not accessed.
fn heat(record: &Record) -> Vec<f64> {
    let map = draw(record, &Frame::new(3, 1)).expect("regions");
    map.cells.iter().map(|row| row[0].unwrap_or(0.0) * map.bytes as f64 / MB as f64).collect()
}

/// A record replayed as work heats as it was heated, within a tenth, over all and in each third of the
/// time within a quarter: regions adapt anew, from a first guess.
#[test]
fn a_record_replayed_is_a_record_like_it() {
    let record = record_of(&masim(&turns(), 1, "100ms"));
    let folder = Folder::with("r.json", damo::write(std::slice::from_ref(&record)));
    let mut out = std::fs::File::create(folder.path("r.mmt")).expect("a trace");
    let rows = import("damon", &folder.path("r.json"), &ImportSettings::default(), &mut out);
    let rows = rows.unwrap_or_else(|e| panic!("{e}"));
    let assumed = rows.iter().filter(|r| r.0 == "assumed");
    assert!(assumed.clone().any(|r| r.1.contains("is written once")), "{rows:?}");
    let again =
        record_of(&watched(&folder, "workload = \"replay\"\ntrace = \"r.mmt\"", 1, "100ms"));
    let (was, is) = (heat(&record), heat(&again));
    let near = |a: f64, b: f64, share: f64| (a - b).abs() <= share * a.max(b);
    assert!(near(was.iter().sum(), is.iter().sum(), 0.10), "{was:?} {is:?}");
    assert!(was.iter().zip(&is).all(|(&a, &b)| near(a, b, 0.25)), "{was:?} {is:?}");
}
