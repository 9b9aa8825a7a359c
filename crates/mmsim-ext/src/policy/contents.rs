//! Contents of a module: hooks, maps, globals, imports, and programs that nothing calls.

use mmsim::base::rng::Rng;

use crate::bpf::access::Halt;
use crate::bpf::instance::Instance;
use crate::bpf::maps::Kind;
use crate::module::{HOOKS, MapType, Module, Use};

/// A map of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapContents {
    /// Its name.
    pub name: String,
    /// Its type in words; none if mmsim does not have it.
    pub kind: Option<&'static str>,
    /// Sizes, as its variable says.
    pub of: MapType,
}

/// The contents of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contents {
    /// The name of the variable with the hooks.
    pub ops: String,
    /// Hooks that it has.
    pub hooks: Vec<&'static str>,
    /// Its maps.
    pub maps: Vec<MapContents>,
    /// Other globals, with their bytes.
    pub globals: Vec<(String, u64)>,
    /// Imports, and true for those that mmsim has.
    pub imports: Vec<(String, bool)>,
    /// Functions that are no hooks and not static: programs that something else would attach.
    pub programs: Vec<String>,
}

/// The contents of a module.
///
/// # Errors
///
/// It cannot be set up.
pub fn contents(module: &Module) -> Result<Contents, mmsim::Error> {
    let instance = Instance::new(module, Rng::for_purpose(0, "contents"))
        .map_err(|halt: Halt| super::setup::failed(module, &halt))?;
    let hooks = HOOKS.iter().zip(&instance.hooks).filter(|(_, callee)| callee.is_some());
    let (mut maps, mut globals) = (Vec::new(), Vec::new());
    for global in module.globals() {
        match global.used_as {
            Use::Map(of) => maps.push(MapContents {
                name: global.name.clone(),
                kind: Kind::of(of.kind).map(|kind| kind.name(of.kind)),
                of,
            }),
            Use::Plain => globals.push((global.name.clone(), global.size)),
            Use::Hooks(_) => {}
        }
    }
    globals.retain(|(name, _)| !name.starts_with("mmsim_"));
    Ok(Contents {
        ops: module.ops().name.clone(),
        hooks: hooks.map(|(name, _)| *name).collect(),
        maps,
        globals,
        imports: imports(module),
        programs: module.programs(&instance.places),
    })
}

/// Names of imports, and true for those that mmsim has.
fn imports(module: &Module) -> Vec<(String, bool)> {
    let linker = crate::bpf::imports::linker(module.engine(), module.inner());
    let uncovered = linker.map(|(_, names)| names).unwrap_or_default();
    let names = module.inner().imports().map(|import| import.name().to_string());
    names.map(|name| (name.clone(), !uncovered.contains(&name))).collect()
}
