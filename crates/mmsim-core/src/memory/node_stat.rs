//! Counters of nodes that CPUs add to with delay (`vm_node_stat_diff`).
//!
//! A CPU keeps what it counted to itself until that is more than a threshold, until it goes idle,
//! or until the next second (`vm.stat_interval`). Who reads the sum before sees less. For sizes of
//! lists and free pages this is noise of some pages, and they are exact here. It is not noise where
//! reclaim asks whether *any* refault was activated since it last ended, to decide whether it may
//! touch the active list: as long as no CPU has counted more than the threshold, the answer is no.
//!
//! Source: Linux 6.12 mm/vmstat.c (`calculate_normal_threshold`, `mod_node_page_state`,
//! `refresh_cpu_vm_stats`, `quiet_vmstat`). Left out: the ticks at which an idle CPU's tick goes
//! on, so that nothing is folded; offsets of the CPUs' seconds against each other; that reading
//! `vm.stat_refresh` folds; counters of groups, which have thresholds of their own and are exact.

use super::Memory;
use crate::base::id::{CpuId, IndexVec, NodeId};
use crate::base::time::SimTime;
use crate::config::MachineConfig;

/// Counters with delayed updates. The root group's counters of `/proc/vmstat` are exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeStatItem {
    /// Activated refaults: of anonymous pages, if these are distinguished (5.9 and later).
    WorkingsetActivateAnon,
    /// Activated refaults of file pages; before 5.9 of all.
    WorkingsetActivateFile,
}

const ITEMS: usize = 2;

/// The period of folding, in nanoseconds: `vm.stat_interval` as the kernel sets it.
const STAT_INTERVAL: u64 = 1_000_000_000;

/// The largest threshold.
const MOST: u32 = 125;

#[derive(Clone, Debug)]
struct Diff {
    of: [u32; ITEMS],
    /// In which interval it was counted.
    interval: u64,
}

/// The counters of all nodes.
#[derive(Clone, Debug)]
pub(crate) struct NodeStats {
    sums: IndexVec<NodeId, [u64; ITEMS]>,
    thresholds: IndexVec<NodeId, u32>,
    /// For each node, the difference that each CPU keeps.
    kept: IndexVec<NodeId, IndexVec<CpuId, Diff>>,
}

/// Up to how many events a CPU keeps to itself, for a zone of `managed` pages: 2·fls(CPUs)·(1 +
/// fls(128 MiB units)), at most 125.
pub(crate) fn normal_threshold(cpus: u32, managed: u64) -> u32 {
    let fls = |n: u64| u64::BITS - n.leading_zeros();
    (2 * fls(cpus.into()) * (1 + fls(managed >> 15))).min(MOST)
}

impl NodeStats {
    pub(super) fn new(config: &MachineConfig) -> Self {
        // A node takes the threshold of its largest zone.
        let threshold = |node: &crate::config::NodeConfig| {
            let zones = node.zones.iter();
            let of = zones.map(|z| normal_threshold(config.cpus, u64::from(z.managed)));
            config.stat_threshold.unwrap_or(of.max().unwrap_or(0) >> config.cpu_batch_shift())
        };
        let nodes = config.nodes.len();
        let none = IndexVec::filled(config.cpus as usize, Diff { of: [0; ITEMS], interval: 0 });
        NodeStats {
            sums: IndexVec::filled(nodes, [0; ITEMS]),
            thresholds: config.nodes.iter().map(threshold).collect::<Vec<_>>().into(),
            kept: IndexVec::filled(nodes, none),
        }
    }

    #[inline]
    fn add(&mut self, node: NodeId, cpu: CpuId, item: NodeStatItem, now: SimTime) {
        let d = &mut self.kept[node][cpu];
        let interval = now.0 / STAT_INTERVAL;
        if d.interval != interval {
            fold(d, &mut self.sums[node]);
            d.interval = interval;
        }
        let of = &mut d.of[item as usize];
        *of += 1;
        if *of > self.thresholds[node] {
            self.sums[node][item as usize] += u64::from(std::mem::take(of));
        }
    }

