//! Takes some swap-in faults, one after the other, and nothing else beside them: `faults [NUMBER]`.
//!
//! A run with one fault more differs by what one fault does. `tools/house --fault` counts so which
//! files of the simulator a fault goes through, on the general path.

use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{Kernel, MachineConfig, SwapConfig, ZoneConfig, ZoneKind};
use mmsim_core::machine::{Machine, TaskConfig, Watch};
use mmsim_core::workload::{Advice, MapKind, Op, RegionId, Run, VmaFlags, Workload, WorkloadCx};
use mmsim_lru::{Classic, ClassicConfig};

const REGION: RegionId = RegionId(0);
const PAGES: u32 = 64;

/// Writes a region, has it evicted, and reads `faults` of its pages.
struct Faults(u32);

impl Workload for Faults {
    fn fill(&mut self, _: &WorkloadCx, _: &mut mmsim_core::base::rng::Rng, ops: &mut Vec<Op>) {
        if self.0 == u32::MAX {
            return;
        }
        let (flags, kind) = (VmaFlags::default(), MapKind::Anon);
        ops.push(Op::Mmap { region: REGION, pages: PAGES, kind, flags, at: None });
        ops.push(Op::Access(Run { region: REGION, write: true, first: 0, count: PAGES }));
        let advice = Advice::PageOut;
        ops.push(Op::Madvise { region: REGION, first: 0, count: PAGES, advice });
        let read = |first| Op::Access(Run { region: REGION, write: false, first, count: 1 });
        ops.extend((0..std::mem::replace(&mut self.0, u32::MAX)).map(read));
    }
}

fn main() {
    let faults = std::env::args().nth(1).map_or(1, |n| n.parse().expect("a number of faults"));
    let zone = ZoneConfig::new(ZoneKind::Normal, 4096);
    let device = DeviceConfig::preset("ramdisk", 1).expect("a preset");
    let config = MachineConfig {
        swap: vec![SwapConfig::new(1024, device)],
        ..MachineConfig::new(Kernel::V6_12, vec![zone])
    };
    let task = TaskConfig::new("task", vec![Box::new(Faults(faults))]);
    let policy = |mem: &mut _| Classic::boxed(ClassicConfig::V6_12, mem);
    let mut machine = Machine::new(&config, vec![task], 1, policy);
    let result = machine.run(Watch::default().with_slow_paths(true));
    assert_eq!(result.vmstat[VmEvent::PgMajFault], u64::from(faults), "swap-in faults");
}
