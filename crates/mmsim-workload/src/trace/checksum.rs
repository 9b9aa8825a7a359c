//! The digest of a block: 64 bits, made to notice accidents, not forgers.
//!
//! State `h` starts at a constant. For every 8 bytes, taken as a little-endian word `w`,
//! `h = rotate_left((h ^ w) * M, 29)`; a last short word is padded with zeros; the number
//! of bytes follows as a word of its own, so that padding cannot hide a lost zero. Both
//! steps are bijections of `h`, hence a change confined to one word always changes the
//! digest. This is part of the file format: the constants must never change.

const START: u64 = 0x6d6d_745f_626c_6f63;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The digest of some parts, as if they were one string of bytes each of known length.
pub(super) fn digest(parts: &[&[u8]]) -> u64 {
    let mut h = START;
    let mut add = |w: u64| h = (h ^ w).wrapping_mul(MULTIPLIER).rotate_left(29);
    for part in parts {
        let (words, rest) = part.as_chunks::<8>();
        for word in words {
            add(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            add(u64::from_le_bytes(last));
        }
        add(part.len() as u64);
    }
    h ^ (h >> 31)
}

#[cfg(test)]
mod tests {
    use super::digest;

    /// The format's digests must not drift: these values are those of `docs/traces.md`.
    #[test]
    fn the_values_of_the_document() {
        assert_eq!(format!("{:016x}", digest(&[b""])), "9d0ee2e2d1bd0d33");
        assert_eq!(format!("{:016x}", digest(&[b"page trace"])), "de936811e9627ac3");
    }

    #[test]
    fn every_single_byte_counts() {
        let text = b"0123456789abcdefXYZ".to_vec();
        let whole = digest(&[&text]);
        for i in 0..text.len() {
            let mut other = text.clone();
            other[i] ^= 0x40;
            assert_ne!(digest(&[&other]), whole, "byte {i}");
        }
        assert_ne!(digest(&[b"ab\0"]), digest(&[b"ab"]));
    }
}
