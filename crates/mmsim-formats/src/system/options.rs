//! Options of an import.

use mmsim_core::config::Kernel;

/// Treatment of the memory that programs had: page cache, anonymous memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Programs {
    /// It is free, as if they had ended: tasks bring memory of their own.
    #[default]
    Ended,
    /// It stays in use, as movable memory that is never reclaimed: the state as it was.
    Held,
}

/// Where watermarks and per-CPU lists of zones come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sizes {
    /// The copies, where the formulas of the kernel give others. No sysctl moves them then.
    #[default]
    Copied,
    /// The formulas: sysctls move them.
    Formula,
}

/// Options of an import.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// The kernel, instead of the one that `/proc/version` names.
    pub kernel: Option<Kernel>,
    /// Treatment of the memory that programs had.
    pub programs: Programs,
    /// Where watermarks and per-CPU lists come from.
    pub sizes: Sizes,
    /// Tasks of the work follow, with the memory that programs had.
    pub workload: bool,
}

impl Options {
    /// With another kernel than the machine's own.
    #[must_use]
    pub fn with_kernel(self, kernel: Option<Kernel>) -> Options {
        Options { kernel, ..self }
    }
    /// With memory of programs as it was, or free.
    #[must_use]
    pub fn with_programs(self, programs: Programs) -> Options {
        Options { programs, ..self }
    }
    /// With watermarks and per-CPU lists as they were, or by formula.
    #[must_use]
    pub fn with_sizes(self, sizes: Sizes) -> Options {
        Options { sizes, ..self }
    }
    /// With tasks of the work behind the machine.
    #[must_use]
    pub fn with_workload(self, workload: bool) -> Options {
        Options { workload, ..self }
    }
}
