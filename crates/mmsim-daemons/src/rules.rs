//! A daemon that is a table of rules: when, on whom, what, and for how long it rests.
//!
//! Each rule has a timer. At its look the condition is read; if it holds and no pause is on, the
//! candidates are read and put in order, and the first is acted on. After an act that takes time to
//! show, the daemon may wait for its victim. A look is atomic: nothing moves between the read of the
//! condition and the act.

use crate::expr::{Expr, Found, Memory};
use crate::figure::{Candidate, Reads, SAID};
use crate::growth::size_or_growth;
use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::{MemcgId, PAGE_SIZE};
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::policy::daemon::{
    Action, Control, Daemon, Needs, Pid, Process, Reason, Signal, System, TriggerSpec,
};
use std::collections::BTreeMap;

/// The time from one look to the next.
#[derive(Clone, PartialEq, Debug)]
pub enum Every {
    /// Always the same.
    Time(SimDuration),
    /// Milliseconds, by what the look found.
    Milliseconds(Expr),
}

/// Among whom a victim is chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Among {
    /// Processes, of these groups if any are named.
    Processes(Vec<MemcgId>),
    /// Groups without children at or below these.
    Leaves(Vec<MemcgId>),
    /// These groups.
    Groups(Vec<MemcgId>),
}

/// Which end of an order comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// The largest.
    Largest,
    /// The smallest.
    Smallest,
}

/// Order by keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The first key decides, then the next.
    Keys,
    /// That of oomd's `kill_by_memory_size_or_growth`, by usage, protection and average usage.
    SizeOrGrowth,
}

/// The choice of a victim.
#[derive(Clone, PartialEq, Debug)]
pub struct Pick {
    /// Among whom.
    pub among: Among,
    /// Who is a candidate; `None`: all.
    pub keep: Option<Expr>,
    /// The order; equal ones in the order of their numbers.
    pub by: Vec<(Sort, Expr)>,
    /// Order by these.
    pub order: Order,
    /// Names of those that are taken before others.
    pub prefer: Vec<String>,
    /// Names of those that are taken after others.
    pub avoid: Vec<String>,
    /// Names of those that are never taken.
    pub omit: Vec<String>,
    /// All groups below candidates, if a walk goes down to them: those right below a candidate take
    /// its place in their own order, and so on, unless it has none or dies as a whole
    /// (`memory.oom.group`).
    pub below: Vec<MemcgId>,
    /// Preferred and avoided ones get this much more or less by the first key; 0: they come first
    /// and last, whatever their keys.
    pub weight: f64,
    /// Candidates are read at looks at which this holds, also where nothing is done: that is what
    /// `rate` in the order looks back to. `None`: at each look, if the order has a `rate`.
    pub scan: Option<Expr>,
}

impl Pick {
    /// All of them, in the order of their numbers.
    pub fn of(among: Among) -> Pick {
        let (prefer, avoid, omit) = (Vec::new(), Vec::new(), Vec::new());
        let (by, order, below) = (Vec::new(), Order::Keys, Vec::new());
        Pick { among, keep: None, by, order, prefer, avoid, omit, below, weight: 0.0, scan: None }
    }
    /// Ordered by this first, or next.
    #[must_use]
    pub fn by(mut self, sort: Sort, key: Expr) -> Pick {
        self.by.push((sort, key));
        self
    }
}

/// Act of a rule.
#[derive(Clone, PartialEq, Debug)]
pub enum Do {
    /// A signal to the process, or to all of the group.
    Signal(Signal),
    /// Stops the group for a time.
    Freeze(SimDuration),
    /// Writes bytes to a file of the group.
    Write(Control, Expr),
    /// Writes bytes to `memory.reclaim` of the group, with a swappiness.
    Reclaim(Expr, Option<u8>),
    /// Writes `vm.swappiness`.
    Swappiness(Expr),
    /// Nothing: a step of a chain that only says whether that goes on.
    Nothing,
}

/// A step of a chain of acts: a ruleset of oomd. The pause of a chain is its own, and begins with an
/// act.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Chain {
    /// It is not the first step: it acts under the condition of that one, if all before it went on.
    pub follows: bool,
    /// The chain goes on behind its act, without a pause. Behind a step without a victim it always does.
    pub goes_on: bool,
    /// Time from the choice of a victim until it may end, in which a hook runs.
    pub hook: SimDuration,
}

/// Waiting for a victim.
#[derive(Clone, PartialEq, Debug)]
pub struct Wait {
    /// Time between two looks at it.
    pub every: SimDuration,
    /// The longest wait.
    pub most: SimDuration,
    /// SIGKILL follows if this holds meanwhile.
    pub kill_when: Option<Expr>,
}

