//! A trace against a number of frames: the run of `mmsim bench-trace`.
//!
//! So that figures can stand beside those of cache simulators, which know a sequence of objects and
//! a size. The run is that of an ordinary scenario (the text below, with the settings put into it),
//! built and run like any other; only its workload comes from a file that scenarios cannot name.
//!
//! The frames are all memory of one zone: page tables, free pages below the watermarks and
//! per-CPU lists come out of them, as they do on a real machine. Swap has two slots for
//! every page, so that it is never half full (Linux then gives slots up early), on a device
//! that works on the caller's CPU and takes none of the frames.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use mmsim_workload::trace::{self, Backing, RequestFormat, Requests, TraceInfo, UnknownWord};

use crate::attend::Making;
use crate::plan::Point;
use crate::run::RunError;
use crate::runner::Runner;
use crate::store::{UnitId, id_of};
use mmsim_base::error::{Error, ErrorKind};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_language::machines::Catalogue;
use mmsim_language::scenario::workload::WorkloadSpec;
use mmsim_language::scenario::{RunSpec, Scenario, units};
use mmsim_report::RunReport;

/// The scenario of a benchmark. The task is a stand-in for the trace.
const SCENARIO: &str = r#"
schema = 1
name = "bench-trace"
seed = 1

[machine]
zone = [{ kind = "Normal", managed = "1GiB" }]
cpus = 1
swap = { size = "1GiB", device = "ramdisk" }

[[task]]
name = "replay"
workload = "sequential"
memory = "4KiB"

[[variant]]
name = "bench"
reclaim = { preset = "classic-v6.12" }
"#;

/// Name of the native format in options.
const MMT: &str = "mmt";

/// The fewest frames of a machine.
pub(crate) const LEAST_FRAMES: u64 = 64;
/// 16383 GiB: the most frames of a machine, below 2^32 of them.
const MOST_FRAMES: u64 = 16_383 << 18;

/// Number of frames of the machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Frames {
    /// This number.
    Pages(u32),
    /// Hundredths of the distinct pages of the trace.
    PerCent(f64),
}

impl Frames {
    /// Their number, for a trace of `distinct_pages` distinct pages.
    ///
    /// # Errors
    ///
    /// A share that comes out at fewer frames than a machine has.
    pub fn of(self, distinct_pages: u64) -> Result<u32, Error> {
        let (share, frames) = match self {
            Frames::Pages(frames) => return Ok(frames),
            Frames::PerCent(share) => (share, (distinct_pages as f64 * share / 100.0).round()),
        };
        if (LEAST_FRAMES as f64..=MOST_FRAMES as f64).contains(&frames) {
            return Ok(frames as u32);
        }
        let title = format!(
            "{share}% of {distinct_pages} pages are {frames} frames: a machine \
             has {LEAST_FRAMES} to {MOST_FRAMES}"
        );
        Err(Error::new(ErrorKind::Option, title).help("write another share, or a number of pages"))
    }
}

impl fmt::Display for Frames {
    /// As options write it: `1000` or `10%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frames::Pages(pages) => write!(f, "{pages}"),
            Frames::PerCent(share) => write!(f, "{share}%"),
        }
    }
}

/// Why a text is no number of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FramesError {
    /// It is of none of the forms.
    #[error("write pages (1000), a size (64MiB) or a share of the trace's pages (10%)")]
    Form,
    /// Fewer or more than a machine has.
    #[error("{0} frames: a machine has {LEAST_FRAMES} to {MOST_FRAMES}")]
    Range(u64),
}

impl FromStr for Frames {
    type Err = FramesError;

    /// `1000` pages, a size as `64MiB`, or a share of the trace's distinct pages as `10%`.
    fn from_str(text: &str) -> Result<Frames, FramesError> {
        if let Some(share) = text.strip_suffix('%') {
            return match share.trim_end().parse::<f64>() {
                Ok(share) if share > 0.0 && share.is_finite() => Ok(Frames::PerCent(share)),
                _ => Err(FramesError::Form),
            };
        }
        let pages = match text.parse::<u64>() {
            Ok(pages) => pages,
            Err(_) => units::pages(text).map_err(|_| FramesError::Form)?,
        };
        if (LEAST_FRAMES..=MOST_FRAMES).contains(&pages) {
            return Ok(Frames::Pages(pages as u32));
        }
        Err(FramesError::Range(pages))
    }
}

