//! Free page reporting on whole machines: which freed memory the host gets back, and when.

use crate::harness::audited;
use mmsim::report::PhaseReport;

/// 128 MiB of anonymous memory.
const PAGES: u64 = 32_768;

/// Phases of a guest of 512 MiB that does this, after a minute in which all that was free at the start is
/// reported. There are no per-CPU lists, and the host's pages are of 4 KiB.
fn phases(commands: &[&str]) -> Vec<PhaseReport> {
    let commands: String = commands.iter().map(|c| format!("\"{c}\", ")).collect();
    let scenario = format!(
        r#"
compaction = {{ preset = "compaction-v6.12" }}
[machine]
kernel = "6.12"
cpus = 1
zone = [{{ kind = "Normal", managed = "131072 pages", pcp = {{ high = 0, batch = 1 }} }}]
host = {{ reporting = true }}
[[task]]
workload = "script"
commands = ["anon 0 {PAGES}", "sleepms 60000", "snap start", {commands}]
"#
    );
    audited(&scenario).remove(0).phases
}

/// Rise of a counter of the host in the phase of this name.
fn rose(phases: &[PhaseReport], phase: &str, counter: &str) -> u64 {
    let phase = phases.iter().find(|p| p.name == phase).expect("a phase");
    *phase.vmstat.get(counter).expect("a counter")
}

/// Memory is filled, freed at once, and filled again after a time: faults of the host by which the guest
/// gets it back. Runs of reporting begin 2 s after a free, so nothing is reported before.
#[test]
fn memory_that_is_used_again_within_two_seconds_is_not_reported() {
    let again = |sleep: &str| {
        let p = phases(&[
            "fill 0 0 32768",
            "unmap 0",
            sleep,
            "anon 0 32768",
            "snap freed",
            "fill 0 0 32768",
            "snap again",
        ]);
        let touched = rose(&p, "freed", "sim_host_fault");
        assert!((PAGES..PAGES + 200).contains(&touched), "{touched} first touches");
        [rose(&p, "freed", "sim_host_returned"), rose(&p, "again", "sim_host_fault")]
    };
    assert_eq!(again("sleepms 1900"), [0, 0]);
    let [returned, faults] = again("sleepms 2100");
    // One run: of 32 blocks of order 10 all but part of the first and of the last are whole.
    assert!(
        returned > 0 && faults > 0 && faults <= returned,
        "{returned} returned, {faults} faults"
    );
}

/// A program frees one page in a hundred of its 128 MiB, or two of three. No block of 512 frames is free as a whole, and
/// nothing is returned. Compacted in full, the third that stays fills 22 blocks of 64, and 42 are returned,
/// less one that the scanners leave at either end. Freed at once, all of it returns but for the edges.
#[test]
fn only_whole_blocks_are_returned() {
    let returned = |free: &[&str]| {
        let all = [&["fill 0 0 32768", "snap filled"], free, &["sleepms 40000", "snap end"]];
        rose(&phases(&all.concat()), "end", "sim_host_returned")
    };
    assert_eq!(returned(&["punch 0 100 99"]), 0);
    assert_eq!(returned(&["punch 0 3 1"]), 0);
    let compacted = returned(&["punch 0 3 1", "write /proc/sys/vm/compact_memory 1"]);
    assert!((40 * 512..=42 * 512).contains(&compacted), "{compacted}");
    let whole = returned(&["unmap 0"]);
    // Its page tables return too.
    assert!((PAGES - 1024..=PAGES + 64).contains(&whole), "{whole}");
}

/// A page that is taken out of a reported block gives the host back that page alone: the block's other 511
/// frames are below the order, and the host does not hold them.
#[test]
fn the_host_gives_a_page_and_not_its_block() {
    let p = phases(&["fill 0 0 1", "snap one"]);
    let faults = rose(&p, "one", "sim_host_fault");
    // The page, and its page tables.
    assert!((1..=4).contains(&faults), "{faults}");
}
