//! The global page index: PTEs of all processes and entries of all files, in two flat
//! arrays.
//!
//! Every address space and every file takes slices of one index space, in groups of 512.
//! For a process a group is one PTE table; for a file it is 512 pages of its cache. A page
//! has one hot byte, all that a hit reads and writes, and one word beside it that only
//! misses look at: the frame, or where the contents are (a swap slot, a shadow).

use crate::base::host;
use crate::base::id::{
    AsId, FileId, GROUP_PAGES, GroupId, IndexVec, PageIdx, Pfn, SwapSlot, VmaId,
};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bits of the hot byte: a PTE as hardware sees it.
pub mod pte {
    /// Maps a frame (or the zero page). For a page of a file: is in the page cache.
    pub const PRESENT: u8 = 1;
    /// Accessed since the bit was cleared.
    pub const YOUNG: u8 = 2;
    /// Written since the bit was cleared.
    pub const DIRTY: u8 = 4;
    /// May be written without a fault.
    pub const WRITABLE: u8 = 8;
    /// Maps the shared zero page.
    pub const ZERO: u8 = 16;
    /// Not present, but belongs exclusively to this process: may be mapped writable.
    pub(crate) const EXCLUSIVE: u8 = 32;
    /// Accessed since the bit of the entry above, the one that points to this page table, was
    /// cleared: that entry is accessed as long as one page of its table is. What becomes of
    /// the PTE meanwhile does not matter.
    pub const TOUCHED: u8 = 64;
    /// The folio of one anonymous page that is mapped here and nowhere else is idle: as much as its own
    /// flag says, but a monitor that goes by page tables need not go on to the frame. It is gone when the
    /// page is unmapped; a folio that stays gets the flag then.
    pub const IDLE: u8 = 128;
    /// Bits that an access sets.
    pub const ACCESSED: u8 = YOUNG | TOUCHED;

    /// The PTE after a query for references: neither accessed bit nor idle mark of one that was
    /// accessed.
    #[inline(always)]
    pub(crate) const fn after_query(young: bool) -> u8 {
        if young { !(YOUNG | IDLE) } else { u8::MAX }
    }
}

/// Meaning of the word beside the hot byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Nothing yet.
    None,
    /// A present page: its frame.
    Frame(Pfn),
    /// The shared zero page.
    Zero,
    /// Swapped out (processes and shared memory).
    Swap(SwapSlot),
    /// Evicted, with a shadow in this cell (files).
    Shadow(u32),
}

const TAG: u32 = 1 << 31;

/// Who owns a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// No user.
    Free,
    /// A process.
    Process(AsId),
    /// A file.
    File(FileId),
    /// An object of shared memory, which is a file too. Pages of it are swapped out as those of
    /// processes are.
    Shmem(FileId),
}

/// State of a group of 512 pages.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The owner.
    pub owner: Owner,
    /// Number of the group within its owner: virtual address >> 21, or file page >> 9.
    pub base: u64,
    /// First VMA that reaches into the group, in order of address (processes).
    pub vma: Option<VmaId>,
    /// All mappings in the group have default flags and one group of processes, so that
    /// a query for references need not look them up.
    pub plain: bool,
    /// One huge folio is mapped by the entry above, and all 512 pages name its first frame: page i
    /// is in the i-th frame from there.
    pub huge: bool,
    /// Pages that map a part of a large folio by a PTE of their own: each names the folio's first frame.
    /// Other pages may hold anything.
    pub parts: u16,
    /// PTEs that are not none.
    pub used: u16,
    /// A page-table frame is held for it.
    pub table: Option<Pfn>,
}

impl Group {
    /// True if it has mappings that are not plain.
    pub(crate) fn is_unplain(&self) -> bool {
        self.vma.is_some() && !self.plain
    }
}

/// True if the entry of a page of a process names a slot: if the page is not present.
#[inline(always)]
pub(crate) fn names_slot(entry: u32) -> bool {
    entry & TAG != 0
}

/// The slot of an entry that names one.
#[inline(always)]
pub fn slot_of(entry: u32) -> u32 {
    entry & !TAG
}

