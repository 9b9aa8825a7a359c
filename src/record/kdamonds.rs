//! What damo was told, as monitors of a scenario: JSON of `damo args damon`, of `damo start` or of a
//! list of schemes becomes `[[damon]]`.
//!
//! damo writes numbers as texts for people (`"5 ms"`, `"4.000 KiB"`, `"0 %"`, `"max"`) or, with
//! `--raw`, as plain numbers; members came and went. Known are three generations of it: schemes alone
//! (1.x), `kdamonds` with `filter_pass` and `target_value_bp` (2.x), `kdamonds` with `allow`,
//! `intervals_goal`, `dests` and members left out that are defaults (3.x). What a machine here has no
//! counterpart of is an error where it decides what is acted on, and a comment where it does not.

use std::fmt::Write as _;

use mmsim_damon::damos::filter::FilterType;
use mmsim_damon::damos::goal::Metric;
use serde_json::{Map, Value};

use super::members::{At, MAX, bytes, flag, number, plain, ratio, time};
use crate::error::{Error, ErrorKind};
use crate::files;

/// Bytes of a page.
const PAGE: u64 = 4096;
/// The longest time of a scenario, in us.
const LONGEST_US: f64 = 1e12;

/// Turns the JSON in `text`, which came from `name`, into tables of a scenario. `tasks` are the tasks
/// that stand for the processes of its targets, in their order.
///
/// # Errors
///
/// It is no JSON, or not of damo's form, or says something that has no counterpart; or a process has
/// no task. The message names the member.
pub fn import(text: &str, name: &str, tasks: &[String]) -> Result<String, Error> {
    let json: Value = serde_json::from_str(text)
        .map_err(|e| files::bad_json(&e, text, name, "arguments of damo"))?;
    let mut out = Import { name, tasks, targets: 0, out: String::new() };
    out.all(&json)?;
    Ok(out.out)
}

struct Import<'a> {
    name: &'a str,
    tasks: &'a [String],
    /// Processes so far.
    targets: usize,
    out: String,
}

/// Intervals of a context, in us.
struct Intervals {
    sample: f64,
    aggr: f64,
}

/// A duration as scenarios have it.
fn duration(us: f64) -> String {
    let ns = (us * 1e3).round() as u64;
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    let unit = units.iter().find(|u| ns.is_multiple_of(u.0)).unwrap_or(&units[3]);
    format!("\"{}{}\"", ns / unit.0, unit.1)
}

/// A text within quotes.
fn quoted(text: &str) -> String {
    let plain = |c: char| if c == '"' || c == '\\' || c.is_control() { '?' } else { c };
    format!("\"{}\"", text.chars().map(plain).collect::<String>())
}

