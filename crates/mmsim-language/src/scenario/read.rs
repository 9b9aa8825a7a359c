//! Reading typed values out of the raw layer, guided by the key tables.
//!
//! [`fill`] first writes the defaults of the tables into the document; after that a
//! [`Reader`] finds every key that has a value, and refuses keys that no table knows.

use mmsim_core::base::rules::KernelRules;
use mmsim_core::base::settings::Settings as _;
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::{Kernel, PAGE_COUNTER_MAX};

use super::inline::inline;
use super::keys::{KeySpec, Kind, MANY, TableSpec, Variants};
use super::raw::{At, Entry, Node, Sources, Table, Value, kind_of};
use super::units::{self, BadQuantity};
use mmsim_base::error::Error;
use mmsim_base::nearest::{listed, nearest};

/// Writes the defaults of `spec` for every key that `table` leaves out, and does so in
/// the tables within. What has the wrong form is left for the reader to refuse.
pub(super) fn fill(table: &mut Table, spec: &'static TableSpec) {
    for k in spec.keys() {
        if table.get(k.name).is_none()
            && let Some(node) = k.fallback.value().and_then(Node::of_table)
        {
            table.push(k.name, At::DEFAULT, node);
        }
        if let Some(node) = table.get_mut(k.name) {
            fill_value(node, k.kind);
        }
    }
}

fn fill_value(node: &mut Node, kind: Kind) {
    match (&mut node.value, kind) {
        (Value::Table(t), kind) if kind.table().is_some() => {
            kind.table().into_iter().for_each(|spec| fill(t, spec));
        }
        (Value::Table(t), Kind::Regions(spec)) => {
            for e in &mut t.entries {
                if let Value::Table(t) = &mut e.node.value {
                    fill(t, spec);
                }
            }
        }
        (
            Value::List(l),
            Kind::Tables(_) | Kind::OneOrMore(_) | Kind::Tasks(_) | Kind::Steps(_),
        ) => {
            for n in l {
                if let Value::Table(t) = &mut n.value
                    && let Some(spec) = spec_of_entry(t, kind)
                {
                    fill(t, spec);
                }
            }
        }
        _ => {}
    }
}

/// The table of keys of one entry of a list, where the entry says well what it is.
pub(super) fn spec_of_entry(t: &Table, kind: Kind) -> Option<&'static TableSpec> {
    match kind {
        Kind::Tables(spec) | Kind::OneOrMore(spec) => Some(spec),
        Kind::Tasks(tables) | Kind::Steps(tables) => tables.of_entry(t),
        _ => None,
    }
}

impl Variants {
    /// The keys of an entry that says well what it is.
    fn of_entry(&self, t: &Table) -> Option<&'static TableSpec> {
        (self.of)(t.get(self.by)?.as_text()?)
    }
}

/// One table of the document beside the table of its keys.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) sources: &'a Sources,
    pub(super) table: &'a Table,
    pub(super) at: At,
    spec: &'static TableSpec,
    /// Name of this table in messages: `task[0]`; empty at the top.
    path: &'a str,
}

