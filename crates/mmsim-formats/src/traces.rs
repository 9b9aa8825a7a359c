//! Page traces for programs: import, describe, show the start.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::path::Path;

use mmsim_workload::trace::{
    self, Delimiter, ImportFormat, ImportOptions, ImportSummary, Like, PageKind, RequestFormat,
    TraceError, UnknownWord,
};

use crate::record;
use mmsim_base::error::{Error, ErrorKind};
use mmsim_base::files;

mod vscsi;

/// Options of an import besides its input, each `None` for the default.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ImportSettings<'a> {
    /// Name of the program.
    pub name: Option<&'a str>,
    /// A file in the format of `/proc/PID/maps` that says what addresses are.
    pub maps: Option<&'a Path>,
    /// Accesses after which a page counts as accessed anew (lackey).
    pub window: Option<u64>,
    /// Instructions after which it does (lackey).
    pub refresh: Option<u64>,
    /// Instruction fetches count as accesses (lackey).
    pub fetches: Option<bool>,
    /// Page numbers are names, numbered as they appear (csv, raw-u32, raw-u64).
    pub dense: bool,
    /// Which columns are what: `page=lbn,op=rw` (csv).
    pub columns: Option<&'a str>,
    /// Bytes of a page (csv).
    pub page_size: Option<u64>,
    /// Unit of times: `ns`, `us`, `ms`, `s`, a multiple as in `100ns`, or `none` to leave them out
    /// (csv).
    pub time_unit: Option<&'a str>,
    /// The layout of a public trace, one of [`shapes`] (csv).
    pub like: Option<&'a str>,
    /// Delimiter between fields: `comma`, `tab`, `semicolon` or `blank` (csv).
    pub delimiter: Option<&'a str>,
    /// Meaning of operations: `get=r,set=w,ping=skip` (csv).
    pub ops: Option<&'a str>,
    /// Put records in the order of their times (csv, vscsi).
    pub sort: bool,
    /// The first access to a page writes it, whatever it is (csv, vscsi).
    pub fill: bool,
    /// Kind of the pages: `anon` or `file` (csv).
    pub kind: Option<&'a str>,
    /// Leave out memory that showed no access (damon).
    pub touched_only: bool,
    /// Level of zstd, 1 to 19; 0 stores.
    pub level: Option<i32>,
}

impl ImportSettings<'_> {
    /// An option that the format has no use for would be ignored.
    fn are_of(&self, format: &str) -> Result<(), Error> {
        let (texts, pages) = (&["lackey", "pages", "csv"][..], &["csv", "raw-u32", "raw-u64"][..]);
        let values = &["csv", "vscsi"][..];
        let options = [
            ("--maps", self.maps.is_some(), texts),
            ("--window", self.window.is_some(), &["lackey"]),
            ("--refresh", self.refresh.is_some(), &["lackey"]),
            ("--no-fetches", self.fetches.is_some(), &["lackey"]),
            ("--dense", self.dense, pages),
            ("--columns", self.columns.is_some(), &["csv"]),
            ("--page-size", self.page_size.is_some(), values),
            ("--time-unit", self.time_unit.is_some(), values),
            ("--pages-are", self.kind.is_some(), values),
            ("--like", self.like.is_some(), &["csv"]),
            ("--delimiter", self.delimiter.is_some(), &["csv"]),
            ("--ops", self.ops.is_some(), values),
            ("--sort", self.sort, values),
            ("--fill", self.fill, values),
            ("--touched-only", self.touched_only, &["damon"]),
        ];
        let known = FORMATS.iter().any(|f| f.0 == format);
        match options.iter().find(|(_, given, of)| known && *given && !of.contains(&format)) {
            Some((option, _, of)) => {
                let title = format!("{option} says nothing about a trace in the format `{format}`");
                let help = format!("leave it out; it is for {}", of.join(", "));
                Err(Error::new(ErrorKind::Option, title).help(help))
            }
            None => Ok(()),
        }
    }
}

/// Formats of traces with what each is: the project's own, then those that are imported.
pub const FORMATS: &[(&str, &str)] = &[
    ("mmt", "the project's own, which `replay` reads and `trace import` writes"),
    ("lackey", "import: valgrind --tool=lackey --trace-mem=yes"),
    ("pages", "import: lines of R or W, a page number and perhaps a number of pages"),
    ("csv", "import: values in columns; `--like` knows the layouts of public traces"),
    ("vscsi", "import: binary traces of VMware's vscsiStats, version 1 or 2"),
    ("raw-u32", "import: page numbers of 32 bits, little endian"),
    ("raw-u64", "import: page numbers of 64 bits, little endian"),
    ("damon", "import: a record of DAMON, as damo keeps it or `perf script` prints it"),
    ("oracle-general", "import: oracleGeneral of libCacheSim, 24 bytes a request"),
];

