//! Reports as CSV in the long form: one row per run, phase and value.
//!
//! | column | content |
//! |---|---|
//! | `scenario`, `variant`, `axes`, `seed` | the run; axes as `name=value;name=value` |
//! | `outcome` | how it ended: only `completed` runs did all their work |
//! | `phase` | name of the phase; empty for the whole run |
//! | `kind` | `run` (time, work, throughput, bounds), `vmstat`, `gauge`, `pressure`, `latency`, `memory_stat`, `task` or `assumed` |
//! | `name` | name of the value; `major_fault.p99_ns`, `group.counter` where there are two parts |
//! | `value` | the number; empty: the policy does not keep this counter |
//!
//! What a run rests on is no number: each of its sentences is the name of a row of the kind
//! `assumed`, whose value is 1.
//!
//! The long form keeps one meaning per column whatever counters there are, and every
//! program that reads CSV can turn it into the wide form. Quoting follows RFC 4180.
//!
//! A spreadsheet computes cells that begin as formulas do, and names come from users. [`Spreadsheet`]
//! and [`for_spreadsheets`] put an apostrophe before such cells, which spreadsheets take for "this is
//! text". Programs would see it, so it is only there on request.

use std::fmt::Display;
use std::fmt::Write as _;
use std::io;

use super::counters;
use super::document::{
    CacheExtReport, LatencyReport, PressureReport, Report, RunReport, TaskReport, Throughput,
};
use super::pairs::Pairs;

/// The first line.
pub const CSV_HEADER: &str = "scenario,variant,axes,seed,outcome,phase,kind,name,value";

/// Rows of CSV (RFC 4180): cells are quoted where they have to be, characters that act are shown, and
/// all rows have as many cells as the first.
pub struct Rows<W: io::Write = Vec<u8>> {
    out: csv::Writer<W>,
    cell: String,
}

impl<W: io::Write> Rows<W> {
    /// Writes to `out`.
    pub fn to(out: W) -> Self {
        Rows { out: csv::Writer::from_writer(out), cell: String::new() }
    }

    /// Writes a row.
    ///
    /// # Errors
    ///
    /// `out` does not take it.
    pub fn write<C: Display>(&mut self, cells: impl IntoIterator<Item = C>) -> io::Result<()> {
        for cell in cells {
            self.cell.clear();
            write!(self.cell, "{cell}").expect("writing to a string");
            self.out.write_field(mmsim_base::error::escaped(&self.cell).as_bytes())?;
        }
        Ok(self.out.write_record(None::<&[u8]>)?)
    }

    /// Writes the rows that wait.
    ///
    /// # Errors
    ///
    /// `out` does not take them.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Rows {
    /// Rows below a line of heads, which have commas between them.
    pub fn below(heads: &str) -> Rows {
        let mut rows = Rows::to(Vec::new());
        rows.texts(heads.split(','));
        rows
    }

    /// Adds a row of cells of any types.
    pub fn row(&mut self, cells: &[&dyn Display]) {
        self.texts(cells);
    }

    /// Adds a row of cells of one type.
    pub fn texts<C: Display>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.write(cells).expect("a vector takes all");
    }

    /// The rows as one text.
    pub fn into_text(self) -> String {
        let bytes = self.out.into_inner().expect("a vector takes all");
        String::from_utf8(bytes).expect("texts were written")
    }
}

