//! Forms of the fields of an event in a file of bytes, and the numbers that an event begins with.

/// The form of a field. It decides where the value goes: into the shape of the event, or behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// True or false: a bit of the shape.
    Bit,
    /// A byte of the shape.
    Byte,
    /// One of up to 16 words that the head has: 4 bits of the shape.
    Word,
    /// 32 bits, as the difference to the same field of the last event of the kind.
    Small,
    /// 64 bits, likewise.
    Number,
    /// The number of a text, likewise.
    Text,
    /// A thread, likewise.
    Thread,
    /// A frame, as the difference to the last frame of any event.
    Frame,
    /// A page, as the difference to the last page of any event.
    Page,
    /// This number of numbers, each in as many bytes as it needs.
    List(u8),
}

/// Bits of a shape that the kind takes, and those of a number of bytes.
pub(super) const KIND_BITS: u32 = 6;
pub(super) const LENGTH_BITS: u32 = 4;

/// Numbers of shapes that take one byte.
pub(super) const ONE_BYTE: u32 = 240;
/// Numbers that take two: the first byte is one of 8 from [`ONE_BYTE`] on.
pub(super) const TWO_BYTES: u32 = 8 << 8;
/// A text follows: its length and its bytes. It has the next number.
pub(super) const NEW_TEXT: u8 = 254;
/// A shape follows: 8 bytes. It has the next number, and the event has it.
pub(super) const NEW_SHAPE: u8 = 255;

impl What {
    /// Bits of the shape.
    #[inline(always)]
    pub(super) const fn bits(self) -> u32 {
        match self {
            What::Bit => 1,
            What::Byte => 8,
            What::Word | What::Small | What::Number => LENGTH_BITS,
            What::Text | What::Thread | What::Frame | What::Page => LENGTH_BITS,
            What::List(_) => 0,
        }
    }

    /// Bytes that a difference has at most; 0: it is none.
    #[inline(always)]
    pub(super) const fn bytes(self) -> u32 {
        match self {
            What::Bit | What::Byte | What::Word | What::List(_) => 0,
            What::Small | What::Text | What::Thread | What::Frame | What::Page => 4,
            What::Number => 8,
        }
    }

    /// As the head has it.
    pub(super) fn code(self) -> u8 {
        match self {
            What::Bit => 0,
            What::Byte => 1,
            What::Word => 2,
            What::Small => 3,
            What::Number => 4,
            What::Text => 5,
            What::Thread => 6,
            What::Frame => 7,
            What::Page => 8,
            What::List(n) => 16 + n,
        }
    }

    /// The form with this code.
    pub(super) fn of_code(code: u8) -> Option<What> {
        use What::{Bit, Byte, Frame, Number, Page, Small, Text, Thread, Word};
        const PLAIN: [What; 9] = [Bit, Byte, Word, Small, Number, Text, Thread, Frame, Page];
        match code {
            17..=32 => Some(What::List(code - 16)),
            _ => PLAIN.get(usize::from(code)).copied(),
        }
    }
}

/// A field of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Form {
    pub what: What,
    /// A bit of the shape says that it has a value.
    pub nullable: bool,
    /// The words of a [`What::Word`].
    pub words: Vec<&'static str>,
}
