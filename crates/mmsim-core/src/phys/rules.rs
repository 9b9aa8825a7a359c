//! What kernels did differently about free memory: one plain struct of choices.
//!
//! Source: Linux 4.1, 6.1 and 6.12 mm/page_alloc.c, mm/internal.h, and the patches named at
//! the choices.

use std::fmt;

use super::gfp::MAX_PAGE_ORDER;
use crate::machine::config::Kernel;

/// An end of a free list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Where blocks are taken.
    Head,
    /// The far end.
    Tail,
}

/// How a request of order above 0 is held against a watermark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WmarkForm {
    /// The free pages of orders too low are taken off order by order, and the mark is halved
    /// with each (to 4.3).
    PerOrder,
    /// One block that is large enough, besides the mark for order 0 (from 4.4).
    OneBlock,
}

/// What happens when the lists of a request's own type are empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fallback {
    /// 4.1: the largest block of another type; what is left of it changes lists, and the
    /// pageblock's type if half of it was free.
    V4_1,
    /// 4.12 to 6.1: movable requests take the smallest block where they may not steal; pages
    /// of the request's kind count as much as free ones.
    V4_12,
    /// 6.12 with the stable updates of 2025: a pageblock is claimed as a whole, or one block
    /// is taken and the rest left alone.
    ClaimSteal,
}

/// The order of decisions when no free page is found at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowPath {
    /// 4.1: compaction before and after reclaim; retries while orders up to 3 make progress;
    /// zones have LRU lists of their own, and reclaim goes from zone to zone.
    V4_1,
    /// 6.x: compaction first for costly orders; retries by zone watermarks.
    V6,
}

/// Orders that no allocator can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderError {
    /// The largest block is larger than any list is for.
    NoSuchList(u8),
    /// A pageblock is one page, or larger than the largest block.
    Pageblock {
        /// Its order.
        order: u8,
        /// That of the largest block.
        max: u8,
    },
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            OrderError::NoSuchList(max) => {
                write!(
                    f,
                    "largest blocks of order {max}, and there are lists up to {MAX_PAGE_ORDER}"
                )
            }
            OrderError::Pageblock { order: 0, .. } => {
                write!(f, "pageblocks of order 0, and a pageblock has at least two pages")
            }
            OrderError::Pageblock { order, max } => {
                write!(f, "pageblocks of order {order}, and the largest block has order {max}")
            }
        }
    }
}

impl std::error::Error for OrderError {}

/// The choices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageAllocRules {
    /// Order of a pageblock: 9, as on x86 with huge pages. At least 1 and at most `max_order`.
    pub pageblock_order: u8,
    /// The largest order on the free lists: 10, at most that.
    pub max_order: u8,
    /// How orders above 0 are held against watermarks.
    pub wmark_form: WmarkForm,
    /// The distance between watermarks grows with the zone (`vm.watermark_scale_factor`, 4.6);
    /// before, low and high were min and a quarter, min and a half.
    pub scaled_watermarks: bool,
    /// How other types' blocks are taken.
    pub fallback: Fallback,
    /// How the slow path goes.
    pub slow_path: SlowPath,
    /// The end where memory goes at boot, and where blocks go that change lists (tail since
    /// 5.10).
    pub free_init: End,
    /// Merging above pageblock order makes both pageblocks of one type (6.10).
    pub merge_retypes: bool,
    /// Per-CPU lists hold blocks up to order 3 and of pageblock order too (5.14).
    pub pcp_orders: bool,
    /// A pageblock is kept for high-order requests that cannot wait (4.4).
    pub highatomic: bool,
    /// Stealing raises the watermarks, and the first pass over the zones avoids it (5.0).
    pub avoid_fragmentation: bool,
    /// The zones of a node give pages in proportion to their sizes (3.12 to 4.7).
    pub fair_zones: bool,
}

impl PageAllocRules {
    /// Linux 4.1, for the experiments with compaction that were done on it.
    pub const V4_1: PageAllocRules = PageAllocRules {
        pageblock_order: 9,
        max_order: 10,
        wmark_form: WmarkForm::PerOrder,
        scaled_watermarks: false,
        fallback: Fallback::V4_1,
        slow_path: SlowPath::V4_1,
        free_init: End::Head,
        merge_retypes: false,
        pcp_orders: false,
        highatomic: false,
        avoid_fragmentation: false,
        fair_zones: true,
    };
    /// Linux 5.5 to 5.9.
    pub const V5_5: PageAllocRules = PageAllocRules {
        wmark_form: WmarkForm::OneBlock,
        scaled_watermarks: true,
        fallback: Fallback::V4_12,
        slow_path: SlowPath::V6,
        highatomic: true,
        avoid_fragmentation: true,
        fair_zones: false,
        ..PageAllocRules::V4_1
    };
    /// Linux 6.1.
    pub const V6_1: PageAllocRules =
        PageAllocRules { free_init: End::Tail, pcp_orders: true, ..PageAllocRules::V5_5 };
    /// Linux 6.12.
    pub const V6_12: PageAllocRules = PageAllocRules {
        fallback: Fallback::ClaimSteal,
        merge_retypes: true,
        ..PageAllocRules::V6_1
    };

    /// Whether an allocator can have these orders: a pageblock has a type and its free blocks lie on
    /// lists of that type, so it is no larger than the largest block, nor that than lists there are.
    ///
    /// # Errors
    /// Which order is too large, or is none.
    pub fn check(&self) -> Result<(), OrderError> {
        let (block, max) = (self.pageblock_order, self.max_order);
        if max > MAX_PAGE_ORDER {
            return Err(OrderError::NoSuchList(max));
        }
        if block == 0 || block > max {
            return Err(OrderError::Pageblock { order: block, max });
        }
        Ok(())
    }

    /// What a kernel does.
    pub fn of(kernel: Kernel) -> Self {
        match kernel {
            Kernel::V4_1 => PageAllocRules::V4_1,
            Kernel::V5_5 | Kernel::V5_8 | Kernel::V5_9 => PageAllocRules::V5_5,
            Kernel::V6_1 => PageAllocRules::V6_1,
            Kernel::V6_12 => PageAllocRules::V6_12,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pageblock_is_no_larger_than_the_largest_block() {
        let of = |pageblock_order, max_order| {
            let rules = PageAllocRules { pageblock_order, max_order, ..PageAllocRules::V6_12 };
            rules.check().map_err(|e| e.to_string())
        };
        assert_eq!((of(9, 10), of(10, 10), of(1, 1)), (Ok(()), Ok(()), Ok(())));
        let said = |r: Result<(), String>| r.expect_err("no allocator has these");
        assert_eq!(said(of(4, 3)), "pageblocks of order 4, and the largest block has order 3");
        assert_eq!(said(of(11, 10)), "pageblocks of order 11, and the largest block has order 10");
        assert_eq!(
            said(of(0, 10)),
            "pageblocks of order 0, and a pageblock has at least two pages"
        );
        assert_eq!(said(of(9, 11)), "largest blocks of order 11, and there are lists up to 10");
    }
}
