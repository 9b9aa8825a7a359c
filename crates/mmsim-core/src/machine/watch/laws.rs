//! Conservation laws: what must hold between counters, whatever was simulated.
//!
//! The counter that a counter never exceeds stands in its row
//! (`within`). A law between sums is a row of `LAWS`. An
//! audit ([`Machine::check`]) asks all of them between two steps, so what is under way counts as
//! well. Sources are of Linux 6.12 where no other version is named.

use crate::base::id::{MemcgId, ZoneId};
use crate::base::vmstat::VmEvent;
use crate::machine::Machine;
use crate::memory::MemcgEvent;
use VmEvent as E;

/// Comparison of the two sides of a law.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// The left side is at most the right one.
    AtMost,
    /// Both sides are equal.
    Equal,
}

/// One addend of a side.
#[derive(Clone, Copy, Debug)]
pub enum Term {
    /// A counter of the machine.
    Counter(VmEvent),
    /// The same counter, as far as only groups count it: reclaim for a limit.
    GroupsOnly(VmEvent),
    /// Something else, with its name: a gauge, or what a run keeps about its threads.
    Quantity(&'static str, fn(&Machine) -> u64),
}

/// One law.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// Its name in messages.
    pub name: &'static str,
    /// Summed up.
    pub left: &'static [Term],
    /// Against the right side.
    pub relation: Relation,
    /// Summed up.
    pub right: &'static [Term],
    /// Why it holds: the kernel's function, or the model's rule.
    pub source: &'static str,
}

impl Term {
    fn name(self) -> String {
        match self {
            Term::Counter(e) => e.name().into(),
            Term::GroupsOnly(e) => format!("{} of limits", e.name()),
            Term::Quantity(name, _) => name.into(),
        }
    }
    fn value(self, m: &Machine) -> u64 {
        match self {
            Term::Counter(e) => m.mem.stats.vmstat[e],
            Term::GroupsOnly(e) => m.mem.memcgs.vmstat(MemcgId(0))[e],
            Term::Quantity(_, of) => of(m),
        }
    }
}

const fn law(
    name: &'static str,
    left: &'static [Term],
    relation: Relation,
    right: &'static [Term],
    source: &'static str,
) -> Law {
    Law { name, left, relation, right, source }
}

/// A side of counters.
macro_rules! counters {
    ($($e:ident)+) => { &[$(Term::Counter(E::$e)),+] };
}

use Relation::{AtMost, Equal};

const MINOR: Term = Term::Quantity("latencies of minor faults", |m| m.record.latency[0].total());
const MAJOR: Term = Term::Quantity("latencies of major faults", |m| m.record.latency[1].total());
const GROUP_KILLS: Term = Term::Quantity("groups that were killed", |m| {
    let kills = |g| m.mem.memcgs[g].events.local[MemcgEvent::OomGroupKill as usize];
    m.mem.memcgs.ids().map(kills).sum()
});
const MOVED_BY_MONITORS: Term =
    Term::Quantity("pages that monitors moved", |m| m.record.moved_by_monitors);
const RETRIED: Term = Term::Quantity("retried faults", |m| m.record.retried_faults);
const UNDER_WAY: Term = Term::Quantity("faults under way", |m| m.faults_under_way(false));
const MAJOR_UNDER_WAY: Term =
    Term::Quantity("major faults under way", |m| m.faults_under_way(true));
const CUT_SHORT: Term =
    Term::Quantity("faults of killed threads", |m| m.record.faults_cut_short[0]);
const MAJOR_CUT_SHORT: Term =
    Term::Quantity("major faults of killed threads", |m| m.record.faults_cut_short[1]);
const SWAP_USED: Term = Term::Quantity("nr_swap_used", |m| {
    m.mem.swap.as_ref().map_or(0, |s| u64::from(s.in_use_count()))
});
const SWAP_CACHED: Term =
    Term::Quantity("nr_swapcached", |m| m.mem.swap.as_ref().map_or(0, |s| s.cached));
const NR_DIRTY: Term = Term::Quantity("nr_dirty", |m| m.mem.cache.files.nr_dirty);
const NR_WRITEBACK: Term = Term::Quantity("nr_writeback", |m| m.mem.cache.files.nr_writeback);
const EVICTIONS: Term = Term::Quantity("evictions", |m| m.mem.telling.evictions);
const MEMORY: Term = Term::Quantity("frames", |m| m.mem.frames.len() as u64);
/// Of compaction: the pages that it moves into, and the blocks that it captures.
const MOVED_PAGES: Term = Term::Quantity("pages that compaction took", |m| {
    let order = m.mem.zones[ZoneId(0)].buddy().rules().pageblock_order;
    m.mem.stats.vmstat[E::CompactIsolated] + (m.mem.stats.vmstat[E::CompactSuccess] << order)
});
const THPS: Term = Term::Quantity("nr_anon_transparent_hugepages", |m| m.mem.nr_thp());
const DEAD: Term = Term::Quantity("ended processes", |m| {
    m.mem.virt.spaces.ids().filter(|&a| m.mem.virt.spaces[a].dead).count() as u64
});

