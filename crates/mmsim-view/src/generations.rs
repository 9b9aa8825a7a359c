//! The generations of MGLRU over time: all that there are, each time a new one begins.
//!
//! The events of a beginning come together, the oldest generation first. Kept are those of the root
//! group on node 0; other nodes and groups age separately and would be charts of their own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mmsim::base::id::{MemcgId, NodeId};
use mmsim::base::time::SimTime;
use mmsim::memory::trace::{Observer, TraceEvent, TraceKind, TraceKinds};
use serde::Serialize;

/// One generation of the root group on node 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Generation {
    /// Its number; higher is younger.
    pub seq: u64,
    /// Anonymous pages.
    pub nr_anon: u64,
    /// File pages.
    pub nr_file: u64,
}

/// All generations each time a new one began.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Generations {
    /// Number of beginnings that one of these stands for.
    pub stride: u64,
    /// When, and what there was, the oldest first.
    pub beginnings: Vec<(u64, Vec<Generation>)>,
}

#[derive(Debug)]
struct Kept {
    most: usize,
    seen: u64,
    all: Generations,
    /// True if the beginning whose events come now is one that is kept.
    open: bool,
    at: Option<(SimTime, u64)>,
}

/// Keeps generations while a run goes on.
#[derive(Clone, Debug)]
pub struct Watcher(Arc<Mutex<Kept>>);

impl Watcher {
    /// Keeps at most `most` beginnings.
    pub fn new(most: usize) -> Watcher {
        let all = Generations { stride: 1, beginnings: Vec::new() };
        let kept = Kept { most: most.max(2), seen: 0, all, open: false, at: None };
        Watcher(Arc::new(Mutex::new(kept)))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Observer for the machine.
    pub fn observer(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }

    /// The generations kept so far.
    pub fn kept(&self) -> Generations {
        self.lock().all.clone()
    }
}

impl Kept {
    fn generation(&mut self, now: SimTime, generation: Generation) {
        // One beginning tells of rising numbers at one instant.
        let same = self.at.is_some_and(|(at, seq)| at == now && generation.seq > seq);
        self.at = Some((now, generation.seq));
        if !same {
            self.open = self.seen.is_multiple_of(self.all.stride);
            self.seen += 1;
            if self.open {
                if self.all.beginnings.len() == self.most {
                    let mut place = 0;
                    self.all.beginnings.retain(|_| {
                        place += 1;
                        place % 2 == 1
                    });
                    self.all.stride *= 2;
                    self.open = (self.seen - 1).is_multiple_of(self.all.stride);
                }
                if self.open {
                    self.all.beginnings.push((now.0, Vec::new()));
                }
            }
        }
        if let Some((_, all)) = self.all.beginnings.last_mut().filter(|_| self.open) {
            all.push(generation);
        }
    }
}

impl Observer for Watcher {
    fn kinds(&self) -> TraceKinds {
        TraceKinds::of(&[TraceKind::SimLruGen])
    }

    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        let TraceEvent::SimLruGen { node, memcg, seq, nr_anon, nr_file, .. } = *event else {
            return;
        };
        if node == NodeId(0) && memcg == MemcgId(0) {
            self.lock().generation(now, Generation { seq, nr_anon, nr_file });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::base::time::SimDuration;

    fn event(memcg: u16, seq: u64, nr_anon: u64) -> TraceEvent {
        let (node, memcg, age) = (NodeId(0), MemcgId(memcg), SimDuration::ZERO);
        TraceEvent::SimLruGen { node, memcg, seq, age, nr_anon, nr_file: 1 }
    }

    #[test]
    fn beginnings_of_the_root_are_kept_whole() {
        let watcher = Watcher::new(8);
        let mut observer = watcher.observer();
        for (now, seq) in [(5, 0), (5, 1), (9, 1), (9, 2), (9, 3)] {
            observer.event(SimTime(now), &event(0, seq, now));
            observer.event(SimTime(now), &event(1, seq, 99));
        }
        let kept = watcher.kept();
        let seqs = |at: usize| kept.beginnings[at].1.iter().map(|g| g.seq).collect::<Vec<_>>();
        assert_eq!((kept.beginnings.len(), seqs(0), seqs(1)), (2, vec![0, 1], vec![1, 2, 3]));
    }

    #[test]
    fn many_beginnings_are_thinned() {
        let watcher = Watcher::new(4);
        let mut observer = watcher.observer();
        for i in 0..100 {
            observer.event(SimTime(i), &event(0, i, i));
            observer.event(SimTime(i), &event(0, i + 1, i));
        }
        let kept = watcher.kept();
        assert_eq!(kept.stride, 32);
        let at: Vec<u64> = kept.beginnings.iter().map(|b| b.0).collect();
        assert_eq!(at, [0, 32, 64, 96]);
        assert!(kept.beginnings.iter().all(|b| b.1.len() == 2));
    }
}
