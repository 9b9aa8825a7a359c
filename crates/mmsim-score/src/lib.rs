//! Replacement policies as score functions: a WebAssembly function says how much a folio is worth
//! keeping, by facts that a kernel has of it.
//!
//! [`Scored`] is a policy around any function ([`Score`]): it takes batches from the tails of its
//! lists, lets each folio be scored, and evicts those with the lowest scores. [`Function`] is such a
//! function from a module, which can do nothing but answer ([`module`]). Modules may also be programs
//! that watch memory and act ([`daemon`]).

pub mod daemon;
pub mod engine;
mod facts;
pub mod module;
mod policy;

pub use facts::Facts;
pub use module::{Function, Module};
pub use policy::{Score, Scored, Stopped};
