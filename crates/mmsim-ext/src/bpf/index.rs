//! Elements by key: a table of open addressing over keys of one size. The hash is the same on every
//! machine, and no order of the table decides anything.

/// A place of the table without an element.
const EMPTY: u32 = u32::MAX;

/// Elements by their keys.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// Bytes of a key.
    size: usize,
    /// The key of each element, one behind the other.
    keys: Vec<u8>,
    /// Elements; a power of two of places, at most half of them taken.
    table: Vec<u32>,
    used: usize,
}

impl Index {
    pub(crate) fn new(size: u64) -> Index {
        Index { size: size as usize, keys: Vec::new(), table: vec![EMPTY; 16], used: 0 }
    }

    /// The key of an element.
    pub(crate) fn key(&self, element: u32) -> &[u8] {
        let at = element as usize * self.size;
        &self.keys[at..at + self.size]
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        let element = self.table[self.place(key)];
        (element != EMPTY).then_some(element)
    }

    /// Gives an element a key that no other has.
    pub(crate) fn insert(&mut self, key: &[u8], element: u32) {
        if 2 * (self.used + 1) > self.table.len() {
            self.grow();
        }
        let at = element as usize * self.size;
        if self.keys.len() < at + self.size {
            self.keys.resize(at + self.size, 0);
        }
        self.keys[at..at + self.size].copy_from_slice(key);
        let place = self.place(key);
        self.table[place] = element;
        self.used += 1;
    }

    /// Takes the element of a key out.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<u32> {
        let mut hole = self.place(key);
        let element = std::mem::replace(&mut self.table[hole], EMPTY);
        if element == EMPTY {
            return None;
        }
        self.used -= 1;
        // Those behind it move up, unless that would put them before their first place.
        let mask = self.table.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let next = self.table[at];
            if next == EMPTY {
                return Some(element);
            }
            let first = hash(self.key(next)) as usize & mask;
            if (at.wrapping_sub(first) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.table[hole] = next;
                self.table[at] = EMPTY;
                hole = at;
            }
        }
    }

    /// The place of a key, or the empty one where it would be.
    fn place(&self, key: &[u8]) -> usize {
        let mask = self.table.len() - 1;
        let mut at = hash(key) as usize & mask;
        while self.table[at] != EMPTY && self.key(self.table[at]) != key {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let larger = vec![EMPTY; 2 * self.table.len()];
        for element in std::mem::replace(&mut self.table, larger) {
            if element != EMPTY {
                let place = self.place(self.key(element));
                self.table[place] = element;
            }
        }
    }
}

/// Multiplies and folds, eight bytes at a time.
fn hash(key: &[u8]) -> u64 {
    let mut hash = 0;
    for bytes in key.chunks(8) {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let wide = u128::from(hash ^ u64::from_le_bytes(word)) * 0x9e37_79b9_7f4a_7c15;
        hash = (wide >> 64) as u64 ^ wide as u64;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::base::rng::Rng;
    use std::collections::BTreeMap;

    /// A table and a map of the standard library do the same over random insertions and removals, of
    /// few keys, so that runs of the table are long.
    #[test]
    fn it_is_a_map() {
        for (size, keys, seed) in [(1, 200, 1), (8, 300, 2), (13, 60, 3), (24, 900, 4)] {
            let mut rng = Rng::for_purpose(seed, "index");
            let (mut index, mut twin) = (Index::new(size), BTreeMap::new());
            let mut free: Vec<u32> = (0..1000).collect();
            for _ in 0..20_000 {
                let mut key = vec![0; size as usize];
                let n = rng.below(keys);
                for (i, byte) in key.iter_mut().enumerate() {
                    *byte = if i < 8 { (n >> (8 * i)) as u8 } else { 7 };
                }
                assert_eq!(index.find(&key), twin.get(&key).copied());
                if rng.below(2) == 0 {
                    let gone = index.remove(&key);
                    assert_eq!(gone, twin.remove(&key));
                    free.extend(gone);
                } else if index.find(&key).is_none() {
                    let element = free.pop().expect("more elements than keys");
                    index.insert(&key, element);
                    assert_eq!(index.key(element), key);
                    twin.insert(key, element);
                }
                assert_eq!(index.len(), twin.len());
            }
        }
    }
}
