//! Fragmentation of free memory: three figures of a zone's free blocks.
//!
//! Source: Linux 6.12 mm/vmstat.c (`fill_contig_page_info`, `__fragmentation_index`,
//! `unusable_free_index`, `extfrag_for_order`).

/// Free blocks of a zone by order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeBlocks<'a> {
    /// Blocks of order 0, 1, ...
    pub nr: &'a [u64],
}

impl FreeBlocks<'_> {
    /// Free pages.
    pub fn pages(&self) -> u64 {
        self.nr.iter().enumerate().map(|(k, &n)| n << k).sum()
    }
    /// Free blocks of all orders.
    pub fn total(&self) -> u64 {
        self.nr.iter().sum()
    }
    /// As many blocks of `order` could be cut from what is free.
    pub fn suitable(&self, order: u8) -> u64 {
        let order = usize::from(order);
        self.nr.iter().enumerate().skip(order).map(|(k, &n)| n << (k - order)).sum()
    }

    /// Why a request of `order` would fail: towards 0 for lack of memory, towards 1000
    /// because of fragmentation; -1000 if it would not, 0 if nothing is free.
    pub fn fragmentation_index(&self, order: u8) -> i64 {
        let (blocks, pages) = (self.total() as i64, self.pages() as i64);
        if blocks == 0 {
            return 0;
        }
        if self.suitable(order) > 0 {
            return -1000;
        }
        1000 - (1000 + pages * 1000 / (1 << order)) / blocks
    }

    /// Thousandths of free memory that a request of `order` cannot use; 1000 if nothing is
    /// free.
    pub fn unusable_free_index(&self, order: u8) -> u64 {
        let pages = self.pages();
        ((pages - (self.suitable(order) << order)) * 1000).checked_div(pages).unwrap_or(1000)
    }

    /// Percent of free memory that a request of `order` cannot use; 0 if nothing is free.
    pub fn extfrag_for_order(&self, order: u8) -> u64 {
        let pages = self.pages();
        ((pages - (self.suitable(order) << order)) * 100).checked_div(pages).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand from the formula, with orders 0 to 3.
    #[test]
    fn indices_as_worked_by_hand() {
        for (nr, order, want) in [
            ([40_000, 0, 0, 0], 3, 875),
            ([20, 1, 0, 0], 2, 691),
            ([4, 5, 0, 0], 2, 500),
            ([0, 4, 0, 0], 3, 500),
            ([0, 0, 1, 0], 3, -500),
            ([7, 0, 0, 1], 3, -1000),
            ([0, 0, 0, 0], 3, 0),
        ] {
            let f = FreeBlocks { nr: &nr };
            assert_eq!(f.fragmentation_index(order), want, "{nr:?}, order {order}");
        }
        let f = FreeBlocks { nr: &[20, 1, 0, 0] };
        assert_eq!([0, 1, 2].map(|k| f.unusable_free_index(k)), [0, 909, 1000]);
        assert_eq!([0, 1, 2].map(|k| f.extfrag_for_order(k)), [0, 90, 100]);
        let none = FreeBlocks { nr: &[0, 0] };
        assert_eq!((none.unusable_free_index(1), none.extfrag_for_order(1)), (1000, 0));
    }
}
