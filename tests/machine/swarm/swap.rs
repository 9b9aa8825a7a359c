//! Swap devices, zswap and contents of pages on machines of the swarm.

use super::{one_in, pick};
use mmsim::backing::contents::{Contents, Share};
use mmsim::backing::device::DeviceConfig;
use mmsim::base::rng::Rng;
use mmsim::config::{MachineConfig, SwapConfig, ZswapConfig};
use mmsim::machine::result::RunResult;
use mmsim::machine::snapshot::Snapshot;
use std::sync::Arc;

/// Up to two swap devices more, on one machine of three.
pub(super) fn more_swap(seed: u64, config: &mut MachineConfig) {
    let rng = &mut Rng::for_purpose(seed, "swarm/swap");
    for _ in 0..pick(rng, &[0, 0, 0, 0, 1, 2]) {
        let name = pick(rng, &["ramdisk", "zram", "nvme", "ssd", "hdd"]);
        let device = DeviceConfig::preset(name, config.cpus).expect("a preset");
        let priority = pick(rng, &[None, None, Some(0), Some(100)]);
        let slots = pick(rng, &[60, 700, 3000]);
        config.swap.push(SwapConfig { priority, ..SwapConfig::new(slots, device) });
    }
}

/// zswap on one machine of three with swap.
pub(super) fn zswap(seed: u64, config: &mut MachineConfig) {
    let rng = &mut Rng::for_purpose(seed, "swarm/zswap");
    if config.swap.is_empty() || !one_in(rng, 3) {
        return;
    }
    config.zswap = Some(ZswapConfig {
        enabled: !one_in(rng, 8),
        max_pool_percent: pick(rng, &[1, 2, 5, 20, 100]),
        accept_threshold_percent: pick(rng, &[0, 50, 90, 100]),
        shrinker: one_in(rng, 2),
        ..ZswapConfig::with_compressor(rng.below(3) as usize)
    });
    for group in &mut config.memcgs {
        group.zswap_max = pick(rng, &[None, None, Some(0), Some(3), Some(20)]);
        group.zswap_writeback = !one_in(rng, 4);
    }
}

/// Contents of a task, on one machine of two with zswap or without.
pub(super) fn contents(seed: u64, task: u64) -> Option<Arc<Contents>> {
    if !one_in(&mut Rng::for_purpose(seed, "swarm/contents"), 2) {
        return None;
    }
    let rng = &mut Rng::for_purpose(seed, &format!("swarm/contents/{task}"));
    let lengths = [(500, 4096), (200, 3700), (100, 2048), (100, 1000), (100, 30)];
    let share = |(permille, bytes)| Share { permille, bytes };
    Some(Arc::new(Contents {
        zero_permille: pick(rng, &[0, 100, 500]),
        same_permille: pick(rng, &[0, 100, 500]),
        lengths: lengths.map(share).to_vec(),
        redraw: one_in(rng, 2),
    }))
}

/// Frames of zspages by zones are those of zrams and of zswap.
pub(super) fn check(s: &Snapshot, r: &RunResult) {
    let gauge = |name: &str| r.gauges.iter().find(|g| g.0 == name).map_or(0, |g| g.1);
    let by_zone: u64 = s.zones.iter().map(|z| z.zspages).sum();
    assert_eq!(by_zone, gauge("nr_zram_store") + gauge("zswap_pool_pages"), "nr_zspages");
}
