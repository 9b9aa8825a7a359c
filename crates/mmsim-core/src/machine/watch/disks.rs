//! Reads and writes of disks for files in a run.

use crate::base::id::IndexVec;
use crate::base::time::SimDuration;
use crate::memory::Memory;

/// A disk for files.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FileDisk {
    /// Its name.
    pub name: String,
    /// Name of its device.
    pub device: String,
    /// Files on it.
    pub files: usize,
    /// Pages read.
    pub read: u64,
    /// Pages written.
    pub written: u64,
    /// Time of its reads: latency and transfer, without waiting in line.
    pub reading: SimDuration,
}

impl FileDisk {
    /// One without files.
    pub fn new(name: impl Into<String>, device: impl Into<String>) -> Self {
        let (name, device, reading) = (name.into(), device.into(), SimDuration::ZERO);
        FileDisk { name, device, files: 0, read: 0, written: 0, reading }
    }

    /// Those of a machine, the default one first.
    pub(in crate::machine) fn all(mem: &Memory) -> Vec<FileDisk> {
        let mut files: IndexVec<_, usize> = IndexVec::filled(mem.cache.disks.len(), 0);
        for file in mem.cache.files.ids() {
            files[mem.cache.files[file].disk] += 1;
        }
        let disk = |id| {
            let d = &mem.cache.disks[id];
            FileDisk {
                name: d.name.clone(),
                device: d.device.config().name.clone(),
                files: files[id],
                read: d.read,
                written: d.written,
                reading: d.device.reading,
            }
        };
        mem.cache.disks.ids().map(disk).collect()
    }
}
