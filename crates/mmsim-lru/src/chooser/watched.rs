//! The files that a chooser is for.

use mmsim_core::base::id::{Idx as _, PageIdx};
use mmsim_core::memory::Memory;
use mmsim_core::policy::chooser::matches;

/// Patterns of names of files; without any, all files are meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    patterns: Vec<String>,
    /// Answers for the files so far.
    known: Vec<Option<bool>>,
}

impl Watched {
    pub(super) fn new(patterns: &[String]) -> Watched {
        Watched { patterns: patterns.to_vec(), known: Vec::new() }
    }

    /// True if a page is of a file that is meant.
    pub(super) fn has(&mut self, mem: &Memory, page: PageIdx) -> bool {
        if self.patterns.is_empty() {
            return true;
        }
        let file = mem.file_at(page).0;
        if self.known.len() <= file.index() {
            self.known.resize(file.index() + 1, None);
        }
        let answer = &mut self.known[file.index()];
        *answer.get_or_insert_with(|| {
            let name = &mem.cache.files[file].name;
            self.patterns.iter().any(|pattern| matches(pattern, name))
        })
    }
}
