//! Least frequently used, by samples.

use super::{Queues, Watched, is_clean, is_ready};
use mmsim_core::base::id::Idx as _;
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::FolioId;
use mmsim_core::policy::chooser::{
    EvictAsk, FileChooser, FileFolioEvent, FileFolioRecord, Uncovered,
};

/// Folios of a sample.
pub(super) const SAMPLE: u64 = 16;

/// LFU: of each sample at the head of a list the folio with the fewest uses, the first of equals.
/// All that were looked at go to the tail.
#[derive(Debug)]
pub struct Lfu {
    watched: Watched,
    line: Queues,
    /// Uses of the folio in each frame since it arrived.
    uses: Vec<u64>,
    sample: usize,
    short: u64,
}

impl Lfu {
    pub(super) fn new(watched: Watched, sample: usize) -> Lfu {
        Lfu { watched, line: Queues::new(1), uses: Vec::new(), sample, short: 0 }
    }

    /// The uses of a folio; more than any, if it cannot go now.
    fn worth(&self, mem: &Memory, folio: FolioId) -> u64 {
        let can_go = is_ready(mem, folio) && is_clean(mem, folio);
        if can_go { self.uses[folio.index()] } else { u64::MAX }
    }
}

impl FileChooser for Lfu {
    fn name(&self) -> &str {
        "lfu"
    }

    fn told(&mut self, mem: &Memory, records: &[FileFolioRecord]) -> Result<(), Uncovered> {
        for r in records {
            let known = self.line.list_of(r.folio).is_some();
            match r.what {
                FileFolioEvent::Added if self.watched.has(mem, r.page) => {
                    self.line.push_tail(0, r.folio);
                    let frames = self.uses.len().max(r.folio.index() + 1);
                    self.uses.resize(frames, 0);
                    self.uses[r.folio.index()] = 0;
                }
                FileFolioEvent::Accessed if known => self.uses[r.folio.index()] += 1,
                FileFolioEvent::Evicted => _ = self.line.remove(r.folio),
                FileFolioEvent::Added | FileFolioEvent::Accessed => {}
            }
        }
        Ok(())
    }

    fn choose(
        &mut self,
        mem: &Memory,
        ask: &EvictAsk,
        offered: &mut Vec<FolioId>,
    ) -> Result<(), Uncovered> {
        let all = ask.wanted as usize * self.sample;
        let seen: Vec<FolioId> =
            std::iter::successors(self.line.head(0), |&f| self.line.after(f)).take(all).collect();
        seen.iter().for_each(|&f| self.line.push_tail(0, f));
        if seen.len() < all {
            self.short += 1;
            return Ok(());
        }
        let least = |some: &[FolioId]| some.iter().copied().min_by_key(|&f| self.worth(mem, f));
        offered.extend(seen.chunks(self.sample).filter_map(least));
        Ok(())
    }

    fn tallies(&self) -> Vec<(&'static str, u64)> {
        vec![("short_samples", self.short)]
    }
}
