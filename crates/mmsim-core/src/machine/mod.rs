//! The machine: CPUs, threads, kswapd, the flusher and the event queue around one
//! [`Memory`].
//!
//! `Machine` owns the memory and, beside it, the policy, so that `policy.reclaim(&mut
//! memory, ..)` borrows plainly. A thread runs hits without asking anyone; whatever reads
//! or changes shared state (a fault, a system call, reclaim) is one atomic step, done when
//! its CPU is the earliest of all. The clock of a step is `Memory::now`; what the step
//! costs is what it advanced.
//!
//! - `run`: the loop: which CPU is next, slices, run-ahead; `course`: beginning, pauses, samples, end;
//!   `ops`: operations of workloads;
//! - `cpu`: threads, schedulers, the order of CPUs and of events;
//! - `fault`: what a touch that is no hit does, and where its page is in swap;
//! - `reclaim`: the slow path of allocation, direct reclaim, kswapd, limits;
//! - `writeback`: dirty pages of files, and who writes them;
//! - `compaction`: direct, and by kcompactd;
//! - `watch`: who watches a run, what a run gives, what must add up;
//! - `io`, `advice`, `hugetlb`, `kernel`: read and write, madvise, huge page pools, blocks of the
//!   kernel; `task`: processes; `kdamond`: monitors of accesses.

mod advice;
mod blocks;
mod compaction;
mod course;
mod cpu;
mod fault;
mod hits;
mod hugetlb;
mod io;
mod kdamond;
mod kernel;
mod ops;
mod reclaim;
mod run;
mod task;
mod walk;
mod watch;
mod writeback;

pub use task::{DisksOfFiles, TaskConfig};
pub use watch::collect::{GROUP_COUNTERS, GROUP_SIZES};
pub use watch::{LookFn, SampleFn, SnapshotFn, Watch, laws, result, snapshot};

use crate::base::compact_result::NoBlock;
use crate::base::digest::Digest;
use crate::base::id::{
    AsId, CpuId, DiskId, FileId, Idx as _, IndexVec, KdamondId, MemcgId, NodeId, PageIdx, Pfn,
    ThreadId,
};
use crate::base::rng::Rng;
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmStat;
use crate::config::MachineConfig;
use crate::memory::{MOST_PENDING, Memory, PendingFault, Plug};
use crate::phys::gfp::AllocRequest;
use crate::policy::compaction::Compaction;
use crate::policy::{Arrival, ArrivalKind, ReclaimPolicy};
use crate::virt::pages::Entry;
use crate::virt::space::{Counted, Place};
use crate::workload::FileSpec;
use blocks::Blocks;
use compaction::kcompactd::Kcompactd;
use cpu::line::Virtual;
use cpu::order::Order;
use cpu::queue::{Event, Queue};
use cpu::sched::{Cpu, Tunables};
use cpu::thread::{Entity, Thread, Wait};
use kdamond::Kdamond;
use reclaim::kswapd::Kswapd;
use reclaim::lru_gen::OtherLru;
use std::collections::BTreeMap;
use task::Task;
use walk::Progress;
use watch::collect::{Mark, Resident};
use watch::latency::Histogram;
use watch::psi::{Psi, PsiMeter};
use watch::result::{
    HighOrder, OomSummary, Origin, PhaseResult, Pressure, StuckSummary, TaskResult,
};
use watch::stuck::Watchdog;
use writeback::flusher::Flusher;

/// Accesses that a machine records at most, and about as many as it stops at: the bound of a run is
/// exact up to here, and there is none beyond.
pub const MOST_RECORDED: usize = 1 << 27;

