//! Trace events as JSON lines: `{"t_ns":..,"event":"mm_vmscan_..",fields..}`.
//!
//! One line per event, fields in a fixed order under the names of the event's fields; ids
//! are plain numbers, and what does not apply is `null`. Lines are put together by hand,
//! since a run can have hundreds of millions of them, and written many at a time. The observer goes into the machine
//! and only sees: an error while writing is kept and returned at the end, so that it
//! cannot change a run.

mod filter;
mod kinds;

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mmsim_core::base::id::ThreadId;
use mmsim_core::base::time::SimTime;
use mmsim_core::memory::trace::{Observer, TraceEvent, TraceKinds};

pub use filter::{EventFilter, FilterError};
pub use kinds::{EVENTS, EventKind, event_name};

pub(crate) use kinds::page_of;

use kinds::{thread_of, write_event};

/// The last line of a run whose events were more than its limit.
pub const LIMIT: &str = "sim_events_limit";

/// One event as a line, without its end.
pub(crate) fn line(now: SimTime, event: &TraceEvent) -> String {
    let mut line = Vec::new();
    write_event(&mut line, now, event);
    line.push(b'}');
    String::from_utf8_lossy(&line).into_owned()
}

/// Bytes of lines that are written at a time.
const CHUNK: usize = 1 << 16;

struct Inner<W: Write> {
    out: Option<W>,
    threads: Option<Vec<ThreadId>>,
    pages: Option<(u32, u32)>,
    /// How each line ends.
    end: String,
    /// Lines that are not written yet.
    lines: Vec<u8>,
    nr_lines: u64,
    /// Bytes that may still be written; `None`: as many as there are.
    left: Option<u64>,
    /// When the first event was left out.
    full: Option<SimTime>,
    error: Option<io::Error>,
}

impl<W: Write> Inner<W> {
    /// Whether an event of a kind that is wanted is wanted itself.
    fn wants(&self, event: &TraceEvent) -> bool {
        self.threads
            .as_ref()
            .is_none_or(|wanted| thread_of(event).is_some_and(|thread| wanted.contains(&thread)))
            && self.pages.is_none_or(|(first, last)| {
                page_of(event).is_some_and(|page| (first..=last).contains(&page.0))
            })
    }

    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        if self.error.is_some() || self.full.is_some() || self.out.is_none() || !self.wants(event) {
            return;
        }
        let begin = self.lines.len();
        write_event(&mut self.lines, now, event);
        self.lines.extend_from_slice(self.end.as_bytes());
        if let Some(left) = &mut self.left {
            match left.checked_sub((self.lines.len() - begin) as u64) {
                Some(rest) => *left = rest,
                None => {
                    self.full = Some(now);
                    self.lines.truncate(begin);
                    let line = format!("{{\"t_ns\":{},\"event\":\"{LIMIT}\"{}", now.0, self.end);
                    self.lines.extend_from_slice(line.as_bytes());
                }
            }
        }
        self.nr_lines += 1;
        if self.lines.len() >= CHUNK {
            self.write();
        }
    }

    /// Writes the lines so far.
    #[inline(never)]
    fn write(&mut self) {
        let Some(out) = &mut self.out else { return };
        self.error = out.write_all(&self.lines).err();
        self.lines.clear();
    }
}

/// Whoever drops a writer without asking how it went gets what was written, too.
impl<W: Write> Drop for Inner<W> {
    fn drop(&mut self) {
        self.write();
    }
}

/// Where the events of one run go. The machine gets an [`observer`](Self::observer) of
/// it; the output comes back from [`finish`](Self::finish).
pub struct EventWriter<W: Write + Send> {
    kinds: TraceKinds,
    inner: Arc<Mutex<Inner<W>>>,
}

/// The half that watches.
struct EventObserver<W: Write + Send> {
    kinds: TraceKinds,
    inner: Arc<Mutex<Inner<W>>>,
}

