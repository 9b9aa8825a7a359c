//! A policy that asks a function which folios to keep.
//!
//! Each group has two lists on each node, of anonymous and of file folios, in the order in which
//! they came or were looked at. Reclaim takes up to 32 folios off the tail of each list. It looks at
//! their accessed bits and asks the function for their scores. Those with the lowest scores are
//! evicted, of equal scores the one that is nearer to its tail: as many as have a score below 0, but
//! one in [`LEAST`] of the batch at least, and one in [`MOST`] at most. The others go to the heads.
//! So a function decides who stays and how many, and cannot decide that all stay.
//!
//! A folio whose write has ended goes unasked, unless it was used meanwhile: that it was to go had
//! been decided before its write began.
//!
//! Left out: `memory.min` and `memory.low`; what was known of a folio that compaction moved; the time
//! of a call.

use std::sync::Arc;

use mmsim::backing::Shadow;
use mmsim::base::digest::Digest;
use mmsim::base::id::{ListId, MemcgId, NodeId, Pfn};
use mmsim::base::vmstat::VmEvent;
use mmsim::evaluate::Meter;
use mmsim::memory::{Memory, Run, Scan, ScanFor};
use mmsim::phys::frames::{FolioId, flag};
use mmsim::policy::{
    Arrival, ArrivalKind, Departure, Inspect, LruSnapshot, Move, PolicyTraits, ReclaimOutcome,
    ReclaimPolicy, ReclaimRequest, Reclaimer, SWAP_CLUSTER_MAX,
};
use mmsim_lru::shrink::{
    BatchStats, Judgement, ShrinkOutcome, Shrinking, shadow_nodes_allowed, shrink_folio,
};

use crate::facts::Facts;

/// Divisor for the least part of a batch that is evicted, whatever the scores are.
const LEAST: usize = 16;
/// Divisor for the largest part.
const MOST: usize = 2;

/// Why a function has no score.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Stopped(pub String);

/// Says how much a folio is worth keeping.
pub trait Score: Send {
    /// Its score: the lowest of a batch are evicted, those below 0 for sure up to a half of it.
    ///
    /// # Errors
    ///
    /// Why there is none: the run ends.
    fn score(&mut self, facts: &Facts) -> Result<i64, Stopped>;

    /// Fuel that the last call used.
    fn fuel(&self) -> u64 {
        0
    }
}

/// State of a folio besides its flags.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Evictions when it came or was last found used.
    last: u64,
    /// -1 where it is not known.
    distance: i64,
    seen: u32,
    looks: u32,
    /// It was to go, and its write has ended.
    written: bool,
}

/// The policy.
#[derive(Debug)]
pub struct Scored<S> {
    score: S,
    meter: Arc<Meter>,
    /// Anonymous and file folios of each group on each node.
    lists: Vec<[ListId; 2]>,
    nr_memcgs: usize,
    states: Vec<State>,
    evictions: u64,
    /// Part of that which a shadow can hold.
    mask: u64,
    calls: u64,
    /// Folios of the batch, with what each is worth.
    batch: Vec<(i64, FolioId, Judgement)>,
}

impl<S: Score> Scored<S> {
    /// The policy on a machine's memory. What it costs it tells the meter.
    pub fn new(mem: &mut Memory, score: S, meter: Arc<Meter>) -> Self {
        let nr_memcgs = mem.memcgs.len();
        let nr = mem.zones.nr_nodes() * nr_memcgs;
        Scored {
            score,
            meter,
            lists: (0..nr).map(|_| [(); 2].map(|()| mem.lru.lists.create())).collect(),
            nr_memcgs,
            states: Vec::new(),
            evictions: 0,
            mask: u64::MAX >> (64 - mem.shadow_bits()),
            calls: 0,
            batch: Vec::new(),
        }
    }

    fn lists_of(&self, node: NodeId, memcg: MemcgId) -> [ListId; 2] {
        self.lists[usize::from(node.0) * self.nr_memcgs + usize::from(memcg.0)]
    }

    /// State of a folio. Memory of the host is taken as frames are used.
    fn state(&mut self, folio: FolioId) -> &mut State {
        let at = folio.0 as usize;
        if at >= self.states.len() {
            self.states.resize((at + 1).next_multiple_of(512), State::default());
        }
        &mut self.states[at]
    }

    fn list_of(&self, mem: &Memory, folio: FolioId) -> ListId {
        let lists = self.lists_of(mem.node_of(folio), mem.frames.memcg(folio));
        lists[usize::from(mem.frames.is_file_lru(folio))]
    }

    fn to_head(&self, mem: &mut Memory, folio: FolioId) {
        mem.frames.clear(folio, flag::ACTIVE);
        mem.cull(folio);
        mem.lru_add_head(self.list_of(mem, folio), folio);
    }

    fn to_tail(&self, mem: &mut Memory, folio: FolioId) {
        mem.lru_del(folio);
        mem.lru_add_tail(self.list_of(mem, folio), folio);
    }

