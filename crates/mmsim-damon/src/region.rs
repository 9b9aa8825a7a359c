//! Regions: what is watched as one thing, because its pages are assumed to be used alike.
//!
//! A [`Target`] is an address space, or all of physical memory, with a sorted list of regions that
//! do not overlap. In each sampling interval one address of each region is looked at, whatever the
//! region's size; so the cost is bounded by the number of regions, and the finding for one page
//! counts for all. Regions are plain values in a flat vector: a walk is a loop over memory in
//! order, and an index is all that it takes to go on later.
//!
//! Linux 6.12 `mm/damon/core.c`, `include/linux/damon.h`.

use crate::config::Rand32;
use mmsim_core::base::id::AsId;
use mmsim_core::base::rng::Rng;

/// A range of addresses and what its samples showed (`struct damon_region`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// The address that is looked at in this sampling interval.
    pub sampling_addr: u64,
    /// Samples of the running aggregation that showed an access.
    pub nr_accesses: u32,
    /// The same over the last window of samples, in 1/10000 of a sample: a moving sum that holds
    /// an estimate at any time, not only at the end of an aggregation.
    pub nr_accesses_bp: u32,
    /// `nr_accesses` as the last aggregation left it.
    pub last_nr_accesses: u32,
    /// Aggregations for which the accesses stayed about the same.
    pub age: u32,
}

impl Region {
    /// A region of which nothing is known.
    pub fn new(start: u64, end: u64) -> Region {
        Region {
            start,
            end,
            sampling_addr: start,
            nr_accesses: 0,
            nr_accesses_bp: 0,
            last_nr_accesses: 0,
            age: 0,
        }
    }

    /// Its bytes.
    pub fn size(&self) -> u64 {
        self.end - self.start
    }

    /// True if some byte is also in `range`.
    pub(crate) fn intersects(&self, range: &std::ops::Range<u64>) -> bool {
        self.start < range.end && range.start < self.end
    }

    /// Cuts it after `size` bytes and returns the right part, which inherits age and last count;
    /// the running counts only with `copies_counts` (Linux 6.7, and fixes before it).
    pub fn split_off(&mut self, size: u64, copies_counts: bool) -> Region {
        debug_assert!(0 < size && size < self.size(), "a cut of {self:?} at {size}");
        let middle = self.start + size;
        let mut right = Region { start: middle, ..*self };
        if !copies_counts {
            (right.nr_accesses, right.nr_accesses_bp) = (0, 0);
        }
        // Either part keeps the sampling address if it is inside.
        right.sampling_addr = right.sampling_addr.max(middle);
        self.sampling_addr = self.sampling_addr.min(middle - 1);
        self.end = middle;
        right
    }

    /// Accounts one sample of the `window` that an aggregation has
    /// (`damon_update_region_access_rate()`).
    #[inline]
    pub fn account(&mut self, accessed: bool, window: u32) {
        let leaves = match self.last_nr_accesses {
            0 => 0,
            last => (u64::from(last) * 10_000 / u64::from(window)) as u32,
        };
        let comes = if accessed { 10_000 } else { 0 };
        self.nr_accesses_bp = self.nr_accesses_bp.wrapping_sub(leaves).wrapping_add(comes);
        self.nr_accesses += u32::from(accessed);
    }
}

/// An address space that is watched (`struct damon_target`). Everywhere outside it is known by its
/// index in its context.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Target {
    /// The process whose addresses these are; none for physical memory.
    pub space: Option<AsId>,
    pub(crate) regions: Vec<Region>,
}

impl Target {
    /// A target without regions.
    pub fn new(space: Option<AsId>) -> Target {
        Target { space, regions: Vec::new() }
    }

    /// The regions, sorted by address.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The regions, for drawing sampling addresses. Their bounds are to stay.
    pub fn regions_mut(&mut self) -> &mut [Region] {
        &mut self.regions
    }

    /// Cuts region `i` after `size` bytes; the right part follows it.
    pub fn split_at(&mut self, i: usize, size: u64, copies_counts: bool) {
        let right = self.regions[i].split_off(size, copies_counts);
        self.regions.insert(i + 1, right);
    }

    /// All bytes that are watched.
    pub fn bytes(&self) -> u64 {
        self.regions.iter().map(Region::size).sum()
    }
}

/// An address of a region at random, `start <= address < end`.
///
/// The kernel passes the size to a generator of 32-bit numbers, so of a region above 4 GiB only
/// the first `size mod 4 GiB` bytes can be drawn ([`Rand32`]).
pub fn draw_sampling_addr(region: &Region, rand32: Rand32, rng: &mut Rng) -> u64 {
    let size = region.size();
    let below = match rand32 {
        Rand32::Uniform => size,
        Rand32::Truncated | Rand32::Prandom => size & u64::from(u32::MAX),
    };
    let offset = match (below, rand32) {
        // Nothing remains of the size: one generator gives all its bits, the other one 0.
        (0, Rand32::Truncated) => rng.below(1 << 32),
        (0, _) => 0,
        _ => rng.below(below),
    };
    region.start + offset
}
