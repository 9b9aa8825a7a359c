//! Errors in a trace. Each error says where, what was found there and what should have been.

use std::io;

/// A word that is none of those that have a meaning here.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown {what} {found:?}: expected {expected}")]
pub struct UnknownWord {
    what: &'static str,
    found: String,
    expected: &'static str,
}

impl UnknownWord {
    /// `what` names the thing that `found` should have been, `expected` the words that there are.
    pub fn new(what: &'static str, found: &str, expected: &'static str) -> Self {
        UnknownWord { what, found: found.to_string(), expected }
    }
}

/// Why a trace cannot be read, imported, written or replayed.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file or stream itself failed.
    #[error("{doing}: {source}")]
    Io {
        /// Operation that failed.
        doing: String,
        /// Error of the host.
        source: io::Error,
    },
    /// A native trace breaks its format.
    #[error("byte {offset} of the decoded trace: found {found}, expected {expected}")]
    Format {
        /// Position in the decoded stream: the 16 bytes of the prelude, then the body as
        /// it is after decompression.
        offset: u64,
        /// Value found.
        found: String,
        /// Value expected.
        expected: String,
    },
    /// A text input breaks its format.
    #[error("line {line}: {found}: expected {expected}")]
    Line {
        /// Line, from 1.
        line: u64,
        /// Value found.
        found: String,
        /// Value expected.
        expected: String,
    },
    /// A field of a text input breaks its format.
    #[error("line {line}, column {column}: found {found}, expected {expected}")]
    Field {
        /// Line, from 1.
        line: u64,
        /// Byte within the line where the field begins, from 1.
        column: usize,
        /// Value found.
        found: String,
        /// Value expected.
        expected: String,
    },
    /// An error of a text beside the line that it is about.
    #[error("{error}")]
    OfLine {
        /// The line, without its end.
        text: String,
        /// Its error.
        error: Box<TraceError>,
    },
    /// A line of the maps that say what addresses are.
    #[error("the maps: {0}")]
    Maps(Box<TraceError>),
    /// A table or record that a trace cannot hold.
    #[error("{what}: found {found}, expected {expected}")]
    Invalid {
        /// The part, such as `region 3`.
        what: String,
        /// Value given.
        found: String,
        /// Possible values.
        expected: String,
    },
}

impl TraceError {
    pub(crate) fn format(
        offset: u64,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        TraceError::Format { offset, found: found.into(), expected: expected.into() }
    }

    pub(super) fn line(line: u64, found: impl Into<String>, expected: impl Into<String>) -> Self {
        TraceError::Line { line, found: found.into(), expected: expected.into() }
    }

    pub(super) fn field(
        line: u64,
        column: usize,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        TraceError::Field { line, column, found: found.into(), expected: expected.into() }
    }

    pub(super) fn invalid(
        what: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        TraceError::Invalid { what: what.into(), found: found.into(), expected: expected.into() }
    }

    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| TraceError::Io { doing, source }
    }

    /// Gives an [`TraceError::Invalid`] found while reading its place in the file.
    pub(super) fn at(self, offset: u64) -> Self {
        match self {
            TraceError::Invalid { what, found, expected } => {
                TraceError::Format { offset, found: format!("{what} with {found}"), expected }
            }
            other => other,
        }
    }
}
