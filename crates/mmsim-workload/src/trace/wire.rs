//! Bytes of the format: little-endian base-128 numbers, texts, and a cursor that knows
//! where it is.

use super::error::TraceError;

/// Appends a number, seven bits a byte, low bits first; the top bit says: more follow.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a number at `pos` and moves on. Nothing if the bytes end early or the number
/// has more than 64 bits.
#[inline]
pub(crate) fn get_varint(bytes: &[u8], pos: &mut usize) -> Option<u64> {
    let first = *bytes.get(*pos)?;
    *pos += 1;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let mut value = u64::from(first & 0x7f);
    let mut shift = 7;
    loop {
        let byte = *bytes.get(*pos)?;
        *pos += 1;
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

/// Appends a text: its length in bytes, then UTF-8.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Signed differences as unsigned numbers, small ones small: 0, -1, 1, -2, ..
#[inline]
pub(crate) fn zigzag(d: i32) -> u32 {
    ((d << 1) ^ (d >> 31)) as u32
}

/// The inverse of [`zigzag`].
#[inline]
pub(crate) fn unzigzag(z: u32) -> i32 {
    (z >> 1) as i32 ^ -((z & 1) as i32)
}

/// A place in the payload of a block.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
    base: u64,
}

impl<'a> Cursor<'a> {
    /// At the beginning of `bytes`, which stand at byte `base` of the trace.
    pub(crate) fn new(bytes: &'a [u8], base: u64) -> Self {
        Cursor { bytes, pos: 0, base }
    }

    /// Where it is in the trace.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.pos as u64
    }

    /// An error at this place.
    pub(crate) fn wrong(&self, found: String, expected: impl Into<String>) -> TraceError {
        TraceError::format(self.offset(), found, expected)
    }

    /// The next byte.
    pub(crate) fn byte(&mut self, what: &str) -> Result<u8, TraceError> {
        let byte = self.bytes.get(self.pos).copied();
        self.pos += 1;
        byte.ok_or_else(|| {
            self.pos -= 1;
            self.wrong("the end of the block".into(), what)
        })
    }

    /// The next number, which must lie within `low..=high`.
    pub(crate) fn bounded(&mut self, what: &str, low: u64, high: u64) -> Result<u64, TraceError> {
        let before = self.pos;
        let value = get_varint(self.bytes, &mut self.pos);
        match value {
            Some(v) if (low..=high).contains(&v) => Ok(v),
            other => {
                self.pos = before;
                let found = other.map_or("no complete number".into(), |v| v.to_string());
                Err(self.wrong(found, format!("{what}, {low} to {high}")))
            }
        }
    }

    /// The next text of at most `max` bytes.
    pub(crate) fn text(&mut self, what: &str, max: usize) -> Result<String, TraceError> {
        let length = self.bounded(&format!("bytes of {what}"), 0, max as u64)? as usize;
        let Some(bytes) = self.bytes.get(self.pos..self.pos + length) else {
            return Err(self.wrong("the end of the block".into(), what));
        };
        let text = std::str::from_utf8(bytes)
            .map_err(|_| self.wrong("bytes that are not UTF-8".into(), what))?;
        self.pos += length;
        Ok(text.to_string())
    }

    /// Nothing may be left.
    pub(crate) fn finish(self, what: &str) -> Result<(), TraceError> {
        match self.bytes.len() - self.pos {
            0 => Ok(()),
            left => Err(self.wrong(format!("{left} more bytes"), what)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for v in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX >> 1, u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, v);
            let mut pos = 0;
            assert_eq!(get_varint(&out, &mut pos), Some(v));
            assert_eq!(pos, out.len());
            assert_eq!(get_varint(&out[..out.len() - 1], &mut 0), None);
        }
        assert_eq!(get_varint(&[0xff; 11], &mut 0), None);
    }

    #[test]
    fn differences_come_back() {
        for d in [0, 1, -1, 77, i32::MAX, i32::MIN] {
            assert_eq!(unzigzag(zigzag(d)), d);
        }
        assert_eq!((zigzag(0), zigzag(-1), zigzag(1), zigzag(-2)), (0, 1, 2, 3));
    }
}
