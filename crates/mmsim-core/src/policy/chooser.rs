//! Choosers: policies of one memory cgroup that name file folios to evict ahead of its LRU.
//!
//! cache_ext (SOSP '25) lets a program follow the file folios of a group, keep them on lists of its
//! own, and offer some of them when the group is reclaimed. What it leaves undone, the LRU does: it
//! keeps every folio on its lists, knows nothing of the program, and scans for the rest.
//!
//! A chooser hears of folios late, and in order. Core writes what happens to them into the journal
//! of their group; the policy hands that over before it asks, and whenever it has
//! grown long. Each record has the time, the thread and the flags of its moment, so that a
//! chooser decides as if it had been called at once.
//!
//! A policy that asks holds the choosers ([`ReclaimPolicy::attach_chooser`]), takes one out for a
//! call, and checks each folio that it names. So a chooser can be wrong without doing harm.
//!
//! [`ReclaimPolicy::attach_chooser`]: super::ReclaimPolicy::attach_chooser

use std::fmt;
use std::path::Path;

use crate::base::id::{FileId, MemcgId, NodeId, PageIdx, ThreadId};
use crate::base::time::SimTime;
use crate::memory::Memory;
use crate::phys::frames::FolioId;

/// Folios that a chooser may name in one call (`CACHE_EXT_MAX_EVICT` of the artefact).
pub const MOST_OFFERED: usize = 32;

/// Event in the life of a file folio. Migration is none of these: the new folio is unknown to
/// choosers, and the old one is refused if it is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileFolioEvent {
    /// It is in the page cache, and neither read nor on a list (`folio_added`).
    Added,
    /// A system call used it, or an accessed bit was found as it was unmapped (`folio_accessed`).
    Accessed,
    /// It leaves the page cache: by reclaim, by truncation, or with its file (`folio_evicted`).
    Evicted,
}

/// A record of a journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileFolioRecord {
    /// When it happened.
    pub at: SimTime,
    /// The folio. Its frame may hold another one after [`FileFolioEvent::Evicted`].
    pub folio: FolioId,
    /// Its page ([`Memory::file_at`] has the file and the number there).
    pub page: PageIdx,
    /// The flags that it had (`phys::frames::flag`). `LOCKED` is set where it is about to be read.
    pub flags: u32,
    /// The thread on whose CPU it happened; `None`: one of the kernel, such as kswapd.
    pub thread: Option<ThreadId>,
    /// The event.
    pub what: FileFolioEvent,
}

/// A call for candidates (`cache_ext_eviction_ctx`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EvictAsk {
    /// The group.
    pub memcg: MemcgId,
    /// The node that is reclaimed.
    pub node: NodeId,
    /// Folios asked for, from 1 to [`MOST_OFFERED`].
    pub wanted: u32,
    /// The time.
    pub now: SimTime,
    /// The thread that reclaims; `None`: kswapd.
    pub thread: Option<ThreadId>,
}

/// A read of pages that are not cached, which asks whether they may be (`cache_ext_admission_ctx`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdmitAsk {
    /// The group of the thread.
    pub memcg: MemcgId,
    /// The file.
    pub file: FileId,
    /// The first page of the rest of the read, in the file; it is not cached.
    pub first: u32,
    /// Pages of the rest of the read.
    pub count: u32,
    /// The time.
    pub now: SimTime,
    /// The thread.
    pub thread: ThreadId,
}

/// Reason for which the run ends: a chooser needs what mmsim does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Uncovered(pub String);

/// True if a name matches a pattern, in which `*` stands for any text.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Reason for which a group has no chooser.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotAttached {
    /// It refuses, for this reason.
    Refused(String),
    /// The policy of the machine asks no chooser.
    NotAsked,
}

/// A policy that chooses file folios of a group. Its methods see memory and change nothing in it.
pub trait FileChooser: Send {
    /// Its name in reports.
    fn name(&self) -> &str;

