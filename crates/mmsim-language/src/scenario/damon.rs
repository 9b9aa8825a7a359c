//! `[[damon]]`: monitors of accesses, and the schemes that act on what they find.

use mmsim_core::base::settings::{Form, KnobError, Row, Settings as _};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::Kernel;
use mmsim_damon::MonitoringAttrs;
use mmsim_damon::Pause;
use mmsim_damon::damos::scheme::Scheme;
use mmsim_damon::modules::{LruSort, Reclaim};
use mmsim_damon::ops::OpsId;
use mmsim_damon::watch::{BYTES_KEPT, MOST_KEPT};

use super::fields::{each, within};
use super::policy::{self, PlacedPolicy, PolicySpec};
use super::raw::{Node, Sources, Value};
use super::read::Reader;
use super::tables::{
    self, DAMON, DAMON_INTERVALS_GOAL, DAMON_PAUSE, DAMON_REGION, DAMOS, OPS, SchemeCx, micros,
};
use super::units::{PAGE_SIZE, yes_or_no};
use super::workload::TaskSpec;
use mmsim_base::error::Error;
use mmsim_base::nearest::nearest;

/// Monitors that have a number.
const MOST_MONITORS: usize = 256;

/// A monitor as the scenario asks for it.
#[derive(Clone, PartialEq, Debug)]
pub struct DamonSpec {
    /// Name in reports.
    pub name: String,
    /// Which DAMON.
    pub rules: PolicySpec,
    /// Kind of its context.
    pub what: DamonContext,
    /// When it is switched on.
    pub start: SimDuration,
    /// When it is paused.
    pub pauses: Vec<Pause>,
    /// True if all regions of every aggregation are kept.
    pub record: bool,
    /// True if the record is compared with the truth.
    pub truth: bool,
}

impl DamonSpec {
    /// Host bytes of its record at most, in a run of this time; `None`: the end is not known.
    pub(crate) fn most_recorded(&self, time: Option<SimDuration>) -> u64 {
        if !self.record {
            return 0;
        }
        let (attrs, schemes) = match &self.what {
            DamonContext::Own { attrs, schemes, .. } => (*attrs, schemes.len() as u64),
            _ => (MonitoringAttrs::DEFAULT, 2),
        };
        let time = time.filter(|_| attrs.tuning.is_none());
        let shots = time.map_or(u64::MAX, |t| t.as_nanos() / 1000 / attrs.aggr_us.max(1) + 1);
        let regions = (u64::from(attrs.max_nr_regions) + 1) * (1 + schemes);
        shots.saturating_mul(regions).min(MOST_KEPT) * BYTES_KEPT
    }
}

/// A module, or a context of the user's own.
#[derive(Clone, PartialEq, Debug)]
pub enum DamonContext {
    /// DAMON_RECLAIM.
    Reclaim(Reclaim),
    /// DAMON_LRU_SORT.
    LruSort(LruSort),
    /// DAMON_STAT.
    Stat,
    /// All settings are its own.
    Own {
        /// Whose addresses.
        ops: OpsId,
        /// Name of the process; none for physical memory.
        task: Option<String>,
        /// Ranges in bytes; none: all that there is.
        ranges: Vec<(u64, u64)>,
        /// Its intervals and numbers of regions.
        attrs: MonitoringAttrs,
        /// Its schemes.
        schemes: Vec<Scheme>,
    },
}

/// The same with the place of its rules.
#[derive(Clone, Debug)]
pub(super) struct PlacedDamon {
    pub(super) spec: DamonSpec,
    pub(super) rules: PlacedPolicy,
}

