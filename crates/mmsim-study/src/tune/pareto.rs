//! Fronts: who is better than whom, and how much of a space a set of points is better than.
//!
//! Values are minimized here; a figure that is to be large comes with its sign changed. Ranks and
//! crowding are those of NSGA-II (Deb and others, 2002), with its rule for constraints: what keeps
//! them is better than what breaks them, and of two that break them the one that breaks them less.

/// A setting among others.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Values that are minimized.
    pub values: Vec<f64>,
    /// By how much constraints are broken; 0: all are kept.
    pub violation: f64,
}

impl Point {
    /// True if this is better than the other: no worse in anything, and better in something.
    pub fn dominates(&self, other: &Point) -> bool {
        if self.violation > 0.0 || other.violation > 0.0 {
            return self.violation < other.violation;
        }
        let pairs = || self.values.iter().zip(&other.values);
        pairs().all(|(a, b)| a <= b) && pairs().any(|(a, b)| a < b)
    }
}

/// The front that each point is of, from 0. Of equal points those after the first count as worse: a
/// search gains nothing by keeping them.
pub fn ranks(points: &[Point]) -> Vec<usize> {
    let n = points.len();
    let better =
        |a: usize, b: usize| points[a].dominates(&points[b]) || (a < b && points[a] == points[b]);
    let mut above = vec![0_usize; n];
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
        if a != b && better(a, b) {
            above[b] += 1;
            below[a].push(b);
        }
    }
    let mut ranks = vec![usize::MAX; n];
    let mut front: Vec<usize> = (0..n).filter(|&i| above[i] == 0).collect();
    let mut rank = 0;
    while !front.is_empty() {
        let mut next = Vec::new();
        for &a in &front {
            ranks[a] = rank;
            for &b in &below[a] {
                above[b] -= 1;
                if above[b] == 0 {
                    next.push(b);
                }
            }
        }
        (front, rank) = (next, rank + 1);
    }
    ranks
}

/// Distance of the neighbours of each point, within one front: the ends are infinitely far.
pub fn crowding(points: &[&Point]) -> Vec<f64> {
    let n = points.len();
    let mut distance = vec![0.0; n];
    for m in 0..points.first().map_or(0, |p| p.values.len()) {
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| points[a].values[m].total_cmp(&points[b].values[m]).then(a.cmp(&b)));
        let of = |i: usize| points[order[i]].values[m];
        let span = of(n - 1) - of(0);
        distance[order[0]] = f64::INFINITY;
        distance[order[n - 1]] = f64::INFINITY;
        if span > 0.0 {
            for i in 1..n - 1 {
                distance[order[i]] += (of(i + 1) - of(i - 1)) / span;
            }
        }
    }
    distance
}

