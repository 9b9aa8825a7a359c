//! Daemons that are code: a module of WebAssembly, or a class of another language.
//!
//! Such a program is called when its timer or one of its triggers wakes it. Its requests reach the
//! machine one at a time, as [`Request`]s with whole numbers as answers. Figures have the names that
//! expressions of rules have, are read by the same function, and cost the same time; acts are those
//! of rules. A file is read once in a tick, until an act. There is no clock but that of the machine,
//! and no chance but a generator with the seed of the run.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::{MemcgId, PAGE_SIZE};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::policy::daemon::{
    Action, Control, Daemon, Needs, Pid, Process, Reason, Signal, Stall, System, TriggerSpec, stop,
};

use crate::figure::{Candidate, Reads, Source, source};

/// A group or a process as a number: a group by its own, a process from [`PROCESS`] on.
pub type Target = i64;

/// The first number of processes.
pub const PROCESS: Target = 1 << 32;

/// The answer where there is no such thing.
pub const ABSENT: i64 = -1;

/// The longest time between two ticks: thirty years.
const LONGEST_US: i64 = 1 << 50;

/// Reads of a tick that a reason has.
const MOST_READ: usize = 32;

/// A request of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// A figure of a target, by the names of expressions. Sizes are in bytes, averages of pressure
    /// in hundredths of a per cent, all else as it is.
    Read(Target, String),
    /// The number of the group of a path; `/` is the machine, group 0.
    Group(String),
    /// The i-th group below a group.
    Groups(Target, i64),
    /// The i-th living process of a group and of those below it, but for the daemon itself.
    Processes(Target, i64),
    /// A signal, 15 or 9, to a process or to all of a group. The answer is the number of processes.
    Kill(Target, i64),
    /// A write to a file of a group, or to `vm.swappiness`; -1: max. The answer is the number of
    /// pages reclaimed, or of threads that stopped or go on.
    Write(Target, String, i64),
    /// A trigger for a pressure file: the group, whether all threads have to stall, threshold and
    /// window in microseconds. The answer is its number.
    Arm(Target, bool, i64, i64),
    /// A random number, from 0 on.
    Random,
    /// Time of its own computing, in microseconds.
    Spend(i64),
}

/// A program that looks by requests.
pub trait Code: Send {
    /// Called at `now_us` of the machine, in microseconds: by its timer, or for a trigger that fired.
    /// Returns when it wants to be called next; below 0: by triggers alone.
    ///
    /// # Errors
    /// It cannot go on, for this reason, which ends the run.
    fn tick(&mut self, host: &mut Host<'_>, fired: Option<usize>) -> Result<i64, String>;
}

/// Maker of programs that scenarios name.
pub trait Programs: Send + Sync {
    /// The program of one run. `name` is what the scenario says, `file` where that would lie, and
    /// `fuel_time` the CPU time of an instruction.
    ///
    /// # Errors
    /// There is none, or it is no program.
    fn create(
        &self,
        name: &str,
        file: &Path,
        fuel_time: SimDuration,
    ) -> Result<Box<dyn Code>, String>;
}

/// The machine as a program sees it in one tick.
pub struct Host<'a> {
    reads: Reads<'a>,
    rng: &'a mut Rng,
    /// Living processes, once they were read.
    processes: Option<Vec<Process>>,
    rule: String,
    read: Vec<(String, f64)>,
}

impl fmt::Debug for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Host({})", self.rule)
    }
}

