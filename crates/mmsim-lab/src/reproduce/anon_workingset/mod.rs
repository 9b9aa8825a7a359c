//! The anonymous workingset series (J. Kim, linux-mm, 2020): protection and detection of
//! the anonymous working set, in Linux since 5.9.
//!
//! What was published: two worked examples and the tables of ebizzy of the first posting,
//! the test of detection, the swap-ins of the seventh posting, and one remark on kernel
//! builds. docs/anon-workingset.md has the figures that come out here.

mod build;
mod detection;
mod examples;
mod swap_ins;
mod throughput;

use super::lab::{Lab, Sets};
use super::published::Published;
use super::{Family, Figures};
use mmsim::report::RunReport;
use mmsim::run::RunError;

/// The family.
pub static FAMILY: Family = Family {
    name: "anon-workingset",
    about: "workingset protection and detection on the anonymous LRU list (2020, Linux 5.9)",
    published: include_str!("../../../evidence/published/anon-workingset.toml"),
    scenarios: &[swap_ins::SCENARIO, throughput::SCENARIO, detection::SCENARIO, build::SCENARIO],
    constants: &[
        swap_ins::OVERHEAD,
        swap_ins::RECORDS_PER_CHUNK,
        throughput::OVERHEAD_1T,
        throughput::OVERHEAD_8T,
        throughput::SSD_READ,
        throughput::SSD_BANDWIDTH,
        throughput::DURATION_1T,
        throughput::DURATION_8T,
        detection::REPETITIONS,
    ],
    tables: &[
        "example-fifty-hot-pages",
        "example-thrashing-under-protection",
        "ebizzy-v1-1t",
        "ebizzy-v1-8t",
        "swap-size-1t",
        "swap-size-8t",
        "detection-swap-traffic",
        "detection-memory",
        "ebizzy-v7-swapin-1t",
        "ebizzy-v7-swapin-8t",
        "ebizzy-v7-copies",
        "kernel-build",
    ],
    kernels: &["5.10-anon-base", "5.10-anon-protect", "5.10-anon-series"],
    left_out: &[],
    figures,
};

/// By what ebizzy's machine of the swap-in tables is smaller, unless the user says.
const SCALE: u64 = 8;
/// `vm.min_free_kbytes` that the kernel's formula gives for 1024 MB.
const MIN_FREE_KBYTES: u64 = 4093;
/// Chunks of ebizzy in a MiB.
const CHUNKS_PER_MIB: u64 = 2;

fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut all = Figures::default();
    all.add(examples::figures(lab, published));
    all.add(throughput::figures(lab, published)?);
    all.add(detection::figures(lab, published)?);
    all.add(swap_ins::figures(lab, published)?);
    all.add(build::figures(lab, published)?);
    Ok(all)
}

/// By what it is.
fn scale(lab: &Lab<'_>) -> u64 {
    lab.scale.unwrap_or(SCALE)
}

/// A value as `--set` takes it.
fn set(path: &str, value: impl std::fmt::Display) -> (String, String) {
    (path.to_string(), value.to_string())
}

/// ebizzy's machine of 1024 MB, smaller by `scale`; `overhead` MiB of it the workload cannot
/// have. The watermarks, which would follow the root of the size, are made those of the
/// large machine.
fn ebizzy_machine(scale: u64, overhead: f64, swap_mib: u64) -> Sets {
    let overhead = overhead * 1024.0 / scale as f64;
    vec![
        set("machine.memory", format!("{}KiB", (1024 << 10) / scale)),
        set("machine.os-overhead", format!("{}KiB", overhead.round() as u64 / 4 * 4)),
        set("machine.swap.size", format!("{}KiB", (swap_mib << 10) / scale)),
        set("machine.vm.min_free_kbytes", MIN_FREE_KBYTES / scale),
    ]
}

/// ebizzy's memory in chunks of its default size, smaller by `scale`: as many chunks, of
/// fewer pages.
fn ebizzy_task(scale: u64, memory_mib: u64, threads: u64, alpha: &str) -> Sets {
    vec![
        set("task[0].memory", format!("{}KiB", (memory_mib << 10) / scale)),
        set("task[0].chunk", format!("{}KiB", 512 / scale)),
        set("task[0].threads", threads),
        set("task[0].zipf", alpha),
    ]
}

/// A counter of the whole run.
fn counter(run: &RunReport, name: &str) -> f64 {
    *run.vmstat.get(name).unwrap_or_else(|| panic!("no counter {name}")) as f64
}
