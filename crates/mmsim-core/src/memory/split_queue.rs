//! Large folios that are mapped in part: they wait in a queue until reclaim splits them.
//!
//! A program that gives a part of a large folio back gets nothing for it at first. The entry for a
//! whole huge page becomes 512 PTEs, some PTEs are dropped, and the folio stays as it is: on its
//! list with the weight of all its pages, charged to its group, and none of its frames is free. It is
//! noted in a queue of its group. A shrinker goes through the queue in the course of reclaim: it
//! splits each folio, puts the pages that are mapped on the list in its place, and frees the others.
//! Reclaim that meets such a folio on its list splits it as well. Without any reclaim, the frames are
//! free when the last page is unmapped.
//!
//! Source: Linux 6.1 and 6.12 mm/rmap.c (`__folio_remove_rmap`), mm/huge_memory.c
//! (`deferred_split_folio`, `deferred_split_scan`); one queue for each memory cgroup since 5.4. Left
//! out: huge pages that are whole but hold zeroes (6.12), which the default of `max_ptes_none` switches
//! off; a queue for each node (7.2). Reclaim of
//! several groups asks their shrinkers after all of them were scanned, and not each after its own scan.

use super::shrinker::Shrinking;
use super::{HUGE_ORDER, Memory, SizeEvent, Within};
use crate::base::id::{GROUP_PAGES, IndexVec, MemcgId, PageIdx};
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::phys::frames::{FolioId, flag};
use crate::policy::request::ReclaimRequest;
use crate::policy::{Departure, ReclaimPolicy};
use std::collections::BTreeMap;
use std::ops::Range;

/// Seeks of the shrinker (`DEFAULT_SEEKS`).
const SEEKS: u64 = 2;

/// The queue of a group.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// Its folios, oldest first.
    folios: BTreeMap<u64, FolioId>,
    /// Folios that its shrinker left for another time.
    deferred: u64,
}

/// The queues of all groups.
#[derive(Clone, Debug)]
pub(super) struct SplitQueues {
    queues: IndexVec<MemcgId, Queue>,
    /// The place of each folio that is queued, and its group.
    places: BTreeMap<FolioId, (MemcgId, u64)>,
    next: u64,
}

impl SplitQueues {
    pub(super) fn new(groups: usize) -> Self {
        let queues = IndexVec::filled(groups, Queue::default());
        SplitQueues { queues, places: BTreeMap::new(), next: 0 }
    }

    fn push(&mut self, memcg: MemcgId, folio: FolioId) {
        let before = self.places.insert(folio, (memcg, self.next));
        assert!(before.is_none(), "{folio} is queued already");
        self.queues[memcg].folios.insert(self.next, folio);
        self.next += 1;
    }

    fn remove(&mut self, folio: FolioId) -> bool {
        let Some((memcg, place)) = self.places.remove(&folio) else { return false };
        self.queues[memcg].folios.remove(&place);
        true
    }

    /// Folios in all queues.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// True if a folio is in the queue of a group.
    pub(super) fn has(&self, memcg: MemcgId, folio: FolioId) -> bool {
        self.places.get(&folio).is_some_and(|p| p.0 == memcg)
    }

    /// All places, for digests.
    pub(super) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.places.iter().flat_map(|(f, p)| [f.0.into(), p.1])
    }
}

impl Memory {
    /// Pages of a folio that are mapped.
    pub fn pages_mapped(&self, folio: FolioId) -> u64 {
        if self.frames.order(folio) == 0 {
            return u64::from(self.mapcount(folio) > 0);
        }
        match self.page_of(folio).map(|p| self.virt.pages.group(p.group())) {
            Some(g) if g.huge => GROUP_PAGES.into(),
            Some(_) => self.virt.pages.parts(self.span_of(folio), folio).count() as u64,
            None => 0,
        }
    }

