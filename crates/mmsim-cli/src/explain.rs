//! `mmsim explain`: what a figure counts.

use mmsim::{Error, report};
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output;
use mmsim_view::glossary::{self, Entry};
use serde_json::Value as Json;

use crate::args::ExplainArgs;
use crate::table;

/// Prints the entry of a figure; of a sum, that of each part.
pub(crate) fn explain(args: &ExplainArgs) -> Result<Ending, Failure> {
    let asked = args.figure.join(" ");
    let entries = glossary::entries();
    let parts: Vec<&str> = match about(&entries, asked.trim()) {
        Some(_) => vec![asked.trim()],
        None => asked.split('+').map(str::trim).collect(),
    };
    let mut all = Vec::new();
    for part in parts {
        all.push(about(&entries, part).ok_or_else(|| unknown(&entries, part))?);
    }
    output::show(&all.join("\n"), None)?;
    Ok(Ending::Done)
}

/// Everything that is known of a word: its own sentence and the entry that it belongs to.
fn about(entries: &[Entry], word: &str) -> Option<String> {
    let entry = glossary::of(entries, word);
    let own = glossary::counter(word);
    let path = || of_report(&report::json_schema(), word);
    if let Some(sentences) = glossary::of_group(word) {
        return Some(lines(word, sentences));
    }
    match (entry, own) {
        (None, None) => path().map(|sentence| lines(word, [sentence.as_str()])),
        (None, Some(sentence)) => Some(lines(word, [sentence])),
        (Some(entry), Some(sentence)) if entry.label != word => {
            let belongs = format!("It is counted in `{}`:", entry.label);
            Some(lines(word, [sentence, &belongs]) + "\n" + &whole(entry))
        }
        (Some(entry), _) => Some(whole(entry)),
    }
}

/// An entry: its label, its paragraphs, its other words.
fn whole(entry: &Entry) -> String {
    let mut text: Vec<String> = entry.text.clone();
    if !entry.also.is_empty() {
        text.push(format!("Other labels: {}.", entry.also.join("; ")));
    }
    if let Some(name) = entry.name {
        text.push(format!("Name in --by, plans and [[expect]]: {name}."));
    }
    lines(entry.label, text.iter().map(String::as_str))
}

fn lines<'a>(head: &str, paragraphs: impl IntoIterator<Item = &'a str>) -> String {
    let mut out = format!("{head}\n");
    for paragraph in paragraphs {
        out.push('\n');
        out += &table::wrap(paragraph, 0);
    }
    out
}

/// The description of a number of a report, by its path: `damon[0].nr_regions`.
fn of_report(schema: &Json, path: &str) -> Option<String> {
    // A run is an item of the list of runs.
    let mut at = followed(schema, &schema["properties"]["runs"]["items"]);
    let mut described = None;
    for step in path.split('.') {
        let (name, index) = step.split_once('[').map_or((step, false), |(name, _)| (name, true));
        let field = match &at["properties"][name] {
            Json::Null => &at["additionalProperties"],
            field => field,
        };
        described = field["description"].as_str().map(str::to_string);
        // A part that a report may lack is one of several forms.
        let form = field["anyOf"].as_array().and_then(|forms| forms.first()).unwrap_or(field);
        let form = if index { &form["items"] } else { form };
        at = followed(schema, form);
    }
    described
}

/// A part of a schema, or the definition that it refers to.
fn followed<'s>(schema: &'s Json, mut at: &'s Json) -> &'s Json {
    while let Some(name) = at["$ref"].as_str() {
        at = &schema["$defs"][name.rsplit('/').next().unwrap_or_default()];
    }
    at
}

fn unknown(entries: &[Entry], word: &str) -> Failure {
    let near = match glossary::near(entries, word).as_slice() {
        [] => String::new(),
        [first, rest @ ..] => {
            let rest: String = rest.iter().map(|word| format!(", `{word}`")).collect();
            format!(", did you mean `{first}`{rest}?")
        }
    };
    let title = format!("explain: no figure `{word}`{near}");
    let help = "write a label of a table, a name that --by takes, or one of `mmsim list counters`";
    Failure::Input(Error::of_option(title).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(word: &str) -> String {
        about(&glossary::entries(), word).unwrap_or_else(|| panic!("{word}"))
    }

    /// A counter has its own sentence, and the figure that it is a part of.
    #[test]
    fn a_counter_leads_to_its_figure() {
        let text = said("pgscan_anon");
        assert!(text.starts_with("pgscan_anon\n\n"), "{text}");
        assert!(text.contains("It is counted in `scanned per reclaimed`:"), "{text}");
        assert!(text.contains("\nscanned per reclaimed\n\n"), "{text}");
    }

    #[test]
    fn a_counter_of_a_size_is_explained() {
        let text = said("hugepages-64kB.swpout");
        assert!(text.contains("Folios that went to swap in one piece."), "{text}");
    }

    /// Reports have these figures of each group.
    #[test]
    fn every_figure_of_a_group_is_explained() {
        use mmsim::machine::{GROUP_LIFE, GROUP_PRESSURE, GROUP_SIZES};
        let events = mmsim::memory::MemcgEvents::default();
        let events = events.named(false).map(|(name, _)| name);
        for name in events.chain(GROUP_PRESSURE).chain(GROUP_SIZES).chain(GROUP_LIFE) {
            assert!(said(name).starts_with(name), "{name}");
        }
        assert!(said("memory.events.local.max").ends_with("It counts the group alone.\n"));
        assert!(said("memory.events.max").ends_with("It includes all groups below.\n"));
    }

    /// Numbers without a row in any table are described by the schema of reports.
    #[test]
    fn a_path_of_a_report_has_its_description() {
        assert!(said("damon[0].schemes[0].sz_applied").contains("Bytes"));
        assert!(said("pressure.full_share").starts_with("pressure.full_share\n\n"));
        assert_eq!(about(&glossary::entries(), "damon[0].nothing"), None);
    }

    /// A report has gauges beside counters, and expectations take them.
    #[test]
    fn every_gauge_is_explained() {
        for gauge in mmsim::scenario::GAUGES {
            assert!(about(&glossary::entries(), gauge).is_some(), "{gauge}");
        }
        assert!(said("sim_host_held").starts_with("held by the host, MiB\n"));
        assert!(said("nr_dirty").ends_with("File pages that are dirty.\n"));
    }

    #[test]
    fn wrong_words_are_refused_with_near_ones() {
        let Failure::Input(e) = unknown(&glossary::entries(), "refalts") else { panic!("input") };
        assert!(e.to_string().contains("did you mean `refaults`"), "{e}");
        assert_eq!(e.kind().exit_code(), 2);
    }
}
