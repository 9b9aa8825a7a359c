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

impl Experiment {
    /// Reads the text of one file.
    ///
    /// # Errors
    /// What is wrong, and where: for JSON that is not of this form line and column, else
    /// the point and its key.
    pub fn from_json(text: &str) -> Result<Experiment, String> {
        let e: Experiment = serde_json::from_str(text).map_err(|e| e.to_string())?;
        e.check()?;
        Ok(e)
    }

    fn check(&self) -> Result<(), String> {
        self.points
            .iter()
            .try_for_each(|p| p.check().map_err(|what| format!("point \"{}\": {what}", p.id)))
    }
}

impl Point {
    /// Whether there can be such a machine.
    fn check(&self) -> Result<(), String> {
        within("repetitions", self.repetitions as u64, 1, 1000)?;
        if let Some(cpus) = self.vm.get("cpus") {
            let n = cpus.as_u64().ok_or_else(|| format!("vm.cpus: {cpus}, write a number"))?;
            within("vm.cpus", n, 1, 1024)?;
        }
        let mut managed = 0;
        for (name, z) in &self.zones_at_start {
            let at = |key: &str| format!("zones_at_start.{name}.{key}");
            within(&at("managed"), z.managed.into(), 1, u32::MAX.into())?;
            managed += u64::from(z.managed);
            within("zones_at_start: managed pages together", managed, 1, u32::MAX.into())?;
            within(&at("pcp.count"), z.pcp.count.into(), 0, z.managed.into())?;
            within(&at("free"), z.free.into(), 0, (z.managed - z.pcp.count).into())?;
            within(&at("high"), z.high.into(), 0, z.managed.into())?;
            within(&at("low"), z.low.into(), 0, z.high.into())?;
            within(&at("min"), z.min.into(), 0, z.low.into())?;
        }
        Ok(())
    }
}

fn within(key: &str, found: u64, min: u64, max: u64) -> Result<(), String> {
    match (min..=max).contains(&found) {
        true => Ok(()),
        false => Err(format!("{key}: {found}, write a number from {min} to {max}")),
    }
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
            let e: Experiment = serde_json::from_str(&text).map_err(|e| {
                files::bad_json(&e, &text, &name, "recorded experiment")
                    .help("reference/README.md lays the form down")
            })?;
            e.check().map_err(|what| Error::new(ErrorKind::File, format!("{name}: {what}")))?;
            Ok(e)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: &str = r#"{ "experiment": "e", "points": [ { "id": "p", "kernel": "6.12.1",
  "lru": "classic", "repetitions": 2, "vm": { "cpus": 1 },
  "zones_at_start": { "DMA32": { "managed": 4000, "free": 3997, "min": 20, "low": 25, "high": 30,
    "lowmem_reserve": [0, 0, 0, 0, 0], "pcp": { "count": 3, "high": 10, "batch": 2 } } },
  "script": ["anon 0 100", "fill 0 0 100", "snap end"], "phases": [] } ] }"#;

    #[test]
    fn a_machine_that_cannot_be_is_refused() {
        Experiment::from_json(POINT).unwrap_or_else(|e| panic!("{e}"));
        let message = |from: &str, to: &str| {
            assert!(POINT.contains(from), "{from}");
            Experiment::from_json(&POINT.replacen(from, to, 1)).expect_err("must be refused")
        };
        assert_eq!(
            message("\"repetitions\": 2", "\"repetitions\": 0"),
            "point \"p\": repetitions: 0, write a number from 1 to 1000"
        );
        let often = message("\"repetitions\": 2", "\"repetitions\": 1000000000");
        assert!(often.ends_with("repetitions: 1000000000, write a number from 1 to 1000"));
        assert_eq!(
            message("\"cpus\": 1", "\"cpus\": 4294967296"),
            "point \"p\": vm.cpus: 4294967296, write a number from 1 to 1024"
        );
        assert_eq!(
            message("\"cpus\": 1", "\"cpus\": \"two\""),
            "point \"p\": vm.cpus: \"two\", write a number"
        );
        assert_eq!(
            message("3997", "3998"),
            "point \"p\": zones_at_start.DMA32.free: 3998, write a number from 0 to 3997"
        );
        assert_eq!(
            message("\"count\": 3", "\"count\": 4001"),
            "point \"p\": zones_at_start.DMA32.pcp.count: 4001, write a number from 0 to 4000"
        );
        assert_eq!(
            message("\"low\": 25", "\"low\": 31"),
            "point \"p\": zones_at_start.DMA32.low: 31, write a number from 0 to 30"
        );
        assert!(message("[]", "[").contains("line 5 column"));
    }
}
