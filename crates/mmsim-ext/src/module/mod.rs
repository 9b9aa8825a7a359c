//! Modules of policies: read, checked, and known by their debug information.
//!
//! A module is what clang makes of a policy for cache_ext with mmsim's headers: for wasm64, since BPF
//! has 64-bit longs and pointers, and with `-g`, since the debug information says where hooks, maps
//! and globals are. Anything else is refused before a run, with a way out.

mod debug;
mod division;
mod names;

use std::collections::BTreeMap;
use std::path::Path;

use mmsim::base::digest::Digest;
use mmsim::files::read_at_most;
use mmsim::{Error, ErrorKind};
use mmsim_score::engine::{binary, config};
use wasmi::{Engine, ExternType};

pub use debug::{Debug, Global, MapType, Use};

/// Bytes of a module.
pub const MOST_BYTES: usize = 4 << 20;
/// The hooks of `struct cache_ext_ops`.
pub const HOOKS: [&str; 6] =
    ["init", "folio_added", "folio_accessed", "folio_evicted", "evict_folios", "admit_folio"];
/// The export with the functions that pointers lead to.
pub(crate) const TABLE: &str = "__indirect_function_table";
/// The module that all imports come from.
pub(crate) const FROM: &str = "env";
/// Names of added exports begin with it: functions that are not static.
pub(crate) const PROGRAM: &str = "program.";
/// The variable that mmsim's `vmlinux.h` has, by which a module says which headers it was compiled
/// with.
const HEADERS: &str = "mmsim_headers_cache_ext_6_6";
/// Advice for whatever was built in another way.
const BUILD: &str = "compile the policy with `mmsim policy build POLICY.bpf.c`";

/// A checked module.
#[derive(Clone, Debug)]
pub struct Module {
    name: String,
    engine: Engine,
    module: wasmi::Module,
    debug: Debug,
    functions: names::Functions,
    /// The global with the hooks.
    ops: usize,
    /// Digest of its bytes.
    digest: u64,
}

impl Module {
    /// Reads a module.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is no policy for cache_ext that can be run.
    pub fn from_path(path: &Path) -> Result<Module, Error> {
        let shown = path.display().to_string();
        let bytes = read_at_most(path, "a policy in .wasm", MOST_BYTES as u64)?;
        let bytes = bytes.ok_or_else(|| too_large(&shown))?;
        Module::from_bytes(&bytes, &shown)
    }

    /// Takes a module. `name` stands for the file in messages.
    ///
    /// # Errors
    ///
    /// As [`Module::from_path`].
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Module, Error> {
        if bytes.len() > MOST_BYTES {
            return Err(too_large(name));
        }
        let binary = binary(bytes, name)?;
        let engine = Engine::new(&config());
        let no_module = |e: &dyn std::fmt::Display| {
            let title = format!("`{name}` is no module of WebAssembly that can be run: {e}");
            Error::new(ErrorKind::Policy, title)
        };
        // The module as it came is checked first, so that messages are about it.
        let given = wasmi::Module::new(&engine, &binary[..]).map_err(|e| no_module(&e))?;
        check_shape(&given, name)?;
        let sections: BTreeMap<String, Vec<u8>> =
            given.custom_sections().map(|s| (s.name().to_string(), s.data().to_vec())).collect();
        let debug = debug_of(&sections, name)?;
        let ops = ops_of(&debug, name)?;
        let functions = names::read(&binary).map_err(|e| no_module(&e))?;
        // Programs that a scenario may call: what pointers lead to is in the table already.
        let named = functions.names.iter().filter(|(_, name)| debug.functions.contains(name));
        let programs: Vec<(u32, String)> =
            named.map(|(number, name)| (*number, format!("{PROGRAM}{name}"))).collect();
        let rewritten = division::like_bpf(&binary, &programs).map_err(|e| no_module(&e))?;
        let module = wasmi::Module::new(&engine, &rewritten[..]).map_err(|e| no_module(&e))?;
        let stem = Path::new(name).file_stem().map(|s| s.to_string_lossy().into_owned());
        let mut digest = Digest::new();
        digest.words(binary.iter().map(|&byte| byte.into()));
        let (stem, digest) = (stem.unwrap_or_default(), digest.finish());
        Ok(Module { name: stem, engine, module, debug, functions, ops, digest })
    }

    /// Its name: that of its file, without the ending.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The digest of its bytes.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Its global variables.
    pub fn globals(&self) -> &[Global] {
        &self.debug.globals
    }

