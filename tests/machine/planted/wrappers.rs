//! Faults by a policy or a strategy around the real one, which asks for something else, undoes what
//! it did, or shows it a machine that is not so.

use mmsim::base::digest::Digest;
use mmsim::base::id::{MemcgId, NodeId, ZoneId};
use mmsim::base::time::SimDuration;
use mmsim::memory::Memory;
use mmsim::phys::frames::{FolioId, flag};
use mmsim::policy::compaction::{
    CompactOutcome, CompactRequest, Compaction, CompactionStats, Compactor, MigrateMode,
};
use mmsim::policy::{
    ANON_ONLY, Access, Arrival, ArrivalKind, Departure, Inspect, LruGenWritten, LruSnapshot, Move,
    PolicyTraits, ReclaimOutcome, ReclaimPolicy, ReclaimRequest, Reclaimer,
};
use mmsim::virt::pages::pte;
use mmsim::workload::LruGen;
use mmsim_compaction::TwoScanners;

use super::Fault;
use mmsim::backing::Shadow;
use mmsim::base::compact_result::{CompactResult, NoBlock};

/// Folios at the tail of a list that a step may take.
const STEP: usize = 64;

/// Rounds that a step of kswapd has besides its own, if a fault lets it go on.
const MORE_ROUNDS: u32 = 256;

/// Priority of these rounds.
const URGENT: u8 = 4;

/// Hits of swap readahead that make its next window the largest.
const MANY_HITS: u32 = 8;

/// A policy with a fault.
pub(super) struct Faulty {
    pub(super) policy: Box<dyn ReclaimPolicy>,
    pub(super) fault: Option<Fault>,
}

macro_rules! forward {
    ($($to:ident: fn $name:ident($($arg:ident: $of:ty),*) $(-> $out:ty)?;)*) => {
        $(fn $name(&mut self, $($arg: $of),*) $(-> $out)? { self.$to.$name($($arg),*) })*
    };
}

macro_rules! forward_shared {
    ($($to:ident: fn $name:ident($($arg:ident: $of:ty),*) $(-> $out:ty)?;)*) => {
        $(fn $name(&self, $($arg: $of),*) $(-> $out)? { self.$to.$name($($arg),*) })*
    };
}

/// Folios that the next steps of reclaim meet, active ones or the others.
fn next_ones(mem: &Memory, active: bool) -> Vec<FolioId> {
    let tails = mem.lru.lists.ids().flat_map(|l| mem.lru.lists.iter_from_tail(l).take(STEP));
    tails.filter(|&f| mem.frames.has(f, flag::ACTIVE) == active).collect()
}

/// Moves a listed folio to the tail of its list.
fn to_tail(mem: &mut Memory, folio: FolioId) {
    let list = mem.lru.lists.list_of(folio);
    mem.lru_del(folio);
    mem.lru_add_tail(list, folio);
}

impl Faulty {
    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }
}

impl ReclaimPolicy for Faulty {
    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, how: Arrival) {
        let new = matches!(how.kind, ArrivalKind::New | ArrivalKind::Read);
        if new && self.has(Fault::NewActive) {
            mem.frames.set(folio, flag::ACTIVE);
        }
        self.policy.folio_arrived(mem, folio, how);
        if self.has(Fault::InvertedList) {
            to_tail(mem, folio);
        }
    }

    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        // What waits arrives here, and not at the policy within.
        mem.lru_drain(self);
        let mut req = *req;
        let mut active = Vec::new();
        match self.fault {
            Some(Fault::Overshoot) => (req.priority, req.target) = (1, u64::MAX),
            Some(Fault::TypesSwapped | Fault::OtherType) => req.swappiness = Some(ANON_ONLY),
            Some(Fault::KswapdGivesUp) if matches!(req.by, Reclaimer::Kswapd) => {
                return ReclaimOutcome::default();
            }
            Some(Fault::KswapdSlow) if matches!(req.by, Reclaimer::Kswapd) => {
                mem.charge(SimDuration::from_millis(5));
            }
            Some(Fault::LostReference) => {
                for folio in next_ones(mem, false) {
                    mem.frames.clear(folio, flag::REFERENCED);
                    if let Some(page) = mem.page_of(folio) {
                        let hot = mem.virt.pages.hot(page);
                        mem.virt.pages.set_hot(page, hot & !pte::ACCESSED);
                    }
                }
            }
            Some(Fault::DemotedToTail) => active = next_ones(mem, true),
            _ => {}
        }
        let mut out = self.policy.reclaim(mem, &req);
        if self.has(Fault::NoEnd) && matches!(req.by, Reclaimer::Kswapd) {
            req.priority = URGENT;
            for _ in 0..MORE_ROUNDS {
                if a_quarter_is_free(mem) {
                    break;
                }
                let more = self.policy.reclaim(mem, &req);
                out.reclaimed += more.reclaimed;
                out.scanned += more.scanned;
            }
        }
        for folio in active {
            if mem.frames.bits(folio) & (flag::ACTIVE | flag::LRU | flag::IN_BATCH) == flag::LRU {
                to_tail(mem, folio);
            }
        }
        out
    }

    fn folio_entering(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
        mut shadow: Option<Shadow>,
        how: Arrival,
    ) {
        if shadow.is_some() && self.has(Fault::RefaultsForgotten) {
            let (memcg, file) = (mem.frames.memcg(folio), mem.frames.is_file_lru(folio));
            mem.count_refault(folio, memcg, file);
            shadow = None;
        }
        if how.kind == ArrivalKind::SwapIn && self.has(Fault::WindowNeverShrinks) {
            let spaces = mem.virt.spaces.ids();
            let vmas: Vec<_> =
                spaces.flat_map(|a| mem.virt.spaces.mappings(&mem.virt.pages, a)).collect();
            for (_, _, vma) in vmas {
                mem.virt.spaces.vma_mut(vma).swap_ra.hits = MANY_HITS;
            }
        }
        self.policy.folio_entering(mem, folio, shadow, how);
    }

    forward! {
        policy: fn folio_departed(mem: &mut Memory, folio: FolioId, why: Departure);
        policy: fn folio_accessed(mem: &mut Memory, folio: FolioId, how: Access);
        policy: fn folios_move(mem: &mut Memory, folios: &[FolioId], why: Move);
        policy: fn reclaim_list(mem: &mut Memory, folios: &[FolioId], unasked: bool) -> u64;
        policy: fn folio_split(mem: &mut Memory, folio: FolioId);
        policy: fn age_node(mem: &mut Memory, req: &ReclaimRequest) -> bool;
        policy: fn write_lru_gen(mem: &mut Memory, write: LruGen) -> LruGenWritten;
        policy: fn set_aside();
        policy: fn reclaim_ended(mem: &mut Memory, node: NodeId, limit: Option<MemcgId>);
    }
}