    /// The lists that a request is about, by group and type.
    fn sources(&self, mem: &Memory, req: &ReclaimRequest) -> Vec<(MemcgId, usize)> {
        let mut all = Vec::new();
        for memcg in mem.memcgs.tree.walk(req.by.memcg().unwrap_or(MemcgId(0))) {
            let anon = req.may_swap && mem.can_swap(memcg);
            for (file, list) in self.lists_of(req.node, memcg).into_iter().enumerate() {
                if mem.lru.lists.len(list) > 0 && (file == 1 || anon) {
                    all.push((memcg, file));
                }
            }
        }
        all
    }

    /// Takes a batch, scores it and evicts a part of it. Pages that were looked at.
    fn round(&mut self, mem: &mut Memory, req: &ReclaimRequest, stats: &mut BatchStats) -> u64 {
        self.batch.clear();
        let mut taken = 0;
        let mut run = Run::default();
        for (memcg, file) in self.sources(mem, req) {
            let scan = Scan { req, memcg, file: file == 1, to: ScanFor::Eviction, lru: "scored" };
            run.clear();
            let list = self.lists_of(req.node, memcg)[file];
            let nr = mem.isolate_batch(&scan, list, SWAP_CLUSTER_MAX, None, &mut run);
            taken += nr;
            stats.pass.taken += nr;
            stats.pass.file_taken += if file == 1 { nr } else { 0 };
            for folio in run.folios(run.all()) {
                let worth = self.look(mem, req, folio);
                self.batch.push(worth);
            }
        }
        // Sorting is stable, and of each list the tail came first.
        let mut order: Vec<usize> = (0..self.batch.len()).collect();
        order.sort_by_key(|&i| self.batch[i].0);
        let mut stays = vec![true; order.len()];
        let nr = self.batch.iter().filter(|b| b.0 < 0).count();
        let most = nr.clamp(order.len().div_ceil(LEAST), order.len().div_ceil(MOST));
        for &i in &order[..most] {
            stays[i] = false;
        }
        for (i, stays) in stays.into_iter().enumerate() {
            let (_, folio, judgement) = self.batch[i];
            match stays && judgement != Judgement::Locked {
                true => self.to_head(mem, folio),
                false => self.evict(mem, req, folio, judgement, stats),
            }
        }
        taken
    }

    /// Looks at an isolated folio and asks for its score.
    fn look(
        &mut self,
        mem: &mut Memory,
        req: &ReclaimRequest,
        folio: FolioId,
    ) -> (i64, FolioId, Judgement) {
        let limit = match req.by {
            Reclaimer::Limit(m) | Reclaimer::Proactive(m) => Some(m),
            _ => None,
        };
        let found = mem.references(folio, limit);
        let read = mem.frames.test_clear(folio, flag::REFERENCED);
        if found.locked {
            return (i64::MIN, folio, Judgement::Locked);
        }
        let used = found.count > 0 || read;
        let evictions = self.evictions;
        let state = self.state(folio);
        if std::mem::take(&mut state.written) && !used {
            return (i64::MIN, folio, Judgement::Reclaim);
        }
        state.looks = state.looks.saturating_add(1);
        if used {
            state.seen = state.seen.saturating_add(1);
            state.last = evictions;
        }
        let State { last, distance, seen, looks, .. } = *state;
        let memcg = mem.frames.memcg(folio);
        let file = mem.frames.is_file_lru(folio);
        let stored = mem.frames.has(folio, flag::SWAPCACHE);
        let lists = self.lists_of(req.node, memcg);
        let facts = Facts {
            age: (evictions - last) as i64,
            seen: seen.into(),
            looks: looks.into(),
            used: used.into(),
            file: file.into(),
            dirty: (mem.frames.has(folio, flag::DIRTY) || !file && !stored).into(),
            distance,
            size: (mem.lru.lists.len(lists[0]) + mem.lru.lists.len(lists[1])) as i64,
            group: memcg.0.into(),
        };
        self.calls += 1;
        let score = self.score.score(&facts);
        self.meter.count(1, self.score.fuel());
        match score {
            Ok(score) => (score, folio, Judgement::Reclaim),
            Err(Stopped(why)) => self
                .meter
                .fail(format!("call {} of `score`: {why}; of a folio with {facts}", self.calls)),
        }
    }

