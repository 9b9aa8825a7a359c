//! Modules as choosers of a registry.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use mmsim::Error;
use mmsim::files::read_at_most;
use mmsim::policy::chooser::{ChooserOptions, Choosers, FileChooser};
use wasmparser::{Parser, Payload};

use super::chooser;
use crate::module::{MOST_BYTES, Module};

/// Modules of WebAssembly as choosers.
///
/// A file is read for each run, and compiled again only if its bytes have changed.
#[derive(Debug, Default)]
pub struct Modules {
    compiled: Mutex<BTreeMap<PathBuf, (Vec<u8>, Module)>>,
}

impl Modules {
    fn module(&self, file: &Path) -> Result<Module, Error> {
        // `Module` has the message for a file that is too large.
        let Some(bytes) = bytes_of(file)? else { return Module::from_path(file) };
        let compiled = || self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, module)) = compiled().get(file).filter(|known| known.0 == bytes) {
            return Ok(module.clone());
        }
        let module = Module::from_bytes(&bytes, &file.display().to_string())?;
        compiled().insert(file.to_path_buf(), (bytes, module.clone()));
        Ok(module)
    }
}

impl Choosers for Modules {
    fn create(
        &self,
        name: &str,
        file: &Path,
        options: &ChooserOptions,
    ) -> Result<Box<dyn FileChooser>, String> {
        self.check(name, file)?;
        let made = self.module(file).and_then(|module| chooser(&module, options));
        made.map_err(|e| e.sentence())
    }
}

/// Loader of modules for a registry, always the same one: runs of equal registries can be equal.
pub fn modules() -> Arc<dyn Choosers> {
    static ALL: LazyLock<Arc<Modules>> = LazyLock::new(Arc::default);
    let all: Arc<Modules> = Arc::clone(&ALL);
    all
}

fn bytes_of(file: &Path) -> Result<Option<Vec<u8>>, Error> {
    read_at_most(file, "a policy in .wasm", MOST_BYTES as u64)
}

/// True if a module is a score function: it exports `score`, or imports nothing, where a policy of
/// cache_ext imports its verbs.
///
/// A pipe counts as a score function without a look: it can be read only once.
pub fn is_score(file: &Path) -> bool {
    if std::fs::metadata(file).is_ok_and(|of| !of.is_file()) {
        return true;
    }
    let Ok(Some(bytes)) = bytes_of(file) else { return true };
    let (mut imports, mut scores) = (false, false);
    for payload in Parser::new(0).parse_all(&bytes).map_while(Result::ok) {
        match payload {
            Payload::ImportSection(all) => imports = all.count() > 0,
            Payload::ExportSection(all) => {
                scores = all.into_iter().flatten().any(|export| export.name == "score");
            }
            _ => {}
        }
    }
    scores || !imports
}
