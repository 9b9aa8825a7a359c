//! The tables of all keys, in the order of the documentation. What their columns mean is
//! said in [`super::keys`].

use super::keys::{Fallback, KeySpec, Kind, MANY, TableSpec, U32};

use Fallback::{Auto, Is, Required};
use Kind::{
    Axes, Choice, Compaction, Costs, Count, Damon, Device, File, Flag, Limit, Number, Overrides,
    Parameters, Policy, Rate, Regions, Size, Steps, Table, Tables, Tasks, Text, Texts, Time,
};

const fn key(name: &'static str, kind: Kind, fallback: Fallback, doc: &'static str) -> KeySpec {
    KeySpec { name, kind, fallback, doc }
}

/// The file itself.
pub static ROOT: TableSpec = TableSpec {
    title: "Top level",
    doc: "What the file is, and how often it is run.",
    groups: &[&[
        key("schema", Count(1, 1), Is("1"), "version of this format"),
        key("name", Text, Auto("the name of the file"), "name in reports"),
        key("about", Text, Is("\"\""), "one sentence for people"),
        key("seed", Count(0, MANY), Is("1"), "seed of all random draws of the first run"),
        key("seeds", Count(1, 10_000), Is("1"), "runs per variant; the seeds count up from `seed`"),
        key(
            "expect-oom",
            Flag,
            Is("false"),
            "running out of memory is the expected end, not a failure",
        ),
        key(
            "bounds",
            Flag,
            Is("false"),
            "also compute the misses of the optimum (MIN) on each run's own accesses",
        ),
        key("machine", Table(&MACHINE), Required, "the machine"),
        key(
            "reclaim",
            Policy,
            Auto("the preset of `machine.kernel`"),
            "replacement policy of all variants",
        ),
        key(
            "compaction",
            Compaction,
            Auto("`compaction-v4.1` on kernel 4.1, else `none`"),
            "how large free blocks are made, in all variants",
        ),
        key("task", Tasks, Required, "the work, one `[[task]]` each"),
        key("damon", Tables(&DAMON), Auto("none"), "monitors of accesses, one `[[damon]]` each"),
        key(
            "variant",
            Tables(&VARIANT),
            Auto("one variant called `default`"),
            "what is compared, one `[[variant]]` each",
        ),
        key("axes", Axes, Auto("none"), "paths of keys and the values that each is run with"),
    ]],
};

/// `[[damon]]`.
pub static DAMON: TableSpec = TableSpec {
    title: "[[damon]]",
    doc: "A kdamond with one context. Give `module` and its `parameters`, or the context itself.",
    groups: &[&[
        key("name", Text, Auto("`kdamond.0` and so on"), "name in reports"),
        key(
            "rules",
            Damon,
            Auto("the preset of `machine.kernel`"),
            "what that DAMON does differently from others",
        ),
        key(
            "module",
            Choice(&["damon-reclaim", "damon-lru-sort"]),
            Auto("none"),
            "a context with schemes that the kernel has ready",
        ),
        key(
            "parameters",
            Parameters,
            Auto("the kernel's"),
            "parameters of the module, in the kernel's units",
        ),
        key(
            "ops",
            Choice(&["vaddr", "fvaddr", "paddr"]),
            Auto("`paddr`"),
            "whose addresses: of a process, whose ranges follow its mappings or are fixed, or physical ones",
        ),
        key("task", Text, Auto("none"), "the process, for `vaddr` and `fvaddr`"),
        key(
            "region",
            Tables(&DAMON_REGION),
            Auto("for `paddr` all frames; for `vaddr` the mappings"),
            "what is watched at first",
        ),
        key("start", Time, Is("\"0ns\""), "when it is switched on"),
        key("sample", Time, Auto("`5ms`"), "time between two samples"),
        key("aggr", Time, Auto("`100ms`"), "time of an aggregation"),
        key("ops-update", Time, Auto("`60s`"), "time between two looks at the mappings"),
        key("min-nr-regions", Count(3, U32), Auto("10"), "regions there should at least be"),
        key("max-nr-regions", Count(3, U32), Auto("1000"), "regions there may be at most"),
        key("scheme", Tables(&DAMOS), Auto("none"), "what is done, one `[[damon.scheme]]` each"),
        key(
            "truth",
            Flag,
            Is("false"),
            "run it again to see every access, and report how far the monitor is off; for processes, implies `record`",
        ),
        key(
            "record",
            Flag,
            Is("false"),
            "keep all regions at the end of every aggregation, for `--damon-record`",
        ),
    ]],
};

/// `[[damon.region]]`.
pub static DAMON_REGION: TableSpec = TableSpec {
    title: "[[damon.region]]",
    doc: "A range of addresses, in whole pages.",
    groups: &[&[
        key("start", Size(0), Required, "first address"),
        key("end", Size(1), Required, "address behind the last"),
    ]],
};

