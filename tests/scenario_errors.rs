//! Every mistake in a scenario file has its message, with the place and what to write
//! instead. The messages are compared as a whole.

mod scenario_support;

use mmsim::{Error, ErrorKind, Scenario};
use scenario_support::Names;

/// A file, perhaps options, and the message.
struct Case {
    name: &'static str,
    text: &'static str,
    sets: &'static [(&'static str, &'static str)],
    message: &'static str,
}

fn error_of(text: &str, sets: &[(&str, &str)]) -> Error {
    let sets: Vec<(String, String)> =
        sets.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    match Scenario::from_str(text, "x.toml").and_then(|s| s.with_sets(&sets)?.expand(&Names)) {
        Ok(runs) => panic!("accepted as {} runs:\n{text}", runs.len()),
        Err(e) => e,
    }
}

#[test]
fn messages_are_exact() {
    for c in CASES {
        let e = error_of(c.text, c.sets);
        assert_eq!(e.to_string(), c.message, "in case {}", c.name);
        assert_eq!(e.kind().exit_code(), 2);
    }
}

#[test]
fn every_message_has_a_place_or_says_what_is_missing() {
    for c in CASES {
        let e = error_of(c.text, c.sets);
        assert!(e.position().is_some(), "{} has no place", c.name);
    }
}

/// Cases that no schema of single values can see: two keys that contradict each other,
/// names and paths that refer to something, sizes in relation, files that are not there,
/// knobs that are described in words.
const BEYOND_A_SCHEMA: &[&str] = &[
    "part_of_a_page",
    "size_too_large",
    "memory_too_small",
    "knob_without_meaning",
    "bad_knob_value",
    "set_what_variants_replace",
    "set_what_an_axis_replaces",
    "unknown_memcg",
    "memcg_without_any",
    "missing_trace",
    "trace_is_a_directory",
    "no_memory",
    "no_end_of_work",
    "two_ends_of_work",
    "no_time_at_all",
    "duplicate_variant",
    "duplicate_task_name",
    "duplicate_memcg",
    "memory_and_zone",
    "memory_and_node",
    "zipf_and_generator",
    "part_of_a_chunk",
    "build_no_end",
    "build_two_ends",
    "build_no_time",
    "build_header",
    "build_anon_min",
    "build_anon_bounds",
    "build_anon_min_above_default",
    "build_anon_max_below_default",
    "build_compute_bounds",
    "build_compute_above_default",
    "build_object_bounds",
    "build_files",
    "build_text_too_large",
    "swappiness_of_old_kernel",
    "swappiness_of_old_variant",
    "not_a_power_of_two",
    "dirty_ratios",
    "os_holds_all",
    "zone_order",
    "zone_free_too_large",
    "zone_watermarks_fall",
    "zone_one_watermark",
    "device_of_two_kinds",
    "memcg_protection",
    "axis_without_key",
    "axis_beyond_the_list",
    "axis_through_a_value",
    "axis_without_index",
    "axis_bad_value",
    "axis_of_schema",
    "too_many_runs",
    "variant_sets_nonsense",
    "variant_kernel_twice",
    "step_region_unknown",
    "step_beyond_region",
    "step_maps_unmappable",
    "step_reads_anon",
    "step_advice_for_anonymous_memory",
    "region_two_sizes",
    "script_two_sources",
    "theta_of_a_cycle",
    "item_of_parts_of_blocks",
    "reads_of_no_index",
    "too_many_items",
    "reader_stale_bounds",
    "apps_interval",
    "apps_launch",
    "apps_too_large",
    "apps_rereads",
    "apps_two_ends",
];

