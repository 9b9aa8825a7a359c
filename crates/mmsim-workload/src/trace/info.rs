//! Contents of a trace: a pass over all of it.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::block::MMT;
use super::error::TraceError;
use super::page_set::PageSet;
use super::reader::{Block, Pages, TraceReader};
use super::table::{Action, Record, Region, Timing, TraceTable};

/// Contents of a trace. Its `Display` is a page for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceInfo {
    /// Version of the format.
    pub version: u16,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes after decompression.
    pub decoded_bytes: u64,
    /// The meaning of time.
    pub timing: Timing,
    /// Nanoseconds of a tick.
    pub tick_ns: u64,
    /// Where it comes from.
    pub source: String,
    /// Assumptions made in writing it.
    pub assumptions: Vec<String>,
    /// Its processes.
    pub processes: Vec<ProcessInfo>,
    /// Its files and their pages.
    pub files: Vec<(String, u32)>,
    /// Its regions.
    pub regions: Vec<RegionInfo>,
    /// Records.
    pub records: u64,
    /// Pages touched, counted each time.
    pub accesses: u64,
    /// .. of them by reads (or instruction fetches).
    pub reads: u64,
    /// .. of them by writes.
    pub writes: u64,
    /// Distinct pages touched.
    pub distinct_pages: u64,
    /// Pages of all regions.
    pub footprint_pages: u64,
    /// The longest clock of a process, in nanoseconds.
    pub duration_ns: u64,
}

/// One process of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessInfo {
    /// Its number where it was recorded.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its regions.
    pub regions: u64,
    /// Its records.
    pub records: u64,
    /// Pages it touched, counted each time.
    pub accesses: u64,
    /// Distinct pages it touched.
    pub distinct_pages: u64,
    /// Its clock at the end, in nanoseconds.
    pub duration_ns: u64,
}

/// One region of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionInfo {
    /// As in the table.
    pub region: Region,
    /// Pages read, counted each time.
    pub reads: u64,
    /// Pages written, counted each time.
    pub writes: u64,
    /// Distinct pages touched.
    pub distinct_pages: u64,
}

/// Reads a whole trace and says what is in it.
pub fn info(path: impl AsRef<Path>) -> Result<TraceInfo, TraceError> {
    let path = path.as_ref();
    let file = open(path)?;
    let bytes =
        file.metadata().map_err(TraceError::io(format!("reading {}", path.display())))?.len();
    TraceInfo::read(file, bytes)
}

pub(super) fn open(path: &Path) -> Result<File, TraceError> {
    File::open(path).map_err(TraceError::io(format!("opening {}", path.display())))
}

impl TraceInfo {
    /// Reads a trace of `bytes` bytes to its end.
    pub fn read(input: impl Read, bytes: u64) -> Result<Self, TraceError> {
        let mut reader = TraceReader::new(input)?;
        let mut info = TraceInfo::of_table(reader.table(), bytes);
        let mut seen: Vec<PageSet> =
            reader.table().regions.iter().map(|r| PageSet::new(r.pages)).collect();
        while let Some(block) = reader.next()? {
            match block {
                Block::Records(records) => {
                    records.iter().for_each(|record| info.add(record, &mut seen));
                }
                Block::Pages(block) => info.add_pages(&block, &mut seen[usize::from(block.region)]),
            }
        }
        info.decoded_bytes = reader.decoded_bytes();
        for (region, set) in info.regions.iter_mut().zip(&seen) {
            region.distinct_pages = set.count;
            info.processes[usize::from(region.region.process)].distinct_pages += set.count;
            info.distinct_pages += set.count;
        }
        info.duration_ns = info.processes.iter().map(|p| p.duration_ns).max().unwrap_or(0);
        Ok(info)
    }

