//! Where importers of page accesses put them: records, processes, touched pages.

use std::collections::BTreeMap;

use super::regions::Reference;
use super::regions::Touched;
use super::spool::{Spool, Spooled};
use super::{FirstPass, ImportOptions};
use crate::trace::table::{
    MAX_PROCESSES, MAX_TOTAL_PAGES, Process, Timing, TraceTable, USER_PAGES,
};

/// Assumption on accesses that do not say if they write.
pub(super) const UNTOLD: &str =
    "the first access to a page writes it and later ones read; the input does not say";

/// An access as an input states it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Access {
    /// Written or read; `None`: the input does not say.
    pub(super) write: Option<bool>,
    pub(super) page: u64,
    pub(super) count: u64,
    pub(super) pid: u32,
    /// Nanoseconds since the start, on every access or on none.
    pub(super) time: Option<u64>,
}

/// State after the accesses so far.
#[derive(Default)]
pub(super) struct Sink {
    spool: Spool,
    touched: Vec<Touched>,
    processes: Vec<Process>,
    by_pid: BTreeMap<u32, u16>,
    /// The process of the last access, if there is any.
    last: (u32, u16),
    /// Its process id, if the input has no times.
    plain_pid: Option<u32>,
    clocks: Vec<u64>,
    timed: Option<bool>,
    accesses: u64,
    /// Pages of all maps of touched pages.
    reserved: u64,
    /// Accesses that did not say if they write.
    untold: u64,
}

impl Sink {
    /// True if there was no access.
    pub(super) fn is_empty(&self) -> bool {
        self.accesses == 0
    }

