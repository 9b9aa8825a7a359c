//! lmkd, the low memory killer of Android 13: pressure triggers wake it, and watermarks, free swap and
//! refaults of files decide.
//!
//! Two triggers, some and full, within a second. After an event it looks for a second, every 100 ms, or
//! every 10 ms while swap is low or a kill goes on. Of the reasons to kill the first that holds counts.
//! The victim is the process with the largest `oom_score_adj`; below 201 the largest one of those.
//! Perceptible apps, of 200 and less, are spared by some reasons.
//!
//! Deviations: among equal values of the background the process that began first is taken for the one
//! that was used longest ago, but for apps of the workload `apps`, which know. CMA is not subtracted from free memory. Left out: levels and events of
//! memory cgroups, `kill_heaviest_task`, other vendors' reasons.

use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::MemcgId;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::policy::daemon::{
    Action, Daemon, Meminfo, Needs, Pid, Process, Reason, Signal, Stall, System, TriggerSpec,
};

/// Its properties (`ro.lmk.*`).
#[derive(Clone, PartialEq, Debug)]
pub struct Lmkd {
    /// `psi_partial_stall_ms`: 70, with little memory 200.
    pub partial_stall: SimDuration,
    /// `psi_complete_stall_ms`.
    pub complete_stall: SimDuration,
    /// `swap_free_low_percentage`.
    pub swap_free_low: u64,
    /// `thrashing_limit`, per cent of the file LRU: 100, with little memory 30.
    pub thrashing_limit: u64,
    /// `thrashing_limit_decay`, per cent: 10, with little memory 50.
    pub thrashing_limit_decay: u64,
    /// `swap_util_max`, per cent; 100: it does not count.
    pub swap_util_max: u64,
    /// `kill_timeout_ms`: the longest wait for a victim.
    pub kill_timeout: SimDuration,
}

impl Lmkd {
    /// Defaults of a device, with much or little memory.
    pub fn of(low_ram: bool) -> Lmkd {
        let of = |much, little| if low_ram { little } else { much };
        Lmkd {
            partial_stall: SimDuration::from_millis(of(70, 200)),
            complete_stall: SimDuration::from_millis(700),
            swap_free_low: 10,
            thrashing_limit: of(100, 30),
            thrashing_limit_decay: of(10, 50),
            swap_util_max: 100,
            kill_timeout: SimDuration::from_millis(100),
        }
    }
}

/// Windows of triggers, of looks after an event, and of thrashing.
pub const WINDOW: SimDuration = SimDuration::from_secs(1);
/// The largest `oom_score_adj` of an app that users perceive.
const PERCEPTIBLE: i16 = 200;

/// Refaults of files against the file LRU.
#[derive(Clone, Copy, Debug, Default)]
struct Thrashing {
    begin: Option<SimTime>,
    /// Refaults and file LRU when the interval began.
    refaults: u64,
    file_lru: u64,
    /// Thrashing of earlier intervals in per cent, halved for the seconds since.
    before: u64,
    limit: u64,
}

impl Thrashing {
    /// Per cent of the file LRU that came back, with what is left of seconds before.
    fn percent(&mut self, now: SimTime, refaults: u64, file_lru: u64, limit: u64) -> u64 {
        let Some(begin) = self.begin else {
            *self = Thrashing { begin: Some(now), refaults, file_lru, before: 0, limit };
            return 0;
        };
        let grown = (refaults - self.refaults) * 100 / (self.file_lru + 1);
        let passed = now.since(begin).0 / WINDOW.0;
        if passed == 0 {
            return grown + self.before;
        }
        let over = grown >= self.limit && passed == 1;
        let before = if over { grown } else { grown >> passed.min(63) };
        *self = Thrashing { begin: Some(now), refaults, file_lru, before, limit };
        before
    }
}

/// Findings of a look.
#[derive(Clone, Copy, Debug)]
struct Seen {
    critical: bool,
    killed_before: bool,
    direct: bool,
    swap_low: bool,
    swap_utilisation: u64,
    /// Free memory against the watermarks: below min, low, high.
    below: [bool; 3],
    thrashing: u64,
    limit: u64,
}

