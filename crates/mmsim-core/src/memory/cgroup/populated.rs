//! Which groups hold pages: a set of positions in pre-order that finds the next one quickly.
//!
//! A machine may have a million groups of which ten hold pages. Linux visits them all and leaves
//! the empty ones at once, since a group without usage is within any `memory.min`. A walk here goes
//! from one group that holds pages to the next and meets the same groups.
//!
//! Each word of a level says which words of the level below are not 0.

/// A set of small numbers.
#[derive(Clone, Debug)]
pub(super) struct Populated {
    levels: Vec<Vec<u64>>,
}

impl Populated {
    /// The empty set, for numbers below `n`.
    pub(super) fn new(n: usize) -> Populated {
        let mut levels = Vec::new();
        let mut words = n.div_ceil(64).max(1);
        loop {
            levels.push(vec![0; words]);
            if words == 1 {
                return Populated { levels };
            }
            words = words.div_ceil(64);
        }
    }

    pub(super) fn insert(&mut self, n: u32) {
        let mut n = n as usize;
        for words in &mut self.levels {
            words[n / 64] |= 1 << (n % 64);
            n /= 64;
        }
    }

    pub(super) fn remove(&mut self, n: u32) {
        let mut n = n as usize;
        for words in &mut self.levels {
            words[n / 64] &= !(1 << (n % 64));
            if words[n / 64] != 0 {
                return;
            }
            n /= 64;
        }
    }

    /// The smallest number of the set that is no less than `n`.
    pub(super) fn next(&self, n: u32) -> Option<u32> {
        let mut n = n as usize;
        for (i, words) in self.levels.iter().enumerate() {
            let rest = words.get(n / 64)? & (u64::MAX << (n % 64));
            if rest == 0 {
                n = n / 64 + 1;
                continue;
            }
            let mut found = n / 64 * 64 + rest.trailing_zeros() as usize;
            for below in self.levels[..i].iter().rev() {
                found = found * 64 + below[found].trailing_zeros() as usize;
            }
            return Some(found as u32);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use std::collections::BTreeSet;

    /// Agrees with a set of the standard library after every step.
    #[test]
    fn the_next_one_is_found_over_gaps() {
        for most in [1, 64, 65, 5000, 300_000] {
            let (mut set, mut model) = (Populated::new(most as usize), BTreeSet::new());
            let mut rng = Rng::for_purpose(1, "populated");
            for _ in 0..300 {
                let n = rng.below(most) as u32;
                if rng.below(3) == 0 {
                    set.remove(n);
                    model.remove(&n);
                } else {
                    set.insert(n);
                    model.insert(n);
                }
                let from = rng.below(most) as u32;
                assert_eq!(set.next(from), model.range(from..).next().copied());
            }
        }
    }
}
