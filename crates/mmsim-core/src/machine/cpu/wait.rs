//! Threads that wait, and are made runnable again; kernel threads that are put in line.

use crate::base::id::{CpuId, MemcgId, ThreadId};
use crate::base::time::{SimDuration, SimTime};
use crate::machine::Machine;
use crate::machine::cpu::line::Virtual;
use crate::machine::cpu::sched::Cpu;
use crate::machine::cpu::thread::{Entity, Wait};
use crate::machine::watch::psi::Psi;
use crate::memory::memcg_tree::ROOT;

impl Machine {
    /// A thread of a group changes from one state to another on a CPU.
    pub(in crate::machine) fn pressure_changes(
        &mut self,
        memcg: MemcgId,
        cpu: CpuId,
        now: SimTime,
        from: Psi,
        to: Psi,
    ) {
        self.sched.psi.change(cpu, now, from, to);
        if memcg != ROOT {
            let levels = self.mem.memcgs.tree.levels(memcg);
            self.sched.group_psi.change(levels, |meter| meter.change(cpu, now, from, to));
        }
    }

    /// A thread that runs worked for memory since an instant.
    pub(in crate::machine) fn stalled_since(&mut self, tid: ThreadId, begin: SimTime) {
        let (memcg, cpu, now) =
            (self.work.threads[tid].memcg, self.mem.acting.cpu, self.mem.acting.now);
        self.sched.psi.stalled(cpu, begin, now);
        if memcg != ROOT {
            let levels = self.mem.memcgs.tree.levels(memcg);
            self.sched.group_psi.change(levels, |meter| meter.stalled(cpu, begin, now));
        }
    }

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
        let (memcg, cpu) = (t.memcg, t.cpu);
        self.pressure_changes(memcg, cpu, now, from, psi);
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
            Wait::Timer(_) | Wait::Barrier | Wait::Kdamond(_) => {}
        }
        t.wait = Wait::Not;
        let from = std::mem::replace(&mut t.psi, Psi::Running);
        let (memcg, old) = (t.memcg, t.cpu);
        self.pressure_changes(memcg, old, now, from, Psi::Idle);
        let cpu = if self.sched.cpus[old].idle() {
            old
        } else {
            self.sched.cpus.position(Cpu::idle).unwrap_or(old)
        };
        self.work.threads[tid].cpu = cpu;
        self.pressure_changes(memcg, cpu, now, Psi::Idle, Psi::Running);
        self.enqueue(cpu, Entity::Thread(tid), now);
    }

    /// Sets the state of its scheduler at the beginning of the run: its last tick was `since_tick`
    /// before (modulo a tick), and each kswapd has a lag of `kswapd_lag`, as EEVDF keeps it for
    /// sleeping tasks (Linux 6.12 `update_entity_lag()`, at most 4 ms there). CFS, up to 6.5, keeps
    /// no lag. Without this call a tick comes at the beginning, and nothing is owed. It is meant
    /// for a machine that has not begun.
    pub fn scheduler_at_start(&mut self, since_tick: SimDuration, kswapd_lag: SimDuration) {
        self.sched.cpus.iter_mut().for_each(|c| c.set_since_tick(since_tick));
        let owed = Virtual { lag: kswapd_lag.0 as i64, ..Virtual::default() };
        self.sched.virtuals.extend(self.daemons.kswapds.ids().map(|n| (Entity::Kswapd(n), owed)));
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
