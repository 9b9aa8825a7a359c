//! Keys of suites and of knob files, which are files of their own.

use super::*;
use Kind::File;

rows! {
    /// The suite itself.
    SUITE,
    "A suite",
    "Scenarios that policies are scored by.";
    keys {
        ("version", Count(1, 1), Required, "version of this format")
        ("name", Text, Auto("the name of the file"), "name in results")
        ("about", Text, Is("\"\""), "one sentence for people")
        ("scenario", Tables(&SUITE_SCENARIO), Required, "what is run, one `[[scenario]]` each")
        ("seeds", Count(1, 1000), Is("3"), "seeds of each scenario that the score is of")
        ("held-out", Count(0, 1000), Is("3"),
            "seeds behind these, whose score stands apart: a search must not go by it")
    }
}

rows! {
    /// `[[scenario]]`.
    SUITE_SCENARIO,
    "[[scenario]]",
    "A scenario with the variant that the policy is compared with.";
    keys {
        ("name", Text, Auto("that of the scenario"), "name in results, unique")
        ("file", File, Required, "a scenario file, beside the suite; its expectations are not asked")
        ("variant", Text, Auto("the only one"), "the baseline, whose score is 0")
        ("set", Overrides, Auto("nothing"), "values of all runs by path, on top of the variant")
        ("seed", Count(0, MANY), Auto("that of the scenario"), "the first seed of runs")
        ("seeds", Count(0, 1000), Auto("that of the suite"),
            "seeds that the score is of; 0: the whole scenario is held out")
        ("held-out", Count(0, 1000), Auto("that of the suite"), "seeds behind these")
    }
}

rows! {
    /// A knob file.
    KNOB_FILE,
    "A knob file",
    "A policy as values of knobs, on top of each scenario's baseline.";
    keys {
        ("version", Count(1, 1), Required, "version of this format")
        ("name", Text, Auto("the name of the file"), "name in results")
        ("about", Text, Is("\"\""), "one sentence for people")
        ("policy", Text, Auto("that of the baseline"),
            "preset of the replacement policy; what the baseline sets on top of its own is left out")
        ("set", Overrides, Auto("nothing"),
            "values by path: `machine.vm.NAME`, `reclaim.KNOB`, `compaction.KNOB`, `damon[0].KEY`")
    }
}

/// All tables of evaluations, in the order of the documentation.
pub fn evaluate_tables() -> [&'static TableSpec; 3] {
    [&SUITE, &SUITE_SCENARIO, &KNOB_FILE]
}
