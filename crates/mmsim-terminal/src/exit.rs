//! Exit codes: 0 done; 1 a check did not hold, or a run panicked; 2 bad usage or bad input;
//! 3 the simulated system ended early. Of several the one of the gravest; a panic is graver
//! than an early end. Where all is done but the reader of a pipe did not take all of it, it is 141,
//! that of a program which SIGPIPE ended.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mmsim::error::{ErrorKind, printable};
use mmsim::{Error, RunError};

use crate::colours;
use crate::output::signal;

/// The exit code of a program that SIGPIPE ended, as shells give it.
const BROKEN_PIPE: u8 = 128 + 13;

static READER_GONE: AtomicBool = AtomicBool::new(false);

static PROGRAM: OnceLock<String> = OnceLock::new();

/// Names the program, with which all lines on stderr begin.
pub(crate) fn name_program(name: &str) {
    PROGRAM.get_or_init(|| name.to_string());
}

/// The name of the program.
pub(crate) fn program() -> &'static str {
    PROGRAM.get().map_or("mmsim", String::as_str)
}

/// Makes the exit code say that the reader of a pipe has not taken all results.
pub fn reader_gone() {
    READER_GONE.store(true, Ordering::Relaxed);
}

/// True if the reader of a pipe closed it before it took all results.
pub fn has_reader_gone() -> bool {
    READER_GONE.load(Ordering::Relaxed)
}

/// Tells something on stderr that no result depends on. There may be no reader left.
pub fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "{}: {}", program(), printable(text));
}

/// Outcome of a command that wrote its results, the gravest last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ending {
    /// All is as it should be.
    Done,
    /// A task has not brought about what its scenario asks of it.
    Missed,
    /// A simulated system ended early where its scenario does not expect it.
    EndedEarly,
    /// The simulator failed in a run.
    Panicked,
}

/// Why a command has no results. The message is for people and names what to do instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// A check did not hold.
    Check(String),
    /// Bad usage or bad input: a file, an override, a name.
    Input(Error),
    /// A simulated system ended early, and there is nothing to show of it.
    EndedEarly(String),
}

impl Failure {
    /// Bad usage that one line says.
    pub fn said(title: impl Into<String>) -> Failure {
        Failure::Input(Error::of_option(title))
    }

    /// The same with another name for what was read.
    pub fn renamed(self, from: &str, to: &str) -> Failure {
        match self {
            Failure::Check(message) => Failure::Check(message.replace(from, to)),
            Failure::Input(error) => Failure::Input(error.renamed(from, to)),
            Failure::EndedEarly(message) => Failure::EndedEarly(message.replace(from, to)),
        }
    }

    /// Its exit code and its message.
    fn told(self) -> (u8, String) {
        match self {
            Failure::Check(message) => (1, message),
            Failure::Input(error) => (error.kind().exit_code(), error.to_string()),
            Failure::EndedEarly(message) => (3, message),
        }
    }

    /// A file that cannot be read or written.
    pub fn file(doing: &str, path: &Path, error: &io::Error) -> Failure {
        // What tempfile adds names the temporary file, which is another one every time.
        let why = error.to_string();
        let why = why.split_once(" at path \"").map_or(why.as_str(), |(why, _)| why);
        // As `-` it would be hard to find in the message.
        let name =
            if path == Path::new("-") { "to stdout".into() } else { path.display().to_string() };
        let title = format!("cannot {doing} {name}: {why}");
        Failure::Input(Error::new(ErrorKind::File, title))
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure::Input(e)
    }
}

impl From<RunError> for Failure {
    fn from(e: RunError) -> Failure {
        match e {
            RunError::Input(e) => Failure::Input(e),
            RunError::EndedEarly(e) => Failure::EndedEarly(e.to_string()),
            RunError::Invariant { .. } | RunError::Cancelled => Failure::Check(e.to_string()),
        }
    }
}

/// Ends the command at once for a reason that no work could make up for, from any thread: the
/// other runs are given up, and no temporary file is left.
pub fn now(failure: Failure) -> ! {
    let (code, message) = failure.told();
    complain(&message);
    signal::end(code.into())
}

/// Prints the reason of a failure and gives the exit code.
pub fn code(result: Result<Ending, Failure>) -> ExitCode {
    let (code, message) = match result {
        Ok(Ending::Done) if has_reader_gone() => {
            return ExitCode::from(BROKEN_PIPE);
        }
        Ok(Ending::Done) => return ExitCode::SUCCESS,
        Ok(Ending::Missed | Ending::Panicked) => return ExitCode::from(1),
        Ok(Ending::EndedEarly) => return ExitCode::from(3),
        Err(failure) => failure.told(),
    };
    complain(&message);
    ExitCode::from(code)
}

/// Prints the reason of a failure. If stderr is gone, it has no reader.
fn complain(message: &str) {
    let message = printable(message.trim_end()).to_string();
    let message = colours::error(&message, colours::of(&io::stderr()));
    let _ = writeln!(io::stderr(), "{}: {message}", program());
}
