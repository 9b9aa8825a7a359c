//! A witness for every knob: two runs of the whole machine that differ in this knob only, the
//! direction in which the results have to differ, why, and by how much at least.
//!
//! Machines have some hundred frames and, unless the test sets them, LRU batches of one page.
//! `activate` in a script is two accesses by the kernel itself, which put a page on the active list
//! whatever the rules for mapped accesses say.

use crate::harness::memory::{Bench, small_machine};
use crate::harness::{self, Policy, Ran, Steps};
use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::base::id::NodeId;
use mmsim_core::base::time::SimDuration;
use mmsim_core::base::vmstat::VmEvent::*;
use mmsim_core::config::{DirtyLimit, Kernel, MachineConfig, MemcgConfig};
use mmsim_core::phys::frames::flag;
use mmsim_core::policy::Reclaimer;
use mmsim_core::workload::Advice;
use mmsim_lru::config::{ClassicConfig, KnobError, Settings as _, WsThreshold};

/// Protection and detection as first posted on 5.5, with the repaired threshold.
const POSTED: ClassicConfig = ClassicConfig { ws_v1_index_bug: false, ..ClassicConfig::SEED_8 };

/// The same run with two values of one knob.
fn pair(
    machine: &MachineConfig,
    base: ClassicConfig,
    knob: &str,
    values: [&str; 2],
    scripts: &[Steps],
) -> [Ran; 2] {
    values.map(|value| {
        let mut config = base;
        config.set(knob, value).unwrap();
        config.validate().unwrap();
        harness::run(machine, Policy::Classic(config), scripts)
    })
}

/// 300 frames, swap in RAM, batches of 32.
fn ram() -> MachineConfig {
    small_machine(300, 1200, 0)
}

/// The same page by page.
fn fine() -> MachineConfig {
    small_machine(300, 1200, 5)
}

/// Swap on a device with a queue, so that pages go through the swap cache.
fn queued() -> MachineConfig {
    let mut m = ram();
    m.swap[0].device = DeviceConfig::preset("nvme", 1).unwrap();
    m
}

/// 100 hot pages on the active list, then rounds over 150 pages that are wanted again and 100 that
/// are not. Less than 190 inactive pages fit beside the hot ones, so the 150 are evicted too early,
/// by some 60 pages: within reach of the 100.
fn refaulting(rounds: u32) -> Steps {
    Steps::new()
        .map(0, 1300)
        .activate(0, 0..100)
        .each(0..rounds, |s, k| s.write(0, 100..250).write(0, 300 + 70 * k..400 + 70 * k))
}

/// A fresh page shares its inactive list with 3 active pages at most in a gigabyte by `sqrt`, with
/// one by `one`. Of 270000 pages 100000 are deactivated by advice: 3 · 100000 ≥ 170000, so by
/// `sqrt` the inactive list is long enough and nothing is demoted; by `one` it is short, and each
/// pass demotes. The numbers 3 and 1 say the same.
#[test]
fn anon_ratio() {
    let machine = small_machine(285_000, 100_000, 0);
    let s = Steps::new().map(0, 270_000).map(1, 20_000).write(0, 0..270_000);
    let s = s.advise(0, 0..100_000, Advice::Cold).phase().write(1, 0..20_000).phase();
    for values in [["sqrt", "one"], ["3", "1"]] {
        let scripts = [s.clone()];
        let [three, one] = pair(&machine, ClassicConfig::V5_5, "anon-ratio", values, &scripts);
        assert_eq!(three.in_phase(1, PgRefill), 0);
        assert!(one.in_phase(1, PgRefill) > 1000, "{}", one.in_phase(1, PgRefill));
    }
}

