//! Requests: bare sequences of pages, as cache simulators store them.
//!
//! Such a file says which page or object is wanted next, and little else: no process, no mapping,
//! nothing about reads and writes. Everything is taken as pages of one region of anonymous memory
//! of one process. Its first access to a page writes it, since a program reads only pages that it
//! wrote before (and the machine would, as Linux does, map the shared zero page for a first read
//! and never need a frame); all later ones read, unless the options give a share of writes.
//!
//! | format | a record |
//! |---|---|
//! | `raw-u32` | page number, 4 bytes, little-endian |
//! | `raw-u64` | page number, 8 bytes, little-endian |
//! | `oracle-general` | 24 bytes, little-endian: u32 time in s, u64 object, u32 size in bytes, i64 number of its next request |
//!
//! Page numbers stay what they are, so that neighbours share page tables. Objects are
//! names: each becomes a page, in the order of first appearance, and so do page numbers if
//! asked (`dense`). gzip and zstd are recognised by their first bytes.
//!
//! A file is read twice: once to check it and to learn its pages, once beside the run in
//! pieces, so that memory does not grow with the file. Only numbers that had to be given
//! are kept, 4 bytes a request.
//!
//! The record of 24 bytes is libCacheSim's (`libCacheSim/traceReader/customizedReader/oracle`).

mod convert;
mod ids;
mod workload;

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

pub use self::convert::import_requests;
pub use self::workload::{RequestWorkload, RequestsTask};

pub(super) use self::ids::Ids;
use super::error::{TraceError, UnknownWord};
use super::input::opened;
use super::source::read_up_to;
use super::table::{Backing, MAX_TOTAL_PAGES, Process, Region, TraceTable};

/// Bytes of a piece: whole records of any format, and a multiple of 64 of them, so that
/// each piece begins with a word of its own in [`Requests::first`].
const PIECE: usize = 24 << 13;

/// Layout of the records of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestFormat {
    /// Page numbers of 4 bytes.
    RawU32,
    /// Page numbers of 8 bytes.
    RawU64,
    /// libCacheSim's oracleGeneral.
    OracleGeneral,
}

impl RequestFormat {
    /// All formats.
    pub const ALL: [RequestFormat; 3] =
        [RequestFormat::RawU32, RequestFormat::RawU64, RequestFormat::OracleGeneral];

    /// Its name in options.
    pub const fn name(self) -> &'static str {
        match self {
            RequestFormat::RawU32 => "raw-u32",
            RequestFormat::RawU64 => "raw-u64",
            RequestFormat::OracleGeneral => "oracle-general",
        }
    }

    /// The format that the name of a file tells, if it does: `x.u32`, `x.u64`,
    /// `x.oracleGeneral`, `x.oracleGeneral.bin`, each also with `.gz` or `.zst`.
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy();
        let name = name.strip_suffix(".zst").or(name.strip_suffix(".gz")).unwrap_or(&name);
        let stem = name.strip_suffix(".bin").unwrap_or(name);
        match name.rsplit_once('.')?.1 {
            "u32" => Some(RequestFormat::RawU32),
            "u64" => Some(RequestFormat::RawU64),
            _ if stem.ends_with(".oracleGeneral") => Some(RequestFormat::OracleGeneral),
            _ => None,
        }
    }

    /// Bytes of a record.
    const fn record_bytes(self) -> usize {
        match self {
            RequestFormat::RawU32 => 4,
            RequestFormat::RawU64 => 8,
            RequestFormat::OracleGeneral => 24,
        }
    }

    /// Hands the page or object of each record to `each`.
    #[inline(always)]
    fn each(self, bytes: &[u8], mut each: impl FnMut(u64)) {
        match self {
            RequestFormat::RawU32 => {
                bytes.as_chunks().0.iter().for_each(|r| each(u32::from_le_bytes(*r).into()));
            }
            RequestFormat::RawU64 => {
                bytes.as_chunks().0.iter().for_each(|r| each(u64::from_le_bytes(*r)));
            }
            RequestFormat::OracleGeneral => bytes.as_chunks::<24>().0.iter().for_each(|r| {
                each(u64::from_le_bytes([r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11]]));
            }),
        }
    }
}

