//! Which switches there are: knobs of one LRU that differ between two of its points.

use mmsim_base::error::Error;
use mmsim_language::machines::Catalogue;
use mmsim_language::scenario::policy::{Knob, KnobValue, PolicySpec};
use mmsim_language::scenario::unknown_preset;
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

/// A knob with its two values.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Setting {
    /// The knob, as scenario files name it.
    pub knob: String,
    /// Its value while the switch is off.
    pub off: String,
    /// Its value while the switch is on.
    pub on: String,
}

impl Switch {
    fn new(settings: Vec<Setting>) -> Switch {
        let knobs: Vec<&str> = settings.iter().map(|s| s.knob.as_str()).collect();
        Switch { name: knobs.join(" + "), settings }
    }
}

/// Most switches of one ablation: all pairs of them are some 2,000 runs for each seed.
pub const MOST: usize = 30;

/// The base with the switches of a set on.
pub fn with(base: &PolicySpec, switches: &[Switch], set: Set) -> PolicySpec {
    let mut spec = base.clone();
    let on = switches.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
    for setting in on.flat_map(|(_, s)| &s.settings) {
        spec.knobs.retain(|k| k.key != setting.knob);
        let value = KnobValue::Text(setting.on.clone());
        spec.knobs.push(Knob { key: setting.knob.clone(), value });
    }
    spec
}

/// All knobs of a policy with their values.
fn values(spec: &PolicySpec) -> Result<Vec<(&'static str, String)>, Error> {
    Catalogue.values(spec).map_err(|e| Error::plain(e.message))
}

/// A preset by its name; `option` gave it.
pub fn preset(option: &str, name: &str) -> Result<PolicySpec, Error> {
    let known = Catalogue.presets();
    if !known.iter().any(|p| p == name) {
        return Err(unknown_preset(option, name, &known));
    }
    Ok(PolicySpec { preset: name.to_string(), knobs: Vec::new() })
}

/// Differences between `from` and `to`, a switch for each knob. Knobs that make no sense without
/// one another are one switch.
///
/// # Errors
///
/// They are of different LRUs, or nothing differs.
pub fn between(from: &PolicySpec, to: &PolicySpec) -> Result<Vec<Switch>, Error> {
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
    joined(from, switches)
}