    fn sum(&self, node: NodeId, item: NodeStatItem, now: SimTime) -> u64 {
        let interval = now.0 / STAT_INTERVAL;
        let folded = self.kept[node].iter().filter(|d| d.interval < interval);
        self.sums[node][item as usize] + folded.map(|d| u64::from(d.of[item as usize])).sum::<u64>()
    }

    /// A CPU goes idle: nothing is left with it.
    pub(crate) fn quiet(&mut self, cpu: CpuId) {
        for node in self.kept.ids() {
            fold(&mut self.kept[node][cpu], &mut self.sums[node]);
        }
    }
}

fn fold(d: &mut Diff, sums: &mut [u64; ITEMS]) {
    for (sum, of) in sums.iter_mut().zip(&mut d.of) {
        *sum += u64::from(std::mem::take(of));
    }
}

impl Memory {
    /// The acting CPU counts one event (`mod_node_page_state`).
    #[inline]
    pub fn inc_node_state(&mut self, node: NodeId, item: NodeStatItem) {
        self.stats.node.add(node, self.acting.cpu, item, self.acting.now);
    }

    /// Visible value of a counter now (`node_page_state`): at most the number of events so far.
    pub fn node_page_state(&self, node: NodeId, item: NodeStatItem) -> u64 {
        self.stats.node.sum(node, item, self.acting.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table in the comment of the kernel's function, as far as its rows are consistent with
    /// the formula beside it.
    #[test]
    fn thresholds_are_the_kernels() {
        let gib = |n: u64| n << 18;
        for (cpus, managed, threshold) in [
            (1, gib(1) - 1, 8),
            (2, gib(1) - 1, 16),
            (2, gib(2) - 1, 20),
            (2, gib(4) - 1, 24),
            (2, gib(16) - 1, 32),
            (2, 100 << 8, 4),
            (16, 100 << 8, 10),
            (1024, gib(16) - 1, 125),
        ] {
            assert_eq!(normal_threshold(cpus, managed), threshold, "{cpus} CPUs, {managed} pages");
        }
    }

    fn stats(threshold: u32) -> NodeStats {
        let none = IndexVec::filled(2, Diff { of: [0; ITEMS], interval: 0 });
        NodeStats {
            sums: IndexVec::filled(1, [0; ITEMS]),
            thresholds: IndexVec::filled(1, threshold),
            kept: IndexVec::filled(1, none),
        }
    }

    const N: NodeId = NodeId(0);
    const A: NodeStatItem = NodeStatItem::WorkingsetActivateAnon;
    const F: NodeStatItem = NodeStatItem::WorkingsetActivateFile;

    #[test]
    fn a_cpu_tells_what_exceeds_the_threshold() {
        let mut s = stats(6);
        let now = SimTime(5);
        // Either CPU keeps six; the seventh of one tells of its seven.
        for i in 0..6 {
            s.add(N, CpuId(0), A, now);
            s.add(N, CpuId(1), A, now);
            assert_eq!(s.sum(N, A, now), 0, "after {} each", i + 1);
        }
        s.add(N, CpuId(1), A, now);
        assert_eq!((s.sum(N, A, now), s.sum(N, F, now)), (7, 0));
        let mut exact = stats(0);
        exact.add(N, CpuId(0), F, now);
        assert_eq!((exact.sum(N, A, now), exact.sum(N, F, now)), (0, 1));
    }

    #[test]
    fn idleness_and_the_next_second_fold() {
        let mut s = stats(6);
        let (first, second) = (SimTime(999_999_999), SimTime(1_000_000_000));
        s.add(N, CpuId(0), A, first);
        s.add(N, CpuId(1), F, first);
        s.quiet(CpuId(0));
        assert_eq!((s.sum(N, A, first), s.sum(N, F, first)), (1, 0));
        assert_eq!((s.sum(N, A, second), s.sum(N, F, second)), (1, 1));
        // What is counted in the next second waits for its own end.
        s.add(N, CpuId(1), F, second);
        assert_eq!(s.sum(N, F, second), 1);
    }
}
