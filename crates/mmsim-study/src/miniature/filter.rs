//! The work of a miniature: a workload without its operations on pages outside of the sample.
//!
//! The time of what is left out stays. A touch or a cached read that is dropped takes its time as
//! computation, and so do calls of which no page is kept. Misses are dearer instead, by as many
//! pages as a page stands for ([`scaled`](super::scaled)).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::cost::CostModel;
use mmsim_core::workload::{
    Aim, CopyRun, FileSlot, FileSpec, MapKind, Op, Played, Replayed, Run, Workload, WorkloadCx,
};

use super::sample::{Sample, space};

/// Pages of a page table.
const TABLE: u64 = 512;

/// A mapping of the full process, and what is left of it.
#[derive(Clone, Copy, Debug)]
struct Mapped {
    /// Which pages it holds: those of `space` from `offset` on.
    space: u64,
    offset: u64,
    /// Kept pages of the space before the mapping.
    before: u64,
    /// Kept pages of the mapping. None: it is not mapped at all.
    kept: u64,
}

/// State that the threads of a process share: its mappings.
#[derive(Debug, Default)]
pub(super) struct Process {
    /// By the number of the region.
    mapped: Vec<Option<Mapped>>,
    /// Names the anonymous memory of the process.
    space: u64,
    /// Mappings so far.
    made: u64,
    /// First page behind all mappings of the miniature.
    next: u64,
}

impl Process {
    pub(super) fn new(name: &str) -> Arc<Mutex<Process>> {
        Arc::new(Mutex::new(Process { space: space(name), ..Process::default() }))
    }

    /// The space of its n-th mapping, which is one of anonymous memory.
    fn anon(&self, nth: u64) -> u64 {
        self.space ^ nth.wrapping_mul(0xD6E8_FEB8_6659_FD93)
    }

    /// The same of the mapping that it makes first.
    pub(super) fn first_space(&self) -> u64 {
        self.anon(1)
    }

    /// Place of a mapping of `pages` pages: small ones share a page table, as pages of the full
    /// process do that a small one stands for.
    fn place(&mut self, pages: u64) -> u64 {
        if self.next % TABLE + pages > TABLE {
            self.next = self.next.next_multiple_of(TABLE);
        }
        let at = self.next;
        self.next += pages;
        at
    }
}

/// A thread of a miniature.
pub(super) struct Filter {
    inner: Box<dyn Workload>,
    sample: Sample,
    process: Arc<Mutex<Process>>,
    /// Accesses of all threads, those that are dropped too.
    accesses: Arc<AtomicU64>,
    /// Spaces of the workload's files.
    files: Vec<u64>,
    /// Time of the operations that are dropped.
    t_hit: u64,
    t_read: u64,
    t_syscall: u64,
    all: Vec<Op>,
    /// Pages of `memory.reclaim` that were too few to ask for.
    owed: u64,
}

impl Filter {
    /// `cost` is that of the full machine.
    pub(super) fn new(
        inner: Box<dyn Workload>,
        sample: Sample,
        (process, accesses): (Arc<Mutex<Process>>, Arc<AtomicU64>),
        cost: &CostModel,
    ) -> Self {
        let files = inner.files().iter().map(|f| space(&f.name)).collect();
        Filter {
            inner,
            sample,
            process,
            accesses,
            files,
            t_hit: cost.t_hit.as_nanos(),
            t_read: cost.t_read_cached.as_nanos(),
            t_syscall: cost.t_syscall.as_nanos(),
            all: Vec::new(),
            owed: 0,
        }
    }

    /// The kept pages among `count` from `first` on of a mapping: the first and how many.
    #[inline]
    fn part(&self, m: &Mapped, first: u32, count: u32) -> (u32, u32) {
        let from = m.offset + u64::from(first);
        if count == 1 {
            return match self.sample.page(m.space, from) {
                Some(page) => ((page - m.before) as u32, 1),
                None => (0, 0),
            };
        }
        let begin = self.sample.below(m.space, from);
        let end = self.sample.below(m.space, from + u64::from(count));
        ((begin - m.before) as u32, (end - begin) as u32)
    }

