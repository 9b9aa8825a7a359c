//! Follows a run and puts each refault into its class.
//!
//! What is kept of a page are three words. One is the tick of its last use, which is noted where it
//! is used. The engine's own are the tick of its arrival or eviction, and marks. All three stand in
//! one place, so that memory fetches them at once.
//!
//! At an eviction all is known that the rules up to [`Class::WrongType`] ask for, so the page carries
//! the first that holds. Whether the optimum had kept it, [`Min`] says when the page is used again.
//! Whether pages were kept in vain is known at the end of the run only. So refaults without an
//! earlier rule wait for it, counted by the tick of their eviction.
//!
//! A page that came back and is not used yet (a device reads it, or it was read ahead) waits for
//! its first use. If it leaves before, it came back without a use.

mod uses;

use uses::all_are_used;

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};

use mmsim_core::base::id::{AsId, MemcgId, PageIdx, ThreadId};
use mmsim_core::memory::Memory;
use mmsim_core::memory::follow::{
    Acted, Eviction, Follower, KeptPages, Refaulted, Use, Wants, Where, is_sampled,
};
use mmsim_core::memory::trouble::Troubled;
use mmsim_core::policy::Reclaimer;

use crate::class::Class;
use crate::idle::Idle;
use crate::min::Min;
use crate::page::{CLASS_MASK, CLASS_SHIFT, LIST_SHIFT, Page, USED, mark, tick_of};
use crate::verdict::{self, Fresh, Span, Tables, Verdicts};
use crate::waiting::Waiting;

/// Divisor: pages idle for longer count as many if they are at least that part of all.
const FEW: u64 = 64;

/// Divisor: a page is one of the coldest of its list if colder ones there are less than that part
/// of all.
const COLDEST: u64 = 16;

/// Ticks in which memory is filled once.
const TICKS_OF_MEMORY: u64 = 256;

/// Frames that the sampled pages stand for are at least half as many, of a machine that has them.
const SAMPLE: u64 = 8192;

/// Extent of the report of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// The policy keeps no count of anonymous refaults: swap-ins stand for them.
    pub swap_ins: bool,
    /// Note each refault with its access, to match runs.
    pub log: bool,
    /// Know all uses of all pages, however many there are.
    pub exact: bool,
}

impl Settings {
    /// Sets whether swap-ins stand for refaults of anonymous pages.
    #[must_use]
    pub fn with_swap_ins(mut self, swap_ins: bool) -> Self {
        self.swap_ins = swap_ins;
        self
    }
    /// Sets whether each refault is noted with its access.
    #[must_use]
    pub fn with_log(mut self, log: bool) -> Self {
        self.log = log;
        self
    }
    /// Sets whether all uses of all pages are to be known.
    #[must_use]
    pub fn with_exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }
}

/// Verdicts of a run, once it is over.
#[derive(Clone, Debug, Default)]
pub struct Told(Arc<Mutex<Option<Verdicts>>>);

impl Told {
    /// The verdicts; `None` before the end of a run, and of a run that panicked.
    pub fn take(&self) -> Option<Verdicts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
    fn tell(&self, verdicts: Verdicts) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdicts);
    }
}

/// Cached answer of lists about pages that are idle for longer than one.
#[derive(Clone, Copy, Default)]
struct Asked {
    /// The list from 1 on, and the tick of the use; 0: nothing.
    of: u64,
    /// The number of the class of an eviction, by what is [known of the page](known).
    classes: [u8; 8],
}

/// Index of the marks of an evicted page: a look found it used, and it went down; it was used in one
/// stretch only; a look kept it. If it was used since, no other mark counts.
#[inline(always)]
fn known(p: &Page, last: u32) -> usize {
    let [lost, again, kept] = [mark::OVERLOOKED, mark::AGAIN, mark::KEPT].map(|m| p.is(m));
    let of = usize::from(lost) | usize::from(!again) << 1 | usize::from(kept) << 2;
    if last <= p.moved { of } else { 0 }
}

/// The class of an eviction by what is known of the page. `wrong`: most of those idle for longer are
/// elsewhere, or of the other type. `coldest`: hardly any is of the same list.
fn ordered(known: usize, wrong: Option<Class>, coldest: bool) -> Class {
    let [lost, once, kept] = [0, 1, 2].map(|bit| known >> bit & 1 != 0);
    match wrong {
        Some(wrong) => wrong,
        None if lost => Class::ReferenceLost,
        None if once => Class::NeverTwice,
        None if coldest => Class::Recency,
        None if kept => Class::TakenForOne,
        None => Class::Order,
    }
}

/// Answers that are kept. An answer holds to the end of its tick, unless another takes its place, so
/// their number moves some classes.
const ASKED: usize = 16;

/// Whose step a refault is of, and at which access.
type By = (AsId, ThreadId, u64);

