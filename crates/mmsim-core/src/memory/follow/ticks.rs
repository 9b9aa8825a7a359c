//! When pages were used last, in ticks.
//!
//! Each hit notes its tick, so what it writes is narrow: 15 bits, the distance of the tick from a
//! *base*. The base moves up when distances do not fit any more. Ticks before it then go to a
//! column of 32 bits, which shorter runs do not have. Memory is filled 64 times between two moves.
//!
//! The bit beside them says that a page may have been used *again*, in a later tick than that in
//! which it came. A page without it was not.

use crate::base::host;
use crate::base::id::PageIdx;

/// So far the base moves up.
const STRIDE: u16 = 1 << 14;
/// The page may have been used again since it came.
const AGAIN: u16 = 1 << 15;
/// The tick from the base on.
const TICK: u16 = AGAIN - 1;

/// The tick that is under way, from 1 on, and the tick of each page's last use.
#[derive(Clone, Debug)]
pub(super) struct Ticks {
    /// The tick, from the base on, from 1 on.
    now: u16,
    base: u32,
    /// The tick of each page's last use, from the base on; 0: it was not used since. With
    /// [`AGAIN`].
    recent: Vec<u16>,
    /// The ticks of last uses before the base; 0: never. Nothing while the base is 0.
    old: Vec<u32>,
}

impl Default for Ticks {
    fn default() -> Self {
        Ticks { now: 1, base: 0, recent: Vec::new(), old: Vec::new() }
    }
}

impl Ticks {
    /// Makes room for pages.
    pub(super) fn grow(&mut self, pages: usize) {
        host::grow(&mut self.recent, pages, 0);
        if self.base > 0 {
            host::grow(&mut self.old, pages, 0);
        }
    }

    /// The tick of a page's last use, from 1 on; 0: never.
    #[inline]
    pub(super) fn last(&self, page: PageIdx) -> u32 {
        let page = page.0 as usize;
        self.recent.get(page).map_or(0, |&recent| exact(recent, page, self.base, &self.old))
    }

    /// The tick of a page's last use, if it may have been used again since it came.
    #[inline(always)]
    pub(super) fn again(&self, page: PageIdx) -> Option<u32> {
        let page = page.0 as usize;
        let &recent = self.recent.get(page)?;
        (recent & AGAIN != 0).then(|| exact(recent, page, self.base, &self.old))
    }

    /// Has memory fetch what is noted of a page.
    #[inline(always)]
    pub(super) fn fetch(&self, page: PageIdx) {
        host::prefetch(&self.recent, page.0 as usize);
    }

    /// A known page is there without a use, so that its next one is one more.
    #[inline]
    pub(super) fn unused(&mut self, page: PageIdx) {
        self.recent[page.0 as usize] |= AGAIN;
    }

    /// Sets the tick of a known page's last use: one that is over, or is under way.
    pub(super) fn set(&mut self, page: PageIdx, last: u32) {
        let page = page.0 as usize;
        self.recent[page] = last.saturating_sub(self.base) as u16 | AGAIN;
        if let Some(old) = self.old.get_mut(page) {
            *old = last;
        }
    }

    /// A known page is used. Returns the tick of its use before.
    #[inline]
    pub(super) fn replace(&mut self, page: PageIdx) -> u32 {
        let last = self.last(page);
        let recent = &mut self.recent[page.0 as usize];
        // A page of which nothing was known comes for this use.
        *recent = if *recent == 0 && last == 0 { self.now } else { self.now | AGAIN };
        last
    }

    /// To note uses with.
    #[inline]
    pub(super) fn noting(&mut self) -> Noting<'_> {
        let Ticks { now, base, recent, old } = self;
        Noting { now: *now, base: *base, recent, old }
    }

    /// Bytes of the host that the columns take.
    pub(super) fn host_bytes(&self) -> u64 {
        (self.recent.capacity() * size_of::<u16>() + self.old.capacity() * size_of::<u32>()) as u64
    }

    /// The tick is over.
    pub(super) fn go_on(&mut self) {
        if self.now == TICK {
            self.move_base();
        }
        self.now += 1;
    }

    #[cold]
    fn move_base(&mut self) {
        host::grow(&mut self.old, self.recent.len(), 0);
        for (recent, old) in self.recent.iter_mut().zip(&mut self.old) {
            let tick = *recent & TICK;
            if (1..=STRIDE).contains(&tick) {
                *old = self.base + u32::from(tick);
            }
            *recent = *recent & AGAIN | tick.saturating_sub(STRIDE);
        }
        self.base += u32::from(STRIDE);
        self.now -= STRIDE;
    }
}

/// The tick of a page's last use.
#[inline(always)]
fn exact(recent: u16, page: usize, base: u32, old: &[u32]) -> u32 {
    match recent & TICK {
        0 => old.get(page).copied().unwrap_or(0),
        tick => base + u32::from(tick),
    }
}

