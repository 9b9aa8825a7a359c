//! Which orders an allocator can have.

use std::fmt;

use super::gfp::MAX_PAGE_ORDER;
use crate::base::rules::KernelRules;

/// Orders that no allocator can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OrderError {
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

impl KernelRules {
    /// Checks that an allocator can have these orders: a pageblock has a type and its free blocks
    /// lie on lists of that type, so it is no larger than the largest block, nor that than lists
    /// there are.
    ///
    /// # Errors
    /// Which order is too large, or is none.
    pub(crate) fn check_orders(&self) -> Result<(), OrderError> {
        let (block, max) = (self.pageblock_order, self.max_order);
        if max > MAX_PAGE_ORDER {
            return Err(OrderError::NoSuchList(max));
        }
        if block == 0 || block > max {
            return Err(OrderError::Pageblock { order: block, max });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::kernel::Kernel;

    #[test]
    fn a_pageblock_is_no_larger_than_the_largest_block() {
        let of = |pageblock_order, max_order| {
            let rules =
                KernelRules { pageblock_order, max_order, ..KernelRules::of(Kernel::V6_12) };
            rules.check_orders().map_err(|e| e.to_string())
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