    /// Its functions that are not static.
    pub(crate) fn functions(&self) -> &[String] {
        &self.debug.functions
    }

    /// Functions that are neither static nor hooks: programs that something else would attach.
    /// `hooks` are places of the table.
    pub(crate) fn programs(&self, hooks: &[u64]) -> Vec<String> {
        let hooks: Vec<&str> = hooks.iter().filter_map(|&place| self.functions.at(place)).collect();
        let all = self.debug.functions.iter();
        all.filter(|name| !hooks.contains(&name.as_str())).cloned().collect()
    }

    /// The variable with its hooks.
    pub fn ops(&self) -> &Global {
        &self.debug.globals[self.ops]
    }

    /// A global variable.
    pub fn global(&self, name: &str) -> Option<&Global> {
        self.debug.globals.iter().find(|g| g.name == name)
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn inner(&self) -> &wasmi::Module {
        &self.module
    }
}

fn refused(name: &str, what: &str, help: &str) -> Error {
    Error::new(ErrorKind::Policy, format!("`{name}` {what}")).help(help)
}

fn too_large(name: &str) -> Error {
    refused(name, &format!("has more than {} MiB", MOST_BYTES >> 20), "strip what no policy needs")
}

/// Checks exports and imports.
fn check_shape(module: &wasmi::Module, name: &str) -> Result<(), Error> {
    let export = |name: &str| module.get_export(name);
    if export("score").is_some() || export("tick").is_some() {
        let help = "`mmsim evaluate --policy` runs score functions, and `daemon.program` daemons";
        return Err(refused(
            name,
            "is a score function or a daemon, no policy for cache_ext",
            help,
        ));
    }
    match export("memory") {
        Some(ExternType::Memory(memory)) if memory.is_64() => {}
        Some(ExternType::Memory(_)) => {
            let what = "is compiled for 32-bit memory, where `long` and pointers are too short";
            return Err(refused(name, what, BUILD));
        }
        _ => return Err(refused(name, "exports no `memory`", BUILD)),
    }
    if !matches!(export(TABLE), Some(ExternType::Table(_))) {
        return Err(refused(name, &format!("exports no `{TABLE}`"), BUILD));
    }
    for import in module.imports() {
        let (from, what) = (import.module(), import.name());
        if from != FROM || import.ty().func().is_none() {
            let title = format!("imports `{from}.{what}`, which no program of BPF does");
            return Err(refused(name, &title, BUILD));
        }
    }
    Ok(())
}

fn debug_of(sections: &BTreeMap<String, Vec<u8>>, name: &str) -> Result<Debug, Error> {
    let debug = debug::read(sections);
    let debug = debug.map_err(|e| {
        let title = format!("`{name}` has debug information that cannot be read: {e}");
        Error::new(ErrorKind::Policy, title).help(BUILD)
    })?;
    if debug.globals.is_empty() {
        let what = "has no debug information, which says where its hooks and maps are";
        return Err(refused(name, what, &format!("{BUILD}, which passes -g")));
    }
    let mut names = debug.globals.iter().map(|g| &g.name).chain(&debug.gone);
    if !names.any(|name| name == HEADERS) {
        let what =
            "was compiled with another `vmlinux.h`, so its structures are not those of mmsim";
        let help = "`mmsim policy build` puts mmsim's headers first; `mmsim policy headers DIR` writes them";
        return Err(refused(name, what, help));
    }
    Ok(debug)
}

fn ops_of(debug: &Debug, name: &str) -> Result<usize, Error> {
    let is_ops = |g: &&(usize, &Global)| matches!(g.1.used_as, Use::Hooks(_));
    let all: Vec<(usize, &Global)> =
        debug.globals.iter().enumerate().filter(|g| is_ops(&g)).collect();
    match all[..] {
        [(ops, _)] => Ok(ops),
        [] => {
            let what = "has no variable of type `struct cache_ext_ops`, so it has no hooks";
            Err(refused(
                name,
                what,
                "end it with SEC(\".struct_ops.link\") struct cache_ext_ops ...",
            ))
        }
        _ => {
            let names: Vec<_> = all.iter().map(|g| format!("`{}`", g.1.name)).collect();
            let what = format!("has {} sets of hooks: {}", names.len(), names.join(", "));
            Err(refused(name, &what, "keep one variable of type `struct cache_ext_ops`"))
        }
    }
}
