//! Address spaces and their VMAs.
//!
//! A process is an address space: regions that its workload numbers, each one VMA. A VMA
//! lies in a span, a run of whole PTE tables with consecutive page indexes; VMAs mapped
//! at given addresses close to each other share a span and so share PTE tables, as they
//! do on the real machine.

use crate::backing::contents::TaskContents;
use crate::base::id::{AsId, FileId, GROUP_PAGES, GroupId, IndexVec, MemcgId, PageIdx, VmaId};
use crate::base::vmstat::VmEvent;
use crate::virt::pages::{Owner, Pages};
use crate::workload::{RegionId, VmaFlags};
use std::collections::BTreeMap;
use std::ops::Range;

/// Object that a VMA maps, with machine-wide file numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VmaKind {
    /// Private anonymous memory.
    Anon,
    /// A file from a page on.
    File {
        /// The file.
        file: FileId,
        /// First page of it.
        offset: u32,
        /// Writes go to the file.
        shared: bool,
    },
    /// Shared memory.
    Shmem {
        /// The object.
        file: FileId,
        /// First page of it.
        offset: u32,
    },
    /// Private huge pages of hugetlbfs.
    HugeTlb,
}

/// State of swap readahead by address: one word per VMA in the kernel.
#[derive(Clone, Copy, Debug)]
pub struct SwapRa {
    /// Position of the last decision.
    pub prev: u32,
    /// Last window.
    pub win: u32,
    /// Hits since then.
    pub hits: u32,
}

impl Default for SwapRa {
    fn default() -> Self {
        SwapRa { prev: 0, win: 0, hits: 4 }
    }
}

/// A virtual memory area.
#[derive(Clone, Debug)]
pub struct Vma {
    /// Its process.
    pub space: AsId,
    /// The number that the process knows it by.
    pub region: RegionId,
    /// First page, in the global index.
    pub start: PageIdx,
    /// Pages.
    pub pages: u32,
    /// Object that it maps.
    pub kind: VmaKind,
    /// Flags.
    pub flags: VmaFlags,
    /// With [`VmaFlags::locked`]: the parts that are locked, in order and apart; none: all of it.
    pub locked_parts: Vec<Range<u32>>,
    /// `MADV_HUGEPAGE` or `MADV_NOHUGEPAGE`, if either was given.
    pub huge: Option<bool>,
    /// Swap readahead by address.
    pub swap_ra: SwapRa,
}

impl Vma {
    /// True if accessed bits of this mapping tell reclaim anything.
    #[inline]
    pub fn recency(&self, ignores_random: bool) -> bool {
        self.flags.recency(ignores_random)
    }
    /// First page behind it.
    #[inline]
    pub fn end(&self) -> PageIdx {
        PageIdx(self.start.0 + self.pages)
    }
    /// True if a page is locked into memory.
    #[inline]
    pub fn locks(&self, page: PageIdx) -> bool {
        self.locks_any(page.0..page.0 + 1)
    }
    /// True if some of these pages are.
    #[inline]
    pub fn locks_any(&self, pages: Range<u32>) -> bool {
        let meets = |p: &Range<u32>| p.start < pages.end && pages.start < p.end;
        self.flags.locked && (self.locks_whole() || self.locked_parts.iter().any(meets))
    }
    /// True if all of these pages are.
    pub fn locks_all(&self, pages: Range<u32>) -> bool {
        let holds = |p: &Range<u32>| p.start <= pages.start && pages.end <= p.end;
        self.flags.locked && (self.locks_whole() || self.locked_parts.iter().any(holds))
    }
    /// Its pages that are locked.
    pub fn locked_pages(&self) -> u64 {
        match (self.flags.locked, self.locks_whole()) {
            (false, _) => 0,
            (true, true) => self.pages.into(),
            (true, false) => self.locked_parts.iter().map(|p| u64::from(p.end - p.start)).sum(),
        }
    }
    /// True if the whole mapping is, provided that a part of it is.
    #[inline]
    pub(crate) fn locks_whole(&self) -> bool {
        self.locked_parts.is_empty()
    }
    /// Flags of one of its pages.
    #[inline]
    pub(crate) fn flags_at(&self, page: PageIdx) -> VmaFlags {
        VmaFlags { locked: self.locks(page), ..self.flags }
    }
    /// Its locked pages if these are locked too.
    pub(crate) fn locked_pages_with(&self, pages: Range<u32>) -> u64 {
        self.parts_with(pages, true).iter().map(|p| u64::from(p.end - p.start)).sum()
    }
    /// The parts that are locked when these pages are or are no longer.
    fn parts_with(&self, pages: Range<u32>, locked: bool) -> Vec<Range<u32>> {
        let whole = self.start.0..self.end().0;
        let before: &[Range<u32>] = match (self.flags.locked, self.locks_whole()) {
            (false, _) => &[],
            (true, true) => std::slice::from_ref(&whole),
            (true, false) => &self.locked_parts,
        };
        let outside = before
            .iter()
            .flat_map(|p| [p.start..p.end.min(pages.start), p.start.max(pages.end)..p.end]);
        let mut parts: Vec<Range<u32>> = outside.filter(|p| !p.is_empty()).collect();
        parts.extend(locked.then(|| pages.clone()));
        parts.sort_by_key(|p| p.start);
        parts.dedup_by(|next, p| {
            let joins = p.end == next.start;
            if joins {
                p.end = next.end;
            }
            joins
        });
        parts
    }
}

