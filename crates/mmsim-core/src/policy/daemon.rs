//! Interface between core and a program of user space that watches memory and acts.
//!
//! A daemon is a process with one thread. It touches its resident set, looks, perhaps acts, and
//! sleeps until its timer or a pressure trigger wakes it. It stands in line for a CPU, and stalls
//! where its own pages are gone, as every process. Core pays for what it reads and carries out what
//! it decides; what it reads, when, and what follows is its own affair. It sees what user space can
//! read: meminfo, vmstat, pressure files, files of groups, processes.

use crate::base::digest::Digest;
use crate::base::id::{AsId, MemcgId};
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
pub use crate::workload::{Pressure, PressureAverages, Stall, TriggerSpec};
use std::any::Any;

/// `/proc/meminfo`, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)] // The names are those of the file.
pub struct Meminfo {
    pub mem_total: u64,
    pub mem_free: u64,
    pub mem_available: u64,
    pub anon_pages: u64,
    pub active_anon: u64,
    pub inactive_anon: u64,
    pub active_file: u64,
    pub inactive_file: u64,
    pub unevictable: u64,
    pub cached: u64,
    pub shmem: u64,
    pub swap_total: u64,
    pub swap_free: u64,
}

/// Files of a memory cgroup, in pages; the root's are those of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GroupFiles {
    /// `memory.current`.
    pub current: u64,
    /// `memory.swap.current`.
    pub swap_current: u64,
    /// `memory.min`.
    pub min: u64,
    /// `memory.low`.
    pub low: u64,
    /// `memory.high`; `None`: max.
    pub high: Option<u64>,
    /// `memory.max`.
    pub max: Option<u64>,
    /// `anon` of `memory.stat`.
    pub anon: u64,
    /// `file` of `memory.stat`; of a group below the root, its pages on lists.
    pub file: u64,
    /// Lists: inactive and active anonymous, inactive and active file.
    pub lists: [u64; 4],
    /// `pgscan` of `memory.stat`: of kswapd, direct and proactive reclaim.
    pub pgscan: u64,
    /// Living processes (`cgroup.procs`).
    pub processes: u64,
}

impl GroupFiles {
    /// `file` on lists, in pages.
    pub fn file_lists(&self) -> u64 {
        self.lists[2] + self.lists[3]
    }
}

/// Number of a process: an address space, or one of the processes that its work plays
/// ([`Workload::played`](crate::workload::Workload::played)).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pid {
    /// The address space.
    pub space: AsId,
    /// The number of the process that is played in it; `None`: it is the space itself.
    pub played: Option<u16>,
}

impl From<AsId> for Pid {
    fn from(space: AsId) -> Pid {
        Pid { space, played: None }
    }
}

/// `/proc/PID` of a process. Sizes are in pages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    /// Its number.
    pub id: Pid,
    /// Its name.
    pub name: String,
    /// Its group.
    pub memcg: MemcgId,
    /// `VmRSS`.
    pub rss: u64,
    /// `VmSwap`.
    pub swap: u64,
    /// `oom_score_adj`.
    pub oom_score_adj: i16,
    /// `oom_score`, 0 to 2000; 0: it may not be killed (Linux 6.12 `proc_oom_score`).
    pub oom_score: u64,
}

/// A signal to a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// The process ends after a time of its own, or never.
    Term,
    /// It ends now.
    Kill,
}

/// A file of a group that a daemon writes; values are in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The names are those of the files.
pub enum Control {
    Min,
    Low,
    High,
    Max,
    SwapMax,
}

impl Control {
    /// All of them.
    pub const ALL: [Control; 5] =
        [Control::Min, Control::Low, Control::High, Control::Max, Control::SwapMax];

    /// The name of the file.
    pub const fn name(self) -> &'static str {
        match self {
            Control::Min => "memory.min",
            Control::Low => "memory.low",
            Control::High => "memory.high",
            Control::Max => "memory.max",
            Control::SwapMax => "memory.swap.max",
        }
    }
}

/// An act of a daemon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// A signal to one process.
    Signal(Pid, Signal),
    /// A signal to all processes of a group and of those below it.
    SignalGroup(MemcgId, Signal),
    /// A write to a file of a group; `None`: max. A limit below the usage reclaims at once.
    Write(MemcgId, Control, Option<u64>),
    /// A write of pages to `memory.reclaim`, with a swappiness of its own or none.
    Reclaim(MemcgId, u64, Option<u8>),
    /// A write to `vm.swappiness`.
    Swappiness(u8),
    /// A write to `cgroup.freeze`. Its end is no act of its own: reports show it with its beginning.
    Freeze(MemcgId, bool),
}

/// Why a daemon acts: for reports.
#[derive(Clone, PartialEq, Debug)]
pub struct Reason {
    /// The name of its rule.
    pub rule: String,
    /// Since when the rule's condition has held.
    pub since: SimTime,
    /// Values that it read, with the names of what it read.
    pub read: Vec<(String, f64)>,
}

