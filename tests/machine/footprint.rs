//! Host memory for a simulated frame: the goal is at most 24 bytes with a quarter more pages than
//! frames, everything that grows with memory included.

use std::sync::{Arc, Mutex};

use crate::cells;
use mmsim::base::id::PageIdx;
use mmsim::machine::{Machine, Watch};
use mmsim::memory::Memory;
use mmsim::memory::follow::{Acted, Eviction, Follower, KeptPages, Refaulted, Use, Where};
use mmsim::memory::trouble::Troubled;
use mmsim::policy::ReclaimPolicy;
use mmsim_lru::{Classic, ClassicConfig, Mglru, MglruConfig};

/// Swap is as large as what does not fit. Per frame: reverse map 4, flags 4, list position 4, list entry 4 (and its chunk's header,
/// a sixteenth); per page, 1.25 a frame: PTE 4 and its hot byte 1, and a group record for
/// 512 of them; per swap slot in a cluster that is in use: contents 4, state 1.
fn bytes_per_frame(policy: impl FnOnce(&mut Memory) -> Box<dyn ReclaimPolicy>) -> f64 {
    bytes_watched(policy, Watch::default())
}

fn bytes_watched(policy: impl FnOnce(&mut Memory) -> Box<dyn ReclaimPolicy>, watch: Watch) -> f64 {
    let frames: u32 = 1 << 18;
    let pages = frames / 4 * 5;
    let config = cells::machine_of(frames, frames / 100 * 28, mmsim::config::Kernel::V6_12);
    let work = cells::zipf(pages, 500_000, 1).workloads();
    let r = Machine::new(&config, cells::task(work), 1, policy).run(watch);
    assert!(r.vmstat.by_name("pswpin").unwrap_or(0) > 10_000, "too little was swapped");
    r.host_bytes as f64 / f64::from(frames)
}

#[test]
fn a_frame_costs_at_most_24_bytes() {
    let per_frame = bytes_per_frame(|mem| Box::new(Classic::new(ClassicConfig::V6_12, mem)));
    assert!(per_frame <= 24.0, "{per_frame:.2} bytes per frame");
}

/// The generation of a folio is in its flags, and what it knows of accesses through descriptors in
/// two bits that only a machine with such accesses has: MGLRU costs what the classic LRU does.
#[test]
fn a_frame_costs_at_most_24_bytes_under_mglru() {
    for config in [MglruConfig::V6_12, MglruConfig::V6_14] {
        let per_frame = bytes_per_frame(|mem| Box::new(Mglru::new(config, mem, 1)));
        assert!(per_frame <= 24.0, "{per_frame:.2} bytes per frame");
    }
}

/// A follower that measures the memory kept for pages.
struct Weighs(Arc<Mutex<u64>>);

impl Follower for Weighs {
    fn grain(&self, frames: u64) -> u64 {
        frames / 256
    }
    fn used(&mut self, _: &mut KeptPages, _: &[Use], _: &[Refaulted], _: &[Acted]) {}
    fn arrived(&mut self, _: &mut KeptPages, _: PageIdx, _: Where) {}
    fn evicted(&mut self, _: &mut KeptPages, _: &Eviction, _: &[Use]) {}
    fn written(&mut self, _: &mut KeptPages, _: Option<PageIdx>) {}
    fn refaulted(&mut self, _: &mut KeptPages, _: &[Refaulted]) {}
    fn overlooked(&mut self, _: &mut KeptPages, _: &[PageIdx]) {}
    fn kept(&mut self, _: &mut KeptPages, _: &[(PageIdx, u32)]) {}
    fn dropped(&mut self, _: &mut KeptPages, _: PageIdx, _: u32) {}
    fn troubled(&mut self, _: &Troubled) {}
    fn phase_ended(&mut self) {}
    fn ticked(&mut self, _: u64, _: u64) {}
    fn ended(&mut self, all: &mut KeptPages, _: &Memory) {
        *self.0.lock().expect("no thread panicked") = all.host_bytes();
    }
}

/// Ten bytes of each page are kept for a follower: the tick of its last use in two, and two words
/// of the follower's own.
#[test]
fn a_frame_costs_at_most_40_bytes_while_somebody_follows() {
    let kept = Arc::new(Mutex::new(0));
    let watch = Watch::default().with_follower(Box::new(Weighs(kept.clone())));
    let classic = |mem: &mut Memory| -> Box<dyn ReclaimPolicy> {
        Box::new(Classic::new(ClassicConfig::V6_12, mem))
    };
    let machine = bytes_watched(classic, watch);
    let kept = *kept.lock().expect("no thread panicked") as f64 / f64::from(1 << 18);
    assert!(kept > 10.0, "{kept:.2} bytes are too few for 1.25 pages a frame");
    assert!(machine + kept <= 40.0, "{machine:.2} and {kept:.2} bytes per frame");
}
