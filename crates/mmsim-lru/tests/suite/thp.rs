//! Huge pages by hand: who gets one, what it weighs, when it falls apart.

use crate::harness::memory::small_machine;
use crate::harness::{self, Policy, Ran, Steps, all_policies, run_to_any_end, run_watched};
use mmsim_core::base::id::{MemcgId, NodeId, PageIdx, Pfn};
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{Kernel, MachineConfig, Thp, ThpDefrag};
use mmsim_core::machine::Watch;
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FrameKind, flag};
use mmsim_core::phys::gfp::AllocRequest;
use mmsim_core::policy::{Arrival, ArrivalKind, ReclaimPolicy};
use mmsim_core::virt::pages::{Entry, pte};
use mmsim_core::virt::space::VmaKind;
use mmsim_core::workload::{Advice, RegionId, VmaFlags};

/// Frames of the machine: its zone is made of blocks of 4 MiB.
const FRAMES: u32 = 4096;

fn machine(kernel: Kernel) -> MachineConfig {
    let mut m = small_machine(FRAMES, 8192, 0);
    m.kernel = kernel;
    m.vm.thp = Thp::Madvise;
    m.vm.thp_defrag = ThpDefrag::Madvise;
    m.nodes[0].zones[0].watermarks = Some([30, 40, 60]);
    m
}

/// Runs under every policy, with an audit at every step that is no hit.
fn each(steps: &Steps, examine: impl Fn(&str, &Ran)) {
    for (name, policy, kernel) in all_policies() {
        examine(name, &ran(&machine(kernel), policy, steps));
    }
}

fn ran(config: &MachineConfig, policy: Policy, steps: &Steps) -> Ran {
    let watch = Watch::default().with_check_every(97);
    let ran = run_watched(config, policy, std::slice::from_ref(steps), watch);
    ran.machine.mem.check();
    ran.machine.policy().check(&ran.machine.mem);
    ran
}

/// A region of `pages` that wants huge pages.
fn wanting(region: u16, pages: u32) -> Steps {
    Steps::new().map(region, pages).advise(region, 0..pages, Advice::HugePage)
}

#[test]
fn the_first_write_of_an_aligned_piece_takes_a_block() {
    // 1100 pages from a 2 MiB boundary on: two pieces, and 76 pages that are no piece.
    let steps = wanting(0, 1100).write(0, 700..701).write(0, 512..1024).write(0, 1030..1031);
    each(&steps.phase(), |name, r| {
        assert_eq!(
            r.in_phase(0, VmEvent::PgFault),
            2,
            "{name}: one for the piece, one for the page"
        );
        assert_eq!(r.in_phase(0, VmEvent::ThpFaultAlloc), 1, "{name}");
        assert_eq!(r.in_phase(0, VmEvent::ThpFaultFallback), 0, "{name}");
    });
}

#[test]
fn nobody_asks_without_permission() {
    let plain = Steps::new().map(0, 1024).write(0, 0..1024);
    let unwanted = Steps::new().map(0, 1024).advise(0, 0..1024, Advice::NoHugePage);
    let unwanted = unwanted.write(0, 0..1024);
    let read_first = wanting(0, 1024);
    for (thp, steps, huge) in [
        (Thp::Never, wanting(0, 1024).write(0, 0..1024), 0),
        (Thp::Madvise, plain.clone(), 0),
        (Thp::Madvise, wanting(0, 1024).write(0, 0..1024), 2),
        (Thp::Always, plain, 2),
        (Thp::Always, unwanted, 0),
        (Thp::Madvise, read_first.write(0, 0..512), 1),
    ] {
        let mut m = machine(Kernel::V6_12);
        m.vm.thp = thp;
        let policy = all_policies().remove(0).1;
        let r = ran(&m, policy, &steps);
        assert_eq!(r.n(VmEvent::ThpFaultAlloc), huge, "{thp:?}");
    }
}