    fn of_table(table: &TraceTable, bytes: u64) -> Self {
        let processes = table.processes.iter().enumerate().map(|(i, p)| ProcessInfo {
            pid: p.pid,
            name: p.name.clone(),
            regions: table.regions.iter().filter(|r| usize::from(r.process) == i).count() as u64,
            records: 0,
            accesses: 0,
            distinct_pages: 0,
            duration_ns: 0,
        });
        let regions = table.regions.iter().map(|&region| RegionInfo {
            region,
            reads: 0,
            writes: 0,
            distinct_pages: 0,
        });
        let mut pages = vec![1; table.files.len()];
        for region in &table.regions {
            if let Some((file, offset)) = region.backing.file() {
                let end = offset.saturating_add(region.pages);
                let size = &mut pages[usize::from(file)];
                *size = end.max(*size);
            }
        }
        TraceInfo {
            version: MMT.version,
            bytes,
            decoded_bytes: 0,
            timing: table.timing,
            tick_ns: table.tick_ns,
            source: table.source.clone(),
            assumptions: table.assumptions.clone(),
            processes: processes.collect(),
            files: table.files.iter().cloned().zip(pages).collect(),
            regions: regions.collect(),
            records: 0,
            accesses: 0,
            reads: 0,
            writes: 0,
            distinct_pages: 0,
            footprint_pages: table.total_pages(),
            duration_ns: 0,
        }
    }

    fn add_pages(&mut self, block: &Pages<'_>, seen: &mut PageSet) {
        let n = block.pages.len() as u64;
        let process = &mut self.processes[usize::from(block.process)];
        process.records += n;
        process.accesses += n;
        self.records += n;
        self.accesses += n;
        let writes = block.nr_writes();
        self.writes += writes;
        self.reads += n - writes;
        let r = &mut self.regions[usize::from(block.region)];
        r.writes += writes;
        r.reads += n - writes;
        block.pages.iter().for_each(|&page| seen.insert(page, 1));
    }

    fn add(&mut self, record: &Record, seen: &mut [PageSet]) {
        let process = &mut self.processes[usize::from(record.process)];
        process.records += 1;
        process.duration_ns += record.ticks * self.tick_ns;
        self.records += 1;
        if let Action::Access { region, write, first, count } = record.action {
            let n = u64::from(count);
            process.accesses += n;
            self.accesses += n;
            let r = &mut self.regions[usize::from(region)];
            if write {
                self.writes += n;
                r.writes += n;
            } else {
                self.reads += n;
                r.reads += n;
            }
            seen[usize::from(region)].insert(first, count);
        }
    }
}

impl fmt::Display for TraceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timing = match self.timing {
            Timing::ThinkTime => "closed loop with think time",
            Timing::Arrivals => "recorded arrivals",
        };
        writeln!(f, "format    version {}, {timing}, ticks of {} ns", self.version, self.tick_ns)?;
        writeln!(f, "source    {}", self.source)?;
        writeln!(f, "size      {} bytes, {} decoded", self.bytes, self.decoded_bytes)?;
        writeln!(f, "records   {}", self.records)?;
        writeln!(f, "accesses  {} ({} reads, {} writes)", self.accesses, self.reads, self.writes)?;
        writeln!(
            f,
            "pages     {} distinct of {} mapped",
            self.distinct_pages, self.footprint_pages
        )?;
        writeln!(f, "duration  {}", Seconds(self.duration_ns))?;
        writeln!(f, "\nprocess   pid      records     accesses    pages  duration  name")?;
        for (i, p) in self.processes.iter().enumerate() {
            writeln!(
                f,
                "{i:>7} {:>5} {:>12} {:>12} {:>8}  {}  {}",
                p.pid,
                p.records,
                p.accesses,
                p.distinct_pages,
                Seconds(p.duration_ns),
                p.name
            )?;
        }
        writeln!(
            f,
            "\nregion process   first page      pages    touched        reads       writes  kind"
        )?;
        for (i, r) in self.regions.iter().enumerate() {
            let Region { process, start, pages, backing, at_start } = r.region;
            write!(
                f,
                "{i:>6} {process:>7} {start:>12x} {pages:>10} {:>10} {:>12} {:>12}  {}",
                r.distinct_pages,
                r.reads,
                r.writes,
                backing.label()
            )?;
            if let Some((file, offset)) = backing.file() {
                write!(f, ": {} from page {offset}", self.files[usize::from(file)].0)?;
            }
            writeln!(f, "{}", if at_start { "" } else { ", mapped later" })?;
        }
        if !self.assumptions.is_empty() {
            writeln!(f, "\nassumed when it was made:")?;
        }
        for a in &self.assumptions {
            writeln!(f, "  - {a}")?;
        }
        Ok(())
    }
}

/// Nanoseconds shown as seconds.
pub(super) struct Seconds(pub(super) u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000 / 1000)
    }
}
