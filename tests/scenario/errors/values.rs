//! Values of the wrong type, without their unit, or out of range, wherever they stand.

use super::Case;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "missing_unit_string",
        text: r#"[machine]
memory = "64"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.memory: "64" has no unit, write "64MiB"
 --> x.toml:2:10
  |
2 | memory = "64"
  |          ^^^^ write "64MiB""#,
    },
    Case {
        name: "missing_unit_number",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = 64
accesses = 10
"#,
        sets: &[],
        message: r#"error: task[0].memory: 64 has no unit, write "64MiB"
 --> x.toml:5:10
  |
5 | memory = 64
  |          ^^ write "64MiB""#,
    },
    Case {
        name: "wrong_unit",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "64MB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: task[0].memory: "64MB" has the unknown unit "MB" (known: B, KiB, MiB, GiB, TiB, page, pages), write "64MiB"
 --> x.toml:5:10
  |
5 | memory = "64MB"
  |          ^^^^^^ write "64MiB""#,
    },
    Case {
        name: "duration_for_size",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "64ms"
accesses = 10
"#,
        sets: &[],
        message: r#"error: task[0].memory: "64ms" is a duration, not a size, write "64MiB"
 --> x.toml:5:10
  |
5 | memory = "64ms"
  |          ^^^^^^ write "64MiB""#,
    },
    Case {
        name: "size_for_duration",
        text: r#"[machine]
memory = "64MiB"
tick = "3MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.tick: "3MiB" is a size, not a duration, write "3ms"
 --> x.toml:3:8
  |
3 | tick = "3MiB"
  |        ^^^^^^ write "3ms""#,
    },
    Case {
        name: "missing_unit_of_duration",
        text: r#"[machine]
memory = "64MiB"
tick = 3
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.tick: 3 has no unit, write "3ms"
 --> x.toml:3:8
  |
3 | tick = 3
  |        ^ write "3ms""#,
    },
    Case {
        name: "negative_size",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "-1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: task[0].memory: "-1MiB" is negative, write "1MiB"
 --> x.toml:5:10
  |
5 | memory = "-1MiB"
  |          ^^^^^^^ write "1MiB""#,
    },
    Case {
        name: "negative_number_for_size",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = -64
accesses = 10
"#,
        sets: &[],
        message: r#"error: task[0].memory: -64 is negative, write "64MiB"
 --> x.toml:5:10
  |
5 | memory = -64
  |          ^^^ write "64MiB""#,
    },
    Case {
        name: "part_of_a_page",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1000B"
accesses = 10
"#,
        sets: &[],
        message: r#"error: task[0].memory: "1000B" is not a whole number of pages of 4KiB, write "1 page"
 --> x.toml:5:10
  |
5 | memory = "1000B"
  |          ^^^^^^^ write "1 page""#,
    },
    Case {
        name: "size_too_large",
        text: r#"[machine]
memory = "20000GiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.memory: "20000GiB" is too large, write at most "16383GiB"
 --> x.toml:2:10
  |
2 | memory = "20000GiB"
  |          ^^^^^^^^^^ write at most "16383GiB""#,
    },
    Case {
        name: "memory_too_small",
        text: r#"[machine]
memory = "512KiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.memory: "512KiB" is too small, write at least "1MiB"
 --> x.toml:2:10
  |
2 | memory = "512KiB"
  |          ^^^^^^^^ write at least "1MiB""#,
    },
    Case {
        name: "zero_cpus",
        text: r#"[machine]
memory = "64MiB"
cpus = 0
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.cpus: 0 is out of range, write a whole number from 1 to 1024
 --> x.toml:3:8
  |
3 | cpus = 0
  |        ^ write a whole number from 1 to 1024"#,
    },
    Case {
        name: "negative_cpus",
        text: r#"[machine]
memory = "64MiB"
cpus = -1
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.cpus: -1 is out of range, write a whole number from 1 to 1024
 --> x.toml:3:8
  |
3 | cpus = -1
  |        ^^ write a whole number from 1 to 1024"#,
    },
    Case {
        name: "huge_number",
        text: r#"[machine]
memory = "64MiB"
cpus = 99999999999999999999999
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.cpus: 99999999999999999999999 is out of range, write a whole number from 1 to 1024
 --> x.toml:3:8
  |
3 | cpus = 99999999999999999999999
  |        ^^^^^^^^^^^^^^^^^^^^^^^ write a whole number from 1 to 1024"#,
    },
    Case {
        name: "wrong_type",
        text: r#"[machine]
memory = "64MiB"
cpus = "8"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.cpus: found a string ("8"), write a whole number from 1 to 1024
 --> x.toml:3:8
  |
3 | cpus = "8"
  |        ^^^ write a whole number from 1 to 1024"#,
    },
    Case {
        name: "wrong_type_flag",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[[task]]
workload = "cyclic"
memory = "1MiB"
passes = 1
write = "yes"
"#,
        sets: &[],
        message: r#"error: task[1].write: found a string ("yes"), write true or false
  --> x.toml:11:9
   |
11 | write = "yes"
   |         ^^^^^ write true or false"#,
    },
    Case {
        name: "kernel_as_number",
        text: r#"[machine]
kernel = 6.12
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.kernel: found a number with decimals (6.12), write "4.1", "5.5", "5.8", "5.9", "6.1" or "6.12"
 --> x.toml:2:10
  |
2 | kernel = 6.12
  |          ^^^^ write "4.1", "5.5", "5.8", "5.9", "6.1" or "6.12""#,
    },
    Case {
        name: "out_of_range",
        text: r#"[machine]
memory = "64MiB"
vm = { swappiness = 201 }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.vm.swappiness: 201 is out of range, write a whole number from 0 to 200
 --> x.toml:3:21
  |
3 | vm = { swappiness = 201 }
  |                     ^^^ write a whole number from 0 to 200"#,
    },
    Case {
        name: "number_out_of_range",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "zipf"
memory = "1MiB"
accesses = 10
theta = 11.5
"#,
        sets: &[],
        message: r#"error: task[0].theta: 11.5 is out of range, write a number from 0 to 10
 --> x.toml:7:9
  |
7 | theta = 11.5
  |         ^^^^ write a number from 0 to 10"#,
    },
    Case {
        name: "number_is_nan",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "zipf"
memory = "1MiB"
accesses = 10
theta = nan
"#,
        sets: &[],
        message: r#"error: task[0].theta: NaN is out of range, write a number from 0 to 10
 --> x.toml:7:9
  |
7 | theta = nan
  |         ^^^ write a number from 0 to 10"#,
    },
    Case {
        name: "not_a_power_of_two",
        text: r#"[machine]
memory = "64MiB"
vm = { fault_around_bytes = 12288 }
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
"#,
        sets: &[],
        message: r#"error: machine.vm.fault_around_bytes: 12288 is not a power of two, write 4096 or 65536
 --> x.toml:3:29
  |
3 | vm = { fault_around_bytes = 12288 }
  |                             ^^^^^ write 4096 or 65536"#,
    },
];
