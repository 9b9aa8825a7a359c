//! The audit of the invariants: a broken invariant panics and names the ids.

use super::{HUGE_ORDER, Memory, SizeEvent};
use crate::backing::swap::Cached;
use crate::base::digest::Digest;
use crate::base::id::{
    GROUP_PAGES, GroupId, Idx, IndexVec, MemcgId, PageIdx, Pfn, SwapSlot, ZoneId,
};
use crate::base::migratetype::Migratetype;
use crate::base::vmstat::VmEvent;
use crate::config::SMALLEST_ORDER;
use crate::phys::frames::{FrameKind, Mapped, flag};
use crate::virt::pages::{Entry, Owner, pte};
use crate::virt::space::AddressSpace;
use crate::virt::space::VmaKind;
use std::collections::{BTreeMap, BTreeSet};

/// Folios that an audit of frames has seen.
struct Seen {
    /// Those that wait for their list.
    waiting: BTreeSet<Pfn>,
    /// Pages of listed ones.
    listed: u64,
    /// Pages that are charged to each group.
    charged: Vec<u64>,
    /// Large folios by order.
    large: [u64; 1 + HUGE_ORDER as usize],
}

impl Memory {
    /// Checks every invariant that does not depend on the policy. Costs a pass over all
    /// frames and pages in use.
    ///
    /// # Panics
    /// If one does not hold.
    pub fn check(&self) {
        self.check_frames();
        let references = self.check_pages();
        self.check_slots(&references);
        self.cache.files.check_disks();
        self.check_shadow_nodes();
        self.check_compressed();
    }

    fn check_frames(&self) {
        let mut seen = Seen {
            waiting: self.lru.batches.waiting().collect(),
            listed: 0,
            charged: vec![0; self.memcgs.len()],
            large: [0; 1 + HUGE_ORDER as usize],
        };
        for z in self.zones.ids() {
            self.check_zone(z, &mut seen);
        }
        let on_lists: u64 = self.lru.lists.ids().map(|l| self.lru.lists.len(l)).sum();
        assert_eq!(seen.listed, on_lists, "folios flagged as listed and lengths of lists");
        for order in SMALLEST_ORDER..=HUGE_ORDER {
            let counted = self.stats.sizes.get(order, SizeEvent::NrAnon);
            assert_eq!(seen.large[usize::from(order)], counted, "folios of order {order}");
        }
        if self.memcgs.len() > 1 {
            self.memcgs.check(&seen.charged);
        }
        for l in self.lru.lists.ids() {
            let weight: u64 = self.lru.lists.iter_from_tail(l).map(|f| self.frames.pages(f)).sum();
            assert_eq!(weight, self.lru.lists.len(l), "{l}: pages of its folios");
            for f in self.lru.lists.iter_from_tail(l) {
                assert!(self.frames.has(f, flag::LRU), "{f} is on {l} without its flag");
                assert_eq!(self.lru.lists.list_of(f), l, "{f}");
            }
        }
    }

    /// Each frame of a zone is of one kind, and all kinds together are the zone.
    fn check_zone(&self, z: ZoneId, seen: &mut Seen) {
        let zone = &self.zones[z];
        let (mut in_use, mut pcp) = (0, 0);
        // Until where the frames behind a first one are its block's.
        let mut tails = (0, FrameKind::Free);
        for pfn in zone.touched().into_iter().flatten().map(Pfn) {
            let (kind, bits) = (self.frames.kind(pfn), self.frames.bits(pfn));
            let order = self.frames.order(pfn);
            if pfn.0 < tails.0 {
                assert_eq!(kind, tails.1, "{pfn} within a block: {bits:#x}");
            }
            match kind {
                FrameKind::Free | FrameKind::Tail => {
                    assert_eq!(bits >> 4, 0, "{pfn} is free and has flags {bits:#x}");
                    in_use += u64::from(kind == FrameKind::Tail);
                    continue;
                }
                FrameKind::Pcp | FrameKind::Buddy => {
                    let known = if kind == FrameKind::Buddy { flag::REPORTED } else { 0 };
                    assert_eq!((bits & !known) << 3 >> 11, 0, "{pfn} is free: {bits:#x}");
                    tails = (pfn.0 + (1 << order), FrameKind::Free);
                    pcp += u64::from(kind == FrameKind::Pcp) << order;
                    continue;
                }
                FrameKind::Anon | FrameKind::File | FrameKind::Shmem => self.check_folio(pfn, seen),
                _ => {}
            }
            tails = (pfn.0 + (1 << order), FrameKind::Tail);
            in_use += 1;
        }
        for (pfn, order) in zone.pcp_blocks() {
            let bits = (self.frames.kind(pfn), self.frames.order(pfn));
            assert_eq!(bits, (FrameKind::Pcp, order), "{pfn} is in a per-CPU list");
        }
        assert_eq!(pcp, zone.pcp_count(), "{z}: pages in per-CPU lists");
        zone.buddy().check(&self.frames);
        assert_eq!(zone.free, zone.buddy().nr_free(), "{z}: free pages");
        let isolated = zone.buddy().nr_free_of(Migratetype::Isolate);
        assert_eq!(
            in_use + zone.free + isolated + pcp + zone.reserved(),
            u64::from(zone.spanned),
            "{z}: frames lost: {in_use} in use, {} free, {pcp} per CPU, {} reserved",
            zone.free,
            zone.reserved()
        );
    }

