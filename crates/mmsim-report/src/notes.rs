//! Notes for a reader of a report: work that never took memory, runs without reclaim where reclaim
//! is compared, lists that are too short for the kernel's batches, variants that are the same run.

mod cache_ext;
mod daemons;
mod remarks;
mod settings;
mod sizes;
mod swept;

pub use swept::Swept;

use std::collections::{BTreeMap, BTreeSet};

use mmsim_core::base::kernel::Kernel;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::ZoneKind;
use mmsim_core::machine::result::Shortage;
use mmsim_core::policy::SWAP_CLUSTER_MAX;
use mmsim_damon::watch::MOST_KEPT;

use super::compare::that_differ;
use super::document::{Report, RunReport, ZoneReport};
use super::groups::Group;
use super::pairs::Pairs;

/// A list's pages of which the first priority scans one, which is `MAX_LRU_BATCH` as well.
const FIRST_SCAN: u64 = 4096;

/// The largest `batch-shift` of a scenario.
const MOST_SHIFT: u32 = 5;

/// Points on the axes, and processes, that a note names before it counts the rest.
const POINTS: usize = 3;
const PROCESSES: usize = 8;

impl Report {
    /// Fills [`Report::notes`] from the runs.
    pub fn note(&mut self) {
        let groups = self.groups();
        let mut scenarios: Vec<Option<&str>> = groups.iter().map(|g| g.scenario).collect();
        scenarios.dedup();
        let mut notes = Vec::new();
        for scenario in scenarios {
            let of: Vec<&Group<'_>> = groups.iter().filter(|g| g.scenario == scenario).collect();
            let said = [
                daemons::acts(&of),
                cache_ext::policies(&of),
                sizes::folios(&of),
                unwritten(&of),
                too_small(&of),
                unseen(&of),
                unrecorded(&of),
                without_the_file(&of),
                without_files(&of),
                refused_writes(&of),
                beside_free_memory(&of),
                settings::in_vain(&of),
                without_reclaim(&of),
                same_variants(&of),
                same_values(&of),
                same_seeds(&of),
            ];
            let prefix = scenario.map_or(String::new(), |s| format!("{s}: "));
            notes.extend(said.into_iter().flatten().map(|note| format!("{prefix}{note}")));
        }
        self.notes = notes;
    }

    /// The note on runs whose memory is too small to say how a kernel reclaims, if there are any.
    pub fn too_small(&self) -> Vec<String> {
        too_small(&self.groups().iter().collect::<Vec<_>>())
    }
}

