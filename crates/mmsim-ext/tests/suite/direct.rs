//! Modules of the direct interface, as text: what their hooks get, what they may do, and how they end.

use mmsim::report::{CacheExtReport, RunReport};
use mmsim::{Runner, Scenario, machines, registry};
use mmsim_ext::modules;

/// One thread reads 600 pages of `tree`, 200 of `log`, and `tree` again, in a group of 256 pages.
/// Regions are numbered by their names, so `log` is inode 1.
const MACHINE: &str = r#"
[machine]
memory = "16MiB"
kernel = "6.6"
[[machine.memcg]]
name = "search"
max = "1MiB"
[reclaim]
preset = "classic-v6.6"
[[task]]
name = "reads"
workload = "phased"
memcg = "search"
regions = { tree = { memory = "2400KiB", kind = "read" }, log = { memory = "800KiB", kind = "read" } }
steps = [
    { do = "read", region = "tree" },
    { do = "read", region = "log" },
    { do = "read", region = "tree" },
]
"#;

/// A module with these parts besides two lists' worth of FIFO.
fn fifo(more: &str) -> String {
    format!(
        r#"(module
        (import "mmsim" "list_new" (func $list_new (result i32)))
        (import "mmsim" "list_add_tail" (func $list_add_tail (param i32 i32) (result i32)))
        (import "mmsim" "list_first" (func $list_first (param i32) (result i32)))
        (import "mmsim" "list_next" (func $list_next (param i32) (result i32)))
        (import "mmsim" "list_of" (func $list_of (param i32) (result i32)))
        (import "mmsim" "offer" (func $offer (param i32) (result i32)))
        (import "mmsim" "folio_flags" (func $folio_flags (param i32) (result i32)))
        (import "mmsim" "folio_inode" (func $folio_inode (param i32) (result i64)))
        (import "mmsim" "folio_file_size" (func $folio_file_size (param i32) (result i64)))
        (import "mmsim" "cache_size" (func $cache_size (result i64)))
        (import "mmsim" "thread" (func $thread (result i32)))
        (global $list (mut i32) (i32.const 0))
        (func (export "init") (result i32)
            (global.set $list (call $list_new))
            (i32.ne (global.get $list) (i32.const 1)))
        {more})"#
    )
}

const ADD: &str = r#"(func (export "folio_added") (param i32)
    (drop (call $list_add_tail (global.get $list) (local.get 0))))"#;
const OFFER_ALL: &str = r#"(func (export "evict_folios") (param i32) (local i32)
    (local.set 1 (call $list_first (global.get $list)))
    (loop $next
        (if (i32.ne (local.get 1) (i32.const -1)) (then
            (if (i32.eqz (call $offer (local.get 1))) (then (return)))
            (local.set 1 (call $list_next (local.get 1)))
            (br $next)))))"#;

/// The run with a module and more settings of it; the error, if there is none.
fn ran(text: &str, more: &str) -> Result<RunReport, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.toml");
    std::fs::write(&path, MACHINE).expect("a scenario");
    std::fs::write(folder.path().join("p.wat"), text).expect("a module");
    let set = format!("{{ module = \"p.wat\" {more} }}");
    let set = vec![("machine.memcg[0].cache-ext".to_string(), set)];
    let scenario = Scenario::load(&path, &set).map_err(|e| e.to_string())?;
    let registry = registry().with_choosers(modules());
    let specs = machines::specs_of(&scenario, &registry).map_err(|e| e.to_string())?;
    let runs = Runner::default().run(specs).map_err(|e| e.to_string())?;
    Ok(runs.into_iter().next().expect("one run"))
}

fn policy(text: &str, more: &str) -> CacheExtReport {
    let run = ran(text, more).unwrap_or_else(|e| panic!("{e}"));
    run.cache_ext.into_iter().next().expect("the group has a policy")
}

fn tally(of: &CacheExtReport, name: &str) -> u64 {
    of.tallies.iter().find(|t| t.0 == name).map_or(0, |t| *t.1)
}