impl FromStr for RequestFormat {
    type Err = UnknownWord;
    fn from_str(s: &str) -> Result<Self, UnknownWord> {
        let found = RequestFormat::ALL.into_iter().find(|f| f.name() == s);
        let all = "raw-u32, raw-u64 or oracle-general";
        found.ok_or_else(|| UnknownWord::new("format of requests", s, all))
    }
}

impl fmt::Display for RequestFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Records whose names become numbers, which are kept in memory.
const MOST_NAMED: usize = 1_000_000_000;

/// A checked file of requests.
#[derive(PartialEq, Eq)]
pub struct Requests {
    path: PathBuf,
    format: RequestFormat,
    requests: u64,
    pages: u32,
    distinct: u64,
    /// A bit for each request: the first one to its page.
    first: Vec<u64>,
    /// The pages, where they are not what the file says.
    numbers: Option<Vec<u32>>,
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Requests({}, {} of {})", self.path.display(), self.requests, self.format)
    }
}

impl Requests {
    /// Reads a file to its end. `dense`: page numbers are names too.
    pub fn open(
        path: impl AsRef<Path>,
        format: RequestFormat,
        dense: bool,
    ) -> Result<Arc<Self>, TraceError> {
        let path = path.as_ref();
        let mut pieces = Pieces::open(path, format)?;
        let mut all = Requests {
            path: path.to_path_buf(),
            format,
            requests: 0,
            pages: 0,
            distinct: 0,
            first: Vec::new(),
            numbers: None,
        };
        if dense || format == RequestFormat::OracleGeneral {
            all.number(&mut pieces)?;
        } else {
            all.survey(&mut pieces)?;
        }
        if all.requests == 0 {
            return Err(TraceError::format(0, "the end", "at least one record"));
        }
        Ok(Arc::new(all))
    }

    /// Gives numbers to names.
    fn number(&mut self, pieces: &mut Pieces) -> Result<(), TraceError> {
        let (mut ids, mut numbers) = (Ids::default(), Vec::with_capacity(pieces.expected));
        let mut names = Vec::new();
        while let Some(piece) = pieces.next()? {
            names.clear();
            self.format.each(piece, |id| names.push(id));
            for some in names.chunks(64) {
                let mut first = 0;
                for (k, &id) in some.iter().enumerate() {
                    let before = ids.count();
                    let number = ids.number(id);
                    first |= u64::from(number == before) << k;
                    numbers.push(number);
                }
                self.first.push(first);
            }
            if u64::from(ids.count()) > MAX_TOTAL_PAGES {
                return Err(self.too_many(numbers.len() as u64));
            }
            if numbers.len() > MOST_NAMED {
                let found =
                    format!("more than {MOST_NAMED} records of names, kept at 4 bytes each");
                let at = numbers.len() as u64 * self.format.record_bytes() as u64;
                return Err(TraceError::format(at, found, "a part of the trace"));
            }
        }
        self.requests = numbers.len() as u64;
        self.pages = ids.count();
        self.distinct = ids.count().into();
        self.numbers = Some(numbers);
        Ok(())
    }

    /// Finds out which pages there are.
    fn survey(&mut self, pieces: &mut Pieces) -> Result<(), TraceError> {
        let mut seen: Vec<u8> = Vec::new();
        let mut pages: Vec<u64> = Vec::new();
        while let Some(piece) = pieces.next()? {
            pages.clear();
            self.format.each(piece, |page| pages.push(page));
            let last = pages.iter().copied().max().unwrap_or(0);
            if last >= MAX_TOTAL_PAGES {
                let at = pages.iter().position(|&p| p >= MAX_TOTAL_PAGES).unwrap_or(0);
                return Err(self.too_far(self.requests + at as u64, pages[at]));
            }
            if last as usize >= seen.len() {
                seen.resize(last as usize + 1, 0);
                self.pages = last as u32 + 1;
            }
            for some in pages.chunks(64) {
                let mut first = 0;
                for (k, &page) in some.iter().enumerate() {
                    let seen = &mut seen[page as usize];
                    first |= u64::from(*seen == 0) << k;
                    *seen = 1;
                }
                self.distinct += u64::from(first.count_ones());
                self.first.push(first);
            }
            self.requests += pages.len() as u64;
        }
        Ok(())
    }

