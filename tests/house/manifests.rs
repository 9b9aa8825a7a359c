//! The edges between the crates, read from the manifests, and what no file may hold.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Who may depend on whom within the workspace. A line that is not here is a decision that
/// was not taken yet: policies do not know one another, core knows none of them.
const ALLOWED: &[(&str, &[&str])] = &[
    ("mmsim-core", &[]),
    ("mmsim-lru", &["mmsim-core"]),
    ("mmsim-compaction", &["mmsim-core"]),
    ("mmsim-damon", &["mmsim-core"]),
    ("mmsim-daemons", &["mmsim-core"]),
    ("mmsim-workload", &["mmsim-core"]),
    ("mmsim-why", &["mmsim-core"]),
    ("mmsim-base", &["mmsim-core", "mmsim-workload"]),
    ("mmsim-report", &["mmsim-base", "mmsim-core", "mmsim-damon", "mmsim-why", "mmsim-workload"]),
    (
        "mmsim-language",
        &[
            "mmsim-base",
            "mmsim-report",
            "mmsim-core",
            "mmsim-lru",
            "mmsim-compaction",
            "mmsim-damon",
            "mmsim-daemons",
            "mmsim-workload",
            "mmsim-why",
        ],
    ),
    (
        "mmsim-formats",
        &[
            "mmsim-base",
            "mmsim-report",
            "mmsim-language",
            "mmsim-core",
            "mmsim-lru",
            "mmsim-compaction",
            "mmsim-damon",
            "mmsim-workload",
        ],
    ),
    (
        "mmsim-study",
        &[
            "mmsim-base",
            "mmsim-report",
            "mmsim-language",
            "mmsim-formats",
            "mmsim-core",
            "mmsim-damon",
            "mmsim-workload",
            "mmsim-why",
        ],
    ),
    // Its tests are those of the crates below it, too.
    (
        "mmsim",
        &[
            "mmsim-base",
            "mmsim-report",
            "mmsim-language",
            "mmsim-formats",
            "mmsim-study",
            "mmsim-core",
            "mmsim-lru",
            "mmsim-compaction",
            "mmsim-damon",
            "mmsim-workload",
        ],
    ),
    (
        "mmsim-lab",
        &[
            "mmsim",
            "mmsim-terminal",
            "mmsim-view",
            "mmsim-core",
            "mmsim-lru",
            "mmsim-compaction",
            "mmsim-damon",
            "mmsim-workload",
        ],
    ),
    ("mmsim-terminal", &["mmsim"]),
    ("mmsim-view", &["mmsim"]),
    ("mmsim-score", &["mmsim", "mmsim-lru"]),
    // Its tests read recorded traces.
    ("mmsim-ext", &["mmsim", "mmsim-score", "mmsim-workload"]),
    ("mmsim-cli", &["mmsim", "mmsim-ext", "mmsim-score", "mmsim-terminal", "mmsim-view"]),
    ("mmsim-python", &["mmsim", "mmsim-ext", "mmsim-view"]),
];

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Name and dependencies (of every kind) of each package of the workspace.
fn packages() -> BTreeMap<String, BTreeSet<String>> {
    let crates = std::fs::read_dir(root().join("crates")).expect("the folder of crates");
    let mut folders: Vec<PathBuf> = crates.map(|e| e.expect("an entry").path()).collect();
    folders.push(root().to_path_buf());
    folders
        .iter()
        .map(|folder| {
            let path = folder.join("Cargo.toml");
            let manifest: toml::Table =
                read(&path).parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let name = manifest["package"]["name"].as_str().expect("a package has a name");
            let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
            let tables = kinds.iter().filter_map(|k| manifest.get(*k).and_then(|t| t.as_table()));
            let dependencies = tables.flat_map(|t| t.keys().cloned()).collect();
            (name.to_string(), dependencies)
        })
        .collect()
}

