//! Writes to the files of `lru_gen`: generations by hand, the time to live, and switching to and from
//! an LRU of generations while the machine runs.
//!
//! A machine that can switch has two policies. One is in use. Switching hands all listed folios over
//! to the other, list by list from the tail, so that each list keeps its order. Active folios stay
//! active; the policy that takes over decides where such begin. The policy that is set aside keeps
//! what else it knows, as `struct lru_gen_folio` does.
//!
//! Source: Linux 6.12 mm/vmscan.c (`enabled_store`, `lru_gen_change_state`, `fill_evictable`,
//! `drain_evictable`, `lru_gen_seq_write`, `run_cmd`). Deviations: pages that wait in LRU batches
//! reach their list before the switch, not after it. Shadows are dropped, so that what was evicted
//! before a switch comes back as if it had never been in memory; Linux reads a count of evictions as
//! a generation or the reverse, which makes such refaults recent or not by chance.

use crate::base::id::{MemcgId, NodeId, ThreadId};
use crate::base::vmstat::VmEvent;
use crate::machine::Machine;
use crate::phys::frames::FolioId;
use crate::policy::{Arrival, ArrivalKind, Departure, LruGenWritten, ReclaimPolicy};
use crate::workload::LruGen;

/// Bit 0 of `enabled` (`LRU_GEN_CORE`).
const CORE: u8 = 1;

/// A policy that is not in use.
pub(in crate::machine) struct OtherLru {
    policy: Box<dyn ReclaimPolicy>,
    /// It is the one of generations.
    generations: bool,
}

impl Machine {
    /// Gives the machine a second policy, for when `lru_gen` is switched. `generations`: it is the one
    /// that is in use while `lru_gen` is on. It gets the memory to create its lists in.
    pub fn set_other_lru(
        &mut self,
        generations: bool,
        make: impl FnOnce(&mut crate::memory::Memory) -> Box<dyn ReclaimPolicy>,
    ) {
        let policy = make(&mut self.mem);
        self.policies.other_lru = Some(OtherLru { policy, generations });
    }

    /// A thread writes to a file of `lru_gen`.
    pub(in crate::machine) fn write_lru_gen(&mut self, tid: ThreadId, write: LruGen) {
        self.mem.acting.now += self.mem.given.cost.t_syscall;
        let refused = match write {
            LruGen::Enabled(caps) => {
                let switched = self.switch_lru(caps & CORE != 0);
                // The other bits are kept while the generations are off.
                !(switched && self.write_setting(write))
            }
            LruGen::MinTtl(_) => !self.write_setting(write),
            LruGen::Age { .. } | LruGen::Evict { .. } => !self.run_command(tid, write),
        };
        self.mem.count(VmEvent::SimLruGenWrites, 1);
        self.mem.count(VmEvent::SimLruGenRefused, refused.into());
    }

    /// Writes a setting to the policy of generations, be it in use or not. False: there is none.
    fn write_setting(&mut self, write: LruGen) -> bool {
        let other = self.policies.other_lru.as_mut().map(|o| &mut o.policy);
        let mut policies = [Some(&mut self.policies.lru), other].into_iter().flatten();
        policies.any(|p| p.write_lru_gen(&mut self.mem, write) != LruGenWritten::Refused)
    }

    /// Carries out a command of debugfs. False: it is refused.
    fn run_command(&mut self, tid: ThreadId, mut command: LruGen) -> bool {
        let (LruGen::Age { memcg, node, .. } | LruGen::Evict { memcg, node, .. }) = command else {
            unreachable!("{command:?} is no command")
        };
        if node.0 as usize >= self.mem.zones.nr_nodes() {
            return false;
        }
        let Some(youngest) = self.youngest(node, memcg) else { return false };
        match &mut command {
            LruGen::Age { max_gen, .. } => *max_gen = max_gen.or(Some(youngest)),
            LruGen::Evict { min_gen, .. } => *min_gen = min_gen.or(youngest.checked_sub(2)),
            LruGen::MinTtl(_) | LruGen::Enabled(_) => {}
        }
        loop {
            self.mem.start_plug(&mut self.step.plug);
            let written = self.policies.lru.write_lru_gen(&mut self.mem, command);
            self.mem.end_step();
            self.mem.end_plug(&mut self.step.plug);
            if !matches!(written, LruGenWritten::Evicted(_)) {
                self.mem.finish_plug(&mut self.step.plug);
            }
            self.mem.finish_throttled(&mut self.step.plug);
            self.interrupts();
            match self.mem.take_throttled() {
                Some(until) => self.sleep_amid_step(tid, until),
                None => self.give_way(tid),
            }
            let LruGenWritten::Evicted(n) = written else {
                return written == LruGenWritten::Done;
            };
            if let LruGen::Evict { pages: Some(left), .. } = &mut command {
                *left = left.saturating_sub(u32::try_from(n).unwrap_or(u32::MAX));
            }
        }
    }

    /// The youngest generation of a group on a node; none if the policy in use has no generations.
    fn youngest(&self, node: NodeId, memcg: MemcgId) -> Option<u32> {
        let snapshot = self.policies.lru.snapshot(&self.mem, node, memcg);
        let max_seq = snapshot.values.iter().find(|v| v.0 == "max_seq")?.1;
        Some(u32::try_from(max_seq).unwrap_or(u32::MAX))
    }

    /// Switches to the LRU of generations, or from it. False: there is nothing to switch to.
    fn switch_lru(&mut self, on: bool) -> bool {
        let Some(other) = &mut self.policies.other_lru else { return false };
        if other.generations != on {
            return true;
        }
        self.mem.lru_drain_all(&mut *self.policies.lru);
        other.generations = !on;
        std::mem::swap(&mut self.policies.lru, &mut other.policy);
        let old = &mut other.policy;
        let lists = self.mem.lru.lists.ids();
        let folios: Vec<FolioId> =
            lists.flat_map(|l| self.mem.lru.lists.iter_from_tail(l)).collect();
        let how = Arrival { kind: ArrivalKind::PutBack, in_fault: None, position: 0 };
        for folio in folios {
            old.folio_departed(&mut self.mem, folio, Departure::Isolated);
            self.policies.lru.folio_arrived(&mut self.mem, folio, how);
            self.mem.acting.now += self.mem.given.cost.t_rotate;
        }
        old.set_aside();
        self.mem.forget_shadows();
        true
    }
}
