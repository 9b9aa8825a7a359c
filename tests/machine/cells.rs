//! Small machines with one clear workload, shared by tests, benches and examples: what is
//! timed there is the run whose digest is asserted here.

#![allow(dead_code)] // Each of them uses a part.

use mmsim::machines::Machine;
use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::config::{Kernel, MachineConfig, SwapConfig, VmSysctl, ZoneConfig, ZoneKind};
use mmsim_core::machine::TaskConfig;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_core::workload::{Op, Workload};
use mmsim_lru::{Classic, ClassicConfig};
use mmsim_workload::generators::{End, ZipfConfig, uniform};
use mmsim_workload::sampler::RankMap;

/// Pages of the large cells.
pub(crate) const PAGES: u32 = 1 << 20;
/// Frames of the cell at about 10 % memory.
pub(crate) const FRAMES_10: u32 = 100_000;
/// Frames of the cell at 50 % memory.
pub(crate) const FRAMES_50: u32 = PAGES / 2;
/// Frames of the cell at 98 % memory.
pub(crate) const FRAMES_98: u32 = (PAGES as u64 * 98 / 100) as u32;

/// True if a bench is only tried, each case once: `cargo bench` says `--bench`, `cargo test` does
/// not. Then it leaves out its larger cases.
pub(crate) fn tried() -> bool {
    std::env::args().all(|a| a != "--bench") || std::env::args().any(|a| a == "--test")
}

/// A machine of one zone and one CPU with swap for all on a device that works on the
/// caller's CPU and takes no memory of the machine; no readahead.
pub(crate) fn machine_of(frames: u32, slots: u32, kernel: Kernel) -> MachineConfig {
    let device = DeviceConfig {
        stored_bytes_per_page: 0,
        ..DeviceConfig::preset("ramdisk", 1).expect("a preset")
    };
    MachineConfig {
        swap: vec![SwapConfig::new(slots, device)],
        vm: VmSysctl { page_cluster: 0, ..VmSysctl::linux() },
        ..MachineConfig::new(kernel, vec![ZoneConfig::new(ZoneKind::Normal, frames)])
    }
}

/// A process named `work` that starts at once.
pub(crate) fn task(threads: Vec<Box<dyn Workload>>) -> Vec<TaskConfig> {
    vec![TaskConfig::new("work", threads)]
}

/// Draws by zipf 0.9 over `pages` scattered pages, three writes in ten.
pub(crate) fn zipf(pages: u32, accesses: u64, threads: u32) -> ZipfConfig {
    ZipfConfig {
        theta: 0.9,
        map: RankMap::Scatter,
        write_permille: 300,
        threads,
        end: End::Work(accesses),
        ..uniform(pages, accesses)
    }
}

/// The policy of Linux 6.12.
pub(crate) fn classic(mem: &mut mmsim_core::memory::Memory) -> Box<dyn ReclaimPolicy> {
    Box::new(Classic::new(ClassicConfig::V6_12, mem))
}

/// The cell that speed is stated for: zipf 0.9 over 2^20 pages with `frames` of memory.
pub(crate) fn zipf_cell(frames: u32, accesses: u64) -> Machine {
    let config = machine_of(frames, 2 * PAGES, Kernel::V6_12);
    Machine::new(&config, task(zipf(PAGES, accesses, 1).workloads()), 1, classic)
}

/// Hands over a list of operations once.
pub(crate) struct Script(pub(crate) Vec<Op>);

impl Workload for Script {
    fn fill(
        &mut self,
        _cx: &mmsim_core::workload::WorkloadCx,
        _rng: &mut mmsim_core::base::rng::Rng,
        ops: &mut Vec<Op>,
    ) {
        ops.append(&mut self.0);
    }

    fn phases(&self) -> Vec<String> {
        let end = |op: &Op| if let Op::PhaseEnd(i) = op { Some(format!("p{i}")) } else { None };
        self.0.iter().filter_map(end).collect()
    }
}
