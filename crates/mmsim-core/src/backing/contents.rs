//! Contents of pages, as far as compressors see them: zero, one word repeated, or a number of bytes.
//!
//! A task may have a law of its contents. What a page holds is computed from the page and the seed
//! whenever it is wanted, so no frame remembers it, and policies that differ see equal pages.

use crate::backing::zsmalloc::HUGE;
use crate::base::id::PageIdx;
use crate::base::rng::{Rng, SplitMix64};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Contents of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Content(u16);

impl Content {
    /// Zeros alone.
    pub const ZERO: Content = Content(0);
    /// One word again and again.
    pub const SAME: Content = Content(u16::MAX);
    /// The largest compressed length: the page does not fit into less.
    pub const MOST: u16 = 4096;
    /// Compressed length of a page of one word, for stores that do not know such pages. In the LZ4
    /// block format the word, one match of the rest, and five bytes at the end are 32 bytes or so.
    const OF_SAME: u16 = 32;

    /// A page that compresses to that many bytes, 1 to [`Content::MOST`].
    ///
    /// # Panics
    /// If it is another number.
    pub fn bytes(length: u16) -> Content {
        assert!((1..=Content::MOST).contains(&length), "a page of {length} bytes");
        Content(length)
    }

    /// Bytes that a compressor makes of it, 1 to [`Content::MOST`]; 0 of a page of zeros.
    #[inline]
    pub fn length(self) -> u16 {
        if self == Content::SAME { Content::OF_SAME } else { self.0 }
    }

    /// Bytes of the object that zram makes of it: none of one word, a frame of what hardly shrinks.
    #[inline]
    pub fn in_zram(self) -> u16 {
        match self {
            Content::SAME => 0,
            content if content.length() >= HUGE => Content::MOST,
            content => content.length(),
        }
    }
}

/// Pages of one compressed length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Number of such pages in 1000 that are neither zero nor of one word.
    pub permille: u16,
    /// Their compressed length, 1 to [`Content::MOST`].
    pub bytes: u16,
}

/// A law of contents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contents {
    /// Pages of zeros, of 1000.
    pub zero_permille: u16,
    /// Pages of one word that is not zero, of 1000.
    pub same_permille: u16,
    /// The others by their compressed length. The shares add up to 1000.
    pub lengths: Vec<Share>,
    /// A page that was written holds something else when it leaves memory the next time.
    pub redraw: bool,
}

impl Contents {
    /// Contents of a page that has drawn this number.
    fn of(&self, drawn: u64) -> Content {
        // Two numbers below 1000, of the two halves.
        let [kind, length] = [drawn >> 32, drawn & 0xffff_ffff].map(|x| ((x * 1000) >> 32) as u16);
        if kind < self.zero_permille {
            return Content::ZERO;
        }
        if kind < self.zero_permille + self.same_permille {
            return Content::SAME;
        }
        let mut sum = 0;
        let share = self.lengths.iter().find(|share| {
            sum += share.permille;
            length < sum
        });
        share.map_or(Content::ZERO, |share| Content::bytes(share.bytes))
    }
}

/// Pages of a region hold these in turn: the region, and the contents of its first pages.
pub type InTurn = (u16, Arc<[Content]>);

/// Origin of the contents of a process.
#[derive(Clone, Debug)]
enum Origin {
    Drawn(Arc<Contents>),
    InTurn(Vec<InTurn>),
}

/// The contents of a process.
#[derive(Clone, Debug)]
pub struct TaskContents {
    origin: Origin,
    seed: u64,
    /// Times that a page was written and then left memory, if that counts.
    rewritten: BTreeMap<PageIdx, u32>,
}

impl TaskContents {
    /// Contents of the process of that name.
    pub fn new(law: Arc<Contents>, seed: u64, name: &str) -> Self {
        let seed = Rng::for_purpose(seed, &format!("contents/{name}")).next_u64();
        TaskContents { origin: Origin::Drawn(law), seed, rewritten: BTreeMap::new() }
    }

    /// Contents that are known page by page. Pages of other regions hold one word.
    pub fn in_turn(regions: Vec<InTurn>) -> Self {
        TaskContents { origin: Origin::InTurn(regions), seed: 0, rewritten: BTreeMap::new() }
    }

    /// Contents of page `nth` of a region, which leaves memory from `page`. `written`: since it came
    /// to memory.
    pub(crate) fn leaving(
        &mut self,
        (region, nth): (u16, u32),
        page: PageIdx,
        written: bool,
    ) -> Content {
        let law = match &self.origin {
            Origin::Drawn(law) => law,
            Origin::InTurn(regions) => {
                let of_region = regions.iter().find(|r| r.0 == region);
                return of_region.map_or(Content::SAME, |(_, all)| all[nth as usize % all.len()]);
            }
        };
        let mut again = 0;
        if law.redraw {
            let times = self.rewritten.entry(page).or_default();
            *times += u32::from(written);
            again = *times;
        }
        let at = (u64::from(region) << 32) | u64::from(nth);
        let mut draws = SplitMix64::new(self.seed ^ at.rotate_left(20) ^ (u64::from(again) << 48));
        draws.next_u64();
        law.of(draws.next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(zero: u16, same: u16, lengths: &[(u16, u16)], redraw: bool) -> Arc<Contents> {
        let share = |&(permille, bytes): &(u16, u16)| Share { permille, bytes };
        let lengths = lengths.iter().map(share).collect();
        Arc::new(Contents { zero_permille: zero, same_permille: same, lengths, redraw })
    }

    /// By counting: of 20 000 pages the shares are within four standard deviations, which are 71
    /// pages at most.
    #[test]
    fn shares_are_those_of_the_law() {
        let mut task = TaskContents::new(law(100, 50, &[(400, 900), (600, 4096)], false), 1, "a");
        let drawn: Vec<Content> =
            (0..20_000).map(|n| task.leaving((0, n), PageIdx(n), true)).collect();
        let count = |what| drawn.iter().filter(|&&c| c == what).count() as i64;
        let want = [
            (Content::ZERO, 2000),
            (Content::SAME, 1000),
            (Content::bytes(900), 6800),
            (Content::bytes(4096), 10_200),
        ];
        for (what, n) in want {
            assert!((count(what) - n).abs() < 4 * 71, "{what:?}: {}", count(what));
        }
    }

    /// A page is what it was, whatever other pages do, unless the law says that writes change it.
    #[test]
    fn a_page_keeps_its_contents() {
        let lengths = [(250, 500), (250, 1000), (250, 2000), (250, 3000)];
        let same = |redraw, written| {
            let mut task = TaskContents::new(law(0, 0, &lengths, redraw), 7, "a");
            let mut all = || -> Vec<Content> {
                (0..100).map(|n| task.leaving((1, n), PageIdx(n), written)).collect()
            };
            all().iter().zip(all()).filter(|(a, b)| *a == b).count()
        };
        assert_eq!([same(false, true), same(true, false)], [100; 2]);
        assert!((10..45).contains(&same(true, true)), "a quarter by chance");
    }
}
