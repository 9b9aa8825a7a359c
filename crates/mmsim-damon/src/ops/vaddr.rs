//! The address space of a process: an address leads to one PTE, and that to a page.
//!
//! Only accesses through that PTE count, and those that took the idle mark of its page away. Actions
//! are advice, given as the process itself would give it, to the whole region at once.
//!
//! A real process has its program and its heap below the mappings that are watched here, and its
//! stack above, each beyond a gap that is larger than all others; the three ranges of the kernel
//! are those three groups. A simulated process has the mappings of its workload. If these have two
//! gaps they are treated as the kernel would treat them; with fewer they are the middle group,
//! one range from the first to the last.
//!
//! Linux 6.12 mm/damon/vaddr.c, mm/madvise.c.

use super::PAGE_SHIFT;
use crate::attrs::MonitoringAttrs;
use crate::damos::scheme::Action;
use crate::ranges::{init_regions, set_regions, three_regions};
use crate::region::{Region, Target};
use mmsim_core::base::id::{AsId, PageIdx};
use mmsim_core::memory::{InBatches, Memory, SAMPLE_BATCH};
use mmsim_core::policy::monitor::Doors;
use mmsim_core::workload::Advice;
use std::ops::Range;

/// The pages at the sampling addresses of a batch of regions, where a process has a place for page
/// tables; unless they lie in a huge page of hugetlbfs and these are not looked at.
fn pages_at(
    mem: &Memory,
    space: AsId,
    regions: &[Region],
    hugetlb: bool,
) -> [Option<PageIdx>; SAMPLE_BATCH] {
    let all = hugetlb || mem.kernel.hugetlb.mapped() == 0;
    let mut pages = [None; SAMPLE_BATCH];
    for (page, r) in pages.iter_mut().zip(regions) {
        *page = mem
            .virt
            .spaces
            .page_at(space, r.sampling_addr >> PAGE_SHIFT)
            .filter(|&page| all || mem.hugetlb_at(page).is_none());
    }
    pages
}

pub(super) fn mkold(
    mem: &mut Memory,
    space: AsId,
    regions: &[Region],
    hugetlb: bool,
    in_batches: &InBatches,
) {
    let pages = pages_at(mem, space, regions, hugetlb);
    mem.mkold_pages(&pages[..regions.len()], in_batches);
}

pub(super) fn young(
    mem: &mut Memory,
    space: AsId,
    regions: &[Region],
    hugetlb: bool,
    in_batches: &InBatches,
    young: &mut Vec<bool>,
) {
    let pages = pages_at(mem, space, regions, hugetlb);
    mem.young_pages(&pages[..regions.len()], in_batches, young);
}

/// The ranges to watch; none: nothing is mapped.
fn ranges(mem: &Memory, space: AsId, min_region: u64) -> Vec<Range<u64>> {
    let mappings = mem.virt.spaces.mappings(&mem.virt.pages, space);
    let of = |&(first, end, _): &(u64, u64, _)| first << PAGE_SHIFT..end << PAGE_SHIFT;
    if let Some(three) = three_regions(mappings.iter().map(of), min_region) {
        return three.into();
    }
    match (mappings.first().map(of), mappings.last().map(of)) {
        (Some(first), Some(last)) => std::iter::once(first.start..last.end).collect(),
        _ => Vec::new(),
    }
}

/// First regions: `even` pieces of the ranges, or the ranges, which the context cuts then.
pub(super) fn init(mem: &Memory, targets: &mut [Target], attrs: &MonitoringAttrs, even: bool) {
    for t in targets.iter_mut().filter(|t| t.regions().is_empty()) {
        let Some(space) = t.space else { continue };
        let ranges = ranges(mem, space, attrs.min_region);
        if even {
            init_regions(t, &ranges, attrs);
        } else {
            // Ranges of mappings are in order.
            let _ = set_regions(t, &ranges, attrs.min_region);
        }
    }
}

pub(super) fn update(mem: &Memory, targets: &mut [Target], attrs: &MonitoringAttrs) {
    for t in targets {
        let Some(space) = super::living(mem, t) else { continue };
        let ranges = ranges(mem, space, attrs.min_region);
        if !ranges.is_empty() {
            // Ranges of mappings are in order; on an error the old ones stay.
            let _ = set_regions(t, &ranges, attrs.min_region);
        }
    }
}

/// Gives advice about a region. Returns its bytes if all of them could be advised, else 0.
pub(super) fn apply(doors: &mut dyn Doors, space: AsId, region: &Region, action: Action) -> u64 {
    let advice = match action {
        Action::Willneed => Advice::WillNeed,
        Action::Cold => Advice::Cold,
        Action::Pageout => Advice::PageOut,
        Action::Hugepage => Advice::HugePage,
        Action::Nohugepage => Advice::NoHugePage,
        _ => return 0,
    };
    let up = |bytes: u64| bytes.div_ceil(1 << PAGE_SHIFT);
    let (start, length) = (up(region.start), up(region.size()));
    match doors.madvise(space, start..start + length, advice) {
        true => length << PAGE_SHIFT,
        false => 0,
    }
}