/// Reads the monitors of a document.
pub(super) fn monitors(
    sources: &Sources,
    root: &Reader<'_>,
    tasks: &[TaskSpec],
    memcgs: &[&str],
    kernel: Kernel,
) -> Result<Vec<PlacedDamon>, Error> {
    let mut all: Vec<PlacedDamon> = Vec::new();
    if !root.has("damon") {
        return Ok(all);
    }
    for (i, node) in root.list("damon")?.iter().enumerate() {
        let path = format!("damon[{i}]");
        let r = Reader::open(sources, node, &DAMON, &path)?;
        if i == MOST_MONITORS {
            let found = format!("more than {MOST_MONITORS} monitors");
            return Err(r.error("ops", found, "fewer of them"));
        }
        let name = r.opt_name("name")?.map_or_else(|| format!("kdamond.{i}"), str::to_string);
        if let Some(first) = all.iter().position(|d| d.spec.name == name) {
            let found = format!("\"{name}\" is the name of damon[{first}] too");
            return Err(r.error("name", found, "another name"));
        }
        let rules = policy::read(sources, r.find("rules"), &r.name_of("rules"), "damon-v6.12")?;
        kernel_has_damon(&r, &path, kernel)?;
        let (truth, record) = (r.get("truth")?, r.get::<bool>("record")?);
        let what = if r.has("module") {
            module(&r, rules_of(&r, kernel))?
        } else {
            own(&r, tasks, memcgs, rules_of(&r, kernel))?
        };
        let of_process = matches!(&what, DamonContext::Own { task: Some(_), .. });
        if truth && !of_process {
            let found = "the truth is known of processes only";
            return Err(r.error("truth", found, "`ops = \"vaddr\"` or `\"fvaddr\"` too"));
        }
        let spec = DamonSpec {
            name,
            rules: PolicySpec { preset: String::new(), knobs: Vec::new() },
            what,
            start: r.get("start")?,
            pauses: pauses(&r, rules_of(&r, kernel))?,
            record: truth || record,
            truth,
        };
        let stat = all.iter().any(|d| d.spec.what == DamonContext::Stat);
        if i > 0 && (stat || spec.what == DamonContext::Stat) {
            let found = "DAMON_STAT keeps other monitors away (EBUSY)";
            let key = if r.has("module") { "module" } else { "ops" };
            return Err(r.error(key, found, "DAMON_STAT alone, or none of it"));
        }
        all.push(PlacedDamon { spec, rules });
    }
    Ok(all)
}

/// Keys of a context of one's own, which a module sets itself.
const OWN: [&str; 11] = [
    "ops",
    "task",
    "region",
    "sample",
    "aggr",
    "ops-update",
    "intervals-goal",
    "min-nr-regions",
    "max-nr-regions",
    "pause",
    "scheme",
];

/// DAMON is of 5.15. On an older kernel it is a backport, whose rules the user has to give.
fn kernel_has_damon(r: &Reader<'_>, path: &str, kernel: Kernel) -> Result<(), Error> {
    if kernel >= Kernel::V6_1 || preset_of_rules(r).is_some() {
        return Ok(());
    }
    let found = format!("kernel {} has no DAMON (Linux has it since 5.15)", kernel.name());
    let write = "kernel = \"6.1\", or rules = { preset = \"damon-v5.16\" } for a backport";
    let title = format!("{path}: {found}, write {write}");
    Err(r.sources.error(r.at, title, format!("write {write}")))
}

/// The preset that `rules` names.
fn preset_of_rules<'a>(r: &Reader<'a>) -> Option<&'a str> {
    r.find("rules").and_then(Node::table).and_then(|t| t.get("preset")).and_then(Node::as_text)
}

/// The kernel whose DAMON a monitor is: that of its rules, else the machine's.
fn rules_of(r: &Reader<'_>, machine: Kernel) -> Kernel {
    let named = preset_of_rules(r).and_then(|p| p.strip_prefix("damon-v"));
    match named {
        Some("5.16") => Kernel::V5_10,
        Some(version) => Kernel::from_name(version).unwrap_or(machine),
        None => machine,
    }
}

