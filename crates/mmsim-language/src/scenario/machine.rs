//! Values of `[machine]` that take more than their key: what several keys say together, zones that
//! follow from a size, costs and rules by their names.

use mmsim_core::backing::device::{DeviceConfig, WBT_LAT};
use mmsim_core::base::rules::KernelRules;
use mmsim_core::base::settings::{KnobError, Settings as _};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::cost::CostModel;
use mmsim_core::config::{Kernel, ZoneConfig, ZoneKind};

use super::keys::one_of;
use super::policy;
use super::raw::{Node, Path, Sources, Table, Value};
use super::read::{Reader, unknown};
use super::units::{self, BadQuantity};
use mmsim_base::error::Error;

/// Pages below 16 MiB: zone DMA.
const DMA_END: u64 = 4096;
/// Pages below 3 GiB: the part of the first 4 GiB that is memory on a PC; the rest of it
/// is taken by devices, and memory goes on above 4 GiB.
const DMA32_END: u64 = 786_432;
/// The largest latency of a device and the largest cost of a step. A run has any number of
/// either, and its clocks have 584 years.
pub(super) const SLOWEST_DEVICE: SimDuration = SimDuration::from_secs(60);
const SLOWEST_STEP: SimDuration = SimDuration::from_secs(1);

/// The zones of `pages` of memory that begin at page `start` of all memory.
///
/// The rule of a PC: the first 16 MiB are zone DMA, of which one sixteenth is firmware's
/// (3840 of 4096 pages are managed, the figure that Linux prints); what lies below 3 GiB
/// is DMA32; the rest is mapped above 4 GiB and is Normal. Pages that the kernel takes at
/// boot (its text, the frame table) are not subtracted: `os-overhead` stands for them.
pub fn zones_of(start: u64, pages: u64) -> Vec<ZoneConfig> {
    let end = start + pages;
    let part = |lo: u64, hi: u64| end.min(hi).saturating_sub(start.max(lo));
    let dma = part(0, DMA_END);
    [
        (ZoneKind::Dma, dma - dma / 16),
        (ZoneKind::Dma32, part(DMA_END, DMA32_END)),
        (ZoneKind::Normal, part(DMA32_END, u64::MAX)),
    ]
    .into_iter()
    .filter(|z| z.1 > 0)
    .map(|(kind, managed)| ZoneConfig::new(kind, managed as u32))
    .collect()
}

pub(super) fn kernel_of(r: &Reader<'_>) -> Result<Kernel, Error> {
    Ok(r.opt_kernel("kernel")?.unwrap_or(Kernel::V6_12))
}

/// The rules, where they are not those of the kernel.
pub(super) fn rules(r: &Reader<'_>, kernel: Kernel) -> Result<Option<KernelRules>, Error> {
    let of_kernel = KernelRules::of(kernel);
    // Out of range for a reason.
    if let Some(Value::Integer(n)) = r.find("pageblock-order").map(|n| &n.value)
        && *n > of_kernel.max_order.into()
    {
        let max = of_kernel.max_order;
        let found =
            format!("a pageblock of order {n} is larger than the largest block, of order {max}");
        return Err(r.error("pageblock-order", found, format!("a whole number from 1 to {max}")));
    }
    let mut rules = of_kernel;
    if let Some(order) = r.opt_count("pageblock-order")? {
        rules.pageblock_order = order as u8;
    }
    let entries = r.table("rules")?.map_or(&[][..], |t| &t.entries);
    for e in entries {
        let name = format!("machine.rules.{}", e.key);
        if e.key == "lru-batch" && r.has("lru-batch") {
            let title = format!("{name}: `machine.lru-batch` says the same");
            return Err(r.sources.error(e.key_at, title, "leave one of them out"));
        }
        let value = policy::knob_value(r.sources, "machine.rules", e)?.to_string();
        rules.set(&e.key, &value).map_err(|error| match error {
            KnobError::UnknownKnob { .. } => {
                let known: Vec<&str> = KernelRules::ROWS.iter().map(|k| k.name).collect();
                unknown(r.sources, e.key_at, "machine.rules: ", "rule", &e.key, &known)
            }
            error => {
                let title = format!("{name}: {}", error.remark());
                let label = match &error {
                    KnobError::UnknownValue { allowed, numbers: None, .. } => one_of(allowed),
                    KnobError::UnknownValue { allowed, numbers: Some((low, high)), .. } => {
                        format!("{}, or a whole number from {low} to {high}", one_of(allowed))
                    }
                    KnobError::OutOfRange { range: (low, high), .. } => {
                        format!("a whole number from {low} to {high}")
                    }
                    _ => "another value".into(),
                };
                r.sources.error(e.node.at, title, format!("write {label}"))
            }
        })?;
    }
    match rules.validate() {
        // A default of the kernel is no contradiction.
        Err(error) if !entries.is_empty() => {
            let at = entries[entries.len() - 1].node.at;
            let title = format!("machine.rules: {error}");
            Err(r.sources.error(at, title, "does not fit the other rules"))
        }
        _ => Ok((rules != of_kernel).then_some(rules)),
    }
}

/// Sysctls that are bases of formulas, and the key of `[[machine.zone]]` that replaces the formula.
pub(super) const BASES: &[(&str, &str, &str)] = &[
    ("machine.vm.min_free_kbytes", "min", "watermarks"),
    ("machine.vm.watermark_scale_factor", "min", "watermarks"),
    ("machine.vm.percpu_pagelist_high_fraction", "pcp", "per-CPU lists"),
    ("machine.vm.percpu_pagelist_fraction", "pcp", "per-CPU lists"),
];

