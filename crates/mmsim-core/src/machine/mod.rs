//! The machine: CPUs, threads, kswapd, the flusher and the event queue around one
//! [`Memory`].
//!
//! `Machine` owns the memory and, beside it, the policy, so that `policy.reclaim(&mut
//! memory, ..)` borrows plainly. A thread runs hits without asking anyone; whatever reads
//! or changes shared state (a fault, a system call, reclaim) is one atomic step, done when
//! its CPU is the earliest of all. The clock of a step is `Acting::now`; what the step
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
//!   kernel; `task`: processes; `kdamond`: monitors of accesses; `daemon`: programs of user space
//!   that watch memory.

mod admission;
mod advice;
mod blocks;
mod compaction;
mod course;
mod cpu;
mod daemon;
mod fault;
mod groups;
mod hits;
mod hugetlb;
mod io;
mod kdamond;
mod kernel;
mod mlock;
mod ops;
mod parts;
mod reclaim;
mod reporter;
mod run;
mod task;
mod uncached;
mod walk;
mod watch;
mod writeback;
mod zswap;

pub use task::{DisksOfFiles, TaskConfig};
pub use watch::collect::{GROUP_LIFE, GROUP_PRESSURE, GROUP_SIZES};
pub use watch::{LookFn, SampleFn, SnapshotFn, Watch, laws, result, snapshot};

use crate::backing::contents::TaskContents;
use crate::base::digest::Digest;
use crate::base::id::{CpuId, DiskId, FileId, Idx as _, MemcgId, PageIdx, ThreadId};
use crate::base::rng::Rng;
use crate::base::time::{SimDuration, SimTime};
use crate::config::MachineConfig;
use crate::memory::Memory;
use crate::phys::gfp::AllocRequest;
use crate::policy::chooser::{FileChooser, NotAttached};
use crate::policy::{Arrival, ArrivalKind, ReclaimPolicy};
use crate::virt::pages::Entry;
use crate::virt::space::{Counted, Place};
use crate::workload::{FileSpec, Workload};
use blocks::Blocks;
use cpu::queue::Event;
use cpu::thread::{Admission, Thread, Wait};
use parts::{Course, Daemons, Events, Policies, Sched, Step, Touches, Work};
use std::collections::BTreeMap;
use task::Task;
use walk::Progress;
use watch::latency::Histogram;
use watch::psi::Psi;
use watch::recorder::Recorder;
use watch::result::{OomSummary, TaskResult};
use watch::stuck::Watchdog;

/// Accesses that a machine records at most, and about as many as it stops at: the bound of a run is
/// exact up to here, and there is none beyond.
pub const MOST_RECORDED: usize = 1 << 27;

