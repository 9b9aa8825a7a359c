//! New settings from old ones: simulated binary crossover and polynomial mutation (Deb and Agrawal,
//! 1995), on coordinates in [0, 1).
//!
//! A coordinate of a range is the place of a value on its scale, so a logarithmic knob is crossed in
//! ratios. Values that are words have no order: a child has that of one parent, or any.
//!
//! Both distributions have indices of which roots are square roots of square roots. These are
//! rounded alike everywhere, other powers are not, and a search has to be the same on each machine.

use mmsim_core::base::rng::Rng;

/// Closeness of a child of two parents to one of them: index 7 of the crossover, an eighth root.
const CROSSOVER_ROOTS: u32 = 3;
/// Closeness of a mutant to its original: index 15 of the mutation, a sixteenth root.
const MUTATION_ROOTS: u32 = 4;
/// Crossings of two parents among all.
const CROSSED: f64 = 0.9;
/// The largest coordinate.
const LAST: f64 = 1.0 - f64::EPSILON;

fn root(x: f64, times: u32) -> f64 {
    (0..times).fold(x, |x, _| x.sqrt())
}

/// A child of two parents. `ordered`: of each coordinate whether neighbours are alike.
pub fn child(rng: &mut Rng, parents: [&[f64]; 2], ordered: &[bool]) -> Vec<f64> {
    let crossed = rng.unit() < CROSSED;
    let mut genes = parents[0].to_vec();
    for (i, gene) in genes.iter_mut().enumerate() {
        if !crossed || rng.unit() < 0.5 {
            continue;
        }
        let (a, b) = (parents[0][i], parents[1][i]);
        *gene = match ordered[i] {
            false => b,
            true => {
                let u = rng.unit();
                let spread = match u <= 0.5 {
                    true => root(2.0 * u, CROSSOVER_ROOTS),
                    false => root(1.0 / (2.0 * (1.0 - u)), CROSSOVER_ROOTS),
                };
                // Either of the two children that the crossover has.
                let sign = if rng.unit() < 0.5 { 1.0 } else { -1.0 };
                0.5 * (a + b + sign * spread * (a - b))
            }
        };
    }
    mutate(rng, &mut genes, ordered);
    genes
}

/// Changes one coordinate on average.
fn mutate(rng: &mut Rng, genes: &mut [f64], ordered: &[bool]) {
    let share = 1.0 / genes.len() as f64;
    for (gene, ordered) in genes.iter_mut().zip(ordered) {
        if rng.unit() < share {
            let u = rng.unit();
            *gene = match (*ordered, u < 0.5) {
                (false, _) => u,
                (true, true) => *gene + root(2.0 * u, MUTATION_ROOTS) - 1.0,
                (true, false) => *gene + 1.0 - root(2.0 * (1.0 - u), MUTATION_ROOTS),
            };
        }
        *gene = gene.clamp(0.0, LAST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Children of equal parents are mutants, whose mean is what they were; crossed ones keep the
    /// mean of their parents. Words come from a parent or from anywhere.
    #[test]
    fn children_stay_near_and_have_the_mean_of_their_parents() {
        let mut rng = Rng::for_purpose(1, "test");
        let n = 20_000;
        let (mut sum, mut near, mut words) = (0.0, 0, 0);
        for _ in 0..n {
            let one = child(&mut rng, [&[0.4, 0.1], &[0.6, 0.9]], &[true, false]);
            assert!(one.iter().all(|x| (0.0..1.0).contains(x)), "{one:?}");
            sum += one[0];
            near += i32::from((one[0] - 0.4).abs() < 0.05 || (one[0] - 0.6).abs() < 0.05);
            words += i32::from(one[1] == 0.1 || one[1] == 0.9);
        }
        // A first parent's child is crossed in 45 of 100 cases, and then has either's place.
        let mean = sum / f64::from(n);
        assert!((mean - 0.445).abs() < 0.01, "{mean}");
        assert!(near > n * 6 / 10, "{near}");
        assert!((n * 45 / 100..n * 55 / 100).contains(&words), "{words}");
    }
}