/// `[[damon.scheme]]`.
pub static DAMOS: TableSpec = TableSpec {
    title: "[[damon.scheme]]",
    doc: "Regions of this pattern, and what is done with them. All bounds are included.",
    groups: &[&[
        key(
            "action",
            Choice(&[
                "willneed",
                "cold",
                "pageout",
                "hugepage",
                "nohugepage",
                "lru_prio",
                "lru_deprio",
                "migrate_hot",
                "migrate_cold",
                "stat",
            ]),
            Required,
            "what is done",
        ),
        key("min-size", Size(0), Is("\"0 pages\""), "smallest region"),
        key("max-size", Size(0), Auto("any"), "largest region"),
        key("min-nr-accesses", Count(0, U32), Is("0"), "least samples with an access"),
        key("max-nr-accesses", Count(0, U32), Auto("any"), "most samples with an access"),
        key("min-age", Time, Is("\"0ns\""), "least age, rounded down to aggregations"),
        key("max-age", Time, Auto("any"), "largest age"),
        key("apply-interval", Time, Auto("an aggregation"), "time between two passes"),
        key("quota-time", Time, Auto("no limit"), "time of work in a charge window"),
        key("quota-size", Size(0), Auto("no limit"), "memory that is tried in a charge window"),
        key(
            "quota-reset",
            Time,
            Is("\"0ns\""),
            "length of a charge window; 0: every pass has its own",
        ),
        key("weight-size", Count(0, U32), Is("0"), "weight in the score; nothing uses it"),
        key("weight-nr-accesses", Count(0, U32), Is("0"), "weight of the accesses in the score"),
        key("weight-age", Count(0, U32), Is("0"), "weight of the age in the score"),
        key("goal", Tables(&DAMOS_GOAL), Auto("none"), "what the quota is to achieve"),
        key(
            "wmarks",
            Table(&DAMOS_WMARKS),
            Auto("always on"),
            "when it works at all, by free memory",
        ),
        key("filter", Tables(&DAMOS_FILTER), Auto("none"), "what it leaves out"),
        key("target-node", Count(0, 255), Auto("none"), "where migrations go"),
    ]],
};

/// `[[damon.scheme.goal]]`.
pub static DAMOS_GOAL: TableSpec = TableSpec {
    title: "[[damon.scheme.goal]]",
    doc: "A quota that finds its own size.",
    groups: &[&[
        key("metric", Choice(&["user_input", "some_mem_psi_us"]), Required, "what is looked at"),
        key("target", Count(1, MANY), Required, "the value that is wanted"),
        key("current", Count(0, MANY), Is("0"), "the value that the user gives"),
    ]],
};

/// `[damon.scheme.wmarks]`.
pub static DAMOS_WMARKS: TableSpec = TableSpec {
    title: "[damon.scheme.wmarks]",
    doc: "Thousandths of memory that are free.",
    groups: &[&[
        key("interval", Time, Required, "time between two looks while it is off"),
        key("high", Count(0, 1000), Required, "above this it is off"),
        key("mid", Count(0, 1000), Required, "below this it comes back"),
        key("low", Count(0, 1000), Required, "below this it is off"),
    ]],
};

/// `[[damon.scheme.filter]]`.
pub static DAMOS_FILTER: TableSpec = TableSpec {
    title: "[[damon.scheme.filter]]",
    doc: "Memory that a scheme leaves out.",
    groups: &[&[
        key(
            "type",
            Choice(&["anon", "memcg", "young", "addr", "target"]),
            Required,
            "what it speaks about",
        ),
        key("matching", Flag, Is("true"), "`false`: it speaks about all other memory"),
        key("memcg", Text, Auto("none"), "name of the group, for `memcg`"),
        key("start", Size(0), Auto("none"), "first address, for `addr`"),
        key("end", Size(0), Auto("none"), "address behind the last, for `addr`"),
        key("target", Count(0, 0), Auto("none"), "index of the target, for `target`"),
    ]],
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
        key("node", Tables(&NODE), Auto("one node"), "nodes, each with `memory` or zones"),
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
        key("bandwidth", Rate, Auto("not limited"), "over all servers"),
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
            "requests that an asynchronous device takes at once: who writes more to swap sleeps",
        ),
        key(
            "wbt_lat_usec",
            Count(0, 10_000_000),
            Auto("2000, rotational 75000"),
            "how long reads should take at most, else there are fewer writes of swap at once: 16, 1 to 3/4 of queue_depth; 0: no matter",
        ),
        key(
            "write_cache",
            Flag,
            Is("false"),
            "caches writes: who is throttled waits until all of them have ended",
        ),
    ]],
};

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
            Count(128, 262_144),
            Auto("by formula"),
            "base of the watermarks, KiB",
        ),
        key(
            "watermark_scale_factor",
            Count(1, 3000),
            Is("10"),
            "distance of the watermarks, 1/10000 of a zone",
        ),
        key(
            "watermark_boost_factor",
            Count(0, 1_000_000),
            Is("15000"),
            "boost after fragmentation, 1/10000 of the high watermark",
        ),
        key(
            "percpu_pagelist_high_fraction",
            Count(0, U32),
            Is("0"),
            "size of per-CPU lists as a fraction of the zone; 0 is the kernel's rule, else at least 8",
        ),
        key(
            "dirty_background_ratio",
            Count(0, 100),
            Is("10"),
            "percent of available memory at which writeback begins",
        ),
        key("dirty_ratio", Count(0, 100), Is("20"), "percent at which writers are throttled"),
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
            Is("20"),
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

