//! The text interface: what is read, what is refused and what that leaves, and records.

use crate::harness::{context, target};
use mmsim_core::base::id::AsId;
use mmsim_damon::damos::scheme::{Action, Scheme};
use mmsim_damon::damos::watermark::WmarkMetric;
use mmsim_damon::text::{
    MAX_INPUT, StatsVersion, attrs_line, check_input, integers, parse_attrs, parse_schemes,
    scheme_line, targets,
};
use mmsim_damon::trace::{aggregated, before_apply};
use mmsim_damon::{DamonConfig, DamonError, MonitoringAttrs, Region, Target};

const ATTRS: MonitoringAttrs = MonitoringAttrs::DEFAULT;
const NEW: DamonConfig = DamonConfig::V6_12;

/// The kernel's own cases (Linux 6.12 `mm/damon/tests/dbgfs-kunit.h`).
#[test]
fn integers_up_to_the_first_that_is_none() {
    assert_eq!(integers("123"), [123]);
    assert_eq!(integers("123abc"), [123]);
    assert_eq!(integers("a123"), []);
    assert_eq!(integers("12 35"), [12, 35]);
    assert_eq!(integers("12 35 46"), [12, 35, 46]);
    assert_eq!(integers("12 35 abc 46"), [12, 35]);
    assert_eq!(integers(""), []);
    assert_eq!(integers("\n"), []);
    assert_eq!(integers(&"7 ".repeat(40)), [7; 32]);
    assert_eq!(integers("-3 4"), [-3, 4]);
}

/// The kernel's own cases.
#[test]
fn first_regions() {
    let three = || vec![Target::default(); 3];
    let mut c = context(NEW, ATTRS, three(), Vec::new());
    let good = [
        ("1 10 20\n1 20 30\n1 35 45", "1 10 20\n1 20 30\n1 35 45\n"),
        ("1 10 20\n", "1 10 20\n"),
        ("1 10 20\n0 39 59\n0 70 134\n1 20 25\n", "0 39 59\n0 70 134\n1 10 20\n1 20 25\n"),
        ("", ""),
    ];
    for (text, listed) in good {
        c.init_regions(text).unwrap();
        assert_eq!(c.init_regions_lines().unwrap(), listed);
    }
    let bad = [
        ("3 10 20\n", DamonError::NoSuchTarget),
        ("1 10 20\n 1 14 26\n", DamonError::InvalidRange),
        ("0 10 20\n1 30 40\n 0 5 8", DamonError::InvalidRange),
        ("0 20 20", DamonError::InvalidRange),
        ("-1 10 20", DamonError::NoSuchTarget),
    ];
    for (text, error) in bad {
        c.init_regions("2 1 2").unwrap();
        assert_eq!(c.init_regions(text), Err(error), "{text}");
        assert_eq!(error.errno(), "EINVAL");
        assert_eq!(c.init_regions_lines().unwrap(), "", "all are gone");
    }
}

#[test]
fn attributes_are_five_numbers() {
    let attrs = parse_attrs("5000 100000 1000000 10 1000\n", &ATTRS).unwrap();
    assert_eq!(attrs, MonitoringAttrs { ops_update_us: 1_000_000, ..ATTRS });
    assert_eq!(attrs_line(&attrs), "5000 100000 1000000 10 1000\n");
    for text in ["", "5000 100000 1000000 10", "5000 100000 x 10 1000", "-5 1 1 10 1000"] {
        assert!(matches!(parse_attrs(text, &ATTRS), Err(DamonError::InvalidAttrs(_))), "{text}");
    }
}

#[test]
fn targets_are_processes_or_physical_memory() {
    let find = |id| u16::try_from(id).ok().filter(|id| *id < 100).map(AsId);
    let spaces = |text| -> Result<Vec<_>, _> {
        Ok(targets(text, find)?.iter().map(|t| t.space).collect::<Vec<_>>())
    };
    assert_eq!(spaces("42 43\n"), Ok(vec![Some(AsId(42)), Some(AsId(43))]));
    assert_eq!(spaces("paddr\n"), Ok(vec![None]));
    assert_eq!(spaces("\n"), Ok(vec![]));
    assert_eq!(spaces("42 4711"), Err(DamonError::NoSuchTarget));
}

const LINE: &str = "4096 8192 0 5 10 20 2 10 1024 1000 0 3 7 1 5000000 600 500 300";

