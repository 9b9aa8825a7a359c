//! The simulated state in the texts of the kernel's own files, for readers that know these.
//!
//! Names, their order and the layout are those that Linux 6.12 prints on x86-64 as
//! distributions configure it (`CONFIG_NUMA`, `SWAP`, `ZSWAP`, `ZSMALLOC`, `CMA`,
//! `TRANSPARENT_HUGEPAGE`, `HUGETLB_PAGE`, `KSM`, `MEMORY_BALLOON`, `ZONE_DEVICE` on;
//! debugging off), whichever kernel is simulated. A name that the kernel prints and the
//! model has nothing for is printed as 0, so that whoever looks for it finds it;
//! [`modelled`] says which have values. Counters of mmsim alone (`sim_`) have no place here.
//!
//! Everything is a function from a [`Snapshot`] to a text. Source: Linux 6.12 mm/vmstat.c,
//! mm/memcontrol.c, fs/proc/meminfo.c, kernel/sched/psi.c.

mod buddyinfo;
mod items;
mod map;
mod meminfo;
mod memory_stat;
mod oom;
mod swaps;
mod zoneinfo;

use std::fmt::Write;

use self::swaps::areas_of;
use mmsim_core::machine::snapshot::{PressureAverages, Snapshot, ZoneSnapshot};

pub use buddyinfo::{buddyinfo, pagetypeinfo};
pub use map::{LEGEND, map, picture};
pub use meminfo::meminfo;
pub use memory_stat::memory_stat;
pub use swaps::{SwapLine, swaps};
pub use zoneinfo::zoneinfo;

/// A file of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// `/proc/vmstat`.
    Vmstat,
    /// `/proc/meminfo`.
    Meminfo,
    /// `/proc/zoneinfo`.
    Zoneinfo,
    /// `/proc/buddyinfo`.
    Buddyinfo,
    /// `/proc/pagetypeinfo`.
    Pagetypeinfo,
    /// `memory.stat` of every memory cgroup.
    MemoryStat,
    /// `/proc/pressure/memory`.
    Pressure,
    /// `/proc/swaps`.
    Swaps,
    /// Lines of the kernel's log when the OOM killer acted first.
    Oom,
    /// A picture of physical memory, which no kernel has.
    Map,
    /// Physical memory frame by frame, to begin with another time; no kernel has it either.
    Layout,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 11] = [
        Kind::Vmstat,
        Kind::Meminfo,
        Kind::Zoneinfo,
        Kind::Buddyinfo,
        Kind::Pagetypeinfo,
        Kind::MemoryStat,
        Kind::Pressure,
        Kind::Swaps,
        Kind::Oom,
        Kind::Map,
        Kind::Layout,
    ];

    /// Its name: that of the kernel's file, if it has one.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Vmstat => "vmstat",
            Kind::Meminfo => "meminfo",
            Kind::Zoneinfo => "zoneinfo",
            Kind::Buddyinfo => "buddyinfo",
            Kind::Pagetypeinfo => "pagetypeinfo",
            Kind::MemoryStat => "memory.stat",
            Kind::Pressure => "pressure",
            Kind::Swaps => "swaps",
            Kind::Oom => "oom",
            Kind::Map => "map",
            Kind::Layout => "layout",
        }
    }

    /// The files of this kind, by their paths in a folder that is laid out as `/proc` is;
    /// those of groups lie as they do in `/sys/fs/cgroup`, under `cgroup`.
    pub fn files(self, s: &Snapshot) -> Vec<(String, String)> {
        let one = |path: &str, text: String| vec![(path.to_string(), text)];
        match self {
            Kind::Vmstat => one("vmstat", vmstat(s)),
            Kind::Meminfo => one("meminfo", meminfo(s)),
            Kind::Zoneinfo => one("zoneinfo", zoneinfo(s)),
            Kind::Buddyinfo => one("buddyinfo", buddyinfo(s)),
            Kind::Pagetypeinfo => one("pagetypeinfo", pagetypeinfo(s)),
            Kind::Pressure => one("pressure/memory", pressure(s)),
            Kind::Swaps => one("swaps", swaps(&areas_of(s))),
            Kind::Oom => oom::oom(s).map_or_else(Vec::new, |text| one("oom", text)),
            Kind::Map => one("map", map(s)),
            Kind::Layout => one("layout", mmsim_base::layout::text(&s.layout)),
            Kind::MemoryStat => s
                .groups
                .iter()
                .map(|g| {
                    let path = match g.name.as_str() {
                        "" => "cgroup/memory.stat".to_string(),
                        name => {
                            let folders: Vec<_> = name.split('/').map(file_name).collect();
                            format!("cgroup/{}/memory.stat", folders.join("/"))
                        }
                    };
                    (path, memory_stat(g, &s.not_counted))
                })
                .collect(),
        }
    }
}

