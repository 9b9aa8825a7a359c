//! A machine from copies of its own files: `/proc/zoneinfo` and others become `[machine]` of a
//! scenario, and the machine of the scenario shows the same texts again, as far as they are modelled.
//!
//! ```no_run
//! # use mmsim_formats as mmsim;
//! use mmsim::system::{Import, Options, copies::Copies};
//!
//! let copies = Copies::read("box".as_ref())?;
//! let import = Import::of(&copies, &Options::default(), Some("box.layout"))?;
//! println!("{}", import.scenario);
//! for note in &import.notes {
//!     eprintln!("{note}");
//! }
//! # Ok::<(), mmsim_base::Error>(())
//! ```
//!
//! Nothing is guessed in silence: whatever a file says that the scenario does not, and whatever the
//! scenario has that no file said, is a [`Note`]. Watermarks, reserves and per-CPU lists are written
//! only where they are not what the kernel's formulas give.

pub mod blocks;
mod compressed;
pub mod copies;
mod emit;
mod facts;
mod groups;
mod held;
mod import;
mod note;
mod options;
pub mod place;
mod release;
mod sysctls;
pub mod work;
mod writer;
pub mod zoneinfo;

pub use compressed::file_of_zswap;
pub use emit::lru_files;
pub use emit::{Difference, Emitted, differences, emit};
pub use import::Import;
pub use note::{Note, Weight};
pub use options::{Options, Programs, Sizes};
pub use sysctls::{file_of_sysctl, sysctl_of};
