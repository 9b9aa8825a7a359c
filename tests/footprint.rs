//! What a simulated frame costs the host: the goal is at most 24 bytes with a quarter more
//! pages than frames, everything that grows with memory included.

mod cells;

use mmsim::machine::{Machine, Watch};
use mmsim::memory::Memory;
use mmsim::policy::ReclaimPolicy;
use mmsim_lru::{Classic, ClassicConfig};

/// Swap is as large as what does not fit. Per frame: reverse map 4, flags 4, list position 4, list entry 4 (and its chunk's header,
/// a sixteenth); per page, 1.25 a frame: PTE 4 and its hot byte 1, and a group record for
/// 512 of them; per swap slot in a cluster that is in use: contents 4, state 1.
#[test]
fn a_frame_costs_at_most_24_bytes() {
    let frames: u32 = 1 << 18;
    let pages = frames / 4 * 5;
    let config =
        cells::machine_of(frames, frames / 100 * 28, mmsim::machine::config::Kernel::V6_12);
    let work = cells::zipf(pages, 500_000, 1).workloads();
    let policy = |mem: &mut Memory| -> Box<dyn ReclaimPolicy> {
        Box::new(Classic::new(ClassicConfig::V6_12, mem))
    };
    let r = Machine::new(&config, cells::task(work), 1, policy).run(Watch::default());
    assert!(r.vmstat.by_name("pswpin").unwrap_or(0) > 10_000, "too little was swapped");
    let per_frame = r.host_bytes as f64 / f64::from(frames);
    assert!(per_frame <= 24.0, "{per_frame:.2} bytes per frame");
}
