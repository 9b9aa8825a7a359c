//! Large folios by hand: which size a fault takes, what it weighs, what is left of it.

use crate::harness::memory::small_machine;
use crate::harness::{Policy, Ran, Steps, all_policies, run_watched};
use crate::thp::{one_large, one_large_on};
use mmsim_core::base::id::{GroupId, MemcgId, NodeId, PageIdx, Pfn};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::vmstat::{VmEvent, VmStat};
use mmsim_core::config::{
    Kernel, MachineConfig, MemcgConfig, SMALLEST_ORDER, Thp, ThpDefrag, ThpSize, ZoneKind,
};
use mmsim_core::machine::Watch;
use mmsim_core::memory::{Memory, SizeEvent};
use mmsim_core::policy::{ReclaimPolicy, ReclaimRequest};
use mmsim_core::virt::pages::{Entry, Owner};
use mmsim_core::workload::Advice;
use proptest::prelude::*;

const FRAMES: u32 = 4096;

/// A machine where folios of some orders are made for all mappings.
fn machine(kernel: Kernel, orders: &[u8]) -> MachineConfig {
    let mut m = small_machine(FRAMES, 8192, 0);
    m.kernel = kernel;
    m.vm.thp = Thp::Never;
    m.vm.thp_defrag = ThpDefrag::Madvise;
    for &order in orders {
        *size(&mut m, order) = ThpSize::Always;
    }
    m.nodes[0].zones[0].watermarks = Some([30, 40, 60]);
    m
}

fn size(m: &mut MachineConfig, order: u8) -> &mut ThpSize {
    match order {
        2 => &mut m.vm.size_16,
        3 => &mut m.vm.size_32,
        4 => &mut m.vm.size_64,
        5 => &mut m.vm.size_128,
        6 => &mut m.vm.size_256,
        7 => &mut m.vm.size_512,
        8 => &mut m.vm.size_1024,
        _ => &mut m.vm.size_2048,
    }
}

/// Policies of kernels that have more than one size.
fn policies() -> impl Iterator<Item = (&'static str, Policy, Kernel)> {
    all_policies().into_iter().filter(|p| p.2 >= Kernel::V6_12)
}

fn ran(config: &MachineConfig, policy: Policy, steps: &Steps) -> Ran {
    let watch = Watch::default().with_check_every(97);
    let ran = run_watched(config, policy, std::slice::from_ref(steps), watch);
    ran.machine.mem.check();
    ran.machine.policy().check(&ran.machine.mem);
    ran
}

fn n(r: &Ran, order: u8, event: SizeEvent) -> u64 {
    r.machine.mem.stats.sizes.get(order, event)
}

/// Pages of the first page table that are in memory, as runs of the folios that they are in: the first
/// page and the order.
fn folios(r: &Ran) -> Vec<(u32, u8)> {
    let mem = &r.machine.mem;
    let of_process = |g: &GroupId| matches!(mem.virt.pages.group(*g).owner, Owner::Process(_));
    let groups = (0..mem.virt.pages.nr_groups() as u32).map(GroupId);
    let first = groups.into_iter().find(of_process).expect("a process").first();
    let mut found: Vec<(u32, u8)> = (0..512)
        .filter_map(|i| match mem.virt.pages.entry(PageIdx(first.0 + i)) {
            Entry::Frame(f) => Some((i, mem.frames.order(f))),
            _ => None,
        })
        .map(|(i, order)| (i >> order << order, order))
        .collect();
    found.dedup();
    found
}

/// The example E1: a mapping of the pages 3 to 99 of a page table, and sizes of 16, 32 and 64 KiB.
#[test]
fn the_largest_size_that_fits_is_taken() {
    for (name, policy, kernel) in policies() {
        let m = machine(kernel, &[2, 3, 4]);
        let at = |page: u32| page - 3..page - 2;
        let steps = Steps::new().map_at(0, 97, (1 << 20) + 3).write(0, at(5)).read(0, at(18));
        let steps = steps.write(0, at(20)).write(0, at(97)).write(0, at(80)).phase();
        let r = ran(&m, policy, &steps);
        let large: Vec<(u32, u8)> = folios(&r).into_iter().filter(|f| f.1 > 0).collect();
        assert_eq!(large, [(4, 2), (20, 2), (80, 4), (96, 2)], "{name}");
        let made = [2, 3, 4].map(|order| n(&r, order, SizeEvent::AnonFaultAlloc));
        assert_eq!(made, [3, 0, 1], "{name}");
        assert_eq!(r.in_phase(0, VmEvent::PgFault), 5, "{name}: four writes and a read");
        assert_eq!(r.machine.mem.nr_lru_pages(), 28, "{name}");
        assert_eq!(r.n(VmEvent::ThpFaultAlloc), 0, "{name}: it counts huge pages alone");
    }
}