/// Settings of a benchmark.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BenchSettings<'a> {
    /// The trace.
    pub file: &'a Path,
    /// Its format: `raw-u32`, `raw-u64`, `oracle-general` or `mmt`; `None`: by its name.
    pub from: Option<&'a str>,
    /// Page numbers are names: number them in the order of their appearance.
    pub dense: bool,
    /// Frames of the machine, managed by its one zone.
    pub frames: Frames,
    /// Preset of the policy.
    pub reclaim: &'a str,
    /// Preset of the swap device.
    pub swap: &'a str,
    /// Writes per 1000 accesses that are not the first to their page.
    pub write_permille: u32,
    /// Seed of all draws.
    pub seed: u64,
    /// Further keys of the scenario and their values.
    pub sets: &'a [(String, String)],
}

impl<'a> BenchSettings<'a> {
    /// This trace on `frames` frames, under Linux 6.12's classic LRU with a RAM disk for swap. Its
    /// name tells the format, nothing is written, and the seed is 1.
    pub fn new(file: &'a Path, frames: Frames) -> Self {
        BenchSettings {
            file,
            from: None,
            dense: false,
            frames,
            reclaim: "classic-v6.12",
            swap: "ramdisk",
            write_permille: 0,
            seed: 1,
            sets: &[],
        }
    }
}

/// Facts about a trace before it runs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BenchTrace {
    /// The file.
    pub file: PathBuf,
    /// Its format.
    pub format: String,
    /// Requests: pages touched, counted each time.
    pub requests: u64,
    /// Distinct pages.
    pub distinct_pages: u64,
    /// Of these, pages of anonymous memory.
    pub anonymous_pages: u64,
    /// Assumptions, a sentence each.
    pub assumptions: Vec<String>,
}

impl BenchTrace {
    /// Requests to a page that was not in memory: the first to a page of anonymous memory, major
    /// faults, and what `read(2)` and `write(2)` missed. None for a run that did not do all its
    /// work: it made fewer requests.
    pub fn misses(&self, run: &RunReport) -> Option<u64> {
        let faults = run.vmstat.count(VmEvent::PgMajFault)?;
        run.outcome.is_whole().then_some(self.anonymous_pages + faults + run.cache_misses?)
    }

    /// The misses as a share of all requests, 0 to 1.
    pub fn miss_ratio(&self, run: &RunReport) -> Option<f64> {
        self.misses(run).map(|m| m as f64 / self.requests.max(1) as f64)
    }
}

/// Reads the trace and resolves the run.
///
/// # Errors
///
/// A trace that cannot be read, a policy or a device that there is not, a key that is wrong.
pub fn plan(settings: &BenchSettings<'_>) -> Result<(RunSpec, BenchTrace), Error> {
    let (mut runs, trace) = plans(settings, &[(settings.frames, settings.reclaim)])?;
    Ok((runs.swap_remove(0), trace))
}

/// Reads the trace once and resolves a run for each number of frames and policy, which stand for
/// those of the settings.
///
/// # Errors
///
/// As of [`plan`].
pub fn plans(
    settings: &BenchSettings<'_>,
    cells: &[(Frames, &str)],
) -> Result<(Vec<RunSpec>, BenchTrace), Error> {
    let trace = Trace::open(settings)?;
    Ok((trace.runs(cells)?, trace.facts))
}

/// A trace that was read once, and the machines that it may run on.
#[derive(Debug)]
pub struct Trace {
    facts: BenchTrace,
    /// Pages that it can want.
    pages: u64,
    work: WorkloadSpec,
    swap: String,
    seed: u64,
    sets: Vec<(String, String)>,
    accesses: Arc<Accesses>,
}

/// All that decides the accesses of a trace. The file counts by what is in it: it may lie in a
/// temporary folder.
#[derive(Debug)]
struct Accesses {
    file: PathBuf,
    /// The settings by which it is read.
    read: String,
    contents: OnceLock<String>,
}

impl Accesses {
    fn of(settings: &BenchSettings<'_>) -> Arc<Accesses> {
        Arc::new(Accesses {
            file: settings.file.to_path_buf(),
            read: format!("{:?} {} {}", settings.from, settings.dense, settings.write_permille),
            contents: OnceLock::new(),
        })
    }

    /// The name of a run of them in stores.
    fn id(&self, spec: &RunSpec) -> UnitId {
        let contents = self.contents.get_or_init(|| {
            let contents = File::open(&self.file).and_then(trace::contents).ok();
            format!("{contents:?} {}", self.read)
        });
        let machine = RunSpec { tasks: Vec::new(), ..spec.clone() };
        id_of(&machine, &("bench-trace", contents))
    }
}

impl Trace {
    /// Reads the trace of these settings; frames and policy come with each run.
    ///
    /// # Errors
    ///
    /// A trace that cannot be read, or whose format is not known.
    pub fn open(settings: &BenchSettings<'_>) -> Result<Trace, Error> {
        let (facts, pages, work) = open(settings)?;
        Ok(Trace {
            facts,
            pages,
            work,
            swap: settings.swap.to_string(),
            seed: settings.seed,
            sets: settings.sets.to_vec(),
            accesses: Accesses::of(settings),
        })
    }

