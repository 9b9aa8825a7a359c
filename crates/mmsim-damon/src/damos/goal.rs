//! Goals: a quota that finds its own size.
//!
//! A goal compares a value that is measured to the value that is wanted. As long as the quota
//! achieves less it grows, in proportion to what is missing, and it shrinks when it achieves more.
//! Of several goals the one that is best achieved counts, which makes the scheme least aggressive.
//!
//! Linux 6.12 `mm/damon/core.c` (`damos_quota_score()`, `damon_feed_loop_next_input()`); Linux 7.3
//! `mm/damon/core.c` (`damos_get_node_mem_bp()`, `damos_get_node_memcg_used_bp()`,
//! `damos_get_in_active_mem_bp()`, `damos_get_node_eligible_mem_bp()`,
//! `damos_set_psi_current_val()`).

use crate::error::DamonError;

/// Metric of a goal (`enum damos_quota_goal_metric`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Metric {
    /// Value that the user gives.
    UserInput,
    /// Memory stall time since the last look ("some" of PSI), in µs.
    SomeMemPsiUs,
    /// Memory in use of a node, in 1/10000.
    NodeMemUsedBp(u16),
    /// Free memory of a node, in 1/10000.
    NodeMemFreeBp(u16),
    /// Pages of a memory cgroup on a node, in 1/10000 of the node.
    NodeMemcgUsedBp(u16, u16),
    /// All else of the node, in 1/10000.
    NodeMemcgFreeBp(u16, u16),
    /// Active pages, in 1/10000 of active and inactive ones.
    ActiveMemBp,
    /// Inactive pages, in 1/10000 of active and inactive ones.
    InactiveMemBp,
    /// Pages on a node, in 1/10000 of all pages on LRU lists in regions of the scheme's pattern. Only
    /// of physical memory.
    NodeEligibleMemBp(u16),
}

impl Metric {
    /// As the kernel's files write them, in the order of the kinds.
    pub const NAMES: [&str; 9] = [
        "user_input",
        "some_mem_psi_us",
        "node_mem_used_bp",
        "node_mem_free_bp",
        "node_memcg_used_bp",
        "node_memcg_free_bp",
        "active_mem_bp",
        "inactive_mem_bp",
        "node_eligible_mem_bp",
    ];

    /// True if the machine alone supplies it, without the user or the regions of a context.
    pub(crate) fn is_of_the_machine(self) -> bool {
        !matches!(self, Metric::UserInput | Metric::NodeEligibleMemBp(_))
    }
}

/// Rule by which a quota follows its goals (`enum damos_quota_goal_tuner`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tuner {
    /// It grows and shrinks in proportion to what is missing.
    #[default]
    Consist,
    /// All that other quotas allow until a goal is achieved, and then nothing.
    Temporal,
}

/// Goal of a quota (`struct damos_quota_goal`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Goal {
    /// Its metric.
    pub metric: Metric,
    /// The value that is wanted; not 0.
    pub target_value: u64,
    /// The value that was seen, or that the user gave.
    pub current_value: u64,
    /// The stall time of the last look, in µs; none before the first.
    pub(crate) last_psi_total: Option<u64>,
}

impl Goal {
    /// A goal that was not looked at yet.
    pub fn new(metric: Metric, target_value: u64) -> Goal {
        Goal { metric, target_value, current_value: 0, last_psi_total: None }
    }

    /// A goal with what the user says of it.
    pub fn user_input(target_value: u64, current_value: u64) -> Goal {
        Goal { current_value, ..Goal::new(Metric::UserInput, target_value) }
    }

    /// Checks that a value can be compared with it.
    ///
    /// # Errors
    /// The target is 0.
    pub fn validate(&self) -> Result<(), DamonError> {
        if self.target_value == 0 { Err(DamonError::InvalidGoal) } else { Ok(()) }
    }
}

/// Achievement of the best achieved goal, in 1/10000; above 10000 it is exceeded. `measure` has the
/// metrics as of now, the stall time since boot. `first` is the value of a goal on stall time that
/// is looked at for the first time; none: all stall time since boot.
pub fn score(
    goals: &mut [Goal],
    measure: &mut dyn FnMut(Metric) -> u64,
    first: impl Fn(&Goal) -> Option<u64>,
) -> u64 {
    let mut of = |goal: &mut Goal| {
        match goal.metric {
            Metric::UserInput => {}
            Metric::SomeMemPsiUs => {
                let total = measure(goal.metric);
                let before = goal.last_psi_total.replace(total);
                let first = before.is_none().then(|| first(goal)).flatten();
                goal.current_value =
                    first.unwrap_or(total.saturating_sub(before.unwrap_or_default()));
            }
            metric => goal.current_value = measure(metric),
        }
        let score = u128::from(goal.current_value) * 10_000 / u128::from(goal.target_value.max(1));
        score.min(u128::from(u64::MAX)) as u64
    };
    goals.iter_mut().map(&mut of).max().unwrap_or(0)
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
