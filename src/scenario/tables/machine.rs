//! The machine: its memory, zones, swap, devices, sysctls and memory cgroups.

use super::key;
use crate::scenario::keys::{Fallback, Kind, MANY, TableSpec, U32};

use Fallback::{Auto, Is, Required};
use Kind::{
    Choice, Costs, Count, Device, Flag, Limit, Rate, Rules, Size, Table, Tables, Text, Time,
};

/// `[machine]`.
pub static MACHINE: TableSpec = TableSpec {
    title: "[machine]",
    doc: "Give `memory`, or `[[machine.zone]]`, or `[[machine.node]]`.",
    groups: &[&[
        key("kernel", Kind::Kernel, Is("\"6.12\""), "whose memory management the machine follows"),
        key(
            "memory",
            Size(256),
            Auto("sum of the zones or nodes"),
            "memory of a machine with one node, divided into zones as described above",
        ),
        key(
            "zone",
            Tables(&ZONE),
            Auto("follows from `memory`"),
            "zones of a machine with one node",
        ),
        key(
            "node",
            Tables(&NODE),
            Auto("one node"),
            "nodes, each with `memory` or zones; at most 255 zones in all",
        ),
        key("cpus", Count(1, 1024), Is("1"), "CPUs"),
        key(
            "os-overhead",
            Size(0),
            Is("\"0 pages\""),
            "held for good by the rest of the system, in every zone in proportion",
        ),
        key("swap", Table(&SWAP), Auto("no swap"), "swap space"),
        key("file-device", Device, Is("\"nvme\""), "device under all files"),
        key("vm", Table(&VM), Is("{}"), "sysctls"),
        key("rules", Rules, Is("{}"), "what the kernel does differently from others, rule by rule"),
        key(
            "lru-batch",
            Count(1, 512),
            Auto("15 up to kernel 6.1, 31 in 6.12"),
            "pages in a per-CPU LRU batch",
        ),
        key(
            "stat-threshold",
            Count(0, 125),
            Auto("by CPUs and memory, as in the kernel"),
            "up to how many activated refaults a CPU keeps to itself for up to a second before reclaim sees them; 0: it sees each",
        ),
        key(
            "pageblock-order",
            Count(1, 10),
            Auto("9, as on x86"),
            "log2 of the pages of a pageblock, the unit of migratetypes and of compaction; at most the order of the largest block",
        ),
        key(
            "batch-shift",
            Count(0, 5),
            Is("0"),
            "divides batch sizes by a power of two, for machines of few pages; 0 is the kernel's own sizes",
        ),
        key(
            "tick",
            Time,
            Is("\"4ms\""),
            "period of the scheduler's tick (1/CONFIG_HZ), at which slices are looked at",
        ),
        key(
            "run-ahead",
            Time,
            Is("\"100us\""),
            "how far hits may run ahead of other threads; `0ns` is strict",
        ),
        key("cost", Costs, Is("{}"), "simulated CPU time of the steps of memory management"),
        key("memcg", Tables(&MEMCG), Auto("the root alone"), "memory cgroups below the root"),
    ]],
};

/// `[[machine.node]]`.
pub static NODE: TableSpec = TableSpec {
    title: "[[machine.node]]",
    doc: "Nodes follow each other in physical memory. Give `memory` or zones.",
    groups: &[&[
        key("memory", Size(256), Auto("sum of its zones"), "memory of the node"),
        key(
            "zone",
            Tables(&ZONE),
            Auto("follows from `memory`"),
            "zones of the node, `[[machine.node.zone]]`",
        ),
    ]],
};

