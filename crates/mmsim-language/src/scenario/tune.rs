//! Plans of tunings: which keys of a scenario may be changed, and what is wanted of its runs.
//!
//! docs/tuning.md is the reference for users. `mmsim::tune` searches.

use std::path::{Path as FilePath, PathBuf};

use super::expand;
use super::expect;
use super::keys::TableSpec;
use super::kinds::Kind;
use super::machine;
use super::raw::{At, Node, Path, Sources, Table, Value};
use super::read::{Reader, fill, unknown};
use super::sweep::axis::{Axis, Folders, Form, Purpose};
use super::sweep::template::folder_of;
use super::tables::{
    MOST_OBJECTIVES, ROOT, SHARES, TUNE, TUNE_CONSTRAINT, TUNE_OBJECTIVE, VARIANT,
};
use super::units::{self, BadQuantity, PAGE_SIZE};
use super::{RunSpec, check_schema, spec_of};
use crate::registry::Registry;
use mmsim_base::error::Error;
use mmsim_report::claim::{Bounds, Claim};
use mmsim_report::derived::Figure;
use mmsim_report::path::{Instrument, Path as FigurePath};

/// A plan that was read and checked, but for what the machines say of its runs.
#[derive(Clone, Debug)]
pub struct TunePlan {
    sources: Sources,
    /// The scenario in its variant, with what the plan sets.
    doc: Table,
    dir: PathBuf,
    name: String,
    about: String,
    scenario: String,
    variant: String,
    knobs: Vec<Knob>,
    objectives: Vec<Objective>,
    constraints: Vec<Constraint>,
    budget: u64,
    budget_at: At,
    population: usize,
    draws: u64,
    seed: u64,
    seeds: u64,
    held_out: u64,
    miniature: Option<(u32, At)>,
    mean_resident: bool,
}

/// A key of the scenario that may be changed.
#[derive(Clone, Debug)]
pub struct Knob {
    axis: Axis,
    /// Coordinates of values are in the order of the values.
    ordered: bool,
}

/// The values of a knob, for programs that choose them.
#[derive(Clone, PartialEq, Debug)]
pub enum Takes<'a> {
    /// One of these.
    OneOf(Vec<&'a str>),
    /// A number, both ends included.
    Range {
        /// The least.
        from: f64,
        /// The largest.
        to: f64,
        /// True if equal ratios, not equal distances, are as far from one another.
        log: bool,
        /// True if it is a whole number.
        whole: bool,
        /// `bytes`, `ns`, `bytes/s`, or nothing.
        unit: &'static str,
    },
}

/// A value of a knob: as the document has it, and its name in reports.
#[derive(Clone, Debug)]
pub struct KnobValue {
    node: Node,
    /// Its name in reports.
    pub label: String,
}

/// A figure that a plan asks for.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Wanted {
    /// Its expression.
    pub of: FigurePath,
    /// Which table of the plan, as `objective[0]`.
    pub(crate) path: String,
    figure_at: At,
    phase_at: At,
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.of.fmt(f)
    }
}

/// An objective of the tuning.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Objective {
    /// Its figure.
    pub wanted: Wanted,
    /// True if more of it is better.
    pub max: bool,
    /// From where on a setting counts nothing; `None`: the worst of the first settings.
    pub reference: Option<f64>,
}

/// Bound on the mean of a figure.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Constraint {
    /// Its figure.
    pub wanted: Wanted,
    /// Its bounds; a value on one does not keep it.
    pub claim: Claim,
}

impl std::fmt::Display for Constraint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.wanted, self.claim.bounds().keys(|b| b.to_string()))
    }
}

impl TunePlan {
    /// Reads a plan file.
    ///
    /// # Errors
    ///
    /// What is wrong with the plan or with its scenario, with file, line and column.
    pub fn from_path(path: impl AsRef<FilePath>) -> Result<TunePlan, Error> {
        let path = path.as_ref();
        let text = mmsim_base::files::read_text(path, "a plan of a tuning")?;
        TunePlan::from_str(&text, &path.display().to_string())
    }