/// The volume that points are better than, up to the reference point. A point that is not better
/// than the reference in everything adds nothing.
///
/// Exact: the space is cut at each value of the last objective, and each slice is a volume with one
/// objective less.
pub fn hypervolume(points: &[Vec<f64>], reference: &[f64]) -> f64 {
    let inside = |p: &&Vec<f64>| p.iter().zip(reference).all(|(v, r)| v < r);
    let mut kept: Vec<Vec<f64>> = points.iter().filter(inside).cloned().collect();
    let Some(last) = reference.len().checked_sub(1) else { return 0.0 };
    if last == 0 {
        let best = kept.iter().map(|p| p[0]).fold(reference[0], f64::min);
        return reference[0] - best;
    }
    kept.sort_by(|a, b| a[last].total_cmp(&b[last]));
    let mut volume = 0.0;
    let mut slice: Vec<Vec<f64>> = Vec::new();
    for (i, point) in kept.iter().enumerate() {
        slice.push(point[..last].to_vec());
        let end = kept.get(i + 1).map_or(reference[last], |next| next[last]);
        if end > point[last] {
            volume += (end - point[last]) * hypervolume(&slice, &reference[..last]);
        }
    }
    volume
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(all: &[(f64, f64)]) -> Vec<Point> {
        all.iter().map(|&(a, b)| Point { values: vec![a, b], violation: 0.0 }).collect()
    }

    /// Three on the front, one behind two of them, one behind all, and one equal to the first.
    #[test]
    fn ranks_by_hand() {
        let all = points(&[(1.0, 5.0), (3.0, 3.0), (5.0, 1.0), (4.0, 4.0), (6.0, 6.0), (1.0, 5.0)]);
        assert_eq!(ranks(&all), [0, 0, 0, 1, 2, 1]);
    }

    #[test]
    fn broken_constraints_come_last() {
        let mut all = points(&[(1.0, 1.0), (9.0, 9.0), (2.0, 2.0)]);
        (all[0].violation, all[2].violation) = (2.0, 1.0);
        assert_eq!(ranks(&all), [2, 0, 1]);
    }

    /// As in the paper: half the circumference of the box between the neighbours, each side over
    /// the span of its objective.
    #[test]
    fn crowding_by_hand() {
        let all = points(&[(0.0, 8.0), (1.0, 4.0), (4.0, 0.0)]);
        let of = crowding(&all.iter().collect::<Vec<_>>());
        assert_eq!(of, [f64::INFINITY, 4.0 / 4.0 + 8.0 / 8.0, f64::INFINITY]);
        assert_eq!(crowding(&[]), Vec::<f64>::new());
    }

    /// Two steps of stairs: 4 by 1, then 2 by 2 below; and a corner of a cube taken twice.
    #[test]
    fn volumes_by_hand() {
        let stairs = [vec![1.0, 4.0], vec![3.0, 2.0], vec![9.0, 0.0], vec![2.0, 4.5]];
        assert_eq!(hypervolume(&stairs, &[5.0, 5.0]), 4.0 + 4.0);
        let cubes = [vec![0.0, 1.0, 1.0], vec![1.0, 0.0, 1.0], vec![1.0, 1.0, 0.0]];
        assert_eq!(hypervolume(&cubes, &[2.0, 2.0, 2.0]), 1.0 + 3.0);
        assert_eq!(hypervolume(&[], &[1.0, 1.0]), 0.0);
    }

    proptest! {
        /// On a grid of small numbers the volume is the count of cells that some point is below.
        #[test]
        fn volumes_are_counted_cells(
            all in prop::collection::vec(prop::collection::vec(0_u8..6, 3), 0..8),
        ) {
            let as_floats = |p: &Vec<u8>| p.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
            let floats: Vec<Vec<f64>> = all.iter().map(as_floats).collect();
            let mut cells = 0;
            for cell in 0..125_u8 {
                let at = [cell / 25, cell / 5 % 5, cell % 5];
                cells += u32::from(all.iter().any(|p| p.iter().zip(at).all(|(&v, c)| v <= c)));
            }
            prop_assert_eq!(hypervolume(&floats, &[5.0; 3]), f64::from(cells));
        }

        /// Each point of a front is dominated by one of the front before it, and by none of its own
        /// or a later one.
        #[test]
        fn fronts_are_fronts(
            all in prop::collection::vec((0_u8..6, 0_u8..6, 0_u8..2), 1..30),
        ) {
            let point = |&(a, b, v): &(u8, u8, u8)| Point {
                values: vec![f64::from(a), f64::from(b)],
                violation: f64::from(v),
            };
            let all: Vec<Point> = all.iter().map(point).collect();
            let ranks = ranks(&all);
            for (i, p) in all.iter().enumerate() {
                let worse_than = |j: usize| {
                    all[j].dominates(p) || (j < i && all[j] == *p)
                };
                let above = (0..all.len()).filter(|&j| worse_than(j)).map(|j| ranks[j]).max();
                prop_assert_eq!(ranks[i], above.map_or(0, |r| r + 1));
            }
        }
    }
}
