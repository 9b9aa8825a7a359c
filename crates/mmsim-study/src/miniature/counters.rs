//! Which counters of a miniature say something of the full run, and why the others do not.
//!
//! docs/dev/miniatures.md has the measurements.

use mmsim_core::base::vmstat::{Transfer, VmEvent};

/// Transfer of a counter from a miniature to the whole machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Worth {
    /// Pages: times the pages that a page stands for.
    Pages,
    /// The same of what a scan meets, whose length depends on batches of pages.
    Scanned,
    /// Nothing, for this reason.
    Nothing(&'static str),
}

const WHO: &str = "who reclaims is decided within batches, and a batch is not scaled by as much";
const BATCHES: &str = "it counts batches and passes, not pages";
const ACTIVE: &str = "few pages are on their second look, and when it comes depends on batches";
const NEIGHBOURS: &str = "MGLRU looks at neighbours while it scans a batch, and of a batch fewer are \
                          left";
const BLOCKS: &str = "it counts blocks, which are neighbourhoods";
const TIME: &str = "it is a time that single threads spent";
const DRAWN: &str = "the accesses to few hot pages are most of them; see `accesses`";
const EVENTS: &str = "it counts single events";

/// Transfer of a counter under a policy that is MGLRU, or not.
pub fn worth(counter: VmEvent, mglru: bool) -> Worth {
    match counter.row().transfer {
        Transfer::Pages => Worth::Pages,
        Transfer::Scanned if mglru => Worth::Nothing(NEIGHBOURS),
        Transfer::Scanned => Worth::Scanned,
        Transfer::Who => Worth::Nothing(WHO),
        Transfer::Batches => Worth::Nothing(BATCHES),
        Transfer::Active => Worth::Nothing(ACTIVE),
        Transfer::Blocks => Worth::Nothing(BLOCKS),
        Transfer::Time => Worth::Nothing(TIME),
        Transfer::Drawn => Worth::Nothing(DRAWN),
        Transfer::Events => Worth::Nothing(EVENTS),
    }
}
