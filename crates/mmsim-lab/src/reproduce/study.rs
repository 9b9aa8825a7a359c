//! The form of `evidence/experiments/FAMILY/study.toml`: which scenario gives which published
//! figure.
//!
//! evidence/README.md explains the keys. A *place* is an experiment of the file (`[[runs]]`) with
//! one of its points; a figure is an expression ([`Expression`]) over the counters of its runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toml::{Spanned, Value};

use super::demand::Asks;
use super::demand::Basis;
use super::expression::Expression;
use super::published::{Cell, show};
use mmsim::error::{Error, ErrorKind};

/// A text with its place, in which `{name}` or `{expression}` is filled in.
pub type Text = Spanned<String>;

/// Names with their values, which may have names in braces themselves.
pub type Names = BTreeMap<String, String>;

/// Keys that stand for several values, side by side: the n-th of each belong together.
pub type Each = BTreeMap<String, Vec<Value>>;

/// The experiments of one patch series.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Study {
    /// Description of the family.
    pub about: String,
    /// Recorded kernels that carry the patch, or lack it.
    #[serde(default)]
    pub kernels: Vec<String>,
    /// Values that its sources leave open.
    #[serde(default)]
    pub constants: Vec<Constant>,
    /// Published tables and claims that are not carried out.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// Published figures of other tables that nothing is run for.
    #[serde(default)]
    pub not_carried_out: Vec<NotCarriedOut>,
    /// Figures by name.
    #[serde(default)]
    pub figures: BTreeMap<String, Text>,
    /// Experiments.
    #[serde(default)]
    pub runs: Vec<Runs>,
    /// Tables in the order of the report.
    #[serde(rename = "table")]
    pub tables: Vec<Table>,
    /// Sentences at the end of the report.
    #[serde(default)]
    pub findings: Vec<String>,
    #[serde(skip)]
    path: String,
    #[serde(skip)]
    text: Arc<str>,
}

/// A constant that the source of an experiment leaves open.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Its name in evidence/calibration.toml after the experiment's.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// The figures that it was chosen by, or why it is so.
    pub basis: String,
}

/// A table or a claim that is not carried out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Its name.
    pub id: String,
    /// The reason.
    pub why: String,
}

/// Published figures that nothing is run for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotCarriedOut {
    /// Their table.
    pub table: String,
    /// Values of the first row key; empty: all rows.
    #[serde(default)]
    pub rows: Vec<String>,
    /// Empty: all columns.
    #[serde(default)]
    pub columns: Vec<String>,
    /// The reason.
    pub why: String,
}

/// An experiment: a scenario with values put in, once for each point.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Runs {
    /// Its name.
    pub name: String,
    /// The experiment whose scenario, variables and settings it has, but for its own.
    pub like: Option<Text>,
    /// The scenario: a file beside this one, or a path in the repository.
    pub scenario: Option<Text>,
    /// Variables.
    #[serde(default)]
    pub vars: BTreeMap<String, Value>,
    /// Variables that have another value in the quick subset.
    #[serde(default)]
    pub quick: BTreeMap<String, Value>,
    /// No part of the quick subset.
    #[serde(default)]
    pub full_only: bool,
    /// Variables of the points: all combinations. Without any there is one point.
    #[serde(default)]
    pub points: Vec<Each>,
    /// The same in the quick subset.
    pub quick_points: Option<Vec<Each>>,
    /// Draws of constants, each of which is a point.
    pub draws: Option<Draws>,
    /// Values put into the scenario; an empty one leaves the scenario as it is.
    #[serde(default)]
    pub set: BTreeMap<String, Text>,
    /// Says on how many seeds memory ran out.
    #[serde(default)]
    pub tell_out_of_memory: bool,
    /// Follows pages that are freed lazily, for the figures of `lazyfree_drop`.
    #[serde(default)]
    pub follow_lazyfree: bool,
    /// Pictures of memory.
    #[serde(default)]
    pub pictures: Vec<PictureOf>,
}

/// Constants drawn uniformly from ranges.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draws {
    /// Number of draws.
    pub count: u64,
    /// The same in the quick subset.
    pub quick: u64,
    /// Constants with the least and the greatest value, in the order of drawing.
    pub ranges: Vec<(String, f64, f64)>,
}

/// A picture of memory at the end of a phase, of the first seed of a variant.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PictureOf {
    /// The points that it is drawn of.
    #[serde(default)]
    pub point: BTreeMap<String, Value>,
    /// The variant.
    pub variant: String,
    /// The phase.
    pub phase: String,
    /// Its title, with the point's variables and `seed`.
    pub title: Text,
}

