//! Walking page tables: the other way to learn which pages were accessed.
//!
//! Asking the mappings of a folio (`young`) finds one accessed bit at a time, each in another
//! place. A walk goes through the memory of a process in order of address and finds those of
//! neighbours together. It is worth its time only where many pages were accessed, so it skips
//! what it can: processes that did not run since the last walk; page tables that the hardware
//! did not go through, which the accessed bit of the entry above tells; mappings whose bits
//! mean nothing, or whose pages could not be reclaimed anyway.
//!
//! Here the bit of the entry above is the union of a bit that each of the 512 hot bytes of
//! the table has (`pte::TOUCHED`), so that a hit sets both bits with one store; asking and
//! clearing goes over 512 consecutive bytes in wide steps. Of a table's hot bytes a bitmap of
//! the young ones is made, and only their pages are visited.
//!
//! A walk says which folios it found; what that means for their place is the policy's affair.
//! Idle and young marks of folios are left alone, so what DAMON looks at does not see walks.
//!
//! Source: Linux 6.12 mm/vmscan.c (`should_skip_mm`, `should_skip_vma`, `walk_pte_range`,
//! `lru_gen_look_around`), kernel/sched/core.c (`context_switch`). Left out: bits of entries
//! above the page tables, and contention for their locks.

use super::Memory;
use crate::base::digest::Digest;
use crate::base::host;
use crate::base::id::{AsId, GROUP_PAGES, GroupId, Idx, MemcgId, NodeId, PageIdx, Pfn};
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::phys::frames::{FolioId, FrameKind, Frames, KIND_MASK, flag};
use crate::virt::pages::{Owner, pte};
use crate::virt::space::{Vma, VmaKind};
use std::ops::Range;

/// Scope of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WalkScope {
    /// Folios of this node only.
    pub node: NodeId,
    /// Folios of this group only.
    pub memcg: MemcgId,
    /// Anonymous memory too; without, anonymous mappings are skipped, and private copies in
    /// mappings of files.
    pub anon: bool,
    /// Folios on a list only: the bits of one that is isolated, or waits in a batch, stay.
    pub listed: bool,
}

/// Results of a walk of one page table, or of a part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableWalk {
    /// PTEs in the range, empty ones too: 1 to 512.
    pub slots: u32,
    /// Accessed ones among them whose folios are of the scope.
    pub young: u32,
    /// Number of folios, the last of those appended, that an executable mapping maps.
    pub exec: u32,
}

/// PTEs that looking around takes in at most (`MIN_LRU_BATCH`).
const AROUND: u32 = 64;

/// PTEs of a page table.
const PTES: usize = GROUP_PAGES as usize;
/// PTEs that are looked at together.
const CHUNK: usize = 64;
/// Maps of the PTEs of a table.
const MAPS: usize = PTES / CHUNK;

/// A young PTE that maps a frame of its own: of these bits it has those.
const MEANT: u8 = pte::PRESENT | pte::YOUNG | pte::ZERO;
const WANTED: u8 = pte::PRESENT | pte::YOUNG;

/// A one in each of eight bytes.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Eight rows of eight bits with rows and columns exchanged.
#[inline(always)]
fn transposed(bits: u64) -> u64 {
    // Exchanges single bits, then blocks of two by two, then of four by four.
    let exchange = |x: u64, mask: u64, by: u32| {
        let differ = (x ^ x >> by) & mask;
        x ^ differ ^ differ << by
    };
    let x = exchange(bits, 0x00aa_00aa_00aa_00aa, 7);
    let x = exchange(x, 0x0000_cccc_0000_cccc, 14);
    exchange(x, 0x0000_0000_f0f0_f0f0, 28)
}

impl WalkScope {
    /// True if a walk enters a mapping. That of 6.1 passes `MADV_RANDOM` over too, although the
    /// rest of that kernel looks at such mappings.
    #[inline]
    fn enters(&self, vma: &Vma) -> bool {
        let kind = match vma.kind {
            VmaKind::Anon | VmaKind::Shmem { .. } => self.anon,
            VmaKind::File { .. } => true,
            VmaKind::HugeTlb => false,
        };
        kind && !(vma.flags.locked && vma.locks_whole()) && vma.recency(true)
    }
}

