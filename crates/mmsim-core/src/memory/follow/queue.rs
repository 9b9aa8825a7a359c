//! The queue of uses, arrivals, evictions and refaults for a follower, in the order in which they
//! happened.
//!
//! A follower reads what it keeps of each page, and the pages lie anywhere in its table. So what
//! happens waits in a queue, and memory fetches the page's words meanwhile. The follower gets the
//! queue at the end of the tick, or when it is long.
//!
//! Items of one kind stand in one list, and a part of the queue is a stretch of a list. The last part
//! may be *open*: uses, with the pages that came back for them and the steps that they belong to.

use super::{Acted, Eviction, Follower, KeptPages, Refaulted, Use, Where};
use crate::base::id::PageIdx;

/// Number of events that wait at most, besides those of one more step.
const TOGETHER: usize = 1024;

/// A part of the queue.
#[derive(Debug)]
enum Part {
    /// Uses, pages that came back, and steps, up to these ends. True: all of the pages came back for
    /// these uses; false: they came back before.
    Used(Ends, bool),
    /// Pages that were evicted, up to this one.
    Evicted(usize, Eviction),
    /// Pages that were kept for their uses, up to this one.
    Kept(usize),
    /// Pages that went down a list although a look had found them used, up to this one.
    Overlooked(usize),
    Arrived(PageIdx, Where),
    Written(Option<PageIdx>),
}

/// Ends of stretches.
#[derive(Clone, Copy, Default, Debug)]
struct Ends {
    uses: usize,
    back: usize,
    steps: usize,
}

/// The queue.
#[derive(Default)]
pub(super) struct Queue {
    parts: Vec<Part>,
    /// Uses, in order.
    pub(super) uses: Vec<Use>,
    /// Number of uses that are complete. The follower does not know yet on which lists the others are.
    pub(super) complete: usize,
    /// Pages that came back.
    back: Vec<Refaulted>,
    /// Steps with some that came back.
    steps: Vec<Acted>,
    evicted: Vec<Use>,
    kept: Vec<(PageIdx, u32)>,
    overlooked: Vec<PageIdx>,
    /// Where the open part begins.
    open: Ends,
    /// Pages of the open part came back for its uses, in the same order; otherwise before them.
    for_uses: bool,
    /// All that came back in its last step the step counts as its own, and nothing else.
    own: bool,
    /// In the step that is under way some came back; and not all of them for uses.
    some_back: [bool; 2],
}

impl Queue {
    /// Nothing is in the open part.
    #[inline]
    fn nothing_open(&self) -> bool {
        self.complete == self.open.uses
            && self.back.len() == self.open.back
            && self.steps.len() == self.open.steps
    }

    /// Ends the open part.
    #[inline]
    pub(super) fn close(&mut self) {
        if !self.nothing_open() {
            self.open = self.ends();
            let for_uses = std::mem::take(&mut self.for_uses);
            self.parts.push(Part::Used(self.open, for_uses));
        }
    }

    #[inline]
    fn ends(&self) -> Ends {
        Ends { uses: self.complete, back: self.back.len(), steps: self.steps.len() }
    }

    /// Ends the open part if pages came back that a use from now on would be thought to be for.
    #[inline]
    pub(super) fn close_before_use(&mut self) {
        if self.back.len() > self.open.back && !self.for_uses {
            self.close();
        }
    }

    /// Notes if pages that come back from now on come for uses of the open part.
    #[inline]
    pub(super) fn turn_to(&mut self, for_uses: bool) {
        // A page that came back before its use belongs to no finished step.
        let done = !for_uses && self.steps.len() > self.open.steps;
        if self.for_uses != for_uses || done {
            self.close();
            self.for_uses = for_uses;
        }
    }

    /// A page came back.
    #[inline]
    pub(super) fn came_back(&mut self, r: Refaulted) {
        self.back.push(r);
    }

    /// Number of pages that came back and wait.
    #[inline]
    pub(super) fn nr_back(&self) -> usize {
        self.back.len()
    }

    /// Some came back in the step that is under way, perhaps not all for uses.
    #[inline]
    pub(super) fn note_back(&mut self, some: bool, others: bool) {
        let [all, before] = &mut self.some_back;
        (*all, *before) = (*all | some, *before | others);
    }

    /// True if a page came back in the step that is under way.
    #[inline]
    pub(super) fn some_back(&self) -> bool {
        self.some_back[0]
    }

