//! Records of monitoring results: what DAMON saw, aggregation by aggregation, in files.
//!
//! A kernel shows its results as tracepoints, which `perf script` prints ([`perf`]); the user-space
//! tool damo keeps them as JSON ([`damo`]). Both are read and written here, so that a simulated
//! record can be given to the tools that are made for real ones, and the other way round. What both
//! have in common is a [`Record`]: the snapshots of one monitored target.
//!
//! A tracepoint has the time at which an aggregation ended. When it began is not in it: it is taken
//! for the end of the one before, and for the first one for as long before its end as all later ones
//! took on average ([`set_start_times`]).

pub mod damo;
pub mod heatmap;
pub mod import;
pub mod kdamonds;
pub mod perf;
pub mod summary;

use std::path::Path;

use mmsim_damon::trace::target_id;

use mmsim_base::error::{Error, ErrorKind};
use mmsim_base::files;
use mmsim_report::Monitored;

/// Record of one target.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Record {
    /// Which kernel thread, from 0.
    pub kdamond_idx: u32,
    /// Which of its contexts, from 0.
    pub context_idx: u32,
    /// The intervals of the monitor, as far as they are known: tracepoints do not tell them.
    pub intervals: Option<Intervals>,
    /// The scheme that the regions were about to be given to; none: all regions of aggregations.
    pub scheme_idx: Option<u32>,
    /// Which target: its index, or in kernels before 5.17 the address of an object.
    pub target_id: u64,
    /// In order of time.
    pub snapshots: Vec<Snapshot>,
}

/// The intervals of a monitor, in µs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Intervals {
    /// Between two samples.
    pub sample_us: u64,
    /// Length of an aggregation.
    pub aggr_us: u64,
    /// Between two updates of the monitored ranges.
    pub ops_update_us: u64,
}

impl Intervals {
    /// Samples in an aggregation: the largest count that a region should show. At least 1.
    pub fn window(&self) -> u64 {
        (self.aggr_us / self.sample_us.max(1)).max(1)
    }
}

/// The regions of a target at the end of an aggregation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// When the aggregation began, in ns.
    pub start_ns: u64,
    /// When it ended, in ns; not before its start.
    pub end_ns: u64,
    /// In the order of the file.
    pub regions: Vec<Region>,
}

impl Snapshot {
    /// Its length, in ns.
    pub fn length_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// Bytes that were watched as one thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// First byte.
    pub start: u64,
    /// One past the last byte; above `start`.
    pub end: u64,
    /// Samples that showed an access.
    pub nr_accesses: u32,
    /// Aggregations for which it stayed about the same; kernels before 5.17 do not tell it.
    pub age: Option<u32>,
}

impl Region {
    /// Its bytes.
    pub fn size(&self) -> u64 {
        self.end - self.start
    }
}

/// Sets the beginnings of snapshots by their ends. A single one keeps its beginning.
pub fn set_start_times(snapshots: &mut [Snapshot]) {
    for i in 1..snapshots.len() {
        snapshots[i].start_ns = snapshots[i - 1].end_ns;
    }
    if let [first, .., last] = snapshots {
        let others = last.end_ns - first.end_ns;
        // The mean length; `first` is one of them, so there is at least one other.
        let mean = others / (snapshots.len() as u64 - 1);
        let first = &mut snapshots[0];
        first.start_ns = first.end_ns.saturating_sub(mean);
    }
}

/// Records of the monitor with this number in a run: one for each target that had an aggregation.
pub fn of_run(kdamond_idx: u32, monitored: &Monitored) -> Vec<Record> {
    let attrs = &monitored.attrs;
    let intervals = Intervals {
        sample_us: attrs.sample_us,
        aggr_us: attrs.aggr_us,
        ops_update_us: attrs.ops_update_us,
    };
    let mut records: Vec<Record> = Vec::new();
    // A tracepoint shows a region, so an aggregation without regions, as before a process has mapped
    // anything, shows nothing.
    for shot in monitored.record.iter().filter(|shot| !shot.regions.is_empty()) {
        let target_id = target_id(&monitored.rules, shot.target);
        let place = records.iter().position(|r| r.target_id == target_id).unwrap_or_else(|| {
            let intervals = Some(intervals);
            records.push(Record { kdamond_idx, intervals, target_id, ..Record::default() });
            records.len() - 1
        });
        let region = |r: &mmsim_damon::Region| Region {
            start: r.start,
            end: r.end,
            nr_accesses: r.nr_accesses,
            age: monitored.rules.trace_age.then_some(r.age),
        };
        records[place].snapshots.push(Snapshot {
            start_ns: shot.at.0.saturating_sub(attrs.aggr_us * 1000),
            end_ns: shot.at.0,
            regions: shot.regions.iter().map(region).collect(),
        });
    }
    for record in &mut records {
        set_start_times(&mut record.snapshots);
    }
    records
}

