//! Work of a task as scenarios describe it: its threads, its memory, and what is known of it before
//! a run.
//!
//! Each config that a scenario can name implements [`Work`] beside its generator. Whoever builds a
//! machine, asks how much memory the host needs, or makes a run smaller goes through the trait, so
//! a workload that is added is known to all of them.

use mmsim_core::base::id::GROUP_PAGES;
use mmsim_core::base::time::SimDuration;
use mmsim_core::workload::{Op, Workload};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// The workloads of the threads of one process.
pub type Threads = Vec<Box<dyn Workload>>;

/// Reason against samples of pages where work is about blocks.
pub(crate) const OF_BLOCKS: &str = "it is about blocks of memory, and a sample of pages has none";

/// Work of a task.
pub trait Work {
    /// The workloads of the threads of process `index`; `seed` draws what is the same for a whole
    /// run.
    ///
    /// # Errors
    /// A file or a list of steps does not say what it should.
    fn threads(&self, seed: u64, index: usize) -> Result<Threads, WorkError>;

    /// Adds the pages that one process maps, and those of all files of the task's `processes`.
    fn add_pages(&self, seed: u64, processes: u32, pages: &mut Pages);

    /// Number of processes that stand for each process of the task: those of a trace.
    ///
    /// # Errors
    /// The file that says it cannot be read.
    fn processes(&self) -> Result<usize, WorkError> {
        Ok(1)
    }

    /// Most threads of a process that have something to do.
    fn most_threads(&self) -> u32 {
        u32::MAX
    }

    /// Accesses of a process that are known before the run; 0: they are not known.
    fn accesses(&self) -> u64 {
        0
    }

    /// Time after which the work ends, counted from its start; `None`: it does not end by the
    /// clock.
    fn lasts(&self) -> Option<SimDuration> {
        None
    }

    /// True if all pages of a process are of one mapping or file.
    fn is_one_mapping(&self) -> bool {
        false
    }

    /// True if a process maps files.
    ///
    /// # Errors
    /// The file that says it cannot be read.
    fn maps_files(&self) -> Result<bool, WorkError> {
        Ok(false)
    }

    /// True if some of its pages may be anonymous.
    fn has_anon(&self) -> bool {
        true
    }

    /// True if it has operations whose sizes are those of the machine it is for: writes to files of
    /// the kernel, and calls of `fsync(2)`.
    fn is_of_one_size(&self) -> bool {
        false
    }

    /// Reason for which a sample of its pages says nothing about it.
    fn unfit_for_samples(&self) -> Option<&'static str> {
        None
    }

    /// True if it makes such an operation among those that are written out step by step.
    fn makes(&self, _such: fn(&Op) -> bool) -> bool {
        false
    }

    /// True if only its threads tell whether it fits, since it was read from steps or files.
    fn has_to_be_made(&self) -> bool {
        false
    }

    /// The key that says most about it, for errors without a better place.
    fn key(&self) -> &'static str {
        "workload"
    }

    /// Names of its regions by their numbers; none where regions have no names.
    fn regions(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Assumptions of its file, and demands that the scenario has to meet, a sentence each.
    fn assumptions(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Why work cannot be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkError {
    /// The error, and the text to write instead.
    pub what: String,
    /// True if it is about the contents of a file that the task names.
    pub of_file: bool,
    /// The key of the task that it is about, if one is known.
    pub key: Option<String>,
    /// The place in a file.
    pub place: Option<PlaceInFile>,
}

/// A place in a file that a task names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlaceInFile {
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub text: Arc<str>,
    /// The place in bytes of the text.
    pub span: Range<usize>,
}

impl WorkError {
    /// An error in what the keys of the task say together.
    pub fn new(what: impl Into<String>) -> Self {
        WorkError { what: what.into(), of_file: false, key: None, place: None }
    }

    /// An error about the contents of a file.
    pub fn of_file(what: impl Into<String>) -> Self {
        WorkError { of_file: true, ..WorkError::new(what) }
    }

    /// The same, about a key of the task.
    #[must_use]
    pub fn about(self, key: impl Into<String>) -> Self {
        WorkError { key: Some(key.into()), ..self }
    }

    /// The same, with its place in a file.
    #[must_use]
    pub fn at(self, place: PlaceInFile) -> Self {
        WorkError { place: Some(place), ..self }
    }
}

/// Pages that processes map and that their files have: each has a number for as long as the machine
/// lives, and costs the host an entry.
///
/// A mapping and a file take whole page tables. What is unmapped leaves its numbers to mappings of
/// as many tables. Files are there once, whoever reads them; a name is one file in all tasks.
#[derive(Clone, Default, Debug)]
pub struct Pages {
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
pub fn tables(pages: u64) -> u64 {
    let group = u64::from(GROUP_PAGES);
    pages.saturating_add(group - 1) / group * group
}

impl Pages {
    /// Adds mappings of `pages` pages each.
    pub fn map(&mut self, pages: u64, mappings: u64) {
        self.mapped = self.mapped.saturating_add(tables(pages).saturating_mul(mappings));
    }

    /// Adds files of `pages` pages each.
    pub fn files(&mut self, files: u32, pages: u64) {
        self.files = self.files.saturating_add(tables(pages.max(1)).saturating_mul(files.into()));
    }

    /// Adds a file by its name.
    pub fn file(&mut self, name: &str, pages: u64) {
        let known = self.named.entry(name.to_string()).or_default();
        *known = pages.max(*known);
    }

    /// Notes that all available memory is taken for the kernel.
    pub fn take_all(&mut self) {
        self.takes_all = true;
    }

    /// Adds the pages of a task's processes. `seed` draws the sizes that follow a law. A file that
    /// cannot be read adds nothing: its run is an error.
    pub fn add(&mut self, work: &dyn Work, processes: u32, seed: u64) {
        let mut of = Pages::default();
        work.add_pages(seed, processes, &mut of);
        let mapped = of.mapped.saturating_mul(processes.max(1).into());
        self.mapped = self.mapped.saturating_add(mapped);
        self.files = self.files.saturating_add(of.files);
        of.named.iter().for_each(|(name, pages)| self.file(name, *pages));
        self.takes_all |= of.takes_all;
    }

    /// All pages that need a number.
    pub fn all(&self) -> u64 {
        let named = self.named.values().fold(0, |sum: u64, &n| sum.saturating_add(tables(n)));
        self.mapped.saturating_add(self.files).saturating_add(named)
    }

    /// Frames that may come into use, of those that there are.
    pub fn used_of(&self, frames: u64) -> u64 {
        if self.takes_all { frames } else { frames.min(self.all()) }
    }
}