/// A value for a cell, which is empty without one.
pub fn or_empty<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// True for the content of a cell that a spreadsheet would compute: it begins with `=`, `+`, `-`, `@`,
/// a tab or a line end, and is neither a number nor the dash of a missing value.
fn is_formula(cell: &[u8]) -> bool {
    // What is shown escaped, as a carriage return is, begins with a backslash.
    if !matches!(cell, [b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r' | b'\n', ..]) || cell == b"-" {
        return false;
    }
    let number = std::str::from_utf8(cell).ok().and_then(|text| text.parse::<f64>().ok());
    !(number.is_some() && cell.last().is_some_and(u8::is_ascii_digit))
}

/// A record with its line end, with an apostrophe before each cell that is a formula.
fn safe_record(record: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(record.len() + 8);
    let mut rest = record;
    loop {
        let quoted = rest.first() == Some(&b'"');
        let mut end = usize::from(quoted);
        let mut open = quoted;
        while let Some(&b) = rest.get(end) {
            if b == b'"' {
                open = !open;
            } else if !open && matches!(b, b',' | b'\n') {
                break;
            }
            end += 1;
        }
        let (cell, after) = rest.split_at(end);
        let content = cell.strip_prefix(b"\"").and_then(|c| c.strip_suffix(b"\"")).unwrap_or(cell);
        match (is_formula(content), quoted) {
            (true, true) => {
                out.extend_from_slice(b"\"'");
                out.extend_from_slice(&cell[1..]);
            }
            (formula, _) => {
                out.extend_from_slice(if formula { b"'" } else { b"" });
                out.extend_from_slice(cell);
            }
        }
        let Some((delimiter, next)) = after.split_first() else { return out };
        out.push(*delimiter);
        rest = next;
        if rest.is_empty() && *delimiter == b'\n' {
            return out;
        }
    }
}

/// A writer of CSV that makes its cells safe for spreadsheets, record by record.
pub struct Spreadsheet<W: io::Write> {
    out: W,
    record: Vec<u8>,
    /// Within a quoted cell, where a line end ends no record.
    open: bool,
}

impl<W: io::Write> Spreadsheet<W> {
    /// Writes to `out`. What comes after the last line end is written by [`io::Write::flush`].
    pub fn new(out: W) -> Self {
        Spreadsheet { out, record: Vec::new(), open: false }
    }
}

impl<W: io::Write> io::Write for Spreadsheet<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for &b in bytes {
            self.record.push(b);
            self.open ^= b == b'"';
            if b == b'\n' && !self.open {
                self.out.write_all(&safe_record(&self.record))?;
                self.record.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&safe_record(&self.record))?;
        self.record.clear();
        self.out.flush()
    }
}

/// CSV whose cells are safe for spreadsheets.
pub fn for_spreadsheets(csv: &str) -> String {
    let mut out = Vec::with_capacity(csv.len() + 64);
    let mut sheet = Spreadsheet::new(&mut out);
    let written = io::Write::write_all(&mut sheet, csv.as_bytes());
    written.and_then(|()| io::Write::flush(&mut sheet)).expect("a vector takes all");
    // Apostrophes were put between whole characters.
    String::from_utf8(out).expect("text stays text")
}

/// The rows of a run.
struct RunRows {
    rows: Rows,
    /// The columns up to `outcome`.
    who: [String; 5],
    phase: String,
}

impl RunRows {
    fn row(&mut self, kind: &str, name: &str, value: impl Display) {
        let [scenario, variant, axes, seed, outcome] = &self.who;
        let phase = &self.phase;
        self.rows.row(&[scenario, variant, axes, seed, outcome, phase, &kind, &name, &value]);
    }
    /// Writes a value; an absent one is empty.
    fn some(&mut self, kind: &str, name: &str, value: Option<u64>) {
        self.row(kind, name, or_empty(value));
    }
    fn vmstat(&mut self, vmstat: &Pairs<u64>) {
        for (name, value) in counters::all(vmstat) {
            self.some("vmstat", name, value);
        }
    }
    fn task(&mut self, task: &TaskReport) {
        let work = [("accesses", Some(task.accesses)), ("records", Some(task.records))];
        for (name, value) in work.into_iter().chain(task.vmstat.iter().map(|(n, &v)| (n, v))) {
            self.some("task", &format!("{}.{name}", task.name), value);
        }
        if let Some(record) = &task.record {
            for (name, value) in record.latency.named() {
                self.row("task", &format!("{}.{}.{name}", task.name, record.what), value);
            }
        }
    }
    fn pairs(&mut self, kind: &str, pairs: &Pairs<u64>) {
        for (name, value) in pairs.iter() {
            self.row(kind, name, value);
        }
    }
    fn work(&mut self, sim_time_ns: u64, accesses: u64, records: u64, throughput: &Throughput) {
        self.row("run", "sim_time_ns", sim_time_ns);
        self.row("run", "accesses", accesses);
        self.row("run", "records", records);
        self.row("run", "records_per_s", throughput.records_per_s);
        self.row("run", "accesses_per_s", throughput.accesses_per_s);
    }
    fn stalls(&mut self, pressure: &PressureReport, latency: &LatencyReport) {
        self.row("pressure", "some_us", pressure.some_us);
        self.row("pressure", "full_us", pressure.full_us);
        self.row("pressure", "some_share", pressure.some_share);
        self.row("pressure", "full_share", pressure.full_share);
        for (kind, quantiles) in latency.named() {
            for (name, value) in quantiles.named() {
                self.row("latency", &format!("{kind}.{name}"), value);
            }
        }
    }
}

