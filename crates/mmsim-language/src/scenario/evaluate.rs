//! Suites of scenarios that policies are scored by, and policies as values of knobs.
//!
//! docs/evaluate.md is the reference for users. `mmsim::evaluate` makes the runs.

use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};

use super::cache_ext;
use super::expand;
use super::kinds::Kind;
use super::machine;
use super::policies::GroupPolicy;
use super::raw::{At, Entry, Node, Path, Sources, Step, Table, Value};
use super::read::Reader;
use super::sweep::template::folder_of;
use super::tables::{KNOB_FILE, ROOT, SUITE, SUITE_SCENARIO};
use super::tune::{document, opened};
use super::{RunSpec, check_schema, spec_of};
use crate::registry::Registry;
use mmsim_base::error::Error;
use mmsim_lru::chooser::BUILTIN;

/// A suite that was read and checked, but for what the machines say of its runs.
#[derive(Clone, Debug)]
pub struct Suite {
    name: String,
    about: String,
    scenarios: Vec<SuiteScenario>,
}

/// A scenario of a suite with its baseline.
#[derive(Clone, Debug)]
pub struct SuiteScenario {
    sources: Sources,
    /// The scenario in the variant of the baseline, with what the suite sets.
    doc: Table,
    dir: PathBuf,
    at: At,
    name: String,
    variant: String,
    seed: u64,
    seeds: u64,
    held_out: u64,
}

