//! Which switches there are: settings that differ between two points. A name without a dot is a knob of
//! the LRU; all others are paths of the scenario, as `--set` takes them.

use mmsim_base::error::Error;
use mmsim_core::config::{Kernel, MachineConfig};
use mmsim_language::machines::{self, Catalogue};
use mmsim_language::scenario::policy::{Knob, KnobValue, NO_COMPACTION, PolicySpec, compaction_of};
use mmsim_language::scenario::{RunSpec, Scenario, settings_of, unknown_preset};
use serde::Serialize;

use super::effects::{Set, sets};

/// One thing that is off or on: knobs that change together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Switch {
    /// Its knobs, joined by `+`.
    pub name: String,
    /// Value of each knob with the switch off and on.
    pub settings: Vec<Setting>,
}

/// A knob, or a path of the scenario, with its two values.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Setting {
    /// The knob of the LRU, as scenario files name it, or the path.
    pub knob: String,
    /// Its value while the switch is off.
    pub off: String,
    /// Its value while the switch is on.
    pub on: String,
}

impl Setting {
    /// True of a path of the scenario.
    fn is_path(&self) -> bool {
        self.knob.contains('.')
    }
}

impl Switch {
    pub(super) fn new(settings: Vec<Setting>) -> Switch {
        let knobs: Vec<&str> = settings.iter().map(|s| s.knob.as_str()).collect();
        Switch { name: knobs.join(" + "), settings }
    }
}

/// Most switches of one ablation: all pairs of them are some 600 runs for each seed.
pub const MOST: usize = 36;

/// The settings of the switches of a set.
fn on(switches: &[Switch], set: Set) -> impl Iterator<Item = &Setting> {
    let on = switches.iter().enumerate().filter(move |(i, _)| set >> i & 1 == 1);
    on.flat_map(|(_, s)| &s.settings)
}

/// The policy of the base with the switches of a set on.
pub fn with(base: &PolicySpec, switches: &[Switch], set: Set) -> PolicySpec {
    let mut spec = base.clone();
    for setting in on(switches, set).filter(|s| !s.is_path()) {
        spec.knobs.retain(|k| k.key != setting.knob);
        let value = KnobValue::Text(setting.on.clone());
        spec.knobs.push(Knob { key: setting.knob.clone(), value });
    }
    spec
}

/// A run with all switches off, and what makes others of it.
#[derive(Clone, Debug)]
pub(super) struct Base<'a> {
    /// Its scenario, whose paths can be switched; none: only knobs can.
    pub(super) scenario: Option<&'a Scenario>,
    /// The run.
    pub(super) run: RunSpec,
    /// Settings that it has on top of those of the scenario.
    pub(super) under: Vec<(String, String)>,
}

