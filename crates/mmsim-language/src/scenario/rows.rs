//! One row for each key: its name, form, default and sentence, and the field that it fills.
//!
//! [`rows!`] makes two things of a list of rows: the table of keys that the reader, `schema`,
//! `--dry-run`, reports and docs/scenarios.md walk, and the function that fills a config. A row
//! without a field and a field without a row do not compile.

use mmsim_core::base::settings::Form;
use mmsim_core::base::time::SimDuration;

use super::keys::Kind;
use super::read::Reader;
use mmsim_base::error::Error;

/// Words of a file and the values that they stand for.
pub(super) struct Words<T: 'static> {
    /// As they are written.
    pub(super) names: &'static [&'static str],
    /// In the same order.
    pub(super) values: &'static [T],
}

/// The words of a form.
///
/// # Panics
/// It has none.
pub(super) const fn names_of(form: Form) -> &'static [&'static str] {
    match form {
        Form::Word(_, names) => names,
        _ => panic!("a form without words"),
    }
}

/// Pairs each word with its value.
macro_rules! words {
    ($($word:literal => $value:expr),* $(,)?) => {
        $crate::scenario::rows::Words { names: &[$($word),*], values: &[$($value),*] }
    };
}
pub(super) use words;

/// A table of keys, and the function that reads a config by it.
///
/// A field has one of these:
/// - `("key", form, default, "sentence")`: a key of its own; the form of a word is
///   `one of { "word" => value, .. }` or `one of WORDS`;
/// - `(struct Config { field: ..; })`: the fields of a config within, of one key each;
/// - `[ROW]`: a key that several tables share;
/// - `{value; ("key", ..), ..}`: a value from several keys or from none;
/// - `{value; ..KEYS}`: a value from keys that several tables share.
///
/// After the reading, `check` looks at the whole. `show` names a function that gives every field
/// back in the form of its row, where each has one.
///
/// A table whose values come from all of its keys together has `keys { ("key", ..) .. }` in place of
/// a function; `{..KEYS}` are keys that several tables share.
macro_rules! rows {
    (@value $r:ident (struct $Config:ident {$($field:ident: $spec:tt;)*})) => {
        $Config { $($field: rows!(@value $r $spec)),* }
    };
    (@value $r:ident ($name:expr, one of {$($words:tt)*}, $fallback:expr, $doc:expr)) => {
        $r.word($name, &words!($($words)*))?
    };
    (@value $r:ident ($name:expr, one of $words:expr, $fallback:expr, $doc:expr)) => {
        $r.word($name, &$words)?
    };
    (@value $r:ident ($name:expr, $kind:expr, $fallback:expr, $doc:expr)) => { $r.get($name)? };
    (@value $r:ident [$row:expr]) => { $r.get($row.name)? };
    (@value $r:ident {$value:expr $(; $($rows:tt)*)?}) => { $value };

    (@row ($name:expr, one of {$($words:tt)*}, $fallback:expr, $doc:expr)) => {
        key($name, Kind::Choice(words!($($words)*).names), $fallback, $doc)
    };
    (@row ($name:expr, one of $words:expr, $fallback:expr, $doc:expr)) => {
        key($name, Kind::Choice($words.names), $fallback, $doc)
    };
    (@row ($name:expr, $kind:expr, $fallback:expr, $doc:expr)) => {
        key($name, $kind, $fallback, $doc)
    };

    (@row [$row:expr]) => { $row };

    (@one {$value:expr; $row:tt}) => { rows!(@row $row) };
    (@one $row:tt) => { rows!(@row $row) };

    (@rows (struct $Config:ident {$($field:ident: $spec:tt;)*})) => {
        &[$(rows!(@one $spec)),*]
    };
    (@rows {..$rows:expr}) => { $rows };
    (@rows {$value:expr}) => { &[] };
    (@rows {$value:expr; ..$rows:expr}) => { $rows };
    (@rows {$value:expr; $($row:tt),*}) => { &[$(rows!(@row $row)),*] };
    (@rows [$row:expr]) => { &[$row] };
    (@rows $row:tt) => { &[rows!(@row $row)] };

    (@show; $($rest:tt)*) => {};
    (@show $show:ident; $Config:ident {$($field:ident: $spec:tt;)*}) => {
        /// Each key and what its field says; `None`: nothing.
        pub fn $show(c: &$Config) -> Vec<(&'static str, Option<String>)> {
            vec![$({
                let row: &[KeySpec; 1] = rows!(@rows $spec);
                (row[0].name, c.$field.show(row[0].kind))
            }),*]
        }
    };

    (
        $(#[$meta:meta])*
        $TABLE:ident $(: $shared:expr)?,
        $title:expr,
        $about:expr;
        keys {$($row:tt)*}
    ) => {
        $(#[$meta])*
        pub static $TABLE: TableSpec = TableSpec {
            title: $title,
            doc: $about,
            groups: &[$($shared,)? $(rows!(@rows $row)),*],
        };
    };

    (
        $(#[$meta:meta])*
        $TABLE:ident $(: $shared:expr)?,
        $title:expr,
        $about:expr;
        $(check $check:ident;)?
        $(show $show:ident;)?
        fn $read:ident($r:ident, $cx:ident: $Cx:ty) -> $Config:ident {
            $($field:ident: $spec:tt;)*
        }
    ) => {
        rows! {
            $(#[$meta])*
            $TABLE $(: $shared)?, $title, $about;
            keys {$({..rows!(@rows $spec)})*}
        }

        pub(in crate::scenario) fn $read($r: &Reader<'_>, $cx: $Cx) -> Result<$Config, Error> {
            let config = $Config { $($field: rows!(@value $r $spec)),* };
            $($check($r, &config)?;)?
            Ok(config)
        }

        rows!(@show $($show)?; $Config {$($field: $spec;)*});
    };
}
pub(super) use rows;

/// A type that fields have.
pub(super) trait Field: Sized {
    /// The value of a key. A missing one is an error unless the field is an [`Option`].
    fn read(r: &Reader<'_>, key: &str) -> Result<Self, Error>;
}

macro_rules! fields {
    ($($T:ty: $read:expr;)*) => {$(
        impl Field for Option<$T> {
            fn read(r: &Reader<'_>, key: &str) -> Result<Self, Error> {
                let read: fn(&Reader<'_>, &str) -> Result<Self, Error> = $read;
                read(r, key)
            }
        }

        impl Field for $T {
            fn read(r: &Reader<'_>, key: &str) -> Result<Self, Error> {
                r.need(key)?;
                Ok(<Option<$T>>::read(r, key)?.unwrap_or_default())
            }
        }
    )*};
}

fields! {
    u64: |r, key| match r.spec(key).kind {
        Kind::Size(_) => r.opt_pages(key),
        Kind::Limit => r.limit(key),
        Kind::Rate => r.opt_rate(key),
        _ => r.opt_count(key),
    };
    u32: |r, key| match r.spec(key).kind {
        Kind::Size(_) => r.opt_pages_u32(key),
        // The range of the row ends below 2^32.
        _ => Ok(r.opt_count(key)?.map(|n| u32::try_from(n).unwrap_or(u32::MAX))),
    };
    u16: |r, key| Ok(r.opt_count(key)?.map(|n| u16::try_from(n).unwrap_or(u16::MAX)));
    u8: |r, key| Ok(r.opt_count(key)?.map(|n| u8::try_from(n).unwrap_or(u8::MAX)));
    // The range of the row fits.
    i16: |r, key| Ok(r.opt_whole(key)?.map(|n| i16::try_from(n).unwrap_or_default()));
    f64: |r, key| r.opt_number(key);
    bool: |r, key| r.opt_flag(key);
    SimDuration: |r, key| r.opt_time(key);
}

/// A field as reports have it.
pub(super) trait Show {
    /// In the form of its row; `None`: it says nothing.
    fn show(&self, form: Kind) -> Option<String>;
}

impl Show for SimDuration {
    fn show(&self, form: Kind) -> Option<String> {
        Some(match form {
            Kind::Time => self.to_string(),
            // The name of the key carries the unit.
            _ => (self.as_nanos() / 1000).to_string(),
        })
    }
}

impl Show for Option<u64> {
    fn show(&self, form: Kind) -> Option<String> {
        self.map(|n| if matches!(form, Kind::Rate) { format!("{n} B/s") } else { n.to_string() })
    }
}

impl Show for u32 {
    fn show(&self, form: Kind) -> Option<String> {
        Some(if matches!(form, Kind::Size(_)) { format!("{self} pages") } else { self.to_string() })
    }
}

macro_rules! shown {
    ($($T:ty),*) => {$(
        impl Show for $T {
            fn show(&self, _form: Kind) -> Option<String> {
                Some(self.to_string())
            }
        }
    )*};
}

shown!(String, bool);

impl Reader<'_> {
    /// The value of a key for its field.
    pub(super) fn get<T: Field>(&self, key: &str) -> Result<T, Error> {
        T::read(self, key)
    }

    /// Value that the word of a key stands for.
    pub(super) fn word<T: Copy>(&self, key: &str, words: &Words<T>) -> Result<T, Error> {
        Ok(words.values[self.position(key)?])
    }
}
