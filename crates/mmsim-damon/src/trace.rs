//! Records as the kernel's tracepoints print them. Targets and schemes are named by their index.
//!
//! Linux 6.12 `include/trace/events/damon.h`. Before 5.17 a record had no age and named the target
//! by the address of a kernel object, which differed from boot to boot; here it is a number that
//! looks like one.

use crate::config::{DamonConfig, PatternCounter, TraceTarget};
use crate::region::Region;
use std::fmt::Write as _;

/// The handle of the first target, and how far the handles lie apart.
const HANDLES: (u64, u64) = (0xffff_8880_0000_0000, 64);

/// Name of the target of an index in a record.
pub fn target_id(config: &DamonConfig, target: usize) -> u64 {
    match config.trace_target {
        TraceTarget::Index => target as u64,
        TraceTarget::Handle => HANDLES.0 + target as u64 * HANDLES.1,
    }
}

/// A region at the end of an aggregation (`damon_aggregated`), with the counts before the reset.
/// `nr_regions`: how many its target has.
pub fn aggregated(config: &DamonConfig, target: usize, nr_regions: usize, r: &Region) -> String {
    let id = target_id(config, target);
    let mut line =
        format!("target_id={id} nr_regions={nr_regions} {}-{}: {}", r.start, r.end, r.nr_accesses);
    if config.trace_age {
        let _ = write!(line, " {}", r.age);
    }
    line
}

/// A region that a scheme is about to be applied to (`damos_before_apply`), with its count as
/// [`Watch`](crate::Watch) keeps it.
pub fn before_apply(
    config: &DamonConfig,
    context: usize,
    scheme: usize,
    target: usize,
    nr_regions: usize,
    r: &Region,
) -> String {
    let nr_accesses = match config.pattern_counter {
        PatternCounter::Moving | PatternCounter::WindowSum => r.nr_accesses_bp / 10_000,
        PatternCounter::NrAccesses => r.nr_accesses,
    };
    format!(
        "ctx_idx={context} scheme_idx={scheme} target_idx={target} nr_regions={nr_regions} \
         {}-{}: {nr_accesses} {}",
        r.start, r.end, r.age
    )
}
