//! Tells a follower what happens: puts it into the queue ([`Told`]), and tells of that at the end of
//! a tick.

use super::{Acted, Eviction, Follower, Refaulted, Told, Use, Uses, Where};
use crate::backing::swap::Cached;
use crate::base::id::{MemcgId, NodeId, PageIdx};
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
use crate::memory::{Memory, PendingFault};
use crate::phys::frames::{FolioId, FrameKind, flag};
use crate::policy::request::Reclaimer;
use crate::virt::pages::{Entry, Owner};

impl Memory {
    /// Sets or removes who follows pages.
    pub fn set_follower(&mut self, f: Option<Box<dyn Follower>>) {
        self.follower = f;
        self.uses = Uses::of(self);
    }

    /// Notes the uses so far, as they are to be told.
    #[inline]
    pub(crate) fn tell_of_uses(&mut self) {
        if self.uses.on && self.uses.told.uses.len() > self.uses.told.ready {
            self.tell_of_all_uses();
        }
    }

    /// After a fault, or another step of a thread: tells of the uses so far, and perhaps of the end
    /// of the tick. A tick ends here and nowhere else, so that samples and events, which cut steps
    /// short, move none.
    #[inline]
    pub(crate) fn tell_after_step(&mut self) {
        if self.uses.on {
            self.tell_of_uses();
            if self.nr_allocated() - self.uses.began >= self.uses.grain {
                self.end_tick();
            }
        }
    }

    #[inline(never)]
    fn tell_of_all_uses(&mut self) {
        self.uses.told.close_before_use();
        let Memory { uses: Uses { told, one_place, .. }, pages, .. } = self;
        // Of plain pages nothing else is to be known, so nobody waits for their folios.
        while let Some(u) = told.uses.get_mut(told.ready) {
            if u.at.is_unknown() {
                if !*one_place || !pages.is_plain_anon(u.page) {
                    break;
                }
                u.at = Where::ANON;
            }
            told.ready += 1;
        }
        if told.ready < told.uses.len() {
            self.find_the_rest();
        }
        if self.uses.told.are_many() {
            self.tell_all();
        }
    }

    /// Finds out where the pages are whose uses wait for it, and leaves out those that are not told.
    #[inline(never)]
    fn find_the_rest(&mut self) {
        let first = self.uses.told.ready;
        let mut ready = first;
        for next in first..self.uses.told.uses.len() {
            let u = self.uses.told.uses[next];
            let found = if u.at.is_unknown() { self.use_of(u.page, u.last) } else { Some(u) };
            if let Some(u) = found {
                self.uses.told.uses[ready] = u;
                ready += 1;
            }
        }
        self.uses.told.uses.truncate(ready);
        self.uses.told.ready = ready;
    }

    /// A page of a file is used by way of the kernel.
    #[inline]
    pub(crate) fn tell_of_file_use(&mut self, page: PageIdx) {
        if self.uses.on {
            self.assert_all_ready();
            let last = self.uses.kept.replace_last(page);
            self.uses.kept.fetch(page);
            self.tell_of_one_use(page, last);
        }
    }

    #[inline(never)]
    fn tell_of_one_use(&mut self, page: PageIdx, last: u32) {
        self.uses.told.close_before_use();
        let told = match self.pages.entry(page) {
            Entry::Frame(folio)
                if self.uses.one_place
                    && !self.frames.has(folio, flag::MLOCKED | flag::UNEVICTABLE) =>
            {
                let file = self.frames.kind(folio) == FrameKind::File;
                Some(Use { page, last, at: Where { file, ..Where::ANON } })
            }
            _ => self.use_of(page, last),
        };
        self.uses.told.uses.extend(told);
        self.uses.told.ready = self.uses.told.uses.len();
        if self.uses.told.are_many() {
            self.tell_all();
        }
    }

    /// Tells of all so far.
    #[inline(never)]
    fn tell_all(&mut self) {
        let Uses { told, kept, .. } = &mut self.uses;
        told.close();
        if let Some(f) = &mut self.follower {
            told.tell(&mut **f, kept);
        }
    }

    /// How many frames are allocated until the tick ends.
    #[inline]
    pub(crate) fn left_of_tick(&self) -> usize {
        match self.uses.on {
            true => {
                (self.uses.began + self.uses.grain).saturating_sub(self.nr_allocated()) as usize
            }
            false => usize::MAX,
        }
    }

