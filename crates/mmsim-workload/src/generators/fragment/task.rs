//! A fragmentation machine as the work of a task, which may begin with a layout of memory.

use super::FragmentConfig;
use crate::work::{OF_BLOCKS, Pages, Threads, Work, WorkError};
use mmsim_core::memory::Layout;
use std::path::PathBuf;
use std::sync::Arc;

/// A fragmentation machine, and the memory that it begins with instead of taking any.
#[derive(Clone, PartialEq, Debug)]
pub struct FragmentTask {
    /// The memory, and the file that says it.
    pub load: Option<(PathBuf, Arc<Layout>)>,
    /// Its work.
    pub config: FragmentConfig,
}

impl Work for FragmentTask {
    fn threads(&self, _seed: u64, _index: usize) -> Result<Threads, WorkError> {
        Ok(self.config.workloads())
    }
    fn add_pages(&self, _seed: u64, _processes: u32, pages: &mut Pages) {
        pages.take_all();
    }
    fn most_threads(&self) -> u32 {
        1
    }
    fn unfit_for_samples(&self) -> Option<&'static str> {
        Some(OF_BLOCKS)
    }
    fn has_to_be_made(&self) -> bool {
        true
    }
}
