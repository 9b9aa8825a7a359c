//! Interface between a replacement policy and the machine.
//!
//! The policy decides, core does: a policy chooses folios and calls the doors of
//! [`crate::memory::Memory`] (`isolate`, `references`, `evict`, `activate`, the lists).
//! Accounting, cost, tracing and checks live behind the doors, so two policies can only
//! differ by their decisions. A policy that does work of its own pays by [`Memory::charge`].
//! Mapped accesses are not announced; a policy learns about them by scanning, as the kernel must.

pub mod compaction;
pub mod monitor;
pub mod request;

pub use request::{ANON_ONLY, PassStats, ReclaimOutcome, ReclaimRequest, Reclaimer};

use crate::backing::Shadow;
use crate::base::digest::Digest;
use crate::base::id::{MemcgId, NodeId};
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::memory::{Evicting, Memory, SettledFaults};
use crate::phys::frames::{FolioId, flag};
use crate::workload::LruGen;

/// Pages that one round of reclaim asks for (include/linux/swap.h).
pub const SWAP_CLUSTER_MAX: u64 = 32;

/// Rounds in vain before a request gives up (mm/internal.h).
pub const MAX_RECLAIM_RETRIES: u32 = 16;

/// Reason for which a folio reaches the policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrivalKind {
    /// New anonymous memory.
    New,
    /// Read back from swap.
    SwapIn,
    /// Read from a file.
    Read,
    /// A file page allocated to be written.
    Write,
    /// Put back after isolation.
    PutBack,
    /// Moved here by migration.
    Migrated,
}

/// Arrival of a folio at the policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Why.
    pub kind: ArrivalKind,
    /// Set if it was added during a fault; then whether the faulting mapping has recency.
    pub in_fault: Option<bool>,
    /// Its position in the batch that is flushed.
    pub position: u16,
}

/// Why a folio leaves without the policy's doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Departure {
    /// Freed by its owner.
    Freed,
    /// Isolated by compaction or advice.
    Isolated,
}

/// Why a listed folio moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// It was found used, and is to be activated ([`Memory::activate_used`]).
    Activated,
    /// Advice says that it is cold (`MADV_COLD`).
    Deactivated,
    /// It is anonymous memory that was freed lazily (`MADV_FREE`): its contents may be dropped
    /// without writing them, unless they are written before. A policy that makes use of it takes the
    /// folio off its list, calls [`Memory::make_lazyfree`], which makes it count as file memory, and
    /// puts it on a list again. If nothing is done it stays ordinary memory.
    FreedLazily,
    /// It was marked for reclaim, and its write ended: it goes to where it is met next.
    Written,
}

/// Properties of a policy.
#[derive(Clone, Copy, Debug)]
pub struct PolicyTraits {
    /// The policy may learn of a fault after later accesses of the same thread: of a new folio by
    /// `folio_entering`, of one from swap by `folio_swapped_in` and `swapin_mapped`, and of a full
    /// batch by `folio_arrived`. The clock is that of the fault all the same, and no other thread
    /// has acted since. It may if these take no time, do not look at accessed bits and move no folio
    /// but their own. Faults take a fast path then.
    pub faults_together: bool,
    /// A departure is [`Memory::lru_del`] and nothing else, so that many are one.
    pub plain_departures: bool,
    /// True for an event that the policy counts where it happens. A report has no figure for a
    /// counter that is not kept: zero would say that nothing happened. The default keeps all; a
    /// policy without shadows has no refaults, and should say so.
    pub keeps: fn(VmEvent) -> bool,
}

impl Default for PolicyTraits {
    fn default() -> Self {
        PolicyTraits { faults_together: false, plain_departures: false, keeps: |_| true }
    }
}

/// Result of a write to a file of `lru_gen`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LruGenWritten {
    /// It ends with an error.
    Refused,
    /// It is done.
    Done,
    /// A step of eviction freed this number of pages, and there may be more to evict.
    Evicted(u64),
}

/// One generation of a policy that has such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Its sequence number: higher is younger.
    pub seq: u64,
    /// Since it began.
    pub age: SimDuration,
    /// Anonymous pages in it.
    pub anon: u64,
    /// File pages in it.
    pub file: u64,
}

