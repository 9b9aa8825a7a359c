//! Reading a report of a user: it may be cut off, of another command, of another version, or no
//! document at all, and the message says which.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::document::{Report, SCHEMA};
use mmsim_base::error::{Error, ErrorKind};
use mmsim_base::files::bad_json;

/// Remedy for all of these errors.
const WRITE: &str = "write a report with `mmsim run SCENARIO --format json -o FILE`";

/// Fields that identify a document.
#[derive(Deserialize)]
struct Head {
    schema: Option<serde_json::Value>,
    runs: Option<IgnoredAny>,
    points: Option<IgnoredAny>,
    summary: Option<IgnoredAny>,
    comparisons: Option<IgnoredAny>,
    miniatures: Option<IgnoredAny>,
}

impl Report {
    /// Reads the text of a document. `name` stands for the file in messages, which say
    /// line and column.
    pub fn read(text: &str, name: &str) -> Result<Report, Error> {
        let start = text.find(|c: char| !c.is_whitespace()).unwrap_or(text.len());
        if !text[start..].is_empty() && !text[start..].starts_with('{') {
            let title = format!("`{name}` is no report of mmsim: it is no JSON document");
            let label = "a report begins with {";
            let place = start..start + 1;
            return Err(Error::new(ErrorKind::File, title)
                .at(name, &text.into(), place, label)
                .help(WRITE));
        }
        let bad = |e: serde_json::Error| bad_json(&e, text, name, "report of mmsim").help(WRITE);
        let head: Head = serde_json::from_str(text).map_err(bad)?;
        let refuse =
            |what: &str| Err(Error::new(ErrorKind::File, format!("`{name}` {what}")).help(WRITE));
        match (head.points, head.summary) {
            (Some(_), Some(_)) => {
                return refuse(
                    "is a document of `mmsim-lab validate`, which `mmsim-lab view` shows, not a \
                     report of runs",
                );
            }
            (Some(_), None) => {
                return refuse("is a recorded experiment, not a report of runs");
            }
            _ => {}
        }
        if head.comparisons.is_some() {
            return refuse("is a comparison of two reports, not a report of runs");
        }
        if head.miniatures.is_some() {
            return refuse("is a report of miniatures: it has estimates, and no counts of runs");
        }
        let reads = format!("this version of mmsim reads schema {SCHEMA}");
        match head.schema {
            None => return refuse(&format!("is no report of mmsim: it has no `schema`; {reads}")),
            Some(found) if found != SCHEMA => {
                let why = match found.is_u64() {
                    true => "it was written by another version",
                    false => "it is no report of mmsim",
                };
                return refuse(&format!("has schema {found}, {reads}: {why}"));
            }
            Some(_) => {}
        }
        if head.runs.is_none() {
            return refuse("is no report of mmsim: it has no `runs`");
        }
        serde_json::from_str(text).map_err(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_report_is_read() {
        let report = samples::two_variants(&[1]);
        assert_eq!(Report::read(&report.to_json(), "r.json"), Ok(report));
    }

    #[test]
    fn another_schema_is_told_beside_the_one_that_is_read() {
        for (json, title) in [
            (
                r#"{"schema":"x"}"#,
                "`r.json` has schema \"x\", this version of mmsim reads schema 1: it is no report of mmsim",
            ),
            (
                r#"{"schema":2}"#,
                "`r.json` has schema 2, this version of mmsim reads schema 1: it was written by another version",
            ),
            (
                "{}",
                "`r.json` is no report of mmsim: it has no `schema`; this version of mmsim reads schema 1",
            ),
        ] {
            assert_eq!(Report::read(json, "r.json").unwrap_err().title(), title);
        }
    }

    #[test]
    fn places_are_those_of_the_text() {
        let json = samples::two_variants(&[1]).to_json();
        let cut = &json[..json.find("\"axes\"").unwrap()];
        let error = Report::read(cut, "r.json").unwrap_err();
        // The last line of the text is a blank beginning of a line.
        let lines = cut.lines().count();
        assert_eq!(error.position().map(|p| p.1), Some(lines));
        assert!(error.title().starts_with("`r.json` is cut off: EOF"), "{error}");

        let wrong = json.replacen("\"seed\": 1", "\"seed\": true", 1);
        let error = Report::read(&wrong, "r.json").unwrap_err();
        let line = 1 + wrong[..wrong.find("\"seed\"").unwrap()].matches('\n').count();
        assert_eq!(error.position().map(|p| p.1), Some(line), "{error}");
    }

    #[test]
    fn a_report_that_is_cut_off_anywhere_is_refused_at_its_end() {
        let json = samples::two_variants(&[1]).to_json();
        let json = json.trim_end();
        for end in (1..json.len()).step_by(61) {
            let error = Report::read(&json[..end], "r.json").unwrap_err();
            let (_, line, _) = error.position().unwrap_or_else(|| panic!("{end}: {error}"));
            assert_eq!(line, 1 + json[..end].matches('\n').count(), "{end}: {error}");
        }
    }
}
