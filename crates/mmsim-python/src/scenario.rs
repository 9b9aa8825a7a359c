//! Scenarios: from files, texts and dicts to runs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use mmsim::error::Error;
use mmsim::machines;
use mmsim::scenario::RunSpec;
use mmsim::selection::{Selection, variants_of};
use mmsim::{Registry, assembled, with_own};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};

use crate::cache_ext::{with_classes, with_modules};
use crate::daemon::registry_of;
use crate::errors::{calm, input, of_run};
use crate::machine::Machine;
use crate::observe::{How, make};
use crate::policy::{Inside, own};
use crate::report::Report;
use crate::values::{duration, kind, option, toml, whole};

/// A scenario.
#[pyclass(frozen, module = "mmsim")]
pub(crate) struct Scenario {
    pub(crate) inner: mmsim::Scenario,
    /// Name in messages.
    origin: String,
}

/// Which runs of a scenario are meant, as Python says it.
struct Wanted {
    seeds: Option<Vec<u64>>,
    selection: Selection,
}

impl Scenario {
    fn read(text: &str, origin: String) -> PyResult<Scenario> {
        let inner = calm(|| mmsim::Scenario::from_str(text, &origin).map_err(input))?;
        Ok(Scenario { inner, origin })
    }

    /// The scenario under the first seed and with the number of them, and its runs.
    fn specs(
        &self,
        wanted: &Wanted,
        registry: &Registry,
    ) -> Result<(mmsim::Scenario, Vec<RunSpec>), Error> {
        let set = |key: &str, n: u64| (key.to_string(), n.to_string());
        let seeds = wanted.seeds.as_deref();
        let (scenario, others) = match seeds {
            None => (self.inner.clone(), None),
            Some(seeds) => {
                let follow = seeds.windows(2).all(|w| w[0].checked_add(1) == Some(w[1]));
                let number = if follow { seeds.len() as u64 } else { 1 };
                let sets = [set("seed", seeds[0]), set("seeds", number)];
                (self.inner.clone().with_sets(&sets)?, (!follow).then_some(seeds))
            }
        };
        let specs = wanted.selection.of(machines::specs_of(&scenario, registry)?, &self.origin)?;
        let specs = match others {
            None => specs,
            Some(seeds) if specs.len() * seeds.len() > MOST_RUNS as usize => {
                let title = format!("more than {MOST_RUNS} runs");
                return Err(Error::of_option(title).help("write fewer seeds"));
            }
            Some(seeds) => {
                let under = |spec: &RunSpec, seed: u64| RunSpec { seed, ..spec.clone() };
                specs.iter().flat_map(|s| seeds.iter().map(|&n| under(s, n))).collect()
            }
        };
        Ok((scenario, specs))
    }
}

/// Runs of a scenario at most, as of a file.
const MOST_RUNS: u32 = 10_000;

/// Texts: of a list that is not empty, or the only one.
pub(crate) fn texts(value: Option<&Bound<'_, PyAny>>, what: &str) -> PyResult<Vec<String>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    if value.is_instance_of::<PyString>() {
        return Ok(vec![value.extract()?]);
    }
    let texts: Vec<String> = value.extract().map_err(|_| {
        PyTypeError::new_err(format!("{what} is a str or a list of them, not {}", kind(value)))
    })?;
    match texts.is_empty() {
        true => Err(PyValueError::new_err(format!("{what}: at least one, or leave it out"))),
        false => Ok(texts),
    }
}

/// Seeds: how many from the scenario's first on, or which.
fn seeds_of(value: Option<&Bound<'_, PyAny>>, first: u64) -> PyResult<Option<Vec<u64>>> {
    let Some(value) = value else { return Ok(None) };
    let wrong = || {
        PyTypeError::new_err(format!("seeds is an int or a sequence of ints, not {}", kind(value)))
    };
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyString>() {
        return Err(wrong());
    }
    let seeds: Vec<u64> = match value.is_instance_of::<PyInt>() {
        true => {
            let n = whole(value, "seeds", 1..=u64::from(MOST_RUNS))?;
            (0..n).map_while(|i| first.checked_add(i)).collect()
        }
        false => {
            let items = value.try_iter().map_err(|_| wrong())?;
            items.map(|item| whole(&item?, "seeds", 0..=u64::MAX)).collect::<PyResult<_>>()?
        }
    };
    let mut sorted = seeds.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if seeds.is_empty() || sorted.len() < seeds.len() {
        return Err(PyValueError::new_err("seeds: at least one, and each once"));
    }
    Ok(Some(seeds))
}

