//! The rules by which the classic LRU asks a chooser, each as a small case with counters worked out
//! by hand. The artefact of cache_ext, Linux 6.6.8 mm/vmscan.c, is the source of all of them.

use super::rig::{Rig, Scripted};
use mmsim_core::base::id::{MemcgId, Pfn};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::phys::frames::{FolioId, flag};
use mmsim_core::policy::chooser::Refusal;
use mmsim_core::policy::{Inspect as _, ReclaimPolicy as _};
use std::sync::{Arc, Mutex};

const A: MemcgId = MemcgId(1);
const B: MemcgId = MemcgId(2);

/// Group A with pages 0 to `n` - 1, each read once, so that all are on the inactive list.
fn with_pages(n: u32) -> Rig {
    let mut rig = Rig::new();
    for page in 0..n {
        rig.read(A, page);
    }
    rig
}

fn folios(rig: &Rig, pages: std::ops::Range<u32>) -> Vec<FolioId> {
    pages.map(|p| rig.folio(p).expect("it is cached")).collect()
}

/// Gives A a chooser that offers this, call by call.
fn script(rig: &mut Rig, offers: Vec<Vec<FolioId>>) -> super::rig::Calls {
    rig.attach(A, Box::new(Scripted { offers, ..Scripted::default() }))
}

fn wanted(calls: &super::rig::Calls) -> Vec<u32> {
    calls.lock().unwrap().iter().map(|c| c.wanted).collect()
}

fn refused(rig: &Rig, why: Refusal) -> u64 {
    rig.counts(A).refused[why as usize]
}

/// 70 pages at priority 0 are a target of 70: it is used up in steps of 32, and each call asks for 32.
#[test]
fn calls_ask_for_the_same_until_the_target_is_used_up() {
    let mut rig = with_pages(70);
    let calls = script(&mut rig, Vec::new());
    rig.pass(A, 0);
    assert_eq!(wanted(&calls), [32, 32, 32]);
    assert_eq!((rig.counts(A).asks, rig.counts(A).wanted), (3, 96));
}

/// A target of 20 is one call for 20.
#[test]
fn a_small_target_is_one_call() {
    let mut rig = with_pages(20);
    let calls = script(&mut rig, Vec::new());
    rig.pass(A, 0);
    assert_eq!(wanted(&calls), [20]);
}

/// 100 pages at priority 12 are a target of 0: there is no call and no scan.
#[test]
fn without_a_target_the_group_is_done() {
    let mut rig = with_pages(100);
    let calls = script(&mut rig, Vec::new());
    let out = rig.pass(A, 12);
    assert_eq!(wanted(&calls), [0; 0]);
    assert_eq!((out.scanned, out.reclaimed), (0, 0));
    assert_eq!((rig.counts(A).spared, rig.counts(A).ended), (1, 0));
}

/// 4 calls with 20 each are 80 of 100, which is not more than 80 %: the scans go on, for the 20 that are
/// left of the target. 3 calls with 27 are 81 of 100, and nothing is scanned.
#[test]
fn more_than_80_per_cent_end_the_pass() {
    let scanned = |each: u32, calls: u32| {
        let mut rig = with_pages(100);
        let all = folios(&rig, 0..each * calls);
        let offers = all.chunks(each as usize).map(<[FolioId]>::to_vec).collect();
        script(&mut rig, offers);
        let out = rig.pass(A, 0);
        rig.check();
        let counts = rig.counts(A);
        assert_eq!(counts.evicted, u64::from(each * calls));
        let by_scan = rig.group_count(A, VmEvent::PgScanFile);
        (by_scan, counts.ended, counts.fallback, out.reclaimed, out.scanned)
    };
    // Reclaimed pages count as scanned.
    assert_eq!(scanned(20, 4), (20, 0, 20, 100, 100));
    assert_eq!(scanned(27, 3), (0, 1, 0, 81, 81));
}

/// Neither `pgscan` nor `pgsteal` count what a chooser had evicted.
#[test]
fn scans_and_steals_do_not_count_choices() {
    let mut rig = with_pages(32);
    let all = folios(&rig, 0..32);
    script(&mut rig, vec![all]);
    rig.pass(A, 0);
    assert_eq!(rig.counts(A).evicted, 32);
    for e in [VmEvent::PgScanFile, VmEvent::PgStealFile] {
        assert_eq!((rig.count(e), rig.group_count(A, e)), (0, 0), "{e:?}");
    }
}