#[test]
fn dropped_whole_it_is_a_block_again_and_dropped_in_part_it_waits() {
    let whole = wanting(0, 1024).write(0, 0..1).advise(0, 0..512, Advice::DontNeed).phase();
    each(&whole.clone().write(0, 5..6), |name, r| {
        assert_eq!(r.n(VmEvent::ThpSplitPage), 0, "{name}");
        assert_eq!(r.n(VmEvent::ThpFaultAlloc), 2, "{name}: the page table went with it");
        assert_eq!(r.in_phase(0, VmEvent::PgFree), 513, "{name}: and the page table");
    });
    let part = wanting(0, 1024).write(0, 0..1).advise(0, 100..200, Advice::DontNeed).phase();
    each(&part.write(0, 100..200), |name, r| {
        let waits = u64::from(r.machine.mem.given.rules.deferred_split);
        let events = [VmEvent::ThpDeferredSplitPage, VmEvent::ThpSplitPage, VmEvent::PgFree];
        let split = 1 - waits;
        assert_eq!(events.map(|e| r.in_phase(0, e)), [waits, split, 100 * split], "{name}");
        assert_eq!(r.n(VmEvent::ThpFaultAlloc), 1, "{name}: there is a page table now");
        assert_eq!(r.n(VmEvent::PgFault), 101, "{name}: the other 412 pages are still there");
        let weight = if waits == 1 { 512 + 100 } else { 512 };
        assert_eq!(r.machine.mem.nr_lru_pages(), weight, "{name}: new pages beside the folio");
    });
}

/// Pages that were dropped are free with the last one, as the block that they were, and no page was
/// split off.
#[test]
fn the_last_page_frees_the_block() {
    let parts = wanting(0, 1024).write(0, 0..1).advise(0, 0..100, Advice::DontNeed);
    let all = parts.advise(0, 300..512, Advice::DontNeed).phase();
    let all = all.advise(0, 100..300, Advice::DontNeed).phase();
    each(&all, |name, r| {
        if r.machine.mem.given.rules.deferred_split {
            assert_eq!([0, 1].map(|p| r.in_phase(p, VmEvent::PgFree)), [0, 512], "{name}");
            assert_eq!(r.n(VmEvent::ThpSplitPage), 0, "{name}");
            assert_eq!(r.machine.mem.virt.pages.nr_parted(), 0, "{name}");
        }
        assert_eq!(r.machine.mem.nr_lru_pages(), 0, "{name}");
    });
}

/// Under pressure reclaim splits folios that are mapped in part, by its queue or as it meets them:
/// the unmapped pages are free, and need no swap space.
#[test]
fn reclaim_frees_what_was_dropped_in_part() {
    // Six pieces, of which 12 pages each are left; 3000 single pages fit only in their holes.
    let fill = wanting(0, 3072).write(0, 0..3072);
    let holes =
        fill.each(0..6u32, |s, k| s.advise(0, 512 * k + 12..512 * k + 512, Advice::DontNeed));
    let pressed = holes.phase().map(1, 3000).write(1, 0..3000).phase().write(0, 0..3072).phase();
    each(&pressed, |name, r| {
        let waits = r.machine.mem.given.rules.deferred_split;
        let events = [VmEvent::ThpDeferredSplitPage, VmEvent::ThpSplitPage];
        assert_eq!(events.map(|e| r.in_phase(0, e)), if waits { [6, 0] } else { [0, 6] }, "{name}");
        if waits {
            assert!(r.in_phase(1, VmEvent::ThpSplitPage) > 0, "{name}");
            assert!(r.in_phase(1, VmEvent::PswpOut) < 1500, "{name}: holes need no slot");
        }
    });
}

