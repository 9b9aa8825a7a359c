//! A scenario of a plan: every setting of it by its number.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::super::expand::{self, Plan};
use super::super::expect::{self, Known};
use super::super::machine;
use super::super::points::{MOST_DIMENSIONS, Method};
use super::super::raw::{Node, Sources, Table, Value};
use super::super::read::{Reader, fill, unknown};
use super::super::tables::{ROOT, SWEEP, SWEEP_SAMPLE, VARIANT};
use super::super::{RunSpec, check_schema, spec_of};
use super::axis::{Axis, Folders, Purpose};
use super::canonical::{Canonical, Contents, Files, Slot};
use super::{MOST_UNITS, opened};
use crate::registry::Registry;
use mmsim_base::error::Error;
use mmsim_report::expect::Expectation;

/// A scenario with what the plan says of it.
#[derive(Clone, Debug)]
pub(super) struct Template {
    /// The scenario and the plan.
    sources: Sources,
    /// The scenario without its axes, with what the plan sets: what every setting copies.
    doc: Table,
    /// Its variants and expectations, which no setting changes.
    apart: Table,
    dir: PathBuf,
    pub(super) name: String,
    pub(super) about: String,
    grid: Vec<Axis>,
    sample: Option<Sample>,
    /// Names of variants that run, each with its place in the file.
    pub(super) variants: Vec<(String, usize)>,
    pub(super) seed: u64,
    pub(super) seeds: u64,
    pub(super) settings: u64,
    /// Expectations of the scenario on runs that the plan has.
    pub(super) expect: Vec<Expectation>,
    /// Expectations about variants or values that the plan does not have.
    pub(super) unasked: usize,
    /// True if any setting can have a monitor of accesses.
    may_monitor: bool,
    /// The setting of the last query, and true if a variant has a monitor there.
    monitored: Arc<Mutex<Option<(u64, bool)>>>,
    contents: Arc<Contents>,
    /// First setting of each variant, where names of the others follow from it.
    named: Vec<Named>,
}

/// A variant at the first setting.
#[derive(Clone, Debug)]
struct Named {
    first: Canonical,
    /// For each axis its key, and the part of its first value; `None`: the variant says otherwise.
    axes: Vec<Option<(Slot, u128)>>,
}

#[derive(Clone, Debug)]
struct Sample {
    method: Method,
    points: u64,
    seed: u64,
    axes: Vec<Axis>,
}

/// Where one setting is on its axes.
type Labels = Vec<(String, String)>;

