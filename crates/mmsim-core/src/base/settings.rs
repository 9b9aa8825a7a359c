//! Settings: one row for each, beside the field that it fills.
//!
//! [`settings!`](crate::settings) makes the plain struct and the table of its rows of one list. All
//! that a row says besides its name, type and values is a chain of methods of [`Row`], so a new
//! attribute touches no macro. Whoever reads, writes, lists or documents settings walks the rows.
//! Named points are [`Preset`]s, each built on the one before it.

mod refusal;
mod value;

pub use refusal::{KnobError, Unfit};
pub use value::{Formed, Value, show_pages};

use super::kernel::{Kernel, checked};
use super::time::SimDuration;
use refusal::unknown_knob;
use std::fmt;

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
    /// A number that is not negative, perhaps with decimals; the setting's number has the bits of an
    /// `f64`, which are in the order of the numbers.
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
    /// The default in words, where it is no value.
    pub auto: &'static str,
    /// The row of the same field that may be given instead.
    pub or: &'static str,
    /// The smallest number that is not 0, where 0 says something else.
    fraction: u64,
    /// The release with which it came and the last that has it.
    life: [&'static str; 2],
    /// In order of releases: the last that a kernel has counts.
    ranges: [Option<Range>; 2],
    /// Units of the number in one of what the field counts.
    scale: u64,
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
            auto: "",
            or: "",
            fraction: 0,
            life: ["", ""],
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

    /// Allowed values as text for people: `a | b`, or `0 to 7`.
    pub fn takes(&self) -> String {
        match (self.form, self.bounds()) {
            (Form::Flag(_) | Form::Bool | Form::Word(..), _) => {
                self.allowed().collect::<Vec<_>>().join(" | ")
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
            Form::Pages => value::size(n),
            Form::Word(_, names) => names[n as usize].into(),
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
            Form::Word(_, names) => names.iter().position(|name| *name == text),
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
    fn admits(&self, n: u64) -> bool {
        let bounds = self.bounds().or(self.flag_bounds());
        let is_fraction = n == 0 || n >= self.fraction;
        let is_word = !matches!(self.form, Form::Word(..)) || n < self.words().len() as u64;
        is_word && is_fraction && bounds.is_none_or(|(low, high)| (low..=high).contains(&n))
    }

    /// The error of a value that it does not take.
    fn refusal(&self, value: String) -> KnobError {
        let knob = self.name;
        match (self.form, self.bounds()) {
            (Form::Whole | Form::Time | Form::Pages | Form::Real, bounds) => {
                KnobError::OutOfRange { knob, value, range: bounds.unwrap_or((0, u64::MAX)) }
            }
            _ => KnobError::UnknownValue { knob, value, allowed: self.allowed().collect() },
        }
    }
}

/// A struct whose fields are settings.
pub trait Settings: Clone + PartialEq + fmt::Debug + 'static {
    /// One row for each field, in order, and further names of fields.
    const ROWS: &'static [Row];
    /// The field of a name.
    fn field(&self, field: &str) -> Option<&dyn Value>;
    /// The field of a name, to be set.
    fn field_mut(&mut self, field: &str) -> Option<&mut dyn Value>;
    /// The values that a kernel shipped, if it has such a thing.
    fn of_kernel(kernel: Kernel) -> Option<Self> {
        Self::preset_of(kernel).map(|p| p.config.clone())
    }
    /// All presets, each after the one that it was built on.
    fn presets() -> &'static [Preset<Self>] {
        &[]
    }
    /// Rejects combinations that no kernel could mean.
    ///
    /// # Errors
    /// The first contradiction.
    fn validate(&self) -> Result<(), KnobError> {
        Ok(())
    }

    /// The preset that a kernel shipped, if it has such a thing.
    fn preset_of(kernel: Kernel) -> Option<&'static Preset<Self>> {
        let has = |p: &&Preset<Self>| p.shipped.is_some_and(|release| kernel.has(release));
        Self::presets().iter().rev().find(has)
    }
    /// The preset of that name.
    fn preset(name: &str) -> Option<&'static Preset<Self>> {
        Self::presets().iter().find(|p| p.name == name)
    }
    /// The row of that name.
    fn row(name: &str) -> Option<&'static Row> {
        Self::ROWS.iter().find(|r| r.name == name)
    }
    /// The value of a row as its number; `None`: it has none.
    fn number(&self, row: &Row) -> Option<u64> {
        self.field(row.field)?.number(row)
    }
    /// The value of a setting as files write it; `None`: there is no such setting.
    fn get(&self, name: &str) -> Option<String> {
        let row = Self::row(name)?;
        Some(row.text(self.number(row)))
    }
    /// Sets one setting. [`validate`](Self::validate) judges the whole.
    ///
    /// # Errors
    /// There is no such setting, or it does not take the value.
    fn set(&mut self, name: &str, text: &str) -> Result<(), KnobError> {
        let row = Self::row(name).ok_or_else(|| unknown_knob(Self::ROWS, name))?;
        self.put(name, row.parse(text)?)
    }
    /// Sets one setting to a number, or to the word at that place.
    ///
    /// # Errors
    /// There is no such setting, or it does not take the number.
    fn put(&mut self, name: &str, n: u64) -> Result<(), KnobError> {
        let row = Self::row(name).ok_or_else(|| unknown_knob(Self::ROWS, name))?;
        if !row.admits(n) {
            return Err(row.refusal(n.to_string()));
        }
        self.fill(row, n);
        Ok(())
    }
    /// Fills the field of a row with a number that the caller has judged.
    ///
    /// # Panics
    /// The row is of another struct.
    fn fill(&mut self, row: &Row, n: u64) {
        let field = self.field_mut(row.field);
        field.unwrap_or_else(|| panic!("{}: no field {}", row.name, row.field)).set_number(row, n);
    }
}

