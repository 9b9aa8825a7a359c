//! Replacement policy, compaction and rules of DAMON of a run: presets and knobs with the places
//! where they were written, checked by a [`Registry`].

use mmsim_compaction::CompactionConfig;
use mmsim_core::base::settings::Settings as _;
use mmsim_core::config::Kernel;
use mmsim_lru::ClassicConfig;

use super::inline::inline;
use super::raw::{At, Entry, Node, Sources, Value, kind_of};
use super::read::{suggested, unknown, version_of};
use crate::registry::Registry;
use mmsim_base::error::{Error, ErrorKind};
use mmsim_base::nearest::nearest;

pub use crate::registry::{Knob, KnobError, KnobInfo, KnobValue, NO_COMPACTION, PolicySpec};

/// The preset of compaction that a kernel shipped.
pub fn compaction_of(kernel: Kernel) -> &'static str {
    CompactionConfig::preset_of(kernel).map_or(NO_COMPACTION, |p| p.name)
}

/// The preset of reclaim that a kernel shipped.
pub fn preset_of(kernel: Kernel) -> String {
    ClassicConfig::preset_of(kernel).map_or(String::new(), |p| p.name.to_string())
}

/// A policy with the places where it was written.
#[derive(Clone, Debug)]
pub(super) struct PlacedPolicy {
    /// The key: `reclaim`, `compaction` or `damon[0].rules`.
    path: String,
    spec: PolicySpec,
    /// True if a preset was written.
    preset_given: bool,
    preset_at: At,
    /// Places of key and value of each knob.
    knobs_at: Vec<(At, At)>,
}

/// Reads a merged table of a preset and knobs; `example`: a preset, for messages.
pub(super) fn read(
    sources: &Sources,
    node: Option<&Node>,
    path: &str,
    example: &str,
) -> Result<PlacedPolicy, Error> {
    let spec = PolicySpec { preset: String::new(), knobs: Vec::new() };
    let mut policy = PlacedPolicy {
        path: path.to_string(),
        spec,
        preset_given: false,
        preset_at: At::DEFAULT,
        knobs_at: Vec::new(),
    };
    let Some(node) = node else { return Ok(policy) };
    let Some(table) = node.table() else {
        let title = format!("{path}: found {}, write a table", super::read::describe(&node.value));
        let label = format!("write {{ preset = \"{example}\" }}");
        return Err(sources.error(node.at, title, label));
    };
    for e in &table.entries {
        let value = knob_value(sources, path, e)?;
        if e.key == "preset" {
            let KnobValue::Text(name) = value else {
                let found = super::read::describe(&e.node.value);
                let title = format!("{path}.preset: found {found}, write the name of a preset");
                return Err(sources.error(e.node.at, title, format!("write \"{example}\"")));
            };
            policy.spec.preset = name;
            policy.preset_given = true;
            policy.preset_at = e.node.at;
        } else {
            policy.spec.knobs.push(Knob { key: e.key.clone(), value });
            policy.knobs_at.push((e.key_at, e.node.at));
        }
    }
    Ok(policy)
}

/// The value of a knob of `path` as it is written.
pub(super) fn knob_value(sources: &Sources, path: &str, e: &Entry) -> Result<KnobValue, Error> {
    let error = |what: String, write| {
        Err(sources.error(e.node.at, format!("{path}.{}: {what}", e.key), write))
    };
    match &e.node.value {
        Value::Text(s) => Ok(KnobValue::Text(s.clone())),
        Value::Flag(b) => Ok(KnobValue::Flag(*b)),
        Value::Float(x) => Ok(KnobValue::Number(*x)),
        Value::Integer(n) => match i64::try_from(*n) {
            Ok(n) => Ok(KnobValue::Integer(n)),
            Err(_) => error(
                format!("{} is out of range", inline(&e.node.value)),
                "write a smaller number",
            ),
        },
        v => error(
            format!("found {}, write a single value", kind_of(v)),
            "write a string, a number, true or false",
        ),
    }
}

/// The preset that is probably meant, with the words for it. Of a policy without a version it is
/// the newest, of one with a version that is not modelled the last before it.
fn nearest_preset<'k>(preset: &str, known: &[&'k str]) -> Option<(&'k str, &'static str)> {
    let of_it = |k: &&&str| k.strip_prefix(preset).is_some_and(|rest| rest.starts_with("-v"));
    let newest = known.iter().rev().find(of_it).map(|k| (*k, ", the newest of them"));
    newest
        .or_else(|| last_before(preset, known))
        .or_else(|| nearest(preset, known).map(|k| (k, "")))
}

