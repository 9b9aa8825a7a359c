//! A figure of fragmentation that is brought about and held: a closed loop.
//!
//! A share of pages that stay says how much is taken, not how fragmented what is left will be:
//! that depends on the law, on the order in question and on what others hold. So the loop looks
//! at free memory as a user would, in `/proc/buddyinfo`, compares the figure with its target, and
//! exchanges some of its pages: it gives up what makes the figure too low or too high, and takes
//! about as much elsewhere. Each look pays for a few hundred exchanges.
//!
//! Memory is seen as groups of the order in question. Free memory in a group with a page that is
//! held is unusable for a block. From this come the moves:
//!
//! - *unusable too low*: take whole blocks, and free as many pages one by one out of groups in
//!   which another page stays;
//! - *unusable too high*: empty the groups with the fewest pages held, and take as many pages, for
//!   which the allocator breaks the smallest blocks first;
//! - *index* is about the mean size of free blocks when none is large enough: too high, empty half
//!   a group whose other half stays held; too low, free pages whose buddy is held; if a block is
//!   large enough at all, take it.
//!
//! A target may be out of reach: pages of others lie where groups would have to be empty, or no
//! such memory has the wanted index. When nothing has come closer for a number of looks, the loop
//! stops, and goes back to the closest state that it saw: it gives up what it has taken since, and
//! takes the frames again that it held then.
//!
//! Figures are per zone, and so is this one: of the zone that requests for unmovable memory try
//! first. Source: Linux 6.12 mm/vmstat.c (`unusable_free_index`, `__fragmentation_index`).

use super::Held;
use mmsim_core::base::rng::Rng;
use mmsim_core::phys::fragmentation::FreeBlocks;
use mmsim_core::phys::gfp::MAX_PAGE_ORDER;
use mmsim_core::workload::{Aim, FreeBlocksOfZone};

/// Most pages that are exchanged in one step: less than is free of a small machine, so that steps
/// do not overshoot by much.
const MOST_PAGES: u64 = 4096;

/// A figure of fragmentation, in thousandths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// The share of free memory that a block of the order cannot use.
    Unusable,
    /// The fragmentation index: why a request would fail. -1000 if it would not.
    Index,
}

/// State of memory that is to be brought about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// log2 of the pages of the block in question, at least 1.
    pub order: u8,
    /// Which figure.
    pub figure: Figure,
    /// Its value, 0 to 1000.
    pub permille: u32,
    /// Distance from it that is close enough.
    pub tolerance: u32,
    /// Looks without a closer value after which it is out of reach.
    pub patience: u32,
}

impl Target {
    /// The figure of free memory.
    fn value(&self, free: &FreeBlocksOfZone) -> i64 {
        let free = FreeBlocks { nr: &free.nr };
        match self.figure {
            Figure::Unusable => free.unusable_free_index(self.order) as i64,
            Figure::Index => free.fragmentation_index(self.order),
        }
    }
}

/// Pages that are exchanged in one step: first all frees, then all allocations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Exchange {
    /// Positions of held pages that are freed, descending.
    pub(super) free: Vec<usize>,
    /// Blocks that are taken: how many, and of which order. Their pages are held one by one.
    pub(super) blocks: (u64, u8),
    /// Pages that are taken.
    pub(super) pages: u64,
}

/// Where the loop stands.
#[derive(Clone, Debug)]
pub(super) struct Course {
    target: Target,
    now: i64,
    best: i64,
    /// The value of the last look that was as good as the best.
    closest: i64,
    /// Looks since the best one.
    since: u32,
    /// Reached once: from then on it is held.
    holding: bool,
    farthest: Option<i64>,
}

impl Course {
    pub(super) fn new(target: Target) -> Course {
        Course {
            target,
            now: -1000,
            best: i64::MAX,
            closest: -1000,
            since: 0,
            holding: false,
            farthest: None,
        }
    }

    fn distance(&self) -> i64 {
        (self.now - i64::from(self.target.permille)).abs()
    }

    /// Begins to count looks again.
    pub(super) fn restart(&mut self) {
        (self.best, self.since) = (i64::MAX, 0);
    }

    /// Takes note of free memory. Whether the figure is close enough.
    pub(super) fn look(&mut self, free: &FreeBlocksOfZone) -> bool {
        self.now = self.target.value(free);
        let distance = self.distance();
        if self.holding {
            let target = i64::from(self.target.permille);
            let far = self.farthest.is_none_or(|f| (f - target).abs() < distance);
            self.farthest = if far { Some(self.now) } else { self.farthest };
        }
        if distance < self.best {
            (self.best, self.since) = (distance, 0);
        } else {
            self.since += 1;
        }
        if distance == self.best {
            self.closest = self.now;
        }
        let close = distance <= self.target.tolerance.into();
        self.holding |= close;
        close
    }