/// Pages used once push active pages out only if they start active: 100 hot pages are wanted after
/// 400 others were written. Started active, those take the hot pages' place in the list, and all
/// hot pages are gone; started inactive, they replace one another.
#[test]
fn anon_start() {
    let s = Steps::new().map(0, 500).activate(0, 0..100).write(0, 100..500).phase();
    let s = s.write(0, 0..100).phase();
    let base = ClassicConfig::V5_8_PROT;
    let [active, inactive] = pair(&ram(), base, "anon-start", ["active", "inactive"], &[s]);
    assert_eq!(active.in_phase(1, PswpIn), 100);
    assert!(inactive.in_phase(1, PswpIn) <= 50, "{}", inactive.in_phase(1, PswpIn));
}

/// With room enough for no scan to interfere, 100 pages are read back from swap: each is activated
/// once it is mapped, or none.
#[test]
fn swapin_activate() {
    let s = Steps::new().map(0, 400).map(1, 100).write(1, 0..100).write(0, 0..400).unmap(0);
    let s = s.phase().write(1, 0..100).phase();
    let [yes, no] = pair(&ram(), ClassicConfig::V5_5, "swapin-activate", ["yes", "no"], &[s]);
    assert_eq!((yes.in_phase(1, PswpIn), yes.in_phase(1, PgActivate)), (100, 100));
    assert_eq!((no.in_phase(1, PswpIn), no.in_phase(1, PgActivate)), (100, 0));
}

/// New pages are young when the first scan meets them. One touch: they are activated, none is kept.
/// Two touches: they are kept, and none is activated, as they are not touched again.
#[test]
fn anon_ref_rule() {
    let s = Steps::new().map(0, 600).write(0, 0..600);
    let base = ClassicConfig::V5_8_PROT;
    let values = ["one-touch", "mapped-file-rule"];
    let [one, two] = pair(&ram(), base, "anon-ref-rule", values, &[s]);
    assert_eq!(one.n(SimScanKeep), 0);
    assert!(one.n(PgActivate) > 250, "{}", one.n(PgActivate));
    assert_eq!(two.n(PgActivate), 0);
    assert!(two.n(SimScanKeep) > 250, "{}", two.n(SimScanKeep));
}

/// 200 hot pages are touched while active, then demoted by a flood of new pages. With their young
/// bits they are kept by the first inactive scan; without, it evicts them. Wanted again soon,
/// fewer are missing.
#[test]
fn anon_demote_clears_young() {
    let s = Steps::new().map(0, 600).activate(0, 0..200).write(0, 200..500).phase();
    let s = s.write(0, 0..200).phase();
    let knob = "anon-demote-clears-young";
    let [yes, no] = pair(&ram(), POSTED, knob, ["yes", "no"], &[s]);
    let (cleared, left) = (yes.in_phase(1, PswpIn), no.in_phase(1, PswpIn));
    assert!(left + 16 <= cleared, "{left} {cleared}");
}

/// An activated anonymous refault says that the active list holds colder pages: with counters of
/// its own it opens that list although the inactive one is long enough. Without, it opens the list
/// of file pages, of which there are none.
#[test]
fn ws_split() {
    let s = Steps::new().map(0, 1000).activate(0, 0..70);
    let s = s.write(0, 100..140).write(0, 200..390).write(0, 100..140).write(0, 500..600);
    let base = ClassicConfig::V5_9;
    let [yes, no] = pair(&ram(), base, "ws-split", ["yes", "no"], &[s]);
    assert!(yes.n(WorkingsetActivateAnon) >= 20, "{}", yes.n(WorkingsetActivateAnon));
    let (opened, closed) = (yes.n(PgDeactivate), no.n(PgDeactivate));
    assert_eq!(closed, 0);
    assert!(opened >= 8, "{opened}");
}

/// There are no file pages, so a threshold of active file pages is 0 and no refault is in time;
/// with the active anonymous pages some are.
#[test]
fn ws_threshold() {
    let base = ClassicConfig::V5_9;
    let values = ["active-file", "v5.9"];
    let [file, all] = pair(&ram(), base, "ws-threshold", values, &[refaulting(8)]);
    assert!(file.n(WorkingsetRefaultAnon) > 500, "{}", file.n(WorkingsetRefaultAnon));
    assert_eq!(file.n(WorkingsetActivateAnon), 0);
    assert!(all.n(WorkingsetActivateAnon) > 50, "{}", all.n(WorkingsetActivateAnon));
}

