//! Groups that are created and removed amid a run.
//!
//! A group that is to be removed stays while a process lives in it, has yet to start in it, or a group
//! is in it: `rmdir` fails then, and whoever manages the groups tries again when that is over.

use super::Machine;
use super::cpu::queue::Event;
use crate::base::id::{AsId, MemcgId};
use crate::base::rules::MemcgOffline;
use crate::base::time::SimTime;
use crate::memory::Life;
use crate::memory::memcg_tree::ROOT;

impl Machine {
    /// Queues the creation and the removal of groups that do not last.
    pub(super) fn queue_groups(&mut self) {
        for m in self.mem.memcgs.ids().skip(1) {
            let (from, until) = (self.mem.memcgs[m].config.from, self.mem.memcgs[m].config.until);
            let times = (from.0 > 0).then_some(from).into_iter().chain(until);
            times.for_each(|at| self.events.queue.push(SimTime(at.0), Event::Memcg(m)));
        }
    }

    /// A group is to be created, or removed if it can be.
    pub(super) fn memcg_is_due(&mut self, m: MemcgId) {
        if self.mem.memcgs[m].life == Life::Awaited {
            self.mem.memcgs.create(m);
            self.policies.lru.memcg_online(&mut self.mem, m);
            return;
        }
        let mut at = m;
        while at != ROOT && self.is_removable(at) {
            self.remove_memcg(at);
            at = self.mem.memcgs.tree.parent(at).unwrap_or(ROOT);
        }
    }

    /// True if a group is to be removed by now, and no process and no group is in it.
    fn is_removable(&self, m: MemcgId) -> bool {
        let (memcgs, spaces) = (&self.mem.memcgs, &self.mem.virt.spaces);
        let due = memcgs[m].config.until.is_some_and(|t| t.0 <= self.mem.acting.now.0);
        due && memcgs.is_online(m)
            && memcgs.is_bare(m)
            && spaces.members(m).iter().all(|&a| spaces[a].dead)
    }

    fn remove_memcg(&mut self, m: MemcgId) {
        let parent = self.mem.memcgs.tree.parent(m).unwrap_or(ROOT);
        let reparents = self.mem.given.rules.memcg_offline == MemcgOffline::Reparent;
        self.mem.memcgs.remove(m, self.mem.acting.now);
        self.policies.lru.memcg_offline(&mut self.mem, m, reparents.then_some(parent));
    }

    /// A process of a group that is there now is charged what the kernel needs for it.
    pub(super) fn charge_process(&mut self, process: AsId) {
        let (s, cpu) = (&mut self.mem.virt.spaces[process], self.mem.acting.cpu);
        if self.mem.memcgs.is_online(s.memcg) && !std::mem::replace(&mut s.charged, true) {
            self.mem.memcgs.process_begins(cpu, s.memcg);
        }
    }

    /// A process ended. Its group may have waited for that.
    pub(super) fn process_left(&mut self, process: AsId) {
        let (s, cpu) = (&mut self.mem.virt.spaces[process], self.mem.acting.cpu);
        let memcg = s.memcg;
        if std::mem::take(&mut s.charged) {
            self.mem.memcgs.process_ends(cpu, memcg);
        }
        if self.mem.memcgs[memcg].config.until.is_some() {
            self.events.queue.push(self.mem.acting.now, Event::Memcg(memcg));
        }
    }
}
