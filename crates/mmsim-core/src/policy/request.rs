//! Requests of reclaim to a policy, and the outcomes.

use crate::base::id::{MemcgId, NodeId};
use crate::config::{VmSysctl, ZoneKind};

/// `swappiness=max` of `memory.reclaim`: anonymous memory alone (`SWAPPINESS_ANON_ONLY`, 6.15).
pub const ANON_ONLY: u8 = 201;

/// Who reclaims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reclaimer {
    /// The node's background reclaimer.
    Kswapd,
    /// An allocating thread.
    Direct,
    /// An allocating thread whose group is over its limit.
    Limit(MemcgId),
    /// A write to the `memory.reclaim` of a group.
    Proactive(MemcgId),
    /// Advice, or a scheme of DAMON, through
    /// [`ReclaimPolicy::reclaim_list`](super::ReclaimPolicy::reclaim_list). No request has it.
    Advice,
}

impl Reclaimer {
    /// The group that is reclaimed from; `None`: the node.
    #[inline]
    pub fn memcg(self) -> Option<MemcgId> {
        match self {
            Reclaimer::Limit(m) | Reclaimer::Proactive(m) => Some(m),
            Reclaimer::Kswapd | Reclaimer::Direct | Reclaimer::Advice => None,
        }
    }
}

/// One pass over a node, or one step of it.
#[derive(Clone, Copy, Debug)]
pub struct ReclaimRequest {
    /// The node.
    pub node: NodeId,
    /// Who asks.
    pub by: Reclaimer,
    /// 12 (gentle) to 0.
    pub priority: u8,
    /// Order of the allocation behind it.
    pub order: u8,
    /// Lowest zone of interest: the first, but where 4.1 reclaims from one zone. The classic LRU has
    /// lists for each zone there ([`Zones::lru_by_zone`](crate::phys::zones::Zones::lru_by_zone));
    /// MGLRU and random eviction take no notice of it.
    pub lowest: ZoneKind,
    /// Highest zone of interest.
    pub highest: ZoneKind,
    /// Pages wanted (`nr_to_reclaim`).
    pub target: u64,
    /// Pages that earlier passes of the same reclaim freed already (`nr_reclaimed` carries on).
    pub reclaimed: u64,
    /// Dirty folios may be written.
    pub may_writepage: bool,
    /// Anonymous memory may be swapped.
    pub may_swap: bool,
    /// Input and output may be started (`__GFP_IO`).
    pub may_io: bool,
    /// Deactivate whatever the ratios say.
    pub force_deactivate: bool,
    /// Groups below `memory.low` are reclaimed too (a first attempt found nothing).
    pub low_reclaim: bool,
    /// Visit all groups, not those whose turn it is (`memcg_full_walk`).
    pub full_walk: bool,
    /// Swappiness in place of `vm.swappiness`, 0..=200, or [`ANON_ONLY`]: `swappiness=` of
    /// `memory.reclaim`.
    pub swappiness: Option<u8>,
    /// Ignore the cache-trim shortcut (6.12, last resort of kswapd).
    pub no_cache_trim: bool,
    /// Do one round of scans only; [`ReclaimOutcome::more`] says if the pass goes on. The
    /// policy keeps its place between steps: one place for kswapd, one for everybody else
    /// (whose passes never overlap).
    pub one_step: bool,
}

impl ReclaimRequest {
    /// A first pass of direct reclaim for a page, from zones up to `highest`.
    pub fn direct(node: NodeId, highest: ZoneKind) -> Self {
        ReclaimRequest {
            node,
            by: Reclaimer::Direct,
            priority: 12,
            order: 0,
            lowest: ZoneKind::Dma,
            highest,
            target: super::SWAP_CLUSTER_MAX,
            reclaimed: 0,
            may_writepage: true,
            may_swap: true,
            may_io: true,
            force_deactivate: false,
            low_reclaim: false,
            full_walk: false,
            swappiness: None,
            no_cache_trim: false,
            one_step: true,
        }
    }

    /// The swappiness that it goes by (`sc_swappiness`).
    #[inline]
    pub fn swappiness(&self, vm: &VmSysctl) -> u64 {
        self.swappiness.map_or(vm.swappiness.into(), u64::from)
    }

    /// True if it wants anonymous memory alone.
    #[inline]
    pub fn anon_only(&self) -> bool {
        self.swappiness == Some(ANON_ONLY)
    }

    /// True if it wants folios of a zone.
    #[inline]
    pub fn wants(&self, zone: ZoneKind) -> bool {
        self.lowest <= zone && zone <= self.highest
    }
}

/// Outcome of a pass or step.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReclaimOutcome {
    /// Folio pages looked at on inactive lists whose lock was free (`nr_scanned`).
    pub scanned: u64,
    /// Pages freed.
    pub reclaimed: u64,
    /// The pass is not over: call again with the same request.
    pub more: bool,
    /// Active folios were spared for want of permission.
    pub skipped_deactivate: bool,
    /// A group was spared for its `memory.low`.
    pub low_skipped: bool,
    /// The priority that the pass chose instead of the first; its reclaim goes on from there.
    pub priority: Option<u8>,
    /// Cache trimming was in force and freed nothing, and kswapd is to start over without it if
    /// its whole run went like that.
    pub cache_trim_failed: bool,
    /// A scan met what only the flusher can clean: it is woken.
    pub wakes_flusher: bool,
    /// Results of the scans, for the flags of the node that kswapd sets after its pass. Reclaim by
    /// MGLRU sets none (Linux 6.12 and 7.3 mm/vmscan.c, `shrink_node` returns before).
    pub stats: PassStats,
}

impl ReclaimOutcome {
    /// Adds a later step of the same pass.
    pub fn add(&mut self, o: &ReclaimOutcome) {
        self.scanned += o.scanned;
        self.reclaimed += o.reclaimed;
        self.more = o.more;
        self.skipped_deactivate |= o.skipped_deactivate;
        self.low_skipped |= o.low_skipped;
        self.priority = o.priority.or(self.priority);
        self.cache_trim_failed |= o.cache_trim_failed;
        self.wakes_flusher |= o.wakes_flusher;
        self.stats.add(&o.stats);
    }
}

/// Conditions of the folios that a pass met.
#[derive(Clone, Copy, Debug, Default)]
pub struct PassStats {
    /// Taken off inactive lists.
    pub taken: u64,
    /// Of these, file folios.
    pub file_taken: u64,
    /// Dirty and not yet queued for writing.
    pub unqueued_dirty: u64,
    /// Under write.
    pub writeback: u64,
    /// Under write, marked for reclaim and recycled through the list.
    pub immediate: u64,
}

impl PassStats {
    /// True if all folios that a batch took were dirty, and none of them queued for writing.
    #[inline]
    pub fn only_unqueued_dirty(&self) -> bool {
        self.taken > 0 && self.unqueued_dirty == self.taken
    }

    /// Adds another step's.
    pub fn add(&mut self, o: &PassStats) {
        self.taken += o.taken;
        self.file_taken += o.file_taken;
        self.unqueued_dirty += o.unqueued_dirty;
        self.writeback += o.writeback;
        self.immediate += o.immediate;
    }
}
