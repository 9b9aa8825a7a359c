//! The machine: its memory, zones, swap, devices, sysctls and memory cgroups.

use mmsim_core::backing::device::{DEVICE_PRESETS, DeviceConfig};
use mmsim_core::base::id::GROUP_PAGES;
use mmsim_core::config::{
    DEFAULT_DISK, DiskConfig, Kernel, MachineConfig, MemcgConfig, NodeConfig, SwapConfig,
    SysctlWrite, Thp, ThpDefrag, VmSysctl, ZoneConfig, ZoneKind,
};

use mmsim_core::workload::Op;

use super::key;
use crate::scenario::fields::{each, one_or_more, within};
use crate::scenario::keys::{Fallback, KeySpec, Kind, MANY, TableSpec, U32};
use crate::scenario::machine::{
    SLOWEST_DEVICE, centisecs, cost, dirty_limit, kernel_of, not_both, or, pagelist_fraction,
    part_of_zone, rules, watermarks, wbt_lat, zones_of,
};
use crate::scenario::raw::{At, Node, Sources, Table as Doc, Value};
use crate::scenario::read::Reader;
use crate::scenario::rows::{Show as _, Words, rows, words};
use crate::scenario::since::{Since, since};
use crate::scenario::units::{PAGE_SIZE, show_pages};
use mmsim_base::error::Error;