/// Without a block of order 4 a fault takes one of order 3 (the second half of the example E1). Memory
/// is full of single pages, of which eight of each sixteen are given back; the 200 frames that were
/// free before are 12 blocks of order 4 at most.
#[test]
fn what_cannot_be_had_falls_back_on_the_next_size() {
    for (name, policy, kernel) in policies() {
        let mut m = machine(kernel, &[3, 4]);
        m.vm.thp_defrag = ThpDefrag::Never;
        let full = Steps::new().map(0, 3900).advise(0, 0..3900, Advice::NoHugePage);
        let holes = full
            .write(0, 0..3900)
            .each(0..240u32, |s, k| s.advise(0, 16 * k..16 * k + 8, Advice::DontNeed));
        let ask = holes.map(1, 1024).phase().each(0..64u32, |s, k| s.write(1, 16 * k..16 * k + 1));
        let r = ran(&m, policy, &ask.phase());
        let [made, fell] = [SizeEvent::AnonFaultAlloc, SizeEvent::AnonFaultFallback]
            .map(|e| [3, 4].map(|order| n(&r, order, e)));
        let reclaimed = r.n(VmEvent::PgStealKswapd) > 0;
        assert!(made[1] <= 12 || reclaimed, "{name}: {made:?}");
        assert_eq!((made[0], fell), (64 - made[1], [0, 64 - made[1]]), "{name}");
        assert_eq!(r.in_phase(1, VmEvent::PgFault), 64, "{name}");
    }
}

/// The example E2: 64 and 32 KiB, a group of which 10 pages are left, no advice. The group cannot pay
/// for the larger one, which counts as a fallback too, and pays for the smaller one.
#[test]
fn a_group_that_cannot_pay_gets_the_next_size() {
    for (name, policy, kernel) in policies() {
        let mut m = machine(kernel, &[3, 4]);
        m.memcgs = vec![MemcgConfig { max: Some(200), ..MemcgConfig::new("group") }];
        // 190 pages with the page tables: what is charged is read off a run without the large fault.
        let fill = |pages: u32| {
            let steps = Steps::new().in_group(0).map(0, 512).advise(0, 0..512, Advice::NoHugePage);
            steps.write(0, 0..pages).map(1, 64)
        };
        let charged = |r: &Ran| r.machine.mem.memcgs[MemcgId(1)].usage;
        let before = charged(&ran(&m, policy, &fill(100).phase()));
        let pages = 100 + (190 - before as u32);
        let r = ran(&m, policy, &fill(pages).phase().write(1, 0..1).phase());
        let of = |order| {
            use SizeEvent::{AnonFaultAlloc, AnonFaultFallback, AnonFaultFallbackCharge};
            [AnonFaultAlloc, AnonFaultFallback, AnonFaultFallbackCharge].map(|e| n(&r, order, e))
        };
        assert_eq!((of(4), of(3)), ([0, 1, 1], [1, 0, 0]), "{name}");
    }
}

/// The first half of the example E8: four pages of a folio of 64 KiB are dropped. Its frames stay in
/// use until reclaim splits it or the last page goes.
#[test]
fn a_folio_that_is_dropped_in_part_waits() {
    for (name, policy, kernel) in policies() {
        let m = machine(kernel, &[4]);
        let part = Steps::new().map(0, 64).write(0, 0..1).phase();
        let part = part.advise(0, 4..8, Advice::DontNeed).phase();
        let r = ran(&m, policy, &part);
        assert_eq!(n(&r, 4, SizeEvent::SplitDeferred), 1, "{name}");
        assert_eq!(n(&r, 4, SizeEvent::NrAnonPartiallyMapped), 1, "{name}");
        assert_eq!(r.n(VmEvent::ThpDeferredSplitPage), 0, "{name}");
        assert_eq!(r.in_phase(1, VmEvent::PgFree), 0, "{name}");
        assert_eq!(r.machine.mem.virt.spaces.anon_mapped, 12, "{name}: rss falls at once");
        let all = part.advise(0, 0..64, Advice::DontNeed).phase();
        let r = ran(&m, policy, &all);
        assert_eq!(r.in_phase(2, VmEvent::PgFree), 16, "{name}");
        let gone = [SizeEvent::NrAnon, SizeEvent::NrAnonPartiallyMapped, SizeEvent::Split];
        assert_eq!(gone.map(|e| n(&r, 4, e)), [0, 0, 0], "{name}");
    }
}

