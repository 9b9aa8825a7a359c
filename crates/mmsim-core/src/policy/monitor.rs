//! Interface between core and a monitor of accesses.
//!
//! A monitor is a kernel thread: it sleeps, wakes, looks at some pages, perhaps acts on some, and
//! sleeps again. Core gives it a CPU, and lets it pay for what it does on that CPU's clock; what it looks
//! at, when, and what it makes of it is its own affair. It reaches memory through the doors
//! that are there for everybody, and the replacement policy, whichever it is, as other parts of
//! the kernel do.
//!
//! Source: Linux 6.12 mm/damon/core.c (`kdamond_fn`), include/linux/damon.h (`damon_operations`).

use super::ReclaimPolicy;
use crate::base::digest::Digest;
use crate::base::id::{AsId, NodeId};
use crate::base::time::SimTime;
use crate::memory::Memory;
use crate::phys::frames::FolioId;
use crate::workload::{Advice, Note};
use std::any::Any;
use std::ops::Range;

/// Action of a monitor after a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Goes on: another step as soon as it is its turn.
    Again,
    /// Sleeps until then.
    Sleep(SimTime),
    /// Ends.
    Exit,
}

/// Operations that a machine offers to a monitor.
pub trait Doors {
    /// Memory, to look at.
    fn memory(&self) -> &Memory;

    /// Memory, and the policy behind it.
    fn parts(&mut self) -> (&mut Memory, &mut dyn ReclaimPolicy);

    /// Advice about a range of virtual pages of a process, as `process_madvise(2)` gives it. False:
    /// a part of the range is not mapped, the process is gone, or the advice cannot be given for
    /// other processes; the mapped parts were done all the same.
    fn madvise(&mut self, space: AsId, pages: Range<u64>, advice: Advice) -> bool;

    /// Evicts isolated folios in order and puts back those that stay (`reclaim_pages`). Returns how
    /// many pages are gone.
    fn reclaim_pages(&mut self, folios: &[FolioId], ignore_references: bool) -> u64;

    /// Moves isolated folios of one page to free frames of a node, asynchronously and without
    /// reclaim, and puts back those that stay. Returns how many pages moved.
    fn migrate_pages(&mut self, folios: &[FolioId], node: NodeId) -> u64;

    /// Puts isolated folios back on their lists. Returns 0: nothing was done to them.
    fn put_back(&mut self, folios: &[FolioId]) -> u64;

    /// The time since the start in which some thread was stalled on memory, in microseconds.
    fn some_us(&mut self) -> u64;
}

/// A kernel thread that monitors accesses.
pub trait Monitor: Any + Send {
    /// One step, atomic for everybody else; `parts().0.now` is the clock, advanced by what the step
    /// costs.
    fn step(&mut self, doors: &mut dyn Doors) -> Next;

    /// Asks it for a note.
    fn request_note(&mut self, what: Note);

    /// Number of notes it has taken.
    fn notes(&self) -> u64;

    /// Panics, naming ids, if an invariant does not hold.
    fn check(&self) {}

    /// Adds the state that decides to a digest.
    fn digest(&self, d: &mut Digest);
}
