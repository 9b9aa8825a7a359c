//! Programs of daemons in WebAssembly: they act as the rules that say the same, and those that go
//! wrong are refused or end their run.

use crate::folder::Folder;
use mmsim::report::{DaemonReport, RunReport};
use mmsim::{Runner, Scenario, machines, registry};
use mmsim_score::daemon::modules;

const MACHINE: &str = include_str!("../daemons/kill.toml");
const RULES: &str = include_str!("../daemons/rules.toml");
const KILL: &str = include_str!("../daemons/kill.wat");

/// A daemon that is the module `p.wat`.
fn program(more: &str) -> String {
    format!("\n[[daemon]]\nname = \"watcher\"\nresident = \"64KiB\"\nprogram = \"p.wat\"\n{more}\n")
}

/// The run of the machine with these daemons, beside a module.
fn run(daemons: &str, module: &str) -> Result<RunReport, String> {
    let folder = Folder::with("s.toml", format!("{MACHINE}{daemons}"));
    folder.write("p.wat", module);
    let path = folder.path("s.toml");
    let scenario = Scenario::from_path(path).map_err(|e| e.to_string())?;
    let registry = registry().with_programs(modules());
    let specs = machines::specs_of(&scenario, &registry).map_err(|e| e.to_string())?;
    let runs = Runner::default().run(specs).map_err(|e| e.to_string())?;
    Ok(runs.into_iter().next().expect("one run"))
}

fn daemon(daemons: &str, module: &str) -> DaemonReport {
    let run = run(daemons, module).unwrap_or_else(|e| panic!("{e}"));
    run.daemons.into_iter().next().expect("one daemon")
}

/// When, what, on whom, and what the victim had.
fn acts(daemon: &DaemonReport) -> Vec<(u64, &str, &str, u64)> {
    let all = daemon.acts.iter();
    all.map(|a| (a.at_ns, a.what.as_str(), a.target.as_str(), a.resident_bytes)).collect()
}

/// Both growing tasks die, one after the other. A module whose fuel takes no time reads the same files
/// at the same moments as the rule, so it acts at the same nanosecond on the same process.
#[test]
fn a_module_acts_as_the_rule_that_says_the_same() {
    let (rules, module) = (daemon(RULES, KILL), daemon(&program("fuel-time = \"0ns\""), KILL));
    let hogs = |d: &DaemonReport| d.acts.iter().map(|a| a.target.clone()).collect::<Vec<_>>();
    let mut killed = hogs(&rules);
    killed.sort();
    assert_eq!(killed, ["hog-0", "hog-1"]);
    assert_eq!(acts(&module), acts(&rules));
    assert_eq!((module.looks, module.cpu_ns), (rules.looks, rules.cpu_ns));
}

/// Fuel takes time: at 1 us an instruction the daemon has more CPU time and acts later than at
/// nothing, and a run is the same each time.
#[test]
fn fuel_takes_time() {
    let free = daemon(&program("fuel-time = \"0ns\""), KILL);
    let dear = daemon(&program("fuel-time = \"1us\""), KILL);
    assert!(dear.cpu_ns > free.cpu_ns + dear.looks * 5_000, "{} {}", dear.cpu_ns, free.cpu_ns);
    assert!(dear.acts[0].at_ns > free.acts[0].at_ns);
    let again = run(&program("fuel-time = \"1us\""), KILL).map(|run| run.digest);
    assert_eq!(again, run(&program("fuel-time = \"1us\""), KILL).map(|run| run.digest));
}

