//! The part of a loader, before `init`: values of globals, sizes and contents of maps, watched files.
//!
//! Loaders of the artefact set `cache_size` to the limit of the group in pages and give their ghosts
//! as many entries. So does this one where the scenario says nothing else.

use mmsim::Error;
use mmsim::nearest::nearest;
use mmsim::policy::chooser::{ChooserValue, matches};

use crate::bpf::access::Halt;
use crate::bpf::host::value_of;
use crate::bpf::instance::Instance;
use crate::bpf::maps::{Kind, MOST_ELEMENTS, Map};
use crate::hooks::{FIRST_PID, refused};
use crate::module::{Global, MapType, Module, Use};
use crate::policy::{Policy, WATCHED};
use crate::world::FileFacts;

/// The variable that loaders of the artefact set to the limit of the group in pages.
const CACHE_SIZE: &str = "cache_size";

/// The error of a module that cannot be set up.
pub(crate) fn failed(module: &Module, halt: &Halt) -> Error {
    let (Halt::Uncovered(what) | Halt::Broken(what)) = halt;
    refused(module.name(), what)
}

impl Policy {
    /// Sets globals, makes maps, and fills those that have threads.
    pub(super) fn set_up(&mut self) -> Result<(), Error> {
        let (module, options) = (self.module.clone(), self.options.clone());
        for (name, value) in &options.set {
            let global = named(&module, name, "set", |used| matches!(used, Use::Plain))?;
            let bytes = encoded(&module, global, value)?;
            self.instance.put(global.at, &bytes).map_err(|halt| failed(&module, &halt))?;
        }
        if let (Some(pages), Some(global)) = (options.max_pages, module.global(CACHE_SIZE))
            && !options.set.iter().any(|set| set.0 == CACHE_SIZE)
        {
            let bytes = encoded(&module, global, &ChooserValue::Number(pages as i64))?;
            self.instance.put(global.at, &bytes).map_err(|halt| failed(&module, &halt))?;
        }
        for (name, _) in &options.maps {
            named(&module, name, "maps", |used| matches!(used, Use::Map(_)))?;
        }
        let mut elements = 0u64;
        for global in module.globals() {
            let Use::Map(of) = &global.used_as else { continue };
            let given = options.maps.iter().find(|m| m.0 == global.name).map(|m| &m.1);
            let entries = given.and_then(|given| given.entries);
            if let Some(map) = sized(&module, global, *of, entries, options.max_pages)? {
                elements = elements.saturating_add(map.of.entries);
                self.instance.store.data_mut().maps.add(global.at, map);
            }
            if elements > MOST_ELEMENTS {
                let most = MOST_ELEMENTS >> 20;
                let what = format!("its maps have more than {most} Mi elements in all");
                return Err(refused(module.name(), &what).help("set their `entries` under `maps`"));
            }
        }
        for (name, given) in &options.maps {
            for thread in &given.threads {
                let pid = (FIRST_PID + u64::from(thread.0)).to_le_bytes();
                fill(&mut self.instance, name, &pid).map_err(|halt| failed(&module, &halt))?;
            }
        }
        for (ring, program) in &options.on_event {
            let is_ring =
                |used: &Use| matches!(used, Use::Map(of) if Kind::of(of.kind) == Some(Kind::Ring));
            let at = named(&module, ring, "on-event", is_ring)?.at;
            let callee = self.instance.program(program).map_err(|_| {
                let what = format!("`on-event.{ring}`: it has no program `{program}`");
                let help = format!("its functions: {}", module.functions().join(", "));
                refused(module.name(), &what).help(help)
            })?;
            self.programs.push((at, callee));
            self.instance.store.data_mut().keeps_entries = true;
        }
        Ok(())
    }

    /// Puts the inode of a file on the list of watched ones, if the options name it.
    pub(super) fn watch(&mut self, facts: &FileFacts<'_>) -> Result<(), Halt> {
        let patterns = &self.options.watch;
        if patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, facts.name)) {
            fill(&mut self.instance, WATCHED, &facts.ino().to_le_bytes())?;
        }
        Ok(())
    }
}