/// The second half of the example E8, whose pages were written: reclaim meets the folio, of which 12
/// pages are left. It splits it, writes 12 pages, and counts a write of the four without a user.
#[test]
fn reclaim_of_a_folio_in_parts_writes_what_is_mapped() {
    // MGLRU needs more generations than one folio has.
    for (name, policy, kernel) in policies().filter(|p| p.0.starts_with("classic")) {
        let (mut mem, mut lru, page, head) = one_large(policy, kernel, 4);
        let vma = mem.virt.spaces.vma_of(&mem.virt.pages, page);
        mem.zap_pages(&mut *lru, PageIdx(page.0 + 4), 4, vma);
        let since = reclaim(&mut mem, &mut *lru, head);
        use VmEvent::{NrVmscanWrite, PgFree, PgStealDirect, PswpOut};
        let counted = [PswpOut, PgStealDirect, NrVmscanWrite, PgFree].map(|e| since[e]);
        assert_eq!(counted, [12, 12, 16, 16], "{name}");
        assert_eq!(mem.stats.sizes.get(4, SizeEvent::Split), 1, "{name}");
        mem.check();
    }
}

/// Slots of the pages of a mapping, from its first page on.
fn slots(mem: &Memory, page: PageIdx, n: u32) -> Vec<u32> {
    let slot = |p| match mem.virt.pages.entry(PageIdx(p)) {
        Entry::Swap(slot) => slot.0,
        other => panic!("page {p} is {other:?}"),
    };
    (page.0..page.0 + n).map(slot).collect()
}

/// Direct reclaim at falling priorities, which evicts a folio that was not used.
fn reclaim(mem: &mut Memory, lru: &mut dyn ReclaimPolicy, head: Pfn) -> VmStat {
    let before = mem.stats.vmstat.clone();
    mem.references(head, None);
    let request = ReclaimRequest::direct(NodeId(0), ZoneKind::Movable);
    for priority in (0..8).rev() {
        lru.reclaim(mem, &ReclaimRequest { priority, ..request });
    }
    mem.check();
    mem.stats.vmstat.since(&before)
}

/// The example E3: a huge page goes to a synchronous device whole, with aligned slots in a row. On 6.12
/// the model has no slots for it and splits it.
#[test]
fn a_folio_goes_to_swap_in_one_piece() {
    use VmEvent::{NrSwpOut, NrVmscanWrite, PgStealDirect, PswpOut, ThpSplitPmd, ThpSwpout};
    for (name, policy, kernel) in policies().filter(|p| p.0.starts_with("classic")) {
        for order in [9, 4] {
            let (mut mem, mut lru, page, head) = one_large(policy, kernel, order);
            let since = reclaim(&mut mem, &mut *lru, head);
            let n = 1 << order;
            let whole = u64::from(kernel >= Kernel::V6_18);
            let counted = [PswpOut, PgStealDirect, NrVmscanWrite].map(|e| since[e]);
            assert_eq!(counted, [n; 3], "{name}");
            let huge = if order == 9 { whole } else { 0 };
            assert_eq!([ThpSwpout, ThpSplitPmd].map(|e| since[e]), [huge; 2], "{name}");
            assert_eq!(since[NrSwpOut], if kernel >= Kernel::V7_3 { 1 } else { 0 }, "{name}");
            let [out, split] =
                [SizeEvent::Swpout, SizeEvent::Split].map(|e| mem.stats.sizes.get(order, e));
            assert_eq!([out, split], [whole, 1 - whole], "{name}");
            let slots = slots(&mem, page, n as u32);
            assert!(slots.windows(2).all(|w| w[1] == w[0] + 1), "{name}: {slots:?}");
            assert!(whole == 0 || slots[0].is_multiple_of(n as u32), "{name}: {slots:?}");
            assert_eq!((mem.virt.spaces.anon_mapped, mem.nr_lru_pages()), (0, 0), "{name}");
        }
    }
}

