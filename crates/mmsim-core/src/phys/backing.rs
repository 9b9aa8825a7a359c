//! The host's side of frames: which of its pages it holds for its guest.

use crate::base::id::Pfn;
use crate::base::time::SimDuration;
use crate::config::host::HostConfig;

/// Pages that a host holds for its guest.
#[derive(Clone, Debug)]
pub(crate) struct Backing {
    /// log2 of the frames of a page of the host.
    page_order: u8,
    /// Bits of the host's pages, by address.
    held: Vec<u64>,
    /// Time of a fault of the host.
    fault: SimDuration,
}

impl Backing {
    /// No pages yet, for a guest of `frames` frames.
    pub(crate) fn new(host: &HostConfig, frames: usize) -> Backing {
        let pages = frames.div_ceil(1 << host.page_order());
        Backing {
            page_order: host.page_order(),
            held: vec![0; pages.div_ceil(64)],
            fault: host.fault_time(),
        }
    }

    /// log2 of the frames of a page of the host.
    pub(crate) fn page_order(&self) -> u8 {
        self.page_order
    }

    /// Time of a fault of the host.
    pub(crate) fn fault_time(&self) -> SimDuration {
        self.fault
    }

    /// Number of its pages that are held.
    pub(crate) fn held(&self) -> u64 {
        self.held.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The host's pages of a block.
    fn pages(&self, pfn: Pfn, order: u8) -> std::ops::Range<u32> {
        let first = pfn.0 >> self.page_order;
        first..first + (1 << order.saturating_sub(self.page_order))
    }

    /// Takes the pages of a block that are not held, and returns their number.
    pub(crate) fn take(&mut self, pfn: Pfn, order: u8) -> u64 {
        let pages = self.pages(pfn, order);
        pages.filter(|&p| !set(&mut self.held, p, true)).count() as u64
    }

    /// Gives the pages of a block up, and returns how many were held.
    pub(crate) fn give(&mut self, pfn: Pfn, order: u8) -> u64 {
        let pages = self.pages(pfn, order);
        pages.filter(|&p| set(&mut self.held, p, false)).count() as u64
    }
}

/// Sets or clears a bit, and returns what it was.
fn set(bits: &mut [u64], n: u32, to: bool) -> bool {
    let (word, bit) = (&mut bits[n as usize / 64], 1 << (n % 64));
    let was = *word & bit != 0;
    *word = if to { *word | bit } else { *word & !bit };
    was
}
