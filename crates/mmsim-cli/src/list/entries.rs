//! Lists of a line each: presets and their knobs, devices, and the rest of `mmsim list`.

use mmsim::Error;
use mmsim::backing::device::{DEVICE_PRESETS, Row};
use mmsim::base::settings::Settings as _;
use mmsim::base::time::SimDuration;
use mmsim::config::Kernel;
use mmsim::config::cost::CostModel;
use mmsim::machines::Catalogue;
use mmsim::report::events::EVENTS;
use mmsim::scenario::keys::TableSpec;
use mmsim::scenario::tables;
use mmsim::scenario::unknown_preset;

/// One thing of a list.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub(crate) struct Entry {
    /// Its name.
    pub name: String,
    /// Its value, where the list has values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Its value before, if it was another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
    /// Description in one line.
    pub about: String,
}

/// A value that a preset changed.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub(crate) struct Before {
    /// The preset that it was built on.
    pub preset: String,
    /// The value there.
    pub value: String,
}

impl Entry {
    fn new(name: impl Into<String>, about: impl Into<String>) -> Entry {
        Entry { name: name.into(), value: None, before: None, about: about.into() }
    }

    fn with(name: impl Into<String>, value: impl Into<String>, about: impl Into<String>) -> Entry {
        Entry { value: Some(value.into()), ..Entry::new(name, about) }
    }
}

/// Names of presets: of reclaim, of compaction, of DAMON, and the rules of kernels; oldest first.
pub(crate) fn preset_names() -> Vec<String> {
    let rules = Kernel::ALL.map(|k| k.name_of_rules().to_string()).to_vec();
    let damon = Catalogue.damon_presets();
    [Catalogue.presets(), Catalogue.compaction_presets(), damon, rules].concat()
}

/// Presets of policies.
pub(crate) fn presets() -> Vec<Entry> {
    let entry = |preset: String| {
        let about = Catalogue.about(&preset);
        Entry::new(preset, about)
    };
    preset_names().into_iter().map(entry).collect()
}

/// Workloads by their names in scenarios.
pub(crate) fn workloads() -> Vec<Entry> {
    tables::WORKLOADS.iter().map(|w| Entry::new(w.name, w.about)).collect()
}

/// The knobs of a preset, or those that a word names: their values in it, and what it changed.
pub(crate) fn of_preset(preset: Option<&str>, word: Option<&str>) -> Result<Vec<Entry>, Error> {
    let name = preset.unwrap_or_default();
    let presets = preset_names();
    if !presets.iter().any(|p| p == name) {
        return Err(unknown_preset("--preset", name, &presets));
    }
    let before = Catalogue.before(name);
    let changed = |knob: &str| {
        let (preset, values) = before.as_ref()?;
        let (_, value) = values.iter().find(|(k, _)| *k == knob)?;
        Some(Before { preset: preset.to_string(), value: value.clone() })
    };
    let word = word.unwrap_or_default().to_lowercase().replace('_', "-");
    let knobs = Catalogue.knobs(name).into_iter().filter(|k| k.key.contains(&word));
    let entry = |k: mmsim::scenario::KnobInfo| Entry {
        before: changed(&k.key),
        name: k.key,
        value: Some(k.value),
        about: k.doc,
    };
    Ok(knobs.map(entry).collect())
}

/// Presets of devices, with their figures and where these come from.
pub(crate) fn devices() -> Vec<Entry> {
    let entry = |&(name, read, write, servers, mbps, synchronous, _, _, depth, basis): &Row| {
        let (read, write) = (SimDuration::from_nanos(read), SimDuration::from_nanos(write));
        let servers = match servers {
            0 => "one server per CPU".to_string(),
            1 => "1 server".to_string(),
            n => format!("{n} servers"),
        };
        let bandwidth = if mbps > 0 { format!(", {mbps} MB/s") } else { String::new() };
        let kind = match synchronous {
            true => ", synchronous".to_string(),
            false => format!(", queue depth {depth}"),
        };
        Entry::new(
            name,
            format!("read {read}, write {write}, {servers}{bandwidth}{kind} ({basis})"),
        )
    };
    DEVICE_PRESETS.iter().map(entry).collect()
}

/// Kernels, oldest first, with the preset that goes with each.
pub(crate) fn kernels() -> Vec<Entry> {
    let entry = |k: Kernel| {
        let about = "machine as in this Linux, and this preset unless `reclaim` names another";
        Entry::with(k.name(), mmsim::scenario::preset_of(k), about)
    };
    Kernel::ALL.into_iter().map(entry).collect()
}

/// Formats of traces, and layouts of public ones.
pub(crate) fn formats() -> Vec<Entry> {
    let formats = mmsim::traces::FORMATS.iter().map(|&(name, about)| Entry::new(name, about));
    let shapes = mmsim::traces::shapes();
    formats
        .chain(shapes.map(|(name, about)| Entry::new(format!("csv --like {name}"), about)))
        .collect()
}

/// Trace events with their fields.
pub(crate) fn events() -> Vec<Entry> {
    EVENTS.iter().map(|e| Entry::with(e.name, e.fields.join(" "), e.about)).collect()
}

/// Costs of the machine with their defaults.
pub(crate) fn costs() -> Vec<Entry> {
    let measured = CostModel::measured();
    let cost = |row: &mmsim::base::settings::Row| {
        Entry::with(row.name, measured.get(row.name).unwrap_or_default(), row.doc)
    };
    CostModel::ROWS.iter().map(cost).collect()
}

/// Steps of phased workloads.
pub(crate) fn steps() -> Vec<Entry> {
    tables::STEPS.iter().map(|s| Entry::new(s.name, s.table.doc)).collect()
}

/// Every key of a scenario file after the heading of its table, with its form.
pub(crate) fn keys() -> Vec<Entry> {
    let of_table = |t: &'static TableSpec| {
        t.keys().map(|k| {
            let form = k.kind.describe().replace('`', "");
            Entry::with(format!("{}: {}", t.title, k.name), form, k.doc)
        })
    };
    tables::all_tables().into_iter().flat_map(of_table).collect()
}