/// A rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// Its name in reports.
    pub name: String,
    /// The time between two looks.
    pub every: Every,
    /// Its condition; if figures of candidates are in it, it is one of each.
    pub when: Expr,
    /// On whom.
    pub pick: Option<Pick>,
    /// Its act.
    pub act: Do,
    /// Time after it acted in which no rule with a pause acts.
    pub pause: SimDuration,
    /// Waiting for the victim.
    pub wait: Option<Wait>,
    /// Its step in a chain, if it is one.
    pub chain: Option<Chain>,
}

/// State of a rule.
#[derive(Clone, Debug, Default)]
struct State {
    next: SimTime,
    when: Memory,
    keep: Memory,
    scan: Memory,
    by: Vec<Memory>,
    other: Memory,
    /// Since when its condition has held.
    since: Option<SimTime>,
    /// End of the pause of a chain, which its first step holds: until then no step acts.
    paused_until: SimTime,
    /// A victim whose hook runs, and until when.
    hook: Option<(MemcgId, SimTime)>,
}

/// End of a look of one rule.
enum Looked {
    /// It acted, and waits for its victims.
    Waits,
    /// The next step of its chain acts too, under what the first one found.
    GoesOn(Found),
    /// It did not act, or nothing is left to do.
    Over,
}

/// Victims that the daemon waits for.
#[derive(Clone, Debug)]
struct Waiting {
    rule: usize,
    victims: Vec<Pid>,
    until: SimTime,
}

/// A daemon that is a table of rules.
#[derive(Clone, Debug)]
pub struct Rules {
    rules: Vec<(Rule, State)>,
    /// Triggers that make all rules look.
    pub triggers: Vec<(MemcgId, TriggerSpec)>,
    /// Request, priority and critical, for groups of which the scenario says them.
    pub said: BTreeMap<MemcgId, [f64; SAID.len()]>,
    paused_until: SimTime,
    waiting: Option<Waiting>,
    /// Groups that stand still, and until when.
    frozen: Vec<(MemcgId, SimTime)>,
}

#[derive(Clone, Debug)]
enum Owned {
    Group(MemcgId),
    Process(Process),
}

impl Owned {
    fn borrowed(&self) -> Candidate<'_> {
        match self {
            Owned::Group(m) => Candidate::Group(*m),
            Owned::Process(p) => Candidate::Process(p),
        }
    }
}

/// A candidate with its place in the order.
struct Placed {
    who: Owned,
    keys: Vec<f64>,
    read: Vec<(String, f64)>,
    /// Since when the rule's condition has held of it, if that is one of candidates.
    since: Option<SimTime>,
}

impl Rules {
    /// A daemon of these rules.
    pub fn new(rules: Vec<Rule>) -> Rules {
        let of = |rule: Rule| {
            let by = rule.pick.as_ref().map_or(0, |p| p.by.len());
            (rule, State { by: vec![Memory::default(); by], ..State::default() })
        };
        Rules {
            rules: rules.into_iter().map(of).collect(),
            triggers: Vec::new(),
            said: BTreeMap::new(),
            paused_until: SimTime::ZERO,
            waiting: None,
            frozen: Vec::new(),
        }
    }

