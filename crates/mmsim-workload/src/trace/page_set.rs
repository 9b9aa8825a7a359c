//! Distinct pages of a region: a bitmap in chunks.
//!
//! Chunks that are full take no memory and no time, so that runs over a whole huge region
//! stay cheap whatever a trace holds.

/// Pages of a chunk of a [`PageSet`].
const CHUNK: u32 = 32_768;

/// A set of pages of one region.
pub(super) struct PageSet {
    pages: u32,
    chunks: Vec<Chunk>,
    /// Pages in the set.
    pub(super) count: u64,
}

enum Chunk {
    Empty,
    Some(Box<[u64; CHUNK as usize / 64]>),
    Full,
}

impl PageSet {
    /// The empty set of a region of `pages` pages.
    pub(super) fn new(pages: u32) -> Self {
        let chunks = (0..pages.div_ceil(CHUNK)).map(|_| Chunk::Empty).collect();
        PageSet { pages, chunks, count: 0 }
    }

    /// Adds `count` pages from `first` on.
    pub(super) fn insert(&mut self, first: u32, count: u32) {
        if self.count == u64::from(self.pages) {
            return;
        }
        let (mut at, end) = (first, first + count);
        while at < end {
            let stop = end.min((at / CHUNK + 1) * CHUNK);
            self.count += self.chunks[(at / CHUNK) as usize].insert(at % CHUNK, stop - at);
            at = stop;
        }
    }
}

impl Chunk {
    /// Returns how many pages are new.
    fn insert(&mut self, first: u32, count: u32) -> u64 {
        if count == CHUNK {
            let before = match self {
                Chunk::Empty => 0,
                Chunk::Some(words) => words.iter().map(|w| w.count_ones()).sum(),
                Chunk::Full => CHUNK,
            };
            *self = Chunk::Full;
            return u64::from(CHUNK - before);
        }
        if matches!(self, Chunk::Empty) {
            *self = Chunk::Some(Box::new([0; CHUNK as usize / 64]));
        }
        let Chunk::Some(words) = self else { return 0 };
        let mut new = 0;
        let (mut at, end) = (first, first + count);
        while at < end {
            let (word, bit) = ((at / 64) as usize, at % 64);
            let here = (64 - bit).min(end - at);
            let mask = (u64::MAX >> (64 - here)) << bit;
            new += u64::from((mask & !words[word]).count_ones());
            words[word] |= mask;
            at += here;
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_sets_count_each_page_once() {
        let mut set = PageSet::new(3 * CHUNK + 10);
        let mut model = vec![false; 3 * CHUNK as usize + 10];
        let runs = [(0, 1), (0, 70), (63, 2), (CHUNK - 1, 2), (CHUNK, CHUNK), (5, 2 * CHUNK)];
        for (first, count) in runs.into_iter().chain([(3 * CHUNK, 10), (0, 3 * CHUNK + 10)]) {
            set.insert(first, count);
            model[first as usize..(first + count) as usize].fill(true);
            assert_eq!(set.count, model.iter().filter(|&&m| m).count() as u64);
        }
    }
}