impl Memory {
    /// Living processes of a group in order of creation, each with a number that only grows:
    /// later ones have higher ones.
    pub fn mm_list(&self, memcg: MemcgId) -> impl Iterator<Item = (u64, AsId)> + '_ {
        let members = self.virt.spaces.members(memcg).iter().copied();
        members.filter(|&a| !self.virt.spaces[a].dead).map(|a| (a.index() as u64, a))
    }

    /// True if a CPU turned to a thread of the process since the last call; new processes count as
    /// used.
    ///
    /// A thread that has its CPU for itself is never turned to again: as in the kernel, such
    /// a process is used only once.
    pub fn take_used(&mut self, space: AsId) -> bool {
        std::mem::take(&mut self.virt.spaces[space].used)
    }

    /// The first page that maps a folio, in order of mapping.
    #[inline]
    pub fn page_of(&self, folio: FolioId) -> Option<PageIdx> {
        self.virt.rmap.nth(self.virt.rmap.of(&self.frames, folio), 0)
    }

    /// Appends the page tables of a process that a walk enters, in order of address.
    pub fn walk_tables(&self, space: AsId, scope: &WalkScope, tables: &mut Vec<GroupId>) {
        let from = tables.len();
        for &v in self.virt.spaces.vmas_of(space) {
            let vma = self.virt.spaces.vma(v);
            if !scope.enters(vma) {
                continue;
            }
            for g in vma.start.group().0..=PageIdx(vma.end().0 - 1).group().0 {
                let g = GroupId(g);
                // Two mappings may share a table.
                let new = tables[from..].last() != Some(&g);
                if new && self.virt.pages.group(g).table.is_some() {
                    tables.push(g);
                }
            }
        }
        // VMAs are kept in the order of the page index, which is nearly that of mapping. Addresses
        // are the other way round, as regions are placed from the top down.
        let address = |&g: &GroupId| self.virt.pages.group(g).base;
        if !tables[from..].is_sorted_by_key(address) {
            tables[from..].sort_by_key(address);
        }
    }

    /// True if the entry that points to a page table is accessed.
    pub fn pmd_young(&self, g: GroupId) -> bool {
        self.virt.pages.table_touched(g)
    }

    /// The same, and clears it.
    pub fn pmd_test_clear_young(&mut self, g: GroupId) -> bool {
        let young = self.virt.pages.table_touched(g);
        if young {
            self.virt.pages.clear_table_touched(g);
        }
        young
    }

    /// Tests and clears the accessed bits of a page table, as far as the scope goes, and
    /// appends the folio of each young PTE in order of address, those of executable mappings
    /// behind the others. What is dirty in the PTE and clean in the folio becomes dirty in the
    /// folio, but for plain anonymous memory, which will be written when it gets a slot.
    ///
    /// Takes `t_walk_pte` for each present PTE in the range and `t_walk_young` for each whose
    /// folio is found; `t_walk_pmd` is the caller's, who
    /// may skip the table before.
    ///
    /// # Panics
    /// If the group is not a process's.
    pub fn walk_table(
        &mut self,
        g: GroupId,
        scope: &WalkScope,
        young: &mut Vec<FolioId>,
    ) -> TableWalk {
        let Owner::Process(space) = self.virt.pages.group(g).owner else {
            panic!("{g} is no page table of a process")
        };
        let mut met = TableWalk::default();
        let over = self.virt.spaces.vmas_over(space, g);
        for exec in [false, true] {
            let before = young.len();
            for i in over.clone() {
                let vma = self.virt.spaces.vma(self.virt.spaces.vmas_of(space)[i]);
                if vma.flags.exec != exec || !scope.enters(vma) {
                    continue;
                }
                let range = in_table(vma, g);
                if self.virt.pages.group(g).huge {
                    // One entry, which is no page table: it does not say whether that is worth a walk.
                    let folio = self.large_at(g.first()).filter(|&f| {
                        self.node_of(f) == scope.node && self.frames.memcg(f) == scope.memcg
                    });
                    let found = folio.filter(|&f| self.test_clear_young_large(f));
                    young.extend(found);
                    self.charge_walk(1, found.is_some().into());
                    continue;
                }
                met.slots += range.len() as u32;
                let dirt = self.dirt_is_told(vma);
                let (present, found) = self.harvest::<MAPS>(g, range, scope, dirt, young);
                self.charge_walk(present, found);
                met.young += found;
            }
            if exec {
                met.exec = (young.len() - before) as u32;
            }
        }
        met
    }

    /// Looks at the neighbours of a page whose accessed bit was found set, and cleared, by the
    /// query for references: the same as [`Memory::walk_table`] for up to 64 PTEs around it, in
    /// its page table and mapping. The page itself is counted, and its folio not appended.
    pub fn look_around(
        &mut self,
        page: PageIdx,
        scope: &WalkScope,
        young: &mut Vec<FolioId>,
    ) -> TableWalk {
        let g = page.group();
        let vma = self.virt.spaces.vma(self.virt.spaces.vma_of(&self.virt.pages, page));
        let range = window(in_table(vma, g), (page.0 - g.first().0) as usize);
        let slots = range.len() as u32;
        if slots == 1 {
            return TableWalk { slots: 1, young: 1, exec: 0 };
        }
        let (dirt, exec) = (self.dirt_is_told(vma), vma.flags.exec);
        let (_, found) = self.harvest::<1>(g, range, scope, dirt, young);
        // Each PTE of the window is read, mapped or not.
        self.charge_walk(slots, found);
        self.charge(self.given.cost.t_look_around);
        TableWalk { slots, young: 1 + found, exec: if exec { found } else { 0 } }
    }

    /// Adds what decides only under a policy that walks page tables to a digest.
    pub fn digest_walks(&self, d: &mut Digest) {
        for g in 0..self.virt.pages.nr_groups() {
            d.word(self.virt.pages.table_touched(GroupId::from_index(g)).into());
        }
        d.words(self.virt.spaces.ids().map(|a| self.virt.spaces[a].used.into()));
    }

    /// True if some folio of a mapping may have to be marked dirty for a dirty PTE. Plain anonymous
    /// memory need not be, as it will be written when it gets a slot; what else a mapping of
    /// anonymous memory may hold is of the swap cache or lazily freed.
    fn dirt_is_told(&self, vma: &Vma) -> bool {
        let in_swapcache = self.swap.as_ref().is_some_and(|s| s.cached > 0);
        vma.kind != VmaKind::Anon || in_swapcache || self.stats.vmstat[VmEvent::PgLazyFree] > 0
    }

    /// Appends the folios of the young PTEs in a part of a table, and clears their bits. If `dirt`
    /// is set, the folios of dirty PTEs are looked at, which takes as long as all the rest. Returns
    /// the numbers of present PTEs and of folios found.
    #[inline(always)] // A part of 64 PTEs needs no loops over more.
    fn harvest<const MAPS: usize>(
        &mut self,
        g: GroupId,
        range: Range<usize>,
        scope: &WalkScope,
        dirt: bool,
        young: &mut Vec<FolioId>,
    ) -> (u32, u32) {
        let everything =
            scope.anon && !scope.listed && self.zones.nr_nodes() == 1 && self.memcgs.len() == 1;
        let mut ptes = YoungPtes::<MAPS>::of(self.virt.pages.hot_of(g), range);
        if !everything {
            self.keep_in_scope(g, scope, &mut ptes);
        }
        let (before, mut any) = (young.len(), 0);
        let (flags, _) = self.frames.flags_and_rmap();
        let (hot, entry) = self.virt.pages.hot_and_entries_of(g);
        ptes.for_each(|p| {
            // The policy looks at them next.
            host::prefetch(flags, entry[p] as usize);
            young.push(Pfn(entry[p]));
            any |= hot[p];
            hot[p] &= !pte::YOUNG;
        });
        let found = (young.len() - before) as u32;
        if self.virt.pages.group(g).parts > 0 {
            // Parts of a large folio in a row are one sighting of it.
            let mut rest = young.split_off(before);
            rest.dedup();
            young.append(&mut rest);
        }
        if !dirt {
            let owes = |f: &FolioId| owes_dirt(&self.frames, *f);
            debug_assert!(!young[before..].iter().any(owes), "{g}: a folio to be marked dirty");
        } else if any & pte::DIRTY != 0 {
            self.tell_of_dirt(g, &young[before..], &mut ptes);
        }
        (ptes.nr_present(), found)
    }

    /// A PTE whose folio is out of scope stays young.
    #[inline(never)]
    fn keep_in_scope<const MAPS: usize>(
        &self,
        g: GroupId,
        scope: &WalkScope,
        ptes: &mut YoungPtes<MAPS>,
    ) {
        let (frames, zones, entry) = (&self.frames, &self.zones, self.virt.pages.entries_of(g));
        ptes.retain(|p| {
            let folio = Pfn(entry[p]);
            (scope.anon || !frames.has(folio, flag::SWAPBACKED))
                && (!scope.listed || frames.has(folio, flag::LRU))
                && zones[zones.of(folio)].node == scope.node
                && frames.memcg(folio) == scope.memcg
        });
    }

    /// Folios of young PTEs become dirty where the PTE is dirty and the folio is clean.
    #[inline(never)]
    fn tell_of_dirt<const MAPS: usize>(
        &mut self,
        g: GroupId,
        folios: &[FolioId],
        ptes: &mut YoungPtes<MAPS>,
    ) {
        if !folios.iter().fold(false, |any, &f| any | owes_dirt(&self.frames, f)) {
            return;
        }
        let (hot, entry) = (self.virt.pages.hot_of(g), self.virt.pages.entries_of(g));
        ptes.retain(|p| hot[p] & pte::DIRTY != 0 && owes_dirt(&self.frames, Pfn(entry[p])));
        ptes.for_each(|p| {
            let folio = Pfn(self.virt.pages.entries_of(g)[p]);
            let file = self.file_page_of(folio);
            self.dirty_folio(folio, file);
        });
    }

    /// PTEs were looked at, and the folios of some of them found.
    fn charge_walk(&mut self, looked: u32, found: u32) {
        let looked = self.given.cost.t_walk_pte.0 * u64::from(looked);
        self.acting.now += SimDuration(looked + self.given.cost.t_walk_young.0 * u64::from(found));
    }
}

