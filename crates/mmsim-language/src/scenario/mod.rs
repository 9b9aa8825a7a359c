//! Scenario files: TOML in, typed runs out.
//!
//! Two layers. The *raw* layer (`raw`) is the document with the place of every key and
//! value; overrides (`--set`, `[axes]`, `[[variant]]`) are applied there. The *typed*
//! layer (`machine`, [`workload`], [`policy`]) reads it, guided by [`tables`] of all
//! keys, and is all that the rest of the program sees. Nothing is guessed: a key
//! that no table knows is an error, and so is a number without its unit. Every error says
//! where, what was found and what to write instead.
//!
//! docs/scenarios.md is the reference for users; its tables are generated from [`tables`].

mod above;
pub mod cache_ext;
pub mod daemon;
pub mod damon;
mod depth;
pub mod evaluate;
mod expand;
mod expect;
mod fields;
mod given;
pub(crate) mod groups;
mod inline;
pub mod keys;
mod kinds;
mod laws;
mod machine;
mod oomd;
mod pods;
mod points;
mod policies;
pub mod policy;
mod raw;
mod read;
mod reference;
mod resolved;
mod rows;
mod schema;
pub mod sweep;
pub mod tables;
mod tasks;
pub mod tune;
pub mod units;
mod watched;
mod words;
pub mod workload;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mmsim_core::config::MachineConfig;

pub use above::{by_numbers, settings_of};
pub use cache_ext::ChooserSpec;
pub use daemon::{CodeSpec, DaemonSpec};
pub use damon::{DamonContext, DamonSpec};
pub use expect::GAUGES;
pub use machine::zones_of;
pub use policies::GroupPolicy;
pub use policy::{Knob, KnobError, KnobInfo, KnobValue, PolicySpec, preset_of, unknown_preset};
pub use reference::{evaluate_reference, reference, sweep_reference, tune_reference};
pub use schema::json_schema;
pub use units::{BadQuantity, PAGE_SIZE, show_pages};
pub use units::{bytes, duration, in_base_units, pages, yes_or_no};
pub use workload::{TaskSpec, WorkloadSpec};

use crate::registry::Registry;
use expand::Plan;
use kinds::Kind;
use mmsim_base::error::Error;
use mmsim_report::expect::Expectation;
use raw::{Node, Sources, Table};
use tables::ROOT;

/// A scenario that has been checked, but for its policies: those are known to the
/// registry that [`Scenario::expand`] is given.
#[derive(Clone)]
pub struct Scenario {
    sources: Sources,
    doc: Table,
    dir: PathBuf,
    name: String,
    about: String,
    plans: Vec<Plan>,
    expect: Vec<Expectation>,
}

/// One run: everything that decides its result.
#[derive(Clone, PartialEq, Debug)]
pub struct RunSpec {
    /// Name of the variant.
    pub variant: String,
    /// Path and value of each axis, in the order of the file.
    pub axes: Vec<(String, String)>,
    /// Seed of all random draws.
    pub seed: u64,
    /// The machine.
    pub machine: MachineConfig,
    /// Everything that its presets and knobs may be of.
    pub registry: Registry,
    /// The replacement policy.
    pub policy: PolicySpec,
    /// Compaction, which makes large free blocks; preset `none`: no compaction.
    pub compaction: PolicySpec,
    /// The work, at least one task.
    pub tasks: Vec<TaskSpec>,
    /// Monitors of accesses.
    pub damon: Vec<DamonSpec>,
    /// Programs that watch memory and act.
    pub daemons: Vec<DaemonSpec>,
    /// Choosers of groups.
    pub choosers: Vec<ChooserSpec>,
    /// Machine, tasks, monitors and groups as the scenario has them: the path of each key and its
    /// value, defaults filled in. It is for reports; what runs is above.
    pub given: Arc<[(String, String)]>,
    /// Files that the run reads: the path of the key that names each, and where it is.
    pub files: Arc<[(String, PathBuf)]>,
    /// True to compute the misses of the optimum too.
    pub bounds: bool,
    /// True to explain why pages come back.
    pub why: bool,
    /// True to measure the mean of resident memory: some run of its scenario has a monitor, and the
    /// savings of its schemes are measured in all runs.
    pub mean_resident: bool,
    /// True if running out of memory is the expected end.
    pub expect_oom: bool,
}

