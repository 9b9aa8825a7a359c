//! A machine for tests: a few hundred frames, a scripted process or two, any policy.

pub(crate) mod memory;
pub(crate) mod mglru;
pub(crate) mod mglru_twin;

use mmsim_core::base::id::{MemcgId, NodeId};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimDuration;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{Kernel, MachineConfig};
use mmsim_core::machine::result::{Outcome, RunResult};
use mmsim_core::machine::{Machine, TaskConfig, Watch};
use mmsim_core::memory::Memory;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_core::workload::{
    Advice, FileSlot, FileSpec, MapKind, Op, RegionId, Run, VmaFlags, Workload, WorkloadCx,
};
use mmsim_lru::config::{PRESETS, Settings as _};
use mmsim_lru::{Classic, ClassicConfig, Mglru, MglruConfig, Random};

/// A policy and the kernel that it belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Policy {
    Classic(ClassicConfig),
    Mglru(MglruConfig),
    Random,
}

/// Every preset of the classic LRU, and random eviction.
pub(crate) fn policies() -> Vec<(&'static str, Policy, Kernel)> {
    let presets = PRESETS.iter().map(|p| (p.name, Policy::Classic(p.config), p.kernel));
    presets.chain([("random", Policy::Random, Kernel::V6_12)]).collect()
}

/// These, and every preset of the multi-generational LRU.
pub(crate) fn all_policies() -> Vec<(&'static str, Policy, Kernel)> {
    let mglru = MglruConfig::presets().iter();
    policies()
        .into_iter()
        .chain(mglru.map(|p| (p.name, Policy::Mglru(p.config), p.kernel)))
        .collect()
}

/// Operations in a row, over one file of `file_pages` pages.
pub(crate) struct Script {
    pub(crate) file_pages: u32,
    pub(crate) phases: usize,
    pub(crate) ops: Vec<Op>,
}

impl Workload for Script {
    fn files(&self) -> Vec<FileSpec> {
        let pages = self.file_pages;
        if pages == 0 { vec![] } else { vec![FileSpec::new("file", pages)] }
    }
    fn phases(&self) -> Vec<String> {
        (0..self.phases).map(|i| format!("phase {i}")).collect()
    }
    fn fill(&mut self, _cx: &WorkloadCx, _rng: &mut Rng, ops: &mut Vec<Op>) {
        ops.append(&mut self.ops);
    }
}

/// A script under construction.
#[derive(Clone, Default)]
pub(crate) struct Steps {
    ops: Vec<Op>,
    phases: usize,
    file_pages: u32,
    group: Option<usize>,
}

impl Steps {
    pub(crate) fn new() -> Steps {
        Steps::default()
    }
    /// With a file that all scripts of a machine share.
    pub(crate) fn with_file(pages: u32) -> Steps {
        Steps { file_pages: pages, ..Steps::default() }
    }
    /// In a memory cgroup of the machine instead of the root.
    pub(crate) fn in_group(self, group: usize) -> Steps {
        Steps { group: Some(group), ..self }
    }
    /// Maps anonymous memory.
    pub(crate) fn map(mut self, region: u16, pages: u32) -> Steps {
        let (kind, flags) = (MapKind::Anon, VmaFlags::default());
        self.ops.push(Op::Mmap { region: RegionId(region), pages, kind, flags, at: None });
        self
    }
    /// Maps anonymous memory from a virtual page on.
    pub(crate) fn map_at(mut self, region: u16, pages: u32, at: u64) -> Steps {
        let (kind, flags, at) = (MapKind::Anon, VmaFlags::default(), Some(at));
        self.ops.push(Op::Mmap { region: RegionId(region), pages, kind, flags, at });
        self
    }
    pub(crate) fn unmap(mut self, region: u16) -> Steps {
        self.ops.push(Op::Munmap { region: RegionId(region) });
        self
    }
    /// Reads consecutive pages.
    pub(crate) fn read(mut self, region: u16, pages: std::ops::Range<u32>) -> Steps {
        let count = pages.end - pages.start;
        let run = Run { region: RegionId(region), write: false, first: pages.start, count };
        self.ops.push(Op::Access(run));
        self
    }
    /// Writes to consecutive pages.
    pub(crate) fn write(mut self, region: u16, pages: std::ops::Range<u32>) -> Steps {
        let count = pages.end - pages.start;
        let run = Run { region: RegionId(region), write: true, first: pages.start, count };
        self.ops.push(Op::Access(run));
        self
    }
    /// `read(2)` of consecutive pages of the file.
    pub(crate) fn read_file(mut self, pages: std::ops::Range<u32>) -> Steps {
        let count = pages.end - pages.start;
        self.ops.push(Op::Read { file: FileSlot(0), first: pages.start, count });
        self
    }
    pub(crate) fn write_file(mut self, pages: std::ops::Range<u32>) -> Steps {
        let count = pages.end - pages.start;
        self.ops.push(Op::Write { file: FileSlot(0), first: pages.start, count });
        self
    }
    pub(crate) fn advise(mut self, region: u16, pages: std::ops::Range<u32>, a: Advice) -> Steps {
        let count = pages.end - pages.start;
        let (region, first) = (RegionId(region), pages.start);
        self.ops.push(Op::Madvise { region, first, count, advice: a });
        self
    }
    pub(crate) fn sleep(mut self, time: SimDuration) -> Steps {
        self.ops.push(Op::Sleep(time));
        self
    }
    /// Faults pages in and activates them: two accesses by the kernel itself.
    pub(crate) fn activate(self, region: u16, pages: std::ops::Range<u32>) -> Steps {
        let once = self.advise(region, pages.clone(), Advice::PopulateWrite);
        once.advise(region, pages, Advice::PopulateWrite)
    }
    /// Ends a phase; its counters are those since the last one ended.
    pub(crate) fn phase(mut self) -> Steps {
        self.ops.push(Op::PhaseEnd(self.phases as u16));
        self.phases += 1;
        self
    }
    /// The same again for each of a range.
    pub(crate) fn each<T>(
        self,
        items: impl IntoIterator<Item = T>,
        f: impl FnMut(Steps, T) -> Steps,
    ) -> Steps {
        items.into_iter().fold(self, f)
    }
    pub(crate) fn script(&self) -> Script {
        Script { file_pages: self.file_pages, phases: self.phases, ops: self.ops.clone() }
    }
}

