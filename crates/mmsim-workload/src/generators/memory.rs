//! The memory that a generator works on: one region, or one file.

use crate::named::Misfit;
use crate::work::Pages;
use mmsim_core::base::settings::{Form, Formed, Row, Value, Word};
use mmsim_core::workload::{
    FileSlot, FileSpec, MapKind, Op, RegionId, Run, ShmemSpec, Uncached, VmaFlags,
};

/// Pages per run at most.
pub(super) const RUN_PAGES: u32 = 4096;
/// Long runs per batch at most.
const RUNS: usize = 256;

/// Kind of memory that is accessed, and the way of access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemoryKind {
    /// Touches of private anonymous memory.
    Anon,
    /// Touches of a shared mapping of the file with this name.
    FileShared(String),
    /// Touches of a private mapping of the file: a write copies the page.
    FilePrivate(String),
    /// `read(2)` and `write(2)` of single pages of the file: no mapping, no fault.
    FileRead(String),
    /// Touches of shared memory: an object with this name.
    Shmem(String, ShmemSpec),
}

impl Formed for MemoryKind {
    const FORM: Form = {
        const fn word(name: &'static str, doc: &'static str) -> Word {
            Word { name, doc, since: "" }
        }
        const WORDS: &[Word] = &[
            word("anon", "anonymous memory"),
            word("file-shared", "a shared mapping of a file"),
            word("file-private", "a private mapping of a file"),
            word("read", "a file through read(2) and write(2)"),
            word("shmem", "shared memory"),
        ];
        Form::Word(WORDS, &["anon", "file-shared", "file-private", "read", "shmem"])
    };
}
impl Value for MemoryKind {
    fn number(&self, _: &Row) -> Option<u64> {
        Some(match self {
            MemoryKind::Anon => 0,
            MemoryKind::FileShared(_) => 1,
            MemoryKind::FilePrivate(_) => 2,
            MemoryKind::FileRead(_) => 3,
            MemoryKind::Shmem(..) => 4,
        })
    }
    fn set_number(&mut self, _: &Row, n: u64) {
        let name = self.file().unwrap_or_default().to_string();
        *self = match n {
            1 => MemoryKind::FileShared(name),
            2 => MemoryKind::FilePrivate(name),
            3 => MemoryKind::FileRead(name),
            4 => MemoryKind::Shmem(name, ShmemSpec::default()),
            _ => MemoryKind::Anon,
        };
    }
}

impl MemoryKind {
    /// Gives the file a name, if it is one.
    pub(super) fn name_file(&mut self, of: &str) {
        match self {
            MemoryKind::Anon => {}
            MemoryKind::FileShared(name)
            | MemoryKind::FilePrivate(name)
            | MemoryKind::FileRead(name)
            | MemoryKind::Shmem(name, _) => *name = of.to_string(),
        }
    }

    /// Checks a number of pages that are written from one `fsync(2)` to the next.
    pub(super) fn check_fsync(&self, every: u32, writes: bool) -> Result<(), Misfit> {
        let file = matches!(self, MemoryKind::FileRead(_) | MemoryKind::FileShared(_));
        if every == 0 || file && writes {
            return Ok(());
        }
        let found = if file { "nothing is written" } else { "no file is written" };
        let write = "0, or write to a region of \"read\" or \"file-shared\"";
        Err(Misfit::new("fsync", found, write))
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&str> {
        match self {
            MemoryKind::Anon => None,
            MemoryKind::FileShared(name)
            | MemoryKind::FilePrivate(name)
            | MemoryKind::FileRead(name)
            | MemoryKind::Shmem(name, _) => Some(name),
        }
    }

    /// The file, with its pages.
    pub(super) fn file_spec(&self, pages: u32) -> Option<FileSpec> {
        let shmem = match self {
            MemoryKind::Shmem(_, spec) => Some(*spec),
            _ => None,
        };
        self.file().map(|name| FileSpec { shmem, ..FileSpec::new(name, pages) })
    }

    /// True if it is a file that is mapped.
    pub fn maps_file(&self) -> bool {
        matches!(self, MemoryKind::FileShared(_) | MemoryKind::FilePrivate(_))
    }

    /// True if its pages may be anonymous: a write to a private mapping of a file copies the page.
    pub(super) fn is_anon(&self, writes: bool) -> bool {
        match self {
            MemoryKind::Anon | MemoryKind::Shmem(..) => true,
            MemoryKind::FilePrivate(_) => writes,
            MemoryKind::FileShared(_) | MemoryKind::FileRead(_) => false,
        }
    }

    /// Adds memory of this kind: a mapping, and the file.
    pub(super) fn add_pages(&self, pages: u32, all: &mut Pages) {
        if let Some(file) = self.file() {
            all.file(file, pages.into());
        }
        if !matches!(self, MemoryKind::FileRead(_)) {
            all.map(pages.into(), 1);
        }
    }
}

/// First visit of every page, in ascending order, before the measured work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Populate {
    /// Not at all: the first accesses of the work find nothing in memory.
    None,
    /// By reading. (Anonymous memory gets the shared zero page.)
    Read,
    /// By writing.
    Write,
}

