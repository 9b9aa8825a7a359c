//! The document of a reproduction: published beside simulated figures.

pub use super::demand::Asks;
use serde::{Deserialize, Serialize};

use crate::reproduce::demand::Basis;
use crate::reproduce::study::Constant;
use mmsim::cells::{Cell, Cells};
use mmsim::report::SCHEMA;

/// All experiments of one command.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reproduction {
    /// The version of mmsim that wrote it.
    pub mmsim: String,
    /// The version of the form.
    pub schema: u32,
    /// Only a few cells, on smaller machines.
    pub quick: bool,
    /// The experiments.
    pub experiments: Vec<ExperimentReport>,
}

/// One experiment: a family of published figures.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExperimentReport {
    /// Its name.
    pub name: String,
    /// Description of the experiment.
    pub about: String,
    /// Values that the sources leave open, and those put in their place.
    pub constants: Vec<Constant>,
    /// The figures.
    pub rows: Vec<FigureRow>,
    /// Sentences that no single figure holds.
    pub findings: Vec<String>,
    /// Memory as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Picture>,
    /// Summary of the figures.
    pub summary: Summary,
    /// With `--sensitivity`: verdicts that flip when a constant moves by a quarter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Sensitivity>,
}

/// A picture in lines of text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Picture {
    /// Title of the table.
    pub title: String,
    /// Its lines, each with an end.
    pub text: String,
}

/// A published figure and what the model makes of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FigureRow {
    /// `table/row/column`: a name that stays.
    pub id: String,
    /// Quantity that is counted.
    pub quantity: String,
    /// Its unit.
    pub unit: String,
    /// The published figure; none where the series makes no statement in numbers.
    pub published: Option<f64>,
    /// Its published standard deviation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// The simulated figure, a mean over seeds; none where the simulated machine could
    /// not do the work (`note` says why).
    pub simulated: Option<f64>,
    /// Half of its 95 % confidence interval over the seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<f64>,
    /// Number of seeds.
    pub seeds: u64,
    /// The demand on it.
    pub demand: String,
    /// True if it meets the demand; `None` without a demand.
    pub met: Option<bool>,
    /// True if missing it is a failure, false if it is only reported.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub gates: bool,
    /// Basis of the figure: it was predicted, or a constant was chosen by it, or only its direction
    /// counts.
    pub basis: Basis,
    /// Claim that meeting its demand would show, before its basis is looked at.
    pub asks: Asks,
    /// A remark.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// Numbers of demands, and of those that are met.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Score {
    /// Those that are met.
    pub met: u64,
    /// All.
    pub of: u64,
}

impl Score {
    /// All together.
    pub fn sum(scores: impl Iterator<Item = Score>) -> Score {
        scores.fold(Score::default(), |a, s| Score { met: a.met + s.met, of: a.of + s.of })
    }
}

/// Summary of the figures of an experiment.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Summary {
    /// Published sizes that a simulated machine gives within the stated tolerance. Nothing was
    /// chosen by them.
    pub predicted: Score,
    /// Signs and orders.
    pub directions: Score,
    /// Bands so wide that no effect at all may lie in them.
    pub wide_bands: Score,
    /// Bounds that were not published.
    pub own_bounds: Score,
    /// Figures that constants were chosen by.
    pub calibrated: Score,
    /// Figures of a model on paper.
    pub on_paper: Score,
    /// Constants that were chosen with results or published figures in view, by their names in
    /// evidence/calibration.toml.
    pub constants: Vec<String>,
    /// Accuracy of the model for recorded kernels that carry the patch, or lack it.
    pub kernels: Vec<KernelScore>,
}

impl Summary {
    /// Counts the demands of rows.
    pub fn count(rows: &[FigureRow]) -> Summary {
        let of = |asks: Asks| {
            let verdicts = || rows.iter().filter(|r| r.shows() == asks).filter_map(|r| r.met);
            let met = verdicts().filter(|m| *m).count() as u64;
            Score { met, of: verdicts().count() as u64 }
        };
        Summary {
            predicted: of(Asks::Size),
            directions: of(Asks::Direction),
            wide_bands: of(Asks::WideBand),
            own_bounds: of(Asks::OwnBound),
            calibrated: of(Asks::Calibrated),
            on_paper: of(Asks::Paper),
            ..Summary::default()
        }
    }