fn module(r: &Reader<'_>, kernel: Kernel) -> Result<DamonContext, Error> {
    for key in OWN {
        if r.has(key) {
            let found = "a module sets this itself";
            return Err(r.error(key, found, "it among `parameters`, or leave `module` out"));
        }
    }
    let module = r.choice("module")?;
    if module == "damon-stat" {
        if kernel < Kernel::V6_18 {
            let found = "this DAMON has no DAMON_STAT (Linux has it since 6.17)";
            return Err(r.error("module", found, "rules or a kernel of 6.18 too"));
        }
        parameters(r, kernel, &[], |_, _| Ok(()))?;
        return Ok(DamonContext::Stat);
    }
    if module == "damon-reclaim" {
        let mut module = Reclaim::DEFAULT;
        parameters(r, kernel, Reclaim::ROWS, |name, value| module.put(name, value))?;
        Ok(DamonContext::Reclaim(module))
    } else {
        if kernel < Kernel::V6_1 {
            let found = "this DAMON has no DAMON_LRU_SORT (Linux has it since 6.0)";
            return Err(r.error(
                "module",
                found,
                "\"damon-reclaim\", or use rules or a kernel of 6.1",
            ));
        }
        let mut module = LruSort::DEFAULT;
        parameters(r, kernel, LruSort::ROWS, |name, value| module.put(name, value))?;
        Ok(DamonContext::LruSort(module))
    }
}

/// Files that stand beside the parameters of a module, which it writes and does not read.
const WRITTEN: &[&str] = &[
    "kdamond_pid",
    "nr_reclaim_tried_regions",
    "bytes_reclaim_tried_regions",
    "nr_reclaimed_regions",
    "bytes_reclaimed_regions",
    "nr_quota_exceeds",
    "nr_lru_sort_tried_hot_regions",
    "bytes_lru_sort_tried_hot_regions",
    "nr_lru_sorted_hot_regions",
    "bytes_lru_sorted_hot_regions",
    "nr_hot_quota_exceeds",
    "nr_lru_sort_tried_cold_regions",
    "bytes_lru_sort_tried_cold_regions",
    "nr_lru_sorted_cold_regions",
    "bytes_lru_sorted_cold_regions",
    "nr_cold_quota_exceeds",
    "estimated_memory_bandwidth",
    "memory_idle_ms_percentiles",
    "aggr_interval_us",
];

/// Files of a module that decide nothing here, with the one value that is true of a module that runs.
const ALWAYS: &[(&str, u64, &str)] = &[
    ("enabled", 1, "\"Y\", or leave the whole [[damon]] out"),
    ("commit_inputs", 0, "\"N\": parameters are read when the module starts"),
];

