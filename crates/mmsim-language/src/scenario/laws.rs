//! Quantities that are the same each time, or follow a law.

use mmsim_workload::law::{Law, Varying};

use super::keys::{Kind, U32};
use super::raw::Value;
use super::read::Reader;
use super::rows::{Field, Words, words};
use super::units;
use mmsim_base::error::Error;

/// The laws by their names, each with the keys that it takes.
pub(super) const LAWS: Words<&[&str]> = words! {
    "exponential" => &["mean"],
    "lognormal" => &["median", "sigma"],
    "pareto" => &["scale", "shape"],
    "gamma" => &["shape", "scale"],
    "poisson" => &["mean"],
};

impl Field for Option<Varying> {
    fn read(r: &Reader<'_>, key: &str) -> Result<Self, Error> {
        varying(r, key)
    }
}

impl Field for Varying {
    fn read(r: &Reader<'_>, key: &str) -> Result<Self, Error> {
        r.need(key)?;
        Ok(varying(r, key)?.unwrap_or_default())
    }
}

/// Form that separates times, counts and sizes.
struct Form {
    /// A parameter; a time in nanoseconds, a size in pages.
    number: fn(&Reader<'_>, &str) -> Result<Option<f64>, Error>,
    /// A bound.
    bound: fn(&Reader<'_>, &str) -> Result<Option<u64>, Error>,
    /// The least and the largest value.
    range: (u64, u64),
}

/// The value of a key of the form [`Kind::Times`], [`Kind::Counts`] or [`Kind::Sizes`].
fn varying(r: &Reader<'_>, key: &str) -> Result<Option<Varying>, Error> {
    let Some(node) = r.find(key) else { return Ok(None) };
    let kind = r.spec(key).kind;
    let form = match kind {
        Kind::Times(_) => Form {
            number: |r, key| Ok(r.opt_time(key)?.map(|t| t.as_nanos() as f64)),
            bound: |r, key| Ok(r.opt_time(key)?.map(|t| t.as_nanos())),
            range: (0, units::LONGEST.as_nanos()),
        },
        Kind::Counts(lo, hi, _) => Form {
            number: |r, key| r.opt_number(key),
            bound: |r, key| r.opt_count(key),
            range: (lo, hi),
        },
        Kind::Sizes(least, _) => Form {
            number: |r, key| Ok(r.opt_pages(key)?.map(|n| n as f64)),
            bound: |r, key| Ok(r.opt_pages_u32(key)?.map(u64::from)),
            range: (least, U32),
        },
        _ => panic!("`{key}` takes no law"),
    };
    if !matches!(node.value, Value::Table(_)) {
        return (form.bound)(r, key).map(|v| v.map(Varying::Always));
    }
    let spec = kind.table().expect("a form with a law has its table");
    let path = r.name_of(key);
    drawn(&Reader::open(r.sources, node, spec, &path)?, &form).map(Some)
}

fn drawn(r: &Reader<'_>, form: &Form) -> Result<Varying, Error> {
    let word = r.choice("law")?;
    // The words of times are among those of all.
    let nth = LAWS.names.iter().position(|name| *name == word);
    let takes = nth.map_or(&[][..], |i| LAWS.values[i]);
    for key in ["mean", "median", "sigma", "scale", "shape"] {
        if r.has(key) && !takes.contains(&key) {
            let found = format!("the law \"{word}\" has no such parameter");
            return Err(r.error(key, found, format!("`{}`", takes.join("` and `"))));
        }
    }
    let positive = |key: &str| -> Result<f64, Error> {
        r.need(key)?;
        match (form.number)(r, key)? {
            Some(x) if x > 0.0 => Ok(x),
            _ => Err(r.error(key, "nothing at all", "more than 0")),
        }
    };
    let number = |key: &str| -> Result<f64, Error> {
        r.need(key)?;
        Ok(r.opt_number(key)?.unwrap_or_default())
    };
    let law = match word {
        "exponential" => Law::Exponential { mean: positive("mean")? },
        "lognormal" => Law::Lognormal { median: positive("median")?, sigma: number("sigma")? },
        "pareto" => Law::Pareto { scale: positive("scale")?, shape: number("shape")? },
        "gamma" => Law::Gamma { shape: number("shape")?, scale: positive("scale")? },
        _ => Law::Poisson { mean: positive("mean")? },
    };
    let (lo, hi) = form.range;
    let within = |key: &str, or: u64| -> Result<u64, Error> {
        match (form.bound)(r, key)? {
            Some(n) if !(lo..=hi).contains(&n) => {
                let found = format!("{n} is out of the range of the key");
                Err(r.error(key, found, format!("a number from {lo} to {hi}")))
            }
            bound => Ok(bound.unwrap_or(or)),
        }
    };
    let (min, max) = (within("min", lo)?, within("max", hi)?);
    if min > max {
        return Err(r.error("max", "it is below `min`", "a larger value"));
    }
    match law {
        Law::Pareto { shape, .. } if shape <= 1.0 && !r.has("max") => {
            Err(r.error("shape", "the mean would be infinite", "more than 1, or add `max`"))
        }
        Law::Pareto { scale, .. } if scale >= max as f64 => {
            Err(r.error("scale", "all values would become `max`", "a smaller value"))
        }
        _ => Ok(Varying::Drawn { law, min, max }),
    }
}
