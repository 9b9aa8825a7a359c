//! The fast path through a record of plain fields.
//!
//! What the columns are is known once the first line was read. It is laid down in a plan:
//! what to do with each field, and how pages come from the values, arranged so that one
//! formula holds for all inputs and a record decides nothing that is the same for all.
//!
//! As in [`short`], nothing means that the slow path has to look: then the record is unusual,
//! or wrong.

use super::super::ImportOptions;
use super::super::short::{self, word};
use super::columns::{Columns, Extent, Place, Role};
use super::fields::Delimiter;
use super::{MAX_TIME, Op, Request};

/// Way to read a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Number,
    Skip,
    Op,
    Time,
}

/// Where its value goes.
#[derive(Clone, Copy)]
enum Slot {
    Nowhere,
    Place,
    Extent,
    Op,
    Pid,
    Time,
}

/// Values of a record; a power of two of them.
type Values = [u64; 8];

#[derive(Clone, Copy)]
struct Step {
    how: How,
    slot: Slot,
    /// Byte after it.
    end: u8,
}

/// Plan for a record.
pub(super) struct Plan {
    steps: Vec<Step>,
    /// The values of a record without any fields: one page, no operation.
    unsaid: Values,
    /// Bits of a place that say where in its page it is.
    page_shift: u32,
    /// Those of them that count when an extent in bytes begins there.
    within: u64,
    /// The same for an extent.
    extent_shift: u32,
    timed: bool,
    time_unit: u64,
}

/// Operations by the number that stands for them among values.
const OPS: [Option<Op>; 4] = [Some(Op::Read), Some(Op::Write), Some(Op::Other), None];

impl Plan {
    /// The plan of columns with times in units of `unit` ns, if their records can go the
    /// fast path.
    pub(super) fn new(columns: &Columns, options: &ImportOptions, unit: u64) -> Option<Self> {
        let bytes = match columns.place {
            Place::Page => false,
            Place::Address => true,
            Place::Sector | Place::Key => return None,
        };
        let sized = match columns.extent {
            Extent::Pages => false,
            Extent::Units(1) => true,
            Extent::Units(_) => return None,
        };
        let sizes = columns.roles.iter().filter(|r| **r == Role::Size).count();
        if columns.delimiter != Delimiter::Comma || sizes > 1 {
            return None;
        }
        let mut steps: Vec<Step> =
            columns.roles.iter().map(|&role| step(role)).collect::<Option<_>>()?;
        if let Some(last) = steps.last_mut() {
            last.end = b'\n';
        }
        let mut unsaid = [0; 8];
        (unsaid[Slot::Extent as usize], unsaid[Slot::Op as usize]) = (1, 3);
        let shift = options.page_size.trailing_zeros();
        Some(Plan {
            steps,
            unsaid,
            page_shift: if bytes { shift } else { 0 },
            within: if bytes && sized { options.page_size - 1 } else { 0 },
            extent_shift: if sized { shift } else { 0 },
            timed: columns.has(Role::Time),
            time_unit: unit,
        })
    }

    /// The request at `at`, and where the next line begins.
    #[inline(always)]
    pub(super) fn request(&self, piece: &[u8], at: usize) -> Option<(Request, usize)> {
        let mut values = self.unsaid;
        let mut i = at;
        for step in &self.steps {
            let (value, end) = match step.how {
                How::Number => short::number(piece, i)?,
                How::Skip => (0, short::field(piece, i)?),
                How::Op => operation(piece, i)?,
                How::Time => self.time(piece, i)?,
            };
            values[step.slot as usize] = value;
            i = end + 1;
            if *piece.get(end)? != step.end {
                if step.end != b'\n' {
                    return None;
                }
                i = short::line_end(piece, end)?;
            }
        }
        let of = |slot: Slot| values[slot as usize];
        let (place, extent) = (of(Slot::Place), of(Slot::Extent));
        if extent == 0 {
            return None;
        }
        // Values have at most 15 digits: no sum ends anywhere near 2^64.
        let count = (((place & self.within) + extent - 1) >> self.extent_shift) + 1;
        let request = Request {
            op: OPS[of(Slot::Op) as usize % OPS.len()],
            page: place >> self.page_shift,
            count,
            repeats: 1,
            pid: u32::try_from(of(Slot::Pid)).ok()?,
            time: self.timed.then_some(of(Slot::Time)),
        };
        Some((request, i))
    }

    /// A time in nanoseconds, and where it ends.
    #[inline(never)]
    fn time(&self, piece: &[u8], at: usize) -> Option<(u64, usize)> {
        let (units, mut end) = short::number(piece, at)?;
        let mut ns = units.checked_mul(self.time_unit)?;
        if piece.get(end) == Some(&b'.') {
            let (fraction, after) = short::number(piece, end + 1)?;
            // Only digits above a nanosecond.
            let parts = *short::POWERS.get(after - end - 1)?;
            if !self.time_unit.is_multiple_of(parts) {
                return None;
            }
            (ns, end) = (ns.checked_add(fraction * (self.time_unit / parts))?, after);
        }
        (ns <= MAX_TIME).then_some((ns, end))
    }
}

fn step(role: Role) -> Option<Step> {
    let (how, slot) = match role {
        Role::Skip => (How::Skip, Slot::Nowhere),
        Role::Place => (How::Number, Slot::Place),
        Role::Size => (How::Number, Slot::Extent),
        Role::Op => (How::Op, Slot::Op),
        Role::Pid => (How::Number, Slot::Pid),
        Role::Time => (How::Time, Slot::Time),
        Role::Volume | Role::Repeats => return None,
    };
    Some(Step { how, slot, end: b',' })
}

/// The numbers of operations of one letter; 3: none. A table, as reads and writes may come in
/// an order that no processor foresees.
const LETTERS: [u8; 256] = {
    let mut numbers = [3; 256];
    let mut i = 0;
    while i < 4 {
        let (letter, number) = [(b'r', 0), (b'w', 1), (b'd', 2), (b'f', 2)][i];
        numbers[letter as usize] = number;
        numbers[letter.to_ascii_uppercase() as usize] = number;
        i += 1;
    }
    numbers
};

/// The number of one of the commonest operations, and where it ends.
#[inline(always)]
fn operation(piece: &[u8], at: usize) -> Option<(u64, usize)> {
    const READ: u64 = word("read");
    const WRITE: u64 = word("write");
    const TRIM: u64 = word("trim");
    const DISCARD: u64 = word("discard");
    const FLUSH: u64 = word("flush");
    if let [letter, b',' | b'\n'] = *piece.get(at..)?.first_chunk()? {
        let number = u64::from(LETTERS[usize::from(letter)]);
        return (number < 3).then_some((number, at + 1));
    }
    let (word, end) = short::short_word(piece, at)?;
    let number = match word {
        READ => 0,
        WRITE => 1,
        TRIM | DISCARD | FLUSH => 2,
        _ => return None,
    };
    Some((number, end))
}
