//! Every mistake in a scenario file has its message, with the place and what to write instead.
//!
//! The cases lie in `errors/*.txt`, by the part of the scenario that the mistake is in:
//!
//! ```text
//! === NAME
//! --set KEY=VALUE
//! the scenario, or what differs from one that is right
//! +++ FILE
//! a file beside it
//!
//! error: the whole message
//! ```
//!
//! A scenario gets a machine and a task where it has none, unless `whole` stands behind the name.
//! `MMSIM_BLESS=1` rewrites messages, and `beyond the schema`: mistakes that no schema of single
//! values can see, such as keys that contradict each other.

// Files that are no text, or not there.
mod files;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::harness::{Folder, repository};
use crate::validator::Validator;
use mmsim::machines::{self, Catalogue};
use mmsim::{Error, Scenario};

const MACHINE: &str = "[machine]\nmemory = \"64MiB\"\n";
const TASK: &str = "[[task]]\nworkload = \"uniform\"\nmemory = \"1MiB\"\naccesses = 10\n";

struct Case {
    name: String,
    whole: bool,
    /// As the file has it, options and other files included.
    body: String,
    sets: Vec<(String, String)>,
    scenario: String,
    files: Vec<(String, String)>,
}

impl Case {
    fn read(text: &str) -> Case {
        let (head, rest) = text.split_once('\n').expect("a line with the name");
        let rest = format!("\n{rest}");
        let (body, _) = rest.split_once("\n\nerror: ").unwrap_or_else(|| panic!("{head}: message"));
        let body = body.strip_prefix('\n').unwrap_or_default();
        let mut pieces = body.split("+++ ");
        let main = pieces.next().unwrap_or_default();
        let (options, lines): (Vec<&str>, Vec<&str>) =
            main.lines().partition(|l| l.starts_with("--set "));
        let set = |option: &str| {
            let (key, value) = option["--set ".len()..].split_once('=').expect("KEY=VALUE");
            (key.to_string(), value.to_string())
        };
        let mut scenario: String = lines.iter().map(|l| format!("{l}\n")).collect();
        let has = |name: &str| {
            let forms = [format!("[{name}"), format!("[[{name}"), format!("{name} = [")];
            lines.iter().any(|l| forms.iter().any(|f| l.starts_with(f)))
        };
        let whole = head.contains(", whole");
        if !whole && !has("machine") {
            scenario.insert_str(0, MACHINE);
        }
        if !whole && !has("task") {
            scenario.push_str(TASK);
        }
        let file = |piece: &str| {
            let (name, text) = piece.split_once('\n').expect("a name and a file");
            (name.to_string(), format!("{}\n", text.trim_end()))
        };
        Case {
            name: head.split(',').next().unwrap_or_default().to_string(),
            whole,
            body: body.to_string(),
            sets: options.into_iter().map(set).collect(),
            scenario,
            files: pieces.map(file).collect(),
        }
    }

    /// The error, and its message without the folder where the test has put it.
    fn error(&self) -> (Error, String) {
        let folder = Folder::new();
        for (name, text) in &self.files {
            folder.write(name, text);
        }
        let path = folder.path("x.toml");
        let origin = if self.files.is_empty() { Path::new("x.toml") } else { &path };
        let read = Scenario::from_str(&self.scenario, &origin.display().to_string());
        let specs = read.and_then(|s| machines::specs(&s.with_sets(&self.sets)?));
        match specs {
            Ok(runs) => {
                panic!("{}: accepted as {} runs:\n{}", self.name, runs.len(), self.scenario)
            }
            Err(e) => {
                let message = e.to_string().replace(&folder.path("").display().to_string(), "");
                (e, message)
            }
        }
    }

    /// As it should stand in its file. A list of known words is whole where it comes first.
    fn shown(&self, schema: &Validator, seen: &mut BTreeSet<String>) -> String {
        let (e, message) = self.error();
        assert_eq!(e.kind().exit_code(), 2, "{}", self.name);
        assert!(e.position().is_some(), "{} has no place", self.name);
        let unseen = schema.judge(&self.scenario).is_some_and(|j| j.is_ok());
        let mut text = format!("=== {}", self.name);
        text += if self.whole { ", whole" } else { "" };
        text += if self.sets.is_empty() && unseen { ", beyond the schema" } else { "" };
        write!(text, "\n{}\n\n", self.body).expect("writing to a string");
        for line in message.lines() {
            let list = line.split_once("help: known: ").map(|(_, list)| list);
            match list {
                Some(list) if list.len() > 100 && !seen.insert(list.to_string()) => {
                    let first = line.split_inclusive(", ").next().unwrap_or_default();
                    writeln!(text, "{first}..")
                }
                _ => writeln!(text, "{line}"),
            }
            .expect("writing to a string");
        }
        text
    }
}

fn texts() -> Vec<PathBuf> {
    let folder = repository("tests/scenario/errors");
    let files = std::fs::read_dir(folder).expect("the folder of cases");
    let files = files.map(|f| f.expect("an entry").path());
    files.filter(|f| f.extension().is_some_and(|e| e == "txt")).collect()
}

#[test]
fn messages_are_exact() {
    let schema = Validator::new(&Catalogue);
    let mut seen = 0;
    for path in texts() {
        let text = std::fs::read_to_string(&path).expect("a file of cases");
        let old: Vec<&str> = text.split("=== ").skip(1).collect();
        let mut lists = BTreeSet::new();
        let new: Vec<String> =
            old.iter().map(|c| Case::read(c).shown(&schema, &mut lists)).collect();
        seen += new.len();
        if std::env::var_os("MMSIM_BLESS").is_some() {
            std::fs::write(&path, new.join("\n")).expect("rewriting the cases");
            continue;
        }
        for (old, new) in old.iter().zip(&new) {
            assert_eq!(format!("=== {}", old.trim_end()), new.trim_end(), "{}", path.display());
        }
    }
    assert!(seen > 250, "only {seen} cases");
}
