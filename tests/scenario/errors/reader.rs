//! Mistakes in a task with `workload = "reader"`.

use super::Case;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "theta_of_a_cycle",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 10
item = "64KiB"
records = 10
choice = "cyclic"
theta = 0.5
"#,
        sets: &[],
        message: r#"error: task[0].theta: items that are taken in turn follow no law, write choice = "zipf", or leave `theta` out
 --> x.toml:9:9
  |
9 | theta = 0.5
  |         ^^^ write choice = "zipf", or leave `theta` out"#,
    },
    Case {
        name: "item_of_parts_of_blocks",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 10
item = "40KiB"
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].item: 10 pages is not a whole number of blocks of 8 pages, write "16 pages"
 --> x.toml:6:8
  |
6 | item = "40KiB"
  |        ^^^^^^^ write "16 pages""#,
    },
    Case {
        name: "reads_of_no_index",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 10
item = "64KiB"
index-reads = 3
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].index-reads: 3 reads of an index that is empty, write 0, or give `index` a size
 --> x.toml:7:15
  |
7 | index-reads = 3
  |               ^ write 0, or give `index` a size"#,
    },
    Case {
        name: "too_many_items",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 4000000000
item = "64KiB"
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].items: 4000000000 items are 250000000MiB, too many, write fewer items, or smaller ones
 --> x.toml:5:9
  |
5 | items = 4000000000
  |         ^^^^^^^^^^ write fewer items, or smaller ones"#,
    },
    Case {
        name: "reader_stale_bounds",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 10
item = "64KiB"
stale-min = 7
stale-max = 3
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].stale-max: 3 is less than `stale-min`, which is 7, write "7" or more, or change `stale-min`
 --> x.toml:8:13
  |
8 | stale-max = 3
  |             ^ write "7" or more, or change `stale-min`"#,
    },
    Case {
        name: "reader_without_item",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 10
records = 10
"#,
        sets: &[],
        message: r#"error: task[0]: `item` is missing
 --> x.toml:3:1
  |
3 | [[task]]
  | ^^^^^^^^ add `item`: a size such as "64MiB""#,
    },
    Case {
        name: "reader_unknown_key",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 10
item = "64KiB"
index-read = 3
records = 10
"#,
        sets: &[],
        message: r#"error: task[0]: unknown key `index-read`, did you mean `index-reads`?
 --> x.toml:7:1
  |
7 | index-read = 3
  | ^^^^^^^^^^ write `index-reads`
  |
  = help: known: workload, name, threads, processes, memcg, start, records, duration, windows, items, item, block, choice, theta, index, index-reads, stale, stale-min, stale-max, idle"#,
    },
    Case {
        name: "reader_choice",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "reader"
items = 10
item = "64KiB"
choice = "cycle"
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].choice: unknown choice `cycle`, did you mean `cyclic`?
 --> x.toml:7:10
  |
7 | choice = "cycle"
  |          ^^^^^^^ write `cyclic`
  |
  = help: known: zipf, cyclic"#,
    },
];
