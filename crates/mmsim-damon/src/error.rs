//! Errors of requests to a context. A request that fails changes nothing, and says nothing: it is
//! for the caller to tell its user.

use std::fmt;

/// Why a context refused something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DamonError {
    /// There is nothing to watch.
    NoTargets,
    /// It runs already, or the request cannot be served while it runs.
    Busy,
    /// It does not run.
    NotRunning,
    /// Monitoring attributes that make no sense; what is wrong with them.
    InvalidAttrs(&'static str),
    /// A range is empty, begins before the one before it ends, or cannot be cut so.
    InvalidRange,
    /// There is no target of that index, or no such process.
    NoSuchTarget,
    /// A scheme that makes no sense; what is wrong with it.
    InvalidScheme(&'static str),
    /// A filter's range ends before it begins.
    InvalidFilter,
    /// A goal of a quota has the target 0.
    InvalidGoal,
    /// A text that is longer than any kernel would take.
    TooLarge,
    /// A text that is written at an offset.
    Offset,
    /// Parameters of a module that make no sense; what is wrong with them.
    InvalidModule(&'static str),
}

impl DamonError {
    /// The name of the error that a kernel returns.
    pub fn errno(&self) -> &'static str {
        match self {
            DamonError::Busy => "EBUSY",
            DamonError::NotRunning => "EPERM",
            DamonError::TooLarge => "ENOMEM",
            _ => "EINVAL",
        }
    }
}

impl fmt::Display for DamonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            DamonError::NoTargets => "a context without targets cannot start",
            DamonError::Busy => "the context runs, or another group keeps it from running",
            DamonError::NotRunning => "the context does not run",
            DamonError::InvalidAttrs(why)
            | DamonError::InvalidScheme(why)
            | DamonError::InvalidModule(why) => why,
            DamonError::InvalidRange => "ranges must not be empty, and must be sorted and disjoint",
            DamonError::NoSuchTarget => "there is no such target",
            DamonError::InvalidFilter => "a filter's range ends before it begins",
            DamonError::InvalidGoal => "a goal's target must not be 0",
            DamonError::TooLarge => "the text is too long",
            DamonError::Offset => "the text must be written as a whole",
        };
        f.write_str(text)
    }
}

impl std::error::Error for DamonError {}
