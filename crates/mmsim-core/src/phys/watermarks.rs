//! Watermarks: how much of a zone stays free, and against whom.
//!
//! A zone has three marks. Requests are served as long as more than *low* stays free; then
//! kswapd is woken, which frees memory up to *high*. Requests that cannot wait may go below *min* by
//! a part of it, and who reclaims memory takes what there is. A mark is not the whole threshold:
//! pages that the zone keeps from requests that could use a higher one come on top, and so do free
//! pages of pageblocks that are kept for requests that cannot sleep. A request of several pages
//! needs a block that is large enough besides.
//!
//! Min is the zone's share of a reserve that grows with the square root of memory, and that is
//! larger where transparent huge pages are on. Low and high lie
//! above it by a distance that grows with the zone; up to 4.5, with min. When a request had to take
//! from pageblocks of another type, all three rise for a while, so that kswapd makes room before
//! types are mixed again. The lengths of per-CPU lists follow from the same sizes and are here
//! too; so is what compaction asks of a zone before it starts.
//!
//! Sources: Linux 6.12 mm/page_alloc.c (`__setup_per_zone_wmarks`,
//! `calculate_min_free_kbytes`, `__zone_watermark_ok`, `zone_watermark_fast`,
//! `boost_watermark`, `zone_batchsize`, `zone_highsize`), mm/compaction.c
//! (`compaction_suitable`), mm/khugepaged.c (`set_recommended_min_free_kbytes`; mm/huge_memory.c up to
//! 4.7). Left out: drift of per-CPU counters (free pages are exact).

use super::gfp::{AllocFlags, PAGE_ALLOC_COSTLY_ORDER};
use super::zone::Zone;
use crate::base::migratetype::Migratetype;
use crate::base::rules::{KernelRules, WmarkForm};
use crate::config::{MachineConfig, VmSysctl, ZoneKind};

/// Watermark that a request is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// `WMARK_MIN`.
    Min,
    /// `WMARK_LOW`.
    Low,
    /// `WMARK_HIGH`.
    High,
}

impl Zone {
    /// True if a request of order 0 for zones up to `highest` leaves more than the mark.
    #[inline]
    pub fn watermark_ok(&self, mark: Mark, highest: ZoneKind) -> bool {
        let reserve = self.lowmem_reserve[highest as usize] + self.free_highatomic;
        self.free > self.mark(mark) + reserve
    }

    /// Free pages above the high watermark, without a boost, and above what is kept from user
    /// pages.
    pub fn spare(&self) -> u64 {
        let reserve = self.lowmem_reserve[ZoneKind::Movable as usize] + self.free_highatomic;
        self.free.saturating_sub(self.watermark[Mark::High as usize] + reserve)
    }

    /// True if a request for zones up to `highest` leaves more than the mark and `more` pages.
    pub fn exceeds(&self, mark: Mark, more: u64, highest: ZoneKind) -> bool {
        let reserve = self.lowmem_reserve[highest as usize] + self.free_highatomic;
        self.free > self.mark(mark) + more + reserve
    }

    /// True if a request of any order may be served (`zone_watermark_fast`).
    pub fn allows(&self, order: u8, mark: Mark, highest: ZoneKind, flags: AllocFlags) -> bool {
        if order == 0 && self.watermark_ok(mark, highest) {
            return true;
        }
        if self.leaves(order, self.mark(mark), highest, flags, self.free) {
            return true;
        }
        // The boost is no obstacle to those who may use reserves.
        let unboosted = order == 0 && flags.min_reserve && self.boost > 0 && mark == Mark::Min;
        unboosted && self.leaves(order, self.watermark[0], highest, flags, self.free)
    }

