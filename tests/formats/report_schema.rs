//! The JSON Schema of reports: it takes what runs write, and it says what every field is.

use crate::harness::{report_of, shipped};
use mmsim::report::json_schema;
use serde_json::Value;

/// Checks a document against a schema, by a validator that shares no code with serde.
fn judge(document: Value) -> Result<(), String> {
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("report.json", json_schema()).expect("a schema");
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile("report.json", &mut schemas).expect("a schema that compiles");
    schemas.validate(&document, index).map_err(|e| format!("{e:#}"))
}

fn report(file: &str) -> Value {
    let report = report_of(&shipped(file, &[("seeds", "1")]));
    serde_json::from_str(&report.to_json()).expect("JSON")
}

#[test]
fn it_takes_reports_of_every_kind() {
    for file in ["tiny-oom.toml", "two-groups.toml", "damon-stairs.toml", "kernel-alloc.toml"] {
        if let Err(e) = judge(report(file)) {
            panic!("{file}: {e}");
        }
    }
}

#[test]
fn it_refuses_what_is_no_report() {
    let good = report("tiny-oom.toml");
    let mut bad = good.clone();
    bad["runs"][0]["sim_time_ns"] = Value::from("an hour");
    assert!(judge(bad).is_err());
    let mut bad = good;
    bad["runs"][0].as_object_mut().expect("a run").remove("vmstat");
    assert!(judge(bad).is_err());
}

/// Each property of each object in the schema has a description that is a sentence.
#[test]
fn every_field_has_a_sentence() {
    fn walk(value: &Value, path: &str, seen: &mut u32) {
        if let Some(properties) = value.get("properties").and_then(Value::as_object) {
            for (name, schema) in properties {
                let said = schema.get("description").and_then(Value::as_str).unwrap_or("");
                assert!(said.ends_with(['.', ')', '`']), "{path}.{name} says {said:?}");
                *seen += 1;
            }
        }
        match value {
            Value::Object(o) => o.iter().for_each(|(k, v)| walk(v, &format!("{path}.{k}"), seen)),
            Value::Array(a) => a.iter().for_each(|v| walk(v, path, seen)),
            _ => {}
        }
    }
    let mut seen = 0;
    walk(&json_schema(), "report", &mut seen);
    assert!(seen > 100, "only {seen} fields were seen");
}
