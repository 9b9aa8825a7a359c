//! Arguments of damo as monitors of a scenario: `damo args damon`, `damo start` or a list of
//! schemes, as JSON or YAML, becomes `[[damon]]`.
//!
//! damo writes numbers as texts for people (`"5 ms"`, `"4.000 KiB"`, `"0 %"`, `"max"`) or, with
//! `--raw`, as plain numbers; members came and went. Known are three generations of it: schemes alone
//! (1.x), `kdamonds` with `filter_pass` and `target_value_bp` (2.x), `kdamonds` with `allow`,
//! `intervals_goal`, `dests` and members left out that are defaults (3.x). What a machine here has no
//! counterpart of is an error where it decides what is acted on, and a comment where it does not. Each
//! function that reads an object lists the members that it knows, so that the others are named.

mod document;
mod members;
mod scheme;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use self::document::Document;
use self::members::{At, bytes, flag, number, ratio, time};
use mmsim_base::error::{Error, ErrorKind, acts, escaped};
use mmsim_base::nearest::nearest;

/// Bytes of a page.
const PAGE: u64 = 4096;
/// The longest time of a scenario, in us.
const LONGEST_US: f64 = 1e12;
/// Members of any object that are words about it.
const WORDS: [&str; 2] = ["name", "comments"];

/// Turns `text`, which came from `name`, into tables of a scenario. `tasks` are the tasks that stand
/// for the processes of its targets, in their order.
///
/// # Errors
///
/// It is neither JSON nor YAML, or not of damo's form, or says something that has no counterpart; or
/// a process has no task. The message names the member and its line and column.
pub fn import(text: &str, name: &str, tasks: &[String]) -> Result<String, Error> {
    let document = Document::read(text, name)?;
    let named = BTreeSet::new();
    let mut out =
        Import { name, document: &document, tasks, targets: 0, named, out: String::new() };
    out.all(&document.value)?;
    Ok(out.out)
}

struct Import<'a> {
    name: &'a str,
    document: &'a Document,
    tasks: &'a [String],
    /// Processes so far.
    targets: usize,
    /// Members that are not known and have their comment: those of a context may be read for several
    /// targets.
    named: BTreeSet<String>,
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
    let plain = |c: char| if "\"\\\n\t".contains(c) || acts(c) { '?' } else { c };
    format!("\"{}\"", text.chars().map(plain).collect::<String>())
}

