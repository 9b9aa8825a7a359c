//! From a resolved run to a machine.

mod workloads;
