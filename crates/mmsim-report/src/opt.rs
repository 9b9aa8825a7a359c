//! The bound of MIN below what a run reads.
//!
//! What is accessed are contents, not addresses: see `contents.rs` of mmsim-core. The zero page,
//! what was dropped, and what is overwritten in full is never fetched again.

use mmsim_why::opt::min_misses;

use super::document::Bounds;

/// The bound for a report: MIN at the largest resident set of the run, on the numbers of
/// `Machine::recorded_accesses`. Accesses of number 0 take no frame of those and are left out. It
/// bounds what a run reads again; what it reads again on demand only without `readahead`, which
/// also stands for advice to read.
pub fn bounds(seq: &[u32], peak_resident: u64, readahead: bool) -> Bounds {
    let capacity = usize::try_from(peak_resident).unwrap_or(usize::MAX);
    let seq: Vec<u32> = seq.iter().copied().filter(|&n| n > 0).collect();
    let misses = min_misses(&seq, capacity);
    // Contents are numbered from 1 on.
    let contents = seq.iter().max().map_or(0, |&n| n.into());
    Bounds {
        sim_opt_misses: misses,
        // A first touch misses under any policy; what comes after it had to be fetched again.
        sim_opt_refetches: misses - contents,
        exact: !readahead,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readahead_makes_it_an_orientation() {
        assert!(bounds(&[1, 2], 2, false).exact);
        assert!(!bounds(&[1, 2], 2, true).exact);
    }

    /// Three contents in two frames, with the zero page between them.
    #[test]
    fn accesses_that_take_no_frame_are_left_out() {
        let b = bounds(&[1, 0, 2, 0, 0, 3, 1, 0, 2, 3, 0], 2, false);
        assert_eq!((b.sim_opt_misses, b.sim_opt_refetches), (4, 1));
        let none = bounds(&[0, 0, 0, 0], 1, false);
        assert_eq!((none.sim_opt_misses, none.sim_opt_refetches), (0, 0));
    }
}
