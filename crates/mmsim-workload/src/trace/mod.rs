//! Page traces: what real programs touched, page by page, and its replay.
//!
//! A generator makes up a sequence of accesses; a trace carries one that a program
//! really produced. What reclaim and monitoring need from it is little: which page, read
//! or written, in which order, and how much time passes between. So a trace here is a
//! sequence of *runs* of consecutive pages of known *regions*, some bytes each, where the
//! log of a tracer has some gigabytes of addresses.
//!
//! - [`table`](TraceTable) says what the pages are: processes, files, regions.
//! - [`TraceReader`] and [`TraceWriter`] speak the native format (`.mmt`), in a stream of
//!   digested blocks; a reader uses bounded memory whatever the file claims.
//! - [`import`] makes a trace from `valgrind --tool=lackey --trace-mem=yes`, from a plain
//!   text of pages or from values in columns, and says what it had to assume.
//! - [`TraceInfo`] and [`head`] show what is in one.
//! - [`TraceWorkload`] replays one process of a [`Trace`]; [`RequestWorkload`] replays
//!   [`Requests`], the bare sequences of pages of cache simulators, as they are.
//!
//! The format is laid down byte by byte in `docs/dev/trace-format.md`. The idea to take lackey's
//! references as a workload is old (valgrind's manual recommends it); the format is our
//! own. Left out: threads of a process (the tracer serialises them), physical addresses,
//! huge pages, and what system calls do to memory, which lackey does not see.

mod block;
mod checksum;
pub(crate) mod error;
mod foreign;
mod head;
mod import;
mod info;
mod input;
mod mappings;
mod packed;
mod page_set;
mod reader;
mod replay;
mod requests;
pub(crate) mod source;
mod summary;
mod table;
pub(crate) mod wire;
mod writer;

pub use checksum::contents;
pub use error::{TraceError, UnknownWord};
pub use head::{Head, head};
pub use import::{Delimiter, ImportFormat, ImportOptions, Like, PageKind, import, time_unit};
pub use info::{ProcessInfo, RegionInfo, TraceInfo, info};
pub use input::{decompressed, opened, refused};
pub use reader::{Block, Pages, TraceReader};
pub use replay::{ReplayMode, ReplayOptions, ReplayTask, Think, Trace, TraceWorkload};
pub use requests::{RequestFormat, RequestWorkload, Requests, RequestsTask, import_requests};
pub use summary::ImportSummary;
pub use table::{
    Action, Backing, MAX_FILES, MAX_PROCESSES, MAX_REGIONS, MAX_TOTAL_PAGES, Process, Record,
    Region, Timing, TraceTable, USER_PAGES,
};
pub use writer::TraceWriter;
