//! Common code of init of the recording machine and the host: the commands of a script, the draws,
//! and the lines in which a recording is printed; and the host's results, points of the form of
//! `evidence/reference/` and a table of costs. No part needs a virtual machine.

pub mod add;
pub mod boot;
pub mod chance;
pub mod costs;
#[path = "../../../crates/mmsim-lab/src/validate/counters.rs"]
pub mod counters;
pub mod decisions;
pub mod groups;
pub mod point;
pub mod reclaim;
pub mod record;
pub mod script;
pub mod vmstat;
#[path = "../../../crates/mmsim-formats/src/system/zoneinfo.rs"]
pub mod zoneinfo;
pub mod zones;