impl Inspect for Faulty {
    forward_shared! {
        policy: fn traits() -> PolicyTraits;
        policy: fn inactive(mem: &Memory, node: NodeId) -> [u64; 2];
        policy: fn is_active(mem: &Memory, folio: FolioId) -> bool;
        policy: fn snapshot(mem: &Memory, node: NodeId, memcg: MemcgId) -> LruSnapshot;
        policy: fn check(mem: &Memory);
        policy: fn digest(mem: &Memory, d: &mut Digest);
    }
}

fn a_quarter_is_free(mem: &Memory) -> bool {
    mem.zones.ids().all(|z| mem.zones[z].free >= u64::from(mem.zones[z].managed / 4))
}

/// A strategy with a fault.
pub(super) struct FaultyCompaction {
    pub(super) strategy: TwoScanners,
    pub(super) fault: Option<Fault>,
}

impl Compaction for FaultyCompaction {
    fn compact_zone(
        &mut self,
        mem: &mut Memory,
        lru: &mut dyn ReclaimPolicy,
        req: &CompactRequest,
    ) -> CompactOutcome {
        let ended = |result, why| CompactOutcome { result, captured: None, why };
        match self.fault {
            Some(Fault::CompactionGivesUp) => ended(CompactResult::Contended, NoBlock::GaveUp),
            Some(Fault::DeferralNeverReset)
                if req.by == Compactor::Direct && self.strategy.stats().complete != [0; 3] =>
            {
                ended(CompactResult::Deferred, NoBlock::Deferred)
            }
            Some(Fault::NoTargets) => ended(CompactResult::Contended, NoBlock::NoSpace),
            Some(Fault::NothingMoves) => {
                mem.lru_drain(lru);
                let lists = mem.lru.lists.ids().flat_map(|l| mem.lru.lists.iter_from_tail(l));
                let free = |&f: &FolioId| !mem.frames.has(f, flag::IN_BATCH);
                let held: Vec<FolioId> = lists.filter(free).collect();
                held.iter().for_each(|&f| mem.frames.set(f, flag::IN_BATCH));
                let outcome = self.strategy.compact_zone(mem, lru, req);
                held.iter().for_each(|&f| mem.frames.clear(f, flag::IN_BATCH));
                outcome
            }
            _ => self.strategy.compact_zone(mem, lru, req),
        }
    }

    forward! {
        strategy: fn deferred(zone: ZoneId, order: u8) -> bool;
        strategy: fn note_failure(zone: ZoneId, order: u8);
        strategy: fn note_success(zone: ZoneId, order: u8, got_page: bool);
        strategy: fn kswapd_sleeps(mem: &Memory, zone: ZoneId);
    }

    forward_shared! {
        strategy: fn suitable(mem: &Memory, req: &CompactRequest) -> CompactResult;
        strategy: fn mode_of(asked: MigrateMode) -> MigrateMode;
        strategy: fn stats() -> CompactionStats;
    }
}