fn parameters(
    r: &Reader<'_>,
    kernel: Kernel,
    known: &[Row],
    mut put: impl FnMut(&str, u64) -> Result<(), KnobError>,
) -> Result<(), Error> {
    let path = r.name_of("parameters");
    for e in r.table("parameters")?.map_or(&[][..], |t| &t.entries) {
        if let Some(&(_, value, write)) = ALWAYS.iter().find(|a| a.0 == e.key) {
            if value_of_parameter(true, &e.node.value) != Some(value) {
                let found = super::read::describe(&e.node.value);
                let title = format!("{path}.{}: found {found}, write {write}", e.key);
                return Err(r.sources.error(e.node.at, title, format!("write {write}")));
            }
            continue;
        }
        let names: Vec<&str> =
            ["enabled"].into_iter().chain(known.iter().map(|p| p.name)).collect();
        let parameter = known.iter().find(|p| p.name == e.key);
        if parameter.is_none() && WRITTEN.contains(&e.key.as_str()) {
            let title = format!("{path}.{}: the module writes this, and does not read it", e.key);
            return Err(r.sources.error(e.key_at, title, "leave it out"));
        }
        let Some(parameter) = parameter else {
            let near =
                nearest(&e.key, &names).map_or(String::new(), |n| format!(", did you mean `{n}`?"));
            let title = format!("{path}: unknown parameter `{}`{near}", e.key);
            let error = r.sources.error(e.key_at, title, "unknown parameter");
            return Err(error.help(format!("known: {}", names.join(", "))));
        };
        if !parameter.is_of(kernel) {
            let since = parameter.came_with();
            let title = format!(
                "{path}.{}: this DAMON has no such parameter (Linux has it since {since}), leave it \
                 out, or use rules or a kernel of {}",
                e.key,
                Kernel::first_with(since).unwrap_or(Kernel::LAST).name()
            );
            return Err(r.sources.error(e.key_at, title, "leave it out"));
        }
        let yes_no = matches!(parameter.form, Form::Flag(_));
        let Some(number) = value_of_parameter(yes_no, &e.node.value) else {
            let found = super::read::describe(&e.node.value);
            let write = if yes_no { "\"Y\" or \"N\"" } else { "a whole number from 0" };
            let title = format!("{path}.{}: found {found}, write {write}", e.key);
            return Err(r.sources.error(e.node.at, title, format!("write {write}")));
        };
        put(&e.key, number).map_err(|_| {
            let (low, high) = parameter.bounds().unwrap_or((0, 1));
            let write = format!("write a number from {low} to {high}");
            let title = format!("{path}.{}: found {number}, {write}", e.key);
            r.sources.error(e.node.at, title, "out of range")
        })?;
    }
    Ok(())
}

/// The value of a parameter as its file in /sys/module takes it: a number, in hexadecimal too, or for
/// yes and no also their words. TOML's own `true` and `false` do as well.
fn value_of_parameter(yes_no: bool, value: &Value) -> Option<u64> {
    match value {
        Value::Integer(n) => u64::try_from(*n).ok(),
        Value::Flag(b) if yes_no => Some(u64::from(*b)),
        Value::Text(s) if yes_no => yes_or_no(s).map(u64::from),
        Value::Text(s) => match s.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => s.parse().ok(),
        },
        _ => None,
    }
}

fn own(
    r: &Reader<'_>,
    tasks: &[TaskSpec],
    memcgs: &[&str],
    kernel: Kernel,
) -> Result<DamonContext, Error> {
    if r.has("parameters") {
        return Err(r.error("parameters", "there is no `module`", "`module` too, or leave it out"));
    }
    let ops = if r.has("ops") { r.word("ops", &OPS)? } else { OpsId::Paddr };
    if ops == OpsId::Fvaddr && kernel < Kernel::V6_1 {
        let found = "this DAMON watches no fixed ranges of processes (Linux has it since 5.19)";
        return Err(r.error("ops", found, "\"vaddr\", or use rules or a kernel of 6.1"));
    }
    let task = r.opt_name("task")?;
    let processes = |t: &TaskSpec| t.name.clone();
    match (ops, task) {
        (OpsId::Paddr, Some(_)) => {
            return Err(r.error("task", "physical memory is of no process", "another `ops`"));
        }
        (OpsId::Paddr, None) => {}
        (_, None) => {
            let known: Vec<String> = tasks.iter().map(processes).collect();
            let found = "needs the process that is watched";
            return Err(r.error("task", found, format!("`task = \"{}\"`", known.join("\" or \""))));
        }
        (_, Some(name)) => {
            let known: Vec<String> = tasks.iter().map(processes).collect();
            let of_many = |t: &String| name.starts_with(&format!("{t}-"));
            if !known.iter().any(|t| t == name || of_many(t)) {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                return Err(r.unknown_word("task", "task", name, &known));
            }
        }
    }
    let ranges = ranges(r)?;
    if r.has("region") && ranges.is_empty() {
        let found = "nothing is watched, and Linux starts no monitor without targets";
        return Err(r.error("region", found, "at least one range, or leave it out"));
    }
    if ops == OpsId::Fvaddr && ranges.is_empty() {
        return Err(r.error("region", "fixed ranges have no default", "at least one"));
    }
    let attrs = attrs(r, kernel)?;
    let cx = SchemeCx { attrs: &attrs, memcgs, kernel, ops };
    let schemes = each(r, "scheme", &DAMOS, |s| tables::scheme(s, &cx))?;
    let task = task.map(str::to_string);
    Ok(DamonContext::Own { ops, task, ranges, attrs, schemes })
}

