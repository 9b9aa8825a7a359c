//! The recipes of ARCHITECTURE.md name all places that a thing of their kind stands in: one of each
//! kind is looked up in the tree.

use std::path::PathBuf;

use super::layers::code;
use crate::manifests::{below, read, root};

/// A thing that is there, and the places of its recipe.
struct Example {
    /// The recipe.
    recipe: &'static str,
    /// Words that code knows it by.
    words: &'static [&'static str],
    /// The files whose code has one of them, tests apart.
    files: &'static [&'static str],
    /// Words of the recipe that stand for the files.
    places: &'static [&'static str],
}

const EXAMPLES: &[Example] = &[
    Example {
        recipe: "A workload.",
        words: &["ReaderConfig", "READER]"],
        files: &[
            "crates/mmsim-workload/src/generators/mod.rs",
            "crates/mmsim-workload/src/generators/reader.rs",
        ],
        places: &["`crates/mmsim-workload/src/generators/`", "`workloads!`", "`generators/mod.rs`"],
    },
    Example {
        recipe: "A knob of the classic LRU or of MGLRU.",
        words: &["stop_after_adjust", "stop-after-adjust"],
        files: &["crates/mmsim-lru/src/classic/config.rs", "crates/mmsim-lru/src/classic/pass.rs"],
        places: &["`classic/config.rs`", "Read it in one place"],
    },
    Example {
        recipe: "A policy.",
        words: &["Sieve"],
        files: &["examples/own_policy.rs"],
        places: &["`examples/own_policy.rs`", "`ConfiguredPolicy`"],
    },
];

/// Files of Rust and their code without comments and tests.
fn sources() -> Vec<(String, String)> {
    let mut files: Vec<PathBuf> = Vec::new();
    ["crates", "src", "examples"].iter().for_each(|folder| below(&root().join(folder), &mut files));
    let name = |path: &PathBuf| {
        let name = path.strip_prefix(root()).expect("below the root").display().to_string();
        let is_test = name.contains("/tests/") || name.ends_with("/tests.rs");
        (name.ends_with(".rs") && !is_test).then_some(name)
    };
    files.iter().filter_map(|path| Some((name(path)?, code(path)))).collect()
}

#[test]
fn recipes_name_all_places() {
    let (architecture, sources) = (read(&root().join("ARCHITECTURE.md")), sources());
    for Example { recipe, words, files, places } in EXAMPLES {
        let has = |code: &str| words.iter().any(|word| code.contains(word));
        let mut found: Vec<&str> =
            sources.iter().filter(|(_, code)| has(code)).map(|(name, _)| name.as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, *files, "{recipe} {words:?}");
        let begin = format!("\n**{recipe}**");
        let (_, rest) = architecture.split_once(&begin).unwrap_or_else(|| panic!("no {recipe}"));
        let text = rest.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        for place in *places {
            assert!(text.contains(place), "{recipe} does not name {place}");
        }
    }
}

/// Each workload has its scenario, which the list of scenarios names.
#[test]
fn the_workload_of_the_recipe_has_its_scenario() {
    let scenario = read(&root().join("scenarios/reader.toml"));
    assert!(scenario.contains("workload = \"reader\""));
    assert!(read(&root().join("scenarios/README.md")).contains("reader.toml"));
}
