//! Workloads that ask the page allocator for blocks, or bring free memory into a state.

use super::key;
use super::tasks::TASK;
use crate::scenario::keys::{Fallback, Kind, TableSpec, U32};

use Fallback::{Auto, Is, Required};
use Kind::{Choice, Count, File, Flag, Size, Table, Time};

/// What a request for memory of the kernel may do, by the names of the kernel.
pub const GFP: &[&str] = &["kernel", "user", "nofs", "noio", "nowait", "atomic"];

/// How hard such a request tries.
pub const RETRY: &[&str] = &["normal", "noretry", "retry-mayfail", "nofail"];

/// The types that such a request may have.
pub const MIGRATETYPES: &[&str] = &["unmovable", "movable", "reclaimable"];

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
    doc: "A fragmentation machine: takes memory page by page on behalf of the kernel until there is none, keeps part of it where a law says, frees the rest. What it keeps is neither reclaimed nor moved, and outlives the process; what all of them keep has to fit into memory.",
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
    doc: "A figure of all free memory, in thousandths: `target = { order = 9, unusable = 800 }`. Give `unusable` or `index`. If it is out of reach, the task goes back to the closest state that it saw, the report says which, and `mmsim run` ends with exit code 1.",
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
