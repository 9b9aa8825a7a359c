//! Samples of monitors beside a walk over all page tables.

use mmsim::base::id::{GROUP_PAGES, Idx as _, PageIdx, Pfn};
use mmsim::memory::{Memory, SAMPLE_BATCH};
use mmsim::phys::frames::{FrameKind, flag};
use mmsim::virt::pages::{Entry, Owner, pte};

/// A monitor sees of each frame and of each PTE the same as a walk over all page tables; before and
/// after every second frame and every third PTE are made old.
pub(super) fn check(mem: &mut Memory) {
    let frames: Vec<Pfn> = (0..mem.frames.len() as u32 + 3).map(Pfn).collect();
    let pages: Vec<Option<PageIdx>> = (0..mem.virt.pages.nr_groups() as u32 * GROUP_PAGES)
        .map(|p| Some(PageIdx(p)))
        .filter(|p| matches!(mem.virt.pages.group(p.unwrap().group()).owner, Owner::Process(_)))
        .chain([None])
        .collect();
    for old in [false, true] {
        if old {
            let begin = mem.acting.now;
            let second: Vec<Pfn> = frames.iter().copied().step_by(2).collect();
            second.chunks(SAMPLE_BATCH).for_each(|some| mem.mkold_frames(some));
            let listed = second.iter().filter(|f| on_a_list(mem, **f).is_some()).count() as u64;
            let passed = second.len() as u64 - listed;
            let time = mem.given.cost.t_mkold * listed + mem.given.cost.t_unlisted * passed;
            assert_eq!(mem.acting.now, begin + time, "{listed} of {} on lists", second.len());
            let in_batches = mem.in_batches(usize::MAX);
            let third: Vec<Option<PageIdx>> = pages.iter().copied().step_by(3).collect();
            third.chunks(SAMPLE_BATCH).for_each(|some| mem.mkold_pages(some, &in_batches));
            mem.check();
        }
        let mut accessed = vec![false; mem.frames.len()];
        // Idle marks are in flags or in PTEs.
        let mut idle: Vec<bool> = frames.iter().map(|&f| has(mem, f, flag::IDLE)).collect();
        for &page in pages.iter().flatten() {
            if let Some(folio) = frame_of(mem, page) {
                accessed[folio.index()] |= is_accessed(mem, page);
                idle[folio.index()] |= mem.virt.pages.hot(page) & pte::IDLE != 0;
            }
        }
        let mut young = Vec::new();
        frames.chunks(SAMPLE_BATCH).for_each(|some| mem.young_frames(some, &mut young));
        for (&pfn, young) in frames.iter().zip(young) {
            let folio = on_a_list(mem, pfn);
            let truth = folio.is_some_and(|f| accessed[f.index()] || !idle[f.index()]);
            assert_eq!(young, truth, "{pfn} {folio:?} old {old}");
        }
        for in_batches in [mem.in_batches(usize::MAX), mem.in_batches(0)] {
            let mut young = Vec::new();
            for some in pages.chunks(SAMPLE_BATCH) {
                mem.young_pages(some, &in_batches, &mut young);
            }
            for (&page, young) in pages.iter().zip(young) {
                // Huge pages of a pool are on no list, and seen by their PTEs all the same.
                let listed = |p| frame_of(mem, p).and_then(|f| on_a_list(mem, f));
                let folio = page.and_then(|p| listed(p).or_else(|| mem.hugetlb_at(p)));
                let accessed = |p| is_accessed(mem, p);
                let truth = folio.is_some_and(|f| accessed(page.unwrap()) || !idle[f.index()]);
                assert_eq!(young, truth, "{page:?} {folio:?} old {old}");
            }
        }
    }
}

/// The folio of a frame, if it is on an LRU list and in no batch.
fn on_a_list(mem: &Memory, pfn: Pfn) -> Option<Pfn> {
    let exists = pfn.index() < mem.frames.len();
    let mut folio = exists.then_some(pfn)?;
    while mem.frames.kind(folio) == FrameKind::Tail {
        folio.0 -= 1;
    }
    let is = |bits| mem.frames.has(folio, bits);
    (is(flag::LRU) && !is(flag::IN_BATCH)).then_some(folio)
}

/// The folio that a PTE maps.
fn frame_of(mem: &Memory, page: PageIdx) -> Option<Pfn> {
    match mem.virt.pages.entry(page) {
        Entry::Frame(pfn) => Some(pfn),
        _ => None,
    }
}

fn is_accessed(mem: &Memory, page: PageIdx) -> bool {
    let g = page.group();
    let of = if mem.virt.pages.group(g).huge {
        g.first().0..g.first().0 + 512
    } else {
        page.0..page.0 + 1
    };
    of.into_iter().any(|p| mem.virt.pages.hot(PageIdx(p)) & pte::YOUNG != 0)
}

fn has(mem: &Memory, pfn: Pfn, bits: u32) -> bool {
    pfn.index() < mem.frames.len() && mem.frames.has(pfn, bits)
}
