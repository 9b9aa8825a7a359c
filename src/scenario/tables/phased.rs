//! `phased`: its regions and steps.

use super::key;
use super::tasks::TASK;
use crate::scenario::keys::{Fallback, KeySpec, Kind, MANY, TableSpec, U32};

use Fallback::{Auto, Is, Required};
use Kind::{Choice, Count, Flag, Number, Regions, Size, Steps, Text, Time};

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

/// What a region may be made of; other workloads have the same choice.
pub(super) const REGION_KINDS: &[&str] = &["anon", "file-shared", "file-private", "read"];

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
    "read", "Reads a file region through read().",
        [PART, &[key("into", Text, Auto("a buffer that is not simulated"), "mapped region whose pages receive those of the file at the same place, 32 at a time")]];
    "write", "Writes a file region through write().", [PART];
    "madvise", "Gives advice on pages of a region.",
        [PART, &[key("advice", Choice(ADVICE), Required, "which, named as MADV_ in lower case; `free` is for anonymous memory")]];
    "free", "Unmaps the region.", [WHOLE];
    "sleep", "Sleeps.", [FOR];
    "compute", "Uses the CPU without touching memory.", [FOR];
    "records", "Counts records as done.", [&[key("count", Count(1, U32), Is("1"), "how many")]];
    "drop-caches", "Writes 1 to drop_caches.", [];
    "memcg-reclaim", "Writes to memory.reclaim of the task's own group.", [&[
            key("memory", Size(1), Required, "how much; kernels before 6.9 take more, since each try asks for all that is left"),
            key("swappiness", Count(0, 200), Auto("`vm.swappiness`"), "`swappiness=` of the write, from kernel 6.12 on (Linux 6.9)"),
        ]];
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
