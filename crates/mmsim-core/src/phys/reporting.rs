//! Free page reporting: free blocks are handed to the host in lists, so that it takes them back.
//!
//! A run goes over the zones in order. A zone takes part if its free pages exceed the low watermark
//! and a whole list of blocks. In it each free list is gone through from its head, from the least
//! reported order up, and unreported blocks are isolated until the list for the host is full. The
//! host answers, the blocks go to the tails of their lists, and the run goes on. A sixteenth of the
//! blocks of an order are reported in a run, rounded up to whole lists, and one list more.
//!
//! The caller lets time pass while blocks are with the host. They are out of the allocator meanwhile.
//!
//! Source: Linux 6.12 mm/page_reporting.c (`page_reporting_process_zone`, `page_reporting_cycle`,
//! `page_reporting_drain`).

use super::frames::{FrameKind, Frames};
use super::watermarks::Mark;
use super::zone::Zone;
use super::zones::Zones;
use crate::base::id::{Idx as _, Pfn, ZoneId};
use crate::base::migratetype::Migratetype;

/// A block that is with the host: its first frame and log2 of its frames.
pub(crate) type Sent = (Pfn, u8);

/// The free list that a run is at.
#[derive(Clone, Copy, Debug)]
struct List {
    order: u8,
    /// Its number among [`TYPES`].
    mt: usize,
    /// Full lists for the host that this one may still give, and one more; below 0: none.
    budget: i64,
}

/// The types of lists, in the order in which a run takes them. Isolated blocks are left out.
const TYPES: [Migratetype; 5] = [
    Migratetype::Unmovable,
    Migratetype::Movable,
    Migratetype::Reclaimable,
    Migratetype::HighAtomic,
    Migratetype::Cma,
];

/// Where the filling of a list for the host stopped.
enum Filled {
    /// The list for the host is full.
    Full,
    /// The free list has no more to give in this run.
    End,
}

/// A run of free page reporting.
#[derive(Clone, Debug)]
pub(crate) struct ReportRun {
    /// Number of the zone.
    zone: usize,
    /// Where it is in that zone; `None`: before its first list.
    at: Option<List>,
    /// Blocks that are with the host, or about to be.
    blocks: Vec<Sent>,
    /// A budget ended before its list did, so another run is to come.
    pub unfinished: bool,
    /// Zones that had too little free memory.
    pub passed_over: u64,
}

/// Blocks that a run reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reporting {
    /// Least order.
    pub order: u8,
    /// Blocks of a list for the host.
    pub capacity: usize,
}

impl ReportRun {
    /// A run that begins.
    pub(crate) fn new() -> ReportRun {
        ReportRun { zone: 0, at: None, blocks: Vec::new(), unfinished: false, passed_over: 0 }
    }

    /// Blocks that are with the host.
    pub(crate) fn sent(&self) -> &[Sent] {
        &self.blocks
    }

    /// Goes on until blocks are with the host; false at the end of the run.
    pub(crate) fn advance(
        &mut self,
        zones: &mut Zones,
        frames: &mut Frames,
        what: Reporting,
    ) -> bool {
        while self.zone < zones.ids().count() {
            let zone = &mut zones[ZoneId::from_index(self.zone)];
            let Some(list) = self.at.or_else(|| first_list(zone, what)) else {
                self.passed_over += 1;
                self.zone += 1;
                continue;
            };
            match self.fill(zone, frames, what, list) {
                Filled::Full => return true,
                Filled::End => self.at = next_list(zone, what, list),
            }
            if self.at.is_none() {
                self.zone += 1;
                if !self.blocks.is_empty() {
                    return true;
                }
            }
        }
        false
    }

    /// Isolates unreported blocks of a free list, from its head on.
    fn fill(
        &mut self,
        zone: &mut Zone,
        frames: &mut Frames,
        what: Reporting,
        list: List,
    ) -> Filled {
        let (order, mt) = (list.order, TYPES[list.mt]);
        while let Some(p) = zone.buddy.first_unreported(frames, order, mt) {
            if list.budget < 0 {
                self.unfinished = true;
                zone.rotate_list(frames, order, mt, p);
                return Filled::End;
            }
            if self.blocks.len() == what.capacity {
                zone.rotate_list(frames, order, mt, p);
                self.at = Some(List { budget: list.budget - 1, ..list });
                return Filled::Full;
            }
            if zone.isolate_free_block(frames, p, Mark::Min).is_none() {
                zone.rotate_list(frames, order, mt, p);
                return Filled::End;
            }
            for tail in p.0 + 1..p.0 + (1 << order) {
                frames.reset(Pfn(tail), FrameKind::Tail);
            }
            frames.reset_block(p, FrameKind::Kernel, order, Migratetype::Unmovable);
            self.blocks.push((p, order));
        }
        Filled::End
    }

    /// Puts the blocks that the host has answered for back on their lists.
    pub(crate) fn put_back(&mut self, zones: &mut Zones, frames: &mut Frames) {
        for (p, order) in self.blocks.drain(..) {
            let zone = zones.with(p);
            zone.buddy.put_back_reported(frames, p, order);
            zone.settle();
        }
    }
}

