//! S3-FIFO: a small queue that most folios leave soon, a main queue, and ghosts of those that left.

use super::{MOST_WALKED, Queues, Watched, is_clean, is_ready};
use mmsim_core::base::id::{Idx as _, PageIdx};
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::FolioId;
use mmsim_core::policy::chooser::{
    EvictAsk, FileChooser, FileFolioEvent, FileFolioRecord, MOST_OFFERED, Uncovered,
};
use std::collections::{BTreeMap, BTreeSet};

const SMALL: usize = 0;
const MAIN: usize = 1;

/// Uses beyond this number are not counted.
const MOST_USES: u8 = 3;

/// Uses that do not spare a folio, and those that a spared one is left with.
type Rule = (u8, fn(u8) -> u8);

/// S3-FIFO: a folio starts in the small queue, and in the main queue if it left the small one lately.
/// From the small queue, folios that were used twice go on to the main queue, others out. In the main
/// queue a folio stays for as many rounds as it has uses.
#[derive(Debug)]
pub struct S3Fifo {
    watched: Watched,
    queues: Queues,
    /// Uses of the folio in each frame, up to [`MOST_USES`].
    uses: Vec<u8>,
    /// Pages that left from the small queue, and the turn in which each did.
    ghosts: BTreeMap<PageIdx, u64>,
    /// The same in order.
    oldest: BTreeSet<(u64, PageIdx)>,
    turn: u64,
    /// Pages of the cache, and of the ghosts.
    size: u64,
}

impl S3Fifo {
    pub(super) fn new(watched: Watched, size: u64) -> S3Fifo {
        S3Fifo {
            watched,
            queues: Queues::new(2),
            uses: Vec::new(),
            ghosts: BTreeMap::new(),
            oldest: BTreeSet::new(),
            turn: 0,
            size,
        }
    }

    fn added(&mut self, folio: FolioId, page: PageIdx) {
        let ghost = self.ghosts.remove(&page).map(|turn| self.oldest.remove(&(turn, page)));
        self.queues.push_tail(if ghost.is_some() { MAIN } else { SMALL }, folio);
        let frames = self.uses.len().max(folio.index() + 1);
        self.uses.resize(frames, 0);
        self.uses[folio.index()] = 0;
    }

    fn evicted(&mut self, folio: FolioId, page: PageIdx) {
        if self.queues.list_of(folio) == Some(SMALL) {
            self.turn += 1;
            self.ghosts.insert(page, self.turn);
            self.oldest.insert((self.turn, page));
            if self.ghosts.len() as u64 > self.size
                && let Some((_, page)) = self.oldest.pop_first()
            {
                self.ghosts.remove(&page);
            }
        }
        self.queues.remove(folio);
    }

    /// Walks over a queue. A folio with more uses than `spares` goes to the tail of the main queue
    /// with what `left` leaves of them, one that cannot go stays in its place, others are offered.
    fn walk(
        &mut self,
        mem: &Memory,
        queue: usize,
        (spares, left): Rule,
        offered: &mut Vec<FolioId>,
    ) {
        let mut next = self.queues.head(queue);
        for _ in 0..MOST_WALKED {
            let Some(folio) = next.filter(|_| offered.len() < MOST_OFFERED) else { return };
            next = self.queues.after(folio);
            let uses = &mut self.uses[folio.index()];
            if *uses > spares {
                *uses = left(*uses);
                self.queues.push_tail(MAIN, folio);
                // The last of the main queue comes round again.
                next = next.or((queue == MAIN).then_some(folio));
            } else if is_ready(mem, folio) && is_clean(mem, folio) {
                offered.push(folio);
            }
        }
    }
}

impl FileChooser for S3Fifo {
    fn name(&self) -> &str {
        "s3-fifo"
    }

    fn told(&mut self, mem: &Memory, records: &[FileFolioRecord]) -> Result<(), Uncovered> {
        for r in records {
            match r.what {
                FileFolioEvent::Added if self.watched.has(mem, r.page) => {
                    self.added(r.folio, r.page);
                }
                FileFolioEvent::Accessed if self.queues.list_of(r.folio).is_some() => {
                    let uses = &mut self.uses[r.folio.index()];
                    *uses = (*uses + 1).min(MOST_USES);
                }
                FileFolioEvent::Evicted => self.evicted(r.folio, r.page),
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
        let promote: Rule = (1, |_| 0);
        let again: Rule = (0, |uses| uses - 1);
        let full = self.queues.len(SMALL) as u64 * 10 >= self.size;
        let mut turns = [(SMALL, promote), (MAIN, again)];
        if !full {
            turns.reverse();
        }
        for (queue, rule) in turns {
            if offered.len() < ask.wanted as usize {
                self.walk(mem, queue, rule, offered);
            }
        }
        Ok(())
    }
}
