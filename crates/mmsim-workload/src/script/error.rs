//! Errors in a command list.

/// A line that is not a command as specified.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("script line {line}: found `{found}`, {instead}")]
pub struct ScriptError {
    /// Position in the list, from 0.
    pub line: usize,
    /// The offending word, or the whole line.
    pub found: String,
    /// The error, and the text to write instead.
    pub instead: String,
}

/// A command that is understood but needs a mechanism that is not simulated yet.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("script line {line}: `{command}` is not modelled yet: {why}")]
pub struct NotYet {
    /// Position in the list, from 0.
    pub line: usize,
    /// The command word; for `write`, with the path.
    pub command: String,
    /// The missing mechanism.
    pub why: &'static str,
}
