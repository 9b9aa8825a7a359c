//! The arithmetic of the classic LRU, apart from any machine.
//!
//! Three questions are answered by formula. *Is an inactive list long enough?* Its length is
//! compared with that of the active list ([`inactive_is_low`]). *How much of which list is
//! scanned?* Mode, fractions and targets come from list sizes, priority and what scanning did or
//! cost lately ([`scan_mode`], [`scan_targets`], [`adjust_round`]). *Did a page come back soon
//! enough to be kept?* Its refault distance is compared with a number of pages ([`ws_threshold`],
//! [`refault_distance`]).
//!
//! Lists are indexed as the kernel does: inactive and active anonymous, inactive and active file.
//! Sizes are in pages. Sources are named at each function; the worked numbers of the tests were
//! computed by hand.

use super::config::{AnonRatio, ScanRounding, WsThreshold};
use crate::index::{ANON, FILE, LruType, PerType};
use mmsim_core::base::settings::OrNumber::{self, Number, Word};
use mmsim_core::policy::{ANON_ONLY, SWAP_CLUSTER_MAX};

/// Index of the inactive anonymous list.
pub const INACTIVE_ANON: usize = 0;
/// Index of the active anonymous list.
pub const ACTIVE_ANON: usize = 1;
/// Index of the inactive file list.
pub const INACTIVE_FILE: usize = 2;
/// Index of the active file list.
pub const ACTIVE_FILE: usize = 3;

const PAGES_PER_GIB_SHIFT: u32 = 18;

/// One number per list.
pub type PerList = [u64; 4];

/// Number of active pages that may face one inactive page: 1 below 1 GiB of the type, else
/// floor(sqrt(10·GiB)).
///
/// The inactive list must be long enough to give pages a chance of a second reference. What that
/// takes grows slower than memory, so the inactive share falls: 1/2, 1/4 at 1 GiB, 1/11 at 10 GiB.
///
/// Linux 6.12 `inactive_is_low()`.
#[inline]
pub const fn inactive_ratio(inactive: u64, active: u64) -> u64 {
    let gib = (inactive + active) >> PAGES_PER_GIB_SHIFT;
    if gib == 0 { 1 } else { (10 * gib).isqrt() }
}

/// True if the active list should give pages to the inactive one.
#[inline]
pub const fn inactive_is_low(inactive: u64, active: u64) -> bool {
    inactive * inactive_ratio(inactive, active) < active
}

/// [`inactive_is_low`] of the anonymous lists under each rule.
#[inline]
pub const fn inactive_anon_is_low(rule: OrNumber<AnonRatio>, inactive: u64, active: u64) -> bool {
    match rule {
        Word(AnonRatio::Sqrt) => inactive_is_low(inactive, active),
        Word(AnonRatio::One) => inactive < active,
        Number(ratio) => inactive.saturating_mul(ratio as u64) < active,
    }
}

/// Shares of the scan work: each type gets its fraction of the denominator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fractions {
    /// Numerators for the anonymous and the file lists.
    pub fraction: PerType<u64>,
    /// Common denominator. Not always their sum.
    pub denominator: u64,
}

/// Memory of the rotate model: pages that were scanned or arrived lately, and those of them that
/// were worth keeping. A type that mostly rotates is left alone.
///
/// Linux 5.5 `struct zone_reclaim_stat`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RotateStat {
    /// Pages that were scanned or arrived, anonymous and file.
    pub scanned: PerType<u64>,
    /// Those of them that were kept or arrived active.
    pub rotated: PerType<u64>,
}

impl RotateStat {
    /// Pages of a type were scanned or arrived; `rotated` of them count as kept.
    #[inline]
    pub fn add(&mut self, page_type: LruType, scanned: u64, rotated: u64) {
        self.scanned[page_type] += scanned;
        self.rotated[page_type] += rotated;
    }

    /// Forgets half of a type's past once it exceeds a quarter of the type's pages. To be called
    /// before [`Self::fractions`], with both lists of each type together.
    #[inline]
    pub fn decay(&mut self, anon_pages: u64, file_pages: u64) {
        for (t, pages) in [(ANON, anon_pages), (FILE, file_pages)] {
            if self.scanned[t] > pages / 4 {
                self.scanned[t] /= 2;
                self.rotated[t] /= 2;
            }
        }
    }

