//! What is in a trace: a pass over all of it, and its first records as text.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::error::TraceError;
use super::reader::TraceReader;
use super::source::VERSION;
use super::table::{Action, Record, Region, Timing, TraceTable};

/// What a trace holds. Its `Display` is a page for people.
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
    /// What was assumed in making it.
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

fn open(path: &Path) -> Result<File, TraceError> {
    File::open(path).map_err(TraceError::io(format!("opening {}", path.display())))
}

impl TraceInfo {
    /// Reads a trace of `bytes` bytes to its end.
    pub fn read(input: impl Read, bytes: u64) -> Result<Self, TraceError> {
        let mut reader = TraceReader::new(input)?;
        let mut info = TraceInfo::of_table(reader.table(), bytes);
        let mut seen: Vec<PageSet> =
            reader.table().regions.iter().map(|r| PageSet::new(r.pages)).collect();
        let mut block = Vec::new();
        while reader.next_block(&mut block)? {
            for record in &block {
                info.add(record, &mut seen);
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
            version: VERSION,
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

struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000 / 1000)
    }
}

/// Pages of a chunk of a [`PageSet`].
const CHUNK: u32 = 32_768;

/// A set of pages of one region. Chunks that are full take no memory and no time, so that
/// runs over a whole huge region stay cheap.
struct PageSet {
    pages: u32,
    chunks: Vec<Chunk>,
    count: u64,
}

enum Chunk {
    Empty,
    Some(Box<[u64; CHUNK as usize / 64]>),
    Full,
}

impl PageSet {
    fn new(pages: u32) -> Self {
        let chunks = (0..pages.div_ceil(CHUNK)).map(|_| Chunk::Empty).collect();
        PageSet { pages, chunks, count: 0 }
    }

    fn insert(&mut self, first: u32, count: u32) {
        if self.count == u64::from(self.pages) {
            return;
        }
        let (mut at, end) = (first, first + count);
        while at < end {
            let stop = end.min((at / CHUNK + 1) * CHUNK);
            self.count += self.chunks[(at / CHUNK) as usize].insert(at % CHUNK, stop - at);
            at = stop;
        }
    }
}

impl Chunk {
    /// Returns how many pages are new.
    fn insert(&mut self, first: u32, count: u32) -> u64 {
        if count == CHUNK {
            let before = match self {
                Chunk::Empty => 0,
                Chunk::Some(words) => words.iter().map(|w| w.count_ones()).sum(),
                Chunk::Full => CHUNK,
            };
            *self = Chunk::Full;
            return u64::from(CHUNK - before);
        }
        if matches!(self, Chunk::Empty) {
            *self = Chunk::Some(Box::new([0; CHUNK as usize / 64]));
        }
        let Chunk::Some(words) = self else { return 0 };
        let mut new = 0;
        let (mut at, end) = (first, first + count);
        while at < end {
            let (word, bit) = ((at / 64) as usize, at % 64);
            let here = (64 - bit).min(end - at);
            let mask = (u64::MAX >> (64 - here)) << bit;
            new += u64::from((mask & !words[word]).count_ones());
            words[word] |= mask;
            at += here;
        }
        new
    }
}

/// The first records of a trace as lines of text.
pub fn head(path: impl AsRef<Path>, records: u64) -> Result<Head<File>, TraceError> {
    Head::new(open(path.as_ref())?, records)
}

/// An iterator over records as lines; made by [`head`].
pub struct Head<R: Read> {
    reader: Option<TraceReader<R>>,
    block: Vec<Record>,
    at: usize,
    left: u64,
    clocks: Vec<u64>,
}

impl<R: Read> Head<R> {
    /// The first `records` records of `input`.
    pub fn new(input: R, records: u64) -> Result<Self, TraceError> {
        let reader = TraceReader::new(input)?;
        let clocks = vec![0; reader.table().processes.len()];
        Ok(Head { reader: Some(reader), block: Vec::new(), at: 0, left: records, clocks })
    }
}

impl<R: Read> Iterator for Head<R> {
    type Item = Result<String, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let reader = self.reader.as_mut()?;
        while self.at == self.block.len() {
            self.at = 0;
            match reader.next_block(&mut self.block) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(e) => {
                    self.reader = None;
                    return Some(Err(e));
                }
            }
        }
        let record = self.block[self.at];
        self.at += 1;
        self.left -= 1;
        let table = reader.table();
        let clock = &mut self.clocks[usize::from(record.process)];
        *clock += record.ticks * table.tick_ns;
        let mut line = String::new();
        match write_line(&mut line, table, &record, *clock) {
            Ok(()) => Some(Ok(line)),
            Err(_) => Some(Err(TraceError::io("formatting")(io::ErrorKind::Other.into()))),
        }
    }
}

/// `1.000250s  0  write  7f0001 +3  region 4 (file, shared: base.db)`.
fn write_line(
    line: &mut String,
    table: &TraceTable,
    record: &Record,
    clock: u64,
) -> Result<(), fmt::Error> {
    use fmt::Write;
    let (verb, region, first, count) = match record.action {
        Action::Access { region, write, first, count } => {
            (if write { "write" } else { "read" }, region, first, count)
        }
        Action::Map { region } => ("map", region, 0, table.regions[usize::from(region)].pages),
        Action::Unmap { region } => ("unmap", region, 0, table.regions[usize::from(region)].pages),
    };
    let r = &table.regions[usize::from(region)];
    let page = r.start + u64::from(first);
    write!(line, "{:>12}  process {}  {verb:<5}  ", Seconds(clock).to_string(), record.process)?;
    write!(line, "{page:>9x} +{count:<4}  region {region} ({}", r.backing.label())?;
    if let Some((file, _)) = r.backing.file() {
        write!(line, ": {}", table.files[usize::from(file)])?;
    }
    line.push(')');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_sets_count_each_page_once() {
        let mut set = PageSet::new(3 * CHUNK + 10);
        let mut model = vec![false; 3 * CHUNK as usize + 10];
        let runs = [(0, 1), (0, 70), (63, 2), (CHUNK - 1, 2), (CHUNK, CHUNK), (5, 2 * CHUNK)];
        for (first, count) in runs.into_iter().chain([(3 * CHUNK, 10), (0, 3 * CHUNK + 10)]) {
            set.insert(first, count);
            model[first as usize..(first + count) as usize].fill(true);
            assert_eq!(set.count, model.iter().filter(|&&m| m).count() as u64);
        }
    }
}
