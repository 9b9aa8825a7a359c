//! Order of oomd's `kill_by_memory_size_or_growth`, 0.5.0.

/// The share of all siblings from which on a group is large (`size_threshold`), and the multiple of its
/// average from which on it grows (`growing_size_percentile`, `min_growth_ratio`).
const LARGE: f64 = 0.5;
const GROWS: f64 = 1.25;
const PERCENTILE: usize = 80;

/// Order of `kill_by_memory_size_or_growth`: positions of candidates, the first first. Keys are usage,
/// protection and the average of usage.
///
/// First groups of half of all, by what they use beyond their protection. Then those that grew and are
/// not small, by their growth. Then all others, by what they use beyond their protection.
pub(crate) fn size_or_growth(keys: &[Vec<f64>]) -> Vec<usize> {
    let effective = |i: usize| keys[i][0] - keys[i][1];
    let growth = |i: usize| if keys[i][2] > 0.0 { keys[i][0] / keys[i][2] } else { 0.0 };
    let all: f64 = keys.iter().map(|k| k[0]).sum();
    let mut by_size: Vec<usize> = (0..keys.len()).collect();
    by_size.sort_by(|&a, &b| effective(b).total_cmp(&effective(a)));
    let nth = (keys.len() * (100 - PERCENTILE)).div_ceil(100).saturating_sub(1);
    let least = by_size.get(nth).map_or(0.0, |&i| effective(i));
    let phase = |i: usize| match () {
        () if keys[i][0] >= all * LARGE => 0,
        () if growth(i) >= GROWS && effective(i) >= least => 1,
        () => 2,
    };
    let key = |i: usize| if phase(i) == 1 { growth(i) } else { effective(i) };
    by_size.sort_by(|&a, &b| phase(a).cmp(&phase(b)).then(key(b).total_cmp(&key(a))));
    by_size
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand. Of ten groups the bound of size is the second largest. One with half of all goes
    /// first whatever it did; without such a one the group that grew by a quarter and is the second
    /// largest goes before the largest; a small one that doubled does not.
    #[test]
    fn size_then_growth_then_size() {
        let of =
            |all: &[[f64; 3]]| size_or_growth(&all.iter().map(|k| k.to_vec()).collect::<Vec<_>>());
        let mut ten = vec![[30.0, 0.0, 30.0], [25.0, 0.0, 20.0], [2.0, 0.0, 1.0]];
        ten.extend((0..7).map(|i| [10.0 - f64::from(i) / 10.0, 0.0, 10.0]));
        assert_eq!(of(&ten)[..3], [1, 0, 3]);
        ten[0] = [200.0, 0.0, 200.0];
        assert_eq!(of(&ten)[..2], [0, 1]);
        // Protection counts: 40 of which 30 are protected are less than 20.
        assert_eq!(of(&[[20.0, 0.0, 20.0], [19.0, 18.0, 19.0], [10.0, 0.0, 10.0]]), [0, 2, 1]);
    }
}