    /// The scores in the order of [`Asks::ALL`].
    pub fn scores(&self) -> [Score; 6] {
        [
            self.predicted,
            self.directions,
            self.wide_bands,
            self.own_bounds,
            self.calibrated,
            self.on_paper,
        ]
    }
}

/// Number of figures of a recorded kernel to which the model comes close.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KernelScore {
    /// The kernel, as `mmsim-lab validate evidence/reference/patched` names it.
    pub kernel: String,
    /// Figures that are close enough, of those that are judged.
    #[serde(flatten)]
    pub score: Score,
}

fn yes() -> bool {
    true
}

fn is_yes(gates: &bool) -> bool {
    *gates
}

/// Changes of figures with constants.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sensitivity {
    /// Each constant that was varied, in both directions.
    pub varied: Vec<Variation>,
    /// Constants that stand in the program and were not varied.
    pub fixed: Vec<String>,
}

/// One constant in one direction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Variation {
    /// The constant.
    pub constant: String,
    /// By what it was multiplied: 0.75 or 1.25.
    pub factor: f64,
    /// Verdicts that are not what they were.
    pub flips: Vec<Flip>,
}

/// A verdict that flipped.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Flip {
    /// The figure.
    pub id: String,
    /// The figure that was simulated with the constant as it is.
    pub before: Option<f64>,
    /// And with the varied one.
    pub after: Option<f64>,
    /// True if the varied one meets its demand.
    pub met: bool,
}

impl Reproduction {
    /// A document of experiments.
    pub fn new(quick: bool, experiments: Vec<ExperimentReport>) -> Reproduction {
        let mmsim = env!("CARGO_PKG_VERSION").to_string();
        Reproduction { mmsim, schema: SCHEMA, quick, experiments }
    }

    /// Numbers of figures that meet their demands, and of all with a demand.
    pub fn score(&self) -> (usize, usize) {
        let rows = || self.experiments.iter().flat_map(|e| &e.rows).filter_map(|r| r.met);
        (rows().filter(|met| *met).count(), rows().count())
    }

    /// Number of missed figures that must not be missed.
    pub fn failures(&self) -> usize {
        let rows = self.experiments.iter().flat_map(|e| &e.rows);
        rows.filter(|r| r.gates && r.met == Some(false)).count()
    }

    /// The document as JSON.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("a reproduction is plain data");
        json.push('\n');
        json
    }

    /// The figures as a table, one row for each; what is missing is an empty cell.
    pub fn cells(&self) -> Cells {
        let mut cells = Cells::headed(
            "experiment,id,quantity,unit,published,deviation,simulated,ci95,seeds,demand,met,gates,\
             basis,asks,note",
            &["published", "deviation", "simulated", "ci95", "seeds"],
        );
        for (e, r) in self.experiments.iter().flat_map(|e| e.rows.iter().map(move |r| (e, r))) {
            cells.row([
                Cell::from(&e.name),
                Cell::from(&r.id),
                Cell::from(&r.quantity),
                Cell::from(&r.unit),
                r.published.into(),
                r.deviation.into(),
                r.simulated.into(),
                r.ci95.into(),
                r.seeds.into(),
                Cell::from(&r.demand),
                r.met.into(),
                r.gates.into(),
                r.basis.name().into(),
                r.shows().name().into(),
                Cell::from(&r.note),
            ]);
        }
        cells
    }

    /// The same as CSV.
    pub fn to_csv(&self) -> String {
        self.cells().to_csv()
    }
}

impl FigureRow {
    /// Claim that meeting its demand shows. What a constant was chosen by shows no more than that.
    pub fn shows(&self) -> Asks {
        match (self.asks, self.basis) {
            (Asks::Paper, _) => Asks::Paper,
            (_, Basis::Calibrated) => Asks::Calibrated,
            (Asks::Size, Basis::Trend) => Asks::WideBand,
            (asks, _) => asks,
        }
    }
}

impl ExperimentReport {
    /// The table that a row belongs to: the first part of its name.
    pub fn table_of(row: &FigureRow) -> &str {
        row.id.split('/').next().unwrap_or(&row.id)
    }
}
