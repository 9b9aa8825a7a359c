//! `/proc/sys/vm` and the settings of `/sys` beside it, to a scenario and back.

use mmsim_core::config::{DirtyLimit, Kernel, MachineConfig, Thp, ThpDefrag, VmSysctl};
use mmsim_core::phys::zones::Zones;

use super::copies::{Copies, Text};
use super::note::Note;
use mmsim_base::error::Error;
use mmsim_language::scenario::keys::Kind;
use mmsim_language::scenario::tables::{VM, not_of_kernel};

const FOLDER: &str = "proc/sys/vm";
const MODES: &str = "sys/kernel/mm/transparent_hugepage";

/// Sysctls that steer what is not modelled: why, their names, and the value that says what a run does
/// anyway, if there is one.
type LeftOut = (&'static str, &'static [&'static str], Option<&'static str>);
const LEFT_OUT: &[LeftOut] = &[
    ("a command, not a state", &["drop_caches", "compact_memory", "stat_refresh"], None),
    (
        "caches of inodes are not modelled",
        &["vfs_cache_pressure", "dirtytime_expire_seconds"],
        None,
    ),
    (
        "reclaim of a node before others are tried is not modelled",
        &["zone_reclaim_mode"],
        Some("0"),
    ),
    (
        "for zone_reclaim_mode, which is not modelled",
        &["min_unmapped_ratio", "min_slab_ratio"],
        None,
    ),
    (
        "commit limits are not modelled: every mapping is granted",
        &[
            "overcommit_memory",
            "overcommit_ratio",
            "overcommit_kbytes",
            "admin_reserve_kbytes",
            "user_reserve_kbytes",
        ],
        None,
    ),
    ("taken from the protection of zones instead", &["lowmem_reserve_ratio"], None),
    ("writing when the disk spins anyway is not modelled", &["laptop_mode"], Some("0")),
    ("counters of CPUs are folded once a second", &["stat_interval"], Some("1")),
    ("page locks are not modelled", &["page_lock_unfairness"], None),
    ("counters of nodes are not modelled", &["numa_stat"], None),
    ("a pool of huge pages that grows is not modelled", &["nr_overcommit_hugepages"], Some("0")),
    ("the frame table takes no memory", &["hugetlb_optimize_vmemmap"], None),
    (
        "out of memory ends a run",
        &["oom_kill_allocating_task", "oom_dump_tasks", "panic_on_oom"],
        None,
    ),
];
/// The kernel's second name for a sysctl.
const SECOND_NAMES: &[&str] = &["nr_hugepages_mempolicy"];

/// The word in brackets, or the only one: `always [madvise] never`.
pub(super) fn chosen(text: &str) -> Option<&str> {
    match text.split_once('[').and_then(|(_, t)| t.split_once(']')) {
        Some((word, _)) => Some(word),
        None => text.split_whitespace().next(),
    }
}

/// A sysctl as a number.
fn number(text: &Text) -> Result<u64, Error> {
    let word = text.word();
    let n = word
        .split_whitespace()
        .next()
        .and_then(|w| w.parse().ok())
        .filter(|_| !word.contains('\n'));
    n.ok_or_else(|| text.bad(1, "no whole number", "the number that the file has on the machine"))
}

/// Keys of `[machine.vm]` with values.
pub(super) fn read(
    copies: &Copies,
    kernel: Kernel,
    notes: &mut Vec<Note>,
) -> Result<Vec<(&'static str, String)>, Error> {
    let mut vm = Vec::new();
    let (mut others, mut left_out) = (Vec::new(), vec![Vec::new(); LEFT_OUT.len()]);
    for (name, text) in copies.under(FOLDER) {
        let file = format!("{FOLDER}/{name}");
        let key = VM.key(name).filter(|_| name != "nr_hugepages");
        let Some(key) = key else {
            match LEFT_OUT.iter().position(|l| l.1.contains(&name)) {
                Some(i) if LEFT_OUT[i].2 == Some(text.word()) => {}
                Some(i) => left_out[i].push(format!("{name} {}", text.word())),
                None if name == "nr_hugepages" => {
                    let n = number(text)?;
                    if n > 0 {
                        let why = "its pages are in use as the kernel's, there is no pool in the scenario";
                        notes.push(Note::new(&file, &n.to_string(), why));
                    }
                }
                None if SECOND_NAMES.contains(&name) => {}
                None => others.push(name),
            }
            continue;
        };
        let n = number(text)?;
        // Of a limit in bytes and one in per cent, the one that is not in force reads 0.
        let unset = name.ends_with("_bytes") && n == 0;
        let other =
            name.strip_suffix("_ratio").and_then(|r| copies.get(&format!("{FOLDER}/{r}_bytes")));
        let overruled = other.map(number).transpose()?.is_some_and(|n| n > 0);
        if unset || overruled {
            continue;
        }
        let why = not_of_kernel(name, kernel).or_else(|| out_of_range(name, key.kind, n, kernel));
        match why {
            Some(why) => notes.push(Note::new(&file, &n.to_string(), why)),
            None => vm.push((key.name, n.to_string())),
        }
    }
    for (of, names) in LEFT_OUT.iter().zip(left_out).filter(|l| !l.1.is_empty()) {
        notes.push(Note::new(FOLDER, &names.join(", "), of.0));
    }
    if !others.is_empty() {
        let why = "no part of what is modelled";
        notes.push(Note::new(FOLDER, &others.join(", "), why));
    }
    huge_pages(copies, kernel, &mut vm, notes)?;
    Ok(vm)
}

/// Why a value cannot be, on the kernel that stands for the machine's own.
fn out_of_range(name: &str, kind: Kind, n: u64, kernel: Kernel) -> Option<String> {
    let (low, mut high) = match kind {
        Kind::Count(low, high) => (low, high),
        _ => return None,
    };
    match name {
        "swappiness" if kernel < Kernel::V5_8 => high = 100,
        "watermark_scale_factor" if kernel < Kernel::V6_1 => high = 1000,
        _ => {}
    }
    let fraction = name.starts_with("percpu_pagelist") && (1..8).contains(&n);
    (n < low || n > high || fraction).then(|| {
        format!("{low} to {high} is modelled of kernel {}: left at its default", kernel.name())
    })
}

/// Transparent huge pages. Kernels from 5.18 on have a mode for each size below, not modelled.
fn huge_pages(
    copies: &Copies,
    kernel: Kernel,
    vm: &mut Vec<(&'static str, String)>,
    notes: &mut Vec<Note>,
) -> Result<(), Error> {
    let enabled = format!("{MODES}/enabled");
    let of_cmdline = || {
        let text = copies.get("proc/cmdline")?.text();
        text.split_whitespace().find_map(|w| w.strip_prefix("transparent_hugepage="))
    };
    let known = Thp::ALL.map(|m| m.0);
    if let Some(text) = copies.get(&enabled) {
        let word = chosen(text.text()).filter(|w| known.contains(w));
        let word =
            word.ok_or_else(|| text.bad(1, "no mode of huge pages", "`always [madvise] never`"))?;
        vm.push(("transparent_hugepage", format!("\"{word}\"")));
    } else if let Some(word) = of_cmdline().filter(|w| known.contains(w)) {
        vm.push(("transparent_hugepage", format!("\"{word}\"")));
        notes.push(Note::new(&enabled, "missing", format!("\"{word}\" as proc/cmdline says")));
    }
    if let Some(text) = copies.get(&format!("{MODES}/defrag")) {
        let known = ThpDefrag::ALL.map(|m| m.0);
        let word = chosen(text.text()).filter(|w| known.contains(w));
        let word = word.ok_or_else(|| {
            text.bad(
                1,
                "no mode of defragmentation",
                "`always defer defer+madvise [madvise] never`",
            )
        })?;
        if kernel < Kernel::V5_5 && word.starts_with("defer") {
            let why = format!("kernel {} does not know it: left at its default", kernel.name());
            notes.push(Note::new(&format!("{MODES}/defrag"), word, why));
        } else {
            vm.push(("thp_defrag", format!("\"{word}\"")));
        }
    }
    for (name, text) in copies.under(MODES) {
        let known = ["enabled", "defrag", "hpage_pmd_size", "use_zero_page"].contains(&name);
        let off = ["never", "0", "deny"].contains(&chosen(text.text()).unwrap_or("0"));
        if !known && !off {
            notes.push(Note::new(&format!("{MODES}/{name}"), text.word(), "not modelled"));
        }
    }
    Ok(())
}

/// The file of a key of `[machine.vm]`.
pub fn file_of_sysctl(key: &str) -> String {
    match key {
        "transparent_hugepage" => format!("/{MODES}/enabled"),
        "thp_defrag" => format!("/{MODES}/defrag"),
        "read_ahead_kb" => "/sys/block/DEVICE/queue/read_ahead_kb".to_string(),
        "fault_around_bytes" => "/sys/kernel/debug/fault_around_bytes".to_string(),
        key => format!("/{FOLDER}/{key}"),
    }
}

/// The value of a key of `[machine.vm]` on the machine of a run, a default of the kernel included.
pub fn sysctl_of(machine: &MachineConfig, key: &str) -> Option<String> {
    let min_free = Zones::new(machine).min_free_kbytes;
    let file = file_of_sysctl(key);
    let all = texts(&machine.vm, min_free, machine.kernel).into_iter();
    let (_, text) = all.into_iter().find(|(path, _)| format!("/{path}") == file)?;
    chosen(&text).map(str::to_string)
}

/// The files of a machine's sysctls, as far as they are modelled: paths and texts.
pub(super) fn texts(vm: &VmSysctl, min_free_kbytes: u64, kernel: Kernel) -> Vec<(String, String)> {
    let ratio = |limit: DirtyLimit| match limit {
        DirtyLimit::Ratio(n) => (u64::from(n), 0),
        DirtyLimit::Bytes(n) => (0, n),
    };
    let (background, dirty) = (ratio(vm.dirty_background), ratio(vm.dirty));
    let centisecs = |t: mmsim_core::base::time::SimDuration| t.0 / 10_000_000;
    let fraction = ["percpu_pagelist_high_fraction", "percpu_pagelist_fraction"];
    let mut all: Vec<(String, u64)> = [
        ("swappiness", vm.swappiness.into()),
        ("page-cluster", vm.page_cluster.into()),
        ("min_free_kbytes", min_free_kbytes),
        ("watermark_scale_factor", vm.watermark_scale_factor.into()),
        ("watermark_boost_factor", vm.watermark_boost_factor.into()),
        (fraction[0], vm.percpu_pagelist_high_fraction.into()),
        (fraction[1], vm.percpu_pagelist_high_fraction.into()),
        ("dirty_background_ratio", background.0),
        ("dirty_background_bytes", background.1),
        ("dirty_ratio", dirty.0),
        ("dirty_bytes", dirty.1),
        ("dirty_expire_centisecs", centisecs(vm.dirty_expire)),
        ("dirty_writeback_centisecs", centisecs(vm.dirty_writeback)),
        ("compaction_proactiveness", vm.compaction_proactiveness.into()),
        ("defrag_mode", vm.defrag_mode.into()),
        ("extfrag_threshold", vm.extfrag_threshold.into()),
        ("compact_unevictable_allowed", vm.compact_unevictable_allowed.into()),
        ("nr_hugepages", vm.nr_hugepages.into()),
    ]
    .into_iter()
    .filter(|(name, _)| not_of_kernel(name, kernel).is_none())
    .map(|(name, n)| (format!("{FOLDER}/{name}"), n))
    .collect();
    all.sort();
    let mut texts: Vec<(String, String)> =
        all.into_iter().map(|(path, n)| (path, format!("{n}\n"))).collect();
    fn modes<T: PartialEq>(all: &[(&'static str, T)], is: &T) -> String {
        let word = |w: &(&str, T)| if w.1 == *is { format!("[{}]", w.0) } else { w.0.to_string() };
        all.iter().map(word).collect::<Vec<_>>().join(" ") + "\n"
    }
    texts.push((format!("{MODES}/enabled"), modes(&Thp::ALL, &vm.thp)));
    let knows = |d: &(&str, ThpDefrag)| kernel >= Kernel::V5_5 || !d.0.starts_with("defer");
    let defrag: Vec<_> = ThpDefrag::ALL.into_iter().filter(knows).collect();
    texts.push((format!("{MODES}/defrag"), modes(&defrag, &vm.thp_defrag)));
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_word_stands_in_brackets() {
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        assert_eq!(chosen("lz4\n"), Some("lz4"));
        assert_eq!(chosen(""), None);
        assert_eq!(chosen("[never"), Some("[never"));
    }
}
