//! Which counters of a miniature say something of the full run, and why the others do not.
//!
//! docs/dev/miniatures.md has the measurements.

use mmsim_core::base::vmstat::VmEvent;

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
    use VmEvent::*;
    match counter {
        PgFault
        | PgMajFault
        | PswpIn
        | PswpOut
        | SwapRa
        | SwapRaHit
        | PgpgIn
        | PgpgOut
        | PgAllocDma
        | PgAllocDma32
        | PgAllocNormal
        | PgAllocMovable
        | PgFree
        | PgLazyFree
        | PgLazyFreed
        | PgStealAnon
        | PgStealFile
        | NrVmscanWrite
        | NrDirtied
        | NrWritten
        | WorkingsetRefaultAnon
        | WorkingsetRefaultFile
        | SimEvictClean
        | SimMemcgReclaimAsked
        | UnevictablePgsCulled
        | UnevictablePgsRescued
        | UnevictablePgsMlocked
        | UnevictablePgsMunlocked => Worth::Pages,
        PgScanAnon | PgScanFile | SimScanKeep if mglru => Worth::Nothing(NEIGHBOURS),
        PgScanAnon | PgScanFile | SimScanKeep => Worth::Scanned,
        PgStealKswapd | PgStealDirect | PgStealProactive | PgScanKswapd | PgScanDirect
        | PgScanProactive | PgSkipDma | PgSkipDma32 | PgSkipNormal | PgSkipMovable => {
            Worth::Nothing(WHO)
        }
        AllocStallDma
        | AllocStallDma32
        | AllocStallNormal
        | AllocStallMovable
        | PgScanDirectThrottle
        | PageOutRun
        | KswapdLowWmarkHitQuickly
        | KswapdHighWmarkHitQuickly
        | SlabsScanned
        | NrSwpIn
        | NrSwpOut
        | WorkingsetNodereclaim => Worth::Nothing(BATCHES),
        PgActivate
        | PgDeactivate
        | PgRotateAnon
        | PgRotateFile
        | PgRefill
        | PgReuse
        | PgRotated
        | NrVmscanImmediateReclaim
        | WorkingsetActivateAnon
        | WorkingsetActivateFile
        | WorkingsetRestoreAnon
        | WorkingsetRestoreFile => Worth::Nothing(ACTIVE),
        SimDirectReclaimNs | SimDirectCompactNs | SimFsyncNs => Worth::Nothing(TIME),
        SimAccesses => Worth::Nothing(DRAWN),
        OomKill | DropPagecache | SimMemcgReclaimShort | SimFsync | SimLruGenWrites
        | SimLruGenRefused => Worth::Nothing(EVENTS),
        PgMigrateSuccess
        | PgMigrateFail
        | CompactMigrateScanned
        | CompactFreeScanned
        | CompactIsolated
        | CompactStall
        | CompactFail
        | CompactSuccess
        | CompactDaemonWake
        | CompactDaemonMigrateScanned
        | CompactDaemonFreeScanned
        | HtlbBuddyAllocSuccess
        | HtlbBuddyAllocFail
        | ThpFaultAlloc
        | ThpFaultFallback
        | ThpFaultFallbackCharge
        | ThpSplitPage
        | ThpDeferredSplitPage
        | SimExtfrag
        | SimExtfragFragmenting
        | SimExtfragSevere
        | SimExtfragOwnership
        | SimExtfragUR
        | SimExtfragUM
        | SimExtfragRU
        | SimExtfragRM
        | SimExtfragMR
        | SimExtfragMU
        | SimClaimUR
        | SimClaimUM
        | SimClaimRU
        | SimClaimRM
        | SimClaimMR
        | SimClaimMU
        | SimMigrateAgain
        | SimMigrateBack
        | SimEmptiedTargets
        | SimRefilledSources
        | SimChosenTwice
        | SimKernelAlloc
        | SimKernelAllocFail
        | SimHighAlloc
        | SimHighAllocLists
        | SimHighAllocAsync
        | SimHighAllocReclaim
        | SimHighAllocSync
        | SimHighAllocFail
        | SimCandidates
        | SimCandidatesFree
        | SimCandidatesBound
        | SimPureMovableBlocks => Worth::Nothing(BLOCKS),
    }
}
