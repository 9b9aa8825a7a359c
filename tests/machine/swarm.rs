//! Does anything break? Machines and workloads drawn from one printed number, with an
//! audit of all invariants after every few steps that are no hits.
//!
//! `MMSIM_SWARM=500` runs more of them, `MMSIM_SWARM_SEED=17` only one. A seed that fails is
//! printed; it gives the same machine and the same operations wherever it runs.

mod calls;
mod samples;
mod stuck;
mod swap;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::fetches::{self, Again};
use crate::tree;
use mmsim::backing::device::DeviceConfig;
use mmsim::base::rng::Rng;
use mmsim::base::rules::KernelRules;
use mmsim::base::time::{SimDuration, SimTime};
use mmsim::base::vmstat::VmEvent;
use mmsim::config::host::{HostConfig, HostPage};
use mmsim::config::{
    DirtyLimit, Kernel, MachineConfig, MemcgConfig, NodeConfig, SwapConfig, Thp, ThpDefrag,
    ThpSize, VmSysctl, ZoneConfig, ZoneKind,
};
use mmsim::machine::result::{Outcome, RunResult, Stuck};
use mmsim::machine::snapshot::ZoneSnapshot;
use mmsim::machine::{TaskConfig, Watch};
use mmsim::machines::{Catalogue, Machine, Policy};
use mmsim::memory::trace::{Observer, TraceEvent};
use mmsim::scenario::policy::PolicySpec;
use mmsim::why::{self, Settings};
use mmsim::workload::{
    Advice, CopyRun, FileSlot, FileSpec, MapKind, Op, RegionId, Run, VmaFlags, Workload, WorkloadCx,
};
use mmsim_compaction::TwoScanners;
use mmsim_lru::MglruConfig;
use mmsim_lru::settings::Settings as _;

/// Seeds of a plain `cargo test`.
const SEEDS: u64 = 60;
/// Pages of each file.
const FILE_PAGES: u32 = 700;
const FILES: u16 = 3;
/// Own regions of a thread; besides these all threads of a process share region 0.
const OWN: u16 = 4;

fn pick<T: Clone>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize].clone()
}

fn between(rng: &mut Rng, low: u64, high: u64) -> u64 {
    low + rng.below(high - low + 1)
}

fn one_in(rng: &mut Rng, n: u64) -> bool {
    rng.below(n) == 0
}

fn machine_config(rng: &mut Rng) -> MachineConfig {
    let cpus = between(rng, 1, 4) as u32;
    let device = |rng: &mut Rng| {
        let name = pick(rng, &["ramdisk", "zram", "nvme", "ssd", "hdd"]);
        DeviceConfig::preset(name, cpus).expect("a preset")
    };
    let nodes = if one_in(rng, 4) { 2 } else { 1 };
    let zones: &[ZoneKind] = match rng.below(4) {
        0 => &[ZoneKind::Dma, ZoneKind::Dma32],
        1 => &[ZoneKind::Normal, ZoneKind::Movable],
        _ => &[ZoneKind::Normal],
    };
    let watermarks = pick(rng, &[None, Some([12, 24, 40]), Some([40, 50, 60])]);
    let pcp = pick(rng, &[Some((0, 1)), Some((12, 3)), None]);
    let node = |rng: &mut Rng| NodeConfig {
        zones: zones
            .iter()
            .map(|&kind| {
                let zone = ZoneConfig::new(kind, between(rng, 300, 800) as u32);
                let lowmem_reserve = pick(rng, &[None, Some(0), Some(30)]);
                ZoneConfig { watermarks, lowmem_reserve, pcp, ..zone }
            })
            .collect(),
    };
    let memcgs = (0..rng.below(3))
        .map(|i| MemcgConfig {
            min: pick(rng, &[0, 0, 100]),
            low: pick(rng, &[0, 0, 150]),
            high: pick(rng, &[None, None, Some(150), Some(400)]),
            max: pick(rng, &[None, Some(200), Some(500)]),
            swap_max: pick(rng, &[None, None, Some(0), Some(100)]),
            ..MemcgConfig::new(format!("group{i}"))
        })
        .collect();
    let kernel = pick(rng, &Kernel::ALL);
    MachineConfig {
        cpus,
        nodes: (0..nodes).map(|_| node(rng)).collect(),
        swap: (!one_in(rng, 6))
            .then(|| SwapConfig::new(pick(rng, &[60, 700, 3000, 20_000]), device(rng)))
            .into_iter()
            .collect(),
        file_device: device(rng),
        vm: VmSysctl {
            swappiness: pick(rng, &[0, 10, 60, 100]),
            page_cluster: pick(rng, &[0, 3, 3, 5]),
            dirty_background: DirtyLimit::Ratio(pick(rng, &[5, 10])),
            dirty: DirtyLimit::Ratio(pick(rng, &[10, 20])),
            ra_pages: pick(rng, &[0, 4, 32]),
            fault_around: pick(rng, &[1, 16]),
            ..VmSysctl::linux()
        },
        memcgs,
        os_overhead: pick(rng, &[0, 0, 50]),
        lru_batch: pick(rng, &[None, Some(1), Some(4)]),
        batch_shift: pick(rng, &[0, 0, 2]),
        tick: SimDuration::from_micros(pick(rng, &[50, 4000])),
        run_ahead: SimDuration::from_micros(pick(rng, &[0, 100])),
        ..MachineConfig::new(kernel, Vec::new())
    }
}

