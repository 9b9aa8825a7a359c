//! A key of scenario files stands in its row, and at most in one more file: the reader that makes
//! one value of several keys. A third place is a declaration that has to be kept in step by hand.

use std::path::Path;

use mmsim::scenario::tables::all_tables;
use mmsim_core::base::settings::Settings as _;
use mmsim_core::config::VmSysctl;

use super::layers::{code, modules};

/// The crates that could know a key.
const AROUND: [&str; 6] = [
    "mmsim-workload",
    "mmsim-base",
    "mmsim-report",
    "mmsim-language",
    "mmsim-formats",
    "mmsim-study",
];

/// Files that spell a key for another reason.
const OTHERWISE: &[(&str, &str)] = &[
    // Prints scenarios from arguments of damo.
    ("*", "record/kdamonds"),
    // Print scenarios from the kernel's files, and these files again, which have the same names.
    ("*", "system/sysctls"),
    ("*", "system/writer"),
    // Names the keys that change no result.
    ("expect-oom", "scenario/given"),
    // Reads commands that name files of the kernel.
    ("wbt_lat_usec", "script/parse/set_up"),
    // Names the sysctls that only hold from the start on.
    ("nr_hugepages", "live"),
];

#[test]
fn a_key_is_spelled_in_two_files_at_most() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let files = AROUND.iter().flat_map(|name| modules(&crates.join(name).join("src")));
    let code: Vec<(String, String)> =
        files.map(|(name, path)| (name.join("/"), code(&path))).collect();
    // Single words, such as `name`, mean other things elsewhere.
    let keys = all_tables().into_iter().flat_map(|t| t.keys()).map(|k| k.name);
    let mut keys: Vec<&str> = keys.filter(|k| k.contains(['-', '_'])).collect();
    keys.sort_unstable();
    keys.dedup();
    assert!(keys.len() > 80, "only {} keys", keys.len());
    let sysctls: Vec<&str> = VmSysctl::ROWS.iter().map(|row| row.name).collect();
    for key in keys {
        let meant = |file: &str| OTHERWISE.iter().any(|o| [key, "*"].contains(&o.0) && o.1 == file);
        let spelled = code.iter().filter(|(_, c)| c.contains(&format!("\"{key}\"")));
        let files: Vec<&str> = spelled.map(|(f, _)| f.as_str()).filter(|f| !meant(f)).collect();
        // A sysctl's row is in core, and none of these crates needs to spell it.
        let least = usize::from(!sysctls.contains(&key));
        assert!((least..=2).contains(&files.len()), "`{key}` is spelled in {files:?}");
    }
}
