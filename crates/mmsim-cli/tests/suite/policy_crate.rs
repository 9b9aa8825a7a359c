//! `mmsim policy new`: the template's library, program and tests are compiled and run here, as the
//! crate `own_policy`. What the command writes is the template under another name, so no test builds
//! a crate.

use std::path::Path;

use crate::golden::Golden;
use crate::harness::{Folder, repository};

#[path = "../../template/src/lib.rs"]
#[allow(unreachable_pub, dead_code, reason = "public in the crate that it is written for")]
pub(crate) mod library;
#[path = "../../template/src/main.rs"]
#[allow(dead_code, clippy::print_stdout, reason = "a program")]
mod program;
#[path = "../../template/tests/policy.rs"]
mod tests;

/// Files of the crate, and of the template.
const FILES: [(&str, &str); 5] = [
    ("Cargo.toml", "manifest.toml"),
    ("scenario.toml", "scenario.toml"),
    ("src/lib.rs", "src/lib.rs"),
    ("src/main.rs", "src/main.rs"),
    ("tests/policy.rs", "tests/policy.rs"),
];

#[test]
fn the_crate_is_the_template_under_its_name() {
    let f = Folder::new();
    let said = f.mmsim(&["policy", "new", "my-lru"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{}", said.stderr);
    assert_eq!(f.names(), ["my-lru"], "nothing else is left");
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("template");
    for (name, from) in FILES {
        let text = std::fs::read_to_string(template.join(from)).expect("the template");
        let renamed = text.replace("own-policy", "my-lru").replace("own_policy", "my_lru");
        assert_ne!(text, renamed, "{name} names the crate");
        assert_eq!(f.read(&format!("my-lru/{name}")), renamed, "{name}");
    }
}

/// The manifest depends on mmsim as the options say, and has the profile of the template.
#[test]
fn the_manifest_names_mmsim() {
    let dependency = |args: &[&str]| -> toml::Value {
        let f = Folder::new();
        std::fs::create_dir(f.path("copy")).expect("a folder");
        f.write("copy/Cargo.toml", "[package]\nname = \"mmsim\"\n");
        let said = f.mmsim(&[&["policy", "new", "my-lru"], args].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let manifest: toml::Table = f.read("my-lru/Cargo.toml").parse().expect("TOML");
        assert_eq!(manifest["profile"]["release"]["incremental"], toml::Value::Boolean(true));
        manifest["dependencies"]["mmsim"].clone()
    };
    let table = |text: &str| -> toml::Value {
        toml::Value::Table(text.parse::<toml::Table>().expect("TOML"))
    };
    assert_eq!(dependency(&[]), toml::Value::from(env!("CARGO_PKG_VERSION")));
    assert_eq!(dependency(&["--path", "copy"]), table("path = \"../copy\""));
    let git = ["--git", "https://example.org/a\"b", "--rev", "v1"];
    assert_eq!(dependency(&git), table("git = 'https://example.org/a\"b'\nrev = \"v1\""));
    assert_eq!(dependency(&git[..2]), table("git = 'https://example.org/a\"b'"));
}

/// A copy of the repository is one that has mmsim's manifest: this one has.
#[test]
fn this_repository_can_be_depended_on() {
    let f = Folder::new();
    let root = repository("").display().to_string();
    assert_eq!(f.mmsim(&["policy", "new", "my-lru", "--path", &root]).code, Some(0));
    assert!(f.read("my-lru/Cargo.toml").contains(&format!("path = \"{root}")));
}

/// Bad names, folders that are there, and sources that are not mmsim: nothing is written.
#[test]
fn mistakes_leave_nothing() {
    let golden = Golden::of("policies");
    let f = Folder::new();
    std::fs::create_dir(f.path("there")).expect("a folder");
    f.write("there/Cargo.toml", "[package]\nname = \"other\"\n");
    f.write("file", "");
    let before = f.names();
    for (case, args) in [
        ("no-name", &[][..]),
        ("upper-case", &["MyLru"]),
        ("empty", &[""]),
        ("a-path", &["../my-lru"]),
        ("a-number-first", &["2q"]),
        ("two-hyphens", &["my--lru"]),
        ("a-keyword", &["match"]),
        ("a-crate", &["mmsim"]),
        ("a-preset", &["classic-v6.12"]),
        ("a-policy", &["random"]),
        ("a-folder", &["there"]),
        ("a-file", &["file"]),
        ("no-copy", &["my-lru", "--path", "nowhere"]),
        ("another-crate", &["my-lru", "--path", "there"]),
        ("two-sources", &["my-lru", "--path", "there", "--git", "https://example.org"]),
        ("a-revision-of-nothing", &["my-lru", "--rev", "v1"]),
    ] {
        let said = f.mmsim(&[&["policy", "new"], args].concat());
        assert_eq!(said.code, Some(2), "{case}: {}", said.stderr);
        golden.is(case, &said);
        assert_eq!(f.names(), before, "{case}");
    }
}
