//! Trace events in files: JSON lines, and the same events as bytes (`.mmev`).
//!
//! A line is `{"t_ns":..,"event":"mm_vmscan_..",fields..}`: fields in a fixed order under the names
//! of the event's fields; ids are plain numbers, and what does not apply is `null`. Lines are put
//! together by hand, since a run can have hundreds of millions of them.
//!
//! The observer of a run ([`EventRecorder`]) only sees, and hands over what it has written many
//! events at a time. [`EventReader`] gives the events of bytes one by one, and the lines that would
//! have been written.

mod form;
mod kinds;
mod layout;
mod pack;
mod packing;
mod read;
mod record;

pub use kinds::{EVENTS, EventKind, event_name, kind_of, line, page_of};
pub use layout::EventRun;
pub use read::{Event, EventReader, Step, Value};
pub use record::{EventForm, EventRecorder, EventSink, Wanted};

/// The last event of a run whose events were more than its limit.
pub const LIMIT: &str = "sim_events_limit";

#[cfg(test)]
mod tests;
