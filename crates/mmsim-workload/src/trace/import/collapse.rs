//! From every reference of a program to few page accesses.
//!
//! A program touches the same few pages (code, stack, the object in hand) over and over;
//! what page reclaim can see of this is an accessed bit. A repeated access is dropped if
//! an access to the same page, at least as strong (a write covers a read), was kept
//!
//! - fewer than `window` kept accesses ago, and
//! - fewer than `refresh` instructions ago.
//!
//! What is lost is bounded by just that: the order of two pages can be wrong by less than
//! `window` positions of the kept sequence, an accessed bit comes early by less than
//! `refresh` instructions, and a page that is hot throughout is still seen once per
//! `refresh`, so a scan that clears accessed bits less often than that finds the same
//! pages accessed. The *number* of accesses is lost: hit ratios count kept accesses.
//!
//! The memory of what was kept is a small table indexed by the low bits of the page. A
//! collision forgets the older page, so that at worst an access is kept needlessly; the
//! bounds hold always.
//!
//! Kept accesses to ascending pages within one refresh span become one run.

use super::regions::{Reference, Touched};
use super::spool::{Spool, Spooled};

/// Entries of the table of kept accesses: more than the pages that most programs have, so
/// that two hot pages rarely share one. Only the entries in use come into a cache.
const SLOTS: usize = 8192;

#[derive(Clone, Copy)]
struct Kept {
    page: u64,
    /// Number among the kept accesses.
    nr: u64,
    /// When, in instructions; the top bits say: written, fetched.
    when: u64,
}

const WRITTEN: u64 = 1 << 63;
const FETCHED: u64 = 1 << 62;
const TIME: u64 = FETCHED - 1;

/// Drops repeated accesses, joins runs, and counts time.
pub(super) struct Collapse {
    window: u64,
    refresh: u64,
    tick: u64,
    table: Vec<Kept>,
    nr_kept: u64,
    /// Instructions executed.
    pub(super) now: u64,
    /// Ticks handed out so far.
    ticks: u64,
    run: Option<(Spooled, u64)>,
    pub(super) spool: Spool,
    pub(super) touched: Touched,
}

impl Collapse {
    pub(super) fn new(window: u64, refresh: u64, tick: u64) -> Self {
        Collapse {
            window,
            refresh,
            tick: tick.max(1),
            table: vec![Kept { page: u64::MAX, nr: 0, when: 0 }; SLOTS],
            nr_kept: 0,
            now: 0,
            ticks: 0,
            run: None,
            spool: Spool::default(),
            touched: Touched::default(),
        }
    }

    /// One reference to one page.
    #[inline]
    pub(super) fn reference(&mut self, page: u64, how: Reference) {
        let kept = self.table[page as usize % SLOTS];
        if kept.page == page
            && self.nr_kept - kept.nr < self.window
            && self.now - (kept.when & TIME) < self.refresh
            && (how != Reference::Store || kept.when & WRITTEN != 0)
        {
            // A page that was kept as data is program text all the same.
            if how == Reference::Fetch && kept.when & FETCHED == 0 {
                self.table[page as usize % SLOTS].when |= FETCHED;
                self.touched.touch(page, how);
            }
            return;
        }
        self.keep(page, how);
    }

    #[inline(never)]
    fn keep(&mut self, page: u64, how: Reference) {
        let write = how == Reference::Store;
        let when = self.now
            | match how {
                Reference::Fetch => FETCHED,
                Reference::Load => 0,
                Reference::Store => WRITTEN,
            };
        self.nr_kept += 1;
        self.table[page as usize % SLOTS] = Kept { page, nr: self.nr_kept, when };
        self.touched.touch(page, how);
        if let Some((run, since)) = &mut self.run
            && run.vpn + run.count == page
            && run.write == write
            && self.now - *since < self.refresh
        {
            run.count += 1;
            return;
        }
        self.end_run();
        let ticks = self.now / self.tick;
        let run = Spooled { process: 0, write, vpn: page, count: 1, ticks: ticks - self.ticks };
        self.ticks = ticks;
        self.run = Some((run, self.now));
    }

    /// Puts the run in hand away.
    pub(super) fn end_run(&mut self) {
        if let Some((run, _)) = self.run.take() {
            self.spool.push(&run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collapse(window: u64, refresh: u64, refs: &[(u64, u64, Reference)]) -> Vec<Spooled> {
        let mut c = Collapse::new(window, refresh, 1);
        for &(when, page, how) in refs {
            c.now = when;
            c.reference(page, how);
        }
        c.end_run();
        c.spool.all()
    }

    fn pages(kept: &[Spooled]) -> Vec<(u64, bool)> {
        kept.iter().flat_map(|r| (r.vpn..r.vpn + r.count).map(|p| (p, r.write))).collect()
    }

    use Reference::{Fetch, Load, Store};

    #[test]
    fn a_repeat_is_dropped_a_stronger_one_kept() {
        let refs = [(1, 50, Load), (2, 50, Load), (3, 50, Store), (4, 50, Load), (5, 50, Fetch)];
        assert_eq!(pages(&collapse(8, 100, &refs)), [(50, false), (50, true)]);
    }

    #[test]
    fn a_page_is_seen_again_after_the_refresh_span() {
        let refs: Vec<_> = (0..1000).map(|t| (t, 50, Load)).collect();
        let kept = collapse(8, 100, &refs);
        assert_eq!(kept.len(), 10);
        assert!(kept[1..].iter().all(|r| r.ticks == 100));
    }

    /// Three pages in turn: with a window of 3 the fourth access finds the first page 3
    /// kept accesses ago, which is too far.
    #[test]
    fn the_window_counts_kept_accesses() {
        let refs: Vec<_> = (0..9).map(|t| (t, 50 + 10 * (t % 3), Load)).collect();
        assert_eq!(collapse(4, 100, &refs).len(), 3);
        assert_eq!(collapse(2, 100, &refs).len(), 9);
    }

    #[test]
    fn ascending_pages_join() {
        let refs: Vec<_> = (0..20).map(|t| (t, 50 + t, Store)).collect();
        let kept = collapse(8, 100, &refs);
        assert_eq!(kept.len(), 1);
        assert_eq!((kept[0].vpn, kept[0].count), (50, 20));
    }
}
