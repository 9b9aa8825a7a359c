//! Names of units, and which units a shard has.

use std::collections::BTreeSet;
use std::fmt;

use rayon::prelude::*;

use super::{Shard, SweepPlan};
use crate::error::Error;

/// The name of a unit: a hash of all that decides its result. That is its resolved scenario,
/// variant and seed, the version of mmsim, and what is in the files that it reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnitId(pub(super) u128);

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl UnitId {
    /// Which of so many shards it is in.
    pub fn shard(self, of: u32) -> u32 {
        (self.0 % u128::from(of)) as u32
    }

    /// Reads 32 hexadecimal digits.
    pub(super) fn parse(text: &str) -> Option<UnitId> {
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        u128::from_str_radix(text, 16).ok().filter(|_| digits).map(UnitId)
    }
}

/// A unit by its number in the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbered {
    /// Its name.
    pub id: UnitId,
    /// Its number.
    pub n: u64,
}

/// Units that are asked for their names at once.
const PART: u64 = 1 << 16;

/// Calls `each` with every unit of a plan, in order. Names are made on all cores.
///
/// # Errors
///
/// A value fits no key.
pub fn for_each_unit(plan: &SweepPlan, mut each: impl FnMut(Numbered)) -> Result<(), Error> {
    let settings = plan.settings();
    let part = (PART / plan.most_of_a_setting()).max(1);
    let mut from = 0;
    while from < settings {
        let until = settings.min(from + part);
        let names = |setting: u64| {
            let (scenario, setting, first) = plan.setting(setting);
            plan.ids(scenario, setting).map(|ids| (first, ids))
        };
        let part: Vec<(u64, Vec<u128>)> =
            (from..until).into_par_iter().map(names).collect::<Result<_, _>>()?;
        for (first, ids) in part {
            for (n, id) in (first..).zip(ids) {
                each(Numbered { id: UnitId(id), n });
            }
        }
        from = until;
    }
    Ok(())
}

/// The units of a shard that are not in `done`, in order, and how many it has in all. Units that
/// are the same run count once.
///
/// # Errors
///
/// As [`for_each_unit`].
pub fn units_of(
    plan: &SweepPlan,
    shard: Shard,
    done: &BTreeSet<UnitId>,
) -> Result<(Vec<Numbered>, u64), Error> {
    let (mut mine, mut seen) = (Vec::new(), BTreeSet::new());
    for_each_unit(plan, |unit| {
        if unit.id.shard(shard.of) == shard.index && seen.insert(unit.id) {
            mine.push(unit);
        }
    })?;
    let all = mine.len() as u64;
    mine.retain(|unit| !done.contains(&unit.id));
    Ok((mine, all))
}
