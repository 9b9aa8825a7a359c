//! One witness for each rule about watermarks and the sizes of per-CPU lists, as in `rules`.

use crate::rules::{both_zones, newest, zones_after};
use crate::support::*;
use mmsim::base::id::ZoneId;
use mmsim::config::{NodeConfig, Thp, VmSysctl, ZoneConfig, ZoneKind};

/// The kernel's own choice for 2048 pages is the root of 16 times 8192 KiB, 362 KiB, unless it may be
/// 128 at most. A quarter of it in pages is the watermark.
#[test]
fn min_free_most() {
    let mut c = newest("ramdisk");
    c.nodes[0].zones[0].watermarks = None;
    let [small, large] =
        both_zones(&c, "min-free-most", ["128", "262144"], &[]).map(|z| z.watermark[0]);
    assert_eq!([small, large], [32, 90]);
}

/// A zone Movable beside one that is not: it gets its share of min, or 32 pages since it is small.
#[test]
fn movable_shares_min() {
    let zones = |value| {
        let mut c = newest("ramdisk");
        c.vm.min_free_kbytes = Some(4000);
        let of = |kind| ZoneConfig { kind, watermarks: None, ..zone(8192) };
        c.nodes = vec![NodeConfig { zones: [ZoneKind::Normal, ZoneKind::Movable].map(of).into() }];
        let c = ruled(c, "movable-shares-min", value);
        zones_after(&c, vec![task("t", vec![])]).iter().map(|z| z.watermark[0]).collect::<Vec<_>>()
    };
    assert_eq!(zones("yes"), [500, 500]);
    assert_eq!(zones("no"), [1000, 32]);
}

/// Transparent huge pages are on, on a zone Normal and one Movable of 1 GiB each: eleven pageblocks
/// for one zone or for both, of which Normal gets all.
#[test]
fn thp_reserves_movable() {
    let min = |value| {
        let mut c = newest("ramdisk");
        c.vm.thp = Thp::Madvise;
        let of = |kind| ZoneConfig { kind, watermarks: None, ..zone(1 << 18) };
        c.nodes = vec![NodeConfig { zones: [ZoneKind::Normal, ZoneKind::Movable].map(of).into() }];
        let c = ruled(c, "thp-reserves-movable", value);
        zones_after(&c, vec![task("t", vec![])])[0].watermark[0]
    };
    assert_eq!([min("no"), min("yes")], [11 * 512, 2 * 11 * 512]);
}

/// Transparent huge pages are switched on and off again while the machine runs: up to 5.15 what was
/// kept free for them stays so, then the watermark is again that of the beginning.
#[test]
fn thp_off_lowers_min() {
    let marks = |value| {
        let mut c = newest("ramdisk");
        c.nodes[0].zones[0] = ZoneConfig { watermarks: None, ..zone(1 << 18) };
        let mut m = machine(&ruled(c, "thp-off-lowers-min", value), vec![task("t", vec![])]);
        let mut written = |thp| {
            m.write_sysctls(VmSysctl { thp, ..m.mem.given.vm.clone() });
            m.mem.zones[ZoneId(0)].watermark[0]
        };
        [Thp::Never, Thp::Always, Thp::Never].map(&mut written)
    };
    assert_eq!(marks("yes"), [1024, 11 * 512, 1024]);
    assert_eq!(marks("no"), [1024, 11 * 512, 11 * 512]);
}

/// A GiB has batches of a quarter of half a MiB or of a MiB, less a page.
#[test]
fn pcp_batch_most() {
    let mut c = newest("ramdisk");
    c.nodes[0].zones[0] = ZoneConfig { pcp: None, ..zone(1 << 18) };
    let of = both_zones(&c, "pcp-batch-most", ["128", "256"], &[]);
    assert_eq!(of.map(|z| z.pcp[0].batch), [31, 63]);
}
