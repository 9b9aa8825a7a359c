//! Work of tasks, typed: the config of a generator for each workload, filled by the rows of
//! [`tables`](super::tables).

use std::path::PathBuf;
use std::sync::Arc;

use mmsim_core::base::time::SimDuration;
use mmsim_core::machine::DisksOfFiles;
use mmsim_core::memory::Layout;
use mmsim_workload::generators::{
    AppsConfig, BuildConfig, EbizzyConfig, FragmentConfig, HighAllocConfig, KernelAllocConfig,
    PhasedConfig, ReaderConfig, ScanConfig, ZipfConfig,
};
use mmsim_workload::masim::{MasimConfig, MasimOptions};
use mmsim_workload::trace::{self, ReplayOptions};

/// Processes of all tasks together: that many have a number.
pub(crate) const MOST_PROCESSES: u64 = 65_535;

/// One task: a number of processes with a number of threads, all doing the same work.
#[derive(Clone, PartialEq, Debug)]
pub struct TaskSpec {
    /// Unique name, for reports.
    pub name: String,
    /// Threads of each process.
    pub threads: u32,
    /// Processes.
    pub processes: u32,
    /// Memory cgroup; `None`: the root.
    pub memcg: Option<String>,
    /// Where its files lie.
    pub disks: DisksOfFiles,
    /// When it begins.
    pub start: SimDuration,
    /// `oom_score_adj` of each process.
    pub oom_score_adj: i16,
    /// Its work.
    pub work: WorkloadSpec,
}

/// Every workload, handed to the macro `$then`: its variant and config, its name, its table of keys
/// and the reader of it, one line about it.
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
            Replay(Replay), "replay", REPLAY, replay,
                "the page accesses of a real program, recorded in a trace";
            Script(Script), "script", SCRIPT, script,
                "commands in the notation of the recorded reference experiments";
            Masim(Masim), "masim", MASIM, masim,
                "a configuration file of masim: regions, phases by the clock, patterns by weight";
            KernelAlloc(KernelAllocConfig), "kernel-alloc", KERNEL_ALLOC, kernel_alloc,
                "blocks of one order for the kernel: how many attempts succeed, how many blocks \
                 are held";
            Fragment(Fragment), "fragment", FRAGMENT, fragmenter,
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
pub(super) use workloads;

macro_rules! specs {
    ($($Variant:ident($Work:ty), $name:literal, $TABLE:ident, $read:ident, $about:literal;)*) => {
        /// Work of a task.
        #[derive(Clone, PartialEq, Debug)]
        pub enum WorkloadSpec {
            $(#[doc = concat!("`", $name, "`.")] $Variant($Work),)*
            /// Requests of a cache simulator's trace; no scenario file can name them.
            Requests(Requests),
        }

        impl WorkloadSpec {
            /// The name in scenario files.
            pub fn name(&self) -> &'static str {
                match self {
                    $(WorkloadSpec::$Variant(_) => $name,)*
                    WorkloadSpec::Requests(_) => "requests",
                }
            }
        }

        /// The names of all workloads.
        pub const NAMES: &[&str] = &[$($name),*];
    };
}

workloads!(specs);

/// `fragment`.
#[derive(Clone, PartialEq, Debug)]
pub struct Fragment {
    /// Memory that it begins with instead of taking any, and the file that says so.
    pub load: Option<(PathBuf, Arc<Layout>)>,
    /// Its work.
    pub config: FragmentConfig,
}

/// `replay`.
#[derive(Clone, PartialEq, Debug)]
pub struct Replay {
    /// The trace; relative names are resolved against the scenario file.
    pub trace: PathBuf,
    /// Options of the replay.
    pub options: ReplayOptions,
}

/// A sequence of requests, see [`trace::Requests`].
#[derive(Clone, PartialEq, Debug)]
pub struct Requests {
    /// The requests.
    pub trace: Arc<trace::Requests>,
    /// Writes per 1000 accesses besides the first one to each page, which always writes.
    pub write_permille: u32,
}

/// `script`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Script {
    /// One command a line; resolved against the scenario file.
    File(PathBuf),
    /// The commands.
    Commands(Vec<String>),
}

/// `masim`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Masim {
    /// Contents of its configuration file.
    pub config: Arc<MasimConfig>,
    /// The options of its command line.
    pub options: MasimOptions,
}
