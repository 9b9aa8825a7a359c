//! `mmsim import-system`: a scenario's machine from copies of a real machine's files.

use std::fs;
use std::path::Path;

use mmsim::Error;
use mmsim::config::Kernel;
use mmsim::system::copies::{Copies, script};
use mmsim::system::{self, Difference, Emitted, Import, Options, Programs, Sizes};

use crate::args::{ImportSystemArgs, ProgramsArg, SizesArg};
use crate::emit;
use mmsim_terminal::exit::{Ending, Failure, remark};
use mmsim_terminal::output;

/// Runs the command.
pub(crate) fn import_system(args: &ImportSystemArgs) -> Result<Ending, Failure> {
    let Some(copies) = &args.copies else {
        output::deliver(script().as_bytes(), None)?;
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
    let imported = import(args, name.as_deref())?;
    for note in &imported.import.notes {
        remark(&note.to_string());
    }
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
    output::deliver(imported.import.scenario.as_bytes(), output)?;
    Ok(Ending::Done)
}

/// The name of the layout beside a scenario.
fn layout_of(scenario: &Path) -> String {
    let name = scenario.file_name().unwrap_or_default().to_string_lossy();
    format!("{}.layout", name.strip_suffix(".toml").unwrap_or(&name))
}

/// Result of an import.
struct Imported {
    import: Import,
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
    let options = options.with_sizes(sizes);
    let import = Import::of(&copies, &options, layout)?;
    let (mut emitted, mut equal, mut differences) = (Vec::new(), 0, Vec::new());
    if args.emit.is_some() {
        emitted = system::emit(&copies, &import)?;
        (equal, differences) = system::differences(&copies, &emitted);
    }
    Ok(Imported { import, emitted, equal, differences })
}