    /// The same of a file.
    fn part_of_file(&self, file: u16, first: u32, count: u32) -> (u32, u32) {
        let space = self.files[usize::from(file)];
        let whole = Mapped { space, offset: 0, before: 0, kept: 0 };
        self.part(&whole, first, count)
    }

    fn map(&self, process: &mut Process, op: Op) -> Option<Op> {
        let Op::Mmap { region, pages, kind, flags, at: _ } = op else { return None };
        process.made += 1;
        let (space, offset) = match kind {
            MapKind::File { file, offset, .. } | MapKind::Shmem { file, offset } => {
                (self.files[usize::from(file.0)], offset.into())
            }
            MapKind::Anon | MapKind::HugeTlb => (process.anon(process.made), 0),
        };
        let before = self.sample.below(space, offset);
        let kept = self.sample.below(space, offset + u64::from(pages)) - before;
        let n = usize::from(region.0);
        if process.mapped.len() <= n {
            process.mapped.resize(n + 1, None);
        }
        process.mapped[n] = Some(Mapped { space, offset, before, kept });
        if kept == 0 {
            return None;
        }
        let kind = match kind {
            MapKind::File { file, shared, .. } => {
                MapKind::File { file, offset: before as u32, shared }
            }
            MapKind::Shmem { file, .. } => MapKind::Shmem { file, offset: before as u32 },
            other => other,
        };
        let at = Some(process.place(kept));
        Some(Op::Mmap { region, pages: kept as u32, kind, flags, at })
    }
}

/// Operations of a miniature. Time of what is dropped is one operation until something is kept.
struct Out<'a> {
    ops: &'a mut Vec<Op>,
    dropped: u64,
}

impl Out<'_> {
    #[inline]
    fn push(&mut self, op: Op) {
        self.settle();
        self.ops.push(op);
    }

    #[inline]
    fn settle(&mut self) {
        if self.dropped > 0 {
            self.ops.push(Op::Compute(SimDuration::from_nanos(self.dropped)));
            self.dropped = 0;
        }
    }

    #[inline]
    fn touch(&mut self, run: Run, (first, count): (u32, u32), t: u64) {
        if count > 0 {
            self.push(Op::Access(Run { first, count, ..run }));
        }
        self.dropped += t * u64::from(run.count - count);
    }
}

impl Workload for Filter {
    fn files(&self) -> Vec<FileSpec> {
        let mut files = self.inner.files();
        for (file, space) in files.iter_mut().zip(&self.files) {
            file.pages = self.sample.below(*space, file.pages.into()).max(1) as u32;
        }
        files
    }

    fn phases(&self) -> Vec<String> {
        self.inner.phases()
    }

    fn minimum_pages(&self) -> u64 {
        self.inner.minimum_pages().div_ceil(self.sample.one_in())
    }

    fn aim(&self) -> Option<Aim> {
        self.inner.aim()
    }

    fn played(&self) -> Vec<Played> {
        self.inner.played()
    }

    fn kill(&mut self, number: u16) {
        self.inner.kill(number);
    }

    fn replayed(&self) -> Option<Replayed> {
        self.inner.replayed()
    }

