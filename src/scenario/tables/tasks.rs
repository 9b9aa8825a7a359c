//! Tasks: what all have, and the workloads that touch memory by a law or from a file.

use super::key;
use super::phased::{PHASED, REGION_KINDS};
use super::programs::{APPS, BUILD, READER};
use super::requests::{FRAGMENT, HIGHALLOC, KERNEL_ALLOC};
use crate::scenario::keys::{Fallback, KeySpec, Kind, MANY, TableSpec, U32};

use Fallback::{Auto, Is, Required};
use Kind::{Choice, Count, File, Flag, Number, Size, Text, Texts, Time};

/// What [`TASK_COMMON`] and every workload's table begin with.
pub(super) const TASK: &[KeySpec] = &[
    key("workload", Choice(WORKLOADS), Required, "what it does"),
    key("name", Text, Auto("the workload, with a number if it repeats"), "name in reports, unique"),
    key("threads", Count(1, 1024), Is("1"), "threads of each process; they share its regions"),
    key("processes", Count(1, 1024), Is("1"), "processes, each with regions of its own"),
    key("memcg", Text, Auto("the root"), "memory cgroup"),
    key("start", Time, Is("\"0ns\""), "when it begins"),
];

/// The keys that every task has.
pub static TASK_COMMON: TableSpec = TableSpec {
    title: "[[task]]",
    doc: "Every task has these keys, and those of its workload.",
    groups: &[TASK],
};

/// The parts of a run that reports tell apart.
pub(super) const WINDOWS: KeySpec = key(
    "windows",
    Count(1, 10_000),
    Is("1"),
    "equal parts that are reported as phases of their own",
);

/// The keys of an end: so much work, or a time.
macro_rules! until {
    ($work:literal, $doc:literal) => {
        &[
            key($work, Count(1, MANY), Auto("`duration` decides"), $doc),
            key(
                "duration",
                Time,
                Auto(concat!("`", $work, "` decides")),
                concat!("instead of `", $work, "`: how long"),
            ),
        ]
    };
}
pub(super) use until;

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
