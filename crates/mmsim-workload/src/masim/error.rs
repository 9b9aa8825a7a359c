//! Errors in a masim file.

use std::ops::Range;

/// A place in a masim file that does not say what it should.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {what}; {instead}")]
pub struct MasimError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The place in bytes of the text.
    pub span: Range<usize>,
    /// Text that was found.
    pub what: String,
    /// Text to write instead.
    pub instead: String,
}

impl MasimError {
    /// An error about `span` of `text`, which begins and ends at characters.
    pub(super) fn new(
        text: &str,
        span: Range<usize>,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) -> Self {
        let before = &text[..span.start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        MasimError { line, column, span, what: what.into(), instead: instead.into() }
    }
}
