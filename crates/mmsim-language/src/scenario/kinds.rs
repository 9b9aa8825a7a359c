//! The kinds of files that people write in TOML, distinguished by keys that only one of them has. A
//! file of another kind is refused by name, with the command that takes it.

use super::raw::{Entry, Node, Sources, Table};
use mmsim_base::error::Error;

/// A kind of file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// File for `run`.
    Scenario,
    /// File for `sweep`.
    Sweep,
    /// File for `tune`.
    Tuning,
    /// File for `evaluate --suite`.
    Suite,
    /// File for `evaluate --policy`.
    Knobs,
}

impl Kind {
    /// All kinds, in the order in which a file is tried: keys of the last may stand in others by
    /// mistake.
    const ALL: [Kind; 5] = [Kind::Sweep, Kind::Tuning, Kind::Suite, Kind::Scenario, Kind::Knobs];

    fn name(self) -> &'static str {
        match self {
            Kind::Scenario => "a scenario",
            Kind::Sweep => "a plan of a sweep",
            Kind::Tuning => "a plan of a tuning",
            Kind::Suite => "a suite",
            Kind::Knobs => "a knob file",
        }
    }

    /// The command before the name of the file.
    fn command(self) -> &'static str {
        match self {
            Kind::Scenario => "mmsim run",
            Kind::Sweep => "mmsim sweep",
            Kind::Tuning => "mmsim tune",
            Kind::Suite => "mmsim evaluate --policy POLICY --suite",
            Kind::Knobs => "mmsim evaluate --suite SUITE --policy",
        }
    }

    /// Contents that it has at least.
    fn has(self) -> &'static str {
        match self {
            Kind::Scenario => "[machine] and [[task]]",
            Kind::Sweep => "version = 1 and scenarios = [\"FILE\"]",
            Kind::Tuning => "version = 1, scenario = \"FILE\", [knobs] and [[objective]]",
            Kind::Suite => "version = 1 and [[scenario]]",
            Kind::Knobs => "version = 1 and [set]",
        }
    }

    /// An entry that only files of this kind have.
    fn told_by(self, doc: &Table) -> Option<&Entry> {
        let one_file = |node: &Node| node.as_text().is_some();
        match self {
            Kind::Scenario => doc.entry("task").or(doc.entry("machine")),
            Kind::Sweep => doc.entry("scenarios"),
            Kind::Tuning => {
                let scenario = doc.entry("scenario").filter(|e| one_file(&e.node));
                doc.entry("objective").or(doc.entry("knobs")).or(scenario)
            }
            Kind::Suite => doc.entry("scenario").filter(|e| !one_file(&e.node)),
            Kind::Knobs => doc.entry("policy").or(doc.entry("set")),
        }
    }

    /// Refuses a file of another kind; `name` is what the user called it.
    pub(super) fn expect(self, sources: &Sources, doc: &Table, name: &str) -> Result<(), Error> {
        // Others have `set` too.
        if self != Kind::Knobs && self.told_by(doc).is_some() {
            return Ok(());
        }
        let told = |kind: Kind| Some((kind, kind.told_by(doc)?));
        match Kind::ALL.into_iter().find_map(told) {
            Some((kind, e)) if kind != self => {
                let (is, wanted) = (kind.name(), self.name());
                let title = format!("`{name}` is {is}, not {wanted}");
                let error = sources.error(e.key_at, title, format!("a key of {is}"));
                let (command, has) = (kind.command(), self.has());
                Err(error.help(format!("`{command} {name}` takes it; {wanted} has {has}")))
            }
            _ => Ok(()),
        }
    }
}
