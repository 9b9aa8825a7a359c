//! oomd of Meta, 0.5.0: rulesets of plug-ins, looked at every 5 s.
//!
//! A ruleset has detectors and a chain of actions. Detectors of one group must all hold, and one group
//! is enough. Each plug-in is a row: a detector is a condition, an action is an order among the groups
//! that it names. The actions of a chain come in order, at one look: one that finds no group to kill
//! lets the next one act, and one that killed ends the chain, which pauses then. If a hook runs before
//! a kill, the chain stops at the chosen victim and goes on from there at a later look, whatever has
//! become of the detectors.
//!
//! Source: oomd src/oomd/engine/Ruleset.cpp, src/oomd/plugins (`BaseKillPlugin`, `PressureAbove`,
//! `PressureRisingBeyond`, `MemoryAbove`, `MemoryReclaim`, `SwapFree`, `KillMemoryGrowth`,
//! `KillSwapUsage`, `KillPressure`, `KillPgScan`, `Continue`, `Stop`). Deviation: a detector of pressure
//! is of one group, not of the worst of several. With `recursive` a walk goes down from the first
//! group to the first of its children and so on; where none is left to kill, it comes back to the
//! next of the level above. Left out: plug-ins of I/O, hooks that choose by the group, and settings
//! of numbers that are constants here (`fast_fall_ratio`, `growing_size_percentile`).

use crate::expr::{Expr, Names};
use crate::rules::{Among, Chain, Do, Every, Order, Pick, Rule, Rules, Sort};
use mmsim_core::base::id::{MemcgId, PAGE_SIZE};
use mmsim_core::base::time::SimDuration;
use mmsim_core::policy::daemon::Signal;

/// Time between two looks (`-i`).
const PERIOD: SimDuration = SimDuration::from_secs(5);
/// `post_action_delay`.
pub const POST_ACTION_DELAY: SimDuration = SimDuration::from_secs(15);
/// `fast_fall_ratio`.
const FAST_FALL: f64 = 0.85;

/// A detector.
#[derive(Clone, PartialEq, Debug)]
pub struct Detector {
    /// Position of its plug-in in [`DETECTORS`].
    pub plugin: usize,
    /// Detectors of one group must all hold.
    pub group: String,
    /// The name of its memory cgroup; `/` is the machine.
    pub memcg: String,
    /// Per cent of pressure or of free swap; MiB of `memory_above`.
    pub threshold: f64,
    /// For how long it holds, or within which time.
    pub duration: SimDuration,
    /// `memory_above` looks at anonymous memory (`threshold_anon`).
    pub anon: bool,
    /// `swap_free` also wants as many bytes to go to swap in a second (`swapout_bps_threshold`).
    pub swap_out: u64,
}

/// An action.
#[derive(Clone, PartialEq, Debug)]
pub struct Kill {
    /// Position of its plug-in in [`ACTIONS`].
    pub plugin: usize,
    /// Groups among which it chooses.
    pub among: Vec<MemcgId>,
    /// It goes down to groups below them (`recursive`).
    pub recursive: bool,
    /// Names of groups that come before others, and of those that come behind them
    /// (`trusted.oomd_prefer`, `trusted.oomd_avoid`).
    pub prefer: Vec<String>,
    /// See `prefer`.
    pub avoid: Vec<String>,
    /// `kill_by_swap_usage` spares what is protected (`biased_swap_kill`).
    pub biased: bool,
    /// Pause of the chain after a kill.
    pub pause: SimDuration,
    /// The chain goes on after a kill, without a pause (`always_continue`).
    pub goes_on: bool,
}

/// A ruleset.
#[derive(Clone, PartialEq, Debug)]
pub struct Ruleset {
    /// Its name.
    pub name: String,
    /// Detectors, at least one.
    pub detectors: Vec<Detector>,
    /// Its actions in order, at least one.
    pub actions: Vec<Kill>,
    /// Time that the hook before a kill takes; 0: there is none.
    pub hook: SimDuration,
    /// The longest wait for it (`prekill_hook_timeout`).
    pub hook_timeout: SimDuration,
}