impl RunReport {
    /// The lines of one run, of a report of this name.
    pub fn csv_rows(&self, scenario: &str) -> String {
        let axes: Vec<String> = self.axes.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let who = [
            self.scenario.as_deref().unwrap_or(scenario).to_string(),
            self.variant.clone(),
            axes.join(";"),
            self.seed.to_string(),
            self.outcome.name().to_string(),
        ];
        let mut rows = RunRows { rows: Rows::to(Vec::new()), who, phase: String::new() };
        rows.work(self.sim_time_ns, self.accesses, self.records, &self.throughput);
        if let Some(reading) = self.reading {
            rows.row("run", "swap_reading_ns", reading.swap_ns);
            rows.row("run", "file_reading_ns", reading.file_ns);
        }
        if let Some(misses) = self.cache_misses {
            rows.row("run", "cache_misses", misses);
        }
        if let Some(bytes) = self.mean_resident_bytes {
            rows.row("run", "mean_resident_bytes", bytes);
        }
        if let Some(bounds) = self.bounds {
            rows.row("run", "sim_opt_misses", bounds.sim_opt_misses);
            rows.row("run", "sim_opt_refetches", bounds.sim_opt_refetches);
        }
        rows.vmstat(&self.vmstat);
        rows.pairs("size", &self.transparent_hugepage);
        rows.pairs("gauge", &self.gauges);
        rows.stalls(&self.pressure, &self.latency);
        for (group, stat) in self.memory_stat.iter() {
            for (name, &value) in stat.iter() {
                rows.some("memory_stat", &format!("{group}.{name}"), value);
            }
        }
        for (name, n) in self.cache_ext.iter().flat_map(CacheExtReport::named) {
            rows.row("cache_ext", &name, n);
        }
        self.tasks.iter().for_each(|task| rows.task(task));
        for sentence in &self.assumed {
            rows.row("assumed", sentence, 1);
        }
        for phase in &self.phases {
            rows.phase.clone_from(&phase.name);
            rows.work(phase.sim_time_ns, phase.accesses, phase.records, &phase.throughput);
            rows.vmstat(&phase.vmstat);
            rows.pairs("size", &phase.transparent_hugepage);
            rows.pairs("gauge", &phase.gauges);
            rows.stalls(&phase.pressure, &phase.latency);
            phase.task.iter().for_each(|task| rows.task(task));
        }
        rows.rows.into_text()
    }
}

impl Report {
    /// The document as CSV, with [`CSV_HEADER`] as its first line.
    pub fn to_csv(&self) -> String {
        let rows = self.runs.iter().map(|run| run.csv_rows(&self.scenario));
        std::iter::once(format!("{CSV_HEADER}\n")).chain(rows).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ending, samples};
    use mmsim_core::base::vmstat::VmEvent;

