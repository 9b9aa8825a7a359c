//! Groups of a recorded point: what each counted, beside the model's.

use std::collections::BTreeMap;

use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::machine::snapshot::{MemcgSnapshot, Snapshot};

use super::point::Phase;

/// Sizes of a group that are compared, in pages.
const SIZES: [&str; 7] = [
    "memory.current",
    "memory.swap.current",
    "anon",
    "inactive_anon",
    "active_anon",
    "zswapped",
    "zswap_bytes",
];

/// Counters of `memory.stat` that are compared, besides `pgscan` and `pgsteal`.
const STAT: [&str; 16] = [
    "pgfault",
    "pgmajfault",
    "pgscan_kswapd",
    "pgscan_direct",
    "pgscan_proactive",
    "pgsteal_kswapd",
    "pgsteal_direct",
    "pgsteal_proactive",
    "pgactivate",
    "pgdeactivate",
    "pgrefill",
    "workingset_refault_anon",
    "workingset_activate_anon",
    "zswpin",
    "zswpout",
    "zswpwb",
];

/// Values of a group at an instant: sizes and counters since the beginning.
type Values = BTreeMap<&'static str, u64>;

/// Groups at the end of a phase, by path.
pub(super) type Groups = BTreeMap<String, Values>;

/// Values of all groups but the root, as the model shows them.
pub(super) fn simulated(s: &Snapshot) -> Groups {
    s.groups.iter().skip(1).map(|g| (g.name.clone(), values(g))).collect()
}

fn values(g: &MemcgSnapshot) -> Values {
    let [current, swap] = g.usage;
    let lists = g.counts.lru;
    let sizes =
        [current, swap, g.counts.anon_mapped, lists[0], lists[1], g.zswap.pages, g.zswap.bytes];
    let sum = |all: &[VmEvent]| all.iter().map(|&e| g.vmstat[e]).sum();
    let mut all: Values = SIZES.into_iter().zip(sizes).collect();
    all.insert("pgscan", sum(VmEvent::SCANNED_BY));
    all.insert("pgsteal", sum(VmEvent::RECLAIMED_BY));
    all.insert("memory.pressure.some.total", g.pressure.some_us);
    all.insert("memory.pressure.full.total", g.pressure.full_us);
    all.extend(STAT.into_iter().filter_map(|name| Some((name, g.vmstat.by_name(name)?))));
    all.extend(g.events.iter().copied());
    all
}

/// A value of a group in a phase: its path, its name, recorded, and in each replay.
pub(super) struct Compared {
    pub path: String,
    pub name: &'static str,
    pub recorded: [f64; 3],
    pub simulated: Vec<f64>,
}

/// Values of all groups of a phase. `replays`: those at its end and at its beginning.
pub(super) fn compared(phase: &Phase, replays: &[(&Groups, Option<&Groups>)]) -> Vec<Compared> {
    let mut rows = Vec::new();
    for (path, recorded) in &phase.groups {
        let Some(names) = replays.first().and_then(|(end, _)| end.get(path)) else { continue };
        for &name in names.keys() {
            let is_size = SIZES.contains(&name);
            let table = if is_size { &recorded.gauges } else { &recorded.counters };
            let of = |(end, begin): &(&Groups, Option<&Groups>)| -> f64 {
                let at = |g: &Groups| g.get(path).and_then(|v| v.get(name)).copied().unwrap_or(0);
                let before = if is_size { 0 } else { begin.map_or(0, at) };
                at(end) as f64 - before as f64
            };
            rows.push(Compared {
                path: path.clone(),
                name,
                recorded: table.get(name).map_or([0.0; 3], |r| r.spread()),
                simulated: replays.iter().map(of).collect(),
            });
        }
    }
    rows
}
