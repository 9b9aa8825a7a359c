//! Fabricated results for tests.

use mmsim::base::time::{SimDuration, SimTime};
use mmsim::base::vmstat::{VmEvent, VmStat};
use mmsim::machine::result::{
    Latencies, Outcome, PhaseResult, Pressure, Quantiles, RunResult, TaskResult,
};
use mmsim::report::{Report, RunMeta, RunReport, SwapReport};
use mmsim::virt::space::Counted;

fn counted(vmstat: &VmStat) -> Counted {
    Counted {
        swap_ins: vmstat[VmEvent::PswpIn],
        major_faults: vmstat[VmEvent::PgMajFault],
        refaults_anon: vmstat[VmEvent::WorkingsetRefaultAnon],
        ..Counted::default()
    }
}

/// A run whose counters fall with the place of its variant and vary a little with the seed.
pub(crate) fn result(variant: u64, seed: u64) -> RunResult {
    let swap_ins = 1_500_000 / (variant + 1) + (seed * seed) * 1_000;
    let mut vmstat = VmStat::default();
    vmstat.add(VmEvent::PswpIn, swap_ins);
    vmstat.add(VmEvent::PgMajFault, swap_ins);
    vmstat.add(VmEvent::WorkingsetRefaultAnon, swap_ins);
    vmstat.add(VmEvent::PgDeactivate, 400_000 / (variant * 9 + 1));
    vmstat.add(VmEvent::PgScanAnon, 5_000_000);
    vmstat.add(VmEvent::PgStealAnon, 2_000_000);
    let pressure = Pressure { some_us: 500_000, full_us: 100_000 };
    let latency = Latencies {
        major_fault: Quantiles { count: swap_ins, p50: 1, p99: 150_000, p999: 3, max: 4 },
        ..Latencies::default()
    };
    let phase = |name: &str, begin, end, records, vmstat: &VmStat| PhaseResult {
        name: name.to_string(),
        begin: SimTime(begin),
        end: SimTime(end),
        accesses: 4 * records,
        records,
        vmstat: vmstat.clone(),
        gauges: Vec::new(),
        generations: Vec::new(),
        pressure,
        latency,
        task: TaskResult {
            name: "ebizzy".into(),
            begin: SimTime(begin),
            accesses: records * 4,
            records,
            counted: counted(vmstat),
            record: None,
        },
    };
    let end = 10_000_000_000 - variant * 500_000_000;
    RunResult {
        outcome: Outcome::Completed,
        sim_time: SimDuration(end),
        accesses: 200_000,
        records: 50_000,
        gauges: vec![("nr_free_pages", 700)],
        phases: vec![
            phase("populate", 0, 2_000_000_000, 0, &VmStat::default()),
            phase("access", 2_000_000_000, end, 50_000, &vmstat),
        ],
        vmstat,
        pressure,
        latency,
        threads: Vec::new(),
        memory_stat: Vec::new(),
        tasks: Vec::new(),
        reading: [SimDuration::ZERO; 2],
        cache_misses: 0,
        not_kept: Vec::new(),
        high_order: Default::default(),
        compaction: None,
        aims: Vec::new(),
        replayed: Vec::new(),
        unwritten: Vec::new(),
        zones: vec![
            ("DMA".into(), [3840, 26, 32, 38, 3800]),
            ("DMA32".into(), [82_768, 555, 693, 831, 61_736]),
        ],
        digest: 0xdead_beef + variant * 1000 + seed,
        peak_resident: 64_200,
        mean_resident: None,
        host_bytes: 24 * 86_608,
    }
}

pub(crate) fn meta(variant: &str, seed: u64) -> RunMeta {
    let mut meta = RunMeta::default();
    meta.variant = variant.to_string();
    meta.seed = seed;
    meta.kernel = "6.12".into();
    meta.cpus = 8;
    meta.policy = "classic-v5.5".into();
    meta.swap = Some(SwapReport::new("zram", 5 << 30));
    meta
}

pub(crate) fn report(variants: &[&str], seeds: &[u64]) -> Report {
    let mut runs = Vec::new();
    for (i, variant) in variants.iter().enumerate() {
        for &seed in seeds {
            runs.push(RunReport::from_result(meta(variant, seed), &result(i as u64, seed)));
        }
    }
    Report::new("ebizzy-anon", "ebizzy with a zipf choice of chunks", runs)
}

/// Compares with the text in `tests/tables`; `MMSIM_BLESS=1` rewrites it, to be read as a
/// difference.
pub(crate) fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/tables/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{path} should be:\n{text}");
}