impl Base<'_> {
    /// The run with the switches of a set on.
    pub(super) fn with(&self, switches: &[Switch], set: Set) -> Result<RunSpec, Error> {
        let paths = on(switches, set).filter(|s| s.is_path());
        let paths: Vec<_> = paths.map(|s| (s.knob.clone(), s.on.clone())).collect();
        let policy = with(&self.run.policy, switches, set);
        let mut run = match self.scenario {
            Some(scenario) if !paths.is_empty() => {
                let sets = [&self.under[..], &paths[..]].concat();
                machines::spec_above(scenario, &self.run, "--switch", &sets)?
            }
            _ => self.run.clone(),
        };
        Catalogue.values(&policy).map_err(|e| Error::plain(e.message))?;
        run.policy = policy;
        Ok(run)
    }

    /// Reason why no kernel could mean a set; `None`: it makes sense.
    fn why_not(&self, switches: &[Switch], set: Set) -> Option<String> {
        self.with(switches, set).err().map(|e| e.title().to_string())
    }

    /// The first set that no kernel could mean, if there is one. A contradiction is between two
    /// settings, so above six switches singles, pairs and the whole stand for all sets.
    fn senseless(&self, switches: &[Switch]) -> Option<Set> {
        // More than a set can hold are refused anyway.
        if switches.len() > MOST {
            return None;
        }
        let all = sets(switches.len(), &Vec::new());
        all.into_iter().find(|&set| self.why_not(switches, set).is_some())
    }

    /// Joins switches until every set makes sense. A switch that makes none alone is joined with the
    /// first that takes its contradiction away; two that make none together are joined.
    pub(super) fn joined(&self, mut switches: Vec<Switch>) -> Result<Vec<Switch>, Error> {
        while let Some(set) = self.senseless(&switches) {
            let on: Vec<usize> = (0..switches.len()).filter(|i| set >> i & 1 == 1).collect();
            let why = |set| self.why_not(&switches, set);
            let mends = |j: &usize| set >> j & 1 == 0 && why(set | 1 << j) != why(set);
            let (keep, join) = match on[..] {
                [i] => match (0..switches.len()).find(mends) {
                    Some(j) => (i.min(j), i.max(j)),
                    None if switches.len() > 1 => (0, 1),
                    None => break,
                },
                [i, j, ..] => (i, j),
                [] => break,
            };
            let gone = switches.remove(join);
            let settings = [switches[keep].settings.clone(), gone.settings].concat();
            switches[keep] = Switch::new(settings);
        }
        match self.senseless(&switches) {
            None => Ok(switches),
            Some(set) => {
                let why = self.why_not(&switches, set).unwrap_or_default();
                let preset = &self.run.policy.preset;
                Err(Error::of_option(format!("--from: {preset} makes no sense: {why}")))
            }
        }
    }
}

/// All knobs of a policy with their values.
fn values(spec: &PolicySpec) -> Result<Vec<(&'static str, String)>, Error> {
    Catalogue.values(spec).map_err(|e| Error::plain(e.message))
}

/// A preset by its name; `option` gave it.
pub fn preset(option: &str, name: &str) -> Result<PolicySpec, Error> {
    let known = Catalogue.presets();
    if name.starts_with("rules-v") {
        let title =
            format!("{option}: {name} are the rules of a kernel, write the preset of an LRU");
        let help = "kernels are taken apart by `--from-kernel` and `--to-kernel`";
        return Err(Error::of_option(title).help(help));
    }
    if !known.iter().any(|p| p == name) {
        return Err(unknown_preset(option, name, &known));
    }
    Ok(PolicySpec { preset: name.to_string(), knobs: Vec::new() })
}

