//! Import: traces from what other tools print.
//!
//! An importer reads its input once, line by line. The table of a trace stands before the
//! records, but which regions there are and what they are (was this page ever fetched
//! from? written?) is known only at the end. So the first pass keeps its few records,
//! packed, in a [`spool`], and notes what was touched; then [`regions`] are made and
//! the spool is written out as a trace.
//!
//! Memory is proportional to the *output*, however long the input is: at most 4.2 bytes for a
//! single access without a time, mostly two to six for another record, and half a byte for a
//! page around those that are touched, of which there are at most 2^28. Of the input there are
//! 256 KiB at a time, and it is never read again, so that it may be a pipe.
//!
//! Two fast paths make it fast, each with a slow path beside it that does all and alone finds
//! errors: through a line that looks as most do ([`short`]), and for an access to one page with
//! nothing new about it ([`sink`]).
//!
//! | format | from |
//! |---|---|
//! | `lackey` | `valgrind --tool=lackey --trace-mem=yes` |
//! | `pages` | a text of `R` or `W`, page, optional count, pid, time in ns |
//! | `csv` | values with named columns, commas or other delimiters between them |
//!
//! Input compressed by gzip or zstd is recognised by its first bytes; of other compressed
//! files they tell how to unpack them.

mod collapse;
mod csv;
mod lackey;
mod lines;
mod maps;
mod pages;
mod regions;
mod short;
mod sink;
mod spool;

use std::fmt;
use std::io::{Read, Write};
use std::str::FromStr;

pub use self::csv::{Delimiter, Like, time_unit};

use self::lines::Lines;
use self::maps::Maps;
use self::regions::{Layout, Touched};
use self::spool::{Chunk, Spool, Spooled};
use super::block::Sealed;
use super::error::{TraceError, UnknownWord};
use super::input::opened;
use super::summary::ImportSummary;
use super::table::{Action, Process, Record, Region, TraceTable};
use super::writer::TraceWriter;

/// A text format that can be imported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImportFormat {
    /// The memory trace of valgrind's lackey.
    Lackey,
    /// One access of pages per line.
    Pages,
    /// Comma-separated values with named columns.
    Csv,
}

/// Kind of the pages of an input that does not say it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageKind {
    /// Anonymous memory.
    Anon,
    /// Pages of one file, mapped shared.
    File,
}

impl FromStr for ImportFormat {
    type Err = UnknownWord;
    fn from_str(s: &str) -> Result<Self, UnknownWord> {
        match s {
            "lackey" => Ok(ImportFormat::Lackey),
            "pages" => Ok(ImportFormat::Pages),
            "csv" => Ok(ImportFormat::Csv),
            _ => Err(UnknownWord::new(
                "trace format",
                s,
                "lackey, pages, csv, raw-u32, raw-u64 or oracle-general",
            )),
        }
    }
}

impl fmt::Display for ImportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ImportFormat::Lackey => "lackey",
            ImportFormat::Pages => "pages",
            ImportFormat::Csv => "csv",
        })
    }
}

