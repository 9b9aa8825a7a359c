//! Asks the choosers of groups for folios to evict, ahead of the scans of a pass.
//!
//! ```text
//!  scan targets of a group's lists:  inactive file 70, ...
//!     |
//!     v
//!  calls of its chooser for 32, 32, 32 folios (70 is used up in steps of 32)
//!     |   each offer: checked, isolated, reclaimed in its order; accessed bits are not asked
//!     v
//!  more than 80 % of 70 reclaimed?  yes: the group is done, nothing is scanned
//!     |                              (no anonymous memory, no active list)
//!     no: the scans begin, with 70 less what was reclaimed
//! ```
//!
//! A group whose inactive file list is too short for a scan at this priority is done at once. In the
//! kernel of cache_ext that holds for groups without a chooser as well; here it does not. If the list
//! is empty the scans begin, here alone: else no active page would ever become inactive.
//!
//! Folios that were offered count as scanned if they were reclaimed. Dirty ones are not written, and go
//! back as active, as from any scan. Neither `pgscan` nor `pgsteal` count them: the kernel
//! takes the way of `reclaim_pages`.
//!
//! Source: the artefact of cache_ext (SOSP '25), Linux 6.6.8 mm/vmscan.c (`shrink_lruvec`,
//! `reclaim_pages`). Left out: where scans follow, that kernel counts what a chooser reclaimed
//! twice, so that its reclaim ends up to 32 pages earlier.

use super::Classic;
use super::formulas::INACTIVE_FILE;
use super::pass::{Asking, Pass};
use crate::index::FILE;
use mmsim_core::base::id::{MemcgId, NodeId, PageIdx};
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FolioId, FrameKind, flag};
use mmsim_core::policy::chooser::{
    AdmitAsk, ChooserCounts, ChooserResult, EvictAsk, FileChooser, MOST_OFFERED, Refusal, Uncovered,
};
use mmsim_core::policy::daemon::stop;
use mmsim_core::policy::{ReclaimOutcome, ReclaimRequest};

/// Reclaimed share of what was wanted, in per cent, above which nothing is scanned.
const ENOUGH: u64 = 80;

/// A chooser and what came of its calls.
pub(super) struct Asked {
    chooser: Box<dyn FileChooser>,
    counts: ChooserCounts,
    /// Room for offers, and for those of them that could be isolated.
    offered: Vec<FolioId>,
    taken: Vec<Taken>,
}

/// A folio that was offered and isolated, as it was before.
struct Taken {
    folio: FolioId,
    page: PageIdx,
    bits: u32,
    /// An accessed bit was set.
    used: bool,
}

impl Classic {
    pub(super) fn attach(
        &mut self,
        mem: &mut Memory,
        memcg: MemcgId,
        chooser: Box<dyn FileChooser>,
    ) {
        while self.choosers.len() <= usize::from(memcg.0) {
            self.choosers.push(None);
        }
        let (offered, taken) = (Vec::new(), Vec::new());
        let counts = ChooserCounts::default();
        let admits = chooser.asks_to_admit();
        self.choosers[memcg] = Some(Box::new(Asked { chooser, counts, offered, taken }));
        mem.memcgs.journals.begin(memcg, admits);
    }

    /// The chooser of a group is out of its place while it is called.
    fn with_chooser<R>(&mut self, memcg: MemcgId, f: impl FnOnce(&mut Self, &mut Asked) -> R) -> R {
        let mut asked = self.choosers[memcg].take().expect("the group has a chooser");
        let result = f(self, &mut asked);
        self.choosers[memcg] = Some(asked);
        result
    }

    fn has_chooser(&self, memcg: MemcgId) -> bool {
        usize::from(memcg.0) < self.choosers.len() && self.choosers[memcg].is_some()
    }

