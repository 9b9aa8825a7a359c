//! Texts that name objects: each gets a number, in the order of first appearance.
//!
//! The texts themselves are kept, one after the other, so that two names are one only if
//! they are the same bytes. They are found by open addressing; where a text is looked for
//! decides nothing about its number.

/// The texts so far.
#[derive(Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    /// Where each text ends.
    ends: Vec<u64>,
    /// Number plus one; a power of two of them, at most half in use. 0: none yet.
    places: Vec<u32>,
}

impl Names {
    /// The number of a text; a new one gets the next. Nothing: there are 2^32 already.
    pub(super) fn number(&mut self, text: &[u8]) -> Option<u32> {
        if 2 * self.ends.len() >= self.places.len() {
            self.grow();
        }
        let at = self.place(text);
        if self.places[at] == 0 {
            self.bytes.extend_from_slice(text);
            self.ends.push(self.bytes.len() as u64);
            self.places[at] = u32::try_from(self.ends.len()).ok()?;
        }
        Some(self.places[at] - 1)
    }

    fn text(&self, number: u32) -> &[u8] {
        let i = number as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start as usize..self.ends[i] as usize]
    }

    /// Where a text is, or the free place where it would go.
    fn place(&self, text: &[u8]) -> usize {
        let mask = self.places.len() - 1;
        let mut at = scattered(text) as usize & mask;
        while self.places[at] != 0 && self.text(self.places[at] - 1) != text {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        self.places = vec![0; (2 * self.places.len()).max(1 << 10)];
        for number in 0..self.ends.len() as u32 {
            let at = self.place(self.text(number));
            self.places[at] = number + 1;
        }
    }
}

/// A number that spreads texts.
fn scattered(text: &[u8]) -> u64 {
    let mut h = text.len() as u64;
    for bytes in text.chunks(8) {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        h = (h ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    h ^ (h >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn texts_are_numbered_as_they_appear() {
        let (mut names, mut model) = (Names::default(), BTreeMap::new());
        for i in 0..50_000_u32 {
            let x = i.wrapping_mul(2_654_435_761) >> 15;
            let text = if x % 3 == 0 { format!("user:{x}") } else { "k".repeat(x as usize % 70) };
            let next = model.len() as u32;
            let expected = *model.entry(text.clone()).or_insert(next);
            assert_eq!(names.number(text.as_bytes()), Some(expected), "{text}");
        }
        assert!(model.len() > 10_000);
        assert_eq!(names.number(b""), model.get("").copied());
    }
}