/// A table of the report.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Table {
    /// Its name.
    pub id: String,
    /// Tables beside which its rows stand: it is no table of the command line.
    #[serde(default)]
    pub with: Vec<String>,
    /// The program that makes it, in place of all keys below.
    pub code: Option<Text>,
    /// The experiment.
    pub runs: Option<Text>,
    /// The point of it, by its variables.
    #[serde(default)]
    pub point: BTreeMap<String, Value>,
    /// Keys and columns of published rows that have other names in the experiment.
    #[serde(default)]
    pub rename: BTreeMap<String, Names>,
    /// Its published cells: each has the first of these that it matches.
    #[serde(default)]
    pub cells: Vec<Line>,
    /// Its rows that were not published, once for each point.
    #[serde(default)]
    pub rows: Vec<Line>,
    /// Its published relations follow its cells.
    pub relations: Option<Relations>,
    /// Verdicts on cells are given in the quick subset, too.
    #[serde(default = "yes")]
    pub judged_in_quick: bool,
    /// Shares of draws on which a change is in the expected direction.
    #[serde(default)]
    pub directions: Vec<Direction>,
    /// Sentences.
    #[serde(default)]
    pub findings: Vec<Text>,
}

fn yes() -> bool {
    true
}

/// Form of the rows of relations.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Relations {
    /// Claim that meeting them shows, where it is not what their kind says.
    pub asks: Option<Asks>,
    /// Their description stands as the quantity and not as a remark.
    #[serde(default)]
    pub described: bool,
}

/// Where a figure comes from and how it is shown.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Line {
    /// Published keys, or variables, that it is for: one value of each or one of several.
    #[serde(default)]
    pub r#where: BTreeMap<String, Value>,
    /// Keys that a row is repeated for, the last fastest.
    #[serde(default)]
    pub each: Vec<Each>,
    /// The experiment, where it is not the table's.
    pub runs: Option<Text>,
    /// The point, by its variables, where it is not the table's.
    #[serde(default)]
    pub point: BTreeMap<String, Value>,
    /// The variant.
    pub variant: Option<Text>,
    /// The figure: an expression.
    pub figure: Text,
    /// Its name after the table's.
    pub id: Option<Text>,
    /// Quantity; without, the figure as it is written.
    pub quantity: Option<Text>,
    /// Unit of a row; that of a cell is published.
    pub unit: Option<Text>,
    /// A remark.
    pub note: Option<String>,
    /// A published figure beside it.
    pub published: Option<PublishedFigure>,
    /// The expectation that it is judged by.
    pub expectation: Option<Text>,
    /// Centre of the expectation's tolerance: an expression of variables.
    pub around: Option<Text>,
    /// It has to be above this.
    pub above: Option<f64>,
    /// And with every seed, not only the mean.
    #[serde(default)]
    pub every_seed: bool,
    /// The demand in words.
    pub demand: Option<String>,
    /// `@` gives means over seeds, and the figure has no interval.
    #[serde(default)]
    pub of_means: bool,
    /// Only relations use it.
    #[serde(default)]
    pub hidden: bool,
    /// There is no row where the figure is not known.
    #[serde(default)]
    pub if_known: bool,
    /// Basis, where it is not the demand's.
    pub basis: Option<Basis>,
    /// Claim that meeting its demand shows.
    pub asks: Option<Asks>,
    /// False if missing it is only reported.
    pub gate: Option<bool>,
}

/// A published figure for a row that is no cell.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedFigure {
    /// That of a relation,
    pub relation: Option<String>,
    /// or of the rows of a table,
    pub table: Option<String>,
    /// which have these keys,
    #[serde(default)]
    pub row: BTreeMap<String, Text>,
    /// the sum of an expression over their columns.
    pub figure: Option<Text>,
}

/// The direction of a change from one variant to another.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Its name.
    pub id: String,
    /// The variant before.
    pub from: String,
    /// The variant after.
    pub to: String,
    /// The figure.
    pub figure: Text,
    /// True if the change ought to be down.
    pub down: bool,
}

impl NotCarriedOut {
    /// True if it is about a cell.
    pub fn has(&self, cell: &Cell<'_>) -> bool {
        let among = |list: &[String], one: &String| list.is_empty() || list.contains(one);
        cell.table.id == self.table
            && among(&self.rows, &cell.key(&cell.table.row_keys[0]))
            && among(&self.columns, &cell.column())
    }

