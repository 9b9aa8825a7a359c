//! Events as bytes, in blocks.
//!
//! Most of an event is as it was before: its kind comes in a handful of forms, frames and pages come
//! again in the next events, time goes on by the same steps. So an event is a *shape* and the bytes
//! of its differences. A shape is 64 bits: the kind, small fields as they are, and how many bytes
//! each difference takes. Shapes of a block are numbered as they appear, and an event begins with
//! the number of its own: one byte for the first 240. No event takes a loop or an allocation.
//!
//! A block knows nothing of the one before, so a file can be read from any block on.
//! `docs/dev/events-format.md` has the bytes.

use mmsim_core::base::time::SimTime;
use mmsim_core::memory::trace::{TraceEvent, TraceKind};

use super::form::{KIND_BITS, LENGTH_BITS, What};
use super::kinds::pack_fields;
use super::layout::{KIND_EVENTS, NEW_SHAPE, NEW_TEXT, ONE_BYTE, TWO_BYTES};
use crate::trace::source::{BLOCK_HEAD, STORED, block_head};
use crate::trace::wire::put_varint;

/// Kinds of events.
pub(super) const KINDS: usize = TraceKind::ALL.len();
/// The kind that ends a run whose events were more than its limit.
pub(super) const LIMIT_KIND: usize = KINDS;
/// Fields of an event, at most.
pub(super) const FIELDS: usize = 8;
/// What each field was in the last event of the kind.
pub(super) type Near = [[u64; FIELDS]; KINDS];

/// Bytes of events after which a block ends.
const BLOCK: usize = 1 << 16;
/// Bytes that an event takes at most, its number, new shapes and new texts aside.
const ROOM: usize = 256;
/// Shapes of a block, at most.
const MOST_SHAPES: u32 = ONE_BYTE + TWO_BYTES;

/// What events of all kinds share.
#[derive(Default)]
struct Shared {
    frame: u64,
    page: u64,
    texts: Vec<&'static str>,
    /// Texts that the block has not got yet.
    new_texts: usize,
}

/// An event in the making.
pub(super) struct Packing<'a> {
    out: &'a mut [u8; ROOM],
    at: usize,
    shape: u64,
    shift: u32,
    shared: &'a mut Shared,
}

impl<'a> Packing<'a> {
    #[inline(always)]
    fn new(room: &'a mut [u8], kind: usize, step: u64, shared: &'a mut Shared) -> Packing<'a> {
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
    fn take_new_texts(&mut self) -> Vec<u8> {
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

/// Numbers of shapes: a table of twice as many places, searched from the one that a shape's bits name.
struct Shapes {
    places: Box<[(u64, u32); Shapes::PLACES]>,
    len: u32,
}

impl Shapes {
    const BITS: u32 = 12;
    const PLACES: usize = 1 << Shapes::BITS;
    /// No shape: there is no kind of this number.
    const FREE: (u64, u32) = (u64::MAX, 0);

    fn new() -> Shapes {
        Shapes { places: Box::new([Shapes::FREE; Shapes::PLACES]), len: 0 }
    }

    fn clear(&mut self) {
        self.places.fill(Shapes::FREE);
        self.len = 0;
    }

    /// The number of a shape, and whether it is a new one.
    #[inline(always)]
    fn number_of(&mut self, shape: u64) -> (u32, bool) {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut place = (shape.wrapping_mul(SPREAD) >> (64 - Shapes::BITS)) as usize;
        loop {
            let found = &mut self.places[place];
            if found.0 == shape {
                return (found.1, false);
            }
            if found.0 == u64::MAX {
                *found = (shape, self.len);
                self.len += 1;
                return (self.len - 1, true);
            }
            place = (place + 1) % Shapes::PLACES;
        }
    }
}

/// Events of one run, a block of them at a time.
pub(super) struct Packer {
    /// Room for the head of the block, then its events.
    buffer: Vec<u8>,
    at: usize,
    near: Box<Near>,
    shared: Shared,
    shapes: Shapes,
    time: u64,
    /// Time from the event before to the last event of each kind.
    steps: [u64; KINDS + 1],
}

impl Packer {
    pub(super) fn new() -> Packer {
        Packer {
            buffer: vec![0; BLOCK_HEAD + BLOCK + 2 * ROOM],
            at: BLOCK_HEAD,
            near: Box::new([[0; FIELDS]; KINDS]),
            shared: Shared::default(),
            shapes: Shapes::new(),
            time: 0,
            steps: [0; KINDS + 1],
        }
    }

    /// Whether the block is to be taken before the next event.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.at >= BLOCK_HEAD + BLOCK || self.shapes.len >= MOST_SHAPES
    }

    /// Bytes of the block so far.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.at
    }