#[test]
fn dependencies_within_the_workspace_are_those_that_are_drawn() {
    let packages = packages();
    for (name, dependencies) in &packages {
        let allowed = ALLOWED.iter().find(|a| a.0 == name).map(|a| a.1);
        let allowed =
            allowed.unwrap_or_else(|| panic!("{name} is not in ARCHITECTURE.md's picture"));
        for d in dependencies.iter().filter(|d| packages.contains_key(*d)) {
            assert!(allowed.contains(&d.as_str()), "{name} must not depend on {d}");
        }
    }
    for (name, _) in ALLOWED {
        assert!(packages.contains_key(*name), "{name} is gone");
    }
}

/// All files below a folder.
pub(crate) fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder can be listed") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && name != ".git" {
            below(&path, files);
        } else if path.is_file() {
            files.push(path);
        }
    }
}

#[test]
fn core_names_no_policy() {
    let mut files = Vec::new();
    below(&root().join("crates/mmsim-core/src"), &mut files);
    assert!(files.len() > 20, "core has {} files", files.len());
    for path in files {
        let text = read(&path);
        for (name, _) in ALLOWED.iter().filter(|a| a.0 != "mmsim-core" && a.0 != "mmsim") {
            for form in [name.to_string(), name.replace('-', "_")] {
                assert!(!text.contains(&form), "{} names {form}", path.display());
            }
        }
    }
}

/// Behaviour of kernels stands in the table of rules; no other code in core reads which kernel it
/// is.
#[test]
fn core_names_no_kernel_outside_the_table_of_rules() {
    let core = root().join("crates/mmsim-core/src");
    let mut files = Vec::new();
    below(&core, &mut files);
    let table = ["base/kernel.rs", "base/rules.rs"].map(|f| core.join(f));
    let named = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        let whole = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == ':');
        let asked = code.replace("config.kernel_rules", "").contains("config.kernel");
        asked || code.match_indices("Kernel::").any(|(at, _)| whole(at))
    };
    for line in ["if self.config.kernel >= newest {", "    Kernel::V6_1 => 3,"] {
        assert!(named(line), "the test sees {line}");
    }
    assert!(!named("FrameKind::Kernel::of()"), "and only them");
    assert!(table.iter().all(|f| files.contains(f)));
    let tests = |f: &PathBuf| f.ends_with("tests.rs");
    for path in files.iter().filter(|&f| !table.contains(f) && !tests(f)) {
        let text = read(path);
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (i, line) in code.lines().enumerate() {
            assert!(!named(line), "{}:{}: {line}", path.display(), i + 1);
        }
    }
}

/// The doors of `Memory` count and charge what reclaim does; a policy has no line about it.
#[test]
fn policies_count_and_charge_nothing_that_doors_do() {
    let mut files = Vec::new();
    below(&root().join("crates/mmsim-lru/src"), &mut files);
    files.push(root().join("examples/own_policy.rs"));
    let counters =
        ["PgScan", "PgSteal", "PgActivate", "PgDeactivate", "PgRefill", "PgSkip", "Culled"];
    let counts = |line: &str| {
        let counted = line.contains("count") && counters.iter().any(|c| line.contains(c));
        counted || line.contains(".now +=") || line.contains(".now =")
    };
    assert!(counts("mem.count(VmEvent::PgScanAnon, 1);") && counts("mem.now += cost;"));
    for path in files {
        for (i, line) in read(&path).lines().enumerate() {
            assert!(!counts(line), "{}:{}: {line}", path.display(), i + 1);
        }
    }
}

/// The files of the repository: those that git tracks, or all where there is no git.
fn tracked() -> Vec<PathBuf> {
    let listed = Command::new("git").arg("-C").arg(root()).args(["ls-files", "-z"]).output();
    let listed = listed.ok().filter(|o| o.status.success()).map(|o| o.stdout).unwrap_or_default();
    let names = String::from_utf8_lossy(&listed).into_owned();
    let mut files: Vec<PathBuf> =
        names.split('\0').filter(|n| !n.is_empty()).map(|n| root().join(n)).collect();
    if files.is_empty() {
        below(root(), &mut files);
    }
    files.retain(|f| f.is_file());
    files
}

