//! Suitability of a zone for a run: there is no block yet, there is room to move pages to, and it
//! is fragmentation that stands in the way.
//!
//! Source: Linux 4.1 mm/compaction.c (`__compaction_suitable`), 6.12
//! (`compaction_suit_allocation_order`).

use crate::config::{CompactionConfig, Scanners};
use mmsim_core::base::compact_result::CompactResult;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::config::VmSysctl;
use mmsim_core::phys::buddy::Buddy;
use mmsim_core::phys::gfp::AllocFlags;
use mmsim_core::phys::watermarks::Mark;
use mmsim_core::phys::zone::Zone;
use mmsim_core::policy::compaction::{CompactRequest, Compactor};

/// Pages that must be free beyond the watermark if a run for this order is to start
/// (`compact_gap`): the block itself, and as much for pages on their way.
pub const fn compact_gap(order: u8) -> u64 {
    2 << order
}

/// True if lack of memory is to blame for failures, by the fragmentation index.
pub const fn lacks_memory(index: i64, threshold: u32) -> bool {
    0 <= index && index <= threshold as i64
}

/// True if the zone can serve the request at a watermark.
pub(crate) fn watermark_ok(zone: &Zone, order: u8, mark: Mark, req: &CompactRequest) -> bool {
    let mark = zone.watermark[mark as usize] + zone.boost;
    zone.leaves(order, mark, req.highest, AllocFlags::default(), zone.free)
}

/// True if a run makes whole pageblocks until the free pages of such alone satisfy the high
/// watermark: kcompactd's, with `vm.defrag_mode`.
pub(crate) fn makes_blocks(vm: &VmSysctl, req: &CompactRequest) -> bool {
    vm.defrag_mode && req.by == Compactor::Kcompactd
}

/// The answer of [`mmsim_core::policy::compaction::Compaction::suitable`].
pub(crate) fn suitable(
    rules: &CompactionConfig,
    zone: &Zone,
    req: &CompactRequest,
    vm: &VmSysctl,
) -> CompactResult {
    let Some(order) = req.order else { return CompactResult::Continue };
    if rules.scanners == Scanners::V6 {
        let (served, mark) = match makes_blocks(vm, req) {
            true => (zone.leaves_whole(order, Mark::High, req.highest), Mark::High),
            false => (watermark_ok(zone, order, req.mark, req), Mark::Min),
        };
        return match zone.compaction_suitable(order, mark, req.highest) {
            _ if served => CompactResult::Success,
            true => CompactResult::Continue,
            false => CompactResult::Skipped,
        };
    }
    if watermark_ok(zone, order, Mark::Low, req) {
        return CompactResult::Success;
    }
    let mark = zone.watermark[Mark::Low as usize] + zone.boost + compact_gap(order);
    let room = zone.leaves(0, mark, req.highest, AllocFlags::default(), zone.free);
    if !room || lacks_memory(zone.fragmentation_index(order), vm.extfrag_threshold) {
        return CompactResult::Skipped;
    }
    CompactResult::Continue
}

/// True if a request would find a block: of its own type, or one that it may steal.
pub(crate) fn has_block(buddy: &Buddy, order: u8, mt: Migratetype) -> bool {
    let cma = mt == Migratetype::Movable && buddy.has_block(order, Migratetype::Cma);
    let steals = |k| buddy.could_steal(k, mt);
    buddy.has_block(order, mt) || cma || (order..=buddy.rules().max_order).any(steals)
}
