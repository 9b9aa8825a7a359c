//! Each workload with its table of keys and what reads it.

use mmsim_core::base::settings::Settings as _;
use mmsim_workload::generators::{self, WorkloadSpec};
use mmsim_workload::workloads;

use super::fragment::{FRAGMENT, fragmenter};
use super::phased::{PHASED, phased};
use super::settings::{keys_of, named};
use super::tasks::{MASIM, REPLAY, SCRIPT, TASK, TASK_COMMON, masim, replay, script};
use crate::scenario::fields::TaskCx;
use crate::scenario::keys::{KeySpec, TableSpec, Variants};
use crate::scenario::read::Reader;
use mmsim_base::error::Error;

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

macro_rules! row {
    ($Variant:ident, $name:literal, [$NAMED:ident]) => {{
        static KEYS: [KeySpec; generators::$NAMED.rows.len()] =
            keys_of(generators::$NAMED.rows, |row, _| (generators::$NAMED.start)().number(row));
        static TABLE: TableSpec = TableSpec {
            title: concat!("workload = \"", $name, "\""),
            doc: generators::$NAMED.doc,
            groups: &[TASK, &KEYS],
        };
        WorkloadRow {
            name: $name,
            about: generators::$NAMED.about,
            table: &TABLE,
            read: |r, task| named(r, task, &generators::$NAMED).map(WorkloadSpec::$Variant),
        }
    }};
    ($Variant:ident, $name:literal, {$TABLE:ident, $read:ident, $about:literal}) => {
        WorkloadRow {
            name: $name,
            about: $about,
            table: &$TABLE,
            read: |r, task| $read(r, task).map(WorkloadSpec::$Variant),
        }
    };
}

macro_rules! table {
    ($($Variant:ident($Config:ty), $name:literal, $keys:tt;)*) => {
        /// All workloads, in the order of [`WorkloadSpec::NAMES`].
        pub static WORKLOADS: &[WorkloadRow] = &[$(row!($Variant, $name, $keys)),*];
    };
}

workloads!(table);

/// The tables of tasks.
pub(in crate::scenario) static TASK_TABLES: Variants = Variants {
    by: "workload",
    unknown: &TASK_COMMON,
    of: |name| WORKLOADS.iter().find(|w| w.name == name).map(|w| w.table),
};
