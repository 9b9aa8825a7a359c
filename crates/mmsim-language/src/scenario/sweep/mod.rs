//! Plans of sweeps: which scenarios run with which values, in which variants, with which seeds.
//!
//! A plan has any number of units. Each is made from its number on request, so a plan of millions
//! takes no more memory than one of ten. docs/sweeps.md is the reference for users.

pub(super) mod axis;
mod canonical;
pub(super) mod template;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::RunSpec;
use super::expand;
use super::inline::inline;
use super::kinds::Kind;
use super::raw::{At, Node, Sources, Table, Value};
use super::read::{Reader, fill};
use super::tables::SWEEP;
use crate::registry::Registry;
use canonical::Contents;
use mmsim_base::error::Error;
use mmsim_report::expect::Expectation;
use template::Template;

/// Units of a plan at most: that many can be counted exactly in every number format.
pub const MOST_UNITS: u64 = 1 << 53;

/// A plan that was read and checked, but for the values of single settings.
#[derive(Clone, Debug)]
pub struct SweepPlan {
    name: String,
    about: String,
    templates: Vec<Template>,
}

/// Which unit of a plan: its numbers within the plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub struct UnitPlace {
    /// Which of the scenarios.
    pub scenario: usize,
    /// Which setting of its axes.
    pub setting: u64,
    /// Which of its variants.
    pub variant: usize,
    /// The seed itself.
    pub seed: u64,
}

impl UnitPlace {
    /// The unit with these numbers.
    pub fn new(scenario: usize, setting: u64, variant: usize, seed: u64) -> UnitPlace {
        UnitPlace { scenario, setting, variant, seed }
    }
}

/// Units of one setting: those of a range of its numbers, which count its variants and, fastest,
/// their seeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    scenario: usize,
    setting: u64,
    within: Range<u64>,
}

/// A unit that can be run but was not looked at by the machines yet.
#[derive(Debug)]
pub struct Planned<'a> {
    template: &'a Template,
    plan: expand::Plan,
    /// The run.
    pub spec: RunSpec,
}

impl Planned<'_> {
    /// An error of the run, at the place of the key that it is about.
    pub fn placed(&self, path: &str, error: Error) -> Error {
        self.template.placed(&self.plan, path, error)
    }
}

/// A document as a table of keys with their defaults.
fn opened(mut doc: Table) -> Node {
    fill(&mut doc, &SWEEP);
    let at = doc.entries.iter().map(|e| e.key_at).find(|a| !a.is_default());
    Node { value: Value::Table(doc), at: at.unwrap_or(At::START) }
}

impl SweepPlan {
    /// Reads a plan file.
    ///
    /// # Errors
    ///
    /// What is wrong with the plan or with one of its scenarios, with file, line and column.
    pub fn from_path(path: impl AsRef<Path>) -> Result<SweepPlan, Error> {
        let path = path.as_ref();
        let text = mmsim_base::files::read_text(path, "a plan of a sweep")?;
        SweepPlan::from_str(&text, &path.display().to_string())
    }

    /// Takes the text of a plan. `name` stands for the file in messages, and scenarios and files
    /// are looked for beside it.
    ///
    /// # Errors
    ///
    /// As [`SweepPlan::from_path`].
    #[allow(clippy::should_implement_trait)] // The trait has no room for the name.
    pub fn from_str(text: &str, name: &str) -> Result<SweepPlan, Error> {
        let mut sources = Sources::of(&SWEEP);
        let doc = sources.parse(name, text)?;
        Kind::Sweep.expect(&sources, &doc, name)?;
        check_version(&sources, &doc)?;
        let node = opened(doc);
        let r = Reader::open(&sources, &node, &SWEEP, "")?;
        r.need("version")?;
        let stem = Path::new(name).file_stem().map(|s| s.to_string_lossy().into_owned());
        let own = r.opt_name("name")?.map(str::to_string);
        r.need("scenarios")?;
        let files = r.texts("scenarios", "file")?.unwrap_or_default();
        let contents = Arc::new(Contents::default());
        let mut templates: Vec<Template> = Vec::new();
        for (i, &(file, at)) in files.iter().enumerate() {
            let template = Template::read(file, (name, text), &contents, |e| match e.position() {
                None => sources.place(e, at),
                Some(_) => e,
            })?;
            if let Some(first) = templates.iter().position(|t| t.name == template.name) {
                let title = format!(
                    "scenarios[{i}]: it is called `{}` as scenarios[{first}] is, and results would \
                     have the same name",
                    template.name
                );
                return Err(sources.error(at, title, "give it another `name`"));
            }
            templates.push(template);
        }
        let units = templates.iter().map(units_of).fold(0, u64::saturating_add);
        if units > MOST_UNITS {
            let title = format!("{name}: more than {MOST_UNITS} units");
            return Err(Error::plain(title).help("write fewer values, points or seeds"));
        }
        Ok(SweepPlan {
            name: own.or(stem).filter(|n| !n.is_empty()).unwrap_or_else(|| "sweep".to_string()),
            about: r.opt_text("about")?.unwrap_or_default().to_string(),
            templates,
        })
    }

    /// Its name, which its store carries.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its description, or nothing.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Units: scenarios, times settings, times variants, times seeds.
    pub fn units(&self) -> u64 {
        self.templates.iter().map(units_of).sum()
    }

    /// Settings of all scenarios.
    pub fn settings(&self) -> u64 {
        self.templates.iter().map(|t| t.settings).sum()
    }

