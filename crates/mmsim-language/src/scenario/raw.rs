//! The raw layer: a TOML document in which every key and value knows where it was
//! written. Overrides (`--set`, axes, variants) happen here, before anything is typed,
//! so a bad override is reported at the place where the user wrote it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::depth;
use super::keys::TableSpec;
use mmsim_base::error::{Error, ErrorKind};
use mmsim_base::nearest::nearest;

/// Levels of lists and tables that are read, one within the other, and parts of a key or steps of a
/// path at most. It is the limit of the parser.
const DEEPEST: usize = 80;

/// A place: which source, and which bytes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct At {
    source: u16,
    start: u32,
    end: u32,
}

impl At {
    /// The place of default values.
    pub(super) const DEFAULT: At = At { source: u16::MAX, start: 0, end: 0 };

    /// The start of the file.
    pub(super) const START: At = At { source: 0, start: 0, end: 0 };

    /// With the next key of a path, if it stands behind a point.
    pub(super) fn through(self, last: At) -> At {
        match self.source == last.source && last.start == self.end + 1 {
            true => At { end: last.end, ..self },
            false => self,
        }
    }

    /// True if the value is a default.
    pub(super) fn is_default(self) -> bool {
        self.source == At::DEFAULT.source
    }
}

/// A value and its place.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) at: At,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Text(String),
    /// Saturated where the text exceeds it; every use has a smaller range.
    Integer(i128),
    Float(f64),
    Flag(bool),
    Date(String),
    List(Vec<Node>),
    Table(Table),
}

/// Keys in the order in which they were written.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_at: At,
    pub(super) node: Node,
}

/// Where the text came from.
#[derive(Clone, Debug)]
struct Source {
    origin: String,
    text: Arc<str>,
    kind: ErrorKind,
}

/// All texts that a scenario was made from: its file, then the `--set` options.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    texts: Vec<Source>,
    /// The keys of the whole, by which a key in the wrong table is found.
    pub(super) root: &'static TableSpec,
}

impl Sources {
    /// No text yet of a scenario with these keys.
    pub(super) fn of(root: &'static TableSpec) -> Sources {
        Sources { texts: Vec::new(), root }
    }

    fn add(&mut self, origin: &str, text: &str, kind: ErrorKind) -> u16 {
        self.texts.push(Source { origin: origin.to_string(), text: text.into(), kind });
        (self.texts.len() - 1) as u16
    }

    /// The text at a place, as written.
    pub(super) fn text(&self, at: At) -> &str {
        self.texts
            .get(usize::from(at.source))
            .and_then(|s| s.text.get(at.start as usize..at.end as usize))
            .unwrap_or("")
    }

    /// True if the place lies in the file.
    pub(super) fn is_file(&self, at: At) -> bool {
        at.source == At::START.source
    }

    /// True if the place lies in an option of the command line.
    pub(super) fn is_option(&self, at: At) -> bool {
        self.texts.get(usize::from(at.source)).is_some_and(|s| s.kind == ErrorKind::Option)
    }

    /// The options of the command line that a table has values of, each with the first path and
    /// the place of such a value. `but`: keys that are passed over.
    pub(super) fn options_in(&self, table: &Table, but: &[&str]) -> BTreeMap<u16, (String, At)> {
        let mut found = BTreeMap::new();
        for e in table.entries.iter().filter(|e| !but.contains(&e.key.as_str())) {
            self.find_options(&e.node, &e.key, &mut found);
        }
        found
    }

    fn find_options(&self, node: &Node, path: &str, found: &mut BTreeMap<u16, (String, At)>) {
        match &node.value {
            Value::List(list) if !list.is_empty() => {
                for (i, n) in list.iter().enumerate() {
                    self.find_options(n, &format!("{path}[{i}]"), found);
                }
            }
            Value::Table(table) if !table.entries.is_empty() => {
                for e in &table.entries {
                    self.find_options(&e.node, &format!("{path}.{}", e.key), found);
                }
            }
            _ if self.is_option(node.at) => {
                found.entry(node.at.source).or_insert_with(|| (path.to_string(), node.at));
            }
            _ => {}
        }
    }

