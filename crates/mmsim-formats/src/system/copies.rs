//! Copies of a machine's files: in a folder that mirrors `/`, or one after the other in one text, as
//! `tail -n +1` prints them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::note::{Note, Weight};
use mmsim_base::error::{Error, ErrorKind};
use mmsim_base::files;

/// Files that are read, `*` for any name, in the order in which a shell copies them.
pub const FILES: [&str; 18] = [
    "proc/version",
    "proc/cmdline",
    "proc/mounts",
    "proc/zoneinfo",
    "proc/buddyinfo",
    "proc/pagetypeinfo",
    "proc/vmstat",
    "proc/meminfo",
    "proc/swaps",
    "proc/sys/vm/*",
    "sys/devices/system/cpu/online",
    "sys/kernel/mm/lru_gen/*",
    "sys/kernel/mm/transparent_hugepage/*",
    "sys/block/*/queue/*",
    "sys/block/*/comp_algorithm",
    "sys/block/*/mm_stat",
    "sys/module/zswap/parameters/*",
    "sys/kernel/debug/zswap/*",
];

/// Folder of the tree of memory cgroups, version 2.
pub(super) const GROUPS: &str = "sys/fs/cgroup";

/// The file of a copy that has the numbers of groups.
pub(super) const ORDER: &str = "numbers";

/// Files of a group that are read.
const OF_GROUP: [&str; 14] = [
    "memory.min",
    "memory.low",
    "memory.high",
    "memory.max",
    "memory.swap.high",
    "memory.swap.max",
    "memory.zswap.max",
    "memory.zswap.writeback",
    "memory.oom.group",
    "memory.current",
    "memory.swap.current",
    "memory.events",
    "memory.stat",
    "memory.pressure",
];

/// Levels of groups at most, against folders that link to themselves.
const MOST_LEVELS: usize = 64;

/// Files that describe the work of a machine, which `--workload` reads. Those below `later` are of the
/// second sample, those below `group` of a memory cgroup.
const OF_WORK: [&str; 9] = [
    "proc/uptime",
    "proc/pressure/memory",
    "proc/*/comm",
    "proc/*/smaps_rollup",
    "group/*",
    "later/proc/uptime",
    "later/proc/vmstat",
    "later/proc/pressure/memory",
    "later/group/*",
];

/// Samples that a script takes of the work of a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Sampled {
    /// Seconds from the first sample to the second.
    pub seconds: u32,
    /// The path of a memory cgroup below /sys/fs/cgroup.
    pub group: Option<String>,
}

impl Sampled {
    /// Two samples, `seconds` apart; of a memory cgroup too, if one is named.
    pub fn new(seconds: u32, group: Option<String>) -> Sampled {
        Sampled { seconds, group }
    }

    /// The rest of the script.
    fn script(&self) -> String {
        let group = match &self.group {
            Some(path) => {
                let path = path.trim_matches('/').replace('\'', "'\\''");
                format!(
                    "echo '==> /group/path <=='; echo '{path}'
copy group '/sys/fs/cgroup/{path}' memory.stat memory.pressure memory.max \
                     memory.swap.current\n"
                )
            }
            None => String::new(),
        };
        let copied = group.split_once('\n').map_or("", |(_, copied)| copied);
        let later = copied.replace("copy group ", "copy later/group ");
        format!(
            "copy() {{
    to=$1 from=$2; shift 2
    for f; do echo \"==> /$to/$f <==\"; cat \"$from/$f\"; done
}}
copy proc /proc uptime pressure/memory
{group}for p in $(grep -H VmRSS /proc/[0-9]*/status | sort -rnk2 | head -n {LARGEST}); do
    p=${{p%%/status*}}; [ -d \"$p\" ] && copy \"${{p#/}}\" \"$p\" comm smaps_rollup
done
sleep {}
copy later/proc /proc uptime vmstat pressure/memory
{later}",
            self.seconds
        )
    }
}

/// Processes that are copied.
const LARGEST: u32 = 16;

/// The command that copies them, for a shell on the machine, and two samples of its work, if wanted.
pub fn script(work: Option<&Sampled>) -> String {
    let mut lines = vec![String::from("tail -n +1")];
    for file in FILES {
        if lines.last().is_some_and(|l| l.len() + file.len() + 4 > 90) {
            lines.last_mut().expect("there is one").push_str(" \\");
            lines.push("   ".into());
        }
        lines.last_mut().expect("there is one").push_str(&format!(" /{file}"));
    }
    lines.join("\n") + "\n" + &groups_script() + &work.map_or(String::new(), Sampled::script)
}

/// The part of the script that copies groups: their numbers, then their files.
fn groups_script() -> String {
    let names = OF_GROUP.map(|f| f.trim_start_matches("memory.")).join(" ");
    let mut lines = vec![String::from("for f in")];
    for name in names.split(' ') {
        if lines.last().is_some_and(|l| l.len() + name.len() + 4 > 90) {
            lines.last_mut().expect("there is one").push_str(" \\");
            lines.push("   ".into());
        }
        lines.last_mut().expect("there is one").push_str(&format!(" {name}"));
    }
    format!(
        "echo '==> /{GROUPS}/{ORDER} <=='
find /{GROUPS} -mindepth 1 -type d -exec ls -1di {{}} +
{}; do
    find /{GROUPS} -mindepth 2 -name \"memory.$f\" -exec tail -vn +1 {{}} +
done
",
        lines.join("\n")
    )
}

