//! What other programs write, and what they read: files of the kernel and of its tools as machines
//! of scenarios and back, records of DAMON, traces.

pub mod record;
pub mod system;
pub mod traces;