/// The slot that a page of a process with this hot byte and entry is swapped out to.
#[inline(always)]
pub(crate) fn swapped_to(hot: u8, entry: u32) -> Option<SwapSlot> {
    (hot & pte::PRESENT == 0 && names_slot(entry)).then_some(SwapSlot(slot_of(entry)))
}

/// The page index.
#[derive(Clone, Default)]
pub struct Pages {
    /// Hot bytes.
    pub hot: Vec<u8>,
    entry: Vec<u32>,
    groups: IndexVec<GroupId, Group>,
    /// Groups with mappings of anonymous memory only: a bit each, so that those of a large machine are
    /// in the first caches together.
    anon: Vec<u64>,
    /// Free runs of groups by length.
    free: BTreeMap<u32, Vec<u32>>,
    /// Groups that map a huge folio.
    nr_huge: u64,
    /// Groups that map parts of large folios by PTEs.
    nr_parted: u64,
    /// Groups with mappings that are not plain.
    nr_unplain: u32,
}

impl Pages {
    /// Reserves `n` consecutive groups for an owner.
    pub fn reserve(&mut self, n: u32, owner: Owner, base: u64) -> GroupId {
        let first = match self.free.get_mut(&n).and_then(Vec::pop) {
            Some(g) => g,
            None => {
                let g = self.groups.len() as u32;
                let pages = (g as usize + n as usize) << 9;
                assert!(pages <= u32::MAX as usize, "more than 2^32 pages in use");
                host::grow(&mut self.hot, pages, 0);
                host::grow(&mut self.entry, pages, 0);
                self.groups.resize(
                    (g + n) as usize,
                    Group {
                        owner: Owner::Free,
                        base: 0,
                        vma: None,
                        plain: false,
                        huge: false,
                        parts: 0,
                        used: 0,
                        table: None,
                    },
                );
                g
            }
        };
        for i in 0..n {
            self.groups[GroupId(first + i)] = Group {
                owner,
                base: base + u64::from(i),
                vma: None,
                plain: false,
                huge: false,
                parts: 0,
                used: 0,
                table: None,
            };
        }
        GroupId(first)
    }

    /// Gives groups back; all their pages must be none.
    pub fn release(&mut self, first: GroupId, n: u32) {
        for g in first.0..first.0 + n {
            let g = &mut self.groups[GroupId(g)];
            assert!(g.used == 0 && g.table.is_none(), "group of {:?} still in use", g.owner);
            g.owner = Owner::Free;
        }
        (first.0..first.0 + n).for_each(|g| self.set_mappings(GroupId(g), None, false));
        (first.0..first.0 + n).for_each(|g| self.set_anon(GroupId(g), false));
        self.free.entry(n).or_default().push(first.0);
    }

    /// A group.
    #[inline]
    pub fn group(&self, g: GroupId) -> &Group {
        &self.groups[g]
    }
    /// A group, to change.
    #[inline]
    pub(crate) fn group_mut(&mut self, g: GroupId) -> &mut Group {
        &mut self.groups[g]
    }
    /// Says which mapping is the first in a group, and whether all of them are plain.
    pub(crate) fn set_mappings(&mut self, g: GroupId, first: Option<VmaId>, plain: bool) {
        let group = &mut self.groups[g];
        self.nr_unplain -= u32::from(group.is_unplain());
        (group.vma, group.plain) = (first, plain);
        self.nr_unplain += u32::from(group.is_unplain());
    }
    /// Groups with mappings that are not plain. While there are none, the group of each mapped page
    /// is plain.
    #[inline]
    pub(crate) fn nr_unplain(&self) -> u32 {
        self.nr_unplain
    }
    /// Says whether all mappings in a group are of anonymous memory, so that each frame that its pages
    /// name is mapped once.
    pub(crate) fn set_anon(&mut self, g: GroupId, anon: bool) {
        let (word, bit) = ((g.0 / 64) as usize, 1 << (g.0 % 64));
        if word >= self.anon.len() {
            self.anon.resize(word + 1, 0);
        }
        self.anon[word] = self.anon[word] & !bit | if anon { bit } else { 0 };
    }
    /// True if the group was marked so.
    #[inline(always)]
    pub fn is_anon(&self, g: GroupId) -> bool {
        self.anon.get((g.0 / 64) as usize).is_some_and(|w| w >> (g.0 % 64) & 1 != 0)
    }
    /// True if a page is in memory, and its group is plain, of anonymous memory, and without
    /// large folios.
    #[inline]
    pub(crate) fn is_plain_anon(&self, p: PageIdx) -> bool {
        let g = p.group();
        let group = &self.groups[g];
        let there = self.hot[p.0 as usize] & (pte::PRESENT | pte::ZERO) == pte::PRESENT;
        there && group.plain && !group.huge && group.parts == 0 && self.is_anon(g)
    }
    /// Number of groups.
    pub fn nr_groups(&self) -> usize {
        self.groups.len()
    }