/// Follows a run.
pub struct Engine {
    settings: Settings,
    told: Told,
    grain: Option<u64>,
    /// One page in `1 << shift` is sampled.
    shift: u32,
    /// When the node that evicts needed reclaim last, or no frame was to spare.
    tight: Option<u32>,
    /// Answers of lists in this tick.
    asked: [Asked; ASKED],
    min: Min,
    /// Lists by their places: the number of their anonymous one, the file one is behind it.
    lists: BTreeMap<(u8, MemcgId), usize>,
    idle: Vec<Idle>,
    /// Pages that are counted in them.
    counted: u64,
    /// The place of the last query, and its list.
    known: Option<((u8, MemcgId), usize)>,
    fresh: Vec<Fresh>,
    /// The first of them that may wait.
    first: usize,
    /// Refaults that wait for a use after their steps.
    waiting: Waiting<(Fresh, Option<By>)>,
    phase: u32,
    tables: Tables,
}

impl Engine {
    /// An engine, and where it tells what it found.
    pub fn new(settings: Settings) -> (Box<Engine>, Told) {
        let told = Told::default();
        let engine = Engine {
            settings,
            told: told.clone(),
            grain: None,
            shift: 0,
            tight: None,
            asked: [Asked::default(); ASKED],
            min: Min::new(u32::MAX),
            lists: BTreeMap::new(),
            idle: Vec::new(),
            counted: 0,
            known: None,
            fresh: Vec::new(),
            first: 0,
            waiting: Waiting::default(),
            phase: 0,
            tables: Tables::default(),
        };
        (Box::new(engine), told)
    }

    /// The same with ticks of `frames` frames.
    #[must_use]
    pub fn with_grain(mut self: Box<Self>, frames: u64) -> Box<Self> {
        self.grain = Some(frames);
        self
    }

    /// The number of a list.
    #[inline]
    fn list(&mut self, at: Where) -> usize {
        let place = (at.lists, at.memcg);
        let first = match self.known {
            Some((known, first)) if known == place => first,
            _ => self.another_list(place),
        };
        first + usize::from(at.file)
    }

    #[inline(never)]
    fn another_list(&mut self, place: (u8, MemcgId)) -> usize {
        let next = self.idle.len();
        let first = *self.lists.entry(place).or_insert(next);
        if first == next {
            self.idle.resize(next + 2, Idle::default());
        }
        self.known = Some((place, first));
        first
    }

    /// A page is in memory now, and was not before: what is known of it then. `marks`: those that
    /// stay or come, beside the list.
    #[inline(always)]
    fn comes(&mut self, page: PageIdx, at: Where, marks: u32) -> Page {
        let list = self.list(at);
        let mut marks = marks | mark::RESIDENT | (list as u32) << LIST_SHIFT;
        if is_sampled(page.0, self.shift) {
            marks |= mark::SAMPLED;
            self.counts(list);
        }
        Page { moved: self.min.now(), marks }
    }

    /// The same of a page that comes for its use; MIN gets the use.
    #[inline(always)]
    fn comes_used(&mut self, u: &Use, p: &Page) -> Page {
        let list = self.list(u.at);
        let stay = p.marks & mark::STAY;
        let mut marks = stay | USED | mark::RESIDENT | (list as u32) << LIST_SHIFT;
        if is_sampled(u.page.0, self.shift) {
            marks |= mark::SAMPLED;
            self.min.used(p.is(mark::EVER).then(|| tick_of(u.last)));
            self.counts(list);
        }
        Page { moved: self.min.now(), marks }
    }

    /// Counts a sampled page that goes on a list.
    #[inline(never)]
    fn counts(&mut self, list: usize) {
        self.idle[list].add(self.min.now());
        self.counted += 1;
    }

    /// A page is in memory no more; its last use was in a tick.
    #[inline]
    fn leaves(&mut self, p: &mut Page, last: u32) {
        if p.is(mark::RESIDENT | mark::SAMPLED) {
            self.counts_no_more(p.list(), p.idle_since(last));
        }
        p.clear(mark::RESIDENT);
    }

    /// A sampled page leaves its list.
    #[inline(never)]
    fn counts_no_more(&mut self, list: usize, since: u32) {
        self.idle[list].remove(since);
        self.counted -= 1;
    }

    /// The number of pages of the lists that are idle for longer.
    #[inline]
    fn ask(&mut self, list: usize, since: u32) -> &Asked {
        let of = (list as u64 + 1) << 32 | u64::from(since);
        let at = (since as usize + list) % ASKED;
        if self.asked[at].of != of {
            self.ask_lists(at, of);
        }
        &self.asked[at]
    }

