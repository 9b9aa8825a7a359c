//! Tables of a trace: processes, files and regions; and its records.
//!
//! The table stands before the records and names everything that a record can mention by
//! number. Regions are listed whole, in the order in which the trace first needs them;
//! those that the program maps later carry `at_start: false` and wait for a record.
//!
//! The numbers are bounded so that a reader can make all its tables before it has seen a
//! record, and so that a lie costs nothing: at most [`MAX_TOTAL_PAGES`] pages in all
//! (a bitmap of them takes 32 MiB).

use super::error::TraceError;
use super::wire::{Cursor, put_text, put_varint};

/// Most processes of a trace.
pub const MAX_PROCESSES: usize = 4096;
/// Most files of a trace.
pub const MAX_FILES: usize = 4096;
/// Most regions of a trace.
pub const MAX_REGIONS: usize = 65_535;
/// Most pages of all regions together: 1 TiB.
pub const MAX_TOTAL_PAGES: u64 = 1 << 28;
/// Virtual pages of a process: 47 bits of address.
pub const USER_PAGES: u64 = 1 << 35;
/// Largest clock of a process, in nanoseconds: 146 years.
pub(super) const MAX_CLOCK_NS: u64 = u64::MAX / 4;
/// Most pages touched by all records, counted each time: 2^60.
pub(super) const MAX_ACCESSES: u64 = 1 << 60;
/// Longest name, in bytes.
const MAX_NAME: usize = 255;
/// Longest assumption, in bytes, and most of them.
const MAX_NOTE: usize = 1000;
const MAX_NOTES: usize = 64;
/// Longest tick: a second.
const MAX_TICK_NS: u64 = 1_000_000_000;

/// Meaning of the time of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timing {
    /// The process computed for so long before the access (closed loop): a slower machine
    /// delays everything after.
    ThinkTime,
    /// The access came so long after the one before, waits included (recorded arrivals).
    Arrivals,
}

/// A process of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    /// Its number where it was recorded, or 0.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// Kind of memory that a region maps. Files are named by their position in [`TraceTable::files`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backing {
    /// Private anonymous memory.
    Anon,
    /// A mapped file, not executable.
    File {
        /// The file.
        file: u16,
        /// First page of the file.
        offset: u32,
        /// `MAP_SHARED`; else a write makes an anonymous copy of the page.
        shared: bool,
    },
    /// Program text: a private executable mapping of a file.
    Text {
        /// The file.
        file: u16,
        /// First page of the file.
        offset: u32,
    },
    /// A shared executable mapping of a file.
    SharedText {
        /// The file.
        file: u16,
        /// First page of the file.
        offset: u32,
    },
    /// Shared memory, of tmpfs, memfd, SysV or an anonymous mapping. The file is the object.
    Shmem {
        /// The object.
        file: u16,
        /// First page of it.
        offset: u32,
    },
    /// Not known; replayed as anonymous memory.
    Unknown,
    /// File pages that are read and written through a descriptor, never mapped. It has no
    /// address: `start` is 0.
    Descriptor {
        /// The file.
        file: u16,
        /// First page of the file.
        offset: u32,
    },
}

impl Backing {
    /// The file and the first page in it.
    pub fn file(self) -> Option<(u16, u32)> {
        match self {
            Backing::File { file, offset, .. }
            | Backing::Text { file, offset }
            | Backing::SharedText { file, offset }
            | Backing::Shmem { file, offset }
            | Backing::Descriptor { file, offset } => Some((file, offset)),
            Backing::Anon | Backing::Unknown => None,
        }
    }

    /// The same backing, `pages` further into the file.
    pub(super) fn skip(self, pages: u32) -> Self {
        match self {
            Backing::File { file, offset, shared } => {
                Backing::File { file, offset: offset.saturating_add(pages), shared }
            }
            Backing::Text { file, offset } => {
                Backing::Text { file, offset: offset.saturating_add(pages) }
            }
            Backing::SharedText { file, offset } => {
                Backing::SharedText { file, offset: offset.saturating_add(pages) }
            }
            Backing::Shmem { file, offset } => {
                Backing::Shmem { file, offset: offset.saturating_add(pages) }
            }
            Backing::Descriptor { file, offset } => {
                Backing::Descriptor { file, offset: offset.saturating_add(pages) }
            }
            other => other,
        }
    }

