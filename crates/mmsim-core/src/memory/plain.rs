//! The short way of the common folio: one anonymous page, mapped once and plainly by a
//! process of the root group, with nothing going on (`phys::frames::is_plain`).
//!
//! Nearly all folios that a scan of anonymous memory meets are like that, and for them most
//! questions of the general way (`young`, `evict`) have known answers. So a scan looks at
//! all folios of its batch first, in loops that touch one column each: their loads do not
//! wait for one another, nor for a decision about the folio before. What is evicted is
//! collected and carried out at the end of the batch, and what is counted once for each is
//! counted once for all.
//!
//! The short way gives the state, the counters and the time of the general one. It may do so
//! because nobody looks between the folios of a batch: there is none with an observer, whose
//! events carry the time; an asynchronous device, whose queue starts at the time of the
//! write, gets its folios by the general way; and before any other folio is processed by
//! the general way, [`Memory::settle_short`] makes up leeway.

use super::Memory;
use crate::backing::device::Io;
use crate::base::id::{AsId, MemcgId, PageIdx, SwapSlot};
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::phys::frames::{FolioId, is_plain};
use crate::policy::Shadow;
use crate::virt::pages::pte;

/// A folio as a scan found it.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The folio.
    pub folio: FolioId,
    /// Its flags.
    pub bits: u32,
    /// Its page if it is plain, else 0, which is no page.
    page: u32,
    /// It is plain and was accessed since it was asked last.
    pub young: bool,
}

impl Look {
    /// Whether the short way is open for it.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.page != 0
    }
}

/// An eviction to carry out: the folio has a slot.
#[derive(Clone, Copy, Debug)]
struct Victim {
    folio: FolioId,
    page: PageIdx,
    slot: SwapSlot,
    shadow: Option<Shadow>,
}

/// What went the short way and is not accounted for yet.
#[derive(Clone, Debug, Default)]
pub struct ShortWay {
    asked: u64,
    victims: Vec<Victim>,
}

impl ShortWay {
    /// A plain folio was asked for its accessed bit, and its answer is used now.
    #[inline(always)]
    pub fn ask(&mut self) {
        self.asked += 1;
    }
}

impl Memory {
    /// Looks at isolated folios. Of plain ones the accessed bit is tested and cleared if
    /// `ask`; that takes time, which whoever uses the answer has to charge.
    pub fn look(&mut self, folios: &[FolioId], ask: bool, looks: &mut Vec<Look>) {
        looks.clear();
        if self.tracer.on() {
            let bits =
                |&folio| Look { folio, bits: self.frames.bits(folio), page: 0, young: false };
            looks.extend(folios.iter().map(bits));
            return;
        }
        let frames = &self.frames;
        looks.extend(folios.iter().map(|&folio| {
            let bits = frames.bits(folio);
            let page = if is_plain(bits) { frames.rmap[folio] } else { 0 };
            Look { folio, bits, page, young: false }
        }));
        let clear = if ask { pte::YOUNG } else { 0 };
        let (hot, groups) = self.pages.hot_and_groups();
        for l in looks {
            // Page 0 lies in a group of nobody, which is not plain.
            if groups[PageIdx(l.page).group()].plain {
                let h = &mut hot[l.page as usize];
                l.young = *h & pte::YOUNG != 0;
                *h &= !clear;
            } else {
                l.page = 0;
            }
        }
    }

    /// Whether plain folios may be evicted the short way.
    pub fn evicts_short(&self) -> bool {
        !self.tracer.on() && self.swap.as_ref().is_some_and(|s| s.device.config().synchronous)
    }

    /// Takes a swap slot for a plain folio that shall be evicted.
    #[inline(always)]
    pub fn slot_for_short(&mut self) -> Option<SwapSlot> {
        let cpu = self.cpu.0.into();
        self.swap.as_mut()?.pick(cpu)
    }

    /// Evicts a plain folio to the slot that was taken for it, by [`Memory::settle_short`].
    #[inline(always)]
    pub fn evict_short(
        &mut self,
        short: &mut ShortWay,
        look: &Look,
        slot: SwapSlot,
        shadow: Option<Shadow>,
    ) {
        debug_assert!(look.is_plain());
        let page = PageIdx(look.page);
        short.victims.push(Victim { folio: look.folio, page, slot, shadow });
    }

    /// Carries out and accounts for what went the short way since the last time.
    pub fn settle_short(&mut self, short: &mut ShortWay) {
        let n = short.victims.len() as u64;
        let mut each = SimDuration::ZERO;
        if n > 0 {
            each = self.cost.t_unmap + self.cost.t_swap_submit;
            let swap = self.swap.as_mut().expect("the folios have slots");
            each += swap.device.sync_cost(Io::Write, 1);
            self.zram_stored += n * u64::from(swap.device.config().stored_bytes_per_page > 0);
            for v in &short.victims {
                swap.store(v.slot, v.shadow);
            }
            self.unmap_short(&short.victims);
            for v in &short.victims {
                debug_assert_eq!(self.frames.memcg(v.folio), MemcgId(0));
                self.free_frame(v.folio);
            }
            self.memcgs.charge_swap(MemcgId(0), n);
            self.memcgs.uncharge(MemcgId(0), n);
            self.count(VmEvent::NrVmscanWrite, n);
            self.count(VmEvent::PswpOut, n);
            self.evictions += n;
            short.victims.clear();
        }
        self.now += SimDuration(self.cost.t_scan_mapping.0 * short.asked + each.0 * n);
        short.asked = 0;
    }

    /// Makes swap entries of the PTEs that map the victims.
    fn unmap_short(&mut self, victims: &[Victim]) {
        let mut of = (AsId(0), 0);
        for v in victims {
            let space = self.space_of(v.page);
            if space != of.0 {
                self.swapped_out(of);
                of = (space, 0);
            }
            of.1 += 1;
            self.pages.swap_out(v.page, v.slot, pte::EXCLUSIVE);
        }
        self.swapped_out(of);
    }

    fn swapped_out(&mut self, (space, n): (AsId, u64)) {
        let s = &mut self.spaces[space];
        s.rss_anon -= n;
        s.swapents += n;
    }
}
