//! A first description of the work of a machine, from two samples of its own files.
//!
//! The files say how much memory programs and page cache hold, how much of it is dirty, and how often
//! pages were read back. They do not say who uses which page when. So the description is one zipf
//! law for anonymous memory and one for files, each with a pause between two accesses. Sizes come
//! from the files. The skew is assumed. The pause is set so that pages come back at the recorded rate,
//! which takes a run of the machine; all other rates are then a test of the description.

use std::fmt::Write as _;

use mmsim_base::error::{Error, ErrorKind};
use mmsim_core::base::vmstat::VmEvent;

use super::copies::{Copies, GROUPS, Text};
use super::held::{Held, Of};
use super::note::{Note, Weight};

/// Skew of use, which no file tells.
const THETA: f64 = 0.9;
/// Writes of 1,000 accesses where no file tells how much memory is dirty.
const WRITES: u64 = 300;
/// Pause where nothing came back, in nanoseconds.
const THINK: f64 = 10_000.0;
/// Accesses to each page of a task in one run, about, and to all its pages at most.
const ROUNDS: f64 = 4.0;
const MOST_ACCESSES: f64 = (1_u64 << 24) as f64;
/// Shortest run and longest pause, in nanoseconds.
const SHORTEST: f64 = 4e9;
const LONGEST_THINK: f64 = 1e9;
/// KiB of a process at most: all that its addresses reach.
const MOST_KIB: u64 = 1 << 37;
/// Processes that a comment names.
const NAMED: usize = 5;

/// A rate: its label, and the counters of `/proc/vmstat` and `memory.stat` that it is the sum of.
type Rate = (&'static str, &'static [VmEvent]);

/// The rates that are compared.
pub const RATES: [Rate; 8] = [
    ("swap-ins", &[VmEvent::PswpIn]),
    ("swap-outs", &[VmEvent::PswpOut]),
    ("major faults", &[VmEvent::PgMajFault]),
    ("refaults, anonymous", &[VmEvent::WorkingsetRefaultAnon]),
    ("refaults, file", &[VmEvent::WorkingsetRefaultFile]),
    ("pages scanned", &[VmEvent::PgScanKswapd, VmEvent::PgScanDirect]),
    ("pages reclaimed", &[VmEvent::PgStealKswapd, VmEvent::PgStealDirect]),
    ("direct reclaim stalls", VmEvent::ALLOC_STALLS),
];

/// The shares of time that are compared, by the words of `/proc/pressure/memory`.
pub const PRESSURE: [&str; 2] = ["some", "full"];

/// Rates of a machine from two samples.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Recorded {
    /// Seconds between them.
    pub seconds: f64,
    /// Events per second, in the order of [`RATES`]; none where a counter is missing.
    pub rates: [Option<f64>; RATES.len()],
    /// Per cent of the time in which tasks were stalled on memory, in the order of [`PRESSURE`].
    pub pressure: [Option<f64>; 2],
}

/// A task of the description.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Task {
    /// Its name.
    pub name: &'static str,
    /// Rates by which its pause is set, by their places in [`RATES`]: the first that was recorded.
    pub set_by: &'static [usize],
    /// Pages that it uses.
    pub pages: u64,
    /// Pause between two accesses, in nanoseconds.
    pub think: f64,
    /// Its keys besides size and times, each with a comment.
    keys: Vec<(String, String)>,
    /// Where its size comes from.
    from: String,
}

/// A description of the work of a machine.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Work {
    /// Its tasks.
    pub tasks: Vec<Task>,
    /// Rates from two samples, if there are two.
    pub recorded: Option<Recorded>,
    /// Values that no file tells, and why.
    pub notes: Vec<Note>,
    /// The limit of a group in bytes, if the work is that of a group with one.
    limit: Option<u64>,
    /// The group of the tasks.
    group: Option<String>,
    /// The largest processes, for a comment.
    largest: Vec<String>,
    /// Locked pages by kind, and where that is from.
    locked: (Vec<(Of, u64)>, &'static str),
}

/// Total stall of a line of PSI, in microseconds.
fn stalled(text: &Text, word: &str) -> Option<u64> {
    let line = text.text().lines().find(|l| l.split_whitespace().next() == Some(word))?;
    line.split_whitespace().find_map(|w| w.strip_prefix("total="))?.parse().ok()
}

