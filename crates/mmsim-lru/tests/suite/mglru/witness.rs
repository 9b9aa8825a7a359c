//! One witness for each knob of MGLRU: a history in which only that knob is another, and what
//! must come of it. Each says first what is expected, and why.

use crate::harness::mglru::Real;
use crate::model::mglru::{Page, Reclaim};
use mmsim_core::base::id::{MemcgId, NodeId, ZoneId};
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::Kernel;
use mmsim_core::memory::trace::{Observer, TraceEvent};
use mmsim_core::phys::frames::{FolioId, flag};
use mmsim_core::policy::{Move, ReclaimPolicy, ReclaimRequest};
use mmsim_lru::MglruConfig;
use mmsim_lru::index::{ANON, FILE, Gen, LruType, PerType, Tier};
use mmsim_lru::mglru::GenList;
use mmsim_lru::mglru::rates::{Control, Rates};
use mmsim_lru::settings::Settings as _;

pub(super) const KSWAPD: &Reclaim = &Reclaim::KSWAPD;

/// A machine with a preset and some knobs set: `A` is anonymous, `m` maps the file `M`.
pub(super) fn with(preset: &str, knobs: &[(&str, &str)]) -> Real {
    let mut c = MglruConfig::preset(preset).unwrap().config;
    for (knob, value) in knobs {
        c.set(knob, value).unwrap();
    }
    c.validate().unwrap();
    let mut r = Real::of(c, 60, Kernel::V6_12);
    r.map('A', None, 0, 1200);
    r.map('m', Some('M'), 2048, 600);
    r
}

/// The same history with both values of a knob.
pub(super) fn both<T>(
    preset: &str,
    more: &[(&str, &str)],
    knob: &str,
    values: [&str; 2],
    history: impl Fn(Real) -> T,
) -> [T; 2] {
    values.map(|value| {
        let mut knobs = more.to_vec();
        knobs.push((knob, value));
        history(with(preset, &knobs))
    })
}

/// Steps of eviction by kswapd.
pub(super) fn steps(r: &mut Real, n: u32) {
    for _ in 0..n {
        r.evict(KSWAPD);
    }
}

pub(super) fn count(r: &Real, e: VmEvent) -> u64 {
    r.mem.stats.vmstat[e]
}

pub(super) const V: &str = "mglru-v6.12-rc";

/// While every generation is younger than the time to live, something is to be killed; the
/// sign is the answer before a pass.
#[test]
fn min_ttl_ms() {
    let [off, on] = both(V, &[], "min-ttl-ms", ["0", "1000"], |mut r| {
        (0..100).for_each(|i| r.touch('A', i, true));
        let request = Real::request(KSWAPD, 2);
        let young = r.lru.age_node(&mut r.mem, &request);
        r.mem.acting.now += SimDuration::from_secs(2);
        (young, r.lru.age_node(&mut r.mem, &request))
    });
    assert_eq!(off, (false, false));
    assert_eq!(on, (true, false));
}

/// Checks before a pass at (the first priority, the next, the next for an order): while all is
/// young 6.1 checks at order 0, 6.7 there and not before the first pass was in vain, 6.12 always.
/// Once all is old, nothing is to be killed but where the pages are too few for a scan at the
/// priority: 6.12 begins at one that is low enough.
#[test]
fn ttl_rule() {
    let ask = |rule: &str| {
        let mut r = with(V, &[("min-ttl-ms", "1000"), ("ttl-rule", rule)]);
        (0..100).for_each(|i| r.touch('A', i, true));
        let ask = |r: &mut Real| {
            [(12, 0), (11, 0), (11, 3)].map(|(priority, order)| {
                let request = ReclaimRequest { order, ..Real::request(KSWAPD, priority) };
                r.lru.age_node(&mut r.mem, &request)
            })
        };
        let young = ask(&mut r);
        r.mem.acting.now += SimDuration::from_secs(2);
        (young, ask(&mut r))
    };
    assert_eq!(ask("aging-6.1"), ([true, true, false], [false, true, false]));
    assert_eq!(ask("pressed-6.7"), ([false, true, false], [false, true, false]));
    assert_eq!(ask("fitted-6.12"), ([true, true, true], [false, true, true]));
}

