//! One event in the making: its shape, and the bytes of its differences.

use mmsim_core::memory::trace::TraceKind;

use super::form::{KIND_BITS, LENGTH_BITS, NEW_TEXT, What};
use crate::trace::wire::put_varint;

/// Kinds of events.
pub(super) const KINDS: usize = TraceKind::ALL.len();
/// Fields of an event, at most.
pub(super) const FIELDS: usize = 8;
/// Values of the fields in the last event of each kind.
pub(super) type Near = [[u64; FIELDS]; KINDS];
/// Bytes that an event takes at most, its number, new shapes and new texts aside.
pub(super) const ROOM: usize = 256;

/// State that events of all kinds share.
#[derive(Default)]
pub(super) struct Shared {
    frame: u64,
    page: u64,
    texts: Vec<&'static str>,
    /// Texts that the block has not got yet.
    pub(super) new_texts: usize,
}

/// An event in the making.
pub(super) struct Packing<'a> {
    out: &'a mut [u8; ROOM],
    /// Bytes so far.
    pub(super) at: usize,
    /// The shape so far.
    pub(super) shape: u64,
    shift: u32,
    shared: &'a mut Shared,
}

impl<'a> Packing<'a> {
    /// An event of this kind. `step` is the time that it takes more than the last one of the kind.
    #[inline(always)]
    pub(super) fn new(
        room: &'a mut [u8],
        kind: usize,
        step: u64,
        shared: &'a mut Shared,
    ) -> Packing<'a> {
        let out = room.first_chunk_mut().expect("a block ends before its room");
        let mut to = Packing { out, at: 0, shape: kind as u64, shift: KIND_BITS, shared };
        to.signed(step);
        to
    }

    /// Puts bits into the shape.
    #[inline(always)]
    pub(super) fn bits(&mut self, value: u64, width: u32) {
        self.shape |= value << self.shift;
        self.shift += width;
    }

    /// Puts a value where its field has it.
    #[inline(always)]
    pub(super) fn put(&mut self, what: What, value: u64, near: &mut u64) {
        let last = match what {
            What::Frame => &mut self.shared.frame,
            What::Page => &mut self.shared.page,
            _ => near,
        };
        let before = std::mem::replace(last, value);
        match what.bytes() {
            0 => self.bits(value, what.bits()),
            4 => {
                let d = (value as u32).wrapping_sub(before as u32) as i32;
                self.difference(u64::from(((d << 1) ^ (d >> 31)) as u32));
            }
            _ => self.signed(value.wrapping_sub(before)),
        }
    }

    /// Puts a signed number.
    #[inline(always)]
    fn signed(&mut self, d: u64) {
        let d = d as i64;
        self.difference(((d << 1) ^ (d >> 63)) as u64);
    }

    /// Puts as many bytes as a number has; none if it is 0.
    #[inline(always)]
    fn difference(&mut self, z: u64) {
        let bytes = (71 - (z | 1).leading_zeros()) / 8 - u32::from(z == 0);
        *self.out[self.at..].first_chunk_mut().expect("there is room") = z.to_le_bytes();
        self.at += bytes as usize;
        self.bits(u64::from(bytes), LENGTH_BITS);
    }

    /// Puts the number of a text.
    #[inline(always)]
    pub(super) fn text(&mut self, text: &'static str, near: &mut u64) {
        let known = self.shared.texts.get(*near as usize);
        let nth = match known {
            Some(&last) if std::ptr::eq(last, text) => *near,
            _ => self.shared.number_of(text),
        };
        self.put(What::Text, nth, near);
    }

    /// Puts numbers of any size.
    #[inline(always)]
    pub(super) fn list(&mut self, list: &[u64]) {
        for &number in list {
            self.number(number);
        }
    }

    #[inline(never)]
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.out[self.at] = number as u8 | 0x80;
            self.at += 1;
            number >>= 7;
        }
        self.out[self.at] = number as u8;
        self.at += 1;
    }
}

impl Shared {
    #[inline(never)]
    fn number_of(&mut self, text: &'static str) -> u64 {
        let known = self.texts.iter().position(|&known| known == text);
        known.unwrap_or_else(|| {
            self.texts.push(text);
            self.new_texts += 1;
            self.texts.len() - 1
        }) as u64
    }

    /// The texts that the block has not got yet, as it is to have them.
    pub(super) fn take_new_texts(&mut self) -> Vec<u8> {
        let known = self.texts.len() - std::mem::take(&mut self.new_texts);
        let mut out = Vec::new();
        for text in &self.texts[known..] {
            out.push(NEW_TEXT);
            put_varint(&mut out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
        out
    }
}
