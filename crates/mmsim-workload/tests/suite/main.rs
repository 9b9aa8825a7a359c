//! Traces: their format, what is imported, and replays.

mod csv;
mod format;
mod import;
mod recorded;
mod replay;