const ZSWAP_STORED: Term =
    Term::Quantity("pages in zswap", |m| m.mem.zswap().map_or(0, |z| z.store.nr_pages));
const ZSWAP_INVALIDATED: Term =
    Term::Quantity("dropped entries of zswap", |m| m.mem.zswap().map_or(0, |z| z.invalidated));

/// The laws between sums that hold on every machine.
const LAWS: &[Law] = &[
    law(
        "each fault has one latency",
        &[MINOR, MAJOR, RETRIED, UNDER_WAY, CUT_SHORT],
        Equal,
        counters!(PgFault),
        "mm_account_fault; up to 6.3 handle_mm_fault, which counts a retried fault again",
    ),
    law(
        "each major fault has one latency",
        &[MAJOR, MAJOR_UNDER_WAY, MAJOR_CUT_SHORT],
        Equal,
        counters!(PgMajFault),
        "do_swap_page, filemap_fault",
    ),
    law(
        "scans by reclaimer are scans by type",
        &[
            Term::Counter(E::PgScanKswapd),
            Term::Counter(E::PgScanDirect),
            Term::GroupsOnly(E::PgScanDirect),
            Term::Counter(E::PgScanProactive),
            Term::GroupsOnly(E::PgScanProactive),
        ],
        Equal,
        counters!(PgScanAnon PgScanFile),
        "shrink_inactive_list, scan_folios: for a limit the reclaimer is counted by group only",
    ),
    law(
        "steals by reclaimer are steals by type",
        &[
            Term::Counter(E::PgStealKswapd),
            Term::Counter(E::PgStealDirect),
            Term::GroupsOnly(E::PgStealDirect),
            Term::Counter(E::PgStealProactive),
            Term::GroupsOnly(E::PgStealProactive),
        ],
        Equal,
        counters!(PgStealAnon PgStealFile),
        "shrink_inactive_list, evict_folios",
    ),
    law(
        "what is in swap alone was written",
        &[SWAP_USED],
        AtMost,
        &[
            Term::Counter(E::PswpOut),
            Term::Counter(E::ZswpOut),
            Term::Counter(E::SwpoutZero),
            SWAP_CACHED,
        ],
        "swap_writepage",
    ),
    law(
        "what swap devices are written comes from reclaim or from zswap",
        counters!(PswpOut),
        AtMost,
        counters!(NrVmscanWrite ZswpWb),
        "pageout, zswap_writeback_entry",
    ),
    law(
        "what is read ahead is read",
        counters!(SwapRa),
        AtMost,
        counters!(PswpIn ZswpIn SwpinZero),
        "swap_cluster_readahead",
    ),
    law(
        "what zswap has, it was given and did not give up",
        &[ZSWAP_STORED, ZSWAP_INVALIDATED, Term::Counter(E::ZswpIn), Term::Counter(E::ZswpWb)],
        Equal,
        counters!(ZswpOut),
        "zswap_store, zswap_load, zswap_writeback_entry, zswap_invalidate",
    ),
    law(
        "what goes to swap is read back, held, marked or written",
        counters!(ZswpOut SwpoutZero),
        AtMost,
        counters!(NrVmscanWrite),
        "swap_writepage",
    ),
    law(
        "what is read from swap was evicted",
        counters!(PswpIn),
        AtMost,
        counters!(PswpOut SimEvictClean),
        "a folio that was read stays in memory until it is written or dropped",
    ),
    law(
        "written pages were dirtied",
        &[Term::Counter(E::NrWritten), NR_DIRTY, NR_WRITEBACK],
        AtMost,
        counters!(NrDirtied),
        "folio_account_dirtied, __folio_end_writeback; of files",
    ),
    law(
        "refaults follow evictions",
        counters!(WorkingsetRefaultAnon WorkingsetRefaultFile),
        AtMost,
        &[EVICTIONS],
        "workingset_eviction: a shadow is left by an eviction and read once",
    ),
    law(
        "steals are evictions",
        counters!(PgStealAnon PgStealFile),
        AtMost,
        &[EVICTIONS, Term::Counter(E::PgLazyFreed)],
        "__remove_mapping",
    ),
    law(
        "what is freed was allocated",
        counters!(PgFree),
        AtMost,
        &[
            Term::Counter(E::PgAllocDma),
            Term::Counter(E::PgAllocDma32),
            Term::Counter(E::PgAllocNormal),
            Term::Counter(E::PgAllocMovable),
            MOVED_PAGES,
            MEMORY,
        ],
        "rmqueue, free_pages_prepare; what is held at the start was not counted",
    ),
    law(
        "what is allocated and not freed is memory",
        counters!(PgAllocDma PgAllocDma32 PgAllocNormal PgAllocMovable),
        AtMost,
        &[Term::Counter(E::PgFree), MEMORY],
        "rmqueue, free_pages_prepare",
    ),
    law(
        "compaction isolates what it scanned",
        counters!(CompactIsolated),
        AtMost,
        &[ISOLATABLE],
        "isolate_migratepages_block, isolate_freepages_block; a free block is isolated whole",
    ),
    law(
        "compaction moves isolated pages, and monitors theirs",
        counters!(PgMigrateSuccess PgMigrateFail),
        AtMost,
        &[Term::Counter(E::CompactIsolated), MOVED_BY_MONITORS],
        "migrate_pages: nothing else migrates here",
    ),
    law(
        "each stall for compaction has an end",
        counters!(CompactStall),
        Equal,
        counters!(CompactSuccess CompactFail),
        "__alloc_pages_direct_compact",
    ),
    law(
        "huge pages that split were made",
        &[Term::Counter(E::ThpSplitPage), THPS],
        AtMost,
        counters!(ThpFaultAlloc),
        "__do_huge_pmd_anonymous_page; there is no khugepaged",
    ),
    law(
        "faults of huge pages are faults",
        counters!(ThpFaultAlloc ThpFaultFallback),
        AtMost,
        counters!(PgFault),
        "do_huge_pmd_anonymous_page",
    ),
    law(
        "killed processes are gone",
        counters!(OomKill),
        AtMost,
        &[DEAD, GROUP_KILLS],
        "oom_kill_process; the first victim of a group counts twice",
    ),
    law(
        "fallbacks by types are fallbacks",
        counters!(SimExtfragUR SimExtfragUM SimExtfragRU SimExtfragRM SimExtfragMR SimExtfragMU),
        Equal,
        counters!(SimExtfrag),
        "mm_page_alloc_extfrag",
    ),
    law(
        "claims by types are changes of ownership",
        counters!(SimClaimUR SimClaimUM SimClaimRU SimClaimRM SimClaimMR SimClaimMU),
        Equal,
        counters!(SimExtfragOwnership),
        "mm_page_alloc_extfrag",
    ),
    law(
        "high orders come from somewhere or fail",
        counters!(SimHighAllocLists SimHighAllocAsync SimHighAllocReclaim SimHighAllocSync SimHighAllocFail),
        Equal,
        counters!(SimHighAlloc),
        "of the model",
    ),
];