/// `[[variant]]`.
pub static VARIANT: TableSpec = TableSpec {
    title: "[[variant]]",
    doc: "The same work on another machine or under another policy.",
    groups: &[&[
        key("name", Text, Required, "name in reports, unique"),
        key(
            "kernel",
            Kind::Kernel,
            Auto("that of the machine"),
            "sets `machine.kernel`, the reclaim preset of that kernel (`classic-v` and the version), and, where `compaction.preset` is given and not `none`, its compaction",
        ),
        key(
            "reclaim",
            Policy,
            Auto("that of the file"),
            "`preset` and knobs, on top of `[reclaim]`",
        ),
        key(
            "compaction",
            Compaction,
            Auto("that of the file"),
            "`preset` and knobs, on top of `[compaction]`",
        ),
        key(
            "set",
            Overrides,
            Auto("nothing"),
            "other keys by path: `set = { \"machine.vm.swappiness\" = 100 }`",
        ),
    ]],
};

const REGION_KINDS: &[&str] = &["anon", "file-shared", "file-private", "read"];

const TASK: &[KeySpec] = &[
    key("workload", Choice(WORKLOADS), Required, "what it does"),
    key("name", Text, Auto("the workload, with a number if it repeats"), "name in reports, unique"),
    key("threads", Count(1, 1024), Is("1"), "threads of each process; they share its regions"),
    key("processes", Count(1, 1024), Is("1"), "processes, each with regions of its own"),
    key("memcg", Text, Auto("the root"), "memory cgroup"),
    key("start", Time, Is("\"0ns\""), "when it begins"),
];

/// The names of all workloads.
pub const WORKLOADS: &[&str] = &[
    "ebizzy",
    "zipf",
    "uniform",
    "sequential",
    "cyclic",
    "phased",
    "replay",
    "script",
    "masim",
    "kernel-alloc",
    "fragment",
    "highalloc",
    "build",
    "apps",
    "reader",
];

/// What a request for memory of the kernel may do, by the names of the kernel.
pub const GFP: &[&str] = &["kernel", "user", "nofs", "noio", "nowait", "atomic"];
/// For whom huge pages are made (`transparent_hugepage/enabled`).
pub const THP: &[&str] = &["always", "madvise", "never"];
/// How hard a fault tries to get one (`transparent_hugepage/defrag`).
pub const THP_DEFRAG: &[&str] = &["always", "defer", "defer+madvise", "madvise", "never"];
/// How hard such a request tries.
pub const RETRY: &[&str] = &["normal", "noretry", "retry-mayfail", "nofail"];
/// The types that such a request may have.
pub const MIGRATETYPES: &[&str] = &["unmovable", "movable", "reclaimable"];

const RANDOM: &[KeySpec] = &[
    key("memory", Size(1), Required, "size of the region"),
    key(
        "accesses",
        Count(1, MANY),
        Auto("`duration` decides"),
        "page accesses of all threads of a process together",
    ),
    key("duration", Time, Auto("`accesses` decides"), "instead of `accesses`: how long"),
    key(
        "windows",
        Count(1, 10_000),
        Is("1"),
        "equal parts that are reported as phases of their own",
    ),
    key("write-permille", Count(0, 1000), Is("0"), "writes per 1000 accesses"),
    key(
        "map",
        Choice(&["scatter", "identity"]),
        Is("\"scatter\""),
        "whether popular pages lie scattered or in order of popularity",
    ),
    key(
        "region",
        Choice(REGION_KINDS),
        Is("\"anon\""),
        "what is accessed: anonymous memory, a mapped file, or a file through read()",
    ),
    key(
        "files",
        Choice(&["shared", "own"]),
        Is("\"shared\""),
        "whether the processes of the task have one file together, or one each",
    ),
    key("think", Time, Is("\"0ns\""), "computing between two accesses"),
];

const SCAN: &[KeySpec] = &[
    key("memory", Size(1), Required, "size of the region"),
    key("write", Flag, Is("false"), "write instead of read"),
    key(
        "region",
        Choice(REGION_KINDS),
        Is("\"anon\""),
        "what is accessed: anonymous memory, a mapped file, or a file through read()",
    ),
];

/// `ebizzy`.
pub static EBIZZY: TableSpec = TableSpec {
    title: "workload = \"ebizzy\"",
    doc: "Copies a chunk, chosen at random, into a fresh buffer and searches it; one such copy is a record. Give `records` or `duration`.",
    groups: &[
        TASK,
        &[
            key("memory", Size(1), Required, "all chunks together"),
            key(
                "chunk",
                Size(1),
                Is("\"512KiB\""),
                "size of a chunk; `memory` is a multiple of it",
            ),
            key(
                "records",
                Count(1, MANY),
                Auto("`duration` decides"),
                "records of all threads of a process together",
            ),
            key("duration", Time, Auto("`records` decides"), "instead of `records`: how long"),
            key(
                "windows",
                Count(1, 10_000),
                Is("1"),
                "equal parts that are reported as phases of their own",
            ),
            key(
                "zipf",
                Number(0.0, 10.0),
                Auto("`generator` decides"),
                "choose chunks by a zipf law with this exponent",
            ),
            key(
                "generator",
                Choice(&["lcg", "lcg-broken"]),
                Auto("`lcg`, unless `zipf` is given"),
                "the program's own generator; the broken one chooses chunk 0 only",
            ),
            key(
                "copy-buffer",
                Choice(&["remap", "reuse", "none"]),
                Is("\"remap\""),
                "fresh pages for every copy, the same pages, or no copy",
            ),
            key(
                "permutation",
                Choice(&["shuffled", "identity"]),
                Is("\"shuffled\""),
                "where popular chunks lie",
            ),
            key("compute", Time, Is("\"0ns\""), "computing for each record, besides its accesses"),
        ],
    ],
};

