//! Mistakes in `[[task]]` that any workload can have, and those of simple workloads.

use super::Case;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "key_of_another_workload",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
passes = 3
"#,
        sets: &[],
        message: r#"error: task[0]: unknown key `passes`
 --> x.toml:7:1
  |
7 | passes = 3
  | ^^^^^^ not a known key
  |
  = help: known: workload, name, threads, processes, memcg, start, memory, accesses, duration, windows, write-permille, map, region, files, think"#,
    },
    Case {
        name: "time_that_does_not_pass",
        text: r#"[machine]
memory = "16MiB"
cost = { t_hit = "0ns" }
[[task]]
workload = "uniform"
memory = "1MiB"
duration = "1ms"
"#,
        sets: &[],
        message: r#"error: task[0].duration: time would not pass, since machine.cost.t_hit is "0ns", write `accesses` instead, or a `think` time
 --> x.toml:7:12
  |
7 | duration = "1ms"
  |            ^^^^^ write `accesses` instead, or a `think` time"#,
    },
    Case {
        name: "unknown_workload",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "unifrom"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: task[0].workload: unknown workload `unifrom`, did you mean `uniform`?
 --> x.toml:4:12
  |
4 | workload = "unifrom"
  |            ^^^^^^^^^ write `uniform`
  |
  = help: known: ebizzy, zipf, uniform, sequential, cyclic, phased, replay, script, masim, kernel-alloc, fragment, highalloc, build, apps, reader"#,
    },
    Case {
        name: "missing_workload",
        text: r#"[machine]
memory = "64MiB"
[[task]]
memory = "1MiB"
"#,
        sets: &[],
        message: r#"error: task[0]: `workload` is missing
 --> x.toml:3:1
  |
3 | [[task]]
  | ^^^^^^^^ add `workload`: "ebizzy", "zipf", "uniform", "sequential", "cyclic", "phased", "replay", "script", "masim", "kernel-alloc", "fragment", "highalloc", "build", "apps" or "reader""#,
    },
    Case {
        name: "unknown_memcg",
        text: r#"[machine]
memory = "64MiB"
[[machine.memcg]]
name = "service"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
memcg = "servce"
"#,
        sets: &[],
        message: r#"error: task[0].memcg: unknown memory cgroup `servce`, did you mean `service`?
 --> x.toml:9:9
  |
9 | memcg = "servce"
  |         ^^^^^^^^ write `service`
  |
  = help: known: service"#,
    },
    Case {
        name: "memcg_without_any",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
memcg = "a"
"#,
        sets: &[],
        message: r#"error: task[0].memcg: unknown memory cgroup `a`
 --> x.toml:7:9
  |
7 | memcg = "a"
  |         ^^^ there is no memory cgroup to choose from"#,
    },
    Case {
        name: "missing_trace",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "replay"
trace = "none.trace"
"#,
        sets: &[],
        message: r#"error: task[0].trace: there is no file `none.trace`, write a name relative to the scenario file
 --> x.toml:5:9
  |
5 | trace = "none.trace"
  |         ^^^^^^^^^^^^ write a name relative to the scenario file"#,
    },
    Case {
        name: "trace_is_a_directory",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "replay"
trace = "."
"#,
        sets: &[],
        message: r#"error: task[0].trace: `.` is a directory, write the name of a file
 --> x.toml:5:9
  |
5 | trace = "."
  |         ^^^ write the name of a file"#,
    },
    Case {
        name: "missing_key",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "cyclic"
memory = "1MiB"
"#,
        sets: &[],
        message: r#"error: task[0]: `passes` is missing
 --> x.toml:3:1
  |
3 | [[task]]
  | ^^^^^^^^ add `passes`: a whole number from 1 to 4294967295"#,
    },
    Case {
        name: "no_end_of_work",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
"#,
        sets: &[],
        message: r#"error: task[0]: needs `accesses` or `duration`
 --> x.toml:3:1
  |
3 | [[task]]
  | ^^^^^^^^ add `accesses`: a whole number from 1 up"#,
    },
    Case {
        name: "two_ends_of_work",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
duration = "10s"
"#,
        sets: &[],
        message: r#"error: task[0]: `accesses` and `duration` contradict each other
 --> x.toml:7:1
  |
7 | duration = "10s"
  | ^^^^^^^^ leave one of them out"#,
    },
    Case {
        name: "no_time_at_all",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
duration = "0s"
"#,
        sets: &[],
        message: r#"error: task[0].duration: no time at all, write a duration such as "10s"
 --> x.toml:6:12
  |
6 | duration = "0s"
  |            ^^^^ write a duration such as "10s""#,
    },
    Case {
        name: "duplicate_task_name",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
name = "a"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
name = "a"
"#,
        sets: &[],
        message: r#"error: task[1].name: "a" names two tasks, write another name
  --> x.toml:12:8
   |
12 | name = "a"
   |        ^^^ write another name"#,
    },
    Case {
        name: "zipf_and_generator",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "ebizzy"
memory = "1MiB"
records = 1
zipf = 0.5
generator = "lcg"
"#,
        sets: &[],
        message: r#"error: task[0]: `zipf` and `generator` contradict each other
 --> x.toml:8:1
  |
8 | generator = "lcg"
  | ^^^^^^^^^ leave one of them out"#,
    },
    Case {
        name: "part_of_a_chunk",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "ebizzy"
memory = "1000KiB"
records = 1
"#,
        sets: &[],
        message: r#"error: task[0].memory: 250 pages is not a whole number of chunks of 128 pages, write "1MiB"
 --> x.toml:5:10
  |
5 | memory = "1000KiB"
  |          ^^^^^^^^^ write "1MiB""#,
    },
    Case {
        name: "script_two_sources",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "script"
file = "a"
commands = ["b"]
"#,
        sets: &[],
        message: r#"error: task[0]: `file` and `commands` contradict each other
 --> x.toml:6:1
  |
6 | commands = ["b"]
  | ^^^^^^^^ leave one of them out"#,
    },
    Case {
        name: "script_not_strings",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "script"
commands = ["b", 3]
"#,
        sets: &[],
        message: r#"error: task[0].commands[1]: found a whole number (3), write a string
 --> x.toml:5:18
  |
5 | commands = ["b", 3]
  |                  ^ write a string"#,
    },
];
