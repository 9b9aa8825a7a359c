//! Programs of user space that watch memory and act: a table of rules, and the programs that
//! distributions ship, as rows of it wherever it can carry them.
//!
//! - `expr`: conditions and orders as expressions over named figures;
//! - `rules`: a daemon that is a table of rules;
//! - `growth`: an order of victims that no keys make;
//! - `program`: a daemon that is code, from a module or in another language;
//! - one file for each program that is shipped: its rules and its defaults.
//!
//! Core knows none of them; it lets a [`Daemon`](mmsim_core::policy::daemon::Daemon) read and act.

pub mod earlyoom;
pub mod expr;
mod figure;
mod growth;
pub mod kubelet;
pub mod lmkd;
pub mod nohang;
pub mod oomd;
pub mod program;
pub mod rules;
pub mod senpai;
pub mod systemd_oomd;
#[cfg(test)]
mod testing;

pub use expr::{BadExpr, Expr, Names};
pub use rules::{Among, Chain, Do, Every, Order, Pick, Rule, Rules, Sort, Wait};