    /// The flags of a folio agree with each other and with where it is.
    fn check_folio(&self, pfn: Pfn, seen: &mut Seen) {
        let (kind, bits) = (self.frames.kind(pfn), self.frames.bits(pfn));
        let (order, pages) = (self.frames.order(pfn), self.frames.pages(pfn));
        let large = kind == FrameKind::Anon && (SMALLEST_ORDER..=HUGE_ORDER).contains(&order);
        assert!(order == 0 || large, "{pfn} is a folio of order {order}: {bits:#x}");
        if large {
            seen.large[usize::from(order)] += 1;
            self.check_large(pfn);
        }
        let lru = self.frames.has(pfn, flag::LRU);
        seen.listed += if lru { pages } else { 0 };
        let waits = seen.waiting.contains(&pfn);
        assert!(!(lru && waits), "{pfn} is on a list and waits for one");
        let file = kind == FrameKind::File;
        let backed = self.frames.has(pfn, flag::SWAPBACKED);
        assert!(!(file && backed), "{pfn} is a file's and backed by swap");
        let shmem = kind == FrameKind::Shmem;
        let cached = self.frames.has(pfn, flag::SWAPCACHE | flag::WRITEBACK);
        assert!(!shmem || backed && !cached, "{pfn} is shared memory: {bits:#x}");
        assert!(
            backed || !self.frames.has(pfn, flag::SWAPCACHE),
            "{pfn} is in the swap cache and not backed by swap"
        );
        let orphan = self.frames.has(pfn, flag::ORPHAN);
        if !orphan {
            seen.charged[self.frames.memcg(pfn).index()] += pages;
        }
        assert!(
            lru || waits || orphan || bits & (flag::ISOLATED | flag::LOCKED) != 0,
            "{pfn} ({kind:?}, {bits:#x}) is on no list, in no batch and not isolated"
        );
    }

