//! Policies for the page cache, written in C for cache_ext (BPF struct_ops, SOSP '25), as they are.
//!
//! The user's own clang compiles a policy to WebAssembly, with the headers of this crate ([`build`]).
//! [`Module`] reads it, and [`Policy`] runs it as a [`FileChooser`](mmsim::policy::chooser::FileChooser)
//! of a group: it tells the hooks what happened to file folios, and takes what `evict_folios` offers.
//!
//! A module may also have the direct interface, without BPF: [`Interface::Direct`].
//!
//! [`lists`] has the verbs and rules of cache_ext in Rust, without a module.

mod bpf;
pub mod build;
mod direct;
mod hooks;
mod links;
pub mod lists;
pub mod module;
mod policy;
mod world;

pub use bpf::{HOOK_FUEL, INIT_FUEL, MOST_MEMORY, MOST_NESTED, MOST_TABLE};
pub use hooks::{Calls, HOOKS};
pub use module::{Interface, Module};
pub use policy::{Contents, MapContents, Modules, Policy, chooser, contents, is_score, modules};
pub use world::{FileFacts, World};