/// `zipf`.
pub static ZIPF: TableSpec = TableSpec {
    title: "workload = \"zipf\"",
    doc: "Pages of one region by a zipf law, after a first pass that populates it. Give `accesses` or `duration`.",
    groups: &[
        TASK,
        &[key("theta", Number(0.0, 10.0), Is("0.99"), "exponent: 0 is uniform")],
        RANDOM,
    ],
};

/// `uniform`.
pub static UNIFORM: TableSpec = TableSpec {
    title: "workload = \"uniform\"",
    doc: "All pages of one region with equal chance, after a first pass that populates it. Give `accesses` or `duration`.",
    groups: &[TASK, RANDOM],
};

/// `sequential`.
pub static SEQUENTIAL: TableSpec = TableSpec {
    title: "workload = \"sequential\"",
    doc: "A region from the first page to the last, once unless told otherwise.",
    groups: &[TASK, SCAN, &[key("passes", Count(1, U32), Is("1"), "how often")]],
};

/// `cyclic`.
pub static CYCLIC: TableSpec = TableSpec {
    title: "workload = \"cyclic\"",
    doc: "A region from the first page to the last, again and again.",
    groups: &[TASK, SCAN, &[key("passes", Count(1, U32), Required, "how often")]],
};

/// `phased`.
pub static PHASED: TableSpec = TableSpec {
    title: "workload = \"phased\"",
    doc: "Regions, and a list of steps over them, carried out by one thread.",
    groups: &[
        TASK,
        &[
            key("regions", Regions, Required, "regions by name, see below"),
            key("steps", Steps, Required, "list of tables with `do`, see below"),
        ],
    ],
};

/// `kernel-alloc`.
pub static KERNEL_ALLOC: TableSpec = TableSpec {
    title: "workload = \"kernel-alloc\"",
    doc: "Blocks of one order on behalf of the kernel, one after the other; each that could be had is a record. They are in no address space and are not reclaimed, and what is not freed outlives the process.",
    groups: &[
        TASK,
        &[
            key("order", Count(0, 10), Required, "log2 of the pages of a block"),
            key(
                "migratetype",
                Choice(MIGRATETYPES),
                Is("\"unmovable\""),
                "which free lists it is taken from first",
            ),
            key(
                "gfp",
                Choice(GFP),
                Is("\"kernel\""),
                "what the request may do: `GFP_` in lower case",
            ),
            key(
                "retry",
                Choice(RETRY),
                Is("\"normal\""),
                "how hard it tries: `__GFP_` in lower case",
            ),
            key("attempts", Count(1, U32), Required, "attempts of all threads together"),
            key(
                "hold",
                Count(1, U32),
                Auto("all"),
                "blocks that a thread holds at most; with more, one of them is freed first",
            ),
            key(
                "free-permille",
                Count(0, 1000),
                Is("1000"),
                "of 1000 blocks held at the end, so many are freed, chosen at random",
            ),
            key("interval", Time, Is("\"0ns\""), "sleep between two attempts"),
        ],
    ],
};

/// Names of laws of what a fragmentation machine keeps.
pub const KEEP_LAWS: &[&str] = &["uniform", "rotate", "fixed", "geometric"];

/// `fragment`.
pub static FRAGMENT: TableSpec = TableSpec {
    title: "workload = \"fragment\"",
    doc: "A fragmentation machine: takes memory page by page on behalf of the kernel until there is none, keeps part of it where a law says, frees the rest. What it keeps is neither reclaimed nor moved, and outlives the process.",
    groups: &[
        TASK,
        &[
            key(
                "load",
                File,
                Auto("it takes memory"),
                "a file of `--emit layout`: memory begins like that, and the task holds what was held; only `target`, `churn` and `age` go on from there",
            ),
            key("memory", Size(1), Auto("all"), "what it takes at most"),
            key(
                "movable-permille",
                Count(0, 1000),
                Is("0"),
                "of 1000 pages, so many are asked for as movable memory; the rest is unmovable",
            ),
            key(
                "reclaimable-permille",
                Count(0, 1000),
                Is("0"),
                "of 1000 pages, so many are asked for as reclaimable memory",
            ),
            key("cluster", Count(1, U32), Is("1"), "pages of one kind that are taken in a row"),
            key(
                "reclaimable-cluster",
                Count(1, U32),
                Auto("`cluster`"),
                "the same of reclaimable pages; shares of kinds stay what they are",
            ),
            key("gfp", Choice(GFP), Is("\"user\""), "what a request may do: `GFP_` in lower case"),
            key(
                "retry",
                Choice(RETRY),
                Is("\"noretry\""),
                "how hard it tries: `__GFP_` in lower case",
            ),
            key("failures", Count(1, 1000), Is("3"), "failures after which it takes no more"),
            key("pause", Time, Is("\"5s\""), "sleep after a failure"),
            key(
                "keep-permille",
                Count(0, 1000),
                Auto("required; with `target` 500; nothing with `load`"),
                "of 1000 pages taken, so many stay",
            ),
            key(
                "law",
                Choice(KEEP_LAWS),
                Is("\"uniform\""),
                "which: any; those that a list leaves that is turned by 0 to 511 entries before each one is freed; runs of frames in address order, of a fixed length or of geometric ones",
            ),
            key("run", Count(1, U32), Is("1"), "frames of a run, on average if they differ"),
            key(
                "target",
                Table(&FRAGMENT_TARGET),
                Auto("the share alone decides"),
                "a figure of fragmentation that it brings about by exchanging pages, and holds while memory ages",
            ),
            key(
                "release",
                Size(0),
                Is("\"0 pages\""),
                "a random part of what it frees that is freed first, for others to take",
            ),
            key("settle", Time, Is("\"0ns\""), "sleep between that part and the rest"),
            key("churn", Count(0, U32), Is("0"), "pages freed and taken again in a second"),
            key("age", Time, Is("\"0ns\""), "for how long"),
        ],
    ],
};