/// A machine with its workload, ready to run.
///
/// Parts are state without flows (`parts`). A flow that may let a kernel thread or an interrupt act
/// amid a step needs the whole machine, and is a method of it.
pub struct Machine {
    /// Its memory.
    pub mem: Memory,
    policies: Policies,
    config: MachineConfig,
    work: Work,
    sched: Sched,
    events: Events,
    daemons: Daemons,
    step: Step,
    touches: Touches,
    record: Recorder,
    course: Course,
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
        let nodes = mem.zones.nr_nodes();
        let mut m = Machine {
            policies: Policies { lru: policy, other_lru: None, compaction: None },
            config: config.clone(),
            work: Work::default(),
            sched: Sched::new(config),
            events: Events::default(),
            daemons: Daemons::new(config, nodes),
            step: Step::new(),
            touches: Touches::new(),
            record: Recorder::new(&mem),
            course: Course::new(),
            mem,
        };
        m.queue_groups();
        // One name is one file, as large as anybody wants it.
        let mut files: BTreeMap<String, (FileSpec, DiskId)> = BTreeMap::new();
        for (t, f) in tasks.iter().flat_map(|t| t.files().map(move |f| (t, f))) {
            let disk = t.disks.of(&f.name);
            assert!(disk.index() < m.mem.cache.disks.len(), "{}: there is no {disk}", f.name);
            let (all, on) = files.entry(f.name.clone()).or_insert((f.clone(), disk));
            assert_eq!(*on, disk, "{} lies on one disk", f.name);
            all.pages = f.pages.max(all.pages);
        }
        if let Some(swap) = &mut m.mem.swap {
            tasks
                .iter()
                .filter_map(TaskConfig::contents_shrink)
                .for_each(|s| swap.expect_contents(s));
        }
        for (spec, disk) in files.into_values() {
            let file = m.mem.open(&spec);
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
        self.mem.virt.spaces[space].memlock_limit = t.memlock_limit;
        self.charge_process(space);
        let drawn = t.contents.map(|law| TaskContents::new(law, seed, &t.name));
        let known =
            (!t.contents_in_turn.is_empty()).then(|| TaskContents::in_turn(t.contents_in_turn));
        self.mem.virt.spaces[space].contents = known.or(drawn);
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
            meets: match self.work.tasks.last() {
                Some(before) if t.meets_the_one_before => before.meets,
                _ => self.work.tasks.len(),
            },
            waiting: 0,
        };
        let (many, disks) = (t.threads.len() > 1, t.disks);
        for (i, workload) in t.threads.into_iter().enumerate() {
            if i == 0 {
                task.phases = workload.phases();
                for spec in workload.files() {
                    let there = self.mem.cache.files.open(&spec.name).is_some();
                    let file = self.mem.open(&spec);
                    if !there {
                        self.mem.cache.files[file].disk = disks.of(&spec.name);
                    }
                    task.files.push(file);
                }
            }
            let name = if many { format!("{}/{i}", task.name) } else { task.name.clone() };
            let thread = self.new_thread(&task, name, memcg, workload, seed);
            let id = self.work.threads.push(thread);
            task.threads.push(id);
            self.work.live += 1;
            self.events.queue.push(t.start, Event::Start(id));
        }
        self.work.tasks.push(task);
    }

    /// A thread of a process that is being made.
    fn new_thread(
        &self,
        task: &Task,
        name: String,
        memcg: MemcgId,
        workload: Box<dyn Workload>,
        seed: u64,
    ) -> Thread {
        Thread {
            rng: Rng::for_purpose(seed, &format!("workload/{name}")),
            name,
            space: task.space,
            memcg,
            frozen: false,
            daemon: None,
            task: self.work.tasks.len(),
            workload,
            place: Place::NOWHERE,
            progress: Progress::new(task.record.is_some()),
            cpu: CpuId::from_index(self.work.threads.len() % self.sched.cpus.len()),
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
            admission: Admission::Asks,
            held: None,
            user: SimDuration::ZERO,
            system: SimDuration::ZERO,
            io_wait: SimDuration::ZERO,
            throttled: SimDuration::ZERO,
            given: (SimTime::ZERO, 0),
            done_at: SimTime::ZERO,
            finished: SimTime::ZERO,
        }
    }

    /// A process reads `memory.stat`, which brings the statistics of groups up to date.
    pub(in crate::machine) fn memory_stat_is_read(&mut self) {
        self.policies.lru.memory_stat_read(&self.mem);
    }

    /// Starts another process, amid a run that goes on step by step ([`Machine::begin`]), as a user
    /// does who types a command. It begins at its start, but not before where the run stands.
    /// `seed` is that of the run.
    pub fn spawn(&mut self, task: TaskConfig, seed: u64) {
        self.add_task(task, seed);
        self.course.watchdog = Watchdog::of(self.work.threads.len());
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
                self.mem.lru_activate(&mut *self.policies.lru, folio);
            }
        }
        self.mem.lru_drain(&mut *self.policies.lru);
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
            self.mem.add_to_page_cache(&mut *self.policies.lru, PageIdx(base + i), frame, how);
        }
        self.mem.lru_drain(&mut *self.policies.lru);
        base
    }

    /// Gives a group a chooser, before the run.
    ///
    /// # Errors
    /// The chooser refuses to be attached, or the policy of the machine asks none.
    pub fn attach_chooser(
        &mut self,
        memcg: MemcgId,
        mut chooser: Box<dyn FileChooser>,
    ) -> Result<(), NotAttached> {
        chooser.attach(&self.mem, memcg).map_err(NotAttached::Refused)?;
        match self.policies.lru.attach_chooser(&mut self.mem, memcg, chooser) {
            true => Ok(()),
            false => Err(NotAttached::NotAsked),
        }
    }

    /// Hands all journals over to their choosers.
    pub(in crate::machine) fn tell_choosers(&mut self) {
        for memcg in self.mem.memcgs.ids() {
            self.policies.lru.tell_chooser(&mut self.mem, memcg);
        }
    }

    /// The policy.
    pub fn policy(&self) -> &dyn ReclaimPolicy {
        &*self.policies.lru
    }

    /// Names of tasks with their threads.
    pub fn tasks(&self) -> impl Iterator<Item = (&str, &[ThreadId])> {
        self.work.tasks.iter().map(|task| (task.name.as_str(), &task.threads[..]))
    }

    /// Names of threads, by their numbers.
    pub fn thread_names(&self) -> impl Iterator<Item = &str> {
        self.work.threads.iter().map(|thread| thread.name.as_str())
    }

    /// Names of all files, in the order in which they were opened.
    pub fn file_names(&self) -> Vec<&str> {
        let files = &self.mem.cache.files;
        files.ids().map(|f| files[f].name.as_str()).collect()
    }

    /// Numbers of the threads of a task, or of the thread with this name.
    pub fn threads_of(&self, name: &str) -> Vec<ThreadId> {
        let task = self.work.tasks.iter().find(|t| t.name == name);
        task.map(|t| t.threads.clone()).unwrap_or_else(|| {
            self.work.threads.ids().filter(|&t| self.work.threads[t].name == name).collect()
        })
    }

    /// The recorded sequence of accesses, as numbers of what they were to: from 1 on in order of
    /// the first access. Memory that was dropped and touched again has a new number, as has a page
    /// of a file that is overwritten. 0: the zero page, or memory that nothing evicts or that need
    /// not be fetched again (locked, of a huge page pool, lazily freed). It is not whole if it has
    /// [`MOST_RECORDED`].
    pub fn recorded_accesses(&self) -> &[u32] {
        &self.record.contents.sequence
    }

    /// True if pages were read by advice before they were needed.
    pub fn prefetched(&self) -> bool {
        self.record.prefetched
    }

    /// A fingerprint of the whole state.
    pub fn digest(&self) -> u64 {
        let mut d = Digest::new();
        self.mem.digest(&mut d);
        self.policies.lru.digest(&self.mem, &mut d);
        self.digest_compaction(&mut d);
        self.digest_kdamonds(&mut d);
        self.digest_daemons(&mut d);
        for t in self.work.threads.iter() {
            let Progress { accesses, records, .. } = t.progress;
            d.words([accesses, records, t.finished.0, t.user.0, t.system.0, t.io_wait.0]);
        }
        d.words(self.sched.cpus.iter().map(|c| c.clock.0));
        d.finish()
    }

    /// Audits all invariants, the policy's included.
    ///
    /// # Panics
    /// If one does not hold; the message names the ids.
    pub fn check(&self) {
        self.mem.check();
        self.policies.lru.check(&self.mem);
        if let Some(c) = &self.policies.compaction {
            c.check(&self.mem);
        }
        self.check_kdamonds();
        self.check_laws();
        let of_threads = self.work.threads.iter();
        let sum =
            of_threads.fold((0, 0), |a, t| (a.0 + t.progress.accesses, a.1 + t.progress.records));
        assert_eq!(self.work.done, sum, "accesses and records of all threads");
    }
}
