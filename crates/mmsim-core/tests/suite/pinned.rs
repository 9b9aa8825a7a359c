//! A folio in an LRU batch is pinned: reclaim takes its mappings and cannot free it (Linux 6.12.117
//! mm/vmscan.c: `pageout` and `__remove_mapping` look at the reference of the batch last).

use crate::discard::mapped_beside;
use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::base::id::PageIdx;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{Kernel, SwapConfig};
use mmsim_core::memory::trace::ScanOutcome;
use mmsim_core::memory::{Evicting, Prepared};
use mmsim_core::phys::frames::{Mapped, flag};
use mmsim_core::policy::{Departure, ReclaimPolicy, Reclaimer};
use mmsim_core::virt::pages::Entry;

/// Worked by hand: the page waits to be activated, and reclaim isolates it. It gets a slot, loses
/// its mapping and stays; nothing is written. When the batch goes to the lists, it is on no list,
/// so the activation is lost. Then it has no holder, and it is written and ready to be freed.
#[test]
fn reclaim_unmaps_a_folio_in_a_batch_and_keeps_it() {
    let device = DeviceConfig::preset("ramdisk", 1).expect("a preset");
    let swap = SwapConfig::new(64, device);
    let (mut mem, mut lru, vma) = mapped_beside(Kernel::V6_12, 3, Some(swap), 15);
    let page = PageIdx(mem.virt.spaces.vma(vma).start.0);
    let Entry::Frame(folio) = mem.virt.pages.entry(page) else { panic!("{page:?} is mapped") };
    mem.lru_activate(&mut lru, folio);
    lru.folio_departed(&mut mem, folio, Departure::Isolated);
    mem.frames.set(folio, flag::ISOLATED);

    let how = Evicting {
        by: Reclaimer::Kswapd,
        may_writepage: true,
        may_write_file: false,
        clean_only: false,
    };
    let kept = Prepared::Keep { why: ScanOutcome::KeepBusy, wrote: false };
    assert_eq!(mem.prepare_evict(folio, how), kept);
    assert_eq!(mem.frames.mapped(folio), Mapped::No);
    assert!(mem.frames.has(folio, flag::SWAPCACHE));
    assert!(
        matches!(mem.virt.pages.entry(page), Entry::Swap(_)),
        "a fault finds it in the swap cache"
    );
    assert_eq!(mem.stats.vmstat[VmEvent::PswpOut], 0);

    mem.lru_drain(&mut lru);
    assert!(!mem.frames.has(folio, flag::ACTIVE | flag::LRU | flag::IN_BATCH));
    assert_eq!(mem.prepare_evict(folio, how), Prepared::Ready { wrote: true });
    assert_eq!(mem.stats.vmstat[VmEvent::PswpOut], 1);
}
