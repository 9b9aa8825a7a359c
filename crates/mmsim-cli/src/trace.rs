//! `mmsim trace import`, `trace info`, `trace head`.

use std::io::Write;
use std::path::Path;

use mmsim::report::csv_field;

use crate::args::{Format, TraceArgs, TraceHeadArgs, TraceImportArgs, TraceInfoArgs, TraceVerb};
use crate::exit::{Ending, Failure};
use crate::output::{self, AtomicFile};
use crate::{backend, table};

/// Does what was asked for.
pub(crate) fn trace(args: &TraceArgs) -> Result<Ending, Failure> {
    match &args.what {
        TraceVerb::Import(args) => import(args),
        TraceVerb::Info(args) => info(args),
        TraceVerb::Head(args) => head(args),
    }?;
    Ok(Ending::Done)
}

fn import(args: &TraceImportArgs) -> Result<(), Failure> {
    let inputs = [Some(args.input.as_path()), args.maps.as_deref()];
    let inputs: Vec<&Path> = inputs.into_iter().flatten().collect();
    output::distinct(&inputs, &[("--output", Some(&args.output))])?;
    let mut out = AtomicFile::create(&args.output)?;
    let info = backend::trace_import(args, &mut out)?;
    out.flush().map_err(|e| Failure::file("write", &args.output, &e))?;
    out.commit()?;
    output::deliver(pairs(&info, Format::Table).as_bytes(), None)
}

fn info(args: &TraceInfoArgs) -> Result<(), Failure> {
    output::distinct(&[&args.file], &[("--output", args.output.output.as_deref())])?;
    let (table, rows) = backend::trace_info(&args.file)?;
    let text = match args.output.format {
        Format::Table => table,
        format => pairs(&rows, format),
    };
    output::deliver(text.as_bytes(), args.output.output.as_deref())
}

fn head(args: &TraceHeadArgs) -> Result<(), Failure> {
    let mut text = String::new();
    for line in backend::trace_head(&args.file, args.count)? {
        text += &line;
        text.push('\n');
    }
    output::deliver(text.as_bytes(), None)
}

fn pairs(pairs: &[(String, String)], format: Format) -> String {
    match format {
        Format::Table => table::left_aligned(pairs.iter().map(|(n, v)| vec![n.clone(), v.clone()])),
        Format::Json => {
            let map: mmsim::report::Pairs<&str> =
                pairs.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            let json = serde_json::to_string_pretty(&map).expect("names and values");
            format!("{json}\n")
        }
        Format::Csv => {
            let row = |(n, v): &(String, String)| format!("{},{}\n", csv_field(n), csv_field(v));
            format!("name,value\n{}", pairs.iter().map(row).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_in_every_form() {
        let info = [("records".to_string(), "7".to_string()), ("source".into(), "a, b".into())];
        assert_eq!(pairs(&info, Format::Table), "records  7\nsource   a, b\n");
        assert_eq!(pairs(&info, Format::Csv), "name,value\nrecords,7\nsource,\"a, b\"\n");
        assert_eq!(
            pairs(&info, Format::Json),
            "{\n  \"records\": \"7\",\n  \"source\": \"a, b\"\n}\n"
        );
    }
}
