//! Names of things where a run is over.

use mmsim_core::base::id::{Idx, MemcgId};
use mmsim_core::memory::Memory;
use mmsim_core::memory::follow::PageOf;

/// Names of processes and files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    processes: Vec<String>,
    files: Vec<String>,
}

impl Names {
    pub(crate) fn of(mem: &Memory) -> Names {
        let processes = mem.virt.spaces.ids().map(|a| mem.virt.spaces[a].name.clone()).collect();
        let files = mem.cache.files.ids().map(|f| mem.cache.files[f].name.clone()).collect();
        Names { processes, files }
    }
    /// Processes, by their numbers.
    pub fn processes(&self) -> &[String] {
        &self.processes
    }
    /// Files, by their numbers.
    pub fn files(&self) -> &[String] {
        &self.files
    }
    /// A page, or a region, as `--page` takes it.
    pub fn page(&self, of: PageOf, whole: bool) -> String {
        let part = |text: String, offset: u32| match whole {
            true => text,
            false => format!("{text}:{offset}"),
        };
        match of {
            PageOf::Process(a, region, offset) => {
                part(format!("{}:{region}", self.processes[a.index()]), offset)
            }
            PageOf::File(f, offset) => part(format!("file:{}", self.files[f.index()]), offset),
            PageOf::Nobody => "unmapped".into(),
        }
    }
}

/// The name of a group; empty for the root.
pub(crate) fn group(mem: &Memory, memcg: MemcgId) -> String {
    if memcg == MemcgId(0) { String::new() } else { mem.memcgs[memcg].config.name.clone() }
}
