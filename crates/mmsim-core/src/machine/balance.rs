//! How far a run of kswapd has come.

use crate::backing::device::Writer;
use crate::config::ZoneKind;
use crate::memory::Plug;
use crate::policy::PassStats;

/// A run of kswapd (`balance_pgdat`).
#[derive(Clone, Debug)]
pub(super) struct Balance {
    /// Order that it reclaims for; 0 once it has freed twice as much.
    pub(super) order: u8,
    /// Order that it was woken for.
    pub(super) alloc_order: u8,
    pub(super) priority: u8,
    pub(super) reclaimed: u64,
    /// It tried to reclaim something.
    pub(super) tried: bool,
    pub(super) no_cache_trim: bool,
    pub(super) cache_trim_failed: bool,
    pub(super) boost: u64,
    /// Boost of each zone that this run works off.
    pub(super) boosts: Vec<u64>,
    /// The pass under way.
    pub(super) pass: Option<PassProgress>,
}

#[derive(Clone, Debug)]
pub(super) struct PassProgress {
    pub(super) scanned: u64,
    pub(super) reclaimed: u64,
    /// Of these, since the pass began or was repeated.
    pub(super) since: u64,
    pub(super) target: u64,
    /// Something was looked at.
    pub(super) worked: bool,
    /// From which zones.
    pub(super) zones: [ZoneKind; 2],
    /// No zone has what was asked for; 4.1 may compact after the pass.
    pub(super) compact: bool,
    /// Some zone had enough, or enough of it was looked at, so 4.1 keeps its priority.
    pub(super) enough: bool,
    /// Zones that 4.1 still goes to in this pass, the next last, and how much it wants of each.
    pub(super) later: Vec<(ZoneKind, u64)>,
    /// How much it wants of all.
    pub(super) attempted: u64,
    pub(super) stats: PassStats,
    pub(super) plug: Plug,
    /// It slept for its writes after a step; whether the pass goes on.
    pub(super) slept: Option<bool>,
}

impl PassProgress {
    pub(super) fn new(highest: ZoneKind, target: u64) -> Self {
        PassProgress {
            scanned: 0,
            reclaimed: 0,
            since: 0,
            target,
            worked: false,
            zones: [ZoneKind::Dma, highest],
            compact: false,
            enough: false,
            later: Vec::new(),
            attempted: 0,
            stats: PassStats::default(),
            plug: Plug::of(Writer::Kswapd),
            slept: None,
        }
    }

    /// A pass over no zone yet.
    pub(super) fn by_zones() -> Self {
        PassProgress::new(ZoneKind::Dma, u64::MAX)
    }

    /// Puts a zone before those that it goes to.
    pub(super) fn prepend(&mut self, zone: ZoneKind, target: u64) {
        self.later.push((zone, target));
        self.attempted += target;
    }

    /// Goes on to the next zone, if there is one.
    pub(super) fn next_zone(&mut self) -> bool {
        self.enough |= self.scanned >= self.target;
        let Some((zone, target)) = self.later.pop() else { return false };
        (self.zones, self.target, self.scanned) = ([zone; 2], target, 0);
        true
    }
}

/// What kswapd of 4.1 does next in a run.
pub(super) enum NextPass {
    /// A pass over the zones that want one.
    Pass(PassProgress),
    /// Nothing is to be reclaimed at this priority.
    Nothing,
    /// All zones are balanced.
    Done,
}
