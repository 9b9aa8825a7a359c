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
pub use fragment::{Figure, FragmentConfig, FragmentTask, KeepLaw, Target};
pub use highalloc::HighAllocConfig;
pub use kernel_alloc::KernelAllocConfig;
pub use memory::{MemoryKind, Populate};
pub use pace::End;
pub use phased::{PhasedConfig, PhasedError, PhasedRegion, Step};
pub use reader::{ItemChoice, ReaderConfig};
pub use scan::{ScanConfig, ScanEnd};
pub use zipf::{Thin, ZipfConfig, uniform};

use crate::masim::MasimTask;
use crate::script::ScriptTask;
use crate::trace::{ReplayTask, RequestsTask};
use crate::work::Work;

/// Every workload that scenario files can name, handed to the macro `$then`: its variant and config,
/// its name, its table of keys and the reader of it, one line about it.
#[doc(hidden)]
#[macro_export]
macro_rules! workloads {
    ($then:ident) => {
        $then! {
            Ebizzy(EbizzyConfig), "ebizzy", EBIZZY, ebizzy,
                "copies random chunks of memory and searches them, as the ebizzy benchmark does";
            Zipf(ZipfConfig), "zipf", ZIPF, zipf,
                "single pages by a zipf law: anonymous memory, mapped files or read(2)";
            Uniform(ZipfConfig), "uniform", UNIFORM, uniform,
                "single pages, all equally likely";
            Sequential(ScanConfig), "sequential", SEQUENTIAL, sequential,
                "passes over memory or a file from start to end";
            Cyclic(ScanConfig), "cyclic", CYCLIC, cyclic,
                "the same, over and over";
            Phased(PhasedConfig), "phased", PHASED, phased,
                "a little language: allocate, touch, free, sleep, repeat; hot and cold regions";
            Replay(ReplayTask), "replay", REPLAY, replay,
                "the page accesses of a real program, recorded in a trace";
            Script(ScriptTask), "script", SCRIPT, script,
                "commands in the notation of the recorded reference experiments";
            Masim(MasimTask), "masim", MASIM, masim,
                "a configuration file of masim: regions, phases by the clock, patterns by weight";
            KernelAlloc(KernelAllocConfig), "kernel-alloc", KERNEL_ALLOC, kernel_alloc,
                "blocks of one order for the kernel: how many attempts succeed, how many blocks \
                 are held";
            Fragment(FragmentTask), "fragment", FRAGMENT, fragmenter,
                "takes memory page by page and gives part back: fragmentation by a law";
            HighAlloc(HighAllocConfig), "highalloc", HIGHALLOC, highalloc,
                "blocks of several pages on what is fragmented: how many of those possible";
            Build(BuildConfig), "build", BUILD, build,
                "short compilations that share a compiler and headers, as in a build by make";
            Apps(AppsConfig), "apps", APPS, apps,
                "apps launched one after the other, as on a phone: heaps, files, MADV_FREE";
            Reader(ReaderConfig), "reader", READER, reader,
                "a database that only reads through descriptors, with a number of clients at a time";
        }
    };
}

macro_rules! specs {
    ($($Variant:ident($Config:ty), $name:literal, $TABLE:ident, $read:ident, $about:literal;)*) => {
        /// Work of a task.
        #[derive(Clone, PartialEq, Debug)]
        pub enum WorkloadSpec {
            $(#[doc = concat!("`", $name, "`.")] $Variant($Config),)*
            /// Requests of a cache simulator's trace; no scenario file can name them.
            Requests(RequestsTask),
        }

        impl WorkloadSpec {
            /// The names of all that scenario files can name.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The name in scenario files.
            pub fn name(&self) -> &'static str {
                match self {
                    $(WorkloadSpec::$Variant(_) => $name,)*
                    WorkloadSpec::Requests(_) => "requests",
                }
            }
        }

        impl std::ops::Deref for WorkloadSpec {
            type Target = dyn Work;

            fn deref(&self) -> &(dyn Work + 'static) {
                match self {
                    $(WorkloadSpec::$Variant(work) => work,)*
                    WorkloadSpec::Requests(work) => work,
                }
            }
        }
    };
}

workloads!(specs);

#[cfg(test)]
mod harness;