    /// Fractions in proportion to priority and to scanned per rotated.
    ///
    /// Linux 5.5 `get_scan_count()`.
    #[inline]
    pub fn fractions(&self, swappiness: u64) -> Fractions {
        let [anon_prio, file_prio] = [swappiness, 200 - swappiness];
        let anon = anon_prio * (self.scanned[ANON] + 1) / (self.rotated[ANON] + 1);
        let file = file_prio * (self.scanned[FILE] + 1) / (self.rotated[FILE] + 1);
        Fractions { fraction: PerType::new([anon, file]), denominator: anon + file + 1 }
    }
}

/// Memory of the cost models: recent cost of reclaiming each type, in I/O and (6.12) in vain scans.
///
/// Linux 5.8 and later, `lru_note_cost()`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CostState {
    /// Cost of the anonymous and of the file lists.
    pub cost: PerType<u64>,
    /// Cost since the last pass began, in the model of 7.3.
    pub pending: PerType<u64>,
    /// The same that statistics of groups do not show yet.
    pub unseen: PerType<u64>,
}

impl CostState {
    /// Reclaiming a type cost `n`. Forgets half of the past, of both types, once the costs exceed a
    /// quarter of all pages on the four lists.
    ///
    /// An event of cost 0 is not nothing: reclaim reports every inactive batch, and the costs are
    /// compared with the list sizes each time. When the lists have shrunk, this halves.
    #[inline]
    pub fn add(&mut self, page_type: LruType, n: u64, pages_on_lists: u64) {
        self.cost[page_type] += n;
        if self.cost[ANON] + self.cost[FILE] > pages_on_lists / 4 {
            self.cost[ANON] /= 2;
            self.cost[FILE] /= 2;
        }
    }

    /// A pass begins, in the model of 7.3: what has been noted since the one before counts, and
    /// halves of both types are forgotten until the costs are a quarter of all pages on the four
    /// lists.
    ///
    /// Linux 7.3 `prepare_scan_control()`.
    #[inline]
    pub fn begin_pass(&mut self, pages_on_lists: u64) {
        for t in [ANON, FILE] {
            self.cost[t] += std::mem::take(&mut self.pending[t]);
        }
        while self.cost[ANON] + self.cost[FILE] > pages_on_lists / 4 {
            self.cost[ANON] /= 2;
            self.cost[FILE] /= 2;
        }
    }

    /// Statistics of groups are brought up to date.
    #[inline]
    pub fn show(&mut self) {
        for t in [ANON, FILE] {
            self.pending[t] += std::mem::take(&mut self.unseen[t]);
        }
    }

    /// Fractions in inverse proportion to cost, each cost taken with the total added, so that no
    /// type gets less than a third before swappiness.
    ///
    /// Linux 6.12 `get_scan_count()`.
    #[inline]
    pub fn fractions(&self, swappiness: u64) -> Fractions {
        let total = self.cost[ANON] + self.cost[FILE];
        let anon_cost = total + self.cost[ANON];
        let file_cost = total + self.cost[FILE];
        let total = anon_cost + file_cost;
        let anon = swappiness * (total + 1) / (anon_cost + 1);
        let file = (200 - swappiness) * (total + 1) / (file_cost + 1);
        Fractions { fraction: PerType::new([anon, file]), denominator: anon + file }
    }
}

/// The cost of I/O and vain scans in the model of 6.12: an I/O weighs as much as 32 pages kept.
#[inline]
pub const fn cost612(nr_io: u64, nr_rotated: u64) -> u64 {
    nr_io * SWAP_CLUSTER_MAX + nr_rotated
}

/// True if reclaim leaves anonymous pages alone because there are enough inactive file pages that
/// are not needed.
///
/// Linux 6.12 `prepare_scan_control()`; the exception of kswapd's second run is the caller's.
#[inline]
pub const fn cache_trim_mode(inactive_file: u64, priority: u32, may_deactivate_file: bool) -> bool {
    inactive_file >> priority > 0 && !may_deactivate_file
}

