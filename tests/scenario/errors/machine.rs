//! Mistakes in `[machine]`: its keys, zones, devices and memory cgroups.

use super::Case;

pub(crate) const CASES: &[Case] = &[
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
  = help: known: kernel, memory, zone, node, cpus, os-overhead, swap, file-device, vm, rules, lru-batch, stat-threshold, pageblock-order, batch-shift, tick, run-ahead, cost, memcg"#,
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
  = help: known: kernel, memory, zone, node, cpus, os-overhead, swap, file-device, vm, rules, lru-batch, stat-threshold, pageblock-order, batch-shift, tick, run-ahead, cost, memcg"#,
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
  = help: known: swappiness, page-cluster, min_free_kbytes, watermark_scale_factor, watermark_boost_factor, percpu_pagelist_high_fraction, percpu_pagelist_fraction, dirty_background_ratio, dirty_ratio, dirty_background_bytes, dirty_bytes, dirty_expire_centisecs, dirty_writeback_centisecs, read_ahead_kb, fault_around_bytes, compaction_proactiveness, extfrag_threshold, compact_unevictable_allowed, nr_hugepages, transparent_hugepage, thp_defrag"#,
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
        name: "unknown_rule",
        text: r#"[machine]
memory = "64MiB"
rules = { kcompact = "no" }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.rules: unknown rule `kcompact`, did you mean `kcompactd`?
 --> x.toml:3:11
  |
3 | rules = { kcompact = "no" }
  |           ^^^^^^^^ write `kcompactd`
  |
  = help: known: wmark-form, scaled-watermarks, fallback, free-init, merge-retypes, highatomic, avoid-fragmentation, fair-zones, pcp-orders, pcp-batches, pcp-high-of-zone, pcp-short-in-reclaim, lru-by-zone, kswapd-by-zone, pass-goes-on-by-amount, shrinker-by-priority, slow-path, direct-compaction, compaction-needs-fs, compaction-ready-exact, kcompactd, proactive-compaction, counts-retried-faults, anon-exclusive, random-has-no-recency, mmap-miss-skips-workingset, migration-keeps-bits, cold-sets-workingset, pageout-ignores-references, lru-batch, unmap-frees-upwards, memcg-charge-batch, process-kernel-pages, memory-reclaim-parts, high-retries, cgroup-writeback, scheduler, wbt-one-depth"#,
    },
    Case {
        name: "rule_with_another_value",
        text: r#"[machine]
memory = "64MiB"
rules = { scheduler = "bfs" }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.rules.scheduler: unknown value "bfs", write one of "cfs", "eevdf"
 --> x.toml:3:23
  |
3 | rules = { scheduler = "bfs" }
  |                       ^^^^^ write "cfs" or "eevdf""#,
    },
    Case {
        name: "rule_out_of_range",
        text: r#"[machine]
memory = "64MiB"
rules = { lru-batch = 0 }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.rules.lru-batch: found 0, write a whole number from 1 to 512
 --> x.toml:3:23
  |
3 | rules = { lru-batch = 0 }
  |                       ^ write a whole number from 1 to 512"#,
    },
    Case {
        name: "rule_and_key",
        text: r#"[machine]
memory = "64MiB"
lru-batch = 15
rules = { lru-batch = 15 }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.rules.lru-batch: `machine.lru-batch` says the same
 --> x.toml:4:11
  |
4 | rules = { lru-batch = 15 }
  |           ^^^^^^^^^ leave one of them out"#,
    },
    Case {
        name: "rules_that_contradict",
        text: r#"[machine]
memory = "64MiB"
rules = { kcompactd = "no" }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.rules: proactive-compaction = "yes" makes no sense here: kcompactd is what looks for fragmentation; write proactive-compaction = "no", or kcompactd = "yes"
 --> x.toml:3:23
  |
3 | rules = { kcompactd = "no" }
  |                       ^^^^ does not fit the other rules"#,
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
        message: r#"error: machine.kernel: kernel 6.2 is not modelled, the nearest before it is 6.1
 --> x.toml:2:10
  |
2 | kernel = "6.2"
  |          ^^^^^ write "6.1"
  |
  = help: modelled are 4.1, 5.5, 5.8, 5.9, 6.1, 6.12"#,
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
        name: "dirty_ratio_and_bytes",
        text: r#"[machine]
memory = "64MiB"
vm = { dirty_ratio = 5, dirty_bytes = 1048576 }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.vm: `dirty_ratio` and `dirty_bytes` contradict each other
 --> x.toml:3:25
  |
3 | vm = { dirty_ratio = 5, dirty_bytes = 1048576 }
  |                         ^^^^^^^^^^^ leave one of them out"#,
    },
    Case {
        name: "sysctl_of_a_later_kernel",
        text: r#"[machine]
memory = "64MiB"
kernel = "4.1"
vm = { watermark_scale_factor = 100 }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.vm.watermark_scale_factor: kernel 4.1 has no such sysctl (Linux has it since 4.6), write nothing here, or use a kernel that has it
 --> x.toml:4:33
  |
4 | vm = { watermark_scale_factor = 100 }
  |                                 ^^^ write nothing here, or use a kernel that has it"#,
    },
    Case {
        name: "sysctl_of_an_earlier_kernel",
        text: r#"[machine]
memory = "64MiB"
vm = { percpu_pagelist_fraction = 8 }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.vm.percpu_pagelist_fraction: kernel 6.12 has no such sysctl (Linux has it up to 5.13), write `percpu_pagelist_high_fraction` in its place
 --> x.toml:3:35
  |
3 | vm = { percpu_pagelist_fraction = 8 }
  |                                   ^ write `percpu_pagelist_high_fraction` in its place"#,
    },
    Case {
        name: "sysctl_value_of_a_later_kernel",
        text: r#"[machine]
memory = "64MiB"
kernel = "5.9"
vm = { watermark_scale_factor = 1001 }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.vm.watermark_scale_factor: 1001 is above 1000, the most that kernel 5.9 takes, write 1000 or less, or use kernel 6.1
 --> x.toml:4:33
  |
4 | vm = { watermark_scale_factor = 1001 }
  |                                 ^^^^ write 1000 or less, or use kernel 6.1"#,
    },
    Case {
        name: "defrag_of_a_later_kernel",
        text: r#"[machine]
memory = "64MiB"
kernel = "4.1"
vm = { thp_defrag = "defer" }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.vm.thp_defrag: kernel 4.1 does not know "defer" (Linux does since 4.11), write "always", "madvise" or "never"
 --> x.toml:4:21
  |
4 | vm = { thp_defrag = "defer" }
  |                     ^^^^^^^ write "always", "madvise" or "never""#,
    },
    Case {
        name: "kernel_older_than_all",
        text: r#"[machine]
memory = "64MiB"
kernel = "3.10"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.kernel: kernel 3.10 is older than all that are modelled
 --> x.toml:3:10
  |
3 | kernel = "3.10"
  |          ^^^^^^ write "4.1"
  |
  = help: modelled are 4.1, 5.5, 5.8, 5.9, 6.1, 6.12"#,
    },
    Case {
        name: "kernel_that_is_no_version",
        text: r#"[machine]
memory = "64MiB"
kernel = "latest"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.kernel: unknown kernel `latest`
 --> x.toml:3:10
  |
3 | kernel = "latest"
  |          ^^^^^^^^ not a known kernel
  |
  = help: known: 4.1, 5.5, 5.8, 5.9, 6.1, 6.12"#,
    },
    Case {
        name: "sysctl_at_the_top",
        text: r#"vm.swappiness = 10
[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: unknown key `vm.swappiness`, did you mean `machine.vm.swappiness`?
 --> x.toml:1:1
  |
1 | vm.swappiness = 10
  | ^^ write `machine.vm.swappiness`
  |
  = help: known: schema, name, about, seed, seeds, expect-oom, bounds, machine, reclaim, compaction, task, damon, variant, axes, expect"#,
    },
    Case {
        name: "sysctl_by_option_at_the_top",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[("swappiness", "10")],
        message: r#"error: unknown key `swappiness`, did you mean `machine.vm.swappiness`?
 --> --set:1:1
  |
1 | swappiness=10
  | ^^^^^^^^^^ write `machine.vm.swappiness`
  |
  = help: known: schema, name, about, seed, seeds, expect-oom, bounds, machine, reclaim, compaction, task, damon, variant, axes, expect"#,
    },
    Case {
        name: "later_parameter_of_a_module",
        text: r#"[machine]
memory = "64MiB"
kernel = "6.1"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[[damon]]
module = "damon-reclaim"
parameters = { skip_anon = "Y" }
"#,
        sets: &[],
        message: r#"error: damon[0].parameters.skip_anon: this DAMON has no such parameter (Linux has it since 6.3), leave it out, or use rules or a kernel of 6.12
  --> x.toml:10:16
   |
10 | parameters = { skip_anon = "Y" }
   |                ^^^^^^^^^ leave it out"#,
    },
    Case {
        name: "parameter_that_is_no_bool",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[[damon]]
module = "damon-reclaim"
parameters = { skip_anon = "maybe" }
"#,
        sets: &[],
        message: r#"error: damon[0].parameters.skip_anon: found a string ("maybe"), write "Y" or "N"
 --> x.toml:9:28
  |
9 | parameters = { skip_anon = "maybe" }
  |                            ^^^^^^^ write "Y" or "N""#,
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
];