/// A plug-in that detects.
#[derive(Debug)]
pub struct DetectorRow {
    /// Its name.
    pub name: &'static str,
    /// True if it takes a memory cgroup, a threshold, a duration.
    pub takes: [bool; 3],
    /// Its condition.
    condition: fn(&Detector) -> String,
}

const fn row(
    name: &'static str,
    takes: [bool; 3],
    condition: fn(&Detector) -> String,
) -> DetectorRow {
    DetectorRow { name, takes, condition }
}

/// Plug-ins that detect.
pub const DETECTORS: [DetectorRow; 5] = [
    row("pressure_above", [true, true, true], |d| {
        let Detector { memcg, threshold, .. } = d;
        format!("memcg({memcg}).pressure.full.avg10 > {threshold} for {}", ms(d.duration))
    }),
    row("pressure_rising_beyond", [true, true, true], |d| {
        let Detector { memcg, threshold, .. } = d;
        let now = format!("memcg({memcg}).pressure.full.avg10");
        // The value of the look before is the value now less its growth since.
        format!(
            "memcg({memcg}).pressure.full.avg60 > {threshold} for {} and {now} > {threshold} \
             and {now} >= ({now} - rate({now})) * {FAST_FALL}",
            ms(d.duration)
        )
    }),
    row("memory_above", [true, true, true], |d| {
        let what = if d.anon { "stat.anon" } else { "current" };
        format!("memcg({}).{what} > {}MiB for {}", d.memcg, d.threshold, ms(d.duration))
    }),
    row("memory_reclaim", [true, false, true], |d| {
        format!("rate(memcg({}).stat.pgscan) > 0 within {}", d.memcg, ms(d.duration))
    }),
    row("swap_free", [false, true, false], |d| {
        let free = format!("meminfo.SwapFree < meminfo.SwapTotal * {} / 100", d.threshold);
        if d.swap_out == 0 {
            return free;
        }
        let a_second = d.swap_out as f64 * PERIOD.0 as f64 / 1e9 / PAGE_SIZE as f64;
        format!("rate(vmstat.pswpout) >= {a_second} and {free}")
    }),
];

/// Their names.
pub const DETECTOR_NAMES: [&str; DETECTORS.len()] = {
    let mut names = [""; DETECTORS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = DETECTORS[i].name;
        i += 1;
    }
    names
};

/// Their names.
pub const ACTION_NAMES: [&str; ACTIONS.len()] = {
    let mut names = [""; ACTIONS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = ACTIONS[i].0;
        i += 1;
    }
    names
};

/// Plug-ins that act: the name, who is a candidate, and the keys of the order. Those without keys kill
/// no group: the chain goes on behind `GOES_ON`, and ends with the other.
pub const ACTIONS: [(&str, &str, &[&str]); 6] = [
    (
        "kill_by_memory_size_or_growth",
        "stat.anon > 0",
        &["current", "max(min, low)", "average(current)"],
    ),
    (SWAP_USAGE, "swap.current > 1MiB and stat.anon > 0", &["swap.current"]),
    (
        "kill_by_pressure",
        "stat.anon > 0",
        &["floor(pressure.full.avg10 / 2 + pressure.full.avg60 / 2)"],
    ),
    ("kill_by_pg_scan", "rate(stat.pgscan) > 0 and stat.anon > 0", &["rate(stat.pgscan)"]),
    (GOES_ON, "", &[]),
    (STOP, "", &[]),
];

/// The plug-in that `biased_swap_kill` is of, and its key then: the share of swap that goes with the
/// protected share of memory counts less.
pub const SWAP_USAGE: &str = "kill_by_swap_usage";
const BIASED: &str = "swap.current - max(min, low) * meminfo.SwapTotal / meminfo.MemTotal";
/// The plug-in that does nothing.
const GOES_ON: &str = "continue";
/// The plug-in that ends a chain.
pub const STOP: &str = "stop";

