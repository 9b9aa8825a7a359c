//! `mmsim run --emit`: the kernel's text files of every run, at the end of every phase.
//!
//! Each run has a folder, each end of a phase a folder in it, laid out as `/proc` is, so
//! that a reader that takes another root for `/proc` can be pointed at it. Texts are kept
//! until all runs are done; then each file appears whole.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use mmsim::RunSpec;
use mmsim::machine::SnapshotFn;
use mmsim::report::proc::{Kind, file_name};

use crate::plan::Plan;
use mmsim_terminal::exit::Failure;
use mmsim_terminal::output;

/// The folder of the end of a run.
const END: &str = "end";

/// A path below the folder of a run, and a text.
type Texts = Vec<(PathBuf, String)>;

/// Files that `--emit` will write.
pub(crate) struct Emission {
    kinds: Vec<Kind>,
    runs: Vec<(PathBuf, Arc<Mutex<Texts>>)>,
}

impl Emission {
    /// Begins the files of all runs. What cannot be written is known before the runs.
    pub(crate) fn create(dir: &Path, kinds: &[Kind], plans: &[Plan]) -> Result<Self, Failure> {
        let mut kinds = kinds.to_vec();
        kinds.sort();
        kinds.dedup();
        let folders = folders(dir, plans)?.into_iter();
        Ok(Emission { kinds, runs: folders.map(|folder| (folder, Arc::default())).collect() })
    }

    /// Creates the snapshot sink of run `i`.
    pub(crate) fn watcher(&self, run: usize) -> SnapshotFn {
        let (kinds, texts) = (self.kinds.clone(), Arc::clone(&self.runs[run].1));
        let mut names = Names::default();
        names.0.insert(END.to_string());
        Box::new(move |phase, snapshot| {
            let folder = match phase {
                Some(phase) => names.unique([file_name(phase)]),
                None => END.to_string(),
            };
            let mut texts = texts.lock().unwrap_or_else(PoisonError::into_inner);
            for (path, text) in kinds.iter().flat_map(|kind| kind.files(snapshot)) {
                texts.push((Path::new(&folder).join(path), text));
            }
        })
    }

    /// Puts all files in their places.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        for (folder, texts) in self.runs {
            for (path, text) in texts.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                let path = folder.join(path);
                let parent = path.parent().expect("it lies in a folder");
                fs::create_dir_all(parent).map_err(|e| Failure::file("create", parent, &e))?;
                output::deliver(text.as_bytes(), Some(&path))?;
            }
        }
        Ok(())
    }
}

/// The folder of each run within `dir`, which can be written as far as one can know.
pub(crate) fn folders(dir: &Path, plans: &[Plan]) -> Result<Vec<PathBuf>, Failure> {
    check(dir)?;
    let mut names = Names::default();
    let mut folders = Vec::new();
    for plan in plans {
        let scenario = (plans.len() > 1).then(|| file_name(&plan.name));
        for spec in &plan.specs {
            let name = names.unique(scenario.iter().cloned().chain([name_of(spec)]));
            let folder = dir.join(name);
            if folder.exists() {
                check(&folder)?;
            }
            folders.push(folder);
        }
    }
    Ok(folders)
}

/// Variant, axes and seed, as in `v5.9-machine.memory=2GiB-seed1`.
fn name_of(spec: &RunSpec) -> String {
    let axes: String = spec.axes.iter().map(|(key, value)| format!("-{key}={value}")).collect();
    file_name(&format!("{}{axes}-seed{}", spec.variant, spec.seed))
}

/// Names given so far.
#[derive(Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Names {
    /// The parts as a path, with a number at its end if there was one like it.
    pub(crate) fn unique(&mut self, parts: impl IntoIterator<Item = String>) -> String {
        let name = parts.into_iter().collect::<Vec<_>>().join("/");
        let numbered = (2..).map(|n| format!("{name}-{n}"));
        let mut all = std::iter::once(name.clone()).chain(numbered);
        let new = all.find(|n| !self.0.contains(n)).expect("there is always a number");
        self.0.insert(new.clone());
        new
    }
}

/// Checks that files can be put into a folder, or a new folder into the one around it.
pub(crate) fn check(dir: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::file("write", dir, &error);
    let place = match fs::metadata(dir) {
        Ok(there) if !there.is_dir() => {
            let shown = dir.display();
            return Err(Failure::said(format!(
                "cannot write files into {shown}: it is a file, name a folder"
            )));
        }
        Ok(_) => dir,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let around = dir.parent().filter(|p| !p.as_os_str().is_empty());
            around.unwrap_or(Path::new("."))
        }
        Err(e) => return Err(failed(e)),
    };
    // Asked here, since what tempfile says names the temporary file.
    fs::metadata(place).map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            failed(io::Error::other(format!("there is no folder {}", place.display())))
        }
        _ => failed(e),
    })?;
    tempfile::tempfile_in(place).map(drop).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_given_once() {
        let mut names = Names::default();
        let mut name = |n: &str| names.unique([n.to_string()]);
        assert_eq!([name("a"), name("a"), name("a-2"), name("a")], ["a", "a-2", "a-2-2", "a-3"]);
    }

    #[test]
    fn places_are_known_to_be_good_or_bad_before_the_runs() {
        let dir = tempfile::tempdir().unwrap();
        check(dir.path()).unwrap();
        check(&dir.path().join("new")).unwrap();
        assert!(!dir.path().join("new").exists(), "asking changes nothing");
        assert!(check(&dir.path().join("no/such")).is_err());
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let Err(Failure::Input(message)) = check(&file) else { panic!("a file is no folder") };
        assert!(message.title().ends_with("it is a file, name a folder"), "{message}");
        assert!(check(&file.join("below")).is_err());
    }
}
