//! `mmsim show`: a saved report, or the store of a sweep, as the table of its command.

use mmsim_view::settings::Gatherer;

use crate::args::{Format, ShowArgs};
use crate::{input, sweep, table};
use mmsim_terminal::exit::{Ending, Failure};

/// Prints the table.
pub(crate) fn show(args: &ShowArgs) -> Result<Ending, Failure> {
    let shown = args.table.on(crate::sweep::shown(&args.shown));
    args.output.ready(&[&args.of])?;
    if !args.of.is_dir() {
        let (name, report) = input::report(&args.of)?;
        let axes: Vec<&str> = match report.runs.first() {
            Some(run) => run.axes.iter().map(|(axis, _)| axis).collect(),
            None => Vec::new(),
        };
        sweep::known_axes(&shown, &axes, &name)?;
        args.table.check(args.output.form(), report.runs.iter().map(|r| r.variant.as_str()))?;
        let text = || table::of_report(&report, &shown);
        args.output.emit(text, || report.to_json(), || report.to_csv())?;
        return Ok(Ending::Done);
    }
    let forms = args.output.form() != Format::Table;
    let given = [
        ("--table", args.table.rows.is_some()),
        ("--base", args.table.base.is_some()),
        ("--format", forms),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        let title = format!("{option}: the store of a sweep has a line for each setting");
        let help = "leave it out; `mmsim sweep merge` writes a report";
        return Err(Failure::Input(mmsim::Error::of_option(title).help(help)));
    }
    let saved = mmsim::sweep::saved(&args.of)?;
    let mut gatherer = Gatherer::default();
    for row in saved.rows() {
        gatherer.add(row?.run);
    }
    let settings = gatherer.finish();
    let axes: Vec<&str> = match settings.first() {
        Some(first) => first.axes.iter().map(|(axis, _)| axis).collect(),
        None => Vec::new(),
    };
    sweep::known_axes(&shown, &axes, saved.name())?;
    args.output.show(&table::of_store(saved.name(), "", &settings, &shown))?;
    Ok(Ending::Done)
}
