//! Exports and imports of a module of the direct interface, checked before a run.

use mmsim::Error;
use mmsim::nearest::nearest;
use mmsim_score::engine::Binary;
use wasmi::{ExternType, FuncType, ValType};

use crate::hooks::HOOKS;
use crate::module::place::{self, refused_at};

/// The module that all imports come from.
pub(crate) const FROM: &str = "mmsim";
/// Names of settings begin with it: functions of one number.
pub(crate) const SET: &str = "set_";

const I32: ValType = ValType::I32;
const I64: ValType = ValType::I64;

/// The imports: names, parameters and results.
pub(crate) const IMPORTS: [(&str, &[ValType], &[ValType]); 19] = [
    ("list_new", &[], &[I32]),
    ("list_add", &[I32, I32], &[I32]),
    ("list_add_tail", &[I32, I32], &[I32]),
    ("list_move", &[I32, I32, I32], &[I32]),
    ("list_del", &[I32], &[I32]),
    ("list_first", &[I32], &[I32]),
    ("list_next", &[I32], &[I32]),
    ("list_of", &[I32], &[I32]),
    ("offer", &[I32], &[I32]),
    ("folio_flags", &[I32], &[I32]),
    ("folio_inode", &[I32], &[I64]),
    ("folio_index", &[I32], &[I32]),
    ("folio_file_size", &[I32], &[I64]),
    ("cache_size", &[], &[I64]),
    ("now", &[], &[I64]),
    ("process", &[], &[I32]),
    ("thread", &[], &[I32]),
    ("random", &[], &[I32]),
    ("print", &[I32, I32], &[]),
];

/// Parameters and result of each hook, in the order of [`HOOKS`].
const TYPES: [(&[ValType], &[ValType]); HOOKS.len()] = [
    (&[], &[I32]),
    (&[I32], &[]),
    (&[I32], &[]),
    (&[I32], &[]),
    (&[I32], &[]),
    (&[I64, I32, I32], &[I32]),
];

/// A module of the direct interface.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    /// Hooks that it exports.
    pub hooks: Vec<&'static str>,
    /// Names of its settings.
    pub settings: Vec<String>,
}

/// True if a module has a hook among its exports, as no policy in BPF has.
pub(crate) fn is_direct(module: &wasmi::Module) -> bool {
    HOOKS.iter().any(|hook| matches!(module.get_export(hook), Some(ExternType::Func(_))))
}

/// Checks a module, and says what it exports.
pub(crate) fn shape(module: &wasmi::Module, binary: &Binary) -> Result<Shape, Error> {
    for import in module.imports() {
        let (from, name) = (import.module(), import.name());
        let known = IMPORTS.iter().find(|known| from == FROM && known.0 == name);
        let Some((_, takes, gives)) = known else {
            let names = IMPORTS.map(|known| known.0);
            let near = nearest(name, &names).filter(|_| from == FROM);
            let near = near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
            let what = format!("imports `{from}.{name}`, which mmsim does not have{near}");
            return Err(refused_at(
                binary,
                place::of_import(&binary.bytes, from, name),
                &what,
                HEADER,
            ));
        };
        let known = FuncType::new(takes.iter().copied(), gives.iter().copied());
        match import.ty().func() {
            Some(asked) if *asked == known => {}
            asked => {
                let asked = asked.map_or("no function".to_string(), shown);
                let what = format!("imports `{from}.{name}` as {asked}, write {}", shown(&known));
                let at = place::of_import(&binary.bytes, from, name);
                return Err(refused_at(binary, at, &what, HEADER));
            }
        }
    }
    let mut found = Shape::default();
    for export in module.exports() {
        let ExternType::Func(kind) = export.ty() else { continue };
        let name = export.name();
        let expected = match HOOKS.iter().position(|hook| *hook == name) {
            Some(hook) => {
                found.hooks.push(HOOKS[hook]);
                FuncType::new(TYPES[hook].0.iter().copied(), TYPES[hook].1.iter().copied())
            }
            None => {
                let Some(setting) = name.strip_prefix(SET) else { continue };
                found.settings.push(setting.to_string());
                FuncType::new([I64], [])
            }
        };
        if *kind != expected {
            let (found, expected) = (shown(kind), shown(&expected));
            let at = place::of_export(&binary.bytes, name);
            let what = format!("exports `{name}` as {found}, write {expected}");
            return Err(refused_at(binary, at, &what, "folios and lists are i32"));
        }
    }
    if !found.hooks.contains(&"evict_folios") {
        let at = place::of_exports(&binary.bytes);
        let what = "exports no `evict_folios`, so it would never offer a folio";
        return Err(refused_at(binary, at, what, "export a function `evict_folios` of one i32"));
    }
    found.hooks.sort_by_key(|name| HOOKS.iter().position(|hook| hook == name));
    Ok(found)
}

const HEADER: &str = "`mmsim policy headers DIR` writes `mmsim.h`, which has all of them";

fn shown(kind: &FuncType) -> String {
    let list = |kinds: &[ValType]| {
        let names: Vec<String> =
            kinds.iter().map(|kind| format!("{kind:?}").to_lowercase()).collect();
        format!("({})", names.join(", "))
    };
    match kind.results() {
        [] => list(kind.params()),
        [one] => format!("{} -> {}", list(kind.params()), format!("{one:?}").to_lowercase()),
        more => format!("{} -> {}", list(kind.params()), list(more)),
    }
}
