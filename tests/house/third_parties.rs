//! Parts of the program besides mmsim: the licences of its crates, and NOTICE.md.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Licences that ask for no more than a notice. `deny.toml` has the same list.
const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

const HEAD: &str = "\
# Third parties

The program `mmsim` contains these crates. Each is used under one of the licences beside it; the
source of each holds the full text. mmsim itself is MIT or Apache-2.0, as you prefer.

Pages that it writes contain uPlot 1.6.32 by Leon Sorokin, which is MIT; the pages hold its licence.

| crate | licence |
|---|---|
";

/// Each crate of the program on Linux.
fn crates() -> BTreeSet<(String, String, String)> {
    crates_of("mmsim-cli")
}

/// Each crate within a package on Linux, as the lock file has it: name, version, licence.
fn crates_of(package: &str) -> BTreeSet<(String, String, String)> {
    let format = "{p} |{l}";
    let out = Command::new(env!("CARGO"))
        .args(["tree", "--package", package, "--edges", "normal", "--prefix", "none"])
        .args(["--target", "x86_64-unknown-linux-gnu", "--locked", "--offline"])
        .args(["--format", format])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo tree");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).expect("UTF-8");
    let rows = text.lines().filter(|l| !l.is_empty()).map(|line| {
        let (package, licence) = line.split_once('|').expect(format);
        let mut words = package.split_whitespace();
        let (name, version) = (words.next().expect("a name"), words.next().expect("a version"));
        let licence = licence.trim_end_matches("(*)").trim();
        (name.to_string(), version.trim_start_matches('v').to_string(), licence.to_string())
    });
    rows.filter(|row| !row.0.starts_with("mmsim")).collect()
}

#[test]
fn every_crate_has_a_permissive_licence() {
    let crates = crates();
    assert!(crates.len() > 30, "{} crates are too few: the tree was not read", crates.len());
    let of_python = crates_of("mmsim-python");
    assert!(of_python.iter().any(|c| c.0 == "pyo3"), "what the Python package holds was not read");
    for (name, version, licence) in crates.into_iter().chain(of_python) {
        let plain = licence.replace(['(', ')'], " ").replace('/', " OR ");
        for one in plain.split(" OR ").flat_map(|l| l.split(" AND ")).map(str::trim) {
            assert!(PERMISSIVE.contains(&one), "{name} {version} has the licence {licence:?}");
        }
    }
}

#[test]
fn the_notice_names_the_script_within_pages() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/mmsim-view/src/page");
    let read = |name: &str| std::fs::read_to_string(page.join(name)).expect(name);
    let first = read("uplot.min.js").lines().next().unwrap_or_default().to_string();
    let version = first.split_once("(v").and_then(|(_, v)| v.split(')').next()).expect("a version");
    assert!(HEAD.contains(&format!("uPlot {version} ")), "{first}");
    let licence = read("uplot.LICENSE");
    assert!(licence.starts_with("The MIT License (MIT)") && licence.contains("Leon Sorokin"));
}

#[test]
fn the_notice_names_every_crate() {
    let mut text = HEAD.to_string();
    for (name, version, licence) in crates() {
        text.push_str(&format!("| {name} {version} | {licence} |\n"));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("NOTICE.md");
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(&path, &text).expect("NOTICE.md is written");
    }
    let now = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(now, text, "write it anew: MMSIM_BLESS=1 cargo test --test house third_parties");
}
