//! A text of damo as a tree of values, and the place of each in the text.
//!
//! damo writes the same structure as JSON and as YAML. Both become a [`Value`], beside a table from the
//! path of each value, such as `kdamonds[0].contexts`, to the bytes that it begins at. A text that
//! begins with a bracket is JSON, another is YAML; in a file whose name ends with `.yaml` or `.yml`
//! brackets may be those of YAML as well.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};
use serde_json::{Map, Number, Value};

use mmsim_base::error::{Error, ErrorKind};
use mmsim_base::files;

/// The form that an error names where a text is JSON of another form.
const FORM: &str = "arguments of damo";
/// Values of a document. An alias repeats what it names, so that a short text could have any number.
const MOST_VALUES: usize = 1 << 20;
/// Levels of a document, as many as those of JSON.
const DEEPEST: usize = 128;

/// A text that was read.
pub(super) struct Document {
    name: String,
    text: Arc<str>,
    pub(super) value: Value,
    places: BTreeMap<String, Range<usize>>,
}

impl Document {
    /// Reads JSON or YAML that came from `name`.
    pub(super) fn read(text: &str, name: &str) -> Result<Document, Error> {
        let mut document = Document {
            name: name.to_string(),
            text: text.into(),
            value: Value::Null,
            places: BTreeMap::new(),
        };
        let begins = text.trim_start().chars().next();
        if matches!(begins, None | Some('{' | '[')) {
            match serde_json::from_str(text) {
                Ok(value) => document.value = value,
                Err(_) if name.ends_with(".yaml") || name.ends_with(".yml") => {
                    document.yaml()?;
                    return Ok(document);
                }
                Err(e) => return Err(files::bad_json(&e, text, name, FORM)),
            }
            document.places_of_json(0, "")?;
        } else {
            document.yaml()?;
        }
        Ok(document)
    }

    /// An error at the value of a path.
    pub(super) fn error(&self, path: &str, title: String, label: &str) -> Error {
        let error = Error::new(ErrorKind::File, title);
        match self.places.get(path) {
            Some(span) => error.at(&self.name, &self.text, span.clone(), label),
            None => error,
        }
    }

    /// Notes the place of a value, once for each path.
    fn note(&mut self, path: &str, span: Range<usize>) -> Result<(), Error> {
        if self.places.insert(path.to_string(), span.clone()).is_some() {
            let title = format!("`{}`: {path} is there twice", self.name);
            return Err(Error::new(ErrorKind::File, title).at(
                &self.name,
                &self.text,
                span,
                "leave one of them out",
            ));
        }
        Ok(())
    }

    /// Notes the places of the value that begins at byte `at` and of all within it, and returns the
    /// byte after it. The text is known to be JSON.
    fn places_of_json(&mut self, at: usize, path: &str) -> Result<usize, Error> {
        let text = Arc::clone(&self.text);
        let bytes = text.as_bytes();
        let blank = |mut at: usize| {
            while bytes.get(at).is_some_and(|b| b.is_ascii_whitespace() || *b == b',') {
                at += 1;
            }
            at
        };
        let start = blank(at);
        let mut at = start;
        self.note(path, start..start)?;
        match bytes[start] {
            b'"' => at = end_of_text(bytes, start),
            open @ (b'{' | b'[') => {
                at = blank(start + 1);
                for i in 0.. {
                    if matches!(bytes[at], b'}' | b']') {
                        break;
                    }
                    let mut inner = item(path, i);
                    if open == b'{' {
                        let end = end_of_text(bytes, at);
                        let key: String = serde_json::from_str(&text[at..end]).expect("valid JSON");
                        inner = member(path, &key);
                        // The colon.
                        at = blank(end) + 1;
                    }
                    at = blank(self.places_of_json(at, &inner)?);
                }
                at += 1;
            }
            _ => {
                let ends = |b: &u8| matches!(b, b',' | b'}' | b']') || b.is_ascii_whitespace();
                at += bytes[at..].iter().position(ends).unwrap_or(bytes.len() - at);
            }
        }
        self.places.insert(path.to_string(), start..at);
        Ok(at)
    }

    fn yaml(&mut self) -> Result<(), Error> {
        let text = Arc::clone(&self.text);
        let (anchors, cursor) = (BTreeMap::new(), Cell::new((0, 0)));
        let mut reader = Yaml { document: self, anchors, values: 0, cursor };
        reader.read(&mut Parser::new_from_str(&text))
    }
}

/// The path of a member of the value of a path.
pub(super) fn member(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}

/// The path of an item of a list.
pub(super) fn item(path: &str, i: usize) -> String {
    format!("{path}[{i}]")
}

