//! A daemon at work: its reads, which take time, and its acts.
//!
//! A victim's memory returns at once, as when the OOM killer ends a process; in Linux the victim gives
//! it back on its own CPU, or the killer does by `process_mrelease`. A write to a limit below the
//! usage reclaims until that fits, or has freed nothing [`MAX_RECLAIM_RETRIES`] times. Then a group
//! above `memory.high` keeps what it has. Above `memory.max` the OOM killer goes on until the rest fits,
//! or no process may be killed.
//!
//! Source: Linux 6.12 mm/memcontrol.c (`memory_high_write`, `memory_max_write`), kernel/cgroup/freezer.c.

use crate::base::id::{AsId, DaemonId, MemcgId, ThreadId};
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
use crate::machine::Machine;
use crate::machine::cpu::queue::Event;
use crate::machine::cpu::thread::{Entity, Wait};
use crate::machine::watch::result::{AbsentReads, Act, BelowUse, Lost};
use crate::memory::memcg_tree::ROOT;
use crate::memory::trace::TraceEvent;
use crate::policy::daemon::{
    Action, Control, GroupFiles, Meminfo, Pid, PressureAverages, Process, ReadCosts, Reason,
    Signal, System, TriggerSpec,
};
use crate::policy::{MAX_RECLAIM_RETRIES, Reclaimer};
use crate::workload::Pressure;

/// A look of a daemon.
pub(super) struct Looking<'a> {
    pub(super) machine: &'a mut Machine,
    pub(super) id: DaemonId,
    pub(super) tid: ThreadId,
}

impl Looking<'_> {
    fn costs(&self) -> ReadCosts {
        self.machine.daemons.users[self.id].config.costs
    }
    /// A read of a file of the machine, or of a group. In Linux there is no file of a group that is not
    /// there; here the read gives zeros, a write does nothing, and the run says so at its end.
    fn pay_for(&mut self, memcg: MemcgId) {
        let costs = self.costs();
        let memcgs = &self.machine.mem.memcgs;
        if !memcgs.is_online(memcg) {
            let (at, name) = (self.machine.mem.acting.now, &memcgs[memcg].config.name);
            let absent = &mut self.machine.daemons.users[self.id].absent;
            let first = || AbsentReads { at, memcg: name.clone(), reads: 0 };
            absent.get_or_insert_with(first).reads += 1;
        }
        self.machine.mem.acting.now += if memcg.0 == 0 { costs.meminfo } else { costs.group };
    }
}

