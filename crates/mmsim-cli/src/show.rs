//! `mmsim show`: a saved report, or the store of a sweep, as the table of its command.

use mmsim_view::settings::Gatherer;

use crate::args::ShowArgs;
use crate::{input, sweep, table};
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output;

/// Prints the table.
pub(crate) fn show(args: &ShowArgs) -> Result<Ending, Failure> {
    let shown = crate::sweep::shown(&args.shown);
    if !args.of.is_dir() {
        let (name, report) = input::report(&args.of)?;
        let axes: Vec<&str> = match report.runs.first() {
            Some(run) => run.axes.iter().map(|(axis, _)| axis).collect(),
            None => Vec::new(),
        };
        sweep::known_axes(&shown, &axes, &name)?;
        let single = axes.is_empty();
        if single && (shown.by.is_some() || shown.top.is_some()) {
            let title = format!("`{name}` has no axes, and there is nothing to sort");
            let help = "leave --by and --top out";
            return Err(Failure::Input(mmsim::Error::of_option(title).help(help)));
        }
        output::show(&table::of_report(&report, args.long, &shown), None)?;
        return Ok(Ending::Done);
    }
    if args.long {
        let title = "--long: the store of a sweep has a line for each setting";
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
    output::show(&table::of_store(saved.name(), "", &settings, &shown), None)?;
    Ok(Ending::Done)
}
