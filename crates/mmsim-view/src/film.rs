//! Pageblocks over time: what each is, how much of it is free, and where compaction looked.
//!
//! A frame of the film is a look at all of memory, so there are few: a [`Watcher`] that has too
//! many drops every other one, and from then on looks half as often. On a machine of more than
//! 1,024 pageblocks a cell of the film stands for several that lie side by side, and its pages are
//! their sums. What compaction's scanners passed between two frames is kept as ranges, so a frame
//! that is dropped hands its ranges to the next one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mmsim::base::id::{Pfn, ZoneId};
use mmsim::base::migratetype::{Migratetype, NR_MIGRATETYPES};
use mmsim::base::time::SimTime;
use mmsim::machine::LookFn;
use mmsim::memory::trace::{Observer, TraceEvent, TraceKind, TraceKinds};
use mmsim::memory::{BlockUse, Memory};
use mmsim::phys::buddy::NR_ORDERS;

/// Cells of a frame, unless there are more zones.
const MOST_CELLS: usize = 1024;

/// Frames of one run that a page has room for, if it has `nr_runs` runs.
pub fn most_frames(nr_runs: usize) -> usize {
    (960 / nr_runs.max(1)).clamp(8, 120)
}

/// A zone with memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ZoneShape {
    /// Its node and name.
    pub name: String,
    /// Its number.
    pub zone: u8,
    /// Its first page frame.
    pub first_pfn: u64,
    /// Pageblocks, a part of one at the end too.
    pub blocks: u64,
    /// Cells of a frame: the same everywhere but in the last cell.
    pub cells: u64,
}

/// Some pageblocks that lie side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Cell {
    /// The type of most of them; of equally many the first in the order of `/proc/pagetypeinfo`.
    pub migratetype: Migratetype,
    /// Free pages, those in per-CPU lists too.
    pub free: u32,
    /// Pages that can be moved.
    pub movable: u32,
    /// Pages that cannot.
    pub pinned: u32,
}

/// Part of a zone that compaction passed since the frame before, in page frames: from the lowest to
/// the highest that a scanner stood at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Passed {
    /// The zone.
    pub zone: u8,
    /// Runs of compaction that ended.
    pub runs: u64,
    /// Where the scanner stood that looks for pages to move.
    pub migrate: (u64, u64),
    /// Where the one stood that looks for free pages.
    pub free: (u64, u64),
}

impl Passed {
    /// Both, of one zone.
    fn and(&mut self, other: &Passed) {
        let both = |a: &mut (u64, u64), b: (u64, u64)| *a = (a.0.min(b.0), a.1.max(b.1));
        both(&mut self.migrate, other.migrate);
        both(&mut self.free, other.free);
        self.runs += other.runs;
    }
}

fn put(all: &mut Vec<Passed>, one: Passed) {
    match all.iter_mut().find(|p| p.zone == one.zone) {
        Some(there) => there.and(&one),
        None => all.push(one),
    }
}

/// One look at memory.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Frame {
    /// When.
    pub at: SimTime,
    /// The cells of all zones, one zone after the other.
    pub cells: Vec<Cell>,
    /// Pageblocks by migratetype.
    pub types: [u64; NR_MIGRATETYPES],
    /// Free blocks by order, of all zones and types.
    pub orders: [u64; NR_ORDERS],
    /// Parts that compaction passed since the frame before.
    pub passed: Vec<Passed>,
}

/// The film of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Film {
    /// Number of samples of the run that a frame stands for.
    pub stride: u64,
    /// Pages of a pageblock.
    pub block_pages: u64,
    /// Pageblocks of a cell.
    pub cell_blocks: u64,
    /// Zones.
    pub zones: Vec<ZoneShape>,
    /// Frames.
    pub frames: Vec<Frame>,
}

#[derive(Debug)]
struct Kept {
    most: usize,
    seen: u64,
    film: Film,
    passed: Vec<Passed>,
}

impl Kept {
    /// A sample: looks, unless there are frames enough.
    fn sample(&mut self, at: SimTime, mem: &Memory) {
        if self.film.zones.is_empty() {
            self.begin(mem);
        }
        self.seen += 1;
        if !(self.seen - 1).is_multiple_of(self.film.stride) {
            return;
        }
        if self.film.frames.len() == self.most {
            self.halve();
            if !(self.seen - 1).is_multiple_of(self.film.stride) {
                return;
            }
        }
        let (mut cells, mut types, mut orders) = (Vec::new(), [0; NR_MIGRATETYPES], [0; NR_ORDERS]);
        for zone in &self.film.zones {
            let z = ZoneId(zone.zone);
            let uses = mem.block_uses(z);
            uses.iter().for_each(|u| types[u.migratetype as usize] += 1);
            cells.extend(uses.chunks(self.film.cell_blocks as usize).map(cell));
            for (order, n) in orders.iter_mut().enumerate() {
                let of = |&mt: &Migratetype| mem.zones[z].nr_free_blocks(order as u8, mt);
                *n += Migratetype::ALL.iter().map(of).sum::<u64>();
            }
        }
        let passed = std::mem::take(&mut self.passed);
        self.film.frames.push(Frame { at, cells, types, orders, passed });
    }

