//! Free page reporting beside a recorded guest (`evidence/guests`), and worked examples of what a
//! guest returns.

use crate::root;
use mmsim::report::PhaseReport;
use mmsim::{RunOptions, Scenario};

fn phases(scenario: &Scenario) -> Vec<PhaseReport> {
    let report = mmsim::run(scenario, &RunOptions::default());
    report.unwrap_or_else(|e| panic!("{e}")).runs.remove(0).phases
}

/// A counter of a phase.
fn count(phase: &PhaseReport, counter: &str) -> u64 {
    *phase.vmstat.get(counter).expect("the counter")
}

/// The recorded guest's machine with other commands. All of its memory is reported before they begin.
fn guest(commands: &[&str]) -> Vec<PhaseReport> {
    let path = root().join("evidence/guests/fills-and-frees.toml");
    let text = std::fs::read_to_string(&path).expect("it is there");
    let (machine, _) = text.split_once("[[task]]").expect("it has a task");
    let commands = [&["sleepms 60000", "snap start"], commands].concat();
    let task = format!("[[task]]\nworkload = \"script\"\ncommands = {commands:?}\n");
    phases(
        &Scenario::from_str(&(machine.to_owned() + &task), "guest.toml")
            .unwrap_or_else(|e| panic!("{e}")),
    )
}

/// The kernel reports as often, in as many runs, and within 4 % as many pages.
#[test]
fn a_recorded_guest_reports_the_same() {
    let folder = root().join("evidence/guests");
    let recorded = std::fs::read_to_string(folder.join("fills-and-frees.csv")).expect("recorded");
    let scenario = Scenario::from_path(folder.join("fills-and-frees.toml"));
    for phase in phases(&scenario.unwrap_or_else(|e| panic!("{e}"))).iter().skip(1) {
        let (mut runs, mut reports, mut pages) = (0, 0, 0.0);
        for line in recorded.lines().filter(|l| l.starts_with(&format!("{},", phase.name))) {
            let [_, run, of_run, blocks] = line.split(',').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            runs += u64::from(!run.is_empty());
            reports += of_run.parse::<u64>().expect("a number");
            pages += blocks.parse::<f64>().expect("a number") * 1024.0;
        }
        let at = &phase.name;
        assert_eq!(count(phase, "sim_host_run"), runs, "runs of {at}");
        assert_eq!(count(phase, "sim_host_report"), reports, "reports of {at}");
        let simulated = count(phase, "sim_host_reported") as f64;
        assert!((simulated - pages).abs() <= 0.04 * pages, "{at}: {simulated} of {pages} pages");
    }
}

/// Pages that are freed one by one leave no whole block: of 131,072 pages neither every 100th nor
/// every other one returns anything.
///
/// Runs of 1,024 pages lie in physical memory as in the region, not on a boundary of 2 MiB. So each
/// of the 64 runs holds one whole block of 512 pages. The last may make one more with what is free
/// beyond the region.
#[test]
fn only_whole_blocks_are_returned() {
    let freed = |period: u32, keep: u32| {
        let punch = format!("punch 0 {period} {keep}");
        let after = ["anon 0 131072", "fill 0 0 131072", &punch, "sleepms 40000", "snap end"];
        count(&guest(&after)[1], "sim_host_reported")
    };
    assert_eq!(freed(100, 99), 0);
    assert_eq!(freed(2, 1), 0);
    let whole = freed(2048, 1024) / 512;
    assert!((64..=65).contains(&whole), "{whole} blocks");
}

/// Memory that is used again 1.9 s after it was freed is not reported, and at most 64 of its 16,384
/// pages are others. After 2.1 s the host has taken it back, and gives each page by a fault.
#[test]
fn what_is_used_again_within_the_delay_stays() {
    let again = |slept: u32| {
        let (fill, wait) = (["anon 0 16384", "fill 0 0 16384"], format!("sleepms {slept}"));
        let between = ["unmap 0", &wait, "snap freed"];
        let commands = [&fill[..], &["snap first"], &between, &fill, &["snap again"]].concat();
        let phases = guest(&commands);
        (count(&phases[2], "sim_host_reported"), count(&phases[3], "sim_host_fault"))
    };
    let (reported, faults) = again(1_900);
    assert!(reported == 0 && faults <= 64, "{reported} reported, {faults} faults");
    let (reported, faults) = again(2_100);
    // Pages beside the region were never returned, and are used first.
    assert!((15_360..=17_408).contains(&reported), "{reported} reported");
    assert!((14_336..=16_448).contains(&faults), "{faults} faults");
}