/// `[[machine.zone]]`.
pub static ZONE: TableSpec = TableSpec {
    title: "[[machine.zone]]",
    doc: "In address order. What is left out follows the kernel's formulas.",
    groups: &[&[
        key("kind", Choice(&["DMA", "DMA32", "Normal", "Movable"]), Required, "which zone"),
        key("managed", Size(1), Required, "memory given to the page allocator"),
        key(
            "free-at-start",
            Size(0),
            Auto("all that is managed"),
            "free memory when the run begins; the kernel holds the rest",
        ),
        key("min", Size(0), Auto("by formula"), "watermark; give all three or none"),
        key("low", Size(0), Auto("by formula"), "watermark"),
        key("high", Size(0), Auto("by formula"), "watermark"),
        key(
            "lowmem-reserve",
            Size(0),
            Auto("by formula"),
            "kept from requests that could be served by a higher zone",
        ),
        key("pcp", Table(&PCP), Auto("by formula"), "per-CPU lists"),
    ]],
};

/// `pcp` of a zone.
pub static PCP: TableSpec = TableSpec {
    title: "pcp of a zone",
    doc: "`{ high = 0, batch = 1 }` switches per-CPU lists off.",
    groups: &[&[
        key("high", Count(0, U32), Required, "pages on a list before some go back"),
        key("batch", Count(1, U32), Required, "pages moved at a time"),
    ]],
};

/// `machine.swap`.
pub static SWAP: TableSpec = TableSpec {
    title: "machine.swap",
    doc: "Swap space.",
    groups: &[&[
        key(
            "size",
            Size(0),
            Required,
            "usable slots, a page each; `0 pages` is swap that is always full",
        ),
        key("device", Device, Is("\"zram\""), "device under it"),
    ]],
};

/// A device of one's own.
pub static DEVICE: TableSpec = TableSpec {
    title: "A device of one's own",
    doc: "Instead of the name of a preset (`mmsim list devices`): `device = { read = \"80us\", write = \"20us\" }`.",
    groups: &[&[
        key("name", Text, Is("\"custom\""), "name in reports"),
        key("read", Time, Required, "latency of a read request"),
        key("write", Time, Required, "latency of a write request"),
        key(
            "servers",
            Count(1, 65_536),
            Auto("one for each CPU"),
            "requests served at the same time",
        ),
        key("bandwidth", Rate, Auto("not limited"), "of reads, over all servers"),
        key("write-bandwidth", Rate, Auto("`bandwidth`"), "of writes, over all servers"),
        key(
            "synchronous",
            Flag,
            Is("false"),
            "the CPU of the caller does the work (zram, ramdisk)",
        ),
        key(
            "rotational",
            Flag,
            Is("false"),
            "one shared swap cluster, readahead by offset, no latency for requests that continue the last",
        ),
        key(
            "stored-bytes-per-page",
            Count(0, 4096),
            Is("0"),
            "machine memory that a stored page takes (zram)",
        ),
        key(
            "queue_depth",
            Count(1, 65_536),
            Is("32"),
            "requests that an asynchronous device takes at once: who writes more sleeps",
        ),
        key(
            "wbt_lat_usec",
            Count(0, 10_000_000),
            Auto("2000, rotational 75000"),
            "how long reads should take at most, else there are fewer writes at once: 16, 1 to 3/4 of queue_depth; 0: no matter",
        ),
        key(
            "write_cache",
            Flag,
            Is("false"),
            "caches writes: who is throttled waits until all of them have ended",
        ),
    ]],
};

/// The sysctl is an `int` of KiB, and of centiseconds.
const MOST_KIB: u64 = i32::MAX as u64;
const CENTISECONDS: u64 = i32::MAX as u64;

