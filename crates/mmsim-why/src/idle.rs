//! Idle times of the pages of a list: the number of pages last used before a tick.
//!
//! Pages are counted by the tick of their last use, and by blocks of ticks. A page moves with each
//! use, which is two additions; a question adds the blocks up to its tick.

/// log2 of ticks in a block.
const BLOCK: u32 = 6;

/// Pages by the tick of their last use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Idle {
    ticks: Vec<u32>,
    blocks: Vec<u32>,
    /// Before this block there is none.
    oldest: usize,
    /// All of them.
    pub(crate) pages: u64,
}

impl Idle {
    /// A page comes, last used in a tick.
    #[inline]
    pub(crate) fn add(&mut self, tick: u32) {
        let block = (tick >> BLOCK) as usize;
        if block >= self.blocks.len() {
            self.grow(block);
        }
        self.ticks[tick as usize] += 1;
        self.blocks[block] += 1;
        self.pages += 1;
        self.oldest = self.oldest.min(block);
    }

    /// A page leaves that was last used in a tick.
    #[inline]
    pub(crate) fn remove(&mut self, tick: u32) {
        self.ticks[tick as usize] -= 1;
        self.blocks[(tick >> BLOCK) as usize] -= 1;
        self.pages -= 1;
    }

    /// A page was last used in a tick, and is used now.
    #[inline]
    pub(crate) fn moves(&mut self, since: u32, now: u32) {
        self.ticks[since as usize] -= 1;
        let (from, to) = ((since >> BLOCK) as usize, (now >> BLOCK) as usize);
        if to >= self.blocks.len() {
            self.grow(to);
        }
        self.ticks[now as usize] += 1;
        if from != to {
            self.blocks[from] -= 1;
            self.blocks[to] += 1;
            self.oldest = self.oldest.min(to);
        }
    }

    #[cold]
    fn grow(&mut self, block: usize) {
        self.blocks.resize(block + 1, 0);
        self.ticks.resize((block + 1) << BLOCK, 0);
    }

    /// Pages that were last used before a tick.
    pub(crate) fn before(&mut self, tick: u32) -> u64 {
        if self.pages == 0 {
            return 0;
        }
        let block = ((tick >> BLOCK) as usize).min(self.blocks.len());
        while self.oldest < block && self.blocks[self.oldest] == 0 {
            self.oldest += 1;
        }
        let blocks = self.blocks.get(self.oldest..block).unwrap_or_default();
        let whole: u32 = blocks.iter().sum();
        let begin = (block << BLOCK).min(self.ticks.len());
        let end = (tick as usize).min(self.ticks.len()).max(begin);
        u64::from(whole + self.ticks[begin..end].iter().sum::<u32>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pages_are_counted(
            ticks in prop::collection::vec(0_u32..400, 1..200),
            gone in 0_usize..200,
            asked in prop::collection::vec(0_u32..500, 1..20),
        ) {
            let mut idle = Idle::default();
            ticks.iter().for_each(|&t| idle.add(t));
            let gone = gone.min(ticks.len());
            ticks[..gone].iter().for_each(|&t| idle.remove(t));
            for tick in asked {
                let expected = ticks[gone..].iter().filter(|&&t| t < tick).count() as u64;
                prop_assert_eq!(idle.before(tick), expected);
            }
            prop_assert_eq!(idle.pages, (ticks.len() - gone) as u64);
        }
    }
}