    #[test]
    fn one_row_per_run_phase_and_counter() {
        let csv = samples::two_variants(&[1]).to_csv();
        let mut lines = csv.lines();
        assert_eq!(lines.next(), Some(CSV_HEADER));
        assert_eq!(
            lines.next(),
            Some(
                "ebizzy-anon,v5.5,task[0].memory=1536MiB,1,completed,,run,sim_time_ns,10000000000"
            )
        );
        let rows = |part: &str| csv.lines().filter(|l| l.contains(part)).count();
        // Two runs, each as a whole and in two phases.
        assert_eq!(rows(",vmstat,"), 2 * 3 * VmEvent::ALL.len());
        assert_eq!(rows(",latency,major_fault.p99_ns,150000"), 2 * 3);
        assert_eq!(rows(",memory_stat,batch.pgfault,3"), 2);
        assert!(csv.contains(
            "ebizzy-anon,protection,task[0].memory=1536MiB,1,completed,access,vmstat,pswpin,1200900\n"
        ));
        assert!(csv.lines().all(|l| l.split(',').count() == 9));
    }

    #[test]
    fn every_row_tells_how_its_run_ended() {
        let mut report = samples::two_variants(&[1]);
        report.runs[1].outcome = Ending::OutOfMemory;
        let csv = report.to_csv();
        let column = |line: &str| line.split(',').nth(4).unwrap().to_string();
        let mut lines = csv.lines();
        assert_eq!(column(lines.next().unwrap()), "outcome");
        for line in lines {
            let dead = line.starts_with("ebizzy-anon,protection,");
            assert_eq!(column(line), if dead { "out of memory" } else { "completed" }, "{line}");
        }
    }

    #[test]
    fn what_was_assumed_is_a_row_each() {
        let mut report = samples::two_variants(&[1]);
        assert!(!report.to_csv().contains(",assumed,"));
        report.runs[1].assumed = vec!["io: all pages are anonymous, and clean".to_string()];
        let csv = report.to_csv();
        let row = "ebizzy-anon,protection,task[0].memory=1536MiB,1,completed,,assumed,\
                   \"io: all pages are anonymous, and clean\",1";
        assert_eq!(csv.lines().filter(|l| *l == row).count(), 1);
        assert_eq!(csv.lines().filter(|l| l.contains(",assumed,")).count(), 1);
    }

    #[test]
    fn commas_and_quotes_are_quoted() {
        let mut rows = Rows::below("a,b,c,d");
        rows.row(&[&"plain", &"a,b", &"say \"hm\"", &"a\u{202e}b\u{ffff}"]);
        rows.row(&[&"two\nlines", &"", &1.5, &or_empty(None::<u64>)]);
        let text =
            "a,b,c,d\nplain,\"a,b\",\"say \"\"hm\"\"\",a\\u202eb\\uffff\n\"two\nlines\",,1.5,\n";
        assert_eq!(rows.into_text(), text);
    }

    /// Cells as Excel and LibreOffice compute them, and those that only look like it.
    #[test]
    fn formulas_become_text_and_numbers_stay() {
        for (csv, safe) in [
            ("=1+1,a\n", "'=1+1,a\n"),
            ("a,+1 x,@SUM(A1)\n", "a,'+1 x,'@SUM(A1)\n"),
            ("-2+3+cmd|' /C calc'!A0\n", "'-2+3+cmd|' /C calc'!A0\n"),
            ("-2,-2.5,+3,-1e9,-,-x\n", "-2,-2.5,+3,-1e9,-,'-x\n"),
            ("\tx,\"=a,\"\"b\"\"\",c\n", "'\tx,\"'=a,\"\"b\"\"\",c\n"),
            ("\"a\n=b\",1\n=c\n", "\"a\n=b\",1\n'=c\n"),
            ("a=b,c-d,\n\n=last", "a=b,c-d,\n\n'=last"),
            ("-inf,+nan,µ=\n", "'-inf,'+nan,µ=\n"),
        ] {
            assert_eq!(for_spreadsheets(csv), safe, "{csv:?}");
        }
    }
}
