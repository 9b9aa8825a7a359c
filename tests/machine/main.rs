//! The machine, one mechanism at a time: small scripts with exact counters.

mod advice;
mod compaction;
mod counters;
mod dirty;
mod faults;
mod groups;
mod hugetlb;
mod kernel;
mod mglru;
mod rules;
mod support;
mod swap;
mod sysctls;
mod tasks;
mod time;
mod zones;
