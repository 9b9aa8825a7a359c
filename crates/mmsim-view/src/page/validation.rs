//! The page of a validation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::Document;
use super::script::Part;
use crate::figure::escaped;
use crate::validation::{COLUMNS, Sheet, Value, svg};

/// Data for the script: words, and rows that name them by their places.
#[derive(Serialize)]
struct Data<'a> {
    validation: ValidationData<'a>,
}

#[derive(Serialize)]
struct ValidationData<'a> {
    columns: [&'a str; 13],
    words: Vec<&'a str>,
    rows: Vec<Row>,
}

/// Six words; recorded, smallest, largest, simulated; nothing where the page has the error; in range,
/// misses a rule.
type Row = (u32, u32, u32, u32, u32, u32, f64, f64, f64, f64, u8, u8, u8);

fn data(values: &[Value]) -> Vec<u8> {
    let (mut words, mut places): (Vec<&str>, BTreeMap<&str, u32>) = (Vec::new(), BTreeMap::new());
    let mut rows = Vec::new();
    for v in values {
        let mut place = |i: usize| {
            *places.entry(v.names[i].as_str()).or_insert_with(|| {
                words.push(&v.names[i]);
                words.len() as u32 - 1
            })
        };
        let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(&mut place);
        let (flags, (min, max)) = ((u8::from(v.inside), u8::from(v.missed)), v.range);
        rows.push((a, b, c, d, e, f, v.recorded, min, max, v.simulated, 0, flags.0, flags.1));
    }
    let validation = ValidationData { columns: COLUMNS, words, rows };
    serde_json::to_vec(&Data { validation }).expect("names and numbers")
}

fn sheet(out: &mut String, sheet: &Sheet) {
    let cell = |tag: &str, i: usize, text: &str| {
        let class = if i < sheet.words { " class=\"l\"" } else { "" };
        let scope = if tag == "th" { " scope=\"col\"" } else { "" };
        format!("<{tag}{scope}{class}>{}</{tag}>", escaped(text))
    };
    let row = |tag: &str, row: &[String]| -> String {
        row.iter().enumerate().map(|(i, text)| cell(tag, i, text)).collect()
    };
    let _ = write!(
        out,
        "<h2>{0}</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\
         <table class=\"num\"><thead><tr>{1}</tr></thead><tbody>\n",
        escaped(&sheet.title),
        row("th", &sheet.head)
    );
    for cells in &sheet.rows {
        let _ = writeln!(out, "<tr>{}</tr>", row("td", cells));
    }
    out.push_str("</tbody></table></div>\n");
}

/// The page of these values. `about`: what they are, a sentence each; `sheets`: tables below.
pub fn validation(title: &str, about: &[String], values: &[Value], sheets: &[Sheet]) -> String {
    let mut header = String::new();
    for sentence in about {
        let _ = writeln!(header, "<p>{}</p>", escaped(sentence));
    }
    let mut footer = String::new();
    sheets.iter().filter(|s| !s.rows.is_empty()).for_each(|s| sheet(&mut footer, s));
    let below = "recorded events across, simulated up; orange: a rule is missed";
    let plain = svg("Simulated over recorded", values, below);
    let plain = plain + "<noscript><p>The values need the page's script.</p></noscript>\n";
    let parts = &[Part::Validation];
    Document { title, header, plain, footer, data: data(values), figure: "", parts }.html()
}