    /// The run begins, and the group has it (`init`).
    ///
    /// # Errors
    /// It refuses to be attached, for this reason.
    fn attach(&mut self, mem: &Memory, memcg: MemcgId) -> Result<(), String> {
        let _ = (mem, memcg);
        Ok(())
    }

    /// Takes the events since the last call, in order.
    ///
    /// # Errors
    /// The run cannot go on.
    fn told(&mut self, mem: &Memory, records: &[FileFolioRecord]) -> Result<(), Uncovered>;

    /// Offers folios to evict, the first one first. It may offer fewer than are wanted, or more, up to
    /// [`MOST_OFFERED`]; a call that offers more than that ends the asking. `offered` is empty
    /// when it is called, and the chooser has all events before the call.
    ///
    /// # Errors
    /// The run cannot go on.
    fn choose(
        &mut self,
        mem: &Memory,
        ask: &EvictAsk,
        offered: &mut Vec<FolioId>,
    ) -> Result<(), Uncovered>;

    /// True if it wants to know of reads whose pages are not cached ([`FileChooser::admit`]). It says
    /// the same in all of a run.
    fn asks_to_admit(&self) -> bool {
        false
    }

    /// A thread of the group reads a page that is not cached (`admit_folio`). `Ok(false)`: as many
    /// pages of the read as a batch of the kernel has are read past the cache, one by one and without
    /// readahead, also those that are cached; the rest of the read asks again. The chooser has all
    /// events before the call.
    ///
    /// # Errors
    /// The run cannot go on.
    fn admit(&mut self, mem: &Memory, ask: &AdmitAsk) -> Result<bool, Uncovered> {
        let _ = (mem, ask);
        Ok(true)
    }

    /// Reason for which it was detached in the run: from then on it hears of nothing and offers nothing.
    fn stopped(&self) -> Option<&str> {
        None
    }

    /// Counts of its own, by names that stay the same in a run: calls, fuel, dropped elements.
    fn tallies(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Reason for which a folio that was offered stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The call offered more than [`MOST_OFFERED`].
    Overfull,
    /// There is no file folio in the frame.
    NoFolio,
    /// It is charged to another group.
    OtherGroup,
    /// It is on another node.
    OtherNode,
    /// The same call offered it before.
    Twice,
    /// It is on no list: it waits for one, or another user has taken it off.
    Unlisted,
    /// It waits to be moved between lists, which holds it.
    Pinned,
    /// It is locked into memory.
    Unevictable,
    /// It is being read.
    Locked,
    /// It is being written.
    Writeback,
    /// It is dirty.
    Dirty,
}

/// Counts of the calls of one chooser.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChooserCounts {
    /// Records of its journal that it got.
    pub told: u64,
    /// Calls for candidates.
    pub asks: u64,
    /// Folios that they asked for.
    pub wanted: u64,
    /// Folios that it offered.
    pub offered: u64,
    /// Folios of these that were evicted.
    pub evicted: u64,
    /// Folios of these that stayed, by [`Refusal`].
    pub refused: [u64; Refusal::ALL.len()],
    /// Folios of those evicted that had an accessed bit set, which this reclaim ignores.
    pub used: u64,
    /// Passes over the lists of its group that ended with its work.
    pub ended: u64,
    /// Passes that its group's lists were too short for: it was not asked, and nothing was scanned.
    pub spared: u64,
    /// File folios of its group that the LRU evicted behind it.
    pub fallback: u64,
    /// Reads that asked whether their pages may be cached.
    pub admit_asks: u64,
    /// Asks of these that it answered with no.
    pub turned_away: u64,
    /// Pages that were read past the cache for that.
    pub past: u64,
}

