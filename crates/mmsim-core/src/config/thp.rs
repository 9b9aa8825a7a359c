//! Sizes of anonymous folios: who gets them, and what a fault does for one.
//!
//! Source: Linux 6.12, 6.18 and 7.3 include/linux/huge_mm.h (`__thp_vma_allowable_orders`), since 6.8
//! "mm: thp: introduce multi-size THP sysfs interface".

use super::VmSysctl;
pub use crate::base::id::HUGE_ORDER;
use crate::words;

/// log2 of the pages of the smallest large folio of anonymous memory.
pub const SMALLEST_ORDER: u8 = 2;

/// Directories of the sizes below `/sys/kernel/mm/transparent_hugepage`, from [`SMALLEST_ORDER`] up.
pub const SIZES: [&str; 8] = [
    "hugepages-16kB",
    "hugepages-32kB",
    "hugepages-64kB",
    "hugepages-128kB",
    "hugepages-256kB",
    "hugepages-512kB",
    "hugepages-1024kB",
    "hugepages-2048kB",
];

words! {
    /// For whom huge pages are made (`/sys/kernel/mm/transparent_hugepage/enabled`).
    Thp {
        Always = "always", "For all anonymous mappings, unless they advise against it.";
        Madvise = "madvise", "For mappings with `MADV_HUGEPAGE`.";
        Never = "never", "For none.";
    }

    /// Effort of a fault to get a huge page (`/sys/kernel/mm/transparent_hugepage/defrag`).
    ThpDefrag {
        Always = "always", "It compacts and reclaims, less so without `MADV_HUGEPAGE`.";
        Defer = "defer", "It wakes kswapd, which compacts.", since "4.11";
        DeferMadvise = "defer+madvise",
            "With `MADV_HUGEPAGE` it compacts and reclaims, else it wakes kswapd.", since "4.11";
        Madvise = "madvise", "With `MADV_HUGEPAGE` it compacts and reclaims.";
        Never = "never", "It takes what there is.";
    }

    /// For whom folios of one size are made (`hugepages-NkB/enabled`).
    ThpSize {
        Always = "always", "For all anonymous mappings, unless they advise against it.";
        Inherit = "inherit", "As `transparent_hugepage` says.";
        Madvise = "madvise", "For mappings with `MADV_HUGEPAGE`.";
        Never = "never", "For none.";
    }
}

impl VmSysctl {
    /// The modes of the sizes, from [`SMALLEST_ORDER`] up.
    fn sizes(&self) -> [ThpSize; SIZES.len()] {
        [
            self.size_16,
            self.size_32,
            self.size_64,
            self.size_128,
            self.size_256,
            self.size_512,
            self.size_1024,
            self.size_2048,
        ]
    }

    /// True if a mapping with this advice (`MADV_HUGEPAGE`, `MADV_NOHUGEPAGE` or none) may have folios
    /// of a size.
    fn allows(&self, size: ThpSize, advice: Option<bool>) -> bool {
        let advised = advice == Some(true);
        let allowed = match size {
            ThpSize::Always => true,
            ThpSize::Madvise => advised,
            ThpSize::Inherit => match self.thp {
                Thp::Always => true,
                Thp::Madvise => advised,
                Thp::Never => false,
            },
            ThpSize::Never => false,
        };
        allowed && advice != Some(false)
    }

    /// Orders of the folios that a mapping with this advice may have, a bit each.
    pub fn orders(&self, advice: Option<bool>) -> Orders {
        let bit = |(i, size)| u16::from(self.allows(size, advice)) << i;
        let bits = self.sizes().into_iter().enumerate().map(bit).fold(0, |all, b| all | b);
        Orders(bits << SMALLEST_ORDER)
    }

    /// True if some mapping may have large folios below 2 MiB.
    pub(crate) fn has_sizes(&self) -> bool {
        !self.orders(Some(true)).below(HUGE_ORDER).is_empty()
    }

    /// True if huge pages are made for some mapping: khugepaged runs then
    /// (`hugepage_pmd_enabled`).
    pub fn huge_pages_on(&self) -> bool {
        self.allows(self.size_2048, Some(true))
    }
}

/// Orders of folios, a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Orders(u16);

impl Orders {
    /// True if there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// True if an order is among them.
    pub fn has(self, order: u8) -> bool {
        self.0 >> order & 1 != 0
    }
    /// Those below an order.
    #[must_use]
    pub fn below(self, order: u8) -> Orders {
        Orders(self.0 & ((1 << order) - 1))
    }
    /// From the highest down.
    pub fn descending(self) -> impl Iterator<Item = u8> {
        (0..16).rev().filter(move |&order| self.has(order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 6.12 include/linux/huge_mm.h, `thp_vma_allowable_orders`: sizes of `always` do not depend on
    /// the global switch, those of `inherit` do, and advice decides `madvise`.
    #[test]
    fn sizes_follow_their_switch_and_the_global_one() {
        let mut vm = VmSysctl::linux();
        (vm.size_16, vm.size_32) = (ThpSize::Always, ThpSize::Inherit);
        (vm.size_64, vm.size_2048) = (ThpSize::Madvise, ThpSize::Inherit);
        let all = |vm: &VmSysctl, advice| vm.orders(advice).descending().collect::<Vec<_>>();
        for (thp, advice, orders) in [
            (Thp::Never, None, vec![2]),
            (Thp::Never, Some(true), vec![4, 2]),
            (Thp::Never, Some(false), vec![]),
            (Thp::Madvise, None, vec![2]),
            (Thp::Madvise, Some(true), vec![9, 4, 3, 2]),
            (Thp::Always, None, vec![9, 3, 2]),
            (Thp::Always, Some(true), vec![9, 4, 3, 2]),
            (Thp::Always, Some(false), vec![]),
        ] {
            vm.thp = thp;
            assert_eq!(all(&vm, advice), orders, "{thp:?} {advice:?}");
        }
        assert_eq!(all(&vm, None).len(), 3);
        assert_eq!(vm.orders(None).below(9).descending().collect::<Vec<_>>(), [3, 2]);
    }
}
