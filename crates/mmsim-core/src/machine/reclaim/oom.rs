//! The OOM killer: who is killed when there is no memory left, and what is kept of that moment.
//!
//! The process with the most points goes: its pages in memory, in swap and of page tables, and for each
//! unit of `oom_score_adj` a thousandth of the memory and swap that there is, or that the group may
//! have. A process with -1000 is never killed. If there is no other, Linux panics; here the run ends.
//! A group in that state goes on trying, as page faults do in Linux.
//!
//! For the limit of a group, processes of the group and of those below it are looked at. If the victim's
//! group, or one above it up to that group, has `memory.oom.group` set, then all processes of the
//! highest such group die, but for those with -1000. Linux kills the victim first and then all of
//! the group, of which it still is one: so it counts twice in `oom_kill`.
//!
//! Source: Linux 6.12 mm/oom_kill.c (`select_bad_process`, `oom_badness`, `oom_kill_process`,
//! `out_of_memory`, `oom_kill_memcg_member`), mm/memcontrol.c (`mem_cgroup_get_max`,
//! `mem_cgroup_get_oom_group`). Left out: the 3 % that processes with
//! `CAP_SYS_ADMIN` were spared up to 4.16, and children of the victim, which went first up to 5.1.

use super::alloc::{AllocOutcome, TICK};
use crate::base::id::{AsId, Idx as _, MemcgId, ThreadId};
use crate::base::time::SimTime;
use crate::base::vmstat::VmEvent;
use crate::machine::watch::result::{OomProcess, Shortage};
use crate::machine::{Machine, OomSummary};
use crate::memory::MemcgEvent;
use crate::memory::memcg_tree::ROOT;
use crate::memory::trace::TraceEvent;
use crate::policy::{MAX_RECLAIM_RETRIES, Reclaimer};

/// The adjustment of a process that is never killed (`OOM_SCORE_ADJ_MIN`).
const NEVER: i16 = -1000;

impl Machine {
    /// The OOM killer: the process with the most points goes. While a victim has yet to go, no other is chosen.
    pub(in crate::machine) fn out_of_memory(
        &mut self,
        tid: ThreadId,
        memcg: Option<MemcgId>,
    ) -> AllocOutcome {
        let shortage = if memcg.is_some() { Shortage::Group } else { Shortage::Machine };
        let (spaces, tree) = (&self.mem.virt.spaces, &self.mem.memcgs.tree);
        let within = |&a: &AsId| memcg.is_none_or(|m| tree.holds(m, spaces[a].memcg));
        let doomed = self.step.doomed.filter(within);
        if let Some(level) = memcg {
            self.mem.memcgs.event(level, MemcgEvent::Oom, 1);
        }
        let own = self.work.threads[tid].space;
        if doomed.is_none() {
            let Some(victim) = self.mark_victim(memcg, shortage) else {
                if memcg.is_none() {
                    self.course.watchdog.nobody_to_kill();
                }
                self.sleep(tid, TICK, true);
                return AllocOutcome::Blocked;
            };
            if let Some(level) = memcg {
                self.try_on(tid, level, victim);
            }
            self.kill_with_group(victim, memcg);
        }
        if doomed == Some(own) || self.mem.virt.spaces[own].dead {
            AllocOutcome::Killed
        } else {
            self.sleep(tid, TICK, true);
            AllocOutcome::Blocked
        }
    }

    /// The charging process tries on until its victims have ended. If it is the only victim, it
    /// still has its memory, and gives up after [`MAX_RECLAIM_RETRIES`] tries more. Other victims
    /// end once they get the CPU: at once where kernel code gives it up while it kills
    /// (`mem_cgroup_scan_tasks`), under lazy preemption at a tick, and with `hrtick` when the slice is
    /// over. Each try counts.
    ///
    /// Deviations: a try takes four times as long as the recorded 0.1 ms, so the second tick stands
    /// for the first; and a process that is no victim tries no more often than one that is.
    fn try_on(&mut self, tid: ThreadId, level: MemcgId, victim: AsId) {
        let own = self.work.threads[tid].space;
        let (rules, now) = (&self.mem.given.rules, self.mem.acting.now);
        let until = match () {
            () if victim == own && self.oom_group_of(victim, level).is_none() => SimTime::NEVER,
            () if !rules.lazy_preemption => return,
            () if rules.hrtick => now + self.sched.cpus[self.mem.acting.cpu].slice(),
            () => now + self.config.tick + self.config.tick,
        };
        for _ in 0..=MAX_RECLAIM_RETRIES {
            let fits = self.mem.memcgs.failing_level(level, 1).is_none();
            if fits || self.mem.acting.now >= until {
                break;
            }
            self.mem.memcgs.event(level, MemcgEvent::Max, 1);
            self.reclaim_group(tid, Reclaimer::Limit(level), 1, None);
        }
    }

