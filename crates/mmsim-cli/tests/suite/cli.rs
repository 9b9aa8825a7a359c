//! The command line as its users see it: help and usage errors, word by word.
//!
//! `TRYCMD=overwrite cargo test -p mmsim-cli --test suite cli` rewrites the expected text.

#[test]
fn help_and_usage() {
    trycmd::TestCases::new().env("COLUMNS", "100").case("tests/cmd/*.trycmd");
}