    #[inline(never)]
    fn end_tick(&mut self) {
        self.uses.began = self.nr_allocated();
        let spare = self.zones.ids().map(|z| self.zones[z].spare()).sum();
        let resident = self.lru_total + self.batches.nr_waiting();
        self.tell_all();
        self.uses.kept.end_tick();
        if let Some(f) = &mut self.follower {
            f.ticked(resident, spare);
        }
    }

    /// Whether anybody follows pages.
    #[inline(always)]
    pub fn followed(&self) -> bool {
        self.follower.is_some()
    }

    /// Frames allocated so far.
    #[inline]
    fn nr_allocated(&self) -> u64 {
        use VmEvent::{PgAllocDma, PgAllocDma32, PgAllocMovable, PgAllocNormal};
        let zones = [PgAllocDma, PgAllocDma32, PgAllocNormal, PgAllocMovable];
        zones.iter().map(|&e| self.vmstat[e]).sum()
    }

    /// The list of a folio.
    #[inline]
    fn where_is(&self, folio: FolioId, file: bool) -> Where {
        match self.uses.one_place {
            true => Where { file, ..Where::ANON },
            false => self.where_of_many(folio, file),
        }
    }

    #[inline(never)]
    fn where_of_many(&self, folio: FolioId, file: bool) -> Where {
        let zone = self.zones.of(folio);
        let by_zone = self.zones.lru_by_zone();
        let lists = if by_zone { zone.0 } else { self.zones[zone].node.0 };
        Where { lists, memcg: self.frames.memcg(folio), file }
    }

    /// A use, as it is told; none of a page that is not the follower's.
    fn use_of(&mut self, page: PageIdx, last: u32) -> Option<Use> {
        let told = self.folio_used_at(page);
        let told = told.and_then(|folio| self.use_of_folio(page, folio, last));
        if told.is_none() {
            // Nobody is told, so nobody is to hear of it as the last use.
            self.uses.kept.ticks.set(page, last);
        }
        told
    }

    /// Hits are told before anything else is.
    #[inline]
    fn assert_all_ready(&self) {
        let Told { uses, ready, .. } = &self.uses.told;
        debug_assert!(uses.len() == *ready, "uses are told before what comes of them");
    }

    /// The folio that a page holds, or held when it was used: reclaim may have unmapped it since, but
    /// it stays in the swap cache until its write has ended.
    fn folio_used_at(&self, page: PageIdx) -> Option<FolioId> {
        match self.pages.entry(page) {
            Entry::Frame(folio) => Some(folio),
            Entry::Swap(slot) => match self.swap.as_ref()?.cached(slot) {
                Cached::Folio(folio) => Some(folio),
                _ => None,
            },
            Entry::None | Entry::Zero | Entry::Shadow(_) => None,
        }
    }

    #[inline]
    fn use_of_folio(&mut self, page: PageIdx, folio: FolioId, last: u32) -> Option<Use> {
        if self.pages.group(page.group()).huge && self.hugetlb_at(page).is_some()
            || self.frames.has(folio, flag::MLOCKED | flag::UNEVICTABLE)
        {
            return None;
        }
        let file = self.frames.kind(folio) == FrameKind::File;
        let at = self.where_is(folio, file);
        if !file {
            return Some(Use { page, last, at });
        }
        let of_file = match self.pages.group(page.group()).owner {
            Owner::File(_) => page,
            _ => self.file_page_of(folio)?,
        };
        let last = if of_file == page { last } else { self.uses.kept.replace_last(of_file) };
        Some(Use { page: of_file, last, at })
    }

    /// A folio came to the page cache.
    #[inline]
    pub(in crate::memory) fn tell_of_arrival(&mut self, page: PageIdx, folio: FolioId) {
        if self.followed() {
            let at = self.where_is(folio, true);
            self.uses.kept.is_unused(page);
            self.uses.told.arrived(page, at);
        }
    }

    /// Has memory fetch what is noted of pages that are evicted or kept soon.
    #[inline]
    pub fn fetch_followed(&self, pages: impl Iterator<Item = PageIdx>) {
        if self.uses.on {
            for page in pages {
                self.uses.kept.ticks.fetch(page);
            }
        }
    }

