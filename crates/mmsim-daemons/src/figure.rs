//! Figures that rules read, by name. Sizes are in bytes, as the files of groups show them.

use mmsim_core::base::id::{MemcgId, PAGE_SIZE};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::policy::daemon::{
    GroupFiles, Meminfo, Pressure, PressureAverages, Process, System,
};
use std::collections::BTreeMap;

/// The group that a figure is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Of {
    /// This one; the root is the machine.
    Group(MemcgId),
    /// The candidate that is looked at.
    Candidate,
}

/// Source of a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Source {
    /// A row of [`MEMINFO`].
    Meminfo(usize),
    Vmstat(VmEvent),
    /// [`ZRAM`].
    Zram,
    /// An average (0 to 2) of some or full, or the total in microseconds (3).
    Pressure(Of, bool, usize),
    /// A row of [`GROUP`].
    Group(Of, usize),
    /// `pgscan` of a group, in pages.
    Scanned(Of),
    /// A counter of a group.
    Stat(Of, VmEvent),
    /// A row of [`PROCESS`].
    Process(usize),
    /// A value that the scenario gives for a candidate.
    Said(usize),
}

/// Names of what a scenario says of groups.
pub(crate) const SAID: [&str; 3] = ["request", "priority", "critical"];

/// A name in a file, and its value there.
type Row<File, Value> = (&'static str, fn(&File) -> Value);

/// Names of `/proc/meminfo`.
const MEMINFO: [Row<Meminfo, u64>; 13] = [
    ("MemTotal", |m| m.mem_total),
    ("MemFree", |m| m.mem_free),
    ("MemAvailable", |m| m.mem_available),
    ("AnonPages", |m| m.anon_pages),
    ("Active(anon)", |m| m.active_anon),
    ("Inactive(anon)", |m| m.inactive_anon),
    ("Active(file)", |m| m.active_file),
    ("Inactive(file)", |m| m.inactive_file),
    ("Unevictable", |m| m.unevictable),
    ("Cached", |m| m.cached),
    ("Shmem", |m| m.shmem),
    ("SwapTotal", |m| m.swap_total),
    ("SwapFree", |m| m.swap_free),
];

/// Memory that all zrams take, as their `mm_stat` has it.
const ZRAM: &str = "zram.mem_used_total";

/// Sizes of groups. Limits that are not set are larger than all memory.
const GROUP: [Row<GroupFiles, u64>; 12] = [
    ("current", |g| g.current),
    ("swap.current", |g| g.swap_current),
    ("min", |g| g.min),
    ("low", |g| g.low),
    ("high", |g| g.high.unwrap_or(NO_LIMIT)),
    ("max", |g| g.max.unwrap_or(NO_LIMIT)),
    ("stat.anon", |g| g.anon),
    ("stat.inactive_anon", |g| g.lists[0]),
    ("stat.active_anon", |g| g.lists[1]),
    ("stat.inactive_file", |g| g.lists[2]),
    ("stat.active_file", |g| g.lists[3]),
    ("working_set", |g| g.current.saturating_sub(g.lists[2])),
];

/// Pages of a limit that is not set.
const NO_LIMIT: u64 = 1 << 50;

/// Properties of processes. `rss` and `swap` are in bytes.
const PROCESS: [Row<Process, f64>; 4] = [
    ("oom_score", |p| p.oom_score as f64),
    ("oom_score_adj", |p| p.oom_score_adj.into()),
    ("rss", |p| (p.rss * PAGE_SIZE) as f64),
    ("swap", |p| (p.swap * PAGE_SIZE) as f64),
];

fn event(name: &str) -> Option<VmEvent> {
    VmEvent::ALL.iter().copied().find(|e| e.name() == name)
}

fn pressure(of: Of, name: &str) -> Option<Source> {
    let (stall, what) = name.split_once('.')?;
    let full = match stall {
        "some" => false,
        "full" => true,
        _ => return None,
    };
    let what = ["avg10", "avg60", "avg300", "total"].iter().position(|n| *n == what)?;
    Some(Source::Pressure(of, full, what))
}

fn of_group(of: Of, name: &str) -> Option<Source> {
    if let Some(rest) = name.strip_prefix("pressure.") {
        return pressure(of, rest);
    }
    if let Some(row) = GROUP.iter().position(|(n, _)| *n == name) {
        return Some(Source::Group(of, row));
    }
    match name.strip_prefix("stat.")? {
        "pgscan" => Some(Source::Scanned(of)),
        stat => event(stat).filter(|e| e.row().of_groups).map(|e| Source::Stat(of, e)),
    }
}

/// The source of a figure; `memcg`: the group before the dot, `None` if there is none.
pub(crate) fn source(memcg: Option<Of>, name: &str) -> Option<Source> {
    if let Some(of) = memcg {
        return of_group(of, name);
    }
    if let Some(field) = name.strip_prefix("meminfo.") {
        return MEMINFO.iter().position(|m| m.0 == field).map(Source::Meminfo);
    }
    if let Some(counter) = name.strip_prefix("vmstat.") {
        return event(counter).map(Source::Vmstat);
    }
    if name == ZRAM {
        return Some(Source::Zram);
    }
    // Before a group's own: at the top it is the machine's.
    if let Some(i) = SAID.iter().position(|n| *n == name) {
        return Some(Source::Said(i));
    }
    if let Some(row) = PROCESS.iter().position(|(n, _)| *n == name) {
        return Some(Source::Process(row));
    }
    of_group(Of::Candidate, name)
}

/// Names of figures, for messages: those of the machine, and those of a candidate or a group.
pub(crate) fn names() -> Vec<String> {
    let meminfo = MEMINFO.iter().map(|m| format!("meminfo.{}", m.0));
    let vmstat = VmEvent::ALL.iter().map(|e| format!("vmstat.{}", e.name()));
    let group = GROUP.iter().map(|g| g.0.to_string());
    let stat = VmEvent::of_groups().map(|e| format!("stat.{}", e.name()));
    let pressure = ["some", "full"].into_iter().flat_map(|stall| {
        ["avg10", "avg60", "avg300", "total"].map(|what| format!("pressure.{stall}.{what}"))
    });
    let others = PROCESS.iter().map(|p| p.0).chain(SAID).chain(["stat.pgscan", ZRAM]);
    meminfo
        .chain(vmstat)
        .chain(group)
        .chain(stat)
        .chain(pressure)
        .chain(others.map(str::to_string))
        .collect()
}

/// The candidate that expressions are about.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Candidate<'a> {
    None,
    Group(MemcgId),
    Process(&'a Process),
}

impl Candidate<'_> {
    /// The number of its group among all that have a state of their own.
    pub(crate) fn number(self) -> u32 {
        match self {
            Candidate::None => 0,
            Candidate::Group(m) => 1 + u32::from(m.0),
            Candidate::Process(p) => 1 + u32::from(p.memcg.0),
        }
    }
}

