//! `mmsim man`: a page for the command and one for each verb, from the same definition as
//! the help.

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use mmsim::Error;

use crate::args::{Cli, ManArgs};
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output;

/// Prints one page, or writes all of them.
pub(crate) fn man(args: &ManArgs) -> Result<Ending, Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    match &args.dir {
        Some(dir) => {
            let mut pages = Vec::new();
            collect(&command, &mut pages)?;
            for (name, page) in &pages {
                output::deliver(page, Some(&dir.join(name)))?;
            }
        }
        None => output::deliver(&page(find(&command, &args.verb)?)?.1, None)?,
    }
    Ok(Ending::Done)
}

fn find<'a>(command: &'a Command, verb: &[String]) -> Result<&'a Command, Failure> {
    let Some((first, rest)) = verb.split_first() else { return Ok(command) };
    match command.find_subcommand(first) {
        Some(found) => find(found, rest),
        None => {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let whole = command.get_display_name().unwrap_or("mmsim").replace('-', " ");
            Err(Failure::Input(match known.is_empty() {
                true => Error::of_option(format!("{whole} has no verbs of its own: `{first}`")),
                false => Error::unknown_word(&format!("{whole}: unknown verb"), first, &known),
            }))
        }
    }
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
    fn every_verb_has_a_page_that_names_its_options() {
        let mut command = Cli::command().disable_help_subcommand(true);
        command.build();
        let mut pages = Vec::new();
        collect(&command, &mut pages).unwrap();
        let names: Vec<&str> = pages.iter().map(|p| p.0.as_str()).collect();
        assert_eq!(names[0], "mmsim.1");
        for verb in ["run", "list", "compare", "trace-import", "evaluate", "schema", "man"] {
            assert!(names.contains(&format!("mmsim-{verb}.1").as_str()), "{names:?}");
        }
        let run = &pages[names.iter().position(|n| *n == "mmsim-run.1").unwrap()].1;
        let run = String::from_utf8(run.clone()).unwrap();
        assert!(run.contains("\n.SH EXAMPLES\n") && !run.contains("EXTRA"), "{run}");
        for option in ["set", "seeds", "dry\\-run", "events\\-filter"] {
            assert!(run.contains(&format!("\\-\\-{option}")), "{option}: {run}");
        }
    }

    #[test]
    fn verbs_of_verbs() {
        let mut command = Cli::command();
        command.build();
        let of = |verb: &[&str]| {
            let verb: Vec<String> = verb.iter().map(|v| v.to_string()).collect();
            find(&command, &verb).map(|c| c.get_name().to_string())
        };
        assert_eq!(of(&[]), Ok("mmsim".into()));
        assert_eq!(of(&["trace", "info"]), Ok("info".into()));
        assert!(matches!(of(&["trace", "in"]), Err(Failure::Input(m))
            if m.title() == "mmsim trace: unknown verb `in`"));
    }
}