/// Options of an import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Name of the process (lackey traces one).
    pub name: String,
    /// Level of zstd, 1 to 19; 0 stores.
    pub level: i32,
    /// Lackey: a repeated access to a page is dropped if fewer accesses than this were kept since.
    /// 0 keeps all.
    pub window: u64,
    /// Lackey: .. and fewer instructions than this were executed since.
    pub refresh: u64,
    /// Lackey: whether instruction fetches are accesses.
    pub fetches: bool,
    /// Lackey: instructions (taken as nanoseconds) of a tick, the resolution of time.
    pub tick: u64,
    /// Contents of `/proc/PID/maps`, one or several snapshots one after the other.
    pub maps: Option<String>,
    /// CSV: which columns are what, `ROLE=NAME` with commas between; `None`: as named.
    pub columns: Option<String>,
    /// CSV: bytes of a page, a power of two.
    pub page_size: u64,
    /// CSV: nanoseconds of the unit of times; 0 leaves them out.
    pub time_unit_ns: Option<u64>,
    /// CSV: what the pages are; `None`: as `like` says, or anonymous.
    pub kind: Option<PageKind>,
    /// CSV: the layout of a public trace; what else is given comes before it.
    pub like: Option<&'static Like>,
    /// CSV: what is between fields; `None`: what the first line has.
    pub delimiter: Option<Delimiter>,
    /// CSV: what operations do, `WORD=r`, `w` or `skip` with commas between.
    pub ops: Option<String>,
    /// CSV: records are put in the order of their times, in temporary files if they are many.
    pub sort: bool,
    /// CSV: the first access to a page writes it, whatever it is.
    pub fill: bool,
    /// CSV: page numbers are names, numbered in the order of their appearance.
    pub dense: bool,
    /// CSV: what the values were made of, where they are only a way to get here.
    pub source: Option<&'static str>,
    /// Assumptions made before: reported ahead of those of the import.
    pub assumed: Vec<String>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        ImportOptions {
            name: "program".into(),
            level: 9,
            window: 64,
            refresh: 10_000,
            fetches: true,
            tick: 1_000,
            maps: None,
            columns: None,
            page_size: 4096,
            time_unit_ns: None,
            kind: None,
            like: None,
            delimiter: None,
            ops: None,
            sort: false,
            fill: false,
            dense: false,
            source: None,
            assumed: Vec::new(),
        }
    }
}

impl ImportOptions {
    /// The layout whose lines the input must have: none where columns are given.
    fn layout(&self) -> Option<&'static Like> {
        self.like.filter(|_| self.columns.is_none())
    }
}

/// Result of the first pass of an importer.
struct FirstPass {
    spool: Spool,
    touched: Vec<Touched>,
    /// All but `regions`, which is filled in from `touched`.
    table: TraceTable,
    lines: u64,
    accesses_read: u64,
}

/// Imports `input` as a trace on `out`.
pub fn import(
    format: ImportFormat,
    input: impl Read + Send,
    out: impl Write,
    options: &ImportOptions,
) -> Result<ImportSummary, TraceError> {
    let maps = match &options.maps {
        Some(text) => Some(Maps::parse(text)?),
        None => None,
    };
    let mut lines = Lines::new(opened(input, &format.to_string(), true)?);
    let pass = match format {
        ImportFormat::Lackey => lackey::read(&mut lines, options),
        ImportFormat::Pages => pages::read(&mut lines, options),
        ImportFormat::Csv => csv::read(&mut lines, options),
    };
    let mut pass = pass.map_err(|e| lines.with_line(e))?;
    if pass.table.processes.is_empty() {
        pass.table.processes.push(Process { pid: 0, name: options.name.clone() });
        pass.touched.push(Touched::default());
    }
    pass.table.assumptions.splice(0..0, options.assumed.iter().cloned());
    let mut layout = Layout::default();
    let kind = options.kind.or(options.like.map(|l| l.kind)).unwrap_or(PageKind::Anon);
    layout.kind = (format == ImportFormat::Csv).then_some(kind);
    for (i, touched) in pass.touched.iter().enumerate() {
        layout.add(i as u16, &pass.table.processes[i].name, touched, maps.as_ref());
    }
    layout.note(&mut pass.table.assumptions, maps.is_some());
    pass.table.files = std::mem::take(&mut layout.files);
    pass.table.regions = std::mem::take(&mut layout.regions);
    let mut summary = ImportSummary {
        format: format.to_string(),
        lines: pass.lines,
        accesses_read: pass.accesses_read,
        accesses_kept: 0,
        records: 0,
        processes: pass.table.processes.len(),
        regions: pass.table.regions.len(),
        distinct_pages: pass.touched.iter().map(Touched::pages).sum(),
        assumptions: pass.table.assumptions.clone(),
    };
    let regions = pass.table.regions.clone();
    let writer = TraceWriter::new(out, pass.table, options.level)?;
    let mut second = SecondPass { writer, regions, last: 0, summary: &mut summary };
    for chunk in pass.spool.finish() {
        second.chunk(chunk)?;
    }
    second.writer.finish()?;
    Ok(summary)
}