fn ms(time: SimDuration) -> String {
    format!("{}ms", time.0 / 1_000_000)
}

impl Ruleset {
    /// The condition: groups of detectors in the order of their first ones.
    fn condition(&self) -> String {
        let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
        for d in &self.detectors {
            let text = (DETECTORS[d.plugin].condition)(d);
            match groups.iter_mut().find(|g| g.0 == d.group) {
                Some(group) => group.1.push(text),
                None => groups.push((&d.group, vec![text])),
            }
        }
        let all: Vec<String> = groups.iter().map(|g| format!("({})", g.1.join(" and "))).collect();
        all.join(" or ")
    }

    /// The rule of its n-th action.
    fn rule(&self, n: usize, groups: Names<'_>) -> Rule {
        let own = |text: &str| Expr::own(text, groups);
        let action = &self.actions[n];
        let (plugin, keep, keys) = ACTIONS[action.plugin];
        let keys = if action.biased { &[BIASED] } else { keys };
        let pick = (!keys.is_empty()).then(|| Pick {
            keep: Some(own(keep)),
            by: keys.iter().map(|key| (Sort::Largest, own(key))).collect(),
            order: if keys.len() > 1 { Order::SizeOrGrowth } else { Order::Keys },
            below: if action.recursive { below(&action.among, groups) } else { Vec::new() },
            prefer: action.prefer.clone(),
            avoid: action.avoid.clone(),
            ..Pick::of(Among::Groups(action.among.clone()))
        });
        let goes_on = action.goes_on || plugin == GOES_ON;
        Rule {
            name: format!("{}: {plugin}", self.name),
            every: Every::Time(PERIOD),
            when: own(&self.condition()),
            act: if pick.is_some() { Do::Signal(Signal::Kill) } else { Do::Nothing },
            pick,
            pause: action.pause,
            wait: None,
            chain: Some(Chain { follows: n > 0, goes_on, hook: self.hook.min(self.hook_timeout) }),
        }
    }
}

/// All groups below these.
fn below(tops: &[MemcgId], groups: Names<'_>) -> Vec<MemcgId> {
    let name = |m: &MemcgId| groups[usize::from(m.0) - 1].as_str();
    let is_below = |m: &MemcgId| {
        let rest = tops.iter().filter_map(|top| name(m).strip_prefix(name(top)));
        rest.into_iter().any(|rest| rest.starts_with('/'))
    };
    (1..=groups.len() as u16).map(MemcgId).filter(is_below).collect()
}

