//! One counter of one point: recorded beside simulated.

use serde::{Deserialize, Serialize};

/// One counter of one phase of one point: means over the repetitions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PointRow {
    /// The experiment.
    pub experiment: String,
    /// The point of the experiment.
    pub point: String,
    /// The kernel as major.minor.
    pub kernel: String,
    /// The LRU of the point.
    pub policy: String,
    /// The phase.
    pub phase: String,
    /// The counter.
    pub counter: String,
    /// Mean count of kernels.
    pub recorded: f64,
    /// The smallest that a kernel counted.
    pub min: f64,
    /// The largest that a kernel counted.
    pub max: f64,
    /// Mean count of the model.
    pub simulated: f64,
    /// The smallest and the largest that a replay counted. They are in no document.
    #[serde(skip)]
    pub replays: [f64; 2],
    /// `simulated / recorded - 1`; none where `recorded` is 0.
    pub rel_error: Option<f64>,
    /// The simulated value lies between the smallest and the largest.
    pub inside: bool,
    /// Repetitions of the recording, each replayed.
    pub repetitions: u64,
}

impl PointRow {
    /// Fills in [`PointRow::rel_error`] and [`PointRow::inside`].
    pub fn compared(mut self) -> Self {
        self.rel_error = (self.recorded != 0.0).then(|| self.simulated / self.recorded - 1.0);
        self.inside = (self.min..=self.max).contains(&self.simulated);
        self
    }

    /// Neither the kernel nor the model counted.
    pub fn is_nothing(&self) -> bool {
        self.max == 0.0 && self.simulated == 0.0
    }
}