/// A free block counts as one scanned page at least and is isolated whole.
const ISOLATABLE: Term = Term::Quantity("pages that compaction scanned", |m| {
    let order = m.mem.zones[ZoneId(0)].buddy().rules().pageblock_order;
    m.mem.stats.vmstat[E::CompactMigrateScanned]
        + (m.mem.stats.vmstat[E::CompactFreeScanned] << order)
});

impl Machine {
    /// Audits the laws.
    pub(in crate::machine) fn check_laws(&self) {
        for law in LAWS {
            law.check(self);
        }
        self.check_rows();
        self.check_groups();
    }

    /// No counter exceeds the one that its row names.
    fn check_rows(&self) {
        for &e in VmEvent::ALL {
            let Some((whole, source)) = e.row().within else { continue };
            let (part, all) = (self.mem.stats.vmstat[e], self.mem.stats.vmstat[whole]);
            let (name, whole) = (e.name(), whole.name());
            assert!(part <= all, "{name}: {part} <= {whole}: {all} does not hold ({source})");
        }
    }

    /// Groups count no more than the machine does, and what it leaves to them.
    fn check_groups(&self) {
        let groups = &self.mem.memcgs;
        for &e in VmEvent::ALL {
            let of_groups: u64 = groups.ids().skip(1).map(|g| groups.vmstat(g)[e]).sum();
            let all = Term::Counter(e).value(self) + Term::GroupsOnly(e).value(self);
            let name = e.name();
            assert!(of_groups <= all, "groups count {of_groups} {name}, the machine {all}");
        }
    }

    /// Faults that threads have begun and not ended; `major`: of these, major ones.
    fn faults_under_way(&self, major: bool) -> u64 {
        let faults = self.work.threads.iter().filter_map(|t| t.fault);
        faults.filter(|f| f.major || !major).count() as u64
    }
}

impl Law {
    /// # Panics
    /// If it does not hold; the message names it and both numbers.
    fn check(&self, m: &Machine) {
        let sum = |side: &[Term]| side.iter().map(|t| t.value(m)).sum::<u64>();
        let (left, right) = (sum(self.left), sum(self.right));
        let (holds, sign) = match self.relation {
            AtMost => (left <= right, "<="),
            Equal => (left == right, "=="),
        };
        let text = |side: &[Term]| side.iter().map(|t| t.name()).collect::<Vec<_>>().join(" + ");
        assert!(
            holds,
            "{}: {left} {sign} {right} does not hold: {} {sign} {}",
            self.name,
            text(self.left),
            text(self.right)
        );
    }
}
