//! `mmsim schema`.

use mmsim::machines::Catalogue;

use crate::args::{Document, SchemaArgs};
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output;

/// Prints the schema of scenario files, of reports or of tunings.
pub(crate) fn schema(args: &SchemaArgs) -> Result<Ending, Failure> {
    let schema = match args.of {
        Document::Scenario => mmsim::scenario::json_schema(&Catalogue),
        Document::Report => mmsim::report::json_schema(),
        Document::Tuning => mmsim::tune::json_schema(),
    };
    output::deliver(format!("{schema:#}\n").as_bytes(), args.output.as_deref())?;
    Ok(Ending::Done)
}
