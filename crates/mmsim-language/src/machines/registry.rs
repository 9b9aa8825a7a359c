//! All that scenario files choose by a preset and then set knob by knob.

use std::marker::PhantomData;

use mmsim_compaction::CompactionConfig;
use mmsim_core::base::rules::KernelRules;
use mmsim_core::base::settings::{self, Row, Settings};
use mmsim_core::config::Kernel;
use mmsim_damon::DamonConfig;
use mmsim_lru::{ClassicConfig, MglruConfig};

use crate::scenario::policy::{KnobError, NO_COMPACTION, PolicySpec};

/// Where a scenario names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// `reclaim`.
    Reclaim,
    /// `compaction`.
    Compaction,
    /// `rules` of `[[damon]]`.
    Damon,
    /// `machine.rules`, by `machine.kernel`.
    Rules,
}

/// Names and values of settings.
pub(super) type Values = Vec<(&'static str, String)>;

/// The preset before one, and the settings that differ there.
pub(super) type Before = (&'static str, Values);

/// A thing that can be configured, whatever its type.
pub(super) trait Configurable: Sync {
    /// Names of its presets.
    fn presets(&self) -> Vec<&'static str>;
    /// Description of a preset in one line; `None`: it is no preset of this thing.
    fn about(&self, preset: &str) -> Option<&'static str>;
    /// Its settings.
    fn rows(&self) -> &'static [Row];
    /// The settings of a preset with those of a scenario on top.
    fn values(&self, spec: &PolicySpec) -> Result<Values, KnobError>;
    /// Checks that the settings of a scenario fit their preset and each other.
    fn check(&self, spec: &PolicySpec) -> Result<(), KnobError> {
        self.values(spec).map(|_| ())
    }
    /// A value of one setting as reports write it, whether or not it goes with the others.
    fn value(&self, preset: &str, knob: &str, text: &str) -> Result<String, KnobError>;
    /// The last step in the history of a preset.
    fn before(&self, preset: &str) -> Option<Before>;
}

/// One with a struct of settings.
struct Of<C>(PhantomData<fn() -> C>);

impl<C: Settings> Configurable for Of<C> {
    fn presets(&self) -> Vec<&'static str> {
        C::presets().iter().map(|p| p.name).collect()
    }
    fn about(&self, preset: &str) -> Option<&'static str> {
        C::preset(preset).map(|p| p.about)
    }
    fn rows(&self) -> &'static [Row] {
        C::ROWS
    }
    fn values(&self, spec: &PolicySpec) -> Result<Values, KnobError> {
        resolve::<C>(spec).map(|config| values(&config))
    }
    fn check(&self, spec: &PolicySpec) -> Result<(), KnobError> {
        resolve::<C>(spec).map(|_| ())
    }
    fn value(&self, preset: &str, knob: &str, text: &str) -> Result<String, KnobError> {
        let mut config = of_preset::<C>(preset)?;
        let set = config.set(knob, text);
        set.map_err(|e| KnobError { key: knob.into(), message: e.remark() })?;
        Ok(config.get(knob).unwrap_or_default())
    }
    fn before(&self, preset: &str) -> Option<Before> {
        let p = C::preset(preset)?;
        let values = p.changes().into_iter().map(|(knob, there, _)| (knob, there));
        Some((p.before?, values.collect()))
    }
}

/// One without settings, which is its own only preset.
struct Bare {
    name: &'static str,
    about: &'static str,
    has_no_knobs: &'static str,
}

impl Configurable for Bare {
    fn presets(&self) -> Vec<&'static str> {
        vec![self.name]
    }
    fn about(&self, preset: &str) -> Option<&'static str> {
        (preset == self.name).then_some(self.about)
    }
    fn rows(&self) -> &'static [Row] {
        &[]
    }
    fn values(&self, spec: &PolicySpec) -> Result<Values, KnobError> {
        match spec.knobs.first() {
            None => Ok(Vec::new()),
            Some(k) => Err(KnobError { key: k.key.clone(), message: self.has_no_knobs.into() }),
        }
    }
    fn value(&self, _: &str, knob: &str, _: &str) -> Result<String, KnobError> {
        Err(KnobError { key: knob.into(), message: "this policy has no knobs".into() })
    }
    fn before(&self, _: &str) -> Option<Before> {
        None
    }
}

/// One that can be configured.
pub(super) struct Entry {
    slot: Slot,
    /// As messages call it.
    name: &'static str,
    pub(super) what: &'static dyn Configurable,
}

/// The preset of random eviction.
pub(super) const RANDOM: &str = "random";

