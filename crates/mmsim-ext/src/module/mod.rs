//! Modules of policies: read, checked, and known by their debug information.
//!
//! A module is what clang makes of a policy for cache_ext with mmsim's headers: for wasm64, since BPF
//! has 64-bit longs and pointers, and with `-g`, since the debug information says where hooks, maps
//! and globals are. Anything else is refused before a run, with a way out.

mod debug;
mod division;
mod lines;
mod names;
pub(crate) mod place;
pub(crate) mod shape;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use mmsim::Error;
use mmsim_score::engine::{Binary, Kind, config};
use wasmi::{Engine, ExternType};

pub use debug::{Debug, Global, MapType, Use};
use place::refused_at;

/// Bytes of a module.
pub const MOST_BYTES: usize = 4 << 20;
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

/// Policies as files.
const POLICIES: Kind = Kind {
    what: "a policy in .wasm",
    most: MOST_BYTES,
    length: "4 MiB",
    shorten: "strip what no policy needs",
};

/// A checked module.
#[derive(Clone, Debug)]
pub struct Module {
    name: String,
    engine: Engine,
    module: wasmi::Module,
    of: Of,
    /// Digest of its bytes.
    digest: u64,
}

/// The interface of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interface {
    /// A program for cache_ext, compiled with mmsim's headers of BPF.
    CacheExt,
    /// Hooks by their names, and verbs from `mmsim`.
    Direct,
}

/// Facts of a module by its interface.
#[derive(Clone, Debug)]
enum Of {
    CacheExt(Box<CacheExt>),
    Direct(shape::Shape),
}

/// Facts of a program for cache_ext.
#[derive(Clone, Debug, Default)]
struct CacheExt {
    debug: Debug,
    functions: names::Functions,
    /// The global with the hooks.
    ops: usize,
    /// By import: the first line that calls it.
    lines: BTreeMap<String, String>,
}

impl Module {
    /// Reads a module.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is no policy for the page cache that can be run.
    pub fn from_path(path: &Path) -> Result<Module, Error> {
        Module::new(&Binary::from_path(path, POLICIES)?)
    }

    /// Takes a module. `name` stands for the file in messages.
    ///
    /// # Errors
    ///
    /// As [`Module::from_path`].
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Module, Error> {
        Module::new(&Binary::from_bytes(bytes, name, POLICIES)?)
    }

    fn new(binary: &Binary) -> Result<Module, Error> {
        let engine = Engine::new(&config());
        // The module as it came is checked first, so that messages are about it.
        let given = binary.translated(&engine)?;
        let Binary { name, digest, .. } = binary.clone();
        if shape::is_direct(&given) {
            let of = Of::Direct(shape::shape(&given, binary)?);
            return Ok(Module { name, engine, module: given, of, digest });
        }
        check_shape(&given, binary)?;
        let sections: BTreeMap<String, Vec<u8>> =
            given.custom_sections().map(|s| (s.name().to_string(), s.data().to_vec())).collect();
        let debug = debug_of(&sections, binary)?;
        let ops = ops_of(&debug, binary)?;
        let functions = names::read(&binary.bytes).map_err(|e| binary.broken(&e))?;
        // Programs that a scenario may call: what pointers lead to is in the table already.
        let named = functions.names.iter().filter(|(_, name)| debug.functions.contains(name));
        let programs: Vec<(u32, String)> =
            named.map(|(number, name)| (*number, format!("{PROGRAM}{name}"))).collect();
        let rewritten =
            division::like_bpf(&binary.bytes, &programs).map_err(|e| binary.broken(&e))?;
        let module = wasmi::Module::new(&engine, &rewritten[..]).map_err(|e| binary.broken(&e))?;
        let lines = lines::calls(&binary.bytes, &sections);
        let of = Of::CacheExt(Box::new(CacheExt { debug, functions, ops, lines }));
        Ok(Module { name, engine, module, of, digest })
    }

    /// The interface that it has.
    pub fn interface(&self) -> Interface {
        match self.of {
            Of::CacheExt(_) => Interface::CacheExt,
            Of::Direct(_) => Interface::Direct,
        }
    }

    fn cache_ext(&self) -> &CacheExt {
        static NONE: LazyLock<CacheExt> = LazyLock::new(CacheExt::default);
        match &self.of {
            Of::CacheExt(of) => of,
            Of::Direct(_) => &NONE,
        }
    }

    /// Hooks that a module of the direct interface exports.
    pub(crate) fn exported_hooks(&self) -> &[&'static str] {
        match &self.of {
            Of::CacheExt(_) => &[],
            Of::Direct(shape) => &shape.hooks,
        }
    }

    /// Names of the settings of a module of the direct interface.
    pub fn settings(&self) -> impl Iterator<Item = &str> {
        let all = match &self.of {
            Of::CacheExt(_) => &[][..],
            Of::Direct(shape) => &shape.settings,
        };
        all.iter().map(String::as_str)
    }

