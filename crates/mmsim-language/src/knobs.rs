//! Everything that a scenario can set of a machine, its policies and its monitors, for lists.
//!
//! A knob is a row of settings, or a key of a table of scenario files. Each has the path by which
//! `--set` and axes name it, the values that it takes, its default by kernel, and the names that
//! the kernel itself has for it. Tasks are the work and no knobs; neither is what a file compares.

use mmsim_core::base::rules::KernelRules;
use mmsim_core::base::settings::{Row, Settings, Word};
use mmsim_core::config::cost::CostModel;
use mmsim_core::config::{Kernel, VmSysctl};
use mmsim_damon::modules::{LruSort, Reclaim};

use crate::registry::{Registry, Slot};
use crate::scenario::keys::{Defaults, Fallback, KeySpec, Kind, TableSpec};
use crate::scenario::tables::{self, default_of};

/// A value that holds from a kernel on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Since {
    /// The first kernel with it; empty: all up to the next one.
    pub kernel: &'static str,
    /// The value, or the rule in words.
    pub value: String,
}

/// A knob.
#[derive(Clone, PartialEq, Debug)]
pub struct Knob {
    /// The group of knobs that it belongs to, for people.
    pub family: &'static str,
    /// The path that `--set`, `set` and `[axes]` take.
    pub path: String,
    /// The values that it takes, for people.
    pub takes: String,
    /// The unit of a plain number; empty: it has none.
    pub unit: &'static str,
    /// Its words with their meanings; none for a number.
    pub words: &'static [Word],
    /// Its default, and the kernels at which that changes.
    pub defaults: Vec<Since>,
    /// The releases that have it, for people; empty: all.
    pub life: String,
    /// The names that the kernel has for it: constants, variables, functions, and its file.
    pub kernel: Vec<String>,
    /// The patch or function that it comes from.
    pub source: &'static str,
    /// Its meaning.
    pub doc: &'static str,
}

/// The kernel's names of keys that are no rows.
const KERNEL_NAMES: &[(&str, &str)] = &[
    ("machine.lru-batch", "PAGEVEC_SIZE"),
    ("machine.stat-threshold", "calculate_normal_threshold"),
    ("machine.pageblock-order", "pageblock_order"),
    ("machine.batch-shift", "SWAP_CLUSTER_MAX"),
    ("machine.tick", "CONFIG_HZ"),
];

/// The tables of keys whose single values are knobs: the family, the path, the table.
const TABLES: &[(&str, &str, &TableSpec)] = &[
    ("machine", "machine", &tables::MACHINE),
    ("machine", "machine.node[0]", &tables::NODE),
    ("machine", "machine.zone[0]", &tables::ZONE),
    ("machine", "machine.zone[0].pcp", &tables::PCP),
    ("machine", "machine.swap", &tables::SWAP),
    ("machine", "machine.swap.device", &tables::DEVICE),
    ("machine", "machine.zswap", &tables::ZSWAP),
    ("machine", "machine.disk[0]", &tables::DISK),
    ("guests", "machine.host", &tables::HOST),
    ("groups", "machine.memcg[0]", &tables::MEMCG),
    ("groups", "machine.memcg[0].cache-ext", &tables::CACHE_EXT),
    ("groups", "machine.memcg[0].cache-ext.maps.NAME", &tables::CACHE_EXT_MAP),
    ("daemons", "daemon[0]", &tables::DAEMON),
    ("daemons", "daemon[0].earlyoom", &tables::EARLYOOM),
    ("daemons", "daemon[0].systemd-oomd", &tables::SYSTEMD_OOMD),
    ("daemons", "daemon[0].systemd-oomd.watch[0]", &tables::DAEMON_WATCH),
    ("daemons", "daemon[0].nohang", &tables::NOHANG),
    ("daemons", "daemon[0].oomd[0]", &tables::OOMD),
    ("daemons", "daemon[0].oomd[0].detector[0]", &tables::OOMD_DETECTOR),
    ("daemons", "daemon[0].oomd[0].kill", &tables::OOMD_KILL),
    ("daemons", "daemon[0].lmkd", &tables::LMKD),
    ("daemons", "daemon[0].kubelet", &tables::KUBELET),
    ("daemons", "pod[0]", &tables::POD),
    ("daemons", "pod[0].container[0]", &tables::POD_CONTAINER),
    ("daemons", "daemon[0].senpai", &tables::SENPAI),
    ("daemons", "daemon[0].trigger[0]", &tables::DAEMON_TRIGGER),
    ("daemons", "daemon[0].rule[0]", &tables::DAEMON_RULE),
    ("daemons", "daemon[0].rule[0].victim", &tables::DAEMON_VICTIM),
    ("daemons", "daemon[0].rule[0].do", &tables::DAEMON_DO),
    ("DAMON", "damon[0]", &tables::DAMON),
    ("DAMON", "damon[0].region[0]", &tables::DAMON_REGION),
    ("DAMON", "damon[0].pause[0]", &tables::DAMON_PAUSE),
    ("DAMON", "damon[0].intervals-goal", &tables::DAMON_INTERVALS_GOAL),
    ("DAMOS", "damon[0].scheme[0]", &tables::DAMOS),
    ("DAMOS", "damon[0].scheme[0].goal[0]", &tables::DAMOS_GOAL),
    ("DAMOS", "damon[0].scheme[0].fail-charge", &tables::DAMOS_FAIL_CHARGE),
    ("DAMOS", "damon[0].scheme[0].wmarks", &tables::DAMOS_WMARKS),
    ("DAMOS", "damon[0].scheme[0].filter[0]", &tables::DAMOS_FILTER),
];