    /// Facts about it.
    pub fn facts(&self) -> &BenchTrace {
        &self.facts
    }

    /// A run for each number of frames and policy.
    ///
    /// # Errors
    ///
    /// A policy or a device that there is not, a key that is wrong, a size that no machine has.
    pub fn runs(&self, cells: &[(Frames, &str)]) -> Result<Vec<RunSpec>, Error> {
        cells.iter().map(|&(frames, reclaim)| self.resolve(frames, reclaim)).collect()
    }

    fn resolve(&self, frames: Frames, reclaim: &str) -> Result<RunSpec, Error> {
        let frames = frames.of(self.facts.distinct_pages)?;
        let scenario = Scenario::from_str(SCENARIO, "bench-trace")?;
        let quoted = |name: &str| format!("\"{name}\"");
        let mut sets = vec![
            ("machine.zone[0].managed", quoted(&format!("{frames} pages"))),
            ("machine.swap.size", quoted(&format!("{} pages", 2 * self.pages))),
            ("machine.swap.device", quoted(&self.swap)),
            ("variant[0].reclaim.preset", quoted(reclaim)),
            ("seed", self.seed.to_string()),
        ];
        sets.extend(self.sets.iter().map(|(k, v)| (k.as_str(), v.clone())));
        let sets: Vec<_> = sets.into_iter().map(|(k, v)| (k.to_string(), v)).collect();
        let mut runs = scenario.with_sets(&sets)?.expand(&Catalogue)?;
        let mut run = runs.swap_remove(0);
        run.tasks[0].work = self.work.clone();
        run.given = replayed(&run.given);
        Ok(run)
    }

    /// A run of it, as a point of a plan.
    pub(crate) fn replay(&self, spec: RunSpec) -> Replay {
        Replay { spec, accesses: Some(Arc::clone(&self.accesses)) }
    }
}

/// Settings for a report: the workload is a replay, and keys of the stand-in are left out.
fn replayed(given: &[(String, String)]) -> Arc<[(String, String)]> {
    let kept = |key: &str| !key.starts_with("task[0].") || key == "task[0].name";
    let workload = ("task[0].workload".to_string(), "replay".to_string());
    given.iter().filter(|(key, _)| kept(key)).cloned().chain([workload]).collect()
}

/// Makes the runs of a trace, which [`plans`] resolved of these settings.
///
/// # Errors
///
/// A run panicked, the host cannot hold the runs, or the store cannot be read or written.
pub fn run(
    settings: &BenchSettings<'_>,
    specs: &[RunSpec],
    runner: &Runner<'_>,
) -> Result<Vec<RunReport>, RunError> {
    let accesses = Accesses::of(settings);
    let replay =
        |spec: &RunSpec| Replay { spec: spec.clone(), accesses: Some(Arc::clone(&accesses)) };
    let runs = runner.run(specs.iter().map(replay).collect::<Vec<_>>())?;
    for (spec, run) in specs.iter().zip(&runs) {
        if let Some(message) = run.panic.clone() {
            return Err(RunError::Invariant { run: spec.label(), message });
        }
    }
    Ok(runs)
}

/// A run of a trace, or of a scenario.
#[derive(Clone, Debug)]
pub struct Replay {
    pub(crate) spec: RunSpec,
    /// None: those of the scenario.
    accesses: Option<Arc<Accesses>>,
}

impl From<RunSpec> for Replay {
    fn from(spec: RunSpec) -> Replay {
        Replay { spec, accesses: None }
    }
}

impl Point for Replay {
    type Made = RunReport;

    fn id(&self) -> Option<UnitId> {
        match &self.accesses {
            None => self.spec.id(),
            Some(accesses) => Some(accesses.id(&self.spec)),
        }
    }

    fn spec(&self) -> Option<&RunSpec> {
        Some(&self.spec)
    }

    fn make(&self, how: &Making<'_>) -> Result<RunReport, RunError> {
        self.spec.make(how)
    }
}

/// The trace, the pages that it can want, and its replay.
fn open(settings: &BenchSettings<'_>) -> Result<(BenchTrace, u64, WorkloadSpec), Error> {
    let file = settings.file;
    let wrong =
        |e: trace::TraceError| Error::new(ErrorKind::File, format!("{}: {e}", file.display()));
    match format_of(settings)? {
        Some(format) => {
            let requests = Requests::open(file, format, settings.dense).map_err(wrong)?;
            let trace = BenchTrace {
                file: file.to_path_buf(),
                format: format.to_string(),
                requests: requests.requests(),
                distinct_pages: requests.distinct_pages(),
                anonymous_pages: requests.distinct_pages(),
                assumptions: requests.assumptions(),
            };
            let write_permille = settings.write_permille;
            let pages = requests.distinct_pages();
            let work =
                WorkloadSpec::Requests(trace::RequestsTask { trace: requests, write_permille });
            Ok((trace, pages, work))
        }
        None => {
            refuse_of_raw(settings)?;
            let info = trace::info(file).map_err(wrong)?;
            let trace = of_info(file, &info);
            let pages = info.distinct_pages.max(1);
            Ok((trace, pages, replay(file)))
        }
    }
}