impl Host<'_> {
    /// The clock of the machine, in microseconds.
    pub fn now_us(&self) -> i64 {
        (self.reads.system.now().0 / 1000) as i64
    }

    /// Time that the program itself took.
    pub fn spend(&mut self, time: SimDuration) {
        self.reads.system.spend(time);
    }

    /// Carries out a request. The answer is [`ABSENT`] where there is no such figure, file, group
    /// or process.
    pub fn answer(&mut self, request: &Request) -> i64 {
        let answer = match request {
            Request::Read(of, name) => self.read(*of, name),
            Request::Group(path) => self.find(path).map(|m| i64::from(m.0)),
            Request::Groups(of, i) => {
                let children = self.group(*of).map(|m| self.reads.system.children(m));
                nth(children.iter().flatten(), *i).map(|m| i64::from(m.0))
            }
            Request::Processes(of, i) => self.nth_process(*of, *i),
            Request::Kill(of, signal) => self.kill(*of, *signal),
            Request::Write(of, file, value) => self.write(*of, file, *value),
            Request::Arm(of, full, threshold, window) => self.arm(*of, *full, *threshold, *window),
            Request::Random => Some((self.rng.next_u64() >> 1) as i64),
            Request::Spend(us) => {
                self.spend(SimDuration::from_micros((*us).clamp(0, 1 << 40) as u64));
                Some(0)
            }
        };
        answer.unwrap_or(ABSENT)
    }

    /// A group by its number, if the machine has it.
    fn group(&self, of: Target) -> Option<MemcgId> {
        let m = MemcgId(u16::try_from(of).ok()?);
        self.reads.system.has_group(m).then_some(m)
    }

    /// A group by its path.
    fn find(&self, path: &str) -> Option<MemcgId> {
        let root = MemcgId(0);
        if path == "/" {
            return Some(root);
        }
        let mut here = root;
        let mut begin = String::new();
        for part in path.split('/') {
            begin += part;
            let named = |m: &MemcgId| self.reads.system.name(*m) == begin;
            here = self.reads.system.children(here).into_iter().find(named)?;
            begin.push('/');
        }
        Some(here)
    }

    fn processes(&mut self) -> &[Process] {
        let system = &mut *self.reads.system;
        self.processes.get_or_insert_with(|| system.processes())
    }

    fn nth_process(&mut self, of: Target, i: i64) -> Option<i64> {
        let m = self.group(of)?;
        self.processes();
        let top = self.reads.system.name(m);
        let within = |p: &&Process| {
            let below = self.reads.system.name(p.memcg).strip_prefix(top);
            m == MemcgId(0) || below.is_some_and(|b| b.is_empty() || b.starts_with('/'))
        };
        let all = self.processes.iter().flatten().filter(within);
        nth(all, i).map(|p| number(p.id))
    }

    fn process(&mut self, of: Target) -> Option<Process> {
        self.processes().iter().find(|p| number(p.id) == of).cloned()
    }

    fn read(&mut self, of: Target, name: &str) -> Option<i64> {
        let (mut group, mut figure) = (None, name);
        if let Some((path, rest)) = name.strip_prefix("memcg(").and_then(|n| n.split_once(").")) {
            (group, figure) = (Some(crate::figure::Of::Group(self.find(path)?)), rest);
        }
        let source = source(group, figure)?;
        let process = if of >= PROCESS { Some(self.process(of)?) } else { None };
        let candidate = match &process {
            Some(p) => Candidate::Process(p),
            None => Candidate::Group(self.group(of)?),
        };
        if matches!(source, Source::Process(_)) && process.is_none() {
            return None;
        }
        let value = self.reads.value(source, candidate);
        self.read.retain(|(n, _)| n != name);
        if self.read.len() < MOST_READ {
            self.read.push((name.to_string(), value));
        }
        // The file has two digits behind the point.
        let average = matches!(source, Source::Pressure(_, _, 0..3));
        Some((if average { value * 100.0 } else { value }).round() as i64)
    }

    fn act(&mut self, action: Action) -> Option<i64> {
        let since = self.reads.system.now();
        let reason = Reason { rule: self.rule.clone(), since, read: self.read.clone() };
        let done = self.reads.system.act(action, &reason);
        self.reads.forget();
        self.processes = None;
        Some(done.min(i64::MAX as u64) as i64)
    }

    fn kill(&mut self, of: Target, signal: i64) -> Option<i64> {
        let signal = match signal {
            9 => Signal::Kill,
            15 => Signal::Term,
            _ => return None,
        };
        match self.process(of) {
            Some(p) => self.act(Action::Signal(p.id, signal)),
            None => {
                let m = self.group(of).filter(|m| *m != MemcgId(0))?;
                self.act(Action::SignalGroup(m, signal))
            }
        }
    }

    fn write(&mut self, of: Target, file: &str, value: i64) -> Option<i64> {
        let m = self.group(of)?;
        let pages = (value >= 0).then_some(value as u64 / PAGE_SIZE);
        let action = match file {
            "vm.swappiness" => Action::Swappiness(u8::try_from(value).ok().filter(|v| *v <= 200)?),
            _ if m == MemcgId(0) => return None,
            "memory.reclaim" => Action::Reclaim(m, pages?, None),
            "cgroup.freeze" if (0..2).contains(&value) => Action::Freeze(m, value == 1),
            file => Action::Write(m, Control::ALL.into_iter().find(|c| c.name() == file)?, pages),
        };
        self.act(action)
    }

    fn arm(&mut self, of: Target, full: bool, threshold: i64, window: i64) -> Option<i64> {
        let m = self.group(of)?;
        let time = |us: i64| u64::try_from(us).ok().map(SimDuration::from_micros);
        let (threshold, window) = (time(threshold)?, time(window)?);
        let stall = if full { Stall::Full } else { Stall::Some };
        let fits = SimDuration::ZERO < threshold && threshold <= window;
        if !fits || window > TriggerSpec::LONGEST {
            return None;
        }
        Some(self.reads.system.arm(m, TriggerSpec { stall, threshold, window }) as i64)
    }
}

