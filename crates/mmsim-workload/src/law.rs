//! Laws of random quantities: how long a user thinks, when the next request arrives, how long a
//! block lives.
//!
//! Each law is drawn by its textbook method. The exponential and the Pareto law go by inversion, and
//! the normal law behind the lognormal one by Marsaglia's polar method. Gamma is by Marsaglia and
//! Tsang (ACM Transactions on Mathematical Software 26, 2000). Small Poisson laws are products of
//! uniform numbers; others are Hörmann's PTRS (Insurance: Mathematics and Economics 12, 1993).
//!
//! Logarithms and powers come from the crate `libm`, so a draw is the same on every platform. The
//! crate `rand_distr` computes by `num-traits`, which any crate of a build can switch to the
//! platform's powers. proptest does: tests would draw other numbers than the program. So it is the
//! second opinion of the tests.

use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::{Form, Formed, Row, Value};
use mmsim_core::base::time::SimDuration;
use std::borrow::Cow;

/// A law of numbers that are not negative.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Law {
    /// Times between events that happen independently of one another.
    Exponential {
        /// Its mean.
        mean: f64,
    },
    /// The logarithm has a normal law.
    Lognormal {
        /// Half of the values are below it.
        median: f64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// A power law above the scale.
    Pareto {
        /// The least value.
        scale: f64,
        /// The exponent; the mean is finite above 1, the variance above 2.
        shape: f64,
    },
    /// Sums of exponential values, where the shape is whole.
    Gamma {
        /// Number of summands.
        shape: f64,
        /// The mean of each.
        scale: f64,
    },
    /// Counts of events that happen independently of one another; whole numbers.
    Poisson {
        /// Its mean.
        mean: f64,
    },
}

/// Poisson laws below this mean are drawn by products.
const SMALL_POISSON: f64 = 10.0;

impl Law {
    /// The mean; infinite for a Pareto law of shape 1 or less.
    pub fn mean(&self) -> f64 {
        match *self {
            Law::Exponential { mean } | Law::Poisson { mean } => mean,
            Law::Lognormal { median, sigma } => median * libm::exp(sigma * sigma / 2.0),
            Law::Pareto { shape, .. } if shape <= 1.0 => f64::INFINITY,
            Law::Pareto { scale, shape } => scale * shape / (shape - 1.0),
            Law::Gamma { shape, scale } => shape * scale,
        }
    }

    /// The variance; infinite for a Pareto law of shape 2 or less.
    pub fn variance(&self) -> f64 {
        match *self {
            Law::Exponential { mean } => mean * mean,
            Law::Lognormal { median, sigma } => {
                let square = sigma * sigma;
                median * median * libm::exp(square) * libm::expm1(square)
            }
            Law::Pareto { shape, .. } if shape <= 2.0 => f64::INFINITY,
            Law::Pareto { scale, shape } => {
                scale * scale * shape / ((shape - 1.0) * (shape - 1.0) * (shape - 2.0))
            }
            Law::Gamma { shape, scale } => shape * scale * scale,
            Law::Poisson { mean } => mean,
        }
    }

    /// The next value.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        match *self {
            Law::Exponential { mean } => -mean * libm::log(positive(rng)),
            Law::Lognormal { median, sigma } => median * libm::exp(sigma * normal(rng)),
            Law::Pareto { scale, shape } => scale * libm::pow(positive(rng), -1.0 / shape),
            Law::Gamma { shape, scale } => scale * gamma(shape, rng),
            Law::Poisson { mean } if mean < SMALL_POISSON => products(mean, rng),
            Law::Poisson { mean } => ptrs(mean, rng),
        }
    }
}

/// Uniform in (0, 1].
fn positive(rng: &mut Rng) -> f64 {
    1.0 - rng.unit()
}

/// The standard normal law.
fn normal(rng: &mut Rng) -> f64 {
    loop {
        let (x, y) = (2.0 * rng.unit() - 1.0, 2.0 * rng.unit() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * libm::sqrt(-2.0 * libm::log(square) / square);
        }
    }
}

