//! nohang with its default file, with the pressure rule of its desktop file, and with its zram rule.
//!
//! It is built as earlyoom: two thresholds of available memory and of free swap, and the largest
//! `oom_score`. Its shares are of all memory, it waits 3 s after SIGTERM, and sleeps until memory could
//! have fallen to the threshold at 6000 MiB/s and swap at 2000 MiB/s, up to 3 s.
//!
//! Memory has to be low for all of its rules. The rules of zram ask for the memory that zram takes in
//! place of free swap, those of pressure for pressure that lasts, and for swap that is there.
//!
//! Source: nohang src/nohang (`check_mem_swap_ex`, `check_zram_ex`, `check_psi_ex`). Left out: zram in
//! the time to sleep, regular expressions, `soft_actions`.

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

/// Per cent of all memory that zram takes, for SIGTERM and for SIGKILL.
const ZRAM: [u8; 2] = [55, 60];
/// Per cent of `full` avg10, likewise.
const PRESSURE: [u8; 2] = [40, 90];

/// Rules beside those of free swap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Nohang {
    /// Those of `full` avg10 (`psi_checking_enabled`).
    pub pressure: bool,
    /// Those of zram (`zram_checking_enabled`).
    pub zram: bool,
}

/// Its rules.
pub fn rules(of: Nohang, groups: Names<'_>) -> Rules {
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
        chain: None,
    };
    let (no, some) = (SimDuration::ZERO, SimDuration::from_secs(15));
    let [exit, term] = [10, 3].map(SimDuration::from_secs);
    let mut all = vec![
        rule("kill", &below(MEMORY, KILL), Signal::Kill, no, exit),
        rule("term", &below(MEMORY, TERM), Signal::Term, no, term),
    ];
    let low = |limits: Limits| format!("{MEMORY} <= {}", limits[0]);
    if of.zram {
        let zram = |limits: Limits, percent: u8| {
            format!("{} and zram.mem_used_total >= meminfo.MemTotal * {percent} / 100", low(limits))
        };
        all.push(rule("zram kill", &zram(KILL, ZRAM[1]), Signal::Kill, no, exit));
        all.push(rule("zram term", &zram(TERM, ZRAM[0]), Signal::Term, no, term));
    }
    if of.pressure {
        let above = |limits: Limits, percent: u8| {
            format!(
                "({} and meminfo.SwapTotal > 0 and memcg(/).pressure.full.avg10 >= {percent}) for 30s",
                low(limits)
            )
        };
        all.push(rule("pressure kill", &above(KILL, PRESSURE[1]), Signal::Kill, some, exit));
        all.push(rule("pressure term", &above(TERM, PRESSURE[0]), Signal::Term, some, term));
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
        with_zram(available, swap_free, full, 0)
    }

    fn with_zram(available: u64, swap_free: u64, full: u64, zram: u64) -> Vec<(u64, Action)> {
        let info = Meminfo {
            mem_total: 1000,
            mem_available: available,
            swap_free,
            swap_total: 1000,
            ..Meminfo::default()
        };
        let mut machine = FakeBox { info, zram, ..FakeBox::default() };
        machine.averages.entry(MemcgId(0)).or_default().full[0] = full * 2048;
        let (name, memcg) = ("p".to_string(), MemcgId(0));
        let process = Process {
            id: AsId(1).into(),
            name,
            memcg,
            rss: 9,
            swap: 0,
            oom_score_adj: 0,
            oom_score: 700,
        };
        machine.processes = vec![process];
        let mut daemon = rules(Nohang { pressure: true, zram: true }, &[]);
        machine.run(&mut daemon, SimTime(32_000_000_000), &mut |_| {});
        machine.acts.into_iter().map(|(at, act)| (at.0 / 1_000_000_000, act)).collect()
    }

    /// 5 % of memory and 10 % of swap for SIGTERM, 2 % and 4 % for SIGKILL, both at once. With as little
    /// memory and any swap: 55 % and 60 % of memory in zram, at once, and 40 % and 90 % of pressure
    /// after 30 s.
    #[test]
    fn six_rules() {
        let [term, kill] = [Signal::Term, Signal::Kill].map(|s| Action::Signal(AsId(1).into(), s));
        assert_eq!(of(50, 100, 0)[0], (0, term));
        assert_eq!(of(20, 40, 0)[0], (0, kill));
        assert_eq!(of(51, 100, 0), []);
        assert_eq!(of(20, 101, 0), []);
        assert_eq!(with_zram(50, 900, 0, 550)[0], (0, term));
        assert_eq!(with_zram(20, 900, 0, 600)[0], (0, kill));
        assert_eq!(with_zram(20, 900, 0, 599)[0], (0, term));
        assert_eq!([with_zram(50, 900, 0, 549), with_zram(51, 900, 0, 900)], [[], []]);
        assert_eq!(of(50, 900, 40)[0], (30, term));
        assert_eq!(of(20, 900, 90)[0], (30, kill));
        assert_eq!([of(50, 900, 39), of(51, 900, 90)], [[], []]);
    }
}