    /// A look showed nothing at all. Whether to give up.
    pub(super) fn sees_nothing(&mut self) -> bool {
        self.since += 1;
        self.gives_up()
    }

    /// True if it stops although the figure is not close enough.
    pub(super) fn gives_up(&self) -> bool {
        self.since >= self.target.patience
    }

    /// True if the last look is closer than all before.
    pub(super) fn is_closest(&self) -> bool {
        self.since == 0
    }

    /// True if an earlier look was closer than the last one.
    pub(super) fn was_closer(&self) -> bool {
        self.distance() > self.best
    }

    /// Result.
    pub(super) fn aim(&self) -> Aim {
        let t = &self.target;
        let name = match t.figure {
            Figure::Unusable => "unusable free space index",
            Figure::Index => "fragmentation index",
        };
        Aim {
            what: format!("{name} of order {} in thousandths", t.order),
            target: t.permille.into(),
            tolerance: t.tolerance.into(),
            reached: self.now,
            farthest: self.farthest.unwrap_or(self.now),
            closest: self.closest,
        }
    }

    /// Pages to exchange, given free memory and the pages held. Nothing: it is stuck.
    pub(super) fn exchange(
        &self,
        seen: &FreeBlocksOfZone,
        held: &[Held],
        rng: &mut Rng,
    ) -> Exchange {
        let (t, free) = (&self.target, FreeBlocks { nr: &seen.nr });
        let held = Pages::new(held, seen);
        let goal = i64::from(t.permille);
        match t.figure {
            Figure::Unusable if self.now < goal => more_unusable(t, &free, &held, rng),
            Figure::Unusable => less_unusable(t, &free, &held, rng),
            Figure::Index if free.suitable(t.order) > 0 => {
                let n = free.suitable(t.order).min(most_groups(t.order));
                let pages = held.scattered(t.order, n << t.order, false, rng);
                Exchange { free: pages, blocks: (n, t.order), pages: 0 }
            }
            Figure::Index if self.now < goal => smaller_blocks(t, &free, &held, rng),
            Figure::Index => larger_blocks(t, &free, &held, rng),
        }
    }
}

/// Most groups of an order of one step.
fn most_groups(order: u8) -> u64 {
    (MOST_PAGES >> order).max(1)
}

/// Usable pages, and those that should be if as much stays free.
fn usable(t: &Target, free: &FreeBlocks<'_>) -> (u64, u64) {
    let pages = free.pages();
    (free.suitable(t.order) << t.order, pages * u64::from(1000 - t.permille) / 1000)
}

fn more_unusable(t: &Target, free: &FreeBlocks<'_>, held: &Pages<'_>, rng: &mut Rng) -> Exchange {
    let (has, wants) = usable(t, free);
    let blocks = (has.saturating_sub(wants) >> t.order).min(most_groups(t.order));
    // Less than a block too much: more has to be free around it. With (p - u + m) / (p + m) as the
    // target, p free and u usable pages, m more pages are free.
    let share = u64::from(t.permille).min(999);
    let more = (share * free.pages()).saturating_sub(1000 * (free.pages() - has)) / (1000 - share);
    let pages = if blocks > 0 { blocks << t.order } else { more.clamp(1, MOST_PAGES) };
    let free = held.scattered(t.order, pages, false, rng);
    let blocks = if free.is_empty() { blocks.max(1).min(has >> t.order) } else { blocks };
    Exchange { free, blocks: (blocks, t.order), pages: 0 }
}

fn less_unusable(t: &Target, free: &FreeBlocks<'_>, held: &Pages<'_>, rng: &mut Rng) -> Exchange {
    let (has, wants) = usable(t, free);
    let missing = wants.saturating_sub(has);
    if missing < 1 << (t.order - 1) && has > 0 {
        // Half a block too little: less has to be free around those that there are.
        let pages = free.pages() - has * 1000 / u64::from(1000 - t.permille).max(1);
        return Exchange { pages: pages.clamp(1, MOST_PAGES), ..Exchange::default() };
    }
    let groups = (missing >> t.order).clamp(1, most_groups(t.order));
    let free = held.emptied(t.order, groups, |_, _| true, rng);
    let pages = free.len() as u64;
    Exchange { free, blocks: (0, 0), pages }
}

