//! Mistakes in a task with `workload = "build"`.

use super::Case;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "build_no_end",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
"#,
        sets: &[],
        message: r#"error: task[0]: needs `records` or `duration`
 --> x.toml:3:1
  |
3 | [[task]]
  | ^^^^^^^^ add `records`: a whole number from 1 up"#,
    },
    Case {
        name: "build_two_ends",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
duration = "1s"
"#,
        sets: &[],
        message: r#"error: task[0]: `records` and `duration` contradict each other
 --> x.toml:6:1
  |
6 | duration = "1s"
  | ^^^^^^^^ leave one of them out"#,
    },
    Case {
        name: "build_no_time",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
duration = "0s"
"#,
        sets: &[],
        message: r#"error: task[0].duration: no time at all, write a duration such as "10s"
 --> x.toml:5:12
  |
5 | duration = "0s"
  |            ^^^^ write a duration such as "10s""#,
    },
    Case {
        name: "build_windows",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
windows = 0
"#,
        sets: &[],
        message: r#"error: task[0].windows: 0 is out of range, write a whole number from 1 to 10000
 --> x.toml:6:11
  |
6 | windows = 0
  |           ^ write a whole number from 1 to 10000"#,
    },
    Case {
        name: "build_text",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
text = 20
"#,
        sets: &[],
        message: r#"error: task[0].text: 20 has no unit, write "20MiB"
 --> x.toml:6:8
  |
6 | text = 20
  |        ^^ write "20MiB""#,
    },
    Case {
        name: "build_headers",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
headers = 0
"#,
        sets: &[],
        message: r#"error: task[0].headers: 0 is out of range, write a whole number from 1 to 16000
 --> x.toml:6:11
  |
6 | headers = 0
  |           ^ write a whole number from 1 to 16000"#,
    },
    Case {
        name: "build_header",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
header = "0 pages"
"#,
        sets: &[],
        message: r#"error: task[0].header: "0 pages" is too small, write at least "1 page"
 --> x.toml:6:10
  |
6 | header = "0 pages"
  |          ^^^^^^^^^ write at least "1 page""#,
    },
    Case {
        name: "build_header_reads",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
header-reads = 100001
"#,
        sets: &[],
        message: r#"error: task[0].header-reads: 100001 is out of range, write a whole number from 0 to 100000
 --> x.toml:6:16
  |
6 | header-reads = 100001
  |                ^^^^^^ write a whole number from 0 to 100000"#,
    },
    Case {
        name: "build_header_zipf",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
header-zipf = -0.5
"#,
        sets: &[],
        message: r#"error: task[0].header-zipf: -0.5 is out of range, write a number from 0 to 10
 --> x.toml:6:15
  |
6 | header-zipf = -0.5
  |               ^^^^ write a number from 0 to 10"#,
    },
    Case {
        name: "build_sources",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
sources = 16001
"#,
        sets: &[],
        message: r#"error: task[0].sources: 16001 is out of range, write a whole number from 1 to 16000
 --> x.toml:6:11
  |
6 | sources = 16001
  |           ^^^^^ write a whole number from 1 to 16000"#,
    },
    Case {
        name: "build_source",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
source = "20KB"
"#,
        sets: &[],
        message: r#"error: task[0].source: "20KB" has the unknown unit "KB" (known: B, KiB, MiB, GiB, TiB, page, pages), write "20KiB"
 --> x.toml:6:10
  |
6 | source = "20KB"
  |          ^^^^^^ write "20KiB""#,
    },
    Case {
        name: "build_anon_min",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
anon-min = "0 pages"
"#,
        sets: &[],
        message: r#"error: task[0].anon-min: "0 pages" is too small, write at least "1 page"
 --> x.toml:6:12
  |
6 | anon-min = "0 pages"
  |            ^^^^^^^^^ write at least "1 page""#,
    },
    Case {
        name: "build_anon_bounds",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
anon-min = "40MiB"
anon-max = "20MiB"
"#,
        sets: &[],
        message: r#"error: task[0].anon-max: 20MiB is less than `anon-min`, which is 40MiB, write "40MiB" or more, or change `anon-min`
 --> x.toml:7:12
  |
7 | anon-max = "20MiB"
  |            ^^^^^^^ write "40MiB" or more, or change `anon-min`"#,
    },
    Case {
        name: "build_anon_min_above_default",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
anon-min = "80MiB"
"#,
        sets: &[],
        message: r#"error: task[0].anon-min: 80MiB is more than `anon-max`, which is 60MiB, write "60MiB" or less, or change `anon-max`
 --> x.toml:6:12
  |
6 | anon-min = "80MiB"
  |            ^^^^^^^ write "60MiB" or less, or change `anon-max`"#,
    },
    Case {
        name: "build_anon_max_below_default",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
anon-max = "10MiB"
"#,
        sets: &[],
        message: r#"error: task[0].anon-max: 10MiB is less than `anon-min`, which is 20MiB, write "20MiB" or more, or change `anon-min`
 --> x.toml:6:12
  |
6 | anon-max = "10MiB"
  |            ^^^^^^^ write "20MiB" or more, or change `anon-min`"#,
    },
    Case {
        name: "build_bursts",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
bursts = 0
"#,
        sets: &[],
        message: r#"error: task[0].bursts: 0 is out of range, write a whole number from 1 to 1000
 --> x.toml:6:10
  |
6 | bursts = 0
  |          ^ write a whole number from 1 to 1000"#,
    },
    Case {
        name: "build_passes",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
passes = -1
"#,
        sets: &[],
        message: r#"error: task[0].passes: -1 is negative, write a whole number from 0 to 1000
 --> x.toml:6:10
  |
6 | passes = -1
  |          ^^ write a whole number from 0 to 1000"#,
    },
    Case {
        name: "build_compute",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
compute-min = 300
"#,
        sets: &[],
        message: r#"error: task[0].compute-min: 300 has no unit, write "300ms"
 --> x.toml:6:15
  |
6 | compute-min = 300
  |               ^^^ write "300ms""#,
    },
    Case {
        name: "build_compute_bounds",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
compute-min = "2s"
compute-max = "1s"
"#,
        sets: &[],
        message: r#"error: task[0].compute-max: 1s is less than `compute-min`, which is 2s, write "2s" or more, or change `compute-min`
 --> x.toml:7:15
  |
7 | compute-max = "1s"
  |               ^^^^ write "2s" or more, or change `compute-min`"#,
    },
    Case {
        name: "build_compute_above_default",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
compute-min = "2s"
"#,
        sets: &[],
        message: r#"error: task[0].compute-min: 2s is more than `compute-max`, which is 1300ms, write "1300ms" or less, or change `compute-max`
 --> x.toml:6:15
  |
6 | compute-min = "2s"
  |               ^^^^ write "1300ms" or less, or change `compute-max`"#,
    },
    Case {
        name: "build_object_min",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
object-min = "20 KB"
"#,
        sets: &[],
        message: r#"error: task[0].object-min: "20 KB" has the unknown unit "KB" (known: B, KiB, MiB, GiB, TiB, page, pages), write "20KiB"
 --> x.toml:6:14
  |
6 | object-min = "20 KB"
  |              ^^^^^^^ write "20KiB""#,
    },
    Case {
        name: "build_object_bounds",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
object-min = "200KiB"
object-max = "100KiB"
"#,
        sets: &[],
        message: r#"error: task[0].object-max: 25 pages is less than `object-min`, which is 50 pages, write "50 pages" or more, or change `object-min`
 --> x.toml:7:14
  |
7 | object-max = "100KiB"
  |              ^^^^^^^^ write "50 pages" or more, or change `object-min`"#,
    },
    Case {
        name: "build_files",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
object-max = "3GiB"
"#,
        sets: &[],
        message: r#"error: task[0].object-max: all files of the build are 4718625240 pages, too many, write a smaller size, or fewer files
 --> x.toml:6:14
  |
6 | object-max = "3GiB"
  |              ^^^^^^ write a smaller size, or fewer files"#,
    },
    Case {
        name: "build_text_too_large",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
text = "16383GiB"
object-max = "200KiB"
"#,
        sets: &[],
        message: r#"error: task[0].text: all files of the build are 8589733304 pages, too many, write a smaller size, or fewer files
 --> x.toml:6:8
  |
6 | text = "16383GiB"
  |        ^^^^^^^^^^ write a smaller size, or fewer files"#,
    },
    Case {
        name: "build_link_every",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
link-every = 1001
"#,
        sets: &[],
        message: r#"error: task[0].link-every: 1001 is out of range, write a whole number from 0 to 1000
 --> x.toml:6:14
  |
6 | link-every = 1001
  |              ^^^^ write a whole number from 0 to 1000"#,
    },
    Case {
        name: "build_unmovable",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
unmovable = 1.5
"#,
        sets: &[],
        message: r#"error: task[0].unmovable: found a number with decimals (1.5), write a whole number from 0 to 1000000
 --> x.toml:6:13
  |
6 | unmovable = 1.5
  |             ^^^ write a whole number from 0 to 1000000"#,
    },
    Case {
        name: "build_reclaimable",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "build"
records = 1
reclaimable = "200"
"#,
        sets: &[],
        message: r#"error: task[0].reclaimable: found a string ("200"), write a whole number from 0 to 1000000
 --> x.toml:6:15
  |
6 | reclaimable = "200"
  |               ^^^^^ write a whole number from 0 to 1000000"#,
    },
];
