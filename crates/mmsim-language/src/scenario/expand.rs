//! From one document to all its runs: axes, then variants, then seeds.
//!
//! Every combination is made in the raw layer and typed on its own, so a value that only
//! one combination makes wrong is found before anything runs. The document of a run has neither the
//! axes nor the variants that it was made by, so all of them together take memory in proportion to
//! the number of runs; and how many these are is counted before the first is made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use mmsim_core::config::MachineConfig;

use super::cache_ext::{self, ChooserSpec};
use super::daemon::{self, DaemonSpec};
use super::damon::{self, PlacedDamon};
use super::given::{Given, given};
use super::inline::inline;
use super::keys::{MANY, TableSpec};
use super::machine;
use super::pods;
use super::policy::{self, PlacedPolicy};
use super::raw::{At, Entry, Node, Path, Sources, Table, Value, counted};
use super::read::{Reader, fill};
use super::tables::{self, ROOT, VARIANT};
use super::tasks;
use super::workload::TaskSpec;
use mmsim_base::error::Error;

/// More runs than this in one file are taken for a mistake.
const MAX_RUNS: u64 = 10_000;

/// One combination of axes and variant, typed; its seeds differ in nothing else.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) variant: String,
    pub(super) axes: Vec<(String, String)>,
    pub(super) seed: u64,
    pub(super) seeds: u64,
    /// The document that it was read from, without defaults.
    pub(super) doc: Table,
    pub(super) machine: MachineConfig,
    pub(super) policy: PlacedPolicy,
    pub(super) compaction: PlacedPolicy,
    pub(super) tasks: Vec<TaskSpec>,
    pub(super) damon: Vec<PlacedDamon>,
    pub(super) daemons: Vec<DaemonSpec>,
    pub(super) choosers: Vec<ChooserSpec>,
    pub(super) given: Arc<[(String, String)]>,
    pub(super) files: Arc<[(String, PathBuf)]>,
    pub(super) bounds: bool,
    pub(super) expect_oom: bool,
}

/// One axis: where it goes, and its values.
pub(super) struct Axis<'a> {
    pub(super) path: Path,
    pub(super) values: &'a [Node],
}

/// All combinations, in the order in which they run.
pub(super) fn plans(sources: &Sources, whole: &Table, dir: &FilePath) -> Result<Vec<Plan>, Error> {
    let axes = axes(sources, whole)?;
    let combinations = axes.iter().fold(1u64, |n, a| n.saturating_mul(a.values.len() as u64));
    if combinations.saturating_mul(runs_of_a_combination(whole, &axes)) > MAX_RUNS {
        return Err(too_many(sources, whole));
    }
    let mut plans = Vec::new();
    let mut runs = 0;
    // What options set must say something of some run.
    let mut unused = sources.options_in(whole, NOT_OF_RUNS);
    let bare = without(whole, |e| e.key == "axes" || e.key == "expect" && e.node.list().is_some());
    for c in 0..combinations {
        let (doc, labels) = combination(sources, &bare, &axes, c)?;
        for plan in variants(sources, &doc, &labels, dir, &mut unused)? {
            runs += plan.seeds;
            plans.push(plan);
        }
        if runs > MAX_RUNS {
            return Err(too_many(sources, whole));
        }
    }
    if let Some((path, at)) = unused.into_values().next() {
        if axes.iter().any(|axis| axis.path.text == path) {
            let title = format!("{path}: an axis sets it in every run");
            let help = "leave it out; --at PATH=VALUE takes one value of the axis, `axes` has them";
            return Err(sources.error(at, title, help));
        }
        let title = format!("{path}: every run has another value, of its variant or of an axis");
        return Err(sources.error(at, title, "leave it out, or change it there: variant[0], axes"));
    }
    Ok(plans)
}

/// Keys that say which runs there are and what is expected of them, and nothing of a run itself.
pub(super) const NOT_OF_RUNS: &[&str] = &["axes", "variant", "expect"];

/// A document without some of its entries.
fn without(doc: &Table, gone: impl Fn(&Entry) -> bool) -> Table {
    Table { entries: doc.entries.iter().filter(|e| !gone(e)).cloned().collect() }
}

