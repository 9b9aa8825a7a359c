//! Contents of a module: hooks, maps, globals, imports, and programs that nothing calls.

use mmsim::base::rng::Rng;
use mmsim::policy::chooser::ChooserOptions;

use crate::bpf::access::Halt;
use crate::bpf::instance::Instance;
use crate::bpf::maps::Kind;
use crate::direct::Direct;
use crate::hooks::HOOKS;
use crate::module::{Interface, MapType, Module, Use};

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
    /// Its interface.
    pub interface: Interface,
    /// The name of the variable with the hooks; empty in the direct interface.
    pub ops: String,
    /// Hooks that it has.
    pub hooks: Vec<&'static str>,
    /// Its maps.
    pub maps: Vec<MapContents>,
    /// Other globals, with their bytes.
    pub globals: Vec<(String, u64)>,
    /// Settings of the direct interface.
    pub settings: Vec<String>,
    /// Imports, and true for those that mmsim has.
    pub imports: Vec<(String, bool)>,
    /// Lines of the policy in C that call those that it has not.
    pub lines: Vec<(String, String)>,
    /// Functions that are no hooks and not static: programs that something else would attach.
    pub programs: Vec<String>,
}

/// The contents of a module.
///
/// # Errors
///
/// It cannot be set up.
pub fn contents(module: &Module) -> Result<Contents, mmsim::Error> {
    if module.interface() == Interface::Direct {
        // It is set up once, so that what a run would refuse is refused here.
        Direct::new(module, &ChooserOptions::default())?;
        let imports = module.inner().imports().map(|import| (import.name().to_string(), true));
        return Ok(Contents {
            interface: Interface::Direct,
            ops: String::new(),
            hooks: module.exported_hooks().to_vec(),
            maps: Vec::new(),
            globals: Vec::new(),
            settings: module.settings().map(String::from).collect(),
            imports: imports.collect(),
            lines: Vec::new(),
            programs: Vec::new(),
        });
    }
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
    let imports = imports(module);
    let uncovered = imports.iter().filter(|(_, covered)| !covered);
    let line = |name: &String| Some((name.clone(), module.line_of_call(name)?.to_string()));
    let lines = uncovered.filter_map(|(name, _)| line(name)).collect();
    Ok(Contents {
        interface: Interface::CacheExt,
        settings: Vec::new(),
        lines,
        ops: module.ops().name.clone(),
        hooks: hooks.map(|(name, _)| *name).collect(),
        maps,
        globals,
        imports,
        programs: module.programs(&instance.places),
    })
}

/// Names of imports, and true for those that mmsim has.
fn imports(module: &Module) -> Vec<(String, bool)> {
    let linker = crate::bpf::imports::linker(module);
    let uncovered = linker.map(|(_, names)| names).unwrap_or_default();
    let names = module.inner().imports().map(|import| import.name().to_string());
    names.map(|name| (name.clone(), !uncovered.contains(&name))).collect()
}