impl<'a> Reader<'a> {
    /// Takes a node that must be a table with no other keys than those of `spec`.
    pub(super) fn open(
        sources: &'a Sources,
        node: &'a Node,
        spec: &'static TableSpec,
        path: &'a str,
    ) -> Result<Reader<'a>, Error> {
        let table = expect_table(sources, node, path)?;
        let reader = Reader { sources, table, at: node.at, spec, path };
        for e in &table.entries {
            if spec.key(&e.key).is_none() {
                let known: Vec<&str> = spec.keys().map(|k| k.name).collect();
                let prefix = reader.prefix();
                let mut place = elsewhere(sources.root, e);
                // A key of a table below this one, where the whole scenario has it in another.
                let is_below = |(_, at, _): &(String, String, At)| at.starts_with(path);
                if !path.is_empty() && !place.as_ref().is_some_and(is_below) {
                    place = within(spec, e).or(place);
                }
                // It is the right word in the wrong table.
                if let Some((key, ..)) = place.as_ref().filter(|(key, path, _)| key == path) {
                    let write = match spec.key("set") {
                        Some(_) => format!("write set = {{ \"{key}\" = .. }}"),
                        None => "write it at the top level".to_string(),
                    };
                    let title = format!("{prefix}`{key}` is a key of the whole scenario, {write}");
                    return Err(sources.error(e.key_at, title, write));
                }
                return Err(match place {
                    Some((key, path, at)) => {
                        let near = Some((path.as_str(), ""));
                        suggested(sources, at, (&prefix, "key", &key), near, &known)
                    }
                    None => unknown(sources, e.key_at, &prefix, "key", &e.key, &known),
                });
            }
        }
        Ok(reader)
    }

    /// Takes an entry of a list whose keys depend on what one of them says.
    pub(super) fn open_by(
        sources: &'a Sources,
        node: &'a Node,
        tables: &'static Variants,
        path: &'a str,
    ) -> Result<Reader<'a>, Error> {
        let table = expect_table(sources, node, path)?;
        let spec = tables.of_entry(table).unwrap_or(tables.unknown);
        let reader = Reader { sources, table, at: node.at, spec, path };
        // Where it does not say what it is, this call finds out how.
        reader.choice(tables.by).and_then(|_| Reader::open(sources, node, spec, path))
    }

    fn prefix(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!("{}: ", self.path) }
    }

    /// Name of a key of this table in messages.
    pub(super) fn name_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) }
    }

    pub(super) fn spec(&self, key: &str) -> &'static KeySpec {
        self.spec.key(key).unwrap_or_else(|| panic!("no key `{key}` in {}", self.spec.title))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// True if a key has its default: it was not written, or written with the value that holds
    /// anyway, as `--dry-run` does.
    pub(super) fn is_default(&self, key: &str) -> bool {
        let Some(node) = self.table.get(key) else { return false };
        let default = self.spec(key).fallback.value().and_then(Node::of_table);
        node.at.is_default() || default.is_some_and(|d| inline(&d.value) == inline(&node.value))
    }

    /// The value of a key, if it was given or has a default.
    pub(super) fn find(&self, key: &str) -> Option<&'a Node> {
        debug_assert!(self.spec.key(key).is_some(), "no key `{key}` in {}", self.spec.title);
        self.table.get(key)
    }

    /// The value of a key that has to be there.
    pub(super) fn need(&self, key: &str) -> Result<&'a Node, Error> {
        self.find(key).ok_or_else(|| {
            let expected = self.spec(key).kind.expected();
            let title = format!("{}`{key}` is missing", self.prefix());
            self.sources.error(self.at, title, format!("add `{key}`: {expected}"))
        })
    }

    /// Exactly one of two keys.
    pub(super) fn one_of(&self, a: &str, b: &str) -> Result<(), Error> {
        self.at_most_one(a, b)?;
        if self.has(a) || self.has(b) {
            return Ok(());
        }
        let title = format!("{}needs `{a}` or `{b}`", self.prefix());
        let label = format!("add `{a}`: {}", self.spec(a).kind.expected());
        Err(self.sources.error(self.at, title, label))
    }

    /// Not both of two keys.
    pub(super) fn at_most_one(&self, a: &str, b: &str) -> Result<(), Error> {
        if self.has(a) && self.has(b) { Err(self.contradiction(a, b)) } else { Ok(()) }
    }

    /// The error of two keys of which one may be given.
    pub(super) fn contradiction(&self, a: &str, b: &str) -> Error {
        let title = format!("{}`{a}` and `{b}` contradict each other", self.prefix());
        // The later one is more likely the mistake.
        let at = match (self.table.entry(a), self.table.entry(b)) {
            (Some(x), Some(y)) if x.key_at != At::DEFAULT => self.later(x, y).key_at,
            (_, Some(y)) => y.key_at,
            _ => self.at,
        };
        self.sources.error(at, title, "leave one of them out")
    }

    /// Passes on what a kernel lacks, as an error at the value of `key`.
    pub(super) fn dated(
        &self,
        key: &str,
        checked: Result<(), (String, String)>,
    ) -> Result<(), Error> {
        checked.map_err(|(found, write)| self.error(key, found, write))
    }

    fn later(&self, a: &'a Entry, b: &'a Entry) -> &'a Entry {
        let place = |e: &Entry| self.table.entries.iter().position(|x| x.key == e.key);
        if place(a) > place(b) { a } else { b }
    }

    /// An error at the value of `key`.
    pub(super) fn error(&self, key: &str, found: impl AsRef<str>, write: impl AsRef<str>) -> Error {
        let at = self.find(key).map_or(self.at, |n| n.at);
        self.error_at(at, key, found, write)
    }

    fn error_at(&self, at: At, key: &str, found: impl AsRef<str>, write: impl AsRef<str>) -> Error {
        let (found, write) = (found.as_ref(), write.as_ref());
        let title = format!("{}: {found}, write {write}", self.name_of(key));
        self.sources.error(at, title, format!("write {write}"))
    }

    fn wrong_type(&self, key: &str, node: &Node) -> Error {
        let found = format!("found {}", describe(&node.value));
        if let (Kind::Tables(_) | Kind::Tasks(_), Value::Table(_)) =
            (self.spec(key).kind, &node.value)
        {
            let path = self.name_of(key);
            let title =
                format!("{path}: {found}, write a list of tables: [[{path}]], not [{path}]");
            return self.sources.error(node.at, title, format!("write [[{path}]]"));
        }
        self.error_at(node.at, key, found, self.spec(key).kind.expected())
    }

    /// A quantity as `read` takes it; what messages advise it takes too.
    fn quantity<T>(
        &self,
        key: &str,
        node: &Node,
        read: impl Fn(&str) -> Result<T, BadQuantity>,
        bare: fn(&str) -> BadQuantity,
    ) -> Result<T, Error> {
        let bad = match &node.value {
            Value::Text(s) => match read(s) {
                Ok(v) => return Ok(v),
                Err(bad) => bad,
            },
            Value::Integer(_) | Value::Float(_) => bare(&inline(&node.value)),
            _ => return Err(self.wrong_type(key, node)),
        };
        let bad = bad.advised(read);
        Err(self.error_at(node.at, key, bad.found, bad.write))
    }

    /// Pages of a size, if given.
    pub(super) fn opt_pages(&self, key: &str) -> Result<Option<u64>, Error> {
        let Some(node) = self.find(key) else { return Ok(None) };
        let least = match self.spec(key).kind.plain() {
            Kind::Size(least) => least,
            _ => 0,
        };
        let read = |s: &str| match units::pages(s)? {
            pages if pages < least => {
                let write = format!("at least \"{}\"", units::show_pages(least));
                Err(BadQuantity::told(format!("\"{s}\" is too small"), write))
            }
            pages => Ok(pages),
        };
        self.quantity(key, node, read, units::size_of_bare).map(Some)
    }

    /// The same, below 2^32, if given.
    pub(super) fn opt_pages_u32(&self, key: &str) -> Result<Option<u32>, Error> {
        self.opt_pages(key)?
            .map(|n| {
                u32::try_from(n).map_err(|_| {
                    let shown = self.find(key).map_or(String::new(), |n| inline(&n.value));
                    self.error(key, format!("{shown} is too large"), "at most \"16383GiB\"")
                })
            })
            .transpose()
    }

    /// Pages of a limit; `None` for `"max"`.
    pub(super) fn limit(&self, key: &str) -> Result<Option<u64>, Error> {
        match self.find(key) {
            None => Ok(None),
            Some(n) if n.as_text() == Some("max") => Ok(None),
            Some(_) => self.opt_pages(key),
        }
    }

    /// Pages of a protection: none if it is not given, and more than there can be for `"max"`.
    pub(super) fn protection(&self, key: &str) -> Result<u64, Error> {
        let given = self.find(key).is_some();
        Ok(self.limit(key)?.unwrap_or(if given { PAGE_COUNTER_MAX } else { 0 }))
    }

    /// A duration, if given.
    pub(super) fn opt_time(&self, key: &str) -> Result<Option<SimDuration>, Error> {
        let Some(node) = self.find(key) else { return Ok(None) };
        self.quantity(key, node, units::duration, units::duration_of_bare).map(Some)
    }

    /// A duration that is not longer than `most`.
    pub(super) fn time_up_to(&self, key: &str, most: SimDuration) -> Result<SimDuration, Error> {
        let read = |s: &str| match units::duration(s)? {
            t if t > most => {
                Err(BadQuantity::told(format!("{t} is too large"), format!("at most \"{most}\"")))
            }
            t => Ok(t),
        };
        self.quantity(key, self.need(key)?, read, units::duration_of_bare)
    }

    /// A duration longer than nothing, if given: for work that it ends.
    pub(super) fn opt_time_of_work(&self, key: &str) -> Result<Option<SimDuration>, Error> {
        let Some(node) = self.find(key) else { return Ok(None) };
        let read = |s: &str| match units::duration(s)? {
            SimDuration::ZERO => {
                Err(BadQuantity::told("no time at all", "a duration such as \"10s\""))
            }
            t => Ok(t),
        };
        self.quantity(key, node, read, units::duration_of_bare).map(Some)
    }

    /// A rate, if given.
    pub(super) fn opt_rate(&self, key: &str) -> Result<Option<u64>, Error> {
        let Some(node) = self.find(key) else { return Ok(None) };
        let read = |s: &str| match units::rate(s)? {
            0 => Err(BadQuantity::told("nothing per second", "a rate such as \"150MB/s\"")),
            rate if rate < units::PAGE_SIZE => {
                Err(BadQuantity::told("less than a page per second", "at least \"4KiB/s\""))
            }
            rate => Ok(rate),
        };
        self.quantity(key, node, read, units::rate_of_bare).map(Some)
    }

    /// A whole number within its range, if given.
    pub(super) fn opt_count(&self, key: &str) -> Result<Option<u64>, Error> {
        let Some(node) = self.find(key) else { return Ok(None) };
        let Value::Integer(n) = node.value else { return Err(self.wrong_type(key, node)) };
        let kind = self.spec(key).kind;
        let Kind::Count(lo, hi) = kind.plain() else { panic!("`{key}` is not a count") };
        if n < 0 && lo == 0 {
            let found = format!("{n} is negative");
            return Err(self.error_at(node.at, key, found, kind.expected()));
        }
        match u64::try_from(n) {
            Ok(n) if (lo..=hi).contains(&n) => Ok(Some(n)),
            _ => {
                let found = format!("{n} is out of range");
                let most = format!("a whole number of at most 2^53 ({MANY})");
                let write = if hi == MANY && u64::try_from(n).is_ok_and(|n| n > hi) {
                    most
                } else {
                    kind.expected()
                };
                Err(self.error_at(node.at, key, found, write))
            }
        }
    }

    /// A whole number within its range, which may be negative, if given.
    pub(super) fn opt_whole(&self, key: &str) -> Result<Option<i64>, Error> {
        let Some(node) = self.find(key) else { return Ok(None) };
        let Value::Integer(n) = node.value else { return Err(self.wrong_type(key, node)) };
        let kind = self.spec(key).kind;
        let Kind::Whole(lo, hi) = kind else { panic!("`{key}` is not a whole number") };
        match i64::try_from(n) {
            Ok(n) if (lo..=hi).contains(&n) => Ok(Some(n)),
            _ => {
                let found = format!("{n} is out of range");
                Err(self.error_at(node.at, key, found, kind.expected()))
            }
        }
    }

    /// A number within its range, if given.
    pub(super) fn opt_number(&self, key: &str) -> Result<Option<f64>, Error> {
        let Some(node) = self.find(key) else { return Ok(None) };
        let x = match node.value {
            Value::Float(x) => x,
            Value::Integer(n) => n as f64,
            _ => return Err(self.wrong_type(key, node)),
        };
        let kind = self.spec(key).kind;
        let Kind::Number(lo, hi) = kind else { panic!("`{key}` is not a number") };
        if !(lo..=hi).contains(&x) {
            let found = format!("{} is out of range", inline(&node.value));
            return Err(self.error_at(node.at, key, found, kind.expected()));
        }
        Ok(Some(x))
    }

    /// True or false, if given.
    pub(super) fn opt_flag(&self, key: &str) -> Result<Option<bool>, Error> {
        let Some(node) = self.find(key) else { return Ok(None) };
        match node.value {
            Value::Flag(b) => Ok(Some(b)),
            _ => Err(self.wrong_type(key, node)),
        }
    }

    /// A string, if given.
    pub(super) fn opt_text(&self, key: &str) -> Result<Option<&'a str>, Error> {
        let Some(node) = self.find(key) else { return Ok(None) };
        match &node.value {
            Value::Text(s) => Ok(Some(s)),
            _ => Err(self.wrong_type(key, node)),
        }
    }

    /// A string that is not empty, if given.
    pub(super) fn opt_name(&self, key: &str) -> Result<Option<&'a str>, Error> {
        match self.opt_text(key)? {
            Some(s) if s.trim().is_empty() => Err(self.error(key, "an empty name", "a name")),
            Some(s) if s.contains(char::is_control) => {
                let found = "a name with a line break or another control character";
                Err(self.error(key, found, "a name of one line"))
            }
            other => Ok(other),
        }
    }

    /// A string that is not empty.
    pub(super) fn name(&self, key: &str) -> Result<&'a str, Error> {
        self.need(key)?;
        Ok(self.opt_name(key)?.unwrap_or(""))
    }

    /// One of the words of a choice.
    pub(super) fn choice(&self, key: &str) -> Result<&'a str, Error> {
        self.position(key)?;
        self.name(key)
    }

    /// Which of the words of a choice.
    pub(super) fn position(&self, key: &str) -> Result<usize, Error> {
        let node = self.need(key)?;
        let Kind::Choice(words) = self.spec(key).kind else { panic!("`{key}` is not a choice") };
        let Some(text) = node.as_text() else { return Err(self.wrong_type(key, node)) };
        words.iter().position(|w| *w == text).ok_or_else(|| {
            let what = if key == "do" { "step" } else { key };
            self.unknown_word(key, what, text, words)
        })
    }

    /// The value of `key` is not one of `known`.
    pub(super) fn unknown_word(&self, key: &str, what: &str, word: &str, known: &[&str]) -> Error {
        let at = self.find(key).map_or(self.at, |n| n.at);
        unknown(self.sources, at, &format!("{}: ", self.name_of(key)), what, word, known)
    }

    /// A kernel, if given.
    pub(super) fn opt_kernel(&self, key: &str) -> Result<Option<Kernel>, Error> {
        let Some(text) = self.opt_text(key)? else { return Ok(None) };
        match Kernel::from_name(text) {
            Some(k) => Ok(Some(k)),
            None => Err(self.no_such_kernel(key, text)),
        }
    }

    /// Error for a kernel that is not modelled: it names the last one before it, or says that it is
    /// no version.
    fn no_such_kernel(&self, key: &str, text: &str) -> Error {
        let known = Kernel::ALL.map(Kernel::name);
        let Some(version) = version_of(text) else {
            return self.unknown_word(key, "kernel", text, &known);
        };
        let before =
            Kernel::ALL.map(Kernel::name).into_iter().rfind(|k| version_of(k) <= Some(version));
        let found = match before {
            Some(k) => format!("kernel {text} is not modelled, the nearest before it is {k}"),
            None => format!("kernel {text} is older than all that are modelled"),
        };
        let at = self.find(key).map_or(self.at, |n| n.at);
        let title = format!("{}: {found}", self.name_of(key));
        let label = format!("write \"{}\"", before.unwrap_or(known[0]));
        self.sources.error(at, title, label).help(format!("modelled are {}", known.join(", ")))
    }

    /// The entries of a list; none if the key is not given.
    pub(super) fn list(&self, key: &str) -> Result<&'a [Node], Error> {
        match self.find(key) {
            None => Ok(&[]),
            Some(n) => n.list().ok_or_else(|| self.wrong_type(key, n)),
        }
    }

    /// The strings of a list, each with its place; `None` if the key is not given. A list that is
    /// written out has at least one entry: an empty one would run nothing. `what`: an entry in
    /// words, as in "file".
    pub(super) fn texts(&self, key: &str, what: &str) -> Result<Option<Vec<(&'a str, At)>>, Error> {
        if !self.has(key) {
            return Ok(None);
        }
        let list = self.list(key)?;
        if list.is_empty() {
            let found = "an empty list runs nothing";
            return Err(self.error(key, found, format!("at least one {what}")));
        }
        let text = |(i, node): (usize, &'a Node)| {
            node.as_text().map(|text| (text, node.at)).ok_or_else(|| {
                let (name, found) = (self.name_of(key), describe(&node.value));
                let title = format!("{name}[{i}]: found {found}, write a string");
                self.sources.error(node.at, title, "write a string")
            })
        };
        list.iter().enumerate().map(text).collect::<Result<_, _>>().map(Some)
    }

    /// The entries of a table; none if the key is not given.
    pub(super) fn table(&self, key: &str) -> Result<Option<&'a Table>, Error> {
        match self.find(key) {
            None => Ok(None),
            Some(n) => n.table().map(Some).ok_or_else(|| self.wrong_type(key, n)),
        }
    }
}

