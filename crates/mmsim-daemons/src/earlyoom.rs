//! earlyoom 1.9.0: two thresholds of available memory and of free swap, and the largest `oom_score`.
//!
//! Its memory is `MemAvailable` of what user space could have, available and anonymous pages. Both
//! conditions have to hold; without swap free swap is 0 %. The sleep is the time in which memory could
//! fall to the threshold at 6 GB/s, and swap at 0.8 GB/s, within 100 ms to 1 s. After a signal it
//! waits for the victim, and sends SIGKILL if those limits are reached meanwhile.
//!
//! Left out: regular expressions (names are compared whole), `--sort-by-rss`, the second read of
//! meminfo behind the scan, which a look that is atomic answers alike.

use crate::expr::{Expr, Names};
use crate::rules::{Among, Do, Every, Pick, Rule, Rules, Sort, Wait};
use mmsim_core::base::time::SimDuration;
use mmsim_core::policy::daemon::Signal;

/// Its options.
#[derive(Clone, PartialEq, Debug)]
pub struct Earlyoom {
    /// Per cent of memory at which SIGTERM is sent (`-m`).
    pub memory_term: f64,
    /// Per cent of memory at which SIGKILL is sent.
    pub memory_kill: f64,
    /// Per cent of swap for SIGTERM (`-s`).
    pub swap_term: f64,
    /// Per cent of swap for SIGKILL.
    pub swap_kill: f64,
    /// Processes with 300 more points (`--prefer`).
    pub prefer: Vec<String>,
    /// Processes with 300 points less (`--avoid`).
    pub avoid: Vec<String>,
}

/// Points of `--prefer` and `--avoid`.
const POINTS: f64 = 300.0;

impl Default for Earlyoom {
    fn default() -> Self {
        Earlyoom {
            memory_term: 10.0,
            memory_kill: 5.0,
            swap_term: 10.0,
            swap_kill: 5.0,
            prefer: Vec::new(),
            avoid: Vec::new(),
        }
    }
}

/// Per cent of memory.
const MEMORY: &str = "(meminfo.MemAvailable * 100 / (meminfo.MemAvailable + meminfo.AnonPages))";
/// Per cent of swap; 0 without swap.
const SWAP: &str = "(meminfo.SwapFree * 100 / meminfo.SwapTotal)";

/// Per cent of memory and of swap.
pub(crate) type Limits = [f64; 2];

/// The condition that memory, measured as `measure`, and swap are at or below their limits.
pub(crate) fn below(measure: &str, [memory, swap]: Limits) -> String {
    format!("{measure} <= {memory} and {SWAP} <= {swap}")
}

/// Milliseconds until the next look: the time in which memory, `all` KiB of it, and swap could fall to
/// their limits at `rates` in KiB per millisecond, from 100 to `most`. Divisions are to whole numbers.
pub(crate) fn sleep(
    measure: &str,
    all: &str,
    [memory, swap]: Limits,
    rates: [u32; 2],
    most: u32,
) -> String {
    let [of_memory, of_swap] = rates;
    format!(
        "min({most}, max(100, floor(max(0, {measure} - {memory}) * {all} / 100 / {of_memory}) + \
         floor(max(0, {SWAP} - {swap}) * meminfo.SwapTotal / 1024 / 100 / {of_swap})))"
    )
}

impl Earlyoom {
    fn term(&self) -> Limits {
        [self.memory_term, self.swap_term]
    }

    /// Milliseconds until the next look.
    fn sleep(&self) -> String {
        let user = "(meminfo.MemAvailable + meminfo.AnonPages) / 1024";
        sleep(MEMORY, user, self.term(), [6000, 800], 1000)
    }