/// 190 pages are inactive, 100 active. What comes back after some 60 to 190 evictions would fit onto
/// the inactive list, and only a part of it onto the active one: more is activated by MGLRU's rule.
#[test]
fn ws_threshold_of_mglru() {
    let values = ["v5.9", "own-inactive"];
    let base = ClassicConfig::V5_9;
    let [all, own] = pair(&ram(), base, "ws-threshold", values, &[refaulting(8)]);
    let [all, own] = [all, own].map(|r| r.n(WorkingsetActivateAnon));
    assert!(own > all + 50, "{own} {all}");
}

/// 60 pages are used in each round, between 60 that are new. At the tail a page is met when it has
/// not been used for long, so none is activated. Walks meet it in each round: two of them activate
/// it, and it stays. Pages that came together have the same neighbours: who looks around takes
/// their accessed bits with the first of them, so few are kept for a second look.
#[test]
fn bits_found() {
    let s = Steps::new().map(0, 1200).write(0, 0..60);
    let s = s.each(0..12, |s, k| s.write(0, 300 + 60 * k..360 + 60 * k).write(0, 0..60));
    let of = |value: &str| {
        pair(&ram(), ClassicConfig::V5_9, "bits-found", ["tail", value], std::slice::from_ref(&s))
    };
    let [tail, walk] = of("walk").map(|r| (r.n(PgActivate), r.n(PswpIn)));
    assert_eq!(tail.0, 0);
    assert!(walk.0 >= 50 && walk.1 + 100 < tail.1, "{walk:?} {tail:?}");
    let [tail, around] = of("around").map(|r| (r.n(SimScanKeep), r.n(PswpIn)));
    assert!(around.0 * 4 < tail.0 && around.1 < tail.1, "{around:?} {tail:?}");
}

/// The wrong statistic is that of active file pages: as above.
#[test]
fn ws_v1_index_bug() {
    let [yes, no] = pair(&ram(), POSTED, "ws-v1-index-bug", ["yes", "no"], &[refaulting(8)]);
    assert!(yes.n(WorkingsetRefaultAnon) > 500);
    assert_eq!(yes.n(WorkingsetActivateAnon), 0);
    assert!(no.n(WorkingsetActivateAnon) > 50, "{}", no.n(WorkingsetActivateAnon));
}

/// Pages read ahead that stay unused leave without a shadow, if such pages are skipped: when they
/// are wanted after all, no refault is seen. Two of eight pages are wanted at first, all later.
#[test]
fn evict_without_memcg() {
    let s = Steps::new()
        .map(0, 800)
        .write(0, 0..800)
        .each((1..600).step_by(8), |s, p| s.write(0, p..p + 2));
    let s = s.write(0, 0..800);
    let values = ["count", "skip"];
    let [count, skip] = pair(&queued(), ClassicConfig::V5_9, "evict-without-memcg", values, &[s]);
    assert!(count.n(SwapRa) > 100, "{}", count.n(SwapRa));
    let (all, some) = (count.n(WorkingsetRefaultAnon), skip.n(WorkingsetRefaultAnon));
    assert!(some + 50 < all, "{some} {all}");
}

/// Without shadows there are no anonymous refaults, and nothing to promote; with them the pages
/// that came back a little late are kept, and come back less often.
#[test]
fn anon_workingset() {
    let base = ClassicConfig::V5_9;
    let [yes, no] = pair(&ram(), base, "anon-workingset", ["yes", "no"], &[refaulting(12)]);
    assert_eq!(no.n(WorkingsetRefaultAnon), 0);
    assert!(yes.n(WorkingsetActivateAnon) > 50);
    assert!(yes.n(PswpIn) * 10 < no.n(PswpIn) * 9, "{} {}", yes.n(PswpIn), no.n(PswpIn));
}