/// `MADV_COLD`, `MADV_FREE` and `MADV_PAGEOUT` of pages of a folio that is mapped in part split it at
/// once, and with that its holes are free.
#[test]
fn advice_about_what_is_left_splits_it() {
    for a in [Advice::Cold, Advice::Free, Advice::PageOut] {
        let part = wanting(0, 1024).write(0, 0..1).advise(0, 100..200, Advice::DontNeed);
        each(&part.phase().advise(0, 10..12, a).phase(), |name, r| {
            if r.machine.mem.given.rules.deferred_split {
                assert_eq!([0, 1].map(|p| r.in_phase(p, VmEvent::ThpSplitPage)), [0, 1], "{name}");
                assert!(r.in_phase(1, VmEvent::PgFree) >= 100, "{name} {a:?}");
            }
        });
    }
}

/// A folio that is mapped in part is one folio to reclaim and to monitors: an access of any part is
/// an access of it. Split, each part keeps its own bit.
#[test]
fn any_part_speaks_for_all() {
    for (name, policy, kernel) in all_policies() {
        let (mut mem, mut lru, page, head) = one_huge(policy, kernel);
        if !mem.given.rules.deferred_split {
            continue;
        }
        let vma = mem.virt.spaces.vma_of(&mem.virt.pages, page);
        mem.zap_pages(&mut *lru, page, 7, vma);
        mem.zap_pages(&mut *lru, PageIdx(page.0 + 300), 12, vma);
        mem.check();
        lru.check(&mem);
        assert_eq!((mem.pages_mapped(head), mem.nr_lru_pages(), mem.nr_thp()), (493, 512, 0));
        assert_eq!(mem.page_of(head), Some(PageIdx(page.0 + 7)), "{name}: the first that is left");
        mem.references(head, None);
        assert_eq!(mem.references(head, None).count, 0, "{name}");
        let hit = PageIdx(page.0 + 400);
        let touch =
            |mem: &mut Memory| mem.virt.pages.set_hot(hit, mem.virt.pages.hot(hit) | pte::ACCESSED);
        touch(&mut mem);
        assert_eq!(mem.references(head, None).count, 1, "{name}");
        assert_eq!(mem.references(head, None).count, 0, "{name}");
        mem.mkold(head);
        assert!(!mem.is_young(head), "{name}");
        touch(&mut mem);
        assert!(mem.is_young(head), "{name}: by its frame");
        assert!(mem.is_young_at(hit) && !mem.is_young_at(PageIdx(page.0 + 50)), "{name}");
        mem.split_at(&mut *lru, hit);
        mem.check();
        lru.check(&mem);
        assert_eq!(mem.nr_lru_pages(), 493, "{name}");
        let young: Vec<u32> =
            (0..512).filter(|i| mem.frames.kind(Pfn(head.0 + i)) == FrameKind::Anon).collect();
        assert_eq!(young.len(), 493, "{name}");
        let young = young.into_iter().filter(|i| mem.references(Pfn(head.0 + i), None).count > 0);
        assert_eq!(young.collect::<Vec<_>>(), [400], "{name}");
    }
}

#[test]
fn advice_about_a_part_splits_it() {
    for (a, kernel) in [(Advice::Cold, "cold"), (Advice::Free, "free"), (Advice::PageOut, "out")] {
        let steps = wanting(0, 1024).write(0, 0..1024).advise(0, 10..20, a);
        each(&steps.clone().phase(), |name, r| {
            assert_eq!(r.in_phase(0, VmEvent::ThpSplitPage), 1, "{name} {kernel}");
        });
        // All of it is there afterwards, dropped or not.
        each(&steps.write(0, 0..1024), |name, r| {
            assert!(r.n(VmEvent::PgFault) <= 12, "{name} {kernel}");
        });
    }
}

#[test]
fn reclaim_splits_what_it_evicts_and_keeps_what_is_used() {
    // 6 pieces are 3072 pages; single pages take the rest and more.
    let fill = wanting(0, 3072).write(0, 0..3072);
    let pressed = fill.clone().map(1, 3000).write(1, 0..3000).phase();
    each(&pressed, |name, r| {
        let went = r.n(VmEvent::ThpSplitPage) + r.n(VmEvent::ThpSwpout);
        assert!(went >= 1, "{name}");
        assert!(r.n(VmEvent::PswpOut) >= 2000, "{name}: {}", r.n(VmEvent::PswpOut));
    });
    each(&pressed.clone().write(0, 0..3072), |name, r| {
        assert_eq!(r.n(VmEvent::ThpFaultAlloc), 6, "{name}");
        assert!(r.n(VmEvent::PswpIn) > 0, "{name}");
    });
}

