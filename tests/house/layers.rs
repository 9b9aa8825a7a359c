//! Folders of core are layers, and files do not import one another in circles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Folders of mmsim-core from the ground up. Each uses those before it. `memory` and `policy` share
/// a floor, for a policy is a callback: memory tells it what happens, and it calls memory's doors.
const FLOORS: &[&[&str]] = &[
    &["base"],
    &["backing"],
    &["config"],
    &["phys"],
    &["workload"],
    &["virt"],
    &["memory", "policy"],
    &["machine"],
];

/// Callbacks: a crate, the folder that calls back, and the one whose trait it names to do so.
const CALLBACKS: &[(&str, &str, &str)] = &[("crates/mmsim-core/src", "memory", "policy")];

pub(crate) type Module = Vec<String>;

/// The files of a crate by module.
pub(crate) fn modules(crate_src: &Path) -> BTreeMap<Module, PathBuf> {
    fn go(folder: &Path, at: &Module, found: &mut BTreeMap<Module, PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            let stem = path.file_stem().expect("a name").to_string_lossy().to_string();
            let mut module = at.clone();
            if path.is_dir() {
                module.push(stem);
                go(&path, &module, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                if !["mod", "lib", "main"].contains(&stem.as_str()) {
                    module.push(stem);
                }
                found.insert(module, path);
            }
        }
    }
    let mut found = BTreeMap::new();
    go(crate_src, &Module::new(), &mut found);
    found
}

/// The code of a file without comments and tests.
pub(crate) fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("a source");
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    text.lines().map(|l| l.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join(" ")
}

/// `a::{b, c::{d}}` as `a::b` and `a::c::d`.
fn spread(path: &str, out: &mut Vec<String>) {
    let Some((before, group)) = path.split_once('{') else {
        out.push(path.to_string());
        return;
    };
    let group = &group[..group.rfind('}').expect("a group that ends")];
    let (mut depth, mut start) = (0, 0);
    for (i, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !group[start..i].is_empty() {
                    spread(&format!("{before}{}", &group[start..i]), out);
                }
                start = i + 1;
            }
            _ => {}
        }
    }
}

/// Every path of the own crate that a file names.
fn paths(code: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = code;
    while let Some(at) = ["crate::", "super::"].iter().filter_map(|p| rest.find(p)).min() {
        let whole = rest[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let used = rest[..at].trim_end().ends_with("use");
        let end = rest[at..].find(|c: char| match used {
            true => c == ';',
            false => !c.is_alphanumeric() && c != '_' && c != ':',
        });
        let end = end.map_or(rest.len(), |e| at + e);
        if whole {
            let path: String = rest[at..end].chars().filter(|c| !c.is_whitespace()).collect();
            spread(&path, &mut out);
        }
        rest = &rest[end..];
    }
    out
}

/// The modules within `module` that its own file names, by the first word of a path.
fn children<'a>(
    module: &'a Module,
    code: &'a str,
    modules: &'a BTreeMap<Module, PathBuf>,
) -> impl Iterator<Item = Module> + 'a {
    let below = modules.keys().filter(|m| m.len() == module.len() + 1 && m.starts_with(module));
    let named = |word: &str| {
        let begins = |i: usize| !code[..i].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        code.match_indices(&format!("{word}::")).any(|(i, _)| begins(i))
    };
    below.filter(move |m| m.last().is_some_and(|word| named(word))).cloned()
}

/// Which modules each module names, but for those that it lies in.
fn imports(crate_src: &Path) -> BTreeMap<Module, BTreeSet<Module>> {
    let modules = modules(crate_src);
    let target = |from: &Module, path: &str| {
        let mut at = Module::new();
        let mut words = path.split("::").peekable();
        if words.next_if_eq(&"crate").is_none() {
            at = from.clone();
            while words.next_if_eq(&"super").is_some() {
                at.pop();
            }
        }
        for word in words {
            at.push(word.to_string());
            if !modules.contains_key(&at) {
                at.pop();
                break;
            }
        }
        (!from.starts_with(&at)).then_some(at)
    };
    let of = |(module, file): (&Module, &PathBuf)| {
        let code = code(file);
        let named = paths(&code);
        let mut all: BTreeSet<Module> = named.iter().filter_map(|p| target(module, p)).collect();
        all.extend(children(module, &code, &modules));
        (module.clone(), all)
    };
    modules.iter().map(of).collect()
}

/// All that can be reached from a module.
fn reached(from: &Module, imports: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let (mut found, mut next) = (BTreeSet::new(), vec![from.clone()]);
    while let Some(m) = next.pop() {
        for to in imports.get(&m).into_iter().flatten() {
            if found.insert(to.clone()) {
                next.push(to.clone());
            }
        }
    }
    found
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn folders_of_core_are_layers() {
    let floor = |folder: &str| FLOORS.iter().position(|f| f.contains(&folder));
    let mut upward = Vec::new();
    let imports = imports(&root().join("crates/mmsim-core/src"));
    for (module, named) in &imports {
        let Some(folder) = module.first() else { continue };
        let here = floor(folder).unwrap_or_else(|| panic!("{folder} is on no floor"));
        for to in named {
            if floor(&to[0]).is_none_or(|there| there > here) {
                upward.push(format!("{} uses {}", module.join("/"), to.join("/")));
            }
        }
    }
    assert!(imports.len() > 100, "only {} files", imports.len());
    assert!(upward.is_empty(), "{upward:#?}");
}

#[test]
fn files_do_not_import_in_circles() {
    let mut crates = vec!["src".to_string()];
    let folders = std::fs::read_dir(root().join("crates")).expect("the crates");
    crates.extend(
        folders
            .map(|e| format!("crates/{}/src", e.expect("an entry").file_name().to_string_lossy())),
    );
    crates.sort();
    let mut circles = BTreeSet::new();
    for name in &crates {
        let mut imports = imports(&root().join(name));
        for (_, from, to) in CALLBACKS.iter().filter(|c| c.0 == name) {
            let back = imports.iter_mut().filter(|(m, _)| m.first().is_some_and(|m| m == from));
            back.for_each(|(_, named)| named.retain(|m| m[0] != *to));
        }
        let reach: BTreeMap<_, _> = imports.keys().map(|m| (m, reached(m, &imports))).collect();
        for (m, to) in &reach {
            if to.contains(*m) {
                let circle = to.iter().filter(|t| reach.get(t).is_some_and(|r| r.contains(*m)));
                let files: Vec<String> = circle.map(|t| t.join("/")).collect();
                circles.insert((name.clone(), files));
            }
        }
    }
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn paths_are_found() {
    let code = "use crate::a::{b, c::{d, e}}; fn f() { super::g::h(); mycrate::x }";
    assert_eq!(paths(code), ["crate::a::b", "crate::a::c::d", "crate::a::c::e", "super::g::h"]);
}

#[test]
fn modules_within_are_found() {
    let module = |path: &[&str]| path.iter().map(|s| s.to_string()).collect::<Module>();
    let (batch, scan) = (module(&["memory", "batch"]), module(&["memory", "scan"]));
    let all = [batch.clone(), scan].map(|m| (m, PathBuf::new())).into();
    let code = "use batch::Batches; fn f() { rescan::now() }";
    assert!(children(&module(&["memory"]), code, &all).eq([batch]));
}
