//! Modules: contexts over physical memory with fixed schemes, of which a user only sets a few
//! numbers.
//!
//! A module turns its parameters into those of a context. It runs while it is enabled, and reads
//! its parameters again on command; if they make no sense then, it switches itself off.
//!
//! Linux 6.12 `mm/damon/reclaim.c`, `lru_sort.c`, `modules-common.h`; Linux 7.3 `mm/damon/stat.c`.

pub mod lru_sort;
pub mod reclaim;
pub mod stat;

pub use lru_sort::LruSort;
pub use reclaim::Reclaim;
pub use stat::DamonStat;

use crate::attrs::MonitoringAttrs;
use crate::config::DamonConfig;
use crate::context::{Context, Parameters};
use crate::error::DamonError;
use crate::ranges::set_regions;
use crate::region::Target;
use mmsim_core::base::rng::Rng;
use std::fmt;
use std::ops::Range;

/// Unit of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Bytes; also addresses.
    Bytes,
    /// Thousandths.
    PerMil,
    /// Regions.
    Regions,
    /// 0 or 1.
    YesNo,
    /// Something without a unit.
    Plain,
}

/// A parameter of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// As the kernel names it.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its default.
    pub default: u64,
    /// The smallest and largest value.
    pub range: (u64, u64),
    /// Its meaning.
    pub doc: &'static str,
}

/// Why a parameter could not be set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParameterError {
    /// There is no such parameter.
    Unknown {
        /// Name that was given.
        name: String,
        /// All that there are.
        names: Vec<&'static str>,
    },
    /// The value is too small or too large.
    OutOfRange {
        /// Which parameter.
        name: &'static str,
        /// Value that was to be set.
        value: u64,
        /// The smallest and largest value.
        range: (u64, u64),
    },
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterError::Unknown { name, names } => {
                write!(f, "unknown parameter \"{name}\", write one of {}", names.join(", "))
            }
            ParameterError::OutOfRange { name, value, range: (low, high) } => {
                write!(f, "{name}: found {value}, write a number from {low} to {high}")
            }
        }
    }
}

impl std::error::Error for ParameterError {}

/// A struct of parameters from its table: name, unit, default, range, meaning.
macro_rules! parameters {
    ($(#[$meta:meta])* $module:ident {
        $($field:ident: $unit:ident = $default:expr, $low:expr => $high:expr, $doc:literal;)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $module { $(#[doc = $doc] pub $field: u64,)+ }

        impl $module {
            /// As the kernel sets them.
            pub const DEFAULT: $module = $module { $($field: $default,)+ };
            /// All parameters, in the order of the fields.
            pub const PARAMETERS: &[$crate::modules::Parameter] = &[$(
                $crate::modules::Parameter {
                    name: stringify!($field),
                    unit: $crate::modules::Unit::$unit,
                    default: $default,
                    range: ($low, $high),
                    doc: $doc,
                },
            )+];

            /// The value of a parameter, or none if there is no such parameter.
            pub fn get(&self, name: &str) -> Option<u64> {
                match name {
                    $(stringify!($field) => Some(self.$field),)+
                    _ => None,
                }
            }

            /// Sets a parameter.
            ///
            /// # Errors
            /// There is none of that name, or it does not take the value.
            pub fn set(
                &mut self,
                name: &str,
                value: u64,
            ) -> Result<(), $crate::modules::ParameterError> {
                let field = match name {
                    $(stringify!($field) => &mut self.$field,)+
                    _ => return Err($crate::modules::ParameterError::Unknown {
                        name: name.to_owned(),
                        names: Self::PARAMETERS.iter().map(|p| p.name).collect(),
                    }),
                };
                let known = Self::PARAMETERS.iter().find(|p| p.name == name);
                if let Some(p) = known.filter(|p| value < p.range.0 || value > p.range.1) {
                    let (name, range) = (p.name, p.range);
                    let error = $crate::modules::ParameterError::OutOfRange { name, value, range };
                    return Err(error);
                }
                *field = value;
                Ok(())
            }
        }
    };
}
use parameters;

/// Interface of the modules.
pub trait Module {
    /// The parameters of its context. `ram` is the largest range of memory, which is watched unless
    /// the user named another.
    ///
    /// # Errors
    /// What the user set makes no sense, or there is no memory.
    fn parameters(
        &self,
        config: &DamonConfig,
        ram: Option<Range<u64>>,
    ) -> Result<Parameters, DamonError>;

    /// Values that the user can read: names and values, as of now. The kernel copies them after
    /// each aggregation ([`Hook::AfterAggregation`](crate::Hook::AfterAggregation)).
    fn outputs(&self, context: &Context) -> Vec<(&'static str, u64)>;

    /// Its context, ready to start.
    ///
    /// # Errors
    /// As [`Module::parameters`].
    fn context(
        &self,
        config: DamonConfig,
        ram: Option<Range<u64>>,
        rng: Rng,
    ) -> Result<Context, DamonError> {
        let mut context = Context::new(config, rng);
        context.commit(self.parameters(&config, ram)?)?;
        Ok(context)
    }

    /// Reads the parameters again into its running context (`commit_inputs`). If they make no sense
    /// the module goes off.
    ///
    /// # Errors
    /// As [`Module::parameters`].
    fn commit_inputs(
        &self,
        context: &mut Context,
        ram: Option<Range<u64>>,
    ) -> Result<(), DamonError> {
        let read = self.parameters(context.config(), ram);
        let taken = read.and_then(|p| context.commit(p));
        if taken.is_err() && context.is_running() {
            context.stop()?;
        }
        taken
    }
}

/// The one target of a module: what the user named, or the largest range of memory.
fn target(
    start: u64,
    end: u64,
    ram: Option<Range<u64>>,
    attrs: &MonitoringAttrs,
) -> Result<Target, DamonError> {
    if start > end {
        return Err(DamonError::InvalidModule("monitor_region_start exceeds monitor_region_end"));
    }
    let range = if (start, end) == (0, 0) { ram } else { Some(start..end) };
    let range = range.ok_or(DamonError::InvalidModule("there is no memory to watch"))?;
    let mut target = Target::new(None);
    set_regions(&mut target, &[range], attrs.min_region)?;
    Ok(target)
}

/// A number of regions as contexts take it.
fn regions(n: u64) -> u32 {
    n.min(u64::from(u32::MAX)) as u32
}

/// A number of aggregations as schemes take it.
fn ages(us: u64, aggr_us: u64) -> u32 {
    (us / aggr_us).min(u64::from(u32::MAX)) as u32
}