fn expect_table<'a>(sources: &Sources, node: &'a Node, path: &str) -> Result<&'a Table, Error> {
    node.table().ok_or_else(|| {
        let list = if node.list().is_some() && !path.ends_with(']') {
            format!(": [{path}], not [[{path}]]")
        } else {
            String::new()
        };
        let title = format!("{path}: found {}, write a table{list}", describe(&node.value));
        let key = path.rsplit('.').next().unwrap_or(path);
        let write = match (key, &node.value) {
            ("reclaim" | "compaction", Value::Text(preset)) => {
                format!("write {{ preset = \"{preset}\" }}")
            }
            ("swap", Value::Text(size)) => format!("write {{ size = \"{size}\" }}"),
            ("swap", _) => "write { size = \"1GiB\" }, or a list of such tables".to_string(),
            _ => "write a table".to_string(),
        };
        sources.error(node.at, title, write)
    })
}

/// A value in messages: short ones are quoted, long ones named by their kind.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Table(_) | Value::List(_) => kind_of(value).to_string(),
        v => {
            let shown = inline(v);
            if shown.chars().count() > 40 {
                kind_of(v).to_string()
            } else {
                format!("{} ({shown})", kind_of(v))
            }
        }
    }
}

/// A word that is none of `known`, with the nearest of them.
pub(super) fn unknown(
    sources: &Sources,
    at: At,
    prefix: &str,
    what: &str,
    word: &str,
    known: &[&str],
) -> Error {
    let near = nearest(word, known).map(|n| (n, ""));
    suggested(sources, at, (prefix, what, word), near, known)
}

