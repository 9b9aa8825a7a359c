//! Hits: accesses to pages that are there, as hardware carries them out on the hot bytes of PTEs.

use crate::virt::pages::pte;
use crate::workload::{CopyRun, Op, RegionId, Run, Touch};

/// An access that is no hit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Missed {
    /// The run of pages that its own is one of.
    pub run: Run,
    /// Which of them.
    pub nth: u32,
}

impl Missed {
    /// The page after `done` touches of a copy.
    #[inline]
    pub(super) fn of_copy(copy: &CopyRun, done: u32) -> Self {
        Missed { run: copy.side(done), nth: done / 2 }
    }
    /// Its page, in a region that begins here.
    #[inline]
    pub(super) fn page(&self, start: u32) -> usize {
        (start + self.run.first + self.nth) as usize
    }
}

/// Number of accesses, of `left`, that begin within a time if each takes `t_hit`.
#[inline(always)]
pub(super) fn fitting(left: u32, time: u64, t_hit: u64) -> u32 {
    match u64::from(left).checked_mul(t_hit) {
        // Nearly always, and without a division.
        Some(all) if all <= time => left,
        _ => u64::from(left).min(time.div_ceil(t_hit)) as u32,
    }
}

/// The access to one page of a region that an operation is.
#[inline(always)]
pub(super) fn single(op: &Op, region: RegionId) -> Option<Touch> {
    match op {
        Op::Access(run) if run.region == region && run.count == 1 => {
            Some(Touch::new(run.first, run.write))
        }
        _ => None,
    }
}

/// The bits that a hit needs and those that it sets.
#[inline(always)]
const fn bits_of(write: bool) -> (u8, u8) {
    // Without a branch: whether an access writes is as good as random.
    let w = write as u8;
    (pte::PRESENT | (w * pte::WRITABLE), pte::ACCESSED | (w * pte::DIRTY))
}

/// Touches a page as hardware does, if it hits.
#[inline(always)]
pub(super) fn hit(hot: &mut u8, write: bool) -> bool {
    let (need, set) = bits_of(write);
    let hits = *hot & need == need;
    if hits {
        *hot |= set;
    }
    hits
}

/// Touches pages as hardware does, as far as they hit: sets their accessed and dirty bits.
/// Returns how many did. Whole blocks of hits are done without a branch per page.
#[inline]
pub(super) fn hit_run(hot: &mut [u8], write: bool) -> u32 {
    let (need, set) = bits_of(write);
    let mut done = 0;
    if hot.len() >= 32 {
        for block in hot.chunks_exact_mut(32) {
            let all = block.iter().fold(0xff, |a, &h| a & h);
            if all & need != need {
                break;
            }
            block.iter_mut().for_each(|h| *h |= set);
            done += 32;
        }
    }
    for h in &mut hot[done..] {
        if *h & need != need {
            break;
        }
        *h |= set;
        done += 1;
    }
    done as u32
}

/// The same for a copy between regions that begin at `starts`, of which `done` touches are done,
/// for a bounded number of further ones: whole blocks of pairs without a branch per page.
#[inline]
pub(super) fn hit_copy(
    hot: &mut [u8],
    copy: &CopyRun,
    starts: [u32; 2],
    done: u32,
    most: u32,
) -> u32 {
    const BLOCK: usize = 32;
    let ((read, set_read), (write, set_write)) = (bits_of(false), bits_of(true));
    let (mut n, end) = (done, done + most);
    while n < end {
        let left = (end - n) as usize / 2;
        if n.is_multiple_of(2) && left >= BLOCK {
            let [from, to] = [n, n + 1].map(|n| {
                let first = Missed::of_copy(copy, n).page(starts[n as usize % 2]);
                first..first + BLOCK
            });
            let all = |pages: &[u8]| pages.iter().fold(0xff, |a, &h| a & h);
            let hits = all(&hot[from.clone()]) & read == read;
            if hits && all(&hot[to.clone()]) & write == write {
                hot[from].iter_mut().for_each(|h| *h |= set_read);
                hot[to].iter_mut().for_each(|h| *h |= set_write);
                n += 2 * BLOCK as u32;
                continue;
            }
        }
        let writes = !n.is_multiple_of(2);
        let page = Missed::of_copy(copy, n).page(starts[usize::from(writes)]);
        if !hit(&mut hot[page], writes) {
            break;
        }
        n += 1;
    }
    n - done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;

    /// Against touches one by one, with pages missing and sides that overlap.
    #[test]
    fn a_copy_hits_as_its_touches_do() {
        let mut rng = Rng::for_purpose(1, "copies");
        let (mut whole, mut cut) = (0, 0);
        for _ in 0..2000 {
            let mut hot = vec![pte::PRESENT | pte::WRITABLE; 400];
            for _ in 0..rng.below(3) {
                hot[rng.below(400) as usize] = rng.below(2) as u8 * pte::PRESENT;
            }
            let count = 1 + rng.below(150) as u32;
            let first = rng.below(u64::from(200 - count)) as u32;
            let into = rng.below(u64::from(200 - count)) as u32;
            let starts = if rng.below(4) == 0 { [100, 100] } else { [0, 200] };
            let (from, to) = (RegionId(0), RegionId(1));
            let copy = CopyRun { from, first, to, into, count };
            let done = rng.below(u64::from(copy.touches())) as u32;
            let most = rng.below(u64::from(copy.touches() - done) + 1) as u32;
            let mut one_by_one = hot.clone();
            let touch = |&n: &u32| {
                let (first, write) = if n % 2 == 0 { (first, false) } else { (into, true) };
                let page = starts[n as usize % 2] + first + n / 2;
                hit(&mut one_by_one[page as usize], write)
            };
            let expected = (done..done + most).take_while(touch).count() as u32;
            assert_eq!(hit_copy(&mut hot, &copy, starts, done, most), expected);
            assert_eq!(hot, one_by_one);
            if expected < most { cut += 1 } else { whole += 1 }
        }
        assert!(whole > 100 && cut > 100, "{whole} whole, {cut} cut short");
    }

    #[test]
    fn a_run_of_hits_stops_at_the_first_miss() {
        for miss in [0, 1, 31, 32, 33, 63, 64, 99] {
            let mut hot = vec![pte::PRESENT | pte::WRITABLE; 100];
            hot[miss] = 0;
            assert_eq!(hit_run(&mut hot, true), miss as u32);
            let done = pte::PRESENT | pte::WRITABLE | pte::ACCESSED | pte::DIRTY;
            assert!(hot[..miss].iter().all(|&h| h == done));
            assert!(hot[miss + 1..].iter().all(|&h| h == pte::PRESENT | pte::WRITABLE));
        }
    }

    #[test]
    fn a_read_needs_no_write_permission_and_leaves_no_dirt() {
        let mut hot = vec![pte::PRESENT; 3];
        assert_eq!(hit_run(&mut hot, true), 0);
        assert_eq!(hit_run(&mut hot, false), 3);
        assert_eq!(hot, vec![pte::PRESENT | pte::ACCESSED; 3]);
    }
}