/// True if there is so little page cache that only anonymous pages are worth scanning. Global
/// reclaim only.
///
/// Without this rule a tiny, thrashing file list would look ever cheaper than anonymous pages.
/// Linux 6.12 `prepare_scan_control()`.
#[inline]
pub const fn file_is_tiny(
    file_pages: u64,
    free_pages: u64,
    high_watermarks: u64,
    inactive_anon: u64,
    priority: u32,
    may_deactivate_anon: bool,
) -> bool {
    file_pages + free_pages <= high_watermarks
        && !may_deactivate_anon
        && inactive_anon >> priority > 0
}

/// Which lists a pass scans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanMode {
    /// The file lists only.
    File,
    /// The anonymous lists only.
    Anon,
    /// Every list by its size.
    Equal,
    /// Every list by its size and its type's fraction.
    Fract,
}

/// Inputs of [`scan_mode`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScanModeInput {
    /// There is swap space left and this pass may use it.
    pub can_swap: bool,
    /// The pass works for a memory cgroup's limit.
    pub memcg_reclaim: bool,
    /// `vm.swappiness`, or [`ANON_ONLY`].
    pub swappiness: u64,
    /// 12 down to 0.
    pub priority: u32,
    /// [`file_is_tiny`].
    pub file_is_tiny: bool,
    /// [`cache_trim_mode`].
    pub cache_trim_mode: bool,
}

/// Which lists a pass scans; the first rule that applies decides.
///
/// Linux 6.12 `get_scan_count()`.
#[inline]
pub const fn scan_mode(i: ScanModeInput) -> ScanMode {
    if !i.can_swap || (i.memcg_reclaim && i.swappiness == 0) {
        ScanMode::File
    } else if i.swappiness == ANON_ONLY as u64 {
        ScanMode::Anon
    } else if i.priority == 0 && i.swappiness > 0 {
        // Close to out of memory: no cleverness, unless swapping was forbidden.
        ScanMode::Equal
    } else if i.file_is_tiny {
        ScanMode::Anon
    } else if i.cache_trim_mode {
        ScanMode::File
    } else {
        ScanMode::Fract
    }
}

/// Number of pages of a list of `size` that one pass looks at: one in 2^`priority`.
///
/// Priority starts at 12, so a first pass sees one page in 4096 and shorter lists are left alone.
#[inline]
pub const fn scan_base(size: u64, priority: u32) -> u64 {
    size >> priority
}

/// [`scan_base`] in a memory cgroup that is protected up to `protection` pages and uses `usage`:
/// the protected share is not counted, but at least 32 pages are, before the priority.
///
/// Linux 6.12. (The `+ 1` came after 5.9; it matters only when everything is protected.) As in the
/// kernel, a protection of `max` times a list of 8,192 pages or more overflows 64 bits and wraps.
#[inline]
pub const fn scan_base_protected(size: u64, priority: u32, protection: u64, usage: u64) -> u64 {
    let usage = if usage > protection { usage } else { protection };
    let scan = size - size.wrapping_mul(protection) / (usage + 1);
    (if scan > SWAP_CLUSTER_MAX { scan } else { SWAP_CLUSTER_MAX }) >> priority
}

/// Numbers of pages of each list that a pass shall scan, given the [`scan_base`] of each.
/// `fractions` matter in mode [`ScanMode::Fract`] only.
#[inline]
pub fn scan_targets(
    mode: ScanMode,
    base: PerList,
    fractions: Fractions,
    rounding: ScanRounding,
) -> PerList {
    let target = |list: usize| {
        if base[list] == 0 {
            return 0;
        }
        let page_type = LruType::of(list >= INACTIVE_FILE);
        match mode {
            ScanMode::Equal => base[list],
            ScanMode::File => base[list] * u64::from(page_type == FILE),
            ScanMode::Anon => base[list] * u64::from(page_type == ANON),
            ScanMode::Fract => {
                let share = base[list] * fractions.fraction[page_type];
                rounding.of(share, fractions.denominator)
            }
        }
    };
    [target(0), target(1), target(2), target(3)]
}

impl ScanRounding {
    /// A list's part of the scan work.
    #[inline(always)]
    pub(super) const fn of(self, share: u64, denominator: u64) -> u64 {
        match self {
            ScanRounding::Up => share.div_ceil(denominator),
            ScanRounding::Down => share / denominator,
        }
    }
}

/// Result of [`adjust_round`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoundEnd {
    /// One type has no work left: the pass over this lruvec ends.
    Stop,
    /// The smaller type was given up and the larger one reduced.
    Adjusted,
}

