//! Policies for the page cache, written in C for cache_ext (BPF struct_ops, SOSP '25), as they are.
//!
//! The user's own clang compiles a policy to WebAssembly, with the headers of this crate ([`build`]).
//! [`Module`] reads it, and [`Policy`] runs it as a [`FileChooser`](mmsim::policy::chooser::FileChooser)
//! of a group: it tells the hooks what happened to file folios, and takes what `evict_folios` offers.
//!
//! [`lists`] has the verbs and rules of cache_ext in Rust, without a module.

mod bpf;
pub mod build;
mod links;
pub mod lists;
pub mod module;
mod policy;

pub use bpf::{HOOK_FUEL, INIT_FUEL, MOST_MEMORY, MOST_NESTED, MOST_TABLE};
pub use module::Module;
pub use policy::{
    Calls, Contents, FileFacts, MapContents, Modules, Policy, World, contents, is_score, modules,
};