/// Refuses what a trace that is not raw has no use for.
fn refuse_of_raw(settings: &BenchSettings<'_>) -> Result<(), Error> {
    let title = if settings.dense {
        "--dense: it numbers the pages of a raw trace, and those of this one are numbered"
    } else if settings.write_permille > 0 {
        "--write: it is about a raw trace, and this one says what is written"
    } else {
        return Ok(());
    };
    Err(Error::of_option(title).help("leave it out"))
}

/// The format of the settings, or of the ending of the file's name. `None`: the native one.
fn format_of(settings: &BenchSettings<'_>) -> Result<Option<RequestFormat>, Error> {
    let names = || {
        let all: Vec<_> = RequestFormat::ALL.iter().map(|f| f.name()).collect();
        format!("{} or {MMT}", all.join(", "))
    };
    match settings.from {
        Some(MMT) => Ok(None),
        Some(name) => name.parse().map(Some).map_err(|_: UnknownWord| {
            let title =
                format!("--from: unknown format of requests {name:?}: expected {}", names());
            let error = Error::new(ErrorKind::Option, title);
            let imported = mmsim_formats::traces::FORMATS.iter().any(|f| f.0 == name);
            if imported { error.help(import_first(settings.file, name)) } else { error }
        }),
        None if settings.file.extension().is_some_and(|e| e == MMT) => Ok(None),
        None => RequestFormat::of_name(settings.file).map(Some).ok_or_else(|| {
            if let Some(format) = imported_by_name(settings.file) {
                let title = format!(
                    "{}: requests are read from binary files, and this is `{format}` by its name",
                    settings.file.display()
                );
                return Error::new(ErrorKind::Option, title)
                    .help(import_first(settings.file, format));
            }
            let title = format!(
                "{}: the name does not tell the format (.u32, .u64, .oracleGeneral.bin, .{MMT})",
                settings.file.display()
            );
            Error::new(ErrorKind::Option, title).help(format!(
                "write --from {}; make a trace of any other format with `mmsim trace import` first",
                names()
            ))
        }),
    }
}

/// The format of a file that has to be imported before it runs: of the option, or else by its name.
pub fn imported<'f>(file: &Path, from: Option<&'f str>) -> Option<&'f str> {
    let runs = |name: &str| name == MMT || name.parse::<RequestFormat>().is_ok();
    match from {
        Some(name) => mmsim_formats::traces::FORMATS
            .iter()
            .any(|f| f.0 == name && !runs(name))
            .then_some(name),
        None => imported_by_name(file),
    }
}

/// The format of a name that is read by an import only.
fn imported_by_name(file: &Path) -> Option<&'static str> {
    const ENDS: [(&str, &str); 7] = [
        (".csv", "csv"),
        (".tsv", "csv"),
        (".txt", "csv"),
        (".trc", "csv"),
        (".vscsi", "vscsi"),
        (".lackey", "lackey"),
        (".data", "damon"),
    ];
    let name = file.file_name()?.to_string_lossy();
    let name = name.strip_suffix(".zst").or(name.strip_suffix(".gz")).unwrap_or(&name);
    ENDS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, format)| *format)
}

/// The commands that take a file of another format.
fn import_first(file: &Path, format: &str) -> String {
    let out = Path::new(file.file_stem().unwrap_or_default()).with_extension(MMT);
    let (file, out) = (file.display(), out.display());
    format!(
        "make a trace of it: `mmsim trace import --from {format} {file} -o {out}`, and name {out} here"
    )
}

fn of_info(file: &Path, info: &TraceInfo) -> BenchTrace {
    let anonymous =
        |r: &trace::RegionInfo| matches!(r.region.backing, Backing::Anon | Backing::Unknown);
    BenchTrace {
        file: file.to_path_buf(),
        format: MMT.into(),
        requests: info.accesses,
        distinct_pages: info.distinct_pages,
        anonymous_pages: info
            .regions
            .iter()
            .filter(|r| anonymous(r))
            .map(|r| r.distinct_pages)
            .sum(),
        assumptions: info.assumptions.clone(),
    }
}

fn replay(file: &Path) -> WorkloadSpec {
    WorkloadSpec::Replay(trace::ReplayTask {
        trace: file.to_path_buf(),
        options: trace::ReplayOptions::default(),
    })
}
