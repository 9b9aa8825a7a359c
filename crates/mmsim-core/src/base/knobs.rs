//! Knobs: what every configurable policy has in common, and the rules of the machine.
//!
//! Decisions are the fields of a plain struct. The table that makes the struct (the
//! macro `knob_struct`) makes the knobs that scenario files write: name, allowed values, where it
//! comes from, reading and writing as text. Named points are [`Preset`]s, each built on the one
//! before it.

use super::kernel::Kernel;
use std::fmt;

/// One value that a knob can take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueInfo {
    /// As scenario files write it.
    pub name: &'static str,
    /// Meaning of the value.
    pub doc: &'static str,
}

/// One knob, for listings, messages and documents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnobInfo {
    /// As scenario files write it.
    pub name: &'static str,
    /// Decision that the knob makes.
    pub doc: &'static str,
    /// The kernel release or patch subject that it comes from.
    pub source: &'static str,
    /// Allowed values; empty for a number.
    pub values: &'static [ValueInfo],
    /// The range of a number.
    pub range: Option<(u32, u32)>,
}

impl KnobInfo {
    /// The names of the allowed values.
    pub fn allowed(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.values.iter().map(|v| v.name)
    }

    /// Allowed values as text for people: `a | b`, or `0 to 7`.
    pub fn takes(&self) -> String {
        match self.range {
            Some((low, high)) => format!("{low} to {high}"),
            None => self.allowed().collect::<Vec<_>>().join(" | "),
        }
    }
}

/// Why a knob could not be set, or why the knobs make no sense together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KnobError {
    /// There is no such knob.
    UnknownKnob {
        /// Name that was looked up.
        name: String,
        /// The knob that was probably meant.
        nearest: Option<&'static str>,
    },
    /// The knob does not take this value.
    UnknownValue {
        /// Which knob.
        knob: &'static str,
        /// Value that was to be set.
        value: String,
        /// Allowed values.
        allowed: Vec<&'static str>,
    },
    /// The knob takes a number, and this is none or too small or too large.
    OutOfRange {
        /// Which knob.
        knob: &'static str,
        /// Value that was to be set.
        value: String,
        /// Smallest and largest number.
        range: (u32, u32),
    },
    /// Two knobs contradict each other.
    Contradiction {
        /// The setting that needs another one, `knob = "value"`.
        setting: String,
        /// Text to write instead.
        instead: String,
        /// Why.
        because: &'static str,
    },
}

impl KnobError {
    /// The message without the name of the knob in front, for those who say where it was set.
    pub fn remark(&self) -> String {
        match self {
            KnobError::UnknownKnob { name, nearest: Some(nearest) } => {
                format!("unknown knob \"{name}\", did you mean \"{nearest}\"?")
            }
            KnobError::UnknownKnob { name, nearest: None } => format!("unknown knob \"{name}\""),
            KnobError::UnknownValue { value, allowed, .. } => {
                format!("unknown value \"{value}\", write one of \"{}\"", allowed.join("\", \""))
            }
            KnobError::OutOfRange { value, range: (low, high), .. } => {
                format!("found {value}, write a whole number from {low} to {high}")
            }
            KnobError::Contradiction { setting, instead, because } => {
                format!("{setting} makes no sense here: {because}; write {instead}")
            }
        }
    }
}

impl fmt::Display for KnobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KnobError::UnknownValue { knob, .. } | KnobError::OutOfRange { knob, .. } => {
                write!(f, "{knob}: {}", self.remark())
            }
            _ => f.write_str(&self.remark()),
        }
    }
}

impl std::error::Error for KnobError {}

/// A type whose values can be written in a scenario file.
pub trait KnobValue: Copy {
    /// Allowed values; empty for a number.
    const VALUES: &'static [ValueInfo];
    /// The range of a number.
    const RANGE: Option<(u32, u32)> = None;
    /// As scenario files write it.
    fn text(self) -> String;
    /// The value that is written so.
    fn from_text(text: &str) -> Option<Self>;
}

impl KnobValue for bool {
    const VALUES: &'static [ValueInfo] =
        &[ValueInfo { name: "no", doc: "no" }, ValueInfo { name: "yes", doc: "yes" }];
    fn text(self) -> String {
        if self { "yes" } else { "no" }.into()
    }
    /// Besides `yes` and `no` the words that TOML and the sources of the series use.
    fn from_text(text: &str) -> Option<bool> {
        match text {
            "yes" | "true" | "on" => Some(true),
            "no" | "false" | "off" => Some(false),
            _ => None,
        }
    }
}

/// A whole number within bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ranged<const LOW: u32, const HIGH: u32>(u32);

impl<const LOW: u32, const HIGH: u32> Ranged<LOW, HIGH> {
    /// The number.
    ///
    /// # Panics
    /// If it lies outside; in a constant that is an error of the compiler.
    pub const fn new(n: u32) -> Self {
        assert!(LOW <= n && n <= HIGH);
        Ranged(n)
    }
    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl<const LOW: u32, const HIGH: u32> KnobValue for Ranged<LOW, HIGH> {
    const VALUES: &'static [ValueInfo] = &[];
    const RANGE: Option<(u32, u32)> = Some((LOW, HIGH));
    fn text(self) -> String {
        self.0.to_string()
    }
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok().filter(|n| (LOW..=HIGH).contains(n)).map(Ranged)
    }
}

/// Reads the value of a knob.
///
/// # Errors
/// The knob does not take it.
pub fn parse<T: KnobValue>(knob: &'static str, value: &str) -> Result<T, KnobError> {
    T::from_text(value).ok_or_else(|| match T::RANGE {
        Some(range) => KnobError::OutOfRange { knob, value: value.to_owned(), range },
        None => KnobError::UnknownValue {
            knob,
            value: value.to_owned(),
            allowed: T::VALUES.iter().map(|v| v.name).collect(),
        },
    })
}

