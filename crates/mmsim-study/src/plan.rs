//! Plans: runs that answer a question, wave by wave.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::attend::Making;
use crate::run::{RunError, one, or_panicked};
use crate::store::{UnitId, id_of};
use mmsim_language::scenario::RunSpec;
use mmsim_report::RunReport;

/// Something that a [`Runner`](crate::Runner) makes: a run, or a sample of one.
pub trait Point: Send + Sync {
    /// Result of making it, which a store keeps.
    type Made: Serialize + DeserializeOwned + Send;

    /// Its name in stores, a hash of all that decides what is made; `None`: no store keeps it.
    fn id(&self) -> Option<UnitId>;

    /// Its number in a plan that numbers its points; `None`: its place among all points counts.
    fn number(&self) -> Option<u64> {
        None
    }

    /// A few words that say which it is.
    fn label(&self) -> String {
        self.spec().map_or(String::new(), RunSpec::label)
    }

    /// The run, by which the host's memory is checked; `None`: its plan checked it.
    fn spec(&self) -> Option<&RunSpec>;

    /// Makes it.
    ///
    /// # Errors
    ///
    /// The input is wrong, or the run was cancelled.
    fn make(&self, how: &Making<'_>) -> Result<Self::Made, RunError>;
}

/// A run as it is: its report. A run that panics has one too.
impl Point for RunSpec {
    type Made = RunReport;

    fn id(&self) -> Option<UnitId> {
        Some(id_of(self, &"run"))
    }

    fn spec(&self) -> Option<&RunSpec> {
        Some(self)
    }

    fn make(&self, how: &Making<'_>) -> Result<RunReport, RunError> {
        let made = one(self, &[], &|_| how.watch(self));
        let (meta, result) = or_panicked(self, made)?;
        Ok(RunReport::from_result(meta, &result))
    }
}

/// A point with what was made of it.
pub struct Line<P: Point> {
    /// The point.
    pub point: P,
    /// Result of making it.
    pub made: P::Made,
}

/// All points of a plan that were made so far, in the order of the plan whatever the number of jobs.
pub struct Sheet<P: Point> {
    /// A line for each point.
    pub lines: Vec<Line<P>>,
}

impl<P: Point> Default for Sheet<P> {
    fn default() -> Self {
        Sheet { lines: Vec::new() }
    }
}

/// A question that runs answer.
pub trait Plan: Send {
    /// The runs that it asks for.
    type Point: Point;
    /// The answer.
    type Found;

    /// The next wave of points; none: the plan is done. The runner calls it again when the sheet has
    /// all of the wave. It depends on nothing but the sheet and its own waves. So neither the number of
    /// jobs nor a kill in between changes what it finds.
    ///
    /// # Errors
    ///
    /// A point cannot be made as the plan has it.
    fn next(&mut self, sheet: &Sheet<Self::Point>) -> Result<Vec<Self::Point>, RunError>;

    /// True if no point depends on the sheet, and the points may be too many for it: the sheet stays
    /// empty, the store has all lines, and a wave begins before the one before it has ended.
    fn streams(&self) -> bool {
        false
    }

    /// The answer of all runs.
    ///
    /// # Errors
    ///
    /// A run that is needed has no result, or none that can be compared.
    fn judge(self, sheet: Sheet<Self::Point>) -> Result<Self::Found, RunError>;
}

/// Points that are made in one wave: what was made of each, in order.
impl<P: Point> Plan for Vec<P> {
    type Point = P;
    type Found = Vec<P::Made>;

    fn next(&mut self, _: &Sheet<P>) -> Result<Vec<P>, RunError> {
        Ok(std::mem::take(self))
    }

    fn judge(self, sheet: Sheet<P>) -> Result<Vec<P::Made>, RunError> {
        Ok(sheet.lines.into_iter().map(|line| line.made).collect())
    }
}
