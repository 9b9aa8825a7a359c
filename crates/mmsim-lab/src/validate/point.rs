//! The format of recorded points: JSON, as the reference's README lays it down.
//!
//! What is of this form and yet cannot be (a machine with more free than managed pages, a
//! phase that the script does not have) is refused as well (`check.rs`).

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::booted::Booted;
use super::patched::Patched;

/// A number that was equal in all repetitions, or its mean, smallest and largest.
#[derive(Clone, Copy, PartialEq, Debug)]
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

impl<'de> Deserialize<'de> for Recorded {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Recorded, D::Error> {
        struct Number;
        impl<'de> Visitor<'de> for Number {
            type Value = Recorded;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or [mean, smallest, largest]")
            }
            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Recorded, E> {
                Ok(Recorded::Same(n as f64))
            }
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Recorded, E> {
                Ok(Recorded::Same(n as f64))
            }
            fn visit_f64<E: de::Error>(self, n: f64) -> Result<Recorded, E> {
                Ok(Recorded::Same(n))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Recorded, A::Error> {
                let mut three = [0.0; 3];
                for (i, x) in three.iter_mut().enumerate() {
                    *x = seq.next_element()?.ok_or_else(|| de::Error::invalid_length(i, &self))?;
                }
                match seq.next_element::<f64>()? {
                    None => Ok(Recorded::Spread(three)),
                    Some(_) => Err(de::Error::invalid_length(4, &self)),
                }
            }
        }
        d.deserialize_any(Number)
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

/// A zone at some moment of a recording.
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

/// Zones by the names that the kernel gives them.
pub type Zones = BTreeMap<String, ZoneState>;

/// A group in a phase.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
pub struct GroupPhase {
    /// Changes of its counters; what did not change is left out.
    pub counters: BTreeMap<String, Recorded>,
    /// Sizes at the end in pages; what is 0 is left out.
    pub gauges: BTreeMap<String, Recorded>,
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
    /// Groups by path, of points that have some.
    #[serde(default)]
    pub groups: BTreeMap<String, GroupPhase>,
    /// Free blocks per order at its end, by zone.
    #[serde(default)]
    pub buddy_after: BTreeMap<String, Vec<Recorded>>,
}

impl Phase {
    /// Free blocks of order 9 at its end, those of order 10 counted twice, if they were
    /// recorded: mean, smallest, largest.
    pub fn free_order9(&self) -> Option<[f64; 3]> {
        let mut sum = [0.0; 3];
        for zone in self.buddy_after.values() {
            for (order, blocks) in zone.iter().enumerate().skip(9) {
                let of = blocks.spread();
                (0..3).for_each(|i| sum[i] += of[i] * f64::from(1u32 << (order - 9)));
            }
        }
        (!self.buddy_after.is_empty()).then_some(sum)
    }
}

/// A region that a monitor saw: first page from the start of the watched area, pages, samples with
/// an access, aggregations.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(from = "(i64, u64, u32, u32)")]
pub struct SeenRegion {
    /// First page, from the start of the watched area; other ranges of the process lie before or
    /// behind it.
    pub start: i64,
    /// Pages.
    pub pages: u64,
    /// Samples of the aggregation with an access.
    pub nr_accesses: u32,
    /// Aggregations since that changed.
    pub age: u32,
}

impl From<(i64, u64, u32, u32)> for SeenRegion {
    fn from((start, pages, nr_accesses, age): (i64, u64, u32, u32)) -> Self {
        SeenRegion { start, pages, nr_accesses, age }
    }
}

/// A second of a series: its number, resident and swapped pages of the child, free pages, and of the
/// first scheme nr_tried, sz_tried, nr_applied, sz_applied and qt_exceeds, if they were read.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Second(
    pub u64,
    pub u64,
    pub u64,
    pub u64,
    #[serde(deserialize_with = "five_or_nothing")] pub Option<[u64; 5]>,
);

/// Five numbers, or an empty object where none were read.
fn five_or_nothing<'de, D: Deserializer<'de>>(d: D) -> Result<Option<[u64; 5]>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Read {
        Five([u64; 5]),
        Nothing {},
    }
    let read = Read::deserialize(d).map_err(|_| {
        de::Error::custom("five counts of a scheme, or {} where they were not read")
    })?;
    Ok(if let Read::Five(five) = read { Some(five) } else { None })
}

