//! Shadows many times as numerous as pages: their tree nodes are limited, the oldest go first, and
//! with them what could have been a refault. Everything is audited while it happens.

use crate::harness::memory::small_machine;
use crate::harness::{self, Policy, Ran, Steps};
use mmsim_core::base::vmstat::VmEvent::*;
use mmsim_core::config::{Kernel, MachineConfig};
use mmsim_core::machine::Watch;
use mmsim_lru::config::{ClassicConfig, preset_for_kernel};

/// 800 frames beside swap for 40,000 pages.
fn machine(kernel: Kernel) -> MachineConfig {
    MachineConfig { kernel, ..small_machine(800, 40_000, 0) }
}

fn audited(kernel: Kernel, config: ClassicConfig, steps: Steps) -> Ran {
    let watch = Watch::default().with_check_every(97);
    harness::run_watched(&machine(kernel), Policy::Classic(config), &[steps], watch)
}

/// A node for eight pages may stay; what is above goes by halves, a batch of 128 at least or all
/// that is too much. So there are never many more than that.
#[test]
fn nodes_of_the_swap_cache_are_limited() {
    for kernel in [Kernel::V5_9, Kernel::V6_1, Kernel::V6_12] {
        let s = Steps::new().map(0, 30_000).write(0, 0..30_000).phase();
        let s = s.write(0, 0..2000).phase().write(0, 29_000..29_200).phase();
        let ran = audited(kernel, preset_for_kernel(kernel), s);
        let nodes = ran.gauge("workingset_nodes");
        assert!(nodes <= 100 + 256, "{kernel:?}: {nodes} nodes");
        assert!(ran.n(WorkingsetNodereclaim) > 100, "{kernel:?}: {}", ran.n(WorkingsetNodereclaim));
        assert!(ran.n(SlabsScanned) >= ran.n(WorkingsetNodereclaim));
        // Pages that left first come back unseen, those that left last as refaults.
        let seen =
            |phase| (ran.in_phase(phase, PswpIn), ran.in_phase(phase, WorkingsetRefaultAnon));
        let (early, late) = (seen(1), seen(2));
        assert!(early.0 > 1900 && early.1 * 20 < early.0, "{kernel:?}: {early:?}");
        assert_eq!(late.0, late.1, "{kernel:?}");
    }
}

/// The same of a file that is read through, with swap and without.
#[test]
fn nodes_of_files_are_limited() {
    for slots in [0, 1000] {
        for kernel in [Kernel::V5_5, Kernel::V6_12] {
            let s = Steps::with_file(30_000).read_file(0..30_000).phase();
            let s = s.read_file(0..2000).phase().read_file(28_600..28_800).phase();
            let mut machine = machine(kernel);
            match slots {
                0 => machine.swap.clear(),
                n => machine.swap[0].slots = n,
            }
            let policy = Policy::Classic(preset_for_kernel(kernel));
            let watch = Watch::default().with_check_every(97);
            let ran = harness::run_watched(&machine, policy, &[s], watch);
            let at = format!("{kernel:?}, {slots} slots");
            assert!(ran.n(WorkingsetNodereclaim) > 100, "{at}: {}", ran.n(WorkingsetNodereclaim));
            assert!(ran.gauge("workingset_nodes") <= 100 + 256, "{at}");
            let early = ran.in_phase(1, WorkingsetRefaultFile);
            let late = ran.in_phase(2, WorkingsetRefaultFile);
            assert!(early < 100, "{at}: {early}");
            assert!(late > 150, "{at}: {late}");
        }
    }
}

/// Where all shadows fit nothing is ever freed, and every return is seen.
#[test]
fn few_shadows_stay() {
    let s = Steps::new().map(0, 4000).write(0, 0..4000).phase().write(0, 0..4000).phase();
    let ran = audited(Kernel::V6_12, ClassicConfig::V6_12, s);
    assert_eq!(ran.n(WorkingsetNodereclaim), 0);
    assert_eq!(ran.n(WorkingsetRefaultAnon), ran.n(PswpIn));
}
