//! Blocks of plain accesses: single pages, no time between them, one process.
//!
//! Many traces are nothing but page numbers, in an order that no difference and no
//! compressor makes much smaller. For them the shortest form is also the fastest to read:
//! each page less the smallest of the block, in as many bits as the largest needs. Eight
//! values fill as many bytes as a value has bits, so eight at a time can be taken apart
//! with shifts that the compiler knows; there is a copy of that loop for each width.
//!
//! Which accesses write is stored in the shortest of four ways: none, all, a bit each, or the
//! distances between those that do.
//!
//! Frame of reference with bit packing is old; Lemire and Boytsov, "Decoding billions of
//! integers per second through vectorization" (2015), is a survey.

use super::error::TraceError;
use super::wire::{get_varint, put_varint};

/// Bytes before the columns.
const HEAD: usize = 10;
const NONE: u8 = 0;
const ALL: u8 = 1;
const BITS: u8 = 2;
const GAPS: u8 = 3;

/// A bit for each access: it writes.
pub(super) type Writes = Vec<u64>;

/// Packs accesses to dense pages. Bits of `writes` after the last access are zeros.
pub(super) fn pack(pages: &[u32], writes: &[u64]) -> Vec<u8> {
    let low = pages.iter().copied().fold(u32::MAX, u32::min);
    let high = pages.iter().copied().fold(0, u32::max);
    let width = 32 - high.saturating_sub(low).leading_zeros();
    let mut out = Vec::with_capacity(HEAD + pages.len() * (width as usize + 1) / 8 + 48);
    out.extend_from_slice(&(pages.len() as u32).to_le_bytes());
    out.extend_from_slice(&low.to_le_bytes());
    out.push(width as u8);
    put_writes(&mut out, pages.len(), writes);
    put_together(pages, low, width as usize, &mut out);
    out
}

/// Makes a payload of [`pack`] begin at another smallest page.
pub(super) fn set_low(payload: &mut [u8], low: u32) {
    payload[4..8].copy_from_slice(&low.to_le_bytes());
}

fn put_writes(out: &mut Vec<u8>, n: usize, writes: &[u64]) {
    let nr = writes.iter().map(|w| w.count_ones() as usize).sum::<usize>();
    if nr == 0 || nr == n {
        out.push(if nr == 0 { NONE } else { ALL });
        return;
    }
    // Each distance takes a byte at least.
    if nr < n.div_ceil(8) {
        let gaps = gaps(writes, nr);
        if gaps.len() < n.div_ceil(8) {
            out.push(GAPS);
            out.extend_from_slice(&gaps);
            return;
        }
    }
    out.push(BITS);
    let bytes = writes.iter().flat_map(|w| w.to_le_bytes());
    out.extend(bytes.take(n.div_ceil(8)));
}

/// The number of writes and the distances between them.
fn gaps(writes: &[u64], nr: usize) -> Vec<u8> {
    let mut gaps = Vec::new();
    put_varint(&mut gaps, nr as u64);
    let mut next = 0;
    for (i, &word) in writes.iter().enumerate() {
        let mut left = word;
        while left != 0 {
            let at = i * 64 + left.trailing_zeros() as usize;
            put_varint(&mut gaps, (at - next) as u64);
            next = at + 1;
            left &= left - 1;
        }
    }
    gaps
}

/// Appends values of `width` bits.
fn put_together(pages: &[u32], low: u32, width: usize, out: &mut Vec<u8>) {
    macro_rules! widths {
        ($($w:literal)*) => {
            match width {
                $($w => put_groups::<$w>(pages, low, out),)*
                _ => unreachable!("a width of {width} bits"),
            }
        };
    }
    widths!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
}

fn put_groups<const W: usize>(pages: &[u32], low: u32, out: &mut Vec<u8>) {
    let (groups, rest) = pages.as_chunks::<8>();
    for group in groups {
        out.extend_from_slice(&packed_eight::<W>(group, low)[..W]);
    }
    if !rest.is_empty() {
        let mut group = [low; 8];
        group[..rest.len()].copy_from_slice(rest);
        out.extend_from_slice(&packed_eight::<W>(&group, low)[..(rest.len() * W).div_ceil(8)]);
    }
}

