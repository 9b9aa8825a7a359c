//! The tables of all keys: what a file holds, its variants, and, in a file each, the machine,
//! monitors and tasks. [`super::keys`] explains their columns.

mod cache_ext;
mod contents;
mod daemon;
mod damon;
mod evaluate;
mod fragment;
mod laws;
mod machine;
mod memcg;
mod phased;
mod pod;
mod settings;
mod sweep;
mod sysctls;
mod tasks;
mod tune;
mod vm;
mod workloads;
mod zswap;

pub use cache_ext::*;
pub use contents::*;
pub use daemon::*;
pub use damon::*;
pub use evaluate::*;
pub use fragment::*;
pub use laws::*;
pub use machine::*;
pub use memcg::*;
pub use phased::*;
pub use pod::*;
pub(crate) use settings::default_of;
pub use settings::{
    COMPACTION, COSTS, DAMON_RULES, EVENTS, GLOBALS, PARAMETERS, POLICY, ROW_TABLES, RULES,
};
pub use sweep::*;
pub use sysctls::SYSCTLS;
pub use tasks::*;
pub use tune::*;
pub use vm::*;
pub use workloads::*;
pub use zswap::*;

use super::keys::{Fallback, KeySpec, Kind, MANY, TableSpec};
use super::rows::rows;

use Fallback::{Auto, Is, Required};
use Kind::{Axes, Count, Flag, Number, Overrides, Rows, Table, Tables, Tasks, Text};

const fn key(name: &'static str, kind: Kind, fallback: Fallback, doc: &'static str) -> KeySpec {
    KeySpec { name, kind, fallback, doc }
}

rows! {
    /// The file itself.
    ROOT,
    "Top level",
    "The file, and its runs.";
    keys {
        ("schema", Count(1, 1), Is("1"), "version of this format")
        ("name", Text, Auto("the name of the file"), "name in reports")
        ("about", Text, Is("\"\""), "one sentence for people")
        ("seed", Count(0, MANY), Is("1"), "seed of all random draws of the first run")
        ("seeds", Count(1, 10_000), Is("1"), "runs per variant; the seeds count up from `seed`")
        ("expect-oom", Flag, Is("false"),
            "running out of memory is the expected end, not a failure")
        ("bounds", Flag, Is("false"),
            "also compute the misses of the optimum (MIN) on each run's own accesses")
        ("machine", Table(&MACHINE), Required, "the machine")
        ("reclaim", Rows(&POLICY), Auto("the preset of `machine.kernel`"),
            "replacement policy of all variants")
        ("compaction", Rows(&COMPACTION), Auto("`compaction-v4.1` on kernel 4.1, else `none`"),
            "how large free blocks are made, in all variants")
        ("task", Tasks(&TASK_TABLES), Required, "the work, one `[[task]]` each")
        ("damon", Tables(&DAMON), Auto("none"), "monitors of accesses, one `[[damon]]` each")
        ("daemon", Tables(&DAEMON), Auto("none"),
            "programs that watch memory and act, one `[[daemon]]` each")
        ("pod", Tables(&POD), Auto("none"), "pods that a kubelet runs, one `[[pod]]` each")
        ("variant", Tables(&VARIANT), Auto("one variant called `default`"),
            "what is compared, one `[[variant]]` each")
        ("axes", Axes, Auto("none"), "paths of keys and the values that each is run with")
        ("expect", Tables(&EXPECT), Auto("nothing"),
            "what the runs are to show, one `[[expect]]` each; `run` checks it")
    }
}

rows! {
    /// `[[variant]]`.
    VARIANT,
    "[[variant]]",
    "The same work on another machine or under another policy.";
    keys {
        ("name", Text, Required, "name in reports, unique")
        ("kernel", Kind::Kernel, Auto("that of the machine"),
            "sets `machine.kernel`, the reclaim preset of that kernel (`classic-v` and the version; that of 5.9 for 5.10), and, where `compaction.preset` is given and not `none`, its compaction")
        ("reclaim", Rows(&POLICY), Auto("that of the file"),
            "`preset` and knobs, on top of `[reclaim]`")
        ("compaction", Rows(&COMPACTION), Auto("that of the file"),
            "`preset` and knobs, on top of `[compaction]`")
        ("set", Overrides, Auto("nothing"),
            "other keys by path: `set = { \"machine.vm.swappiness\" = 100 }`")
    }
}