/// Rates between two samples; `None` with a note where there are none.
fn recorded(copies: &Copies, group: bool, notes: &mut Vec<Note>) -> Option<Recorded> {
    let files = match group {
        true => ["group/memory.stat", "group/memory.pressure"],
        false => ["proc/vmstat", "proc/pressure/memory"],
    };
    let pair = |file: &str| Some((copies.get(file)?, copies.get(&format!("later/{file}"))?));
    let up = |text: &Text| -> Option<f64> { text.word().split_whitespace().next()?.parse().ok() };
    let seconds = pair("proc/uptime").and_then(|(a, b)| Some(up(b)? - up(a)?));
    let seconds = seconds.filter(|s| *s > 0.0);
    let (Some(seconds), Some((first, later))) = (seconds, pair(files[0])) else {
        let why = "no second sample: no rate is known, so none sets the pause of a task and none can be \
                   compared; copy the machine by `mmsim import-system --script --workload`";
        notes.push(Note::new(files[0], "later", why).weighing(Weight::Machine));
        return None;
    };
    let moved = |name: &str| -> Option<u64> {
        // A kernel counts modulo a word; a reset is no count.
        later.item(name)?.checked_sub(first.item(name)?)
    };
    let rate = |(_, counters): &Rate| {
        let found: Vec<u64> = counters.iter().filter_map(|c| moved(c.name())).collect();
        (!found.is_empty()).then(|| found.iter().map(|n| *n as f64).sum::<f64>() / seconds)
    };
    let pressure = match pair(files[1]) {
        Some((a, b)) => PRESSURE.map(|word| {
            let stalled = stalled(b, word)?.checked_sub(stalled(a, word)?)?;
            Some(stalled as f64 / 1e4 / seconds)
        }),
        None => {
            let why = "no two samples of it: pressure cannot be compared (a kernel without PSI has \
                       no such file)";
            notes.push(Note::new(files[1], "missing", why).weighing(Weight::Detail));
            [None; 2]
        }
    };
    Some(Recorded { seconds, rates: RATES.each_ref().map(rate), pressure })
}

/// The processes that were copied: the largest first, and writes of 1,000 accesses.
fn processes(copies: &Copies) -> (Vec<String>, Option<u64>) {
    let mut all: Vec<(u64, String)> = Vec::new();
    let (mut dirty, mut private) = (0, 0);
    for (path, text) in copies.under("proc").filter(|(path, _)| path.ends_with("/smaps_rollup")) {
        let id = path.trim_end_matches("/smaps_rollup");
        let kib = |name: &str| text.item(name).unwrap_or(0).min(MOST_KIB);
        let name = copies.get(&format!("proc/{id}/comm")).map_or(id, Text::word);
        let plain: String = name.chars().filter(|c| !c.is_control()).collect();
        let (rss, used) = (kib("Rss"), kib("Referenced"));
        let share = (used * 100).checked_div(rss).unwrap_or(0);
        let mib = |kib: u64| kib.div_ceil(1024);
        let mut line = format!(
            "{plain} {} MiB, {} MiB in swap, {share} % referenced",
            mib(rss),
            mib(kib("Swap"))
        );
        for (name, words) in [("Pss_Shmem", "of shared memory"), ("Locked", "locked")] {
            if kib(name) > 0 {
                line += &format!(", {} MiB {words}", mib(kib(name)));
            }
        }
        all.push((rss + kib("Swap"), line));
        dirty += kib("Private_Dirty");
        private += kib("Private_Dirty") + kib("Private_Clean");
    }
    all.sort_by(|a, b| b.cmp(a));
    let writes = (dirty * 1000).checked_div(private);
    (all.into_iter().map(|p| p.1).take(NAMED).collect(), writes)
}

/// Nanoseconds as scenarios write them, in a unit that leaves two digits or more.
fn time(ns: f64) -> String {
    match ns {
        1e7.. => format!("{:.0}ms", ns / 1e6),
        1e4.. => format!("{:.0}us", ns / 1e3),
        _ => format!("{ns:.0}ns"),
    }
}

/// Share of accesses by a zipf law over `pages` that miss where the `resident` hottest are in memory.
fn misses(resident: u64, pages: u64) -> f64 {
    let sum = |n: u64| (((n.max(1)) as f64).powf(1.0 - THETA) - 1.0) / (1.0 - THETA) + 0.5;
    (1.0 - sum(resident.min(pages)) / sum(pages)).max(1e-6)
}