/// Further kinds of pages and operations in the machines of a swarm.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Also {
    Nothing,
    /// Advice on files, I/O around the page cache, and locked memory.
    Uncached,
    /// Transparent huge pages.
    Transparent,
    /// These, and a pool of those of hugetlbfs.
    Pool,
}

impl Also {
    /// True if there are huge pages.
    fn huge(self) -> bool {
        matches!(self, Also::Transparent | Also::Pool)
    }
}

/// One thread that does as it likes, within the contract of workloads.
struct Drawn {
    /// Number of the thread in its process; thread 0 maps the shared region.
    thread: u16,
    /// Pages that a region has at most.
    most: u32,
    ops: u32,
    /// Pages and kind of what is mapped now, by region.
    mapped: Vec<Option<(u32, MapKind)>>,
    started: bool,
    also: Also,
}

impl Drawn {
    fn map(&mut self, slot: usize, rng: &mut Rng, ops: &mut Vec<Op>) {
        let mut pages = between(rng, 1, self.most.into()) as u32;
        let kind = match rng.below(3) {
            _ if self.also == Also::Pool && one_in(rng, 10) => {
                pages = pages.min(512);
                MapKind::HugeTlb
            }
            0 => {
                pages = pages.min(FILE_PAGES);
                MapKind::File {
                    file: FileSlot(rng.below(FILES.into()) as u16),
                    offset: rng.below(u64::from(FILE_PAGES - pages) + 1) as u32,
                    shared: one_in(rng, 2),
                }
            }
            _ => MapKind::Anon,
        };
        let flags = VmaFlags {
            exec: one_in(rng, 8),
            locked: pages < 60 && one_in(rng, 8),
            seq_read: one_in(rng, 8),
            rand_read: one_in(rng, 8),
            noreuse: false,
        };
        self.mapped[slot] = Some((pages, kind));
        let region = self.region(slot);
        ops.push(Op::Mmap { region, pages, kind, flags, at: None });
    }

    fn region(&self, slot: usize) -> RegionId {
        RegionId(if slot == 0 { 0 } else { self.thread * OWN + slot as u16 })
    }

    fn part(pages: u32, rng: &mut Rng) -> (u32, u32) {
        let first = rng.below(pages.into()) as u32;
        let longest = if one_in(rng, 8) { pages - first } else { (pages - first).min(40) };
        (first, between(rng, 1, longest.into()) as u32)
    }

