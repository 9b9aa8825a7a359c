//! Random eviction: the base line of a policy that knows nothing about accesses.
//!
//! A policy can do worse: a cyclic scan over more pages than memory holds misses always under an LRU,
//! which evicts the page that is wanted next, while random eviction keeps some of them.
//!
//! A victim is a frame drawn uniformly from the node until one is met that holds a listed
//! folio; accessed bits are never asked. The draws come from a stream of their own.

use crate::shrink::{BatchStats, Judgement, ShrinkOutcome, Shrinking, shrink_folio};
use mmsim_core::base::id::{ListId, MemcgId, NodeId, Pfn};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FolioId, flag};
use mmsim_core::policy::{
    Arrival, Departure, Inspect, LruSnapshot, Move, PolicyTraits, ReclaimOutcome, ReclaimPolicy,
    ReclaimRequest, Reclaimer, SWAP_CLUSTER_MAX,
};

/// Draws that may miss in a row before a step takes the next best.
const TRIES: u64 = 4096;

/// Evicts at random.
pub struct Random {
    lists: Vec<ListId>,
    rng: Rng,
    /// Victims per step, as many as a batch of the kernel's.
    cluster: u64,
}

impl Random {
    /// The policy for a machine with the memory `mem`.
    pub fn new(mem: &mut Memory, seed: u64) -> Self {
        let lists = (0..mem.zones.nr_nodes()).map(|_| mem.lru.lists.create()).collect();
        let cluster = (SWAP_CLUSTER_MAX >> mem.given.batch_shift).max(1);
        Random { lists, rng: Rng::for_purpose(seed, "policy/random"), cluster }
    }

    /// A listed folio of the node, drawn uniformly.
    fn draw(&mut self, mem: &Memory, req: &ReclaimRequest) -> Option<FolioId> {
        let zones = mem.zones.of_node(req.node);
        let first = mem.zones[*zones.first()?].first.0;
        let end = mem.zones[*zones.last()?].end().0;
        let drawn = |_| Pfn(first + self.rng.below(u64::from(end - first)) as u32);
        let wanted = |&pfn: &Pfn| {
            let of_group = match req.by {
                Reclaimer::Limit(m) | Reclaimer::Proactive(m) => {
                    mem.memcgs.tree.holds(m, mem.frames.memcg(pfn))
                }
                _ => true,
            };
            let swappable =
                mem.frames.is_file_lru(pfn) || req.may_swap && mem.can_swap(mem.frames.memcg(pfn));
            mem.frames.has(pfn, flag::LRU)
                && !mem.frames.has(pfn, flag::UNEVICTABLE)
                && of_group
                && swappable
        };
        let mut last = Pfn(first);
        let found = (0..TRIES).map(drawn).inspect(|&pfn| last = pfn).find(wanted);
        // There are few, as of a small group on a large machine: the next one is as good.
        found.or_else(|| (last.0..end).chain(first..last.0).map(Pfn).find(wanted))
    }
}

impl ReclaimPolicy for Random {
    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, _how: Arrival) {
        mem.cull(folio);
        mem.lru_add_head(self.lists[mem.node_of(folio).0 as usize], folio);
    }

    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, _why: Departure) {
        mem.lru_del(folio);
    }

    fn folios_move(&mut self, mem: &mut Memory, folios: &[FolioId], why: Move) {
        for &folio in folios.iter().filter(|_| why == Move::FreedLazily) {
            mem.lru_del(folio);
            mem.make_lazyfree(folio);
            mem.lru_add_head(self.lists[mem.node_of(folio).0 as usize], folio);
        }
    }

    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        mem.lru_drain(self);
        let mut stats = BatchStats::default();
        let (by, may_writepage) = (req.by, req.may_writepage);
        let how = Shrinking {
            by,
            may_writepage,
            keep_marked: false,
            writes_files: true,
            keeps_ready: false,
        };
        for _ in 0..self.cluster {
            let Some(folio) = self.draw(mem, req) else { break };
            // Evicting at random reads no accessed bits: a huge folio is split at once.
            if mem.frames.order(folio) > 0 {
                self.folio_split(mem, folio);
                if !mem.frames.has(folio, flag::LRU) {
                    // Its first page was unmapped before.
                    continue;
                }
            }
            stats.pass.taken += 1;
            stats.pass.file_taken += u64::from(mem.frames.is_file_lru(folio));
            mem.isolate(folio, req);
            let outcome =
                shrink_folio(mem, folio, how, &mut stats, |_, _| Judgement::Reclaim, |_, _| None);
            if !matches!(outcome, ShrinkOutcome::Freed | ShrinkOutcome::Dropped) {
                mem.frames.clear(folio, flag::ACTIVE);
                mem.cull(folio);
                mem.lru_add_head(self.lists[req.node.0 as usize], folio);
            }
        }
        let (scanned, reclaimed, stats) = (stats.pass.taken, stats.reclaimed, stats.pass);
        let wakes_flusher = stats.only_unqueued_dirty();
        ReclaimOutcome { scanned, reclaimed, wakes_flusher, stats, ..ReclaimOutcome::default() }
    }
}

impl Inspect for Random {
    fn traits(&self) -> PolicyTraits {
        // There are no shadows to find a refault by, and no active list to take folios from.
        let keeps = |event: VmEvent| {
            !event.needs_shadows() && !matches!(event, VmEvent::PgDeactivate | VmEvent::PgRefill)
        };
        PolicyTraits { keeps, plain_departures: true, ..PolicyTraits::default() }
    }

    fn inactive(&self, mem: &Memory, node: NodeId) -> [u64; 2] {
        mem.node_lru_pages(node)
    }

    fn snapshot(&self, mem: &Memory, node: NodeId, memcg: MemcgId) -> LruSnapshot {
        let pages = mem.node_lru_pages(node);
        let _ = memcg;
        LruSnapshot {
            lists: vec![
                ("nr_inactive_anon".into(), pages[0]),
                ("nr_inactive_file".into(), pages[1]),
            ],
            ..LruSnapshot::default()
        }
    }
}
