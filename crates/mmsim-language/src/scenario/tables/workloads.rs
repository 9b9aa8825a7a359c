//! Each workload with its table of keys and what reads it.

use super::phased::{PHASED, phased};
use super::programs::{APPS, BUILD, READER, apps, build, reader};
use super::requests::{FRAGMENT, HIGHALLOC, KERNEL_ALLOC, fragmenter, highalloc, kernel_alloc};
use super::tasks::{
    CYCLIC, EBIZZY, MASIM, REPLAY, SCRIPT, SEQUENTIAL, TASK_COMMON, UNIFORM, ZIPF, cyclic, ebizzy,
    masim, replay, script, sequential, uniform, zipf,
};
use crate::scenario::fields::TaskCx;
use crate::scenario::keys::{TableSpec, Variants};
use crate::scenario::read::Reader;
use mmsim_base::error::Error;
use mmsim_workload::generators::WorkloadSpec;
use mmsim_workload::workloads;

/// A workload by its name in scenarios.
pub struct WorkloadRow {
    /// The value of `workload`.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Its keys.
    pub table: &'static TableSpec,
    pub(in crate::scenario) read: fn(&Reader<'_>, &TaskCx<'_>) -> Result<WorkloadSpec, Error>,
}

macro_rules! table {
    ($($Variant:ident($Work:ty), $name:literal, $TABLE:ident, $read:ident, $about:literal;)*) => {
        /// All workloads, in the order of [`WorkloadSpec::NAMES`].
        pub static WORKLOADS: &[WorkloadRow] = &[$(WorkloadRow {
            name: $name,
            about: $about,
            table: &$TABLE,
            read: |r, task| $read(r, task).map(WorkloadSpec::$Variant),
        }),*];
    };
}

workloads!(table);

/// The tables of tasks.
pub(in crate::scenario) static TASK_TABLES: Variants = Variants {
    by: "workload",
    unknown: &TASK_COMMON,
    of: |name| WORKLOADS.iter().find(|w| w.name == name).map(|w| w.table),
};
