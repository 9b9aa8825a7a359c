//! Acts of a run in the order of time: kills of the kernel, and whatever daemons did.

use mmsim_core::base::vmstat::VmEvent;
use serde::Serialize;

use crate::document::RunReport;

/// The kernel as an actor.
pub const KERNEL: &str = "the kernel";

/// An act: who did what to whom, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Acted<'a> {
    /// When, in nanoseconds from the start.
    pub at_ns: u64,
    /// The name of the daemon, or [`KERNEL`].
    pub who: &'a str,
    /// The counter of kills for the kernel; of a daemon `SIGTERM`, `kill group`, `memory.high` and so on.
    pub what: &'a str,
    /// The process or the group; empty for the machine.
    pub target: &'a str,
    /// The rule of the daemon, or the shortage.
    pub why: &'a str,
    /// True if it ends processes.
    pub kills: bool,
}

impl Acted<'_> {
    /// The act, and its target.
    pub fn told(&self) -> String {
        let target = if self.target.is_empty() { "the machine" } else { self.target };
        format!("{} {target}", self.what)
    }
}

/// Acts of one actor in a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct First {
    /// When it acted first.
    pub at_ns: u64,
    /// Its first act, and the target.
    pub told: String,
    /// Acts.
    pub acts: u64,
}

impl RunReport {
    /// All acts in the order of time, as far as the report has them.
    pub fn acts(&self) -> Vec<Acted<'_>> {
        let mut all = Vec::new();
        let oom = self.oom.iter().filter(|oom| !oom.victim.is_empty());
        for oom in oom {
            let later = oom.later.iter().map(|kill| (kill.at_ns, kill.victim.as_str()));
            for (at_ns, target) in std::iter::once((oom.at_ns, oom.victim.as_str())).chain(later) {
                let (what, why) = (VmEvent::OomKill.name(), oom.shortage.as_str());
                all.push(Acted { at_ns, who: KERNEL, what, target, why, kills: true });
            }
        }
        for daemon in &self.daemons {
            all.extend(daemon.acts.iter().map(|act| Acted {
                at_ns: act.at_ns,
                who: &daemon.name,
                what: &act.what,
                target: &act.target,
                why: &act.rule,
                kills: ["SIGTERM", "SIGKILL", "kill group"].contains(&act.what.as_str()),
            }));
        }
        all.sort_by_key(|act| act.at_ns);
        all
    }

    /// Who may act: the kernel if it did, and all daemons.
    pub fn actors(&self) -> Vec<&str> {
        let kernel = self.oom.iter().filter(|oom| !oom.victim.is_empty()).map(|_| KERNEL);
        kernel.chain(self.daemons.iter().map(|d| d.name.as_str())).collect()
    }

    /// The first act of an actor, and the number of all.
    pub fn first_act(&self, who: &str) -> Option<First> {
        let all = self.acts();
        let mut own = all.iter().filter(|act| act.who == who).peekable();
        let first = **own.peek()?;
        let counted = self.daemons.iter().find(|d| d.name == who).map(|d| d.acted);
        let acts = counted.unwrap_or(own.count() as u64);
        Some(First { at_ns: first.at_ns, told: first.told(), acts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{ActReport, DaemonReport};
    use crate::samples;

    /// A kill of the kernel between two acts of a daemon: all in the order of time.
    #[test]
    fn acts_stand_in_the_order_of_time() {
        let mut run = RunReport::from_result(samples::meta("v", 1), &samples::result(1, 1));
        assert!(run.acts().is_empty() && run.actors().is_empty());
        let act = |at_ns, what: &str, target: &str| ActReport {
            at_ns,
            what: what.into(),
            target: target.into(),
            ..ActReport::default()
        };
        let acts = vec![act(5, "SIGTERM", "hog"), act(9, "vm.swappiness", "")];
        run.daemons =
            vec![DaemonReport { name: "d".into(), acted: 2, acts, ..DaemonReport::default() }];
        run.oom = Some((&mmsim_core::machine::result::OomSummary::default()).into());
        let oom = run.oom.as_mut().expect("it was set");
        (oom.at_ns, oom.victim) = (7, "web".into());
        let told: Vec<_> = run.acts().iter().map(|a| (a.at_ns, a.told(), a.kills)).collect();
        let want = [(5, "SIGTERM hog", true), (7, "oom_kill web", true)];
        assert_eq!(told[..2], want.map(|(at, told, kills)| (at, told.to_string(), kills)));
        assert_eq!(told[2], (9, "vm.swappiness the machine".to_string(), false));
        assert_eq!(run.actors(), [KERNEL, "d"]);
        let first = First { at_ns: 5, told: "SIGTERM hog".into(), acts: 2 };
        assert_eq!((run.first_act("d"), run.first_act("x")), (Some(first), None));
    }
}
