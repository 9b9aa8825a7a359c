//! Why pages came back, and why threads stalled, beside each other: where both reports hold
//! classes, the change of each counter is the sum of the changes of its classes.

use mmsim_why::{Class, Counted};

use super::Options;
use super::rows::{FLOOR, Row, row, work};
use crate::derived::Scope;
use crate::document::{ClassReport, RunReport, ShareReport};

/// The name of the row behind the classes of a kind: their sum.
pub const ALL: &str = "all";

/// Which of two reports hold classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Held {
    Neither,
    OnlyA,
    OnlyB,
    Both,
}

/// Which of the sides of all pairs hold classes.
pub(super) fn held(pairs: &[(&RunReport, &RunReport)]) -> Held {
    let all = |of: fn(&(&RunReport, &RunReport)) -> bool| pairs.iter().all(of) && !pairs.is_empty();
    match (all(|p| p.0.why.is_some()), all(|p| p.1.why.is_some())) {
        (false, false) => Held::Neither,
        (true, false) => Held::OnlyA,
        (false, true) => Held::OnlyB,
        (true, true) => Held::Both,
    }
}

/// Number of refaults of a class: in all, or in one phase.
fn count(all: u64, phases: &[ShareReport], phase: Option<&str>) -> u64 {
    match phase {
        None => all,
        Some(name) => phases.iter().filter(|s| s.name == name).map(|s| s.count).sum(),
    }
}

/// The classes of a kind in one run, in the order of their rules; none without classes.
fn of_run(run: &RunReport, of: Option<Counted>, phase: Option<&str>) -> Vec<u64> {
    let Some(why) = &run.why else { return Vec::new() };
    let troubles = match of {
        None => {
            let of = |class: &Class| why.classes.iter().find(|c| c.class == class.key());
            let n = |c: &ClassReport| count(c.count(), &c.phases, phase);
            return Class::ALL.iter().map(|c| of(c).map_or(0, n)).collect();
        }
        Some(Counted::Allocations) => &why.failed_allocations,
        Some(Counted::Compactions) => &why.failed_compactions,
        Some(Counted::Stalls) => &why.direct_stalls,
    };
    let keys = of.into_iter().flat_map(Counted::classes);
    let of = |key: &str| troubles.classes.iter().find(|c| c.class == key);
    keys.map(|(key, _)| of(key).map_or(0, |c| count(c.count, &c.phases, phase))).collect()
}

/// All kinds: what they are called in documents, and of what counter they are.
const KINDS: [(&str, Option<Counted>); 4] = [
    ("refaults", None),
    ("failed_allocations", Some(Counted::Allocations)),
    ("failed_compactions", Some(Counted::Compactions)),
    ("direct_stalls", Some(Counted::Stalls)),
];

/// Names of the classes of a kind.
fn keys(of: Option<Counted>) -> Vec<&'static str> {
    match of {
        None => Class::ALL.iter().map(|c| c.key()).collect(),
        Some(of) => of.classes().into_iter().map(|named| named.0).collect(),
    }
}

/// Classes that either report has any of, kind by kind, and behind those of each kind their sum.
pub(super) fn classes(
    pairs: &[(&RunReport, &RunReport)],
    scopes: &[(u64, Scope<'_>, Scope<'_>)],
    options: Options<'_>,
) -> Vec<Row> {
    if held(pairs) != Held::Both {
        return Vec::new();
    }
    let mut rows = Vec::new();
    for (kind, of) in KINDS {
        let sides: Vec<(Vec<u64>, Vec<u64>)> = pairs
            .iter()
            .map(|(a, b)| (of_run(a, of, options.phase), of_run(b, of, options.phase)))
            .collect();
        let scale = |n: u64, s: &Scope<'_>| match options.per_work {
            true => n as f64 * 1e3 / work(s),
            false => n as f64,
        };
        let floor = match options.per_work {
            true => scopes.first().map_or(FLOOR, |s| FLOOR * 1e3 / work(&s.1)),
            false => FLOOR,
        };
        let mut add = |name: &str, of: &dyn Fn(&[u64]) -> u64| {
            let values: Vec<(u64, f64, f64)> = sides
                .iter()
                .zip(scopes)
                .map(|((a, b), (seed, x, y))| (*seed, scale(of(a), x), scale(of(b), y)))
                .collect();
            let any = values.iter().any(|v| v.1 > 0.0 || v.2 > 0.0);
            rows.extend(any.then(|| row(kind, name.into(), &values, floor)).flatten());
        };
        for (n, key) in keys(of).into_iter().enumerate() {
            add(key, &|counts| counts[n]);
        }
        add(ALL, &|counts| counts.iter().sum());
    }
    rows
}