impl System for Looking<'_> {
    fn now(&self) -> SimTime {
        self.machine.mem.acting.now
    }
    fn meminfo(&mut self) -> Meminfo {
        self.pay_for(MemcgId(0));
        self.machine.meminfo()
    }
    fn vmstat(&mut self, event: VmEvent) -> u64 {
        self.pay_for(MemcgId(0));
        self.machine.mem.stats.vmstat[event]
    }
    fn pressure(&mut self, memcg: MemcgId) -> (Pressure, PressureAverages) {
        self.pay_for(memcg);
        self.machine.sched.psi.read(memcg, self.machine.mem.acting.now)
    }
    fn watermarks(&mut self) -> [u64; 3] {
        self.pay_for(MemcgId(0));
        self.machine.sums_of_watermarks()
    }
    fn zram(&mut self) -> u64 {
        self.pay_for(MemcgId(0));
        self.machine.mem.nr_zram_store()
    }
    fn group(&mut self, memcg: MemcgId) -> GroupFiles {
        self.pay_for(memcg);
        self.machine.memory_stat_is_read();
        self.machine.files_of(memcg)
    }
    fn stat(&mut self, memcg: MemcgId, event: VmEvent) -> u64 {
        self.pay_for(memcg);
        self.machine.memory_stat_is_read();
        self.machine.stat_of(memcg, event)
    }
    fn leaves(&self, memcg: MemcgId) -> Vec<MemcgId> {
        let memcgs = &self.machine.mem.memcgs;
        let within = memcgs.tree.subtree(memcg);
        let (mut found, mut place) = (Vec::new(), within.start);
        while place < within.end {
            let m = memcgs.tree.at(place);
            let whole = memcgs[m].config.oom_group && m != memcg;
            if m != ROOT && memcgs.is_online(m) && (whole || !memcgs.tree.is_inner(m)) {
                found.push(m);
            }
            place = if whole { memcgs.tree.subtree(m).end } else { place + 1 };
        }
        found
    }
    fn children(&self, memcg: MemcgId) -> Vec<MemcgId> {
        let tree = &self.machine.mem.memcgs.tree;
        let below = tree.walk(memcg).filter(|&m| tree.parent(m) == Some(memcg));
        below.filter(|&m| self.has_group(m)).collect()
    }
    fn has_group(&self, memcg: MemcgId) -> bool {
        let memcgs = &self.machine.mem.memcgs;
        memcgs.ids().any(|m| m == memcg) && memcgs.is_online(memcg)
    }
    fn name(&self, memcg: MemcgId) -> &str {
        &self.machine.mem.memcgs[memcg].config.name
    }
    fn processes(&mut self) -> Vec<Process> {
        let all = self.machine.processes_but(self.tid);
        let cost = self.costs().process;
        all.iter().for_each(|_| self.machine.mem.acting.now += cost);
        all
    }
    fn lives(&self, process: Pid) -> bool {
        self.machine.lives(process)
    }
    fn spend(&mut self, time: SimDuration) {
        self.machine.mem.acting.now += time;
    }
    fn arm(&mut self, memcg: MemcgId, spec: TriggerSpec) -> usize {
        let now = self.now();
        self.machine.sched.psi.watch(memcg);
        let number = self.machine.sched.psi.arm(memcg, spec, now);
        let triggers = &mut self.machine.daemons.users[self.id].triggers;
        triggers.push((memcg, number));
        triggers.len() - 1
    }
    fn act(&mut self, action: Action, reason: &Reason) -> u64 {
        if let Action::SignalGroup(m, _) | Action::Write(m, ..) | Action::Reclaim(m, ..) = action
            && !self.has_group(m)
        {
            // There is no file to write to.
            self.pay_for(m);
            return 0;
        }
        self.machine.mem.acting.now += self.machine.mem.given.cost.t_syscall;
        let (at, lost) = (self.now(), self.machine.lost_by(action));
        let (what, target) = self.machine.names_of(action);
        self.machine.tell_act(self.id, action, &lost);
        let mut below_use = self.machine.is_below_use(action);
        let killed = self.machine.mem.stats.vmstat[VmEvent::OomKill];
        let done = self.machine.carry_out(self.id, self.tid, action);
        if let Some(below_use) = &mut below_use {
            below_use.killed = self.machine.mem.stats.vmstat[VmEvent::OomKill] - killed;
        }
        let refaulted = VmEvent::REFAULTS.iter().map(|&e| self.machine.mem.stats.vmstat[e]).sum();
        let user = &mut self.machine.daemons.users[self.id];
        if matches!(action, Action::Freeze(_, false)) {
            let frozen = |a: &&mut Act| a.what == "freeze" && a.target == target;
            if let Some(act) = user.acts.iter_mut().rev().find(frozen) {
                act.until = Some(at);
            }
            return done;
        }
        user.acted += 1;
        if user.acts.len() < super::MOST_ACTS {
            let (reason, until) = (reason.clone(), None);
            let act = Act { at, until, what, target, reason, done, lost, refaulted, below_use };
            user.acts.push(act);
        }
        done
    }
}

