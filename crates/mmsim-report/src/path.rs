//! Figures as expressions: a sum of numbers of a report, or a sum over a sum, of a run or of a phase.
//!
//! Named figures ([`Figure`](super::derived::Figure)), what `[[expect]]` names and what a tuning
//! improves are all paths. A number that a report lacks is not zero: the path is undefined, and the
//! error says why.

use std::borrow::Cow;
use std::fmt;

use mmsim_base::nearest::nearest;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::SizeEvent;
use serde_json::Value as Json;

use super::document::{Ending, RunReport};
use super::scope::{Scope, Whole};

/// The figure that is 1 where a run did all of its work, and 0 where it ended otherwise.
pub const COMPLETED: &str = "completed";

/// An instrument that a run has from its start only if a plan wants it, as it costs time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instrument {
    /// The mean of resident memory over time.
    MeanResident,
}

/// One addend of a figure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Term {
    /// Counters, added up.
    Counters(&'static [VmEvent]),
    /// A counter of pages that come back from swap: zero where none did, although a policy may keep
    /// the counter of files only.
    OfSwap(VmEvent),
    /// A number by its path: of a report, such as a gauge or `damon[0].samples`, or of a task.
    Number(Cow<'static, str>),
    /// A gauge, which not every machine has.
    Gauge(&'static str),
    /// Time of reads from all devices, in seconds; runs have it.
    ReadingTime,
    /// Share of the time in which some thread was stalled on memory, 0 to 1.
    Stalled,
    /// 99th percentile of the time of a major fault, in microseconds.
    MajorFaultP99,
    /// Mean of resident memory over time, in MiB; runs have it.
    MeanResident,
    /// Records per second; accesses per second where the work has no records.
    Throughput,
    /// Accesses.
    Accesses,
    /// Pages that `read(2)` and `write(2)` fetched; runs have it.
    CacheMisses,
    /// Fetches again of the optimum MIN, where the scenario has `bounds = true`; runs have it.
    Optimum,
}

/// A figure of a run or of a phase of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    /// As files and options write it.
    pub name: Cow<'static, str>,
    /// Added up.
    pub over: Cow<'static, [Term]>,
    /// Added up, and divides it; empty: nothing does.
    pub under: Cow<'static, [Term]>,
    /// Multiplies it.
    pub times: f64,
    /// The phase; `None`: the whole run.
    pub phase: Option<String>,
}

impl Default for Path {
    fn default() -> Path {
        Path::sum("", &[])
    }
}

impl Term {
    /// The value, where it follows from numbers by their names alone.
    fn counted(&self, number: &dyn Fn(&str) -> Option<u64>) -> Option<u64> {
        match self {
            Term::Counters(all) => all.iter().try_fold(0, |sum, e| Some(sum + number(e.name())?)),
            Term::OfSwap(e) => {
                let none = || (number(VmEvent::PswpIn.name())? == 0).then_some(0);
                number(e.name()).or_else(none)
            }
            Term::Number(name) => number(name),
            Term::Gauge(name) => number(name),
            _ => None,
        }
    }

    /// # Errors
    /// The report does not have it.
    fn value(&self, scope: &Scope<'_>) -> Result<f64, Missing> {
        let counted = self.counted(&|name| {
            let own = || scope.sizes.get(name).or_else(|| scope.gauges.get(name));
            let known = scope.vmstat.get(name).or_else(own).copied();
            // Reports leave out sizes that no mapping may have.
            known.or_else(|| SizeEvent::named(name).map(|_| 0))
        });
        let other = match self {
            Term::ReadingTime => scope.reading_ns.map(|ns| ns as f64 / 1e9),
            Term::Stalled => Some(scope.pressure.some_share),
            Term::MajorFaultP99 => {
                let major = scope.latency.major_fault;
                (major.count > 0).then_some(major.p99_ns as f64 / 1e3)
            }
            Term::MeanResident => {
                scope.mean_resident_bytes.map(|bytes| bytes as f64 / (1 << 20) as f64)
            }
            Term::Throughput => {
                let work = if scope.records > 0 { scope.records } else { scope.accesses };
                (scope.sim_time_ns > 0).then_some(work as f64 / (scope.sim_time_ns as f64 / 1e9))
            }
            Term::Accesses => Some(scope.accesses as f64),
            Term::CacheMisses => scope.cache_misses.map(|n| n as f64),
            Term::Optimum => scope.optimum.map(|n| n as f64),
            Term::Number(path) if counted.is_none() => return number(path, scope),
            Term::Counters(_) | Term::OfSwap(_) | Term::Number(_) | Term::Gauge(_) => {
                counted.map(|n| n as f64)
            }
        };
        other.ok_or_else(|| self.missing(scope))
    }

    fn missing(&self, scope: &Scope<'_>) -> Missing {
        if let Term::Gauge(name) = self
            && let Some(left_out) = Missing::part(name)
        {
            return left_out;
        }
        let lacks = |e: &&VmEvent| scope.vmstat.count(**e).is_none();
        let what = match self {
            Term::Counters(all) => all.iter().find(lacks),
            Term::OfSwap(e) => Some(e),
            _ => None,
        };
        Missing {
            what: match what {
                Some(e) => format!("the policy does not count {}", e.name()),
                None => "it is undefined".into(),
            },
            instead: "write another figure".into(),
        }
    }
}

impl Path {
    /// The sum of some numbers.
    pub const fn sum(name: &'static str, over: &'static [Term]) -> Path {
        Path::ratio(name, over, &[], 1.0)
    }

    /// A sum over a sum, times a number.
    pub const fn ratio(
        name: &'static str,
        over: &'static [Term],
        under: &'static [Term],
        times: f64,
    ) -> Path {
        Path {
            name: Cow::Borrowed(name),
            over: Cow::Borrowed(over),
            under: Cow::Borrowed(under),
            times,
            phase: None,
        }
    }

    /// Numbers of a report that are joined by `+`.
    pub fn read(text: &str) -> Path {
        // A counter of a size is a key of its part.
        let short = |name: &str| name.strip_prefix("transparent_hugepage.").map(str::to_string);
        let of_size = |name: &String| SizeEvent::named(name).is_some();
        let known = |name: &str| short(name).filter(of_size).unwrap_or(name.to_string());
        let term = |name: &str| match VmEvent::ALL.iter().find(|e| e.name() == name) {
            Some(e) => Term::Counters(std::slice::from_ref(e)),
            None => Term::Number(known(name).into()),
        };
        let over: Vec<Term> = text.split('+').map(|name| term(name.trim())).collect();
        let over = if text.is_empty() { Vec::new() } else { over };
        Path { name: text.to_string().into(), over: over.into(), ..Path::default() }
    }

    /// The same of a phase; `None`: of the whole run.
    #[must_use]
    pub fn in_phase(self, phase: Option<String>) -> Path {
        Path { phase, ..self }
    }

    /// True if it names nothing.
    pub fn is_empty(&self) -> bool {
        self.over.is_empty()
    }

    /// The counters that it is the sum of; `None`: it is no sum of counters.
    pub fn counters(&self) -> Option<Vec<VmEvent>> {
        let of = |t: &Term| match t {
            Term::Counters(all) => Some(all.to_vec()),
            Term::OfSwap(e) => Some(vec![*e]),
            _ => None,
        };
        let all: Option<Vec<Vec<VmEvent>>> = self.over.iter().map(of).collect();
        all.filter(|_| self.under.is_empty()).map(|all| all.concat())
    }

    /// True if it grows with the work, so that it can be given per 1,000 records.
    pub fn grows_with_work(&self) -> bool {
        let grows = |t: &Term| {
            use Term::{CacheMisses, Counters, Gauge, Number, OfSwap, Optimum, ReadingTime};
            matches!(
                t,
                Counters(_)
                    | OfSwap(_)
                    | Number(_)
                    | Gauge(_)
                    | ReadingTime
                    | CacheMisses
                    | Optimum
            )
        };
        self.under.is_empty() && self.over.iter().all(grows)
    }

    /// True if it counts something.
    pub fn is_count(&self) -> bool {
        self.grows_with_work() && !self.over.contains(&Term::ReadingTime)
    }

    /// True if it is undefined where nothing happened.
    pub fn needs_events(&self) -> bool {
        let needs = |t: &Term| matches!(t, Term::MajorFaultP99 | Term::Throughput);
        !self.under.is_empty() || self.over.iter().any(needs)
    }

    /// True if it is there only where a run has this instrument.
    pub fn needs(&self, instrument: Instrument) -> bool {
        let Instrument::MeanResident = instrument;
        self.over.iter().any(|t| match t {
            Term::Number(path) => path.contains("mean_resident"),
            t => *t == Term::MeanResident,
        })
    }

    /// Its value in a part of a run whose numbers are known by name alone, such as a task.
    pub fn counted(&self, number: impl Fn(&str) -> Option<u64>) -> Option<f64> {
        let sum = |terms: &[Term]| {
            terms.iter().try_fold(0, |sum: u64, t| Some(sum + t.counted(&number)?))
        };
        let over = sum(&self.over)? as f64 * self.times;
        match self.under.is_empty() {
            true => Some(over),
            false => Some(sum(&self.under)?).filter(|n| *n > 0).map(|n| over / n as f64),
        }
    }

    /// Its value in a run or a phase.
    ///
    /// # Errors
    /// It lacks a number, or nothing is divided by nothing.
    pub fn of(&self, scope: &Scope<'_>) -> Result<f64, Missing> {
        let sum = |terms: &[Term]| terms.iter().try_fold(0.0, |sum, t| Ok(sum + t.value(scope)?));
        let over: f64 = sum(&self.over)?;
        if self.under.is_empty() {
            return Ok(over * self.times);
        }
        match sum(&self.under)? {
            0.0 => {
                let what = format!("{} is undefined", self.name);
                Err(Missing { what, instead: "write another figure".into() })
            }
            under => Ok(over / under * self.times),
        }
    }

    /// Its value in a run, or in its phase of the run.
    ///
    /// # Errors
    /// The run has no such phase or number.
    pub fn of_run(&self, run: &RunReport) -> Result<f64, Missing> {
        self.of(&self.scope(run)?)
    }

    /// The run, or its phase of the run.
    ///
    /// # Errors
    /// The run has no such phase.
    pub fn scope<'r>(&self, run: &'r RunReport) -> Result<Scope<'r>, Missing> {
        let Some(name) = &self.phase else { return Ok(run.into()) };
        let known = || run.phases.iter().map(|p| p.name.as_str()).collect::<Vec<_>>();
        let phase = run.phases.iter().find(|p| p.name == *name);
        let phase = phase.ok_or_else(|| Missing::among("phase", name, "", &known()))?;
        Ok(Scope { outcome: Some(run.outcome), ..phase.into() })
    }

    /// Checks that a run has the phase and the numbers.
    ///
    /// # Errors
    /// The key that asks for what is not there, and what is.
    pub fn can_be_had(&self, run: &RunReport) -> Result<(), (&'static str, Missing)> {
        let scope = self.scope(run).map_err(|missing| ("phase", missing))?;
        self.of(&scope).map_err(|missing| ("figure", missing)).map(drop)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.phase.as_ref().map_or(Ok(()), |p| write!(f, ", in {p}"))
    }
}