    fn fill(&mut self, cx: &WorkloadCx<'_>, rng: &mut Rng, ops: &mut Vec<Op>) {
        let mut all = std::mem::take(&mut self.all);
        all.clear();
        self.inner.fill(cx, rng, &mut all);
        let process = Arc::clone(&self.process);
        let mut process = process.lock().expect("no thread of a machine panics and goes on");
        let mut out = Out { ops, dropped: 0 };
        let region = |p: &Process, n: u16| p.mapped.get(usize::from(n)).copied().flatten();
        let mut accesses = 0;
        for op in &all {
            accesses += match op {
                Op::Read { count, .. } | Op::Write { count, .. } | Op::Uncached { count, .. } => {
                    u64::from(*count)
                }
                op => op.touches().into(),
            };
            match *op {
                Op::Access(run) => match region(&process, run.region.0) {
                    Some(m) => out.touch(run, self.part(&m, run.first, run.count), self.t_hit),
                    // The machine says what is wrong.
                    None => out.push(*op),
                },
                Op::Copy(copy) => self.copy(&process, copy, &mut out),
                Op::Mmap { .. } => match self.map(&mut process, *op) {
                    Some(op) => out.push(op),
                    None => out.dropped += self.t_syscall,
                },
                Op::Munmap { region: r } => {
                    let m = region(&process, r.0);
                    if let Some(slot) = process.mapped.get_mut(usize::from(r.0)) {
                        *slot = None;
                    }
                    match m {
                        Some(Mapped { kept: 0, .. }) => out.dropped += self.t_syscall,
                        _ => out.push(*op),
                    }
                }
                Op::Madvise { region: r, first, count, advice } => {
                    let part = region(&process, r.0).map(|m| self.part(&m, first, count));
                    match part {
                        Some((_, 0)) => out.dropped += self.t_syscall,
                        Some((first, count)) => {
                            out.push(Op::Madvise { region: r, first, count, advice });
                        }
                        None => out.push(*op),
                    }
                }
                Op::Mlock { region: r, first, count, onfault } => {
                    let part = region(&process, r.0).map(|m| self.part(&m, first, count));
                    match part {
                        Some((_, 0)) => out.dropped += self.t_syscall,
                        Some((first, count)) => {
                            out.push(Op::Mlock { region: r, first, count, onfault });
                        }
                        None => out.push(*op),
                    }
                }
                Op::ShmLock { .. } => out.push(*op),
                Op::Munlock { region: r, first, count } => {
                    let part = region(&process, r.0).map(|m| self.part(&m, first, count));
                    match part {
                        Some((_, 0)) => out.dropped += self.t_syscall,
                        Some((first, count)) => out.push(Op::Munlock { region: r, first, count }),
                        None => out.push(*op),
                    }
                }
                Op::Read { file, first, count } => {
                    let of = |first, count| Op::Read { file, first, count };
                    self.file_io(file, (first, count), of, &mut out);
                }
                Op::Write { file, first, count } => {
                    let of = |first, count| Op::Write { file, first, count };
                    self.file_io(file, (first, count), of, &mut out);
                }
                Op::Uncached { file, first, count, write, how } => {
                    let of = |first, count| Op::Uncached { file, first, count, write, how };
                    self.file_io(file, (first, count), of, &mut out);
                }
                Op::Fadvise { file, first, count, advice } => {
                    match self.part_of_file(file.0, first, count) {
                        (_, 0) => out.dropped += self.t_syscall,
                        (first, count) => out.push(Op::Fadvise { file, first, count, advice }),
                    }
                }
                Op::MemcgReclaim { memcg, pages, swappiness } => {
                    self.owed += u64::from(pages);
                    let whole = self.owed >> self.sample.shift;
                    self.owed -= whole << self.sample.shift;
                    match whole {
                        0 => out.dropped += self.t_syscall,
                        n => {
                            let pages = n as u32;
                            out.push(Op::MemcgReclaim { memcg, pages, swappiness });
                        }
                    }
                }
                Op::Compute(d) => out.dropped += d.as_nanos(),
                other => out.push(other),
            }
        }
        out.settle();
        self.accesses.fetch_add(accesses, Ordering::Relaxed);
        if ops.is_empty() && !all.is_empty() {
            ops.push(Op::Compute(SimDuration::ZERO));
        }
        self.all = all;
    }
}

impl Filter {
    /// The part of a read or write that is kept; the rest takes its time alone.
    fn file_io(
        &self,
        file: FileSlot,
        (first, count): (u32, u32),
        of: impl Fn(u32, u32) -> Op,
        out: &mut Out<'_>,
    ) {
        let (f, n) = self.part_of_file(file.0, first, count);
        match n {
            0 => out.dropped += self.t_syscall,
            _ => out.push(of(f, n)),
        }
        out.dropped += self.t_read * u64::from(count - n);
    }

    /// The two sides of a copy keep different pages: one is read, then the other written.
    fn copy(&self, process: &Process, copy: CopyRun, out: &mut Out<'_>) {
        for side in [copy.side(0), copy.side(1)] {
            match process.mapped.get(usize::from(side.region.0)).copied().flatten() {
                Some(m) => out.touch(side, self.part(&m, side.first, side.count), self.t_hit),
                None => out.push(Op::Access(side)),
            }
        }
    }
}
