//! From copies to a scenario, and the notes on it.

use super::copies::Copies;
use super::facts::Facts;
use super::held;
use super::note::{Note, Weight};
use super::options::Options;
use super::writer::{ANY_TASK, Writer, run_of};
use mmsim_base::error::Error;
use mmsim_base::layout;

/// Result of an import.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Import {
    /// The scenario, TOML.
    pub scenario: String,
    /// The layout that its first task loads, if there is one.
    pub layout: Option<String>,
    /// Values that could not be taken: those first that matter most, and of equals by file.
    pub notes: Vec<Note>,
}

/// The weight of a file that is not there, and what is taken in its place.
fn why_missing(pattern: &str) -> Option<(Weight, &'static str)> {
    use Weight::{Detail, Device, Machine};
    Some(match pattern {
        "proc/cmdline" => (Detail, "nothing: what it sets shows in the other files"),
        "proc/vmstat" => (Detail, "nothing: a run begins with counters at 0"),
        "proc/version" => (Machine, "kernel 6.12, or what `--kernel` says"),
        "proc/zoneinfo" => {
            (Machine, "zones follow from MemTotal, CPUs from sys/devices/system/cpu/online")
        }
        "proc/buddyinfo" => {
            (Detail, "fragmentation is not known: what is free is free in the largest blocks")
        }
        "proc/pagetypeinfo" => {
            (Detail, "types of free blocks and of pageblocks are not known; root can read it")
        }
        "proc/meminfo" => (Detail, "nothing to compare the zones with"),
        "proc/swaps" => (Machine, "no swap"),
        "proc/sys/vm/*" => (Machine, "sysctls have the values that Linux boots with"),
        "sys/devices/system/cpu/online" => {
            (Detail, "as many CPUs as /proc/zoneinfo has lists of, else one")
        }
        "sys/kernel/mm/lru_gen/*" => {
            (Machine, "the classic LRU: a kernel without MGLRU has no such files")
        }
        "sys/kernel/mm/transparent_hugepage/*" => (Detail, "no transparent huge pages"),
        "sys/block/*/queue/*" => (Device, "files lie on the preset nvme"),
        // The rest says nothing that would be taken.
        _ => return None,
    })
}

impl Import {
    /// Makes a scenario of copies. `layout` is the name of the file, beside the scenario, that the
    /// layout will be in; without one none is made.
    ///
    /// # Errors
    /// Files of two machines, a line that no kernel prints, an old kernel, or neither zoneinfo nor
    /// meminfo: the message names file and line, and what to do.
    pub fn of(copies: &Copies, options: &Options, layout: Option<&str>) -> Result<Import, Error> {
        let mut notes = copies.missing(why_missing);
        let facts = Facts::of(copies, options.kernel, &mut notes)?;
        if copies.get("proc/vmstat").is_some() {
            notes.push(Note::new("proc/vmstat", "counters", "a run begins with counters at 0"));
        }
        held::remarks(copies, (options.programs, options.workload), &mut notes)?;
        let mut writer = Writer::new(copies, &facts, options, &mut notes)?;
        let (scenario, layout) = writer.write(layout)?;
        // What is written is read again by whoever runs it, so it is now.
        let task = if layout.is_some() { "" } else { ANY_TASK };
        if layout.is_none() {
            run_of(&format!("{scenario}{task}"), copies.origin())?;
        }
        arguments(copies, &mut notes);
        notes.sort();
        notes.dedup();
        Ok(Import { scenario, layout: layout.as_ref().map(layout::text), notes })
    }
}

/// Arguments that the kernel was started with.
fn arguments(copies: &Copies, notes: &mut Vec<Note>) {
    let file = "proc/cmdline";
    let Some(text) = copies.get(file) else { return };
    let mut others = Vec::new();
    for word in text.text().split_whitespace() {
        let why = match word.split('=').next().unwrap_or_default() {
            "cgroup_disable" => "groups are what the scenario has",
            "mem"
            | "memmap"
            | "kernelcore"
            | "movablecore"
            | "hugepages"
            | "hugepagesz"
            | "default_hugepagesz"
            | "maxcpus"
            | "nr_cpus"
            | "numa"
            | "transparent_hugepage"
            | "root" => "its effect is in the other files",
            "mitigations" | "pti" | "nopti" | "spectre_v2" => {
                "costs of steps are those of `machine.cost`, whatever the mitigations"
            }
            "isolcpus" | "nohz_full" => "CPUs that are kept apart are not modelled",
            _ => {
                others.push(word);
                continue;
            }
        };
        notes.push(Note::new(file, word, why));
    }
    if !others.is_empty() {
        notes.push(Note::new(file, &others.join(" "), "no part of what is modelled"));
    }
}