impl Template {
    /// Reads the scenario `file` of a plan: its name and text. `missing` places an error of a file
    /// that cannot be read.
    pub(super) fn read(
        file: &str,
        plan: (&str, &str),
        contents: &Arc<Contents>,
        missing: impl Fn(Error) -> Error,
    ) -> Result<Template, Error> {
        let (origin, plan_text) = plan;
        let plan_dir = folder_of(origin);
        let path = plan_dir.join(file);
        let text = mmsim_base::files::read_text(&path, "a scenario file").map_err(missing)?;
        let mut sources = Sources::of(&ROOT);
        let doc = sources.parse(&path.display().to_string(), &text)?;
        check_schema(&sources, &doc)?;
        // Once more, so that mistakes in values are shown where the plan has them.
        let plan_doc = sources.parse(origin, plan_text)?;
        let plan_node = opened(plan_doc);
        let shared = sources.clone();
        let plan = Reader::open(&shared, &plan_node, &SWEEP, "")?;
        let dir = folder_of(&path.display().to_string());
        let folders = Folders { plan: &plan_dir, scenario: &dir };

        let mut own = doc.clone();
        own.entries.retain(|e| e.key != "axes");
        for e in plan.table("set")?.map_or(&[][..], |t| &t.entries) {
            let path = sources.path(&e.key, e.key_at)?;
            let roots = ["schema", "name", "about", "seed", "seeds", "axes", "variant", "expect"];
            expand::refuse_root(&sources, &path, "set", &roots)?;
            machine::set(&sources, &mut own, &path, &e.node)?;
        }
        let sample = sample(&sources, &plan, &own, folders)?;
        let mut grid: Vec<Axis> = expand::axes(&sources, &doc)?
            .into_iter()
            .map(|a| Axis::listed(a.path, a.values))
            .collect();
        if let Some(bad) =
            grid.iter().find(|a| ["seed", "seeds", "variant"].contains(&a.path.root()))
        {
            let title = format!("axes: `{}` is no axis of a sweep", bad.path.root());
            return Err(sources.error(bad.path.at, title, "write it in the plan"));
        }
        let mut placed: Vec<Axis> = Vec::new();
        for e in plan.table("axes")?.map_or(&[][..], |t| &t.entries) {
            let path = expand::axis_path(&sources, e, &own, placed.iter().map(|a| &a.path))?;
            let axis = Axis::read(&sources, e, path, folders, Purpose::Grid)?;
            let same = |a: &&mut Axis| a.path.is(&axis.path, &own);
            // The plan says more of an axis that the scenario has.
            match grid.iter_mut().find(same) {
                Some(old) => *old = axis.clone(),
                None => grid.push(axis.clone()),
            }
            placed.push(axis);
        }
        for axis in sample.iter().flat_map(|s| &s.axes) {
            if placed.iter().any(|a| a.path.is(&axis.path, &own)) {
                let title = format!("sample.axes: `{}` is in [axes] too", axis.path.text);
                return Err(sources.error(axis.path.at, title, "leave it out of one of them"));
            }
            grid.retain(|a| !a.path.is(&axis.path, &own));
        }
        let points = sample.as_ref().map_or(1, |s| s.points);
        let settings = grid.iter().fold(points, |n, a| n.saturating_mul(a.len()));

        let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned());
        let word = |key: &str| doc.get(key).and_then(Node::as_text).map(str::to_string);
        let mut template = Template {
            name: word("name").or(stem).unwrap_or_default(),
            about: word("about").unwrap_or_default(),
            doc: own,
            apart: Table::default(),
            dir: dir.clone(),
            grid,
            sample,
            variants: Vec::new(),
            seed: plan.opt_count("seed")?.unwrap_or(1),
            seeds: plan.opt_count("seeds")?.unwrap_or(1),
            settings,
            expect: Vec::new(),
            unasked: 0,
            may_monitor: text.contains("damon") || plan_text.contains("damon"),
            monitored: Arc::default(),
            contents: Arc::clone(contents),
            named: Vec::new(),
            sources,
        };
        // All errors of the scenario itself are reported at its first setting.
        let scenario = doc;
        let (doc, labels) = template.setting(0)?;
        let first = expand::variants_of(&template.sources, &doc, &labels, &template.dir)?;
        template.seed = plan.opt_count("seed")?.unwrap_or(first[0].seed);
        template.seeds = plan.opt_count("seeds")?.unwrap_or(first[0].seeds);
        let names: Vec<&str> = first.iter().map(|p| p.variant.as_str()).collect();
        template.variants = chosen(&template.sources, &plan, &names, &template.name)?;
        let own = expand::axes(&template.sources, &scenario)?;
        template.expectations(Known::of_variants(names.into_iter()), &own)?;
        let entries = std::mem::take(&mut template.doc.entries).into_iter();
        let (apart, entries) =
            entries.partition(|e| ["variant", "expect"].contains(&e.key.as_str()));
        (template.apart, template.doc) = (Table { entries: apart }, Table { entries });
        template.name()?;
        let units =
            settings.saturating_mul(template.variants.len() as u64).saturating_mul(template.seeds);
        if units > MOST_UNITS || template.seed > MOST_UNITS - template.seeds {
            let title = format!("{}: more than {MOST_UNITS} units", template.name);
            return Err(Error::plain(title).help("write fewer values, points or seeds"));
        }
        Ok(template)
    }

    /// Reads what the scenario expects, and keeps what the plan has runs for. `all`: the variants
    /// of the scenario; `own`: its axes.
    fn expectations(&mut self, mut all: Known, own: &[expand::Axis<'_>]) -> Result<(), Error> {
        if self.doc.get("expect").is_none() {
            return Ok(());
        }
        let mut known = Known::of_variants(self.variants.iter().map(|v| v.0.as_str()));
        let drawn = self.sample.iter().flat_map(|s| &s.axes).map(|a| (a, false));
        for (axis, listed) in self.grid.iter().map(|a| (a, true)).chain(drawn) {
            let values = if listed { 0..axis.len() } else { 0..0 };
            known.add(&axis.path.text, values.clone().map(|i| axis.value(i).1));
            all.add(&axis.path.text, values.map(|i| axis.value(i).1));
        }
        for axis in own {
            all.add(&axis.path.text, axis.values.iter().map(expand::label));
        }
        // A name that neither has is a mistake.
        expect::expectations(&self.sources, &self.doc, &all)?;
        self.unasked = expect::retain_asked(&self.sources, &mut self.doc, &known);
        self.expect = expect::expectations(&self.sources, &self.doc, &known)?;
        Ok(())
    }

    /// Names of the axes, in the order of reports.
    pub(super) fn axes(&self) -> impl Iterator<Item = &str> {
        let drawn = self.sample.iter().flat_map(|s| &s.axes);
        self.grid.iter().chain(drawn).map(|a| a.path.text.as_str())
    }

    /// Values of each axis of the grid, and true if each of them was written out.
    pub(super) fn grid_lengths(&self) -> impl Iterator<Item = (u64, bool)> {
        self.grid.iter().map(|a| (a.len(), a.is_written()))
    }

    /// Points of the sample, if there is one.
    pub(super) fn points(&self) -> u64 {
        self.sample.as_ref().map_or(1, |s| s.points)
    }

    /// Each axis with its value in a setting. Of the axes of the grid the first changes slowest,
    /// and points of a sample fastest.
    fn values(&self, setting: u64) -> impl Iterator<Item = (&Axis, (Node, String))> {
        let mut place = self.settings;
        let grid = self.grid.iter().map(move |axis| {
            place /= axis.len();
            (axis, axis.value(setting / place % axis.len()))
        });
        let drawn = self.sample.iter().flat_map(move |s| {
            let value = move |(nth, axis): (usize, &'_ Axis)| {
                axis.drawn(s.method, s.seed, setting % s.points, nth)
            };
            s.axes.iter().enumerate().map(move |(nth, axis)| (axis, value((nth, axis))))
        });
        grid.chain(drawn)
    }

    /// The document of a setting.
    fn setting(&self, setting: u64) -> Result<(Table, Labels), Error> {
        let mut doc = self.doc.clone();
        let mut labels = Labels::new();
        for (axis, (node, label)) in self.values(setting) {
            labels.push((axis.path.text.clone(), label));
            machine::set(&self.sources, &mut doc, &axis.path, &node)?;
        }
        Ok((doc, labels))
    }

    /// Where a setting is on the axes.
    pub(super) fn labels(&self, setting: u64) -> Labels {
        self.values(setting).map(|(axis, (_, label))| (axis.path.text.clone(), label)).collect()
    }

    fn in_variant(&self, doc: &Table, at: usize) -> Result<Table, Error> {
        match self.apart.get("variant").and_then(Node::list) {
            Some(list) => {
                let path = format!("variant[{at}]");
                expand::apply(&Reader::open(&self.sources, &list[at], &VARIANT, &path)?, doc)
            }
            None => Ok(doc.clone()),
        }
    }

    fn files(&self) -> Files<'_> {
        Files { dir: &self.dir, contents: &self.contents }
    }

    /// A setting in some of the variants that run, as the documents say.
    fn canonical(
        &self,
        setting: u64,
        variants: Range<usize>,
    ) -> Result<Vec<(Canonical, Table)>, Error> {
        let (base, _) = self.setting(setting)?;
        let resident = self.may_monitor && self.resident(setting)?;
        let of = |(name, at): &(String, usize)| {
            let mut doc = self.in_variant(&base, *at)?;
            fill(&mut doc, &ROOT);
            Ok((Canonical::of(&doc, name, resident, self.files()), doc))
        };
        self.variants[variants].iter().map(of).collect()
    }

    /// Looks whether names follow from the values of the axes alone.
    fn name(&mut self) -> Result<(), Error> {
        let values: Vec<(&Axis, (Node, String))> = self.values(0).collect();
        let named = |(first, doc): (Canonical, Table)| {
            let axis = |(axis, (node, _)): &(&Axis, (Node, String))| {
                let slot = Slot::of(&doc, &axis.path)?;
                let own = Slot::node(&doc, &axis.path)? == node;
                let part = slot.part(&node.value, self.files())?;
                Some(own.then_some((slot, part)))
            };
            let axes = values.iter().map(axis).collect::<Option<Vec<_>>>()?;
            Some(Named { first, axes })
        };
        let all = self
            .canonical(0, 0..self.variants.len())?
            .into_iter()
            .map(named)
            .collect::<Option<Vec<_>>>();
        self.named = all.unwrap_or_default();
        Ok(())
    }

    /// A setting in some of the variants by its values alone, where that is possible.
    fn by_values(&self, setting: u64, variants: Range<usize>) -> Option<Vec<Canonical>> {
        let values: Vec<(&Axis, (Node, String))> = self.values(setting).collect();
        let of = |named: &Named| {
            let axes = named.axes.iter().zip(&values);
            let mut axes = axes.filter_map(|(a, (_, (node, _)))| a.map(|a| (a, node)));
            axes.try_fold(named.first, |all, ((slot, old), node)| {
                Some(all.with(old, slot.part(&node.value, self.files())?))
            })
        };
        self.named.get(variants)?.iter().map(of).collect()
    }

    /// Names of some units of a setting, which has for each variant each seed.
    pub(super) fn ids(&self, setting: u64, within: Range<u64>) -> Result<Vec<u128>, Error> {
        let first = (within.start / self.seeds) as usize;
        let variants = first..within.end.div_ceil(self.seeds) as usize;
        let all: Vec<Canonical> = match self.by_values(setting, variants.clone()) {
            Some(all) => all,
            None => self.canonical(setting, variants)?.into_iter().map(|c| c.0).collect(),
        };
        let id = |i: u64| all[(i / self.seeds) as usize - first].seeded(self.seed + i % self.seeds);
        Ok(within.map(id).collect())
    }

    /// The run of a setting and variant with the first seed, not checked yet.
    pub(super) fn planned(&self, setting: u64, variant: usize) -> Result<(Plan, bool), Error> {
        let (base, labels) = self.setting(setting)?;
        // Other variants matter only where one may have a monitor.
        let resident = self.may_monitor && self.resident(setting)?;
        let doc = self.in_variant(&base, self.variants[variant].1)?;
        let name = &self.variants[variant].0;
        let mut plan = expand::plan(&self.sources, doc, name, &labels, &self.dir)?;
        plan.seed = self.seed;
        Ok((plan, resident))
    }

    /// True if some variant has a monitor in a setting. Its variants are checked one after the
    /// other.
    fn resident(&self, setting: u64) -> Result<bool, Error> {
        let last = *self.monitored.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = last.filter(|last| last.0 == setting) {
            return Ok(known);
        }
        let (base, _) = self.setting(setting)?;
        let mut found = false;
        for (_, at) in &self.variants {
            found = found || monitored(&self.in_variant(&base, *at)?);
        }
        *self.monitored.lock().unwrap_or_else(PoisonError::into_inner) = Some((setting, found));
        Ok(found)
    }

    /// The run of a plan that [`Template::planned`] made.
    pub(super) fn spec(
        &self,
        plan: &Plan,
        resident: bool,
        registry: &Registry,
    ) -> Result<RunSpec, Error> {
        spec_of(&self.sources, plan, registry, resident)
    }

    /// An error at the place of a key of a run.
    pub(super) fn placed(&self, plan: &Plan, path: &str, error: Error) -> Error {
        match error.position() {
            None => {
                let doc = if path.starts_with("expect[") { &self.apart } else { &plan.doc };
                self.sources.place(error, self.sources.nearest_place(doc, path))
            }
            Some(_) => error,
        }
    }
}

