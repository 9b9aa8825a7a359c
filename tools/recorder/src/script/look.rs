//! Commands that look at the kernel, or wait.

use super::{Command, Known, Words};

impl Words<'_> {
    /// Commands that look, or wait. `None`: it is none of them.
    pub(super) fn of_look(
        &mut self,
        name: &str,
        known: &mut Known,
    ) -> Result<Option<Command>, String> {
        Ok(Some(match name {
            "val" => {
                let first = self.word("the path")?.to_string();
                let paths: Vec<String> = self.rest.by_ref().map(str::to_string).collect();
                match (first.starts_with('/'), paths.is_empty()) {
                    (true, true) => Command::Val { label: None, paths: vec![first] },
                    (false, false) => Command::Val { label: Some(first), paths },
                    (true, false) => return Err("several files need a label before them".into()),
                    (false, true) => return Err("the path is missing".into()),
                }
            }
            "damonregions" => {
                let scheme = self.word("the scheme")?.to_string();
                Command::DamonRegions { scheme, label: self.word("the label")?.to_string() }
            }
            "sleepms" => Command::SleepMs(self.up_to("the time", 0, 1_000_000)?),
            "snap" | "snapx" => {
                let phase = self.word("the name")?.to_string();
                if known.snaps.contains(&phase) {
                    return Err(format!("there is a snapshot `{phase}` already"));
                }
                known.snaps.push(phase.clone());
                Command::Snap { name: phase, zones: name == "snapx" }
            }
            "layout" | "resid" | "cached" => {
                self.rest.by_ref().for_each(drop);
                Command::Look
            }
            _ => return Ok(None),
        }))
    }
}