/// Changes of the step to a preset, on top of `from`.
///
/// # Errors
///
/// The preset is the first of its LRU, or of another LRU, or `from` has all of it already.
pub fn stage(from: &PolicySpec, name: &str) -> Result<Vec<Switch>, Error> {
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

/// Switches as they were written: `knob=value`, with commas between knobs that change together.
///
/// # Errors
///
/// There is no such knob or value, it is so already, or the knobs contradict the base or one
/// another.
pub fn written(base: &PolicySpec, words: &[String]) -> Result<Vec<Switch>, Error> {
    let current = values(base)?;
    let mut switches: Vec<Switch> = Vec::new();
    for word in words {
        let wrong = |what: String| Error::of_option(format!("--switch: {what}"));
        let mut settings = Vec::new();
        for part in word.split(',') {
            let Some((knob, on)) = part.split_once('=') else {
                return Err(wrong(format!("found `{part}`, write KNOB=VALUE"))
                    .help("with commas between knobs that change together"));
            };
            let (knob, on) = (knob.trim().to_string(), on.trim().to_string());
            let Some((_, off)) = current.iter().find(|(k, _)| *k == knob) else {
                let known: Vec<&str> = current.iter().map(|(k, _)| *k).collect();
                let what = format!("--switch: {} has no knob", base.preset);
                return Err(Error::unknown_word(&what, &knob, &known));
            };
            let on = Catalogue
                .knob_value(&base.preset, &knob, &on)
                .map_err(|why| wrong(format!("{knob}: {}", why.message)))?;
            let before = switches.iter().flat_map(|s| &s.settings).chain(&settings);
            if before.into_iter().any(|s: &Setting| s.knob == knob) {
                let what = format!("{knob} is switched twice");
                return Err(wrong(what).help("a knob belongs to one switch"));
            }
            if *off == on {
                let what = format!("{knob} is {on} in {} already", base.preset);
                return Err(wrong(what).help("leave it out, or write another value"));
            }
            settings.push(Setting { knob, off: off.clone(), on });
        }
        switches.push(Switch::new(settings));
    }
    if let Some(set) = senseless(base, &switches) {
        let spec = with(base, &switches, set);
        let message = Catalogue.values(&spec).err().map_or(String::new(), |e| e.message);
        let on = switches.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
        let on: Vec<&str> = on.map(|(_, s)| s.name.as_str()).collect();
        let title = format!("--switch: with only {} on: {message}", on.join(" and "));
        return Err(Error::of_option(title)
            .help("join knobs that need one another with a comma: `--switch a=1,b=2`"));
    }
    Ok(switches)
}

/// The first set that no kernel could mean, if there is one. A contradiction is between two knobs,
/// so above six switches singles, pairs and the whole stand for all sets.
fn senseless(base: &PolicySpec, switches: &[Switch]) -> Option<Set> {
    sets(switches.len(), &Vec::new())
        .into_iter()
        .find(|s| Catalogue.values(&with(base, switches, *s)).is_err())
}

/// Joins switches until every set makes sense. A switch that makes none alone is joined with the
/// first that takes its contradiction away; two that make none together are joined.
fn joined(base: &PolicySpec, mut switches: Vec<Switch>) -> Result<Vec<Switch>, Error> {
    while let Some(set) = senseless(base, &switches) {
        let on: Vec<usize> = (0..switches.len()).filter(|i| set >> i & 1 == 1).collect();
        let why = |set| Catalogue.values(&with(base, &switches, set)).err().map(|e| e.message);
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
    match senseless(base, &switches) {
        None => Ok(switches),
        Some(_) => Err(Error::of_option(format!("--from: {} makes no sense", base.preset))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::effects::all;
    use super::*;

    fn spec(preset: &str) -> PolicySpec {
        PolicySpec { preset: preset.into(), knobs: Vec::new() }
    }

    /// Every step between neighbours of the history falls into switches, each set of which makes
    /// sense; all on is the later preset.
    #[test]
    fn each_step_of_the_history_can_be_switched() {
        for name in Catalogue.presets() {
            let Some((base, _)) = Catalogue.before(&name) else { continue };
            let (from, to) = (spec(base), spec(&name));
            let switches = between(&from, &to).unwrap();
            let whole = with(&from, &switches, all(switches.len()));
            assert_eq!(Catalogue.values(&whole), Catalogue.values(&to), "{name}");
            for set in 0..=all(switches.len()) {
                assert!(Catalogue.values(&with(&from, &switches, set)).is_ok(), "{name}, {set:b}");
            }
            assert_eq!(stage(&from, &name).unwrap(), switches);
        }
    }

    /// The marks of 6.14 and what a refault restores are one thing; the rest stands alone.
    #[test]
    fn knobs_that_need_one_another_are_one_switch() {
        let switches = between(&spec("mglru-v6.12"), &spec("mglru-v6.14")).unwrap();
        let names: Vec<&str> = switches.iter().map(|s| s.name.as_str()).collect();
        assert!(names.contains(&"restore-rule + access-marks"), "{names:?}");
        assert!(names.contains(&"aging-rule"), "{names:?}");
    }

    #[test]
    fn mistakes_are_answered_with_what_to_write() {
        let base = spec("mglru-v6.12");
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
        let other = between(&base, &spec("classic-v6.12")).unwrap_err().to_string();
        assert!(other.contains("different LRUs"), "{other}");
        assert!(between(&base, &base).is_err());
        assert!(stage(&base, "mglru-v6.1").is_err());
    }
}
