//! Reads recorded experiments: a text, a file, a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mmsim::error::{Error, ErrorKind};
use mmsim::files;

use super::check;
use super::place;
use super::point::Experiment;
use super::problem::Problem;

/// Why a text is no experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// It is not JSON, or not of this form; with line and column.
    #[error("{0}")]
    Form(#[from] serde_json::Error),
    /// No kernel could have counted this: the point and its key come first.
    #[error("{0}")]
    Impossible(String),
}

impl Experiment {
    /// Reads the text of one file.
    ///
    /// # Errors
    /// What is wrong, and where: for JSON that is not of this form line and column, else
    /// the point and its key.
    pub fn from_json(text: &str) -> Result<Experiment, ExperimentError> {
        let e: Experiment = serde_json::from_str(text)?;
        check::experiment(&e).map_err(|p| ExperimentError::Impossible(p.to_string()))?;
        Ok(e)
    }

    /// The same for a file of this name, with an error that shows the place.
    pub fn read(text: &str, name: &str) -> Result<Experiment, Error> {
        let e: Experiment = serde_json::from_str(text).map_err(|e| {
            files::bad_json(&e, text, name, "recorded experiment")
                .help("evidence/reference/README.md lays the form down")
        })?;
        check::experiment(&e).map_err(|p| shown(&p, text, name))?;
        Ok(e)
    }
}

/// A mistake with its place in the file.
fn shown(p: &Problem, text: &str, name: &str) -> Error {
    let shared: Arc<str> = text.into();
    Error::new(ErrorKind::File, format!("{name}: {p}"))
        .at(name, &shared, place::locate(text, &p.way), "here")
        .help("evidence/reference/README.md lays the form down")
}

/// Every `*.json` of a folder that holds `what`, in order of name.
///
/// # Errors
/// There is no such folder, or no such file in it.
pub(super) fn json_files(dir: &Path, what: &str) -> Result<Vec<PathBuf>, Error> {
    let fail = |why: &str| {
        let title = format!("cannot read the folder `{}`: {why}", dir.display());
        Error::new(ErrorKind::File, title).help(format!("name a folder of {what}"))
    };
    let failed = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => fail("there is no such folder"),
        std::io::ErrorKind::NotADirectory => fail("it is a file"),
        _ => fail(&e.to_string()),
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|e| e == "json") {
            found.push(path);
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(fail("no file in it ends in .json"));
    }
    Ok(found)
}

/// Reads every `*.json` of a folder, in order of name.
///
/// # Errors
/// There is no such folder, no such file in it, one is not of the form or contradicts
/// itself, or two points of an experiment have the same name.
pub fn read_folder(dir: &Path) -> Result<Vec<Experiment>, Error> {
    let found = json_files(dir, "recorded experiments, such as `evidence/reference`")?;
    let mut read: Vec<Experiment> = Vec::new();
    for path in &found {
        let text = files::read_text(path, "a recorded experiment")?;
        let name = path.display().to_string();
        let e = Experiment::read(&text, &name)?;
        if let Some(p) = check::repeated_point(&read, &e) {
            return Err(shown(&p, &text, &name));
        }
        read.push(e);
    }
    Ok(read)
}
