//! Results of a run: marks at the ends of phases, gauges, and its result.

use crate::backing::swap::Swap;
use crate::base::id::{MemcgId, PAGE_SIZE};
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::{VmEvent, VmStat};
use crate::machine::Machine;
use crate::machine::watch::disks::FileDisk;
use crate::machine::watch::latency::Histogram;
use crate::machine::watch::psi::PsiMeter;
use crate::machine::watch::result::{
    Latencies, MemcgGeneration, Outcome, PhaseResult, Pressure, RecordLatency, RunResult,
    TaskResult, ThreadResult,
};
use crate::machine::watch::swaps::SwapArea;
use crate::memory::{Life, SizeStats};

/// Totals when the last phase ended.
#[derive(Clone, Default)]
pub(in crate::machine) struct Mark {
    pub(in crate::machine) time: SimTime,
    pub(in crate::machine) accesses: u64,
    pub(in crate::machine) records: u64,
    pub(in crate::machine) vmstat: VmStat,
    pub(in crate::machine) sizes: SizeStats,
    pub(in crate::machine) pressure: Pressure,
    pub(in crate::machine) latency: [Histogram; 3],
}

/// Resident pages at equal intervals.
pub(in crate::machine) struct Resident {
    pub(in crate::machine) every: SimDuration,
    /// When they are looked at next.
    pub(in crate::machine) at: SimTime,
    pub(in crate::machine) sum: u128,
    pub(in crate::machine) looks: u64,
}

impl Default for Resident {
    fn default() -> Self {
        Resident { every: SimDuration::ZERO, at: SimTime::NEVER, sum: 0, looks: 0 }
    }
}

impl Resident {
    pub(in crate::machine) fn add(&mut self, pages: u64) {
        self.sum += u128::from(pages);
        self.looks += 1;
        self.at += self.every;
    }
    pub(in crate::machine) fn mean(&self) -> Option<f64> {
        (self.every > SimDuration::ZERO).then(|| self.sum as f64 / self.looks as f64)
    }
}

impl Machine {
    /// Gauges, those of the policy's lists included.
    pub fn gauges(&self) -> Vec<(&'static str, u64)> {
        let mut g = self.mem.gauges();
        let root = |n| self.policies.lru.snapshot(&self.mem, n, MemcgId(0)).lists;
        let lists: Vec<(String, u64)> = self.daemons.kswapds.ids().flat_map(root).collect();
        let names = [
            "nr_inactive_anon",
            "nr_active_anon",
            "nr_inactive_file",
            "nr_active_file",
            "nr_unevictable",
        ];
        let lazyfree = self.policies.lru.has_lazyfree_list().then_some("nr_lazyfree");
        let pool = self.policies.lru.has_easy_pool().then_some("sim_easy_pool");
        for name in names.into_iter().chain(lazyfree).chain(pool) {
            g.push((name, lists.iter().filter(|l| l.0 == name).map(|l| l.1).sum()));
        }
        if self.mem.is_on_host() {
            g.push(("sim_host_held", self.mem.host_held()));
        }
        if let Some(zswap) = self.mem.zswap() {
            g.extend([
                ("zswap_pool_pages", zswap.store.pool.nr_frames()),
                ("zswap_stored_pages", zswap.store.nr_pages),
                ("zswap_stored_incompressible_pages", zswap.nr_raw),
            ]);
        }
        g
    }

    /// The generations of each group on each node, as `/sys/kernel/debug/lru_gen` shows them.
    pub fn generations(&self) -> Vec<MemcgGeneration> {
        self.generations_of(self.mem.memcgs.ids())
    }