impl RunSpec {
    /// Variant, axes and seed in a few words.
    pub fn label(&self) -> String {
        let axes: String = self.axes.iter().map(|(k, v)| format!(", {k} = {v}")).collect();
        format!("{}{axes}, seed {}", self.variant, self.seed)
    }
}

impl Scenario {
    /// Reads a scenario file.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Scenario, Error> {
        Scenario::load(path, &[])
    }

    /// Reads a scenario file and applies overrides before anything is checked.
    pub fn load(path: impl AsRef<Path>, sets: &[(String, String)]) -> Result<Scenario, Error> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let text = mmsim_base::files::read_text(path, "a scenario file")?;
        Scenario::parse(&text, &shown, sets)
    }

    /// Takes the text of a scenario. `name` stands for the file in messages, and files
    /// that the scenario names are looked for beside it.
    #[allow(clippy::should_implement_trait)] // The trait has no room for the name.
    pub fn from_str(text: &str, name: &str) -> Result<Scenario, Error> {
        Scenario::parse(text, name, &[])
    }

    fn parse(text: &str, origin: &str, sets: &[(String, String)]) -> Result<Scenario, Error> {
        let mut sources = Sources::of(&ROOT);
        let doc = sources.parse(origin, text)?;
        Kind::Scenario.expect(&sources, &doc, origin)?;
        let dir = Path::new(origin).parent().map(Path::to_path_buf).unwrap_or_default();
        let stem = Path::new(origin).file_stem().map(|s| s.to_string_lossy().into_owned());
        let name = stem.filter(|s| !s.is_empty()).unwrap_or_else(|| "scenario".to_string());
        let scenario = Scenario {
            sources,
            doc,
            dir,
            name,
            about: String::new(),
            plans: Vec::new(),
            expect: Vec::new(),
        };
        scenario.with_sets(sets)
    }

    /// The same scenario with values put at paths: `("machine.memory", "2GiB")`. Values
    /// are TOML, or plain text where that is no TOML.
    pub fn with_sets(mut self, sets: &[(String, String)]) -> Result<Scenario, Error> {
        for (path, value) in sets {
            let (path, node) = self.sources.parse_option("--set", path, value)?;
            machine::set(&self.sources, &mut self.doc, &path, &node)?;
        }
        words::of_options(&self.sources, &mut self.doc);
        check_schema(&self.sources, &self.doc)?;
        self.plans = expand::plans(&self.sources, &self.doc, &self.dir)?;
        // Options may have taken away what an expectation of the file is about.
        let roots = ["axes", "variant"];
        if sets.iter().any(|(path, _)| roots.iter().any(|root| path.starts_with(root))) {
            expect::retain(&self.sources, &mut self.doc, &expect::Known::of(&self.plans));
        }
        self.expect = match self.doc.get("expect") {
            Some(_) => {
                expect::expectations(&self.sources, &self.doc, &expect::Known::of(&self.plans))?
            }
            None => Vec::new(),
        };
        let text = |key: &str| self.doc.get(key).and_then(Node::as_text);
        if let Some(name) = text("name") {
            self.name = name.to_string();
        }
        self.about = text("about").unwrap_or("").to_string();
        Ok(self)
    }

    /// Values of `--set` that some runs replace by their own: the path, and their variants.
    pub fn overruled(&self) -> Vec<(String, Vec<String>)> {
        let mut all = Vec::new();
        for (option, (path, _)) in self.sources.options_in(&self.doc, expand::NOT_OF_RUNS) {
            let own = |p: &&expand::Plan| {
                !self.sources.options_in(&p.doc, expand::NOT_OF_RUNS).contains_key(&option)
            };
            let mut variants: Vec<String> = Vec::new();
            for plan in self.plans.iter().filter(own) {
                if !variants.contains(&plan.variant) {
                    variants.push(plan.variant.clone());
                }
            }
            if !variants.is_empty() {
                all.push((path, variants));
            }
        }
        all
    }

    /// Its name, for reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its description, or nothing.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Its expectations of its runs: [`check`](mmsim_report::expect::check) checks a report.
    pub fn expect(&self) -> &[Expectation] {
        &self.expect
    }

    /// All runs: for each combination of the axes (the first changes slowest) each
    /// variant, and for each variant each seed.
    pub fn expand(&self, registry: &Registry) -> Result<Vec<RunSpec>, Error> {
        // Also where every variant has another one.
        for (key, example, presets) in [
            ("reclaim", "classic-v6.12", registry.presets()),
            ("compaction", "compaction-v4.1", registry.compaction_presets()),
        ] {
            policy::read(&self.sources, self.doc.get(key), key, example)?
                .check_preset(&self.sources, &presets)?;
        }
        let mean_resident = self.plans.iter().any(|plan| !plan.damon.is_empty());
        let mut runs = Vec::new();
        for plan in &self.plans {
            let spec = spec_of(&self.sources, plan, registry, mean_resident)?;
            runs.extend((0..plan.seeds).map(|i| {
                let mut run = spec.clone();
                run.seed += i;
                run
            }));
        }
        Ok(runs)
    }

    /// An error about `run`, at the place of the key that it is about: where that was written, be it
    /// an axis, a variant or an option.
    pub fn placed(&self, run: &RunSpec, path: &str, error: Error) -> Error {
        let plan = self.plans.iter().find(|p| p.variant == run.variant && p.axes == run.axes);
        let Some(plan) = plan.filter(|_| error.position().is_none()) else { return error };
        // Expectations hold for all runs.
        let doc = if path.starts_with("expect[") { &self.doc } else { &plan.doc };
        self.sources.place(error, self.sources.nearest_place(doc, path))
    }

    /// The scenario with every default written out and every override applied, as TOML
    /// that gives the same runs. Where a default is a rule rather than a value, a comment
    /// states the rule.
    pub fn resolved(&self) -> String {
        resolved::resolved(&self.sources, &self.doc, &self.name)
    }
}