    /// The hot byte of a page.
    #[inline(always)]
    pub fn hot(&self, p: PageIdx) -> u8 {
        self.hot[p.0 as usize]
    }
    /// Changes the hot byte of a page.
    #[inline(always)]
    pub fn set_hot(&mut self, p: PageIdx, v: u8) {
        self.hot[p.0 as usize] = v;
    }
    /// Clears bits of the hot byte of a page and says whether any was set.
    #[inline(always)]
    pub fn test_clear_hot(&mut self, p: PageIdx, bits: u8) -> bool {
        let hot = &mut self.hot[p.0 as usize];
        let was = *hot & bits != 0;
        *hot &= !bits;
        was
    }
    /// Clears the accessed bit of a page on behalf of reclaim and says whether it was set. What was
    /// accessed is not idle.
    #[inline(always)]
    pub fn test_clear_young(&mut self, p: PageIdx) -> bool {
        let hot = &mut self.hot[p.0 as usize];
        let young = *hot & pte::YOUNG != 0;
        *hot &= pte::after_query(young);
        young
    }
    /// The hot bytes, to change, and the groups.
    #[inline]
    pub(crate) fn hot_and_groups(&mut self) -> (&mut [u8], &IndexVec<GroupId, Group>) {
        (&mut self.hot, &self.groups)
    }
    /// The hot bytes, to change, and the entries.
    #[inline]
    pub(crate) fn hot_and_entries(&mut self) -> (&mut [u8], &[u32]) {
        let n = self.hot.len();
        (&mut self.hot, &self.entry[..n])
    }
    /// Both, to change both.
    #[inline]
    pub(crate) fn hot_and_entries_mut(&mut self) -> (&mut [u8], &mut [u32]) {
        let n = self.hot.len();
        (&mut self.hot, &mut self.entry[..n])
    }
    /// Gives a page that held nothing its frame; its hot byte says so already.
    #[inline]
    pub(crate) fn first_touched(&mut self, p: PageIdx, frame: Pfn) {
        debug_assert!(self.hot[p.0 as usize] & pte::PRESENT != 0);
        debug_assert_eq!(self.entry[p.0 as usize], 0, "{p} was touched before");
        self.entry[p.0 as usize] = frame.0;
        self.groups[p.group()].used += 1;
    }
    /// Columns that a first touch reads: hot bytes, entries, groups.
    #[inline]
    pub fn columns(&mut self) -> (&mut [u8], &[u32], &IndexVec<GroupId, Group>) {
        let n = self.hot.len();
        (&mut self.hot, &self.entry[..n], &self.groups)
    }
    /// The entries.
    #[inline]
    pub(crate) fn entries_mut(&mut self) -> &mut [u32] {
        &mut self.entry
    }
    /// Makes a swap entry of the PTE of a present page, with these hot bits.
    #[inline]
    pub fn swap_out(&mut self, p: PageIdx, slot: SwapSlot, bits: u8) {
        self.swap_out_all(std::iter::once((p, slot)), bits);
    }
    /// The same for many pages.
    #[inline]
    pub(crate) fn swap_out_all(
        &mut self,
        all: impl Iterator<Item = (PageIdx, SwapSlot)>,
        bits: u8,
    ) {
        // Lengths that are known to be equal are checked once.
        let hot = &mut self.hot[..];
        let entry = &mut self.entry[..hot.len()];
        for (page, slot) in all {
            let i = page.0 as usize;
            debug_assert!(hot[i] & pte::PRESENT != 0 && bits & pte::PRESENT == 0);
            hot[i] = bits | hot[i] & pte::TOUCHED;
            entry[i] = slot.0 | TAG;
        }
    }
    /// True if no page of a group has anything.
    pub(crate) fn holds_nothing(&self, g: GroupId) -> bool {
        let pages = g.first().0 as usize..(g.first().0 + GROUP_PAGES) as usize;
        let entries = self.entry[pages.clone()].iter().fold(0, |all, e| all | e);
        let hot = self.hot[pages].iter().fold(0, |all, h| all | h);
        entries == 0 && hot & pte::PRESENT == 0
    }
    /// Something of both columns at a place, to have it fetched; nothing, if there is no such place.
    #[inline]
    pub fn peek(&self, at: u32) -> u32 {
        let hot = self.hot.get(at as usize).copied().unwrap_or(0);
        self.entry.get(at as usize).copied().unwrap_or(0) ^ u32::from(hot)
    }
    /// The frame that a page maps, or the place of its contents.
    #[inline]
    pub fn entry(&self, p: PageIdx) -> Entry {
        let e = self.entry[p.0 as usize];
        let h = self.hot[p.0 as usize];
        if h & pte::PRESENT != 0 {
            if h & pte::ZERO != 0 { Entry::Zero } else { Entry::Frame(Pfn(e)) }
        } else if e == 0 {
            Entry::None
        } else if matches!(self.groups[p.group()].owner, Owner::File(_)) {
            Entry::Shadow(e & !TAG)
        } else {
            Entry::Swap(SwapSlot(e & !TAG))
        }
    }
    /// The slot of a page of a process that is swapped out.
    #[inline]
    pub(crate) fn swap_entry(&self, p: PageIdx) -> Option<SwapSlot> {
        swapped_to(self.hot[p.0 as usize], self.entry[p.0 as usize])
    }
    /// Sets what a page maps, with its hot bits; keeps count of PTEs in use.
    #[inline]
    pub fn set_entry(&mut self, p: PageIdx, e: Entry, bits: u8) {
        let i = p.0 as usize;
        let was_used = self.entry[i] != 0 || self.hot[i] & pte::PRESENT != 0;
        let (word, hot) = match e {
            Entry::None => (0, 0),
            Entry::Frame(pfn) => (pfn.0, bits | pte::PRESENT),
            Entry::Zero => (0, bits | pte::PRESENT | pte::ZERO),
            Entry::Swap(s) => (s.0 | TAG, bits & !pte::PRESENT),
            Entry::Shadow(c) => (c | TAG, bits & !pte::PRESENT),
        };
        self.entry[i] = word;
        self.hot[i] = hot | self.hot[i] & pte::TOUCHED;
        let is_used = e != Entry::None;
        if was_used != is_used {
            let g = &mut self.groups[p.group()];
            if is_used {
                g.used += 1;
                debug_assert!(u32::from(g.used) <= GROUP_PAGES);
            } else {
                g.used -= 1;
            }
        }
    }
    /// Maps a frame into a page whose entry is in use already.
    #[inline]
    pub fn set_frame(&mut self, p: PageIdx, frame: Pfn, bits: u8) {
        let i = p.0 as usize;
        self.entry[i] = frame.0;
        self.hot[i] = bits | pte::PRESENT | self.hot[i] & pte::TOUCHED;
    }
    /// The hot bytes of a group.
    #[inline]
    pub(crate) fn hot_of(&self, g: GroupId) -> &[u8; GROUP_PAGES as usize] {
        &self.hot.as_chunks().0[g.0 as usize]
    }
    /// Has memory fetch the PTEs of the 32 pages before one and of those behind it, and what is known
    /// of its group.
    #[inline(always)]
    pub(crate) fn fetch_around(&self, p: PageIdx) {
        let at = p.0 as usize;
        host::prefetch(self.groups.raw(), at / GROUP_PAGES as usize);
        host::prefetch(&self.hot, at.wrapping_sub(32));
        host::prefetch(&self.hot, at + 31);
        for line in 0..5 {
            host::prefetch(&self.entry, (at + 16 * line).wrapping_sub(32));
        }
    }
    /// The entries of a group.
    #[inline]
    pub(crate) fn entries_of(&self, g: GroupId) -> &[u32; GROUP_PAGES as usize] {
        &self.entry.as_chunks().0[g.0 as usize]
    }
    /// The hot bytes of a group, to change, and its entries.
    #[inline]
    pub(crate) fn hot_and_entries_of(
        &mut self,
        g: GroupId,
    ) -> (&mut [u8; GROUP_PAGES as usize], &[u32; GROUP_PAGES as usize]) {
        let i = g.0 as usize;
        (&mut self.hot.as_chunks_mut().0[i], &self.entry.as_chunks().0[i])
    }
    /// Maps a huge folio, or nothing, in all pages of a group. The other one was there before.
    pub(crate) fn set_huge(&mut self, g: GroupId, head: Option<Pfn>, bits: u8) {
        let of = g.first().0 as usize..g.first().0 as usize + GROUP_PAGES as usize;
        self.entry[of.clone()].fill(head.map_or(0, |f| f.0));
        let present = if head.is_some() { bits | pte::PRESENT } else { 0 };
        self.hot[of].iter_mut().for_each(|h| *h = present | *h & pte::TOUCHED);
        let group = &mut self.groups[g];
        debug_assert_ne!(group.huge, head.is_some(), "{g} is huge already, or was not");
        group.huge = head.is_some();
        self.nr_huge = if head.is_some() { self.nr_huge + 1 } else { self.nr_huge - 1 };
        group.used = if head.is_some() { GROUP_PAGES as u16 } else { 0 };
    }
    /// Turns the mapping of a huge folio as a whole into one by PTEs: each page has the bits then
    /// that any of them had, since the hardware keeps one for all. The dirty bit stays with the pages
    /// that were written.
    pub(crate) fn map_parts(&mut self, g: GroupId) {
        debug_assert!(self.groups[g].huge, "{g} is not huge");
        self.groups[g].huge = false;
        self.nr_huge -= 1;
        self.count_parts(g, GROUP_PAGES as i16);
        let first = g.first().0 as usize;
        let own = pte::TOUCHED | pte::DIRTY;
        let bits = self.hot_of(g).iter().fold(0, |a, &h| a | h) & !own;
        self.hot[first..first + GROUP_PAGES as usize].iter_mut().for_each(|h| *h |= bits);
    }
    /// Maps a large folio by PTEs in pages that hold nothing.
    pub(crate) fn map_large(&mut self, pages: Range<u32>, head: Pfn, bits: u8) {
        let g = PageIdx(pages.start).group();
        let of = pages.start as usize..pages.end as usize;
        self.entry[of.clone()].fill(head.0);
        self.hot[of].iter_mut().for_each(|h| *h = bits | pte::PRESENT | *h & pte::TOUCHED);
        self.groups[g].used += pages.len() as u16;
        self.count_parts(g, pages.len() as i16);
    }
    /// The pages of a range within a group that map a part of a large folio, in order.
    pub fn parts(&self, pages: Range<u32>, head: Pfn) -> impl Iterator<Item = PageIdx> + '_ {
        let g = PageIdx(pages.start).group();
        let some = if self.groups[g].parts > 0 { pages } else { 0..0 };
        let is_part = move |p: &PageIdx| {
            let mapped = self.hot[p.0 as usize] & (pte::PRESENT | pte::ZERO) == pte::PRESENT;
            mapped && self.entry[p.0 as usize] == head.0
        };
        some.map(PageIdx).filter(is_part)
    }
    /// Unmaps a part of a large folio.
    pub(crate) fn drop_part(&mut self, p: PageIdx) {
        self.set_entry(p, Entry::None, 0);
        self.count_parts(p.group(), -1);
    }
    /// Turns the mappings of parts of a large folio, whose pages are these, into those of their frames.
    pub(crate) fn split_parts(&mut self, pages: Range<u32>, head: Pfn) {
        let parts: Vec<PageIdx> = self.parts(pages.clone(), head).collect();
        for p in &parts {
            self.entry[p.0 as usize] = head.0 + (p.0 - pages.start);
        }
        self.count_parts(PageIdx(pages.start).group(), -(parts.len() as i16));
    }
    /// Makes swap entries of slots in a row of all pages of a large folio that is mapped by PTEs.
    pub(crate) fn swap_out_parts(&mut self, pages: Range<u32>, first: SwapSlot) {
        let g = PageIdx(pages.start).group();
        for (p, i) in pages.clone().zip(0..) {
            let p = p as usize;
            self.hot[p] = pte::EXCLUSIVE | self.hot[p] & pte::TOUCHED;
            self.entry[p] = (first.0 + i) | TAG;
        }
        self.count_parts(g, -(pages.len() as i16));
    }
    /// Maps a large folio by PTEs in place of swap entries.
    pub(crate) fn swap_in_parts(&mut self, pages: Range<u32>, head: Pfn, bits: u8) {
        let g = PageIdx(pages.start).group();
        for p in pages.start as usize..pages.end as usize {
            self.hot[p] = bits | pte::PRESENT | self.hot[p] & pte::TOUCHED;
            self.entry[p] = head.0;
        }
        self.count_parts(g, pages.len() as i16);
    }
    fn count_parts(&mut self, g: GroupId, more: i16) {
        let parts = &mut self.groups[g].parts;
        let before = std::mem::replace(parts, parts.wrapping_add_signed(more));
        match (before, *parts) {
            (0, 1..) => self.nr_parted += 1,
            (1.., 0) => self.nr_parted -= 1,
            _ => {}
        }
    }
    /// True if pages within a group hold nothing: neither a mapping nor a swap entry.
    pub(crate) fn are_none(&self, pages: Range<u32>) -> bool {
        let of = pages.start as usize..pages.end as usize;
        let some = |(e, h): (&u32, &u8)| *e != 0 || h & pte::PRESENT != 0;
        !self.entry[of.clone()].iter().zip(&self.hot[of]).any(some)
    }
    /// Huge folios that are mapped as a whole.
    pub fn nr_huge(&self) -> u64 {
        self.nr_huge
    }
    /// Groups in which large folios are mapped by PTEs.
    pub fn nr_parted(&self) -> u64 {
        self.nr_parted
    }
    /// True if a group maps a huge folio, or parts of large ones.
    #[inline]
    pub(crate) fn has_huge(&self, g: GroupId) -> bool {
        self.nr_huge + self.nr_parted > 0 && (self.groups[g].huge || self.groups[g].parts > 0)
    }
    /// Clears bits of all pages of a group and says whether any was set.
    pub(crate) fn test_clear_group(&mut self, g: GroupId, bits: u8) -> bool {
        let hot = self.hot_and_entries_of(g).0;
        let was = hot.iter().fold(0, |a, &h| a | h) & bits != 0;
        hot.iter_mut().for_each(|h| *h &= !bits);
        was
    }
    /// True if the entry that points to a page table is accessed.
    #[inline]
    pub(crate) fn table_touched(&self, g: GroupId) -> bool {
        // In wide steps, without a branch per page; where much was accessed, the first will do.
        let touched = |part: &[u8; 64]| part.iter().fold(0, |a, &h| a | h) & pte::TOUCHED != 0;
        self.hot_of(g).as_chunks().0.iter().any(touched)
    }
    /// Clears that.
    #[inline]
    pub(crate) fn clear_table_touched(&mut self, g: GroupId) {
        let hot = self.hot_and_entries_of(g).0;
        hot.iter_mut().for_each(|h| *h &= !pte::TOUCHED);
    }
    /// Host bytes in use.
    pub fn host_bytes(&self) -> u64 {
        (self.hot.len() * 5 + self.groups.len() * size_of::<Group>()) as u64
    }
}
