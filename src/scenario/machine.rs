//! From `[machine]` to the machine's configuration.

use mmsim_core::backing::device::{DEVICE_PRESETS, DeviceConfig, WBT_LAT};
use mmsim_core::base::id::GROUP_PAGES;
use mmsim_core::base::knobs::{KnobError, Knobs as _};
use mmsim_core::base::rules::KernelRules;
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::cost::CostModel;
use mmsim_core::config::{
    DirtyLimit, Kernel, MachineConfig, MemcgConfig, NodeConfig, ThpDefrag, VmSysctl, ZoneConfig,
    ZoneKind,
};

use super::keys::{self, DEVICE, MACHINE, MEMCG, NODE, VM, ZONE, one_of};
use super::policy;
use super::raw::{Node, Sources, Value};
use super::read::{Reader, unknown};
use super::units::{self, BadQuantity, PAGE_SIZE};
use crate::error::Error;

/// Pages below 16 MiB: zone DMA.
const DMA_END: u64 = 4096;
/// Pages below 3 GiB: the part of the first 4 GiB that is memory on a PC; the rest of it
/// is taken by devices, and memory goes on above 4 GiB.
const DMA32_END: u64 = 786_432;
/// Zones that have a number, and groups besides the root.
const MOST_ZONES: usize = 255;
const MOST_GROUPS: usize = 65_535;
/// The largest latency of a device and the largest cost of a step. A run has any number of
/// either, and its clocks have 584 years.
pub(super) const SLOWEST_DEVICE: SimDuration = SimDuration::from_secs(60);
const SLOWEST_STEP: SimDuration = SimDuration::from_secs(1);

/// The zones of `pages` of memory that begin at page `start` of all memory.
///
/// The rule of a PC: the first 16 MiB are zone DMA, of which one sixteenth is firmware's
/// (3840 of 4096 pages are managed, the figure that Linux prints); what lies below 3 GiB
/// is DMA32; the rest is mapped above 4 GiB and is Normal. Pages that the kernel takes at
/// boot (its text, the frame table) are not subtracted: `os-overhead` stands for them.
pub fn zones_of(start: u64, pages: u64) -> Vec<ZoneConfig> {
    let end = start + pages;
    let part = |lo: u64, hi: u64| end.min(hi).saturating_sub(start.max(lo));
    let dma = part(0, DMA_END);
    [
        (ZoneKind::Dma, dma - dma / 16),
        (ZoneKind::Dma32, part(DMA_END, DMA32_END)),
        (ZoneKind::Normal, part(DMA32_END, u64::MAX)),
    ]
    .into_iter()
    .filter(|z| z.1 > 0)
    .map(|(kind, managed)| ZoneConfig {
        kind,
        managed: managed as u32,
        free_at_start: None,
        watermarks: None,
        lowmem_reserve: None,
        pcp: None,
        pcp_at_start: 0,
        layout: None,
    })
    .collect()
}

/// Reads `[machine]`.
pub(super) fn machine(sources: &Sources, node: &Node) -> Result<MachineConfig, Error> {
    keys::machine_config(&Reader::open(sources, node, &MACHINE, "machine")?, ())
}

pub(super) fn kernel_of(r: &Reader<'_>) -> Result<Kernel, Error> {
    Ok(r.opt_kernel("kernel")?.unwrap_or(Kernel::V6_12))
}

/// Frames have numbers, and the system and huge pages do not hold more than there is.
pub(super) fn memory_suffices(r: &Reader<'_>, c: &MachineConfig) -> Result<(), Error> {
    let managed: u64 = c.nodes.iter().flat_map(|n| &n.zones).map(|z| u64::from(z.managed)).sum();
    if managed > u64::from(u32::MAX - (1 << 14)) {
        let key = if r.has("node") { "node" } else { "zone" };
        return Err(r.error(key, "more memory than page numbers", "at most \"16383GiB\" in all"));
    }
    if c.os_overhead >= managed {
        let found = format!("the system would hold all {} of memory", units::show_pages(managed));
        return Err(r.error("os-overhead", found, "less"));
    }
    let most = managed / u64::from(GROUP_PAGES);
    if u64::from(c.vm.nr_hugepages) > most {
        let found = format!("{} huge pages are more than all of memory", c.vm.nr_hugepages);
        let vm = Reader::open(r.sources, r.need("vm")?, &VM, "machine.vm")?;
        return Err(vm.error("nr_hugepages", found, format!("less than {most}")));
    }
    Ok(())
}