/// True if a folio is clean, so that a dirty PTE has to make it dirty. Plain anonymous memory never
/// needs that.
#[inline(always)]
fn owes_dirt(frames: &Frames, folio: FolioId) -> bool {
    // Of these bits plain anonymous memory has those.
    const MEANT: u32 = KIND_MASK | flag::SWAPBACKED | flag::SWAPCACHE;
    const PLAIN: u32 = FrameKind::Anon as u32 | flag::SWAPBACKED;
    let bits = frames.bits(folio);
    bits & flag::DIRTY == 0 && bits & MEANT != PLAIN
}

/// The part of a page table that a mapping takes.
fn in_table(vma: &Vma, g: GroupId) -> Range<usize> {
    let first = g.first().0;
    let start = vma.start.0.max(first);
    let end = vma.end().0.min(first + GROUP_PAGES);
    (start - first) as usize..(end - first) as usize
}

/// PTEs that looking around one takes in: it lies in the middle, or as near to it as the ends of
/// the mapping in this table allow.
fn window(of: Range<usize>, at: usize) -> Range<usize> {
    let most = AROUND as usize;
    if of.len() <= most {
        of
    } else if at - of.start < most / 2 {
        of.start..of.start + most
    } else if of.end - at < most / 2 {
        of.end - most..of.end
    } else {
        at - most / 2..at + most / 2
    }
}