    /// Its rules.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().map(|(rule, _)| rule)
    }

    /// Looks after victims; `Some`: when to look at them again.
    fn wait(&mut self, system: &mut dyn System) -> Option<SimTime> {
        let waiting = self.waiting.as_mut()?;
        waiting.victims.retain(|&a| system.lives(a));
        let (rule, state) = &mut self.rules[waiting.rule];
        let wait = rule.wait.as_ref()?;
        if waiting.victims.is_empty() || system.now() >= waiting.until {
            self.waiting = None;
            return None;
        }
        if let Some(kill_when) = &wait.kill_when {
            let mut reads = Reads::new(system, &self.said);
            let found = kill_when.find(&mut reads, Candidate::None, &mut state.other);
            if found.value != 0.0 {
                let name = format!("{}, meanwhile", rule.name);
                let since = state.since.unwrap_or(system.now());
                let reason = Reason { rule: name, since, read: found.read };
                for &a in &waiting.victims {
                    system.act(Action::Signal(a, Signal::Kill), &reason);
                }
            }
        }
        Some(system.now() + wait.every)
    }

    fn thaw(&mut self, system: &mut dyn System) {
        let now = system.now();
        let over: Vec<_> = self.frozen.extract_if(.., |f| f.1 <= now).collect();
        for (m, until) in over {
            let reason = Reason { rule: "time is over".into(), since: until, read: Vec::new() };
            system.act(Action::Freeze(m, false), &reason);
        }
    }

    /// True if no step of a chain may act, but for the one whose hook runs, or if a rule rests.
    fn rests(&self, i: usize, first: usize, now: SimTime) -> bool {
        let rule = &self.rules[i].0;
        if rule.chain.is_none() {
            return rule.pause > SimDuration::ZERO && now < self.paused_until;
        }
        let follows = |r: &&(Rule, State)| r.0.chain.is_some_and(|c| c.follows);
        let others = self.rules[first + 1..].iter().take_while(follows);
        let steps = std::iter::once(&self.rules[first]).chain(others);
        let hooked = steps.enumerate().find(|(_, step)| step.1.hook.is_some());
        now < self.rules[first].1.paused_until || hooked.is_some_and(|(n, _)| first + n != i)
    }

    /// A look of one rule: a step of the chain that begins with `first`, if that is not the rule
    /// itself. `handed`: what the first step found, if it is not the first.
    fn look_at(
        &mut self,
        (i, first): (usize, usize),
        handed: Option<Found>,
        system: &mut dyn System,
    ) -> Looked {
        let now = system.now();
        let rests = self.rests(i, first, now);
        let (rule, state) = &mut self.rules[i];
        let mut reads = Reads::new(system, &self.said);
        let per_candidate = rule.pick.is_some() && rule.when.is_of_candidates();
        let mut found = match handed {
            Some(found) => found,
            None if per_candidate => Found { value: 1.0, ..Found::default() },
            None => rule.when.find(&mut reads, Candidate::None, &mut state.when),
        };
        // An action that waits for its hook goes on, even if its condition ended meanwhile.
        found.value = if state.hook.is_some() { 1.0 } else { found.value };
        state.next = now
            + match &rule.every {
                Every::Time(time) => *time,
                Every::Milliseconds(ms) => {
                    let ms = ms.find(&mut reads, Candidate::None, &mut state.other).value;
                    SimDuration::from_millis(ms.max(1.0) as u64)
                }
            };
        let holds = found.value != 0.0;
        let acts = holds && !rests && state.hook.is_none_or(|(_, until)| until <= now);
        let mut chosen = Vec::new();
        if let Some(pick) = &rule.pick {
            let scans = per_candidate
                || match &pick.scan {
                    Some(e) => e.find(&mut reads, Candidate::None, &mut state.scan).value != 0.0,
                    None => pick.by.iter().any(|(_, key)| key.looks_back()),
                };
            if acts || scans {
                let all = candidates(pick, reads.system);
                chosen = choose(all, (rule, pick), state, &mut reads, &self.frozen);
            }
        }
        let held = if per_candidate { chosen.first().and_then(|c| c.since) } else { found.since };
        let holds_of_one = holds && (!per_candidate || !chosen.is_empty());
        state.since = holds_of_one.then(|| held.or(state.since).unwrap_or(now));
        if !acts {
            return Looked::Over;
        }
        if let Some((hooked, _)) = state.hook.take() {
            // Who else is next was not asked for.
            chosen.retain(|c| matches!(c.who, Owned::Group(m) if m == hooked));
        } else if let Some(chain) = rule.chain.filter(|c| c.hook > SimDuration::ZERO)
            && let Some(Owned::Group(m)) = chosen.first().map(|c| &c.who)
        {
            state.hook = Some((*m, now + chain.hook));
            return Looked::Over;
        }
        let victim = (!chosen.is_empty()).then(|| chosen.swap_remove(0));
        if rule.pick.is_some() && (victim.is_none() && per_candidate) {
            return Looked::Over;
        }
        self.end_look((i, first, now), found, victim, system)
    }

    /// A rule that is to act does, and pauses from `now` on, when its look began.
    fn end_look(
        &mut self,
        (i, first, now): (usize, usize, SimTime),
        found: Found,
        victim: Option<Placed>,
        system: &mut dyn System,
    ) -> Looked {
        let rule = &self.rules[i].0;
        let Some(chain) = rule.chain else {
            if rule.pause > SimDuration::ZERO {
                self.paused_until = now + rule.pause;
            }
            return if self.carry_out(i, found, victim, system) {
                Looked::Waits
            } else {
                Looked::Over
            };
        };
        let (pause, hit) = (rule.pause, victim.is_some());
        let nothing = rule.act == Do::Nothing;
        if hit {
            self.carry_out(i, found.clone(), victim, system);
        }
        if chain.goes_on || !(hit || nothing) {
            return Looked::GoesOn(found);
        }
        self.rules[first].1.paused_until = now + if hit { pause } else { SimDuration::ZERO };
        Looked::Over
    }

    fn carry_out(
        &mut self,
        i: usize,
        found: Found,
        victim: Option<Placed>,
        system: &mut dyn System,
    ) -> bool {
        let now = system.now();
        let (rule, state) = &mut self.rules[i];
        if rule.pick.is_some() && victim.is_none() {
            return false;
        }
        let candidate = victim.as_ref().map_or(Candidate::None, |v| v.who.borrowed());
        let mut read = found.read;
        read.extend(victim.iter().flat_map(|v| v.read.clone()));
        let since = state.since.unwrap_or(now);
        let reason = Reason { rule: rule.name.clone(), since, read };
        let pages = |e: &Expr, state: &mut State, system: &mut dyn System| {
            let mut reads = Reads::new(system, &self.said);
            let bytes = e.find(&mut reads, candidate, &mut state.other).value;
            bytes.max(0.0) as u64 / PAGE_SIZE
        };
        let group = match candidate {
            Candidate::Group(m) => m,
            Candidate::Process(p) => p.memcg,
            Candidate::None => MemcgId(0),
        };
        let mut victims = Vec::new();
        let action = match (&rule.act, candidate) {
            (Do::Signal(signal), Candidate::Process(p)) => {
                victims.push(p.id);
                Action::Signal(p.id, *signal)
            }
            (Do::Signal(signal), _) => Action::SignalGroup(group, *signal),
            (Do::Freeze(time), _) => {
                self.frozen.push((group, now + *time));
                Action::Freeze(group, true)
            }
            (Do::Write(file, bytes), _) => {
                Action::Write(group, *file, Some(pages(bytes, state, system)))
            }
            (Do::Reclaim(bytes, swappiness), _) => {
                Action::Reclaim(group, pages(bytes, state, system), *swappiness)
            }
            (Do::Nothing, _) => return false,
            (Do::Swappiness(value), _) => {
                let value = pages(value, state, system).saturating_mul(PAGE_SIZE);
                Action::Swappiness(value.min(200) as u8)
            }
        };
        system.act(action, &reason);
        if let Some(wait) = &rule.wait {
            self.waiting = Some(Waiting { rule: i, victims, until: now + wait.most });
        }
        self.waiting.is_some()
    }
}