/// `target` of `fragment`.
pub static FRAGMENT_TARGET: TableSpec = TableSpec {
    title: "target of workload = \"fragment\"",
    doc: "A figure of all free memory, in thousandths: `target = { order = 9, unusable = 800 }`. Give `unusable` or `index`. If it is not reached, the report says how close it came, and `mmsim run` ends with exit code 1.",
    groups: &[&[
        key("order", Count(1, 10), Required, "log2 of the pages of the block in question"),
        key(
            "unusable",
            Count(0, 1000),
            Auto("`index` decides"),
            "the share of free memory that such a block cannot use (`extfrag/unusable_index`)",
        ),
        key(
            "index",
            Count(0, 1000),
            Auto("`unusable` decides"),
            "why a request for one would fail: towards 0 lack of memory, towards 1000 fragmentation (`extfrag/extfrag_index`)",
        ),
        key("tolerance", Count(0, 1000), Is("10"), "how far from it is close enough"),
        key(
            "patience",
            Count(1, 100_000),
            Is("64"),
            "looks without a closer value after which it is out of reach",
        ),
    ]],
};

/// `highalloc`.
pub static HIGHALLOC: TableSpec = TableSpec {
    title: "workload = \"highalloc\"",
    doc: "Attempts at blocks of several pages, kept until the end of the round; memory is surveyed before and after. Counters begin with `sim_highalloc` and `sim_candidates`; each block is a record.",
    groups: &[
        TASK,
        &[
            key("order", Count(1, 10), Required, "log2 of the pages of a block"),
            key(
                "migratetype",
                Choice(MIGRATETYPES),
                Is("\"unmovable\""),
                "which free lists it is taken from first",
            ),
            key("gfp", Choice(GFP), Is("\"user\""), "what a request may do: `GFP_` in lower case"),
            key(
                "retry",
                Choice(RETRY),
                Is("\"noretry\""),
                "how hard it tries: `__GFP_` in lower case",
            ),
            key("attempts", Count(1, U32), Required, "attempts of a round"),
            key("interval", Time, Is("\"0ns\""), "sleep between two attempts"),
            key(
                "rounds",
                Count(1, 1000),
                Is("1"),
                "rounds; blocks are given back before the next one begins",
            ),
            key("rest", Time, Is("\"0ns\""), "sleep between two rounds"),
            key(
                "hold",
                Time,
                Is("\"0ns\""),
                "how long the blocks of the last round are kept after its attempts",
            ),
            key("drop-caches", Flag, Is("false"), "drop clean page cache before each survey"),
        ],
    ],
};

/// `replay`.
pub static REPLAY: TableSpec = TableSpec {
    title: "workload = \"replay\"",
    doc: "The accesses of a stored trace: one process for each process in it.",
    groups: &[
        TASK,
        &[
            key("trace", File, Required, "trace file"),
            key("repeat", Count(1, U32), Is("1"), "how often"),
            key(
                "think-permille",
                Count(0, 1_000_000),
                Is("1000"),
                "recorded time between accesses, in thousandths: 500 halves it, 0 leaves none",
            ),
            key(
                "mode",
                Choice(&["recorded", "closed", "timed"]),
                Is("\"recorded\""),
                "as the trace says, or computing for the recorded time between accesses, or each access not before its recorded instant",
            ),
        ],
    ],
};

/// `script`.
pub static SCRIPT: TableSpec = TableSpec {
    title: "workload = \"script\"",
    doc: "A command list in the notation of the recorded reference experiments. What it asks of the machine (sysctls, swap, ballast, a monitor) is left to the scenario, and the report names it. Give `file` or `commands`.",
    groups: &[
        TASK,
        &[
            key("file", File, Auto("`commands` decides"), "file with one command a line"),
            key("commands", Texts, Auto("`file` decides"), "the commands themselves"),
        ],
    ],
};