/// Pages are evicted in the order of the offer, and those that the scans take behind them.
#[test]
fn offers_are_taken_in_order() {
    let mut rig = with_pages(40);
    let offer = [7, 3, 39, 0, 21].map(|p| rig.folio(p).unwrap());
    let (offers, left) = (vec![offer.to_vec()], Arc::new(Mutex::new(Vec::new())));
    rig.attach(A, Box::new(Scripted { offers, left: Arc::clone(&left) }));
    rig.pass(A, 0);
    rig.lru.tell_chooser(&mut rig.mem, A);
    assert_eq!(left.lock().unwrap()[..5], offer);
    // A round takes 32 off the tail; then there is enough, 37 for 32.
    let counts = rig.counts(A);
    assert_eq!((counts.offered, counts.evicted, counts.fallback), (5, 5, 32));
}

/// A dirty page is not written: it goes back, active.
#[test]
fn dirty_pages_go_back_active() {
    let mut rig = with_pages(20);
    rig.dirty(4);
    let all = folios(&rig, 0..20);
    script(&mut rig, vec![all]);
    rig.pass(A, 0);
    let stays = rig.folio(4).expect("it is not written");
    assert!(rig.mem.frames.has(stays, flag::ACTIVE | flag::DIRTY));
    assert_eq!((rig.counts(A).evicted, refused(&rig, Refusal::Dirty)), (19, 1));
    assert_eq!(rig.count(VmEvent::NrVmscanImmediateReclaim), 1);
    assert_eq!(rig.count(VmEvent::PgpgOut), 0);
}

/// Active pages may be offered.
#[test]
fn active_pages_can_go() {
    let mut rig = with_pages(20);
    rig.read(A, 5);
    let all = folios(&rig, 0..20);
    assert!(rig.mem.frames.has(all[5], flag::ACTIVE), "it was used twice");
    script(&mut rig, vec![all]);
    rig.pass(A, 0);
    assert_eq!(rig.counts(A).evicted, 20);
}

/// A folio that cannot be taken is refused for its reason, and the rest goes.
#[test]
fn offers_are_checked() {
    let mut rig = with_pages(20);
    rig.read(B, super::rig::PAGES);
    let mine = folios(&rig, 0..17);
    let other = rig.folio(super::rig::PAGES).unwrap();
    rig.mem.mlock(mine[16]);
    let none = [Pfn(u32::MAX), Pfn(16_000)];
    let mut offer = mine.clone();
    offer.extend([mine[0], other]);
    offer.extend(none);
    script(&mut rig, vec![offer]);
    rig.pass(A, 0);
    assert_eq!(rig.counts(A).evicted, 16);
    assert_eq!(refused(&rig, Refusal::Twice), 1);
    assert_eq!(refused(&rig, Refusal::OtherGroup), 1);
    assert_eq!(refused(&rig, Refusal::NoFolio), 2);
    assert_eq!(rig.counts(A).all_refused(), 5);
    assert!(rig.folio(super::rig::PAGES).is_some(), "group B keeps its page");
}

/// 33 offers end the asking, and none of them is taken; the scans do all of the work.
#[test]
fn too_long_an_offer_ends_the_asking() {
    let mut rig = with_pages(100);
    let all = folios(&rig, 0..33);
    let calls = script(&mut rig, vec![all]);
    rig.pass(A, 0);
    assert_eq!(wanted(&calls), [32]);
    assert_eq!((rig.counts(A).evicted, refused(&rig, Refusal::Overfull)), (0, 33));
    assert!(rig.counts(A).fallback > 0);
}

/// The chooser of a group is not asked for another one.
#[test]
fn groups_without_a_chooser_are_scanned_as_ever() {
    let mut rig = with_pages(40);
    for page in 0..40 {
        rig.read(B, super::rig::PAGES + page);
    }
    let calls = script(&mut rig, Vec::new());
    let out = rig.pass(B, 0);
    // One round of 32, which is what the request wants.
    assert_eq!((wanted(&calls), out.reclaimed), (Vec::new(), 32));
    // And a small group at a high priority goes by its own rule.
    assert_eq!(rig.counts(A).spared, 0);
}

/// A chooser that offers nothing changes nothing: counters and digest are those of a run without.
#[test]
fn nothing_offered_is_nothing_changed() {
    let run = |chooser: bool| {
        let mut rig = Rig::new();
        if chooser {
            script(&mut rig, Vec::new());
        }
        for i in 0..6_000u32 {
            let page = (i * 7) % 1500;
            if rig.folio(page).is_none() && rig.usage(A) >= 900 {
                rig.reclaim(A);
            }
            rig.read(A, page);
        }
        rig.check();
        let mut digest = mmsim_core::base::digest::Digest::new();
        rig.mem.digest(&mut digest);
        rig.lru.digest(&rig.mem, &mut digest);
        let counters: Vec<u64> = VmEvent::ALL.iter().map(|&e| rig.count(e)).collect();
        (counters, digest.finish(), rig.mem.acting.now)
    };
    assert_eq!(run(false), run(true));
}
