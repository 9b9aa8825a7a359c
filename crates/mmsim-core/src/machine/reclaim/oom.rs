//! The OOM killer: who is killed when there is no memory left, and what is kept of that moment.
//!
//! Source: Linux 6.12 mm/oom_kill.c (`select_bad_process`, `oom_kill_process`).

use super::alloc::{AllocOutcome, TICK};
use crate::base::id::{AsId, MemcgId, ThreadId};
use crate::base::vmstat::VmEvent;
use crate::machine::{Machine, OomSummary};
use crate::memory::trace::TraceEvent;

impl Machine {
    /// The OOM killer: the largest process goes. While a victim has yet to go, no other is chosen.
    pub(in crate::machine) fn out_of_memory(
        &mut self,
        tid: ThreadId,
        memcg: Option<MemcgId>,
    ) -> AllocOutcome {
        let spaces = &self.mem.spaces;
        let doomed = self.doomed.filter(|&a| memcg.is_none_or(|m| spaces[a].memcg == m));
        let Some(victim) = doomed.or_else(|| self.kill_largest(memcg)) else {
            panic!("out of memory with nobody to kill, asked for by {tid}");
        };
        if self.threads[tid].space == victim {
            AllocOutcome::Killed
        } else {
            self.sleep(tid, TICK, true);
            AllocOutcome::Blocked
        }
    }

    /// Nothing is old enough for kswapd to take: the largest process goes. A thread amid a step
    /// may be one of its own, with a fault half done, so the end waits for the end of that step, as
    /// a victim in Linux dies on its own way out of the kernel.
    pub(in crate::machine) fn kill_for_working_set(&mut self) {
        if !self.amid_step {
            self.kill_largest(None);
        } else if self.doomed.is_none() {
            self.doomed = self.mark_victim(None);
        }
    }

    /// Ends the process that was chosen amid the step that is over now.
    pub(in crate::machine) fn kill_doomed(&mut self) {
        if let Some(victim) = self.doomed.take()
            && !self.mem.spaces[victim].dead
        {
            self.kill(victim);
        }
    }

    /// Kills the largest process, of a group if one is named. `None`: there is none.
    fn kill_largest(&mut self, memcg: Option<MemcgId>) -> Option<AsId> {
        let victim = self.mark_victim(memcg)?;
        self.kill(victim);
        Some(victim)
    }

    /// Chooses the largest process, of a group if one is named, to be killed.
    fn mark_victim(&mut self, memcg: Option<MemcgId>) -> Option<AsId> {
        let size = |m: &Self, a: AsId| {
            let s = &m.mem.spaces[a];
            s.rss_anon + s.rss_file + s.swapents + s.tables
        };
        let candidates = self.mem.spaces.ids().filter(|&a| {
            let s = &self.mem.spaces[a];
            !s.dead && memcg.is_none_or(|m| s.memcg == m)
        });
        let victim = candidates.max_by_key(|&a| (size(self, a), std::cmp::Reverse(a)))?;
        if self.oom.is_none() {
            self.oom = Some(self.oom_summary());
        }
        let pages = size(self, victim);
        self.mem.emit(|| TraceEvent::MarkVictim { process: victim, pages });
        self.mem.count(VmEvent::OomKill, 1);
        Some(victim)
    }

    pub(in crate::machine) fn oom_summary(&self) -> OomSummary {
        let mem = &self.mem;
        let mut processes: Vec<(String, u64, u64)> = mem
            .spaces
            .ids()
            .filter(|&a| !mem.spaces[a].dead)
            .map(|a| {
                let s = &mem.spaces[a];
                (s.name.clone(), s.rss_anon + s.rss_file, s.swapents)
            })
            .collect();
        processes.sort_by(|a, b| (b.1 + b.2).cmp(&(a.1 + a.2)).then(a.0.cmp(&b.0)));
        OomSummary {
            at: mem.now,
            processes,
            free: mem.zones.nr_free(),
            cache: mem.files.nr_cached,
            kernel: mem.nr_page_tables
                + mem.slab_frames.len() as u64
                + mem.zram_frames.len() as u64
                + mem.nr_kernel_other,
            swap_free: mem.swap.as_ref().map_or(0, |s| s.nr_free().into()),
            swap_total: mem.swap.as_ref().map_or(0, |s| s.total().into()),
        }
    }
}