/// In 6.1 what is younger than the time to live is not aged either.
#[test]
fn what_is_too_young_is_not_aged() {
    let aged = |ttl: &str| {
        let mut r = with("mglru-v6.1", &[("min-ttl-ms", ttl)]);
        (0..200).for_each(|i| r.touch('A', i, true));
        steps(&mut r, 2);
        let before = r.lru.seqs(NodeId(0), MemcgId(0))[2];
        let request = Real::request(KSWAPD, 12);
        // The first look is skipped.
        (0..2).for_each(|_| _ = r.lru.age_node(&mut r.mem, &request));
        r.lru.seqs(NodeId(0), MemcgId(0))[2] - before
    };
    assert_eq!((aged("0"), aged("1000")), (1, 0));
}

/// A walk clears the accessed bits of pages that were only faulted in, so that the first
/// eviction takes them; without, it meets them all as accessed and takes none.
#[test]
fn walk_mmu() {
    let [walks, waits] = both(V, &[("nonleaf-young", "no")], "walk-mmu", ["yes", "no"], |mut r| {
        (0..48).for_each(|i| r.touch('A', i, true));
        r.age(true);
        r.age(true);
        steps(&mut r, 20);
        count(&r, VmEvent::PgStealAnon)
    });
    assert_eq!((walks, waits), (48, 0));
}

/// A table that was not used since the last walk is passed over: the walk takes less time.
#[test]
fn nonleaf_young() {
    let [skips, reads] = both(V, &[("bloom", "no")], "nonleaf-young", ["yes", "no"], |mut r| {
        (0..1024).for_each(|i| r.touch('A', i, true));
        // The first walk is in full and leaves entries of tables alone.
        (0..2).for_each(|_| {
            r.age(true);
            r.touch('A', 0, true);
        });
        let before = r.mem.acting.now;
        r.age(true);
        r.mem.acting.now.since(before)
    });
    assert!(skips < reads, "{skips:?} < {reads:?}");
}

/// A table in which the last walk found nothing is passed over, though one of its pages was
/// accessed since: that page is not promoted.
#[test]
fn bloom() {
    let [filter, all] = both(V, &[("nonleaf-young", "no")], "bloom", ["yes", "no"], |mut r| {
        (0..512).for_each(|i| r.touch('A', i, true));
        r.age(true);
        r.touch('m', 0, false);
        r.age(true);
        r.touch('A', 0, true);
        let youngest = r.lru.seqs(NodeId(0), MemcgId(0))[2];
        r.age(true);
        let folio = r.folio(Page('A', 0)).unwrap();
        r.lru.generation_of(&r.mem, folio) == Some(Gen::from_seq(youngest))
    });
    assert_eq!((filter, all), (false, true));
}

/// With four generations a page that is read starts in the oldest one, or since 6.8 in the one
/// after it.
#[test]
fn placement() {
    let [pre, post] = both(V, &[], "placement", ["pre-fix", "post-fix"], |mut r| {
        r.read(Page('U', 1));
        let folio = r.folio(Page('U', 1)).unwrap();
        r.lru.generation_of(&r.mem, folio)
    });
    assert_eq!((pre, post), (Some(Gen(0)), Some(Gen(1))));
}

/// A page that was read five times is evicted, or moved on for its access counts alone.
#[test]
fn overflow_protect() {
    let [evicted, kept] = both(V, &[], "overflow-protect", ["no", "yes"], |mut r| {
        (0..6).for_each(|_| r.read(Page('U', 1)));
        steps(&mut r, 3);
        r.folio(Page('U', 1)).is_some()
    });
    assert_eq!((evicted, kept), (false, true));
}

/// Four accesses before the eviction make a refault restored since 6.8; before it took five.
#[test]
fn restore_rule() {
    let [five, four] = both(V, &[], "restore-rule", ["refs4-ws", "refs3-all"], |mut r| {
        (0..4).for_each(|_| r.read(Page('U', 1)));
        steps(&mut r, 3);
        assert!(r.folio(Page('U', 1)).is_none());
        r.read(Page('U', 1));
        count(&r, VmEvent::WorkingsetRestoreFile)
    });
    assert_eq!((five, four), (0, 1));
}

/// Evicts a page that was read, lets the oldest generation move on, and reads it again.
fn old_refault(mut r: Real) -> [u64; 2] {
    r.read(Page('U', 1));
    steps(&mut r, 3);
    r.age(true);
    steps(&mut r, 3);
    r.read(Page('U', 1));
    [VmEvent::WorkingsetRefaultFile, VmEvent::WorkingsetActivateFile].map(|e| count(&r, e))
}