/// The example E4: without 16 slots in a row the folio is split, and counts one fallback. From 6.18 on
/// the pages take slots from the last to the second, behind the first.
#[test]
fn without_slots_in_a_row_a_folio_is_split() {
    for (name, policy, kernel) in policies().filter(|p| p.0.starts_with("classic")) {
        if kernel < Kernel::V6_18 {
            continue;
        }
        let (mut mem, mut lru, page, head) = one_large_on(policy, kernel, 4, 300);
        let since = reclaim(&mut mem, &mut *lru, head);
        assert_eq!([VmEvent::PswpOut, VmEvent::PgStealDirect].map(|e| since[e]), [16; 2], "{name}");
        use SizeEvent::{Split, Swpout, SwpoutFallback};
        let counted = [Swpout, SwpoutFallback, Split].map(|e| mem.stats.sizes.get(4, e));
        assert_eq!(counted, [0, 1, 1], "{name}");
        let slots = slots(&mem, page, 16);
        let places: Vec<u32> = slots.iter().map(|s| s - slots[0]).collect();
        assert_eq!(places, std::iter::once(0).chain((1..16).rev()).collect::<Vec<_>>(), "{name}");
    }
}

/// The example E12: a folio of 64 KiB that went to swap in one piece comes back so with one fault.
#[test]
fn a_folio_comes_back_in_one_piece() {
    for (name, policy, kernel) in policies().filter(|p| p.2 >= Kernel::V6_18) {
        let m = machine(kernel, &[4]);
        let out = Steps::new().map(0, 16).write(0, 0..16).advise(0, 0..16, Advice::PageOut).phase();
        let r = ran(&m, policy, &out.write(0, 3..4).phase());
        use VmEvent::{PgMajFault, PswpIn, PswpOut, WorkingsetRefaultAnon};
        assert_eq!([0, 1].map(|p| r.in_phase(p, PswpOut)), [16, 0], "{name}");
        let back = [PgMajFault, PswpIn].map(|e| r.in_phase(1, e));
        assert_eq!(back, [1, 16], "{name}");
        let refaults = r.in_phase(1, WorkingsetRefaultAnon);
        assert!(refaults == 16 || name == "random", "{name}: {refaults}");
        use SizeEvent::{NrAnon, Split, Swpin, Swpout};
        let counted = [Swpout, Swpin, NrAnon, Split].map(|e| n(&r, 4, e));
        assert_eq!(counted, [1, 1, 1, 0], "{name}");
        let swap = r.machine.mem.swap.as_ref().expect("the machine has swap");
        assert_eq!(swap.nr_free(), swap.total(), "{name}: its slots are free");
    }
}

/// The example E9, `thp_swap_allocator_test` of the kernel tree with swap-in of large folios: 960 folios
/// of 64 KiB are paged out, 64 MiB of swap hold all but a few more, and in each iteration 4,096 random
/// pages are read, 256 random folios are dropped and rewritten, and all are paged out again. A folio is
/// written if it was touched: 960 * (1 - (959/960)^4352) = 949.7 of them, and 397.5 if 256 folios are
/// read instead. No folio falls back.
#[test]
fn clusters_hold_what_was_in_them() {
    const FOLIOS: u32 = 960;
    const ITERATIONS: u32 = 12;
    for (reads, pages, expected) in [(4096, 16 * FOLIOS, 949.7), (256, FOLIOS, 397.5)] {
        for (name, policy, kernel) in policies() {
            if !["classic-v6.18", "classic-v7.3"].contains(&name) {
                continue;
            }
            let mut m = machine(kernel, &[4]);
            m.nodes[0].zones[0].managed = 20_480;
            m.swap[0].slots = 16_383;
            let mut rng = Rng::for_purpose(1, "allocator test");
            let all = 0..16 * FOLIOS;
            let out = |s: Steps| s.advise(0, all.clone(), Advice::PageOut);
            let mut steps = out(Steps::new().map(0, 16 * FOLIOS).write(0, all.clone())).phase();
            for _ in 0..ITERATIONS {
                for _ in 0..reads {
                    let page = rng.below(pages.into()) as u32 * (16 * FOLIOS / pages);
                    steps = steps.read(0, page..page + 1);
                }
                for _ in 0..256 {
                    let first = 16 * rng.below(FOLIOS.into()) as u32;
                    let folio = first..first + 16;
                    steps = steps.advise(0, folio.clone(), Advice::DontNeed).write(0, folio);
                }
                steps = out(steps);
            }
            let r = run_watched(&m, policy, &[steps.phase()], Watch::default());
            use SizeEvent::{Swpout, SwpoutFallback};
            let [whole, split] = [Swpout, SwpoutFallback].map(|e| n(&r, 4, e));
            let mean = f64::from(whole as u32 - FOLIOS) / f64::from(ITERATIONS);
            // Three standard deviations of the mean: of one iteration it is 3.2 and 12.
            let room = if reads == 256 { 10.4 } else { 2.8 };
            assert!((mean - expected).abs() < room, "{name}: {mean} for {expected}");
            assert_eq!(split, 0, "{name}");
        }
    }
}

