//! Lists of folios, what waits for them, and their sizes.

use super::batch::Batches;
use super::split_queue::SplitQueues;
use crate::base::id::{IndexVec, NodeId, ZoneId};
use crate::config::MachineConfig;
use crate::phys::frames::FolioId;
use crate::phys::lists::Lists;
use crate::phys::zones::Zones;
use std::collections::BTreeMap;

/// State of a node after the last passes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeFlags {
    /// Dirty file pages at the tail: kswapd may write them.
    pub dirty: bool,
    /// Pages under write are recycled through the list.
    pub writeback: bool,
}

/// Lists of folios, the batches that wait for them, and their sizes.
///
/// The weights of evictable lists add up to `pages`. A folio has the flag `LRU` on a list, and
/// `IN_BATCH` in a batch.
pub struct Lru {
    /// Folio lists.
    pub lists: Lists,
    /// Per-CPU LRU batches.
    pub batches: Batches,
    /// Per node: conditions met by reclaim.
    pub node_flags: IndexVec<NodeId, NodeFlags>,
    /// Folio pages on evictable lists, per zone and type.
    pub(super) pages: IndexVec<ZoneId, [u64; 2]>,
    /// Their sum over all zones and types.
    pub(super) total: u64,
    /// Kept for the folios of a batch.
    pub(super) settling: Vec<FolioId>,
    /// Mappings that lock a folio, where that is not one.
    pub(super) mlock_counts: BTreeMap<FolioId, u32>,
    /// Folios of objects that are unevictable, and whether a mapping locks them too.
    pub(super) kept: BTreeMap<FolioId, bool>,
    /// Huge folios that are mapped in part, and wait for a shrinker to split them.
    pub(super) split_queues: SplitQueues,
}

impl Lru {
    /// Lists of a machine with these zones.
    pub(super) fn new(config: &MachineConfig, zones: &Zones) -> Lru {
        Lru {
            lists: Lists::new(zones.nr_frames()),
            batches: Batches::new(config),
            node_flags: IndexVec::filled(zones.nr_nodes(), NodeFlags::default()),
            pages: IndexVec::filled(zones.ids().count(), [0; 2]),
            total: 0,
            settling: Vec::new(),
            mlock_counts: BTreeMap::new(),
            kept: BTreeMap::new(),
            split_queues: SplitQueues::new(config.memcgs.len() + 1),
        }
    }
}
