//! Ages of lazily freed pages when they are dropped, and the share of drops that came too soon.
//!
//! A reviewer objected to putting them at the tail of a list, where reclaim begins: what was freed
//! last goes first, and memory that a program is about to use again is dropped while older garbage
//! stays. Two figures say whether it matters: the age of a page, from `madvise` to the drop, and
//! the share of dropped pages that are touched again within a second, each of which costs a
//! fault and a cleared page. They are taken by watching one seed of each variant.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mmsim_core::base::id::PageIdx;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::memory::trace::{Observer, TraceEvent};

/// Again within this time is too soon.
const SOON: SimDuration = SimDuration::from_secs(1);

/// Fates of the lazily freed pages of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Drops {
    dropped: u64,
    age: SimDuration,
    again: u64,
}

impl Drops {
    /// The mean age of a page when it was dropped, in seconds; not a number if none was.
    pub fn mean_age_s(&self) -> f64 {
        self.age.as_nanos() as f64 / 1e9 / self.dropped as f64
    }
    /// Dropped pages that were touched again within a second, in per cent.
    pub fn again_percent(&self) -> f64 {
        self.again as f64 * 100.0 / self.dropped as f64
    }
}

#[derive(Default)]
struct Pages {
    drops: Drops,
    freed: BTreeMap<PageIdx, SimTime>,
    gone: BTreeMap<PageIdx, SimTime>,
}

impl Pages {
    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        match *event {
            TraceEvent::SimLazyFree { page: Some(page), .. } => {
                self.freed.insert(page, now);
            }
            TraceEvent::SimLazyDrop { page: Some(page), .. } => {
                if let Some(freed) = self.freed.remove(&page) {
                    self.drops.dropped += 1;
                    self.drops.age += now.since(freed);
                    self.gone.insert(page, now);
                }
            }
            // A page that faults is a new one, whatever was there before.
            TraceEvent::PageFault { page, .. } => {
                self.freed.remove(&page);
                if let Some(gone) = self.gone.remove(&page) {
                    self.drops.again += u64::from(now.since(gone) <= SOON);
                }
            }
            _ => {}
        }
    }
}

/// Follows the lazily freed pages of a run.
#[derive(Clone, Default)]
pub struct Following(Arc<Mutex<Pages>>);

impl Following {
    /// Fates of those that it has seen.
    pub fn drops(&self) -> Drops {
        self.0.lock().expect("the run has ended").drops.clone()
    }
}

impl Observer for Following {
    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        self.0.lock().expect("it has no other owner").event(now, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::base::id::{Pfn, ThreadId};

    /// Dropped after 3 s and after 5 s; the first is touched again half a second later, the
    /// second two seconds later. A third is unmapped and faulted anew before anything drops it.
    #[test]
    fn drops_by_hand() {
        let mut pages = Pages::default();
        let freed = |page: u32| TraceEvent::SimLazyFree { pfn: Pfn(1), page: Some(PageIdx(page)) };
        let drop = |page: u32| TraceEvent::SimLazyDrop { pfn: Pfn(1), page: Some(PageIdx(page)) };
        let fault = |page: u32| TraceEvent::PageFault {
            thread: ThreadId(0),
            page: PageIdx(page),
            write: true,
            kind: mmsim_core::memory::trace::FaultKind::ZeroFill,
            major: false,
            pfn: Some(Pfn(1)),
        };
        let ms = |n: u64| SimTime(n * 1_000_000);
        for (at, event) in [
            (0, freed(1)),
            (0, freed(2)),
            (0, freed(3)),
            (3000, drop(1)),
            (3500, fault(1)),
            (4000, fault(3)),
            (5000, drop(2)),
            (6000, drop(3)),
            (7000, fault(2)),
        ] {
            pages.event(ms(at), &event);
        }
        assert_eq!((pages.drops.dropped, pages.drops.again), (2, 1));
        assert_eq!((pages.drops.mean_age_s(), pages.drops.again_percent()), (4.0, 50.0));
    }
}
