//! `/proc/sys/vm` and the settings of `/sys` beside it, to a scenario and back.

use mmsim_core::base::settings::{Form, Row, Settings as _, Unfit, Word};
use mmsim_core::config::{Kernel, MachineConfig, VmSysctl};
use mmsim_core::phys::zones::Zones;

use super::copies::{Copies, Text};
use super::note::{Note, Weight};
use mmsim_base::error::Error;
use mmsim_language::scenario::tables::not_of_kernel;

const FOLDER: &str = "proc/sys/vm";
const MODES: &str = "sys/kernel/mm/transparent_hugepage";
const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const DEFRAG: &str = "/sys/kernel/mm/transparent_hugepage/defrag";

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
        let row = row_of(&format!("/{file}")).filter(|_| name != "nr_hugepages");
        let Some(row) = row else {
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
        if text.word().split_whitespace().nth(1).is_some() {
            notes.push(Note::new(&file, text.word(), format!("the first number, {n}, is taken")));
        }
        // A limit is set in bytes or in per cent. The file of the other reads 0.
        let unset = name.ends_with("_bytes") && n == 0;
        let other =
            name.strip_suffix("_ratio").and_then(|r| copies.get(&format!("{FOLDER}/{r}_bytes")));
        let overruled = other.map(number).transpose()?.is_some_and(|n| n > 0);
        if unset || overruled {
            continue;
        }
        let why = not_of_kernel(row, kernel).or_else(|| out_of_range(row, n, kernel));
        match why {
            Some(why) => {
                let note = Note::new(&file, &n.to_string(), why);
                notes.push(note.weighing(Weight::Machine));
            }
            None => vm.push((row.name, n.to_string())),
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
    // Some are of mmsim alone.
    let copied = |row: &&Row| row.file.get(1..).is_some_and(|file| copies.is_empty(file));
    for row in VmSysctl::ROWS.iter().filter(copied) {
        if vm.iter().all(|(name, _)| *name != row.name) {
            let why = "left at its default (`cat` copies it, `tar` and `cp -a` see a size of 0)";
            notes.push(Note::new(&row.file[1..], "empty", why));
        }
    }
    Ok(vm)
}

/// The row of a file.
fn row_of(file: &str) -> Option<&'static Row> {
    VmSysctl::ROWS.iter().find(|row| row.file == file)
}

/// Why a value cannot be, on the kernel that stands for the machine's own.
fn out_of_range(row: &Row, n: u64, kernel: Kernel) -> Option<String> {
    let modelled = match (row.refuses(kernel, n)?, row.bounds_of(kernel)?) {
        (Unfit::Fraction(least), _) => format!("0 or at least {least}"),
        (_, (low, high)) => format!("{low} to {high}"),
    };
    Some(format!("{modelled} is modelled of kernel {}: left at its default", kernel.name()))
}

/// Notes that a file of several words marks none of them.
fn note_unmarked(file: &str, text: &Text, taken: &str, notes: &mut Vec<Note>) {
    if !text.text().contains('[') && text.word().split_whitespace().nth(1).is_some() {
        let why = format!("no word is in brackets: the first, {taken}, is taken");
        notes.push(Note::new(file, text.word(), why));
    }
}

/// Transparent huge pages. Kernels from 5.18 on have a mode for each size below, not modelled.
fn huge_pages(
    copies: &Copies,
    kernel: Kernel,
    vm: &mut Vec<(&'static str, String)>,
    notes: &mut Vec<Note>,
) -> Result<(), Error> {
    let of_cmdline = || {
        let text = copies.get("proc/cmdline")?.text();
        text.split_whitespace().find_map(|w| w.strip_prefix("transparent_hugepage="))
    };
    let known = |row: &'static str| row_of(row).map_or(&[][..], Row::words);
    let is_among = |words: &[Word], word: &str| words.iter().any(|w| w.name == word);
    let modes = known(ENABLED);
    if let Some(text) = copies.get(&ENABLED[1..]) {
        let word = chosen(text.text()).filter(|w| is_among(modes, w));
        let word =
            word.ok_or_else(|| text.bad(1, "no mode of huge pages", "`always [madvise] never`"))?;
        note_unmarked(&ENABLED[1..], text, word, notes);
        vm.push(("transparent_hugepage", format!("\"{word}\"")));
    } else if let Some(word) = of_cmdline().filter(|w| is_among(modes, w)) {
        vm.push(("transparent_hugepage", format!("\"{word}\"")));
        notes.push(Note::new(&ENABLED[1..], "missing", format!("\"{word}\" as proc/cmdline says")));
    }
    if let Some(text) = copies.get(&DEFRAG[1..]) {
        let word = chosen(text.text());
        let word = word.and_then(|word| known(DEFRAG).iter().find(|w| w.name == word));
        let word = word.ok_or_else(|| {
            text.bad(
                1,
                "no mode of defragmentation",
                "`always defer defer+madvise [madvise] never`",
            )
        })?;
        note_unmarked(&DEFRAG[1..], text, word.name, notes);
        if kernel.has(word.since) {
            vm.push(("thp_defrag", format!("\"{}\"", word.name)));
        } else {
            let why = format!("kernel {} does not know it: left at its default", kernel.name());
            notes.push(Note::new(&DEFRAG[1..], word.name, why));
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
    VmSysctl::row(key).map_or_else(|| format!("/{FOLDER}/{key}"), |row| row.file.to_string())
}

/// The value of a key of `[machine.vm]` on the machine of a run, a default of the kernel included.
pub fn sysctl_of(machine: &MachineConfig, key: &str) -> Option<String> {
    let min_free = Zones::new(machine).min_free_kbytes;
    let file = file_of_sysctl(key);
    let all = texts(&machine.vm, min_free, machine.kernel).into_iter();
    let (_, text) = all.into_iter().find(|(path, _)| format!("/{path}") == file)?;
    chosen(&text).map(str::to_string)
}

/// The files of a machine's sysctls, as far as they are modelled: paths and texts. Those of a
/// device are not among them.
pub(super) fn texts(vm: &VmSysctl, min_free_kbytes: u64, kernel: Kernel) -> Vec<(String, String)> {
    let text = |row: &Row| {
        let value = match (row.form, vm.number(row)) {
            // The chosen word of all that the kernel knows.
            (Form::Word(..), value) => {
                let is = row.text(value);
                let mark = |w: &str| if w == is { format!("[{w}]") } else { w.to_string() };
                row.words_of(kernel).map(mark).collect::<Vec<_>>().join(" ")
            }
            (_, None) if row.name == "min_free_kbytes" => min_free_kbytes.to_string(),
            // A limit is set in bytes or in per cent. The file of the other reads 0.
            (_, value) => value.unwrap_or(0).to_string(),
        };
        (row.file[1..].to_string(), value + "\n")
    };
    let of = |folder: &str| {
        let rows = VmSysctl::ROWS.iter().filter(|row| row.is_of(kernel));
        let folder = format!("/{folder}/");
        rows.filter(|row| row.file.starts_with(&folder)).map(text).collect::<Vec<_>>()
    };
    let mut all = of(FOLDER);
    all.sort();
    all.into_iter().chain(of(MODES)).collect()
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
