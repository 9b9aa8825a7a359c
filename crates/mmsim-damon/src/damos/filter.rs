//! Filters: what a scheme leaves out.
//!
//! A filter speaks about a type of memory, or, when it does not match, about all other memory; a
//! region or page that some filter speaks about is left out. Addresses and targets are judged
//! here, before an attempt, and are not counted; anonymous, young and memcg pages are judged page by
//! page while the action runs, by the operations.
//!
//! Linux 6.12 `mm/damon/core.c` (`__damos_filter_out()`). Later kernels also have filters that allow.

use crate::attrs::align_down;
use crate::error::DamonError;
use crate::region::Target;
use std::ops::Range;

/// What a filter speaks about (`enum damos_filter_type`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FilterType {
    /// Anonymous pages.
    Anon,
    /// Pages of a memory cgroup.
    Memcg(u16),
    /// Pages that were used since they were last marked old. A page that is found so is marked.
    Young,
    /// Addresses, aligned down to the smallest region.
    Addr(Range<u64>),
    /// The target of an index.
    Target(usize),
}

/// What a scheme leaves out (`struct damos_filter`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// What it speaks about.
    pub kind: FilterType,
    /// Whether it speaks about that, or about all else.
    pub matching: bool,
}

impl Filter {
    /// A filter.
    pub fn new(kind: FilterType, matching: bool) -> Filter {
        Filter { kind, matching }
    }

    /// Whether it means anything.
    ///
    /// # Errors
    /// A range that ends before it begins.
    pub fn validate(&self) -> Result<(), DamonError> {
        match &self.kind {
            FilterType::Addr(r) if r.end < r.start => Err(DamonError::InvalidFilter),
            _ => Ok(()),
        }
    }
}

/// Whether a filter leaves out region `i` of a target. The region may be cut on the way, so that
/// what remains of it lies inside the range or outside; the rest follows it.
pub fn filter_out(
    filter: &Filter,
    target_index: usize,
    target: &mut Target,
    i: usize,
    min_region: u64,
    split_copies_counts: bool,
) -> bool {
    let region = target.regions()[i];
    let of_the_type = match &filter.kind {
        FilterType::Anon | FilterType::Memcg(_) | FilterType::Young => return false,
        FilterType::Target(index) => *index == target_index,
        FilterType::Addr(range) => {
            let (start, end) =
                (align_down(range.start, min_region), align_down(range.end, min_region));
            if start <= region.start && region.end <= end {
                true
            } else if region.end <= start || end <= region.start {
                false
            } else if region.start < start {
                target.split_at(i, start - region.start, split_copies_counts);
                false
            } else {
                target.split_at(i, end - region.start, split_copies_counts);
                true
            }
        }
    };
    of_the_type == filter.matching
}
