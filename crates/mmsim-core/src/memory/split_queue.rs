//! Huge folios that are mapped in part: they wait in a queue until reclaim splits them.
//!
//! A program that gives a part of a huge page back gets nothing for it at first. The page table entry
//! for the whole becomes 512 PTEs, some of which are dropped, and the folio stays as it is: on its
//! list with the weight of 512 pages, charged to its group, and none of its frames is free. It is
//! noted in a queue of its group. A shrinker goes through the queue in the course of reclaim: it
//! splits each folio, puts the pages that are mapped on the list in its place, and frees the others.
//! Reclaim that meets such a folio on its list splits it as well. Without any reclaim, the frames are
//! free when the last page is unmapped.
//!
//! A folio is mapped in parts if the group of its page does not say `huge`. The PTEs of parts name
//! the first frame (`virt/pages`, `Group::parts`), and the reverse map names the first part.
//!
//! Source: Linux 6.1 and 6.12 mm/rmap.c (`__folio_remove_rmap`), mm/huge_memory.c
//! (`deferred_split_folio`, `deferred_split_scan`); one queue for each memory cgroup since 5.4. Left
//! out, until folios of other orders exist: queues of huge pages that are whole but hold zeroes
//! (6.12), which the default of `max_ptes_none` switches off; a queue for each node (7.2). Reclaim of
//! several groups asks their shrinkers after all of them were scanned, and not each after its own scan.

use super::shrinker::Shrinking;
use super::{HUGE_ORDER, Memory, Within};
use crate::base::id::{GROUP_PAGES, GroupId, IndexVec, MemcgId, PageIdx};
use crate::base::vmstat::VmEvent;
use crate::phys::frames::{FolioId, flag};
use crate::policy::request::ReclaimRequest;
use crate::policy::{Departure, ReclaimPolicy};
use std::collections::BTreeMap;

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

    pub(super) fn remove(&mut self, folio: FolioId) {
        if let Some((memcg, place)) = self.places.remove(&folio) {
            self.queues[memcg].folios.remove(&place);
        }
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
            Some(g) => g.parts.into(),
            None => 0,
        }
    }

    /// Maps a huge folio by PTEs, since a part of it is to be unmapped, and queues it.
    pub(super) fn map_parts(&mut self, g: GroupId) {
        let head = self.huge_at(g.first()).unwrap_or_else(|| panic!("{g} maps no huge folio"));
        self.virt.pages.map_parts(g);
        self.count(VmEvent::ThpDeferredSplitPage, 1);
        self.lru.split_queues.push(self.frames.memcg(head), head);
    }

    /// Drops a page that maps a part of a huge folio. With the last all of the block is free.
    pub(super) fn zap_part(
        &mut self,
        policy: &mut dyn ReclaimPolicy,
        page: PageIdx,
        head: FolioId,
    ) {
        self.acting.now += self.given.cost.t_free_page;
        let space = self.space_of(page);
        self.virt.spaces[space].rss_anon -= 1;
        self.virt.spaces.anon_mapped -= 1;
        let left = self.virt.pages.drop_part(page);
        let first = PageIdx(self.frames.rmap[head]);
        if left == 0 {
            self.virt.rmap.remove(&mut self.frames, head, first, None);
            self.free_huge(policy, head);
        } else if page == first {
            let next = self.virt.pages.parts(page.group(), head).next();
            self.frames.rmap[head] = next.expect("parts are left").0;
        }
    }

    /// Frees a huge folio that is mapped no longer.
    pub(super) fn free_huge(&mut self, policy: &mut dyn ReclaimPolicy, head: FolioId) {
        self.lru.split_queues.remove(head);
        self.leave_batch(head);
        if self.frames.has(head, flag::LRU) {
            policy.folio_departed(self, head, Departure::Freed);
        }
        self.memcgs.uncharge(self.frames.memcg(head), GROUP_PAGES.into());
        self.free_block(head, HUGE_ORDER);
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
