//! Progress on stderr: one line that is written over, and only for somebody who watches.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts finished pieces of work.
pub(crate) struct Progress {
    shown: bool,
    done: AtomicUsize,
    total: usize,
    what: &'static str,
}

impl Progress {
    /// `total` pieces of work. Shows nothing unless stderr is a terminal.
    pub(crate) fn new(what: &'static str, total: usize) -> Progress {
        let progress =
            Progress { shown: io::stderr().is_terminal(), done: AtomicUsize::new(0), total, what };
        progress.show(0, total, "");
        progress
    }

    /// One more piece is done.
    pub(crate) fn finished(&self, label: &str) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.show(done, self.total, label);
    }

    /// Shows a state that was counted elsewhere.
    pub(crate) fn show(&self, done: usize, total: usize, label: &str) {
        if self.shown {
            let line = text(self.what, done, total, label);
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

fn text(what: &str, done: usize, total: usize, label: &str) -> String {
    let mut line = format!("{done} of {total} {what}");
    if !label.is_empty() {
        line += ": ";
        line += label;
    }
    // A line that wraps could not be written over.
    line.chars().take(79).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_that_does_not_wrap() {
        assert_eq!(text("runs", 3, 12, "v5.5, seed 2"), "3 of 12 runs: v5.5, seed 2");
        assert_eq!(text("runs", 0, 1, ""), "0 of 1 runs");
        assert_eq!(text("runs", 0, 1, &"x".repeat(200)).len(), 79);
    }
}
