//! `mmsim accuracy`.

use std::path::Path;

use crate::args::AccuracyArgs;
use crate::backend::{self, AccuracyRequest};
use crate::exit::{Ending, Failure};
use crate::output;
use crate::progress::Progress;

/// Writes docs/accuracy.md, or holds it against what would be written.
pub(crate) fn accuracy(args: &AccuracyArgs) -> Result<Ending, Failure> {
    let path = &args.output;
    if !args.check {
        output::check(Some(path))?;
    }
    // What is there is needed before anything runs, lest it run in vain.
    let before = if args.check || args.quick { Some(backend::read_document(path)?) } else { None };
    let progress = Progress::new("replays", 0);
    let request = AccuracyRequest {
        dir: &args.dir,
        evidence: &args.evidence,
        quick_of: before.as_deref().filter(|_| args.quick).map(|text| (text, path.as_path())),
        jobs: args.jobs,
    };
    let text = backend::accuracy(&request, &|done, total| progress.show(done, total, ""))?;
    drop(progress);
    match before {
        Some(before) if args.check => compare(path, &before, &text, args.quick),
        _ => {
            output::deliver(text.as_bytes(), Some(path))?;
            Ok(Ending::Done)
        }
    }
}

fn compare(path: &Path, before: &str, now: &str, quick: bool) -> Result<Ending, Failure> {
    if before == now {
        return Ok(Ending::Done);
    }
    let at = before.lines().zip(now.lines()).take_while(|(a, b)| a == b).count();
    let line = |text: &str| text.lines().nth(at).unwrap_or("the end of the file").to_string();
    Err(Failure::Check(format!(
        "{}:{}: is not what would be written now\n  there: {}\n  now:   {}\nrun `mmsim accuracy{}` and look at the \
         difference",
        path.display(),
        at + 1,
        line(before),
        line(now),
        if quick { " --quick" } else { "" },
    )))
}
