//! Which addresses are watched: from mappings to ranges to regions.
//!
//! The mappings of a process cover a small part of its address space. Two of the gaps between
//! them are huge, that between heap and mapped files and that before the stack; leaving these two
//! out gives three ranges, in which the remaining small gaps do not hurt. A process maps and
//! unmaps while it is watched, so the ranges are found anew from time to time, and regions are cut,
//! added and dropped to fit; what is known of those that stay is kept.
//!
//! Linux 6.12 `mm/damon/vaddr.c` (`__damon_va_three_regions()`, `__damon_va_init_regions()`,
//! `damon_va_evenly_split_region()`) and `mm/damon/core.c` (`damon_set_regions()`).

use crate::attrs::{MonitoringAttrs, align_down, align_up};
use crate::error::DamonError;
use crate::region::{Region, Target};
use std::ops::Range;

/// The three ranges that cover all mappings, which come sorted, but for the two largest gaps
/// between them; the earlier one of equal gaps counts as larger. None with fewer than two gaps.
pub fn three_regions(
    mappings: impl IntoIterator<Item = Range<u64>>,
    min_region: u64,
) -> Option<[Range<u64>; 3]> {
    let (mut first, mut second) = (0..0, 0..0);
    let mut span: Option<Range<u64>> = None;
    for m in mappings {
        let Some(s) = &mut span else {
            span = Some(m);
            continue;
        };
        let gap = s.end..m.start;
        s.end = m.end;
        let size = |r: &Range<u64>| r.end.saturating_sub(r.start);
        if size(&gap) > size(&first) {
            second = std::mem::replace(&mut first, gap);
        } else if size(&gap) > size(&second) {
            second = gap;
        }
    }
    let span = span?;
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let (low, high) = if first.start < second.start { (first, second) } else { (second, first) };
    let ranges = [span.start..low.start, low.end..high.start, high.end..span.end];
    Some(ranges.map(|r| align_up(r.start, min_region)..align_up(r.end, min_region)))
}

/// Cuts region `i` into `pieces` of equal size; the last takes what remains.
///
/// # Errors
/// [`DamonError::InvalidRange`] if a piece would be empty; the region stays whole.
pub fn split_evenly(
    target: &mut Target,
    i: usize,
    pieces: u64,
    min_region: u64,
) -> Result<(), DamonError> {
    let whole = target.regions.get(i).copied().ok_or(DamonError::InvalidRange)?;
    let piece = whole.size().checked_div(pieces).map_or(0, |size| align_down(size, min_region));
    if piece == 0 {
        return Err(DamonError::InvalidRange);
    }
    let starts = (0..pieces).map(|k| whole.start + k * piece);
    let new = starts.map(|start| {
        let last = start == whole.start + (pieces - 1) * piece;
        Region::new(start, if last { whole.end } else { start + piece })
    });
    target.regions.splice(i..=i, new);
    Ok(())
}

/// The first regions of a target: each range in pieces of the monitored bytes divided by
/// `min_nr_regions`.
pub fn init_regions(target: &mut Target, ranges: &[Range<u64>], attrs: &MonitoringAttrs) {
    let total: u64 = ranges.iter().map(|r| r.end - r.start).sum();
    let piece = (total / u64::from(attrs.min_nr_regions.max(1))).max(attrs.min_region);
    target.regions.clear();
    for r in ranges.iter().filter(|r| !r.is_empty()) {
        let i = target.regions.len();
        target.regions.push(Region::new(r.start, r.end));
        // A range smaller than a piece stays whole.
        let _ = split_evenly(target, i, (r.end - r.start) / piece, attrs.min_region);
    }
}

/// Fits the regions of a target to `ranges`: those outside go, those at an edge are cut or grow,
/// holes are filled with new ones. Ranges are aligned outwards.
///
/// # Errors
/// [`DamonError::InvalidRange`] if a range is empty, or begins before the one before it ends;
/// nothing is changed then.
pub fn set_regions(
    target: &mut Target,
    ranges: &[Range<u64>],
    min_region: u64,
) -> Result<(), DamonError> {
    let aligned = |r: &Range<u64>| align_down(r.start, min_region)..align_up(r.end, min_region);
    let mut last_end = 0;
    for r in ranges.iter().map(aligned) {
        if r.is_empty() || r.start < last_end {
            return Err(DamonError::InvalidRange);
        }
        last_end = r.end;
    }
    let mut old = std::mem::take(&mut target.regions).into_iter().peekable();
    for range in ranges {
        let to = aligned(range);
        let first_new = target.regions.len();
        // A region that reaches into several ranges belongs to the first.
        while let Some(r) = old.next_if(|r| r.start < range.end) {
            if !r.intersects(range) {
                continue;
            }
            match target.regions[first_new..].last().map(|before| before.end) {
                Some(end) if end < r.start => target.regions.push(Region::new(end, r.start)),
                _ => {}
            }
            target.regions.push(r);
        }
        match &mut target.regions[first_new..] {
            [] => target.regions.push(Region::new(to.start, to.end)),
            [only] => (only.start, only.end) = (to.start, to.end),
            [first, .., last] => (first.start, last.end) = (to.start, to.end),
        }
    }
    for r in &mut target.regions {
        r.sampling_addr = r.sampling_addr.clamp(r.start, r.end - 1);
    }
    Ok(())
}