/// Rules of rulesets.
pub fn rules(all: &[Ruleset], groups: Names<'_>) -> Rules {
    let of = |r: &Ruleset| (0..r.actions.len()).map(|n| r.rule(n, groups)).collect::<Vec<_>>();
    Rules::new(all.iter().flat_map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeBox;
    use mmsim_core::base::time::SimTime;
    use mmsim_core::policy::daemon::{Action, Daemon as _, GroupFiles, Meminfo};

    fn detector(plugin: &str, group: &str, threshold: f64, seconds: u64) -> Detector {
        Detector {
            plugin: DETECTOR_NAMES.iter().position(|d| *d == plugin).expect("it is one"),
            group: group.into(),
            memcg: "user".into(),
            threshold,
            duration: SimDuration::from_secs(seconds),
            anon: false,
            swap_out: 0,
        }
    }

    fn kill(plugin: &str) -> Kill {
        let plugin = ACTION_NAMES.iter().position(|a| *a == plugin).expect("it is one");
        Kill {
            plugin,
            among: vec![MemcgId(2), MemcgId(3)],
            recursive: false,
            prefer: Vec::new(),
            avoid: Vec::new(),
            biased: false,
            pause: POST_ACTION_DELAY,
            goes_on: false,
        }
    }

    /// Acts in 46 s of a box with `user/a` and `user/b`, where the second has more of everything but
    /// swap, of which neither has enough to be killed for. Swap is full up to the 22nd second, and
    /// `user/b` is gone from `gone` s on.
    fn acts_of(actions: Vec<Kill>, hook: SimDuration, gone: u64) -> Vec<(u64, u16)> {
        let detectors = vec![detector("swap_free", "", 10.0, 0)];
        let hook_timeout = SimDuration::from_secs(60);
        let ruleset = Ruleset { name: "r".into(), detectors, actions, hook, hook_timeout };
        let info = Meminfo { swap_total: 1000, ..Meminfo::default() };
        let mut machine = FakeBox { info, ..FakeBox::default() };
        for (name, anon) in names().into_iter().zip([0, 5000, 9000]) {
            machine
                .groups
                .push((name, GroupFiles { anon, current: anon, ..GroupFiles::default() }));
        }
        let mut daemon = rules(&[ruleset], &names());
        machine.run(&mut daemon, SimTime(46_000_000_000), &mut |m| {
            let second = m.now.0 / 1_000_000_000;
            m.info.swap_free = if second < 22 { 50 } else { 900 };
            if second >= gone {
                m.groups[2].1 = GroupFiles::default();
            }
        });
        let at = |a: &(SimTime, Action)| match a.1 {
            Action::SignalGroup(m, Signal::Kill) => (a.0.0 / 1_000_000_000, m.0),
            other => panic!("{other:?}"),
        };
        machine.acts.iter().map(at).collect()
    }

    /// No group has swap, so the second action of the chain kills, and the chain rests for 15 s; with
    /// `stop` before it none does. An action that always goes on kills at each look, with no pause; and
    /// the one behind it kills too.
    #[test]
    fn actions_of_a_chain_come_in_order() {
        let swap = || kill("kill_by_swap_usage");
        let size = || kill("kill_by_memory_size_or_growth");
        let no = SimDuration::ZERO;
        assert_eq!(acts_of(vec![swap(), size()], no, 99), [(0, 3), (15, 3)]);
        assert_eq!(acts_of(vec![swap(), kill("continue"), size()], no, 99), [(0, 3), (15, 3)]);
        assert_eq!(acts_of(vec![swap(), kill("stop"), size()], no, 99), []);
        let always = || Kill { goes_on: true, ..size() };
        assert_eq!(acts_of(vec![always()], no, 12), [(0, 3), (5, 3), (10, 3), (15, 2), (20, 2)]);
        let both = acts_of(vec![always(), size()], no, 99);
        assert_eq!(both, [(0, 3), (0, 3), (15, 3), (15, 3)]);
    }

    /// A hook of 2 s has run by the next look, 5 s later; one of 7 s takes two. The kill comes though
    /// the detector holds no longer, and the pause begins with it. Without a victim by then the chain
    /// goes on with its next action, which has a hook of its own.
    #[test]
    fn a_hook_delays_the_kill() {
        let size = || kill("kill_by_memory_size_or_growth");
        let of =
            |seconds, gone| acts_of(vec![size(), size()], SimDuration::from_secs(seconds), gone);
        assert_eq!(of(2, 99), [(5, 3), (25, 3)]);
        assert_eq!(of(7, 99), [(10, 3)]);
        assert_eq!(of(2, 3), [(10, 2)]);
    }

    fn names() -> Vec<String> {
        ["user", "user/a", "user/b"].map(String::from).to_vec()
    }

    /// Reclaim and pressure must both hold; pressure is seen every 5 s and kept up for 30 s. The next
    /// kill is due after a pause of 15 s.
    #[test]
    fn detectors_are_anded_and_groups_ored() {
        let acts = |scans: bool, swap_free: u64| {
            let ruleset = Ruleset {
                name: "r".into(),
                detectors: vec![
                    detector("pressure_above", "pressure", 60.0, 30),
                    detector("memory_reclaim", "pressure", 0.0, 10),
                    detector("swap_free", "swap", 10.0, 0),
                ],
                actions: vec![kill("kill_by_swap_usage")],
                hook: SimDuration::ZERO,
                hook_timeout: SimDuration::ZERO,
            };
            let info = Meminfo { swap_total: 1000, swap_free, ..Meminfo::default() };
            let mut machine = FakeBox { info, ..FakeBox::default() };
            for (name, swap_current) in names().into_iter().zip([0, 5000, 9000]) {
                let files = GroupFiles { swap_current, anon: 1, ..GroupFiles::default() };
                machine.groups.push((name, files));
            }
            machine.averages.entry(MemcgId(1)).or_default().full[0] = 70 * 2048;
            let mut daemon = rules(&[ruleset], &names());
            machine.run(&mut daemon, SimTime(46_000_000_000), &mut |m| {
                m.groups[0].1.pgscan += u64::from(scans);
            });
            let at = |a: &(SimTime, Action)| (a.0.0 / 1_000_000_000, a.1);
            machine.acts.iter().map(at).collect::<Vec<_>>()
        };
        let b = Action::SignalGroup(MemcgId(3), Signal::Kill);
        assert_eq!(acts(true, 900), [(30, b), (45, b)]);
        assert_eq!(acts(false, 900), []);
        assert_eq!(acts(false, 99)[0], (0, b));
    }

    /// `user` has more than `batch`, though `batch/c` is the largest of those below. So a walk goes
    /// down to the larger of `user/a` and `user/b`, and comes back to `batch` when both are gone.
    /// A preference counts among siblings alone, and a group that dies as a whole is not entered.
    #[test]
    fn a_walk_goes_down_from_the_largest() {
        let groups = [("user", 90), ("user/a", 50), ("user/b", 40), ("batch", 60), ("batch/c", 60)];
        let acts = |kill: Kill, whole: &[u16]| {
            let detectors = vec![detector("swap_free", "", 10.0, 0)];
            let (hook, hook_timeout) = (SimDuration::ZERO, SimDuration::ZERO);
            let name = "r".into();
            let ruleset = Ruleset { name, detectors, actions: vec![kill], hook, hook_timeout };
            let info = Meminfo { swap_total: 1000, ..Meminfo::default() };
            let whole = whole.iter().map(|&m| MemcgId(m)).collect();
            let mut machine = FakeBox { info, whole, ..FakeBox::default() };
            for (name, pages) in groups {
                let swap_current = pages * 1000;
                let files = GroupFiles { swap_current, anon: 1, ..GroupFiles::default() };
                machine.groups.push((name.into(), files));
            }
            let names: Vec<String> = groups.iter().map(|g| g.0.to_string()).collect();
            let mut daemon = rules(&[ruleset], &names);
            let mut killed = Vec::new();
            machine.run(&mut daemon, SimTime(46_000_000_000), &mut |m| {
                for (_, act) in m.acts.drain(..) {
                    let Action::SignalGroup(group, Signal::Kill) = act else { panic!("{act:?}") };
                    m.groups[usize::from(group.0) - 1].1.anon = 0;
                    killed.push(group.0);
                }
            });
            killed
        };
        let of = |prefer: &[&str], avoid: &[&str], recursive| Kill {
            among: vec![MemcgId(1), MemcgId(4)],
            recursive,
            prefer: prefer.iter().map(|n| n.to_string()).collect(),
            avoid: avoid.iter().map(|n| n.to_string()).collect(),
            ..kill("kill_by_swap_usage")
        };
        assert_eq!(acts(of(&[], &[], false), &[]), [1, 4]);
        assert_eq!(acts(of(&[], &[], true), &[]), [2, 3, 5]);
        assert_eq!(acts(of(&["user/b"], &[], true), &[]), [3, 2, 5]);
        assert_eq!(acts(of(&["batch/c"], &[], true), &[]), [2, 3, 5]);
        assert_eq!(acts(of(&[], &["user"], true), &[]), [5, 2, 3]);
        assert_eq!(acts(of(&[], &[], true), &[1]), [1, 5]);
    }

    /// Pressure of groups below is watched too, from the beginning on.
    #[test]
    fn a_walk_reads_pressure_below() {
        let names = ["a", "a/b", "ab", "a/b/c"].map(String::from);
        let of = |recursive| {
            let detectors = vec![detector("swap_free", "", 10.0, 0)];
            let actions =
                vec![Kill { among: vec![MemcgId(1)], recursive, ..kill("kill_by_pressure") }];
            let (hook, hook_timeout) = (SimDuration::ZERO, SimDuration::ZERO);
            let ruleset = Ruleset { name: "r".into(), detectors, actions, hook, hook_timeout };
            let mut needs = rules(&[ruleset], &names).needs().pressure;
            needs.sort();
            needs.dedup();
            needs
        };
        assert_eq!(of(false), [MemcgId(1)]);
        assert_eq!(of(true), [1, 2, 4].map(MemcgId));
    }

    /// Swap of 1,000 pages for memory of 500: 150 protected pages stand for 300 in swap. 400 less
    /// those are fewer than 300.
    #[test]
    fn protection_counts_against_swap() {
        let first = |biased: bool| {
            let detectors = vec![detector("swap_free", "", 10.0, 0)];
            let actions = vec![Kill { biased, ..kill("kill_by_swap_usage") }];
            let (hook, hook_timeout) = (SimDuration::ZERO, SimDuration::ZERO);
            let ruleset = Ruleset { name: "r".into(), detectors, actions, hook, hook_timeout };
            let info = Meminfo { swap_total: 1000, mem_total: 500, ..Meminfo::default() };
            let mut machine = FakeBox { info, ..FakeBox::default() };
            for (name, (swap_current, low)) in
                names().into_iter().zip([(0, 0), (400, 150), (300, 0)])
            {
                let files = GroupFiles { swap_current, low, anon: 1, ..GroupFiles::default() };
                machine.groups.push((name, files));
            }
            machine.run(&mut rules(&[ruleset], &names()), SimTime::ZERO, &mut |_| {});
            machine.acts.into_iter().map(|a| a.1).next()
        };
        let kill = |m| Some(Action::SignalGroup(MemcgId(m), Signal::Kill));
        assert_eq!([false, true].map(first), [kill(2), kill(3)]);
    }

    /// 1 MiB a second is 1,280 pages in the 5 s between two looks.
    #[test]
    fn swap_has_to_fill_fast_too() {
        let rate = Detector { swap_out: 1 << 20, ..detector("swap_free", "", 10.0, 0) };
        let expr = Expr::own(&(DETECTORS[4].condition)(&rate), &names());
        let info = Meminfo { swap_total: 1000, swap_free: 50, ..Meminfo::default() };
        let mut machine = FakeBox { info, ..FakeBox::default() };
        let mut held = Vec::new();
        for pages in [0, 1279, 1279 + 1280, 1279 + 1280] {
            machine.now += PERIOD;
            machine.swapped_out = pages;
            held.push(machine.value(&expr));
        }
        assert_eq!(held, [0.0, 0.0, 1.0, 0.0]);
    }

    /// avg60 above the threshold is no reason while avg10 falls fast.
    #[test]
    fn falling_pressure_is_no_reason() {
        let text = (DETECTORS[1].condition)(&detector("pressure_rising_beyond", "", 40.0, 0));
        let expr = Expr::own(&text, &names());
        let mut machine = FakeBox::default();
        machine.groups.push((names()[0].clone(), GroupFiles::default()));
        let mut held = Vec::new();
        for (second, avg10) in [80, 70, 50, 50, 30].into_iter().enumerate() {
            machine.now = SimTime(second as u64 * 5_000_000_000);
            machine.averages.entry(MemcgId(1)).or_default().full = [avg10 * 2048, 50 * 2048, 0];
            held.push(machine.value(&expr));
        }
        assert_eq!(held, [1.0, 1.0, 0.0, 1.0, 0.0]);
    }
}
