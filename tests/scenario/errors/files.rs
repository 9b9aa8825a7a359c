//! What is wrong with a file as a whole: it cannot be read, is not TOML, or its outermost keys
//! are not those of a scenario.

use super::Case;
use mmsim::{ErrorKind, Scenario};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "unknown_top_level_key",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[macine]
cpus = 2
"#,
        sets: &[],
        message: r#"error: unknown key `macine`, did you mean `machine`?
 --> x.toml:7:2
  |
7 | [macine]
  |  ^^^^^^ write `machine`
  |
  = help: known: schema, name, about, seed, seeds, expect-oom, bounds, machine, reclaim, compaction, task, damon, variant, axes, expect"#,
    },
    Case {
        name: "table_instead_of_list",
        text: r#"[machine]
memory = "64MiB"
[task]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: task: found a table, write a list of tables: [[task]], not [task]
 --> x.toml:3:1
  |
3 | [task]
  | ^^^^^^ write [[task]]"#,
    },
    Case {
        name: "list_instead_of_table",
        text: r#"[[machine]]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine: found a list, write a table: [machine], not [[machine]]
 --> x.toml:1:1
  |
1 | [[machine]]
  | ^^^^^^^^^^^ write a table"#,
    },
    Case {
        name: "no_task",
        text: r#"[machine]
memory = "64MiB"
"#,
        sets: &[],
        message: r#"error: there is no task, so nothing would run
 --> x.toml:1:2
  |
1 | [machine]
  |  ^^^^^^^ add a [[task]] with `workload`"#,
    },
    Case {
        name: "empty_task_list",
        text: r#"task = []
[machine]
memory = "64MiB"
"#,
        sets: &[],
        message: r#"error: task: no task at all, write at least one [[task]]
 --> x.toml:1:8
  |
1 | task = []
  |        ^^ write at least one [[task]]"#,
    },
    Case {
        name: "no_machine",
        text: r#"[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: `machine` is missing
 --> x.toml:1:3
  |
1 | [[task]]
  |   ^^^^ add `machine`: a table"#,
    },
    Case {
        name: "duplicate_key",
        text: r#"[machine]
memory = "64MiB"
cpus = 1
cpus = 2
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: not valid TOML: duplicate key
 --> x.toml:4:1
  |
4 | cpus = 2
  | ^^^^ duplicate key"#,
    },
    Case {
        name: "invalid_toml",
        text: r#"[machine]
memory = "64MiB"
cpus = = 2
"#,
        sets: &[],
        message: r#"error: not valid TOML: extra `=`, expected nothing
 --> x.toml:3:8
  |
3 | cpus = = 2
  |        ^ extra `=`, expected nothing"#,
    },
    Case {
        name: "unclosed_string",
        text: r#"name = "abc
"#,
        sets: &[],
        message: r#"error: not valid TOML: invalid basic string, expected `"`
 --> x.toml:1:12
  |
1 | name = "abc
  |            ^ invalid basic string, expected `"`"#,
    },
    Case {
        name: "schema_2",
        text: r#"schema = 2
[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: schema: 2 is not known to this version, write 1
 --> x.toml:1:10
  |
1 | schema = 2
  |          ^ write 1"#,
    },
    Case {
        name: "empty_name",
        text: r#"name = " "
[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: name: an empty name, write a name
 --> x.toml:1:8
  |
1 | name = " "
  |        ^^^ write a name"#,
    },
];

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
