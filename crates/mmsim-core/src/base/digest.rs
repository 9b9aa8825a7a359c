//! Digests of state: a 64-bit fingerprint that is equal exactly when two runs went the
//! same way. Not cryptographic.

/// An order-dependent 64-bit digest.
#[derive(Clone, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0x6d6d_7369_6d00_0001)
    }
}

impl Digest {
    /// A digest of nothing.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds one word.
    #[inline]
    pub fn word(&mut self, w: u64) {
        self.0 = (self.0 ^ w).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }
    /// Adds text.
    pub fn text(&mut self, s: &str) {
        self.word(s.len() as u64);
        for b in s.bytes() {
            self.word(u64::from(b));
        }
    }
    /// Adds many words.
    pub fn words(&mut self, ws: impl IntoIterator<Item = u64>) {
        for w in ws {
            self.word(w);
        }
    }
    /// The digest so far.
    pub fn finish(&self) -> u64 {
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z ^ (z >> 31)
    }
}