    /// Its name in listings.
    pub fn label(self) -> &'static str {
        match self {
            Backing::Anon => "anonymous",
            Backing::File { shared: false, .. } => "file, private",
            Backing::File { shared: true, .. } => "file, shared",
            Backing::Text { .. } => "executable file",
            Backing::SharedText { .. } => "executable file, shared",
            Backing::Shmem { .. } => "shared memory",
            Backing::Unknown => "unknown",
            Backing::Descriptor { .. } => "file, by descriptor",
        }
    }
}

/// A region: consecutive pages of a process with one backing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// The process, by position.
    pub process: u16,
    /// First virtual page.
    pub start: u64,
    /// Pages, at least 1.
    pub pages: u32,
    /// Kind of memory that it maps.
    pub backing: Backing,
    /// Mapped before the first record; else by [`Action::Map`].
    pub at_start: bool,
}

/// Tables before the records of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceTable {
    /// The meaning of time.
    pub timing: Timing,
    /// Nanoseconds of a tick, the unit of time of the records.
    pub tick_ns: u64,
    /// Where the trace comes from, in a few words.
    pub source: String,
    /// Assumptions made in writing it, a sentence each.
    pub assumptions: Vec<String>,
    /// The processes.
    pub processes: Vec<Process>,
    /// Names of the files.
    pub files: Vec<String>,
    /// The regions.
    pub regions: Vec<Region>,
}

/// Action of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Touches consecutive pages of a region, in ascending order.
    Access {
        /// The region, by position; of the record's process.
        region: u16,
        /// Written, else read.
        write: bool,
        /// First page within the region.
        first: u32,
        /// Pages, at least 1.
        count: u32,
    },
    /// Maps a region, with untouched pages.
    Map {
        /// The region.
        region: u16,
    },
    /// Unmaps a region.
    Unmap {
        /// The region.
        region: u16,
    },
}

/// One record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// The process, by position.
    pub process: u16,
    /// Ticks since the record before of the same process, or since the start.
    pub ticks: u64,
    /// Its action.
    pub action: Action,
}

impl TraceTable {
    /// A table of nothing: closed loop, ticks of a nanosecond.
    pub fn empty(source: impl Into<String>) -> Self {
        TraceTable {
            timing: Timing::ThinkTime,
            tick_ns: 1,
            source: source.into(),
            assumptions: Vec::new(),
            processes: Vec::new(),
            files: Vec::new(),
            regions: Vec::new(),
        }
    }

    /// Pages of all regions.
    pub fn total_pages(&self) -> u64 {
        self.regions.iter().map(|r| u64::from(r.pages)).sum()
    }

    /// Pages of a file: as far as any region reaches.
    pub fn file_pages(&self, file: u16) -> u32 {
        let ends = self.regions.iter().filter_map(|r| match r.backing.file() {
            Some((f, offset)) if f == file => Some(offset.saturating_add(r.pages)),
            _ => None,
        });
        ends.max().unwrap_or(1)
    }

    /// The clock `ticks` after `clock`; nothing if clocks end before.
    #[inline]
    pub(super) fn later(&self, clock: u64, ticks: u64) -> Option<u64> {
        let ns = ticks.checked_mul(self.tick_ns)?.checked_add(clock)?;
        (ns <= MAX_CLOCK_NS).then_some(ns)
    }

    /// Checks everything that does not need the records.
    pub(super) fn check(&self) -> Result<(), TraceError> {
        self.check_head()?;
        for (i, region) in self.regions.iter().enumerate() {
            self.check_region(i, region)?;
        }
        if self.total_pages() > MAX_TOTAL_PAGES {
            return Err(TraceError::invalid(
                "the regions",
                format!("{} pages in all", self.total_pages()),
                format!("at most {MAX_TOTAL_PAGES}"),
            ));
        }
        Ok(())
    }

