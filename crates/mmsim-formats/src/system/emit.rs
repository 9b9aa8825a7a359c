//! The texts that the machine of an import shows before anything runs, and how they differ from the
//! copies.

use std::collections::BTreeMap;
use std::sync::Arc;

use mmsim_core::base::settings::Settings as _;
use mmsim_core::base::time::SimTime;
use mmsim_core::config::{MachineConfig, SwapConfig};
use mmsim_core::memory::Layout;

use super::compressed;
use super::copies::Copies;
use super::facts::Facts;
use super::groups;
use super::import::Import;
use super::sysctls;
use super::writer::ANY_TASK;
use mmsim_base::error::Error;
use mmsim_base::layout;
use mmsim_language::machines;
use mmsim_language::scenario::RunSpec;
use mmsim_report::proc::{self, Kind, SwapLine};

/// Texts by their paths from the root.
pub type Emitted = Vec<(String, String)>;

/// The run of an import, with its layout from memory instead of a file.
fn run_of(import: &Import) -> Result<(RunSpec, Option<Arc<Layout>>), Error> {
    // The task that loads the layout is the last table: a file that need not exist yet.
    let (machine, loads) = match import.scenario.split_once("\n[[task]]") {
        Some((machine, _)) => (machine, true),
        None => (import.scenario.as_str(), false),
    };
    let run = super::writer::run_of(&format!("{machine}\n{ANY_TASK}"), "the import")?;
    let layout = match (&import.layout, loads) {
        (Some(text), true) => Some(Arc::new(layout::from_text(text, "the layout of the import")?)),
        _ => None,
    };
    Ok((run, layout))
}

/// Every text that is modelled, of the machine at its start.
///
/// # Errors
/// The machine of the scenario cannot be.
pub fn emit(copies: &Copies, import: &Import) -> Result<Emitted, Error> {
    let (run, layout) = run_of(import)?;
    let mut machine = machines::machine(&run)?;
    if let Some(layout) = layout {
        let thread = machine.threads_of(&run.tasks[0].name)[0];
        machine
            .load_layout(thread, &layout)
            .map_err(|e| Error::plain(format!("the layout: {e}")))?;
    }
    let snapshot = machine.snapshot(SimTime::ZERO);
    let mut all: Emitted = Vec::new();
    let kinds = [Kind::Zoneinfo, Kind::Buddyinfo, Kind::Pagetypeinfo, Kind::Vmstat, Kind::Meminfo];
    for kind in kinds {
        all.extend(
            kind.files(&snapshot).into_iter().map(|(path, text)| (format!("proc/{path}"), text)),
        );
    }
    all.push(("proc/swaps".into(), swaps(copies, &run.machine)));
    let min_free = machine.mem.zones.min_free_kbytes;
    all.extend(sysctls::texts(&run.machine.vm, min_free, run.machine.kernel));
    let online = run.machine.cpus - 1;
    let online = if online == 0 { "0\n".into() } else { format!("0-{online}\n") };
    all.push(("sys/devices/system/cpu/online".into(), online));
    all.extend(lru(&run));
    all.extend(compressed::texts(&run.machine));
    all.extend(groups::texts(&run.machine.memcgs, run.machine.memcg_mount));
    all.sort();
    Ok(all)
}

/// `/proc/swaps`, with the names of the machine's own devices.
fn swaps(copies: &Copies, machine: &MachineConfig) -> String {
    let own = Facts::of(copies, Some(machine.kernel), &mut Vec::new()).map(|f| f.swaps);
    let empty = |(swap, area): (&SwapConfig, SwapLine)| SwapLine {
        pages: swap.slots.into(),
        used: 0,
        ..area
    };
    let lines: Vec<_> = machine.swap.iter().zip(own.unwrap_or_default()).map(empty).collect();
    proc::swaps(&lines)
}

/// `/sys/kernel/mm/lru_gen`.
fn lru(run: &RunSpec) -> Emitted {
    let files = lru_files(run).into_iter();
    files.map(|(path, _, text)| (path, format!("{text}\n"))).collect()
}

