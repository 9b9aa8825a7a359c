//! Records of a running context for observers: notes on request, and a record.
//!
//! A note of statistics is taken after the next sample. A note of regions begins then, too: it holds
//! the regions that the first scheme is applied to from there on, up to the next sample after that; so
//! it is taken at the end of an aggregation, and whoever asked waits so long. If nothing is
//! applied for two aggregations it is empty.
//!
//! A record holds what the tracepoint `damon_aggregated` shows: all regions at the end of every
//! aggregation, before their counts are reset. It has [`MOST_KEPT`] of them at most, so that a run
//! without end does not take all memory of the host; it says when it was full.
//!
//! Linux 6.12 mm/damon/sysfs.c (`damon_sysfs_cmd_request_callback`), sysfs-schemes.c
//! (`damon_sysfs_before_damos_apply`), include/trace/events/damon.h.

use crate::config::PatternCounter;
use crate::context::Context;
use crate::damos::scheme::Stat;
use crate::modules::stat::{Teller, Told};
use crate::operations::Hook;
use crate::region::Region;
use mmsim_core::base::time::SimTime;
use mmsim_core::workload::Note;
use std::collections::VecDeque;
use std::sync::Arc;

/// Regions of all snapshots of a record, and of what its schemes were applied to. A snapshot counts for
/// one more.
pub const MOST_KEPT: u64 = 1 << 22;
/// Host bytes of each.
pub const BYTES_KEPT: u64 = size_of::<Region>() as u64 + 16;

/// A note that was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken {
    /// When.
    pub at: SimTime,
    /// The requested note.
    pub what: Note,
    /// Regions that the first scheme was applied to, in the order of that. Where patterns are about
    /// a sum over two windows it is in `nr_accesses_bp`.
    pub regions: Vec<Region>,
    /// Statistics of the schemes so far.
    pub stats: Vec<Stat>,
}

/// The regions of one target at the end of an aggregation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// When.
    pub at: SimTime,
    /// Index of the target.
    pub target: usize,
    /// Its regions, with the counts that are reset next.
    pub regions: Vec<Region>,
}

/// Bytes that a scheme was about to be applied to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Applied {
    /// When.
    pub at: SimTime,
    /// Index of the scheme.
    pub scheme: usize,
    /// Index of the target.
    pub target: usize,
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

/// Records of a context.
#[derive(Debug, Default)]
pub struct Watch {
    requests: VecDeque<Note>,
    taken: Vec<Taken>,
    /// Regions of the note that is being taken, and aggregations since it was begun.
    regions: Option<(Vec<Region>, u32)>,
    recording: bool,
    record: Arc<Vec<Snapshot>>,
    /// Regions and snapshots that are kept, of [`MOST_KEPT`].
    kept: u64,
    /// When there was no room for more.
    full: Option<SimTime>,
    /// Source of the output of DAMON_STAT, if it is that.
    teller: Option<Teller>,
    applied: Arc<Vec<Applied>>,
}

impl Watch {
    /// Keeps all snapshots if so wanted, as long as there is room.
    pub fn new(recording: bool) -> Watch {
        Watch { recording, ..Watch::default() }
    }

    /// Tells what DAMON_STAT tells.
    pub fn telling(self) -> Watch {
        Watch { teller: Some(Teller::default()), ..self }
    }

    /// Output of DAMON_STAT at its last look; none: it is another monitor.
    pub fn told(&self) -> Option<&Told> {
        self.teller.as_ref().map(|t| &t.told)
    }

    /// Asks for a note.
    pub fn request(&mut self, what: Note) {
        self.requests.push_back(what);
    }

    /// The notes, in order of time.
    pub fn taken(&self) -> &[Taken] {
        &self.taken
    }

    /// The snapshots, in order of time and target.
    pub fn record(&self) -> &Arc<Vec<Snapshot>> {
        &self.record
    }

    /// Applications of schemes, in order of time, if snapshots are kept.
    pub fn applied(&self) -> &Arc<Vec<Applied>> {
        &self.applied
    }

    /// When the record was full: it has nothing from then on.
    pub fn full(&self) -> Option<SimTime> {
        self.full
    }

    /// True if `more` more entries are kept.
    fn keeps(&mut self, more: usize, now: SimTime) -> bool {
        if !self.recording || self.full.is_some() {
            return false;
        }
        if self.kept + more as u64 > MOST_KEPT {
            self.full = Some(now);
            return false;
        }
        self.kept += more as u64;
        true
    }

    pub(crate) fn hook(&mut self, hook: Hook, context: &Context, now: SimTime) {
        match hook {
            Hook::AfterSampling | Hook::AfterWmarksCheck => self.answer(hook, context, now),
            Hook::Calls => {
                if let Some(teller) = &mut self.teller {
                    teller.look(context, now);
                }
            }
            Hook::AfterAggregation => {
                if let Some((_, aggregations)) = &mut self.regions {
                    *aggregations += 1;
                }
            }
            Hook::BeforeApply { scheme, target, region } => {
                if self.keeps(1, now) {
                    let Region { start, end, .. } = context.targets()[target].regions()[region];
                    let applied = Applied { at: now, scheme, target, start, end };
                    Arc::make_mut(&mut self.applied).push(applied);
                }
                if scheme > 0 {
                    return;
                }
                if let Some((regions, _)) = &mut self.regions {
                    let mut region = context.targets()[target].regions()[region];
                    if context.config().pattern_counter == PatternCounter::WindowSum {
                        region.nr_accesses_bp = context.counter(&region).saturating_mul(10_000);
                    }
                    regions.push(region);
                }
            }
            Hook::Aggregated { target } if self.recording => {
                let regions = context.targets()[target].regions();
                if self.keeps(regions.len() + 1, now) {
                    let shot = Snapshot { at: now, target, regions: regions.to_vec() };
                    Arc::make_mut(&mut self.record).push(shot);
                }
            }
            _ => {}
        }
    }

    fn answer(&mut self, hook: Hook, context: &Context, now: SimTime) {
        while let Some(&what) = self.requests.front() {
            if what == Note::Regions && self.regions.is_none() {
                self.regions = Some((Vec::new(), 0));
                return;
            }
            let active = hook == Hook::AfterSampling;
            let waits = |(r, n): &(Vec<Region>, u32)| active && r.is_empty() && *n < 2;
            if what == Note::Regions && self.regions.as_ref().is_some_and(waits) {
                return;
            }
            self.requests.pop_front();
            let regions = self.regions.take().map(|r| r.0).unwrap_or_default();
            let stats = context.schemes().iter().map(|s| *s.stat()).collect();
            self.taken.push(Taken { at: now, what, regions, stats });
        }
    }
}
