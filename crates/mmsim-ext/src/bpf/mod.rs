//! The world of a BPF program around a module: maps, helpers, and a kernel's structures in memory.

pub(crate) mod access;
pub(crate) mod host;
pub(crate) mod imports;
mod index;
pub(crate) mod instance;
pub(crate) mod maps;
pub(crate) mod mirror;
pub(crate) mod print;
mod serve;

use wasmi::{StoreLimits, StoreLimitsBuilder};

/// Bytes of a module's memory, with folios, files and maps.
pub const MOST_MEMORY: usize = 512 << 20;
/// Elements of its tables of functions.
pub const MOST_TABLE: usize = 10_000;
/// Instructions of a call of a hook, with those of its callbacks, as fuel counts them.
pub const HOOK_FUEL: u64 = 50_000_000;
/// Instructions of `init` and of programs that a scenario calls.
pub const INIT_FUEL: u64 = 5_000_000_000;
/// Calls of the module within one another: a hook, a callback, and callbacks of that.
pub const MOST_NESTED: usize = 4;

/// Limits of a module's memory and tables. One that asks for more is refused, and goes on.
pub(crate) fn limits() -> StoreLimits {
    StoreLimitsBuilder::new()
        .memory_size(MOST_MEMORY)
        .table_elements(MOST_TABLE)
        .trap_on_grow_failure(false)
        .build()
}
