//! Filters: what a scheme leaves out, and from 6.14 on what it takes.
//!
//! A filter speaks about a type of memory, or, when it does not match, about all other memory. The
//! first filter that speaks about a region or page decides: it is left out, or allowed. Of what no
//! filter speaks about, nothing is taken if the last filter allows, and all otherwise.
//!
//! Addresses and targets are judged here, before an attempt, and are not counted. The other types are
//! judged page by page while the action runs, by the operations; what was allowed here they do not
//! judge. Where such filters follow, what no filter here spoke about is theirs.
//!
//! Linux 6.12 `mm/damon/core.c` (`__damos_filter_out()`); Linux 7.3 `mm/damon/core.c`
//! (`damos_core_filter_out()`, `damos_set_filters_default_reject()`), `ops-common.c`
//! (`damos_folio_filter_match()`).

use crate::attrs::align_down;
use crate::error::DamonError;
use crate::region::Target;
use std::ops::Range;

/// Property that a filter checks (`enum damos_filter_type`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FilterType {
    /// Anonymous pages.
    Anon,
    /// Pages of a memory cgroup.
    Memcg(u16),
    /// Pages that were used since they were last marked old. A page that is found so is marked.
    Young,
    /// Pages of an active list, or of the generations that count as one.
    Active,
    /// Folios of these sizes, in bytes, both bounds included.
    HugepageSize(u64, u64),
    /// Pages that nothing maps.
    Unmapped,
    /// Addresses, aligned down to the smallest region.
    Addr(Range<u64>),
    /// The target of an index.
    Target(usize),
}

impl FilterType {
    /// As the kernel's files write them.
    pub const NAMES: [&str; 8] =
        ["anon", "memcg", "young", "addr", "target", "active", "hugepage_size", "unmapped"];
}

/// Filter that leaves pages out of a scheme, or takes them (`struct damos_filter`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// Property that it checks.
    pub kind: FilterType,
    /// True if it applies to memory with that property, false for all other memory.
    pub matching: bool,
    /// True if it allows that memory, false if it leaves it out.
    pub allow: bool,
}

impl Filter {
    /// A filter that leaves out.
    pub fn new(kind: FilterType, matching: bool) -> Filter {
        Filter { kind, matching, allow: false }
    }

    /// The same, which allows.
    pub fn allowing(self) -> Filter {
        Filter { allow: true, ..self }
    }

    /// True if it is judged before the action runs.
    pub(crate) fn is_core(&self) -> bool {
        matches!(self.kind, FilterType::Addr(_) | FilterType::Target(_))
    }

    /// Checks that it makes sense.
    ///
    /// # Errors
    /// A range that ends before it begins.
    pub fn validate(&self) -> Result<(), DamonError> {
        match &self.kind {
            FilterType::Addr(r) if r.end < r.start => Err(DamonError::InvalidFilter),
            FilterType::HugepageSize(min, max) if max < min => Err(DamonError::InvalidFilter),
            _ => Ok(()),
        }
    }
}

/// Verdict of filters of addresses and targets on a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoreVerdict {
    /// It is left out.
    Rejected,
    /// It is taken, whatever filters of pages say.
    Allowed,
    /// Filters of pages decide.
    Passed,
}

/// True if the last filter of a kind allows, so that memory to which none applies is left out.
pub(crate) fn rejects_rest(filters: &[Filter], core: bool) -> bool {
    filters.iter().rfind(|f| f.is_core() == core).is_some_and(|f| f.allow)
}

/// Verdict of filters of addresses and targets on region `i` of a target. The region may be cut on
/// the way, so that what remains of it lies inside a range or outside; the rest follows it.
pub fn judge_region(
    filters: &[Filter],
    target_index: usize,
    target: &mut Target,
    i: usize,
    min_region: u64,
    split_copies_counts: bool,
) -> CoreVerdict {
    for filter in filters.iter().filter(|f| f.is_core()) {
        if speaks_of(filter, target_index, target, i, min_region, split_copies_counts) {
            return if filter.allow { CoreVerdict::Allowed } else { CoreVerdict::Rejected };
        }
    }
    let pages_decide = filters.iter().any(|f| !f.is_core());
    match !pages_decide && rejects_rest(filters, true) {
        true => CoreVerdict::Rejected,
        false => CoreVerdict::Passed,
    }
}

/// True if a filter of addresses or targets applies to a region, which may be cut.
fn speaks_of(
    filter: &Filter,
    target_index: usize,
    target: &mut Target,
    i: usize,
    min_region: u64,
    split_copies_counts: bool,
) -> bool {
    let region = target.regions()[i];
    let of_the_type = match &filter.kind {
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
        _ => unreachable!("only filters of addresses and targets are judged here"),
    };
    of_the_type == filter.matching
}
