//! Memory that a host holds for a guest: frames that the guest touched and did not report since.
//!
//! A frame is touched when it is allocated: its owner clears or fills it. A touch of a frame that the
//! host does not hold is a fault of the host, which takes time of the thread that touches. Per-CPU
//! lists and free blocks touch nothing. A reported block is held no more.
//!
//! The host gives and takes whole pages of its own, of 4 KiB or 2 MiB.
//!
//! Source: Linux 6.12 drivers/virtio/virtio_balloon.c (`virtballoon_free_page_report`).

use super::Memory;
use crate::base::id::Pfn;
use crate::base::vmstat::VmEvent;
use crate::config::host::HostConfig;
use crate::phys::backing::Backing;
use crate::phys::frames::FrameKind;

impl Memory {
    /// Puts the memory on a host, which holds what is in use now.
    pub(crate) fn on_host(&mut self, host: &HostConfig) {
        let mut backing = Backing::new(host, self.frames.len());
        let mut taken = 0;
        for z in self.zones.ids() {
            let zone = &mut self.zones[z];
            let end = zone.first.0 + zone.reserved() as u32;
            for p in zone.touched().into_iter().flatten().map(Pfn) {
                let free = matches!(
                    self.frames.kind(p),
                    FrameKind::Free | FrameKind::Buddy | FrameKind::Pcp
                );
                if p.0 < end || !free {
                    taken += backing.take(p, 0);
                }
            }
            if host.reporting {
                zone.notice_from(host.order as u8);
            }
        }
        self.stats.vmstat.add(VmEvent::SimHostFault, taken << backing.page_order());
        self.frames.backing = Some(Box::new(backing));
    }

    /// True if the memory is on a host.
    #[inline]
    pub(crate) fn is_on_host(&self) -> bool {
        self.frames.backing.is_some()
    }

    /// The owner of a block touches its frames.
    pub(super) fn touch_host(&mut self, pfn: Pfn, order: u8) {
        let Some(backing) = &mut self.frames.backing else { return };
        let pages = backing.take(pfn, order);
        self.acting.now += backing.fault_time() * pages;
        self.stats.vmstat.add(VmEvent::SimHostFault, pages << backing.page_order());
    }

    /// The host takes back a block that was reported.
    pub(crate) fn reported_to_host(&mut self, pfn: Pfn, order: u8) {
        let Some(backing) = &mut self.frames.backing else { return };
        let pages = backing.give(pfn, order);
        self.stats.vmstat.add(VmEvent::SimHostReturned, pages << backing.page_order());
        self.stats.vmstat.add(VmEvent::SimHostReported, 1 << order);
    }

    /// Pages of the guest that its host holds; 0 without a host.
    pub(crate) fn host_held(&self) -> u64 {
        self.frames.backing.as_ref().map_or(0, |b| b.held() << b.page_order())
    }
}
