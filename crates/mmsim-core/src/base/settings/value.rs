//! Types of fields that a setting fills.

use super::{Form, Row};
use crate::base::time::SimDuration;

/// A type that fields have. Its value is a number: that of a row, or the place of a word.
pub trait Value {
    /// The value as a row counts it; `None`: none.
    fn number(&self, row: &Row) -> Option<u64>;
    /// Sets it, if it is a value of the type.
    fn set_number(&mut self, row: &Row, n: u64);
}

/// The form that values of a type have, unless the row says otherwise.
pub trait Formed: Value {
    /// That form.
    const FORM: Form;
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

impl Formed for Option<u64> {
    const FORM: Form = Form::Whole;
}
impl Value for Option<u64> {
    fn number(&self, _: &Row) -> Option<u64> {
        *self
    }
    fn set_number(&mut self, _: &Row, n: u64) {
        *self = Some(n);
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