/// The answer to a name that is none of `knobs`: the knob whose name is nearest, unless none
/// comes near. Underscores are taken for dashes.
pub fn unknown_knob(knobs: &[KnobInfo], name: &str) -> KnobError {
    let dashed = name.replace('_', "-");
    let nearest = knobs
        .iter()
        .map(|k| (strsim::damerau_levenshtein(&dashed, k.name), k.name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, nearest)| *distance <= nearest.len() / 3)
        .map(|(_, nearest)| nearest);
    KnobError::UnknownKnob { name: name.to_owned(), nearest }
}

/// A struct of knobs.
pub trait Knobs: Copy + PartialEq + fmt::Debug + 'static {
    /// All knobs, in the order of the fields.
    fn knobs() -> &'static [KnobInfo];
    /// All presets, each after the one that it was built on.
    fn presets() -> &'static [Preset<Self>];
    /// The value of a knob as scenario files write it, or `None` if there is no such knob.
    fn get(&self, name: &str) -> Option<String>;
    /// Sets one knob. Whether the whole still makes sense is the question of
    /// [`Knobs::validate`].
    ///
    /// # Errors
    /// There is no such knob, or it does not take the value.
    fn set(&mut self, name: &str, value: &str) -> Result<(), KnobError>;
    /// Rejects combinations that no kernel could mean.
    ///
    /// # Errors
    /// The first contradiction.
    fn validate(&self) -> Result<(), KnobError>;
    /// The preset of that name.
    fn preset(name: &str) -> Option<&'static Preset<Self>> {
        Self::presets().iter().find(|p| p.name == name)
    }
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
    /// The preset that it was built on: that of the kernel before, or the stage before it in a
    /// series.
    pub before: Option<&'static str>,
    /// Description in one line.
    pub about: &'static str,
    /// The subject of the patch that leads here, for a stage that is one patch.
    pub subject: Option<&'static str>,
}

impl<C: Knobs> Preset<C> {
    /// The knobs that differ from the preset [before](Self::before): name, value there, value
    /// here. Empty for the first.
    pub fn changes(&self) -> Vec<(&'static str, String, String)> {
        let Some(before) = self.before.and_then(C::preset) else { return Vec::new() };
        let value = |c: &C, knob| c.get(knob).unwrap_or_default();
        let knobs = C::knobs().iter().map(|k| k.name);
        knobs
            .map(|k| (k, value(&before.config, k), value(&self.config, k)))
            .filter(|(_, there, here)| there != here)
            .collect()
    }
}

/// Enums whose values are knob values: each with its name in files and what it means.
#[macro_export]
macro_rules! knob_enums {
    ($($(#[$meta:meta])* $name:ident { $($value:ident = $text:literal, $doc:literal;)+ })+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $(#[doc = $doc] $value,)+ }
        impl $crate::base::knobs::KnobValue for $name {
            const VALUES: &'static [$crate::base::knobs::ValueInfo] =
                &[$($crate::base::knobs::ValueInfo { name: $text, doc: $doc },)+];
            fn text(self) -> String {
                match self { $($name::$value => $text,)+ }.into()
            }
            fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some($name::$value),)+ _ => None }
            }
        }
    )+ };
}

/// A struct of knobs, from its table. Presets and contradictions are given by a static `PRESETS`
/// and a method `contradiction` of the struct. Fields after `with` are no knobs.
#[macro_export]
macro_rules! knob_struct {
    ($(#[$meta:meta])* $config:ident {
        $($field:ident : $ty:ty = $name:literal, $doc:literal, $source:literal;)+
    } $(with { $($(#[$plain_meta:meta])+ $plain:ident : $plain_ty:ty;)+ })?) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $config {
            $(#[doc = $doc] #[doc = concat!("\n\nSource: ", $source)] pub $field: $ty,)+
            $($($(#[$plain_meta])+ pub $plain: $plain_ty,)+)?
        }

        static KNOBS: &[$crate::base::knobs::KnobInfo] = &[$(
            $crate::base::knobs::KnobInfo {
                name: $name,
                doc: $doc,
                source: $source,
                values: <$ty as $crate::base::knobs::KnobValue>::VALUES,
                range: <$ty as $crate::base::knobs::KnobValue>::RANGE,
            },
        )+];

        impl $crate::base::knobs::Knobs for $config {
            fn knobs() -> &'static [$crate::base::knobs::KnobInfo] {
                KNOBS
            }
            fn presets() -> &'static [$crate::base::knobs::Preset<Self>] {
                PRESETS
            }
            fn get(&self, name: &str) -> Option<String> {
                match name {
                    $($name => Some($crate::base::knobs::KnobValue::text(self.$field)),)+
                    _ => None,
                }
            }
            fn set(&mut self, name: &str, value: &str) -> Result<(), $crate::base::knobs::KnobError> {
                match name {
                    $($name => self.$field = $crate::base::knobs::parse($name, value)?,)+
                    _ => return Err($crate::base::knobs::unknown_knob(KNOBS, name)),
                }
                Ok(())
            }
            fn validate(&self) -> Result<(), $crate::base::knobs::KnobError> {
                match self.contradiction() {
                    None => Ok(()),
                    Some((knob, instead, because)) => {
                        Err($crate::base::knobs::KnobError::Contradiction {
                            setting: format!(
                                "{knob} = \"{}\"",
                                $crate::base::knobs::Knobs::get(self, knob).unwrap_or_default()
                            ),
                            instead: instead.to_owned(),
                            because,
                        })
                    }
                }
            }
        }
    };
}