    /// Its rules.
    pub fn rules(&self, groups: Names<'_>) -> Rules {
        let own = |text: &str| Expr::own(text, groups);
        let kill_when = below(MEMORY, [self.memory_kill, self.swap_kill]);
        let pick = Pick {
            prefer: self.prefer.clone(),
            avoid: self.avoid.clone(),
            weight: POINTS,
            ..Pick::of(Among::Processes(Vec::new()))
        };
        let pick = pick.by(Sort::Largest, own("oom_score")).by(Sort::Largest, own("rss"));
        let rule = |name: &str, when: &str, signal, kill_when| Rule {
            name: name.to_string(),
            every: Every::Milliseconds(own(&self.sleep())),
            when: own(when),
            pick: Some(pick.clone()),
            act: Do::Signal(signal),
            pause: SimDuration::ZERO,
            wait: Some(Wait {
                every: SimDuration::from_millis(100),
                most: SimDuration::from_secs(10),
                kill_when,
            }),
            chain: None,
        };
        let term_when = below(MEMORY, self.term());
        Rules::new(vec![
            rule("kill", &kill_when, Signal::Kill, None),
            rule("term", &term_when, Signal::Term, Some(own(&kill_when))),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeBox;
    use mmsim_core::base::id::{AsId, MemcgId};
    use mmsim_core::base::time::SimTime;
    use mmsim_core::policy::daemon::{Action, Daemon as _, Meminfo, Process};

    const GIB: u64 = 1 << 18;

    fn of(available: u64, anon: u64, swap: [u64; 2]) -> FakeBox {
        let info = Meminfo {
            mem_total: 8 * GIB,
            mem_available: available,
            anon_pages: anon,
            swap_free: swap[0],
            swap_total: swap[1],
            ..Meminfo::default()
        };
        FakeBox { info, ..FakeBox::default() }
    }

    fn process(id: u16, oom_score: u64, rss: u64) -> Process {
        let (name, memcg) = (format!("p{id}"), MemcgId(0));
        Process { id: AsId(id).into(), name, memcg, rss, swap: 0, oom_score_adj: 0, oom_score }
    }

    /// 3 GiB available and 4 GiB anonymous are 42.86 %, whatever the machine has.
    #[test]
    fn memory_is_what_user_space_could_have() {
        let mut machine = of(3 * GIB, 4 * GIB, [0, 0]);
        let share = machine.value(&Expr::own(MEMORY, &[]));
        assert_eq!((share * 100.0).round(), 4286.0);
        assert_eq!(machine.value(&Expr::own(SWAP, &[])), 0.0);
    }

    /// Worked by hand for 8 GiB of available and anonymous memory.
    #[test]
    fn the_sleep_is_the_time_to_the_threshold() {
        let sleep = |percent: u64, swap: [u64; 2]| {
            let available = 8 * GIB * percent / 100;
            let mut machine = of(available, 8 * GIB - available, swap);
            machine.value(&Expr::own(&Earlyoom::default().sleep(), &[]))
        };
        assert_eq!(sleep(50, [2 * GIB, 2 * GIB]), 1000.0);
        assert_eq!(sleep(20, [0, 0]), 139.0);
        assert_eq!(sleep(12, [0, 0]), 100.0);
        assert_eq!(sleep(8, [2 * GIB * 20 / 100, 2 * GIB]), 262.0);
    }

    /// SIGTERM at 10 %, to the largest score and then the largest process; SIGKILL while it waits,
    /// since 5 % are reached. Swap that is free holds it back.
    #[test]
    fn it_sends_both_signals() {
        let gib = 100 * 4 * GIB / 100;
        let mut machine = of(gib / 10, gib * 9 / 10, [0, 0]);
        machine.processes = vec![process(1, 700, 10), process(2, 800, 5), process(3, 800, 9)];
        let mut daemon = Earlyoom::default().rules(&[]);
        let next = daemon.look(&mut machine, &[]);
        assert_eq!(
            (next.0, &machine.acts[..]),
            (100_000_000, &[(SimTime(0), Action::Signal(AsId(3).into(), Signal::Term))][..],)
        );
        (machine.now, machine.info.mem_available) = (next, gib / 100);
        daemon.look(&mut machine, &[]);
        assert_eq!(machine.acts[1].1, Action::Signal(AsId(3).into(), Signal::Kill));

        let mut machine = of(gib / 10, gib * 9 / 10, [GIB, 2 * GIB]);
        machine.processes = vec![process(1, 700, 10)];
        Earlyoom::default().rules(&[]).look(&mut machine, &[]);
        assert_eq!(machine.acts, []);
    }

    /// 300 points are worth more than 200.
    #[test]
    fn names_change_the_order() {
        let mut machine = of(GIB / 100, GIB, [0, 0]);
        machine.processes = vec![process(1, 900, 10), process(2, 700, 5)];
        let prefer = Earlyoom { prefer: vec!["p2".to_string()], ..Earlyoom::default() };
        prefer.rules(&[]).look(&mut machine, &[]);
        let avoid = Earlyoom { avoid: vec!["p1".to_string()], ..Earlyoom::default() };
        avoid.rules(&[]).look(&mut machine, &[]);
        assert!(machine.acts.iter().all(|a| a.1 == Action::Signal(AsId(2).into(), Signal::Kill)));
    }
}
