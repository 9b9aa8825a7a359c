//! mmsim: a discrete-event simulator of Linux-style memory management.
//!
//! This is the facade that research programs embed: a scenario goes in
//! ([`Scenario`]), a report comes out ([`report::Report`]). It prints nothing.
//!
//! [`run()`] makes every run of a scenario. [`run_with`] makes them with policies of one's own besides:
//! each is one more variant of the same report, which `to_json` and `to_csv` write and
//! `mmsim compare` reads.
//!
//! ```
//! use mmsim::report::derived::Figure;
//! use mmsim::{OwnPolicy, RunOptions, Scenario, run_with};
//! use mmsim_lru::Random;
//!
//! let text = r#"
//!     machine = { memory = "8MiB", swap = { size = "64MiB", device = "zram" } }
//!     task = [{ workload = "zipf", memory = "12MiB", accesses = 20000, write-permille = 300 }]
//!     variant = [{ name = "linux" }]
//! "#;
//! let scenario = Scenario::from_str(text, "zipf.toml")?;
//! // Any `ReclaimPolicy`; examples/own_policy.rs writes one.
//! let mine = OwnPolicy::new("mine", |mem, seed| Box::new(Random::new(mem, seed)));
//! let report = run_with(&scenario, &RunOptions::default(), &[mine])?;
//! let swap_ins = |variant: usize| Figure::SwapIns.of((&report.runs[variant]).into());
//! assert_eq!(report.runs[1].policy, "mine");
//! assert!(swap_ins(0) > Some(0.0) && swap_ins(1) > Some(0.0));
//! # Ok::<(), mmsim::RunError>(())
//! ```
//!
//! Structs of options and reports are `#[non_exhaustive]`: begin with `new` or `default`, then set
//! fields.

pub use mmsim_base::{Error, ErrorKind, error, files, layout, marks, nearest, prose};
pub use mmsim_core::{backing, base, config, machine, memory, phys, policy, virt, workload};
pub use mmsim_core::{settings, words};
pub use mmsim_formats::{contents, record, system, traces};
pub use mmsim_language::registry::{ConfiguredPolicy, Registry, program, registry};
pub use mmsim_language::{RunSpec, Scenario, host, knobs, machines, scenario, selection, setup};
pub use mmsim_report as report;
pub use mmsim_study::{
    OwnPolicy, Plan, RunError, RunOptions, Runner, Watcher, ablate, assembled, attend, bench,
    cells, curve, evaluate, live, miniature, plan, resemble, run, run_with, runner, store, sweep,
    tune, why, with_own,
};
