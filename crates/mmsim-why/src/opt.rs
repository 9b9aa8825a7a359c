//! The bound below all policies: Belady's MIN on a recorded sequence of page accesses.
//!
//! Whoever knows the future evicts the page whose next access is farthest away (L. A.
//! Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
//! Journal 5, 1966). No demand-paging policy misses less often with the same number of
//! frames. Demand paging means that a missed page is brought in and nothing else is;
//! readahead can therefore miss *less* often than this, though it reads as many pages in all:
//! then the figure is an orientation and no bound of misses.
//!
//! One pass backwards notes where each access's page is accessed next, one pass forwards
//! keeps the resident pages in a heap by that position: O(n log n) time, 12 bytes per
//! access and little more.

use std::collections::BinaryHeap;

/// The position that never comes.
const NEVER: u32 = u32::MAX;

/// The pages of a sequence under dense numbers, in the order of their first numbers.
fn dense(seq: &[u32]) -> (Vec<u32>, usize) {
    assert!(seq.len() < NEVER as usize, "a sequence of {} accesses is too long", seq.len());
    let mut pages = seq.to_vec();
    pages.sort_unstable();
    pages.dedup();
    let number = |p: &u32| pages.binary_search(p).expect("every page is in the list") as u32;
    (seq.iter().map(number).collect(), pages.len())
}

/// Misses of MIN on a sequence of page accesses with `capacity` frames, the first access
/// to each page included.
pub fn min_misses(seq: &[u32], capacity: usize) -> u64 {
    if capacity == 0 {
        return seq.len() as u64;
    }
    let (seq, pages) = dense(seq);

    let mut next = vec![NEVER; seq.len()];
    let mut seen_at = vec![NEVER; pages];
    for (i, &page) in seq.iter().enumerate().rev() {
        next[i] = seen_at[page as usize];
        seen_at[page as usize] = i as u32;
    }

    let mut resident = vec![false; pages];
    let mut nr_resident = 0;
    let mut misses = 0;
    // (next access, page). A hit pushes a new entry and leaves the old one, whose position
    // then lies in the past. Each resident page has exactly one entry that lies ahead,
    // and those sort above all stale ones, so what is popped is never stale.
    let mut heap: BinaryHeap<(u32, u32)> = BinaryHeap::new();
    for (i, &page) in seq.iter().enumerate() {
        if !resident[page as usize] {
            misses += 1;
            if nr_resident == capacity {
                let (at, victim) = heap.pop().expect("every resident page has an entry");
                debug_assert!(at > i as u32 && resident[victim as usize]);
                resident[victim as usize] = false;
            } else {
                nr_resident += 1;
            }
            resident[page as usize] = true;
        }
        // Stale entries go before they outnumber the others: constant cost per access.
        if heap.len() > 2 * nr_resident + 64 {
            heap.retain(|&(at, _)| at > i as u32);
        }
        heap.push((next[i], page));
    }
    misses
}