/// The rules, where they are not those of the kernel.
pub(super) fn rules(r: &Reader<'_>, kernel: Kernel) -> Result<Option<KernelRules>, Error> {
    let of_kernel = KernelRules::of(kernel);
    // Out of range for a reason.
    if let Some(Value::Integer(n)) = r.find("pageblock-order").map(|n| &n.value)
        && *n > of_kernel.max_order.into()
    {
        let max = of_kernel.max_order;
        let found =
            format!("a pageblock of order {n} is larger than the largest block, of order {max}");
        return Err(r.error("pageblock-order", found, format!("a whole number from 1 to {max}")));
    }
    let mut rules = of_kernel;
    if let Some(order) = r.opt_count("pageblock-order")? {
        rules.pageblock_order = order as u8;
    }
    let entries = r.table("rules")?.map_or(&[][..], |t| &t.entries);
    for e in entries {
        let name = format!("machine.rules.{}", e.key);
        if e.key == "lru-batch" && r.has("lru-batch") {
            let title = format!("{name}: `machine.lru-batch` says the same");
            return Err(r.sources.error(e.key_at, title, "leave one of them out"));
        }
        let value = policy::knob_value(r.sources, "machine.rules", e)?.to_string();
        rules.set(&e.key, &value).map_err(|error| match error {
            KnobError::UnknownKnob { .. } => {
                let known: Vec<&str> = KernelRules::knobs().iter().map(|k| k.name).collect();
                unknown(r.sources, e.key_at, "machine.rules: ", "rule", &e.key, &known)
            }
            error => {
                let title = format!("{name}: {}", error.remark());
                let label = match &error {
                    KnobError::UnknownValue { allowed, .. } => one_of(allowed),
                    KnobError::OutOfRange { range: (low, high), .. } => {
                        format!("a whole number from {low} to {high}")
                    }
                    _ => "another value".into(),
                };
                r.sources.error(e.node.at, title, format!("write {label}"))
            }
        })?;
    }
    match rules.validate() {
        // What a kernel has by itself is no contradiction.
        Err(error) if !entries.is_empty() => {
            let at = entries[entries.len() - 1].node.at;
            let title = format!("machine.rules: {error}");
            Err(r.sources.error(at, title, "does not fit the other rules"))
        }
        _ => Ok((rules != of_kernel).then_some(rules)),
    }
}

pub(super) fn nodes(r: &Reader<'_>) -> Result<Vec<NodeConfig>, Error> {
    r.at_most_one("memory", "zone")?;
    r.at_most_one("memory", "node")?;
    r.at_most_one("zone", "node")?;
    if r.has("node") {
        let list = r.list("node")?;
        if list.is_empty() {
            return Err(r.error("node", "no node at all", "at least one [[machine.node]]"));
        }
        let (mut start, mut nr_zones) = (0, 0);
        let mut nodes = Vec::new();
        for (i, n) in list.iter().enumerate() {
            let path = format!("machine.node[{i}]");
            let node = Reader::open(r.sources, n, &NODE, &path)?;
            node.one_of("memory", "zone")?;
            let config = keys::node(&node, start)?;
            nr_zones += config.zones.len();
            if nr_zones > MOST_ZONES {
                let found = format!("with this node there are {nr_zones} zones");
                let write = format!("nodes of at most {MOST_ZONES} zones in all");
                return Err(node.error(
                    if node.has("zone") { "zone" } else { "memory" },
                    found,
                    write,
                ));
            }
            start += match node.opt_pages("memory")? {
                Some(pages) => pages,
                None => config.zones.iter().map(|z| u64::from(z.managed)).sum(),
            };
            nodes.push(config);
        }
        return Ok(nodes);
    }
    r.one_of("memory", "zone")?;
    Ok(vec![NodeConfig { zones: zones(r, 0)? }])
}

