//! Progress on stderr: one line that is written over, and only for somebody who watches.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use mmsim::error::escaped;

/// Counts finished pieces of work.
pub(crate) struct Progress {
    shown: bool,
    done: AtomicUsize,
    total: usize,
    what: &'static str,
    /// What was shown last besides the count, and how large a file has grown.
    words: Mutex<[String; 2]>,
}

impl Progress {
    /// `total` pieces of work. Shows nothing unless stderr is a terminal.
    pub(crate) fn new(what: &'static str, total: usize) -> Progress {
        let progress = Progress {
            shown: io::stderr().is_terminal(),
            done: AtomicUsize::new(0),
            total,
            what,
            words: Mutex::default(),
        };
        progress.show(0, total, "");
        progress
    }

    /// One more piece is done.
    pub(crate) fn finished(&self, label: &str) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.show(done, self.total, label);
    }

    /// Shows how large a file has become.
    pub(crate) fn grown(&self, what: String) {
        if self.shown {
            let label = {
                let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
                words[1] = what;
                words[0].clone()
            };
            self.show(self.done.load(Ordering::Relaxed), self.total, &label);
        }
    }

    /// Shows a state that was counted elsewhere.
    pub(crate) fn show(&self, done: usize, total: usize, label: &str) {
        if self.shown {
            let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
            words[0] = label.to_string();
            let line = text(self.what, done, total, &words);
            // "\x1b[K" clears what a longer line left behind.
            let _ = write!(io::stderr(), "\r{line}\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn text(what: &str, done: usize, total: usize, [label, grown]: &[String; 2]) -> String {
    let mut line = format!("{done} of {total} {what}");
    if !grown.is_empty() {
        line += &format!(" ({grown})");
    }
    if !label.is_empty() {
        line += ": ";
        line += label;
    }
    // A line that wraps could not be written over.
    escaped(&line).chars().take(79).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_that_does_not_wrap() {
        let text = |done, total, label: &str, grown: &str| {
            text("runs", done, total, &[label.to_string(), grown.to_string()])
        };
        assert_eq!(text(3, 12, "v5.5, seed 2", ""), "3 of 12 runs: v5.5, seed 2");
        assert_eq!(text(0, 1, "", ""), "0 of 1 runs");
        assert_eq!(text(0, 1, "", "e.jsonl: 1.5 GiB"), "0 of 1 runs (e.jsonl: 1.5 GiB)");
        assert_eq!(text(0, 1, &"x".repeat(200), "").len(), 79);
    }
}
