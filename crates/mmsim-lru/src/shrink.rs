//! What becomes of one isolated folio: the routine that every list-based policy shares.
//!
//! The order of the tests is the kernel's and matters: a folio under write is recycled
//! before anybody asks for references; references decide before a slot is taken; a dirty
//! file folio is left to the flusher after it was unmapped. Lazily freed memory is judged like
//! a file's, needs no slot, and becomes ordinary active memory again if it was written.
//!
//! A huge folio is judged as one. When it is to be evicted it is split, and the caller goes through
//! its pages.
//!
//! Source: Linux 6.12 mm/vmscan.c (`shrink_folio_list`).

use crate::index::{LruType, PerType};
use mmsim_core::backing::Shadow;
use mmsim_core::memory::trace::ScanOutcome;
use mmsim_core::memory::{Evicting, Memory, Prepared};
use mmsim_core::phys::frames::{FolioId, Mapped, flag, pages_of};
use mmsim_core::policy::{PassStats, Reclaimer};

/// What the accessed bits say about an inactive folio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// Free it.
    Reclaim,
    /// Free it if that needs no write.
    ReclaimClean,
    /// Another round on the inactive list.
    Keep,
    /// To the active list.
    Activate,
    /// In a locked mapping: to the unevictable list.
    Locked,
}

/// Where a folio went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShrinkOutcome {
    /// It is gone.
    Freed,
    /// It is gone, and nobody wants it back: lazily freed memory.
    Dropped,
    /// It stays inactive.
    Kept(ScanOutcome),
    /// Its active flag is set.
    Activated(ScanOutcome),
    /// It was huge, and is a folio of one page for each page that is mapped now. These are all still
    /// isolated ([`Memory::is_isolated_page`]) and each to be processed like others.
    Split,
}

/// Who shrinks, and how far it may go.
#[derive(Clone, Copy, Debug)]
pub struct Shrinking {
    /// Who.
    pub by: Reclaimer,
    /// Dirty folios may be written.
    pub may_writepage: bool,
    /// A mapped folio that is marked as referenced is kept: a walk of page tables has found it
    /// accessed since it was isolated, which clears the mark.
    pub keep_marked: bool,
    /// kswapd writes file folios that it meets again, while many are dirty.
    pub writes_files: bool,
}

/// Sums over the folios of one batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchStats {
    /// Conditions met.
    pub pass: PassStats,
    /// Folio pages whose lock was free.
    pub scanned: u64,
    /// Activated, by type.
    pub activated: PerType<u64>,
    /// Written, or their write begun.
    pub pageout: u64,
    /// Freed.
    pub reclaimed: u64,
}

/// Processes one isolated folio. `judge` asks for references; `shadow` is called when the
/// folio is about to be freed and says what it leaves behind.
#[inline]
pub fn shrink_folio(
    mem: &mut Memory,
    folio: FolioId,
    how: Shrinking,
    stats: &mut BatchStats,
    judge: impl FnOnce(&mut Memory, FolioId) -> Judgement,
    shadow: impl FnOnce(&mut Memory, FolioId) -> Option<Shadow>,
) -> ShrinkOutcome {
    let bits = mem.frames.bits(folio);
    if bits & flag::LOCKED != 0 {
        return ShrinkOutcome::Kept(ScanOutcome::KeepBusy);
    }
    let pages = pages_of(bits);
    stats.scanned += pages;
    if bits & flag::MLOCKED != 0 {
        return ShrinkOutcome::Activated(ScanOutcome::Unevictable);
    }
    if how.keep_marked && bits & flag::REFERENCED != 0 && mem.frames.mapped(folio) != Mapped::No {
        return ShrinkOutcome::Kept(ScanOutcome::KeepReferenced);
    }
    let kswapd = matches!(how.by, Reclaimer::Kswapd);
    let writeback = bits & flag::WRITEBACK != 0;
    // The flusher does not care about anonymous memory.
    if bits & flag::SWAPBACKED == 0 && !mem.is_lazyfree(folio) {
        let dirty = bits & flag::DIRTY != 0;
        stats.pass.unqueued_dirty += u64::from(dirty && !writeback);
    }
    if writeback {
        let recycled = bits & flag::RECLAIM != 0;
        if kswapd && recycled && mem.node_flags[mem.node_of(folio)].writeback {
            stats.pass.immediate += 1;
        } else {
            mem.frames.set(folio, flag::RECLAIM);
            stats.pass.writeback += 1;
        }
        return activate_out(mem, folio, stats, ScanOutcome::ActivateWriteback);
    }
    let clean_only = match judge(mem, folio) {
        Judgement::Activate => {
            return activate_out(mem, folio, stats, ScanOutcome::ActivateReferenced);
        }
        Judgement::Locked => {
            mem.mlock(folio);
            return ShrinkOutcome::Activated(ScanOutcome::Unevictable);
        }
        Judgement::Keep => return ShrinkOutcome::Kept(ScanOutcome::KeepReferenced),
        Judgement::ReclaimClean => true,
        Judgement::Reclaim => false,
    };
    if pages > 1 {
        stats.scanned -= pages;
        mem.split_frames(folio);
        return ShrinkOutcome::Split;
    }
    let evicting = Evicting {
        by: how.by,
        may_writepage: how.may_writepage,
        may_write_file: how.writes_files
            && kswapd
            && mem.frames.has(folio, flag::RECLAIM)
            && mem.node_flags[mem.node_of(folio)].dirty,
        clean_only,
    };
    match mem.prepare_evict(folio, evicting) {
        Prepared::Keep { why, wrote } => {
            stats.pageout += u64::from(wrote);
            ShrinkOutcome::Kept(why)
        }
        Prepared::Activate { why: ScanOutcome::Unevictable } => {
            mem.mlock(folio);
            ShrinkOutcome::Activated(ScanOutcome::Unevictable)
        }
        Prepared::Activate { why } => activate_out(mem, folio, stats, why),
        Prepared::Dropped => {
            stats.reclaimed += 1;
            ShrinkOutcome::Dropped
        }
        Prepared::Ready { wrote } => {
            stats.pageout += u64::from(wrote);
            let s = shadow(mem, folio);
            mem.finish_evict(folio, how.by, s, wrote);
            stats.reclaimed += 1;
            ShrinkOutcome::Freed
        }
    }
}

fn activate_out(
    mem: &mut Memory,
    folio: FolioId,
    stats: &mut BatchStats,
    why: ScanOutcome,
) -> ShrinkOutcome {
    // A full swap device wants its slots back: the page is in use, its copy is a luxury.
    if mem.frames.has(folio, flag::SWAPCACHE)
        && mem.frames.mapped(folio) != Mapped::No
        && !mem.frames.has(folio, flag::WRITEBACK)
        && mem.swap.as_ref().is_some_and(|s| s.full() && s.count(mem.frames.slot(folio)) == 0)
    {
        mem.drop_swapcache(folio);
        mem.frames.set(folio, flag::DIRTY);
    }
    mem.activate(folio);
    let file = mem.frames.is_file_lru(folio);
    stats.activated[LruType::of(file)] += mem.frames.pages(folio);
    ShrinkOutcome::Activated(why)
}

/// How many tree nodes that hold only shadows are kept beside so many pages: one for eight.
///
/// No refault distance beyond the number of pages is ever answered, so there need not be more
/// shadows than pages. A node has room for 64; if on average 8 of them are taken, these nodes hold
/// as many shadows as there are pages. Linux 6.12 mm/workingset.c (`count_shadow_nodes`).
pub const fn shadow_nodes_allowed(pages: u64) -> u64 {
    pages >> 3
}
