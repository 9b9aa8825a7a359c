//! Knobs that are times, beside the length of a run.
//!
//! A setting that acts over some time has to act several times in a run before the run can tell
//! what it does. The unit of a number is in the name of its key, as the kernel spells it.

use mmsim_language::scenario::tune::{Knob, Takes};

/// A time that fits less often than this into a run is not judged by the run.
pub const TIMES: f64 = 4.0;

/// Endings of keys whose numbers are times that something waits or lasts, with the nanoseconds of one.
/// (A quota of time within an interval, `quota_ms`, is none.)
const UNITS: [(&str, f64); 7] = [
    ("ttl-ms", 1e6),
    ("_centisecs", 1e7),
    ("parameters.min_age", 1e3),
    ("sample_interval", 1e3),
    ("aggr_interval", 1e3),
    ("wmarks_interval", 1e3),
    ("quota_reset_interval_ms", 1e6),
];

/// The longest time that a knob may be set to, in nanoseconds; none if it is no time.
fn longest(knob: &Knob) -> Option<f64> {
    let of_name = UNITS.iter().find(|(ending, _)| knob.path().ends_with(ending)).map(|u| u.1);
    match knob.takes() {
        Takes::Range { to, unit: "ns", .. } => Some(to),
        Takes::Range { to, .. } => Some(to * of_name?),
        Takes::OneOf(list) => {
            let unit = of_name?;
            let all = list.iter().filter_map(|word| word.parse::<f64>().ok());
            all.max_by(f64::total_cmp).map(|most| most * unit)
        }
    }
}

/// The knobs that runs of this length cannot judge over all of their values, each with the longest of
/// its times, in nanoseconds.
pub fn too_long(knobs: &[Knob], run_ns: u64) -> Vec<(&str, f64)> {
    let long = |knob| longest(knob).filter(|most| most * TIMES > run_ns as f64);
    knobs.iter().filter_map(|knob| Some((knob.path(), long(knob)?))).collect()
}
