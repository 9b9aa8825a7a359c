//! Per-CPU LRU batches (`folio_batch`, once `pagevec`).
//!
//! Folios on their way to a list, or between lists, wait in small arrays of the CPU that handled
//! them. So the kernel takes the lock of the lists once for many folios.
//!
//! ```text
//!   fault, read      `add` of this CPU            full or drained
//!   -------- folio --> [ f1 f2 f3 . . . . ] --------------------------> `folios_arrived`:
//!                        |                                              the policy puts them
//!                        | on no list until then                        on their lists
//!                        |   - reclaim passes it over
//!                        |   - `lru_activate` of it is lost
//!                        |   - `lru_activate_accessed` by this CPU sets its ACTIVE flag,
//!                        |     by another CPU it is lost
//!
//!   list --> `moves` of this CPU, a batch for each reason --> `folios_move` --> list
//! ```
//!
//! What is passed over and what is lost has visible results, so the batches are modelled.
//!
//! A batch holds a reference. Reclaim may isolate a folio that waits to be moved, and may unmap it,
//! but cannot free it; the move is lost if it comes meanwhile.
//!
//! A huge folio does not wait: the batch that it joins goes on at once.
//!
//! Source: Linux 6.12.117 and 7.3 mm/swap.c (`folio_batch_add_and_move`). 6.11 to 6.16 hid such a folio from scans for a while.

use super::Memory;
use crate::base::id::{CpuId, Idx as _, IndexVec};
use crate::config::MachineConfig;
use crate::memory::trace::{TraceEvent, TraceKind};
use crate::phys::frames::{FolioId, Mapped, flag};
use crate::policy::{Arrival, ArrivalKind, Move, ReclaimPolicy};

#[derive(Clone, Debug, Default)]
struct CpuBatches {
    add: Vec<(FolioId, Arrival)>,
    /// Listed folios that wait to be moved, by [`Move`].
    moves: [Vec<FolioId>; Move::ALL.len()],
}

/// The batches of all CPUs.
#[derive(Clone, Debug)]
pub struct Batches {
    size: usize,
    /// Folios that wait to be added, over all CPUs.
    waiting: u64,
    cpus: IndexVec<CpuId, CpuBatches>,
}

impl Batches {
    /// Empty batches: as many folios as the machine or its rules say, times `batch_scale`.
    pub fn new(config: &MachineConfig) -> Self {
        let of_rules = config.kernel_rules().lru_batch;
        let size = config.lru_batch.unwrap_or(of_rules) >> config.cpu_batch_shift();
        Batches {
            size: size.max(1) as usize,
            waiting: 0,
            cpus: IndexVec::filled(config.cpus as usize, CpuBatches::default()),
        }
    }
    /// Number of folios that wait in some batch to be added.
    #[inline]
    pub(crate) fn nr_waiting(&self) -> u64 {
        self.waiting
    }
    /// The batch of a CPU that folios are added to. Who adds to it calls
    /// [`Memory::lru_added`].
    #[inline]
    pub(super) fn adding(&mut self, cpu: CpuId) -> &mut Vec<(FolioId, Arrival)> {
        &mut self.cpus[cpu].add
    }
    /// Number of folios that can be added to it until it is full.
    #[inline]
    pub(super) fn room(&self, cpu: CpuId) -> usize {
        self.size - self.cpus[cpu].add.len()
    }
    /// Folios in batches of any kind.
    pub(super) fn folios(&self) -> impl Iterator<Item = FolioId> + '_ {
        let added = self.cpus.iter().flat_map(|c| c.add.iter().map(|a| a.0));
        added.chain(self.cpus.iter().flat_map(|c| c.moves.iter().flatten().copied()))
    }
    /// Number of folios in batches of any kind.
    pub(super) fn nr_folios(&self) -> usize {
        let moved = |c: &CpuBatches| c.moves.iter().map(Vec::len).sum::<usize>();
        self.cpus.iter().map(|c| c.add.len() + moved(c)).sum()
    }
    /// Folios that wait in some batch to be added.
    pub fn waiting(&self) -> impl Iterator<Item = FolioId> + '_ {
        self.cpus.iter().flat_map(|c| c.add.iter().map(|a| a.0))
    }
}

