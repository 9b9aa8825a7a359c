//! The redesign of compaction (J. Kim, linux-mm, 2015): four stages of a series that was never
//! merged, judged by how many blocks of order 3 can be had on memory that was fragmented on
//! purpose.
//!
//! Carried out are the tests beside a memory hogger, whose set-up is known from the author's
//! benchmark but for a few numbers, those beside a kernel build, whose memory use is a
//! choice, and stress-highalloc. Machine, fragmentation and attempts are the scenario's; the stages are presets of
//! compaction. docs/compaction.md tells what came out.

mod build;
mod hogger;
mod reviewers;
mod stress;

use super::lab::{Constant, Lab};
use super::published::Published;
use super::{Family, Figures};
use crate::run::RunError;

/// The family.
pub static FAMILY: Family = Family {
    name: "compaction-redesign",
    about: "compaction redesigned (2015): blocks of order 3 on memory fragmented on purpose",
    published: include_str!("../../../published/compaction-redesign.toml"),
    scenarios: &[hogger::SCENARIO, build::SCENARIO, stress::SCENARIO, reviewers::TWO],
    constants: CONSTANTS,
    tables: &[
        "v1-hogger-frag-movable",
        "v1-hogger-frag-unmovable",
        "v1-hogger-size",
        "v2-success-n",
        "v2-pgmigrate-success",
        "v2-compact-stall",
        "v1-build-frag-movable",
        "v1-build-frag-unmovable",
        "v1-stress-highalloc",
        "stress-highalloc-times",
        "v2-stress-highalloc",
        "pure-blocks-2015-07",
        "pure-blocks-v2",
        "reviewers-as-posted",
        "reviewers-sync",
        "reviewers-two-requesters",
        "reviewers-undo-prevention",
        "reviewers-order-2",
    ],
    left_out: &[
        (
            "v3-failing-attempt-latency",
            "the time of single attempts on a machine that is not described; a demand on it would be one on the costs of this model",
        ),
        (
            "stress-highalloc-kernels",
            "stress-highalloc on kernels 3.0 and 3.12, which are not modelled, on a machine that is not described",
        ),
    ],
    figures,
};

/// What the sources leave open, or give outside of the mails.
const CONSTANTS: &[Constant] = &[
    open("frames", 123_904.0, "pages"),
    open("unmovable", 50.0, "of 1000 pages"),
    open("margin", 2000.0, "pages"),
    open("cache", 12_800.0, "pages"),
    open("swap", 8_192.0, "pages"),
];

const fn open(name: &'static str, value: f64, unit: &'static str) -> Constant {
    Constant { name, value, unit, basis: "chosen before the first comparison" }
}

/// The value of a constant as a whole number.
fn value(lab: &Lab<'_>, name: &str) -> u64 {
    let c = CONSTANTS.iter().find(|c| c.name == name);
    lab.value(c.unwrap_or_else(|| panic!("no constant {name}"))).round() as u64
}

fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = hogger::figures(lab, published)?;
    figures.add(reviewers::figures(lab)?);
    figures.add(build::figures(lab, published)?);
    figures.add(stress::figures(lab, published)?);
    figures.findings.push(
        "Not carried out: stress-highalloc on kernels 3.0.0, 3.0.101 and 3.12.38, which are not modelled; its times; \
         and its second and third repetition without a reboot."
            .into(),
    );
    Ok(figures)
}