    /// Takes the text of a plan. `name` stands for the file in messages, and the scenario is looked
    /// for beside it.
    ///
    /// # Errors
    ///
    /// As [`TunePlan::from_path`].
    #[allow(clippy::should_implement_trait)] // The trait has no room for the name.
    pub fn from_str(text: &str, name: &str) -> Result<TunePlan, Error> {
        let mut alone = Sources::of(&TUNE);
        let doc = alone.parse(name, text)?;
        Kind::Tuning.expect(&alone, &doc, name)?;
        let root = opened(doc, &TUNE);
        let r = Reader::open(&alone, &root, &TUNE, "")?;
        r.need("version")?;
        r.opt_count("version")?;
        let path = folder_of(name).join(r.name("scenario")?);
        let found = mmsim_base::files::read_text(&path, "a scenario file");
        let scenario_text = found.map_err(|e| match r.find("scenario") {
            Some(node) if e.position().is_none() => alone.place(e, node.at),
            _ => e,
        })?;
        // The scenario is the file, and the plan once more a text beside it: so mistakes in values
        // are shown where the plan has them.
        let mut sources = Sources::of(&ROOT);
        let scenario = sources.parse(&path.display().to_string(), &scenario_text)?;
        check_schema(&sources, &scenario)?;
        let root = opened(sources.parse(name, text)?, &TUNE);
        let shared = sources.clone();
        let r = Reader::open(&shared, &root, &TUNE, "")?;
        let dir = folder_of(&path.display().to_string());
        let folders = Folders { plan: &folder_of(name), scenario: &dir };
        let knobs = knobs(&sources, &r, &scenario, folders)?;
        let (doc, variant) = document(&sources, &r, &scenario, &dir, &knobs)?;

        let objectives = objectives(&r)?;
        let constraints = constraints(&r)?;
        let mean_resident = objectives
            .iter()
            .map(|o| &o.wanted)
            .chain(constraints.iter().map(|c| &c.wanted))
            .any(|w| w.of.needs(Instrument::MeanResident));
        let stem = |path: &FilePath| path.file_stem().map(|s| s.to_string_lossy().into_owned());
        let word = |key: &str| scenario.get(key).and_then(Node::as_text).map(str::to_string);
        let own = r.opt_name("name")?.map(str::to_string);
        let plan = TunePlan {
            name: own.or(stem(FilePath::new(name))).unwrap_or_else(|| "tuning".to_string()),
            about: r.opt_text("about")?.unwrap_or_default().to_string(),
            scenario: word("name").or(stem(&path)).unwrap_or_default(),
            variant,
            knobs,
            objectives,
            constraints,
            budget: r.get("budget")?,
            budget_at: r.find("budget").map_or(root.at, |n| n.at),
            population: r.get::<u64>("population")? as usize,
            draws: r.get("draws")?,
            seed: match r.opt_count("seed")? {
                Some(seed) => seed,
                None => {
                    Reader::open(&sources, &opened(doc.clone(), &ROOT), &ROOT, "")?.get("seed")?
                }
            },
            seeds: r.get("seeds")?,
            held_out: match r.opt_count("held-out")? {
                Some(n) => n,
                None => r.get("seeds")?,
            },
            miniature: miniature(&r)?,
            mean_resident,
            sources,
            doc,
            dir,
        };
        plan.enough(plan.budget)?;
        Ok(plan)
    }

    /// The same with another budget, which an option says.
    ///
    /// # Errors
    ///
    /// It is not enough.
    pub fn with_budget(mut self, budget: u64) -> Result<TunePlan, Error> {
        self.budget_at = At::DEFAULT;
        self.enough(budget)?;
        self.budget = budget;
        Ok(self)
    }