/// All knobs, family by family.
pub fn knobs(registry: &Registry) -> Vec<Knob> {
    let mut all = Vec::new();
    for (slot, path) in [
        (Slot::Reclaim, "reclaim"),
        (Slot::Compaction, "compaction"),
        (Slot::Damon, "damon[0].rules"),
    ] {
        for (family, rows, default) in registry.rows_of(slot) {
            all.extend(rows.iter().map(|row| of_row(family, path, row, &default)));
        }
    }
    all.extend(of_rows::<KernelRules>("rules of the kernel", "machine.rules"));
    all.extend(of_rows::<VmSysctl>("sysctls", "machine.vm"));
    all.extend(of_rows::<CostModel>("costs", "machine.cost"));
    for &(family, path, table) in TABLES {
        all.extend(table.keys().filter(|k| is_single(k)).map(|k| of_key(family, path, k)));
    }
    all.extend(of_module::<Reclaim>("DAMON_RECLAIM", "damon_reclaim"));
    all.extend(of_module::<LruSort>("DAMON_LRU_SORT", "damon_lru_sort"));
    all
}

fn of_rows<C: Settings>(family: &'static str, path: &str) -> Vec<Knob> {
    let default: Defaults = default_of::<C>;
    C::ROWS.iter().map(|row| of_row(family, path, row, &default)).collect()
}

/// The parameters of a module of DAMON, whose files have their names.
fn of_module<C: Settings>(family: &'static str, module: &str) -> Vec<Knob> {
    let mut knobs = of_rows::<C>(family, "damon[0].parameters");
    for (knob, row) in knobs.iter_mut().zip(C::ROWS) {
        knob.kernel.push(format!("/sys/module/{module}/parameters/{}", row.name));
    }
    knobs
}

fn of_row(
    family: &'static str,
    path: &str,
    row: &'static Row,
    default: &dyn Fn(&Row, Kernel) -> Option<u64>,
) -> Knob {
    let defaults = match row.auto {
        "" => by_kernel(row, default),
        words => vec![Since { kernel: "", value: words.replace('`', "") }],
    };
    let names = row.kernel.split(", ").chain([row.file]).filter(|name| !name.is_empty());
    Knob {
        family,
        path: format!("{path}.{}", row.name),
        takes: row.takes(),
        unit: row.unit,
        words: row.words(),
        defaults,
        life: row.life().unwrap_or_default(),
        kernel: names.map(String::from).collect(),
        source: row.source,
        doc: row.doc,
    }
}

/// The default of the oldest kernel that has one, and each change after it.
fn by_kernel(row: &Row, default: &dyn Fn(&Row, Kernel) -> Option<u64>) -> Vec<Since> {
    let mut all: Vec<Since> = Vec::new();
    for kernel in Kernel::ALL {
        let number = default(row, kernel).filter(|_| row.is_of(kernel));
        let value = number.map_or("none".to_string(), |n| row.text(Some(n)));
        let unchanged = match all.last() {
            Some(last) => last.value == value,
            None => number.is_none(),
        };
        if !unchanged {
            let first = kernel == Kernel::ALL[0];
            all.push(Since { kernel: if first { "" } else { kernel.name() }, value });
        }
    }
    all
}

/// True if the key has a value of its own, and is no name.
fn is_single(key: &KeySpec) -> bool {
    let is_list = matches!(key.kind, Kind::Tables(_) | Kind::Table(_) | Kind::OneOrMore(_));
    !is_list && !matches!(key.kind, Kind::Rows(_)) && key.name != "name"
}

