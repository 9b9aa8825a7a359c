//! Groups and advice under MGLRU: the doors are those of the classic LRU, what is behind them not.

use crate::support::*;
use mmsim::config::{Kernel, MachineConfig};
use mmsim::machine::result::{Outcome, RunResult};
use mmsim::machine::{Machine, TaskConfig, Watch};
use mmsim::policy::ReclaimPolicy;
use mmsim::workload::Advice::{Cold, DontNeed, Free, PageOut, WillNeed};
use mmsim_lru::mglru::config::{GroupOrder, ProtectionAge};
use mmsim_lru::settings::Settings as _;
use mmsim_lru::{Mglru, MglruConfig};

/// Runs under a preset with an audit after every eighth step.
fn run(preset: &str, config: &MachineConfig, tasks: Vec<TaskConfig>) -> RunResult {
    let preset = MglruConfig::preset(preset).expect("a preset");
    let config = MachineConfig { kernel: preset.kernel, ..config.clone() };
    let policy = |mem: &mut mmsim::memory::Memory| {
        Box::new(Mglru::new(preset.config, mem, 1)) as Box<dyn ReclaimPolicy>
    };
    let watch = Watch::default().with_check_every(8);
    Machine::new(&config, tasks, 1, policy).run(watch)
}

fn presets() -> impl Iterator<Item = &'static str> {
    MglruConfig::presets().iter().map(|p| p.name)
}

#[test]
fn lazily_freed_pages_are_listed_with_files_and_dropped_without_swap() {
    for preset in presets() {
        let mut c = config(Kernel::V6_12, "ramdisk");
        c.swap.clear();
        let mut ops = vec![anon(4), write(0, 0, 4), advise(0, 0, 4, Free), end(0)];
        ops.extend([reclaim(4), end(1), write(0, 0, 4), end(2)]);
        let r = run(preset, &c, vec![member("t", ops)]);
        assert_eq!(phase_counts(&r.phases[0], ["pglazyfree", "pgfree"]), [4, 0], "{preset}");
        let names = ["nr_inactive_anon", "nr_active_anon", "nr_inactive_file", "nr_active_file"];
        assert_eq!(names.map(|n| gauge(&r.phases[0].gauges, n)), [0, 0, 4, 0], "{preset}");
        let dropped = ["pglazyfreed", "pgsteal_file", "pgscan_file", "pgactivate", "pgfree"];
        assert_eq!(phase_counts(&r.phases[1], dropped), [4, 4, 4, 0, 4], "{preset}");
        let after = ["pgfault", "pgmajfault", "workingset_refault_anon", "workingset_refault_file"];
        assert_eq!(phase_counts(&r.phases[2], after), [4, 0, 0, 0], "{preset}");
        assert_eq!(count(&r, "pswpout"), 0);
    }
}

#[test]
fn a_page_written_after_it_was_freed_is_kept() {
    for preset in presets() {
        let c = config(Kernel::V6_12, "ramdisk");
        let mut ops = vec![anon(2), write(0, 0, 2), advise(0, 0, 2, Free), write(0, 0, 1)];
        ops.extend([advise(0, 0, 2, PageOut), end(0), read(0, 0, 1), end(1)]);
        let r = run(preset, &c, vec![member("t", ops)]);
        let fate = ["pglazyfreed", "pgactivate", "pswpout"];
        assert_eq!(phase_counts(&r.phases[0], fate), [1, 1, 0], "{preset}");
        assert_eq!(phase_counts(&r.phases[1], ["pgfault"]), [0], "{preset}");
    }
}

