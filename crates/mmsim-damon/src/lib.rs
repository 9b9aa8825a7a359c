//! DAMON: which memory is used how often, at a cost that does not grow with the memory; and
//! schemes that act on what it finds.
//!
//! A [context](context::Context) watches [targets](region::Target), address spaces cut into regions
//! whose pages are assumed to be used alike. Per region and sampling interval one page is looked
//! at. At the end of an aggregation regions that look alike are merged, and all are cut at random,
//! so that they come to follow what is used alike. [Schemes](damos) name an access pattern and an
//! action, such as paging out what was not used for two minutes, within a quota of bytes or time.
//! [Modules](modules) are contexts with one or two schemes that are set up for the user.
//!
//! What pages are is the business of the [operations](operations::Operations).

pub mod aggregate;
pub mod attrs;
pub mod commit;
pub mod config;
pub mod context;
pub mod damos;
pub mod error;
pub mod kdamond;
pub mod kdamonds;
pub mod modules;
pub mod operations;
pub mod ops;
pub mod ranges;
pub mod region;
pub mod text;
pub mod trace;
pub mod truth;
pub mod tuning;
pub mod turn;
pub mod watch;

pub use attrs::{IntervalsGoal, MonitoringAttrs};
pub use config::{DamonConfig, PRESETS, Preset, preset, preset_for_kernel};
pub use context::{Context, Parameters};
pub use error::DamonError;
pub use kdamond::{Kdamond, Pause};
pub use operations::{Hook, Operations};
pub use ops::OpsId;
pub use region::{Region, Target};
pub use turn::StepOutcome;
pub use watch::{Applied, Snapshot, Taken, Watch};