/// Writes the spooled records, cut at the borders of regions.
struct SecondPass<'a, W: Write> {
    writer: TraceWriter<W>,
    regions: Vec<Region>,
    /// The region of the last record.
    last: usize,
    summary: &'a mut ImportSummary,
}

impl<W: Write> SecondPass<'_, W> {
    fn chunk(&mut self, chunk: Chunk) -> Result<(), TraceError> {
        match chunk {
            Chunk::Any(mut records) => records.try_for_each(|r| self.record(r)),
            Chunk::Plain { process, low, sealed } => self.plain(process, low, sealed),
        }
    }

    /// Single accesses; the smallest page is `low`. They are as many as a block of the trace
    /// has, or the last.
    fn plain(&mut self, process: u16, low: u64, mut sealed: Sealed) -> Result<(), TraceError> {
        if !self.writer.takes_blocks_of(process) {
            return each(&sealed, |page, write| {
                let vpn = low + u64::from(page);
                self.record(Spooled { process, write, vpn, count: 1, ticks: 0 })
            });
        }
        self.summary.records += sealed.nr() as u64;
        self.summary.accesses_kept += sealed.nr() as u64;
        let (region, first) = self.find(process, low);
        let span = sealed.span();
        let last = first.saturating_add(span.1 - span.0);
        match (self.writer.dense(process, region, first), self.writer.dense(process, region, last))
        {
            (Some(first), Some(_)) => sealed.move_to(first),
            _ => {
                // In several regions.
                let (mut pages, writes) = sealed.accesses();
                for page in &mut pages {
                    let (region, first) = self.find(process, low + u64::from(*page));
                    let dense = self.writer.dense(process, region, first);
                    *page = dense.expect("each touched page is in a region");
                }
                sealed = Sealed::new(&pages, &writes);
            }
        }
        self.writer.sealed(sealed)
    }

    fn record(&mut self, record: Spooled) -> Result<(), TraceError> {
        let Spooled { process, write, mut vpn, mut count, mut ticks } = record;
        while count > 0 {
            let (region, first) = self.find(process, vpn);
            let here = count.min(u64::from(self.regions[usize::from(region)].pages - first));
            let action = Action::Access { region, write, first, count: here as u32 };
            self.writer.record(&Record { process, ticks, action })?;
            self.summary.records += 1;
            self.summary.accesses_kept += here;
            ticks = 0;
            vpn += here;
            count -= here;
        }
        Ok(())
    }

    /// The region that a page is in, and which of its pages it is.
    #[inline]
    fn find(&mut self, process: u16, vpn: u64) -> (u16, u32) {
        let offset = |r: &Region| {
            let offset = vpn.wrapping_sub(r.start);
            (r.process == process && offset < u64::from(r.pages)).then_some(offset as u32)
        };
        if let Some(offset) = self.regions.get(self.last).and_then(offset) {
            return (self.last as u16, offset);
        }
        // Regions are sorted by process and address.
        self.last = self.regions.partition_point(|r| (r.process, r.start) <= (process, vpn)) - 1;
        debug_assert!(offset(&self.regions[self.last]).is_some(), "page {vpn:#x} is in no region");
        (self.last as u16, (vpn - self.regions[self.last].start) as u32)
    }
}

/// Hands out accesses in turn: pages less the smallest, and whether they are written.
fn each<E>(sealed: &Sealed, mut f: impl FnMut(u32, bool) -> Result<(), E>) -> Result<(), E> {
    let (pages, writes) = sealed.accesses();
    let mut accesses =
        pages.iter().enumerate().map(|(i, &page)| (page, writes[i / 64] >> (i % 64) & 1 == 1));
    accesses.try_for_each(|(page, write)| f(page, write))
}
