//! Threads that wait, and are made runnable again; kernel threads that are put in line.

use crate::base::id::{CpuId, MemcgId, ThreadId};
use crate::base::time::{SimDuration, SimTime};
use crate::machine::Machine;
use crate::machine::cpu::line::Virtual;
use crate::machine::cpu::queue::Event;
use crate::machine::cpu::sched::Cpu;
use crate::machine::cpu::thread::{Entity, Wait};
use crate::machine::watch::psi::Psi;

impl Machine {
    /// Takes the running thread off its CPU.
    pub(in crate::machine) fn block(&mut self, tid: ThreadId, wait: Wait, memory: bool) {
        let now = self.mem.acting.now;
        let t = &mut self.work.threads[tid];
        debug_assert_eq!(t.wait, Wait::Not, "{tid} waits twice");
        t.wait = wait;
        t.waits_since = now;
        let psi = match (wait, memory) {
            (_, true) => Psi::MemStall,
            (Wait::Folio(_), false) => Psi::IoWait,
            _ => Psi::Idle,
        };
        let from = std::mem::replace(&mut t.psi, psi);
        let by = (t.cpu, t.memcg);
        self.sched.psi.change(by, now, from, psi);
        self.triggers_begin();
    }

    /// Makes a waiting thread runnable: on its CPU, or on an idle one.
    pub(in crate::machine) fn wake(&mut self, tid: ThreadId) {
        let now = self.mem.acting.now;
        let t = &mut self.work.threads[tid];
        let waited = now.since(t.waits_since);
        match t.wait {
            Wait::Not | Wait::Finished => return,
            Wait::Folio(_) => t.io_wait += waited,
            Wait::Pfmemalloc(_) => t.throttled += waited,
            Wait::Timer(_) if t.psi == Psi::MemStall => t.throttled += waited,
            Wait::Timer(_) | Wait::Barrier | Wait::Kdamond(_) | Wait::Look(_) | Wait::Frozen => {}
        }
        if t.frozen {
            t.wait = Wait::Frozen;
            let (by, from) = ((t.cpu, t.memcg), std::mem::replace(&mut t.psi, Psi::Idle));
            self.sched.psi.change(by, now, from, Psi::Idle);
            return;
        }
        t.wait = Wait::Not;
        let from = std::mem::replace(&mut t.psi, Psi::Running);
        let (old, memcg) = (t.cpu, t.memcg);
        self.sched.psi.change((old, memcg), now, from, Psi::Idle);
        let cpu = if self.sched.cpus[old].idle() {
            old
        } else {
            self.sched.cpus.position(Cpu::idle).unwrap_or(old)
        };
        self.work.threads[tid].cpu = cpu;
        self.sched.psi.change((cpu, memcg), now, Psi::Idle, Psi::Running);
        self.enqueue(cpu, Entity::Thread(tid), now);
    }

    /// A kernel thread, which is of the root group, changes its state on a CPU.
    pub(in crate::machine) fn psi_of_kernel(&mut self, cpu: CpuId, from: Psi, to: Psi) {
        self.sched.psi.change((cpu, MemcgId(0)), self.mem.acting.now, from, to);
        self.triggers_begin();
    }

    /// The thread that acts has worked for memory since `begin`.
    pub(in crate::machine) fn psi_stalled(&mut self, tid: ThreadId, begin: SimTime) {
        let by = (self.mem.acting.cpu, self.work.threads[tid].memcg);
        self.sched.psi.stalled(by, begin, self.mem.acting.now);
        self.triggers_begin();
    }

    /// The first look at triggers comes a tick after the stall that they wait for began.
    #[inline]
    fn triggers_begin(&mut self) {
        while let Some(memcg) = self.sched.psi.begun() {
            let at = self.mem.acting.now + self.config.tick;
            self.events.queue.push(at, Event::PsiPoll(memcg));
        }
    }

    /// Sets the state of its scheduler at the beginning of the run: its last tick was `since_tick`
    /// before (modulo a tick), each kswapd has the first of the lags, and zswap's worker the second,
    /// as EEVDF keeps them for sleeping tasks (Linux 6.12 `update_entity_lag()`, at most 4 ms there).
    /// CFS, up to 6.5, keeps no lag. Without this call a tick comes at the beginning, and nothing is
    /// owed. It is meant for a machine that has not begun.
    pub fn scheduler_at_start(&mut self, since_tick: SimDuration, lags: [SimDuration; 2]) {
        self.sched.cpus.iter_mut().for_each(|c| c.set_since_tick(since_tick));
        let [kswapd, worker] = lags.map(|t| Virtual { lag: t.0 as i64, ..Virtual::default() });
        self.sched.virtuals.extend(self.daemons.kswapds.ids().map(|n| (Entity::Kswapd(n), kswapd)));
        if self.mem.zswap().is_some() {
            self.sched.virtuals.insert(Entity::ZswapWorker, worker);
        }
    }

    pub(in crate::machine) fn enqueue(&mut self, cpu: CpuId, e: Entity, now: SimTime) {
        // A scan of kswapd's checks after each folio whether another entity is to run. It is one
        // step here, so that what it does is done; but the time after this instant has not passed.
        if let Some(Entity::Kswapd(n)) = self.sched.cpus[cpu].current() {
            self.daemons.kswapds[n].owed += self.sched.cpus[cpu].cut_short(now);
        }
        let v = self.sched.virtuals.get(&e).copied().unwrap_or_default();
        self.sched.cpus[cpu].enqueue(e, v, now);
        self.sched.order.changed(cpu, &self.sched.cpus[cpu]);
    }

    /// Puts a kernel thread on an idle CPU, or in line on the acting one. Returns the CPU.
    pub(in crate::machine) fn enqueue_daemon(&mut self, e: Entity) -> CpuId {
        let now = self.mem.acting.now;
        let acting = self.mem.acting.cpu;
        let cpu = self.sched.cpus.position(Cpu::idle).unwrap_or(acting);
        self.enqueue(cpu, e, now);
        cpu
    }
}