/// A name as a file may have it everywhere: what is neither a letter, a digit nor one of
/// `._=+-` becomes `-`, and so does a dot at the start.
pub fn file_name(name: &str) -> String {
    let plain = |(i, c): (usize, char)| match c {
        '.' if i == 0 => '-',
        c if c.is_ascii_alphanumeric() || "._=+-".contains(c) => c,
        _ => '-',
    };
    name.chars().enumerate().map(plain).collect()
}

/// `/proc/vmstat`: zone items, NUMA items, node items, thresholds, events.
pub fn vmstat(s: &Snapshot) -> String {
    let mut text = String::new();
    for name in items::of_vmstat(s) {
        let value = items::of_machine(s, name).unwrap_or(0);
        writeln!(text, "{name} {value}").expect("writing to a string");
    }
    // The last line of the kernel's text, kept by it for old readers.
    text + "nr_unstable 0\n"
}

/// `/proc/pressure/memory`.
pub fn pressure(s: &Snapshot) -> String {
    let (a, p) = (&s.averages, &s.pressure);
    let mut text = String::new();
    for (name, averages, total) in [("some", a.some, p.some_us), ("full", a.full, p.full_us)] {
        let [a10, a60, a300] = averages.map(|a| {
            let (whole, hundredths) = PressureAverages::digits(a);
            format!("{whole}.{hundredths:02}")
        });
        writeln!(text, "{name} avg10={a10} avg60={a60} avg300={a300} total={total}")
            .expect("writing to a string");
    }
    text
}

