//! A command list as the work of a task.

use super::{Command, Script, ScriptWorkload};
use crate::work::{Pages, PlaceInFile, Threads, Work, WorkError};
use mmsim_core::workload::Op;
use std::path::PathBuf;
use std::sync::Arc;

/// The commands of a task, and where they come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScriptTask {
    /// A file with one command a line, and its text.
    File(PathBuf, Arc<str>),
    /// The commands themselves.
    Commands(Vec<String>),
}

impl ScriptTask {
    /// The commands, one a line.
    pub fn lines(&self) -> Vec<&str> {
        match self {
            ScriptTask::File(_, text) => text.lines().collect(),
            ScriptTask::Commands(commands) => commands.iter().map(String::as_str).collect(),
        }
    }

    /// An error about the command of a line, counted from 0.
    pub fn wrong_line(&self, line: usize, what: &str) -> WorkError {
        match self {
            ScriptTask::Commands(_) => {
                let key = format!("commands[{line}]");
                WorkError::new(format!("{key}: {what}")).about(key)
            }
            ScriptTask::File(path, text) => {
                let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
                let span = start..start + text.lines().nth(line).map_or(0, str::len);
                let (path, text) = (path.clone(), Arc::clone(text));
                WorkError::new(what).at(PlaceInFile { path, text, span })
            }
        }
    }

    /// The parsed list, and the workload of its main thread.
    ///
    /// # Errors
    /// A line is no command, or one that is not modelled.
    pub fn parsed(&self) -> Result<(Script, ScriptWorkload), WorkError> {
        let script = Script::parse(&self.lines())
            .map_err(|e| self.wrong_line(e.line, &format!("found `{}`, {}", e.found, e.instead)))?;
        let elsewhere = [
            ("process ", "a process in a group; write a [[task]] with `memcg` for it"),
            ("contents ", "contents of pages; write `contents` of the task for them"),
        ];
        for (begin, what) in elsewhere {
            if let Some(line) = self.lines().iter().position(|l| l.starts_with(begin)) {
                return Err(self.wrong_line(line, what));
            }
        }
        let workload = script.workload().map_err(|e| {
            self.wrong_line(e.line, &format!("`{}` is not modelled yet: {}", e.command, e.why))
        })?;
        Ok((script, workload))
    }
}

impl Work for ScriptTask {
    fn threads(&self, _seed: u64, _index: usize) -> Result<Threads, WorkError> {
        let (script, workload) = self.parsed()?;
        let mut threads: Threads = vec![Box::new(workload)];
        if let Some(child) = script.child_workload() {
            threads.push(Box::new(child));
        }
        Ok(threads)
    }
    fn add_pages(&self, _seed: u64, _processes: u32, pages: &mut Pages) {
        if let Ok((script, _)) = self.parsed() {
            let (mapped, of_files) = script.pages();
            pages.map(mapped, 1);
            pages.files(1, of_files);
        }
    }
    fn most_threads(&self) -> u32 {
        1
    }
    fn unfit_for_samples(&self) -> Option<&'static str> {
        Some("its commands name sizes of the machine they are for")
    }
    fn makes(&self, such: fn(&Op) -> bool) -> bool {
        let compacts = |(script, _): (Script, _)| script.commands.contains(&Command::CompactMemory);
        such(&Op::CompactMemory) && self.parsed().is_ok_and(compacts)
    }
    fn has_to_be_made(&self) -> bool {
        true
    }
    fn key(&self) -> &'static str {
        "commands"
    }
    fn assumptions(&self) -> Vec<String> {
        let set_up = self.parsed().map(|(script, _)| script.setup.words()).unwrap_or_default();
        if set_up.is_empty() {
            return Vec::new();
        }
        let left = "what its commands ask of the machine is left to the scenario";
        vec![format!("{left}: {}", set_up.join(", "))]
    }
}
