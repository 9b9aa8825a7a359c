//! `mmsim policy build`, `check` and `headers`: policies in C for cache_ext as modules.

use std::path::{Path, PathBuf};
use std::process::Command;

use mmsim::Error;
use mmsim_ext::build::{arguments, direct_arguments, is_direct, write_headers};
use mmsim_ext::{Contents, Interface, Module, contents};

use crate::args::{PolicyBuildArgs, PolicyCheckArgs, PolicyHeadersArgs};
use mmsim_terminal::exit::{self, Ending, Failure};
use mmsim_terminal::output;

/// Compiles a policy by the user's clang.
pub(crate) fn build(args: &PolicyBuildArgs) -> Result<Ending, Failure> {
    let out = args.output.clone().unwrap_or_else(|| module_of(&args.source));
    output::distinct(&[&args.source], &[("--output", Some(out.as_path()))])?;
    if !args.source.is_file() {
        let title = format!("{}: there is no such file", args.source.display());
        return Err(Error::of_option(title).help("name a policy in C, such as mru.bpf.c").into());
    }
    let headers = tempfile::Builder::new().prefix("mmsim-headers-").tempdir();
    let headers = headers.map_err(|e| Failure::file("write", Path::new("headers"), &e))?;
    write_headers(headers.path()).map_err(|e| Failure::file("write", headers.path(), &e))?;
    // The module gets its name when it was checked.
    let made = headers.path().join(out.file_name().unwrap_or(out.as_os_str()));
    let text = std::fs::read(&args.source).map_err(|e| Failure::file("read", &args.source, &e))?;
    let arguments =
        if is_direct(&String::from_utf8_lossy(&text)) { direct_arguments } else { arguments };
    let given = arguments(&args.source, &made, headers.path(), &args.more);
    let shown = arguments(&args.source, &out, headers.path(), &args.more);
    let shown: Vec<_> = shown.iter().map(|a| a.to_string_lossy()).collect();
    exit::remark(&format!("{} {}", args.clang.display(), shown.join(" ")));
    // clang itself says on stderr what is wrong, at its place in the user's file.
    let ended = Command::new(&args.clang).args(&given).status().map_err(|e| {
        let title = format!("{} cannot be run: {e}", args.clang.display());
        Failure::from(Error::of_option(title).help(INSTALL))
    })?;
    if !ended.success() || !made.is_file() {
        let title = format!("{}: clang made no module of it", args.source.display());
        return Err(Error::of_option(title).help(FAILED).into());
    }
    let _ = contents(&Module::from_path(&made)?)?;
    std::fs::copy(&made, &out).map_err(|e| Failure::file("write", &out, &e))?;
    exit::remark(&format!("wrote {0}: `mmsim policy check {0}` shows its contents", out.display()));
    Ok(Ending::Done)
}

const INSTALL: &str =
    "install clang 14 or later and lld (apt-get install clang lld), or name a clang by --clang";
const FAILED: &str = "its messages above name the line; a field or function that is missing is one that \
                      mmsim does not have, and without lld there is no linker for WebAssembly";

/// The module of a policy: `mru.bpf.c` becomes `mru.wasm` in this folder.
fn module_of(source: &Path) -> PathBuf {
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".c").unwrap_or(&name);
    format!("{}.wasm", stem.strip_suffix(".bpf").unwrap_or(stem)).into()
}

/// Writes the headers.
pub(crate) fn headers(args: &PolicyHeadersArgs) -> Result<Ending, Failure> {
    write_headers(&args.folder).map_err(|e| Failure::file("write", &args.folder, &e))?;
    exit::remark(&format!("wrote the headers to {}", args.folder.display()));
    Ok(Ending::Done)
}

/// Prints what is in a module.
pub(crate) fn check(args: &PolicyCheckArgs) -> Result<Ending, Failure> {
    let module = Module::from_path(&args.module)?;
    output::show(&printed(&contents(&module)?), None)?;
    Ok(Ending::Done)
}

/// The contents of a module, a line for each kind of thing and for each map.
fn printed(of: &Contents) -> String {
    let list = |names: Vec<String>| if names.is_empty() { "none".into() } else { names.join(", ") };
    let imports = |covered: bool| {
        let all = of.imports.iter().filter(|i| i.1 == covered);
        let named = |name: &String| match of.lines.iter().find(|line| line.0 == *name) {
            Some((_, line)) => format!("{name} ({line})"),
            None => name.clone(),
        };
        list(all.map(|i| named(&i.0)).collect())
    };
    let mut out = match of.interface {
        Interface::CacheExt => "interface: cache_ext, as BPF\n".to_string(),
        Interface::Direct => {
            let (hooks, settings) = (of.hooks.join(", "), list(of.settings.clone()));
            let imports = imports(true);
            return format!(
                "interface: direct, without BPF\nhooks: {hooks}\nsettings: {settings}\n\
                 imports: {imports}\n"
            );
        }
    };
    out += &format!("hooks ({}): {}\n", of.ops, of.hooks.join(", "));
    for map in &of.maps {
        let kind = match map.kind {
            Some(kind) => kind.to_string(),
            None => {
                format!("type {}, which mmsim does not have: its first use ends a run", map.of.kind)
            }
        };
        let entries = match map.of.entries {
            0 => "no size but what the scenario sets".to_string(),
            n => format!("{n} entries"),
        };
        let (key, value) = (map.of.key, map.of.value);
        out += &format!(
            "map {}: {kind}, {entries}, keys of {key} bytes, values of {value}\n",
            map.name
        );
    }
    let globals = of.globals.iter().map(|(name, bytes)| format!("{name} ({bytes})"));
    out += &format!("globals (bytes): {}\n", list(globals.collect()));
    out += &format!("imports: {}\n", imports(true));
    out += &format!(
        "imports that mmsim does not have, whose first call ends a run: {}\n",
        imports(false)
    );
    out += &format!("programs that nothing calls: {}\n", list(of.programs.clone()));
    out
}