/// A refault whose generation is gone counts as a refault, or does not.
#[test]
fn refault_count() {
    let [recent, all] = both(V, &[], "refault-count", ["recent-only", "all"], old_refault);
    assert_eq!((recent[0], all[0]), (0, 1));
}

/// By distance a refault is near whose generation is gone, and near ones are counted: what is
/// activated came back.
#[test]
fn near_refaults_are_refaults() {
    let near_and_old = |mut r: Real| {
        (0..100).for_each(|i| r.read(Page('U', i)));
        steps(&mut r, 3);
        let gone = (0..100).rev().find(|&i| r.folio(Page('U', i)).is_none()).expect("one is gone");
        // Old pages and young ones, far more than were evicted.
        (0..300).for_each(|i| r.touch('m', i, false));
        for _ in 0..3 {
            r.age(true);
        }
        (0..300).for_each(|i| r.touch('A', i, true));
        r.read(Page('U', gone));
        [VmEvent::WorkingsetRefaultFile, VmEvent::WorkingsetActivateFile].map(|e| count(&r, e))
    };
    for distance in ["v3", "second-oldest", "tiered", "v5.9"] {
        let knobs = [("refault-distance", distance)];
        let counts = ["recent-only", "all"];
        let [recent, all] = both(V, &knobs, "refault-count", counts, near_and_old);
        assert_eq!((recent, all), ([1, 1], [1, 1]), "{distance}");
    }
    let off = both(V, &[], "refault-count", ["recent-only", "all"], near_and_old);
    assert_eq!(off, [[0, 0], [1, 0]], "without distances it is old");
}

/// The same refault is recent if four generations are allowed to lie between.
#[test]
fn recent_rule() {
    let values = ["same-min-seq", "within-4-of-max"];
    let [same, within] = both(V, &[], "recent-rule", values, old_refault);
    assert_eq!((same[1], within[1]), (0, 1));
}

/// Rates by tier: (refaulted, evicted).
fn rates(tiers: &[(u64, u64)]) -> Rates {
    let mut r = Rates::default();
    for (t, &(refaulted, evicted)) in Tier::all().zip(tiers) {
        r.period_mut(0, 1).refaulted[t] = refaulted;
        r.period_mut(0, 1).evicted[t] = evicted;
    }
    r
}