/// Coordinate `dimension` of point `n` of Halton's sequence, shifted by a seed.
pub fn low_discrepancy(seed: u64, n: u64, dimension: usize) -> f64 {
    points::Method::Halton.coordinate(seed, n, dimension)
}

/// The run of a combination with its first seed.
fn spec_of(
    sources: &Sources,
    plan: &Plan,
    registry: &Registry,
    mean_resident: bool,
) -> Result<RunSpec, Error> {
    let kernel = plan.machine.kernel;
    let of = |placed: &policy::PlacedPolicy, presets, default| {
        placed.check(sources, registry, presets, default)
    };
    let policy = of(&plan.policy, registry.presets(), preset_of(kernel))?;
    let default = registry.default_compaction(kernel);
    let compaction = of(&plan.compaction, registry.compaction_presets(), default)?;
    let default = registry.default_damon(kernel);
    let mut damon = Vec::new();
    for d in &plan.damon {
        let rules = of(&d.rules, registry.damon_presets(), default.clone())?;
        damon.push(DamonSpec { rules, ..d.spec.clone() });
    }
    Ok(RunSpec {
        variant: plan.variant.clone(),
        axes: plan.axes.clone(),
        seed: plan.seed,
        machine: plan.machine.clone(),
        registry: registry.clone(),
        policy,
        compaction,
        tasks: plan.tasks.clone(),
        damon,
        daemons: plan.daemons.clone(),
        choosers: plan.choosers.clone(),
        given: plan.given.clone(),
        files: plan.files.clone(),
        bounds: plan.bounds,
        why: false,
        mean_resident,
        expect_oom: plan.expect_oom,
    })
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scenario({}, {})", self.name, expand::describe(&self.plans))
    }
}

/// The version of the format comes first: in another one nothing else can be judged.
fn check_schema(sources: &Sources, doc: &Table) -> Result<(), Error> {
    match doc.get("schema") {
        None => Ok(()),
        Some(n) if matches!(n.value, raw::Value::Integer(1)) => Ok(()),
        Some(n) => {
            let found = inline::inline(&n.value);
            let title = format!("schema: {found} is not known to this version, write 1");
            Err(sources.error(n.at, title, "write 1"))
        }
    }
}
