//! Whether a run makes sense: there is no block yet, there is room to move pages to, and it is
//! fragmentation that stands in the way.
//!
//! Source: Linux 4.1 mm/compaction.c (`__compaction_suitable`).

use crate::config::CompactionConfig;
use mmsim_core::phys::gfp::AllocFlags;
use mmsim_core::phys::zones::{Mark, Zone};
use mmsim_core::policy::compaction::{CompactRequest, CompactResult};

/// What is free beyond the watermark if a run for this order is to start (`compact_gap`): the
/// block itself, and as much for pages on their way.
pub const fn compact_gap(order: u8) -> u64 {
    2 << order
}

/// Whether lack of memory is to blame for failures, by the fragmentation index.
pub const fn lacks_memory(index: i64, threshold: u32) -> bool {
    0 <= index && index <= threshold as i64
}

/// Whether the zone can serve the request at its low watermark.
pub(crate) fn watermark_ok(zone: &Zone, order: u8, req: &CompactRequest) -> bool {
    let mark = zone.watermark[Mark::Low as usize] + zone.boost;
    zone.leaves(order, mark, req.highest, AllocFlags::default(), zone.free)
}

/// The answer of [`mmsim_core::policy::compaction::Compaction::suitable`].
pub(crate) fn suitable(
    rules: &CompactionConfig,
    zone: &Zone,
    req: &CompactRequest,
) -> CompactResult {
    let Some(order) = req.order else { return CompactResult::Continue };
    if watermark_ok(zone, order, req) {
        return CompactResult::Success;
    }
    let mark = zone.watermark[Mark::Low as usize] + zone.boost + compact_gap(order);
    let room = zone.leaves(0, mark, req.highest, AllocFlags::default(), zone.free);
    if !room || lacks_memory(zone.fragmentation_index(order), rules.extfrag_threshold.get()) {
        return CompactResult::Skipped;
    }
    CompactResult::Continue
}