    /// An error at a place.
    pub(super) fn error(
        &self,
        at: At,
        title: impl Into<String>,
        label: impl Into<String>,
    ) -> Error {
        match self.texts.get(usize::from(at.source)) {
            Some(s) => {
                let span = at.start as usize..at.end as usize;
                Error::new(s.kind, title).at(&s.origin, &s.text, span, label)
            }
            None => Error::new(ErrorKind::Scenario, title).help(label),
        }
    }

    /// An error that has no place yet, at this one.
    pub(super) fn place(&self, error: Error, at: At) -> Error {
        match self.texts.get(usize::from(at.source)) {
            Some(s) => {
                let span = at.start as usize..at.end as usize;
                error.at(&s.origin, &s.text, span, "here")
            }
            None => error,
        }
    }

    /// Place where the value at a path was written; if it is a default, the place of the last
    /// written table on the way.
    pub(super) fn nearest_place(&self, doc: &Table, path: &str) -> At {
        let mut last = At::START;
        let Ok(path) = self.path(path, At::DEFAULT) else { return last };
        let mut here: Option<&Node> = None;
        for step in &path.steps {
            let next = match (step, here.map(|n| &n.value)) {
                (Step::Key(k), None) => doc.get(k),
                (Step::Key(k), Some(Value::Table(t))) => t.get(k),
                (step, Some(Value::List(l))) => step.entry(l).map(|i| &l[i]),
                _ => None,
            };
            let Some(node) = next else { break };
            if !node.at.is_default() {
                last = node.at;
            }
            here = next;
        }
        last
    }

    /// Parses a whole document.
    pub(super) fn parse(&mut self, origin: &str, text: &str) -> Result<Table, Error> {
        let source = self.add(origin, text, ErrorKind::Syntax);
        if text.len() > u32::MAX as usize / 2 {
            return Err(Error::new(ErrorKind::File, format!("`{origin}` is larger than 2GiB")));
        }
        let parsed = DeTable::parse(text).map_err(|e| {
            if let Some(error) = self.too_deep(&e, text, place(source, &(0..0))) {
                return error;
            }
            let span = e.span().unwrap_or(0..0);
            let at = place(source, &span);
            let what = e.message().trim().replace('\n', ", ");
            let error = self.error(at, format!("not valid TOML: {what}"), what);
            match text.trim_start().starts_with(['{', '<']) {
                true => error.help(
                    "scenarios and plans are TOML (docs/scenarios.md); `mmsim show` takes reports",
                ),
                false => error,
            }
        })?;
        self.texts[usize::from(source)].kind = ErrorKind::Scenario;
        Ok(table(source, parsed.get_ref()))
    }

    /// Takes an option such as `--set path=value`. A value that is not TOML is a string, so
    /// quotes are not needed around `64MiB`.
    pub(super) fn parse_option(
        &mut self,
        option: &str,
        path: &str,
        value: &str,
    ) -> Result<(Path, Node), Error> {
        let text = format!("{path}={value}");
        let source = self.add(option, &text, ErrorKind::Option);
        let from = path.len() as u32 + 1;
        let at = At { source, start: from, end: text.len() as u32 };
        let path = self.path(path, At { source, start: 0, end: path.len() as u32 })?;
        let node = match DeValue::parse(value) {
            Ok(v) => {
                let mut n = node(source, v.get_ref(), v.span());
                n.shift(from);
                n
            }
            Err(e) => match self.too_deep(&e, value, At { end: from, ..at }) {
                Some(error) => return Err(error),
                None => Node { value: Value::Text(value.to_string()), at },
            },
        };
        Ok((path, node))
    }

    /// Error for TOML with more levels than are read, of which the parser gives no place. `text`
    /// stands behind `before`.
    fn too_deep(&self, e: &toml::de::Error, text: &str, before: At) -> Option<Error> {
        if !e.message().contains("recurs") {
            return None;
        }
        let (span, what) = depth::beyond(text, DEEPEST)?;
        let at = |i: usize| before.end + i as u32;
        let at = At { source: before.source, start: at(span.start), end: at(span.end) };
        let title = format!("nested too deep: more than {DEEPEST} {what}");
        Some(self.error(at, title, format!("write at most {DEEPEST} of them")))
    }

