//! Values beside each other: which moved, by how much, and in what order they are shown.
//!
//! *Change* is the mean over pairs of equal seeds of each pair's change in per cent, with a
//! 95 % interval where there are several seeds. It has no value where a count grew from
//! zero.
//!
//! A value *moved* if the interval of its change leaves out zero; with one seed there is no
//! interval, and whatever differs moved. What differs but not by more than its interval is *within
//! noise*. A hundred counters are tested at once: of those that a change does not affect, some five
//! in a hundred will seem to have moved.
//!
//! How far it moved, by which rows are ordered, is its *movement*: how many per cent the
//! larger mean is above the smaller, after a hundred ([`FLOOR`]) has been added to both.
//! So `100 → 200` is 50 % and `3 → 6` is 3 %: a large change of a few events does not
//! stand above a small one of millions, up and down weigh the same, and growing from zero
//! has a size.

use mmsim_core::memory::SizeEvent;
use serde::Serialize;

use super::Options;
use crate::derived::{Figure, Scope};
use crate::document::{CacheExtReport, RunReport};
use crate::estimate_fields;
use crate::statistics::{Estimate, paired_change, paired_difference};

/// Amount that is added to both means before they are compared.
pub const FLOOR: f64 = 100.0;

/// Verdict on the change of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moved {
    /// The second report has more.
    Up,
    /// The second report has less.
    Down,
    /// Not by more than seeds make it move.
    WithinNoise,
    /// Equal in every pair.
    No,
}

impl Moved {
    /// As in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Moved::Up => "up",
            Moved::Down => "down",
            Moved::WithinNoise => "within-noise",
            Moved::No => "no",
        }
    }
}

/// One value in both reports.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// `figure`, `run`, `vmstat`, `gauge`, `pressure`, `latency`, `task` or `memory_stat`; of
    /// classes `refaults`, `failed_allocations`, `failed_compactions` or `direct_stalls`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Mean in the first report.
    pub a: f64,
    /// Mean in the second.
    pub b: f64,
    /// The differences of pairs, second minus first.
    #[serde(flatten, with = "difference")]
    pub difference: Estimate,
    /// The changes of pairs in per cent; none where one grew from zero.
    #[serde(flatten, with = "change")]
    pub change: Option<Estimate>,
    /// Difference of the means in per cent, after [`FLOOR`] was added to both. None for a figure
    /// that grew from zero: nothing is added to those that are no counts.
    pub movement_pct: Option<f64>,
    /// The verdict.
    pub moved: Moved,
}

estimate_fields! {
    difference: Estimate => "difference", "difference_ci95";
    change: Option<Estimate> => "change_pct", "change_ci95";
}

impl Row {
    /// [`Row::movement_pct`], endless where it has no value.
    pub fn movement(&self) -> f64 {
        self.movement_pct.unwrap_or(f64::INFINITY)
    }
}

/// `a` and `b` by seed as a row. `floor` is in the unit of the values.
pub(super) fn row(
    kind: &'static str,
    name: String,
    pairs: &[(u64, f64, f64)],
    floor: f64,
) -> Option<Row> {
    let side = |of: fn(&(u64, f64, f64)) -> f64| -> Vec<(u64, f64)> {
        pairs.iter().map(|p| (p.0, of(p))).collect()
    };
    let mean = |values: &[(u64, f64)]| Estimate::of(values.iter().map(|v| v.1)).map(|e| e.mean);
    let (in_a, in_b) = (side(|p| p.1), side(|p| p.2));
    let (a, b) = (mean(&in_a)?, mean(&in_b)?);
    let difference = paired_difference(&in_a, &in_b)?;
    let change = paired_change(&in_a, &in_b);
    let moved = if pairs.iter().all(|p| p.1 == p.2) {
        Moved::No
    } else if !change.unwrap_or(difference).differs_from_zero() {
        Moved::WithinNoise
    } else if difference.mean > 0.0 {
        Moved::Up
    } else {
        Moved::Down
    };
    let movement = ((a.max(b) + floor) / (a.min(b) + floor) - 1.0) * 100.0;
    Some(Row {
        kind,
        name,
        a,
        b,
        difference,
        change,
        movement_pct: Some(movement).filter(|m| m.is_finite()),
        moved,
    })
}

/// Unit of work for counts: records, or accesses where there are none.
pub(super) fn work(scope: &Scope<'_>) -> f64 {
    (if scope.records > 0 { scope.records } else { scope.accesses }) as f64
}

