//! A touch of a page by a thread, and what came of it.

use crate::base::id::{AsId, MemcgId, PageIdx, Pfn, ThreadId, VmaId};
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

/// Outcome of an operation of a thread.
pub(in crate::machine) type Outcome<T = ()> = Result<T, Undone>;

/// Why an operation is not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) enum Undone {
    /// Things have changed: to be tried anew at once.
    Again,
    /// The thread waits and tries anew.
    Blocked,
    /// The thread is no more.
    Killed,
}

impl AllocOutcome {
    /// The frame of a request that may not fail.
    #[inline]
    pub(in crate::machine) fn frame(self) -> Outcome<Pfn> {
        match self {
            AllocOutcome::Frame(p) => Ok(p),
            AllocOutcome::Blocked => Err(Undone::Blocked),
            AllocOutcome::Killed => Err(Undone::Killed),
            AllocOutcome::Failed => unreachable!("a page of a process is worth any effort"),
        }
    }
}
