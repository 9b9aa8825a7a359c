//! Temporary files of this process, and their removal when a signal ends it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporaries() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a temporary file known, under the lock, so that no signal comes in between.
pub(super) fn begin<T>(make: impl FnOnce() -> std::io::Result<(T, PathBuf)>) -> std::io::Result<T> {
    let mut known = temporaries();
    let (file, path) = make()?;
    known.push(path);
    Ok(file)
}

/// Forgets a temporary file that is gone or has its name.
pub(super) fn forget(path: &Path) {
    temporaries().retain(|p| p != path);
}

/// Ends the process now, and leaves no temporary file.
pub(crate) fn end(code: i32) -> ! {
    // The lock is kept: no new temporary file can appear before the process is gone.
    let known = temporaries();
    for path in known.iter() {
        let _ = fs::remove_file(path);
    }
    std::process::exit(code)
}

/// Makes signals that end a process remove temporary files first. The exit code is the one that
/// shells give: 128 and the number of the signal.
#[cfg(unix)]
pub fn remove_temporaries_on_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::SignalsInfo;
    use signal_hook::iterator::exfiltrator::WithOrigin;

    let mut all = vec![SIGINT, SIGTERM, SIGQUIT, SIGXFSZ];
    // nohup(1) has it ignored, and the command is to outlive its terminal.
    if !ignored(SIGHUP) {
        all.push(SIGHUP);
    }
    // Without handlers a signal may leave a temporary file behind: no reason to stop.
    let Ok(mut signals) = SignalsInfo::<WithOrigin>::new(all) else { return };
    std::thread::spawn(move || {
        let own = i32::try_from(std::process::id()).ok();
        for origin in signals.forever() {
            // A write beyond the limit of file sizes fails too, and that error has words.
            let by_own_write =
                origin.signal == SIGXFSZ && origin.process.is_none_or(|p| Some(p.pid) == own);
            if !by_own_write {
                end(128 + origin.signal);
            }
        }
    });
}

/// True if the parent of this process had a signal ignored, where the system tells.
#[cfg(unix)]
fn ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Makes Ctrl-C remove temporary files before the process ends.
#[cfg(not(unix))]
pub fn remove_temporaries_on_signals() {
    let _ = ctrlc::set_handler(|| end(130));
}
