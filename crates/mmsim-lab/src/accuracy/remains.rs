//! The best explanation found for each gap, written by hand in evidence/gaps.toml.
//!
//! An entry names an experiment and one or more counters whose rule is missed there. One
//! that names a rule that is met is an error: what has been closed must not be explained.

use serde::Deserialize;
use toml::Spanned;

use crate::validate::rules::Verdict;
use mmsim::error::{Error, ErrorKind};

/// The entries, with the text that they were read from.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Remains {
    gaps: Vec<Gap>,
    text: String,
    name: String,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Gap {
    experiment: String,
    /// The LRU; the classic one if it is left out.
    #[serde(default = "classic")]
    policy: String,
    /// The kernels; those that were recorded first if it is left out.
    #[serde(default = "first_recorded")]
    kernels: Vec<String>,
    counters: Vec<Spanned<String>>,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    gap: Vec<Gap>,
}

fn classic() -> String {
    "classic".into()
}

fn first_recorded() -> Vec<String> {
    ["6.1", "6.12"].map(String::from).to_vec()
}

impl Gap {
    /// True if it is about a verdict, whatever the counter.
    fn is_of(&self, r: &Verdict) -> bool {
        self.experiment == r.experiment
            && self.policy == r.policy
            && self.kernels.contains(&r.kernel)
    }
}

impl Remains {
    /// Reads the text of the file, which came from `name`.
    ///
    /// # Errors
    /// It is not of that form.
    pub fn read(text: &str, name: &str) -> Result<Remains, Error> {
        let file: File = toml::from_str(text).map_err(|e| {
            let title = format!("`{name}` is no list of gaps: {}", e.message());
            Error::new(ErrorKind::File, title)
                .at(name, &text.into(), e.span().unwrap_or(0..0), "here")
                .help(
                    "an entry is [[gap]] with `experiment`, `policy`, `kernels` and `counters` \
                     (lists) and `why`",
                )
        })?;
        Ok(Remains { gaps: file.gap, text: text.into(), name: name.into() })
    }

    /// Checks that every entry is about a rule that is missed.
    ///
    /// # Errors
    /// All that are not, the first with its place.
    pub fn check<'a>(
        &self,
        verdicts: impl Iterator<Item = &'a Verdict> + Clone,
    ) -> Result<(), Error> {
        let closed = |gap: &Gap, counter: &str| {
            !verdicts.clone().any(|r| gap.is_of(r) && r.counter == *counter && !r.met)
        };
        let all = self.gaps.iter().flat_map(|g| g.counters.iter().map(move |c| (g, c)));
        let mut closed = all.filter(|(g, c)| closed(g, c.as_ref()));
        let Some((gap, counter)) = closed.next() else { return Ok(()) };
        let named = |(g, c): (&Gap, &Spanned<String>)| {
            format!("{} of {} on {}", c.as_ref(), g.experiment, g.kernels.join(", "))
        };
        let title = format!(
            "{}: {} of {} is no gap (any more)",
            self.name,
            counter.as_ref(),
            gap.experiment
        );
        let help = match closed.map(named).collect::<Vec<_>>() {
            none if none.is_empty() => {
                "`mmsim-lab validate` lists the rules and which are missed".into()
            }
            others => format!("nor are these gaps: {}", others.join("; ")),
        };
        Err(Error::new(ErrorKind::File, title)
            .at(&self.name, &self.text.as_str().into(), counter.span(), "remove this")
            .help(help))
    }

    /// The explanation of a gap.
    pub fn why(&self, r: &Verdict) -> Option<&str> {
        self.gaps
            .iter()
            .find(|g| g.is_of(r) && g.counters.iter().any(|c| c.as_ref() == &r.counter))
            .map(|g| g.why.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::document::Validation;
    use crate::validate::rows::PointRow;

    fn validation(simulated: f64) -> Validation {
        let row = PointRow {
            experiment: "detection".into(),
            point: "p".into(),
            kernel: "6.12".into(),
            policy: "classic".into(),
            phase: "loop1".into(),
            counter: "pswpin".into(),
            recorded: 1000.0,
            min: 1000.0,
            max: 1000.0,
            simulated,
            replays: [simulated; 2],
            rel_error: None,
            inside: false,
            repetitions: 1,
        };
        Validation::new(vec![row], vec![], vec![])
    }

    #[test]
    fn a_gap_that_was_closed_is_not_explained() {
        let text = "[[gap]]\nexperiment = \"detection\"\ncounters = [\"pswpin\"]\nwhy = \"so\"\n";
        let r = Remains::read(text, "r.toml").unwrap_or_else(|e| panic!("{e}"));
        let far = validation(2000.0);
        let verdict = |counter: &str, kernel: &str| Verdict {
            counter: counter.into(),
            kernel: kernel.into(),
            ..far.rules[0].clone()
        };
        assert_eq!(r.why(&verdict("pswpin", "6.12")), Some("so"));
        assert_eq!(r.why(&verdict("pswpout", "6.12")), None);
        assert_eq!(r.why(&verdict("pswpin", "7.3")), None);
        r.check(validation(2000.0).rules.iter()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(
            r.check(validation(1000.0).rules.iter()).expect_err("closed").to_string(),
            "error: r.toml: pswpin of detection is no gap (any more)\n --> r.toml:3:13\n  |\n3 | \
             counters = [\"pswpin\"]\n  |             ^^^^^^^^ remove this\n  |\n  = help: `mmsim-lab \
             validate` lists the rules and which are missed"
        );
        let said = Remains::read("[[gap]]\nexperiments = 3\n", "r.toml").expect_err("unknown key");
        assert!(said.to_string().contains("unknown field `experiments`"), "{said}");
    }
}