/// Runs of each combination of axes at least, as far as the document itself tells: no axis may
/// change how many variants or seeds there are. Errors in either are reported elsewhere.
fn runs_of_a_combination(doc: &Table, axes: &[Axis<'_>]) -> u64 {
    let fixed = |key: &str| !axes.iter().any(|a| a.path.root() == key);
    let variants = doc.get("variant").and_then(Node::list).filter(|_| fixed("variant"));
    let seeds = match doc.get("seeds").map(|n| &n.value) {
        Some(Value::Integer(n)) if fixed("seeds") => {
            u64::try_from(*n).ok().filter(|n| *n <= MAX_RUNS).unwrap_or(1)
        }
        _ => 1,
    };
    seeds.max(1).saturating_mul(variants.map_or(1, <[Node]>::len).max(1) as u64)
}

fn too_many(sources: &Sources, doc: &Table) -> Error {
    let key = ["axes", "seeds", "variant"].into_iter().find_map(|k| doc.entry(k));
    let at = key.map_or(At::DEFAULT, |e| e.key_at);
    let title = format!("axes, variants and seeds make more than {MAX_RUNS} runs");
    sources.error(at, title, "write fewer of them")
}

pub(super) fn axes<'a>(sources: &Sources, doc: &'a Table) -> Result<Vec<Axis<'a>>, Error> {
    let Some(node) = doc.get("axes") else { return Ok(Vec::new()) };
    let Value::Table(table) = &node.value else {
        let title = format!("axes: found {}, write a table", super::read::describe(&node.value));
        return Err(sources.error(node.at, title, "write [axes] and paths with lists"));
    };
    let mut axes: Vec<Axis<'_>> = Vec::new();
    for e in &table.entries {
        let path = axis_path(sources, e, doc, axes.iter().map(|a| &a.path))?;
        axes.push(Axis { path, values: axis_values(sources, e, "axes")? });
    }
    Ok(axes)
}

/// The path of an axis, which none of those before it has.
pub(super) fn axis_path<'a>(
    sources: &Sources,
    e: &Entry,
    doc: &Table,
    mut before: impl Iterator<Item = &'a Path>,
) -> Result<Path, Error> {
    let path = sources.path(&e.key, e.key_at)?;
    if let Some(before) = before.find(|p| p.is(&path, doc)) {
        let title = format!("axes: `{}` is the same key as `{}`", path.text, before.text);
        return Err(sources.error(e.key_at, title, "write all values in one list"));
    }
    refuse_root(sources, &path, "axes", &["schema", "name", "about", "axes", "expect"])?;
    Ok(path)
}

/// A path that was written without quotes, so that TOML takes it for tables in tables, and its
/// place. A table that has one of `keys` is a value.
pub(super) fn unquoted(e: &Entry, keys: &[&TableSpec]) -> Option<(String, At)> {
    let (mut path, mut at, mut node) = (e.key.clone(), e.key_at, &e.node);
    let value = |t: &Table| t.entries.iter().any(|e| keys.iter().any(|k| k.key(&e.key).is_some()));
    while let Some([first, ..]) = node.table().filter(|t| !value(t)).map(|t| &t.entries[..]) {
        path = format!("{path}.{}", first.key);
        (at, node) = (at.through(first.key_at), &first.node);
    }
    // A key of several words has its quotes.
    (path != e.key && !e.key.contains(['.', '['])).then_some((path, at))
}

/// Error for a path without quotes in the table of this name.
pub(super) fn no_quotes(sources: &Sources, (path, at): (String, At), table: &str) -> Error {
    let title = format!("{table}: the path `{path}` is without quotes, write \"{path}\" = ..");
    sources.error(at, title, format!("write \"{path}\""))
}

/// The list of values of an axis, of a table of this name.
pub(super) fn axis_values<'a>(
    sources: &Sources,
    e: &'a Entry,
    table: &str,
) -> Result<&'a [Node], Error> {
    let Value::List(values) = &e.node.value else {
        if let Some(path) = unquoted(e, &[]) {
            return Err(no_quotes(sources, path, table));
        }
        let found = super::read::describe(&e.node.value);
        let title = format!("{table}.\"{}\": found {found}, write a list of values", e.key);
        let label = format!("write [{}]", inline(&e.node.value));
        return Err(sources.error(e.node.at, title, label));
    };
    if values.is_empty() {
        let title = format!("{table}.\"{}\": an empty axis runs nothing", e.key);
        return Err(sources.error(e.node.at, title, "write at least one value"));
    }
    // The second would be taken for another seed of the first.
    let mut seen = BTreeSet::new();
    for v in values {
        if !seen.insert(label(v)) {
            let title = format!("{table}.\"{}\": {} is there twice", e.key, inline(&v.value));
            return Err(sources.error(v.at, title, "write each value once"));
        }
    }
    Ok(values)
}

