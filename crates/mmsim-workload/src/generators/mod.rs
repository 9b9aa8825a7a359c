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
mod experts;
mod fragment;
mod highalloc;
mod kernel_alloc;
mod memory;
mod pace;
mod phased;
mod postgres;
mod reader;
mod request;
mod scan;
mod zipf;

pub use apps::{APPS, AppsConfig, LaunchOrder, ReuseOrder};
pub use build::{BUILD, BuildConfig};
pub use ebizzy::{ChunkChoice, ChunkOrder, CopyBuffer, EBIZZY, EbizzyConfig};
pub use experts::{EXPERTS, ExpertsConfig, Routing, Strategy};
pub use fragment::{Figure, FragmentConfig, FragmentTask, KeepLaw, Target};
pub use highalloc::{HIGHALLOC, HighAllocConfig};
pub use kernel_alloc::{KERNEL_ALLOC, KernelAllocConfig};
pub use memory::{MemoryKind, Populate};
pub use pace::End;
pub use phased::{PhasedConfig, PhasedError, PhasedRegion, Step};
pub use postgres::{POSTGRES, PostgresConfig};
pub use reader::{ItemChoice, READER, ReaderConfig};
pub use request::{Gfp, Retry, check as check_request, flags as flags_of_request};
pub use scan::{CYCLIC, SEQUENTIAL, ScanConfig, ScanEnd};
pub use zipf::{FilesOf, Thin, UNIFORM, ZIPF, ZipfConfig, uniform};

use crate::masim::MasimTask;
use crate::script::ScriptTask;
use crate::trace::{ReplayTask, RequestsTask};
use crate::work::Work;

/// Every workload that scenario files can name, handed to the macro `$then`: its variant, the type
/// of its config, and its name. Behind them is its [`Named`](crate::named::Named); or, where its
/// keys hold lists or files, the table of keys and the reader in the language of scenarios, and one
/// line about it.
#[doc(hidden)]
#[macro_export]
macro_rules! workloads {
    ($then:ident) => {
        $then! {
            Ebizzy(EbizzyConfig), "ebizzy", [EBIZZY];
            Zipf(ZipfConfig), "zipf", [ZIPF];
            Uniform(ZipfConfig), "uniform", [UNIFORM];
            Sequential(ScanConfig), "sequential", [SEQUENTIAL];
            Cyclic(ScanConfig), "cyclic", [CYCLIC];
            Phased(PhasedConfig), "phased", {PHASED, phased,
                "a little language: allocate, touch, free, sleep, repeat; hot and cold regions"};
            Replay(ReplayTask), "replay", {REPLAY, replay,
                "the page accesses of a real program, recorded in a trace"};
            Script(ScriptTask), "script", {SCRIPT, script,
                "commands in the notation of the recorded reference experiments"};
            Masim(MasimTask), "masim", {MASIM, masim,
                "a configuration file of masim: regions, phases by the clock, patterns by weight"};
            KernelAlloc(KernelAllocConfig), "kernel-alloc", [KERNEL_ALLOC];
            Fragment(FragmentTask), "fragment", {FRAGMENT, fragmenter,
                "takes memory page by page and gives part back: fragmentation by a law"};
            HighAlloc(HighAllocConfig), "highalloc", [HIGHALLOC];
            Build(BuildConfig), "build", [BUILD];
            Apps(AppsConfig), "apps", [APPS];
            Reader(ReaderConfig), "reader", [READER];
            Postgres(PostgresConfig), "postgres", [POSTGRES];
            Experts(ExpertsConfig), "experts", [EXPERTS];
        }
    };
}

macro_rules! specs {
    ($($Variant:ident($Config:ty), $name:literal, $keys:tt;)*) => {
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