#[test]
fn schemes_are_lines_of_eighteen_numbers() {
    let [s] = &parse_schemes(LINE).unwrap()[..] else { panic!() };
    assert_eq!(s.pattern.sz_region, 4096..=8192);
    assert_eq!((&s.pattern.nr_accesses, &s.pattern.age_region), (&(0..=5), &(10..=20)));
    assert_eq!(s.action, Action::Pageout);
    assert_eq!((s.quota.ms, s.quota.sz, s.quota.reset_interval_ms), (10, 1024, 1000));
    let weights = (s.quota.weight_sz, s.quota.weight_nr_accesses, s.quota.weight_age);
    assert_eq!(weights, (0, 3, 7));
    assert_eq!(s.wmarks.metric, WmarkMetric::FreeMemRate);
    let marks = (s.wmarks.interval_us, s.wmarks.high, s.wmarks.mid, s.wmarks.low);
    assert_eq!(marks, (5_000_000, 600, 500, 300));
    assert_eq!(scheme_line(s, StatsVersion::V1), format!("{LINE} 0 0 0 0 0\n"));
    assert_eq!(scheme_line(s, StatsVersion::V0), format!("{LINE} 0 0\n"));
    let prio = Scheme::new(s.pattern.clone(), Action::LruPrio);
    assert!(scheme_line(&prio, StatsVersion::V1).starts_with("4096 8192 0 5 10 20 -22 0 0 0 "));

    // What does not parse ends the list and is no error; a 257th is not read.
    assert_eq!(parse_schemes(&format!("{LINE}\n1 2 x\n{LINE}")).unwrap().len(), 1);
    assert_eq!(parse_schemes(&format!("{LINE}\n{LINE}\n")).unwrap().len(), 2);
    assert_eq!(parse_schemes(&format!("{LINE}\n").repeat(300)).unwrap().len(), 256);
    assert_eq!(parse_schemes("").unwrap(), []);
}

/// One wrong scheme, and none is taken; the old ones stay.
#[test]
fn schemes_that_make_no_sense() {
    let [old] = &parse_schemes(LINE).unwrap()[..] else { panic!() };
    let mut c = context(NEW, ATTRS, Vec::new(), vec![old.clone()]);
    let fields: Vec<&str> = LINE.split(' ').collect();
    for (field, value) in [(6, "6"), (0, "9000"), (2, "6"), (4, "21"), (15, "499"), (17, "501")] {
        let mut wrong = fields.clone();
        wrong[field] = value;
        let text = format!("{LINE}\n{}\n", wrong.join(" "));
        let parsed = parse_schemes(&text).and_then(|schemes| c.set_schemes(schemes));
        assert!(matches!(parsed, Err(DamonError::InvalidScheme(_))), "{text}");
        assert_eq!(c.schemes().len(), 1);
        assert_eq!(c.schemes()[0].pattern, old.pattern);
    }
}

#[test]
fn texts_have_a_largest_length() {
    assert_eq!(check_input(MAX_INPUT - 1, 0), Ok(()));
    assert_eq!(check_input(MAX_INPUT, 0), Err(DamonError::TooLarge));
    assert_eq!(check_input(usize::MAX, 0), Err(DamonError::TooLarge));
    assert_eq!(check_input(10, 1), Err(DamonError::Offset));
    assert_eq!((DamonError::TooLarge.errno(), DamonError::Offset.errno()), ("ENOMEM", "EINVAL"));
}

/// Before 5.17 no age, and a number that looks like an address; the same at every run.
#[test]
fn records() {
    let r = Region { nr_accesses: 11, nr_accesses_bp: 65_000, age: 6, ..Region::new(0, 245_760) };
    let n = target(&[r]).regions().len();
    assert_eq!(aggregated(&NEW, 0, n, &r), "target_id=0 nr_regions=1 0-245760: 11 6");
    let old = aggregated(&DamonConfig::V5_16, 1, 4, &r);
    assert_eq!(old, "target_id=18446612682070032448 nr_regions=4 0-245760: 11");
    assert_eq!(
        before_apply(&NEW, 0, 1, 2, 4, &r),
        "ctx_idx=0 scheme_idx=1 target_idx=2 nr_regions=4 0-245760: 6 6"
    );
    assert!(before_apply(&DamonConfig::V6_1, 0, 1, 2, 4, &r).ends_with(": 11 6"));
}