    /// The first line of the policy in C that calls an import, as `FILE:LINE`.
    pub(crate) fn line_of_call(&self, import: &str) -> Option<&str> {
        self.cache_ext().lines.get(import).map(String::as_str)
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
        &self.cache_ext().debug.globals
    }

    /// Its functions that are not static.
    pub(crate) fn functions(&self) -> &[String] {
        &self.cache_ext().debug.functions
    }

    /// Functions that are neither static nor hooks: programs that something else would attach.
    /// `hooks` are places of the table.
    pub(crate) fn programs(&self, hooks: &[u64]) -> Vec<String> {
        let hooks: Vec<&str> =
            hooks.iter().filter_map(|&place| self.cache_ext().functions.at(place)).collect();
        let all = self.cache_ext().debug.functions.iter();
        all.filter(|name| !hooks.contains(&name.as_str())).cloned().collect()
    }

    /// The variable with its hooks.
    pub fn ops(&self) -> &Global {
        &self.cache_ext().debug.globals[self.cache_ext().ops]
    }

    /// A global variable.
    pub fn global(&self, name: &str) -> Option<&Global> {
        self.cache_ext().debug.globals.iter().find(|g| g.name == name)
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn inner(&self) -> &wasmi::Module {
        &self.module
    }
}

/// Checks exports and imports of a program for cache_ext.
fn check_shape(module: &wasmi::Module, binary: &Binary) -> Result<(), Error> {
    let bytes = &binary.bytes;
    let refused = |at, what: &str, help| Err(refused_at(binary, at, what, help));
    let export = |name: &str| module.get_export(name);
    for other in ["score", "tick"] {
        if export(other).is_some() {
            let help =
                "`mmsim evaluate --policy` runs score functions, and `daemon.program` daemons";
            let what = "is a score function or a daemon, no policy for cache_ext";
            return refused(place::of_export(bytes, other), what, help);
        }
    }
    match export("memory") {
        Some(ExternType::Memory(memory)) if memory.is_64() => {}
        Some(ExternType::Memory(_)) => {
            let what = "is compiled for 32-bit memory, where `long` and pointers are too short";
            return refused(place::of_memory(bytes), what, BUILD);
        }
        _ => return refused(place::of_exports(bytes), "exports no `memory`", BUILD),
    }
    if !matches!(export(TABLE), Some(ExternType::Table(_))) {
        return refused(place::of_exports(bytes), &format!("exports no `{TABLE}`"), BUILD);
    }
    for import in module.imports() {
        let (from, what) = (import.module(), import.name());
        if from != FROM || import.ty().func().is_none() {
            let title = format!("imports `{from}.{what}`, which no program of BPF does");
            return refused(place::of_import(bytes, from, what), &title, BUILD);
        }
    }
    Ok(())
}

fn debug_of(sections: &BTreeMap<String, Vec<u8>>, binary: &Binary) -> Result<Debug, Error> {
    let debug = debug::read(sections);
    let at = || place::of_section(&binary.bytes, ".debug_info");
    let debug = debug.map_err(|e| {
        let what = format!("has debug information that cannot be read: {e}");
        refused_at(binary, at(), &what, BUILD)
    })?;
    if debug.globals.is_empty() {
        let what = "has no debug information, which says where its hooks and maps are";
        return Err(refused_at(binary, at(), what, &format!("{BUILD}, which passes -g")));
    }
    let mut names = debug.globals.iter().map(|g| &g.name).chain(&debug.gone);
    if !names.any(|name| name == HEADERS) {
        let what =
            "was compiled with another `vmlinux.h`, so its structures are not those of mmsim";
        let help = "`mmsim policy build` puts mmsim's headers first; `mmsim policy headers DIR` writes them";
        return Err(refused_at(binary, at(), what, help));
    }
    Ok(debug)
}

fn ops_of(debug: &Debug, binary: &Binary) -> Result<usize, Error> {
    let is_ops = |g: &&(usize, &Global)| matches!(g.1.used_as, Use::Hooks(_));
    let all: Vec<(usize, &Global)> =
        debug.globals.iter().enumerate().filter(|g| is_ops(&g)).collect();
    match all[..] {
        [(ops, _)] => Ok(ops),
        [] => {
            let what = "has no variable of type `struct cache_ext_ops`, so it has no hooks";
            let help = "end it with SEC(\".struct_ops.link\") struct cache_ext_ops ...";
            Err(refused_at(binary, None, what, help))
        }
        _ => {
            let of = |g: &Global| match &g.line {
                Some(line) => format!("`{}` ({line})", g.name),
                None => format!("`{}`", g.name),
            };
            let names: Vec<_> = all.iter().map(|g| of(g.1)).collect();
            let what = format!("has {} sets of hooks: {}", names.len(), names.join(", "));
            let help = "keep one variable of type `struct cache_ext_ops`";
            Err(refused_at(binary, None, &what, help))
        }
    }
}