/// Misses of exact LRU on the same terms: the yardstick that MIN is tested against, since
/// it can never be worse. By stack distances (R. L. Mattson and others, "Evaluation
/// techniques for storage hierarchies", IBM Systems Journal 9, 1970): an access misses if
/// at least `capacity` other pages were accessed since the last access to its page. They
/// are counted in a Fenwick tree over positions that holds a one where some page was last
/// accessed.
pub fn lru_misses(seq: &[u32], capacity: usize) -> u64 {
    let (seq, pages) = dense(seq);
    let mut tree = vec![0_i32; seq.len() + 1];
    let add = |tree: &mut Vec<i32>, at: usize, n: i32| {
        let mut i = at + 1;
        while i < tree.len() {
            tree[i] += n;
            i += i & i.wrapping_neg();
        }
    };
    // Ones at positions below `end`.
    let below = |tree: &Vec<i32>, end: usize| {
        let (mut sum, mut i) = (0_i32, end);
        while i > 0 {
            sum += tree[i];
            i &= i - 1;
        }
        sum
    };
    let mut last = vec![NEVER; pages];
    let mut misses = 0;
    for (i, &page) in seq.iter().enumerate() {
        let before = last[page as usize];
        if before == NEVER {
            misses += 1;
        } else {
            let since = below(&tree, i) - below(&tree, before as usize + 1);
            if since as usize >= capacity {
                misses += 1;
            }
            add(&mut tree, before as usize, -1);
        }
        add(&mut tree, i, 1);
        last[page as usize] = i as u32;
    }
    misses
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The fewest misses over all ways to evict: tries every one.
    fn brute_force(seq: &[u32], capacity: usize, resident: &mut Vec<u32>) -> u64 {
        let Some((page, rest)) = seq.split_first() else { return 0 };
        if capacity == 0 {
            return seq.len() as u64;
        }
        if resident.contains(page) {
            return brute_force(rest, capacity, resident);
        }
        if resident.len() < capacity {
            resident.push(*page);
            let n = brute_force(rest, capacity, resident);
            resident.pop();
            return 1 + n;
        }
        let try_victim = |i: usize| {
            let mut after = resident.clone();
            after[i] = *page;
            brute_force(rest, capacity, &mut after)
        };
        1 + (0..resident.len()).map(try_victim).min().unwrap_or(0)
    }

    fn naive_lru(seq: &[u32], capacity: usize) -> u64 {
        let mut stack: Vec<u32> = Vec::new();
        let mut misses = 0;
        for &page in seq {
            match stack.iter().position(|&p| p == page) {
                Some(i) if i < capacity => drop(stack.remove(i)),
                Some(i) => {
                    stack.remove(i);
                    misses += 1;
                }
                None => misses += 1,
            }
            stack.insert(0, page);
        }
        misses
    }

    proptest! {
        #[test]
        fn min_is_the_best_of_all_ways(
            seq in prop::collection::vec(0_u32..6, 0..12),
            capacity in 0_usize..5,
        ) {
            prop_assert_eq!(min_misses(&seq, capacity), brute_force(&seq, capacity, &mut vec![]));
        }

        #[test]
        fn lru_by_distances_is_lru_by_a_stack(
            seq in prop::collection::vec(0_u32..12, 0..120),
            capacity in 0_usize..14,
        ) {
            prop_assert_eq!(lru_misses(&seq, capacity), naive_lru(&seq, capacity));
        }

        #[test]
        fn min_is_bounded(
            seq in prop::collection::vec(0_u32..60, 0..600),
            capacity in 1_usize..70,
        ) {
            let min = min_misses(&seq, capacity);
            prop_assert!(min <= lru_misses(&seq, capacity));
            // More frames never hurt: MIN is a stack algorithm.
            prop_assert!(min_misses(&seq, capacity + 1) <= min);
            let (_, pages) = dense(&seq);
            prop_assert!(min >= pages as u64);
            if capacity >= pages {
                prop_assert_eq!(min, pages as u64);
            }
        }
    }

    /// Belady's own example as textbooks print it: 9 misses with 3 frames.
    #[test]
    fn the_textbook_sequence() {
        let seq = [7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1];
        assert_eq!(min_misses(&seq, 3), 9);
        assert_eq!(lru_misses(&seq, 3), 12);
    }

    /// A cyclic scan over N+1 pages in N frames. LRU evicts just what comes next and always
    /// misses. MIN gives up the page that it has just left, which is wanted again after N
    /// accesses only: after N misses that fill the frames, one access in N misses, so that L
    /// accesses make N + ceil((L - N) / N) misses.
    #[test]
    fn cyclic_scan_of_one_page_too_many() {
        for n in [1_usize, 2, 3, 10, 64] {
            for len in [n + 1, 2 * n, 5 * n + 3, 40 * n] {
                let seq: Vec<u32> = (0..len as u32).map(|i| i % (n as u32 + 1)).collect();
                assert_eq!(lru_misses(&seq, n), len as u64, "LRU, {n} frames, {len} accesses");
                let expected = n + (len - n).div_ceil(n);
                assert_eq!(min_misses(&seq, n), expected as u64, "{n} frames, {len} accesses");
            }
        }
    }

    /// In general, a cyclic scan over M pages in N < M frames misses at a rate of
    /// (M - N) / (M - 1) in the long run.
    #[test]
    fn cyclic_scan_in_the_long_run() {
        for (m, n) in [(5_u32, 3_usize), (100, 60), (100, 1), (97, 96)] {
            let len = 200 * m;
            let seq: Vec<u32> = (0..len).map(|i| i % m).collect();
            let rate = (f64::from(m) - n as f64) / f64::from(m - 1);
            let expected = rate * f64::from(len);
            let got = min_misses(&seq, n) as f64;
            assert!((got - expected).abs() <= f64::from(m), "{m} pages, {n} frames: {got}");
        }
    }

    #[test]
    fn everything_fits() {
        let seq: Vec<u32> = (0..1000).map(|i| (i * 7919) % 100 * 1_000_003).collect();
        assert_eq!(min_misses(&seq, 100), 100);
        assert_eq!(min_misses(&seq, usize::MAX), 100);
        assert_eq!(lru_misses(&seq, 100), 100);
    }

    #[test]
    fn no_frames_no_accesses() {
        assert_eq!(min_misses(&[1, 1, 1], 0), 3);
        assert_eq!(min_misses(&[], 4), 0);
        assert_eq!(min_misses(&[1, 1, 1], 1), 1);
    }
}
