//! Description of a machine: plain data. The caller chooses the kernel and the zones; what is left
//! out then is as the reference of scenarios says.

use crate::backing::device::DeviceConfig;
pub use crate::backing::swap::SwapConfig;
pub use crate::backing::zswap::ZswapConfig;
use crate::base::id::{Idx as _, NodeId, PAGE_SIZE};
pub use crate::base::kernel::Kernel;
use crate::base::migratetype::Migratetype;
use crate::base::rules::KernelRules;
use crate::base::time::SimDuration;
pub mod cost;
pub mod host;
pub mod thp;
pub mod vm;

use cost::CostModel;
use host::HostConfig;
pub use thp::{HUGE_ORDER, Orders, SMALLEST_ORDER, Thp, ThpDefrag, ThpSize};
pub use vm::{DirtyLimit, SysctlWrite, VmSysctl};

/// The kinds of zones, in address order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)] // The names of the kernel.
pub enum ZoneKind {
    Dma,
    Dma32,
    Normal,
    Movable,
}

crate::enum_index!(ZoneKind: Dma, Dma32, Normal, Movable);

impl ZoneKind {
    /// All kinds, in address order.
    pub const ALL: [ZoneKind; 4] =
        [ZoneKind::Dma, ZoneKind::Dma32, ZoneKind::Normal, ZoneKind::Movable];
    /// As `/proc/zoneinfo` writes it.
    pub const fn name(self) -> &'static str {
        match self {
            ZoneKind::Dma => "DMA",
            ZoneKind::Dma32 => "DMA32",
            ZoneKind::Normal => "Normal",
            ZoneKind::Movable => "Movable",
        }
    }
}

/// One zone. What is `None` follows the kernel's formulas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZoneConfig {
    /// Which.
    pub kind: ZoneKind,
    /// Pages given to the allocator.
    pub managed: u32,
    /// Free pages at the start of the run; the rest is held by the kernel. `None`: all.
    pub free_at_start: Option<u32>,
    /// Watermarks min, low, high in pages, if not by formula.
    pub watermarks: Option<[u32; 3]>,
    /// `lowmem_reserve` against requests for a higher zone, in pages, if not by formula.
    pub lowmem_reserve: Option<u32>,
    /// Per-CPU list (high, batch) in pages, if not by formula. `(0, 1)` switches it off.
    pub pcp: Option<(u32, u32)>,
    /// Pages in the first CPU's list at the start of the run, besides `free_at_start`.
    pub pcp_at_start: u32,
    /// Where exactly memory is free at the start, in place of `free_at_start` and `pcp_at_start`.
    /// `None`: the kernel holds what lies lowest, and the rest is free in the largest blocks.
    pub layout: Option<ZoneLayout>,
}

impl ZoneConfig {
    /// A zone of `managed` pages, all free, whose watermarks, reserve and per-CPU lists follow the
    /// kernel's formulas.
    pub const fn new(kind: ZoneKind, managed: u32) -> ZoneConfig {
        ZoneConfig {
            kind,
            managed,
            free_at_start: None,
            watermarks: None,
            lowmem_reserve: None,
            pcp: None,
            pcp_at_start: 0,
            layout: None,
        }
    }

    /// The same zone with these watermarks, and neither a reserve nor per-CPU lists: each effect
    /// is that of one allocation.
    #[must_use]
    pub fn bare(self, watermarks: [u32; 3]) -> ZoneConfig {
        let watermarks = Some(watermarks);
        ZoneConfig { watermarks, lowmem_reserve: Some(0), pcp: Some((0, 1)), ..self }
    }
}

/// The memory of a zone frame by frame, as a kernel left it that has booted.
///
/// Every frame that is not named here is held for good: by the kernel, or as a hole, where the
/// firmware keeps memory or there is none (pages that the zone spans and the allocator does not
/// manage). Scanners pass over them. Frames count from the first of the zone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZoneLayout {
    /// Frames from the first to the last, managed or not.
    pub spanned: u32,
    /// Free blocks, of each list the head first: (first frame, order, type of its list).
    pub free: Vec<(u32, u8, Migratetype)>,
    /// Blocks in the first CPU's lists likewise.
    pub pcp: Vec<(u32, u8, Migratetype)>,
    /// Pageblocks that are not movable, by number.
    pub blocks: Vec<(u32, Migratetype)>,
}