    /// True if a zone with `free` free pages would leave `mark` of them, and has a block that is
    /// large enough (`__zone_watermark_ok`).
    pub fn leaves(
        &self,
        order: u8,
        mark: u64,
        highest: ZoneKind,
        flags: AllocFlags,
        free: u64,
    ) -> bool {
        let kept = if flags.reserves() { 0 } else { self.free_highatomic };
        let mut left = free as i64 - ((1 << order) - 1) - kept as i64;
        let mut min = mark as i64;
        if flags.min_reserve {
            min -= min / 2;
            if flags.non_block {
                min -= min / 4;
            }
        }
        let reserve = self.lowmem_reserve[highest as usize] as i64;
        if left <= min + reserve {
            return false;
        }
        match self.buddy.rules().wmark_form {
            _ if order == 0 => true,
            WmarkForm::PerOrder => (0..order).all(|k| {
                left -= (self.buddy.nr_free_blocks_of_order(k) << k) as i64;
                min >>= 1;
                left > min
            }),
            WmarkForm::OneBlock => {
                let has = |mt| self.buddy.has_block(order, mt);
                Migratetype::REQUESTS.into_iter().any(has)
                    || flags.highatomic && has(Migratetype::HighAtomic)
            }
        }
    }

    /// As [`Zone::leaves`], with the free pages of whole pageblocks alone.
    pub fn leaves_whole(&self, order: u8, mark: Mark, highest: ZoneKind) -> bool {
        let free = self.free_in_blocks();
        self.leaves(order, self.mark(mark), highest, AllocFlags::default(), free)
    }

    /// True if compaction could start for a request (`compaction_suitable`): enough free pages
    /// above a mark to move others to, and fragmentation rather than lack of memory in the way.
    /// Costly orders want as much more as low is above min.
    pub fn compaction_suitable(&self, order: u8, mark: Mark, highest: ZoneKind) -> bool {
        let costly = order > PAGE_ALLOC_COSTLY_ORDER;
        let [min, low, _] = self.watermark;
        let more = if costly { low - min } else { 0 };
        let mark = self.mark(mark) + more + (2 << order);
        if !self.leaves(0, mark, highest, AllocFlags::default(), self.free) {
            return false;
        }
        let index = self.fragmentation_index(order);
        !costly || !(0..=self.extfrag_threshold).contains(&index)
    }

    /// Free pages above a mark, as compaction counts them: without those that are kept for others,
    /// and without regard to a boost of the marks.
    pub(super) fn room_above(&self, mark: Mark) -> i64 {
        let kept = self.free_highatomic + self.lowmem_reserve[ZoneKind::Dma as usize];
        self.free as i64 - (kept + self.watermark[mark as usize]) as i64
    }

    fn mark(&self, m: Mark) -> u64 {
        self.watermark[m as usize] + self.boost
    }
}

/// `vm.min_free_kbytes` as the kernel chooses it at boot: floor(sqrt(16 x lowmem in KiB)), at least
/// 128 and at most what the rule `min-free-most` allows.
pub fn min_free_kbytes(lowmem_pages: u64, rules: &KernelRules) -> u64 {
    (lowmem_pages * 4 * 16).isqrt().clamp(128, rules.min_free_most.into())
}

/// `vm.min_free_kbytes` that khugepaged asks for (`set_recommended_min_free_kbytes`): two pageblocks
/// of each zone, and one for each pair of the three migratetypes of programs and kernel, so that
/// types can be kept apart; at most a twentieth of the pages above the high watermarks.
pub(crate) fn min_free_kbytes_for_thp(
    zones: u64,
    pages_above_high: u64,
    rules: &KernelRules,
) -> u64 {
    let kept_apart = Migratetype::REQUESTS.len() as u64;
    let blocks = zones * (2 + kept_apart * kept_apart);
    (blocks << rules.pageblock_order).min(pages_above_high / 20) * 4
}

/// Watermarks min, low, high of a zone in pages, where the zones that share `min_free_kbytes` have
/// `sharing` pages. Unless they are scaled with the zone, low and high are min and a quarter, min
/// and a half.
pub fn watermarks(
    kind: ZoneKind,
    managed: u64,
    sharing: u64,
    min_free_kbytes: u64,
    vm: &VmSysctl,
    rules: &KernelRules,
) -> [u64; 3] {
    let pages_min = min_free_kbytes / 4;
    let share = (pages_min * managed).checked_div(sharing).unwrap_or(0);
    let capped = kind == ZoneKind::Movable && !rules.movable_shares_min;
    let min = if capped { (managed / 1024).clamp(32, 128) } else { share };
    if !rules.scaled_watermarks {
        return [min, min + share / 4, min + share / 2];
    }
    let d = (share / 4).max(managed * u64::from(vm.watermark_scale_factor) / 10_000);
    [min, min + d, min + 2 * d]
}

