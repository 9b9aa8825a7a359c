//! Puts events for a follower into the queue ([`Queue`]), and delivers the queue at the end of a
//! tick.

use super::{Acted, Eviction, Follower, Queue, Refaulted, Use, Uses, Where};
use crate::backing::swap::Cached;
use crate::base::id::{MemcgId, NodeId, PageIdx, SwapSlot};
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
use crate::memory::{Memory, PendingFault, aligned};
use crate::phys::frames::{FolioId, FrameKind, flag};
use crate::policy::request::Reclaimer;
use crate::virt::pages::{Entry, Owner};

impl Memory {
    /// Sets or removes the follower of pages.
    pub(crate) fn set_follower(&mut self, f: Option<Box<dyn Follower>>) {
        self.telling.follower = f;
        self.telling.uses = Uses::of(self);
    }

    /// Completes the uses so far.
    #[inline]
    pub(crate) fn tell_of_uses(&mut self) {
        if self.telling.uses.on
            && self.telling.uses.queue.uses.len() > self.telling.uses.queue.complete
        {
            self.tell_of_all_uses();
        }
    }

    /// After a fault, or another step of a thread: completes the uses so far, and ends the tick if
    /// it is over. A tick ends here and nowhere else, so that samples and events, which cut steps
    /// short, do not move its end.
    #[inline]
    pub(crate) fn tell_after_step(&mut self) {
        if self.telling.uses.on {
            self.tell_of_uses();
            if self.zones.allocated - self.telling.uses.began >= self.telling.uses.grain {
                self.end_tick();
            }
        }
    }

    #[inline(never)]
    fn tell_of_all_uses(&mut self) {
        self.telling.uses.queue.close_before_use();
        let Memory { telling, virt, .. } = self;
        let (Uses { queue, one_place, .. }, pages) = (&mut telling.uses, &mut virt.pages);
        // Nothing else is to be found out about plain pages, so their folios are not waited for.
        while let Some(u) = queue.uses.get_mut(queue.complete) {
            if u.at.is_unknown() {
                if !*one_place || !pages.is_plain_anon(u.page) {
                    break;
                }
                u.at = Where::ANON;
            }
            queue.complete += 1;
        }
        if queue.complete < queue.uses.len() {
            self.find_the_rest();
        }
        if self.telling.uses.queue.is_long() {
            self.deliver();
        }
    }

    /// Finds the lists of the pages of incomplete uses, and drops uses that the follower does not
    /// get.
    #[inline(never)]
    fn find_the_rest(&mut self) {
        let first = self.telling.uses.queue.complete;
        let mut complete = first;
        for next in first..self.telling.uses.queue.uses.len() {
            let u = self.telling.uses.queue.uses[next];
            let found = if u.at.is_unknown() { self.use_of(u.page, u.last) } else { Some(u) };
            if let Some(u) = found {
                self.telling.uses.queue.uses[complete] = u;
                complete += 1;
            }
        }
        self.telling.uses.queue.uses.truncate(complete);
        self.telling.uses.queue.complete = complete;
    }

    /// A page of a file is used by a system call.
    #[inline]
    pub(crate) fn tell_of_file_use(&mut self, page: PageIdx) {
        if self.telling.uses.on {
            self.assert_all_complete();
            let last = self.telling.uses.kept.replace_last(page);
            self.telling.uses.kept.fetch(page);
            self.tell_of_one_use(page, last);
        }
    }

    #[inline(never)]
    fn tell_of_one_use(&mut self, page: PageIdx, last: u32) {
        self.telling.uses.queue.close_before_use();
        let found = match self.virt.pages.entry(page) {
            Entry::Frame(folio)
                if self.telling.uses.one_place
                    && !self.frames.has(folio, flag::MLOCKED | flag::UNEVICTABLE) =>
            {
                let file = self.frames.kind(folio) == FrameKind::File;
                Some(Use { page, last, at: Where { file, ..Where::ANON } })
            }
            _ => self.use_of(page, last),
        };
        self.telling.uses.queue.uses.extend(found);
        self.telling.uses.queue.complete = self.telling.uses.queue.uses.len();
        if self.telling.uses.queue.is_long() {
            self.deliver();
        }
    }

