//! Keys of a plan of a tuning, which is a file of its own.

use super::*;
use Kind::{Choice, File};

/// Objectives at most: beyond it nearly every setting is better than any other in something.
pub(in crate::scenario) const MOST_OBJECTIVES: usize = 5;

/// Shares of pages, the n-th of them 1/2^(n+1).
pub const SHARES: &[&str] =
    &["1/2", "1/4", "1/8", "1/16", "1/32", "1/64", "1/128", "1/256", "1/512", "1/1024"];

rows! {
    /// The plan itself.
    TUNE,
    "A plan of a tuning",
    "Knobs that may be changed, objectives, and the number of runs.";
    keys {
        ("version", Count(1, 1), Required, "version of this format")
        ("name", Text, Auto("the name of the file"), "name in results")
        ("about", Text, Is("\"\""), "one sentence for people")
        ("scenario", File, Required, "a scenario file, beside the plan; its expectations are not asked")
        ("variant", Text, Auto("the only one"), "name of the variant that is tuned")
        ("set", Overrides, Auto("nothing"), "values of all runs by path, on top of the variant")
        ("knobs", Axes, Required,
            "paths, each with a range or a list of values, as in `[sample.axes]` of a sweep")
        ("objective", Tables(&TUNE_OBJECTIVE), Required,
            "what is wanted, one to five `[[objective]]`")
        ("constraint", Tables(&TUNE_CONSTRAINT), Auto("every run does all of its work"),
            "what must hold besides, one `[[constraint]]` each")
        ("budget", Count(1, 100_000_000), Required,
            "runs of the search; at least population and own settings on all seeds")
        ("population", Count(4, 1000), Is("16"), "settings that are kept from round to round")
        ("draws", Count(0, MANY), Is("1"), "seed of the search itself")
        ("seed", Count(0, MANY), Auto("that of the scenario"), "the first seed of runs")
        ("seeds", Count(2, 1000), Is("4"), "seeds that settings are compared by")
        ("held-out", Count(2, 1000), Auto("`seeds`"),
            "seeds behind these that only the front is run with, beyond the budget")
        ("miniature", Choice(SHARES), Auto("no miniatures"),
            "share of the pages by which new settings are tried first, beyond the budget")
    }
}

rows! {
    /// `[[objective]]`.
    TUNE_OBJECTIVE,
    "[[objective]]",
    "A figure of the report that is to be small or large.";
    keys {
        ("figure", Text, Required,
            "a name of `mmsim sweep --by` (`swap-ins`), or a figure of `[[expect]]`: a counter, a gauge, a path; several joined by `+` are added")
        ("goal", Choice(&["min", "max"]), Required, "whether less or more of it is better")
        ("phase", Text, Auto("the whole run"), "phase, as reports name it")
        ("reference", Number(-1e15, 1e15), Auto("the worst of the first settings"),
            "the value from which on a setting counts nothing, for the hypervolume")
    }
}

rows! {
    /// `[[constraint]]`.
    TUNE_CONSTRAINT,
    "[[constraint]]",
    "A bound on the mean of a figure; needs `above` or `below`.";
    keys {
        ("figure", Text, Required, "as in `[[objective]]`")
        ("phase", Text, Auto("the whole run"), "phase, as reports name it")
        ("above", Number(-1e15, 1e15), Auto("no bound"), "the figure is above this")
        ("below", Number(-1e15, 1e15), Auto("no bound"), "the figure is below this")
    }
}

/// All tables of a plan of a tuning, in the order of the documentation.
pub fn tune_tables() -> [&'static TableSpec; 3] {
    [&TUNE, &TUNE_OBJECTIVE, &TUNE_CONSTRAINT]
}