fn pauses(r: &Reader<'_>, kernel: Kernel) -> Result<Vec<Pause>, Error> {
    if r.has("pause") && kernel < Kernel::V7_3 {
        let found = "this DAMON has no such thing (Linux has it since 7.2)";
        return Err(r.error("pause", found, "rules or a kernel of 7.3 too, or leave it out"));
    }
    each(r, "pause", &DAMON_PAUSE, |p| tables::pause(p, ()))
}

fn ranges(r: &Reader<'_>) -> Result<Vec<(u64, u64)>, Error> {
    let mut before = 0;
    each(r, "region", &DAMON_REGION, |x| {
        let (start, end) = (x.get::<u64>("start")? * PAGE_SIZE, x.get::<u64>("end")? * PAGE_SIZE);
        if start >= end {
            return Err(x.error("end", "the range is empty", "an address above `start`"));
        }
        if start < before {
            let found = "it begins before the range before it ends";
            return Err(x.error("start", found, "ranges in order of address that do not overlap"));
        }
        before = end;
        Ok((start, end))
    })
}

fn attrs(r: &Reader<'_>, kernel: Kernel) -> Result<MonitoringAttrs, Error> {
    let d = MonitoringAttrs::DEFAULT;
    let time = |key, or| Ok::<_, Error>(r.opt_time(key)?.map_or(or, micros));
    let count = |key, or| Ok::<_, Error>(r.get::<Option<u32>>(key)?.unwrap_or(or));
    let attrs = MonitoringAttrs {
        sample_us: time("sample", d.sample_us)?,
        aggr_us: time("aggr", d.aggr_us)?,
        ops_update_us: time("ops-update", d.ops_update_us)?,
        min_nr_regions: count("min-nr-regions", d.min_nr_regions)?,
        max_nr_regions: count("max-nr-regions", d.max_nr_regions)?,
        tuning: within(r, "intervals-goal", &DAMON_INTERVALS_GOAL, |g| {
            tables::intervals_goal(g, ())
        })?,
        ..d
    };
    if let Some(goal) = attrs.tuning {
        if kernel < Kernel::V6_18 {
            let found = "this DAMON tunes no intervals (Linux does since 6.15)";
            return Err(r.error("intervals-goal", found, "rules or a kernel of 6.18 too"));
        }
        if !(goal.sample_us.0..=goal.sample_us.1).contains(&attrs.sample_us) {
            let found = "`sample` does not lie between its bounds";
            let write = "`min-sample` and `max-sample` around it";
            return Err(r.error("intervals-goal", found, write));
        }
    }
    if attrs.sample_us == 0 {
        return Err(r.error("sample", "no time at all", "a duration of at least \"1us\""));
    }
    if attrs.sample_us > attrs.aggr_us {
        let key = if r.has("aggr") { "aggr" } else { "sample" };
        let found = "an aggregation is shorter than a sample";
        return Err(r.error(key, found, "`aggr` at least as long as `sample`"));
    }
    if attrs.min_nr_regions > attrs.max_nr_regions {
        let key = if r.has("max-nr-regions") { "max-nr-regions" } else { "min-nr-regions" };
        let found = format!(
            "min-nr-regions {} exceeds max-nr-regions {}",
            attrs.min_nr_regions, attrs.max_nr_regions
        );
        return Err(r.error(key, found, "min-nr-regions <= max-nr-regions"));
    }
    Ok(attrs)
}