    /// Tells a chooser what is in its journal.
    pub(super) fn tell(&mut self, mem: &mut Memory, memcg: MemcgId) {
        if !self.has_chooser(memcg) {
            return;
        }
        let records = mem.memcgs.journals.take(memcg);
        self.with_chooser(memcg, |_, asked| {
            asked.counts.told += records.len() as u64;
            asked.chooser.told(mem, &records).unwrap_or_else(|Uncovered(why)| stop(why));
        });
        mem.memcgs.journals.give(memcg, records);
    }

    /// Asks a chooser whether the pages of a read may come into the cache.
    pub(super) fn admit(&mut self, mem: &mut Memory, ask: &AdmitAsk) -> bool {
        self.tell(mem, ask.memcg);
        self.with_chooser(ask.memcg, |_, asked| {
            let answer = asked.chooser.admit(mem, ask);
            let admits = answer.unwrap_or_else(|Uncovered(why)| stop(why));
            asked.counts.admit_asks += 1;
            asked.counts.turned_away += u64::from(!admits);
            admits
        })
    }

    /// The calls that begin a pass over a group with this target, of `of` inactive file pages.
    pub(super) fn asking(&self, memcg: MemcgId, wanted: u64, of: u64) -> Option<Asking> {
        let asks = !self.choosers.is_empty() && self.has_chooser(memcg) && of > 0;
        asks.then_some(Asking { wanted, left: wanted, reclaimed: 0 })
    }

    /// One call of the chooser, as a round of the pass. After the last one, either the work on the
    /// group ends or its scans begin.
    #[inline(never)]
    pub(super) fn ask_round(
        &mut self,
        mem: &mut Memory,
        req: &ReclaimRequest,
        pass: &mut Pass,
        out: &mut ReclaimOutcome,
    ) {
        let w = pass.work.as_mut().expect("a round needs an lruvec");
        let asking = w.asking.as_mut().expect("its chooser comes first");
        let memcg = self.ids.memcg(w.lv);
        if asking.left > 0 {
            let most = MOST_OFFERED as u64;
            let wanted = asking.wanted.min(most) as u32;
            let gone = self.ask(mem, memcg, req.node, wanted);
            asking.left = if gone.is_some() { asking.left.saturating_sub(most) } else { 0 };
            let gone = gone.unwrap_or(0);
            asking.reclaimed += gone;
            w.reclaimed[FILE] += gone;
            w.scanned[FILE] += gone;
            pass.reclaimed += gone;
            (out.reclaimed, out.scanned) = (out.reclaimed + gone, out.scanned + gone);
            if asking.left > 0 {
                return;
            }
        }
        let Asking { wanted, reclaimed, .. } = *asking;
        (w.asking, w.by_chooser) = (None, reclaimed);
        w.nr[INACTIVE_FILE] = w.nr[INACTIVE_FILE].saturating_sub(reclaimed);
        if wanted == 0 || 100 * reclaimed / wanted > ENOUGH {
            let w = pass.work.take().expect("its round was executed");
            self.with_chooser(memcg, |_, asked| match wanted {
                0 => asked.counts.spared += 1,
                _ => asked.counts.ended += 1,
            });
            self.leave_lruvec(mem, req, w);
        }
    }

    /// Asks for folios and reclaims those that can go. Returns their number; `None`: the offer was
    /// too long, and there is no use in asking again.
    fn ask(&mut self, mem: &mut Memory, memcg: MemcgId, node: NodeId, wanted: u32) -> Option<u64> {
        self.tell(mem, memcg);
        let (now, thread) = (mem.acting.now, mem.acting_thread());
        let ask = EvictAsk { memcg, node, wanted, now, thread };
        self.with_chooser(memcg, |classic, asked| {
            let Asked { chooser, counts, offered, taken } = asked;
            offered.clear();
            chooser.choose(mem, &ask, offered).unwrap_or_else(|Uncovered(why)| stop(why));
            counts.asks += 1;
            counts.wanted += u64::from(wanted);
            counts.offered += offered.len() as u64;
            if offered.len() > MOST_OFFERED {
                counts.refuse(Refusal::Overfull, offered.len() as u64);
                mem.end_ask(&ask, offered.len() as u64, 0);
                return None;
            }
            taken.clear();
            for &folio in &*offered {
                match refusal(mem, &ask, folio, taken) {
                    Some(why) => counts.refuse(why, 1),
                    None => taken.push(classic.take_offered(mem, folio)),
                }
            }
            let gone = classic.reclaim_offered(mem, taken, counts);
            mem.end_ask(&ask, offered.len() as u64, gone);
            Some(gone)
        })
    }

