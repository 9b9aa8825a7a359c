//! One witness for each rule about large folios, as in `rules`.

use crate::rules::{both, newest};
use crate::support::*;
use mmsim::base::id::PageIdx;
use mmsim::config::{MachineConfig, Thp, ThpSize};
use mmsim::machine::Watch;
use mmsim::virt::pages::Entry;
use mmsim::workload::Advice;

fn with_64k() -> MachineConfig {
    let mut c = newest("ramdisk");
    c.vm.size_64 = ThpSize::Always;
    c
}

/// 102 of 512 pages of a huge page are written, and then it is split: the frames of the others come
/// free, or each page stays what it was.
#[test]
fn thp_zero_subpages() {
    let mut c = newest("ramdisk");
    c.vm.thp = Thp::Always;
    let ops = [anon(512), write(0, 0, 102), end(0), advise(0, 0, 1, Advice::Cold), end(1)];
    let names = ["thp_split_page", "pgfree"];
    let of = both(&c, "thp-zero-subpages", ["no", "yes"], &ops)
        .map(|r| phase_counts(&r.phases[1], names));
    assert_eq!(of, [[1, 0], [1, 410]]);
}

/// Slots of the 16 pages of a folio of 64 KiB that reclaim splits, less the first: 0, 1, .. 15, or
/// 0, 15, 14, .. 1. Slots are those of 6.12, where the model splits each folio.
#[test]
fn split_pages_descending() {
    let [no, yes] = ["no", "yes"].map(|value| {
        let ops = vec![anon(16), write(0, 0, 16), reclaim(16)];
        let c = ruled(with_64k(), "split-pages-descending", value);
        let mut m = machine(&c, vec![member("t", ops)]);
        m.run(Watch::default().with_check_every(97));
        let slots = (0..m.mem.virt.pages.nr_groups() as u32 * 512).filter_map(|p| {
            match m.mem.virt.pages.entry(PageIdx(p)) {
                Entry::Swap(slot) => Some(slot.0),
                _ => None,
            }
        });
        let slots: Vec<u32> = slots.collect();
        slots.iter().map(|s| s - slots[0]).collect::<Vec<_>>()
    });
    assert_eq!(no, (0..16).collect::<Vec<_>>());
    assert_eq!(yes, std::iter::once(0).chain((1..16).rev()).collect::<Vec<_>>());
}

/// A folio of 64 KiB goes out and comes back in one piece, which counts by size or not.
#[test]
fn counts_large_swapin() {
    let ops = [anon(16), write(0, 0, 16), advise(0, 0, 16, Advice::PageOut), read(0, 0, 1)];
    let c = ruled(with_64k(), "swap-slots", "clusters-6.18");
    let counted = both(&c, "counts-large-swapin", ["no", "yes"], &ops).map(|r| {
        assert_eq!(counts(&r, ["pswpin", "pgmajfault"]), [16, 1]);
        let swpin = r.sizes.iter().find(|(name, _)| name == "hugepages-64kB.swpin");
        swpin.expect("the size is on").1
    });
    assert_eq!(counted, [0, 1]);
}