impl ZoneLayout {
    /// Pages on the free lists.
    pub fn free_pages(&self) -> u32 {
        self.free.iter().map(|b| 1 << b.1).sum()
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeConfig {
    /// Its zones, in address order.
    pub zones: Vec<ZoneConfig>,
}

/// Pages that `max` in a file of a group stands for (include/linux/page_counter.h).
pub const PAGE_COUNTER_MAX: u64 = i64::MAX as u64 / PAGE_SIZE;

/// A memory cgroup. Group 0 is the root and has no limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemcgConfig {
    /// Path below the root, unique, as in `pod/a`. The group `pod` stands before it.
    pub name: String,
    /// Position of its entry in the list that it was made from: one entry may make several groups.
    pub entry: usize,
    /// `memory.min`, pages, up to [`PAGE_COUNTER_MAX`].
    pub min: u64,
    /// `memory.low`, pages, up to [`PAGE_COUNTER_MAX`].
    pub low: u64,
    /// `memory.high`, pages.
    pub high: Option<u64>,
    /// `memory.max`, pages.
    pub max: Option<u64>,
    /// `memory.swap.high`, pages.
    pub swap_high: Option<u64>,
    /// `memory.swap.max`, pages.
    pub swap_max: Option<u64>,
    /// `memory.zswap.max`, pages.
    pub zswap_max: Option<u64>,
    /// `memory.zswap.writeback`: zswap may write pages of the group to swap devices.
    pub zswap_writeback: bool,
    /// `memory.oom.group`: the OOM killer ends all processes of the group and below, or none.
    pub oom_group: bool,
    /// Its own `vm.lazyfreeness`, 0..=100; `None`: that of the machine.
    pub lazyfreeness: Option<u32>,
    /// When it is created; no earlier than the group above it.
    pub from: SimDuration,
    /// When it is removed, or later: as soon as no process and no group is in it.
    pub until: Option<SimDuration>,
    /// It stands for as many groups that are alike and never have a process: walks come by all of
    /// them. MGLRU's order of groups has one seat for them.
    pub empty: Option<u32>,
}

impl MemcgConfig {
    /// A group without limits.
    pub fn new(name: impl Into<String>) -> MemcgConfig {
        MemcgConfig {
            name: name.into(),
            entry: 0,
            min: 0,
            low: 0,
            high: None,
            max: None,
            swap_high: None,
            swap_max: None,
            zswap_max: None,
            zswap_writeback: true,
            oom_group: false,
            lazyfreeness: None,
            from: SimDuration::ZERO,
            until: None,
            empty: None,
        }
    }
}

/// Options with which the file system of groups is mounted (kernel/cgroup/cgroup.c). A bare mount
/// has none of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemcgMount {
    /// `memory_recursiveprot` (5.7): what a group leaves of its protection protects those below it.
    pub recursive_protection: bool,
    /// `memory_localevents` (5.2): `memory.events` counts events of the group itself alone.
    pub local_events: bool,
}

/// Another disk for files.
#[derive(Clone, PartialEq, Debug)]
pub struct DiskConfig {
    /// Name, unique, and not [`DEFAULT_DISK`].
    pub name: String,
    /// Its device.
    pub device: DeviceConfig,
}

/// The name of the disk that every machine has.
pub const DEFAULT_DISK: &str = "file-device";

/// The priority at which the kernel begins a pass of reclaim.
pub const DEF_PRIORITY: u8 = 12;

/// A whole machine.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineConfig {
    /// The kernel whose core behaviour it follows (not the policy: that has its preset).
    pub kernel: Kernel,
    /// Its rules, if not those of the kernel: small pageblocks, say.
    pub rules: Option<KernelRules>,
    /// CPUs, at least 1.
    pub cpus: u32,
    /// Nodes, at least one.
    pub nodes: Vec<NodeConfig>,
    /// Swap devices, in the order of `swapon`.
    pub swap: Vec<SwapConfig>,
    /// zswap before them; `None`: it was never enabled.
    pub zswap: Option<ZswapConfig>,
    /// The device under files, but for those on other disks.
    pub file_device: DeviceConfig,
    /// Other disks for files: disk 1 is the first of them.
    pub disks: Vec<DiskConfig>,
    /// Sysctls.
    pub vm: VmSysctl,
    /// Groups besides the root, all its children.
    pub memcgs: Vec<MemcgConfig>,
    /// Options with which their file system is mounted.
    pub memcg_mount: MemcgMount,
    /// Pages that the rest of the system holds for good, in every zone in proportion.
    pub os_overhead: u64,
    /// Size of the per-CPU LRU batches; `None`: as the rules say.
    pub lru_batch: Option<u32>,
    /// Up to how many activated refaults a CPU counts without telling reclaim; `None`: by CPUs
    /// and memory, as the kernel does; 0: exact.
    pub stat_threshold: Option<u32>,
    /// log2 of 1/`batch_scale`: 0 is the kernel's own sizes. No batch is smaller than a page.
    pub batch_shift: u32,
    /// The machine is a miniature: each of its pages stands for 2^n of a larger machine. Its sizes
    /// are scaled already. Passes of reclaim begin at the kernel's priority, and rules that know
    /// bytes take those of the larger machine.
    pub miniature: Option<u32>,
    /// Period of the scheduler's tick, above 0: 1/CONFIG_HZ. Whoever runs while another waits
    /// for its CPU gives way at a tick, when its slice is over; the slices are the kernel's.
    pub tick: SimDuration,
    /// Time by which a thread may run ahead of the earliest other one on hits; 0 is strict.
    pub run_ahead: SimDuration,
    /// Cost of each operation.
    pub cost: CostModel,
    /// The host, if the machine is a guest whose memory another kernel gives and takes.
    pub host: Option<HostConfig>,
}