    /// Parses a path such as `task[0].memory`, written at `at`.
    pub(super) fn path(&self, text: &str, at: At) -> Result<Path, Error> {
        let (mut steps, mut places) = (Vec::new(), Vec::new());
        let mut from = 0;
        // A point within brackets is one of a name.
        let mut open = false;
        let between = |c: char| {
            open = c == '[' || open && c != ']';
            c == '.' && !open
        };
        for part in text.split(between) {
            let here = self.within(at, text, from..from + part.len());
            from += part.len() + 1;
            let bad = || {
                self.error(
                    here,
                    format!("\"{text}\" is not a path"),
                    "write keys joined by points, lists with an index or a name: \"task[0].memory\"",
                )
            };
            let (key, mut rest) = part.find('[').map_or((part, ""), |i| part.split_at(i));
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if key.is_empty() || !key.chars().all(plain) {
                return Err(bad());
            }
            steps.push(Step::Key(key.to_string()));
            while !rest.is_empty() {
                let inner = rest.strip_prefix('[').and_then(|r| r.split_once(']'));
                let (index, after) = inner.ok_or_else(bad)?;
                steps.push(match index.bytes().all(|b| b.is_ascii_digit()) {
                    true => Step::Index(index.parse().map_err(|_| bad())?),
                    false => Step::Name(index.to_string()),
                });
                rest = after;
            }
            places.resize(steps.len(), here);
            if steps.len() > DEEPEST {
                let title = format!("a path of more than {DEEPEST} steps");
                return Err(self.error(here, title, "no key lies so deep"));
            }
        }
        Ok(Path { text: text.to_string(), at, steps, places })
    }

    /// The place of a part of `text`, which was written at `at`, perhaps in quotes; all of `at` if it
    /// was written otherwise.
    fn within(&self, at: At, text: &str, part: Range<usize>) -> At {
        match self.text(at).find(text) {
            Some(from) => {
                let place = |i: usize| at.start + (from + i) as u32;
                At { source: at.source, start: place(part.start), end: place(part.end) }
            }
            None => at,
        }
    }

    /// Puts `value` at `path`, creating tables on the way. Tables are merged key by key, unless
    /// `value` is an empty one; everything else is replaced.
    pub(super) fn set(&self, doc: &mut Table, path: &Path, value: &Node) -> Result<(), Error> {
        let mut here = String::new();
        let mut steps = path.steps.iter().zip(&path.places).peekable();
        let Some((Step::Key(first), &at)) = steps.next() else {
            return Err(self.error(path.at, "an empty path", "write \"task[0].memory\""));
        };
        here.push_str(first);
        let mut slot = doc.slot(first, at, next_is_index(steps.peek()));
        while let Some((step, &at)) = steps.next() {
            let then_index = next_is_index(steps.peek());
            slot = match (step, &mut slot.value) {
                (Step::Key(k), Value::Table(t)) => {
                    let _ = write!(here, ".{k}");
                    t.slot(k, at, then_index)
                }
                (Step::Name(name), Value::List(list)) => {
                    let entry = step.entry(list);
                    let missing = || self.no_entry(path, at, (&here, name), list);
                    let i = entry.ok_or_else(missing)?;
                    let _ = write!(here, "[{name}]");
                    &mut list[i]
                }
                (Step::Index(i), Value::List(list)) => {
                    let n = list.len();
                    let of = format!("`{here}` has {}", counted(n, "entry", "entries"));
                    let _ = write!(here, "[{i}]");
                    list.get_mut(*i).ok_or_else(|| {
                        let label = match n {
                            0 => "there is nothing to index".to_string(),
                            1 => "write index 0".to_string(),
                            _ => format!("write an index from 0 to {}", n - 1),
                        };
                        self.error(at, format!("{}: {here} does not exist, {of}", path.text), label)
                    })?
                }
                (step, value) => {
                    let (label, is) = match step {
                        Step::Key(k) if matches!(value, Value::List(_)) => {
                            let write = match k.parse::<usize>() {
                                Ok(_) => {
                                    let (from, to) =
                                        (format!("{here}.{k}"), format!("{here}[{k}]"));
                                    format!("write `{}`", path.text.replacen(&from, &to, 1))
                                }
                                Err(_) => format!("write `{here}[0].{k}`"),
                            };
                            (write, "a list")
                        }
                        _ => (format!("write `{here}`"), kind_of(value)),
                    };
                    let title = format!("{}: `{here}` is {is}", path.text);
                    return Err(self.error(at, title, label));
                }
            };
        }
        merge(slot, value);
        Ok(())
    }
}

