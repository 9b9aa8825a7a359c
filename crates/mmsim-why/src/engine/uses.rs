//! Pages that are used, and those that come back for it.

use std::mem::take;

use mmsim_core::base::id::{AsId, PageIdx, ThreadId};
use mmsim_core::memory::follow::{Acted, Follower, KeptPages, PageOf, Refaulted, Use, is_sampled};

use super::{By, Engine};
use crate::class::Class;
use crate::page::{Page, USED, mark, tick_of};
use crate::verdict::{Fresh, Logged, Site};

/// True if all pages that came back are used, in the same order.
#[inline]
pub(super) fn all_are_used(uses: &[Use], back: &[Refaulted]) -> bool {
    let mut found = 0;
    for u in uses {
        found += usize::from(back.get(found).is_some_and(|r| r.page == u.page));
    }
    found == back.len()
}

impl Engine {
    /// Facts about a refault that its counter counts, before the page is used.
    #[inline]
    pub(super) fn fresh(&mut self, r: &Refaulted, p: &mut Page) -> Fresh {
        let tick = self.min.now();
        let (evicted, class) =
            if p.is(mark::OUT) { (p.moved, p.class()) } else { (tick, Class::Order) };
        let (written, balanced) = (p.is(mark::WRITTEN), p.is(mark::BALANCED));
        p.clear(mark::WRITTEN);
        let site = self.tables.site(Site::of(r));
        let (page, now, phase) = (r.page, r.now.0, self.phase);
        let verdict = None;
        Fresh { page, evicted, tick, now, site, phase, class, balanced, written, verdict }
    }

    /// A page comes back, and is used at once.
    #[inline]
    fn is_back(&mut self, all: &mut KeptPages, r: &Refaulted, u: &Use) {
        let mut p = Page::of(all, u.page);
        if !r.counts || p.any(mark::WAITS | mark::RESIDENT) {
            self.refaulted(all, std::slice::from_ref(r));
            return self.is_used(all, u);
        }
        let mut f = self.fresh(r, &mut p);
        let since = p.is(mark::EVER).then(|| tick_of(u.last));
        let hit = self.optimum(u.page, since);
        f.verdict = Some(self.verdict(&f, since.map(|_| hit)));
        if self.first == self.fresh.len() {
            self.first += 1;
        }
        self.fresh.push(f);
        self.comes(u.page, u.at, USED | p.marks & mark::STAY).keep(all, u.page);
    }

    /// Pages are used, some of which come [back for it in order](all_are_used), to be counted for a
    /// task at once. Returns what is left from the first on that has to wait.
    pub(super) fn are_counted<'u, 'r>(
        &mut self,
        all: &mut KeptPages,
        uses: &'u [Use],
        mut back: &'r [Refaulted],
        task: AsId,
    ) -> (&'u [Use], &'r [Refaulted]) {
        self.tables.turn_to(self.phase, task);
        let (now, shift) = (self.min.now(), self.shift);
        for (n, u) in uses.iter().enumerate() {
            let Some((r, rest)) = back.split_first() else {
                self.are_used_alone(all, &uses[n..]);
                break;
            };
            let own = all.of(u.page);
            let p = Page::from(*own);
            if r.page != u.page {
                self.is_used(all, u);
                continue;
            }
            if !r.counts || p.any(mark::WAITS | mark::RESIDENT) {
                return (&uses[n..], back);
            }
            back = rest;
            let (evicted, rule) = match p.is(mark::OUT) {
                true => (p.moved, p.rule()),
                false => (now, Class::Order as u32),
            };
            let since = p.is(mark::EVER).then(|| tick_of(u.last));
            let sampled = is_sampled(u.page.0, shift);
            let hit = if sampled { self.min.used(since) } else { self.min.has(since) };
            let class = match since {
                None => Class::ReadAhead as u32,
                Some(_) if !hit => Class::Capacity as u32,
                _ if p.is(mark::BALANCED) => self.over_reclaimed(rule, evicted),
                _ => rule,
            };
            *own = self.comes(u.page, u.at, USED).into();
            self.tables.count_now(r, (evicted, now), class, p.is(mark::WRITTEN));
        }
        (&[], back)
    }

    /// The class of a refault by the number of its rule, if its node needed no reclaim when the page
    /// was evicted.
    #[inline(never)]
    fn over_reclaimed(&self, rule: u32, evicted: u32) -> u32 {
        // Its frame was not needed meanwhile.
        let spare = self.tight.is_none_or(|t| t <= evicted);
        if rule > Class::Forced as u32 && spare { Class::OverReclaim as u32 } else { rule }
    }

    /// True if the optimum has a page that is used, and was before.
    #[inline]
    fn optimum(&mut self, page: PageIdx, since: Option<u32>) -> bool {
        match is_sampled(page.0, self.shift) {
            true => self.min.used(since),
            false => self.min.has(since),
        }
    }

