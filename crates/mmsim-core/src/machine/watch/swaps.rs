//! Swap devices, as `/proc/swaps` shows them.

use crate::backing::swap::Area;
use crate::memory::Memory;

/// A swap device, as a line of `/proc/swaps`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwapArea {
    /// Name of the device.
    pub device: String,
    /// Usable slots, a page each.
    pub slots: u32,
    /// Slots that are in use or in a CPU's cache.
    pub used: u32,
    /// The device with the largest gives slots first.
    pub priority: i32,
}

impl SwapArea {
    /// An empty one.
    pub fn new(device: String, slots: u32, priority: i32) -> Self {
        SwapArea { device, slots, used: 0, priority }
    }

    /// Those of a machine, in the order of `swapon`.
    pub(in crate::machine) fn all(mem: &Memory) -> Vec<SwapArea> {
        let area = |a: &Area| SwapArea {
            device: a.device.config().name.clone(),
            slots: a.total(),
            used: a.used(),
            priority: a.priority(),
        };
        mem.swap.iter().flat_map(|s| s.areas()).map(area).collect()
    }
}
