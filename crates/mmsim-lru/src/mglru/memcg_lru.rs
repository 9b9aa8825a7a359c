//! The order in which global reclaim visits groups: an LRU of groups.
//!
//! Groups stand in two generations, old and young, each of eight bins, in which they are put at
//! random. A pass visits the old generation from a bin drawn at random; what it aged or could
//! not use moves to the young one. When the old generation is empty the young one takes its
//! place.
//!
//! Source: Linux 6.12 mm/vmscan.c (`lru_gen_rotate_memcg`, `shrink_many`). Groups live as long as
//! the machine here, so what happens at their coming and going is left out.

use crate::index::LruvecIds;
use mmsim_core::base::id::{IndexVec, MemcgId};
use mmsim_core::base::rng::Rng;

/// Number of generations (`MEMCG_NR_GENS`): old, young, and the one after.
const GENS: usize = 3;
/// Bins of a generation (`MEMCG_NR_BINS`).
const BINS: usize = 8;

/// Where a group is moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rotation {
    /// To the tail of a bin of its generation: a second chance to be of use.
    Tail,
    /// To the young generation.
    Young,
}

#[derive(Clone, Copy, Debug)]
struct Seat {
    generation: usize,
    bin: usize,
    /// It had its second chance.
    tail: bool,
}

/// The groups of one node in order.
#[derive(Clone, Debug)]
pub(super) struct MemcgLru {
    seq: usize,
    seats: IndexVec<MemcgId, Seat>,
    fifos: [[Vec<MemcgId>; BINS]; GENS],
    rng: Rng,
}

impl MemcgLru {
    pub(super) fn new(ids: LruvecIds, mut rng: Rng) -> Self {
        let mut fifos: [[Vec<MemcgId>; BINS]; GENS] = Default::default();
        let mut seats = IndexVec::new();
        for memcg in ids.memcgs() {
            let bin = rng.below(BINS as u64) as usize;
            fifos[0][bin].push(memcg);
            seats.push(Seat { generation: 0, bin, tail: false });
        }
        MemcgLru { seq: 0, seats, fifos, rng }
    }

    /// The memcgs of the old generation as a pass visits them: by bins from one drawn at random.
    pub(super) fn visit(&mut self) -> Vec<MemcgId> {
        let first = self.rng.below(BINS as u64) as usize;
        let old = &self.fifos[self.seq % GENS];
        (0..BINS).flat_map(|i| old[(first + i) % BINS].iter().copied()).collect()
    }

    /// True if a memcg had its second chance.
    pub(super) fn at_tail(&self, memcg: MemcgId) -> bool {
        self.seats[memcg].tail
    }

    /// Moves a memcg.
    pub(super) fn rotate(&mut self, memcg: MemcgId, to: Rotation) {
        let from = self.seats[memcg];
        self.fifos[from.generation][from.bin].retain(|&m| m != memcg);
        let generation = match to {
            Rotation::Tail => from.generation,
            Rotation::Young => (self.seq + 1) % GENS,
        };
        let bin = self.rng.below(BINS as u64) as usize;
        self.seats[memcg] = Seat { generation, bin, tail: to == Rotation::Tail };
        self.fifos[generation][bin].push(memcg);
        if from.generation == self.seq % GENS
            && self.fifos[from.generation].iter().all(Vec::is_empty)
        {
            self.seq += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever moves, each group is visited once before any is visited twice.
    #[test]
    fn groups_take_turns() {
        let mut lru = MemcgLru::new(LruvecIds::new(5), Rng::for_purpose(1, "test"));
        for _ in 0..20 {
            let mut round = Vec::new();
            while round.len() < 5 {
                let next = lru.visit()[0];
                lru.rotate(next, Rotation::Young);
                round.push(next.0);
            }
            round.sort_unstable();
            assert_eq!(round, [0, 1, 2, 3, 4]);
        }
        assert_eq!(lru.seq, 20);
    }

    #[test]
    fn a_second_chance_is_had_in_the_same_generation() {
        let mut lru = MemcgLru::new(LruvecIds::new(2), Rng::for_purpose(1, "test"));
        lru.rotate(MemcgId(0), Rotation::Tail);
        assert!(lru.at_tail(MemcgId(0)) && !lru.at_tail(MemcgId(1)));
        assert_eq!(lru.visit().len(), 2);
        lru.rotate(MemcgId(0), Rotation::Young);
        assert!(!lru.at_tail(MemcgId(0)));
        assert_eq!(lru.visit(), [MemcgId(1)]);
    }
}