/// A wait for a page under read is a stall on memory if the page is marked as of the working set, and
/// else one for I/O (mm/filemap.c, `folio_wait_bit_common`). MGLRU up to 6.13 marks every recent refault
/// in a fault (mm/workingset.c, `lru_gen_refault`); the classic LRU, and MGLRU since 6.14, mark those of
/// pages that were in use before they were evicted. Pages that are read once, one after the other, are
/// not. So the same waits are pressure under the one and none under the others.
/// docs/dev/pressure-recording.md has a recording.
#[test]
fn recent_refaults_are_stalls() {
    const READ_US: u64 = 90;
    let mut c = config(Kernel::V6_12, "nvme");
    c.swap[0].slots = 4000;
    let ops = || vec![anon(2600), write(0, 0, 2600), end(0), read(0, 0, 2600), end(1)];
    let of = |r: &RunResult| {
        let names = ["workingset_refault_anon", "workingset_restore_anon"];
        let [refaults, restored] = phase_counts(&r.phases[1], names);
        assert!(refaults > 1500, "{refaults}");
        (refaults, restored, r.phases[1].pressure.some_us)
    };
    let (refaults, restored, stalls) = of(&run("mglru-v6.12", &c, vec![task("t", ops())]));
    assert!(restored * 4 > refaults, "{restored} of {refaults}");
    assert!(stalls > restored * READ_US * 95 / 100, "{stalls} us for {restored}");
    let classic = crate::support::run(&c, vec![task("t", ops())]);
    for r in [classic, run("mglru-v6.18", &c, vec![task("t", ops())])] {
        let (refaults, restored, stalls) = of(&r);
        assert_eq!(restored, 0);
        assert!(stalls < refaults * READ_US / 4, "{stalls} us for {refaults}");
    }
}

/// Pages that are declared cold leave the youngest generation, and go before those that were
/// written earlier. Not so by the placement of 6.18 (`lru_gen_folio_seq()`): anonymous memory
/// outside the swap cache that is added anew goes to the head of the second youngest generation,
/// cold or not. What was written earlier and is used waits there too, nearer to the tail.
#[test]
fn cold_pages_go_first() {
    for preset in presets() {
        let c = config(Kernel::V6_12, "ramdisk");
        let mut ops = vec![anon(64), write(0, 0, 64), advise(0, 32, 32, Cold), reclaim(32), end(0)];
        ops.extend([read(0, 0, 32), end(1), read(0, 32, 32), end(2)]);
        let r = run(preset, &c, vec![member("t", ops)]);
        let [went, told] = phase_counts(&r.phases[0], ["pswpout", "pgdeactivate"]);
        assert_eq!(told, 32, "{preset}");
        let read_back = [1, 2].map(|phase| phase_counts(&r.phases[phase], ["pswpin"])[0]);
        let expected = match preset {
            // The others are in the next generation, and a group's own reclaim goes on to it.
            "mglru-v6.14" => [32, 32],
            "mglru-v6.18" => [32, went - 32],
            _ => [0, 32],
        };
        assert_eq!(read_back, expected, "{preset}");
        assert!(went == expected[0] + expected[1] && went <= 64, "{preset}: {went}");
    }
}

#[test]
fn pages_go_out_on_advice_and_are_read_before_they_are_needed() {
    for preset in presets() {
        let c = config(Kernel::V6_12, "ramdisk");
        let mut ops = vec![anon(8), write(0, 0, 8), advise(0, 0, 8, PageOut), end(0)];
        ops.extend([advise(0, 0, 8, WillNeed), end(1), read(0, 0, 8), end(2)]);
        ops.extend([advise(0, 0, 8, DontNeed), end(3)]);
        let r = run(preset, &c, vec![member("t", ops)]);
        assert_eq!(phase_counts(&r.phases[0], ["pswpout"]), [8], "{preset}");
        assert_eq!(gauge(&r.phases[0].gauges, "nr_anon_pages"), 0, "{preset}");
        let io = ["pgfault", "pgmajfault", "pswpin"];
        assert_eq!(phase_counts(&r.phases[1], io), [0, 0, 8], "{preset}");
        assert_eq!(phase_counts(&r.phases[2], io), [8, 0, 0], "{preset}");
        assert_eq!(gauge(&r.phases[3].gauges, "nr_swap_used"), 0, "{preset}");
    }
}