/// `masim`.
pub static MASIM: TableSpec = TableSpec {
    title: "workload = \"masim\"",
    doc: "A configuration file of masim, unchanged: regions, and phases by the clock with patterns by weight (see [masim.md](masim.md)). Give `config` or `text`.",
    groups: &[
        TASK,
        &[
            key("config", File, Auto("`text` decides"), "configuration file"),
            key("text", Text, Auto("`config` decides"), "the configuration itself"),
            key(
                "repeat",
                Count(1, U32),
                Is("1"),
                "how often the file is carried out, each time with fresh regions; masim's `--repeat`",
            ),
            key(
                "default-mode",
                Choice(&["wo", "ro", "rw"]),
                Is("\"wo\""),
                "what accesses do where the file does not say; masim's `--default_rw_mode`",
            ),
            key(
                "batch",
                Count(1, U32),
                Is("131072"),
                "accesses from one look at the clock to the next; masim's `--nr_accesses_per_region`",
            ),
            key(
                "hugetlb",
                Flag,
                Is("false"),
                "regions are huge pages of `vm.nr_hugepages`, whole ones; masim's `--use_hugetlb`",
            ),
        ],
    ],
};

/// `build`.
pub static BUILD: TableSpec = TableSpec {
    title: "workload = \"build\"",
    doc: "Compilations, one after the other in each of `threads` workers (`make -j`): each touches the compiler's text, reads a source and headers, allocates anonymous memory in bursts and goes over it, writes an object, and exits, which is a record. One draw places a compilation between the bounds of memory, time and object. Give `records` or `duration`.",
    groups: &[
        TASK,
        &[
            key(
                "records",
                Count(1, MANY),
                Auto("`duration` decides"),
                "compilations of all workers together",
            ),
            key("duration", Time, Auto("`records` decides"), "instead of `records`: how long"),
            key(
                "windows",
                Count(1, 10_000),
                Is("1"),
                "equal parts that are reported as phases of their own",
            ),
            key(
                "text",
                Size(0),
                Is("\"20MiB\""),
                "the part of the compiler's text that a compilation uses, mapped executable; `0 pages`: none",
            ),
            key("headers", Count(1, 16_000), Is("4000"), "header files that all share"),
            key("header", Size(1), Is("\"8KiB\""), "size of each"),
            key(
                "header-reads",
                Count(0, 100_000),
                Is("500"),
                "headers that a compilation draws; what it drew before it does not read again",
            ),
            key(
                "header-zipf",
                Number(0.0, 10.0),
                Is("1.0"),
                "exponent of the law by which they are drawn: 0 is uniform",
            ),
            key(
                "sources",
                Count(1, 16_000),
                Is("3000"),
                "source files, each with an object; after the last one the first is compiled again",
            ),
            key("source", Size(1), Is("\"20KiB\""), "size of each"),
            key(
                "anon-min",
                Size(1),
                Is("\"20MiB\""),
                "anonymous memory of the smallest compilation",
            ),
            key("anon-max", Size(1), Is("\"60MiB\""), "anonymous memory of the largest one"),
            key("bursts", Count(1, 1000), Is("8"), "parts in which it is allocated"),
            key(
                "passes",
                Count(0, 1000),
                Is("1"),
                "after each part all of it so far is read so many times, and the text touched",
            ),
            key(
                "compute-min",
                Time,
                Is("\"300ms\""),
                "computing of the smallest compilation, spread over parts and passes",
            ),
            key("compute-max", Time, Is("\"1300ms\""), "computing of the largest one"),
            key("object-min", Size(1), Is("\"20KiB\""), "object file of the smallest compilation"),
            key("object-max", Size(1), Is("\"140KiB\""), "object file of the largest one"),
            key(
                "link-every",
                Count(0, 1000),
                Is("12"),
                "after so many objects a worker reads them back and writes an archive of the same size; 0 is never",
            ),
            key(
                "unmovable",
                Count(0, 1_000_000),
                Is("200"),
                "single unmovable frames of the kernel that a compilation holds",
            ),
            key("reclaimable", Count(0, 1_000_000), Is("200"), "reclaimable ones"),
        ],
    ],
};

