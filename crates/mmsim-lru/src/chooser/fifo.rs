//! First in, first out.

use super::{MOST_WALKED, Queues, Watched, is_clean, is_ready};
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::FolioId;
use mmsim_core::policy::chooser::{
    EvictAsk, FileChooser, FileFolioEvent, FileFolioRecord, MOST_OFFERED, Uncovered,
};

/// FIFO: the folios that have been in the cache for longest.
#[derive(Debug)]
pub struct Fifo {
    watched: Watched,
    line: Queues,
}

impl Fifo {
    pub(super) fn new(watched: Watched) -> Fifo {
        Fifo { watched, line: Queues::new(1) }
    }
}

impl FileChooser for Fifo {
    fn name(&self) -> &str {
        "fifo"
    }

    fn told(&mut self, mem: &Memory, records: &[FileFolioRecord]) -> Result<(), Uncovered> {
        for r in records {
            match r.what {
                FileFolioEvent::Added if self.watched.has(mem, r.page) => {
                    self.line.push_tail(0, r.folio);
                }
                FileFolioEvent::Evicted => _ = self.line.remove(r.folio),
                FileFolioEvent::Added | FileFolioEvent::Accessed => {}
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
        let line = std::iter::successors(self.line.head(0), |&f| self.line.after(f));
        let can_go = |&f: &FolioId| is_ready(mem, f) && is_clean(mem, f);
        offered.extend(line.take(MOST_WALKED).filter(can_go).take(MOST_OFFERED));
        Ok(())
    }
}