    /// Returns how many PTEs refer to each slot.
    fn check_pages(&self) -> IndexVec<SwapSlot, u32> {
        // Slots count from 1.
        let nr_slots = self.swap.as_ref().map_or(0, |swap| swap.end() as usize);
        let mut references = IndexVec::filled(nr_slots, 0);
        let mut mapped = vec![0u32; self.frames.len()];
        let mut anon = vec![0u64; self.virt.spaces.ids().count()];
        let mut swapped = anon.clone();
        let (mut shmem, mut used_of_shmem) = (0, BTreeMap::<_, u32>::new());
        let (mut huge, mut parted, mut hugetlb, mut unplain) = (0, 0, Vec::new(), 0);
        for g in 0..self.virt.pages.nr_groups() {
            let g = GroupId::from_index(g);
            let group = *self.virt.pages.group(g);
            huge += u64::from(group.huge);
            unplain += u32::from(group.is_unplain());
            let mut used = 0;
            // Most are empty on machines whose processes are short-lived.
            let pages = if self.virt.pages.holds_nothing(g) { 0 } else { GROUP_PAGES };
            for p in g.first().0..g.first().0 + pages {
                let p = PageIdx(p);
                let e = self.virt.pages.entry(p);
                used += u16::from(e != Entry::None);
                match (group.owner, e) {
                    (_, Entry::None) => {}
                    (Owner::Free, e) => panic!("{p} has no owner and holds {e:?}"),
                    (Owner::Process(a), Entry::Frame(f)) => {
                        mapped[f.index()] += u32::from(self.hugetlb_at(p).is_none());
                        anon[a.index()] += u64::from(self.check_mapped(p, f, group.huge));
                    }
                    (Owner::Process(a), Entry::Swap(s)) => {
                        swapped[a.index()] += 1;
                        assert!(s.index() < nr_slots, "{p} is in {s}, which there is not");
                        references[s] += 1;
                    }
                    (Owner::Process(_), Entry::Zero) => {}
                    (Owner::File(_), Entry::Frame(f)) => {
                        assert_eq!(self.frames.kind(f), FrameKind::File, "{p} caches {f}");
                        assert_eq!(self.file_page_of(f), Some(p), "{f} is cached at {p}");
                    }
                    (Owner::File(_), Entry::Shadow(_)) => {}
                    (Owner::Shmem(file), Entry::Frame(f)) => {
                        assert_eq!(self.frames.kind(f), FrameKind::Shmem, "{p} holds {f}");
                        assert_eq!(self.file_page_of(f), Some(p), "{f} is held at {p}");
                        *used_of_shmem.entry(file).or_default() += 1;
                        shmem += 1;
                    }
                    (Owner::Shmem(file), Entry::Swap(s)) => {
                        *used_of_shmem.entry(file).or_default() += 1;
                        assert!(s.index() < nr_slots, "{p} is in {s}, which there is not");
                        references[s] += 1;
                    }
                    (o, e) => panic!("{p} of {o:?} holds {e:?}"),
                }
            }
            assert_eq!(used, group.used, "{g}: PTEs in use");
            if group.huge {
                hugetlb.extend(self.check_huge(g));
            }
            if group.parts > 0 {
                parted += 1;
                self.check_parts(g);
            }
            let touched = self.virt.pages.table_touched(g);
            let entry = group.table.is_some() || group.huge;
            assert!(entry || !touched, "{g} is accessed without a page table");
        }
        assert_eq!(huge, self.virt.pages.nr_huge(), "mapped huge folios");
        assert_eq!(parted, self.virt.pages.nr_parted(), "groups with parts of large folios");
        assert_eq!(unplain, self.virt.pages.nr_unplain(), "groups that are not plain");
        self.check_hugetlb(hugetlb);
        assert_eq!(shmem, self.cache.files.nr_shmem, "pages of shared memory");
        for f in self.cache.files.ids() {
            let counted = self.cache.files[f].shmem.map_or(0, |s| s.used);
            assert_eq!(used_of_shmem.remove(&f).unwrap_or(0), counted, "{f}: pages that it has");
        }
        self.check_mapcounts(&mapped);
        for a in self.virt.spaces.ids() {
            assert_eq!(anon[a.index()], self.virt.spaces[a].rss_anon, "{a}: anonymous pages");
            assert_eq!(swapped[a.index()], self.virt.spaces[a].swapents, "{a}: swapped pages");
        }
        let sum = |of: fn(&AddressSpace) -> u64| -> u64 {
            self.virt.spaces.ids().map(|a| of(&self.virt.spaces[a])).sum()
        };
        assert_eq!(self.virt.spaces.anon_mapped, sum(|s| s.rss_anon), "anonymous pages of all");
        assert_eq!(
            self.virt.spaces.file_mapped,
            sum(|s| s.rss_file + s.rss_shmem),
            "mapped file pages of all"
        );
        references
    }

    /// A PTE of a process maps a frame that can be mapped. True if it is anonymous memory.
    fn check_mapped(&self, p: PageIdx, f: Pfn, huge: bool) -> bool {
        let idle = self.virt.pages.hot(p) & pte::IDLE != 0;
        let once = self.frames.is_anon_page_mapped_once(f);
        assert!(!idle || once && !huge, "{p} maps {f} and is marked idle");
        match self.frames.kind(f) {
            FrameKind::Anon => true,
            FrameKind::File | FrameKind::Shmem => false,
            FrameKind::HugeTlb if huge => false,
            k => panic!("{p} maps {f}, which is {k:?}"),
        }
    }

    /// A table maps one huge folio, by all of its entries. Returns the folio if it is of the pool.
    fn check_huge(&self, g: GroupId) -> Option<Pfn> {
        let head = self.large_at(g.first()).unwrap_or_else(|| panic!("{g} maps no folio"));
        assert_eq!(self.frames.order(head), HUGE_ORDER, "{g} maps {head}");
        let pooled = self.hugetlb_at(g.first()).is_some();
        assert!(pooled || self.page_of(head) == Some(g.first()), "{head}");
        for p in g.first().0..g.first().0 + GROUP_PAGES {
            assert_eq!(self.virt.pages.entry(PageIdx(p)), Entry::Frame(head), "{g}");
        }
        pooled.then_some(head)
    }

    /// A table counts the pages that map parts of large folios.
    fn check_parts(&self, g: GroupId) {
        let group = self.virt.pages.group(g);
        assert!(!group.huge && group.table.is_some(), "{g} maps parts: {group:?}");
        let pages = (g.first().0..g.first().0 + GROUP_PAGES).map(PageIdx);
        let parts = pages.filter(|&p| self.large_at(p).is_some()).count();
        assert_eq!(parts, group.parts.into(), "{g}: parts of large folios");
    }