/// Reads a record in any of its forms, which its first bytes tell; gzip and zstd are unpacked.
///
/// # Errors
///
/// There is no such file, or it is damaged, or it has no snapshot. Messages have the line and column
/// in the text, which of a compressed record is what it holds.
pub fn load(path: &Path) -> Result<Vec<Record>, Error> {
    let name = path.display().to_string();
    let bytes = files::unpacked(files::read_bytes(path, "a record of DAMON")?, &name)?;
    read(&bytes, &name)
}

/// The same of bytes that came from `name`.
///
/// # Errors
///
/// See [`load`].
pub fn read(bytes: &[u8], name: &str) -> Result<Vec<Record>, Error> {
    let records = if damo::is_compressed(bytes) {
        damo::read(&damo::decompressed(bytes, name)?, name)?
    } else if bytes.starts_with(b"PERFILE2") {
        let title = format!("`{name}` is a file of perf record");
        let help = "print it with `perf script -i` and name the text instead";
        return Err(Error::new(ErrorKind::File, title).help(help));
    } else {
        let Ok(text) = std::str::from_utf8(bytes) else {
            let title = format!("`{name}` is no record: it is no text, and not compressed by zlib");
            return Err(Error::new(ErrorKind::File, title).help(WHAT));
        };
        match text.trim_start().bytes().next() {
            Some(b'[' | b'{') => {
                damo::read(text, name).map_err(|e| not_arguments(e, text, name))?
            }
            _ => perf::read(text, name)?,
        }
    };
    if records.iter().all(|r| r.snapshots.is_empty()) {
        return Err(Error::new(ErrorKind::File, format!("`{name}` has no snapshot")).help(WHAT));
    }
    Ok(records)
}

/// The error of reading JSON as a record, or another if it holds arguments of damo.
fn not_arguments(e: Error, text: &str, name: &str) -> Error {
    let json: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let first = json.get(0).unwrap_or(&json);
    if ["kdamonds", "contexts", "action"].iter().all(|key| first.get(key).is_none()) {
        return e;
    }
    let title = format!("`{name}` is no record: it holds arguments of damo");
    Error::new(ErrorKind::File, title).help(format!("write `mmsim damon import {name}`"))
}

/// Reads the arguments of damo at `path` as tables of a scenario; see [`kdamonds::import`].
///
/// # Errors
///
/// There is no such file, or it is a record, or see [`kdamonds::import`].
pub fn arguments(path: &Path, tasks: &[String]) -> Result<String, Error> {
    let name = path.display().to_string();
    let bytes = files::unpacked(files::read_bytes(path, "arguments of damo")?, &name)?;
    if is_record(&bytes) {
        let title = format!("`{name}` is a record of DAMON, and no arguments of damo");
        return Err(Error::new(ErrorKind::File, title).help(format!(
            "`mmsim damon report {name}` describes it, and `mmsim trace import --from damon {name} \
             -o OUT.mmt` makes a workload of it"
        )));
    }
    kdamonds::import(&files::text_of(bytes, &name)?, &name, tasks)
}

/// True for bytes that begin as a record does in any of its forms.
fn is_record(bytes: &[u8]) -> bool {
    if damo::is_compressed(bytes) || bytes.starts_with(b"PERFILE2") {
        return true;
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    if text.trim_start().starts_with(['[', '{']) {
        let json: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        return json.get(0).unwrap_or(&json).get("snapshots").is_some();
    }
    // `perf script` writes `damon:` before the name, trace_pipe does not.
    let points = ["damon_aggregated: ", "damos_before_apply: "];
    text.lines().any(|line| points.iter().any(|point| line.contains(point)))
}

/// Description of a record, for users without one.
const WHAT: &str = "a record is text of `perf script` with damon:damon_aggregated, or damo's JSON";

#[cfg(test)]
mod tests;
