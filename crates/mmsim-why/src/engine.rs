//! Follows a run and puts each refault into its class.
//!
//! What is kept of a page are two words: the tick of its arrival or eviction, and marks. A third,
//! the tick of its last use, is kept where uses are noted. At an eviction all is known that the rules up to [`Class::WrongType`] ask
//! for, so the page carries the first that holds. Whether the optimum had kept it, [`Min`] says
//! when the page is used again. Whether pages were kept in vain is known at the end of the run
//! only, so refaults without an earlier rule wait for it, counted by the tick of their eviction.
//!
//! A page that came back and is not used yet (a device reads it, or it was read ahead) waits for
//! its first use. If it leaves before, it came back for nobody.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};

use mmsim_core::base::id::{AsId, IndexVec, MemcgId, PageIdx, ThreadId};
use mmsim_core::memory::Memory;
use mmsim_core::memory::follow::{
    Acted, Eviction, Follower, PageOf, Refaulted, Use, Wants, Where, is_sampled,
};
use mmsim_core::memory::trouble::Troubled;
use mmsim_core::policy::Reclaimer;

use crate::class::Class;
use crate::idle::Idle;
use crate::min::Min;
use crate::page::{CLASS_MASK, CLASS_SHIFT, LIST_SHIFT, Page, mark, tick_of};
use crate::verdict::{self, Fresh, Logged, Site, Span, Tables, Verdicts};
use crate::waiting::Waiting;

/// Pages idle for longer count as many if they are one in so many of all.
const FEW: u64 = 64;

/// A page is one of the coldest of its list if colder ones there are less than one in so many of
/// all.
const COLDEST: u64 = 16;

/// Ticks in which memory is filled once.
const TICKS_OF_MEMORY: u64 = 256;

/// Frames that the sampled pages stand for are at least half as many, of a machine that has them.
const SAMPLE: u64 = 8192;

/// What a run is to tell.
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
    /// Whether swap-ins stand for refaults of anonymous pages.
    #[must_use]
    pub fn with_swap_ins(mut self, swap_ins: bool) -> Self {
        self.swap_ins = swap_ins;
        self
    }
    /// Whether each refault is noted with its access.
    #[must_use]
    pub fn with_log(mut self, log: bool) -> Self {
        self.log = log;
        self
    }
    /// Whether all uses of all pages are to be known.
    #[must_use]
    pub fn with_exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }
}

/// What a run told, once it is over.
#[derive(Clone, Debug, Default)]
pub struct Told(Arc<Mutex<Option<Verdicts>>>);

impl Told {
    /// What was told; nothing before the end of a run, nor of a run that panicked.
    pub fn take(&self) -> Option<Verdicts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
    fn tell(&self, verdicts: Verdicts) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdicts);
    }
}

/// What lists said of pages that are idle for longer than one.
#[derive(Clone, Copy, Default)]
struct Asked {
    /// The tick from 1 on, the list and the tick of the use.
    of: (u32, u32, u32),
    /// Most of them are elsewhere, or of the other type.
    wrong: Option<Class>,
    /// Hardly any is of the same list.
    coldest: bool,
}

