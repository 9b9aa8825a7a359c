//! Generators of accesses, a file or folder each.
//!
//! A generator is a plain config struct with a method `workloads`, which gives one
//! [`Workload`](mmsim_core::workload::Workload) per thread of one process. Most follow the same
//! course, told in [`pace`](End): thread 0 maps and populates, all threads meet, then every thread
//! does its equal share of the work in one or more measured windows. [`phased`](PhasedConfig) is
//! different: it is a small language for work that is written as a list of steps.
//!
//! Config values are checked with assertions that name the field; a front end that
//! reads them from a file checks them first. Only `phased` returns errors, because its
//! steps can contradict one another.

mod apps;
mod build;
mod ebizzy;
mod fragment;
mod highalloc;
mod kernel_alloc;
mod memory;
mod pace;
mod phased;
mod reader;
mod scan;
mod zipf;

pub use apps::{AppsConfig, LaunchOrder, PRESSURE_WINDOW, ReuseOrder};
pub use build::{Amount, BuildConfig};
pub use ebizzy::{ChunkChoice, ChunkOrder, CopyBuffer, EbizzyConfig};
pub use fragment::{Figure, FragmentConfig, KeepLaw, Target};
pub use highalloc::HighAllocConfig;
pub use kernel_alloc::KernelAllocConfig;
pub use memory::{MemoryKind, Populate};
pub use pace::End;
pub use phased::{PhasedConfig, PhasedError, PhasedRegion, Step};
pub use reader::{ItemChoice, ReaderConfig};
pub use scan::{ScanConfig, ScanEnd};
pub use zipf::{Thin, ZipfConfig, uniform};

#[cfg(test)]
mod harness;