/// A process as a number: those that a workload plays stand behind the address spaces.
fn number(id: Pid) -> Target {
    let played = id.played.map_or(0, |n| i64::from(n) + 1);
    PROCESS + i64::from(id.space.0) + (played << 16)
}

/// The i-th of several, if there are as many.
fn nth<T>(mut all: impl Iterator<Item = T>, i: i64) -> Option<T> {
    all.nth(usize::try_from(i).ok()?)
}

/// A daemon that is code.
pub struct Running {
    code: Box<dyn Code>,
    rng: Rng,
    said: BTreeMap<MemcgId, [f64; 3]>,
    groups: u16,
    next: SimTime,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Running(next {:?})", self.next)
    }
}

impl Running {
    /// A daemon of this code, on a machine with this number of groups. `seed` is that of its chance.
    pub fn new(code: Box<dyn Code>, groups: usize, seed: u64) -> Running {
        let rng = Rng::for_purpose(seed, "program of a daemon");
        Running { code, rng, said: BTreeMap::new(), groups: groups as u16, next: SimTime::ZERO }
    }
}

impl Daemon for Running {
    fn needs(&self) -> Needs {
        // It may read any.
        Needs { pressure: (1..=self.groups).map(MemcgId).collect(), triggers: Vec::new() }
    }

    fn look(&mut self, system: &mut dyn System, fired: &[usize]) -> SimTime {
        let by_timer = fired.is_empty().then_some(None);
        for fired in by_timer.into_iter().chain(fired.iter().copied().map(Some)) {
            let begin = system.now();
            let rule = fired.map_or("tick".to_string(), |n| format!("trigger {n}"));
            let reads = Reads::new(system, &self.said);
            let (rng, processes, read) = (&mut self.rng, None, Vec::new());
            let mut host = Host { reads, rng, processes, rule, read };
            let now_us = host.now_us();
            self.next = match self.code.tick(&mut host, fired) {
                Ok(us @ 0..) => {
                    // Programs count whole microseconds; the next tick keeps the rest of the clock.
                    let us = us.saturating_sub(now_us).clamp(0, LONGEST_US) as u64;
                    begin + SimDuration::from_micros(us)
                }
                Ok(_) => SimTime::NEVER,
                Err(why) => stop(why),
            };
        }
        // A program that always asks for the past would keep the machine busy without end.
        self.next.max(system.now() + SimDuration::from_micros(1))
    }

