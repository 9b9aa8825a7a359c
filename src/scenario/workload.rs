//! What tasks do, typed: one plain struct for each workload.
//!
//! These say *what* is to be done; the generators that turn them into operations live in
//! `mmsim-workload`, and `build` joins the two.

use std::path::PathBuf;
use std::sync::Arc;

use mmsim_core::base::time::SimDuration;
use mmsim_core::memory::Layout;
use mmsim_core::workload::Advice;
use mmsim_workload::generators::{
    AppsConfig, BuildConfig, End, FragmentConfig, HighAllocConfig, KernelAllocConfig, ReaderConfig,
};
use mmsim_workload::masim::{MasimConfig, MasimOptions};
use mmsim_workload::trace;

/// Processes of all tasks together: so many have a number.
pub(crate) const MOST_PROCESSES: u64 = 65_535;

/// One task: so many processes with so many threads, all doing the same work.
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
    /// When it begins.
    pub start: SimDuration,
    /// What it does.
    pub work: WorkloadSpec,
}

/// What a task does.
#[derive(Clone, PartialEq, Debug)]
pub enum WorkloadSpec {
    /// `ebizzy`.
    Ebizzy(Ebizzy),
    /// `zipf`.
    Zipf(RandomAccess),
    /// `uniform`: the same with `theta` 0.
    Uniform(RandomAccess),
    /// `sequential`.
    Sequential(Scan),
    /// `cyclic`.
    Cyclic(Scan),
    /// `phased`.
    Phased(Phased),
    /// `replay`.
    Replay(Replay),
    /// `script`.
    Script(Script),
    /// `kernel-alloc`.
    KernelAlloc(KernelAllocConfig),
    /// `fragment`.
    Fragment(Fragment),
    /// `highalloc`.
    HighAlloc(HighAllocConfig),
    /// Requests of a cache simulator's trace; no scenario file can name them.
    Requests(Requests),
    /// `masim`.
    Masim(Masim),
    /// `build`.
    Build(BuildConfig),
    /// `apps`.
    Apps(AppsConfig),
    /// `reader`.
    Reader(ReaderConfig),
}

impl WorkloadSpec {
    /// The name in scenario files.
    pub fn name(&self) -> &'static str {
        match self {
            WorkloadSpec::Ebizzy(_) => "ebizzy",
            WorkloadSpec::Zipf(_) => "zipf",
            WorkloadSpec::Uniform(_) => "uniform",
            WorkloadSpec::Sequential(_) => "sequential",
            WorkloadSpec::Cyclic(_) => "cyclic",
            WorkloadSpec::Phased(_) => "phased",
            WorkloadSpec::Replay(_) => "replay",
            WorkloadSpec::Script(_) => "script",
            WorkloadSpec::KernelAlloc(_) => "kernel-alloc",
            WorkloadSpec::Fragment(_) => "fragment",
            WorkloadSpec::HighAlloc(_) => "highalloc",
            WorkloadSpec::Requests(_) => "requests",
            WorkloadSpec::Masim(_) => "masim",
            WorkloadSpec::Build(_) => "build",
            WorkloadSpec::Apps(_) => "apps",
            WorkloadSpec::Reader(_) => "reader",
        }
    }
}

/// What a region is, and so how its pages are touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionKind {
    /// Private anonymous memory.
    Anon,
    /// A file mapped shared.
    FileShared,
    /// A file mapped private.
    FilePrivate,
    /// A file, through read(2) and write(2), not mapped.
    Read,
}

/// Where the k-th most popular page or chunk lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RankMap {
    /// Shuffled over the region.
    Scatter,
    /// In order of popularity.
    Identity,
}

/// `zipf` and `uniform`.
#[derive(Clone, PartialEq, Debug)]
pub struct RandomAccess {
    /// Size of the region.
    pub pages: u32,
    /// Exponent; 0 is uniform.
    pub theta: f64,
    /// Until when.
    pub extent: End,
    /// Equal parts, each a phase of its own.
    pub windows: u32,
    /// Writes per 1000 accesses.
    pub write_permille: u32,
    /// Where popular pages lie.
    pub map: RankMap,
    /// What is accessed.
    pub region: RegionKind,
    /// Each process of the task has a file of its own.
    pub own_files: bool,
    /// Computing between two accesses.
    pub think: SimDuration,
}

/// `sequential` and `cyclic`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scan {
    /// Size of the region.
    pub pages: u32,
    /// How often it is walked.
    pub passes: u32,
    /// Writes instead of reads.
    pub write: bool,
    /// What is accessed.
    pub region: RegionKind,
}

/// How ebizzy chooses a chunk.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ChunkChoice {
    /// The program's own linear congruential generator.
    Lcg,
    /// The copy of it that always returns 0.
    LcgBroken,
    /// A zipf law with this exponent.
    Zipf(f64),
}

/// What becomes of ebizzy's copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyBuffer {
    /// Mapped anew for every record.
    Remap,
    /// One buffer for all.
    Reuse,
    /// No copy.
    None,
}

/// `ebizzy`.
#[derive(Clone, PartialEq, Debug)]
pub struct Ebizzy {
    /// All chunks together; a multiple of `chunk_pages`.
    pub pages: u32,
    /// Pages of a chunk.
    pub chunk_pages: u32,
    /// Until when, in records.
    pub extent: End,
    /// Equal parts, each a phase of its own.
    pub windows: u32,
    /// How chunks are chosen.
    pub choice: ChunkChoice,
    /// What becomes of the copies.
    pub copy_buffer: CopyBuffer,
    /// Where popular chunks lie.
    pub permutation: RankMap,
    /// Computing for each record.
    pub compute: SimDuration,
}

