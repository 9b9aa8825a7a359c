//! The policies of this package as one type, so that a machine calls them directly.
//!
//! A machine over a box makes an indirect call for each of the three questions of a fault,
//! and the compiler sees none of the answers. Over this enum it takes a branch that always
//! goes the same way, and the answers can be inlined.

use mmsim_core::forward_policy;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_lru::{Classic, Mglru, Random};

/// A policy that scenarios can name, or one of the caller's own.
#[repr(u8)] // A tag of its own: it is looked at a few times for each fault.
#[allow(clippy::large_enum_variant)] // There is one per machine.
pub enum Shipped {
    /// The classic LRU.
    Classic(Classic),
    /// MGLRU.
    Mglru(Mglru),
    /// Random eviction.
    Random(Random),
    /// Any other.
    Own(Box<dyn ReclaimPolicy>),
}

impl ReclaimPolicy for Shipped {
    forward_policy!(self {
        Shipped::Classic(policy) => policy,
        Shipped::Mglru(policy) => policy,
        Shipped::Random(policy) => policy,
        Shipped::Own(policy) => policy,
    });
}

/// A machine with any of these policies.
pub type Machine = mmsim_core::machine::Machine<Shipped>;
