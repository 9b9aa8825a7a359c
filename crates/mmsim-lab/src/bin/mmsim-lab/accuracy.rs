//! `mmsim-lab accuracy`.

use std::path::Path;

use mmsim::Error;
use mmsim_lab::accuracy::calibrated::Calibrated;
use mmsim_lab::accuracy::remains::Remains;
use mmsim_lab::accuracy::{self, QuickValue, Sources};
use mmsim_lab::validate::{self, Selection};
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output;
use mmsim_terminal::progress::Progress;
use mmsim_view::validation::{self, LRU, Value};

use crate::args::AccuracyArgs;

/// The files of the repository: the document, and the table of it that the library has.
const DOCUMENT: &str = "docs/accuracy.md";
const NEARNESS: &str = "crates/mmsim-report/src/nearness.txt";

/// Writes docs/accuracy.md, the picture beside it and the library's table, or holds them against what
/// would be written.
pub(crate) fn accuracy(args: &AccuracyArgs) -> Result<Ending, Failure> {
    let path = &args.output;
    let picture = path.with_extension("svg");
    let of_repository =
        path == Path::new(DOCUMENT) && Path::new(NEARNESS).parent().is_some_and(Path::is_dir);
    let library = of_repository.then(|| NEARNESS.as_ref());
    let table = args.nearness.as_deref().or(library);
    if !args.check {
        let files =
            [("--output", Some(&**path)), ("its picture", Some(&picture)), ("--nearness", table)];
        output::distinct(&[], &files)?;
        files.iter().try_for_each(|(_, file)| output::check(*file))?;
    }
    // Reads the document first: an error of it must not come after minutes of runs.
    let before = if args.check || args.quick { Some(read_document(path)?) } else { None };
    let progress = Progress::new("replays", 0);
    let name = picture.file_name().unwrap_or_default().to_string_lossy();
    let request = AccuracyRequest {
        picture: &name,
        dir: &args.dir,
        evidence: &args.evidence,
        quick_of: before.as_deref().filter(|_| args.quick).map(|text| (text, path.as_path())),
        jobs: args.jobs,
    };
    let (text, values) = card(&request, &|done, total| progress.show(done, total, ""))?;
    drop(progress);
    let name = path.display().to_string();
    let nearness = table.map(|table| Ok::<_, Error>((table, accuracy::nearness(&text, &name)?)));
    let nearness = nearness.transpose()?;
    let mut files = vec![(&**path, text), (&picture, drawn(&values))];
    files.extend(nearness);
    match before {
        Some(before) if args.check => {
            compare(path, &before, &files[0].1, args.quick)?;
            for (file, now) in &files[1..] {
                compare(file, &read_document(file)?, now, args.quick)?;
            }
        }
        _ => files
            .iter()
            .try_for_each(|(file, text)| output::deliver(text.as_bytes(), Some(file)))?,
    }
    Ok(Ending::Done)
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

fn compare(path: &Path, before: &str, now: &str, quick: bool) -> Result<(), Failure> {
    if before == now {
        return Ok(());
    }
    let at = before.lines().zip(now.lines()).take_while(|(a, b)| a == b).count();
    let line = |text: &str| text.lines().nth(at).unwrap_or("the end of the file").to_string();
    Err(Failure::Check(format!(
        "{}:{}: is not what would be written now\n  there: {}\n  now:   {}\nrun `mmsim-lab accuracy{}` and look at the \
         difference",
        path.display(),
        at + 1,
        line(before),
        line(now),
        if quick { " --quick" } else { "" },
    )))
}

/// Sources of the accuracy card.
#[derive(Clone, Copy, Debug)]
struct AccuracyRequest<'a> {
    /// The folder of recordings.
    dir: &'a Path,
    /// The folder of the two files that people write.
    evidence: &'a Path,
    /// Only the part of the quick subset, within this text of this file.
    quick_of: Option<(&'a str, &'a Path)>,
    /// The file that shows the quick subset, as the card names it.
    picture: &'a str,
    /// Replays at the same time; `None`: one per CPU.
    jobs: Option<usize>,
}

/// The accuracy card as it is now.
fn read_document(path: &Path) -> Result<String, Failure> {
    Ok(mmsim::files::read_text(path, "the accuracy card")?)
}

/// Replays recordings and writes the accuracy card, or a card with its part of the quick
/// subset renewed.
fn card(
    request: &AccuracyRequest<'_>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(String, Vec<QuickValue>), Failure> {
    let read = |name: &str| -> Result<(String, String), Failure> {
        let path = request.evidence.join(name);
        let text = mmsim::files::read_text(&path, "this file")?;
        Ok((text, path.display().to_string()))
    };
    let (text, name) = read("gaps.toml")?;
    let remains = Remains::read(&text, &name)?;
    let (text, name) = read("calibration.toml")?;
    let calibrated = Calibrated::read(&text, &name)?;
    let experiments = validate::reading::read_folder(request.dir)?;
    let mut what = Selection::default();
    what.quick = request.quick_of.is_some();
    what.jobs = request.jobs;
    let validation = validate::validate(request.dir, &what, progress)?;
    let values = accuracy::quick_values(&experiments, &validation);
    if let Some((text, path)) = request.quick_of {
        let part = accuracy::quick_part(&values, request.picture);
        let name = path.display().to_string();
        return Ok((accuracy::with_quick_part(text, &part, &name)?, values));
    }
    let picture = request.picture;
    let sources = Sources::new(&experiments, &validation, &remains, &calibrated, picture);
    let of_patches = request.dir.join("patched");
    if !of_patches.is_dir() {
        return Ok((accuracy::document(&sources)?, values));
    }
    let patched = validate::validate(&of_patches, &what, progress)?;
    let sources = sources.with_patched(&patched);
    Ok((accuracy::document(&sources)?, values))
}
