//! Tasks: what all have, and the workloads that touch memory by a law or from a file.

use std::path::Path;
use std::sync::Arc;

use mmsim_core::workload::VmaFlags;
use mmsim_workload::generators::{
    ChunkChoice, ChunkOrder, CopyBuffer, EbizzyConfig, MemoryKind, Populate, ScanConfig, ScanEnd,
    WorkloadSpec, ZipfConfig,
};
use mmsim_workload::masim::{MasimConfig, MasimOptions, MasimTask, Mode};
use mmsim_workload::sampler::RankMap;
use mmsim_workload::script::ScriptTask;
use mmsim_workload::trace::{ReplayMode, ReplayOptions, ReplayTask, Think};

use super::key;
use super::laws::TIMES;
use crate::scenario::fields::{TaskCx, end, file};
use crate::scenario::keys::{Fallback, KeySpec, Kind, MANY, TableSpec, U32};
use crate::scenario::read::Reader;
use crate::scenario::rows::{Words, rows, words};
use crate::scenario::units::show_pages;
use mmsim_base::error::{Error, ErrorKind};

use Fallback::{Auto, Is, Required};
use Kind::{Choice, Count, File, Flag, Number, Size, Text, Texts, Time, Whole};

/// Keys with which [`TASK_COMMON`] and every workload's table begin.
pub(super) const TASK: &[KeySpec] = &[
    key("workload", Choice(WorkloadSpec::NAMES), Required, "what it does"),
    key("name", Text, Auto("the workload, with a number if it repeats"), "name in reports, unique"),
    key("threads", Count(1, 1024), Is("1"), "threads of each process; they share its regions"),
    key("processes", Count(1, 1024), Is("1"), "processes, each with regions of its own"),
    key("memcg", Text, Auto("the root"), "memory cgroup"),
    key(
        "disk",
        Text,
        Auto("`file-device`"),
        "disk of its files: the name of a `[[machine.disk]]`, or \"file-device\"",
    ),
    key("start", Time, Is("\"0ns\""), "when it begins"),
    key(
        "oom_score_adj",
        Whole(-1000, 1000),
        Is("0"),
        "of each process: added to its points with the OOM killer, in thousandths of memory and swap, or of what its group may have; with -1000 it is never killed",
    ),
];

rows! {
    /// The keys that every task has.
    TASK_COMMON: TASK,
    "[[task]]",
    "Every task has these keys, and those of its workload.";
    keys {}
}

/// The parts of a run that reports tell apart.
pub(super) const WINDOWS: KeySpec = key(
    "windows",
    Count(1, 10_000),
    Is("1"),
    "equal parts that are reported as phases of their own",
);

/// The keys of an end: so much work, or a time.
macro_rules! until {
    ($work:literal, $doc:literal) => {
        &[
            key($work, Count(1, MANY), Auto("`duration` decides"), $doc),
            key(
                "duration",
                Time,
                Auto(concat!("`", $work, "` decides")),
                concat!("instead of `", $work, "`: how long"),
            ),
        ]
    };
}
pub(super) use until;

/// Kinds of a region, each with the name of its file; other workloads have the same choice.
pub(super) const REGION_KINDS: Words<fn(String) -> MemoryKind> = words! {
    "anon" => |_| MemoryKind::Anon,
    "file-shared" => MemoryKind::FileShared,
    "file-private" => MemoryKind::FilePrivate,
    "read" => MemoryKind::FileRead,
};

/// The form of `map` where popular pages may lie anywhere.
pub(super) const RANK_MAPS: Words<RankMap> =
    words! { "scatter" => RankMap::Scatter, "identity" => RankMap::Identity };

/// Who asks for work, and when.
pub(super) const ARRIVAL: KeySpec = key(
    "arrival",
    TIMES,
    Auto("the one before is done"),
    "time from one arrival to the next at each thread: work begins when it arrives and the work before is done, and its latency counts from its arrival",
);

/// `memory` of a region.
const MEMORY: KeySpec = key("memory", Size(1), Required, "size of the region");

