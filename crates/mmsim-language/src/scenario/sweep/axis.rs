//! Axes of a plan: lists, ranges and files, each value made on request.

use std::collections::BTreeSet;
use std::path::{Path as FilePath, PathBuf};

use super::super::expand;
use super::super::inline::inline;
use super::super::keys::Kind;
use super::super::points::Method;
use super::super::raw::{At, Entry, Node, Path, Sources, Value};
use super::super::read::{Reader, describe, fill};
use super::super::tables::{SWEEP_FILES, SWEEP_RANGE};
use super::super::units;
use mmsim_base::error::Error;
use mmsim_base::files::unreadable;

/// A path and its values.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct Axis {
    pub(in crate::scenario) path: Path,
    values: Values,
}

/// Purpose of the values of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::scenario) enum Purpose {
    /// Each of them runs.
    Grid,
    /// Points are drawn from them.
    Sample,
    /// A search chooses among them.
    Knob,
}

impl Purpose {
    /// The table of the plan.
    fn table(self) -> &'static str {
        match self {
            Purpose::Grid | Purpose::Sample => "axes",
            Purpose::Knob => "knobs",
        }
    }
}

#[derive(Clone, Debug)]
enum Values {
    /// Each value, and how it is called in reports.
    List(Vec<(Node, String)>),
    Range(Range),
}

/// Form of the numbers of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::scenario) enum Form {
    Whole,
    Number,
    Pages,
    Nanoseconds,
    BytesPerSecond,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::scenario) struct Range {
    pub(in crate::scenario) form: Form,
    pub(in crate::scenario) from: f64,
    pub(in crate::scenario) to: f64,
    /// Values on a grid; 0 in samples.
    steps: u64,
    pub(in crate::scenario) log: bool,
    at: At,
}

/// Where the files of a plan and of one of its scenarios are.
#[derive(Clone, Copy)]
pub(in crate::scenario) struct Folders<'a> {
    pub(in crate::scenario) plan: &'a FilePath,
    pub(in crate::scenario) scenario: &'a FilePath,
}

impl Axis {
    /// An axis as a scenario has it.
    pub(super) fn listed(path: Path, values: &[Node]) -> Axis {
        let all = values.iter().map(|v| (v.clone(), expand::label(v))).collect();
        Axis { path, values: Values::List(all) }
    }

    /// Reads an axis of a plan.
    pub(in crate::scenario) fn read(
        sources: &Sources,
        e: &Entry,
        path: Path,
        folders: Folders<'_>,
        purpose: Purpose,
    ) -> Result<Axis, Error> {
        let refused = ["seed", "seeds", "variant"];
        let table = purpose.table();
        if refused.contains(&path.root()) {
            let what = match path.root() {
                "variant" if purpose != Purpose::Knob => "variants",
                root => root,
            };
            let title = format!("{table}: `{}` is no axis of a plan", path.root());
            return Err(sources.error(path.at, title, format!("write `{what}` at the top")));
        }
        let name = format!("{table}.\"{}\"", e.key);
        if let Some(path) = expand::unquoted(e, &[&SWEEP_FILES, &SWEEP_RANGE]) {
            return Err(expand::no_quotes(sources, path, table));
        }
        let values = match e.node.table() {
            None => return Ok(Axis::listed(path, expand::axis_values(sources, e, table)?)),
            Some(t) if t.get("files").is_some() => {
                files(&Reader::open(sources, &e.node, &SWEEP_FILES, &name)?, folders)?
            }
            Some(_) => {
                let sampled = purpose != Purpose::Grid;
                Values::Range(range(sources, &e.node, &name, sampled)?)
            }
        };
        Ok(Axis { path, values })
    }

    /// Values on the grid.
    pub(super) fn len(&self) -> u64 {
        match &self.values {
            Values::List(list) => list.len() as u64,
            Values::Range(range) => range.steps,
        }
    }

    /// True if each value was written out.
    pub(super) fn is_written(&self) -> bool {
        matches!(self.values, Values::List(_))
    }

    /// Value `i` of the grid, and how it is called.
    pub(super) fn value(&self, i: u64) -> (Node, String) {
        match &self.values {
            Values::List(list) => list[i as usize].clone(),
            Values::Range(range) => {
                range.value(range.position(i as f64 / (range.steps - 1).max(1) as f64))
            }
        }
    }

    /// The value of a point of a sample.
    pub(super) fn drawn(&self, method: Method, seed: u64, n: u64, nth: usize) -> (Node, String) {
        self.at(method.coordinate(seed, n, nth))
    }

    /// Its list of values, each with its name in reports; none of a range.
    pub(in crate::scenario) fn list(&self) -> Option<&[(Node, String)]> {
        match &self.values {
            Values::List(list) => Some(list),
            Values::Range(_) => None,
        }
    }

