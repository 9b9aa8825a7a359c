//! Swap-in of a large folio in one piece.
//!
//! A fault on a page whose neighbours lie in swap next to it, in the same order and at the same place
//! modulo the size, may read all of them into one folio: from a synchronous device, of a size that the
//! mapping may have, and not larger than 1 MiB. The largest size that fits is tried first. What cannot
//! be allocated falls back on the next size, and at last on a single page.
//!
//! Source: Linux 6.12 and 6.18 mm/memory.c (`alloc_swap_folio`), 7.3 mm/memory.c
//! (`thp_swapin_suitable_orders`), mm/swap_state.c. Left out: machines with zswap, which never do that
//! once it was enabled; in 7.3 a folio that could not be built for want of one group counts a fallback.
//! Which pages held zeroes is not known any more: a later split keeps all of them.

use crate::backing::Shadow;
use crate::base::id::{PageIdx, SwapSlot};
use crate::base::migratetype::Migratetype;
use crate::config::HUGE_ORDER;
use crate::machine::Machine;
use crate::machine::cpu::thread::{Fault, FaultDone};
use crate::machine::fault::thp::Unpaid;
use crate::machine::fault::touch::{Outcome, Touch, Undone};
use crate::machine::reclaim::alloc::AllocOutcome;
use crate::memory::trace::FaultKind;
use crate::memory::{Memory, SizeEvent, aligned};
use crate::phys::frames::{FolioId, FrameKind, flag};
use crate::policy::{Access, Arrival, ArrivalKind};
use std::ops::Range;

impl Machine {
    /// Swaps in the pages around one as a large folio, if they can be. `None`: a single page has to do.
    #[inline(never)]
    pub(in crate::machine) fn swap_in_whole(
        &mut self,
        touch: Touch,
        fault: &mut Fault,
        slot: SwapSlot,
    ) -> Outcome<Option<FaultDone>> {
        let Touch { tid, page, vma, .. } = touch;
        let advice = self.mem.virt.spaces.vma(vma).huge;
        let orders = self.mem.given.vm.orders(advice).below(fault.below.min(HUGE_ORDER));
        if orders.is_empty() || self.mem.knows_contents() {
            return Ok(None);
        }
        let fits = |&order: &u8| {
            let pages = aligned(page, order);
            self.is_suitable(page, vma, order) && self.mem.lie_in_a_row(&pages, page, slot)
        };
        let orders: Vec<u8> = orders.descending().filter(fits).collect();
        for order in orders {
            let memcg = self.group_for_slot(tid, slot);
            let counts = self.mem.given.rules.counts_large_swapin;
            let got = self.alloc_large(tid, vma, memcg, order).unwrap_or_else(|Unpaid| {
                if counts {
                    self.mem.count_size(order, SizeEvent::SwpinFallbackCharge, 1);
                }
                AllocOutcome::Failed
            });
            match got {
                AllocOutcome::Frame(head) => {
                    let frames = &mut self.mem.frames;
                    frames.reset_block(head, FrameKind::Anon, order, Migratetype::Unmovable);
                    frames.set(head, flag::SWAPBACKED | flag::DIRTY);
                    frames.set_memcg(head, memcg);
                    let pages = aligned(page, order);
                    let first = SwapSlot(slot.0 - (page.0 - pages.start));
                    return Ok(Some(self.fill_large(touch, *fault, head, first)));
                }
                AllocOutcome::Failed => {
                    if counts {
                        self.mem.count_size(order, SizeEvent::SwpinFallback, 1);
                    }
                    fault.below = order;
                }
                // It was cut short with its thread.
                AllocOutcome::Killed if fault.noted => return Err(Undone::Killed),
                other => {
                    fault.noted = true;
                    self.work.threads[tid].fault = Some(*fault);
                    if matches!(other, AllocOutcome::Killed) {
                        self.drop_fault(tid);
                    }
                    return other.frame().map(|_| unreachable!("no frame was found"));
                }
            }
        }
        Ok(None)
    }

    /// Reads slots in a row into a new folio and maps it.
    fn fill_large(
        &mut self,
        touch: Touch,
        fault: Fault,
        head: FolioId,
        first: SwapSlot,
    ) -> FaultDone {
        let Touch { tid, page, vma, write, .. } = touch;
        if fault.noted {
            self.work.threads[tid].fault = None;
        }
        let mem = &mut self.mem;
        let order = mem.frames.order(head);
        let pages = aligned(page, order);
        mem.acting.now += mem.given.cost.t_major_cpu;
        let flags = mem.virt.spaces.vma(vma).flags;
        if flags.locked {
            mem.mlock(head);
        }
        let shadow: Option<Shadow> = mem.private_swap(first).flatten();
        let in_fault = Some(flags.recency(mem.ignores_random()));
        let how = Arrival { kind: ArrivalKind::SwapIn, in_fault, position: 0 };
        mem.telling.refaulting = Some(page);
        let before = mem.begin_refaults_for_uses(false);
        self.policies.lru.folio_entering(mem, head, shadow, how);
        pages.clone().for_each(|p| mem.tell_of_swap_in(head, Some(PageIdx(p))));
        mem.end_refaults_for_uses(before);
        mem.lru_add(&mut *self.policies.lru, head, how);
        mem.read_large(head, first);
        mem.map_swapped_large(pages, head);
        self.policies.lru.folio_accessed(mem, head, Access::SwappedIn);
        let counts_major = !fault.major;
        FaultDone { major: true, counts_major, read: true, ..fault.done(write, FaultKind::SwapIn) }
    }
}

impl Memory {
    /// True if pages are in slots in a row, each private and at the same place modulo their number.
    fn lie_in_a_row(&self, pages: &Range<u32>, page: PageIdx, slot: SwapSlot) -> bool {
        let behind = page.0 - pages.start;
        let Some(first) = slot.0.checked_sub(behind) else { return false };
        let memcg = self.memcgs.group_of_slot(slot);
        let is_next = |(p, i): (u32, u32)| {
            let slot = SwapSlot(first + i);
            self.virt.pages.swap_entry(PageIdx(p)) == Some(slot)
                && self.private_swap(slot).is_some()
                && self.memcgs.group_of_slot(slot) == memcg
        };
        first.is_multiple_of(pages.len() as u32) && pages.clone().zip(0..).all(is_next)
    }
}