#[test]
fn one_accessed_page_speaks_for_all() {
    // One page of each piece is written again and again while single pages come and go: a piece is
    // found accessed whenever it is looked at. Under the first pressure all pages are as new, and
    // reclaim goes round more than once before anybody can use his again, so that is left out.
    let round =
        |s: Steps, k: u32| s.write(0, 7..8).write(0, 519..520).write(1, 10 * k..10 * k + 10);
    let fill = wanting(0, 1024).write(0, 0..1024).activate(0, 0..1024).map(1, 8000);
    let steps = fill.each(0..400, round).phase().each(400..800, round).phase();
    for (name, policy, kernel) in all_policies() {
        if !["classic-v6.12", "mglru-v6.12"].contains(&name) {
            continue;
        }
        let r = ran(&machine(kernel), policy, &steps);
        assert!(r.in_phase(1, VmEvent::PswpOut) > 3000, "{name}: there is pressure");
        assert!(r.in_phase(0, VmEvent::ThpSplitPage) < 2, "{name}: a piece is left");
        assert_eq!(r.in_phase(1, VmEvent::ThpSplitPage), 0, "{name}");
    }
}

#[test]
fn a_fault_without_a_block_falls_back() {
    // Every block of 2 MiB keeps a page: nothing is free in one piece, and nothing can be moved.
    let filled = Steps::new().map(0, 3900).write(0, 0..3900);
    let holes =
        filled.each(0..7u32, |s, k| s.advise(0, 512 * k + 1..512 * k + 400, Advice::DontNeed));
    let asks = holes.map(1, 512).advise(1, 0..512, Advice::HugePage).phase().write(1, 3..4).phase();
    each(&asks, |name, r| {
        assert_eq!(r.in_phase(1, VmEvent::ThpFaultFallback), 1, "{name}");
        assert_eq!(r.in_phase(1, VmEvent::ThpFaultAlloc), 0, "{name}");
        assert_eq!(r.in_phase(1, VmEvent::PgFault), 1, "{name}");
    });
}

/// Folios that are mapped as a whole are in the gauge and in the texts of the kernel, and split
/// ones are not.
#[test]
fn mapped_huge_pages_are_counted() {
    const GAUGE: &str = "nr_anon_transparent_hugepages";
    let two = wanting(0, 1024).write(0, 0..1).write(0, 512..513);
    for (steps, want) in [
        (two.clone(), 2),
        (two.clone().advise(0, 0..512, Advice::DontNeed), 1),
        (two.clone().advise(0, 100..200, Advice::DontNeed), 1),
        (two.advise(0, 0..1024, Advice::DontNeed), 0),
    ] {
        each(&steps.phase(), |name, r| {
            let gauge = r.result.phases[0].gauges.iter().find(|g| g.0 == GAUGE);
            assert_eq!(gauge.expect("a gauge").1, want, "{name}");
        });
    }
}

/// A process with more huge pages than memory and swap space hold is killed, after reclaim has
/// split what it could; one with a huge page of its own that it uses lives on. All that the killed one
/// had is free afterwards, as pages and as blocks.
#[test]
fn running_out_of_memory_with_huge_pages() {
    let small = wanting(0, 512).each(0..4000u32, |s, _| s.write(0, 0..512)).phase();
    // Memory has 4096 frames, swap space 8192 slots.
    let large = wanting(0, 16_384).write(0, 0..16_384).phase();
    for (name, policy, kernel) in all_policies() {
        let watch = Watch::default().with_check_every(97);
        let r = run_to_any_end(&machine(kernel), policy, &[small.clone(), large.clone()], watch);
        r.machine.mem.check();
        r.machine.policy().check(&r.machine.mem);
        assert_eq!(r.n(VmEvent::OomKill), 1, "{name}");
        assert!(r.n(VmEvent::ThpSplitPage) > 0 && r.n(VmEvent::PswpOut) > 8000, "{name}");
        assert_eq!(r.result.phases.len(), 1, "{name}: the small one came to its end");
        // What a process has at its end stays where it is; what the killed one had does not.
        let mem = &r.machine.mem;
        assert_eq!(mem.nr_lru_pages(), 512, "{name}");
        let held = 512 + mem.kernel.nr_page_tables + mem.kernel.slab_frames.len() as u64;
        assert_eq!(mem.zones.nr_free() + held, u64::from(FRAMES), "{name}");
        assert!(mem.virt.pages.nr_huge() <= 1, "{name}");
    }
}

