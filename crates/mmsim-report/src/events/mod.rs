//! Trace events in files: JSON lines, `{"t_ns":..,"event":"mm_vmscan_..",fields..}`, or the same as
//! bytes (`.mmev`).
//!
//! [`mmsim_workload::events`] has the table of events and both forms. The observer goes into the
//! machine and only sees: an error while writing is kept and returned at the end, so that it cannot
//! change a run.

mod filter;
mod read;

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mmsim_core::base::time::SimTime;
use mmsim_core::memory::trace::Observer;
use mmsim_workload::events::{EventRecorder, EventSink};

pub use filter::{EventFilter, FilterError};
pub use mmsim_workload::events::{
    EVENTS, Event, EventForm, EventKind, EventRun, LIMIT, Value, event_name, line, page_of,
};
pub use read::EventFile;

/// State of a writer.
struct Written<W> {
    /// `None`: it was given back, or writing failed.
    out: Option<W>,
    error: Option<io::Error>,
    /// When the first event was left out.
    full: Option<SimTime>,
    /// Events, once all are written.
    events: Option<u64>,
}

/// Where the events of one run go. The machine gets an [`observer`](Self::observer) of
/// it; the output comes back from [`finish`](Self::finish).
pub struct EventWriter<W: Write + Send> {
    form: EventForm,
    filter: EventFilter,
    run: EventRun,
    limit: Option<u64>,
    written: Arc<Mutex<Written<W>>>,
}

/// The writer as its observer sees it.
struct Out<W>(Arc<Mutex<Written<W>>>);

/// A panic while the lock is held ends the run anyway; what was written stays good.
fn lock<W>(written: &Mutex<Written<W>>) -> MutexGuard<'_, Written<W>> {
    written.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W: Write + Send> EventSink for Out<W> {
    fn take(&mut self, bytes: &[u8]) -> bool {
        let mut written = lock(&self.0);
        let done = written.out.as_mut().map(|out| out.write_all(bytes));
        if let Some(Err(e)) = done {
            (written.out, written.error) = (None, Some(e));
        }
        written.out.is_some()
    }
    fn full(&mut self, at: SimTime) {
        lock(&self.0).full = Some(at);
    }
    fn ended(&mut self, events: u64) {
        lock(&self.0).events = Some(events);
    }
}