/// `fragment`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Memory that it begins with instead of taking any, and the file that says so.
    pub load: Option<(PathBuf, Arc<Layout>)>,
    /// What it does.
    pub config: FragmentConfig,
}

/// `replay`.
#[derive(Clone, PartialEq, Debug)]
pub struct Replay {
    /// The trace; relative names are resolved against the scenario file.
    pub trace: PathBuf,
    /// How often.
    pub repeat: u32,
    /// Thousandths of the recorded time between accesses.
    pub think_permille: u32,
    /// At which times.
    pub mode: ReplayMode,
}

/// A sequence of requests, see [`trace::Requests`].
#[derive(Clone, PartialEq, Debug)]
pub struct Requests {
    /// The requests.
    pub trace: Arc<trace::Requests>,
    /// Writes per 1000 accesses besides the first one to each page, which always writes.
    pub write_permille: u32,
}

/// When the accesses of a trace happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplayMode {
    /// As the trace says.
    Recorded,
    /// Each when the recorded time has passed since the one before was done.
    Closed,
    /// Not before their recorded times.
    Timed,
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
    /// Its configuration file, unless the scenario has the text.
    pub file: Option<PathBuf>,
    /// What that says.
    pub config: Arc<MasimConfig>,
    /// The options of its command line.
    pub options: MasimOptions,
}

/// `phased`.
#[derive(Clone, PartialEq, Debug)]
pub struct Phased {
    /// Regions, in the order of the file.
    pub regions: Vec<RegionSpec>,
    /// Steps, in order.
    pub steps: Vec<Step>,
}

/// A region of `phased`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionSpec {
    /// Name, unique in the task.
    pub name: String,
    /// Pages.
    pub pages: u32,
    /// What it is.
    pub kind: RegionKind,
}

/// Some pages of a region of `phased`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Position in [`Phased::regions`].
    pub region: usize,
    /// First page.
    pub first: u32,
    /// Pages, at least 1, within the region.
    pub pages: u32,
}

/// A step of `phased`.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// Map a region; `populate`: write every page once.
    Allocate {
        /// Position in [`Phased::regions`].
        region: usize,
        /// Touch every page.
        populate: bool,
    },
    /// Touch pages in ascending order.
    Touch {
        /// Which.
        part: Part,
        /// Write them.
        write: bool,
        /// How often.
        passes: u32,
    },
    /// Touch the next pages of a region, from where the last such step on it began plus
    /// `advance`; begins at 0 again at the end.
    Window {
        /// Position in [`Phased::regions`].
        region: usize,
        /// Pages at a time.
        pages: u32,
        /// Pages that the window moves.
        advance: u32,
        /// Write them.
        write: bool,
    },
    /// Touch pages by a zipf law.
    Zipf {
        /// Position in [`Phased::regions`].
        region: usize,
        /// Exponent.
        theta: f64,
        /// How many accesses.
        accesses: u64,
        /// Writes per 1000 accesses.
        write_permille: u32,
        /// Where popular pages lie.
        map: RankMap,
    },
    /// read(2) of a file region.
    Read {
        /// Which pages.
        part: Part,
        /// Position in [`Phased::regions`] of the mapped region that receives them.
        into: Option<usize>,
    },
    /// write(2) to a file region.
    Write(Part),
    /// madvise(2).
    Madvise {
        /// Which pages.
        part: Part,
        /// What.
        advice: Advice,
    },
    /// Unmap a region.
    Free {
        /// Position in [`Phased::regions`].
        region: usize,
    },
    /// Sleep.
    Sleep(SimDuration),
    /// Use the CPU.
    Compute(SimDuration),
    /// Count records.
    Records(u32),
    /// Write 1 to `drop_caches`.
    DropCaches,
    /// Write so many pages to the own group's `memory.reclaim`.
    MemcgReclaim {
        /// Pages.
        pages: u32,
        /// `swappiness=`, 0..=200; `None`: `vm.swappiness`.
        swappiness: Option<u8>,
    },
    /// A phase of this name ends; it began where the phase before it ended.
    Phase(String),
    /// Do steps again.
    Repeat {
        /// How often.
        times: u32,
        /// What.
        steps: Vec<Step>,
    },
}

/// The workloads by their names in scenarios, one line each.
pub const ABOUT: &[(&str, &str)] = &[
    ("ebizzy", "copies random chunks of memory and searches them, as the ebizzy benchmark does"),
    ("zipf", "single pages by a zipf law: anonymous memory, mapped files or read(2)"),
    ("uniform", "single pages, all equally likely"),
    ("sequential", "passes over memory or a file from start to end"),
    ("cyclic", "the same, over and over"),
    ("phased", "a little language: allocate, touch, free, sleep, repeat; hot and cold regions"),
    ("replay", "the page accesses of a real program, recorded in a trace"),
    ("script", "commands in the notation of the recorded reference experiments"),
    ("masim", "a configuration file of masim: regions, phases by the clock, patterns by weight"),
    ("kernel-alloc", "blocks of one order for the kernel: how many can be had, how many held"),
    ("fragment", "takes memory page by page and gives part back: fragmentation by a law"),
    ("highalloc", "blocks of several pages on what is fragmented: how many of those possible"),
    ("build", "short compilations that share a compiler and headers, as in a build by make"),
    ("apps", "apps launched one after the other, as on a phone: heaps, files, MADV_FREE"),
    ("reader", "a database that only reads through descriptors, with so many clients at a time"),
];