/// Each promotion by the inactive scan is one step of the age, or none. 120 pages are touched
/// between scans until they are promoted.
#[test]
fn age_on_scan_activation() {
    let s = Steps::new()
        .map(0, 2000)
        .each(0..20u32, |s, k| s.write(0, 0..120).write(0, 200 + 60 * k..260 + 60 * k));
    let [yes, no] = pair(&ram(), POSTED, "age-on-scan-activation", ["yes", "no"], &[s]);
    // Else evictions and activated refaults are all that ages.
    let others = |r: &Ran| r.n(PgStealAnon) + r.n(WorkingsetActivateAnon);
    assert_eq!(no.value("age_anon"), others(&no));
    assert_eq!(yes.value("age_anon"), others(&yes) + yes.n(PgActivate));
    assert!(yes.n(PgActivate) > 50, "{}", yes.n(PgActivate));
}

/// New anonymous pages count as scanned; if they count as rotated as well, their type seems worth
/// keeping and is scanned less in proportion. New pages are used once beside a hot file: if they
/// alone seem cheap, the file is left in peace; if they do not, the scans turn to the file.
#[test]
fn new_anon_rotated() {
    let s = Steps::with_file(600)
        .map(0, 1200)
        .each(0..20u32, |s, k| s.write(0, 50 * k..50 * k + 50).read_file(0..120).read_file(0..120));
    let base = ClassicConfig { age_on_scan_activation: false, ..POSTED };
    let values = ["by-active", "forced"];
    let [by_active, forced] = pair(&ram(), base, "new-anon-rotated", values, &[s]);
    let files = |r: &Ran| r.n(PgScanFile);
    assert!(files(&by_active) * 4 < files(&forced), "{} {}", files(&by_active), files(&forced));
}

/// As posted, whatever comes behind a new anonymous page in its batch counts as rotated too: here
/// pages of a file that are read once, fourteen in a batch of 15. Repaired, none of them does.
#[test]
fn new_anon_rotated_as_posted_leaks() {
    let s = Steps::with_file(100).map(0, 10).write(0, 0..1).read_file(0..60);
    let machine = MachineConfig { lru_batch: Some(15), ..ram() };
    let values = ["forced", "forced-leaky"];
    let [repaired, posted] = pair(&machine, POSTED, "new-anon-rotated", values, &[s]);
    let files = |r: &Ran| r.value("recent_rotated_file");
    assert_eq!(files(&repaired), 0);
    assert_eq!(files(&posted), 14);
}

/// A page that came through the swap cache carries the mark out again: its next activated refault
/// counts as restored although it never was active.
#[test]
fn swapin_sets_workingset() {
    let base = ClassicConfig::V5_9;
    let knob = "swapin-sets-workingset";
    let [yes, no] = pair(&queued(), base, knob, ["yes", "no"], &[refaulting(12)]);
    let (marked, unmarked) = (yes.n(WorkingsetRestoreAnon), no.n(WorkingsetRestoreAnon));
    assert!(marked >= unmarked + 20, "{marked} {unmarked}");
}

/// Between two reads of a file page anonymous pages are evicted. If they age the file's refaults,
/// the distances are longer than the active file list, else they are not.
#[test]
fn age_model() {
    let s = Steps::with_file(400)
        .map(0, 2000)
        .read_file(0..60)
        .read_file(0..60)
        .each(0..12u32, |s, k| s.read_file(100..220).write(0, 90 * k..90 * k + 90));
    let base = ClassicConfig { ws_threshold: WsThreshold::ActiveFile, ..ClassicConfig::V5_8 };
    let [own, both] = pair(&ram(), base, "age-model", ["file-only", "unified"], &[s]);
    let (own_age, both_age) = (own.value("age_file"), both.value("age_anon"));
    assert!(own_age * 10 < both_age * 8, "{own_age} {both_age}");
}

