//! Points with more than one outcome: a few free pages more or less decide which.
//!
//! A mean over repetitions that gave 45, 45 and 102 blocks is no figure to compare with. Such a
//! point is replayed with its floor of free memory moved by -120 to 120 pages, and the share of
//! replays near each recorded outcome stands beside the share of the repetitions. Shares of three
//! repetitions say little, but that there are two outcomes says much: each of them has to occur, and
//! little may lie between. A point that was recorded more often is replayed as it was recorded, and its
//! shares say more.

use std::convert::Infallible;

use mmsim::Runner;

use super::machine::machine;
use super::point::{Experiment, Point};
use super::{Replay, further};
use crate::validate::document::{Near, OutcomeRow};

/// Commands and results of which several outcomes are known.
const RETURNED: [(&str, &str); 3] = [("hugepool", "got"), ("thp", "got"), ("pring", "contiguous")];
/// Replays of a point with three repetitions, and pages between two of them.
const OFFSETS: usize = 41;
const STEP: i64 = 6;
/// Outcomes differ if the larger is more than this multiple of the smaller.
const APART: f64 = 1.5;
/// Where counts are smaller than this everywhere, a difference says little.
const FEW: f64 = 5.0;
/// A replay is near an outcome within this share of it.
const CLOSE: f64 = 0.15;
/// So large a share of the replays may lie between outcomes and near none.
pub const BETWEEN: f64 = 0.1;

/// Results of three repetitions, from their mean, smallest and largest.
fn values_of_three([mean, min, max]: [f64; 3]) -> Vec<f64> {
    // Means were rounded to a tenth; the values are whole.
    vec![min, (3.0 * mean - min - max).round().clamp(min, max), max]
}

/// The recorded outcomes: values in groups, ascending, if there is more than one group.
fn outcomes(mut values: Vec<f64>) -> Option<Vec<Vec<f64>>> {
    values.sort_unstable_by(f64::total_cmp);
    values.last().filter(|&&max| max >= FEW)?;
    let mut groups: Vec<Vec<f64>> = Vec::new();
    for value in values {
        match groups.last_mut() {
            Some(g) if value <= g[g.len() - 1] * APART => g.push(value),
            _ => groups.push(vec![value]),
        }
    }
    (groups.len() > 1).then_some(groups)
}

/// The point with its floor moved. Its repetitions differ as recorded in the pages of the program, which decide
/// where in an aligned group of frames a region begins.
fn moved(p: &Point, offset: i64) -> Option<Point> {
    let mut q = p.clone();
    let line = q.script.iter_mut().find(|l| l.starts_with("grow "))?;
    let (before, floor) = line.rsplit_once(' ')?;
    *line = format!("{before} {}", floor.parse::<i64>().ok()?.checked_add(offset)?.max(0));
    q.script_changes = Vec::new();
    Some(q)
}

/// Row of a point whose repetitions went apart, over the offsets.
pub(super) fn row(e: &Experiment, p: &Point, runner: &Runner<'_>) -> Option<OutcomeRow> {
    let phase = p.phases.iter().position(|x| x.phase == "asked")?;
    let (command, key) = RETURNED.into_iter().find(|(c, k)| p.result(c, k).is_some())?;
    let each = p.result_each(command, key);
    let (recorded, replayed) = match (each, p.repetitions) {
        (Some(each), _) => (each, (0..p.repetitions).map(|r| (p.clone(), r)).collect()),
        (None, 3) => {
            let at = |i: usize| {
                let offset = (i as i64 - OFFSETS as i64 / 2) * STEP;
                Some((moved(p, offset)?, i % p.repetitions))
            };
            let moved: Option<Vec<_>> = (0..OFFSETS).map(at).collect();
            (values_of_three(p.result(command, key)?), moved?)
        }
        (None, _) => return None,
    };
    let groups = outcomes(recorded)?;
    let name = format!("result.{command}.{key}");
    let replay = |_: usize, (q, repetition): &(Point, usize)| -> Result<Option<f64>, Infallible> {
        let Ok(machine) = machine(q, *repetition) else { return Ok(None) };
        let replay = Replay::run(q, machine);
        let rows = further(q, phase, std::slice::from_ref(&replay));
        Ok(rows.into_iter().find(|r| r.0 == name).map(|r| r.2))
    };
    let Ok(each) = runner.each(&replayed, replay);
    let simulated: Vec<f64> = each.into_iter().flatten().collect();
    let (near, between) = shares(&groups, &simulated);
    Some(OutcomeRow {
        experiment: e.experiment.clone(),
        point: p.id.clone(),
        counter: name,
        met: near.iter().all(|n| n.simulated > 0.0) && between <= BETWEEN,
        outcomes: near,
        between,
        simulated,
    })
}