pub(in crate::scenario) fn folder_of(file: &str) -> PathBuf {
    FilePath::new(file).parent().map(FilePath::to_path_buf).unwrap_or_default()
}

fn monitored(doc: &Table) -> bool {
    doc.get("damon").and_then(Node::list).is_some_and(|l| !l.is_empty())
}

/// The variants that the plan names, in the order of the scenario.
fn chosen(
    sources: &Sources,
    plan: &Reader<'_>,
    names: &[&str],
    scenario: &str,
) -> Result<Vec<(String, usize)>, Error> {
    let wanted = plan.texts("variants", "variant")?;
    let known: BTreeSet<&str> = names.iter().copied().collect();
    let mut seen = BTreeSet::new();
    for &(word, at) in wanted.iter().flatten() {
        if !known.contains(word) {
            let what = format!("variant of {scenario}");
            return Err(unknown(sources, at, "variants: ", &what, word, names));
        }
        if !seen.insert(word) {
            let title = format!("variants: \"{word}\" is there twice");
            return Err(sources.error(at, title, "write each variant once"));
        }
    }
    let is = |name: &str| wanted.is_none() || seen.contains(name);
    let all = names.iter().enumerate().filter(|(_, name)| is(name));
    Ok(all.map(|(at, name)| (name.to_string(), at)).collect())
}