/// `apps`.
pub static APPS: TableSpec = TableSpec {
    title: "workload = \"apps\"",
    doc: "Apps that are launched one after the other, as on a phone: a launch starts an app (it touches mapped files, reads others, fills a heap of which collections give parts back with `MADV_FREE`) or brings a living one back to the front, and is a record. Sizes are those of the middle app. Give `records` or `duration`.",
    groups: &[
        TASK,
        &[
            key("records", Count(1, MANY), Auto("`duration` decides"), "launches"),
            key("duration", Time, Auto("`records` decides"), "instead of `records`: how long"),
            key(
                "windows",
                Count(1, 10_000),
                Is("1"),
                "equal parts that are reported as phases of their own",
            ),
            key("apps", Count(1, 32_767), Required, "how many apps there are"),
            key("mapped", Size(1), Required, "mapped files of an app"),
            key("read", Size(1), Required, "files that it reads through descriptors"),
            key("heap", Size(1), Required, "its heap"),
            key(
                "spread",
                Number(1.0, 1000.0),
                Is("2.0"),
                "the largest app is so many times as large as the middle one, the smallest so many times smaller",
            ),
            key(
                "order",
                Choice(&["random", "fixed"]),
                Is("\"random\""),
                "order of the launches: every round over the apps anew, or by number",
            ),
            key("interval", Time, Is("\"10s\""), "from one launch to the next; at least 100ms"),
            key("launch", Time, Is("\"6s\""), "a launch does its work over this time"),
            key(
                "cold-permille",
                Count(0, 1000),
                Is("500"),
                "of 1000 launches of a living app so many kill it first",
            ),
            key(
                "cached",
                Count(1, 32_767),
                Auto("all apps"),
                "apps alive at a time; beyond it the one launched longest ago is killed",
            ),
            key(
                "sequential-permille",
                Count(0, 1000),
                Is("700"),
                "touches of mapped files at a start that go in order; the others draw",
            ),
            key(
                "zipf",
                Number(0.0, 10.0),
                Is("0.8"),
                "exponent of the law by which pages of files are drawn",
            ),
            key(
                "reread-permille",
                Count(0, 1000),
                Is("200"),
                "pages of the files it reads that a start reads again, always the same ones",
            ),
            key("reread-min", Count(0, 1000), Is("1"), "how often again, at least"),
            key("reread-max", Count(0, 1000), Is("4"), "and at most"),
            key("collections", Count(0, 100), Is("2"), "garbage collections during a start"),
            key(
                "free-permille",
                Count(0, 1000),
                Is("350"),
                "part of the heap dirtied so far that each gives back with `MADV_FREE`",
            ),
            key("free-run", Size(1), Is("\"256KiB\""), "pages that are given back together"),
            key(
                "reuse-permille",
                Count(0, 1000),
                Is("250"),
                "part of what was given back that is dirtied again",
            ),
            key(
                "reuse-order",
                Choice(&["random", "lifo", "fifo"]),
                Is("\"random\""),
                "which of it: any, what was given back last, or first",
            ),
            key("reuse-within", Time, Is("\"1s\""), "how soon"),
            key(
                "resume-permille",
                Count(0, 1000),
                Is("400"),
                "part of heap and mapped files that the launch of a living app touches",
            ),
            key("background", Time, Is("\"30s\""), "how long an app goes on behind the next ones"),
            key(
                "background-permille",
                Count(0, 1000),
                Is("5"),
                "part of heap and files that it then touches in a second",
            ),
            key("trim-after", Time, Is("\"10s\""), "when, after going there, it is trimmed"),
            key(
                "trim-permille",
                Count(0, 1000),
                Is("200"),
                "part of its heap that trimming gives back; 0 is never",
            ),
        ],
    ],
};

/// `reader`.
pub static READER: TableSpec = TableSpec {
    title: "workload = \"reader\"",
    doc: "A database that only reads, through descriptors: each of `threads` clients reads one item after the other, block by block, with pages of an index on the way; an item is a transaction, which is a record. Before, memory is filled with what is never used again. Give `records` or `duration`.",
    groups: &[
        TASK,
        &[
            key(
                "records",
                Count(1, MANY),
                Auto("`duration` decides"),
                "transactions of all clients together",
            ),
            key("duration", Time, Auto("`records` decides"), "instead of `records`: how long"),
            key(
                "windows",
                Count(1, 10_000),
                Is("1"),
                "equal parts that are reported as phases of their own",
            ),
            key("items", Count(1, U32), Required, "items"),
            key("item", Size(1), Required, "size of an item; a multiple of `block`"),
            key(
                "block",
                Size(1),
                Is("\"32KiB\""),
                "what is read at a time; the blocks of an item lie scattered over the data",
            ),
            key(
                "choice",
                Choice(&["zipf", "cyclic"]),
                Is("\"zipf\""),
                "items by a zipf law, or in turn",
            ),
            key("theta", Number(0.0, 10.0), Is("0.0"), "exponent of the law: 0 is uniform"),
            key("index", Size(0), Is("\"0 pages\""), "the index"),
            key(
                "index-reads",
                Count(0, U32),
                Is("0"),
                "pages of it that a transaction reads, drawn uniformly",
            ),
            key(
                "stale",
                Size(0),
                Is("\"0 pages\""),
                "a file that is read before the work begins and never again",
            ),
            key("stale-min", Count(1, 1000), Is("2"), "how often: the least-read parts of it"),
            key("stale-max", Count(1, 1000), Is("6"), "and the most-read ones"),
            key(
                "idle",
                Size(0),
                Is("\"0 pages\""),
                "anonymous memory that is written before the work begins and never used again",
            ),
        ],
    ],
};

/// The workloads with their tables.
pub static TASKS: &[(&str, &TableSpec)] = &[
    ("ebizzy", &EBIZZY),
    ("zipf", &ZIPF),
    ("uniform", &UNIFORM),
    ("sequential", &SEQUENTIAL),
    ("cyclic", &CYCLIC),
    ("phased", &PHASED),
    ("replay", &REPLAY),
    ("script", &SCRIPT),
    ("masim", &MASIM),
    ("kernel-alloc", &KERNEL_ALLOC),
    ("fragment", &FRAGMENT),
    ("highalloc", &HIGHALLOC),
    ("build", &BUILD),
    ("apps", &APPS),
    ("reader", &READER),
];

/// The keys that every task has.
pub static TASK_COMMON: TableSpec = TableSpec {
    title: "[[task]]",
    doc: "Every task has these keys, and those of its workload.",
    groups: &[TASK],
};