    #[inline(never)]
    fn ask_lists(&mut self, at: usize, of: u64) {
        let (list, since) = ((of >> 32) as usize - 1, of as u32);
        let (same, other) = (self.idle[list].before(since), self.idle[list ^ 1].before(since));
        let mut elsewhere = 0;
        if self.idle.len() > 2 {
            let others = self.idle.iter_mut().enumerate().filter(|(i, _)| i / 2 != list / 2);
            elsewhere = others.map(|(_, idle)| idle.before(since)).sum();
        }
        let many = (self.counted / FEW).max(1);
        let wrong = if elsewhere >= many && elsewhere > same + other {
            Some(Class::WrongPlace)
        } else if other >= many && other > same {
            Some(Class::WrongType)
        } else {
            None
        };
        let coldest = same < (self.counted / COLDEST).max(1);
        let classes = std::array::from_fn(|known| ordered(known, wrong, coldest) as u8);
        self.asked[at] = Asked { of, classes };
    }

    /// The number of the first rule of a decision that holds for an eviction, as far as it can be known
    /// now.
    #[inline]
    fn decided(&mut self, p: &Page, last: u32, forced: bool) -> u32 {
        if !p.is(mark::USED) {
            return Class::ReadAhead as u32;
        }
        if forced {
            return Class::Forced as u32;
        }
        self.ordered(p, last)
    }

    /// The same of a page that was used, without a request for it.
    #[inline(always)]
    fn ordered(&mut self, p: &Page, last: u32) -> u32 {
        u32::from(self.ask(p.list(), last).classes[known(p, last)])
    }

    /// A page is evicted, by request or not. `marks`: those that it gets.
    #[inline(never)]
    fn is_evicted(&mut self, p: Page, e: &Use, forced: bool, marks: u32) -> Page {
        let (page, mut p) = (e.page, p);
        if p.is(mark::WAITS) {
            p.clear(mark::WAITS);
            self.settles(page, None);
        }
        let (now, last) = (self.min.now(), tick_of(e.last));
        if p.is(mark::RESIDENT) {
            self.leaves(&mut p, last);
        } else {
            // Of a huge page, whose other pages came with it.
            let list = self.list(e.at) as u32;
            p.clear(!(mark::EVER | mark::WRITTEN));
            p.set(mark::USED | mark::EVER | list << LIST_SHIFT);
            p.moved = 0;
        }
        let class = self.decided(&p, last, forced);
        if class == Class::ReadAhead as u32 {
            self.tables.kept_in_vain(&Span { since: p.moved, until: now, ahead: true });
        }
        p.clear(CLASS_MASK | mark::BALANCED);
        p.set(marks | class << CLASS_SHIFT);
        p.moved = now;
        p
    }

    /// The contents of a page are gone.
    fn is_dropped(&mut self, all: &mut KeptPages, page: PageIdx) {
        let (mut p, last) = (Page::of(all, page), tick_of(all.last(page)));
        if p.marks == 0 {
            return;
        }
        if p.is(mark::WAITS) {
            self.settles(page, None);
        }
        self.idles_to_the_end(&p, last);
        self.leaves(&mut p, last);
        // What waits for its write keeps that.
        Page { marks: p.marks & mark::WRITTEN, ..Page::default() }.keep(all, page);
    }

    /// A page is not used any more in its life: so long it was kept in vain.
    fn idles_to_the_end(&mut self, p: &Page, last: u32) {
        let until = match () {
            () if p.is(mark::RESIDENT) => self.min.now(),
            () if p.is(mark::OUT) && p.is(mark::EVER) && p.class() != Class::ReadAhead => p.moved,
            () => return,
        };
        let ahead = p.is(mark::RESIDENT) && !p.is(mark::USED);
        let since = if ahead { p.moved } else { last };
        self.tables.kept_in_vain(&Span { since, until, ahead });
    }
}

impl Follower for Engine {
    fn grain(&self, frames: u64) -> u64 {
        self.grain.unwrap_or(frames / TICKS_OF_MEMORY)
    }

    fn sample_shift(&mut self, frames: u64) -> u32 {
        self.shift = if self.settings.exact { 0 } else { (frames / SAMPLE).max(1).ilog2() };
        self.shift
    }

    fn wants(&self) -> Wants {
        let Settings { log, swap_ins, .. } = self.settings;
        Wants::default().with_accesses(log).with_swap_ins(swap_ins)
    }

    fn used(&mut self, all: &mut KeptPages, uses: &[Use], back: &[Refaulted], steps: &[Acted]) {
        let mut told = (0, 0);
        for step in steps {
            let (mut uses, mut back) = (&uses[told.0..step.uses], &back[told.1..step.back]);
            told = (step.uses, step.back);
            if let Some(task) = self.own(step, back.len())
                && all_are_used(uses, back)
            {
                (uses, back) = self.are_counted(all, uses, back, task);
            }
            self.are_used(all, uses, back);
            self.acted(step);
        }
        // The next uses concern the rest.
        self.are_used(all, &uses[told.0..], &back[told.1..]);
    }