/// The example E7: of 102 pages of a huge page that were written, 410 are the zero page after a split,
/// and their frames are free. A locked folio keeps them.
#[test]
fn pages_that_were_never_written_are_free_after_a_split() {
    for (name, policy, kernel) in policies() {
        let m = machine(kernel, &[9]);
        let steps = Steps::new().map(0, 512).write(0, 0..102).phase();
        let r = ran(&m, policy, &steps.advise(0, 0..1, Advice::Cold).phase());
        assert_eq!([0, 1].map(|p| r.in_phase(p, VmEvent::ThpSplitPage)), [0, 1], "{name}");
        assert_eq!([0, 1].map(|p| r.in_phase(p, VmEvent::PgFree)), [0, 410], "{name}");
        assert_eq!(r.machine.mem.virt.spaces.anon_mapped, 102, "{name}");
        assert_eq!(r.machine.mem.nr_lru_pages(), 102, "{name}");
    }
}

/// A step of a process with a mapping of 500 pages.
#[derive(Clone, Copy, Debug)]
enum Act {
    Write(u32),
    Read(u32),
    Drop(u32, u32),
    Cold(u32, u32),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let run = || (0..500u32, 1..40u32);
    let act = prop_oneof![
        6 => (0..500u32).prop_map(Act::Write),
        1 => (0..500u32).prop_map(Act::Read),
        2 => run().prop_map(|(p, n)| Act::Drop(p, n)),
        1 => run().prop_map(|(p, n)| Act::Cold(p, n)),
    ];
    prop::collection::vec(act, 1..40)
}

/// A page by the rules of the kernel: nothing, the zero page, or the folio with this number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Page {
    Empty,
    Zero,
    Of(usize),
}

/// A mapping of 500 pages without frames, lists or page tables.
struct Plain {
    pages: Vec<Page>,
    /// Pages that were written since their folio was made.
    written: Vec<bool>,
    /// Orders of folios; none of those that are gone.
    folios: Vec<Option<u8>>,
    made: [u64; 10],
    split: [u64; 10],
    deferred: [u64; 10],
}

impl Plain {
    fn act(&mut self, act: Act, orders: &[u8]) {
        match act {
            Act::Write(p) => self.write(p as usize, orders),
            Act::Read(p) if self.pages[p as usize] == Page::Empty => {
                self.pages[p as usize] = Page::Zero;
            }
            Act::Read(_) => {}
            Act::Drop(p, n) => self.drop(p as usize, (p + n).min(500) as usize),
            Act::Cold(p, n) => self.make_cold(p as usize, (p + n).min(500) as usize),
        }
    }

    fn write(&mut self, p: usize, orders: &[u8]) {
        if let Page::Of(_) = self.pages[p] {
            self.written[p] = true;
            return;
        }
        let fits = |order: u8| {
            let (first, nr) = (p >> order << order, 1 << order);
            first + nr <= 500 && self.pages[first..first + nr].iter().all(|&p| p == Page::Empty)
        };
        let order = orders.iter().copied().filter(|&o| fits(o)).max().unwrap_or(0);
        let first = p >> order << order;
        self.folios.push(Some(order));
        self.pages[first..first + (1 << order)].fill(Page::Of(self.folios.len() - 1));
        self.written[first..first + (1 << order)].fill(false);
        self.written[p] = true;
        self.made[usize::from(order)] += 1;
    }