    /// Takes back what came after these bytes. The block is to be taken before the next event.
    pub(super) fn cut(&mut self, len: usize) {
        self.at = len;
    }

    /// Adds an event.
    #[inline(always)]
    pub(super) fn event(&mut self, now: SimTime, event: &TraceEvent) {
        let kind = event.kind() as usize;
        let step = self.step(now, kind);
        let mut to = Packing::new(&mut self.buffer[self.at + 1..], kind, step, &mut self.shared);
        pack_fields(event, &mut to, &mut self.near);
        let (len, shape) = (to.at, to.shape);
        self.end(len, shape);
    }

    /// Adds the event that no more follow.
    pub(super) fn limit(&mut self, now: SimTime) {
        let step = self.step(now, LIMIT_KIND);
        let room = &mut self.buffer[self.at + 1..];
        let to = Packing::new(room, LIMIT_KIND, step, &mut self.shared);
        let (len, shape) = (to.at, to.shape);
        self.end(len, shape);
    }

    /// The time that an event of this kind takes more than the last one, since the event before.
    #[inline(always)]
    fn step(&mut self, now: SimTime, kind: usize) -> u64 {
        let step = now.0.wrapping_sub(self.time);
        self.time = now.0;
        step.wrapping_sub(std::mem::replace(&mut self.steps[kind], step))
    }

    /// Ends an event of these bytes and this shape.
    #[inline(always)]
    fn end(&mut self, len: usize, shape: u64) {
        let (number, new) = self.shapes.number_of(shape);
        if number < ONE_BYTE && !new && self.shared.new_texts == 0 {
            self.buffer[self.at] = number as u8;
            self.at += 1 + len;
        } else {
            self.at = self.number(self.at, len, (number, new), shape);
        }
    }

    /// Puts the number of an event before its bytes, where it is not one byte, or the shape or a text
    /// is new. Returns where the event ends.
    #[cold]
    #[inline(never)]
    fn number(
        &mut self,
        begin: usize,
        len: usize,
        (number, new): (u32, bool),
        shape: u64,
    ) -> usize {
        let mut tag = [0; 9];
        let tag = if new {
            tag[0] = NEW_SHAPE;
            tag[1..].copy_from_slice(&shape.to_le_bytes());
            &tag[..]
        } else if number < ONE_BYTE {
            tag[0] = number as u8;
            &tag[..1]
        } else {
            let beyond = number - ONE_BYTE;
            tag[..2].copy_from_slice(&[(ONE_BYTE + (beyond >> 8)) as u8, beyond as u8]);
            &tag[..2]
        };
        let texts = self.shared.take_new_texts();
        let at = begin + texts.len();
        let end = at + tag.len() + len;
        if self.buffer.len() < end + 2 * ROOM {
            self.buffer.resize(end + 2 * ROOM, 0);
        }
        self.buffer.copy_within(begin + 1..begin + 1 + len, at + tag.len());
        self.buffer[begin..at].copy_from_slice(&texts);
        self.buffer[at..at + tag.len()].copy_from_slice(tag);
        end
    }

    /// Ends the block and begins another one. Nothing, if it has no events.
    pub(super) fn take(&mut self) -> Option<&[u8]> {
        let end = std::mem::replace(&mut self.at, BLOCK_HEAD);
        self.near.fill([0; FIELDS]);
        self.shared = Shared::default();
        self.shapes.clear();
        self.time = 0;
        self.steps.fill(0);
        if end == BLOCK_HEAD {
            return None;
        }
        let (head, events) = self.buffer[..end].split_at_mut(BLOCK_HEAD);
        head.copy_from_slice(&block_head(KIND_EVENTS, STORED, events, events.len()));
        Some(&self.buffer[..end])
    }
}
