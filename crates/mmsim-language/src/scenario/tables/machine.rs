//! The machine: its memory, zones, swap, devices, sysctls and memory cgroups.

use mmsim_core::backing::device::{DEVICE_PRESETS, DeviceConfig};
use mmsim_core::base::id::GROUP_PAGES;
use mmsim_core::base::settings::Settings as _;
use mmsim_core::config::host::HostConfig;
use mmsim_core::config::{
    DEFAULT_DISK, DiskConfig, Kernel, MachineConfig, NodeConfig, SwapConfig, VmSysctl, ZoneConfig,
    ZoneKind,
};

use super::cache_ext::CACHE_EXT_KEY;
use super::key;
use super::memcg::{MEMCG, memcgs, mount};
use super::settings::{COSTS, RULES, filled, keys_of};
use super::vm::{VM, sysctls_of};
use super::zswap::{ZSWAP, zswap};
use crate::scenario::fields::{each, one_or_more, within};
use crate::scenario::keys::{Fallback, KeySpec, Kind, TableSpec, U32};
use crate::scenario::machine::{
    SLOWEST_DEVICE, cost, kernel_of, not_both, part_of_zone, rules, watermarks, wbt_lat, zones_of,
};
use crate::scenario::raw::{Node, Sources};
use crate::scenario::read::Reader;
use crate::scenario::rows::{Show as _, rows, words};
use crate::scenario::units::show_pages;
use mmsim_base::error::Error;
use mmsim_workload::since::since;

use Fallback::{Auto, Is, Required};
use Kind::{Count, Device, Flag, OneOrMore, Rate, Rows, Size, Table, Tables, Text, Texts, Time};

rows! {
    /// `[machine]`.
    MACHINE,
    "[machine]",
    "Give `memory`, or `[[machine.zone]]`, or `[[machine.node]]`.";
    check memory_suffices;
    fn machine_config(r, _cx: ()) -> MachineConfig {
        kernel: {kernel_of(r)?;
            ("kernel", Kind::Kernel, Is("\"6.12\""),
            "whose memory management the machine follows")};
        nodes: {nodes(r)?;
            ("memory", Size(256), Auto("sum of the zones or nodes"),
            "memory of a machine with one node, divided into zones as described above"),
            ("zone", Tables(&ZONE), Auto("follows from `memory`"),
            "zones of a machine with one node"),
            ("node", Tables(&NODE), Auto("one node"),
            "nodes, each with `memory` or zones; at most 255 zones in all")};
        cpus: ("cpus", Count(1, 1024), Is("1"), "CPUs");
        os_overhead: ("os-overhead", Size(0), Is("\"0 pages\""),
            "held for good by the rest of the system, in every zone in proportion");
        swap: {swaps(r)?;
            ("swap", OneOrMore(&SWAP), Auto("no swap"),
            "swap device, or `[[machine.swap]]` for each of several, in the order of `swapon`")};
        zswap: {zswap(r, &swaps(r)?)?;
            ("zswap", Table(&ZSWAP), Auto("it was never enabled"), "zswap before the swap devices")};
        file_device: {device(r, "file-device", r.get("cpus")?)?;
            ("file-device", Device(&DEVICE), Is("\"nvme\""),
            "device under files, but for those on other disks")};
        disks: {disks(r)?;
            ("disk", Tables(&DISK), Auto("no other disk"),
            "other disks for files, one `[[machine.disk]]` each")};
        vm: {sysctls(r)?;
            ("vm", Table(&VM), Is("{}"), "sysctls")};
        rules: {rules(r, kernel_of(r)?)?;
            ("rules", Rows(&RULES), Is("{}"),
            "what the kernel does differently from others, rule by rule"),
            ("lru-batch", Count(1, 512), Auto("15 up to kernel 6.1, 31 in 6.12"),
            "pages in a per-CPU LRU batch"),
            ("stat-threshold", Count(0, 125), Auto("by CPUs and memory, as in the kernel"),
            "up to how many activated refaults a CPU keeps to itself for up to a second before reclaim sees them; 0: it sees each"),
            ("pageblock-order", Count(1, 10), Auto("9, as on x86"),
            "log2 of the pages of a pageblock, the unit of migratetypes and of compaction; at most the order of the largest block")};
        lru_batch: {r.get("lru-batch")?};
        stat_threshold: {r.get("stat-threshold")?};
        batch_shift: ("batch-shift", Count(0, 5), Is("0"),
            "divides batch sizes by a power of two, for machines of few pages; 0 is the kernel's own sizes");
        miniature: {None; ..CACHE_EXT_KEY};
        tick: {r.opt_time_of_work("tick")?.unwrap_or_default();
            ("tick", Time, Is("\"4ms\""),
            "period of the scheduler's tick (1/CONFIG_HZ), at which slices are looked at")};
        run_ahead: ("run-ahead", Time, Is("\"100us\""),
            "how far hits may run ahead of other threads; `0ns` is strict");
        cost: {cost(r)?;
            ("cost", Rows(&COSTS), Is("{}"),
                "simulated CPU time of the steps of memory management")};
        host: {host(r)?;
            ("host", Table(&HOST), Auto("no host: memory is the machine's own"),
            "host of a guest, which takes back memory that is reported free")};
        memcgs: {memcgs(r)?;
            ("memcg", Tables(&MEMCG), Auto("the root alone"), "memory cgroups below the root")};
        memcg_mount: {mount(r)?;
            ("memcg-mount", Texts, Auto("a bare mount"),
            "options with which the file system of groups is mounted: `memory_recursiveprot` (protection that a group leaves protects those below it), `memory_localevents` (memory.events of a group leaves out those below it)")};
    }
}

