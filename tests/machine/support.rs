//! A small machine and workloads that are written down operation by operation.

use mmsim::Scenario;
use mmsim::backing::device::DeviceConfig;
use mmsim::base::settings::Settings as _;
use mmsim::base::time::SimDuration;
use mmsim::config::{
    Kernel, MachineConfig, MemcgConfig, SwapConfig, VmSysctl, ZoneConfig, ZoneKind,
};
use mmsim::machine::result::{PhaseResult, RunResult};
use mmsim::machine::{Machine, TaskConfig, Watch};
use mmsim::machines::Catalogue;
use mmsim::workload::{
    Advice, FileSlot, FileSpec, MapKind, Op, RegionId, Run, VmaFlags, Workload, WorkloadCx,
};
use mmsim_lru::config::preset_for_kernel;
use mmsim_lru::{Classic, ClassicConfig};

/// Pages of the file that every scripted workload knows as file 0.
pub(crate) const FILE_PAGES: u32 = 1024;

/// Hands out its operations one by one.
struct Scripted {
    ops: std::vec::IntoIter<Op>,
    phases: u16,
}

impl Workload for Scripted {
    fn files(&self) -> Vec<FileSpec> {
        vec![FileSpec::new("file", FILE_PAGES)]
    }
    fn phases(&self) -> Vec<String> {
        (0..self.phases).map(|i| i.to_string()).collect()
    }
    fn record(&self) -> Option<&'static str> {
        Some("job")
    }
    fn fill(&mut self, _: &WorkloadCx, _: &mut mmsim::base::rng::Rng, ops: &mut Vec<Op>) {
        ops.extend(self.ops.next());
    }
}

/// A process with one list of operations per thread.
pub(crate) fn threads(name: &str, memcg: Option<usize>, ops: Vec<Vec<Op>>) -> TaskConfig {
    let ends = |l: &[Op]| l.iter().filter(|o| matches!(o, Op::PhaseEnd(_))).count();
    let phases = ops.iter().map(|l| ends(l)).sum::<usize>() as u16;
    let threads = ops
        .into_iter()
        .map(|l| Box::new(Scripted { ops: l.into_iter(), phases }) as Box<dyn Workload>)
        .collect();
    TaskConfig::new(name, threads).with_memcg(memcg)
}

/// A process of one thread in the root group.
pub(crate) fn task(name: &str, ops: Vec<Op>) -> TaskConfig {
    threads(name, None, vec![ops])
}

/// A process of one thread in the first group.
pub(crate) fn member(name: &str, ops: Vec<Op>) -> TaskConfig {
    threads(name, Some(0), vec![ops])
}

/// A zone without per-CPU lists and with low watermarks.
pub(crate) fn zone(managed: u32) -> ZoneConfig {
    ZoneConfig::new(ZoneKind::Normal, managed).bare([8, 10, 12])
}

/// A group without limits.
pub(crate) fn group(name: &str) -> MemcgConfig {
    MemcgConfig::new(name)
}

pub(crate) fn device(name: &str) -> DeviceConfig {
    DeviceConfig::preset(name, 1).expect("a preset")
}

/// One CPU, 2048 frames, 4000 slots of swap on `swap`, files on an SSD, LRU batches of one
/// page, no readahead and no fault-around: every effect is that of the operation alone. One
/// group without limits, for `memory.reclaim`.
pub(crate) fn config(kernel: Kernel, swap: &str) -> MachineConfig {
    MachineConfig {
        swap: vec![SwapConfig::new(4000, device(swap))],
        file_device: device("ssd"),
        vm: VmSysctl { page_cluster: 0, ra_pages: 0, fault_around: 1, ..VmSysctl::linux() },
        memcgs: vec![group("group")],
        lru_batch: Some(1),
        run_ahead: SimDuration::ZERO,
        ..MachineConfig::new(kernel, vec![zone(2048)])
    }
}

/// The same machine under another rule.
pub(crate) fn ruled(mut c: MachineConfig, rule: &str, value: &str) -> MachineConfig {
    let mut rules = c.kernel_rules();
    rules.set(rule, value).unwrap_or_else(|e| panic!("{rule} = {value}: {e}"));
    c.rules = Some(rules);
    c
}