fn control<T>(c: &MglruConfig, anon: &Rates, file: &Rates, f: impl Fn(Control<'_>) -> T) -> T {
    f(Control {
        rates: PerType::new([anon, file]),
        min_seq: PerType::default(),
        config: c,
        scale_shift: 0,
    })
}

/// Files of the first tier hardly come back, those of the second all do: by first tiers files
/// are evicted, by all tiers anonymous pages.
#[test]
fn type_rule() {
    let (anon, file) = (rates(&[(100, 1000)]), rates(&[(70, 1000), (1000, 1000)]));
    let [first, all] = ["first-tier", "all-tiers"].map(|value| {
        let mut c = MglruConfig::V6_12;
        c.set("type-rule", value).unwrap();
        control(&c, &anon, &file, |c| c.choose(100).0)
    });
    assert_eq!((first, all), (FILE, ANON));
}

/// A tier that comes back 1.75 times as often as the first is protected only if 1.5 is enough, or
/// another factor below 1.75.
#[test]
fn tier_gain() {
    let file = rates(&[(400, 2000), (105, 300)]);
    for values in [["1:2", "2:3"], ["200", "150"], ["190", "120"]] {
        let [more, less] = values.map(|value| {
            let mut c = MglruConfig::V6_12;
            c.set("tier-gain", value).unwrap();
            control(&c, &Rates::default(), &file, |c| c.own_limit(FILE))
        });
        assert_eq!((more, less), (Tier(3), Tier(0)), "{values:?}");
    }
}

/// Evictions of a page that was read three times are booked in its tier, or in the only one.
#[test]
fn nr_tiers() {
    let [one, four] = both(V, &[], "nr-tiers", ["1", "4"], |mut r| {
        (0..3).for_each(|_| r.read(Page('U', 1)));
        steps(&mut r, 3);
        *r.lru.rates(NodeId(0), MemcgId(0), FILE).1.evicted.raw()
    });
    assert_eq!((one, four), ([1, 0, 0, 0], [0, 0, 1, 0]));
}

/// A page that was read three times has as many accesses as one bit can note, so it is protected.
/// Two bits have room for two more, so it is evicted.
#[test]
fn refs_width() {
    let [one, two] = both(V, &[("overflow-protect", "yes")], "refs-width", ["1", "2"], |mut r| {
        (0..3).for_each(|_| r.read(Page('U', 1)));
        steps(&mut r, 3);
        *r.lru.rates(NodeId(0), MemcgId(0), FILE).1.evicted.raw()
    });
    assert_eq!((one, two), ([0; 4], [0, 0, 1, 0]));
}

/// Evictions from a generation are still known when the next is the oldest, if there is a history
/// for each.
#[test]
fn hist_gens() {
    let [one, four] = ["1", "4"].map(|value| {
        let mut r = with(V, &[("hist-gens", value)]);
        r.read(Page('U', 1));
        steps(&mut r, 3);
        let [_, oldest, _] = r.lru.seqs(NodeId(0), MemcgId(0));
        r.age(true);
        steps(&mut r, 3);
        let rates = r.lru.rates(NodeId(0), MemcgId(0), FILE).0;
        rates.period(oldest, value.parse().unwrap()).evicted[Tier::FIRST]
    });
    assert_eq!((one, four), (0, 1));
}

/// When all files of the oldest generation are gone and anonymous pages are left in it, files
/// wait for them, or go ahead.
#[test]
fn min_seq_coupling() {
    let [together, apart] = both(V, &[], "min-seq-coupling", ["yes", "no"], |mut r| {
        (0..8).for_each(|i| r.touch('m', i, false));
        (0..200).for_each(|i| r.touch('A', i, true));
        r.age(true);
        r.age(true);
        steps(&mut r, 4);
        let [anon, file, _] = r.lru.seqs(NodeId(0), MemcgId(0));
        file - anon
    });
    assert_eq!((together, apart), (0, 1));
}

/// Three generations, of which the oldest holds everything, need no other by their
/// distribution; by number they do.
#[test]
fn aging_rule() {
    let [spread, number] = both(V, &[], "aging-rule", ["distribution", "gens-only"], |mut r| {
        (0..200).for_each(|i| r.touch('A', i, true));
        r.age(true);
        r.age(true);
        steps(&mut r, 2);
        let [anon, _, before] = r.lru.seqs(NodeId(0), MemcgId(0));
        assert_eq!(before - anon, 2);
        r.shrink(KSWAPD, 11);
        r.lru.seqs(NodeId(0), MemcgId(0))[2] - before
    });
    assert_eq!((spread, number), (0, 1));
}

/// A dirty page of a file is moved on without being scanned, or isolated and activated.
#[test]
fn writeback_rule() {
    let [bounce, activate] = both(V, &[], "writeback-rule", ["bounce", "activate"], |mut r| {
        r.write(Page('U', 1));
        steps(&mut r, 3);
        [VmEvent::PgScanFile, VmEvent::PgActivate].map(|e| count(&r, e))
    });
    assert_eq!((bounce, activate), ([0, 0], [1, 1]));
}

/// A lazily freed folio that a walk found written is anonymous again at the next scan, or
/// stays what it is.
#[test]
fn dirty_lazyfree_rule() {
    let [anon, stays] = both(V, &[], "dirty-lazyfree-rule", ["to-anon", "none"], |mut r| {
        r.touch('A', 1, true);
        r.madvise_free('A', 1);
        let folio = r.folio(Page('A', 1)).unwrap();
        r.mem.frames.set(folio, flag::DIRTY);
        steps(&mut r, 3);
        r.mem.frames.has(folio, flag::SWAPBACKED)
    });
    assert_eq!((anon, stays), (true, false));
}

/// A page that was read once and is activated keeps its mark, or loses it.
#[test]
fn add_clears_refs() {
    let [keeps, clears] = both(V, &[], "add-clears-refs", ["no", "yes"], |mut r| {
        r.read(Page('U', 1));
        let folio = r.folio(Page('U', 1)).unwrap();
        r.lru.folios_move(&mut r.mem, &[folio], Move::Activated);
        r.mem.frames.has(folio, flag::REFERENCED)
    });
    assert_eq!((keeps, clears), (true, false));
}

/// kswapd ages when it evicts, or before it does.
#[test]
fn aging_site() {
    let [evictor, kswapd] = both(V, &[], "aging-site", ["evictor", "kswapd"], |mut r| {
        (0..200).for_each(|i| r.touch('A', i, true));
        steps(&mut r, 2);
        let ages = |r: &mut Real, f: &dyn Fn(&mut Real)| {
            let before = r.lru.seqs(NodeId(0), MemcgId(0))[2];
            f(r);
            r.lru.seqs(NodeId(0), MemcgId(0))[2] - before
        };
        let request = Real::request(KSWAPD, 11);
        // The first look is skipped.
        r.lru.age_node(&mut r.mem, &request);
        let evicting = ages(&mut r, &|r| r.shrink(KSWAPD, 11));
        let before = ages(&mut r, &|r| {
            r.lru.age_node(&mut r.mem, &request);
        });
        (evicting, before)
    });
    assert_eq!(evictor, (1, 0));
    assert_eq!(kswapd, (0, 1));
}

/// kswapd goes on until its target is met, or stops after the first step because every zone is
/// far above its high mark.
#[test]
fn abort_rule() {
    let [target, marks] = both(V, &[], "abort-rule", ["simple-6.7", "wmark-6.12"], |mut r| {
        (0..600).for_each(|i| r.read(Page('U', i)));
        steps(&mut r, 1);
        r.shrink(KSWAPD, 0);
        count(&r, VmEvent::PgStealFile)
    });
    assert!(marks < target, "{marks} < {target}");
}

/// In 6.1 direct reclaim that finds all zones safe counts a batch as reclaimed. One that stops
/// because it has aged twice counts what it freed: here nothing, for all pages are dirty.
#[test]
fn only_safe_zones_count_as_reclaimed() {
    let direct = Reclaim { kswapd: false, ..Reclaim::KSWAPD };
    let counted = [0, 1 << 30].map(|boost| {
        let mut r = with("mglru-v6.1", &[]);
        // The oldest generation is small and soon gone through.
        (0..20).for_each(|i| r.write(Page('U', i)));
        (0..600).for_each(|i| r.touch('m', i, true));
        r.mem.zones[ZoneId(0)].boost = boost;
        let request = ReclaimRequest { target: 32, ..Real::request(&direct, 0) };
        let out = r.lru.reclaim(&mut r.mem, &request);
        assert_eq!(count(&r, VmEvent::PgStealFile), 0);
        out.reclaimed
    });
    assert_eq!(counted, [64, 0]);
}

/// kswapd starts at a lower priority because what is inactive is little.
#[test]
fn initial_priority() {
    let [fixed, fitted] = both(V, &[], "initial-priority", ["no", "yes"], |mut r| {
        (0..600).for_each(|i| r.read(Page('U', i)));
        let mut request = Real::request(KSWAPD, 12);
        request.target = 512;
        r.lru.reclaim(&mut r.mem, &request).priority
    });
    assert_eq!((fixed, fitted), (None, Some(6)));
}

/// Lazily freed memory lies at the tail of the oldest generation and goes before a file page there,
/// or goes after it.
#[test]
fn lazyfree() {
    let [base, tail] = both(V, &[], "lazyfree", ["base", "tail"], |mut r| {
        r.read(Page('U', 1));
        r.touch('A', 1, true);
        steps(&mut r, 2);
        r.read(Page('U', 2));
        r.madvise_free('A', 1);
        let oldest = r.lru.seqs(NodeId(0), MemcgId(0))[1];
        let list = r.lru.list(&r.mem, (NodeId(0), MemcgId(0)), oldest, GenList::File);
        r.name(*list.last().unwrap())
    });
    assert_eq!((base, tail), (Page('U', 2), Page('A', 1)));
}

/// A file page that comes back after fewer evictions than half of memory holds starts in the
/// youngest generation.
pub(super) fn near_refault(mut r: Real) -> (Option<Gen>, Gen) {
    (0..100).for_each(|i| r.touch('m', i, false));
    (0..100).for_each(|i| r.read(Page('U', i)));
    steps(&mut r, 3);
    // A generation more, so that the oldest is inactive, and half as many pages in it.
    r.age(true);
    (50..100).for_each(|i| r.read(Page('V', i)));
    let gone = (0..100).rev().find(|&i| r.folio(Page('U', i)).is_none()).expect("one is gone");
    let [_, _, youngest] = r.lru.seqs(NodeId(0), MemcgId(0));
    r.read(Page('U', gone));
    let folio = r.folio(Page('U', gone)).unwrap();
    (r.lru.generation_of(&r.mem, folio), Gen::from_seq(youngest))
}

#[test]
fn refault_distance() {
    let [off, v3] = both(V, &[], "refault-distance", ["off", "v3"], near_refault);
    assert_ne!(off.0, Some(off.1));
    assert_eq!(v3.0, Some(v3.1));
}

/// Without distances what is restored is activated, in 6.12: both are for recent refaults. With
/// them a page is activated if it would have fitted into memory: for a page that comes back to an
/// empty memory that is not known, but its refault is recent, in a fault, and restores it.
#[test]
fn distances_restore_what_they_do_not_activate() {
    let distances = ["off", "v3"];
    let [off, v3] = both(V, &[], "refault-distance", distances, |mut r| {
        r.touch('m', 0, false);
        r.age(true);
        r.age(true);
        steps(&mut r, 20);
        assert!(r.folio(Page('M', 0)).is_none());
        r.touch('m', 0, false);
        [
            VmEvent::WorkingsetRefaultFile,
            VmEvent::WorkingsetActivateFile,
            VmEvent::WorkingsetRestoreFile,
        ]
        .map(|e| count(&r, e))
    });
    assert_eq!((off, v3), ([1, 1, 1], [1, 0, 1]));
}

/// Distances matter for anonymous pages too, or not at all.
#[test]
fn anon_reactivate() {
    let distance = [("refault-distance", "v3")];
    let [files, both] = both(V, &distance, "anon-reactivate", ["no", "yes"], |mut r| {
        (0..64).for_each(|i| r.touch('A', i, true));
        r.age(true);
        r.age(true);
        steps(&mut r, 20);
        // A generation more, so that the oldest, with what is read, is inactive.
        r.age(true);
        (100..200).for_each(|i| r.read(Page('U', i)));
        (200..400).for_each(|i| r.touch('A', i, true));
        r.touch('A', 63, true);
        [VmEvent::WorkingsetRefaultAnon, VmEvent::WorkingsetActivateAnon].map(|e| count(&r, e))
    });
    assert_eq!((files, both), ([1, 0], [1, 1]));
}

/// The second access through a descriptor sets the workingset flag, or is counted.
#[test]
fn access_marks() {
    let [second, counted] = [("workingset-second", "refs3-all"), ("counted-6.14", "ws-6.14")].map(
        |(marks, restore)| {
            let mut r = with(V, &[("access-marks", marks), ("restore-rule", restore)]);
            (0..2).for_each(|_| r.read(Page('U', 1)));
            let folio = r.folio(Page('U', 1)).unwrap();
            r.mem.frames.has(folio, flag::WORKINGSET)
        },
    );
    assert_eq!((second, counted), (true, false));
}

/// Where lazily freed memory is kept decides nothing while there is none: the same history
/// leaves the same counters and the same lists.
#[test]
fn without_lazily_freed_memory_its_place_does_not_matter() {
    let ends = ["base", "tail", "list-v2", "list-fixed", "list-oldest", "off"].map(|place| {
        let mut r = with(V, &[("lazyfree", place)]);
        for round in 0..4 {
            (0..150).for_each(|i| r.touch('A', (37 * i + round) % 300, i % 3 == 0));
            (0..90).for_each(|i| r.touch('m', (11 * i + round) % 120, false));
            (0..80).for_each(|i| r.read(Page('U', (7 * i + 20 * round) % 100)));
            r.age(true);
            steps(&mut r, 4);
        }
        let counters: Vec<u64> = r.mem.stats.vmstat.iter().map(|(_, n)| n).collect();
        let lists: Vec<_> = (0..4)
            .flat_map(|seq| LruType::ALL.map(|t| (seq, t.into())))
            .map(|(seq, kind)| r.lru.list(&r.mem, (NodeId(0), MemcgId(0)), seq, kind))
            .collect();
        assert!(count(&r, VmEvent::PgStealFile) > 100 && count(&r, VmEvent::PgStealAnon) > 100);
        (counters, lists, r.mem.acting.now)
    });
    assert!(ends.iter().all(|e| *e == ends[0]));
}

struct Seen(std::sync::mpsc::Sender<(u64, u64, u64)>);

impl Observer for Seen {
    fn event(&mut self, _now: SimTime, event: &TraceEvent) {
        if let TraceEvent::SimLruGen { seq, nr_anon, nr_file, .. } = *event {
            self.0.send((seq, nr_anon, nr_file)).unwrap();
        }
    }
}

/// A new generation is an event for each generation that there is then, oldest first.
#[test]
fn a_new_generation_is_traced() {
    let mut r = with(V, &[]);
    (0..20).for_each(|i| r.touch('A', i, true));
    (0..5).for_each(|i| r.read(Page('U', i)));
    let (sender, seen) = std::sync::mpsc::channel();
    r.mem.telling.tracer.set_observer(Some(Box::new(Seen(sender))));
    r.age(true);
    let events: Vec<_> = seen.try_iter().collect();
    assert_eq!(events, [(1, 0, 5), (2, 0, 0), (3, 20, 0), (4, 0, 0)]);
    r.age(true);
    assert_eq!(seen.try_iter().count(), 4);
}

/// Every knob has its witness: a test of its name.
#[test]
fn every_knob_has_a_witness() {
    let source = concat!(include_str!("witness.rs"), include_str!("reworked.rs"));
    for knob in MglruConfig::ROWS {
        let test = format!("#[test]\nfn {}() {{", knob.name.replace('-', "_"));
        assert!(source.contains(&test), "no witness of {}", knob.name);
    }
}

/// Who walked page tables may have to give way before the generation begins. Whoever reclaims
/// meanwhile finds all processes walked and begins it at once; the walker, when it is its turn
/// again, finds that done and begins none.
#[test]
fn a_walk_and_its_generation_are_two_steps() {
    let mut r = with(V, &[]);
    (0..200).for_each(|i| r.touch('A', i, true));
    steps(&mut r, 2);
    let youngest = |r: &Real| r.lru.seqs(NodeId(0), MemcgId(0))[2];
    let before = youngest(&r);
    let kswapd = ReclaimRequest { one_step: true, ..Real::request(KSWAPD, 11) };
    assert!(r.lru.reclaim(&mut r.mem, &kswapd).more, "it walked");
    assert_eq!(youngest(&r), before);
    let mut direct = Real::request(&Reclaim { kswapd: false, ..Reclaim::KSWAPD }, 11);
    direct.one_step = true;
    assert!(!r.lru.reclaim(&mut r.mem, &direct).more, "nothing was left to be walked");
    assert_eq!(youngest(&r), before + 1);
    assert!(!r.lru.reclaim(&mut r.mem, &kswapd).more);
    assert_eq!(youngest(&r), before + 1);
}

/// With lazy preemption the walker may have to give way after each of three tables. Whoever begins the
/// generation meanwhile makes another the youngest: what is walked behind that is younger.
#[test]
fn a_walk_gives_way_after_any_table_under_lazy_preemption() {
    for (lazy, younger) in [(false, 0), (true, 120)] {
        let mut r = with(V, &[]);
        r.mem.given.rules.lazy_preemption = lazy;
        let pages = || (0..3).flat_map(|table| (0..60).map(move |i| 512 * table + i));
        pages().for_each(|i| r.touch('A', i, true));
        steps(&mut r, 2);
        pages().for_each(|i| r.touch('A', i, true));
        let walker = ReclaimRequest { one_step: true, ..Real::request(KSWAPD, 11) };
        let mut direct = Real::request(&Reclaim { kswapd: false, ..Reclaim::KSWAPD }, 11);
        direct.one_step = true;
        assert!(r.lru.reclaim(&mut r.mem, &walker).more, "a table is walked, or all");
        let youngest = r.lru.seqs(NodeId(0), MemcgId(0))[2];
        r.lru.reclaim(&mut r.mem, &direct);
        assert_eq!(r.lru.seqs(NodeId(0), MemcgId(0))[2], youngest + 1);
        while r.lru.reclaim(&mut r.mem, &walker).more {}
        let folios: Vec<_> = pages().map(|i| r.folio(Page('A', i)).expect("resident")).collect();
        let of_it =
            |f: &&FolioId| r.lru.generation_of(&r.mem, **f) == Some(Gen::from_seq(youngest + 1));
        assert_eq!(folios.iter().filter(of_it).count(), younger, "lazy: {lazy}");
    }
}