/// Share of each outcome, and the share of the replays that lies between the smallest and the
/// largest and is near none.
fn shares(groups: &[Vec<f64>], simulated: &[f64]) -> (Vec<Near>, f64) {
    let share = |of: &dyn Fn(f64) -> bool| {
        let n = simulated.iter().filter(|&&s| of(s)).count();
        n as f64 / simulated.len().max(1) as f64
    };
    let ends = |g: &Vec<f64>| (g[0], g[g.len() - 1]);
    let is_near = |g: &Vec<f64>, s: f64| {
        let (from, to) = ends(g);
        (from * (1.0 - CLOSE)..=to * (1.0 + CLOSE)).contains(&s)
    };
    let repetitions: usize = groups.iter().map(Vec::len).sum();
    let near = |g: &Vec<f64>| {
        let (from, to) = ends(g);
        let recorded = g.len() as f64 / repetitions as f64;
        Near { from, to, recorded, simulated: share(&|s| is_near(g, s)) }
    };
    let (least, most) = (ends(&groups[0]).0, ends(&groups[groups.len() - 1]).1);
    let between = |s: f64| s > least && s < most && !groups.iter().any(|g| is_near(g, s));
    (groups.iter().map(near).collect(), share(&between))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_told_apart_by_their_mean_and_extremes() {
        let groups = |recorded| outcomes(values_of_three(recorded));
        assert_eq!(groups([64.0, 45.0, 102.0]), Some(vec![vec![45.0, 45.0], vec![102.0]]));
        assert_eq!(groups([29.0, 5.0, 41.0]), Some(vec![vec![5.0], vec![41.0, 41.0]]));
        assert_eq!(groups([9.7, 1.0, 26.0]), Some(vec![vec![1.0], vec![2.0], vec![26.0]]));
        assert_eq!(groups([42.3, 42.0, 43.0]), None, "one outcome");
        assert_eq!(groups([1.3, 1.0, 2.0]), None, "too few to tell");
        let many = outcomes(vec![98.0, 36.0, 99.0, 38.0, 37.0]);
        assert_eq!(many, Some(vec![vec![36.0, 37.0, 38.0], vec![98.0, 99.0]]));
    }

    /// In ten replays two are near 5, seven near 41, one is between; those beyond count as neither.
    #[test]
    fn outcomes_have_shares_and_so_has_what_lies_between() {
        let groups = [vec![5.0], vec![41.0, 41.0]];
        let ten = [5.0, 5.5, 36.0, 38.0, 41.0, 41.0, 45.0, 46.0, 47.0, 20.0];
        let (near, between) = shares(&groups, &ten);
        let of = |n: &Near| (n.from, n.to, n.simulated);
        assert_eq!(near.iter().map(of).collect::<Vec<_>>(), [(5.0, 5.0, 0.2), (41.0, 41.0, 0.7)]);
        assert_eq!((near[0].recorded * 3.0, near[1].recorded * 3.0), (1.0, 2.0));
        assert_eq!(between, 0.1);
        let beyond = [2.0, 60.0];
        assert_eq!(shares(&groups, &beyond).1, 0.0);
        // A range is near all along; what lies between two of three outcomes is between.
        let groups = [vec![10.0, 14.0], vec![30.0]];
        assert_eq!(shares(&groups, &[12.0, 16.0, 17.0, 25.0, 26.0]).1, 0.4);
    }
}
