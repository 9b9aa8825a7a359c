//! The page of a validation, for `mmsim-lab validate --html` and `mmsim-lab view`.

use std::collections::BTreeSet;

use mmsim_lab::validate::document::Validation;
use mmsim_lab::validate::rows::PointRow;
use mmsim_view::page;
use mmsim_view::validation::{Sheet, Value};

/// Kernel, experiment, LRU, counter, point, phase.
type Place<'a> = [&'a str; 6];

/// The values of a validation; what neither kernel nor model counted is left out.
pub(crate) fn values(v: &Validation) -> Vec<Value> {
    let missed: BTreeSet<Place<'_>> = v
        .rules
        .iter()
        .flat_map(|r| r.misses.iter().map(move |m| (r, m)))
        .map(|(r, m)| {
            [&r.kernel, &r.experiment, &r.policy, &r.counter, &m.point, &m.phase]
                .map(String::as_str)
        })
        .collect();
    let value = |r: &PointRow| {
        let place = [&r.kernel, &r.experiment, &r.policy, &r.counter, &r.point, &r.phase];
        Value {
            names: [&r.experiment, &r.point, &r.kernel, &r.policy, &r.phase, &r.counter]
                .map(String::clone),
            recorded: r.recorded,
            range: (r.min, r.max),
            simulated: r.simulated,
            inside: r.inside,
            missed: missed.contains(&place.map(String::as_str)),
        }
    };
    v.points.iter().filter(|r| !r.is_nothing()).map(value).collect()
}

/// The page, with these tables below.
pub(crate) fn page(v: &Validation, sheets: &[Sheet]) -> String {
    let all = v.points.iter().filter(|r| !r.is_nothing()).count();
    let met = v.rules.iter().filter(|r| r.met).count();
    let about = [
        format!(
            "Counts of kernels beside those of mmsim {}: {all} values, each a counter of a phase of \
             a recorded point, means over its repetitions.",
            v.mmsim
        ),
        format!(
            "{met} of {} rules on how close the model should be are met. Counters that neither \
             kernel nor model counted are left out.",
            v.rules.len()
        ),
    ];
    page::validation("Recorded and simulated", &about, &values(v), sheets)
}
