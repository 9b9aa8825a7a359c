//! Reads of groups whose policy admits pages to the cache, or sends the reads past it.
//!
//! ```text
//!  read of 40 pages, the first 4 are cached
//!     pages 0-3    from the cache
//!     page 4       not cached: may pages 4-39 be cached?   no
//!     pages 4-18   read past the cache: a batch of 15, one request after the other, no readahead
//!     page 19      cached or not: the batch is over, so it is looked up again, and asks if it is missing
//! ```
//!
//! `read(2)` that finds its next page missing asks the policy of the group of the *thread*. Pages of the
//! batch that happen to be cached are read from the device all the same. Mapped accesses and writes ask
//! no policy.
//!
//! Source: the artefact of cache_ext (SOSP '25), Linux 6.6.8 mm/filemap.c (`filemap_get_pages`). Left
//! out: the frames that hold a batch while it is copied, 15 at most.

use super::Machine;
use super::cpu::thread::Admission;
use super::fault::touch::Outcome;
use crate::base::id::{FileId, PageIdx, ThreadId};
use crate::policy::chooser::AdmitAsk;
use crate::virt::pages::Entry;

impl Machine {
    /// One page of a `read(2)` of `left` more pages, where some group has a policy that admits.
    #[inline(never)]
    pub(super) fn read_admitted(
        &mut self,
        tid: ThreadId,
        file: FileId,
        index: u32,
        left: u32,
        first: bool,
    ) -> Outcome {
        let memcg = self.work.threads[tid].memcg;
        if let Admission::Asks = self.work.threads[tid].admission
            && self.mem.memcgs.journals.admits_of(memcg)
            && !self.is_cached(file, index)
        {
            let (count, now, thread) = (left, self.mem.acting.now, tid);
            let ask = AdmitAsk { memcg, file, first: index, count, now, thread };
            let batch = self.mem.given.rules.lru_batch;
            self.work.threads[tid].admission = match self.policies.lru.admits(&mut self.mem, &ask) {
                true => Admission::Admitted,
                false => Admission::Past(left.min(batch)),
            };
        }
        if let Admission::Past(pages) = self.work.threads[tid].admission {
            self.work.threads[tid].admission = match pages {
                1 => Admission::Asks,
                more => Admission::Past(more - 1),
            };
            self.read_past(tid, file, index);
            return Ok(());
        }
        self.read_page(tid, file, index, left, first)?;
        self.work.threads[tid].admission = Admission::Asks;
        Ok(())
    }

    /// Reads a page without the cache. Its thread allocates, asks the device, waits and copies.
    fn read_past(&mut self, tid: ThreadId, file: FileId, index: u32) {
        let cost = &self.mem.given.cost;
        self.mem.acting.now += cost.t_read_missing + cost.t_read_cached;
        self.mem.cache.misses += u64::from(!self.is_cached(file, index));
        self.mem.cache.files[file].ra.prev = Some(index);
        self.mem.memcgs.journals.read_past(self.work.threads[tid].memcg);
        self.request(tid, file, index..index + 1, false);
    }

    fn is_cached(&self, file: FileId, index: u32) -> bool {
        let at = PageIdx(self.mem.cache.files[file].base.0 + index);
        matches!(self.mem.virt.pages.entry(at), Entry::Frame(_))
    }
}
