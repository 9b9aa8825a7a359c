//! Timeliness of replays with respect to the instants of their records.

use mmsim_core::workload::Replayed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Timeliness of a task with respect to the recorded instants of its trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ReplayReport {
    /// The task.
    pub task: String,
    /// Recorded time, from the start to the last instant that came, in ns; scaled as the task says.
    pub recorded_ns: u64,
    /// Simulated time that it took to there, in ns.
    pub took_ns: u64,
    /// The farthest that it was behind, in ns.
    pub behind_ns: u64,
}

impl From<&(String, Replayed)> for ReplayReport {
    fn from((task, replayed): &(String, Replayed)) -> Self {
        ReplayReport {
            task: task.clone(),
            recorded_ns: replayed.recorded.0,
            took_ns: replayed.took.0,
            behind_ns: replayed.behind.0,
        }
    }
}

impl ReplayReport {
    /// True if it could not keep up: it was behind by more than a hundredth of the recorded time,
    /// and by more than 10 ms.
    pub fn fell_behind(&self) -> bool {
        self.behind_ns > (self.recorded_ns / 100).max(10_000_000)
    }

    /// Its delay and the remedy, if it could not keep up.
    pub fn note(&self) -> Option<String> {
        if !self.fell_behind() {
            return None;
        }
        let seconds = |ns: u64| format!("{:.3} s", ns as f64 / 1e9);
        let (recorded, took) = (seconds(self.recorded_ns), seconds(self.took_ns));
        let late = match self.took_ns > self.recorded_ns {
            true => format!("{recorded} recorded took {took}"),
            false => format!("it was {} late at most", seconds(self.behind_ns)),
        };
        let permille = (u128::from(self.took_ns) * 1000).div_ceil(self.recorded_ns.max(1).into());
        let slower = match permille > 1000 {
            true => format!("`think-permille = {permille}` slows the record down so far, "),
            false => String::new(),
        };
        Some(format!(
            "{}: the replay could not keep up with its record: {late}; {slower}`mode = \"closed\"` \
             lets what is late delay all after it",
            self.task
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_falls_behind_is_told_by_how_much() {
        let replay = |recorded_ns, took_ns, behind_ns| ReplayReport {
            task: "vm".into(),
            recorded_ns,
            took_ns,
            behind_ns,
        };
        const S: u64 = 1_000_000_000;
        assert_eq!(replay(30 * S, 30 * S, S / 10).note(), None);
        let note = replay(30 * S, 84 * S, 54 * S).note().expect("a note");
        assert!(note.starts_with("vm: the replay could not keep up"), "{note}");
        assert!(note.contains("30.000 s recorded took 84.000 s"), "{note}");
        assert!(note.contains("think-permille = 2800"), "{note}");
        // In the midst of it, and then it caught up.
        let note = replay(30 * S, 30 * S, 2 * S).note().expect("a note");
        assert!(note.contains("2.000 s late at most") && !note.contains("permille"), "{note}");
    }
}