/// The figures that are defined in all runs and not zero in all.
pub(super) fn figures(scopes: &[(u64, Scope<'_>, Scope<'_>)], per_work: bool) -> Vec<Row> {
    if scopes.is_empty() {
        return Vec::new();
    }
    let of = |figure: Figure| {
        let value = |scope: &Scope<'_>| {
            let scale =
                if per_work && figure.path().grows_with_work() { 1e3 / work(scope) } else { 1.0 };
            figure.of(*scope).map(|v| v * scale).filter(|v| v.is_finite())
        };
        let pairs: Vec<(u64, f64, f64)> = scopes
            .iter()
            .map(|(seed, a, b)| Some((*seed, value(a)?, value(b)?)))
            .collect::<Option<_>>()?;
        let any = pairs.iter().any(|p| p.1 != 0.0 || p.2 != 0.0);
        let floor = match (figure.path().is_count(), per_work) {
            (false, _) => 0.0,
            (true, false) => FLOOR,
            (true, true) => FLOOR * 1e3 / work(&scopes[0].1),
        };
        let label = figure.label_of(scopes.iter().flat_map(|(_, a, b)| [a.records, b.records]));
        any.then(|| row("figure", label.to_string(), &pairs, floor)).flatten()
    };
    let mut rows: Vec<Row> = Figure::ALL.into_iter().filter_map(of).collect();
    let seconds = |s: &Scope<'_>| s.sim_time_ns as f64 / 1e9;
    let time: Vec<_> = scopes.iter().map(|(seed, a, b)| (*seed, seconds(a), seconds(b))).collect();
    rows.extend(row("figure", "simulated time, s".to_string(), &time, 0.0));
    rows
}

