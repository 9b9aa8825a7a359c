//! Requests for large blocks, held against kernels whose memory was read out when they began.
//!
//! What comes of such a request hangs on single frames: which of four or eight neighbours a region's first page gets
//! decides which frames of a group stay held, and so what a scanner that looks at every eighth or every 32nd frame
//! finds. `tests/booted` has recordings with the free lists, per-CPU lists and pageblocks of the machine at their
//! beginning; in each repetition of a `-places` point the region begins one page later. So model and
//! kernel can be compared repetition by repetition, and not only what is common.

use std::path::Path;

use mmsim::validate::point::{Point, read_folder};
use mmsim_core::base::time::SimDuration;
use mmsim_core::machine::Watch;

fn recorded(id: &str) -> Point {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/booted");
    let mut all = read_folder(&dir).expect("the recordings").into_iter().flat_map(|e| e.points);
    all.find(|p| p.id == id).unwrap_or_else(|| panic!("no {id}"))
}

/// Blocks that a repetition gets, with empty passes at their cost or free of charge.
fn got(p: &Point, repetition: usize, charged: bool) -> u64 {
    let mut machine = mmsim::validate::machine(p, repetition).expect("it can be replayed");
    if !charged {
        machine.mem.cost.t_empty_pass = SimDuration::ZERO;
    }
    let phases = machine.run(Watch::default()).phases;
    let asked = phases.iter().find(|p| p.name == "asked").expect("the phase");
    let of = |counter| asked.vmstat.by_name(counter).expect("the counter");
    of("htlb_buddy_alloc_success") + of("thp_fault_alloc")
}

/// Simulated and recorded blocks of each repetition.
fn both(id: &str, command: &str) -> Vec<(f64, f64)> {
    let p = recorded(id);
    let each = p.result_each(command, "got").expect("what each returned");
    each.iter().enumerate().map(|(r, &recorded)| (got(&p, r, true) as f64, recorded)).collect()
}

fn all_within(pairs: &[(f64, f64)], blocks: f64) {
    let near = |(simulated, recorded): &(f64, f64)| (simulated - recorded).abs() <= blocks;
    assert!(pairs.iter().all(near), "simulated and recorded: {pairs:?}");
}

#[test]
fn huge_faults_get_few_or_many_blocks_by_where_the_region_begins() {
    let pairs = both("thp-keep3of4-places", "thp");
    all_within(&pairs, 1.0);
    // The kernel: 51 and 52 at two of eight places, 3 or 4 at the others.
    assert_eq!(pairs.iter().filter(|p| p.0 > 50.0).count(), 2);
}

#[test]
fn pools_end_at_the_first_failure_where_the_kernel_s_do() {
    let pairs = both("hugepool-keep7of8-places", "hugepool");
    all_within(&pairs, 1.0);
    // The kernel: 27 where the first kept page begins a group of eight, 1 or 2 elsewhere.
    assert_eq!(pairs.iter().filter(|p| p.0 > 20.0).count(), 1);
    let pairs = both("hugepool-keep1of4-places", "hugepool");
    all_within(&pairs, 5.0);
    assert_eq!(pairs.iter().filter(|p| p.0 < 10.0).count(), 2);
    // At two places the kernel itself has 37 or 98, see `hugepool-keep2of4-floors`; the model has 99.
    let pairs: Vec<(f64, f64)> = both("hugepool-keep2of4-places", "hugepool");
    let (one_sided, others): (Vec<_>, Vec<_>) =
        pairs.iter().enumerate().partition(|(r, _)| r % 4 == 3);
    all_within(&others.into_iter().map(|(_, p)| *p).collect::<Vec<_>>(), 1.0);
    assert!(one_sided.iter().all(|(_, p)| p.0 > 95.0), "{one_sided:?}");
}

/// Linux 6.1, which gives back in bulks that double, frees small holes from their end, marks pageblocks by
/// their first frame and sees a captured block as soon as it forms: four places, each of them twice.
#[test]
fn pools_of_6_1_grow_as_far_as_the_kernel_s() {
    let pairs = both("hugepool-keep1of4-6.1-places", "hugepool");
    let (first, others) = pairs.split_first().expect("eight places");
    all_within(others, 3.0);
    // The kernel has 55 there, and 43 four pages later, where frames lie alike; the model as many at both.
    assert!((40.0..60.0).contains(&first.0), "{first:?}");
}

/// A failed request wakes kswapd twice: before compaction, and again when that failed. kswapd looks at nothing, for want
/// of swap, but that takes time; so it stays in line for the CPU when it goes to sleep, and goes first
/// when it is woken again. Going to sleep it has skip bits forgotten, and where one frame in eight is free
/// and none of them begins a group of eight, nothing is found that would be of use, and both scanners are
/// sent to the middle of the zone: the second compaction ends at once. Were empty passes free of charge, kswapd would
/// come too late, and the pool would grow by one more block.
#[test]
fn empty_passes_of_kswapd_decide_when_it_forgets_what_scanners_learned() {
    let p = recorded("hugepool-keep7of8-places");
    let each = p.result_each("hugepool", "got").expect("what each returned");
    assert_eq!(each[6], 1.0, "the kernel's");
    assert_eq!(got(&p, 6, true), 1);
    assert_eq!(got(&p, 6, false), 2);
}