/// Largest boost of the watermarks by stealing: the factor (in 1/10000) of the high one, at least a
/// pageblock. 0: none, as in zones of less than four pageblocks.
pub(super) fn most_boost(z: &Zone, factor: u32) -> u64 {
    let rules = z.buddy.rules();
    let block = 1u64 << rules.pageblock_order;
    // `mult_frac`: a watermark may be far above its zone.
    let [tens_of_thousands, rest] = [z.watermark[2] / 10_000, z.watermark[2] % 10_000];
    let factor = u64::from(factor);
    let most = tens_of_thousands.saturating_mul(factor).saturating_add(rest * factor / 10_000);
    let worth = rules.avoid_fragmentation && 4 * block <= u64::from(z.managed);
    if worth && most > 0 { most.max(block) } else { 0 }
}

/// Refill size of per-CPU lists: a quarter of a 1024th of the zone, or of the `most` pages of the
/// rule `pcp-batch-most`, rounded to a power of two minus one.
pub fn pcp_batch(managed: u64, most: u32) -> u32 {
    let b = ((managed / 1024).min(most.into()) / 4).max(1);
    let b = b + b / 2;
    (1u32 << b.ilog2()) - 1
}

/// Pages of one CPU at which a batch goes back, and pages of a batch (`zone_highsize`,
/// `zone_batchsize`). The zone is divided among the CPUs of its node, among all where that has none.
pub(super) fn pcp_sizes(z: &Zone, config: &MachineConfig) -> (u32, u32) {
    let rules = z.buddy.rules();
    let batch = pcp_batch(z.managed.into(), rules.pcp_batch_most).max(1);
    let cpus = match config.cpus_of(z.node) {
        0 => u64::from(config.cpus.max(1)),
        near => near as u64,
    };
    let f = u64::from(config.vm.percpu_pagelist_high_fraction);
    let of_zone = rules.pcp_high_of_zone;
    let base = match u64::from(z.managed).checked_div(f) {
        Some(share) => share / cpus,
        None if !of_zone => 6 * u64::from(batch),
        None => z.watermark[1] / cpus,
    };
    let high = if f == 0 && !of_zone { base } else { base.max(4 * u64::from(batch)) };
    (u32::try_from(high).unwrap_or(u32::MAX), batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::{Pfn, ZoneId};
    use crate::base::kernel::Kernel;
    use crate::phys::buddy::Buddy;
    use crate::phys::frames::Frames;
    use crate::phys::zones::tests::zones_of;

    /// Worked by hand: default factors, one lowmem zone.
    #[test]
    fn watermarks_as_worked_by_hand() {
        let vm = VmSysctl::linux();
        for (managed, kb, want) in [
            (25_600, 1280, [320, 400, 480]),
            (65_536, 2048, [512, 640, 768]),
            (262_144, 4096, [1024, 1286, 1548]),
            (1_048_576, 8192, [2048, 3096, 4144]),
            (4_194_304, 16384, [4096, 8290, 12484]),
        ] {
            let m = min_free_kbytes(managed, &V6_12);
            assert_eq!(m, kb);
            assert_eq!(watermarks(ZoneKind::Normal, managed, managed, m, &vm, &V6_12), want);
        }
        let steep = VmSysctl { watermark_scale_factor: 100, ..VmSysctl::linux() };
        assert_eq!(
            watermarks(ZoneKind::Normal, 262_144, 262_144, 4096, &steep, &V6_12),
            [1024, 3645, 6266]
        );
    }

    /// Up to 4.5, worked by hand: 490,000 KiB, of which min is the root of 16 times as many.
    #[test]
    fn old_watermarks_as_worked_by_hand() {
        let vm = VmSysctl::linux();
        let v4_1 = KernelRules::of(Kernel::V4_1);
        let m = min_free_kbytes(122_500, &v4_1);
        assert_eq!(m, 2800);
        let old = watermarks(ZoneKind::Normal, 122_500, 122_500, m, &vm, &v4_1);
        assert_eq!(old, [700, 875, 1050]);
    }

    /// Worked by hand: DMA 3840 and DMA32 256 000.
    #[test]
    fn two_zones_as_worked_by_hand() {
        let vm = VmSysctl::linux();
        let m = min_free_kbytes(259_840, &V6_12);
        assert_eq!(m, 4077);
        let of = |kind, managed| watermarks(kind, managed, 259_840, m, &vm, &V6_12);
        assert_eq!(of(ZoneKind::Dma, 3840), [15, 18, 21]);
        assert_eq!(of(ZoneKind::Dma32, 256_000), [1003, 1259, 1515]);
    }

    /// The root of 16 x 512 GiB in KiB is 92,681, which is beyond the bound of 65,536 up to 5.7; that
    /// of 16 TiB is 524,288, beyond the bound of later kernels as well.
    #[test]
    fn the_kernels_own_choice_has_a_bound() {
        let of = |gib: u64, kernel| min_free_kbytes(gib << 18, &KernelRules::of(kernel));
        let old = [Kernel::V4_1, Kernel::V5_5];
        assert_eq!(old.map(|k| of(512, k)), [65_536; 2]);
        assert_eq!(old.map(|k| of(255, k)), [65_407; 2]);
        for kernel in Kernel::ALL.into_iter().filter(|&k| k >= Kernel::V5_8) {
            assert_eq!([256, 512, 16_384].map(|gib| of(gib, kernel)), [65_536, 92_681, 262_144]);
        }
    }

    /// Worked by hand: eleven pageblocks of 512 pages for each of two zones, or a twentieth of 97,111
    /// pages above the high watermarks.
    #[test]
    fn huge_pages_as_worked_by_hand() {
        assert_eq!(min_free_kbytes_for_thp(2, 524_288, &V6_12), 2 * 11 * 512 * 4);
        assert_eq!(min_free_kbytes_for_thp(2, 97_111, &V6_12), 4855 * 4);
        let small = KernelRules { pageblock_order: 5, ..V6_12 };
        assert_eq!(min_free_kbytes_for_thp(2, 524_288, &small), 2 * 11 * 32 * 4);
        assert_eq!(min_free_kbytes_for_thp(0, 0, &V6_12), 0);
    }

    /// Worked by hand: a 1 GiB zone, a small one, a tiny one.
    #[test]
    fn pcp_batch_as_worked_by_hand() {
        for (most, batches) in [(256, [63, 31, 3, 0]), (128, [31, 31, 3, 0])] {
            assert_eq!([262_144, 131_072, 20_000, 3_000].map(|z| pcp_batch(z, most)), batches);
        }
    }

    /// Worked by hand: a 1 GiB zone with 1300 free pages passes at its low mark of 1286, and
    /// passes no more with 1286.
    #[test]
    fn a_mark_is_passed_by_more_than_it() {
        let mut zones = zones_of(&[(ZoneKind::Normal, 262_144)]);
        let z = &mut zones[ZoneId(0)];
        z.free = 1300;
        assert!(z.watermark_ok(Mark::Low, ZoneKind::Normal));
        assert!(!z.watermark_ok(Mark::High, ZoneKind::Normal));
        z.free = 1286;
        assert!(!z.watermark_ok(Mark::Low, ZoneKind::Normal));
        z.boost = 512;
        z.free = 1024 + 512;
        assert!(!z.watermark_ok(Mark::Min, ZoneKind::Normal), "every mark includes the boost");
    }

    const NONE: AllocFlags = AllocFlags {
        nofragment: false,
        min_reserve: false,
        non_block: false,
        highatomic: false,
        keeps_block: false,
        fair: false,
    };

    /// Worked by hand, in the same zone: a block of order 2 besides 1297 pages; and requests
    /// that cannot wait may go down to a min of 1024 - 512 - 128.
    #[test]
    fn orders_and_reserves_as_worked_by_hand() {
        let normal = ZoneKind::Normal;
        let mut zones = zones_of(&[(normal, 262_144)]);
        let z = &mut zones[ZoneId(0)];
        z.free = 1300;
        assert!(!z.allows(2, Mark::Low, normal, NONE), "no block at all");
        let mut frames = Frames::new(1 << 18, false);
        z.populate(&mut frames);
        z.free = 1290;
        assert!(z.allows(2, Mark::Low, normal, NONE), "1287 > 1286");
        z.free = 1289;
        assert!(!z.allows(2, Mark::Low, normal, NONE));
        let atomic = AllocFlags { min_reserve: true, non_block: true, ..NONE };
        z.free = 385;
        assert!(z.allows(0, Mark::Min, normal, atomic));
        z.free = 384;
        assert!(!z.allows(0, Mark::Min, normal, atomic));
        // A boost is no obstacle to them.
        (z.free, z.boost) = (385, 2000);
        assert!(z.allows(0, Mark::Min, normal, atomic));
        assert!(!z.allows(1, Mark::Min, normal, atomic));
    }

    /// A zone whose free blocks of orders 0 to 3 are these, none a buddy of another.
    fn with_blocks(nr: [u32; 4], form: WmarkForm) -> Zone {
        let mut zones = zones_of(&[(ZoneKind::Normal, 8192)]);
        let z = &mut zones[ZoneId(0)];
        let rules = KernelRules { wmark_form: form, max_order: 4, pageblock_order: 3, ..V6_12 };
        z.buddy = Buddy::new(Pfn(0), Pfn(8192), rules);
        let mut frames = Frames::new(8192, false);
        let mut next = 0;
        for (order, n) in (0..4).zip(nr).rev() {
            for _ in 0..n {
                z.buddy.free(&mut frames, Pfn(next), order);
                next += 2 << order;
            }
        }
        z.settle();
        z.lowmem_reserve = [0; 4];
        z.clone()
    }

    const V6_12: KernelRules = KernelRules::of(Kernel::V6_12);

    /// Worked by hand: a mark of 700 and a request of order 3. The old form takes off what is
    /// too small and halves the mark with each order.
    #[test]
    fn both_forms_of_the_watermark_test() {
        let ok = |nr, form| {
            let z = with_blocks(nr, form);
            z.leaves(3, 700, ZoneKind::Normal, NONE, z.free)
        };
        for (order3, want) in [(20, true), (10, false), (11, false), (12, true)] {
            assert_eq!(ok([600, 100, 50, order3], WmarkForm::PerOrder), want, "{order3}");
            assert!(ok([600, 100, 50, order3], WmarkForm::OneBlock));
        }
        assert!(!ok([600, 100, 50, 0], WmarkForm::OneBlock));
        assert!(!ok([200, 100, 50, 10], WmarkForm::OneBlock), "too few pages");
    }

    /// More free pages never turn a pass into a failure, nor does a lower mark.
    #[test]
    fn the_watermark_test_is_monotone() {
        for form in [WmarkForm::PerOrder, WmarkForm::OneBlock] {
            let z = with_blocks([100, 20, 10, 5], form);
            for order in 0..4 {
                for mark in 0..260 {
                    let ok = |mark, free| z.leaves(order, mark, ZoneKind::Normal, NONE, free);
                    assert!(!ok(mark + 1, z.free) || ok(mark, z.free), "{order}, {mark}");
                    assert!(!ok(mark, z.free) || ok(mark, z.free + 1), "{order}, {mark}");
                }
            }
        }
    }

    /// Worked by hand: a high watermark of 1548 and a factor of 15000 allow 2322; each attempt
    /// adds a pageblock.
    #[test]
    fn attempts_to_steal_boost_up_to_a_cap() {
        let mut zones = zones_of(&[(ZoneKind::Normal, 262_144)]);
        let z = &mut zones[ZoneId(0)];
        let after = |z: &mut Zone, n| {
            z.buddy.boosts = n;
            z.settle();
            z.boost
        };
        assert_eq!(after(z, 1), 512);
        assert_eq!(after(z, 3), 2048);
        assert_eq!(after(z, 1), 2322);
        assert!(z.take_boosted() && !z.take_boosted());
        // Zones of less than four pageblocks are never boosted.
        let mut zones = zones_of(&[(ZoneKind::Normal, 2047)]);
        assert_eq!(after(&mut zones[ZoneId(0)], 1), 0);
    }
}