    /// Its figures and the reason.
    pub fn words(&self) -> String {
        let parts = [&self.rows, &self.columns].map(|l| l.join(", "));
        let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
        match parts.is_empty() {
            true => format!("{}: {}", self.table, self.why),
            false => format!("{} ({}): {}", self.table, parts.join("; "), self.why),
        }
    }
}

impl Study {
    /// Reads the file of that path.
    ///
    /// # Errors
    /// It is not of that form, or names what there is not; with the place.
    pub fn read(path: &str, text: &str) -> Result<Study, Error> {
        let mut study: Study = toml::from_str(text).map_err(|e| {
            Error::new(ErrorKind::File, format!("`{path}` is no study: {}", e.message()))
                .at(path, &text.into(), e.span().unwrap_or(0..0), "here")
                .help("evidence/README.md lists the keys of a study")
        })?;
        (study.path, study.text) = (path.to_string(), text.into());
        let experiments: Vec<&str> = study.runs.iter().map(|r| r.name.as_str()).collect();
        for (i, runs) in study.runs.iter().enumerate() {
            let before = &experiments[..i];
            runs.like.iter().try_for_each(|l| study.known("experiment before it", l, before))?;
        }
        let lines = study.tables.iter().flat_map(|t| &t.rows).map(|line| &line.each);
        let points = study.runs.iter().flat_map(|r| r.quick_points.iter().chain([&r.points]));
        for keys in points.chain(lines).flatten() {
            let lengths: BTreeSet<usize> = keys.values().map(Vec::len).collect();
            if lengths.len() > 1 {
                let keys = keys.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                let title = format!("{path}: the lists of {keys} are not equally long");
                return Err(Error::new(ErrorKind::File, title));
            }
        }
        for named in study.tables.iter().filter_map(|t| t.runs.as_ref()) {
            study.known("experiment", named, &experiments)?;
        }
        for figure in study.figures.values() {
            Expression::read(figure.as_ref()).map_err(|e| study.error(figure, e))?;
        }
        Ok(study)
    }

    /// An error about a text of the file.
    pub fn error(&self, at: &Text, found: impl Into<String>) -> Error {
        Error::new(ErrorKind::File, format!("`{}`: {}", at.as_ref(), found.into()))
            .at(&self.path, &self.text, at.span(), "here")
            .help("evidence/README.md lists the keys of a study")
    }

    /// # Errors
    /// A text names none of those that there are.
    pub fn known(&self, what: &str, named: &Text, there: &[&str]) -> Result<(), Error> {
        match there.contains(&named.as_ref().as_str()) {
            true => Ok(()),
            false => Err(self.error(named, format!("no such {what}, write {}", there.join(", ")))),
        }
    }

    /// The names of its tables on the command line.
    pub fn table_ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = Vec::new();
        for table in self.tables.iter().filter(|t| t.with.is_empty()) {
            if !ids.contains(&table.id.as_str()) {
                ids.push(&table.id);
            }
        }
        ids
    }

    /// The constant of that name. Panics if there is none.
    pub fn constant(&self, name: &str) -> &Constant {
        let found = self.constants.iter().find(|c| c.name == name);
        found.unwrap_or_else(|| panic!("{}: no constant {name}", self.path))
    }

    /// The experiment of that name. Panics if there is none.
    pub fn runs(&self, name: &str) -> &Runs {
        let found = self.runs.iter().find(|r| r.name == name);
        found.unwrap_or_else(|| panic!("{}: no experiment {name}", self.path))
    }

    /// The experiments that one is like, the most general first and itself last.
    pub fn lineage<'a>(&'a self, runs: &'a Runs) -> Vec<&'a Runs> {
        let mut all = match &runs.like {
            Some(like) => self.lineage(self.runs(like.as_ref())),
            None => Vec::new(),
        };
        all.push(runs);
        all
    }
}

/// All combinations of some keys, the last fastest.
pub fn combinations(each: &[Each]) -> Vec<Names> {
    let mut all = vec![Names::new()];
    for keys in each {
        let n = keys.values().map(Vec::len).max().unwrap_or(0);
        let nth = |i: usize| keys.iter().map(move |(k, v)| (k.clone(), show(&v[i])));
        all = all
            .into_iter()
            .flat_map(|names| {
                (0..n).map(move |i| names.clone().into_iter().chain(nth(i)).collect())
            })
            .collect();
    }
    all
}

/// True if names have these values, or one of several.
pub fn matches(wanted: &BTreeMap<String, Value>, names: &Names) -> bool {
    wanted.iter().all(|(key, value)| {
        let is = |v: &Value| names.get(key) == Some(&show(v));
        value.as_array().map_or_else(|| is(value), |several| several.iter().any(is))
    })
}

