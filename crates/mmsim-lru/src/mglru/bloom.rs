//! Which page tables are worth a walk: a pair of Bloom filters.
//!
//! A walk that finds a table with many accessed bits puts it into the filter of the next walk,
//! and so does an eviction that looks around; the next walk skips the others. While there is no
//! filter yet, every table is worth a walk.
//!
//! Source: Linux 6.12 mm/vmscan.c (`update_bloom_filter`, `test_bloom_filter`). The two hash
//! functions are ours.

use mmsim_core::base::id::GroupId;

const SHIFT: u32 = 15;

/// The filters of the walk at hand and of the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Filters([Option<Box<[u64]>>; 2]);

/// The two bits of a table.
#[inline(always)]
fn keys(table: GroupId) -> [usize; 2] {
    let h = (u64::from(table.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let second = h >> (64 - 2 * SHIFT) & ((1 << SHIFT) - 1);
    [(h >> (64 - SHIFT)) as usize, second as usize]
}

impl Filters {
    /// Empties the filter for walks with this sequence number, which exists from then on.
    pub(super) fn reset(&mut self, seq: u64) {
        let f = &mut self.0[(seq % 2) as usize];
        match f {
            Some(bits) => bits.fill(0),
            None => *f = Some(vec![0; 1 << (SHIFT - 6)].into()),
        }
    }
    /// Puts a table in.
    pub(super) fn insert(&mut self, seq: u64, table: GroupId) {
        if let Some(bits) = &mut self.0[(seq % 2) as usize] {
            for k in keys(table) {
                bits[k >> 6] |= 1 << (k & 63);
            }
        }
    }
    /// True if a table may be in.
    pub(super) fn has(&self, seq: u64, table: GroupId) -> bool {
        match &self.0[(seq % 2) as usize] {
            Some(bits) => {
                let [a, b] = keys(table);
                bits[a >> 6] >> (a & 63) & bits[b >> 6] >> (b & 63) & 1 != 0
            }
            None => true,
        }
    }
    /// Words, for a digest.
    pub(super) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().flatten().flat_map(|b| b.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_forgets_nothing_and_mixes_up_little() {
        let mut f = Filters::default();
        assert!(f.has(2, GroupId(5)), "no filter yet: everything is worth a walk");
        f.insert(2, GroupId(5));
        f.reset(3);
        assert!(!f.has(3, GroupId(5)));
        (0..300).for_each(|i| f.insert(3, GroupId(i)));
        assert!((0..300).all(|i| f.has(3, GroupId(i))));
        // 300 tables set at most 600 of 32768 bits: one in 3000 of the others is mistaken.
        let mistaken = (300..30_300).filter(|&i| f.has(3, GroupId(i))).count();
        assert!(mistaken < 60, "{mistaken} of 30000");
    }
}
