//! Values and keys of a document as TOML on one line, for messages and reports.

use std::fmt::Write as _;

use super::raw::Value;

/// A value as TOML on one line.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::Text(s) => quoted(s),
        Value::Integer(i) => i.to_string(),
        Value::Float(f) => format!("{f:?}"),
        Value::Flag(b) => b.to_string(),
        Value::Date(d) => d.clone(),
        Value::List(l) => {
            let items: Vec<String> = l.iter().map(|n| inline(&n.value)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(t) if t.entries.is_empty() => "{}".to_string(),
        Value::Table(t) => {
            let items: Vec<String> = t
                .entries
                .iter()
                .map(|e| format!("{} = {}", key(&e.key), inline(&e.node.value)))
                .collect();
            format!("{{ {} }}", items.join(", "))
        }
    }
}

/// A key as TOML, quoted where it must be.
pub(super) fn key(k: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if !k.is_empty() && k.bytes().all(bare) { k.to_string() } else { quoted(k) }
}

fn quoted(s: &str) -> String {
    let mut out = String::from("\"");
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if mmsim_base::error::acts(c) => {
                let _ = write!(out, "\\U{:08X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::raw::Node;

    #[test]
    fn inline_parses_back() {
        let text = r#"{ a = "q\"\\\n\u0001é", b = [1, -2, 0.5, 1e300], "c d" = { e = true } }"#;
        let n = Node::of_default(text).unwrap();
        let again = Node::of_default(&inline(&n.value)).unwrap();
        assert_eq!(inline(&n.value), inline(&again.value));
        assert!(inline(&again.value).starts_with(r#"{ a = "q\"\\\n"#));
    }
}
