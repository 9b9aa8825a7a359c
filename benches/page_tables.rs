//! Cost of a walk of page tables, per page of the mapping.
//!
//! - `aging_walk/all`, `/eighth`, `/hundredth`: all pages present, that share of them accessed
//!   since the last walk, at random places.
//! - `aging_walk/eighth-told`: as `eighth`, with a page in memory that was lazily freed once, so
//!   that walks look for folios that have to be marked dirty for their PTE.
//! - `aging_walk/absent`: one page table in 16 exists, with an eighth accessed.
//! - `aging_walk/untouched`: nothing was accessed, so that every table is skipped.

#![allow(missing_docs)] // criterion's macros.

#[path = "../tests/machine/cells.rs"]
mod cells;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use mmsim_core::base::id::{GROUP_PAGES, GroupId, MemcgId, NodeId, PageIdx};
use mmsim_core::base::rng::Rng;
use mmsim_core::config::Kernel;
use mmsim_core::memory::{Memory, WalkScope};
use mmsim_core::phys::frames::{FrameKind, flag};
use mmsim_core::phys::gfp::AllocRequest;
use mmsim_core::virt::pages::pte;
use mmsim_core::virt::space::VmaKind;
use mmsim_core::workload::{RegionId, VmaFlags};
use std::cell::RefCell;

const PAGES: u32 = 1 << 20;
const SCOPE: WalkScope =
    WalkScope { node: NodeId(0), memcg: MemcgId(0), anon: true, listed: false };

/// A process of 2^20 pages: one page table in `one_in` is there, with all pages.
fn process(one_in: u32) -> Memory {
    let mut mem = Memory::new(&cells::machine_of(PAGES + PAGES / 8, 1, Kernel::V6_12));
    let space = mem.virt.spaces.create("walked".into(), MemcgId(0));
    let (kind, flags) = (VmaKind::Anon, VmaFlags::default());
    let vma =
        mem.virt.spaces.mmap(&mut mem.virt.pages, space, RegionId(0), PAGES, kind, flags, None);
    let start = mem.virt.spaces.vma(vma).start;
    for first in (0..PAGES).step_by((GROUP_PAGES * one_in) as usize) {
        let g = PageIdx(start.0 + first).group();
        let frame = mem.try_alloc(NodeId(0), &AllocRequest::KERNEL, None).expect("a free frame");
        mem.set_table(g, frame);
        for p in 0..GROUP_PAGES {
            let folio = mem.try_alloc(NodeId(0), &AllocRequest::USER, None).expect("a free frame");
            mem.frames.reset(folio, FrameKind::Anon);
            mem.frames.set(folio, flag::SWAPBACKED);
            mem.map(PageIdx(g.first().0 + p), folio, pte::DIRTY | pte::WRITABLE);
        }
    }
    mem
}

fn aging_walk(c: &mut Criterion) {
    let mut g = c.benchmark_group("aging_walk");
    g.throughput(Throughput::Elements(PAGES.into()));
    for (name, one_in, young_in, lazyfree) in [
        ("all", 1, 1, false),
        ("eighth", 1, 8, false),
        ("eighth-told", 1, 8, true),
        ("hundredth", 1, 100, false),
        ("absent", 16, 8, false),
        ("untouched", 1, u64::MAX, false),
    ] {
        let mut mem = process(one_in);
        if lazyfree {
            let other = mem.try_alloc(NodeId(0), &AllocRequest::USER, None).expect("a free frame");
            mem.frames.reset(other, FrameKind::Anon);
            mem.make_lazyfree(other);
        }
        let mut rng = Rng::for_purpose(1, "benches/page_tables");
        let space = mem.virt.spaces.ids().next().expect("there is one");
        let mut accessed = 0;
        for h in &mut mem.virt.pages.hot {
            if *h & pte::PRESENT != 0 && rng.below(young_in) == 0 {
                *h |= pte::ACCESSED;
                accessed += 1;
            }
        }
        let hot = mem.virt.pages.hot.clone();
        let (mut tables, mut young): (Vec<GroupId>, Vec<_>) = Default::default();
        let mem = RefCell::new(mem);
        g.bench_function(name, |b| {
            b.iter_batched(
                || mem.borrow_mut().virt.pages.hot.copy_from_slice(&hot),
                |()| {
                    let mem = &mut *mem.borrow_mut();
                    let mut found = 0;
                    tables.clear();
                    mem.walk_tables(space, &SCOPE, &mut tables);
                    for &t in &tables {
                        if mem.pmd_test_clear_young(t) {
                            young.clear();
                            found += mem.walk_table(t, &SCOPE, &mut young).young;
                        }
                    }
                    assert_eq!(found, accessed);
                },
                BatchSize::PerIteration,
            );
        });
    }
    g.finish();
}

criterion_group!(benches, aging_walk);
criterion_main!(benches);
