//! Requests as a workload.

use std::sync::Arc;

use mmsim_core::base::rng::Rng;
use mmsim_core::workload::{MapKind, Op, RegionId, Run, Touch, VmaFlags, Workload, WorkloadCx};

use super::{Pieces, Requests};
use crate::trace::error::TraceError;
use crate::work::{Pages, Threads, Work, WorkError};

/// Operations that are handed over at a time.
const BATCH: usize = 1024;
const PHASES: u16 = 4;
const REGION: RegionId = RegionId(0);

/// Replays [`Requests`] by one thread.
///
/// Its phases `replay1` to `replay4` are quarters of all requests, as those of a replayed
/// trace.
pub struct RequestWorkload {
    requests: Arc<Requests>,
    write_permille: u32,
    pieces: Pieces,
    /// Pages decoded from the current piece, and how many of them are used.
    pages: Vec<u32>,
    used: usize,
    done: u64,
    /// Requests handed over as touches, whose records are to follow.
    owed: u32,
    phases_ended: u16,
}

/// A sequence of requests, and how it is replayed; no scenario file can name it.
#[derive(Clone, PartialEq, Debug)]
pub struct RequestsTask {
    /// The requests.
    pub trace: Arc<Requests>,
    /// Writes per 1000 accesses besides the first one to each page, which always writes.
    pub write_permille: u32,
}

impl Work for RequestsTask {
    fn threads(&self, _seed: u64, _index: usize) -> Result<Threads, WorkError> {
        let workload = RequestWorkload::new(self.trace.clone(), self.write_permille);
        Ok(vec![Box::new(workload.map_err(|e| WorkError::of_file(e.to_string()))?)])
    }
    fn add_pages(&self, _seed: u64, _processes: u32, pages: &mut Pages) {
        pages.map(self.trace.pages().into(), 1);
    }
    fn most_threads(&self) -> u32 {
        1
    }
    fn accesses(&self) -> u64 {
        self.trace.requests()
    }
    fn has_to_be_made(&self) -> bool {
        true
    }
    fn assumptions(&self) -> Vec<String> {
        self.trace.assumptions()
    }
}

impl RequestWorkload {
    /// A replay in which a share of the accesses that are not the first to their page write, in
    /// 1000.
    pub fn new(requests: Arc<Requests>, write_permille: u32) -> Result<Self, TraceError> {
        let pieces = Pieces::open(&requests.path, requests.format)?;
        Ok(RequestWorkload {
            requests,
            write_permille,
            pieces,
            pages: Vec::new(),
            used: 0,
            done: 0,
            owed: 0,
            phases_ended: 0,
        })
    }

    /// The end of the current quarter, in requests.
    fn quarter_end(&self) -> u64 {
        let end = u128::from(self.requests.requests) * u128::from(self.phases_ended + 1);
        end.div_ceil(u128::from(PHASES)) as u64
    }

    /// The next page numbers of the file.
    fn refill(&mut self) {
        self.pages.clear();
        self.used = 0;
        let piece = match self.pieces.next() {
            Ok(Some(piece)) => piece,
            Ok(None) => panic!("{:?} became shorter while it was replayed", self.requests),
            Err(e) => panic!("{:?} cannot be read again: {e}", self.requests),
        };
        let pages = &mut self.pages;
        self.requests.format.each(piece, |page| pages.push(page as u32));
        let last = pages.iter().copied().max().unwrap_or(0);
        assert!(last < self.requests.pages, "{:?} changed while it was replayed", self.requests);
    }

    /// Appends the next requests of the quarter, each made of its page and whether it writes. Returns
    /// how many.
    fn give<T>(&mut self, rng: &mut Rng, out: &mut Vec<T>, make: impl Fn(u32, bool) -> T) -> u32 {
        let wanted = (self.quarter_end() - self.done).min(BATCH as u64) as usize;
        let given = if let Some(numbers) = &self.requests.numbers {
            let at = self.done as usize;
            self.make(&numbers[at..at + wanted], rng, out, make);
            wanted
        } else {
            if self.used == self.pages.len() {
                self.refill();
            }
            let wanted = wanted.min(self.pages.len() - self.used);
            self.make(&self.pages[self.used..self.used + wanted], rng, out, make);
            self.used += wanted;
            wanted
        };
        self.done += given as u64;
        given as u32
    }

    /// Appends the next requests, which are for these pages.
    fn make<T>(
        &self,
        pages: &[u32],
        rng: &mut Rng,
        out: &mut Vec<T>,
        make: impl Fn(u32, bool) -> T,
    ) {
        let requests = pages.iter().zip(self.done..);
        let is_first = |i| self.requests.is_first(i);
        if self.write_permille == 0 {
            out.extend(requests.map(|(&page, i)| make(page, is_first(i))));
            return;
        }
        out.extend(requests.map(|(&page, i)| {
            let write = rng.below(1000) < u64::from(self.write_permille);
            make(page, write || is_first(i))
        }));
    }
}

impl Workload for RequestWorkload {
    fn phases(&self) -> Vec<String> {
        (1..=PHASES).map(|i| format!("replay{i}")).collect()
    }

    fn fill_touches(
        &mut self,
        _cx: &WorkloadCx<'_>,
        rng: &mut Rng,
        touches: &mut Vec<Touch>,
    ) -> Option<RegionId> {
        let mapped = self.done > 0 && self.requests.pages <= Touch::MOST_PAGES;
        if !mapped || self.owed > 0 || self.done == self.requests.requests {
            return None;
        }
        self.owed = self.give(rng, touches, Touch::new);
        Some(REGION)
    }

    fn fill(&mut self, _cx: &WorkloadCx, rng: &mut Rng, ops: &mut Vec<Op>) {
        if self.done == self.requests.requests && self.owed == 0 {
            return;
        }
        if self.done == 0 {
            ops.push(Op::Mmap {
                region: REGION,
                pages: self.requests.pages,
                kind: MapKind::Anon,
                flags: VmaFlags::default(),
                at: Some(0),
            });
        }
        let access = |first, write| Op::Access(Run { region: REGION, write, first, count: 1 });
        let given = match std::mem::take(&mut self.owed) {
            0 => self.give(rng, ops, access),
            owed => owed,
        };
        ops.push(Op::Records(given));
        // Of fewer than four requests some quarters are empty.
        while self.phases_ended < PHASES && self.done == self.quarter_end() {
            ops.push(Op::PhaseEnd(self.phases_ended));
            self.phases_ended += 1;
        }
    }
}
