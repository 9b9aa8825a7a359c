//! End of a run: the order of these tests decides what counts as a success.
//!
//! Source: Linux 4.1 mm/compaction.c (`__compact_finished`).

use super::CompactControl;
use crate::suitable::{has_block, watermark_ok};
use mmsim_core::base::compact_result::CompactResult;
use mmsim_core::phys::watermarks::Mark;
use mmsim_core::policy::compaction::Compactor;

impl CompactControl<'_> {
    /// End of the run; [`CompactResult::Continue`]: it goes on.
    pub(crate) fn finished(&mut self) -> CompactResult {
        if let Some(result) = self.been_everywhere() {
            return result;
        }
        if self.left < 0 {
            return CompactResult::Contended;
        }
        let Some(order) = self.req.order else { return CompactResult::Continue };
        let zone = &self.mem.zones[self.req.zone];
        if !watermark_ok(zone, order, Mark::Low, self.req)
            || !has_block(zone.buddy(), order, self.req.migratetype)
        {
            return CompactResult::Continue;
        }
        self.zone.depletion.success += 1;
        CompactResult::Success
    }

    /// Ends the run if the scanners met, or the sweep came to its end; then the next run starts
    /// anew.
    fn been_everywhere(&mut self) -> Option<CompactResult> {
        let asynchronous = self.asynchronous();
        let z = &mut *self.zone;
        if self.rules.whole_zone_sweep {
            if self.migrate_pfn < z.end {
                return None;
            }
            z.cached_migrate[0] = z.end;
            if asynchronous {
                return Some(CompactResult::Contended);
            }
            z.cached_migrate = [z.first; 2];
        } else {
            if self.free_pfn > self.migrate_pfn {
                return None;
            }
            z.start_anew(self.rules);
        }
        z.flush |= self.req.by != Compactor::Kswapd;
        Some(CompactResult::Complete)
    }
}
