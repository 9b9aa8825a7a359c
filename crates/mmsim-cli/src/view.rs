//! `mmsim view`.

use std::path::{Path, PathBuf};

use mmsim_view::page::{self, Observed, Source};

use crate::args::ViewArgs;
use crate::exit::{Ending, Failure};
use crate::{backend, output};

/// Makes a page of reports. All of them are read before anything is written.
pub(crate) fn view(args: &ViewArgs) -> Result<Ending, Failure> {
    let inputs: Vec<&Path> =
        args.reports.iter().chain(&args.series).map(PathBuf::as_path).collect();
    output::distinct(&inputs, &[("--output", args.output.as_deref())])?;
    output::check(args.output.as_deref())?;
    if !args.series.is_empty() && args.series.len() != args.reports.len() {
        return Err(Failure::Input(format!(
            "--series: {} for {}, write one for each report in their order",
            count(args.series.len(), "series", "series"),
            count(args.reports.len(), "report", "reports"),
        )));
    }
    let reports: Vec<_> =
        args.reports.iter().map(|path| backend::read_report(path)).collect::<Result<_, _>>()?;
    if let Some((name, _)) = reports.iter().find(|(_, report)| report.runs.is_empty()) {
        return Err(Failure::Input(format!("`{name}` has no run, and there is nothing to show")));
    }
    let mut observed = vec![Vec::new(); reports.len()];
    for ((path, (_, report)), observed) in args.series.iter().zip(&reports).zip(&mut observed) {
        let one = |series| {
            let mut of_run = Observed::default();
            of_run.series = Some(series);
            of_run
        };
        let all = backend::read_series(path, report.runs.len())?;
        *observed = all.into_iter().map(one).collect();
    }
    let several = reports.len() > 1;
    let source = |((name, report), observed)| Source {
        name: if several { name } else { "" },
        report,
        observed,
    };
    let sources: Vec<Source<'_>> =
        reports.iter().zip(&observed).map(|((n, r), o)| source(((n.as_str(), r), o))).collect();
    output::deliver(page::html(&sources, args.by).as_bytes(), args.output.as_deref())?;
    Ok(Ending::Done)
}

fn count(n: usize, one: &str, several: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { several })
}
