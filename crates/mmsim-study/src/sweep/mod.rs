//! Sweeps: any number of runs, on any number of machines, that survive what befalls them.
//!
//! A [`SweepPlan`] names scenarios, values, variants and seeds. Each of its units has a name, a
//! [`UnitId`], which is a hash of all that decides its result. [`run`] makes the units of a
//! [`Shard`] that a store does not hold yet, and keeps each as it ends. So the same call goes on
//! where a killed process stopped. [`Merged`] reads the shards of a store as one, in the order of
//! the plan, with the same bytes whatever their number was.
//!
//! ```no_run
//! # use mmsim_study as mmsim;
//! use mmsim::RunOptions;
//! use mmsim::sweep::{Merged, Shard, SweepPlan, run};
//!
//! let plan = SweepPlan::from_path("swappiness.toml")?;
//! let store = "swappiness.sweep".as_ref();
//! run(&plan, store, Shard::ALL, &RunOptions::default(), &())?;
//! for row in Merged::open(&plan, store)?.rows() {
//!     let row = row?;
//!     println!("{} {:?}", row.run.variant, row.run.vmstat.get("pswpin"));
//! }
//! # Ok::<(), mmsim::RunError>(())
//! ```

mod asked;
mod estimate;
mod merge;
mod order;
#[cfg(feature = "parquet")]
mod parquet;
mod unit;
mod wide;
mod work;

pub use crate::store::{
    A_PLAN, MOST_SHARDS, Numbered, Shard, Stored, UnitId, Writer, refuse_store,
};
pub use asked::Asked;
pub use estimate::{Estimate, TRIALS, Trial, estimate, trial, tried};
pub use merge::{Merged, Missing, Row, Rows, WriteError, saved, write_json, write_tidy};
pub use mmsim_language::scenario::sweep::{MOST_UNITS, SweepPlan, UnitPlace};
#[cfg(feature = "parquet")]
pub use parquet::write_parquet;
pub use unit::{COUNTED, Distinct, ToDo, Units, for_each_unit, units_of};
pub use wide::{Wide, write_wide};
pub use work::{Done, made, make, run};