    /// The front can always be finished: own settings and a population, on all seeds.
    fn enough(&self, budget: u64) -> Result<(), Error> {
        let least = (self.population as u64 + 1) * self.seeds;
        if budget >= least {
            return Ok(());
        }
        let title = format!(
            "budget: {budget} runs are fewer than {least}, write at least {least}: a population of \
             {} and the scenario's own setting, on {} seeds",
            self.population, self.seeds
        );
        let label = format!("write at least {least}, or a smaller `population` or fewer `seeds`");
        Err(self.sources.error(self.budget_at, title, label))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its description, or nothing.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Name of its scenario.
    pub fn scenario(&self) -> &str {
        &self.scenario
    }

    /// Name of the variant that is tuned.
    pub fn variant(&self) -> &str {
        &self.variant
    }

    /// Knobs that may be changed.
    pub fn knobs(&self) -> &[Knob] {
        &self.knobs
    }

    /// Its objectives.
    pub fn objectives(&self) -> &[Objective] {
        &self.objectives
    }

    /// Its constraints.
    pub fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// All figures that it asks for: those of objectives, then those of constraints.
    pub fn wanted(&self) -> impl Iterator<Item = &Wanted> {
        let constraints = self.constraints.iter().map(|c| &c.wanted);
        self.objectives.iter().map(|o| &o.wanted).chain(constraints)
    }

    /// By how much figures, those of objectives first, break the constraints: shares of their bounds.
    pub fn violation(&self, figures: &[f64]) -> f64 {
        let figures = &figures[self.objectives.len()..];
        self.constraints.iter().zip(figures).map(|(c, &x)| c.claim.bounds().excess(x)).sum()
    }

    /// True for each knob whose neighbouring coordinates have neighbouring values.
    pub fn ordered_knobs(&self) -> Vec<bool> {
        self.knobs.iter().map(Knob::is_ordered).collect()
    }

    /// Runs of the search.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Settings that are kept.
    pub fn population(&self) -> usize {
        self.population
    }

    /// The seed of the search's own draws.
    pub fn draws(&self) -> u64 {
        self.draws
    }

    /// Seeds that settings are compared by.
    pub fn seeds(&self) -> std::ops::Range<u64> {
        self.seed..self.seed + self.seeds
    }

    /// Seeds that only the front is run with.
    pub fn held_out(&self) -> std::ops::Range<u64> {
        let first = self.seed + self.seeds;
        first..first + self.held_out
    }

    /// The run of a setting with the first seed; `None`: the scenario's own. A value for each knob.
    ///
    /// # Errors
    ///
    /// What is wrong with the values, at their places in plan or scenario.
    pub fn run_of(
        &self,
        values: &[Option<KnobValue>],
        registry: &Registry,
        sound: impl Fn(&RunSpec) -> Result<(), (String, Error)>,
    ) -> Result<RunSpec, Error> {
        let mut doc = self.doc.clone();
        let mut labels = Vec::new();
        for (knob, value) in self.knobs.iter().zip(values) {
            let Some(value) = value else { continue };
            machine::set(&self.sources, &mut doc, &knob.axis.path, &value.node)?;
            labels.push((knob.path().to_string(), value.label.clone()));
        }
        let mut plan = expand::plan(&self.sources, doc, &self.variant, &labels, &self.dir)?;
        plan.seed = self.seed;
        let spec = spec_of(&self.sources, &plan, registry, self.mean_resident)?;
        sound(&spec).map_err(|(path, error)| match error.position() {
            None => self.sources.place(error, self.sources.nearest_place(&plan.doc, &path)),
            Some(_) => error,
        })?;
        Ok(spec)
    }

    /// log2 of the share of pages by which new settings are tried first.
    pub fn miniature(&self) -> Option<u32> {
        self.miniature.map(|m| m.0)
    }

    /// An error about the share of miniatures.
    pub fn no_miniature(&self, title: &str, help: &str) -> Error {
        let at = self.miniature.map_or(At::START, |m| m.1);
        self.sources.error(at, format!("miniature: {title}"), help)
    }

    /// Error for a figure that runs do not have: the key that wants it, the part that is missing,
    /// and the existing parts.
    pub fn no_figure(&self, of: &Wanted, key: &str, what: &str, instead: &str) -> Error {
        let at = if key == "phase" { of.phase_at } else { of.figure_at };
        let title = format!("{}.{key}: {what}", of.path);
        self.sources.error(at, title, "it cannot be computed").help(instead.to_string())
    }
}

/// A document as a table of keys with their defaults.
pub(super) fn opened(mut doc: Table, spec: &'static TableSpec) -> Node {
    fill(&mut doc, spec);
    let at = doc.entries.iter().map(|e| e.key_at).find(|a| !a.is_default());
    Node { value: Value::Table(doc), at: at.unwrap_or(At::START) }
}

/// log2 of the share by which settings are tried first, and where the plan says it.
fn miniature(r: &Reader<'_>) -> Result<Option<(u32, At)>, Error> {
    if !r.has("miniature") {
        return Ok(None);
    }
    let (word, at) = (r.choice("miniature")?, r.need("miniature")?.at);
    Ok(SHARES.iter().position(|s| *s == word).map(|n| (n as u32 + 1, at)))
}

fn knobs(
    sources: &Sources,
    r: &Reader<'_>,
    scenario: &Table,
    folders: Folders<'_>,
) -> Result<Vec<Knob>, Error> {
    r.need("knobs")?;
    let mut all: Vec<Knob> = Vec::new();
    for e in r.table("knobs")?.map_or(&[][..], |t| &t.entries) {
        let path: Path = sources.path(&e.key, e.key_at)?;
        if let Some(before) = all.iter().find(|k| k.axis.path.is(&path, scenario)) {
            let title = format!("knobs: `{}` is the same key as `{}`", path.text, before.path());
            return Err(sources.error(e.key_at, title, "write one range"));
        }
        let roots = ["schema", "name", "about", "axes", "expect", "bounds"];
        expand::refuse_root(sources, &path, "knobs", &roots)?;
        let axis = Axis::read(sources, e, path, folders, Purpose::Knob)?;
        let number = |n: &Node| matches!(n.value, Value::Integer(_) | Value::Float(_));
        let ordered = axis.list().is_none_or(|list| list.iter().all(|(n, _)| number(n)));
        all.push(Knob { axis, ordered });
    }
    if all.is_empty() || all.len() > MOST_KNOBS {
        let found = format!("{} knobs", all.len());
        return Err(r.error("knobs", found, format!("one to {MOST_KNOBS} of them")));
    }
    Ok(all)
}

/// Knobs at most: the first settings are points of Halton's sequence.
const MOST_KNOBS: usize = super::points::MOST_DIMENSIONS;

/// The document that is run: the scenario in its variant, with what the plan sets on top.
pub(super) fn document(
    sources: &Sources,
    r: &Reader<'_>,
    scenario: &Table,
    dir: &FilePath,
    knobs: &[Knob],
) -> Result<(Table, String), Error> {
    let mut doc = scenario.clone();
    let mut set = Vec::new();
    for e in r.table("set")?.map_or(&[][..], |t| &t.entries) {
        let path = sources.path(&e.key, e.key_at)?;
        let roots = ["schema", "name", "about", "seed", "seeds", "axes", "variant", "expect"];
        expand::refuse_root(sources, &path, &r.name_of("set"), &roots)?;
        if knobs.iter().any(|k| k.axis.path.is(&path, scenario)) {
            let title = format!("set: `{}` is a knob too", path.text);
            return Err(sources.error(path.at, title, "leave it out of one of them"));
        }
        set.push((path, e.node.clone()));
    }
    for axis in expand::axes(sources, scenario)? {
        let same = |p: &Path| p.is(&axis.path, scenario);
        if !knobs.iter().any(|k| same(&k.axis.path)) && !set.iter().any(|(p, _)| same(p)) {
            let title = format!("axes: the scenario has several values of `{}`", axis.path.text);
            let error = sources.error(axis.path.at, title, "a plan runs one of them");
            return Err(error.help(match knobs {
                [] => "write one value into `set`",
                _ => "make it a knob of the plan, or write one value into its `set`",
            }));
        }
    }
    doc.entries.retain(|e| e.key != "axes" && e.key != "expect");
    let first = expand::variants_of(sources, &doc, &[], dir)?;
    let names: Vec<&str> = first.iter().map(|p| p.variant.as_str()).collect();
    let wanted = match (r.opt_name("variant")?, &names[..]) {
        (Some(word), _) if names.contains(&word) => word,
        (Some(word), _) => {
            let at = r.find("variant").map_or(r.at, |n| n.at);
            let prefix = format!("{}: ", r.name_of("variant"));
            return Err(unknown(sources, at, &prefix, "variant", word, &names));
        }
        (None, [only]) => only,
        (None, _) => {
            let title = format!("the scenario has {} variants, add `variant`", names.len());
            let error = sources.error(r.at, title, "say which of them is run");
            return Err(error.help(format!("known: {}", names.join(", "))));
        }
    };
    let place = names.iter().position(|n| *n == wanted).unwrap_or(0);
    if let Some(list) = scenario.get("variant").and_then(Node::list) {
        let path = format!("variant[{place}]");
        doc = expand::apply(&Reader::open(sources, &list[place], &VARIANT, &path)?, &doc)?;
        doc.entries.retain(|e| e.key != "variant");
    }
    // One variant only: what the plan sets is of that.
    for (path, node) in &set {
        machine::set(sources, &mut doc, path, node)?;
    }
    Ok((doc, wanted.to_string()))
}

fn wanted(r: &Reader<'_>, path: &str) -> Result<Wanted, Error> {
    let figure = r.name("figure")?.to_string();
    let at = |key: &str| r.find(key).map_or(r.at, |n| n.at);
    let named = Figure::named(&figure).is_some();
    if let Some(part) = expect::no_figure(&figure).filter(|_| !named) {
        let names = Figure::ALL.iter().map(|f| f.name());
        let all: Vec<&str> = names.chain(expect::figures()).collect();
        return Err(r.unknown_word("figure", "figure", part, &all));
    }
    Ok(Wanted {
        of: FigurePath::named(&figure).in_phase(r.opt_name("phase")?.map(str::to_string)),
        path: path.to_string(),
        figure_at: at("figure"),
        phase_at: at("phase"),
    })
}

fn objectives(r: &Reader<'_>) -> Result<Vec<Objective>, Error> {
    let list = r.list("objective")?;
    if !(1..=MOST_OBJECTIVES).contains(&list.len()) {
        let at = list.last().map_or(r.at, |n| n.at);
        let title = format!(
            "objective: a tuning has 1 to {MOST_OBJECTIVES} objectives, and this has {}",
            list.len()
        );
        let label = match list.len() {
            0 => "add [[objective]] with `figure` and `goal`",
            _ => "leave some out, or make them [[constraint]]",
        };
        return Err(r.sources.error(at, title, label));
    }
    let mut all: Vec<Objective> = Vec::new();
    for (i, node) in list.iter().enumerate() {
        let path = format!("objective[{i}]");
        let o = Reader::open(r.sources, node, &TUNE_OBJECTIVE, &path)?;
        let wanted = wanted(&o, &path)?;
        let same = |a: &Objective| a.wanted.of == wanted.of;
        if let Some(first) = all.iter().position(same) {
            return Err(o.error("figure", format!("objective[{first}] has it"), "another figure"));
        }
        let max = o.choice("goal")? == "max";
        all.push(Objective { wanted, max, reference: o.opt_number("reference")? });
    }
    Ok(all)
}

fn constraints(r: &Reader<'_>) -> Result<Vec<Constraint>, Error> {
    let mut all = Vec::new();
    for (i, node) in r.list("constraint")?.iter().enumerate() {
        let path = format!("constraint[{i}]");
        let c = Reader::open(r.sources, node, &TUNE_CONSTRAINT, &path)?;
        let wanted = wanted(&c, &path)?;
        let (above, below) = (c.opt_number("above")?, c.opt_number("below")?);
        match (above, below) {
            (None, None) => {
                let title = format!("{path}: needs `above` or `below`");
                return Err(r.sources.error(node.at, title, "add `below`: a number"));
            }
            (Some(a), Some(b)) if a >= b => {
                return Err(c.error("below", "nothing is between the two", "more than `above`"));
            }
            (low, high) => {
                let claim = Claim::between(Bounds { low, high, open: true });
                all.push(Constraint { wanted, claim });
            }
        }
    }
    Ok(all)
}

impl Knob {
    /// The key.
    pub fn path(&self) -> &str {
        &self.axis.path.text
    }

