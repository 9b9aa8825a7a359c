//! Commands of memory cgroups and of the processes in them.

use super::{Parser, Region};
use crate::script::lines::Words;
use crate::script::{Command, ScriptError, ScriptGroup, ScriptProcess};
use mmsim_core::base::id::MemcgId;
use mmsim_core::config::PAGE_COUNTER_MAX;
use std::collections::BTreeMap;

/// Bytes of a page.
const PAGE: u64 = 4096;
/// Groups at most, and processes: both are numbered in 16 bits.
const MOST: usize = u16::MAX as usize - 1;

/// Processes in groups while a list is read.
#[derive(Default)]
pub(super) struct Processes {
    /// Position of a process in the script.
    by_number: BTreeMap<u16, usize>,
    /// Mapped regions of each.
    regions: Vec<BTreeMap<u16, Region>>,
    /// The one whose turn it is; none: the first process of the script.
    turn: Option<usize>,
    /// Some have been started and nothing has waited for them yet.
    under_way: bool,
}

impl Parser {
    /// The turn goes to a process, or back to the first one.
    pub(super) fn turn_to(&mut self, turn: Option<usize>) {
        if self.processes.turn == turn {
            return;
        }
        self.processes.turn = turn;
        self.meet();
    }

    /// Every process waits here for all others.
    fn meet(&mut self) {
        self.script.commands.push(Command::Meet);
        self.script.processes.iter_mut().for_each(|p| p.commands.push(Command::Meet));
    }

    /// At the end all meet once more: a process that ends frees its memory.
    pub(super) fn last_turn(&mut self) {
        self.turn_to(None);
        if !self.script.processes.is_empty() {
            self.meet();
        }
    }

    /// `wait`: until the processes have done what `start` gave them.
    pub(super) fn wait(&mut self) {
        if std::mem::take(&mut self.processes.under_way) {
            self.meet();
        }
    }

    /// `join path`: the first process goes to a group.
    pub(super) fn join(&mut self, w: &mut Words<'_>) -> Result<(), ScriptError> {
        let path = w.usage("join /cg/group").word("the group")?;
        let group = self.group(path, w)?;
        if self.touched || self.script.setup.joined.replace(group).is_some() {
            return Err(w.error(path, "join one group, before the first access"));
        }
        Ok(())
    }

    /// `mkdir path`.
    pub(super) fn mkdir(&mut self, w: &mut Words<'_>) -> Result<(), ScriptError> {
        let path = w.usage("mkdir /cg/group").word("the path")?;
        let setup = &mut self.script.setup;
        let below = path.strip_prefix("/cg/").filter(|_| setup.cgroup2.is_some());
        let Some(name) = below else {
            return Err(w.error(path, "write a path below /cg, where cgroup2 is mounted"));
        };
        if let Some((parent, _)) = name.rsplit_once('/')
            && setup.groups.iter().all(|g| g.path != parent)
        {
            return Err(w.error(path, format!("make /cg/{parent} first")));
        }
        if setup.groups.iter().any(|g| g.path == name) || setup.groups.len() == MOST {
            return Err(w.error(path, "write a group that is not there yet"));
        }
        setup.groups.push(ScriptGroup { path: name.into(), ..ScriptGroup::default() });
        Ok(())
    }

    fn group(&self, path: &str, w: &Words<'_>) -> Result<usize, ScriptError> {
        let groups = &self.script.setup.groups;
        let of = |name: &str| groups.iter().position(|g| g.path == name);
        path.strip_prefix("/cg/")
            .and_then(of)
            .ok_or_else(|| w.error(path, "write a group that `mkdir` made"))
    }

    /// `write` of a file of a group, `path` below `/cg/`.
    pub(super) fn write_group(
        &mut self,
        path: &str,
        value: &str,
        w: &Words<'_>,
    ) -> Result<(), ScriptError> {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        if file == "cgroup.subtree_control" {
            return Ok(());
        }
        let pages = || -> Result<Option<u64>, ScriptError> {
            if value == "max" {
                return Ok(None);
            }
            let bytes = value.parse::<u64>().ok();
            let bytes = bytes.ok_or_else(|| w.error(value, "write bytes, or max"))?;
            Ok(Some(bytes / PAGE))
        };
        if file == "memory.reclaim" {
            let memcg = match folder {
                "/cg" => MemcgId(0),
                _ => MemcgId(self.group(folder, w)? as u16 + 1),
            };
            let n = pages()?.and_then(|n| u32::try_from(n).ok());
            let pages = n.ok_or_else(|| w.error(value, "write bytes of fewer than 2^32 pages"))?;
            self.script.commands.push(Command::Reclaim { memcg, pages });
            self.touched = true;
            return Ok(());
        }
        let at = self.group(folder, w)?;
        let known = [
            "memory.min",
            "memory.low",
            "memory.high",
            "memory.max",
            "memory.swap.max",
            "memory.zswap.max",
            "memory.zswap.writeback",
            "memory.oom.group",
        ];
        if self.touched || !known.contains(&file) {
            let what = "write memory.reclaim, or before the first access memory.min, memory.low, \
                        memory.high, memory.max, memory.swap.max, memory.zswap.max, \
                        memory.zswap.writeback or memory.oom.group";
            return Err(w.error(path, what));
        }
        let g = &mut self.script.setup.groups[at];
        match file {
            "memory.min" => g.min = pages()?.unwrap_or(PAGE_COUNTER_MAX),
            "memory.low" => g.low = pages()?.unwrap_or(PAGE_COUNTER_MAX),
            "memory.high" => g.high = pages()?,
            "memory.max" => g.max = pages()?,
            "memory.swap.max" => g.swap_max = pages()?,
            "memory.zswap.max" => g.zswap_max = pages()?,
            "memory.zswap.writeback" => g.no_zswap_writeback = value == "0",
            _ => g.oom_group = value == "1",
        }
        Ok(())
    }