    /// The highest group with `memory.oom.group` from a victim's up to the one that is out of memory.
    fn oom_group_of(&self, victim: AsId, top: MemcgId) -> Option<MemcgId> {
        let tree = &self.mem.memcgs.tree;
        let levels = tree.levels(self.mem.virt.spaces[victim].memcg);
        let within = levels.filter(|&m| tree.holds(top, m));
        within.filter(|&m| self.mem.memcgs[m].config.oom_group).last()
    }

    /// A group is above a limit that was just written: the process with the most points goes. False: no
    /// process may be killed.
    pub(in crate::machine) fn kill_for_limit(&mut self, memcg: MemcgId) -> bool {
        self.mem.memcgs.event(memcg, MemcgEvent::Oom, 1);
        self.kill_worst(Some(memcg), Shortage::Group).is_some()
    }

    /// Nothing is old enough for kswapd to take: the process with the most points goes. A thread amid a step
    /// may be one of its own, with a fault half done, so the end waits for the end of that step, as
    /// a victim in Linux dies on its own way out of the kernel.
    pub(in crate::machine) fn kill_for_working_set(&mut self) {
        if !self.step.amid {
            self.kill_worst(None, Shortage::WorkingSet);
        } else if self.step.doomed.is_none() {
            self.step.doomed = self.mark_victim(None, Shortage::WorkingSet);
        }
    }

    /// Ends the process that was chosen amid the step that is over now.
    pub(in crate::machine) fn kill_doomed(&mut self) {
        if let Some(victim) = self.step.doomed.take()
            && !self.mem.virt.spaces[victim].dead
        {
            self.kill_with_group(victim, None);
        }
    }

    /// Kills the process with the most points, of a group if one is named. `None`: no process may
    /// be killed.
    fn kill_worst(&mut self, memcg: Option<MemcgId>, shortage: Shortage) -> Option<AsId> {
        let victim = self.mark_victim(memcg, shortage)?;
        self.kill_with_group(victim, memcg);
        Some(victim)
    }

    /// Kills a victim, and all others of the highest group with `memory.oom.group` from the victim's
    /// up to the group that is out of memory.
    fn kill_with_group(&mut self, victim: AsId, memcg: Option<MemcgId>) {
        let (tree, spaces) = (&self.mem.memcgs.tree, &self.mem.virt.spaces);
        let group = self.oom_group_of(victim, memcg.unwrap_or(ROOT));
        let members = group.map_or_else(Vec::new, |group| {
            let dies = |&a: &AsId| {
                let s = &spaces[a];
                !s.dead && s.oom_score_adj != NEVER && tree.holds(group, s.memcg)
            };
            spaces.ids().filter(dies).collect()
        });
        if let Some(group) = group {
            self.mem.memcgs.event(group, MemcgEvent::OomGroupKill, 1);
        }
        for &member in &members {
            self.count_kill(member);
        }
        self.kill(victim);
        for member in members.into_iter().filter(|&a| a != victim) {
            self.note_kill(member);
            self.kill(member);
        }
    }

    /// Keeps a kill that is not the first.
    fn note_kill(&mut self, victim: AsId) {
        let (at, name) = (self.mem.acting.now, &self.mem.virt.spaces[victim].name);
        if let Some(oom) = &mut self.record.oom
            && oom.later.len() < OomSummary::MOST_LATER
        {
            oom.later.push((at, name.clone()));
        }
    }

    fn count_kill(&mut self, victim: AsId) {
        self.mem.count(VmEvent::OomKill, 1);
        self.mem.memcgs.event(self.mem.virt.spaces[victim].memcg, MemcgEvent::OomKill, 1);
    }

