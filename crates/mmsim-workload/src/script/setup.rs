//! Machine that a script needs.

use super::ScriptGroup;
use mmsim_core::config::ZswapConfig;
use std::collections::BTreeMap;

/// The values of `lru_gen/enabled` that were measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LruGen {
    /// 0: the classic two lists.
    Classic,
    /// 1: MGLRU without page-table walks and without clearing non-leaf entries.
    NoWalk,
    /// 3: MGLRU without clearing non-leaf entries.
    NoNonLeaf,
    /// 7: MGLRU in full.
    Full,
}

/// A swap device of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScriptSwap {
    /// Slots, of which slot 0 is the header.
    pub slots: u32,
    /// Its priority, if the script gives one.
    pub priority: Option<u32>,
    /// Kind of the device.
    pub device: SwapDevice,
}

/// Swap device of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SwapDevice {
    /// `zram`: synchronous, swap-in bypasses the swap cache.
    Zram,
    /// `swapon /dev/nullb0`: asynchronous.
    NullBlock {
        /// Flagged rotational: swap readahead goes by offset, not by address.
        rotational: bool,
        /// Requests that it takes at once (`hw_queue_depth` of the module null_blk).
        queue_depth: u32,
        /// Nanoseconds until a request ends (`completion_nsec`).
        ns: u64,
        /// `queue/wbt_lat_usec`, if the list sets it.
        wbt_lat_usec: Option<u64>,
    },
}

/// Commands that configure the machine, collected over the whole list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScriptSetup {
    /// Knobs by their kernel path, last value each. `lru_gen/enabled` is in `lru_gen` instead.
    pub sysctls: BTreeMap<String, String>,
    /// The LRU, if the list sets it.
    pub lru_gen: Option<LruGen>,
    /// The swap devices in their order; none: no swap.
    pub swap: Vec<ScriptSwap>,
    /// Values written to the files of a monitor, last value each: below `kdamonds/0/` as
    /// `contexts/0/operations`, and parameters of modules as `damon_reclaim/min_age`.
    pub damon: BTreeMap<String, String>,
    /// Free pages that the ballast leaves: the value of `nr_free_pages` (within 8) at
    /// which the workload starts. None: no ballast.
    pub ballast_free_pages: Option<u64>,
    /// True if the program itself is locked into memory.
    pub mlock_self: bool,
    /// zswap, if a parameter of it is written.
    pub zswap: Option<ZswapConfig>,
    /// Memory cgroups in order of creation.
    pub groups: Vec<ScriptGroup>,
    /// Position in `groups` of the group that the first process joins; `None`: the root.
    pub joined: Option<usize>,
    /// The options with which their file system is mounted; none: it is not mounted.
    pub cgroup2: Option<String>,
    /// Type and device of the mounted file system.
    pub mount: Option<(String, String)>,
}

impl ScriptSetup {
    /// Its demands on the machine, a few words each; the program's own memory is not simulated.
    pub fn words(&self) -> Vec<String> {
        let mut all: Vec<String> = self.sysctls.iter().map(|(k, v)| format!("{k} = {v}")).collect();
        all.extend(self.lru_gen.map(|l| {
            let value = match l {
                LruGen::Classic => 0,
                LruGen::NoWalk => 1,
                LruGen::NoNonLeaf => 3,
                LruGen::Full => 7,
            };
            format!("lru_gen/enabled = {value}")
        }));
        all.extend(self.swap.iter().map(|s| {
            let device = match s.device {
                SwapDevice::Zram => "zram",
                SwapDevice::NullBlock { .. } => "nullb0",
            };
            let priority = s.priority.map_or(String::new(), |p| format!(", priority {p}"));
            format!("swap on {device}, {} slots{priority}", s.slots)
        }));
        all.extend(self.zswap.iter().filter(|z| z.enabled).map(|_| "zswap".into()));
        all.extend(self.damon.iter().map(|(k, v)| format!("DAMON's {k} = {v}")));
        all.extend(self.ballast_free_pages.map(|n| format!("ballast down to {n} free pages")));
        all.extend(self.mount.iter().map(|(kind, device)| format!("{kind} on {device}")));
        all
    }
}