/// The gamma law of scale 1.
fn gamma(shape: f64, rng: &mut Rng) -> f64 {
    if shape < 1.0 {
        return gamma(shape + 1.0, rng) * libm::pow(positive(rng), 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(rng);
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        if libm::log(positive(rng)) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

/// The Poisson law by a product of uniform numbers.
fn products(mean: f64, rng: &mut Rng) -> f64 {
    let least = libm::exp(-mean);
    let (mut n, mut product) = (0.0, positive(rng));
    while product > least {
        n += 1.0;
        product *= positive(rng);
    }
    n
}

/// The Poisson law by transformed rejection with a squeeze.
fn ptrs(mean: f64, rng: &mut Rng) -> f64 {
    let b = 0.931 + 2.53 * libm::sqrt(mean);
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let v_r = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = rng.unit() - 0.5;
        let v = positive(rng);
        let us = 0.5 - u.abs();
        let k = libm::floor((2.0 * a / us + b) * u + mean + 0.43);
        if us >= 0.07 && v <= v_r {
            return k;
        }
        if k < 0.0 || us < 0.013 && v > us {
            continue;
        }
        let left = libm::log(v * inverse_alpha / (a / (us * us) + b));
        if left <= k * libm::log(mean) - mean - libm::lgamma(k + 1.0) {
            return k;
        }
    }
}

/// A quantity that is always the same, or follows a law. Times are in nanoseconds, sizes in pages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Varying {
    /// Always this.
    Always(u64),
    /// Drawn anew each time, rounded to whole numbers.
    Drawn {
        /// By which law.
        law: Law,
        /// Lower values become this.
        min: u64,
        /// Higher values become this.
        max: u64,
    },
}

impl Default for Varying {
    fn default() -> Self {
        Varying::Always(0)
    }
}

impl Formed for Varying {
    const FORM: Form = Form::Time;
    const DRAWN: bool = true;
}
impl Value for Varying {
    fn number(&self, _: &Row) -> Option<u64> {
        if let Varying::Always(value) = *self { Some(value) } else { None }
    }
    fn set_number(&mut self, _: &Row, n: u64) {
        *self = Varying::Always(n);
    }
}

impl From<SimDuration> for Varying {
    fn from(time: SimDuration) -> Self {
        Varying::Always(time.as_nanos())
    }
}

impl Varying {
    /// True if it is always nothing.
    pub fn is_zero(&self) -> bool {
        matches!(self, Varying::Always(0) | Varying::Drawn { max: 0, .. })
    }

    /// Its least value.
    pub fn least(&self) -> u64 {
        match *self {
            Varying::Always(value) => value,
            Varying::Drawn { min, .. } => min,
        }
    }

    /// Its largest value.
    pub fn most(&self) -> u64 {
        match *self {
            Varying::Always(value) => value,
            Varying::Drawn { max, .. } => max,
        }
    }

    /// The mean of its law, within its bounds.
    pub fn middle(&self) -> u64 {
        match *self {
            Varying::Always(value) => value,
            Varying::Drawn { law, min, max } => whole(law.mean(), min, max),
        }
    }

    /// The next value; a draw of `rng` unless it is always the same.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        match *self {
            Varying::Always(value) => value,
            Varying::Drawn { law, min, max } => whole(law.draw(rng), min, max),
        }
    }

    /// Its values. They come from a generator of their own, apart by `purpose`, which begins where
    /// that of the thread is at the first of them. What else the thread draws stays what it is.
    pub fn source(&self, purpose: impl Into<Cow<'static, str>>) -> Source {
        Source { of: *self, purpose: purpose.into(), rng: None }
    }
}

/// Rounded, and within the bounds. A float that is out of range becomes the nearest whole number.
fn whole(x: f64, min: u64, max: u64) -> u64 {
    (libm::round(x) as u64).clamp(min, max)
}

/// Values of a quantity, one after the other.
#[derive(Clone, Debug)]
pub struct Source {
    of: Varying,
    purpose: Cow<'static, str>,
    rng: Option<Rng>,
}

impl Source {
    /// The law of its values.
    pub fn of(&self) -> &Varying {
        &self.of
    }

    /// The next value; `thread`: the generator of its thread.
    pub fn draw(&mut self, thread: &Rng) -> u64 {
        match self.of {
            Varying::Always(value) => value,
            Varying::Drawn { .. } => {
                let rng = self.rng.get_or_insert_with(|| thread.branch(&self.purpose));
                self.of.draw(rng)
            }
        }
    }

    /// The next value as a time.
    pub fn time(&mut self, thread: &Rng) -> SimDuration {
        SimDuration::from_nanos(self.draw(thread))
    }
}
