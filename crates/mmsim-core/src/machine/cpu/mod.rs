//! Who runs: threads, the CPUs that they stand in line for, and the order of events.

pub(in crate::machine) mod deadline;
pub(in crate::machine) mod line;
pub(in crate::machine) mod order;
pub(in crate::machine) mod queue;
pub(in crate::machine) mod sched;
pub(in crate::machine) mod thread;
pub(in crate::machine) mod wait;
