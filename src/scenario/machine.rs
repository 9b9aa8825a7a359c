//! From `[machine]` to the machine's configuration.

use mmsim_core::backing::device::{DEVICE_PRESETS, DeviceConfig, WBT_LAT};
use mmsim_core::base::id::GROUP_PAGES;
use mmsim_core::base::knobs::{KnobError, Knobs as _};
use mmsim_core::base::rules::KernelRules;
use mmsim_core::base::time::SimDuration;
use mmsim_core::machine::config::{
    DirtyLimit, Kernel, MachineConfig, MemcgConfig, NodeConfig, SwapConfig, Thp, ThpDefrag,
    VmSysctl, ZoneConfig, ZoneKind,
};
use mmsim_core::machine::cost::CostModel;

use super::keys::{DEVICE, MACHINE, MEMCG, NODE, PCP, SWAP, THP_DEFRAG, VM, ZONE, one_of};
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
const SLOWEST_DEVICE: SimDuration = SimDuration::from_secs(60);
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
    let r = Reader::open(sources, node, &MACHINE, "machine")?;
    let kernel = r.opt_kernel("kernel")?.unwrap_or(Kernel::V6_12);
    let cpus = r.count_u32("cpus")?;
    let nodes = nodes(&r)?;
    let managed: u64 = nodes.iter().flat_map(|n| &n.zones).map(|z| u64::from(z.managed)).sum();
    if managed > u64::from(u32::MAX - (1 << 14)) {
        let key = if r.has("node") { "node" } else { "zone" };
        return Err(r.error(key, "more memory than page numbers", "at most \"16383GiB\" in all"));
    }
    let os_overhead = r.pages("os-overhead")?;
    if os_overhead >= managed {
        let found = format!("the system would hold all {} of memory", units::show_pages(managed));
        return Err(r.error("os-overhead", found, "less"));
    }
    Ok(MachineConfig {
        kernel,
        rules: rules(&r, kernel)?,
        cpus,
        nodes,
        swap: r.find("swap").map(|n| swap(sources, n, cpus)).transpose()?,
        file_device: device(&r, "file-device", cpus)?,
        vm: vm(sources, r.need("vm")?, kernel, managed)?,
        memcgs: memcgs(&r)?,
        os_overhead,
        lru_batch: r.opt_count("lru-batch")?.map(|n| n as u32),
        stat_threshold: r.opt_count("stat-threshold")?.map(|n| n as u32),
        batch_shift: r.count_u32("batch-shift")?,
        tick: match r.opt_time_of_work("tick")? {
            Some(t) => t,
            None => r.time("tick")?,
        },
        run_ahead: r.time("run-ahead")?,
        cost: cost(&r)?,
    })
}

/// The rules, where they are not those of the kernel.
fn rules(r: &Reader<'_>, kernel: Kernel) -> Result<Option<KernelRules>, Error> {
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

fn nodes(r: &Reader<'_>) -> Result<Vec<NodeConfig>, Error> {
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
            let zones = one_node(&node, start)?;
            nr_zones += zones.len();
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
                None => zones.iter().map(|z| u64::from(z.managed)).sum(),
            };
            nodes.push(NodeConfig { zones });
        }
        return Ok(nodes);
    }
    r.one_of("memory", "zone")?;
    Ok(vec![NodeConfig { zones: one_node(r, 0)? }])
}

