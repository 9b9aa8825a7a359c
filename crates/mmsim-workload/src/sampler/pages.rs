//! Zipf draws of pages: a law over ranks, and a map from rank to page.
//!
//! Up to 2^16 pages the alias table is built over pages instead of ranks, so that the
//! map costs nothing per draw.

use super::alias::{AliasTable, MAX_OUTCOMES};
use super::scatter::Scatter;
use super::zipf::{Zipf, append, weights};
use mmsim_core::base::rng::Rng;
use mmsim_core::words;
use std::cell::RefCell;
use std::sync::Arc;

words! {
    /// Which page has which rank.
    RankMap {
        Scatter = "scatter", "Ranks are scattered over the region ([`Scatter`]).";
        Identity = "identity", "Page = rank: hot pages are neighbours.";
    }
}

/// Laws that a thread keeps at most: half a MiB each.
const KEPT: usize = 4;

/// A sampler of pages `0..n`.
#[derive(Clone, Debug)]
pub struct PageSampler(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Ranks(Zipf),
    Pages(AliasTable),
    Scattered(Zipf, Scatter),
}

impl PageSampler {
    /// The zipf law `theta` over `pages` pages, placed by `map`.
    pub fn new(pages: u32, theta: f64, map: RankMap) -> Self {
        let n = u64::from(pages);
        // A uniform law is the same on any map.
        if map == RankMap::Identity || theta == 0.0 {
            return PageSampler(Kind::Ranks(Zipf::new(n, theta)));
        }
        let scatter = Scatter::new(n);
        if pages as usize > MAX_OUTCOMES {
            return PageSampler(Kind::Scattered(Zipf::new(n, theta), scatter));
        }
        Zipf::check(n, theta);
        let mut by_page = vec![0.0; pages as usize];
        for (rank, w) in weights(n, theta).into_iter().enumerate() {
            by_page[scatter.map(rank as u32) as usize] = w;
        }
        PageSampler(Kind::Pages(AliasTable::new(&by_page)))
    }
    /// The same, shared with those who asked for this law on this thread before: the units of a
    /// sweep, and the tasks of a scenario, often have one law.
    pub fn shared(pages: u32, theta: f64, map: RankMap) -> Arc<Self> {
        type Law = (u32, u64, RankMap);
        thread_local! {
            /// The last laws, the latest in front.
            static MADE: RefCell<Vec<(Law, Arc<PageSampler>)>> = const { RefCell::new(Vec::new()) };
        }
        let law = (pages, theta.to_bits(), map);
        MADE.with_borrow_mut(|made| {
            let found = made.iter().position(|(of, _)| *of == law);
            let one = match found {
                Some(nth) => made.remove(nth),
                None => (law, Arc::new(PageSampler::new(pages, theta, map))),
            };
            made.truncate(KEPT - 1);
            made.insert(0, one.clone());
            one.1
        })
    }
    /// One page.
    #[inline(always)]
    pub fn sample(&self, rng: &mut Rng) -> u32 {
        match &self.0 {
            Kind::Ranks(z) => z.sample(rng),
            Kind::Pages(t) => t.sample(rng),
            Kind::Scattered(z, s) => s.map(z.sample(rng)),
        }
    }
    /// Appends `n` things, each made of a page and of the rest that is drawn for it: the same as as
    /// many calls of [`PageSampler::sample`], each followed by one of `more`, but the law is chosen
    /// once, and the state of the stream stays in registers.
    #[inline]
    pub fn sample_all<D: Copy + Default, T>(
        &self,
        rng: &mut Rng,
        n: usize,
        out: &mut Vec<T>,
        more: impl Fn(&mut Rng) -> D,
        make: impl Fn(u32, D) -> T,
    ) {
        match &self.0 {
            Kind::Ranks(z) => z.sample_all(rng, n, out, more, make),
            Kind::Pages(t) => append(rng, n, out, |r| (t.sample(r), more(r)), make),
            &Kind::Scattered(ref z, s) if s.is_one_round() => {
                z.sample_all(rng, n, out, more, move |rank, d| make(s.map_in_one_round(rank), d));
            }
            &Kind::Scattered(ref z, s) => {
                z.sample_all(rng, n, out, more, move |rank, d| make(s.map(rank), d));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::chi;
    use super::*;

    /// Many draws at once are the draws one by one, for every kind of law, with more drawn
    /// in between; and the stream goes on where it would.
    #[test]
    fn many_draws_are_single_draws() {
        for (n, theta) in [(1000u32, 0.0), (1000, 0.9), (100_000, 0.9), (100_000, 1.1)] {
            for map in [RankMap::Identity, RankMap::Scatter] {
                let s = PageSampler::new(n, theta, map);
                let (mut one, mut all) = (Rng::for_purpose(4, "x"), Rng::for_purpose(4, "x"));
                let singly: Vec<_> =
                    (0..5000).map(|_| (s.sample(&mut one), one.below(9))).collect();
                let mut at_once = Vec::new();
                s.sample_all(&mut all, 3000, &mut at_once, |r| r.below(9), |p, d| (p, d));
                s.sample_all(&mut all, 2000, &mut at_once, |r| r.below(9), |p, d| (p, d));
                assert_eq!(singly, at_once, "{n} pages, theta {theta}, {map:?}");
                assert_eq!(one.next_u64(), all.next_u64());
            }
        }
    }

    /// Page `scatter(k)` has the probability of rank k, in the table and beyond.
    #[test]
    fn the_law_follows_the_map() {
        for n in [3000u32, 70_000] {
            let scatter = Scatter::new(u64::from(n));
            let mut law = vec![0.0; n as usize];
            for k in 0..n {
                law[scatter.map(k) as usize] = (f64::from(k) + 1.0).powf(-0.8);
            }
            let s = PageSampler::new(n, 0.8, RankMap::Scatter);
            let mut rng = Rng::for_purpose(2, "pages");
            let z = chi::z_of(&law, 4_000_000, || s.sample(&mut rng) as usize);
            assert!(z.abs() < 3.5, "{n} pages: {z}");
        }
    }
}