/// The same with a suggestion, and the words for it.
pub(super) fn suggested(
    sources: &Sources,
    at: At,
    (prefix, what, word): (&str, &str, &str),
    near: Option<(&str, &str)>,
    known: &[&str],
) -> Error {
    let mut title = format!("{prefix}unknown {what} `{word}`");
    if known.is_empty() {
        return sources.error(at, title, format!("there is no {what} to choose from"));
    }
    let label = match near {
        Some((n, note)) => {
            title.push_str(&format!(", did you mean `{n}`{note}?"));
            format!("write `{n}`")
        }
        None => format!("not a known {what}"),
    };
    sources.error(at, title, label).help(format!("known: {}", listed(known)))
}

/// Keys under the names that older scenarios have, and the paths of those that do the same now.
const MOVED: [(&str, &str); 2] = [
    ("psi-partial-stall", "daemon.lmkd.partial-stall"),
    ("psi-complete-stall", "daemon.lmkd.complete-stall"),
];

/// Where in the document a key of that name belongs, if not where it was written: the key with
/// those below it that come along, the path of it, and where that was written.
fn elsewhere(root: &'static TableSpec, entry: &Entry) -> Option<(String, String, At)> {
    if let Some((key, path)) = MOVED.iter().find(|(key, _)| *key == entry.key) {
        return Some(((*key).to_string(), (*path).to_string(), entry.key_at));
    }
    if KernelRules::ROWS.iter().any(|rule| rule.name == entry.key) {
        let key = entry.key.clone();
        return Some((key.clone(), format!("machine.rules.{key}"), entry.key_at));
    }
    within(root, entry)
}