impl MachineConfig {
    /// A machine of one node with these zones and one CPU, without swap and groups. Everything else
    /// is what scenarios have that do not say it.
    pub fn new(kernel: Kernel, zones: Vec<ZoneConfig>) -> MachineConfig {
        MachineConfig {
            kernel,
            rules: None,
            cpus: 1,
            nodes: vec![NodeConfig { zones }],
            swap: Vec::new(),
            zswap: None,
            file_device: DeviceConfig::preset("nvme", 1).expect("a preset"),
            disks: Vec::new(),
            vm: VmSysctl::linux(),
            memcgs: Vec::new(),
            memcg_mount: MemcgMount::default(),
            os_overhead: 0,
            lru_batch: None,
            stat_threshold: None,
            batch_shift: 0,
            miniature: None,
            tick: SimDuration::from_millis(4),
            run_ahead: SimDuration::from_micros(100),
            cost: CostModel::measured(),
            host: None,
        }
    }

    /// Usable slots of all swap devices.
    pub fn swap_slots(&self) -> u64 {
        self.swap.iter().map(|s| u64::from(s.slots)).sum()
    }

    /// The rules that it follows.
    pub fn kernel_rules(&self) -> KernelRules {
        self.rules.unwrap_or(KernelRules::of(self.kernel))
    }

    /// log2 by which batches are divided that belong to CPUs, not to reclaim.
    #[inline]
    pub(crate) fn cpu_batch_shift(&self) -> u32 {
        self.miniature.unwrap_or(self.batch_shift)
    }

    /// `n` pages of a batch of reclaim as this machine has it: at least 1.
    #[inline]
    pub fn batch(&self, n: u64) -> u64 {
        (n >> self.batch_shift).max(1)
    }

    /// The priority at which passes of reclaim begin.
    #[inline]
    pub(crate) fn starts_at(&self) -> u8 {
        match self.miniature {
            Some(_) => DEF_PRIORITY,
            // Memory scaled down by 2^k meets the same share of a list at a priority lower by k.
            None => DEF_PRIORITY.saturating_sub(self.batch_shift as u8),
        }
    }

    /// CPUs of a node.
    pub(crate) fn cpus_of(&self, node: NodeId) -> usize {
        let (cpus, nodes) = (self.cpus as usize, self.nodes.len());
        (0..cpus).filter(|cpu| node_of_cpu(*cpu, cpus, nodes) == node).count()
    }
}

/// The node of a CPU, from 0 to `cpus - 1`: nodes have as many CPUs each, or differ by one. With
/// more nodes than CPUs some nodes have none.
#[inline]
pub(crate) fn node_of_cpu(cpu: usize, cpus: usize, nodes: usize) -> NodeId {
    NodeId::from_index(cpu * nodes / cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand: every CPU has a node, and a machine of more nodes than CPUs has bare nodes.
    #[test]
    fn nodes_share_the_cpus() {
        let shares = |cpus, nodes| -> Vec<usize> {
            let of = |n| (0..cpus).filter(|c| node_of_cpu(*c, cpus, nodes).index() == n).count();
            (0..nodes).map(of).collect()
        };
        assert_eq!(shares(4, 2), [2, 2]);
        assert_eq!(shares(3, 2), [2, 1]);
        assert_eq!(shares(8, 3), [3, 3, 2]);
        assert_eq!(shares(2, 4), [1, 0, 1, 0]);
    }
}