/// A region of `phased`.
pub static REGION: TableSpec = TableSpec {
    title: "Regions of `phased`",
    doc: "`regions = { cold = { memory = \"512MiB\" }, log = { memory = \"64MiB\", kind = \"read\" } }`",
    groups: &[&[
        key("memory", Size(1), Auto("`pages` decides"), "size"),
        key("pages", Count(1, U32), Auto("`memory` decides"), "size in pages, instead of `memory`"),
        key(
            "kind",
            Choice(REGION_KINDS),
            Is("\"anon\""),
            "anonymous memory, a mapped file, or a file through read()",
        ),
    ]],
};

const DO: &[KeySpec] = &[key("do", Choice(STEP_NAMES), Required, "which step this is")];

/// The names of all steps.
pub const STEP_NAMES: &[&str] = &[
    "allocate",
    "touch",
    "window",
    "zipf",
    "read",
    "write",
    "madvise",
    "free",
    "sleep",
    "compute",
    "records",
    "drop-caches",
    "memcg-reclaim",
    "phase",
    "repeat",
];

const PART: &[KeySpec] = &[
    key("region", Text, Required, "name of the region"),
    key("first", Size(0), Is("\"0 pages\""), "where in the region it begins"),
    key("size", Size(1), Auto("to the end of the region"), "how much of it"),
];
const WHOLE: &[KeySpec] = &[key("region", Text, Required, "name of the region")];
const PASSES: &[KeySpec] = &[
    key("write", Flag, Is("false"), "write instead of read"),
    key("passes", Count(1, U32), Is("1"), "how often"),
];
const FOR: &[KeySpec] = &[key("time", Time, Required, "how long")];

macro_rules! steps {
    ($($name:literal, $doc:literal, [$($group:expr),*];)*) => {
        /// The steps of `phased` with their tables.
        pub static STEPS: &[(&str, TableSpec)] = &[$(($name, TableSpec {
            title: concat!("do = \"", $name, "\""),
            doc: $doc,
            groups: &[DO, $($group),*],
        }),)*];
    };
}

steps! {
    "allocate", "Maps the region and, unless told otherwise, writes every page once.",
        [WHOLE, &[key("populate", Flag, Is("true"), "touch every page")]];
    "touch", "Touches pages in ascending order.", [PART, PASSES];
    "window", "Touches the next `size` of a region and remembers where it stopped; begins anew at its end.",
        [WHOLE, &[
            key("size", Size(1), Required, "how much at a time"),
            key("advance", Size(0), Auto("`size`"), "how far the window moves each time"),
            key("write", Flag, Is("false"), "write instead of read"),
        ]];
    "zipf", "Touches pages of a region by a zipf law.",
        [WHOLE, &[
            key("theta", Number(0.0, 10.0), Is("0.99"), "exponent: 0 is uniform"),
            key("accesses", Count(1, MANY), Required, "page accesses"),
            key("write-permille", Count(0, 1000), Is("0"), "writes per 1000 accesses"),
            key("map", Choice(&["scatter", "identity"]), Is("\"scatter\""), "whether popular pages lie scattered or in order"),
        ]];
    "read", "Reads a file region through read().", [PART];
    "write", "Writes a file region through write().", [PART];
    "madvise", "Gives advice on pages of a region.",
        [PART, &[key("advice", Choice(ADVICE), Required, "which, named as MADV_ in lower case; `free` is for anonymous memory")]];
    "free", "Unmaps the region.", [WHOLE];
    "sleep", "Sleeps.", [FOR];
    "compute", "Uses the CPU without touching memory.", [FOR];
    "records", "Counts records as done.", [&[key("count", Count(1, U32), Is("1"), "how many")]];
    "drop-caches", "Writes 1 to drop_caches.", [];
    "memcg-reclaim", "Writes to memory.reclaim of the task's own group.", [&[key("memory", Size(1), Required, "how much")]];
    "phase", "A phase of this name ends here; it began where the phase before it ended. In a repetition, every turn adds to the same phase.",
        [&[key("name", Text, Required, "name of the phase")]];
    "repeat", "Repeats steps.",
        [&[key("times", Count(1, U32), Required, "how often"), key("steps", Steps, Required, "the steps")]];
}

/// The names of advice that the machine follows.
pub const ADVICE: &[&str] = &[
    "dontneed",
    "free",
    "cold",
    "pageout",
    "willneed",
    "populate-read",
    "populate-write",
    "sequential",
    "random",
    "normal",
    "hugepage",
    "nohugepage",
];

/// All tables in the order of the documentation.
pub fn all_tables() -> Vec<&'static TableSpec> {
    let mut all: Vec<&'static TableSpec> =
        vec![&ROOT, &MACHINE, &NODE, &ZONE, &PCP, &SWAP, &DEVICE, &VM, &MEMCG, &VARIANT];
    all.extend([&DAMON, &DAMON_REGION, &DAMOS, &DAMOS_GOAL, &DAMOS_WMARKS, &DAMOS_FILTER]);
    all.push(&TASK_COMMON);
    all.extend(TASKS.iter().map(|t| t.1));
    all.push(&FRAGMENT_TARGET);
    all.push(&REGION);
    all.extend(STEPS.iter().map(|s| &s.1));
    all
}
