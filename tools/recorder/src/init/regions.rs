//! The memory that a script works with: its regions, and the ballast that pins the rest.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::OwnedFd;

use mmsim_recorder::vmstat;

use crate::sys::{self, Mapping, PAGE};

/// Regions by number.
pub type Regions = BTreeMap<usize, Mapping>;

/// Distance of free memory from the stated value that is close enough, in pages.
const NEAR: u64 = 8;

/// Readings after which the per-CPU lists are at rest: from Linux 6.7 on their bound follows
/// what is allocated, and each reading that folds lowers it by an eighth and gives back what is
/// above it (mm/page_alloc.c, decay_pcp_high). A megabyte would come free after the ballast.
const READINGS: usize = 64;

/// A counter of `/proc/vmstat`.
fn counter(name: &str) -> Result<u64, String> {
    let all = vmstat::read(&crate::vmstat()?);
    all.get(name).copied().ok_or_else(|| format!("no {name}"))
}

/// The counter of free pages.
fn free() -> Result<u64, String> {
    counter("nr_free_pages")
}

/// Pins memory until `wanted` pages are free. Steps halve, since page tables and the refill of a
/// per-CPU list move the counter too; a step too far is taken back.
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
            step.ok_or_else(|| format!("{now} pages are free, {wanted} were requested"))?;
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

/// Touches `blocks` huge pages, and returns how many were allocated.
pub fn thp(blocks: usize) -> Result<(Mapping, u64), String> {
    let region = Mapping::aligned(blocks * 512)?;
    region.huge()?;
    let before = counter("thp_fault_alloc")?;
    (0..blocks).for_each(|block| region.write(block * 512));
    Ok((region, counter("thp_fault_alloc")? - before))
}

/// Fills pipes of `per` pages, until they hold `pages` or no more than `floor` are free. Says how many are held.
pub fn pipes(pages: u64, floor: u64, per: u64) -> Result<(Vec<[OwnedFd; 2]>, u64), String> {
    let (mut all, mut held) = (Vec::new(), 0);
    let page = [0xA5; PAGE];
    while held < pages {
        if held.is_multiple_of(per) {
            all.push(sys::pipe(per)?);
        }
        let [_, end] = all.last().ok_or("no pipe")?;
        let end = end.try_clone().map_err(|e| e.to_string())?;
        File::from(end).write_all(&page).map_err(|e| format!("a pipe: {e}"))?;
        held += 1;
        if held.is_multiple_of(64) && free()? <= floor {
            break;
        }
    }
    Ok((all, held))
}

/// Reads `pages` pages from each pipe, which frees them, and returns their number.
pub fn drain(all: &[[OwnedFd; 2]], pages: u64) -> Result<u64, String> {
    let (mut page, mut drained) = ([0; PAGE], 0);
    for [end, _] in all {
        let mut end = File::from(end.try_clone().map_err(|e| e.to_string())?);
        for _ in 0..pages {
            match end.read(&mut page) {
                Ok(PAGE) => drained += 1,
                Ok(_) => return Err("a pipe: less than a page".into()),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => return Err(format!("a pipe: {e}")),
            }
        }
    }
    Ok(drained)
}
