//! senpai, the script of 2019: it lowers `memory.high` of a group until that stalls a little.
//!
//! It looks every second at the growth of `some` of the group's `memory.pressure`. More than the target
//! since the last change raises the limit at once, by the square of the excess. Six looks without that
//! lower it, by at most 1 %. It begins with what the group uses, and anew after a write by others.
//!
//! Left out: the plug-in of oomd, which also looks at pressure of I/O.

use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::{MemcgId, PAGE_SIZE};
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::policy::daemon::{Action, Control, Daemon, Needs, Reason, System};

/// Its options, with the script's defaults.
#[derive(Clone, PartialEq, Debug)]
pub struct Senpai {
    /// The group.
    pub memcg: MemcgId,
    /// Stall in microseconds since the last change that is wanted.
    pub pressure: u64,
    /// Looks without it after which the limit is lowered.
    pub interval: u64,
    /// The largest part by which it is lowered.
    pub max_probe: f64,
    /// The largest part by which it is raised.
    pub max_backoff: f64,
    /// Multiple of the target at which it is raised by all of that.
    pub coeff_backoff: f64,
    /// Divisor of the target at which it is lowered by all of that.
    pub coeff_probe: f64,
    /// The least and the largest limit, in bytes.
    pub limits: [u64; 2],
}

impl Senpai {
    /// For a group.
    pub fn of(memcg: MemcgId) -> Senpai {
        Senpai {
            memcg,
            pressure: 10_000,
            interval: 6,
            max_probe: 0.01,
            max_backoff: 1.0,
            coeff_backoff: 20.0,
            coeff_probe: 10.0,
            limits: [100 << 20, 100 << 30],
        }
    }

    /// The part by which the limit changes after `stall` microseconds.
    fn factor(&self, stall: u64) -> f64 {
        let (stall, target) = (stall as f64, self.pressure as f64);
        if stall > target {
            let excess = stall / target / self.coeff_backoff;
            (excess * excess * self.max_backoff).min(self.max_backoff)
        } else {
            let room = target / stall.max(1.0) / self.coeff_probe;
            -(room * room * self.max_probe).min(self.max_probe)
        }
    }

    /// The next limit in bytes, in whole pages.
    fn next(&self, limit: u64, stall: u64) -> u64 {
        let next = (limit as f64 * (1.0 + self.factor(stall))) as u64;
        next.clamp(self.limits[0], self.limits[1]) / PAGE_SIZE * PAGE_SIZE
    }
}

/// senpai at work.
#[derive(Clone, Debug)]
pub struct Running {
    options: Senpai,
    /// The limit that it wrote last, in bytes, and the total of stall then.
    written: Option<(u64, u64)>,
    /// Looks since then.
    looks: u64,
}

impl Running {
    /// A run of it.
    pub fn new(options: Senpai) -> Running {
        Running { options, written: None, looks: 0 }
    }
}

impl Daemon for Running {
    fn needs(&self) -> Needs {
        Needs { pressure: vec![self.options.memcg], triggers: Vec::new() }
    }

    fn look(&mut self, system: &mut dyn System, _fired: &[usize]) -> SimTime {
        let next = system.now() + SimDuration::from_secs(1);
        let memcg = self.options.memcg;
        let files = system.group(memcg);
        let total = system.pressure(memcg).0.some_us;
        let high = files.high.map(|pages| pages * PAGE_SIZE);
        let (limit, rule, stall) = match self.written {
            Some((limit, since)) if high == Some(limit) => {
                self.looks += 1;
                let stall = total - since;
                if stall <= self.options.pressure && self.looks < self.options.interval {
                    return next;
                }
                let rule = if stall > self.options.pressure { "back off" } else { "probe" };
                (self.options.next(limit, stall), rule, stall)
            }
            _ => {
                let [least, most] = self.options.limits;
                ((files.current * PAGE_SIZE).clamp(least, most), "begin", 0)
            }
        };
        self.written = Some((limit, total));
        self.looks = 0;
        let read = vec![
            ("stall_us".to_string(), stall as f64),
            ("current".to_string(), (files.current * PAGE_SIZE) as f64),
            ("memory.high".to_string(), limit as f64),
        ];
        let reason = Reason { rule: rule.to_string(), since: system.now(), read };
        system.act(Action::Write(memcg, Control::High, Some(limit / PAGE_SIZE)), &reason);
        next
    }

    fn digest(&self, d: &mut Digest) {
        let (limit, total) = self.written.unwrap_or_default();
        d.words([limit, total, self.looks]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeBox;
    use mmsim_core::policy::daemon::GroupFiles;

    /// Worked by hand, in parts of a million.
    #[test]
    fn the_limit_follows_the_square_of_the_excess() {
        let senpai = Senpai::of(MemcgId(1));
        let factor = |stall| (senpai.factor(stall) * 1e6).round() as i64;
        assert_eq!([0, 1, 1000].map(factor), [-10_000; 3]);
        assert_eq!([2000, 5000, 9999].map(factor), [-2500, -400, -100]);
        assert_eq!([20_000, 50_000, 100_000].map(factor), [10_000, 62_500, 250_000]);
        assert_eq!([200_000, 900_000].map(factor), [1_000_000; 2]);
    }

    /// Ten probes of 1 % from 1 GiB take 60 s and end at 971,055,104 bytes.
    #[test]
    fn ten_probes_without_pressure() {
        let mut machine = FakeBox::default();
        let files = GroupFiles { current: 1 << 18, ..GroupFiles::default() };
        machine.groups.push(("a".to_string(), files));
        let mut daemon = Running::new(Senpai::of(MemcgId(1)));
        machine.run(&mut daemon, SimTime(60_000_000_000), &mut |m| {
            if let Some((_, Action::Write(_, _, pages))) = m.acts.last() {
                m.groups[0].1.high = *pages;
            }
        });
        assert_eq!(machine.acts.len(), 11);
        let last = machine.acts.last().map(|a| a.1);
        assert_eq!(last, Some(Action::Write(MemcgId(1), Control::High, Some(971_055_104 / 4096))));
    }
}