/// A module keeps its globals, arms a trigger and is called with its number: with 0 at the first stall,
/// and then it sets memory.high of `work/b`, as its third argument says.
#[test]
fn triggers_call_with_their_numbers() {
    let module = r#"(module
      (import "mmsim" "arm_trigger" (func $arm (param i64 i32 i64 i64) (result i64)))
      (import "mmsim" "group" (func $group (param i32 i32) (result i64)))
      (import "mmsim" "write" (func $write (param i64 i32 i32 i64) (result i64)))
      (memory (export "memory") 1)
      (data (i32.const 0) "work/b")
      (data (i32.const 16) "memory.high")
      (global $armed (mut i64) (i64.const -1))
      (func (export "tick") (param $now i64) (param $fired i64) (result i64)
        (if (i64.lt_s (global.get $armed) (i64.const 0))
          (then (global.set $armed
            (call $arm (i64.const 0) (i32.const 0) (i64.const 1000) (i64.const 1000000)))))
        (if (i64.eq (local.get $fired) (global.get $armed))
          (then (drop (call $write (call $group (i32.const 0) (i32.const 6))
            (i32.const 16) (i32.const 11) (i64.const 1073741824)))))
        (i64.const -1)))"#;
    let limit = "[[machine.memcg]]\nname = \"small\"\nmax = \"8MiB\"\n\
                 [[task]]\nname = \"tight\"\nworkload = \"cyclic\"\nmemcg = \"small\"\n\
                 memory = \"12MiB\"\npasses = 50\nwrite = true\n";
    let swap =
        MACHINE.replace("cpus = 2", "cpus = 2\nswap = { size = \"64MiB\", device = \"ssd\" }");
    let folder = Folder::with("s.toml", format!("{swap}{limit}{}", program("")));
    folder.write("p.wat", module);
    let scenario = Scenario::from_path(folder.path("s.toml")).unwrap_or_else(|e| panic!("{e}"));
    let registry = registry().with_programs(modules());
    let specs = machines::specs_of(&scenario, &registry).unwrap_or_else(|e| panic!("{e}"));
    let run = Runner::default().run(specs).unwrap_or_else(|e| panic!("{e}")).remove(0);
    let act = &run.daemons[0].acts[0];
    assert_eq!((act.what.as_str(), act.target.as_str()), ("memory.high", "work/b"));
    assert_eq!(act.rule, "trigger 0");
}

/// Each mistake is one error that names the module: before the run, or at the tick that makes it.
#[test]
fn mistakes_are_named() {
    let tick = |body: &str| {
        format!("(module (func (export \"tick\") (param i64 i64) (result i64) {body}))")
    };
    let read = "(import \"mmsim\" \"read\" (func $read (param i64 i32 i32) (result i64)))";
    let asks = |memory: &str, at: i32| {
        format!(
            "(module {read} {memory} (func (export \"tick\") (param i64 i64) (result i64)
               (call $read (i64.const 0) (i32.const {at}) (i32.const 9))))"
        )
    };
    let memory = "(memory (export \"memory\") 1)";
    for (module, said) in [
        ("(module)".to_string(), "it does not export `tick`"),
        ("(module (import \"env\" \"clock\" (func)))".to_string(), "it imports `env.clock`; from"),
        ("(module (import \"mmsim\" \"sleep\" (func)))".to_string(), "it imports `mmsim.sleep`"),
        (tick("unreachable"), "a tick traps"),
        (tick("(loop $l (br $l)) (i64.const 0)"), "takes more than 10000000 instructions"),
        (asks(memory, 65_530), "asks for a name at byte 65530 that reaches beyond its memory"),
        (asks("", 0), "it exports no `memory`"),
        ("no module".to_string(), "neither a module of WebAssembly nor its text"),
    ] {
        let error = run(&program(""), &module).err().unwrap_or_else(|| panic!("{module} runs"));
        assert!(error.contains(said) && error.contains("p.wat"), "{said}: {error}");
    }
    let missing = program("").replace("p.wat", "q.wat");
    let error = run(&missing, KILL).expect_err("there is no such file");
    assert!(error.contains("q.wat") && error.contains("daemon[0].program"), "{error}");
    let both = program("earlyoom = {}");
    let error = run(&both, KILL).expect_err("one program");
    assert!(error.contains("earlyoom") && error.contains("program"), "{error}");
}
