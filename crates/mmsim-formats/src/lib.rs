//! Formats of other programs, which are written and read: files of the kernel and of its tools as
//! machines of scenarios and back, records of DAMON, traces; and what the pages of any file hold.

pub mod contents;
pub mod record;
pub mod system;
pub mod traces;