    fn evict(
        &mut self,
        mem: &mut Memory,
        req: &ReclaimRequest,
        folio: FolioId,
        judgement: Judgement,
        stats: &mut BatchStats,
    ) {
        let (by, may_writepage) = (req.by, req.may_writepage);
        let how = Shrinking {
            by,
            may_writepage,
            keep_marked: false,
            writes_files: true,
            keeps_ready: false,
        };
        let pages = mem.frames.pages(folio) as u32;
        let (mask, evictions) = (self.mask, &mut self.evictions);
        let shadow = |_: &mut Memory, _| {
            *evictions += 1;
            Some(Shadow(*evictions & mask))
        };
        match shrink_folio(mem, folio, how, stats, |_, _| judgement, shadow) {
            ShrinkOutcome::Freed | ShrinkOutcome::Dropped | ShrinkOutcome::Ready => {}
            ShrinkOutcome::Kept(_) | ShrinkOutcome::Activated(_) => self.to_head(mem, folio),
            ShrinkOutcome::Split => {
                let state = *self.state(folio);
                for page in (folio.0..folio.0 + pages).map(Pfn) {
                    if mem.is_isolated_page(page) {
                        *self.state(page) = state;
                        self.evict(mem, req, page, judgement, stats);
                    }
                }
            }
        }
    }
}

impl<S: Score> ReclaimPolicy for Scored<S> {
    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, how: Arrival) {
        // The fault that brought it is no use of it.
        mem.references(folio, None);
        if how.kind != ArrivalKind::PutBack {
            let returns = mem.frames.test_clear(folio, flag::WORKINGSET);
            mem.frames.clear(folio, flag::REFERENCED);
            let last = self.evictions;
            let state = self.state(folio);
            let distance = if returns { state.distance } else { -1 };
            *state = State { last, distance, seen: 0, looks: 0, written: false };
        }
        self.to_head(mem, folio);
    }

    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, _why: Departure) {
        mem.lru_del(folio);
    }

    fn folio_entering(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
        shadow: Option<Shadow>,
        _how: Arrival,
    ) {
        let Some(shadow) = shadow else { return };
        let (memcg, file) = (mem.frames.memcg(folio), mem.frames.is_file_lru(folio));
        mem.count_refault(folio, memcg, file);
        // The mark says that the distance is this folio's, until it arrives.
        mem.frames.set(folio, flag::WORKINGSET);
        let distance = self.evictions.wrapping_sub(shadow.0) & self.mask;
        self.state(folio).distance = distance as i64;
    }

    fn folios_move(&mut self, mem: &mut Memory, folios: &[FolioId], why: Move) {
        for &folio in folios {
            match why {
                Move::Activated => {}
                Move::Invalidated | Move::Deactivated => self.to_tail(mem, folio),
                Move::FreedLazily => {
                    mem.lru_del(folio);
                    mem.make_lazyfree(folio);
                    self.to_head(mem, folio);
                }
                Move::Written => {
                    self.state(folio).written = true;
                    self.to_tail(mem, folio);
                }
            }
        }
    }

    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        mem.lru_drain(self);
        let mut stats = BatchStats::default();
        let (mut scanned, all) = (0, mem.node_lru_pages(req.node).iter().sum::<u64>());
        let most = (all >> req.priority).max(2 * SWAP_CLUSTER_MAX);
        while scanned < most && stats.reclaimed < req.target {
            let taken = self.round(mem, req, &mut stats);
            scanned += taken;
            if taken == 0 {
                break;
            }
        }
        if mem.shadow_nodes_listed() > 0 {
            let managed = mem.zones.ids().map(|z| u64::from(mem.zones[z].managed)).sum();
            mem.limit_shadow_nodes(shadow_nodes_allowed(managed), req.priority);
        }
        let (reclaimed, stats) = (stats.reclaimed, stats.pass);
        let wakes_flusher = stats.only_unqueued_dirty();
        ReclaimOutcome { scanned, reclaimed, wakes_flusher, stats, ..ReclaimOutcome::default() }
    }
}

impl<S: Score> Inspect for Scored<S> {
    fn traits(&self) -> PolicyTraits {
        use VmEvent::{PgDeactivate, PgRefill, WorkingsetRefaultAnon, WorkingsetRefaultFile};
        let keeps = |event: VmEvent| {
            let refaults = matches!(event, WorkingsetRefaultAnon | WorkingsetRefaultFile);
            // There is no active list, and nothing is activated at once.
            refaults || !event.needs_shadows() && !matches!(event, PgDeactivate | PgRefill)
        };
        PolicyTraits { keeps, plain_departures: true, ..PolicyTraits::default() }
    }

    fn inactive(&self, mem: &Memory, node: NodeId) -> [u64; 2] {
        self.lists_of(node, MemcgId(0)).map(|list| mem.lru.lists.len(list))
    }

    fn snapshot(&self, mem: &Memory, node: NodeId, memcg: MemcgId) -> LruSnapshot {
        let [anon, file] = self.lists_of(node, memcg).map(|list| mem.lru.lists.len(list));
        let lists = vec![("nr_inactive_anon".into(), anon), ("nr_inactive_file".into(), file)];
        LruSnapshot { lists, ..LruSnapshot::default() }
    }

    fn digest(&self, _mem: &Memory, d: &mut Digest) {
        d.word(self.evictions);
        d.word(self.calls);
    }
}