/// A machine with its workload, ready to run.
///
/// A policy of a known type is called directly; research code may pass a box instead and
/// pays some instructions a fault for it, and nothing on a hit.
pub struct Machine {
    /// Its memory.
    pub mem: Memory,
    policy: Box<dyn ReclaimPolicy>,
    /// The policy that takes over when `lru_gen` is switched on or off.
    other_lru: Option<OtherLru>,
    compaction: Option<Box<dyn Compaction>>,
    config: MachineConfig,
    tasks: Vec<Task>,
    threads: IndexVec<ThreadId, Thread>,
    cpus: IndexVec<CpuId, Cpu>,
    virtuals: BTreeMap<Entity, Virtual>,
    order: Order,
    queue: Queue,
    kswapds: IndexVec<NodeId, Kswapd>,
    kcompactds: IndexVec<NodeId, Kcompactd>,
    kdamonds: IndexVec<KdamondId, Kdamond>,
    flushers: IndexVec<DiskId, Flusher>,
    /// Threads that wait for a folio.
    waiters: BTreeMap<Pfn, Vec<ThreadId>>,
    live: u32,
    timer_generation: u64,
    psi: PsiMeter,
    /// Minor faults, major faults, stalls in direct reclaim.
    latency: [Histogram; 3],
    /// Faults that the kernel counts once more as it tries them anew (up to 6.3).
    retried_faults: u64,
    /// Faults, and major ones, that ended with their threads.
    faults_cut_short: [u64; 2],
    phases: Vec<PhaseResult>,
    mark: Mark,
    oom: Option<OomSummary>,
    watchdog: Watchdog,
    /// Why the run was ended.
    stuck: Option<StuckSummary>,
    /// A thread is amid a step; kernel threads may act meanwhile.
    amid_step: bool,
    /// A process that is killed at the end of that step.
    doomed: Option<AsId>,
    /// Where the block comes from that is being allocated.
    origin: Origin,
    /// Why the last attempt to compact for it gave none.
    no_block: NoBlock,
    high_order: HighOrder,
    peak_resident: u64,
    watch: Watch,
    /// When the next sample is due: that of the series, or that of resident pages.
    sample_at: SimTime,
    series_at: SimTime,
    /// Where a run that goes on step by step stops, and whether it stands there.
    pause_at: SimTime,
    paused: bool,
    resident: Resident,
    steps: u64,
    /// Recorded accesses, for the optimum.
    contents: watch::contents::Contents,
    /// Pages were read that no thread had asked for: none of readahead, which a machine has or not.
    prefetched: bool,
    /// Pages that monitors moved to another node, or tried to.
    moved_by_monitors: u64,
    zones_at_start: Vec<(String, [u64; 5])>,
    /// The ledger of a thread's swap-in faults.
    pending: [PendingFault; MOST_PENDING],
    /// The threads that take first touches together, and whether there may be more to take.
    team: Vec<fault::first_touch::Member>,
    touching: bool,
    /// Kept for the plug of direct reclaim.
    plug: Box<Plug>,
    /// Accesses and records of all threads.
    work_done: (u64, u64),
    /// Accesses at which progress is reported next.
    progress_at: u64,
    /// Time that a thread has slept amid the current step.
    slept: SimDuration,
    /// So many first touches are taken alone before a team is tried, and so many before the one
    /// after that if it is not worth it.
    alone_for: u32,
    pause: u32,
    /// First touches that a team may still take, and each of its members at a time.
    touches_left: usize,
    touches_each: usize,
}

impl Machine {
    /// Builds a machine. `policy` gets the memory to create its lists in. The seed decides
    /// every random draw of the workloads, each from a stream named by task and thread.
    pub fn new(
        config: &MachineConfig,
        tasks: Vec<TaskConfig>,
        seed: u64,
        policy: impl FnOnce(&mut Memory) -> Box<dyn ReclaimPolicy>,
    ) -> Self {
        let mut mem = Memory::new(config);
        hugetlb::boot(&mut mem);
        let policy = policy(&mut mem);
        let zones_at_start = mem
            .zones
            .ids()
            .map(|z| {
                let z = &mem.zones[z];
                let [min, low, high] = z.watermark;
                (z.kind.name().to_string(), [z.managed.into(), min, low, high, z.free])
            })
            .collect();
        let nodes = mem.zones.nr_nodes();
        let rules = config.kernel_rules();
        let tunables = Tunables::of(rules.scheduler, config.cpus, config.tick)
            .preempting(rules.lazy_preemption, rules.hrtick);
        let mut m = Machine {
            mem,
            policy,
            other_lru: None,
            compaction: None,
            config: config.clone(),
            tasks: Vec::new(),
            threads: IndexVec::new(),
            cpus: IndexVec::filled(config.cpus as usize, Cpu::new(tunables)),
            virtuals: BTreeMap::new(),
            order: Order::new(config.cpus as usize),
            queue: Queue::default(),
            kswapds: (0..nodes).map(|_| Kswapd::default()).collect::<Vec<_>>().into(),
            kcompactds: (0..nodes).map(|_| Kcompactd::default()).collect::<Vec<_>>().into(),
            kdamonds: IndexVec::new(),
            flushers: IndexVec::filled(
                1 + config.disks.len(),
                Flusher::new(1 + config.memcgs.len()),
            ),
            waiters: BTreeMap::new(),
            live: 0,
            timer_generation: 0,
            psi: PsiMeter::new(config.cpus as usize),
            latency: Default::default(),
            retried_faults: 0,
            faults_cut_short: [0; 2],
            phases: Vec::new(),
            mark: Mark {
                time: SimTime::ZERO,
                accesses: 0,
                records: 0,
                vmstat: VmStat::default(),
                pressure: Pressure::default(),
                latency: Default::default(),
            },
            oom: None,
            watchdog: Watchdog::default(),
            stuck: None,
            amid_step: false,
            doomed: None,
            origin: Origin::FreeList,
            no_block: NoBlock::NotTried,
            high_order: HighOrder::default(),
            peak_resident: 0,
            watch: Watch::default(),
            sample_at: SimTime::NEVER,
            series_at: SimTime::NEVER,
            pause_at: SimTime::NEVER,
            paused: false,
            resident: Resident::default(),
            steps: 0,
            contents: watch::contents::Contents::default(),
            prefetched: false,
            moved_by_monitors: 0,
            zones_at_start,
            pending: [PendingFault::default(); MOST_PENDING],
            team: Vec::new(),
            touching: false,
            plug: Box::default(),
            work_done: (0, 0),
            progress_at: u64::MAX,
            slept: SimDuration::ZERO,
            alone_for: 0,
            pause: 1,
            touches_left: 0,
            touches_each: 0,
        };
        // One name is one file, as large as anybody wants it.
        let mut files: BTreeMap<String, (u32, DiskId)> = BTreeMap::new();
        for (t, f) in tasks.iter().flat_map(|t| t.files().map(move |f| (t, f))) {
            let disk = t.disks.of(&f.name);
            assert!(disk.index() < m.mem.cache.disks.len(), "{}: there is no {disk}", f.name);
            let (pages, on) = files.entry(f.name.clone()).or_insert((0, disk));
            assert_eq!(*on, disk, "{} lies on one disk", f.name);
            *pages = f.pages.max(*pages);
        }
        for (name, (pages, disk)) in files {
            let file = m.mem.open_file(&name, pages);
            m.mem.cache.files[file].disk = disk;
        }
        for t in tasks {
            m.add_task(t, seed);
        }
        m
    }