/// Reading from swap costs in 5.8 whatever the page was; in 5.9 it costs only if a page of the
/// working set came back. Pages that were never active thrash beside a file: 5.8 notices, turns to
/// the file and swaps less.
#[test]
fn balance_model() {
    let s = Steps::with_file(400)
        .map(0, 400)
        .each(0..12, |s, _| s.write(0, 0..200).read_file(0..200).read_file(0..200));
    let values = ["cost-5.8", "cost-5.9"];
    let [v58, v59] = pair(&ram(), ClassicConfig::V5_9, "balance-model", values, &[s]);
    assert!(v58.n(PswpOut) * 20 < v59.n(PswpOut) * 19, "{} {}", v58.n(PswpOut), v59.n(PswpOut));
}

/// kswapd meets a dirty file page again while many are dirty: it writes the page, or leaves it to the
/// flusher.
#[test]
fn file_writeout() {
    let written = |file_writeout| {
        let config = ClassicConfig { file_writeout, ..ClassicConfig::V6_12 };
        let mut b = Bench::new(config, 4000, 0);
        (0..200).for_each(|id| b.read_file(id));
        (0..200).for_each(|id| b.dirty(id));
        for id in 0..200 {
            let folio = b.folio(id, true).expect("it was read");
            b.mem.frames.set(folio, flag::RECLAIM);
        }
        b.mem.lru.node_flags[NodeId(0)].dirty = true;
        b.reclaim(&Bench::request(Reclaimer::Kswapd, 1, 50));
        b.count(NrVmscanWrite)
    };
    assert!(written(true) >= 32);
    assert_eq!(written(false), 0);
}

/// Shares of small lists vanish if they are rounded down: anonymous pages, with the smaller share
/// at swappiness 60, are left alone until the priority has dropped further.
#[test]
fn scan_rounding() {
    let s = Steps::with_file(600)
        .map(0, 300)
        .each(0..12, |s, _| s.write(0, 0..150).read_file(0..200).read_file(0..200));
    let [up, down] = pair(&fine(), ClassicConfig::V5_9, "scan-rounding", ["up", "down"], &[s]);
    let share = |r: &Ran| r.n(PgScanAnon) * 1000 / (r.n(PgScanAnon) + r.n(PgScanFile));
    assert!(share(&down) + 20 < share(&up), "{} {}", share(&down), share(&up));
}

/// Distances are shorter by one if the eviction itself is counted before the age is stored. Page by
/// page, with as many active pages as the distance, that one decides; over sizes around the border
/// more refaults are in time.
#[test]
fn shadow_e_includes_self() {
    let activated = |value| {
        (0..40u32)
            .map(|k| {
                let s = Steps::new().map(0, 2000).activate(0, 0..100).each(0..3u32, |s, r| {
                    s.write(0, 100..200).write(0, 300 + 300 * r..440 + 300 * r + k)
                });
                let knob = "shadow-e-includes-self";
                let [r, _] = pair(&fine(), ClassicConfig::V5_9, knob, [value, value], &[s]);
                r.n(WorkingsetActivateAnon)
            })
            .sum::<u64>()
    };
    let (yes, no) = (activated("yes"), activated("no"));
    assert!(yes >= no + 5, "{yes} {no}");
}

/// When a scan has enough, it gives up the smaller type and shortens the work on the larger one in
/// proportion. 5.x carries that out to its end; 6.1 looks again after each round. So 5.x reclaims
/// more than requested. One pass at priority 1 with a target of 150 pages, on the policy itself:
/// small machines free enough at gentler priorities, where a share is a single round.
#[test]
fn stop_after_adjust() {
    let reclaimed = |stop_after_adjust| {
        let config = ClassicConfig { stop_after_adjust, ..ClassicConfig::V5_9 };
        let mut b = Bench::new(config, 4000, 0);
        for id in 0..3500 {
            b.new_anon(id);
            b.forget_access(id);
        }
        // Active, so that file pages may be deactivated and the cache is not merely trimmed.
        for id in 0..600 {
            b.read_file(id);
            b.mark_accessed(id, true);
            b.mark_accessed(id, true);
        }
        b.reclaim(&Bench::request(Reclaimer::Kswapd, 1, 150)).reclaimed
    };
    let (no, yes) = (reclaimed(false), reclaimed(true));
    assert!(yes + 64 <= no, "{yes} {no}");
}

