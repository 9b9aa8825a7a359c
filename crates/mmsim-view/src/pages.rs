//! Evictions and refaults over pages and time, as counts in cells, and pages that were locked.
//!
//! Neither the length of a run nor its pages are known before it ends. So a cell begins small, and
//! becomes twice as wide or as high whenever an event lies outside of the grid: cells that fall
//! together are added. A run of any length takes the same room, and the sums of all cells are
//! exactly the events of the run.

use std::sync::{Arc, Mutex, PoisonError};

use mmsim::base::time::SimTime;
use mmsim::memory::trace::{Observer, TraceEvent, TraceKind, TraceKinds};
use serde::Serialize;

/// Columns of the grid, over time.
const ACROSS: usize = 128;
/// Rows of the grid, over pages.
const DOWN: usize = 96;

/// Counts in cells.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Grid {
    /// Nanoseconds of a column.
    pub cell_ns: u64,
    /// Pages of a row.
    pub cell_pages: u64,
    /// Columns.
    pub across: usize,
    /// Rows.
    pub down: usize,
    /// Evictions: row by row, that of the lowest pages first.
    pub evictions: Vec<u64>,
    /// Refaults in the same cells.
    pub refaults: Vec<u64>,
    /// Evictions of folios that no page is known of.
    pub elsewhere: u64,
    /// Pages that mappings locked, in the order in which they were.
    pub locked: Vec<Locked>,
    /// Times at which more were locked or unlocked than there is room for.
    pub more_locked: u64,
}

/// Pages that a mapping locked for a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Locked {
    /// First page.
    pub page: u64,
    /// Pages.
    pub pages: u64,
    /// From when.
    pub from_ns: u64,
    /// Until when; `None`: to the end.
    pub until_ns: Option<u64>,
}

/// Locked parts that are kept.
const MOST_LOCKED: usize = 2000;

impl Default for Grid {
    fn default() -> Self {
        let none = vec![0; ACROSS * DOWN];
        Grid {
            cell_ns: 100_000,
            cell_pages: 1,
            across: ACROSS,
            down: DOWN,
            evictions: none.clone(),
            refaults: none,
            elsewhere: 0,
            locked: Vec::new(),
            more_locked: 0,
        }
    }
}

impl Grid {
    /// Cells of twice the width or height.
    fn fold(&mut self, wider: usize, higher: usize) {
        for cells in [&mut self.evictions, &mut self.refaults] {
            let before = std::mem::replace(cells, vec![0; ACROSS * DOWN]);
            for (i, n) in before.into_iter().enumerate() {
                cells[i / ACROSS / higher * ACROSS + i % ACROSS / wider] += n;
            }
        }
        self.cell_ns *= wider as u64;
        self.cell_pages *= higher as u64;
    }

    /// The cell of an event, within the grid.
    fn cell(&mut self, now: SimTime, page: u64) -> usize {
        while now.0 / self.cell_ns >= ACROSS as u64 {
            self.fold(2, 1);
        }
        while page / self.cell_pages >= DOWN as u64 {
            self.fold(1, 2);
        }
        (page / self.cell_pages) as usize * ACROSS + (now.0 / self.cell_ns) as usize
    }

    /// A mapping locks pages, or no longer.
    fn lock(&mut self, now: SimTime, page: u64, pages: u64, locked: bool) {
        // The grid grows until it holds the locked pages too.
        self.cell(now, page + pages.max(1) - 1);
        let end = page + pages;
        let mut parts = Vec::new();
        for l in self.locked.iter_mut().filter(|l| l.until_ns.is_none()) {
            if l.page >= end || page >= l.page + l.pages {
                continue;
            }
            l.until_ns = Some(now.0);
            parts.push((l.page, page));
            parts.push((end, l.page + l.pages));
        }
        if locked {
            parts.push((page, end));
        }
        for (page, end) in parts.into_iter().filter(|p| p.0 < p.1) {
            if self.locked.len() == MOST_LOCKED {
                self.more_locked += 1;
                continue;
            }
            let (pages, from_ns) = (end - page, now.0);
            self.locked.push(Locked { page, pages, from_ns, until_ns: None });
        }
    }

