//! The zones, watermarks, reserves and per-CPU lists that Linux sets up on a machine of a given
//! size, without running anything: to be compared with the `/proc/zoneinfo` of a host.
//!
//! A request is turned into a `[machine]` of a scenario and read as one, so that units,
//! defaults, ranges and messages are those of scenario files. A host manages less than its
//! memory (the frame table and what boots before the allocator are taken off), so for an
//! exact comparison give the pages of each zone as the host manages them.
//!
//! The formulas are those of the machine, in `mmsim_core::phys::zones`.

use std::fmt::Write;

use mmsim_core::config::{MachineConfig, ZoneKind};
use mmsim_core::machine::snapshot::{Snapshot, ZoneSnapshot};
use mmsim_core::phys::zones::Zones;

use crate::machines::Catalogue;
use crate::scenario::{Scenario, pages};
use mmsim_base::error::Error;

/// Known parameters of a machine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SetupRequest<'a> {
    /// Its memory, with a unit; divided as on a PC.
    pub memory: &'a str,
    /// Pages that each zone manages, instead of `memory`.
    pub zones: &'a [(ZoneKind, u32)],
    /// Name of the kernel.
    pub kernel: &'a str,
    /// CPUs, at least 1.
    pub cpus: u32,
    /// Nodes that `memory` is divided among evenly, at least 1.
    pub nodes: u32,
    /// Keys of `[machine.vm]` with values.
    pub vm: &'a [(String, String)],
}

impl Default for SetupRequest<'_> {
    /// Linux 6.12 on one CPU and one node; memory is to be filled in.
    fn default() -> Self {
        SetupRequest { memory: "", zones: &[], kernel: "6.12", cpus: 1, nodes: 1, vm: &[] }
    }
}

/// Settings that Linux chooses.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// `vm.min_free_kbytes`.
    pub min_free_kbytes: u64,
    /// The zones, all free.
    pub snapshot: Snapshot,
}

/// Sets up the zones of a machine.
///
/// # Errors
/// A size, a kernel or a key that a scenario file could not have either.
pub fn setup(request: &SetupRequest<'_>) -> Result<Setup, Error> {
    let machine = machine(request)?;
    let zones = Zones::new(&machine);
    // No memory is on free lists yet: only sizes are looked at.
    let all_free = |zone: ZoneSnapshot| ZoneSnapshot { free: zone.managed, ..zone };
    Ok(Setup {
        min_free_kbytes: zones.min_free_kbytes,
        snapshot: Snapshot {
            cpus: machine.cpus,
            unreclaimable: vec![false; machine.nodes.len()],
            zones: zones.ids().map(|z| all_free(ZoneSnapshot::of(&zones[z]))).collect(),
            ..Snapshot::default()
        },
    })
}

/// The machine, built from a scenario with a task that never runs.
fn machine(r: &SetupRequest<'_>) -> Result<MachineConfig, Error> {
    let mut text = String::from("[machine]\n");
    let mut line = |key: &str, value: String| {
        writeln!(text, "{key} = {value}").expect("writing to a string");
    };
    match (r.zones, pages(r.memory)) {
        ([], Ok(all)) if r.nodes > 1 => {
            let (share, rest) = (all / u64::from(r.nodes), all % u64::from(r.nodes));
            let node = |i| format!("{{ memory = \"{} pages\" }}", share + u64::from(i < rest));
            let nodes: Vec<String> = (0..u64::from(r.nodes)).map(node).collect();
            line("node", format!("[{}]", nodes.join(", ")));
        }
        // A size that is none is complained about where sizes are read.
        ([], _) => line("memory", quoted(r.memory)),
        (zones, _) => {
            let zone = |&(kind, managed): &(ZoneKind, u32)| {
                format!("{{ kind = \"{}\", managed = \"{managed} pages\" }}", kind.name())
            };
            let zones: Vec<String> = zones.iter().map(zone).collect();
            line("zone", format!("[{}]", zones.join(", ")));
        }
    }
    line("cpus", r.cpus.to_string());
    line("kernel", quoted(r.kernel));
    for (key, value) in r.vm {
        let plain = value.parse::<i64>().map_or_else(|_| quoted(value), |n| n.to_string());
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        let key = if key.chars().all(is_plain) { key.clone() } else { quoted(key) };
        line(&format!("vm.{key}"), plain);
    }
    text += "[[task]]\nworkload = \"sequential\"\nmemory = \"1 page\"\n";
    let scenario = Scenario::from_str(&text, "the machine asked for")?;
    let runs = scenario.expand(&Catalogue)?;
    Ok(runs.into_iter().next().expect("a scenario has a run").machine)
}

