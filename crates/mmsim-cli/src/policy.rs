//! `mmsim policy new`: a crate with a policy, made of the template beside this crate's sources. The
//! tests of this crate compile the template and run its tests.

use std::fs;
use std::path::{Path, PathBuf};

use mmsim::Error;

use crate::args::{PolicyArgs, PolicyNewArgs, PolicyVerb};
use crate::policy_module;
use mmsim_terminal::exit::{self, Ending, Failure};

/// Names and texts of the template's files.
const FILES: [(&str, &str); 6] = [
    ("Cargo.toml", include_str!("../template/manifest.toml")),
    (".gitignore", "/target\n/report.json\n"),
    ("scenario.toml", include_str!("../template/scenario.toml")),
    ("src/lib.rs", include_str!("../template/src/lib.rs")),
    ("src/main.rs", include_str!("../template/src/main.rs")),
    ("tests/policy.rs", include_str!("../template/tests/policy.rs")),
];

/// The dependency of the template's manifest.
const DEPENDENCY: &str = "mmsim = \"0.1.0\"\n";

/// The template's name, as that of a crate.
const CRATE: &str = "own-policy";

/// Names that Rust or Cargo keeps for itself, and names of crates that the policy uses.
const TAKEN: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "build",
    "const",
    "continue",
    "core",
    "crate",
    "deps",
    "do",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "incremental",
    "let",
    "loop",
    "macro",
    "match",
    "mmsim",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc-macro",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

/// Writes what a verb of `mmsim policy` asks for.
pub(crate) fn policy(args: &PolicyArgs) -> Result<Ending, Failure> {
    match &args.what {
        PolicyVerb::New(args) => new(args),
        PolicyVerb::Build(args) => policy_module::build(args),
        PolicyVerb::Check(args) => policy_module::check(args),
        PolicyVerb::Headers(args) => policy_module::headers(args),
    }
}

fn new(args: &PolicyNewArgs) -> Result<Ending, Failure> {
    fits(&args.name)?;
    let folder = Path::new(&args.name);
    if folder.symlink_metadata().is_ok() {
        let title = format!("{}: a file or folder of this name is there", args.name);
        return Err(help(title, "write another name, or move it away"));
    }
    let dependency = dependency(args)?;
    let failed = |e: &std::io::Error| Failure::file("write", folder, e);
    // The folder gets its name when all is in it.
    let made =
        tempfile::Builder::new().prefix(".mmsim-").tempdir_in(".").map_err(|e| failed(&e))?;
    for (name, text) in FILES {
        let file = made.path().join(name);
        fs::create_dir_all(file.parent().expect("it lies in the folder"))
            .map_err(|e| failed(&e))?;
        let text = text.replace(DEPENDENCY, &dependency).replace(CRATE, &args.name);
        let text = text.replace(&CRATE.replace('-', "_"), &args.name.replace('-', "_"));
        fs::write(&file, text).map_err(|e| failed(&e))?;
    }
    opened(made.path()).and_then(|()| fs::rename(made.path(), folder)).map_err(|e| failed(&e))?;
    let _ = made.keep();
    exit::remark(&format!(
        "wrote {0}: run it by `cd {0} && cargo run --release`, test it by `cargo test --release`",
        args.name
    ));
    Ok(Ending::Done)
}

/// Gives a temporary folder, which only its owner may read, the mode of any new folder.
fn opened(folder: &Path) -> std::io::Result<()> {
    let like = folder.join("src").metadata()?.permissions();
    fs::set_permissions(folder, like)
}

fn help(title: String, help: &str) -> Failure {
    Failure::Input(Error::of_option(title).help(help))
}

/// Checks that a name can be that of a crate and of a new policy.
fn fits(name: &str) -> Result<(), Failure> {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_name = name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(letters)
        && !name.ends_with('-')
        && !name.contains("--");
    if !is_name {
        let title = format!("`{name}` is no name of a policy");
        let instead =
            "write at most 64 lower-case letters, digits and single hyphens, as in my-lru";
        return Err(help(title, instead));
    }
    if TAKEN.contains(&name) {
        let title = format!("`{name}` is a word of Rust or Cargo, or the name of a crate in use");
        return Err(help(title, &format!("write another name, such as {name}-policy")));
    }
    if mmsim::registry().presets().iter().any(|preset| preset == name) {
        let title = format!("mmsim has a preset `{name}`");
        return Err(help(title, &format!("write another name, such as my-{name}")));
    }
    Ok(())
}

/// The line of the manifest that names mmsim.
fn dependency(args: &PolicyNewArgs) -> Result<String, Failure> {
    // A string of JSON is one of TOML.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    if let Some(path) = &args.path {
        let manifest = path.join("Cargo.toml");
        let text =
            fs::read_to_string(&manifest).map_err(|e| Failure::file("read", &manifest, &e))?;
        if !text.contains("\nname = \"mmsim\"\n") {
            let title = format!("--path: {} is not the manifest of mmsim", manifest.display());
            return Err(help(title, "write the folder of a copy of mmsim's repository"));
        }
        // Cargo reads it from the folder of the crate.
        let from: PathBuf =
            if path.is_absolute() { path.clone() } else { Path::new("..").join(path) };
        let Some(from) = from.to_str() else {
            let title = format!("--path: {} is no UTF-8, which Cargo.toml needs", path.display());
            return Err(help(title, "write another path to it"));
        };
        return Ok(format!("mmsim = {{ path = {} }}\n", quoted(from)));
    }
    if let Some(url) = &args.git {
        let rev = args.rev.as_deref().map(|rev| format!(", rev = {}", quoted(rev)));
        return Ok(format!("mmsim = {{ git = {}{} }}\n", quoted(url), rev.unwrap_or_default()));
    }
    Ok(format!("mmsim = \"{}\"\n", env!("CARGO_PKG_VERSION")))
}