/// Puts a value at its path, as [`Sources::set`] does, but for a sysctl that would do nothing: every
/// zone has what it is the base of.
pub(super) fn set(
    sources: &Sources,
    doc: &mut Table,
    path: &Path,
    value: &Node,
) -> Result<(), Error> {
    sources.set(doc, path, value)?;
    let Some((_, key, what)) = BASES.iter().find(|b| b.0 == path.text) else { return Ok(()) };
    let machine = doc.entry("machine").map(|e| &e.node.value);
    let Some(Value::Table(machine)) = machine else { return Ok(()) };
    let zones = machine.entry("zone").map(|e| &e.node.value);
    let Some(Value::List(zones)) = zones else { return Ok(()) };
    let own = |z: &Node| matches!(&z.value, Value::Table(t) if t.entry(key).is_some());
    if zones.is_empty() || !zones.iter().all(own) {
        return Ok(());
    }
    let title = format!("{}: each zone has {what} of its own, so this does nothing", path.text);
    let error = sources.error(value.at, title, format!("take `{key}` out of [[machine.zone]]"));
    Err(error.help("`mmsim import-system --sizes formula` leaves them out"))
}

/// A size that is not more than the zone, if given.
pub(super) fn part_of_zone(z: &Reader<'_>, key: &str) -> Result<Option<u32>, Error> {
    let managed: u32 = z.get("managed")?;
    match z.get::<Option<u32>>(key)? {
        Some(n) if n > managed => {
            let found = format!("{} is more than the zone", units::show_pages(u64::from(n)));
            let write = format!("at most \"{}\"", units::show_pages(u64::from(managed)));
            Err(z.error(key, found, write))
        }
        n => Ok(n),
    }
}

pub(super) fn watermarks(z: &Reader<'_>) -> Result<Option<[u32; 3]>, Error> {
    match [part_of_zone(z, "min")?, part_of_zone(z, "low")?, part_of_zone(z, "high")?] {
        [None, None, None] => Ok(None),
        [Some(min), Some(low), Some(high)] => {
            if min > low || low > high {
                let found = format!("watermarks min {min}, low {low}, high {high} pages fall");
                return Err(z.error("min", found, "min <= low <= high"));
            }
            Ok(Some([min, low, high]))
        }
        _ => {
            let given = ["min", "low", "high"].into_iter().find(|k| z.has(k)).unwrap_or("min");
            let found = "one watermark without the others";
            Err(z.error(given, found, "all of min, low and high, or none"))
        }
    }
}

pub(super) fn not_both(d: &Reader<'_>, config: &DeviceConfig) -> Result<(), Error> {
    if config.synchronous && config.rotational {
        let found = "a device cannot be both synchronous and rotational";
        return Err(d.error("rotational", found, "one of them"));
    }
    if config.mem_limit > 0 && config.stored_bytes_per_page == 0 {
        let found = "the device takes no memory of the machine";
        return Err(d.error("mem_limit", found, "`stored-bytes-per-page` too"));
    }
    Ok(())
}

pub(super) fn wbt_lat(d: &Reader<'_>) -> Result<SimDuration, Error> {
    Ok(match d.get("wbt_lat_usec")? {
        Some(us) => SimDuration::from_micros(us),
        None => WBT_LAT[usize::from(d.get::<bool>("rotational")?)],
    })
}

pub(super) fn cost(r: &Reader<'_>) -> Result<CostModel, Error> {
    let mut model = CostModel::measured();
    let Some(table) = r.table("cost")? else { return Ok(model) };
    for e in &table.entries {
        if CostModel::row(&e.key).is_none() {
            let known: Vec<&str> = CostModel::ROWS.iter().map(|row| row.name).collect();
            return Err(unknown(r.sources, e.key_at, "machine.cost: ", "cost", &e.key, &known));
        }
        let read = |s: &str| match units::duration(s)? {
            t if t > SLOWEST_STEP => {
                let most = format!("at most \"{SLOWEST_STEP}\"");
                Err(BadQuantity::told(format!("\"{s}\" is too large"), most))
            }
            t => Ok(t),
        };
        let bad = match &e.node.value {
            Value::Text(s) => match read(s) {
                Ok(t) if model.put(&e.key, t.as_nanos()).is_ok() => continue,
                Ok(_) => unreachable!("{} takes any time", e.key),
                Err(bad) => bad,
            },
            v => units::duration_of_bare(&super::inline::inline(v)),
        };
        let bad = bad.advised(read);
        let title = format!("machine.cost.{}: {}, write {}", e.key, bad.found, bad.write);
        return Err(r.sources.error(e.node.at, title, format!("write {}", bad.write)));
    }
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zones(start: u64, pages: u64) -> Vec<(&'static str, u32)> {
        zones_of(start, pages).iter().map(|z| (z.kind.name(), z.managed)).collect()
    }

    #[test]
    fn memory_is_divided_as_on_a_pc() {
        assert_eq!(zones(0, 256), [("DMA", 240)]);
        assert_eq!(zones(0, 262_144), [("DMA", 3840), ("DMA32", 258_048)]);
        assert_eq!(zones(0, 2_097_152), [("DMA", 3840), ("DMA32", 782_336), ("Normal", 1_310_720)]);
        assert_eq!(zones(262_144, 262_144), [("DMA32", 262_144)]);
        assert_eq!(zones(1_048_576, 1_048_576), [("Normal", 1_048_576)]);
    }
}
