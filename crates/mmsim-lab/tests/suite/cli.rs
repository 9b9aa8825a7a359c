//! The program as its users see it: help, word by word.
//!
//! `TRYCMD=overwrite cargo test -p mmsim-lab --test suite cli` rewrites the expected text.

use crate::harness::Folder;

#[test]
fn help() {
    trycmd::TestCases::new().env("COLUMNS", "100").case("tests/cmd/*.trycmd");
}

/// Both are of the program, whose name they have.
#[test]
fn pages_and_completions() {
    let f = Folder::new();
    let page = f.mmsim(&["man", "validate"]);
    assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""));
    assert!(page.stdout.contains(".TH mmsim-lab-validate 1"), "{}", page.stdout);
    assert!(page.stdout.contains("\\-\\-brief"), "{}", page.stdout);
    assert!(f.mmsim(&["man"]).stdout.contains(".TH mmsim-lab 1"));
    let script = f.mmsim(&["completions", "bash"]);
    assert_eq!((script.code, script.stderr.as_str()), (Some(0), ""));
    for word in ["mmsim-lab", "reproduce", "sensitivity"] {
        assert!(script.stdout.contains(word), "{word}");
    }
    let said = f.mmsim(&["man", "vaildate"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""));
    assert!(said.stderr.contains("did you mean `validate`?"), "{}", said.stderr);
}