    fn draw(&mut self, rng: &mut Rng, ops: &mut Vec<Op>) {
        let slot = rng.below(u64::from(OWN) + 1) as usize;
        let Some((pages, _)) = self.mapped[slot] else { return self.map(slot, rng, ops) };
        let region = self.region(slot);
        let (first, count) = Self::part(pages, rng);
        let us = |n| SimDuration::from_micros(n);
        let op = match rng.below(40) {
            0 if slot != 0 => {
                self.mapped[slot] = None;
                Op::Munmap { region }
            }
            1..=3 => {
                let advice = if self.also.huge() && one_in(rng, 3) {
                    pick(rng, &[Advice::HugePage, Advice::HugePage, Advice::NoHugePage])
                } else {
                    pick(
                        rng,
                        &[
                            Advice::DontNeed,
                            Advice::Cold,
                            Advice::Free,
                            Advice::PageOut,
                            Advice::WillNeed,
                            Advice::PopulateRead,
                            Advice::PopulateWrite,
                            Advice::Sequential,
                            Advice::Random,
                            Advice::Normal,
                        ],
                    )
                };
                Op::Madvise { region, first, count, advice }
            }
            n @ 4..=9 => {
                let (first, count) = Self::part(FILE_PAGES, rng);
                let file = FileSlot(rng.below(FILES.into()) as u16);
                if self.also == Also::Uncached && one_in(rng, 2) {
                    calls::of_file(file, (first, count), n >= 8, rng)
                } else if n < 8 {
                    Op::Read { file, first, count }
                } else {
                    Op::Write { file, first, count }
                }
            }
            10 if self.also == Also::Pool && one_in(rng, 8) => {
                Op::HugePool { pages: rng.below(5) as u32 }
            }
            10 => Op::Compute(us(between(rng, 1, 500))),
            11 => Op::Sleep(us(pick(rng, &[1, 500, 20_000, 7_000_000]))),
            12 => Op::Barrier,
            13 => crate::support::reclaim(between(rng, 1, 64) as u32),
            14 if one_in(rng, 4) => Op::DropCaches,
            14 => Op::PhaseEnd(0),
            15 if one_in(rng, 20) => Op::Exit,
            19..=21 if self.also == Also::Uncached => calls::lock(region, (first, count), rng),
            // Parts of huge pages are given back, and used again.
            19..=21 if self.also == Also::Transparent => {
                Op::Madvise { region, first, count, advice: Advice::DontNeed }
            }
            16..=18 => Op::Copy(CopyRun { from: region, first, to: region, into: 0, count }),
            _ => Op::Access(Run { region, write: one_in(rng, 2), first, count }),
        };
        ops.push(op);
    }
}

impl Workload for Drawn {
    fn files(&self) -> Vec<FileSpec> {
        (0..FILES).map(|i| FileSpec::new(format!("file{i}"), FILE_PAGES)).collect()
    }
    fn phases(&self) -> Vec<String> {
        vec!["drawn".into()]
    }
    fn fill(&mut self, _cx: &WorkloadCx, rng: &mut Rng, ops: &mut Vec<Op>) {
        if !self.started {
            self.started = true;
            // All threads must agree on what region 0 is.
            let pages = 200;
            if self.thread == 0 {
                let (kind, flags) = (MapKind::Anon, VmaFlags::default());
                ops.push(Op::Mmap { region: RegionId(0), pages, kind, flags, at: None });
            }
            self.mapped[0] = Some((pages, MapKind::Anon));
            ops.push(Op::Barrier);
            return;
        }
        while ops.len() < 16 && self.ops > 0 {
            self.ops -= 1;
            self.draw(rng, ops);
        }
    }
}

/// Ends a run that goes on for ever.
struct Patience {
    events: u64,
    again: Again,
}

impl Observer for Patience {
    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        let left = self.events.checked_sub(1);
        self.events = left.unwrap_or_else(|| panic!("no end in sight at {now:?}"));
        self.again.event(now, event);
    }
}

/// Memory in which huge pages fit.
fn allow_huge(seed: u64, config: &mut MachineConfig) {
    let mut rng = Rng::for_purpose(seed, "swarm/huge");
    for zone in config.nodes.iter_mut().flat_map(|n| &mut n.zones) {
        zone.managed = between(&mut rng, 1200, 4000) as u32;
    }
    for group in &mut config.memcgs {
        group.max = group.max.map(|m| m + between(&mut rng, 0, 1500));
    }
    config.vm.thp = pick(&mut rng, &[Thp::Always, Thp::Madvise]);
    config.vm.thp_defrag = pick(&mut rng, ThpDefrag::ALL);
    let mut rng = Rng::for_purpose(seed, "swarm/sizes");
    if config.kernel >= Kernel::V6_12 && between(&mut rng, 0, 2) > 0 {
        let mut size = || pick(&mut rng, ThpSize::ALL);
        let vm = &mut config.vm;
        (vm.size_16, vm.size_32, vm.size_64) = (size(), size(), size());
        (vm.size_128, vm.size_512) = (size(), size());
    }
}

