//! Modules that are none of a policy for cache_ext: each has one error with a way out.

use mmsim::policy::chooser::{ChooserMap, ChooserOptions, ChooserValue};
use mmsim_ext::{Module, Policy, contents};

use crate::driver::{module, options};

fn bytes(path: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A module with a name of its debug information changed to another as long.
fn renamed(path: &str, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut all = bytes(path);
    let mut found = 0;
    for at in 0..all.len() - from.len() {
        if all[at..].starts_with(from.as_bytes()) {
            all[at..at + to.len()].copy_from_slice(to.as_bytes());
            found += 1;
        }
    }
    assert!(found > 0, "{path} has no {from}");
    all
}

fn error(bytes: &[u8]) -> String {
    Module::from_bytes(bytes, "mru.wasm").expect_err("it is refused").to_string()
}

#[test]
fn what_is_no_policy_is_refused() {
    let memory = r#"(memory (export "memory") i64 1)"#;
    let table = r#"(table (export "__indirect_function_table") 1 funcref)"#;
    let text = |inner: &str| format!("(module {inner})").into_bytes();
    let whole = |inner: &str| text(&format!("{inner} {memory} {table}"));
    let none: &[u8] = b"no module";
    for (given, said, help) in [
        (none.to_vec(), "neither a module of WebAssembly nor its text", ""),
        (text(""), "exports no `memory`", "mmsim policy build"),
        (text(memory), "exports no `__indirect_function_table`", "mmsim policy build"),
        (
            text(r#"(memory (export "memory") 1)"#),
            "compiled for 32-bit memory",
            "mmsim policy build",
        ),
        (text(r#"(func (export "score"))"#), "is a score function or a daemon", "mmsim evaluate"),
        (text(r#"(func (export "tick"))"#), "is a score function or a daemon", "daemon.program"),
        (whole(r#"(import "wasi" "fd_write" (func))"#), "imports `wasi.fd_write`", ""),
        (whole(r#"(import "env" "page" (global i64))"#), "imports `env.page`", ""),
        (whole(""), "has no debug information", "passes -g"),
        (
            bytes("tests/modules/two_ops.wasm"),
            "has 2 sets of hooks: `one_ops` (two_ops.bpf.c:14), `other_ops` (two_ops.bpf.c:17)",
            "keep one",
        ),
        (
            renamed("policies/mru.wasm", "\0cache_ext_ops\0", "\0cache_ext_opt\0"),
            "has no variable of type `struct cache_ext_ops`",
            "SEC(\".struct_ops.link\")",
        ),
        (
            renamed(
                "policies/mru.wasm",
                "mmsim_headers_cache_ext_6_6",
                "mmsim_headers_cache_ext_9_9",
            ),
            "was compiled with another `vmlinux.h`",
            "mmsim policy headers",
        ),
    ] {
        let error = error(&given);
        assert!(error.contains(said) && error.contains(help), "{said}: {error}");
        assert!(error.contains("`mru.wasm`"), "{said}: {error}");
    }
}

/// Errors about what is written in a module say at which byte that is. Each section begins behind its
/// number and its length, and its first entry behind their count.
#[test]
fn errors_have_a_place() {
    let import = r#"(import "env" "page" (global i64))"#;
    let memory = r#"(memory (export "memory") 1)"#;
    let direct =
        |inner: &str| format!(r#"(module {inner} (func (export "evict_folios") (param i32)))"#);
    for (text, said) in [
        // Header 8, memory section: 8 number, 9 length, its range from 10 on.
        (format!("(module {memory})"), "`mru.wasm`, byte 10: is compiled for 32-bit memory"),
        // Types: 8, 9, count 10, (i32) -> () 11 to 14; imports: 15, 16, count 17.
        (
            direct(r#"(import "mmsim" "list_ad" (func (param i32)))"#),
            "byte 18: imports `mmsim.list_ad`, which mmsim does not have, did you mean `list_add`?",
        ),
        (
            direct(r#"(import "env" "offer" (func (param i32)))"#),
            "byte 18: imports `env.offer`, which mmsim does not have;",
        ),
        (
            direct(r#"(import "mmsim" "offer" (func (param i32)))"#),
            "byte 18: imports `mmsim.offer` as (i32), write (i32) -> i32",
        ),
        // Functions: 15, 16, count 17, type 18; exports: 19, 20, count 21.
        (
            r#"(module (func (export "evict_folios") (param i64)))"#.into(),
            "byte 22: exports `evict_folios` as (i64), write (i32)",
        ),
        (
            r#"(module (func (export "folio_added") (param i32)))"#.into(),
            "byte 21: exports no `evict_folios`",
        ),
        (format!("(module {import} {memory})"), "is compiled for 32-bit memory"),
    ] {
        let error = error(text.as_bytes()).replace(" \n |\n = help: ", "; ");
        let said = said.trim_end_matches(';');
        assert!(error.contains(said), "{said}: {error}");
    }
}

/// A helper that mmsim lacks is named with the line that calls it.
#[test]
fn uncovered_helpers_have_a_line() {
    let found = contents(&module("tests/modules/hostile.wasm")).expect("it is set up");
    let source = bytes("tests/modules/hostile.bpf.c");
    let text = String::from_utf8(source).expect("text");
    let line = 1 + text.lines().position(|l| l.contains("bpf_get_stackid(folio")).expect("a call");
    let expected = ("bpf_get_stackid".to_string(), format!("hostile.bpf.c:{line}"));
    assert_eq!(found.lines, [expected]);
}

/// A module that was cut or changed anywhere is refused, or read as another one; nothing panics.
#[test]
fn broken_modules_do_no_harm() {
    let whole = bytes("policies/fifo.wasm");
    for end in (0..whole.len()).step_by(97) {
        let _ = Module::from_bytes(&whole[..end], "cut.wasm");
    }
    for at in (0..whole.len()).step_by(61) {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        let _ = Module::from_bytes(&changed, "changed.wasm").map(|module| contents(&module));
    }
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let refused = |path: &str, given: ChooserOptions| {
        let error = Policy::new(&module(path), &given).expect_err("it is refused");
        error.to_string()
    };
    let (s3, mru) = ("policies/s3fifo.wasm", "policies/mru.wasm");
    let idioms = "tests/modules/idioms.wasm";
    let text = |name: &str, text: &str| ChooserOptions {
        set: vec![(name.to_string(), ChooserValue::Text(text.to_string()))],
        ..options(&[], &[("ghosts", 10)])
    };
    let threads = ChooserOptions {
        maps: vec![("none".to_string(), ChooserMap::default())],
        ..ChooserOptions::default()
    };
    for (error, said) in [
        (refused(s3, options(&[], &[])), "its map `ghosts` has no `max_entries`"),
        (
            refused(s3, options(&[("cash_size", 1)], &[])),
            "no global `cash_size`, did you mean `cache_size`?",
        ),
        (refused(s3, options(&[], &[("ghost", 1)])), "no map `ghost`, did you mean `ghosts`?"),
        (refused(s3, options(&[], &[("ghosts", 20 << 20)])), "more than 16 Mi elements in all"),
        (
            refused(s3, text("cache_size", "100")),
            "found \"100\", and it is no array of characters, write a number",
        ),
        (
            refused(idioms, text("watch_dir", &"x".repeat(128))),
            "the text has 128 bytes; at most 127 fit",
        ),
        (
            refused(idioms, options(&[("watch_dir", 1)], &[])),
            "found 1, and it is an array of characters, write a text",
        ),
        (
            refused("tests/modules/hostile.wasm", options(&[("how", 1 << 40)], &[])),
            "does not fit 4 bytes",
        ),
        (refused(mru, threads), "it has no map `none`"),
    ] {
        assert!(error.contains(said), "{said}: {error}");
    }
}

/// Loaders of the artefact set `cache_size` and the ghosts to the limit of the group.
#[test]
fn what_loaders_set_is_set() {
    let given = ChooserOptions { max_pages: Some(4096), ..ChooserOptions::default() };
    let policy = Policy::new(&module("policies/s3fifo.wasm"), &given).expect("it loads");
    assert_eq!(policy.global("cache_size"), Some(&4096u64.to_le_bytes()[..]));
}

#[test]
fn contents_are_listed() {
    let found = contents(&module("policies/s3fifo.wasm")).expect("it is set up");
    assert_eq!(found.ops, "three_ops");
    assert_eq!(
        found.hooks,
        ["init", "folio_added", "folio_accessed", "folio_evicted", "evict_folios"]
    );
    let maps: Vec<_> =
        found.maps.iter().map(|m| (&m.name[..], m.kind, m.of.key, m.of.value)).collect();
    assert_eq!(
        maps,
        [
            ("inode_watchlist", Some("HASH"), 8, 1),
            ("known", Some("HASH"), 8, 2),
            ("ghosts", Some("LRU_HASH"), 16, 1),
        ]
    );
    assert!(found.globals.contains(&("cache_size".to_string(), 8)), "{:?}", found.globals);
    assert!(found.imports.iter().all(|i| i.1) && found.programs.is_empty(), "{found:?}");
    let hostile = contents(&module("tests/modules/hostile.wasm")).expect("it is set up");
    assert!(hostile.imports.contains(&("bpf_get_stackid".to_string(), false)));
}