/// The byte after a text of JSON that begins with the quote at byte `at`.
fn end_of_text(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Reads one document of YAML. Scalars without quotes are what YAML's core schema makes of them.
struct Yaml<'d> {
    document: &'d mut Document,
    anchors: BTreeMap<usize, Value>,
    values: usize,
    /// A number of characters and that of their bytes. Spans count characters and mostly grow, so that
    /// counting goes on from the last one.
    cursor: Cell<(usize, usize)>,
}

type Events<'t> = Parser<'t, saphyr_parser::StrInput<'t>>;

impl Yaml<'_> {
    fn read(&mut self, events: &mut Events<'_>) -> Result<(), Error> {
        loop {
            let (event, span) = self.next(events)?;
            match event {
                Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
                Event::StreamEnd => return Ok(()),
                _ if self.values > 0 => {
                    return Err(self.wrong(span, "it has several documents", "name a file of one"));
                }
                event => self.document.value = self.value(events, (event, span), "", 0)?,
            }
        }
    }

    /// The bytes of a span.
    fn bytes(&self, span: Span) -> Range<usize> {
        let text = &*self.document.text;
        let byte = |wanted: usize| {
            let (from, at) = Some(self.cursor.get()).filter(|c| c.0 <= wanted).unwrap_or((0, 0));
            let rest = text[at..].char_indices().nth(wanted - from);
            let found = rest.map_or(text.len(), |(further, _)| at + further);
            if rest.is_some() {
                self.cursor.set((wanted, found));
            }
            found
        };
        let start = byte(span.start.index());
        start..byte(span.end.index()).max(start)
    }

    fn wrong(&self, span: Span, what: &str, label: &str) -> Error {
        let Document { name, text, .. } = &*self.document;
        let title = format!("`{name}` cannot be read as YAML: {what}");
        Error::new(ErrorKind::File, title).at(name, text, self.bytes(span), label)
    }

    fn next<'t>(&self, events: &mut Events<'t>) -> Result<(Event<'t>, Span), Error> {
        match events.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(e)) => Err(self.wrong(Span::empty(*e.marker()), e.info(), "here")),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn value<'t>(
        &mut self,
        events: &mut Events<'t>,
        (event, span): (Event<'t>, Span),
        path: &str,
        depth: usize,
    ) -> Result<Value, Error> {
        self.values += 1;
        if self.values > MOST_VALUES || depth > DEEPEST {
            return Err(self.wrong(span, "it has too many values or levels", "here"));
        }
        let bytes = self.bytes(span);
        self.document.note(path, bytes)?;
        let (anchor, tag) = match &event {
            Event::Scalar(_, _, anchor, tag) => (*anchor, tag.as_ref()),
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => {
                (*anchor, tag.as_ref())
            }
            _ => (0, None),
        };
        const KNOWN: [&str; 7] = ["str", "int", "float", "bool", "null", "seq", "map"];
        let known = |t: &Tag| t.is_yaml_core_schema() && KNOWN.contains(&&*t.suffix);
        let tag = tag.map(|t| (known(t), t.suffix.clone()));
        if let Some((false, name)) = &tag {
            let what = format!("the tag `{name}` is of a program, not of damo's form");
            return Err(self.wrong(span, &what, "leave the tag out"));
        }
        let value = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) if tag.is_none_or(|t| t.1 != "str") => {
                plain(&text)
            }
            Event::Scalar(text, ..) => Value::String(text.into_owned()),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    let next = self.next(events)?;
                    if next.0 == Event::SequenceEnd {
                        break Value::Array(items);
                    }
                    items.push(self.value(events, next, &item(path, items.len()), depth + 1)?);
                }
            }
            Event::MappingStart(..) => {
                let mut members = Map::new();
                loop {
                    let key = match self.next(events)? {
                        (Event::MappingEnd, _) => break Value::Object(members),
                        (Event::Scalar(key, ..), _) => key.into_owned(),
                        (_, span) => return Err(self.wrong(span, "a key is no text", "here")),
                    };
                    let next = self.next(events)?;
                    let inner = self.value(events, next, &member(path, &key), depth + 1)?;
                    members.insert(key, inner);
                }
            }
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned();
                let value = value.ok_or_else(|| {
                    self.wrong(span, "an alias stands within what it repeats", "here")
                })?;
                self.values += size(&value);
                value
            }
            _ => return Err(self.wrong(span, "a value is missing", "here")),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }
}

/// Values within a value.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 1,
        Value::Object(members) => members.values().map(size).sum::<usize>() + 1,
        _ => 1,
    }
}

/// A scalar without quotes.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => {
            let hex = text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
            let octal = text.strip_prefix("0o").and_then(|n| u64::from_str_radix(n, 8).ok());
            let whole = hex.or(octal).or_else(|| text.parse().ok());
            let number = whole.map(Value::from).or_else(|| {
                let begins = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
                let number = begins.then(|| text.parse().ok()).flatten();
                number.and_then(Number::from_f64).map(Value::Number)
            });
            number.unwrap_or_else(|| text.into())
        }
    }
}