    fn generations_of(&self, groups: impl Iterator<Item = MemcgId>) -> Vec<MemcgGeneration> {
        let mut all = Vec::new();
        for memcg in groups {
            for node in self.daemons.kswapds.ids() {
                let name = match memcg {
                    MemcgId(0) => String::new(),
                    _ => self.mem.memcgs[memcg].config.name.clone(),
                };
                let of = self.policies.lru.snapshot(&self.mem, node, memcg).generations;
                // A policy has generations in all groups or in none.
                if of.is_empty() {
                    return all;
                }
                all.extend(of.into_iter().map(|generation| MemcgGeneration {
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
    fn generations_at_end_of(&self, task: usize) -> Vec<MemcgGeneration> {
        if self.mem.memcgs.len() <= MOST_SHOWN {
            return self.generations();
        }
        let own = self.mem.virt.spaces[self.work.tasks[task].space].memcg;
        self.generations_of(self.mem.memcgs.ids().filter(|&m| m == MemcgId(0) || m == own))
    }

    pub(in crate::machine) fn take_mark(&mut self, now: SimTime) -> Mark {
        let (accesses, records) = self.work.done;
        let mut vmstat = self.mem.stats.vmstat.clone();
        vmstat.add(VmEvent::SimAccesses, accesses);
        Mark {
            time: now,
            accesses,
            records,
            vmstat,
            sizes: self.mem.stats.sizes.clone(),
            pressure: self.sched.psi.total(now),
            latency: self.record.latency.clone(),
        }
    }

    pub(in crate::machine) fn end_phase(&mut self, name: String, of: usize, now: SimTime) {
        self.mem.tell_of_phase();
        self.show(Some(&name), now);
        let end = self.take_mark(now);
        let m = std::mem::replace(&mut self.record.mark, end.clone());
        let l = [0, 1, 2].map(|i| end.latency[i].since(&m.latency[i]).quantiles());
        let done = self.task_result(of, now);
        let took = self.record_times(of);
        let task = &mut self.work.tasks[of];
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
        self.record.phases.push(PhaseResult {
            name,
            task: own,
            begin: m.time,
            end: end.time,
            accesses: end.accesses - m.accesses,
            records: end.records - m.records,
            vmstat: end.vmstat.since(&m.vmstat),
            sizes: self.named_sizes(&end.sizes.since(&m.sizes)),
            gauges: self.gauges(),
            generations: self.generations_at_end_of(of),
            pressure: PsiMeter::between(m.pressure, end.pressure),
            latency: Latencies { minor_fault: l[0], major_fault: l[1], direct_reclaim: l[2] },
        });
    }

    /// Counters by size, of the sizes that mappings may have or had.
    fn named_sizes(&self, sizes: &SizeStats) -> Vec<(String, u64)> {
        sizes.named(self.mem.given.vm.orders(Some(true)))
    }

    /// Results of a task from the start until now, which is set as their beginning.
    fn task_result(&self, of: usize, now: SimTime) -> TaskResult {
        let task = &self.work.tasks[of];
        let threads = || task.threads.iter().map(|&t| &self.work.threads[t]);
        TaskResult {
            name: task.name.clone(),
            begin: now,
            accesses: threads().map(|t| t.progress.accesses).sum(),
            records: threads().map(|t| t.progress.records).sum(),
            counted: self.mem.virt.spaces[task.space].counted,
            record: task
                .record
                .map(|what| RecordLatency { what, took: self.record_times(of).quantiles() }),
        }
    }

    /// Latencies of the records of a task.
    fn record_times(&self, of: usize) -> Histogram {
        let mut all = Histogram::default();
        for &t in &self.work.tasks[of].threads {
            all.merge(self.work.threads[t].progress.record_clock.took());
        }
        all
    }

    /// Has the mean of resident pages measured, by looking at them in equal intervals of simulated
    /// time. Before the run.
    pub fn measure_resident(&mut self, every: SimDuration) {
        let every = every.max(SimDuration(1));
        self.course.resident = Resident { every, at: SimTime(every.0), ..Resident::default() };
    }

    /// When the run ended: with its last thread, or where it could not go on.
    pub fn end(&self) -> SimTime {
        let finished = self.work.threads.iter().map(|t| t.finished).max().unwrap_or_default();
        self.course.stuck.as_ref().map_or(finished, |s| s.at.max(finished))
    }

    pub(in crate::machine) fn result(&mut self) -> RunResult {
        let now = self.end();
        self.show(None, now);
        let end = self.take_mark(now);
        let l = [0, 1, 2].map(|i| self.record.latency[i].quantiles());
        let memory_stat = self.memory_stat(now);
        let daemons = self.daemon_results();
        self.tell_choosers();
        RunResult {
            outcome: match (self.course.stuck.take(), self.record.oom.take()) {
                (Some(s), _) => Outcome::Stuck(s),
                (None, Some(s)) => Outcome::OutOfMemory(s),
                (None, None) => Outcome::Completed,
            },
            sim_time: now.since(SimTime::ZERO),
            accesses: end.accesses,
            records: end.records,
            vmstat: end.vmstat,
            sizes: self.named_sizes(&end.sizes),
            gauges: self.gauges(),
            phases: std::mem::take(&mut self.record.phases),
            pressure: end.pressure,
            latency: Latencies { minor_fault: l[0], major_fault: l[1], direct_reclaim: l[2] },
            reading: [
                self.mem.swap.as_ref().map_or(SimDuration::ZERO, Swap::reading),
                SimDuration(self.mem.cache.disks.iter().map(|d| d.device.reading.0).sum()),
            ],
            cache_misses: self.mem.cache.misses,
            not_kept: self.not_kept().collect(),
            tasks: (0..self.work.tasks.len())
                .filter(|&i| !self.is_daemon(i))
                .map(|i| self.task_result(i, SimTime::ZERO))
                .collect(),
            threads: self
                .work
                .threads
                .iter()
                .filter(|t| t.daemon.is_none())
                .map(|t| ThreadResult {
                    name: t.name.clone(),
                    user: t.user,
                    system: t.system,
                    io_wait: t.io_wait,
                    throttled: t.throttled,
                    records: t.progress.records,
                    finished: t.finished,
                })
                .collect(),
            daemons,
            choosers: self.policies.lru.choosers(&self.mem),
            memory_stat,
            aims: self
                .work
                .threads
                .iter()
                .filter_map(|t| Some((t.name.clone(), t.workload.aim()?)))
                .collect(),
            replayed: self
                .work
                .threads
                .iter()
                .filter_map(|t| Some((t.name.clone(), t.workload.replayed()?)))
                .collect(),
            high_order: self.record.high_order,
            compaction: self.policies.compaction.as_ref().map(|c| c.stats()),
            unwritten: self.unwritten(),
            zones: self.record.zones_at_start.clone(),
            swaps: SwapArea::all(&self.mem),
            disks: FileDisk::all(&self.mem),
            digest: self.digest(),
            mean_resident: self.course.resident.mean(),
            peak_resident: self.record.peak_resident,
            host_bytes: self.mem.host_bytes(),
        }
    }

    /// True if a task is a daemon.
    fn is_daemon(&self, task: usize) -> bool {
        self.work.tasks[task].threads.iter().any(|&t| self.work.threads[t].daemon.is_some())
    }

    fn unwritten(&self) -> Vec<(String, u64)> {
        let spaces = self.mem.virt.spaces.ids().map(|a| &self.mem.virt.spaces[a]);
        spaces
            .filter(|s| s.zero_faults > 0 && !s.wrote_anon)
            .map(|s| (s.name.clone(), s.zero_faults))
            .collect()
    }

    /// Counters that the policy does not keep: their zeros say nothing.
    pub fn not_kept(&self) -> impl Iterator<Item = VmEvent> + '_ {
        let keeps = self.policies.lru.traits().keeps;
        VmEvent::ALL.iter().copied().filter(move |&e| !keeps(e))
    }

    fn memory_stat(&mut self, now: SimTime) -> Vec<(String, Vec<(&'static str, u64)>)> {
        let groups = self.mem.memcgs.ids().skip(1);
        let psi = &mut self.sched.psi;
        let mut pressure = |m| psi.total_of(m, now);
        let vmstat = self.mem.memcgs.vmstat_with_descendants();
        groups
            .map(|m| {
                let g = &self.mem.memcgs[m];
                let sizes = [g.usage, g.swap].map(|pages| pages * PAGE_SIZE);
                let mut stat: Vec<_> = GROUP_SIZES.into_iter().zip(sizes).collect();
                let Pressure { some_us, full_us } = pressure(m);
                stat.extend(GROUP_PRESSURE.into_iter().zip([some_us, full_us]));
                stat.extend(g.events.named(self.config.memcg_mount.local_events));
                stat.extend(VmEvent::of_groups().map(|e| (e.name(), vmstat[m][e])));
                if g.config.until.is_some() {
                    let (at, left) = match g.life {
                        Life::Removed { at, charged } => (at.0, charged * PAGE_SIZE),
                        Life::Awaited | Life::Online => (0, 0),
                    };
                    stat.extend(GROUP_LIFE.into_iter().zip([at, left]));
                }
                (g.config.name.clone(), stat)
            })
            .collect()
    }
}

/// With more groups than this, the root among them, the end of a phase does not show the
/// generations of each: thousands of tasks with phases would show those of thousands of groups.
const MOST_SHOWN: usize = 256;

/// Pressure of a group and of those below it in microseconds, behind its sizes.
pub const GROUP_PRESSURE: [&str; 2] = ["memory.pressure.some.total", "memory.pressure.full.total"];

/// Time in nanoseconds at which a group with an end was removed (0: not yet), and bytes that stayed
/// charged to it. They stand behind its counters.
pub const GROUP_LIFE: [&str; 2] = ["sim_removed_ns", "sim_left_bytes"];

/// Sizes of a group in bytes, before its counters in [`RunResult::memory_stat`].
pub const GROUP_SIZES: [&str; 2] = ["memory.current", "memory.swap.current"];