/// Where a region of a process lies, as long as no mapping is made, changed or undone.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    region: RegionId,
    changes: u64,
    /// First page, in the global index.
    pub start: PageIdx,
    /// Pages.
    pub pages: u32,
    /// Its VMA.
    pub vma: VmaId,
    /// Flags of it.
    pub flags: VmaFlags,
}

impl Place {
    /// A place in no region.
    pub(crate) const NOWHERE: Place = Place {
        region: RegionId(0),
        changes: u64::MAX,
        start: PageIdx(0),
        pages: 0,
        vma: VmaId(0),
        flags: VmaFlags::NONE,
    };
    /// The number of the region.
    pub fn region(&self) -> RegionId {
        self.region
    }
}

/// The group behind the highest address of a mapping: 2^47 bytes less a stack and its gap.
const TOP: u64 = (1 << 47 >> 21) - 64;

#[derive(Clone, Debug)]
struct Span {
    va: u64,
    first: GroupId,
    groups: u32,
    vmas: u32,
}

/// Counts of a process. Events are its own if its threads made them: it faulted, its `read(2)`
/// missed. Evictions are its own if the page was mapped by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counted {
    /// Faults.
    pub faults: u64,
    /// Of these, major ones.
    pub major_faults: u64,
    /// Pages read from swap.
    pub swap_ins: u64,
    /// Refaults of anonymous memory.
    pub refaults_anon: u64,
    /// Refaults of file pages.
    pub refaults_file: u64,
    /// Pages of `read(2)` and `write(2)` that were not in memory.
    pub cache_misses: u64,
    /// Mappings of anonymous pages that eviction replaced by swap entries.
    pub evicted_anon: u64,
    /// Mappings of file pages that eviction removed.
    pub evicted_file: u64,
}

