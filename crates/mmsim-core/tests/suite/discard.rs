//! In which order the frames of a dropped range are free again.

use crate::harness::{Fifo, fault_in, mapping};
use mmsim_core::base::id::{CpuId, MemcgId, NodeId, PageIdx, VmaId};
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::{Kernel, MachineConfig, SwapConfig, ZoneConfig, ZoneKind};
use mmsim_core::memory::Memory;
use mmsim_core::phys::gfp::AllocRequest;

/// A machine whose CPU keeps all pages that are freed, and a mapping of `pages` pages, each in its
/// frame.
fn mapped(kernel: Kernel, pages: u32) -> (Memory, Fifo, VmaId) {
    mapped_beside(kernel, pages, None, 1)
}

/// The same with swap, and LRU batches of a size.
pub(crate) fn mapped_beside(
    kernel: Kernel,
    pages: u32,
    swap: Option<SwapConfig>,
    lru_batch: u32,
) -> (Memory, Fifo, VmaId) {
    let zone = ZoneConfig {
        pcp: Some((1 << 15, 1)),
        ..ZoneConfig::new(ZoneKind::Normal, 1 << 15).bare([0; 3])
    };
    let mut mem = Memory::new(&MachineConfig {
        swap: swap.into_iter().collect(),
        lru_batch: Some(lru_batch),
        run_ahead: SimDuration::ZERO,
        ..MachineConfig::new(kernel, vec![zone])
    });
    let (mut lru, vma) = (Fifo::new(&mut mem), mapping(&mut mem, pages));
    let base = mem.virt.spaces.vma(vma).start.0;
    for page in base..base + pages {
        let pfn = mem.try_alloc(NodeId(0), &AllocRequest::USER, None).expect("a free frame");
        fault_in(&mut mem, &mut lru, MemcgId(0), (PageIdx(page), pfn, 0));
    }
    mem.lru_drain(&mut lru);
    (mem, lru, vma)
}

/// The places in the mapping of the pages whose frames are free, in the order in which they became so.
fn freed(kernel: Kernel, pages: u32, first: u32, nr: u32) -> Vec<u32> {
    freed_of(mapped(kernel, pages), pages, first, nr)
}

fn freed_of(mapped: (Memory, Fifo, VmaId), pages: u32, first: u32, nr: u32) -> Vec<u32> {
    let (mut mem, mut lru, vma) = mapped;
    let base = mem.virt.spaces.vma(vma).start.0;
    let place_of = |mem: &Memory, p| match mem.virt.pages.entry(PageIdx(base + p)) {
        mmsim_core::virt::pages::Entry::Frame(f) => (f, p),
        e => panic!("page {p} is mapped, not {e:?}"),
    };
    let places: std::collections::BTreeMap<_, _> = (0..pages).map(|p| place_of(&mem, p)).collect();
    mem.drain_pcp();
    mem.zap_pages(&mut lru, PageIdx(base + first), nr, vma);
    mem.check();
    let lists = mem.zones[mmsim_core::base::id::ZoneId(0)].pcp_lists();
    let [(cpu, order, mt, blocks)] = &lists[..] else { panic!("one list: {lists:?}") };
    assert_eq!((*cpu, *order, *mt), (CpuId(0), 0, Migratetype::Movable));
    // The head was freed last.
    blocks.iter().rev().map(|p| places[p]).collect()
}

/// A hole of three pages: up to 6.8 the page at its end is free first.
#[test]
fn small_holes_are_freed_from_their_end_up_to_6_8() {
    for old in [Kernel::V4_1, Kernel::V5_5, Kernel::V5_8, Kernel::V5_9, Kernel::V6_1] {
        assert_eq!(freed(old, 8, 1, 3), [3, 2, 1], "{old:?}");
    }
    assert_eq!(freed(Kernel::V6_12, 8, 1, 3), [1, 2, 3]);
}

/// The same hole on 6.12, with the order as the only difference.
#[test]
fn unmap_frees_upwards() {
    let order = |upwards| {
        let mut m = mapped(Kernel::V6_12, 8);
        m.0.given.rules.unmap_frees_upwards = upwards;
        freed_of(m, 8, 1, 3)
    };
    assert_eq!([false, true].map(order), [[3, 2, 1], [1, 2, 3]]);
}

/// A long range: a piece of 8 and pieces of 510 pages, each backwards, 19 of them; then the kernel
/// has gathered as much as it may, and begins anew.
#[test]
fn long_ranges_are_freed_piece_by_piece() {
    let most = 8 + 19 * 510;
    let pages = most + 8 + 100;
    let mut pieces = vec![8];
    pieces.extend([510; 19]);
    pieces.extend([8, 100]);
    let mut begin = 0;
    let mut want = Vec::new();
    for n in pieces {
        want.extend((begin..begin + n).rev());
        begin += n;
    }
    assert_eq!(begin, pages);
    assert_eq!(freed(Kernel::V6_1, pages, 0, pages), want);
    assert_eq!(freed(Kernel::V6_12, pages, 0, pages), (0..pages).collect::<Vec<_>>());
}
