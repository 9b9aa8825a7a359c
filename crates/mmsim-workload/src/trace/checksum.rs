//! The digest of a block: 64 bits, made to notice accidents, not forgers.
//!
//! Four lanes start at a constant, lane `l` with `l` added by exclusive or. A part is taken
//! as words of 8 bytes, little-endian, the last one padded with zeros; word `i` of a part
//! goes to lane `i mod 4`: `h = rotate_left((h ^ w) * M, 29)`. The length of the part in
//! bytes follows as a word for lane 0, so that padding cannot hide a lost zero. At the end
//! the lanes go one after the other, as words, into a fifth state. All steps are bijections
//! of the state, hence a change confined to one word always changes the digest; and four
//! lanes do not wait for one another's multiplications. This is part of the file format:
//! the constants must never change.

use std::io::{self, Read};

const START: u64 = 0x6d6d_745f_626c_6f63;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn step(h: u64, w: u64) -> u64 {
    (h ^ w).wrapping_mul(MULTIPLIER).rotate_left(29)
}

/// A digest of parts that come one after the other, each of known length.
struct Digest([u64; 4]);

impl Digest {
    fn new() -> Self {
        Digest([START, START ^ 1, START ^ 2, START ^ 3])
    }

    fn add(&mut self, part: &[u8]) {
        let lanes = &mut self.0;
        let (groups, rest) = part.as_chunks::<32>();
        for group in groups {
            let (words, _) = group.as_chunks::<8>();
            for (lane, word) in lanes.iter_mut().zip(words) {
                *lane = step(*lane, u64::from_le_bytes(*word));
            }
        }
        for (lane, bytes) in lanes.iter_mut().zip(rest.chunks(8)) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            *lane = step(*lane, u64::from_le_bytes(word));
        }
        lanes[0] = step(lanes[0], part.len() as u64);
    }

    fn end(self) -> u64 {
        let h = self.0.into_iter().fold(START, step);
        h ^ (h >> 31)
    }
}

/// The digest of some parts, as if they were one string of bytes each of known length.
pub(super) fn digest(parts: &[&[u8]]) -> u64 {
    let mut digest = Digest::new();
    parts.iter().for_each(|part| digest.add(part));
    digest.end()
}

/// The length of what a reader has, in bytes, and its digest: that of its parts of a MiB. Two files
/// that differ by accident have different ones.
///
/// # Errors
/// The reader's.
pub fn contents(mut reader: impl Read) -> io::Result<(u64, u64)> {
    const PART: u64 = 1 << 20;
    let (mut digest, mut part, mut length) = (Digest::new(), Vec::new(), 0);
    loop {
        part.clear();
        reader.by_ref().take(PART).read_to_end(&mut part)?;
        if part.is_empty() {
            return Ok((length, digest.end()));
        }
        digest.add(&part);
        length += part.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::{contents, digest};

    #[test]
    fn contents_are_taken_in_parts() {
        let bytes: Vec<u8> = (0..(2 << 20) + 77_u32).map(|i| (i * 7 % 251) as u8).collect();
        let parts: Vec<&[u8]> = bytes.chunks(1 << 20).collect();
        assert_eq!(parts.len(), 3);
        let expected = (bytes.len() as u64, digest(&parts));
        assert_eq!(contents(&bytes[..]).unwrap(), expected);
        // However the reader hands them out.
        let (a, b) = bytes.split_at(777);
        assert_eq!(contents(std::io::Read::chain(a, b)).unwrap(), expected);
        assert_eq!(contents(&b""[..]).unwrap(), (0, digest(&[])));
    }

    /// The format's digests must not drift: these values are those of `docs/dev/trace-format.md`,
    /// computed apart from this program.
    #[test]
    fn the_values_of_the_document() {
        assert_eq!(format!("{:016x}", digest(&[b""])), "bda34df645efda43");
        assert_eq!(format!("{:016x}", digest(&[b"page trace"])), "6d0a58bab954a66e");
        let bytes: Vec<u8> = (0..64).collect();
        assert_eq!(format!("{:016x}", digest(&[&bytes, b"xyz"])), "9980c6cba9c8cab5");
    }

    #[test]
    fn every_single_byte_counts() {
        for length in [1, 19, 32, 100] {
            let text: Vec<u8> = (0..length).map(|i| b'0' + i as u8).collect();
            let whole = digest(&[&text]);
            for i in 0..text.len() {
                let mut other = text.clone();
                other[i] ^= 0x40;
                assert_ne!(digest(&[&other]), whole, "byte {i} of {length}");
            }
        }
        assert_ne!(digest(&[b"ab\0"]), digest(&[b"ab"]));
        assert_ne!(digest(&[b"ab", b"c"]), digest(&[b"a", b"bc"]));
    }
}