impl Counted {
    /// All counters with their names in reports.
    pub fn named(&self) -> [(&'static str, u64); 8] {
        [
            (VmEvent::PgFault.name(), self.faults),
            (VmEvent::PgMajFault.name(), self.major_faults),
            (VmEvent::PswpIn.name(), self.swap_ins),
            (VmEvent::WorkingsetRefaultAnon.name(), self.refaults_anon),
            (VmEvent::WorkingsetRefaultFile.name(), self.refaults_file),
            ("sim_cache_miss", self.cache_misses),
            ("sim_evict_anon", self.evicted_anon),
            ("sim_evict_file", self.evicted_file),
        ]
    }

    /// The change since an earlier copy.
    pub fn since(&self, earlier: &Counted) -> Counted {
        Counted {
            faults: self.faults - earlier.faults,
            major_faults: self.major_faults - earlier.major_faults,
            swap_ins: self.swap_ins - earlier.swap_ins,
            refaults_anon: self.refaults_anon - earlier.refaults_anon,
            refaults_file: self.refaults_file - earlier.refaults_file,
            cache_misses: self.cache_misses - earlier.cache_misses,
            evicted_anon: self.evicted_anon - earlier.evicted_anon,
            evicted_file: self.evicted_file - earlier.evicted_file,
        }
    }
}

/// A process.
#[derive(Clone, Debug)]
pub struct AddressSpace {
    /// Name, for reports.
    pub name: String,
    /// Group that is charged.
    pub memcg: MemcgId,
    /// Resident anonymous pages.
    pub rss_anon: u64,
    /// Resident file pages.
    pub rss_file: u64,
    /// Resident pages of shared memory.
    pub rss_shmem: u64,
    /// Pages in swap.
    pub swapents: u64,
    /// Page-table frames.
    pub tables: u64,
    /// Faults that mapped the zero page: reads of anonymous pages that had not been written.
    pub zero_faults: u64,
    /// It has had an anonymous page of its own: it wrote one.
    pub wrote_anon: bool,
    /// Its counts.
    pub counted: Counted,
    /// `/proc/PID/oom_score_adj`, -1000 to 1000.
    pub oom_score_adj: i16,
    /// Pages that it may lock (`RLIMIT_MEMLOCK`); `None`: all of them (`CAP_IPC_LOCK`).
    pub memlock_limit: Option<u64>,
    /// The process was killed or has exited.
    pub dead: bool,
    /// Its group is charged what the kernel needs for a process.
    pub charged: bool,
    /// Contents of its pages, if they are known.
    pub contents: Option<TaskContents>,
    /// A CPU turned to one of its threads since a walk of page tables took it up.
    pub used: bool,
    regions: Vec<Option<VmaId>>,
    vmas: Vec<VmaId>,
    spans: Vec<Span>,
}

/// All address spaces and VMAs.
#[derive(Clone, Default)]
pub struct Spaces {
    spaces: IndexVec<AsId, AddressSpace>,
    /// Processes of each group, in order of creation, those that have ended too (`mm_list`).
    members: BTreeMap<MemcgId, Vec<AsId>>,
    vmas: IndexVec<VmaId, Vma>,
    free_vmas: Vec<VmaId>,
    /// Anonymous pages that are mapped, by all processes together (`NR_ANON_MAPPED`).
    pub anon_mapped: u64,
    /// Mappings of pages of files and of shared memory, by all processes together (`NR_FILE_MAPPED`).
    pub file_mapped: u64,
    /// Mappings made, changed and undone so far.
    changes: u64,
}

impl AddressSpace {
    /// Resident pages (`get_mm_rss`).
    pub fn rss(&self) -> u64 {
        self.rss_anon + self.rss_file + self.rss_shmem
    }

