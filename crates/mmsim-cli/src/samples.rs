//! Fabricated results for tests.

use mmsim::base::time::{SimDuration, SimTime};
use mmsim::base::vmstat::{VmEvent, VmStat};
use mmsim::machine::result::{Latencies, PhaseResult, Pressure, RunResult, TaskResult};
use mmsim::report::{Report, RunMeta, RunReport, SwapReport};
use mmsim::virt::space::Counted;

fn counted(vmstat: &VmStat) -> Counted {
    let mut counted = Counted::default();
    counted.swap_ins = vmstat[VmEvent::PswpIn];
    counted.major_faults = vmstat[VmEvent::PgMajFault];
    counted.refaults_anon = vmstat[VmEvent::WorkingsetRefaultAnon];
    counted
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
    let pressure = Pressure::new(500_000, 100_000);
    let mut latency = Latencies::default();
    let q = &mut latency.major_fault;
    (q.count, q.p50, q.p99, q.p999, q.max) = (swap_ins, 1, 150_000, 3, 4);
    let phase = |name: &str, begin, end, records, vmstat: &VmStat| {
        let mut task = TaskResult::new("ebizzy");
        (task.begin, task.accesses, task.records) = (SimTime(begin), records * 4, records);
        task.counted = counted(vmstat);
        let mut phase = PhaseResult::new(name, task);
        (phase.begin, phase.end) = (SimTime(begin), SimTime(end));
        (phase.accesses, phase.records) = (4 * records, records);
        phase.vmstat = vmstat.clone();
        (phase.pressure, phase.latency) = (pressure, latency);
        phase
    };
    let end = 10_000_000_000 - variant * 500_000_000;
    let mut result = RunResult::default();
    result.sim_time = SimDuration(end);
    (result.accesses, result.records) = (200_000, 50_000);
    result.gauges = vec![("nr_free_pages", 700)];
    result.phases = vec![
        phase("populate", 0, 2_000_000_000, 0, &VmStat::default()),
        phase("access", 2_000_000_000, end, 50_000, &vmstat),
    ];
    (result.vmstat, result.pressure, result.latency) = (vmstat, pressure, latency);
    result.zones = vec![
        ("DMA".into(), [3840, 26, 32, 38, 3800]),
        ("DMA32".into(), [82_768, 555, 693, 831, 61_736]),
    ];
    result.digest = 0xdead_beef + variant * 1000 + seed;
    (result.peak_resident, result.host_bytes) = (64_200, 24 * 86_608);
    result
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