/// Values of axes.
fn at_of(value: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let Some(dict) = value else { return Ok(Vec::new()) };
    dict.iter().map(|(axis, value)| Ok((axis.extract()?, option(&value)?))).collect()
}

/// A number of runs at a time.
pub(crate) fn jobs_of(jobs: Option<&Bound<'_, PyAny>>) -> PyResult<Option<usize>> {
    let jobs = jobs.map(|jobs| whole(jobs, "jobs", 1..=u64::MAX)).transpose()?;
    Ok(jobs.map(|jobs| usize::try_from(jobs).unwrap_or(usize::MAX)))
}

/// A seed.
fn seed_of(seed: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    seed.map(|seed| whole(seed, "seed", 0..=u64::MAX)).transpose()
}

/// Receiver of progress: none, a line on standard error, or a function.
pub(crate) fn progress_of(
    py: Python<'_>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Option<Py<PyAny>>> {
    let Some(progress) = progress else { return Ok(None) };
    if let Ok(wanted) = progress.cast::<PyBool>() {
        let line = || py.import("mmsim._progress")?.getattr("line").map(Bound::unbind);
        return wanted.is_true().then(line).transpose();
    }
    match progress.is_callable() {
        true => Ok(Some(progress.unbind())),
        false => Err(PyTypeError::new_err(format!(
            "progress is a bool or a function of two numbers, not {}",
            kind(&progress)
        ))),
    }
}

#[pymethods]
impl Scenario {
    #[new]
    fn new(path: PathBuf) -> PyResult<Scenario> {
        let origin = path.display().to_string();
        let text = mmsim::files::read_text(&path, "a scenario file").map_err(input)?;
        Scenario::read(&text, origin)
    }

    /// A scenario from its text. `name` stands for the file in messages.
    #[staticmethod]
    #[pyo3(signature = (text, name="scenario.toml"))]
    fn from_text(text: &str, name: &str) -> PyResult<Scenario> {
        Scenario::read(text, name.to_string())
    }

    /// A scenario from a dict of the keys of scenario files.
    #[staticmethod]
    #[pyo3(signature = (keys, name="scenario.toml"))]
    fn from_dict(keys: &Bound<'_, PyDict>, name: &str) -> PyResult<Scenario> {
        let toml::Value::Table(table) = toml(keys)? else { unreachable!("a dict is a table") };
        Scenario::read(&table.to_string(), name.to_string())
    }

    /// The same scenario with a value put at the path of a key, as `--set` does.
    fn set(&self, key: &str, value: &Bound<'_, PyAny>) -> PyResult<Scenario> {
        let sets = [(key.to_string(), option(value)?)];
        let inner = calm(|| self.inner.clone().with_sets(&sets).map_err(input))?;
        Ok(Scenario { inner, origin: self.origin.clone() })
    }

    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    #[getter]
    fn about(&self) -> &str {
        self.inner.about()
    }

    /// Names of the variants, in the order of the file.
    #[getter]
    fn variants(&self) -> PyResult<Vec<String>> {
        let specs = self.inner.expand(&with_modules()).map_err(input)?;
        Ok(variants_of(&specs).into_iter().map(str::to_string).collect())
    }