/// Files that a look has read so far. Each file is read once.
pub(crate) struct Reads<'a> {
    pub(crate) system: &'a mut dyn System,
    pub(crate) said: &'a BTreeMap<MemcgId, [f64; SAID.len()]>,
    meminfo: Option<Meminfo>,
    groups: BTreeMap<MemcgId, GroupFiles>,
    pressures: BTreeMap<MemcgId, (Pressure, PressureAverages)>,
}

impl<'a> Reads<'a> {
    pub(crate) fn new(
        system: &'a mut dyn System,
        said: &'a BTreeMap<MemcgId, [f64; SAID.len()]>,
    ) -> Reads<'a> {
        Reads { system, said, meminfo: None, groups: BTreeMap::new(), pressures: BTreeMap::new() }
    }

    /// Forgets what was read: something was done since.
    pub(crate) fn forget(&mut self) {
        self.meminfo = None;
        self.groups.clear();
        self.pressures.clear();
    }

    fn memcg(of: Of, candidate: Candidate<'_>) -> MemcgId {
        match (of, candidate) {
            (Of::Group(m), _) | (Of::Candidate, Candidate::Group(m)) => m,
            (Of::Candidate, Candidate::Process(p)) => p.memcg,
            // Outside of orders it is the machine.
            (Of::Candidate, Candidate::None) => MemcgId(0),
        }
    }

    fn group(&mut self, m: MemcgId) -> GroupFiles {
        let system = &mut *self.system;
        *self.groups.entry(m).or_insert_with(|| system.group(m))
    }

    pub(crate) fn value(&mut self, source: Source, candidate: Candidate<'_>) -> f64 {
        let bytes = |pages: u64| (pages * PAGE_SIZE) as f64;
        match source {
            Source::Meminfo(row) => {
                let system = &mut *self.system;
                bytes(MEMINFO[row].1(self.meminfo.get_or_insert_with(|| system.meminfo())))
            }
            Source::Vmstat(event) => self.system.vmstat(event) as f64,
            Source::Zram => bytes(self.system.zram()),
            Source::Pressure(of, full, what) => {
                let m = Self::memcg(of, candidate);
                let system = &mut *self.system;
                let (total, averages) =
                    *self.pressures.entry(m).or_insert_with(|| system.pressure(m));
                if what == 3 {
                    return (if full { total.full_us } else { total.some_us }) as f64;
                }
                let all = if full { averages.full } else { averages.some };
                let (whole, hundredths) = PressureAverages::digits(all[what]);
                (whole * 100 + hundredths) as f64 / 100.0
            }
            Source::Group(of, row) => bytes(GROUP[row].1(&self.group(Self::memcg(of, candidate)))),
            Source::Scanned(of) => self.group(Self::memcg(of, candidate)).pgscan as f64,
            Source::Stat(of, event) => {
                let m = Self::memcg(of, candidate);
                self.group(m);
                self.system.stat(m, event) as f64
            }
            Source::Process(row) => match candidate {
                Candidate::Process(p) => PROCESS[row].1(p),
                _ => 0.0,
            },
            Source::Said(i) => {
                let m = Self::memcg(Of::Candidate, candidate);
                self.said.get(&m).map_or(0.0, |s| s[i])
            }
        }
    }
}
