//! Why pages come back: each refault of a run answers one eviction, and is put into one class.
//!
//! The optimum decides first ([`min`]): if it would not have had the page either, there was too
//! little memory, *capacity*. Else there was a decision against it, and the first rule that holds
//! names it ([`Class`]). Classes are a partition: their counts sum to the kernel's counter.
//!
//! An [`Engine`] follows a run ([`mmsim_core::memory::follow`]). It keeps three words a page and
//! changes nothing.

mod class;
mod engine;
mod idle;
pub mod min;
mod names;
pub mod opt;
mod page;
mod trouble;
mod verdict;
mod waiting;

pub use class::Class;
pub use engine::{Engine, Settings, Told};
pub use names::Names;
pub use trouble::{Counted, Named, TroubleCell};
pub use verdict::{Cell, Logged, Shown, Verdicts};