    /// The scenario as TOML with every default resolved, as `--dry-run` prints it.
    fn to_toml(&self) -> String {
        self.inner.resolved()
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.inner)
    }

    #[pyo3(signature = (*, seeds=None, variants=None, at=None, jobs=None, check=false, why=false,
        pictures=false, series=None, columns=None, policies=None, daemons=None, cache_ext=None,
        progress=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn run(
        &self,
        py: Python<'_>,
        seeds: Option<&Bound<'_, PyAny>>,
        variants: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyDict>>,
        jobs: Option<&Bound<'_, PyAny>>,
        check: bool,
        why: bool,
        pictures: bool,
        series: Option<&Bound<'_, PyAny>>,
        columns: Option<&Bound<'_, PyAny>>,
        policies: Option<Vec<Py<PyAny>>>,
        daemons: Option<&Bound<'_, PyDict>>,
        cache_ext: Option<&Bound<'_, PyDict>>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Report> {
        let selection = Selection::new(&texts(variants, "variants")?, &at_of(at)?);
        let wanted = Wanted { seeds: seeds_of(seeds, self.first_seed()?)?, selection };
        let (raised, inside) = (Arc::new(Mutex::new(None)), Inside::default());
        let registry = registry_of(py, daemons, &raised, &inside)?;
        let registry = with_classes(registry, cache_ext, &raised, &inside)?;
        let (scenario, mut specs) = calm(|| self.specs(&wanted, &registry).map_err(input))?;
        specs.iter_mut().for_each(|spec| spec.why |= why);
        let own = own(py, policies.unwrap_or_default(), &raised, inside)?;
        let specs = with_own(specs, &own.policies).map_err(input)?;
        let jobs = jobs_of(jobs)?;
        calm(|| mmsim::host::check(&specs, jobs).map_err(input))?;
        let columns = match columns {
            Some(_) if series.is_none() => {
                let what = "columns: found without series, write series=INTERVAL too";
                return Err(PyValueError::new_err(what));
            }
            Some(columns) => Some(texts(Some(columns), "columns")?),
            None => None,
        };
        let series = series.map(duration).transpose()?;
        if series.is_some_and(|every| every.0 == 0) {
            return Err(PyValueError::new_err("series: an interval is above 0"));
        }
        let series = series.map(|every| (every, columns));
        let progress = progress_of(py, progress)?;
        let how = How { jobs, check, pictures, series, own: &own, raised, progress };
        calm(|| {
            let made = make(py, &specs, &how)?;
            let report = assembled(&scenario, &made.results);
            Ok(Report::new(report, made.observed, made.series))
        })
    }

    /// One run that goes on step by step.
    #[pyo3(signature = (*, variant=None, seed=None, at=None))]
    fn machine(
        &self,
        variant: Option<String>,
        seed: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Machine> {
        let variants: Vec<String> = variant.into_iter().collect();
        let selection = Selection::new(&variants, &at_of(at)?);
        let seeds = Some(vec![seed_of(seed)?.map_or_else(|| self.first_seed(), Ok)?]);
        let wanted = Wanted { seeds, selection };
        let specs = calm(|| self.specs(&wanted, &with_modules()).map_err(input));
        let (scenario, mut specs) = specs?;
        if specs.len() > 1 {
            let title =
                format!("{}: it has {} runs, and a machine is of one", self.origin, specs.len());
            let names = variants_of(&specs).join(", ");
            let help = format!("say variant=, and at= where there are axes; variants: {names}");
            return Err(input(Error::of_option(title).help(help)));
        }
        mmsim::host::check(&specs, Some(1)).map_err(input)?;
        let live = calm(|| mmsim::live::Live::new(scenario, specs.remove(0)).map_err(of_run))?;
        Ok(Machine::new(live))
    }

    /// Why pages come back in one variant and not in another: the runs of a seed, taken apart as
    /// `mmsim why --variants` does. The dict is that command's JSON for them.
    #[pyo3(signature = (a, b, *, seed=None, at=None))]
    fn why<'py>(
        &self,
        py: Python<'py>,
        a: String,
        b: String,
        seed: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (at, seed) = (at_of(at)?, seed_of(seed)?.map_or_else(|| self.first_seed(), Ok)?);
        let spec = |name: &String| -> PyResult<RunSpec> {
            let selection = Selection::new(std::slice::from_ref(name), &at);
            let wanted = Wanted { seeds: Some(vec![seed]), selection };
            let specs = calm(|| self.specs(&wanted, &with_modules()).map_err(input));
            let (_, mut specs) = specs?;
            match specs.len() {
                1 => Ok(specs.remove(0)),
                n => {
                    let title = format!(
                        "{}: {name} has {n} settings, and two runs are compared",
                        self.origin
                    );
                    Err(input(Error::of_option(title).help("choose one, as in at={AXIS: VALUE}")))
                }
            }
        };
        let (spec_a, spec_b) = (spec(&a)?, spec(&b)?);
        let names = (spec_a.label(), spec_b.label());
        let json = calm(|| {
            let (a, b) = ((names.0, &spec_a), (names.1, &spec_b));
            let made = py.detach(|| mmsim::why::difference::of(a, b)).map_err(of_run)?;
            Ok(serde_json::to_string(&made).expect("plain data"))
        })?;
        py.import("json")?.call_method1("loads", (json,))
    }
}

impl Scenario {
    fn first_seed(&self) -> PyResult<u64> {
        let specs = self.inner.expand(&with_modules()).map_err(input)?;
        Ok(specs.first().map_or(1, |s| s.seed))
    }
}