/// A reason to kill: its name, and true if it spares perceptible apps.
fn reason(seen: &Seen, swap_util_max: u64) -> Option<(&'static str, bool)> {
    let [min, low, high] = seen.below;
    let thrashes = seen.thrashing > seen.limit;
    let mild = seen.thrashing < 2 * seen.limit;
    let full = seen.swap_utilisation > swap_util_max;
    let reasons = [
        (seen.killed_before && low, "still below low", false),
        (seen.critical, "not responding", false),
        (seen.swap_low && thrashes, "low swap and thrashing", !min && mild),
        (seen.swap_low && high, "low memory and swap", !min && mild),
        (high && full, "low memory and swap utilisation", false),
        (high && thrashes, "low memory and thrashing", mild),
        (seen.direct && thrashes, "direct reclaim and thrashing", mild),
    ];
    reasons.into_iter().find(|r| r.0).map(|(_, name, spares)| (name, spares))
}

/// The victim: from the largest `oom_score_adj` down.
fn victim(all: &[Process], spares: bool) -> Option<&Process> {
    let may = |p: &&Process| p.oom_score_adj > if spares { PERCEPTIBLE } else { -1 };
    let key = |p: &&Process| {
        let size = if p.oom_score_adj <= PERCEPTIBLE { p.rss } else { 0 };
        (p.oom_score_adj, size)
    };
    // Among equal processes lmkd takes the first, which was used longest ago.
    all.iter().rev().filter(may).max_by_key(key)
}

/// lmkd at work.
#[derive(Clone, Debug)]
pub struct Running {
    options: Lmkd,
    until: SimTime,
    critical: bool,
    thrashing: Thrashing,
    limit: u64,
    scanned: [u64; 2],
    refaults: u64,
    /// The victim that it waits for, and until when.
    killing: Option<(Pid, SimTime)>,
    killed: bool,
}

impl Running {
    /// A run of it.
    pub fn new(options: Lmkd) -> Running {
        Running {
            limit: options.thrashing_limit,
            options,
            until: SimTime::ZERO,
            critical: false,
            thrashing: Thrashing::default(),
            scanned: [0; 2],
            refaults: 0,
            killing: None,
            killed: false,
        }
    }

    /// Reads all files. `None`: nothing is reclaimed and nothing came back.
    fn see(&mut self, system: &mut dyn System) -> Option<(Seen, Meminfo)> {
        let now = system.now();
        let info = system.meminfo();
        let scanned = [VmEvent::PgScanDirect, VmEvent::PgScanKswapd].map(|e| system.vmstat(e));
        let refaults = system.vmstat(VmEvent::WorkingsetRefaultFile);
        let before = std::mem::replace(&mut self.scanned, scanned);
        let grew = [0, 1].map(|i| scanned[i] > before[i]);
        let came_back = std::mem::replace(&mut self.refaults, refaults) != refaults;
        if !grew[0] && !grew[1] && !came_back && !self.critical {
            return None;
        }
        let file_lru = info.inactive_file + info.active_file;
        let begin = self.thrashing.begin;
        let limit = self.options.thrashing_limit;
        let thrashing = self.thrashing.percent(now, refaults, file_lru, limit);
        if self.thrashing.begin != begin {
            self.limit = limit;
        }
        let marks = system.watermarks();
        let used = info.swap_total - info.swap_free;
        let could = info.active_anon + info.inactive_anon + used;
        let seen = Seen {
            critical: std::mem::take(&mut self.critical),
            killed_before: std::mem::take(&mut self.killed),
            direct: grew[0],
            swap_low: info.swap_free < info.swap_total * self.options.swap_free_low / 100,
            swap_utilisation: (used * 100).checked_div(could).unwrap_or(0),
            below: marks.map(|mark| info.mem_free < mark),
            thrashing,
            limit: self.limit,
        };
        Some((seen, info))
    }

    fn kill(&mut self, system: &mut dyn System, seen: &Seen, info: &Meminfo) {
        let Some((name, spares)) = reason(seen, self.options.swap_util_max) else { return };
        let all = system.processes();
        let Some(victim) = victim(&all, spares) else { return };
        let read = vec![
            ("MemFree".to_string(), info.mem_free as f64 * 4096.0),
            ("SwapFree".to_string(), info.swap_free as f64 * 4096.0),
            ("thrashing".to_string(), seen.thrashing as f64),
            ("oom_score_adj".to_string(), victim.oom_score_adj.into()),
        ];
        let why = Reason { rule: name.to_string(), since: system.now(), read };
        system.act(Action::Signal(victim.id, Signal::Kill), &why);
        self.killing = Some((victim.id, system.now() + self.options.kill_timeout));
        self.killed = true;
        if name.contains("thrashing") {
            self.limit = self.limit * (100 - self.options.thrashing_limit_decay) / 100;
        }
    }
}