/// The last preset of a policy that is not of a later kernel than `POLICY-vVERSION`, with the words
/// for it.
fn last_before<'k>(preset: &str, known: &[&'k str]) -> Option<(&'k str, &'static str)> {
    let parts = |k: &str| {
        let (policy, version) = k.split_once("-v")?;
        Some((policy.to_string(), version_of(version)?))
    };
    let (policy, wanted) = parts(preset)?;
    let version = |k: &&str| parts(k).filter(|(of, v)| *of == policy && *v <= wanted).map(|p| p.1);
    // Of several of one kernel that which is named after the kernel alone.
    let named = |k: &str| k.split_once("-v").is_some_and(|(_, v)| !v.contains(['-', '+']));
    let all = known.iter().filter_map(|k| Some((version(k)?, named(k), *k)));
    let (version, _, last) = all.max_by_key(|(version, named, _)| (*version, *named))?;
    Some((last, if version == wanted { "" } else { ", the last before it" }))
}

/// Error for a preset in an option of the command line that does not exist.
pub fn unknown_preset(option: &str, preset: &str, known: &[String]) -> Error {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = nearest_preset(preset, &known);
    let near = near.map_or(String::new(), |(n, note)| format!(", did you mean `{n}`{note}?"));
    Error::of_option(format!("{option}: unknown preset `{preset}`{near}"))
        .help(format!("known: {}", known.join(", ")))
}

impl PlacedPolicy {
    /// Checks that the preset that was written, if one was, is among these.
    pub(super) fn check_preset(&self, sources: &Sources, presets: &[String]) -> Result<(), Error> {
        match self.preset_given {
            true => self.is_among(sources, &self.spec.preset, presets),
            false => Ok(()),
        }
    }

    fn is_among(&self, sources: &Sources, preset: &str, presets: &[String]) -> Result<(), Error> {
        if presets.iter().any(|p| p == preset) {
            return Ok(());
        }
        let known: Vec<&str> = presets.iter().map(String::as_str).collect();
        let prefix = format!("{}: ", self.path);
        let near = nearest_preset(preset, &known);
        Err(suggested(sources, self.preset_at, (&prefix, "preset", preset), near, &known))
    }

    /// Asks the registry, which has these presets; without one of them it is the `default`.
    /// Errors point at the file.
    pub(super) fn check(
        &self,
        sources: &Sources,
        registry: &Registry,
        presets: Vec<String>,
        default: String,
    ) -> Result<PolicySpec, Error> {
        let path = &self.path;
        let mut spec = self.spec.clone();
        if !self.preset_given {
            spec.preset = default;
        }
        let PolicySpec { preset, knobs } = &spec;
        self.is_among(sources, preset, &presets)?;
        let infos = registry.knobs(preset);
        for (knob, at) in knobs.iter().zip(&self.knobs_at) {
            if !infos.iter().any(|i| i.key == knob.key) {
                let has = |p: &&String| registry.knobs(p).iter().any(|i| i.key == knob.key);
                // Of the newest preset that has it.
                if let Some(other) = presets.iter().rev().find(has) {
                    let title =
                        format!("{path} ({preset}): \"{}\" is no knob of this policy", knob.key);
                    let help =
                        format!("it is one of {other}; write another preset, or leave it out");
                    return Err(sources.error(at.0, title, help));
                }
                let known: Vec<&str> = infos.iter().map(|i| i.key.as_str()).collect();
                let prefix = format!("{path} ({preset}): ");
                return Err(unknown(sources, at.0, &prefix, "knob", &knob.key, &known));
            }
        }
        if let Err(KnobError { key, message }) = registry.values(&spec) {
            let at = knobs.iter().position(|k| k.key == key).map(|i| self.knobs_at[i].1);
            let title = format!("{path}.{key}: {message}");
            return Err(match at {
                Some(at) => sources.error(at, title, format!("does not fit {preset}")),
                None => Error::new(ErrorKind::Policy, title),
            });
        }
        Ok(spec)
    }
}
