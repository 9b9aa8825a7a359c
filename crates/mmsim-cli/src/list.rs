//! `mmsim list`.

mod counters;
mod entries;
mod knobs;

use mmsim::nearest::nearest;
use mmsim::report::Rows;

use crate::args::{ListArgs, ListFormat, Listed, MachineArgs};
use crate::{table, zoneinfo};
use entries::Entry;
pub(crate) use entries::preset_names as presets;
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output;

/// Prints the list.
pub(crate) fn list(args: &ListArgs) -> Result<Ending, Failure> {
    if args.preset.is_some() && args.what != Listed::Knobs {
        return Err(Failure::said(
            "only knobs have values in a preset, write `mmsim list knobs --preset NAME`",
        ));
    }
    if args.word.is_some() && !matches!(args.what, Listed::Knobs | Listed::Counters) {
        return Err(Failure::said(
            "only knobs and counters are searched, write `mmsim list knobs WORD`",
        ));
    }
    if args.what == Listed::Zoneinfo {
        let text = zoneinfo::list(&args.machine, args.form())?;
        output::show(&text, args.output.as_deref())?;
        return Ok(Ending::Done);
    }
    if args.machine != MachineArgs::default() {
        return Err(Failure::said(
            "only zoneinfo is of a machine, write `mmsim list zoneinfo --memory SIZE`",
        ));
    }
    let word = args.word.as_deref();
    match (args.what, &args.preset) {
        (Listed::Counters, _) => {
            output::show(&counters::list(word, args.form())?, args.output.as_deref())?;
            return Ok(Ending::Done);
        }
        (Listed::Knobs, None) => {
            output::show(&knobs::list(word, args.form())?, args.output.as_deref())?;
            return Ok(Ending::Done);
        }
        _ => {}
    }
    let (key, entries) = match args.what {
        Listed::Presets => ("presets", entries::presets()),
        Listed::Workloads => ("workloads", entries::workloads()),
        Listed::Devices => ("devices", entries::devices()),
        Listed::Knobs => ("knobs", entries::of_preset(args.preset.as_deref(), word)?),
        Listed::Zoneinfo | Listed::Counters => unreachable!("they have a form of their own"),
        Listed::Kernels => ("kernels", entries::kernels()),
        Listed::Formats => ("formats", entries::formats()),
        Listed::Events => ("events", entries::events()),
        Listed::Costs => ("costs", entries::costs()),
        Listed::Steps => ("steps", entries::steps()),
        Listed::Keys => ("keys", entries::keys()),
    };
    let text = match args.form() {
        ListFormat::Table => lines(&entries),
        ListFormat::Json => document(key, &entries),
        ListFormat::Csv => csv(&entries, args.preset.is_some()),
        ListFormat::Text => return Err(no_text()),
    };
    output::show(&text, args.output.as_deref())?;
    Ok(Ending::Done)
}

fn no_text() -> Failure {
    Failure::said("only zoneinfo has a text of the kernel's, write --format table, json or csv")
}

/// The error of a word that names nothing of a list.
fn nothing_of(what: &str, word: &str, known: &[&str]) -> Failure {
    let instead = match nearest(word, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("`mmsim list {what}` prints all"),
    };
    Failure::said(format!("nothing of the {what} is called or mentions `{word}`; {instead}"))
}

fn lines(entries: &[Entry]) -> String {
    let has_values = entries.iter().any(|e| e.value.is_some());
    let has_changes = entries.iter().any(|e| e.before.is_some());
    let before = |e: &Entry| match &e.before {
        Some(b) => format!("was {} in {}", b.value, b.preset),
        None => String::new(),
    };
    let row = |e: &Entry| {
        let mut row = vec![e.name.clone()];
        if has_values {
            row.push(e.value.clone().unwrap_or_default());
        }
        if has_changes {
            row.push(before(e));
        }
        row.push(e.about.clone());
        row
    };
    if entries.is_empty() {
        return "none\n".to_string();
    }
    table::left_aligned(entries.iter().map(row))
}

fn document<T: serde::Serialize>(key: &str, entries: &[T]) -> String {
    // `schema` first, as in every document.
    let entries = serde_json::to_string_pretty(entries).expect("entries are plain data");
    let entries = entries.replace('\n', "\n  ");
    format!("{{\n  \"schema\": 1,\n  \"{key}\": {entries}\n}}\n")
}

/// With the values of a preset two more columns: what a value was before, and in which preset.
fn csv(entries: &[Entry], of_preset: bool) -> String {
    let mut csv = Rows::to(Vec::new());
    let mut row = |fields: [&str; 3], before: [&str; 2]| {
        let before = if of_preset { &before[..] } else { &[] };
        csv.texts(fields.iter().chain(before));
    };
    row(["name", "value", "about"], ["before", "before_preset"]);
    for e in entries {
        let before = e.before.as_ref().map_or([""; 2], |b| [&b.value, &b.preset]);
        row([&e.name, e.value.as_deref().unwrap_or_default(), &e.about], before);
    }
    csv.into_text()
}

#[cfg(test)]
mod tests {
    use super::entries::Before;
    use super::*;

    fn knobs() -> Vec<Entry> {
        vec![
            Entry {
                name: "anon-start".into(),
                value: Some("active".into()),
                before: None,
                about: "where new anonymous pages begin, active or inactive".into(),
            },
            Entry { name: "seed".into(), value: None, before: None, about: "x".into() },
        ]
    }

    #[test]
    fn one_line_each() {
        assert_eq!(
            lines(&knobs()),
            "anon-start  active  where new anonymous pages begin, active or inactive\n\
             seed                x\n"
        );
    }

    #[test]
    fn other_forms() {
        assert_eq!(
            csv(&knobs(), false),
            "name,value,about\n\
             anon-start,active,\"where new anonymous pages begin, active or inactive\"\n\
             seed,,x\n"
        );
        let json: serde_json::Value = serde_json::from_str(&document("knobs", &knobs())).unwrap();
        assert_eq!(json["knobs"][0]["value"], "active");
        assert_eq!(json["knobs"][1].get("value"), None);
    }

    #[test]
    fn what_a_preset_changed_is_said_beside_the_value() {
        let mut changed = knobs();
        changed[0].about = "x".into();
        changed[0].before = Some(Before { preset: "p".into(), value: "inactive".into() });
        assert_eq!(
            lines(&changed),
            "anon-start  active  was inactive in p  x\n\
             seed                                   x\n"
        );
        assert_eq!(
            csv(&changed, true),
            "name,value,about,before,before_preset\n\
             anon-start,active,x,inactive,p\n\
             seed,,x,,\n"
        );
        let json: serde_json::Value = serde_json::from_str(&document("knobs", &changed)).unwrap();
        assert_eq!(json["knobs"][0]["before"]["value"], "inactive");
        assert_eq!(json["knobs"][0]["before"]["preset"], "p");
        assert_eq!(json["knobs"][1].get("before"), None);
    }
}
