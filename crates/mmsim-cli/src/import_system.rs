//! `mmsim import-system`: a scenario's machine from copies of a real machine's files.

use std::fs;
use std::path::Path;

use mmsim::config::Kernel;
use mmsim::report::numbers::grouped;
use mmsim::resemble::Resemblance;
use mmsim::system::copies::{Copies, Sampled, script};
use mmsim::system::work::Work;
use mmsim::system::{self, Difference, Emitted, Import, Note, Options, Programs, Sizes, Weight};
use mmsim::{Error, Runner};

use crate::args::{ImportSystemArgs, ProgramsArg, SizesArg};
use crate::{emit, table};
use mmsim_terminal::exit::{Ending, Failure, remark};
use mmsim_terminal::output;

/// Runs the command.
pub(crate) fn import_system(args: &ImportSystemArgs) -> Result<Ending, Failure> {
    let Some(copies) = &args.copies else {
        let sampled = Sampled::new(args.seconds.unwrap_or(SECONDS), args.group.clone());
        output::deliver(script(args.workload.then_some(&sampled)).as_bytes(), None)?;
        return Ok(Ending::Done);
    };
    let output = args.output.as_deref();
    // Beside stdout and devices there is no place for it.
    let file = |o: &&Path| **o != *Path::new("-") && (!o.exists() || o.is_file());
    let layout = output.filter(file).map(|o| o.with_file_name(layout_of(o)));
    let outputs = [("--output", output), ("the layout beside --output", layout.as_deref())];
    output::distinct(&[copies], &outputs)?;
    outputs.iter().try_for_each(|(_, path)| output::check(*path))?;
    if let Some(folder) = &args.emit {
        emit::check(folder)?;
    }
    let name = layout.as_deref().and_then(Path::file_name).map(|n| n.to_string_lossy());
    let mut imported = import(args, name.as_deref())?;
    let work = imported.work.take().map(|work| resemble(work, &imported, copies)).transpose()?;
    tell(&imported.import.notes, args.verbose);
    if let Some(folder) = &args.emit {
        for (path, text) in &imported.emitted {
            let path = folder.join(path);
            let parent = path.parent().expect("it lies in a folder");
            fs::create_dir_all(parent).map_err(|e| Failure::file("create", parent, &e))?;
            output::deliver(text.as_bytes(), Some(&path))?;
        }
        let n = imported.equal;
        remark(&format!("{n} items are as in the copies, {} are not", imported.differences.len()));
        for d in &imported.differences {
            let copy = if d.copy.is_empty() { "nothing" } else { &d.copy };
            remark(&format!("{}: {}: {copy} in the copy, {} here", d.file, d.item, d.machine));
        }
    }
    if let Some(text) = &imported.import.layout {
        output::deliver(text.as_bytes(), layout.as_deref())?;
    }
    let (text, beside) = work.unwrap_or_default();
    output::deliver((imported.import.scenario + &text).as_bytes(), output)?;
    if !beside.is_empty() {
        match output {
            // The scenario is on stdout.
            None => beside.lines().for_each(remark),
            Some(_) => output::deliver(beside.as_bytes(), None)?,
        }
    }
    Ok(Ending::Done)
}

/// Seconds between two samples where none are given: kswapd and programs take turns within some.
const SECONDS: u32 = 60;