fn runs<'a>(groups: &'a [&Group<'a>]) -> impl Iterator<Item = &'a RunReport> {
    groups.iter().flat_map(|g| &g.variants).flat_map(|v| v.runs.iter().copied())
}

/// Processes that only ever mapped the zero page.
fn unwritten(groups: &[&Group<'_>]) -> Vec<String> {
    let all = runs(groups).count();
    // Of each process, in how many runs.
    let (mut found, mut places) = (Vec::<(&str, usize)>::new(), BTreeMap::new());
    for (name, _) in runs(groups).flat_map(|r| r.unwritten.iter()) {
        let place = *places.entry(name).or_insert(found.len());
        match found.get_mut(place) {
            Some(process) => process.1 += 1,
            None => found.push((name, 1)),
        }
    }
    let zero = "all of them are the zero page, which takes no memory and is never reclaimed";
    let note = |&(name, n): &(&str, usize)| {
        let which = in_runs(n, all).unwrap_or_default();
        format!("{name} never writes its anonymous pages{which}: {zero}; let it write them first")
    };
    let mut notes: Vec<String> = found.iter().take(PROCESSES).map(note).collect();
    if found.len() > PROCESSES {
        notes.push(format!(
            "{} more processes never write their anonymous pages either",
            found.len() - PROCESSES
        ));
    }
    notes
}

/// Monitors that never took a sample. Physical memory is always there, so its monitor was off.
fn unseen(groups: &[&Group<'_>]) -> Vec<String> {
    let monitors = runs(groups).flat_map(|r| &r.damon);
    let blind = monitors.filter(|d| d.truth.map_or(d.samples == 0, |t| t.snapshots == 0));
    let mut names: Vec<(&str, &str)> = blind.map(|d| (d.name.as_str(), d.ops.as_str())).collect();
    names.sort_unstable();
    names.dedup();
    let note = |(name, ops)| match ops {
        "paddr" => format!(
            "monitor {name} took no sample: free memory was outside the watermarks of its schemes \
             (`wmarks-high`, `wmarks-low`), or the run ended before"
        ),
        _ => format!(
            "monitor {name} never saw memory of its task: let it start when the task has some (`start`), \
             or look for it anew (`ops-update`)"
        ),
    };
    names.into_iter().map(note).collect()
}

/// Monitors whose records were full before the run ended.
fn unrecorded(groups: &[&Group<'_>]) -> Vec<String> {
    let mut first = BTreeMap::<&str, u64>::new();
    for d in runs(groups).flat_map(|r| &r.damon) {
        if let Some(at) = d.record_full_ns {
            let least = first.entry(&d.name).or_insert(at);
            *least = at.min(*least);
        }
    }
    let note = |(name, at): (&str, u64)| {
        let seconds = at as f64 / 1e9;
        format!(
            "the record of monitor {name} ends at {seconds:.3} s, full with {MOST_KEPT} regions: \
             record a shorter time, fewer regions or a longer `aggr`"
        )
    };
    first.into_iter().map(note).collect()
}

/// Disks that no run puts a file on.
fn without_files(groups: &[&Group<'_>]) -> Vec<String> {
    let mut used = BTreeMap::<&str, bool>::new();
    for d in runs(groups).flat_map(|r| r.disk.iter().skip(1)) {
        *used.entry(&d.name).or_insert(false) |= d.files > 0;
    }
    let note = |(name, _)| {
        format!(
            "no file lies on disk {name}: name it with `disk` in a task or in a region of `phased`"
        )
    };
    used.into_iter().filter(|(_, used)| !used).map(note).collect()
}

/// Runs that write to `memory.reclaim` on kernels that do not have it.
fn without_the_file(groups: &[&Group<'_>]) -> Vec<String> {
    let writes = |r: &&RunReport| r.vmstat.any(&[VmEvent::SimMemcgReclaimAsked]);
    let has_it =
        |r: &RunReport| !Kernel::ALL.iter().any(|k| k.name() == r.kernel && *k < Kernel::V6_1);
    let mut kernels: Vec<&str> =
        runs(groups).filter(writes).filter(|r| !has_it(r)).map(|r| r.kernel.as_str()).collect();
    kernels.sort_unstable();
    kernels.dedup();
    let note = |kernel| {
        format!(
            "kernel {kernel} has no memory.reclaim (Linux has it since 5.19): these figures are of a kernel \
             with that file added and nothing else"
        )
    };
    kernels.into_iter().map(note).collect()
}

/// Writes to files of `lru_gen` that the kernel refuses: a script would have seen an error.
fn refused_writes(groups: &[&Group<'_>]) -> Vec<String> {
    let of = |r: &RunReport, e| r.vmstat.count(e).unwrap_or(0);
    let refused = |r: &RunReport| of(r, VmEvent::SimLruGenRefused);
    let mut policies: Vec<(&str, u64, u64)> = Vec::new();
    for r in runs(groups).filter(|r| refused(r) > 0) {
        let (n, all) = (refused(r), of(r, VmEvent::SimLruGenWrites));
        match policies.iter_mut().find(|p| p.0 == r.policy) {
            Some(p) => (p.1, p.2) = (p.1 + n, p.2 + all),
            None => policies.push((&r.policy, n, all)),
        }
    }
    let note = |&(policy, n, all): &(&str, u64, u64)| {
        format!(
            "{n} of {all} writes to lru_gen were refused with {policy}: a generation that does not exist or \
             may not go, or an LRU without generations"
        )
    };
    policies.iter().map(note).collect()
}

/// Runs that ended out of memory while most of it was free.
fn beside_free_memory(groups: &[&Group<'_>]) -> Vec<String> {
    let all = runs(groups).count();
    let sum = |r: &RunReport, of: fn(&ZoneReport) -> u64, movable: bool| -> u64 {
        let all = r.zones.iter().filter(|z| movable || z.name != ZoneKind::Movable.name());
        all.map(of).sum()
    };
    let mostly_free = |r: &&RunReport| {
        r.oom.as_ref().is_some_and(|oom| {
            oom.free * 2 > sum(r, |z| z.managed, true)
                && oom.shortage == Shortage::Machine.describe()
        })
    };
    let is_movable =
        |r: &RunReport| r.oom.as_ref().is_some_and(|oom| oom.free > sum(r, |z| z.managed, false));
    let is_kept =
        |r: &RunReport| r.oom.as_ref().is_some_and(|oom| oom.free <= sum(r, |z| z.min, true));
    let note = |is: &dyn Fn(&RunReport) -> bool, why: &str| {
        let found = runs(groups).filter(mostly_free).filter(|r| is(r));
        let pages: Vec<u64> = found.filter_map(|r| Some(r.oom.as_ref()?.free)).collect();
        let which = in_runs(pages.len(), all)?;
        Some(format!("memory ran out while {} pages were free{which}: {why}", pages[0]))
    };
    let kept = note(
        &|r| is_kept(r) && !is_movable(r),
        "the min watermarks of the zones keep all of them; lower vm.min_free_kbytes, or `min` of \
         the zones",
    );
    let movable = note(
        &is_movable,
        "page tables and other memory of the kernel cannot come from zone Movable; make another \
         zone larger, or add one",
    );
    kept.into_iter().chain(movable).collect()
}

/// Which of `all` runs `n` are, in words, if there are any: empty if they are all.
fn in_runs(n: usize, all: usize) -> Option<String> {
    match n {
        0 => None,
        n if n == all => Some(String::new()),
        n => Some(format!(" in {n} of {all} runs")),
    }
}

/// Points whose lists are so short that the kernel's own batches decide, where anything was scanned.
///
/// Reclaim begins at `DEF_PRIORITY`, 12, and looks at `len >> priority` folios of a list: of one below
/// 4,096 pages at none. MGLRU looks at `MAX_LRU_BATCH`, 4,096, folios at a time, which is all of
/// such a list, and evicts `MIN_LRU_BATCH`, 64, at least; the classic LRU takes `SWAP_CLUSTER_MAX`,
/// 32. `batch-shift` scales all of them (Linux 6.12 mm/vmscan.c, include/linux/swap.h,
/// include/linux/mmzone.h).
fn too_small(groups: &[&Group<'_>]) -> Vec<String> {
    let shift = |run: &RunReport| -> u32 {
        run.setup.get("machine.batch-shift").and_then(|s| s.parse().ok()).unwrap_or(0)
    };
    let scanned = |run: &RunReport| run.vmstat.any(VmEvent::SCANNED_BY);
    // All lists together never held more than was resident.
    // Who has scaled batches as far as they go knows.
    let small = |run: &&RunReport| {
        let shift = shift(run);
        shift < MOST_SHIFT && scanned(run) && run.peak_resident < FIRST_SCAN >> shift
    };
    let any = |g: &&Group<'_>| g.variants.iter().flat_map(|v| &v.runs).copied().any(|r| small(&r));
    let points: Vec<&Group<'_>> = groups.iter().copied().filter(any).collect();
    let smallest = runs(&points).filter(small).min_by_key(|run| run.peak_resident);
    let Some(run) = smallest else { return Vec::new() };
    let pages = run.peak_resident;
    let fits = (0..=MOST_SHIFT).find(|&k| FIRST_SCAN >> k <= pages);
    let instead = match fits {
        Some(k) => format!("set machine.batch-shift = {k}, which divides"),
        None => format!(
            "take a machine of {} pages or more and set machine.batch-shift = {MOST_SHIFT}, which \
             divides",
            FIRST_SCAN >> MOST_SHIFT
        ),
    };
    vec![format!(
        "at most {pages} pages were in memory{}: too few to say how a kernel reclaims, whose first scan \
         is of one page in {} and whose batches are of {} to {}; {instead} these",
        at(&points, groups.len()),
        FIRST_SCAN >> shift(run),
        SWAP_CLUSTER_MAX >> shift(run),
        FIRST_SCAN >> shift(run),
    )]
}

/// True if a setting decides what is reclaimed, and true if it decides other things that may be
/// compared without any reclaim.
fn about(setting: &str) -> (bool, bool) {
    let setting = setting.strip_prefix("machine.").unwrap_or(setting);
    let reclaim = setting == "policy" || setting.starts_with("reclaim");
    let swap = ["vm.swappiness", "vm.page-cluster"].contains(&setting)
        || setting.starts_with("vm.watermark_")
        || setting.starts_with("swap.");
    let other = setting.starts_with("compaction")
        || setting.starts_with("damon")
        || ["vm.transparent_hugepage", "vm.thp_defrag", "vm.defrag_mode", "outcome"]
            .contains(&setting);
    (reclaim || swap, other)
}

/// Points where nothing was reclaimed though what is compared is reclaim.
fn without_reclaim(groups: &[&Group<'_>]) -> Vec<String> {
    let Some(first) = groups.first() else { return Vec::new() };
    let base = first.variants[0].runs[0];
    let variants = first.variants[1..].iter().flat_map(|v| that_differ(base, v.runs[0]));
    let mut differ: Vec<String> = variants.map(|s| s.name).collect();
    differ.extend(base.axes.iter().map(|(path, _)| path.to_string()));
    let (reclaim, other): (Vec<bool>, Vec<bool>) = differ.iter().map(|s| about(s)).unzip();
    // Work that asks for blocks compares the allocator, whatever else kernels differ in.
    let blocks = runs(groups).any(|r| r.compaction.is_some());
    if !reclaim.contains(&true) || other.contains(&true) || blocks {
        return Vec::new();
    }
    let reclaims =
        |g: &&Group<'_>| g.variants.iter().flat_map(|v| &v.runs).any(|r| r.has_reclaimed());
    let none: Vec<&Group<'_>> = groups.iter().copied().filter(|g| !reclaims(g)).collect();
    if none.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "no run reclaimed a page{}: these runs say nothing about reclaim, which is what differs",
        at(&none, groups.len())
    )]
}

/// Where, if it is not everywhere.
fn at(points: &[&Group<'_>], all: usize) -> String {
    if points.len() == all {
        return String::new();
    }
    let point = |g: &&Group<'_>| {
        let axes: Vec<String> = g.axes.iter().map(|(k, v)| format!("{k} = {v}")).collect();
        axes.join(", ")
    };
    let mut text: Vec<String> = points.iter().take(POINTS).map(point).collect();
    if points.len() > POINTS {
        text.push(format!("{} more", points.len() - POINTS));
    }
    format!(" at {}", text.join("; "))
}

/// True if two runs are the same but for their settings.
fn same(a: &RunReport, b: &RunReport) -> bool {
    a.seed == b.seed && alike(a, b)
}

/// True if two runs are the same but for settings and seed.
fn alike(a: &RunReport, b: &RunReport) -> bool {
    a.digest == b.digest
        && a.sim_time_ns == b.sim_time_ns
        && a.vmstat == b.vmstat
        && a.outcome == b.outcome
}

fn all_same(a: &[&RunReport], b: &[&RunReport]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

/// Variants that are the same run as one before them.
fn same_variants(groups: &[&Group<'_>]) -> Vec<String> {
    // Variant, the one before it, and where.
    let mut pairs: Vec<(&str, &str, Vec<&Group<'_>>)> = Vec::new();
    for &g in groups {
        for (i, v) in g.variants.iter().enumerate() {
            let earlier = g.variants[..i].iter().find(|e| all_same(&e.runs, &v.runs));
            let Some(earlier) = earlier else { continue };
            match pairs.iter_mut().find(|p| (p.0, p.1) == (v.name, earlier.name)) {
                Some(pair) => pair.2.push(g),
                None => pairs.push((v.name, earlier.name, vec![g])),
            }
        }
    }
    let note = |(variant, earlier, points): (&str, &str, Vec<&Group<'_>>)| {
        let of = |name| points[0].variants.iter().find(|v| v.name == name).map(|v| v.runs[0]);
        let mut differ: Vec<String> = match (of(earlier), of(variant)) {
            (Some(a), Some(b)) => that_differ(a, b).into_iter().map(|s| s.name).collect(),
            _ => Vec::new(),
        };
        // The preset is known by what it sets.
        if differ.iter().any(|s| s.starts_with("reclaim.")) {
            differ.retain(|s| s != "policy");
        }
        let what = match &differ[..] {
            [] => "all settings are the same".to_string(),
            [one] => format!("{one} had no effect here"),
            [one, two] => format!("{one} and {two} had no effect here"),
            all => format!("none of {} settings had an effect here", all.len()),
        };
        format!("{variant}: identical to {earlier}{}: {what}", at(&points, groups.len()))
    };
    pairs.into_iter().map(note).collect()
}

/// Variants whose seeds all gave the same run, wherever they ran.
fn same_seeds(groups: &[&Group<'_>]) -> Vec<String> {
    let (mut found, mut differ) = (Vec::<&str>::new(), BTreeSet::new());
    for v in groups.iter().flat_map(|g| &g.variants) {
        let first = v.runs[0];
        match v.runs.len() > 1
            && v.runs.iter().all(|run| run.outcome.is_whole() && alike(first, run))
        {
            true if !found.contains(&v.name) => found.push(v.name),
            true => (),
            false => drop(differ.insert(v.name)),
        }
    }
    found.retain(|name| !differ.contains(name));
    if found.is_empty() {
        return Vec::new();
    }
    let who = found.join(", ");
    vec![format!("{who}: all seeds gave the same run: one is enough")]
}

/// Values of an axis that give the same runs as a value before them, whatever else is set.
fn same_values<'a>(groups: &[&'a Group<'a>]) -> Vec<String> {
    let of = |g: &&'a Group<'a>| {
        let runs: Vec<&RunReport> =
            g.variants.iter().flat_map(|v| v.runs.iter().copied()).collect();
        (g.axes, runs)
    };
    let points: Vec<(&Pairs<String>, Vec<&RunReport>)> = groups.iter().map(of).collect();
    without_effect(&points, all_same)
}

/// Values of an axis whose points are the same as those of a value before them. Points come in one
/// order, each with what is compared.
fn without_effect<T: Clone>(
    points: &[(&Pairs<String>, Vec<T>)],
    same: impl Fn(&[T], &[T]) -> bool,
) -> Vec<String> {
    let Some((first, _)) = points.first() else { return Vec::new() };
    let mut notes = Vec::new();
    for (path, _) in first.iter() {
        let value = |axes: &Pairs<String>| axes.get(path).cloned().unwrap_or_default();
        let mut values: Vec<String> = points.iter().map(|(axes, _)| value(axes)).collect();
        let mut seen = Vec::new();
        values.retain(|v| !seen.contains(v) && (seen.push(v.clone()), true).1);
        // For each value, what is compared in one order.
        let of = |v: &String| -> Vec<T> {
            let of_value = points.iter().filter(|(axes, _)| value(axes) == *v);
            of_value.flat_map(|(_, all)| all.iter().cloned()).collect()
        };
        let all: Vec<Vec<T>> = values.iter().map(of).collect();
        let mut told: Vec<(usize, Vec<&str>)> = Vec::new();
        for (i, of_value) in all.iter().enumerate() {
            let Some(j) = all[..i].iter().position(|e| same(e, of_value)) else { continue };
            match told.iter_mut().find(|t| t.0 == j) {
                Some(t) => t.1.push(&values[i]),
                None => told.push((j, vec![&values[i]])),
            }
        }
        notes.extend(told.into_iter().map(|(j, same)| {
            let same = same.join(", ");
            format!("{path} = {same}: identical to {}: it had no effect here", values[j])
        }));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::KnobValue;
    use crate::samples;
    use mmsim_core::machine::result::OomSummary;

    /// Each is noted where nothing comes of it, and not where it is the kernel's own value.
    #[test]
    fn settings_without_effect() {
        let with = |knobs: &[(&'static str, KnobValue)], setup: &[(&'static str, &str)]| {
            let mut found = notes(|r, _| {
                knobs.iter().for_each(|(name, value)| r.knobs.set(*name, value.clone()));
                setup.iter().for_each(|(name, value)| r.setup.set(*name, value.to_string()));
            });
            found.retain(|n| n.starts_with("vm."));
            found
        };
        let (text, whole) = (|t: &str| KnobValue::Text(t.into()), KnobValue::Whole);
        let proactive = ("vm.compaction_proactiveness", whole(50));
        let note = "vm.compaction_proactiveness is 50, and nothing compacts there, so it does \
                    nothing: name a preset of `compaction`";
        assert_eq!(with(std::slice::from_ref(&proactive), &[]), [note]);
        assert_eq!(with(&[proactive, ("compaction", text("compaction-v6.12"))], &[]), [""; 0]);
        let of_kernel = ("vm.compaction_proactiveness", whole(20));
        assert_eq!(with(&[of_kernel], &[]), [""; 0]);
        let huge = |on: &str, effort: &str| {
            with(&[("vm.transparent_hugepage", text(on)), ("vm.thp_defrag", text(effort))], &[])
        };
        let note = "vm.thp_defrag is always, and huge pages are off there, so it does nothing: set \
                    vm.transparent_hugepage too";
        assert_eq!(huge("never", "always"), [note]);
        assert_eq!(huge("madvise", "always"), [""; 0]);
        assert_eq!(huge("never", "never"), [""; 0]);
        let min_free = ("vm.min_free_kbytes", whole(5000));
        let own = ("machine.zone[0].min", "9 pages");
        let zone = ("machine.zone[0].managed", "16MiB");
        let note = "vm.min_free_kbytes is 5000, and each zone has watermarks of its own there, \
                    which hold: take `min`, `low` and `high` out of the zones, or leave the sysctl \
                    out";
        assert_eq!(with(std::slice::from_ref(&min_free), &[zone, own]), [note]);
        assert_eq!(with(std::slice::from_ref(&min_free), &[zone]), [""; 0]);
        assert_eq!(with(&[min_free], &[]), [""; 0]);
        let fraction = ("vm.percpu_pagelist_high_fraction", whole(8));
        let lists = [zone, ("machine.zone[0].pcp.high", "7")];
        assert!(with(&[fraction], &lists)[0].contains("per-CPU lists of its own there"));
    }

    #[test]
    fn memory_that_runs_out_beside_free_memory() {
        let zone = |name: &str, managed, min| ZoneReport {
            name: name.into(),
            managed,
            min,
            low: min,
            high: min,
            free_at_start: managed,
        };
        let of = |zones: Vec<ZoneReport>, free: u64, shortage: Shortage| {
            let mut found = notes(|r, _| {
                let mut oom = OomSummary::default();
                (oom.free, oom.shortage, oom.victim) = (free, shortage, "x".into());
                (r.zones, r.oom) = (zones.clone(), Some((&oom).into()));
            });
            found.retain(|n| n.starts_with("memory ran out"));
            found
        };
        let kept = "memory ran out while 3840 pages were free: the min watermarks of the zones keep \
                    all of them; lower vm.min_free_kbytes, or `min` of the zones";
        let movable = "memory ran out while 4096 pages were free: page tables and other memory of \
                       the kernel cannot come from zone Movable; make another zone larger, or add \
                       one";
        assert_eq!(of(vec![zone("DMA", 3840, 25_000)], 3840, Shortage::Machine), [kept]);
        assert_eq!(of(vec![zone("Movable", 4096, 32)], 4096, Shortage::Machine), [movable]);
        // The ends that most runs have: little is free, or a group is at its limit.
        assert_eq!(of(vec![zone("DMA", 3840, 30)], 30, Shortage::Machine), [""; 0]);
        assert_eq!(of(vec![zone("DMA", 3840, 30)], 3000, Shortage::Group), [""; 0]);
    }

    #[test]
    fn defrag_mode_wants_compaction() {
        let set = |r: &mut RunReport, name: &'static str, value| {
            r.knobs.set(name, value);
        };
        let half = notes(|r, i| set(r, "vm.defrag_mode", KnobValue::Whole(i64::from(i == 0))));
        assert!(half.iter().any(|n| n.contains("vm.defrag_mode is 1 in 1 of")), "{half:?}");
        let whole = notes(|r, _| {
            set(r, "vm.defrag_mode", KnobValue::Whole(1));
            set(r, "compaction", KnobValue::Text("compaction-v7.3".into()));
        });
        assert!(!whole.iter().any(|n| n.contains("defrag_mode")), "{whole:?}");
    }

    fn notes(change: impl Fn(&mut RunReport, usize)) -> Vec<String> {
        let mut report = samples::two_variants(&[1, 2]);
        for (i, run) in report.runs.iter_mut().enumerate() {
            run.digest = format!("{i}");
            change(run, i);
        }
        report.note();
        report.notes
    }

    #[test]
    fn runs_that_say_something_have_no_notes() {
        assert_eq!(notes(|_, _| {}), [""; 0]);
    }

    /// A replay draws nothing: more seeds say nothing.
    #[test]
    fn seeds_that_change_nothing() {
        let replay = |run: &mut RunReport, i: usize| {
            if i < 2 {
                run.digest = "same".into();
                (run.sim_time_ns, run.vmstat) = (7, Default::default());
            }
        };
        assert_eq!(notes(replay), ["v5.5: all seeds gave the same run: one is enough"]);
    }

    #[test]
    fn variants_that_are_the_same_run() {
        let mut base = samples::two_variants(&[1, 2]).runs;
        base.truncate(2);
        let same = |run: &mut RunReport, i: usize| {
            let (variant, seed) = (run.variant.clone(), run.seed);
            *run = base[i % 2].clone();
            (run.variant, run.seed, run.digest) = (variant, seed, format!("{}", i % 2));
        };
        assert_eq!(notes(same), ["protection: identical to v5.5: all settings are the same"]);
        let knob = |run: &mut RunReport, i: usize| {
            same(run, i);
            run.knobs.set("vm.swappiness", super::super::KnobValue::Whole(60 + i as i64 / 2));
        };
        assert_eq!(
            notes(knob),
            ["protection: identical to v5.5: vm.swappiness had no effect here"]
        );
        // Of one seed only: that is chance.
        let once = |run: &mut RunReport, i: usize| {
            same(run, i);
            if i == 3 {
                run.digest = "x".into();
            }
        };
        assert_eq!(notes(once), [""; 0]);
    }

    #[test]
    fn values_of_an_axis_that_do_nothing() {
        let one = samples::two_variants(&[1]).runs[0].clone();
        let value = |run: &mut RunReport, i: usize| {
            *run = one.clone();
            run.axes.set("task[0].memory", i.to_string());
            run.variant = "v".into();
            (run.seed, run.digest) = (1, "x".into());
            run.vmstat.set("pgdeactivate", if i == 3 { 1 } else { 0 });
        };
        let note = "task[0].memory = 1, 2: identical to 0: it had no effect here";
        let found = notes(value);
        assert!(found.contains(&note.to_string()), "{found:?}");
    }

    #[test]
    fn reclaim_that_never_happened() {
        let none = |run: &mut RunReport, i: usize| {
            run.vmstat.set("pgsteal_anon", 0);
            run.vmstat.set("pgsteal_file", 0);
            run.policy = format!("policy-{}", i / 2);
        };
        let note = "no run reclaimed a page: these runs say nothing about reclaim, which is what \
                    differs";
        assert_eq!(notes(none), [note]);
        // One that compares compaction has no need of it.
        let compaction = |run: &mut RunReport, i: usize| {
            none(run, i);
            run.knobs.set("compaction.x", super::super::KnobValue::Whole(i as i64 / 2));
        };
        assert_eq!(notes(compaction), [""; 0]);
    }

    /// A list of 1,023 pages is 0 of 4,096, and 1 of 512: 4,096 >> 3. Of 60 pages even the largest shift
    /// leaves none.
    #[test]
    fn a_file_that_an_old_kernel_does_not_have() {
        let mut report = samples::two_variants(&[1]);
        report.runs[0].vmstat.set("sim_memcg_reclaim_asked", 7);
        report.note();
        assert!(!report.notes.iter().any(|n| n.contains("memory.reclaim")), "{:?}", report.notes);
        report.runs[0].kernel = "5.8".into();
        report.note();
        let note = "kernel 5.8 has no memory.reclaim (Linux has it since 5.19): these figures are of a \
                    kernel with that file added and nothing else";
        assert!(report.notes.iter().any(|n| n == note), "{:?}", report.notes);
    }

    #[test]
    fn lists_shorter_than_the_kernels_batches() {
        let of = |pages: u64, shift: &str| {
            notes(|run, i| {
                run.peak_resident = if i == 1 { pages } else { 4096 };
                run.vmstat.set("pgscan_direct", 5);
                run.setup.set("machine.batch-shift", shift.to_string());
            })
        };
        let note = "at most 1023 pages were in memory: too few to say how a kernel reclaims, whose \
                    first scan is of one page in 4096 and whose batches are of 32 to 4096; set \
                    machine.batch-shift = 3, which divides these";
        assert_eq!(of(1023, "0"), [note]);
        assert_eq!(of(1024, "2"), [""; 0]);
        assert_eq!(of(4096, "0"), [""; 0]);
        assert!(of(60, "4")[0].contains("a machine of 128 pages or more"), "{:?}", of(60, "4"));
        assert_eq!(of(60, "5"), [""; 0]);
        // Where nothing was scanned it makes no difference.
        let idle = |run: &mut RunReport, _: usize| run.peak_resident = 60;
        assert_eq!(notes(idle), [""; 0]);
    }

    #[test]
    fn thousands_that_never_write() {
        let unwritten = |run: &mut RunReport, _: usize| {
            run.unwritten = (0..2000).map(|i| (format!("p{i}"), 1)).collect();
        };
        let notes = notes(unwritten);
        assert_eq!(notes.len(), 9);
        assert_eq!(notes[8], "1992 more processes never write their anonymous pages either");
    }

    #[test]
    fn memory_that_was_never_written() {
        let unwritten = |run: &mut RunReport, i: usize| {
            if i < 3 {
                run.unwritten.set("cyclic", 7);
            }
        };
        let note = "cyclic never writes its anonymous pages in 3 of 4 runs: all of them are the zero \
                    page, which takes no memory and is never reclaimed; let it write them first";
        assert_eq!(notes(unwritten), [note]);
    }
}
