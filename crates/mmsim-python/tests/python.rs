//! The package as Python sees it: the tests of this folder, run by the Python that is there.
//!
//! They compare it with the command, which `cargo test --workspace` builds beside it. Without a
//! Python from 3.10 on nothing is run, and the test says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first Python of this list that is of 3.10 or later.
fn python() -> Option<&'static str> {
    const NAMES: [&str; 6] =
        ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];
    const ASK: &str = "import sys; sys.exit(sys.version_info < (3, 10))";
    let new = |name: &&str| {
        Command::new(name).args(["-c", ASK]).output().is_ok_and(|out| out.status.success())
    };
    NAMES.into_iter().find(new)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let name = path.file_name().expect("a name");
            fs::copy(&path, to.join(name)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
    }
}

/// The package with the library that was built beside this test, in a folder of its own.
fn package(deps: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let _ = fs::remove_dir_all(&folder);
    let to = folder.join("mmsim");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("python/mmsim"), &to);
    let (from, name) = match std::env::consts::OS {
        "windows" => ("_mmsim.dll", "_mmsim.pyd"),
        "macos" => ("lib_mmsim.dylib", "_mmsim.abi3.so"),
        _ => ("lib_mmsim.so", "_mmsim.abi3.so"),
    };
    fs::copy(deps.join(from), to.join(name)).expect("the library was built");
    folder
}

#[test]
fn the_tests_in_python() {
    let Some(python) = python() else {
        // `.ci/run` says that these were skipped.
        return;
    };
    let exe = std::env::current_exe().expect("this test");
    let deps = exe.parent().expect("a folder");
    let command = deps.with_file_name(format!("mmsim{}", std::env::consts::EXE_SUFFIX));
    let mut run = Command::new(python);
    run.args(["-m", "unittest", "discover", "--start-directory", "tests"]);
    run.current_dir(env!("CARGO_MANIFEST_DIR"));
    run.env("PYTHONPATH", package(deps)).env("PYTHONDONTWRITEBYTECODE", "1");
    if command.exists() {
        run.env("MMSIM_COMMAND", command);
    }
    let out = run.output().expect("Python runs");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}{}", String::from_utf8_lossy(&out.stdout));
    assert!(said.contains("\nRan ") && !said.contains("\nRan 0 "), "{said}");
}
