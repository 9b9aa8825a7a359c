//! A JSON Schema (draft 2020-12) of scenario files, for editors and other programs.
//!
//! It is made from the tables of keys and says nothing of its own, so it knows every key,
//! its form, its words, its range and its default as the reader does. What no schema of
//! single values can say is left to the reader: which of two keys to give, sizes in
//! relation to each other, names that refer to each other, whether files exist. A key that
//! only `[axes]`, a variant or `--set` provides is missing for the schema, not for mmsim.

use mmsim_core::backing::device::DEVICE_PRESETS;
use mmsim_core::base::settings::{Form, Settings as _};
use mmsim_core::config::Kernel;
use mmsim_core::config::cost::CostModel;
use serde_json::{Map, Value as Json, json};

use super::keys::{Fallback, KeySpec, Kind, MANY, RowTable, RowsOf, TableSpec, one_of};
use super::raw::{Node, Value};
use super::tables::{ROOT, ROW_TABLES, STEPS, WORKLOADS, all_tables};
use super::units;
use crate::registry::Registry;

/// A path of `[axes]` and of `set`, as the reader takes it.
const PATH: &str = r"^[A-Za-z0-9_-]+(\[[^\]]+\])*(\.[A-Za-z0-9_-]+(\[[^\]]+\])*)*$";

/// The schema of scenario files that name what is in `registry`.
pub fn json_schema(registry: &Registry) -> Json {
    let mut definitions = Map::new();
    for t in all_tables().into_iter().filter(|t| !std::ptr::eq(*t, &ROOT)) {
        definitions.insert(name_of(t), table(t));
    }
    definitions
        .insert("task".into(), by_key("workload", WORKLOADS.iter().map(|w| (w.name, w.table))));
    definitions.insert("step".into(), by_key("do", STEPS.iter().map(|s| (s.name, &s.table))));
    for table in ROW_TABLES {
        definitions.insert(table.name.into(), rows(table, registry));
    }
    for (name, pattern, example) in units::patterns() {
        let quantity = json!({ "type": "string", "pattern": pattern, "examples": [example] });
        definitions.insert(name.into(), quantity);
    }
    let mut schema = table(&ROOT);
    let head = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A scenario of mmsim",
        "$defs": definitions,
    });
    if let (Json::Object(schema), Json::Object(head)) = (&mut schema, head) {
        schema.extend(head);
    }
    schema
}

/// `[[machine.zone]]` is `machine.zone`, `workload = "zipf"` is `workload-zipf`.
fn name_of(t: &TableSpec) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { ' ' };
    let words: String = t.title.chars().map(plain).collect();
    words.split_whitespace().collect::<Vec<_>>().join("-").to_lowercase()
}