/// Reads `[machine]`.
pub(in crate::scenario) fn machine(sources: &Sources, node: &Node) -> Result<MachineConfig, Error> {
    machine_config(&Reader::open(sources, node, &MACHINE, "machine")?, ())
}

/// Frames have numbers, and the system and huge pages do not hold more than there is.
fn memory_suffices(r: &Reader<'_>, c: &MachineConfig) -> Result<(), Error> {
    let managed: u64 = c.nodes.iter().flat_map(|n| &n.zones).map(|z| u64::from(z.managed)).sum();
    if managed > u64::from(u32::MAX - (1 << 14)) {
        let key = if r.has("node") { "node" } else { "zone" };
        return Err(r.error(key, "more memory than page numbers", "at most \"16383GiB\" in all"));
    }
    if c.os_overhead >= managed {
        let found = format!("the system would hold all {} of memory", show_pages(managed));
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

rows! {
    /// `[[machine.node]]`.
    NODE,
    "[[machine.node]]",
    "Nodes follow each other in physical memory. Give `memory` or zones.";
    fn node(r, start: u64) -> NodeConfig {
        zones: {zones(r, start)?;
            ("memory", Size(256), Auto("sum of its zones"), "memory of the node"),
            ("zone", Tables(&ZONE), Auto("follows from `memory`"),
            "zones of the node, `[[machine.node.zone]]`")};
    }
}

/// Zones that have a number.
const MOST_ZONES: usize = 255;

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
            let of_node = Reader::open(r.sources, n, &NODE, &path)?;
            of_node.one_of("memory", "zone")?;
            let config = node(&of_node, start)?;
            nr_zones += config.zones.len();
            if nr_zones > MOST_ZONES {
                let found = format!("with this node there are {nr_zones} zones");
                let write = format!("nodes of at most {MOST_ZONES} zones in all");
                return Err(of_node.error(
                    if of_node.has("zone") { "zone" } else { "memory" },
                    found,
                    write,
                ));
            }
            start += match of_node.opt_pages("memory")? {
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

rows! {
    /// `[[machine.zone]]`.
    ZONE,
    "[[machine.zone]]",
    "In address order. What is left out follows the kernel's formulas.";
    fn zone(r, _cx: ()) -> ZoneConfig {
        kind: ("kind", one of {
                "DMA" => ZoneKind::Dma,
            "DMA32" => ZoneKind::Dma32,
            "Normal" => ZoneKind::Normal,
            "Movable" => ZoneKind::Movable,
            }, Required, "which zone");
        managed: ("managed", Size(1), Required, "memory given to the page allocator");
        free_at_start: {part_of_zone(r, "free-at-start")?;
            ("free-at-start", Size(0), Auto("all that is managed"),
            "free memory when the run begins; the kernel holds the rest")};
        watermarks: {watermarks(r)?;
            ("min", Size(0), Auto("by formula"), "watermark; give all three or none"),
            ("low", Size(0), Auto("by formula"), "watermark"),
            ("high", Size(0), Auto("by formula"), "watermark")};
        lowmem_reserve: {part_of_zone(r, "lowmem-reserve")?;
            ("lowmem-reserve", Size(0), Auto("by formula"),
            "kept from requests that could be served by a higher zone")};
        pcp: {within(r, "pcp", &PCP, |p| Ok((p.get("high")?, p.get("batch")?)))?;
            ("pcp", Table(&PCP), Auto("by formula"), "per-CPU lists")};
        pcp_at_start: {0};
        layout: {None};
    }
}

/// The zones of a table that has `memory` or `zone`.
fn zones(r: &Reader<'_>, start: u64) -> Result<Vec<ZoneConfig>, Error> {
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
        let zone = zone(&z, ())?;
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

rows! {
    /// `pcp` of a zone.
    PCP,
    "pcp of a zone",
    "`{ high = 0, batch = 1 }` switches per-CPU lists off.";
    keys {
        ("high", Count(0, U32), Required, "pages on a list before some go back")
        ("batch", Count(1, U32), Required, "pages moved at a time")
    }
}

/// Swap devices. An entry of a page table names a slot of all of them.
fn swaps(r: &Reader<'_>) -> Result<Vec<SwapConfig>, Error> {
    let cpus = r.get("cpus")?;
    let all = one_or_more(r, "swap", &SWAP, |s| swap(s, cpus))?;
    if all.len() > SwapConfig::MOST_DEVICES {
        let most = format!("at most {}", SwapConfig::MOST_DEVICES);
        return Err(r.error("swap", format!("found {} devices", all.len()), most));
    }
    let clusters = |s: &SwapConfig| (u64::from(s.slots) + 1).next_multiple_of(SwapConfig::ALIGNED);
    if all.iter().map(clusters).sum::<u64>() > SwapConfig::MOST_SLOTS {
        let pages = all.iter().map(|s| u64::from(s.slots)).sum();
        let found = format!("found {} in all", show_pages(pages));
        return Err(r.error("swap", found, "less than 8 TiB in all"));
    }
    Ok(all)
}

rows! {
    /// `machine.swap`.
    SWAP,
    "machine.swap",
    "A swap device, of which there are 29 at most. docs/policies.md, \"Several swap devices\", \
     says which of several gives slots.";
    fn swap(r, cpus: u32) -> SwapConfig {
        slots: ("size", Size(0), Required,
            "usable slots, a page each; `0 pages` is swap that is always full");
        device: {device(r, "device", cpus)?;
            ("device", Device(&DEVICE), Is("\"zram\""), "device under it")};
        priority: ("priority", Count(0, 32_767), Auto("`swap-priorities-equal` of the kernel"),
            "as of `swapon -p`: the device with the largest gives slots first, equal ones take \
             turns");
    }
}

rows! {
    /// A device of one's own.
    DEVICE,
    "A device of one's own",
    "Instead of the name of a preset (`mmsim list devices`): `device = { read = \"80us\", write = \"20us\" }`.";
    check not_both;
    show device_settings;
    fn device_of_keys(r, cpus: u32) -> DeviceConfig {
        name: {r.name("name")?.to_string();
            ("name", Text, Is("\"custom\""), "name in reports")};
        read: {r.time_up_to("read", SLOWEST_DEVICE)?;
            ("read", Time, Required, "latency of a read request")};
        write: {r.time_up_to("write", SLOWEST_DEVICE)?;
            ("write", Time, Required, "latency of a write request")};
        servers: {r.get::<Option<u32>>("servers")?.unwrap_or(cpus);
            ("servers", Count(1, 65_536), Auto("one for each CPU"),
            "requests served at the same time")};
        bandwidth: ("bandwidth", Rate, Auto("not limited"), "of reads, over all servers");
        write_bandwidth: {r.get::<Option<u64>>("write-bandwidth")?.or(r.get("bandwidth")?);
            ("write-bandwidth", Rate, Auto("`bandwidth`"), "of writes, over all servers")};
        synchronous: ("synchronous", Flag, Is("false"),
            "the CPU of the caller does the work (zram, ramdisk)");
        rotational: ("rotational", Flag, Is("false"),
            "one shared swap cluster, readahead by offset, no latency for requests that continue the last");
        stored_bytes_per_page: ("stored-bytes-per-page", Count(0, 4096), Is("0"),
            "machine memory that a stored page takes (zram)");
        mem_limit: ("mem_limit", Size(0), Is("\"0 pages\""),
            "memory that a zram may take, where tasks say what their pages hold; 0: not limited");
        queue_depth: ("queue_depth", Count(1, 65_536), Is("32"),
            "requests that an asynchronous device takes at once: who writes more sleeps");
        wbt_lat: {wbt_lat(r)?;
            ("wbt_lat_usec", Count(0, 10_000_000), Auto("2000, rotational 75000"),
            "how long reads should take at most, else there are fewer writes at once: 16, 1 to 3/4 of queue_depth; 0: no matter")};
        write_cache: ("write_cache", Flag, Is("false"),
            "caches writes: who is throttled waits until all of them have ended");
        max_sectors_kb: ("max_sectors_kb", Count(0, 1_048_576), Is("0"),
            "KiB of the largest request, which bounds writes of swap and what one call of WILLNEED reads, or the readahead window if that is larger; 0: 1280, from kernel 6.18 on 4096");
    }
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
pub(in crate::scenario) fn own_device(
    sources: &Sources,
    node: &Node,
    path: &str,
    cpus: u32,
) -> Result<DeviceConfig, Error> {
    device_of_keys(&Reader::open(sources, node, &DEVICE, path)?, cpus)
}

fn sysctls(r: &Reader<'_>) -> Result<VmSysctl, Error> {
    let kernel = kernel_of(r)?;
    sysctls_of(&Reader::open(r.sources, r.need("vm")?, &VM, "machine.vm")?, kernel)
}

rows! {
    /// `[[machine.disk]]`.
    DISK,
    "[[machine.disk]]",
    "A disk for files besides `file-device`. Files lie on it whose task, or whose region of `phased`, names it with `disk`.";
    fn disk(r, cpus: u32) -> DiskConfig {
        name: {r.name("name")?.to_string(); ("name", Text, Required, "name, unique")};
        device: {device(r, "device", cpus)?;
            ("device", Device(&DEVICE), Required, "device of the disk, as `file-device`")};
    }
}

/// Disks besides the one that a machine always has. Linux has no such limit.
const MOST_DISKS: usize = 63;

fn disks(r: &Reader<'_>) -> Result<Vec<DiskConfig>, Error> {
    let cpus = r.get("cpus")?;
    let mut disks: Vec<DiskConfig> = Vec::new();
    each(r, "disk", &DISK, |d| {
        let config = disk(d, cpus)?;
        if disks.len() == MOST_DISKS {
            return Err(d.error("name", format!("more than {MOST_DISKS} disks"), "fewer of them"));
        }
        if config.name == DEFAULT_DISK {
            let found = format!("\"{DEFAULT_DISK}\" is the disk that every machine has");
            return Err(d.error("name", found, "another name"));
        }
        if disks.iter().any(|o| o.name == config.name) {
            let found = format!("\"{}\" names two disks", config.name);
            return Err(d.error("name", found, "another name"));
        }
        disks.push(config);
        Ok(())
    })?;
    Ok(disks)
}

/// `machine.host`.
pub static HOST: TableSpec = TableSpec {
    title: "machine.host",
    doc: "The host of a virtual machine, and free page reporting to it.",
    groups: &[&HOST_KEYS],
};

static HOST_KEYS: [KeySpec; HostConfig::ROWS.len()] =
    keys_of(HostConfig::ROWS, |row, kernel| HostConfig::of(kernel).number(row));

/// The host, which guests of old kernels do not report to.
fn host(r: &Reader<'_>) -> Result<Option<HostConfig>, Error> {
    let kernel = kernel_of(r)?;
    within(r, "host", &HOST, |h| {
        let config = filled(h, HostConfig::linux())?;
        if config.reporting {
            let reports = since(Kernel::V5_8, "5.7");
            let checked = reports.check(kernel, "free page reporting", "write `reporting = false`");
            h.dated("reporting", checked)?;
        }
        Ok(config)
    })
}

#[cfg(test)]
mod tests {
    use mmsim_core::config::cost::CostModel;

    use super::super::ROOT;
    use super::*;
    use crate::scenario::raw::{At, Value};
    use crate::scenario::read::fill;

    /// Guests of 5.5 have hosts, and do not report: Linux does since 5.7.
    #[test]
    fn old_kernels_report_no_free_pages() {
        let read = |host: &str| {
            let mut sources = Sources::of(&ROOT);
            let text = format!("kernel = \"5.5\"\nmemory = \"1GiB\"\nhost = {host}");
            let mut doc = sources.parse("x", &text).unwrap();
            fill(&mut doc, &MACHINE);
            machine(&sources, &Node { value: Value::Table(doc), at: At::DEFAULT })
        };
        assert!(read("{}").is_ok_and(|m| m.host == Some(HostConfig::linux())));
        let refused = read("{ reporting = true }").expect_err("5.5 does not report").to_string();
        assert!(refused.contains("kernel 5.5 has no free page reporting"), "{refused}");
    }

    #[test]
    fn defaults_are_those_of_linux() {
        let mut sources = Sources::of(&ROOT);
        let mut doc = sources.parse("x", "memory = \"1GiB\"").unwrap();
        fill(&mut doc, &MACHINE);
        let node = Node { value: Value::Table(doc), at: At::DEFAULT };
        let m = machine(&sources, &node).unwrap();
        assert_eq!(m.vm, VmSysctl::linux());
        assert_eq!(m.cost, CostModel::measured());
        assert_eq!((m.cpus, m.swap, m.kernel), (1, Vec::new(), Kernel::V6_12));
    }
}
