//! Events of a group: its files `memory.events` and `memory.swap.events`.
//!
//! An event counts in the group where it happens and in every group above it, the root left out.
//! `memory.events.local` counts those of the group itself.
//!
//! Source: Linux 6.12 include/linux/memcontrol.h (`enum memcg_memory_event`, `memcg_memory_event`).

/// An event of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemcgEvent {
    /// Reclaimed although its usage was within `memory.low`.
    Low,
    /// A thread reclaimed because the group was above `memory.high`.
    High,
    /// A charge was about to pass `memory.max`.
    Max,
    /// Reclaim for `memory.max` failed.
    Oom,
    /// A process of the group was killed.
    OomKill,
    /// All processes of the group were killed (`memory.oom.group`).
    OomGroupKill,
    /// A thread was throttled because the group was above `memory.swap.high`.
    SwapHigh,
    /// A page was not swapped out because of `memory.swap.max`.
    SwapMax,
    /// A page was not swapped out: for `memory.swap.max`, or since no slot was free.
    SwapFail,
}

impl MemcgEvent {
    /// All events, in the order of the files.
    pub const ALL: [MemcgEvent; 9] = [
        MemcgEvent::Low,
        MemcgEvent::High,
        MemcgEvent::Max,
        MemcgEvent::Oom,
        MemcgEvent::OomKill,
        MemcgEvent::OomGroupKill,
        MemcgEvent::SwapHigh,
        MemcgEvent::SwapMax,
        MemcgEvent::SwapFail,
    ];

    /// Its names in reports, by file and line: with the events of the groups below, and of the
    /// group alone. `memory.swap.events` has no file of the second kind.
    pub const fn names(self) -> (&'static str, Option<&'static str>) {
        match self {
            MemcgEvent::Low => ("memory.events.low", Some("memory.events.local.low")),
            MemcgEvent::High => ("memory.events.high", Some("memory.events.local.high")),
            MemcgEvent::Max => ("memory.events.max", Some("memory.events.local.max")),
            MemcgEvent::Oom => ("memory.events.oom", Some("memory.events.local.oom")),
            MemcgEvent::OomKill => ("memory.events.oom_kill", Some("memory.events.local.oom_kill")),
            MemcgEvent::OomGroupKill => {
                ("memory.events.oom_group_kill", Some("memory.events.local.oom_group_kill"))
            }
            MemcgEvent::SwapHigh => ("memory.swap.events.high", None),
            MemcgEvent::SwapMax => ("memory.swap.events.max", None),
            MemcgEvent::SwapFail => ("memory.swap.events.fail", None),
        }
    }
}

/// Numbers of events: of a group alone, and with those of the groups below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemcgEvents {
    /// `memory.events.local`.
    pub local: [u64; MemcgEvent::ALL.len()],
    /// `memory.events`.
    pub all: [u64; MemcgEvent::ALL.len()],
}

impl MemcgEvents {
    /// All numbers by their names in reports. `local`: the file system is mounted with
    /// `memory_localevents`, so that `memory.events` counts the group alone.
    pub fn named(&self, local: bool) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        MemcgEvent::ALL.into_iter().flat_map(move |e| {
            let (name, own) = e.names();
            let whole = if local && own.is_some() { self.local } else { self.all };
            let own = own.map(|name| (name, self.local[e as usize]));
            std::iter::once((name, whole[e as usize])).chain(own)
        })
    }
}
