//! End of a run, with the holders of memory or the waiting threads if it did not end well.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mmsim_core::base::time::SimTime;
use mmsim_core::machine::result::{self, OomSummary, Stuck, StuckSummary, WaitingThread};

/// End of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub enum Ending {
    /// All threads finished their work.
    #[serde(rename = "completed")]
    Completed,
    /// The OOM killer ended every process, or none was left to kill.
    #[serde(rename = "out of memory")]
    OutOfMemory,
    /// The simulator itself failed; no figure of the run means anything.
    #[serde(rename = "panicked")]
    Panicked,
    /// It could not go on and was ended: threads tried in vain, nothing would have woken them, or
    /// simulated time came to its end.
    #[serde(rename = "stuck")]
    Stuck,
}

/// Why a run could not go on, and who waited for what.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct StuckReport {
    /// When it was ended.
    pub at_ns: u64,
    /// Why, for people.
    pub why: String,
    /// Threads that had not finished.
    pub waiting: Vec<StuckThread>,
}

/// A thread of a run that could not go on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct StuckThread {
    /// `task` or `task/thread`.
    pub thread: String,
    /// Its operation, with what that asks for.
    pub doing: String,
    /// Event that has to happen for it to go on.
    pub waits_for: String,
    /// When its last operation in the kernel was done.
    pub since_ns: u64,
}

impl From<&StuckSummary> for StuckReport {
    fn from(s: &StuckSummary) -> Self {
        let thread = |t: &WaitingThread| StuckThread {
            thread: t.thread.clone(),
            doing: t.doing.clone(),
            waits_for: t.waits_for.to_string(),
            since_ns: t.since.0,
        };
        StuckReport {
            at_ns: s.at.0,
            why: match s.why {
                Stuck::NoProgress => "threads try in vain, and no operation is done".to_string(),
                Stuck::TimeStands => "a thread goes on and on, and time does not pass".to_string(),
                Stuck::NothingWakes => "all threads wait, and nothing will wake them".to_string(),
                Stuck::NobodyToKill => {
                    "memory is out, and every process has an oom_score_adj of -1000: \
                                        Linux panics (\"System is deadlocked on memory\")"
                        .to_string()
                }
                Stuck::TimeEnds => format!(
                    "the run is too long: simulated time ends at {} s, after 146 years",
                    SimTime::LAST.0 / 1_000_000_000
                ),
            },
            waiting: s.waiting.iter().map(thread).collect(),
        }
    }
}

impl Ending {
    /// As in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Ending::Completed => "completed",
            Ending::OutOfMemory => "out of memory",
            Ending::Panicked => "panicked",
            Ending::Stuck => "stuck",
        }
    }

    /// True if all work was done. Figures of a run that did less are not those of its work, and are
    /// compared with nothing.
    pub fn is_whole(self) -> bool {
        self == Ending::Completed
    }
}

/// Who held memory when it ran out, in pages.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct OomReport {
    /// When.
    pub at_ns: u64,
    /// The process that was killed first; empty in reports of before this was written down.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub victim: String,
    /// The shortage that it was killed for, for people; empty likewise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shortage: String,
    /// Kills after the first, 1,000 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<OomKill>,
    /// Processes, the largest first.
    pub processes: Vec<OomProcess>,
    /// Free pages.
    pub free: u64,
    /// Pages of the page cache, without shared memory.
    pub cache: u64,
    /// Pages of shared memory.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shmem: u64,
    /// Pages of the kernel itself.
    pub kernel: u64,
    /// Free swap slots.
    pub swap_free: u64,
    /// All swap slots.
    pub swap_total: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A kill of the OOM killer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct OomKill {
    /// When.
    pub at_ns: u64,
    /// The process that was killed.
    pub victim: String,
}

/// A process at the time when memory ran out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct OomProcess {
    /// Name of the process.
    pub name: String,
    /// Resident pages.
    pub resident: u64,
    /// Pages of shared memory among the resident ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shmem: u64,
    /// Swapped pages.
    pub swapped: u64,
}

impl From<&OomSummary> for OomReport {
    fn from(s: &OomSummary) -> Self {
        let process = |p: &result::OomProcess| OomProcess {
            name: p.name.clone(),
            resident: p.resident(),
            shmem: p.rss[2],
            swapped: p.swapped,
        };
        OomReport {
            at_ns: s.at.0,
            victim: s.victim.clone(),
            shortage: match s.victim.is_empty() {
                true => String::new(),
                false => s.shortage.describe().to_string(),
            },
            later: s
                .later
                .iter()
                .map(|(at, victim)| OomKill { at_ns: at.0, victim: victim.clone() })
                .collect(),
            processes: s.processes.iter().map(process).collect(),
            free: s.free,
            cache: s.cache,
            shmem: s.shmem,
            kernel: s.kernel,
            swap_free: s.swap_free,
            swap_total: s.swap_total,
        }
    }
}

impl OomReport {
    /// Who was killed, and for what; empty in reports of before this was written down.
    pub fn who_was_killed(&self) -> String {
        match self.victim.is_empty() {
            true => String::new(),
            false => format!("`{}` was killed: {}", self.victim, self.shortage),
        }
    }

    /// When memory ran out, and who held it, for people.
    pub fn who_held_it(&self) -> String {
        let mut holders: Vec<String> = self
            .processes
            .iter()
            .take(3)
            .map(|p| {
                let shmem = match p.shmem {
                    0 => String::new(),
                    n => format!(" ({n} of them shared memory)"),
                };
                format!("{} {} resident{shmem} and {} swapped", p.name, p.resident, p.swapped)
            })
            .collect();
        if self.processes.len() > 3 {
            holders.push(format!("{} more processes", self.processes.len() - 3));
        }
        holders.push(format!("page cache {}", self.cache));
        if self.shmem > 0 {
            holders.push(format!("shared memory {}", self.shmem));
        }
        holders.push(format!("kernel {}", self.kernel));
        holders.push(format!("free {}", self.free));
        let killed = self.who_was_killed();
        let killed = if killed.is_empty() { killed } else { format!(": {killed}") };
        format!(
            "out of memory after {:.3} s{killed}; pages: {}; swap slots: {} of {} free",
            self.at_ns as f64 / 1e9,
            holders.join(", "),
            self.swap_free,
            self.swap_total
        )
    }
}

impl StuckReport {
    /// When and why it was ended, and who waited for what, for people.
    pub fn who_waits(&self) -> String {
        let word = |t: &StuckThread| {
            let since = t.since_ns as f64 / 1e9;
            format!("{}: {}, waits for {} since {since:.3} s", t.thread, t.doing, t.waits_for)
        };
        let mut waiting: Vec<String> = self.waiting.iter().take(3).map(word).collect();
        if self.waiting.len() > 3 {
            waiting.push(format!("{} more threads", self.waiting.len() - 3));
        }
        let at = self.at_ns as f64 / 1e9;
        format!("stuck after {at:.3} s: {}; {}", self.why, waiting.join("; "))
    }
}
