//! Throttled refault distance on paper: a page that comes back is let in only while its distance is
//! below the smaller of the sums of active and inactive pages. A reader goes round and round more
//! pages than memory holds. Its held pages are active; a miss enters the inactive pages, of which the
//! oldest is evicted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Pages of the cycle that are held in the end, of `memory` pages: `held` of them at the beginning, and
/// `stale` active pages that are never used.
fn held_in_the_end(memory: usize, cycle: u32, held: u32, stale: usize) -> usize {
    let mut active: BTreeSet<u32> = (0..held).collect();
    let mut inactive = VecDeque::new();
    let (mut evicted, mut age) = (BTreeMap::new(), 0);
    for page in (0..100).flat_map(|_| 0..cycle) {
        if active.contains(&page) || inactive.contains(&page) {
            continue;
        }
        if active.len() + stale + inactive.len() >= memory {
            evicted.insert(inactive.pop_front().expect("an inactive page"), age);
            age += 1;
        }
        let most = (active.len() + stale).min(inactive.len());
        match evicted.remove(&page) {
            Some(then) if age - then < most => _ = active.insert(page),
            _ => inactive.push_back(page),
        }
    }
    active.len()
}

/// Without a start nothing is let in. From D - F + 2 held pages on, what is held grows to
/// 2 F - D - 2 S - 2; from a cycle of 1.5 F - 2 on nothing grows.
#[test]
fn throttling_holds_a_part_of_a_cycle_once_something_starts_it() {
    for (cycle, least) in [(110, 12), (125, 27), (140, 42)] {
        assert_eq!(held_in_the_end(100, cycle, 0, 0), 0);
        assert_eq!(held_in_the_end(100, cycle, least - 1, 0), least as usize - 1, "{cycle}");
        assert_eq!(held_in_the_end(100, cycle, least, 0), 198 - cycle as usize, "{cycle}");
    }
    assert_eq!(held_in_the_end(100, 150, 51, 0), 51);
    assert_eq!((held_in_the_end(100, 110, 15, 10), held_in_the_end(100, 110, 12, 20)), (68, 48));
}