/// A process of `pages` that stays, beside one of the first group that writes `wants`.
fn beside(preset: &str, c: &MachineConfig, pages: u32, wants: u32) -> RunResult {
    let stays = vec![anon(pages), write(0, 0, pages), sleep_ms(1000), read(0, 0, pages)];
    let wants = vec![sleep_ms(10), anon(wants), write(0, 0, wants), end(0), sleep_ms(2000)];
    run(preset, c, vec![task("stays", stays), member("wants", wants)])
}

#[test]
fn a_limit_reclaims_in_its_group_only() {
    for preset in presets() {
        let mut c = config(Kernel::V6_12, "ramdisk");
        c.memcgs[0].max = Some(100);
        let r = beside(preset, &c, 500, 400);
        assert_eq!(r.outcome, Outcome::Completed, "{preset}");
        // What stays was never touched: no fault when it is read again.
        assert_eq!(counts(&r, ["pgfault", "pgmajfault"]), [900, 0], "{preset}");
        assert_eq!(counts(&r, ["pgscan_kswapd", "allocstall_normal"]), [0; 2], "{preset}");
        assert!(count(&r, "pgsteal_anon") >= 300, "{preset}");
        assert_eq!(stat(&r, 0, "pgsteal_direct"), count(&r, "pgsteal_anon"), "{preset}");
    }
}

/// Two groups that are idle, one of them protected, and a process outside that wants more than
/// there is: what is protected stays, the other group loses pages. Up to 7.2 only kswapd reckons
/// protection, so that a batch or two may go before it first looks at the node.
#[test]
fn protected_groups_are_spared_under_pressure_from_outside() {
    let lost = |preset: &str, min| {
        let mut c = config(Kernel::V6_12, "ramdisk");
        c.memcgs.push(group("other"));
        c.memcgs[0].min = min;
        let idle = || vec![anon(200), write(0, 0, 200), advise(0, 0, 200, Cold), sleep_ms(1000)];
        let hog = vec![sleep_ms(10), anon(3200), write(0, 0, 3200), write(0, 0, 3200)];
        let other = threads("other", Some(1), vec![idle()]);
        let r = run(preset, &c, vec![member("idle", idle()), other, task("hog", hog)]);
        assert_eq!(r.outcome, Outcome::Completed, "{preset}");
        [stat(&r, 0, "pswpout"), stat(&r, 1, "pswpout")]
    };
    for preset in presets() {
        let config = MglruConfig::preset(preset).expect("a preset").config;
        let late =
            config.group_order == GroupOrder::Lru && config.protection_age == ProtectionAge::Kswapd;
        assert!(lost(preset, 200)[0] <= if late { 64 } else { 0 }, "{preset}");
        // At the priorities of before 6.12 so small groups have no share of what is scanned.
        if config.initial_priority {
            assert!(lost(preset, 200)[1] > 0, "{preset}");
            let both = lost(preset, 0);
            assert!(both.iter().all(|&l| l > 0), "{preset}: {both:?}");
        }
    }
}

/// Groups stand in an LRU of their own: of two that do the same neither is spared for long.
#[test]
fn two_groups_take_turns() {
    for preset in presets() {
        let mut c = config(Kernel::V6_12, "ramdisk");
        c.memcgs.push(group("other"));
        let work = || {
            let mut ops = vec![anon(1600)];
            (0..6).for_each(|_| ops.extend([write(0, 0, 1600), sleep_ms(20)]));
            ops
        };
        let other = threads("other", Some(1), vec![work()]);
        let r = run(preset, &c, vec![member("one", work()), other]);
        assert_eq!(r.outcome, Outcome::Completed, "{preset}");
        let lost = [0, 1].map(|g| stat(&r, g, "pswpout"));
        assert!(lost.iter().all(|&l| l > 1000), "{preset}: {lost:?}");
        let [less, more] = [lost[0].min(lost[1]), lost[0].max(lost[1])];
        assert!(more < 2 * less, "{preset}: {lost:?}");
    }
}
