//! Errors of a file as a whole: it cannot be read.

use mmsim::{ErrorKind, Scenario};

/// The message of a file that cannot be read, with its folder taken out.
fn file_error(bytes: Option<&[u8]>) -> (ErrorKind, String) {
    let dir = tempfile::tempdir().expect("a folder for the test");
    let path = dir.path().join("x.toml");
    if let Some(bytes) = bytes {
        std::fs::write(&path, bytes).expect("writing into it");
    }
    let e = Scenario::from_path(&path).expect_err("must be refused");
    (e.kind(), e.to_string().replace(&format!("{}/", dir.path().display()), ""))
}

#[test]
fn a_missing_file() {
    let (kind, said) = file_error(None);
    let expected = "error: cannot read `x.toml`: there is no such file\n |\n = help: `";
    assert!(said.starts_with(expected), "{said}");
    assert!(said.ends_with("` has no such name, check the path"), "{said}");
    assert_eq!(kind, ErrorKind::File);
}

#[test]
fn a_file_that_is_not_text() {
    let expected = "error: `x.toml` is not UTF-8 text: byte 0xff\n --> x.toml:2:10\n  |\n2 | about = \"�\"\n  |          ^ save the file as UTF-8";
    assert_eq!(file_error(Some(b"name = \"a\"\nabout = \"\xff\"\n")).1, expected);
}

#[test]
fn a_directory_is_no_file() {
    let dir = tempfile::tempdir().expect("a folder for the test");
    let e = Scenario::from_path(dir.path()).expect_err("must be refused");
    let expected = format!("cannot read `{}`: it is a directory", dir.path().display());
    assert_eq!((e.kind(), e.title()), (ErrorKind::File, expected.as_str()));
}