/// Results of a run.
pub(crate) struct Ran {
    pub(crate) machine: Machine,
    pub(crate) result: RunResult,
}

impl Ran {
    pub(crate) fn n(&self, e: VmEvent) -> u64 {
        self.result.vmstat[e]
    }
    /// A counter's change in a phase.
    pub(crate) fn in_phase(&self, phase: usize, e: VmEvent) -> u64 {
        self.result.phases[phase].vmstat[e]
    }
    pub(crate) fn gauge(&self, name: &str) -> u64 {
        let g = self.result.gauges.iter().find(|g| g.0 == name);
        g.unwrap_or_else(|| panic!("no gauge {name}")).1
    }
    /// A value of the policy: an age, a cost.
    pub(crate) fn value(&self, name: &str) -> u64 {
        let s = self.machine.policy().snapshot(&self.machine.mem, NodeId(0), MemcgId(0));
        s.values.iter().find(|v| v.0 == name).unwrap_or_else(|| panic!("no value {name}")).1
    }
}

/// A policy for the machine with the memory `mem`.
pub(crate) fn policy(policy: Policy, mem: &mut Memory) -> Box<dyn ReclaimPolicy> {
    match policy {
        Policy::Classic(c) => Box::new(Classic::new(c, mem)),
        Policy::Mglru(c) => Box::new(Mglru::new(c, mem, 1)),
        Policy::Random => Box::new(Random::new(mem, 1)),
    }
}

/// Runs one process per script, all from the start, to their ends.
pub(crate) fn run_watched(
    config: &MachineConfig,
    policy: Policy,
    scripts: &[Steps],
    watch: Watch,
) -> Ran {
    let ran = run_to_any_end(config, policy, scripts, watch);
    assert_eq!(
        ran.result.outcome,
        Outcome::Completed,
        "{policy:?} {:?}",
        config.swap.first().map(|s| &s.device.name)
    );
    ran
}

/// The same where memory may run out.
pub(crate) fn run_to_any_end(
    config: &MachineConfig,
    policy: Policy,
    scripts: &[Steps],
    watch: Watch,
) -> Ran {
    let tasks = scripts
        .iter()
        .enumerate()
        .map(|(i, s)| {
            TaskConfig::new(format!("process {i}"), vec![Box::new(s.script())]).with_memcg(s.group)
        })
        .collect();
    let mut machine = Machine::new(config, tasks, 1, |mem| self::policy(policy, mem));
    let result = machine.run(watch);
    Ran { machine, result }
}

pub(crate) fn run(config: &MachineConfig, policy: Policy, scripts: &[Steps]) -> Ran {
    run_watched(config, policy, scripts, Watch::default())
}