/// A preset, of MGLRU with some knobs drawn: those that then contradict others stay as they are.
fn policy(seed: u64, preset: &str) -> Policy {
    let spec = PolicySpec { preset: preset.into(), knobs: Vec::new() };
    let policy = Policy::resolve(&spec).expect("a preset without knobs");
    let Policy::Mglru(mut knobs) = policy else { return policy };
    let mut rng = Rng::for_purpose(seed, "swarm/knobs");
    for knob in MglruConfig::ROWS {
        if knob.name == "min-ttl-ms" {
            knobs.min_ttl_ms = pick(&mut rng, &[0, 0, 1, 5, 20, 80, 1000]);
        } else if one_in(&mut rng, 5) {
            let numbers = knob.bounds().map(|(low, high)| between(&mut rng, low, high));
            let names: Vec<&str> = knob.allowed().collect();
            let value = numbers.map(|n| n.to_string());
            let value = value.unwrap_or_else(|| pick(&mut rng, &names).into());
            let mut changed = knobs;
            changed.set(knob.name, &value).expect("a value that it takes");
            if changed.validate().is_ok() {
                knobs = changed;
            }
        }
    }
    Policy::Mglru(knobs)
}

/// Some rules of other kernels, on every second machine: those that then contradict others stay.
fn rules(seed: u64, kernel: Kernel) -> KernelRules {
    let mut rng = Rng::for_purpose(seed, "swarm/rules");
    let mut rules = KernelRules::of(kernel);
    let others = one_in(&mut rng, 2);
    for rule in KernelRules::ROWS.iter().filter(|_| others) {
        if one_in(&mut rng, 4) {
            let of = pick(&mut rng, &Kernel::ALL);
            let mut changed = rules;
            let value = KernelRules::of(of).get(rule.name).expect("its name");
            changed.set(rule.name, &value).expect("a value that it takes");
            if changed.validate().is_ok() {
                rules = changed;
            }
        }
    }
    rules
}

fn build(seed: u64, also: Also) -> (String, Machine) {
    build_of(seed, also, None)
}

/// A host, on one machine of three.
fn host(seed: u64) -> Option<HostConfig> {
    let rng = &mut Rng::for_purpose(seed, "swarm/host");
    if !one_in(rng, 3) {
        return None;
    }
    let page = pick(rng, &[HostPage::Small, HostPage::Small, HostPage::Huge]);
    let least = if page == HostPage::Small { [0, 0, 2, 5] } else { [9, 9, 9, 10] };
    Some(HostConfig {
        reporting: !one_in(rng, 6),
        order: pick(rng, &least),
        capacity: pick(rng, &[1, 2, 7, 32]),
        delay: SimDuration::from_micros(pick(rng, &[0, 1, 50, 1000, 20_000])),
        answer: SimDuration::from_micros(pick(rng, &[0, 1, 20, 5000])),
        page,
        ..HostConfig::linux()
    })
}

/// The same, with a kernel, its rules and a preset that are given and not drawn.
fn build_of(
    seed: u64,
    also: Also,
    given: Option<(Kernel, KernelRules, &str)>,
) -> (String, Machine) {
    let mut rng = Rng::for_purpose(seed, "swarm/machine");
    let mut config = machine_config(&mut rng);
    config.rules = Some(rules(seed, config.kernel));
    swap::more_swap(seed, &mut config);
    match given {
        Some((kernel, rules, _)) => (config.kernel, config.rules) = (kernel, Some(rules)),
        None => {
            config.host = host(seed);
            swap::zswap(seed, &mut config);
            tree::deepen(&mut Rng::for_purpose(seed, "swarm/tree"), &mut config);
        }
    }
    if also.huge() {
        allow_huge(seed, &mut config);
    }
    if also == Also::Pool {
        config.vm.nr_hugepages = 2;
    }
    let drawn = pick(&mut rng, &Catalogue.presets());
    let preset = given.map_or(drawn.as_str(), |(.., preset)| preset);
    let policy = policy(seed, preset);
    let groups = config.memcgs.len() as u64;
    let mut tasks = Vec::new();
    for i in 0..between(&mut rng, 1, 3) {
        let most = pick(&mut rng, if !also.huge() { &[30, 300, 700] } else { &[600, 1300, 2100] });
        let threads = between(&mut rng, 1, 3) as u16;
        let ops = between(&mut rng, 40, 200) as u32;
        let memcg = (groups > 0 && !one_in(&mut rng, 3)).then(|| rng.below(groups) as usize);
        let start = SimTime(between(&mut rng, 0, 1) * 1_000_000);
        let threads = (0..threads)
            .map(|thread| {
                let mapped = vec![None; usize::from(OWN) + 1];
                Box::new(Drawn { thread, most, ops, mapped, started: false, also })
                    as Box<dyn Workload>
            })
            .collect();
        let task = TaskConfig::new(format!("task{i}"), threads);
        let task = task.with_memcg(memcg).with_start(start);
        // A machine that was found stuck had none.
        let contents = given.is_none().then(|| swap::contents(seed, i)).flatten();
        tasks.push(task.with_contents(contents));
    }
    let about = format!("{policy:?} on {config:?}");
    let mut machine = Machine::new(&config, tasks, seed, |mem| policy.create(mem, seed));
    if also.huge() {
        let rules = mmsim_compaction::preset_for_kernel(config.kernel);
        machine.set_compaction(Box::new(TwoScanners::new(rules, &machine.mem)));
    }
    (about, machine)
}

