//! Fields that take more than their key: disks, files, nested tables.

use std::path::{Path, PathBuf};

use mmsim_core::base::id::{DiskId, Idx as _};
use mmsim_core::config::{DEFAULT_DISK, MachineConfig};

use super::keys::TableSpec;
use super::read::Reader;
use mmsim_base::error::Error;

/// Task and machine, for a workload.
pub(super) struct TaskCx<'a> {
    /// Name of the task. Its files go by it, so that its processes share them and other tasks do
    /// not.
    pub(super) name: &'a str,
    /// Threads of each process.
    pub(super) threads: u32,
    /// Where it runs.
    pub(super) machine: &'a MachineConfig,
    /// The folder of the scenario.
    pub(super) dir: &'a Path,
}

/// The disk that the key `disk` names.
pub(super) fn disk_of(r: &Reader<'_>, machine: &MachineConfig) -> Result<Option<DiskId>, Error> {
    let Some(name) = r.opt_name("disk")? else { return Ok(None) };
    let others = machine.disks.iter().map(|d| d.name.as_str());
    let known: Vec<&str> = std::iter::once(DEFAULT_DISK).chain(others).collect();
    match known.iter().position(|&n| n == name) {
        Some(i) => Ok(Some(DiskId::from_index(i))),
        None => Err(r.unknown_word("disk", "disk", name, &known)),
    }
}

/// A file that must exist, relative to the scenario's folder.
pub(super) fn file(r: &Reader<'_>, key: &str, dir: &Path) -> Result<PathBuf, Error> {
    let written = r.name(key)?;
    let path = dir.join(written);
    if path.is_dir() {
        return Err(r.error(key, format!("`{written}` is a directory"), "the name of a file"));
    }
    if !path.is_file() {
        let found = format!("there is no file `{written}`");
        return Err(r.error(key, found, "a name relative to the scenario file"));
    }
    Ok(path)
}

/// Value of a nested table, if it is there.
pub(super) fn within<T>(
    r: &Reader<'_>,
    key: &str,
    spec: &'static TableSpec,
    read: impl FnOnce(&Reader<'_>) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let Some(node) = r.find(key) else { return Ok(None) };
    let path = r.name_of(key);
    read(&Reader::open(r.sources, node, spec, &path)?).map(Some)
}

/// Value of a nested table, or of each table of a list; nothing if there is none.
pub(super) fn one_or_more<T>(
    r: &Reader<'_>,
    key: &str,
    spec: &'static TableSpec,
    read: impl FnMut(&Reader<'_>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    match r.find(key) {
        Some(node) if node.list().is_some() => each(r, key, spec, read),
        _ => Ok(within(r, key, spec, read)?.into_iter().collect()),
    }
}

/// Value of each table of a list, in its order; nothing if there is none.
pub(super) fn each<T>(
    r: &Reader<'_>,
    key: &str,
    spec: &'static TableSpec,
    mut read: impl FnMut(&Reader<'_>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let entry = |(i, node)| {
        let path = format!("{}[{i}]", r.name_of(key));
        read(&Reader::open(r.sources, node, spec, &path)?)
    };
    r.list(key)?.iter().enumerate().map(entry).collect()
}
