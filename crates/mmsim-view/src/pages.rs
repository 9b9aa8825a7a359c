//! Evictions and refaults over pages and time, as counts in cells.
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
}

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

    /// Only the columns and rows up to the last event.
    fn cut(self) -> Grid {
        let any = |i: usize| self.evictions[i] + self.refaults[i] > 0;
        let filled = || (0..ACROSS * DOWN).filter(|&i| any(i));
        let across = filled().map(|i| i % ACROSS + 1).max().unwrap_or(0);
        let down = filled().map(|i| i / ACROSS + 1).max().unwrap_or(0);
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
        TraceKinds::of(&[TraceKind::SimEvict, TraceKind::SimRefault])
    }

    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        let mut grid = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *event {
            TraceEvent::SimEvict { page: Some(page), .. } => {
                let cell = grid.cell(now, page.0.into());
                grid.evictions[cell] += 1;
            }
            TraceEvent::SimEvict { .. } => grid.elsewhere += 1,
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