impl Import<'_> {
    fn wrong(&self, at: &At<'_>, what: &str) -> Error {
        let found: String = at.value.to_string().chars().take(60).collect();
        let title = format!("`{}`: {}: found {found}, {what}", self.name, shown(at));
        self.document.error(&at.path, title, what)
    }

    fn missing(&self, at: &At<'_>, key: &str) -> Error {
        let title = format!("`{}`: {} has no `{key}`", self.name, shown(at));
        let members: Vec<&str> =
            at.members().into_iter().flat_map(Map::keys).map(String::as_str).collect();
        let help = match nearest(key, &members) {
            Some(near) => format!("`{near}` is not known, did you mean `{key}`?"),
            None => {
                "this reads `damo args damon`, with `kdamonds`, or a list of schemes of damo 1.x"
                    .to_string()
            }
        };
        self.document.error(&at.path, title, &format!("`{key}` is missing")).help(help)
    }

    /// Names each member of an object that is none of `known`.
    fn object(&mut self, at: &At<'_>, known: &[&str]) -> Result<(), Error> {
        let Some(members) = at.members() else {
            return Err(self.wrong(at, &format!("expected members such as {}", known[0])));
        };
        for key in members.keys().map(String::as_str) {
            if known.contains(&key) || WORDS.contains(&key) {
                continue;
            }
            let path = document::member(&at.path, key);
            let near = nearest(key, known).map_or(String::new(), |n| format!(" (is it `{n}`?)"));
            if self.named.insert(path.clone()) {
                self.comment(&format!("`{path}` is not known, and left out{near}."));
            }
        }
        Ok(())
    }

    /// The items of a member that is a list; none where it is missing.
    fn list<'v>(&self, at: &At<'v>, key: &str) -> Result<Vec<At<'v>>, Error> {
        let Some(list) = at.get(key) else { return Ok(Vec::new()) };
        list.items().ok_or_else(|| self.wrong(&list, "expected a list"))
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
        let text = escaped(text).replace(['\n', '\t'], " ");
        let _ = writeln!(self.out, "# {text}");
    }

    fn all(&mut self, value: &Value) -> Result<(), Error> {
        let root = At { value, path: String::new() };
        let mut kdamonds = root.clone();
        if value.is_object() {
            kdamonds = root.get("kdamonds").ok_or_else(|| self.missing(&root, "kdamonds"))?;
            self.object(&root, &["kdamonds"])?;
        }
        let expected = "expected a list of kdamonds, at least one";
        let items = kdamonds.items().filter(|items| !items.is_empty());
        let items = items.ok_or_else(|| self.wrong(&kdamonds, expected))?;
        // damo 1.x: schemes and nothing else, for whatever is watched.
        if items.iter().all(|k| k.get("action").is_some()) {
            self.comment(
                "A list of schemes does not say what is watched: all physical memory here.",
            );
            let nothing = Value::Object(Map::new());
            return self.context(&At { value: &nothing, path: String::new() }, None, 1, &items);
        }
        for kdamond in items {
            let contexts = self.list(&kdamond, "contexts")?;
            if contexts.is_empty() {
                return Err(self.missing(&kdamond, "contexts"));
            }
            self.object(&kdamond, &["contexts", "state", "pid", "refresh_ms"])?;
            for context in contexts {
                self.targets_of(&context)?;
            }
        }
        Ok(())
    }

    /// A table for each target of a context.
    fn targets_of(&mut self, context: &At<'_>) -> Result<(), Error> {
        let targets = self.list(context, "targets")?;
        let schemes = self.list(context, "schemes")?;
        if let Some(none) = context.get("targets").filter(|_| targets.is_empty()) {
            return Err(self.wrong(&none, "expected a target: Linux starts no context without one"));
        }
        let physical = context.get("ops").is_none_or(|ops| ops.text() == "paddr");
        if physical || targets.is_empty() {
            return self.context(context, targets.first(), 1, &schemes);
        }
        for target in &targets {
            self.context(context, Some(target), targets.len(), &schemes)?;
        }
        Ok(())
    }

    fn context(
        &mut self,
        context: &At<'_>,
        target: Option<&At<'_>>,
        nr_targets: usize,
        schemes: &[At<'_>],
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
        self.sampling(context)?;
        self.object(
            context,
            &[
                "ops",
                "targets",
                "intervals",
                "nr_regions",
                "schemes",
                "pause",
                "addr_unit",
                "sample_control",
                "ops_attrs",
                "probes",
            ],
        )?;
        if self.take(context, "pause", false, "expected true or false", flag)? {
            self.key("pause", "[{ from = \"0s\" }]");
        }
        for scheme in schemes {
            self.scheme(scheme, &intervals)?;
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
        let pid = escaped(&pid).replace(['\n', '\t'], " ");
        let _ = writeln!(self.out, "task = {} # process {pid}", quoted(task));
        Ok(())
    }

    fn intervals(&mut self, context: &At<'_>) -> Result<Intervals, Error> {
        let nothing = Value::Object(Map::new());
        let at =
            context.get("intervals").unwrap_or_else(|| At { value: &nothing, path: String::new() });
        self.object(&at, &["sample_us", "aggr_us", "ops_update_us", "intervals_goal"])?;
        let us = |key: &str, or: f64| {
            self.take(&at, key, or, "expected a time such as \"5 ms\"", |m| time(m, 1e3))
        };
        let (sample, aggr) = (us("sample_us", 5_000.0)?, us("aggr_us", 100_000.0)?);
        let update = us("ops_update_us", 1_000_000.0)?;
        self.key("sample", duration(sample));
        self.key("aggr", duration(aggr));
        self.key("ops-update", duration(update));
        if let Some(goal) = at.get("intervals_goal") {
            self.intervals_goal(&goal)?;
        }
        Ok(Intervals { sample, aggr })
    }

    fn intervals_goal(&mut self, goal: &At<'_>) -> Result<(), Error> {
        self.object(goal, &["access_bp", "aggrs", "min_sample_us", "max_sample_us"])?;
        let aggrs = self.take(goal, "aggrs", 0.0, "expected a number", number)?;
        let share = |m: &At<'_>| ratio(m, 10_000.0);
        let bp = self.take(goal, "access_bp", 0.0, "expected 1/10000 or per cent", share)?;
        let time = |key: &str, or| {
            self.take(goal, key, or, "expected a time such as \"5 ms\"", |m| time(m, 1e3))
        };
        let (min, max) = (time("min_sample_us", 5_000.0)?, time("max_sample_us", 10_000_000.0)?);
        let (min, max) = (duration(min), duration(max));
        if aggrs > 0.0 {
            self.key(
                "intervals-goal",
                format!(
                    "{{ access-bp = {}, aggrs = {}, min-sample = {min}, max-sample = {max} }}",
                    bp as u64, aggrs as u64
                ),
            );
        }
        Ok(())
    }

    fn nr_regions(&mut self, context: &At<'_>) -> Result<(), Error> {
        let Some(at) = context.get("nr_regions") else { return Ok(()) };
        self.object(&at, &["min", "max"])?;
        for (key, member) in [("min-nr-regions", "min"), ("max-nr-regions", "max")] {
            let Some(m) = at.get(member) else { return Err(self.missing(&at, member)) };
            let n = number(&m).filter(|n| (3.0..=f64::from(u32::MAX)).contains(n));
            let n = n.ok_or_else(|| self.wrong(&m, "expected a number from 3"))?;
            self.key(key, n as u64);
        }
        Ok(())
    }

    fn regions(&mut self, target: Option<&At<'_>>, physical: bool) -> Result<(), Error> {
        let Some(target) = target else { return Ok(()) };
        self.object(target, &["pid", "regions", "obsolete"])?;
        if self.take(target, "obsolete", false, "expected true or false", flag)? {
            let at = target.get("obsolete").unwrap_or_else(|| target.clone());
            return Err(self.wrong(&at, "such a target is to be removed: leave it out"));
        }
        let mut all = Vec::new();
        for region in self.list(target, "regions")? {
            let (start, end) = self.range(&region)?;
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

    fn range(&mut self, region: &At<'_>) -> Result<(u64, u64), Error> {
        // Those after the first two are results of monitoring.
        self.object(
            region,
            &["start", "end", "nr_accesses", "age", "probe_hits", "sz_filter_passed"],
        )?;
        let bound = |key: &str| {
            let at = region.get(key).ok_or_else(|| self.missing(region, key))?;
            bytes(&at).map(|n| n as u64).ok_or_else(|| self.wrong(&at, "expected an address"))
        };
        Ok((bound("start")?, bound("end")?))
    }

    /// Ways to find accesses, of kernels to come. Filters of samples, and units of addresses,
    /// decide which memory counts as accessed, and so what schemes act on.
    fn sampling(&mut self, context: &At<'_>) -> Result<(), Error> {
        let unit = self.take(context, "addr_unit", 1.0, "expected bytes", bytes)?;
        if unit != 1.0 {
            let at = context.get("addr_unit").unwrap_or_else(|| context.clone());
            return Err(self.wrong(&at, "expected 1: addresses are in bytes here"));
        }
        if !self.list(context, "probes")?.is_empty() {
            self.comment(
                "probes are not modelled, and left out: no filter here asks for their hits.",
            );
        }
        if let Some(control) = context.get("sample_control") {
            self.object(&control, &["primitives_enabled", "sample_filters"])?;
            if let Some(filter) = self.list(&control, "sample_filters")?.first() {
                let what = "expected none: samples are not filtered here, so schemes would act on \
                            other memory";
                return Err(self.wrong(filter, what));
            }
            if let Some(primitives) = control.get("primitives_enabled") {
                self.object(&primitives, &["page_table", "page_fault"])?;
                let yes = |key, or| self.take(&primitives, key, or, "expected true or false", flag);
                if (yes("page_table", true)?, yes("page_fault", false)?) != (true, false) {
                    self.comment("primitives_enabled: samples are bits of page tables here.");
                }
            }
        }
        let Some(attrs) = context.get("ops_attrs") else { return Ok(()) };
        self.object(&attrs, &["use_reports", "write_only", "cpus", "tids"])?;
        if self.take(&attrs, "use_reports", false, "expected true or false", flag)? {
            self.comment("use_reports: samples are bits of page tables here.");
        }
        let writes = self.take(&attrs, "write_only", false, "expected true or false", flag)?;
        let other = |key, all| attrs.get(key).filter(|at| at.text() != all);
        let writes = attrs.get("write_only").filter(|_| writes);
        match writes.or_else(|| other("cpus", "all")).or_else(|| other("tids", "")) {
            Some(at) => Err(self.wrong(&at, "all accesses are sampled here: leave it out")),
            None => Ok(()),
        }
    }
}

/// The path of a value in a message.
fn shown<'a>(at: &'a At<'_>) -> &'a str {
    if at.path.is_empty() { "the document" } else { &at.path }
}