/// Layouts of public traces with what each is, for [`ImportSettings::like`].
pub fn shapes() -> impl Iterator<Item = (&'static str, &'static str)> {
    Like::ALL.into_iter().map(|like| (like.name, like.about))
}

fn at(path: &Path, e: &TraceError) -> Error {
    Error::new(ErrorKind::File, format!("{}: {e}", path.display()))
}

/// The longest line that is shown; an import takes no longer ones.
const LONGEST_LINE: u64 = 256 << 10;

/// A line of a file, which may be compressed, by its number from 1. Nothing of what is no file: it has
/// been read.
fn line_of(path: &Path, line: u64) -> Option<String> {
    let file = files::open(path, "a trace").ok().filter(is_file)?;
    let unpacked = trace::decompressed(file).ok()?;
    let mut lines = BufReader::new(unpacked);
    for _ in 1..line {
        lines.skip_until(b'\n').ok()?;
    }
    let mut text = Vec::new();
    lines.take(LONGEST_LINE).read_until(b'\n', &mut text).ok()?;
    Some(String::from_utf8_lossy(text.trim_ascii_end()).into_owned())
}

fn is_file(file: &File) -> bool {
    file.metadata().is_ok_and(|m| m.is_file())
}

/// Error in a text, at its line.
fn at_line(path: &Path, e: &TraceError) -> Error {
    let (e, text) = match e {
        TraceError::OfLine { text, error } => (&**error, Some(text.clone())),
        _ => (e, None),
    };
    let (line, column, title, expected) = match e {
        TraceError::Line { line, found, expected } => {
            (*line, None, format!("{found}: expected {expected}"), expected)
        }
        TraceError::Field { line, column, found, expected } => {
            (*line, Some(*column), format!("found {found}, expected {expected}"), expected)
        }
        _ => return at(path, e),
    };
    let Some(text) = text.or_else(|| line_of(path, line)) else { return at(path, e) };
    let from = column.map_or(text.len() - text.trim_start().len(), |column| column - 1);
    let between = |c: char| c.is_whitespace() || ",;|".contains(c);
    let field = text.get(from..).and_then(|rest| rest.find(between)).filter(|_| column.is_some());
    let until = field.map_or(text.len(), |length| from + length);
    Error::new(ErrorKind::File, title).at_line(
        &path.display().to_string(),
        line as usize,
        &text.as_str().into(),
        from..until,
        format!("expected {expected}"),
    )
}

/// One access of a sequence that a program made itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The page, by its number.
    pub page: u64,
    /// True if it is written; else it is read.
    pub write: bool,
    /// Nanoseconds since the start; of all accesses or of none.
    pub time_ns: Option<u64>,
}

/// Accesses that are sent to the importer at once.
const PART: usize = 4096;

/// Writes accesses as a trace in the native format, as the import of values in columns does; says
/// what it read in pairs of name and value.
///
/// # Errors
///
/// Pages or times are not what an import takes.
pub fn of_accesses(
    name: &str,
    accesses: impl Iterator<Item = Access> + Send,
    out: &mut dyn Write,
) -> Result<Vec<(String, String)>, Error> {
    let mut accesses = accesses.peekable();
    let timed = accesses.peek().is_some_and(|a| a.time_ns.is_some());
    let head = if timed { "time,page,op\n" } else { "page,op\n" };
    let lines = std::iter::from_fn(|| {
        let part: Vec<Access> = accesses.by_ref().take(PART).collect();
        let line = |a: &Access| {
            let op = if a.write { 'W' } else { 'R' };
            match a.time_ns {
                Some(time) => format!("{time},{},{op}\n", a.page),
                None => format!("{},{op}\n", a.page),
            }
        };
        (!part.is_empty()).then(|| part.iter().map(line).collect::<String>())
    });
    let options = ImportOptions {
        name: name.to_string(),
        source: Some("arrays of a program"),
        time_unit_ns: Some(1),
        ..ImportOptions::default()
    };
    let text = record::import::Chunks::new(std::iter::once(head.to_string()).chain(lines));
    let summary = trace::import(ImportFormat::Csv, text, out, &options);
    let summary = summary.map_err(|e| Error::new(ErrorKind::Option, format!("{name}: {e}")))?;
    rows(Path::new(name), summary)
}

