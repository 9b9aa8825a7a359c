//! `mmsim-lab view`.

use mmsim::error::ErrorKind;
use mmsim::{Error, files, sweep};
use mmsim_lab::validate::document::Validation;
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output;
use serde::de::IgnoredAny;

use crate::args::ViewArgs;
use crate::validate;

/// Makes a page of a validation, which is read before anything is written.
pub(crate) fn view(args: &ViewArgs) -> Result<Ending, Failure> {
    let (path, output) = (args.validation.as_path(), args.output.as_deref());
    output::distinct(&[path], &[("--output", output)])?;
    output::check(output)?;
    sweep::refuse_store(path, "a validation")?;
    let text = files::read_text(path, "a validation")?;
    let name = path.display().to_string();
    let Some(validation) = Validation::read(&text, &name)? else {
        if let Err(e) = serde_json::from_str::<IgnoredAny>(&text) {
            return Err(files::bad_json(&e, &text, &name, "validation of mmsim").into());
        }
        let title = format!("`{name}` is no document of `mmsim-lab validate`");
        let help = "write one with `mmsim-lab validate DIR --format json -o FILE`; \
                    `mmsim view` makes a page of a report";
        return Err(Error::new(ErrorKind::File, title).help(help).into());
    };
    output::deliver(validate::html(&validation).as_bytes(), output)?;
    Ok(Ending::Done)
}