    fn check_head(&self) -> Result<(), TraceError> {
        within("the tick", self.tick_ns, 1, MAX_TICK_NS, "ns")?;
        within("the table", self.assumptions.len() as u64, 0, MAX_NOTES as u64, "assumptions")?;
        within("the table", self.processes.len() as u64, 1, MAX_PROCESSES as u64, "processes")?;
        within("the table", self.files.len() as u64, 0, MAX_FILES as u64, "files")?;
        within("the table", self.regions.len() as u64, 0, MAX_REGIONS as u64, "regions")?;
        let names = self.processes.iter().map(|p| &p.name).chain(&self.files).chain([&self.source]);
        for name in names {
            within("a name", name.len() as u64, 0, MAX_NAME as u64, "bytes")?;
        }
        for note in &self.assumptions {
            within("an assumption", note.len() as u64, 0, MAX_NOTE as u64, "bytes")?;
        }
        Ok(())
    }

    fn check_region(&self, i: usize, r: &Region) -> Result<(), TraceError> {
        let bad = |found: String, expected: String| {
            Err(TraceError::invalid(format!("region {i}"), found, expected))
        };
        if usize::from(r.process) >= self.processes.len() {
            return bad(
                format!("process {}", r.process),
                format!("a process below {}", self.processes.len()),
            );
        }
        if r.pages == 0 {
            return bad("0 pages".into(), "at least 1 page".into());
        }
        if r.start.checked_add(u64::from(r.pages)).is_none_or(|end| end > USER_PAGES) {
            return bad(
                format!("pages {:#x} and {} more", r.start, r.pages),
                format!("an end within the 47-bit address space (page {USER_PAGES:#x})"),
            );
        }
        if let Some((file, offset)) = r.backing.file() {
            if usize::from(file) >= self.files.len() {
                return bad(format!("file {file}"), format!("a file below {}", self.files.len()));
            }
            if offset.checked_add(r.pages).is_none() {
                return bad(
                    format!("file pages {offset} and {} more", r.pages),
                    "an end below 2^32 pages".into(),
                );
            }
        }
        let shared = |r: &Region| matches!(r.backing, Backing::Shmem { .. });
        let file = |r: &Region| r.backing.file().map(|f| f.0);
        let other = |o: &&Region| file(o).is_some() && file(o) == file(r) && shared(o) != shared(r);
        if shared(r)
            && let Some(f) = self.regions.iter().find(other).and_then(file)
        {
            return bad(
                format!("file {f}, which another region has as a file of a disk"),
                "an object of shared memory of its own".into(),
            );
        }
        if matches!(r.backing, Backing::Descriptor { .. }) && (r.start != 0 || !r.at_start) {
            return bad(
                "an address for a region used by descriptor".into(),
                "start 0, present from the start".into(),
            );
        }
        Ok(())
    }

