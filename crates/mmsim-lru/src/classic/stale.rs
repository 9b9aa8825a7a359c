//! Statistics of groups as reclaim sees them: what the last flush left.
//!
//! A group's sizes and refaults with those of the groups below it are sums that Linux brings up to
//! date every two seconds. Between two flushes reclaim decides by old ones, since 7.3 by old costs of
//! reclaim as well. So it may touch active
//! lists in bursts: refaults since the last flush open none, and lists that were too short then
//! count as short until the next. What is scanned of a list follows from its exact size.
//!
//! Source: Linux 6.12 mm/memcontrol.c (`flush_memcg_stats_dwork`, `lruvec_page_state`), mm/vmscan.c
//! (`prepare_scan_control`). The kernel's work is deferrable: on an idle CPU it waits for the next
//! that is done there, and the next comes two seconds after it. Deviations: a flush is made when
//! something is read after it was due, and flushes beyond a threshold of updates are left out, which rate-limited readers hardly make.

use super::{Classic, LruScope, PerList};
use crate::index::{LruvecId, PerType};
use mmsim_core::base::id::{IndexVec, MemcgId};
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::memory::Memory;

/// Time between two flushes (`FLUSH_TIME`).
const FLUSH_TIME: SimDuration = SimDuration::from_secs(2);

/// Sums of all groups as of the last flush.
#[derive(Clone, Debug)]
pub(super) struct Stale {
    sums: IndexVec<LruvecId, Sums>,
    next: SimTime,
}

/// Sums of one lruvec with those below it.
#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    sizes: PerList,
    activations: PerType<u64>,
}

impl Stale {
    /// Nothing was counted yet.
    pub(super) fn new(lruvecs: usize) -> Stale {
        Stale { sums: IndexVec::filled(lruvecs, Sums::default()), next: SimTime(FLUSH_TIME.0) }
    }
}

impl Classic {
    /// Brings the statistics up to date if that is due.
    #[inline]
    pub(super) fn flush_stats(&mut self, mem: &Memory) {
        if self.stale.as_ref().is_some_and(|s| mem.acting.now >= s.next) {
            self.flush_all(mem);
        }
    }

    /// Brings the statistics of all groups but the root up to date.
    pub(super) fn flush_groups(&mut self, mem: &Memory) {
        if let Some(mut stale) = self.stale.take() {
            self.flush_to(mem, &mut stale, false);
            self.stale = Some(stale);
        }
    }

    fn flush_to(&mut self, mem: &Memory, stale: &mut Stale, with_root: bool) {
        for (lv, sums) in self.lruvecs.ids().zip(stale.sums.iter_mut()) {
            let (scope, memcg) = (self.scope_of_lruvec(lv), self.ids.memcg(lv));
            if with_root || memcg != MemcgId(0) {
                sums.sizes = self.sizes(mem, scope, memcg);
                sums.activations = self.lruvecs[lv].activations;
                self.lruvecs[lv].cost.show();
            }
        }
    }

    #[cold]
    fn flush_all(&mut self, mem: &Memory) {
        let Some(mut stale) = self.stale.take() else { return };
        self.flush_to(mem, &mut stale, true);
        stale.next = mem.acting.now + FLUSH_TIME;
        self.stale = Some(stale);
    }

    /// Sizes of the lists of a group with those below it, as reclaim sees them.
    #[inline(always)]
    pub(super) fn seen_sizes(&self, mem: &Memory, scope: LruScope, memcg: MemcgId) -> PerList {
        match &self.stale {
            None => self.sizes(mem, scope, memcg),
            Some(stale) => stale.sums[self.lruvec_at(scope, memcg)].sizes,
        }
    }

    /// Activated refaults of a group with those below it, as reclaim sees them.
    #[inline]
    pub(super) fn seen_activations(&self, lv: LruvecId) -> PerType<u64> {
        match &self.stale {
            None => self.lruvecs[lv].activations,
            Some(stale) => stale.sums[lv].activations,
        }
    }
}
