//! Every shipped scenario is accepted, and its resolved form gives the same runs.

mod scenario_support;

use std::path::{Path, PathBuf};

use mmsim::Scenario;
use scenario_support::Names;

fn shipped() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .expect("the folder of scenarios")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_shipped_file_expands_and_resolves() {
    let files = shipped();
    assert!(files.len() >= 11, "only {} files", files.len());
    for path in files {
        let s = Scenario::from_path(&path).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(Some(s.name()), path.file_stem().and_then(|n| n.to_str()));
        assert!(!s.about().is_empty(), "{} says nothing about itself", s.name());
        let runs = s.expand(&Names).unwrap_or_else(|e| panic!("{e}"));
        assert!(!runs.is_empty());
        let text = s.resolved();
        let origin = path.display().to_string();
        let again = Scenario::from_str(&text, &origin).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(again.expand(&Names).as_ref(), Ok(&runs), "{}", s.name());
        assert_eq!(again.resolved(), text, "{}", s.name());
    }
}