    /// The payload of the table block.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.push(match self.timing {
            Timing::ThinkTime => 0,
            Timing::Arrivals => 1,
        });
        put_varint(&mut out, self.tick_ns);
        put_text(&mut out, &self.source);
        put_varint(&mut out, self.assumptions.len() as u64);
        for note in &self.assumptions {
            put_text(&mut out, note);
        }
        put_varint(&mut out, self.processes.len() as u64);
        for process in &self.processes {
            put_varint(&mut out, u64::from(process.pid));
            put_text(&mut out, &process.name);
        }
        put_varint(&mut out, self.files.len() as u64);
        for file in &self.files {
            put_text(&mut out, file);
        }
        put_varint(&mut out, self.regions.len() as u64);
        for region in &self.regions {
            put_region(&mut out, region);
        }
        out
    }

    /// Reads the payload of a table block that begins at byte `base`.
    pub(super) fn decode(payload: &[u8], base: u64) -> Result<Self, TraceError> {
        let mut at = Cursor::new(payload, base);
        let timing = match at.byte("the meaning of time")? {
            0 => Timing::ThinkTime,
            1 => Timing::Arrivals,
            other => return Err(at.wrong(format!("timing {other}"), "0 (think) or 1 (arrivals)")),
        };
        let mut table = TraceTable { timing, ..TraceTable::empty("") };
        table.tick_ns = at.bounded("nanoseconds of a tick", 1, MAX_TICK_NS)?;
        table.source = at.text("the source", MAX_NAME)?;
        for _ in 0..at.bounded("the number of assumptions", 0, MAX_NOTES as u64)? {
            table.assumptions.push(at.text("an assumption", MAX_NOTE)?);
        }
        for _ in 0..at.bounded("the number of processes", 1, MAX_PROCESSES as u64)? {
            let pid = at.bounded("a process id", 0, u64::from(u32::MAX))? as u32;
            table.processes.push(Process { pid, name: at.text("a process name", MAX_NAME)? });
        }
        for _ in 0..at.bounded("the number of files", 0, MAX_FILES as u64)? {
            table.files.push(at.text("a file name", MAX_NAME)?);
        }
        let mut total = 0;
        for i in 0..at.bounded("the number of regions", 0, MAX_REGIONS as u64)? {
            let here = at.offset();
            let region = get_region(&mut at)?;
            table.check_region(i as usize, &region).map_err(|e| e.at(here))?;
            total += u64::from(region.pages);
            if total > MAX_TOTAL_PAGES {
                return Err(at.wrong(
                    format!("{total} pages up to region {i}"),
                    format!("at most {MAX_TOTAL_PAGES} pages in all"),
                ));
            }
            table.regions.push(region);
        }
        at.finish("the end of the table")?;
        Ok(table)
    }
}

fn within(what: &str, found: u64, low: u64, high: u64, unit: &str) -> Result<(), TraceError> {
    if (low..=high).contains(&found) {
        return Ok(());
    }
    Err(TraceError::invalid(what, format!("{found} {unit}"), format!("{low} to {high}")))
}

fn put_region(out: &mut Vec<u8>, region: &Region) {
    put_varint(out, u64::from(region.process));
    put_varint(out, region.start);
    put_varint(out, u64::from(region.pages));
    out.push(u8::from(!region.at_start));
    out.push(match region.backing {
        Backing::Anon => 0,
        Backing::File { shared: false, .. } => 1,
        Backing::File { shared: true, .. } => 2,
        Backing::Text { .. } => 3,
        Backing::Unknown => 4,
        Backing::Descriptor { .. } => 5,
        Backing::SharedText { .. } => 6,
        Backing::Shmem { .. } => 7,
    });
    if let Some((file, offset)) = region.backing.file() {
        put_varint(out, u64::from(file));
        put_varint(out, u64::from(offset));
    }
}

fn get_region(at: &mut Cursor<'_>) -> Result<Region, TraceError> {
    let process = at.bounded("the process of a region", 0, u64::from(u16::MAX))? as u16;
    let start = at.bounded("the first page of a region", 0, USER_PAGES - 1)?;
    let pages = at.bounded("the pages of a region", 1, MAX_TOTAL_PAGES)? as u32;
    let at_start = at.bounded("when a region is mapped (0 start, 1 later)", 0, 1)? == 0;
    let kind = at.byte("the kind of a region")?;
    let (file, offset) = match kind {
        1 | 2 | 3 | 5 | 6 | 7 => (
            at.bounded("the file of a region", 0, u64::from(u16::MAX))? as u16,
            at.bounded("the file offset of a region", 0, u64::from(u32::MAX))? as u32,
        ),
        _ => (0, 0),
    };
    let backing = match kind {
        0 => Backing::Anon,
        1 => Backing::File { file, offset, shared: false },
        2 => Backing::File { file, offset, shared: true },
        3 => Backing::Text { file, offset },
        4 => Backing::Unknown,
        5 => Backing::Descriptor { file, offset },
        6 => Backing::SharedText { file, offset },
        7 => Backing::Shmem { file, offset },
        other => return Err(at.wrong(format!("region kind {other}"), "a kind from 0 to 7")),
    };
    Ok(Region { process, start, pages, backing, at_start })
}
