//! Hooks of a policy by number, calls of them, and the threads that they see.

use mmsim::base::id::{Idx, ThreadId};
use mmsim::policy::chooser::ChooserOptions;
use mmsim::{Error, ErrorKind};

/// The hooks of `struct cache_ext_ops`.
pub const HOOKS: [&str; 6] =
    ["init", "folio_added", "folio_accessed", "folio_evicted", "evict_folios", "admit_folio"];
/// Places of hooks in [`HOOKS`].
pub(crate) const INIT: usize = 0;
pub(crate) const ADDED: usize = 1;
pub(crate) const ACCESSED: usize = 2;
pub(crate) const EVICTED: usize = 3;
pub(crate) const EVICT: usize = 4;
pub(crate) const ADMIT: usize = 5;

/// Numbers of threads begin here, so that no thread has that of a kernel's.
pub(crate) const FIRST_PID: u64 = 1000;
/// The number of kswapd, and of whatever else is no thread of a task.
pub(crate) const KSWAPD: u64 = 50;

/// Calls of a hook, and their fuel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Calls {
    /// Their number.
    pub calls: u64,
    /// Instructions, with those of callbacks.
    pub fuel: u64,
}

/// Process, thread and name of a thread; `None`: kswapd.
pub(crate) fn task(options: &ChooserOptions, thread: Option<ThreadId>) -> (u64, u64, String) {
    let threads = &options.threads;
    let Some(thread) = thread else { return (KSWAPD, KSWAPD, "kswapd0".to_string()) };
    let pid = FIRST_PID + u64::from(thread.0);
    match threads.get(thread.index()) {
        None => (pid, pid, format!("thread{}", thread.0)),
        Some(of) => {
            let first = threads.iter().position(|t| t.task == of.task).unwrap_or(thread.index());
            (FIRST_PID + first as u64, pid, of.name.clone())
        }
    }
}

/// Calls and fuel by hook, with their names in reports.
pub(crate) fn calls(of: &[Calls; HOOKS.len()]) -> Vec<(&'static str, u64)> {
    const NAMES: [(&str, &str); HOOKS.len()] = [
        ("calls_init", "fuel_init"),
        ("calls_folio_added", "fuel_folio_added"),
        ("calls_folio_accessed", "fuel_folio_accessed"),
        ("calls_folio_evicted", "fuel_folio_evicted"),
        ("calls_evict_folios", "fuel_evict_folios"),
        ("calls_admit_folio", "fuel_admit_folio"),
    ];
    let calls = NAMES.iter().zip(of);
    calls.flat_map(|(names, of)| [(names.0, of.calls), (names.1, of.fuel)]).collect()
}

/// An error of a policy.
pub(crate) fn refused(name: &str, what: &str) -> Error {
    Error::new(ErrorKind::Policy, format!("`{name}`: {what}"))
}
