//! What comes of compaction.

/// What came of a run, or why there was none (`enum compact_result`).
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
    /// A block may be had now (`COMPACT_SUCCESS`; `COMPACT_PARTIAL` up to 4.8, where that also
    /// stands for [`CompactResult::Contended`]).
    Success,
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
