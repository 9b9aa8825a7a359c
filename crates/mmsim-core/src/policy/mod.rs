//! Interface between a replacement policy and the machine.
//!
//! The policy decides, core does: a policy chooses folios and calls the doors of
//! [`crate::memory::Memory`] (`isolate`, `references`, `evict`, `activate`, the lists).
//! Accounting, cost, tracing and checks live behind the doors, so two policies can only
//! differ by their decisions. A policy that does work of its own pays by [`Memory::charge`].
//! Mapped accesses are not announced; a policy learns about them by scanning, as the kernel must.

pub mod chooser;
pub mod compaction;
pub mod daemon;
mod inspect;
pub mod monitor;
pub mod request;

pub use inspect::{Generation, Inspect, LruSnapshot, PolicyTraits};
pub use request::{ANON_ONLY, PassStats, ReclaimOutcome, ReclaimRequest, Reclaimer};

use crate::backing::Shadow;
use crate::base::id::{MemcgId, NodeId};
use crate::memory::{Evicting, Memory, SettledFaults};
use crate::phys::frames::{FolioId, flag};
use crate::workload::LruGen;
use chooser::{AdmitAsk, FileChooser};

/// Pages that one round of reclaim asks for (include/linux/swap.h).
pub const SWAP_CLUSTER_MAX: u64 = 32;

/// Rounds in vain before a request gives up (mm/internal.h).
pub(crate) const MAX_RECLAIM_RETRIES: u32 = 16;

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

/// Reason for which a folio leaves without the policy's doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Departure {
    /// Freed by its owner.
    Freed,
    /// Isolated by compaction or advice.
    Isolated,
}

/// Use of a folio that core announces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// A system call, or the accessed bit found when a file page is unmapped
    /// (`mark_page_accessed`).
    Marked,
    /// A fault mapped it after it was read from swap.
    SwappedIn,
    /// A fault on a cached page of a file mapped it. It may be in its batch still.
    FileMapped,
    /// Such a fault mapped it beside its own page (`fault_around_bytes`).
    MappedAround,
}

/// Reason for which a listed folio moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// It was marked for reclaim, and its write ended: it goes to where it is met next.
    Written,
    /// `POSIX_FADV_DONTNEED` found it in use: a file folio. If it is dirty it goes to the tail when
    /// it is written, else now (`lru_deactivate_file`).
    Invalidated,
    /// Advice says that it is cold (`MADV_COLD`).
    Deactivated,
    /// It is anonymous memory that was freed lazily (`MADV_FREE`): its contents may be dropped
    /// without writing them, unless they are written before. A policy that makes use of it takes the
    /// folio off its list, calls [`Memory::make_lazyfree`], which makes it count as file memory, and
    /// puts it on a list again. If nothing is done it stays ordinary memory.
    FreedLazily,
    /// It was found used, and is to be activated ([`Memory::activate_used`]).
    Activated,
}

impl Move {
    /// All of them, in the order in which their batches are emptied (`lru_add_drain_cpu`).
    pub(crate) const ALL: [Move; 5] =
        [Move::Written, Move::Invalidated, Move::Deactivated, Move::FreedLazily, Move::Activated];
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

/// A replacement policy. Only three methods are required.
///
/// They follow the life of a folio: it enters an LRU batch, arrives at a list, is used and moved,
/// departs, or is reclaimed.
pub trait ReclaimPolicy: Inspect + Send {
    /// A folio that was just allocated is about to enter the batch: the policy may set `ACTIVE`. A
    /// `shadow` says that its contents were evicted before: the policy counts the refault, and may
    /// set `WORKINGSET`.
    fn folio_entering(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
        shadow: Option<Shadow>,
        how: Arrival,
    ) {
        let _ = (mem, folio, shadow, how);
    }

    /// A folio leaves its LRU batch and needs a list (`lruvec_add_folio`). Leave its `LRU`
    /// flag set, by [`Memory::lru_add_head`] or [`Memory::lru_add_tail`].
    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, how: Arrival);

    /// The folios of a batch arrive, first to last: `folio_arrived` for each. A folio whose
    /// turn has not come is still flagged `IN_BATCH`; whoever overrides this, to handle the
    /// batch as a whole, takes the flag off.
    fn folios_arrived(&mut self, mem: &mut Memory, batch: &[(FolioId, Arrival)]) {
        arrive_singly(self, mem, batch);
    }