/// As a TOML string.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::phys::pcp::PcpView;

    fn request(memory: &str) -> SetupRequest<'_> {
        SetupRequest { memory, zones: &[], kernel: "6.12", cpus: 1, nodes: 1, vm: &[] }
    }

    fn thp(mode: &str) -> [(String, String); 1] {
        [("transparent_hugepage".to_string(), mode.to_string())]
    }

    fn marks(s: &Setup) -> Vec<[u64; 4]> {
        s.snapshot.zones.iter().map(|z| z.watermark).collect()
    }

    /// Worked by hand with default factors: one zone of 100 MiB to 16 GiB.
    #[test]
    fn one_zone_as_worked_by_hand() {
        for (pages, kib, want) in [
            (25_600, 1280, [320, 400, 480, 560]),
            (65_536, 2048, [512, 640, 768, 896]),
            (262_144, 4096, [1024, 1286, 1548, 1810]),
            (1_048_576, 8192, [2048, 3096, 4144, 5192]),
            (4_194_304, 16384, [4096, 8290, 12484, 16678]),
        ] {
            let zones = [(ZoneKind::Normal, pages)];
            let s = setup(&SetupRequest { zones: &zones, ..request("") }).unwrap();
            assert_eq!((s.min_free_kbytes, marks(&s)), (kib, vec![want]));
        }
        let vm = [("watermark_scale_factor".to_string(), "100".to_string())];
        let zones = [(ZoneKind::Normal, 262_144)];
        let s = setup(&SetupRequest { zones: &zones, vm: &vm, ..request("") }).unwrap();
        assert_eq!(marks(&s), [[1024, 3645, 6266, 8887]]);
    }

    /// Worked by hand: DMA 3840 and DMA32 256 000, without and with huge pages.
    #[test]
    fn two_zones_as_worked_by_hand() {
        let zones = [(ZoneKind::Dma, 3840), (ZoneKind::Dma32, 256_000)];
        let two = SetupRequest { zones: &zones, ..request("") };
        let s = setup(&two).unwrap();
        assert_eq!(s.min_free_kbytes, 4077);
        assert_eq!(marks(&s), [[15, 18, 21, 24], [1003, 1259, 1515, 1771]]);
        assert_eq!(s.snapshot.zones[0].lowmem_reserve, [0, 1000, 1000, 1000]);
        let vm = thp("madvise");
        assert_eq!(setup(&SetupRequest { vm: &vm, ..two }).unwrap().min_free_kbytes, 45_056);
    }

    /// Eleven pageblocks of 2 MiB for each zone up to Normal, on every kernel, however many nodes
    /// there are. Where that is more than a twentieth of the pages above the high watermarks, that
    /// twentieth: 384 MiB have zones of 3,840 and 94,208 pages, whose high watermarks without huge
    /// pages are 36 and 901, so 97,111 pages are left.
    #[test]
    fn huge_pages_raise_min_free_kbytes() {
        let min = |memory, nodes, kernel, mode: &str| {
            let vm = thp(mode);
            let request = SetupRequest { nodes, kernel, vm: &vm, ..request(memory) };
            setup(&request).unwrap().min_free_kbytes
        };
        for kernel in mmsim_core::config::Kernel::ALL.map(|k| k.name()) {
            for mode in ["always", "madvise"] {
                assert_eq!(min("4GiB", 1, kernel, mode), 3 * 22_528, "{kernel} {mode}");
                assert_eq!(min("2GiB", 1, kernel, mode), 2 * 22_528, "{kernel} {mode}");
                assert_eq!(min("8GiB", 2, kernel, mode), 4 * 22_528, "{kernel} {mode}");
                assert_eq!(min("384MiB", 1, kernel, mode), 97_111 / 20 * 4, "{kernel} {mode}");
            }
            assert_eq!(min("4GiB", 1, kernel, "never"), 8190, "{kernel}");
        }
        // What the kernel chooses anyway is more than three zones want.
        assert_eq!(min("300GiB", 1, "6.12", "always"), min("300GiB", 1, "6.12", "never"));
        assert_eq!(min("300GiB", 1, "5.5", "always"), 3 * 22_528, "up to 5.7 at most 65,536");
    }

    /// A zone Movable needs no room for other types; up to 4.16 it was counted all the same.
    #[test]
    fn movable_zones_count_up_to_4_16() {
        let zones =
            [(ZoneKind::Dma, 3840), (ZoneKind::Dma32, 1 << 19), (ZoneKind::Movable, 1 << 19)];
        let vm = thp("always");
        let min = |kernel| {
            setup(&SetupRequest { zones: &zones, kernel, vm: &vm, ..request("") }).unwrap()
        };
        assert_eq!(min("4.1").min_free_kbytes, 3 * 22_528);
        assert_eq!(min("5.5").min_free_kbytes, 2 * 22_528);
    }

    /// A value of the user's own stays, below what huge pages want and above it.
    #[test]
    fn a_value_of_the_user_stays() {
        for kib in ["1024", "4096", "200000"] {
            let own = ("min_free_kbytes".to_string(), kib.to_string());
            let vm = [own, thp("always")[0].clone()];
            let s = setup(&SetupRequest { vm: &vm, ..request("4GiB") }).unwrap();
            assert_eq!(s.min_free_kbytes.to_string(), kib);
        }
    }

    /// Up to 6.5 a zone Movable has its share of min. The change that ended this measured 1, 151, 233
    /// and 1434 pages on 16 GiB with `movablecore=12G`, of 7,288 KiB: these sizes of zones fit all
    /// five figures.
    #[test]
    fn movable_zones_share_min_up_to_6_5() {
        let zones = [
            (ZoneKind::Dma, 3840),
            (ZoneKind::Dma32, 325_300),
            (ZoneKind::Normal, 500_781),
            (ZoneKind::Movable, 3_070_361),
        ];
        let of = |kernel| {
            let s = setup(&SetupRequest { zones: &zones, kernel, ..request("") }).unwrap();
            let min = s.snapshot.zones.iter().map(|z| z.watermark[0]).collect::<Vec<_>>();
            (s.min_free_kbytes, min)
        };
        assert_eq!(of("6.1"), (7288, vec![1, 151, 233, 1434]));
        assert_eq!(of("6.6"), (7288, vec![8, 714, 1099, 128]));
    }

    /// Values that a host with 16 GiB, 2 CPUs and huge pages on `madvise` prints (Linux 6.18, whose
    /// rules for these figures are those of 6.12; its `high_min` is what 6.12 starts with).
    #[test]
    fn a_host_says_the_same() {
        let zones =
            [(ZoneKind::Dma, 3840), (ZoneKind::Dma32, 772_915), (ZoneKind::Normal, 3_506_176)];
        let vm = thp("madvise");
        let s = setup(&SetupRequest { zones: &zones, cpus: 2, vm: &vm, ..request("") }).unwrap();
        assert_eq!(s.min_free_kbytes, 67_584);
        assert_eq!(
            marks(&s),
            [[15, 18, 21, 24], [3049, 3821, 4593, 5365], [13_831, 17_337, 20_843, 24_349]]
        );
        let reserves: Vec<_> = s.snapshot.zones.iter().map(|z| z.lowmem_reserve).collect();
        assert_eq!(reserves, [[0, 3019, 16_715, 16_715], [0, 0, 13_696, 13_696], [0; 4]]);
        let lists: Vec<_> = s.snapshot.zones.iter().map(|z| z.pcp[1]).collect();
        let list = |high, batch| PcpView { count: 0, high, batch };
        assert_eq!(lists, [list(9, 1), list(1910, 63), list(8668, 63)]);
        let text = mmsim_report::proc::zoneinfo(&s.snapshot);
        let thresholds: Vec<&str> =
            text.lines().filter_map(|l| l.strip_prefix("  vm stats threshold: ")).collect();
        assert_eq!(thresholds, ["4", "4", "24", "24", "32", "32"]);
    }

    #[test]
    fn memory_is_divided_among_nodes() {
        let s = setup(&SetupRequest { nodes: 2, ..request("8GiB") }).unwrap();
        let zones: Vec<_> =
            s.snapshot.zones.iter().map(|z| (z.node.0, z.kind.name(), z.managed)).collect();
        assert_eq!(
            zones,
            [
                (0, "DMA", 3840),
                (0, "DMA32", 782_336),
                (0, "Normal", 262_144),
                (1, "Normal", 1_048_576)
            ]
        );
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        let no = |r: &SetupRequest<'_>| setup(r).unwrap_err().to_string();
        assert!(no(&request("16")).contains("write \"16MiB\""));
        assert!(no(&SetupRequest { kernel: "4.0", ..request("1GiB") }).contains("4.0"));
        assert!(no(&SetupRequest { cpus: 0, ..request("1GiB") }).contains("cpus"));
        let vm = [("swapiness".to_string(), "1".to_string())];
        assert!(no(&SetupRequest { vm: &vm, ..request("1GiB") }).contains("swappiness"));
        let vm = [("min_free_kbytes".to_string(), "many".to_string())];
        assert!(no(&SetupRequest { vm: &vm, ..request("1GiB") }).contains("many"));
    }
}
