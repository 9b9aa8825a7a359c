//! senpai: it lowers `memory.high` of a group until that stalls a little.
//!
//! It looks every second at the growth of `some` of the group's `memory.pressure`. More than the target
//! since the last change raises the limit at once, by the square of the excess. Six looks without that
//! lower it, by at most 1 %. It begins with what the group uses, and anew after a write by others.
//!
//! The plug-in of oomd looks every 5 s, divides to whole numbers, and keeps the limit between what
//! cannot be reclaimed and what the machine has. Its immediate mode writes no limit: while `some` avg10
//! and avg60 are low, it reclaims a hundredth of what could go, every 30 s.
//!
//! Source: senpai.py of 2019; oomd src/oomd/plugins/Senpai.cpp, 2026. Left out: pressure of I/O,
//! `swap_threshold`, `swapout_bps_threshold`, `modulate_swappiness`.

use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::{MemcgId, PAGE_SIZE};
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::policy::daemon::{
    Action, Control, Daemon, GroupFiles, Meminfo, Needs, PressureAverages, Reason, System,
};

/// Which senpai.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The script of 2019.
    Script,
    /// The plug-in of oomd.
    Plugin,
    /// The plug-in with `immediate_backoff`.
    Immediate,
}

/// `some` in per cent from which on the immediate mode does nothing (`pressure_pct`), and the part of
/// what can be reclaimed that it reclaims (`max_probe`).
const IMMEDIATE: [f64; 2] = [0.1, 0.01];
/// Limits of the plug-in: above what cannot be reclaimed, and above what is used (`limit_min_bytes`,
/// `limit_max_bytes`).
const BEYOND: [u64; 2] = [100 << 20, 10 << 30];

/// Its options, with the defaults of the script, which are those of the plug-in too.
#[derive(Clone, PartialEq, Debug)]
pub struct Senpai {
    /// The group.
    pub memcg: MemcgId,
    /// Which senpai.
    pub mode: Mode,
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
            mode: Mode::Script,
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
        let whole = |quotient: f64| match self.mode {
            Mode::Script => quotient,
            Mode::Plugin | Mode::Immediate => quotient.floor(),
        };
        if self.is_much(stall as u64) {
            let excess = whole(stall / target) / self.coeff_backoff;
            (excess * excess * self.max_backoff).min(self.max_backoff)
        } else {
            let room = whole(target / stall.max(1.0)) / self.coeff_probe;
            -(room * room * self.max_probe).min(self.max_probe)
        }
    }

    /// True if the group stalls more than it should.
    fn is_much(&self, stall: u64) -> bool {
        match self.mode {
            Mode::Script => stall > self.pressure,
            Mode::Plugin | Mode::Immediate => stall >= self.pressure,
        }
    }

    /// The next limit in bytes, in whole pages.
    fn next(&self, limit: u64, stall: u64, [least, most]: [u64; 2]) -> u64 {
        let next = (limit as f64 * (1.0 + self.factor(stall))) as u64;
        next.clamp(least, most.max(least)) / PAGE_SIZE * PAGE_SIZE
    }
}

