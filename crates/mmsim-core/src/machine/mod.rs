//! The machine: CPUs, threads, kswapd, the flusher and the event queue around one
//! [`Memory`].
//!
//! `Machine` owns the memory and, beside it, the policy, so that `policy.reclaim(&mut
//! memory, ..)` borrows plainly. A thread runs hits without asking anyone; whatever reads
//! or changes shared state (a fault, a system call, reclaim) is one atomic step, done when
//! its CPU is the earliest of all. The clock of a step is `Memory::now`; what the step
//! costs is what it advanced.
//!
//! - `run`: the loop: which CPU is next, slices, run-ahead; `ops`: operations of workloads;
//! - `fault`: what a touch that is no hit does; `swapin_fast`, `first_touch`: runs of common ones;
//!   `swapin`: where its page is in swap; `io`:
//!   read, write, readahead;
//! - `alloc`: the allocation slow path: direct reclaim, limits, out of memory; `compact`: what
//!   of it is compaction;
//! - `kernel`: blocks that workloads allocate on behalf of the kernel;
//! - `hugetlb`: the pool of huge pages, and faults on its mappings;
//! - `kswapd`, `kswapd_zones`, `kcompactd`, `dirty`, `flusher`, `kdamond`: the background;
//! - `sched`, `line`: who of several gets a CPU; who waits for it;
//! - `order`, `queue`, `thread`, `psi`, `latency`: what these need;
//! - `stuck`: the watchdog, for runs that cannot end;
//! - `snapshot`: what the kernel's text files would show.

mod advice;
mod alloc;
mod balance;
mod blocks;
mod compact;
mod contents;
mod deadline;
mod dirty;
mod fault;
mod first_touch;
mod flusher;
mod hugetlb;
mod io;
mod kcompactd;
mod kdamond;
mod kernel;
mod kswapd;
mod kswapd_zones;
mod latency;
pub mod laws;
mod line;
mod memcg;
mod ops;
mod order;
mod psi;
mod queue;
mod ratelimit;
pub mod result;
mod run;
mod sched;
pub mod snapshot;
mod stuck;
mod swapin;
mod swapin_fast;
mod thp;
mod thread;
mod touch;

use crate::base::digest::Digest;
use crate::base::id::{
    AsId, CpuId, FileId, IndexVec, KdamondId, MemcgId, NodeId, PAGE_SIZE, PageIdx, Pfn, ThreadId,
};
use crate::base::rng::Rng;
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::{VmEvent, VmStat};
use crate::config::MachineConfig;
use crate::memory::trace::Observer;
use crate::memory::{MOST_PENDING, Memory, PendingSwapIn, Plug};
use crate::phys::gfp::AllocRequest;
use crate::policy::compaction::Compaction;
use crate::policy::{Arrival, ArrivalKind, ReclaimPolicy};
use crate::virt::pages::Entry;
use crate::virt::space::{Counted, Place};
use crate::workload::{FileSpec, Workload};
use blocks::Blocks;
use kcompactd::Kcompactd;
use kdamond::Kdamond;
use kswapd::Kswapd;
use latency::{Histogram, RecordClock};
use line::Virtual;
use order::Order;
use psi::{Psi, PsiMeter};
use queue::{Event, Queue};
use result::{
    GroupGeneration, HighOrder, Latencies, OomSummary, Origin, Outcome, PhaseResult, Pressure,
    RecordLatency, RunResult, StuckSummary, TaskResult, ThreadResult,
};
use sched::{Cpu, Tunables};
use std::collections::BTreeMap;
use stuck::Watchdog;
use thread::{Entity, Thread, Wait};

/// A process to run: its threads share an address space.
#[non_exhaustive]
pub struct TaskConfig {
    /// Name, unique.
    pub name: String,
    /// Position of its group in [`MachineConfig::memcgs`]; `None`: the root.
    pub memcg: Option<usize>,
    /// When it starts.
    pub start: SimTime,
    /// One workload per thread.
    pub threads: Vec<Box<dyn Workload>>,
}