    /// A large folio is mapped, by the pages around the one that the reverse map names, and waits to be
    /// split if it is mapped in part. The frames behind its first are nothing of their own.
    fn check_large(&self, head: Pfn) {
        let (order, pages) = (self.frames.order(head), self.frames.pages(head));
        let tails = (head.0 + 1..head.0 + pages as u32).map(Pfn);
        assert_eq!(head.0 % pages as u32, 0, "{head} has order {order}");
        tails.for_each(|t| assert_eq!(self.frames.kind(t), FrameKind::Tail, "{t} behind {head}"));
        let first = self.page_of(head).unwrap_or_else(|| panic!("{head} is large and not mapped"));
        if self.virt.pages.group(first.group()).huge {
            return;
        }
        let parts: Vec<PageIdx> = self.virt.pages.parts(self.span_of(head), head).collect();
        assert_eq!(parts.first(), Some(&first), "{head}: its first part");
        let waits = self.lru.split_queues.has(self.frames.memcg(head), head);
        assert_eq!(waits, (parts.len() as u64) < pages, "{head} and its queue");
    }

    /// Folios count the PTEs that map them.
    fn check_mapcounts(&self, mapped: &[u32]) {
        for (i, &n) in mapped.iter().enumerate() {
            let f = Pfn(i as u32);
            if self.frames.kind(f) == FrameKind::Buddy {
                assert_eq!(n, 0, "{f} is free and mapped");
                continue;
            }
            if n > 0 || self.frames.mapped(f) != Mapped::No {
                // A large folio is mapped once, by all of its pages or by some of them.
                let ptes = match self.frames.order(f) {
                    0 => self.mapcount(f).into(),
                    _ => self.pages_mapped(f),
                };
                assert_eq!(u64::from(n), ptes, "{f}: mapcount against PTEs");
            }
        }
    }

    /// A huge page of the pool is mapped once or free, and every mapping has what it may need.
    fn check_hugetlb(&self, mut mapped: Vec<Pfn>) {
        let pool = &self.kernel.hugetlb;
        assert_eq!(mapped.len() as u32, pool.mapped(), "mapped huge pages");
        mapped.sort_unstable();
        assert!(mapped.windows(2).all(|w| w[0] < w[1]), "a huge page is mapped twice");
        let vmas = self.virt.spaces.ids().flat_map(|a| self.virt.spaces.vmas_of(a));
        let of_pool = vmas.map(|&v| self.virt.spaces.vma(v)).filter(|v| v.kind == VmaKind::HugeTlb);
        let promised: u32 = of_pool.map(|v| v.pages / GROUP_PAGES).sum();
        assert_eq!(promised, pool.mapped() + pool.reserved(), "huge pages of mappings");
        assert!(pool.reserved() <= pool.free(), "{pool:?}");
    }

    /// A slot counts its PTEs; it is in use by these or by a folio of the swap cache, and all
    /// others are free.
    fn check_slots(&self, references: &IndexVec<SwapSlot, u32>) {
        let Some(swap) = &self.swap else { return };
        let mut in_use = 0;
        for (s, &n) in references.pairs().filter(|(_, n)| **n > 0) {
            assert_eq!(swap.count(s), n, "{s}: count against PTEs");
            in_use += 1;
        }
        let mut cached = 0;
        for z in self.zones.ids() {
            for pfn in self.zones[z].first.0..self.zones[z].end().0 {
                let pfn = Pfn(pfn);
                if self.frames.has(pfn, flag::SWAPCACHE) {
                    let s = self.frames.slot(pfn);
                    cached += 1;
                    in_use += u32::from(references[s] == 0);
                    assert_eq!(swap.cached(s), Cached::Folio(pfn), "{s} against {pfn}");
                }
            }
        }
        self.memcgs.check_slots(|s| swap.in_use(s));
        assert_eq!(cached, swap.cached, "folios in the swap cache");
        assert_eq!(swap.nr_free() + in_use, swap.total(), "free slots and slots in use");
    }

    /// Adds everything that decides to a digest.
    pub fn digest(&self, d: &mut Digest) {
        let counters = VmEvent::ALL.iter().map(|&e| (e, self.stats.vmstat[e]));
        d.words(counters.filter(|&(e, n)| n > 0 || !e.row().younger_than_digests).map(|c| c.1));
        for z in self.zones.ids() {
            d.words([self.zones[z].free, self.zones[z].pcp_count()]);
            for frames in self.zones[z].touched() {
                d.words(self.frames.bits_of(frames).iter().map(|&bits| bits.into()));
            }
        }
        // Accessed bits of page tables decide only under policies that walk them.
        for h in self.virt.pages.hot.chunks(8) {
            d.word(h.iter().fold(0, |a, &b| a << 8 | u64::from(b & !pte::TOUCHED)));
        }
        for l in self.lru.lists.ids() {
            d.word(self.lru.lists.len(l));
            d.words(self.lru.lists.iter_from_tail(l).map(|p| p.0.into()));
        }
        d.words(self.lru.split_queues.words());
        d.word(self.memcgs[MemcgId(0)].usage);
    }
}
