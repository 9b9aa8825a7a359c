//! Which pages a fragmentation machine keeps: any, those that the fragmenter of 2015 leaves, or
//! runs of frames in address order.
//!
//! The fragmenter of 2015 (repository JoonsooKim/benchmarks, kernel patch 0004) has its pages in a
//! list in the order of their allocation, which it turns by 0 to 511 entries before it frees the
//! one that it has come to: over a long list that is nearly a choice at random.

use super::Held;
use mmsim_core::base::rng::Rng;

/// Entries by which the fragmenter of 2015 turns its list, at most.
const TURN: u64 = 511;

/// Pages that stay, and those that are freed with the next last.
pub(super) type Divided = (Vec<Held>, Vec<Held>);

/// Frees `n` pages, all equally likely.
pub(super) fn uniform(mut held: Vec<Held>, n: usize, rng: &mut Rng) -> Divided {
    for i in 0..n {
        let j = i + rng.below((held.len() - i) as u64) as usize;
        held.swap(i, j);
    }
    let kept = held.split_off(n);
    (kept, held)
}

/// Frees `n` pages: before each the list is turned by 0 to [`TURN`] entries.
pub(super) fn rotate(held: Vec<Held>, n: usize, rng: &mut Rng) -> Divided {
    let mut next: Vec<usize> = (1..=held.len()).collect();
    if let Some(last) = next.last_mut() {
        *last = 0;
    }
    let mut freed = Vec::with_capacity(n);
    let mut is_freed = vec![false; held.len()];
    let mut before = held.len().saturating_sub(1);
    for _ in 0..n {
        for _ in 0..rng.below(TURN + 1) {
            before = next[before];
        }
        let at = next[before];
        next[before] = next[at];
        is_freed[at] = true;
        freed.push(held[at]);
    }
    freed.reverse();
    let kept = held.iter().zip(is_freed).filter(|(_, f)| !f).map(|(h, _)| *h).collect();
    (kept, freed)
}

/// Keeps runs of frames in address order; gaps are geometric, of such a mean that the share that
/// stays comes out on average. What is freed is freed in random order.
pub(super) fn runs(
    mut held: Vec<Held>,
    keep_permille: u32,
    rng: &mut Rng,
    length: impl Fn(&mut Rng) -> u64,
    mean: u32,
) -> Divided {
    held.sort_by_key(|h| h.pfn);
    match keep_permille {
        0 => return (Vec::new(), held),
        1000 => return (held, Vec::new()),
        _ => {}
    }
    let share = f64::from(keep_permille) / 1000.0;
    let gap = f64::from(mean) * (1.0 - share) / share;
    let (mut kept, mut freed) = (Vec::new(), Vec::new());
    // A gap may be shorter than one page on average; then some runs follow one another at once.
    let mut keeping = rng.below(1000) < u64::from(keep_permille);
    let mut left = 0;
    for h in held {
        while left == 0 {
            keeping = !keeping;
            left = if keeping { length(rng) } else { geometric_from_0(gap, rng) };
        }
        left -= 1;
        if keeping { kept.push(h) } else { freed.push(h) }
    }
    rng.shuffle(&mut freed);
    (kept, freed)
}

/// A number from 1 up with this mean.
pub(super) fn geometric(mean: f64, rng: &mut Rng) -> u64 {
    1 + geometric_from_0(mean - 1.0, rng)
}

/// A number from 0 up with this mean.
fn geometric_from_0(mean: f64, rng: &mut Rng) -> u64 {
    if mean <= 0.0 {
        return 0;
    }
    // The inverse of the distribution function; the argument of the logarithm is never 0.
    let u = 1.0 - rng.unit();
    (u.ln() / (mean / (1.0 + mean)).ln()) as u64
}