impl TaskConfig {
    /// A process in the root group, with one workload per thread, that starts with the run.
    pub fn new(name: impl Into<String>, threads: Vec<Box<dyn Workload>>) -> Self {
        TaskConfig { name: name.into(), memcg: None, start: SimTime::ZERO, threads }
    }

    /// In the group at this position of [`MachineConfig::memcgs`]; `None`: the root.
    #[must_use]
    pub fn with_memcg(mut self, memcg: Option<usize>) -> Self {
        self.memcg = memcg;
        self
    }

    /// When it starts.
    #[must_use]
    pub fn with_start(mut self, start: SimTime) -> Self {
        self.start = start;
        self
    }
}

/// Accesses that a machine records at most, and about as many as it stops at: the bound of a run is
/// exact up to here, and there is none beyond.
pub const MOST_RECORDED: usize = 1 << 27;

struct Task {
    name: String,
    files: Vec<FileId>,
    phases: Vec<String>,
    threads: Vec<ThreadId>,
    waiting: u32,
    space: AsId,
    /// What it had done when its last phase ended, and what its records had taken.
    phase_began: TaskResult,
    phase_records: Histogram,
    /// What a record is, if it is timed.
    record: Option<&'static str>,
}

/// A sample of counters and gauges at an instant.
pub type SampleFn = Box<dyn FnMut(SimTime, &VmStat, &[(&'static str, u64)]) + Send>;

/// What the kernel's files show at the end of a phase, or (no name) of the run.
pub type SnapshotFn = Box<dyn FnMut(Option<&str>, &snapshot::Snapshot) + Send>;

/// What watches a run; none of it can change the run.
#[derive(Default)]
#[non_exhaustive]
pub struct Watch {
    /// Sees every trace event.
    pub observer: Option<Box<dyn Observer>>,
    /// Called at every interval.
    pub sample: Option<(SimDuration, SampleFn)>,
    /// Called at the end of every phase and of the run.
    pub snapshot: Option<SnapshotFn>,
    /// Audit all invariants after this many steps that were not hits (0: never).
    pub check_every: u64,
    /// Called about once per 2^20 accesses with the accesses done, for progress.
    pub progress: Option<Box<dyn FnMut(u64) + Send>>,
    /// Record the sequence of accesses, for the optimum's bound.
    pub record_accesses: bool,
}

impl Watch {
    /// Who sees every trace event.
    #[must_use]
    pub fn with_observer(mut self, observer: Box<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// What is called at every interval.
    #[must_use]
    pub fn with_sample(mut self, every: SimDuration, sample: SampleFn) -> Self {
        self.sample = Some((every, sample));
        self
    }

    /// What is called at the end of every phase and of the run.
    #[must_use]
    pub fn with_snapshot(mut self, snapshot: SnapshotFn) -> Self {
        self.snapshot = Some(snapshot);
        self
    }

    /// Invariants are audited after so many steps that were not hits; 0: never.
    #[must_use]
    pub fn with_check_every(mut self, steps: u64) -> Self {
        self.check_every = steps;
        self
    }

    /// What is called about once per 2^20 accesses with the accesses done.
    #[must_use]
    pub fn with_progress(mut self, progress: Box<dyn FnMut(u64) + Send>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Whether the sequence of accesses is recorded.
    #[must_use]
    pub fn with_record_accesses(mut self, record: bool) -> Self {
        self.record_accesses = record;
        self
    }
}

#[derive(Clone)]
struct Mark {
    time: SimTime,
    accesses: u64,
    records: u64,
    vmstat: VmStat,
    pressure: Pressure,
    latency: [Histogram; 3],
}

/// Resident pages at equal intervals.
struct Resident {
    every: SimDuration,
    /// When they are looked at next.
    at: SimTime,
    sum: u128,
    looks: u64,
}

impl Default for Resident {
    fn default() -> Self {
        Resident { every: SimDuration::ZERO, at: SimTime::NEVER, sum: 0, looks: 0 }
    }
}

impl Resident {
    fn add(&mut self, pages: u64) {
        self.sum += u128::from(pages);
        self.looks += 1;
        self.at += self.every;
    }
    fn mean(&self) -> Option<f64> {
        (self.every > SimDuration::ZERO).then(|| self.sum as f64 / self.looks as f64)
    }
}

/// A machine with its workload, ready to run.
///
/// A policy of a known type is called directly; research code may pass a box instead and
/// pays some instructions a fault for it, and nothing on a hit.
pub struct Machine {
    /// Its memory.
    pub mem: Memory,
    policy: Box<dyn ReclaimPolicy>,
    compaction: Option<Box<dyn Compaction>>,
    config: MachineConfig,
    tasks: Vec<Task>,
    threads: IndexVec<ThreadId, Thread>,
    cpus: Vec<Cpu>,
    virtuals: BTreeMap<Entity, Virtual>,
    order: Order,
    queue: Queue,
    kswapds: IndexVec<NodeId, Kswapd>,
    kcompactds: IndexVec<NodeId, Kcompactd>,
    kdamonds: IndexVec<KdamondId, Kdamond>,
    flusher: flusher::Flusher,
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
    high_order: HighOrder,
    peak_resident: u64,
    watch: Watch,
    /// When the next sample is due: that of the series, or that of resident pages.
    sample_at: SimTime,
    series_at: SimTime,
    resident: Resident,
    steps: u64,
    /// Recorded accesses, for the optimum.
    contents: contents::Contents,
    /// Pages were read that no thread had asked for: none of readahead, which a machine has or not.
    prefetched: bool,
    zones_at_start: Vec<(String, [u64; 5])>,
    /// Kept for the folios of a run of faults.
    pending_swapins: [PendingSwapIn; MOST_PENDING],
    /// The threads that take first touches together, and whether there may be more to take.
    team: Vec<first_touch::Member>,
    touching: bool,
    /// Kept for the plug of direct reclaim.
    plug: Plug,
    /// Accesses and records of all threads.
    work_done: (u64, u64),
    /// How long a thread has slept amid the current step.
    slept: SimDuration,
    /// So many first touches are taken alone before a team is tried.
    alone_for: u32,
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
        let mut m = Machine {
            mem,
            policy,
            compaction: None,
            config: config.clone(),
            tasks: Vec::new(),
            threads: IndexVec::new(),
            cpus: vec![
                Cpu::new(Tunables::of(
                    config.kernel_rules().scheduler,
                    config.cpus,
                    config.tick,
                    config.kernel_rules().lazy_preemption,
                ));
                config.cpus as usize
            ],
            virtuals: BTreeMap::new(),
            order: Order::new(config.cpus as usize),
            queue: Queue::default(),
            kswapds: (0..nodes).map(|_| Kswapd::default()).collect::<Vec<_>>().into(),
            kcompactds: (0..nodes).map(|_| Kcompactd::default()).collect::<Vec<_>>().into(),
            kdamonds: IndexVec::new(),
            flusher: flusher::Flusher::new(1 + config.memcgs.len()),
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
            high_order: HighOrder::default(),
            peak_resident: 0,
            watch: Watch::default(),
            sample_at: SimTime::NEVER,
            series_at: SimTime::NEVER,
            resident: Resident::default(),
            steps: 0,
            contents: contents::Contents::default(),
            prefetched: false,
            zones_at_start,
            pending_swapins: [(Pfn(0), None); MOST_PENDING],
            team: Vec::new(),
            touching: false,
            plug: Plug::default(),
            work_done: (0, 0),
            slept: SimDuration::ZERO,
            alone_for: 0,
            touches_left: 0,
            touches_each: 0,
        };
        // One name is one file, as large as anybody wants it.
        let mut files: BTreeMap<String, u32> = BTreeMap::new();
        for f in tasks.iter().flat_map(|t| &t.threads).flat_map(|w| w.files()) {
            let size = files.entry(f.name).or_default();
            *size = (*size).max(f.pages);
        }
        for (name, pages) in files {
            m.mem.open_file(&name, pages);
        }
        for t in tasks {
            m.add_task(t, seed);
        }
        m
    }

    fn add_task(&mut self, t: TaskConfig, seed: u64) {
        let memcg = MemcgId(t.memcg.map_or(0, |i| i as u16 + 1));
        let space = self.mem.spaces.create(t.name.clone(), memcg);
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
        let many = t.threads.len() > 1;
        for (i, workload) in t.threads.into_iter().enumerate() {
            if i == 0 {
                task.phases = workload.phases();
                for FileSpec { name, pages } in workload.files() {
                    task.files.push(self.mem.open_file(&name, pages));
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
                ops: Vec::new(),
                next: 0,
                done: 0,
                cpu: CpuId((self.threads.len() % self.cpus.len()) as u16),
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
                held: None,
                user: SimDuration::ZERO,
                system: SimDuration::ZERO,
                io_wait: SimDuration::ZERO,
                throttled: SimDuration::ZERO,
                accesses: 0,
                records: 0,
                record_clock: RecordClock::new(task.record.is_some()),
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

    /// Puts pages of a file that nobody opens into the page cache, the first of them active: what a
    /// system left there before the run begins. They take what memory is free then.
    ///
    /// # Panics
    /// If there is no memory for them.
    pub fn cache_at_start(&mut self, name: &str, pages: u32, active: u32) {
        let file = self.mem.open_file(name, pages);
        let base = self.mem.files[file].base.0;
        let how = Arrival { kind: ArrivalKind::Read, in_fault: None, position: 0 };
        for i in 0..pages {
            let node = self.home_node();
            let frame = self.mem.try_alloc(node, &AllocRequest::USER, None);
            let frame = frame.expect("memory is free before anything runs");
            self.mem.memcgs.charge(MemcgId(0), 1);
            self.mem.add_to_page_cache(&mut *self.policy, PageIdx(base + i), frame, how);
        }
        self.mem.lru_drain(&mut *self.policy);
        for i in base..base + active {
            if let Entry::Frame(folio) = self.mem.pages.entry(PageIdx(i)) {
                self.mem.lru_activate(&mut *self.policy, folio);
            }
        }
        self.mem.lru_drain(&mut *self.policy);
    }

    /// The policy.
    pub fn policy(&self) -> &dyn ReclaimPolicy {
        &*self.policy
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

    /// Whether pages were read by advice before they were needed.
    pub fn prefetched(&self) -> bool {
        self.prefetched
    }

    /// Gauges, those of the policy's lists included.
    pub fn gauges(&self) -> Vec<(&'static str, u64)> {
        let mut g = self.mem.gauges();
        let root = |n| self.policy.snapshot(&self.mem, n, MemcgId(0)).lists;
        let lists: Vec<(String, u64)> = self.kswapds.ids().flat_map(root).collect();
        for name in [
            "nr_inactive_anon",
            "nr_active_anon",
            "nr_inactive_file",
            "nr_active_file",
            "nr_unevictable",
        ] {
            g.push((name, lists.iter().filter(|l| l.0 == name).map(|l| l.1).sum()));
        }
        g
    }

    /// The generations of each group on each node, as `/sys/kernel/debug/lru_gen` shows them.
    pub fn generations(&self) -> Vec<GroupGeneration> {
        self.generations_of(self.mem.memcgs.ids())
    }

    fn generations_of(&self, groups: impl Iterator<Item = MemcgId>) -> Vec<GroupGeneration> {
        let mut all = Vec::new();
        for memcg in groups {
            for node in self.kswapds.ids() {
                let name = match memcg {
                    MemcgId(0) => String::new(),
                    _ => self.mem.memcgs[memcg].config.name.clone(),
                };
                let of = self.policy.snapshot(&self.mem, node, memcg).generations;
                // A policy has generations in all groups or in none.
                if of.is_empty() {
                    return all;
                }
                all.extend(of.into_iter().map(|generation| GroupGeneration {
                    node,
                    memcg: name.clone(),
                    generation,
                }));
            }
        }
        all
    }

    /// The generations that the end of a task's phase shows: of every group, or where these are
    /// more than [`MOST_SHOWN`], of the root and the task's own.
    fn generations_at_end_of(&self, task: usize) -> Vec<GroupGeneration> {
        if self.mem.memcgs.len() <= MOST_SHOWN {
            return self.generations();
        }
        let own = self.mem.spaces[self.tasks[task].space].memcg;
        self.generations_of(self.mem.memcgs.ids().filter(|&m| m == MemcgId(0) || m == own))
    }

    fn take_mark(&mut self, now: SimTime) -> Mark {
        let (accesses, records) = self.work_done;
        let mut vmstat = self.mem.vmstat.clone();
        vmstat.add(VmEvent::SimAccesses, accesses);
        Mark {
            time: now,
            accesses,
            records,
            vmstat,
            pressure: self.psi.total(now),
            latency: self.latency.clone(),
        }
    }

    fn end_phase(&mut self, name: String, of: usize, now: SimTime) {
        self.show(Some(&name), now);
        let end = self.take_mark(now);
        let m = std::mem::replace(&mut self.mark, end.clone());
        let l = [0, 1, 2].map(|i| end.latency[i].since(&m.latency[i]).quantiles());
        let done = self.task_result(of, now);
        let took = self.record_times(of);
        let task = &mut self.tasks[of];
        let before = std::mem::replace(&mut task.phase_records, took.clone());
        let took = took.since(&before).quantiles();
        let last = std::mem::replace(&mut task.phase_began, done.clone());
        let own = TaskResult {
            begin: last.begin,
            accesses: done.accesses - last.accesses,
            records: done.records - last.records,
            counted: done.counted.since(&last.counted),
            record: task.record.map(|what| RecordLatency { what, took }),
            name: done.name,
        };
        self.phases.push(PhaseResult {
            name,
            task: own,
            begin: m.time,
            end: end.time,
            accesses: end.accesses - m.accesses,
            records: end.records - m.records,
            vmstat: end.vmstat.since(&m.vmstat),
            gauges: self.gauges(),
            generations: self.generations_at_end_of(of),
            pressure: PsiMeter::between(m.pressure, end.pressure),
            latency: Latencies { minor_fault: l[0], major_fault: l[1], direct_reclaim: l[2] },
        });
    }

    /// What a task did from the start until now, which it has as its beginning.
    fn task_result(&self, of: usize, now: SimTime) -> TaskResult {
        let task = &self.tasks[of];
        let threads = || task.threads.iter().map(|&t| &self.threads[t]);
        TaskResult {
            name: task.name.clone(),
            begin: now,
            accesses: threads().map(|t| t.accesses).sum(),
            records: threads().map(|t| t.records).sum(),
            counted: self.mem.spaces[task.space].counted,
            record: task
                .record
                .map(|what| RecordLatency { what, took: self.record_times(of).quantiles() }),
        }
    }

    /// What the records of a task have taken.
    fn record_times(&self, of: usize) -> Histogram {
        let mut all = Histogram::default();
        for &t in &self.tasks[of].threads {
            all.merge(self.threads[t].record_clock.took());
        }
        all
    }

    /// Has the mean of resident pages measured, by looking at them in equal intervals of simulated
    /// time. Before the run.
    pub fn measure_resident(&mut self, every: SimDuration) {
        let every = every.max(SimDuration(1));
        self.resident = Resident { every, at: SimTime(every.0), ..Resident::default() };
    }

    /// A fingerprint of the whole state.
    pub fn digest(&self) -> u64 {
        let mut d = Digest::new();
        self.mem.digest(&mut d);
        self.policy.digest(&self.mem, &mut d);
        self.digest_compaction(&mut d);
        self.digest_kdamonds(&mut d);
        for t in self.threads.iter() {
            d.words([t.accesses, t.records, t.finished.0, t.user.0, t.system.0, t.io_wait.0]);
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
        let sum = of_threads.fold((0, 0), |a, t| (a.0 + t.accesses, a.1 + t.records));
        assert_eq!(self.work_done, sum, "accesses and records of all threads");
    }

    /// When the run ended: with its last thread, or where it could not go on.
    fn end(&self) -> SimTime {
        let finished = self.threads.iter().map(|t| t.finished).max().unwrap_or_default();
        self.stuck.as_ref().map_or(finished, |s| s.at.max(finished))
    }

    fn result(&mut self) -> RunResult {
        let now = self.end();
        self.show(None, now);
        let end = self.take_mark(now);
        let l = [0, 1, 2].map(|i| self.latency[i].quantiles());
        let memory_stat = self.memory_stat();
        RunResult {
            outcome: match (self.stuck.take(), self.oom.take()) {
                (Some(s), _) => Outcome::Stuck(s),
                (None, Some(s)) => Outcome::OutOfMemory(s),
                (None, None) => Outcome::Completed,
            },
            sim_time: now.since(SimTime::ZERO),
            accesses: end.accesses,
            records: end.records,
            vmstat: end.vmstat,
            gauges: self.gauges(),
            phases: std::mem::take(&mut self.phases),
            pressure: end.pressure,
            latency: Latencies { minor_fault: l[0], major_fault: l[1], direct_reclaim: l[2] },
            reading: [
                self.mem.swap.as_ref().map_or(SimDuration::ZERO, |s| s.device.reading),
                self.mem.file_device.reading,
            ],
            cache_misses: self.mem.cache_misses,
            not_kept: self.not_kept().collect(),
            tasks: (0..self.tasks.len()).map(|i| self.task_result(i, SimTime::ZERO)).collect(),
            threads: self
                .threads
                .iter()
                .map(|t| ThreadResult {
                    name: t.name.clone(),
                    user: t.user,
                    system: t.system,
                    io_wait: t.io_wait,
                    throttled: t.throttled,
                    records: t.records,
                    finished: t.finished,
                })
                .collect(),
            memory_stat,
            aims: self
                .threads
                .iter()
                .filter_map(|t| Some((t.name.clone(), t.workload.aim()?)))
                .collect(),
            replayed: self
                .threads
                .iter()
                .filter_map(|t| Some((t.name.clone(), t.workload.replayed()?)))
                .collect(),
            high_order: self.high_order,
            compaction: self.compaction.as_ref().map(|c| c.stats()),
            unwritten: self.unwritten(),
            zones: self.zones_at_start.clone(),
            digest: self.digest(),
            mean_resident: self.resident.mean(),
            peak_resident: self.peak_resident,
            host_bytes: self.mem.host_bytes(),
        }
    }

    fn unwritten(&self) -> Vec<(String, u64)> {
        let spaces = self.mem.spaces.ids().map(|a| &self.mem.spaces[a]);
        spaces
            .filter(|s| s.zero_faults > 0 && !s.wrote_anon)
            .map(|s| (s.name.clone(), s.zero_faults))
            .collect()
    }

    /// Counters that the policy does not keep: their zeros say nothing.
    pub fn not_kept(&self) -> impl Iterator<Item = VmEvent> + '_ {
        VmEvent::ALL.iter().copied().filter(|&e| !self.policy.keeps(e))
    }

    fn memory_stat(&self) -> Vec<(String, Vec<(&'static str, u64)>)> {
        let groups = self.mem.memcgs.ids().skip(1);
        groups
            .map(|m| {
                let g = &self.mem.memcgs[m];
                let sizes = [g.usage, g.swap].map(|pages| pages * PAGE_SIZE);
                let mut stat: Vec<_> = GROUP_SIZES.into_iter().zip(sizes).collect();
                stat.extend(g.vmstat.iter().filter(|c| GROUP_COUNTERS.contains(&c.0)));
                (g.config.name.clone(), stat)
            })
            .collect()
    }
}

/// With more groups than this, the root among them, the end of a phase does not show the
/// generations of each: thousands of tasks with phases would show those of thousands of groups.
const MOST_SHOWN: usize = 256;

/// Sizes of a group in bytes, before its counters in [`RunResult::memory_stat`].
pub const GROUP_SIZES: [&str; 2] = ["memory.current", "memory.swap.current"];

/// Counters that `memory.stat` keeps per group.
pub const GROUP_COUNTERS: &[&str] = &[
    "pgfault",
    "pgmajfault",
    "pswpin",
    "pswpout",
    "pgrefill",
    "pgscan_kswapd",
    "pgscan_direct",
    "pgsteal_kswapd",
    "pgsteal_direct",
    "pgscan_anon",
    "pgscan_file",
    "pgsteal_anon",
    "pgsteal_file",
    "pgactivate",
    "pgdeactivate",
    "workingset_refault_anon",
    "workingset_refault_file",
    "workingset_activate_anon",
    "workingset_activate_file",
    "workingset_restore_anon",
    "workingset_restore_file",
];
