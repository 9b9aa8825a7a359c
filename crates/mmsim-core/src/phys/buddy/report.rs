//! Reported blocks: free memory that the host has taken back.
//!
//! A block is reported from the moment the host has answered until it leaves its list: by an
//! allocation, as a buddy that merges, or isolated. A move to the list of another type leaves it
//! reported.
//!
//! Source: Linux 6.12 mm/page_alloc.c (`__free_one_page`, `__del_page_from_free_list`,
//! `__putback_isolated_page`), mm/page_reporting.h (`page_reporting_notify_free`).

use super::{Buddy, NR_ORDERS};
use crate::base::id::Pfn;
use crate::base::migratetype::Migratetype;
use crate::base::rules::End;
use crate::phys::frames::{Frames, flag};

/// Notice of freed blocks that are large enough to be reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Noticing {
    /// The least order that is reported; `None`: the host does not ask.
    order: Option<u8>,
    /// Such a block was freed since the last call.
    freed: bool,
}

impl Noticing {
    /// The least order that is noticed.
    #[inline]
    pub(super) fn from(self) -> u8 {
        self.order.unwrap_or(NR_ORDERS as u8)
    }
    /// Notes that a free ended in a block of this order.
    #[inline]
    pub(super) fn freed(&mut self, order: u8) {
        self.freed |= order >= self.from();
    }
}

impl Buddy {
    /// Notices blocks that are freed from this order on.
    pub(crate) fn notice_from(&mut self, order: u8) {
        self.report.order = Some(order);
    }

    /// True if such a block was freed since the last call.
    #[inline]
    pub(crate) fn take_noticed(&mut self) -> bool {
        std::mem::take(&mut self.report.freed)
    }

    /// The block nearest to the head of a list that is not reported.
    pub(crate) fn first_unreported(
        &mut self,
        frames: &mut Frames,
        order: u8,
        mt: Migratetype,
    ) -> Option<Pfn> {
        if order == self.rules.max_order && mt == Migratetype::Movable && !self.untouched.is_empty()
        {
            self.settle_run(frames);
        }
        self.lists.walk(order, mt).find(|&p| !frames.has(p, flag::REPORTED))
    }

    /// Puts a block back that the host has answered for: at the tail of its list, and reported,
    /// unless it merges. It is not noticed as freed.
    pub(crate) fn put_back_reported(&mut self, frames: &mut Frames, pfn: Pfn, order: u8) {
        let noticed = self.report.freed;
        self.free_to(frames, pfn, order, Some(End::Tail));
        self.report.freed = noticed;
        if frames.free_block_of(pfn, order).is_some() {
            frames.set(pfn, flag::REPORTED);
        }
    }
}
