//! Operations on the simulated machine: what addresses are, and what is done to their pages.
//!
//! Three sets, as in the kernel: the address space of a process whose ranges follow its mappings
//! (`vaddr`), one whose ranges are fixed (`fvaddr`), and physical memory (`paddr`). They differ in how
//! an address leads to a page and what is looked at there; everything else is the context's.
//!
//! Linux 6.12 mm/damon/vaddr.c, paddr.c, ops-common.c.

mod paddr;
mod vaddr;

use crate::attrs::MonitoringAttrs;
use crate::config::{DamonConfig, MinRegions};
use crate::context::Context;
use crate::damos::goal::Metric;
use crate::damos::scheme::{Action, Scheme};
use crate::operations::{Hook, Operations, ScoreKind};
use crate::region::{Region, Target, draw_sampling_addr};
use crate::watch::Watch;
use mmsim_core::base::id::{AsId, MemcgId, NodeId, Pfn};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimTime;
use mmsim_core::memory::{Memory, SAMPLE_BATCH};
use mmsim_core::phys::frames::FolioId;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_core::policy::monitor::Doors;
use std::ops::ControlFlow;

/// An operations set (`enum damon_ops_id`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpsId {
    /// The address space of a process; its ranges follow its mappings.
    Vaddr,
    /// Fixed ranges of the address space of a process.
    Fvaddr,
    /// Physical memory.
    Paddr,
}

impl OpsId {
    /// All, in the order of the kernel.
    pub const ALL: [OpsId; 3] = [OpsId::Vaddr, OpsId::Fvaddr, OpsId::Paddr];

    /// As the kernel's files write it.
    pub fn name(self) -> &'static str {
        match self {
            OpsId::Vaddr => "vaddr",
            OpsId::Fvaddr => "fvaddr",
            OpsId::Paddr => "paddr",
        }
    }
}

/// log2 of the bytes of a page.
const PAGE_SHIFT: u32 = 12;

/// State of a set besides the machine, kept from step to step.
#[derive(Debug)]
pub(crate) struct OpsState {
    pub(crate) id: OpsId,
    config: DamonConfig,
    /// Draws sampling addresses.
    rng: Rng,
    /// Kept for the folios that an action takes off their lists.
    taken: Vec<FolioId>,
}

impl OpsState {
    pub(crate) fn new(id: OpsId, config: DamonConfig, rng: Rng) -> OpsState {
        OpsState { id, config, rng, taken: Vec::new() }
    }
}

/// The operations of one step.
pub(crate) struct MachineOps<'a> {
    pub(crate) doors: &'a mut dyn Doors,
    pub(crate) state: &'a mut OpsState,
    pub(crate) watch: &'a mut Watch,
    /// Metrics of goals, as of this step.
    pub(crate) measured: &'a [(Metric, u64)],
}

/// A metric as it is now: the stall time since boot, shares in 1/10000. Of a node or group that
/// there is not, nothing is used.
pub(crate) fn measure(doors: &mut dyn Doors, metric: Metric) -> u64 {
    let used_and_all = |doors: &mut dyn Doors, node: u16, memcg: Option<u16>| {
        let (mem, policy) = doors.parts();
        if usize::from(node) >= mem.zones.nr_nodes() {
            return None;
        }
        let node = NodeId(node as u8);
        let zones = || mem.zones.of_node(node).iter();
        let all: u64 = zones().map(|&z| u64::from(mem.zones[z].managed)).sum();
        let used = match memcg {
            None => all - zones().map(|&z| mem.zones[z].free).sum::<u64>().min(all),
            Some(m) if usize::from(m) >= mem.memcgs.len() => return None,
            Some(m) => lists(policy, mem, node, MemcgId(m)).into_iter().sum(),
        };
        Some((used, all))
    };
    // A node without memory is full.
    let used_bp = |of: Option<(u64, u64)>| match of {
        None => 0,
        Some((used, all)) if all == 0 || used > all => 10_000,
        Some((used, all)) => used * 10_000 / all,
    };
    let free_bp = |of: Option<(u64, u64)>| match of {
        None => 10_000,
        Some((used, all)) if all == 0 || used > all => 0,
        Some((used, all)) => (all - used) * 10_000 / all,
    };
    let share = |doors: &mut dyn Doors, of: usize| {
        let (mem, policy) = doors.parts();
        let nodes = (0..mem.zones.nr_nodes()).map(|n| NodeId(n as u8));
        let halves = nodes.fold([0, 0], |sum, n| {
            let [ia, aa, i_f, af] = lists(policy, mem, n, MemcgId(0));
            [sum[0] + ia + i_f, sum[1] + aa + af]
        });
        halves[of] * 10_000 / (halves[0] + halves[1]).max(1)
    };
    match metric {
        Metric::UserInput | Metric::NodeEligibleMemBp(_) => 0,
        Metric::SomeMemPsiUs => doors.some_us(),
        Metric::NodeMemUsedBp(node) => used_bp(used_and_all(doors, node, None)),
        Metric::NodeMemFreeBp(node) => free_bp(used_and_all(doors, node, None)),
        Metric::NodeMemcgUsedBp(node, memcg) => used_bp(used_and_all(doors, node, Some(memcg))),
        Metric::NodeMemcgFreeBp(node, memcg) => free_bp(used_and_all(doors, node, Some(memcg))),
        Metric::InactiveMemBp => share(doors, 0),
        Metric::ActiveMemBp => share(doors, 1),
    }
}

