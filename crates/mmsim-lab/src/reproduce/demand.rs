//! Demands: the distance within which a simulated figure should lie of a published one.

use mmsim::report::claim::{Bounds, Over, Test, Tolerance, plain};
use mmsim::report::statistics::estimate;
use serde::{Deserialize, Serialize};

/// Claim that meeting a demand shows. Each kind is counted apart in a summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Asks {
    /// A published size, which a simulated machine gives within a tolerance.
    Size,
    /// A sign, or an order.
    Direction,
    /// A band so wide that no effect at all may lie in it.
    WideBand,
    /// A bound that was not published.
    OwnBound,
    /// A figure that a constant was chosen by.
    Calibrated,
    /// A claim of the published model on paper. No machine is simulated.
    Paper,
}

impl Asks {
    /// All of them, in the order of a summary.
    pub const ALL: [Asks; 6] = [
        Asks::Size,
        Asks::Direction,
        Asks::WideBand,
        Asks::OwnBound,
        Asks::Calibrated,
        Asks::Paper,
    ];

    /// As reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Asks::Size => "size",
            Asks::Direction => "direction",
            Asks::WideBand => "wide-band",
            Asks::OwnBound => "own-bound",
            Asks::Calibrated => "calibrated",
            Asks::Paper => "paper",
        }
    }
}

/// Points at a cell.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellRef {
    /// The table.
    pub table: String,
    /// Values of the row keys.
    pub row: toml::Table,
    /// The column.
    pub column: toml::Value,
}

/// Demand on a figure.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    /// The form of the demand.
    pub kind: Kind,
    /// Weight of meeting it.
    pub basis: Basis,
    /// Largest distance: a share (`relative`), an amount in its own unit (`absolute`) or a factor
    /// either way (`factor`).
    pub tolerance: Option<f64>,
    /// With `near-cell`: how far off it may be as a share of the other figure.
    pub relative_tolerance: Option<f64>,
    /// With `near-cell`: the cell whose simulated figure it should be close to.
    pub near: Option<CellRef>,
    /// Taken off the simulated figure before it is compared.
    pub subtract: Option<f64>,
    /// Compared with in place of the published figure.
    pub reference: Option<f64>,
    /// With `absolute`: the sign has to be that of the published figure.
    #[serde(default)]
    pub sign: bool,
    /// With `band`: the least that does.
    pub low: Option<f64>,
    /// With `band`: the most that does.
    pub high: Option<f64>,
    /// With `band`: the bounds themselves do not do.
    #[serde(default)]
    pub open: bool,
    /// With `sign`: the smallest share of seeds that have it; without, the demand is on the mean.
    pub share_of_seeds: Option<f64>,
    /// The least of what is aimed at; said, not asked.
    pub aim_low: Option<f64>,
    /// The most of what is aimed at.
    pub aim_high: Option<f64>,
    /// True if missing it is a failure (the default), false if it is only reported.
    pub gate: Option<bool>,
    /// Why.
    pub note: Option<String>,
}

/// The forms of demands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Nothing.
    None,
    /// The same number.
    Exact,
    /// Within a share of the published figure.
    Relative,
    /// Within an amount of it.
    Absolute,
    /// Within a factor of it, either way.
    Factor,
    /// Between two bounds.
    Band,
    /// The same sign.
    Sign,
    /// Within an amount or a share of another simulated figure, which has to be computed first.
    NearCell,
    /// An order among cells, stated by a relation; there is no demand on a cell alone.
    Order,
    /// A rank among cells: said by a relation, too.
    Rank,
}

/// Weight of a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Nothing was chosen by it.
    Predicted,
    /// A constant was chosen by it, or it is an input.
    Calibrated,
    /// Only its direction means something.
    Trend,
}

impl Basis {
    /// As reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Basis::Predicted => "predicted",
            Basis::Calibrated => "calibrated",
            Basis::Trend => "trend",
        }
    }
}

impl Demand {
    /// True if a simulated figure meets it, where the published one is `published`; `None` without
    /// a demand.
    pub fn met(&self, published: f64, simulated: f64) -> Option<bool> {
        let published = self.reference.unwrap_or(published);
        let simulated = simulated - self.subtract.unwrap_or(0.0);
        let tolerance = || self.tolerance.expect("a tolerance");
        let test = match self.kind {
            Kind::None | Kind::Order | Kind::Rank | Kind::NearCell => return None,
            Kind::Exact => Test::Exactly(published),
            Kind::Relative => Test::Near(published, Tolerance::Share(tolerance())),
            Kind::Absolute => Test::Near(published, Tolerance::Amount(tolerance())),
            Kind::Factor => Test::Near(published, Tolerance::Factor(tolerance())),
            Kind::Band => Test::Between(self.bounds()),
            Kind::Sign => Test::Sign(published),
        };
        let sign_too = self.sign && self.kind == Kind::Absolute;
        Some(test.holds(simulated) && (!sign_too || Test::Sign(published).holds(simulated)))
    }