/// Everything that can be configured, in the order of lists.
static ALL: &[Entry] = &[
    entry(Slot::Reclaim, "the classic LRU", &Of::<ClassicConfig>(PhantomData)),
    entry(Slot::Reclaim, "MGLRU", &Of::<MglruConfig>(PhantomData)),
    entry(
        Slot::Reclaim,
        "random eviction",
        &Bare {
            name: RANDOM,
            about: "evicts at random: what no knowledge of accesses is worth",
            has_no_knobs: "random eviction has no knobs",
        },
    ),
    entry(Slot::Compaction, "compaction", &Of::<CompactionConfig>(PhantomData)),
    entry(
        Slot::Compaction,
        "no compaction",
        &Bare {
            name: NO_COMPACTION,
            about: "no compaction: free memory stays as scattered as it is",
            has_no_knobs: "without compaction there are no knobs",
        },
    ),
    entry(Slot::Damon, "DAMON", &Of::<DamonConfig>(PhantomData)),
    entry(Slot::Rules, "the rules", &Of::<KernelRules>(PhantomData)),
];

const fn entry(slot: Slot, name: &'static str, what: &'static dyn Configurable) -> Entry {
    Entry { slot, name, what }
}

/// The one that has a preset.
pub(super) fn of(preset: &str) -> Option<&'static Entry> {
    ALL.iter().find(|e| e.what.about(preset).is_some())
}

/// Names of all presets of a slot.
pub(super) fn presets(slot: Slot) -> Vec<String> {
    let of_slot = ALL.iter().filter(|e| e.slot == slot);
    of_slot.flat_map(|e| e.what.presets()).map(String::from).collect()
}

/// The name of the preset that a kernel shipped; empty: none.
pub(super) fn shipped<C: Settings>(kernel: Kernel) -> String {
    C::preset_of(kernel).map_or(String::new(), |p| p.name.to_string())
}

/// Every setting with its value.
pub(super) fn values<C: Settings>(config: &C) -> Values {
    C::ROWS.iter().map(|row| (row.name, config.get(row.name).unwrap_or_default())).collect()
}

fn of_preset<C: Settings>(preset: &str) -> Result<C, KnobError> {
    let found = C::preset(preset).map(|p| p.config.clone());
    found.ok_or_else(|| no_preset(preset))
}

/// The error of a preset that there is not.
pub(super) fn no_preset(preset: &str) -> KnobError {
    let message = format!("there is no preset \"{preset}\"");
    KnobError { key: "preset".into(), message }
}

/// The settings of a preset with those of a scenario on top.
pub(super) fn resolve<C: Settings>(spec: &PolicySpec) -> Result<C, KnobError> {
    let mut config = of_preset::<C>(&spec.preset)?;
    for k in &spec.knobs {
        let text = k.value.to_string();
        config.set(&k.key, &text).map_err(|e| {
            let hint = of_another(&spec.preset, &k.key, &text).unwrap_or_default();
            KnobError { key: k.key.clone(), message: e.remark() + &hint }
        })?;
    }
    config
        .validate()
        .map_err(|e| KnobError { key: contradicting_key(&e, spec), message: e.to_string() })?;
    Ok(config)
}

/// The words for a value that another of the same slot has for a knob of that name.
fn of_another(preset: &str, knob: &str, text: &str) -> Option<String> {
    let value = text.replace('_', "-");
    let has = |e: &&Entry| {
        e.what.rows().iter().any(|row| row.name == knob && row.allowed().any(|v| v == value))
    };
    let own = of(preset)?;
    let mut others = ALL.iter().filter(|e| e.slot == own.slot && e.name != own.name);
    let other = others.find(has).filter(|_| !has(&own))?;
    Some(format!("; \"{value}\" is a value of {}'s", other.name))
}

/// The knob of a contradiction that the user wrote: the one that it names, else the one
/// that would have to change, else the last, which made the whole contradict itself.
fn contradicting_key(e: &settings::KnobError, spec: &PolicySpec) -> String {
    let written = |text: &str| {
        let name = text.split(' ').next().unwrap_or_default();
        spec.knobs.iter().find(|k| k.key == name)
    };
    let knob = match e {
        settings::KnobError::Contradiction { setting, instead, .. } => {
            written(setting).or_else(|| written(instead))
        }
        _ => None,
    };
    knob.or(spec.knobs.last()).map_or_else(|| "preset".into(), |k| k.key.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows say of each kernel what the preset says that it shipped.
    #[test]
    fn shipped_presets_are_the_rows_of_their_kernels() {
        fn agree<C: Settings>() {
            for kernel in Kernel::ALL {
                let shipped = C::preset_of(kernel).map(|p| p.config.clone());
                assert_eq!(shipped, C::of_kernel(kernel), "{}", kernel.name());
            }
        }
        agree::<ClassicConfig>();
        agree::<MglruConfig>();
        agree::<CompactionConfig>();
        agree::<DamonConfig>();
        agree::<KernelRules>();
    }

    /// No name says two things.
    #[test]
    fn presets_have_names_of_their_own() {
        let mut all: Vec<&str> = ALL.iter().flat_map(|e| e.what.presets()).collect();
        let n = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n);
        let random = of(RANDOM).expect("random eviction is a policy");
        assert_eq!(random.what.before(RANDOM), None);
        assert!(random.what.value(RANDOM, "walk-mmu", "yes").is_err());
    }
}