impl Task {
    /// Sets the pause, with the two digits that it is known to at best.
    pub fn set_think(&mut self, think: f64) {
        let digits = 10_f64.powf(think.max(1.0).log10().floor() - 1.0).max(1.0);
        self.think = ((think / digits).round() * digits).min(LONGEST_THINK);
    }

    /// The rate that sets its pause, if one was recorded.
    pub fn set_from(&self, work: &Work) -> Option<&'static str> {
        let recorded = work.recorded.as_ref()?;
        let of = |&&i: &&usize| recorded.rates[i].is_some_and(|rate| rate > 0.0);
        self.set_by.iter().find(of).map(|&i| RATES[i].0)
    }

    fn text(&self, duration: f64, group: Option<&str>) -> String {
        let mut t = String::new();
        // Writing into a string cannot fail.
        let _ = writeln!(t, "\n[[task]]\nname = \"{}\"\nworkload = \"zipf\"", self.name);
        if let Some(group) = group {
            let _ = writeln!(t, "memcg = {}", toml::Value::from(group));
        }
        let _ = writeln!(t, "# {}\nmemory = \"{} pages\"", self.from, self.pages);
        for (comment, key) in &self.keys {
            if !comment.is_empty() {
                let _ = writeln!(t, "# {comment}");
            }
            if !key.is_empty() {
                let _ = writeln!(t, "{key}");
            }
        }
        let _ = writeln!(t, "think = \"{}\"\nduration = \"{}\"", time(self.think), time(duration));
        let _ = writeln!(t, "windows = {ROUNDS:.0}");
        t
    }
}

