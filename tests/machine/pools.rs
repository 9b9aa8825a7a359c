//! Compressed memory by the fast paths and by the slow one, and the host's memory that it takes.

use crate::cells;
use crate::determinism::fast_is_slow;
use mmsim::backing::contents::{Contents, Share};
use mmsim::config::{Kernel, MachineConfig, ZswapConfig};
use mmsim::machine::{Machine, Watch};
use mmsim::policy::ReclaimPolicy;
use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::Memory;
use mmsim_lru::{Classic, ClassicConfig, Mglru, MglruConfig};
use std::sync::Arc;

/// Frames of the machine. A batch takes the fast path while 512 of them are free, and so the low
/// watermark lies above that.
const FRAMES: u32 = 24_000;

/// A law with zeros, pages of one word, and others; of these every tenth does not compress if
/// `raw`.
fn law(raw: bool) -> Contents {
    let last = if raw { 4096 } else { 3500 };
    let lengths = [(300, 900), (600, 2000), (100, last)];
    let lengths = lengths.map(|(permille, bytes)| Share { permille, bytes }).to_vec();
    Contents { zero_permille: 60, same_permille: 40, lengths, redraw: false }
}

fn machine(kernel: Kernel, device: &str, zswap: Option<u32>) -> MachineConfig {
    let mut c = cells::machine_of(FRAMES, 3 * FRAMES, kernel);
    c.cpus = 2;
    c.vm.min_free_kbytes = Some(4 * 600);
    let swap = c.swap.first_mut().expect("there is swap");
    swap.device = DeviceConfig::preset(device, 2).expect("a preset");
    c.zswap =
        zswap.map(|max_pool_percent| ZswapConfig { max_pool_percent, ..ZswapConfig::linux() });
    c
}

fn tasks(law: &Arc<Contents>, accesses: u64) -> Vec<mmsim::machine::TaskConfig> {
    let work = cells::zipf(FRAMES / 2 * 3, accesses, 2).workloads();
    let tasks = cells::task(work).into_iter();
    tasks.map(|t| t.with_contents(Some(Arc::clone(law)))).collect()
}

/// Batches store pages, and runs of faults take them out, as one page after the other does: where
/// pools fill up and do not, where pages are refused, and where a device that was written to has
/// some of the pages.
#[test]
fn compressed_memory_by_the_fast_paths_is_that_of_the_slow_one() {
    let mglru: fn(&mut Memory) -> Box<dyn ReclaimPolicy> =
        |mem| Box::new(Mglru::new(MglruConfig::V6_12, mem, 1));
    let classic: fn(&mut Memory) -> Box<dyn ReclaimPolicy> =
        |mem| Box::new(Classic::new(ClassicConfig::V6_12, mem));
    let machines = [
        (Kernel::V6_12, "zram", None, false, classic),
        (Kernel::V5_9, "zram", None, true, classic),
        (Kernel::V6_12, "ramdisk", Some(50), false, mglru),
        (Kernel::V6_12, "ramdisk", Some(8), true, classic),
        (Kernel::V6_12, "zram", Some(8), false, classic),
        (Kernel::V6_18, "ssd", Some(50), true, classic),
        (Kernel::V7_3, "ssd", Some(8), false, mglru),
    ];
    for (kernel, device, zswap, raw, policy) in machines {
        let (config, law) = (machine(kernel, device, zswap), Arc::new(law(raw)));
        let what = format!("{kernel:?}, {device}, zswap {zswap:?}, incompressible {raw}");
        let r = fast_is_slow(&what, || Machine::new(&config, tasks(&law, 20_000), 1, policy));
        let [stored, read] = match zswap {
            Some(_) => [VmEvent::ZswpOut, VmEvent::ZswpIn],
            None => [VmEvent::PswpOut, VmEvent::PswpIn],
        };
        let [stored, read] = [stored, read].map(|counter| r.vmstat[counter]);
        assert!(stored > 3000 && read > 300, "{what}: {stored} stored, {read} read");
    }
}

/// A stored page takes, of its slot: 12 bytes for its place among entries, 8 for its object, 2 for its
/// contents; of the pool 4 for the object's owner, and a part of a zspage and of its frames. Columns
/// by slot and tables of a pool grow in steps.
#[test]
fn a_stored_page_takes_at_most_48_bytes_of_the_host() {
    let bytes = |zswap| {
        let config = machine(Kernel::V6_12, "ramdisk", zswap);
        let law = Arc::new(law(false));
        let r = Machine::new(&config, tasks(&law, 1), 1, cells::classic).run(Watch::default());
        (r.host_bytes, r.vmstat[VmEvent::ZswpOut])
    };
    let ((without, _), (with, stored)) = (bytes(None), bytes(Some(50)));
    assert!(stored > 10_000, "{stored}");
    let each = with.saturating_sub(without) as f64 / stored as f64;
    assert!((20.0..48.0).contains(&each), "{each:.1} bytes");
}
