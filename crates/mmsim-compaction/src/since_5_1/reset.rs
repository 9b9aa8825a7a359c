//! Forgetting what scanners learned: skip bits go where a sample says that a pageblock may be
//! of use again, and the scanners start from the outermost of these.
//!
//! Source: Linux 6.12 mm/compaction.c (`__reset_isolation_suitable`, `__reset_isolation_pfn`).

use crate::zone::ZoneState;
use mmsim_core::base::id::{Pfn, ZoneId};
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FrameKind, flag};
use mmsim_core::phys::gfp::PAGE_ALLOC_COSTLY_ORDER;

/// True if a pageblock is a huge page, or of one, which is never moved
/// (`pageblock_skip_persistent`).
pub(super) fn is_huge_page(mem: &Memory, start: Pfn, pageblock_order: u8) -> bool {
    matches!(mem.frames.kind(start), FrameKind::Anon | FrameKind::HugeTlb)
        && mem.frames.order(start) >= pageblock_order
}

/// Clears the skip bit of a pageblock if one of every eight of its frames is a page of a list
/// (for sources) or a free block (for targets). Whether it is clear.
fn clear(state: &mut ZoneState, mem: &Memory, z: ZoneId, pfn: u32, roles: (bool, bool)) -> bool {
    let (source, target) = roles;
    let buddy = mem.zones[z].buddy();
    let start = pfn >> state.pageblock_order << state.pageblock_order;
    if is_huge_page(mem, Pfn(start), state.pageblock_order) {
        return false;
    }
    if source && target && !*state.skip_mut(pfn, false) {
        return true;
    }
    if !source && target && buddy.block_type(Pfn(pfn)) != Migratetype::Movable {
        return false;
    }
    let end = (start + (1 << state.pageblock_order)).min(state.end);
    let run = buddy.untouched();
    let free = |p: u32| {
        let head = p.is_multiple_of(1 << buddy.rules().max_order);
        if run.contains(&p) { head } else { mem.frames.free_head(Pfn(p)).is_some() }
    };
    let of_use = |p: u32| source && mem.frames.has(Pfn(p), flag::LRU) || target && free(p);
    let useful = (start..end).step_by(1 << PAGE_ALLOC_COSTLY_ORDER).any(of_use);
    if useful {
        *state.skip_mut(pfn, false) = false;
    }
    useful
}

/// Forgets, if a run on behalf of a request saw all of the zone. Whether it did.
pub(crate) fn reset(state: &mut ZoneState, mem: &Memory, z: ZoneId) -> bool {
    if !state.flush {
        return false;
    }
    state.flush = false;
    state.cycle += 1;
    state.failures.failed = 0;
    let size = 1u32 << state.pageblock_order;
    let (mut migrate, mut free) = (state.first, i64::from(state.end) - 1);
    let (mut low, mut high) = (state.end - 1, state.first);
    let (mut source_set, mut free_set) = (false, false);
    while i64::from(migrate) < free {
        if clear(state, mem, z, migrate, (true, source_set)) && migrate < low {
            source_set = true;
            low = migrate;
            state.init_migrate = Some(low);
            state.cached_migrate = [low; 2];
        }
        let f = free as u32;
        if clear(state, mem, z, f, (free_set, true)) && f > high {
            free_set = true;
            high = f;
            state.init_free = high;
            state.cached_free = high;
        }
        migrate += size;
        free -= i64::from(size);
    }
    if low >= high {
        state.cached_migrate = [migrate; 2];
        state.cached_free = free.max(0) as u32;
    }
    true
}
