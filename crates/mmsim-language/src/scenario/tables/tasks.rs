//! Tasks: what all have, and the workloads that come from a file.

use std::path::Path;
use std::sync::Arc;

use mmsim_core::base::settings::Settings as _;
use mmsim_workload::generators::WorkloadSpec;
use mmsim_workload::masim::{MasimConfig, MasimOptions, MasimTask};
use mmsim_workload::script::ScriptTask;
use mmsim_workload::trace::{ReplayOptions, ReplayTask};

use super::contents::CONTENTS;
use super::key;
use super::settings::{default_of, keys_of, options};
use crate::scenario::fields::{TaskCx, file};
use crate::scenario::keys::{Fallback, KeySpec, Kind, TableSpec};
use crate::scenario::read::Reader;
use crate::scenario::rows::rows;
use mmsim_base::error::{Error, ErrorKind};

use Fallback::{Auto, Is, Required};
use Kind::{Choice, Count, File, Size, Table, Text, Texts, Time, Whole};

/// Keys with which [`TASK_COMMON`] and every workload's table begin.
pub(super) const TASK: &[KeySpec] = &[
    key("workload", Choice(WorkloadSpec::NAMES), Required, "what it does"),
    key("name", Text, Auto("the workload, with a number if it repeats"), "name in reports, unique"),
    key("threads", Count(1, 1024), Is("1"), "threads of each process; they share its regions"),
    key("processes", Count(1, 1024), Is("1"), "processes, each with regions of its own"),
    key(
        "memcg",
        Text,
        Auto("the root"),
        "memory cgroup, by its path; of groups with `count`, process i is in the i-th",
    ),
    key(
        "pod",
        Text,
        Auto("none"),
        "pod that it is the container of, instead of `memcg`; `pod/container` if it has several. Gives `oom_score_adj` too",
    ),
    key(
        "disk",
        Text,
        Auto("`file-device`"),
        "disk of its files: the name of a `[[machine.disk]]`, or \"file-device\"",
    ),
    key("start", Time, Is("\"0ns\""), "when it begins"),
    key(
        "contents",
        Table(&CONTENTS),
        Auto("each page takes what the device says"),
        "what its pages hold, as far as compressors see it",
    ),
    key(
        "oom_score_adj",
        Whole(-1000, 1000),
        Is("0"),
        "of each process: added to its points with the OOM killer, in thousandths of memory and swap, or of what its group may have; with -1000 it is never killed",
    ),
    key(
        "rlimit-memlock",
        Size(0),
        Auto("none: CAP_IPC_LOCK"),
        "`RLIMIT_MEMLOCK` of each process, 8MiB by default on Linux: mlock of more is refused (ENOMEM), counted in `sim_mlock_refused`, and locks nothing",
    ),
];

rows! {
    /// The keys that every task has.
    TASK_COMMON: TASK,
    "[[task]]",
    "Every task has these keys, and those of its workload.";
    keys {}
}

static REPLAY_OPTIONS: [KeySpec; ReplayOptions::ROWS.len()] =
    keys_of(ReplayOptions::ROWS, default_of::<ReplayOptions>);

rows! {
    /// `replay`.
    REPLAY: TASK,
    "workload = \"replay\"",
    "The accesses of a stored trace: one process for each process in it.";
    keys {
        ("trace", File, Required, "trace file")
        {..&REPLAY_OPTIONS}
    }
}

pub(in crate::scenario) fn replay(r: &Reader<'_>, task: &TaskCx<'_>) -> Result<ReplayTask, Error> {
    Ok(ReplayTask { trace: file(r, "trace", task.dir)?, options: options(r)? })
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

static MASIM_OPTIONS: [KeySpec; MasimOptions::ROWS.len()] =
    keys_of(MasimOptions::ROWS, default_of::<MasimOptions>);

rows! {
    /// `masim`.
    MASIM: TASK,
    "workload = \"masim\"",
    "A configuration file of masim, unchanged: regions, and phases by the clock with patterns by weight (see [masim.md](masim.md)). Give `config` or `text`.";
    keys {
        ("config", File, Auto("`text` decides"), "configuration file")
        ("text", Text, Auto("`config` decides"), "the configuration itself")
        {..&MASIM_OPTIONS}
    }
}

pub(in crate::scenario) fn masim(r: &Reader<'_>, task: &TaskCx<'_>) -> Result<MasimTask, Error> {
    Ok(MasimTask { config: Arc::new(masim_config(r, task.dir)?), options: options(r)? })
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
