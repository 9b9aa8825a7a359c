//! Progress on stderr, for a user who watches: a bar on a terminal, a line a minute elsewhere. It
//! is in no output that anything is compared by.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mmsim::error::escaped;

use crate::exit::program;

/// Steps of the bar for each piece of work.
const STEPS: u64 = 1000;

/// Time between two lines where stderr is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(60);

/// Counts finished pieces of work.
pub struct Progress {
    /// Only on a terminal.
    bar: Option<ProgressBar>,
    state: Mutex<State>,
    what: &'static str,
}

struct State {
    done: u64,
    total: u64,
    /// Shares of pieces that are under way.
    within: BTreeMap<usize, f64>,
    /// Words shown last besides the count, and the size of a file.
    words: [String; 2],
    begun: Instant,
    last_line: Instant,
}

impl State {
    /// Pieces that are done, in parts of a piece.
    fn position(&self) -> f64 {
        self.done as f64 + self.within.values().sum::<f64>()
    }
}

#[allow(clippy::disallowed_methods, reason = "what is shown to people; decides nothing")]
fn now() -> Instant {
    Instant::now()
}

impl Progress {
    /// `total` pieces of work.
    pub fn new(what: &'static str, total: usize) -> Progress {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:16} {percent:>3}% {wide_msg}");
            bar.with_style(style.expect("a template").progress_chars("=> "))
        });
        let state = State {
            done: 0,
            total: total as u64,
            within: BTreeMap::new(),
            words: Default::default(),
            begun: now(),
            last_line: now(),
        };
        let progress = Progress { bar, state: Mutex::new(state), what };
        progress.draw(progress.state());
        progress
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more piece is done.
    pub fn finished(&self, label: &str) {
        let mut state = self.state();
        state.done += 1;
        state.words[0] = label.to_string();
        self.draw(state);
    }

    /// The piece of this number is done.
    pub fn finished_nth(&self, nth: usize, label: &str) {
        self.state().within.remove(&nth);
        self.finished(label);
    }

    /// So much of a piece is done, 0 to 1.
    pub fn within(&self, nth: usize, share: f64) {
        let mut state = self.state();
        state.within.insert(nth, share.clamp(0.0, 1.0));
        self.draw(state);
    }

    /// Shows how large a file has become.
    pub fn grown(&self, what: String) {
        let mut state = self.state();
        state.words[1] = what;
        self.draw(state);
    }

    /// Shows a state that was counted elsewhere.
    pub fn show(&self, done: usize, total: usize, label: &str) {
        let mut state = self.state();
        (state.done, state.total) = (done as u64, total as u64);
        state.words[0] = label.to_string();
        self.draw(state);
    }

    fn draw(&self, mut state: MutexGuard<'_, State>) {
        let elapsed = state.begun.elapsed();
        let words = |state: &State| text(self.what, state, elapsed);
        if let Some(bar) = &self.bar {
            bar.set_length(state.total.max(1) * STEPS);
            bar.set_position((state.position() * STEPS as f64) as u64);
            bar.set_message(words(&state));
        } else if state.last_line.elapsed() >= LINE_EVERY {
            state.last_line = now();
            // There may be no reader.
            let _ = writeln!(io::stderr(), "{}: {}", program(), words(&state));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Estimate of the rest by the work so far, in words; nothing where that says little.
fn left(share: f64, elapsed: Duration) -> String {
    if share <= 0.0 || share >= 1.0 || elapsed < Duration::from_secs(2) {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() * (1.0 - share) / share;
    format!(", about {} left", span(seconds))
}

/// A time for people.
pub fn span(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 90.0 * 60.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

fn text(what: &str, state: &State, elapsed: Duration) -> String {
    let State { done, total, words: [label, grown], .. } = state;
    let share = state.position() / (*total).max(1) as f64;
    let mut line = format!("{done} of {total} {what}{}", left(share, elapsed));
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
        let of = |done, total, label: &str, grown: &str, seconds| {
            let words = [label.to_string(), grown.to_string()];
            let within = BTreeMap::from([(7, 0.5)]);
            let (begun, last_line) = (now(), now());
            let state = State { done, total, within, words, begun, last_line };
            text("runs", &state, Duration::from_secs(seconds))
        };
        assert_eq!(of(3, 12, "v5.5, seed 2", "", 0), "3 of 12 runs: v5.5, seed 2");
        assert_eq!(of(0, 1, "", "", 0), "0 of 1 runs");
        assert_eq!(of(0, 1, "", "e.jsonl: 1.5 GiB", 0), "0 of 1 runs (e.jsonl: 1.5 GiB)");
        assert_eq!(of(0, 1, &"x".repeat(200), "", 0).len(), 79);
        // Three and a half of twelve took seven minutes.
        assert_eq!(of(3, 12, "", "", 420), "3 of 12 runs, about 17 min left");
    }

    #[test]
    fn times_for_people() {
        let all = [(0.25, "0.2 s"), (61.0, "61 s"), (600.0, "10 min"), (36_000.0, "10.0 h")];
        for (seconds, words) in all {
            assert_eq!(span(seconds), words);
        }
        assert_eq!(span(864_000.0), "10.0 days");
    }
}