/// One point of an experiment. Keys that are not here are further observations, which the
/// replay does not use.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Point {
    /// Its name.
    pub id: String,
    /// `uname -r`, or the name of a patched kernel.
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
    pub zones_at_start: Zones,
    /// Zones when memory has been fragmented.
    #[serde(default)]
    pub zones_at_frag: Zones,
    /// Zones when the child process has its memory.
    #[serde(default)]
    pub zones_at_spawned: Zones,
    /// Zones when monitoring begins.
    #[serde(default)]
    pub zones_at_on: Zones,
    /// Where memory was free at the start, if that was read out: the states that the machine was
    /// found in.
    #[serde(default)]
    pub boot: Vec<Booted>,
    /// Free pages of all zones when each repetition began, which say in which of these states it did.
    #[serde(default)]
    pub free_at_start_each: Vec<u32>,
    /// Commands of repetition 0.
    pub script: Vec<String>,
    /// For the other repetitions: the lines that differ.
    #[serde(default)]
    pub script_changes: Vec<Vec<(usize, String)>>,
    /// Phases.
    pub phases: Vec<Phase>,
    /// Records of a monitor: for each repetition its snapshots, with name and ms since the first.
    #[serde(default)]
    pub regions: Vec<Vec<(String, u64, Vec<SeenRegion>)>>,
    /// For each repetition, second by second: resident and swapped pages of the child, free pages,
    /// and counts of the first scheme.
    #[serde(default)]
    pub series: Vec<Vec<Second>>,
    /// Results of commands: their names, and values by name.
    #[serde(default)]
    pub results: Vec<(String, BTreeMap<String, serde_json::Value>)>,
}