/// A file is read and written beside anonymous memory. A run of kswapd that trimmed the cache and
/// freed nothing starts over without trimming, and swaps where it would have given up.
#[test]
fn kswapd_retry_without_cache_trim() {
    let scripts = [
        refaulting(6),
        Steps::with_file(500)
            .map(0, 300)
            .each(0..6, |s, _| s.write(0, 0..200).read_file(0..250).write_file(250..300)),
    ];
    let knob = "kswapd-retry-without-cache-trim";
    // A disk that is still writing when kswapd wants the pages, and limits that hold no writer.
    let mut machine = ram();
    machine.file_device = DeviceConfig::preset("hdd", 1).unwrap();
    machine.file_device.write = SimDuration::from_millis(2000);
    machine.vm.dirty = DirtyLimit::Ratio(100);
    machine.vm.dirty_background = DirtyLimit::Ratio(99);
    let [yes, no] = pair(&machine, ClassicConfig::V5_8_PROT, knob, ["yes", "no"], &scripts);
    assert!(yes.n(PswpOut) > no.n(PswpOut), "{} {}", yes.n(PswpOut), no.n(PswpOut));
    assert!(yes.n(PageOutRun) < no.n(PageOutRun), "{} {}", yes.n(PageOutRun), no.n(PageOutRun));
}

/// 90 pages of a file are active, and 170 more are read in a circle that memory is too small for, so
/// that refaults are activated. Up to 5.4 the inactive file pages, which are many, are trimmed all
/// the same, and anonymous memory is left alone; since 5.5 refaults let it be swapped.
#[test]
fn trim_ignores_refaults() {
    let s = Steps::with_file(500).map(0, 40).write(0, 0..40);
    let s = s.read_file(0..90).read_file(0..90);
    let s = s.each(0..8, |s, _| s.read_file(100..270)).phase();
    let knob = "trim-ignores-refaults";
    let [yes, no] = pair(&fine(), ClassicConfig::V5_5, knob, ["yes", "no"], &[s]);
    assert!(yes.n(WorkingsetActivateFile) > 0 && no.n(WorkingsetActivateFile) > 0);
    let scans = [yes.n(PgScanAnon), no.n(PgScanAnon)];
    assert!(scans[0] * 2 < scans[1], "{scans:?}");
}

/// All pages are those of a group, none the root's. By the group's pages alone the root may keep no
/// node of shadows, though it has all nodes of the swap cache: they go pass by pass, and pages that
/// come back were never there. By the pages of the node they are kept, and every return is seen.
#[test]
fn shadow_limit_scope() {
    let mut machine = small_machine(4000, 40_000, 0);
    machine.kernel = Kernel::V5_5;
    machine.memcgs = vec![MemcgConfig::new("all")];
    let s = Steps::new()
        .in_group(0)
        .map(0, 20_000)
        .write(0, 0..20_000)
        .phase()
        .write(0, 0..4000)
        .phase();
    let knob = "shadow-limit-scope";
    let [memcg, node] = pair(&machine, POSTED, knob, ["memcg", "node"], &[s]);
    assert_eq!(node.n(WorkingsetNodereclaim), 0);
    assert_eq!(node.n(WorkingsetRefaultAnon), node.n(PswpIn));
    // 16,000 pages in nodes of 64; the last are still to be found.
    assert!(memcg.n(WorkingsetNodereclaim) > 150, "{}", memcg.n(WorkingsetNodereclaim));
    assert_eq!(memcg.in_phase(1, PswpIn), 4000);
    let seen = memcg.in_phase(1, WorkingsetRefaultAnon);
    assert!(seen < 64, "{seen}: more than what one node may hold again");
    assert!(memcg.gauge("workingset_nodes") * 2 < node.gauge("workingset_nodes"));
}

