//! Progress of a run of kswapd.

use crate::config::ZoneKind;
use crate::memory::Plug;
use crate::policy::PassStats;

/// A run of kswapd (`balance_pgdat`).
#[derive(Clone, Debug)]
pub(in crate::machine) struct Balance {
    /// Order that it reclaims for; 0 once it has freed twice as much.
    pub(in crate::machine) order: u8,
    /// Order that it was woken for.
    pub(in crate::machine) alloc_order: u8,
    pub(in crate::machine) priority: u8,
    pub(in crate::machine) reclaimed: u64,
    /// It tried to reclaim something.
    pub(in crate::machine) tried: bool,
    pub(in crate::machine) no_cache_trim: bool,
    pub(in crate::machine) cache_trim_failed: bool,
    pub(in crate::machine) boost: u64,
    /// Boost of each zone that this run works off.
    pub(in crate::machine) boosts: Vec<u64>,
    /// The pass under way.
    pub(in crate::machine) pass: Option<PassProgress>,
    /// Writes that wait for their neighbours; empty between two passes.
    pub(in crate::machine) plug: Box<Plug>,
}

#[derive(Clone, Debug)]
pub(in crate::machine) struct PassProgress {
    pub(in crate::machine) scanned: u64,
    pub(in crate::machine) reclaimed: u64,
    /// Of these, since the pass began or was repeated.
    pub(in crate::machine) since: u64,
    pub(in crate::machine) target: u64,
    /// From which zones.
    pub(in crate::machine) zones: [ZoneKind; 2],
    /// No zone has the block of the request; 4.1 may compact after the pass.
    pub(in crate::machine) compact: bool,
    /// Some zone had enough, or enough of it was looked at, so 4.1 keeps its priority.
    pub(in crate::machine) enough: bool,
    /// Zones that 4.1 still goes to in this pass, the next last, and how much it wants of each.
    pub(in crate::machine) later: Vec<(ZoneKind, u64)>,
    /// Number of pages it wants in all.
    pub(in crate::machine) attempted: u64,
    pub(in crate::machine) stats: PassStats,
    /// It slept for its writes after a step; whether the pass goes on.
    pub(in crate::machine) slept: Option<bool>,
}

impl PassProgress {
    pub(in crate::machine) fn new(highest: ZoneKind, target: u64) -> Self {
        PassProgress {
            scanned: 0,
            reclaimed: 0,
            since: 0,
            target,
            zones: [ZoneKind::Dma, highest],
            compact: false,
            enough: false,
            later: Vec::new(),
            attempted: 0,
            stats: PassStats::default(),
            slept: None,
        }
    }

    /// A pass over no zone yet.
    pub(in crate::machine) fn by_zones() -> Self {
        PassProgress::new(ZoneKind::Dma, u64::MAX)
    }

    /// Puts a zone before those that it goes to.
    pub(in crate::machine) fn prepend(&mut self, zone: ZoneKind, target: u64) {
        self.later.push((zone, target));
        self.attempted += target;
    }

    /// Goes on to the next zone, if there is one.
    pub(in crate::machine) fn next_zone(&mut self) -> bool {
        self.enough |= self.scanned >= self.target;
        let Some((zone, target)) = self.later.pop() else { return false };
        (self.zones, self.target, self.scanned) = ([zone; 2], target, 0);
        true
    }
}

/// Result of a pass.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct PassEnd {
    pub(in crate::machine) scanned: u64,
    pub(in crate::machine) reclaimed: u64,
    pub(in crate::machine) target: u64,
    pub(in crate::machine) attempted: u64,
    pub(in crate::machine) compact: bool,
    pub(in crate::machine) enough: bool,
    /// kswapd should wait for writes.
    pub(in crate::machine) stall: bool,
}

/// Next pass of a run of kswapd of 4.1.
pub(in crate::machine) enum NextPass {
    /// A pass over the zones that want one.
    Pass(PassProgress),
    /// Nothing is to be reclaimed at this priority.
    Nothing,
    /// All zones are balanced.
    Done,
}