impl Machine {
    /// The processes that an act ends.
    fn victims(&self, action: Action) -> Vec<Pid> {
        let spaces = &self.mem.virt.spaces;
        match action {
            Action::Signal(a, _) if self.lives(a) => vec![a],
            Action::SignalGroup(m, _) => {
                let within = |a: &AsId| self.mem.memcgs.tree.holds(m, spaces[*a].memcg);
                spaces.ids().filter(|a| !spaces[*a].dead && within(a)).map(Pid::from).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Memory and work of the victims of an act.
    fn lost_by(&self, action: Action) -> Lost {
        let mut lost = Lost::default();
        for victim in self.victims(action) {
            if let Some((_, played)) = self.played(victim) {
                let [resident, swapped] = self.sizes_of(victim.space, &played);
                (lost.resident, lost.swapped) = (lost.resident + resident, lost.swapped + swapped);
                continue;
            }
            let a = victim.space;
            let s = &self.mem.virt.spaces[a];
            lost.resident += s.rss();
            lost.swapped += s.swapents;
            for t in self.work.threads.iter().filter(|t| t.space == a) {
                lost.accesses += t.progress.accesses;
                lost.records += t.progress.records;
            }
        }
        lost
    }

    fn tell_act(&mut self, daemon: DaemonId, action: Action, lost: &Lost) {
        let what = self.names_of(action).0;
        let (process, memcg) = match action {
            Action::Signal(a, _) => (Some(a.space), self.mem.virt.spaces[a.space].memcg),
            Action::SignalGroup(m, _)
            | Action::Write(m, ..)
            | Action::Reclaim(m, ..)
            | Action::Freeze(m, _) => (None, m),
            Action::Swappiness(_) => (None, MemcgId(0)),
        };
        let pages = match action {
            Action::Write(_, _, pages) => pages.unwrap_or(u64::MAX),
            Action::Reclaim(_, pages, _) => pages,
            _ => lost.resident + lost.swapped,
        };
        self.mem.emit(|| TraceEvent::SimDaemonAct { daemon, what, process, memcg, pages });
    }

    /// An act and its target, as reports name them.
    fn names_of(&self, action: Action) -> (&'static str, String) {
        let group = |m: MemcgId| self.mem.memcgs[m].config.name.clone();
        let process = |a: Pid| match self.played(a) {
            Some((_, played)) => played.name,
            None => self.mem.virt.spaces[a.space].name.clone(),
        };
        match action {
            Action::Signal(a, Signal::Term) => ("SIGTERM", process(a)),
            Action::Signal(a, Signal::Kill) => ("SIGKILL", process(a)),
            Action::SignalGroup(m, Signal::Term) => ("terminate group", group(m)),
            Action::SignalGroup(m, Signal::Kill) => ("kill group", group(m)),
            Action::Write(m, file, _) => (file.name(), group(m)),
            Action::Reclaim(m, ..) => ("memory.reclaim", group(m)),
            Action::Swappiness(_) => ("vm.swappiness", String::new()),
            Action::Freeze(m, true) => ("freeze", group(m)),
            Action::Freeze(m, false) => ("thaw", group(m)),
        }
    }

    fn carry_out(&mut self, id: DaemonId, tid: ThreadId, action: Action) -> u64 {
        match action {
            Action::Signal(_, Signal::Term) | Action::SignalGroup(_, Signal::Term) => {
                let victims = self.victims(action);
                if let Some(delay) = self.daemons.users[id].config.term_delay {
                    let at = self.mem.acting.now + delay;
                    victims.iter().for_each(|&a| self.events.queue.push(at, Event::Terminate(a)));
                }
                victims.len() as u64
            }
            Action::Signal(_, Signal::Kill) | Action::SignalGroup(_, Signal::Kill) => {
                let victims = self.victims(action);
                let now = self.mem.acting.now;
                victims.iter().for_each(|&a| self.end_process(a));
                // It is the victims that give their memory back.
                self.mem.acting.now = now;
                victims.len() as u64
            }
            Action::Write(m, file, pages) => self.write_control(tid, m, file, pages),
            Action::Reclaim(m, pages, swappiness) => {
                let asked = |m: &Machine, memcg| m.stat_of(memcg, VmEvent::SimMemcgReclaimShort);
                let before = asked(self, m);
                self.memory_reclaim(tid, m, pages, swappiness);
                pages.saturating_sub(asked(self, m) - before)
            }
            Action::Swappiness(value) => {
                let mut vm = self.config.vm.clone();
                vm.swappiness = value.into();
                self.write_sysctls(vm);
                0
            }
            Action::Freeze(m, frozen) => self.freeze(tid, m, frozen),
        }
    }

    /// A write to a limit or protection; returns the pages reclaimed for it.
    fn write_control(
        &mut self,
        tid: ThreadId,
        m: MemcgId,
        file: Control,
        pages: Option<u64>,
    ) -> u64 {
        self.mem.memcgs.write(m, file, pages);
        let limit = match file {
            Control::High | Control::Max => pages.unwrap_or(u64::MAX),
            Control::Min | Control::Low | Control::SwapMax => return 0,
        };
        let before = self.mem.memcgs[m].usage;
        let mut retries = MAX_RECLAIM_RETRIES;
        while retries > 0 && self.mem.memcgs[m].usage > limit {
            let over = self.mem.memcgs[m].usage - limit;
            let by = Reclaimer::Limit(m);
            if self.reclaim_group(tid, by, over, None) == 0 {
                retries -= 1;
            }
        }
        let reclaimed = before.saturating_sub(self.mem.memcgs[m].usage);
        while file == Control::Max && self.mem.memcgs[m].usage > limit {
            if !self.kill_for_limit(m) {
                break;
            }
        }
        reclaimed
    }

    /// The limit and the usage, if an act writes `memory.max` below what its group is charged.
    fn is_below_use(&self, action: Action) -> Option<BelowUse> {
        let Action::Write(m, Control::Max, Some(limit)) = action else { return None };
        let charged = self.mem.memcgs[m].usage;
        (charged > limit).then_some(BelowUse { limit, charged, killed: 0 })
    }

    /// Stops the threads of a group, or lets them go on. Returns their number.
    ///
    /// A thread that is in line for a CPU stops where it is; one that waits stops when its wait is
    /// over. In Linux a thread amid a fault stops on its way back to user mode, and a daemon in the
    /// group stops too.
    fn freeze(&mut self, tid: ThreadId, m: MemcgId, frozen: bool) -> u64 {
        let of_group = |id: &ThreadId| {
            let t = &self.work.threads[*id];
            self.mem.memcgs.tree.holds(m, t.memcg)
                && *id != tid
                && t.wait != Wait::Finished
                && t.frozen != frozen
        };
        let all: Vec<ThreadId> = self.work.threads.ids().filter(of_group).collect();
        for &t in &all {
            self.work.threads[t].frozen = frozen;
            match self.work.threads[t].wait {
                Wait::Not if frozen => {
                    for cpu in self.sched.cpus.ids() {
                        self.sched.cpus[cpu].remove(Entity::Thread(t));
                        self.sched.order.changed(cpu, &self.sched.cpus[cpu]);
                    }
                    self.block(t, Wait::Frozen, false);
                }
                Wait::Frozen if !frozen => self.wake(t),
                _ => {}
            }
        }
        all.len() as u64
    }

    /// A process that got SIGTERM ends. A thread amid a step may be one of its own, with a fault half
    /// done, so the end waits, as a signal in Linux is taken on the way back to user mode.
    pub(in crate::machine) fn terminate(&mut self, process: Pid, at: SimTime) {
        if self.step.amid {
            self.events.queue.push(at + self.config.tick, Event::Terminate(process));
        } else if self.lives(process) {
            self.end_process(process);
        }
    }

    /// Ends a process: the space with all its threads, or what a workload plays in it.
    fn end_process(&mut self, process: Pid) {
        match self.played(process) {
            Some((tid, played)) => self.work.threads[tid].workload.kill(played.number),
            None => self.kill(process.space),
        }
    }
}