/// Reads and acts of a program of user space. Reads and acts cost the daemon's time.
pub trait System {
    /// The clock of the daemon.
    fn now(&self) -> SimTime;
    /// `/proc/meminfo`.
    fn meminfo(&mut self) -> Meminfo;
    /// A counter of `/proc/vmstat`.
    fn vmstat(&mut self, event: VmEvent) -> u64;
    /// `/proc/pressure/memory`, or `memory.pressure` of a group.
    fn pressure(&mut self, memcg: MemcgId) -> (Pressure, PressureAverages);
    /// Watermarks of `/proc/zoneinfo`: min, low, high of all zones in pages, each with the largest
    /// reserve of its zone.
    fn watermarks(&mut self) -> [u64; 3];
    /// `mem_used_total` of `/sys/block/zram*/mm_stat`: pages that all zrams take.
    fn zram(&mut self) -> u64;
    /// The files of a group.
    fn group(&mut self, memcg: MemcgId) -> GroupFiles;
    /// A counter of a group's `memory.stat`.
    fn stat(&mut self, memcg: MemcgId, event: VmEvent) -> u64;
    /// The groups of a subtree that have no children, itself if it has none. A group that is killed
    /// as a whole (`memory.oom.group`) stands for those below it.
    fn leaves(&self, memcg: MemcgId) -> Vec<MemcgId>;
    /// The groups right below a group, in the order of their creation.
    fn children(&self, memcg: MemcgId) -> Vec<MemcgId>;
    /// True if there is a group of this number: it was created, and was not removed.
    fn has_group(&self, memcg: MemcgId) -> bool;
    /// The name of a group; empty for the root.
    fn name(&self, memcg: MemcgId) -> &str;
    /// Living processes, but for the daemon itself.
    fn processes(&mut self) -> Vec<Process>;
    /// True if a process lives.
    fn lives(&self, process: Pid) -> bool;
    /// Takes CPU time for what the daemon computes itself.
    fn spend(&mut self, time: SimDuration);
    /// Writes a trigger to the pressure file of a group. Returns its number among the daemon's.
    fn arm(&mut self, memcg: MemcgId, spec: TriggerSpec) -> usize;
    /// Acts. Returns the number of processes that were hit or the pages that were reclaimed.
    fn act(&mut self, action: Action, reason: &Reason) -> u64;
}

/// Reason for which a run ends: the program of a daemon cannot go on. It is the payload of the
/// unwinding that [`stop`] begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stopped(pub String);

/// Ends the run: the program of a daemon cannot go on, for this reason. Nothing is printed.
pub fn stop(why: String) -> ! {
    std::panic::resume_unwind(Box::new(Stopped(why)))
}

/// Pressure files that have to be there before a daemon looks first.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Groups whose pressure it reads.
    pub pressure: Vec<MemcgId>,
    /// Triggers that it writes to pressure files.
    pub triggers: Vec<(MemcgId, TriggerSpec)>,
}

/// A program of user space that watches memory and acts.
pub trait Daemon: Any + Send {
    /// Asked once, before the run.
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// One look. `fired`: numbers of its triggers that fired since the last one. Returns when it
    /// wants to be woken by its timer.
    fn look(&mut self, system: &mut dyn System, fired: &[usize]) -> SimTime;
    /// Adds the state that decides to a digest.
    fn digest(&self, d: &mut Digest) {
        let _ = d;
    }
}

/// Time that reads cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadCosts {
    /// meminfo, vmstat, zoneinfo, pressure of the machine.
    pub meminfo: SimDuration,
    /// A file of a group.
    pub group: SimDuration,
    /// A process of a scan.
    pub process: SimDuration,
}

impl ReadCosts {
    /// A choice, of the order of what a system call with some formatting takes
    /// (evidence/calibration.toml).
    pub const DEFAULT: ReadCosts = ReadCosts {
        meminfo: SimDuration::from_micros(10),
        group: SimDuration::from_micros(50),
        process: SimDuration::from_micros(100),
    };
}

/// The process of a daemon.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DaemonConfig {
    /// Name, unique among processes.
    pub name: String,
    /// Position of its group in [`MachineConfig::memcgs`](crate::config::MachineConfig::memcgs).
    /// `None`: the root.
    pub memcg: Option<usize>,
    /// `/proc/PID/oom_score_adj`.
    pub oom_score_adj: i16,
    /// When it starts.
    pub start: SimTime,
    /// Pages of anonymous memory that it touches at each look.
    pub resident: u32,
    /// They are locked in memory.
    pub locked: bool,
    /// Time that reads cost.
    pub costs: ReadCosts,
    /// Time from SIGTERM to the end of a process; `None`: it never ends.
    pub term_delay: Option<SimDuration>,
}
