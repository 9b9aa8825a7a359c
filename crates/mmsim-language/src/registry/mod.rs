//! All that scenario files choose by a preset and then set knob by knob.
//!
//! A [`Registry`] is a value: [`registry`] has what mmsim ships, and [`Registry::with`] adds a
//! policy from elsewhere. Its settings then are in scenario files, options, axes, the schema and
//! reports, as those of the shipped ones are.

mod spec;

pub use mmsim_daemons::program;
pub use spec::{Knob, KnobError, KnobInfo, KnobValue, PolicySpec};

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock};

use mmsim_compaction::CompactionConfig;
use mmsim_core::base::rules::KernelRules;
use mmsim_core::base::settings::{self, Row, Settings};
use mmsim_core::config::Kernel;
use mmsim_core::memory::Memory;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_core::policy::chooser::Choosers;
use mmsim_damon::DamonConfig;
use mmsim_lru::{Classic, ClassicConfig, Mglru, MglruConfig, Random};

/// The preset of compaction that makes nothing: a kernel built without compaction.
pub const NO_COMPACTION: &str = "none";

/// The preset of random eviction.
pub(crate) const RANDOM: &str = "random";

/// A replacement policy with settings, which scenario files choose by the presets of these.
pub trait ConfiguredPolicy {
    /// Its settings, with at least one preset.
    type Settings: Settings;
    /// The name that messages call it by.
    const NAME: &'static str;
    /// Creates the policy with its lists in `mem`; `seed` is that of the run.
    fn create(settings: Self::Settings, mem: &mut Memory, seed: u64) -> Box<dyn ReclaimPolicy>;
}

impl ConfiguredPolicy for Classic {
    type Settings = ClassicConfig;
    const NAME: &'static str = "the classic LRU";
    fn create(settings: ClassicConfig, mem: &mut Memory, _seed: u64) -> Box<dyn ReclaimPolicy> {
        Classic::boxed(settings, mem)
    }
}

impl ConfiguredPolicy for Mglru {
    type Settings = MglruConfig;
    const NAME: &'static str = "MGLRU";
    fn create(settings: MglruConfig, mem: &mut Memory, seed: u64) -> Box<dyn ReclaimPolicy> {
        Mglru::boxed(settings, mem, seed)
    }
}

/// Creates the policy of a run in its memory, with its seed.
pub type CreatePolicy = Box<dyn FnOnce(&mut Memory, u64) -> Box<dyn ReclaimPolicy>>;

/// Where a scenario names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
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
pub type Values = Vec<(&'static str, String)>;

/// The preset before one, and the settings that differ there.
pub type Before = (&'static str, Values);

/// The value of a setting on a kernel that has it.
pub(crate) type DefaultOf<'a> = dyn Fn(&Row, Kernel) -> Option<u64> + 'a;

/// The name of a thing, its settings, and their values on kernels.
pub(crate) type OfKernels<'a> = (&'static str, &'static [Row], Box<DefaultOf<'a>>);

/// A thing that can be configured, whatever its type.
trait Configurable: Send + Sync {
    /// Names of its presets.
    fn presets(&self) -> Vec<&'static str>;
    /// Description of a preset in one line; `None`: it is no preset of this thing.
    fn about(&self, preset: &str) -> Option<&'static str>;
    /// The preset that a kernel shipped.
    fn shipped(&self, kernel: Kernel) -> Option<&'static str>;
    /// Its settings.
    fn rows(&self) -> &'static [Row];
    /// The value of a setting on a kernel that has it.
    fn default(&self, _row: &Row, _kernel: Kernel) -> Option<u64> {
        None
    }
    /// The settings of a preset with those of a scenario on top.
    fn values(&self, spec: &PolicySpec) -> Result<Values, KnobError>;
    /// A value of one setting as reports write it, whether or not it goes with the others.
    fn value(&self, preset: &str, knob: &str, text: &str) -> Result<String, KnobError>;
    /// The last step in the history of a preset.
    fn before(&self, preset: &str) -> Option<Before>;
    /// The policy with the settings of a scenario; `None`: it is none.
    fn policy(&self, _spec: &PolicySpec) -> Option<Result<CreatePolicy, KnobError>> {
        None
    }
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
    fn shipped(&self, kernel: Kernel) -> Option<&'static str> {
        C::preset_of(kernel).map(|p| p.name)
    }
    fn rows(&self) -> &'static [Row] {
        C::ROWS
    }
    fn default(&self, row: &Row, kernel: Kernel) -> Option<u64> {
        C::of_kernel(kernel)?.number(row)
    }
    fn values(&self, spec: &PolicySpec) -> Result<Values, KnobError> {
        resolve::<C>(spec).map(|config| values(&config))
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

/// A policy with settings.
struct OfPolicy<P>(PhantomData<fn() -> P>);

impl<P: ConfiguredPolicy> OfPolicy<P> {
    const SETTINGS: Of<P::Settings> = Of(PhantomData);
}

impl<P: ConfiguredPolicy> Configurable for OfPolicy<P> {
    fn presets(&self) -> Vec<&'static str> {
        Self::SETTINGS.presets()
    }
    fn about(&self, preset: &str) -> Option<&'static str> {
        Self::SETTINGS.about(preset)
    }
    fn shipped(&self, kernel: Kernel) -> Option<&'static str> {
        Self::SETTINGS.shipped(kernel)
    }
    fn rows(&self) -> &'static [Row] {
        Self::SETTINGS.rows()
    }
    fn default(&self, row: &Row, kernel: Kernel) -> Option<u64> {
        Self::SETTINGS.default(row, kernel)
    }
    fn values(&self, spec: &PolicySpec) -> Result<Values, KnobError> {
        Self::SETTINGS.values(spec)
    }
    fn value(&self, preset: &str, knob: &str, text: &str) -> Result<String, KnobError> {
        Self::SETTINGS.value(preset, knob, text)
    }
    fn before(&self, preset: &str) -> Option<Before> {
        Self::SETTINGS.before(preset)
    }
    fn policy(&self, spec: &PolicySpec) -> Option<Result<CreatePolicy, KnobError>> {
        let create = |settings| -> CreatePolicy {
            Box::new(move |mem, seed| P::create(settings, mem, seed))
        };
        Some(resolve::<P::Settings>(spec).map(create))
    }
}