/// Settings of a run on top of its baseline.
#[derive(Clone, Copy, Debug)]
pub enum OnTop<'a> {
    /// Nothing: it is the baseline.
    Nothing,
    /// Values of knobs.
    Knobs(&'a KnobFile),
    /// A policy of cache_ext: for the group that it names, else for each group with a limit, else for
    /// the machine.
    Chooser(&'a GroupPolicy),
}

/// A policy as values of knobs.
#[derive(Clone, Debug)]
pub struct KnobFile {
    origin: String,
    text: String,
    name: String,
    about: String,
}

fn stem(path: &FilePath) -> Option<String> {
    path.file_stem().map(|s| s.to_string_lossy().into_owned())
}

impl Suite {
    /// Reads a suite.
    ///
    /// # Errors
    ///
    /// What is wrong with the suite or with a scenario of it, with file, line and column.
    pub fn from_path(path: impl AsRef<FilePath>) -> Result<Suite, Error> {
        let path = path.as_ref();
        let text = mmsim_base::files::read_text(path, "a suite")?;
        Suite::from_str(&text, &path.display().to_string())
    }

    /// Takes the text of a suite. `name` stands for the file in messages, and scenarios are looked
    /// for beside it.
    ///
    /// # Errors
    ///
    /// As [`Suite::from_path`].
    #[allow(clippy::should_implement_trait)] // The trait has no room for the name.
    pub fn from_str(text: &str, name: &str) -> Result<Suite, Error> {
        let mut sources = Sources::of(&SUITE);
        let doc = sources.parse(name, text)?;
        Kind::Suite.expect(&sources, &doc, name)?;
        let root = opened(doc, &SUITE);
        let r = Reader::open(&sources, &root, &SUITE, "")?;
        r.need("version")?;
        r.opt_count("version")?;
        let own = r.opt_name("name")?.map(str::to_string);
        let about = r.opt_text("about")?.unwrap_or_default().to_string();
        r.need("scenario")?;
        let list = r.list("scenario")?;
        if list.is_empty() {
            let found = "an empty list runs nothing";
            return Err(r.error("scenario", found, "at least one [[scenario]]"));
        }
        let mut scenarios: Vec<SuiteScenario> = Vec::new();
        for (nth, node) in list.iter().enumerate() {
            let path = format!("scenario[{nth}]");
            let entry = Reader::open(&sources, node, &SUITE_SCENARIO, &path)?;
            let read = SuiteScenario::read(&r, &entry, nth, (name, text))?;
            if let Some(first) = scenarios.iter().position(|s| s.name == read.name) {
                let found = format!("\"{}\" is the name of scenario[{first}] too", read.name);
                return Err(entry.error("name", found, "another `name`"));
            }
            scenarios.push(read);
        }
        if scenarios.iter().all(|s| s.seeds == 0) {
            let title = "scenario: no scenario has seeds that the score is of";
            let at = list.last().map_or(r.at, |n| n.at);
            return Err(sources.error(at, title, "write `seeds` of at least 1"));
        }
        let name = own.or(stem(FilePath::new(name))).unwrap_or_else(|| "suite".to_string());
        Ok(Suite { name, about, scenarios })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its description, or nothing.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Its scenarios, at least one of which has seeds that the score is of.
    pub fn scenarios(&self) -> &[SuiteScenario] {
        &self.scenarios
    }
}

impl SuiteScenario {
    /// Reads the entry of this place. Its texts are its scenario, then the suite once more, so that
    /// mistakes in values are shown where the suite has them.
    fn read(
        suite: &Reader<'_>,
        entry: &Reader<'_>,
        nth: usize,
        (origin, text): (&str, &str),
    ) -> Result<SuiteScenario, Error> {
        let path = folder_of(origin).join(entry.name("file")?);
        let found = mmsim_base::files::read_text(&path, "a scenario file");
        let scenario_text = found.map_err(|e| match entry.find("file") {
            Some(node) if e.position().is_none() => suite.sources.place(e, node.at),
            _ => e,
        })?;
        let mut sources = Sources::of(&ROOT);
        let scenario = sources.parse(&path.display().to_string(), &scenario_text)?;
        check_schema(&sources, &scenario)?;
        let root = opened(sources.parse(origin, text)?, &SUITE);
        let again = Reader::open(&sources, &root, &SUITE, "")?;
        let label = format!("scenario[{nth}]");
        let r = Reader::open(&sources, &again.list("scenario")?[nth], &SUITE_SCENARIO, &label)?;
        let dir = folder_of(&path.display().to_string());
        let (doc, variant) = document(&sources, &r, &scenario, &dir, &[])?;
        let word = |key: &str| scenario.get(key).and_then(Node::as_text).map(str::to_string);
        let or_suite = |key: &str| match r.opt_count(key)? {
            Some(n) => Ok::<u64, Error>(n),
            None => suite.get(key),
        };
        let own = r.opt_name("name")?.map(str::to_string);
        let read = SuiteScenario {
            name: own.or(word("name")).or(stem(&path)).unwrap_or_default(),
            variant,
            seed: match r.opt_count("seed")? {
                Some(seed) => seed,
                None => {
                    Reader::open(&sources, &opened(doc.clone(), &ROOT), &ROOT, "")?.get("seed")?
                }
            },
            seeds: or_suite("seeds")?,
            held_out: or_suite("held-out")?,
            dir,
            at: r.at,
            doc,
            sources: sources.clone(),
        };
        if read.seeds + read.held_out == 0 {
            let title = format!("{label}: neither seeds nor held-out seeds");
            return Err(sources.error(r.at, title, "write `held-out` of at least 1"));
        }
        Ok(read)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name of the variant whose score is 0.
    pub fn variant(&self) -> &str {
        &self.variant
    }

    /// Seeds that the score is of.
    pub fn seeds(&self) -> Range<u64> {
        self.seed..self.seed + self.seeds
    }

    /// Seeds whose score stands apart.
    pub fn held_out(&self) -> Range<u64> {
        let first = self.seed + self.seeds;
        first..first + self.held_out
    }

    /// An error at its place in the suite.
    pub fn error(&self, title: String, label: &str) -> Error {
        self.sources.error(self.at, title, label)
    }

    /// The run of the baseline, or of a policy on top of it, with the first seed.
    ///
    /// # Errors
    ///
    /// What is wrong with the values, at their places in knob file, suite or scenario.
    pub fn run_of(
        &self,
        on_top: OnTop<'_>,
        registry: &Registry,
        sound: impl Fn(&RunSpec) -> Result<(), (String, Error)>,
    ) -> Result<RunSpec, Error> {
        let (mut sources, mut doc) = (self.sources.clone(), self.doc.clone());
        if let OnTop::Chooser(policy) = on_top {
            policy.put_into(&mut sources, &mut doc, &format!("scenario {}", self.name))?;
        }
        if let OnTop::Knobs(knobs) = on_top {
            let root = opened(sources.parse(&knobs.origin, &knobs.text)?, &KNOB_FILE);
            let r = Reader::open(&sources, &root, &KNOB_FILE, "")?;
            if let Some(node) = r.find("policy") {
                doc.entries.retain(|e| e.key != "reclaim");
                sources.set(&mut doc, &sources.path("reclaim.preset", node.at)?, node)?;
            }
            for (path, e) in values(&r)? {
                machine::set(&sources, &mut doc, &path, &beside(&knobs.origin, &path, &e.node))?;
            }
        }
        let mut plan = expand::plan(&sources, doc, &self.variant, &[], &self.dir)?;
        plan.seed = self.seed;
        let spec = spec_of(&sources, &plan, registry, false)?;
        sound(&spec).map_err(|(path, error)| match error.position() {
            None => sources.place(error, sources.nearest_place(&plan.doc, &path)),
            Some(_) => error,
        })?;
        Ok(spec)
    }
}

impl KnobFile {
    /// Reads a knob file.
    ///
    /// # Errors
    ///
    /// What is wrong with it, but for the values, which are known where it meets a scenario.
    pub fn from_path(path: impl AsRef<FilePath>) -> Result<KnobFile, Error> {
        let path = path.as_ref();
        let text = mmsim_base::files::read_text(path, "a knob file")?;
        KnobFile::from_str(&text, &path.display().to_string())
    }

    /// Takes the text of a knob file. `name` stands for the file in messages.
    ///
    /// # Errors
    ///
    /// As [`KnobFile::from_path`].
    #[allow(clippy::should_implement_trait)] // The trait has no room for the name.
    pub fn from_str(text: &str, name: &str) -> Result<KnobFile, Error> {
        let mut sources = Sources::of(&KNOB_FILE);
        let doc = sources.parse(name, text)?;
        Kind::Knobs.expect(&sources, &doc, name)?;
        let root = opened(doc, &KNOB_FILE);
        let r = Reader::open(&sources, &root, &KNOB_FILE, "")?;
        r.need("version")?;
        r.opt_count("version")?;
        let policy = r.opt_name("policy")?;
        let values = values(&r)?;
        if policy.is_none() && values.is_empty() {
            let title = "the knob file sets nothing: it is the baseline";
            return Err(sources.error(r.at, title, "add `policy`, or paths and values in `[set]`"));
        }
        let own = r.opt_name("name")?.map(str::to_string);
        Ok(KnobFile {
            name: own.or(stem(FilePath::new(name))).unwrap_or_else(|| "knobs".to_string()),
            about: r.opt_text("about")?.unwrap_or_default().to_string(),
            origin: name.to_string(),
            text: text.to_string(),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its description, or nothing.
    pub fn about(&self) -> &str {
        &self.about
    }
}

/// The value of a key of a knob file: the module of a policy lies beside it.
fn beside(origin: &str, path: &Path, node: &Node) -> Node {
    let mut found = node.clone();
    let whole = path.steps.last() == Some(&Step::Key(cache_ext::KEY.into()));
    let module = match &mut found {
        Node { value: Value::Table(table), .. } if whole => table.get_mut("module"),
        node if path.text.ends_with("cache-ext.module") => Some(node),
        _ => None,
    };
    if let Some(Node { value: Value::Text(name), .. }) = module
        && !name.starts_with(BUILTIN)
        && let Ok(whole) = std::path::absolute(folder_of(origin).join(&*name))
    {
        *name = whole.display().to_string();
    }
    found
}

/// Settings of a knob file: keys that an administrator or the author of a policy has, each once.
fn values<'a>(r: &Reader<'a>) -> Result<Vec<(Path, &'a Entry)>, Error> {
    let mut all: Vec<(Path, &Entry)> = Vec::new();
    for e in r.table("set")?.map_or(&[][..], |t| &t.entries) {
        if let Some((whole, at)) = expand::unquoted(e, &[])
            && may_be_set(r, &r.sources.path(&whole, at)?).is_ok()
        {
            return Err(expand::no_quotes(r.sources, (whole, at), "set"));
        }
        let path = r.sources.path(&e.key, e.key_at)?;
        may_be_set(r, &path)?;
        if let Some((before, _)) = all.iter().find(|(p, _)| p.steps == path.steps) {
            let title = format!("set: `{}` is the same key as `{}`", path.text, before.text);
            return Err(r.sources.error(e.key_at, title, "write one value"));
        }
        if path.text == "reclaim.preset" && r.has("policy") {
            let title = "set: `policy` says what `reclaim.preset` says";
            return Err(r.sources.error(e.key_at, title, "leave one of them out"));
        }
        all.push((path, e));
    }
    Ok(all)
}

/// Whose the keys are that a policy must not change, by their beginnings.
const OF_OTHERS: [(&str, &str); 9] = [
    ("machine", "the machine"),
    ("task", "the workload"),
    ("seed", "the suite: which seeds are run"),
    ("expect", "the scenario: what its runs must show"),
    ("bounds", "the scenario: what its runs must show"),
    ("variant", "the suite: which variant is the baseline"),
    ("axes", "the suite: which setting is run"),
    ("schema", "the scenario"),
    ("name", "the scenario"),
];

/// Checks that a policy may set this: it is a sysctl, a knob of a policy or a key of a monitor.
fn may_be_set(r: &Reader<'_>, path: &Path) -> Result<(), Error> {
    let key = |n: usize| match path.steps.get(n) {
        Some(Step::Key(k)) => k.as_str(),
        _ => "",
    };
    let whole = match (key(0), path.steps.len()) {
        ("machine", 2) if key(1) == "vm" => "machine.vm.swappiness",
        ("machine", 3..) if key(1) == "vm" => return Ok(()),
        ("machine", 2..) if key(1) == cache_ext::KEY => return Ok(()),
        ("machine", 4..) if key(1) == "memcg" && key(3) == cache_ext::KEY => return Ok(()),
        ("reclaim", 1) => "reclaim.preset",
        ("compaction", 1) => "compaction.preset",
        ("damon", 2) => "damon[0].min-age",
        ("reclaim" | "compaction", 2) | ("damon", 1 | 3..) => return Ok(()),
        _ => "",
    };
    let text = &path.text;
    if !whole.is_empty() {
        let title = format!("set: `{text}` is a whole table, write each key by its path");
        return Err(r.sources.error(path.at, title, format!("as in \"{whole}\"")));
    }
    let of = OF_OTHERS.iter().find(|(root, _)| key(0).starts_with(root));
    let why = match of {
        Some((_, whose)) => format!("it is of {whose}"),
        None => "no policy has it".to_string(),
    };
    let error = r.sources.error(
        path.at,
        format!("set: a policy cannot set `{text}`: {why}"),
        "leave it out",
    );
    let what = "machine.vm.NAME, reclaim.KNOB, compaction.KNOB, cache-ext of groups and keys of \
                damon[..]";
    Err(error.help(format!("a knob file sets {what}; `mmsim list` has the knobs")))
}