    fn mapped(&self, folio: usize) -> usize {
        self.pages.iter().filter(|&&p| p == Page::Of(folio)).count()
    }

    fn drop(&mut self, from: usize, to: usize) {
        let whole = |this: &Plain, f: usize| this.folios[f].map(|o| this.mapped(f) == 1 << o);
        let before: Vec<Option<bool>> = (0..self.folios.len()).map(|f| whole(self, f)).collect();
        self.pages[from..to].fill(Page::Empty);
        for (f, was_whole) in before.into_iter().enumerate() {
            let Some(order) = self.folios[f] else { continue };
            match self.mapped(f) {
                0 => self.folios[f] = None,
                left if was_whole == Some(true) && left < 1 << order => {
                    self.deferred[usize::from(order)] += 1;
                }
                _ => {}
            }
        }
    }

    /// Folios of which only a part is meant are split.
    fn make_cold(&mut self, from: usize, to: usize) {
        for p in from..to {
            let Page::Of(f) = self.pages[p] else { continue };
            let order = self.folios[f].expect("it is mapped");
            let first = p >> order << order;
            let whole = first >= from && first + (1 << order) <= to;
            if !whole || self.mapped(f) < 1 << order {
                self.split(p);
            }
        }
    }

    fn split(&mut self, p: usize) {
        let Page::Of(f) = self.pages[p] else { return };
        let order = self.folios[f].expect("it is mapped");
        if order == 0 {
            return;
        }
        self.split[usize::from(order)] += 1;
        self.folios[f] = None;
        for i in 0..self.pages.len() {
            if self.pages[i] != Page::Of(f) {
                continue;
            }
            self.pages[i] = Page::Zero;
            if self.written[i] {
                self.folios.push(Some(0));
                self.pages[i] = Page::Of(self.folios.len() - 1);
            }
        }
    }

    /// Folios by page and order, and pages charged.
    fn folios(&self) -> (Vec<(u32, u8)>, u64) {
        let mut found = Vec::new();
        for (p, page) in self.pages.iter().enumerate() {
            if let Page::Of(f) = *page {
                let order = self.folios[f].expect("it is mapped");
                found.push(((p >> order << order) as u32, order));
            }
        }
        found.dedup();
        (found, self.folios.iter().flatten().map(|&order| 1u64 << order).sum())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Faults, drops and splits in any order leave the folios, counters and charges of a plain model.
    #[test]
    fn a_mapping_has_the_folios_of_a_plain_model(
        acts in acts(),
        drawn in prop::collection::btree_set(SMALLEST_ORDER..=8, 0..4),
        which in any::<prop::sample::Index>(),
    ) {
        let orders: Vec<u8> = drawn.into_iter().collect();
        let all: Vec<_> = policies().collect();
        let (name, policy, kernel) = *which.get(&all);
        let mut plain = Plain {
            pages: vec![Page::Empty; 500],
            written: vec![false; 500],
            folios: Vec::new(),
            made: [0; 10],
            split: [0; 10],
            deferred: [0; 10],
        };
        let mut steps = Steps::new().map(0, 500);
        for &act in &acts {
            plain.act(act, &orders);
            steps = match act {
                Act::Write(p) => steps.write(0, p..p + 1),
                Act::Read(p) => steps.read(0, p..p + 1),
                Act::Drop(p, n) => steps.advise(0, p..(p + n).min(500), Advice::DontNeed),
                Act::Cold(p, n) => steps.advise(0, p..(p + n).min(500), Advice::Cold),
            };
        }
        let r = ran(&machine(kernel, &orders), policy, &steps.phase());
        let (found, charged) = plain.folios();
        prop_assert_eq!(folios(&r), found, "{}", name);
        prop_assert_eq!(r.machine.mem.nr_lru_pages(), charged, "{}", name);
        for &order in &orders {
            let own = [&plain.made, &plain.split, &plain.deferred].map(|m| m[usize::from(order)]);
            use SizeEvent::{AnonFaultAlloc, Split, SplitDeferred};
            let counted = [AnonFaultAlloc, Split, SplitDeferred].map(|e| n(&r, order, e));
            prop_assert_eq!(counted, own, "order {} of {}", order, name);
        }
    }
}
