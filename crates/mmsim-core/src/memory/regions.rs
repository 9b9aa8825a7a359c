//! Names of pages: what region of a process or of a file each is in.
//!
//! A name takes a search among the mappings of a process. A follower of many pages gets the number
//! of the region instead, kept for each group of pages until mappings change.

use std::collections::BTreeMap;

use super::Memory;
use crate::base::id::{AsId, FileId, PageIdx};
use crate::virt::pages::Owner;

/// Name of a page for users that do not know its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum PageOf {
    /// A page that is mapped no longer.
    #[default]
    Nobody,
    /// Of a process: its region, and the place in it.
    Process(AsId, u16, u32),
    /// Of a file: the place in it.
    File(FileId, u32),
}

/// Regions that were reported, by their numbers. Number 0 is no region.
#[derive(Default)]
pub(super) struct Regions {
    /// Name of each, and its first page.
    all: Vec<(PageOf, u32)>,
    numbers: BTreeMap<(PageOf, u32), u32>,
    /// By group of pages, if all of it is of one region: its number, and how often mappings had
    /// changed then, from 1 on.
    of_group: Vec<(u64, u32)>,
}

impl Memory {
    /// The name of a page.
    pub fn name_of(&self, page: PageIdx) -> PageOf {
        let group = self.virt.pages.group(page.group());
        match group.owner {
            Owner::Free => PageOf::Nobody,
            Owner::File(file) | Owner::Shmem(file) => {
                PageOf::File(file, page.0 - self.cache.files[file].base.0)
            }
            Owner::Process(space) => {
                let within = |&v: &crate::base::id::VmaId| {
                    let v = self.virt.spaces.vma(v);
                    v.start <= page && page < v.end()
                };
                let first = group.vma.filter(within);
                let vma =
                    first.or_else(|| self.virt.spaces.vmas_of(space).iter().copied().find(within));
                let Some(vma) = vma.map(|v| self.virt.spaces.vma(v)) else { return PageOf::Nobody };
                PageOf::Process(space, vma.region.0, page.0 - vma.start.0)
            }
        }
    }

    /// The region that a number stands for, and its first page.
    pub fn region_of_number(&self, number: u32) -> (PageOf, PageIdx) {
        let known =
            number.checked_sub(1).and_then(|n| self.telling.uses.regions.all.get(n as usize));
        known.map_or((PageOf::Nobody, PageIdx(0)), |&(of, first)| (of, PageIdx(first)))
    }

    /// The number of a page's region.
    #[inline]
    pub(super) fn region_of(&mut self, page: PageIdx) -> u32 {
        match self.telling.uses.regions.of_group.get(page.group().0 as usize) {
            Some(&(changes, number)) if changes == self.virt.spaces.changes() + 1 => number,
            _ => self.find_region(page),
        }
    }

    #[inline(never)]
    fn find_region(&mut self, page: PageIdx) -> u32 {
        let (of, offset) = match self.name_of(page) {
            PageOf::Nobody => return 0,
            PageOf::Process(space, region, offset) => (PageOf::Process(space, region, 0), offset),
            PageOf::File(file, offset) => (PageOf::File(file, 0), offset),
        };
        let r = &mut self.telling.uses.regions;
        let region = (of, page.0 - offset);
        let next = r.all.len() as u32 + 1;
        let number = *r.numbers.entry(region).or_insert(next);
        if number == next {
            r.all.push(region);
        }
        let g = page.group();
        let whole = match of {
            PageOf::Process(space, ..) => self.virt.spaces.vmas_over(space, g).len() == 1,
            _ => true,
        };
        if whole {
            let of_group = &mut r.of_group;
            if of_group.len() <= g.0 as usize {
                of_group.resize(g.0 as usize + 1, (0, 0));
            }
            of_group[g.0 as usize] = (self.virt.spaces.changes() + 1, number);
        }
        number
    }
}