/// `pages` pages of some kind, as region 0 or file 0 of the workload.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) kind: MemoryKind,
    pub(super) pages: u32,
    pub(super) flags: VmaFlags,
}

pub(super) const REGION: RegionId = RegionId(0);
pub(super) const FILE: FileSlot = FileSlot(0);

impl Memory {
    /// The file, if any.
    pub(super) fn files(&self) -> Vec<FileSpec> {
        self.kind.file_spec(self.pages).into_iter().collect()
    }
    /// Maps it, where that is needed.
    pub(super) fn map(&self, ops: &mut Vec<Op>) {
        if let Some(op) = mmap(REGION, self.pages, &self.kind, FILE, self.flags) {
            ops.push(op);
        }
    }
    /// True if it is touched, not read and written by system calls.
    pub(super) fn is_mapped(&self) -> bool {
        !matches!(self.kind, MemoryKind::FileRead(_))
    }
    /// A touch of one page of what is mapped.
    #[inline]
    pub(super) fn touch(page: u32, write: bool) -> Op {
        Op::Access(Run { region: REGION, write, first: page, count: 1 })
    }
    /// An access to consecutive pages.
    #[inline]
    pub(super) fn access(&self, first: u32, count: u32, write: bool) -> Op {
        access(REGION, FILE, &self.kind, first, count, write)
    }
}

/// Maps a region; nothing for a file that is only read.
pub(super) fn mmap(
    region: RegionId,
    pages: u32,
    kind: &MemoryKind,
    file: FileSlot,
    flags: VmaFlags,
) -> Option<Op> {
    let kind = match kind {
        MemoryKind::Anon => MapKind::Anon,
        MemoryKind::FileShared(_) => MapKind::File { file, offset: 0, shared: true },
        MemoryKind::FilePrivate(_) => MapKind::File { file, offset: 0, shared: false },
        MemoryKind::FileRead(_) => return None,
        MemoryKind::Shmem(..) => MapKind::Shmem { file, offset: 0 },
    };
    Some(Op::Mmap { region, pages, kind, flags, at: None })
}

/// A read or write of file pages, through the cache or around it.
pub(super) fn file_io(
    file: FileSlot,
    (first, count): (u32, u32),
    write: bool,
    uncached: Option<Uncached>,
) -> Op {
    match (uncached, write) {
        (Some(how), _) => Op::Uncached { file, first, count, write, how },
        (None, false) => Op::Read { file, first, count },
        (None, true) => Op::Write { file, first, count },
    }
}

/// An access to consecutive pages of memory of some kind.
#[inline]
pub(super) fn access(
    region: RegionId,
    file: FileSlot,
    kind: &MemoryKind,
    first: u32,
    count: u32,
    write: bool,
) -> Op {
    match kind {
        MemoryKind::FileRead(_) => file_io(file, (first, count), write, None),
        _ => Op::Access(Run { region, write, first, count }),
    }
}

/// `fsync(2)` after every given number of pages that a thread writes to its file, as fio's `fsync`
/// has it.
#[derive(Clone, Debug)]
pub(super) struct Syncs {
    /// 0: never.
    every: u32,
    /// Pages until the next one.
    left: u32,
}

impl Syncs {
    pub(super) fn new(every: u32) -> Self {
        Syncs { every, left: every }
    }
    /// True if there are any.
    pub(super) fn on(&self) -> bool {
        self.every > 0
    }
    /// Number of pages that may be accessed before the next one, if they are written.
    pub(super) fn room(&self) -> u32 {
        if self.on() { self.left } else { u32::MAX }
    }
    /// An operation that accesses no more than [`Syncs::room`] pages, and the call if one is due.
    pub(super) fn push(&mut self, op: Op, ops: &mut Vec<Op>) {
        ops.push(op);
        let written = match op {
            Op::Write { count, .. } | Op::Access(Run { write: true, count, .. }) => count,
            _ => 0,
        };
        if self.on() && written > 0 {
            self.left -= written;
            if self.left == 0 {
                self.left = self.every;
                ops.push(Op::Fsync { file: FILE });
            }
        }
    }
}

/// The set-up of most generators: map, then visit every page once.
#[derive(Clone, Debug)]
pub(super) struct SetUp {
    populate: Populate,
    /// Next page to visit; none before the mapping exists.
    next: Option<u32>,
}

impl SetUp {
    pub(super) fn new(populate: Populate) -> Self {
        SetUp { populate, next: None }
    }
    /// The next part; appends nothing when all is done.
    pub(super) fn step(&mut self, memory: &Memory, ops: &mut Vec<Op>) {
        if self.next.is_none() {
            memory.map(ops);
        }
        let mut page = self.next.unwrap_or(0);
        let write = match self.populate {
            Populate::None => {
                self.next = Some(0);
                return;
            }
            Populate::Read => false,
            Populate::Write => true,
        };
        while page < memory.pages && ops.len() < RUNS {
            let count = (memory.pages - page).min(RUN_PAGES);
            ops.push(memory.access(page, count, write));
            page += count;
        }
        self.next = Some(page);
    }
}
