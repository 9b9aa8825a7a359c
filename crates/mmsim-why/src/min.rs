//! MIN as the run goes: whether the optimum has a page that is used again.
//!
//! Belady's MIN evicts the page whose next use is farthest away. It needs the future for that. A
//! *hit* can be found without: a page is kept from one use to the next if frames are left for it at
//! every instant between, after all uses that ended before took theirs. (A. Jain, C. Lin, "Back to
//! the future: leveraging Belady's algorithm for improved cache replacement", ISCA 2016, call it
//! OPTgen.) Intervals are taken in the order of their ends, each if it fits. That keeps the most
//! intervals, and just those that MIN keeps.
//!
//! Time is counted in ticks. A page that is used in ticks a and b has to be held over the borders
//! of all ticks between; and over ticks between, in which other pages come. So there are two
//! instants for a tick: the tick itself, in which one frame is taken if MIN misses, and the border
//! behind it. Ticks of one use make this MIN to the use. The frames there are may change with
//! time.
//!
//! An interval that ends now covers all instants from its begin on. So it fits if it begins behind
//! the last instant that is full. Of the others only those matter that are fuller than all later
//! ones: a staircase that goes down. A new interval lifts its lower part by one; a step that is
//! level with the next then is gone. With the steps in a union-find, a use takes constant time,
//! nearly.

/// No instant.
const NONE: u32 = u32::MAX;

/// Which uses are hits of the optimum.
#[derive(Debug)]
pub struct Min {
    /// Frames that there are at most.
    frames: u32,
    /// The step at or behind an instant, by way of others.
    up: Vec<u32>,
    /// Difference in fullness between a step and the next; of the last, its fullness.
    drop: Vec<u32>,
    /// The step before.
    before: Vec<u32>,
    first: u32,
    /// Fullness of the first step.
    fullness: u32,
    last: u32,
    /// Intervals that begin before this instant do not fit.
    begins: u32,
    /// MIN has missed in this tick.
    missed: bool,
}

impl Min {
    /// A state with at most `frames` frames.
    pub fn new(frames: u32) -> Self {
        Min {
            frames,
            up: Vec::new(),
            drop: Vec::new(),
            before: Vec::new(),
            first: NONE,
            fullness: 0,
            last: NONE,
            begins: 0,
            missed: false,
        }
    }

    /// The tick.
    #[inline]
    pub fn now(&self) -> u32 {
        (self.up.len() / 2) as u32
    }

    /// A page is used now; `since` is the tick of its last use. Whether MIN has it.
    #[inline]
    pub fn used(&mut self, since: Option<u32>) -> bool {
        let Some(since) = since else {
            self.missed = true;
            return false;
        };
        if since == self.now() {
            return true;
        }
        let begin = 2 * since + 1;
        let fits = begin >= self.begins;
        if fits {
            self.hold(begin);
        } else {
            self.missed = true;
        }
        fits
    }

    /// True if MIN has a page that is used now, for one whose uses take no frame here.
    #[inline]
    pub fn has(&self, since: Option<u32>) -> bool {
        since.is_some_and(|since| since == self.now() || 2 * since + 1 >= self.begins)
    }

    /// Ends the tick, in which `room` frames could hold pages.
    pub fn tick(&mut self, room: u32) {
        let taken = self.frames.saturating_sub(room);
        let missed = u32::from(std::mem::take(&mut self.missed));
        self.push(taken + missed);
        self.push(taken);
    }

    /// A new instant, as full as that.
    fn push(&mut self, fullness: u32) {
        let at = self.up.len() as u32;
        self.up.push(at);
        while self.last != NONE && self.drop[self.last as usize] <= fullness {
            let gone = self.last as usize;
            self.up[gone] = at;
            self.last = self.before[gone];
            if self.last == NONE {
                self.first = NONE;
            } else {
                self.drop[self.last as usize] += self.drop[gone];
            }
        }
        if self.last == NONE {
            (self.first, self.fullness) = (at, fullness);
        } else {
            self.drop[self.last as usize] -= fullness;
        }
        self.drop.push(fullness);
        self.before.push(self.last);
        self.last = at;
        self.close();
    }