/// Once enough was reclaimed: gives up the type with less work left (file if equal) and reduces the
/// other to the share of its target that the first had done when it stopped, so that the work done
/// of both types keeps the proportion of the targets.
///
/// `nr` is what remains per list, `targets` what it was at the start. Linux 6.12 `shrink_lruvec()`.
#[inline]
pub fn adjust_round(nr: &mut PerList, targets: &PerList) -> RoundEnd {
    let anon = nr[INACTIVE_ANON] + nr[ACTIVE_ANON];
    let file = nr[INACTIVE_FILE] + nr[ACTIVE_FILE];
    if anon == 0 || file == 0 {
        return RoundEnd::Stop;
    }
    const ANON_LISTS: [usize; 2] = [INACTIVE_ANON, ACTIVE_ANON];
    const FILE_LISTS: [usize; 2] = [INACTIVE_FILE, ACTIVE_FILE];
    let (smaller, left, larger) =
        if file > anon { (ANON_LISTS, anon, FILE_LISTS) } else { (FILE_LISTS, file, ANON_LISTS) };
    let percent = left * 100 / (smaller.iter().map(|&l| targets[l]).sum::<u64>() + 1);
    smaller.iter().for_each(|&l| nr[l] = 0);
    for list in larger {
        let done = targets[list] - nr[list];
        nr[list] = (targets[list] * (100 - percent) / 100).saturating_sub(done);
    }
    RoundEnd::Adjusted
}

/// Mask for [`refault_distance`] when shadows hold the whole age.
pub const WHOLE_AGE: u64 = u64::MAX;

/// Advance of the age while a page was out: the additional memory that would have kept it.
///
/// Exact across an overflow of the age as long as the true distance fits the mask, which has a bit
/// for each bit that the shadow keeps.
#[inline]
pub const fn refault_distance(age: u64, age_at_eviction: u64, mask: u64) -> u64 {
    age.wrapping_sub(age_at_eviction) & mask
}

/// Inputs of [`ws_threshold`], at the level whose limit evicted the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThresholdInput {
    /// The refaulting page is a file page.
    pub is_file: bool,
    /// Sizes of the lists.
    pub lists: PerList,
    /// Swap space is left.
    pub swap_left: bool,
    /// Reclaimable slab pages: what the index slip of the first posting reads for file pages.
    pub slab_reclaimable: u64,
}