    /// Delivers the whole queue to the follower.
    #[inline(never)]
    fn deliver(&mut self) {
        let Uses { queue, kept, .. } = &mut self.telling.uses;
        queue.close();
        if let Some(f) = &mut self.telling.follower {
            queue.deliver(&mut **f, kept);
        }
    }

    /// Number of frames that are allocated until the tick ends.
    #[inline]
    pub(crate) fn left_of_tick(&self) -> usize {
        match self.telling.uses.on {
            true => (self.telling.uses.began + self.telling.uses.grain)
                .saturating_sub(self.zones.allocated) as usize,
            false => usize::MAX,
        }
    }

    #[inline(never)]
    fn end_tick(&mut self) {
        self.telling.uses.began = self.zones.allocated;
        let spare = self.zones.ids().map(|z| self.zones[z].spare()).sum();
        let resident = self.nr_resident();
        self.deliver();
        self.telling.uses.kept.end_tick();
        if let Some(f) = &mut self.telling.follower {
            f.ticked(resident, spare);
        }
    }

    /// True if a follower is attached.
    #[inline(always)]
    pub fn followed(&self) -> bool {
        self.telling.follower.is_some()
    }

    /// The list of a folio.
    #[inline]
    fn where_is(&self, folio: FolioId, file: bool) -> Where {
        match self.telling.uses.one_place {
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

    /// A use in the form that the follower gets; `None` if the page is not the follower's.
    fn use_of(&mut self, page: PageIdx, last: u32) -> Option<Use> {
        let folio = self.folio_used_at(page);
        let found = folio.and_then(|folio| self.use_of_folio(page, folio, last));
        if found.is_none() {
            // The use was not reported, so it must not be reported later as the last one.
            self.telling.uses.kept.ticks.set(page, last);
        }
        found
    }

    /// Asserts that all uses are complete: the follower gets hits before anything else.
    #[inline]
    fn assert_all_complete(&self) {
        let Queue { uses, complete, .. } = &self.telling.uses.queue;
        debug_assert!(uses.len() == *complete, "uses are complete before their consequences");
    }

    /// The folio that a page holds, or held when it was used: reclaim may have unmapped it since, but
    /// it stays in the swap cache until its write has ended.
    fn folio_used_at(&self, page: PageIdx) -> Option<FolioId> {
        match self.virt.pages.entry(page) {
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
        if self.virt.pages.group(page.group()).huge && self.hugetlb_at(page).is_some()
            || self.frames.has(folio, flag::MLOCKED | flag::UNEVICTABLE)
        {
            return None;
        }
        let file = self.frames.kind(folio) == FrameKind::File;
        let at = self.where_is(folio, file);
        if !self.frames.is_of_file(folio) {
            return Some(Use { page, last, at });
        }
        let of_file = match self.virt.pages.group(page.group()).owner {
            Owner::File(_) | Owner::Shmem(_) => page,
            _ => self.file_page_of(folio)?,
        };
        let last =
            if of_file == page { last } else { self.telling.uses.kept.replace_last(of_file) };
        Some(Use { page: of_file, last, at })
    }

    /// A folio came to the page cache.
    #[inline]
    pub(in crate::memory) fn tell_of_arrival(&mut self, page: PageIdx, folio: FolioId) {
        if self.followed() {
            let at = self.where_is(folio, true);
            self.telling.uses.kept.is_unused(page);
            self.telling.uses.queue.arrived(page, at);
        }
    }

    /// Prefetches the notes on pages that are evicted or kept soon.
    #[inline]
    pub fn fetch_followed(&self, pages: impl Iterator<Item = PageIdx>) {
        if self.telling.uses.on {
            for page in pages {
                self.telling.uses.kept.ticks.fetch(page);
            }
        }
    }

    /// Notes, as folios of a node are taken off a list to be evicted, if the node needs no reclaim.
    #[inline]
    pub(in crate::memory) fn note_balance(&mut self, node: NodeId) {
        if self.telling.uses.on {
            self.telling.uses.balanced = self.needs_no_reclaim(node);
        }
    }

    /// True if a node needs no reclaim.
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
        if !self.telling.uses.on {
            return;
        }
        self.assert_all_complete();
        // `MADV_PAGEOUT` names its pages, and takes none off a list.
        let balanced = match (by, of.clone().next()) {
            (Reclaimer::Advice, Some((folio, _))) => self.needs_no_reclaim(self.node_of(folio)),
            _ => self.telling.uses.balanced,
        };
        let how = Eviction { by, balanced, written };
        if self.telling.uses.one_place {
            let Uses { queue, kept, .. } = &mut self.telling.uses;
            let at = Where { file, ..Where::ANON };
            let pages = of.map(|(_, page)| {
                kept.fetch(page);
                Use { page, last: kept.last(page), at }
            });
            return queue.evicted(how, pages);
        }
        for (folio, page) in of {
            let (last, at) = (self.telling.uses.kept.last(page), self.where_is(folio, file));
            self.telling.uses.queue.evicted(how, std::iter::once(Use { page, last, at }));
        }
    }

    /// A page is written to swap, and evicted when that is done.
    #[inline]
    pub(in crate::memory) fn tell_of_swap_out(&mut self, slot: SwapSlot) {
        if self.followed() {
            let page = self.page_of_slot(slot);
            self.telling.uses.queue.written(page);
        }
    }

    /// The page of a folio that comes back, as far as it is known.
    #[inline]
    fn page_that_returns(&self, folio: FolioId) -> Option<PageIdx> {
        match self.frames.kind(folio) {
            FrameKind::File => self.file_page_of(folio),
            _ => self.telling.refaulting.or_else(|| self.page_of_slot(self.frames.slot(folio))),
        }
    }

    /// Begins a batch of refaults for uses of this step, in their order: anonymous pages, each of
    /// which is known to be [`refaulting`](super::super::Telling::refaulting). `without_device`: none
    /// is read for them. Returns how many had come before.
    #[inline]
    pub(crate) fn begin_refaults_for_uses(&mut self, without_device: bool) -> usize {
        if !self.telling.uses.on {
            return 0;
        }
        self.telling.uses.for_uses = true;
        self.telling.uses.without_device = without_device;
        if self.telling.uses.one_place && !self.telling.uses.wants.swap_ins {
            self.telling.uses.queue.turn_to(true);
            self.telling.uses.quick = true;
        }
        self.telling.uses.queue.nr_back()
    }

    /// Ends the batch of refaults for uses; `before`: result of its beginning.
    #[inline]
    pub(crate) fn end_refaults_for_uses(&mut self, before: usize) {
        if std::mem::take(&mut self.telling.uses.quick) {
            let queue = &mut self.telling.uses.queue;
            queue.note_back(queue.nr_back() > before, false);
        }
        self.telling.uses.for_uses = false;
        self.telling.uses.without_device = false;
    }

    /// A page comes back.
    #[inline]
    fn comes_back(&mut self, folio: FolioId, page: PageIdx, memcg: MemcgId, counts: bool) {
        let file = self.frames.kind(folio) == FrameKind::File;
        let (region, at) = (self.region_of(page), self.where_is(folio, file));
        let without_device = self.telling.uses.without_device
            || !file
                && self.frames.has(folio, flag::SWAPCACHE)
                && self.needs_no_device(self.frames.slot(folio));
        let for_uses = self.telling.uses.for_uses;
        let queue = &mut self.telling.uses.queue;
        queue.note_back(counts, !for_uses);
        queue.turn_to(for_uses);
        let now = self.acting.now;
        queue.came_back(Refaulted { page, region, at, memcg, counts, without_device, now });
        self.telling.uses.kept.is_unused(page);
    }

    /// Counts a refault in a group.
    #[inline(always)]
    pub fn count_refault(&mut self, folio: FolioId, memcg: MemcgId, file: bool) {
        use VmEvent::{WorkingsetRefaultAnon, WorkingsetRefaultFile};
        let event = if file { WorkingsetRefaultFile } else { WorkingsetRefaultAnon };
        let order = self.frames.order(folio);
        self.count_in(memcg, event, 1 << order);
        if self.followed() && order > 0 {
            // Each page of a large folio comes back.
            let wanted = self.telling.refaulting.expect("a large folio comes back for a page");
            for page in aligned(wanted, order) {
                self.telling.refaulting = Some(PageIdx(page));
                self.tell_of_refault(folio, memcg, file);
            }
            self.telling.refaulting = Some(wanted);
        } else if self.followed() {
            match self.telling.refaulting {
                Some(page) if self.telling.uses.quick => {
                    self.comes_back_quickly(page, memcg, file, self.acting.now);
                }
                _ => self.tell_of_refault(folio, memcg, file),
            }
        }
    }

    /// A page comes back for its use, and everything that the follower needs is known.
    #[inline]
    fn comes_back_quickly(&mut self, page: PageIdx, memcg: MemcgId, file: bool, now: SimTime) {
        let (region, at) = (self.region_of(page), Where { file, ..Where::ANON });
        let Uses { queue, without_device, .. } = &mut self.telling.uses;
        let (counts, without_device) = (true, *without_device);
        queue.came_back(Refaulted { page, region, at, memcg, counts, without_device, now });
    }

    /// Reports the refaults of a ledger, which were judged together and counted, each `entry` after
    /// its fault began.
    #[inline]
    pub fn tell_of_refaults<'a>(
        &mut self,
        refaults: impl Iterator<Item = &'a PendingFault>,
        entry: SimDuration,
    ) {
        if self.telling.uses.on {
            for f in refaults {
                self.comes_back_quickly(f.page, MemcgId(0), false, f.begin + entry);
            }
        }
    }

    #[inline(never)]
    fn tell_of_refault(&mut self, folio: FolioId, memcg: MemcgId, file: bool) {
        let page = self.page_that_returns(folio).unwrap_or_default();
        let counts = file || !self.telling.uses.wants.swap_ins;
        self.comes_back(folio, page, memcg, counts);
    }

    /// A page came back from swap.
    #[inline]
    pub(crate) fn tell_of_swap_in(&mut self, folio: FolioId, page: Option<PageIdx>) {
        if self.telling.uses.wants.swap_ins {
            let page = page.or_else(|| self.page_of_slot(self.frames.slot(folio)));
            let memcg = self.frames.memcg(folio);
            self.comes_back(folio, page.unwrap_or_default(), memcg, true);
        }
    }

    /// A page that a look had found used goes down a list.
    #[inline]
    pub fn overlooked(&mut self, page: PageIdx) {
        if self.telling.uses.on {
            self.telling.uses.kept.fetch(page);
            self.telling.uses.queue.overlooked(page);
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
            let Uses { queue, kept, .. } = &mut self.telling.uses;
            queue.close();
            for page in pages {
                if let Some(last) = kept.ticks.again(page) {
                    kept.fetch(page);
                    queue.kept(page, last);
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
            FrameKind::File | FrameKind::Shmem => self.file_page_of(folio),
            _ => self.virt.rmap.nth(self.virt.rmap.of(&self.frames, folio), 0),
        }
    }

    /// The contents of pages are gone.
    #[inline]
    pub(crate) fn tell_of_drop(&mut self, first: PageIdx, count: u32) {
        if !self.telling.uses.on {
            return;
        }
        self.tell_of_uses();
        self.deliver();
        if let Some(f) = &mut self.telling.follower {
            f.dropped(&mut self.telling.uses.kept, first, count);
        }
    }

    /// True if pages came back in a step of a thread.
    #[inline]
    pub(crate) fn refaulted_in_step(&self) -> bool {
        self.telling.uses.queue.some_back()
    }

    /// A thread's step is done.
    #[inline]
    pub(crate) fn tell_of_step(&mut self, a: Acted) {
        let Uses { queue, wants, .. } = &mut self.telling.uses;
        queue.step(a, wants.accesses, wants.swap_ins);
    }

    /// A phase ended.
    pub(crate) fn tell_of_phase(&mut self) {
        self.deliver();
        if let Some(f) = &mut self.telling.follower {
            f.phase_ended();
        }
    }

    /// Ends the run for the follower and detaches it.
    pub(crate) fn end_following(&mut self) {
        self.deliver();
        if let Some(mut f) = self.telling.follower.take() {
            let mut kept = std::mem::take(&mut self.telling.uses.kept);
            f.ended(&mut kept, self);
        }
    }
}
