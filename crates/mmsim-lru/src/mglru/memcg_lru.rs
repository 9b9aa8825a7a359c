//! The order in which global reclaim visits groups: an LRU of groups of all depths.
//!
//! Groups stand in two generations, old and young, each of eight bins, in which they are put at
//! random. A pass visits the old generation from a bin drawn at random; what it aged or could
//! not use moves to the young one. When the old generation is empty the young one takes its
//! place.
//!
//! A group moves when the pass goes on to the next one. So a group that gets a second chance may be
//! met again in the same pass: at the end of its bin, or in one still to come.
//!
//! Source: Linux 6.12 mm/vmscan.c (`lru_gen_rotate_memcg`, `shrink_many`). Bins are lists with links
//! in the seats, because a group leaves its bin from the middle.

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
    /// To the head of a bin of the old generation: the next to be visited.
    Old,
}

#[derive(Clone, Copy, Debug)]
struct Seat {
    generation: usize,
    bin: usize,
    /// It had its second chance.
    tail: bool,
    /// Its neighbours in the bin, towards the head and the tail.
    before: Option<MemcgId>,
    after: Option<MemcgId>,
}

/// A bin: its first and its last group.
#[derive(Clone, Copy, Default, Debug)]
struct Bin {
    head: Option<MemcgId>,
    tail: Option<MemcgId>,
}

/// The groups of one node in order.
#[derive(Clone, Debug)]
pub(super) struct MemcgLru {
    seq: usize,
    seats: IndexVec<MemcgId, Seat>,
    bins: [[Bin; BINS]; GENS],
    /// Groups of each generation.
    sizes: [usize; GENS],
    rng: Rng,
}

/// A pass over the old generation, as it was when the pass began.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    generation: usize,
    bin: usize,
    /// Bins still to visit after this one.
    bins_left: usize,
    /// The group to visit next, if this bin has one.
    next: Option<MemcgId>,
}

impl MemcgLru {
    /// The groups of a node: those of `nr_memcgs` that are there.
    pub(super) fn new(nr_memcgs: usize, rng: Rng, is_there: impl Fn(MemcgId) -> bool) -> Self {
        let seat = Seat { generation: 0, bin: 0, tail: false, before: None, after: None };
        let mut lru = MemcgLru {
            seq: 0,
            seats: IndexVec::filled(nr_memcgs, seat),
            bins: Default::default(),
            sizes: [0; GENS],
            rng,
        };
        for memcg in lru.seats.ids().filter(|&m| is_there(m)) {
            lru.append(memcg, 0, false);
        }
        lru
    }

    /// A group is created: it goes to the old generation.
    pub(super) fn enter(&mut self, memcg: MemcgId) {
        self.append(memcg, self.seq % GENS, false);
    }

    /// A removed group has no page left: it leaves, and so does the pass that met it.
    pub(super) fn forget(&mut self, visit: &mut Visit, memcg: MemcgId) {
        self.leave(visit, memcg, None);
        let from = self.remove(memcg);
        self.turn(from);
    }

    /// A pass: it visits bins from one drawn at random on.
    pub(super) fn visit(&mut self) -> Visit {
        let (generation, bin) = (self.seq % GENS, self.draw());
        Visit { generation, bin, bins_left: BINS - 1, next: self.bins[generation][bin].head }
    }

    /// The next group of a pass. It leaves it by [`MemcgLru::leave`] before the next call.
    pub(super) fn next(&self, visit: &mut Visit) -> Option<MemcgId> {
        loop {
            let head = self.bins[visit.generation][visit.bin].head;
            if let Some(m) = visit.next {
                let seat = &self.seats[m];
                // Another pass may have moved it: this one begins the bin anew.
                if (seat.generation, seat.bin) == (visit.generation, visit.bin) {
                    return Some(m);
                }
                visit.next = head;
                continue;
            }
            if visit.bins_left == 0 {
                return None;
            }
            visit.bins_left -= 1;
            visit.bin = (visit.bin + 1) % BINS;
            visit.next = self.bins[visit.generation][visit.bin].head;
        }
    }