/// Eight values in the first `W` bytes.
#[inline(always)]
fn packed_eight<const W: usize>(group: &[u32; 8], low: u32) -> [u8; 32] {
    let mut words = [0u64; 4];
    for (i, page) in group.iter().enumerate() {
        let (value, bit) = (u64::from(page - low), i * W);
        words[bit / 64 % 4] |= value << (bit % 64);
        if bit % 64 + W > 64 {
            words[bit / 64 + 1] |= value >> (64 - bit % 64);
        }
    }
    let mut bytes = [0; 32];
    for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
    }
    bytes
}

/// Results of [`unpack`] besides pages and writes.
pub(super) struct Unpacked {
    /// The smallest page.
    pub(super) low: u32,
    /// The largest page.
    pub(super) high: u32,
}

/// Unpacks a payload that stands at byte `base`, of at most `most` accesses: pages less the
/// smallest, and writes.
pub(super) fn unpack(
    payload: &[u8],
    base: u64,
    most: usize,
    pages: &mut Vec<u32>,
    writes: &mut Writes,
) -> Result<Unpacked, TraceError> {
    let wrong = |at: usize, found: String, expected: &str| {
        Err(TraceError::format(base + at as u64, found, expected))
    };
    let Some((head, _)) = payload.split_at_checked(HEAD) else {
        return wrong(0, format!("{} bytes", payload.len()), "a block of packed accesses");
    };
    let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
    let (n, low, width) = (word(0) as usize, word(4), usize::from(head[8]));
    if n == 0 || n > most {
        return wrong(0, format!("{n} accesses in a block"), &format!("1 to {most}"));
    }
    if width > 32 {
        return wrong(8, format!("pages of {width} bits"), "at most 32");
    }
    let at = get_writes(payload, base, n, writes)?;
    let bytes = (n * width).div_ceil(8);
    let packed = &payload[at..];
    if packed.len() != bytes {
        let expected = format!("{bytes}, for {n} pages of {width} bits");
        return wrong(at, format!("{} bytes of pages", packed.len()), &expected);
    }
    let used = n * width % 8;
    if used > 0 && packed[bytes - 1] >> used != 0 {
        return wrong(at + bytes - 1, "bits after the last page".into(), "zeros");
    }
    pages.clear();
    pages.resize(n.next_multiple_of(8), 0);
    take_apart(packed, width, pages);
    pages.truncate(n);
    let span = pages.iter().copied().fold(0, u32::max);
    let Some(high) = low.checked_add(span) else {
        return wrong(4, format!("pages from {low} to {span} more"), "an end below 2^32");
    };
    Ok(Unpacked { low, high })
}

/// Returns where the pages begin.
fn get_writes(
    payload: &[u8],
    base: u64,
    n: usize,
    writes: &mut Writes,
) -> Result<usize, TraceError> {
    let at = HEAD;
    let wrong = |at: usize, found: String, expected: &str| {
        Err(TraceError::format(base + at as u64, found, expected))
    };
    writes.clear();
    let last = u64::MAX >> (n.wrapping_neg() % 64);
    match payload[HEAD - 1] {
        NONE => {
            writes.resize(n.div_ceil(64), 0);
            Ok(at)
        }
        ALL => {
            writes.resize(n.div_ceil(64), u64::MAX);
            *writes.last_mut().expect("at least one access") = last;
            Ok(at)
        }
        BITS => {
            let end = at + n.div_ceil(8);
            let Some(bits) = payload.get(at..end) else {
                return wrong(payload.len(), "the end of the block".into(), "a bit an access");
            };
            writes.extend(bits.chunks(8).map(|c| {
                let mut word = [0; 8];
                word[..c.len()].copy_from_slice(c);
                u64::from_le_bytes(word)
            }));
            if writes.last().is_some_and(|w| w & !last != 0) {
                return wrong(end - 1, "bits after the last access".into(), "zeros");
            }
            Ok(end)
        }
        GAPS => {
            writes.resize(n.div_ceil(64), 0);
            let mut at = at;
            let mut next = 0;
            let nr = get_varint(payload, &mut at).unwrap_or(u64::MAX);
            for _ in 0..nr.min(n as u64 + 1) {
                let gap = get_varint(payload, &mut at).and_then(|g| usize::try_from(g).ok());
                match gap.and_then(|g| g.checked_add(next)) {
                    Some(i) if i < n => {
                        writes[i / 64] |= 1 << (i % 64);
                        next = i + 1;
                    }
                    _ => return wrong(at, "no access left that writes".into(), "fewer writes"),
                }
            }
            Ok(at)
        }
        other => wrong(HEAD - 1, format!("writes in form {other}"), "0 to 3"),
    }
}