/// A value of one run: its kind, its name, the value, whether it grows with work.
type Value = (&'static str, String, f64, bool);

/// `sizes`: counters of sizes of folios that one of the reports has; the other one's are 0.
fn of_run(run: &RunReport, scope: &Scope<'_>, sizes: &[&str], options: Options<'_>) -> Vec<Value> {
    let mut all: Vec<Value> = vec![("run", "sim_time_ns".into(), scope.sim_time_ns as f64, false)];
    all.extend(scope.vmstat.iter().map(|(n, &v)| ("vmstat", n.to_string(), v as f64, true)));
    let gauges = match options.phase {
        None => Some(&run.gauges),
        Some(name) => run.phases.iter().find(|p| p.name == name).map(|p| &p.gauges),
    };
    for (name, &value) in gauges.into_iter().flat_map(|g| g.iter()) {
        all.push(("gauge", name.to_string(), value as f64, false));
    }
    for &name in sizes {
        let value = scope.sizes.get(name).copied().unwrap_or(0);
        all.push(("size", name.to_string(), value as f64, true));
    }
    let p = scope.pressure;
    for (name, value) in [("some_us", p.some_us), ("full_us", p.full_us)] {
        all.push(("pressure", name.to_string(), value as f64, true));
    }
    for (kind, quantiles) in scope.latency.named() {
        for (name, value) in quantiles.named() {
            // A latency of nothing is not zero, it is none.
            if name == "count" || quantiles.count > 0 {
                all.push(("latency", format!("{kind}.{name}"), value as f64, name == "count"));
            }
        }
    }
    let tasks = match options.phase {
        None => &run.tasks[..],
        Some(name) => {
            let phase = run.phases.iter().find(|p| p.name == name);
            phase.and_then(|p| p.task.as_ref()).map_or(&[][..], std::slice::from_ref)
        }
    };
    for task in tasks {
        for (name, value) in task.vmstat.iter().filter_map(|(name, v)| Some((name, (*v)?))) {
            all.push(("task", format!("{}.{name}", task.name), value as f64, true));
        }
        if let Some(record) = task.record.as_ref().filter(|r| r.latency.count > 0) {
            for (name, value) in record.latency.named().into_iter().filter(|v| v.0 != "count") {
                let name = format!("{}.{}.{name}", task.name, record.what);
                all.push(("task", name, value as f64, false));
            }
        }
    }
    // Phases have none.
    if options.phase.is_none() {
        for (group, stat) in run.memory_stat.iter() {
            for (name, value) in stat.iter().filter_map(|(name, v)| Some((name, (*v)?))) {
                let counts = !["memory.current", "memory.swap.current"].contains(&name);
                all.push(("memory_stat", format!("{group}.{name}"), value as f64, counts));
            }
        }
        for (name, n) in run.cache_ext.iter().flat_map(CacheExtReport::named) {
            all.push(("cache_ext", name, n as f64, true));
        }
    }
    all
}

/// All values that every run has, those that moved most in front, then those within noise,
/// then the others; equals in the order of the report.
pub(super) fn values(
    group: &[(&RunReport, &RunReport)],
    scopes: &[(u64, Scope<'_>, Scope<'_>)],
    options: Options<'_>,
) -> Vec<Row> {
    let counted = |name: &&str| {
        scopes.iter().any(|(_, a, b)| [a, b].iter().any(|s| s.sizes.get(name).is_some()))
    };
    let sizes: Vec<&str> = SizeEvent::names().iter().map(String::as_str).filter(counted).collect();
    let sides: Vec<(Vec<Value>, Vec<Value>)> = group
        .iter()
        .zip(scopes)
        .map(|((a, b), (_, of_a, of_b))| {
            (of_run(a, of_a, &sizes, options), of_run(b, of_b, &sizes, options))
        })
        .collect();
    let Some(((first, _), (_, scope, _))) = sides.first().zip(scopes.first()) else {
        return Vec::new();
    };
    let scaled = |v: &Value, s: &Scope<'_>| match options.per_work && v.3 {
        true => v.2 * 1e3 / work(s),
        false => v.2,
    };
    let of_name = |(i, v): (usize, &Value)| {
        let pair = |((a, b), (seed, of_a, of_b)): (&(Vec<Value>, Vec<Value>), &(_, _, _))| {
            // Runs of the same mmsim have the same values in the same places.
            let same = |w: &&Value| w.0 == v.0 && w.1 == v.1;
            let find = |all: &[Value], s| {
                let at = all.get(i).filter(same).or_else(|| all.iter().find(same))?;
                Some(scaled(at, s)).filter(|v| v.is_finite())
            };
            Some((*seed, find(a, of_a)?, find(b, of_b)?))
        };
        let pairs: Vec<_> = sides.iter().zip(scopes).map(pair).collect::<Option<_>>()?;
        let floor = if options.per_work && v.3 { FLOOR * 1e3 / work(scope) } else { FLOOR };
        row(v.0, v.1.clone(), &pairs, floor)
    };
    let mut rows: Vec<Row> = first.iter().enumerate().filter_map(of_name).collect();
    let rank = |m: Moved| match m {
        Moved::Up | Moved::Down => 0,
        Moved::WithinNoise => 1,
        Moved::No => 2,
    };
    rows.sort_by(|x, y| {
        rank(x.moved).cmp(&rank(y.moved)).then(y.movement().total_cmp(&x.movement()))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(u64, f64, f64)]) -> Row {
        row("vmstat", "x".into(), pairs, FLOOR).unwrap()
    }

    fn pct(row: &Row) -> Option<f64> {
        row.change.map(|c| c.mean)
    }

    #[test]
    fn movement_by_hand() {
        // (200 + 100) / (100 + 100) = 1.5, up and down alike.
        let up = of(&[(1, 100.0, 200.0)]);
        assert_eq!((up.movement(), pct(&up), up.moved), (50.0, Some(100.0), Moved::Up));
        let down = of(&[(1, 200.0, 100.0)]);
        assert_eq!((down.movement(), pct(&down)), (50.0, Some(-50.0)));
        assert_eq!(down.moved, Moved::Down);
        // From nothing: no percentage, but a size. (100 + 100) / 100 = 2.
        let new = of(&[(1, 0.0, 100.0)]);
        assert_eq!((new.movement(), pct(&new), new.moved), (100.0, None, Moved::Up));
        // 106 / 103.
        assert!((of(&[(1, 3.0, 6.0)]).movement() - 300.0 / 103.0).abs() < 1e-9);
    }

    #[test]
    fn noise_by_hand() {
        // Changes +10 %, -10 %: mean 0.
        let row = of(&[(1, 100.0, 110.0), (2, 100.0, 90.0)]);
        assert_eq!((row.moved, row.difference.mean), (Moved::WithinNoise, 0.0));
        // Changes 4, 6, 8 %: mean 6, s = 2, half width 4.303 * 2 / sqrt(3) = 4.969: moved.
        let row = of(&[(1, 100.0, 104.0), (2, 100.0, 106.0), (3, 100.0, 108.0)]);
        assert!((row.change.unwrap().ci95.unwrap() - 4.303 * 2.0 / 3f64.sqrt()).abs() < 1e-9);
        assert_eq!(row.moved, Moved::Up);
        // 2, 6, 10 %: s = 4, half width 9.94: it may be nothing.
        let row = of(&[(1, 100.0, 102.0), (2, 100.0, 106.0), (3, 100.0, 110.0)]);
        assert_eq!(row.moved, Moved::WithinNoise);
        assert_eq!(of(&[(1, 5.0, 5.0), (2, 7.0, 7.0)]).moved, Moved::No);
        // From zero in one pair: differences 0 and 50, mean 25, half width 12.706 * 25.
        let row = of(&[(1, 0.0, 50.0), (2, 10.0, 10.0)]);
        assert_eq!((pct(&row), row.moved), (None, Moved::WithinNoise));
    }
}
