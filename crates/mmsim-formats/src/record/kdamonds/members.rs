//! Members of damo's documents, whose values are texts for people or raw numbers.

use serde_json::{Map, Value};

use super::document;
use mmsim_language::scenario::yes_or_no;

/// Value that damo calls `max`.
pub(super) const MAX: f64 = u64::MAX as f64;

/// A member of a document, and its path.
#[derive(Clone)]
pub(super) struct At<'a> {
    pub(super) value: &'a Value,
    pub(super) path: String,
}

impl<'a> At<'a> {
    pub(super) fn get(&self, key: &str) -> Option<At<'a>> {
        let value = self.value.get(key).filter(|v| !v.is_null())?;
        Some(At { value, path: document::member(&self.path, key) })
    }

    /// The items of a list; none where it is something else.
    pub(super) fn items(&self) -> Option<Vec<At<'a>>> {
        let items = self.value.as_array()?.iter().enumerate();
        Some(items.map(|(i, value)| At { value, path: document::item(&self.path, i) }).collect())
    }

    pub(super) fn text(&self) -> String {
        self.value.as_str().map_or_else(|| self.value.to_string(), str::to_string)
    }

    pub(super) fn members(&self) -> Option<&'a Map<String, Value>> {
        self.value.as_object()
    }
}

/// A number in a text for people: without commas; `min` and `max`.
pub(super) fn plain(text: &str) -> Option<f64> {
    match text.trim() {
        "min" => Some(0.0),
        "max" => Some(MAX),
        text => text.replace(',', "").parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0),
    }
}

/// A number with one of these units behind it.
fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let letters = text.trim_start_matches(|c: char| c.is_ascii_digit() || ",. ".contains(c));
    let number = plain(&text[..text.len() - letters.len()])?;
    let unit = units.iter().find(|u| u.0 == letters.trim())?;
    Some(number * unit.1)
}

pub(super) fn number(at: &At<'_>) -> Option<f64> {
    match at.value {
        Value::Number(n) => n.as_f64().filter(|n| *n >= 0.0),
        Value::String(text) => plain(text),
        _ => None,
    }
}

/// Bytes.
pub(super) fn bytes(at: &At<'_>) -> Option<f64> {
    const UNITS: [(&str, f64); 19] = {
        let k = 1024.0;
        let (m, g, t, p, e) =
            (k * k, k * k * k, k * k * k * k, k * k * k * k * k, k * k * k * k * k * k);
        [
            ("B", 1.0),
            ("K", k),
            ("KB", k),
            ("KiB", k),
            ("M", m),
            ("MB", m),
            ("MiB", m),
            ("G", g),
            ("GB", g),
            ("GiB", g),
            ("T", t),
            ("TB", t),
            ("TiB", t),
            ("P", p),
            ("PB", p),
            ("PiB", p),
            ("E", e),
            ("EB", e),
            ("EiB", e),
        ]
    };
    number(at).or_else(|| with_unit(at.value.as_str()?, &UNITS))
}

/// A time in units of `unit` ns, where a bare number is in them.
pub(super) fn time(at: &At<'_>, unit: f64) -> Option<f64> {
    if let Some(n) = number(at) {
        return Some(n);
    }
    const UNITS: [(&str, f64); 7] = [
        ("ns", 1.0),
        ("us", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("m", 60e9),
        ("h", 3600e9),
        ("d", 86_400e9),
    ];
    // Several of them add up: `1 m 30 s`.
    let (mut ns, mut part) = (0.0, String::new());
    for word in at.value.as_str()?.split_whitespace() {
        part += word;
        if word.ends_with(|c: char| c.is_ascii_alphabetic()) {
            ns += with_unit(&part, &UNITS)?;
            part.clear();
        }
    }
    part.is_empty().then_some(ns / unit)
}

/// Thousandths or per cent: `whole` of a whole, where a bare number is in them.
pub(super) fn ratio(at: &At<'_>, whole: f64) -> Option<f64> {
    number(at).or_else(|| {
        let percent = at.value.as_str()?.trim().strip_suffix('%')?;
        Some(plain(percent)? / 100.0 * whole)
    })
}

pub(super) fn flag(at: &At<'_>) -> Option<bool> {
    match at.value {
        Value::Bool(b) => Some(*b),
        Value::Number(n) => yes_or_no(&n.to_string()),
        Value::String(text) => yes_or_no(text),
        _ => None,
    }
}
