//! The machine: one mechanism at a time in small scripts with exact counters, whole runs whose
//! outcome is known, and what must not move a run.

mod ablate;
mod advice;
mod cells;
mod compaction;
mod counters;
mod daemons;
mod damon;
mod determinism;
mod dirty;
mod disks;
mod drawn;
mod embedding;
mod extremes;
mod faults;
mod fetches;
mod footprint;
mod fragment;
mod groups;
#[path = "../harness/mod.rs"]
#[allow(dead_code, reason = "all test programs here share it")]
mod harness;
mod hugetlb;
mod kernel;
mod kernel_build;
mod killer;
mod life;
mod limits;
mod live;
mod mark_rules;
mod masim;
mod memcontrol;
mod mglru;
mod mglru_reports;
mod parts;
mod planted;
mod reclaim_rules;
mod removal;
mod rules;
mod scan_oracle;
mod scan_zone;
mod series;
mod steps;
mod stuck;
mod support;
mod swap;
mod swap_rules;
mod swarm;
mod sysctls;
mod tasks;
mod time;
mod tree;
mod watched;
mod why;
mod zones;
