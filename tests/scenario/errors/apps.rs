//! Mistakes in a task with `workload = "apps"`.

use super::Case;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "apps_interval",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "apps"
apps = 3
mapped = "1MiB"
read = "1MiB"
heap = "1MiB"
interval = "10ms"
launch = "5ms"
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].interval: 10ms is too short, write at least "100ms"
 --> x.toml:9:12
  |
9 | interval = "10ms"
  |            ^^^^^^ write at least "100ms""#,
    },
    Case {
        name: "apps_launch",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "apps"
apps = 3
mapped = "1MiB"
read = "1MiB"
heap = "1MiB"
launch = "20s"
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].launch: 20s is more than `interval`, which is 10s, write "10s" or less, or change `interval`
 --> x.toml:9:10
  |
9 | launch = "20s"
  |          ^^^^^ write "10s" or less, or change `interval`"#,
    },
    Case {
        name: "apps_too_large",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "apps"
apps = 30000
mapped = "1MiB"
read = "1MiB"
heap = "4GiB"
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].heap: 4GiB for each of 30000 apps is too much, write a smaller size, or fewer apps
 --> x.toml:8:8
  |
8 | heap = "4GiB"
  |        ^^^^^^ write a smaller size, or fewer apps"#,
    },
    Case {
        name: "apps_rereads",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "apps"
apps = 3
mapped = "1MiB"
read = "1MiB"
heap = "1MiB"
reread-min = 5
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].reread-min: 5 is more than `reread-max`, which is 4, write "4" or less, or change `reread-max`
 --> x.toml:9:14
  |
9 | reread-min = 5
  |              ^ write "4" or less, or change `reread-max`"#,
    },
    Case {
        name: "apps_permille",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "apps"
apps = 3
mapped = "1MiB"
read = "1MiB"
heap = "1MiB"
cold-permille = 1001
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].cold-permille: 1001 is out of range, write a whole number from 0 to 1000
 --> x.toml:9:17
  |
9 | cold-permille = 1001
  |                 ^^^^ write a whole number from 0 to 1000"#,
    },
    Case {
        name: "apps_order",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "apps"
apps = 3
mapped = "1MiB"
read = "1MiB"
heap = "1MiB"
reuse-order = "stack"
records = 10
"#,
        sets: &[],
        message: r#"error: task[0].reuse-order: unknown reuse-order `stack`
 --> x.toml:9:15
  |
9 | reuse-order = "stack"
  |               ^^^^^^^ not a known reuse-order
  |
  = help: known: random, lifo, fifo"#,
    },
    Case {
        name: "apps_two_ends",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "apps"
apps = 3
mapped = "1MiB"
read = "1MiB"
heap = "1MiB"
records = 10
duration = "10s"
"#,
        sets: &[],
        message: r#"error: task[0]: `records` and `duration` contradict each other
  --> x.toml:10:1
   |
10 | duration = "10s"
   | ^^^^^^^^ leave one of them out"#,
    },
];