/// Subject of one side of an expectation, but for its figure.
const SUBJECT: &[KeySpec] = &[
    key("variant", Text, Auto("each variant"), "name of a variant"),
    key(
        "at",
        Overrides,
        Auto("each value"),
        "values of axes by path: `at = { \"machine.vm.swappiness\" = 100 }`",
    ),
    key("phase", Text, Auto("the whole run"), "phase, as reports name it: `heap/access`"),
];

rows! {
    /// `[[expect]]`.
    EXPECT,
    "[[expect]]",
    "A statement about means over seeds; needs `above` or `below`. Each point of the axes is \
     checked separately.";
    keys {
        ("figure", Text, Required,
            "a counter or gauge (`pswpin`), `completed` (1 or 0), or a number of the report's JSON by its path (`bounds.sim_opt_refetches`, `damon[0].samples`, `memory_stat.batch.pgscan_anon`); several joined by `+` are added")
        {..SUBJECT}
        ("above", Number(0.0, 1e12), Auto("no bound"),
            "the figure is above this; with `than`, above this multiple of the other")
        ("below", Number(0.0, 1e12), Auto("no bound"),
            "the figure is below this; with `than`, below this multiple of the other")
        ("than", Table(&THAN), Auto("the bounds are numbers"), "what the figure is compared with")
    }
}

rows! {
    /// `than` of an expectation.
    THAN,
    "than of [[expect]]",
    "The other side. What is left out is as on the first side: `than = { variant = \"v5.5\" }`.";
    keys {
        ("figure", Text, Auto("the same"), "another figure")
        {..SUBJECT}
    }
}

/// All tables in the order of the documentation.
pub fn all_tables() -> Vec<&'static TableSpec> {
    let mut all: Vec<&'static TableSpec> =
        vec![&ROOT, &MACHINE, &NODE, &ZONE, &PCP, &SWAP, &DEVICE, &ZSWAP, &DISK, &VM, &MEMCG];
    all.extend([&CACHE_EXT, &CACHE_EXT_MAP, &HOST]);
    all.extend([&VARIANT, &EXPECT, &THAN]);
    all.extend([&DAMON, &DAMON_REGION, &DAMON_PAUSE, &DAMON_INTERVALS_GOAL, &DAMOS, &DAMOS_GOAL]);
    all.extend([&DAMOS_FAIL_CHARGE, &DAMOS_WMARKS, &DAMOS_FILTER]);
    all.extend([&DAEMON, &EARLYOOM, &NOHANG, &SYSTEMD_OOMD, &DAEMON_WATCH]);
    all.extend([&OOMD, &OOMD_DETECTOR, &OOMD_KILL, &LMKD, &SENPAI]);
    all.extend([&KUBELET, &POD, &POD_CONTAINER]);
    all.extend([&DAEMON_TRIGGER, &DAEMON_RULE, &DAEMON_VICTIM, &DAEMON_DO]);
    all.extend([&TASK_COMMON, &CONTENTS, &CONTENTS_LENGTH]);
    all.extend(WORKLOADS.iter().map(|w| w.table));
    all.push(&FRAGMENT_TARGET);
    all.push(&REGION);
    all.extend(STEPS.iter().map(|s| &s.table));
    all.push(&SYSCTLS);
    all.extend([&LAW_OF_TIMES, &LAW_OF_COUNTS, &LAW_OF_SIZES]);
    all
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
                if let Some(v) = k.fallback.value() {
                    assert!(Node::of_default(&v).is_some(), "{} {}", t.title, k.name);
                }
            }
        }
    }
}
