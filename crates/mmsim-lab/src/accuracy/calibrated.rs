//! Which figures were looked at when a constant was chosen.
//!
//! evidence/calibration.toml says for every constant what was looked at. Where that names a
//! recorded figure as `EXPERIMENT/COUNTER`, or all of an experiment as `EXPERIMENT/*`, that
//! figure is no prediction any more.

use std::collections::BTreeSet;

use serde::Deserialize;

use mmsim::error::{Error, ErrorKind};

/// Figures that constants were chosen by.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Calibrated {
    figures: BTreeSet<(String, String)>,
}

#[derive(Deserialize)]
struct File {
    constant: Vec<Constant>,
}

#[derive(Deserialize)]
struct Constant {
    looked_at: String,
}

impl Calibrated {
    /// Reads the text of evidence/calibration.toml, which came from `name`.
    ///
    /// # Errors
    /// It is not of that form.
    pub fn read(text: &str, name: &str) -> Result<Calibrated, Error> {
        let file: File = toml::from_str(text).map_err(|e| {
            let title = format!("`{name}` is no list of constants: {}", e.message());
            Error::new(ErrorKind::File, title).at(
                name,
                &text.into(),
                e.span().unwrap_or(0..0),
                "here",
            )
        })?;
        let words = file.constant.iter().flat_map(|c| c.looked_at.split([' ', ',', ';']));
        let figure = |w: &str| w.split_once('/').map(|(e, c)| (e.to_string(), c.to_string()));
        Ok(Calibrated { figures: words.filter_map(figure).collect() })
    }

    /// True if a figure was looked at.
    pub fn has(&self, experiment: &str, counter: &str) -> bool {
        let known = |c: &str| self.figures.contains(&(experiment.to_string(), c.to_string()));
        known(counter) || known("*")
    }

    /// `predicted` or `calibrated`.
    pub fn basis(&self, experiment: &str, counter: &str) -> &'static str {
        if self.has(experiment, counter) { "calibrated" } else { "predicted" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_at_is_no_prediction() {
        let text = "[[constant]]\nname = \"a\"\nlooked_at = \"none\"\n\
                    [[constant]]\nlooked_at = \"sizes, zipf-anon/pswpin; file/*\"\n";
        let c = Calibrated::read(text, "c.toml").expect("constants");
        assert_eq!(c.basis("zipf-anon", "pswpin"), "calibrated");
        assert_eq!(c.basis("zipf-anon", "pswpout"), "predicted");
        assert_eq!(c.basis("file", "pgscan"), "calibrated");
        let said = Calibrated::read("[[constant]]\n", "c.toml").expect_err("no field").to_string();
        assert!(said.contains("missing field `looked_at`"), "{said}");
    }
}
