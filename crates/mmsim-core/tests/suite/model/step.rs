//! Requests to a buddy allocator, and its answers, so that the real one and the naive one get the
//! same requests.

use super::Naive;
use mmsim_core::base::id::Pfn;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rules::KernelRules;
use mmsim_core::phys::Mode;
use mmsim_core::phys::buddy::Buddy;
use mmsim_core::phys::frames::{FrameKind, Frames, flag};

/// One call. Blocks are named by their frames and not by their place in some list, so that
/// leaving out an earlier step does not change what a later one means.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// `lru`: the frames are on an LRU list from then on.
    Alloc {
        order: u8,
        mt: Migratetype,
        whole: bool,
        lru: bool,
    },
    Pages {
        n: u32,
        mt: Migratetype,
        whole: bool,
    },
    /// Frees a block in use.
    Free(u32),
    /// Frees pages in use, one after the other.
    FreePages(Vec<u32>),
    /// Isolates a free block.
    Isolate(u32),
    SetType(u32, Migratetype),
    /// Reserves a block in use.
    Reserve(u32),
    Unreserve(Migratetype, bool),
}

impl Step {
    /// True if frames that this hands out go onto an LRU list.
    fn lru(&self) -> bool {
        matches!(self, Step::Alloc { lru: true, .. } | Step::Pages { .. })
    }
}

/// Blocks handed out with their orders, and the other results.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    pub(crate) blocks: Vec<(u32, u8)>,
    pub(crate) done: bool,
}

impl Answer {
    fn pages(pages: Vec<u32>) -> Answer {
        Answer { blocks: pages.into_iter().map(|p| (p, 0)).collect(), done: false }
    }

    fn block(p: Option<u32>, order: u8) -> Answer {
        Answer { blocks: p.into_iter().map(|p| (p, order)).collect(), done: false }
    }
}

/// The naive allocator, and what was allocated, oldest first.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) nr: u32,
    pub(crate) from: u32,
    pub(crate) rules: KernelRules,
    pub(crate) naive: Naive,
    pub(crate) held: Vec<(u32, u8)>,
    /// To the last step.
    pub(crate) answer: Answer,
}

impl std::fmt::Debug for Model {
    /// The steps of a case: enough to repeat it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} frames, free from {}, {:?}", self.nr, self.from, self.rules)
    }
}

impl Model {
    /// `nr` frames, those before `from` never free.
    pub(crate) fn new(nr: u32, from: u32, rules: KernelRules) -> Model {
        let naive = Naive::new(nr, from, rules);
        Model { nr, from, rules, naive, held: Vec::new(), answer: Answer::default() }
    }

    fn held(&self, p: u32) -> Option<usize> {
        self.held.iter().position(|h| h.0 == p)
    }

    /// True if the step means something now.
    pub(crate) fn permits(&self, step: &Step) -> bool {
        match *step {
            Step::Alloc { order, .. } => order <= self.rules.max_order,
            Step::Pages { .. } | Step::Unreserve(..) => true,
            Step::Free(p) => self.held(p).is_some(),
            Step::FreePages(ref pages) => pages.iter().all(|&p| self.held.contains(&(p, 0))),
            Step::Isolate(p) => self.naive.blocks().any(|b| b == p),
            Step::SetType(p, _) => p < self.nr,
            Step::Reserve(p) => self.rules.highatomic && self.held(p).is_some(),
        }
    }

    /// A zone large enough that 1 % of it is a pageblock.
    fn managed(rules: &KernelRules) -> u64 {
        200 << rules.pageblock_order
    }

    fn free(&mut self, p: u32) -> Answer {
        let i = self.held(p).expect("a block in use");
        let (p, order) = self.held.remove(i);
        let n = &mut self.naive;
        (p..p + (1 << order)).for_each(|f| n.movable[f as usize] = false);
        n.free(p, order);
        Answer::default()
    }

