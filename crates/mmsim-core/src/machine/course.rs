//! The course of a run: how it begins, pauses and ends, and who looks at it on the way.

use super::Machine;
use super::SampleFn;
use super::Watch;
use super::watch::result::RunResult;
use super::watch::stuck::Watchdog;
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmStat;
use crate::config::{SysctlWrite, VmSysctl};

impl Machine {
    /// Runs all workloads to their ends.
    pub fn run(&mut self, watch: Watch) -> RunResult {
        self.begin(watch);
        self.complete()
    }

    /// Begins a run that goes on step by step. [`Machine::run`] is this and [`Machine::complete`].
    pub fn begin(&mut self, watch: Watch) {
        self.record.accesses = watch.record_accesses;
        self.course.watch = watch;
        self.mem.telling.tracer.set_observer(self.course.watch.observer.take());
        self.mem.set_follower(self.course.watch.follower.take());
        self.start_on_host();
        self.mem.given.slow_paths = self.course.watch.slow_paths || self.mem.is_on_host();
        self.course.series_at = match &self.course.watch.sample {
            Some((every, _)) => SimTime(every.0.max(1)),
            None => SimTime::NEVER,
        };
        self.course.pause_at = SimTime::NEVER;
        self.plan_samples();
        self.course.watchdog = Watchdog::of(self.work.threads.len());
        self.course.progress_at =
            if self.course.watch.progress.is_some() { 1 << 20 } else { u64::MAX };
    }

    /// Goes on until everything that begins before or at this instant was done, or to the end of the
    /// run. True: there is more to do. Pauses change nothing, as samples: a thread that runs ahead of
    /// others may have passed the instant, and a team of first touches ends before there is a pause.
    pub fn go_on(&mut self, until: SimTime) -> bool {
        self.course.pause_at = until;
        self.course.paused = false;
        self.plan_samples();
        self.main_loop();
        self.course.pause_at = SimTime::NEVER;
        self.plan_samples();
        self.course.paused
    }

    /// Writes sysctls between two steps of a run, as a write to `/proc/sys/vm` and the files of /sys
    /// does. They hold from the next decision on.
    ///
    /// # Panics
    ///
    /// If [`VmSysctl::nr_hugepages`] would change: the pool is taken at the start.
    pub fn write_sysctls(&mut self, vm: VmSysctl) {
        assert_eq!(vm.nr_hugepages, self.config.vm.nr_hugepages, "the pool of the start");
        let before = std::mem::replace(&mut self.config.vm, vm.clone());
        (self.mem.given.sizes_on, self.mem.given.vm) = (vm.has_sizes(), vm);
        self.mem.zones.sysctls_written(&self.config);
        let vm = &self.config.vm;
        // A flusher that looked at nothing so far begins at once (`dirty_writeback_centisecs_handler`).
        if before.dirty_writeback == SimDuration::ZERO && vm.dirty_writeback > SimDuration::ZERO {
            self.wake_flushers();
        }
        if self.config.vm.compaction_proactiveness != before.compaction_proactiveness {
            self.proactiveness_written(before.compaction_proactiveness > 0);
        }
    }

    /// Writes one sysctl, on behalf of a thread.
    pub(super) fn write_sysctl(&mut self, write: SysctlWrite) {
        self.mem.acting.now += self.mem.given.cost.t_syscall;
        self.write_sysctls(self.config.vm.written(write));
    }

    /// Goes on to the end of a run: what it came to.
    pub fn complete(&mut self) -> RunResult {
        self.go_on(SimTime::NEVER);
        if self.course.watch.check_every > 0 {
            self.check();
        }
        self.mem.telling.tracer.set_observer(None);
        self.mem.end_following();
        let end = self.end();
        self.samples_before(end);
        self.sample(end);
        self.course.resident.add(self.mem.nr_resident());
        self.result()
    }

    /// Plans the next observation of the machine.
    fn plan_samples(&mut self) {
        self.course.sample_at =
            self.course.series_at.min(self.course.resident.at).min(self.course.pause_at);
    }

    /// Takes the samples before an instant that everybody has reached.
    #[inline]
    pub(super) fn samples_before(&mut self, reached: SimTime) {
        if self.course.sample_at < reached {
            self.take_samples(reached);
        }
    }

    #[inline(never)]
    fn take_samples(&mut self, reached: SimTime) {
        while self.course.sample_at < reached {
            if self.course.series_at == self.course.sample_at {
                self.sample(self.course.series_at);
                let every = self.course.watch.sample.as_ref().map_or(SimDuration::ZERO, |s| s.0);
                self.course.series_at += every.max(SimDuration(1));
            }
            if self.course.resident.at == self.course.sample_at {
                self.course.resident.add(self.mem.nr_resident());
            }
            if self.course.pause_at == self.course.sample_at {
                self.course.pause_at = SimTime::NEVER;
                self.course.paused = true;
            }
            self.plan_samples();
        }
    }

    /// Shows what holds now as what held then; nothing of the machine changes.
    fn sample(&mut self, at: SimTime) {
        let Some((every, mut f)) = self.course.watch.sample.take() else { return };
        let (vmstat, gauges) = self.counters_at(at);
        f(at, &vmstat, &gauges);
        if let Some(look) = &mut self.course.watch.look {
            look(at, &self.mem);
        }
        let f: SampleFn = f;
        self.course.watch.sample = Some((every, f));
    }

    /// Counters and gauges as a sample at an instant that the run has come to; nothing of the machine
    /// changes.
    pub fn counters_at(&mut self, at: SimTime) -> (VmStat, Vec<(&'static str, u64)>) {
        // Totals up to an instant roll the meter forward.
        let psi = self.sched.psi.clone();
        let mark = self.take_mark(at);
        self.sched.psi = psi;
        let mut gauges = self.gauges();
        gauges.push(("sim_pressure_some_us", mark.pressure.some_us));
        gauges.push(("sim_pressure_full_us", mark.pressure.full_us));
        (mark.vmstat, gauges)
    }
}
