//! Modules that do what no program of BPF could: each ends in one error that names hook and call, in
//! the end of the policy, or in a refusal that is counted.

use mmsim::base::id::{MemcgId, NodeId};
use mmsim::base::time::SimTime;
use mmsim::policy::chooser::{EvictAsk, FileChooser as _, Uncovered};
use mmsim_ext::{Policy, World as _};

use crate::driver::{Cache, added, evicted, module, options};

/// End of a case.
enum Ends {
    /// The run ends.
    Run(&'static str),
    /// The policy is detached, for this reason.
    Policy(&'static str),
    /// It goes on: this many folios are offered, and this many offers are none.
    Offers(usize, u64),
}
use Ends::{Offers, Policy as Detached, Run};

const HOOK_FUEL: &str = "takes more than 50000000 instructions";

/// `how` of `hostile.bpf.c`, and what comes of it.
const CASES: [(i64, &str, Ends); 23] = [
    (1, "an endless loop", Detached(HOOK_FUEL)),
    (2, "a verb in a callback", Run("calls `bpf_cache_ext_list_move` in the callback")),
    (3, "invented, shifted and null pointers", Offers(27, 5)),
    (4, "a far address", Detached("out of bounds memory access")),
    (5, "33 offers", Offers(33, 0)),
    (
        6,
        "a helper that mmsim does not have",
        Run("calls `bpf_get_stackid` (hostile.bpf.c:47), which mmsim does not"),
    ),
    (8, "six lists", Offers(32, 0)),
    (10, "deep recursion", Detached("has calls more than 64 deep")),
    (11, "many lines", Offers(32, 0)),
    (12, "a context that is kept", Offers(32, 0)),
    (13, "no folio", Offers(32, 0)),
    (14, "a folio twice on a list", Offers(32, 0)),
    (15, "a variable that is no map", Detached("as a map, and no map of a known type is there")),
    (16, "a value outside of memory", Detached("which lie outside its memory")),
    (17, "a trap as folios go", Detached("`folio_evicted` traps")),
    (18, "an iteration in an iteration", Run("calls `bpf_cache_ext_list_iterate` in the callback")),
    (19, "a callback that says 3", Offers(0, 0)),
    (20, "no offers", Offers(0, 0)),
    (21, "a callback that is no function", Detached("has no function at place 12345")),
    (22, "a callback with three parameters", Detached("has a callback with 3 parameters")),
    (23, "samples in samples", Detached("nests callbacks more than 4 deep")),
    (24, "more memory than there is", Offers(32, 0)),
    (25, "the same folio 32 times", Offers(32, 0)),
];

/// Adds 40 folios, asks for 32, and evicts one.
fn played(how: i64) -> (Result<usize, Uncovered>, Policy) {
    let module = module("tests/modules/hostile.wasm");
    let mut policy = Policy::new(&module, &options(&[("how", how)], &[])).expect("it loads");
    let cache = Cache::of(40);
    policy.begin(&cache, MemcgId(1)).expect("it attaches");
    let ended = (|| {
        for folio in 0..40 {
            policy.hear(&cache, &added(folio))?;
        }
        let (memcg, node, now) = (MemcgId(1), NodeId(0), SimTime(0));
        let ask = EvictAsk { memcg, node, wanted: 32, now, thread: None };
        let mut offered = Vec::new();
        policy.offer(&cache, &ask, &mut offered)?;
        assert!(offered.iter().all(|folio| cache.flags(*folio) == 0));
        policy.hear(&cache, &evicted(0))?;
        Ok(offered.len())
    })();
    (ended, policy)
}

#[test]
fn hostile_modules_end_in_one_error() {
    for (how, what, ends) in CASES {
        let (ended, policy) = played(how);
        match ends {
            Run(why) => {
                let Uncovered(error) = ended.expect_err(what);
                assert!(error.contains(why) && error.contains("(call 1"), "{what}: {error}");
                assert!(error.starts_with("`hostile`, `"), "{what}: {error}");
            }
            Detached(why) => {
                assert!(ended.is_ok(), "{what}: {ended:?}");
                let stopped = policy.why_stopped().unwrap_or_else(|| panic!("{what} goes on"));
                assert!(stopped.contains(why) && stopped.contains("call 1"), "{what}: {stopped}");
                assert!(policy.tallies().contains(&("stopped", 1)), "{what}");
            }
            Offers(n, none) => {
                assert_eq!(policy.why_stopped(), None, "{what}");
                assert_eq!(ended, Ok(n), "{what}");
                assert!(policy.tallies().contains(&("no_folio", none)), "{what}");
            }
        }
    }
}

/// Results of single verbs, which the module leaves in `results`.
#[test]
fn verbs_refuse_with_the_kernels_numbers() {
    let results = |how| -> Vec<i32> {
        let (_, policy) = played(how);
        let bytes = policy.global("results").expect("the array of results").to_vec();
        bytes.chunks(4).map(|b| i32::from_le_bytes(b.try_into().expect("4 bytes"))).collect()
    };
    // One list is there; four more are made, and then none.
    assert_eq!(results(8)[..6], [2, 3, 4, 5, 0, 0]);
    assert_eq!(results(13)[0], -2);
    assert_eq!(results(14)[1], -1);
}

/// Entries of a ring buffer go to the program that the options name. One that the program itself
/// submits comes with those of the next call.
#[test]
fn entries_go_to_their_program() {
    let module = module("tests/modules/hostile.wasm");
    let mut given = options(&[("how", 26)], &[]);
    for (on_event, sum, entries) in [(vec![], 0, 0), (vec![("events", "sum_up")], 780 + 1000, 41)] {
        given.on_event = on_event.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        let mut policy = Policy::new(&module, &given).expect("it loads");
        let cache = Cache::of(40);
        policy.begin(&cache, MemcgId(1)).expect("it attaches");
        for folio in 0..40 {
            policy.hear(&cache, &added(folio)).expect("it goes on");
        }
        let bytes = policy.global("results").expect("the array of results");
        let result = |i: usize| i32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().expect("4"));
        assert_eq!((result(2), result(3)), (sum, entries));
        assert_eq!(policy.why_stopped(), None);
    }
    given.on_event = vec![("events".to_string(), "sum".to_string())];
    let error = Policy::new(&module, &given).expect_err("it is refused").to_string();
    assert!(error.contains("`on-event.events`: it has no program `sum`"), "{error}");
}

/// An error names the page that a hook was called for.
#[test]
fn errors_name_the_page() {
    let (ended, _) = played(6);
    let Uncovered(why) = ended.expect_err("the run ends");
    assert!(why.ends_with("(call 1, page 0 of `tree`)"), "{why}");
}

#[test]
fn init_can_refuse() {
    let module = module("tests/modules/hostile.wasm");
    for (how, why) in
        [(7, "`init` returns -5, so it is not attached"), (9, "takes more than 5000000")]
    {
        if how == 9 && cfg!(debug_assertions) {
            // Five billion instructions take a minute without optimization.
            continue;
        }
        let mut policy = Policy::new(&module, &options(&[("how", how)], &[])).expect("it loads");
        let Uncovered(error) = policy.begin(&Cache::of(0), MemcgId(1)).expect_err("it is refused");
        assert!(error.contains(why), "{error}");
    }
}

/// Lines are counted, and the first hundred kept.
#[test]
fn lines_are_counted() {
    let (_, policy) = played(11);
    assert!(policy.tallies().contains(&("printk", 40 * 2000)));
    assert_eq!(policy.lines().len(), 100);
    assert_eq!(policy.lines()[99].1, "again and again, 99");
}
