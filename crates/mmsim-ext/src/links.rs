//! Rings of numbers: doubly linked lists whose members are indices, so that one is taken out in
//! constant time and no list owns anything.

/// The next and the previous member of each number. A number alone is a ring of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links(Vec<[u32; 2]>);

impl Links {
    /// Makes room for the numbers below `n`, each alone.
    pub(crate) fn grow(&mut self, n: u32) {
        let old = self.0.len() as u32;
        self.0.extend((old..n).map(|i| [i, i]));
    }

    pub(crate) fn next(&self, i: u32) -> u32 {
        self.0[i as usize][0]
    }

    /// Takes `i` out of its ring; it is alone then.
    pub(crate) fn take(&mut self, i: u32) {
        let [next, before] = std::mem::replace(&mut self.0[i as usize], [i, i]);
        self.0[next as usize][1] = before;
        self.0[before as usize][0] = next;
    }

    /// Puts `i`, which is alone, between `at` and its successor.
    pub(crate) fn put_after(&mut self, at: u32, i: u32) {
        let next = self.next(at);
        self.0[i as usize] = [next, at];
        self.0[next as usize][1] = i;
        self.0[at as usize][0] = i;
    }

    /// Puts `i`, which is alone, between `at` and its predecessor.
    pub(crate) fn put_before(&mut self, at: u32, i: u32) {
        let before = self.0[at as usize][1];
        self.put_after(before, i);
    }
}
