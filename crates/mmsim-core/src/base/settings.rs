//! Settings: one row for each, beside the field that it fills.
//!
//! [`settings!`](crate::settings) makes the plain struct and the table of its rows of one list. All
//! that a row says besides its name, type and values is a chain of methods of [`Row`], so a new
//! attribute touches no macro. Whoever reads, writes, lists or documents settings walks the rows.
//! Named points are [`Preset`]s, each built on the one before it.

mod refusal;
mod row;
mod value;

pub use refusal::{KnobError, Unfit};
pub use row::{Form, MANY, Row, Word};
pub use value::{Formed, OrNumber, Value, Worded, show_pages};

use super::kernel::Kernel;
use refusal::unknown_knob;
use std::fmt;

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
        impl $crate::base::settings::Worded for $name {
            const WORDS: &'static [Self] = Self::ALL;
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
