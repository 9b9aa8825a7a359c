//! The observer that writes events of a run, in either form.

use std::io::Write as _;

use mmsim_core::base::id::ThreadId;
use mmsim_core::base::time::SimTime;
use mmsim_core::memory::trace::{Observer, TraceEvent, TraceKinds};

use super::LIMIT;
use super::kinds::{page_of, thread_of, write_event};
use super::layout::{EventRun, beginning, ending};
use super::pack::Packer;
use crate::trace::source::BLOCK_HEAD;

/// Format of recorded events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventForm {
    /// JSON lines.
    Lines,
    /// `.mmev`.
    Bytes,
}

/// Which events are written. An event without a thread (a page) is none of these threads (pages).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Recorded kinds.
    pub kinds: TraceKinds,
    /// Recorded threads; `None`: all.
    pub threads: Option<Vec<ThreadId>>,
    /// From the first of these pages to the last; `None`: all.
    pub pages: Option<(u32, u32)>,
}

impl Wanted {
    /// True if an event of a wanted kind, with this thread and page, is wanted.
    #[inline]
    pub(super) fn concerns(
        &self,
        thread: impl FnOnce() -> Option<ThreadId>,
        page: impl FnOnce() -> Option<u32>,
    ) -> bool {
        let threads = self.threads.as_ref();
        threads.is_none_or(|wanted| thread().is_some_and(|thread| wanted.contains(&thread)))
            && self.pages.is_none_or(|(first, last)| {
                page().is_some_and(|page| (first..=last).contains(&page))
            })
    }
}

/// Where written events go.
pub trait EventSink: Send {
    /// Takes bytes. False: no more are wanted.
    fn take(&mut self, bytes: &[u8]) -> bool;
    /// The limit was reached at this time.
    fn full(&mut self, at: SimTime);
    /// Ends the record, after `events` events.
    fn ended(&mut self, events: u64);
}

/// Bytes of lines that are handed over at a time.
const CHUNK: usize = 1 << 16;

/// Bytes that the event at the limit and the end of the run take at most, each in its block.
const LAST: usize = 2 * BLOCK_HEAD + 40;

/// Lines or bytes in the making.
enum Form {
    /// Lines, and how each ends.
    Lines(Vec<u8>, String),
    Bytes(Box<Packer>),
}

/// Writes the events of one run. When it is dropped, all is written.
pub struct EventRecorder {
    wanted: Wanted,
    form: Form,
    /// Bytes that may still be written.
    left: u64,
    /// No more are written.
    done: bool,
    events: u64,
    sink: Box<dyn EventSink>,
}

impl EventRecorder {
    /// A recorder of a run. After `limit` bytes one more event ([`LIMIT`]) says that it was reached.
    pub fn new(
        form: EventForm,
        wanted: Wanted,
        run: &EventRun,
        limit: Option<u64>,
        mut sink: Box<dyn EventSink>,
    ) -> Self {
        let (mut left, mut done) = (limit.unwrap_or(u64::MAX), false);
        let form = match form {
            EventForm::Lines => {
                let end = run.place.map_or("}\n".into(), |run| format!(",\"run\":{run}}}\n"));
                Form::Lines(Vec::with_capacity(CHUNK + (CHUNK >> 3)), end)
            }
            EventForm::Bytes => {
                let head = beginning(run);
                left = left.saturating_sub((head.len() + BLOCK_HEAD + LAST) as u64);
                done = !sink.take(&head);
                Form::Bytes(Box::new(Packer::new()))
            }
        };
        EventRecorder { wanted, form, left, done, events: 0, sink }
    }

    /// Writes an event as a line.
    fn line(&mut self, now: SimTime, event: &TraceEvent) {
        let Form::Lines(lines, end) = &mut self.form else { return };
        let begin = lines.len();
        write_event(lines, now, event);
        lines.extend_from_slice(end.as_bytes());
        self.events += 1;
        match self.left.checked_sub((lines.len() - begin) as u64) {
            Some(left) => self.left = left,
            None => {
                lines.truncate(begin);
                // Writing to memory.
                let _ = write!(lines, "{{\"t_ns\":{},\"event\":\"{LIMIT}\"{end}", now.0);
                self.end(now);
                return;
            }
        }
        if lines.len() >= CHUNK {
            self.hand_over();
        }
    }

    /// The last event is written.
    #[cold]
    fn end(&mut self, now: SimTime) {
        self.hand_over();
        self.done = true;
        self.sink.full(now);
    }

    /// The event that bytes of this number do not leave room for gives way to the last one.
    #[cold]
    fn end_bytes(&mut self, now: SimTime, before: usize) {
        let Form::Bytes(packer) = &mut self.form else { return };
        packer.cut(before);
        self.hand_over();
        let Form::Bytes(packer) = &mut self.form else { return };
        packer.limit(now);
        self.end(now);
    }

    /// Hands over what is written so far.
    #[inline(never)]
    fn hand_over(&mut self) {
        let bytes = match &mut self.form {
            Form::Lines(lines, _) => Some(&lines[..]),
            Form::Bytes(packer) => packer.take(),
        };
        if let (Some(bytes), false) = (bytes, self.done) {
            self.done = !self.sink.take(bytes);
        }
        match &mut self.form {
            Form::Lines(lines, _) => lines.clear(),
            Form::Bytes(_) => self.left = self.left.saturating_sub(BLOCK_HEAD as u64),
        }
    }
}

impl Observer for EventRecorder {
    fn kinds(&self) -> TraceKinds {
        self.wanted.kinds
    }

    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        if self.done
            || !self.wanted.kinds.has(event.kind())
            || !self.wanted.concerns(|| thread_of(event), || Some(page_of(event)?.0))
        {
            return;
        }
        let packer = match &mut self.form {
            Form::Lines(..) => return self.line(now, event),
            Form::Bytes(packer) if packer.is_full() => {
                self.hand_over();
                return self.event(now, event);
            }
            Form::Bytes(packer) => packer,
        };
        let before = packer.len();
        packer.event(now, event);
        self.events += 1;
        match self.left.checked_sub((packer.len() - before) as u64) {
            Some(left) => self.left = left,
            None => self.end_bytes(now, before),
        }
    }
}

/// Whoever drops a recorder without asking how it went gets what was written, too.
impl Drop for EventRecorder {
    fn drop(&mut self) {
        self.hand_over();
        // Whoever reached the limit has written all the same.
        if matches!(self.form, Form::Bytes(_)) {
            self.sink.take(&ending(self.events));
        }
        self.sink.ended(self.events);
    }
}