/// A copy.
#[derive(Clone, Debug)]
pub struct Text {
    /// The file that it came from, for messages.
    origin: String,
    /// All of that file.
    whole: Arc<str>,
    /// Part of it that is the copy.
    at: Range<usize>,
}

impl Text {
    /// Its text.
    pub fn text(&self) -> &str {
        &self.whole[self.at.clone()]
    }

    /// The text without white space around it.
    pub fn word(&self) -> &str {
        self.text().trim()
    }

    /// A number of a file with a word and a number in each line.
    pub(super) fn item(&self, name: &str) -> Option<u64> {
        let line = |l: &str| {
            let (word, value) = l.split_once(char::is_whitespace)?;
            (word.trim_end_matches(':') == name)
                .then(|| value.split_whitespace().next()?.parse().ok())?
        };
        self.text().lines().find_map(line)
    }

    /// An error that points at a line of it, from 1.
    pub fn bad(&self, line: usize, found: impl AsRef<str>, write: impl Into<String>) -> Error {
        let text = self.text();
        let mut at = self.at.start;
        let mut here = "";
        for (i, l) in text.split_inclusive('\n').enumerate() {
            here = l.trim_end_matches(['\n', '\r']);
            if i + 1 == line {
                break;
            }
            at += l.len();
        }
        let at = at.min(self.at.end);
        let blank = here.len() - here.trim_start().len();
        let title = format!("`{}`: {}", self.origin, found.as_ref());
        Error::new(ErrorKind::File, title).at(
            &self.origin,
            &self.whole,
            at + blank..at + here.len(),
            write,
        )
    }
}

/// The copies of a machine's files, by their paths without the first `/`.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    files: BTreeMap<String, Text>,
    /// Empty ones, which say nothing.
    empty: Vec<String>,
    origin: String,
}

impl Copies {
    /// Reads a folder or a file.
    ///
    /// # Errors
    /// There is nothing of the kind, it cannot be read, or it is no text.
    pub fn read(path: &Path) -> Result<Copies, Error> {
        let origin = path.display().to_string();
        if !path.is_dir() {
            let text = files::read_text(path, "copies of a machine's files, or a folder of them")?;
            return Copies::of_text(&text, &origin);
        }
        let mut copies = Copies { origin: origin.clone(), ..Copies::default() };
        for pattern in FILES.iter().chain(&OF_WORK) {
            let parts: Vec<&str> = pattern.split('/').collect();
            let mut found = Vec::new();
            matching(path, &parts, String::new(), &mut found)?;
            for name in found {
                let at = path.join(&name);
                let text = files::read_text(&at, "a copy of a file")?;
                copies.add(name, at.display().to_string(), text.as_str().into(), 0..text.len());
            }
        }
        copies.read_groups(path, GROUPS, 0)?;
        if copies.files.is_empty() && copies.empty.is_empty() {
            let title = format!("`{origin}` has no copy of a machine's files");
            let help =
                "it has to mirror `/`, as in proc/zoneinfo and sys/kernel/mm/lru_gen/enabled";
            return Err(Error::new(ErrorKind::File, title).help(help));
        }
        Ok(copies)
    }

