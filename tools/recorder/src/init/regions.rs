//! The memory that a script works with: its regions, and the ballast that pins the rest.

use std::collections::BTreeMap;

use mmsim_recorder::record;

use crate::sys::Mapping;

/// Regions by number.
pub type Regions = BTreeMap<usize, Mapping>;

/// How near free memory has to come to the stated value, in pages.
const NEAR: u64 = 8;

/// Readings after which the per-CPU lists are at rest: from Linux 6.7 on their bound follows
/// what is allocated, and each reading that folds lowers it by an eighth and gives back what is
/// above it (mm/page_alloc.c, decay_pcp_high). A megabyte would come free after the ballast.
const READINGS: usize = 64;

/// The counter of free pages.
fn free() -> Result<u64, String> {
    let all = record::vmstat(&crate::run::vmstat()?);
    all.get("nr_free_pages").copied().ok_or_else(|| "no nr_free_pages".into())
}

/// Pins memory until so many pages are free. Steps halve, since page tables and the refill of
/// a per-CPU list move the counter too; a step too far is taken back.
pub fn ballast(wanted: u64) -> Result<Vec<Mapping>, String> {
    let mut pinned: Vec<Mapping> = Vec::new();
    for _ in 0..READINGS {
        free()?;
    }
    for _ in 0..1000 {
        let now = free()?;
        if now.abs_diff(wanted) <= NEAR {
            return Ok(pinned);
        }
        if now < wanted {
            let step = pinned.pop();
            step.ok_or_else(|| format!("{now} pages are free, {wanted} were asked for"))?;
            continue;
        }
        let over = now - wanted;
        let n = if over > 64 { over / 2 } else { over.min(8) } as usize;
        let step = Mapping::anywhere(n)?;
        (0..n).for_each(|page| step.write(page));
        step.lock()?;
        pinned.push(step);
    }
    Err(format!("free memory does not settle at {wanted} pages"))
}

/// Fills pages of a region in order until no more than `floor` are free, or `max` are filled.
pub fn grow(region: &Mapping, max: usize, floor: u64) -> Result<usize, String> {
    let mut next = 0;
    while next < max {
        let over = free()?.saturating_sub(floor) as usize;
        if over == 0 {
            break;
        }
        let n = if over > 64 { over / 2 } else { 8 }.min(max - next);
        (next..next + n).for_each(|page| region.fill(page));
        next += n;
    }
    Ok(next)
}