    /// True if a pass has a group left.
    pub(super) fn goes_on(&self, visit: &Visit) -> bool {
        self.next(&mut visit.clone()).is_some()
    }

    /// A pass leaves the group that it visited, which moves if it is to.
    pub(super) fn leave(&mut self, visit: &mut Visit, memcg: MemcgId, to: Option<Rotation>) {
        let seat = self.seats[memcg];
        visit.next = match (seat.generation, seat.bin) == (visit.generation, visit.bin) {
            true => seat.after,
            false => self.bins[visit.generation][visit.bin].head,
        };
        if let Some(to) = to {
            self.rotate(memcg, to);
        }
    }

    /// True if a memcg had its second chance.
    pub(super) fn at_tail(&self, memcg: MemcgId) -> bool {
        self.seats[memcg].tail
    }

    /// Moves a memcg.
    pub(super) fn rotate(&mut self, memcg: MemcgId, to: Rotation) {
        let from = self.remove(memcg);
        match to {
            Rotation::Tail => self.append(memcg, from, true),
            Rotation::Young => self.append(memcg, (self.seq + 1) % GENS, false),
            Rotation::Old => self.prepend(memcg, self.seq % GENS),
        }
        self.turn(from);
    }

    /// When the old generation is empty the young one takes its place.
    fn turn(&mut self, left: usize) {
        if left == self.seq % GENS && self.sizes[left] == 0 {
            self.seq += 1;
        }
    }

    fn draw(&mut self) -> usize {
        self.rng.below(BINS as u64) as usize
    }

    /// Puts a group at the tail of a bin of a generation, drawn at random.
    fn append(&mut self, memcg: MemcgId, generation: usize, tail: bool) {
        let bin = self.draw();
        self.put(memcg, generation, bin, tail);
    }

    /// Puts a group at the head of a bin of a generation, drawn at random.
    fn prepend(&mut self, memcg: MemcgId, generation: usize) {
        let bin = self.draw();
        let place = &mut self.bins[generation][bin];
        let after = place.head.replace(memcg);
        match after {
            Some(first) => self.seats[first].before = Some(memcg),
            None => place.tail = Some(memcg),
        }
        self.seats[memcg] = Seat { generation, bin, tail: false, before: None, after };
        self.sizes[generation] += 1;
    }

    fn put(&mut self, memcg: MemcgId, generation: usize, bin: usize, tail: bool) {
        let place = &mut self.bins[generation][bin];
        let before = place.tail.replace(memcg);
        match before {
            Some(last) => self.seats[last].after = Some(memcg),
            None => place.head = Some(memcg),
        }
        self.seats[memcg] = Seat { generation, bin, tail, before, after: None };
        self.sizes[generation] += 1;
    }

