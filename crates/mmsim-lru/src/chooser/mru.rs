//! Most recently used first: right for a scan that is longer than memory and comes again.

use super::{MOST_WALKED, Queues, Watched, is_ready};
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::FolioId;
use mmsim_core::policy::chooser::{
    EvictAsk, FileChooser, FileFolioEvent, FileFolioRecord, MOST_OFFERED, Uncovered,
};

/// Folios from the head on among which those that cannot go yet are passed over. Readahead brings
/// folios that are under read, and uses put folios into batches.
const FRESH: usize = 200;

/// MRU: the folio whose last use, or whose arrival, is the latest.
#[derive(Debug)]
pub struct Mru {
    watched: Watched,
    stack: Queues,
}

impl Mru {
    pub(super) fn new(watched: Watched) -> Mru {
        Mru { watched, stack: Queues::new(1) }
    }
}

impl FileChooser for Mru {
    fn name(&self) -> &str {
        "mru"
    }

    fn told(&mut self, mem: &Memory, records: &[FileFolioRecord]) -> Result<(), Uncovered> {
        for r in records {
            match r.what {
                FileFolioEvent::Evicted => _ = self.stack.remove(r.folio),
                FileFolioEvent::Added | FileFolioEvent::Accessed => {
                    if self.watched.has(mem, r.page) {
                        self.stack.push_head(0, r.folio);
                    }
                }
            }
        }
        Ok(())
    }

    fn choose(
        &mut self,
        mem: &Memory,
        _: &EvictAsk,
        offered: &mut Vec<FolioId>,
    ) -> Result<(), Uncovered> {
        let stack = std::iter::successors(self.stack.head(0), |&f| self.stack.after(f));
        let goes = |&(i, f): &(usize, FolioId)| i >= FRESH || is_ready(mem, f);
        let all = stack.take(MOST_WALKED).enumerate().filter(goes).take(MOST_OFFERED);
        offered.extend(all.map(|(_, f)| f));
        Ok(())
    }
}
