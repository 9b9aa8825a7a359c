//! `mmsim policy build`, `check` and `headers`, and modules in runs. No test needs clang: a program
//! of the test stands in for it.

use std::path::PathBuf;

use crate::golden::Golden;
use crate::harness::Folder;

/// A module of mmsim-ext.
fn module(path: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../mmsim-ext");
    folder.join(path).display().to_string()
}

const SCENARIO: &str = "\
[machine]
memory = \"64MiB\"
[[machine.memcg]]
name = \"search\"
max = \"4MiB\"
[reclaim]
preset = \"classic-v6.6\"
[[task]]
workload = \"reader\"
memcg = \"search\"
items = 200
item = \"32KiB\"
records = 600
";

/// Contents of `s3fifo.wasm`.
const CONTENTS: &str = "\
interface: cache_ext, as BPF
hooks (three_ops): init, folio_added, folio_accessed, folio_evicted, evict_folios
map inode_watchlist: HASH, 200000 entries, keys of 8 bytes, values of 1
map known: HASH, 1000000 entries, keys of 8 bytes, values of 2
map ghosts: LRU_HASH, no size but what the scenario sets, keys of 16 bytes, values of 1
globals (bytes): _license (13), cache_size (8), small_queue (8), main_queue (8), in_small (8)
imports: bpf_cache_ext_ds_registry_new_list, bpf_map_lookup_elem, bpf_map_delete_elem, \
bpf_cache_ext_list_add_tail, bpf_map_update_elem, bpf_cache_ext_list_iterate_extended
imports that mmsim does not have, whose first call ends a run: none
programs that nothing calls: none
";

#[test]
fn contents_of_modules() {
    let (f, golden) = (Folder::new(), Golden::of("policy-modules"));
    let said = f.mmsim(&["policy", "check", &module("policies/s3fifo.wasm")]);
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (Some(0), CONTENTS, ""));
    let said = f.mmsim(&["policy", "check", &module("tests/modules/hostile.wasm")]);
    let uncovered = "whose first call ends a run: bpf_get_stackid (hostile.bpf.c:47)\n";
    assert!(said.stdout.contains(uncovered), "{}", said.stdout);
    f.write("none.wat", "(module)");
    golden.is("no-policy", &f.mmsim(&["policy", "check", "none.wat"]));
    golden.is("no-module", &f.mmsim(&["policy", "check", "gone.wasm"]));
}

#[test]
fn headers_are_written() {
    let f = Folder::new();
    let said = f.mmsim(&["policy", "headers", "h"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for name in ["vmlinux.h", "bpf/bpf_helpers.h", "fallback/cache_ext_lib.bpf.h"] {
        assert!(f.read(&format!("h/{name}")).contains("SPDX-License-Identifier"), "{name}");
    }
}

/// Without a compiler there is one error with a way out; one that fails has its own messages above
/// that of mmsim.
#[test]
fn building_needs_clang() {
    let f = Folder::new();
    f.write("mru.bpf.c", "int x;\n");
    let build = |clang: &str| f.mmsim(&["policy", "build", "mru.bpf.c", "--clang", clang]);
    let none = build("./no-clang");
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("apt-get install clang lld"), "{}", none.stderr);
    let fails = build("false");
    assert_eq!(fails.code, Some(2));
    assert!(fails.stderr.contains("--target=wasm64-unknown-unknown"), "{}", fails.stderr);
    assert!(fails.stderr.contains("clang made no module of it"), "{}", fails.stderr);
    let gone = f.mmsim(&["policy", "build", "gone.bpf.c"]);
    assert!(gone.stderr.contains("gone.bpf.c: there is no such file"), "{}", gone.stderr);
}

#[test]
fn a_policy_is_a_variant_more() {
    let f = Folder::new();
    f.write("s.toml", SCENARIO);
    let mru = format!("search={}", module("policies/mru.wasm"));
    let said = f.mmsim(&["run", "s.toml", "--policy", &mru, "--policy", "builtin:fifo"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for name in ["default", "mru", "builtin-fifo"] {
        let row = said.stdout.lines().any(|l| l.split_whitespace().next() == Some(name));
        assert!(row, "{name}:\n{}", said.stdout);
    }
    assert!(said.stderr.contains("policy mru of group `search`"), "{}", said.stderr);
    let other = f.mmsim(&["run", "s.toml", "--policy", "other=builtin:mru"]);
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("no group `other`"), "{}", other.stderr);
    assert!(other.stderr.contains("its groups: search"), "{}", other.stderr);
    let twice = f.mmsim(&["run", "s.toml", "--policy", "builtin:mru", "--policy", "builtin:mru"]);
    assert!(twice.stderr.contains("builtin-mru-2: identical to builtin-mru"), "{}", twice.stderr);
    let two = format!("{SCENARIO}[[machine.memcg]]\nname = \"more\"\nmax = \"4MiB\"\n");
    f.write("two.toml", two);
    let which = f.mmsim(&["run", "two.toml", "--policy", "builtin:mru"]);
    assert!(which.stderr.contains("--policy: 2 groups have a limit"), "{}", which.stderr);
}

/// A module that traps is detached; the run goes on, and says so.
#[test]
fn what_traps_is_detached() {
    let f = Folder::new();
    f.write("s.toml", SCENARIO);
    let path = module("tests/modules/hostile.wasm");
    let set = format!("machine.memcg[0].cache-ext={{ module = \"{path}\", set = {{ how = 17 }} }}");
    let said = f.mmsim(&["run", "s.toml", "--set", &set]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let why = "DETACHED: `hostile`, `folio_evicted` traps";
    assert!(said.stderr.contains(why) && said.stderr.contains("(call 1, page"), "{}", said.stderr);
}

/// A module that needs what mmsim does not have ends its run with one error.
#[test]
fn uncovered_helpers_end_runs() {
    let f = Folder::new();
    f.write("s.toml", SCENARIO);
    let path = module("tests/modules/hostile.wasm");
    let set = format!("machine.memcg[0].cache-ext={{ module = \"{path}\", set = {{ how = 6 }} }}");
    let said = f.mmsim(&["run", "s.toml", "--set", &set]);
    assert_ne!(said.code, Some(0));
    let why = "`folio_added` calls `bpf_get_stackid` (hostile.bpf.c:47), which mmsim does not have (call 1";
    assert!(said.stderr.contains(why), "{}", said.stderr);
}
