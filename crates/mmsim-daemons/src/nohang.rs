//! nohang with its default file, and with the pressure rule of its desktop file.
//!
//! It is built as earlyoom: two thresholds of available memory and of free swap, and the largest
//! `oom_score`. Its shares are of all memory, it waits 3 s after SIGTERM, and sleeps until memory could
//! have fallen to the threshold at 6000 MiB/s and swap at 2000 MiB/s, up to 3 s.
//!
//! Left out: corrections for zram, limits of zram, regular expressions, `soft_actions`.

use crate::earlyoom::{Limits, below, sleep};
use crate::expr::{Expr, Names};
use crate::rules::{Among, Do, Every, Pick, Rule, Rules, Sort, Wait};
use mmsim_core::base::time::SimDuration;
use mmsim_core::policy::daemon::Signal;

/// Per cent of memory.
const MEMORY: &str = "(meminfo.MemAvailable * 100 / meminfo.MemTotal)";
/// Per cent of memory and of swap for SIGTERM and for SIGKILL.
const TERM: Limits = [5.0, 10.0];
const KILL: Limits = [2.0, 4.0];

/// Its rules; `pressure`: those of `full` avg10 too.
pub fn rules(pressure: bool, groups: Names<'_>) -> Rules {
    let own = |text: &str| Expr::own(text, groups);
    let pick = Pick::of(Among::Processes(Vec::new())).by(Sort::Largest, own("oom_score"));
    let pick = Pick { keep: Some(own("oom_score > 0")), ..pick }.by(Sort::Largest, own("rss"));
    let all = "meminfo.MemTotal / 1024";
    let every = Every::Milliseconds(own(&sleep(MEMORY, all, TERM, [6144, 2048], 3000)));
    let rule = |name: &str, when: &str, signal, pause, most| Rule {
        name: name.to_string(),
        every: every.clone(),
        when: own(when),
        pick: Some(pick.clone()),
        act: Do::Signal(signal),
        pause,
        wait: Some(Wait {
            every: SimDuration::from_millis(100),
            most,
            kill_when: (signal == Signal::Term).then(|| own(&below(MEMORY, KILL))),
        }),
    };
    let (no, some) = (SimDuration::ZERO, SimDuration::from_secs(15));
    let [exit, term] = [10, 3].map(SimDuration::from_secs);
    let mut all = vec![
        rule("kill", &below(MEMORY, KILL), Signal::Kill, no, exit),
        rule("term", &below(MEMORY, TERM), Signal::Term, no, term),
    ];
    if pressure {
        let above = |percent: u8| format!("memcg(/).pressure.full.avg10 >= {percent} for 30s");
        all.push(rule("pressure kill", &above(90), Signal::Kill, some, exit));
        all.push(rule("pressure term", &above(40), Signal::Term, some, term));
    }
    Rules::new(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeBox;
    use mmsim_core::base::id::{AsId, MemcgId};
    use mmsim_core::base::time::SimTime;
    use mmsim_core::policy::daemon::{Action, Meminfo, Process};

    /// A machine of 1000 pages, and a process.
    fn of(available: u64, swap_free: u64, full: u64) -> Vec<(u64, Action)> {
        let info = Meminfo {
            mem_total: 1000,
            mem_available: available,
            swap_free,
            swap_total: 1000,
            ..Meminfo::default()
        };
        let mut machine = FakeBox { info, ..FakeBox::default() };
        machine.averages.entry(MemcgId(0)).or_default().full[0] = full * 2048;
        let (name, memcg) = ("p".to_string(), MemcgId(0));
        let process =
            Process { id: AsId(1), name, memcg, rss: 9, swap: 0, oom_score_adj: 0, oom_score: 700 };
        machine.processes = vec![process];
        let mut daemon = rules(true, &[]);
        machine.run(&mut daemon, SimTime(32_000_000_000), &mut |_| {});
        machine.acts.into_iter().map(|(at, act)| (at.0 / 1_000_000_000, act)).collect()
    }

    /// 5 % of memory and 10 % of swap for SIGTERM, 2 % and 4 % for SIGKILL, both at once; 40 % and 90 %
    /// of pressure after 30 s.
    #[test]
    fn four_rules() {
        let [term, kill] = [Signal::Term, Signal::Kill].map(|s| Action::Signal(AsId(1), s));
        assert_eq!(of(50, 100, 0)[0], (0, term));
        assert_eq!(of(20, 40, 0)[0], (0, kill));
        assert_eq!(of(51, 100, 0), []);
        assert_eq!(of(20, 101, 0), []);
        assert_eq!(of(900, 900, 40)[0], (30, term));
        assert_eq!(of(900, 900, 90)[0], (30, kill));
        assert_eq!(of(900, 900, 39), []);
    }
}
