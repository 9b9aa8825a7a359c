//! systemd-oomd of systemd 252 and 257: two rules for each unit that it watches.
//!
//! *Swap*: every 150 ms. Used memory and used swap are both above the limit; the group without children
//! that has most in swap is killed, if that is more than 5 % of all swap. Without swap it never acts.
//! *Pressure*: every second. `full` avg10 of the unit exceeds its limit at every look for a time, and
//! reclaim scanned pages of the unit within 30 s. The group below the unit is killed that was scanned
//! most since the last look, then the largest. No pressure rule acts for 15 s then.
//!
//! Left out: hooks, rule files, owners of preferences.

use crate::expr::{Expr, Names};
use crate::rules::{Among, Do, Every, Pick, Rule, Rules, Sort};
use mmsim_core::base::id::MemcgId;
use mmsim_core::base::time::SimDuration;
use mmsim_core::policy::daemon::Signal;

/// A unit that is watched.
#[derive(Clone, PartialEq, Debug)]
pub struct Unit {
    /// Its group, of the machine's; the root is all.
    pub memcg: MemcgId,
    /// Its name.
    pub name: String,
    /// `ManagedOOMSwap=kill`.
    pub swap: bool,
    /// `ManagedOOMMemoryPressure=kill`, with its limit in per cent.
    pub pressure_limit: Option<f64>,
    /// For how long pressure has to exceed it.
    pub pressure_duration: SimDuration,
}

/// Its settings.
#[derive(Clone, PartialEq, Debug)]
pub struct SystemdOomd {
    /// `SwapUsedLimit`, in per cent.
    pub swap_used_limit: f64,
    /// Units.
    pub units: Vec<Unit>,
    /// Groups with `ManagedOOMPreference=avoid`.
    pub avoid: Vec<String>,
    /// Groups with `ManagedOOMPreference=omit`.
    pub omit: Vec<String>,
}

impl SystemdOomd {
    /// `DefaultMemoryPressureLimit`, in per cent.
    pub const PRESSURE_LIMIT: f64 = 60.0;
    /// `DefaultMemoryPressureDurationSec`.
    pub const PRESSURE_DURATION: SimDuration = SimDuration::from_secs(30);
    /// `SwapUsedLimit`, in per cent.
    pub const SWAP_USED_LIMIT: f64 = 90.0;
    /// `POST_ACTION_DELAY_USEC`.
    pub const POST_ACTION_DELAY: SimDuration = SimDuration::from_secs(15);

    /// Its rules: those of swap first.
    pub fn rules(&self, groups: Names<'_>) -> Rules {
        let swap = self.units.iter().filter(|u| u.swap).map(|u| self.swap_rule(u, groups));
        let pressure = self.units.iter().filter_map(|u| self.pressure_rule(u, groups));
        Rules::new(swap.chain(pressure).collect())
    }

    fn pick(&self, unit: &Unit) -> Pick {
        let (avoid, omit) = (self.avoid.clone(), self.omit.clone());
        Pick { avoid, omit, ..Pick::of(Among::Leaves(vec![unit.memcg])) }
    }

    fn swap_rule(&self, unit: &Unit, groups: Names<'_>) -> Rule {
        let own = |text: &str| Expr::own(text, groups);
        let left = format!("{} / 100", 100.0 - self.swap_used_limit);
        let pick = self.pick(unit).by(Sort::Largest, own("swap.current"));
        Rule {
            name: format!("swap of {}", shown(&unit.name)),
            every: Every::Time(SimDuration::from_millis(150)),
            when: own(&format!(
                "meminfo.MemAvailable < meminfo.MemTotal * {left} and \
                 meminfo.SwapFree < meminfo.SwapTotal * {left}"
            )),
            pick: Some(Pick {
                keep: Some(own("swap.current > meminfo.SwapTotal * 5 / 100")),
                ..pick
            }),
            act: Do::Signal(Signal::Kill),
            pause: SimDuration::ZERO,
            wait: None,
            chain: None,
        }
    }