/// Fits the work to the machine. Gives its part of the scenario, and the table of its rates beside
/// the recorded ones.
fn resemble(
    mut work: Work,
    imported: &Imported,
    copies: &Path,
) -> Result<(String, String), Failure> {
    let (machine, origin) = (&imported.by_zone, copies.display().to_string());
    let rows = mmsim::resemble::resemble(machine, &origin, &mut work, &Runner::default())?;
    let number = |x: Option<f64>| match x {
        None => "-".to_string(),
        Some(x) if x >= 100.0 => grouped(x.round()),
        Some(x) => format!("{x:.2}"),
    };
    let row = |r: &Resemblance| {
        vec![r.figure.clone(), number(r.recorded), number(r.simulated), number(r.ratio())]
    };
    let header = ["per second", "recorded", "simulated", "ratio"];
    let table = table::grid(Some(&header), rows.iter().map(row), 1);
    let mut set: Vec<&str> = work.tasks.iter().filter_map(|task| task.set_from(&work)).collect();
    set.dedup();
    let mut about = match &set[..] {
        [] => "No page came back in the samples, so no rate set the pause of a task.".to_string(),
        set => format!(
            "The pauses of tasks were set by {}. The other rows are the test: go on when they agree \
             within a factor of two.",
            set.join(" and ")
        ),
    };
    let none = |r: &&Resemblance| set.contains(&&*r.figure) && r.simulated == Some(0.0);
    for r in rows.iter().filter(none) {
        about += &format!(
            " No pause gives {} here, because all of that task fits into memory: on the box a group \
             has a limit (`--group`), or the task is larger.",
            r.figure
        );
    }
    Ok((work.text(), format!("{table}\n{}", table::wrap(&about, 0))))
}

/// Notes that are always printed: the first of those that matter for results.
const FIRST: usize = 3;

/// Prints the notes that matter most, then all others or their number.
fn tell(notes: &[Note], all: bool) {
    let matters = notes.iter().take_while(|note| note.weight != Weight::Detail).count();
    let (first, rest) = notes.split_at(matters.min(FIRST));
    first.iter().for_each(|note| remark(&note.to_string()));
    let n = rest.len();
    match (rest, all) {
        ([], _) => {}
        (_, false) if n == 1 => remark("1 more remark matters less; -v prints it"),
        (_, false) => remark(&format!("{n} more remarks matter less; -v prints them")),
        (_, true) => {
            remark("further remarks, which matter less:");
            rest.iter().for_each(|note| remark(&note.to_string()));
        }
    }
}

/// The name of the layout beside a scenario.
fn layout_of(scenario: &Path) -> String {
    let name = scenario.file_name().unwrap_or_default().to_string_lossy();
    format!("{}.layout", name.strip_suffix(".toml").unwrap_or(&name))
}

/// Result of an import.
struct Imported {
    import: Import,
    /// The work, if wanted, and the scenario without a layout to run it on.
    work: Option<Work>,
    by_zone: String,
    /// Files of the machine, if requested.
    emitted: Emitted,
    /// Items that are as in the copies.
    equal: usize,
    /// Items that are not.
    differences: Vec<Difference>,
}

/// Makes a scenario of copies; `layout` is the name of the file that its layout goes to.
fn import(args: &ImportSystemArgs, layout: Option<&str>) -> Result<Imported, Error> {
    let kernel = match args.kernel.as_deref() {
        None => None,
        Some(name) => Some(Kernel::from_name(name).ok_or_else(|| {
            let known = Kernel::ALL.map(Kernel::name);
            Error::unknown_word("--kernel: unknown kernel", name, &known)
        })?),
    };
    let programs = match args.programs {
        None | Some(ProgramsArg::Ended) => Programs::Ended,
        Some(ProgramsArg::Held) => Programs::Held,
    };
    let sizes = match args.sizes {
        None | Some(SizesArg::Copied) => Sizes::Copied,
        Some(SizesArg::Formula) => Sizes::Formula,
    };
    let copies = args.copies.as_deref().unwrap_or_else(|| "-".as_ref());
    let copies = Copies::read(copies)?;
    let options = Options::default().with_kernel(kernel).with_programs(programs);
    let options = options.with_sizes(sizes).with_workload(args.workload);
    let mut import = Import::of(&copies, &options, layout)?;
    let (mut work, mut by_zone) = (None, String::new());
    if args.workload {
        let found = Work::of(&copies)?;
        import.notes.extend(found.notes.iter().cloned());
        import.notes.sort();
        by_zone = Import::of(&copies, &options, None)?.scenario;
        work = Some(found);
    }
    let (mut emitted, mut equal, mut differences) = (Vec::new(), 0, Vec::new());
    if args.emit.is_some() {
        emitted = system::emit(&copies, &import)?;
        (equal, differences) = system::differences(&copies, &emitted);
    }
    Ok(Imported { import, work, by_zone, emitted, equal, differences })
}