/// The same for the tables below one table.
fn within(root: &'static TableSpec, entry: &Entry) -> Option<(String, String, At)> {
    let (key, mut node, mut at) = (entry.key.as_str(), &entry.node, entry.key_at);
    let mut tables = vec![(String::new(), root)];
    let mut i = 0;
    // Breadth first: the path that is shortest.
    let (mut path, mut kind) = loop {
        let (path, spec) = tables.get(i)?.clone();
        if let Some(k) = spec.key(key) {
            break (format!("{path}{key}"), k.kind);
        }
        let below = spec.keys().filter_map(|k| match k.kind {
            Kind::Table(spec) | Kind::OneOrMore(spec) => Some((format!("{path}{}.", k.name), spec)),
            _ => None,
        });
        tables.extend(below);
        i += 1;
    };
    let mut written = key.to_string();
    while let (Kind::Table(spec) | Kind::OneOrMore(spec), Some(table)) = (kind, node.table()) {
        let [only] = &table.entries[..] else { break };
        let Some(k) = spec.key(&only.key) else { break };
        for s in [&mut path, &mut written] {
            s.push('.');
            s.push_str(k.name);
        }
        (kind, node, at) = (k.kind, &only.node, at.through(only.key_at));
    }
    Some((written, path, at))
}

/// The first two numbers of a kernel's version: of `6.6`, `v6.6.32` or `6.12.117+deb12`.
pub(super) fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.strip_prefix('v').unwrap_or(text).split(['.', '-', '+']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    const SCENARIO: &str = "[machine]\nmemory = \"4MiB\"\n[[task]]\nworkload = \"uniform\"\n\
        memory = \"1MiB\"\naccesses = 9\n";

    /// A rule of the kernel beside the table of rules; values that another key makes needless.
    #[test]
    fn mistakes_name_the_right_place() {
        for (text, title) in [
            (
                SCENARIO.replace("[[task]]", "fair-zones = true\n[[task]]"),
                "machine: unknown key `fair-zones`, did you mean `machine.rules.fair-zones`?",
            ),
            (
                format!(
                    "{SCENARIO}[[damon]]\nops = \"vaddr\"\ntask = 0\ntruth = true\nrecord = -1\n"
                ),
                "damon[0].record: found a whole number (-1), write true or false",
            ),
            (
                format!(
                    "{SCENARIO}[[expect]]\nfigure = \"pgfault\"\nabove = 1\n\
                     than = {{ variant = \"default\" }}\n"
                ),
                "expect[0].than: the same as what it is compared with, write another `variant`, or \
                 other values in `at`",
            ),
        ] {
            let e = Scenario::from_str(&text, "x.toml").unwrap_err();
            assert_eq!(e.title(), title, "{text}");
        }
    }
}
