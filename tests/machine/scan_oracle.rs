//! The scanner for sources against the plainest thing that does the same: a byte for each frame,
//! looked at one by one.

use crate::scan_zone::{Zone, bytes, scan_by_bytes};
use mmsim_core::base::vmstat::VmEvent;

/// Where nothing can be moved the scanner looks at all of the zone, at the first frame only of a free
/// block, whatever part of memory is free and however it lies; and it takes nothing. Bytes of the
/// same zone say how many frames that are.
#[test]
fn frames_are_looked_at_as_bytes_would_be() {
    let mut looked = Vec::new();
    for free in [0, 1, 10, 30, 60, 95, 100] {
        for seed in 1..=3 {
            let frames = 1024 * (11 + seed as u32);
            let mut zone = Zone::new(frames, 0, free, seed);
            let by_bytes = scan_by_bytes(&bytes(&zone.mem));
            zone.compact();
            let counted = zone.mem.stats.vmstat[VmEvent::CompactMigrateScanned];
            assert_eq!((counted, 0), by_bytes, "{free} % free, seed {seed}");
            assert_eq!(zone.mem.stats.vmstat[VmEvent::CompactIsolated], 0);
            zone.mem.check();
            looked.push((free, counted, u64::from(frames)));
        }
    }
    // It is no test of nothing: free blocks are passed over at once.
    let less = |(free, counted, frames): &(u64, u64, u64)| *free < 30 || counted < frames;
    assert!(looked.iter().all(less), "{looked:?}");
    assert!(looked.iter().any(|l| l.0 == 0 && l.1 == l.2));
}

/// Before anything moved, the bytes know how many pages could be: as many as are on LRU lists. A run
/// loses none.
#[test]
fn pages_are_as_many_before_and_after() {
    for seed in 1..=3 {
        let mut zone = Zone::new(16_384, 60, 30, seed);
        zone.drain();
        let (_, before) = scan_by_bytes(&bytes(&zone.mem));
        assert!((9000..10_500).contains(&before), "{before}");
        zone.compact();
        zone.drain();
        assert!(zone.mem.stats.vmstat[VmEvent::PgMigrateSuccess] > 1000);
        assert_eq!(scan_by_bytes(&bytes(&zone.mem)).1, before);
    }
}
