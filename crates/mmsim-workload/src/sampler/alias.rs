//! Alias tables (Walker; construction by Vose): one look-up per draw from any law over
//! few outcomes.
//!
//! The unit interval is cut into n equal slots. Slot i belongs to outcome i up to its
//! threshold and to one other outcome, its alias, beyond; the construction moves the
//! excess of likely outcomes into the slots of unlikely ones. A draw multiplies 64
//! random bits by n: the high word is the slot, the low word the position within it.

use mmsim_core::base::rng::Rng;

/// A slot before it is packed: the share that stays with it, and its alias.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// Share of the slot that is its own outcome, 0 to 1.
    pub(super) own: f64,
    /// Outcome of the rest; itself if there is no rest.
    pub(super) alias: u32,
}

/// Vose's construction over weights of any scale.
pub(super) fn slots(weights: &[f64]) -> Vec<Slot> {
    let n = weights.len();
    let scale = n as f64 / weights.iter().sum::<f64>();
    let mut mass: Vec<f64> = weights.iter().map(|w| w * scale).collect();
    let mut table: Vec<Slot> = (0..n).map(|i| Slot { own: 1.0, alias: i as u32 }).collect();
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for (i, &m) in mass.iter().enumerate() {
        if m < 1.0 { small.push(i) } else { large.push(i) }
    }
    while let (Some(&s), Some(&l)) = (small.last(), large.last()) {
        small.pop();
        table[s] = Slot { own: mass[s], alias: l as u32 };
        mass[l] -= 1.0 - mass[s];
        if mass[l] < 1.0 {
            large.pop();
            small.push(l);
        }
    }
    // What is left on either list differs from 1 by rounding only: it keeps its slot whole.
    table
}

/// An alias table of at most 2^16 outcomes in 8 bytes each: 48 bits of threshold, 16
/// bits of alias. A probability is off by at most 2^-48 of a slot.
#[derive(Clone, Debug)]
pub(super) struct AliasTable(Vec<u64>);

/// Most outcomes of an [`AliasTable`].
pub(super) const MAX_OUTCOMES: usize = 1 << 16;

impl AliasTable {
    /// A table over the weights of outcomes 0, 1, ...
    pub(super) fn new(weights: &[f64]) -> Self {
        assert!(!weights.is_empty() && weights.len() <= MAX_OUTCOMES);
        let pack = |s: Slot| {
            let threshold = (s.own * (1u64 << 48) as f64) as u64;
            threshold.min((1 << 48) - 1) << 16 | u64::from(s.alias)
        };
        AliasTable(slots(weights).into_iter().map(pack).collect())
    }
    /// One outcome.
    #[inline(always)]
    pub(super) fn sample(&self, rng: &mut Rng) -> u32 {
        let m = u128::from(rng.next_u64()) * self.0.len() as u128;
        let (slot, position) = ((m >> 64) as usize, m as u64);
        let e = self.0[slot];
        if position >> 16 < e >> 16 { slot as u32 } else { (e & 0xffff) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adding up every slot gives back the law.
    #[test]
    fn slots_add_up_to_the_weights() {
        let weights = [5.0, 1.0, 0.0, 2.0, 0.25, 7.75];
        let table = slots(&weights);
        let mut mass = [0.0; 6];
        for (i, s) in table.iter().enumerate() {
            mass[i] += s.own;
            mass[s.alias as usize] += 1.0 - s.own;
        }
        let scale = 6.0 / weights.iter().sum::<f64>();
        for (m, w) in mass.iter().zip(weights) {
            assert!((m - w * scale).abs() < 1e-12, "{m} for weight {w}");
        }
    }

    #[test]
    fn single_outcome() {
        let mut rng = Rng::for_purpose(1, "alias");
        assert_eq!(AliasTable::new(&[3.0]).sample(&mut rng), 0);
    }
}