    /// True if neighbouring coordinates have neighbouring values.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// The value at a coordinate in [0, 1).
    pub fn at(&self, x: f64) -> KnobValue {
        let (node, label) = self.axis.at(x);
        KnobValue { node, label }
    }

    /// Its values.
    pub fn takes(&self) -> Takes<'_> {
        match (self.axis.list(), self.axis.range()) {
            (Some(list), _) => Takes::OneOf(list.iter().map(|(_, label)| label.as_str()).collect()),
            (None, Some(range)) => {
                let (scale, unit) = match range.form {
                    Form::Whole | Form::Number => (1.0, ""),
                    Form::Pages => (PAGE_SIZE as f64, "bytes"),
                    Form::Nanoseconds => (1.0, "ns"),
                    Form::BytesPerSecond => (1.0, "bytes/s"),
                };
                Takes::Range {
                    from: range.from * scale,
                    to: range.to * scale,
                    log: range.log,
                    whole: range.form != Form::Number,
                    unit,
                }
            }
            (None, None) => Takes::OneOf(Vec::new()),
        }
    }

    /// A value by its name in reports, or a number of the range in its unit.
    ///
    /// # Errors
    ///
    /// It is none of its values. The error says what to write.
    pub fn value_of(&self, given: &serde_json::Value) -> Result<KnobValue, BadQuantity> {
        let takes = self.takes();
        let none = format!("{given} is none of its values");
        let no = |write: String| Err(BadQuantity::told(none.as_str(), write));
        match (&takes, self.axis.list(), self.axis.range()) {
            (Takes::OneOf(words), Some(list), _) => {
                let text = given.as_str().map_or_else(|| given.to_string(), str::to_string);
                match list.iter().find(|(_, label)| *label == text) {
                    Some((node, label)) => {
                        Ok(KnobValue { node: node.clone(), label: label.clone() })
                    }
                    None => no(format!("one of {}", words.join(", "))),
                }
            }
            (Takes::Range { from, to, .. }, _, Some(range)) => match given.as_f64() {
                Some(x) if (*from..=*to).contains(&x) => {
                    let scale = if range.form == Form::Pages { PAGE_SIZE as f64 } else { 1.0 };
                    let (node, label) = range.value(x / scale);
                    Ok(KnobValue { node, label })
                }
                _ => no(format!("a number from {from} to {to}")),
            },
            _ => no("another".into()),
        }
    }

