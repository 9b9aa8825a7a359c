//! Streams that have colours.

use std::io::IsTerminal;
use std::sync::OnceLock;

/// True once results go elsewhere than to the terminal, or in a form without colours.
static NONE: OnceLock<()> = OnceLock::new();

/// Leaves colours out of results, whatever the terminal has.
pub fn leave_out() {
    let _ = NONE.set(());
}

/// True if results on stdout have colours.
pub fn of_results() -> bool {
    NONE.get().is_none() && of(&std::io::stdout())
}

/// True if a stream has colours: it is a terminal, which is not dumb, and neither `NO_COLOR` nor
/// `CLICOLOR=0` is set.
pub fn of(stream: &impl IsTerminal) -> bool {
    wanted(stream.is_terminal(), |name| std::env::var(name).ok())
}

fn wanted(terminal: bool, set: impl Fn(&str) -> Option<String>) -> bool {
    let no_colour = set("NO_COLOR").is_some_and(|value| !value.is_empty());
    let off = set("CLICOLOR").is_some_and(|value| value == "0");
    let dumb = set("TERM").is_none_or(|term| term == "dumb");
    terminal && !no_colour && !off && !dumb
}

/// `error:` at the beginning of a message, bold and red.
pub(crate) fn error(message: &str, coloured: bool) -> String {
    match message.strip_prefix("error:") {
        Some(rest) if coloured => format!("\u{1b}[1;31merror:\u{1b}[0m{rest}"),
        _ => message.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conventions of no-color.org and bixense.com/clicolors.
    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let of = |terminal, set: &[(&str, &str)]| {
            let get = |name: &str| set.iter().find(|s| s.0 == name).map(|s| s.1.to_string());
            wanted(terminal, get)
        };
        let term = ("TERM", "xterm-256color");
        assert!(of(true, &[term]));
        assert!(of(true, &[term, ("NO_COLOR", ""), ("CLICOLOR", "1")]));
        assert!(!of(false, &[term]), "a pipe");
        assert!(!of(true, &[term, ("NO_COLOR", "1")]));
        assert!(!of(true, &[term, ("CLICOLOR", "0")]));
        assert!(!of(true, &[("TERM", "dumb")]) && !of(true, &[]));
    }

    #[test]
    fn only_the_word_is_coloured() {
        assert_eq!(error("error: x\n | y", false), "error: x\n | y");
        assert_eq!(error("error: x", true), "\u{1b}[1;31merror:\u{1b}[0m x");
        assert_eq!(error("runs ended otherwise", true), "runs ended otherwise");
    }
}