fn one_huge(policy: Policy, kernel: Kernel) -> (Memory, Box<dyn ReclaimPolicy>, PageIdx, Pfn) {
    one_large(policy, kernel, 9)
}

/// A memory with one folio of an order, which its process has filled, and its policy.
pub(crate) fn one_large(
    policy: Policy,
    kernel: Kernel,
    order: u8,
) -> (Memory, Box<dyn ReclaimPolicy>, PageIdx, Pfn) {
    one_large_on(policy, kernel, order, 8192)
}

/// The same with another number of slots of swap.
pub(crate) fn one_large_on(
    policy: Policy,
    kernel: Kernel,
    order: u8,
    slots: u32,
) -> (Memory, Box<dyn ReclaimPolicy>, PageIdx, Pfn) {
    let mut config = machine(kernel);
    config.swap[0].slots = slots;
    let mut mem = Memory::new(&config);
    let mut lru = harness::policy(policy, &mut mem);
    let space = mem.virt.spaces.create("process".into(), MemcgId(0));
    let (kind, flags) = (VmaKind::Anon, VmaFlags::default());
    let vma = mem.virt.spaces.mmap(&mut mem.virt.pages, space, RegionId(0), 512, kind, flags, None);
    let page = mem.virt.spaces.vma(vma).start;
    let table = mem.try_alloc(NodeId(0), &AllocRequest::KERNEL, None).expect("memory is empty");
    mem.set_table(page.group(), table);
    let request = AllocRequest { order, ..AllocRequest::USER };
    let head = mem.try_alloc(NodeId(0), &request, None).expect("memory is empty");
    mem.memcgs.charge(MemcgId(0), 1 << order);
    mem.frames.reset_block(head, FrameKind::Anon, order, Migratetype::Unmovable);
    mem.frames.set(head, flag::SWAPBACKED);
    let how = Arrival { kind: ArrivalKind::New, in_fault: Some(true), position: 0 };
    lru.folio_entering(&mut mem, head, None, how);
    mem.map_large(page, head);
    (page.0..page.0 + (1 << order)).map(PageIdx).for_each(|p| {
        mem.virt.pages.set_hot(p, mem.virt.pages.hot(p) | pte::DIRTY);
    });
    mem.lru_add(&mut *lru, head, how);
    mem.check();
    (mem, lru, page, head)
}

/// Each page of a piece has the frame at its place, in this order.
fn is_in_pages(mem: &Memory, page: PageIdx, head: Pfn) {
    for i in 0..512 {
        let (frame, page) = (Pfn(head.0 + i), PageIdx(page.0 + i));
        assert_eq!(mem.virt.pages.entry(page), Entry::Frame(frame));
        assert_eq!(mem.page_of(frame), Some(page));
        assert_eq!(mem.frames.order(frame), 0);
        assert!(mem.frames.has(frame, flag::LRU));
    }
}

