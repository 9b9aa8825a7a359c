//! First touches of anonymous memory, settled many at once.
//!
//! A write to a page that holds nothing yet takes a frame from the CPU's stock, maps it, and
//! adds it to the CPU's LRU batch. Until that batch is full nobody can see more of it than
//! the PTE: the frame is in no allocator and on no list. So who takes such faults one after
//! the other (`machine/fault/first_touch.rs`) writes the PTE's hot byte at once, and frames, counters,
//! policy and batch follow for all of them together.

use super::Memory;
use crate::base::id::{AsId, CpuId, MemcgId, NodeId, PageIdx, Pfn, ZoneId};
use crate::base::vmstat::VmEvent;
use crate::phys::frames::{ANON_MAPPED_ONCE, flag};
use crate::phys::gfp::AllocRequest;
use crate::policy::{Arrival, ReclaimPolicy};

/// The bits of a new folio that waits for its list.
const BITS: u32 = ANON_MAPPED_ONCE | flag::IN_BATCH;

impl Memory {
    /// The zone whose stock serves first touches, if these may be settled together now.
    /// `awake`: as for [`Memory::swap_in_run`].
    pub fn touch_zone(&self, awake: bool) -> Option<ZoneId> {
        let req = &AllocRequest::USER;
        let zone = self.zones.first_asked(NodeId(0), req.highest)?;
        let one = self.zones.nr_nodes() == 1 && self.memcgs.len() == 1;
        let quiet = !self.tracer.on() && self.io.is_empty() && self.boosted.is_none();
        let settled = self.settled == self.kernel_needs();
        (one && quiet && settled && self.serves_user(zone, awake)).then_some(zone)
    }

    /// How many first touches a CPU may take before they have to be settled, as far as the CPU is
    /// concerned; all CPUs together may take as many as the zone may give in its turn.
    pub fn touch_room(&self, zone: ZoneId, cpu: CpuId) -> usize {
        let stock = self.zones[zone].stock(cpu, AllocRequest::USER.migratetype);
        stock.len().min(self.batches.room(cpu))
    }

    /// Gives first-touched pages of a process their frames, in their order, accounts for
    /// them, and tells the policy. Their hot bytes are written.
    pub fn settle_touched(
        &mut self,
        policy: &mut dyn ReclaimPolicy,
        zone: ZoneId,
        space: AsId,
        how: Arrival,
        pages: &[u32],
    ) {
        let n = pages.len();
        let mt = AllocRequest::USER.migratetype;
        let stock = self.zones[zone].stock(self.cpu, mt);
        let (flags, rmap) = self.frames.flags_and_rmap_mut();
        let add = self.batches.adding(self.cpu);
        let mut folios = std::mem::take(&mut self.touched);
        folios.extend(pages.iter().zip(stock.iter().rev()).map(|(&page, &frame)| {
            self.pages.first_touched(PageIdx(page), Pfn(frame));
            flags[frame as usize] = BITS;
            rmap[frame as usize] = page;
            Pfn(frame)
        }));
        debug_assert_eq!(folios.len(), n, "the stock of {zone} has too few pages");
        add.extend(folios.iter().map(|&f| (f, how)));
        self.zones[zone].take_stock(self.cpu, mt, n);
        let n = n as u64;
        self.count_allocated(zone, n);
        self.count(VmEvent::PgFault, n);
        self.memcgs.charge(MemcgId(0), n);
        self.spaces[space].rss_anon += n;
        self.spaces.anon_mapped += n;
        self.spaces[space].wrote_anon = true;
        policy.folios_entering(self, &folios, how);
        folios.clear();
        self.touched = folios;
        self.lru_added(policy, n);
    }
}