    fn begin(&mut self, mem: &Memory) {
        let film = &mut self.film;
        film.block_pages = 1 << mem.zones[ZoneId(0)].buddy().rules().pageblock_order;
        for z in mem.zones.ids() {
            let zone = &mem.zones[z];
            let blocks = zone.buddy().pageblocks().count() as u64;
            if blocks > 0 {
                let name = format!("node {}, {}", zone.node.0, zone.kind.name());
                let first_pfn = zone.first.0.into();
                film.zones.push(ZoneShape { name, zone: z.0, first_pfn, blocks, cells: 0 });
            }
        }
        let all: u64 = film.zones.iter().map(|z| z.blocks).sum();
        film.cell_blocks = all.div_ceil(MOST_CELLS as u64).next_power_of_two().max(1);
        film.zones.iter_mut().for_each(|z| z.cells = z.blocks.div_ceil(film.cell_blocks));
    }

    /// Drops every other frame.
    fn halve(&mut self) {
        let (mut kept, mut passed): (Vec<Frame>, Vec<Passed>) = (Vec::new(), Vec::new());
        for (i, mut frame) in std::mem::take(&mut self.film.frames).into_iter().enumerate() {
            frame.passed.drain(..).for_each(|p| put(&mut passed, p));
            if i % 2 == 0 {
                frame.passed = std::mem::take(&mut passed);
                kept.push(frame);
            }
        }
        self.film.frames = kept;
        self.film.stride *= 2;
        let later = std::mem::replace(&mut self.passed, passed);
        later.into_iter().for_each(|p| put(&mut self.passed, p));
    }
}

fn cell(blocks: &[BlockUse]) -> Cell {
    let nr = |mt: Migratetype| blocks.iter().filter(|b| b.migratetype == mt).count();
    let most = Migratetype::ALL.into_iter().rev().max_by_key(|&mt| nr(mt));
    let sum = |of: fn(&BlockUse) -> u32| blocks.iter().map(of).sum();
    Cell {
        migratetype: most.unwrap_or(Migratetype::Movable),
        free: sum(|b| b.free),
        movable: sum(|b| b.movable),
        pinned: sum(|b| b.pinned),
    }
}

/// Keeps a film while a run goes on.
#[derive(Clone, Debug)]
pub struct Watcher(Arc<Mutex<Kept>>);

impl Watcher {
    /// Keeps at most `most` frames.
    pub fn new(most: usize) -> Watcher {
        let film = Film { stride: 1, ..Film::default() };
        let kept = Kept { most: most.max(2), seen: 0, film, passed: Vec::new() };
        Watcher(Arc::new(Mutex::new(kept)))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Observer of the scanners.
    pub fn observer(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }

    /// Observer of memory.
    pub fn look(&self) -> LookFn {
        let kept = self.clone();
        Box::new(move |at, mem| kept.lock().sample(at, mem))
    }

    /// The frames kept so far.
    pub fn kept(&self) -> Film {
        self.lock().film.clone()
    }
}

impl Observer for Watcher {
    fn kinds(&self) -> TraceKinds {
        TraceKinds::of(&[TraceKind::MmCompactionBegin, TraceKind::MmCompactionEnd])
    }

    fn event(&mut self, _: SimTime, event: &TraceEvent) {
        let stood = |zone: ZoneId, runs, migrate: Pfn, free: Pfn| {
            let [migrate, free] = [migrate, free].map(|pfn| (pfn.0.into(), pfn.0.into()));
            Passed { zone: zone.0, runs, migrate, free }
        };
        let one = match *event {
            TraceEvent::MmCompactionBegin { zone, migrate_pfn, free_pfn, .. } => {
                stood(zone, 0, migrate_pfn, free_pfn)
            }
            TraceEvent::MmCompactionEnd { zone, migrate_pfn, free_pfn, .. } => {
                stood(zone, 1, migrate_pfn, free_pfn)
            }
            _ => return,
        };
        put(&mut self.lock().passed, one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(runs: u64, from: u64, to: u64) -> Passed {
        Passed { zone: 0, runs, migrate: (from, to), free: (100 - to, 100 - from) }
    }

    /// Five frames become three; what the two others had passed goes to the next one that stays.
    #[test]
    fn frames_that_are_dropped_hand_on_what_was_passed() {
        let watcher = Watcher::new(8);
        let mut kept = watcher.lock();
        for i in 0..6 {
            let (types, orders) = ([i; NR_MIGRATETYPES], [i; NR_ORDERS]);
            let passed = if i == 4 { Vec::new() } else { vec![passed(1, i, i + 2)] };
            kept.film.frames.push(Frame {
                at: SimTime(i),
                cells: Vec::new(),
                types,
                orders,
                passed,
            });
        }
        kept.passed = vec![passed(2, 30, 31)];
        kept.halve();
        assert_eq!(kept.film.stride, 2);
        let have: Vec<(u64, &[Passed])> =
            kept.film.frames.iter().map(|f| (f.at.0, f.passed.as_slice())).collect();
        let want = [vec![passed(1, 0, 2)], vec![passed(2, 1, 4)], vec![passed(1, 3, 5)]];
        assert_eq!(have, [(0, &want[0][..]), (2, &want[1][..]), (4, &want[2][..])]);
        assert_eq!(kept.passed, [passed(3, 5, 31)]);
    }

    #[test]
    fn a_cell_is_the_sum_of_its_blocks() {
        use Migratetype::{Movable, Unmovable};
        let block =
            |migratetype, free, movable, pinned| BlockUse { migratetype, free, movable, pinned };
        let all = [block(Movable, 1, 2, 3), block(Unmovable, 4, 0, 2), block(Movable, 0, 6, 0)];
        let of = |blocks: &[BlockUse]| {
            let c = cell(blocks);
            (c.migratetype, c.free, c.movable, c.pinned)
        };
        assert_eq!(of(&all), (Movable, 5, 8, 5));
        assert_eq!(of(&all[..2]), (Unmovable, 5, 2, 5));
    }
}
