//! The door to `mmsim::system`.

use mmsim::Error;
use mmsim::config::Kernel;
use mmsim::system::copies::Copies;
use mmsim::system::{self, Difference, Emitted, Import, Options, Programs, Sizes};

use super::input;
use crate::args::{ImportSystemArgs, ProgramsArg, SizesArg};
use mmsim_terminal::exit::Failure;

/// Result of an import.
pub(crate) struct Imported {
    pub(crate) import: Import,
    /// Files of the machine, if requested.
    pub(crate) emitted: Emitted,
    /// Items that are as in the copies.
    pub(crate) equal: usize,
    /// Items that are not.
    pub(crate) differences: Vec<Difference>,
}

/// Makes a scenario of copies; `layout` is the name of the file that its layout goes to.
pub(crate) fn import_system(
    args: &ImportSystemArgs,
    layout: Option<&str>,
) -> Result<Imported, Failure> {
    let kernel = match args.kernel.as_deref() {
        None => None,
        Some(name) => Some(Kernel::from_name(name).ok_or_else(|| {
            let known = Kernel::ALL.map(Kernel::name);
            input(Error::unknown_word("--kernel: unknown kernel", name, &known))
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
    let copies = Copies::read(copies).map_err(input)?;
    let options = Options::default().with_kernel(kernel).with_programs(programs);
    let options = options.with_sizes(sizes);
    let import = Import::of(&copies, &options, layout).map_err(input)?;
    let (mut emitted, mut equal, mut differences) = (Vec::new(), 0, Vec::new());
    if args.emit.is_some() {
        emitted = system::emit(&copies, &import).map_err(input)?;
        (equal, differences) = system::differences(&copies, &emitted);
    }
    Ok(Imported { import, emitted, equal, differences })
}
