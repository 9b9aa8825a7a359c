//! Another program's judgement of scenario files: a validator of JSON Schema that shares no code
//! with the reader.

use mmsim::Registry;

/// A validator with the schema of scenario files.
pub(crate) struct Validator {
    schemas: boon::Schemas,
    index: boon::SchemaIndex,
}

impl Validator {
    /// With the schema for what is in a registry.
    pub(crate) fn new(registry: &Registry) -> Validator {
        let mut schemas = boon::Schemas::new();
        let mut compiler = boon::Compiler::new();
        compiler.enable_format_assertions();
        let schema = mmsim::scenario::json_schema(registry);
        compiler.add_resource("scenario.json", schema).expect("adding the schema");
        // This also holds it against the schema of schemas.
        let index = compiler
            .compile("scenario.json", &mut schemas)
            .unwrap_or_else(|e| panic!("the schema is no schema: {e:#}"));
        Validator { schemas, index }
    }

    /// Its verdict on a text: `None` if that is not TOML.
    pub(crate) fn judge(&self, text: &str) -> Option<Result<(), String>> {
        let document: toml::Table = text.parse().ok()?;
        let document = serde_json::to_value(document).ok()?;
        Some(self.schemas.validate(&document, self.index).map_err(|e| format!("{e:#}")))
    }
}