    /// Its range, if it is one.
    pub(in crate::scenario) fn range(&self) -> Option<&Range> {
        match &self.values {
            Values::List(_) => None,
            Values::Range(range) => Some(range),
        }
    }

    /// A value by a coordinate in [0, 1): all values of a list, or of whole numbers, are as likely.
    pub(in crate::scenario) fn at(&self, x: f64) -> (Node, String) {
        match &self.values {
            Values::List(list) => list[(x * list.len() as f64) as usize].clone(),
            Values::Range(range) => range.value(range.number(x)),
        }
    }
}

impl Range {
    /// The number at a coordinate in [0, 1), before it is rounded.
    fn number(&self, x: f64) -> f64 {
        if self.form == Form::Number {
            return self.position(x);
        }
        // Whole numbers have room around them, those at the ends too.
        let wide = Range { from: self.from - 0.5, to: self.to + 0.5, ..*self };
        let wide = if self.log && self.from < 1.0 { *self } else { wide };
        wide.position(x).clamp(self.from, self.to)
    }

    /// A coordinate in [0, 1) of a number; `None`: it is not in the range. It is found by halving,
    /// because a logarithm need not be the same on each machine.
    pub(in crate::scenario) fn place(&self, number: f64) -> Option<f64> {
        if !(self.from..=self.to).contains(&number) {
            return None;
        }
        let (mut low, mut high) = (0.0, 1.0 - f64::EPSILON);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.number(middle) < number { low = middle } else { high = middle }
        }
        // Of the two, the one that has the number: rounding may part them.
        let same = |x: &f64| self.value(self.number(*x)).1 == self.value(number).1;
        [high, low].into_iter().find(same)
    }

    /// The number at a share of the way.
    fn position(&self, share: f64) -> f64 {
        let Range { from, to, .. } = *self;
        match self.log {
            // The ends are themselves, whatever a power rounds to.
            _ if share <= 0.0 => from,
            _ if share >= 1.0 => to,
            true => from * (to / from).powf(share),
            false => from + (to - from) * share,
        }
    }

    pub(in crate::scenario) fn value(&self, x: f64) -> (Node, String) {
        let whole = x.round() as u64;
        let text = |text: String| Value::Text(text);
        let value = match self.form {
            Form::Whole => Value::Integer(x.round() as i128),
            // Twelve digits are more than anything depends on, and short.
            Form::Number => Value::Float(format!("{x:.11e}").parse().unwrap_or(x)),
            Form::Pages => text(units::show_pages(whole)),
            Form::Nanoseconds => text(format!("{whole}ns")),
            Form::BytesPerSecond => text(format!("{whole}B/s")),
        };
        let node = Node { value, at: self.at };
        let label = expand::label(&node);
        (node, label)
    }
}

/// A number with what it is.
fn quantity(r: &Reader<'_>, key: &str) -> Result<(f64, Form), Error> {
    let node = r.need(key)?;
    let whole = |n: u64, form| (n as f64, form);
    match &node.value {
        Value::Integer(n) if n.unsigned_abs() <= 1 << 53 => Ok((*n as f64, Form::Whole)),
        Value::Float(x) if x.is_finite() => Ok((*x, Form::Number)),
        Value::Text(s) => {
            let sized = units::pages(s).map(|n| whole(n, Form::Pages));
            let timed = || units::duration(s).map(|d| whole(d.as_nanos(), Form::Nanoseconds));
            let rated = || units::rate(s).map(|n| whole(n, Form::BytesPerSecond));
            sized.or_else(|_| timed()).or_else(|_| rated()).map_err(|_| {
                let found = format!("{} is no quantity", inline(&node.value));
                r.error(key, found, Kind::Quantity.expected())
            })
        }
        other => Err(r.error(key, format!("found {}", describe(other)), "a number or a quantity")),
    }
}

