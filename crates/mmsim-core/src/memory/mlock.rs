//! Folios that mappings lock into memory.
//!
//! A locked folio has `MLOCKED`. It is on the unevictable list, or goes there when it is put on a list
//! next. There it has a count of the mappings that locked it, which may be too low: it is 0 if the
//! folio came from a batch. So a folio can be unlocked too early, and reclaim, which asks the mappings,
//! locks it again.
//!
//! Source: Linux 6.12 mm/mlock.c (`__mlock_folio`, `__munlock_folio`).

use super::Memory;
use crate::base::vmstat::VmEvent;
use crate::phys::frames::{FolioId, flag};
use crate::policy::{Arrival, ArrivalKind, Departure, ReclaimPolicy};

const PUT_BACK: Arrival = Arrival { kind: ArrivalKind::PutBack, in_fault: None, position: 0 };

impl Memory {
    /// Locks a folio that is on no list, as one that is new (`mlock_new_folio`).
    pub fn mlock(&mut self, folio: FolioId) {
        if !self.frames.has(folio, flag::MLOCKED) {
            self.frames.set(folio, flag::MLOCKED);
            self.count(VmEvent::UnevictablePgsMlocked, self.frames.pages(folio));
        }
    }

    /// A mapping locks a folio (`mlock_folio`).
    pub(crate) fn mlock_folio(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        self.mlock(folio);
        let bits = self.frames.bits(folio);
        if bits & flag::UNEVICTABLE != 0 {
            *self.lru.mlock_counts.entry(folio).or_insert(1) += 1;
        } else if bits & (flag::LRU | flag::IN_BATCH) == flag::LRU {
            policy.folio_departed(self, folio, Departure::Isolated);
            policy.folio_arrived(self, folio, PUT_BACK);
        } else if bits & flag::LRU == 0 {
            self.lru.mlock_counts.insert(folio, 0);
        }
    }

    /// A mapping that had locked a folio locks it no more (`munlock_folio`).
    pub(crate) fn munlock_folio(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        let bits = self.frames.bits(folio);
        if bits & flag::MLOCKED == 0 {
            return;
        }
        let listed = bits & (flag::UNEVICTABLE | flag::LRU) == flag::UNEVICTABLE | flag::LRU;
        let others = self.lru.mlock_counts.get(&folio).map_or(0, |n| n.saturating_sub(1));
        if listed && others > 0 {
            self.lru.mlock_counts.insert(folio, others);
            return;
        }
        self.lru.mlock_counts.remove(&folio);
        self.frames.clear(folio, flag::MLOCKED);
        let pages = self.frames.pages(folio);
        self.count(VmEvent::UnevictablePgsMunlocked, pages);
        if listed {
            policy.folio_departed(self, folio, Departure::Isolated);
            self.frames.clear(folio, flag::UNEVICTABLE);
            policy.folio_arrived(self, folio, PUT_BACK);
            self.count(VmEvent::UnevictablePgsRescued, pages);
        }
    }

    /// A locked folio is freed: its only mapping goes.
    pub(super) fn munlock_freed(&mut self, folio: FolioId) {
        self.lru.mlock_counts.remove(&folio);
        let pages = self.frames.pages(folio);
        self.count(VmEvent::UnevictablePgsMunlocked, pages);
        if self.frames.has(folio, flag::UNEVICTABLE) {
            self.count(VmEvent::UnevictablePgsRescued, pages);
        }
    }
}