    /// One more frame is taken from an instant on.
    fn hold(&mut self, begin: u32) {
        let step = self.step(begin);
        self.drop[self.last as usize] += 1;
        let before = self.before[step as usize];
        if step == self.first {
            self.fullness += 1;
            self.close();
            return;
        }
        self.drop[before as usize] -= 1;
        if self.drop[before as usize] == 0 {
            self.up[before as usize] = step;
            self.before[step as usize] = self.before[before as usize];
            if before == self.first {
                self.first = step;
            }
        }
    }

    /// Takes full steps away: nothing fits over them.
    fn close(&mut self) {
        while self.first != NONE && self.fullness >= self.frames {
            let full = self.first;
            self.begins = full + 1;
            if full == self.last {
                (self.first, self.last) = (NONE, NONE);
                return;
            }
            self.fullness -= self.drop[full as usize];
            self.first = self.step(full + 1);
            self.before[self.first as usize] = NONE;
        }
    }

    /// The step at or behind an instant.
    fn step(&mut self, at: u32) -> u32 {
        let mut top = at;
        while self.up[top as usize] != top {
            top = self.up[top as usize];
        }
        let mut at = at;
        while at != top {
            at = std::mem::replace(&mut self.up[at as usize], top);
        }
        top
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// MIN by its definition: the page goes whose next use is farthest away.
    fn told(uses: &[u32], frames: usize) -> Vec<bool> {
        let next = |page: u32, i: usize| {
            uses[i..].iter().position(|&p| p == page).map_or(usize::MAX, |n| i + n)
        };
        let mut held: Vec<u32> = Vec::new();
        let mut hits = Vec::new();
        for (i, &page) in uses.iter().enumerate() {
            hits.push(held.contains(&page));
            if !held.contains(&page) {
                if held.len() == frames {
                    let (at, _) = held
                        .iter()
                        .enumerate()
                        .max_by_key(|&(_, &p)| next(p, i))
                        .expect("some page is held");
                    held.remove(at);
                }
                held.push(page);
            }
        }
        hits
    }

    /// A tick for each use.
    fn as_it_goes(uses: &[u32], frames: u32) -> Vec<bool> {
        let (mut min, mut last) = (Min::new(frames), BTreeMap::new());
        let each = |&page| {
            let hit = min.used(last.insert(page, min.now()));
            min.tick(frames);
            hit
        };
        uses.iter().map(each).collect()
    }

    /// Instants as numbers, each interval added to all that it covers.
    struct Plain {
        full: Vec<u32>,
        frames: u32,
        missed: bool,
    }

    impl Plain {
        fn used(&mut self, since: Option<u32>) -> bool {
            let now = (self.full.len() / 2) as u32;
            let Some(since) = since else {
                self.missed = true;
                return false;
            };
            if since == now {
                return true;
            }
            let covered = &mut self.full[2 * since as usize + 1..];
            let fits = covered.iter().all(|&n| n < self.frames);
            if fits {
                covered.iter_mut().for_each(|n| *n += 1);
            } else {
                self.missed = true;
            }
            fits
        }
        fn tick(&mut self, room: u32) {
            let taken = self.frames.saturating_sub(room);
            self.full.push(taken + u32::from(std::mem::take(&mut self.missed)));
            self.full.push(taken);
        }
    }

    proptest! {
        #[test]
        fn ticks_of_one_use_are_min_to_the_use(
            uses in prop::collection::vec(0_u32..9, 0..200),
            frames in 1_u32..9,
        ) {
            prop_assert_eq!(as_it_goes(&uses, frames), told(&uses, frames as usize));
        }

        #[test]
        fn a_staircase_is_all_instants(
            uses in prop::collection::vec((0_u32..12, 0_u32..10, any::<bool>()), 0..300),
            frames in 1_u32..10,
        ) {
            let (mut min, mut last) = (Min::new(frames), BTreeMap::new());
            let mut plain = Plain { full: Vec::new(), frames, missed: false };
            for (page, room, ticks) in uses {
                let since = last.insert(page, min.now());
                prop_assert_eq!(min.used(since), plain.used(since));
                if ticks {
                    min.tick(room);
                    plain.tick(room);
                }
            }
        }
    }

    /// Belady's own example as textbooks print it: 9 misses with 3 frames.
    #[test]
    fn the_textbook_sequence() {
        let uses = [7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1];
        assert_eq!(as_it_goes(&uses, 3).iter().filter(|&&hit| !hit).count(), 9);
    }
}
