//! `mmsim accuracy`.

use std::path::Path;

use crate::args::AccuracyArgs;
use crate::backend::{self, AccuracyRequest};
use crate::exit::{Ending, Failure};
use crate::output;
use crate::progress::Progress;
use mmsim_lab::accuracy::QuickValue;
use mmsim_view::validation::{self, LRU, Value};

/// Writes docs/accuracy.md and the picture beside it, or holds both against what would be written.
pub(crate) fn accuracy(args: &AccuracyArgs) -> Result<Ending, Failure> {
    let path = &args.output;
    let picture = path.with_extension("svg");
    if !args.check {
        output::distinct(&[], &[("--output", Some(path)), ("its picture", Some(&picture))])?;
        output::check(Some(path))?;
    }
    // What is there is needed before anything runs, lest it run in vain.
    let before = if args.check || args.quick { Some(backend::read_document(path)?) } else { None };
    let progress = Progress::new("replays", 0);
    let name = picture.file_name().unwrap_or_default().to_string_lossy();
    let request = AccuracyRequest {
        picture: &name,
        dir: &args.dir,
        evidence: &args.evidence,
        quick_of: before.as_deref().filter(|_| args.quick).map(|text| (text, path.as_path())),
        jobs: args.jobs,
    };
    let (text, values) =
        backend::accuracy(&request, &|done, total| progress.show(done, total, ""))?;
    drop(progress);
    match before {
        Some(before) if args.check => {
            compare(path, &before, &text, args.quick)?;
            compare(&picture, &backend::read_document(&picture)?, &drawn(&values), args.quick)
        }
        _ => {
            output::deliver(text.as_bytes(), Some(path))?;
            output::deliver(drawn(&values).as_bytes(), Some(&picture))?;
            Ok(Ending::Done)
        }
    }
}

/// The picture of the quick subset. What is more than a tenth off is marked.
fn drawn(values: &[QuickValue]) -> String {
    let value = |v: &QuickValue| {
        let mut names = <[String; 6]>::default();
        names[LRU].clone_from(&v.policy);
        let missed = (v.simulated - v.recorded).abs() > v.recorded / 10.0;
        let (recorded, simulated) = (v.recorded, v.simulated);
        Value { names, recorded, simulated, missed, ..Value::default() }
    };
    let values: Vec<Value> = values.iter().map(value).collect();
    let about = "recorded events across, simulated up; orange: more than 10 % off";
    validation::svg("The quick subset: simulated over recorded counters", &values, about)
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