/// Rows, and further names of fields, each after the row that it names.
#[doc(hidden)]
pub const fn placed<const N: usize>(own: &[Row], more: &[(&str, Row)]) -> [Row; N] {
    let mut all = [own[0]; N];
    let (mut n, mut next) = (0, 0);
    while next < own.len() {
        all[n] = own[next];
        (n, next) = (n + 1, next + 1);
        let mut i = 0;
        while i < more.len() {
            if is(more[i].0, all[n - 1].name) {
                all[n] = more[i].1;
                (n, i) = (n + 1, 0);
            } else {
                i += 1;
            }
        }
    }
    assert!(n == N, "a further name stands after no row");
    all
}

const fn is(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// A named point of the knobs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Preset<C: 'static> {
    /// As scenario files write it.
    pub name: &'static str,
    /// The knobs.
    pub config: C,
    /// The kernel whose behaviour it is, or on which it was proposed; the nearest that machines
    /// can have.
    pub kernel: Kernel,
    /// The release from which on kernels have it, until that of a later preset; `None`: no kernel
    /// shipped it.
    pub shipped: Option<&'static str>,
    /// The preset that it was built on: that of the kernel before, or the stage before it in a
    /// series.
    pub before: Option<&'static str>,
    /// Description in one line.
    pub about: &'static str,
    /// The subject of the patch that leads here, for a stage that is one patch.
    pub subject: Option<&'static str>,
}

impl<C: Settings> Preset<C> {
    /// The knobs that differ from the preset [before](Self::before): name, value there, value
    /// here. Empty for the first.
    pub fn changes(&self) -> Vec<(&'static str, String, String)> {
        let Some(before) = self.before.and_then(C::preset) else { return Vec::new() };
        let value = |c: &C, knob| c.get(knob).unwrap_or_default();
        let knobs = C::ROWS.iter().map(|r| r.name);
        knobs
            .map(|k| (k, value(&before.config, k), value(&self.config, k)))
            .filter(|(_, there, here)| there != here)
            .collect()
    }
}

/// Enums whose values are words of settings: each with its name in files and its meaning, and
/// with the release that brought it if it was not always there.
#[macro_export]
macro_rules! words {
    ($($(#[$meta:meta])* $name:ident {
        $($value:ident = $text:literal, $doc:literal $(, since $since:literal)?;)+
    })+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $(#[doc = $doc] $value,)+ }
        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$value),+];
        }
        impl $crate::base::settings::Formed for $name {
            const FORM: $crate::base::settings::Form =
                $crate::base::settings::Form::Word(&[$($crate::base::settings::Word {
                    name: $text,
                    doc: $doc,
                    since: $crate::base::kernel::checked(concat!($($since)?)),
                },)+], &[$($text),+]);
        }
        impl $crate::base::settings::Value for $name {
            fn number(&self, _: &$crate::base::settings::Row) -> Option<u64> {
                Some(*self as u64)
            }
            fn set_number(&mut self, _: &$crate::base::settings::Row, n: u64) {
                if let Some(value) = Self::ALL.get(n as usize) {
                    *self = *value;
                }
            }
        }
    )+ };
}

