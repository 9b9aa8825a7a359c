//! Verbs that another program has now.

use mmsim::Error;

use crate::shell;

/// Verbs of `mmsim-lab`.
const OF_THE_LAB: [&str; 3] = ["validate", "reproduce", "accuracy"];

/// The command that does what a verb did, if it moved.
pub(crate) fn moved(verb: &str, rest: &[String]) -> Option<Error> {
    OF_THE_LAB.contains(&verb).then(|| {
        let words = rest.iter().map(|word| format!(" {}", shell::word(word))).collect::<String>();
        Error::of_option(format!(
            "`mmsim {verb}` is a verb of mmsim-lab now, run \
             `cargo run --release -p mmsim-lab -- {verb}{words}`"
        ))
    })
}
