//! The verbs `man` and `completions`: pages and scripts from the same definition as the help.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use mmsim::Error;
use mmsim::nearest::nearest;

use crate::exit::{Ending, Failure};
use crate::moved::Moved;
use crate::output;

/// Arguments of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// The verb; without it the page of the whole program
    #[arg(value_name = "VERB")]
    pub verb: Vec<String>,
    /// Write the pages of all verbs to this folder
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    pub dir: Option<PathBuf>,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// Prints the script that completes the arguments of a program in a shell, and `more` behind it.
///
/// # Errors
///
/// The script cannot be written.
pub fn completions(
    args: &CompletionsArgs,
    mut command: Command,
    more: &str,
) -> Result<Ending, Failure> {
    let (name, mut script) = (command.get_name().to_string(), Vec::new());
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    script.extend(more.bytes());
    output::deliver(&script, None)?;
    Ok(Ending::Done)
}

/// Prints one manual page of a program, or writes all of them. `moved` are verbs that another
/// program has.
///
/// # Errors
///
/// There is no such verb, or a page cannot be written.
pub fn man(args: &ManArgs, command: Command, moved: Moved) -> Result<Ending, Failure> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    match &args.dir {
        Some(dir) => {
            let mut pages = Vec::new();
            collect(&command, &mut pages)?;
            for (name, page) in &pages {
                output::deliver(page, Some(&dir.join(name)))?;
            }
        }
        None => output::deliver(&page(find(&command, &args.verb, moved)?)?.1, None)?,
    }
    Ok(Ending::Done)
}

fn find<'a>(command: &'a Command, verb: &[String], moved: Moved) -> Result<&'a Command, Failure> {
    let Some((first, rest)) = verb.split_first() else { return Ok(command) };
    if let Some(found) = command.find_subcommand(first) {
        return find(found, rest, Moved::NONE);
    }
    let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let whole = command.get_display_name().unwrap_or(command.get_name()).replace('-', " ");
    let elsewhere = || match nearest(first, &known) {
        None => moved.meant(first),
        Some(_) => None,
    };
    let unknown = || match known.is_empty() {
        true => Error::of_option(format!("{whole} has no verbs of its own: `{first}`")),
        false => Error::unknown_word(&format!("{whole}: unknown verb"), first, &known),
    };
    let words: Vec<&str> = ["man"].into_iter().chain(verb.iter().map(String::as_str)).collect();
    Err(moved.named(first, &words).or_else(elsewhere).unwrap_or_else(unknown).into())
}

/// The name of the file of a page, and the page.
fn page(command: &Command) -> Result<(String, Vec<u8>), Failure> {
    let version = format!("mmsim {}", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(version).manual("mmsim");
    let mut page = Vec::new();
    man.render(&mut page)
        .map_err(|e| Failure::file("write", Path::new(&man.get_filename()), &e))?;
    // What follows the options in the help is examples.
    let page = String::from_utf8_lossy(&page).replace("\n.SH EXTRA\n", "\n.SH EXAMPLES\n");
    Ok((man.get_filename(), page.into_bytes()))
}

fn collect(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<(), Failure> {
    pages.push(page(command)?);
    command.get_subcommands().try_for_each(|verb| collect(verb, pages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_of_verbs() {
        let verb = |name| Command::new(name);
        let mut command = verb("mmsim").subcommand(verb("trace").subcommand(verb("info")));
        command.build();
        let moved = Moved { verbs: &["validate"], program: "mmsim-lab" };
        let of = |verb: &[&str]| {
            let verb: Vec<String> = verb.iter().map(|v| v.to_string()).collect();
            match find(&command, &verb, moved) {
                Ok(found) => Ok(found.get_name().to_string()),
                Err(Failure::Input(error)) => Err(error.title().to_string()),
                Err(other) => panic!("{other:?}"),
            }
        };
        assert_eq!(of(&[]), Ok("mmsim".into()));
        assert_eq!(of(&["trace", "info"]), Ok("info".into()));
        assert_eq!(of(&["trace", "in"]), Err("mmsim trace: unknown verb `in`".into()));
        let there = "`mmsim validate` is a verb of mmsim-lab now, run `cargo run --release -p \
                     mmsim-lab -- man validate`";
        assert_eq!(of(&["validate"]), Err(there.into()));
        assert_eq!(of(&["trace", "validate"]), Err("mmsim trace: unknown verb `validate`".into()));
        let near = "unknown verb `vaildate`, did you mean `validate` of mmsim-lab?";
        assert_eq!(of(&["vaildate"]), Err(near.into()));
    }
}
