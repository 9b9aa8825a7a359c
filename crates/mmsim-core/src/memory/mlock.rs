//! Folios that mappings lock into memory.
//!
//! A locked folio has `MLOCKED`. It is on the unevictable list, or goes there when it is put on a list
//! next. There it has a count of the mappings that locked it, which may be too low: it is 0 if the
//! folio came from a batch. So a folio can be unlocked too early, and reclaim, which asks the mappings,
//! locks it again.
//!
//! An object of shared memory may be unevictable as a whole (`noswap`, `SHM_LOCK`). Its folios have
//! `MLOCKED` too, so that reclaim, when it meets them, takes them for locked ones; `Lru::kept` tells
//! them from those that a mapping locks, which alone are in `nr_mlock`.
//!
//! Source: Linux 6.12 mm/mlock.c (`__mlock_folio`, `__munlock_folio`), mm/vmscan.c
//! (`check_move_unevictable_folios`).

use super::Memory;
use crate::base::id::{PageIdx, VmaId};
use crate::base::vmstat::VmEvent;
use crate::memory::trace::TraceEvent;
use crate::phys::frames::{FolioId, flag};
use crate::policy::{Arrival, ArrivalKind, Departure, ReclaimPolicy};
use crate::virt::space::VmaKind;
use std::ops::Range;

pub(super) const PUT_BACK: Arrival =
    Arrival { kind: ArrivalKind::PutBack, in_fault: None, position: 0 };

impl Memory {
    /// Locks a folio that is on no list, as one that is new (`mlock_new_folio`).
    pub fn mlock(&mut self, folio: FolioId) {
        let locked = match self.lru.kept.get_mut(&folio) {
            Some(locked) => std::mem::replace(locked, true),
            None => self.frames.has(folio, flag::MLOCKED),
        };
        if !locked {
            self.frames.set(folio, flag::MLOCKED);
            self.count(VmEvent::UnevictablePgsMlocked, self.frames.pages(folio));
        }
    }

    /// A mapping locks a folio (`mlock_folio`).
    pub(crate) fn mlock_folio(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        let others = u32::from(self.lru.kept.get(&folio) != Some(&false));
        self.mlock(folio);
        let bits = self.frames.bits(folio);
        if bits & flag::UNEVICTABLE != 0 {
            *self.lru.mlock_counts.entry(folio).or_insert(others) += 1;
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
        if !self.is_mlocked(folio) {
            return;
        }
        let listed = bits & (flag::UNEVICTABLE | flag::LRU) == flag::UNEVICTABLE | flag::LRU;
        let others = self.lru.mlock_counts.get(&folio).map_or(0, |n| n.saturating_sub(1));
        if listed && others > 0 {
            self.lru.mlock_counts.insert(folio, others);
            return;
        }
        self.lru.mlock_counts.remove(&folio);
        let pages = self.frames.pages(folio);
        self.count(VmEvent::UnevictablePgsMunlocked, pages);
        if let Some(locked) = self.lru.kept.get_mut(&folio) {
            // Its object is unevictable still.
            *locked = false;
            return;
        }
        self.frames.clear(folio, flag::MLOCKED);
        if listed {
            policy.folio_departed(self, folio, Departure::Isolated);
            self.frames.clear(folio, flag::UNEVICTABLE);
            policy.folio_arrived(self, folio, PUT_BACK);
            self.count(VmEvent::UnevictablePgsRescued, pages);
        }
    }

    /// Tells that a mapping locks pages of it, or no longer.
    pub(crate) fn tell_of_mlock(&mut self, v: VmaId, pages: Range<u32>, locked: bool) {
        let vma = self.virt.spaces.vma(v);
        let first = match vma.kind {
            VmaKind::Anon | VmaKind::HugeTlb => pages.start,
            VmaKind::File { file, offset, .. } | VmaKind::Shmem { file, offset } => {
                self.cache.files[file].base.0 + offset + (pages.start - vma.start.0)
            }
        };
        let (page, pages) = (PageIdx(first), pages.end - pages.start);
        self.emit(|| TraceEvent::SimMlock { page, pages, locked });
    }

    /// True if a mapping locks a folio.
    pub(crate) fn is_mlocked(&self, folio: FolioId) -> bool {
        self.frames.has(folio, flag::MLOCKED) && self.lru.kept.get(&folio) != Some(&false)
    }

    /// A folio is of an object that is unevictable: reclaim that meets it leaves it in memory.
    pub(super) fn keep(&mut self, folio: FolioId) {
        let locked = self.frames.has(folio, flag::MLOCKED);
        self.lru.kept.entry(folio).or_insert(locked);
        self.frames.set(folio, flag::MLOCKED);
    }

    /// The object of a folio is evictable again: the folio is, unless a mapping locks it
    /// (`check_move_unevictable_folios`).
    pub(super) fn keep_no_more(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        let Some(locked) = self.lru.kept.remove(&folio) else { return };
        let pages = self.frames.pages(folio);
        self.count(VmEvent::UnevictablePgsScanned, pages);
        if locked {
            return;
        }
        self.frames.clear(folio, flag::MLOCKED);
        let listed = flag::UNEVICTABLE | flag::LRU;
        if self.frames.bits(folio) & listed == listed {
            policy.folio_departed(self, folio, Departure::Isolated);
            self.frames.clear(folio, flag::UNEVICTABLE);
            policy.folio_arrived(self, folio, PUT_BACK);
            self.count(VmEvent::UnevictablePgsRescued, pages);
        }
    }

    /// A locked folio is freed: its only mapping goes.
    pub(super) fn munlock_freed(&mut self, folio: FolioId) {
        self.lru.mlock_counts.remove(&folio);
        if self.lru.kept.remove(&folio) == Some(false) {
            return;
        }
        let pages = self.frames.pages(folio);
        self.count(VmEvent::UnevictablePgsMunlocked, pages);
        if self.frames.has(folio, flag::UNEVICTABLE) {
            self.count(VmEvent::UnevictablePgsRescued, pages);
        }
    }
}
