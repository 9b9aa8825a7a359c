//! Keys of a plan of a sweep, which is a file of its own.

use super::super::points::METHODS;
use super::*;
use Kind::{Choice, Quantity, Texts};

rows! {
    /// The plan itself.
    SWEEP,
    "A plan",
    "Which runs a sweep has. What a scenario says of axes, variants and seeds holds where the plan says nothing.";
    keys {
        ("version", Count(1, 1), Required, "version of this format")
        ("name", Text, Auto("the name of the file"), "name of the sweep, and of its store")
        ("about", Text, Is("\"\""), "one sentence for people")
        ("scenarios", Texts, Required, "scenario files, beside the plan")
        ("set", Overrides, Auto("nothing"), "values of all runs by path, as `--set` has them")
        ("variants", Texts, Auto("all of each scenario"), "names of the variants that run")
        ("seed", Count(0, MANY), Auto("that of each scenario"), "the first seed")
        ("seeds", Count(1, 1_000_000), Auto("those of each scenario"),
            "runs of a setting and variant; the seeds count up")
        ("axes", Axes, Auto("those of each scenario"),
            "paths, each with a list of values, a range or files: every combination runs")
        ("sample", Table(&SWEEP_SAMPLE), Auto("no samples"),
            "points drawn from ranges; each point runs with every combination of `axes`")
    }
}

rows! {
    /// `[sample]` of a plan.
    SWEEP_SAMPLE,
    "[sample]",
    "Points of a space that is too large for a grid.";
    keys {
        ("method", Choice(&METHODS), Is("\"halton\""),
            "`random`: independent draws; `halton`: points that leave no large gaps")
        ("points", Count(1, MANY), Required, "how many; more of them keep the first ones")
        ("seed", Count(0, MANY), Is("0"), "another seed gives other points")
        ("axes", Axes, Required, "paths, each with a range, a list or files to draw from")
    }
}

rows! {
    /// A range in place of a list of values.
    SWEEP_RANGE,
    "A range",
    "In place of a list: `{ from = \"64MiB\", to = \"1GiB\", steps = 5, scale = \"log\" }`.";
    keys {
        ("from", Quantity, Required, "the least value")
        ("to", Quantity, Required, "the largest value, in the same form")
        ("steps", Count(2, 1_000_000), Auto("`step`; samples take neither"),
            "how many values, ends included")
        ("step", Quantity, Auto("`steps`"), "the distance of two values, on a linear scale")
        ("scale", Choice(&["linear", "log"]), Is("\"linear\""),
            "equal distances, or equal ratios")
    }
}

rows! {
    /// Files in place of a list of values.
    SWEEP_FILES,
    "Files",
    "In place of a list: `{ files = [\"traces/*.mmt\"] }`.";
    keys {
        ("files", Texts, Required,
            "files beside the plan; `*` in a name stands for any characters")
    }
}

/// All tables of a plan, in the order of the documentation.
pub fn sweep_tables() -> [&'static TableSpec; 4] {
    [&SWEEP, &SWEEP_SAMPLE, &SWEEP_RANGE, &SWEEP_FILES]
}
