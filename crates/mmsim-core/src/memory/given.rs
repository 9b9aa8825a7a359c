//! Settings of a run.

use crate::base::rules::KernelRules;
use crate::base::time::SimDuration;
use crate::config::cost::CostModel;
use crate::config::{MachineConfig, VmSysctl};

/// Settings of a run. Doors read them; only steps of workloads that write sysctls change one.
pub struct Given {
    /// Behaviour of the kernel that differs from other kernels.
    pub rules: KernelRules,
    /// Sysctls.
    pub vm: VmSysctl,
    /// Some mapping may have large folios below 2 MiB. Faults ask that first.
    pub(crate) sizes_on: bool,
    /// Costs.
    pub cost: CostModel,
    /// Time between two scheduling ticks.
    pub tick: SimDuration,
    /// log2 of 1/batch_scale.
    pub batch_shift: u32,
    /// The priority at which passes of reclaim begin.
    pub first_priority: u8,
    /// log2 of the pages that a page stands for, above 0 on a miniature.
    pub scale_shift: u32,
    /// Everything takes the slow path, for tests that compare it with the fast ones.
    pub slow_paths: bool,
}

impl Given {
    /// Settings of a machine with these rules.
    pub(super) fn new(config: &MachineConfig, rules: KernelRules) -> Given {
        Given {
            rules,
            vm: config.vm.clone(),
            sizes_on: config.vm.has_sizes(),
            cost: config.cost.clone(),
            tick: config.tick,
            batch_shift: config.batch_shift,
            first_priority: config.starts_at(),
            scale_shift: config.miniature.unwrap_or(0),
            slow_paths: false,
        }
    }
}
