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
//! mm/memcontrol.c, kernel/sched/psi.c.

mod items;
mod memory_stat;
mod zoneinfo;

use std::fmt::Write;

use mmsim_core::base::vmstat::VmStat;
use mmsim_core::machine::snapshot::{PressureAverages, Snapshot};

pub use memory_stat::memory_stat;
pub use zoneinfo::zoneinfo;

/// A file of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// `/proc/vmstat`.
    Vmstat,
    /// `/proc/zoneinfo`.
    Zoneinfo,
    /// `memory.stat` of every memory cgroup.
    MemoryStat,
    /// `/proc/pressure/memory`.
    Pressure,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 4] = [Kind::Vmstat, Kind::Zoneinfo, Kind::MemoryStat, Kind::Pressure];

    /// Its name: that of the kernel's file.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Vmstat => "vmstat",
            Kind::Zoneinfo => "zoneinfo",
            Kind::MemoryStat => "memory.stat",
            Kind::Pressure => "pressure",
        }
    }

    /// The files of this kind, by their paths in a folder that is laid out as `/proc` is;
    /// those of groups lie as they do in `/sys/fs/cgroup`, under `cgroup`.
    pub fn files(self, s: &Snapshot) -> Vec<(String, String)> {
        let one = |path: &str, text: String| vec![(path.to_string(), text)];
        match self {
            Kind::Vmstat => one("vmstat", vmstat(s)),
            Kind::Zoneinfo => one("zoneinfo", zoneinfo(s)),
            Kind::Pressure => one("pressure/memory", pressure(s)),
            Kind::MemoryStat => s
                .groups
                .iter()
                .map(|g| match g.name.as_str() {
                    "" => ("cgroup/memory.stat".to_string(), memory_stat(g)),
                    name => (format!("cgroup/{}/memory.stat", file_name(name)), memory_stat(g)),
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
    let mut line = |name: &str, value: u64| {
        writeln!(text, "{name} {value}").expect("writing to a string");
    };
    for name in items::ZONE {
        line(name, s.zones.iter().map(|z| items::of_zone(z, name).unwrap_or(0)).sum());
    }
    for name in items::NUMA {
        line(name, 0);
    }
    for name in items::NODE {
        line(name, items::of_nodes(s, None, name).unwrap_or(0));
    }
    for name in items::SYSTEM {
        line(name, items::of_system(s, name).unwrap_or(0));
    }
    for name in items::EVENTS {
        line(name, s.vmstat.by_name(name).unwrap_or(0));
    }
    // The last line of the kernel's text, kept by it for old readers.
    line("nr_unstable", 0);
    text
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
    let s = Snapshot::default();
    let zone = mmsim_core::machine::snapshot::ZoneSnapshot::default();
    let events = VmStat::default();
    items::ZONE
        .iter()
        .filter(|name| items::of_zone(&zone, name).is_some())
        .chain(items::NODE.iter().filter(|name| items::of_nodes(&s, None, name).is_some()))
        .chain(items::SYSTEM.iter().filter(|name| items::of_system(&s, name).is_some()))
        .chain(items::EVENTS.iter().filter(|name| events.by_name(name).is_some()))
        .copied()
        .collect()
}
