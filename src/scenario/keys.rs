//! Every key of a scenario file, as data: name, form, range, default, meaning.
//!
//! The reader refuses what is not in these tables, defaults are taken from them, and
//! docs/scenarios.md is generated from them, so the three cannot disagree.

use std::fmt::Write;

use mmsim_core::machine::config::Kernel;
use mmsim_core::machine::cost::CostModel;

/// The form of a value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Memory with its unit, at least so many pages.
    Size(u64),
    /// Memory with its unit, or `"max"`.
    Limit,
    /// A duration with its unit.
    Time,
    /// Bytes per second with the unit.
    Rate,
    /// A whole number within the range.
    Count(u64, u64),
    /// A number, perhaps with decimals, within the range.
    Number(f64, f64),
    /// `true` or `false`.
    Flag,
    /// Any string.
    Text,
    /// The name of a file, relative to the scenario file.
    File,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A kernel by its version.
    Kernel,
    /// A device preset, or a table with a device of one's own.
    Device,
    /// A list of strings.
    Texts,
    /// A table with these keys.
    Table(&'static TableSpec),
    /// A list of such tables.
    Tables(&'static TableSpec),
    /// The tasks: the common keys and those of the workload.
    Tasks,
    /// Regions of a phased workload by name.
    Regions,
    /// Steps of a phased workload.
    Steps,
    /// The costs of the machine, by the names of the cost model.
    Costs,
    /// `preset` and the knobs of that policy.
    Policy,
    /// Other keys of the file by path, with one value each.
    Overrides,
    /// Other keys of the file by path, with a list of values each.
    Axes,
}

/// What holds when a key is left out.
#[derive(Clone, Copy, Debug)]
pub enum Fallback {
    /// It may not be left out.
    Required,
    /// This value, as TOML.
    Is(&'static str),
    /// What these words say.
    Auto(&'static str),
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// As it is written in the file.
    pub name: &'static str,
    /// Its form.
    pub kind: Kind,
    /// What holds without it.
    pub fallback: Fallback,
    /// Its meaning, a phrase.
    pub doc: &'static str,
}

/// The keys of one table.
#[derive(Debug)]
pub struct TableSpec {
    /// As a heading of the documentation.
    pub title: &'static str,
    /// What the table is for.
    pub doc: &'static str,
    /// Its keys, in groups that tables may share.
    pub groups: &'static [&'static [KeySpec]],
}

impl TableSpec {
    /// All keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &'static KeySpec> {
        self.groups.iter().flat_map(|g| g.iter())
    }

    /// The key of that name.
    pub fn key(&self, name: &str) -> Option<&'static KeySpec> {
        self.keys().find(|k| k.name == name)
    }
}

use Fallback::{Auto, Is, Required};
use Kind::{
    Axes, Choice, Costs, Count, Device, File, Flag, Limit, Number, Overrides, Policy, Rate,
    Regions, Size, Steps, Table, Tables, Tasks, Text, Texts, Time,
};

const fn key(name: &'static str, kind: Kind, fallback: Fallback, doc: &'static str) -> KeySpec {
    KeySpec { name, kind, fallback, doc }
}

/// Largest count of accesses, records and the like: exact in every number format.
const MANY: u64 = 1 << 53;
/// Largest number of pages, CPUs and so on that a 32-bit index can hold.
const U32: u64 = u32::MAX as u64;

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
        key("task", Tasks, Required, "the work, one `[[task]]` each"),
        key(
            "variant",
            Tables(&VARIANT),
            Auto("one variant called `default`"),
            "what is compared, one `[[variant]]` each",
        ),
        key("axes", Axes, Auto("none"), "paths of keys and the values that each is run with"),
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
            "batch-shift",
            Count(0, 5),
            Is("0"),
            "divides batch sizes by a power of two, for machines of few pages; 0 is the kernel's own sizes",
        ),
        key(
            "quantum",
            Time,
            Is("\"3ms\""),
            "longest time slice while another thread waits for the CPU",
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
            "sets `machine.kernel` and the reclaim preset of that kernel (`classic-v` and the version)",
        ),
        key(
            "reclaim",
            Policy,
            Auto("that of the file"),
            "`preset` and knobs, on top of `[reclaim]`",
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
pub const WORKLOADS: &[&str] =
    &["ebizzy", "zipf", "uniform", "sequential", "cyclic", "phased", "replay", "script"];

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
    groups: &[TASK, SCAN, &[key("passes", Count(1, MANY), Is("1"), "how often")]],
};