/// The zones of a table that has `memory` or `zone`.
fn one_node(r: &Reader<'_>, start: u64) -> Result<Vec<ZoneConfig>, Error> {
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
        let zone = zone(&z)?;
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

fn zone(z: &Reader<'_>) -> Result<ZoneConfig, Error> {
    let kind = ZoneKind::ALL[z.choice("kind")?];
    let managed = z.pages_u32("managed")?;
    let within = |key: &str| -> Result<Option<u32>, Error> {
        match z.opt_pages_u32(key)? {
            Some(n) if n > managed => {
                let found = format!("{} is more than the zone", units::show_pages(u64::from(n)));
                let write = format!("at most \"{}\"", units::show_pages(u64::from(managed)));
                Err(z.error(key, found, write))
            }
            n => Ok(n),
        }
    };
    let free_at_start = within("free-at-start")?;
    let marks = [within("min")?, within("low")?, within("high")?];
    let watermarks = match marks {
        [None, None, None] => None,
        [Some(min), Some(low), Some(high)] => {
            if min > low || low > high {
                let found = format!("watermarks min {min}, low {low}, high {high} pages fall");
                return Err(z.error("min", found, "min <= low <= high"));
            }
            Some([min, low, high])
        }
        _ => {
            let given = ["min", "low", "high"].into_iter().find(|k| z.has(k)).unwrap_or("min");
            return Err(z.error(
                given,
                "one watermark without the others",
                "all of min, low and high, or none",
            ));
        }
    };
    let pcp = match z.find("pcp") {
        None => None,
        Some(n) => {
            let path = z.name_of("pcp");
            let p = Reader::open(z.sources, n, &PCP, &path)?;
            Some((p.count_u32("high")?, p.count_u32("batch")?))
        }
    };
    Ok(ZoneConfig {
        kind,
        managed,
        free_at_start,
        watermarks,
        lowmem_reserve: within("lowmem-reserve")?,
        pcp,
        pcp_at_start: 0,
        layout: None,
    })
}

fn swap(sources: &Sources, node: &Node, cpus: u32) -> Result<SwapConfig, Error> {
    let r = Reader::open(sources, node, &SWAP, "machine.swap")?;
    Ok(SwapConfig { slots: r.pages_u32("size")?, device: device(&r, "device", cpus)? })
}

fn device(r: &Reader<'_>, key: &str, cpus: u32) -> Result<DeviceConfig, Error> {
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
    let d = Reader::open(sources, node, &DEVICE, path)?;
    let config = DeviceConfig {
        name: d.name("name")?.to_string(),
        read: d.time_up_to("read", SLOWEST_DEVICE)?,
        write: d.time_up_to("write", SLOWEST_DEVICE)?,
        servers: d.opt_count("servers")?.map_or(cpus, |n| n as u32),
        bandwidth: d.opt_rate("bandwidth")?,
        write_bandwidth: d.opt_rate("write-bandwidth")?.or(d.opt_rate("bandwidth")?),
        synchronous: d.flag("synchronous")?,
        rotational: d.flag("rotational")?,
        stored_bytes_per_page: d.count_u32("stored-bytes-per-page")?,
        queue_depth: d.count_u32("queue_depth")?,
        wbt_lat: match d.opt_count("wbt_lat_usec")? {
            Some(us) => SimDuration::from_micros(us),
            None => WBT_LAT[usize::from(d.flag("rotational")?)],
        },
        write_cache: d.flag("write_cache")?,
    };
    if config.synchronous && config.rotational {
        let found = "a device cannot be both synchronous and rotational";
        return Err(d.error("rotational", found, "one of them"));
    }
    Ok(config)
}

/// A device by the keys of [`DEVICE`], all of them, as reports have it: a preset by what is in it,
/// since its name says nothing of that. `None`: not limited.
pub(super) fn device_settings(d: &DeviceConfig) -> Vec<(&'static str, Option<String>)> {
    let DeviceConfig {
        name,
        read,
        write,
        servers,
        bandwidth,
        write_bandwidth,
        synchronous,
        rotational,
        stored_bytes_per_page,
        queue_depth,
        wbt_lat,
        write_cache,
    } = d;
    vec![
        ("name", Some(name.clone())),
        ("read", Some(read.to_string())),
        ("write", Some(write.to_string())),
        ("servers", Some(servers.to_string())),
        ("bandwidth", bandwidth.map(|b| format!("{b} B/s"))),
        ("write-bandwidth", write_bandwidth.map(|b| format!("{b} B/s"))),
        ("synchronous", Some(synchronous.to_string())),
        ("rotational", Some(rotational.to_string())),
        ("stored-bytes-per-page", Some(stored_bytes_per_page.to_string())),
        ("queue_depth", Some(queue_depth.to_string())),
        ("wbt_lat_usec", Some((wbt_lat.as_nanos() / 1000).to_string())),
        ("write_cache", Some(write_cache.to_string())),
    ]
}

fn vm(sources: &Sources, node: &Node, kernel: Kernel, managed: u64) -> Result<VmSysctl, Error> {
    let r = Reader::open(sources, node, &VM, "machine.vm")?;
    check_kernel_has(&r, kernel)?;
    let pagelist_fraction = match kernel {
        Kernel::V6_1 | Kernel::V6_12 => "percpu_pagelist_high_fraction",
        _ => "percpu_pagelist_fraction",
    };
    let linux = VmSysctl::linux();
    let or = |key: &str, default: u32| Ok(r.opt_count(key)?.map_or(default, |n| n as u32));
    let vm = VmSysctl {
        swappiness: r.count_u32("swappiness")?,
        page_cluster: r.count_u32("page-cluster")?,
        min_free_kbytes: r.opt_count("min_free_kbytes")?,
        watermark_scale_factor: or("watermark_scale_factor", linux.watermark_scale_factor)?,
        watermark_boost_factor: or("watermark_boost_factor", linux.watermark_boost_factor)?,
        percpu_pagelist_high_fraction: or(pagelist_fraction, 0)?,
        dirty_background: dirty_limit(
            &r,
            ["dirty_background_ratio", "dirty_background_bytes"],
            linux.dirty_background,
        )?,
        dirty: dirty_limit(&r, ["dirty_ratio", "dirty_bytes"], linux.dirty)?,
        dirty_expire: SimDuration::from_millis(10 * r.count("dirty_expire_centisecs")?),
        dirty_writeback: SimDuration::from_millis(10 * r.count("dirty_writeback_centisecs")?),
        ra_pages: (r.count("read_ahead_kb")? * 1024 / PAGE_SIZE) as u32,
        fault_around: (r.count("fault_around_bytes")? / PAGE_SIZE) as u32,
        compaction_proactiveness: or("compaction_proactiveness", linux.compaction_proactiveness)?,
        extfrag_threshold: r.count_u32("extfrag_threshold")?,
        compact_unevictable_allowed: r.count("compact_unevictable_allowed")? == 1,
        nr_hugepages: r.count_u32("nr_hugepages")?,
        thp: Thp::ALL[r.choice("transparent_hugepage")?].1,
        thp_defrag: ThpDefrag::ALL[r.choice("thp_defrag")?].1,
    };
    if vm.swappiness > 100 && kernel < Kernel::V5_8 {
        let found =
            format!("{} is above 100, the most that kernel {} takes", vm.swappiness, kernel.name());
        return Err(r.error("swappiness", found, "100 or less, or use kernel 5.8 or later"));
    }
    let most = managed / u64::from(GROUP_PAGES);
    if u64::from(vm.nr_hugepages) > most {
        let found = format!("{} huge pages are more than all of memory", vm.nr_hugepages);
        return Err(r.error("nr_hugepages", found, format!("less than {most}")));
    }
    if (1..8).contains(&vm.percpu_pagelist_high_fraction) {
        let found = format!("{} is too small a fraction", vm.percpu_pagelist_high_fraction);
        return Err(r.error(pagelist_fraction, found, "0 or at least 8"));
    }
    if !r.count("fault_around_bytes")?.is_power_of_two() {
        let found = format!("{} is not a power of two", r.count("fault_around_bytes")?);
        return Err(r.error("fault_around_bytes", found, "4096 or 65536"));
    }
    if r.count("read_ahead_kb")? * 1024 % PAGE_SIZE != 0 {
        let found = format!("{} KiB are not whole pages", r.count("read_ahead_kb")?);
        return Err(r.error("read_ahead_kb", found, "a multiple of 4"));
    }
    Ok(vm)
}

/// Sysctls that came, or went, while the modelled kernels did: name, first and last of them that
/// has it, and what Linux says.
const OF_SOME_KERNELS: &[(&str, Kernel, Kernel, &str)] = &[
    ("watermark_scale_factor", Kernel::V5_5, Kernel::V6_12, "since 4.6"),
    ("watermark_boost_factor", Kernel::V5_5, Kernel::V6_12, "since 5.0"),
    ("compaction_proactiveness", Kernel::V5_9, Kernel::V6_12, "since 5.9"),
    ("percpu_pagelist_high_fraction", Kernel::V6_1, Kernel::V6_12, "since 5.14"),
    ("percpu_pagelist_fraction", Kernel::V4_1, Kernel::V5_9, "up to 5.13"),
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
    let defrag = THP_DEFRAG[r.choice("thp_defrag")?];
    if kernel < Kernel::V5_5 && defrag.starts_with("defer") {
        let found = format!("kernel {name} does not know \"{defrag}\" (Linux does since 4.11)");
        return Err(r.error("thp_defrag", found, "\"always\", \"madvise\" or \"never\""));
    }
    Ok(())
}

/// A threshold in per cent or in bytes. The kernel takes the last one written; two are an error here.
fn dirty_limit(
    r: &Reader<'_>,
    [ratio, bytes]: [&str; 2],
    default: DirtyLimit,
) -> Result<DirtyLimit, Error> {
    r.at_most_one(ratio, bytes)?;
    Ok(match (r.opt_count(ratio)?, r.opt_count(bytes)?) {
        (_, Some(n)) => DirtyLimit::Bytes(n),
        (Some(percent), None) => DirtyLimit::Ratio(percent as u32),
        (None, None) => default,
    })
}

fn memcgs(r: &Reader<'_>) -> Result<Vec<MemcgConfig>, Error> {
    let mut groups: Vec<MemcgConfig> = Vec::new();
    for (i, n) in r.list("memcg")?.iter().enumerate() {
        let path = format!("machine.memcg[{i}]");
        let g = Reader::open(r.sources, n, &MEMCG, &path)?;
        if i == MOST_GROUPS {
            let found = format!("more than {MOST_GROUPS} groups");
            return Err(g.error("name", found, "fewer of them"));
        }
        let group = MemcgConfig {
            name: g.name("name")?.to_string(),
            min: g.pages("min")?,
            low: g.pages("low")?,
            high: g.limit("high")?,
            max: g.limit("max")?,
            swap_max: g.limit("swap-max")?,
        };
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

fn cost(r: &Reader<'_>) -> Result<CostModel, Error> {
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
    fn reports_have_every_key_of_a_device() {
        let nvme = DeviceConfig::preset("nvme", 4).unwrap();
        let told: Vec<_> = device_settings(&nvme).into_iter().map(|s| s.0).collect();
        assert_eq!(told, DEVICE.keys().map(|k| k.name).collect::<Vec<_>>());
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