/// Answers that are kept.
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
    /// What lists said in this tick.
    asked: [Asked; ASKED],
    pages: IndexVec<PageIdx, Page>,
    min: Min,
    /// Lists by their places: the number of their anonymous one, the file one is behind it.
    lists: BTreeMap<(u8, MemcgId), usize>,
    idle: Vec<Idle>,
    /// Pages that are counted in them.
    counted: u64,
    /// The place that was asked for last, and its list.
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
            pages: IndexVec::new(),
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

    /// The same with ticks of so many frames.
    #[must_use]
    pub fn with_grain(mut self: Box<Self>, frames: u64) -> Box<Self> {
        self.grain = Some(frames);
        self
    }

    fn page(&mut self, page: PageIdx) -> &mut Page {
        if page.0 as usize >= self.pages.len() {
            self.grow(page);
        }
        &mut self.pages[page]
    }

    #[cold]
    fn grow(&mut self, page: PageIdx) {
        self.pages.resize((page.0 as usize + 1).next_multiple_of(512), Page::default());
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

    /// A page is in memory now, and was not before: what is known of it then.
    #[inline]
    fn comes(&mut self, page: PageIdx, mut p: Page, at: Where) -> Page {
        let (list, now) = (self.list(at), self.min.now());
        p.clear(!(mark::EVER | mark::WAITS | mark::WRITTEN));
        p.set(mark::RESIDENT | (list as u32) << LIST_SHIFT);
        p.moved = now;
        if is_sampled(page.0, self.shift) {
            p.set(mark::SAMPLED);
            self.idle[list].add(now);
            self.counted += 1;
        }
        p
    }

    /// A page is in memory no more; its last use was in a tick.
    #[inline]
    fn leaves(&mut self, p: &mut Page, last: u32) {
        if p.is(mark::RESIDENT) && p.is(mark::SAMPLED) {
            self.idle[p.list()].remove(p.idle_since(last));
            self.counted -= 1;
        }
        p.clear(mark::RESIDENT);
    }

    /// What the lists say of pages that are idle for longer.
    #[inline]
    fn ask(&mut self, list: usize, since: u32) -> Asked {
        let of = (self.min.now() + 1, list as u32, since);
        let at = (since as usize + list) % ASKED;
        if self.asked[at].of != of {
            self.ask_lists(at, of);
        }
        self.asked[at]
    }

    #[inline(never)]
    fn ask_lists(&mut self, at: usize, of: (u32, u32, u32)) {
        let (list, since) = (of.1 as usize, of.2);
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
        self.asked[at] = Asked { of, wrong, coldest };
    }

    /// The first rule of a decision that holds for an eviction, as far as it can be known now.
    #[inline]
    fn decided(&mut self, p: &Page, last: u32, by: Reclaimer) -> Class {
        if !p.is(mark::USED) {
            return Class::ReadAhead;
        }
        if matches!(by, Reclaimer::Limit(_) | Reclaimer::Advice) {
            return Class::Forced;
        }
        let asked = self.ask(p.list(), last);
        match asked.wrong {
            Some(wrong) => wrong,
            None if p.is(mark::OVERLOOKED) && last <= p.moved => Class::ReferenceLost,
            None if !p.is(mark::AGAIN) && last <= p.moved => Class::NeverTwice,
            None if asked.coldest => Class::Recency,
            None if p.is(mark::KEPT) && last <= p.moved => Class::TakenForOne,
            None => Class::Order,
        }
    }

    /// What is known of a refault that its counter counts, before the page is used.
    #[inline]
    fn fresh(&mut self, r: &Refaulted, p: &mut Page) -> Fresh {
        let tick = self.min.now();
        let (evicted, class) =
            if p.is(mark::OUT) { (p.moved, p.class()) } else { (tick, Class::Order) };
        let (written, balanced) = (p.is(mark::WRITTEN), p.is(mark::BALANCED));
        p.clear(mark::WRITTEN);
        let site = self.tables.site(Site { region: r.region, memcg: r.memcg, file: r.at.file });
        let (page, now, phase) = (r.page, r.now.0, self.phase);
        let verdict = None;
        Fresh { page, evicted, tick, now, site, phase, class, balanced, written, verdict }
    }

    /// A page comes back, and is used at once.
    #[inline]
    fn is_back(&mut self, r: &Refaulted, u: &Use) {
        let mut p = *self.page(u.page);
        if !r.counts || p.is(mark::WAITS) || p.is(mark::RESIDENT) {
            self.refaulted(std::slice::from_ref(r));
            return self.is_used(u);
        }
        let mut f = self.fresh(r, &mut p);
        let since = p.is(mark::EVER).then(|| tick_of(u.last));
        let hit = self.optimum(u.page, since);
        f.verdict = Some(self.verdict(&f, since.map(|_| hit)));
        if self.first == self.fresh.len() {
            self.first += 1;
        }
        self.fresh.push(f);
        let mut p = self.comes(u.page, p, u.at);
        p.set(mark::USED | mark::EVER);
        self.pages[u.page] = p;
    }

    /// Whether the optimum has a page that is used, and was before.
    #[inline]
    fn optimum(&mut self, page: PageIdx, since: Option<u32>) -> bool {
        match is_sampled(page.0, self.shift) {
            true => self.min.used(since),
            false => self.min.has(since),
        }
    }

    /// The class of a refault that is used; `had`: whether the optimum had it, if it was ever used.
    #[inline]
    fn verdict(&self, f: &Fresh, had: Option<bool>) -> Class {
        match had {
            None => Class::ReadAhead,
            Some(false) => Class::Capacity,
            _ if f.class <= Class::Forced => f.class,
            // Nobody needed its frame meanwhile.
            _ if f.balanced && self.tight.is_none_or(|t| t <= f.evicted) => Class::OverReclaim,
            _ => f.class,
        }
    }

    /// A page that waited is used, or leaves, which it does without a word on the optimum.
    #[inline]
    fn settles(&mut self, page: PageIdx, had: Option<bool>) {
        // Mostly the first is meant.
        match self.fresh.get(self.first) {
            Some(f) if f.page == page && f.verdict.is_none() => {
                let class = self.verdict(f, had);
                self.fresh[self.first].verdict = Some(class);
                self.first += 1;
            }
            _ => self.settles_late(page, had),
        }
    }

    #[inline(never)]
    fn settles_late(&mut self, page: PageIdx, had: Option<bool>) {
        let mut waits = self.fresh[self.first..].iter();
        if let Some(n) = waits.position(|f| f.page == page && f.verdict.is_none()) {
            let at = self.first + n;
            self.fresh[at].verdict = Some(self.verdict(&self.fresh[at], had));
        } else if let Some((f, by)) = self.waiting.remove(page) {
            let class = self.verdict(&f, had);
            self.record(&f, by, class);
        }
    }

    /// Looks at many pages together, so that nobody has to wait for each.
    #[inline]
    fn look(&self, pages: impl Iterator<Item = PageIdx>) {
        let marks = pages.filter_map(|page| Some(self.pages.get(page)?.marks));
        std::hint::black_box(marks.fold(0, |seen, marks| seen ^ marks));
    }

    /// A page is used.
    #[inline]
    fn is_used(&mut self, u: &Use) {
        let (page, now, last) = (u.page, self.min.now(), tick_of(u.last));
        let mut p = *self.page(page);
        let since = p.is(mark::EVER).then_some(last);
        let hit = self.optimum(page, since);
        if p.is(mark::WAITS) {
            p.clear(mark::WAITS);
            self.settles(page, since.map(|_| hit));
        } else if !hit && since.is_some() && p.is(mark::RESIDENT | mark::SAMPLED) {
            self.tables.credit += 1 << self.shift;
        }
        if p.is(mark::RESIDENT) {
            let idle = p.idle_since(last);
            if idle != now {
                if p.is(mark::USED) {
                    p.set(mark::AGAIN);
                }
                if p.is(mark::SAMPLED) {
                    let list = &mut self.idle[p.list()];
                    list.remove(idle);
                    list.add(now);
                }
            }
        } else {
            p = self.comes(page, p, u.at);
        }
        p.set(mark::USED | mark::EVER);
        self.pages[page] = p;
    }

    /// A page is evicted.
    #[inline]
    fn is_evicted(&mut self, how: &Eviction, e: &Use) {
        let page = e.page;
        let mut p = *self.page(page);
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
        let class = self.decided(&p, last, how.by);
        if class == Class::ReadAhead {
            self.tables.kept_in_vain(&Span { since: p.moved, until: now, ahead: true });
        }
        p.clear(CLASS_MASK | mark::BALANCED);
        p.set(mark::OUT | (class as u32) << CLASS_SHIFT);
        if how.written {
            p.set(mark::WRITTEN);
            self.tables.written += 1;
        }
        if how.balanced {
            p.set(mark::BALANCED);
        } else {
            self.tight = Some(now);
        }
        p.moved = now;
        self.pages[page] = p;
    }

    /// Pages are used, some of them those that came back for it. Returns those that did not.
    #[inline]
    fn are_used<'a>(&mut self, uses: &[Use], back: &'a [Refaulted]) -> &'a [Refaulted] {
        let mut back = back;
        for u in uses {
            match back.split_first() {
                Some((r, rest)) if r.page == u.page => {
                    self.is_back(r, u);
                    back = rest;
                }
                Some(_) if !self.page(u.page).is(mark::RESIDENT) => back = self.is_late(u, back),
                _ => self.is_used(u),
            }
        }
        back
    }

    /// A page is used that may have come back, after others that are not used yet.
    #[inline(never)]
    fn is_late<'a>(&mut self, u: &Use, back: &'a [Refaulted]) -> &'a [Refaulted] {
        let Some(n) = back.iter().position(|r| r.page == u.page) else {
            self.is_used(u);
            return back;
        };
        self.refaulted(&back[..n]);
        self.is_back(&back[n], u);
        &back[n + 1..]
    }

    /// A thread's step is done.
    fn acted(&mut self, a: &Acted) {
        if self.fresh.is_empty() {
            return;
        }
        let anon = if self.settings.swap_ins { a.swap_ins } else { a.refaults_anon };
        let own = (anon + a.refaults_file) as usize;
        let mut fresh = take(&mut self.fresh);
        self.first = 0;
        let (others, own) = fresh.split_at(fresh.len().saturating_sub(own));
        others.iter().for_each(|f| self.settled(f, None));
        let by = Some((a.space, a.thread, a.access));
        own.iter().for_each(|f| self.settled(f, by));
        fresh.clear();
        self.fresh = fresh;
    }

    /// A refault of a step that is done.
    #[inline]
    fn settled(&mut self, f: &Fresh, by: Option<By>) {
        match f.verdict {
            Some(class) if !self.settings.log => self.tables.count(f, by.map(|by| by.0), class),
            Some(class) => self.record(f, by, class),
            None => {
                self.waiting.insert(f.page, (*f, by));
            }
        }
    }

    #[inline(never)]
    fn record(&mut self, f: &Fresh, by: Option<By>, class: Class) {
        self.tables.count(f, by.map(|by| by.0), class);
        if self.settings.log {
            let (thread, access) = by.map_or((ThreadId(0), u64::MAX), |by| (by.1, by.2));
            let &Fresh { page, site, evicted, now, .. } = f;
            let (of, file) = (PageOf::Nobody, false);
            let logged = Logged { thread, access, page, of, file, class, site, evicted, now };
            self.tables.log.push(logged);
        }
    }

    /// What a page holds is gone; it was used last in a tick.
    fn is_dropped(&mut self, page: PageIdx, last: u32) {
        let mut p = self.pages[page];
        if p.marks == 0 {
            return;
        }
        if p.is(mark::WAITS) {
            self.settles(page, None);
        }
        self.idles_to_the_end(&p, last);
        self.leaves(&mut p, last);
        // What waits for its write keeps that.
        self.pages[page] = Page { marks: p.marks & mark::WRITTEN, ..Page::default() };
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

    fn used(&mut self, uses: &[Use], back: &[Refaulted], steps: &[Acted]) {
        self.look(uses.iter().map(|u| u.page));
        let mut told = (0, 0);
        for step in steps {
            let left = self.are_used(&uses[told.0..step.uses], &back[told.1..step.back]);
            // Nobody is told of some uses, such as those of locked pages.
            self.refaulted(left);
            told = (step.uses, step.back);
            self.acted(step);
        }
        let left = self.are_used(&uses[told.0..], &back[told.1..]);
        // Those are used by what is told next.
        self.refaulted(left);
    }

    fn arrived(&mut self, page: PageIdx, at: Where) {
        let p = *self.page(page);
        if !p.is(mark::RESIDENT) {
            self.pages[page] = self.comes(page, p, at);
        }
    }

    fn evicted(&mut self, how: &Eviction, pages: &[Use]) {
        self.look(pages.iter().map(|e| e.page));
        pages.iter().for_each(|e| self.is_evicted(how, e));
    }

    fn written(&mut self, page: Option<PageIdx>) {
        self.tables.written += 1;
        if let Some(page) = page {
            self.page(page).set(mark::WRITTEN);
        }
    }

    fn refaulted(&mut self, pages: &[Refaulted]) {
        self.look(pages.iter().map(|r| r.page));
        for r in pages {
            let mut p = *self.page(r.page);
            if r.counts {
                let f = self.fresh(r, &mut p);
                self.fresh.push(f);
                p.set(mark::WAITS);
            }
            if !p.is(mark::RESIDENT) {
                p = self.comes(r.page, p, r.at);
            }
            self.pages[r.page] = p;
        }
    }

    fn overlooked(&mut self, page: PageIdx) {
        let now = self.min.now();
        let p = self.page(page);
        if p.is(mark::USED) {
            // It has been on a list before.
            p.set(mark::OVERLOOKED | mark::AGAIN);
            p.clear(mark::KEPT);
            p.moved = now;
        }
    }

    fn kept(&mut self, pages: &[(PageIdx, u32)]) {
        let now = self.min.now();
        self.look(pages.iter().map(|&(page, _)| page));
        for &(page, last) in pages {
            let p = self.page(page);
            // Of uses in the tick in which it came one is told from the others by nobody.
            if p.is(mark::USED | mark::RESIDENT) && tick_of(last) > p.moved {
                p.set(mark::KEPT | mark::AGAIN);
                p.clear(mark::OVERLOOKED);
                p.moved = now;
            }
        }
    }

    fn dropped(&mut self, first: PageIdx, count: u32, last: &[u32]) {
        let end = (first.0 as usize + count as usize).min(self.pages.len()) as u32;
        let last = last.iter().copied().chain(std::iter::repeat(0));
        for (page, last) in (first.0..end).zip(last) {
            self.is_dropped(PageIdx(page), tick_of(last));
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
        let room = (resident + spare) >> self.shift;
        self.min.tick(u32::try_from(room).unwrap_or(u32::MAX).max(1));
    }

    fn ended(&mut self, mem: &Memory, last: &[u32]) {
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
        let last = last.iter().copied().chain(std::iter::repeat(0));
        for (p, last) in take(&mut self.pages).iter().zip(last) {
            self.idles_to_the_end(p, tick_of(last));
        }
        let tables = take(&mut self.tables);
        self.told.tell(verdict::settle(tables, mem));
    }
}