    /// A value by its name in reports, as [`Knob::value_of`] takes it.
    pub fn given(&self, label: &str) -> serde_json::Value {
        let number = match self.axis.range() {
            Some(range) if range.form == Form::Pages => {
                units::pages(label).ok().map(|n| n as f64 * PAGE_SIZE as f64)
            }
            Some(_) => units::measure(label),
            None => None,
        };
        match number {
            Some(x) if x.fract() == 0.0 => serde_json::json!(x as i64),
            Some(x) => serde_json::json!(x),
            None => serde_json::json!(label),
        }
    }

    /// A value that the scenario has itself, as a report prints it: its coordinate if it is a value
    /// of the knob, and its name as values of the knob are named.
    pub fn present(&self, text: &str) -> (Option<f64>, String) {
        match (self.axis.list(), self.axis.range()) {
            (Some(list), _) => {
                let size = units::measure(text);
                let same = |label: &str| {
                    label == text || (size.is_some() && units::measure(label) == size)
                };
                match list.iter().position(|(_, label)| same(label)) {
                    Some(i) => (Some((i as f64 + 0.5) / list.len() as f64), list[i].1.clone()),
                    None => (None, text.to_string()),
                }
            }
            (None, Some(range)) => {
                let number = match range.form {
                    Form::Pages => units::pages(text).ok().map(|n| n as f64),
                    _ => units::measure(text),
                };
                match number {
                    Some(x) => (range.place(x), range.value(x).1),
                    None => (None, text.to_string()),
                }
            }
            (None, None) => (None, text.to_string()),
        }
    }

    /// Its values in the words of the plan.
    pub fn described(&self) -> String {
        match (self.axis.list(), self.axis.range()) {
            (Some(list), _) => {
                list.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(", ")
            }
            (None, Some(range)) => {
                let log = if range.log { ", log" } else { "" };
                let [from, to] = [range.from, range.to].map(|x| range.value(x).1);
                format!("{from} to {to}{log}")
            }
            (None, None) => String::new(),
        }
    }
}