pub(crate) fn machine(config: &MachineConfig, tasks: Vec<TaskConfig>) -> Machine {
    let lru: ClassicConfig = preset_for_kernel(config.kernel);
    Machine::new(config, tasks, 1, |mem| {
        Box::new(Classic::new(lru, mem)) as Box<dyn mmsim_core::policy::ReclaimPolicy>
    })
}

/// Runs with an audit after every step.
pub(crate) fn run(config: &MachineConfig, tasks: Vec<TaskConfig>) -> RunResult {
    machine(config, tasks).run(Watch::default().with_check_every(1))
}

/// Runs a scenario, with audits.
pub(crate) fn scenario(text: &str) -> Vec<RunResult> {
    let scenario = Scenario::from_str(text, "x.toml").unwrap_or_else(|e| panic!("{e}"));
    let runs = scenario.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
    let run = |r: &_| {
        let mut m = mmsim::machines::machine(r).unwrap_or_else(|e| panic!("{e}"));
        m.run(Watch::default().with_check_every(4096))
    };
    runs.iter().map(run).collect()
}

// ---- operations ----

pub(crate) fn map(region: u16, pages: u32, kind: MapKind, flags: VmaFlags) -> Op {
    Op::Mmap { region: RegionId(region), pages, kind, flags, at: None }
}
/// Region 0, anonymous.
pub(crate) fn anon(pages: u32) -> Op {
    map(0, pages, MapKind::Anon, VmaFlags::default())
}
/// A region of the first pages of file 0.
pub(crate) fn file(region: u16, pages: u32, shared: bool, flags: VmaFlags) -> Op {
    map(region, pages, MapKind::File { file: FileSlot(0), offset: 0, shared }, flags)
}
pub(crate) fn unmap(region: u16) -> Op {
    Op::Munmap { region: RegionId(region) }
}
pub(crate) fn read(region: u16, first: u32, count: u32) -> Op {
    Op::Access(Run { region: RegionId(region), write: false, first, count })
}
pub(crate) fn write(region: u16, first: u32, count: u32) -> Op {
    Op::Access(Run { region: RegionId(region), write: true, first, count })
}
pub(crate) fn pread(first: u32, count: u32) -> Op {
    Op::Read { file: FileSlot(0), first, count }
}
pub(crate) fn pwrite(first: u32, count: u32) -> Op {
    Op::Write { file: FileSlot(0), first, count }
}
pub(crate) fn advise(region: u16, first: u32, count: u32, advice: Advice) -> Op {
    Op::Madvise { region: RegionId(region), first, count, advice }
}
pub(crate) fn reclaim(pages: u32) -> Op {
    Op::MemcgReclaim { memcg: None, pages, swappiness: None }
}
pub(crate) fn sleep_ms(ms: u64) -> Op {
    Op::Sleep(SimDuration::from_millis(ms))
}
pub(crate) fn end(phase: u16) -> Op {
    Op::PhaseEnd(phase)
}
/// Makes pages of region 0 look unused, and has them written and freed: the first reclaim
/// starts the writes of an asynchronous device, the second finds them done.
pub(crate) fn swap_out(pages: u32) -> Vec<Op> {
    vec![
        advise(0, 0, pages, Advice::Cold),
        reclaim(pages),
        sleep_ms(500),
        reclaim(pages),
        sleep_ms(500),
    ]
}

// ---- results ----

/// A counter.
pub(crate) fn count(r: &RunResult, name: &str) -> u64 {
    r.vmstat.by_name(name).unwrap_or_else(|| panic!("no counter {name}"))
}
/// Several counters.
pub(crate) fn counts<const N: usize>(r: &RunResult, names: [&str; N]) -> [u64; N] {
    names.map(|n| count(r, n))
}
/// Several counters of one phase.
pub(crate) fn phase_counts<const N: usize>(p: &PhaseResult, names: [&str; N]) -> [u64; N] {
    names.map(|n| p.vmstat.by_name(n).unwrap_or_else(|| panic!("no counter {n}")))
}
/// A gauge among gauges.
pub(crate) fn gauge(gauges: &[(&'static str, u64)], name: &str) -> u64 {
    gauges.iter().find(|g| g.0 == name).unwrap_or_else(|| panic!("no gauge {name}")).1
}
/// A value of the `memory.stat` of the n-th group.
pub(crate) fn stat(r: &RunResult, group: usize, name: &str) -> u64 {
    gauge(&r.memory_stat[group].1, name)
}
