//! Accesses per second of a whole scenario, from text to result. And how long does it take until
//! 20,000 tasks without names could begin: from text to a machine?

#![allow(missing_docs)] // criterion's macros.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mmsim::machine::Watch;
use mmsim::{Scenario, machines};

const TEXT: &str = r#"
schema = 1
name = "bench"
about = "zipf on anonymous memory, two kernels"
seed = 1

[machine]
memory = "64MiB"
cpus = 2
swap = { size = "256MiB", device = "zram" }

[[task]]
workload = "zipf"
memory = "96MiB"
threads = 2
theta = 0.9
accesses = 200000
write-permille = 300

[[variant]]
name = "v5.9"
kernel = "5.9"

[[variant]]
name = "v6.12"
kernel = "6.12"
"#;

/// Digests of both variants.
fn whole() -> Vec<u64> {
    let scenario = Scenario::from_str(TEXT, "bench.toml").expect("a good scenario");
    let runs = scenario.expand(&machines::Catalogue).expect("it expands");
    let digest = |r| machines::machine(r).expect("a machine").run(Watch::default()).digest;
    runs.iter().map(digest).collect()
}

const TASKS: usize = 20_000;

/// Many tasks, each with 16 pages.
fn many() -> String {
    let head = "schema = 1\nname = \"many\"\n\n[machine]\nmemory = \"1GiB\"\ncpus = 8\n";
    let task = "\n[[task]]\nworkload = \"zipf\"\nmemory = \"64KiB\"\naccesses = 10\n";
    head.to_string() + &task.repeat(TASKS)
}

/// From text to a machine that could begin.
fn started(text: &str) -> machines::Machine {
    let scenario = Scenario::from_str(text, "many.toml").expect("a good scenario");
    let runs = scenario.expand(&machines::Catalogue).expect("it expands");
    machines::machine(&runs[0]).expect("a machine")
}

fn scenario(c: &mut Criterion) {
    let first = whole();
    assert_eq!(first.len(), 2);
    assert_ne!(first[0], first[1], "two kernels differ");
    let mut g = c.benchmark_group("scenario");
    // Both variants: accesses and the pages populated before them.
    g.throughput(Throughput::Elements(2 * (200_000 + 96 * 256))).sample_size(10);
    g.bench_function("zipf_two_kernels", |b| b.iter(|| assert_eq!(whole(), first)));
    let text = many();
    assert_eq!(started(&text).run(Watch::default()).tasks.len(), TASKS);
    g.throughput(Throughput::Elements(TASKS as u64));
    g.bench_function("start_20000_tasks", |b| b.iter(|| started(&text)));
    g.finish();
}

criterion_group!(benches, scenario);
criterion_main!(benches);