    fn add_task(&mut self, t: TaskConfig, seed: u64) {
        let memcg = MemcgId(t.memcg.map_or(0, |i| i as u16 + 1));
        let space = self.mem.virt.spaces.create(t.name.clone(), memcg);
        self.mem.virt.spaces[space].oom_score_adj = t.oom_score_adj;
        self.mem.memcgs.process_begins(memcg);
        let index = self.tasks.len();
        let mut task = Task {
            phase_began: TaskResult {
                name: t.name.clone(),
                begin: SimTime::ZERO,
                accesses: 0,
                records: 0,
                counted: Counted::default(),
                record: None,
            },
            phase_records: Histogram::default(),
            record: t.threads.iter().find_map(|w| w.record()),
            space,
            name: t.name,
            files: Vec::new(),
            phases: Vec::new(),
            threads: Vec::new(),
            waiting: 0,
        };
        let (many, disks) = (t.threads.len() > 1, t.disks);
        for (i, workload) in t.threads.into_iter().enumerate() {
            if i == 0 {
                task.phases = workload.phases();
                for FileSpec { name, pages } in workload.files() {
                    let there = self.mem.cache.files.open(&name).is_some();
                    let file = self.mem.open_file(&name, pages);
                    if !there {
                        self.mem.cache.files[file].disk = disks.of(&name);
                    }
                    task.files.push(file);
                }
            }
            let name = if many { format!("{}/{i}", task.name) } else { task.name.clone() };
            let id = self.threads.push(Thread {
                rng: Rng::for_purpose(seed, &format!("workload/{name}")),
                name,
                space,
                memcg,
                task: index,
                workload,
                place: Place::NOWHERE,
                progress: Progress::new(task.record.is_some()),
                cpu: CpuId::from_index(self.threads.len() % self.cpus.len()),
                wait: Wait::Timer(0),
                psi: Psi::Idle,
                waits_since: SimTime::ZERO,
                fault: None,
                no_progress: 0,
                tries: None,
                blocks: Blocks::default(),
                kernel_allocs: Vec::new(),
                free_blocks: None,
                dirtied: 0,
                unseen: 1,
                over_high: 0,
                paused_until: SimTime::ZERO,
                sync: None,
                held: None,
                user: SimDuration::ZERO,
                system: SimDuration::ZERO,
                io_wait: SimDuration::ZERO,
                throttled: SimDuration::ZERO,
                given: (SimTime::ZERO, 0),
                done_at: SimTime::ZERO,
                finished: SimTime::ZERO,
            });
            task.threads.push(id);
            self.live += 1;
            self.queue.push(t.start, Event::Start(id));
        }
        self.tasks.push(task);
    }

    /// Another process, amid a run that goes on step by step ([`Machine::begin`]): somebody types a
    /// command. It begins at its start, but not before where the run stands. `seed` is that of the
    /// run.
    pub fn spawn(&mut self, task: TaskConfig, seed: u64) {
        self.add_task(task, seed);
        self.watchdog = Watchdog::of(self.threads.len());
    }