    /// `contents region bytes ..`.
    pub(super) fn contents(&mut self, w: &mut Words<'_>) -> Result<(), ScriptError> {
        let region = self.region(w.usage("contents region bytes .."))?;
        let process = self.processes.turn;
        let all = &mut self.script.contents;
        if all.iter().any(|c| (c.0, c.1) == (process, region)) {
            let found = region.0.to_string();
            return Err(w.error(&found, "a region with contents; write them once"));
        }
        let mut bytes = vec![w.number("drawn bytes", 0..=4096)?];
        while let Some(more) = w.optional_number("drawn bytes", 0..=4096)? {
            bytes.push(more);
        }
        all.push((process, region, bytes));
        Ok(())
    }

    /// `process number path`.
    pub(super) fn process(&mut self, w: &mut Words<'_>) -> Result<(), ScriptError> {
        let number = w.usage("process number /cg/group|-").number("the process", 1..=4096)?;
        let group = match w.word("the group")? {
            "-" => None,
            path => Some(self.group(path, w)?),
        };
        let at = self.script.processes.len();
        if self.touched || self.processes.by_number.insert(number, at).is_some() {
            let found = number.to_string();
            return Err(w.error(&found, "write another number, before the first access"));
        }
        self.processes.regions.push(BTreeMap::new());
        self.script.processes.push(ScriptProcess { number, group, ..ScriptProcess::default() });
        Ok(())
    }

    /// `on number command ..`: the command in the process, while others wait; `start number command
    /// ..`: while they go on.
    pub(super) fn in_process(&mut self, line: usize, text: &str) -> Result<(), ScriptError> {
        let mut w = Words::new(line, text);
        let starts = w.optional() == Some("start");
        let usage = if starts { "start number command .." } else { "on number command .." };
        let number: u16 = w.usage(usage).number("the process", 1..=4096)?;
        let Some(&at) = self.processes.by_number.get(&number) else {
            return Err(w.error(&number.to_string(), "write a process that `process` began"));
        };
        let rest =
            text.trim_start().split_once(' ').and_then(|(_, r)| r.trim_start().split_once(' '));
        let (_, rest) = rest.ok_or_else(|| w.error(text, "write a command behind the number"))?;
        let mut words = Words::new(line, rest);
        match words.optional() {
            // Which CPU it runs on is the scheduler's choice here.
            Some("pin") if !starts => return Ok(()),
            Some("write") if !starts => {
                let path = words.usage("write path value").word("the path")?;
                if path != "/proc/self/oom_score_adj" {
                    return Err(words.error(path, "write /proc/self/oom_score_adj"));
                }
                self.script.processes[at].oom_score_adj =
                    words.number("the value", -1000..=1000)?;
                return words.end();
            }
            Some(
                "anon" | "contents" | "file" | "shmem" | "unmap" | "fill" | "scan" | "zipf"
                | "seed" | "sleepms" | "madvise",
            ) => {}
            other => {
                let what = "write anon, contents, file, shmem, unmap, fill, scan, zipf, seed, sleepms or \
                            madvise behind `on` and `start`, or pin or write behind `on`";
                return Err(words.error(other.unwrap_or(rest), what));
            }
        }
        if !starts && self.processes.under_way {
            return Err(w.error(text, "write `wait` before"));
        }
        self.turn_to(if starts { None } else { Some(at) });
        if starts && !std::mem::replace(&mut self.processes.under_way, true) {
            self.meet();
        }
        std::mem::swap(&mut self.regions, &mut self.processes.regions[at]);
        std::mem::swap(&mut self.script.commands, &mut self.script.processes[at].commands);
        let done = self.command(line, rest);
        std::mem::swap(&mut self.script.commands, &mut self.script.processes[at].commands);
        std::mem::swap(&mut self.regions, &mut self.processes.regions[at]);
        done
    }
}
