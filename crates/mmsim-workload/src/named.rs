//! Workloads that scenario files can name: a row for each key, and what the keys say together.
//!
//! The rows are those of the generator's config ([`settings!`](mmsim_core::settings)). A reader
//! fills them; then the generator looks at the whole and says what does not fit, without knowing
//! where it was written.

use mmsim_core::base::settings::{Row, show_pages};
use mmsim_core::config::Kernel;

/// A workload that scenario files can name, whose keys are rows of settings.
pub struct Named<C: 'static> {
    /// One line about it, for lists.
    pub about: &'static str,
    /// Its paragraph in the documentation.
    pub doc: &'static str,
    /// Its keys, in the order of the documentation.
    pub rows: &'static [Row],
    /// The config with the defaults of the keys.
    pub start: fn() -> C,
    /// Takes what belongs to the task, and looks at keys that depend on one another.
    pub finish: fn(&mut C, &TaskOf<'_>, &dyn Given) -> Result<(), Misfit>,
}

/// The task of a workload.
#[derive(Clone, Copy, Debug)]
pub struct TaskOf<'a> {
    /// Its name. Its files go by it, so that its processes share them and other tasks do not.
    pub name: &'a str,
    /// Threads of each process.
    pub threads: u32,
    /// The kernel that it runs on.
    pub kernel: Kernel,
}

/// The keys that were written.
pub trait Given {
    /// True if a key has a value, be it a default.
    fn has(&self, key: &str) -> bool;
    /// True if a key has its default.
    fn is_default(&self, key: &str) -> bool;
}

/// Why keys do not fit one another, or the task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// The value of a key: the key, what was found, and what to write instead.
    Value(&'static str, String, String),
    /// Two keys of which one may be given.
    Both(&'static str, &'static str),
}

impl Misfit {
    /// A misfit in the value of a key: what was found, and what to write instead.
    pub fn new(key: &'static str, found: impl Into<String>, write: impl Into<String>) -> Self {
        Misfit::Value(key, found.into(), write.into())
    }
}

/// Checks that a lower bound is not above the upper one, each a key and what it says. The one that
/// was written is the mistake; of two, the upper one.
pub(crate) fn in_order<T: PartialOrd + Copy, S: std::fmt::Display>(
    given: &dyn Given,
    low: (&'static str, T),
    high: (&'static str, T),
    show: fn(T) -> S,
) -> Result<(), Misfit> {
    if low.1 <= high.1 {
        return Ok(());
    }
    let (least, most) = (show(low.1), show(high.1));
    if given.is_default(high.0) {
        let found = format!("{least} is more than `{}`, which is {most}", high.0);
        let write = format!("\"{most}\" or less, or change `{}`", high.0);
        return Err(Misfit::new(low.0, found, write));
    }
    let found = format!("{most} is less than `{}`, which is {least}", low.0);
    let write = format!("\"{least}\" or more, or change `{}`", low.0);
    Err(Misfit::new(high.0, found, write))
}

/// A number of pages in 32 bits, as messages write it.
pub(crate) fn shown(pages: u32) -> String {
    show_pages(u64::from(pages))
}
