//! Who follows a machine page by page.

use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::machine::Machine;
use mmsim_why::{Engine, Settings, Told};

/// An engine that says why pages of a machine come back, and where it says it.
pub fn engine(machine: &Machine, settings: Settings) -> (Box<Engine>, Told) {
    let swap_ins = machine.not_kept().any(|e| e == VmEvent::WorkingsetRefaultAnon);
    Engine::new(settings.with_swap_ins(swap_ins))
}