    /// Takes an access. The error is what should have been there.
    #[inline(always)]
    pub(super) fn access(
        &mut self,
        a: Access,
        options: &ImportOptions,
    ) -> Result<(), &'static str> {
        if a.count == 1 && a.time.is_none() && self.plain(a.page, a.write, a.pid) {
            return Ok(());
        }
        self.any(a, options)
    }

    /// Takes an access to one page without a time, if there is nothing new about it: neither the
    /// process, nor the surroundings of the page, nor that there is no time. Else nothing has
    /// happened.
    #[inline(always)]
    fn plain(&mut self, page: u64, write: Option<bool>, pid: u32) -> bool {
        if self.plain_pid != Some(pid) {
            return false;
        }
        let process = self.last.1;
        let Some(touched) = self.touched.get_mut(usize::from(process)) else { return false };
        // Only pages of the address space were touched before.
        let Some(write) = touched.touch_known(page, |new| {
            self.untold += u64::from(write.is_none());
            write.unwrap_or(new)
        }) else {
            return false;
        };
        self.spool.push_single(process, page, write);
        self.accesses += 1;
        true
    }

    #[cold]
    #[inline(never)]
    fn any(&mut self, a: Access, options: &ImportOptions) -> Result<(), &'static str> {
        if a.count == 0 || a.count > MAX_TOTAL_PAGES {
            return Err("a count from 1 to 2^28 pages");
        }
        if a.page >= USER_PAGES || a.page + a.count > USER_PAGES {
            return Err("pages within the 47-bit address space (below 0x800000000)");
        }
        if self.timed.is_some_and(|timed| timed != a.time.is_some()) {
            return Err("a time on every line, or on none");
        }
        self.timed = Some(a.time.is_some());
        self.plain_pid = a.time.is_none().then_some(a.pid);
        let process = match self.last {
            (pid, nr) if pid == a.pid && !self.processes.is_empty() => nr,
            _ => self.process(a.pid, options).ok_or("at most 4096 processes")?,
        };
        let mut ticks = 0;
        if let Some(time) = a.time {
            let clock = &mut self.clocks[usize::from(process)];
            ticks = time
                .checked_sub(*clock)
                .ok_or("a time not before that of the process's access before")?;
            *clock = time;
        }
        let touched = &mut self.touched[usize::from(process)];
        let before = touched.reserved_pages();
        match a.write {
            Some(write) => {
                let how = if write { Reference::Store } else { Reference::Load };
                match a.count {
                    1 => touched.touch(a.page, how),
                    count => touched.touch_run(a.page, count, how),
                }
                let run = Spooled { process, write, vpn: a.page, count: a.count, ticks };
                self.spool.push(&run);
            }
            None => {
                self.untold += a.count;
                // A program reads what it wrote before: the first access writes.
                let mut run = Spooled { process, write: false, vpn: a.page, count: 0, ticks };
                let (mut page, end) = (a.page, a.page + a.count);
                while page < end {
                    let (write, alike) = touched.new_run(page, end);
                    if write != run.write && run.count > 0 {
                        self.spool.push(&run);
                        run = Spooled { process, write, vpn: page, count: 0, ticks: 0 };
                    }
                    (run.write, run.count) = (write, run.count + alike);
                    if write {
                        touched.touch_run(page, alike, Reference::Store);
                    }
                    page += alike;
                }
                self.spool.push(&run);
            }
        }
        self.reserved += touched.reserved_pages() - before;
        if self.reserved > MAX_TOTAL_PAGES {
            return Err("at most 2^28 distinct pages");
        }
        self.accesses += a.count;
        Ok(())
    }

    /// The number of a process, new ones in order of appearance.
    #[inline(never)]
    fn process(&mut self, pid: u32, options: &ImportOptions) -> Option<u16> {
        let nr = match self.by_pid.get(&pid) {
            Some(&nr) => nr,
            None => {
                if self.processes.len() == MAX_PROCESSES {
                    return None;
                }
                let nr = self.processes.len() as u16;
                let name =
                    if pid == 0 { options.name.clone() } else { format!("{}.{pid}", options.name) };
                self.processes.push(Process { pid, name });
                self.touched.push(Touched::default());
                self.clocks.push(0);
                self.by_pid.insert(pid, nr);
                nr
            }
        };
        self.last = (pid, nr);
        Some(nr)
    }

    /// Ends the first pass over an input of `lines` lines from `source`.
    pub(super) fn finish(self, source: &str, lines: u64) -> FirstPass {
        let mut table = TraceTable::empty(source);
        let timed = self.timed == Some(true);
        table.timing = if timed { Timing::Arrivals } else { Timing::ThinkTime };
        table.processes = self.processes;
        if !timed {
            table.assumptions.push("no times are given: there is no think time".into());
        }
        if self.untold > 0 {
            table.assumptions.push(UNTOLD.into());
        }
        table.assumptions.push("all regions are mapped from the start".into());
        FirstPass {
            spool: self.spool,
            touched: self.touched,
            table,
            lines,
            accesses_read: self.accesses,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn accesses() -> impl Strategy<Value = Vec<Access>> {
        let access = (any::<Option<bool>>(), 0..6_u32, 0..5000_u64, 0..40_u64, 0..100_u32);
        prop::collection::vec(access, 1..600).prop_map(|all| {
            let accesses = all.into_iter().map(|(write, place, page, count, odd)| Access {
                write,
                page: [0, 1 << 20, 1 << 33, 1 << 34, USER_PAGES - 5010, 77][place as usize] + page,
                count: if odd < 4 { count } else { 1 },
                pid: if (4..8).contains(&odd) { place } else { 3 },
                time: (odd == 99 && page < 50).then_some(page),
            });
            accesses.collect()
        })
    }

    proptest! {
        /// With the way for what is not new and without it.
        #[test]
        fn plain_accesses_do_what_any_do(all in accesses()) {
            let options = ImportOptions::default();
            let (mut short, mut long) = (Sink::default(), Sink::default());
            for a in all {
                prop_assert_eq!(short.access(a, &options), long.any(a, &options));
            }
            let (short, long) = (short.finish("", 0), long.finish("", 0));
            prop_assert_eq!(short.table, long.table);
            prop_assert_eq!(short.accesses_read, long.accesses_read);
            prop_assert!(short.spool.all() == long.spool.all());
            prop_assert!(short.touched.iter().eq(&long.touched));
        }
    }
}
