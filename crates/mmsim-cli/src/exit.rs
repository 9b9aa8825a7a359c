//! Exit codes: 0 done; 1 a check did not hold; 2 bad usage or bad input; 3 the simulated
//! system ended early.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// How a command that wrote its results ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// All is as it should be.
    Done,
    /// A task has not brought about what its scenario asks of it.
    Missed,
    /// A simulated system ended early where its scenario does not expect it.
    EndedEarly,
}

/// Why a command has no results. The message is for people and names what to do instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// A check did not hold.
    Check(String),
    /// Bad usage or bad input: a file, an override, a name.
    Input(String),
}

impl Failure {
    /// A file that cannot be read or written.
    pub(crate) fn file(doing: &str, path: &Path, error: &io::Error) -> Failure {
        // What tempfile adds names the temporary file, which is another one every time.
        let why = error.to_string();
        let why = why.split_once(" at path \"").map_or(why.as_str(), |(why, _)| why);
        Failure::Input(format!("cannot {doing} {}: {why}", path.display()))
    }
}

/// Prints the reason of a failure and gives the exit code.
pub(crate) fn code(result: Result<Ending, Failure>) -> ExitCode {
    let (code, message) = match result {
        Ok(Ending::Done) => return ExitCode::SUCCESS,
        Ok(Ending::Missed) => return ExitCode::from(1),
        Ok(Ending::EndedEarly) => return ExitCode::from(3),
        Err(Failure::Check(message)) => (1, message),
        Err(Failure::Input(message)) => (2, message),
    };
    // Nobody is left to tell if stderr is gone.
    let _ = writeln!(io::stderr(), "mmsim: {}", message.trim_end());
    ExitCode::from(code)
}
