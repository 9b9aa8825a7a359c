//! The machine: one mechanism at a time in small scripts with exact counters, whole runs whose
//! outcome is known, and what must not move a run.

mod ablate;
mod advice;
mod cells;
mod compaction;
mod counters;
mod damon;
mod determinism;
mod dirty;
mod embedding;
mod faults;
mod fetches;
mod footprint;
mod fragment;
mod groups;
mod hugetlb;
mod kernel;
mod kernel_build;
mod masim;
mod mglru;
mod mglru_reports;
mod planted;
mod rules;
mod scan_oracle;
mod scan_zone;
mod series;
mod stuck;
mod support;
mod swap;
mod swarm;
mod sysctls;
mod tasks;
mod time;
mod watched;
mod why;
mod zones;
