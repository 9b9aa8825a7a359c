//! Fabricated results for tests of the report.

use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::base::vmstat::{VmEvent, VmStat};
use mmsim_core::machine::result::{
    Latencies, Outcome, PhaseResult, Pressure, Quantiles, RunResult, TaskResult, ThreadResult,
};

use mmsim_core::virt::space::Counted;

use super::document::{KnobValue, Report, RunMeta, RunReport, SwapReport};

fn counted(vmstat: &VmStat) -> Counted {
    Counted {
        swap_ins: vmstat[VmEvent::PswpIn],
        major_faults: vmstat[VmEvent::PgMajFault],
        refaults_anon: vmstat[VmEvent::WorkingsetRefaultAnon],
        ..Counted::default()
    }
}

/// Ten seconds of work with so many swap-ins and deactivations.
pub(crate) fn result(swap_ins: u64, deactivated: u64) -> RunResult {
    let mut vmstat = VmStat::default();
    vmstat.add(VmEvent::PswpIn, swap_ins);
    vmstat.add(VmEvent::PgMajFault, swap_ins);
    vmstat.add(VmEvent::WorkingsetRefaultAnon, swap_ins);
    vmstat.add(VmEvent::PgDeactivate, deactivated);
    vmstat.add(VmEvent::PgScanAnon, 4 * swap_ins);
    vmstat.add(VmEvent::PgStealAnon, 2 * swap_ins);
    let latency = Latencies {
        major_fault: Quantiles {
            count: swap_ins,
            p50: 90_000,
            p99: 150_000,
            p999: 160_000,
            max: 161_234,
        },
        ..Latencies::default()
    };
    let pressure = Pressure { some_us: 500_000, full_us: 100_000 };
    let seconds = |s: u64| SimTime(s * 1_000_000_000);
    let phase = |name: &str, begin, end, records, vmstat: &VmStat| PhaseResult {
        name: name.to_string(),
        begin,
        end,
        accesses: records * 4,
        records,
        vmstat: vmstat.clone(),
        gauges: vec![("nr_free_pages", 700)],
        generations: Vec::new(),
        pressure,
        latency,
        task: TaskResult {
            name: "ebizzy".into(),
            begin,
            accesses: records * 4,
            records,
            counted: counted(vmstat),
            record: None,
        },
    };
    RunResult {
        outcome: Outcome::Completed,
        sim_time: SimDuration::from_secs(10),
        accesses: 200_000,
        records: 50_000,
        gauges: vec![("nr_free_pages", 700)],
        phases: vec![
            phase("populate", SimTime::ZERO, seconds(2), 0, &VmStat::default()),
            phase("access", seconds(2), seconds(10), 50_000, &vmstat),
        ],
        vmstat,
        pressure,
        latency,
        threads: vec![ThreadResult {
            name: "ebizzy".into(),
            user: SimDuration::from_secs(1),
            system: SimDuration::from_secs(2),
            io_wait: SimDuration::from_secs(7),
            throttled: SimDuration::ZERO,
            records: 50_000,
            finished: seconds(10),
        }],
        tasks: Vec::new(),
        reading: [SimDuration::ZERO; 2],
        cache_misses: 0,
        not_kept: Vec::new(),
        high_order: Default::default(),
        compaction: None,
        memory_stat: vec![("batch".into(), vec![("pgfault", 3)])],
        aims: Vec::new(),
        replayed: Vec::new(),
        unwritten: Vec::new(),
        zones: vec![
            ("DMA".into(), [3840, 26, 32, 38, 3800]),
            ("DMA32".into(), [82_768, 555, 693, 831, 61_736]),
        ],
        digest: 0xdead_beef,
        peak_resident: 64_200,
        mean_resident: None,
        host_bytes: 24 * 86_608,
    }
}

pub(crate) fn meta(variant: &str, seed: u64) -> RunMeta {
    RunMeta {
        variant: variant.to_string(),
        axes: vec![("task[0].memory".into(), "1536MiB".into())],
        seed,
        kernel: "6.12".into(),
        cpus: 8,
        policy: "classic-v5.5".into(),
        swap: Some(SwapReport { device: "zram".into(), bytes: 5 << 30 }),
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