impl Memory {
    /// Queues a folio to be put on a list (`folio_add_lru`). A huge one does not wait: the batch goes to
    /// the lists with it.
    #[inline]
    pub fn lru_add<P: ReclaimPolicy + ?Sized>(
        &mut self,
        policy: &mut P,
        folio: FolioId,
        how: Arrival,
    ) {
        self.frames.set(folio, flag::IN_BATCH);
        let b = &mut self.lru.batches.cpus[self.acting.cpu].add;
        b.push((folio, how));
        let len = b.len();
        self.lru.batches.waiting += 1;
        if self.goes_now(len, folio) {
            self.flush_add(policy);
        }
    }

    /// Takes note of `n` folios that were added to the batch, which may be full now.
    #[inline]
    pub(super) fn lru_added<P: ReclaimPolicy + ?Sized>(&mut self, policy: &mut P, n: u64) {
        self.lru.batches.waiting += n;
        if self.lru.batches.cpus[self.acting.cpu].add.len() >= self.lru.batches.size {
            self.flush_add(policy);
        }
    }

    /// True if a batch of `len` folios goes to the lists: it is full, or its last folio is huge.
    #[inline]
    fn goes_now(&self, len: usize, last: FolioId) -> bool {
        len >= self.lru.batches.size || self.frames.order(last) > 0
    }

    fn flush_add<P: ReclaimPolicy + ?Sized>(&mut self, policy: &mut P) {
        let cpu = self.acting.cpu;
        if self.lru.batches.cpus[cpu].add.is_empty() {
            return;
        }
        let mut batch = std::mem::take(&mut self.lru.batches.cpus[cpu].add);
        self.lru.batches.waiting -= batch.len() as u64;
        for (i, (_, how)) in batch.iter_mut().enumerate() {
            how.position = i as u16;
        }
        let cached = self.cached_still(&batch);
        if let Some(folio) = cached {
            self.frames.set(folio, flag::SWAPCACHE);
        }
        policy.folios_arrived(self, &batch);
        if let Some(folio) = cached {
            self.frames.clear(folio, flag::SWAPCACHE);
        }
        batch.clear();
        self.lru.batches.cpus[cpu].add = batch;
    }

    /// The page that fills a batch while it is read from a synchronous device: its slot is freed
    /// when it is on its list.
    fn cached_still(&self, batch: &[(FolioId, Arrival)]) -> Option<FolioId> {
        if !self.given.rules.sync_swapin_caches || batch.len() < self.lru.batches.size {
            return None;
        }
        let &(folio, how) = batch.last()?;
        let bits = self.frames.bits(folio);
        let reads = how.kind == ArrivalKind::SwapIn && bits & flag::SWAPCACHE == 0;
        reads.then_some(folio)
    }

    /// Reports that the folios of a batch are on lists of that name.
    #[inline]
    pub fn tell_of_insertions(&mut self, batch: &[(FolioId, Arrival)], lru: &'static str) {
        if self.telling.tracer.wants(TraceKind::MmLruInsertion) {
            for &(pfn, _) in batch {
                self.emit(|| TraceEvent::MmLruInsertion { pfn, lru });
            }
        }
    }

    /// Activates a listed folio (`folio_activate`), batched. A folio on no list stays as it
    /// is: an activation that comes while it waits for its list is lost.
    pub fn lru_activate(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        if !self.frames.has(folio, flag::ACTIVE | flag::UNEVICTABLE) {
            self.queue_move(policy, folio, Move::Activated);
        }
    }

    /// Activates a folio after a second access by system call (`mark_page_accessed`): as
    /// [`Memory::lru_activate`], but one that waits in the local batch for its list is
    /// flagged, so that it enters as active (`__lru_cache_activate_folio`).
    pub fn lru_activate_accessed(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        if self.frames.has(folio, flag::LRU) {
            self.lru_activate(policy, folio);
            return;
        }
        let local = &self.lru.batches.cpus[self.acting.cpu].add;
        if local.iter().any(|&(f, _)| f == folio) {
            self.frames.set(folio, flag::ACTIVE);
            self.emit(|| TraceEvent::MmLruActivate { pfn: folio });
        }
    }

    /// Queues a listed folio to be deactivated on advice.
    pub fn lru_deactivate(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        self.queue_move(policy, folio, Move::Deactivated);
    }

    /// Queues a listed file folio that was to go and is in use (`deactivate_file_folio`).
    pub(super) fn lru_invalidate(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        if !self.frames.has(folio, flag::UNEVICTABLE) {
            self.queue_move(policy, folio, Move::Invalidated);
        }
    }