    /// Folios of a node are taken off a list, to be evicted.
    #[inline]
    pub(in crate::memory) fn note_balance(&mut self, node: NodeId) {
        if self.uses.on {
            self.uses.balanced = self.needs_no_reclaim(node);
        }
    }

    /// Whether a node needs no reclaim.
    fn needs_no_reclaim(&self, node: NodeId) -> bool {
        self.zones.of_node(node).iter().any(|&z| self.zones[z].spare() > 0)
    }

    /// Folios were evicted, each mapped at a page, by the same reclaimer in one batch.
    pub(in crate::memory) fn tell_of_evictions(
        &mut self,
        of: impl Iterator<Item = (FolioId, PageIdx)> + Clone,
        by: Reclaimer,
        file: bool,
        written: bool,
    ) {
        if !self.uses.on {
            return;
        }
        self.assert_all_ready();
        // Who asks for pages by name takes none off a list.
        let balanced = match (by, of.clone().next()) {
            (Reclaimer::Advice, Some((folio, _))) => self.needs_no_reclaim(self.node_of(folio)),
            _ => self.uses.balanced,
        };
        let how = Eviction { by, balanced, written };
        if self.uses.one_place {
            let Uses { told, kept, .. } = &mut self.uses;
            let at = Where { file, ..Where::ANON };
            let pages = of.map(|(_, page)| {
                kept.fetch(page);
                Use { page, last: kept.last(page), at }
            });
            return told.evicted(how, pages);
        }
        for (folio, page) in of {
            let (last, at) = (self.uses.kept.last(page), self.where_is(folio, file));
            self.uses.told.evicted(how, std::iter::once(Use { page, last, at }));
        }
    }

    /// A page is written to swap, and evicted when that is done.
    #[inline]
    pub(in crate::memory) fn tell_of_swap_out(&mut self, folio: FolioId) {
        if self.followed() {
            let page = self.page_of_slot(self.frames.slot(folio));
            self.uses.told.written(page);
        }
    }

    /// The page of a folio that comes back: whose it was, as far as anybody knows.
    #[inline]
    fn page_that_returns(&self, folio: FolioId) -> Option<PageIdx> {
        match self.frames.kind(folio) {
            FrameKind::File => self.file_page_of(folio),
            _ => self.refaulting.or_else(|| self.page_of_slot(self.frames.slot(folio))),
        }
    }

    /// What comes back now does so for uses of this step, in their order: anonymous pages, each of
    /// which is known to be [`refaulting`](Memory::refaulting). Returns how many had come before.
    #[inline]
    pub(crate) fn come_for_uses(&mut self) -> usize {
        if !self.uses.on {
            return 0;
        }
        self.uses.for_uses = true;
        if self.uses.one_place && !self.uses.wants.swap_ins {
            self.uses.told.turn_to(true);
            self.uses.quick = true;
        }
        self.uses.told.nr_back()
    }

    /// All of them have come.
    #[inline]
    pub(crate) fn came_for_uses(&mut self, before: usize) {
        if std::mem::take(&mut self.uses.quick) {
            let told = &mut self.uses.told;
            told.note_back(told.nr_back() > before, false);
        }
        self.uses.for_uses = false;
    }

    /// A page comes back.
    #[inline]
    fn comes_back(&mut self, page: PageIdx, at: Where, memcg: MemcgId, counts: bool) {
        let region = self.region_of(page);
        let for_uses = self.uses.for_uses;
        let told = &mut self.uses.told;
        told.note_back(counts, !for_uses);
        told.turn_to(for_uses);
        told.came_back(Refaulted { page, region, at, memcg, counts, now: self.now });
        self.uses.kept.is_unused(page);
    }

    /// Counts a refault in a group.
    #[inline(always)]
    pub fn count_refault(&mut self, folio: FolioId, memcg: MemcgId, file: bool) {
        use VmEvent::{WorkingsetRefaultAnon, WorkingsetRefaultFile};
        self.count_in(memcg, if file { WorkingsetRefaultFile } else { WorkingsetRefaultAnon }, 1);
        if self.followed() {
            match self.refaulting {
                Some(page) if self.uses.quick => {
                    self.comes_back_quickly(page, memcg, file, self.now);
                }
                _ => self.tell_of_refault(folio, memcg, file),
            }
        }
    }