/// Differences between `from` and `to`, a switch for each knob.
///
/// # Errors
///
/// They are of different LRUs, or nothing differs.
pub(super) fn between(from: &PolicySpec, to: &PolicySpec) -> Result<Vec<Switch>, Error> {
    let (off, on) = (values(from)?, values(to)?);
    let names = |of: &[(&'static str, String)]| of.iter().map(|v| v.0).collect::<Vec<_>>();
    let (a, b) = (&from.preset, &to.preset);
    if names(&off) != names(&on) {
        let title = format!("--to: {b} and {a} are of different LRUs, which share no switches");
        let kin = |p: &String| {
            let spec = PolicySpec { preset: p.clone(), knobs: Vec::new() };
            values(&spec).is_ok_and(|v| names(&v) == names(&off))
        };
        let kin = Catalogue.presets().into_iter().filter(|p| p != a && kin(p));
        let kin: Vec<String> = kin.collect();
        let help = match kin.as_slice() {
            [] => format!("{a} has no switches: write another preset as --from"),
            _ => format!(
                "write one of {}; or `--switch`: docs/ablate.md says which knobs of {a} stand for \
                 mechanisms of the other LRU",
                kin.join(", ")
            ),
        };
        return Err(Error::of_option(title).help(help));
    }
    let differ = off.into_iter().zip(on).filter(|(off, on)| off.1 != on.1);
    let setting = |((knob, off), (_, on))| Setting { knob: String::from(knob), off, on };
    let switches: Vec<Switch> = differ.map(|d| Switch::new(vec![setting(d)])).collect();
    if switches.is_empty() {
        let title = format!("--to: {b} has all knobs as {a} has them: there is nothing to switch");
        return Err(Error::of_option(title).help("write another preset"));
    }
    Ok(switches)
}

/// Changes of the step to a preset, on top of `from`.
///
/// # Errors
///
/// The preset is the first of its LRU, or of another LRU, or `from` has all of it already.
pub(super) fn stage(from: &PolicySpec, name: &str) -> Result<Vec<Switch>, Error> {
    let step = values(&preset("--stage", name)?)?;
    let wrong = |what: String| Error::of_option(format!("--stage: {what}"));
    let Some((_, changed)) = Catalogue.before(name) else {
        return Err(wrong(format!("{name} is built on no other preset"))
            .help("write a later one: `mmsim list presets`"));
    };
    let mut to = from.clone();
    for (knob, value) in step.into_iter().filter(|(k, _)| changed.iter().any(|(c, _)| c == k)) {
        to.knobs.retain(|k| k.key != knob);
        to.knobs.push(Knob { key: knob.to_string(), value: KnobValue::Text(value) });
    }
    let to_values = values(&to).map_err(|_| {
        wrong(format!("what {name} changed makes no sense on {}", from.preset))
            .help("write a stage of the same LRU, on a base near it")
    })?;
    if to_values == values(from)? {
        return Err(wrong(format!("{} has all that {name} changed", from.preset))
            .help("write another stage, or --to"));
    }
    between(from, &to)
}

/// Switches as they were written: `knob=value` or `path=value`, with commas between those that change
/// together.
///
/// # Errors
///
/// There is no such knob, path or value, it is so already, or the settings contradict the base or one
/// another.
pub(super) fn written(base: &Base<'_>, words: &[String]) -> Result<Vec<Switch>, Error> {
    let mut switches: Vec<Switch> = Vec::new();
    for word in words {
        let wrong = |what: String| Error::of_option(format!("--switch: {what}"));
        let mut settings = Vec::new();
        for part in word.split(',') {
            let Some((knob, on)) = part.split_once('=') else {
                return Err(wrong(format!("found `{part}`, write KNOB=VALUE"))
                    .help("with commas between knobs that change together"));
            };
            let (knob, on) = (knob.trim(), on.trim());
            let knob = knob.strip_prefix("reclaim.").unwrap_or(knob);
            let before = switches.iter().flat_map(|s| &s.settings).chain(&settings);
            if before.into_iter().any(|s: &Setting| s.knob == knob) {
                let what = format!("{knob} is switched twice");
                return Err(wrong(what).help("a knob belongs to one switch"));
            }
            let setting = match (knob.contains('.'), base.scenario) {
                (true, Some(_)) => path(base, knob, on)?,
                _ => self::knob(&base.run.policy, knob, on)?,
            };
            settings.push(setting);
        }
        switches.push(checked(base, Switch::new(settings))?);
    }
    if let Some(set) = base.senseless(&switches) {
        let message = base.why_not(&switches, set).unwrap_or_default();
        let on = switches.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
        let on: Vec<&str> = on.map(|(_, s)| s.name.as_str()).collect();
        let title = format!("--switch: with only {} on: {message}", on.join(" and "));
        return Err(Error::of_option(title)
            .help("join knobs that need one another with a comma: `--switch a=1,b=2`"));
    }
    Ok(switches)
}

/// A knob of the LRU as it was written.
fn knob(base: &PolicySpec, knob: &str, on: &str) -> Result<Setting, Error> {
    let wrong = |what: String| Error::of_option(format!("--switch: {what}"));
    let current = values(base)?;
    let Some((_, off)) = current.iter().find(|(k, _)| *k == knob) else {
        let known: Vec<&str> = current.iter().map(|(k, _)| *k).collect();
        let what = format!("--switch: {} has no knob", base.preset);
        return Err(Error::unknown_word(&what, knob, &known));
    };
    let on = Catalogue
        .knob_value(&base.preset, knob, on)
        .map_err(|why| wrong(format!("{knob}: {}", why.message)))?;
    if *off == on {
        let what = format!("{knob} is {on} in {} already", base.preset);
        return Err(wrong(what).help("leave it out, or write another value"));
    }
    Ok(Setting { knob: knob.to_string(), off: off.clone(), on })
}

/// A path of the scenario as it was written.
fn path(base: &Base<'_>, path: &str, on: &str) -> Result<Setting, Error> {
    if base.run.axes.iter().any(|(axis, _)| axis == path) {
        let title = format!("--switch: {path} is an axis of the scenario");
        let help = format!("write one of its values: `--at {path}=VALUE`");
        return Err(Error::of_option(title).help(help));
    }
    let (knob, off) = (path.to_string(), value_of(&base.run, path));
    Ok(Setting { knob, off: off.unwrap_or_else(|| "default".into()), on: on.to_string() })
}

/// A switch whose paths are keys of the scenario that take these values and have others; with the
/// values as reports write them.
fn checked(base: &Base<'_>, mut switch: Switch) -> Result<Switch, Error> {
    if !switch.settings.iter().any(Setting::is_path) {
        return Ok(switch);
    }
    let with = base.with(std::slice::from_ref(&switch), 1)?;
    for setting in switch.settings.iter_mut().filter(|s| s.is_path()) {
        setting.on = value_of(&with, &setting.knob).unwrap_or_else(|| setting.on.clone());
    }
    let same = switch.settings.iter().find(|s| s.off == s.on);
    match same.or(switch.settings.first().filter(|_| alike(&with, &base.run))) {
        Some(Setting { knob, on, .. }) => {
            let title = format!("--switch: {knob} is {on} in the scenario already");
            Err(Error::of_option(title).help("leave it out, or write another value"))
        }
        None => Ok(switch),
    }
}

/// The value of a path in a run.
fn value_of(run: &RunSpec, path: &str) -> Option<String> {
    let settings = settings_of(run);
    let mut all = run.given.iter().chain(&settings);
    all.find(|(key, _)| key == path).map(|(_, value)| value.clone())
}

/// True of runs that have the same machine and do the same.
fn alike(a: &RunSpec, b: &RunSpec) -> bool {
    let machine = |run: &RunSpec| {
        let rules = Some(run.machine.kernel_rules());
        MachineConfig { rules, ..run.machine.clone() }
    };
    machine(a) == machine(b)
        && (&a.policy, &a.compaction, &a.tasks, &a.damon)
            == (&b.policy, &b.compaction, &b.tasks, &b.damon)
        && (&a.daemons, &a.choosers) == (&b.daemons, &b.choosers)
}

/// The run on a kernel, with its LRU of the same kind and, where compaction is on, its compaction; and
/// the settings that make it.
fn on_kernel<'a>(
    scenario: &'a Scenario,
    run: &RunSpec,
    option: &str,
    kernel: Kernel,
) -> Result<Base<'a>, Error> {
    let preset = &run.policy.preset;
    let Some(lru) = Catalogue.shipped_like(preset, kernel) else {
        let title = format!("{option}: {} has no LRU such as {preset}", kernel.name());
        return Err(Error::of_option(title).help("write a later kernel, or another --variant"));
    };
    let mut under = vec![("machine.kernel".to_string(), kernel.name().to_string())];
    under.push(("reclaim.preset".to_string(), lru.to_string()));
    if run.compaction.preset != NO_COMPACTION {
        let compaction = compaction_of(kernel).to_string();
        under.push(("compaction.preset".to_string(), compaction));
    }
    let run = machines::spec_above(scenario, run, option, &under)?;
    Ok(Base { scenario: Some(scenario), run, under })
}