/// A panic while the lock is held ends the run anyway; what was written stays good.
fn lock<W: Write>(inner: &Mutex<Inner<W>>) -> MutexGuard<'_, Inner<W>> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W: Write + Send> Observer for EventObserver<W> {
    fn kinds(&self) -> TraceKinds {
        self.kinds
    }
    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        if self.kinds.has(event.kind()) {
            lock(&self.inner).event(now, event);
        }
    }
}

impl<W: Write + Send + 'static> EventWriter<W> {
    /// A writer for one run. `threads_of` gives the threads of a task by its name, or of a
    /// thread by its number. `run`: the run's place in the report, which is written as the
    /// last field where a file holds several runs.
    pub fn new(
        out: W,
        filter: &EventFilter,
        threads_of: impl Fn(&str) -> Vec<ThreadId>,
        run: Option<u32>,
    ) -> Self {
        let threads = (!filter.tasks.is_empty())
            .then(|| filter.tasks.iter().flat_map(|task| threads_of(task)).collect());
        let inner = Inner {
            out: Some(out),
            threads,
            pages: filter.pages,
            end: run.map_or("}\n".into(), |run| format!(",\"run\":{run}}}\n")),
            lines: Vec::with_capacity(CHUNK + (CHUNK >> 3)),
            nr_lines: 0,
            left: None,
            full: None,
            error: None,
        };
        EventWriter { kinds: filter.wanted(), inner: Arc::new(Mutex::new(inner)) }
    }

    /// Ends after so many bytes of lines, with one more line that says so: an event [`LIMIT`].
    pub fn limit(&self, bytes: u64) {
        lock(&self.inner).left = Some(bytes);
    }

    /// When the first event was left out, if the limit was reached.
    pub fn full(&self) -> Option<SimTime> {
        lock(&self.inner).full
    }

    /// What the machine gets.
    pub fn observer(&self) -> Box<dyn Observer> {
        Box::new(EventObserver { kinds: self.kinds, inner: Arc::clone(&self.inner) })
    }

    /// Flushes and gives back the output and the number of lines. Events that come later
    /// are dropped.
    pub fn finish(self) -> io::Result<(W, u64)> {
        let mut inner = lock(&self.inner);
        if inner.error.is_none() {
            inner.write();
        }
        if let Some(error) = inner.error.take() {
            return Err(error);
        }
        let mut out = inner.out.take().expect("only `finish` takes the output, and once");
        out.flush()?;
        Ok((out, inner.nr_lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::base::id::{CpuId, MemcgId, NodeId, PageIdx, Pfn, SwapSlot};
    use mmsim_core::base::time::SimDuration;
    use mmsim_core::memory::trace::FaultKind;

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

    fn written(filter: &str, run: Option<u32>, events: &[TraceEvent]) -> String {
        let filter = EventFilter::parse(filter).unwrap();
        let threads_of = |task: &str| match task {
            "ebizzy" => vec![ThreadId(1), ThreadId(2)],
            _ => vec![],
        };
        let writer = EventWriter::new(Vec::new(), &filter, threads_of, run);
        let mut observer = writer.observer();
        for (i, event) in events.iter().enumerate() {
            observer.event(SimTime(10 * i as u64), event);
        }
        let (out, lines) = writer.finish().unwrap();
        observer.event(SimTime(99), &WAKE);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count() as u64, lines);
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
        let line = |t: u64| {
            format!(r#"{{"t_ns":{t},"event":"mm_vmscan_kswapd_wake","node":0,"order":9}}"#) + "\n"
        };
        let all: String = (0..5000).map(line).collect();
        assert!(all.len() > 3 * CHUNK);
        for limit in [None, Some(2 * CHUNK as u64)] {
            let writer = EventWriter::new(Vec::new(), &EventFilter::default(), |_| vec![], None);
            limit.into_iter().for_each(|bytes| writer.limit(bytes));
            let mut observer = writer.observer();
            (0..5000).for_each(|t| observer.event(SimTime(t), &WAKE));
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
        let writer = EventWriter::new(Full, &EventFilter::default(), |_| vec![], None);
        writer.observer().event(SimTime(0), &WAKE);
        assert_eq!(writer.finish().err().unwrap().to_string(), "no space left");
    }
}