use Fallback::{Auto, Is, Required};
use Kind::{
    Choice, Costs, Count, Device, Flag, Limit, OneOrMore, Rate, Rules, Size, Table, Tables, Text,
    Time,
};

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
        file_device: {device(r, "file-device", r.get("cpus")?)?;
            ("file-device", Device(&DEVICE), Is("\"nvme\""),
            "device under files, but for those on other disks")};
        disks: {disks(r)?;
            ("disk", Tables(&DISK), Auto("no other disk"),
            "other disks for files, one `[[machine.disk]]` each")};
        vm: {sysctls(r)?;
            ("vm", Table(&VM), Is("{}"), "sysctls")};
        rules: {rules(r, kernel_of(r)?)?;
            ("rules", Rules, Is("{}"),
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
        miniature: {None};
        tick: {r.opt_time_of_work("tick")?.unwrap_or_default();
            ("tick", Time, Is("\"4ms\""),
            "period of the scheduler's tick (1/CONFIG_HZ), at which slices are looked at")};
        run_ahead: ("run-ahead", Time, Is("\"100us\""),
            "how far hits may run ahead of other threads; `0ns` is strict");
        cost: {cost(r)?;
            ("cost", Costs, Is("{}"), "simulated CPU time of the steps of memory management")};
        memcgs: {memcgs(r)?;
            ("memcg", Tables(&MEMCG), Auto("the root alone"), "memory cgroups below the root")};
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
        queue_depth: ("queue_depth", Count(1, 65_536), Is("32"),
            "requests that an asynchronous device takes at once: who writes more sleeps");
        wbt_lat: {wbt_lat(r)?;
            ("wbt_lat_usec", Count(0, 10_000_000), Auto("2000, rotational 75000"),
            "how long reads should take at most, else there are fewer writes at once: 16, 1 to 3/4 of queue_depth; 0: no matter")};
        write_cache: ("write_cache", Flag, Is("false"),
            "caches writes: who is throttled waits until all of them have ended");
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

/// The sysctl is an `int` of KiB, and of centiseconds.
const MOST_KIB: u64 = i32::MAX as u64;
const CENTISECONDS: u64 = i32::MAX as u64;

rows! {
    /// `[machine.vm]`.
    VM,
    "[machine.vm]",
    "The names of /proc/sys/vm, and of two files of /sys. As in the kernel, the name carries the unit.";
    fn vm(r, kernel: Kernel) -> VmSysctl {
        swappiness: ("swappiness", Count(0, 200), Is("60"),
            "weight of anonymous memory in reclaim; at most 100 before kernel 5.8");
        page_cluster: ("page-cluster", Count(0, 31), Is("3"),
            "log2 of the pages of swap readahead");
        min_free_kbytes: ("min_free_kbytes", Count(0, MOST_KIB), Auto("by formula"),
            "base of the watermarks, KiB; only the kernel's own choice is held between 128 and 262144 (65536 before 5.8), and raised for transparent huge pages");
        watermark_scale_factor: {or(r, "watermark_scale_factor", LINUX.watermark_scale_factor)?;
            ("watermark_scale_factor", Count(1, 3000), Auto("10"),
            "distance of the watermarks, 1/10000 of a zone, from kernel 5.5 on; at most 1000 before 6.1")};
        watermark_boost_factor: {or(r, "watermark_boost_factor", LINUX.watermark_boost_factor)?;
            ("watermark_boost_factor", Count(0, 1_000_000), Auto("15000"),
            "boost after fragmentation, 1/10000 of the high watermark, from kernel 5.5 on")};
        percpu_pagelist_high_fraction: {or(r, pagelist_fraction(kernel), 0)?;
            ("percpu_pagelist_high_fraction", Count(0, U32), Auto("0"),
            "size of per-CPU lists as a fraction of the zone, from kernel 6.1 on; 0 is the kernel's rule, else at least 8"),
            ("percpu_pagelist_fraction", Count(0, U32), Auto("0"),
            "the same on kernels up to 5.9")};
        dirty_background: {dirty_limit(r, "dirty_background", LINUX.dirty_background)?;
            ("dirty_background_ratio", Count(0, 100), Auto("10"),
            "percent of available memory at which writeback begins; half of the other threshold if not below it"),
            ("dirty_ratio", Count(0, 100), Auto("20"), "percent at which writers are throttled"),
            ("dirty_background_bytes", Count(1, MANY), Auto("`dirty_background_ratio`"),
            "bytes at which writeback begins, instead of the ratio"),
            ("dirty_bytes", Count(8192, MANY), Auto("`dirty_ratio`"),
            "bytes at which writers are throttled, instead of the ratio")};
        dirty: {dirty_limit(r, "dirty", LINUX.dirty)?};
        dirty_expire: {centisecs(r, "dirty_expire_centisecs")?;
            ("dirty_expire_centisecs", Count(0, CENTISECONDS), Is("3000"),
            "age at which dirty pages are written, 1/100 s")};
        dirty_writeback: {centisecs(r, "dirty_writeback_centisecs")?;
            ("dirty_writeback_centisecs", Count(0, CENTISECONDS), Is("500"),
            "time between two looks for such pages, 1/100 s; 0 is off")};
        ra_pages: {(r.get::<u64>("read_ahead_kb")? * 1024 / PAGE_SIZE) as u32;
            ("read_ahead_kb", Count(0, 1 << 20), Is("128"), "largest file readahead, KiB")};
        fault_around: {(r.get::<u64>("fault_around_bytes")? / PAGE_SIZE) as u32;
            ("fault_around_bytes", Count(4096, 1 << 21), Is("65536"),
            "mapped around a file fault, a power of two; 4096 is off")};
        compaction_proactiveness: {or(r, "compaction_proactiveness", LINUX.compaction_proactiveness)?;
            ("compaction_proactiveness", Count(0, 100), Auto("20"),
            "how little fragmentation kcompactd leaves in the background, from kernel 5.9 on; 0 is off")};
        extfrag_threshold: ("extfrag_threshold", Count(0, 1000), Is("500"),
            "fragmentation index up to which memory is reclaimed rather than compacted");
        defrag_mode: {or(r, "defrag_mode", 0)? == 1;
            ("defrag_mode", Count(0, 1), Auto("0"),
            "whether requests stay out of pageblocks of other migratetypes until reclaim and compaction fail, from kernel 6.18 on")};
        compact_unevictable_allowed: {r.get::<u8>("compact_unevictable_allowed")? == 1;
            ("compact_unevictable_allowed", Count(0, 1), Is("1"),
            "whether compaction moves pages of locked mappings")};
        nr_hugepages: ("nr_hugepages", Count(0, U32), Is("0"),
            "huge pages of hugetlbfs, set aside from free memory before anything runs");
        thp: ("transparent_hugepage", one of THP, Is("\"never\""),
            "anonymous mappings whose first write takes a huge page: all, those with advice, none; the first two raise the kernel's choice of `min_free_kbytes`");
        thp_defrag: {thp_defrag(r, kernel)?;
            ("thp_defrag", Choice(THP_DEFRAG.names), Auto("\"madvise\", up to kernel 4.5 \"always\""),
            "faults that compact and reclaim for a huge page, as `transparent_hugepage/defrag`")};
    }
}

fn sysctls(r: &Reader<'_>) -> Result<VmSysctl, Error> {
    let kernel = kernel_of(r)?;
    sysctls_of(&Reader::open(r.sources, r.need("vm")?, &VM, "machine.vm")?, kernel)
}

/// Reads a table of sysctls of a kernel.
pub(super) fn sysctls_of(r: &Reader<'_>, kernel: Kernel) -> Result<VmSysctl, Error> {
    check_kernel_has(r, kernel)?;
    let vm = vm(r, kernel)?;
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

/// The write of one key to a machine that runs, whose value is in `vm`.
pub(super) fn write_of(key: &str, vm: &VmSysctl) -> Op {
    use SysctlWrite::*;
    Op::Sysctl(match key {
        "swappiness" => Swappiness(vm.swappiness),
        "page-cluster" => PageCluster(vm.page_cluster),
        "min_free_kbytes" => MinFreeKbytes(vm.min_free_kbytes.unwrap_or_default()),
        "watermark_scale_factor" => WatermarkScaleFactor(vm.watermark_scale_factor),
        "watermark_boost_factor" => WatermarkBoostFactor(vm.watermark_boost_factor),
        "percpu_pagelist_high_fraction" | "percpu_pagelist_fraction" => {
            PercpuPagelistHighFraction(vm.percpu_pagelist_high_fraction)
        }
        "dirty_background_ratio" | "dirty_background_bytes" => DirtyBackground(vm.dirty_background),
        "dirty_ratio" | "dirty_bytes" => Dirty(vm.dirty),
        "dirty_expire_centisecs" => DirtyExpire(vm.dirty_expire),
        "dirty_writeback_centisecs" => DirtyWriteback(vm.dirty_writeback),
        "read_ahead_kb" => RaPages(vm.ra_pages),
        "fault_around_bytes" => FaultAround(vm.fault_around),
        "compaction_proactiveness" => CompactionProactiveness(vm.compaction_proactiveness),
        "extfrag_threshold" => ExtfragThreshold(vm.extfrag_threshold),
        "defrag_mode" => DefragMode(vm.defrag_mode),
        "compact_unevictable_allowed" => CompactUnevictableAllowed(vm.compact_unevictable_allowed),
        "nr_hugepages" => return Op::HugePool { pages: vm.nr_hugepages },
        "transparent_hugepage" => Thp(vm.thp),
        "thp_defrag" => ThpDefrag(vm.thp_defrag),
        other => unreachable!("`{other}` is no row of [machine.vm]"),
    })
}

/// `thp_defrag` of a kernel, unless the scenario says otherwise: "always" until 4.6 "mm: thp: set THP
/// defrag by default to madvise and add a stall-free defrag option".
fn thp_defrag_of(kernel: Kernel) -> &'static str {
    if kernel < Kernel::V5_5 { "\"always\"" } else { "\"madvise\"" }
}

fn thp_defrag(r: &Reader<'_>, kernel: Kernel) -> Result<ThpDefrag, Error> {
    if r.has("thp_defrag") {
        return r.word("thp_defrag", &THP_DEFRAG);
    }
    let word = thp_defrag_of(kernel).trim_matches('"');
    Ok(ThpDefrag::ALL.into_iter().find(|w| w.0 == word).map_or(LINUX.thp_defrag, |w| w.1))
}

/// Fills in defaults of `[machine.vm]` that a kernel has in place of others.
pub(in crate::scenario) fn fill_of_kernel(doc: &mut Doc, kernel: Kernel) {
    let machine = doc.get_mut("machine").map(|n| &mut n.value);
    let Some(Value::Table(machine)) = machine else { return };
    let Some(Value::Table(vm)) = machine.get_mut("vm").map(|n| &mut n.value) else { return };
    if vm.get("thp_defrag").is_none()
        && let Some(node) = Node::of_static(thp_defrag_of(kernel))
    {
        vm.push("thp_defrag", At::DEFAULT, node);
    }
}

/// Sysctls that came, or went, while the modelled kernels did: name, first and last of them that
/// has it, and what Linux says.
const OF_SOME_KERNELS: &[(&str, Kernel, Kernel, &str)] = &[
    ("watermark_scale_factor", Kernel::V5_5, Kernel::LAST, "since 4.6"),
    ("watermark_boost_factor", Kernel::V5_5, Kernel::LAST, "since 5.0"),
    ("compaction_proactiveness", Kernel::V5_9, Kernel::LAST, "since 5.9"),
    ("defrag_mode", Kernel::V6_18, Kernel::LAST, "since 6.16"),
    ("percpu_pagelist_high_fraction", Kernel::V6_1, Kernel::LAST, "since 5.14"),
    ("percpu_pagelist_fraction", Kernel::V4_1, Kernel::V5_10, "up to 5.13"),
];

/// Why a sysctl cannot be set on a kernel, if it cannot.
pub fn not_of_kernel(key: &str, kernel: Kernel) -> Option<String> {
    let of = OF_SOME_KERNELS.iter().find(|k| k.0 == key)?;
    let has = (of.1..=of.2).contains(&kernel);
    (!has).then(|| format!("kernel {} has no such sysctl (Linux has it {})", kernel.name(), of.3))
}

/// Nothing is set that the kernel does not have, and no value that it does not take.
fn check_kernel_has(r: &Reader<'_>, kernel: Kernel) -> Result<(), Error> {
    let name = kernel.name();
    for &(key, ..) in OF_SOME_KERNELS {
        if let Some(found) = not_of_kernel(key, kernel).filter(|_| r.has(key)) {
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
    if kernel < Kernel::V5_5 && deferred.contains(&thp_defrag(r, kernel)?) {
        let defrag = r.opt_text("thp_defrag")?.unwrap_or_default();
        let found = format!("kernel {name} does not know \"{defrag}\" (Linux does since 4.11)");
        return Err(r.error("thp_defrag", found, "\"always\", \"madvise\" or \"never\""));
    }
    Ok(())
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

rows! {
    /// `[[machine.memcg]]`.
    MEMCG,
    "[[machine.memcg]]",
    "A child of the root group, with the files of cgroup v2.";
    fn memcg(r, _cx: ()) -> MemcgConfig {
        name: {r.name("name")?.to_string();
            ("name", Text, Required, "name, for `task.memcg` and reports")};
        min: ("min", Size(0), Is("\"0 pages\""),
            "never reclaimed below this, from kernel 5.5 on (Linux 4.18)");
        low: ("low", Size(0), Is("\"0 pages\""),
            "reclaimed below this only if nothing else is left");
        high: ("high", Limit, Is("\"max\""), "throttled and reclaimed above this");
        max: ("max", Limit, Is("\"max\""), "hard limit");
        swap_max: ("swap-max", Limit, Is("\"max\""),
            "limit of swapped memory, from kernel 5.5 on (Linux 4.5)");
    }
}

/// Files of groups that came while the modelled kernels did. `memory.low`, `memory.high` and
/// `memory.max` are of 4.0.
const GROUP_SINCE: &[(&str, &str, Since)] = &[
    ("min", "memory.min", since(Kernel::V5_5, "4.18")),
    ("swap-max", "memory.swap.max", since(Kernel::V5_5, "4.5")),
];

/// Groups besides the root.
const MOST_GROUPS: usize = 65_535;

fn memcgs(r: &Reader<'_>) -> Result<Vec<MemcgConfig>, Error> {
    let mut groups: Vec<MemcgConfig> = Vec::new();
    for (i, n) in r.list("memcg")?.iter().enumerate() {
        let path = format!("machine.memcg[{i}]");
        let g = Reader::open(r.sources, n, &MEMCG, &path)?;
        if i == MOST_GROUPS {
            let found = format!("more than {MOST_GROUPS} groups");
            return Err(g.error("name", found, "fewer of them"));
        }
        let group = memcg(&g, ())?;
        for &(key, file, since) in GROUP_SINCE.iter().filter(|f| !g.is_default(f.0)) {
            since.check(&g, key, kernel_of(r)?, file)?;
        }
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

/// For whom huge pages are made (`transparent_hugepage/enabled`).
const THP: Words<Thp> = words!(of Thp::ALL);

/// Effort of a fault to get one (`transparent_hugepage/defrag`).
pub(in crate::scenario) const THP_DEFRAG: Words<ThpDefrag> = words!(of ThpDefrag::ALL);

const LINUX: VmSysctl = VmSysctl::linux();

#[cfg(test)]
mod tests {
    use mmsim_core::config::cost::CostModel;

    use super::super::ROOT;
    use super::*;
    use crate::scenario::read::fill;

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
