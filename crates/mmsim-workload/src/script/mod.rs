//! Command lists of the reference measurements, replayed.
//!
//! Real kernels were measured while a small program worked off a list of commands, one a line: map
//! a region, fill it, draw a number of pages from a zipf table, note the counters.
//! [`Script::parse`] reads such a list; [`Script::workload`] gives a
//! [`Workload`](mmsim_core::workload::Workload) with exactly the accesses of the original, in its
//! order. Commands that prepare the machine are collected in [`ScriptSetup`], for the caller to
//! configure the simulated one alike; commands that only look at the kernel are listed and skipped;
//! commands that need mechanisms that are not modelled yet are listed as [`NotYet`], and such a
//! script has no workload.
//!
//! All random numbers come from one splitmix64 state that runs on through the list and
//! that only `seed` resets. It starts at 0 and is independent of the stream that the
//! machine offers, because the sequence is part of the measurement.

mod command;
mod error;
mod group;
mod lines;
mod parse;
mod run;
mod setup;
mod spawned;
mod task;

/// Pages that a call of `direct` or `dontcache` reads.
pub const UNCACHED_PAGES: u32 = 64;

pub use command::{
    Child, Command, Ebizzy, Lazy, PageRange, ReadOnly, RegionKind, Sweep, TableRef, Via,
};
pub use error::{NotYet, ScriptError};
pub use group::{ScriptGroup, ScriptProcess};
pub use run::ScriptWorkload;
pub use setup::{LruGen, ScriptSetup, ScriptSwap, SwapDevice};
pub use spawned::ChildWorkload;
pub use task::ScriptTask;

use mmsim_core::base::id::GROUP_PAGES;
use mmsim_core::base::time::SimDuration;
use mmsim_core::workload::{FileSpec, RegionId};
use std::collections::BTreeMap;

/// A zipf table of a script: `ranks` ranks with exponent `theta`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TableSpec {
    /// Ranks, which is also the number of pages they are mapped to.
    pub ranks: u32,
    /// Exponent.
    pub theta: f64,
}

/// Computation of the program between accesses, beyond `t_hit`. Zero unless measured.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Pace {
    /// Drawing a page from a table.
    pub draw: SimDuration,
    /// Writing the 4096 bytes of a page instead of one.
    pub fill: SimDuration,
    /// Writing a page of a region with contents, and drawing 1024 bytes of it.
    pub drawn: [SimDuration; 2],
}

/// A parsed command list.
#[derive(Clone, PartialEq, Debug)]
pub struct Script {
    /// Machine that the script needs before the first command.
    pub setup: ScriptSetup,
    /// Commands of the program, in order.
    pub commands: Vec<Command>,
    /// Files that it maps or reads, each once.
    pub files: Vec<FileSpec>,
    /// Zipf tables, each once.
    pub tables: Vec<TableSpec>,
    /// The child that it starts, if it starts one.
    pub child: Option<Child>,
    /// The processes that it starts in groups, in order; each carries commands of its own out.
    pub processes: Vec<ScriptProcess>,
    /// Contents of regions: a process, by its place in `processes`, or the first one; its region;
    /// and the drawn bytes that its pages begin with, in turn.
    pub contents: Vec<(Option<usize>, RegionId, Vec<u16>)>,
    /// Names of the snapshots, in order; a name may occur twice.
    pub phases: Vec<String>,
    /// Commands that only read, with their position in the list.
    pub read_only: Vec<ReadOnly>,
    /// Commands that cannot be simulated yet; if there are any, there is no workload.
    pub not_yet: Vec<NotYet>,
}

impl Script {
    /// Reads a command list, one command a line.
    pub fn parse<S: AsRef<str>>(lines: &[S]) -> Result<Script, ScriptError> {
        parse::parse(lines)
    }
    /// Pages that its mappings need to have numbers, in whole page tables, and those of its files. A
    /// region that is unmapped leaves its numbers to later ones of as many page tables.
    pub fn pages(&self) -> (u64, u64) {
        let tables = |pages: u32| u64::from(pages.div_ceil(GROUP_PAGES));
        let mut all = self.child.as_ref().map_or(0, |c| tables(c.pages));
        let (mut free, mut mapped) = (BTreeMap::<u64, u64>::new(), BTreeMap::new());
        let mut take = |n: u64, free: &mut BTreeMap<u64, u64>| match free.get_mut(&n) {
            Some(left) if *left > 0 => *left -= 1,
            _ => all += n,
        };
        let of = |(i, p): (usize, &ScriptProcess)| -> Vec<(usize, Command)> {
            p.commands.iter().map(|c| (i + 1, *c)).collect()
        };
        let own = self.commands.iter().map(|c| (0, *c));
        let others = self.processes.iter().enumerate().flat_map(of);
        for (process, command) in own.chain(others) {
            let (region, n) = match command {
                Command::Map { region, pages, .. } => (region, tables(pages)),
                Command::Thp { region, pieces } => (region, pieces.into()),
                Command::Ebizzy(Ebizzy { buffer, chunk, .. }) => (buffer, tables(chunk)),
                Command::Unmap { region } => {
                    if let Some(n) = mapped.remove(&(process, region.0)) {
                        *free.entry(n).or_default() += 1;
                    }
                    continue;
                }
                _ => continue,
            };
            take(n, &mut free);
            if let Command::Ebizzy(_) = command {
                *free.entry(n).or_default() += 1;
            } else {
                mapped.insert((process, region.0), n);
            }
        }
        let files = self.files.iter().map(|f| u64::from(f.pages)).sum();
        (all * u64::from(GROUP_PAGES), files)
    }

    /// The accesses of the script, or the first command that is not modelled.
    pub fn workload(&self) -> Result<ScriptWorkload, NotYet> {
        match self.not_yet.first() {
            Some(n) => Err(n.clone()),
            None => Ok(ScriptWorkload::new(self)),
        }
    }
    /// The accesses of one of its processes.
    pub fn workload_of(&self, process: &ScriptProcess) -> ScriptWorkload {
        let nth = self.processes.iter().position(|p| std::ptr::eq(p, process));
        ScriptWorkload::of(&process.commands, self).with_contents(self.contents_of(nth))
    }
    /// Regions with contents of a process, `None` the first one, and drawn bytes of their pages.
    fn contents_of(&self, process: Option<usize>) -> Vec<(RegionId, Vec<u16>)> {
        let of = self.contents.iter().filter(|c| c.0 == process);
        of.map(|(_, region, drawn)| (*region, drawn.clone())).collect()
    }
    /// True if it switches a monitor on or reads it: the machine has to have one.
    pub fn wants_monitor(&self) -> bool {
        let asks = |c: &Command| matches!(c, Command::KdamondOn | Command::KdamondNote(_));
        self.commands.iter().any(asks)
    }
    /// Work of the script's child, if there is one: a second thread beside it, of the same process.
    pub fn child_workload(&self) -> Option<ChildWorkload> {
        let child = self.child.as_ref()?;
        let after = self.commands.iter().skip_while(|c| **c != Command::Spawn);
        let slept = after.filter_map(|c| if let Command::Sleep(t) = c { Some(t.0) } else { None });
        Some(ChildWorkload::new(child, SimDuration(slept.sum())))
    }
}