impl Sources {
    /// An error for a path to an entry by a name that none of a list has.
    fn no_entry(&self, path: &Path, at: At, (list, name): (&str, &str), all: &[Node]) -> Error {
        let names: Vec<&str> = all.iter().filter_map(Node::name).collect();
        let title = format!("{}: `{list}` has no entry with name = \"{name}\"", path.text);
        let label = match nearest(name, &names) {
            Some(near) => format!("write `{list}[{near}]`"),
            None if names.is_empty() => format!("its entries have no names: write `{list}[0]`"),
            None => {
                let more = if names.len() > MOST_NAMES { ", .." } else { "" };
                let known = names[..names.len().min(MOST_NAMES)].join(", ");
                format!("its entries are {known}{more}")
            }
        };
        self.error(at, title, label)
    }
}

/// Names that a message has.
const MOST_NAMES: usize = 12;

fn next_is_index(step: Option<&(&Step, &At)>) -> bool {
    matches!(step, Some((Step::Index(_) | Step::Name(_), _)))
}

/// `1 entry`, `3 entries`.
pub(super) fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Tables key by key, the rest by replacement; an empty table takes all keys away. A table that
/// exists for the sake of a path only (no place of its own) takes the place of what is put in.
pub(super) fn merge(into: &mut Node, from: &Node) {
    match (&mut into.value, &from.value) {
        (Value::Table(old), Value::Table(new)) if !new.entries.is_empty() => {
            for e in &new.entries {
                match old.entries.iter_mut().find(|o| o.key == e.key) {
                    Some(o) => {
                        o.key_at = e.key_at;
                        merge(&mut o.node, &e.node);
                    }
                    None => old.entries.push(e.clone()),
                }
            }
            into.at = from.at;
        }
        _ => *into = from.clone(),
    }
}

/// A path into the document.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Path {
    pub(super) text: String,
    pub(super) at: At,
    pub(super) steps: Vec<Step>,
    /// Where each step was written, an index with the key before it.
    places: Vec<At>,
}

impl Path {
    /// The top-level key it begins with.
    pub(super) fn root(&self) -> &str {
        match self.steps.first() {
            Some(Step::Key(k)) => k,
            _ => "",
        }
    }

    /// True if both lead to one value of a document, by whatever steps.
    pub(super) fn is(&self, other: &Path, doc: &Table) -> bool {
        self.steps == other.steps || self.numbered(doc) == other.numbered(doc)
    }

    /// The steps with the number of each entry in place of its name.
    fn numbered(&self, doc: &Table) -> Vec<Step> {
        let mut here: Option<&Node> = None;
        let mut all = Vec::new();
        for (nth, step) in self.steps.iter().enumerate() {
            let mut own = step.clone();
            here = match (step, here.map(|n| &n.value)) {
                (Step::Key(k), None) if nth == 0 => doc.get(k),
                (Step::Key(k), Some(Value::Table(t))) => t.get(k),
                (step, Some(Value::List(l))) => step.entry(l).map(|i| {
                    own = Step::Index(i);
                    &l[i]
                }),
                _ => None,
            };
            all.push(own);
        }
        all
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Key(String),
    Index(usize),
    /// The entry of a list that has this `name`.
    Name(String),
}

impl Step {
    /// The place of the entry of a list that it leads to, if there is one.
    pub(super) fn entry(&self, list: &[Node]) -> Option<usize> {
        match self {
            Step::Key(_) => None,
            Step::Index(i) => (*i < list.len()).then_some(*i),
            Step::Name(name) => list.iter().position(|e| e.name() == Some(name)),
        }
    }
}

impl Table {
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|e| e.key == key).map(|e| &e.node)
    }

    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.key == key)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|e| e.key == key).map(|e| &mut e.node)
    }

    pub(super) fn push(&mut self, key: &str, key_at: At, node: Node) {
        self.entries.push(Entry { key: key.to_string(), key_at, node });
    }

    /// The value of `key`, made as an empty table or list if it is not there.
    fn slot(&mut self, key: &str, at: At, list: bool) -> &mut Node {
        let i = match self.entries.iter().position(|e| e.key == key) {
            Some(i) => i,
            None => {
                let value =
                    if list { Value::List(Vec::new()) } else { Value::Table(Table::default()) };
                self.push(key, at, Node { value, at });
                self.entries.len() - 1
            }
        };
        &mut self.entries[i].node
    }
}

