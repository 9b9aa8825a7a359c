//! Results of compaction.

/// Result of a run, or the reason why there was none (`enum compact_result`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompactResult {
    /// Not tried: too little free memory, or fragmentation is not what is in the way.
    Skipped,
    /// Not tried: it failed too often of late.
    Deferred,
    /// Goes on; never the end of a run.
    Continue,
    /// The scanners met, having seen all of the zone, and no block was made.
    Complete,
    /// The scanners met, having seen part of the zone.
    PartialSkipped,
    /// Given up: others wait, too much is isolated, a limit was reached.
    Contended,
    /// A block is free now (`COMPACT_SUCCESS`; `COMPACT_PARTIAL` up to 4.8, where that also stands
    /// for [`CompactResult::Contended`]).
    Success,
}

/// Reason why no block was made or found. Who decides says it, at the place of the decision.
///
/// A result of the kernel does not: up to 4.8 PARTIAL is a success and a run that was given up, and
/// scanners that meet may have run out of free pages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NoBlock {
    /// No compaction ran: the request may not wait for it, or the kernel has none.
    NotTried,
    /// Too little was free to move pages to, at the begin of the run or in its course.
    NoSpace,
    /// It was put off, since runs had failed of late.
    Deferred,
    /// It ended before all of the zone was seen: at a limit, or since its scanners had begun amid
    /// the zone. `COMPACT_PARTIAL_SKIPPED` is a withdrawal in `compaction_withdrawn()` of 4.7, too.
    GaveUp,
    /// All of the zone was seen, and what could be moved did not make a block.
    NotMovable,
    /// A block was there, and none when the request asked.
    Raced,
}

impl CompactResult {
    /// As the kernel's tracepoints write it.
    pub const fn name(self) -> &'static str {
        match self {
            CompactResult::Skipped => "skipped",
            CompactResult::Deferred => "deferred",
            CompactResult::Continue => "continue",
            CompactResult::Complete => "complete",
            CompactResult::PartialSkipped => "partial_skipped",
            CompactResult::Contended => "contended",
            CompactResult::Success => "success",
        }
    }
}