pub(super) fn refuse_root(
    sources: &Sources,
    path: &Path,
    what: &str,
    roots: &[&str],
) -> Result<(), Error> {
    if roots.contains(&path.root()) {
        let title = format!("{what}: `{}` cannot be set here", path.root());
        return Err(sources.error(path.at, title, "write another path"));
    }
    Ok(())
}

/// A value of an axis in reports: a text without its quotes.
pub(super) fn label(value: &Node) -> String {
    value.as_text().map_or_else(|| inline(&value.value), str::to_string)
}

/// The c-th combination: the first axis changes slowest.
fn combination(
    sources: &Sources,
    doc: &Table,
    axes: &[Axis<'_>],
    c: u64,
) -> Result<(Table, Vec<(String, String)>), Error> {
    let mut doc = doc.clone();
    let mut labels = Vec::new();
    let mut rest = c;
    for axis in axes.iter().rev() {
        let n = axis.values.len() as u64;
        let value = &axis.values[(rest % n) as usize];
        rest /= n;
        labels.push((axis.path.text.clone(), label(value)));
    }
    labels.reverse();
    // In the order of the file, so that of two axes on one key the later one holds.
    let mut place = combination_stride(axes);
    for axis in axes {
        let n = axis.values.len() as u64;
        place /= n;
        machine::set(sources, &mut doc, &axis.path, &axis.values[(c / place % n) as usize])?;
    }
    Ok((doc, labels))
}

fn combination_stride(axes: &[Axis<'_>]) -> u64 {
    axes.iter().map(|a| a.values.len() as u64).product()
}

/// All variants of a combination that no option changes.
pub(super) fn variants_of(
    sources: &Sources,
    doc: &Table,
    axes: &[(String, String)],
    dir: &FilePath,
) -> Result<Vec<Plan>, Error> {
    variants(sources, doc, axes, dir, &mut BTreeMap::new())
}

/// All variants of a combination, or the one without a name where the file has none. Options of
/// which one of them has a value are taken out of `unused`.
fn variants(
    sources: &Sources,
    doc: &Table,
    axes: &[(String, String)],
    dir: &FilePath,
    unused: &mut BTreeMap<u16, (String, At)>,
) -> Result<Vec<Plan>, Error> {
    let mut planned = |doc: Table, variant: &str| {
        if !unused.is_empty() {
            let used = sources.options_in(&doc, NOT_OF_RUNS);
            unused.retain(|option, _| !used.contains_key(option));
        }
        plan(sources, doc, variant, axes, dir)
    };
    let Some(node) = doc.get("variant") else {
        return Ok(vec![planned(doc.clone(), "default")?]);
    };
    let Value::List(list) = &node.value else {
        let found = super::read::describe(&node.value);
        let title =
            format!("variant: found {found}, write a list of tables: [[variant]], not [variant]");
        return Err(sources.error(node.at, title, "write [[variant]]"));
    };
    if list.is_empty() {
        let title = "variant: no variant at all, write at least one or leave the key out";
        return Err(sources.error(node.at, title, "write [[variant]]"));
    }
    let bare = without(doc, |e| e.key == "variant");
    let mut plans: Vec<Plan> = Vec::new();
    let mut names = BTreeMap::new();
    for (i, n) in list.iter().enumerate() {
        let path = format!("variant[{i}]");
        let v = Reader::open(sources, n, &VARIANT, &path)?;
        let name = v.name("name")?;
        if let Some(first) = names.insert(name.to_string(), i) {
            let found = format!("\"{name}\" is the name of variant[{first}] too");
            return Err(v.error("name", found, "another name"));
        }
        plans.push(planned(apply(&v, &bare)?, name)?);
    }
    Ok(plans)
}

/// The document as the variant changes it: its kernel, its overrides, its policy.
pub(super) fn apply(v: &Reader<'_>, doc: &Table) -> Result<Table, Error> {
    let mut doc = doc.clone();
    if let (Some(kernel), Some(node)) = (v.opt_kernel("kernel")?, v.find("kernel")) {
        let at = node.at;
        let path = v.sources.path("machine.kernel", at)?;
        v.sources.set(&mut doc, &path, &Node::text(kernel.name(), at))?;
        // A value that is no table has no preset, so the message names the place of the value.
        policy::read(v.sources, doc.get("reclaim"), "reclaim", &policy::preset_of(kernel))?;
        let path = v.sources.path("reclaim.preset", at)?;
        v.sources.set(&mut doc, &path, &Node::text(&policy::preset_of(kernel), at))?;
        // Where compaction is on at all, it is this kernel's.
        let compaction = doc.get("compaction").and_then(Node::table).and_then(|t| t.get("preset"));
        if compaction.is_some_and(|p| p.as_text() != Some(policy::NO_COMPACTION)) {
            let path = v.sources.path("compaction.preset", at)?;
            let preset = policy::compaction_of(kernel);
            v.sources.set(&mut doc, &path, &Node::text(preset, at))?;
        }
    }
    for e in v.table("set")?.map_or(&[][..], |t| &t.entries) {
        let path = v.sources.path(&e.key, e.key_at)?;
        let roots = ["schema", "name", "about", "seed", "seeds", "axes", "variant", "expect"];
        refuse_root(v.sources, &path, &v.name_of("set"), &roots)?;
        if path.text == "machine.kernel" && v.has("kernel") {
            let title = format!("{}: `kernel` says the same", v.name_of("set"));
            return Err(v.sources.error(e.key_at, title, "leave one of them out"));
        }
        machine::set(v.sources, &mut doc, &path, &e.node)?;
    }
    for key in ["reclaim", "compaction"] {
        if let Some(table) = v.find(key)
            && v.table(key)?.is_some()
        {
            let path = v.sources.path(key, table.at)?;
            v.sources.set(&mut doc, &path, table)?;
        }
    }
    Ok(doc)
}

/// Types one finished document.
pub(super) fn plan(
    sources: &Sources,
    written: Table,
    variant: &str,
    axes: &[(String, String)],
    dir: &FilePath,
) -> Result<Plan, Error> {
    let mut doc = written.clone();
    fill(&mut doc, &ROOT);
    let at = doc.entries.iter().map(|e| e.key_at).find(|a| sources.is_file(*a));
    let root = Node { value: Value::Table(doc), at: at.unwrap_or(At::START) };
    let r = Reader::open(sources, &root, &ROOT, "")?;
    r.opt_name("name")?;
    r.opt_text("about")?;
    r.list("expect")?;
    let mut machine = tables::machine(sources, r.need("machine")?)?;
    let choosers = cache_ext::choosers(sources, r.need("machine")?, &machine)?;
    let pods = pods::pods(&r, &mut machine)?;
    let mut told = r.table.clone();
    tables::fill_of_kernel(&mut told, machine.kernel);
    let Given { settings, files } = given(sources, &told, &machine, dir);
    let memcgs: Vec<&str> = machine.memcgs.iter().map(|g| g.name.as_str()).collect();
    let tasks = tasks::tasks(&r, &machine, pods.as_ref(), dir)?;
    tasks::check_processes(&r, &tasks)?;
    tasks::check_huge_pages(&r, &tasks, machine.vm.nr_hugepages)?;
    let managed: u64 =
        machine.nodes.iter().flat_map(|n| &n.zones).map(|z| u64::from(z.managed)).sum();
    tasks::check_pinned(&r, &tasks, managed - machine.os_overhead)?;
    tasks::check_time_passes(&r, &tasks, machine.cost.t_hit)?;
    let damon = damon::monitors(sources, &r, &tasks, &memcgs, machine.kernel)?;
    let daemons = daemon::daemons(sources, &r, &tasks, &machine, pods.as_ref())?;
    let policy = policy::read(sources, r.find("reclaim"), "reclaim", "classic-v6.12")?;
    let compaction = policy::read(sources, r.find("compaction"), "compaction", "compaction-v4.1")?;
    let (seed, seeds): (u64, u64) = (r.get("seed")?, r.get("seeds")?);
    if seed > MANY + 1 - seeds {
        let found = format!("{seeds} seeds from {seed} up are out of range");
        return Err(r.error("seed", found, format!("a seed of at most {}", MANY + 1 - seeds)));
    }
    let (bounds, expect_oom) = (r.get("bounds")?, r.get("expect-oom")?);
    Ok(Plan {
        variant: variant.to_string(),
        axes: axes.to_vec(),
        seed,
        seeds,
        policy,
        compaction,
        tasks,
        damon,
        daemons,
        choosers,
        given: settings.into(),
        files: files.into(),
        bounds,
        expect_oom,
        doc: written,
        machine,
    })
}

/// Number of these runs, for people.
pub(super) fn describe(plans: &[Plan]) -> String {
    let runs: u64 = plans.iter().map(|p| p.seeds).sum();
    counted(runs as usize, "run", "runs")
}