/// A group has read a file three times, and another reads one through that is six times as large.
/// By its own lists alone the first has few inactive pages as soon as a few of them went, so its
/// active ones follow, and it reads its file again. By the lists of both, the second has inactive
/// pages enough, and the file of the first stays.
#[test]
fn inactive_ratio_scope() {
    let mut machine = small_machine(4000, 0, 0);
    machine.kernel = Kernel::V5_5;
    machine.memcgs = vec![MemcgConfig::new("hot"), MemcgConfig::new("stream")];
    let file = Steps::with_file(24_000);
    let hot = file.clone().in_group(0).each(0..3, |s, _| s.read_file(0..400));
    let hot = hot.sleep(SimDuration::from_secs(60)).phase().read_file(0..400).phase();
    let stream = file.in_group(1).sleep(SimDuration::from_secs(1)).read_file(400..24_000);
    let knob = "inactive-ratio-scope";
    let base = ClassicConfig::V5_5;
    let [target, lruvec] = pair(&machine, base, knob, ["target", "lruvec"], &[hot, stream]);
    assert_eq!(target.in_phase(1, WorkingsetRefaultFile), 0);
    let again = lruvec.in_phase(1, WorkingsetRefaultFile);
    assert!(again > 300, "{again}");
}

/// Permits `anon-workingset`, which is refused without it; nothing else asks for it. So its effect
/// shows only together with others.
#[test]
fn swapcache_shadows() {
    let values = ["no", "yes"];
    let s = [refaulting(6)];
    for base in [ClassicConfig::V5_5, ClassicConfig::V5_8_PROT, ClassicConfig::SEED_6] {
        for machine in [ram(), queued()] {
            let [no, yes] = pair(&machine, base, "swapcache-shadows", values, &s);
            assert_eq!(no.result, yes.result);
        }
    }
    let with = |shadows, detection| ClassicConfig {
        swapcache_shadows: shadows,
        anon_workingset: detection,
        ..ClassicConfig::V5_9
    };
    assert_eq!(with(true, true).validate(), Ok(()));
    assert_eq!(with(true, false).validate(), Ok(()));
    let refused = with(false, true).validate();
    assert!(matches!(refused, Err(KnobError::Contradiction { .. })), "{refused:?}");
}

/// 50 pages of a file are read once, 50 anonymous ones are freed lazily after them, and some more
/// memory is wanted than is free. At the head of the inactive file list the freed ones wait
/// behind the file, whose pages go and have to be read again; at the tail they go before it, and
/// the file stays.
#[test]
fn lazyfree() {
    let s = Steps::with_file(50).map(0, 50).map(1, 260).write(0, 0..50).read_file(0..50);
    let s = s.advise(0, 0..50, Advice::Free).phase().write(1, 0..215).phase();
    let s = s.read_file(0..50).phase();
    let [head, tail] = pair(&fine(), ClassicConfig::V6_12, "lazyfree", ["classic", "tail"], &[s]);
    assert!(tail.in_phase(1, PgLazyFreed) > 0);
    assert!(head.in_phase(1, PgLazyFreed) < tail.in_phase(1, PgLazyFreed));
    assert_eq!(tail.in_phase(2, WorkingsetRefaultFile), 0);
    assert!(head.in_phase(2, WorkingsetRefaultFile) > 0);
}

/// Each knob has its witness: a test of its name.
#[test]
fn every_knob_has_a_witness() {
    let source = include_str!("witness.rs");
    for knob in ClassicConfig::ROWS {
        let test = format!("fn {}()", knob.name.replace('-', "_"));
        assert!(source.contains(&test), "{}", knob.name);
    }
}
