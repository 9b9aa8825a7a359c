//! Modules on a machine: the run is that of the chooser in Rust that has the same rules, to the last
//! counter.

use mmsim::report::RunReport;
use mmsim::{Runner, Scenario, machines, registry};
use mmsim_ext::modules;

const MACHINE: &str = r#"
[machine]
memory = "64MiB"
cpus = 2
kernel = "6.6"
[[machine.memcg]]
name = "search"
max = "4MiB"
[reclaim]
preset = "classic-v6.6"
[[task]]
name = "reads"
workload = "reader"
memcg = "search"
items = 200
item = "32KiB"
records = 2000
windows = 1
[[task]]
name = "writes"
workload = "zipf"
memcg = "search"
memory = "3MiB"
region = "read"
accesses = 3000
write-permille = 500
"#;

/// The run with a policy for the group, and with other settings.
fn run(module: &str, more: &[(&str, &str)]) -> RunReport {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.toml");
    std::fs::write(&path, MACHINE).expect("a scenario");
    let set = format!("{{ module = \"{module}\" }}");
    let mut sets = vec![("machine.memcg[0].cache-ext".to_string(), set)];
    sets.extend(more.iter().map(|(key, value)| (key.to_string(), value.to_string())));
    let scenario = Scenario::load(&path, &sets).unwrap_or_else(|e| panic!("{e}"));
    let registry = registry().with_choosers(modules());
    let specs = machines::specs_of(&scenario, &registry).unwrap_or_else(|e| panic!("{e}"));
    let runs = Runner::default().run(specs).unwrap_or_else(|e| panic!("{e}"));
    runs.into_iter().next().expect("one run")
}

fn shipped(name: &str) -> String {
    format!("{}/policies/{name}.wasm", env!("CARGO_MANIFEST_DIR"))
}

/// S3-FIFO is compared where every folio that is offered can go. In Rust a folio that cannot go now stays in its
/// place, which no iteration of cache_ext can do that moves the folios around it.
#[test]
fn modules_run_as_choosers_in_rust() {
    const ALONE: &[(&str, &str)] = &[
        ("machine.cpus", "1"),
        ("machine.memory", "128MiB"),
        ("machine.memcg[0].max", "16MiB"),
        ("task[0].items", "1500"),
        ("task[0].records", "3000"),
        ("task[1].write-permille", "0"),
    ];
    let all = [
        ("fifo", "fifo", &[][..]),
        ("mru", "mru", &[]),
        ("lfu", "lfu", &[]),
        ("s3fifo", "s3-fifo", ALONE),
    ];
    for (module, builtin, more) in all {
        let compiled = run(&shipped(module), more);
        let native = run(&format!("builtin:{builtin}"), more);
        let of = &compiled.cache_ext[0];
        assert!(of.offered > 1000 && of.evicted > 1000, "{module}: {of:?}");
        assert_eq!(of.offered, native.cache_ext[0].offered, "{module}");
        assert_eq!(compiled.digest, native.digest, "{module}");
    }
}

/// First in, first out, compiled from C, Rust and Zig for the direct interface.
#[test]
fn direct_modules_run_as_the_chooser_in_rust() {
    let native = run("builtin:fifo", &[]);
    for language in ["c", "rs", "zig"] {
        let direct = run(&shipped(&format!("direct/fifo_{language}")), &[]);
        let of = &direct.cache_ext[0];
        assert!(of.offered > 1000 && of.evicted > 1000, "{language}: {of:?}");
        assert_eq!(of.tallies.iter().find(|t| t.0 == "no_folio").map(|t| *t.1), Some(0));
        assert_eq!(direct.digest, native.digest, "{language}");
    }
}

/// The same module gives the same run, whatever ran before.
#[test]
fn runs_repeat() {
    let sieve = shipped("sieve");
    assert_eq!(run(&sieve, &[]).digest, run(&sieve, &[]).digest);
}