/// Makes a policy of a machine and its seed.
type Create = fn(&mut Memory, u64) -> Box<dyn ReclaimPolicy>;

/// One without settings, which is its own only preset.
struct Bare {
    name: &'static str,
    about: &'static str,
    has_no_knobs: &'static str,
    create: Option<Create>,
}

impl Configurable for Bare {
    fn presets(&self) -> Vec<&'static str> {
        vec![self.name]
    }
    fn about(&self, preset: &str) -> Option<&'static str> {
        (preset == self.name).then_some(self.about)
    }
    fn shipped(&self, _: Kernel) -> Option<&'static str> {
        Some(self.name)
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
    fn policy(&self, spec: &PolicySpec) -> Option<Result<CreatePolicy, KnobError>> {
        let create = self.create?;
        Some(self.values(spec).map(|_| Box::new(create) as CreatePolicy))
    }
}

/// One that can be configured.
#[derive(Clone)]
struct Entry {
    slot: Slot,
    /// As messages call it.
    name: &'static str,
    what: Arc<dyn Configurable>,
}

fn entry(slot: Slot, name: &'static str, what: impl Configurable + 'static) -> Entry {
    Entry { slot, name, what: Arc::new(what) }
}

/// Everything that a scenario can configure by presets and knobs, in the order of lists.
#[derive(Clone)]
pub struct Registry {
    entries: Arc<Vec<Entry>>,
    /// Code of daemons.
    programs: Option<Arc<dyn program::Programs>>,
    /// Choosers of groups that are modules.
    choosers: Option<Arc<dyn Choosers>>,
}

static SHIPPED: LazyLock<Registry> = LazyLock::new(|| {
    let entries = Arc::new(vec![
        entry(Slot::Reclaim, Classic::NAME, OfPolicy::<Classic>(PhantomData)),
        entry(Slot::Reclaim, Mglru::NAME, OfPolicy::<Mglru>(PhantomData)),
        entry(
            Slot::Reclaim,
            "random eviction",
            Bare {
                name: RANDOM,
                about: "evicts at random: what no knowledge of accesses is worth",
                has_no_knobs: "random eviction has no knobs",
                create: Some(|mem, seed| Box::new(Random::new(mem, seed))),
            },
        ),
        entry(Slot::Compaction, "compaction", Of::<CompactionConfig>(PhantomData)),
        entry(
            Slot::Compaction,
            "no compaction",
            Bare {
                name: NO_COMPACTION,
                about: "no compaction: free memory stays as scattered as it is",
                has_no_knobs: "without compaction there are no knobs",
                create: None,
            },
        ),
        entry(Slot::Damon, "DAMON", Of::<DamonConfig>(PhantomData)),
        entry(Slot::Rules, "the rules", Of::<KernelRules>(PhantomData)),
    ]);
    Registry { entries, programs: None, choosers: None }
});