    /// A folio was used, and core knows of it; hits in mapped memory are not announced.
    fn folio_accessed(&mut self, mem: &mut Memory, folio: FolioId, how: Access) {
        if how == Access::Marked {
            mem.frames.set(folio, flag::REFERENCED);
        }
    }

    /// Faults of a ledger have their frames: `folio_entering` for each, and for those from swap
    /// `folio_accessed`. It is a method so that each policy has code of its own, whose
    /// calls are direct. A policy that overrides it does the same for all of them in one loop,
    /// where no observer sees each ([`SettledFaults::unseen`]).
    fn faults_settled(&mut self, mem: &mut Memory, settled: &SettledFaults<'_>) {
        settled.tell(mem, self);
    }

    /// Listed folios leave a batch of core's, to be moved one after the other on someone else's
    /// behalf.
    fn folios_move(&mut self, mem: &mut Memory, folios: &[FolioId], why: Move) {
        let _ = (mem, folios, why);
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

    /// A listed folio is freed or isolated by someone else; not called for folios that the
    /// policy itself took off. Take it off its list ([`Memory::lru_del`]).
    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, why: Departure);

    /// One pass over a node, or one step of it. Folios to evict are taken by
    /// [`Memory::isolate_tail`] and its like, which count them; at the end core ends the batch
    /// that [`Memory::end_batch`] has not ended.
    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome;

    /// A direct reclaim (of a group, or of all) or a run of kswapd on `node` has ended.
    fn reclaim_ended(&mut self, mem: &mut Memory, node: NodeId, limit: Option<MemcgId>) {
        let _ = (mem, node, limit);
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

    /// A group is created that was not there when the policy was made.
    fn memcg_online(&mut self, mem: &mut Memory, memcg: MemcgId) {
        let _ = (mem, memcg);
    }

    /// A group is removed. Its pages stay its own; or, if it has an `heir`, they go to the lists of
    /// that group, to which [`Memory::reparent`] charges them amid this call.
    fn memcg_offline(&mut self, mem: &mut Memory, memcg: MemcgId, heir: Option<MemcgId>) {
        if let Some(heir) = heir {
            reparent_singly(self, mem, memcg, heir);
        }
    }

    /// `memory.stat` of all groups but the root is read, so that a policy that decides by old
    /// statistics of theirs has new ones. The default has none.
    fn memory_stat_read(&mut self, mem: &Memory) {
        let _ = mem;
    }

    /// A group is given a chooser, before the run. False: the policy asks none, and has not taken it.
    /// One that takes it calls it as [`chooser`] says.
    fn attach_chooser(
        &mut self,
        mem: &mut Memory,
        memcg: MemcgId,
        chooser: Box<dyn FileChooser>,
    ) -> bool {
        let _ = (mem, memcg, chooser);
        false
    }

    /// Hands the journal of a group over to its chooser.
    fn tell_chooser(&mut self, mem: &mut Memory, memcg: MemcgId) {
        let _ = (mem, memcg);
    }

    /// Asks the chooser of a group whether the pages of a read may come into the cache. Called for groups
    /// whose journal says that their chooser admits.
    fn admits(&mut self, mem: &mut Memory, ask: &AdmitAsk) -> bool {
        let _ = (mem, ask);
        true
    }

    /// Another policy has taken over all folios: the lists are empty, and passes under way have ended.
    /// What else the policy knows it keeps for when folios come to it again.
    fn set_aside(&mut self) {}
}

/// Gives the listed pages of a removed group to another one, page by page.
pub fn reparent_singly<P: ReclaimPolicy + ?Sized>(
    policy: &mut P,
    mem: &mut Memory,
    memcg: MemcgId,
    heir: MemcgId,
) {
    let folios = mem.listed_of(memcg);
    for &folio in &folios {
        policy.folio_departed(mem, folio, Departure::Isolated);
    }
    mem.reparent(memcg, heir);
    let how = Arrival { kind: ArrivalKind::PutBack, in_fault: None, position: 0 };
    for folio in folios {
        policy.folio_arrived(mem, folio, how);
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