    /// Puts pages of a file that no process opens into the page cache, the first of them active:
    /// the cache that a system held before the run begins. They take what memory is free then.
    ///
    /// # Panics
    /// If there is no memory for them.
    pub fn cache_at_start(&mut self, name: &str, pages: u32, active: u32) {
        let file = self.mem.open_file(name, pages);
        let base = self.fill_cache(file);
        for i in base..base + active {
            if let Entry::Frame(folio) = self.mem.virt.pages.entry(PageIdx(i)) {
                self.mem.lru_activate(&mut *self.policy, folio);
            }
        }
        self.mem.lru_drain(&mut *self.policy);
    }

    /// Puts pages of a file on ramfs into the page cache: the initial root file system. They are
    /// unevictable, and each migration of one fails. Synchronous compaction takes them all the same;
    /// the scanners of 4.1 do so in every mode. They take what memory is free then.
    ///
    /// # Panics
    /// If there is no memory for them.
    pub fn ramfs_at_start(&mut self, name: &str, pages: u32) {
        let file = self.mem.open_file(name, pages);
        self.mem.cache.files[file].ramfs = true;
        self.fill_cache(file);
    }

    /// Caches all pages of a file and puts them on a list. Returns the first one's number.
    fn fill_cache(&mut self, file: FileId) -> u32 {
        let (base, pages) = (self.mem.cache.files[file].base.0, self.mem.cache.files[file].pages);
        let how = Arrival { kind: ArrivalKind::Read, in_fault: None, position: 0 };
        for i in 0..pages {
            let node = self.home_node();
            let frame = self.mem.try_alloc(node, &AllocRequest::USER, None);
            let frame = frame.expect("memory is free before anything runs");
            self.mem.memcgs.charge(MemcgId(0), 1);
            self.mem.add_to_page_cache(&mut *self.policy, PageIdx(base + i), frame, how);
        }
        self.mem.lru_drain(&mut *self.policy);
        base
    }

    /// The policy.
    pub fn policy(&self) -> &dyn ReclaimPolicy {
        &*self.policy
    }

    /// Names of tasks with their threads.
    pub fn tasks(&self) -> impl Iterator<Item = (&str, &[ThreadId])> {
        self.tasks.iter().map(|task| (task.name.as_str(), &task.threads[..]))
    }

    /// Names of threads, by their numbers.
    pub fn thread_names(&self) -> impl Iterator<Item = &str> {
        self.threads.iter().map(|thread| thread.name.as_str())
    }

    /// Numbers of the threads of a task, or of the thread with this name.
    pub fn threads_of(&self, name: &str) -> Vec<ThreadId> {
        let task = self.tasks.iter().find(|t| t.name == name);
        task.map(|t| t.threads.clone()).unwrap_or_else(|| {
            self.threads.ids().filter(|&t| self.threads[t].name == name).collect()
        })
    }

    /// The recorded sequence of accesses, as numbers of what they were to: from 1 on in order of
    /// the first access. Memory that was dropped and touched again has a new number, as has a page
    /// of a file that is overwritten. 0: the zero page, or memory that nothing evicts or that need
    /// not be fetched again (locked, of a huge page pool, lazily freed). It is not whole if it has
    /// [`MOST_RECORDED`].
    pub fn recorded_accesses(&self) -> &[u32] {
        &self.contents.sequence
    }

    /// True if pages were read by advice before they were needed.
    pub fn prefetched(&self) -> bool {
        self.prefetched
    }

    /// A fingerprint of the whole state.
    pub fn digest(&self) -> u64 {
        let mut d = Digest::new();
        self.mem.digest(&mut d);
        self.policy.digest(&self.mem, &mut d);
        self.digest_compaction(&mut d);
        self.digest_kdamonds(&mut d);
        for t in self.threads.iter() {
            let Progress { accesses, records, .. } = t.progress;
            d.words([accesses, records, t.finished.0, t.user.0, t.system.0, t.io_wait.0]);
        }
        d.words(self.cpus.iter().map(|c| c.clock.0));
        d.finish()
    }

    /// Audits all invariants, the policy's included.
    ///
    /// # Panics
    /// If one does not hold; the message names the ids.
    pub fn check(&self) {
        self.mem.check();
        self.policy.check(&self.mem);
        if let Some(c) = &self.compaction {
            c.check(&self.mem);
        }
        self.check_kdamonds();
        self.check_laws();
        let of_threads = self.threads.iter();
        let sum =
            of_threads.fold((0, 0), |a, t| (a.0 + t.progress.accesses, a.1 + t.progress.records));
        assert_eq!(self.work_done, sum, "accesses and records of all threads");
    }
}
