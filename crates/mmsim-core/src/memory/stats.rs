//! Counters.

use super::node_stat::NodeStats;
use super::scan::ScanBatch;
use super::sizes::SizeStats;
use crate::base::vmstat::VmStat;
use crate::config::MachineConfig;

/// Counters. They only grow, but for gauges of sizes.
pub struct Stats {
    /// Counters of `/proc/vmstat`, and our own.
    pub vmstat: VmStat,
    /// Counters by size of anonymous folios.
    pub sizes: SizeStats,
    /// Counters that reclaim reads with delay.
    pub(crate) node: NodeStats,
    /// The batch of the reclaimer at work.
    pub(super) scan_batch: ScanBatch,
}

impl Stats {
    pub(super) fn new(config: &MachineConfig) -> Stats {
        Stats {
            vmstat: VmStat::default(),
            sizes: SizeStats::default(),
            node: NodeStats::new(config),
            scan_batch: ScanBatch::default(),
        }
    }
}