    fn digest(&self, d: &mut Digest) {
        d.words([self.next.0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeBox;
    use mmsim_core::base::id::AsId;
    use mmsim_core::policy::daemon::{GroupFiles, Meminfo};

    /// Asks its list of requests once, and keeps the answers.
    struct Asks(Vec<Request>, std::sync::mpsc::Sender<i64>);

    impl Code for Asks {
        fn tick(&mut self, host: &mut Host<'_>, _: Option<usize>) -> Result<i64, String> {
            for request in &self.0 {
                self.1.send(host.answer(request)).map_err(|e| e.to_string())?;
            }
            Ok(-1)
        }
    }

    /// Two groups of 3 and 5 pages, and two processes, 7 in the second.
    fn answers(requests: &[Request]) -> (Vec<i64>, FakeBox) {
        let files = |current| GroupFiles { current, ..GroupFiles::default() };
        let process = |id, memcg, rss| Process {
            id: AsId(id).into(),
            name: format!("p{id}"),
            memcg: MemcgId(memcg),
            rss,
            swap: 0,
            oom_score_adj: 0,
            oom_score: 3,
        };
        let mut machine = FakeBox {
            info: Meminfo { mem_available: 10, ..Meminfo::default() },
            groups: vec![("a".into(), files(3)), ("b".into(), files(5))],
            processes: vec![process(6, 1, 2), process(7, 2, 4)],
            ..FakeBox::default()
        };
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut daemon = Running::new(Box::new(Asks(requests.to_vec(), sender)), 2, 1);
        machine.run(&mut daemon, SimTime::ZERO, &mut |_| {});
        drop(daemon);
        (receiver.iter().collect(), machine)
    }

    #[test]
    fn requests_are_answered_by_the_names_of_expressions() {
        let read = |of, name: &str| Request::Read(of, name.into());
        let (found, _) = answers(&[
            read(0, "meminfo.MemAvailable"),
            Request::Group("b".into()),
            read(2, "current"),
            read(0, "memcg(a).current"),
            Request::Processes(2, 0),
            Request::Processes(0, 1),
            Request::Processes(0, 2),
            read(PROCESS + 7, "rss"),
            read(PROCESS + 7, "current"),
            read(2, "rss"),
            read(9, "current"),
            read(0, "memcg(c).current"),
            read(0, "meminfo.Nothing"),
            Request::Group("a/b".into()),
        ]);
        let p7 = PROCESS + 7;
        let want = [40_960, 2, 20_480, 12_288, p7, p7, -1, 16_384, 20_480, -1, -1, -1, -1, -1];
        assert_eq!(found, want);
    }

    #[test]
    fn acts_are_those_of_rules() {
        let write = |of, file: &str, value| Request::Write(of, file.into(), value);
        let (found, machine) = answers(&[
            write(1, "memory.high", 8192),
            write(1, "memory.max", -1),
            write(0, "memory.max", 4096),
            write(1, "memory.peak", 0),
            write(0, "vm.swappiness", 250),
            Request::Kill(PROCESS + 6, 15),
            Request::Kill(2, 9),
            Request::Kill(0, 9),
            Request::Kill(2, 11),
        ]);
        assert_eq!(found, [1, 1, -1, -1, -1, 1, 1, -1, -1]);
        let acts: Vec<Action> = machine.acts.iter().map(|a| a.1).collect();
        let want = [
            Action::Write(MemcgId(1), Control::High, Some(2)),
            Action::Write(MemcgId(1), Control::Max, None),
            Action::Signal(AsId(6).into(), Signal::Term),
            Action::SignalGroup(MemcgId(2), Signal::Kill),
        ];
        assert_eq!(acts, want);
    }

    #[test]
    fn chance_is_that_of_the_seed() {
        let all = [Request::Random, Request::Random];
        let (first, second) = (answers(&all).0, answers(&all).0);
        assert_eq!(first, second);
        assert!(first[0] != first[1] && first.iter().all(|n| *n >= 0), "{first:?}");
    }
}
