//! From a policy in C to a module: the headers, and the call of clang that uses them.
//!
//! A source that includes `mmsim.h` is one of the direct interface, and compiled for wasm32.
//!
//! `vmlinux.h` is included ahead of the policy and has the guard of the file that bpftool writes, so a
//! policy that brings its own gets mmsim's structures all the same. Headers of the policy come before
//! those that mmsim has for policies without them.

use std::ffi::OsString;
use std::io;
use std::path::Path;

/// The headers by their paths below a folder: those of cache_ext for Linux 6.6.
pub const HEADERS: [(&str, &str); 7] = [
    ("vmlinux.h", include_str!("../include/cache-ext-6.6/vmlinux.h")),
    ("bpf/bpf_core_read.h", include_str!("../include/cache-ext-6.6/bpf/bpf_core_read.h")),
    ("bpf/bpf_endian.h", include_str!("../include/cache-ext-6.6/bpf/bpf_endian.h")),
    ("bpf/bpf_helpers.h", include_str!("../include/cache-ext-6.6/bpf/bpf_helpers.h")),
    ("bpf/bpf_tracing.h", include_str!("../include/cache-ext-6.6/bpf/bpf_tracing.h")),
    (
        "fallback/cache_ext_lib.bpf.h",
        include_str!("../include/cache-ext-6.6/fallback/cache_ext_lib.bpf.h"),
    ),
    (
        "fallback/dir_watcher.bpf.h",
        include_str!("../include/cache-ext-6.6/fallback/dir_watcher.bpf.h"),
    ),
];

/// The header of the direct interface, by its path below a folder.
pub const DIRECT: (&str, &str) = ("direct/mmsim.h", include_str!("../include/direct/mmsim.h"));

/// Options of clang and of its linker for the direct interface.
const DIRECT_OPTIONS: [&str; 9] = [
    "--target=wasm32-unknown-unknown",
    "-nostdlib",
    "-ffreestanding",
    "-std=gnu11",
    "-O2",
    "-Wl,--no-entry",
    "-Wl,--stack-first",
    "-Wl,-z,stack-size=65536",
    "-Wl,--strip-all",
];

/// Options of clang and of its linker.
const OPTIONS: [&str; 17] = [
    "--target=wasm64-unknown-unknown",
    "-nostdlib",
    "-ffreestanding",
    "-fno-builtin",
    "-std=gnu11",
    "-O2",
    "-g",
    // Debug information has no folder of this machine.
    "-fdebug-compilation-dir=.",
    "-Wl,-mwasm64",
    "-Wl,--no-entry",
    "-Wl,--allow-undefined",
    "-Wl,--export-table",
    "-Wl,--export=__heap_base",
    "-Wl,--stack-first",
    "-Wl,-z,stack-size=65536",
    // Programs that something else attaches are there, too.
    "-Wl,--no-gc-sections",
    "-include",
];

/// Writes the headers below a folder.
///
/// # Errors
///
/// A file or folder cannot be written.
pub fn write_headers(folder: &Path) -> io::Result<()> {
    for (name, text) in HEADERS.into_iter().chain([DIRECT]) {
        let file = folder.join(name);
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(file, text)?;
    }
    Ok(())
}

/// The arguments of clang for a policy, whose headers lie below `headers`.
pub fn arguments(source: &Path, out: &Path, headers: &Path, more: &[OsString]) -> Vec<OsString> {
    let mut prefix = OsString::from("-ffile-prefix-map=");
    prefix.push(headers);
    prefix.push("=headers");
    let beside = source.parent().filter(|folder| *folder != Path::new(""));
    let mut all: Vec<OsString> = OPTIONS.iter().map(Into::into).collect();
    all.extend([
        headers.join("vmlinux.h").into(),
        prefix,
        include(headers),
        include(beside.unwrap_or(Path::new("."))),
        include(&headers.join("fallback")),
    ]);
    all.extend(more.iter().cloned());
    all.extend([source.into(), "-o".into(), out.into()]);
    all
}

/// True if the text of a policy in C is for the direct interface: it includes `mmsim.h`.
pub fn is_direct(text: &str) -> bool {
    let includes = text.lines().filter_map(|line| line.trim_start().strip_prefix('#'));
    let mut includes = includes.filter_map(|line| line.trim_start().strip_prefix("include"));
    includes.any(|name| matches!(name.trim(), "<mmsim.h>" | "\"mmsim.h\""))
}

/// The arguments of clang for a policy of the direct interface.
pub fn direct_arguments(
    source: &Path,
    out: &Path,
    headers: &Path,
    more: &[OsString],
) -> Vec<OsString> {
    let mut all: Vec<OsString> = DIRECT_OPTIONS.iter().map(Into::into).collect();
    all.push(include(&headers.join("direct")));
    all.extend(more.iter().cloned());
    all.extend([source.into(), "-o".into(), out.into()]);
    all
}

fn include(folder: &Path) -> OsString {
    let mut option = OsString::from("-I");
    option.push(folder);
    option
}
