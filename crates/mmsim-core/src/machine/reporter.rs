//! Free page reporting in the background: when runs begin, and the time that the host takes.
//!
//! A free that ends in a block of at least the reported order requests a run, which begins after a
//! delay. A request during a run gives another one, the delay after its end. The worker sleeps while the host
//! answers and costs no CPU time here.
//!
//! Source: Linux 6.12 mm/page_reporting.c (`__page_reporting_request`, `page_reporting_process`).

use super::Machine;
use super::cpu::queue::Event;
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
use crate::config::host::HostConfig;
use crate::phys::reporting::{ReportRun, Reporting};

/// State of the reporting device.
#[derive(Clone, Debug, Default)]
enum State {
    /// Nothing was freed since the last run.
    #[default]
    Idle,
    /// A run begins when its event is due.
    Requested,
    /// A run is under way; true if another was requested meanwhile.
    Active(ReportRun, bool),
}

/// The reporting device.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Reporter {
    state: State,
    what: Reporting,
    delay: SimDuration,
    /// Time that the host takes for a block.
    answer: SimDuration,
}

impl Reporter {
    /// The device of a host, if it asks for reports.
    pub(in crate::machine) fn of(host: &HostConfig) -> Option<Reporter> {
        let what = Reporting { order: host.order as u8, capacity: host.capacity as usize };
        let HostConfig { delay, answer, .. } = *host;
        host.reporting.then_some(Reporter { state: State::Idle, what, delay, answer })
    }
}

impl Machine {
    /// Puts the machine on its host, and asks for the first run.
    pub(in crate::machine) fn start_on_host(&mut self) {
        let Some(host) = self.config.host.clone() else { return };
        self.mem.on_host(&host);
        self.daemons.reporter = Reporter::of(&host);
        self.request_report();
    }

    /// Asks for a run if a block was freed since this was last called that is large enough.
    #[inline]
    pub(in crate::machine) fn notice_freed_blocks(&mut self) {
        if self.daemons.reporter.is_some() {
            self.notice_freed();
        }
    }

    #[cold]
    fn notice_freed(&mut self) {
        let mut freed = false;
        for z in self.mem.zones.ids() {
            freed |= self.mem.zones[z].take_noticed();
        }
        if freed {
            self.request_report();
        }
    }

    fn request_report(&mut self) {
        let Some(reporter) = &mut self.daemons.reporter else { return };
        match &mut reporter.state {
            State::Idle => {
                reporter.state = State::Requested;
                let at = self.mem.acting.now + reporter.delay;
                self.events.queue.push(at, Event::Report);
            }
            State::Requested => {}
            State::Active(_, again) => *again = true,
        }
    }

    /// A run begins, or the host has answered.
    pub(in crate::machine) fn report_free_pages(&mut self, at: SimTime) {
        let Some(mut reporter) = self.daemons.reporter.take() else { return };
        let (zones, frames) = (&mut self.mem.zones, &mut self.mem.frames);
        let mut run = match std::mem::take(&mut reporter.state) {
            State::Active(mut run, again) => {
                let sent = run.sent().to_vec();
                run.put_back(zones, frames);
                run.unfinished |= again;
                for (pfn, order) in sent {
                    self.mem.reported_to_host(pfn, order);
                }
                run
            }
            _ => {
                self.mem.stats.vmstat.add(VmEvent::SimHostRun, 1);
                ReportRun::new()
            }
        };
        let (zones, frames) = (&mut self.mem.zones, &mut self.mem.frames);
        if run.advance(zones, frames, reporter.what) {
            self.mem.stats.vmstat.add(VmEvent::SimHostReport, 1);
            let after = reporter.answer * run.sent().len() as u64;
            self.events.queue.push(at + after, Event::Report);
            reporter.state = State::Active(run, false);
        } else {
            self.mem.stats.vmstat.add(VmEvent::SimHostZoneSkip, run.passed_over);
            if run.unfinished {
                reporter.state = State::Requested;
                self.events.queue.push(at + reporter.delay, Event::Report);
            }
        }
        self.daemons.reporter = Some(reporter);
    }
}