    fn take_offered(&mut self, mem: &mut Memory, folio: FolioId) -> Taken {
        let (page, bits) = (PageIdx(mem.frames.rmap[folio]), mem.frames.bits(folio));
        let taken = Taken { folio, page, bits, used: mem.has_accessed_bit(folio) };
        assert!(mem.isolate_from(self, folio), "{folio} is on a list");
        mem.frames.clear(folio, flag::ACTIVE);
        taken
    }

    /// Reclaims folios that were isolated, and counts what becomes of each.
    fn reclaim_offered(
        &mut self,
        mem: &mut Memory,
        taken: &[Taken],
        counts: &mut ChooserCounts,
    ) -> u64 {
        let folios: Vec<FolioId> = taken.iter().map(|t| t.folio).collect();
        let gone = self.reclaim_taken(mem, &folios, true);
        for &Taken { folio, page, bits, used } in taken {
            if mem.file_folio_at(page) != Some(folio) {
                counts.evicted += 1;
                counts.used += u64::from(used);
                continue;
            }
            let why = match () {
                () if bits & flag::LOCKED != 0 => Refusal::Locked,
                () if bits & flag::WRITEBACK != 0 => Refusal::Writeback,
                () if mem.frames.has(folio, flag::DIRTY) => Refusal::Dirty,
                () => Refusal::Unevictable,
            };
            counts.refuse(why, 1);
        }
        gone
    }

    /// Results of all choosers.
    pub(super) fn chooser_results(&self, mem: &Memory) -> Vec<ChooserResult> {
        let there = self.choosers.pairs().filter_map(|(memcg, a)| Some((memcg, a.as_deref()?)));
        let result = |(memcg, a): (MemcgId, &Asked)| ChooserResult {
            name: a.chooser.name().to_string(),
            group: mem.memcgs[memcg].config.name.clone(),
            counts: ChooserCounts { past: mem.memcgs.journals.past(memcg), ..a.counts },
            tallies: a.chooser.tallies(),
            stopped: a.chooser.stopped().map(str::to_string),
        };
        there.map(result).collect()
    }

    /// File pages of a group that the LRU reclaimed behind its chooser.
    pub(super) fn note_fallback(&mut self, memcg: MemcgId, pages: u64) {
        if pages > 0 && self.has_chooser(memcg) {
            self.with_chooser(memcg, |_, asked| asked.counts.fallback += pages);
        }
    }
}

/// Reason for which a folio that was offered cannot be isolated.
fn refusal(mem: &Memory, ask: &EvictAsk, folio: FolioId, taken: &[Taken]) -> Option<Refusal> {
    if folio.0 as usize >= mem.frames.len() || mem.frames.kind(folio) != FrameKind::File {
        return Some(Refusal::NoFolio);
    }
    let bits = mem.frames.bits(folio);
    match () {
        () if mem.frames.memcg(folio) != ask.memcg => Some(Refusal::OtherGroup),
        () if mem.node_of(folio) != ask.node => Some(Refusal::OtherNode),
        () if taken.iter().any(|t| t.folio == folio) => Some(Refusal::Twice),
        () if bits & flag::UNEVICTABLE != 0 => Some(Refusal::Unevictable),
        () if bits & flag::LRU == 0 => Some(Refusal::Unlisted),
        () if bits & flag::IN_BATCH != 0 => Some(Refusal::Pinned),
        () => None,
    }
}