/// The candidates of a rule, the first first. Siblings are compared with each other alone.
fn choose(
    siblings: Vec<Owned>,
    (rule, pick): (&Rule, &Pick),
    state: &mut State,
    reads: &mut Reads<'_>,
    frozen: &[(MemcgId, SimTime)],
) -> Vec<Placed> {
    let mut all = Vec::new();
    let recursive = !pick.below.is_empty();
    // Without children, or killed as a whole.
    let ends = if recursive { reads.system.leaves(MemcgId(0)) } else { Vec::new() };
    let mut below: BTreeMap<MemcgId, Vec<Placed>> = BTreeMap::new();
    for who in siblings {
        if let Owned::Group(m) = who
            && recursive
            && !ends.contains(&m)
            && let children = reads.system.children(m)
            && !children.is_empty()
        {
            let children = children.into_iter().map(Owned::Group).collect();
            below.insert(m, choose(children, (rule, pick), state, reads, frozen));
        }
        let candidate = who.borrowed();
        let (mut read, mut since) = (Vec::new(), None);
        if rule.when.is_of_candidates() {
            let found = rule.when.find(reads, candidate, &mut state.when);
            if found.value == 0.0 {
                continue;
            }
            read.extend(found.read);
            since = found.since;
        }
        let mut keys = Vec::new();
        for ((_, key), memory) in pick.by.iter().zip(&mut state.by) {
            let found = key.find(reads, candidate, memory);
            keys.push(found.value);
            read.extend(found.read);
        }
        if let Some(keep) = &pick.keep {
            let found = keep.find(reads, candidate, &mut state.keep);
            if found.value == 0.0 {
                continue;
            }
        }
        let stands = |m: MemcgId| frozen.iter().any(|f| f.0 == m);
        if matches!((&rule.act, &who), (Do::Freeze(_), Owned::Group(m)) if stands(*m)) {
            continue;
        }
        all.push(Placed { who, keys, read, since });
    }
    let name = |who: &Owned| match who {
        Owned::Group(m) => reads.system.name(*m).to_string(),
        Owned::Process(p) => p.name.clone(),
    };
    let mut ranked: Vec<(i8, Placed)> = Vec::new();
    for mut placed in all {
        let name = name(&placed.who);
        let is_of = |names: &[String]| names.contains(&name);
        if is_of(&pick.omit) {
            continue;
        }
        let rank = i8::from(is_of(&pick.avoid)) - i8::from(is_of(&pick.prefer));
        if pick.weight > 0.0 {
            placed.keys.iter_mut().take(1).for_each(|k| *k -= f64::from(rank) * pick.weight);
        }
        ranked.push((if pick.weight > 0.0 { 0 } else { rank }, placed));
    }
    if pick.order == Order::SizeOrGrowth {
        let keys: Vec<Vec<f64>> = ranked.iter().map(|r| r.1.keys.clone()).collect();
        for (nth, i) in size_or_growth(&keys).into_iter().enumerate() {
            // The order takes the place of the keys.
            ranked[i].1.keys = vec![-(nth as f64)];
        }
    }
    ranked.sort_by(|a, b| {
        let keys = a.1.keys.iter().zip(&b.1.keys).zip(&pick.by).map(|((a, b), (sort, _))| {
            if *sort == Sort::Largest { b.total_cmp(a) } else { a.total_cmp(b) }
        });
        keys.fold(a.0.cmp(&b.0), |order, next| order.then(next))
    });
    let in_its_place = |placed: Placed| match placed.who {
        Owned::Group(m) if below.contains_key(&m) => below.remove(&m).unwrap_or_default(),
        _ => vec![placed],
    };
    ranked.into_iter().map(|r| r.1).flat_map(in_its_place).collect()
}

