//! Runs of a scenario with settings on top of all that the scenario, its variant and its axes say, and
//! what a kernel decides of a run.

use mmsim_core::base::settings::Settings as _;

use super::policy::PolicySpec;
use super::{RunSpec, Scenario, expand, machine, spec_of, words};
use crate::registry;
use mmsim_base::error::Error;

impl Scenario {
    /// A run with settings on top, each a path and a value as `--set` takes them; `option` gave them.
    /// `sound` checks that it can be built; its error has the path of the wrong key.
    ///
    /// # Errors
    ///
    /// There is no such key, or the run cannot have this value, at its place.
    pub fn above(
        &self,
        run: &RunSpec,
        option: &str,
        sets: &[(String, String)],
        sound: impl Fn(&RunSpec) -> Result<(), (String, Error)>,
    ) -> Result<RunSpec, Error> {
        let plan = self.plans.iter().find(|p| p.variant == run.variant && p.axes == run.axes);
        let plan = plan.ok_or_else(|| Error::plain(format!("there is no run {}", run.label())))?;
        let (mut sources, mut doc) = (self.sources.clone(), plan.doc.clone());
        for (path, value) in sets {
            let (path, node) = sources.parse_option(option, path, value)?;
            machine::set(&sources, &mut doc, &path, &node)?;
        }
        words::of_options(&sources, &mut doc);
        let mut plan = expand::plan(&sources, doc, &run.variant, &run.axes, &self.dir)?;
        plan.seed = run.seed;
        let spec = spec_of(&sources, &plan, &run.registry, run.mean_resident)?;
        sound(&spec).map_err(|(path, error)| match error.position() {
            None => sources.place(error, sources.nearest_place(&plan.doc, &path)),
            Some(_) => error,
        })?;
        Ok(spec)
    }
}

/// The path of a key of a run as reports have it: `machine.memcg[3].low` for
/// `machine.memcg[pod/a].low`, the number of an entry in place of its name.
pub fn by_numbers(run: &RunSpec, path: &str) -> String {
    let mut rest = path;
    let mut all = String::new();
    while let Some((before, (name, after))) =
        rest.split_once('[').and_then(|(before, inner)| Some((before, inner.split_once(']')?)))
    {
        all = format!("{all}{before}[");
        let mut named = run.given.iter().filter(|(_, value)| value == name);
        let number = named.find_map(|(key, _)| key.strip_prefix(&all)?.strip_suffix("].name"));
        let number = number.unwrap_or(name);
        all = format!("{all}{number}]");
        rest = after;
    }
    all + rest
}

/// The settings of a run that its kernel has a say in, but for those of its LRU, each by the path that
/// options take: rules, sysctls, knobs of compaction and of DAMON.
pub fn settings_of(run: &RunSpec) -> Vec<(String, String)> {
    let below = |path: &str, values: registry::Values| -> Vec<(String, String)> {
        values.into_iter().map(|(name, value)| (format!("{path}.{name}"), value)).collect()
    };
    let preset = |spec: &PolicySpec| run.registry.values(spec).unwrap_or_default();
    let mut all = below("machine.rules", registry::values(&run.machine.kernel_rules()));
    let vm = &run.machine.vm;
    let has = |row: &&mmsim_core::base::settings::Row| row.is_of(run.machine.kernel);
    let sysctls = mmsim_core::config::VmSysctl::ROWS.iter().filter(has);
    all.extend(
        sysctls.filter_map(|row| Some((format!("machine.vm.{}", row.name), vm.get(row.name)?))),
    );
    all.extend(below("compaction", preset(&run.compaction)));
    for (i, damon) in run.damon.iter().enumerate() {
        all.extend(below(&format!("damon[{i}].rules"), preset(&damon.rules)));
    }
    all
}