    /// The first group of the highest gap between spans that has room for `groups`.
    ///
    /// # Panics
    /// If there is none.
    fn highest_gap(&self, groups: u64) -> u64 {
        let mut spans: Vec<&Span> = self.spans.iter().filter(|s| s.va < TOP).collect();
        spans.sort_unstable_by_key(|s| std::cmp::Reverse(s.va));
        let mut end = TOP;
        for s in spans {
            if s.va + u64::from(s.groups) + groups <= end {
                break;
            }
            end = end.min(s.va);
        }
        end.checked_sub(groups).unwrap_or_else(|| panic!("{}: no room for a region", self.name))
    }
}

impl Spaces {
    /// The owner of all pages of processes, where there is one process only.
    #[inline]
    pub(crate) fn only_one(&self) -> Option<AsId> {
        (self.spaces.len() == 1).then_some(AsId(0))
    }
    /// A new process.
    pub fn create(&mut self, name: String, memcg: MemcgId) -> AsId {
        let id = self.spaces.push(AddressSpace {
            name,
            memcg,
            rss_anon: 0,
            rss_file: 0,
            rss_shmem: 0,
            swapents: 0,
            tables: 0,
            zero_faults: 0,
            wrote_anon: false,
            counted: Counted::default(),
            oom_score_adj: 0,
            memlock_limit: None,
            dead: false,
            charged: false,
            contents: None,
            used: true,
            regions: Vec::new(),
            vmas: Vec::new(),
            spans: Vec::new(),
        });
        self.members.entry(memcg).or_default().push(id);
        id
    }
    /// Processes of a group, in order of creation, those that have ended too.
    pub(crate) fn members(&self, memcg: MemcgId) -> &[AsId] {
        self.members.get(&memcg).map_or(&[], Vec::as_slice)
    }
    /// All processes.
    pub fn ids(&self) -> impl Iterator<Item = AsId> + use<> {
        self.spaces.ids()
    }
    /// A VMA.
    #[inline]
    pub fn vma(&self, v: VmaId) -> &Vma {
        &self.vmas[v]
    }
    /// A VMA, to change.
    #[inline]
    pub fn vma_mut(&mut self, v: VmaId) -> &mut Vma {
        &mut self.vmas[v]
    }
    /// VMAs of a process in order of address.
    pub(crate) fn vmas_of(&self, a: AsId) -> &[VmaId] {
        &self.spaces[a].vmas
    }
    /// Mappings of a process, in order of virtual address: first page, page behind the last, VMA.
    pub fn mappings(&self, pages: &Pages, a: AsId) -> Vec<(u64, u64, VmaId)> {
        let of = |&v: &VmaId| {
            let Vma { start, pages: nr, .. } = self.vmas[v];
            let first = (pages.group(start.group()).base << 9) + u64::from(start.0 % GROUP_PAGES);
            (first, first + u64::from(nr), v)
        };
        let mut all: Vec<_> = self.spaces[a].vmas.iter().map(of).collect();
        all.sort_unstable();
        all
    }
    /// The page at a virtual address (in pages) of a process, if it has a place for page tables
    /// there. Where nothing is mapped the page is none.
    #[inline]
    pub fn page_at(&self, a: AsId, va: u64) -> Option<PageIdx> {
        let g = va >> 9;
        let over = |s: &&Span| s.va <= g && g < s.va + u64::from(s.groups);
        let s = self.spaces[a].spans.iter().find(over)?;
        Some(PageIdx((s.first.0 << 9) + (va - (s.va << 9)) as u32))
    }
    /// Pages of the locked mappings of a process, in memory or not (`locked_vm`).
    pub fn locked_pages(&self, a: AsId) -> u64 {
        self.spaces[a].vmas.iter().map(|&v| self.vmas[v].locked_pages()).sum()
    }
    /// Pages of all mappings of a process (`total_vm`).
    pub fn mapped_pages(&self, a: AsId) -> u64 {
        self.spaces[a].vmas.iter().map(|&v| u64::from(self.vmas[v].pages)).sum()
    }
    /// The VMA behind a region number.
    #[inline]
    pub fn region(&self, a: AsId, r: RegionId) -> Option<VmaId> {
        self.spaces[a].regions.get(r.0 as usize).copied().flatten()
    }
    /// Where a region lies, for many accesses in a row.
    #[inline]
    pub fn place(&self, a: AsId, r: RegionId) -> Option<Place> {
        let vma = self.region(a, r)?;
        let v = &self.vmas[vma];
        let (changes, start, pages, flags) = (self.changes, v.start, v.pages, v.flags);
        Some(Place { region: r, changes, start, pages, vma, flags })
    }
    /// Number of changes of mappings.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes
    }
    /// The region whose place, found earlier, still holds.
    #[inline]
    pub fn still(&self, place: &Place) -> Option<RegionId> {
        (place.changes == self.changes).then_some(place.region)
    }
    /// The VMAs of a process that reach into a group, as positions in their order.
    pub(crate) fn vmas_over(&self, a: AsId, g: GroupId) -> std::ops::Range<usize> {
        let vmas = &self.spaces[a].vmas;
        let (first, end) = (g.first(), PageIdx(g.first().0 + GROUP_PAGES));
        let from = vmas.partition_point(|&v| self.vmas[v].end() <= first);
        from..vmas.partition_point(|&v| self.vmas[v].start < end)
    }
    /// The VMA that holds a page of a process.
    #[inline]
    pub fn vma_of(&self, pages: &Pages, p: PageIdx) -> VmaId {
        let g = pages.group(p.group());
        let first = g.vma.unwrap_or_else(|| panic!("{p} lies in no mapping"));
        if self.vmas[first].start <= p && p < self.vmas[first].end() {
            return first;
        }
        let Owner::Process(a) = g.owner else { panic!("{p} belongs to no process") };
        *self.spaces[a]
            .vmas
            .iter()
            .find(|&&v| self.vmas[v].start <= p && p < self.vmas[v].end())
            .unwrap_or_else(|| panic!("{p} lies in no mapping of {a}"))
    }

