//! Laws of quantities that are drawn: times, counts and sizes.

use super::key;
use crate::scenario::keys::{Fallback, KeySpec, Kind, MANY, TableSpec};
use crate::scenario::laws::LAWS;
use crate::scenario::rows::rows;

use Fallback::{Auto, Required};
use Kind::{Choice, Count, Number, Size, Time};

/// A duration, or a law of durations.
pub(in crate::scenario) const TIMES: Kind = Kind::Times(&LAW_OF_TIMES);

/// A whole number from `lo` to `hi`, or a law of such.
pub(in crate::scenario) const fn counts(lo: u64, hi: u64) -> Kind {
    Kind::Counts(lo, hi, &LAW_OF_COUNTS)
}

/// A size of at least `least` pages, or a law of such.
pub(in crate::scenario) const fn sizes(least: u64) -> Kind {
    Kind::Sizes(least, &LAW_OF_SIZES)
}

/// Laws of times and of sizes: those without one that is of counts alone.
const OF_TIMES: &[&str] = &["exponential", "lognormal", "pareto", "gamma"];

/// Largest parameter of a law of counts: below it sums are exact enough.
const MOST: f64 = 1e9;

const SIGMA: KeySpec = key(
    "sigma",
    Number(1e-3, 10.0),
    Auto("`lognormal` needs it"),
    "of `lognormal`: standard deviation of the natural logarithm",
);
const SHAPE: KeySpec = key(
    "shape",
    Number(0.05, 1000.0),
    Auto("`pareto` and `gamma` need it"),
    "of `pareto`: the exponent, above 1 unless there is `max`; of `gamma`: how many exponential values are summed",
);

rows! {
    /// A law in the place of a duration.
    LAW_OF_TIMES,
    "A law of times",
    "In place of a duration: `{ law = \"exponential\", mean = \"5ms\" }`. Each value is drawn anew. Arrivals of a Poisson process are exponential times apart.";
    keys {
        ("law", Choice(OF_TIMES), Required, "which law")
        ("mean", Time, Auto("`exponential` needs it"), "of `exponential`: the mean")
        ("median", Time, Auto("`lognormal` needs it"), "of `lognormal`: half are shorter")
        {..&[SIGMA]}
        ("scale", Time, Auto("`pareto` and `gamma` need it"),
            "of `pareto`: the shortest; of `gamma`: the mean is this times `shape`")
        {..&[SHAPE]}
        ("min", Time, Auto("no bound"), "shorter values become this")
        ("max", Time, Auto("`\"1000000s\"`"), "longer values become this")
    }
}

rows! {
    /// A law in the place of a whole number.
    LAW_OF_COUNTS,
    "A law of counts",
    "In place of a whole number: `{ law = \"poisson\", mean = 6 }`. Each value is drawn anew and rounded.";
    keys {
        ("law", Choice(LAWS.names), Required, "which law")
        ("mean", Number(0.0, MOST), Auto("`exponential` and `poisson` need it"),
            "of `exponential` and `poisson`: the mean")
        ("median", Number(0.0, MOST), Auto("`lognormal` needs it"), "of `lognormal`: half are less")
        {..&[SIGMA]}
        ("scale", Number(0.0, MOST), Auto("`pareto` and `gamma` need it"),
            "of `pareto`: the least; of `gamma`: the mean is this times `shape`")
        {..&[SHAPE]}
        ("min", Count(0, MANY), Auto("that of the key"), "lower values become this")
        ("max", Count(0, MANY), Auto("that of the key"), "higher values become this")
    }
}

rows! {
    /// A law in the place of a size.
    LAW_OF_SIZES,
    "A law of sizes",
    "In place of a size: `{ law = \"lognormal\", median = \"100MiB\", sigma = 0.5 }`. The key says what has a draw of its own. Values are rounded to pages, and are one page at least.";
    keys {
        ("law", Choice(OF_TIMES), Required, "which law")
        ("mean", Size(1), Auto("`exponential` needs it"), "of `exponential`: the mean")
        ("median", Size(1), Auto("`lognormal` needs it"), "of `lognormal`: half are smaller")
        {..&[SIGMA]}
        ("scale", Size(1), Auto("`pareto` and `gamma` need it"),
            "of `pareto`: the smallest; of `gamma`: the mean is this times `shape`")
        {..&[SHAPE]}
        ("min", Size(1), Auto("that of the key"), "smaller values become this")
        ("max", Size(1), Auto("that of the key"), "larger values become this")
    }
}
