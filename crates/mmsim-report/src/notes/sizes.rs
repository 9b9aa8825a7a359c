//! Notes on large folios: how many faults made, and what became of them.

use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::thp::SIZES;
use mmsim_core::memory::SizeEvent;

use crate::document::RunReport;
use crate::groups::Group;
use crate::numbers::grouped;

/// Notes of this kind before the rest is counted.
const MOST: usize = 16;

/// A note for each size of each variant at each point, with means over its runs.
pub(super) fn folios(groups: &[&Group<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    for group in groups {
        let point: String = group.axes.iter().map(|(k, x)| format!(", {k} = {x}")).collect();
        for v in &group.variants {
            let sizes = SIZES.iter().filter_map(|size| of(&v.runs, size));
            notes.extend(sizes.map(|said| format!("{}{point}: {said}", v.name)));
        }
    }
    if notes.len() > MOST {
        let more = notes.len() - MOST;
        notes.truncate(MOST);
        notes.push(format!("{more} more sizes of folios; --format json has all"));
    }
    notes
}

fn of(runs: &[&RunReport], size: &str) -> Option<String> {
    let count = |e: SizeEvent| {
        let name = format!("{size}.{}", e.name());
        let each = runs.iter().filter_map(|run| run.transparent_hugepage.get(&name));
        (each.sum::<u64>() as f64 / runs.len().max(1) as f64).round() as u64
    };
    let said = |e, what: &str| match count(e) {
        0 => None,
        n => Some(format!("{} {what}", grouped(n as f64))),
    };
    use SizeEvent::{AnonFaultAlloc, AnonFaultFallback, NrAnon, Split};
    use SizeEvent::{Swpin, Swpout, SwpoutFallback};
    let parts = [
        said(AnonFaultAlloc, "made by faults"),
        said(AnonFaultFallback, "faults fell back"),
        said(Swpout, "to swap in one piece"),
        said(SwpoutFallback, "without slots in a row"),
        said(Swpin, "back in one piece"),
        said(Split, "split"),
        said(NrAnon, "left"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let swapped = runs.iter().any(|run| run.vmstat.any(&[VmEvent::PswpOut]));
    let tried = count(Swpout) + count(SwpoutFallback) > 0;
    let gap = match swapped && !tried && count(Split) > 0 {
        true => {
            "; a kernel may swap such folios in one piece, which the model does from 6.18 on \
                 and on synchronous devices alone"
        }
        false => "",
    };
    (!parts.is_empty()).then(|| format!("{size}: {}{gap}", parts.join(", ")))
}