    /// Takes a group out of its bin. Returns its generation.
    fn remove(&mut self, memcg: MemcgId) -> usize {
        let Seat { generation, bin, before, after, .. } = self.seats[memcg];
        let place = &mut self.bins[generation][bin];
        match before {
            Some(m) => self.seats[m].after = after,
            None => place.head = after,
        }
        match after {
            Some(m) => self.seats[m].before = before,
            None => place.tail = before,
        }
        self.sizes[generation] -= 1;
        generation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever moves, each group is visited once before any is visited twice.
    #[test]
    fn groups_take_turns() {
        let mut lru = MemcgLru::new(5, Rng::for_purpose(1, "test"), |_| true);
        for _ in 0..20 {
            let mut round = Vec::new();
            while round.len() < 5 {
                let mut visit = lru.visit();
                let next = lru.next(&mut visit).expect("the old generation has a group");
                lru.leave(&mut visit, next, Some(Rotation::Young));
                round.push(next.0);
            }
            round.sort_unstable();
            assert_eq!(round, [0, 1, 2, 3, 4]);
        }
        assert_eq!(lru.seq, 20);
    }

    #[test]
    fn a_second_chance_is_had_in_the_same_generation() {
        let mut lru = MemcgLru::new(2, Rng::for_purpose(1, "test"), |_| true);
        lru.rotate(MemcgId(0), Rotation::Tail);
        assert!(lru.at_tail(MemcgId(0)) && !lru.at_tail(MemcgId(1)));
        assert_eq!(all(&mut lru).len(), 2);
        lru.rotate(MemcgId(0), Rotation::Young);
        assert!(!lru.at_tail(MemcgId(0)));
        assert_eq!(all(&mut lru), [MemcgId(1)]);
    }

    /// A pass that moves nothing.
    fn all(lru: &mut MemcgLru) -> Vec<MemcgId> {
        let (mut visit, mut met) = (lru.visit(), Vec::new());
        while let Some(m) = lru.next(&mut visit) {
            met.push(m);
            lru.leave(&mut visit, m, None);
        }
        met
    }

    /// A removed group is the next one of its bin, and leaves when it is met empty.
    #[test]
    fn a_removed_group_is_first_and_leaves() {
        let mut lru = MemcgLru::new(3, Rng::for_purpose(1, "test"), |m| m.0 < 2);
        assert_eq!(all(&mut lru).len(), 2);
        lru.enter(MemcgId(2));
        assert_eq!(all(&mut lru).len(), 3);
        lru.rotate(MemcgId(1), Rotation::Old);
        let seat = lru.seats[MemcgId(1)];
        assert_eq!(lru.bins[seat.generation][seat.bin].head, Some(MemcgId(1)));
        let mut visit = lru.visit();
        while lru.next(&mut visit) != Some(MemcgId(1)) {
            let met = lru.next(&mut visit).expect("the group is there");
            lru.leave(&mut visit, met, None);
        }
        lru.forget(&mut visit, MemcgId(1));
        let mut left: Vec<_> = all(&mut lru).into_iter().map(|m| m.0).collect();
        left.sort_unstable();
        assert_eq!(left, [0, 2]);
    }

    const A: MemcgId = MemcgId(0);
    const B: MemcgId = MemcgId(1);
    const C: MemcgId = MemcgId(2);
    const D: MemcgId = MemcgId(3);

    /// Draws numbers until the moves go to the bins of the example.
    fn as_in_the_example() -> Option<Vec<MemcgId>> {
        (0..10_000).find_map(|seed| {
            let mut lru = MemcgLru::new(4, Rng::for_purpose(seed, "example"), |_| true);
            for (m, bin) in [(A, 6), (B, 6), (C, 7), (D, 0)] {
                lru.remove(m);
                lru.put(m, 0, bin, false);
            }
            let next = lru.bins[0][6].head;
            let mut visit = Visit { generation: 0, bin: 6, bins_left: BINS - 1, next };
            let mut met = Vec::new();
            while let Some(m) = lru.next(&mut visit) {
                let second = lru.at_tail(m);
                met.push(m);
                let to = match m {
                    A => Some(Rotation::Young),
                    // Within its `memory.low`: passed over once, then reclaimed.
                    B => (!second).then_some(Rotation::Tail),
                    C => None,
                    // Too small to give a page.
                    _ => Some(if second { Rotation::Young } else { Rotation::Tail }),
                };
                lru.leave(&mut visit, m, to);
                let bins = [B, D].map(|m| lru.seats[m].bin);
                if m == B && bins[0] != 7 || m == D && bins[1] != 6 {
                    return None;
                }
            }
            assert!(lru.at_tail(B) && lru.at_tail(D) && !lru.at_tail(C));
            Some(met)
        })
    }

    /// Worked by hand. The pass begins in bin 6 with A and B; C is in bin 7, D in bin 0. B gets its
    /// second chance at the tail of bin 7, behind C. D gets its own in bin 6, which is past.
    #[test]
    fn a_second_chance_may_come_in_the_same_pass() {
        assert_eq!(as_in_the_example(), Some(vec![A, B, C, B, D]));
    }
}
