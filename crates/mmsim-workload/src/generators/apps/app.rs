//! One app: its sizes, what of its heap is dirty, and operations on its mappings.

use super::{AppsConfig, part};
use crate::sampler::{PageSampler, RankMap};
use mmsim_core::base::rng::Rng;
use mmsim_core::workload::{Advice, FileSlot, MapKind, Op, RegionId, Run, VmaFlags};
use std::sync::Arc;

/// Contents of a run of the heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HeapRun {
    Untouched,
    Dirty,
    Freed,
}

pub(super) struct App {
    pub(super) number: u16,
    pub(super) mapped: u32,
    pub(super) read: u32,
    pub(super) heap: u32,
    /// The law over its mapped files and the one over the others.
    pub(super) laws: (Arc<PageSampler>, Arc<PageSampler>),
    pub(super) alive: bool,
    pub(super) runs: Vec<HeapRun>,
    /// Number of its last launch.
    pub(super) launched: u64,
    /// Steps since it went to the background; none in front, or before the first launch.
    pub(super) since: Option<u64>,
    /// Number of steps that it then goes on, and the second in which it is trimmed.
    pub(super) background: (u64, u64),
}

impl App {
    pub(super) fn new(c: &AppsConfig, i: u32, [mapped, read, heap]: [u32; 3]) -> App {
        let law = |pages| PageSampler::shared(pages, c.theta, RankMap::Scatter);
        App {
            number: i as u16,
            mapped,
            read,
            heap,
            laws: (law(mapped), law(read)),
            alive: false,
            runs: vec![HeapRun::Untouched; heap.div_ceil(c.run) as usize],
            launched: 0,
            since: None,
            background: (0, 0),
        }
    }
    pub(super) fn heap_region(&self) -> RegionId {
        RegionId(2 * self.number)
    }
    pub(super) fn mapped_region(&self) -> RegionId {
        RegionId(2 * self.number + 1)
    }
    pub(super) fn mapped_file(&self) -> FileSlot {
        FileSlot(2 * self.number)
    }
    pub(super) fn read_file(&self) -> FileSlot {
        FileSlot(2 * self.number + 1)
    }

    pub(super) fn map(&mut self, ops: &mut Vec<Op>) {
        let flags = VmaFlags::default();
        let kind = MapKind::File { file: self.mapped_file(), offset: 0, shared: false };
        let heap = (self.heap_region(), self.heap, MapKind::Anon);
        for (region, pages, kind) in [heap, (self.mapped_region(), self.mapped, kind)] {
            ops.push(Op::Mmap { region, pages, kind, flags, at: None });
        }
        self.alive = true;
    }
    pub(super) fn kill(&mut self, ops: &mut Vec<Op>) {
        ops.push(Op::Munmap { region: self.heap_region() });
        ops.push(Op::Munmap { region: self.mapped_region() });
        self.runs.fill(HeapRun::Untouched);
        (self.alive, self.since) = (false, None);
    }
    /// Pages of run `run`: its first, and how many.
    pub(super) fn pages_of(&self, run: usize, size: u32) -> (u32, u32) {
        let first = run as u32 * size;
        (first, size.min(self.heap - first))
    }
    pub(super) fn heap_op(&self, first: u32, count: u32, write: bool) -> Op {
        Op::Access(Run { region: self.heap_region(), write, first, count })
    }
    pub(super) fn touch_mapped(&self, rng: &mut Rng, ops: &mut Vec<Op>) {
        let first = self.laws.0.sample(rng);
        ops.push(Op::Access(Run { region: self.mapped_region(), write: false, first, count: 1 }));
    }
    /// `permille` of the dirty runs, in the order in which they are drawn.
    pub(super) fn draw_runs(&self, permille: u32, rng: &mut Rng) -> Vec<usize> {
        let is_dirty = |i: &usize| self.runs[*i] == HeapRun::Dirty;
        let mut dirty: Vec<usize> = (0..self.runs.len()).filter(is_dirty).collect();
        rng.shuffle(&mut dirty);
        dirty.truncate(part(dirty.len() as u64, permille) as usize);
        dirty
    }
    /// Gives runs back.
    pub(super) fn free(&mut self, which: &[usize], size: u32, ops: &mut Vec<Op>) {
        for &i in which {
            self.runs[i] = HeapRun::Freed;
            let (first, count) = self.pages_of(i, size);
            let (region, advice) = (self.heap_region(), Advice::Free);
            ops.push(Op::Madvise { region, first, count, advice });
        }
    }
}