/// The zones of a table that has `memory` or `zone`.
pub(super) fn zones(r: &Reader<'_>, start: u64) -> Result<Vec<ZoneConfig>, Error> {
    if let Some(pages) = r.opt_pages_u32("memory")? {
        return Ok(zones_of(start, u64::from(pages)));
    }
    let list = r.list("zone")?;
    if list.is_empty() {
        return Err(r.error("zone", "no zone at all", "at least one zone"));
    }
    let mut zones: Vec<ZoneConfig> = Vec::new();
    for (i, n) in list.iter().enumerate() {
        let path = format!("{}[{i}]", r.name_of("zone"));
        let z = Reader::open(r.sources, n, &ZONE, &path)?;
        let zone = keys::zone(&z, ())?;
        if let Some(last) = zones.last()
            && last.kind >= zone.kind
        {
            let found = format!("{} after {}", zone.kind.name(), last.kind.name());
            return Err(z.error(
                "kind",
                found,
                "each kind once, in address order: DMA, DMA32, Normal, Movable",
            ));
        }
        zones.push(zone);
    }
    Ok(zones)
}

/// A size that is not more than the zone, if given.
pub(super) fn part_of_zone(z: &Reader<'_>, key: &str) -> Result<Option<u32>, Error> {
    let managed: u32 = z.get("managed")?;
    match z.get::<Option<u32>>(key)? {
        Some(n) if n > managed => {
            let found = format!("{} is more than the zone", units::show_pages(u64::from(n)));
            let write = format!("at most \"{}\"", units::show_pages(u64::from(managed)));
            Err(z.error(key, found, write))
        }
        n => Ok(n),
    }
}

pub(super) fn watermarks(z: &Reader<'_>) -> Result<Option<[u32; 3]>, Error> {
    match [part_of_zone(z, "min")?, part_of_zone(z, "low")?, part_of_zone(z, "high")?] {
        [None, None, None] => Ok(None),
        [Some(min), Some(low), Some(high)] => {
            if min > low || low > high {
                let found = format!("watermarks min {min}, low {low}, high {high} pages fall");
                return Err(z.error("min", found, "min <= low <= high"));
            }
            Ok(Some([min, low, high]))
        }
        _ => {
            let given = ["min", "low", "high"].into_iter().find(|k| z.has(k)).unwrap_or("min");
            let found = "one watermark without the others";
            Err(z.error(given, found, "all of min, low and high, or none"))
        }
    }
}

pub(super) fn device(r: &Reader<'_>, key: &str, cpus: u32) -> Result<DeviceConfig, Error> {
    let node = r.need(key)?;
    if node.table().is_some() {
        return own_device(r.sources, node, &r.name_of(key), cpus);
    }
    let name = r.opt_text(key)?.unwrap_or("");
    DeviceConfig::preset(name, cpus).ok_or_else(|| {
        let known: Vec<&str> = DEVICE_PRESETS.iter().map(|p| p.0).collect();
        r.unknown_word(key, "device", name, &known)
    })
}

/// A device that the scenario describes.
pub(super) fn own_device(
    sources: &Sources,
    node: &Node,
    path: &str,
    cpus: u32,
) -> Result<DeviceConfig, Error> {
    keys::device_of_keys(&Reader::open(sources, node, &DEVICE, path)?, cpus)
}

pub(super) fn not_both(d: &Reader<'_>, config: &DeviceConfig) -> Result<(), Error> {
    if config.synchronous && config.rotational {
        let found = "a device cannot be both synchronous and rotational";
        return Err(d.error("rotational", found, "one of them"));
    }
    Ok(())
}

pub(super) fn wbt_lat(d: &Reader<'_>) -> Result<SimDuration, Error> {
    Ok(match d.get("wbt_lat_usec")? {
        Some(us) => SimDuration::from_micros(us),
        None => WBT_LAT[usize::from(d.get::<bool>("rotational")?)],
    })
}

