//! The fast path through a field that looks as most do.
//!
//! Each function reads eight bytes at a time as one number and takes them apart with arithmetic on
//! all of them at once, so that neither time nor branches depend on how long a field is. The
//! contract is the same for all: `Some` is exactly what the slow path makes of these bytes; `None`
//! says nothing at all, not even that something is wrong. Then the long way looks, and only there
//! errors are made. `None` is also the answer near the end of a piece, where fewer than eight bytes
//! are left.

/// A byte in each of eight places.
const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

#[inline(always)]
fn eight(piece: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*piece.get(at..)?.first_chunk()?))
}

/// The decimal number of 1 to 15 digits at `at`, and where it ends: at anything but a digit.
#[inline(always)]
pub(super) fn number(piece: &[u8], at: usize) -> Option<(u64, usize)> {
    let (low, nr) = some_digits(eight(piece, at)?);
    if nr == 0 {
        return None;
    }
    let high = value(low << (64 - 8 * nr));
    if nr < 8 {
        return Some((high, at + nr));
    }
    let (low, nr) = some_digits(eight(piece, at + 8)?);
    match nr {
        0 => Some((high, at + 8)),
        1..8 => Some((high * POWERS[nr] + value(low << (64 - 8 * nr)), at + 8 + nr)),
        _ => None,
    }
}

/// Powers of ten.
pub(super) const POWERS: [u64; 10] = {
    let mut powers = [1; 10];
    let mut i = 1;
    while i < 10 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// The bytes less `0`, and how many of them are digits before the first that is not.
#[inline(always)]
fn some_digits(bytes: u64) -> (u64, usize) {
    let less = bytes ^ each(b'0');
    // A byte from 10 on reaches the top bit. What is carried into the next byte comes after the
    // first that is no digit.
    let others = (less.wrapping_add(each(0x80 - 10)) | less) & each(0x80);
    (less, others.trailing_zeros() as usize / 8)
}

/// The number of eight digits, one in each byte, the first one lowest.
#[inline(always)]
fn value(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let left = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let right = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    left.wrapping_add(right) >> 32
}

/// A bit in each byte that is `byte`; those after the first may be wrong.
#[inline(always)]
fn equal(bytes: u64, byte: u8) -> u64 {
    let other = bytes ^ each(byte);
    other.wrapping_sub(each(1)) & !other & each(0x80)
}

/// Where the next comma or line end is, unless the field has a quote.
#[inline(always)]
pub(super) fn field(piece: &[u8], mut at: usize) -> Option<usize> {
    loop {
        // Among the bytes up to the comma there is little else that texts are made of.
        let bytes = eight(piece, at)?;
        let ends = bytes.wrapping_sub(each(b',' + 1)) & !bytes & each(0x80);
        if ends == 0 {
            at += 8;
            continue;
        }
        at += ends.trailing_zeros() as usize / 8;
        match piece.get(at)? {
            b',' | b'\n' => return Some(at),
            b'"' => return None,
            _ => at += 1,
        }
    }
}

/// The word of at most seven bytes at `at` in the form of [`word`], and where it ends: at a
/// comma, a carriage return or a line end.
#[inline(always)]
pub(super) fn short_word(piece: &[u8], at: usize) -> Option<(u64, usize)> {
    let bytes = eight(piece, at)?;
    let ends = equal(bytes, b',') | equal(bytes, b'\n') | equal(bytes, b'\r');
    if ends == 0 {
        return None;
    }
    let nr = ends.trailing_zeros() / 8;
    // A space makes a letter small, and nothing else a letter.
    Some(((bytes | each(b' ')) & ((1 << (8 * nr)) - 1), at + nr as usize))
}

/// A word of at most seven small letters as a number.
pub(super) const fn word(letters: &str) -> u64 {
    let (bytes, mut word, mut i) = (letters.as_bytes(), 0, 0);
    assert!(bytes.len() < 8);
    while i < bytes.len() {
        word |= (bytes[i] as u64) << (8 * i);
        i += 1;
    }
    word
}

/// Where the next line begins, if this one ends at `at`.
#[inline(always)]
pub(super) fn line_end(piece: &[u8], at: usize) -> Option<usize> {
    match piece.get(at)? {
        b'\n' => Some(at + 1),
        b'\r' if piece.get(at + 1) == Some(&b'\n') => Some(at + 2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_what_they_say(n: u64, zeros in 0..10_usize, end in "[^0-9][0-9a-z\\pL,]*") {
            for n in [n, n >> 20, n >> 40, n >> 55, n >> 60] {
                let text = format!("{}{n}", "0".repeat(zeros));
                let piece = format!("{text}{end}{}", " ".repeat(16));
                let expected = (text.len() <= 15).then_some((n, text.len()));
                let found = number(piece.as_bytes(), 0);
                prop_assert!(found == expected || text.len() == 16, "{piece}");
                prop_assert!(found.is_none() || found == Some((n, text.len())), "{piece}");
            }
        }

        #[test]
        fn fields_and_words_end_where_they_do(
            text in "([a-zA-Z0-9 \"']|\\pL){0,20}",
            end in "[,\n]",
            rest in "[,\n\r\"x1]{30}",
        ) {
            let piece = format!("{text}{end}{rest}");
            let quoted = text.contains('"');
            prop_assert_eq!(field(piece.as_bytes(), 0), (!quoted).then_some(text.len()));
            let small = text.to_ascii_lowercase();
            let known = small.len() < 8 && small.bytes().all(|b| b.is_ascii_lowercase());
            let found = short_word(piece.as_bytes(), 0);
            prop_assert_eq!(found.map(|f| f.1), (text.len() < 8).then_some(text.len()));
            if known {
                prop_assert_eq!(found.map(|f| f.0), Some(word(&small)));
            }
        }
    }

    #[test]
    fn the_end_of_a_piece_is_left_to_the_long_way() {
        assert_eq!(number(b"1234567", 0), None);
        assert_eq!(number(b"1234567\n", 0), Some((1_234_567, 7)));
        assert_eq!(number(b"12345678\n", 0), None);
        assert_eq!(field(b"abc,", 9), None);
        assert_eq!(line_end(b"\r", 0), None);
        assert_eq!(number(b"-1234567", 0), None);
        assert_eq!(number(b"\xb12345678\n", 0), None);
    }
}
