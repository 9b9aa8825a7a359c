//! Documents of JSON that no report is.

use mmsim::report::SCHEMA;
use serde::Serialize;

/// A document of this version of mmsim, with these under a name.
pub(crate) fn document(name: &str, all: &impl Serialize) -> serde_json::Value {
    serde_json::json!({ "mmsim": env!("CARGO_PKG_VERSION"), "schema": SCHEMA, name: all })
}