    /// A page comes back for its use, and all is known of it.
    #[inline]
    fn comes_back_quickly(&mut self, page: PageIdx, memcg: MemcgId, file: bool, now: SimTime) {
        let (region, at) = (self.region_of(page), Where { file, ..Where::ANON });
        self.uses.told.came_back(Refaulted { page, region, at, memcg, counts: true, now });
    }

    /// Refaults of a ledger were judged together and counted: tells of them, each `entry` after its
    /// fault began.
    #[inline]
    pub fn tell_of_refaults<'a>(
        &mut self,
        refaults: impl Iterator<Item = &'a PendingFault>,
        entry: SimDuration,
    ) {
        if self.uses.on {
            for f in refaults {
                self.comes_back_quickly(f.page, MemcgId(0), false, f.begin + entry);
            }
        }
    }

    #[inline(never)]
    fn tell_of_refault(&mut self, folio: FolioId, memcg: MemcgId, file: bool) {
        let page = self.page_that_returns(folio).unwrap_or_default();
        let counts = file || !self.uses.wants.swap_ins;
        self.comes_back(page, self.where_is(folio, file), memcg, counts);
    }

    /// A page came back from swap.
    #[inline]
    pub(crate) fn tell_of_swap_in(&mut self, folio: FolioId, page: Option<PageIdx>) {
        if self.uses.wants.swap_ins {
            let page = page.or_else(|| self.page_of_slot(self.frames.slot(folio)));
            let memcg = self.frames.memcg(folio);
            self.comes_back(page.unwrap_or_default(), self.where_is(folio, false), memcg, true);
        }
    }

    /// A page that a look had found used goes down a list.
    #[inline]
    pub fn overlooked(&mut self, page: PageIdx) {
        if self.uses.on {
            self.uses.kept.fetch(page);
            self.uses.told.overlooked(page);
        }
    }

    /// The same of a folio that is mapped, or of a file.
    #[inline]
    pub fn overlooked_folio(&mut self, folio: FolioId) {
        if self.followed()
            && let Some(page) = self.page_looked_at(folio)
        {
            self.overlooked(page);
        }
    }

    /// A look found pages used, and left them where they are.
    #[inline]
    pub fn kept(&mut self, pages: impl Iterator<Item = PageIdx>) {
        if self.followed() {
            let Uses { told, kept, .. } = &mut self.uses;
            told.close();
            for page in pages {
                if let Some(last) = kept.ticks.again(page) {
                    kept.fetch(page);
                    told.kept(page, last);
                }
            }
        }
    }

    /// The same of a folio that is mapped, or of a file.
    #[inline]
    pub fn kept_folio(&mut self, folio: FolioId) {
        if self.followed() {
            self.kept(self.page_looked_at(folio).into_iter());
        }
    }

    fn page_looked_at(&self, folio: FolioId) -> Option<PageIdx> {
        match self.frames.kind(folio) {
            FrameKind::File => self.file_page_of(folio),
            _ => self.rmap.nth(self.rmap.of(&self.frames, folio), 0),
        }
    }

    /// What pages hold is gone.
    #[inline]
    pub(crate) fn tell_of_drop(&mut self, first: PageIdx, count: u32) {
        if !self.uses.on {
            return;
        }
        self.tell_of_uses();
        self.tell_all();
        if let Some(f) = &mut self.follower {
            f.dropped(&mut self.uses.kept, first, count);
        }
    }

    /// Whether pages came back in a step of a thread.
    #[inline]
    pub(crate) fn some_came_back(&self) -> bool {
        self.uses.told.some_back()
    }

    /// A thread's step is done.
    #[inline]
    pub(crate) fn tell_of_step(&mut self, a: Acted) {
        let Uses { told, wants, .. } = &mut self.uses;
        told.step(a, wants.accesses, wants.swap_ins);
    }

    /// A phase ended.
    pub(crate) fn tell_of_phase(&mut self) {
        self.tell_all();
        if let Some(f) = &mut self.follower {
            f.phase_ended();
        }
    }

    /// The run is over: nobody follows any more.
    pub(crate) fn end_following(&mut self) {
        self.tell_all();
        if let Some(mut f) = self.follower.take() {
            let mut kept = std::mem::take(&mut self.uses.kept);
            f.ended(&mut kept, self);
        }
    }
}
