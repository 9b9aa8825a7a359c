//! The ground that the crates around the simulator share: errors with their places, files that
//! users name, layouts of memory, words that they meant, text in lines, and marks of what stands out.

pub mod error;
pub mod files;
pub mod layout;
pub mod marks;
pub mod nearest;
pub mod prose;

pub use error::{Error, ErrorKind};
