//! What the tests of scenario files share: a catalogue of policies that knows the names
//! and two knobs, and a validator of JSON Schema.

use mmsim::config::Kernel;
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

    fn damon_presets(&self) -> Vec<String> {
        vec!["damon-v6.12".to_string()]
    }

    fn default_damon(&self, _kernel: Kernel) -> String {
        "damon-v6.12".to_string()
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

/// What another program makes of scenario files: a validator of JSON Schema that shares no
/// code with the reader.
pub(crate) struct Validator {
    schemas: boon::Schemas,
    index: boon::SchemaIndex,
}

impl Validator {
    /// With the schema for the policies of a catalogue.
    pub(crate) fn new(catalogue: &dyn PolicyCatalogue) -> Validator {
        let mut schemas = boon::Schemas::new();
        let mut compiler = boon::Compiler::new();
        compiler.enable_format_assertions();
        let schema = mmsim::scenario::json_schema(catalogue);
        compiler.add_resource("scenario.json", schema).expect("adding the schema");
        // This also holds it against the schema of schemas.
        let index = compiler
            .compile("scenario.json", &mut schemas)
            .unwrap_or_else(|e| panic!("the schema is no schema: {e:#}"));
        Validator { schemas, index }
    }

    /// What it says about a text: nothing if that is not TOML.
    pub(crate) fn judge(&self, text: &str) -> Option<Result<(), String>> {
        let document: toml::Table = text.parse().ok()?;
        let document = serde_json::to_value(document).ok()?;
        Some(self.schemas.validate(&document, self.index).map_err(|e| format!("{e:#}")))
    }
}
