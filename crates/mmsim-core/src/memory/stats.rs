//! Counters.

use super::Memory;
use super::node_stat::NodeStats;
use super::scan::ScanBatch;
use crate::base::vmstat::VmStat;
use crate::config::thp::{HUGE_ORDER, SIZES, SMALLEST_ORDER};
use crate::config::{MachineConfig, Orders};

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

macro_rules! size_events {
    ($($(#[doc = $doc:literal])+ $Event:ident = $name:literal;)+) => {
        /// A counter that each size of anonymous folios has
        /// (`/sys/kernel/mm/transparent_hugepage/hugepages-NkB/stats`).
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum SizeEvent { $($(#[doc = $doc])+ $Event,)+ }

        impl SizeEvent {
            /// All of them, in the order of reports.
            pub const ALL: &'static [SizeEvent] = &[$(SizeEvent::$Event,)+];
            /// The name of its file.
            pub const fn name(self) -> &'static str {
                match self { $(SizeEvent::$Event => $name,)+ }
            }
        }
    };
}

size_events! {
    /// Folios that faults made.
    AnonFaultAlloc = "anon_fault_alloc";
    /// Faults that wanted one and took a smaller one.
    AnonFaultFallback = "anon_fault_fallback";
    /// Faults that took a smaller one since their group could not pay.
    AnonFaultFallbackCharge = "anon_fault_fallback_charge";
    /// Folios that went to swap in one piece.
    Swpout = "swpout";
    /// Folios that were split since there were no slots for them in one piece.
    SwpoutFallback = "swpout_fallback";
    /// Folios that came from swap in one piece.
    Swpin = "swpin";
    /// Swap-ins that wanted one and took a smaller one.
    SwpinFallback = "swpin_fallback";
    /// Swap-ins that took a smaller one since their group could not pay.
    SwpinFallbackCharge = "swpin_fallback_charge";
    /// Folios that were split into pages.
    Split = "split";
    /// Folios that were queued to be split, since a part of them was unmapped.
    SplitDeferred = "split_deferred";
    /// Folios that exist: a gauge.
    NrAnon = "nr_anon";
    /// Folios that are mapped in part: a gauge.
    NrAnonPartiallyMapped = "nr_anon_partially_mapped";
}

impl SizeEvent {
    /// True of the counter of a size, such as `hugepages-64kB.split`.
    pub fn is_named(name: &str) -> bool {
        name.split_once('.').is_some_and(|(size, event)| {
            SIZES.contains(&size) && SizeEvent::ALL.iter().any(|e| e.name() == event)
        })
    }
    /// True if it says what there is, and not what happened.
    pub const fn is_gauge(self) -> bool {
        matches!(self, SizeEvent::NrAnon | SizeEvent::NrAnonPartiallyMapped)
    }
}

/// Counters of all sizes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SizeStats([[u64; SizeEvent::ALL.len()]; SIZES.len()]);

impl SizeStats {
    /// A counter of folios of an order.
    ///
    /// # Panics
    /// If no large folio of anonymous memory has the order.
    pub fn get(&self, order: u8, event: SizeEvent) -> u64 {
        self.0[usize::from(order - SMALLEST_ORDER)][event as usize]
    }

    fn count(&mut self, order: u8, event: SizeEvent, more: i64) {
        let n = &mut self.0[usize::from(order - SMALLEST_ORDER)][event as usize];
        *n = n.checked_add_signed(more).unwrap_or_else(|| {
            panic!("{} of order {order} is {n} and changes by {more}", event.name())
        });
    }

    /// Counts since an earlier state; gauges are those of now.
    #[must_use]
    pub fn since(&self, before: &SizeStats) -> SizeStats {
        let mut since = self.clone();
        for (size, then) in since.0.iter_mut().zip(&before.0) {
            for &e in SizeEvent::ALL.iter().filter(|e| !e.is_gauge()) {
                size[e as usize] -= then[e as usize];
            }
        }
        since
    }

    /// Counters by name, such as `hugepages-64kB.split`, of some orders and of all of which something
    /// was counted.
    pub fn named(&self, orders: Orders) -> Vec<(String, u64)> {
        let shown = |&(order, (_, all)): &(u8, (_, &[u64; SizeEvent::ALL.len()]))| {
            orders.has(order) || all.iter().any(|&n| n > 0)
        };
        let sizes = (SMALLEST_ORDER..).zip(SIZES.into_iter().zip(&self.0)).filter(shown);
        let named = |(_, (size, all)): (u8, (&str, &[u64; SizeEvent::ALL.len()]))| {
            let each = SizeEvent::ALL.iter();
            each.map(|&e| (format!("{size}.{}", e.name()), all[e as usize])).collect::<Vec<_>>()
        };
        sizes.flat_map(named).collect()
    }
}

impl Memory {
    /// Counts something of folios of an order.
    #[inline]
    pub fn count_size(&mut self, order: u8, event: SizeEvent, more: i64) {
        debug_assert!((SMALLEST_ORDER..=HUGE_ORDER).contains(&order), "no size of order {order}");
        self.stats.sizes.count(order, event, more);
    }
}