    /// Chooses the process with the most points, of a group if one is named, to be killed.
    fn mark_victim(&mut self, memcg: Option<MemcgId>, shortage: Shortage) -> Option<AsId> {
        let size = |m: &Self, a: AsId| {
            let s = &m.mem.virt.spaces[a];
            s.rss() + s.swapents + s.tables
        };
        let (total, below_one) =
            (self.oom_total_pages(memcg), self.mem.given.rules.badness_below_one);
        let tree = &self.mem.memcgs.tree;
        let last = self.mem.given.rules.oom_ties_last;
        let candidates = self.mem.virt.spaces.ids().filter_map(|a| {
            let s = &self.mem.virt.spaces[a];
            let eligible = !s.dead && memcg.is_none_or(|m| tree.holds(m, s.memcg));
            let points = || badness(size(self, a), s.oom_score_adj, total, below_one);
            // Groups are gone through in pre-order, the machine in order of creation.
            let place = memcg.map_or(0, |_| tree.place(s.memcg));
            let order = (i64::from(place), a.index() as i64);
            let order = if last { order } else { (-order.0, -order.1) };
            Some((eligible.then(points)??, order, a))
        });
        let victim = candidates.max()?.2;
        if self.record.oom.is_none() {
            self.record.oom = Some(self.oom_summary(victim, shortage));
        } else {
            self.note_kill(victim);
        }
        let pages = size(self, victim);
        self.mem.emit(|| TraceEvent::MarkVictim { process: victim, pages });
        self.count_kill(victim);
        Some(victim)
    }

    /// Pages that points are a thousandth of: of memory and swap, or those that a group may have.
    pub(in crate::machine) fn oom_total_pages(&self, memcg: Option<MemcgId>) -> u64 {
        let swap = self.mem.swap.as_ref().map_or(0, |s| u64::from(s.total()));
        let all = self.mem.zones.ids().map(|z| u64::from(self.mem.zones[z].managed)).sum::<u64>();
        match memcg.map(|m| &self.mem.memcgs[m].config) {
            // A group without a limit is as large as a counter of pages, and more than the machine.
            Some(c) => {
                c.max.map_or(all + swap, |max| max + c.swap_max.map_or(swap, |s| s.min(swap)))
            }
            None => all + swap,
        }
    }

    /// This moment, in which a process is killed for a shortage.
    pub(in crate::machine) fn oom_summary(&self, victim: AsId, shortage: Shortage) -> OomSummary {
        let mem = &self.mem;
        let spaces = &mem.virt.spaces;
        let process = |a: AsId| {
            let s = &spaces[a];
            OomProcess {
                pid: a.0.into(),
                name: s.name.clone(),
                total_vm: spaces.mapped_pages(a),
                rss: [s.rss_anon, s.rss_file, s.rss_shmem],
                swapped: s.swapents,
                tables: s.tables,
                oom_score_adj: s.oom_score_adj,
            }
        };
        let living = spaces.ids().filter(|&a| !spaces[a].dead);
        let mut processes: Vec<OomProcess> = living.map(process).collect();
        let size = |p: &OomProcess| p.resident() + p.swapped;
        processes.sort_by(|a, b| size(b).cmp(&size(a)).then(a.name.cmp(&b.name)));
        OomSummary {
            at: mem.acting.now,
            victim: mem.virt.spaces[victim].name.clone(),
            shortage,
            later: Vec::new(),
            processes,
            gauges: self.gauges(),
            free: mem.zones.nr_free(),
            cache: mem.cache.files.nr_cached,
            shmem: mem.cache.files.nr_shmem,
            kernel: mem.kernel.nr_page_tables
                + mem.kernel.slab()
                + mem.nr_zspages()
                + mem.kernel.nr_other,
            swap_free: mem.swap.as_ref().map_or(0, |s| s.nr_free().into()),
            swap_total: mem.swap.as_ref().map_or(0, |s| s.total().into()),
        }
    }
}

/// The points of a process of `pages` pages (`oom_badness`), on a machine or in a group of `total`
/// pages. `None`: it may not be killed.
pub(in crate::machine) fn badness(
    pages: u64,
    oom_score_adj: i16,
    total: u64,
    below_one: bool,
) -> Option<i64> {
    if oom_score_adj == NEVER {
        return None;
    }
    let points = pages as i64 + i64::from(oom_score_adj) * (total as i64 / 1000);
    Some(if below_one { points } else { points.max(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand with 100,999 pages in all: a unit of the adjustment is 100 pages.
    #[test]
    fn points_follow_the_adjustment() {
        let of = |adj, below_one| badness(5000, adj, 100_999, below_one);
        assert_eq!([0, 1, 1000].map(|adj| of(adj, true)), [5000, 5100, 105_000].map(Some));
        assert_eq!([-50, -51, -999].map(|adj| of(adj, true)), [0, -100, -94_900].map(Some));
        assert_eq!([-50, -51, -999].map(|adj| of(adj, false)), [Some(1); 3]);
        assert_eq!([true, false].map(|below_one| of(-1000, below_one)), [None; 2]);
    }
}