/// The largest refault distance that still activates.
///
/// A page is worth keeping if the pages it would have to displace, those that are not on its own
/// inactive list, are fewer than would have to leave for it to stay. The releases differ in whom it
/// may challenge.
///
/// With `v1_index_bug` a page's threshold is read two entries past the right one in the node's
/// statistics: the active file list for an anonymous page, reclaimable slab for a file page.
///
/// Linux 6.12 `workingset_test_recent()`, and the postings of the series.
#[inline]
pub const fn ws_threshold(rule: WsThreshold, v1_index_bug: bool, i: ThresholdInput) -> u64 {
    let [inactive_anon, active_anon, inactive_file, active_file] = i.lists;
    match rule {
        WsThreshold::ActiveOwnType if v1_index_bug && i.is_file => i.slab_reclaimable,
        WsThreshold::ActiveOwnType if v1_index_bug => active_file,
        WsThreshold::ActiveFile => active_file,
        WsThreshold::ActiveOwnType if i.is_file => active_file,
        WsThreshold::ActiveOwnType => active_anon,
        WsThreshold::V5_8 => {
            active_file + if i.swap_left { inactive_anon + active_anon } else { 0 }
        }
        WsThreshold::OwnInactive if i.is_file => inactive_file,
        WsThreshold::OwnInactive => inactive_anon,
        WsThreshold::V5_9 => {
            let file = active_file + if i.is_file { 0 } else { inactive_file };
            let anon = active_anon + if i.is_file { inactive_anon } else { 0 };
            file + if i.swap_left { anon } else { 0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << PAGES_PER_GIB_SHIFT;

    #[test]
    fn ratio_follows_the_root_of_the_size() {
        let expected = [
            (0, 1),
            (1, 3),
            (2, 4),
            (3, 5),
            (4, 6),
            (10, 10),
            (40, 20),
            (100, 31),
            (1024, 101),
            (10240, 320),
        ];
        for (gib, ratio) in expected {
            assert_eq!(inactive_ratio(gib * GIB, 0), ratio, "{gib} GiB");
            assert_eq!(inactive_ratio(0, gib * GIB), ratio, "{gib} GiB");
        }
        assert_eq!(inactive_ratio(1, 262_142), 1);
        assert_eq!(inactive_ratio(65_536, 196_608), 3);
    }

    /// A cost that statistics do not show yet is none: at swappiness 60 anonymous memory has 60 of 200.
    /// One of 100 that they show makes it 60 * 301 / 201 = 89 of 89 + 140 * 301 / 101 = 417.
    #[test]
    fn a_cost_counts_when_statistics_show_it() {
        let unseen = PerType::new([100, 0]);
        let mut c = CostState { unseen, ..Default::default() };
        c.begin_pass(10_000);
        let share = |c: &CostState| {
            let f = c.fractions(60);
            (f.fraction[ANON] * 1000 / f.denominator) as u32
        };
        assert_eq!(share(&c), 300);
        c.show();
        c.begin_pass(10_000);
        assert_eq!((c.cost[ANON], share(&c)), (100, 89_000 / (89 + 417)));
    }

    /// Two passes over 10,000 pages at swappiness 60, worked by hand. First 100 anonymous pages and 40
    /// file pages were looked at in vain, 3 and 10 came back as workingset, 20 were written. Before the
    /// second 2,000, 60 and 100, of anonymous pages only.
    #[test]
    fn costs_of_7_3_count_from_the_next_pass_on() {
        let mut c = CostState {
            pending: PerType::new([cost612(3 + 20, 100), cost612(10, 40)]),
            ..Default::default()
        };
        assert_eq!(c.fractions(60).denominator, 200, "nothing counts yet");
        c.begin_pass(10_000);
        assert_eq!(c.cost, PerType::new([836, 360]));
        assert_eq!(c.fractions(60).fraction, PerType::new([105, 322]));
        c.pending = PerType::new([cost612(60 + 100, 2000), 0]);
        c.begin_pass(10_000);
        assert_eq!(c.cost, PerType::new([1989, 90]));
        assert_eq!(c.fractions(60).fraction, PerType::new([91, 402]));
    }

    #[test]
    fn low_is_strict() {
        assert!(!inactive_is_low(65_536, 196_608));
        assert!(inactive_is_low(65_535, 196_609));
        assert!(!inactive_is_low(50, 50) && inactive_is_low(49, 50));
        assert!(inactive_anon_is_low(Word(AnonRatio::One), 65_536, 196_608));
        assert!(!inactive_anon_is_low(Word(AnonRatio::Sqrt), 65_536, 196_608));
    }

    const SIZES: PerList = [40_000, 60_000, 20_000, 10_000];

    fn targets(f: Fractions, rounding: ScanRounding) -> PerList {
        scan_targets(ScanMode::Fract, SIZES.map(|s| scan_base(s, 6)), f, rounding)
    }

    fn stat(scanned: [u64; 2], rotated: [u64; 2]) -> RotateStat {
        RotateStat { scanned: PerType::new(scanned), rotated: PerType::new(rotated) }
    }

    #[test]
    fn rotate_model_spares_what_rotates() {
        assert_eq!(SIZES.map(|s| scan_base(s, 6)), [625, 937, 312, 156]);
        let s = stat([1000, 2000], [1000, 200]);
        let f = s.fractions(60);
        assert_eq!(f, Fractions { fraction: PerType::new([60, 1393]), denominator: 1454 });
        assert_eq!(targets(f, ScanRounding::Up), [26, 39, 299, 150]);
        let s = stat([1000, 2000], [100, 200]);
        let f = s.fractions(60);
        assert_eq!(f, Fractions { fraction: PerType::new([594, 1393]), denominator: 1988 });
        assert_eq!(targets(f, ScanRounding::Up), [187, 280, 219, 110]);
    }

    #[test]
    fn rotate_model_forgets_each_type_on_its_own() {
        let mut s = stat([1000, 2000], [800, 200]);
        s.decay(3000, 8000);
        assert_eq!(s, stat([500, 2000], [400, 200]));
        s.decay(2000, 7999);
        assert_eq!(s, stat([500, 1000], [400, 100]));
    }

    #[test]
    fn cost_model_scans_what_was_cheap() {
        let cases = [
            ([0, 0], [60, 140], [187, 281, 218, 109]),
            ([100, 300], [143, 239], [233, 350, 195, 97]),
            ([0, 1000], [179, 209], [288, 432, 168, 84]),
            ([1000, 0], [89, 419], [109, 164, 257, 128]),
        ];
        for (cost, fraction, expected) in cases {
            let f = CostState { cost: PerType::new(cost), ..Default::default() }.fractions(60);
            assert_eq!(*f.fraction.raw(), fraction, "{cost:?}");
            assert_eq!(f.denominator, fraction[0] + fraction[1]);
            assert_eq!(targets(f, ScanRounding::Down), expected, "{cost:?}");
        }
    }

    #[test]
    fn cost_model_forgets_both_types_together() {
        let mut c = CostState::default();
        for (t, n, expected) in [
            (FILE, 100, [0, 100]),
            (ANON, 100, [100, 100]),
            (FILE, 60, [50, 80]),
            (ANON, 32, [82, 80]),
        ] {
            c.add(t, n, 1000);
            assert_eq!(*c.cost.raw(), expected);
        }
        c.add(ANON, 0, 640);
        assert_eq!(*c.cost.raw(), [41, 40]);
        assert_eq!(cost612(2, 5), 69);
    }

    #[test]
    fn first_rule_decides_the_mode() {
        let fract = ScanModeInput {
            can_swap: true,
            memcg_reclaim: false,
            swappiness: 60,
            priority: 12,
            file_is_tiny: false,
            cache_trim_mode: false,
        };
        let tiny = ScanModeInput { file_is_tiny: true, cache_trim_mode: true, ..fract };
        let zero = ScanModeInput { priority: 0, ..tiny };
        assert_eq!(scan_mode(fract), ScanMode::Fract);
        assert_eq!(scan_mode(ScanModeInput { can_swap: false, ..zero }), ScanMode::File);
        assert_eq!(scan_mode(ScanModeInput { cache_trim_mode: true, ..fract }), ScanMode::File);
        assert_eq!(scan_mode(tiny), ScanMode::Anon);
        assert_eq!(scan_mode(zero), ScanMode::Equal);
        assert_eq!(scan_mode(ScanModeInput { swappiness: 0, ..zero }), ScanMode::Anon);
        assert_eq!(
            scan_mode(ScanModeInput { swappiness: 0, memcg_reclaim: true, ..zero }),
            ScanMode::File
        );
        let f = Fractions { fraction: PerType::new([1, 0]), denominator: 1 };
        let base = [1, 2, 3, 4];
        assert_eq!(scan_targets(ScanMode::File, base, f, ScanRounding::Up), [0, 0, 3, 4]);
        assert_eq!(scan_targets(ScanMode::Anon, base, f, ScanRounding::Up), [1, 2, 0, 0]);
        assert_eq!(scan_targets(ScanMode::Equal, base, f, ScanRounding::Up), base);
    }

    #[test]
    fn trim_and_tiny_need_closed_active_lists() {
        assert!(cache_trim_mode(4096, 12, false));
        assert!(!cache_trim_mode(4095, 12, false) && !cache_trim_mode(4096, 12, true));
        assert!(file_is_tiny(40, 60, 100, 4096, 12, false));
        assert!(!file_is_tiny(41, 60, 100, 4096, 12, false));
        assert!(!file_is_tiny(40, 60, 100, 4095, 12, false));
        assert!(!file_is_tiny(40, 60, 100, 4096, 12, true));
    }

    #[test]
    fn protection_leaves_at_least_a_cluster() {
        assert_eq!(scan_base_protected(1000, 0, 500, 999), 500);
        assert_eq!(scan_base_protected(1000, 2, 500, 999), 125);
        assert_eq!(scan_base_protected(1000, 0, 2000, 1000), 32);
        assert_eq!(scan_base_protected(1000, 6, 2000, 1000), 0);
    }

    /// By hand: 45,000 times 2^51 - 1 is 4040 times 2^51 - 45,000 modulo 2^64, and a quotient of
    /// 4039. A list of 8,000 pages does not overflow.
    #[test]
    fn a_protection_of_max_wraps_as_in_the_kernel() {
        let max = mmsim_core::config::PAGE_COUNTER_MAX;
        assert_eq!(max, (1 << 51) - 1);
        assert_eq!(scan_base_protected(8000, 0, max, 8000), 32);
        assert_eq!(scan_base_protected(45_000, 0, max, 45_000), 45_000 - 4039);
    }

    /// Worked by hand, at priorities 12, 10 and so on down to 0: size, protection and usage.
    #[test]
    fn protected_lists_are_scanned_less() {
        let at = |size, protection, usage| {
            [12, 10, 8, 6, 4, 2, 0].map(|p| scan_base_protected(size, p, protection, usage))
        };
        assert_eq!(at(2000, 3333, 4000), [0, 0, 1, 5, 20, 83, 334]);
        assert_eq!(at(4000, 1666, 5000), [0, 2, 10, 41, 166, 667, 2668]);
        let whole = 262_144;
        let half = at(whole, 131_072, whole);
        assert_eq!(half, [32, 128, 512, 2048, 8192, 32_768, 131_073]);
        assert_eq!(at(whole, 235_930, whole), [6, 25, 102, 409, 1638, 6553, 26_215]);
        // In a low round a small list of a group with `memory.low` counts as a cluster still.
        assert_eq!([0, 1].map(|p| scan_base_protected(10, p, 0, 10)), [32, 16]);
    }

    #[test]
    fn adjustment_keeps_the_proportion_of_the_targets() {
        // One round of 32 each: 93 + 243 anonymous pages remain of 400, 168 + 68 file pages of 300.
        let targets = [125, 275, 200, 100];
        let mut nr = [93, 243, 168, 68];
        // 236 · 100 / 301 = 78 percent of the file work is dropped, so 22 percent of each anonymous
        // target is to be done: 27 (32 are done) and 60 (32 are done).
        assert_eq!(adjust_round(&mut nr, &targets), RoundEnd::Adjusted);
        assert_eq!(nr, [0, 28, 0, 0]);
        assert_eq!(adjust_round(&mut nr, &targets), RoundEnd::Stop);
        // Equal remainders: file is given up. Nothing of it was done, but the divisor rounds down.
        let mut nr = [100, 0, 100, 0];
        assert_eq!(adjust_round(&mut nr, &[100, 0, 100, 0]), RoundEnd::Adjusted);
        assert_eq!(nr, [1, 0, 0, 0]);
    }

    #[test]
    fn distance_survives_overflow() {
        assert_eq!(refault_distance(3, 1, WHOLE_AGE), 2);
        assert_eq!(refault_distance(2, u64::MAX - 1, WHOLE_AGE), 4);
        let bits31 = (1 << 31) - 1;
        assert_eq!(refault_distance((1 << 31) + 1, bits31 - 2, bits31), 4);
    }

    #[test]
    fn thresholds_widen_with_the_releases() {
        let lists = [500, 300, 40, 100];
        let w = |rule, is_file, swap_left| {
            let i = ThresholdInput { is_file, lists, swap_left, slab_reclaimable: 7 };
            ws_threshold(rule, false, i)
        };
        assert_eq!(w(WsThreshold::ActiveFile, true, true), 100);
        assert_eq!(w(WsThreshold::ActiveOwnType, false, true), 300);
        assert_eq!(w(WsThreshold::ActiveOwnType, true, true), 100);
        assert_eq!(w(WsThreshold::V5_8, true, true), 900);
        assert_eq!(w(WsThreshold::OwnInactive, false, true), 500);
        assert_eq!(w(WsThreshold::OwnInactive, true, false), 40);
        assert_eq!(w(WsThreshold::V5_9, false, true), 440);
        assert_eq!(w(WsThreshold::V5_9, true, true), 900);
        assert_eq!(w(WsThreshold::V5_9, true, false), 100);
        assert_eq!(w(WsThreshold::V5_9, false, false), 140);
        for (is_file, expected) in [(false, 100), (true, 7)] {
            let i = ThresholdInput { is_file, lists, swap_left: true, slab_reclaimable: 7 };
            assert_eq!(ws_threshold(WsThreshold::ActiveOwnType, true, i), expected);
        }
    }
}
