//! Mistakes in what makes several runs of a scenario or changes it: variants, axes, `--set`.

use super::Case;

pub(crate) const CASES: &[Case] = &[
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
  = help: known: swappiness, page-cluster, min_free_kbytes, watermark_scale_factor, watermark_boost_factor, percpu_pagelist_high_fraction, percpu_pagelist_fraction, dirty_background_ratio, dirty_ratio, dirty_background_bytes, dirty_bytes, dirty_expire_centisecs, dirty_writeback_centisecs, read_ahead_kb, fault_around_bytes, compaction_proactiveness, extfrag_threshold, compact_unevictable_allowed, nr_hugepages, transparent_hugepage, thp_defrag"#,
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
  = help: known: swappiness, page-cluster, min_free_kbytes, watermark_scale_factor, watermark_boost_factor, percpu_pagelist_high_fraction, percpu_pagelist_fraction, dirty_background_ratio, dirty_ratio, dirty_background_bytes, dirty_bytes, dirty_expire_centisecs, dirty_writeback_centisecs, read_ahead_kb, fault_around_bytes, compaction_proactiveness, extfrag_threshold, compact_unevictable_allowed, nr_hugepages, transparent_hugepage, thp_defrag"#,
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
        name: "axis_value_spelled_twice",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
"machine.rules.lru-batch" = [15, "15"]
"#,
        sets: &[],
        message: r#"error: axes."machine.rules.lru-batch": "15" is there twice
 --> x.toml:8:34
  |
8 | "machine.rules.lru-batch" = [15, "15"]
  |                                  ^^^^ write each value once"#,
    },
    Case {
        name: "axis_spelled_twice",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
"task[0].memory" = ["1MiB"]
"task[00].memory" = ["2MiB"]
"#,
        sets: &[],
        message: r#"error: axes: `task[00].memory` is the same key as `task[0].memory`
 --> x.toml:9:1
  |
9 | "task[00].memory" = ["2MiB"]
  | ^^^^^^^^^^^^^^^^^ write all values in one list"#,
    },
    Case {
        name: "set_a_table_that_an_axis_replaces",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[axes]
"task[0].accesses" = [10, 20]
"#,
        sets: &[("task[0].accesses", "{}")],
        message: r#"error: task[0].accesses: every run has another value, of its variant or of an axis
 --> --set:1:18
  |
1 | task[0].accesses={}
  |                  ^^ leave it out, or change it there: variant[0], axes"#,
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
  = help: known: kernel, memory, zone, node, cpus, os-overhead, swap, file-device, vm, rules, lru-batch, stat-threshold, pageblock-order, batch-shift, tick, run-ahead, cost, memcg"#,
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
        name: "key_of_the_scenario_in_a_variant",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[[variant]]
name = "a"
damon = [{ module = "reclaim" }]
"#,
        sets: &[],
        message: r#"error: variant[0]: `damon` is a key of the whole scenario, write set = { "damon" = .. }
 --> x.toml:9:1
  |
9 | damon = [{ module = "reclaim" }]
  | ^^^^^ write set = { "damon" = .. }"#,
    },
    Case {
        name: "key_of_the_scenario_in_a_task",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
seeds = 3
"#,
        sets: &[],
        message: r#"error: task[0]: `seeds` is a key of the whole scenario, write it at the top level
 --> x.toml:7:1
  |
7 | seeds = 3
  | ^^^^^ write it at the top level"#,
    },
];
