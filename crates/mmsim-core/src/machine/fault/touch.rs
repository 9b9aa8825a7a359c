//! A touch of a page by a thread, and how far it got.

use crate::base::id::{AsId, MemcgId, PageIdx, ThreadId, VmaId};
use crate::machine::cpu::thread::Thread;
use crate::machine::reclaim::alloc::AllocOutcome;

/// A touch by a thread: the page, and the mapping that it lies in.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Touch {
    pub tid: ThreadId,
    /// The thread's process, and the group of that.
    pub space: AsId,
    pub memcg: MemcgId,
    pub page: PageIdx,
    pub vma: VmaId,
    pub write: bool,
}

impl Touch {
    #[inline]
    pub(in crate::machine) fn by(
        tid: ThreadId,
        t: &Thread,
        page: PageIdx,
        vma: VmaId,
        write: bool,
    ) -> Self {
        Touch { tid, space: t.space, memcg: t.memcg, page, vma, write }
    }
}

/// Outcome of an operation: it is done, or the thread has to come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) enum FaultOutcome {
    /// Done.
    Done,
    /// Things have changed: to be tried anew at once.
    Again,
    /// The thread waits and tries anew.
    Blocked,
    /// The thread is no more.
    Killed,
}

impl From<AllocOutcome> for FaultOutcome {
    fn from(g: AllocOutcome) -> FaultOutcome {
        match g {
            AllocOutcome::Frame(_) => FaultOutcome::Done,
            AllocOutcome::Blocked => FaultOutcome::Blocked,
            AllocOutcome::Killed => FaultOutcome::Killed,
            AllocOutcome::Failed => unreachable!("a page of a process is worth any effort"),
        }
    }
}