/// A run on one kernel, and what another kernel has otherwise: rules, sysctls, and knobs of the LRU, of
/// compaction and of DAMON, a switch each.
///
/// # Errors
///
/// A kernel has no such LRU, or nothing differs.
pub(super) fn kernels<'a>(
    scenario: &'a Scenario,
    run: &RunSpec,
    from: Kernel,
    to: Kernel,
) -> Result<(Base<'a>, Vec<Switch>), Error> {
    if from == to {
        let title = format!("--to-kernel: both kernels are {}", to.name());
        let help = "write another one, or another --from-kernel";
        return Err(Error::of_option(title).help(help));
    }
    let base = on_kernel(scenario, run, "--from-kernel", from)?;
    let other = on_kernel(scenario, run, "--to-kernel", to)?.run;
    let (a, b) = (from.name(), to.name());
    let off = [&base.run, &other].map(|run| run.compaction.preset == NO_COMPACTION);
    if off[0] != off[1] {
        let title = format!("--to-kernel: of {a} and {b} one compacts memory by default");
        let help = "say it for both: `--set compaction.preset=none`";
        return Err(Error::of_option(title).help(help));
    }
    let knobs = |run: &RunSpec| -> Result<Vec<(String, String)>, Error> {
        let knobs = values(&run.policy)?.into_iter();
        Ok(knobs.map(|(k, v)| (k.to_string(), v)).chain(settings_of(run)).collect())
    };
    let there = knobs(&other)?;
    let mut switches = Vec::new();
    for (knob, off) in knobs(&base.run)? {
        let on = there.iter().find(|(k, _)| *k == knob).map(|(_, on)| on);
        if let Some(on) = on.filter(|on| **on != off) {
            switches.push(Switch::new(vec![Setting { knob, off, on: on.clone() }]));
        }
    }
    if switches.is_empty() {
        let title = format!("--to-kernel: {b} has all settings as {a} has them");
        return Err(Error::of_option(title).help("write another kernel"));
    }
    let switches = base.joined(switches)?;
    Ok((base, switches))
}

