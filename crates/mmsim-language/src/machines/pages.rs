//! Pages that the processes of a run map and that its files have: each has a number for as long as the
//! machine lives, and costs the host an entry.
//!
//! A mapping and a file take whole page tables. What is unmapped leaves its numbers to mappings of as many
//! tables. Files are there once, whoever reads them; a name is one file in all tasks.

use std::collections::BTreeMap;
use std::fs::File;

use mmsim_core::base::id::GROUP_PAGES;
use mmsim_workload::generators::{BuildConfig, CopyBuffer, End, MemoryKind};
use mmsim_workload::trace::{Backing, TraceReader};

use super::workloads;
use crate::scenario::workload::{TaskSpec, WorkloadSpec};

/// Pages of several tasks together.
#[derive(Clone, Default, Debug)]
pub(crate) struct Pages {
    /// Pages that are mapped, in whole page tables.
    mapped: u64,
    /// Pages of files that scenarios do not name.
    files: u64,
    /// Files by name.
    named: BTreeMap<String, u64>,
    /// True if a task takes all available memory for the kernel.
    takes_all: bool,
}

/// The page tables that a mapping takes, in pages.
fn tables(pages: u64) -> u64 {
    pages.saturating_add(u64::from(GROUP_PAGES) - 1) / u64::from(GROUP_PAGES)
        * u64::from(GROUP_PAGES)
}

/// Pages for the heaps of compilations. A place that one of another size left fits none: there are as
/// many as the workers for each size, or one for each compilation.
fn of_heaps(w: &BuildConfig) -> u64 {
    let group = u64::from(GROUP_PAGES);
    let (least, most) = w.anon.bounds();
    let (least, most) = (tables(least) / group, tables(most) / group);
    let at_once = most.saturating_mul(w.threads.into());
    let End::Work(compilations) = w.end else { return at_once.saturating_mul(group) };
    let sizes = (least + most).saturating_mul(most - least + 1) / 2;
    let left = sizes.saturating_mul(w.threads.into()).min(most.saturating_mul(compilations));
    left.max(at_once).saturating_mul(group)
}

impl Pages {
    /// All pages that need a number.
    pub(crate) fn all(&self) -> u64 {
        let named = self.named.values().fold(0, |sum: u64, &n| sum.saturating_add(tables(n)));
        self.mapped.saturating_add(self.files).saturating_add(named)
    }

    /// Frames that may come into use, of those that there are.
    pub(crate) fn used_of(&self, frames: u64) -> u64 {
        if self.takes_all { frames } else { frames.min(self.all()) }
    }

    /// Adds a task. `seed` draws the sizes that follow a law. What a file says that cannot be read is
    /// nothing: its run is an error.
    pub(crate) fn add(&mut self, task: &TaskSpec, seed: u64) {
        let (mut mapped, mut files) = (0_u64, 0_u64);
        let mut map = |pages: u64, times: u64| {
            mapped = mapped.saturating_add(tables(pages).saturating_mul(times));
        };
        let mut files_of = |n: u32, pages: u64| {
            files = files.saturating_add(tables(pages.max(1)).saturating_mul(n.into()));
        };

        let mut region = |pages: u32, kind: &MemoryKind, map: &mut dyn FnMut(u64, u64)| match kind {
            MemoryKind::Anon => map(pages.into(), 1),
            MemoryKind::FileShared(name)
            | MemoryKind::FilePrivate(name)
            | MemoryKind::FileRead(name) => {
                let pages = u64::from(pages);
                let known = self.named.entry(name.clone()).or_default();
                *known = pages.max(*known);
                if !matches!(kind, MemoryKind::FileRead(_)) {
                    map(pages, 1);
                }
            }
        };
        match &task.work {
            WorkloadSpec::Ebizzy(w) => {
                map(u64::from(w.chunks) * u64::from(w.chunk_pages), 1);
                let buffers = if w.copy_buffer == CopyBuffer::None { 0 } else { w.threads.into() };
                map(w.chunk_pages.into(), buffers);
            }
            WorkloadSpec::Zipf(w) | WorkloadSpec::Uniform(w) if w.own_files => {
                if w.kind != MemoryKind::Anon {
                    files_of(task.processes, w.pages.into());
                }
                if !matches!(w.kind, MemoryKind::FileRead(_)) {
                    map(w.pages.into(), 1);
                }
            }
            WorkloadSpec::Zipf(w) | WorkloadSpec::Uniform(w) => region(w.pages, &w.kind, &mut map),
            WorkloadSpec::Sequential(w) | WorkloadSpec::Cyclic(w) => {
                region(w.pages, &w.kind, &mut map);
            }
            WorkloadSpec::Phased(w) => {
                w.regions.iter().for_each(|r| region(r.pages, &r.kind, &mut map));
            }
            WorkloadSpec::Masim(w) => {
                w.config.regions.iter().for_each(|r| map(r.pages().into(), 1));
                map(w.options.table_pages().into(), 1);
            }
            WorkloadSpec::Requests(w) => map(w.trace.pages().into(), 1),
            WorkloadSpec::Build(w) => {
                w.file_pages().into_iter().for_each(|(n, pages)| files_of(n, pages));
                map(w.text.into(), w.threads.into());
                map(of_heaps(w), 1);
            }
            WorkloadSpec::Apps(w) => {
                for [of_maps, read, heap] in w.pages(seed) {
                    [of_maps, read].into_iter().for_each(|pages| files_of(1, pages.into()));
                    [of_maps, heap].into_iter().for_each(|pages| map(pages.into(), 1));
                }
            }
            WorkloadSpec::Reader(w) => {
                w.file_pages().into_iter().for_each(|pages| files_of(1, pages));
                map(w.idle.into(), 1);
            }
            WorkloadSpec::Script(w) => {
                if let Some((of_maps, of_files)) = workloads::pages_of_script(task, w) {
                    map(of_maps, 1);
                    files_of(1, of_files);
                }
            }
            WorkloadSpec::Replay(w) => {
                let trace = File::open(&w.trace).ok().and_then(|f| TraceReader::new(f).ok());
                for r in trace.iter().flat_map(|t| &t.table().regions) {
                    // It may begin and end within a table.
                    map(u64::from(r.pages) + u64::from(GROUP_PAGES) - 1, 1);
                    if r.backing != Backing::Anon {
                        files_of(1, r.pages.into());
                    }
                }
            }
            WorkloadSpec::KernelAlloc(_)
            | WorkloadSpec::Fragment(_)
            | WorkloadSpec::HighAlloc(_) => self.takes_all = true,
        }
        let processes = u64::from(task.processes.max(1));
        self.mapped = self.mapped.saturating_add(mapped.saturating_mul(processes));
        self.files = self.files.saturating_add(files);
    }
}