/// Invariants of the threads of any run; the audit checks its counters.
fn check_result(r: &RunResult) {
    for t in &r.threads {
        let spent = t.user + t.system + t.io_wait + t.throttled;
        // Of a run that could not go on, threads have no end of their own.
        let stuck = matches!(r.outcome, Outcome::Stuck(_));
        let end = if stuck { SimTime::ZERO + r.sim_time } else { t.finished };
        assert!(spent.0 <= end.0, "{}: {spent} spent by {end:?}", t.name);
    }
}

fn run(seed: u64, also: Also, check_every: u64) -> RunResult {
    let (_, mut machine) = build(seed, also);
    let patience = Patience { events: 1_000_000_000, again: Again::default() };
    let again = patience.again.count();
    let observer: Option<Box<dyn Observer>> = Some(Box::new(patience));
    let mut watch = Watch::default().with_check_every(check_every).with_record_accesses(true);
    watch.observer = observer;
    let (engine, told) = why::engine(&machine, Settings::default());
    watch.follower = Some(engine);
    let r = machine.run(watch);
    crate::why::sums_are_exact(&told.take().expect("the run is over"), &r);
    machine.check();
    fetches::are_bounded(&machine, &r, &again);
    check_result(&r);
    check_snapshot(&mut machine, &r);
    samples::check(&mut machine.mem);
    r
}

/// Frames counted one by one give the gauges that are kept as a run goes, and groups share
/// them out.
fn check_snapshot(machine: &mut Machine, r: &RunResult) {
    let s = machine.snapshot(SimTime::ZERO + r.sim_time);
    let sum = |of: fn(&ZoneSnapshot) -> u64| s.zones.iter().map(of).sum::<u64>();
    let gauge = |name: &str| {
        let gauge = r.gauges.iter().find(|g| g.0 == name);
        gauge.unwrap_or_else(|| panic!("no gauge {name}")).1
    };
    for (name, counted) in [
        ("nr_free_pages", sum(|z| z.free)),
        ("nr_anon_pages", sum(|z| z.counts.anon_mapped)),
        ("nr_file_pages", sum(|z| z.counts.file)),
        ("nr_dirty", sum(|z| z.counts.dirty)),
        ("nr_page_table_pages", sum(|z| z.counts.page_tables)),
        ("nr_slab_reclaimable", sum(|z| z.counts.slab)),
        ("nr_swapcached", sum(|z| z.counts.swapcached)),
        ("nr_inactive_anon", sum(|z| z.counts.lru[0])),
        ("nr_active_anon", sum(|z| z.counts.lru[1])),
        ("nr_inactive_file", sum(|z| z.counts.lru[2])),
        ("nr_active_file", sum(|z| z.counts.lru[3])),
    ] {
        assert_eq!(counted, gauge(name), "{name}");
    }
    swap::check(&s, r);
    for z in &s.zones {
        let orders = z.free_blocks.iter().flat_map(|of_type| of_type.iter().enumerate());
        let pages: u64 = orders.map(|(order, blocks)| blocks << order).sum();
        assert_eq!(pages, z.free, "{z:?}");
    }
    // Random eviction has no list of them to report.
    let unevictable = gauge("nr_unevictable");
    assert!([0, sum(|z| z.counts.lru[4])].contains(&unevictable), "{unevictable} unevictable");
    assert!(sum(|z| z.counts.file_mapped) <= gauge("nr_mapped"), "mappings of each page");
    assert!(sum(|z| z.counts.writeback) >= gauge("nr_writeback"), "swap is written too");
    let (root, groups) = s.groups.split_first().expect("a root");
    // Each group has the pages of those below it.
    let topmost = groups.iter().filter(|g| !g.name.contains('/'));
    let charged: u64 = topmost.map(|g| g.counts.lru.iter().sum::<u64>()).sum();
    assert!(charged <= root.counts.lru.iter().sum());
    for (name, faults) in groups.iter().map(|g| (&g.name, g.vmstat[VmEvent::PgFault])) {
        assert!(faults <= root.vmstat[VmEvent::PgFault], "{name}");
    }
}

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: write a number")))
}