    /// Maps a region at `at` (virtual page), or in the highest gap of whole tables that it fits into:
    /// a region that is mapped later lies below the earlier ones, as in Linux on x86-64
    /// (`mmap_base`, `vm_unmapped_area`). Walks of page tables meet it first.
    ///
    /// # Panics
    /// If the number is in use, the size is 0, or the addresses overlap another region:
    /// the workload breaks its contract.
    #[allow(clippy::too_many_arguments)] // They are mmap(2)'s.
    pub fn mmap(
        &mut self,
        pages: &mut Pages,
        a: AsId,
        region: RegionId,
        nr: u32,
        kind: VmaKind,
        flags: VmaFlags,
        at: Option<u64>,
    ) -> VmaId {
        assert!(nr > 0, "{a}: {region:?} of 0 pages");
        assert!(self.region(a, region).is_none(), "{a}: {region:?} is mapped already");
        self.changes += 1;
        let space = &mut self.spaces[a];
        let va = at.unwrap_or_else(|| space.highest_gap(nr.div_ceil(GROUP_PAGES).into()) << 9);
        let (g0, g1) = (va >> 9, (va + u64::from(nr) + u64::from(GROUP_PAGES) - 1) >> 9);
        // A span that already covers the addresses, or a new one. Workloads that want
        // neighbours to share tables map in order of address, so growing is not needed
        // beyond this: a later mapping in a table that is taken joins it.
        let found = space.spans.iter().position(|s| s.va <= g0 && g1 <= s.va + u64::from(s.groups));
        let span = found.unwrap_or_else(|| {
            let n = (g1 - g0) as u32;
            let first = pages.reserve(n, Owner::Process(a), g0);
            space.spans.push(Span { va: g0, first, groups: n, vmas: 0 });
            space.spans.len() - 1
        });
        let s = &mut space.spans[span];
        s.vmas += 1;
        let start = PageIdx((s.first.0 << 9) + (va - (s.va << 9)) as u32);
        let vma = Vma {
            space: a,
            region,
            start,
            pages: nr,
            kind,
            flags,
            locked_parts: Vec::new(),
            huge: None,
            swap_ra: SwapRa::default(),
        };
        for &v in &space.vmas {
            let o = &self.vmas[v];
            assert!(
                o.end() <= start || vma.end() <= o.start,
                "{a}: {region:?} at page {va:#x} overlaps another region"
            );
        }
        let id = match self.free_vmas.pop() {
            Some(id) => {
                self.vmas[id] = vma;
                id
            }
            None => self.vmas.push(vma),
        };
        let r = region.0 as usize;
        if space.regions.len() <= r {
            space.regions.resize(r + 1, None);
        }
        space.regions[r] = Some(id);
        let at = space.vmas.partition_point(|&v| self.vmas[v].start < start);
        space.vmas.insert(at, id);
        self.refresh_groups(pages, start, nr);
        id
    }

    /// Changes the flags of a mapping.
    pub(crate) fn set_flags(&mut self, pages: &mut Pages, v: VmaId, flags: VmaFlags) {
        self.changes += 1;
        self.vmas[v].flags = flags;
        let (start, nr) = (self.vmas[v].start, self.vmas[v].pages);
        self.refresh_groups(pages, start, nr);
    }

    /// Pages of a mapping are locked into memory, or no longer.
    pub(crate) fn set_locked(
        &mut self,
        pages: &mut Pages,
        v: VmaId,
        range: Range<u32>,
        locked: bool,
    ) {
        let vma = &mut self.vmas[v];
        let parts = vma.parts_with(range, locked);
        let flags = VmaFlags { locked: !parts.is_empty(), ..vma.flags };
        let all = vma.start.0..vma.end().0;
        let whole = parts.first() == Some(&all);
        vma.locked_parts = if whole { Vec::new() } else { parts };
        self.set_flags(pages, v, flags);
    }

    /// Reserves one span for several regions to come, so that they share PTE tables.
    pub fn reserve_span(&mut self, pages: &mut Pages, a: AsId, va: u64, nr: u64) {
        let (g0, g1) = (va >> 9, (va + nr + u64::from(GROUP_PAGES) - 1) >> 9);
        let n = (g1 - g0) as u32;
        let first = pages.reserve(n, Owner::Process(a), g0);
        // A reserved span stays when its last region goes: it counts one itself.
        self.spaces[a].spans.push(Span { va: g0, first, groups: n, vmas: 1 });
    }

