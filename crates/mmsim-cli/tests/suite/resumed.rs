//! `--store`: commands that were killed go on, and print what they print at once.

use std::process::Stdio;
use std::time::Duration;

use crate::errors::tunes::PLAN;
use crate::harness::{Folder, heap_and_file};

const SUITE: &str = "\
version = 1
name = \"s\"
seeds = 2
held-out = 1
[[scenario]]
file = \"x.toml\"
variant = \"v6.12\"
";

/// Killed by a signal that cannot be caught, and then given again: the bytes of an undisturbed
/// command.
#[test]
fn killed_commands_go_on() {
    let f = Folder::new();
    f.write("x.toml", heap_and_file(8, 10, 4));
    let plan = "name = \"p\"\nvariant = \"v6.12\"\nbudget = 12";
    f.write("p.toml", PLAN.replace("budget = 20", plan));
    f.write("s.toml", SUITE);
    f.write("k.toml", "version = 1\npolicy = \"random\"\n");
    let requests: Vec<u8> = (0..60_000_u32).flat_map(|i| (i * i % 4001).to_le_bytes()).collect();
    f.write("t.u32", requests);
    let ablate =
        ["--variant", "v5.9", "--switch", "anon-start=active", "--seeds", "2", "--format", "json"];
    let commands: [&[&str]; 5] = [
        &["run", "x.toml", "--seeds", "3", "--format", "json"],
        &["tune", "p.toml", "--format", "json"],
        &["evaluate", "--suite", "s.toml", "--policy", "k.toml"],
        &[&["ablate", "x.toml"], &ablate[..]].concat(),
        &["curve", "t.u32", "--memory", "1000,2000,3000", "--format", "csv"],
    ];
    for (nth, args) in commands.into_iter().enumerate() {
        let at_once = f.mmsim(args);
        assert_eq!(at_once.code, Some(0), "{args:?}: {}", at_once.stderr);
        let store = format!("store-{nth}");
        let kept = [args, &["--store", &store, "--jobs", "2"]].concat();
        for pause in [40, 120] {
            let mut command = f.command(&kept);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(pause));
            child.kill().expect("it is there, or a zombie");
            child.wait().expect("its end");
        }
        for _ in 0..2 {
            let rest = f.mmsim(&kept);
            assert_eq!((rest.code, &rest.stdout), (Some(0), &at_once.stdout), "{}", rest.stderr);
        }
    }
    let other =
        f.mmsim(&["evaluate", "--suite", "s.toml", "--policy", "k.toml", "--store", "store-1"]);
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert!(
        other.stderr.contains("is of the sweep `tune p`, not of `evaluate s`"),
        "{}",
        other.stderr
    );
}
