//! Demands between the figures of one run: ratios between bounds, and orders.
//!
//! A published ratio of two runs is one number; here there are seeds, and a pair of runs for each
//! of them. A ratio is formed seed by seed and its mean is judged. An order holds on a seed or does
//! not; the report has the share of seeds on which it holds, and the share is judged where the
//! demand names one. Without one the means have to be in that order.

use super::demand::CellRef;
use super::published::{Cell, Comparison, Expectation, Published, Relation, RelationKind, Row};
use crate::reproduce::document::{Asks, FigureRow};
use mmsim::report::claim::{Against, Bounds, Claim, Over};
use mmsim::report::statistics::{Estimate, estimate};

impl Relation {
    /// Bounds of its value.
    pub fn bounds(&self) -> Bounds {
        Bounds { low: self.low, high: self.high, open: self.open }
    }
}

impl Expectation {
    /// Bounds of its figure.
    pub fn bounds(&self) -> Bounds {
        Bounds { low: self.low, high: self.high, open: self.open }
    }
}

/// A figure of each seed.
pub type BySeed = Vec<(u64, f64)>;

/// The values without their seeds.
pub fn values(by_seed: &[(u64, f64)]) -> Vec<f64> {
    by_seed.iter().map(|v| v.1).collect()
}

/// Spearman's rank correlation of two lists of the same length; `None` with fewer than three.
pub fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (ranks(a), ranks(b));
    let n = a.len().min(b.len());
    // Ranks have this mean with ties, too.
    let mean = (n as f64 + 1.0) / 2.0;
    let sum = |x: &[f64], y: &[f64]| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    let spread = (sum(&a, &a) * sum(&b, &b)).sqrt();
    (n > 2 && spread > 0.0).then(|| sum(&a, &b) / spread)
}

/// The rank of each value from 1 on; equal ones share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let of = |v: &f64| {
        let less = values.iter().filter(|o| *o < v).count() as f64;
        let same = values.iter().filter(|o| *o == v).count() as f64;
        less + (same + 1.0) / 2.0
    };
    values.iter().map(of).collect()
}