/// Notes uses in the tick that is under way.
pub(super) struct Noting<'a> {
    now: u16,
    base: u32,
    recent: &'a mut [u16],
    old: &'a [u32],
}

impl Noting<'_> {
    /// Has memory fetch what a use of a page changes.
    #[inline(always)]
    pub(super) fn fetch(&self, page: usize) {
        host::prefetch(self.recent, page);
    }

    /// A page is used that was there. Returns what was noted before, unless that was in this tick.
    #[inline(always)]
    pub(super) fn again(&mut self, page: usize) -> Option<Before> {
        let recent = &mut self.recent[page];
        if *recent & TICK == self.now {
            return None;
        }
        Some(Before(std::mem::replace(recent, self.now | AGAIN)))
    }

    /// A page comes for its use. Returns what was noted before.
    #[inline(always)]
    pub(super) fn came(&mut self, page: usize) -> Before {
        Before(std::mem::replace(&mut self.recent[page], self.now))
    }

    /// The tick of the use before, from 1 on; 0: never.
    #[inline(always)]
    pub(super) fn last(&self, page: usize, Before(recent): Before) -> u32 {
        exact(recent, page, self.base, self.old)
    }
}

/// The use before, as it is kept.
pub(super) struct Before(u16);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGES: u32 = 8;

    #[derive(Clone, Debug)]
    enum Step {
        /// Lets ticks pass.
        Pass(u32),
        /// A page is used that comes for it.
        Come(u32),
        /// A page is used that is there, by one of two ways.
        Use(u32, bool),
        /// A page is there without a use.
        Unused(u32),
        /// Sets the last use of a page to another than noted: a number of ticks before now.
        Set(u32, u32),
        Grow(u32),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            2 => (1_u32..4).prop_map(Step::Pass),
            2 => (1_u32..40_000).prop_map(Step::Pass),
            3 => (0..PAGES).prop_map(Step::Come),
            4 => (0..PAGES, any::<bool>()).prop_map(|(page, singly)| Step::Use(page, singly)),
            1 => (0..PAGES).prop_map(Step::Unused),
            1 => (0..PAGES, 0_u32..100_000).prop_map(|(page, ago)| Step::Set(page, ago)),
            1 => (PAGES..4 * PAGES).prop_map(Step::Grow),
        ];
        prop::collection::vec(step, 0..60)
    }

    /// A page of the naive model: the tick of its last use, and of the use that it came for.
    #[derive(Clone, Copy, Default)]
    struct Plain {
        last: u32,
        came: Option<u32>,
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// All ticks in 32 bits. A page that was used after the tick in which it came is one that was
        /// used again.
        #[test]
        fn narrow_ticks_are_those_of_a_wide_column(steps in steps()) {
            let mut ticks = Ticks::default();
            let (mut now, mut plain) = (1_u32, vec![Plain::default(); PAGES as usize]);
            ticks.grow(plain.len());
            for step in steps {
                match step {
                    Step::Pass(n) => {
                        (0..n).for_each(|_| ticks.go_on());
                        now += n;
                    }
                    Step::Come(page) => {
                        let at = page as usize;
                        let before = std::mem::replace(&mut plain[at].last, now);
                        plain[at].came = Some(now);
                        let mut noting = ticks.noting();
                        let was = noting.came(at);
                        prop_assert_eq!(noting.last(at, was), before);
                    }
                    Step::Use(page, singly) => {
                        let at = page as usize;
                        let before = std::mem::replace(&mut plain[at].last, now);
                        if singly {
                            prop_assert_eq!(ticks.replace(PageIdx(page)), before);
                        } else {
                            let mut noting = ticks.noting();
                            let was = noting.again(at).map(|was| noting.last(at, was));
                            prop_assert_eq!(was, (before != now).then_some(before));
                        }
                    }
                    Step::Unused(page) => {
                        ticks.unused(PageIdx(page));
                        plain[page as usize].came = None;
                    }
                    Step::Set(page, ago) => {
                        let last = now.saturating_sub(ago);
                        ticks.set(PageIdx(page), last);
                        plain[page as usize] = Plain { last, came: None };
                    }
                    Step::Grow(pages) => {
                        plain.resize(plain.len().max(pages as usize), Plain::default());
                        ticks.grow(plain.len());
                    }
                }
                for (page, &Plain { last, came }) in (0..).map(PageIdx).zip(&plain) {
                    prop_assert_eq!(ticks.last(page), last, "{} at {}", page, now);
                    let again = ticks.again(page);
                    prop_assert!(again.is_none_or(|tick| tick == last), "{} at {}", page, now);
                    let used_again = came.is_some_and(|came| last > came);
                    prop_assert!(again.is_some() || !used_again, "{} at {}", page, now);
                }
            }
        }
    }
}
