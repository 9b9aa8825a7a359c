//! Traces: their format, what is imported, and replays.

mod csv;
mod format;
mod import;
mod laws;
mod recorded;
mod replay;
mod touches;
