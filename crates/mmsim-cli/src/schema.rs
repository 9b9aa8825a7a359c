//! `mmsim schema`.

use crate::args::{Document, SchemaArgs};
use crate::backend;
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output;

/// Prints the schema of scenario files, of reports or of tunings.
pub(crate) fn schema(args: &SchemaArgs) -> Result<Ending, Failure> {
    let schema = match args.of {
        Document::Scenario => backend::schema(),
        Document::Report => backend::report_schema(),
        Document::Tuning => backend::tuning_schema(),
    };
    output::deliver(schema.as_bytes(), args.output.as_deref())?;
    Ok(Ending::Done)
}
