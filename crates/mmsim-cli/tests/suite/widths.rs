//! Tables fit what they are shown in.

use crate::harness::Folder;

const SCENARIO: &str = r#"
[machine]
memory = "16MiB"
swap = { size = "32MiB", device = "ramdisk" }
[[task]]
name = "a-task-whose-name-is-longer-than-a-column-should-be"
workload = "zipf"
memory = "20MiB"
accesses = 2000
[[task]]
name = "b"
workload = "zipf"
memory = "1MiB"
accesses = 2000
[[variant]]
name = "a variant that is named after what is set, swappiness 60"
[[variant]]
name = "a variant that is named after what is set, swappiness 90"
set = { machine = { vm = { swappiness = 90 } } }
[[variant]]
name = "c"
[[variant]]
name = "d"
"#;

fn longest(text: &str) -> (usize, &str) {
    text.lines().map(|l| (l.chars().count(), l)).max().expect("some lines")
}

#[test]
fn a_table_is_as_wide_as_columns_says_and_a_pipe_has_a_hundred() {
    let f = Folder::with("x.toml", SCENARIO);
    for (columns, most) in [(None, 100), (Some("64"), 64), (Some("140"), 140), (Some("0"), 100)] {
        let mut command = f.command(&["run", "x.toml"]);
        if let Some(columns) = columns {
            command.env("COLUMNS", columns);
        }
        let out = command.output().expect("starting mmsim");
        assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
        let text = String::from_utf8(out.stdout).expect("text");
        let (length, line) = longest(&text);
        assert!(length <= most, "{length} with COLUMNS {columns:?}: {line}");
        // Cut names still differ.
        assert!(text.contains("…") && text.contains("iness 90"), "{text}");
    }
}

/// A list into a pipe keeps an entry in a line; on a terminal its text goes on below itself.
#[test]
fn lists_stay_in_their_columns() {
    let f = Folder::new();
    let piped = f.mmsim(&["list", "workloads"]).stdout;
    let mut command = f.command(&["list", "workloads"]);
    command.env("COLUMNS", "60");
    let narrow = command.output().expect("starting mmsim").stdout;
    let narrow = String::from_utf8(narrow).expect("text");
    assert!(longest(&narrow).0 <= 60, "{narrow}");
    assert!(narrow.lines().count() > piped.lines().count());
    let words = |text: &str| text.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    assert_eq!(words(&narrow), words(&piped), "nothing is lost");
}