#[test]
fn it_weighs_512_pages_and_leaves_512_in_its_place() {
    for (name, policy, kernel) in all_policies() {
        let (mut mem, mut lru, page, head) = one_huge(policy, kernel);
        let bits = mem.frames.bits(head);
        let list = mem.lru.lists.list_of(head);
        assert_eq!((mem.lru.lists.len(list), mem.lru.lists.extra(list)), (512, 511), "{name}");
        assert_eq!(mem.nr_lru_pages(), 512, "{name}");
        assert!((0..512).all(|i| mem.virt.pages.entry(PageIdx(page.0 + i)) == Entry::Frame(head)));
        lru.check(&mem);
        mem.split_at(&mut *lru, PageIdx(page.0 + 77));
        mem.check();
        lru.check(&mem);
        is_in_pages(&mem, page, head);
        assert_eq!((mem.lru.lists.len(list), mem.lru.lists.extra(list)), (512, 0), "{name}");
        assert_eq!(mem.nr_lru_pages(), 512, "{name}");
        let marks = flag::ACTIVE | flag::POLICY_MASK;
        for i in 0..512 {
            assert_eq!(mem.frames.bits(Pfn(head.0 + i)) & marks, bits & marks, "{name}");
        }
        let first = mem.lru.lists.iter_from_tail(list).next();
        assert!(first == Some(head) || matches!(policy, Policy::Random), "{name}: {first:?}");
    }
}

#[test]
fn one_accessed_bit_stands_for_all_pages() {
    let (_, policy, kernel) = all_policies().remove(0);
    let (mut mem, mut lru, page, head) = one_huge(policy, kernel);
    assert_eq!(mem.references(head, None).count, 1, "the fault itself");
    assert_eq!(mem.references(head, None).count, 0);
    // A hit on any page, as the hardware marks it.
    let hit = PageIdx(page.0 + 300);
    mem.virt.pages.set_hot(hit, mem.virt.pages.hot(hit) | pte::ACCESSED);
    assert_eq!(mem.references(head, None).count, 1);
    assert_eq!(mem.references(head, None).count, 0);
    // Split, all pages have the bit that the entry had.
    mem.virt.pages.set_hot(hit, mem.virt.pages.hot(hit) | pte::ACCESSED);
    mem.split_at(&mut *lru, hit);
    let young: u32 = (0..512).map(|i| mem.references(Pfn(head.0 + i), None).count).sum();
    assert_eq!(young, 512);
}

/// Linux 6.12 mm/swap.c (`folio_batch_add_and_move`): a batch that a huge folio joins goes on at
/// once. So no scan meets one that a batch holds, which could not be split.
#[test]
fn it_waits_in_no_batch() {
    for (name, policy, kernel) in all_policies() {
        for moved in [Memory::lru_activate, Memory::lru_deactivate, Memory::lru_rotate] {
            let (mut mem, mut lru, page, head) = one_huge(policy, kernel);
            mem.frames.clear(head, flag::ACTIVE | flag::DIRTY);
            moved(&mut mem, &mut *lru, head);
            assert!(!mem.frames.has(head, flag::IN_BATCH), "{name}");
            assert!(mem.isolate_from(&mut *lru, head), "{name}");
            mem.put_back(&mut *lru, head);
            assert!(mem.frames.bits(head) & (flag::LRU | flag::IN_BATCH) == flag::LRU, "{name}");
            assert!(mem.isolate_from(&mut *lru, head), "{name}");
            mem.split_frames(head);
            mem.check();
            assert_eq!(
                mem.virt.pages.entry(PageIdx(page.0 + 5)),
                Entry::Frame(Pfn(head.0 + 5)),
                "{name}"
            );
        }
    }
}

#[test]
fn the_end_of_a_mapping_frees_the_block() {
    for (name, policy, kernel) in all_policies() {
        let (mut mem, mut lru, _, _) = one_huge(policy, kernel);
        let space = mem.virt.spaces.ids().next().expect("a process");
        mem.munmap(&mut *lru, space, RegionId(0));
        mem.check();
        assert_eq!((mem.nr_lru_pages(), mem.zones.nr_free()), (0, u64::from(FRAMES)), "{name}");
        assert_eq!(mem.stats.vmstat[VmEvent::ThpSplitPage], 0, "{name}");
    }
}