    /// Only the columns and rows up to the last event.
    fn cut(self) -> Grid {
        let any = |i: usize| self.evictions[i] + self.refaults[i] > 0;
        let filled = || (0..ACROSS * DOWN).filter(|&i| any(i));
        let times = self.locked.iter().map(|l| l.until_ns.unwrap_or(l.from_ns) / self.cell_ns);
        let pages = self.locked.iter().map(|l| (l.page + l.pages - 1) / self.cell_pages);
        let across = filled().map(|i| i % ACROSS).chain(times.map(|x| x as usize)).max();
        let down = filled().map(|i| i / ACROSS).chain(pages.map(|y| y as usize)).max();
        let [across, down] = [across, down].map(|n| n.map_or(0, |n| n + 1));
        let part = |cells: &[u64]| -> Vec<u64> {
            (0..down).flat_map(|y| cells[y * ACROSS..][..across].iter().copied()).collect()
        };
        let (evictions, refaults) = (part(&self.evictions), part(&self.refaults));
        Grid { across, down, evictions, refaults, ..self }
    }
}

/// Counts while a run goes on.
#[derive(Clone, Debug, Default)]
pub struct Watcher(Arc<Mutex<Grid>>);

impl Watcher {
    /// Observer for the machine.
    pub fn observer(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }

    /// The counts so far.
    pub fn counted(&self) -> Grid {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().cut()
    }
}

impl Observer for Watcher {
    fn kinds(&self) -> TraceKinds {
        TraceKinds::of(&[TraceKind::SimEvict, TraceKind::SimRefault, TraceKind::SimMlock])
    }

    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        let mut grid = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *event {
            TraceEvent::SimEvict { page: Some(page), .. } => {
                let cell = grid.cell(now, page.0.into());
                grid.evictions[cell] += 1;
            }
            TraceEvent::SimEvict { .. } => grid.elsewhere += 1,
            TraceEvent::SimMlock { page, pages, locked } => {
                grid.lock(now, page.0.into(), pages.into(), locked);
            }
            TraceEvent::SimRefault { page, .. } => {
                let cell = grid.cell(now, page.0.into());
                grid.refaults[cell] += 1;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::base::id::{PageIdx, Pfn};

    /// Pages 10 to 29 are locked at 1 ms, 15 to 19 unlocked at 2 ms, and all are at 3 ms: worked by hand.
    #[test]
    fn locked_pages_are_parts_of_the_grid() {
        let watcher = Watcher::default();
        let mut observer = watcher.observer();
        for (ms, page, pages, locked) in [(1, 10, 20, true), (2, 15, 5, false), (3, 0, 40, false)] {
            let event = TraceEvent::SimMlock { page: PageIdx(page), pages, locked };
            observer.event(SimTime(ms * 1_000_000), &event);
        }
        let grid = watcher.counted();
        let part = |page, pages, from: u64, until: u64| Locked {
            page,
            pages,
            from_ns: from * 1_000_000,
            until_ns: Some(until * 1_000_000),
        };
        assert_eq!(grid.locked, [part(10, 20, 1, 2), part(10, 5, 2, 3), part(20, 10, 2, 3)]);
        assert_eq!((grid.across, grid.down), (31, 30));
    }

    #[test]
    fn every_event_is_in_its_cell_however_far_the_grid_has_grown() {
        let watcher = Watcher::default();
        let mut observer = watcher.observer();
        for i in 0..1000_u64 {
            let page = Some(PageIdx((i * 37 % 5000) as u32)).filter(|_| i % 10 > 0);
            let (pfn, slot) = (Pfn(0), None);
            let eviction = i + 1;
            let event =
                TraceEvent::SimEvict { eviction, pfn, page, file: false, slot, written: false };
            observer.event(SimTime(i * 1_000_000), &event);
        }
        let grid = watcher.counted();
        assert_eq!((grid.cell_ns, grid.cell_pages), (12_800_000, 64));
        assert_eq!((grid.elsewhere, grid.evictions.iter().sum::<u64>()), (100, 900));
        assert_eq!((grid.across, grid.down), (79, 79));
        let mut expected = vec![0; grid.across * grid.down];
        for i in (0..1000_u64).filter(|i| i % 10 > 0) {
            let (x, y) = (i * 1_000_000 / grid.cell_ns, i * 37 % 5000 / grid.cell_pages);
            expected[y as usize * grid.across + x as usize] += 1;
        }
        assert_eq!(grid.evictions, expected);
    }
}