    /// Takes copies in one text, each under a line `==> /proc/zoneinfo <==`.
    ///
    /// # Errors
    /// It begins otherwise, or has a file twice.
    pub fn of_text(text: &str, origin: &str) -> Result<Copies, Error> {
        let whole: Arc<str> = text.into();
        let mut copies = Copies { origin: origin.into(), ..Copies::default() };
        let mut open: Option<(String, usize)> = None;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let begin = at;
            at += line.len();
            let name = line.trim_end().strip_prefix("==> ").and_then(|l| l.strip_suffix(" <=="));
            if let Some(name) = name {
                let name = name.trim_start_matches('/').to_string();
                if let Some((last, from)) = open.replace((name.clone(), at)) {
                    // `tail` puts an empty line between two files.
                    let end = begin - usize::from(text[from..begin].ends_with("\n"));
                    copies.add(last, origin.into(), Arc::clone(&whole), from..end.max(from));
                }
                if copies.files.contains_key(&name) {
                    let title = format!("`{origin}` has /{name} twice");
                    return Err(Error::new(ErrorKind::File, title).at(
                        origin,
                        &whole,
                        begin..begin + line.trim_end().len(),
                        "leave one of them out",
                    ));
                }
            } else if open.is_none() && !line.trim().is_empty() {
                let title = format!("`{origin}` is no text of `tail -n +1 FILE..`");
                return Err(Error::new(ErrorKind::File, title)
                    .at(
                        origin,
                        &whole,
                        begin..begin + line.trim_end().len(),
                        "write `==> /proc/zoneinfo <==`",
                    )
                    .help("a copy of /proc/zoneinfo alone goes into a folder as proc/zoneinfo"));
            }
        }
        if let Some((last, from)) = open {
            copies.add(last, origin.into(), Arc::clone(&whole), from..text.len());
        }
        if copies.files.is_empty() && copies.empty.is_empty() {
            let title = format!("`{origin}` is empty");
            return Err(Error::new(ErrorKind::File, title)
                .help("write what `mmsim import-system --script` prints"));
        }
        Ok(copies)
    }

    /// Reads the files of the group in `folder` below `root`, and those of the groups below it.
    fn read_groups(&mut self, root: &Path, folder: &str, level: usize) -> Result<(), Error> {
        let at = root.join(folder);
        let entries = match at.read_dir() {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(files::unreadable(&at, &e)),
        };
        let mut names: Vec<(String, bool)> = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            let is_dir = entry.file_type().is_ok_and(|t| t.is_dir());
            names.extend(entry.file_name().into_string().ok().map(|name| (name, is_dir)));
        }
        names.sort_unstable();
        for (name, is_dir) in names {
            let path = format!("{folder}/{name}");
            if is_dir && level < MOST_LEVELS {
                self.read_groups(root, &path, level + 1)?;
            } else if !is_dir && of_groups(&path) {
                let at = root.join(&path);
                let text = files::read_text(&at, "a file of a group")?;
                self.add(path, at.display().to_string(), text.as_str().into(), 0..text.len());
            }
        }
        Ok(())
    }

    fn add(&mut self, name: String, origin: String, whole: Arc<str>, at: Range<usize>) {
        if whole[at.clone()].trim().is_empty() {
            self.empty.push(name);
        } else {
            self.files.insert(name, Text { origin, whole, at });
        }
    }

    /// A copy.
    pub fn get(&self, name: &str) -> Option<&Text> {
        self.files.get(name)
    }

    /// The name of what was read, for messages.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Names and copies in a folder, in order.
    pub fn under<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a Text)> {
        self.files.iter().filter_map(move |(name, copy)| {
            Some((name.strip_prefix(folder)?.strip_prefix('/')?, copy))
        })
    }

    /// True if a file was copied, even an empty one.
    pub fn is_empty(&self, name: &str) -> bool {
        self.empty.iter().any(|e| e == name)
    }

    /// A remark for each file of the list that is not there, but for those of a pattern.
    pub fn missing(&self, why: impl Fn(&str) -> Option<(Weight, &'static str)>) -> Vec<Note> {
        let mut notes = Vec::new();
        for pattern in FILES {
            let has = match pattern.split_once("/*") {
                Some((folder, _)) => self.under(folder).next().is_some(),
                None => self.files.contains_key(pattern),
            };
            if has {
                continue;
            }
            if let Some((weight, why)) = why(pattern) {
                let state = if self.is_empty(pattern) {
                    "empty (`cat` copies it, `tar` and `cp -a` see a size of 0)"
                } else {
                    "missing"
                };
                notes.push(Note::new(pattern, state, why).weighing(weight));
            }
        }
        // Files that are not read are no mistake in a folder, where they are not looked at either.
        let known = |name: &str| {
            of_groups(name) || FILES.iter().chain(&OF_WORK).any(|pattern| fits(pattern, name))
        };
        for name in self.files.keys().filter(|name| !known(name)) {
            notes.push(Note::new(name, "the file", "not one that is read"));
        }
        notes
    }
}

/// True if a path is that of a file of groups that is read.
fn of_groups(name: &str) -> bool {
    let file = name.strip_prefix(GROUPS).and_then(|n| n.strip_prefix('/'));
    file.is_some_and(|file| match file.rsplit_once('/') {
        None => file == ORDER,
        Some((_, file)) => OF_GROUP.contains(&file),
    })
}

/// True if a path fits a pattern.
fn fits(pattern: &str, name: &str) -> bool {
    let (mut p, mut n) = (pattern.split('/'), name.split('/'));
    loop {
        match (p.next(), n.next()) {
            (None, None) => return true,
            (Some(p), Some(n)) if p == "*" || p == n => {}
            _ => return false,
        }
    }
}

/// The files under `folder` that fit the parts of a pattern, in order.
fn matching(
    folder: &Path,
    parts: &[&str],
    before: String,
    found: &mut Vec<String>,
) -> Result<(), Error> {
    let Some((part, rest)) = parts.split_first() else { return Ok(()) };
    let mut names: Vec<String> = Vec::new();
    if *part == "*" {
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(files::unreadable(folder, &e)),
        };
        names.extend(entries.filter_map(|e| e.ok()?.file_name().into_string().ok()));
        names.sort_unstable();
    } else {
        names.push((*part).to_string());
    }
    for name in names {
        let (at, path) = (folder.join(&name), format!("{before}{name}"));
        if rest.is_empty() {
            if at.is_file() {
                found.push(path);
            }
        } else if at.is_dir() {
            matching(&at, rest, path + "/", found)?;
        }
    }
    Ok(())
}
