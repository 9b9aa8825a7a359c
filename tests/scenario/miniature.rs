//! Miniatures: the sample of all pages is the run itself; small ones come close; what has none is
//! refused.

use crate::harness;
use mmsim::base::vmstat::VmEvent;
use mmsim::machine::Watch;
use mmsim::machine::result::RunResult;
use mmsim::miniature::{self, Estimated, Miniature, MiniatureReport, Sample, Scaling, Share};
use mmsim::scenario::RunSpec;
use mmsim::{RunOptions, Runner};

fn specs(machine: &str, rest: &str) -> Vec<RunSpec> {
    let text = format!("[machine]\n{machine}\n{rest}");
    harness::specs(&text)
}

fn full(spec: &RunSpec) -> RunResult {
    mmsim::run::run_one(0, spec, &|_, _| Watch::default()).unwrap_or_else(|e| panic!("{e}")).1
}

fn estimate(spec: &RunSpec, share: Share) -> Estimated {
    let small = Miniature::new(spec, share, 4).unwrap_or_else(|e| panic!("{e}"));
    miniature::run(vec![small], &Runner::default()).unwrap().remove(0)
}

const SWAP: &str = "swap = { size = \"1GiB\", device = \"ramdisk\" }";
const BOTH: &str = "[[variant]]\nname = \"classic\"\n[[variant]]\nname = \"mglru\"\n\
                    reclaim = { preset = \"mglru-v6.12\" }\n";