/// A number of a report by its path.
fn number(path: &str, scope: &Scope<'_>) -> Result<f64, Missing> {
    if let (COMPLETED, Some(outcome)) = (path, scope.outcome) {
        return Ok(f64::from(u8::from(outcome == Ending::Completed)));
    }
    let json = match scope.whole {
        Whole::Run(run) => serde_json::to_value(run),
        Whole::Phase(phase) => serde_json::to_value(phase),
    };
    let instead = || "write another figure".into();
    let json = json.map_err(|e| Missing { what: e.to_string(), instead: instead() })?;
    number_at(&json, path, path)
}

/// Requested part of a report that is missing.
#[derive(Debug)]
pub struct Missing {
    /// That it is not there.
    pub what: String,
    /// Parts that exist, or the setting that adds it.
    pub instead: String,
}

impl Missing {
    /// A name behind `before` that is none of those there.
    fn among(what: &str, name: &str, before: &str, known: &[&str]) -> Missing {
        // A name may have points itself, or what is behind a point is of another list.
        let (first, rest) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
        let whole = nearest(name, known).map(|n| (n, ""));
        let near = whole.or_else(|| nearest(first, known).map(|n| (n, rest)));
        let near =
            near.map_or(String::new(), |(n, rest)| format!(", did you mean `{before}{n}{rest}`?"));
        let instead = match (known, before.trim_end_matches('.')) {
            ([], "") => "there is none".to_string(),
            ([], of) => format!("{of} is empty"),
            (_, "") => format!("there are {}", known.join(", ")),
            (_, of) => format!("{of} has {}", known.join(", ")),
        };
        Missing { what: format!("there is no {what} `{before}{name}`{near}"), instead }
    }

