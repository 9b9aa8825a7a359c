//! Presets and knobs of the policy that are not there, or not of this preset.

use super::Case;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "unknown_preset",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[reclaim]
preset = "clasic-v5.9"
"#,
        sets: &[],
        message: r#"error: reclaim: unknown preset `clasic-v5.9`, did you mean `classic-v5.9`?
 --> x.toml:8:10
  |
8 | preset = "clasic-v5.9"
  |          ^^^^^^^^^^^^^ write `classic-v5.9`
  |
  = help: known: classic-v5.5, classic-v5.8, classic-v5.8+prot, classic-v5.9, classic-v6.1, classic-v6.12, classic-seed-2, classic-seed-9fix, mglru-v6.12, random"#,
    },
    Case {
        name: "preset_without_version",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[reclaim]
preset = "classic"
"#,
        sets: &[],
        message: r#"error: reclaim: unknown preset `classic`, did you mean `classic-v6.12`, the newest of them?
 --> x.toml:8:10
  |
8 | preset = "classic"
  |          ^^^^^^^^^ write `classic-v6.12`
  |
  = help: known: classic-v5.5, classic-v5.8, classic-v5.8+prot, classic-v5.9, classic-v6.1, classic-v6.12, classic-seed-2, classic-seed-9fix, mglru-v6.12, random"#,
    },
    Case {
        name: "unknown_preset_of_variant",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[[variant]]
name = "a"
reclaim = { preset = "v5.8+prot" }
"#,
        sets: &[],
        message: r#"error: reclaim: unknown preset `v5.8+prot`, did you mean `classic-v5.8+prot`?
 --> x.toml:9:22
  |
9 | reclaim = { preset = "v5.8+prot" }
  |                      ^^^^^^^^^^^ write `classic-v5.8+prot`
  |
  = help: known: classic-v5.5, classic-v5.8, classic-v5.8+prot, classic-v5.9, classic-v6.1, classic-v6.12, classic-seed-2, classic-seed-9fix, mglru-v6.12, random"#,
    },
    Case {
        name: "unknown_knob",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[[variant]]
name = "a"
reclaim = { preset = "classic-v5.5", anon_star = "inactive" }
"#,
        sets: &[],
        message: r#"error: reclaim (classic-v5.5): unknown knob `anon_star`, did you mean `anon-start`?
 --> x.toml:9:38
  |
9 | reclaim = { preset = "classic-v5.5", anon_star = "inactive" }
  |                                      ^^^^^^^^^ write `anon-start`
  |
  = help: known: anon-start, inactive-ratio"#,
    },
    Case {
        name: "knob_without_meaning",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[reclaim]
preset = "random"
anon-start = "inactive"
"#,
        sets: &[],
        message: r#"error: reclaim (random): "anon-start" is no knob of this policy
 --> x.toml:9:1
  |
9 | anon-start = "inactive"
  | ^^^^^^^^^^ it is one of classic-seed-9fix; write another preset, or leave it out"#,
    },
    Case {
        name: "bad_knob_value",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[reclaim]
anon-start = "warm"
"#,
        sets: &[],
        message: r#"error: reclaim.anon-start: warm does not fit, write another value
 --> x.toml:8:14
  |
8 | anon-start = "warm"
  |              ^^^^^^ does not fit classic-v6.12"#,
    },
    Case {
        name: "preset_that_variants_replace",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "uniform"
memory = "1MiB"
accesses = 10
[reclaim]
preset = "classic-seed-10"
[[variant]]
name = "old"
kernel = "5.5"
[[variant]]
name = "own"
reclaim = { preset = "classic-v6.1" }
"#,
        sets: &[],
        message: r#"error: reclaim: unknown preset `classic-seed-10`, did you mean `classic-seed-2`?
 --> x.toml:8:10
  |
8 | preset = "classic-seed-10"
  |          ^^^^^^^^^^^^^^^^^ write `classic-seed-2`
  |
  = help: known: classic-v5.5, classic-v5.8, classic-v5.8+prot, classic-v5.9, classic-v6.1, classic-v6.12, classic-seed-2, classic-seed-9fix, mglru-v6.12, random"#,
    },
];