impl Point {
    /// Result of a command under a name, if it has one: mean, smallest, largest.
    pub fn result(&self, command: &str, key: &str) -> Option<[f64; 3]> {
        let (_, values) = self.results.iter().find(|r| r.0 == command)?;
        let recorded: Recorded = serde_json::from_value(values.get(key)?.clone()).ok()?;
        Some(recorded.spread())
    }
    /// Its result in each repetition, where that was recorded.
    pub fn result_each(&self, command: &str, key: &str) -> Option<Vec<f64>> {
        let (_, values) = self.results.iter().find(|r| r.0 == command)?;
        serde_json::from_value(values.get(&format!("{key}_each"))?.clone()).ok()
    }
    /// `6.12` of `6.12.117+deb12-amd64` and of `6.12-rc3`; the whole text if it is a patched kernel
    /// or does not begin with two numbers.
    pub fn kernel_series(&self) -> String {
        if self.patched().is_some() { self.kernel.clone() } else { series(&self.kernel) }
    }
    /// True if its processes are in memory cgroups.
    pub fn has_groups(&self) -> bool {
        self.phases.iter().any(|x| !x.groups.is_empty())
    }
    /// The patched kernel that it was recorded on, if it was.
    pub fn patched(&self) -> Option<&'static Patched> {
        Patched::of(&self.kernel)
    }
    /// Where memory was free when a repetition began, if that was read out: the state with as many
    /// free pages, or nearly so.
    pub(super) fn booted(&self, repetition: usize) -> Option<&Booted> {
        match self.free_at_start_each.get(repetition) {
            Some(&free) => self.boot.iter().min_by_key(|b| b.free_pages().abs_diff(free)),
            None => self.boot.first(),
        }
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
    /// Each record of zones with its key.
    pub fn zones(&self) -> [(&'static str, &Zones); 4] {
        [
            ("zones_at_start", &self.zones_at_start),
            ("zones_at_frag", &self.zones_at_frag),
            ("zones_at_spawned", &self.zones_at_spawned),
            ("zones_at_on", &self.zones_at_on),
        ]
    }
    /// The zones that were recorded when the memory to be looked at was in use, and the phase that
    /// ends then.
    pub fn zones_after_setup(&self) -> (&'static str, &Zones) {
        let of = |z: &&(&'static str, &Zones)| !z.1.is_empty();
        let all = [
            ("frag", &self.zones_at_frag),
            ("spawned", &self.zones_at_spawned),
            ("on", &self.zones_at_on),
        ];
        *all.iter().find(of).unwrap_or(&all[0])
    }
    /// The number of the first phase that is compared: set-up ends with `start`, or where
    /// there is none with `spawned`, `on` or `frag`.
    pub fn first_compared(&self) -> usize {
        ["start", "spawned", "on", "frag"]
            .iter()
            .find_map(|n| self.phases.iter().position(|x| x.phase == *n))
            .map_or(0, |i| i + 1)
    }
    /// The name of a point without the kernel, `6.12`, that it may end with.
    pub fn stem<'a>(id: &'a str, kernel: &str) -> &'a str {
        id.strip_suffix(kernel).and_then(|id| id.strip_suffix('-')).unwrap_or(id)
    }
    /// The point that was recorded anew under this name, with the scheduler's tick at another time
    /// (`sens-tick0-..`) or a little more or less free memory (`sens-free0-..`).
    pub fn recorded_anew(id: &str) -> Option<&str> {
        let rest = id.strip_prefix("sens-tick").or_else(|| id.strip_prefix("sens-free"))?;
        let (_, stem) = rest.split_once('-')?;
        Some(stem)
    }
    /// Recorded to see how much the set-up matters: printed, never judged.
    pub fn is_sensitivity(id: &str) -> bool {
        id.starts_with("sens-")
    }
}

/// `6.12` of `6.12.117+deb12-amd64`; the whole text if it does not begin with two numbers.
pub fn series(kernel: &str) -> String {
    let mut parts = kernel.splitn(3, '.');
    let digits = |s: Option<&str>| -> Option<String> {
        let s = s?;
        let end = s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len());
        (end > 0).then(|| s[..end].to_string())
    };
    match (digits(parts.next()), digits(parts.next())) {
        (Some(major), Some(minor)) => format!("{major}.{minor}"),
        _ => kernel.to_string(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_known_by_two_numbers() {
        let series = |kernel: &str| {
            let text = format!(
                "{{\"id\":\"p\",\"kernel\":\"{kernel}\",\"lru\":\"classic\",\"repetitions\":1,\
                 \"script\":[],\"phases\":[]}}"
            );
            serde_json::from_str::<Point>(&text).expect("a point").kernel_series()
        };
        assert_eq!(series("6.12.117+deb12-amd64"), "6.12");
        assert_eq!(series("6.1.0-51-amd64"), "6.1");
        assert_eq!(series("6.12-rc3"), "6.12");
        assert_eq!(series("5.9"), "5.9");
        assert_eq!(series("next-20250101"), "next-20250101");
        assert_eq!(series("6.12+lazyfree-list"), "6.12+lazyfree-list");
    }

    #[test]
    fn numbers_are_one_or_three() {
        let read = |text: &str| serde_json::from_str::<Recorded>(text).map_err(|e| e.to_string());
        assert_eq!(read("7").map(Recorded::spread), Ok([7.0; 3]));
        assert_eq!(read("[2.3, 1, 4]").map(Recorded::spread), Ok([2.3, 1.0, 4.0]));
        for wrong in ["[1, 2]", "[1, 2, 3, 4]", "\"7\"", "null", "[]"] {
            let said = read(wrong).expect_err(wrong);
            assert!(said.contains("a number or [mean, smallest, largest]"), "{said}");
        }
    }
}