#[test]
fn no_file_holds_a_private_path_or_an_unfinished_thought() {
    // In pieces, so that this file does not hold them itself.
    let forbidden = [["/wo", "rk/"].concat(), ["TO", "DO"].concat(), ["FIX", "ME"].concat()];
    let files = tracked();
    assert!(files.len() > 100, "only {} files", files.len());
    for path in files {
        // Traces are binary and may hold anything.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for (i, line) in text.lines().enumerate() {
            for f in &forbidden {
                assert!(!line.contains(f), "{}:{}: {f}", path.display(), i + 1);
            }
        }
    }
}

/// Public signatures of a file: from `pub fn` to the brace.
fn public_signatures(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices("pub fn ").map(|(at, _)| &text[at..]);
    starts.map(|rest| &rest[..rest.find(['{', ';']).unwrap_or(rest.len())])
}

/// A text as an error can be printed, and nothing else.
#[test]
fn public_functions_have_typed_errors() {
    let untyped = |signature: &str| {
        let result = signature.split_once("-> ").is_some_and(|(_, to)| to.contains("Result<"));
        let signature: String = signature.split_whitespace().collect();
        result && (signature.contains(",String>") || signature.contains(",&'staticstr>"))
    };
    assert!(untyped("pub fn f(a: u8) -> Result<Vec<u8>, String> "), "the test sees them");
    assert!(!untyped("pub fn f(e: Result<u8, String>) -> u8 "), "and only them");
    let mut files = Vec::new();
    below(&root().join("src"), &mut files);
    for (name, _) in ALLOWED.iter().filter(|(name, _)| !["mmsim", "mmsim-cli"].contains(name)) {
        below(&root().join("crates").join(name).join("src"), &mut files);
    }
    let mut nr = 0;
    for path in files {
        let text = read(&path);
        for signature in public_signatures(&text) {
            nr += 1;
            assert!(!untyped(signature), "{}: {signature}", path.display());
        }
        assert!(!text.contains("type Err = String"), "{}: FromStr", path.display());
    }
    assert!(nr > 500, "{nr} public functions");
}

/// Columns of a line of Markdown: the targets of links do not count.
fn columns(line: &str) -> usize {
    let mut pieces = line.split("](");
    let first = pieces.next().unwrap_or_default().chars().count();
    first + pieces.map(|p| 2 + p[p.find(')').unwrap_or(0)..].chars().count()).sum::<usize>()
}

/// Tables and blocks of code may be wider.
#[test]
fn no_line_of_prose_is_over_100_columns() {
    assert_eq!(columns("a [b](c.md) d"), "a [b]() d".len());
    let names = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"];
    let mut files: Vec<PathBuf> = names.map(|name| root().join(name)).into();
    for folder in ["docs", "evidence", "fuzz", "scenarios", "tools"] {
        below(&root().join(folder), &mut files);
    }
    files.retain(|f| f.extension().is_some_and(|e| e == "md"));
    assert!(files.len() > 20, "only {} documents", files.len());
    for path in files {
        let mut code = false;
        for (i, line) in read(&path).lines().enumerate() {
            code ^= line.starts_with("```");
            let wide = !code && !line.starts_with('|') && columns(line) > 100;
            assert!(!wide, "{}:{}: {line}", path.display(), i + 1);
        }
    }
}

#[test]
fn no_source_has_more_than_700_lines() {
    let sources = tracked().into_iter().filter(|f| f.extension().is_some_and(|e| e == "rs"));
    let long: Vec<_> = sources.filter(|f| read(f).lines().count() > 700).collect();
    assert!(long.is_empty(), "longer than a reader takes in at once: {long:?}");
}