pub(super) fn sysctls(r: &Reader<'_>) -> Result<VmSysctl, Error> {
    let kernel = kernel_of(r)?;
    let r = Reader::open(r.sources, r.need("vm")?, &VM, "machine.vm")?;
    check_kernel_has(&r, kernel)?;
    let vm = keys::vm(&r, kernel)?;
    if vm.swappiness > 100 && kernel < Kernel::V5_8 {
        let found =
            format!("{} is above 100, the most that kernel {} takes", vm.swappiness, kernel.name());
        return Err(r.error("swappiness", found, "100 or less, or use kernel 5.8 or later"));
    }
    if (1..8).contains(&vm.percpu_pagelist_high_fraction) {
        let found = format!("{} is too small a fraction", vm.percpu_pagelist_high_fraction);
        return Err(r.error(pagelist_fraction(kernel), found, "0 or at least 8"));
    }
    let around: u64 = r.get("fault_around_bytes")?;
    if !around.is_power_of_two() {
        let found = format!("{around} is not a power of two");
        return Err(r.error("fault_around_bytes", found, "4096 or 65536"));
    }
    let ahead: u64 = r.get("read_ahead_kb")?;
    if !(ahead * 1024).is_multiple_of(PAGE_SIZE) {
        let found = format!("{ahead} KiB are not whole pages");
        return Err(r.error("read_ahead_kb", found, "a multiple of 4"));
    }
    Ok(vm)
}

/// The name that the sysctl has on a kernel.
pub(super) fn pagelist_fraction(kernel: Kernel) -> &'static str {
    if kernel >= Kernel::V6_1 {
        "percpu_pagelist_high_fraction"
    } else {
        "percpu_pagelist_fraction"
    }
}

/// A count, or the kernel's own.
pub(super) fn or(r: &Reader<'_>, key: &str, default: u32) -> Result<u32, Error> {
    Ok(r.get::<Option<u32>>(key)?.unwrap_or(default))
}

pub(super) fn centisecs(r: &Reader<'_>, key: &str) -> Result<SimDuration, Error> {
    Ok(SimDuration::from_millis(10 * r.get::<u64>(key)?))
}

/// Sysctls that came, or went, while the modelled kernels did: name, first and last of them that
/// has it, and what Linux says.
const OF_SOME_KERNELS: &[(&str, Kernel, Kernel, &str)] = &[
    ("watermark_scale_factor", Kernel::V5_5, Kernel::LAST, "since 4.6"),
    ("watermark_boost_factor", Kernel::V5_5, Kernel::LAST, "since 5.0"),
    ("compaction_proactiveness", Kernel::V5_9, Kernel::LAST, "since 5.9"),
    ("percpu_pagelist_high_fraction", Kernel::V6_1, Kernel::LAST, "since 5.14"),
    ("percpu_pagelist_fraction", Kernel::V4_1, Kernel::V5_10, "up to 5.13"),
];

/// Nothing is set that the kernel does not have, and no value that it does not take.
fn check_kernel_has(r: &Reader<'_>, kernel: Kernel) -> Result<(), Error> {
    let name = kernel.name();
    for &(key, first, last, linux) in OF_SOME_KERNELS {
        if r.has(key) && !(first..=last).contains(&kernel) {
            let found = format!("kernel {name} has no such sysctl (Linux has it {linux})");
            let write = match key {
                "percpu_pagelist_high_fraction" => "`percpu_pagelist_fraction` in its place",
                "percpu_pagelist_fraction" => "`percpu_pagelist_high_fraction` in its place",
                _ => "nothing here, or use a kernel that has it",
            };
            return Err(r.error(key, found, write));
        }
    }
    let scale = r.opt_count("watermark_scale_factor")?.unwrap_or(0);
    if scale > 1000 && kernel < Kernel::V6_1 {
        let found = format!("{scale} is above 1000, the most that kernel {name} takes");
        return Err(r.error("watermark_scale_factor", found, "1000 or less, or use kernel 6.1"));
    }
    let deferred = [ThpDefrag::Defer, ThpDefrag::DeferMadvise];
    if kernel < Kernel::V5_5 && deferred.contains(&r.word("thp_defrag", &keys::THP_DEFRAG)?) {
        let defrag = r.opt_text("thp_defrag")?.unwrap_or_default();
        let found = format!("kernel {name} does not know \"{defrag}\" (Linux does since 4.11)");
        return Err(r.error("thp_defrag", found, "\"always\", \"madvise\" or \"never\""));
    }
    Ok(())
}