    #[cold]
    fn too_far(&self, i: u64, page: u64) -> TraceError {
        TraceError::format(
            i * self.format.record_bytes() as u64,
            format!("page {page} in record {i}"),
            format!("a page below {MAX_TOTAL_PAGES}; names of objects need --dense"),
        )
    }

    #[cold]
    fn too_many(&self, i: u64) -> TraceError {
        TraceError::format(
            i * self.format.record_bytes() as u64,
            format!("{i} records of more than {MAX_TOTAL_PAGES} objects"),
            "fewer different ones",
        )
    }

    /// Its format.
    pub fn format(&self) -> RequestFormat {
        self.format
    }

    /// Requests, at least 1.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Different pages.
    pub fn distinct_pages(&self) -> u64 {
        self.distinct
    }

    /// Pages of the region: up to the last one that is wanted.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// True if request `i` is the first to its page.
    #[inline]
    fn is_first(&self, i: u64) -> bool {
        self.first[(i / 64) as usize] >> (i % 64) & 1 == 1
    }

    /// Assumptions, a sentence each.
    pub fn assumptions(&self) -> Vec<String> {
        let objects = self.format == RequestFormat::OracleGeneral;
        let mut all = vec![
            "all pages are anonymous memory of one process, in one region from page 0 on".into(),
            "the first access to a page writes it and later ones read; the file does not say"
                .into(),
            "there is no think time".into(),
        ];
        if objects {
            all.push(
                "an object is one page whatever its size; times and next requests are not used"
                    .into(),
            );
        }
        if self.numbers.is_some() {
            all.push("objects become pages in the order of their first appearance".into());
        }
        all
    }

    /// The table of a trace of these requests.
    pub(super) fn table(&self, name: &str) -> TraceTable {
        let mut table = TraceTable::empty(match self.format {
            RequestFormat::OracleGeneral => "libCacheSim oracleGeneral",
            _ => "raw page numbers",
        });
        table.assumptions = self.assumptions();
        table.processes.push(Process { pid: 0, name: name.into() });
        table.regions.push(Region {
            process: 0,
            start: 0,
            pages: self.pages,
            backing: Backing::Anon,
            at_start: true,
        });
        table
    }
}

/// A file in pieces of whole records.
struct Pieces {
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    record: usize,
    offset: u64,
    /// Records, judged by the size of the file.
    expected: usize,
}

impl Pieces {
    fn open(path: &Path, format: RequestFormat) -> Result<Self, TraceError> {
        let doing = || TraceError::io(format!("opening {}", path.display()));
        let file = File::open(path).map_err(doing())?;
        let bytes = file.metadata().map_err(doing())?.len();
        let record = format.record_bytes();
        Ok(Pieces {
            input: opened(file, format.name(), false)?,
            buffer: vec![0; PIECE],
            record,
            offset: 0,
            expected: usize::try_from(bytes).unwrap_or(0) / record,
        })
    }

    /// The next piece, if there is one.
    fn next(&mut self) -> Result<Option<&[u8]>, TraceError> {
        let got = read_up_to(&mut self.input, &mut self.buffer)
            .map_err(TraceError::io("reading requests"))?;
        let rest = got % self.record;
        self.offset += got as u64;
        if rest > 0 {
            return Err(TraceError::format(
                self.offset - rest as u64,
                format!("the end after {rest} bytes of a record"),
                format!("records of {} bytes", self.record),
            ));
        }
        Ok((got > 0).then_some(&self.buffer[..got]))
    }
}