/// `[machine.vm]`.
pub static VM: TableSpec = TableSpec {
    title: "[machine.vm]",
    doc: "The names of /proc/sys/vm, and of two files of /sys. As in the kernel, the name carries the unit.",
    groups: &[&[
        key(
            "swappiness",
            Count(0, 200),
            Is("60"),
            "weight of anonymous memory in reclaim; at most 100 before kernel 5.8",
        ),
        key("page-cluster", Count(0, 31), Is("3"), "log2 of the pages of swap readahead"),
        key(
            "min_free_kbytes",
            Count(0, MOST_KIB),
            Auto("by formula"),
            "base of the watermarks, KiB; only the kernel's own choice is held between 128 and 262144",
        ),
        key(
            "watermark_scale_factor",
            Count(1, 3000),
            Auto("10"),
            "distance of the watermarks, 1/10000 of a zone, from kernel 5.5 on; at most 1000 before 6.1",
        ),
        key(
            "watermark_boost_factor",
            Count(0, 1_000_000),
            Auto("15000"),
            "boost after fragmentation, 1/10000 of the high watermark, from kernel 5.5 on",
        ),
        key(
            "percpu_pagelist_high_fraction",
            Count(0, U32),
            Auto("0"),
            "size of per-CPU lists as a fraction of the zone, from kernel 6.1 on; 0 is the kernel's rule, else at least 8",
        ),
        key("percpu_pagelist_fraction", Count(0, U32), Auto("0"), "the same on kernels up to 5.9"),
        key(
            "dirty_background_ratio",
            Count(0, 100),
            Auto("10"),
            "percent of available memory at which writeback begins; half of the other threshold if not below it",
        ),
        key("dirty_ratio", Count(0, 100), Auto("20"), "percent at which writers are throttled"),
        key(
            "dirty_background_bytes",
            Count(1, MANY),
            Auto("`dirty_background_ratio`"),
            "bytes at which writeback begins, instead of the ratio",
        ),
        key(
            "dirty_bytes",
            Count(8192, MANY),
            Auto("`dirty_ratio`"),
            "bytes at which writers are throttled, instead of the ratio",
        ),
        key(
            "dirty_expire_centisecs",
            Count(0, CENTISECONDS),
            Is("3000"),
            "age at which dirty pages are written, 1/100 s",
        ),
        key(
            "dirty_writeback_centisecs",
            Count(0, CENTISECONDS),
            Is("500"),
            "time between two looks for such pages, 1/100 s; 0 is off",
        ),
        key("read_ahead_kb", Count(0, 1 << 20), Is("128"), "largest file readahead, KiB"),
        key(
            "fault_around_bytes",
            Count(4096, 1 << 21),
            Is("65536"),
            "mapped around a file fault, a power of two; 4096 is off",
        ),
        key(
            "compaction_proactiveness",
            Count(0, 100),
            Auto("20"),
            "how little fragmentation kcompactd leaves in the background, from kernel 5.9 on; 0 is off",
        ),
        key(
            "extfrag_threshold",
            Count(0, 1000),
            Is("500"),
            "fragmentation index up to which memory is reclaimed rather than compacted",
        ),
        key(
            "compact_unevictable_allowed",
            Count(0, 1),
            Is("1"),
            "whether compaction moves pages of locked mappings",
        ),
        key(
            "nr_hugepages",
            Count(0, U32),
            Is("0"),
            "huge pages of hugetlbfs, set aside from free memory before anything runs",
        ),
        key(
            "transparent_hugepage",
            Choice(THP),
            Is("\"never\""),
            "anonymous mappings whose first write takes a huge page: all, those with advice, none",
        ),
        key(
            "thp_defrag",
            Choice(THP_DEFRAG),
            Is("\"madvise\""),
            "faults that compact and reclaim for a huge page, as `transparent_hugepage/defrag`",
        ),
    ]],
};

/// `[[machine.memcg]]`.
pub static MEMCG: TableSpec = TableSpec {
    title: "[[machine.memcg]]",
    doc: "A child of the root group, with the files of cgroup v2.",
    groups: &[&[
        key("name", Text, Required, "name, for `task.memcg` and reports"),
        key("min", Size(0), Is("\"0 pages\""), "never reclaimed below this"),
        key("low", Size(0), Is("\"0 pages\""), "reclaimed below this only if nothing else is left"),
        key("high", Limit, Is("\"max\""), "throttled and reclaimed above this"),
        key("max", Limit, Is("\"max\""), "hard limit"),
        key("swap-max", Limit, Is("\"max\""), "limit of swapped memory"),
    ]],
};

/// For whom huge pages are made (`transparent_hugepage/enabled`).
pub const THP: &[&str] = &["always", "madvise", "never"];

/// How hard a fault tries to get one (`transparent_hugepage/defrag`).
pub const THP_DEFRAG: &[&str] = &["always", "defer", "defer+madvise", "madvise", "never"];
