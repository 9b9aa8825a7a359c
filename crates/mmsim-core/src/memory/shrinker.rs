//! Number of objects that a shrinker frees in a pass of reclaim: the rule that all of them follow.
//!
//! A shrinker says how many objects it could free. Reclaim asks it for a part of them that grows as
//! its priority drops, in batches. What is less than a batch waits for another pass, unless it is all.
//!
//! Source: Linux 5.5, 6.1 and 6.12 mm/vmscan.c and mm/shrinker.c (`do_shrink_slab`).

/// Objects that a shrinker frees at a time (`SHRINK_BATCH`).
const SHRINK_BATCH: u64 = 128;

/// A shrinker as a pass of reclaim finds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shrinking {
    /// Objects that it could free.
    pub freeable: u64,
    /// Objects that earlier passes left for later.
    pub deferred: u64,
    /// Cost of making an object anew, in seeks of a disk; 0: nothing.
    pub seeks: u64,
}

impl Shrinking {
    /// Numbers of objects that are scanned at a priority, and that are left for later: half of
    /// those that cost nothing, of others four by `seeks` shifted by the priority. What waited
    /// counts in full, or only as the priority has dropped (`by_priority`).
    pub(super) fn at(self, priority: u8, by_priority: bool) -> (u64, u64) {
        self.scan(priority, by_priority, |_| true)
    }

    /// The same where a batch may stop it (`SHRINK_STOP`): then that batch does not count as scanned.
    pub(super) fn scan(
        self,
        priority: u8,
        by_priority: bool,
        mut batch: impl FnMut(u64) -> bool,
    ) -> (u64, u64) {
        let Shrinking { freeable, deferred, seeks } = self;
        let delta = match seeks {
            0 => freeable / 2,
            _ => (freeable >> priority) * 4 / seeks,
        };
        let waited = if by_priority { deferred >> priority } else { deferred };
        let mut total = waited + delta;
        if !by_priority && delta < freeable / 4 {
            total = total.min(freeable / 2);
        }
        total = total.min(2 * freeable);
        let mut scanned = 0;
        while total > 0 && (total >= SHRINK_BATCH || total >= freeable) {
            let n = total.min(SHRINK_BATCH);
            if !batch(n) {
                break;
            }
            total -= n;
            scanned += n;
        }
        let left = (deferred + delta).saturating_sub(scanned);
        (scanned, if by_priority { left.min(2 * freeable) } else { left })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(freeable: u64, deferred: u64, priority: u8, by_priority: bool) -> (u64, u64) {
        Shrinking { freeable, deferred, seeks: 0 }.at(priority, by_priority)
    }

    fn seek(freeable: u64, deferred: u64, priority: u8, by_priority: bool) -> (u64, u64) {
        Shrinking { freeable, deferred, seeks: 2 }.at(priority, by_priority)
    }

    /// Followed by hand through `do_shrink_slab` of 5.5 and 6.12.
    #[test]
    fn half_of_the_excess_goes_in_batches() {
        for by_priority in [false, true] {
            assert_eq!(free(1000, 0, 12, by_priority), (384, 116), "three batches of 500");
            assert_eq!(free(256, 0, 12, by_priority), (128, 0));
            assert_eq!(free(1, 0, 12, by_priority), (0, 0), "half of one is none");
            assert_eq!(free(100, 0, 12, by_priority), (0, 50), "less than a batch waits");
        }
        // 5.5: what waited is added, and then it is all.
        assert_eq!(free(40, 20, 12, false), (40, 0));
        assert_eq!(free(100, 90, 12, false), (128, 12), "a batch is not cut");
        assert_eq!(free(100, 500, 12, false), (128, 422), "at most twice of what there is");
        // 6.12: only as the priority has dropped, and no more than twice of it waits.
        assert_eq!(free(100, 50, 12, true), (0, 100));
        assert_eq!(free(100, 200, 12, true), (0, 200));
        assert_eq!(free(100, 200, 1, true), (128, 122));
    }

    /// Followed by hand likewise, for objects of the usual two seeks.
    #[test]
    fn objects_that_cost_seeks_go_by_priority() {
        // Priority at which the first of `freeable` objects go, and their number then.
        let first = |freeable| {
            let mut at = (0..=12).rev().map(|p| (p, seek(freeable, 0, p, true).0));
            at.find(|a| a.1 > 0)
        };
        assert_eq!(first(1), Some((0, 2)), "2 are requested, of one");
        assert_eq!(first(16), Some((1, 16)));
        assert_eq!(first(127), Some((0, 128)));
        assert_eq!(first(128), Some((1, 128)));
        assert_eq!(first(512), Some((3, 128)));
        assert_eq!(first(4096), Some((6, 128)));
        // 5.5: of what waited, half of all there is at most at a gentle priority.
        assert_eq!(seek(1000, 900, 12, false), (384, 516));
        assert_eq!(seek(1000, 900, 12, true), (0, 900));
    }

    /// The specification's example, followed by hand: of 1750 entries at priority 4 one batch is
    /// scanned. If it writes nothing it does not count, and all of it waits.
    #[test]
    fn a_batch_in_vain_does_not_count() {
        let entries = |deferred| Shrinking { freeable: 1750, deferred, seeks: 2 };
        assert_eq!(entries(0).scan(4, true, |_| true), (128, 90));
        assert_eq!(entries(0).scan(4, true, |_| false), (0, 218));
        assert_eq!(entries(218).scan(4, true, |_| true), (128, 308));
    }
}
