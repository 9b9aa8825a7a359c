//! The units of a plan, and which of them a shard has.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Deref;

use rayon::prelude::*;

use super::SweepPlan;
use crate::store::{Numbered, Shard, UnitId};
use mmsim_base::error::Error;
use mmsim_language::scenario::sweep::Piece;

/// Units whose names are made together, on all cores: few at first, so that the first is there at
/// once, and the second number at most.
const PARTS: [u64; 2] = [1 << 10, 1 << 16];

/// All units of a plan, in order; a part of them is in memory at a time.
#[derive(Debug)]
pub struct Units<P> {
    plan: P,
    /// The number of the next that has no name yet.
    next: u64,
    part: u64,
    ready: VecDeque<Numbered>,
}

impl<P: Deref<Target = SweepPlan>> Units<P> {
    /// All units of a plan.
    pub fn of(plan: P) -> Units<P> {
        Units { plan, next: 0, part: PARTS[0], ready: VecDeque::new() }
    }

    fn fill(&mut self) -> Result<(), Error> {
        let (plan, from) = (&*self.plan, self.next);
        let until = plan.units().min(from + self.part);
        // An error ends it.
        self.next = plan.units();
        let pieces: Vec<Piece> = plan.pieces(from..until);
        let ids = pieces.into_par_iter().map(|piece| plan.ids(&piece));
        let ids: Vec<Vec<u128>> = ids.collect::<Result<_, _>>()?;
        let named = (from..).zip(ids.into_iter().flatten());
        self.ready.extend(named.map(|(n, id)| Numbered { id: UnitId(id), n }));
        self.next = until;
        self.part = PARTS[1].min(self.part * 2);
        Ok(())
    }
}

impl<P: Deref<Target = SweepPlan>> Iterator for Units<P> {
    type Item = Result<Numbered, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty()
            && let Err(error) = self.fill()
        {
            return Some(Err(error));
        }
        self.ready.pop_front().map(Ok)
    }
}

/// Calls `each` with every unit of a plan, in order.
///
/// # Errors
///
/// A value fits no key.
pub fn for_each_unit(plan: &SweepPlan, mut each: impl FnMut(Numbered)) -> Result<(), Error> {
    Units::of(plan).try_for_each(|unit| unit.map(&mut each))
}

/// The units of a shard that are to do, in order, found on request. Units that are the same run
/// come once. Memory grows with the units that came, not with those of the plan.
#[derive(Debug)]
pub struct ToDo<P> {
    units: Units<P>,
    shard: Shard,
    /// Units that are done, and those that came; and whether the plan came to them.
    known: BTreeMap<UnitId, bool>,
    all: u64,
}

impl<P: Deref<Target = SweepPlan>> ToDo<P> {
    /// Units of a shard that are to do, without those in `done`.
    pub fn of(plan: P, shard: Shard, done: impl IntoIterator<Item = UnitId>) -> ToDo<P> {
        let known = done.into_iter().map(|id| (id, false)).collect();
        ToDo { units: Units::of(plan), shard, known, all: 0 }
    }

    /// Units of the shard that the plan came to so far, done or not; in the end all.
    pub fn all(&self) -> u64 {
        self.all
    }
}

impl<P: Deref<Target = SweepPlan>> Iterator for ToDo<P> {
    type Item = Result<Numbered, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        for unit in self.units.by_ref() {
            let unit = match unit {
                Ok(unit) if unit.id.shard(self.shard.of) == self.shard.index => unit,
                Ok(_) => continue,
                error => return Some(error),
            };
            match self.known.insert(unit.id, true) {
                Some(true) => {}
                Some(false) => self.all += 1,
                None => {
                    self.all += 1;
                    return Some(Ok(unit));
                }
            }
        }
        None
    }
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
    let mut to_do = ToDo::of(plan, shard, done.iter().copied());
    let mine = to_do.by_ref().collect::<Result<_, _>>()?;
    Ok((mine, to_do.all()))
}

/// Units of a plan that are looked through before the first is made, so that their number is
/// exact: some seconds' work at most. Of more units it is an upper bound, since equal ones run once.
pub const COUNTED: u64 = 1 << 17;

/// Numbers of units of a shard that are to do, and that it has; of a plan of more than [`COUNTED`]
/// units about, and at most.
///
/// # Errors
///
/// As [`for_each_unit`].
pub(super) fn count(
    plan: &SweepPlan,
    shard: Shard,
    done: &BTreeSet<UnitId>,
) -> Result<(u64, u64), Error> {
    if plan.units() <= COUNTED {
        let mut to_do = ToDo::of(plan, shard, done.iter().copied());
        let nr = to_do.by_ref().try_fold(0, |nr, unit| unit.map(|_| nr + 1))?;
        return Ok((nr, to_do.all()));
    }
    let all = plan.units().div_ceil(u64::from(shard.of));
    let mine = done.iter().filter(|id| id.shard(shard.of) == shard.index);
    Ok((all.saturating_sub(mine.count() as u64), all))
}

/// Names that are remembered to tell equal units: some 100 MB.
const REMEMBERED: usize = 1 << 22;

/// Tells units that did not come before. It remembers a few millions of them; what comes then passes
/// for new.
#[derive(Debug, Default)]
pub struct Distinct(BTreeSet<UnitId>);

impl Distinct {
    /// True if the unit is not known to have come before.
    pub fn is_new(&mut self, id: UnitId) -> bool {
        match self.0.len() < REMEMBERED {
            true => self.0.insert(id),
            false => !self.0.contains(&id),
        }
    }
}
