//! The compiled modules are those of their sources and of the headers.

use std::path::{Path, PathBuf};
use std::process::Command;

use mmsim::base::digest::Digest;
use mmsim_ext::build::{HEADERS, arguments, write_headers};

/// The compiled modules, by their paths without endings.
const MODULES: [&str; 10] = [
    "policies/fifo",
    "policies/get_scan",
    "policies/lfu",
    "policies/mru",
    "policies/s3fifo",
    "policies/sieve",
    "tests/modules/cheats",
    "tests/modules/hostile",
    "tests/modules/idioms",
    "tests/modules/two_ops",
];

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

#[test]
fn modules_are_those_of_their_sources() {
    let digests: String = MODULES.iter().map(|name| digest(name)).collect();
    let list = path("policies/built", ".txt");
    if std::env::var_os("MMSIM_BLESS").is_some() {
        MODULES.iter().for_each(|name| compile(name));
        std::fs::write(&list, &digests).expect("the list is written");
    }
    let built = std::fs::read_to_string(&list).unwrap_or_default();
    let anew = "compile them anew: MMSIM_BLESS=1 cargo test -p mmsim-ext --test suite shipped";
    assert_eq!(built, digests, "{anew}");
    for name in MODULES {
        let bytes = path(name, ".wasm").metadata().expect("a module").len();
        assert!(bytes <= MOST_BYTES, "{name} has {bytes} bytes");
    }
}
