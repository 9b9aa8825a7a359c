//! `mmsim schema`.

use crate::args::SchemaArgs;
use crate::exit::{Ending, Failure};
use crate::{backend, output};

/// Prints the schema of scenario files.
pub(crate) fn schema(args: &SchemaArgs) -> Result<Ending, Failure> {
    output::deliver(backend::schema().as_bytes(), args.output.as_deref())?;
    Ok(Ending::Done)
}