    /// A part of reports that this one leaves out.
    fn part(figure: &str) -> Option<Missing> {
        let instead = match figure.split(['.', '[']).next()? {
            "damon" | "mean_resident_bytes" => "there is no monitor: write `[[damon]]`",
            "daemons" => "there is no daemon: write `[[daemon]]`",
            "cache_ext" => "no group has a policy of its own: write `cache-ext`",
            "bounds" => "it is computed where a scenario says `bounds = true`",
            "nr_lazyfree" => {
                "lazily freed pages have no list of their own: write `lazyfree = \"own-list-2015b\"`"
            }
            "sim_easy_pool" => "no pool is kept: write `machine.vm.easy_pool_low`",
            "sim_host_held" => "the machine has no host: write `machine.host = {}`",
            "compaction" => "nothing compacts: write `compaction = { preset = \"..\" }`",
            "aims" => "no task has an aim",
            "replayed" => "no task replays instants of a record",
            _ => return None,
        };
        Some(Missing { what: format!("there is no `{figure}`"), instead: instead.into() })
    }
}

/// The number at the rest of a figure's path, such as `damon[0].samples`; keys may have points
/// themselves. Where there is none, what there is instead.
fn number_at(json: &Json, figure: &str, path: &str) -> Result<f64, Missing> {
    if let (true, Some(number)) = (path.is_empty(), json.as_f64()) {
        return Ok(number);
    }
    let below = path.strip_prefix('.').unwrap_or(path);
    let found = match json {
        Json::Object(map) => map.iter().find_map(|(key, value)| {
            let rest = below.strip_prefix(key.as_str())?;
            (rest.is_empty() || rest.starts_with(['.', '['])).then_some((value, rest))
        }),
        Json::Array(list) => below.strip_prefix('[').and_then(|p| {
            let (index, rest) = p.split_once(']')?;
            Some((list.get(index.parse::<usize>().ok()?)?, rest))
        }),
        _ => None,
    };
    if let Some((value, rest)) = found {
        return number_at(value, figure, rest);
    }
    let before = figure.strip_suffix(below).unwrap_or(figure);
    let of = before.trim_end_matches('.');
    let entries = |n| match n {
        1 => format!("{of} has one entry, `{of}[0]`"),
        n => format!("{of} has {n} entries, from `{of}[0]` on"),
    };
    let (none, no_number) = (format!("there is no `{figure}`"), format!("`{figure}` is no number"));
    let (what, instead) = match (json, below.is_empty()) {
        (Json::Null, _) => {
            (format!("the policy does not count {of}"), "write another figure".to_string())
        }
        (Json::Object(map), named) => {
            let keys: Vec<&str> = map.keys().map(String::as_str).collect();
            if named {
                (no_number, format!("it has {}", keys.join(", ")))
            } else {
                let left_out = before.is_empty().then(|| Missing::part(figure)).flatten();
                return Err(
                    left_out.unwrap_or_else(|| Missing::among("figure", below, before, &keys))
                );
            }
        }
        (Json::Array(list), named) => (if named { no_number } else { none }, entries(list.len())),
        (_, true) => (no_number, "write another figure".to_string()),
        (_, false) => (none, format!("`{of}` has no parts")),
    };
    Err(Missing { what, instead })
}