impl Work {
    /// Describes the work of a machine.
    ///
    /// # Errors
    /// No file says how much memory programs hold, or they hold none.
    pub fn of(copies: &Copies) -> Result<Work, Error> {
        let mut notes = Vec::new();
        let held = Held::of(copies, &mut notes)?;
        let group = copies.get("group/memory.stat").is_some();
        let recorded = recorded(copies, group, &mut notes);
        let (largest, writes) = processes(copies);
        if writes.is_none() {
            let why =
                format!("no process was copied: {WRITES} writes of 1,000 accesses are a guess");
            notes.push(Note::new("proc/*/smaps_rollup", "missing", why).weighing(Weight::Detail));
        }
        let limit = copies.get("group/memory.max").and_then(|t| t.word().parse().ok());
        // The tree has its limits; a copy without one has a group of the work alone.
        let path = copies.get("group/path").map(|t| t.word().to_string());
        let path = path.filter(|path| copies.get(&format!("{GROUPS}/{path}/memory.max")).is_some());
        let limit = if path.is_some() { None } else { limit };
        let group = path.or(limit.map(|_| "group".to_string()));
        let rate = |i: usize| recorded.as_ref().and_then(|r| r.rates[i]).filter(|r| *r > 0.0);
        let mut tasks = Vec::new();
        // Memory that goes to swap is used at one pace, so each kind has its part in the rates.
        let all = |kind: Of| held.pages(kind).resident + held.pages(kind).swapped;
        let swappable = all(Of::Programs) + all(Of::Shared);
        let mut task = |kind: Of, set_by: &'static [usize], pages: u64, more: Vec<_>| {
            if pages == 0 {
                return;
            }
            let mut keys = vec![(
                "Assumed: no file tells how the use of pages is skewed.".to_string(),
                format!("theta = {THETA}"),
            )];
            keys.extend(more);
            let (name, from, think) = (kind.name(), String::new(), THINK);
            let mut task = Task { name, set_by, pages, think, keys, from };
            let resident = held.pages(kind).resident;
            let part = if kind == Of::Files { 1.0 } else { pages as f64 / swappable as f64 };
            let paused = match set_by.iter().find_map(|&i| Some((i, rate(i)?))) {
                Some((i, rate)) => {
                    task.set_think(1e9 * misses(resident, pages) / (rate * part));
                    format!("Set so that the rate of {} is the recorded one.", RATES[i].0)
                }
                None => "A guess: no page came back, so no rate tells how fast it is.".to_string(),
            };
            task.keys.push((paused, String::new()));
            tasks.push(task);
        };
        let writes_from = match writes {
            Some(_) => "Private_Dirty of all private memory of the largest processes.",
            None => "A guess: no smaps_rollup was copied.",
        };
        let write = format!("write-permille = {}", writes.unwrap_or(WRITES).min(1000));
        let write = (writes_from.to_string(), write);
        task(Of::Programs, &[0, 3], all(Of::Programs), vec![write.clone()]);
        let region = |kind: &str| (String::new(), format!("region = \"{kind}\""));
        task(Of::Shared, &[0, 3], all(Of::Shared), vec![write, region("shmem")]);
        // Files that come back are larger than what the cache holds of them; by how much is not known.
        let back = rate(4).is_some();
        let files = all(Of::Files);
        let files = if back { files + files / 4 } else { files };
        task(Of::Files, &[4], files, vec![region("read")]);
        let source = |task: &mut Task| {
            let kind = Of::ALL.into_iter().find(|k| k.name() == task.name);
            task.from = kind.map(|kind| held.source_of(kind, back)).unwrap_or_default();
        };
        tasks.iter_mut().for_each(source);
        let locked = Of::ALL.map(|kind| (kind, held.pages(kind).locked));
        let locked: Vec<_> = locked.into_iter().filter(|l| l.1 > 0).collect();
        if tasks.is_empty() && locked.is_empty() {
            let title = format!("`{}`: programs and page cache hold no memory", copies.origin());
            let help = "copy the machine while it works";
            return Err(Error::new(ErrorKind::File, title).help(help));
        }
        let locked = (locked, held.locked_from);
        Ok(Work { tasks, recorded, notes, limit, group, largest, locked })
    }

    /// Duration of a run in which each task goes over its pages some times, in nanoseconds.
    fn duration(&self) -> f64 {
        // An access takes time of its own.
        let period = |t: &Task| t.think.max(100.0);
        let wanted = self.tasks.iter().map(|t| ROUNDS * t.pages as f64 * period(t));
        let most = self.tasks.iter().map(|t| MOST_ACCESSES * period(t));
        wanted.fold(SHORTEST, f64::max).min(most.fold(f64::INFINITY, f64::min)).max(1e6)
    }

    /// The tasks as a part of a scenario.
    pub fn text(&self) -> String {
        let mut t =
            String::from("\n# The work: a first guess by `mmsim import-system --workload`.\n");
        // Writing into a string cannot fail.
        if let Some(r) = &self.recorded {
            let _ = writeln!(t, "# Rates are those of two samples {:.1} s apart.", r.seconds);
        }
        t += "# Assumed: one program has all anonymous memory, another reads all files, a third has all\n\
              # shared memory; each uses its pages by one law all the time. A task of their own for\n\
              # phases, streams and files that are mapped makes it better.\n";
        for line in &self.largest {
            let _ = writeln!(t, "# Among the largest processes: {line}.");
        }
        if let Some(limit) = self.limit {
            let _ = writeln!(
                t,
                "\n[[machine.memcg]]\nname = \"group\"\nmax = \"{} pages\"",
                limit / 4096
            );
        }
        let duration = self.duration();
        let task = |task: &Task| task.text(duration, self.group.as_deref());
        t += &self.tasks.iter().map(task).collect::<String>();
        t + &self.locked_text(duration)
    }

    /// The task that locks memory, if any is locked.
    fn locked_text(&self, duration: f64) -> String {
        let (locked, from) = &self.locked;
        if locked.is_empty() {
            return String::new();
        }
        let (mut regions, mut steps) = (Vec::new(), Vec::new());
        for (kind, pages) in locked {
            let (name, region) = (kind.name(), kind.region());
            regions.push(format!("{name} = {{ memory = \"{pages} pages\", kind = \"{region}\" }}"));
            let map = "{ do = \"allocate\", populate = false, region";
            steps.push(format!(
                "    {map} = \"{name}\" }},\n    {{ do = \"mlock\", region = \"{name}\" }},\n"
            ));
        }
        let group = self.group.as_deref();
        let memcg = group.map(|g| format!("memcg = {}\n", toml::Value::from(g)));
        format!(
            "\n[[task]]\nname = \"locked\"\nworkload = \"phased\"\n{}# {from}. Assumed: locked memory is \
             anonymous and the rest\n# of it files, other unevictable memory is shared and the rest of it files.\nregions = {{ {} }}\n\
             steps = [\n{}    {{ do = \"sleep\", time = \"{}\" }},\n]\n",
            memcg.unwrap_or_default(),
            regions.join(", "),
            steps.concat(),
            time(duration)
        )
    }
}
