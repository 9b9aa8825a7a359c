//! Requests into a trace of the native format: the same accesses, one record each.

use std::io::Write;
use std::path::Path;

use super::{Pieces, RequestFormat, Requests};
use crate::trace::error::TraceError;
use crate::trace::summary::ImportSummary;
use crate::trace::table::{Action, Record};
use crate::trace::writer::TraceWriter;

/// Imports a file of requests as a trace on `out`: `name` is that of the process, `level`
/// that of zstd (0 stores). See [`Requests`] for what becomes of them.
pub fn import_requests(
    path: impl AsRef<Path>,
    format: RequestFormat,
    dense: bool,
    name: &str,
    level: i32,
    out: impl Write,
) -> Result<ImportSummary, TraceError> {
    let requests = Requests::open(path, format, dense)?;
    let table = requests.table(name);
    let summary = ImportSummary {
        format: format.name().into(),
        lines: requests.requests,
        accesses_read: requests.requests,
        accesses_kept: requests.requests,
        records: requests.requests,
        processes: 1,
        regions: 1,
        distinct_pages: requests.distinct,
        assumptions: table.assumptions.clone(),
    };
    let mut writer = TraceWriter::new(out, table, level)?;
    let mut i = 0;
    let mut record = |page: u64| {
        let write = requests.is_first(i);
        i += 1;
        let action = Action::Access { region: 0, write, first: page as u32, count: 1 };
        writer.record(&Record { process: 0, ticks: 0, action })
    };
    match &requests.numbers {
        Some(numbers) => numbers.iter().try_for_each(|&n| record(n.into()))?,
        None => {
            let mut pages = Vec::new();
            let mut pieces = Pieces::open(&requests.path, format)?;
            while let Some(piece) = pieces.next()? {
                pages.clear();
                format.each(piece, |page| pages.push(page));
                pages.iter().try_for_each(|&page| record(page))?;
            }
        }
    }
    writer.finish()?;
    Ok(summary)
}