/// Sets the value of a key to 1 in a map of that name, if there is one. A short key is the first
/// bytes of `key`.
fn fill(instance: &mut Instance, map: &str, key: &[u8]) -> Result<(), Halt> {
    let Some((at, of)) = instance.store.data().maps.named(map) else { return Ok(()) };
    let mut whole = vec![0; of.of.key as usize];
    let n = whole.len().min(key.len());
    whole[..n].copy_from_slice(&key[..n]);
    let bytes = of.of.value;
    let element = instance.store.data_mut().maps.at(at).map(|of| of.element(&whole, 0));
    let Some(Ok(element)) = element else { return Ok(()) };
    let to = value_of(&mut instance.store, at, element)?;
    let mut value = vec![0; bytes as usize];
    if let Some(first) = value.first_mut() {
        *first = 1;
    }
    instance.put(to, &value)
}

/// The global of a name that the options have under `key`.
fn named<'m>(
    module: &'m Module,
    name: &str,
    key: &str,
    fits: impl Fn(&Use) -> bool,
) -> Result<&'m Global, Error> {
    let all = module.globals().iter().filter(|global| fits(&global.used_as));
    let known: Vec<&Global> = all.collect();
    if let Some(found) = known.iter().find(|global| global.name == name) {
        return Ok(found);
    }
    let names: Vec<&str> = known.iter().map(|global| global.name.as_str()).collect();
    let near = nearest(name, &names).map_or(String::new(), |n| format!(", did you mean `{n}`?"));
    let kind = if key == "set" { "global" } else { "map" };
    let error = refused(module.name(), &format!("`{key}`: it has no {kind} `{name}`{near}"));
    Err(error.help(format!("it has {}", names.join(", "))))
}

/// The bytes of a value for a global.
fn encoded(module: &Module, global: &Global, value: &ChooserValue) -> Result<Vec<u8>, Error> {
    let Global { name, size, is_text, .. } = global;
    let wrong = |what: String| Err(refused(module.name(), &format!("`set.{name}`: {what}")));
    match value {
        ChooserValue::Number(n) if *is_text => {
            wrong(format!("found {n}, and it is an array of characters, write a text"))
        }
        ChooserValue::Number(n) => {
            if !matches!(size, 1 | 2 | 4 | 8) {
                return wrong(format!("a number does not fit a variable of {size} bytes"));
            }
            let bits = 8 * *size as u32;
            // As signed or as unsigned number.
            let least = -(1i128 << (bits - 1));
            if !(least..1i128 << bits).contains(&i128::from(*n)) {
                return wrong(format!("{n} does not fit {size} bytes"));
            }
            Ok(n.to_le_bytes()[..*size as usize].to_vec())
        }
        ChooserValue::Text(text) if !is_text => {
            wrong(format!("found \"{text}\", and it is no array of characters, write a number"))
        }
        ChooserValue::Text(text) => {
            let mut bytes = text.clone().into_bytes();
            if bytes.len() as u64 >= *size {
                let most = size.saturating_sub(1);
                return wrong(format!("the text has {} bytes; at most {most} fit", bytes.len()));
            }
            bytes.resize(*size as usize, 0);
            Ok(bytes)
        }
    }
}

/// A map with the size that the options give it; none if its type is unknown, in which case its
/// first use ends the run.
fn sized(
    module: &Module,
    global: &Global,
    mut of: MapType,
    entries: Option<u64>,
    max_pages: Option<u64>,
) -> Result<Option<Map>, Error> {
    let Some(kind) = Kind::of(of.kind) else { return Ok(None) };
    if let Some(entries) = entries.or(max_pages.filter(|_| of.entries == 0)) {
        of.entries = entries;
    }
    if of.entries == 0 && kind != Kind::TaskStorage {
        let name = &global.name;
        let what = format!("its map `{name}` has no `max_entries`, which a loader sets");
        let help = format!("write `maps = {{ {name} = {{ entries = \"pages of max\" }} }}`");
        return Err(refused(module.name(), &what).help(help));
    }
    if kind == Kind::Ring {
        // Its size is one of bytes, and nothing is kept there.
        of.entries = 0;
    }
    Ok(Some(Map::new(global.name.clone(), kind, of)))
}
