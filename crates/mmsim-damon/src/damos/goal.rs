//! Goals: a quota that finds its own size.
//!
//! A goal compares a value that is measured to the value that is wanted. As long as the quota
//! achieves less it grows, in proportion to what is missing, and it shrinks when it achieves more.
//! Of several goals the one that is best achieved counts, which makes the scheme least aggressive.
//!
//! Linux 6.12 `mm/damon/core.c` (`damos_quota_score()`, `damon_feed_loop_next_input()`).

use crate::error::DamonError;

/// What a goal looks at (`enum damos_quota_goal_metric`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Metric {
    /// What the user says.
    UserInput,
    /// Memory stall time since the last look ("some" of PSI), in µs.
    SomeMemPsiUs,
}

/// What a quota is to achieve (`struct damos_quota_goal`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Goal {
    /// What it looks at.
    pub metric: Metric,
    /// The value that is wanted; not 0.
    pub target_value: u64,
    /// The value that was seen, or that the user gave.
    pub current_value: u64,
    /// The stall time of the last look, in µs. Before the first it is 0, where the kernel has
    /// what happened to be in memory.
    pub(crate) last_psi_total: u64,
}

impl Goal {
    /// A goal that was not looked at yet.
    pub fn new(metric: Metric, target_value: u64) -> Goal {
        Goal { metric, target_value, current_value: 0, last_psi_total: 0 }
    }

    /// A goal with what the user says of it.
    pub fn user_input(target_value: u64, current_value: u64) -> Goal {
        Goal { current_value, ..Goal::new(Metric::UserInput, target_value) }
    }

    /// Whether it can be compared to.
    ///
    /// # Errors
    /// The target is 0.
    pub fn validate(&self) -> Result<(), DamonError> {
        if self.target_value == 0 { Err(DamonError::InvalidGoal) } else { Ok(()) }
    }
}

/// How far the best achieved goal is, in 1/10000; above 10000 it is exceeded. `psi_us` is the stall
/// time since boot.
pub fn score(goals: &mut [Goal], psi_us: u64) -> u64 {
    let of = |goal: &mut Goal| {
        if goal.metric == Metric::SomeMemPsiUs {
            goal.current_value = psi_us.saturating_sub(goal.last_psi_total);
            goal.last_psi_total = psi_us;
        }
        let score = u128::from(goal.current_value) * 10_000 / u128::from(goal.target_value.max(1));
        score.min(u128::from(u64::MAX)) as u64
    };
    goals.iter_mut().map(of).max().unwrap_or(0)
}

/// The next input of a loop whose last input had this score, at a goal of 10000; at least 10000
/// unless the goal was met below (`damon_feed_loop_next_input()`).
pub fn feed(last: u64, score: u64) -> u64 {
    const GOAL: u64 = 10_000;
    const MIN_INPUT: u64 = 10_000;
    if score == GOAL {
        return last;
    }
    if score >= 2 * GOAL {
        return MIN_INPUT;
    }
    let diff = score.abs_diff(GOAL);
    // As the kernel keeps within 64 bits.
    let compensation = if last < u64::MAX / diff { last * diff / GOAL } else { last / GOAL * diff };
    if score > GOAL {
        last.saturating_sub(compensation).max(MIN_INPUT)
    } else {
        last.saturating_add(compensation)
    }
}