    pub(crate) fn apply(&mut self, step: &Step) {
        let n = &mut self.naive;
        self.answer = match *step {
            Step::Alloc { order, mt, whole, .. } => Answer::block(n.alloc(order, mt, whole), order),
            Step::Pages { n: pages, mt, whole } => Answer::pages(n.alloc_pages(pages, mt, whole)),
            Step::Free(p) => self.free(p),
            Step::FreePages(ref pages) => {
                for &p in pages {
                    self.free(p);
                }
                Answer::default()
            }
            Step::Isolate(p) => {
                let order = n.isolate(p);
                Answer::block(Some(p), order)
            }
            Step::SetType(p, mt) => {
                n.set_type(p, mt);
                Answer::default()
            }
            Step::Reserve(p) => {
                let (p, order) = self.held[self.held(p).expect("a block in use")];
                self.naive.reserve_highatomic(p, order, Self::managed(&self.rules));
                Answer::default()
            }
            Step::Unreserve(mt, force) => {
                Answer { done: n.unreserve_highatomic(mt, force), ..Answer::default() }
            }
        };
        for &(p, order) in &self.answer.blocks {
            for f in p..p + (1 << order) {
                self.naive.movable[f as usize] = step.lru();
            }
            self.held.push((p, order));
        }
    }
}

/// The real one, on columns of its own.
pub(crate) struct Real {
    pub(crate) frames: Frames,
    pub(crate) buddy: Buddy,
}

impl Real {
    pub(crate) fn new(m: &Model) -> Real {
        let span = (m.nr as usize).next_multiple_of(1 << m.rules.max_order);
        let mut frames = Frames::new(span, false);
        let mut buddy = Buddy::new(Pfn(0), Pfn(m.nr), m.rules);
        buddy.populate(&mut frames, Pfn(m.from));
        Real { frames, buddy }
    }

    /// `order_of` says how large a block in use is, to those that give it back.
    pub(crate) fn apply(&mut self, step: &Step, order_of: impl Fn(u32) -> u8) -> Answer {
        let b = &mut self.buddy;
        let frames = &mut self.frames;
        let answer = match *step {
            Step::Alloc { order, mt, whole, .. } => {
                let got = b.alloc(frames, order, mt, whole, &mut Mode::Normal);
                Answer::block(got.map(|p| p.0), order)
            }
            Step::Pages { n, mt, whole } => {
                let mut got = Vec::new();
                b.alloc_pages(frames, n, mt, whole, FrameKind::Free, &mut got);
                Answer::pages(got)
            }
            Step::Free(p) => {
                b.free(frames, Pfn(p), order_of(p));
                Answer::default()
            }
            Step::FreePages(ref pages) => {
                b.free_pages(frames, pages);
                Answer::default()
            }
            Step::Isolate(p) => {
                let block = b.block_from(frames, Pfn(p)).expect("a free block");
                b.isolate_block(frames, block);
                let order = block.order;
                Answer::block(Some(p), order)
            }
            Step::SetType(p, mt) => {
                b.set_block_type(Pfn(p), mt);
                Answer::default()
            }
            Step::Reserve(p) => {
                let managed = Model::managed(b.rules());
                b.reserve_highatomic(frames, Pfn(p), order_of(p), managed);
                Answer::default()
            }
            Step::Unreserve(mt, force) => {
                Answer { done: b.unreserve_highatomic(frames, mt, force), ..Answer::default() }
            }
        };
        for &(p, order) in &answer.blocks {
            for f in (p..p + (1 << order)).map(Pfn) {
                assert_eq!(self.frames.kind(f), FrameKind::Free, "{f}");
                self.frames.reset(f, FrameKind::Anon);
                if step.lru() {
                    self.frames.set(f, flag::LRU);
                }
            }
        }
        answer
    }

    /// Holds the whole state against the model's.
    pub(crate) fn compare(&self, m: &Model) {
        for order in 0..=m.rules.max_order {
            for mt in Migratetype::ALL {
                let real: Vec<u32> = self.buddy.list(order, mt).map(|p| p.0).collect();
                assert_eq!(real, m.naive.on_list(order, mt), "list of order {order}, {mt:?}");
            }
        }
        let types: Vec<Migratetype> = self.buddy.pageblocks().map(|b| b.1).collect();
        assert_eq!(types, m.naive.types, "types of pageblocks");
        assert_eq!(self.buddy.extfrag(), m.naive.events, "fallbacks");
        assert_eq!(self.buddy.boosts(), m.naive.boosts, "attempts to steal");
        self.buddy.check(&self.frames);
        let held: u64 = m.held.iter().map(|h| 1 << h.1).sum();
        let isolated = self.buddy.nr_free_of(Migratetype::Isolate);
        assert_eq!(self.buddy.nr_free() + isolated + held, m.naive.frames, "frames conserved");
        let all: u64 = Migratetype::ALL.iter().map(|&mt| self.buddy.nr_free_of(mt)).sum();
        assert_eq!(all + held, m.naive.frames);
    }
}