fn of_key(family: &'static str, path: &str, key: &'static KeySpec) -> Knob {
    let path = format!("{path}.{}", key.name);
    let value = match key.fallback {
        Fallback::Required => "required".to_string(),
        fallback => {
            let toml = fallback.value().or_else(|| fallback.words()).unwrap_or_default();
            toml.replace(['`', '"'], "")
        }
    };
    let of_path = KERNEL_NAMES.iter().filter(|(of, _)| *of == path);
    Knob {
        family,
        takes: key.kind.describe().replace(['`', '"'], ""),
        unit: "",
        words: &[],
        defaults: vec![Since { kernel: "", value }],
        life: String::new(),
        kernel: of_path.map(|(_, name)| name.to_string()).collect(),
        source: "",
        doc: key.doc,
        path,
    }
}

/// The knobs that a word names, and those that only mention it.
pub fn found<'k>(knobs: &'k [Knob], word: &str) -> (Vec<&'k Knob>, Vec<&'k Knob>) {
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    let word = plain(word);
    let names = |k: &Knob| {
        plain(&k.path).contains(&word) || k.kernel.iter().any(|name| plain(name).contains(&word))
    };
    let mentions = |k: &Knob| {
        let texts = [k.family, &k.takes, k.source, k.doc];
        let of_words = k.words.iter().flat_map(|w| [w.name, w.doc]);
        texts.into_iter().chain(of_words).any(|text| plain(text).contains(&word))
    };
    let (named, others): (Vec<_>, Vec<_>) = knobs.iter().partition(|k| names(k));
    (named, others.into_iter().filter(|k| mentions(k)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use crate::machines::Catalogue;
    use crate::scenario::tables::{ROW_TABLES, all_tables};
    use std::collections::BTreeMap;

    /// Tables that are no knobs: the file, what it compares, the work, and laws of its values.
    fn is_no_knob(title: &str) -> bool {
        let parts = ["[[variant]]", "[[expect]]", "than of", "[[task]]", "workload", "target of"];
        let work = [
            "Regions of",
            "do = ",
            "sysctl",
            "A law of",
            "Top level",
            "[machine.vm]",
            "lengths of",
        ];
        parts.iter().chain(&work).any(|part| title.contains(part))
    }

    /// A row that is added is listed with its family; so is a key of a table that is added.
    #[test]
    fn each_setting_is_listed() {
        let all = knobs(&Catalogue);
        let has = |path: String| assert!(all.iter().any(|k| k.path == path), "{path} is missing");
        for preset in Catalogue.presets() {
            Catalogue.knobs(&preset).into_iter().for_each(|k| has(format!("reclaim.{}", k.key)));
        }
        for preset in Catalogue.compaction_presets() {
            Catalogue.knobs(&preset).into_iter().for_each(|k| has(format!("compaction.{}", k.key)));
        }
        for preset in Catalogue.damon_presets() {
            let rules = Catalogue.knobs(&preset).into_iter();
            rules.for_each(|k| has(format!("damon[0].rules.{}", k.key)));
        }
        KernelRules::ROWS.iter().for_each(|row| has(format!("machine.rules.{}", row.name)));
        VmSysctl::ROWS.iter().for_each(|row| has(format!("machine.vm.{}", row.name)));
        CostModel::ROWS.iter().for_each(|row| has(format!("machine.cost.{}", row.name)));
        for rows in [Reclaim::ROWS, LruSort::ROWS] {
            rows.iter().for_each(|row| has(format!("damon[0].parameters.{}", row.name)));
        }
        assert_eq!(ROW_TABLES.len(), 5, "a family of rows was added: list it");
        for table in all_tables().into_iter().filter(|t| !is_no_knob(t.title)) {
            let listed = TABLES.iter().any(|(_, _, t)| std::ptr::eq(*t, table));
            assert!(listed, "the keys of {} are neither knobs nor work", table.title);
        }
    }

    #[test]
    fn each_has_a_doc_values_and_a_default() {
        let all = knobs(&Catalogue);
        let mut paths = BTreeMap::<(&str, &str), usize>::new();
        for k in &all {
            assert!(!k.doc.is_empty() && !k.takes.is_empty(), "{}", k.path);
            let defaults = k.defaults.iter().all(|d| !d.value.is_empty());
            assert!(!k.defaults.is_empty() && defaults, "{}: {:?}", k.path, k.defaults);
            *paths.entry((k.family, &k.path)).or_default() += 1;
        }
        assert!(paths.values().all(|n| *n == 1), "{paths:?}");
    }

    /// The path of each row sets it: to its own default on the newest kernel.
    #[test]
    fn each_path_is_one_that_set_takes() {
        let text = |family: &str| {
            let (preset, module) = match family {
                "MGLRU" => ("mglru-v7.3", "damon-stat"),
                "DAMON_LRU_SORT" => ("classic-v7.3", "damon-lru-sort"),
                _ => ("classic-v7.3", "damon-reclaim"),
            };
            format!(
                "machine = {{ kernel = \"7.3\", memory = \"64MiB\" }}\n\
                 reclaim = {{ preset = \"{preset}\" }}\n\
                 compaction = {{ preset = \"compaction-v7.3\" }}\n\
                 damon = [{{ module = \"{module}\" }}]\n\
                 task = [{{ workload = \"zipf\", memory = \"1MiB\", accesses = 1 }}]\n"
            )
        };
        let mut set = 0;
        for k in knobs(&Catalogue).iter().filter(|k| !k.source.is_empty() || !k.unit.is_empty()) {
            let default = k.defaults.last().map(|d| d.value.clone()).unwrap_or_default();
            // The kernel lacks it, or a rule decides.
            if default == "none" || default.contains(' ') || default.ends_with("_ratio") {
                continue;
            }
            let scenario = Scenario::from_str(&text(k.family), "x.toml").expect("a scenario");
            let sets = [(k.path.clone(), default)];
            if let Err(e) = scenario.with_sets(&sets) {
                panic!("{sets:?}: {e}");
            }
            set += 1;
        }
        assert!(set > 200, "{set}");
    }

    /// A name of the kernel leads to one knob, but for these.
    #[test]
    fn names_of_the_kernel_are_unique() {
        let all = knobs(&Catalogue);
        let mut by_name = BTreeMap::<&str, Vec<&str>>::new();
        for k in &all {
            for name in &k.kernel {
                assert!(!name.contains(' '), "{}: {name}", k.path);
                by_name.entry(name).or_default().push(&k.path);
            }
        }
        let shared: Vec<_> = by_name.into_iter().filter(|(_, paths)| paths.len() > 1).collect();
        let shared: Vec<_> = shared.iter().map(|(name, paths)| (*name, paths.join(" "))).collect();
        let intended = [
            // The tick decides both.
            ("CONFIG_HZ", "damon[0].rules.coarse-tick-us machine.tick"),
            ("PAGEVEC_SIZE", "machine.rules.lru-batch machine.lru-batch"),
            // One constant, and all batches that are made of it.
            (
                "SWAP_CLUSTER_MAX",
                "compaction.cluster-max machine.rules.memory-reclaim-try machine.batch-shift",
            ),
            // Functions that several patches changed.
            ("lru_gen_age_node", "reclaim.ttl-rule reclaim.protection-age"),
            ("lru_gen_refault", "reclaim.restore-rule reclaim.refault-count"),
            // Both LRUs have the knob.
            ("lru_lazyfree", "reclaim.lazyfree reclaim.lazyfree"),
            ("try_to_inc_min_seq", "reclaim.min-seq-coupling reclaim.min-seq-clamp"),
        ];
        let intended: Vec<_> = intended.map(|(name, paths)| (name, paths.to_string())).into();
        assert_eq!(shared, intended);
    }

    #[test]
    fn knobs_are_found_by_any_of_their_names() {
        let all = knobs(&Catalogue);
        let paths = |word| found(&all, word).0.iter().map(|k| &*k.path).collect::<Vec<_>>();
        assert_eq!(paths("MIN_LRU_BATCH"), ["reclaim.step-size"]);
        assert_eq!(paths("step-size"), ["reclaim.step-size"]);
        assert_eq!(paths("vm_swappiness"), ["machine.vm.swappiness"]);
        assert_eq!(paths("/proc/sys/vm/swappiness"), ["machine.vm.swappiness"]);
        assert_eq!(paths("MAX_NR_TIERS"), ["reclaim.nr-tiers"]);
        assert!(paths("swap_cluster_max").contains(&"compaction.cluster-max"));
        assert!(paths("damon_reclaim/parameters/min_age").contains(&"damon[0].parameters.min_age"));
        let mention = found(&all, "swappiness").1;
        assert!(mention.iter().any(|k| k.path == "machine.rules.anon-only-falls-back"));
        assert_eq!(found(&all, "no such thing"), (vec![], vec![]));
    }

    #[test]
    fn defaults_change_at_kernels() {
        let all = knobs(&Catalogue);
        let of = |path: &str| {
            let knob = all.iter().find(|k| k.path == path).expect("a knob");
            let text = |d: &Since| format!("{}:{}", d.kernel, d.value);
            knob.defaults.iter().map(text).collect::<Vec<_>>()
        };
        assert_eq!(of("reclaim.step-size"), ["6.1:4096", "6.18:budget", "7.3:64"]);
        assert_eq!(of("reclaim.anon-start"), [":active", "5.9:inactive"]);
        assert_eq!(of("machine.vm.swappiness"), [":60"]);
        assert_eq!(of("machine.vm.percpu_pagelist_fraction"), [":0", "6.1:none"]);
        assert_eq!(of("machine.swap.size"), [":required"]);
    }
}