/// The registry of what mmsim ships.
pub fn registry() -> Registry {
    SHIPPED.clone()
}

/// The registry of what mmsim ships, where one is borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Catalogue;

impl std::ops::Deref for Catalogue {
    type Target = Registry;

    fn deref(&self) -> &Registry {
        &SHIPPED
    }
}

impl Default for Registry {
    fn default() -> Self {
        registry()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|e| e.name)).finish()
    }
}

/// Registries are equal if the same calls made them.
impl PartialEq for Registry {
    fn eq(&self, other: &Self) -> bool {
        same(&self.programs, &other.programs)
            && same(&self.choosers, &other.choosers)
            && Arc::ptr_eq(&self.entries, &other.entries)
    }
}

fn same<T: ?Sized>(a: &Option<Arc<T>>, b: &Option<Arc<T>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

impl Registry {
    /// The registry with a policy more, behind the others.
    ///
    /// # Panics
    /// The policy has no preset, or a name of one is taken.
    #[must_use]
    pub fn with<P: ConfiguredPolicy + 'static>(&self) -> Registry {
        let new = entry(Slot::Reclaim, P::NAME, OfPolicy::<P>(PhantomData));
        let presets = new.what.presets();
        assert!(!presets.is_empty(), "{} has no preset", P::NAME);
        for preset in presets {
            assert!(self.of(preset).is_none(), "{}: the preset `{preset}` exists", P::NAME);
        }
        let mut all = Vec::clone(&self.entries);
        all.push(new);
        Registry { entries: Arc::new(all), ..self.clone() }
    }

    /// The registry with code for daemons that scenarios name by `program`.
    #[must_use]
    pub fn with_programs(&self, programs: Arc<dyn program::Programs>) -> Registry {
        Registry { programs: Some(programs), ..self.clone() }
    }

    /// The registry with modules that choose file folios, which scenarios name in `cache-ext`.
    #[must_use]
    pub fn with_choosers(&self, choosers: Arc<dyn Choosers>) -> Registry {
        Registry { choosers: Some(choosers), ..self.clone() }
    }

    /// The maker of choosers that are modules, if there is one.
    pub(crate) fn choosers(&self) -> Option<&dyn Choosers> {
        self.choosers.as_deref()
    }

    /// The code of daemons, if there is any.
    pub(crate) fn programs(&self) -> Option<&dyn program::Programs> {
        self.programs.as_deref()
    }

    /// The one that has a preset.
    fn of(&self, preset: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.what.about(preset).is_some())
    }

    fn known(&self, preset: &str) -> Result<&Entry, KnobError> {
        self.of(preset).ok_or_else(|| no_preset(preset))
    }

    /// Names of all presets of a slot.
    pub fn presets_of(&self, slot: Slot) -> Vec<String> {
        let of_slot = self.entries.iter().filter(|e| e.slot == slot);
        of_slot.flat_map(|e| e.what.presets()).map(String::from).collect()
    }

    /// The settings of each thing of a slot: its name, their rows, and the value of a row on a
    /// kernel.
    pub(crate) fn rows_of(&self, slot: Slot) -> impl Iterator<Item = OfKernels<'_>> {
        let of_slot = self.entries.iter().filter(move |e| e.slot == slot);
        of_slot.map(|e| {
            let default = |row: &Row, kernel| e.what.default(row, kernel);
            (e.name, e.what.rows(), Box::new(default) as Box<DefaultOf<'_>>)
        })
    }

    /// Names of all presets of replacement policies.
    pub fn presets(&self) -> Vec<String> {
        self.presets_of(Slot::Reclaim)
    }

    /// Names of all presets of compaction, other than those of policies.
    pub fn compaction_presets(&self) -> Vec<String> {
        self.presets_of(Slot::Compaction)
    }

    /// Names of all presets of DAMON.
    pub fn damon_presets(&self) -> Vec<String> {
        self.presets_of(Slot::Damon)
    }

    /// The preset of compaction where a scenario names none: that of 4.1, which is modelled for the
    /// sake of its compaction, on 4.1. Later kernels compact if the scenario says so: in the
    /// background they would move pages of workloads that never ask for a large block, and with
    /// them every figure that was recorded or calibrated with compaction switched off.
    pub fn default_compaction(&self, kernel: Kernel) -> String {
        match kernel {
            Kernel::V4_1 => shipped::<CompactionConfig>(kernel),
            _ => NO_COMPACTION.to_string(),
        }
    }

    /// The preset of DAMON that goes with a kernel.
    pub fn default_damon(&self, kernel: Kernel) -> String {
        shipped::<DamonConfig>(kernel)
    }

    /// The knobs of a preset of any kind.
    pub fn knobs(&self, preset: &str) -> Vec<KnobInfo> {
        let Some(entry) = self.of(preset) else { return Vec::new() };
        let of_preset = PolicySpec { preset: preset.into(), knobs: Vec::new() };
        let values = entry.what.values(&of_preset).unwrap_or_default();
        let info = |(row, (name, value)): (&Row, (&str, String))| KnobInfo {
            key: name.into(),
            values: row.takes(),
            value,
            doc: row.doc.into(),
        };
        entry.what.rows().iter().zip(values).map(info).collect()
    }

    /// Every setting of a preset with those of a scenario on top.
    ///
    /// # Errors
    /// There is no such preset, or a knob does not fit it or the others.
    pub fn values(&self, spec: &PolicySpec) -> Result<Values, KnobError> {
        self.known(&spec.preset)?.what.values(spec)
    }

    /// Makes what creates the policy of a run.
    ///
    /// # Errors
    /// There is no such preset of a policy, or a knob does not fit it or the others.
    pub fn policy(&self, spec: &PolicySpec) -> Result<CreatePolicy, KnobError> {
        let policy = self.known(&spec.preset)?.what.policy(spec);
        policy.unwrap_or_else(|| Err(no_preset(&spec.preset)))
    }

    /// Description of a preset in one line; empty: there is no such preset.
    pub fn about(&self, preset: &str) -> &'static str {
        self.of(preset).and_then(|e| e.what.about(preset)).unwrap_or_default()
    }

    /// The last step in the history of a preset: the preset that it was built on, and each knob
    /// that differs there, with its value there. `None` for the first preset, and for policies
    /// without history.
    pub fn before(&self, preset: &str) -> Option<Before> {
        self.of(preset)?.what.before(preset)
    }

    /// The preset that a kernel shipped of the thing that has this preset: `mglru-v7.3` of
    /// `mglru-v6.18` and 7.3. A policy without settings is the same on every kernel. `None`: the
    /// kernel has no such thing.
    pub fn shipped_like(&self, preset: &str, kernel: Kernel) -> Option<&'static str> {
        self.of(preset)?.what.shipped(kernel)
    }

    /// A value of a knob as reports write it, whether or not it goes with the other knobs.
    ///
    /// # Errors
    /// There is no such preset or knob, or it does not take the value.
    pub fn knob_value(&self, preset: &str, knob: &str, text: &str) -> Result<String, KnobError> {
        self.known(preset)?.what.value(preset, knob, text)
    }
}