    /// Ends a step. `single`: the follower gets each step separately. `swap_ins`: swap-ins take the
    /// place of refaults of anonymous pages.
    #[inline]
    pub(super) fn step(&mut self, a: Acted, single: bool, swap_ins: bool) {
        let back = if self.for_uses { self.back.len() - self.open.back } else { 0 };
        let a = Acted { uses: self.complete - self.open.uses, back, ..a };
        let before = self.steps[self.open.steps..].last_mut();
        let came = back - before.as_ref().map_or(0, |b| b.back);
        let all_own = came as u64 == a.counts(swap_ins);
        match before {
            Some(b) if self.own && all_own && !single && b.space == a.space => {
                *b = Acted {
                    refaults_anon: b.refaults_anon + a.refaults_anon,
                    refaults_file: b.refaults_file + a.refaults_file,
                    swap_ins: b.swap_ins + a.swap_ins,
                    ..a
                };
            }
            _ => self.steps.push(a),
        }
        self.own = all_own;
        // A page that waits for its use does so from the end of its step on.
        if std::mem::take(&mut self.some_back)[1] {
            self.close();
        }
    }

    /// Pages were evicted.
    #[inline]
    pub(super) fn evicted(&mut self, how: Eviction, pages: impl Iterator<Item = Use>) {
        self.close();
        self.evicted.extend(pages);
        let end = self.evicted.len();
        match self.parts.last_mut() {
            Some(Part::Evicted(before, of)) if *of == how => *before = end,
            _ => self.parts.push(Part::Evicted(end, how)),
        }
    }

    /// A page was kept for its uses.
    #[inline]
    pub(super) fn kept(&mut self, page: PageIdx, last: u32) {
        self.close();
        self.kept.push((page, last));
        let end = self.kept.len();
        match self.parts.last_mut() {
            Some(Part::Kept(before)) => *before = end,
            _ => self.parts.push(Part::Kept(end)),
        }
    }

    /// A page went down a list although a look had found it used.
    #[inline]
    pub(super) fn overlooked(&mut self, page: PageIdx) {
        self.close();
        self.overlooked.push(page);
        let end = self.overlooked.len();
        match self.parts.last_mut() {
            Some(Part::Overlooked(before)) => *before = end,
            _ => self.parts.push(Part::Overlooked(end)),
        }
    }

    /// A page came to memory.
    #[inline]
    pub(super) fn arrived(&mut self, page: PageIdx, at: Where) {
        self.close();
        self.parts.push(Part::Arrived(page, at));
    }

    /// A page is written to swap.
    #[inline]
    pub(super) fn written(&mut self, page: Option<PageIdx>) {
        self.close();
        self.parts.push(Part::Written(page));
    }

    /// True if the queue is long enough to hand it over.
    #[inline]
    pub(super) fn is_long(&self) -> bool {
        let waiting = self.parts.len() + self.uses.len() + self.evicted.len() + self.kept.len();
        waiting >= TOGETHER
    }

    /// Tells all parts but the open one.
    #[inline(never)]
    pub(super) fn deliver(&mut self, f: &mut dyn Follower, all: &mut KeptPages) {
        let (mut from, [mut evicted, mut kept, mut overlooked]) = (Ends::default(), [0; 3]);
        for part in self.parts.drain(..) {
            match part {
                Part::Used(to, for_uses) => {
                    let back = &self.back[from.back..to.back];
                    let (before, with) = if for_uses { (&[][..], back) } else { (back, &[][..]) };
                    if !before.is_empty() {
                        f.refaulted(all, before);
                    }
                    let uses = &self.uses[from.uses..to.uses];
                    f.used(all, uses, with, &self.steps[from.steps..to.steps]);
                    from = to;
                }
                Part::Evicted(to, how) => {
                    f.evicted(all, &how, &self.evicted[evicted..to]);
                    evicted = to;
                }
                Part::Kept(to) => {
                    f.kept(all, &self.kept[kept..to]);
                    kept = to;
                }
                Part::Overlooked(to) => {
                    f.overlooked(all, &self.overlooked[overlooked..to]);
                    overlooked = to;
                }
                Part::Arrived(page, at) => f.arrived(all, page, at),
                Part::Written(page) => f.written(all, page),
            }
        }
        self.uses.drain(..from.uses);
        self.complete -= from.uses;
        self.back.drain(..from.back);
        self.steps.drain(..from.steps);
        self.open = Ends::default();
        self.evicted.clear();
        self.kept.clear();
        self.overlooked.clear();
    }
}
