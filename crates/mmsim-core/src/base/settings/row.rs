//! A setting, without the field that it fills: its name, form, range, life and texts.

use super::refusal::{KnobError, Unfit};
use super::value::size;
use crate::base::kernel::{Kernel, checked};
use crate::base::time::SimDuration;

/// A word that a setting takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// As files write it.
    pub name: &'static str,
    /// Its meaning.
    pub doc: &'static str,
    /// The release with which it came; empty: it was always there.
    pub since: &'static str,
}

/// Largest count of accesses, records and the like: exact in every number format.
pub const MANY: u64 = 1 << 53;

/// The form of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// These words for no and yes.
    Flag([&'static str; 2]),
    /// `true` or `false`, as TOML has them.
    Bool,
    /// One of these words, whose names are listed again.
    Word(&'static [Word], &'static [&'static str]),
    /// A whole number.
    Whole,
    /// A duration with its unit.
    Time,
    /// A number that is not negative, perhaps with decimals; the setting's number has the bits of
    /// an `f64`, which are in the order of the numbers.
    Real,
    /// Memory with its unit; the setting's number counts pages.
    Pages,
}

/// Allowed numbers, from a release on.
type Range = (&'static str, u64, u64);

/// A setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// As files write it.
    pub name: &'static str,
    /// The field of its struct.
    pub field: &'static str,
    /// Its meaning.
    pub doc: &'static str,
    /// The form of its value.
    pub form: Form,
    /// The unit of a plain number; empty: it has none, or the value carries it.
    pub unit: &'static str,
    /// The patch or function that it comes from.
    pub source: &'static str,
    /// The file of `/proc` or `/sys`.
    pub file: &'static str,
    /// The kernel's own names of it, with commas between them: a constant, a variable, an option of
    /// the build, or else a function; empty: it has none.
    pub kernel: &'static str,
    /// The default in words, where it is no value.
    pub auto: &'static str,
    /// The row of the same field that may be given instead.
    pub or: &'static str,
    /// The smallest number that is not 0, where 0 says something else.
    fraction: u64,
    /// The release with which it came and the last that has it.
    life: [&'static str; 2],
    /// Numbers that may stand in place of its words.
    numbers: Option<(u64, u64)>,
    /// In order of releases: the last that a kernel has counts.
    ranges: [Option<Range>; 2],
    /// Units of the number in one of what the field counts.
    pub(super) scale: u64,
    /// It has to be given: it, or the row that may be given instead.
    required: bool,
    /// A law may be given in its place.
    drawn: bool,
}

impl Row {
    /// A row without attributes.
    pub const fn new(
        name: &'static str,
        field: &'static str,
        doc: &'static str,
        form: Form,
    ) -> Row {
        Row {
            name,
            field,
            doc: doc.trim_ascii(),
            form,
            unit: "",
            source: "",
            file: "",
            kernel: "",
            auto: "",
            or: "",
            fraction: 0,
            life: ["", ""],
            numbers: None,
            ranges: [None; 2],
            scale: 1,
            required: false,
            drawn: false,
        }
    }
    /// The unit of a plain number.
    #[must_use]
    pub const fn unit(self, unit: &'static str) -> Row {
        Row { unit, ..self }
    }
    /// Allowed numbers.
    #[must_use]
    pub const fn range(mut self, low: u64, high: u64) -> Row {
        self.ranges[0] = Some(("", low, high));
        self
    }
    /// Allowed numbers from a release on.
    #[must_use]
    pub(crate) const fn range_since(mut self, since: &'static str, low: u64, high: u64) -> Row {
        self.ranges[1] = Some((checked(since), low, high));
        self
    }
    /// It is a fraction: 0 says something else, and other numbers are at least this.
    #[must_use]
    pub const fn fraction(self, least: u64) -> Row {
        Row { fraction: least, ..self }
    }
    /// The patch or function that it comes from.
    #[must_use]
    pub const fn source(self, source: &'static str) -> Row {
        Row { source, ..self }
    }
    /// The file of `/proc` or `/sys`.
    #[must_use]
    pub const fn file(self, file: &'static str) -> Row {
        Row { file, ..self }
    }
    /// The kernel's own names of it, with commas between them.
    #[must_use]
    pub const fn kernel(self, names: &'static str) -> Row {
        Row { kernel: names, ..self }
    }
    /// Numbers that may stand in place of its words. The setting's number is that of the words plus
    /// this one.
    #[must_use]
    pub const fn numbers(self, low: u64, high: u64) -> Row {
        Row { numbers: Some((low, high)), ..self }
    }
    /// The release with which it came.
    #[must_use]
    pub const fn since(self, since: &'static str) -> Row {
        Row { life: [checked(since), self.life[1]], ..self }
    }
    /// The last release that has it.
    #[must_use]
    pub const fn until(self, last: &'static str) -> Row {
        Row { life: [self.life[0], checked(last)], ..self }
    }
    /// The default in words, where it is no value or not that of all kernels.
    #[must_use]
    pub const fn auto(self, words: &'static str) -> Row {
        Row { auto: words, ..self }
    }
    /// Another row sets the same field: of the two one is given.
    #[must_use]
    pub const fn or(self, other: &'static str) -> Row {
        Row { or: other, ..self }
    }
    /// Other words for no and yes: `0` and `1` in `/proc`, `N` and `Y` in `/sys/module`.
    #[must_use]
    pub const fn flag(self, no: &'static str, yes: &'static str) -> Row {
        Row { form: Form::Flag([no, yes]), ..self }
    }
    /// The field counts pages. Each is `units` of the number.
    #[must_use]
    pub const fn per_page(self, units: u64) -> Row {
        Row { scale: units, ..self }
    }
    /// A duration that is written as a number of units of `nanos` nanoseconds.
    #[must_use]
    pub(crate) const fn count_of_nanos(self, nanos: u64) -> Row {
        Row { form: Form::Whole, scale: nanos, ..self }
    }

    /// `true` and `false` of TOML for yes and no.
    #[must_use]
    pub const fn toml(self) -> Row {
        Row { form: Form::Bool, ..self }
    }
    /// Memory of at least this number of pages, and below 2^32.
    #[must_use]
    pub const fn pages(self, least: u64) -> Row {
        Row { form: Form::Pages, ..self }.range(least, u32::MAX as u64)
    }
    /// A whole number in this range, where the field's type has another form.
    #[must_use]
    pub const fn count(self, low: u64, high: u64) -> Row {
        Row { form: Form::Whole, ..self }.range(low, high)
    }
    /// A number in this range, perhaps with decimals. Both ends are at least 0.
    #[must_use]
    pub const fn reals(self, low: f64, high: f64) -> Row {
        Row { form: Form::Real, ..self }.range(low.to_bits(), high.to_bits())
    }
    /// A duration that is longer than nothing, since work lasts for it.
    #[must_use]
    pub const fn lasting(self) -> Row {
        self.range(1, u64::MAX)
    }
    /// It has to be given: it, or the row that may be given instead. Its value means nothing.
    #[must_use]
    pub const fn required(self) -> Row {
        Row { required: true, ..self }
    }
    /// Sets whether a law may be given in its place.
    #[must_use]
    pub const fn drawn(self, drawn: bool) -> Row {
        Row { drawn, ..self }
    }

    /// True if it has to be given: it, or the row that may be given instead.
    pub const fn is_required(&self) -> bool {
        self.required
    }

    /// True if a law may be given in its place.
    pub const fn is_drawn(&self) -> bool {
        self.drawn
    }

    /// True if a kernel has it.
    pub fn is_of(&self, kernel: Kernel) -> bool {
        kernel.has(self.life[0]) && !kernel.is_after(self.life[1])
    }

    /// The releases that have it, for people: `since 4.6`, `up to 5.13`; `None`: all.
    pub fn life(&self) -> Option<String> {
        match self.life {
            ["", ""] => None,
            ["", last] => Some(format!("up to {last}")),
            [first, ""] => Some(format!("since {first}")),
            [first, last] => Some(format!("since {first} and up to {last}")),
        }
    }

    /// The release with which it came; empty: it was always there.
    pub fn came_with(&self) -> &'static str {
        self.life[0]
    }

    /// Allowed numbers of the newest kernel, if it is a number with bounds.
    pub const fn bounds(&self) -> Option<(u64, u64)> {
        match self.ranges {
            [_, Some((_, low, high))] | [Some((_, low, high)), None] => Some((low, high)),
            [None, None] => None,
        }
    }

    /// Allowed numbers of a kernel.
    pub fn bounds_of(&self, kernel: Kernel) -> Option<(u64, u64)> {
        let of_kernel = self.ranges.iter().flatten().rev().find(|r| kernel.has(r.0));
        of_kernel.map(|r| (r.1, r.2)).or(self.flag_bounds())
    }

    fn flag_bounds(&self) -> Option<(u64, u64)> {
        matches!(self.form, Form::Flag(_) | Form::Bool).then_some((0, 1))
    }

    /// Why a kernel does not take a number, if it does not.
    pub fn refuses(&self, kernel: Kernel, n: u64) -> Option<Unfit> {
        if let Some(word) = self.words().get(n as usize) {
            return (!kernel.has(word.since)).then_some(Unfit::Word(word));
        }
        if let Some((low, high)) = self.numbers {
            return match n - self.words().len() as u64 {
                n if n < low => Some(Unfit::Below(low)),
                n if n > high => Some(Unfit::Above(high, "")),
                _ => None,
            };
        }
        match self.bounds_of(kernel) {
            Some((low, _)) if n < low => Some(Unfit::Below(low)),
            Some((_, high)) if n > high => Some(Unfit::Above(high, self.higher_since())),
            _ => (n > 0 && n < self.fraction).then_some(Unfit::Fraction(self.fraction)),
        }
    }

    /// The release from which on it takes higher numbers.
    fn higher_since(&self) -> &'static str {
        self.ranges[1].map_or("", |range| range.0)
    }

    /// The words of a kernel.
    pub fn words_of(&self, kernel: Kernel) -> impl Iterator<Item = &'static str> + use<> {
        self.words().iter().filter(move |w| kernel.has(w.since)).map(|w| w.name)
    }

    /// The words that it takes, with their meanings.
    pub fn words(&self) -> &'static [Word] {
        if let Form::Word(words, _) = self.form { words } else { &[] }
    }

    /// The words that it takes; none for a number.
    pub fn allowed(&self) -> impl Iterator<Item = &'static str> + use<> {
        let flags = match self.form {
            Form::Flag(words) => words.to_vec(),
            Form::Bool => vec!["false", "true"],
            _ => Vec::new(),
        };
        flags.into_iter().chain(self.words().iter().map(|w| w.name))
    }

    /// Allowed values as text for people: `a | b`, `0 to 7`, or `a | 0 to 7`.
    pub fn takes(&self) -> String {
        match (self.form, self.bounds()) {
            (Form::Flag(_) | Form::Bool | Form::Word(..), _) => {
                let numbers = self.numbers.map(|(low, high)| format!("{low} to {high}"));
                let words = self.allowed().map(String::from);
                words.chain(numbers).collect::<Vec<_>>().join(" | ")
            }
            (Form::Time, _) => "a duration".into(),
            (Form::Pages, _) => "a size".into(),
            (Form::Real, Some((low, high))) => {
                format!("{} to {}", f64::from_bits(low), f64::from_bits(high))
            }
            (Form::Real, None) => "a number".into(),
            (Form::Whole, Some((low, high))) => format!("{low} to {high}"),
            (Form::Whole, None) => "a whole number".into(),
        }
    }

    /// A value as files write it; empty: there is none.
    pub fn text(&self, value: Option<u64>) -> String {
        let Some(n) = value else { return String::new() };
        match self.form {
            Form::Flag(words) => words[usize::from(n > 0)].into(),
            Form::Bool => (n > 0).to_string(),
            Form::Real => format!("{:?}", f64::from_bits(n)),
            Form::Pages => size(n),
            Form::Word(_, names) => match names.get(n as usize) {
                Some(name) => (*name).into(),
                None => (n - names.len() as u64).to_string(),
            },
            Form::Whole => n.to_string(),
            Form::Time => SimDuration::from_nanos(n).to_string(),
        }
    }

    /// Reads a value. Flags may also be written with the words of TOML and of the sources of series.
    ///
    /// # Errors
    /// It takes no such value.
    pub fn parse(&self, text: &str) -> Result<u64, KnobError> {
        let read = match self.form {
            Form::Flag(_) | Form::Bool => self.allowed().position(|w| w == text).or(match text {
                "yes" | "true" | "on" => Some(1),
                "no" | "false" | "off" => Some(0),
                _ => None,
            }),
            Form::Word(_, names) => {
                let number = |text: &str| Some(names.len() + text.parse::<u32>().ok()? as usize);
                let number = || number(text).filter(|n| self.admits(*n as u64));
                names.iter().position(|name| *name == text).or_else(number)
            }
            Form::Whole | Form::Time | Form::Pages | Form::Real => {
                let number = match self.form {
                    Form::Real => text.parse().ok().map(f64::to_bits),
                    _ => text.parse().ok(),
                };
                return number
                    .filter(|n| self.admits(*n))
                    .ok_or_else(|| self.refusal(text.to_owned()));
            }
        };
        read.map(|n| n as u64).ok_or_else(|| self.refusal(text.to_owned()))
    }

    /// True if it takes a number.
    pub(super) fn admits(&self, n: u64) -> bool {
        let bounds = self.bounds().or(self.flag_bounds());
        let is_fraction = n == 0 || n >= self.fraction;
        let words = self.words().len() as u64;
        let is_number =
            || self.numbers.is_some_and(|(low, high)| (low..=high).contains(&(n - words)));
        let is_word = !matches!(self.form, Form::Word(..)) || n < words || is_number();
        is_word && is_fraction && bounds.is_none_or(|(low, high)| (low..=high).contains(&n))
    }

    /// The error of a value that it does not take.
    pub(super) fn refusal(&self, value: String) -> KnobError {
        let knob = self.name;
        match (self.form, self.bounds()) {
            (Form::Whole | Form::Time | Form::Pages | Form::Real, bounds) => {
                KnobError::OutOfRange { knob, value, range: bounds.unwrap_or((0, u64::MAX)) }
            }
            _ => {
                let (allowed, numbers) = (self.allowed().collect(), self.numbers);
                KnobError::UnknownValue { knob, value, allowed, numbers }
            }
        }
    }
}