    /// Names of the scenarios, in order.
    pub fn scenarios(&self) -> Vec<&str> {
        self.templates.iter().map(|t| t.name.as_str()).collect()
    }

    /// Description of the only scenario; nothing where there are several.
    pub fn scenario_about(&self) -> &str {
        match self.templates.as_slice() {
            [one] => &one.about,
            _ => "",
        }
    }

    /// Expectations of a scenario of the plan. Then how many of its expectations are left out,
    /// being of variants or values that the plan does not have. `scenario`: its number.
    ///
    /// # Panics
    ///
    /// There is no such scenario.
    pub fn expectations(&self, scenario: usize) -> (&[Expectation], usize) {
        let t = &self.templates[scenario];
        (&t.expect, t.unasked)
    }

    /// Paths of all axes of all scenarios, each once, in order.
    pub fn axes(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for axis in self.templates.iter().flat_map(Template::axes) {
            if !all.contains(&axis) {
                all.push(axis);
            }
        }
        all
    }

    /// Where unit `n` stands: scenarios change slowest, then settings, variants and seeds.
    ///
    /// # Panics
    ///
    /// There are no more than `n` units.
    pub fn place(&self, n: u64) -> UnitPlace {
        let mut rest = n;
        for (scenario, t) in self.templates.iter().enumerate() {
            if rest < units_of(t) {
                let of_setting = per_setting(t);
                let within = rest % of_setting;
                return UnitPlace {
                    scenario,
                    setting: rest / of_setting,
                    variant: (within / t.seeds) as usize,
                    seed: t.seed + within % t.seeds,
                };
            }
            rest -= units_of(t);
        }
        panic!("a plan of {} units has no unit {n}", self.units());
    }

    /// Where unit `n` stands on its axes: their paths, and its values as reports have them.
    ///
    /// # Panics
    ///
    /// As [`SweepPlan::place`].
    pub fn axes_at(&self, n: u64) -> Vec<(String, String)> {
        let place = self.place(n);
        self.labels(place.scenario, place.setting)
    }

    /// The units of these numbers, setting by setting.
    pub fn pieces(&self, numbers: Range<u64>) -> Vec<Piece> {
        let (mut pieces, mut first) = (Vec::new(), 0);
        for (scenario, t) in self.templates.iter().enumerate() {
            let each = per_setting(t);
            let mut from = numbers.start.max(first) - first;
            let until = numbers.end.max(first).min(first + units_of(t)) - first;
            while from < until {
                let (setting, within) = (from / each, from % each);
                let end = each.min(within + until - from);
                pieces.push(Piece { scenario, setting, within: within..end });
                from += end - within;
            }
            first += units_of(t);
        }
        pieces
    }

    /// Names of the units of a piece, in order.
    ///
    /// # Errors
    ///
    /// A value of the setting fits no key.
    pub fn ids(&self, piece: &Piece) -> Result<Vec<u128>, Error> {
        self.templates[piece.scenario].ids(piece.setting, piece.within.clone())
    }

    /// Where a setting is on its axes.
    pub fn labels(&self, scenario: usize, setting: u64) -> Vec<(String, String)> {
        self.templates[scenario].labels(setting)
    }

    /// The run of a unit.
    ///
    /// # Errors
    ///
    /// What is wrong with its values, at their places in plan or scenario.
    pub fn planned(&self, place: UnitPlace, registry: &Registry) -> Result<Planned<'_>, Error> {
        let template = &self.templates[place.scenario];
        let (plan, resident) = template.planned(place.setting, place.variant)?;
        let mut spec = template.spec(&plan, resident, registry)?;
        spec.seed = place.seed;
        Ok(Planned { template, plan, spec })
    }

    /// Settings of a scenario in which each written value is met once, and some points of its
    /// sample: an error of a value alone shows in one of them.
    pub fn corners(&self, scenario: usize) -> Vec<u64> {
        let t = &self.templates[scenario];
        let (mut all, mut place) = (vec![0, t.settings - 1], t.settings);
        for (length, written) in t.grid_lengths() {
            place /= length;
            let middle = if written { 0..length.min(1000) } else { length / 2..length / 2 + 1 };
            all.extend(middle.chain([length - 1]).map(|i| i * place));
        }
        all.extend(0..t.points().min(64));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Settings of a scenario.
    pub fn settings_of(&self, scenario: usize) -> u64 {
        self.templates[scenario].settings
    }

    /// The first seed of a scenario.
    pub fn seed_of(&self, scenario: usize) -> u64 {
        self.templates[scenario].seed
    }

    /// Variants of a scenario that run.
    pub fn variants(&self, scenario: usize) -> impl Iterator<Item = &str> {
        self.templates[scenario].variants.iter().map(|v| v.0.as_str())
    }
}

fn per_setting(t: &Template) -> u64 {
    t.variants.len() as u64 * t.seeds
}

fn units_of(t: &Template) -> u64 {
    t.settings * per_setting(t)
}

/// The version of the format comes first: in another one nothing else can be judged.
fn check_version(sources: &Sources, doc: &Table) -> Result<(), Error> {
    match doc.get("version") {
        Some(n) if !matches!(n.value, Value::Integer(1)) => {
            let found = inline(&n.value);
            let title = format!("version: {found} is not known to this version of mmsim, write 1");
            Err(sources.error(n.at, title, "write 1"))
        }
        _ => Ok(()),
    }
}