/// Limits of the plug-in in bytes.
fn bounds(files: &GroupFiles, info: &Meminfo) -> [u64; 2] {
    let [inactive, active, ..] = files.lists;
    let reclaimable = files.file_lists() + info.swap_free.min(inactive + active);
    let least = files.current.saturating_sub(reclaimable) * PAGE_SIZE + BEYOND[0];
    let own = files.max.map_or(u64::MAX, |pages| pages * PAGE_SIZE);
    [least, (files.current * PAGE_SIZE + BEYOND[1]).min(info.mem_total * PAGE_SIZE).min(own)]
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

impl Running {
    /// A look of the immediate mode.
    fn reclaim(&mut self, system: &mut dyn System, files: &GroupFiles, [least, _]: [u64; 2]) {
        let memcg = self.options.memcg;
        let averages = system.pressure(memcg).1.some;
        let percent = |average| {
            let (whole, hundredths) = PressureAverages::digits(average);
            whole as f64 + hundredths as f64 / 100.0
        };
        let [avg10, avg60] = [averages[0], averages[1]].map(percent);
        self.looks += 1;
        let rests = self.written.is_some() && self.looks <= self.options.interval;
        let current = files.current * PAGE_SIZE;
        if rests || avg10.max(avg60) >= IMMEDIATE[0] || current <= least {
            return;
        }
        let bytes = ((current - least) as f64 * IMMEDIATE[1]) as u64;
        let read = vec![
            ("some.avg10".to_string(), avg10),
            ("some.avg60".to_string(), avg60),
            ("current".to_string(), current as f64),
        ];
        let reason = Reason { rule: "reclaim".to_string(), since: system.now(), read };
        if bytes >= PAGE_SIZE {
            system.act(Action::Reclaim(memcg, bytes / PAGE_SIZE, None), &reason);
            (self.written, self.looks) = (Some((bytes, 0)), 0);
        }
    }
}

impl Daemon for Running {
    fn needs(&self) -> Needs {
        Needs { pressure: vec![self.options.memcg], triggers: Vec::new() }
    }

    fn look(&mut self, system: &mut dyn System, _fired: &[usize]) -> SimTime {
        let every = if self.options.mode == Mode::Script { 1 } else { 5 };
        let next = system.now() + SimDuration::from_secs(every);
        let memcg = self.options.memcg;
        let files = system.group(memcg);
        let limits = match self.options.mode {
            Mode::Script => self.options.limits,
            Mode::Plugin | Mode::Immediate => bounds(&files, &system.meminfo()),
        };
        if self.options.mode == Mode::Immediate {
            self.reclaim(system, &files, limits);
            return next;
        }
        let total = system.pressure(memcg).0.some_us;
        let high = files.high.map(|pages| pages * PAGE_SIZE);
        let (limit, rule, stall) = match self.written {
            Some((limit, since)) if high == Some(limit) => {
                self.looks += 1;
                let stall = total - since;
                let much = self.options.is_much(stall);
                if !much && self.looks < self.options.interval {
                    return next;
                }
                let rule = if much { "back off" } else { "probe" };
                (self.options.next(limit, stall, limits), rule, stall)
            }
            _ => {
                let [least, most] = limits;
                let begin = (files.current * PAGE_SIZE).clamp(least, most.max(least));
                (begin / PAGE_SIZE * PAGE_SIZE, "begin", 0)
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

    /// The plug-in divides to whole numbers: 19,999 us are once the target, 20,000 twice. The target
    /// itself is too much.
    #[test]
    fn the_plug_in_cuts_quotients() {
        let senpai = Senpai { mode: Mode::Plugin, ..Senpai::of(MemcgId(1)) };
        let factor = |stall| (senpai.factor(stall) * 1e6).round() as i64;
        assert_eq!([10_000, 19_999, 20_000].map(factor), [2500, 2500, 10_000]);
        assert_eq!([9_999, 5001, 5000].map(factor), [-100, -100, -400]);
    }

    /// Of 1 GiB of anonymous memory 512 MiB find room in swap, so 612 MiB stay; a hundredth of the rest
    /// goes every 30 s while nothing stalls.
    #[test]
    fn the_immediate_mode_reclaims_a_hundredth() {
        let info = Meminfo { mem_total: 1 << 20, swap_free: 1 << 17, ..Meminfo::default() };
        let mut machine = FakeBox { info, ..FakeBox::default() };
        let (current, lists) = (1 << 18, [1 << 18, 0, 0, 0]);
        machine.groups.push(("a".into(), GroupFiles { current, lists, ..GroupFiles::default() }));
        assert_eq!(bounds(&machine.groups[0].1, &machine.info)[0], 612 << 20);
        let mut daemon = Running::new(Senpai { mode: Mode::Immediate, ..Senpai::of(MemcgId(1)) });
        machine.run(&mut daemon, SimTime(69_000_000_000), &mut |_| {});
        let pages = ((412 << 20) / 100) / PAGE_SIZE;
        let act = |second: u64| {
            (SimTime(second * 1_000_000_000), Action::Reclaim(MemcgId(1), pages, None))
        };
        assert_eq!(machine.acts, [act(0), act(35)]);
        machine.averages.entry(MemcgId(1)).or_default().some[1] = 2048;
        machine.run(&mut daemon, SimTime(200_000_000_000), &mut |_| {});
        assert_eq!(machine.acts.len(), 2);
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