fn sample(
    sources: &Sources,
    plan: &Reader<'_>,
    doc: &Table,
    folders: Folders<'_>,
) -> Result<Option<Sample>, Error> {
    let Some(node) = plan.find("sample") else { return Ok(None) };
    let mut node = node.clone();
    if let Value::Table(t) = &mut node.value {
        fill(t, &SWEEP_SAMPLE);
    }
    let r = Reader::open(sources, &node, &SWEEP_SAMPLE, "sample")?;
    let method = Method::nth(r.position("method")?);
    r.need("axes")?;
    let mut axes: Vec<Axis> = Vec::new();
    for e in r.table("axes")?.map_or(&[][..], |t| &t.entries) {
        let path = expand::axis_path(sources, e, doc, axes.iter().map(|a| &a.path))?;
        axes.push(Axis::read(sources, e, path, folders, Purpose::Sample)?);
    }
    if axes.is_empty() || method == Method::Halton && axes.len() > MOST_DIMENSIONS {
        let found = format!("{} axes", axes.len());
        let write = match axes.len() {
            0 => "at least one".to_string(),
            _ => format!("at most {MOST_DIMENSIONS}, or method = \"random\""),
        };
        return Err(r.error("axes", found, write));
    }
    let (points, seed) = (r.get("points")?, r.get("seed")?);
    Ok(Some(Sample { method, points, seed, axes }))
}
