//! Mistakes in the regions and steps of a task with `workload = "phased"`.

use super::Case;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "step_unknown",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = [{ do = "tuoch", region = "cold" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].do: unknown step `tuoch`, did you mean `touch`?
 --> x.toml:6:17
  |
6 | steps = [{ do = "tuoch", region = "cold" }]
  |                 ^^^^^^^ write `touch`
  |
  = help: known: allocate, touch, window, zipf, read, write, madvise, free, sleep, compute, records, drop-caches, memcg-reclaim, phase, repeat"#,
    },
    Case {
        name: "step_advice_for_anonymous_memory",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { log = { pages = 10, kind = "file-shared" } }
steps = [{ do = "madvise", region = "log", advice = "free" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].advice: `free` of `log`, which maps a file: Linux refuses it (EINVAL), write "dontneed" or "pageout"
 --> x.toml:6:53
  |
6 | steps = [{ do = "madvise", region = "log", advice = "free" }]
  |                                                     ^^^^^^ write "dontneed" or "pageout""#,
    },
    Case {
        name: "step_advice_unknown",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 } }
steps = [{ do = "madvise", region = "cold", advice = "pageuot" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].advice: unknown advice `pageuot`, did you mean `pageout`?
 --> x.toml:6:54
  |
6 | steps = [{ do = "madvise", region = "cold", advice = "pageuot" }]
  |                                                      ^^^^^^^^^ write `pageout`
  |
  = help: known: dontneed, free, cold, pageout, willneed, populate-read, populate-write, sequential, random, normal, hugepage, nohugepage"#,
    },
    Case {
        name: "step_region_unknown",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = [{ do = "touch", region = "clod" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].region: unknown region `clod`, did you mean `cold`?
 --> x.toml:6:35
  |
6 | steps = [{ do = "touch", region = "clod" }]
  |                                   ^^^^^^ write `cold`
  |
  = help: known: cold, log"#,
    },
    Case {
        name: "step_beyond_region",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = [{ do = "touch", region = "cold", first = "8 pages", size = "4 pages" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].size: 4 pages reaches beyond the end of `cold`, write at most "2 pages"
 --> x.toml:6:69
  |
6 | steps = [{ do = "touch", region = "cold", first = "8 pages", size = "4 pages" }]
  |                                                                     ^^^^^^^^^ write at most "2 pages""#,
    },
    Case {
        name: "step_maps_unmappable",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = [{ do = "allocate", region = "log" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].region: `log` is never mapped (kind = "read"), write a region of another kind
 --> x.toml:6:38
  |
6 | steps = [{ do = "allocate", region = "log" }]
  |                                      ^^^^^ write a region of another kind"#,
    },
    Case {
        name: "step_reads_anon",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = [{ do = "read", region = "cold" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].region: `cold` is anonymous memory, not a file, write a region with kind = "read"
 --> x.toml:6:34
  |
6 | steps = [{ do = "read", region = "cold" }]
  |                                  ^^^^^^ write a region with kind = "read""#,
    },
    Case {
        name: "step_reads_into_less",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { few = { pages = 2 }, log = { pages = 4, kind = "read" } }
steps = [{ do = "allocate", region = "few" }, { do = "read", region = "log", into = "few" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[1].into: `few` has 2 pages, and what is read ends after 4 pages, write a region that is as long
 --> x.toml:6:85
  |
6 | steps = [{ do = "allocate", region = "few" }, { do = "read", region = "log", into = "few" }]
  |                                                                                     ^^^^^ write a region that is as long"#,
    },
    Case {
        name: "step_reads_into_a_file_that_is_not_mapped",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { log = { pages = 4, kind = "read" } }
steps = [{ do = "read", region = "log", into = "log" }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].into: `log` is never mapped (kind = "read"), write a region of another kind
 --> x.toml:6:48
  |
6 | steps = [{ do = "read", region = "log", into = "log" }]
  |                                                ^^^^^ write a region of another kind"#,
    },
    Case {
        name: "step_key_unknown",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = [{ do = "repeat", times = 2, steps = [{ do = "sleep", tme = "1ms" }] }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].steps[0]: unknown key `tme`, did you mean `time`?
 --> x.toml:6:63
  |
6 | steps = [{ do = "repeat", times = 2, steps = [{ do = "sleep", tme = "1ms" }] }]
  |                                                               ^^^ write `time`
  |
  = help: known: do, time"#,
    },
    Case {
        name: "steps_empty",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = []
"#,
        sets: &[],
        message: r#"error: task[0].steps: no step at all, write at least one
 --> x.toml:6:9
  |
6 | steps = []
  |         ^^ write at least one step"#,
    },
    Case {
        name: "region_two_sizes",
        text: r#"[machine]
memory = "64MiB"
[[task]]
workload = "phased"
regions = { cold = { pages = 10, memory = "1MiB" }, log = { pages = 4, kind = "read" } }
steps = [{ do = "drop-caches" }]
"#,
        sets: &[],
        message: r#"error: task[0].regions.cold: `memory` and `pages` contradict each other
 --> x.toml:5:34
  |
5 | regions = { cold = { pages = 10, memory = "1MiB" }, log = { pages = 4, kind = "read" } }
  |                                  ^^^^^^ leave one of them out"#,
    },
    Case {
        name: "reclaim_swappiness_of_old_kernel",
        text: r#"[machine]
memory = "64MiB"
kernel = "6.1"
[[machine.memcg]]
name = "g"
[[task]]
workload = "phased"
memcg = "g"
regions = { a = { pages = 10 } }
steps = [{ do = "memcg-reclaim", memory = "1MiB", swappiness = 10 }]
"#,
        sets: &[],
        message: r#"error: task[0].steps[0].swappiness: kernel 6.1 takes no swappiness= in memory.reclaim (Linux has it since 6.9), write kernel = "6.12", or leave it out
  --> x.toml:10:64
   |
10 | steps = [{ do = "memcg-reclaim", memory = "1MiB", swappiness = 10 }]
   |                                                                ^^ write kernel = "6.12", or leave it out"#,
    },
];
