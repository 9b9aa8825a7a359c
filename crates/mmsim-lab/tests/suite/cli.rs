//! The program as its users see it: help, word by word.
//!
//! `TRYCMD=overwrite cargo test -p mmsim-lab --test suite cli` rewrites the expected text.

#[test]
fn help() {
    trycmd::TestCases::new().env("COLUMNS", "100").case("tests/cmd/*.trycmd");
}