/// Every other mistake in a file is one for the schema of `mmsim schema` as well, by the
/// word of a validator that shares no code with the reader.
#[test]
fn the_schema_refuses_what_it_can_see() {
    let validator = scenario_support::Validator::new(&Names);
    let mut wrong = Vec::new();
    for c in CASES.iter().filter(|c| c.sets.is_empty()) {
        let Some(judgement) = validator.judge(c.text) else { continue };
        if judgement.is_ok() != BEYOND_A_SCHEMA.contains(&c.name) {
            wrong.push(c.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for name in BEYOND_A_SCHEMA {
        assert!(CASES.iter().any(|c| c.name == *name), "there is no case {name}");
    }
}

/// The message of a file that cannot be read, with its folder taken out.
fn file_error(bytes: Option<&[u8]>) -> (ErrorKind, String) {
    let dir = tempfile::tempdir().expect("a folder for the test");
    let path = dir.path().join("x.toml");
    if let Some(bytes) = bytes {
        std::fs::write(&path, bytes).expect("writing into it");
    }
    let e = Scenario::from_path(&path).expect_err("must be refused");
    (e.kind(), e.to_string().replace(&format!("{}/", dir.path().display()), ""))
}

#[test]
fn a_missing_file() {
    let expected =
        "error: cannot read `x.toml`: there is no such file\n |\n = help: check the path";
    assert_eq!(file_error(None), (ErrorKind::File, expected.to_string()));
}

#[test]
fn a_file_that_is_not_text() {
    let expected = "error: `x.toml` is not UTF-8 text: byte 0xff\n --> x.toml:2:10\n  |\n2 | about = \"�\"\n  |          ^ save the file as UTF-8";
    assert_eq!(file_error(Some(b"name = \"a\"\nabout = \"\xff\"\n")).1, expected);
}

#[test]
fn a_directory_is_no_file() {
    let dir = tempfile::tempdir().expect("a folder for the test");
    let e = Scenario::from_path(dir.path()).expect_err("must be refused");
    let expected = format!("cannot read `{}`: it is a directory", dir.path().display());
    assert_eq!((e.kind(), e.title()), (ErrorKind::File, expected.as_str()));
}

const CASES: &[Case] = &[
    Case {
        name: "unknown_key",
        text: r#"[machine]
memroy = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine: unknown key `memroy`, did you mean `memory`?
 --> x.toml:2:1
  |
2 | memroy = "64MiB"
  | ^^^^^^ write `memory`
  |
  = help: known: kernel, memory, zone, node, cpus, os-overhead, swap, file-device, vm, lru-batch, stat-threshold, pageblock-order, batch-shift, tick, run-ahead, cost, memcg"#,
    },
    Case {
        name: "unknown_top_level_key",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[macine]
cpus = 2
"#,
        sets: &[],
        message: r#"error: unknown key `macine`, did you mean `machine`?
 --> x.toml:7:2
  |
7 | [macine]
  |  ^^^^^^ write `machine`
  |
  = help: known: schema, name, about, seed, seeds, expect-oom, bounds, machine, reclaim, compaction, task, damon, variant, axes"#,
    },
    Case {
        name: "unknown_key_far_from_all",
        text: r#"[machine]
memory = "64MiB"
colour-of-the-sky = "blue"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine: unknown key `colour-of-the-sky`
 --> x.toml:3:1
  |
3 | colour-of-the-sky = "blue"
  | ^^^^^^^^^^^^^^^^^ not a known key
  |
  = help: known: kernel, memory, zone, node, cpus, os-overhead, swap, file-device, vm, lru-batch, stat-threshold, pageblock-order, batch-shift, tick, run-ahead, cost, memcg"#,
    },
    Case {
        name: "key_of_another_workload",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
passes = 3
"#,
        sets: &[],
        message: r#"error: task[0]: unknown key `passes`
 --> x.toml:7:1
  |
7 | passes = 3
  | ^^^^^^ not a known key
  |
  = help: known: workload, name, threads, processes, memcg, start, memory, accesses, duration, windows, write-permille, map, region, files, think"#,
    },
    Case {
        name: "unknown_sysctl",
        text: r#"[machine]
memory = "64MiB"
vm = { page_cluster = 3 }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.vm: unknown key `page_cluster`, did you mean `page-cluster`?
 --> x.toml:3:8
  |
3 | vm = { page_cluster = 3 }
  |        ^^^^^^^^^^^^ write `page-cluster`
  |
  = help: known: swappiness, page-cluster, min_free_kbytes, watermark_scale_factor, watermark_boost_factor, percpu_pagelist_high_fraction, dirty_background_ratio, dirty_ratio, read_ahead_kb, fault_around_bytes, compaction_proactiveness, extfrag_threshold, compact_unevictable_allowed, nr_hugepages, transparent_hugepage, thp_defrag"#,
    },
    Case {
        name: "unknown_cost",
        text: r#"[machine]
memory = "64MiB"
cost = { t_hits = "1ns" }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.cost: unknown cost `t_hits`, did you mean `t_hit`?
 --> x.toml:3:10
  |
3 | cost = { t_hits = "1ns" }
  |          ^^^^^^ write `t_hit`
  |
  = help: known: t_hit, t_copy_page, t_minor_anon, t_minor_map, t_major_cpu, t_minor_file, t_major_file, t_refault_mapped, t_read_cached, t_read_missing, t_refault_read, t_scan, t_scan_mapping, t_unmap, t_evict, t_tlb_flush, t_swap_submit, t_direct_reclaim_entry, t_empty_pass, t_free_page, t_madv_free, t_make_lazyfree, t_walk_pmd, t_walk_pte, t_walk_young, t_rotate, t_migrate, t_cmp_migrate_scan, t_cmp_free_scan, t_isolate, t_mkold, t_young, t_unlisted, t_region, t_frame_walk, t_syscall"#,
    },
    Case {
        name: "missing_unit_string",
        text: r#"[machine]
memory = "64"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.memory: "64" has no unit, write "64MiB"
 --> x.toml:2:10
  |
2 | memory = "64"
  |          ^^^^ write "64MiB""#,
    },
    Case {
        name: "missing_unit_number",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = 64
accesses = 10
"#,
        sets: &[],
        message: r#"error: task[0].memory: 64 has no unit, write "64MiB"
 --> x.toml:5:10
  |
5 | memory = 64
  |          ^^ write "64MiB""#,
    },
    Case {
        name: "wrong_unit",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "64MB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: task[0].memory: "64MB" has the unknown unit "MB", write "64MiB"
 --> x.toml:5:10
  |
5 | memory = "64MB"
  |          ^^^^^^ write "64MiB""#,
    },
    Case {
        name: "duration_for_size",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "64ms"
accesses = 10
"#,
        sets: &[],
        message: r#"error: task[0].memory: "64ms" is a duration, not a size, write "64MiB"
 --> x.toml:5:10
  |
5 | memory = "64ms"
  |          ^^^^^^ write "64MiB""#,
    },
    Case {
        name: "size_for_duration",
        text: r#"[machine]
memory = "64MiB"
tick = "3MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.tick: "3MiB" is a size, not a duration, write "3ms"
 --> x.toml:3:8
  |
3 | tick = "3MiB"
  |        ^^^^^^ write "3ms""#,
    },
    Case {
        name: "missing_unit_of_duration",
        text: r#"[machine]
memory = "64MiB"
tick = 3
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.tick: 3 has no unit, write "3ms"
 --> x.toml:3:8
  |
3 | tick = 3
  |        ^ write "3ms""#,
    },
    Case {
        name: "negative_size",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "-1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: task[0].memory: "-1MiB" is negative, write "1MiB"
 --> x.toml:5:10
  |
5 | memory = "-1MiB"
  |          ^^^^^^^ write "1MiB""#,
    },
    Case {
        name: "negative_number_for_size",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = -64
accesses = 10
"#,
        sets: &[],
        message: r#"error: task[0].memory: -64 is negative, write "64MiB"
 --> x.toml:5:10
  |
5 | memory = -64
  |          ^^^ write "64MiB""#,
    },
    Case {
        name: "part_of_a_page",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1000B"
accesses = 10
"#,
        sets: &[],
        message: r#"error: task[0].memory: "1000B" is not a whole number of pages of 4KiB, write "1 page"
 --> x.toml:5:10
  |
5 | memory = "1000B"
  |          ^^^^^^^ write "1 page""#,
    },
    Case {
        name: "size_too_large",
        text: r#"[machine]
memory = "20000GiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.memory: "20000GiB" is too large, write at most "16383GiB"
 --> x.toml:2:10
  |
2 | memory = "20000GiB"
  |          ^^^^^^^^^^ write at most "16383GiB""#,
    },
    Case {
        name: "memory_too_small",
        text: r#"[machine]
memory = "512KiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.memory: "512KiB" is too small, write at least "1MiB"
 --> x.toml:2:10
  |
2 | memory = "512KiB"
  |          ^^^^^^^^ write at least "1MiB""#,
    },
    Case {
        name: "zero_cpus",
        text: r#"[machine]
memory = "64MiB"
cpus = 0
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.cpus: 0 is out of range, write a whole number from 1 to 1024
 --> x.toml:3:8
  |
3 | cpus = 0
  |        ^ write a whole number from 1 to 1024"#,
    },
    Case {
        name: "negative_cpus",
        text: r#"[machine]
memory = "64MiB"
cpus = -1
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.cpus: -1 is out of range, write a whole number from 1 to 1024
 --> x.toml:3:8
  |
3 | cpus = -1
  |        ^^ write a whole number from 1 to 1024"#,
    },
    Case {
        name: "huge_number",
        text: r#"[machine]
memory = "64MiB"
cpus = 99999999999999999999999
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.cpus: 99999999999999999999999 is out of range, write a whole number from 1 to 1024
 --> x.toml:3:8
  |
3 | cpus = 99999999999999999999999
  |        ^^^^^^^^^^^^^^^^^^^^^^^ write a whole number from 1 to 1024"#,
    },
    Case {
        name: "wrong_type",
        text: r#"[machine]
memory = "64MiB"
cpus = "8"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.cpus: found a string ("8"), write a whole number from 1 to 1024
 --> x.toml:3:8
  |
3 | cpus = "8"
  |        ^^^ write a whole number from 1 to 1024"#,
    },
    Case {
        name: "wrong_type_flag",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[[task]]
workload = "cyclic"
memory = "1MiB"
passes = 1
write = "yes"
"#,
        sets: &[],
        message: r#"error: task[1].write: found a string ("yes"), write true or false
  --> x.toml:11:9
   |
11 | write = "yes"
   |         ^^^^^ write true or false"#,
    },
    Case {
        name: "table_instead_of_list",
        text: r#"[machine]
memory = "64MiB"
[task]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: task: found a table, write a list of tables: [[task]], not [task]
 --> x.toml:3:1
  |
3 | [task]
  | ^^^^^^ write [[task]]"#,
    },
    Case {
        name: "list_instead_of_table",
        text: r#"[[machine]]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine: found a list, write a table: [machine], not [[machine]]
 --> x.toml:1:1
  |
1 | [[machine]]
  | ^^^^^^^^^^^ write a table"#,
    },
    Case {
        name: "unknown_preset",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[reclaim]
preset = "clasic-v5.9"
"#,
        sets: &[],
        message: r#"error: reclaim: unknown preset `clasic-v5.9`, did you mean `classic-v5.9`?
 --> x.toml:8:10
  |
8 | preset = "clasic-v5.9"
  |          ^^^^^^^^^^^^^ write `classic-v5.9`
  |
  = help: known: classic-v5.5, classic-v5.8, classic-v5.8+prot, classic-v5.9, classic-v6.1, classic-v6.12, classic-seed-2, classic-seed-9fix, mglru-v6.12, random"#,
    },
    Case {
        name: "unknown_preset_of_variant",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[[variant]]
name = "a"
reclaim = { preset = "v5.8+prot" }
"#,
        sets: &[],
        message: r#"error: reclaim: unknown preset `v5.8+prot`, did you mean `classic-v5.8+prot`?
 --> x.toml:9:22
  |
9 | reclaim = { preset = "v5.8+prot" }
  |                      ^^^^^^^^^^^ write `classic-v5.8+prot`
  |
  = help: known: classic-v5.5, classic-v5.8, classic-v5.8+prot, classic-v5.9, classic-v6.1, classic-v6.12, classic-seed-2, classic-seed-9fix, mglru-v6.12, random"#,
    },
    Case {
        name: "unknown_knob",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[[variant]]
name = "a"
reclaim = { preset = "classic-v5.5", anon_star = "inactive" }
"#,
        sets: &[],
        message: r#"error: reclaim (classic-v5.5): unknown knob `anon_star`, did you mean `anon-start`?
 --> x.toml:9:38
  |
9 | reclaim = { preset = "classic-v5.5", anon_star = "inactive" }
  |                                      ^^^^^^^^^ write `anon-start`
  |
  = help: known: anon-start, inactive-ratio"#,
    },
    Case {
        name: "knob_without_meaning",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[reclaim]
preset = "random"
anon-start = "inactive"
"#,
        sets: &[],
        message: r#"error: reclaim (random): "anon-start" is no knob of this policy
 --> x.toml:9:1
  |
9 | anon-start = "inactive"
  | ^^^^^^^^^^ it is one of classic-seed-9fix; write another preset, or leave it out"#,
    },
    Case {
        name: "bad_knob_value",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[reclaim]
anon-start = "warm"
"#,
        sets: &[],
        message: r#"error: reclaim.anon-start: warm does not fit, write another value
 --> x.toml:8:14
  |
8 | anon-start = "warm"
  |              ^^^^^^ does not fit classic-v6.12"#,
    },
    Case {
        name: "unknown_kernel",
        text: r#"[machine]
kernel = "6.2"
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.kernel: unknown kernel `6.2`, did you mean `6.1`?
 --> x.toml:2:10
  |
2 | kernel = "6.2"
  |          ^^^^^ write `6.1`
  |
  = help: known: 4.1, 5.5, 5.8, 5.9, 6.1, 6.12"#,
    },
    Case {
        name: "kernel_as_number",
        text: r#"[machine]
kernel = 6.12
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.kernel: found a number with decimals (6.12), write "4.1", "5.5", "5.8", "5.9", "6.1" or "6.12"
 --> x.toml:2:10
  |
2 | kernel = 6.12
  |          ^^^^ write "4.1", "5.5", "5.8", "5.9", "6.1" or "6.12""#,
    },
    Case {
        name: "unknown_workload",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "unifrom"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: task[0].workload: unknown workload `unifrom`, did you mean `uniform`?
 --> x.toml:4:12
  |
4 | workload = "unifrom"
  |            ^^^^^^^^^ write `uniform`
  |
  = help: known: ebizzy, zipf, uniform, sequential, cyclic, phased, replay, script, masim, kernel-alloc, fragment, highalloc, build, apps, reader"#,
    },
    Case {
        name: "missing_workload",
        text: r#"[machine]
memory = "64MiB"
[[task]]
memory = "1MiB"
"#,
        sets: &[],
        message: r#"error: task[0]: `workload` is missing
 --> x.toml:3:1
  |
3 | [[task]]
  | ^^^^^^^^ add `workload`: "ebizzy", "zipf", "uniform", "sequential", "cyclic", "phased", "replay", "script", "masim", "kernel-alloc", "fragment", "highalloc", "build", "apps" or "reader""#,
    },
    Case {
        name: "unknown_device",
        text: r#"[machine]
memory = "64MiB"
swap = { size = "1GiB", device = "zramm" }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.swap.device: unknown device `zramm`, did you mean `zram`?
 --> x.toml:3:34
  |
3 | swap = { size = "1GiB", device = "zramm" }
  |                                  ^^^^^^^ write `zram`
  |
  = help: known: ramdisk, zram, zram-lzo, zram-zstd, nvme, ssd, hdd"#,
    },
    Case {
        name: "unknown_memcg",
        text: r#"[machine]
memory = "64MiB"
[[machine.memcg]]
name = "service"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
memcg = "servce"
"#,
        sets: &[],
        message: r#"error: task[0].memcg: unknown memory cgroup `servce`, did you mean `service`?
 --> x.toml:9:9
  |
9 | memcg = "servce"
  |         ^^^^^^^^ write `service`
  |
  = help: known: service"#,
    },
    Case {
        name: "memcg_without_any",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
memcg = "a"
"#,
        sets: &[],
        message: r#"error: task[0].memcg: unknown memory cgroup `a`
 --> x.toml:7:9
  |
7 | memcg = "a"
  |         ^^^ there is no memory cgroup to choose from"#,
    },
    Case {
        name: "missing_trace",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "replay"
trace = "none.trace"
"#,
        sets: &[],
        message: r#"error: task[0].trace: there is no file `none.trace`, write a name relative to the scenario file
 --> x.toml:5:9
  |
5 | trace = "none.trace"
  |         ^^^^^^^^^^^^ write a name relative to the scenario file"#,
    },
    Case {
        name: "trace_is_a_directory",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "replay"
trace = "."
"#,
        sets: &[],
        message: r#"error: task[0].trace: `.` is a directory, write the name of a file
 --> x.toml:5:9
  |
5 | trace = "."
  |         ^^^ write the name of a file"#,
    },
    Case {
        name: "no_task",
        text: r#"[machine]
memory = "64MiB"
"#,
        sets: &[],
        message: r#"error: there is no task, so nothing would run
 --> x.toml:1:2
  |
1 | [machine]
  |  ^^^^^^^ add a [[task]] with `workload`"#,
    },
    Case {
        name: "empty_task_list",
        text: r#"task = []
[machine]
memory = "64MiB"
"#,
        sets: &[],
        message: r#"error: task: no task at all, write at least one [[task]]
 --> x.toml:1:8
  |
1 | task = []
  |        ^^ write at least one [[task]]"#,
    },
    Case {
        name: "no_machine",
        text: r#"[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: `machine` is missing
 --> x.toml:1:3
  |
1 | [[task]]
  |   ^^^^ add `machine`: a table"#,
    },
    Case {
        name: "no_memory",
        text: r#"[machine]
cpus = 2
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine: needs `memory` or `zone`
 --> x.toml:1:1
  |
1 | [machine]
  | ^^^^^^^^^ add `memory`: a size such as "64MiB""#,
    },
    Case {
        name: "missing_key",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "cyclic"
memory = "1MiB"
"#,
        sets: &[],
        message: r#"error: task[0]: `passes` is missing
 --> x.toml:3:1
  |
3 | [[task]]
  | ^^^^^^^^ add `passes`: a whole number from 1 to 4294967295"#,
    },
    Case {
        name: "no_end_of_work",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
"#,
        sets: &[],
        message: r#"error: task[0]: needs `accesses` or `duration`
 --> x.toml:3:1
  |
3 | [[task]]
  | ^^^^^^^^ add `accesses`: a whole number from 1 up"#,
    },
    Case {
        name: "two_ends_of_work",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
duration = "10s"
"#,
        sets: &[],
        message: r#"error: task[0]: `accesses` and `duration` contradict each other
 --> x.toml:7:1
  |
7 | duration = "10s"
  | ^^^^^^^^ leave one of them out"#,
    },
    Case {
        name: "no_time_at_all",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
duration = "0s"
"#,
        sets: &[],
        message: r#"error: task[0].duration: no time at all, write a duration such as "10s"
 --> x.toml:6:12
  |
6 | duration = "0s"
  |            ^^^^ write a duration such as "10s""#,
    },
    Case {
        name: "duplicate_variant",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[[variant]]
name = "a"
[[variant]]
name = "a"
"#,
        sets: &[],
        message: r#"error: variant[1].name: "a" is the name of variant[0] too, write another name
  --> x.toml:10:8
   |
10 | name = "a"
   |        ^^^ write another name"#,
    },
    Case {
        name: "duplicate_task_name",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
name = "a"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
name = "a"
"#,
        sets: &[],
        message: r#"error: task[1].name: "a" names two tasks, write another name
  --> x.toml:12:8
   |
12 | name = "a"
   |        ^^^ write another name"#,
    },
    Case {
        name: "duplicate_memcg",
        text: r#"[machine]
memory = "64MiB"
[[machine.memcg]]
name = "a"
[[machine.memcg]]
name = "a"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.memcg[1].name: "a" names two groups, write another name
 --> x.toml:6:8
  |
6 | name = "a"
  |        ^^^ write another name"#,
    },
    Case {
        name: "duplicate_key",
        text: r#"[machine]
memory = "64MiB"
cpus = 1
cpus = 2
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: not valid TOML: duplicate key
 --> x.toml:4:1
  |
4 | cpus = 2
  | ^^^^ duplicate key"#,
    },
    Case {
        name: "memory_and_zone",
        text: r#"[machine]
memory = "64MiB"
[[machine.zone]]
kind = "Normal"
managed = "32MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine: `memory` and `zone` contradict each other
 --> x.toml:3:11
  |
3 | [[machine.zone]]
  |           ^^^^ leave one of them out"#,
    },
    Case {
        name: "memory_and_node",
        text: r#"[machine]
memory = "64MiB"
[[machine.node]]
memory = "32MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine: `memory` and `node` contradict each other
 --> x.toml:3:11
  |
3 | [[machine.node]]
  |           ^^^^ leave one of them out"#,
    },
    Case {
        name: "zipf_and_generator",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "ebizzy"
memory = "1MiB"
records = 1
zipf = 0.5
generator = "lcg"
"#,
        sets: &[],
        message: r#"error: task[0]: `zipf` and `generator` contradict each other
 --> x.toml:8:1
  |
8 | generator = "lcg"
  | ^^^^^^^^^ leave one of them out"#,
    },
    Case {
        name: "part_of_a_chunk",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "ebizzy"
memory = "1000KiB"
records = 1
"#,
        sets: &[],
        message: r#"error: task[0].memory: 250 pages is not a whole number of chunks of 128 pages, write "1MiB"
 --> x.toml:5:10
  |
5 | memory = "1000KiB"
  |          ^^^^^^^^^ write "1MiB""#,
    },
    Case {
        name: "build_no_end",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
"#,
        sets: &[],
        message: r#"error: task[0]: needs `records` or `duration`
 --> x.toml:3:1
  |
3 | [[task]]
  | ^^^^^^^^ add `records`: a whole number from 1 up"#,
    },
    Case {
        name: "build_two_ends",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
duration = "1s"
"#,
        sets: &[],
        message: r#"error: task[0]: `records` and `duration` contradict each other
 --> x.toml:6:1
  |
6 | duration = "1s"
  | ^^^^^^^^ leave one of them out"#,
    },
    Case {
        name: "build_no_time",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
duration = "0s"
"#,
        sets: &[],
        message: r#"error: task[0].duration: no time at all, write a duration such as "10s"
 --> x.toml:5:12
  |
5 | duration = "0s"
  |            ^^^^ write a duration such as "10s""#,
    },
    Case {
        name: "build_windows",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
windows = 0
"#,
        sets: &[],
        message: r#"error: task[0].windows: 0 is out of range, write a whole number from 1 to 10000
 --> x.toml:6:11
  |
6 | windows = 0
  |           ^ write a whole number from 1 to 10000"#,
    },
    Case {
        name: "build_text",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
text = 20
"#,
        sets: &[],
        message: r#"error: task[0].text: 20 has no unit, write "20MiB"
 --> x.toml:6:8
  |
6 | text = 20
  |        ^^ write "20MiB""#,
    },
    Case {
        name: "build_headers",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
headers = 0
"#,
        sets: &[],
        message: r#"error: task[0].headers: 0 is out of range, write a whole number from 1 to 16000
 --> x.toml:6:11
  |
6 | headers = 0
  |           ^ write a whole number from 1 to 16000"#,
    },
    Case {
        name: "build_header",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
header = "0 pages"
"#,
        sets: &[],
        message: r#"error: task[0].header: "0 pages" is too small, write at least "1 page"
 --> x.toml:6:10
  |
6 | header = "0 pages"
  |          ^^^^^^^^^ write at least "1 page""#,
    },
    Case {
        name: "build_header_reads",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
header-reads = 100001
"#,
        sets: &[],
        message: r#"error: task[0].header-reads: 100001 is out of range, write a whole number from 0 to 100000
 --> x.toml:6:16
  |
6 | header-reads = 100001
  |                ^^^^^^ write a whole number from 0 to 100000"#,
    },
    Case {
        name: "build_header_zipf",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
header-zipf = -0.5
"#,
        sets: &[],
        message: r#"error: task[0].header-zipf: -0.5 is out of range, write a number from 0 to 10
 --> x.toml:6:15
  |
6 | header-zipf = -0.5
  |               ^^^^ write a number from 0 to 10"#,
    },
    Case {
        name: "build_sources",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
sources = 16001
"#,
        sets: &[],
        message: r#"error: task[0].sources: 16001 is out of range, write a whole number from 1 to 16000
 --> x.toml:6:11
  |
6 | sources = 16001
  |           ^^^^^ write a whole number from 1 to 16000"#,
    },
    Case {
        name: "build_source",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
source = "20KB"
"#,
        sets: &[],
        message: r#"error: task[0].source: "20KB" has the unknown unit "KB", write "20KiB"
 --> x.toml:6:10
  |
6 | source = "20KB"
  |          ^^^^^^ write "20KiB""#,
    },
    Case {
        name: "build_anon_min",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
anon-min = "0 pages"
"#,
        sets: &[],
        message: r#"error: task[0].anon-min: "0 pages" is too small, write at least "1 page"
 --> x.toml:6:12
  |
6 | anon-min = "0 pages"
  |            ^^^^^^^^^ write at least "1 page""#,
    },
    Case {
        name: "build_anon_bounds",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
anon-min = "40MiB"
anon-max = "20MiB"
"#,
        sets: &[],
        message: r#"error: task[0].anon-max: 20MiB is less than `anon-min`, which is 40MiB, write "40MiB" or more, or change `anon-min`
 --> x.toml:7:12
  |
7 | anon-max = "20MiB"
  |            ^^^^^^^ write "40MiB" or more, or change `anon-min`"#,
    },
    Case {
        name: "build_anon_min_above_default",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
anon-min = "80MiB"
"#,
        sets: &[],
        message: r#"error: task[0].anon-min: 80MiB is more than `anon-max`, which is 60MiB, write "60MiB" or less, or change `anon-max`
 --> x.toml:6:12
  |
6 | anon-min = "80MiB"
  |            ^^^^^^^ write "60MiB" or less, or change `anon-max`"#,
    },
    Case {
        name: "build_anon_max_below_default",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
anon-max = "10MiB"
"#,
        sets: &[],
        message: r#"error: task[0].anon-max: 10MiB is less than `anon-min`, which is 20MiB, write "20MiB" or more, or change `anon-min`
 --> x.toml:6:12
  |
6 | anon-max = "10MiB"
  |            ^^^^^^^ write "20MiB" or more, or change `anon-min`"#,
    },
    Case {
        name: "build_bursts",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
bursts = 0
"#,
        sets: &[],
        message: r#"error: task[0].bursts: 0 is out of range, write a whole number from 1 to 1000
 --> x.toml:6:10
  |
6 | bursts = 0
  |          ^ write a whole number from 1 to 1000"#,
    },
    Case {
        name: "build_passes",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
passes = -1
"#,
        sets: &[],
        message: r#"error: task[0].passes: -1 is negative, write a whole number from 0 to 1000
 --> x.toml:6:10
  |
6 | passes = -1
  |          ^^ write a whole number from 0 to 1000"#,
    },
    Case {
        name: "build_compute",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
compute-min = 300
"#,
        sets: &[],
        message: r#"error: task[0].compute-min: 300 has no unit, write "300ms"
 --> x.toml:6:15
  |
6 | compute-min = 300
  |               ^^^ write "300ms""#,
    },
    Case {
        name: "build_compute_bounds",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
compute-min = "2s"
compute-max = "1s"
"#,
        sets: &[],
        message: r#"error: task[0].compute-max: 1s is less than `compute-min`, which is 2s, write "2s" or more, or change `compute-min`
 --> x.toml:7:15
  |
7 | compute-max = "1s"
  |               ^^^^ write "2s" or more, or change `compute-min`"#,
    },
    Case {
        name: "build_compute_above_default",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
compute-min = "2s"
"#,
        sets: &[],
        message: r#"error: task[0].compute-min: 2s is more than `compute-max`, which is 1300ms, write "1300ms" or less, or change `compute-max`
 --> x.toml:6:15
  |
6 | compute-min = "2s"
  |               ^^^^ write "1300ms" or less, or change `compute-max`"#,
    },
    Case {
        name: "build_object_min",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
object-min = "20 KB"
"#,
        sets: &[],
        message: r#"error: task[0].object-min: "20 KB" has the unknown unit "KB", write "20KiB"
 --> x.toml:6:14
  |
6 | object-min = "20 KB"
  |              ^^^^^^^ write "20KiB""#,
    },
    Case {
        name: "build_object_bounds",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
object-min = "200KiB"
object-max = "100KiB"
"#,
        sets: &[],
        message: r#"error: task[0].object-max: 25 pages is less than `object-min`, which is 50 pages, write "50 pages" or more, or change `object-min`
 --> x.toml:7:14
  |
7 | object-max = "100KiB"
  |              ^^^^^^^^ write "50 pages" or more, or change `object-min`"#,
    },
    Case {
        name: "build_files",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
object-max = "3GiB"
"#,
        sets: &[],
        message: r#"error: task[0].object-max: all files of the build are 4718625240 pages, too many, write a smaller size, or fewer files
 --> x.toml:6:14
  |
6 | object-max = "3GiB"
  |              ^^^^^^ write a smaller size, or fewer files"#,
    },
    Case {
        name: "build_text_too_large",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
text = "16383GiB"
object-max = "200KiB"
"#,
        sets: &[],
        message: r#"error: task[0].text: all files of the build are 8589733304 pages, too many, write a smaller size, or fewer files
 --> x.toml:6:8
  |
6 | text = "16383GiB"
  |        ^^^^^^^^^^ write a smaller size, or fewer files"#,
    },
    Case {
        name: "build_link_every",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
link-every = 1001
"#,
        sets: &[],
        message: r#"error: task[0].link-every: 1001 is out of range, write a whole number from 0 to 1000
 --> x.toml:6:14
  |
6 | link-every = 1001
  |              ^^^^ write a whole number from 0 to 1000"#,
    },
    Case {
        name: "build_unmovable",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
unmovable = 1.5
"#,
        sets: &[],
        message: r#"error: task[0].unmovable: found a number with decimals (1.5), write a whole number from 0 to 1000000
 --> x.toml:6:13
  |
6 | unmovable = 1.5
  |             ^^^ write a whole number from 0 to 1000000"#,
    },
    Case {
        name: "build_reclaimable",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
reclaimable = "200"
"#,
        sets: &[],
        message: r#"error: task[0].reclaimable: found a string ("200"), write a whole number from 0 to 1000000
 --> x.toml:6:15
  |
6 | reclaimable = "200"
  |               ^^^^^ write a whole number from 0 to 1000000"#,
    },
    Case {
        name: "swappiness_of_old_kernel",
        text: r#"[machine]
kernel = "5.5"
memory = "64MiB"
vm = { swappiness = 150 }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.vm.swappiness: 150 is above 100, the most that kernel 5.5 takes, write 100 or less, or use kernel 5.8 or later
 --> x.toml:4:21
  |
4 | vm = { swappiness = 150 }
  |                     ^^^ write 100 or less, or use kernel 5.8 or later"#,
    },
    Case {
        name: "swappiness_of_old_variant",
        text: r#"[machine]
memory = "64MiB"
vm = { swappiness = 150 }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[[variant]]
name = "old"
kernel = "5.5"
"#,
        sets: &[],
        message: r#"error: machine.vm.swappiness: 150 is above 100, the most that kernel 5.5 takes, write 100 or less, or use kernel 5.8 or later
 --> x.toml:3:21
  |
3 | vm = { swappiness = 150 }
  |                     ^^^ write 100 or less, or use kernel 5.8 or later"#,
    },
    Case {
        name: "out_of_range",
        text: r#"[machine]
memory = "64MiB"
vm = { swappiness = 201 }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.vm.swappiness: 201 is out of range, write a whole number from 0 to 200
 --> x.toml:3:21
  |
3 | vm = { swappiness = 201 }
  |                     ^^^ write a whole number from 0 to 200"#,
    },
    Case {
        name: "number_out_of_range",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "zipf"
memory = "1MiB"
accesses = 10
theta = 11.5
"#,
        sets: &[],
        message: r#"error: task[0].theta: 11.5 is out of range, write a number from 0 to 10
 --> x.toml:7:9
  |
7 | theta = 11.5
  |         ^^^^ write a number from 0 to 10"#,
    },
    Case {
        name: "number_is_nan",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "zipf"
memory = "1MiB"
accesses = 10
theta = nan
"#,
        sets: &[],
        message: r#"error: task[0].theta: NaN is out of range, write a number from 0 to 10
 --> x.toml:7:9
  |
7 | theta = nan
  |         ^^^ write a number from 0 to 10"#,
    },
    Case {
        name: "not_a_power_of_two",
        text: r#"[machine]
memory = "64MiB"
vm = { fault_around_bytes = 12288 }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.vm.fault_around_bytes: 12288 is not a power of two, write 4096 or 65536
 --> x.toml:3:29
  |
3 | vm = { fault_around_bytes = 12288 }
  |                             ^^^^^ write 4096 or 65536"#,
    },
    Case {
        name: "dirty_ratios",
        text: r#"[machine]
memory = "64MiB"
vm = { dirty_ratio = 5 }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.vm.dirty_ratio: 5 is below dirty_background_ratio, which is 10, write 10 or more
 --> x.toml:3:22
  |
3 | vm = { dirty_ratio = 5 }
  |                      ^ write 10 or more"#,
    },
    Case {
        name: "os_holds_all",
        text: r#"[machine]
memory = "64MiB"
os-overhead = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.os-overhead: the system would hold all 63MiB of memory, write less
 --> x.toml:3:15
  |
3 | os-overhead = "64MiB"
  |               ^^^^^^^ write less"#,
    },
    Case {
        name: "zone_order",
        text: r#"[machine]
[[machine.zone]]
kind = "Normal"
managed = "16MiB"
[[machine.zone]]
kind = "DMA"
managed = "15MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.zone[1].kind: DMA after Normal, write each kind once, in address order: DMA, DMA32, Normal, Movable
 --> x.toml:6:8
  |
6 | kind = "DMA"
  |        ^^^^^ write each kind once, in address order: DMA, DMA32, Normal, Movable"#,
    },
    Case {
        name: "zone_free_too_large",
        text: r#"[machine]
[[machine.zone]]
kind = "Normal"
managed = "16MiB"
free-at-start = "17MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.zone[0].free-at-start: 17MiB is more than the zone, write at most "16MiB"
 --> x.toml:5:17
  |
5 | free-at-start = "17MiB"
  |                 ^^^^^^^ write at most "16MiB""#,
    },
    Case {
        name: "zone_watermarks_fall",
        text: r#"[machine]
[[machine.zone]]
kind = "Normal"
managed = "16MiB"
min = "30 pages"
low = "20 pages"
high = "40 pages"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.zone[0].min: watermarks min 30, low 20, high 40 pages fall, write min <= low <= high
 --> x.toml:5:7
  |
5 | min = "30 pages"
  |       ^^^^^^^^^^ write min <= low <= high"#,
    },
    Case {
        name: "device_without_tags",
        text: r#"[machine]
memory = "64MiB"
[machine.swap]
size = "64MiB"
[machine.swap.device]
name = "slow"
read = "8ms"
write = "8ms"
queue_depth = 0
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.swap.device.queue_depth: 0 is out of range, write a whole number from 1 to 65536
 --> x.toml:9:15
  |
9 | queue_depth = 0
  |               ^ write a whole number from 1 to 65536"#,
    },
    Case {
        name: "device_slow_reads",
        text: r#"[machine]
memory = "64MiB"
[machine.swap]
size = "64MiB"
[machine.swap.device]
name = "slow"
read = "8ms"
write = "8ms"
wbt_lat_usec = 10000001
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.swap.device.wbt_lat_usec: 10000001 is out of range, write a whole number from 0 to 10000000
 --> x.toml:9:16
  |
9 | wbt_lat_usec = 10000001
  |                ^^^^^^^^ write a whole number from 0 to 10000000"#,
    },
    Case {
        name: "device_write_cache",
        text: r#"[machine]
memory = "64MiB"
[machine.swap]
size = "64MiB"
[machine.swap.device]
name = "slow"
read = "8ms"
write = "8ms"
write_cache = "yes"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.swap.device.write_cache: found a string ("yes"), write true or false
 --> x.toml:9:15
  |
9 | write_cache = "yes"
  |               ^^^^^ write true or false"#,
    },
    Case {
        name: "device_of_two_kinds",
        text: r#"[machine]
memory = "64MiB"
[machine.swap]
size = "64MiB"
[machine.swap.device]
name = "slow"
read = "8ms"
write = "8ms"
synchronous = true
rotational = true
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.swap.device.rotational: a device cannot be both synchronous and rotational, write one of them
  --> x.toml:10:14
   |
10 | rotational = true
   |              ^^^^ write one of them"#,
    },
    Case {
        name: "zone_one_watermark",
        text: r#"[machine]
[[machine.zone]]
kind = "Normal"
managed = "16MiB"
low = "20 pages"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.zone[0].low: one watermark without the others, write all of min, low and high, or none
 --> x.toml:5:7
  |
5 | low = "20 pages"
  |       ^^^^^^^^^^ write all of min, low and high, or none"#,
    },
    Case {
        name: "memcg_protection",
        text: r#"[machine]
memory = "64MiB"
[[machine.memcg]]
name = "a"
min = "2MiB"
max = "1MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.memcg[0].min: the protection is larger than `max`, write a size up to `max`
 --> x.toml:5:7
  |
5 | min = "2MiB"
  |       ^^^^^^ write a size up to `max`"#,
    },
    Case {
        name: "invalid_toml",
        text: r#"[machine]
memory = "64MiB"
cpus = = 2
"#,
        sets: &[],
        message: r#"error: not valid TOML: extra `=`, expected nothing
 --> x.toml:3:8
  |
3 | cpus = = 2
  |        ^ extra `=`, expected nothing"#,
    },
    Case {
        name: "unclosed_string",
        text: r#"name = "abc
"#,
        sets: &[],
        message: r#"error: not valid TOML: invalid basic string, expected `"`
 --> x.toml:1:12
  |
1 | name = "abc
  |            ^ invalid basic string, expected `"`"#,
    },
    Case {
        name: "axis_without_key",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
"machine.vm.swapiness" = [1, 2]
"#,
        sets: &[],
        message: r#"error: machine.vm: unknown key `swapiness`, did you mean `swappiness`?
 --> x.toml:8:1
  |
8 | "machine.vm.swapiness" = [1, 2]
  | ^^^^^^^^^^^^^^^^^^^^^^ write `swappiness`
  |
  = help: known: swappiness, page-cluster, min_free_kbytes, watermark_scale_factor, watermark_boost_factor, percpu_pagelist_high_fraction, dirty_background_ratio, dirty_ratio, read_ahead_kb, fault_around_bytes, compaction_proactiveness, extfrag_threshold, compact_unevictable_allowed, nr_hugepages, transparent_hugepage, thp_defrag"#,
    },
    Case {
        name: "axis_beyond_the_list",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
"task[1].memory" = ["1MiB"]
"#,
        sets: &[],
        message: r#"error: task[1].memory: task[1] does not exist, `task` has 1 entry
 --> x.toml:8:1
  |
8 | "task[1].memory" = ["1MiB"]
  | ^^^^^^^^^^^^^^^^ write index 0"#,
    },
    Case {
        name: "axis_through_a_value",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
"machine.memory.size" = ["1MiB"]
"#,
        sets: &[],
        message: r#"error: machine.memory.size: `machine.memory` is a string
 --> x.toml:8:1
  |
8 | "machine.memory.size" = ["1MiB"]
  | ^^^^^^^^^^^^^^^^^^^^^ write `machine.memory`"#,
    },
    Case {
        name: "axis_without_index",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
"task.memory" = ["1MiB"]
"#,
        sets: &[],
        message: r#"error: task.memory: `task` is a list
 --> x.toml:8:1
  |
8 | "task.memory" = ["1MiB"]
  | ^^^^^^^^^^^^^ write `task[0].memory`"#,
    },
    Case {
        name: "axis_is_no_path",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
"task[x].memory" = ["1MiB"]
"#,
        sets: &[],
        message: r#"error: "task[x].memory" is not a path
 --> x.toml:8:1
  |
8 | "task[x].memory" = ["1MiB"]
  | ^^^^^^^^^^^^^^^^ write keys joined by points, lists with an index: "task[0].memory""#,
    },
    Case {
        name: "axis_without_quotes",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
machine.memory = ["1MiB"]
"#,
        sets: &[],
        message: r#"error: axes."machine": found a table, write a list of values
 --> x.toml:8:1
  |
8 | machine.memory = ["1MiB"]
  | ^^^^^^^ a path needs quotes: "task[0].memory" = [..]"#,
    },
    Case {
        name: "axis_is_no_list",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
"machine.memory" = "1MiB"
"#,
        sets: &[],
        message: r#"error: axes."machine.memory": found a string ("1MiB"), write a list of values
 --> x.toml:8:20
  |
8 | "machine.memory" = "1MiB"
  |                    ^^^^^^ write ["1MiB"]"#,
    },
    Case {
        name: "axis_empty",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
"machine.memory" = []
"#,
        sets: &[],
        message: r#"error: axes."machine.memory": an empty axis runs nothing
 --> x.toml:8:20
  |
8 | "machine.memory" = []
  |                    ^^ write at least one value"#,
    },
    Case {
        name: "axis_bad_value",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
"machine.memory" = ["64MiB", "64"]
"#,
        sets: &[],
        message: r#"error: machine.memory: "64" has no unit, write "64MiB"
 --> x.toml:8:30
  |
8 | "machine.memory" = ["64MiB", "64"]
  |                              ^^^^ write "64MiB""#,
    },
    Case {
        name: "axis_of_schema",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
"schema" = [1, 2]
"#,
        sets: &[],
        message: r#"error: axes: `schema` cannot be set here
 --> x.toml:8:1
  |
8 | "schema" = [1, 2]
  | ^^^^^^^^ write another path"#,
    },
    Case {
        name: "too_many_runs",
        text: r#"seeds = 10000
[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
"seed" = [1, 2]
"#,
        sets: &[],
        message: r#"error: axes, variants and seeds make more than 10000 runs
 --> x.toml:8:2
  |
8 | [axes]
  |  ^^^^ write fewer of them"#,
    },
    Case {
        name: "schema_2",
        text: r#"schema = 2
[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: schema: 2 is not known to this version, write 1
 --> x.toml:1:10
  |
1 | schema = 2
  |          ^ write 1"#,
    },
    Case {
        name: "set_unknown",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[("machine.vm.swapiness", "10")],
        message: r#"error: machine.vm: unknown key `swapiness`, did you mean `swappiness`?
 --> --set:1:1
  |
1 | machine.vm.swapiness=10
  | ^^^^^^^^^^^^^^^^^^^^ write `swappiness`
  |
  = help: known: swappiness, page-cluster, min_free_kbytes, watermark_scale_factor, watermark_boost_factor, percpu_pagelist_high_fraction, dirty_background_ratio, dirty_ratio, read_ahead_kb, fault_around_bytes, compaction_proactiveness, extfrag_threshold, compact_unevictable_allowed, nr_hugepages, transparent_hugepage, thp_defrag"#,
    },
    Case {
        name: "set_bad_value",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[("machine.memory", "64")],
        message: r#"error: machine.memory: 64 has no unit, write "64MiB"
 --> --set:1:16
  |
1 | machine.memory=64
  |                ^^ write "64MiB""#,
    },
    Case {
        name: "set_no_path",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[("machine..memory", "64MiB")],
        message: r#"error: "machine..memory" is not a path
 --> --set:1:1
  |
1 | machine..memory=64MiB
  | ^^^^^^^^^^^^^^^ write keys joined by points, lists with an index: "task[0].memory""#,
    },
    Case {
        name: "set_beyond",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[("task[2].memory", "64MiB")],
        message: r#"error: task[2].memory: task[2] does not exist, `task` has 1 entry
 --> --set:1:1
  |
1 | task[2].memory=64MiB
  | ^^^^^^^^^^^^^^ write index 0"#,
    },
    Case {
        name: "set_what_variants_replace",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[[variant]]
name = "old"
kernel = "5.5"
[[variant]]
name = "own"
reclaim = { preset = "classic-v6.1" }
"#,
        sets: &[("reclaim.preset", "classic-v5.9")],
        message: r#"error: reclaim.preset: every run has another value, of its variant or of an axis
 --> --set:1:16
  |
1 | reclaim.preset=classic-v5.9
  |                ^^^^^^^^^^^^ leave it out, or change it there: variant[0], axes"#,
    },
    Case {
        name: "set_what_an_axis_replaces",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
"task[0].accesses" = [10, 20]
"#,
        sets: &[("task[0].accesses", "30")],
        message: r#"error: task[0].accesses: every run has another value, of its variant or of an axis
 --> --set:1:18
  |
1 | task[0].accesses=30
  |                  ^^ leave it out, or change it there: variant[0], axes"#,
    },
    Case {
        name: "preset_that_variants_replace",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[reclaim]
preset = "classic-seed-10"
[[variant]]
name = "old"
kernel = "5.5"
[[variant]]
name = "own"
reclaim = { preset = "classic-v6.1" }
"#,
        sets: &[],
        message: r#"error: reclaim: unknown preset `classic-seed-10`, did you mean `classic-seed-2`?
 --> x.toml:8:10
  |
8 | preset = "classic-seed-10"
  |          ^^^^^^^^^^^^^^^^^ write `classic-seed-2`
  |
  = help: known: classic-v5.5, classic-v5.8, classic-v5.8+prot, classic-v5.9, classic-v6.1, classic-v6.12, classic-seed-2, classic-seed-9fix, mglru-v6.12, random"#,
    },
    Case {
        name: "variant_sets_nonsense",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[[variant]]
name = "a"
set = { "machine.cpu" = 2 }
"#,
        sets: &[],
        message: r#"error: machine: unknown key `cpu`, did you mean `cpus`?
 --> x.toml:9:9
  |
9 | set = { "machine.cpu" = 2 }
  |         ^^^^^^^^^^^^^ write `cpus`
  |
  = help: known: kernel, memory, zone, node, cpus, os-overhead, swap, file-device, vm, lru-batch, stat-threshold, pageblock-order, batch-shift, tick, run-ahead, cost, memcg"#,
    },
    Case {
        name: "variant_kernel_twice",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[[variant]]
name = "a"
kernel = "5.5"
set = { "machine.kernel" = "6.1" }
"#,
        sets: &[],
        message: r#"error: variant[0].set: `kernel` says the same
  --> x.toml:10:9
   |
10 | set = { "machine.kernel" = "6.1" }
   |         ^^^^^^^^^^^^^^^^ leave one of them out"#,
    },
    Case {
        name: "empty_name",
        text: r#"name = " "
[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: name: an empty name, write a name
 --> x.toml:1:8
  |
1 | name = " "
  |        ^^^ write a name"#,
    },
    Case {
        name: "step_unknown",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = [{ do = "tuoch", region = "cold" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].do: unknown step `tuoch`, did you mean `touch`?
 --> x.toml:6:17
  |
6 | steps = [{ do = "tuoch", region = "cold" }]
  |                 ^^^^^^^ write `touch`
  |
  = help: known: allocate, touch, window, zipf, read, write, madvise, free, sleep, compute, records, drop-caches, memcg-reclaim, phase, repeat"#,
    },
    Case {
        name: "step_advice_for_anonymous_memory",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { log = { pages = 10, kind = "file-shared" } }
steps = [{ do = "madvise", region = "log", advice = "free" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].advice: `free` of `log`, which maps a file: Linux refuses it (EINVAL), write "dontneed" or "pageout"
 --> x.toml:6:53
  |
6 | steps = [{ do = "madvise", region = "log", advice = "free" }]
  |                                                     ^^^^^^ write "dontneed" or "pageout""#,
    },
    Case {
        name: "step_advice_unknown",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 } }
steps = [{ do = "madvise", region = "cold", advice = "pageuot" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].advice: unknown advice `pageuot`, did you mean `pageout`?
 --> x.toml:6:54
  |
6 | steps = [{ do = "madvise", region = "cold", advice = "pageuot" }]
  |                                                      ^^^^^^^^^ write `pageout`
  |
  = help: known: dontneed, free, cold, pageout, willneed, populate-read, populate-write, sequential, random, normal, hugepage, nohugepage"#,
    },
    Case {
        name: "step_region_unknown",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = [{ do = "touch", region = "clod" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].region: unknown region `clod`, did you mean `cold`?
 --> x.toml:6:35
  |
6 | steps = [{ do = "touch", region = "clod" }]
  |                                   ^^^^^^ write `cold`
  |
  = help: known: cold, log"#,
    },
    Case {
        name: "step_beyond_region",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = [{ do = "touch", region = "cold", first = "8 pages", size = "4 pages" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].size: 4 pages reaches beyond the end of `cold`, write at most "2 pages"
 --> x.toml:6:69
  |
6 | steps = [{ do = "touch", region = "cold", first = "8 pages", size = "4 pages" }]
  |                                                                     ^^^^^^^^^ write at most "2 pages""#,
    },
    Case {
        name: "step_maps_unmappable",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = [{ do = "allocate", region = "log" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].region: `log` is never mapped (kind = "read"), write a region of another kind
 --> x.toml:6:38
  |
6 | steps = [{ do = "allocate", region = "log" }]
  |                                      ^^^^^ write a region of another kind"#,
    },
    Case {
        name: "step_reads_anon",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = [{ do = "read", region = "cold" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].region: `cold` is anonymous memory, not a file, write a region with kind = "read"
 --> x.toml:6:34
  |
6 | steps = [{ do = "read", region = "cold" }]
  |                                  ^^^^^^ write a region with kind = "read""#,
    },
    Case {
        name: "step_key_unknown",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = [{ do = "repeat", times = 2, steps = [{ do = "sleep", tme = "1ms" }] }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].steps[0]: unknown key `tme`, did you mean `time`?
 --> x.toml:6:63
  |
6 | steps = [{ do = "repeat", times = 2, steps = [{ do = "sleep", tme = "1ms" }] }]
  |                                                               ^^^ write `time`
  |
  = help: known: do, time"#,
    },
    Case {
        name: "steps_empty",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = []
"#,
        sets: &[],
        message: r#"error: task[0].steps: no step at all, write at least one
 --> x.toml:6:9
  |
6 | steps = []
  |         ^^ write at least one step"#,
    },
    Case {
        name: "region_two_sizes",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10, memory = "1MiB" }, log = { pages = 4, kind = "read" } }
steps = [{ do = "drop-caches" }]
"#,
        sets: &[],
        message: r#"error: task[0].regions.cold: `memory` and `pages` contradict each other
 --> x.toml:5:34
  |
5 | regions = { cold = { pages = 10, memory = "1MiB" }, log = { pages = 4, kind = "read" } }
  |                                  ^^^^^^ leave one of them out"#,
    },
    Case {
        name: "script_two_sources",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "script"
file = "a"
commands = ["b"]
"#,
        sets: &[],
        message: r#"error: task[0]: `file` and `commands` contradict each other
 --> x.toml:6:1
  |
6 | commands = ["b"]
  | ^^^^^^^^ leave one of them out"#,
    },
    Case {
        name: "theta_of_a_cycle",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 10
item = "64KiB"
records = 10
choice = "cyclic"
theta = 0.5
"#,
        sets: &[],
        message: r#"error: task[0].theta: items that are taken in turn follow no law, write choice = "zipf", or leave `theta` out
 --> x.toml:9:9
  |
9 | theta = 0.5
  |         ^^^ write choice = "zipf", or leave `theta` out"#,
    },
    Case {
        name: "item_of_parts_of_blocks",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 10
item = "40KiB"
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].item: 10 pages is not a whole number of blocks of 8 pages, write "16 pages"
 --> x.toml:6:8
  |
6 | item = "40KiB"
  |        ^^^^^^^ write "16 pages""#,
    },
    Case {
        name: "reads_of_no_index",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 10
item = "64KiB"
index-reads = 3
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].index-reads: 3 reads of an index that is empty, write 0, or give `index` a size
 --> x.toml:7:15
  |
7 | index-reads = 3
  |               ^ write 0, or give `index` a size"#,
    },
    Case {
        name: "too_many_items",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 4000000000
item = "64KiB"
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].items: 4000000000 items are 250000000MiB, too many, write fewer items, or smaller ones
 --> x.toml:5:9
  |
5 | items = 4000000000
  |         ^^^^^^^^^^ write fewer items, or smaller ones"#,
    },
    Case {
        name: "reader_stale_bounds",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 10
item = "64KiB"
stale-min = 7
stale-max = 3
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].stale-max: 3 is less than `stale-min`, which is 7, write "7" or more, or change `stale-min`
 --> x.toml:8:13
  |
8 | stale-max = 3
  |             ^ write "7" or more, or change `stale-min`"#,
    },
    Case {
        name: "reader_without_item",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 10
records = 10
"#,
        sets: &[],
        message: r#"error: task[0]: `item` is missing
 --> x.toml:3:1
  |
3 | [[task]]
  | ^^^^^^^^ add `item`: a size such as "64MiB""#,
    },
    Case {
        name: "reader_unknown_key",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 10
item = "64KiB"
index-read = 3
records = 10
"#,
        sets: &[],
        message: r#"error: task[0]: unknown key `index-read`, did you mean `index-reads`?
 --> x.toml:7:1
  |
7 | index-read = 3
  | ^^^^^^^^^^ write `index-reads`
  |
  = help: known: workload, name, threads, processes, memcg, start, records, duration, windows, items, item, block, choice, theta, index, index-reads, stale, stale-min, stale-max, idle"#,
    },
    Case {
        name: "reader_choice",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 10
item = "64KiB"
choice = "cycle"
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].choice: unknown choice `cycle`, did you mean `cyclic`?
 --> x.toml:7:10
  |
7 | choice = "cycle"
  |          ^^^^^^^ write `cyclic`
  |
  = help: known: zipf, cyclic"#,
    },
    Case {
        name: "apps_interval",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "apps"
apps = 3
mapped = "1MiB"
read = "1MiB"
heap = "1MiB"
interval = "10ms"
launch = "5ms"
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].interval: 10ms is too short, write at least "100ms"
 --> x.toml:9:12
  |
9 | interval = "10ms"
  |            ^^^^^^ write at least "100ms""#,
    },
    Case {
        name: "apps_launch",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "apps"
apps = 3
mapped = "1MiB"
read = "1MiB"
heap = "1MiB"
launch = "20s"
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].launch: 20s is more than `interval`, which is 10s, write "10s" or less, or change `interval`
 --> x.toml:9:10
  |
9 | launch = "20s"
  |          ^^^^^ write "10s" or less, or change `interval`"#,
    },
    Case {
        name: "apps_too_large",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "apps"
apps = 30000
mapped = "1MiB"
read = "1MiB"
heap = "4GiB"
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].heap: 4GiB for each of 30000 apps is too much, write a smaller size, or fewer apps
 --> x.toml:8:8
  |
8 | heap = "4GiB"
  |        ^^^^^^ write a smaller size, or fewer apps"#,
    },
    Case {
        name: "apps_rereads",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "apps"
apps = 3
mapped = "1MiB"
read = "1MiB"
heap = "1MiB"
reread-min = 5
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].reread-min: 5 is more than `reread-max`, which is 4, write "4" or less, or change `reread-max`
 --> x.toml:9:14
  |
9 | reread-min = 5
  |              ^ write "4" or less, or change `reread-max`"#,
    },
    Case {
        name: "apps_permille",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "apps"
apps = 3
mapped = "1MiB"
read = "1MiB"
heap = "1MiB"
cold-permille = 1001
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].cold-permille: 1001 is out of range, write a whole number from 0 to 1000
 --> x.toml:9:17
  |
9 | cold-permille = 1001
  |                 ^^^^ write a whole number from 0 to 1000"#,
    },
    Case {
        name: "apps_order",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "apps"
apps = 3
mapped = "1MiB"
read = "1MiB"
heap = "1MiB"
reuse-order = "stack"
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].reuse-order: unknown reuse-order `stack`
 --> x.toml:9:15
  |
9 | reuse-order = "stack"
  |               ^^^^^^^ not a known reuse-order
  |
  = help: known: random, lifo, fifo"#,
    },
    Case {
        name: "apps_two_ends",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "apps"
apps = 3
mapped = "1MiB"
read = "1MiB"
heap = "1MiB"
records = 10
duration = "10s"
"#,
        sets: &[],
        message: r#"error: task[0]: `records` and `duration` contradict each other
  --> x.toml:10:1
   |
10 | duration = "10s"
   | ^^^^^^^^ leave one of them out"#,
    },
    Case {
        name: "script_not_strings",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "script"
commands = ["b", 3]
"#,
        sets: &[],
        message: r#"error: task[0].commands[1]: found a whole number (3), write a string
 --> x.toml:5:18
  |
5 | commands = ["b", 3]
  |                  ^ write a string"#,
    },
];
