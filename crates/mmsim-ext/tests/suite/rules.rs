//! Rules of the list verbs, by tables: lists before, a verb, its result, lists after.

use mmsim_ext::lists::{End, Ended, Lists, Moves, Refusal, Slot, Verdict};

/// Lists 1, 2, .. with these folios; slots up to 9 hold a folio.
fn lists(all: &[&[u32]]) -> Lists {
    let mut lists = Lists::default();
    (0..10).for_each(|slot| lists.fill(Slot(slot)));
    for folios in all {
        let list = lists.new_list().expect("five at most");
        for folio in *folios {
            lists.add(list, Slot(*folio), End::Tail).expect("a folio on no list");
        }
    }
    lists
}

fn numbers(lists: &Lists, list: u64) -> Vec<u32> {
    lists.folios(list).iter().map(|slot| slot.0).collect()
}

type Verb = fn(&mut Lists) -> Result<(), Refusal>;

/// A name, what is done, its result, and the two lists afterwards.
type Case<What, Result> =
    (&'static str, What, core::result::Result<Result, Refusal>, &'static [u32], &'static [u32]);

/// A verb on the lists `[1, 2, 3]` and `[4]`: its result, and both lists.
const VERBS: [Case<Verb, ()>; 15] = [
    ("add", |l| l.add(1, Slot(5), End::Head), Ok(()), &[5, 1, 2, 3], &[4]),
    ("add_tail", |l| l.add(1, Slot(5), End::Tail), Ok(()), &[1, 2, 3, 5], &[4]),
    ("add: listed", |l| l.add(2, Slot(1), End::Head), Err(Refusal::Listed), &[1, 2, 3], &[4]),
    ("add: list 0", |l| l.add(0, Slot(5), End::Head), Err(Refusal::NoList), &[1, 2, 3], &[4]),
    ("add: list 3", |l| l.add(3, Slot(5), End::Head), Err(Refusal::NoList), &[1, 2, 3], &[4]),
    ("add: slot 10", |l| l.add(1, Slot(10), End::Head), Err(Refusal::NoFolio), &[1, 2, 3], &[4]),
    ("add: no slot", |l| l.add(1, Slot::NONE, End::Head), Err(Refusal::NoFolio), &[1, 2, 3], &[4]),
    ("move: within", |l| l.move_to(1, Slot(2), End::Head), Ok(()), &[2, 1, 3], &[4]),
    ("move: between", |l| l.move_to(2, Slot(2), End::Tail), Ok(()), &[1, 3], &[4, 2]),
    ("move: from none", |l| l.move_to(2, Slot(7), End::Head), Ok(()), &[1, 2, 3], &[7, 4]),
    ("move: no list", |l| l.move_to(9, Slot(2), End::Head), Err(Refusal::NoList), &[1, 2, 3], &[4]),
    (
        "move: no folio",
        |l| l.move_to(1, Slot::NONE, End::Head),
        Err(Refusal::NoFolio),
        &[1, 2, 3],
        &[4],
    ),
    ("del", |l| l.delete(Slot(2)), Ok(()), &[1, 3], &[4]),
    ("del: no folio", |l| l.delete(Slot(10)), Err(Refusal::Absent), &[1, 2, 3], &[4]),
    ("del: on no list", |l| l.delete(Slot(7)), Err(Refusal::Unlisted), &[1, 2, 3], &[4]),
];

#[test]
fn verbs_have_their_results() {
    for (name, verb, result, first, second) in VERBS {
        let mut lists = lists(&[&[1, 2, 3], &[4]]);
        assert_eq!(verb(&mut lists), result, "{name}");
        assert_eq!((&numbers(&lists, 1)[..], &numbers(&lists, 2)[..]), (first, second), "{name}");
    }
    let codes = [Refusal::Absent, Refusal::NoFolio, Refusal::Listed, Refusal::Unlisted];
    assert_eq!(codes.map(Refusal::code), [-2, -1, -1, -1]);
}

#[test]
fn there_are_five_lists() {
    let mut lists = Lists::default();
    let made: Vec<_> = (0..6).map(|_| lists.new_list()).collect();
    assert_eq!(made[..5], [Ok(1), Ok(2), Ok(3), Ok(4), Ok(5)]);
    assert_eq!(made[5], Err(Refusal::TooManyLists));
}

/// A folio that goes leaves its list, and its slot is no folio until it is filled again.
#[test]
fn folios_that_go_leave_their_lists() {
    let mut lists = lists(&[&[1, 2, 3]]);
    lists.clear(Slot(2));
    assert_eq!(numbers(&lists, 1), [1, 3]);
    assert_eq!((lists.holds(Slot(2)), lists.list_of(Slot(3))), (false, Some(1)));
    assert_eq!(lists.add(1, Slot(2), End::Tail), Err(Refusal::NoFolio));
    lists.fill(Slot(2));
    assert_eq!(lists.add(1, Slot(2), End::Tail), Ok(()));
    assert_eq!(numbers(&lists, 1), [1, 3, 2]);
}

/// Moves of `cache_ext_iterate_opts`: those of continued, and of offered folios.
type Options = [Moves; 2];

const fn to(list: u64, mode: u64) -> Moves {
    Moves { list, mode }
}
const STAY: Moves = to(0, 0);

/// Iterations of list 1, `[0, 1, 2, 3]`, beside list 2, `[4]`; even folios are offered. Options, offers,
/// end, and both lists.
const WALKS: [Case<(Options, &[u32]), Ended>; 9] = [
    ("plain", ([STAY, STAY], &[0, 2]), Ok(Ended::Done), &[0, 1, 2, 3], &[4]),
    ("offered to a tail", ([STAY, to(2, 2)], &[0, 2]), Ok(Ended::Done), &[1, 3], &[4, 0, 2]),
    ("offered to a head", ([STAY, to(2, 1)], &[0, 2]), Ok(Ended::Done), &[1, 3], &[2, 0, 4]),
    ("continued to a tail", ([to(2, 2), STAY], &[0, 2]), Ok(Ended::Done), &[0, 2], &[4, 1, 3]),
    ("to its own head", ([to(0, 1), STAY], &[0, 2]), Ok(Ended::Done), &[3, 1, 0, 2], &[4]),
    ("both", ([to(2, 2), to(2, 1)], &[0, 2]), Ok(Ended::Done), &[], &[2, 0, 4, 1, 3]),
    ("a list that stays", ([to(2, 0), STAY], &[]), Err(Refusal::Mode), &[0, 1, 2, 3], &[4]),
    ("mode 3", ([to(2, 3), STAY], &[]), Err(Refusal::Mode), &[0, 1, 2, 3], &[4]),
    ("no such list", ([to(7, 1), STAY], &[]), Err(Refusal::NoList), &[0, 1, 2, 3], &[4]),
];

#[test]
fn iterations_move_what_they_pass() {
    for (name, (options, offers), end, first, second) in WALKS {
        let mut lists = lists(&[&[0, 1, 2, 3], &[4]]);
        let mut offered = Vec::new();
        let visit = |_, slot: Slot| match slot.0.is_multiple_of(2) {
            true => Verdict::Offer,
            false => Verdict::Continue,
        };
        assert_eq!(lists.iterate(1, options, &mut offered, visit), end, "{name}");
        let offered: Vec<u32> = offered.iter().map(|slot| slot.0).collect();
        assert_eq!(offered, offers, "{name}");
        assert_eq!((&numbers(&lists, 1)[..], &numbers(&lists, 2)[..]), (first, second), "{name}");
    }
}

/// A list whose folios go to its own tail comes round again: the next folio is known before one
/// moves. The callback runs 4,097 times; a folio can be offered twice.
#[test]
fn iterations_come_round_and_end() {
    let mut all = lists(&[&[1, 2, 3]]);
    let mut calls = 0;
    let again = [to(0, 2), STAY];
    let end = all.iterate(1, again, &mut Vec::new(), |i, _| {
        assert_eq!(i, calls);
        calls += 1;
        Verdict::Continue
    });
    assert_eq!((end, calls), (Ok(Ended::TooLong), 4097));
    let mut twice = Vec::new();
    let tail = [STAY, to(0, 2)];
    let end = all.iterate(1, tail, &mut twice, |_, _| Verdict::Offer);
    assert_eq!((end, twice.len()), (Ok(Ended::Full), 32));
    assert_eq!(twice[0], twice[3]);
    // A list of 4,097 folios is seen to its end, one of 4,098 is not.
    for (n, end, visits) in [(4097, Ended::Done, 4097), (4098, Ended::TooLong, 4097)] {
        let mut lists = Lists::default();
        let list = lists.new_list().expect("the first");
        for slot in 0..n {
            lists.fill(Slot(slot));
            lists.add(list, Slot(slot), End::Tail).expect("a new folio");
        }
        let mut calls = 0;
        let ended = lists.iterate(list, [STAY; 2], &mut Vec::new(), |_, _| {
            calls += 1;
            Verdict::Continue
        });
        assert_eq!((ended, calls), (Ok(end), visits), "{n} folios");
    }
}

/// An iteration does not stop at the number asked for, but at 32 offers; at once if they are there.
#[test]
fn iterations_end_at_32_offers() {
    let mut lists = Lists::default();
    let list = lists.new_list().expect("the first");
    for slot in 0..40 {
        lists.fill(Slot(slot));
        lists.add(list, Slot(slot), End::Tail).expect("a new folio");
    }
    let mut offers = Vec::new();
    let end = lists.iterate(list, [STAY; 2], &mut offers, |_, _| Verdict::Offer);
    assert_eq!((end, offers.len()), (Ok(Ended::Full), 32));
    let mut calls = 0;
    let end = lists.iterate(list, [STAY; 2], &mut offers, |_, _| {
        calls += 1;
        Verdict::Stop
    });
    assert_eq!((end, calls, offers.len()), (Ok(Ended::Full), 0, 32));
}

#[test]
fn numbers_of_callbacks_are_verdicts() {
    for (number, verdict) in [(0, Verdict::Continue), (1, Verdict::Stop), (2, Verdict::Offer)] {
        assert_eq!(Verdict::of(number), verdict);
    }
    assert_eq!([3, -1, i32::MAX].map(Verdict::of), [Verdict::Stop; 3]);
    let mut lists = lists(&[&[1, 2, 3]]);
    let mut offers = Vec::new();
    let stop = |i, _| if i == 1 { Verdict::Stop } else { Verdict::Offer };
    assert_eq!(lists.iterate(1, [STAY; 2], &mut offers, stop), Ok(Ended::Done));
    assert_eq!(offers, [Slot(1)]);
}

/// While a callback runs, every verb is refused; afterwards none is.
#[test]
fn verbs_in_callbacks_are_refused() {
    let mut lists = lists(&[&[1, 2], &[]]);
    let mut walk = lists.walk(1, STAY, STAY, 0).expect("a list");
    let (_, slot) = walk.next(&mut lists).expect("a folio");
    assert_eq!(lists.add(2, Slot(5), End::Head), Err(Refusal::Locked));
    assert_eq!(lists.move_to(2, Slot(1), End::Head), Err(Refusal::Locked));
    assert_eq!(lists.delete(Slot(1)), Err(Refusal::Locked));
    assert_eq!(lists.walk(1, STAY, STAY, 0).err(), Some(Refusal::Locked));
    assert_eq!(lists.sample(1, 1, 1).err(), Some(Refusal::Locked));
    walk.judge(&mut lists, slot, Verdict::Continue);
    assert_eq!(lists.add(2, Slot(5), End::Head), Ok(()));
}

/// Scores of a sample: of each `size` folios at the front the lowest, the first of equals; all go to the
/// tail. Folios wanted, size, offers, and the list afterwards.
#[test]
fn samples_offer_the_lowest_scores() {
    // Scores by folio.
    const SCORES: [i64; 7] = [5, 3, 3, 9, 1, 8, 0];
    for (wanted, size, offers, after) in [
        (2, 3, Ok(&[(3, 1), (1, 4)][..]), [6, 0, 1, 2, 3, 4, 5]),
        (1, 4, Ok(&[(3, 1)][..]), [4, 5, 6, 0, 1, 2, 3]),
        (
            7,
            1,
            Ok(&[(5, 0), (3, 1), (3, 2), (9, 3), (1, 4), (8, 5), (0, 6)][..]),
            [0, 1, 2, 3, 4, 5, 6],
        ),
        (2, 0, Ok(&[][..]), [0, 1, 2, 3, 4, 5, 6]),
        (2, 4, Err(Refusal::Short), [0, 1, 2, 3, 4, 5, 6]),
        (32, 65, Err(Refusal::TooLarge), [0, 1, 2, 3, 4, 5, 6]),
    ] {
        let mut lists = lists(&[&[0, 1, 2, 3, 4, 5, 6]]);
        let found = lists.sample(1, wanted, size).map(|mut sample| {
            let mut found = Vec::new();
            while let Some(slot) = sample.next() {
                found.extend(sample.score(SCORES[slot.0 as usize]).map(|(s, slot)| (s, slot.0)));
            }
            sample.end(&mut lists);
            found
        });
        assert_eq!(found.as_deref(), offers.as_ref().copied(), "{wanted} of {size}");
        assert_eq!(numbers(&lists, 1), after, "{wanted} of {size}");
    }
}

/// Scores are taken without the lock. A folio that a score takes away is not put back.
#[test]
fn scores_may_move_folios() {
    let mut lists = lists(&[&[0, 1, 2], &[3]]);
    let mut sample = lists.sample(1, 1, 3).expect("three folios");
    assert_eq!(lists.add(2, Slot(0), End::Tail), Err(Refusal::Listed), "it is in the sample");
    assert_eq!(lists.move_to(2, Slot(0), End::Tail), Ok(()));
    assert_eq!(lists.delete(Slot(1)), Ok(()));
    while sample.next().is_some() {
        sample.score(0);
    }
    sample.end(&mut lists);
    assert_eq!((numbers(&lists, 1), numbers(&lists, 2)), (vec![2], vec![3, 0]));
}
