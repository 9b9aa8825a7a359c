//! `mmsim evaluate`: thin over the facade's module of that name.

use std::path::Path;

use mmsim::evaluate::{Candidate, Evaluation, Evaluator, KnobFile, Suite};
use mmsim::scenario::GroupPolicy;
use mmsim::{Error, Runner};

use mmsim_score::Module;

use crate::args::{EvaluateArgs, group_policy};
use crate::document::document;
use crate::runner::{Heard, options, registry, store};
use mmsim_terminal::exit::{self, Ending, Failure};
use mmsim_terminal::output;

/// The beginning of the names of policies of cache_ext in Rust.
const BUILTIN: &str = "builtin:";

/// Scores policies and prints a line for each.
pub(crate) fn evaluate(args: &EvaluateArgs) -> Result<Ending, Failure> {
    let file = args.output.as_deref();
    let mut inputs: Vec<&Path> = vec![&args.suite];
    inputs.extend(args.policies.iter().filter_map(|text| Policy::file(text)));
    output::distinct(&inputs, &[("--output", file)])?;
    output::check(file)?;
    let suite = Suite::from_path(&args.suite)?;
    let policies: Result<Vec<Policy>, Error> =
        args.policies.iter().map(|text| Policy::read(text)).collect();
    let policies = policies?;
    for policy in &policies {
        mmsim::evaluate::check(&suite, &policy.candidate(), &registry())?;
    }
    let runs = |s: &mmsim::evaluate::SuiteScenario| s.seeds().count() + s.held_out().count();
    let runs: usize = suite.scenarios().iter().map(runs).sum();
    let heard = Heard::of("runs", runs * (1 + policies.len()));
    let runner = Runner::watched(&options(args.jobs, args.check), &heard);
    let runner = runner.with_store(store("evaluate", suite.name(), args.store.as_deref())?);
    let evaluator = Evaluator::new(&suite, runner)?;
    let (mut text, mut ending) = (String::new(), Ending::Done);
    for policy in &policies {
        let evaluation = evaluator.evaluate(&policy.candidate())?;
        text += &format!("{}\n", document("evaluation", &evaluation));
        ending = ending.max(told(&evaluation));
    }
    drop(evaluator);
    drop(heard);
    output::show(&text, file)?;
    Ok(ending)
}

/// Says on stderr what is wrong with runs of a policy.
fn told(e: &Evaluation) -> Ending {
    for run in &e.below_min {
        let what = "fewer pages were fetched again than the optimum must fetch";
        exit::remark(&format!("{}: ERROR OF MMSIM, please report it: {what}: {run}", e.policy));
    }
    for run in &e.unfinished {
        exit::remark(&format!("{}: no score: {run}", e.policy));
    }
    match (e.panicked, e.below_min.is_empty() && e.unfinished.is_empty()) {
        (1.., _) => Ending::Panicked,
        (0, false) => Ending::Missed,
        (0, true) => Ending::Done,
    }
}

/// A policy as it was read.
enum Policy {
    Knobs(KnobFile),
    Score(Module),
    Chooser(GroupPolicy),
}

impl Policy {
    fn read(text: &str) -> Result<Policy, Error> {
        let path = Path::new(text);
        match path.extension().and_then(|e| e.to_str()) {
            Some("toml") => KnobFile::from_path(path).map(Policy::Knobs),
            Some("wat") => Module::from_path(path).map(Policy::Score),
            Some("wasm") if !text.contains('=') && mmsim_ext::is_score(path) => {
                Module::from_path(path).map(Policy::Score)
            }
            Some("wasm") => Policy::chooser(text),
            _ if text.contains(BUILTIN) => Policy::chooser(text),
            _ => {
                let title = format!("--policy: `{text}` has no ending of a policy");
                Err(Error::of_option(title).help(
                    "a knob file ends in .toml, a score function in .wasm or .wat, a policy of \
                     cache_ext in .wasm; `builtin:NAME` is one of mmsim",
                ))
            }
        }
    }

    fn chooser(text: &str) -> Result<Policy, Error> {
        let read = group_policy(text).map_err(|e| Error::of_option(format!("--policy: {e}")));
        read.map(Policy::Chooser)
    }

    /// Its file, if it has one that an output must not overwrite.
    fn file(text: &str) -> Option<&Path> {
        let file = text.split_once('=').map_or(text, |(_, file)| file);
        (!file.starts_with(BUILTIN)).then(|| Path::new(file))
    }

    fn candidate(&self) -> Candidate<'_> {
        match self {
            Policy::Knobs(knobs) => Candidate::Knobs(knobs),
            Policy::Score(module) => Candidate::Own(module),
            Policy::Chooser(policy) => Candidate::Chooser(policy),
        }
    }
}