    fn arrived(&mut self, all: &mut KeptPages, page: PageIdx, at: Where) {
        let p = Page::of(all, page);
        if !p.is(mark::RESIDENT) {
            self.comes(page, at, p.marks & mark::STAY).keep(all, page);
        }
    }

    fn evicted(&mut self, all: &mut KeptPages, how: &Eviction, pages: &[Use]) {
        if pages.is_empty() {
            return;
        }
        let mut marks = mark::OUT;
        if how.written {
            marks |= mark::WRITTEN;
            self.tables.written += pages.len() as u64;
        }
        if how.balanced {
            marks |= mark::BALANCED;
        } else {
            self.tight = Some(self.min.now());
        }
        let forced =
            matches!(how.by, Reclaimer::Limit(_) | Reclaimer::Proactive(_) | Reclaimer::Advice);
        let now = self.min.now();
        for e in pages {
            let own = all.of(e.page);
            let (p, last) = (Page::from(*own), tick_of(e.last));
            let plain = mark::WAITS | mark::RESIDENT | mark::USED;
            if forced || p.marks & plain != mark::RESIDENT | mark::USED {
                *own = self.is_evicted(p, e, forced, marks).into();
                continue;
            }
            if p.is(mark::SAMPLED) {
                self.counts_no_more(p.list(), last);
            }
            let class = self.ordered(&p, last);
            let left = p.marks & !(mark::RESIDENT | mark::BALANCED | CLASS_MASK);
            *own = Page { moved: now, marks: left | marks | class << CLASS_SHIFT }.into();
        }
    }

    fn written(&mut self, all: &mut KeptPages, page: Option<PageIdx>) {
        self.tables.written += 1;
        if let Some(page) = page {
            let mut p = Page::of(all, page);
            p.set(mark::WRITTEN);
            p.keep(all, page);
        }
    }

    fn refaulted(&mut self, all: &mut KeptPages, pages: &[Refaulted]) {
        for r in pages {
            let mut p = Page::of(all, r.page);
            if r.counts {
                let f = self.fresh(r, &mut p);
                self.fresh.push(f);
                p.set(mark::WAITS);
            }
            if !p.is(mark::RESIDENT) {
                p = self.comes(r.page, r.at, p.marks & mark::STAY);
            }
            p.keep(all, r.page);
        }
    }

    fn overlooked(&mut self, all: &mut KeptPages, pages: &[PageIdx]) {
        let now = self.min.now();
        for &page in pages {
            let mut p = Page::of(all, page);
            if p.is(mark::USED) {
                // It has been on a list before.
                p.set(mark::OVERLOOKED | mark::AGAIN);
                p.clear(mark::KEPT);
                Page { moved: now, ..p }.keep(all, page);
            }
        }
    }

    fn kept(&mut self, all: &mut KeptPages, pages: &[(PageIdx, u32)]) {
        let now = self.min.now();
        for &(page, last) in pages {
            let mut p = Page::of(all, page);
            // Uses in the tick in which it came cannot be distinguished.
            if p.is(mark::USED | mark::RESIDENT) && tick_of(last) > p.moved {
                p.set(mark::KEPT | mark::AGAIN);
                p.clear(mark::OVERLOOKED);
                Page { moved: now, ..p }.keep(all, page);
            }
        }
    }

    fn dropped(&mut self, all: &mut KeptPages, first: PageIdx, count: u32) {
        let end = (first.0 as usize + count as usize).min(all.pages().len()) as u32;
        for page in first.0..end {
            self.is_dropped(all, PageIdx(page));
        }
    }

    fn troubled(&mut self, t: &Troubled) {
        self.tables.troubles.count(t, self.phase);
    }

    fn phase_ended(&mut self) {
        self.phase += 1;
    }

    fn ticked(&mut self, resident: u64, spare: u64) {
        if spare == 0 {
            self.tight = Some(self.min.now());
        }
        self.asked = [Asked::default(); ASKED];
        let room = (resident + spare) >> self.shift;
        self.min.tick(u32::try_from(room).unwrap_or(u32::MAX).max(1));
    }

    fn ended(&mut self, all: &mut KeptPages, mem: &Memory) {
        let nobody = Acted {
            thread: ThreadId(0),
            space: AsId(0),
            access: 0,
            refaults_anon: 0,
            refaults_file: 0,
            swap_ins: 0,
            uses: 0,
            back: 0,
        };
        self.acted(&nobody);
        for (_, (f, by)) in take(&mut self.waiting).in_order() {
            self.record(&f, by, Class::ReadAhead);
        }
        for page in all.pages() {
            self.idles_to_the_end(&Page::of(all, page), tick_of(all.last(page)));
        }
        let tables = take(&mut self.tables);
        self.told.tell(verdict::settle(tables, mem));
    }
}