fn range(sources: &Sources, node: &Node, name: &str, sampled: bool) -> Result<Range, Error> {
    let mut filled = node.clone();
    if let Value::Table(t) = &mut filled.value {
        fill(t, &SWEEP_RANGE);
    }
    let r = Reader::open(sources, &filled, &SWEEP_RANGE, name)?;
    let (from, mut form) = quantity(&r, "from")?;
    let (to, other) = quantity(&r, "to")?;
    match (form, other) {
        (a, b) if a == b => {}
        (Form::Whole | Form::Number, Form::Whole | Form::Number) => form = Form::Number,
        _ => return Err(r.error("to", "another kind of quantity than `from`", "one of its kind")),
    }
    if to <= from {
        return Err(r.error("to", "it is not above `from`", "a larger value"));
    }
    let log = r.choice("scale")? == "log";
    if log && from <= 0.0 {
        let write = "a value above 0, or scale = \"linear\"";
        return Err(r.error("from", "a logarithmic range has no zero", write));
    }
    let mut range = Range { form, from, to, steps: 0, log, at: node.at };
    if sampled {
        for key in ["steps", "step"] {
            if r.has(key) {
                let title = format!("{name}.{key}: points are drawn anywhere in the range");
                let at = r.find(key).map_or(node.at, |n| n.at);
                return Err(sources.error(at, title, "leave it out"));
            }
        }
        return Ok(range);
    }
    r.one_of("steps", "step")?;
    range.steps = match r.opt_count("steps")? {
        Some(n) => n,
        None => {
            let (step, of) = quantity(&r, "step")?;
            if of != form && !(form == Form::Number && of == Form::Whole) {
                return Err(r.error("step", "another kind of quantity than `from`", "one of it"));
            }
            if log {
                return Err(r.error("step", "a logarithmic range has ratios", "`steps` instead"));
            }
            let steps = (to - from) / step;
            if step <= 0.0 || steps > 1e6 || (steps - steps.round()).abs() > 1e-9 * steps {
                let found = "it does not lead from `from` to `to` in at most 1000000 steps";
                return Err(r.error("step", found, "a part of their distance"));
            }
            steps.round() as u64 + 1
        }
    };
    let axis = Axis { path: sources.path("x", node.at)?, values: Values::Range(range) };
    let mut before: Option<String> = None;
    for i in 0..range.steps {
        let (_, label) = axis.value(i);
        if before.as_ref() == Some(&label) {
            let title = format!("{name}: {} steps give {label} twice", range.steps);
            return Err(sources.error(node.at, title, "write fewer steps"));
        }
        before = Some(label);
    }
    Ok(range)
}

/// Files beside the plan, as a scenario names them.
fn files(r: &Reader<'_>, folders: Folders<'_>) -> Result<Values, Error> {
    let mut all: Vec<(Node, String)> = Vec::new();
    let mut seen = BTreeSet::new();
    for (text, place) in r.texts("files", "file")?.unwrap_or_default() {
        let at = |title: String, label: &str| r.sources.error(place, title, label);
        let named = matching(folders.plan, text)?;
        if named.is_empty() {
            let title = format!("{}: no file is called \"{text}\"", r.name_of("files"));
            return Err(at(title, "write the name of a file beside the plan"));
        }
        for label in named {
            if !seen.insert(label.clone()) {
                let title = format!("{}: \"{label}\" is there twice", r.name_of("files"));
                return Err(at(title, "write each file once"));
            }
            let path = match folders.plan == folders.scenario {
                true => PathBuf::from(&label),
                false => std::path::absolute(folders.plan.join(&label))
                    .map_err(|e| unreadable(FilePath::new(&label), &e))?,
            };
            all.push((Node::text(&path.display().to_string(), place), label));
        }
    }
    Ok(Values::List(all))
}

/// The files of a folder that a pattern names, sorted: `*` in the last part is any text.
fn matching(folder: &FilePath, pattern: &str) -> Result<Vec<String>, Error> {
    let (inner, last) = match pattern.rsplit_once('/') {
        Some((inner, last)) => (format!("{inner}/"), last),
        None => (String::new(), pattern),
    };
    if !last.contains('*') {
        let there = folder.join(pattern).is_file();
        return Ok(there.then(|| pattern.to_string()).into_iter().collect());
    }
    let place = folder.join(&inner);
    let place = if place.as_os_str().is_empty() { FilePath::new(".") } else { &place };
    let entries = place.read_dir().map_err(|e| unreadable(place, &e))?;
    let names = entries.filter_map(|e| Some(e.ok()?).filter(|e| e.path().is_file()));
    let names = names.filter_map(|e| e.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter(|n| fits(n, last)).map(|n| format!("{inner}{n}")).collect();
    names.sort_unstable();
    Ok(names)
}

/// True if a name matches a pattern.
fn fits(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_stand_for_any_text() {
        for (name, pattern, yes) in [
            ("a.mmt", "a.mmt", true),
            ("a.mmt", "*.mmt", true),
            ("a.mmt", "a*", true),
            ("ab.mmt", "a*b.*t", true),
            ("a.mmt", "*", true),
            ("a.mmt", "b*", false),
            ("ab", "ab*b", false),
            ("abxab", "ab*ab", true),
            ("a.mmt.gz", "*.mmt", false),
        ] {
            assert_eq!(fits(name, pattern), yes, "{name} {pattern}");
        }
    }
}
