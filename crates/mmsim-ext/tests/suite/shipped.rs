//! The compiled modules are those of their sources and of the headers.

use std::path::{Path, PathBuf};
use std::process::Command;

use mmsim::base::digest::Digest;
use mmsim_ext::build::{DIRECT, HEADERS, arguments, direct_arguments, write_headers};

/// The compiled modules, by their paths without endings.
const MODULES: [&str; 12] = [
    "policies/doorkeeper",
    "policies/fifo",
    "policies/get_scan",
    "policies/lfu",
    "policies/lhd",
    "policies/mru",
    "policies/s3fifo",
    "policies/sieve",
    "tests/modules/cheats",
    "tests/modules/hostile",
    "tests/modules/idioms",
    "tests/modules/two_ops",
];

/// Modules of the direct interface, by the endings of their sources. The arguments of the compilers of
/// Rust and Zig are in the sources.
const DIRECT_MODULES: [&str; 3] =
    ["policies/direct/fifo.c", "policies/direct/fifo.rs", "policies/direct/fifo.zig"];

/// The largest of them. They are small, so the repository holds them: who tests needs no clang.
const MOST_BYTES: u64 = 16 << 10;

fn path(name: &str, ending: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{name}{ending}"))
}

/// The digest of a source with all headers.
fn digest(name: &str) -> String {
    let source = std::fs::read(path(name, ".bpf.c")).expect("a source");
    let mut digest = Digest::new();
    let headers = HEADERS.iter().map(|(_, text)| text.as_bytes());
    for text in headers.chain([&source[..]]) {
        digest.words(text.iter().map(|&byte| byte.into()));
    }
    format!("{name} {:016x}\n", digest.finish())
}

/// Compiles a module as `mmsim policy build` does.
fn compile(name: &str) {
    let headers = tempfile::tempdir().expect("a folder");
    write_headers(headers.path()).expect("the headers are written");
    let more = if name.ends_with("idioms") { vec!["-DDIVIDE".into()] } else { Vec::new() };
    let (source, out) = (path(name, ".bpf.c"), path(name, ".wasm"));
    // The source has the same name everywhere, so that a module does not hold its folder.
    let from = source.file_name().expect("a name");
    let given = arguments(Path::new(from), &out, headers.path(), &more);
    let folder = source.parent().expect("a folder");
    let ended = Command::new("clang").current_dir(folder).args(given).status();
    assert!(ended.expect("clang runs").success(), "{name} is not compiled");
}

/// The module of a source of the direct interface: `fifo.c` becomes `fifo_c.wasm`.
fn direct_module(source: &str) -> PathBuf {
    let (stem, ending) = source.rsplit_once('.').expect("an ending");
    path(stem, &format!("_{ending}.wasm"))
}

/// The digest of a source with the header.
fn direct_digest(source: &str) -> String {
    let text = std::fs::read(path(source, "")).expect("a source");
    let mut digest = Digest::new();
    for text in [DIRECT.1.as_bytes(), &text] {
        digest.words(text.iter().map(|&byte| byte.into()));
    }
    format!("{source} {:016x}\n", digest.finish())
}

/// Compiles a module of the direct interface: `clang`, `rustc` or `zig`.
fn compile_direct(source: &str) {
    let headers = tempfile::tempdir().expect("a folder");
    write_headers(headers.path()).expect("the headers are written");
    let (source, out) = (path(source, ""), direct_module(source));
    let name = source.file_name().expect("a name").to_string_lossy().into_owned();
    let text = std::fs::read_to_string(&source).expect("a source");
    let written = |program: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("//! `{program} ")));
        let line = line.expect("a line with its arguments").trim_end_matches(['`', '.']);
        line.split(' ').filter(|word| *word != name).map(String::from).collect::<Vec<_>>()
    };
    let mut of = match name.rsplit_once('.').expect("an ending").1 {
        "c" => {
            let mut clang = Command::new("clang");
            clang.args(direct_arguments(Path::new(&name), &out, headers.path(), &[]));
            clang
        }
        "rs" => {
            let mut rustc = Command::new("rustc");
            rustc.args(written("rustc")).arg("-o").arg(&out).arg(&name);
            rustc
        }
        _ => {
            let mut zig = Command::new("zig");
            let emit = format!("-femit-bin={}", out.display());
            zig.args(written("zig")).arg(emit).arg(&name);
            zig
        }
    };
    let ended = of.current_dir(source.parent().expect("a folder")).status();
    assert!(ended.expect("the compiler runs").success(), "{name} is not compiled");
}

#[test]
fn modules_are_those_of_their_sources() {
    let all = MODULES.iter().map(|name| digest(name));
    let digests: String =
        all.chain(DIRECT_MODULES.iter().map(|name| direct_digest(name))).collect();
    let list = path("policies/built", ".txt");
    if std::env::var_os("MMSIM_BLESS").is_some() {
        MODULES.iter().for_each(|name| compile(name));
        DIRECT_MODULES.iter().for_each(|source| compile_direct(source));
        std::fs::write(&list, &digests).expect("the list is written");
    }
    let built = std::fs::read_to_string(&list).unwrap_or_default();
    let anew = "compile them anew: MMSIM_BLESS=1 cargo test -p mmsim-ext --test suite shipped";
    assert_eq!(built, digests, "{anew}");
    let modules = MODULES.iter().map(|name| path(name, ".wasm"));
    for module in modules.chain(DIRECT_MODULES.iter().map(|source| direct_module(source))) {
        let bytes = module.metadata().expect("a module").len();
        assert!(bytes <= MOST_BYTES, "{} has {bytes} bytes", module.display());
    }
}