/// Filter and scaled machine change nothing where nothing is left out: every counter and the time.
#[test]
fn a_sample_of_all_pages_is_the_run() {
    let machine = format!("zone = [{{ kind = \"Normal\", managed = \"5000 pages\" }}]\n{SWAP}");
    let rest = "
        [[task]]
        workload = \"zipf\"
        memory = \"6000 pages\"
        write-permille = 300
        accesses = 40000
        [[task]]
        workload = \"cyclic\"
        memory = \"2000 pages\"
        region = \"read\"
        passes = 4
        [[task]]
        workload = \"phased\"
        regions = { a = { memory = \"1500 pages\" } }
        steps = [
            { do = \"allocate\", region = \"a\", populate = true },
            { do = \"zipf\", region = \"a\", accesses = 5000 },
            { do = \"free\", region = \"a\" },
        ]
        ";
    for spec in specs(&machine, &format!("{rest}\n{BOTH}")) {
        let whole = Sample { shift: 0, unit: 0, number: 0, of: 1 };
        let (mut all, _) = miniature::machine(&spec, whole, Scaling::default()).unwrap();
        let (all, run) = (all.run(Watch::default()), full(&spec));
        assert_eq!(all.vmstat, run.vmstat, "{}", spec.variant);
        assert_eq!((all.sim_time, all.digest), (run.sim_time, run.digest), "{}", spec.variant);
    }
}

/// The goals of docs/miniatures.md on one small machine: 3 % for faults and evictions, 5 % for
/// scans.
#[test]
fn small_machines_come_close() {
    let machine = format!("zone = [{{ kind = \"Normal\", managed = \"66000 pages\" }}]\n{SWAP}");
    let rest = "
        [[task]]
        workload = \"zipf\"
        theta = 0.7
        memory = \"130000 pages\"
        write-permille = 300
        accesses = 500000
        ";
    for spec in specs(&machine, &format!("{rest}\n{BOTH}")) {
        let run = full(&spec);
        let small = estimate(&spec, Share::Auto);
        let report = small.report(None);
        assert_eq!((report.one_in, report.samples), (16, 4));
        assert_eq!(report.accesses, run.vmstat[VmEvent::SimAccesses]);
        let mut held = 0;
        for (name, value) in report.counters.iter() {
            let count = run.vmstat.by_name(name).unwrap();
            if count < 10_000 {
                continue;
            }
            held += 1;
            let most =
                if name.starts_with("pgscan") || name == "sim_scan_keep" { 5.0 } else { 3.0 };
            let off = (value.mean as f64 / count as f64 - 1.0) * 100.0;
            assert!(off.abs() <= most, "{}: {name} is off by {off:.2} %", spec.variant);
        }
        assert!(held >= 8, "only {held} counters");
    }
}

/// A machine of which a part is in use for good, as an imported box: that part is scaled as well.
#[test]
fn a_machine_that_is_partly_in_use_comes_close() {
    let machine = format!(
        "cpus = 1\nzone = [{{ kind = \"Normal\", managed = \"132000 pages\", \
         free-at-start = \"66000 pages\" }}]\n{SWAP}"
    );
    let rest = "[[task]]\nworkload = \"zipf\"\ntheta = 0.7\nmemory = \"130000 pages\"\n\
                write-permille = 300\naccesses = 500000\n";
    let spec = &specs(&machine, rest)[0];
    let (run, small) = (full(spec), estimate(spec, Share::OneIn(4)).report(None));
    for counter in [VmEvent::PswpIn, VmEvent::PswpOut, VmEvent::PgMajFault] {
        let (mean, count) = (small.counters.get(counter.name()).unwrap().mean, run.vmstat[counter]);
        assert!(count > 10_000, "{}: {count}", counter.name());
        let off = (mean as f64 / count as f64 - 1.0) * 100.0;
        assert!(off.abs() <= 3.0, "{} is off by {off:.2} %", counter.name());
    }
}

/// Any number of jobs, the same bytes; samples differ.
#[test]
fn reports_are_deterministic() {
    let machine = format!("zone = [{{ kind = \"Normal\", managed = \"16500 pages\" }}]\n{SWAP}");
    let rest = "[[task]]\nworkload = \"zipf\"\nmemory = \"30000 pages\"\naccesses = 50000\n";
    let spec = &specs(&machine, rest)[0];
    let json = |jobs| {
        let small = Miniature::new(spec, Share::OneIn(2), 4).unwrap();
        let options = RunOptions::default().with_jobs(jobs);
        let all = miniature::run(vec![small], &Runner::new(&options)).unwrap();
        MiniatureReport::new("x", vec![all[0].report(None)]).to_json()
    };
    assert_eq!(json(1), json(4));
    for key in ["\"share\": 0.25", "\"one_in\": 4", "\"samples\": 4", "\"hash_seeds\"", "\"low\""] {
        assert!(json(1).contains(key), "{key}");
    }
    let run = estimate(spec, Share::OneIn(2)).report(None);
    let faults = run.counters.get("pswpin").unwrap();
    assert!(faults.samples.iter().any(|v| *v != faults.samples[0]));
    assert!(run.not_from_a_miniature.get("pgsteal_direct").is_some());
}

#[test]
fn what_has_no_miniature_is_refused() {
    let zone = |pages: u32| {
        format!("zone = [{{ kind = \"Normal\", managed = \"{pages} pages\" }}]\n{SWAP}")
    };
    let zipf = "[[task]]\nworkload = \"zipf\"\nmemory = \"80000 pages\"\naccesses = 10\n";
    let mapped = format!("{zipf}region = \"file-shared\"\n");
    let reads = format!("{zipf}region = \"read\"\n{zipf}");
    let no = |machine: &str, rest: &str, share| {
        let error = Miniature::new(&specs(machine, rest)[0], share, 4).unwrap_err();
        error.to_string()
    };
    let auto = Share::Auto;
    for (machine, rest, share, why) in [
        (zone(8000), zipf, auto, "leaves less than 4096 pages"),
        (zone(66_000), zipf, Share::OneIn(6), "write 1/16 or `auto`"),
        (zone(66_000), &mapped, auto, "it maps files"),
        (zone(66_000), &reads, auto, "several threads wait"),
        (
            format!("{}\nvm = {{ transparent_hugepage = \"always\" }}", zone(66_000)),
            zipf,
            auto,
            "write `--set machine.vm.transparent_hugepage=never`",
        ),
        (format!("{}\nbatch-shift = 1", zone(66_000)), zipf, auto, "machine.batch-shift"),
        (
            format!("{}\nmemcg = [{{ name = \"a\", max = \"9000 pages\" }}]", zone(66_000)),
            zipf,
            Share::OneIn(3),
            "leaves group `a` less than 4096 pages",
        ),
        (
            zone(66_000),
            "[[task]]\nworkload = \"kernel-alloc\"\norder = 3\nattempts = 1\n",
            auto,
            "blocks",
        ),
        (
            zone(66_000),
            "[[task]]\nworkload = \"phased\"\nregions = { a = { pages = 9 } }\n\
             steps = [{ do = \"repeat\", times = 2, steps = [{ do = \"sysctl\", vm.swappiness = 1 }] }]\n",
            auto,
            "for one size of machine",
        ),
        (
            zone(66_000),
            "[[task]]\nworkload = \"zipf\"\nmemory = \"80000 pages\"\naccesses = 10\n\
             region = \"read\"\nwrite-permille = 500\nfsync = 5\n",
            auto,
            "for one size of machine",
        ),
    ] {
        let error = no(&machine, rest, share);
        assert!(error.contains(why), "{error}");
    }
}
