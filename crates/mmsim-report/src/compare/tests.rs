use super::*;
use crate::document::{
    ClassReport, Ending, KnobValue, ShareReport, TroubleClass, TroubleReport, WhyReport,
};
use crate::samples;
use crate::statistics::Estimate;

/// A report of one variant; swap-ins and deactivations per seed are given.
fn report(variant: &str, runs: &[(u64, u64, u64)]) -> Report {
    let run = |&(seed, swap_ins, deactivated): &(u64, u64, u64)| {
        RunReport::from_result(
            samples::meta(variant, seed),
            &samples::result(swap_ins, deactivated),
        )
    };
    Report::new("ebizzy-anon", "", runs.iter().map(run).collect())
}

/// The estimate of one seed.
fn one(mean: f64) -> Estimate {
    Estimate::without_interval(mean, 1)
}

fn with(a: &Report, b: &Report, options: Options<'_>) -> Result<Comparison, Error> {
    compare(Side { name: "a.json", report: a }, Side { name: "b.json", report: b }, options)
}

fn refused(a: &Report, b: &Report) -> String {
    with(a, b, Options::default()).expect_err("must be refused").to_string()
}

fn value<'a>(c: &'a Compared, name: &str) -> &'a Row {
    c.values.iter().find(|r| r.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn one_variant_each_is_paired_whatever_its_name() {
    let (a, b) = (report("v5.5", &[(1, 1000, 400)]), report("v5.9", &[(1, 800, 400)]));
    let c = with(&a, &b, Options::default()).unwrap();
    assert!(c.across_variants);
    let only = &c.comparisons[0];
    assert_eq!(only.label(), "v5.5 (A) and v5.9 (B), task[0].memory = 1536MiB");
    let row = value(only, "pswpin");
    assert_eq!((row.a, row.b, row.difference.mean), (1000.0, 800.0, -200.0));
    assert_eq!((row.change, row.moved), (Some(one(-20.0)), Moved::Down));
    assert_eq!(value(only, "pgdeactivate").moved, Moved::No);
    // pgscan is 4 per swap-in, pgsteal 2, faults and refaults 1: with 100 added to both,
    // 4100/3300 is more than 2100/1700 and that more than 1100/900.
    let order: Vec<&str> = only.moved().map(|r| r.name.as_str()).collect();
    let expected = ["pgscan_anon", "pgsteal_anon", "pswpin"];
    let places = expected.map(|n| order.iter().position(|o| *o == n).unwrap());
    assert!(places.is_sorted(), "{order:?}");
    // One pair is all there is: its ratios are those of the samples.
    assert_eq!(only.figures[0].change, Some(one(-20.0)));
    assert!(c.a.left_out.is_empty() && c.b.left_out.is_empty());
}

#[test]
fn several_seeds_have_intervals_and_unpaired_runs_are_named() {
    let a = report("v", &[(1, 1000, 10), (2, 2000, 20), (3, 4000, 30), (9, 5, 5)]);
    let b = report("v", &[(3, 3600, 36), (1, 900, 4), (2, 1800, 20)]);
    let c = with(&a, &b, Options::default()).unwrap();
    let only = &c.comparisons[0];
    assert!(!c.across_variants);
    assert_eq!(only.seeds, [1, 2, 3]);
    assert_eq!(c.a.left_out, ["v, task[0].memory = 1536MiB, seed 9"]);
    // Every seed has a tenth less, so the interval has no width.
    let row = value(only, "pswpin");
    let change = row.change.unwrap();
    assert!((change.mean + 10.0).abs() < 1e-9 && change.ci95.unwrap() < 1e-9);
    // -60 %, 0 %, +20 %: the mean is less than its interval.
    assert_eq!(value(only, "pgdeactivate").moved, Moved::WithinNoise);
}

#[test]
fn variants_are_paired_by_name_where_there_are_several() {
    let mut a = report("v5.5", &[(1, 100, 1)]);
    a.runs.extend(report("v5.9", &[(1, 200, 1)]).runs);
    let b = report("v5.9", &[(1, 300, 1)]);
    let c = with(&a, &b, Options::default()).unwrap();
    assert_eq!(c.comparisons.len(), 1);
    assert_eq!(value(&c.comparisons[0], "pswpin").a, 200.0);
    assert_eq!(c.a.left_out, ["v5.5, task[0].memory = 1536MiB, seed 1"]);
}

#[test]
fn what_was_set_otherwise_is_named() {
    let (a, mut b) = (report("v", &[(1, 1, 1)]), report("v", &[(1, 1, 1)]));
    let run = &mut b.runs[0];
    run.kernel = "5.9".into();
    run.swap = None;
    run.zones[1].low += 1;
    run.knobs.set("swappiness", KnobValue::Whole(100));
    run.knobs.set("reclaim.new", KnobValue::Switch(true));
    let c = with(&a, &b, Options::default()).unwrap();
    let found: Vec<(&str, &str, &str)> = c.comparisons[0]
        .settings
        .iter()
        .map(|s| (s.name.as_str(), s.a.as_str(), s.b.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("kernel", "6.12", "5.9"),
            ("swap", "1,310,720 pages on zram", "none"),
            ("zone DMA32, watermarks", "555 693 831", "555 694 831"),
            ("swappiness", "60", "100"),
            ("reclaim.new", "-", "true"),
        ]
    );
    assert!(c.comparisons[0].identical && c.comparisons[0].moved().next().is_none());
}

/// One of three seeds dies in the second report: its figures go into no mean, and its work, which
/// is less, is no reason to refuse the others.
#[test]
fn runs_that_died_are_not_compared() {
    let seeds = [(1, 1000, 400), (2, 1000, 400), (3, 1000, 400)];
    let (a, mut b) = (report("v", &seeds), report("v", &seeds));
    b.runs[1].outcome = Ending::OutOfMemory;
    b.runs[1].records = 7;
    b.runs[1].vmstat.set("pswpin", 3);
    b.runs[1].digest = "0".into();
    let c = with(&a, &b, Options::default()).unwrap();
    let only = &c.comparisons[0];
    assert_eq!((&only.seeds[..], &only.ended_early[..]), (&[1, 3][..], &[2][..]));
    assert_eq!(
        (only.outcome_a.as_str(), only.outcome_b.as_str()),
        ("completed", "1 of 3 out of memory")
    );
    assert_eq!((value(only, "pswpin").b, value(only, "pswpin").moved), (1000.0, Moved::No));
    assert_eq!(c.ended_otherwise().count(), 1);

    for run in &mut b.runs {
        run.outcome = Ending::OutOfMemory;
    }
    let c = with(&a, &b, Options::default()).unwrap();
    let only = &c.comparisons[0];
    assert_eq!(only.outcome_b, "out of memory");
    assert!(only.seeds.is_empty() && only.figures.is_empty() && only.values.is_empty());
    let rows: Vec<String> = c.to_csv().lines().skip(1).map(str::to_string).collect();
    let who = "ebizzy-anon,v,v,task[0].memory=1536MiB,completed,out of memory";
    assert_eq!(rows, [format!("{who},outcome,outcome,completed,out of memory,,,,,,")]);
    // A phase that the dead did not come to.
    b.runs.iter_mut().for_each(|run| run.phases.clear());
    let access = Options { phase: Some("access"), per_work: false };
    assert!(with(&a, &b, access).is_ok());
}

#[test]
fn a_phase_alone() {
    let (a, b) = (report("v", &[(1, 1000, 400)]), report("v", &[(1, 800, 400)]));
    let of = |phase| with(&a, &b, Options { phase: Some(phase), per_work: false });
    let c = of("populate").unwrap();
    // Its counters are all zero; the samples have the latencies of the whole run in it.
    let moved: Vec<&str> = c.comparisons[0].moved().map(|r| r.name.as_str()).collect();
    assert_eq!(moved, ["major_fault.count"]);
    let c = of("access").unwrap();
    assert_eq!(value(&c.comparisons[0], "pswpin").change, Some(one(-20.0)));
    assert!(of("acess").unwrap_err().to_string().contains("its phases are populate, access"));
}

#[test]
fn different_work_only_per_work() {
    let (a, mut b) = (report("v", &[(1, 1000, 400)]), report("v", &[(1, 2000, 400)]));
    b.runs[0].records *= 2;
    b.runs[0].accesses *= 2;
    let text = refused(&a, &b);
    assert!(text.contains("did different work: 50000 and 100000 records"), "{text}");
    let c = with(&a, &b, Options { phase: None, per_work: true }).unwrap();
    // 1000 in 50,000 and 2000 in 100,000 records are both 20 per 1,000.
    let row = value(&c.comparisons[0], "pswpin");
    assert_eq!((row.a, row.b, row.moved), (20.0, 20.0, Moved::No));
    // 400 in twice the work is half as often: 8 and 4, with a floor of 100 in 50,000,
    // which is 2: (8 + 2) / (4 + 2).
    let row = value(&c.comparisons[0], "pgdeactivate");
    assert!((row.movement() - 100.0 * (10.0 / 6.0 - 1.0)).abs() < 1e-9);
    // Accesses are work as well.
    b.runs[0].records /= 2;
    assert!(refused(&a, &b).contains("200000 and 400000 accesses"));
    b.runs[0].accesses = 200_100;
    assert!(with(&a, &b, Options::default()).is_ok(), "0.05 % is no other work");
}

#[test]
fn moved_above() {
    let (a, b) = (report("v", &[(1, 100, 400)]), report("v", &[(1, 200, 400)]));
    let c = with(&a, &b, Options::default()).unwrap();
    let names = |pct| -> Vec<String> {
        c.moved_above(pct).into_iter().map(|(_, r)| r.name.clone()).collect()
    };
    // 400 -> 800 is 900 / 500, 200 -> 400 is 500 / 300, 100 -> 200 is 300 / 200.
    assert_eq!(names(79.9), ["pgscan_anon"]);
    assert_eq!(names(60.0), ["pgscan_anon", "pgsteal_anon"]);
    assert!(names(80.1).is_empty());
}

#[test]
fn refusals_say_what_is_not_in_common() {
    let a = report("v", &[(1, 1, 1)]);
    let mut b = report("v", &[(2, 1, 1)]);
    let text = refused(&a, &b);
    assert!(text.contains("no seed in common: 1 in the first, 2 in the second"), "{text}");
    b.runs[0].axes.set("task[0].memory", "1MiB".to_string());
    let text = refused(&a, &b);
    assert!(
        text.contains(
            "no point on the axes in common: task[0].memory = 1536MiB in the first, \
             task[0].memory = 1MiB in the second"
        ),
        "{text}"
    );
    let mut c = report("x", &[(1, 1, 1)]);
    c.runs.extend(report("y", &[(1, 1, 1)]).runs);
    let text = refused(&a, &c);
    assert!(text.contains("no variant in common: v in the first, x; y in the second"), "{text}");
    c.runs[0].scenario = Some("other".into());
    c.runs[1].scenario = Some("another".into());
    assert!(refused(&a, &c).contains("no scenario in common"));
    // Each has a partner in part only: variant of one, seed of the other.
    let mut d = report("v", &[(1, 1, 1)]);
    d.runs.extend(report("w", &[(2, 1, 1)]).runs);
    let mut e = report("v", &[(2, 1, 1)]);
    e.runs.extend(report("w", &[(1, 1, 1)]).runs);
    assert!(refused(&d, &e).contains("have no run in common"));

    let mut newer = report("v", &[(1, 1, 1)]);
    newer.mmsim = "1.0.0".into();
    assert!(refused(&a, &newer).contains("major versions cannot be compared"));
    let twice = report("v", &[(1, 1, 1), (1, 1, 1)]);
    assert!(refused(&a, &twice).contains("b.json has this run twice: v, "));
    assert!(refused(&report("v", &[]), &a).contains("a.json is a report without runs"));
}

#[test]
fn csv_has_settings_and_values() {
    let (a, mut b) = (report("v", &[(1, 1000, 400)]), report("v", &[(1, 800, 400)]));
    b.runs[0].kernel = "5.9".into();
    let csv = with(&a, &b, Options::default()).unwrap().to_csv();
    let who = "ebizzy-anon,v,v,task[0].memory=1536MiB,completed,completed";
    assert!(csv.contains(&format!("{who},setting,kernel,6.12,5.9,,,,,,\n")), "{csv}");
    assert!(csv.contains(&format!("{who},vmstat,pgdeactivate,400,400,0,,0,,0,no\n")), "{csv}");
    let columns = csv.lines().next().unwrap().split(',').count();
    let plain = csv.lines().filter(|l| !l.contains('"'));
    assert!(plain.clone().count() > 50);
    for line in plain {
        assert_eq!(line.split(',').count(), columns, "{line}");
    }
}

#[test]
fn assumptions_that_only_one_rests_on() {
    let (mut a, mut b) = (report("v", &[(1, 1000, 400)]), report("v", &[(1, 800, 400)]));
    let both = "io: all pages are anonymous memory".to_string();
    a.runs[0].assumed = vec![both.clone(), "io: no times, so none pass".to_string()];
    b.runs[0].assumed = vec!["io: times are arrivals".to_string(), both];
    let c = with(&a, &b, Options::default()).unwrap();
    assert_eq!(c.comparisons[0].assumed_in_a, ["io: no times, so none pass"]);
    assert_eq!(c.comparisons[0].assumed_in_b, ["io: times are arrivals"]);
    let csv = c.to_csv();
    let who = "ebizzy-anon,v,v,task[0].memory=1536MiB,completed,completed";
    assert!(csv.contains(&format!("{who},assumed,\"io: no times, so none pass\",1,0,,,,,,\n")));
    assert!(csv.contains(&format!("{who},assumed,io: times are arrivals,0,1,,,,,,\n")));
    assert!(!csv.contains("anonymous memory"));
}

/// A report whose run has two classes of refaults, and stalls.
fn followed(seeds: &[u64], capacity: u64, order: u64, stalls: u64) -> Report {
    let runs: Vec<(u64, u64, u64)> = seeds.iter().map(|&s| (s, 1000, 4)).collect();
    let mut r = report("v", &runs);
    let class = |class: &str, anon: u64| ClassReport {
        class: class.into(),
        anon,
        phases: vec![ShareReport::new("first", anon / 4)],
        ..ClassReport::default()
    };
    let behind =
        TroubleClass { class: "kswapd_behind".into(), count: stalls, ..TroubleClass::default() };
    for run in &mut r.runs {
        run.why = Some(WhyReport {
            classes: vec![class("capacity", capacity + run.seed), class("order", order)],
            direct_stalls: TroubleReport { classes: vec![behind.clone()], ..Default::default() },
            ..WhyReport::default()
        });
    }
    r
}

/// The change of a counter is the sum of the changes of its classes.
#[test]
fn classes_are_compared_where_both_have_them() {
    let (a, b) = (followed(&[1, 2], 700, 300, 0), followed(&[1, 2], 100, 400, 9));
    let c = with(&a, &b, Options::default()).unwrap();
    let rows: Vec<(&str, &str, f64, f64, f64)> = c.comparisons[0]
        .classes
        .iter()
        .map(|r| (r.kind, r.name.as_str(), r.a, r.b, r.difference.mean))
        .collect();
    assert_eq!(
        rows,
        [
            ("refaults", "capacity", 701.5, 101.5, -600.0),
            ("refaults", "order", 300.0, 400.0, 100.0),
            ("refaults", ALL, 1001.5, 501.5, -500.0),
            ("direct_stalls", "kswapd_behind", 0.0, 9.0, 9.0),
            ("direct_stalls", ALL, 0.0, 9.0, 9.0),
        ]
    );
    assert_eq!(c.comparisons[0].classes_only_in, None);
    assert!(c.to_csv().contains(",refaults,capacity,701.5,101.5,-600,"), "{}", c.to_csv());
}

#[test]
fn classes_of_one_side_are_named() {
    let (mut a, b) = (followed(&[1, 2], 700, 300, 0), followed(&[1, 2], 100, 400, 9));
    a.runs[1].why = None;
    let c = with(&a, &b, Options::default()).unwrap();
    assert!(c.comparisons[0].classes.is_empty());
    assert_eq!(c.comparisons[0].classes_only_in, Some("b"));
    assert!(c.to_json().contains("\"classes_only_in\": \"b\""));
}
