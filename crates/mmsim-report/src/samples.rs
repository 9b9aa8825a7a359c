//! Fabricated results for tests of the report.

use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::base::vmstat::{VmEvent, VmStat};
use mmsim_core::machine::result::{
    Latencies, PhaseResult, Pressure, RunResult, TaskResult, ThreadResult,
};

use mmsim_core::virt::space::Counted;

use super::document::{KnobValue, Report, RunMeta, RunReport, SwapReport};

fn counted(vmstat: &VmStat) -> Counted {
    let mut counted = Counted::default();
    counted.swap_ins = vmstat[VmEvent::PswpIn];
    counted.major_faults = vmstat[VmEvent::PgMajFault];
    counted.refaults_anon = vmstat[VmEvent::WorkingsetRefaultAnon];
    counted
}

/// Ten seconds of work with these numbers of swap-ins and deactivations.
pub(crate) fn result(swap_ins: u64, deactivated: u64) -> RunResult {
    let mut vmstat = VmStat::default();
    vmstat.add(VmEvent::PswpIn, swap_ins);
    vmstat.add(VmEvent::PgMajFault, swap_ins);
    vmstat.add(VmEvent::WorkingsetRefaultAnon, swap_ins);
    vmstat.add(VmEvent::PgDeactivate, deactivated);
    vmstat.add(VmEvent::PgScanAnon, 4 * swap_ins);
    vmstat.add(VmEvent::PgStealAnon, 2 * swap_ins);
    let mut latency = Latencies::default();
    let q = &mut latency.major_fault;
    (q.count, q.p50, q.p99, q.p999, q.max) = (swap_ins, 90_000, 150_000, 160_000, 161_234);
    let pressure = Pressure::new(500_000, 100_000);
    let seconds = |s: u64| SimTime(s * 1_000_000_000);
    let phase = |name: &str, begin, end, records, vmstat: &VmStat| {
        let mut task = TaskResult::new("ebizzy");
        (task.begin, task.accesses, task.records) = (begin, records * 4, records);
        task.counted = counted(vmstat);
        let mut phase = PhaseResult::new(name, task);
        (phase.begin, phase.end) = (begin, end);
        (phase.accesses, phase.records) = (records * 4, records);
        phase.vmstat = vmstat.clone();
        phase.gauges = vec![("nr_free_pages", 700)];
        (phase.pressure, phase.latency) = (pressure, latency);
        phase
    };
    let mut thread = ThreadResult::new("ebizzy");
    thread.user = SimDuration::from_secs(1);
    thread.system = SimDuration::from_secs(2);
    thread.io_wait = SimDuration::from_secs(7);
    (thread.records, thread.finished) = (50_000, seconds(10));
    let mut result = RunResult::default();
    result.sim_time = SimDuration::from_secs(10);
    (result.accesses, result.records) = (200_000, 50_000);
    result.gauges = vec![("nr_free_pages", 700)];
    result.phases = vec![
        phase("populate", SimTime::ZERO, seconds(2), 0, &VmStat::default()),
        phase("access", seconds(2), seconds(10), 50_000, &vmstat),
    ];
    (result.vmstat, result.pressure, result.latency) = (vmstat, pressure, latency);
    result.threads = vec![thread];
    result.memory_stat = vec![("batch".into(), vec![(VmEvent::PgFault.name(), 3)])];
    result.zones = vec![
        ("DMA".into(), [3840, 26, 32, 38, 3800]),
        ("DMA32".into(), [82_768, 555, 693, 831, 61_736]),
    ];
    (result.digest, result.peak_resident) = (0xdead_beef, 64_200);
    result.host_bytes = 24 * 86_608;
    result
}

pub(crate) fn meta(variant: &str, seed: u64) -> RunMeta {
    RunMeta {
        variant: variant.to_string(),
        axes: vec![("task[0].memory".into(), "1536MiB".into())],
        seed,
        kernel: "6.12".into(),
        cpus: 8,
        policy: "classic-v5.5".into(),
        swap: Some(SwapReport::new("zram", 5 << 30)),
        knobs: vec![("swappiness".into(), KnobValue::Whole(60))],
        ..RunMeta::default()
    }
}

/// `v5.5` and `protection`, which swaps in a fifth less and deactivates far less.
pub(crate) fn two_variants(seeds: &[u64]) -> Report {
    let mut runs = Vec::new();
    for &seed in seeds {
        runs.push(RunReport::from_result(
            meta("v5.5", seed),
            &result(1_500_000 + 1000 * seed, 400_000),
        ));
    }
    for &seed in seeds {
        runs.push(RunReport::from_result(
            meta("protection", seed),
            &result(1_200_000 + 900 * seed, 10_000),
        ));
    }
    Report::new("ebizzy-anon", "ebizzy with a zipf choice of chunks", runs)
}