/// Summary of the hot bytes of a part of a page table.
struct YoungPtes<const MAPS: usize> {
    /// Number of present PTEs, in eight parts, a byte each.
    present: u64,
    /// The first PTE of the part.
    first: usize,
    /// The young ones that map a frame of their own, 64 PTEs a map.
    maps: [u64; MAPS],
}

impl<const MAPS: usize> YoungPtes<MAPS> {
    #[inline(always)]
    fn of(hot: &[u8; PTES], range: Range<usize>) -> Self {
        let mut found = YoungPtes { present: 0, first: range.start, maps: [0; MAPS] };
        let (chunks, rest) = hot[range].as_chunks::<CHUNK>();
        debug_assert!(chunks.len() + usize::from(!rest.is_empty()) <= MAPS);
        for (i, chunk) in chunks.iter().enumerate().take(MAPS) {
            found.maps[i] = found.map(chunk);
        }
        if !rest.is_empty() {
            let mut chunk = [0; CHUNK];
            chunk[..rest.len()].copy_from_slice(rest);
            found.maps[chunks.len() % MAPS] = found.map(&chunk);
        }
        found
    }

    /// Number of present PTEs.
    #[inline(always)]
    fn nr_present(&self) -> u32 {
        // Adds pairs, and then all of them: 512 have room in two bytes.
        const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
        let pairs = (self.present & EVEN) + (self.present >> 8 & EVEN);
        (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as u32
    }

    /// The map of some PTEs.
    #[inline(always)]
    fn map(&mut self, ptes: &[u8; CHUNK]) -> u64 {
        // Eight bytes at a time, whatever the compiler makes of loops over bytes.
        const { assert!(MEANT == 0b1_0011 && pte::PRESENT == 1) };
        // The top bit of a byte says that it is another one; row by row, from the top bit down.
        const TOP: u64 = ONES << 7;
        let mut others = 0;
        for bytes in ptes.as_chunks::<8>().0 {
            let eight = u64::from_le_bytes(*bytes);
            let other = eight & (ONES * MEANT as u64) ^ (ONES * WANTED as u64);
            others = others >> 1 | (other + (TOP - ONES)) & TOP;
            self.present += eight & ONES;
        }
        !transposed(others)
    }

    /// The places of the young PTEs, in order.
    #[inline(always)]
    fn for_each(&self, mut visit: impl FnMut(usize)) {
        for (i, &map) in self.maps.iter().enumerate() {
            let (mut map, first) = (map, self.first + CHUNK * i);
            while map != 0 {
                visit((first + map.trailing_zeros() as usize) % PTES);
                map &= map - 1;
            }
        }
    }

    /// Keeps those of which a question says so.
    fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut kept = [0; MAPS];
        self.for_each(|p| {
            let i = p - self.first;
            kept[i / CHUNK] |= u64::from(keep(p)) << (i % CHUNK);
        });
        self.maps = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;

    /// The summary of many bytes at once equals that of one after the other, on random tables and
    /// parts of them.
    #[test]
    fn young_ptes_are_those_of_a_look_at_each() {
        let mut rng = Rng::for_purpose(1, "memory/walk");
        for _ in 0..500 {
            let mut hot = [0; PTES];
            hot.iter_mut().for_each(|h| *h = (rng.below(256) & rng.below(256)) as u8);
            let (a, b) = (rng.below(513) as usize, rng.below(513) as usize);
            let range = a.min(b)..a.max(b);
            let is_young = |h: u8| h & (pte::PRESENT | pte::YOUNG | pte::ZERO) == 3;
            let expected: Vec<usize> = range.clone().filter(|&p| is_young(hot[p])).collect();
            let present = range.clone().filter(|&p| hot[p] & pte::PRESENT != 0).count();
            let ptes = YoungPtes::<MAPS>::of(&hot, range.clone());
            let mut found = Vec::new();
            ptes.for_each(|p| found.push(p));
            assert_eq!(found, expected, "{range:?} of {hot:?}");
            assert_eq!(ptes.nr_present() as usize, present, "{range:?} of {hot:?}");
        }
    }
}