    fn bounds(&self) -> Bounds {
        Bounds { low: self.low, high: self.high, open: self.open }
    }

    fn over(&self) -> Over {
        self.share_of_seeds.map_or(Over::Means, Over::Share)
    }

    /// With `near-cell`: whether a simulated figure is close to the simulated one of the cell that
    /// is named.
    pub fn met_near(&self, near: f64, simulated: f64) -> bool {
        let tolerance = match self.relative_tolerance {
            Some(share) => Tolerance::Share(share),
            None => Tolerance::Amount(self.tolerance.expect("a tolerance")),
        };
        Test::Near(near, tolerance).holds(simulated)
    }

    /// True if figures of several seeds meet it: the share of them that the demand names, if it
    /// names one, else their mean. `None` without a demand, or without figures.
    pub fn met_by_seeds(&self, published: f64, simulated: &[f64]) -> Option<bool> {
        let passed: Option<Vec<bool>> = simulated.iter().map(|x| self.met(published, *x)).collect();
        let mean = estimate(simulated)?.mean;
        self.over().answer(&passed?, || self.met(published, mean) == Some(true))
    }

    /// True if missing it is a failure.
    pub fn gates(&self) -> bool {
        self.gate.unwrap_or(true)
    }

    /// The demand in a few words; `unit` is that of the figure.
    pub fn words(&self, unit: &str) -> String {
        let tolerance = || self.tolerance.expect("a tolerance");
        let mut words = match self.kind {
            Kind::None => "none".into(),
            Kind::Order | Kind::Rank => "order, below".into(),
            Kind::NearCell => {
                let unit = if unit == "%" { "points" } else { unit };
                let off = match self.relative_tolerance {
                    Some(share) => format!("±{} %", plain(share * 100.0)),
                    None => format!("±{} {unit}", plain(tolerance())),
                };
                let near = self.near.as_ref().map_or(String::new(), CellRef::words);
                format!("{off} of {near} as simulated")
            }
            Kind::Exact => "exact".into(),
            Kind::Relative => format!("±{} %", plain(tolerance() * 100.0)),
            Kind::Absolute => {
                let unit = if unit == "%" { "points" } else { unit };
                let sign = if self.sign { ", and the sign" } else { "" };
                format!("±{} {unit}{sign}", plain(tolerance()))
            }
            Kind::Factor => format!("within a factor {}", plain(tolerance())),
            Kind::Band => self.bounds().words(),
            Kind::Sign => "the sign".into(),
        };
        if let Some(reference) = self.reference {
            words += &format!(" of {}", plain(reference));
        }
        if let Some(less) = self.subtract {
            words += &format!(", after {} is taken off", plain(less));
        }
        words += &self.over().words();
        if self.aim_low.is_some() || self.aim_high.is_some() {
            let aim = Bounds { low: self.aim_low, high: self.aim_high, open: false };
            words += &format!("; aim: {}", aim.words());
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(text: &str) -> Demand {
        toml::from_str(text).expect("a demand")
    }

    #[test]
    fn relative_counts_from_the_published_figure() {
        let d = demand("kind = 'relative'\ntolerance = 0.07\nbasis = 'predicted'");
        assert_eq!(d.met(100.0, 107.0), Some(true));
        assert_eq!(d.met(100.0, 107.01), Some(false));
        assert_eq!(d.met(-100.0, -93.0), Some(true));
        assert_eq!(d.words("records/s"), "±7 %");
    }

    #[test]
    fn absolute_is_in_the_unit_of_the_cell_and_may_ask_for_the_sign() {
        let d = demand("kind = 'absolute'\ntolerance = 1.5\nbasis = 'predicted'");
        assert_eq!(d.met(-0.26, 1.2), Some(true));
        assert_eq!(d.met(-0.26, 1.3), Some(false));
        assert_eq!(d.words("%"), "±1.5 points");
        let d = demand("kind = 'absolute'\ntolerance = 2\nsign = true\nbasis = 'predicted'");
        assert_eq!(d.met(-1.0, 0.5), Some(false));
        assert_eq!(d.met(-1.0, 0.0), Some(false));
        assert_eq!(d.met(-1.0, -2.9), Some(true));
        assert_eq!(d.words("%"), "±2 points, and the sign");
    }

    #[test]
    fn open_bands_leave_out_their_bounds() {
        let text = "kind = 'band'\nlow = -0.05\nhigh = 0.12\nbasis = 'trend'";
        assert_eq!(demand(text).met(0.0, 0.12), Some(true));
        let open = demand(&format!("{text}\nopen = true"));
        assert_eq!(open.met(0.0, 0.12), Some(false));
        assert_eq!(open.words("fraction"), "strictly between -0.05 and 0.12");
    }

    #[test]
    fn nothing_asked_is_nothing_met() {
        assert_eq!(demand("kind = 'none'\nbasis = 'trend'").met(1.0, 9.0), None);
        let exact = demand("kind = 'exact'\nbasis = 'predicted'");
        assert_eq!((exact.met(50.0, 50.0), exact.met(50.0, 49.0)), (Some(true), Some(false)));
        let sign = demand("kind = 'sign'\nbasis = 'trend'");
        assert_eq!((sign.met(2.0, 0.1), sign.met(2.0, 0.0)), (Some(true), Some(false)));
    }

    /// Nine of ten will do, eight will not; a mean of the right sign does not make up for it.
    #[test]
    fn shares_of_seeds() {
        let d = demand("kind = 'sign'\nshare_of_seeds = 0.9\nbasis = 'predicted'");
        let figures = |wrong: usize| {
            let mut all = [-30.0; 10];
            all[..wrong].fill(0.5);
            all
        };
        assert_eq!(d.met_by_seeds(-52.79, &figures(1)), Some(true));
        assert_eq!(d.met_by_seeds(-52.79, &figures(2)), Some(false));
        assert_eq!(d.met_by_seeds(-52.79, &[]), None);
        assert_eq!((d.words("%").as_str(), d.gates()), ("the sign on 90 % of the seeds", true));
        let d = demand("kind = 'band'\nlow = -3\nhigh = 3\nbasis = 'predicted'\ngate = false");
        assert_eq!(d.met_by_seeds(0.0, &[5.0, -5.0]), Some(true));
        assert_eq!(d.met_by_seeds(0.0, &[5.0, 2.0]), Some(false));
        assert!(!d.gates());
    }

    #[test]
    fn aims_are_said_and_not_asked() {
        let text = "kind = 'sign'\naim_low = -20\naim_high = -2\nbasis = 'predicted'";
        let d = demand(text);
        assert_eq!(d.met(-8.0, -0.1), Some(true));
        assert_eq!(d.words("%"), "the sign; aim: between -20 and -2");
        let order = demand("kind = 'order'\nbasis = 'trend'");
        assert_eq!((order.met(1.0, 9.0), order.met_by_seeds(1.0, &[9.0])), (None, None));
    }

    /// 4.97 less 1.448 is 3.522, within 30 % of 4.06; a figure near another is judged by that one.
    #[test]
    fn what_is_taken_off_and_what_is_near() {
        let text = "kind = 'relative'\ntolerance = 0.3\nsubtract = 1.448\nreference = 4.06";
        let d = demand(&format!("{text}\nbasis = 'predicted'"));
        assert_eq!(d.met(4.97, 4.97), Some(true));
        assert_eq!(d.met(4.97, 4.28), Some(false));
        assert_eq!(d.words("%"), "±30 % of 4.06, after 1.448 is taken off");
        let near = "near = { table = 't', row = { q = 0 }, column = 'cpu' }";
        let text = format!("kind = 'near-cell'\nbasis = 'predicted'\n{near}\n");
        let share = demand(&(text.clone() + "relative_tolerance = 0.1"));
        assert_eq!((share.met_near(10.0, 9.0), share.met_near(10.0, 8.9)), (true, false));
        assert_eq!(
            (share.met(10.0, 9.0), share.words("%").as_str()),
            (None, "±10 % of cpu at q 0 as simulated")
        );
        let points = demand(&(text + "tolerance = 4"));
        assert_eq!((points.met_near(47.2, 43.2), points.met_near(47.2, 43.1)), (true, false));
    }

    #[test]
    fn a_form_that_is_not_known_is_refused() {
        let e = toml::from_str::<Demand>("kind = 'near'\nbasis = 'trend'").unwrap_err();
        assert!(e.to_string().contains("unknown variant `near`"), "{e}");
    }
}
