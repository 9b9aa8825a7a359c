//! Commands of memory cgroups and of the processes in them.

use super::{Command, Known, Words};

/// Highest number of a process.
const MAX_PROCESSES: u64 = 4096;
/// Commands that processes are started with at a time: a pipe holds as many numbers.
pub const MAX_UNDER_WAY: usize = 16_000;

impl Words<'_> {
    /// The operands of `mount`.
    pub(super) fn mount(&mut self) -> Result<Command, String> {
        let mut of = |what| self.word(what).map(str::to_string);
        let (kind, device, folder) = (of("the type")?, of("the device")?, of("the folder")?);
        let options = match kind.as_str() {
            "cgroup2" => &["memory_recursiveprot", "memory_localevents", "none"][..],
            _ => &["ro"],
        };
        let options: Vec<(&str, &str)> = options.iter().map(|o| (*o, *o)).collect();
        let options = self.one_of("the option", &options)?.to_string();
        Ok(Command::Mount { kind, device, folder, options })
    }

    /// Commands that make groups and processes. `None`: it is none of them.
    pub(super) fn of_group(
        &mut self,
        name: &str,
        known: &mut Known,
    ) -> Result<Option<Command>, String> {
        Ok(Some(match name {
            "mkdir" => {
                let path = self.word("the path")?.to_string();
                if !path.starts_with("/cg/") {
                    return Err(format!("the path is `{path}`, write one below /cg"));
                }
                Command::Mkdir { path }
            }
            "process" => {
                let process = self.up_to("the process", 1, MAX_PROCESSES)? as usize;
                let group = self.word("the path of its group")?.to_string();
                let own = Known { tables: known.tables.clone(), ..Known::default() };
                if known.processes.insert(process, own).is_some() {
                    return Err(format!("there is a process {process} already"));
                }
                Command::Process { process, group }
            }
            "join" => Command::Join { group: self.word("the path of its group")?.to_string() },
            "wait" => {
                known.under_way = 0;
                Command::Wait
            }
            "on" | "start" => {
                let process = self.number("the process")?;
                let starts = name == "start";
                known.under_way += usize::from(starts);
                if !starts && known.under_way > 0 {
                    return Err("processes are under way, write `wait` before".into());
                }
                if known.under_way > MAX_UNDER_WAY {
                    return Err(format!("more than {MAX_UNDER_WAY} commands without `wait`"));
                }
                let mut own = known
                    .processes
                    .remove(&process)
                    .ok_or_else(|| format!("there is no process {process}"))?;
                let rest: Vec<&str> = self.rest.by_ref().collect();
                if let Some(
                    name @ ("snap" | "snapx" | "on" | "start" | "wait" | "join" | "process"
                    | "mount" | "spawn"),
                ) = rest.first().copied()
                {
                    return Err(format!("`{name}` is a command of the first process"));
                }
                let command = Words::of(&rest.join(" ")).command(&mut own)?;
                known.processes.insert(process, own);
                let command = Box::new(command);
                match starts {
                    true => Command::Start { process, command },
                    false => Command::On { process, command },
                }
            }
            "exec" => {
                let path = self.word("the path")?.to_string();
                if !path.starts_with('/') {
                    return Err(format!("the path is `{path}`, write one from / on"));
                }
                let words = std::iter::once(path).chain(self.rest.by_ref().map(str::to_string));
                Command::Exec { words: words.collect() }
            }
            "pin" => Command::Pin { cpu: self.up_to("the CPU", 0, 63)? as usize },
            _ => return Ok(None),
        }))
    }
}
