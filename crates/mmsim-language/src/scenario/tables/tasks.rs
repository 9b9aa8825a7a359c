//! Tasks: what all have, and the workloads that come from a file.

use std::path::Path;
use std::sync::Arc;

use mmsim_workload::generators::WorkloadSpec;
use mmsim_workload::masim::{MasimConfig, MasimOptions, MasimTask, Mode};
use mmsim_workload::script::ScriptTask;
use mmsim_workload::trace::{ReplayMode, ReplayOptions, ReplayTask, Think};

use super::key;
use crate::scenario::fields::{TaskCx, file};
use crate::scenario::keys::{Fallback, KeySpec, Kind, TableSpec, U32};
use crate::scenario::read::Reader;
use crate::scenario::rows::{rows, words};
use mmsim_base::error::{Error, ErrorKind};

use Fallback::{Auto, Is, Required};
use Kind::{Choice, Count, File, Flag, Text, Texts, Time, Whole};

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