#[test]
fn nothing_breaks() {
    let ran = swarm(Also::Nothing);
    let given_back = ran.iter().filter(|r| r.vmstat[VmEvent::SimHostReturned] > 0).count();
    assert!(ran.len() == 1 || given_back * 10 >= ran.len(), "{given_back} of {}", ran.len());
}

#[test]
fn nothing_breaks_around_the_cache() {
    let ran = swarm(Also::Uncached);
    let rotated = ran.iter().filter(|r| r.vmstat[VmEvent::PgRotated] > 0).count();
    assert!(ran.len() == 1 || rotated * 10 >= ran.len(), "{rotated} of {}", ran.len());
}

#[test]
fn nothing_breaks_with_huge_pages() {
    let ran = swarm(Also::Transparent);
    // What is not drawn is not tested; one seed draws what it draws.
    if ran.len() == 1 {
        return;
    }
    let events = [VmEvent::ThpFaultAlloc, VmEvent::ThpFaultFallback, VmEvent::ThpSplitPage];
    let rare = (VmEvent::ThpDeferredSplitPage, 20);
    for (e, of) in events.map(|e| (e, 5)).into_iter().chain([rare]) {
        let many = ran.iter().filter(|r| r.vmstat[e] > 0).count();
        assert!(many * of >= ran.len(), "{e:?} in {many} runs of {}", ran.len());
    }
    let events = ["anon_fault_alloc", "split", "split_deferred"].map(|e| (e, 8));
    for (event, of) in events.into_iter().chain([("anon_fault_fallback", 20)]) {
        let smaller = |(name, n): &&(String, u64)| {
            *n > 0 && name.ends_with(event) && !name.starts_with("hugepages-2048kB")
        };
        let many = ran.iter().filter(|r| r.sizes.iter().any(|s| smaller(&s))).count();
        assert!(many * of >= ran.len(), "{event} in {many} runs of {}", ran.len());
    }
}

#[test]
fn nothing_breaks_with_a_pool() {
    let ran = swarm(Also::Pool);
    // A thread that wants more than the pool has is killed, if not in each run.
    if ran.len() == 1 {
        return;
    }
    let refused = ran.iter().filter(|r| matches!(r.outcome, Outcome::OutOfMemory(_))).count();
    assert!(refused * 5 >= ran.len() && refused < ran.len(), "{refused} of {}", ran.len());
}

/// Runs the seeds, and returns what came of them.
fn swarm(also: Also) -> Vec<RunResult> {
    let seeds = match number("MMSIM_SWARM_SEED") {
        Some(s) => s..s + 1,
        // Much of what a pool does the others do too.
        None if matches!(also, Also::Pool | Also::Uncached) => {
            0..number("MMSIM_SWARM").unwrap_or(SEEDS / 3)
        }
        None => 0..number("MMSIM_SWARM").unwrap_or(SEEDS),
    };
    let (mut failed, mut ran) = (Vec::new(), Vec::new());
    for seed in seeds {
        // Audits of frames under huge pages are long.
        let often = if also == Also::Transparent { 3 } else { 1 };
        let every = [often, 7, 31, 101][seed as usize % 4];
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let audited = run(seed, also, every);
            // Audits and observers see a run and do not change it.
            let (_, mut machine) = build(seed, also);
            let plain = machine.run(Watch::default());
            assert_eq!(audited.digest, plain.digest, "the audit changed the run");
            assert_eq!(audited.vmstat, plain.vmstat);
            ran.push(plain);
        }));
        if let Err(panic) = outcome {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_string()));
            failed.push((seed, text.unwrap_or_default()));
        }
    }
    let first = failed.first().map(|f| build(f.0, also).0);
    assert!(
        failed.is_empty(),
        "{} seeds fail; repeat with MMSIM_SWARM_SEED=n cargo test --test machine swarm: {failed:#?}\n\
         the first: {}",
        failed.len(),
        first.unwrap_or_default()
    );
    ran
}
