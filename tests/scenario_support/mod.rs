//! What the tests of scenario files share: a catalogue of policies that knows the names
//! and two knobs.

use mmsim::scenario::{Knob, KnobError, KnobInfo, KnobValue, PolicyCatalogue};

/// Knows the names of the presets, `anon-start` and `inactive-ratio`.
pub(crate) struct Names;

const PRESETS: &[&str] = &[
    "classic-v5.5",
    "classic-v5.8",
    "classic-v5.8+prot",
    "classic-v5.9",
    "classic-v6.1",
    "classic-v6.12",
    "classic-seed-2",
    "classic-seed-9fix",
    "mglru-v6.12",
    "random",
];

impl PolicyCatalogue for Names {
    fn presets(&self) -> Vec<String> {
        PRESETS.iter().map(|p| p.to_string()).collect()
    }

    fn knobs(&self, preset: &str) -> Vec<KnobInfo> {
        if !preset.starts_with("classic") {
            return Vec::new();
        }
        [("anon-start", "active, inactive"), ("inactive-ratio", "1 to 100")]
            .map(|(key, values)| KnobInfo {
                key: key.to_string(),
                values: values.to_string(),
                value: String::new(),
                doc: String::new(),
            })
            .to_vec()
    }

    fn check(&self, _preset: &str, knobs: &[Knob]) -> Result<(), KnobError> {
        for k in knobs {
            let good = match (k.key.as_str(), &k.value) {
                ("anon-start", KnobValue::Text(s)) => s == "active" || s == "inactive",
                ("inactive-ratio", KnobValue::Integer(n)) => (1..=100).contains(n),
                _ => false,
            };
            if !good {
                let message = format!("{} does not fit, write another value", k.value);
                return Err(KnobError { key: k.key.clone(), message });
            }
        }
        Ok(())
    }
}