/// `cyclic`.
pub static CYCLIC: TableSpec = TableSpec {
    title: "workload = \"cyclic\"",
    doc: "A region from the first page to the last, again and again.",
    groups: &[TASK, SCAN, &[key("passes", Count(1, MANY), Required, "how often")]],
};

/// `phased`.
pub static PHASED: TableSpec = TableSpec {
    title: "workload = \"phased\"",
    doc: "Regions, and a list of steps over them.",
    groups: &[
        TASK,
        &[
            key("regions", Regions, Required, "regions by name, see below"),
            key("steps", Steps, Required, "list of tables with `do`, see below"),
        ],
    ],
};

/// `replay`.
pub static REPLAY: TableSpec = TableSpec {
    title: "workload = \"replay\"",
    doc: "The accesses of a stored trace.",
    groups: &[
        TASK,
        &[
            key("trace", File, Required, "trace file"),
            key("repeat", Count(1, MANY), Is("1"), "how often"),
            key("think", Time, Is("\"0ns\""), "computing between two accesses"),
            key(
                "mode",
                Choice(&["closed", "timed"]),
                Is("\"closed\""),
                "as fast as memory allows, or at the recorded times",
            ),
            key("region", Choice(REGION_KINDS), Is("\"anon\""), "what the pages of the trace are"),
        ],
    ],
};

/// `script`.
pub static SCRIPT: TableSpec = TableSpec {
    title: "workload = \"script\"",
    doc: "A command list in the notation of the recorded reference experiments. Give `file` or `commands`.",
    groups: &[
        TASK,
        &[
            key("file", File, Auto("`commands` decides"), "file with one command a line"),
            key("commands", Texts, Auto("`file` decides"), "the commands themselves"),
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
    "barrier",
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
    key("passes", Count(1, MANY), Is("1"), "how often"),
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
        [PART, &[key("advice", Choice(ADVICE), Required, "which, named as MADV_ in lower case")]];
    "free", "Unmaps the region.", [WHOLE];
    "sleep", "Sleeps.", [FOR];
    "compute", "Uses the CPU without touching memory.", [FOR];
    "records", "Counts records as done.", [&[key("count", Count(1, U32), Is("1"), "how many")]];
    "barrier", "Waits until all threads of the process are here.", [];
    "drop-caches", "Writes 1 to drop_caches.", [];
    "memcg-reclaim", "Writes to memory.reclaim of the task's own group.", [&[key("memory", Size(1), Required, "how much")]];
    "phase", "From here on, up to the next such step, results are reported under this name (before the first: `setup`).",
        [&[key("name", Text, Required, "name of the phase")]];
    "repeat", "Repeats steps.",
        [&[key("times", Count(1, U32), Required, "how often"), key("steps", Steps, Required, "the steps")]];
}

/// The names of advice, in the order of `Advice`.
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
];

/// All tables in the order of the documentation.
pub fn all_tables() -> Vec<&'static TableSpec> {
    let mut all: Vec<&'static TableSpec> =
        vec![&ROOT, &MACHINE, &NODE, &ZONE, &PCP, &SWAP, &DEVICE, &VM, &MEMCG, &VARIANT];
    all.push(&TASK_COMMON);
    all.extend(TASKS.iter().map(|t| t.1));
    all.push(&REGION);
    all.extend(STEPS.iter().map(|s| &s.1));
    all
}