/// True if an import of this format reads its input more than once: the pages of numbered requests
/// are counted before they are written.
pub fn reads_again(from: &str) -> bool {
    from.parse::<RequestFormat>().is_ok()
}

/// Converts a file to the native format; says what it read in pairs of name and value. The input may be
/// a pipe unless the format [`reads_again`].
pub fn import(
    from: &str,
    input: &Path,
    settings: &ImportSettings<'_>,
    out: &mut dyn Write,
) -> Result<Vec<(String, String)>, Error> {
    let mut options = ImportOptions::default();
    if let Some(name) = settings.name {
        options.name = name.to_string();
    } else if let Some(stem) = input.file_stem() {
        options.name = stem.to_string_lossy().into_owned();
    }
    options.level = settings.level.unwrap_or(options.level);
    settings.are_of(from)?;
    let (requests, format) =
        (from.parse::<RequestFormat>().ok(), from.parse::<ImportFormat>().ok());
    let of_another_kind = ["damon", "drmemtrace", "vscsi"].contains(&from);
    if requests.is_none() && format.is_none() && !of_another_kind {
        return Err(unknown_format(from));
    }
    if let Some(format) = requests {
        files::open(input, "a trace")?;
        let s = trace::import_requests(
            input,
            format,
            settings.dense,
            &options.name,
            options.level,
            out,
        );
        return rows(input, s.map_err(|e| at(input, &e))?);
    }
    if from == "damon" {
        let records = record::load(input)?;
        let (accesses, assumed) = record::import::accesses(records, settings.touched_only);
        options.assumed = assumed;
        options.source = Some("a record of DAMON");
        options.time_unit_ns = Some(1);
        let s = trace::import(ImportFormat::Csv, accesses, out, &options);
        let summary = s.map_err(|e| at(input, &e))?;
        return rows(input, ImportSummary { format: from.to_string(), ..summary });
    }
    // Once: what a pipe has given is gone.
    let file = BufReader::new(files::open(input, "a trace")?);
    if from == "drmemtrace" {
        return Err(drmemtrace(input));
    }
    settings.into(&mut options)?;
    if from == "vscsi" {
        let records = vscsi::records(file).map_err(|e| vscsi_error(input, &e))?;
        records.options(&mut options);
        let s = trace::import(ImportFormat::Csv, records, out, &options);
        let summary = s.map_err(|e| at(input, &e))?;
        return rows(input, ImportSummary { format: from.to_string(), ..summary });
    }
    let format = format.expect("the others have returned");
    let s = trace::import(format, file, out, &options).map_err(|e| match (&e, settings.maps) {
        (TraceError::Maps(e), Some(maps)) => at_line(maps, e),
        _ => at_line(input, &e),
    });
    rows(input, s?)
}

impl ImportSettings<'_> {
    /// Puts what is given into the options of an import.
    fn into(&self, options: &mut ImportOptions) -> Result<(), Error> {
        if let Some(maps) = self.maps {
            options.maps = Some(files::read_text(maps, "a copy of /proc/PID/maps")?);
        }
        options.columns = self.columns.map(str::to_string);
        options.page_size = self.page_size.unwrap_or(options.page_size);
        options.dense = self.dense;
        if let Some(unit) = self.time_unit {
            options.time_unit_ns = Some(trace::time_unit(unit).ok_or_else(|| {
                let words = "write ns, us, ms, s, a multiple as in 100ns, or none";
                let title = format!("--time-unit: unknown word \"{unit}\", {words}");
                Error::new(ErrorKind::Option, title)
            })?);
        }
        if let Some(kind) = self.kind {
            let kinds = [("anon", PageKind::Anon), ("file", PageKind::File)];
            options.kind = Some(choice("--pages-are", kind, &kinds)?);
        }
        if let Some(name) = self.like {
            let known: Vec<(&str, &'static Like)> =
                Like::ALL.iter().filter_map(|l| Some((l.name, Like::named(l.name)?))).collect();
            options.like = Some(choice("--like", name, &known)?);
        }
        if let Some(word) = self.delimiter {
            let parsed: Result<Delimiter, UnknownWord> = word.parse();
            let wrong = |e| Error::new(ErrorKind::Option, format!("--delimiter: {e}"));
            options.delimiter = Some(parsed.map_err(wrong)?);
        }
        options.ops = self.ops.map(str::to_string);
        options.sort = self.sort;
        options.fill = self.fill;
        options.window = self.window.unwrap_or(options.window);
        options.refresh = self.refresh.unwrap_or(options.refresh);
        options.fetches = self.fetches.unwrap_or(options.fetches);
        Ok(())
    }
}