/// The files of `/sys/kernel/mm/lru_gen`: the path from the root, the knobs of the policy that it
/// holds, and the text. Of another LRU there is that it is off.
pub fn lru_files(run: &RunSpec) -> Vec<(String, &'static [&'static str], String)> {
    let path = |file: &str| format!("sys/kernel/mm/lru_gen/{file}");
    let machines::Policy::Mglru(config) =
        machines::Policy::resolve(&run.policy).unwrap_or(machines::Policy::Random)
    else {
        return vec![(path("enabled"), &[], "0x0000".into())];
    };
    let bits = 1 | u32::from(config.walk_mmu) << 1 | u32::from(config.nonleaf_young) << 2;
    let ttl: u64 = config.get("min-ttl-ms").and_then(|ttl| ttl.parse().ok()).unwrap_or(0);
    vec![
        (path("enabled"), &["walk-mmu", "nonleaf-young"], format!("0x{bits:04x}")),
        (path("min_ttl_ms"), &["min-ttl-ms"], ttl.to_string()),
    ]
}

/// An item of a file that is modelled and differs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Difference {
    /// The file, from the root.
    pub file: String,
    /// The item.
    pub item: String,
    /// Value in the copy; empty if it has no such item.
    pub copy: String,
    /// Value of the machine.
    pub machine: String,
}

/// Holds texts against the copies, item by item, as far as both have a file: how many items are
/// equal, and those that are not. Items that the model has nothing for are left out.
pub fn differences(copies: &Copies, emitted: &Emitted) -> (usize, Vec<Difference>) {
    let (mut equal, mut all) = (0, Vec::new());
    for (file, text) in emitted {
        let Some(copy) = copies.get(file) else { continue };
        let own = items(file, copy.text());
        for (item, machine) in items(file, text) {
            let copy = own.get(&item).cloned().unwrap_or_default();
            if copy == machine {
                equal += 1;
            } else {
                all.push(Difference { file: file.clone(), item, copy, machine });
            }
        }
    }
    (equal, all)
}

/// The items of a text that are modelled.
fn items(file: &str, text: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    match file {
        "proc/zoneinfo" => {
            for z in super::zoneinfo::parse(text).unwrap_or_default() {
                if z.managed == 0 {
                    continue;
                }
                let mut add = |name: &str, value: String| {
                    all.insert(format!("Node {}, zone {}: {name}", z.node, z.name), value);
                };
                let marks = z.marks.map(|m| m.saturating_sub(z.boost).to_string());
                add("free", z.free.to_string());
                add("managed", z.managed.to_string());
                add("min, low, high", marks.join(", "));
                add(
                    "protection",
                    z.protection.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
                );
                for (i, p) in z.pcp.iter().enumerate() {
                    add(&format!("cpu {i}: count"), p.count.to_string());
                    add(&format!("cpu {i}: high"), p.high_min.unwrap_or(p.high).to_string());
                    add(&format!("cpu {i}: batch"), p.batch.to_string());
                }
            }
        }
        "proc/buddyinfo" => {
            for line in text.lines() {
                let line = words(line);
                let mut parts = line.splitn(5, ' ');
                let zone = parts.by_ref().take(4).collect::<Vec<_>>().join(" ");
                all.insert(zone, parts.next().unwrap_or_default().to_string());
            }
        }
        "proc/pagetypeinfo" => {
            for line in text.lines().filter(|l| l.contains(", type ")) {
                let line = words(line);
                let mut parts = line.splitn(7, ' ');
                let list = parts.by_ref().take(6).collect::<Vec<_>>().join(" ");
                let counts = parts.next().unwrap_or_default().to_string();
                // Types that this kernel is built without have no blocks.
                if counts.split(' ').any(|n| n != "0") {
                    all.insert(list, counts);
                }
            }
        }
        // A run begins with counters at 0.
        "proc/vmstat" => {}
        "proc/mounts" => {
            all.insert("options of cgroup2".into(), groups::options(text));
        }
        // A run begins without programs and caches, so the sizes of these do not apply.
        "proc/meminfo" => {
            let there = ["MemTotal:", "MemFree:", "SwapTotal:", "SwapFree:"];
            all.extend(text.lines().map(words).filter_map(|line| {
                let (name, value) = line.split_once(' ')?;
                there.contains(&name).then(|| (name.trim_end_matches(':').into(), value.into()))
            }));
        }
        "proc/swaps" => {
            for line in text.lines().filter(|l| !l.starts_with("Filename")) {
                let line = words(line);
                let (name, value) = line.split_once(' ').unwrap_or((&line, ""));
                all.insert(name.into(), value.into());
            }
        }
        _ if file.starts_with("sys/kernel/mm/transparent_hugepage") => {
            all.insert("mode".into(), sysctls::chosen(text).unwrap_or_default().into());
        }
        _ => {
            all.insert("value".into(), words(text));
        }
    }
    all
}