fn candidates(pick: &Pick, system: &mut dyn System) -> Vec<Owned> {
    match &pick.among {
        Among::Processes(groups) => {
            let all = system.processes().into_iter();
            let may = |p: &Process| {
                p.oom_score_adj > -1000 && (groups.is_empty() || groups.contains(&p.memcg))
            };
            all.filter(may).map(Owned::Process).collect()
        }
        Among::Leaves(groups) => {
            groups.iter().flat_map(|&m| system.leaves(m)).map(Owned::Group).collect()
        }
        Among::Groups(groups) => {
            let there = groups.iter().filter(|&&m| system.has_group(m));
            there.map(|&m| Owned::Group(m)).collect()
        }
    }
}

impl Daemon for Rules {
    fn needs(&self) -> Needs {
        let mut pressure = Vec::new();
        for (rule, _) in &self.rules {
            let pick = rule.pick.iter();
            let of_pick = pick.clone().flat_map(|p| p.by.iter().map(|b| &b.1).chain(&p.keep));
            let mut of_candidates = false;
            for e in of_pick.chain([&rule.when]) {
                let (groups, others) = e.pressures();
                pressure.extend(groups);
                of_candidates |= others;
            }
            if of_candidates {
                for pick in pick {
                    pressure.extend(&pick.below);
                    match &pick.among {
                        Among::Processes(m) | Among::Leaves(m) | Among::Groups(m) => {
                            pressure.extend(m);
                        }
                    }
                }
            }
        }
        Needs { pressure, triggers: self.triggers.clone() }
    }

    fn look(&mut self, system: &mut dyn System, fired: &[usize]) -> SimTime {
        if let Some(next) = self.wait(system) {
            return next;
        }
        self.thaw(system);
        // The chain under way: its first step, whether it is due, and what that hands on.
        let (mut first, mut due, mut handed) = (0, false, None);
        for i in 0..self.rules.len() {
            if !self.rules[i].0.chain.is_some_and(|c| c.follows) {
                due = self.rules[i].1.next <= system.now() || !fired.is_empty();
                (first, handed) = (i, None);
            }
            if !due {
                continue;
            }
            handed = match self.look_at((i, first), handed, system) {
                Looked::GoesOn(found) => Some(found),
                // The steps behind it only read what their orders look back to.
                Looked::Over => Some(Found::default()),
                Looked::Waits => {
                    let wait = self.rules[i].0.wait.as_ref();
                    return system.now() + wait.map_or(SimDuration(1), |w| w.every);
                }
            };
        }
        let timers = self.rules.iter().map(|r| r.1.next);
        timers.chain(self.frozen.iter().map(|f| f.1)).min().unwrap_or(SimTime::NEVER)
    }

    fn digest(&self, d: &mut Digest) {
        d.words([self.paused_until.0, self.frozen.len() as u64]);
        d.words(self.rules.iter().map(|r| r.1.next.0));
    }
}
