//! Monitors of accesses and their schemes.

use super::key;
use crate::scenario::keys::{Fallback, Kind, MANY, TableSpec, U32};

use Fallback::{Auto, Is, Required};
use Kind::{Choice, Count, Damon, Flag, Parameters, Size, Table, Tables, Text, Time};

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
