//! Init of the recording machine: sets the kernel up, works off `/script` and prints what was
//! counted (`record.rs` of the library), then powers off. A command that fails ends the run
//! with an `@error` line: a recording is whole or none.

mod child;
mod process;
mod regions;
mod run;
mod sys;

use mmsim_recorder::script;

fn main() {
    if std::process::id() != 1 {
        eprintln!("this is init of the recording machine, and powers it off: see record.sh");
        std::process::exit(2);
    }
    match recorded() {
        Ok(()) => println!("@done"),
        Err(what) => println!("@error {what}"),
    }
    sys::power_off();
}

fn recorded() -> Result<(), String> {
    sys::mount("proc", "/proc")?;
    sys::mount("sysfs", "/sys")?;
    // Not every kernel has it; scripts that need it say so when they write there.
    let _ = sys::mount("debugfs", "/sys/kernel/debug");
    sys::mount("devtmpfs", "/dev")?;
    sys::open_console()?;
    // Each line: a file, and what it is loaded with.
    let modules = read("/mods/list")?;
    for line in modules.lines() {
        let (file, args) = line.split_once(' ').unwrap_or((line, ""));
        let path = format!("/mods/{file}");
        sys::load_module(&path, args)?;
        // The root is a ramfs: what has been loaded need not stay in memory.
        std::fs::remove_file(&path).map_err(|e| format!("{path}: {e}"))?;
    }
    let text = read("/script")?;
    println!("@kernel {}", read("/proc/sys/kernel/osrelease")?.trim());
    let cpu = |l: &&str| l.starts_with("cpu") && !l.starts_with("cpu ");
    println!("@cpus {}", read("/proc/stat")?.lines().filter(cpu).count());
    text.lines().for_each(|l| println!("@script {l}"));
    let commands = script::parse(&text).map_err(|e| e.to_string())?;
    run::all(&commands)
}

/// The text of `/proc/vmstat`, with what CPUs have counted for nodes and zones folded in.
fn vmstat() -> Result<String, String> {
    read("/proc/sys/vm/stat_refresh")?;
    read("/proc/vmstat")
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))
}