/// Seed by seed, the rank correlation of simulated figures with published ones, over the seeds
/// that all cells have.
fn correlations(
    cells: &[Cell<'_>],
    simulated: impl Fn(&Cell<'_>) -> Option<BySeed>,
) -> Option<Vec<f64>> {
    let published: Vec<f64> = cells.iter().map(Cell::value).collect();
    let figures: Option<Vec<BySeed>> = cells.iter().map(simulated).collect();
    let figures = figures?;
    let seeds = figures.first()?.iter().map(|v| v.0);
    let of = |seed: u64| -> Option<f64> {
        let at = |c: &BySeed| c.iter().find(|v| v.0 == seed).map(|v| v.1);
        let column: Option<Vec<f64>> = figures.iter().map(at).collect();
        rank_correlation(&column?, &published)
    };
    Some(seeds.filter_map(of).collect())
}

/// The row of a relation, where `simulated` gives the figure of a cell for each seed; what counts
/// are the seeds that all cells have. `None` if there are none, or a cell was not simulated.
pub fn row(
    published: &Published,
    relation: &Relation,
    simulated: impl Fn(&Cell<'_>) -> Option<BySeed>,
) -> Option<FigureRow> {
    let all = relation.cells.iter().chain(&relation.numerator).chain(&relation.denominator);
    let all = all.chain(&relation.cell);
    let all: Option<Vec<BySeed>> = all.map(|c| simulated(&published.cell(c))).collect();
    let everywhere = |seed: u64| all.iter().flatten().all(|c| c.iter().any(|v| v.0 == seed));
    let columns = |refs: &[CellRef]| -> Option<Vec<Vec<f64>>> {
        let of = |c: &CellRef| {
            let by_seed = simulated(&published.cell(c))?.into_iter();
            Some(by_seed.filter(|v| everywhere(v.0)).map(|v| v.1).collect())
        };
        refs.iter().map(of).collect()
    };
    let bounds = relation.bounds();
    let asked = bounds.low.is_some() || bounds.high.is_some();
    let within = |e: Option<Estimate>| e.map(|e| bounds.holds(e.mean));
    let (quantity, estimate, unit, demand, met) = match relation.kind {
        RelationKind::Ratio => {
            let (above, below) = (columns(&relation.numerator)?, columns(&relation.denominator)?);
            // The same is taken off every cell.
            let off = |cells: &[CellRef]| relation.subtract * cells.len() as f64;
            let (off_above, off_below) = (off(&relation.numerator), off(&relation.denominator));
            let above: Vec<f64> = sums(&above).iter().map(|a| a - off_above).collect();
            let below: Vec<f64> = sums(&below).iter().map(|b| b - off_below).collect();
            let ratio =
                Claim { against: Against::Ratio, over: Over::Pairs, ..Claim::between(bounds) };
            let met = ratio.judge(&above, &below).map(|v| v.holds);
            let e = estimate(&ratio.values(&above, &below));
            ("ratio", e, "ratio", bounds.words(), met.filter(|_| asked))
        }
        RelationKind::Order => {
            let cells = columns(&relation.cells)?;
            let over = relation.share_of_seeds.map_or(Over::Means, Over::Share);
            let (e, met) = order(&cells, &relation.ops, over)?;
            let words = match over {
                Over::Means => "the order of the means".into(),
                _ => format!("the order{}", over.words()),
            };
            ("held", Some(e), "share of seeds", words, Some(met))
        }
        RelationKind::Value => {
            let cell = relation.cell.as_ref()?;
            let e = Some(estimate(columns(std::slice::from_ref(cell))?.first()?)?);
            ("value", e, unit_of(published, cell), bounds.words(), within(e))
        }
        RelationKind::RankCorrelation => {
            let e = Some(estimate(&correlations(&published.ranked(relation), &simulated)?)?);
            ("rank correlation", e, "", bounds.words(), within(e))
        }
    };
    let first = relation.cells.iter().chain(&relation.numerator).chain(&relation.cell).next();
    let table = first.map(|c| &c.table).or(relation.table.as_ref()).map(String::as_str);
    let one_sided = [(None, Some(1.0)), (Some(1.0), None)].contains(&(bounds.low, bounds.high));
    let asks = match relation.kind {
        RelationKind::Order => Asks::Direction,
        RelationKind::Ratio if one_sided => Asks::Direction,
        // No effect lies in it.
        RelationKind::Ratio if asked && Bounds { open: true, ..bounds }.holds(1.0) => {
            Asks::WideBand
        }
        _ => Asks::Size,
    };
    Some(FigureRow {
        id: format!("{}/{}", table.unwrap_or_default(), relation.id),
        quantity: quantity.into(),
        unit: unit.into(),
        published: relation.published,
        deviation: None,
        simulated: estimate.map(|e| e.mean),
        ci95: estimate.and_then(|e| e.ci95),
        seeds: estimate.map_or(0, |e| e.n as u64),
        demand,
        met,
        gates: relation.gate.unwrap_or(true),
        basis: relation.basis,
        asks,
        note: relation.about.clone(),
    })
}

/// The unit of a cell.
fn unit_of<'a>(published: &'a Published, at: &CellRef) -> &'a str {
    let t = published.table(&at.table);
    let is = |r: &&Row| at.row.iter().all(|(k, v)| r.keys.get(k) == Some(v));
    t.rows.iter().find(is).and_then(|r| r.unit.as_deref()).unwrap_or(&t.unit)
}

/// Seed by seed, the sum over cells.
fn sums(cells: &[Vec<f64>]) -> Vec<f64> {
    let seeds = cells.iter().map(Vec::len).min().unwrap_or(0);
    (0..seeds).map(|i| cells.iter().map(|c| c[i]).sum()).collect()
}

/// The share of seeds on which cells are in order, without an interval, and whether that is
/// enough. `None` without seeds.
fn order(cells: &[Vec<f64>], ops: &[Comparison], over: Over) -> Option<(Estimate, bool)> {
    let holds = |v: &[f64]| v.windows(2).zip(ops).all(|(w, op)| op.holds(w[0], w[1]));
    let n = cells.iter().map(Vec::len).min().unwrap_or(0);
    let seed = |i: usize| cells.iter().map(|c| c[i]).collect::<Vec<f64>>();
    let held: Vec<bool> = (0..n).map(|i| holds(&seed(i))).collect();
    let means: Option<Vec<f64>> = cells.iter().map(|c| estimate(c).map(|e| e.mean)).collect();
    let means = means?;
    let met = over.answer(&held, || holds(&means))?;
    let mean = held.iter().filter(|h| **h).count() as f64 / n as f64;
    Some((Estimate::without_interval(mean, n), met))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
schema = 1
family = "f"
[demands.none]
kind = "none"
basis = "trend"
[[table]]
id = "t"
title = "t"
source = "s"
unit = "refaults"
direction = "smaller"
row_keys = ["series"]
column_key = "counter"
columns = ["anon"]
demand = "none"
rows = [{ series = "base", values = [100] }, { series = "list", values = [47] }]
[[relation]]
id = "ratio"
kind = "ratio"
about = "list over base"
numerator = [{ table = "t", row = { series = "list" }, column = "anon" }]
denominator = [{ table = "t", row = { series = "base" }, column = "anon" }]
published = 0.47
low = 0.35
high = 0.9
basis = "predicted"
gate = false
[[relation]]
id = "seeds"
kind = "order"
about = "list below base"
cells = [
    { table = "t", row = { series = "list" }, column = "anon" },
    { table = "t", row = { series = "base" }, column = "anon" },
]
ops = ["<"]
share_of_seeds = 0.75
basis = "predicted"
[[relation]]
id = "means"
kind = "order"
about = "list below base"
cells = [
    { table = "t", row = { series = "list" }, column = "anon" },
    { table = "t", row = { series = "base" }, column = "anon" },
]
ops = ["<"]
basis = "trend"
"#;

    fn judged(id: &str, list: [f64; 4]) -> FigureRow {
        let p = Published::read(TEXT);
        let figures = |c: &Cell<'_>| {
            let v = if c.key("series") == "base" { [100.0; 4] } else { list };
            Some((1..=4).zip(v).collect())
        };
        row(&p, p.relation(id), figures).expect("all cells are there")
    }

    #[test]
    fn ratios_are_formed_seed_by_seed() {
        let r = judged("ratio", [25.0, 50.0, 75.0, 50.0]);
        assert_eq!((r.simulated, r.met, r.gates, r.seeds), (Some(0.5), Some(true), false, 4));
        assert_eq!((r.id.as_str(), r.demand.as_str()), ("t/ratio", "between 0.35 and 0.9"));
        assert_eq!(judged("ratio", [90.0, 100.0, 90.0, 100.0]).met, Some(false));
    }

    /// Nothing over nothing says nothing, and something over nothing is more than any bound.
    #[test]
    fn a_ratio_of_nothing_to_nothing_is_not_judged() {
        let p = Published::read(TEXT);
        let of = |list: [f64; 2], base: [f64; 2]| {
            let figures = |c: &Cell<'_>| {
                let v = if c.key("series") == "base" { base } else { list };
                Some((1..=2).zip(v).collect())
            };
            let r = row(&p, p.relation("ratio"), figures).expect("all cells are there");
            (r.simulated, r.met, r.seeds)
        };
        assert_eq!(of([0.0, 0.0], [0.0, 0.0]), (None, None, 0));
        assert_eq!(of([0.0, 50.0], [0.0, 100.0]), (Some(0.5), Some(true), 1));
        assert_eq!(of([1.0, 50.0], [0.0, 100.0]).1, Some(false));
    }

    /// Three of four seeds are enough, and two are not, however large the difference on them is.
    #[test]
    fn orders_are_counted_over_seeds_or_asked_of_the_means() {
        let r = judged("seeds", [99.0, 99.0, 99.0, 900.0]);
        assert_eq!((r.simulated, r.met, r.gates), (Some(0.75), Some(true), true));
        assert_eq!(r.demand, "the order on 75 % of the seeds");
        assert_eq!(judged("seeds", [1.0, 1.0, 101.0, 101.0]).met, Some(false));
        assert_eq!(judged("means", [1.0, 1.0, 101.0, 101.0]).met, Some(true));
        assert_eq!(judged("means", [99.0, 99.0, 99.0, 900.0]).met, Some(false));
    }

    /// Seeds 1 to 3 of one cell and 2 to 4 of the other have 2 and 3 in common, which count.
    #[test]
    fn seeds_that_a_cell_lacks_do_not_count() {
        let p = Published::read(TEXT);
        let figures = |c: &Cell<'_>| {
            let first = if c.key("series") == "base" { 1 } else { 2 };
            Some((first..first + 3).map(|seed| (seed, seed as f64)).collect())
        };
        let r = row(&p, p.relation("ratio"), figures).expect("common seeds");
        assert_eq!((r.simulated, r.seeds), (Some(1.0), 2));
    }

    /// 1 - 6 * (1 + 1) / (4 * 15) for two neighbours that changed places; ties share a rank.
    #[test]
    fn ranks_and_their_correlation() {
        assert_eq!(ranks(&[10.0, 20.0, 20.0, 5.0]), [2.0, 3.5, 3.5, 1.0]);
        let r = rank_correlation(&[1.0, 9.0, 8.0, 100.0], &[-4.0, -3.0, -2.0, -1.0]);
        assert!((r.expect("four") - 0.8).abs() < 1e-12);
        let r = rank_correlation(&[3.0, 2.0, 1.0], &[10.0, 20.0, 30.0]);
        assert!((r.expect("three") + 1.0).abs() < 1e-12);
        assert_eq!(rank_correlation(&[1.0, 2.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn what_was_not_simulated_is_not_judged() {
        let p = Published::read(TEXT);
        let none = |c: &Cell<'_>| (c.key("series") == "base").then(|| vec![(1, 1.0)]);
        assert!(p.relations.iter().all(|r| row(&p, r, none).is_none()));
    }
}
