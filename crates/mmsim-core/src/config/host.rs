//! The host under a virtual machine: the reports that it gets of free memory, and costs of its faults.

use crate::base::kernel::NEWEST;
use crate::base::time::SimDuration;
use crate::{settings, words};

words! {
    /// Size of the host's pages.
    HostPage {
        Small = "4KiB", "pages as small as the guest's";
        Huge = "2MiB", "huge pages: a touch of one page of the guest takes 2 MiB";
    }
}

settings! {
    /// The host of a guest, which takes back memory that is reported free.
    ///
    /// Source: Linux 6.12 mm/page_reporting.c; 7.3 for the delay as a parameter. The times that the
    /// host takes are choices (evidence/calibration.toml).
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct HostConfig {
        /// The balloon device reports free pages (`free-page-reporting=on`).
        reporting: bool = false, .toml();
        /// log2 of the pages of the least block that is reported (`page_reporting_order`).
        order: u32 = 9, .range(0, 10);
        /// Blocks in a report (`PAGE_REPORTING_CAPACITY`).
        capacity: u32 = 32, .range(1, 32);
        /// Time from a free to the report, and least time between two runs (`page_reporting_delay_ms`).
        delay: SimDuration = SimDuration::from_millis(2_000);
        /// Time that the host takes for each reported block.
        answer: SimDuration = SimDuration::from_micros(20);
        /// Page of the host, which it gives and takes as a whole.
        page: HostPage = HostPage::Small;
        /// Time of a fault of the host for a page of 4 KiB; for one of 2 MiB it is 40 times as long.
        fault: SimDuration = SimDuration::from_nanos(1_500);
    }
    check contradiction;
}

/// A block below a page of the host gives nothing back.
fn contradiction(host: &HostConfig) -> Option<(&'static str, String, &'static str)> {
    let below = host.order < u32::from(host.page_order());
    below.then(|| ("order", "9".to_owned(), "a block smaller than the host's pages frees none"))
}

impl HostConfig {
    /// Faults of the host for pages of 4 KiB that take as long as one for 2 MiB.
    pub const HUGE_FAULT: u64 = 40;

    /// A host that asks for nothing.
    pub const fn linux() -> HostConfig {
        HostConfig::of(NEWEST)
    }

    /// log2 of the pages that the host gives and takes at a time.
    pub(crate) const fn page_order(&self) -> u8 {
        match self.page {
            HostPage::Small => 0,
            HostPage::Huge => 9,
        }
    }

    /// Time of a fault of the host.
    pub(crate) fn fault_time(&self) -> SimDuration {
        match self.page {
            HostPage::Small => self.fault,
            HostPage::Huge => self.fault * HostConfig::HUGE_FAULT,
        }
    }
}
