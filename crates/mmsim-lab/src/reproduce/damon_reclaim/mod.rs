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

use super::lab::{Constant, Lab};
use super::published::{Cell, Published};
use super::{Family, Figures};
use mmsim::run::RunError;

/// The family.
pub static FAMILY: Family = Family {
    name: "damon-reclaim",
    about: "proactive reclamation (2021): memory saved, and its cost, under quotas of time",
    published: include_str!("../../../evidence/published/damon-reclaim.toml"),
    scenarios: &[quotas::SCENARIO, baseline::LINEAR, baseline::SEVENTY, baseline::HOT_PAGE],
    constants: CONSTANTS,
    tables: &[
        "v1-quota-prioritization",
        "rfc-v3-time-quota",
        "daily-2022-vaddr",
        "v21-vaddr-runtime",
        "v21-vaddr-memused",
        "v21-vaddr-rss",
        "daily-2022-50ms",
        "reclaim-fixed",
        "reclaim-parts",
        "baseline-linear-scan",
        "claims",
    ],
    kernels: &[],
    left_out: &[(
        "rfc-v2-size-quota",
        "an earlier run of v1-quota-prioritization, whose quotas are of bytes; it says how repeatable the experiment is, and comes from a quotation",
    )],
    figures,
};

/// Values that the sources leave open.
const CONSTANTS: &[Constant] = &[
    before("turn", 50.0, "ms"),
    before("hit", 10.0, "ns"),
    before("spread", 20.0, "%"),
    before("stored", 1950.0, "bytes"),
    before("walk", 15.0, "ns"),
    fixed("sample", 1114.0, "ns", "CPU time of monitoring alone, 1.448 %"),
    fixed("sample-unlisted", 1114.0, "ns", "the same"),
    Constant {
        name: "swap-in",
        value: 16_300.0,
        unit: "ns",
        basis: "what a major fault took in July 2022: 18.2 us, less 1.9 that are simulated",
    },
];

const fn before(name: &'static str, value: f64, unit: &'static str) -> Constant {
    Constant { name, value, unit, basis: "chosen before the first comparison" }
}

const fn fixed(
    name: &'static str,
    value: f64,
    unit: &'static str,
    basis: &'static str,
) -> Constant {
    Constant { name, value, unit, basis }
}

/// The value of a constant.
fn value(lab: &Lab<'_>, name: &str) -> f64 {
    let c = CONSTANTS.iter().find(|c| c.name == name);
    lab.value(c.unwrap_or_else(|| panic!("no constant {name}")))
}

fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = quotas::figures(lab, published)?;
    figures.add(baseline::figures(lab)?);
    figures.findings.push(
        "The 24 workloads are stand-ins, solved from how a scheme on virtual addresses fared with each in July \
         2022; what they use where in physical memory is the simulated allocator's. The cost of a sample was \
         fixed by monitoring alone, alike for all rows and workloads. That files of twice the mean page \
         cache are read was decided after memory in use without a scheme had been compared; that July 2022 \
         replaces patchset v21, whose faults are not known, after all rows had been."
            .into(),
    );
    figures.findings.push(
        "Not carried out: quotas of bytes (RFC v2). The tables of RFC v3 and v1 are of the same experiment, so \
         the same simulated figures stand beside both."
            .into(),
    );
    Ok(figures)
}
