//! Arguments of `mmsim explain`.

use clap::Args;

/// Explain a figure or a row of a table: what is counted, by which function, whether more is better
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim explain memory pressure
  mmsim explain workingset_refault_anon
  mmsim explain damon[0].nr_regions")]
pub(crate) struct ExplainArgs {
    /// Label of a row or column, name of a figure as `--by` takes it, counter, or path of a number in
    /// a report; blanks need no quotes
    #[arg(required = true, value_name = "FIGURE")]
    pub figure: Vec<String>,
}