/// A threshold in per cent or in bytes. The kernel takes the last one written; two are an error here.
pub(super) fn dirty_limit(
    r: &Reader<'_>,
    name: &str,
    default: DirtyLimit,
) -> Result<DirtyLimit, Error> {
    let (ratio, bytes) = (format!("{name}_ratio"), format!("{name}_bytes"));
    r.at_most_one(&ratio, &bytes)?;
    Ok(match (r.get(&ratio)?, r.get(&bytes)?) {
        (_, Some(n)) => DirtyLimit::Bytes(n),
        (Some(percent), None) => DirtyLimit::Ratio(percent),
        (None, None) => default,
    })
}

pub(super) fn memcgs(r: &Reader<'_>) -> Result<Vec<MemcgConfig>, Error> {
    let mut groups: Vec<MemcgConfig> = Vec::new();
    for (i, n) in r.list("memcg")?.iter().enumerate() {
        let path = format!("machine.memcg[{i}]");
        let g = Reader::open(r.sources, n, &MEMCG, &path)?;
        if i == MOST_GROUPS {
            let found = format!("more than {MOST_GROUPS} groups");
            return Err(g.error("name", found, "fewer of them"));
        }
        let group = keys::memcg(&g, ())?;
        if groups.iter().any(|o| o.name == group.name) {
            return Err(g.error(
                "name",
                format!("\"{}\" names two groups", group.name),
                "another name",
            ));
        }
        groups.push(group);
    }
    Ok(groups)
}

pub(super) fn cost(r: &Reader<'_>) -> Result<CostModel, Error> {
    let mut model = CostModel::measured();
    let Some(table) = r.table("cost")? else { return Ok(model) };
    for e in &table.entries {
        let Some(slot) = model.field_mut(&e.key) else {
            let fields = model.fields();
            let known: Vec<&str> = fields.iter().map(|f| f.0).collect();
            return Err(unknown(r.sources, e.key_at, "machine.cost: ", "cost", &e.key, &known));
        };
        let bad = match &e.node.value {
            Value::Text(s) => match units::duration(s) {
                Ok(t) if t <= SLOWEST_STEP => {
                    *slot = t;
                    continue;
                }
                Ok(_) => BadQuantity {
                    found: format!("\"{s}\" is too large"),
                    write: format!("at most \"{SLOWEST_STEP}\""),
                },
                Err(bad) => bad,
            },
            v => units::duration_of_bare(&super::raw::inline(v)),
        };
        let title = format!("machine.cost.{}: {}, write {}", e.key, bad.found, bad.write);
        return Err(r.sources.error(e.node.at, title, format!("write {}", bad.write)));
    }
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::read::fill;

    fn zones(start: u64, pages: u64) -> Vec<(&'static str, u32)> {
        zones_of(start, pages).iter().map(|z| (z.kind.name(), z.managed)).collect()
    }

    #[test]
    fn memory_is_divided_as_on_a_pc() {
        assert_eq!(zones(0, 256), [("DMA", 240)]);
        assert_eq!(zones(0, 262_144), [("DMA", 3840), ("DMA32", 258_048)]);
        assert_eq!(zones(0, 2_097_152), [("DMA", 3840), ("DMA32", 782_336), ("Normal", 1_310_720)]);
        assert_eq!(zones(262_144, 262_144), [("DMA32", 262_144)]);
        assert_eq!(zones(1_048_576, 1_048_576), [("Normal", 1_048_576)]);
    }

    #[test]
    fn defaults_are_those_of_linux() {
        let mut sources = Sources::default();
        let mut doc = sources.parse("x", "memory = \"1GiB\"").unwrap();
        fill(&mut doc, &MACHINE);
        let node = Node { value: Value::Table(doc), at: crate::scenario::raw::At::DEFAULT };
        let m = machine(&sources, &node).unwrap();
        assert_eq!(m.vm, VmSysctl::linux());
        assert_eq!(m.cost, CostModel::measured());
        assert_eq!((m.cpus, m.swap, m.kernel), (1, None, Kernel::V6_12));
    }
}