/// `region` of a workload: its memory, or a file of this name.
fn region(r: &Reader<'_>, file: &str) -> Result<MemoryKind, Error> {
    Ok(r.word("region", &REGION_KINDS)?(file.to_string()))
}

/// `fsync` of workloads that write a file.
const FSYNC: KeySpec = key(
    "fsync",
    Count(0, U32),
    Is("0"),
    "pages that each thread writes to its file from one fsync() to the next; 0: it calls none",
);

fn fsync(r: &Reader<'_>, writes: bool) -> Result<u32, Error> {
    let every: u32 = r.get("fsync")?;
    let file = ["read", "file-shared"].contains(&r.choice("region")?);
    if every > 0 && !(file && writes) {
        let found = match file {
            true => "nothing is written",
            false => "no file is written",
        };
        let write = "0, or write to a region of \"read\" or \"file-shared\"";
        return Err(r.error("fsync", found, write));
    }
    Ok(every)
}

/// Pages by a law: without `theta` all of them are equally likely.
macro_rules! random {
    ($(#[$meta:meta])* $TABLE:ident, $title:literal, $doc:literal; $read:ident $theta:tt) => {
        rows! {
            $(#[$meta])*
            $TABLE: TASK,
            $title,
            $doc;
            fn $read(r, task: &TaskCx<'_>) -> ZipfConfig {
                theta: $theta;
                pages: [MEMORY];
                end: {end(r, "accesses")?; ..until!(
                    "accesses", "page accesses of all threads of a process together")};
                windows: [WINDOWS];
                write_permille: ("write-permille", Count(0, 1000), Is("0"), "writes per 1000 accesses");
                fsync: {fsync(r, r.get::<u32>("write-permille")? > 0)?; [FSYNC]};
                map: ("map", one of RANK_MAPS, Is("\"scatter\""),
                    "whether popular pages lie scattered or in order of popularity");
                kind: {region(r, task.name)?; ("region", one of REGION_KINDS, Is("\"anon\""),
                    "what is accessed: anonymous memory, a mapped file, or a file through read()")};
                own_files: ("files", one of { "shared" => false, "own" => true }, Is("\"shared\""),
                    "whether the processes of the task have one file together, or one each");
                think: ("think", TIMES, Is("\"0ns\""), "computing between two accesses");
                arrival: [ARRIVAL];
                flags: {VmaFlags::default()};
                populate: {match region(r, task.name)? {
                    MemoryKind::Anon => Populate::Write,
                    _ => Populate::Read,
                }};
                threads: {task.threads};
            }
        }
    };
}

random! {
    /// `zipf`.
    ZIPF,
    "workload = \"zipf\"",
    "Pages of one region by a zipf law, after a first pass that populates it. Give `accesses` or `duration`.";
    zipf ("theta", Number(0.0, 10.0), Is("0.99"), "exponent: 0 is uniform")
}

random! {
    /// `uniform`.
    UNIFORM,
    "workload = \"uniform\"",
    "All pages of one region with equal chance, after a first pass that populates it. Give `accesses` or `duration`.";
    uniform {0.0}
}

/// Pages in order; how often has a default or none.
macro_rules! scan {
    ($(#[$meta:meta])* $TABLE:ident, $title:literal, $doc:literal; $read:ident $passes:expr) => {
        rows! {
            $(#[$meta])*
            $TABLE: TASK,
            $title,
            $doc;
            fn $read(r, task: &TaskCx<'_>) -> ScanConfig {
                pages: [MEMORY];
                write: ("write", Flag, Is("false"), "write instead of read");
                fsync: {fsync(r, r.get("write")?)?; [FSYNC]};
                kind: {region(r, task.name)?; ("region", one of REGION_KINDS, Is("\"anon\""),
                    "what is accessed: anonymous memory, a mapped file, or a file through read()")};
                end: {ScanEnd::Passes(r.get("passes")?);
                    ("passes", Count(1, U32), $passes, "how often")};
                flags: {VmaFlags::default()};
                populate: {Populate::None};
                threads: {task.threads};
                windows: {1};
            }
        }
    };
}

scan! {
    /// `sequential`.
    SEQUENTIAL,
    "workload = \"sequential\"",
    "A region from the first page to the last, once unless told otherwise.";
    sequential Is("1")
}

scan! {
    /// `cyclic`.
    CYCLIC,
    "workload = \"cyclic\"",
    "A region from the first page to the last, again and again.";
    cyclic Required
}

rows! {
    /// `ebizzy`.
    EBIZZY: TASK,
    "workload = \"ebizzy\"",
    "Copies a chunk, chosen at random, into a fresh buffer and searches it; one such copy is a record. Give `records` or `duration`.";
    fn ebizzy(r, task: &TaskCx<'_>) -> EbizzyConfig {
        chunks: {chunks(r)?; ("memory", Size(1), Required, "all chunks together")};
        chunk_pages: ("chunk", Size(1), Is("\"512KiB\""),
            "size of a chunk; `memory` is a multiple of it");
        end: {end(r, "records")?;
            ..until!("records", "records of all threads of a process together")};
        windows: [WINDOWS];
        choice: {choice_of_chunks(r)?;
            ("zipf", Number(0.0, 10.0), Auto("`generator` decides"),
                "choose chunks by a zipf law with this exponent"),
            ("generator", one of GENERATORS, Auto("`lcg`, unless `zipf` is given"),
                "the program's own generator; the broken one chooses chunk 0 only")};
        copy_buffer: ("copy-buffer", one of {
                "remap" => CopyBuffer::Remap,
                "reuse" => CopyBuffer::Reuse,
                "none" => CopyBuffer::None,
            }, Is("\"remap\""), "fresh pages for every copy, the same pages, or no copy");
        order: ("permutation", one of {
                "shuffled" => ChunkOrder::Shuffled,
                "identity" => ChunkOrder::Identity,
            }, Is("\"shuffled\""), "where popular chunks lie");
        compute: ("compute", TIMES, Is("\"0ns\""),
            "computing for each record, besides its accesses");
        arrival: [ARRIVAL];
        threads: {task.threads};
    }
}

const GENERATORS: Words<ChunkChoice> =
    words! { "lcg" => ChunkChoice::Stock, "lcg-broken" => ChunkChoice::AlwaysZero };

fn choice_of_chunks(r: &Reader<'_>) -> Result<ChunkChoice, Error> {
    r.at_most_one("zipf", "generator")?;
    match r.get("zipf")? {
        Some(theta) => Ok(ChunkChoice::Zipf { theta }),
        None if r.has("generator") => r.word("generator", &GENERATORS),
        None => Ok(ChunkChoice::Stock),
    }
}

fn chunks(r: &Reader<'_>) -> Result<u32, Error> {
    let (pages, chunk): (u32, u32) = (r.get("memory")?, r.get("chunk")?);
    let show = |pages: u32| show_pages(u64::from(pages));
    if pages % chunk != 0 {
        let found = format!("{} is not a whole number of chunks of {}", show(pages), show(chunk));
        let up = u64::from(pages).next_multiple_of(u64::from(chunk));
        return Err(r.error("memory", found, format!("\"{}\"", show_pages(up))));
    }
    if chunk > 1 << 22 {
        return Err(r.error("chunk", format!("{} is too large", show(chunk)), "at most \"16GiB\""));
    }
    Ok(pages / chunk)
}

rows! {
    /// `replay`.
    REPLAY: TASK,
    "workload = \"replay\"",
    "The accesses of a stored trace: one process for each process in it.";
    fn replay(r, task: &TaskCx<'_>) -> ReplayTask {
        trace: {file(r, "trace", task.dir)?; ("trace", File, Required, "trace file")};
        options: (struct ReplayOptions {
            repeat: ("repeat", Count(1, U32), Is("1"), "how often");
            think: {think(r.get("think-permille")?);
                ("think-permille", Count(0, 1_000_000), Is("1000"),
                    "recorded time between accesses, in thousandths: 500 halves it, 0 leaves none")};
            mode: ("mode", one of {
                    "recorded" => ReplayMode::Recorded,
                    "closed" => ReplayMode::Closed,
                    "timed" => ReplayMode::Arrivals,
                }, Is("\"recorded\""),
                "as the trace says, or computing for the recorded time between accesses, or each access not before its recorded instant");
        });
    }
}

fn think(per_mille: u32) -> Think {
    match per_mille {
        0 => Think::None,
        1000 => Think::Recorded,
        per_mille => Think::Scaled { per_mille },
    }
}

rows! {
    /// `script`.
    SCRIPT: TASK,
    "workload = \"script\"",
    "A command list in the notation of the recorded reference experiments. What it asks of the machine (sysctls, swap, ballast, a monitor) is left to the scenario, and the report names it. Give `file` or `commands`.";
    keys {
        ("file", File, Auto("`commands` decides"), "file with one command a line")
        ("commands", Texts, Auto("`file` decides"), "the commands themselves")
    }
}

pub(in crate::scenario) fn script(r: &Reader<'_>, task: &TaskCx<'_>) -> Result<ScriptTask, Error> {
    r.one_of("file", "commands")?;
    if r.has("file") {
        let path = file(r, "file", task.dir)?;
        let text = mmsim_base::files::read_text(&path, "a list of commands")?;
        return Ok(ScriptTask::File(path, text.into()));
    }
    let commands = r.texts("commands", "command")?.unwrap_or_default();
    Ok(ScriptTask::Commands(commands.into_iter().map(|(text, _)| text.to_string()).collect()))
}

rows! {
    /// `masim`.
    MASIM: TASK,
    "workload = \"masim\"",
    "A configuration file of masim, unchanged: regions, and phases by the clock with patterns by weight (see [masim.md](masim.md)). Give `config` or `text`.";
    fn masim(r, task: &TaskCx<'_>) -> MasimTask {
        config: {Arc::new(masim_config(r, task.dir)?);
            ("config", File, Auto("`text` decides"), "configuration file"),
            ("text", Text, Auto("`config` decides"), "the configuration itself")};
        options: (struct MasimOptions {
            repeat: ("repeat", Count(1, U32), Is("1"),
                "how often the file is carried out, each time with fresh regions; masim's `--repeat`");
            mode: ("default-mode",
                one of { "wo" => Mode::Write, "ro" => Mode::Read, "rw" => Mode::ReadWrite },
                Is("\"wo\""),
                "what accesses do where the file does not say; masim's `--default_rw_mode`");
            batch: ("batch", Count(1, U32), Is("131072"),
                "accesses from one look at the clock to the next; masim's `--nr_accesses_per_region`");
            hugetlb: ("hugetlb", Flag, Is("false"),
                "regions are huge pages of `vm.nr_hugepages`, whole ones; masim's `--use_hugetlb`");
            number_bytes: ("number-bytes", Count(0, 8), Is("0"),
                "bytes of each of the million random numbers that the program keeps: 4 in masim to September 2024, 8 since; 0: they take no memory");
        });
    }
}

/// The file is read here and not when the machine is built, so that all errors in it are reported
/// before anything runs.
fn masim_config(r: &Reader<'_>, dir: &Path) -> Result<MasimConfig, Error> {
    r.one_of("config", "text")?;
    if let Some(node) = r.find("text") {
        return MasimConfig::parse(r.opt_text("text")?.unwrap_or("")).map_err(|e| {
            let title = format!("{}: {e}", r.name_of("text"));
            r.sources.error(node.at, title, e.instead)
        });
    }
    let path = file(r, "config", dir)?;
    let text = mmsim_base::files::read_text(&path, "a masim file")?;
    MasimConfig::parse(&text).map_err(|e| {
        let title = format!("{}: {}; {}", r.name_of("config"), e.what, e.instead);
        let shown = path.display().to_string();
        Error::new(ErrorKind::Scenario, title).at(&shown, &text.into(), e.span, e.instead)
    })
}
