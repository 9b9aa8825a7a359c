//! Daemons: processes of user space that look at memory and act.
//!
//! Each has one thread, whose work touches the resident set and then looks ([`Op::Look`]). Between two
//! looks it sleeps, until its timer or a pressure trigger wakes it. No daemon keeps a run alive: the
//! run ends with the last thread of the work.

mod act;
mod read;

use super::Machine;
use super::cpu::queue::Event;
use super::cpu::thread::Wait;
use super::task::TaskConfig;
use super::watch::result::{AbsentReads, Act, DaemonResult};
use crate::base::digest::Digest;
use crate::base::id::{DaemonId, MemcgId, ThreadId};
use crate::base::rng::Rng;
use crate::base::time::{SimDuration, SimTime};
use crate::policy::daemon::{Daemon, DaemonConfig};
use crate::workload::{MapKind, Op, RegionId, Run, VmaFlags, Workload, WorkloadCx};

/// Acts of a daemon that a result has at most; later ones are only counted.
const MOST_ACTS: usize = 1000;

/// A daemon, and what the machine knows of it.
pub(super) struct UserDaemon {
    /// Taken out while it looks.
    daemon: Option<Box<dyn Daemon>>,
    config: DaemonConfig,
    thread: ThreadId,
    /// The file of each of its triggers, and their numbers there.
    triggers: Vec<(MemcgId, usize)>,
    /// Triggers that fired since its last look.
    fired: Vec<usize>,
    looks: u64,
    acts: Vec<Act>,
    /// Acts, also those that are not kept.
    acted: u64,
    absent: Option<AbsentReads>,
}

impl Machine {
    /// Gives the machine a daemon. `seed` is that of the run.
    pub fn add_daemon(&mut self, c: DaemonConfig, daemon: Box<dyn Daemon>, seed: u64) -> DaemonId {
        let id = DaemonId(self.daemons.users.len() as u8);
        let needs = daemon.needs();
        needs.pressure.iter().for_each(|&m| self.sched.psi.watch(m));
        let mut triggers = Vec::new();
        for (memcg, spec) in needs.triggers {
            self.sched.psi.watch(memcg);
            triggers.push((memcg, self.sched.psi.arm(memcg, spec, SimTime::ZERO)));
        }
        let looker = Looker { id, pages: c.resident, locked: c.locked, mapped: false };
        let task = TaskConfig::new(c.name.clone(), vec![Box::new(looker)])
            .with_memcg(c.memcg)
            .with_oom_score_adj(c.oom_score_adj)
            .with_start(c.start);
        self.add_task(task, seed);
        let thread = ThreadId(self.work.threads.len() as u32 - 1);
        self.work.threads[thread].daemon = Some(id);
        self.work.live -= 1;
        self.daemons.users.push(UserDaemon {
            daemon: Some(daemon),
            config: c,
            thread,
            triggers,
            fired: Vec::new(),
            looks: 0,
            acts: Vec::new(),
            acted: 0,
            absent: None,
        })
    }

    /// A look of a daemon, and its sleep until the next one.
    pub(super) fn look(&mut self, tid: ThreadId, id: DaemonId) {
        let user = &mut self.daemons.users[id];
        let Some(mut daemon) = user.daemon.take() else { unreachable!("{id} looks already") };
        let fired = std::mem::take(&mut user.fired);
        user.looks += 1;
        let next = daemon.look(&mut act::Looking { machine: self, id, tid }, &fired);
        // A daemon alone is no progress: what it looks at may never come.
        self.course.watchdog.tried(false);
        let user = &mut self.daemons.users[id];
        user.daemon = Some(daemon);
        if user.fired.is_empty() && self.work.threads[tid].wait == Wait::Not {
            let until = next.max(self.mem.acting.now + SimDuration(1));
            self.events.timer_generation += 1;
            let g = self.events.timer_generation;
            self.block(tid, Wait::Look(g), false);
            self.events.queue.push(until, Event::Wake(tid, g));
        }
    }

    /// The kernel looks at the triggers of a group: daemons whose triggers fire go on.
    pub(super) fn look_at_triggers(&mut self, memcg: MemcgId) {
        let (fired, next) = self.sched.psi.look(memcg, self.mem.acting.now);
        if let Some(next) = next {
            self.events.queue.push(next, Event::PsiPoll(memcg));
        }
        for number in fired {
            for id in self.daemons.users.ids() {
                let user = &mut self.daemons.users[id];
                let Some(i) = user.triggers.iter().position(|&t| t == (memcg, number)) else {
                    continue;
                };
                user.fired.push(i);
                let tid = user.thread;
                if matches!(self.work.threads[tid].wait, Wait::Look(_)) {
                    self.wake(tid);
                }
            }
        }
    }

    /// A daemon, for who embeds the machine.
    ///
    /// # Panics
    /// If there is no such daemon.
    pub fn daemon(&self, id: DaemonId) -> &dyn Daemon {
        let Some(daemon) = self.daemons.users[id].daemon.as_deref() else { panic!("{id} looks") };
        daemon
    }

    pub(super) fn digest_daemons(&self, d: &mut Digest) {
        for user in self.daemons.users.iter() {
            d.words([user.looks, user.acted]);
            if let Some(daemon) = &user.daemon {
                daemon.digest(d);
            }
        }
    }

    /// Results of daemons.
    pub(super) fn daemon_results(&mut self) -> Vec<DaemonResult> {
        let threads = &self.work.threads;
        let users = self.daemons.users.iter_mut();
        users
            .map(|u| DaemonResult {
                name: u.config.name.clone(),
                looks: u.looks,
                cpu: threads[u.thread].user + threads[u.thread].system,
                stalled: threads[u.thread].throttled + threads[u.thread].io_wait,
                acted: u.acted,
                acts: std::mem::take(&mut u.acts),
                absent: u.absent.take(),
            })
            .collect()
    }
}

/// The work of a daemon: its resident set, then a look, again and again.
struct Looker {
    id: DaemonId,
    pages: u32,
    locked: bool,
    mapped: bool,
}

impl Workload for Looker {
    fn fill(&mut self, _cx: &WorkloadCx<'_>, _rng: &mut Rng, ops: &mut Vec<Op>) {
        let run = |write| Run { region: RegionId(0), write, first: 0, count: self.pages };
        if self.pages > 0 && !self.mapped {
            let flags = VmaFlags { locked: self.locked, ..VmaFlags::NONE };
            let (region, pages, kind) = (RegionId(0), self.pages, MapKind::Anon);
            ops.push(Op::Mmap { region, pages, kind, flags, at: None });
        }
        if self.pages > 0 {
            ops.push(Op::Access(run(!self.mapped)));
        }
        self.mapped = true;
        ops.push(Op::Look(self.id));
    }
}
