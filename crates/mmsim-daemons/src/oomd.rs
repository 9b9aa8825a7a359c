//! oomd of Meta, 0.5.0: rulesets of plug-ins, looked at every 5 s.
//!
//! A ruleset has detectors and one action. Detectors of one group must all hold, and one group is
//! enough. Each plug-in is a row: a detector is a condition, an action is an order among the groups
//! that it names. After a kill nothing acts for a while.
//!
//! Source: oomd src/oomd/plugins (`PressureAbove`, `PressureRisingBeyond`, `MemoryAbove`,
//! `MemoryReclaim`, `SwapFree`, `KillMemoryGrowth`, `KillSwapUsage`, `KillPressure`, `KillPgScan`).
//! Deviations: a detector of pressure is of one group, not of the worst of several; the pause after an
//! act is one for all rulesets. Left out: chains of several actions, `recursive`, preferences by
//! extended attributes, `biased_swap_kill`, plug-ins of I/O.

use crate::expr::{Expr, Names};
use crate::rules::{Among, Do, Every, Order, Pick, Rule, Rules, Sort};
use mmsim_core::base::id::MemcgId;
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
}

/// An action.
#[derive(Clone, PartialEq, Debug)]
pub struct Kill {
    /// Position of its plug-in in [`ACTIONS`].
    pub plugin: usize,
    /// Groups among which it chooses.
    pub among: Vec<MemcgId>,
    /// Pause after a kill.
    pub pause: SimDuration,
}

/// A ruleset.
#[derive(Clone, PartialEq, Debug)]
pub struct Ruleset {
    /// Its name.
    pub name: String,
    /// Detectors, at least one.
    pub detectors: Vec<Detector>,
    /// Its action.
    pub kill: Kill,
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
        format!("memcg({}).current > {}MiB for {}", d.memcg, d.threshold, ms(d.duration))
    }),
    row("memory_reclaim", [true, false, true], |d| {
        format!("rate(memcg({}).stat.pgscan) > 0 within {}", d.memcg, ms(d.duration))
    }),
    row("swap_free", [false, true, false], |d| {
        format!("meminfo.SwapFree < meminfo.SwapTotal * {} / 100", d.threshold)
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

/// Plug-ins that kill: the name, who is a candidate, and the keys of the order.
pub const ACTIONS: [(&str, &str, &[&str]); 4] = [
    (
        "kill_by_memory_size_or_growth",
        "current > 0",
        &["current", "max(min, low)", "average(current)"],
    ),
    ("kill_by_swap_usage", "swap.current > 1MiB", &["swap.current"]),
    (
        "kill_by_pressure",
        "current > 0",
        &["floor(pressure.full.avg10 / 2 + pressure.full.avg60 / 2)"],
    ),
    ("kill_by_pg_scan", "rate(stat.pgscan) > 0", &["rate(stat.pgscan)"]),
];

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

    fn rule(&self, groups: Names<'_>) -> Rule {
        let own = |text: &str| Expr::own(text, groups);
        let (plugin, keep, keys) = ACTIONS[self.kill.plugin];
        let mut pick = Pick::of(Among::Groups(self.kill.among.clone()));
        pick.keep = Some(own(keep));
        pick.by = keys.iter().map(|key| (Sort::Largest, own(key))).collect();
        pick.order = if keys.len() > 1 { Order::SizeOrGrowth } else { Order::Keys };
        Rule {
            name: format!("{}: {plugin}", self.name),
            every: Every::Time(PERIOD),
            when: own(&self.condition()),
            pick: Some(pick),
            act: Do::Signal(Signal::Kill),
            pause: self.kill.pause,
            wait: None,
        }
    }
}

/// Rules of rulesets.
pub fn rules(all: &[Ruleset], groups: Names<'_>) -> Rules {
    Rules::new(all.iter().map(|r| r.rule(groups)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeBox;
    use mmsim_core::base::time::SimTime;
    use mmsim_core::policy::daemon::{Action, GroupFiles, Meminfo};

    fn detector(plugin: &str, group: &str, threshold: f64, seconds: u64) -> Detector {
        Detector {
            plugin: DETECTOR_NAMES.iter().position(|d| *d == plugin).expect("it is one"),
            group: group.into(),
            memcg: "user".into(),
            threshold,
            duration: SimDuration::from_secs(seconds),
        }
    }

    fn kill(plugin: &str) -> Kill {
        let plugin = ACTION_NAMES.iter().position(|a| *a == plugin).expect("it is one");
        Kill { plugin, among: vec![MemcgId(2), MemcgId(3)], pause: POST_ACTION_DELAY }
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
                kill: kill("kill_by_swap_usage"),
            };
            let info = Meminfo { swap_total: 1000, swap_free, ..Meminfo::default() };
            let mut machine = FakeBox { info, ..FakeBox::default() };
            for (name, swap_current) in names().into_iter().zip([0, 5000, 9000]) {
                machine.groups.push((name, GroupFiles { swap_current, ..GroupFiles::default() }));
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