    /// Drops the pages of a range, up to the first that does not map a part of the large folio that
    /// its first page maps. With the last part all of the block is free, and until then the folio waits
    /// to be split. Returns the end.
    pub(super) fn zap_parts(
        &mut self,
        policy: &mut dyn ReclaimPolicy,
        pages: Range<u32>,
        head: FolioId,
    ) -> u32 {
        let span = self.span_of(head);
        let is_part = |&p: &u32| self.large_at(PageIdx(p)) == Some(head);
        let n = (pages.start..pages.end.min(span.end)).take_while(is_part).count() as u32;
        let end = pages.start + n;
        self.acting.now += SimDuration(self.given.cost.t_free_page.0 * u64::from(n));
        let space = self.space_of(PageIdx(pages.start));
        self.virt.spaces[space].rss_anon -= u64::from(n);
        self.virt.spaces.anon_mapped -= u64::from(n);
        (pages.start..end).for_each(|p| self.virt.pages.drop_part(PageIdx(p)));
        let first = PageIdx(self.frames.rmap[head]);
        let next = self.virt.pages.parts(span, head).next();
        match next {
            None => {
                self.virt.rmap.remove(&mut self.frames, head, first, None);
                self.free_large(policy, head);
            }
            Some(next) => {
                self.frames.rmap[head] = next.0;
                self.defer_split(head);
            }
        }
        end
    }

    /// Queues a folio that is mapped in part (`deferred_split_folio`).
    fn defer_split(&mut self, head: FolioId) {
        let memcg = self.frames.memcg(head);
        if self.lru.split_queues.has(memcg, head) {
            return;
        }
        let order = self.frames.order(head);
        if order == HUGE_ORDER {
            self.count(VmEvent::ThpDeferredSplitPage, 1);
        }
        self.count_size(order, SizeEvent::SplitDeferred, 1);
        self.count_size(order, SizeEvent::NrAnonPartiallyMapped, 1);
        self.lru.split_queues.push(memcg, head);
    }

    /// Takes a folio that is freed or split off its queue.
    pub(super) fn leave_split_queue(&mut self, head: FolioId) {
        if self.lru.split_queues.remove(head) {
            let order = self.frames.order(head);
            self.count_size(order, SizeEvent::NrAnonPartiallyMapped, -1);
        }
    }

    /// Frees a large folio that is mapped no longer.
    pub(super) fn free_large(&mut self, policy: &mut dyn ReclaimPolicy, head: FolioId) {
        let order = self.frames.order(head);
        self.leave_split_queue(head);
        self.leave_batch(head);
        if self.frames.has(head, flag::LRU) {
            policy.folio_departed(self, head, Departure::Freed);
        }
        self.count_size(order, SizeEvent::NrAnon, -1);
        self.memcgs.uncharge(self.frames.memcg(head), 1 << order);
        self.free_block(head, order);
    }

    /// A pass of reclaim has gone over the lists, and asks the shrinkers of the queues of the groups
    /// that it is about.
    #[inline]
    pub(crate) fn shrink_split_queues(
        &mut self,
        policy: &mut dyn ReclaimPolicy,
        req: &ReclaimRequest,
    ) {
        if self.lru.split_queues.len() == 0 {
            return;
        }
        let top = req.by.memcg().unwrap_or(MemcgId(0));
        let queues = &self.lru.split_queues.queues;
        let waiting = |&m: &MemcgId| !queues[m].folios.is_empty();
        let groups: Vec<_> = self.memcgs.tree.walk(top).filter(waiting).collect();
        for memcg in groups {
            self.shrink_split_queue(policy, req, memcg);
        }
    }

    fn shrink_split_queue(
        &mut self,
        policy: &mut dyn ReclaimPolicy,
        req: &ReclaimRequest,
        memcg: MemcgId,
    ) {
        let queue = &self.lru.split_queues.queues[memcg];
        let (freeable, deferred) = (queue.folios.len() as u64, queue.deferred);
        let spared = match self.protection_from(req, memcg) {
            Some(Within::Min) => true,
            Some(Within::Low) => !req.low_reclaim,
            None => false,
        };
        if spared {
            return;
        }
        let asked = Shrinking { freeable, deferred, seeks: SEEKS };
        let (scanned, deferred) = asked.at(req.priority, self.given.rules.shrinker_by_priority);
        self.lru.split_queues.queues[memcg].deferred = deferred;
        self.count(VmEvent::SlabsScanned, scanned);
        for folio in self.oldest_queued(memcg, scanned) {
            // One that another user has taken off its list stays queued.
            if self.frames.has(folio, flag::LRU | flag::IN_BATCH) {
                let page = self.page_of(folio).expect("a queued folio is mapped");
                self.split_at(policy, page);
            }
        }
    }

    fn oldest_queued(&self, memcg: MemcgId, n: u64) -> Vec<FolioId> {
        self.lru.split_queues.queues[memcg].folios.values().copied().take(n as usize).collect()
    }
}