impl Refusal {
    /// All of them, with their names in reports.
    pub const ALL: [(Refusal, &'static str); 11] = [
        (Refusal::Overfull, "overfull"),
        (Refusal::NoFolio, "no_folio"),
        (Refusal::OtherGroup, "other_group"),
        (Refusal::OtherNode, "other_node"),
        (Refusal::Twice, "twice"),
        (Refusal::Unlisted, "unlisted"),
        (Refusal::Pinned, "pinned"),
        (Refusal::Unevictable, "unevictable"),
        (Refusal::Locked, "locked"),
        (Refusal::Writeback, "writeback"),
        (Refusal::Dirty, "dirty"),
    ];
}

impl ChooserCounts {
    /// Counts folios that were offered and stay.
    pub fn refuse(&mut self, why: Refusal, n: u64) {
        self.refused[why as usize] += n;
    }

    /// Folios that were offered and stayed.
    pub fn all_refused(&self) -> u64 {
        self.refused.iter().sum()
    }

    /// Panics if a folio that was offered is neither evicted nor refused.
    pub fn check(&self, name: &str) {
        let known = self.evicted + self.all_refused();
        assert_eq!(self.offered, known, "{name}: offered = evicted + refused");
        assert!(self.used <= self.evicted, "{name}: used folios were evicted");
        assert!(self.turned_away <= self.admit_asks, "{name}: asks are answered once");
    }
}

/// A chooser at the end of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChooserResult {
    /// Its name.
    pub name: String,
    /// Its group; empty for the root.
    pub group: String,
    /// Counts of its calls.
    pub counts: ChooserCounts,
    /// Counts of its own.
    pub tallies: Vec<(&'static str, u64)>,
    /// Reason for which it was detached.
    pub stopped: Option<String>,
}

/// A value that a scenario gives a chooser.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChooserValue {
    /// A number. `"pages of max"` became one, and so did `true` and `false`.
    Number(i64),
    /// Text.
    Text(String),
}

/// A thread as a chooser sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChooserThread {
    /// Its name.
    pub name: String,
    /// The task that it belongs to.
    pub task: String,
}

/// Settings of one map of a chooser.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChooserMap {
    /// Its size.
    pub entries: Option<u64>,
    /// Threads whose numbers are its keys.
    pub threads: Vec<ThreadId>,
}

/// Settings of a chooser (`machine.memcg[].cache-ext`).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChooserOptions {
    /// Patterns of the files that it is for, with `*`; none: all files.
    pub watch: Vec<String>,
    /// Values of globals, by name.
    pub set: Vec<(String, ChooserValue)>,
    /// Maps, by name.
    pub maps: Vec<(String, ChooserMap)>,
    /// The program that runs for each entry of a ring buffer, by the buffer.
    pub on_event: Vec<(String, String)>,
    /// `memory.max` of the group in pages.
    pub max_pages: Option<u64>,
    /// The name of the group.
    pub group: String,
    /// The threads of the run, by number.
    pub threads: Vec<ChooserThread>,
    /// The seed of the run.
    pub seed: u64,
}

/// Makers of choosers that scenarios name by `module`.
pub trait Choosers: fmt::Debug + Send + Sync {
    /// Looks at a file before any run begins, so that an error has its place.
    ///
    /// # Errors
    /// There is none, or it is no chooser.
    fn check(&self, name: &str, file: &Path) -> Result<(), String> {
        match file.is_file() {
            true => Ok(()),
            false => Err(format!("there is no file `{name}`, write one relative to the scenario")),
        }
    }

    /// The chooser of one run. `name` is what the scenario says, and `file` where that would lie.
    ///
    /// # Errors
    /// There is none, or it is no chooser: what was found, and what to write instead.
    fn create(
        &self,
        name: &str,
        file: &Path,
        options: &ChooserOptions,
    ) -> Result<Box<dyn FileChooser>, String>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, is) in [
            ("tree", "tree", true),
            ("tree", "tree2", false),
            ("*", "", true),
            ("src/*", "src/mm/vmscan.c", true),
            ("*.c", "src/mm/vmscan.c", true),
            ("*.c", "src/mm/vmscan.h", false),
            ("s*m*c", "src/mm/vmscan.c", true),
            ("a*a", "a", false),
            ("a*b*b", "ab", false),
        ] {
            assert_eq!(matches(pattern, name), is, "{pattern} {name}");
        }
    }
}
