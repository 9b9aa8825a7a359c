//! Pressure files: totals and averages that they show, triggers that are written to them.

use crate::base::time::{SimDuration, SimTime};

/// Pressure stall information: running sums in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Pressure {
    /// Some thread was stalled on memory.
    pub some_us: u64,
    /// All non-idle threads were.
    pub full_us: u64,
}

impl Pressure {
    /// Without any stall.
    pub const NONE: Pressure = Pressure { some_us: 0, full_us: 0 };

    /// Microseconds of some, and of all, stalled.
    pub const fn new(some_us: u64, full_us: u64) -> Self {
        Pressure { some_us, full_us }
    }
}

/// The totals of `/proc/pressure/memory`. They are summed up on request, so workloads that do not
/// use them cost nothing.
pub trait PressureTotals: std::fmt::Debug {
    /// Totals from the start of the run up to `now`. Asking changes nothing.
    fn totals(&self, now: SimTime) -> Pressure;
}

/// The same at all times.
impl PressureTotals for Pressure {
    fn totals(&self, _now: SimTime) -> Pressure {
        *self
    }
}

/// 1 per cent in the fixed point of averages.
pub const PERCENT: u64 = 2048;

/// Averages of the share of time with pressure over the last 10, 60 and 300 s, in 1/2048
/// of a per cent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PressureAverages {
    /// Some thread was stalled on memory.
    pub some: [u64; 3],
    /// All non-idle threads were.
    pub full: [u64; 3],
}

impl PressureAverages {
    /// An average as the file prints it: whole per cent, and hundredths rounded down.
    pub const fn digits(average: u64) -> (u64, u64) {
        (average / PERCENT, average % PERCENT * 100 / PERCENT)
    }
}

/// Stalls that a trigger counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stall {
    /// Some thread is stalled.
    Some,
    /// All threads that are not idle are.
    Full,
}

/// A line written to a pressure file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TriggerSpec {
    /// Stalls that count.
    pub stall: Stall,
    /// Stall time that fires it, above 0 and at most the window.
    pub threshold: SimDuration,
    /// Time within which they count, up to 10 s.
    pub window: SimDuration,
}

impl TriggerSpec {
    /// The longest window (`WINDOW_MAX_US`).
    pub const LONGEST: SimDuration = SimDuration::from_secs(10);
}
