//! The words of one line, with errors that say where.

use super::ScriptError;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Takes the words of a line from left to right.
pub(super) struct Words<'a> {
    line: usize,
    text: &'a str,
    rest: std::str::SplitWhitespace<'a>,
    usage: &'static str,
}

impl<'a> Words<'a> {
    /// The words of `text`, line number `line`.
    pub(super) fn new(line: usize, text: &'a str) -> Self {
        Words { line, text, rest: text.split_whitespace(), usage: "" }
    }
    /// Sets how the command is written, for errors.
    pub(super) fn usage(&mut self, usage: &'static str) -> &mut Self {
        self.usage = usage;
        self
    }
    /// An error about `found`.
    pub(super) fn error(&self, found: &str, instead: impl Into<String>) -> ScriptError {
        ScriptError { line: self.line, found: found.into(), instead: instead.into() }
    }
    /// The next word, if there is one.
    pub(super) fn optional(&mut self) -> Option<&'a str> {
        self.rest.next()
    }
    /// The next word, which is the command's `what`.
    pub(super) fn word(&mut self, what: &str) -> Result<&'a str, ScriptError> {
        self.rest.next().ok_or_else(|| {
            self.error(self.text, format!("which lacks {what}; write `{}`", self.usage))
        })
    }
    /// The next word as a number within a range.
    pub(super) fn number<T: FromStr + PartialOrd + std::fmt::Display>(
        &mut self,
        what: &str,
        range: RangeInclusive<T>,
    ) -> Result<T, ScriptError> {
        let word = self.word(what)?;
        match word.parse() {
            Ok(x) if range.contains(&x) => Ok(x),
            _ => Err(self.error(
                word,
                format!("write {what} as a number from {} to {}", range.start(), range.end()),
            )),
        }
    }
    /// The same, if there is a next word.
    pub(super) fn optional_number<T: FromStr + PartialOrd + std::fmt::Display>(
        &mut self,
        what: &str,
        range: RangeInclusive<T>,
    ) -> Result<Option<T>, ScriptError> {
        let more = self.rest.clone().next().is_some();
        more.then(|| self.number(what, range)).transpose()
    }
    /// All that is left, which may be nothing.
    pub(super) fn skip_rest(&mut self) {
        while self.rest.next().is_some() {}
    }
    /// Nothing may be left.
    pub(super) fn end(&mut self) -> Result<(), ScriptError> {
        match self.rest.next() {
            None => Ok(()),
            Some(word) => {
                Err(self.error(word, format!("which is too much; write `{}`", self.usage)))
            }
        }
    }
}