/// A plain struct of settings, and the table of its rows.
///
/// A row is `field as "name": Type = value, "release" => value, .attribute(..);` below its doc
/// comment. Without `as` the name is that of the field. A value holds from its release on; the
/// first holds for all kernels before. Where no kernel decides, values are left out, and presets
/// give them. Fields after `with` are no settings. Rows after `more` are further names of fields.
/// `since` is the release that brought the whole: earlier kernels have none of it. `presets` is a
/// static of [`Preset`](crate::base::settings::Preset)s. `check` finds a contradiction: the setting,
/// the text to write instead, and why.
#[macro_export]
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $Config:ident {
            $($(#[doc = $doc:literal])+ $field:ident $(as $name:literal)?: $ty:ty =
                $first:expr $(, $since:literal => $value:expr)*
                $(, $(. $attribute:ident($($arg:tt)*))+)?;)+
        }
        $(more { $($more:tt)+ })?
        $(with { $($(#[$plain_meta:meta])+ $plain:ident: $plain_ty:ty = $plain_value:expr;)+ })?
        $(since $first_release:literal;)?
        $(presets $presets:path;)?
        $(check $check:path;)?
    ) => {
        $crate::settings! {
            $(#[$meta])*
            pub struct $Config {
                $($(#[doc = $doc])+ $field $(as $name)?: $ty
                    $(, $(. $attribute($($arg)*))+)?;)+
            }
            $(more { $($more)+ })?
            $(with { $($(#[$plain_meta])+ $plain: $plain_ty;)+ })?
            of_kernel $Config::of, concat!($($first_release)?);
            $(presets $presets;)?
            $(check $check;)?
        }

        $($(const _: &str = $crate::base::kernel::checked($since);)*)+

        impl $Config {
            /// The values of a kernel.
            pub const fn of(kernel: $crate::base::kernel::Kernel) -> Self {
                // Read where no row has a history, too.
                let _ = kernel;
                $Config {
                    $($field: {
                        #[allow(unused_mut)]
                        let mut value: $ty = $first;
                        $(if kernel.has($since) {
                            value = $value;
                        })*
                        value
                    },)+
                    $($($plain: $plain_value,)+)?
                }
            }
        }
    };

    (
        $(#[$meta:meta])*
        pub struct $Config:ident {
            $($(#[doc = $doc:literal])+ $field:ident $(as $name:literal)?: $ty:ty
                $(, $(. $attribute:ident($($arg:tt)*))+)?;)+
        }
        $(more {
            $($(#[doc = $more_doc:literal])+ $more:ident as $more_name:literal: $more_ty:ty,
                after $after:literal, $(. $more_attribute:ident($($more_arg:tt)*))+;)+
        })?
        $(with { $($(#[$plain_meta:meta])+ $plain:ident: $plain_ty:ty;)+ })?
        $(of_kernel $of:path, $of_since:expr;)?
        $(presets $presets:path;)?
        $(check $check:path;)?
    ) => {
        $(#[$meta])*
        pub struct $Config {
            $($(#[doc = $doc])+ pub $field: $ty,)+
            $($($(#[$plain_meta])+ pub $plain: $plain_ty,)+)?
        }

        impl $crate::base::settings::Settings for $Config {
            const ROWS: &'static [$crate::base::settings::Row] = {
                use $crate::base::settings::{Formed, Row, placed};
                const OWN: &[Row] = &[$(
                    Row::new(
                        $crate::settings!(@name $field $($name)?),
                        stringify!($field),
                        concat!($($doc),+),
                        <$ty as Formed>::FORM,
                    ).drawn(<$ty as Formed>::DRAWN)$($(.$attribute($($arg)*))+)?,
                )+];
                const MORE: &[(&str, Row)] = &[$($((
                    $after,
                    Row::new(
                        $more_name,
                        stringify!($more),
                        concat!($($more_doc),+),
                        <$more_ty as Formed>::FORM,
                    ).drawn(<$more_ty as Formed>::DRAWN)$(.$more_attribute($($more_arg)*))+,
                ),)+)?];
                &placed::<{ OWN.len() + MORE.len() }>(OWN, MORE)
            };
            // One match each, rather than two functions a row: half the code.
            fn field(&self, field: &str) -> Option<&dyn $crate::base::settings::Value> {
                Some(match field {
                    $(stringify!($field) => &self.$field,)+
                    _ => return None,
                })
            }
            fn field_mut(
                &mut self,
                field: &str,
            ) -> Option<&mut dyn $crate::base::settings::Value> {
                Some(match field {
                    $(stringify!($field) => &mut self.$field,)+
                    _ => return None,
                })
            }
            $(fn of_kernel(kernel: $crate::base::kernel::Kernel) -> Option<Self> {
                kernel.has($of_since).then(|| $of(kernel))
            })?
            $(fn presets() -> &'static [$crate::base::settings::Preset<Self>] {
                $presets
            })?
            $(fn validate(&self) -> Result<(), $crate::base::settings::KnobError> {
                match $check(self) {
                    None => Ok(()),
                    Some((knob, instead, because)) => {
                        let value = $crate::base::settings::Settings::get(self, knob);
                        Err($crate::base::settings::KnobError::Contradiction {
                            setting: format!("{knob} = \"{}\"", value.unwrap_or_default()),
                            instead: instead.to_owned(),
                            because,
                        })
                    }
                }
            })?
        }
    };

    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
}