/// Values of `width` bits; `out` has room for whole groups of eight.
fn take_apart(packed: &[u8], width: usize, out: &mut [u32]) {
    macro_rules! widths {
        ($($w:literal)*) => {
            match width {
                $($w => groups::<$w>(packed, out),)*
                _ => unreachable!("a width of {width} bits"),
            }
        };
    }
    widths!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
}

fn groups<const W: usize>(packed: &[u8], out: &mut [u32]) {
    let (groups, _) = out.as_chunks_mut::<8>();
    for (g, group) in groups.iter_mut().enumerate() {
        // The last value of a group begins in byte 7 W / 8 and is read as a word.
        let from = g * W;
        if let Some(bytes) = packed.get(from..from + W + 8) {
            *group = eight::<W>(bytes);
        } else {
            let mut bytes = [0; 40];
            let rest = &packed[from.min(packed.len())..];
            let n = rest.len().min(40);
            bytes[..n].copy_from_slice(&rest[..n]);
            *group = eight::<W>(&bytes[..W + 8]);
        }
    }
}

#[inline(always)]
fn eight<const W: usize>(bytes: &[u8]) -> [u32; 8] {
    let mask = ((1u64 << W) - 1) as u32;
    let bytes = &bytes[..W + 8];
    std::array::from_fn(|i| {
        let bit = i * W;
        let b = &bytes[bit / 8..bit / 8 + 8];
        let word = u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
        (word >> (bit % 8)) as u32 & mask
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of every width and number of accesses, and every form of writes, come back.
    #[test]
    fn every_width_comes_back() {
        let mut x = 1u64;
        let mut draw = move || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            x >> 20
        };
        for width in 0..=32u32 {
            for n in [1usize, 7, 8, 9, 63, 64, 65, 200] {
                for share in [0, 1, 30, 100] {
                    let low = if width == 32 { 0 } else { 17 };
                    let mask = ((1u64 << width) - 1) as u32;
                    let mut pages: Vec<u32> =
                        (0..n).map(|_| low + (draw() as u32 & mask)).collect();
                    pages[0] = low;
                    pages[n - 1] = low + mask;
                    let mut writes = vec![0u64; n.div_ceil(64)];
                    for i in 0..n {
                        writes[i / 64] |= u64::from(draw() % 100 < share) << (i % 64);
                    }
                    let bytes = pack(&pages, &writes);
                    let (mut back, mut wrote) = (Vec::new(), Vec::new());
                    let found = unpack(&bytes, 0, 200, &mut back, &mut wrote).unwrap();
                    let back: Vec<u32> = back.iter().map(|p| p + found.low).collect();
                    assert_eq!((back, wrote), (pages.clone(), writes), "{width} bits, {n}");
                    assert_eq!(found.high, *pages.iter().max().unwrap());
                    let mut cut = bytes.clone();
                    cut.pop();
                    let (mut a, mut b) = (Vec::new(), Vec::new());
                    if cut.len() < bytes.len() && width > 0 {
                        assert!(unpack(&cut, 0, 200, &mut a, &mut b).is_err(), "cut");
                    }
                    assert!(unpack(&bytes, 0, n - 1, &mut a, &mut b).is_err(), "too many");
                }
            }
        }
    }

    #[test]
    fn random_pages_take_what_their_number_needs() {
        let pages: Vec<u32> =
            (0..4096u32).map(|i| i.wrapping_mul(2_654_435_761) % 1_000_000).collect();
        let bytes = pack(&pages, &vec![0; 64]);
        assert_eq!(bytes.len(), HEAD + 4096 * 20 / 8);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut x = 7u64;
        let pages: Vec<u32> = (0..100).map(|i| i * 37 % 64).collect();
        let mut writes = vec![0u64; 2];
        writes[0] = 0x10_0001;
        let good = pack(&pages, &writes);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for _ in 0..20_000 {
            let mut bytes = good.clone();
            for _ in 0..2 {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                let at = (x >> 33) as usize % bytes.len();
                bytes[at] = (x >> 24) as u8;
            }
            bytes.truncate(bytes.len() - (x >> 60) as usize);
            if unpack(&bytes, 0, 100, &mut a, &mut b).is_ok() {
                assert_eq!(b.len(), a.len().div_ceil(64));
            }
        }
    }
}
