//! Pages that a run fetches again, whatever its policy counts.
//!
//! Refaults are counted by shadows, which a policy need not leave. Two counts of pages that come
//! back need no observer: each page that is read from swap (`pswpin`), and each page of a file that
//! enters the page cache and was there before. MIN never fetches more than that with as many
//! frames.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mmsim_core::base::id::FileId;
use mmsim_core::base::time::SimTime;
use mmsim_core::memory::trace::{Observer, TraceEvent, TraceKind, TraceKinds};

/// Counts pages of files that come to the page cache again.
#[derive(Debug, Default)]
pub struct Again {
    cached: BTreeSet<(FileId, u32)>,
    count: Arc<AtomicU64>,
}

impl Again {
    /// Where it counts.
    pub fn count(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.count)
    }
}

impl Observer for Again {
    fn kinds(&self) -> TraceKinds {
        TraceKinds::of(&[TraceKind::MmFilemapAddToPageCache])
    }

    fn event(&mut self, _: SimTime, event: &TraceEvent) {
        if let TraceEvent::MmFilemapAddToPageCache { file, index, .. } = *event
            && !self.cached.insert((file, index))
        {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }
}