/// The names of [`vmstat`] that have values, in its order; all others are 0 in every text.
pub fn modelled() -> Vec<&'static str> {
    let zones = vec![ZoneSnapshot::default()];
    let s = Snapshot { counts_free_blocks: true, zones, ..Snapshot::default() };
    let mut items = items::of_vmstat(&s);
    items.retain(|name| items::of_machine(&s, name).is_some());
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::base::id::NodeId;
    use mmsim_core::base::vmstat::{VmEvent, VmStat};
    use mmsim_core::config::ZoneKind;
    use mmsim_core::machine::result::Pressure;
    use mmsim_core::machine::snapshot::{MemcgSnapshot, PageCounts, ZoneSnapshot};
    use mmsim_core::phys::pcp::PcpView;

    /// The DMA zone of a host with 16 GiB and 2 CPUs.
    fn host() -> Snapshot {
        let dma = ZoneSnapshot {
            kind: ZoneKind::Dma,
            managed: 3840,
            free: 3840,
            watermark: [15, 18, 21, 24],
            lowmem_reserve: [0, 3019, 16_715, 16_715],
            pcp: vec![PcpView { count: 0, high: 9, batch: 1 }; 2],
            ..ZoneSnapshot::default()
        };
        Snapshot { cpus: 2, unreclaimable: vec![false], zones: vec![dma], ..Snapshot::default() }
    }

    /// As that host prints it, but for what 6.12 and a zone without holes print otherwise.
    #[test]
    fn a_zone_reads_as_on_a_host() {
        let text = zoneinfo(&host());
        let (head, zone) = text.split_once("\n  pages free").expect("sizes");
        assert!(
            head.starts_with("Node 0, zone      DMA\n  per-node stats\n      nr_inactive_anon 0\n")
        );
        assert!(head.contains("\n      nr_mapped    0\n") && head.ends_with("khugepaged 0"));
        let want = "     3840
        boost    0
        min      15
        low      18
        high     21
        promo    24
        spanned  3840
        present  3840
        managed  3840
        cma      0
        protection: (0, 3019, 16715, 16715, 16715)
      nr_free_pages 3840
      nr_zone_inactive_anon 0
      nr_zone_active_anon 0
      nr_zone_inactive_file 0
      nr_zone_active_file 0
      nr_zone_unevictable 0
      nr_zone_write_pending 0
      nr_mlock     0
      nr_bounce    0
      nr_zspages   0
      nr_free_cma  0
      nr_unaccepted 0
      numa_hit     0
      numa_miss    0
      numa_foreign 0
      numa_interleave 0
      numa_local   0
      numa_other   0
  pagesets
    cpu: 0
              count: 0
              high:  9
              batch: 1
  vm stats threshold: 4
    cpu: 1
              count: 0
              high:  9
              batch: 1
  vm stats threshold: 4
  node_unreclaimable:  0
  start_pfn:           0
Node 0, zone    DMA32
  pages free     0
        boost    0
        min      0
";
        assert_eq!(&zone[..want.len()], want);
        let movable = text.split_once("zone  Movable\n").expect("an empty zone").1;
        assert!(
            movable.starts_with("  pages free     0\n        boost    0\n        min      32\n")
        );
        assert!(movable.ends_with("        protection: (0, 0, 0, 0, 0)\n"));
    }

    #[test]
    fn watermarks_are_printed_with_their_boost() {
        let mut s = host();
        s.zones[0].boost = 100;
        s.unreclaimable[0] = true;
        let text = zoneinfo(&s);
        assert!(text.contains("boost    100\n        min      115\n        low      118\n"));
        assert!(text.contains("  node_unreclaimable:  1\n"));
    }

    /// Used pages of a zone show in the zone, in its node and in the sum.
    #[test]
    fn uses_of_frames_show_everywhere() {
        let mut s = host();
        let counts = PageCounts {
            lru: [1, 2, 3, 4, 5, 8],
            anon_mapped: 6,
            anon_thp: 1536,
            file_mapped: 7,
            file: 100,
            dirty: 10,
            writeback: 20,
            swapcached: 30,
            ..PageCounts::default()
        };
        let second = ZoneSnapshot { node: NodeId(1), counts, ..s.zones[0].clone() };
        s.zones.push(second);
        s.unreclaimable.push(false);
        s.vmstat.add(VmEvent::NrDirtied, 9);
        let vmstat = vmstat(&s);
        for line in [
            "nr_free_pages 7680",
            "nr_zone_active_file 4",
            "nr_zone_write_pending 30",
            "nr_unevictable 5",
            "nr_anon_transparent_hugepages 3",
            "nr_mapped 7",
            "nr_file_pages 130",
            "nr_dirtied 9",
            "pgscan_khugepaged 0",
        ] {
            assert!(vmstat.lines().any(|l| l == line), "{line}");
        }
        let text = zoneinfo(&s);
        let (first, second) = text.split_once("Node 1, ").expect("a second node");
        assert!(first.contains("nr_dirtied   9\n") && first.contains("nr_file_pages 0\n"));
        assert!(second.contains("nr_dirtied   0\n") && second.contains("nr_file_pages 130\n"));
    }

    /// Two blocks of order 9 and one of order 10, on 6.18.
    #[test]
    fn free_pages_of_whole_pageblocks_are_counted_since_6_16() {
        let mut s = host();
        s.pageblock_order = 9;
        (s.zones[0].free_blocks[1][9], s.zones[0].free_blocks[0][10]) = (2, 1);
        s.zones[0].free_blocks[1][8] = 7;
        assert!(!vmstat(&s).contains("nr_free_pages_blocks"));
        s.counts_free_blocks = true;
        assert!(vmstat(&s).contains("\nnr_free_pages_blocks 2048\n"));
        assert!(zoneinfo(&s).contains("\n      nr_free_pages_blocks 2048\n"));
    }

    #[test]
    fn every_counter_of_the_kernel_is_in_vmstat_once_and_none_of_ours() {
        let mut s = host();
        let text = vmstat(&s);
        s.not_counted = vec![VmEvent::NrSwpIn, VmEvent::PgScanProactive];
        let fewer: Vec<&str> = text
            .split_inclusive('\n')
            .filter(|l| !l.starts_with("nrswpin") && !l.starts_with("pgscan_proactive"))
            .collect();
        assert_eq!(vmstat(&s), fewer.concat());
        let names: Vec<&str> = text.lines().map(|l| l.split(' ').next().unwrap_or("")).collect();
        for e in VmEvent::ALL {
            let want = usize::from(!e.name().starts_with("sim_"));
            assert_eq!(names.iter().filter(|n| **n == e.name()).count(), want, "{}", e.name());
        }
        let different: std::collections::BTreeSet<&&str> = names.iter().collect();
        assert_eq!(different.len(), names.len());
        assert_eq!((names[0], names[names.len() - 1]), ("nr_free_pages", "nr_unstable"));
    }

    /// 25 % of one period of 2 s: worked by hand.
    #[test]
    fn pressure_has_two_digits() {
        let averages = PressureAverages { some: [9275, 1675, 350], full: [204_800, 2047, 0] };
        let pressure_of = Pressure::new(500_000, 7);
        let s = Snapshot { averages, pressure: pressure_of, ..Snapshot::default() };
        assert_eq!(
            pressure(&s),
            "some avg10=4.52 avg60=0.81 avg300=0.17 total=500000\n\
             full avg10=100.00 avg60=0.99 avg300=0.00 total=7\n"
        );
    }

    #[test]
    fn a_group_is_in_bytes() {
        let mut vmstat = VmStat::default();
        vmstat.add(VmEvent::PgScanDirect, 3);
        vmstat.add(VmEvent::PgScanKswapd, 4);
        let counts =
            PageCounts { anon_mapped: 2, page_tables: 1, anon_thp: 512, ..PageCounts::default() };
        let text = memory_stat(
            &MemcgSnapshot { name: "a".into(), counts, vmstat, ..MemcgSnapshot::default() },
            &[VmEvent::PgScanProactive],
        );
        assert!(
            text.starts_with("anon 8192\nfile 0\nkernel 4096\nkernel_stack 0\npagetables 4096\n")
        );
        assert!(text.contains("\nanon_thp 2097152\n"));
        assert!(text.contains("\npgscan 7\npgsteal 0\npgscan_kswapd 4\npgscan_direct 3\n"));
        assert!(text.ends_with("\nnuma_hint_faults 0\n"));
    }

    #[test]
    fn files_lie_as_in_proc() {
        let group = |name: &str| MemcgSnapshot { name: name.into(), ..MemcgSnapshot::default() };
        let s = Snapshot { groups: vec![group(""), group("a/b")], ..host() };
        let paths = |k: Kind| k.files(&s).into_iter().map(|f| f.0).collect::<Vec<_>>();
        assert_eq!(paths(Kind::Pressure), ["pressure/memory"]);
        assert_eq!(paths(Kind::MemoryStat), ["cgroup/memory.stat", "cgroup/a/b/memory.stat"]);
        assert_eq!(file_name("..v5.9 é"), "-.v5.9--");
    }
}