impl Daemon for Running {
    fn needs(&self) -> Needs {
        let machine = MemcgId(0);
        let of = |stall, threshold| (machine, TriggerSpec { stall, threshold, window: WINDOW });
        let triggers = vec![
            of(Stall::Some, self.options.partial_stall),
            of(Stall::Full, self.options.complete_stall),
        ];
        Needs { pressure: vec![machine], triggers }
    }

    fn look(&mut self, system: &mut dyn System, fired: &[usize]) -> SimTime {
        let now = system.now();
        if !fired.is_empty() {
            self.until = now + WINDOW;
            self.critical |= fired.contains(&1);
        } else if now >= self.until {
            return SimTime::NEVER;
        }
        let dies = self.killing.is_some_and(|(a, until)| system.lives(a) && now < until);
        if !dies {
            self.killing = None;
        }
        let mut hurry = dies;
        if !dies && let Some((seen, info)) = self.see(system) {
            self.kill(system, &seen, &info);
            hurry = seen.swap_low || self.killed;
            if seen.direct {
                self.until = self.until.max(now + WINDOW);
            }
        }
        now + SimDuration::from_millis(if hurry { 10 } else { 100 })
    }

    fn digest(&self, d: &mut Digest) {
        d.words([self.until.0, self.limit, self.thrashing.before, self.refaults]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::base::id::AsId;

    /// Worked by hand: 60,000 of 100,000 pages within 0.8 s are 59 %, of which a second later 29 are
    /// left; 50,000 more are 49 and 29.
    #[test]
    fn thrashing_fades_by_the_second() {
        let mut t = Thrashing::default();
        let at = |ms: u64| SimTime(ms * 1_000_000);
        assert_eq!(t.percent(at(0), 1000, 100_000, 100), 0);
        assert_eq!(t.percent(at(800), 61_000, 100_000, 100), 59);
        assert_eq!(t.percent(at(1000), 61_000, 100_000, 100), 29);
        assert_eq!(t.percent(at(1900), 111_000, 100_000, 100), 78);
    }

    const CALM: Seen = Seen {
        critical: false,
        killed_before: false,
        direct: false,
        swap_low: false,
        swap_utilisation: 0,
        below: [false; 3],
        thrashing: 78,
        limit: 100,
    };

    /// 78 % are below the limit of 100, and no reason. Above that of 30 they are one, if free memory is
    /// below high or direct reclaim goes on, and perceptible apps are not spared.
    #[test]
    fn the_first_reason_that_holds() {
        let of = |seen: Seen| reason(&seen, 100);
        let low = Seen { limit: 30, ..CALM };
        assert_eq!([of(CALM), of(low)], [None; 2]);
        assert_eq!(of(Seen { direct: true, ..CALM }), None);
        let high = Seen { below: [false, false, true], ..low };
        assert_eq!(of(high), Some(("low memory and thrashing", false)));
        assert_eq!(of(Seen { direct: true, ..low }), Some(("direct reclaim and thrashing", false)));
        assert_eq!(of(Seen { critical: true, ..high }), Some(("not responding", false)));
        let swap = Seen { swap_low: true, thrashing: 40, ..high };
        assert_eq!(of(swap), Some(("low swap and thrashing", true)));
        let again = Seen { killed_before: true, below: [false, true, true], ..swap };
        assert_eq!(of(again), Some(("still below low", false)));
    }

    /// The oldest of the background goes first, perceptible apps by size, the system never.
    #[test]
    fn victims_come_by_their_adjustment() {
        let of = |id: u16, oom_score_adj: i16, rss: u64| {
            let (name, memcg) = (format!("p{id}"), MemcgId(0));
            Process { id: AsId(id).into(), name, memcg, rss, swap: 0, oom_score_adj, oom_score: 0 }
        };
        let mut all =
            vec![of(0, -900, 999), of(1, 900, 5), of(2, 900, 9), of(3, 100, 5), of(4, 100, 9)];
        let mut order = Vec::new();
        while let Some(p) = victim(&all, false) {
            let id = p.id;
            order.push(id.space.0);
            all.retain(|p| p.id != id);
        }
        assert_eq!(order, [1, 2, 4, 3]);
        assert_eq!(victim(&[of(3, 200, 5)], true), None);
    }
}