/// Fills the braces of a text: a name alone by its text, an expression by its number, or by as many
/// decimals as follow a colon.
///
/// # Errors
/// A name that there is not, or no expression.
pub(super) fn fill(
    text: &str,
    names: &Names,
    number: &dyn Fn(&Expression) -> Result<f64, String>,
) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (inner, after) = after.split_once('}').ok_or("`}` is missing")?;
        filled += before;
        filled += &match (names.get(inner), inner.rsplit_once(':')) {
            (Some(value), _) => fill(value, names, number)?,
            (None, Some((expression, digits))) if digits.parse::<usize>().is_ok() => {
                let digits = digits.parse().expect("it was read");
                format!("{:.digits$}", number(&Expression::read(expression)?)?)
            }
            (None, _) => number(&Expression::read(inner)?)?.to_string(),
        };
        rest = after;
    }
    Ok(filled + rest)
}

/// The number that an expression of names alone has.
///
/// # Errors
/// A name that there is not, or that is no number.
pub(super) fn of_names(expression: &Expression, names: &Names) -> Result<f64, String> {
    let of = |leaf: &Expression| match leaf {
        Expression::Name(name) => {
            let text = names.get(name).ok_or_else(|| unknown(name, names))?;
            let text = fill(text, names, &|e| of_names(e, names))?;
            text.parse::<f64>().map_err(|_| format!("`{name}` is \"{text}\", which is no number"))
        }
        _ => Err("a setting has no variants and phases".to_string()),
    };
    expression.leaves(&mut |leaf| of(leaf).map(|_| ()))?;
    Ok(expression.value(&|leaf| of(leaf).unwrap_or(f64::NAN)))
}

fn unknown(name: &str, names: &Names) -> String {
    let known: Vec<&str> = names.keys().map(String::as_str).collect();
    format!("nothing is called `{name}`, write {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "evidence/experiments/family/study.toml";

    fn said(text: &str) -> String {
        Study::read(PATH, text).expect_err("a mistake").to_string()
    }

    #[test]
    fn mistakes_are_shown_where_they_stand() {
        let text = said("about = \"a\"\n[[table]]\nid = \"t\"\nrun = \"r\"\n");
        assert!(text.contains("is no study: unknown field `run`, expected one of `id`"), "{text}");
        assert!(text.contains("study.toml:4:1"), "{text}");
        let text = said("about = \"a\"\nfigures = { x = \"1 +\" }\ntable = []\n");
        assert!(text.contains("`1 +`: it ends where a number"), "{text}");
        assert!(text.contains("study.toml:2:17"), "{text}");
        let runs =
            "about = \"a\"\ntable = [{ id = \"t\", runs = \"fast\" }]\n[[runs]]\nname = \"r\"\n";
        let text = said(runs);
        assert!(text.contains("`fast`: no such experiment, write r"), "{text}");
        let text = said(&format!("{runs}points = [{{ a = [1, 2], b = [1] }}]\n"));
        assert!(text.contains("the lists of a, b are not equally long"), "{text}");
    }

    #[test]
    fn braces_are_filled_from_within() {
        let names = [("size", "{2 * n}"), ("n", "3"), ("word", "as posted")];
        let names: Names = names.map(|(k, v)| (k.to_string(), v.to_string())).into();
        let filled = |text: &str| fill(text, &names, &|e| of_names(e, &names));
        assert_eq!(filled("{size} pages, {word}").as_deref(), Ok("6 pages, as posted"));
        assert_eq!(filled("{size / 4:3}, {n / 2}").as_deref(), Ok("1.500, 1.5"));
        assert_eq!(filled("{n").unwrap_err(), "`}` is missing");
        assert_eq!(filled("{m}").unwrap_err(), "nothing is called `m`, write n, size, word");
        assert_eq!(
            filled("{word + 1}").unwrap_err(),
            "`word` is \"as posted\", which is no number"
        );
        assert!(filled("{n@base}").unwrap_err().contains("no variants"));
    }

    #[test]
    fn combinations_go_last_key_fastest() {
        let each: Vec<Each> = toml::from_str::<BTreeMap<String, Vec<Each>>>(
            "each = [{ a = [1, 2], b = ['x', 'y'] }, { c = [0.5, 7] }]",
        )
        .expect("keys")
        .remove("each")
        .expect("a list");
        let texts = combinations(&each).into_iter().map(|n| n.into_values().collect::<String>());
        assert_eq!(texts.collect::<Vec<_>>(), ["1x0.5", "1x7", "2y0.5", "2y7"]);
    }
}