/// Blocks that there should be, if as much is free: the index is about pages per block.
fn wanted_blocks(t: &Target, free: &FreeBlocks<'_>) -> u64 {
    (1000 + free.pages() * 1000 / (1 << t.order)) / u64::from(1000 - t.permille.min(999))
}

fn smaller_blocks(t: &Target, free: &FreeBlocks<'_>, held: &Pages<'_>, rng: &mut Rng) -> Exchange {
    let n = wanted_blocks(t, free).saturating_sub(free.total()).clamp(1, MOST_PAGES);
    let pages = held.scattered(t.order, n, true, rng);
    // Nothing left to scatter: large blocks have to go.
    let large = free.suitable(t.order - 1).min(most_groups(t.order));
    let blocks = if pages.is_empty() { large } else { 0 };
    Exchange { free: pages, blocks: (blocks, t.order - 1), pages: 0 }
}

fn larger_blocks(t: &Target, free: &FreeBlocks<'_>, held: &Pages<'_>, rng: &mut Rng) -> Exchange {
    let too_many = free.total().saturating_sub(wanted_blocks(t, free));
    // A half that is emptied takes its share of blocks away.
    let halves = held.counts(t.order - 1).len() as u64;
    let n = (too_many * halves / (2 * free.total()).max(1)).clamp(1, most_groups(t.order));
    let other_stays = |counts: &[u32], half: usize| counts.get(half ^ 1).is_some_and(|&n| n > 0);
    let free = held.emptied(t.order - 1, n, other_stays, rng);
    let pages = free.len() as u64;
    Exchange { free, blocks: (0, 0), pages }
}

/// The pages held in the zone in question.
struct Pages<'a> {
    held: &'a [Held],
    /// Positions of those in the zone.
    inside: Vec<usize>,
    first: u32,
    frames: u32,
}

impl<'a> Pages<'a> {
    fn new(held: &'a [Held], zone: &FreeBlocksOfZone) -> Pages<'a> {
        let inside = (0..held.len()).filter(|&i| (zone.first..zone.end).contains(&held[i].pfn));
        // Whole groups, so that each has its neighbour; zones begin with a largest block.
        let frames = (zone.end.0 - zone.first.0).next_multiple_of(1 << MAX_PAGE_ORDER);
        Pages { held, inside: inside.collect(), first: zone.first.0, frames }
    }

    /// The frame of a held page, from the beginning of the zone.
    fn frame(&self, i: usize) -> usize {
        (self.held[i].pfn.0 - self.first) as usize
    }

    /// Pages held in each group of an order.
    fn counts(&self, order: u8) -> Vec<u32> {
        let mut counts = vec![0; (self.frames >> order) as usize];
        self.inside.iter().for_each(|&i| counts[self.frame(i) >> order] += 1);
        counts
    }

    /// Positions of up to `n` pages, drawn at random, whose groups keep another page.
    /// `lonely`: whose buddies are held too.
    fn scattered(&self, order: u8, n: u64, lonely: bool, rng: &mut Rng) -> Vec<usize> {
        let (mut counts, mut stays) = (self.counts(order), self.counts(0));
        let mut all = self.inside.clone();
        let mut found = Vec::new();
        while (found.len() as u64) < n && !all.is_empty() {
            let i = all.swap_remove(rng.below(all.len() as u64) as usize);
            let frame = self.frame(i);
            let group = frame >> order;
            if counts[group] > 1 && (!lonely || stays[frame ^ 1] > 0) {
                counts[group] -= 1;
                stays[frame] = 0;
                found.push(i);
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }

    /// Positions of all that is held in up to `n` groups for which `fit` says so, given what is
    /// held in all groups: those with the fewest pages; which of equals is drawn.
    fn emptied(
        &self,
        order: u8,
        n: u64,
        fit: impl Fn(&[u32], usize) -> bool,
        rng: &mut Rng,
    ) -> Vec<usize> {
        let mut counts = self.counts(order);
        let mut groups: Vec<usize> = (0..counts.len()).filter(|&g| counts[g] > 0).collect();
        rng.shuffle(&mut groups);
        groups.sort_by_key(|&g| counts[g]);
        let mut chosen = vec![false; counts.len()];
        let mut left = n;
        for g in groups {
            if left > 0 && fit(&counts, g) {
                chosen[g] = true;
                counts[g] = 0;
                left -= 1;
            }
        }
        self.inside.iter().rev().copied().filter(|&i| chosen[self.frame(i) >> order]).collect()
    }
}