impl Kind {
    /// Form and range for the documentation.
    pub fn describe(self) -> String {
        let words =
            |w: &[&str]| w.iter().map(|w| format!("`\"{w}\"`")).collect::<Vec<_>>().join(", ");
        match self {
            Size(0) => "size".to_string(),
            Size(n) => format!("size, at least {}", super::units::show_pages(n)),
            Limit => "size or `\"max\"`".to_string(),
            Time => "duration".to_string(),
            Rate => "rate".to_string(),
            Count(1, 1) => "1".to_string(),
            Count(lo, MANY) => format!("whole number, {lo} to 2^53"),
            Count(lo, U32) => format!("whole number, {lo} to 2^32-1"),
            Count(lo, hi) => format!("whole number, {lo} to {hi}"),
            Number(lo, hi) => format!("number, {lo} to {hi}"),
            Flag => "`true` or `false`".to_string(),
            Text => "string".to_string(),
            File => "file name".to_string(),
            Choice(c) => words(c),
            Kind::Kernel => words(&Kernel::ALL.map(Kernel::name)),
            Device => "preset name or table".to_string(),
            Texts => "list of strings".to_string(),
            Table(t) => format!("table, see {}", t.title),
            Tables(t) => format!("list of tables, see {}", t.title),
            Tasks => "list of tables, see [[task]]".to_string(),
            Regions => "table of tables".to_string(),
            Steps => "list of tables".to_string(),
            Costs => "table, see [machine.cost]".to_string(),
            Policy => "table of `preset` and knobs".to_string(),
            Overrides => "table of paths and values".to_string(),
            Axes => "table of paths and lists".to_string(),
        }
    }

    /// What to write for a value of this form, after "write".
    pub(super) fn expected(self) -> String {
        match self {
            Size(_) => "a size such as \"64MiB\"".to_string(),
            Limit => "a size such as \"64MiB\", or \"max\"".to_string(),
            Time => "a duration such as \"5ms\"".to_string(),
            Rate => "a rate such as \"150MB/s\"".to_string(),
            Count(lo, hi) if lo == hi => format!("{lo}"),
            Count(lo, MANY) => format!("a whole number from {lo} up"),
            Count(lo, hi) => format!("a whole number from {lo} to {hi}"),
            Number(lo, hi) => format!("a number from {lo} to {hi}"),
            Flag => "true or false".to_string(),
            Text => "a string in quotes".to_string(),
            File => "a file name in quotes".to_string(),
            Choice(c) => one_of(c),
            Kind::Kernel => one_of(&Kernel::ALL.map(Kernel::name)),
            Device => "the name of a preset such as \"zram\", or a table".to_string(),
            Texts => "a list of strings".to_string(),
            Table(_) | Regions | Costs | Policy | Overrides | Axes => "a table".to_string(),
            Tables(_) | Tasks | Steps => "a list of tables".to_string(),
        }
    }
}

/// `"a", "b" or "c"`.
pub(super) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|w| format!("\"{w}\"")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// The generated part of docs/scenarios.md: every table with every key.
pub fn reference() -> String {
    let mut out = String::new();
    for t in all_tables() {
        let _ = write!(out, "\n### {}\n\n{}\n\n", t.title, t.doc);
        // Keys that all tasks or all steps share are listed once.
        let shared = |k: &KeySpec| {
            k.name == "do"
                || (t.title.starts_with("workload") && TASK.iter().any(|c| c.name == k.name))
        };
        if t.keys().all(shared) {
            let _ = writeln!(out, "No further keys.");
            continue;
        }
        let _ = writeln!(out, "| key | value | default | meaning |\n|---|---|---|---|");
        for k in t.keys().filter(|k| !shared(k)) {
            let default = match k.fallback {
                Required => "required".to_string(),
                Is(v) => format!("`{v}`"),
                Auto(words) => words.to_string(),
            };
            let _ =
                writeln!(out, "| `{}` | {} | {default} | {} |", k.name, k.kind.describe(), k.doc);
        }
    }
    out.push_str("\n### [machine.cost]\n\nDurations, in simulated CPU time.\n\n| key | default |\n|---|---|\n");
    for (name, value) in CostModel::measured().fields() {
        let _ = writeln!(out, "| `{name}` | `\"{value}\"` |");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::raw::Node;

    #[test]
    fn tables_are_sound() {
        for t in all_tables() {
            let mut names: Vec<_> = t.keys().map(|k| k.name).collect();
            names.sort_unstable();
            let n = names.len();
            names.dedup();
            assert_eq!(n, names.len(), "{} has a key twice", t.title);
            for k in t.keys() {
                if let Is(v) = k.fallback {
                    assert!(Node::of_default(v).is_some(), "{} {}", t.title, k.name);
                }
            }
        }
        assert_eq!(WORKLOADS, TASKS.iter().map(|t| t.0).collect::<Vec<_>>());
        assert_eq!(STEP_NAMES, STEPS.iter().map(|t| t.0).collect::<Vec<_>>());
    }
}