fn unknown_format(from: &str) -> Error {
    let known: Vec<&str> = FORMATS.iter().map(|f| f.0).filter(|f| *f != "mmt").collect();
    Error::unknown_word("--from: unknown trace format", from, &known)
}

/// DynamoRIO's own traces are not read: their records differ from version to version, and
/// DynamoRIO prints them.
fn drmemtrace(input: &Path) -> Error {
    let why = "traces of drmemtrace are not read: their records have no fixed layout";
    let title = format!("`{}`: {why}", input.display());
    Error::new(ErrorKind::Option, title).help(
        "print it: `drrun -t drmemtrace -tool view -indir DIR 2>&1 | awk '$4 == \"read\" || \
         $4 == \"write\" { print $4, $8, $5 }' > t.txt`, then `--from csv --columns \
         op=#1,address=#2,size=#3 t.txt`",
    )
}

fn vscsi_error(input: &Path, e: &TraceError) -> Error {
    at(input, e).help("--from vscsi reads records of 32 bytes (version 1) or 40 (version 2)")
}

/// One of a few words.
fn choice<T: Copy>(option: &str, word: &str, words: &[(&str, T)]) -> Result<T, Error> {
    words.iter().find(|w| w.0 == word).map(|w| w.1).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|w| w.0).collect();
        Error::unknown_word(&format!("{option}: unknown word"), word, &known)
    })
}

/// Summary of an import, in pairs of name and value.
fn rows(input: &Path, s: ImportSummary) -> Result<Vec<(String, String)>, Error> {
    if s.accesses_read == 0 {
        let title = format!("`{}` has no accesses", input.display());
        return Err(Error::new(ErrorKind::File, title).help("check the path and `--from`"));
    }
    let mut rows = vec![
        ("format".to_string(), s.format),
        ("lines".into(), s.lines.to_string()),
        ("accesses read".into(), s.accesses_read.to_string()),
        ("accesses kept".into(), s.accesses_kept.to_string()),
        ("records".into(), s.records.to_string()),
        ("processes".into(), s.processes.to_string()),
        ("regions".into(), s.regions.to_string()),
        ("distinct pages".into(), s.distinct_pages.to_string()),
    ];
    rows.extend(s.assumptions.into_iter().map(|a| ("assumed".to_string(), a)));
    Ok(rows)
}

/// Contents of a trace: as a text for people, and in pairs of name and value.
pub fn info(file: &Path) -> Result<(String, Vec<(String, String)>), Error> {
    files::open(file, "a trace")?;
    let i = trace::info(file).map_err(|e| at(file, &e))?;
    let pairs = [
        ("version", i.version.to_string()),
        ("source", i.source.clone()),
        ("bytes", i.bytes.to_string()),
        ("processes", i.processes.len().to_string()),
        ("regions", i.regions.len().to_string()),
        ("files", i.files.len().to_string()),
        ("records", i.records.to_string()),
        ("accesses", i.accesses.to_string()),
        ("reads", i.reads.to_string()),
        ("writes", i.writes.to_string()),
        ("distinct_pages", i.distinct_pages.to_string()),
        ("footprint_pages", i.footprint_pages.to_string()),
        ("duration_ns", i.duration_ns.to_string()),
        ("assumptions", i.assumptions.join("; ")),
    ];
    Ok((i.to_string(), pairs.into_iter().map(|(k, v)| (k.to_string(), v)).collect()))
}

/// The first records of a trace, one line each.
pub fn head(file: &Path, records: u64) -> Result<Vec<String>, Error> {
    files::open(file, "a trace")?;
    trace::head(file, records)
        .and_then(|lines| lines.collect::<Result<Vec<String>, TraceError>>())
        .map_err(|e| at(file, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_those_that_can_be_imported() {
        let mut known: Vec<&str> = FORMATS.iter().map(|f| f.0).filter(|f| *f != "mmt").collect();
        // Read by the facade.
        known.retain(|f| !["damon", "vscsi"].contains(f));
        // The message about an unknown one names all of them.
        let message = "no format".parse::<ImportFormat>().unwrap_err().to_string();
        let names = message.rsplit_once("expected ").expect("a list").1.replace(" or ", ", ");
        let mut named: Vec<&str> = names.split(", ").collect();
        known.sort_unstable();
        named.sort_unstable();
        assert_eq!(named, known);
    }
}
