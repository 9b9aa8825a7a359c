//! Workloads that behave as a kind of program: builds, apps, a database that reads.

use super::key;
use super::tasks::TASK;
use crate::scenario::keys::{Fallback, Kind, MANY, TableSpec, U32};

use Fallback::{Auto, Is, Required};
use Kind::{Choice, Count, Number, Size, Time};

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
            key(
                "theta",
                Number(0.0, 10.0),
                Is("0.0"),
                "exponent of the law: 0 is uniform; an error with `cyclic`",
            ),
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