impl Node {
    pub(super) fn text(text: &str, at: At) -> Node {
        Node { value: Value::Text(text.to_string()), at }
    }

    /// The name that a table says it has.
    pub(super) fn name(&self) -> Option<&str> {
        self.table()?.get("name")?.as_text()
    }

    pub(super) fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(t) => Some(t),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(l) => Some(l),
            _ => None,
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(s) => Some(s),
            _ => None,
        }
    }

    /// A default of a key table, which is TOML by construction.
    pub(super) fn of_default(toml: &str) -> Option<Node> {
        let v = DeValue::parse(toml).ok()?;
        Some(node(At::DEFAULT.source, v.get_ref(), v.span()))
    }

    /// The same of a default in a table, which each thread parses once.
    pub(super) fn of_table(toml: Cow<'static, str>) -> Option<Node> {
        thread_local! {
            static PARSED: RefCell<BTreeMap<Cow<'static, str>, Option<Node>>> = RefCell::default();
        }
        PARSED.with_borrow_mut(|parsed| {
            if let Some(node) = parsed.get(&toml) {
                return node.clone();
            }
            let node = Node::of_default(&toml);
            parsed.entry(toml).or_insert(node).clone()
        })
    }

    fn shift(&mut self, by: u32) {
        self.at.start += by;
        self.at.end += by;
        match &mut self.value {
            Value::List(l) => l.iter_mut().for_each(|n| n.shift(by)),
            Value::Table(t) => {
                for e in &mut t.entries {
                    e.key_at.start += by;
                    e.key_at.end += by;
                    e.node.shift(by);
                }
            }
            _ => {}
        }
    }
}

/// With its article, for messages.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Text(_) => "a string",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number with decimals",
        Value::Flag(_) => "true or false",
        Value::Date(_) => "a date",
        Value::List(_) => "a list",
        Value::Table(_) => "a table",
    }
}

fn place(source: u16, span: &Range<usize>) -> At {
    At { source, start: span.start as u32, end: span.end as u32 }
}

fn node(source: u16, value: &DeValue<'_>, span: Range<usize>) -> Node {
    let value = match value {
        DeValue::String(s) => Value::Text(s.to_string()),
        DeValue::Integer(i) => {
            let digits = i.as_str();
            let limit = if digits.starts_with('-') { i128::MIN } else { i128::MAX };
            Value::Integer(i128::from_str_radix(digits, i.radix()).unwrap_or(limit))
        }
        DeValue::Float(f) => Value::Float(f.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Flag(*b),
        DeValue::Datetime(d) => Value::Date(d.to_string()),
        DeValue::Array(a) => {
            Value::List(a.iter().map(|v| node(source, v.get_ref(), v.span())).collect())
        }
        DeValue::Table(t) => Value::Table(table(source, t)),
    };
    Node { value, at: place(source, &span) }
}

fn table(source: u16, parsed: &DeTable<'_>) -> Table {
    let mut entries: Vec<Entry> = parsed
        .iter()
        .map(|(k, v)| Entry {
            key: k.get_ref().to_string(),
            key_at: place(source, &k.span()),
            node: node(source, v.get_ref(), v.span()),
        })
        .collect();
    // The parser sorts by name; axes and regions count in the order of the file.
    entries.sort_by_key(|e| (e.key_at.start, Reverse(e.key_at.end)));
    Table { entries }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::tables::ROOT;

    #[test]
    fn entries_keep_the_order_of_the_file() {
        let mut s = Sources::of(&ROOT);
        let t = s.parse("x", "z = 1\na = 2\n[m]\nq = 1\nb = 2\n").unwrap();
        let keys = |t: &Table| t.entries.iter().map(|e| e.key.clone()).collect::<Vec<_>>();
        assert_eq!(keys(&t), ["z", "a", "m"]);
        assert_eq!(keys(t.get("m").unwrap().table().unwrap()), ["q", "b"]);
    }
}