fn refer(name: &str) -> Json {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn table(t: &TableSpec) -> Json {
    let properties: Map<String, Json> = t.keys().map(|k| (k.name.to_string(), key(k))).collect();
    let required: Vec<&str> =
        t.keys().filter(|k| matches!(k.fallback, Fallback::Required)).map(|k| k.name).collect();
    json!({
        "type": "object",
        "description": t.doc,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn key(k: &KeySpec) -> Json {
    let mut schema = form(k.kind);
    let least = match k.kind.plain() {
        Kind::Size(n) if n > 0 => format!("; at least {}", units::show_pages(n)),
        _ => String::new(),
    };
    let default = k.fallback.value().and_then(Node::of_table);
    let words = k.fallback.words().map_or(String::new(), |words| format!(". Default: {words}"));
    schema["description"] = format!("{}{least}{words}", k.doc).into();
    if let ("name", Kind::Text) = (k.name, k.kind) {
        schema["pattern"] = r"\S".into();
    }
    if let Some(node) = default {
        schema["default"] = json_of(&node.value);
    }
    schema
}

/// The form of a value.
fn form(kind: Kind) -> Json {
    match kind {
        Kind::Size(_) => refer("size"),
        Kind::Limit => json!({ "anyOf": [refer("size"), { "const": "max" }] }),
        Kind::Time => refer("duration"),
        Kind::Times(law) => json!({ "anyOf": [refer("duration"), refer(&name_of(law))] }),
        Kind::Counts(_, _, law) | Kind::Sizes(_, law) => {
            json!({ "anyOf": [form(kind.plain()), refer(&name_of(law))] })
        }
        Kind::Rate => refer("rate"),
        Kind::Count(lo, hi) => json!({ "type": "integer", "minimum": lo, "maximum": hi }),
        Kind::CountOr(word) => json!({
            "anyOf": [{ "type": "integer", "minimum": 1, "maximum": MANY }, { "const": word }],
        }),
        Kind::Whole(lo, hi) => json!({ "type": "integer", "minimum": lo, "maximum": hi }),
        Kind::Number(lo, hi) => json!({ "type": "number", "minimum": lo, "maximum": hi }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Quantity => json!({ "type": ["number", "string"] }),
        Kind::Text | Kind::File => json!({ "type": "string" }),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Kernel => json!({ "enum": Kernel::ALL.map(Kernel::name) }),
        Kind::Device(t) => {
            let presets: Vec<&str> = DEVICE_PRESETS.iter().map(|d| d.0).collect();
            json!({ "anyOf": [{ "enum": presets }, refer(&name_of(t))] })
        }
        Kind::Texts => {
            json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 })
        }
        Kind::Table(t) => refer(&name_of(t)),
        Kind::OneOrMore(t) => {
            let one = refer(&name_of(t));
            json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
        }
        Kind::Tables(t) => json!({ "type": "array", "items": refer(&name_of(t)) }),
        Kind::Tasks(_) => json!({ "type": "array", "items": refer("task"), "minItems": 1 }),
        Kind::Regions(t) => {
            json!({ "type": "object", "additionalProperties": refer(&name_of(t)) })
        }
        Kind::Steps(_) => json!({ "type": "array", "items": refer("step"), "minItems": 1 }),
        Kind::Rows(RowTable { rows: RowsOf::Module, .. }) => json!({
            "type": "object",
            "additionalProperties": { "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "boolean" },
                { "type": "string", "pattern": "^([0-9]+|0x[0-9a-fA-F]+|[YyNn]|on|off|true|false)$" },
            ] },
        }),
        Kind::Rows(RowTable { rows: RowsOf::Free, .. }) => json!({
            "type": "object",
            "additionalProperties": { "type": ["integer", "boolean", "string"] },
        }),
        Kind::Rows(table) => refer(table.name),
        Kind::Overrides => json!({ "type": "object", "propertyNames": { "pattern": PATH } }),
        Kind::Axes => json!({
            "type": "object",
            "propertyNames": { "pattern": PATH },
            "additionalProperties": { "type": "array", "minItems": 1 },
        }),
    }
}

/// A table whose other keys depend on what `by` says.
fn by_key<'a>(by: &str, tables: impl Iterator<Item = (&'a str, &'a TableSpec)>) -> Json {
    let (words, rules): (Vec<&str>, Vec<Json>) = tables
        .map(|(word, t)| {
            let says = json!({ "properties": { by: { "const": word } }, "required": [by] });
            (word, json!({ "if": says, "then": refer(&name_of(t)) }))
        })
        .unzip();
    json!({
        "type": "object",
        "description": format!("its keys depend on `{by}`: {}", one_of(&words)),
        "properties": { by: { "enum": words } },
        "required": [by],
        "allOf": rules,
    })
}

/// A table of settings, each with its default unless it depends on the kernel.
fn rows(table: &RowTable, registry: &Registry) -> Json {
    let rows = match table.rows {
        RowsOf::Machine(rows, _) => rows,
        RowsOf::Preset(slot) => return presets(registry, registry.presets_of(slot)),
        RowsOf::Module | RowsOf::Free => &[],
    };
    let mut properties = Map::new();
    for row in rows {
        if row.form == Form::Time {
            let mut schema = refer("duration");
            schema["default"] = CostModel::measured().get(row.name).into();
            properties.insert(row.name.into(), schema);
        } else {
            add_knob(&mut properties, row.name.into(), row.doc, &row.takes());
        }
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// Knobs are those of any preset: a variant may name knobs of a preset that the file names.
fn presets(registry: &Registry, presets: Vec<String>) -> Json {
    let mut properties = Map::new();
    for knob in presets.iter().flat_map(|p| registry.knobs(p)) {
        add_knob(&mut properties, knob.key, &knob.doc, &knob.values);
    }
    properties.insert("preset".into(), json!({ "enum": presets }));
    json!({
        "type": "object",
        "description": "a preset and knobs on top of it",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// A knob that takes these values, besides those that one of its name takes already.
fn add_knob(properties: &mut Map<String, Json>, name: String, doc: &str, values: &str) {
    let schema = properties.entry(name).or_insert_with(|| json!({ "description": doc }));
    if let Some((low, high)) = range_of(values) {
        schema["type"] = "integer".into();
        schema["minimum"] = low.into();
        schema["maximum"] = high.into();
        return;
    }
    // Words, and numbers that may stand in their place.
    let (words, numbers): (Vec<&str>, Vec<&str>) =
        values.split(" | ").partition(|part| range_of(part).is_none());
    if let [numbers] = numbers[..] {
        let (low, high) = range_of(numbers).unwrap_or_default();
        schema["anyOf"] = json!([
            { "enum": words },
            { "type": "integer", "minimum": low, "maximum": high },
        ]);
        return;
    }
    if words.iter().all(|w| !w.is_empty() && !w.contains(' ')) {
        let mut all = schema["enum"].as_array().cloned().unwrap_or_default();
        // A number may be written as one or as a word.
        let numbers = words.iter().filter_map(|w| number(w)).map(Json::from);
        for value in words.iter().map(|w| Json::from(*w)).chain(numbers) {
            if !all.contains(&value) {
                all.push(value);
            }
        }
        schema["enum"] = all.into();
    }
}

/// `1 to 9`.
fn range_of(text: &str) -> Option<(i64, i64)> {
    let (low, high) = text.split_once(" to ")?;
    Some((number(low)?, number(high)?))
}

fn number(word: &str) -> Option<i64> {
    word.parse().ok()
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::Text(s) | Value::Date(s) => s.as_str().into(),
        Value::Integer(n) => i64::try_from(*n).unwrap_or(i64::MAX).into(),
        Value::Float(x) => (*x).into(),
        Value::Flag(b) => (*b).into(),
        Value::List(l) => l.iter().map(|n| json_of(&n.value)).collect(),
        Value::Table(t) => Json::Object(
            t.entries.iter().map(|e| (e.key.clone(), json_of(&e.node.value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_have_names_of_their_own() {
        let mut names: Vec<String> = all_tables().into_iter().map(name_of).collect();
        names.sort_unstable();
        let n = names.len();
        names.dedup();
        assert_eq!(n, names.len(), "{names:?}");
        assert!(names.contains(&"machine.zone".to_string()), "{names:?}");
        assert!(names.contains(&"workload-zipf".to_string()), "{names:?}");
    }
}
