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
use mmsim_core::memory::trace::TraceEvent;

use super::form::{NEW_SHAPE, ONE_BYTE, TWO_BYTES};
use super::kinds::pack_fields;
use super::layout::KIND_EVENTS;
use super::packing::{FIELDS, KINDS, Near, Packing, ROOM, Shared};
use crate::trace::source::{BLOCK_HEAD, STORED, block_head};

/// The kind that ends a run whose events were more than its limit.
const LIMIT_KIND: usize = KINDS;
/// Bytes of events after which a block ends.
const BLOCK: usize = 1 << 16;
/// Shapes of a block, at most.
const MOST_SHAPES: u32 = ONE_BYTE + TWO_BYTES;

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

    /// True if the block has to be written before the next event.
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
