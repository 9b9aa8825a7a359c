//! Verbs that another program has now.

use mmsim::Error;
use mmsim::nearest::nearest;

use crate::{exit, shell};

/// Verbs that this program had and another has now.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// Their names.
    pub verbs: &'static [&'static str],
    /// The package of the program that has them, which is its name too.
    pub program: &'static str,
}

impl Moved {
    /// No verb has moved.
    pub const NONE: Moved = Moved { verbs: &[], program: "" };

    /// The error of a verb that has moved. The other program does the same with `words`.
    pub(crate) fn named(self, verb: &str, words: &[&str]) -> Option<Error> {
        self.verbs.contains(&verb).then(|| {
            let title = format!(
                "`{} {verb}` is a verb of {} now, run `{}`",
                exit::program(),
                self.program,
                self.command(words)
            );
            Error::of_option(title)
        })
    }

    /// The error of an unknown verb that is nearly one of them.
    pub(crate) fn meant(self, verb: &str) -> Option<Error> {
        let near = nearest(verb, self.verbs)?;
        let title = format!("unknown verb `{verb}`, did you mean `{near}` of {}?", self.program);
        Some(Error::of_option(title).help(format!("run `{}`", self.command(&[near]))))
    }

    fn command(self, words: &[&str]) -> String {
        let words = words.iter().map(|word| format!(" {}", shell::word(word)));
        format!("cargo run --release -p {} --{}", self.program, words.collect::<String>())
    }
}