#[cfg(test)]
mod tests {
    use super::super::effects::all;
    use super::*;
    use mmsim_core::base::rules::KernelRules;

    fn spec(preset: &str) -> PolicySpec {
        PolicySpec { preset: preset.into(), knobs: Vec::new() }
    }

    const SCENARIO: &str = "\
        machine = { memory = \"8MiB\" }\n\
        task = [{ workload = \"sequential\", memory = \"1MiB\" }]\n";

    /// A small run of this policy.
    fn base(preset: &str) -> Base<'static> {
        let scenario = Scenario::from_str(SCENARIO, "x.toml").unwrap();
        let run = machines::specs(&scenario).unwrap().swap_remove(0);
        let run = RunSpec { policy: spec(preset), ..run };
        Base { scenario: None, run, under: Vec::new() }
    }

    fn switches(from: &str, to: &str) -> Vec<Switch> {
        base(from).joined(between(&spec(from), &spec(to)).unwrap()).unwrap()
    }

    /// Every step between neighbours of the history falls into switches, each set of which makes
    /// sense; all on is the later preset.
    #[test]
    fn each_step_of_the_history_can_be_switched() {
        for name in Catalogue.presets() {
            let Some((base, _)) = Catalogue.before(&name) else { continue };
            let (from, to) = (spec(base), spec(&name));
            let switches = switches(base, &name);
            let whole = with(&from, &switches, all(switches.len()));
            assert_eq!(Catalogue.values(&whole), Catalogue.values(&to), "{name}");
            for set in 0..=all(switches.len()) {
                assert!(Catalogue.values(&with(&from, &switches, set)).is_ok(), "{name}, {set:b}");
            }
            let staged = stage(&from, &name).unwrap();
            assert_eq!(self::base(base).joined(staged).unwrap(), switches);
        }
    }

    /// The marks of 6.14 and what a refault restores are one thing; the rest stands alone.
    #[test]
    fn knobs_that_need_one_another_are_one_switch() {
        let switches = switches("mglru-v6.12", "mglru-v6.14");
        let names: Vec<&str> = switches.iter().map(|s| s.name.as_str()).collect();
        assert!(names.contains(&"restore-rule + access-marks"), "{names:?}");
        assert!(names.contains(&"aging-rule"), "{names:?}");
    }

    #[test]
    fn mistakes_are_answered_with_what_to_write() {
        let base = base("mglru-v6.12");
        let said = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|w| w.to_string()).collect();
            let text = written(&base, &words).unwrap_err().to_string();
            text.lines().next().unwrap_or_default().to_string()
        };
        for (words, message) in [
            (vec!["bloom"], "--switch: found `bloom`, write KNOB=VALUE"),
            (vec!["blom=no"], "--switch: mglru-v6.12 has no knob `blom`, did you mean `bloom`?"),
            (
                vec!["bloom=never"],
                "--switch: bloom: unknown value \"never\", write one of \"no\", \"yes\"",
            ),
            (vec!["bloom=yes"], "--switch: bloom is yes in mglru-v6.12 already"),
            (vec!["bloom=no", "bloom=no"], "--switch: bloom is switched twice"),
        ] {
            assert_eq!(said(&words), format!("error: {message}"));
        }
        let alone = said(&["walk-mmu=no"]);
        assert!(
            alone.starts_with("error: --switch: with only walk-mmu on: nonleaf-young"),
            "{alone}"
        );
        assert!(written(&base, &["walk-mmu=no,nonleaf-young=no".into()]).is_ok());
        let policy = &base.run.policy;
        let other = between(policy, &spec("classic-v6.12")).unwrap_err().to_string();
        assert!(other.contains("different LRUs"), "{other}");
        assert!(between(policy, policy).is_err());
        assert!(stage(policy, "mglru-v6.1").is_err());
        let rules = preset("--to", "rules-v7.3").unwrap_err().to_string();
        assert!(rules.contains("--to-kernel"), "{rules}");
    }

    /// Whatever two kernels: with all switches on the run is that of the other kernel, and each set that
    /// is run makes sense.
    #[test]
    fn all_switches_of_a_kernel_make_the_other() {
        let scenario = Scenario::from_str(SCENARIO, "x.toml").unwrap();
        let run = machines::specs(&scenario).unwrap().swap_remove(0);
        for pair in Kernel::ALL.windows(2).filter(|pair| pair[0] != Kernel::V4_1) {
            for [from, to] in [[pair[0], pair[1]], [pair[1], pair[0]]] {
                let Ok((base, switches)) = kernels(&scenario, &run, from, to) else {
                    assert!([from, to].map(Kernel::name).contains(&"5.10"));
                    continue;
                };
                let with = base.with(&switches, all(switches.len())).unwrap();
                let mut other = on_kernel(&scenario, &run, "", to).unwrap().run;
                other.machine.kernel = from;
                other.machine.rules = Some(KernelRules::of(to));
                other.policy = with.policy.clone();
                assert!(alike(&with, &other), "{} to {}", from.name(), to.name());
            }
        }
        let (_, many) = kernels(&scenario, &run, Kernel::V5_5, Kernel::V7_3).unwrap();
        assert!(many.len() > MOST, "they are refused elsewhere");
        let refused = kernels(&scenario, &run, Kernel::V4_1, Kernel::V7_3).unwrap_err();
        assert!(refused.to_string().contains("compacts"), "{refused}");
    }

    /// Any path of the scenario is a switch, and a path of the LRU is its knob.
    #[test]
    fn paths_can_be_switched() {
        let scenario = Scenario::from_str(SCENARIO, "x.toml").unwrap();
        let base = Base { scenario: Some(&scenario), ..base("classic-v6.12") };
        let word = |text: &str| written(&base, &[text.to_string()]);
        let one = |text: &str| word(text).unwrap().swap_remove(0).settings.swap_remove(0);
        let swappiness = one("machine.vm.swappiness=10");
        assert_eq!((swappiness.off.as_str(), swappiness.on.as_str()), ("60", "10"));
        assert_eq!(one("machine.rules.mmap-miss-once=true").on, "yes");
        assert!(word("machine.rules.kcompactd=no,machine.rules.proactive-compaction=no").is_ok());
        assert_eq!(one("reclaim.anon-start=active").knob, "anon-start");
        let with = base.with(&word("machine.vm.swappiness=10").unwrap(), 1).unwrap();
        assert_eq!(with.machine.vm.swappiness, 10);
        for (text, said) in [
            ("machine.vm.swappiness=60", "is 60 in the scenario already"),
            ("machine.vm.swappines=60", "swappiness"),
            ("machine.vm.swappiness=999", "999 is out of range"),
            ("machine.rules.kcompactd=no", "makes no sense here"),
        ] {
            let error = word(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