/// The name of the preset that a kernel shipped; empty: none.
pub(crate) fn shipped<C: Settings>(kernel: Kernel) -> String {
    C::preset_of(kernel).map_or(String::new(), |p| p.name.to_string())
}

/// Every setting with its value.
pub(crate) fn values<C: Settings>(config: &C) -> Values {
    C::ROWS.iter().map(|row| (row.name, config.get(row.name).unwrap_or_default())).collect()
}

fn of_preset<C: Settings>(preset: &str) -> Result<C, KnobError> {
    let found = C::preset(preset).map(|p| p.config.clone());
    found.ok_or_else(|| no_preset(preset))
}

/// The error of a preset that there is not.
pub(crate) fn no_preset(preset: &str) -> KnobError {
    let message = format!("there is no preset \"{preset}\"");
    KnobError { key: "preset".into(), message }
}

/// The settings of a preset with those of a scenario on top.
pub(crate) fn resolve<C: Settings>(spec: &PolicySpec) -> Result<C, KnobError> {
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
    let own = SHIPPED.of(preset)?;
    let mut others = SHIPPED.entries.iter().filter(|e| e.slot == own.slot && e.name != own.name);
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
        let mut all: Vec<&str> = SHIPPED.entries.iter().flat_map(|e| e.what.presets()).collect();
        let n = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n);
        assert_eq!(SHIPPED.before(RANDOM), None);
        assert!(SHIPPED.knob_value(RANDOM, "walk-mmu", "yes").is_err());
    }
}