    fn refresh_groups(&self, pages: &mut Pages, start: PageIdx, nr: u32) {
        let (g0, g1) = (start.group().0, PageIdx(start.0 + nr - 1).group().0);
        for g in g0..=g1 {
            let g = GroupId(g);
            let Owner::Process(a) = pages.group(g).owner else { continue };
            let first = self.spaces[a].vmas.iter().copied().find(|&v| {
                let v = &self.vmas[v];
                v.end() > g.first() && v.start.0 < g.first().0 + GROUP_PAGES
            });
            let over = |v: &&Vma| v.end() > g.first() && v.start.0 < g.first().0 + GROUP_PAGES;
            let all = || self.spaces[a].vmas.iter().map(|&v| &self.vmas[v]).filter(over);
            let of_root = self.spaces[a].memcg.0 == 0;
            let plain = of_root && all().all(|v| v.flags == VmaFlags::default());
            pages.set_mappings(g, first, plain);
            pages.set_anon(g, all().all(|v| v.kind == VmaKind::Anon));
        }
    }

    /// Forgets a region whose pages are all gone; returns the span's groups if they are
    /// free now (their page tables are the caller's to drop before [`Pages::release`]).
    pub fn munmap(
        &mut self,
        pages: &mut Pages,
        a: AsId,
        region: RegionId,
    ) -> Option<(GroupId, u32)> {
        let id = self.region(a, region).unwrap_or_else(|| panic!("{a}: {region:?} is not mapped"));
        let (start, nr) = (self.vmas[id].start, self.vmas[id].pages);
        self.changes += 1;
        let space = &mut self.spaces[a];
        space.regions[region.0 as usize] = None;
        space.vmas.retain(|&v| v != id);
        self.free_vmas.push(id);
        let g = start.group();
        let i = space
            .spans
            .iter()
            .position(|s| s.first <= g && g.0 < s.first.0 + s.groups)
            .expect("a VMA lies in a span");
        space.spans[i].vmas -= 1;
        let gone = (space.spans[i].vmas == 0).then(|| {
            let s = space.spans.swap_remove(i);
            (s.first, s.groups)
        });
        self.refresh_groups(pages, start, nr);
        gone
    }
    /// Region numbers in use.
    pub fn regions(&self, a: AsId) -> Vec<RegionId> {
        let r = self.spaces[a].regions.iter().enumerate();
        r.filter(|(_, v)| v.is_some()).map(|(i, _)| RegionId(i as u16)).collect()
    }
}

impl std::ops::Index<AsId> for Spaces {
    type Output = AddressSpace;
    #[inline]
    fn index(&self, a: AsId) -> &AddressSpace {
        &self.spaces[a]
    }
}
impl std::ops::IndexMut<AsId> for Spaces {
    #[inline]
    fn index_mut(&mut self, a: AsId) -> &mut AddressSpace {
        &mut self.spaces[a]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regions of 2, 1 and 1 tables lie from the top down. The second leaves a gap of one table, which
    /// is too small for two.
    #[test]
    fn a_region_lies_in_the_highest_gap_that_it_fits_into() {
        let (mut pages, mut spaces) = (Pages::default(), Spaces::default());
        let a = spaces.create("p".into(), MemcgId(0));
        let map = |spaces: &mut Spaces, pages: &mut Pages, region, nr| {
            let (kind, flags) = (VmaKind::Anon, VmaFlags::NONE);
            spaces.mmap(pages, a, RegionId(region), nr, kind, flags, None);
        };
        let order = |spaces: &Spaces, pages: &Pages| -> Vec<u16> {
            let all = spaces.mappings(pages, a);
            all.iter().map(|&(_, _, v)| spaces.vma(v).region.0).collect()
        };
        for (region, nr) in [(0, 513), (1, 512), (2, 1)] {
            map(&mut spaces, &mut pages, region, nr);
        }
        assert_eq!(order(&spaces, &pages), [2, 1, 0]);
        let (first, n) = spaces.munmap(&mut pages, a, RegionId(1)).expect("nothing else is there");
        pages.release(first, n);
        map(&mut spaces, &mut pages, 3, 513);
        map(&mut spaces, &mut pages, 4, 512);
        assert_eq!(order(&spaces, &pages), [3, 2, 4, 0]);
    }
}