/// Pages of the evictable lists of a memory cgroup on a node: inactive and active anonymous ones,
/// inactive and active file pages. The root has those of all cgroups.
fn lists(policy: &dyn ReclaimPolicy, mem: &Memory, node: NodeId, memcg: MemcgId) -> [u64; 4] {
    let lists = policy.snapshot(mem, node, memcg).lists;
    let names = ["nr_inactive_anon", "nr_active_anon", "nr_inactive_file", "nr_active_file"];
    names.map(|name| lists.iter().find(|l| l.0 == name).map_or(0, |l| l.1))
}

fn living(mem: &Memory, target: &Target) -> Option<AsId> {
    target.space.filter(|&a| !mem.virt.spaces[a].dead)
}

impl Operations for MachineOps<'_> {
    fn now(&self) -> SimTime {
        self.doors.memory().acting.now
    }

    fn charge_regions(&mut self, regions: u64) {
        let mem = self.doors.parts().0;
        mem.acting.now += mem.given.cost.t_region * regions;
    }

    fn prepare_access_checks(&mut self, targets: &mut [Target]) {
        let (mem, _) = self.doors.parts();
        let OpsState { id, config, rng, .. } = &mut *self.state;
        for t in targets {
            let space = living(mem, t);
            if *id != OpsId::Paddr && space.is_none() {
                continue;
            }
            let in_batches = mem.in_batches(t.regions().len());
            for some in t.regions_mut().chunks_mut(SAMPLE_BATCH) {
                for r in &mut *some {
                    r.sampling_addr = draw_sampling_addr(r, config.rand32, rng);
                }
                match space {
                    Some(space) => {
                        vaddr::mkold(mem, space, some, config.hugetlb_check, &in_batches)
                    }
                    None => paddr::mkold(mem, some),
                }
            }
        }
    }

    fn check_accesses(&mut self, targets: &[Target], out: &mut Vec<bool>) {
        let (mem, _) = self.doors.parts();
        let hugetlb = self.state.config.hugetlb_check;
        for t in targets {
            let space = living(mem, t);
            let in_batches = mem.in_batches(t.regions().len());
            for some in t.regions().chunks(SAMPLE_BATCH) {
                match (self.state.id, space) {
                    (OpsId::Paddr, _) => paddr::young(mem, some, out),
                    (_, Some(space)) => vaddr::young(mem, space, some, hugetlb, &in_batches, out),
                    // The process is gone.
                    (_, None) => out.extend(some.iter().map(|_| false)),
                }
            }
        }
    }

    fn init(&mut self, targets: &mut [Target], attrs: &MonitoringAttrs) {
        if self.state.id == OpsId::Vaddr {
            let even = self.state.config.min_regions == MinRegions::MergeLimit;
            vaddr::init(self.doors.memory(), targets, attrs, even);
        }
    }

    fn update(&mut self, targets: &mut [Target], attrs: &MonitoringAttrs) {
        if self.state.id == OpsId::Vaddr {
            vaddr::update(self.doors.memory(), targets, attrs);
        }
    }

    fn target_valid(&self, target: &Target) -> Option<bool> {
        match self.state.id {
            OpsId::Paddr => None,
            _ => Some(living(self.doors.memory(), target).is_some()),
        }
    }

    fn score_kind(&self, action: Action) -> ScoreKind {
        match (self.state.id, action) {
            (_, Action::Pageout) => ScoreKind::Cold,
            (OpsId::Paddr, Action::LruDeprio | Action::MigrateCold) => ScoreKind::Cold,
            (OpsId::Paddr, Action::LruPrio | Action::MigrateHot) => ScoreKind::Hot,
            _ => ScoreKind::Flat,
        }
    }

    fn apply(&mut self, target: &Target, region: Region, scheme: &Scheme) -> u64 {
        match (self.state.id, target.space) {
            (OpsId::Paddr, _) => {
                let OpsState { config, taken, .. } = &mut *self.state;
                paddr::apply(self.doors, &region, scheme, config, taken)
            }
            (_, Some(space)) => vaddr::apply(self.doors, space, &region, scheme.action),
            (_, None) => 0,
        }
    }

    fn free_mem_rate(&self) -> u64 {
        let mem = self.doors.memory();
        let managed: u64 = mem.zones.ids().map(|z| u64::from(mem.zones[z].managed)).sum();
        mem.zones.nr_free() * 1000 / managed.max(1)
    }

    fn some_mem_psi_us(&self) -> u64 {
        self.measure(Metric::SomeMemPsiUs)
    }

    fn measure(&self, metric: Metric) -> u64 {
        self.measured.iter().find(|m| m.0 == metric).map_or(0, |m| m.1)
    }

    fn eligible_mem_bp(&mut self, regions: &[Region], node: u16) -> u64 {
        let mem = self.doors.parts().0;
        if self.state.id != OpsId::Paddr || usize::from(node) >= mem.zones.nr_nodes() {
            return 0;
        }
        let (of_node, all) = paddr::eligible(mem, regions, NodeId(node as u8));
        (of_node * 10_000).checked_div(all).unwrap_or(0)
    }

    fn hook(&mut self, hook: Hook, context: &Context) -> ControlFlow<()> {
        self.watch.hook(hook, context, self.doors.memory().acting.now);
        ControlFlow::Continue(())
    }
}

/// The frames that a range of physical addresses covers, as far as there are such numbers.
fn frames_of(region: &Region) -> std::ops::Range<Pfn> {
    let pfn = |address: u64| Pfn((address >> PAGE_SHIFT).min(u64::from(u32::MAX)) as u32);
    pfn(region.start)..pfn(region.end)
}
