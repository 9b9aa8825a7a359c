//! Errors of a file as a whole: it cannot be read.

use crate::harness::Folder;
use mmsim::{ErrorKind, Scenario};

/// The message of a file that cannot be read, with its folder taken out.
fn file_error(bytes: Option<&[u8]>) -> (ErrorKind, String) {
    let folder = Folder::new();
    if let Some(bytes) = bytes {
        folder.write("x.toml", bytes);
    }
    let e = Scenario::from_path(folder.path("x.toml")).expect_err("must be refused");
    (e.kind(), e.to_string().replace(&folder.path("").display().to_string(), ""))
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
    let folder = Folder::new();
    let e = Scenario::from_path(folder.path("")).expect_err("must be refused");
    let expected = format!("cannot read `{}`: it is a directory", folder.path("").display());
    assert_eq!((e.kind(), e.title()), (ErrorKind::File, expected.as_str()));
}