impl Import<'_> {
    fn wrong(&self, at: &At<'_>, what: &str) -> Error {
        let found: String = at.value.to_string().chars().take(60).collect();
        Error::new(ErrorKind::File, format!("`{}`: {}: found {found}, {what}", self.name, at.path))
    }

    fn missing(&self, at: &At<'_>, key: &str) -> Error {
        let title = format!("`{}`: {} has no `{key}`", self.name, at.path);
        Error::new(ErrorKind::File, title).help(
            "this reads JSON of `damo args damon`, with `kdamonds`, or a list of schemes of damo 1.x",
        )
    }

    /// A member that is read by `read`, or `or` where it is missing.
    fn take<T>(
        &self,
        at: &At<'_>,
        key: &str,
        or: T,
        what: &str,
        read: impl Fn(&At<'_>) -> Option<T>,
    ) -> Result<T, Error> {
        match at.get(key) {
            None => Ok(or),
            Some(member) => read(&member).ok_or_else(|| self.wrong(&member, what)),
        }
    }

    fn key(&mut self, key: &str, value: impl std::fmt::Display) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.out, "{key} = {value}");
    }

    fn comment(&mut self, text: &str) {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let _ = writeln!(self.out, "# {text}");
    }

    fn all(&mut self, json: &Value) -> Result<(), Error> {
        let root = At { value: json, path: String::new() };
        let kdamonds = match json {
            Value::Object(_) => At {
                path: "kdamonds".into(),
                ..root.get("kdamonds").ok_or_else(|| {
                    self.missing(&At { path: "the document".into(), ..root.clone() }, "kdamonds")
                })?
            },
            _ => At { path: "kdamonds".into(), ..root.clone() },
        };
        if !kdamonds.value.is_array() {
            return Err(self.wrong(&kdamonds, "expected a list of kdamonds"));
        }
        let items = kdamonds.items();
        if items.is_empty() {
            return Err(self.wrong(&kdamonds, "expected at least one"));
        }
        // damo 1.x: schemes and nothing else, for whatever is watched.
        if items.iter().all(|k| k.get("action").is_some()) {
            let context = serde_json::json!({ "ops": "paddr", "schemes": kdamonds.value.clone() });
            let at = At { value: &context, path: "the list".into() };
            self.comment(
                "A list of schemes does not say what is watched: all physical memory here.",
            );
            return self.context(&at, None, 1);
        }
        for kdamond in items {
            let contexts = kdamond.list("contexts");
            if contexts.is_empty() {
                return Err(self.missing(&kdamond, "contexts"));
            }
            for context in contexts {
                self.targets_of(&context)?;
            }
        }
        Ok(())
    }

    /// A table for each target of a context.
    fn targets_of(&mut self, context: &At<'_>) -> Result<(), Error> {
        let targets = context.list("targets");
        let physical = context.get("ops").is_none_or(|ops| ops.text() == "paddr");
        if physical || targets.is_empty() {
            return self.context(context, targets.first(), 1);
        }
        for target in &targets {
            self.context(context, Some(target), targets.len())?;
        }
        Ok(())
    }

    fn context(
        &mut self,
        context: &At<'_>,
        target: Option<&At<'_>>,
        nr_targets: usize,
    ) -> Result<(), Error> {
        let ops = context.get("ops").map_or("paddr".to_string(), |ops| ops.text());
        if !["vaddr", "fvaddr", "paddr"].contains(&ops.as_str()) {
            let at = context.get("ops").unwrap_or_else(|| context.clone());
            return Err(self.wrong(&at, "expected vaddr, fvaddr or paddr"));
        }
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        if nr_targets > 1 {
            self.comment(&format!(
                "One of {nr_targets} targets of a context: quotas and numbers of regions are of each alone here."
            ));
        }
        self.out += "[[damon]]\n";
        self.key("ops", quoted(&ops));
        if ops != "paddr" {
            self.task(context, target)?;
        }
        let intervals = self.intervals(context)?;
        self.nr_regions(context)?;
        self.regions(target, ops == "paddr")?;
        self.attributes(context);
        if self.take(context, "pause", false, "expected true or false", flag)? {
            self.key("pause", "[{ from = \"0s\" }]");
        }
        for scheme in context.list("schemes") {
            self.scheme(&scheme, &intervals)?;
        }
        Ok(())
    }

    fn task(&mut self, context: &At<'_>, target: Option<&At<'_>>) -> Result<(), Error> {
        let Some(target) = target else { return Err(self.missing(context, "targets")) };
        let pid = target.get("pid").map_or("?".to_string(), |pid| pid.text());
        let Some(task) = self.tasks.get(self.targets) else {
            let title =
                format!("`{}`: {}: no task stands for process {pid}", self.name, target.path);
            let help = "name one for each process, in order, as in `--task work`";
            return Err(Error::new(ErrorKind::Option, title).help(help));
        };
        self.targets += 1;
        let _ = writeln!(self.out, "task = {} # process {pid}", quoted(task));
        Ok(())
    }

    fn intervals(&mut self, context: &At<'_>) -> Result<Intervals, Error> {
        let at = context
            .get("intervals")
            .unwrap_or_else(|| At { value: &Value::Null, path: String::new() });
        let us = |key: &str, or: f64| {
            self.take(&at, key, or, "expected a time such as \"5 ms\"", |m| time(m, 1e3))
        };
        let (sample, aggr) = (us("sample_us", 5_000.0)?, us("aggr_us", 100_000.0)?);
        let update = us("ops_update_us", 1_000_000.0)?;
        self.key("sample", duration(sample));
        self.key("aggr", duration(aggr));
        self.key("ops-update", duration(update));
        if let Some(goal) = at.get("intervals_goal")
            && self.take(&goal, "aggrs", 0.0, "expected a number", number)? > 0.0
        {
            let share = |m: &At<'_>| ratio(m, 10_000.0);
            let bp = self.take(&goal, "access_bp", 0.0, "expected 1/10000 or per cent", share)?;
            let aggrs = self.take(&goal, "aggrs", 0.0, "expected a number", number)?;
            let time = |key: &str, or| {
                self.take(&goal, key, or, "expected a time such as \"5 ms\"", |m| time(m, 1e3))
            };
            let (min, max) =
                (time("min_sample_us", 5_000.0)?, time("max_sample_us", 10_000_000.0)?);
            let (min, max) = (duration(min), duration(max));
            self.key(
                "intervals-goal",
                format!(
                    "{{ access-bp = {}, aggrs = {}, min-sample = {min}, max-sample = {max} }}",
                    bp as u64, aggrs as u64
                ),
            );
        }
        Ok(Intervals { sample, aggr })
    }

    fn nr_regions(&mut self, context: &At<'_>) -> Result<(), Error> {
        let Some(at) = context.get("nr_regions") else { return Ok(()) };
        for (key, member) in [("min-nr-regions", "min"), ("max-nr-regions", "max")] {
            let Some(m) = at.get(member) else { return Err(self.missing(&at, member)) };
            let n = number(&m).filter(|n| (3.0..=f64::from(u32::MAX)).contains(n));
            let n = n.ok_or_else(|| self.wrong(&m, "expected a number from 3"))?;
            self.key(key, n as u64);
        }
        Ok(())
    }

    fn regions(&mut self, target: Option<&At<'_>>, physical: bool) -> Result<(), Error> {
        let regions = target.map_or(Vec::new(), |t| t.list("regions"));
        let mut all = Vec::new();
        for region in &regions {
            let (start, end) = self.range(region)?;
            if physical {
                self.comment(&format!(
                    "region {start:#x}-{end:#x} is of the machine that damo ran on: all frames are watched here."
                ));
                continue;
            }
            let (start, end) = (start / PAGE, end.div_ceil(PAGE));
            all.push(format!("{{ start = \"{start} pages\", end = \"{end} pages\" }}"));
        }
        if !all.is_empty() {
            self.key("region", format!("[{}]", all.join(", ")));
        }
        Ok(())
    }

    fn range(&self, region: &At<'_>) -> Result<(u64, u64), Error> {
        let bound = |key: &str| {
            let at = region.get(key).ok_or_else(|| self.missing(region, key))?;
            bytes(&at).map(|n| n as u64).ok_or_else(|| self.wrong(&at, "expected an address"))
        };
        Ok((bound("start")?, bound("end")?))
    }

    /// Attributes of the operations, of kernels to come.
    fn attributes(&mut self, context: &At<'_>) {
        if let Some(attrs) = context.get("ops_attrs") {
            self.comment(&format!("ops_attrs is not modelled: {}", attrs.value));
        }
    }

    fn scheme(&mut self, scheme: &At<'_>, intervals: &Intervals) -> Result<(), Error> {
        const KNOWN: [&str; 20] = [
            "action",
            "access_pattern",
            "apply_interval_us",
            "quotas",
            "watermarks",
            "filters",
            "core_filters",
            "ops_filters",
            "dests",
            "target_nid",
            // What it did, and words about it.
            "stats",
            "tried_regions",
            "tried_bytes",
            "name",
            "comments",
            "sz_tried_regions",
            "nr_tried",
            "sz_tried",
            "nr_applied",
            "sz_applied",
        ];
        let action = scheme.get("action").map_or("stat".to_string(), |a| a.text());
        self.out += "\n[[damon.scheme]]\n";
        self.key("action", quoted(&action));
        if scheme.list("dests").len() > 1 {
            let at = scheme.get("dests").unwrap_or_else(|| scheme.clone());
            return Err(self.wrong(&at, "migrations have one node here"));
        }
        if action.starts_with("migrate") {
            let dest = scheme.list("dests").first().and_then(|d| d.get("id"));
            let Some(node) = scheme.get("target_nid").or(dest) else {
                return Err(self.missing(scheme, "target_nid"));
            };
            let n = number(&node).ok_or_else(|| self.wrong(&node, "expected a node"))?;
            self.key("target-node", n as u64);
        }
        for key in scheme.members().into_iter().flat_map(Map::keys) {
            if !KNOWN.contains(&key.as_str()) {
                self.comment(&format!("`{key}` is not known, and left out."));
            }
        }
        if let Some(pattern) = scheme.get("access_pattern") {
            self.pattern(&pattern, intervals)?;
        }
        let apply =
            self.take(scheme, "apply_interval_us", 0.0, "expected a time", |m| time(m, 1e3))?;
        if apply > 0.0 {
            self.key("apply-interval", duration(apply));
        }
        if let Some(stats) = scheme.get("stats") {
            let what = "expected a number";
            let most = self.take(&stats, "max_nr_snapshots", 0.0, what, number)?;
            if most > 0.0 {
                self.key("max-nr-snapshots", most as u64);
            }
        }
        if let Some(quotas) = scheme.get("quotas") {
            self.quotas(&quotas)?;
        }
        if let Some(marks) = scheme.get("watermarks") {
            self.watermarks(&marks)?;
        }
        if let Some(goals) = scheme.get("quotas").map(|q| q.list("goals")) {
            for goal in goals {
                self.goal(&goal)?;
            }
        }
        for list in ["filters", "core_filters", "ops_filters"] {
            for filter in scheme.list(list) {
                self.filter(&filter)?;
            }
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &At<'_>, intervals: &Intervals) -> Result<(), Error> {
        if let Some(at) = pattern.get("sz_bytes") {
            let what = "expected bytes such as \"4 KiB\", or max";
            let min = self.take(&at, "min", 0.0, what, bytes)?;
            let max = self.take(&at, "max", MAX, what, bytes)?;
            if min > 0.0 {
                self.key("min-size", format!("\"{} pages\"", (min as u64).div_ceil(PAGE)));
            }
            if max < MAX {
                self.key("max-size", format!("\"{} pages\"", max as u64 / PAGE));
            }
        }
        if let Some(at) = pattern.get("nr_accesses") {
            let what = "expected per cent such as \"5 %\", or \"1 samples\"";
            let samples = |m: &At<'_>| {
                let of_samples = m.value.as_str().and_then(|t| t.trim().strip_suffix("samples"));
                if let Some(text) = of_samples {
                    return plain(text);
                }
                let percent = ratio(m, 100.0)?;
                // As damo does: a share of the samples of an aggregation, cut to a whole number.
                let most = intervals.aggr / intervals.sample.max(1.0);
                Some(if percent >= MAX { MAX } else { (percent * most / 100.0).floor() })
            };
            let min = self.take(&at, "min", 0.0, what, samples)?;
            let max = self.take(&at, "max", MAX, what, samples)?;
            if min > 0.0 {
                self.key("min-nr-accesses", min as u64);
            }
            if max < f64::from(u32::MAX) {
                self.key("max-nr-accesses", max as u64);
            }
        }
        if let Some(at) = pattern.get("age") {
            let what = "expected a time such as \"5 s\", or \"50 aggr_intervals\"";
            let age = |m: &At<'_>| {
                let text = m.value.as_str().and_then(|t| t.trim().strip_suffix("aggr_intervals"));
                match text {
                    Some(text) => {
                        plain(text).map(|n| if n >= MAX { MAX } else { n * intervals.aggr })
                    }
                    None => time(m, 1e3),
                }
            };
            let min = self.take(&at, "min", 0.0, what, age)?;
            let max = self.take(&at, "max", MAX, what, age)?;
            if min > 0.0 {
                self.key("min-age", duration(min));
            }
            // Longer is any age.
            if max <= LONGEST_US {
                self.key("max-age", duration(max));
            }
        }
        Ok(())
    }

    fn quotas(&mut self, quotas: &At<'_>) -> Result<(), Error> {
        let ms = |key: &str| self.take(quotas, key, 0.0, "expected a time", |m| time(m, 1e6));
        let (work, reset) = (ms("time_ms")?, ms("reset_interval_ms")?);
        let size = self.take(quotas, "sz_bytes", 0.0, "expected bytes", bytes)?;
        // Without a quota there is nothing to reset.
        let limited = work > 0.0 || size > 0.0 || !quotas.list("goals").is_empty();
        if work > 0.0 && work < MAX {
            self.key("quota-time", duration(work * 1e3));
        }
        if size > 0.0 && size < MAX {
            self.key("quota-size", format!("\"{} pages\"", (size as u64).div_ceil(PAGE)));
        }
        if limited && reset > LONGEST_US / 1e3 {
            self.comment("reset_interval_ms is without end; a million seconds here.");
            self.key("quota-reset", duration(LONGEST_US));
        } else if limited && reset > 0.0 {
            self.key("quota-reset", duration(reset * 1e3));
        }
        if let Some(tuner) = quotas.get("goal_tuner").map(|t| t.text()).filter(|t| t != "consist") {
            self.key("goal-tuner", quoted(&tuner));
        }
        let count = |key: &str| self.take(quotas, key, 0.0, "expected a number", number);
        let (num, denom) = (count("fail_charge_num")?, count("fail_charge_denom")?);
        if denom > 0.0 {
            let share = format!("{{ num = {}, denom = {} }}", num as u64, denom as u64);
            self.key("fail-charge", share);
        }
        let Some(weights) = quotas.get("weights") else { return Ok(()) };
        for (key, member) in [
            ("weight-size", "sz_permil"),
            ("weight-nr-accesses", "nr_accesses_permil"),
            ("weight-age", "age_permil"),
        ] {
            let what = "expected thousandths or per cent";
            let weight = self.take(&weights, member, 0.0, what, |m| ratio(m, 1000.0))?;
            if weight > 0.0 {
                self.key(key, weight.round() as u64);
            }
        }
        Ok(())
    }

    fn goal(&mut self, goal: &At<'_>) -> Result<(), Error> {
        let metric = goal.get("metric").map_or("user_input".to_string(), |m| m.text());
        if !Metric::NAMES.contains(&metric.as_str()) {
            let at = goal.get("metric").unwrap_or_else(|| goal.clone());
            return Err(self.wrong(&at, &format!("goals here are {}", Metric::NAMES.join(", "))));
        }
        let value = |key: &str, old: &str| {
            let Some(at) = goal.get(key).or_else(|| goal.get(old)) else { return Ok(0.0) };
            let read = match &metric[..] {
                "some_mem_psi_us" => time(&at, 1e3),
                m if m.ends_with("_bp") => ratio(&at, 10_000.0),
                _ => number(&at),
            };
            read.ok_or_else(|| self.wrong(&at, "expected a number"))
        };
        let target = value("target_value", "target_value_bp")?;
        let current = value("current_value", "current_value_bp")?;
        self.out += "\n[[damon.scheme.goal]]\n";
        self.key("metric", quoted(&metric));
        self.key("target", target as u64);
        if current > 0.0 && metric == "user_input" {
            self.key("current", current as u64);
        }
        if metric.starts_with("node_") {
            let node = self.take(goal, "nid", 0.0, "expected the number of a node", number)?;
            self.key("node", node as u64);
        }
        if metric.starts_with("node_memcg_") {
            self.memcg(goal)?;
        }
        Ok(())
    }

    fn watermarks(&mut self, marks: &At<'_>) -> Result<(), Error> {
        match marks.get("metric").map(|m| m.text()).as_deref() {
            None | Some("none") => return Ok(()),
            Some("free_mem_rate") => {}
            Some(_) => {
                let at = marks.get("metric").unwrap_or_else(|| marks.clone());
                return Err(self.wrong(&at, "expected none or free_mem_rate"));
            }
        }
        let interval = self.take(marks, "interval_us", 0.0, "expected a time", |m| time(m, 1e3))?;
        let what = "expected thousandths or per cent";
        let mark = |key: &str| self.take(marks, key, 0.0, what, |m| ratio(m, 1000.0));
        let (high, mid, low) = (mark("high_permil")?, mark("mid_permil")?, mark("low_permil")?);
        let [high, mid, low] = [high, mid, low].map(|n| n.round() as u64);
        let interval = duration(interval);
        self.key(
            "wmarks",
            format!("{{ interval = {interval}, high = {high}, mid = {mid}, low = {low} }}"),
        );
        Ok(())
    }

    /// The group that a path names, by its last part.
    fn memcg(&mut self, of: &At<'_>) -> Result<(), Error> {
        let path = of.get("memcg_path").ok_or_else(|| self.missing(of, "memcg_path"))?.text();
        let group = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or("").to_string();
        let _ = writeln!(self.out, "memcg = {} # {}", quoted(&group), quoted(&path));
        Ok(())
    }

    fn filter(&mut self, filter: &At<'_>) -> Result<(), Error> {
        // Renamed from `filter_pass`.
        let yes = |key: &str| self.take(filter, key, false, "expected true or false", flag);
        let allow = yes("allow")? || yes("filter_pass")?;
        let Some(kind) = filter.get("filter_type") else {
            return Err(self.missing(filter, "filter_type"));
        };
        let word = kind.text();
        if !FilterType::NAMES.contains(&word.as_str()) {
            return Err(
                self.wrong(&kind, &format!("filters here are {}", FilterType::NAMES.join(", ")))
            );
        }
        self.out += "\n[[damon.scheme.filter]]\n";
        self.key("type", quoted(&word));
        let matching = self.take(filter, "matching", true, "expected true or false", flag)?;
        self.key("matching", matching);
        if allow {
            self.key("allow", true);
        }
        match word.as_str() {
            "memcg" => self.memcg(filter)?,
            "hugepage_size" => {
                let sizes = filter.list("hugepage_size");
                let [min, max] = &sizes[..] else {
                    return Err(self.missing(filter, "hugepage_size"));
                };
                for (key, at) in [("min", min), ("max", max)] {
                    let size = bytes(at).ok_or_else(|| self.wrong(at, "expected bytes"))?;
                    self.key(key, format!("\"{} pages\"", (size as u64).div_ceil(PAGE)));
                }
            }
            "addr" => {
                let range = filter.get("address_range");
                let (start, end) =
                    self.range(&range.ok_or_else(|| self.missing(filter, "address_range"))?)?;
                self.key("start", format!("\"{} pages\"", start / PAGE));
                self.key("end", format!("\"{} pages\"", end.div_ceil(PAGE)));
            }
            "target" => {
                let at = filter.get("damon_target_idx");
                let at = at.ok_or_else(|| self.missing(filter, "damon_target_idx"))?;
                if number(&at) != Some(0.0) {
                    return Err(self.wrong(&at, "each target has a context of its own here: 0"));
                }
                self.key("target", 0);
            }
            _ => {}
        }
        Ok(())
    }
}
