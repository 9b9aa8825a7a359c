//! Notes on sysctls that a run has in vain.

use mmsim_core::base::kernel::Kernel;
use mmsim_core::base::settings::Settings as _;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{VmSysctl, ZoneKind};

use super::{in_runs, runs};
use crate::document::{KnobValue, RunReport};
use crate::groups::Group;

/// A sysctl that some runs have in vain.
struct Idle {
    name: &'static str,
    /// True if a run has this number of it, which is not the kernel's own, in vain.
    in_vain: fn(&RunReport, u64) -> bool,
    why: &'static str,
}

const OWN_MARKS: &str = "each zone has watermarks of its own there, which hold: take `min`, `low` \
                         and `high` out of the zones, or leave the sysctl out";
const OWN_LISTS: &str = "each zone has per-CPU lists of its own there, which hold: take `pcp` out \
                         of the zones, or leave the sysctl out";

const IDLE: &[Idle] = &[
    Idle {
        name: "defrag_mode",
        in_vain: |r, _| !compacts(r),
        why: "nothing compacts there: requests stay out of pageblocks of other types, and free \
              ones are not made; name a preset of `compaction`",
    },
    Idle {
        name: "compaction_proactiveness",
        in_vain: |r, n| n > 0 && !compacts(r),
        why: "nothing compacts there, so it does nothing: name a preset of `compaction`",
    },
    Idle {
        name: "thp_defrag",
        in_vain: |r, _| {
            let is_never = |name| r.knobs.get(name) == Some(&KnobValue::Text("never".into()));
            is_never("vm.transparent_hugepage") && !is_never("vm.thp_defrag") && !has_huge_faults(r)
        },
        why: "huge pages are off there, so it does nothing: set vm.transparent_hugepage too",
    },
    Idle {
        name: "min_free_kbytes",
        in_vain: |r, n| {
            let own = r.zones.iter().filter(|z| z.name != ZoneKind::Movable.name());
            let min: u64 = own.map(|z| z.min).sum();
            each_zone_has(r, "min") && min.abs_diff(n / 4) > r.zones.len() as u64
        },
        why: OWN_MARKS,
    },
    Idle {
        name: "watermark_scale_factor",
        in_vain: |r, n| {
            // What Linux puts between the marks (`__setup_per_zone_wmarks`).
            let distance = |min: u64, managed: u64| (min / 4).max(managed * n / 10_000);
            let differs = r
                .zones
                .iter()
                .any(|z| (z.low.saturating_sub(z.min)).abs_diff(distance(z.min, z.managed)) > 1);
            each_zone_has(r, "min") && differs
        },
        why: OWN_MARKS,
    },
    Idle {
        name: "percpu_pagelist_high_fraction",
        in_vain: |r, _| each_zone_has(r, "pcp.high"),
        why: OWN_LISTS,
    },
    Idle {
        name: "percpu_pagelist_fraction",
        in_vain: |r, _| each_zone_has(r, "pcp.high"),
        why: OWN_LISTS,
    },
];

fn compacts(r: &RunReport) -> bool {
    r.knobs.get("compaction").is_some()
}

/// True if a fault asked for a large folio: a step may have switched them on.
fn has_huge_faults(r: &RunReport) -> bool {
    let counts = [VmEvent::ThpFaultAlloc, VmEvent::ThpFaultFallback].map(VmEvent::name);
    counts.iter().any(|name| r.vmstat.get(name).is_some_and(|&n| n > 0))
        || r.transparent_hugepage.iter().any(|(_, &n)| n > 0)
}

/// True if a key was given for every zone of the machine.
fn each_zone_has(r: &RunReport, key: &str) -> bool {
    let zones = r.setup.iter().filter_map(|(path, _)| path.strip_suffix(".managed"));
    let mut zones = zones.filter(|zone| zone.starts_with("machine.")).peekable();
    zones.peek().is_some() && zones.all(|zone| r.setup.get(&format!("{zone}.{key}")).is_some())
}

/// The number of a sysctl in a run, if it is not the one with which its kernel boots.
fn given(r: &RunReport, name: &str) -> Option<u64> {
    let (row, kernel) = (VmSysctl::row(name)?, Kernel::from_name(&r.kernel)?);
    let number = match r.knobs.get(&format!("vm.{name}"))? {
        KnobValue::Whole(n) => u64::try_from(*n).ok()?,
        KnobValue::Text(word) => row.parse(word).ok()?,
        _ => return None,
    };
    (VmSysctl::of(kernel).number(row) != Some(number)).then_some(number)
}

/// Sysctls that runs have in vain, a note each.
pub(super) fn in_vain(groups: &[&Group<'_>]) -> Vec<String> {
    let all = runs(groups).count();
    let note = |idle: &Idle| {
        let name = format!("vm.{}", idle.name);
        let is_idle = |r: &&RunReport| given(r, idle.name).is_some_and(|n| (idle.in_vain)(r, n));
        let values: Vec<&KnobValue> =
            runs(groups).filter(is_idle).filter_map(|r| r.knobs.get(&name)).collect();
        let which = in_runs(values.len(), all)?;
        let value = match values.iter().all(|v| v == &values[0]) {
            true => values[0].to_string(),
            false => "set".to_string(),
        };
        Some(format!("{name} is {value}{which}, and {}", idle.why))
    };
    IDLE.iter().filter_map(note).collect()
}