/// Sizes of a policy's lists, for reports, series and tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LruSnapshot {
    /// List names and sizes in pages.
    pub lists: Vec<(String, u64)>,
    /// Other values worth watching: ages, costs.
    pub values: Vec<(String, u64)>,
    /// Generations, oldest first; none if the policy has none.
    pub generations: Vec<Generation>,
}

/// A replacement policy. Only three methods are required.
pub trait ReclaimPolicy: Send {
    /// A folio leaves its LRU batch and needs a list (`lruvec_add_folio`). Leave its `LRU`
    /// flag set, by [`Memory::lru_add_head`] or [`Memory::lru_add_tail`].
    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, how: Arrival);

    /// The folios of a batch arrive, first to last: `folio_arrived` for each. A folio whose
    /// turn has not come is still flagged `IN_BATCH`; whoever overrides this, to handle the
    /// batch as a whole, takes the flag off.
    fn folios_arrived(&mut self, mem: &mut Memory, batch: &[(FolioId, Arrival)]) {
        arrive_singly(self, mem, batch);
    }

    /// A listed folio is freed or isolated by someone else; not called for folios that the
    /// policy itself took off. Take it off its list ([`Memory::lru_del`]).
    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, why: Departure);

    /// One pass over a node, or one step of it. Folios to evict are taken by
    /// [`Memory::isolate_tail`] and its like, which count them; at the end core ends the batch
    /// that [`Memory::end_batch`] has not ended.
    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome;

    /// An evicted page is wanted again and its shadow was found: called before the folio
    /// enters the batch. The policy may set `ACTIVE` and `WORKINGSET`, and counts.
    fn folio_refaulted(&mut self, mem: &mut Memory, folio: FolioId, shadow: Shadow, how: Arrival) {
        let _ = (mem, folio, shadow, how);
    }
    /// A folio read from swap is about to enter the batch, with the shadow that its slot
    /// held: `folio_refaulted` and `folio_entering` in one.
    #[inline(always)] // For `faults_settled`.
    fn folio_swapped_in(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
        shadow: Option<Shadow>,
        how: Arrival,
    ) {
        if let Some(shadow) = shadow {
            self.folio_refaulted(mem, folio, shadow, how);
        }
        self.folio_entering(mem, folio, how);
    }
    /// Faults of a ledger have their frames: `folio_swapped_in` and `swapin_mapped`, or
    /// `folio_entering`, for each. It is a method so that each policy has code of its own, whose
    /// calls are direct. A policy that overrides it does the same for all of them in one loop,
    /// where no observer sees each ([`SettledFaults::unseen`]).
    fn faults_settled(&mut self, mem: &mut Memory, settled: &SettledFaults<'_>) {
        settled.tell(mem, self);
    }
    /// A page read from swap was mapped.
    fn swapin_mapped(&mut self, mem: &mut Memory, folio: FolioId) {
        let _ = (mem, folio);
    }
    /// A folio of anonymous memory, new or read from swap, is about to enter the batch
    /// (after `folio_refaulted`, if there was a shadow): the policy may set `ACTIVE`.
    fn folio_entering(&mut self, mem: &mut Memory, folio: FolioId, how: Arrival) {
        let _ = (mem, folio, how);
    }
    /// A fault mapped a cached page of a file: the page that it is `about`, or a neighbour that was
    /// mapped on the way (`fault_around_bytes`). The folio may be in its batch still.
    fn file_mapped(&mut self, mem: &mut Memory, folio: FolioId, about: bool) {
        let _ = (mem, folio, about);
    }
    /// An access through a system call, or the accessed bit found when a file page is
    /// unmapped (`mark_page_accessed`); not a mapped hit.
    fn folio_accessed(&mut self, mem: &mut Memory, folio: FolioId) {
        mem.frames.set(folio, flag::REFERENCED);
    }
    /// A listed folio leaves a batch of core's, to be moved on someone else's behalf.
    fn folio_moves(&mut self, mem: &mut Memory, folio: FolioId, why: Move) {
        let _ = (mem, folio, why);
    }
    /// Listed folios leave an activation batch, first to last: `folio_moves` for each.
    fn folios_activated(&mut self, mem: &mut Memory, folios: &[FolioId]) {
        folios.iter().for_each(|&folio| self.folio_moves(mem, folio, Move::Activated));
    }
    /// Evicts isolated folios of one node, in this order, and puts back those that cannot be
    /// (`reclaim_pages`). Not a scan: neither `pgscan` nor `pgsteal` count. `ACTIVE` is clear
    /// on all. With `ignore_references` accessed bits are not asked. Returns how many are gone.
    fn reclaim_list(
        &mut self,
        mem: &mut Memory,
        folios: &[FolioId],
        ignore_references: bool,
    ) -> u64 {
        let by = Reclaimer::Advice;
        let how = Evicting { by, may_writepage: true, may_write_file: false, clean_only: false };
        let mut freed = 0;
        for &folio in folios {
            let used = !ignore_references && mem.references(folio, None).count > 0;
            if !used && mem.evict(folio, how, None).is_ok() {
                freed += 1;
            } else {
                mem.put_back(self, folio);
            }
        }
        freed
    }
    /// A listed huge folio becomes folios of one page, as many as are mapped. Take it off its list,
    /// call [`Memory::split_frames`], and put all of them on a list again.
    fn folio_split(&mut self, mem: &mut Memory, folio: FolioId) {
        self.folio_departed(mem, folio, Departure::Isolated);
        let how = Arrival { kind: ArrivalKind::PutBack, in_fault: None, position: 0 };
        for page in mem.split_frames(folio) {
            self.folio_arrived(mem, page, how);
        }
    }
    /// Ages before each pass of kswapd over a node, whose request will be `req`. True: what could
    /// be reclaimed is needed, and the OOM killer is to choose a victim.
    fn age_node(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> bool {
        let _ = (mem, req);
        false
    }
    /// Carries out a write to a file of `lru_gen`, or a step of it: [`LruGen::Evict`] is called again,
    /// with what is left of its pages, until it evicts nothing. `max_gen` and `min_gen` are given.
    /// Whether the policy is in use at all ([`LruGen::Enabled`], bit 0) is the machine's affair. The
    /// default refuses all: the policy has no generations.
    fn write_lru_gen(&mut self, mem: &mut Memory, write: LruGen) -> LruGenWritten {
        let _ = (mem, write);
        LruGenWritten::Refused
    }
    /// Another policy has taken over all folios: the lists are empty, and passes under way have ended.
    /// What else the policy knows it keeps for when folios come to it again.
    fn set_aside(&mut self) {}
    /// A direct reclaim (of a group, or of all) or a run of kswapd on `node` has ended.
    fn reclaim_ended(&mut self, mem: &mut Memory, node: NodeId, limit: Option<MemcgId>) {
        let _ = (mem, node, limit);
    }
    /// Properties of the policy, the same for all of its life.
    fn traits(&self) -> PolicyTraits {
        PolicyTraits::default()
    }
    /// Pages of a node on inactive lists, those of all groups: anonymous, file. They decide how long
    /// reclaim for a large block goes on. A policy without such lists has none.
    fn inactive(&self, mem: &Memory, node: NodeId) -> [u64; 2] {
        let _ = (mem, node);
        [0; 2]
    }
    /// True if a listed folio counts as active in the kernel's files.
    fn is_active(&self, mem: &Memory, folio: FolioId) -> bool {
        mem.frames.has(folio, flag::ACTIVE)
    }
    /// List sizes and values of one lruvec.
    fn snapshot(&self, mem: &Memory, node: NodeId, memcg: MemcgId) -> LruSnapshot {
        let _ = (mem, node, memcg);
        LruSnapshot::default()
    }
    /// Panics, naming ids, if an invariant of the policy does not hold.
    fn check(&self, mem: &Memory) {
        let _ = mem;
    }
    /// Adds the state that decides to a digest.
    fn digest(&self, mem: &Memory, d: &mut Digest) {
        let _ = (mem, d);
    }
}

/// Lets the folios of a batch arrive one after the other.
pub fn arrive_singly<P: ReclaimPolicy + ?Sized>(
    policy: &mut P,
    mem: &mut Memory,
    batch: &[(FolioId, Arrival)],
) {
    for &(folio, how) in batch {
        mem.frames.clear(folio, flag::IN_BATCH);
        policy.folio_arrived(mem, folio, how);
        debug_assert!(mem.frames.has(folio, flag::LRU), "{folio} was given no list");
    }
}
