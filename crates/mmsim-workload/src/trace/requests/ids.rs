//! Numbers for names: the n-th new name gets number n.
//!
//! Names below [`SMALL`] go through a table, all others through open addressing with
//! linear probing. Which number a name gets depends on the order of the names alone, never
//! on a hash, so no seed is needed and nothing here can decide a result.

/// Names below have a place of their own.
const SMALL: u64 = 1 << 25;

/// The numbers given so far.
#[derive(Default)]
pub(in crate::trace) struct Ids {
    /// Number plus one, by name; 0: none yet.
    small: Vec<u32>,
    /// Name, and number plus one; a power of two of them, at most half in use.
    large: Vec<(u64, u32)>,
    nr_large: usize,
    count: u32,
}

impl Ids {
    /// Number of names.
    pub(in crate::trace) fn count(&self) -> u32 {
        self.count
    }

    /// The number of a name; a new name gets the next one.
    #[inline]
    pub(in crate::trace) fn number(&mut self, id: u64) -> u32 {
        let place = if id < SMALL {
            let i = id as usize;
            if i >= self.small.len() {
                self.small.resize((i + 1).next_power_of_two(), 0);
            }
            &mut self.small[i]
        } else {
            if 2 * self.nr_large >= self.large.len() {
                self.grow();
            }
            let at = slot_of(&self.large, id);
            let entry = &mut self.large[at];
            self.nr_large += usize::from(entry.1 == 0);
            entry.0 = id;
            &mut entry.1
        };
        if *place == 0 {
            self.count += 1;
            *place = self.count;
        }
        *place - 1
    }

    fn grow(&mut self) {
        let size = (2 * self.large.len()).max(1 << 12);
        let old = std::mem::replace(&mut self.large, vec![(0, 0); size]);
        for entry in old.into_iter().filter(|e| e.1 != 0) {
            let at = slot_of(&self.large, entry.0);
            self.large[at] = entry;
        }
    }
}

/// Where a name is, or the free slot where it would go.
#[inline]
fn slot_of(table: &[(u64, u32)], id: u64) -> usize {
    let mask = table.len() - 1;
    let mixed = (id ^ (id >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut at = (mixed >> 32) as usize & mask;
    while table[at].1 != 0 && table[at].0 != id {
        at = (at + 1) & mask;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn names_are_numbered_as_they_appear() {
        let mut ids = Ids::default();
        let mut model = BTreeMap::new();
        let mut x = 1u64;
        for i in 0..100_000u64 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i);
            // Small and large names, neighbours, names that differ in high bits only, 0.
            let id = match i % 5 {
                0 => x >> 50,
                1 => x >> 45 << 45,
                2 => SMALL - 2 + (x >> 61),
                3 => x % 3_000,
                _ => u64::MAX - (x >> 52),
            };
            let next = model.len() as u32;
            let expected = *model.entry(id).or_insert(next);
            assert_eq!(ids.number(id), expected, "name {id:#x}");
        }
        assert_eq!(ids.count() as usize, model.len());
        assert!(model.len() > 10_000);
    }
}
