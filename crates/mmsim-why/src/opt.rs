//! The bound below all policies: Belady's MIN on a recorded sequence of page accesses.
//!
//! Whoever knows the future evicts the page whose next access is farthest away (L. A.
//! Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
//! Journal 5, 1966). No demand-paging policy misses less often with the same number of
//! frames. Demand paging means that a missed page is brought in and nothing else is;
//! readahead can therefore miss *less* often than this, though it reads as many pages in all:
//! then the figure is an orientation and no bound of misses.
//!
//! One pass backwards notes where each access's page is accessed next. One pass forwards keeps
//! those positions of resident pages as bits, and bits about words of bits: constant time an
//! access, nearly, and 4 bytes an access.

use std::borrow::Cow;

/// The position that never comes.
const NEVER: u32 = u32::MAX;

/// The pages of a sequence under numbers below a bound: their own, unless those are scattered.
fn dense(seq: &[u32]) -> (Cow<'_, [u32]>, usize) {
    assert!(seq.len() < NEVER as usize, "a sequence of {} accesses is too long", seq.len());
    let bound = seq.iter().max().map_or(0, |&n| n as usize + 1);
    if bound <= 2 * seq.len() {
        return (seq.into(), bound);
    }
    let mut pages = seq.to_vec();
    pages.sort_unstable();
    pages.dedup();
    let number = |p: &u32| pages.binary_search(p).expect("every page is in the list") as u32;
    (seq.iter().map(number).collect(), pages.len())
}

/// A set of positions that knows its last. A bit of each level is about a word of the level below.
struct Positions(Vec<Vec<u64>>);

impl Positions {
    /// For positions below `end`.
    fn new(end: usize) -> Self {
        let mut levels = vec![vec![0; end.div_ceil(64)]];
        while let above @ 2.. = levels[levels.len() - 1].len() {
            levels.push(vec![0; above.div_ceil(64)]);
        }
        Positions(levels)
    }

    fn insert(&mut self, at: u32) {
        let mut at = at as usize;
        for level in &mut self.0 {
            level[at / 64] |= 1 << (at % 64);
            at /= 64;
        }
    }

    /// Returns true if it was there.
    fn remove(&mut self, at: u32) -> bool {
        let mut at = at as usize;
        if self.0[0][at / 64] & 1 << (at % 64) == 0 {
            return false;
        }
        for level in &mut self.0 {
            level[at / 64] &= !(1 << (at % 64));
            if level[at / 64] != 0 {
                break;
            }
            at /= 64;
        }
        true
    }

    fn last(&self) -> Option<u32> {
        self.0
            .iter()
            .rev()
            .try_fold(0, |word, level| {
                let bit = level[word].checked_ilog2()?;
                Some(64 * word + bit as usize)
            })
            .map(|at| at as u32)
    }
}

/// Misses of MIN on a sequence of page accesses with `capacity` frames, the first access
/// to each page included.
pub fn min_misses(seq: &[u32], capacity: usize) -> u64 {
    if capacity == 0 || seq.is_empty() {
        return seq.len() as u64;
    }
    let (seq, bound) = dense(seq);

    let mut next = vec![NEVER; seq.len()];
    let mut seen_at = vec![NEVER; bound];
    for (i, &page) in seq.iter().enumerate().rev() {
        next[i] = seen_at[page as usize];
        seen_at[page as usize] = i as u32;
    }
    let pages = seen_at.iter().filter(|&&at| at != NEVER).count();
    if pages <= capacity {
        return pages as u64;
    }

    // Where resident pages are used next. Those that are not used any more are counted.
    let (mut ahead, mut done) = (Positions::new(seq.len()), 0_usize);
    let mut nr_resident = 0;
    let mut misses = 0;
    for (i, &next) in next.iter().enumerate() {
        if !ahead.remove(i as u32) {
            misses += 1;
            if nr_resident < capacity {
                nr_resident += 1;
            } else if done > 0 {
                done -= 1;
            } else {
                let farthest = ahead.last().expect("every resident page has a next use");
                ahead.remove(farthest);
            }
        }
        match next {
            NEVER => done += 1,
            at => ahead.insert(at),
        }
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
    use std::collections::{BTreeMap, BTreeSet};

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
            let pages = seq.iter().collect::<BTreeSet<_>>().len();
            prop_assert!(min >= pages as u64);
            if capacity >= pages {
                prop_assert_eq!(min, pages as u64);
            }
        }
    }

    /// Beside OPTgen, over three levels of bits; with the same pages under scattered numbers.
    #[test]
    fn long_sequences_have_what_min_has_as_it_goes() {
        let mut rng = mmsim_core::base::rng::Rng::for_purpose(1, "opt/test");
        let seq: Vec<u32> =
            (0..10_000).map(|_| rng.below(30).pow(2) as u32 + rng.below(9) as u32).collect();
        let scattered: Vec<u32> = seq.iter().map(|page| page * 1_000_003).collect();
        for frames in [1, 20, 300, 600] {
            let (mut min, mut last) = (crate::min::Min::new(frames), BTreeMap::new());
            let misses = seq.iter().filter(|&&page| {
                let hit = min.used(last.insert(page, min.now()));
                min.tick(frames);
                !hit
            });
            let misses = misses.count() as u64;
            assert_eq!(min_misses(&seq, frames as usize), misses, "{frames}");
            assert_eq!(min_misses(&scattered, frames as usize), misses, "{frames}");
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