    fn pressure_rule(&self, unit: &Unit, groups: Names<'_>) -> Option<Rule> {
        let own = |text: &str| Expr::own(text, groups);
        let name = if unit.name.is_empty() { "/" } else { unit.name.as_str() };
        let above = format!("memcg({name}).pressure.full.avg10 > {}", unit.pressure_limit?);
        let time = unit.pressure_duration.0 / 1_000_000;
        let scanned = format!("rate(memcg({name}).stat.pgscan) > 0 within 30s");
        let pick = self.pick(unit);
        let pick = pick.by(Sort::Largest, own("rate(stat.pgscan)"));
        let pick = pick.by(Sort::Largest, own("current"));
        Some(Rule {
            name: format!("pressure of {}", shown(&unit.name)),
            every: Every::Time(SimDuration::from_secs(1)),
            when: own(&format!("{above} for {time}ms and {scanned}")),
            pick: Some(Pick {
                keep: Some(own("stat.pgscan > 0 or current > 0")),
                scan: Some(own(&above)),
                ..pick
            }),
            act: Do::Signal(Signal::Kill),
            pause: Self::POST_ACTION_DELAY,
            wait: None,
            chain: None,
        })
    }
}

/// The name of a unit; the root has none.
fn shown(name: &str) -> &str {
    if name.is_empty() { "/" } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeBox;
    use mmsim_core::base::time::SimTime;
    use mmsim_core::policy::daemon::{Action, Daemon as _, GroupFiles, Meminfo};

    fn unit(swap: bool, pressure_limit: Option<f64>, seconds: u64) -> SystemdOomd {
        let pressure_duration = SimDuration::from_secs(seconds);
        let name = "user".to_string();
        let unit = Unit { memcg: MemcgId(1), name, swap, pressure_limit, pressure_duration };
        let (avoid, omit) = (Vec::new(), Vec::new());
        SystemdOomd {
            swap_used_limit: SystemdOomd::SWAP_USED_LIMIT,
            units: vec![unit],
            avoid,
            omit,
        }
    }

    /// Seconds of its kills under a full stall from the start, in which reclaim scans all the time.
    /// The averages move every 2 s, just before the look.
    fn kills(oomd: &SystemdOomd) -> Vec<u64> {
        let mut daemon = oomd.rules(&["user".to_string()]);
        let mut machine = FakeBox::default();
        machine.groups.push(("user".to_string(), GroupFiles { current: 1, ..Default::default() }));
        let mut avg10 = 0;
        machine.run(&mut daemon, SimTime(60_000_000_000), &mut |m| {
            let second = m.now.0 / 1_000_000_000;
            if second > 0 && second.is_multiple_of(2) {
                avg10 = (avg10 * 1677 + 100 * 2048 * 371_u64).div_ceil(2048);
            }
            m.averages.entry(MemcgId(1)).or_default().full[0] = avg10;
            m.groups[0].1.pgscan += 1;
        });
        machine.acts.iter().map(|a| a.0.0 / 1_000_000_000).collect()
    }

    /// Worked by hand: avg10 is above 60 from 10 s on, and 30 s later it kills; 15 s later again.
    #[test]
    fn a_full_stall_is_acted_on_after_forty_seconds() {
        assert_eq!(kills(&unit(false, Some(60.0), 30)), [40, 55]);
        assert_eq!(kills(&unit(false, Some(50.0), 20))[0], 28);
    }

    /// 97 % of swap is used. With 9.0 of 15.4 GiB available nothing happens; with 1.5 GiB the group
    /// dies if it has more than 5 % of the swap.
    #[test]
    fn swap_needs_memory_too() {
        const GIB: f64 = (1u64 << 18) as f64;
        let acts = |available: f64, of_group: f64| {
            let swap = 3.8 * GIB;
            let mut machine = FakeBox {
                info: Meminfo {
                    mem_total: (15.4 * GIB) as u64,
                    mem_available: (available * GIB) as u64,
                    swap_total: swap as u64,
                    swap_free: (swap * 0.03) as u64,
                    ..Meminfo::default()
                },
                ..FakeBox::default()
            };
            let swap_current = (of_group * GIB) as u64;
            let files = GroupFiles { swap_current, ..GroupFiles::default() };
            machine.groups.push(("user".to_string(), files));
            unit(true, None, 0).rules(&["user".to_string()]).look(&mut machine, &[]);
            machine.acts
        };
        assert_eq!(acts(9.0, 3.0), []);
        assert_eq!(acts(1.5, 0.18), []);
        assert_eq!(acts(1.5, 0.2), [(SimTime(0), Action::SignalGroup(MemcgId(1), Signal::Kill))]);
    }
}
