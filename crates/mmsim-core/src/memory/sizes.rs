//! Counters by size of anonymous folios. Counters of `/proc/vmstat` exist once on a machine and in
//! each group, and reports print all of them; these exist for each of eight sizes of the machine, and
//! reports print those of sizes that are on.

use std::sync::LazyLock;

use crate::config::Orders;
use crate::config::thp::{SIZES, SMALLEST_ORDER};

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
            /// Its meaning.
            pub const fn doc(self) -> &'static str {
                match self { $(SizeEvent::$Event => concat!($($doc),+).trim_ascii(),)+ }
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
    /// The counter of a size by its name, such as `hugepages-64kB.split`.
    pub fn named(name: &str) -> Option<SizeEvent> {
        let (_, event) = name.split_once('.').filter(|(size, _)| SIZES.contains(size))?;
        SizeEvent::ALL.iter().copied().find(|e| e.name() == event)
    }
    /// The names of the counters of all sizes.
    pub fn names() -> &'static [String] {
        static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
            let of = |size| SizeEvent::ALL.iter().map(move |e| format!("{size}.{}", e.name()));
            SIZES.into_iter().flat_map(of).collect()
        });
        &NAMES
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

    pub(super) fn count(&mut self, order: u8, event: SizeEvent, more: i64) {
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
