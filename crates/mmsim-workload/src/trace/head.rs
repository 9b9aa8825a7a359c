//! The first records of a trace as text, a line each.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::error::TraceError;
use super::info::{Seconds, open};
use super::reader::TraceReader;
use super::table::{Action, Record, TraceTable};

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
