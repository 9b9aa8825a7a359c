//! Idioms of BPF: a module with each of them once, and what comes of it in a kernel.

use crate::driver::{Driver, module, options};

/// The results of `idioms.bpf.c`, by their numbers.
const RESULTS: [(i64, &str); 24] = [
    (42, "a value stays where it is while others come"),
    (-7, "a full map: -E2BIG"),
    (-2, "no such key: -ENOENT"),
    (-17, "the key is there: -EEXIST"),
    (1, "the oldest of an LRU map makes room"),
    (5, "__sync_add_and_fetch"),
    (1, "an index behind an array"),
    (11, "bpf_for with continue"),
    (7021, "bpf_loop that stops"),
    (4012, "bpf_loop with a narrow callback"),
    (3005, "bpf_for_each_map_elem"),
    (0, "division by zero gives zero"),
    (5, "the rest of a division by zero is the dividend"),
    (0, "a weak kfunc that nothing defines"),
    (1026, "bit fields"),
    (2, "container_of"),
    (77, "BPF_CORE_READ"),
    (5, "bpf_core_read"),
    (4096, "rodata from outside"),
    (116, "a string from outside"),
    (1, "a static bool"),
    (16, "a spin lock, and 64-bit long and pointers"),
    (0, "bpf_ringbuf_output"),
    (1, "an unsigned shift"),
];

#[test]
fn idioms_of_bpf_are_those_of_a_kernel() {
    use mmsim::policy::chooser::{ChooserValue, FileChooser};
    let mut given = options(&[("cache_size", 4096)], &[]);
    given.set.push(("watch_dir".to_string(), ChooserValue::Text("/tree".to_string())));
    let driver = Driver::new(&module("tests/modules/idioms.wasm"), &given, 0);
    let bytes = driver.policy.global("results").expect("the array of results");
    let results: Vec<i64> =
        bytes.chunks(8).map(|b| i64::from_le_bytes(b.try_into().expect("8 bytes"))).collect();
    assert_eq!(results.len(), RESULTS.len());
    for (i, (result, (expected, what))) in results.iter().zip(RESULTS).enumerate() {
        assert_eq!(*result, expected, "{i}: {what}");
    }
    let tallies = driver.policy.tallies();
    for (name, n) in [("map_full", 4), ("map_drops", 1), ("ring_entries", 1), ("printk", 1)] {
        assert!(tallies.contains(&(name, n)), "{name} is not {n}: {tallies:?}");
    }
    let (_, line) = &driver.policy.lines()[0];
    assert!(line.starts_with("text -3 18446744073709551615 ff "), "{line}");
}
