//! The format of recorded points: JSON, as the reference's README lays it down.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::error::{Error, ErrorKind};
use crate::files;

/// A number that was equal in all repetitions, or its mean, smallest and largest.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Recorded {
    /// Equal in all repetitions.
    Same(f64),
    /// Mean, smallest, largest.
    Spread([f64; 3]),
}

impl Recorded {
    /// Mean, smallest, largest.
    pub fn spread(self) -> [f64; 3] {
        match self {
            Recorded::Same(x) => [x; 3],
            Recorded::Spread(s) => s,
        }
    }
}

/// A per-CPU list of a zone.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub struct PcpState {
    /// Pages in it.
    pub count: u32,
    /// High mark.
    pub high: u32,
    /// Batch.
    pub batch: u32,
}

/// A zone when the workload starts.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct ZoneState {
    /// Managed pages.
    pub managed: u32,
    /// Free pages.
    pub free: u32,
    /// Watermarks.
    pub min: u32,
    /// Low watermark.
    pub low: u32,
    /// High watermark.
    pub high: u32,
    /// Reserve against requests for each zone kind.
    pub lowmem_reserve: Vec<u32>,
    /// Per-CPU list.
    pub pcp: PcpState,
}

/// One phase.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Phase {
    /// Name.
    pub phase: String,
    /// Counter changes; what did not change is left out.
    pub counters: BTreeMap<String, Recorded>,
    /// Values at its end.
    #[serde(default)]
    pub gauges: BTreeMap<String, Recorded>,
}

/// One point of an experiment.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Point {
    /// Its name.
    pub id: String,
    /// `uname -r`.
    pub kernel: String,
    /// `classic` or `mglru`.
    pub lru: String,
    /// Repetitions.
    pub repetitions: usize,
    /// The virtual machine.
    #[serde(default)]
    pub vm: BTreeMap<String, serde_json::Value>,
    /// Zones when the workload starts.
    #[serde(default)]
    pub zones_at_start: BTreeMap<String, ZoneState>,
    /// Commands of repetition 0.
    pub script: Vec<String>,
    /// For the other repetitions: the lines that differ.
    #[serde(default)]
    pub script_changes: Vec<Vec<(usize, String)>>,
    /// Phases.
    pub phases: Vec<Phase>,
}

impl Point {
    /// `6.12` of `6.12.117+deb12-amd64`.
    pub fn kernel_series(&self) -> String {
        self.kernel.split('.').take(2).collect::<Vec<_>>().join(".")
    }
    /// The commands of a repetition.
    pub fn script_of(&self, repetition: usize) -> Vec<String> {
        let mut script = self.script.clone();
        if repetition > 0 {
            for (line, text) in self.script_changes.get(repetition - 1).into_iter().flatten() {
                if let Some(l) = script.get_mut(*line) {
                    l.clone_from(text);
                }
            }
        }
        script
    }
}

/// All points of one file.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Experiment {
    /// Its name.
    pub experiment: String,
    /// Its points.
    pub points: Vec<Point>,
}

/// Reads every `*.json` of a folder, in order of name.
pub fn read_folder(dir: &Path) -> Result<Vec<Experiment>, Error> {
    let fail = |what: &str| {
        let title = format!("cannot read the folder `{}`: {what}", dir.display());
        Error::new(ErrorKind::File, title)
            .help("name a folder of recorded experiments, such as `reference`")
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
    found
        .iter()
        .map(|path| {
            let text = files::read_text(path, "a recorded experiment")?;
            let name = path.display().to_string();
            serde_json::from_str(&text).map_err(|e| {
                files::bad_json(&e, &text, &name, "recorded experiment")
                    .help("reference/README.md lays the form down")
            })
        })
        .collect()
}
