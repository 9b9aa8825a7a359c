//! Types of fields that a setting fills.

use super::{Form, Row};
use crate::base::id::PAGE_SIZE;
use crate::base::time::SimDuration;
use std::any::Any;

/// A type that fields have. Its value is a number: that of a row, or the place of a word. Whoever
/// reads laws into fields gets the field's own type by [`Any`].
pub trait Value: Any {
    /// The value as a row counts it; `None`: none.
    fn number(&self, row: &Row) -> Option<u64>;
    /// Sets it, if it is a value of the type.
    fn set_number(&mut self, row: &Row, n: u64);
}

/// The form that values of a type have, unless the row says otherwise.
pub trait Formed: Value {
    /// That form.
    const FORM: Form;
    /// True if a law may be given in the place of a value.
    const DRAWN: bool = false;
}

/// An enum whose values are words of settings.
pub trait Worded: Formed + Copy {
    /// All of them, in the order of their words.
    const WORDS: &'static [Self];
}

/// A word of a setting, or a number in its place (`Row::numbers`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrNumber<W> {
    /// The word.
    Word(W),
    /// The number.
    Number(u32),
}

impl<W: Worded> Formed for OrNumber<W> {
    const FORM: Form = W::FORM;
}
impl<W: Worded> Value for OrNumber<W> {
    fn number(&self, row: &Row) -> Option<u64> {
        match self {
            OrNumber::Word(word) => word.number(row),
            OrNumber::Number(n) => Some(W::WORDS.len() as u64 + u64::from(*n)),
        }
    }
    fn set_number(&mut self, _: &Row, n: u64) {
        *self = match W::WORDS.get(n as usize) {
            Some(word) => OrNumber::Word(*word),
            None => {
                let n = n - W::WORDS.len() as u64;
                OrNumber::Number(u32::try_from(n).unwrap_or(u32::MAX))
            }
        };
    }
}

/// The shortest exact spelling of a number of pages: `64MiB`, `3840 pages`.
pub fn show_pages(pages: u64) -> String {
    let bytes = u128::from(pages) * u128::from(PAGE_SIZE);
    for (unit, shift) in [("TiB", 40), ("GiB", 30), ("MiB", 20)] {
        if bytes > 0 && bytes % (1 << shift) == 0 {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    format!("{pages} {}", if pages == 1 { "page" } else { "pages" })
}

/// A number of pages as documents write it: `64MiB`, `512KiB`.
pub(super) fn size(pages: u64) -> String {
    let shown = show_pages(pages);
    match pages {
        0 => shown,
        _ if shown.ends_with('B') => shown,
        _ => format!("{}KiB", u128::from(pages) * u128::from(PAGE_SIZE / 1024)),
    }
}

impl Formed for bool {
    const FORM: Form = Form::Flag(["no", "yes"]);
}
impl Value for bool {
    fn number(&self, _: &Row) -> Option<u64> {
        Some(u64::from(*self))
    }
    fn set_number(&mut self, _: &Row, n: u64) {
        *self = n > 0;
    }
}

impl Formed for u32 {
    const FORM: Form = Form::Whole;
}
impl Value for u32 {
    fn number(&self, row: &Row) -> Option<u64> {
        Some(u64::from(*self) * row.scale)
    }
    fn set_number(&mut self, row: &Row, n: u64) {
        *self = u32::try_from(n / row.scale).unwrap_or(u32::MAX);
    }
}

impl Formed for u64 {
    const FORM: Form = Form::Whole;
}
impl Value for u64 {
    fn number(&self, _: &Row) -> Option<u64> {
        Some(*self)
    }
    fn set_number(&mut self, _: &Row, n: u64) {
        *self = n;
    }
}

impl<T: Formed + Default> Formed for Option<T> {
    const FORM: Form = T::FORM;
    const DRAWN: bool = T::DRAWN;
}
impl<T: Value + Default> Value for Option<T> {
    fn number(&self, row: &Row) -> Option<u64> {
        self.as_ref()?.number(row)
    }
    fn set_number(&mut self, row: &Row, n: u64) {
        self.get_or_insert_default().set_number(row, n);
    }
}

impl Formed for SimDuration {
    const FORM: Form = Form::Time;
}
impl Value for SimDuration {
    fn number(&self, row: &Row) -> Option<u64> {
        Some(self.as_nanos() / row.scale)
    }
    fn set_number(&mut self, row: &Row, n: u64) {
        *self = SimDuration::from_nanos(n.saturating_mul(row.scale));
    }
}

impl Formed for u8 {
    const FORM: Form = Form::Whole;
}
impl Value for u8 {
    fn number(&self, _: &Row) -> Option<u64> {
        Some(u64::from(*self))
    }
    fn set_number(&mut self, _: &Row, n: u64) {
        *self = u8::try_from(n).unwrap_or(u8::MAX);
    }
}

impl Formed for f64 {
    const FORM: Form = Form::Real;
}
impl Value for f64 {
    fn number(&self, _: &Row) -> Option<u64> {
        Some(self.to_bits())
    }
    fn set_number(&mut self, _: &Row, n: u64) {
        *self = f64::from_bits(n);
    }
}