    /// Queues a listed folio whose write ended for the tail of its list
    /// (`folio_rotate_reclaimable`).
    pub fn lru_rotate(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        if !self.frames.has(folio, flag::DIRTY | flag::LOCKED | flag::UNEVICTABLE) {
            self.queue_move(policy, folio, Move::Written);
        }
    }

    /// Queues a listed anonymous folio to become lazily freed memory (`folio_mark_lazyfree`).
    /// One that is so already, is in the swap cache or on no list stays as it is.
    pub(super) fn lru_lazyfree(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        if self.may_be_lazyfree(folio) {
            self.queue_move(policy, folio, Move::FreedLazily);
        }
    }

    /// Queues a listed folio to be moved, unless it waits in a batch already.
    fn queue_move(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId, why: Move) {
        if self.frames.bits(folio) & (flag::LRU | flag::IN_BATCH) != flag::LRU {
            return;
        }
        self.frames.set(folio, flag::IN_BATCH);
        let batch = &mut self.lru.batches.cpus[self.acting.cpu].moves[why as usize];
        batch.push(folio);
        let len = batch.len();
        if self.goes_now(len, folio) {
            self.flush_moves(policy);
        }
    }

    /// Moves the folios that wait for it. A folio that was isolated meanwhile stays where it is, as
    /// does one that needs the move no more.
    fn flush_moves(&mut self, policy: &mut dyn ReclaimPolicy) {
        let cpu = self.acting.cpu;
        if self.lru.batches.cpus[cpu].moves.iter().all(Vec::is_empty) {
            return;
        }
        for why in Move::ALL {
            let mut batch = std::mem::take(&mut self.lru.batches.cpus[cpu].moves[why as usize]);
            batch.retain(|&folio| {
                self.frames.clear(folio, flag::IN_BATCH);
                self.frames.has(folio, flag::LRU)
                    && match why {
                        Move::FreedLazily => self.may_be_lazyfree(folio),
                        Move::Activated => !self.frames.has(folio, flag::ACTIVE),
                        Move::Invalidated => {
                            self.frames.mapped(folio) == Mapped::No
                                && !self.frames.has(folio, flag::UNEVICTABLE)
                        }
                        Move::Written | Move::Deactivated => true,
                    }
            });
            if !batch.is_empty() {
                policy.folios_move(self, &batch, why);
            }
            batch.clear();
            self.lru.batches.cpus[cpu].moves[why as usize] = batch;
        }
    }

    /// Puts an isolated folio back, by way of the batch (`folio_putback_lru`).
    pub fn put_back<P: ReclaimPolicy + ?Sized>(&mut self, policy: &mut P, folio: FolioId) {
        self.frames.clear(folio, flag::ISOLATED);
        let how = Arrival { kind: ArrivalKind::PutBack, in_fault: None, position: 0 };
        self.lru_add(policy, folio, how);
    }

    /// Empties the batches of the acting CPU (`lru_add_drain`).
    pub fn lru_drain(&mut self, policy: &mut dyn ReclaimPolicy) {
        self.flush_add(policy);
        self.flush_moves(policy);
    }

    /// Empties the batches of all CPUs (`lru_add_drain_all`).
    pub(crate) fn lru_drain_all(&mut self, policy: &mut dyn ReclaimPolicy) {
        let cpu = self.acting.cpu;
        for c in self.lru.batches.cpus.ids() {
            self.acting.cpu = c;
            self.lru_drain(policy);
        }
        self.acting.cpu = cpu;
    }

    /// Takes a folio that is about to be freed out of the one batch that holds it, most often
    /// one of the acting CPU.
    pub(super) fn leave_batch(&mut self, folio: FolioId) {
        if !self.frames.test_clear(folio, flag::IN_BATCH) {
            return;
        }
        let listed = self.frames.has(folio, flag::LRU);
        let (before, from) = self.lru.batches.cpus.raw_mut().split_at_mut(self.acting.cpu.index());
        let mut cpus = from.iter_mut().chain(before);
        let found = if listed {
            cpus.any(|c| {
                c.moves
                    .iter_mut()
                    .any(|b| b.iter().position(|&f| f == folio).map(|i| b.remove(i)).is_some())
            })
        } else {
            self.lru.batches.waiting -= 1;
            cpus.any(|c| {
                c.add.iter().position(|&(f, _)| f == folio).map(|i| c.add.remove(i)).is_some()
            })
        };
        assert!(found, "{folio} is in no batch");
    }
}
