//! Proactive reclamation (S. Park, linux-mm, 2021): how much memory a scheme saves that pages out what was not
//! used for five seconds, what that costs, and how quotas of time trade one for the other.
//!
//! The machine is as large as that of the source, since the cost is that of walking all of it. Its
//! 24 workloads are not available; `workloads.rs` says what stands in for them. What the sources
//! leave open of costs is the same for all workloads and rows. docs/dev/damon-evidence.md has the
//! results.

mod baseline;
mod quotas;
mod workloads;

use super::lab::Lab;
use super::published::Cell;
use super::study::Study;

pub(super) use baseline::figures as baseline;
pub(super) use quotas::figures as quotas;

/// The value of a constant.
fn value(lab: &Lab<'_>, study: &Study, name: &str) -> f64 {
    lab.value(study.constant(name))
}

#[cfg(test)]
fn family() -> &'static super::Family {
    let is = |f: &&super::Family| f.name == "damon-reclaim";
    super::FAMILIES.iter().find(is).expect("the family")
}