impl<W: Write + Send + 'static> EventWriter<W> {
    /// A writer for one run, in this form.
    pub fn new(out: W, form: EventForm, filter: &EventFilter, run: EventRun) -> Self {
        let written = Written { out: Some(out), error: None, full: None, events: None };
        let written = Arc::new(Mutex::new(written));
        EventWriter { form, filter: filter.clone(), run, limit: None, written }
    }

    /// Ends after `bytes` bytes, with one more event that says so: [`LIMIT`].
    #[must_use]
    pub fn with_limit(mut self, bytes: u64) -> Self {
        self.limit = Some(bytes);
        self
    }

    /// When the first event was left out, if the limit was reached.
    pub fn full(&self) -> Option<SimTime> {
        lock(&self.written).full
    }

    /// The observer for the machine. It writes the last events when the machine drops it, at the end of
    /// the run.
    pub fn observer(&self) -> Box<dyn Observer> {
        let wanted = self.filter.wanted(|task| self.run.threads_of(task));
        let out = Box::new(Out(Arc::clone(&self.written)));
        Box::new(EventRecorder::new(self.form, wanted, &self.run, self.limit, out))
    }

    /// Flushes and gives back the output and the number of events.
    ///
    /// # Errors
    ///
    /// Writing failed, or the observer is still there.
    pub fn finish(self) -> io::Result<(W, u64)> {
        let mut written = lock(&self.written);
        if let Some(error) = written.error.take() {
            return Err(error);
        }
        let (Some(mut out), Some(events)) = (written.out.take(), written.events) else {
            return Err(io::Error::other("the run whose events are written has not ended"));
        };
        out.flush()?;
        Ok((out, events))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::base::id::{CpuId, MemcgId, NodeId, PageIdx, Pfn, SwapSlot, ThreadId};
    use mmsim_core::base::time::SimDuration;
    use mmsim_core::memory::trace::{FaultKind, TraceEvent};

    fn fault(thread: u32, page: u32) -> TraceEvent {
        TraceEvent::PageFault {
            thread: ThreadId(thread),
            page: PageIdx(page),
            write: true,
            kind: FaultKind::SwapIn,
            major: true,
            pfn: Some(Pfn(9)),
        }
    }
    fn evict(page: Option<u32>) -> TraceEvent {
        TraceEvent::SimEvict {
            eviction: 7,
            pfn: Pfn(5),
            page: page.map(PageIdx),
            file: false,
            slot: Some(SwapSlot(3)),
            written: true,
        }
    }
    const WAKE: TraceEvent = TraceEvent::MmVmscanKswapdWake { node: NodeId(0), order: 9 };

    fn run(place: Option<u32>) -> EventRun {
        let tasks = vec![("ebizzy".to_string(), vec![ThreadId(1), ThreadId(2)])];
        EventRun { place, tasks, ..EventRun::default() }
    }

    /// The bytes that a writer makes of these events.
    fn bytes(form: EventForm, filter: &str, place: Option<u32>, events: &[TraceEvent]) -> Vec<u8> {
        let filter = EventFilter::parse(filter).unwrap();
        let writer = EventWriter::new(Vec::new(), form, &filter, run(place));
        let mut observer = writer.observer();
        for (i, event) in events.iter().enumerate() {
            observer.event(SimTime(10 * i as u64), event);
        }
        drop(observer);
        writer.finish().unwrap().0
    }

    fn written(filter: &str, place: Option<u32>, events: &[TraceEvent]) -> String {
        let text = String::from_utf8(bytes(EventForm::Lines, filter, place, events)).unwrap();
        // The filter passes the same events when they are read.
        let all = bytes(EventForm::Bytes, "", place, events);
        let mut file = EventFile::new(&all[..], "x.mmev").unwrap();
        file.filter(&EventFilter::parse(filter).unwrap());
        let mut lines = Vec::new();
        let end = loop {
            match file.advance() {
                Ok(true) => file.event().write_line(&mut lines),
                end => break end,
            }
        };
        assert_eq!(end.is_err(), filter.contains("nobody"), "{end:?}");
        assert_eq!(String::from_utf8(lines).unwrap(), text);
        text
    }

    #[test]
    fn lines_have_their_fields_in_order() {
        let switch = TraceEvent::SchedSwitch { cpu: CpuId(2), thread: None };
        let (node, memcg, age) = (NodeId(0), MemcgId(1), SimDuration::from_millis(5));
        let generation = TraceEvent::SimLruGen { node, memcg, seq: 4, age, nr_anon: 6, nr_file: 7 };
        assert_eq!(
            written("", None, &[fault(1, 600), evict(None), WAKE, switch, generation]),
            concat!(
                r#"{"t_ns":0,"event":"page_fault_user","thread":1,"page":600,"write":true,"#,
                r#""kind":"swap_in","major":true,"pfn":9}"#,
                "\n",
                r#"{"t_ns":10,"event":"sim_evict","eviction":7,"pfn":5,"page":null,"file":false,"#,
                r#""slot":3,"written":true}"#,
                "\n",
                r#"{"t_ns":20,"event":"mm_vmscan_kswapd_wake","node":0,"order":9}"#,
                "\n",
                r#"{"t_ns":30,"event":"sched_switch","cpu":2,"thread":null}"#,
                "\n",
                r#"{"t_ns":40,"event":"sim_lru_gen","node":0,"memcg":1,"seq":4,"age_ms":5,"#,
                r#""nr_anon":6,"nr_file":7}"#,
                "\n",
            )
        );
    }

    #[test]
    fn a_file_of_several_runs_names_them() {
        assert_eq!(
            written("kind=mm_vmscan_kswapd_wake", Some(3), &[fault(1, 1), WAKE]),
            "{\"t_ns\":10,\"event\":\"mm_vmscan_kswapd_wake\",\"node\":0,\"order\":9,\"run\":3}\n"
        );
    }

    #[test]
    fn filters() {
        let all = [fault(1, 600), fault(3, 700), evict(Some(650)), evict(None), WAKE];
        let count = |filter: &str| written(filter, None, &all).lines().count();
        assert_eq!(count(""), 5);
        assert_eq!(count("kind=sim_evict"), 2);
        assert_eq!(count("kind=sim_evict,kind=mm_vmscan_kswapd_wake"), 3);
        assert_eq!(count("task=ebizzy"), 1);
        assert_eq!(count("task=nobody"), 0);
        assert_eq!(count("pages=600-650"), 2);
        assert_eq!(count("pages=700"), 1);
        assert_eq!(count("kind=page_fault_user,pages=650-800"), 1);
    }

    /// Lines are written many at a time; each is there once and whole, up to the limit.
    #[test]
    fn lines_are_whole_however_many() {
        const PART: usize = 1 << 16;
        let line = |t: u64| {
            format!(r#"{{"t_ns":{t},"event":"mm_vmscan_kswapd_wake","node":0,"order":9}}"#) + "\n"
        };
        let all: String = (0..5000).map(line).collect();
        assert!(all.len() > 3 * PART);
        for limit in [None, Some(2 * PART as u64)] {
            let filter = EventFilter::default();
            let mut writer = EventWriter::new(Vec::new(), EventForm::Lines, &filter, run(None));
            writer.limit = limit;
            let mut observer = writer.observer();
            (0..5000).for_each(|t| observer.event(SimTime(t), &WAKE));
            drop(observer);
            let full = writer.full();
            let (out, lines) = writer.finish().unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.lines().count() as u64, lines);
            let Some(limit) = limit else {
                assert_eq!((full, text == all), (None, true));
                continue;
            };
            let (whole, last) = text.trim_end().rsplit_once('\n').unwrap();
            assert_eq!(Some(whole.len()), all[..limit as usize].rfind('\n'));
            assert!(all.starts_with(whole));
            let t = full.expect("the limit was reached").0;
            assert_eq!(last, format!(r#"{{"t_ns":{t},"event":"{LIMIT}"}}"#));
            assert_eq!(whole.lines().count() as u64, t);
        }
    }

    #[test]
    fn an_error_while_writing_comes_back_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::other("no space left"))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let writer =
            || EventWriter::new(Full, EventForm::Lines, &EventFilter::default(), run(None));
        let failed = writer();
        failed.observer().event(SimTime(0), &WAKE);
        assert_eq!(failed.finish().err().unwrap().to_string(), "no space left");
        let (early, observer) = (writer(), writer().observer());
        assert!(early.finish().err().unwrap().to_string().contains("has not ended"));
        drop(observer);
    }
}