/// 1,400 pages are read once each, and 800 of the 1,400 are of `tree` where `watch` names it.
#[test]
fn only_folios_of_watched_files_are_told() {
    let text = fifo(&format!("{ADD} {OFFER_ALL}"));
    let (all, tree) = (policy(&text, ""), policy(&text, r#", watch = ["*tree"]"#));
    assert_eq!(tally(&all, "calls_folio_added"), 600 + 200 + 600);
    assert_eq!(tally(&tree, "calls_folio_added"), 600 + 600);
    // There is no hook for uses, so none is called; yet the machine has told of them.
    assert_eq!(tally(&all, "calls_folio_accessed"), 0);
    assert!(all.told > 2 * 1400 && all.evicted > 900, "{all:?}");
}

/// Facts are those of the folio, the file and the group; the thread is the first of the run.
#[test]
fn facts_are_those_of_the_machine() {
    let check = |what: &[&str]| {
        let all: String =
            what.iter().map(|what| format!("(if (i32.eqz {what}) (then unreachable))")).collect();
        let check = format!(r#"(func (export "folio_added") (param i32) {all})"#);
        policy(&fifo(&format!("{check} {OFFER_ALL}")), r#", watch = ["*log"]"#).stopped
    };
    let facts = [
        // A folio that comes is locked (bit 0), and neither read (bit 3) nor on a list (bit 5).
        "(i32.eq (i32.and (call $folio_flags (local.get 0)) (i32.const 41)) (i32.const 1))",
        "(i64.eq (call $folio_inode (local.get 0)) (i64.const 1))",
        "(i64.eq (call $folio_file_size (local.get 0)) (i64.const 819200))",
        "(i64.eq (call $cache_size) (i64.const 256))",
        "(i32.eq (call $thread) (i32.const 1000))",
        "(i32.eqz (call $list_of (local.get 0)))",
        "(i32.eqz (call $folio_flags (i32.const 99999)))",
        "(i32.eq (call $list_next (local.get 0)) (i32.const -1))",
        "(i32.eq (call $list_add_tail (i32.const 7) (local.get 0)) (i32.const -1))",
    ];
    if check(&facts).is_some() {
        facts.iter().for_each(|what| assert_eq!(check(&[what]), None, "{what}"));
    }
    let wrong = check(&["(i32.const 0)"]).expect("it is detached");
    assert!(wrong.starts_with("`p`, `folio_added` traps"), "{wrong}");
    assert!(wrong.contains("(call 1, page 0 of `reads/log`)"), "{wrong}");
}

/// At `evict_folios` flags are those of the moment: every folio offered is read and on a list, though
/// `folio_added` showed none so.
#[test]
fn flags_are_those_of_the_moment() {
    let ready = r#"(func (export "evict_folios") (param i32) (local i32)
        (local.set 1 (call $list_first (global.get $list)))
        (loop $next
            (if (i32.ne (local.get 1) (i32.const -1)) (then
                (if (i32.eq (i32.and (call $folio_flags (local.get 1)) (i32.const 41)) (i32.const 40))
                    (then (if (i32.eqz (call $offer (local.get 1))) (then (return)))))
                (local.set 1 (call $list_next (local.get 1)))
                (br $next)))))"#;
    let all = policy(&fifo(&format!("{ADD} {ready}")), "");
    assert!(all.offered > 900, "{all:?}");
    assert_eq!(all.refused.iter().map(|(_, n)| n).sum::<u64>(), 0, "{all:?}");
}

/// An offer outside of `evict_folios`, of no folio, or beyond 32 is none.
#[test]
fn offers_that_are_none_are_counted() {
    let outside = r#"(func (export "folio_added") (param i32)
        (if (i32.ne (call $offer (local.get 0)) (i32.const -1)) (then unreachable)))
        (func (export "evict_folios") (param i32) (drop (call $offer (i32.const 70000))))"#;
    let of = policy(&fifo(outside), "");
    assert_eq!((of.stopped.clone(), of.offered), (None, 0));
    assert_eq!(tally(&of, "no_folio"), 1400 + of.asks);
    let beyond = OFFER_ALL.replace(
        "(i32.eqz (call $offer (local.get 1)))",
        "(i32.eq (call $offer (local.get 1)) (i32.const 1234))",
    );
    let of = policy(&fifo(&format!("{ADD} {beyond}")), "");
    assert_eq!(of.offered, 32 * of.asks, "{of:?}");
    assert!(tally(&of, "no_folio") > of.asks, "{of:?}");
}

/// `admit_folio` gets inode, first page and pages, and 0 sends the read past the cache: all of `log`, by
/// batches of 15. Reads of a file that is not watched ask nothing.
#[test]
fn admission_is_asked_of_watched_files() {
    let refuse = r#"(func (export "admit_folio") (param i64 i32 i32) (result i32)
        (if (i64.ne (local.get 0) (i64.const 1)) (then unreachable))
        (if (i32.ne (i32.add (local.get 1) (local.get 2)) (i32.const 200)) (then unreachable))
        (i32.const 0))"#;
    let of = policy(&fifo(&format!("{ADD} {OFFER_ALL} {refuse}")), r#", watch = ["*log"]"#);
    assert_eq!(of.stopped, None);
    assert_eq!((of.turned_away, of.past), (200u64.div_ceil(15), 200));
    assert_eq!(tally(&of, "calls_folio_added"), 0);
}

#[test]
fn settings_are_functions_of_one_number() {
    let set = r#"(func (export "set_most") (param i64)
        (if (i64.ne (local.get 0) (i64.const 40)) (then unreachable)))"#;
    let text = fifo(&format!("{ADD} {OFFER_ALL} {set}"));
    assert_eq!(policy(&text, ", set = { most = 40 }").stopped, None);
    for (more, said) in [
        (", set = { most = 41 }", "`set_most` traps"),
        (", set = { mots = 40 }", "exports no function `set_mots`; its settings: most"),
        (r#", set = { most = "all" }"#, "takes numbers alone"),
        (", maps = { m = { entries = 1 } }", "`maps.m`: the direct interface has no maps"),
    ] {
        let error = ran(&text, more).expect_err(said);
        assert!(error.contains(said), "{said}: {error}");
    }
}

/// A loop without an end, and a trap in a call for folios: the policy is detached, and the group's
/// LRU goes on.
#[test]
fn modules_that_go_wrong_are_detached() {
    for (body, said) in [
        ("(loop $l (br $l))", "`evict_folios` takes more than 50000000 instructions (call 1)"),
        ("unreachable", "`evict_folios` traps"),
    ] {
        let evict = format!(r#"(func (export "evict_folios") (param i32) {body})"#);
        let of = policy(&fifo(&format!("{ADD} {evict}")), "");
        let why = of.stopped.as_deref().expect("it is detached");
        assert!(why.contains(said), "{why}");
        assert!(of.fallback > 900 && of.offered == 0, "{of:?}");
    }
    let init = r#"(module (func (export "init") (result i32) (i32.const 3))
        (func (export "evict_folios") (param i32)))"#;
    let error = ran(init, "").expect_err("it refuses");
    assert!(error.contains("`init` returns 3, so it is not attached"), "{error}");
}