/// The first list of a zone, if the zone takes part.
fn first_list(zone: &Zone, what: Reporting) -> Option<List> {
    let room = zone.room_above(Mark::Low) > (what.capacity as i64) << what.order;
    room.then(|| List { order: what.order, mt: 0, budget: budget(zone, what, what.order) })
}

/// The list behind another one.
fn next_list(zone: &Zone, what: Reporting, list: List) -> Option<List> {
    let (order, mt) = match list.mt + 1 {
        mt if mt < TYPES.len() => (list.order, mt),
        _ => (list.order + 1, 0),
    };
    let there = order <= zone.buddy.rules().max_order;
    there.then(|| List { order, mt, budget: budget(zone, what, order) })
}

/// Full lists that the blocks of an order may give in a run, less one.
fn budget(zone: &Zone, what: Reporting, order: u8) -> i64 {
    zone.buddy.nr_free_blocks_of_order(order).div_ceil(16 * what.capacity as u64) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::CpuId;
    use crate::config::{Kernel, MachineConfig, ZoneConfig, ZoneKind};
    use crate::phys::gfp::AllocFlags;

    /// The defaults of 6.1 to 7.3 on x86.
    const DEFAULT: Reporting = Reporting { order: 9, capacity: 32 };

    /// A zone Normal of `pages` pages with these watermarks and no per-CPU lists, all of it free.
    fn zone(pages: u32, marks: [u32; 3]) -> (Zones, Frames) {
        let zone = ZoneConfig::new(ZoneKind::Normal, pages).bare(marks);
        let mut zones = Zones::new(&MachineConfig::new(Kernel::V6_12, vec![zone]));
        let mut frames = Frames::new(zones.nr_frames(), false);
        zones.populate(&mut frames);
        (zones, frames)
    }

    /// One run: the blocks of each report, and whether another run is to come.
    fn run(zones: &mut Zones, frames: &mut Frames) -> (Vec<usize>, bool) {
        run_of(zones, frames, DEFAULT)
    }

    fn run_of(zones: &mut Zones, frames: &mut Frames, what: Reporting) -> (Vec<usize>, bool) {
        let (mut run, mut reports) = (ReportRun::new(), Vec::new());
        while run.advance(zones, frames, what) {
            reports.push(run.sent().len());
            run.put_back(zones, frames);
            zones[ZoneId(0)].buddy().check(frames);
        }
        (reports, run.unfinished)
    }

    /// Runs until none is to come: the blocks that each reports.
    fn runs(zones: &mut Zones, frames: &mut Frames) -> Vec<usize> {
        runs_of(zones, frames, DEFAULT)
    }

    fn runs_of(zones: &mut Zones, frames: &mut Frames, what: Reporting) -> Vec<usize> {
        let mut all = Vec::new();
        loop {
            let (reports, more) = run_of(zones, frames, what);
            all.push(reports.iter().sum());
            if !more {
                return all;
            }
        }
    }

    /// Leaves `blocks` blocks of an order free, every other one, so that none merge.
    fn apart(blocks: u32, order: u8) -> (Zones, Frames) {
        let (mut zones, mut frames) = zone((blocks << (order + 1)) + 64, [1, 2, 3]);
        let (z, flags) = (&mut zones[ZoneId(0)], AllocFlags::default());
        let mut take = |order| z.take(&mut frames, CpuId(0), order, Migratetype::Movable, flags);
        while take(order).is_some() {}
        while take(0).is_some() {}
        for block in 0..blocks {
            let first = Pfn(block << (order + 1));
            zones[ZoneId(0)].put(&mut frames, CpuId(0), first, order);
        }
        (zones, frames)
    }

    /// Blocks of order 9, every other one.
    fn every_other(blocks: u32) -> (Zones, Frames) {
        apart(blocks, 9)
    }

    /// Worked by hand: 25,600 blocks, 100 GiB of those of order 10, have a budget of 50. So 51 lists of
    /// 32 are a run, and 16 runs report all. Blocks of order 1 obey the same rule in less memory.
    #[test]
    fn a_hundred_gib_take_sixteen_runs() {
        let what = Reporting { order: 1, capacity: 32 };
        let (mut zones, mut frames) = apart(25_600, 1);
        let expected = [vec![1632; 15], vec![1120]].concat();
        assert_eq!(runs_of(&mut zones, &mut frames, what), expected);
    }

    /// Worked by hand: 1,024 blocks of order 10 have a budget of 2, so three lists of 32 a run.
    #[test]
    fn a_sixteenth_and_one_list_are_reported_in_a_run() {
        let (mut zones, mut frames) = zone(1024 << 10, [1, 2, 3]);
        assert_eq!(run(&mut zones, &mut frames), (vec![32; 3], true));
        assert_eq!(runs(&mut zones, &mut frames), [vec![96; 9], vec![64]].concat());
        assert_eq!(runs(&mut zones, &mut frames), [0], "all is reported");

        let (mut zones, mut frames) = zone(256 << 10, [1, 2, 3]);
        assert_eq!(runs(&mut zones, &mut frames), [64; 4]);
    }

    /// Worked by hand: 2,048 blocks of order 9 take 13 runs of 160; 40 take one, of 32 and 8.
    #[test]
    fn what_is_left_of_a_zone_is_a_shorter_report() {
        let (mut zones, mut frames) = every_other(2048);
        assert_eq!(runs(&mut zones, &mut frames), [vec![160; 12], vec![128]].concat());
        let (mut zones, mut frames) = every_other(40);
        // 40 blocks are 20,480 pages: more than the low watermark and 32 blocks.
        assert_eq!(run(&mut zones, &mut frames), (vec![32, 8], false));
    }

    /// A zone takes part above its low watermark and 32 blocks: 4,000 + 16,384 pages.
    #[test]
    fn a_zone_short_of_memory_is_passed_over() {
        for (free, reports) in [(20_384, 0), (20_385, 1)] {
            let (mut zones, mut frames) = zone(1 << 15, [3_000, 4_000, 5_000]);
            let (z, flags) = (&mut zones[ZoneId(0)], AllocFlags::default());
            for _ in 0..(1 << 15) - free {
                z.take(&mut frames, CpuId(0), 0, Migratetype::Movable, flags).expect("free");
            }
            let mut run = ReportRun::new();
            let goes_on = run.advance(&mut zones, &mut frames, DEFAULT);
            assert_eq!((goes_on, run.passed_over), (reports > 0, 1 - reports), "{free} free");
        }
    }

    /// A report makes an unmovable block movable and puts it at the tail; a buddy that is freed
    /// later merges with it, and the larger block is unreported.
    #[test]
    fn a_reported_block_is_movable_and_merges_unreported() {
        let (mut zones, mut frames) = every_other(40);
        let z = &mut zones[ZoneId(0)];
        let first = Pfn(0);
        let block = z.buddy.block_from(&frames, first).expect("it is free");
        z.buddy.take_block(&mut frames, block);
        z.set_pageblock_type(first, Migratetype::Unmovable);
        z.buddy.free(&mut frames, first, 9);
        z.settle();
        assert_eq!(z.buddy().list(9, Migratetype::Unmovable).next(), Some(first));

        run(&mut zones, &mut frames);
        let z = &mut zones[ZoneId(0)];
        assert_eq!(z.buddy().block_type(first), Migratetype::Movable);
        assert_eq!(z.buddy().list(9, Migratetype::Unmovable).next(), None);
        let listed: Vec<Pfn> = z.buddy().list(9, Migratetype::Movable).collect();
        assert!(listed.contains(&first) && listed.len() == 40, "{listed:?}");
        assert_eq!(z.buddy.first_unreported(&mut frames, 9, Migratetype::Movable), None);

        z.put(&mut frames, CpuId(0), Pfn(512), 9);
        let (order, mt) = (10, Migratetype::Movable);
        assert_eq!(z.buddy.first_unreported(&mut frames, order, mt), Some(first));
        assert_eq!(run(&mut zones, &mut frames).0, [1], "it is reported again, as a whole");
    }

    /// A page taken from a reported block leaves 511 pages in unreported blocks below the order.
    #[test]
    fn a_page_of_a_reported_block_clears_the_report() {
        let (mut zones, mut frames) = every_other(40);
        run(&mut zones, &mut frames);
        let (z, flags) = (&mut zones[ZoneId(0)], AllocFlags::default());
        z.take(&mut frames, CpuId(0), 0, Migratetype::Movable, flags).expect("free");
        for order in 0..9 {
            let mt = Migratetype::Movable;
            assert!(z.buddy.first_unreported(&mut frames, order, mt).is_some(), "{order}");
        }
        assert_eq!(run(&mut zones, &mut frames).0, [0; 0]);
    }

    /// Only blocks of the reported order are noticed, and not those that reporting puts back.
    #[test]
    fn large_blocks_are_noticed() {
        let (mut zones, mut frames) = every_other(40);
        let z = &mut zones[ZoneId(0)];
        z.notice_from(9);
        z.put(&mut frames, CpuId(0), Pfn(512 + 1024), 9);
        assert!(z.take_noticed() && !z.take_noticed());
        let flags = AllocFlags::default();
        let page = z.take(&mut frames, CpuId(0), 0, Migratetype::Movable, flags).expect("free");
        let other = z.take(&mut frames, CpuId(0), 0, Migratetype::Movable, flags).expect("free");
        z.put(&mut frames, CpuId(0), page, 0);
        assert!(!z.take_noticed(), "{other} keeps the block apart");
        z.put(&mut frames, CpuId(0), other, 0);
        assert!(z.take_noticed());
        run(&mut zones, &mut frames);
        assert!(!zones[ZoneId(0)].take_noticed());
    }
}
