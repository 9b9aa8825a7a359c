//! `mmsim import-system`: a scenario's machine from copies of a real machine's files.

use std::fs;
use std::path::Path;

use mmsim::system::copies::script;

use crate::args::ImportSystemArgs;
use crate::{backend, emit};
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
    let imported = backend::import_system(args, name.as_deref())?;
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