    /// The class of a refault that is used; `had`: whether the optimum had it, if it was ever used.
    #[inline]
    pub(super) fn verdict(&self, f: &Fresh, had: Option<bool>) -> Class {
        match had {
            None => Class::ReadAhead,
            Some(false) => Class::Capacity,
            _ if f.class <= Class::Forced => f.class,
            // Its frame was not needed meanwhile.
            _ if f.balanced && self.tight.is_none_or(|t| t <= f.evicted) => Class::OverReclaim,
            _ => f.class,
        }
    }

    /// A page that waited is used, or leaves, which it does without a word on the optimum.
    #[inline]
    pub(super) fn settles(&mut self, page: PageIdx, had: Option<bool>) {
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

    /// A page is used.
    #[inline(always)]
    fn is_used(&mut self, all: &mut KeptPages, u: &Use) {
        let own = all.of(u.page);
        let p = Page::from(*own);
        *own = if p.any(mark::RESIDENT | mark::WAITS) {
            self.is_used_there(p, u).into()
        } else {
            self.comes_used(u, &p).into()
        };
    }

    /// The same of a page that is there already, or waits for a use. Returns what is known of it then.
    #[inline(never)]
    fn is_used_there(&mut self, p: Page, u: &Use) -> Page {
        let (now, last) = (self.min.now(), tick_of(u.last));
        let known = mark::RESIDENT | USED;
        if p.marks & (known | mark::WAITS) != known {
            return self.is_used_first(p, u);
        }
        if last == now {
            return p;
        }
        if p.is(mark::SAMPLED) {
            if !self.min.used(Some(last)) {
                self.tables.credit += 1 << self.shift;
            }
            self.idle[p.list()].moves(last, now);
        }
        Page { marks: p.marks | mark::AGAIN, ..p }
    }

    /// The same for the first time since it came.
    #[inline(never)]
    fn is_used_first(&mut self, mut p: Page, u: &Use) -> Page {
        let (page, now, last) = (u.page, self.min.now(), tick_of(u.last));
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
                    self.idle[p.list()].moves(idle, now);
                }
            }
        } else {
            p = self.comes(page, u.at, p.marks & mark::STAY);
        }
        p.set(USED);
        p
    }

    /// Pages are used, some of them those that came back for it. Some uses never come, such as
    /// those of locked pages: a page that came back for one waits.
    #[inline]
    pub(super) fn are_used(&mut self, all: &mut KeptPages, uses: &[Use], back: &[Refaulted]) {
        if back.is_empty() {
            return self.are_used_alone(all, uses);
        }
        let (in_order, mut back) = (all_are_used(uses, back), back);
        for u in uses {
            match back.split_first() {
                Some((r, rest)) if r.page == u.page => {
                    self.is_back(all, r, u);
                    back = rest;
                }
                Some(_) if !in_order && !Page::of(all, u.page).is(mark::RESIDENT) => {
                    back = self.is_late(all, u, back);
                }
                _ => self.is_used(all, u),
            }
        }
        if !back.is_empty() {
            self.refaulted(all, back);
        }
    }

    /// Pages are used that did not come back for it.
    #[inline]
    pub(super) fn are_used_alone(&mut self, all: &mut KeptPages, uses: &[Use]) {
        uses.iter().for_each(|u| self.is_used(all, u));
    }

    /// Whose refaults those of a step are, if all of them are its own, and none of an earlier step
    /// waits.
    #[inline]
    pub(super) fn own(&self, step: &Acted, back: usize) -> Option<AsId> {
        let all = back as u64 <= step.counts(self.settings.swap_ins);
        let first = self.fresh.is_empty() && self.waiting.is_empty() && !self.settings.log;
        (all && first).then_some(step.space)
    }

    /// A page is used that may have come back, after others that are not used yet.
    #[inline(never)]
    fn is_late<'a>(
        &mut self,
        all: &mut KeptPages,
        u: &Use,
        back: &'a [Refaulted],
    ) -> &'a [Refaulted] {
        let Some(n) = back.iter().position(|r| r.page == u.page) else {
            self.is_used(all, u);
            return back;
        };
        self.refaulted(all, &back[..n]);
        self.is_back(all, &back[n], u);
        &back[n + 1..]
    }

    /// A thread's step is done.
    #[inline]
    pub(super) fn acted(&mut self, a: &Acted) {
        if !self.fresh.is_empty() {
            self.settle(a);
        }
    }

    #[inline(never)]
    fn settle(&mut self, a: &Acted) {
        let own = a.counts(self.settings.swap_ins) as usize;
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
    pub(super) fn record(&mut self, f: &Fresh, by: Option<By>, class: Class) {
        self.tables.count(f, by.map(|by| by.0), class);
        if self.settings.log {
            let (thread, access) = by.map_or((ThreadId(0), u64::MAX), |by| (by.1, by.2));
            let &Fresh { page, site, evicted, now, .. } = f;
            // Known at the end.
            let (of, file, without_device) = (PageOf::Nobody, false, false);
            self.tables.log.push(Logged {
                thread,
                access,
                page,
                of,
                file,
                without_device,
                class,
                site,
                evicted,
                now,
            });
        }
    }
}
