//! The doors of memory, against plain models and reckonings by hand.

mod buddy_twin;
mod discard;
mod harness;
mod layout;
mod migrate;
mod model;
mod pinned;
mod walk;
